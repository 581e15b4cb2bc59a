//! The sending end of one direction of a link: the fast FIFO port, and the pacing of a pulled one.
//!
//! On a FIFO port departure is known at enqueue: one event per hop, and the backlog is the time until
//! the port is free. Such a port is not a queue of packets but one number.

use crate::ahead_queue::Started;
use crate::sojourn::SojournQueue;
use slotline_net::aqm::{Arrival, Backlog, Discipline as _, Feedback, Marker, Verdict};
use slotline_net::frame::{CE, ECT};
use slotline_net::node::egress::Leaving;
use slotline_net::time::Time;
use slotline_net::units::{InverseRate, Rate};

/// The method by which a port selects packets to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Discipline {
    /// FIFO with a limit and an optional marking threshold.
    Fifo,
    /// FIFO with a discipline that decides when packets arrive.
    Managed,
    /// FIFO with a discipline that decides when packets leave.
    Sojourn,
    /// The node decides each time the port is free.
    Pulled,
    /// The link is down.
    Down,
}

/// What happens to a packet offered to a FIFO port.
pub(crate) enum Offer {
    /// It arrives at `time` at port `to`, with these flags added.
    Sent {
        time: u64,
        to: u32,
        flags: u8,
    },
    /// It arrived at `port` at `now`, and is to be held until the discipline decides.
    Held {
        port: u32,
        now: u64,
    },
    /// It arrived at `now`, arrives at `time` at port `to`, and its sender is to be notified.
    Notified {
        now: u64,
        time: u64,
        to: u32,
    },
    Full,
    Early,
    Down,
}

impl Offer {
    /// Whether the packet has joined the queue.
    #[inline]
    pub fn is_accepted(&self) -> bool {
        !matches!(self, Offer::Full | Offer::Early | Offer::Down)
    }
}

/// What happens to a packet before it is known whether it fits.
enum Judgement {
    Pass,
    Mark,
    /// It is to be held at this port.
    Hold(u32),
    /// Its sender is to be notified.
    Notify,
    Early,
    Down,
}

/// State touched by every packet: one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Line {
    /// When the last accepted packet has left, ps.
    pub free_at: u64,
    pace: InverseRate,
    delay: u64,
    /// Longest backlog, packet included, ps.
    limit: u64,
    /// Backlog above which ECN-capable packets are marked, ps.
    mark: u64,
    /// Receiving port, with the epoch in the high 8 bits.
    to: u32,
    /// High-water mark of the backlog in 64 ps.
    peak: u32,
    tx_bytes: u64,
    /// Packets sent; the discipline in the high 8 bits, with [`ARMED`].
    tx_packets: u64,
}

/// State touched by few packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColdState {
    pub full: u64,
    pub early: u64,
    pub marks: u64,
    pub lost_down: u64,
    /// The discipline of a managed port.
    pub marker: Option<Marker>,
    /// The last feedback of the discipline of which a sender is to be notified.
    pub feedback: Feedback,
    /// The packets on which it decides when they leave.
    pub sojourn: Option<Box<SojournQueue>>,
    /// The discipline to return to when the link is up again.
    before_failure: Option<Discipline>,
}

impl ColdState {
    /// Whether the discipline of the port may hold packets or notify senders.
    pub fn interrupts(&self) -> bool {
        self.sojourn.is_some() || matches!(self.marker, Some(Marker::Qcn(_)))
    }

    /// The flags to add to a packet that is marked if it is ECN-capable. A function of its own, because the compiler would
    /// branch on that first, which cannot be predicted.
    #[cold]
    #[inline(never)]
    fn mark(&mut self, flags: u8) -> u8 {
        let is_marked = flags & ECT != 0;
        self.marks += u64::from(is_marked);
        CE * u8::from(is_marked)
    }
}

const KIND_SHIFT: u32 = 56;
/// A `Free` event of this pulled port is pending.
const ARMED: u64 = 1 << 63;
pub(crate) const PORT_MASK: u32 = (1 << 24) - 1;

