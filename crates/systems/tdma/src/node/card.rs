//! What pause frames do to a host: they open and close classes, some time after they have come.

use super::timeline::{Clock, Told};
use crate::Tdma;
use crate::node::queues::Queues;
use crate::options::Signalling;
use crate::wire::{Class, Part, Timing};
use slotline_net::frame::Packet;
use slotline_net::id::HostId;
use slotline_net::node::{Cx, Note, Tally};
use slotline_net::rng::Stream;
use slotline_net::time::Time;
use slotline_net::units::Rate;
use slotline_net::wire::mac_control::{Pause, Quanta};
use std::collections::VecDeque;

/// Rounds that are remembered: that which runs, the next one, and one whose frames may still act.
const ROUNDS: usize = 3;

/// A frame that acts later.
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
    /// Place of what is known of the class.
    entry: usize,
    until: Time,
    /// From here on, another's slot is disturbed.
    limit: Time,
    since: Time,
    /// When the next packet may leave.
    next: Time,
}

/// What may leave now.
pub(super) enum Chance {
    /// A packet to the destination that is open at this place.
    Now(usize),
    /// None before this.
    At(Time),
    /// None.
    Never,
}

/// How much of the slots is used.
#[derive(Default)]
struct Use {
    opened: u64,
    open: Time,
    /// What packets take at the rate they were given.
    used: Time,
}

/// Counts of what went wrong.
#[derive(Default)]
struct Faults {
    overruns: u64,
    longest: Time,
    late: u64,
}

/// The classes of one host.
pub(super) struct Card {
    host: HostId,
    signalling: Signalling,
    /// Classes below this one stand for destinations.
    classes: u16,
    reaction: Time,
    jitter: Time,
    self_ending: bool,
    /// Whether receivers have room for what was scheduled and no more. Otherwise what has come since
    /// the last report may fill a slot.
    strict: bool,
    line: Rate,
    clock: Clock,
    rng: Stream,
    rounds: VecDeque<Told>,
    pending: VecDeque<Pending>,
    open: Vec<Open>,
    /// Whether reports may leave where they need a slot.
    pub reports_open: bool,
    /// When the pause times of frames are over.
    pub paused_until: Time,
    /// What was scheduled from this slot on has not left.
    pub position: (u32, u16),
    faults: Faults,
    usage: Use,
}

