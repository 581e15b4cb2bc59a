//! A planned round and its times.

use super::demand_tracker::Scheduled;
use crate::wire::{MAX_CLASSES, MAX_SLOTS, Open, Timing};
use crate::{Classes, Round};
use slotline_net::id::HostId;
use slotline_net::time::Time;

/// A time in a round at which the fabric manager acts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Edge {
    /// Hosts may report.
    Ask,
    /// Hosts may no longer report.
    Asked,
    /// A slot begins.
    Begin(u16),
    /// A slot ends.
    End(u16),
    /// The guard time after the last slot is over.
    Over,
}

/// A round, and which hosts and controllers have confirmed it.
pub(super) struct Run {
    pub number: u32,
    pub round: Round,
    pub classes: Classes,
    pub scheduled: Scheduled,
    /// The entries by slot, host and class.
    pub open: Vec<Open>,
    /// When it begins.
    pub begin: Time,
    /// The length of the slot for reports, without its guard time.
    report_slot: Option<Time>,
    guard: Time,
    /// By host, whether it has confirmed its classes.
    pub ready: Vec<bool>,
    /// By controller, whether it has confirmed its slots.
    pub controllers_ready: Vec<bool>,
    pub edge: Edge,
}

impl Run {
    pub fn new(
        number: u32,
        round: Round,
        classes: Classes,
        report_slot: Option<Time>,
        guard: Time,
        hosts: usize,
        controllers: usize,
    ) -> Run {
        let slots = (0u16..).zip(round.slots());
        let with_slot =
            slots.flat_map(|(slot, assignments)| assignments.iter().map(move |a| (slot, a)));
        let of = |((slot, assignment), &class): ((u16, &crate::Assignment), &u16)| Open {
            slot,
            host: assignment.src,
            class,
        };
        let mut open: Vec<Open> = with_slot.zip(classes.of()).map(of).collect();
        open.sort_by_key(|open| (open.slot, open.host, open.class));
        Run {
            number,
            scheduled: Scheduled::of(number, &round, hosts),
            round,
            classes,
            open,
            begin: Time::MAX,
            report_slot,
            guard,
            ready: vec![false; hosts],
            controllers_ready: vec![false; controllers],
            edge: if report_slot.is_some() { Edge::Ask } else { Edge::Begin(0) },
        }
    }
    /// When slot 0 begins.
    fn first(&self) -> Time {
        self.begin.after(self.report_slot.map_or(Time::ZERO, |slot| slot + self.guard))
    }
    fn slot_begin(&self, slot: u64) -> Time {
        self.first().after((self.round.slot + self.round.guard).times(slot))
    }
    /// When the round is over.
    pub fn over(&self) -> Time {
        self.slot_begin(self.round.len() as u64)
    }
    /// When it is time for the next edge.
    pub fn due(&self) -> Time {
        match self.edge {
            Edge::Ask => self.begin,
            Edge::Asked => self.begin.after(self.report_slot.unwrap_or_default()),
            Edge::Begin(slot) => self.slot_begin(slot.into()),
            Edge::End(slot) => self.slot_begin(slot.into()).after(self.round.slot),
            Edge::Over => self.over(),
        }
    }
    /// Goes on to the next edge.
    pub fn advance(&mut self) {
        let begin = |slot: u16| {
            if usize::from(slot) < self.round.len() { Edge::Begin(slot) } else { Edge::Over }
        };
        self.edge = match self.edge {
            Edge::Ask => Edge::Asked,
            Edge::Asked => begin(0),
            Edge::Begin(slot) => Edge::End(slot),
            Edge::End(slot) => begin(slot + 1),
            Edge::Over => Edge::Over,
        };
    }
    /// The first slot that has not begun.
    pub fn next_slot(&self) -> u16 {
        match self.edge {
            Edge::Ask | Edge::Asked => 0,
            Edge::Begin(slot) => slot,
            Edge::End(slot) => slot + 1,
            Edge::Over => self.round.len() as u16,
        }
    }
    /// The times of slots for a message that is sent now.
    pub fn timing(&self, now: Time) -> Timing {
        let next = self.next_slot();
        Timing {
            next,
            slots: self.round.len() as u16,
            begins: self.slot_begin(next.into()).since(now),
            slot: self.round.slot,
            guard: self.round.guard,
        }
    }
    /// The entries for `host` in `slot`.
    pub fn open_at(&self, slot: u16, host: HostId) -> &[Open] {
        open_at(&self.open, slot, host)
    }
    /// The number of messages with the classes of `host`.
    pub fn class_parts(&self, host: HostId) -> u16 {
        self.classes.of_host(host).len().div_ceil(MAX_CLASSES) as u16
    }
}

/// The entries for `slot` and `host` in a sorted list.
pub(super) fn open_at(open: &[Open], slot: u16, host: HostId) -> &[Open] {
    let start = open.partition_point(|open| (open.slot, open.host) < (slot, host));
    let count = open[start..].iter().take_while(|o| (o.slot, o.host) == (slot, host)).count();
    &open[start..start + count]
}

/// The number of messages with so many entries to a controller.
pub(super) fn slot_parts(entries: usize) -> u16 {
    entries.div_ceil(MAX_SLOTS).max(1) as u16
}
