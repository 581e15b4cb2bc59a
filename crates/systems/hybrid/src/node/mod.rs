//! The nodes of a hybrid fabric: switches of racks, the packet switch, circuit switches, the scheduler.

mod board;
mod dark;
mod flows;
mod packet;
mod patched;
mod relay;
mod scheduler;
mod shares;
mod sums;
mod tor;
mod weekly;

pub use dark::CircuitSwitch;
pub use packet::PacketSwitch;
pub use patched::{Patched, PatchedConfig};
pub use scheduler::{CircuitScheduler, SchedulerConfig};
pub use tor::{Circuits, Tor, TorConfig};
pub use weekly::Weekly;

use slotline_net::frame::{Kind, Packet};
use slotline_net::id::HostId;
use slotline_net::node::Cx;

/// Bytes that a message's packet has beside the message: Ethernet, IPv4 and UDP headers, checksum,
/// preamble and gap.
const OVERHEAD: u16 = 66;
/// The highest class; nothing else is on these links.
const CLASS: u8 = 7;

/// A packet with a message between a rack and the scheduler; the link says who is at its end.
fn message(bytes: Vec<u8>, cx: &mut Cx<'_>) -> Packet {
    cx.attach((HostId(0), HostId(0)), bytes, OVERHEAD, CLASS)
}

/// A frame by which the packet switch asks a rack to hold packets for `to` back, or to go on.
fn hold(to: u32, stop: bool) -> Packet {
    let seq = u32::from(stop);
    Packet { flow: to, seq, len: 84, class: CLASS, kind: Kind::Pause, ..Packet::default() }
}
