//! The arbiter's end of the protocol with one endpoint: it receives demand and sends granted slots.

use super::flows::Flows;
use super::grant_queue::GrantQueue;
use super::session::{Accepted, Role, Session};
use super::{Config, MAX_PENDING, Refused};
use crate::wire::fcp::{Grant, Record, Total, Writer};
use slotline_net::time::Time;

/// After this number of time-outs without a packet from it, the endpoint counts as gone. Reports wait for its next packet.
const MAX_SILENT_TIMEOUTS: u32 = 10;

/// Events at an arbiter about an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArbiterEvent {
    /// A new epoch began. All earlier demand of this endpoint is void and will be sent again.
    Began,
    /// The endpoint demands more slots.
    Demand {
        /// The destination.
        dst: u32,
        /// The additional slots; not 0.
        slots: u32,
    },
}

/// The reason why slots cannot be granted. The state does not change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Denied {
    /// The endpoint has less pending demand in this epoch.
    #[error("cannot grant {slots} slots to node {dst}: {pending} are pending")]
    NotDemanded {
        /// The destination.
        dst: u32,
        /// The number of slots.
        slots: u32,
        /// The number of pending slots.
        pending: u32,
    },
    /// The slots are beyond the last that 64 bits can number.
    #[error("the last slot of {slots:#x} from {base} on needs more than 64 bits")]
    TooLate {
        /// Bit 0 is this slot.
        base: u64,
        /// The slots.
        slots: u64,
    },
}

/// An arbiter's state towards one endpoint.
#[derive(Clone, Debug)]
pub struct ArbiterSession {
    session: Session,
    flows: Flows,
    /// Grants that have not been sent yet.
    queue: GrantQueue,
}

