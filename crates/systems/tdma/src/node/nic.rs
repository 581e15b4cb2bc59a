//! The NIC of a host under pause frames, which open and close classes some time after they arrive.

use super::known_round::{Clock, KnownRound};
use crate::Tdma;
use crate::counters;
use crate::node::queues::Queues;
use crate::options::Signalling;
use crate::wire::{Class, Fragment, Timing};
use slotline_net::frame::Packet;
use slotline_net::id::HostId;
use slotline_net::node::{Counters, Cx, Note};
use slotline_net::rng::Stream;
use slotline_net::time::Time;
use slotline_net::units::Rate;
use slotline_net::wire::mac_control::{Pause, Quanta};
use std::collections::VecDeque;

/// The number of stored rounds: the present one, the next one, and one whose frames may still take effect.
const ROUNDS: usize = 3;

/// A frame that takes effect later.
struct Pending {
    at: Time,
    pause: Pause,
    /// The slot that it opens, or that ends with it.
    slot: Option<(u32, u16)>,
}

/// A destination to which packets may leave.
struct Open {
    class: u16,
    dst: HostId,
    slot: (u32, u16),
    /// The index of the entry of the class in its round.
    entry: usize,
    until: Time,
    /// From here on a packet would disturb another slot.
    limit: Time,
    since: Time,
    /// When the next packet may leave.
    next: Time,
}

/// When the next packet may leave.
pub(super) enum NextSend {
    /// A packet may leave now, to the open destination with this index.
    Now(usize),
    /// No packet may leave before this time.
    At(Time),
    /// No packet may leave.
    Never,
}

/// How much of its slots a host uses.
#[derive(Default)]
struct Usage {
    opened: u64,
    open: Time,
    /// The transmission time of packets at their assigned rates.
    used: Time,
}

/// The counters of faults.
#[derive(Default)]
struct Faults {
    overruns: u64,
    longest: Time,
    late: u64,
}

/// The NIC of one host, with its open classes.
pub(super) struct Nic {
    host: HostId,
    signalling: Signalling,
    /// Classes below this one stand for destinations.
    classes: u16,
    reaction: Time,
    jitter: Time,
    self_ending: bool,
    /// Whether receivers, or switches before slower ones, have room only for scheduled bytes. Otherwise packets that arrived since the last report may
    /// fill a slot.
    strict: bool,
    line: Rate,
    /// Several packets of a real host that leave together are longer than this, in bytes on the wire.
    pub longest: u16,
    clock: Clock,
    rng: Stream,
    rounds: VecDeque<KnownRound>,
    pending: VecDeque<Pending>,
    open: Vec<Open>,
    /// Whether reports may leave, if they need a slot.
    pub reports_open: bool,
    /// When the pause times of all frames are over.
    pub paused_until: Time,
    /// The round and slot from which on scheduled bytes have not left.
    pub position: (u32, u16),
    faults: Faults,
    usage: Usage,
}

