//! A host of an emulation: a network namespace with one interface, `eth0`, whose far end is the modelled network.

use crate::classify::Addresses;
use crate::port::Port;
use crate::processors;
use nix::sched::{CloneFlags, setns, unshare};
use slotline_linux::command::command;
use slotline_net::time::Time;
use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// The interface of a host.
pub const INTERFACE: &str = "eth0";
/// The packets for which the interface has room, more than the windows of usual connections have. Beyond it the kernel
/// drops packets.
const RING: u32 = 16_384;

/// Settings of the kernel's TCP in a host.
#[derive(Clone, PartialEq, Debug)]
pub struct KernelTcp {
    /// The congestion control, as the kernel names it.
    pub congestion: String,
    /// Whether ECN is negotiated.
    pub ecn: bool,
    /// The largest IP packet in bytes.
    pub mtu: u32,
    /// Initial window in segments.
    pub initial_window: u32,
    /// The receive window in bytes, from the beginning on.
    pub max_window: u64,
    /// Minimum retransmission time-out, in real time.
    pub least_rto: Duration,
    /// Whether each segment is acknowledged at once.
    pub quick_acks: bool,
    /// Whether the end of a flight is probed if nothing is acknowledged (RFC 8985, section 7).
    pub tail_loss_probes: bool,
    /// Whether packets wait for a scheduler in the card. Connections may then have more data there.
    pub waits: bool,
}

impl Default for KernelTcp {
    /// Reno with the kernel's default settings.
    fn default() -> KernelTcp {
        KernelTcp {
            congestion: "reno".into(),
            ecn: false,
            mtu: 1_500,
            initial_window: 10,
            max_window: 2_000_000,
            least_rto: Duration::from_millis(200),
            quick_acks: false,
            tail_loss_probes: true,
            waits: false,
        }
    }
}

/// How packets of a host's applications enter the modelled network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GateKind {
    /// The kernel holds packets until they leave the modelled card (netfilter's queue), so sockets notice that the card
    /// is busy.
    Queue,
    /// Packets are read from the interface. Sockets do not notice how many packets wait.
    Interface,
    /// The same, by a packet socket with a ring in shared memory (`AF_PACKET`).
    Packet,
    /// The same, by a socket of AF_XDP, packet by packet.
    Xdp,
}

/// The reason why a host cannot be created.
#[derive(Debug, thiserror::Error)]
#[error("host `{host}`: cannot {what}: {why}")]
pub struct HostError {
    /// The name of the host.
    pub host: String,
    /// The operation that failed.
    pub what: String,
    /// The reason.
    pub why: String,
}

/// A host.
pub struct Host {
    /// Its name in the scenario.
    pub name: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// The passage between its kernel and the network.
    pub(crate) port: Port,
    /// The data that the kernel lets connections have between socket and wire, as a time at the rate of the card.
    pub(crate) small_queue: Time,
    namespace: OwnedFd,
}

impl Host {
    /// Creates a host in a network with the prefix [`Addresses::PREFIX`]. Nothing outside the new network namespace
    /// changes, and the namespace vanishes with the process.
    pub fn new(
        name: &str,
        address: Ipv4Addr,
        tcp: &KernelTcp,
        gate: GateKind,
    ) -> Result<Host, HostError> {
        let make = || host_here(name, address, tcp, gate);
        // A namespace belongs to a thread. Files opened in it stay open when the thread ends.
        std::thread::scope(|scope| scope.spawn(make).join()).unwrap_or_else(|_| {
            Err(HostError {
                host: name.into(),
                what: "be created".into(),
                why: "the thread failed".into(),
            })
        })
    }

    /// The namespace.
    pub fn namespace(&self) -> BorrowedFd<'_> {
        self.namespace.as_fd()
    }

    /// Runs `work` on a thread in the host's namespace. Sockets that it opens and programs that it starts belong
    /// to the host.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        inside(self.namespace(), work)
    }

    /// The number of packets of applications that the kernel dropped before the network saw them.
    pub fn dropped_outside(&self) -> io::Result<u64> {
        self.inside(|| {
            let read = |file: &str| fs::read_to_string(format!("/proc/thread-self/net/{file}"));
            // Without a queue the kernel does not have this file.
            let queue = read("netfilter/nfnetlink_queue").unwrap_or_default();
            Ok(dropped_by_queue(&queue)
                + dropped_by_interface(&read("dev")?)
                + self.port.dropped()?)
        })
    }

    /// How the host's packets enter the network.
    pub fn gate(&self) -> GateKind {
        self.port.gate()
    }
}

