//! The endpoint's end: demand goes out as totals, slots come in, lost ones are asked for again.

use super::session::{Accepted, Role, Sent, Session};
use super::totals::Totals;
use super::{Config, NoSuchNode, Refused};
use crate::time::Time;
use crate::wire::fcp::{CODE, HEADER, LONGEST, RECORD, Record, TOTAL, Total};
use std::collections::{BTreeMap, VecDeque};

/// Totals that fit into one message.
const MOST: usize = (LONGEST - HEADER - CODE - RECORD) / TOTAL;

/// What an endpoint gets to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndpointEvent {
    /// A new epoch: what was still wanted is wanted again, all of it.
    Began,
    /// A slot in which to send; it counts against the demand. Who cannot use it adds demand anew.
    Granted {
        /// Where to.
        dst: u32,
        /// The timeslot.
        slot: u64,
        /// Which of the paths there.
        path: u32,
    },
    /// Slots were granted that never arrived; they have been asked for again.
    Lost {
        /// Where to.
        dst: u32,
        /// How many.
        slots: u64,
    },
}

#[derive(Clone, Copy, Default, Debug)]
struct Flow {
    /// Slots that arrived or were given up, in this epoch.
    granted: u64,
    /// The latest packet with a report: slots granted up to it have arrived or are given up.
    reported: u64,
}

/// An endpoint's state towards one arbiter.
#[derive(Clone, Debug)]
pub struct EndpointSession {
    session: Session,
    demands: Totals,
    flows: BTreeMap<u32, Flow>,
    /// Slots that arrived with recent packets: number, destination, slots.
    arrived: VecDeque<(u64, u32, u64)>,
    /// Slots wanted and not granted yet, over all destinations.
    wanted: u64,
    /// When the arbiter was last heard or asked.
    in_touch: Time,
}

impl EndpointSession {
    /// An endpoint that has just started.
    pub fn new(config: Config) -> EndpointSession {
        EndpointSession {
            session: Session::new(config, Role::Endpoint),
            demands: Totals::default(),
            flows: BTreeMap::new(),
            arrived: VecDeque::new(),
            wanted: 0,
            in_touch: Time::ps(0),
        }
    }
    /// Epoch and counters.
    pub const fn session(&self) -> &Session {
        &self.session
    }
    /// Wants `slots` more timeslots to `dst`.
    ///
    /// # Errors
    /// The network has no such node.
    pub fn add_demand(&mut self, dst: u32, slots: u64) -> Result<(), NoSuchNode> {
        if dst >= self.session.config().nodes {
            return Err(NoSuchNode(dst));
        }
        if slots > 0 {
            self.demands.raise(dst, slots);
            self.wanted = self.wanted.saturating_add(slots);
        }
        Ok(())
    }
    /// Slots wanted to `dst` and not granted yet.
    pub fn wanted(&self, dst: u32) -> u64 {
        self.demands.get(dst).saturating_sub(self.granted(dst))
    }
    /// Slots demanded to `dst` since the epoch began: what the arbiter knows or will be told.
    pub fn demanded(&self, dst: u32) -> u64 {
        self.demands.get(dst)
    }
    /// Slots to `dst` that arrived or were given up since the epoch began.
    pub fn granted(&self, dst: u32) -> u64 {
        self.flows.get(&dst).map_or(0, |flow| flow.granted)
    }

