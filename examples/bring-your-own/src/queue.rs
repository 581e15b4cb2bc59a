//! A queue policy: from a threshold on, every n-th packet is marked, or dropped if it cannot be marked.

use crate::Calls;
use serde::Deserialize;
use slotline::prelude::*;

pub static CALLS: Calls = Calls::none();

/// The settings, as the scenario has them in `options`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coin {
    threshold: Bytes,
    every: u32,
}

/// The state of one queue.
#[derive(Clone, Debug)]
pub struct CoinQueue {
    coin: Coin,
    above: u32,
}

impl Settings for Coin {
    type Discipline = CoinQueue;

    fn discipline(&self, _queue: QueueParams) -> CoinQueue {
        CoinQueue { coin: *self, above: 0 }
    }
    fn validate(&self, limit: Bytes) -> Result<(), SpecError> {
        if self.every == 0 || self.threshold > limit {
            let message = "`every` is at least 1, and `threshold` at most the limit";
            return Err(SpecError::new("every", message));
        }
        Ok(())
    }
    fn describe(&self, size: &dyn Fn(Bytes) -> String) -> String {
        format!("one of {} packets that find more than {}", self.every, size(self.threshold))
    }
    fn marks(&self) -> bool {
        true
    }
}

impl Discipline for CoinQueue {
    fn arrive(&mut self, arrival: &Arrival) -> Verdict {
        CALLS.count();
        if arrival.bytes() <= self.coin.threshold.0 {
            return Verdict::Pass;
        }
        self.above = (self.above + 1) % self.coin.every;
        match (self.above, arrival.ect) {
            (0, true) => Verdict::Mark,
            (0, false) => Verdict::Drop,
            _ => Verdict::Pass,
        }
    }
}
