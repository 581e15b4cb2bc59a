//! Holds packets of this machine's applications until a program releases them, by one of two means of the kernel: a queue of
//! netfilter ([`QueueGate`]), or a program at the interfaces that redirects packets to a packet socket ([`PacketGate`]).

mod frames;
mod packet;
mod queue;
mod taker;

pub use packet::PacketGate;
pub use queue::QueueGate;

use crate::departures::Slots;
use crate::hold::Hold;
use crate::segments::Segments;
use std::io;
use std::net::IpAddr;

/// Whose packets are held.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Those of this machine's applications, and any others that leave it.
    Applications,
    /// Those that this machine forwards for hosts with these prefixes. They are held before their route is chosen, so
    /// it may depend on a mark with which they are released.
    Hosts(Vec<String>),
}

/// The packets to hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Held {
    /// Whose packets are held.
    pub origin: Origin,
    /// Prefixes of destinations.
    pub network: Vec<String>,
    /// Hosts of the network, by whose interfaces packets leave.
    pub hosts: Vec<IpAddr>,
    /// TCP and UDP ports, on either side, that are never held.
    pub exempt_ports: Vec<u16>,
    /// The number of the queue, which the chain of rules is named after, and pairs of interfaces.
    pub queue: u16,
    /// Which segments are held as one packet.
    pub joined: Joined,
    /// Whether packets are to be released before the times at which they leave: the interfaces of `hosts` get the discipline
    /// `fq`. Otherwise packets leave when they are released.
    pub timed: bool,
}

/// Which segments, that TCP joins for the card, are held as one packet. The kernel splits others before they are held.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Joined {
    /// None.
    No,
    /// All that TCP joins, as far as the gate has room for them.
    All,
    /// As many as there is room for. The interfaces of the hosts get a limit, so that TCP joins no more, and packets that are longer
    /// nevertheless, such as those of other protocols, are split.
    Within(Room),
}

/// Room for segments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Room {
    /// The bytes on the wire that joined segments may take.
    pub bytes: u64,
    /// The bytes that each segment has on the wire besides its IP packet.
    pub framing: u32,
}

/// The means by which packets are held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A queue of netfilter (`NFQUEUE`).
    Queue,
    /// A packet socket to which a BPF program redirects packets.
    Packet,
}

impl Kind {
    /// Its name in configurations.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Queue => "queue",
            Kind::Packet => "packet",
        }
    }
}

/// Packets that are held, and the ways around that. When a gate is dropped, it leaves nothing behind, and packets pass.
pub trait Gate: Hold + Send {
    /// The means by which packets are held.
    fn kind(&self) -> Kind;

    /// The segments that are held as one packet, where they have a limit.
    fn segments(&self) -> Option<Segments>;

    /// Whether [`Leave::At`](crate::hold::Leave::At) is kept to, so that packets can be released before their time.
    fn is_timed(&self) -> bool;

    /// What the kernel does not do for this gate, and why.
    fn lacks(&self) -> &[String];

    /// Lets all packets pass without being held, or holds them again. Packets that are held remain so.
    ///
    /// # Errors
    /// What the kernel or `iptables` refuses.
    fn pass(&mut self, pass: bool) -> io::Result<()>;

    /// Whether all packets pass without being held.
    fn passes(&self) -> bool;

    /// The number of packets that have passed since they do so.
    ///
    /// # Errors
    /// The kernel or `iptables` cannot tell.
    fn passed(&mut self) -> io::Result<u64>;

    /// Lets IP packets of fewer bytes pass without being held; 0 for none.
    ///
    /// # Errors
    /// What the kernel or `iptables` refuses.
    fn exempt_below(&mut self, bytes: u32) -> io::Result<()>;

    /// The number of packets for which the gate had no room, as far as the kernel tells.
    fn lost(&self) -> u64 {
        0
    }

    /// Lets packets pass without being held until a time of the monotonic clock, in ns, and not later; 0: they no longer
    /// pass. Packets that are held remain so, and those that pass overtake them. Returns whether the gate can do that.
    fn open_until(&self, _at: u64) -> bool {
        false
    }

    /// Slots for packets that pass the gate without a time. `None`: they leave at once.
    ///
    /// # Errors
    /// The gate has no departure times, or the kernel refuses.
    fn keep(&self, _slots: Option<Slots>) -> io::Result<()> {
        Err(io::Error::other("this gate has no departure times"))
    }
}

/// Starts to hold packets of the present network namespace by these means, in place of what a killed program has left there.
///
/// # Errors
/// What the kernel, `iptables`, `ip` or `tc` refuses.
pub fn open(kind: Kind, held: &Held) -> io::Result<Box<dyn Gate>> {
    let rules = held.remove_rules();
    let killed = packet::remove_pairs(held.queue) || rules;
    Ok(match kind {
        Kind::Queue => Box::new(QueueGate::open(held.clone(), killed)?),
        Kind::Packet => Box::new(PacketGate::open(held, killed)?),
    })
}
