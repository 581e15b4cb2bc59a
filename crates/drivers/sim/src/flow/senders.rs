//! The connections that are sending, and the bytes that links have carried.

use super::flow_paths::FlowPath;
use super::maxmin::FlowKey;
use slotline_net::prefetch::prefetch;

/// Marks a key without a connection.
const NOBODY: u32 = u32::MAX;

/// A connection that is sending.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Sender {
    pub conn: u32,
    /// The flow that it sends now.
    pub flow: u32,
    /// The bytes that it must send under its key, up to this flow.
    whole: u64,
    /// The bytes of this flow.
    wire: u64,
    /// The bytes of `whole` that are booked to links.
    booked: u64,
    /// The bytes of `whole` that were sent at the scheme's last poll.
    counted: f64,
}

impl Sender {
    pub fn new(conn: u32, flow: u32, wire: u64) -> Sender {
        Sender { conn, flow, whole: wire, wire, booked: 0, counted: 0.0 }
    }

    /// The whole bytes that have been sent under its key if `left` bytes are left. Times are rounded to picoseconds,
    /// so `left` may be a little below zero, or above what the flow has.
    fn sent(&self, left: f64) -> u64 {
        self.whole - (left.max(0.0).ceil() as u64).min(self.wire)
    }

    /// The bytes of its flow that are booked to links.
    pub fn booked_of_flow(&self) -> u64 {
        (self.booked + self.wire).saturating_sub(self.whole)
    }
}

/// The state of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Conn {
    /// The number of flows that it has sent.
    sent: u32,
    /// Its key plus one, or zero while it sends nothing.
    key: u32,
}

/// All connections, and those among them that are sending.
#[derive(Clone, Debug)]
pub(super) struct Senders {
    conns: Vec<Conn>,
    /// By key.
    senders: Vec<Sender>,
    active: usize,
    /// The connections without a path.
    stranded: Vec<u32>,
    /// By link, the booked bytes. They are whole numbers if each link carries all of a flow.
    pub carried: Vec<f64>,
    /// The number of shares of bytes that were added to links. Each of them may be rounded.
    pub parts: u64,
}

impl Senders {
    pub fn new(conns: usize, links: usize) -> Senders {
        Senders {
            conns: vec![Conn::default(); conns],
            senders: Vec::new(),
            active: 0,
            stranded: Vec::new(),
            carried: vec![0.0; links],
            parts: 0,
        }
    }

    /// The number of connections that are sending.
    pub fn active(&self) -> usize {
        self.active
    }

    /// The sender under `key`, which is in use.
    pub fn of(&self, key: FlowKey) -> &Sender {
        &self.senders[key.at()]
    }

    /// Requests the sender under `key`.
    pub fn prefetch(&self, key: FlowKey) {
        prefetch(&self.senders, key.0);
    }

    /// Requests the state of a connection.
    pub fn prefetch_conn(&self, conn: u32) {
        prefetch(&self.conns, conn);
    }

    /// The keys in use with their connections, in order of keys.
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

    /// The number of flows that `conn` has sent.
    pub fn sent(&self, conn: u32) -> u32 {
        self.conns[conn as usize].sent
    }

    pub fn put(&mut self, key: FlowKey, sender: Sender) {
        if self.senders.len() <= key.at() {
            self.senders.resize(key.at() + 1, Sender::new(NOBODY, 0, 0));
        }
        self.conns[sender.conn as usize].key = key.0 + 1;
        self.senders[key.at()] = sender;
        self.active += 1;
    }

    /// Counts a flow that `conn` has sent. Returns the number that it has sent so far.
    pub fn complete(&mut self, conn: u32) -> u32 {
        self.conns[conn as usize].sent += 1;
        self.conns[conn as usize].sent
    }

    /// Continues the connection under `key` with `flow`.
    pub fn go_on(&mut self, key: FlowKey, flow: u32, wire: u64) {
        let sender = &mut self.senders[key.at()];
        (sender.flow, sender.wire) = (flow, wire);
        sender.whole += wire;
    }

    /// Ends the sending of `conn` for now.
    pub fn rest(&mut self, conn: u32) {
        if let Some(key) = self.key_of(conn) {
            self.senders[key.at()].conn = NOBODY;
            self.conns[conn as usize].key = 0;
            self.active -= 1;
        }
    }

    pub fn wait_for_path(&mut self, conn: u32) {
        self.stranded.push(conn);
    }

    /// Takes the connections that wait for a path.
    pub fn without_path(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.stranded)
    }

    /// The bytes that were sent under `key` since the last call. `left` bytes are left.
    pub fn count(&mut self, key: FlowKey, left: f64) -> f64 {
        let sender = &mut self.senders[key.at()];
        let sent = sender.whole as f64 - left;
        sent - std::mem::replace(&mut sender.counted, sent)
    }

    /// Books the sent bytes to the links of the path, if `left` bytes are left. Each link gets its share, or all if
    /// there are no shares. Booked bytes stay booked.
    pub fn book(&mut self, key: FlowKey, left: f64, FlowPath { links, shares }: FlowPath<'_>) {
        let sender = &mut self.senders[key.at()];
        let sent = sender.sent(left).max(sender.booked);
        let new = (sent - std::mem::replace(&mut sender.booked, sent)) as f64;
        if shares.is_empty() {
            links.iter().for_each(|&link| self.carried[link as usize] += new);
        }
        for (&link, share) in links.iter().zip(shares) {
            self.carried[link as usize] += new * share;
        }
        self.parts += shares.len() as u64;
    }
}