impl Nic {
    pub fn new(tdma: &Tdma, host: HostId, line: Rate, mut rng: Stream) -> Nic {
        let spec = tdma.spec();
        let drift = spec.clock_drift.as_secs_f64() * (rng.unit() - 0.5);
        Nic {
            host,
            signalling: spec.signalling,
            classes: tdma.rounds().spec().classes,
            reaction: spec.reaction(),
            jitter: spec.jitter(),
            self_ending: spec.self_ending,
            strict: spec.receive_buffer.is_some() || spec.switch_buffer.is_some(),
            line,
            longest: u16::MAX,
            clock: Clock::gaining(drift),
            rng,
            rounds: VecDeque::new(),
            pending: VecDeque::new(),
            open: Vec::new(),
            reports_open: false,
            paused_until: Time::ZERO,
            position: (0, 0),
            faults: Faults::default(),
            usage: Usage::default(),
        }
    }
    /// Notes a part of a round. Returns whether the round is known completely.
    pub fn learn_round(
        &mut self,
        round: u32,
        part: Fragment,
        timing: Timing,
        classes: &[Class],
        now: Time,
    ) -> bool {
        if let Some(known) = self.rounds.iter_mut().find(|known| known.round == round) {
            return known.add(part, classes);
        }
        let mut known = KnownRound::new(round, part, timing, now, self.clock);
        let whole = known.add(part, classes);
        if self.rounds.len() == ROUNDS {
            self.rounds.pop_front();
        }
        self.rounds.push_back(known);
        whole
    }
    /// A frame has arrived.
    pub fn receive_frame(&mut self, pause: Pause, cx: &mut Cx<'_>) {
        let known = self.rounds.iter_mut().rev().find(|known| known.has_begun(cx.now));
        let opens = opens(&pause, self.classes);
        let slot = known.filter(|known| known.is_whole()).and_then(|known| {
            let slot = if opens { known.slot_at(cx.now) } else { known.slot_over(cx.now) };
            Some((known.round, slot?))
        });
        self.faults.late += u64::from(opens && slot.is_none());
        let most = self.jitter.as_ps() as f64;
        let taken = self.reaction.after(Time::ps((self.rng.unit() * most) as u64));
        let last = self.pending.back().map_or(Time::ZERO, |pending| pending.at);
        let at = cx.now.after(taken).max(last);
        self.pending.push_back(Pending { at, pause, slot });
        cx.wake(at, super::TOKEN);
    }
    /// Closes all classes and forgets pending frames, because the fabric manager is silent.
    pub fn forget(&mut self, cx: &mut Cx<'_>) {
        self.pending.clear();
        self.rounds.clear();
        self.close(|_| true, cx);
    }
    /// Applies the frames that are due and closes classes whose time is over. Returns whether a slot has ended.
    pub fn advance(&mut self, cx: &mut Cx<'_>) -> bool {
        let before = self.position;
        while self.pending.front().is_some_and(|pending| pending.at <= cx.now) {
            if let Some(pending) = self.pending.pop_front() {
                self.act(pending, cx);
            }
        }
        let now = cx.now;
        self.close(|open| open.until <= now, cx);
        before != self.position
    }
    fn act(&mut self, Pending { pause, slot, .. }: Pending, cx: &mut Cx<'_>) {
        let report = time(&pause, self.signalling.report_class());
        if self.signalling != Signalling::Pause
            && let Some(time) = report
        {
            self.reports_open = time == Quanta::NONE;
        }
        let longest = longest(&pause).time(self.line);
        self.paused_until = self.paused_until.max(cx.now.after(longest));
        self.close(|open| time(&pause, open.class).is_some_and(|time| time > Quanta::NONE), cx);
        match slot {
            Some((round, slot)) if opens(&pause, self.classes) => {
                self.start(&pause, (round, slot), cx)
            }
            Some((round, slot)) => self.position = (round, slot + 1),
            None => {}
        }
    }
    /// Opens the classes of a frame.
    fn start(&mut self, pause: &Pause, slot: (u32, u16), cx: &mut Cx<'_>) {
        self.position = slot;
        let Some(known) = self.rounds.iter().find(|known| known.round == slot.0) else { return };
        let limit =
            known.end(slot.1).after(self.reaction + self.jitter).min(cx.now.after(known.slot));
        if limit <= cx.now {
            self.faults.late += 1;
            return;
        }
        let guard = known.guard;
        for class in opened(pause, known) {
            let Some(entry) = known.entry(class, slot.1) else { continue };
            let (dst, rate) = (known.at(entry).dst, known.at(entry).rate);
            let until = if self.self_ending { limit } else { Time::MAX };
            self.open.retain(|open| open.class != class);
            self.usage.opened += 1;
            self.open.push(Open {
                class,
                dst,
                slot,
                entry,
                since: cx.now,
                until,
                limit: limit.after(guard),
                next: cx.now,
            });
            cx.note(Note::Permitted { host: self.host, dst, until: limit, rate });
            cx.wake(limit, super::TOKEN);
        }
    }
    /// Closes the classes for which `ends` holds.
    fn close(&mut self, ends: impl Fn(&Open) -> bool, cx: &mut Cx<'_>) {
        let (host, position, open_for) = (self.host, &mut self.position, &mut self.usage.open);
        self.open.retain(|open| {
            let over = ends(open);
            if over {
                *open_for += cx.now.min(open.until).since(open.since);
                cx.note(Note::Withdrawn { host, dst: open.dst });
                if open.slot == *position {
                    position.1 += 1;
                }
            }
            !over
        });
    }
    /// When the next waiting packet may leave, and to which open destination.
    pub fn next_send(&self, queues: &Queues, now: Time) -> NextSend {
        let due = |(at, open): (usize, &Open)| {
            let known = self.rounds.iter().find(|known| known.round == open.slot.0)?;
            let (entry, len) = (known.at(open.entry), queues.next_len(open.dst)?);
            let room = !self.strict || entry.budget >= u64::from(len);
            let fits = len <= self.longest || self.end(len, open.next.max(now)) <= open.limit;
            (open.until > now && room && fits).then_some((open.next, at))
        };
        match self.open.iter().enumerate().filter_map(due).min() {
            Some((next, at)) if next <= now => NextSend::Now(at),
            Some((next, _)) => NextSend::At(next),
            None => NextSend::Never,
        }
    }
    /// When a packet has left that begins to leave at `at`.
    fn end(&self, len: u16, at: Time) -> Time {
        at.after(self.line.inverse_rate().time_for(len.into()))
    }
    /// The destination of the open class with this index.
    pub fn destination(&self, at: usize) -> HostId {
        self.open[at].dst
    }
    /// A packet leaves by the open class with this index.
    pub fn sent(&mut self, at: usize, packet: &Packet, now: Time) {
        let (line, end) = (self.line, self.end(packet.len, now));
        let open = &mut self.open[at];
        let Some(known) = self.rounds.iter_mut().find(|known| known.round == open.slot.0) else {
            return;
        };
        known.spend(open.entry, packet.len.into());
        let slower = known.at(open.entry).rate.filter(|rate| *rate < line);
        let rate = slower.unwrap_or(line);
        self.usage.used += rate.inverse_rate().time_for(packet.len.into());
        if let Some(pace) = known.at(open.entry).pace.filter(|_| slower.is_some()) {
            open.next = open.next.max(now).after(pace.time_for(packet.len.into()));
        }
        if end > open.limit {
            self.faults.overruns += 1;
            self.faults.longest = self.faults.longest.max(end.since(open.limit));
        }
    }
    pub fn add_counters(&self, counters: &mut Counters) {
        counters.add(counters::OVERRUNS, self.faults.overruns);
        counters.add(counters::LONGEST_OVERRUN_NS, self.faults.longest.as_ns());
        counters.add(counters::LATE_FRAMES, self.faults.late);
        counters.add(counters::SLOTS_OPENED, self.usage.opened);
        counters.add(counters::SLOT_TIME_NS, self.usage.open.as_ns());
        counters.add(counters::SLOT_USED_NS, self.usage.used.as_ns());
    }
}

