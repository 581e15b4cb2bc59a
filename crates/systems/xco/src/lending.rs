//! The division of links among controllers of several levels, so that no part of a link is promised twice.
//!
//! The links below a switch belong to its controller. The controllers above request a share of them, in
//! proportion to the V2V flows that wait with them for these links, and use no link before they have a share.
//! The owner divides in proportion to the V2V flows that wait with each controller, in sixteenths. A
//! controller with waiting flows always gets a part. A share grows only when another share that shrinks is no
//! longer used: its user has reported this, and the timeslices that the user granted before are over. A
//! controller that is silent for two time-outs is taken to use nothing.

use slotline_net::time::Time;

/// A whole link, in 65,536ths.
pub const WHOLE: u32 = 1 << 16;
const PARTS: u32 = 16;

#[derive(Clone, Copy, Default, Debug)]
struct Share {
    /// The number of V2V flows that wait.
    waiting: u32,
    /// The share that the controller may use.
    granted: u32,
    /// The share that it may still be using, which is at least `granted`.
    used: u32,
    /// When older timeslices are over, if it has reported that it uses no more than `granted`.
    drained_at: Option<Time>,
    heard: Time,
}

/// The shares of one owner's links: its own first, then those of the controllers above.
#[derive(Clone, Debug)]
pub struct Lending {
    shares: Vec<Share>,
    /// How long timeslices given before a change can last.
    drain_time: Time,
    timeout: Time,
    /// No share grows before this time: a controller that has started does not know yet what others use.
    grow_from: Time,
}

impl Lending {
    /// Makes the shares of an owner that starts at `now` below `above` other controllers, which send messages
    /// every `beat`.
    pub fn new(above: usize, drain_time: Time, beat: Time, timeout: Time, now: Time) -> Lending {
        let shares = vec![Share { heard: now, ..Share::default() }; above + 1];
        Lending { shares, drain_time, timeout, grow_from: now.after(beat.times(2)) }
    }
    /// The share of controller number `at`. Number zero is the owner.
    pub fn granted(&self, at: usize) -> u32 {
        self.shares[at].granted
    }
    /// Notes that controller number `at` has `flows` waiting V2V flows and uses the share `uses`, at most all.
    pub fn report(&mut self, at: usize, flows: u32, uses: u32, now: Time) {
        let (share, uses) = (&mut self.shares[at], uses.min(WHOLE));
        (share.waiting, share.heard) = (flows, now);
        share.used = share.used.max(uses);
        if uses > share.granted {
            share.drained_at = None;
        } else if share.drained_at.is_none() {
            share.drained_at = Some(now.after(self.drain_time));
        }
    }
    /// Divides the links again. `own` is the number of the owner's waiting V2V flows.
    pub fn divide(&mut self, own: u32, now: Time) {
        let granted = self.shares[0].granted;
        self.report(0, own, granted, now);
        let timeout = self.timeout;
        for share in &mut self.shares {
            share.expire(now, timeout);
        }
        let targets = self.targets();
        for (share, &target) in self.shares.iter_mut().zip(&targets) {
            if target < share.granted {
                (share.granted, share.drained_at) = (target, None);
            }
        }
        let granted = self.shares[0].granted;
        self.report(0, own, granted, now);
        if now < self.grow_from {
            return;
        }
        for (at, target) in targets.into_iter().enumerate() {
            let used: u32 = self.shares.iter().map(|share| share.used.max(share.granted)).sum();
            let share = &mut self.shares[at];
            let grown = target.min(share.granted.max(WHOLE.saturating_sub(used) + share.granted));
            if grown > share.granted {
                share.granted = grown;
                share.used = share.used.max(grown);
            }
        }
    }
    /// The share that each controller should have. Shares stay as they are where no flow waits.
    fn targets(&self) -> Vec<u32> {
        let all: u64 = self.shares.iter().map(|share| u64::from(share.waiting)).sum();
        let Some(parts) = std::num::NonZeroU64::new(all) else {
            return self.shares.iter().map(|share| share.granted).collect();
        };
        let part = |share: &Share| {
            let fair = u64::from(share.waiting) * u64::from(PARTS) / parts;
            (fair as u32).max(u32::from(share.waiting > 0))
        };
        let mut targets: Vec<u32> = self.shares.iter().map(part).collect();
        let sum: u32 = targets.iter().sum();
        // The largest share absorbs the error of rounding.
        if let Some(largest) = targets.iter_mut().max() {
            *largest = (*largest + PARTS).saturating_sub(sum);
        }
        targets.into_iter().map(|target| target * (WHOLE / PARTS)).collect()
    }
}

