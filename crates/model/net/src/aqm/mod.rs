//! Active queue management: which arriving packets a queue marks or drops before it is full.

pub mod avq;
pub mod bank;
pub mod codel;
pub mod custom;
pub mod discipline;
pub mod drop_tail;
pub mod exchange;
pub mod guest;
pub mod pie;
pub mod policy;
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
pub use custom::{CustomSpec, QueuePart};
pub use discipline::{Arrival, Backlog, Departure, Discipline, Failure, Feedback, Left, Verdict};
pub use drop_tail::DropTail;
pub use guest::{Guest, ObjectSpec, Program};
pub use pie::Pie;
pub use policy::{Marker, Policy};
pub use qcn::{CongestionPoint, ReactionPoint};
pub use red::Red;
pub use settings::{QueueParams, Settings};
pub use threshold::Threshold;
pub use virtual_queue::VirtualQueue;

use crate::rng::{Stream, pair_key};

/// The random stream of one queue of the port with this key, the same whichever kind of port holds the queue.
/// `class` is 0 where a port has a single queue.
pub fn queue_stream(seed: u64, port: u64, class: u8) -> Stream {
    Stream::named(seed, "aqm.red", pair_key(port, class.into()))
}

#[cfg(test)]
mod tests {
    use super::spec::QueueSpec;
    use super::*;
    use crate::time::Time;
    use crate::units::{Bytes, Rate};

    #[test]
    fn the_list_names_every_policy() {
        for (name, _) in crate::schema::kinds::<QueueSpec>() {
            let Ok(spec) = QueueSpec::named(&name) else {
                assert!(["object", "custom"].contains(&&*name), "{name} needs more than its name");
                continue;
            };
            let pace = Rate(1_000_000_000).inverse_rate();
            let rng = queue_stream(1, 0, 0);
            let params = QueueParams { pace, capacity: spec.limit, mtu: 1500, rng };
            let mut marker = spec.policy.marker(params);
            let queue = VirtualQueue::new(pace, Bytes(150_000));
            let verdict = marker.arrive(&queue.arrival(1500, false, Time::us(1)));
            assert_eq!(verdict, Verdict::Pass, "{name}");
        }
    }
}