/// The sum of columns six and seven: packets for which the queue or its socket had no room.
fn dropped_by_queue(table: &str) -> u64 {
    let columns = table.lines().flat_map(|line| line.split_whitespace().skip(5).take(2));
    columns.filter_map(|column| column.parse::<u64>().ok()).sum()
}

/// Column twelve after the name: packets that the interface could not send.
fn dropped_by_interface(table: &str) -> u64 {
    let line =
        table.lines().find_map(|line| line.trim().strip_prefix(INTERFACE)?.strip_prefix(':'));
    line.and_then(|line| line.split_whitespace().nth(11)?.parse().ok()).unwrap_or_default()
}

/// An empty network namespace. `name` is used in messages. Interfaces use their IPv6 addresses at once: a router whose
/// own address is still being checked answers nobody for a second or two.
///
/// # Errors
/// This user may not create network namespaces.
pub fn empty(name: &str) -> Result<OwnedFd, HostError> {
    let make = || {
        unshare(CloneFlags::CLONE_NEWNET)?;
        for interfaces in ["all", "default"] {
            // A kernel without IPv6 has no such setting.
            let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{interfaces}/accept_dad"), "0");
        }
        File::open("/proc/thread-self/ns/net")
    };
    let made = std::thread::scope(|scope| scope.spawn(make).join());
    let made = made.unwrap_or_else(|_| Err(io::Error::other("the thread failed")));
    let what = "make a network namespace".to_owned();
    made.map(OwnedFd::from).map_err(|error| HostError {
        host: name.into(),
        what,
        why: error.to_string(),
    })
}

/// Runs `work` on a thread in a network namespace.
pub fn inside<T: Send>(
    namespace: BorrowedFd<'_>,
    work: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let enter = || {
        setns(namespace, CloneFlags::CLONE_NEWNET)?;
        work()
    };
    let joined = std::thread::scope(|scope| scope.spawn(enter).join());
    joined.unwrap_or_else(|_| Err(io::Error::other("a thread failed in a host's namespace")))
}

/// Creates a host on the present thread.
fn host_here(
    name: &str,
    address: Ipv4Addr,
    tcp: &KernelTcp,
    gate: GateKind,
) -> Result<Host, HostError> {
    let failed = |what: &str, why: String| HostError { host: name.into(), what: what.into(), why };
    unshare(CloneFlags::CLONE_NEWNET)
        .map_err(|e| failed("make a network namespace", e.to_string()))?;
    let namespace = File::open("/proc/thread-self/ns/net")
        .map_err(|e| failed("open its network namespace", e.to_string()))?;
    set_kernel(tcp).map_err(|e| failed("set its TCP", e))?;
    let port = Port::open(tcp.mtu as u16, gate)
        .map_err(|(what, error)| failed(what, error.to_string()))?;
    command("ip", &["-batch", "-"], &interface_commands(address, tcp))
        .map_err(|e| failed("configure its interface", e))?;
    if port.gate() == GateKind::Queue {
        queue_packets().map_err(|e| failed("queue its packets", e))?;
    }
    let small_queue = if tcp.waits { Time::ms(10) } else { Time::ms(1) };
    Ok(Host { name: name.into(), address, port, small_queue, namespace: namespace.into() })
}

/// The input of `ip -batch`.
pub(crate) fn interface_commands(address: Ipv4Addr, tcp: &KernelTcp) -> String {
    let prefix = Addresses::PREFIX;
    let network = u32::from(address) >> (32 - prefix) << (32 - prefix);
    let quick = if tcp.quick_acks { " quickack 1" } else { "" };
    format!(
        "link set lo up\nlink set {INTERFACE} txqueuelen {RING} up\naddress add {address}/{prefix} dev {INTERFACE}\n\
         route change {}/{prefix} dev {INTERFACE} src {address} congctl {} initcwnd {} initrwnd {} rto_min {}ms{quick}\n",
        Ipv4Addr::from(network),
        tcp.congestion,
        tcp.initial_window,
        tcp.initial_window.max(10),
        tcp.least_rto.as_millis().max(1),
    )
}

