//! What both ends have in common: epochs, packet numbers, acknowledgements.

use super::{Config, Refused};
use crate::time::Time;
use crate::wire::fcp::{Acks, Key, Message, Record, siphash};
use std::collections::VecDeque;

/// Packets of another epoch in a row after which this end begins a new one.
const STRANGE: u32 = 3;
/// Packets on the way at most: as many as an acknowledgement can tell of.
const WINDOW: usize = 64;

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

/// A packet on its way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Sent {
    pub(super) number: u64,
    at: Time,
    /// Destinations whose totals it reports.
    pub(super) totals: Vec<u32>,
    /// Destinations with slots granted in it.
    pub(super) granted: Vec<u32>,
}

/// A nonce for whoever proves to be at `theirs`.
#[derive(Clone, Copy, Debug)]
struct Offer {
    mine: u64,
    theirs: u64,
}

/// What an accepted message means for an end.
#[derive(Debug)]
pub(super) struct Accepted {
    /// It began an epoch: all counts start again, before its records count.
    pub(super) began: bool,
    pub(super) number: u64,
    pub(super) records: Vec<Record>,
    /// Packets that the other end will never acknowledge.
    pub(super) lost: Vec<Sent>,
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
    ack_owed: bool,
    last_number: u64,
    received: Acks,
    on_the_way: VecDeque<Sent>,
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
            ack_owed: false,
            last_number: 0,
            received: Acks::default(),
            on_the_way: VecDeque::new(),
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
    pub(super) const fn config(&self) -> &Config {
        &self.config
    }
    /// The number that the next packet will have.
    pub(super) const fn next_number(&self) -> u64 {
        self.last_number + 1
    }
    /// The highest number received.
    pub(super) const fn highest(&self) -> u64 {
        self.received.highest
    }
    pub(super) const fn unheard(&self) -> u32 {
        self.unheard
    }
    pub(super) fn is_full(&self) -> bool {
        self.on_the_way.len() >= WINDOW
    }
    pub(super) fn is_waiting(&self) -> bool {
        !self.on_the_way.is_empty()
    }
    pub(super) const fn owes_ack(&self) -> bool {
        self.ack_owed
    }

    /// A nonce that nobody can guess and that no other start of this end has used.
    fn draw(&mut self) -> u64 {
        self.drawn += 1;
        let text = [self.config.seed, self.drawn, self.config.me.into()];
        let bytes: Vec<u8> = text.iter().flat_map(|word| word.to_be_bytes()).collect();
        match siphash(&self.key(), &bytes) {
            0 => self.draw(),
            nonce => nonce,
        }
    }
    const fn key(&self) -> Key {
        self.config.key
    }

    pub(super) fn receive(&mut self, bytes: &[u8]) -> Result<Accepted, Refused> {
        let result = self.judge(bytes);
        let counters = &mut self.counters;
        *match &result {
            Ok(_) => &mut counters.accepted,
            Err(Refused::Invalid(crate::wire::fcp::Invalid::Forged)) => &mut counters.forged,
            Err(Refused::Invalid(_)) => &mut counters.malformed,
            Err(Refused::Epoch) => &mut counters.epoch,
            Err(Refused::Repeated(_)) => &mut counters.repeated,
            Err(_) => &mut counters.misdirected,
        } += 1;
        result
    }
    fn judge(&mut self, bytes: &[u8]) -> Result<Accepted, Refused> {
        let message = Message::parse(bytes, &self.config.key)?;
        let (sender, receiver) = (message.source, message.destination);
        if (sender, receiver) != (self.config.peer, self.config.me) {
            return Err(Refused::Stranger { sender, receiver });
        }
        message.records.iter().try_for_each(|record| self.check(record))?;
        if message.is_reset() { self.hear_reset(&message) } else { self.hear(message) }
    }
    fn check(&self, record: &Record) -> Result<(), Refused> {
        let nodes = self.config.nodes;
        let known = |node| if node < nodes { Ok(()) } else { Err(Refused::Node { node, nodes }) };
        match (record, self.role) {
            (Record::Reset | Record::Alive, _) => Ok(()),
            (Record::Demand(totals), Role::Arbiter) | (Record::Report(totals), Role::Endpoint) => {
                totals.iter().try_for_each(|total| known(total.dst))
            }
            (Record::Grants { grants, .. }, Role::Endpoint) => {
                grants.iter().try_for_each(|grant| known(grant.dst))
            }
            _ => Err(Refused::Direction),
        }
    }

