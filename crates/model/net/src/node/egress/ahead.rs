//! Packets that wait outside of the queues of a port, because their departures were certain when they arrived.

use super::{Egress, Foreseen, Leaving, Passage, Reserve, Sends, Stored};
use crate::aqm::{Arrival, Discipline, Verdict};
use crate::frame::{ECT, Packet};
use crate::node::DropReason;
use crate::node::pool::Pool;
use crate::prefetch::{prefetch, prefetch_value};
use crate::time::Time;

impl Egress {
    /// Whether the departure of a packet of `queue` that arrives and is to wait for `wait` is certain already: it leaves
    /// after all packets that are here, and before others of its class. Its queue is not paused.
    #[inline(always)]
    fn foresees(&self, queue: usize, leaving: &Leaving, wait: Time) -> bool {
        debug_assert!(!self.queues.is_paused(queue), "a queue that may send");
        // Nearly all packets follow one of their class, and whether that one has started cannot be predicted.
        self.up
            && self.queues.is_empty()
            && ((self.current_queue == queue) | (self.last_start < leaving.since))
            && (self.reserved != leaving.class || self.goes_next(leaving.since))
            && (!self.decides || self.markers[queue].passes(wait))
    }

    /// Whether the discipline passes a packet of the current queue that arrives at `now`, when it leaves.
    #[inline(always)]
    fn will_pass(&self, sends: &Sends, now: Time) -> bool {
        sends.start < self.passes_until
            || self.markers[self.current_queue].passes(sends.start - now)
    }

    /// Whether a packet of the reserved class that arrives at `now` is certainly the next to leave: it leaves at once, or all
    /// others have started, and its class will go first.
    #[cold]
    fn goes_next(&self, now: Time) -> bool {
        let (free_at, all_started) = (self.whole.until, self.last_start < now);
        let goes_first = |reserve: &Reserve| reserve.goes_first(free_at);
        all_started && (free_at < now || self.reserve.as_ref().is_some_and(goes_first))
    }

    /// A packet of the reserved class is the next to leave.
    #[cold]
    fn reserve_leaves(&mut self, sends: &Sends) {
        if let Some(reserve) = &mut self.reserve {
            reserve.leaves(sends.start, sends.end - sends.start);
        }
    }

    /// When a packet of `len` bytes that arrives at `now` is sent, if no packet waits in the queues.
    #[inline(always)]
    pub fn sends(&self, len: u16, now: Time) -> Sends {
        let until = self.whole.until;
        let start = until.max(now);
        let waits = until >= now && until > Time::ZERO;
        Sends { start, end: start + self.time_for(len), waits }
    }

    /// As [`Egress::pass`], for packets whose departures can be reported at any time. If `THRESHOLD`, the discipline only
    /// compares with a threshold when they arrive. `may_wait` says whether the packet may wait outside until it has been
    /// sent at a time.
    #[inline(always)]
    pub fn pass_on_arrival<const THRESHOLD: bool>(
        &mut self,
        packet: &Packet,
        now: Time,
        may_wait: impl FnOnce(Time) -> bool,
        admits: impl FnOnce(Time) -> bool,
    ) -> Result<Foreseen, Passage> {
        let (len, class, ect) = (packet.len, packet.class, packet.has(ECT));
        let queue = self.queues.queue_of_class(class);
        if !self.up || !self.queues.is_empty() {
            return Err(Passage::Uncertain);
        }
        let is_reserved = class == self.reserved;
        if is_reserved && !self.goes_next(now) {
            return Err(Passage::Uncertain);
        }
        if queue != self.current_queue {
            if self.last_start >= now {
                return Err(Passage::Uncertain);
            }
            self.turn_to(queue);
        }
        let sends = self.sends(len, now);
        let drained = self.current.wait(now) + (sends.end - sends.start);
        if sends.end - now > self.room || !admits(drained) {
            return Err(Passage::NoRoom);
        }
        let is_reported = sends.waits || self.decides;
        if (is_reported && !may_wait(sends.end)) || !self.will_pass(&sends, now) {
            return Err(Passage::Uncertain);
        }
        let (flags, notifies) = self.flags::<THRESHOLD>((len, class, ect), now)?;
        self.follow(&sends, now);
        if is_reserved {
            self.reserve_leaves(&sends);
        }
        if is_reported {
            self.ahead += u64::from(len);
        } else {
            self.stats.classes[usize::from(class)].count(len);
        }
        let at_once = Time::ps(u64::from(!sends.waits));
        let waits_until = sends.start.since(at_once);
        Ok(Foreseen { waits_until, end: sends.end, is_reported, flags, notifies })
    }

    /// The flags to add to a packet of the current queue, for which there is room, and whether its sender is to be notified.
    #[inline(always)]
    fn flags<const THRESHOLD: bool>(
        &mut self,
        (len, class, ect): (u16, u8, bool),
        now: Time,
    ) -> Result<(u8, bool), Passage> {
        if THRESHOLD && let Some(above) = self.marks_above {
            let wait = self.current.until.since(now.max(self.current.begins));
            return Ok((if wait > above { self.mark_long(class, ect) } else { 0 }, false));
        }
        match self.judge_arriving(self.current_queue, (len, class, ect), now, true) {
            Passage::Sent(flags) => Ok((flags, false)),
            Passage::Notified => Ok((0, true)),
            refused => Err(refused),
        }
    }