impl Share {
    fn expire(&mut self, now: Time, timeout: Time) {
        if self.drained_at.is_some_and(|drained_at| drained_at <= now) {
            self.used = self.granted;
        }
        if now.since(self.heard) > timeout {
            (self.waiting, self.granted) = (0, 0);
        }
        if now.since(self.heard) > timeout.times(2) {
            self.used = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BEAT: Time = Time::ms(1);
    const SLICE: Time = Time::ms(4);
    const TIMEOUT: Time = Time::ms(20);

    /// A borrower: its share, when its last answer arrived, and its former shares, which timeslices may still use.
    #[derive(Clone, Default)]
    struct Borrower {
        share: u32,
        heard: Time,
        given: Vec<(Time, u32)>,
    }

    impl Borrower {
        fn has(&mut self, share: u32, now: Time) {
            self.share = share;
            self.given.push((now, share));
        }
        /// The largest share that a timeslice may use which is not over.
        fn uses(&self, now: Time) -> u32 {
            let over = |until: Time| now.since(until) >= SLICE;
            let ends = self.given.iter().skip(1).map(|&(at, _)| at).chain([now]);
            let live = self.given.iter().zip(ends).filter(|(_, until)| !over(*until));
            live.map(|((_, share), _)| *share).max().unwrap_or(0)
        }
    }

    #[test]
    fn shares_follow_what_is_wanted() {
        let mut lending = Lending::new(2, SLICE, BEAT, TIMEOUT, Time::ZERO);
        let mut divide = |ms: u64, own, waiting: [u32; 2]| {
            let now = Time::ms(ms);
            for (at, flows) in (1..).zip(waiting) {
                let uses = lending.granted(at);
                lending.report(at, flows, uses, now);
            }
            lending.divide(own, now);
            [0, 1, 2].map(|at| lending.granted(at) * 16 / WHOLE)
        };
        assert_eq!(divide(0, 5, [0, 0]), [0, 0, 0], "it does not know yet what others use");
        assert_eq!(divide(2, 5, [0, 0]), [16, 0, 0]);
        assert_eq!(divide(3, 5, [5, 0]), [8, 0, 0], "older timeslices are not over");
        assert_eq!(divide(6, 5, [5, 0]), [8, 0, 0]);
        assert_eq!(divide(8, 5, [5, 0]), [8, 8, 0]);
        assert_eq!(divide(9, 1_000, [1_000, 1]), [7, 8, 0]);
        assert_eq!(divide(20, 1_000, [1_000, 1]), [7, 8, 1], "each controller gets a part");
        divide(21, 0, [0, 7]);
        divide(22, 0, [0, 7]);
        assert_eq!(divide(30, 0, [0, 7]), [0, 0, 16]);
    }

    /// A message can contain any number.
    #[test]
    fn nobody_uses_more_than_there_is() {
        let mut lending = Lending::new(2, SLICE, BEAT, TIMEOUT, Time::ZERO);
        for at in [1, 2] {
            lending.report(at, u32::MAX, u32::MAX, Time::ms(3));
        }
        lending.divide(u32::MAX, Time::ms(3));
        assert_eq!([0, 1, 2].map(|at| lending.granted(at)), [0; 3], "all is in use");
    }

    proptest! {
        /// No more than the whole link is in use, whatever is requested or lost, and whenever borrowers restart.
        #[test]
        fn nothing_is_lent_twice(
            steps in prop::collection::vec((0u32..40, [0u32..40, 0..40, 0..40], [0.0f64..1.0, 0.0..1.0, 0.0..1.0], 0u8..40), 1..150),
            loss in 0.0f64..0.9,
        ) {
            let mut lending = Lending::new(3, SLICE, BEAT, TIMEOUT, Time::ZERO);
            let mut borrowers = vec![Borrower::default(); 4];
            let mut now = Time::ZERO;
            for (own, waiting, chance, restarts) in steps {
                now += BEAT;
                for (at, borrower) in borrowers.iter_mut().enumerate().skip(1) {
                    if now.since(borrower.heard) > TIMEOUT || usize::from(restarts) == at {
                        borrower.has(0, now);
                    }
                    // Half of the lost messages are reports, the other half are answers.
                    let draw = chance[at - 1];
                    if draw < loss / 2.0 {
                        continue;
                    }
                    lending.report(at, waiting[at - 1], borrower.share, now);
                    if draw >= loss {
                        borrower.has(lending.granted(at), now);
                        borrower.heard = now;
                    }
                }
                lending.divide(own, now);
                borrowers[0].has(lending.granted(0), now);
                let used: u32 = borrowers.iter().map(|borrower| borrower.uses(now)).sum();
                prop_assert!(used <= WHOLE, "{used} of {WHOLE} at {now}");
            }
        }
    }
}
