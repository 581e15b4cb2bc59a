//! Which features for emulation this machine has, and the reasons why others are missing.

use crate::classify::Addresses;
use crate::namespace::{self, GateKind, Host, KernelTcp};
use crate::{isolation, registry};
use slotline_congestion::{Algorithm, Control, Signal};
use slotline_net::id::HostId;
use std::process::{self, Command};

/// A feature that an emulation can use.
pub struct Probed {
    /// The name of the feature.
    pub what: &'static str,
    /// Whether every emulation needs it.
    pub needed: bool,
    /// Whether it is available, or the reason why not.
    pub works: Result<(), String>,
}

/// Tries all features and leaves nothing behind.
pub fn probe() -> Vec<Probed> {
    let tried = |what, needed, works| Probed { what, needed, works };
    let host = |gate| {
        let address = Addresses { hosts: 1 }.of(HostId(0));
        Host::new("probe", address, &KernelTcp::default(), gate)
            .map(drop)
            .map_err(|error| error.to_string())
    };
    let inside = isolation::permitted().map_err(|error| error.to_string());
    vec![
        tried("network, process and mount namespaces", true, inside),
        tried(
            "hosts: namespaces with an interface (/dev/net/tun, ip)",
            true,
            host(GateKind::Interface),
        ),
        tried(
            "gate `queue`: the kernel holds packets (NFQUEUE, iptables)",
            false,
            host(GateKind::Queue),
        ),
        tried("cubic", false, namespace::available("cubic")),
        tried("dctcp", false, namespace::available("dctcp")),
        tried("retcp and dctcp as BPF programs (struct_ops, clang)", false, congestion()),
        tried("first place on a processor (chrt --fifo)", false, first_place()),
    ]
}

/// Loads a congestion control, and removes it again.
fn congestion() -> Result<(), String> {
    let signal = Signal::Map;
    let jumps = Algorithm::Retcp { up: 2048, down: 512, signal };
    let own = isolation::outer().unwrap_or_else(process::id);
    let folder = registry::own_folder().map_err(|error| error.to_string())?;
    let folder = folder.join(format!("probe-{own}"));
    let loaded = Control::load(jumps, Addresses { hosts: 1 }.range(), own, &folder);
    loaded.map(drop).map_err(|error| error.to_string())
}

fn first_place() -> Result<(), String> {
    let tried = Command::new("chrt").args(["--fifo", "10", "true"]).output();
    let output = tried.map_err(|error| format!("chrt: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}
