//! The endpoint's end of the protocol: it sends demand as totals, receives slots, and demands lost slots again.

use super::arrivals::Arrivals;
use super::flows::Flows;
use super::session::{Accepted, Role, Session};
use super::{Config, DemandError, MAX_PENDING, Refused};
use crate::wire::fcp::{Grant, Message, Record, Total, Writer};
use slotline_net::prefetch::prefetch_value;
use slotline_net::time::Time;

/// Events at an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndpointEvent {
    /// A new epoch began. All pending demand is sent again.
    Began,
    /// Slots in which the endpoint may send were granted. They count against the demand. An endpoint that
    /// cannot use a slot, because it is over, demands another.
    Granted {
        /// The destination.
        dst: u32,
        /// The number of the path.
        path: u16,
        /// Bit 0 of `slots` is this timeslot.
        first: u64,
        /// The slots: at least one, and none beyond 64 bits.
        slots: u64,
    },
    /// Granted slots never arrived. They have been demanded again.
    Lost {
        /// The destination.
        dst: u32,
        /// The number of slots.
        slots: u32,
    },
}

/// An endpoint's state towards one arbiter.
#[derive(Clone, Debug)]
pub struct EndpointSession {
    session: Session,
    flows: Flows,
    arrivals: Arrivals,
    /// The slots demanded and not granted yet, over all destinations.
    pending: u64,
    /// The time of the last packet from the arbiter, or of the last request to it.
    last_contact: Time,
}

impl EndpointSession {
    /// An endpoint that has just started.
    pub fn new(config: Config) -> EndpointSession {
        EndpointSession {
            session: Session::new(config, Role::Endpoint),
            flows: Flows::new(config.nodes),
            arrivals: Arrivals::default(),
            pending: 0,
            last_contact: Time::ZERO,
        }
    }
    /// Requests the state that demand needs, which is needed soon.
    #[inline]
    pub fn expect(&self) {
        prefetch_value(&self.flows);
        prefetch_value(&self.pending);
    }
    /// Epoch and counters.
    pub const fn session(&self) -> &Session {
        &self.session
    }
    /// Demands `slots` more timeslots to `dst`.
    ///
    /// # Errors
    /// The network has no such node, or too many slots would be pending.
    pub fn demand(&mut self, dst: u32, slots: u32) -> Result<(), DemandError> {
        if dst >= self.session.config().nodes {
            return Err(DemandError::NoSuchNode(dst));
        }
        if slots == 0 {
            return Ok(());
        }
        let flow = self.flows.entry(dst);
        if MAX_PENDING - flow.pending() < slots {
            return Err(DemandError::TooMuch(dst));
        }
        flow.demanded = flow.demanded.wrapping_add(slots);
        self.flows.report(dst);
        self.pending += u64::from(slots);
        Ok(())
    }
    /// The slots demanded to `dst` and not granted yet.
    pub fn pending(&self, dst: u32) -> u32 {
        self.flows.get(dst).pending()
    }
    /// The slots demanded to `dst` since the epoch began, modulo 2³², whether the arbiter has received this
    /// or not.
    pub fn demanded(&self, dst: u32) -> u32 {
        self.flows.get(dst).demanded
    }
    /// Whether slots are pending, and whether totals are to be sent. While neither changes and no packet arrives or is
    /// sent, [`EndpointSession::deadline`] does not change.
    pub fn demands(&self) -> (bool, bool) {
        (self.pending > 0, self.flows.is_due())
    }
    /// The slots to `dst` that arrived or were given up since the epoch began, modulo 2³².
    pub fn granted(&self, dst: u32) -> u32 {
        self.flows.get(dst).granted
    }

