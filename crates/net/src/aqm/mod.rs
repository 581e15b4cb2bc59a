//! Active queue management: which arriving packets a queue marks or drops before it is full.

pub mod red;
pub mod spec;
mod table;
pub mod threshold;

pub use red::Red;
pub use threshold::Threshold;

use crate::frame::{ECT, Packet};
use crate::id::{NodeId, PortId};
use crate::rng::Stream;
use crate::time::Time;
use crate::units::Pace;
use spec::Policy;

/// What becomes of an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is queued as it is.
    Pass,
    /// It is queued with the congestion-experienced mark.
    Mark,
    /// It is dropped early.
    Drop,
}

/// What an arriving packet finds: everything not yet sent, the rest of the packet now in
/// transmission included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Backlog {
    /// The backlog as the time it takes to send.
    pub wait: Time,
    /// Since when there has been none; `None` while there is some.
    pub idle_since: Option<Time>,
}

/// The policy of one queue, with its state.
#[derive(Clone, Debug)]
pub enum Marker {
    /// Never marks or drops early.
    DropTail,
    /// Instantaneous threshold.
    Threshold(Threshold),
    /// Random early detection, and the rate that turns time into bytes.
    Red(Box<Red>, Pace),
}

impl Marker {
    /// The marker of a queue drained at `pace` whose largest packet has `mtu` bytes on the wire.
    pub fn new(policy: Policy, pace: Pace, mtu: u64, rng: Stream) -> Marker {
        match policy {
            Policy::DropTail => Marker::DropTail,
            Policy::Ecn { threshold } => Marker::Threshold(Threshold::new(threshold, pace)),
            Policy::Red(spec) => Marker::Red(Box::new(Red::new(spec, pace, mtu, rng)), pace),
        }
    }

    /// `packet` arrives and finds `backlog`. Asked for every packet, also those without room.
    pub fn arrive(&mut self, backlog: Backlog, packet: &Packet, now: Time) -> Verdict {
        let ect = packet.has(ECT);
        match self {
            Marker::DropTail => Verdict::Pass,
            Marker::Threshold(threshold) => threshold.arrive(backlog.wait, ect),
            Marker::Red(red, pace) => {
                let bytes = pace.bytes_in(backlog.wait);
                red.arrive(bytes, backlog.idle_since, u64::from(packet.len), ect, now)
            }
        }
    }

    /// The queue is drained at another rate from now on.
    pub fn set_pace(&mut self, pace: Pace) {
        match self {
            Marker::DropTail => {}
            Marker::Threshold(threshold) => threshold.set_pace(pace),
            Marker::Red(red, current) => {
                red.set_pace(pace);
                *current = pace;
            }
        }
    }
}

/// The random stream of one queue of one port, the same whichever kind of port holds the queue.
/// `class` is 0 where a port has a single queue.
pub fn queue_stream(seed: u64, node: NodeId, port: PortId, class: u8) -> Stream {
    let index = (u64::from(node.0) << 24) | (u64::from(port.0) << 8) | u64::from(class);
    Stream::named(seed, "aqm.red", index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    #[test]
    fn the_list_names_every_policy() {
        for (name, _) in crate::schema::kinds::<spec::QueueSpec>() {
            let spec = spec::QueueSpec::named(&name).unwrap();
            let pace = Rate(1_000_000_000).pace();
            let rng = queue_stream(1, NodeId(0), PortId(0), 0);
            let mut marker = Marker::new(spec.policy, pace, 1500, rng);
            let empty = Backlog { wait: Time::ZERO, idle_since: Some(Time::ZERO) };
            let verdict = marker.arrive(empty, &Packet::default(), Time::us(1));
            assert_eq!(verdict, Verdict::Pass, "{name}");
        }
    }
}
