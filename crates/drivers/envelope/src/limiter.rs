//! Rates of initiations, without memory for each unknown source. A bucket stores one time: when the next initiation
//! would be due if they arrived evenly (the generic cell rate algorithm, ITU-T I.371). The initiations of one second
//! may arrive at once.

use crate::Settings;
use slotline_base::rng::pair_key;
use slotline_base::time::Time;
use std::collections::BTreeMap;

/// The number of buckets for sources without a known peer. Sources in the same bucket share its rate.
const BUCKETS: u64 = 1_024;
const SECOND: Time = Time::s(1);

pub(crate) struct Limiter {
    /// The intervals between initiations: of all unknown sources together, and of one source.
    interval: Time,
    source_interval: Time,
    all: Time,
    strangers: Vec<Time>,
    /// Sources from which a peer has proved its key.
    known: BTreeMap<u64, Time>,
    seed: u64,
}

impl Limiter {
    pub fn new(settings: &Settings, seed: u64) -> Limiter {
        Limiter {
            interval: interval(settings.initiations),
            source_interval: interval(settings.initiations_per_source),
            all: Time::ZERO,
            strangers: vec![Time::ZERO; BUCKETS as usize],
            known: BTreeMap::new(),
            seed,
        }
    }
    /// Whether an initiation from `source` may be read now.
    pub fn admits(&mut self, source: u64, now: Time) -> bool {
        if let Some(due) = self.known.get_mut(&source) {
            return take(due, self.source_interval, now);
        }
        let bucket = pair_key(self.seed, source) % BUCKETS;
        take(&mut self.strangers[bucket as usize], self.source_interval, now)
            && take(&mut self.all, self.interval, now)
    }
    /// Notes that a peer proved its key from `source`.
    pub fn know(&mut self, source: u64) {
        self.known.entry(source).or_insert(Time::ZERO);
    }
    /// Notes that no peer uses `source` any more.
    pub fn forget(&mut self, source: u64) {
        self.known.remove(&source);
    }
}

fn interval(per_second: u64) -> Time {
    Time::ps(SECOND.as_ps() / per_second.max(1))
}

/// Takes an initiation from a bucket, if the bucket has one.
fn take(due: &mut Time, interval: Time, now: Time) -> bool {
    let next = (*due).max(now).after(interval);
    let passes = next.since(now) <= SECOND;
    if passes {
        *due = next;
    }
    passes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter() -> Limiter {
        let settings =
            Settings { initiations: 50, initiations_per_source: 5, ..Settings::default() };
        Limiter::new(&settings, 3)
    }
    fn admitted(limiter: &mut Limiter, sources: impl Iterator<Item = u64>, now: Time) -> usize {
        sources.filter(|&source| limiter.admits(source, now)).count()
    }

    #[test]
    fn one_source_has_its_rate() {
        let mut limiter = limiter();
        let flood = || std::iter::repeat_n(9, 1_000);
        assert_eq!(admitted(&mut limiter, flood(), Time::s(1)), 5);
        assert_eq!(admitted(&mut limiter, flood(), Time::s(1) + Time::ms(400)), 2);
        assert_eq!(admitted(&mut limiter, flood(), Time::s(100)), 5);
        assert!(limiter.admits(8, Time::s(100)));
    }

    #[test]
    fn all_strangers_have_one_rate_and_known_sources_another() {
        let mut limiter = limiter();
        limiter.know(7);
        assert_eq!(admitted(&mut limiter, 1_000..9_000, Time::s(1)), 50);
        assert_eq!(admitted(&mut limiter, std::iter::repeat_n(7, 10), Time::s(1)), 5);
        limiter.forget(7);
        assert!(!limiter.admits(7, Time::s(1)));
    }
}