    /// The other end has no epoch, or has left it.
    fn hear_reset(&mut self, message: &Message) -> Result<Accepted, Refused> {
        let (from, to) = (message.from, message.to);
        let offered = self.offer.filter(|offer| offer.theirs == from);
        let mine = match self.theirs {
            None if to == self.mine => self.mine,
            None => {
                self.reset = Some((self.mine, from));
                return Err(Refused::Epoch);
            }
            // It does not know yet that the epoch has begun: any packet tells.
            Some(theirs) if theirs == from => {
                self.ack_owed = true;
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
        self.ack_owed = true;
        let (number, records, lost) = (0, Vec::new(), Vec::new());
        Ok(Accepted { began: true, number, records, lost })
    }
    /// A reset that proves nothing may be an old one: the epoch goes on until the peer has answered.
    fn make_offer(&mut self, theirs: u64, offered: Option<Offer>) -> Refused {
        let mine = offered.map_or_else(|| self.draw(), |offer| offer.mine);
        self.offer = Some(Offer { mine, theirs });
        self.reset = Some((mine, theirs));
        Refused::Epoch
    }

    fn hear(&mut self, message: Message) -> Result<Accepted, Refused> {
        let (from, to) = (message.from, message.to);
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
        self.ack_owed |= message.wants_ack();
        if !self.received.note(message.number) {
            return Err(Refused::Repeated(message.number));
        }
        let lost = self.acknowledged(&message.acks);
        Ok(Accepted { began: !known, number: message.number, records: message.records, lost })
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
        (self.offer, self.reset, self.ack_owed) = (None, None, false);
        (self.strange, self.unheard, self.last_number) = (0, 0, 0);
        self.received = Acks::default();
        self.on_the_way.clear();
        self.counters.epochs += 1;
    }
    fn acknowledged(&mut self, acks: &Acks) -> Vec<Sent> {
        let sent = std::mem::take(&mut self.on_the_way).into_iter();
        let (lost, left): (Vec<Sent>, Vec<Sent>) = sent
            .filter(|packet| !acks.has(packet.number))
            .partition(|packet| acks.forgot(packet.number));
        self.on_the_way = left.into();
        lost
    }

    /// The packets whose time is over.
    pub(super) fn expire(&mut self, now: Time) -> Vec<Sent> {
        let timeout = self.config.timeout;
        let over = self.on_the_way.iter().take_while(|packet| packet.at.after(timeout) <= now);
        let over = over.count();
        self.counters.timeouts += over as u64;
        self.unheard = self.unheard.saturating_add(u32::from(over > 0));
        self.on_the_way.drain(..over).collect()
    }
    /// A reset, if one is owed, or if there is no epoch and this end is `eager` for one.
    pub(super) fn poll_reset(&mut self, eager: bool, now: Time) -> Option<Vec<u8>> {
        let again = !self.is_open() && eager && self.next_reset <= now;
        let (from, to) = self.reset.take().or(again.then_some((self.mine, 0)))?;
        self.next_reset = now.after(self.config.timeout);
        Some(self.emit(from, to, 0, vec![Record::Reset]))
    }
    /// When [`Session::expire`] or [`Session::poll_reset`] has something to do at the latest.
    pub(super) fn deadline(&self, eager: bool) -> Option<Time> {
        match self.on_the_way.front() {
            Some(packet) if self.is_open() => Some(packet.at.after(self.config.timeout)),
            _ => (eager && !self.is_open()).then_some(self.next_reset),
        }
    }
    /// A packet of the present epoch; none without one.
    pub(super) fn send(
        &mut self,
        records: Vec<Record>,
        totals: Vec<u32>,
        granted: Vec<u32>,
        now: Time,
    ) -> Option<Vec<u8>> {
        let theirs = self.theirs?;
        self.last_number += 1;
        let number = self.last_number;
        self.ack_owed = false;
        if !records.is_empty() {
            self.on_the_way.push_back(Sent { number, at: now, totals, granted });
        }
        Some(self.emit(self.mine, theirs, number, records))
    }
    fn emit(&mut self, from: u64, to: u64, number: u64, records: Vec<Record>) -> Vec<u8> {
        self.counters.sent += 1;
        let Config { me: source, peer: destination, key, .. } = self.config;
        let acks = if number == 0 { Acks::default() } else { self.received };
        let message = Message { source, destination, from, to, number, acks, records };
        message.emit(&key).expect("sessions keep below the longest message")
    }
}