    /// Receives a packet and appends its meaning to `events`.
    ///
    /// # Errors
    /// The reason for a refusal. It is counted, and an answer may have to be sent nevertheless.
    pub fn on_message(
        &mut self,
        bytes: &[u8],
        now: Time,
        events: &mut Vec<EndpointEvent>,
    ) -> Result<(), Refused> {
        let Accepted { began, message } = self.session.receive(bytes, now, None)?;
        self.last_contact = now;
        if began {
            self.flows.restart();
            self.arrivals.clear();
            events.push(EndpointEvent::Began);
        }
        self.session.window.acknowledge(&message.header.acks, |dst| self.flows.report(dst));
        // Grants come first: a report counts those of its own packet.
        self.take_grants(&message, events);
        for record in message.records() {
            if let Record::Report(totals) = record {
                totals
                    .iter()
                    .for_each(|total| self.compare_report(total, message.header.number, events));
            }
        }
        Ok(())
    }
    fn take_grants(&mut self, message: &Message, events: &mut Vec<EndpointEvent>) {
        for record in message.records() {
            let Record::Grants(grants) = record else { continue };
            let first = grants.base;
            for Grant { dst, path, slots } in grants.iter() {
                if self.take(dst, slots.count_ones(), message.header.number) {
                    events.push(EndpointEvent::Granted { dst, path, first, slots });
                }
            }
        }
        self.arrivals.forget(self.session.highest());
    }
    /// Counts slots of packet `number`. Returns false for slots that are not used, because they were given up
    /// before or never demanded.
    #[inline]
    fn take(&mut self, dst: u32, slots: u32, number: u64) -> bool {
        let flow = self.flows.entry(dst);
        if slots > flow.pending() || self.arrivals.is_reported(dst, number) {
            return false;
        }
        flow.granted = flow.granted.wrapping_add(slots);
        self.pending -= u64::from(slots);
        self.arrivals.note(number, dst, slots);
        true
    }
    /// Gives up the slots that a report counts and that have not arrived, and demands them again. The total
    /// does not include slots of packets after the report.
    fn compare_report(&mut self, total: Total, number: u64, events: &mut Vec<EndpointEvent>) {
        let dst = total.dst;
        if self.arrivals.is_reported(dst, number) {
            return;
        }
        self.arrivals.report(dst, number);
        let later = self.arrivals.after(number, dst);
        let flow = self.flows.entry(dst);
        let had = flow.granted.wrapping_sub(later);
        let missing = total.slots.wrapping_sub(had);
        // No more than is pending can have been granted.
        let slots = if missing > MAX_PENDING { 0 } else { missing.min(flow.pending()) };
        if slots > 0 {
            flow.granted = flow.granted.wrapping_add(slots);
            flow.demanded = flow.demanded.wrapping_add(slots);
            self.flows.report(dst);
            events.push(EndpointEvent::Lost { dst, slots });
        }
    }

    /// Replaces `out` with the next packet to be sent at `now`. Returns false if there is none. Callers
    /// repeat this after every other call, and at [`EndpointSession::deadline`], until it returns false.
    pub fn poll_message(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        out.clear();
        let any = self.poll_open(now, out);
        self.session.seal(out);
        any
    }
    /// Appends the next packet to `out`, without its code.
    fn poll_open(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        self.session.expire(now, |dst| self.flows.report(dst));
        if self.session.poll_reset(self.pending > 0, now, out) {
            return true;
        }
        let may_send = self.session.may_send(now);
        let ask = may_send && self.ask_at().is_some_and(|at| at <= now);
        let due = self.flows.is_due() && self.demand_at().is_some_and(|at| at <= now);
        let more = self.session.last_sent() == Some(now) && self.flows.is_due();
        let records = may_send && (due || more || ask);
        if !records && !self.session.must_ack(now) {
            return false;
        }
        let Some(mut writer) = self.session.begin_packet(out) else { return false };
        if self.session.next_send().is_some() {
            self.write(ask, &mut writer);
        }
        if !writer.is_empty() {
            self.last_contact = now;
        }
        self.session.send(writer, now);
        true
    }
    /// Writes the totals that are due, as many as fit. Without any, it asks for an answer if `ask` is set.
    fn write(&mut self, ask: bool, writer: &mut Writer) {
        if !self.flows.is_due() {
            let _room = ask && writer.alive();
            return;
        }
        writer.demand();
        while writer.has_room()
            && let Some((dst, flow)) = self.flows.take()
        {
            writer.total(Total { dst, slots: flow.demanded });
            self.session.window.note([dst].into_iter());
        }
    }
    /// The time from which the totals that are due may leave.
    fn demand_at(&self) -> Option<Time> {
        let quiet_time = match self.session.window.is_empty() {
            true => Time::ZERO,
            false => self.session.config().quiet_time,
        };
        let quiet = self.session.last_sent().map_or(Time::ZERO, |at| at.after(quiet_time));
        Some(self.session.next_send()?.max(quiet))
    }
    /// The time at which to ask whether the arbiter works. It is set while slots are pending and no packet is
    /// unacknowledged.
    fn ask_at(&self) -> Option<Time> {
        let idle = self.session.is_open() && self.pending > 0 && self.session.window.is_empty();
        idle.then(|| self.last_contact.after(self.session.config().alive))
    }
    /// The latest time for the next call of [`EndpointSession::poll_message`].
    pub fn deadline(&self) -> Option<Time> {
        let more = if self.flows.is_due() {
            self.demand_at()
        } else {
            self.ask_at().max(self.ask_at().and(self.session.next_send()))
        };
        self.session.deadline(self.pending > 0, more)
    }
    /// Counts `slots` as granted and arrived.
    #[cfg(test)]
    pub(super) fn skip(&mut self, dst: u32, slots: u32) {
        let flow = self.flows.entry(dst);
        flow.granted = flow.granted.wrapping_add(slots);
        self.pending -= u64::from(slots);
    }
}
