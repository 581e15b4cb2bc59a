//! Levels that several pipelines share, each on its own core: NetBump's distributed bumps (5.2.2) within one
//! machine.
//!
//! Each queue has one *published* word that all pipelines read. A pipeline adds its packets to an
//! *unpublished* amount of its own and publishes that amount when it exceeds the *slack*. It estimates the
//! level from both. A cache line of the table therefore moves between cores once for each slack of bytes
//! and not for each packet.
//!
//! The bound of the error follows from the token bucket, whose level at `t` is the largest of
//! `A(t) - A(s) - r (t - s)` over all `s`, where `A` counts the bytes that have arrived. An estimate counts
//! the bytes of other pipelines at most one slack late, and after an update its own bytes late, too. It
//! counts no byte twice. Therefore `n` pipelines estimate at most `n - 1` slacks too low and at most `n`
//! slacks too high, at any time. A single pipeline sees no updates and is exact. With a slack of zero all
//! pipelines are exact.
//!
//! A pipeline may discard its unpublished amount if the queue has been empty since, because the level is
//! the same with and without it. The pipeline knows that this is so if the published word has not changed
//! and the queue has been empty, by its estimate, for the time in which the slacks of all other pipelines
//! drain.

use super::atomics::{AtomicU64, Ordering};
use crate::levels::Levels;
use slotline_net::aqm::VirtualQueue;
use slotline_net::time::Time;
use slotline_net::units::Bytes;
use std::sync::Arc;

/// The published level of a queue, on a cache line of its own: the time at which the queue is empty.
#[derive(Debug)]
#[repr(align(64))]
struct Published(AtomicU64);

/// The estimate of one pipeline for a queue.
#[derive(Clone, Copy, Debug, Default)]
struct Estimate {
    /// The time at which the queue is empty, from `published` and `pending`.
    level: Time,
    /// The published level at the last read.
    published: Time,
    /// The unpublished packets since then, as the time that they take to drain.
    pending: Time,
}

/// The levels of one of several pipelines. No pipeline waits for another, and no packet is counted twice.
#[derive(Debug)]
pub struct Shared {
    table: Arc<[Published]>,
    /// The largest unpublished amount of this pipeline, in bytes.
    slack: u64,
    /// The largest unpublished amount of all other pipelines, in bytes.
    others: u64,
    estimates: Vec<Estimate>,
}

impl Shared {
    /// The levels of `pipelines` pipelines that share `queues` empty queues. `slack` is the largest amount of
    /// a queue that a pipeline may leave unpublished.
    pub fn among(pipelines: usize, queues: usize, slack: Bytes) -> Vec<Shared> {
        let table: Arc<[Published]> = (0..queues).map(|_| Published(AtomicU64::new(0))).collect();
        let others = slack.0.saturating_mul(pipelines.saturating_sub(1) as u64);
        let one = |_| Shared {
            table: Arc::clone(&table),
            slack: slack.0,
            others,
            estimates: vec![Estimate::default(); queues],
        };
        (0..pipelines).map(one).collect()
    }

    /// The unpublished amount of a queue, as the time that it takes to drain.
    #[cfg(test)]
    pub(crate) fn unpublished(&self, queue: usize) -> Time {
        self.estimates[queue].pending
    }
}

impl Estimate {
    /// Updates the estimate by a new published level, to which the unpublished amount is added.
    fn update(&mut self, new: Time, now: Time) {
        self.published = new;
        self.level = if self.pending == Time::ZERO { new } else { new.max(now) + self.pending };
    }

    /// Adds a packet of `len` bytes. Returns whether the queue had room for it.
    #[inline]
    fn add(&mut self, queue: &VirtualQueue, len: u32, now: Time) -> bool {
        let Some(filled) = queue.filled(self.level, len, now) else { return false };
        self.pending += filled.since(self.level.max(now));
        self.level = filled;
        true
    }

    /// Publishes the unpublished amount, which ends with a packet of `len` bytes. Returns whether the queue
    /// had room for this packet: other pipelines may have published packets before.
    fn publish(&mut self, word: &AtomicU64, queue: &VirtualQueue, len: u32, now: Time) -> bool {
        // A level does not guard other memory, so no ordering with other accesses is needed.
        let exchange = |published: Time, level: Time| {
            let order = Ordering::Relaxed;
            word.compare_exchange(published.as_ps(), level.as_ps(), order, order)
        };
        while let Err(newer) = exchange(self.published, self.level) {
            self.pending = self.pending.since(queue.inverse_rate().time_for(u64::from(len)));
            self.update(Time::ps(newer), now);
            if !self.add(queue, len, now) {
                return false;
            }
        }
        (self.published, self.pending) = (self.level, Time::ZERO);
        true
    }
}

impl Levels for Shared {
    #[inline]
    fn level(&mut self, at: usize, queue: &VirtualQueue, now: Time) -> Time {
        let (Some(own), Some(word)) = (self.estimates.get_mut(at), self.table.get(at)) else {
            return Time::ZERO;
        };
        let published = Time::ps(word.0.load(Ordering::Relaxed));
        if published != own.published {
            own.update(published, now);
        } else if own.level <= now && now - own.level >= queue.inverse_rate().time_for(self.others)
        {
            own.pending = Time::ZERO;
        }
        own.level
    }

    #[inline]
    fn fill(&mut self, at: usize, queue: &VirtualQueue, len: u32, now: Time) -> bool {
        let (Some(own), Some(word)) = (self.estimates.get_mut(at), self.table.get(at)) else {
            return true;
        };
        if !own.add(queue, len, now) {
            return false;
        }
        own.pending <= queue.inverse_rate().time_for(self.slack)
            || own.publish(&word.0, queue, len, now)
    }
}
