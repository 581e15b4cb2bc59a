//! The backlog of a port, or of one class at it.

use crate::aqm::Backlog;
use crate::time::Time;
use crate::units::InverseRate;

/// The backlog as time. The arithmetic is that of a FIFO port that only knows when it will be free, so both accept,
/// mark and drop the same packets.
#[derive(Clone, Copy, Default)]
pub(super) struct Load {
    /// The time to send the waiting packets, without those that wait outside of the queues.
    pub(super) queued: Time,
    /// The time at which the present transmission, and those of packets outside of the queues, end.
    pub(super) until: Time,
    pub(super) peak: Time,
    /// The time until which other classes are sent, if packets outside of the queues follow them.
    pub(super) begins: Time,
    /// `until` before these packets.
    pub(super) before: Time,
}

impl Load {
    #[inline]
    pub(super) fn backlog(&self, now: Time) -> Backlog {
        let wait = self.wait(now);
        Backlog { wait, idle_since: (wait == Time::ZERO).then_some(self.until) }
    }
    /// The time to send everything.
    #[inline]
    pub(super) fn wait(&self, now: Time) -> Time {
        self.queued + self.until.since(now.max(self.begins))
    }
    /// Adds a packet that waits outside of the queues and starts at `start`, after all others.
    #[inline]
    pub(super) fn follow(&mut self, time: Time, now: Time, start: Time) {
        if start > self.until.max(now) {
            (self.begins, self.before) = (start, self.until);
        }
        self.until = start + time;
        self.peak = self.peak.max(self.until.since(now.max(self.begins)));
    }
    /// A packet that waited outside of the queues now waits in them.
    pub(super) fn take_back(&mut self, time: Time) {
        self.queued += time;
        self.until = self.until - time;
        if self.until <= self.begins {
            self.until = self.before;
        }
    }
    /// Adds a packet that arrives when all others have to wait for `wait`.
    #[inline]
    pub(super) fn push(&mut self, time: Time, wait: Time) {
        self.queued += time;
        self.peak = self.peak.max(wait + time);
    }
    #[inline]
    pub(super) fn pop(&mut self, time: Time, now: Time) {
        self.queued = self.queued - time;
        self.until = now + time;
    }
    /// Removes a waiting packet that is not sent after all.
    pub(super) fn forget(&mut self, time: Time) {
        self.queued = self.queued - time;
    }
    pub(super) fn cut(&mut self, now: Time) {
        (self.queued, self.until) = (Time::ZERO, self.until.min(now));
    }
    /// The packets take other times from now on. The caller computes `queued` again.
    pub(super) fn repace(&mut self, from: InverseRate, to: InverseRate) {
        self.queued = Time::ZERO;
        self.peak = to.time_for(from.bytes_in(self.peak));
    }
}
