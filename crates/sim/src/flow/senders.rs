//! How far each flow that is being sent has come, and what links have carried.

use super::agenda::Agenda;
use super::maxmin::FlowKey;

/// In place of a connection: there is none under this key.
const NOBODY: u32 = u32::MAX;

/// A connection that is sending. It fills a cache line.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(align(64))]
pub(super) struct Sender {
    pub conn: u32,
    /// What it sends now.
    pub flow: u32,
    /// Bytes of the flow that were left at `since`.
    pub left: f64,
    /// Bytes per picosecond since then.
    pub rate: f64,
    since: u64,
    /// When nothing will be left, at this rate.
    pub due: u64,
    /// Bytes sent on the way it has now and not booked to its links.
    unbooked: f64,
    /// Bytes sent since a scheme last asked.
    pub uncounted: f64,
}

impl Sender {
    pub fn new(conn: u32, flow: u32, wire: u64, now: u64) -> Sender {
        let left = wire as f64;
        let (rate, unbooked, uncounted) = (0.0, 0.0, 0.0);
        Sender { conn, flow, left, rate, since: now, due: u64::MAX, unbooked, uncounted }
    }

    fn progress(&mut self, now: u64) {
        let sent = self.rate * (now - self.since) as f64;
        self.since = now;
        self.left -= sent;
        self.unbooked += sent;
        self.uncounted += sent;
    }

    fn expect(&mut self) {
        let span = (self.left / self.rate).max(0.0).ceil();
        let known = self.rate > 0.0 && span < 9e18;
        self.due = if known { self.since.saturating_add(span as u64) } else { u64::MAX };
    }
}

/// A connection's place in the world.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Conn {
    /// Flows sent.
    sent: u32,
    /// Its key plus one; zero while it sends nothing.
    key: u32,
}

/// All connections, and those among them that are sending.
#[derive(Clone, Debug)]
pub(super) struct Senders {
    conns: Vec<Conn>,
    /// By key.
    senders: Vec<Sender>,
    active: usize,
    /// Connections that found no way.
    stranded: Vec<u32>,
    /// By link, bytes booked.
    pub carried: Vec<f64>,
}

impl Senders {
    pub fn new(conns: usize, links: usize) -> Senders {
        Senders {
            conns: vec![Conn::default(); conns],
            senders: Vec::new(),
            active: 0,
            stranded: Vec::new(),
            carried: vec![0.0; links],
        }
    }

    /// Connections that are sending.
    pub fn active(&self) -> usize {
        self.active
    }

    /// What is sent under `key`; one that is in use.
    pub fn of(&self, key: FlowKey) -> &Sender {
        &self.senders[key.at()]
    }

    pub fn of_mut(&mut self, key: FlowKey) -> &mut Sender {
        &mut self.senders[key.at()]
    }

    /// Keys in use with their connections, by key.
    pub fn all(&self) -> Vec<(FlowKey, u32)> {
        let used = (0..).zip(&self.senders).filter(|(_, sender)| sender.conn != NOBODY);
        used.map(|(key, sender)| (FlowKey(key), sender.conn)).collect()
    }

    pub fn is_idle(&self, conn: u32) -> bool {
        self.conns[conn as usize].key == 0
    }

    /// The key under which `conn` sends.
    pub fn key_of(&self, conn: u32) -> Option<FlowKey> {
        self.conns[conn as usize].key.checked_sub(1).map(FlowKey)
    }

    /// Flows that `conn` has sent.
    pub fn sent(&self, conn: u32) -> u32 {
        self.conns[conn as usize].sent
    }

    pub fn put(&mut self, key: FlowKey, sender: Sender) {
        if self.senders.len() <= key.at() {
            self.senders.resize(key.at() + 1, Sender::new(NOBODY, 0, 0, 0));
        }
        self.conns[sender.conn as usize].key = key.0 + 1;
        self.senders[key.at()] = sender;
        self.active += 1;
    }

    /// `conn` has sent a flow; how many it has sent now.
    pub fn complete(&mut self, conn: u32) -> u32 {
        self.conns[conn as usize].sent += 1;
        self.conns[conn as usize].sent
    }

    /// The connection under `key` goes on with `flow` at the rate it has.
    pub fn go_on(&mut self, key: FlowKey, flow: u32, wire: u64) {
        let sender = self.of_mut(key);
        sender.flow = flow;
        sender.left += wire as f64;
        sender.expect();
    }

    /// `conn` sends nothing more for now.
    pub fn rest(&mut self, conn: u32) {
        if let Some(key) = self.key_of(conn) {
            self.senders[key.at()].conn = NOBODY;
            self.conns[conn as usize].key = 0;
            self.active -= 1;
        }
    }

    pub fn wait_for_way(&mut self, conn: u32) {
        self.stranded.push(conn);
    }

    /// Those that wait for a way; they do not any more.
    pub fn without_way(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.stranded)
    }

    pub fn progress(&mut self, key: FlowKey, now: u64) {
        self.of_mut(key).progress(now);
    }

    /// From now on the rate is `rate`, in bytes per second.
    #[inline]
    pub fn set_rate(&mut self, key: FlowKey, rate: f64, now: u64, agenda: &mut Agenda) {
        let sender = self.of_mut(key);
        sender.progress(now);
        sender.rate = rate * 1e-12;
        sender.expect();
        agenda.advance(key.0, sender.due);
    }

    /// Books what was sent to the links of the way it was sent on.
    pub fn book(&mut self, key: FlowKey, way: &[u32]) {
        let sent = std::mem::take(&mut self.of_mut(key).unbooked);
        way.iter().for_each(|&link| self.carried[link as usize] += sent);
    }
}
