//! Congestion controls in the running kernel. The tests need root and clang, and name themselves if they are skipped.

use slotline_congestion::{Algorithm, CongestionError, Control, Hosts, Signal};
use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;

const ALL: [Algorithm; 3] = [
    Algorithm::Retcp { up: 2048, down: 512, signal: Signal::Map },
    Algorithm::Retcp { up: 2048, down: 512, signal: Signal::Marks },
    Algorithm::Dctcp { gain_shift: 4 },
];

fn folder(name: &str) -> PathBuf {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn available() -> String {
    fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap()
}

#[test]
fn controls_come_and_go() {
    let hosts = Hosts { first: Ipv4Addr::new(10, 77, 0, 1), count: 4 };
    for (at, algorithm) in ALL.into_iter().enumerate() {
        let control =
            Control::load(algorithm, hosts, std::process::id(), &folder(&format!("load{at}")));
        let control = match control {
            Err(CongestionError::Refused(why)) if why.contains("needs root") => {
                return println!("skipped: congestion controls in the kernel: {why}");
            }
            Err(why @ (CongestionError::NoCompiler | CongestionError::Types(_))) => {
                return println!("skipped: congestion controls in the kernel: {why}");
            }
            control => control.unwrap_or_else(|why| panic!("{why}")),
        };
        assert!(available().contains(control.name()));
        control.tell(0, 1, 3, 64).unwrap();
        let name = control.name().to_owned();
        drop(control);
        assert!(!available().contains(&name));
    }
}
