//! The arbiter's end towards one endpoint: demand comes in, granted slots go out.

use super::session::{Role, Sent, Session};
use super::totals::Totals;
use super::{Config, Refused};
use crate::time::Time;
use crate::wire::fcp::{CODE, GRANT, Grant, HEADER, LONGEST, RECORD, Record, TOTAL, Total};
use std::collections::{BTreeMap, VecDeque};

/// Bytes for records in one message.
const ROOM: usize = LONGEST - HEADER - CODE;
/// Bytes of grants before their entries.
const GRANTS: usize = RECORD + 8;
/// After so many time-outs in silence the endpoint counts as gone: reports wait until it is heard.
const PATIENCE: u32 = 10;

/// What an arbiter gets to know of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArbiterEvent {
    /// A new epoch: whatever this endpoint wanted before is void, and will be demanded again.
    Began,
    /// The endpoint wants more slots.
    Demand {
        /// Where to.
        dst: u32,
        /// How many more than before.
        slots: u64,
    },
}

/// A slot that cannot be granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the endpoint has no slot to node {0} outstanding")]
pub struct Denied(pub u32);

#[derive(Clone, Copy, Default, Debug)]
struct Flow {
    demanded: u64,
    granted: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    dst: u32,
    slot: u64,
    path: u32,
}

/// An arbiter's state towards one endpoint.
#[derive(Clone, Debug)]
pub struct ArbiterSession {
    session: Session,
    flows: BTreeMap<u32, Flow>,
    /// Slots granted and not sent yet.
    queue: VecDeque<Slot>,
    /// Slots sent since the epoch began.
    sent: Totals,
}

impl ArbiterSession {
    /// An arbiter that has just started, or has not heard of this endpoint.
    pub fn new(config: Config) -> ArbiterSession {
        ArbiterSession {
            session: Session::new(config, Role::Arbiter),
            flows: BTreeMap::new(),
            queue: VecDeque::new(),
            sent: Totals::default(),
        }
    }
    /// Epoch and counters.
    pub const fn session(&self) -> &Session {
        &self.session
    }
    fn flow(&self, dst: u32) -> Flow {
        self.flows.get(&dst).copied().unwrap_or_default()
    }
    /// Slots to `dst` demanded since the epoch began, as far as heard.
    pub fn demanded(&self, dst: u32) -> u64 {
        self.flow(dst).demanded
    }
    /// Slots to `dst` granted since the epoch began.
    pub fn granted(&self, dst: u32) -> u64 {
        self.flow(dst).granted
    }
    /// Slots to `dst` demanded and not granted yet; none without an epoch.
    pub fn wanted(&self, dst: u32) -> u64 {
        let Flow { demanded, granted } = self.flow(dst);
        if self.session.is_open() { demanded.saturating_sub(granted) } else { 0 }
    }
    /// Grants a slot to `dst` over one of the paths there.
    ///
    /// # Errors
    /// The endpoint has not asked for it in this epoch, has got all it asked for, or there is no epoch
    /// at present: this end has left it, and [`ArbiterEvent::Began`] will come.
    pub fn grant(&mut self, dst: u32, slot: u64, path: u32) -> Result<(), Denied> {
        let open = self.session.is_open();
        let flow = self.flows.get_mut(&dst).filter(|flow| open && flow.granted < flow.demanded);
        flow.ok_or(Denied(dst))?.granted += 1;
        self.queue.push_back(Slot { dst, slot, path });
        Ok(())
    }

    /// Takes a packet in; appends what it means to `events`.
    ///
    /// # Errors
    /// Why it was refused; it is counted, and an answer may have to be sent all the same.
    pub fn on_message(
        &mut self,
        bytes: &[u8],
        events: &mut Vec<ArbiterEvent>,
    ) -> Result<(), Refused> {
        let accepted = self.session.receive(bytes)?;
        if accepted.began {
            self.flows.clear();
            self.queue.clear();
            self.sent = Totals::default();
            events.push(ArbiterEvent::Began);
        }
        accepted.lost.iter().for_each(|sent| self.lost(sent));
        for record in &accepted.records {
            if let Record::Demand(totals) = record {
                events.extend(totals.iter().filter_map(|total| self.hear(total)));
            }
        }
        Ok(())
    }
    /// A total that is not higher than the known one is an old one.
    fn hear(&mut self, total: &Total) -> Option<ArbiterEvent> {
        let flow = self.flows.entry(total.dst).or_default();
        let slots = total.slots.checked_sub(flow.demanded).filter(|&slots| slots > 0)?;
        flow.demanded = total.slots;
        Some(ArbiterEvent::Demand { dst: total.dst, slots })
    }
    /// Slots are not granted again: the total says that they were.
    fn lost(&mut self, sent: &Sent) {
        sent.totals.iter().for_each(|&dst| self.sent.lost(dst, sent.number));
        sent.granted.iter().for_each(|&dst| self.sent.report(dst));
    }

    /// The next packet to be sent at `now`, if there is one: asked for after every other call, and at
    /// [`ArbiterSession::deadline`], until there is none.
    pub fn poll_message(&mut self, now: Time) -> Option<Vec<u8>> {
        self.session.expire(now).iter().for_each(|sent| self.lost(sent));
        if let Some(reset) = self.session.poll_reset(false, now) {
            return Some(reset);
        }
        let free = self.session.is_open() && !self.session.is_full();
        let (mut records, granted, room) = if free { self.grants() } else { Default::default() };
        let mut totals = Vec::new();
        if free && self.session.unheard() < PATIENCE && self.sent.is_due() {
            let most = room.saturating_sub(RECORD) / TOTAL;
            totals = self.sent.take(most, self.session.next_number());
        }
        let about = totals.iter().map(|total| total.dst).collect();
        if !totals.is_empty() {
            records.push(Record::Report(totals));
        }
        let needed = !records.is_empty() || self.session.owes_ack();
        needed.then(|| self.session.send(records, about, granted, now)).flatten()
    }
    /// As many waiting slots as fit, their destinations, and the room that is left.
    fn grants(&mut self) -> (Vec<Record>, Vec<u32>, usize) {
        let (mut records, mut about, mut room) = (Vec::new(), Vec::new(), ROOM);
        while room >= GRANTS + GRANT && !self.queue.is_empty() {
            let (base, grants) = self.run(&mut room);
            about.extend(grants.chunk_by(|a, b| a.dst == b.dst).map(|same| same[0].dst));
            records.push(Record::Grants { base, grants });
        }
        about.sort_unstable();
        about.dedup();
        (records, about, room)
    }
    /// Slots that have a base in common.
    fn run(&mut self, room: &mut usize) -> (u64, Vec<Grant>) {
        let base = self.queue.front().map_or(0, |slot| slot.slot);
        let mut grants = Vec::new();
        *room -= GRANTS;
        while *room >= GRANT {
            let offset = |slot: &Slot| u16::try_from(slot.slot.checked_sub(base)?).ok();
            let Some(offset) = self.queue.front().and_then(offset) else { break };
            let Some(Slot { dst, path, .. }) = self.queue.pop_front() else { break };
            grants.push(Grant { dst, path, offset });
            *room -= GRANT;
        }
        for same in grants.chunk_by(|a, b| a.dst == b.dst) {
            self.sent.count(same[0].dst, same.len() as u64);
        }
        (base, grants)
    }
    /// When [`ArbiterSession::poll_message`] has to be called at the latest.
    pub fn deadline(&self) -> Option<Time> {
        self.session.deadline(false)
    }
}
