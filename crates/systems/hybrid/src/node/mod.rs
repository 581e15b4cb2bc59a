//! The nodes of a hybrid fabric: the switches of racks, the packet switch, circuit switches and the scheduler.

mod circuit_switch;
mod conditions;
mod controller;
mod packet_switch;
mod panel_switch;
mod rack_counters;
mod relay;
mod round_robin;
mod scheduler;
mod tor;
mod traffic;
mod week_tracker;

pub use circuit_switch::CircuitSwitch;
pub use controller::CircuitController;
pub use packet_switch::PacketSwitch;
pub use panel_switch::{PanelSwitch, PanelSwitchConfig};
pub use scheduler::{CircuitScheduler, SchedulerConfig};
pub use tor::{CircuitLinks, PacketLinks, Tor, TorConfig};
pub use week_tracker::WeekTracker;

use slotline_net::frame::{Kind, Packet};
use slotline_net::id::HostId;
use slotline_net::node::Cx;

/// Bytes of the packet of a message in addition to the message: Ethernet, IPv4 and UDP headers, checksum,
/// preamble and gap.
const OVERHEAD: u16 = 66;
/// The highest class. There are no other packets on these links.
const CLASS: u8 = 7;

/// A packet with a message between a rack and the scheduler. The link determines the receiver.
fn message(bytes: Vec<u8>, cx: &mut Cx<'_>) -> Packet {
    cx.attach((HostId(0), HostId(0)), bytes, OVERHEAD, CLASS)
}

/// A frame by which the packet switch asks a rack to stop sending packets for `to`, or to resume.
fn hold_frame(to: u32, stop: bool) -> Packet {
    let seq = u32::from(stop);
    Packet { flow: to, seq, len: 84, class: CLASS, kind: Kind::Pause, ..Packet::default() }
}
