//! How many timeslots the arbiter may give out so that hosts are informed of them in time.

use crate::timing::Timing;

/// The messages that leave the arbiter's switch share its links with packets. If the messages of a batch take longer
/// than a batch, they arrive later with every batch. Timeslots that hosts learn of too late are requested again,
/// which takes more messages. The arbiter therefore leaves batches out until its messages have left.
pub(super) struct MessageBudget {
    /// Bytes that the links carry in a batch.
    carried: f64,
    /// Bytes of messages that the arbiter's own link carries in a batch.
    own: f64,
    reserve: f64,
    /// Bytes of messages that have not left yet.
    backlog: f64,
    /// Bytes of messages that were counted.
    counted: u64,
    /// The latest batch.
    batch: u64,
    /// The share of the links that its packets take.
    load: f64,
}

impl MessageBudget {
    pub fn new(timing: &Timing) -> MessageBudget {
        let carried = timing.message_links.map_or(f64::INFINITY, |bytes| bytes as f64);
        let own = timing.arbiter_link.map_or(f64::INFINITY, |bytes| bytes as f64);
        let reserve = timing.reserve;
        MessageBudget { carried, own, reserve, backlog: 0.0, counted: 0, batch: 0, load: 0.0 }
    }
    /// Whether too many messages of earlier batches wait when `batch` is due. `sent` counts the bytes of all messages.
    pub fn is_spent(&mut self, batch: u64, sent: u64) -> bool {
        let idle = batch.saturating_sub(self.batch + 1) as f64;
        let shared = self.carried * (1.0 - (1.0 - self.reserve) * self.load + idle);
        let left = shared.min(self.own * (1.0 + idle));
        self.backlog = (self.backlog + (sent - self.counted) as f64 - left).max(0.0);
        (self.counted, self.batch, self.load) = (sent, batch, 0.0);
        self.backlog > (self.carried * self.reserve).min(self.own)
    }
    /// Counts the timeslots of the latest batch as a share of those that all hosts have.
    pub fn allocated(&mut self, load: f64) {
        self.load = load.min(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::time::Time;
    use slotline_net::units::Rate;

    fn budget(links: Option<u64>, own: Option<u64>) -> MessageBudget {
        MessageBudget::new(&Timing {
            batch: 64,
            slot: Time::us(1),
            capacity: 1_500,
            lead: Time::us(65),
            grant_span: Time::us(30),
            slowest: Rate(10_000_000_000),
            message: 164,
            reserve: 0.1,
            message_links: links,
            arbiter_link: own,
        })
    }

    /// The number of 1,000 batches that are allocated if each has `load` and takes `bytes` of messages.
    fn allocated(links: Option<u64>, load: f64, bytes: u64) -> usize {
        allocated_by(budget(links, links), load, bytes)
    }
    fn allocated_by(mut budget: MessageBudget, load: f64, bytes: u64) -> usize {
        let mut sent = 0;
        let one = |batch: &u64| {
            let free = !budget.is_spent(*batch, sent);
            if free {
                budget.allocated(load);
                sent += bytes;
            }
            free
        };
        (1..=1_000).filter(one).count()
    }

    #[test]
    fn batches_are_left_out_where_their_messages_take_too_long() {
        assert_eq!(allocated(Some(100_000), 1.0, 9_900), 1_000, "within the reserve");
        assert_eq!(allocated(Some(100_000), 0.5, 54_000), 1_000, "idle links carry messages");
        assert_eq!(allocated(None, 1.0, 1_000_000), 1_000, "no link is shared");
        // Waiting messages leave during a batch that is left out.
        let full = allocated(Some(100_000), 1.0, 110_000);
        assert!((490..=510).contains(&full), "{full}");
        let some = allocated(Some(100_000), 1.0, 14_000);
        assert!((740..=760).contains(&some), "{some}");
    }

    #[test]
    fn the_arbiters_own_link_limits_it_where_others_are_fast() {
        let budget = || budget(Some(10_000_000), Some(100_000));
        assert_eq!(allocated_by(budget(), 1.0, 99_000), 1_000);
        let half = allocated_by(budget(), 1.0, 200_000);
        assert!((490..=510).contains(&half), "{half}");
    }
}
