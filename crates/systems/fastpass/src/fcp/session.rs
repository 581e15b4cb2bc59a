//! What both ends have in common: epochs, packet numbers, acknowledgements.

use super::window::Window;
use super::{Config, Refused};
use crate::wire::fcp::{
    Acks, CODE, Header, Invalid, Key, LONGEST, Message, Record, Writer, seal, siphash,
};
use slotline_net::time::Time;

/// Packets of another epoch in a row after which this end begins a new one.
const STRANGE: u32 = 3;

/// Which end of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Endpoint,
    Arbiter,
}

/// What was received and sent, and why messages were refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Messages sent.
    pub sent: u64,
    /// Messages accepted.
    pub accepted: u64,
    /// Epochs begun.
    pub epochs: u64,
    /// Packets without an acknowledgement in time.
    pub timeouts: u64,
    /// Refused: not a message of this format.
    pub malformed: u64,
    /// Refused: wrong authentication code.
    pub forged: u64,
    /// Refused: not between these two ends, an unknown node, or a record that goes the other way.
    pub misdirected: u64,
    /// Refused: another epoch.
    pub epoch: u64,
    /// Refused: received before, or too old to tell.
    pub repeated: u64,
}

/// A nonce for whoever proves to be at `theirs`.
#[derive(Clone, Copy, Debug)]
struct Offer {
    mine: u64,
    theirs: u64,
}

/// What an accepted message means for an end, besides its records.
#[derive(Debug)]
pub(super) struct Accepted<'a> {
    /// It began an epoch: all counts start again, before its records count.
    pub(super) began: bool,
    pub(super) message: Message<'a>,
}

/// The part of an end that knows about epochs and packets, and nothing of what they say.
///
/// An epoch is a pair of nonces, one of each end, both drawn for it. Each packet carries both, so a
/// packet with this end's nonce was sent after that nonce was drawn, by who has the key. No nonce is
/// used for a second epoch: an epoch once left never comes back, whatever arrives late.
#[derive(Clone, Debug)]
pub struct Session {
    config: Config,
    role: Role,
    drawn: u64,
    mine: u64,
    /// The other end's nonce; `None`: no epoch yet, this end's nonce is offered to anybody.
    theirs: Option<u64>,
    /// What a restarted peer was offered while the present epoch goes on.
    offer: Option<Offer>,
    /// Packets of another epoch since the last one of this.
    strange: u32,
    /// A reset to be sent: its two nonces.
    reset: Option<(u64, u64)>,
    next_reset: Time,
    /// When an acknowledgement is owed at the latest.
    ack_by: Option<Time>,
    last_number: u64,
    /// When the last packet of the epoch left.
    last_sent: Option<Time>,
    received: Acks,
    pub(super) window: Window,
    /// Time-outs since the other end was last heard.
    unheard: u32,
    counters: Counters,
}

impl Session {
    pub(super) fn new(config: Config, role: Role) -> Session {
        let mut session = Session {
            config,
            role,
            drawn: 0,
            mine: 0,
            theirs: None,
            offer: None,
            strange: 0,
            reset: None,
            next_reset: Time::ps(0),
            ack_by: None,
            last_number: 0,
            last_sent: None,
            received: Acks::default(),
            window: Window::default(),
            unheard: 0,
            counters: Counters::default(),
        };
        session.mine = session.draw();
        session
    }
    /// What was counted since this end started.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }
    /// Whether both ends are known to be in one epoch.
    pub const fn is_open(&self) -> bool {
        self.theirs.is_some()
    }
    /// Both nonces of the epoch, this end's first.
    pub fn epoch(&self) -> Option<(u64, u64)> {
        self.theirs.map(|theirs| (self.mine, theirs))
    }
    pub(super) const fn key(&self) -> &Key {
        &self.config.key
    }
    pub(super) const fn config(&self) -> &Config {
        &self.config
    }
    /// The highest number received.
    pub(super) const fn highest(&self) -> u64 {
        self.received.highest
    }
    pub(super) const fn unheard(&self) -> u32 {
        self.unheard
    }
    /// When a packet with records may leave, as far as time goes: all of a burst leaves at one time,
    /// the next a gap later. `None`: not before something arrives or its time is over.
    pub(super) fn gate(&self) -> Option<Time> {
        let open = self.is_open() && !self.window.is_full();
        open.then(|| self.last_sent.map_or(Time::ZERO, |at| at.after(self.config.gap)))
    }
    /// When the last packet of the epoch left.
    pub(super) const fn last_sent(&self) -> Option<Time> {
        self.last_sent
    }
    pub(super) fn may_send(&self, now: Time) -> bool {
        self.gate().is_some_and(|at| at <= now || self.last_sent == Some(now))
    }
    pub(super) fn must_ack(&self, now: Time) -> bool {
        self.is_open() && self.ack_by.is_some_and(|at| at <= now)
    }

