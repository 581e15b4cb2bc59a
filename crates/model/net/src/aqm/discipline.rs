//! The seam of active queue management: what a discipline is told of a queue, and what it answers.
//!
//! A discipline does not know whether its queue holds packets (inside a switch) or only counts them
//! (a virtual queue in front of a switch): it is the same type, written once. In the terms of NetBump's
//! Table 5.1: `init` is the discipline's own constructor, `classify` and `forward` belong to whoever has
//! the packets, `vAQM` is [`Discipline::arrive`], and `estimateQlen` is [`Arrival::bytes`].

use crate::time::Time;
use crate::units::InverseRate;

/// What a congestion point tells the sender of a packet (IEEE 802.1Q, 33.4.11): how bad it is, and
/// what that was computed from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Feedback {
    /// The feedback measure F_b, negated and quantised to 1 to 63; 63 is the worst.
    pub quantised: u8,
    /// Bytes above the equilibrium, at the sample; below it where negative.
    pub offset: i64,
    /// Bytes that the queue has grown since the sample before.
    pub delta: i64,
}

/// That a discipline failed: its queue goes on without it, and its packets pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// At which packet.
    pub at: Time,
    /// Why.
    pub why: String,
    /// Packets that it would have been asked about since, that one included.
    pub unjudged: u64,
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is queued as it is.
    Pass,
    /// It is queued with the congestion-experienced mark.
    Mark,
    /// It is dropped early.
    Drop,
    /// It is queued as it is, and its sender is told.
    Notify(Feedback),
}

/// What an arriving packet finds: everything not yet sent, the rest of the packet now in
/// transmission included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Backlog {
    /// The backlog as the time it takes to send.
    pub wait: Time,
    /// Since when there has been none; `None` while there is some.
    pub idle_since: Option<Time>,
}

/// A packet arrives at a queue.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When.
    pub now: Time,
    /// What it finds.
    pub backlog: Backlog,
    /// The rate at which the queue drains.
    pub pace: InverseRate,
    /// Its bytes on the wire.
    pub len: u32,
    /// Whether it can be marked: ECN-capable, or marked already.
    pub ect: bool,
}

impl Arrival {
    /// Bytes in the queue, without this packet: the paper's `estimateQlen`.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.pace.bytes_in(self.backlog.wait)
    }
}

/// What stays behind a packet that leaves.
#[derive(Clone, Copy, Debug)]
pub enum Left {
    /// So many bytes.
    Bytes(u64),
    /// What takes so long to send at this rate. A virtual queue decides about a packet when it arrives,
    /// and takes what the packet found for what it will leave behind.
    Wait(Time, InverseRate),
}

/// A packet has reached the head of its queue.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// When it leaves.
    pub now: Time,
    /// How long it has waited.
    pub sojourn: Time,
    /// What stays behind it.
    pub left: Left,
    /// Whether it can be marked.
    pub ect: bool,
}

impl Departure {
    /// Bytes that stay behind it.
    #[inline]
    pub fn left_bytes(&self) -> u64 {
        match self.left {
            Left::Bytes(bytes) => bytes,
            Left::Wait(wait, pace) => pace.bytes_in(wait),
        }
    }
}

/// An active queue management discipline: one value for each queue, with that queue's state.
///
/// A new discipline is a type with [`Discipline::arrive`]. It is asked once for every packet, in time
/// order, and counts on nothing else: it has no clock, and draws from a stream of its own.
pub trait Discipline {
    /// A packet arrives, also where there is no room for it.
    fn arrive(&mut self, arrival: &Arrival) -> Verdict;

    /// The same where the packet's bytes are at hand, as in a bump on real frames: all of the frame, or
    /// its beginning. The simulator has none, and asks [`Discipline::arrive`].
    #[inline]
    fn arrive_with(&mut self, arrival: &Arrival, _frame: &[u8]) -> Verdict {
        self.arrive(arrival)
    }

    /// A packet that was queued would leave now. Disciplines that look at the time spent waiting decide
    /// here; [`Verdict::Notify`] counts as [`Verdict::Pass`].
    #[inline]
    fn leave(&mut self, _departure: &Departure) -> Verdict {
        Verdict::Pass
    }

    /// The queue is drained at another rate from now on.
    fn set_pace(&mut self, _pace: InverseRate) {}

    /// That it failed, if it did. What is compiled in does not: its faults are the program's.
    fn failure(&self) -> Option<Failure> {
        None
    }
}

impl<D: Discipline + ?Sized> Discipline for Box<D> {
    #[inline]
    fn arrive(&mut self, arrival: &Arrival) -> Verdict {
        (**self).arrive(arrival)
    }
    #[inline]
    fn arrive_with(&mut self, arrival: &Arrival, frame: &[u8]) -> Verdict {
        (**self).arrive_with(arrival, frame)
    }
    #[inline]
    fn leave(&mut self, departure: &Departure) -> Verdict {
        (**self).leave(departure)
    }
    fn set_pace(&mut self, pace: InverseRate) {
        (**self).set_pace(pace);
    }
    fn failure(&self) -> Option<Failure> {
        (**self).failure()
    }
}

/// Marks a packet that was chosen where the queue does ECN and the packet can be marked (RFC 3168);
/// drops it otherwise.
#[inline]
pub(super) fn mark_or_drop(ecn: bool, ect: bool) -> Verdict {
    if ecn && ect { Verdict::Mark } else { Verdict::Drop }
}
