//! The pipeline of a bump on real frames: classify, estimate, mark or drop or notify, process, forward.

use crate::classify::Classify;
use crate::frame::{self, CE, Content, NOT_ECT, Packet};
use crate::levels::Levels;
use slotline_net::aqm::bank::{Entry, Fate};
use slotline_net::aqm::{Counts, Discipline, Feedback, Verdict};
use slotline_net::time::Time;

/// What is done with a malformed frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Malformed {
    /// It passes, unharmed.
    #[default]
    Pass,
    /// It is dropped.
    Drop,
}

/// What becomes of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// It is forwarded as it came.
    Forward,
    /// It is forwarded with the congestion-experienced mark.
    Mark,
    /// It is forwarded, and its sender is told.
    Notify(Feedback),
    /// The discipline drops it.
    Drop,
    /// The virtual queue has no room for it.
    Full,
    /// It is malformed, and such frames are dropped.
    Malformed,
    /// The user's processing drops it.
    Processed,
}

impl Action {
    /// Whether the frame goes on.
    pub fn forwards(self) -> bool {
        matches!(self, Action::Forward | Action::Mark | Action::Notify(_))
    }
}

/// What a bump did with a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passed {
    /// What becomes of it.
    pub action: Action,
    /// Its virtual queue, where it has one.
    pub queue: Option<u32>,
    /// What it found there, as the time that takes to drain; see [`Pipeline::bytes_of`].
    pub found: Time,
}

/// The user's processing of packets that go on: Table 5.1's `process`. It may change the frame, but not
/// its length.
pub trait Process {
    /// Whether the frame goes on.
    fn process(&mut self, frame: &mut [u8], packet: &Packet, queue: u32) -> bool;
}

/// No processing.
impl Process for () {
    #[inline]
    fn process(&mut self, _frame: &mut [u8], _packet: &Packet, _queue: u32) -> bool {
        true
    }
}

impl<F: FnMut(&mut [u8], &Packet, u32) -> bool> Process for F {
    fn process(&mut self, frame: &mut [u8], packet: &Packet, queue: u32) -> bool {
        self(frame, packet, queue)
    }
}

/// Frames without a virtual queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Others {
    /// No IP packets, or no queue for their destination.
    pub unclassified: u64,
    /// Malformed ones.
    pub malformed: u64,
}

/// A bump: one direction of one link, on one core.
pub struct Pipeline<C, D, L, P = ()> {
    classifier: C,
    entries: Vec<Entry<D>>,
    levels: L,
    process: P,
    malformed: Malformed,
    framing: u32,
    others: Others,
}

/// What Ethernet adds to a frame without check sequence on the wire: preamble, check sequence, gap.
pub const FRAMING: u32 = 24;

impl<C: Classify, D: Discipline, L: Levels> Pipeline<C, D, L> {
    /// A bump with these virtual queues. `framing` is what the links add to a frame's bytes, for
    /// example [`FRAMING`].
    pub fn new(
        classifier: C,
        entries: Vec<Entry<D>>,
        levels: L,
        framing: u32,
    ) -> Pipeline<C, D, L> {
        let malformed = Malformed::default();
        let others = Others::default();
        Pipeline { classifier, entries, levels, process: (), malformed, framing, others }
    }
}

impl<C: Classify, D: Discipline, L: Levels, P: Process> Pipeline<C, D, L, P> {
    /// The same with the user's processing.
    pub fn with_process<Q: Process>(self, process: Q) -> Pipeline<C, D, L, Q> {
        let Pipeline { classifier, entries, levels, malformed, framing, others, .. } = self;
        Pipeline { classifier, entries, levels, process, malformed, framing, others }
    }

    /// What is done with malformed frames.
    pub fn malformed(self, malformed: Malformed) -> Pipeline<C, D, L, P> {
        Pipeline { malformed, ..self }
    }

    /// A frame passes at `now`. Of a frame on the wire of `length` bytes without check sequence, `frame`
    /// is all or the beginning.
    #[inline]
    pub fn pass(&mut self, frame: &mut [u8], length: u32, now: Time) -> Passed {
        let packet = match frame::parse(frame) {
            Ok(Content::Ip(packet)) => packet,
            Ok(Content::Other) => return self.unclassified(),
            Err(_) => return self.faulty(),
        };
        let Some(queue) = self.classifier.classify(&packet) else { return self.unclassified() };
        let at = queue as usize;
        let Some(entry) = self.entries.get_mut(at) else { return self.unclassified() };
        let seen = self.levels.level(at, &entry.queue, now);
        let found = entry.queue.at_level(seen);
        let (len, ect) = (length + self.framing, packet.ecn != NOT_ECT);
        entry.counts.packets += 1;
        let (fate, filled) = entry.judge(found, (len, frame), ect, now);
        let fits = filled.is_none() || self.levels.fill(at, &entry.queue, len, now);
        let action = if fits { action(fate) } else { Action::Full };
        let action = self.carry_out(action, frame, &packet, queue);
        Passed { action, queue: Some(queue), found: seen.since(now) }
    }

    #[inline]
    fn carry_out(
        &mut self,
        action: Action,
        frame: &mut [u8],
        packet: &Packet,
        queue: u32,
    ) -> Action {
        let marks = action == Action::Mark && packet.ecn != CE;
        if marks {
            frame::mark(frame, packet);
        }
        if action.forwards() && !self.process.process(frame, packet, queue) {
            return Action::Processed;
        }
        action
    }

    #[cold]
    fn unclassified(&mut self) -> Passed {
        self.others.unclassified += 1;
        Passed { action: Action::Forward, queue: None, found: Time::ZERO }
    }

    #[cold]
    fn faulty(&mut self) -> Passed {
        self.others.malformed += 1;
        let action = match self.malformed {
            Malformed::Pass => Action::Forward,
            Malformed::Drop => Action::Malformed,
        };
        Passed { action, queue: None, found: Time::ZERO }
    }

    /// What has happened at each virtual queue.
    pub fn counts(&self) -> impl Iterator<Item = Counts> {
        self.entries.iter().map(|entry| entry.counts)
    }

    /// The disciplines, by queue.
    pub fn disciplines(&self) -> impl Iterator<Item = &D> {
        self.entries.iter().map(|entry| &entry.discipline)
    }

    /// The bytes that drain from a queue in `wait`: the paper's `estimateQlen`.
    pub fn bytes_of(&self, queue: u32, wait: Time) -> u64 {
        let entry = self.entries.get(queue as usize);
        entry.map_or(0, |entry| entry.queue.pace().bytes_in(wait))
    }

    /// Frames without a queue.
    pub fn others(&self) -> Others {
        self.others
    }

    /// What says which queue a packet belongs to.
    pub fn classifier(&self) -> &C {
        &self.classifier
    }
}

#[inline]
fn action(fate: Fate) -> Action {
    match fate {
        Fate::Full => Action::Full,
        Fate::Judged(Verdict::Pass) => Action::Forward,
        Fate::Judged(Verdict::Mark) => Action::Mark,
        Fate::Judged(Verdict::Drop) => Action::Drop,
        Fate::Judged(Verdict::Notify(what)) => Action::Notify(what),
    }
}
