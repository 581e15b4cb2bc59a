//! The sending side of a switch port: its queues, the packets in them, and its counters.

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
    /// The wait above which packets are marked, if the discipline does nothing else.
    marks_above: Option<Time>,
    pace: InverseRate,
    /// The queue of the packets that wait outside of `queues`, or did so last.
    current_queue: usize,
    pub up: bool,
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
        Egress {
            is_plain: place.reserve.is_none() && !markers[0].decides_on_departure(),
            marks_above: markers[0].marks_above(),
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

    /// Bytes that wait in a queue.
    #[inline]
    pub fn waiting_in(&self, queue: usize) -> u64 {
        self.queues.bytes_of(queue) + self.bytes_ahead(queue)
    }

    /// Bytes of a queue that wait outside of `queues`.
    #[inline]
    fn bytes_ahead(&self, queue: usize) -> u64 {
        if queue == self.current_queue { self.ahead } else { 0 }
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

    /// Whether the discipline does no more than compare with a threshold.
    pub fn compares_with_threshold(&self) -> bool {
        self.marks_above.is_some()
    }

    /// Whether the discipline hears of departures.
    pub fn decides_on_departure(&self) -> bool {
        self.markers[0].decides_on_departure()
    }

    /// Whether packets of `class` are not paused, and the discipline does no more than compare with a threshold.
    #[inline]
    pub fn obeys_only_pauses(&self, class: u8) -> bool {
        self.marks_above.is_some() && !self.queues.is_paused(self.queues.queue_of_class(class))
    }

    /// Whether the departure of a packet of `queue` that arrives and is to wait for `wait` is certain already: it leaves
    /// after all packets that are here, and before others of its class. Its queue is not paused.
    #[inline(always)]
    fn foresees(&self, queue: usize, leaving: &Leaving, wait: Time) -> bool {
        debug_assert!(!self.queues.is_paused(queue), "a queue that may send");
        self.up
            && self.queues.is_empty()
            && (self.last_start < leaving.since || self.current_queue == queue)
            && self.reserved != leaving.class
            && (self.marks_above.is_some() || self.markers[queue].passes(wait))
    }

    /// When a packet of `len` bytes that arrives at `now` is sent, if no packet waits in the queues.
    #[inline(always)]
    pub fn sends(&self, len: u16, now: Time) -> Sends {
        let until = self.whole.until;
        let start = until.max(now);
        let waits = until >= now && until > Time::ZERO;
        Sends { start, end: start + self.time_for(len), waits }
    }

    /// As [`Egress::pass`], where the discipline does not hear of departures, so that they can be reported at any time. If
    /// `THRESHOLD`, it only compares with a threshold. `may_wait` says whether the packet may wait outside until it has been
    /// sent at a time. Then its departure is reported even if it leaves at once: whether a packet waits cannot be predicted,
    /// and code that does not branch on it is faster.
    #[inline(always)]
    pub fn pass_on_arrival<const THRESHOLD: bool>(
        &mut self,
        packet: &Packet,
        now: Time,
        may_wait: impl FnOnce(Time) -> bool,
        admits: impl FnOnce(u64) -> bool,
    ) -> Result<Foreseen, Passage> {
        let (len, class, ect) = (packet.len, packet.class, packet.has(ECT));
        let queue = self.queues.queue_of_class(class);
        if !self.up || !self.queues.is_empty() || self.reserved == class {
            return Err(Passage::Uncertain);
        }
        if queue != self.current_queue {
            if self.last_start >= now {
                return Err(Passage::Uncertain);
            }
            self.turn_to(queue);
        }
        let sends = self.sends(len, now);
        if sends.end - now > self.room || !admits(self.ahead) {
            return Err(Passage::NoRoom);
        }
        let is_reported = may_wait(sends.end);
        if !is_reported && sends.waits {
            return Err(Passage::Uncertain);
        }
        let (flags, notifies) = match self.marks_above {
            Some(above) if THRESHOLD => {
                let wait = self.current.until.since(now.max(self.current.begins));
                let flags = if wait > above { self.mark_long(class, ect) } else { 0 };
                (flags, false)
            }
            _ => match self.judge_ahead(queue, (len, class, ect), now, true) {
                Passage::Sent(flags) => (flags, false),
                Passage::Notified => (0, true),
                other => return Err(other),
            },
        };
        self.follow(&sends, now);
        if is_reported {
            self.ahead += u64::from(len);
        } else {
            self.stats.classes[usize::from(class)].count(len);
        }
        let at_once = Time::ps(u64::from(!sends.waits));
        let waits_until = sends.start.since(at_once);
        Ok(Foreseen { waits_until, end: sends.end, is_reported, flags, notifies })
    }

    /// Admits a packet that arrives, and is sent as `sends` says without entering the queues, if its departure is
    /// certain. `admits` says whether a queue of so many bytes may have it. If `all_reported`, departures up to now have
    /// been reported.
    #[inline(always)]
    pub fn pass(
        &mut self,
        leaving: &Leaving,
        sends: &Sends,
        all_reported: bool,
        admits: impl FnOnce(u64) -> bool,
    ) -> Passage {
        let Leaving { class, ect, since: now, .. } = *leaving;
        let queue = self.queues.queue_of_class(class);
        if !self.foresees(queue, leaving, sends.start - now) {
            return Passage::Uncertain;
        }
        debug_assert_eq!(sends.start, now + self.whole.backlog(now).wait, "the port and its load");
        let has_room = sends.end - now <= self.room && admits(self.bytes_ahead(queue));
        if !has_room && !all_reported {
            return Passage::NoRoom;
        }
        let passage = match self.marks_above {
            None => self.judge_ahead(queue, (leaving.len, class, ect), now, has_room),
            Some(above) if has_room => {
                let load = self.load(queue);
                let wait = load.until.since(now.max(load.begins));
                Passage::Sent(self.mark(class, (wait > above) & ect))
            }
            Some(_) => Passage::Refused(DropReason::Full),
        };
        if !matches!(passage, Passage::Refused(_)) {
            self.push_ahead(queue, leaving, sends);
        }
        passage
    }

    /// The verdict of the queue's policy on a packet whose departure is certain.
    #[inline(never)]
    fn judge_ahead(
        &mut self,
        queue: usize,
        (len, class, ect): (u16, u8, bool),
        now: Time,
        has_room: bool,
    ) -> Passage {
        let backlog = self.load(queue).backlog(now);
        let arrival = Arrival { now, backlog, pace: self.pace, len: len.into(), ect };
        match self.markers[queue].arrive(&arrival) {
            Verdict::Drop => Passage::Refused(DropReason::Early),
            _ if !has_room => Passage::Refused(DropReason::Full),
            Verdict::Notify(what) => {
                self.feedback = what;
                Passage::Notified
            }
            verdict => Passage::Sent(self.mark(class, verdict == Verdict::Mark)),
        }
    }

    /// Counts a packet that is sent without entering the queues.
    #[inline(always)]
    fn push_ahead(&mut self, queue: usize, leaving: &Leaving, sends: &Sends) {
        if queue != self.current_queue {
            self.turn_to(queue);
        }
        self.follow(sends, leaving.since);
        if sends.waits {
            self.ahead += u64::from(leaving.len);
        } else {
            let decides = self.marks_above.is_none() && self.markers[0].decides_on_departure();
            self.depart(leaving, leaving.since, decides);
        }
    }

    /// Adds a packet of the current queue, which arrives at `now` and does not enter the queues, to the loads.
    #[inline(always)]
    fn follow(&mut self, sends: &Sends, now: Time) {
        self.last_start = sends.start;
        self.current.follow(sends.end - sends.start, now, sends.start);
        self.whole.until = sends.end;
        self.whole.peak = self.whole.peak.max(sends.end - now);
    }

    /// Counts a packet that leaves at `now` and did not enter the queues. The discipline hears of it if it `decides`.
    #[inline(always)]
    fn depart(&mut self, leaving: &Leaving, now: Time, decides: bool) {
        self.stats.classes[usize::from(leaving.class)].count(leaving.len);
        if decides {
            let marker = &mut self.markers[self.queues.queue_of_class(leaving.class)];
            let (sojourn, left) = (now.since(leaving.since), Left::Bytes(self.ahead));
            let verdict = marker.leave(&Departure { now, sojourn, left, ect: leaving.ect });
            debug_assert_eq!(verdict, Verdict::Pass, "the discipline promised to pass it");
        }
    }

    /// Loads what every packet needs.
    #[inline]
    pub fn touch(&self) -> u64 {
        let is_called = self.marks_above.is_none();
        let marker = is_called && matches!(self.markers.first(), Some(Marker::DropTail(_)));
        let (current, whole) = (self.current.until.as_ps(), self.whole.until.as_ps());
        current ^ whole ^ u64::from(marker) ^ u64::from(self.up)
    }

    /// Packets outside of the queues have left, each at a time. Returns their bytes.
    #[inline]
    pub fn pop_ahead<'a>(&mut self, departures: impl Iterator<Item = (&'a Leaving, Time)>) -> u64 {
        if self.marks_above.is_none() && self.markers[0].decides_on_departure() {
            return self.pop_decided(departures);
        }
        // Packets of one class after the other are counted at once.
        let (mut all, mut sent, mut class) = (0, (0, 0), 0);
        for (leaving, _) in departures {
            if leaving.class != class {
                self.stats.classes[usize::from(class)].add_sent(sent);
                (sent, class) = ((0, 0), leaving.class);
            }
            sent = (sent.0 + 1, sent.1 + u64::from(leaving.len));
            all += u64::from(leaving.len);
        }
        self.stats.classes[usize::from(class)].add_sent(sent);
        self.ahead -= all;
        all
    }

    /// As [`Egress::pop_ahead`], where the discipline hears of each packet that leaves.
    fn pop_decided<'a>(&mut self, departures: impl Iterator<Item = (&'a Leaving, Time)>) -> u64 {
        let mut all = 0;
        for (leaving, now) in departures {
            self.ahead -= u64::from(leaving.len);
            all += u64::from(leaving.len);
            self.depart(leaving, now, true);
        }
        all
    }

    /// Queues a packet that waited outside of the queues.
    pub fn take_back(&mut self, stored: Stored, pool: &mut Pool<Stored>) {
        let time = self.time_for(stored.packet.len);
        self.ahead -= u64::from(stored.packet.len);
        self.last_start = Time::ZERO;
        self.load_mut(self.queues.queue_of(&stored.packet)).take_back(time);
        self.whole.take_back(time);
        self.queues.push(stored, pool);
    }

    /// The time to send what all queues hold, and what waits outside of them.
    #[inline]
    pub fn wait(&self, now: Time) -> Time {
        self.whole.wait(now)
    }

    /// When the last packet that waits here has left, if all leave in the order in which they arrived, as they are, after
    /// `busy_until`.
    pub fn drained(&self, busy_until: Time) -> Option<Time> {
        let in_order = self.up && self.is_plain && self.loads.len() == 1;
        let is_certain = in_order && self.marks_above.is_some() && self.whole.until == busy_until;
        is_certain.then_some(busy_until + self.whole.queued)
    }

    /// Takes out the first packet, which waits outside of the queues from now on and starts at `start`. All packets
    /// [leave in order](Egress::drained).
    pub fn give_away(&mut self, start: Time, pool: &mut Pool<Stored>) -> Option<Stored> {
        let stored = *self.queues.pop(pool)?;
        let time = self.time_for(stored.packet.len);
        for load in [&mut self.current, &mut self.whole] {
            load.pop(time, start);
        }
        self.last_start = start;
        self.ahead += u64::from(stored.packet.len);
        Some(stored)
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
        if self.marks_above.is_some() {
            return Verdict::Pass;
        }
        let sojourn = now.since(leaving.since);
        let left = Left::Bytes(self.waiting_in(queue));
        self.markers[queue].leave(&Departure { now, sojourn, left, ect: leaving.ect })
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
