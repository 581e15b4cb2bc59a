//! Active queue management: which arriving packets a queue marks or drops before it is full.

pub mod avq;
pub mod bank;
pub mod codel;
pub mod discipline;
pub mod exchange;
pub mod guest;
pub mod pie;
pub mod qcn;
pub mod red;
pub mod settings;
pub mod spec;
mod table;
pub mod threshold;
pub mod virtual_queue;

pub use avq::Avq;
pub use bank::{Bank, Counts};
pub use codel::Codel;
pub use discipline::{Arrival, Backlog, Departure, Discipline, Failure, Feedback, Left, Verdict};
pub use guest::{Guest, ObjectSpec, Program, Seat};
pub use pie::Pie;
pub use qcn::{CongestionPoint, ReactionPoint};
pub use red::Red;
pub use threshold::Threshold;
pub use virtual_queue::VirtualQueue;

use crate::id::{NodeId, PortId};
use crate::rng::Stream;
use crate::units::Pace;
use spec::{Policy, QueueSpec};

/// The policy of one queue, with its state.
#[derive(Clone, Debug)]
pub enum Marker {
    /// Never marks or drops early.
    DropTail,
    /// Instantaneous threshold.
    Threshold(Threshold),
    /// Random early detection.
    Red(Box<Red>),
    /// By the time packets have waited.
    Codel(Box<Codel>),
    /// By a controller of the queueing delay.
    Pie(Box<Pie>),
    /// Adaptive virtual queue.
    Avq(Box<Avq>),
    /// Tells senders how congested it is.
    Qcn(Box<CongestionPoint>),
    /// From outside this crate.
    Guest(Box<dyn Guest>),
}

impl Marker {
    /// The marker of a queue drained at `pace` whose largest packet has `mtu` bytes on the wire.
    ///
    /// # Panics
    /// Where `queue` is not valid: the program of an `object` is missing.
    pub fn new(queue: &QueueSpec, pace: Pace, mtu: u64, rng: Stream) -> Marker {
        match queue.policy {
            Policy::DropTail => Marker::DropTail,
            Policy::Ecn { threshold, drop_non_ect } => {
                Marker::Threshold(Threshold::new(threshold, pace).dropping(drop_non_ect))
            }
            Policy::Object(ref object) => {
                let guest =
                    object.discipline(Seat { rate: pace.rate(), capacity: queue.limit, rng });
                Marker::Guest(guest.expect("a queue that is valid has its program"))
            }
            Policy::Red(spec) => Marker::Red(Box::new(Red::new(spec, pace, mtu, rng))),
            Policy::Codel(spec) => Marker::Codel(Box::new(Codel::new(spec, mtu))),
            Policy::Pie(spec) => Marker::Pie(Box::new(Pie::new(spec, mtu, rng))),
            Policy::Avq(spec) => Marker::Avq(Box::new(Avq::new(spec, pace))),
            Policy::Qcn(spec) => Marker::Qcn(Box::new(CongestionPoint::new(spec, rng))),
        }
    }
}

impl Discipline for Marker {
    #[inline]
    fn arrive(&mut self, arrival: &Arrival) -> Verdict {
        match self {
            Marker::DropTail => Verdict::Pass,
            Marker::Threshold(threshold) => Discipline::arrive(threshold, arrival),
            Marker::Red(red) => Discipline::arrive(&mut **red, arrival),
            Marker::Codel(codel) => codel.arrive(arrival),
            Marker::Pie(pie) => pie.arrive(arrival),
            Marker::Avq(avq) => avq.arrive(arrival),
            Marker::Qcn(point) => point.arrive(arrival),
            Marker::Guest(guest) => guest.arrive(arrival),
        }
    }

    #[inline]
    fn arrive_with(&mut self, arrival: &Arrival, frame: &[u8]) -> Verdict {
        match self {
            Marker::Guest(guest) => guest.arrive_with(arrival, frame),
            _ => self.arrive(arrival),
        }
    }

    #[inline]
    fn leave(&mut self, departure: &Departure) -> Verdict {
        match self {
            Marker::Codel(codel) => codel.leave(departure),
            Marker::Guest(guest) => guest.leave(departure),
            _ => Verdict::Pass,
        }
    }

    fn set_pace(&mut self, pace: Pace) {
        match self {
            Marker::Threshold(threshold) => threshold.set_pace(pace),
            Marker::Red(red) => red.set_pace(pace),
            Marker::Avq(avq) => avq.set_pace(pace),
            Marker::Guest(guest) => guest.set_pace(pace),
            Marker::DropTail | Marker::Codel(_) | Marker::Pie(_) | Marker::Qcn(_) => {}
        }
    }

    fn failure(&self) -> Option<Failure> {
        match self {
            Marker::Guest(guest) => guest.failure(),
            _ => None,
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
    use crate::time::Time;
    use crate::units::{Bytes, Rate};

    #[test]
    fn the_list_names_every_policy() {
        for (name, _) in crate::schema::kinds::<QueueSpec>() {
            let Ok(spec) = QueueSpec::named(&name) else {
                assert_eq!(name, "object", "only this one needs more than its name");
                continue;
            };
            let pace = Rate(1_000_000_000).pace();
            let rng = queue_stream(1, NodeId(0), PortId(0), 0);
            let mut marker = Marker::new(&spec, pace, 1500, rng);
            let queue = VirtualQueue::new(pace, Bytes(150_000));
            let verdict = marker.arrive(&queue.arrival(1500, false, Time::us(1)));
            assert_eq!(verdict, Verdict::Pass, "{name}");
        }
    }
}