    /// Admits a packet that arrives, and is sent as `sends` says without entering the queues, if its departure is
    /// certain. `admits` says whether its queue, which needs so long to send all its packets and this one, may have it. If
    /// not, that is certain if `is_counted`.
    #[inline(always)]
    pub fn pass(
        &mut self,
        leaving: &Leaving,
        sends: &Sends,
        is_counted: bool,
        admits: impl FnOnce(Time) -> bool,
    ) -> Passage {
        let Leaving { class, ect, since: now, .. } = *leaving;
        let queue = self.queues.queue_of_class(class);
        if !self.foresees(queue, leaving, sends.start - now) {
            return Passage::Uncertain;
        }
        debug_assert_eq!(sends.start, now + self.whole.backlog(now).wait, "the port and its load");
        let drained = self.load(queue).wait(now) + (sends.end - sends.start);
        let has_room = sends.end - now <= self.room && admits(drained);
        if !has_room && !is_counted {
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

    /// [`Egress::judge_arriving`], not inlined.
    #[inline(never)]
    fn judge_ahead(
        &mut self,
        queue: usize,
        packet: (u16, u8, bool),
        now: Time,
        has_room: bool,
    ) -> Passage {
        self.judge_arriving(queue, packet, now, has_room)
    }

    /// The verdict of the queue's policy on a packet whose departure is certain.
    #[inline(always)]
    fn judge_arriving(
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
        if leaving.class == self.reserved {
            self.reserve_leaves(sends);
        }
        if sends.waits {
            self.ahead += u64::from(leaving.len);
        } else {
            self.depart(leaving, leaving.since, self.ahead);
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

    /// Counts a packet that leaves at `now` and did not enter the queues. `left` are the bytes behind it.
    #[inline(always)]
    fn depart(&mut self, leaving: &Leaving, now: Time, left: u64) {
        self.stats.classes[usize::from(leaving.class)].count(leaving.len);
        if self.decides {
            self.hear(leaving, now, left);
        }
    }

    /// The discipline hears of a packet that leaves as it promised.
    #[inline(always)]
    fn hear(&mut self, leaving: &Leaving, now: Time, left: u64) {
        let queue = self.queues.queue_of_class(leaving.class);
        let verdict = self.ask_leaving(queue, leaving, now, left);
        debug_assert_eq!(verdict, Verdict::Pass, "the discipline promised to pass it");
    }

    /// Requests what every packet needs.
    #[inline(always)]
    pub fn expect(&self) {
        prefetch_value(&self.current);
        prefetch_value(&self.whole);
        prefetch_value(&self.queues);
        prefetch(&self.stats.classes, 0);
    }

    /// Packets outside of the queues have left, each at a time. `behind` says how many bytes outside of the queues had
    /// arrived by a time behind the n-th of them; it may stop counting above a number.
    #[inline]
    pub fn pop_ahead<'a>(
        &mut self,
        departures: impl Iterator<Item = (&'a Leaving, Time)>,
        behind: impl Fn(u32, Time, u64) -> u64,
    ) {
        if self.decides {
            return self.pop_decided(departures, behind);
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
    }

    /// As [`Egress::pop_ahead`], where the discipline hears of each packet that leaves.
    fn pop_decided<'a>(
        &mut self,
        departures: impl Iterator<Item = (&'a Leaving, Time)>,
        behind: impl Fn(u32, Time, u64) -> u64,
    ) {
        // The last packet that the discipline would forget. If it is not told of one, it promises less, so that no result changes.
        let mut forgotten = None;
        for (nth, (leaving, now)) in (0..).zip(departures) {
            let (wait, class) = (now.since(leaving.since), usize::from(leaving.class));
            self.ahead -= u64::from(leaving.len);
            self.stats.classes[class].count(leaving.len);
            let queue = self.queues.queue_of_class(leaving.class);
            let marker = &self.markers[queue];
            if marker.forgets(wait) {
                forgotten = Some((leaving, now));
                continue;
            }
            let left = match marker.passes(wait) {
                true => 0,
                false => self.queues.bytes_of(queue) + behind(nth, now, self.mtu),
            };
            self.hear(leaving, now, left);
            forgotten = None;
        }
        if let Some((leaving, now)) = forgotten {
            self.hear(leaving, now, 0);
        }
    }

    /// Queues a packet that waited outside of the queues, before those that are there. Later packets come first.
    pub fn take_back(&mut self, stored: Stored, pool: &mut Pool<Stored>) {
        let time = self.time_for(stored.packet.len);
        self.ahead -= u64::from(stored.packet.len);
        self.last_start = Time::ZERO;
        if let Some(reserve) = &mut self.reserve
            && reserve.class == stored.packet.class
        {
            reserve.stays();
        }
        self.load_mut(self.queues.queue_of(&stored.packet)).take_back(time);
        self.whole.take_back(time);
        self.queues.push_first(stored, pool);
    }

    /// The time to send what all queues hold, and what waits outside of them.
    #[inline]
    pub fn wait(&self, now: Time) -> Time {
        self.whole.wait(now)
    }

    /// When the last packet that waits here has left, if all leave in the order in which they arrived, as they are, after
    /// `busy_until`.
    pub fn drained(&self, busy_until: Time) -> Option<Time> {
        let has_one_queue = self.up && self.loads.len() == 1;
        let in_order = self.is_plain && has_one_queue;
        let is_certain = in_order && self.marks_above.is_some() && self.whole.until == busy_until;
        is_certain.then_some(busy_until + self.whole.queued)
    }

    /// Takes out the first packet, which waits outside of the queues from now on and starts at `start`. All packets leave in
    /// order.
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
}