    /// Takes a packet in; appends what it means to `events`.
    ///
    /// # Errors
    /// Why it was refused; it is counted, and an answer may have to be sent all the same.
    pub fn on_message(
        &mut self,
        bytes: &[u8],
        now: Time,
        events: &mut Vec<EndpointEvent>,
    ) -> Result<(), Refused> {
        let accepted = self.session.receive(bytes)?;
        self.in_touch = now;
        if accepted.began {
            self.restart();
            events.push(EndpointEvent::Began);
        }
        accepted.lost.iter().for_each(|sent| self.lost(sent));
        // Grants first: a report counts those of its own packet.
        self.take_grants(&accepted, events);
        for record in &accepted.records {
            if let Record::Report(totals) = record {
                totals.iter().for_each(|total| self.compare(total, accepted.number, events));
            }
        }
        Ok(())
    }
    /// Fresh counts for what is still wanted (§5.3).
    fn restart(&mut self) {
        let flows = std::mem::take(&mut self.flows);
        let granted = |dst| flows.get(&dst).map_or(0, |flow: &Flow| flow.granted);
        self.demands.restart(|dst, slots| slots.saturating_sub(granted(dst)));
        self.arrived.clear();
    }
    fn lost(&mut self, sent: &Sent) {
        sent.totals.iter().for_each(|&dst| self.demands.lost(dst, sent.number));
    }
    fn take_grants(&mut self, accepted: &Accepted, events: &mut Vec<EndpointEvent>) {
        for record in &accepted.records {
            let Record::Grants { base, grants } = record else { continue };
            for grant in grants {
                let slot = base.saturating_add(grant.offset.into());
                if self.take(grant.dst, accepted.number) {
                    events.push(EndpointEvent::Granted { dst: grant.dst, slot, path: grant.path });
                }
            }
        }
        let oldest = self.session.highest().saturating_sub(64);
        while self.arrived.front().is_some_and(|&(number, ..)| number < oldest) {
            self.arrived.pop_front();
        }
    }
    /// Counts a slot of packet `number`. False: it is not used, for it was given up before.
    fn take(&mut self, dst: u32, number: u64) -> bool {
        let wanted = self.wanted(dst) > 0;
        let flow = self.flows.entry(dst).or_default();
        if number <= flow.reported {
            return false;
        }
        flow.granted = flow.granted.saturating_add(1);
        self.wanted = self.wanted.saturating_sub(wanted.into());
        match self.arrived.back_mut() {
            Some((last, node, slots)) if (*last, *node) == (number, dst) => *slots += 1,
            _ => self.arrived.push_back((number, dst, 1)),
        }
        true
    }
    /// Slots that a report knows of and that have not arrived are given up and wanted again. Those of
    /// packets after the report are not in its total.
    fn compare(&mut self, total: &Total, number: u64, events: &mut Vec<EndpointEvent>) {
        let dst = total.dst;
        let later = |&&(packet, node, _): &&(u64, u32, u64)| packet > number && node == dst;
        let later: u64 = self.arrived.iter().filter(later).map(|&(.., slots)| slots).sum();
        let wanted = self.wanted(dst);
        let flow = self.flows.entry(dst).or_default();
        if number <= flow.reported {
            return;
        }
        flow.reported = number;
        let had = flow.granted.saturating_sub(later);
        // No more than is wanted can have been granted.
        let slots = total.slots.saturating_sub(had).min(wanted);
        if slots > 0 {
            flow.granted += slots;
            self.demands.raise(dst, slots);
            events.push(EndpointEvent::Lost { dst, slots });
        }
    }

    /// The next packet to be sent at `now`, if there is one: asked for after every other call, and at
    /// [`EndpointSession::deadline`], until there is none.
    pub fn poll_message(&mut self, now: Time) -> Option<Vec<u8>> {
        self.session.expire(now).iter().for_each(|sent| self.lost(sent));
        if let Some(reset) = self.session.poll_reset(self.wanted > 0, now) {
            return Some(reset);
        }
        let free = self.session.is_open() && !self.session.is_full();
        if free && self.demands.is_due() {
            let totals = self.demands.take(MOST, self.session.next_number());
            let about = totals.iter().map(|total| total.dst).collect();
            self.in_touch = now;
            return self.session.send(vec![Record::Demand(totals)], about, Vec::new(), now);
        }
        if free && self.ask_at().is_some_and(|at| at <= now) {
            self.in_touch = now;
            return self.session.send(vec![Record::Alive], Vec::new(), Vec::new(), now);
        }
        let owed = self.session.owes_ack();
        owed.then(|| self.session.send(Vec::new(), Vec::new(), Vec::new(), now)).flatten()
    }
    /// When to ask whether the arbiter is there: while slots are wanted and nothing else is on the way.
    fn ask_at(&self) -> Option<Time> {
        let idle = self.session.is_open() && self.wanted > 0 && !self.session.is_waiting();
        idle.then(|| self.in_touch.after(self.session.config().alive))
    }
    /// When [`EndpointSession::poll_message`] has to be called at the latest.
    pub fn deadline(&self) -> Option<Time> {
        self.session.deadline(self.wanted > 0).or(self.ask_at())
    }
}
