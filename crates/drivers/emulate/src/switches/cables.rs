//! Links as pairs of interfaces, with queues that send at a rate.

use super::SwitchOptions;
use crate::bridge;
use crate::classify::Addresses;
use crate::namespace::{self, INTERFACE};
use slotline_linux::command::command;
use slotline_net::id::{HostId, NodeId, PortId};
use slotline_net::topology::{End, Graph, Wire, Wiring};
use slotline_net::units::Rate;
use std::fmt::Write;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Ethernet's header, which the kernel counts; a queue's `overhead` is the rest of the framing.
const COUNTED: u32 = 14;
/// Room in the card of a host, which drops nothing: its sockets wait.
const CARD: u64 = 1 << 20;
/// A queue may send as much at once as its link does in this time, because timers are late by less. In seconds.
const BURST: f64 = 1e-3;

/// What is needed to make all links.
pub(super) struct Cables<'a> {
    pub graph: &'a Graph,
    pub wiring: &'a Wiring,
    pub hosts: &'a [OwnedFd],
    pub options: &'a SwitchOptions,
}

/// The interfaces in the present namespace: those next to hosts, and those of switches, which Open vSwitch keeps when it
/// is killed. Dropping this removes them.
pub(super) struct Kept(Vec<String>);

impl Drop for Kept {
    fn drop(&mut self) {
        let lines: String = self.0.iter().map(|name| format!("link delete {name}\n")).collect();
        // Some may be gone.
        let _ = command("ip", &["-force", "-batch", "-"], &lines);
    }
}

/// The interface at an end of a link in the namespace of switches. Its queue is that of the port at the other end.
pub(super) fn interface(graph: &Graph, end: End) -> String {
    match graph.hosts.iter().position(|host| *host == end.node) {
        Some(host) => near_host(host),
        None => format!("s{}p{}", end.node.0, end.port.0),
    }
}

/// The interface next to a host.
fn near_host(host: usize) -> String {
    format!("host{host}")
}

/// The number of a port for OpenFlow, where 0 is no port.
pub(super) fn number(port: PortId) -> u32 {
    u32::from(port.0) + 1
}

