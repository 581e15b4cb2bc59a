//! CoDel (RFC 8289): drops at a rate that rises with the square root of its count while packets wait
//! longer than a target for a whole interval.

use super::discipline::{Arrival, Departure, Discipline, Verdict, mark_or_drop};
use super::settings::{QueueParams, Settings, ensure, lasting, marks_or_drops};
use crate::error::SpecError;
use crate::time::Time;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// CoDel's settings (RFC 8289, 4.2 and 4.3). The defaults are for the Internet; within a datacenter
/// choose about the base round-trip time for `interval` and a tenth of it for `target`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = crate::schema::keep_comment)]
pub struct CodelSpec {
    /// The target of the queueing delay.
    pub target: Time,
    /// The time for which the delay may exceed the target before a packet is dropped.
    pub interval: Time,
    /// Whether chosen packets are marked, if they can be, instead of dropped.
    pub ecn: bool,
}

impl Default for CodelSpec {
    fn default() -> CodelSpec {
        CodelSpec { target: Time::ms(5), interval: Time::ms(100), ecn: false }
    }
}

impl Settings for CodelSpec {
    type Discipline = Box<Codel>;

    fn discipline(&self, queue: QueueParams) -> Box<Codel> {
        Box::new(Codel::new(*self, queue.mtu))
    }
    fn validate(&self, _limit: Bytes) -> Result<(), SpecError> {
        lasting("target", self.target)?;
        ensure(self.target < self.interval, "target", || {
            format!("`target` = {} must be below `interval` = {}", self.target, self.interval)
        })
    }
    fn describe(&self, _size: &dyn Fn(Bytes) -> String) -> String {
        let CodelSpec { target, interval, ecn } = self;
        let verb = marks_or_drops(*ecn);
        format!("{verb} once packets wait longer than {target} for {interval}")
    }
    fn marks(&self) -> bool {
        self.ecn
    }
    fn is_lossless(&self) -> bool {
        false
    }
}

/// The role of the packet after a dropped one. That packet leaves the queue in the same call as the dropped one (RFC
/// 8289, 5.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// It is decided like any other packet.
    Usual,
    /// It leaves, because the drop began a dropping state.
    Leaves,
    /// It decides whether dropping continues.
    Continues,
}

/// The state of one queue, named as in RFC 8289, 5.3.
#[derive(Clone, Debug)]
pub struct Codel {
    spec: CodelSpec,
    mtu: u64,
    first_above: Time,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
    next: Next,
    passes_until: Time,
}

impl Codel {
    /// An empty queue; `mtu` is its largest packet in bytes on the wire.
    pub fn new(spec: CodelSpec, mtu: u64) -> Codel {
        Codel {
            spec,
            mtu,
            first_above: Time::ZERO,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
            next: Next::Usual,
            passes_until: Time::ZERO,
        }
    }

    /// Whether the wait has been above the target for an interval (`dodequeue`).
    fn is_late(&mut self, departure: &Departure) -> bool {
        let now = departure.now;
        if departure.sojourn < self.spec.target || departure.left_bytes() <= self.mtu {
            self.first_above = Time::ZERO;
            return false;
        }
        if self.first_above == Time::ZERO {
            self.first_above = now + self.spec.interval;
            return false;
        }
        now >= self.first_above
    }

    /// `control_law`: the time of the next drop after one at `t`.
    fn after(&self, t: Time) -> Time {
        let interval = self.spec.interval.as_ps() as f64;
        t + Time::ps((interval / libm::sqrt(f64::from(self.count.max(1)))) as u64)
    }

    fn begin(&mut self, now: Time) {
        let delta = self.count - self.last_count;
        let recent = now.since(self.drop_next).as_ps() < 16 * self.spec.interval.as_ps();
        self.dropping = true;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = self.after(now);
        self.last_count = self.count;
    }

    /// Whether this packet, too, is chosen in the dropping state.
    fn goes_on(&mut self, continues: bool, now: Time) -> bool {
        if continues {
            self.drop_next = self.after(self.drop_next);
        }
        let due = now >= self.drop_next;
        self.count += u32::from(due);
        due
    }

    /// Decides about a packet that leaves.
    fn decide(&mut self, departure: &Departure) -> Verdict {
        let Departure { now, ect, .. } = *departure;
        let late = self.is_late(departure);
        let next = std::mem::replace(&mut self.next, Next::Usual);
        if next == Next::Leaves {
            return Verdict::Pass;
        }
        if self.dropping {
            self.dropping = late;
            if late && self.goes_on(next == Next::Continues, now) {
                return self.choose(Next::Continues, ect);
            }
        } else if late {
            self.begin(now);
            return self.choose(Next::Leaves, ect);
        }
        Verdict::Pass
    }

    /// No packet that leaves before this time is chosen, whatever leaves between `now` and then. A new dropping state begins
    /// an interval after its first late packet at the earliest.
    fn calm_until(&self, now: Time) -> Time {
        let interval_ends = now + self.spec.interval;
        match self.next {
            Next::Usual if self.dropping => self.drop_next.min(interval_ends),
            Next::Usual if self.first_above == Time::ZERO => interval_ends,
            Next::Usual => self.first_above,
            Next::Leaves | Next::Continues => Time::ZERO,
        }
    }

