//! Timestamps of initiations: nanoseconds since 1970, each greater than the one before.

use crate::Start;
use slotline_base::time::Time;

pub(crate) struct Timestamps {
    /// The timestamp at [`Time::ZERO`].
    start: u64,
    last: u64,
}

impl Timestamps {
    pub fn new(start: &Start) -> Timestamps {
        let start = u64::try_from(start.since_1970.as_nanos()).unwrap_or(u64::MAX);
        Timestamps { start, last: 0 }
    }
    pub fn next(&mut self, now: Time) -> u64 {
        let clock = self.start.saturating_add(now.as_ns());
        self.last = clock.max(self.last.saturating_add(1));
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn timestamps_grow_while_the_clock_stands() {
        let start = Start { since_1970: Duration::from_secs(1_700_000_000), seed: 0 };
        let mut timestamps = Timestamps::new(&start);
        assert_eq!(timestamps.next(Time::us(2)), 1_700_000_000_000_002_000);
        assert_eq!(timestamps.next(Time::us(2)), 1_700_000_000_000_002_001);
        assert_eq!(timestamps.next(Time::ZERO), 1_700_000_000_000_002_002);
        assert_eq!(timestamps.next(Time::us(3)), 1_700_000_000_000_003_000);
    }
}