impl Cables<'_> {
    fn host(&self, node: NodeId) -> Option<usize> {
        self.graph.hosts.iter().position(|host| *host == node)
    }

    /// The interfaces of a switch, and their numbers.
    pub fn ports(&self, node: NodeId) -> Vec<(String, u32)> {
        let ports = (0..self.wiring.of(node).len() as u16).map(PortId);
        ports.map(|port| (self.interface(End { node, port }), number(port))).collect()
    }

    /// Makes the links to hosts, configures these, and opens the ports of switches, which exist.
    pub fn open(&self) -> io::Result<Kept> {
        // Only packets that the network knows may be on its links.
        let _ = std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
        command("ip", &["-batch", "-"], &self.interfaces()).map_err(io::Error::other)?;
        let ports = super::switches(self.graph).flat_map(|node| self.ports(node));
        let near = (0..self.hosts.len()).map(near_host);
        let kept = Kept(near.chain(ports.map(|(port, _)| port)).collect());
        (0..self.hosts.len()).try_for_each(|host| self.configure(host))?;
        Ok(kept)
    }

    /// Joins the ends of links. After that no interface may change: Open vSwitch would remove what joins them.
    pub fn join(&self) -> io::Result<()> {
        let joints: String = self.directions().map(|(end, to)| self.joint(end, to)).collect();
        command("tc", &["-batch", "-"], &joints).map_err(io::Error::other)
    }

    /// The input of `ip` that makes the links to hosts, and opens the ports of switches.
    fn interfaces(&self) -> String {
        let (mtu, process) = (self.options.tcp.mtu, std::process::id());
        let mut lines = String::new();
        for (host, namespace) in self.hosts.iter().enumerate() {
            let (near, file) = (near_host(host), namespace.as_raw_fd());
            let _ = writeln!(
                lines,
                "link add {near} mtu {mtu} type veth peer name {INTERFACE} mtu {mtu} address {} \
                 netns /proc/{process}/fd/{file}\nlink set {near} up",
                hardware(host)
            );
        }
        for (port, _) in super::switches(self.graph).flat_map(|node| self.ports(node)) {
            let _ = writeln!(lines, "link set {port} mtu {mtu} up");
        }
        lines
    }

    /// All directions of links in the present namespace, from an end to the other.
    fn directions(&self) -> impl Iterator<Item = (End, Wire)> + '_ {
        (0..self.graph.nodes.len() as u32).map(NodeId).flat_map(|node| {
            let wires = (0..).map(PortId).zip(self.wiring.of(node));
            wires.map(move |(port, wire)| (End { node, port }, *wire))
        })
    }

    /// The interface at an end of a link in the present namespace.
    fn interface(&self, end: End) -> String {
        interface(self.graph, end)
    }

    /// The input of `tc` that sends what arrives at an end into the queue of the other. The queues of hosts' cards are those
    /// of the hosts.
    fn joint(&self, end: End, wire: Wire) -> String {
        let (from, to) = (self.interface(end), self.interface(wire.far));
        let queue = match self.host(end.node) {
            Some(_) => String::new(),
            None => self.shape("add", &to, wire.lane.rate, self.options.buffer) + "\n",
        };
        format!(
            "{queue}qdisc add dev {from} ingress\nfilter add dev {from} parent ffff: protocol all u32 match u32 0 0 action \
             mirred egress redirect dev {to}\n"
        )
    }

    /// Gives the direction of a link that leaves by `end` another rate. Packets that wait there stay.
    pub fn set_rate(&self, end: End, rate: Rate) -> io::Result<()> {
        match self.host(end.node) {
            Some(host) => namespace::inside(self.hosts[host].as_fd(), || {
                bridge::run("tc", &self.shape("change", INTERFACE, rate, CARD))
            }),
            None => {
                let to = self.interface(self.wiring.of(end.node)[end.port.at()].far);
                bridge::run("tc", &self.shape("change", &to, rate, self.options.buffer))
            }
        }
    }

    /// The arguments of `tc` that add or change the queue of an interface.
    fn shape(&self, verb: &str, interface: &str, rate: Rate, buffer: u64) -> String {
        let SwitchOptions { framing, dilation, tcp, .. } = self.options;
        let overhead = framing.saturating_sub(COUNTED);
        let rate = rate.0 as f64 / dilation.factor();
        let burst = (rate / 8.0 * BURST).max(f64::from(2 * (tcp.mtu + framing)));
        let limit = bridge::Limit { rate: rate.round() as u64, buffer };
        format!(
            "qdisc {verb} dev {interface} root stab overhead {overhead} linklayer ethernet tbf {}",
            limit.shape(burst as u64)
        )
    }

    /// Configures a host: its TCP, its address, the addresses of all others, and the queue of its card.
    fn configure(&self, host: usize) -> io::Result<()> {
        let all = Addresses { hosts: self.hosts.len() as u32 };
        let address = all.of(HostId(host as u32));
        // The queues of switches do not count the segments of a packet that is to be split.
        let mut lines = format!("link set {INTERFACE} gso_max_segs 1\n");
        lines += &namespace::interface_commands(address, &self.options.tcp);
        for other in (0..self.hosts.len()).filter(|other| *other != host) {
            let (to, mac) = (all.of(HostId(other as u32)), hardware(other));
            let _ =
                writeln!(lines, "neighbour add {to} lladdr {mac} dev {INTERFACE} nud permanent");
        }
        let lane = self.wiring.of(self.graph.hosts[host])[0].lane;
        let queue = self.shape("add", INTERFACE, lane.rate, CARD);
        namespace::inside(self.hosts[host].as_fd(), || {
            namespace::set_kernel(&self.options.tcp).map_err(io::Error::other)?;
            command("ip", &["-batch", "-"], &lines).map_err(io::Error::other)?;
            bridge::run("tc", &queue)
        })
    }
}

/// The hardware address of a host. Switches leave it as it is.
fn hardware(host: usize) -> String {
    let [a, b] = (host as u16).to_be_bytes();
    format!("02:00:00:00:{a:02x}:{b:02x}")
}
