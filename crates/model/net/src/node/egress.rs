//! The sending side of a switch port: its queues, the packets in them, and its counters.

mod ahead;

use super::class_queues::ClassQueues;
pub use super::leaving::{Foreseen, Leaving, Passage, Sends, Stored};
use super::load::Load;
use super::pool::Pool;
pub use super::port_stats::{ClassStats, PortStats};
use super::reserve::Reserve;
use super::{Cx, DropReason};
use crate::aqm::spec::QueueSpec;
use crate::aqm::{
    Arrival, Backlog, Departure, Discipline, Failure, Feedback, Left, Marker, Verdict, queue_stream,
};
use crate::frame::{CE, CLASSES, ECT, Packet};
use crate::time::Time;
use crate::units::{Bytes, InverseRate};

/// One port's queues. What every packet needs comes first, in few cache lines.
#[repr(C, align(64))]
pub(super) struct Egress {
    /// The load of the queue `current_queue`.
    current: Load,
    /// When the last of the packets that wait outside of `queues` starts. Their driver has scheduled their departures.
    last_start: Time,
    /// Bytes of these packets. Those that have left count until the driver reports it.
    ahead: u64,
    /// The time to send `limit`.
    room: Time,
    /// The load of all queues.
    whole: Load,
    /// The wait above which packets are marked when they arrive, if the discipline does nothing else then.
    marks_above: Option<Time>,
    pace: InverseRate,
    /// Until when the discipline of `current_queue` passes all packets that leave.
    passes_until: Time,
    /// The queue of the packets that wait outside of `queues`, or did so last.
    current_queue: usize,
    pub up: bool,
    /// Whether the discipline hears of departures.
    decides: bool,
    /// Whether priorities and pauses alone select the next packet, and no discipline decides when it leaves.
    is_plain: bool,
    /// The class of `reserve`; no class if there is none.
    reserved: u8,
    pub queues: ClassQueues,
    /// By queue. That of `current_queue` is not valid.
    loads: Box<[Load]>,
    markers: Box<[Marker]>,
    /// The class that has a share of the port before all others.
    reserve: Option<Reserve>,
    limit: Bytes,
    /// The bytes of the largest packet.
    mtu: u64,
    pub stats: PortStats,
    /// The feedback of the last packet that passed with [`Passage::Notified`].
    pub feedback: Feedback,
}

/// What an arriving packet finds at its port.
pub(super) struct Found {
    pub queue: usize,
    /// The backlog of its queue.
    backlog: Backlog,
    /// The time to send what all queues hold.
    wait: Time,
    /// The time to send the packet.
    takes: Time,
}

impl Found {
    /// The time to send all packets of its queue, and then this one.
    pub fn drained(&self) -> Time {
        self.backlog.wait + self.takes
    }
}

/// The parts of the queues of a port.
pub(super) struct Place {
    /// The port's key for random streams.
    pub key: u64,
    pub mtu: u64,
    pub seed: u64,
    pub reserve: Option<Reserve>,
}

impl Egress {
    pub fn new(spec: &QueueSpec, pace: InverseRate, place: &Place) -> Egress {
        let count = if spec.priorities { CLASSES as u8 } else { 1 };
        let marker = |class| {
            let rng = queue_stream(place.seed, place.key, class);
            spec.marker(pace, place.mtu, rng)
        };
        let markers: Box<[Marker]> = (0..count).map(marker).collect();
        let decides = markers[0].decides_on_departure();
        Egress {
            decides,
            is_plain: place.reserve.is_none() && !decides,
            marks_above: markers[0].marks_above(),
            passes_until: markers[0].passes_until(),
            markers,
            feedback: Feedback::default(),
            queues: if spec.priorities { ClassQueues::strict() } else { ClassQueues::fifo() },
            reserved: place.reserve.map_or(u8::MAX, |reserve| reserve.class),
            reserve: place.reserve,
            loads: vec![Load::default(); usize::from(count)].into(),
            current: Load::default(),
            whole: Load::default(),
            pace,
            limit: spec.limit,
            mtu: place.mtu,
            room: pace.time_for(spec.limit.0),
            ahead: 0,
            current_queue: 0,
            last_start: Time::ZERO,
            up: true,
            stats: PortStats::default(),
        }
    }

    /// The load of a queue.
    #[inline]
    fn load(&self, queue: usize) -> &Load {
        if queue == self.current_queue { &self.current } else { &self.loads[queue] }
    }

    #[inline]
    fn load_mut(&mut self, queue: usize) -> &mut Load {
        if queue == self.current_queue { &mut self.current } else { &mut self.loads[queue] }
    }

    /// The loads of all queues, and of the port.
    fn all_loads(&mut self) -> impl Iterator<Item = &mut Load> {
        self.loads.iter_mut().chain([&mut self.current, &mut self.whole])
    }

    /// Makes `queue` the one whose packets wait outside of `queues`.
    #[cold]
    fn turn_to(&mut self, queue: usize) {
        self.loads[self.current_queue] = self.current;
        self.current = self.loads[queue];
        self.current_queue = queue;
        if self.decides {
            self.passes_until = self.markers[queue].passes_until();
        }
    }