    /// Handles a chosen packet. If it is marked it leaves, so no other packet follows in the same call.
    fn choose(&mut self, next: Next, ect: bool) -> Verdict {
        let verdict = mark_or_drop(self.spec.ecn, ect);
        match (verdict, next) {
            (Verdict::Drop, next) => self.next = next,
            (_, Next::Continues) => self.drop_next = self.after(self.drop_next),
            _ => {}
        }
        verdict
    }
}

impl Discipline for Codel {
    fn arrive(&mut self, _arrival: &Arrival) -> Verdict {
        Verdict::Pass
    }

    fn leave(&mut self, departure: &Departure) -> Verdict {
        let verdict = self.decide(departure);
        self.passes_until = self.calm_until(departure.now);
        verdict
    }

    #[inline]
    fn passes(&self, wait: Time) -> bool {
        wait < self.spec.target
    }

    #[inline]
    fn forgets(&self, wait: Time) -> bool {
        let calm = !self.dropping && self.first_above == Time::ZERO && self.next == Next::Usual;
        calm && self.passes(wait)
    }

    #[inline]
    fn passes_until(&self) -> Time {
        self.passes_until
    }

    #[inline]
    fn marks_above(&self) -> Option<Time> {
        Some(Time::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::super::discipline::Left;
    use super::*;
    use proptest::prelude::*;

    fn codel(ecn: bool) -> Codel {
        let spec = CodelSpec { target: Time::ms(5), interval: Time::ms(100), ecn };
        Codel::new(spec, 1500)
    }

    fn leave(codel: &mut Codel, sojourn_ms: u64, now_ms: u64) -> Verdict {
        let departure = Departure {
            now: Time::ms(now_ms),
            sojourn: Time::ms(sojourn_ms),
            left: Left::Bytes(100_000),
            ect: true,
        };
        codel.leave(&departure)
    }

    /// One packet each millisecond, which has waited 10 ms. The times of the drops follow the control law.
    #[test]
    fn drops_come_at_the_interval_over_the_square_root_of_the_count() {
        for (ecn, what) in [(false, Verdict::Drop), (true, Verdict::Mark)] {
            let mut codel = codel(ecn);
            let chosen: Vec<u64> = (1..600).filter(|&t| leave(&mut codel, 10, t) == what).collect();
            // First at 1 + 100; then + 100/√1, + 100/√2, … each at the next whole millisecond.
            let mut due = 101.0;
            let want: Vec<u64> = std::iter::once(101)
                .chain((1..).map(|n: u32| {
                    due += 100.0 / f64::from(n).sqrt();
                    (due - 1e-9).ceil() as u64
                }))
                .take(chosen.len())
                .collect();
            assert!(chosen.len() > 8, "{chosen:?}");
            assert_eq!(chosen, want, "{what:?}");
        }
    }

    #[test]
    fn a_short_wait_ends_it_and_the_count_stays() {
        let mut codel = codel(false);
        let dropped = (1..500).filter(|&t| leave(&mut codel, 10, t) == Verdict::Drop).count();
        assert!(dropped > 5);
        assert_eq!(leave(&mut codel, 4, 500), Verdict::Pass);
        assert!(!codel.dropping);
        let before = codel.count - codel.last_count;
        (501..=601).for_each(|t| {
            leave(&mut codel, 10, t);
        });
        assert!(codel.dropping && codel.count == before, "{} {before}", codel.count);
    }

    #[test]
    fn a_queue_of_one_packet_is_never_too_long() {
        let mut codel = codel(false);
        for now in 0..1_000 {
            let last = Departure {
                now: Time::ms(now),
                sojourn: Time::ms(50),
                left: Left::Bytes(1500),
                ect: false,
            };
            assert_eq!(codel.leave(&last), Verdict::Pass);
        }
    }

    proptest! {
        /// Packets leave at random times after random waits. A second queue does not hear of packets that it would forget.
        #[test]
        fn a_promise_to_pass_is_kept(
            ecn: bool,
            steps in prop::collection::vec((1u64..30, 0u64..40, 0u64..9_000), 0..800),
        ) {
            let (mut codel, mut second, mut now, mut promised) = (codel(ecn), codel(ecn), 0, Time::ZERO);
            for (span, sojourn, left) in steps {
                now += span;
                let departure = Departure {
                    now: Time::ms(now),
                    sojourn: Time::ms(sojourn),
                    left: Left::Bytes(left),
                    ect: sojourn % 2 == 0,
                };
                let calm = departure.now < promised || codel.passes(departure.sojourn);
                let verdict = codel.leave(&departure);
                prop_assert!(verdict == Verdict::Pass || !calm);
                let heard = !second.forgets(departure.sojourn);
                prop_assert_eq!(if heard { second.leave(&departure) } else { Verdict::Pass }, verdict);
                // What was promised once holds until then.
                promised = promised.max(codel.passes_until());
            }
        }
    }
}
