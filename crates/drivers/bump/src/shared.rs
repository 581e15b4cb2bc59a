//! Levels that several pipelines share, each on its core: NetBump's distributed bumps (5.2.2) within one
//! machine.
//!
//! A queue has one word that all can see: what pipelines have *told*. Each pipeline keeps what it has let
//! pass since it last told, at most the *slack*, and estimates from both. So a line of the table travels
//! from core to core once for each slack, and not for each packet.
//!
//! How wrong that can be follows from the bucket itself, whose level at `t` is the largest of
//! `A(t) - A(s) - r (t - s)` over all `s`, if `A` counts the bytes that have come. An estimate counts
//! others' bytes up to a slack later, and its own, too, once there was news. Where it counts a byte at most
//! that late, and none twice, `n` pipelines estimate at most `n - 1` slacks too low and `n` too high,
//! however long they run. One pipeline alone hears no news, and is exact; without slack all are.
//!
//! What was kept may be forgotten where the queue has been empty since: with it or without, the level is
//! the same. A pipeline knows that when the queue has been empty to its knowledge for as long as the slacks
//! of all others take to drain, without news.

use crate::levels::Levels;
#[cfg(all(loom, test))]
use loom::sync::atomic::{AtomicU64, Ordering};
use slotline_net::aqm::VirtualQueue;
use slotline_net::time::Time;
use slotline_net::units::Bytes;
use std::sync::Arc;
#[cfg(not(all(loom, test)))]
use std::sync::atomic::{AtomicU64, Ordering};

/// What is told of one queue, on a cache line of its own: when it is empty.
#[derive(Debug)]
#[repr(align(64))]
struct Told(AtomicU64);

/// What one pipeline knows of a queue.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// When it is empty: what was told when it was last looked at, and what was kept since.
    level: Time,
    /// What was told when it was last looked at.
    told: Time,
    /// What was let pass since, as the time that takes to drain.
    kept: Time,
}

/// The levels of one of several pipelines. Nobody waits for anybody, and no packet is counted twice.
#[derive(Debug)]
pub struct Shared {
    table: Arc<[Told]>,
    /// The most that it may keep, in bytes.
    slack: u64,
    /// The most that all others keep.
    others: u64,
    known: Vec<Known>,
}

impl Shared {
    /// The levels of so many pipelines, which share so many empty queues. Of each queue a pipeline may keep
    /// at most `slack` to itself.
    pub fn among(pipelines: usize, queues: usize, slack: Bytes) -> Vec<Shared> {
        let table: Arc<[Told]> = (0..queues).map(|_| Told(AtomicU64::new(0))).collect();
        let others = slack.0.saturating_mul(pipelines.saturating_sub(1) as u64);
        let one = |_| Shared {
            table: Arc::clone(&table),
            slack: slack.0,
            others,
            known: vec![Known::default(); queues],
        };
        (0..pipelines).map(one).collect()
    }
}

impl Known {
    /// There is news: what was kept comes on top of it.
    fn hear(&mut self, told: Time, now: Time) {
        self.told = told;
        self.level = if self.kept == Time::ZERO { told } else { told.max(now) + self.kept };
    }

    /// A packet of `len` bytes comes on top. Whether there was room.
    #[inline]
    fn keep(&mut self, queue: &VirtualQueue, len: u32, now: Time) -> bool {
        let Some(filled) = queue.filled(self.level, len, now) else { return false };
        self.kept += filled.since(self.level.max(now));
        self.level = filled;
        true
    }

    /// Tells others all that was kept with a packet of `len` bytes, which came last. Whether there was
    /// room for it: there may be news of others first.
    fn tell(&mut self, word: &AtomicU64, queue: &VirtualQueue, len: u32, now: Time) -> bool {
        // A level says nothing about other memory: no order with anything else is needed.
        let exchange = |told: Time, level: Time| {
            let order = Ordering::Relaxed;
            word.compare_exchange(told.as_ps(), level.as_ps(), order, order)
        };
        while let Err(news) = exchange(self.told, self.level) {
            self.kept = self.kept.since(queue.pace().time_for(u64::from(len)));
            self.hear(Time::ps(news), now);
            if !self.keep(queue, len, now) {
                return false;
            }
        }
        (self.told, self.kept) = (self.level, Time::ZERO);
        true
    }
}

impl Levels for Shared {
    #[inline]
    fn level(&mut self, at: usize, queue: &VirtualQueue, now: Time) -> Time {
        let (Some(known), Some(told)) = (self.known.get_mut(at), self.table.get(at)) else {
            return Time::ZERO;
        };
        let told = Time::ps(told.0.load(Ordering::Relaxed));
        if told != known.told {
            known.hear(told, now);
        } else if known.level <= now && now - known.level >= queue.pace().time_for(self.others) {
            known.kept = Time::ZERO;
        }
        known.level
    }

    #[inline]
    fn fill(&mut self, at: usize, queue: &VirtualQueue, len: u32, now: Time) -> bool {
        let (Some(known), Some(told)) = (self.known.get_mut(at), self.table.get(at)) else {
            return true;
        };
        if !known.keep(queue, len, now) {
            return false;
        }
        known.kept <= queue.pace().time_for(self.slack) || known.tell(&told.0, queue, len, now)
    }
}

#[cfg(test)]
#[path = "shared_tests.rs"]
mod tests;