/// The pause time of a class, if the frame has one.
fn time(pause: &Pause, class: u16) -> Option<Quanta> {
    match pause {
        Pause::All(time) => Some(*time),
        Pause::Classes(classes) => classes.time(u8::try_from(class).ok()?),
        Pause::Extended(extended) => extended.time(class),
    }
}

fn longest(pause: &Pause) -> Quanta {
    match pause {
        Pause::All(time) => *time,
        Pause::Classes(classes) => {
            (0..8).filter_map(|class| classes.time(class)).max().unwrap_or_default()
        }
        Pause::Extended(extended) => extended
            .entries
            .iter()
            .map(|entry| entry.1)
            .chain(extended.others)
            .max()
            .unwrap_or_default(),
    }
}

/// Whether a frame opens a class of scheduled packets.
fn opens(pause: &Pause, classes: u16) -> bool {
    let data = |class: u16| class < classes;
    match pause {
        Pause::All(time) => *time == Quanta::NONE,
        Pause::Classes(classes) => {
            (0..8).any(|class| data(class.into()) && classes.time(class) == Some(Quanta::NONE))
        }
        Pause::Extended(extended) => {
            let mut entries = extended.entries.iter();
            extended.others == Some(Quanta::NONE)
                || entries.any(|e| data(e.0) && e.1 == Quanta::NONE)
        }
    }
}

/// The classes that a frame opens.
fn opened(pause: &Pause, known: &KnownRound) -> Vec<u16> {
    let goes = |class: &u16| time(pause, *class) == Some(Quanta::NONE);
    match pause {
        Pause::Extended(extended) if extended.others != Some(Quanta::NONE) => {
            extended.entries.iter().map(|entry| entry.0).filter(goes).collect()
        }
        _ => known.classes().into_iter().filter(goes).collect(),
    }
}