impl ArbiterSession {
    /// An arbiter that has just started, or has received no packet from this endpoint.
    pub fn new(config: Config) -> ArbiterSession {
        let (session, flows) = (Session::new(config, Role::Arbiter), Flows::new(config.nodes));
        ArbiterSession { session, flows, queue: GrantQueue::default() }
    }
    /// Epoch and counters.
    pub const fn session(&self) -> &Session {
        &self.session
    }
    /// The slots to `dst` demanded since the epoch began, as far as received, modulo 2³².
    pub fn demanded(&self, dst: u32) -> u32 {
        self.flows.get(dst).demanded
    }
    /// The slots to `dst` granted since the epoch began, modulo 2³².
    pub fn granted(&self, dst: u32) -> u32 {
        self.flows.get(dst).granted
    }
    /// The slots to `dst` demanded and not granted yet. There are none without an epoch.
    pub fn pending(&self, dst: u32) -> u32 {
        if self.session.is_open() { self.flows.get(dst).pending() } else { 0 }
    }
    /// Grants slots to `dst` over path `path`: bit `i` of `slots` is timeslot `base + i`. They leave with the
    /// next packet. Grants with one base in a row take the least room.
    ///
    /// # Errors
    /// The endpoint has less pending demand, or the slots are beyond 64 bits.
    #[inline]
    pub fn grant(&mut self, dst: u32, path: u16, base: u64, slots: u64) -> Result<(), Denied> {
        if slots > 0 {
            self.count(dst, base, slots)?;
            self.queue.push(base, Grant { dst, path, slots });
        }
        Ok(())
    }
    /// Counts slots as granted. The caller has to send them.
    #[inline]
    fn count(&mut self, dst: u32, base: u64, slots: u64) -> Result<(), Denied> {
        if base.checked_add(slots.checked_ilog2().unwrap_or(0).into()).is_none() {
            return Err(Denied::TooLate { base, slots });
        }
        let count = slots.count_ones();
        let pending = |pending| Denied::NotDemanded { dst, slots: count, pending };
        if !self.session.is_open() || dst >= self.session.config().nodes {
            return Err(pending(0));
        }
        let flow = self.flows.entry(dst);
        if count > flow.pending() {
            return Err(pending(flow.pending()));
        }
        flow.granted = flow.granted.wrapping_add(count);
        Ok(())
    }
    /// Grants all of these slots, with one base, and appends all messages that may leave at `now` to `out`,
    /// without their codes. Calls `denied` with the reason for each refused grant, and `written` after each
    /// message.
    pub(super) fn grant_all(
        &mut self,
        base: u64,
        grants: &[Grant],
        now: Time,
        mut denied: impl FnMut(Denied),
        mut written: impl FnMut(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        self.session.expire(now, |dst| self.flows.report(dst));
        if grants.is_empty() && self.has_nothing_to_send(now) {
            return;
        }
        let valid =
            |grant: &&Grant| grant.slots > 0 && self.count(grant.dst, base, grant.slots).is_ok();
        let counted = grants.iter().take_while(valid).count();
        let mut left = &grants[..counted];
        // The grants bypass the queue if it is empty and no reset has to be sent.
        if counted == grants.len() && self.queue.is_empty() && !self.session.owes_reset() {
            while !left.is_empty() && self.session.may_send(now) {
                let Some(mut writer) = self.session.begin_packet(out) else { break };
                left = self.write_some(&mut writer, base, left);
                self.session.send(writer, now);
                written(out);
            }
        }
        left.iter().for_each(|&grant| self.queue.push(base, grant));
        for &Grant { dst, path, slots } in &grants[counted..] {
            if let Err(why) = self.grant(dst, path, base, slots) {
                denied(why);
            }
        }
        while self.poll_open(now, out) {
            written(out);
        }
    }
    /// Whether there is nothing to be sent at `now`.
    fn has_nothing_to_send(&self, now: Time) -> bool {
        !self.has_records() && !self.session.must_ack(now) && !self.session.owes_reset()
    }
    /// Writes as many grants as fit, and reports once no grants are left. Returns the grants that are left.
    fn write_some<'a>(
        &mut self,
        writer: &mut Writer,
        base: u64,
        grants: &'a [Grant],
    ) -> &'a [Grant] {
        let (written, left) = grants.split_at(writer.grants(base, grants.iter().copied()));
        self.session.window.note(written.iter().map(|grant| grant.dst));
        if left.is_empty() {
            self.write_reports(writer);
        }
        left
    }
    /// Reads what a grant or a demand to `dst` will need, so that it is in the cache.
    #[inline]
    pub(super) fn read_ahead(&self, dst: u32) -> u32 {
        self.flows.get(dst).granted
    }
    /// Invites an endpoint to begin an epoch, unless there is one. An arbiter that takes over from another
    /// one need not wait until it is asked.
    pub const fn announce(&mut self) {
        self.session.announce();
    }

    /// Receives a packet and appends its meaning to `events`.
    ///
    /// # Errors
    /// The reason for a refusal. It is counted, and an answer may have to be sent nevertheless.
    pub fn on_message(
        &mut self,
        bytes: &[u8],
        now: Time,
        events: &mut Vec<ArbiterEvent>,
    ) -> Result<(), Refused> {
        self.receive_with_code(bytes, now, None, |event| events.push(event))
    }
    /// Receives a packet whose code may be known already.
    #[inline]
    pub(super) fn receive_with_code(
        &mut self,
        bytes: &[u8],
        now: Time,
        code: Option<u64>,
        mut events: impl FnMut(ArbiterEvent),
    ) -> Result<(), Refused> {
        let Accepted { began, message } = self.session.receive(bytes, now, code)?;
        if began {
            self.flows.clear();
            self.queue.clear();
            events(ArbiterEvent::Began);
        }
        // Lost slots are not granted again. The report says that they were granted.
        self.session.window.acknowledge(&message.header.acks, |dst| self.flows.report(dst));
        for record in message.records() {
            if let Record::Demand(totals) = record {
                totals.iter().filter_map(|total| self.note_demand(total)).for_each(&mut events);
            }
        }
        Ok(())
    }
    /// Counts a total of demand. A total that is not higher than the known one is old and changes nothing.
    #[inline]
    fn note_demand(&mut self, Total { dst, slots }: Total) -> Option<ArbiterEvent> {
        let flow = self.flows.entry(dst);
        let more = slots.wrapping_sub(flow.demanded);
        let pending = slots.wrapping_sub(flow.granted);
        if more == 0 || more > MAX_PENDING || pending > MAX_PENDING {
            return None;
        }
        flow.demanded = slots;
        Some(ArbiterEvent::Demand { dst, slots: more })
    }

    /// Replaces `out` with the next packet to be sent at `now`. Returns false if there is none. Callers
    /// repeat this after every other call, and at [`ArbiterSession::deadline`], until it returns false.
    pub fn poll_message(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        out.clear();
        self.session.expire(now, |dst| self.flows.report(dst));
        let any = self.poll_open(now, out);
        self.session.seal(out);
        any
    }
    /// Appends the next packet to `out`, without its code. Timed-out packets have to be handled before.
    fn poll_open(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        if self.session.poll_reset(false, now, out) {
            return true;
        }
        let records = self.has_records() && self.session.may_send(now);
        if !records && !self.session.must_ack(now) {
            return false;
        }
        let Some(mut writer) = self.session.begin_packet(out) else { return false };
        if self.session.next_send().is_some() {
            self.write(&mut writer);
        }
        self.session.send(writer, now);
        true
    }
    fn has_records(&self) -> bool {
        !self.queue.is_empty() || self.may_report()
    }
    fn may_report(&self) -> bool {
        self.flows.is_due() && self.session.silent_timeouts() < MAX_SILENT_TIMEOUTS
    }
    /// Writes as many waiting slots as fit, and reports once no slots are left.
    fn write(&mut self, writer: &mut Writer) {
        while let Some((base, grants)) = self.queue.front() {
            let written = writer.grants(base, grants.iter().copied());
            if written == 0 {
                return;
            }
            self.session.window.note(grants[..written].iter().map(|grant| grant.dst));
            self.queue.take(written);
        }
        self.write_reports(writer);
    }
    fn write_reports(&mut self, writer: &mut Writer) {
        if !self.may_report() || !writer.report() {
            return;
        }
        while writer.has_room()
            && let Some((dst, flow)) = self.flows.take()
        {
            writer.total(Total { dst, slots: flow.granted });
            self.session.window.note([dst].into_iter());
        }
    }
    /// The latest time for the next call of [`ArbiterSession::poll_message`].
    pub fn deadline(&self) -> Option<Time> {
        let more = if self.has_records() { self.session.next_send() } else { None };
        self.session.deadline(false, more)
    }
    /// Counts `slots` as granted and arrived.
    #[cfg(test)]
    pub(super) fn skip(&mut self, dst: u32, slots: u32) {
        let flow = self.flows.entry(dst);
        flow.granted = flow.granted.wrapping_add(slots);
    }
}