    /// A nonce that nobody can guess and that no other start of this end has used.
    fn draw(&mut self) -> u64 {
        self.drawn += 1;
        let text = [self.config.seed, self.drawn, self.config.me.into()];
        let bytes: Vec<u8> = text.iter().flat_map(|word| word.to_be_bytes()).collect();
        match siphash(&self.config.key, &bytes) {
            0 => self.draw(),
            nonce => nonce,
        }
    }

    /// Takes a packet in, apart from its acknowledgements and records. Its code has to be this one, if it is
    /// known already.
    pub(super) fn receive<'a>(
        &mut self,
        bytes: &'a [u8],
        now: Time,
        code: Option<u64>,
    ) -> Result<Accepted<'a>, Refused> {
        let result = self.judge(bytes, now, code);
        let counters = &mut self.counters;
        *match &result {
            Ok(_) => &mut counters.accepted,
            Err(Refused::Invalid(Invalid::Forged)) => &mut counters.forged,
            Err(Refused::Invalid(_)) => &mut counters.malformed,
            Err(Refused::Epoch) => &mut counters.epoch,
            Err(Refused::Repeated(_)) => &mut counters.repeated,
            Err(_) => &mut counters.misdirected,
        } += 1;
        result
    }
    fn judge<'a>(
        &mut self,
        bytes: &'a [u8],
        now: Time,
        code: Option<u64>,
    ) -> Result<Accepted<'a>, Refused> {
        let code_of = |signed| code.unwrap_or_else(|| siphash(&self.config.key, signed));
        let message = Message::parse_with(bytes, code_of)?;
        let (sender, receiver) = (message.header.source, message.header.destination);
        if (sender, receiver) != (self.config.peer, self.config.me) {
            return Err(Refused::Stranger { sender, receiver });
        }
        message.records().try_for_each(|record| self.check(&record))?;
        let began = match message.is_reset() {
            true => self.hear_reset(&message.header, now).map(|()| true),
            false => self.hear(&message, now),
        }?;
        Ok(Accepted { began, message })
    }
    fn check(&self, record: &Record) -> Result<(), Refused> {
        let highest = match (record, self.role) {
            (Record::Reset | Record::Alive, _) => None,
            (Record::Demand(totals), Role::Arbiter) | (Record::Report(totals), Role::Endpoint) => {
                totals.iter().map(|total| total.dst).max()
            }
            (Record::Grants(grants), Role::Endpoint) => grants.iter().map(|grant| grant.dst).max(),
            _ => return Err(Refused::Direction),
        };
        let nodes = self.config.nodes;
        match highest.filter(|&node| node >= nodes) {
            Some(node) => Err(Refused::Node { node, nodes }),
            None => Ok(()),
        }
    }

    /// The other end has no epoch, or has left it.
    fn hear_reset(&mut self, header: &Header, now: Time) -> Result<(), Refused> {
        let (from, to) = (header.from, header.to);
        let offered = self.offer.filter(|offer| offer.theirs == from);
        let mine = match self.theirs {
            None if to == self.mine => self.mine,
            None => {
                self.reset = Some((self.mine, from));
                return Err(Refused::Epoch);
            }
            // It does not know yet that the epoch has begun: any packet tells.
            Some(theirs) if theirs == from => {
                self.ack_by = Some(now);
                return Err(Refused::Repeated(0));
            }
            Some(_) if to == self.mine => offered.map_or_else(|| self.draw(), |offer| offer.mine),
            Some(_) => match offered {
                Some(offer) if offer.mine == to => offer.mine,
                // An answer to an old packet: answering it in turn would never end.
                _ if to != 0 => return Err(Refused::Epoch),
                _ => return Err(self.make_offer(from, offered)),
            },
        };
        self.begin(mine, from);
        self.ack_by = Some(now);
        Ok(())
    }
    /// A reset that proves nothing may be an old one: the epoch goes on until the peer has answered.
    fn make_offer(&mut self, theirs: u64, offered: Option<Offer>) -> Refused {
        let mine = offered.map_or_else(|| self.draw(), |offer| offer.mine);
        self.offer = Some(Offer { mine, theirs });
        self.reset = Some((mine, theirs));
        Refused::Epoch
    }

    /// A packet of an epoch; whether it begins it.
    fn hear(&mut self, message: &Message, now: Time) -> Result<bool, Refused> {
        let Header { from, to, number, .. } = message.header;
        let known = self.theirs == Some(from) && self.mine == to;
        let new = self.theirs.is_none() && self.mine == to;
        let offered = self.offer.is_some_and(|offer| (offer.mine, offer.theirs) == (to, from));
        if !known && !new && !offered {
            return Err(self.wonder(from));
        }
        if !known {
            self.begin(to, from);
        }
        (self.strange, self.unheard) = (0, 0);
        if message.wants_ack() {
            let by = now.after(self.config.ack_delay());
            self.ack_by = Some(self.ack_by.map_or(by, |earlier| earlier.min(by)));
        }
        if !self.received.note(number) {
            return Err(Refused::Repeated(number));
        }
        Ok(!known)
    }
    /// A packet of another epoch: an old one, or one end has lost its counts.
    fn wonder(&mut self, from: u64) -> Refused {
        self.strange += 1;
        if self.theirs.is_some() && self.strange < STRANGE {
            return Refused::Epoch;
        }
        if self.theirs.take().is_some() {
            self.mine = self.draw();
            self.offer = None;
        }
        self.strange = 0;
        self.reset = Some((self.mine, from));
        Refused::Epoch
    }
    fn begin(&mut self, mine: u64, theirs: u64) {
        (self.mine, self.theirs) = (mine, Some(theirs));
        (self.offer, self.reset, self.ack_by) = (None, None, None);
        (self.strange, self.unheard) = (0, 0);
        (self.last_number, self.last_sent) = (0, None);
        self.received = Acks::default();
        self.window.clear();
        self.counters.epochs += 1;
    }

    /// Calls `lost` with the destinations of packets whose time is over.
    pub(super) fn expire(&mut self, now: Time, lost: impl FnMut(u32)) {
        if self.window.oldest().is_none_or(|at| at.after(self.config.timeout) > now) {
            return;
        }
        let by = now.since(self.config.timeout);
        self.counters.timeouts += self.window.expire(by, lost);
        self.unheard = self.unheard.saturating_add(1);
    }
    /// Whether a reset is owed.
    pub(super) const fn owes_reset(&self) -> bool {
        self.reset.is_some()
    }
    /// A reset, if one is owed, or if there is no epoch and this end is `eager` for one.
    pub(super) fn poll_reset(&mut self, eager: bool, now: Time, out: &mut Vec<u8>) -> bool {
        let again = !self.is_open() && eager && self.next_reset <= now;
        let nonces = self.reset.take().or(again.then_some((self.mine, 0)));
        let Some((from, to)) = nonces else { return false };
        self.next_reset = now.after(self.config.timeout);
        let header = self.header(from, to, 0, Acks::default());
        let mut writer = Writer::behind(out, &header, LONGEST);
        writer.reset();
        self.finish(writer);
        true
    }
    /// Offers this end's nonce to the other one, unasked.
    pub(super) const fn announce(&mut self) {
        if self.theirs.is_none() {
            self.reset = Some((self.mine, 0));
        }
    }
    /// When there is something to send or to give up at the latest, where `more` is when this end has
    /// records to send.
    pub(super) fn deadline(&self, eager: bool, more: Option<Time>) -> Option<Time> {
        if self.reset.is_some() {
            return Some(Time::ZERO);
        }
        if !self.is_open() {
            return eager.then_some(self.next_reset);
        }
        let over = self.window.oldest().map(|at| at.after(self.config.timeout));
        [over, self.ack_by, more].into_iter().flatten().min()
    }
    /// The next packet of the epoch, behind what is in `out`; none without one.
    pub(super) fn begin_packet<'a>(&self, out: &'a mut Vec<u8>) -> Option<Writer<'a>> {
        let number = self.last_number + 1;
        let header = self.header(self.mine, self.theirs?, number, self.received);
        Some(Writer::behind(out, &header, self.config.longest.into()))
    }
    /// Ends a packet, but for its code, and counts it as sent, about what was noted in the window.
    pub(super) fn send(&mut self, writer: Writer, now: Time) {
        self.last_number += 1;
        (self.ack_by, self.last_sent) = (None, Some(now));
        if !writer.is_empty() {
            self.window.send(self.last_number, now);
        }
        self.finish(writer);
    }
    fn finish(&mut self, writer: Writer) {
        self.counters.sent += 1;
        writer.finish_open();
    }
    /// Puts the code at the end of a message, if there is one.
    pub(super) fn seal(&self, message: &mut [u8]) {
        if let Some(end) = message.len().checked_sub(CODE) {
            let code = siphash(&self.config.key, &message[..end]);
            seal(message, code);
        }
    }
    const fn header(&self, from: u64, to: u64, number: u64, acks: Acks) -> Header {
        let Config { me: source, peer: destination, .. } = self.config;
        Header { source, destination, from, to, number, acks }
    }
}
