//! The state that both ends have in common: epochs, packet numbers and acknowledgements.

use super::window::Window;
use super::{Config, Refused};
use crate::wire::fcp::{
    Acks, CODE, Header, Invalid, Key, LONGEST, Message, Record, Writer, seal, siphash,
};
use slotline_net::time::Time;

/// After this number of successive packets of another epoch, this end begins a new one.
const STRAY_LIMIT: u32 = 3;

/// The role of an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Endpoint,
    Arbiter,
}

/// Counters of messages sent and accepted, and of the reasons for refusals.
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
    /// Refused: not between these two ends, with an unknown node, or with a record of the wrong direction.
    pub misdirected: u64,
    /// Refused: another epoch.
    pub epoch: u64,
    /// Refused: received before, or too old for the window.
    pub repeated: u64,
}

/// A nonce that is offered to a peer. The peer has to prove that `peer_nonce` is its own.
#[derive(Clone, Copy, Debug)]
struct Offer {
    own_nonce: u64,
    peer_nonce: u64,
}

/// The effect of an accepted message, besides its records.
#[derive(Debug)]
pub(super) struct Accepted<'a> {
    /// Whether the message began an epoch. If so, all counts restart before its records are counted.
    pub(super) began: bool,
    pub(super) message: Message<'a>,
}

/// The part of an end that handles epochs and packets, but not their records.
///
/// An epoch is a pair of nonces, one of each end, both drawn for it. Each packet carries both. So a packet
/// with this end's nonce was sent after that nonce was drawn, by an owner of the key. No nonce is used for two
/// epochs, so late packets cannot bring back an old epoch.
#[derive(Clone, Debug)]
pub struct Session {
    config: Config,
    role: Role,
    nonces_drawn: u64,
    own_nonce: u64,
    /// The other end's nonce. `None` means that there is no epoch yet. This end's nonce is then offered to any
    /// peer.
    peer_nonce: Option<u64>,
    /// The offer to a restarted peer, while the present epoch goes on.
    offer: Option<Offer>,
    /// The number of packets of another epoch since the last one of this epoch.
    stray: u32,
    /// The two nonces of a reset that has to be sent.
    reset: Option<(u64, u64)>,
    next_reset: Time,
    /// The latest time for an acknowledgement that is due.
    ack_by: Option<Time>,
    last_number: u64,
    /// When the last packet of the epoch left.
    last_sent: Option<Time>,
    received: Acks,
    pub(super) window: Window,
    /// The number of time-outs since the last packet of the other end.
    silent_timeouts: u32,
    counters: Counters,
}

