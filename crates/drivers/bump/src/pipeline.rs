//! The pipeline of a bump on real frames: classify, estimate, mark or drop or notify, process, forward.

use crate::classify::Classify;
use crate::frame::{self, CE, Content, NOT_ECT, Packet};
use crate::levels::Levels;
use slotline_net::aqm::bank::{Entry, Fate};
use slotline_net::aqm::{Counts, Discipline, Feedback, Verdict};
use slotline_net::time::Time;

/// The treatment of malformed frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Malformed {
    /// The frame passes without a change.
    #[default]
    Pass,
    /// The frame is dropped.
    Drop,
}

/// The result for a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// The frame is forwarded without a change.
    Forward,
    /// The frame is forwarded with the congestion-experienced mark.
    Mark,
    /// The frame is forwarded, and its sender gets a notice.
    Notify(Feedback),
    /// The discipline drops the frame.
    Drop,
    /// The virtual queue has no room for the frame.
    Full,
    /// The frame is malformed, and such frames are dropped.
    Malformed,
    /// The user's processing drops the frame.
    Processed,
}

impl Action {
    /// Whether the frame is forwarded.
    pub fn forwards(self) -> bool {
        matches!(self, Action::Forward | Action::Mark | Action::Notify(_))
    }
}

/// The result of a bump for a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passed {
    /// The action.
    pub action: Action,
    /// The virtual queue, if the frame has one.
    pub queue: Option<u32>,
    /// The level of the queue before the frame, as the time that it takes to drain; see
    /// [`Pipeline::bytes_of`].
    pub found: Time,
}

/// The user's processing of forwarded packets: `process` in Table 5.1 of NetBump. It may change the frame,
/// but not its length.
pub trait Process {
    /// Processes a frame. Returns whether the frame is forwarded.
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

/// Counts of frames without a virtual queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Others {
    /// Frames that are not IP packets, or whose destination has no queue.
    pub unclassified: u64,
    /// Malformed frames.
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

/// The bytes that Ethernet adds to a frame without check sequence: preamble, check sequence, gap.
pub const FRAMING: u32 = 24;

impl<C: Classify, D: Discipline, L: Levels> Pipeline<C, D, L> {
    /// A bump with these virtual queues. `framing` is the number of bytes that the link adds to a frame, for
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
    /// The same bump with the user's processing.
    pub fn with_process<Q: Process>(self, process: Q) -> Pipeline<C, D, L, Q> {
        let Pipeline { classifier, entries, levels, malformed, framing, others, .. } = self;
        Pipeline { classifier, entries, levels, process, malformed, framing, others }
    }

    /// Sets the treatment of malformed frames.
    pub fn malformed(self, malformed: Malformed) -> Pipeline<C, D, L, P> {
        Pipeline { malformed, ..self }
    }

    /// Handles a frame at time `now`. `length` is the length of the frame on the wire without check sequence,
    /// in bytes; `frame` is the frame or its beginning.
    #[inline]
    pub fn pass(&mut self, frame: &mut [u8], length: u32, now: Time) -> Passed {
        let packet = match frame::parse(frame) {
            Ok(Content::Ip(packet)) => packet,
            Ok(Content::Other) => return self.unclassified(),
            Err(_) => return self.malformed_frame(),
        };
        let Some(queue) = self.classifier.classify(&packet) else { return self.unclassified() };
        let at = queue as usize;
        let Some(entry) = self.entries.get_mut(at) else { return self.unclassified() };
        let seen = self.levels.level(at, &entry.queue, now);
        let found = entry.queue.at_level(seen);
        let (len, ect) = (length.saturating_add(self.framing), packet.ecn != NOT_ECT);
        entry.counts.packets += 1;
        let (fate, filled) = entry.judge(found, len, frame, ect, now);
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
    fn malformed_frame(&mut self) -> Passed {
        self.others.malformed += 1;
        let action = match self.malformed {
            Malformed::Pass => Action::Forward,
            Malformed::Drop => Action::Malformed,
        };
        Passed { action, queue: None, found: Time::ZERO }
    }

    /// The counts of each virtual queue.
    pub fn counts(&self) -> impl Iterator<Item = Counts> {
        self.entries.iter().map(|entry| entry.counts)
    }

    /// The disciplines, by queue.
    pub fn disciplines(&self) -> impl Iterator<Item = &D> {
        self.entries.iter().map(|entry| &entry.discipline)
    }

    /// The bytes that drain from a queue in `wait`: `estimateQlen` of NetBump.
    pub fn bytes_of(&self, queue: u32, wait: Time) -> u64 {
        let entry = self.entries.get(queue as usize);
        entry.map_or(0, |entry| entry.queue.inverse_rate().bytes_in(wait))
    }

    /// The bytes in a queue at time `now`.
    pub fn backlog(&mut self, queue: usize, now: Time) -> u64 {
        let Some(entry) = self.entries.get(queue) else { return 0 };
        let level = self.levels.level(queue, &entry.queue, now);
        entry.queue.inverse_rate().bytes_in(level.since(now))
    }

    /// The counts of frames without a queue.
    pub fn others(&self) -> Others {
        self.others
    }

    /// The classifier.
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
