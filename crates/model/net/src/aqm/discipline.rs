//! The interface of active queue management: the inputs of a discipline, and its verdicts.
//!
//! A discipline does not know whether its queue holds packets (inside a switch) or only counts them
//! (a virtual queue in front of a switch). It is the same type in both cases. In the terms of NetBump's
//! Table 5.1: `init` is the discipline's own constructor, `classify` and `forward` belong to whoever has
//! the packets, `vAQM` is [`Discipline::arrive`], and `estimateQlen` is [`Arrival::bytes`].

use crate::time::Time;
use crate::units::InverseRate;

/// The feedback of a congestion point to the sender of a packet (IEEE 802.1Q, 33.4.11): the severity of the
/// congestion, and the values from which it was computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Feedback {
    /// The feedback measure F_b, negated and quantised to 1 to 63; 63 is the worst.
    pub quantised: u8,
    /// Bytes in the queue above the equilibrium at the sample. It is negative below the equilibrium.
    pub offset: i64,
    /// Growth of the queue since the sample before, in bytes.
    pub delta: i64,
}

/// A failure of a discipline. Its queue continues without it, and its packets pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The packet at which it failed.
    pub at: Time,
    /// The reason.
    pub why: String,
    /// The packets since then that passed without a verdict, including the first.
    pub unjudged: u64,
}

/// The verdict of a discipline on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is queued as it is.
    Pass,
    /// It is queued with the congestion-experienced mark.
    Mark,
    /// It is dropped early.
    Drop,
    /// It is queued as it is, and its sender is notified.
    Notify(Feedback),
}

/// The backlog that an arriving packet finds: everything that is not yet sent, including the rest of the packet in
/// transmission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Backlog {
    /// The backlog as the time it takes to send.
    pub wait: Time,
    /// The time since which the queue is empty; `None` while it is not.
    pub idle_since: Option<Time>,
}

/// A packet arrives at a queue.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The time of arrival.
    pub now: Time,
    /// The backlog that it finds.
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

/// The backlog behind a packet that leaves.
#[derive(Clone, Copy, Debug)]
pub enum Left {
    /// A number of bytes.
    Bytes(u64),
    /// The time to send it at this rate. A virtual queue decides about a packet when it arrives, and uses
    /// the backlog that the packet found.
    Wait(Time, InverseRate),
}

/// A packet has reached the head of its queue.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// The time at which it leaves.
    pub now: Time,
    /// The time for which it has waited.
    pub sojourn: Time,
    /// The backlog behind it.
    pub left: Left,
    /// Whether it can be marked.
    pub ect: bool,
}

impl Departure {
    /// Bytes in the queue behind it.
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
/// A new discipline is a type with [`Discipline::arrive`], which is called once for every packet, in time order. A
/// discipline has no clock. Random numbers come from a stream of its own.
pub trait Discipline {
    /// A packet arrives, even if there is no room for it.
    fn arrive(&mut self, arrival: &Arrival) -> Verdict;

    /// Like [`Discipline::arrive`], with bytes of the packet: a bump on real frames has all of the frame, or its
    /// beginning. The simulator has no bytes, and calls [`Discipline::arrive`].
    #[inline]
    fn arrive_with(&mut self, arrival: &Arrival, _frame: &[u8]) -> Verdict {
        self.arrive(arrival)
    }

    /// A packet of the queue is about to leave. Disciplines that use the waiting time decide here. [`Verdict::Notify`]
    /// counts as [`Verdict::Pass`].
    #[inline]
    fn leave(&mut self, _departure: &Departure) -> Verdict {
        Verdict::Pass
    }

    /// Whether [`Discipline::leave`] has an effect. Otherwise it need not be called.
    #[inline]
    fn decides_on_departure(&self) -> bool {
        true
    }

    /// Whether [`Discipline::leave`] passes every packet that has waited for `wait`, whatever is behind it, so that its
    /// departure is certain when it arrives.
    #[inline]
    fn passes(&self, _wait: Time) -> bool {
        !self.decides_on_departure()
    }

    /// Until when [`Discipline::leave`] passes all packets, whatever they have waited for. Of the backlog behind these
    /// packets it only matters whether it is larger than the largest packet.
    #[inline]
    fn passes_until(&self) -> Time {
        if self.decides_on_departure() { Time::ZERO } else { Time::MAX }
    }

    /// Whether [`Discipline::leave`] passes a packet that has waited for `wait`, and remembers only when the last such packet
    /// left. Then it need not be called for those before.
    #[inline]
    fn forgets(&self, _wait: Time) -> bool {
        false
    }

    /// The wait above which [`Discipline::arrive`] marks every packet that can be marked, if it does nothing else and
    /// has no state. Then it need not be called.
    #[inline]
    fn marks_above(&self) -> Option<Time> {
        None
    }

    /// Requests what every packet needs.
    #[inline]
    fn expect(&self) {}

    /// The queue is drained at another rate from now on.
    fn set_pace(&mut self, _pace: InverseRate) {}

    /// The failure, if the discipline has failed. Disciplines of this program do not fail.
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
    #[inline]
    fn decides_on_departure(&self) -> bool {
        (**self).decides_on_departure()
    }
    #[inline]
    fn passes(&self, wait: Time) -> bool {
        (**self).passes(wait)
    }
    #[inline]
    fn passes_until(&self) -> Time {
        (**self).passes_until()
    }
    #[inline]
    fn forgets(&self, wait: Time) -> bool {
        (**self).forgets(wait)
    }
    #[inline]
    fn expect(&self) {
        (**self).expect();
    }
    #[inline]
    fn marks_above(&self) -> Option<Time> {
        (**self).marks_above()
    }
    fn set_pace(&mut self, pace: InverseRate) {
        (**self).set_pace(pace);
    }
    fn failure(&self) -> Option<Failure> {
        (**self).failure()
    }
}

/// Marks a chosen packet if the queue uses ECN and the packet can be marked (RFC 3168). Otherwise drops it.
#[inline]
pub(super) fn mark_or_drop(ecn: bool, ect: bool) -> Verdict {
    if ecn && ect { Verdict::Mark } else { Verdict::Drop }
}