impl Session {
    pub(super) fn new(config: Config, role: Role) -> Session {
        let mut session = Session {
            config,
            role,
            nonces_drawn: 0,
            own_nonce: 0,
            peer_nonce: None,
            offer: None,
            stray: 0,
            reset: None,
            next_reset: Time::ps(0),
            ack_by: None,
            last_number: 0,
            last_sent: None,
            received: Acks::default(),
            window: Window::default(),
            silent_timeouts: 0,
            counters: Counters::default(),
        };
        session.own_nonce = session.draw_nonce();
        session
    }
    /// The counters since this end started.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }
    /// Whether both ends are known to be in one epoch.
    pub const fn is_open(&self) -> bool {
        self.peer_nonce.is_some()
    }
    /// Both nonces of the epoch, this end's first.
    pub fn epoch(&self) -> Option<(u64, u64)> {
        self.peer_nonce.map(|peer_nonce| (self.own_nonce, peer_nonce))
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
    pub(super) const fn silent_timeouts(&self) -> u32 {
        self.silent_timeouts
    }
    /// The earliest time for a packet with records. All packets of a burst leave at one time, the next burst
    /// a gap later. `None` means that no packet may leave before a packet arrives or times out.
    pub(super) fn next_send(&self) -> Option<Time> {
        let open = self.is_open() && !self.window.is_full();
        open.then(|| self.last_sent.map_or(Time::ZERO, |at| at.after(self.config.gap)))
    }
    /// When the last packet of the epoch left.
    pub(super) const fn last_sent(&self) -> Option<Time> {
        self.last_sent
    }
    pub(super) fn may_send(&self, now: Time) -> bool {
        self.next_send().is_some_and(|at| at <= now || self.last_sent == Some(now))
    }
    pub(super) fn must_ack(&self, now: Time) -> bool {
        self.is_open() && self.ack_by.is_some_and(|at| at <= now)
    }

    /// Draws a nonce that cannot be guessed and that no other start of this end has used.
    fn draw_nonce(&mut self) -> u64 {
        self.nonces_drawn += 1;
        let text = [self.config.seed, self.nonces_drawn, self.config.me.into()];
        let bytes: Vec<u8> = text.iter().flat_map(|word| word.to_be_bytes()).collect();
        match siphash(&self.config.key, &bytes) {
            0 => self.draw_nonce(),
            nonce => nonce,
        }
    }

    /// Accepts or refuses a packet, apart from its acknowledgements and records. `code` is its authentication
    /// code, if that is known already.
    pub(super) fn receive<'a>(
        &mut self,
        bytes: &'a [u8],
        now: Time,
        code: Option<u64>,
    ) -> Result<Accepted<'a>, Refused> {
        let result = self.validate(bytes, now, code);
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
    fn validate<'a>(
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
            true => self.on_reset(&message.header, now).map(|()| true),
            false => self.on_packet(&message, now),
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

    /// Handles a reset: the other end has no epoch, or has left it.
    fn on_reset(&mut self, header: &Header, now: Time) -> Result<(), Refused> {
        let (from, to) = (header.from, header.to);
        let offered = self.offer.filter(|offer| offer.peer_nonce == from);
        let own_nonce = match self.peer_nonce {
            None if to == self.own_nonce => self.own_nonce,
            None => {
                self.reset = Some((self.own_nonce, from));
                return Err(Refused::Epoch);
            }
            // The peer does not know yet that the epoch has begun. Any packet shows it.
            Some(peer_nonce) if peer_nonce == from => {
                self.ack_by = Some(now);
                return Err(Refused::Repeated(0));
            }
            Some(_) if to == self.own_nonce => {
                offered.map_or_else(|| self.draw_nonce(), |offer| offer.own_nonce)
            }
            Some(_) => match offered {
                Some(offer) if offer.own_nonce == to => offer.own_nonce,
                // This reset answers an old packet. If both ends answered such resets, they would never stop.
                _ if to != 0 => return Err(Refused::Epoch),
                _ => return Err(self.offer_nonce(from, offered)),
            },
        };
        self.begin(own_nonce, from);
        self.ack_by = Some(now);
        Ok(())
    }
    /// Offers a nonce. A reset without this end's nonce may be an old one, so the epoch goes on until the peer
    /// has answered.
    fn offer_nonce(&mut self, peer_nonce: u64, offered: Option<Offer>) -> Refused {
        let own_nonce = offered.map_or_else(|| self.draw_nonce(), |offer| offer.own_nonce);
        self.offer = Some(Offer { own_nonce, peer_nonce });
        self.reset = Some((own_nonce, peer_nonce));
        Refused::Epoch
    }