impl Line {
    pub fn new(rate: Rate, delay: Time, to: u32, discipline: Discipline) -> Line {
        Line {
            free_at: 0,
            pace: rate.inverse_rate(),
            delay: delay.as_ps(),
            limit: u64::MAX,
            mark: u64::MAX,
            to,
            peak: 0,
            tx_bytes: 0,
            tx_packets: u64::from(discipline as u8) << KIND_SHIFT,
        }
    }
    /// Sets the buffer limit and the marking threshold, in bytes.
    pub fn bound(&mut self, limit: Option<u64>, mark: Option<u64>) {
        let time = |bytes: Option<u64>| bytes.map_or(u64::MAX, |b| self.pace.time_for(b).as_ps());
        (self.limit, self.mark) = (time(limit), time(mark));
    }
    pub fn discipline(&self) -> Discipline {
        match (self.tx_packets & !ARMED) >> KIND_SHIFT {
            0 => Discipline::Fifo,
            1 => Discipline::Managed,
            2 => Discipline::Sojourn,
            3 => Discipline::Pulled,
            _ => Discipline::Down,
        }
    }
    /// Whether it is a FIFO without a discipline.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.tx_packets >> KIND_SHIFT == Discipline::Fifo as u64
    }
    /// Whether the node selects each packet.
    #[inline]
    pub fn is_pulled(&self) -> bool {
        (self.tx_packets & !ARMED) >> KIND_SHIFT == Discipline::Pulled as u64
    }
    fn set_discipline(&mut self, discipline: Discipline) {
        let kept = self.tx_packets & ARMED | self.packets();
        self.tx_packets = kept | (u64::from(discipline as u8) << KIND_SHIFT);
    }
    /// Whether this pulled port asks for a packet when it is free.
    pub fn is_armed(&self) -> bool {
        self.tx_packets & ARMED != 0
    }
    pub fn arm(&mut self) {
        self.tx_packets |= ARMED;
    }
    pub fn disarm(&mut self) {
        self.tx_packets &= !ARMED;
    }
    pub fn packets(&self) -> u64 {
        self.tx_packets & ((1 << KIND_SHIFT) - 1)
    }
    pub fn bytes(&self) -> u64 {
        self.tx_bytes
    }
    /// Bytes of the longest backlog seen.
    pub fn peak_bytes(&self) -> u64 {
        self.pace.bytes_in(Time::ps(u64::from(self.peak) << 6))
    }
    /// The time that a packet of `len` bytes takes to leave, in ps.
    pub fn time_for(&self, len: u16) -> u64 {
        self.pace.time_for(u64::from(len)).as_ps()
    }
    /// Bytes not yet sent at `now`.
    pub fn backlog_bytes(&self, now: u64) -> u64 {
        self.bytes_between(now, self.free_at)
    }
    /// Bytes that are sent between two times.
    pub fn bytes_between(&self, from: u64, until: u64) -> u64 {
        self.pace.bytes_in(Time::ps(until.saturating_sub(from)))
    }
    /// Whether a packet that arrives at `now` finds another one that is still being sent. A pulled port becomes free
    /// after the packets that arrive at the same time.
    #[inline]
    pub fn is_busy(&self, now: u64) -> bool {
        self.free_at >= now && self.free_at > 0
    }
    /// When and where a packet arrives whose last bit leaves at `end`.
    #[inline]
    pub fn arrival(&self, end: u64) -> (u64, u32) {
        (end + self.delay, self.to)
    }
    /// Counts a packet that a pulled port has begun to send.
    #[inline]
    pub fn count(&mut self, len: u16) {
        self.count_all(&Started { packets: 1, bytes: len.into(), longest: len });
    }
    /// Counts packets that a pulled port has begun to send.
    #[inline]
    pub fn count_all(&mut self, started: &Started) {
        self.tx_packets += u64::from(started.packets);
        self.tx_bytes += started.bytes;
        self.note_peak(self.time_for(started.longest));
    }
    #[inline]
    fn note_peak(&mut self, backlog: u64) {
        self.peak = self.peak.max((backlog >> 6).min(u64::from(u32::MAX)) as u32);
    }

    /// The time to send what a packet of `len` bytes finds at `now`, and then this packet; and the pace.
    #[inline]
    pub fn drained(&self, len: u16, now: u64) -> (Time, InverseRate) {
        (Time::ps(self.free_at.max(now) - now + self.time_for(len)), self.pace)
    }

    /// Offers a packet of `len` bytes to a FIFO port. `has_room` says whether there is room in a buffer that ports share.
    #[inline(always)]
    pub fn offer(
        &mut self,
        cold: &mut ColdState,
        (len, flags): (u16, u8),
        now: u64,
        has_room: bool,
    ) -> Offer {
        let start = self.free_at.max(now);
        let backlog = start - now;
        let leave = start + self.pace.time_for(u64::from(len)).as_ps();
        let mut added = 0;
        if !self.is_plain() {
            let fits = has_room && leave - now <= self.limit;
            match self.judge(cold, (len, flags), now, fits) {
                Judgement::Pass => {}
                Judgement::Mark => added = CE,
                Judgement::Hold(port) => return self.hold(port, len, now, leave),
                Judgement::Notify => return self.notify(len, now, leave),
                Judgement::Early => return Offer::Early,
                Judgement::Down => return Offer::Down,
            }
        }
        if leave - now > self.limit || !has_room {
            cold.full += 1;
            return Offer::Full;
        }
        if backlog > self.mark {
            added |= cold.mark(flags);
        }
        let (time, to) = self.depart(len, now, leave);
        Offer::Sent { time, to, flags: added }
    }

    /// A packet of `len` bytes that was to leave, and takes some time to send, does not leave.
    pub fn forget(&mut self, len: u16, takes: u64) {
        self.free_at -= takes;
        self.tx_packets -= 1;
        self.tx_bytes -= u64::from(len);
    }

    /// A packet of `len` bytes will have left at `leave`, unless it, or one before it, is dropped.
    #[cold]
    fn hold(&mut self, port: u32, len: u16, now: u64, leave: u64) -> Offer {
        self.depart(len, now, leave);
        Offer::Held { port, now }
    }

    /// A packet of `len` bytes will have left at `leave`, and its sender is to be notified.
    #[cold]
    fn notify(&mut self, len: u16, now: u64, leave: u64) -> Offer {
        let (time, to) = self.depart(len, now, leave);
        Offer::Notified { now, time, to }
    }

    /// Sends a packet that the node chose for this pulled port, which must be free. Returns when and where it
    /// arrives.
    #[inline]
    pub fn transmit(&mut self, len: u16, now: u64) -> (u64, u32) {
        let leave = now + self.pace.time_for(u64::from(len)).as_ps();
        self.depart(len, now, leave)
    }

    #[inline]
    fn depart(&mut self, len: u16, now: u64, leave: u64) -> (u64, u32) {
        self.free_at = leave;
        self.tx_packets += 1;
        self.tx_bytes += u64::from(len);
        self.note_peak(leave - now);
        (leave + self.delay, self.to)
    }

    /// What happens to a packet at a port that is not a plain FIFO, where it `fits` or not.
    #[inline(never)]
    fn judge(
        &self,
        cold: &mut ColdState,
        (len, flags): (u16, u8),
        now: u64,
        fits: bool,
    ) -> Judgement {
        if self.discipline() == Discipline::Down {
            cold.lost_down += 1;
            return Judgement::Down;
        }
        let Some(marker) = cold.marker.as_mut() else { return Judgement::Pass };
        if let Some(sojourn) = &mut cold.sojourn {
            let since = Time::ps(now);
            let arriving = Leaving { len, ect: flags & ECT != 0, since, ..Leaving::default() };
            let is_sent = !fits || sojourn.sends(marker, arriving, self.free_at.max(now));
            return if is_sent { Judgement::Pass } else { Judgement::Hold(sojourn.port) };
        }
        let (free_at, now) = (Time::ps(self.free_at), Time::ps(now));
        let idle_since = (free_at <= now).then_some(free_at);
        let backlog = Backlog { wait: free_at.since(now), idle_since };
        let (len, ect) = (u32::from(len), flags & ECT != 0);
        let arrival = Arrival { now, backlog, pace: self.pace, len, ect };
        let verdict = match marker {
            // These take so little time that the choice of the discipline in a call would matter.
            Marker::Red(red) => red.arrive(&arrival),
            Marker::Qcn(point) => point.arrive(&arrival),
            other => other.arrive(&arrival),
        };
        match verdict {
            Verdict::Drop => {
                cold.early += 1;
                Judgement::Early
            }
            Verdict::Mark if fits => {
                cold.marks += 1;
                Judgement::Mark
            }
            Verdict::Notify(what) if fits => {
                cold.feedback = what;
                Judgement::Notify
            }
            _ => Judgement::Pass,
        }
    }

    /// Takes the link down. Packets in the queue or on the wire are lost: the receiver sees that their epoch is
    /// over.
    pub fn go_down(&mut self, cold: &mut ColdState) {
        if self.discipline() != Discipline::Down {
            cold.before_failure = Some(self.discipline());
            self.set_discipline(Discipline::Down);
            self.to = self.to.wrapping_add(1 << 24);
        }
    }
    /// Brings the link up again, with an empty queue.
    pub fn come_up(&mut self, cold: &mut ColdState, now: u64) {
        if let Some(discipline) = cold.before_failure.take() {
            self.set_discipline(discipline);
            self.free_at = self.free_at.min(now);
        }
    }
    /// Changes the rate for packets that start from now on. Limits stay the same in bytes.
    pub fn set_rate(&mut self, rate: Rate) {
        let bytes = |time: u64| (time != u64::MAX).then(|| self.pace.bytes_in(Time::ps(time)));
        let (limit, mark) = (bytes(self.limit), bytes(self.mark));
        self.pace = rate.inverse_rate();
        self.bound(limit, mark);
    }
    /// Connects the far end elsewhere, for packets sent from now on: to a port, with its epoch in the high 8
    /// bits.
    pub fn rewire(&mut self, to: u32) {
        self.to = to;
    }
}

const _: () = assert!(std::mem::size_of::<Line>() == 64);