    /// What an arriving packet finds here.
    #[inline]
    pub fn arrival(&self, packet: &Packet, now: Time) -> Found {
        let queue = self.queues.queue_of(packet);
        let backlog = self.load(queue).backlog(now);
        Found { queue, backlog, wait: self.whole.wait(now), takes: self.time_for(packet.len) }
    }

    /// The verdict of the queue's policy on an arriving packet.
    #[inline]
    pub fn judge(&mut self, packet: &Packet, found: &Found, now: Time) -> Verdict {
        let Found { queue, backlog, .. } = *found;
        let (len, ect) = (u32::from(packet.len), packet.has(ECT));
        match self.marks_above {
            Some(above) if ect && backlog.wait > above => Verdict::Mark,
            Some(_) => Verdict::Pass,
            None => {
                self.markers[queue].arrive(&Arrival { now, backlog, pace: self.pace, len, ect })
            }
        }
    }

    /// Whether there is room for a packet in addition to what is not yet sent.
    #[inline]
    pub fn fits(&self, found: &Found) -> bool {
        found.wait + found.takes <= self.room
    }

    /// The rate at which it drains.
    #[inline]
    pub fn pace(&self) -> InverseRate {
        self.pace
    }

    /// Bytes that are not yet sent, of packets that do not wait in `queues`.
    pub fn leaving(&self, now: Time) -> u64 {
        self.pace.bytes_in(self.whole.until.since(now))
    }

    /// Bytes that wait in a queue.
    #[inline]
    fn waiting_in(&self, queue: usize) -> u64 {
        let ahead = if queue == self.current_queue { self.ahead } else { 0 };
        self.queues.bytes_of(queue) + ahead
    }

    /// Bytes that wait.
    pub fn waiting(&self) -> u64 {
        self.queues.bytes() + self.ahead
    }

    /// Queues a packet that was admitted.
    #[inline(always)]
    pub fn push(
        &mut self,
        stored: Stored,
        found: &Found,
        verdict: Verdict,
        pool: &mut Pool<Stored>,
    ) {
        self.load_mut(found.queue).push(found.takes, found.backlog.wait);
        self.whole.push(found.takes, found.wait);
        let flags = self.mark(stored.packet.class, verdict == Verdict::Mark);
        let packet = Packet { flags: stored.packet.flags | flags, ..stored.packet };
        self.queues.push(Stored { packet, ..stored }, pool);
    }

    /// Counts the mark of a packet of `class`, if it is marked. Returns the flags to add.
    #[inline]
    fn mark(&mut self, class: u8, is_marked: bool) -> u8 {
        if !is_marked {
            return 0;
        }
        self.stats.classes[usize::from(class)].marks += 1;
        CE
    }

    /// [`Egress::mark`] of a packet that waits for long. A function of its own, because the compiler would branch on `ect` first,
    /// which cannot be predicted.
    #[cold]
    #[inline(never)]
    fn mark_long(&mut self, class: u8, ect: bool) -> u8 {
        self.mark(class, ect)
    }

    /// Whether the discipline does no more than compare with a threshold when packets arrive.
    pub fn compares_with_threshold(&self) -> bool {
        self.marks_above.is_some()
    }

    /// Whether the discipline hears of departures.
    pub fn decides_on_departure(&self) -> bool {
        self.decides
    }

    /// Whether packets of `class` are not paused, and the discipline does no more than compare with a threshold.
    #[inline]
    pub fn obeys_only_pauses(&self, class: u8) -> bool {
        self.marks_above.is_some()
            && !self.decides
            && !self.queues.is_paused(self.queues.queue_of_class(class))
    }

    fn next(&mut self, now: Time, pool: &mut Pool<Stored>) -> Option<Stored> {
        if let Some(reserve) = self.reserve.filter(|reserve| reserve.goes_first(now))
            && let Some(stored) = self.queues.pop_class(reserve.class, pool)
        {
            return Some(*stored);
        }
        self.queues.pop(pool).copied()
    }