    /// Handles a packet of an epoch. Returns whether it begins the epoch.
    fn on_packet(&mut self, message: &Message, now: Time) -> Result<bool, Refused> {
        let Header { from, to, number, .. } = message.header;
        let known = self.peer_nonce == Some(from) && self.own_nonce == to;
        let new = self.peer_nonce.is_none() && self.own_nonce == to;
        let offered =
            self.offer.is_some_and(|offer| (offer.own_nonce, offer.peer_nonce) == (to, from));
        if !known && !new && !offered {
            return Err(self.on_stray(from));
        }
        if !known {
            self.begin(to, from);
        }
        (self.stray, self.silent_timeouts) = (0, 0);
        if message.wants_ack() {
            let by = now.after(self.config.ack_delay());
            self.ack_by = Some(self.ack_by.map_or(by, |earlier| earlier.min(by)));
        }
        if !self.received.note(number) {
            return Err(Refused::Repeated(number));
        }
        Ok(!known)
    }
    /// Handles a packet of another epoch. It is an old one, or one end has lost its counts.
    fn on_stray(&mut self, from: u64) -> Refused {
        self.stray += 1;
        if self.peer_nonce.is_some() && self.stray < STRAY_LIMIT {
            return Refused::Epoch;
        }
        if self.peer_nonce.take().is_some() {
            self.own_nonce = self.draw_nonce();
            self.offer = None;
        }
        self.stray = 0;
        self.reset = Some((self.own_nonce, from));
        Refused::Epoch
    }
    fn begin(&mut self, own_nonce: u64, peer_nonce: u64) {
        (self.own_nonce, self.peer_nonce) = (own_nonce, Some(peer_nonce));
        (self.offer, self.reset, self.ack_by) = (None, None, None);
        (self.stray, self.silent_timeouts) = (0, 0);
        (self.last_number, self.last_sent) = (0, None);
        self.received = Acks::default();
        self.window.clear();
        self.counters.epochs += 1;
    }

    /// Calls `lost` with the destinations of packets that have timed out.
    pub(super) fn expire(&mut self, now: Time, lost: impl FnMut(u32)) {
        if self.window.oldest().is_none_or(|at| at.after(self.config.timeout) > now) {
            return;
        }
        let by = now.since(self.config.timeout);
        self.counters.timeouts += self.window.expire(by, lost);
        self.silent_timeouts = self.silent_timeouts.saturating_add(1);
    }
    /// Whether a reset has to be sent.
    pub(super) const fn owes_reset(&self) -> bool {
        self.reset.is_some()
    }
    /// Writes a reset, if one has to be sent, or if there is no epoch and this end `needs_epoch`.
    pub(super) fn poll_reset(&mut self, needs_epoch: bool, now: Time, out: &mut Vec<u8>) -> bool {
        let again = !self.is_open() && needs_epoch && self.next_reset <= now;
        let nonces = self.reset.take().or(again.then_some((self.own_nonce, 0)));
        let Some((from, to)) = nonces else { return false };
        self.next_reset = now.after(self.config.timeout);
        let header = self.header(from, to, 0, Acks::default());
        let mut writer = Writer::behind(out, &header, LONGEST);
        writer.reset();
        self.finish(writer);
        true
    }
    /// Offers this end's nonce to the other one without being asked.
    pub(super) const fn announce(&mut self) {
        if self.peer_nonce.is_none() {
            self.reset = Some((self.own_nonce, 0));
        }
    }
    /// The latest time at which something has to be sent or times out. `more` is when this end has records to
    /// send.
    pub(super) fn deadline(&self, needs_epoch: bool, more: Option<Time>) -> Option<Time> {
        if self.reset.is_some() {
            return Some(Time::ZERO);
        }
        if !self.is_open() {
            return needs_epoch.then_some(self.next_reset);
        }
        let over = self.window.oldest().map(|at| at.after(self.config.timeout));
        [over, self.ack_by, more].into_iter().flatten().min()
    }
    /// Begins the next packet of the epoch at the end of `out`. Returns `None` if there is no epoch.
    pub(super) fn begin_packet<'a>(&self, out: &'a mut Vec<u8>) -> Option<Writer<'a>> {
        let number = self.last_number + 1;
        let header = self.header(self.own_nonce, self.peer_nonce?, number, self.received);
        Some(Writer::behind(out, &header, self.config.longest.into()))
    }
    /// Ends a packet, except for its code, and counts it as sent. Its destinations are those noted in the
    /// window.
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
    /// Writes the code at the end of a message, if there is one.
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
