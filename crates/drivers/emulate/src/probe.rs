//! Which features for emulation this machine has, and the reasons why others are missing.

use crate::classify::Addresses;
use crate::namespace::{self, GateKind, Host, KernelTcp};
use crate::switches::vswitch;
use crate::{isolation, registry};
use slotline_congestion::{Algorithm, Control, Signal};
use slotline_linux::command::command;
use slotline_linux::departures::Departures;
use slotline_linux::gate::{self, Held, Joined, Kind, Origin};
use slotline_net::id::HostId;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::process::{self, Command};

/// A feature that an emulation can use.
pub struct Probed {
    /// The name of the feature.
    pub what: String,
    /// Whether every emulation needs it.
    pub needed: bool,
    /// Whether it is available, or the reason why not.
    pub works: Result<(), String>,
}

/// Tries all features and leaves nothing behind.
pub fn probe() -> Vec<Probed> {
    let tried = |what: &str, needed, works| Probed { what: what.into(), needed, works };
    let (switches, version) = match vswitch::version() {
        Ok(version) => (version, Ok(())),
        Err(why) => ("Open vSwitch".into(), Err(why)),
    };
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
            "hosts, gate `interface`: namespaces with an interface (/dev/net/tun, ip)",
            true,
            host(GateKind::Interface),
        ),
        tried(
            "gate `queue`: the kernel holds packets (NFQUEUE, iptables)",
            false,
            host(GateKind::Queue),
        ),
        tried(
            "gate `packet`: a ring of a packet socket (AF_PACKET, veth)",
            false,
            host(GateKind::Packet),
        ),
        tried("gate `xdp`: a socket of AF_XDP (veth)", false, host(GateKind::Xdp)),
        tried("agents, gate `queue` (NFQUEUE, iptables)", false, agent_gate(Kind::Queue)),
        tried("agents, gate `packet` (veth, tc, BPF, AF_PACKET)", false, agent_gate(Kind::Packet)),
        tried(
            "agents: packets leave at given times (EDT: tc, BPF, `fq`)",
            false,
            departure_times(),
        ),
        tried("cubic", false, namespace::available("cubic")),
        tried("dctcp", false, namespace::available("dctcp")),
        tried("retcp and dctcp as BPF programs (struct_ops, clang)", false, congestion()),
        tried(&format!("switches by OpenFlow 1.3 ({switches})"), false, version),
        tried("first place on a processor (chrt --fifo)", false, first_place()),
    ]
}

/// Opens the gate of an agent.
fn agent_gate(kind: Kind) -> Result<(), String> {
    let held = Held {
        origin: Origin::Applications,
        network: vec!["10.78.0.0/24".into()],
        hosts: vec![Ipv4Addr::new(10, 78, 0, 2).into()],
        exempt_ports: Vec::new(),
        queue: 0,
        joined: Joined::All,
        timed: false,
    };
    beside_an_interface(|| gate::open(kind, &held).map(drop))
}

/// Sets up the queue discipline that keeps packets until their departure times.
fn departure_times() -> Result<(), String> {
    beside_an_interface(|| Departures::at(&["probe0".into()]).map(drop))
}

/// Tries something in a network namespace of its own, with an interface.
fn beside_an_interface(work: impl FnOnce() -> io::Result<()> + Send) -> Result<(), String> {
    let space = namespace::empty("probe").map_err(|error| error.to_string())?;
    let all = || {
        let commands = "link add probe0 type veth peer name probe1\nlink set probe1 up\nlink set probe0 up\n\
                        address add 10.78.0.1/24 dev probe0\n";
        command("ip", &["-batch", "-"], commands).map_err(io::Error::other)?;
        work()
    };
    namespace::inside(space.as_fd(), all).map_err(|error| error.to_string())
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
