//! AVQ, the adaptive virtual queue (Kunniyur and Srikant, IEEE/ACM Transactions on Networking 12(2),
//! 2004): a virtual queue whose capacity is adapted so that the utilisation of the link approaches a target.

use super::discipline::{Arrival, Discipline, Verdict, mark_or_drop};
use super::settings::{QueueParams, Settings, ensure, marks_or_drops, positive};
use crate::error::SpecError;
use crate::prefetch::prefetch_value;
use crate::time::Time;
use crate::units::{Bytes, InverseRate};
use serde::{Deserialize, Serialize};

/// The settings of the adaptive virtual queue, named as in the article's section II.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = crate::schema::keep_comment)]
pub struct AvqSpec {
    /// The target of the utilisation of the link.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub utilisation: f64,
    /// The rate at which the virtual capacity adapts, per second.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub gain: f64,
    /// Room of the virtual queue.
    pub size: Bytes,
    /// Whether chosen packets are marked, if they can be, instead of dropped.
    pub ecn: bool,
}

impl Default for AvqSpec {
    fn default() -> AvqSpec {
        AvqSpec { utilisation: 0.98, gain: 0.15, size: Bytes(150_000), ecn: false }
    }
}

impl Settings for AvqSpec {
    type Discipline = Box<Avq>;

    fn discipline(&self, queue: QueueParams) -> Box<Avq> {
        Box::new(Avq::new(*self, queue.pace))
    }
    fn validate(&self, _limit: Bytes) -> Result<(), SpecError> {
        positive("gain", self.gain)?;
        ensure(self.size.0 > 0, "size", || "`size` is 0B: every packet would be chosen".into())?;
        ensure(self.utilisation > 0.0 && self.utilisation <= 1.0, "utilisation", || {
            format!("`utilisation` = {} must be above 0 and at most 1", self.utilisation)
        })
    }
    fn describe(&self, size: &dyn Fn(Bytes) -> String) -> String {
        let (verb, room, use_) = (marks_or_drops(self.ecn), size(self.size), self.utilisation);
        format!(
            "{verb} when a virtual queue of {room} overflows, for a target utilisation of {use_}"
        )
    }
    fn marks(&self) -> bool {
        self.ecn
    }
    fn is_plain(&self) -> bool {
        true
    }
}

/// The state of one queue, named as in the article's Figure 1.
#[derive(Clone, Debug)]
pub struct Avq {
    spec: AvqSpec,
    /// Capacity of the link, C, in bytes per second.
    capacity: f64,
    /// Capacity of the virtual queue, C̃.
    virtual_capacity: f64,
    /// Bytes in the virtual queue, VQ.
    level: f64,
    /// Time of the previous arrival, s.
    last: Time,
}

fn bytes_per_second(pace: InverseRate) -> f64 {
    pace.bytes_in(Time::s(1)) as f64
}

impl Avq {
    /// An empty queue drained at `pace`. The virtual capacity is that of the link at first.
    pub fn new(spec: AvqSpec, pace: InverseRate) -> Avq {
        let capacity = bytes_per_second(pace);
        Avq { spec, capacity, virtual_capacity: capacity, level: 0.0, last: Time::ZERO }
    }
}

impl Discipline for Avq {
    fn arrive(&mut self, arrival: &Arrival) -> Verdict {
        let AvqSpec { utilisation, gain, size, ecn } = self.spec;
        let gone = arrival.now.since(self.last).as_ps() as f64 / 1e12;
        let len = f64::from(arrival.len);
        self.level = (self.level - self.virtual_capacity * gone).max(0.0);
        let overflows = self.level + len > size.0 as f64;
        if !overflows {
            self.level += len;
        }
        let grown = self.virtual_capacity + gain * utilisation * self.capacity * gone;
        self.virtual_capacity = (grown.min(self.capacity) - gain * len).max(0.0);
        self.last = arrival.now.max(self.last);
        if overflows { mark_or_drop(ecn, arrival.ect) } else { Verdict::Pass }
    }

    #[inline]
    fn expect(&self) {
        prefetch_value(&self.level);
    }

    fn set_pace(&mut self, pace: InverseRate) {
        self.capacity = bytes_per_second(pace);
        self.virtual_capacity = self.virtual_capacity.min(self.capacity);
    }

    #[inline]
    fn decides_on_departure(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::virtual_queue::VirtualQueue;
    use super::*;
    use crate::units::{Bytes, Rate};

    fn avq(gain: f64) -> Avq {
        let spec = AvqSpec { utilisation: 0.9, gain, size: Bytes(15_000), ecn: true };
        Avq::new(spec, Rate(800_000_000).inverse_rate())
    }

    /// One step by hand: C = 100 MB/s, a gap of 10 us, 1500 bytes.
    #[test]
    fn the_capacity_follows_the_recursion() {
        let mut avq = avq(100.0);
        let queue = VirtualQueue::new(Rate(800_000_000).inverse_rate(), Bytes(1_000_000));
        avq.arrive(&queue.arrival(1500, true, Time::us(10)));
        // min(1e8 + 100 · 0.9 · 1e8 · 1e-5, 1e8) - 100 · 1500
        assert_eq!(avq.virtual_capacity, 1e8 - 150_000.0);
        avq.arrive(&queue.arrival(1500, true, Time::us(25)));
        assert!((avq.virtual_capacity - (1e8 - 300_000.0 + 135_000.0)).abs() < 1e-3);
        // 1500 bytes minus what C̃ drains in 15 us, plus 1500 bytes.
        assert!(
            (avq.level - 1500.0 - (1500.0_f64 - (1e8 - 150_000.0) * 15e-6).max(0.0)).abs() < 1e-6
        );
    }

    /// A load of 95 % is above the target of 90 %, so packets are marked sooner or later. At 85 % none is marked.
    #[test]
    fn marks_above_the_wanted_use_only() {
        for (gap_ns, marked) in [(15_789, true), (17_647, false)] {
            let (mut avq, mut marks) = (avq(50.0), 0);
            let queue = VirtualQueue::new(Rate(800_000_000).inverse_rate(), Bytes(1_000_000));
            for n in 1..200_000u64 {
                let arrival = queue.arrival(1500, true, Time::ns(gap_ns * n));
                marks += u32::from(avq.arrive(&arrival) == Verdict::Mark);
            }
            assert_eq!(marks > 100, marked, "{gap_ns}: {marks}");
        }
    }
}