/// Changes settings of the present network namespace.
pub(crate) fn set_kernel(tcp: &KernelTcp) -> Result<(), String> {
    let set = |key: &str, value: &str| {
        fs::write(format!("/proc/sys/net/{key}"), value)
            .map_err(|error| format!("net.{} = {value}: {error}", key.replace('/', ".")))
    };
    // The route to other hosts has the congestion control. The default is that of sockets without a route, and the
    // kernel may not permit it there.
    let _ = set("ipv4/tcp_congestion_control", &tcp.congestion);
    available(&tcp.congestion)?;
    set("ipv4/tcp_ecn", if tcp.ecn { "1" } else { "0" })?;
    // A first packet that is sent again, because the machine was late, must not turn ECN off. Some kernels lack this
    // setting.
    let _ = set("ipv4/tcp_ecn_fallback", "0");
    // The kernel must not reuse metrics of earlier connections, so that runs are comparable.
    set("ipv4/tcp_no_metrics_save", "1")?;
    set("ipv4/ip_local_port_range", "1024 6999")?;
    set("ipv4/tcp_mtu_probing", "0")?;
    // The kernel advertises half of a buffer at first. Senders need as much.
    let buffer = 2 * tcp.max_window;
    set("ipv4/tcp_rmem", &format!("4096 {buffer} {buffer}"))?;
    set("ipv4/tcp_wmem", &format!("4096 16384 {}", buffer.max(4 << 20)))?;
    if !tcp.tail_loss_probes {
        set("ipv4/tcp_early_retrans", "0")?;
    }
    if tcp.waits {
        set("ipv4/tcp_pacing_ss_ratio", PACING)?;
        set("ipv4/tcp_pacing_ca_ratio", PACING)?;
    }
    // All connections of a workload are opened before the first is used.
    set("core/somaxconn", "65535")?;
    // Packets are received on other processors than the network's. Older kernels lack this setting.
    let _ = processors::receivers().map(|mask| set("core/rps_default_mask", &mask));
    // Only packets that the model knows may leave a host.
    let _ = set("ipv6/conf/all/disable_ipv6", "1");
    Ok(())
}

/// The highest pacing rate that the kernel can be told, in percent of a window per round trip.
const PACING: &str = "1000";

/// Whether the kernel has a congestion control.
///
/// # Errors
/// It has not; what it has.
pub fn available(name: &str) -> Result<(), String> {
    let list = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let list = list.unwrap_or_default();
    match list.split_whitespace().any(|one| one == name) {
        true => Ok(()),
        false => Err(format!(
            "this kernel lacks `{name}` (module tcp_{name}); it has {}",
            list.trim().replace(' ', ", ")
        )),
    }
}

/// Queues the packets that leave the interface. Acknowledgements without data are not queued if the kernel can tell
/// them apart: no socket waits for their release.
fn queue_packets() -> Result<(), String> {
    let install = |rule: &str| {
        let rules = format!("*mangle\n{rule}{}COMMIT\n", queue_rule());
        command("iptables-legacy-restore", &["--noflush", "--wait"], &rules)
    };
    let pass =
        format!("-A POSTROUTING -o {INTERFACE} -p tcp -m length --length 0:{BARE} -j ACCEPT\n");
    let apart = without_queue().and_then(|()| install(&pass));
    apart.or_else(|_| install(""))
}

/// Lets packets leave by the interface at once. In a queue of the interface, an acknowledgement that another processor
/// is sending could hold back a packet that was released.
fn without_queue() -> Result<(), String> {
    command("tc", &["qdisc", "replace", "dev", INTERFACE, "root", "noqueue"], "")
}

/// The longest TCP packet without data: headers of IP and TCP, and options of TCP.
const BARE: u32 = 20 + 60;

/// The rule by which packets that leave the interface are queued.
fn queue_rule() -> String {
    format!("-A POSTROUTING -o {INTERFACE} -j NFQUEUE --queue-num 0\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_tables_of_drops_are_read() {
        let queue = "    0  31337     3 2 65535     7     5     1234  1\n";
        assert_eq!(dropped_by_queue(queue), 12);
        assert_eq!(dropped_by_queue(""), 0);
        let dev = "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop fifo frame compressed \
                   multicast|bytes packets errs drop\n    lo: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n  eth0: 1 2 3 4 5 6 7 8 \
                   9 10 11 12 13 14 15 16\n";
        assert_eq!(dropped_by_interface(dev), 12);
    }
}