impl Card {
    pub fn new(tdma: &Tdma, host: HostId, line: Rate, seed: u64) -> Card {
        let spec = tdma.spec();
        let mut rng = Stream::named(seed, "tdma.host", host.0.into());
        let drift = spec.clock_drift.as_secs_f64() * (rng.unit() - 0.5);
        Card {
            host,
            signalling: spec.signalling,
            classes: tdma.rounds().spec().classes,
            reaction: spec.reaction(),
            jitter: spec.jitter(),
            self_ending: spec.self_ending,
            strict: spec.receive_buffer.is_some(),
            line,
            clock: Clock::gaining(drift),
            rng,
            rounds: VecDeque::new(),
            pending: VecDeque::new(),
            open: Vec::new(),
            reports_open: false,
            paused_until: Time::ZERO,
            position: (0, 0),
            faults: Faults::default(),
            usage: Use::default(),
        }
    }
    /// Takes note of a part of a round; whether that is now known as a whole.
    pub fn tell(
        &mut self,
        (round, part): (u32, Part),
        timing: Timing,
        classes: &[Class],
        now: Time,
    ) -> bool {
        if let Some(told) = self.rounds.iter_mut().find(|told| told.round == round) {
            return told.add(part, classes);
        }
        let mut told = Told::new(round, part, timing, now, self.clock);
        let whole = told.add(part, classes);
        if self.rounds.len() == ROUNDS {
            self.rounds.pop_front();
        }
        self.rounds.push_back(told);
        whole
    }
    /// A frame has arrived.
    pub fn hear(&mut self, pause: Pause, cx: &mut Cx<'_>) {
        let told = self.rounds.iter_mut().rev().find(|told| told.has_begun(cx.now));
        let opens = opens(&pause, self.classes);
        let slot = told.filter(|told| told.is_whole()).and_then(|told| {
            let slot = if opens { told.slot_at(cx.now) } else { told.slot_over(cx.now) };
            Some((told.round, slot?))
        });
        self.faults.late += u64::from(opens && slot.is_none());
        let most = self.jitter.as_ps() as f64;
        let taken = self.reaction.after(Time::ps((self.rng.unit() * most) as u64));
        let last = self.pending.back().map_or(Time::ZERO, |pending| pending.at);
        let at = cx.now.after(taken).max(last);
        self.pending.push_back(Pending { at, pause, slot });
        cx.wake(at, super::TOKEN);
    }
    /// Everything is closed, and what is on its way does not count: the fabric manager is silent.
    pub fn forget(&mut self, cx: &mut Cx<'_>) {
        self.pending.clear();
        self.rounds.clear();
        self.close(|_| true, cx);
    }
    /// Has frames act that are due, and ends what is over. Whether a slot has ended.
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
    /// Opens what a frame says.
    fn start(&mut self, pause: &Pause, slot: (u32, u16), cx: &mut Cx<'_>) {
        self.position = slot;
        let Some(told) = self.rounds.iter().find(|told| told.round == slot.0) else { return };
        let limit =
            told.end(slot.1).after(self.reaction + self.jitter).min(cx.now.after(told.slot));
        if limit <= cx.now {
            self.faults.late += 1;
            return;
        }
        let guard = told.guard;
        for class in opened(pause, told) {
            let Some(entry) = told.entry(class, slot.1) else { continue };
            let (dst, rate) = (told.at(entry).dst, told.at(entry).rate);
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
    /// Closes what `ends` says.
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
    /// Which of the packets that wait may leave.
    pub fn chance(&self, queues: &Queues, now: Time) -> Chance {
        let due = |(at, open): (usize, &Open)| {
            let told = self.rounds.iter().find(|told| told.round == open.slot.0)?;
            let (entry, len) = (told.at(open.entry), queues.next_len(open.dst)?);
            let room = !self.strict || entry.budget >= u64::from(len);
            (open.until > now && room).then_some((open.next, at))
        };
        match self.open.iter().enumerate().filter_map(due).min() {
            Some((next, at)) if next <= now => Chance::Now(at),
            Some((next, _)) => Chance::At(next),
            None => Chance::Never,
        }
    }
    /// Where packets go that leave by the open class at this place.
    pub fn destination(&self, at: usize) -> HostId {
        self.open[at].dst
    }
    /// A packet leaves by the open class at this place.
    pub fn sent(&mut self, at: usize, packet: &Packet, now: Time) {
        let (line, open) = (self.line, &mut self.open[at]);
        let Some(told) = self.rounds.iter_mut().find(|told| told.round == open.slot.0) else {
            return;
        };
        told.spend(open.entry, packet.len.into());
        let slower = told.at(open.entry).rate.filter(|rate| *rate < line);
        let rate = slower.unwrap_or(line);
        self.usage.used += rate.inverse_rate().time_for(packet.len.into());
        if let Some(pace) = told.at(open.entry).pace.filter(|_| slower.is_some()) {
            open.next = open.next.max(now).after(pace.time_for(packet.len.into()));
        }
        let end = now.after(line.inverse_rate().time_for(packet.len.into()));
        if end > open.limit {
            self.faults.overruns += 1;
            self.faults.longest = self.faults.longest.max(end.since(open.limit));
        }
    }
    pub fn tally(&self, tally: &mut Tally) {
        tally.add("overruns", self.faults.overruns);
        tally.most("longest_overrun_ns", self.faults.longest.as_ns());
        tally.add("late_frames", self.faults.late);
        tally.add("slots_opened", self.usage.opened);
        tally.add("slot_time_ns", self.usage.open.as_ns());
        tally.add("slot_used_ns", self.usage.used.as_ns());
    }
}

/// The time for a class, if it is told one.
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

/// Whether a frame lets packets go that need slots.
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

/// The classes that a frame lets go.
fn opened(pause: &Pause, told: &Told) -> Vec<u16> {
    let goes = |class: &u16| time(pause, *class) == Some(Quanta::NONE);
    match pause {
        Pause::Extended(extended) if extended.others != Some(Quanta::NONE) => {
            extended.entries.iter().map(|entry| entry.0).filter(goes).collect()
        }
        _ => told.classes().into_iter().filter(goes).collect(),
    }
}