    /// The next packet to send, if priorities and pauses alone select it, and no discipline decides when it leaves.
    #[inline(always)]
    pub fn pop_plain<'a>(&mut self, now: Time, pool: &'a mut Pool<Stored>) -> Option<&'a Stored> {
        if !self.is_plain || !self.up {
            return None;
        }
        let stored = self.queues.pop(pool)?;
        let Packet { len, class, .. } = stored.packet;
        self.count(self.queues.queue_of_class(class), (len, class), now);
        Some(stored)
    }

    /// The next packet to send, with its verdict. If the verdict is a drop, it is dropped after its wait.
    pub fn pop(&mut self, now: Time, pool: &mut Pool<Stored>) -> Option<(Stored, Verdict)> {
        let mut stored = self.next(now, pool)?;
        let queue = self.queues.queue_of(&stored.packet);
        let verdict = self.leave(queue, &Leaving::of(&stored), now);
        if verdict == Verdict::Mark {
            stored.packet.flags |= CE;
        }
        Some((stored, verdict))
    }

    /// The verdict of the queue's policy on a packet that leaves.
    #[inline]
    fn judge_leaving(&mut self, queue: usize, leaving: &Leaving, now: Time) -> Verdict {
        if !self.decides {
            return Verdict::Pass;
        }
        self.ask_leaving(queue, leaving, now, self.waiting_in(queue))
    }

    /// As [`Egress::judge_leaving`], of a discipline that hears of departures. `left` are the bytes behind the packet.
    #[inline]
    fn ask_leaving(&mut self, queue: usize, leaving: &Leaving, now: Time, left: u64) -> Verdict {
        let (sojourn, left, ect) = (now.since(leaving.since), Left::Bytes(left), leaving.ect);
        let marker = &mut self.markers[queue];
        let verdict = marker.leave(&Departure { now, sojourn, left, ect });
        if queue == self.current_queue {
            self.passes_until = marker.passes_until();
        }
        verdict
    }

    /// Counts a packet that leaves `queue`, unless its verdict is a drop.
    #[inline]
    fn leave(&mut self, queue: usize, leaving: &Leaving, now: Time) -> Verdict {
        let time = self.time_for(leaving.len);
        let verdict = self.judge_leaving(queue, leaving, now);
        if verdict == Verdict::Drop {
            self.whole.forget(time);
            self.load_mut(queue).forget(time);
            return verdict;
        }
        if let Some(reserve) = &mut self.reserve
            && reserve.class == leaving.class
        {
            reserve.leaves(now, time);
        }
        self.count(queue, (leaving.len, leaving.class), now);
        self.stats.classes[usize::from(leaving.class)].marks += u64::from(verdict == Verdict::Mark);
        verdict
    }

    /// Counts a packet of a class that leaves `queue` at `now`.
    #[inline(always)]
    fn count(&mut self, queue: usize, (len, class): (u16, u8), now: Time) {
        let time = self.time_for(len);
        self.load_mut(queue).pop(time, now);
        self.whole.pop(time, now);
        self.stats.classes[usize::from(class)].count(len);
    }

    /// Bytes not yet sent, including the rest of the packet in transmission.
    pub fn unsent(&self, now: Time) -> u64 {
        self.pace.bytes_in(self.whole.backlog(now).wait)
    }

    /// Counts a packet as dropped here.
    pub fn drop(&mut self, packet: &Packet, reason: DropReason, cx: &mut Cx<'_>) {
        self.stats.classes[usize::from(packet.class)].drops[reason as usize] += 1;
        cx.drop(packet, reason);
    }

    /// The link failed: nothing is sent, paused or accepted. Returns the packets that were queued.
    pub fn go_down(&mut self, now: Time, pool: &mut Pool<Stored>) -> Vec<Stored> {
        self.up = false;
        self.queues.resume(u8::MAX);
        self.all_loads().for_each(|load| load.cut(now));
        std::iter::from_fn(|| self.queues.pop(pool).copied()).collect()
    }

    /// The rate changes for packets whose transmission starts from now on. Limits in bytes do not change.
    pub fn set_pace(&mut self, pace: InverseRate, pool: &Pool<Stored>) {
        let from = std::mem::replace(&mut self.pace, pace);
        self.room = pace.time_for(self.limit.0);
        self.all_loads().for_each(|load| load.repace(from, pace));
        self.markers.iter_mut().for_each(|marker| marker.set_pace(pace));
        self.marks_above = self.markers[0].marks_above();
        for stored in self.queues.iter(pool) {
            let time = pace.time_for(u64::from(stored.packet.len));
            let queue = self.queues.queue_of(&stored.packet);
            let load = if queue == self.current_queue {
                &mut self.current
            } else {
                &mut self.loads[queue]
            };
            load.queued += time;
            self.whole.queued += time;
        }
    }

    /// The failures of disciplines that can fail, by class. There is one if classes share a queue.
    pub fn guests(&self) -> impl Iterator<Item = (u8, Option<Failure>)> {
        let markers = (0..).zip(&self.markers);
        let guests = markers.filter(|(_, marker)| marker.is_foreign());
        guests.map(|(class, marker)| (class, marker.failure()))
    }

    /// The statistics, with high-water marks in bytes.
    pub fn stats(&self) -> PortStats {
        let mut stats = self.stats;
        stats.max_backlog = self.pace.bytes_in(self.whole.peak);
        for queue in 0..self.loads.len() {
            stats.classes[queue].max_backlog = self.pace.bytes_in(self.load(queue).peak);
        }
        if let Some(reserve) = self.reserve {
            let messages = usize::from(reserve.class);
            let others = (0..CLASSES).filter(|&class| class != messages);
            stats.max_messages = stats.classes[messages].max_backlog;
            stats.max_backlog =
                others.map(|class| stats.classes[class].max_backlog).max().unwrap_or(0);
        }
        stats
    }

    fn time_for(&self, len: u16) -> Time {
        self.pace.time_for(u64::from(len))
    }
}
