//! Which connections are sending, and what links have carried.

use super::maxmin::FlowKey;

/// In place of a connection: there is none under this key.
const NOBODY: u32 = u32::MAX;

/// A connection that is sending.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Sender {
    pub conn: u32,
    /// What it sends now.
    pub flow: u32,
    /// Bytes of what it has to send under its key, up to this flow.
    whole: f64,
    /// Those of them that are booked to links.
    booked: f64,
    /// Those that were sent when a scheme last asked.
    counted: f64,
}

impl Sender {
    pub fn new(conn: u32, flow: u32, wire: u64) -> Sender {
        Sender { conn, flow, whole: wire as f64, booked: 0.0, counted: 0.0 }
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
    /// Connections that found no path.
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
            self.senders.resize(key.at() + 1, Sender::new(NOBODY, 0, 0));
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

    /// The connection under `key` goes on with `flow`.
    pub fn go_on(&mut self, key: FlowKey, flow: u32, wire: u64) {
        let sender = &mut self.senders[key.at()];
        sender.flow = flow;
        sender.whole += wire as f64;
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

    /// Those that wait for a path; they do not any more.
    pub fn without_path(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.stranded)
    }

    /// What was sent under `key` since this was asked last, where so many bytes are left.
    pub fn count(&mut self, key: FlowKey, left: f64) -> f64 {
        let sender = &mut self.senders[key.at()];
        let sent = sender.whole - left;
        sent - std::mem::replace(&mut sender.counted, sent)
    }

    /// Books what was sent to the links of the path it was sent on, where so many bytes are left: to each its
    /// share, or where there are no shares all of it.
    pub fn book(&mut self, key: FlowKey, left: f64, (path, shares): (&[u32], &[f64])) {
        let sender = &mut self.senders[key.at()];
        let sent = sender.whole - left;
        let new = sent - std::mem::replace(&mut sender.booked, sent);
        if shares.is_empty() {
            path.iter().for_each(|&link| self.carried[link as usize] += new);
        }
        for (&link, share) in path.iter().zip(shares) {
            self.carried[link as usize] += new * share;
        }
    }
}
