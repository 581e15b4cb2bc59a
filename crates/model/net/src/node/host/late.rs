//! Flows that are added while a run goes on. Each has a connection of its own.
//!
//! Connections and flows that are known before the run have the numbers in its traffic. Late ones have the numbers
//! after these. A late flow never changes, so that hosts read it without a lock.

use super::{Host, Plan};
use crate::id::{ConnId, FlowId, HostId};
use crate::rng::pair_key;
use crate::route::Routes;
use crate::time::Time;
use crate::topology::{Graph, Wiring};
use crate::workload::{Carrier, Conn, Flow, Machines, Role, Start};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The first block has this many places, and each later one twice as many as the block before.
const FIRST: u32 = 64;
const BLOCKS: usize = 25;

/// What is known of a flow that is added while a run goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LateFlow {
    /// The sending host.
    pub src: HostId,
    /// The receiving host.
    pub dst: HostId,
    /// Payload bytes, at least 1.
    pub bytes: u64,
    /// When it starts.
    pub at: Time,
    /// The priority class of its packets.
    pub class: u8,
    /// The workload that it belongs to in results.
    pub group: u16,
    /// The key of that workload ([`crate::workload::workload_key`]).
    pub workload: u64,
}

/// A late flow with its connection.
#[derive(Debug)]
pub(super) struct Late {
    pub conn: Conn,
    pub flow: Flow,
    pub entropy: u16,
    pub entropy_back: u16,
    pub reaction: u64,
    /// Its place among all connections of its sender, and of its receiver.
    pub sent: u32,
    pub received: u32,
}

/// All late flows. Those that are there do not move.
#[derive(Debug, Default)]
pub(super) struct LateFlows {
    blocks: [OnceLock<Box<[OnceLock<Late>]>>; BLOCKS],
    counts: Mutex<Counts>,
    /// The routes of equal-cost multipath, if late connections need the numbers of its paths.
    pub hashed: OnceLock<Routes>,
}

/// How many flows were added.
#[derive(Debug, Default)]
struct Counts {
    all: u32,
    by_src: BTreeMap<HostId, u32>,
    by_dst: BTreeMap<HostId, u32>,
    by_pair: BTreeMap<(HostId, HostId), u64>,
}

/// The block of number `at`, its size, and the place in it.
fn place(at: u32) -> (usize, usize, usize) {
    let from_first = at + FIRST;
    let block = (from_first / FIRST).ilog2();
    let size = FIRST << block;
    (block as usize, size as usize, (from_first - size) as usize)
}

/// The number before an increment.
fn next<K: Ord, N: Copy + Default + std::ops::AddAssign + From<u8>>(
    counts: &mut BTreeMap<K, N>,
    key: K,
) -> N {
    let count = counts.entry(key).or_default();
    let before = *count;
    *count += N::from(1);
    before
}

impl LateFlows {
    #[cold]
    pub fn get(&self, at: u32) -> &Late {
        let (block, _, within) = place(at);
        let found = self.blocks[block].get().and_then(|block| block[within].get());
        found.expect("the connection of a packet is known")
    }
    fn set(&self, at: u32, late: Late) {
        let (block, size, within) = place(at);
        let places =
            self.blocks[block].get_or_init(|| (0..size).map(|_| OnceLock::new()).collect());
        places[within].set(late).expect("each number is given once");
    }
    fn len(&self) -> u32 {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).all
    }
}

impl Plan {
    /// The connection with this number.
    #[inline]
    pub fn conn(&self, conn: u32) -> &Conn {
        match self.traffic.conns.get(conn as usize) {
            Some(conn) => conn,
            None => &self.late_conn(conn).conn,
        }
    }
    /// The flow with this number.
    #[inline]
    pub fn flow(&self, flow: u32) -> &Flow {
        match self.traffic.flows.get(flow as usize) {
            Some(flow) => flow,
            None => &self.late.get(flow - self.traffic.flows.len() as u32).flow,
        }
    }
    /// The connection with this number, if there is one. Late ones are among them.
    pub fn conn_if_any(&self, conn: u32) -> Option<&Conn> {
        let late = || {
            let at = conn.checked_sub(self.traffic.conns.len() as u32)?;
            (at < self.late.len()).then(|| &self.late.get(at).conn)
        };
        self.traffic.conns.get(conn as usize).or_else(late)
    }
    /// The number of flows, late ones included.
    pub fn all_flows(&self) -> u32 {
        self.traffic.flows.len() as u32 + self.late.len()
    }
    pub(super) fn late_conn(&self, conn: u32) -> &Late {
        self.late.get(conn - self.traffic.conns.len() as u32)
    }
    pub(super) fn is_late(&self, conn: u32) -> bool {
        conn as usize >= self.traffic.conns.len()
    }

    /// Adds a flow on a connection of its own, and returns its number. The network is that for which the plan was
    /// made.
    pub fn add(&self, new: &LateFlow, graph: &Graph, wiring: &Wiring, routes: &Routes) -> FlowId {
        let LateFlow { src, dst, bytes, at, class, group, workload } = *new;
        let mut counts = self.late.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let number = counts.all;
        let first = FlowId(self.traffic.flows.len() as u32 + number);
        let id = ConnId(self.traffic.conns.len() as u32 + number);
        let key = pair_key(workload, next(&mut counts.by_pair, (src, dst)));
        let (carrier, machines) = (Carrier::Tcp, Machines::default());
        let conn = Conn { src, dst, carrier, class, machines, first, count: 1, key };
        let nth = next(&mut counts.by_src, src);
        let (entropy, entropy_back) = self.late_entropy(&conn, nth, graph, wiring, routes);
        let start = Start::At(at);
        let flow =
            Flow { conn: id, bytes, start, then: None, also: None, group, role: Role::Alone };
        let late = Late {
            reaction: self.late_reaction(&conn, entropy, graph, wiring, routes),
            sent: self.sends(src).len() as u32 + nth,
            received: self.receives(dst).len() as u32 + next(&mut counts.by_dst, dst),
            conn,
            flow,
            entropy,
            entropy_back,
        };
        self.late.set(number, late);
        counts.all += 1;
        first
    }
}

impl Host {
    /// Adds a late flow that this host sends or receives. Returns the wake-ups that its sender needs: their time and
    /// number.
    ///
    /// Wake-ups take the times that they would have if the flow had been known before, also those that were requested
    /// several times: each of them uses a random number.
    pub fn add_late(&mut self, flow: FlowId) -> (Time, u32) {
        let plan = Arc::clone(&self.plan);
        let conn = plan.flow(flow.0).conn.0;
        if plan.conn(conn).dst == self.id {
            self.await_late(conn);
            return (Time::MAX, 0);
        }
        self.late_sent.push(conn);
        self.senders.push(None);
        if !self.udp_senders.is_empty() {
            self.udp_senders.push(None);
        }
        self.sent.push(super::Sent::NEVER);
        let at = plan.start_time(flow.0);
        self.late.push(Reverse((at, flow.0)));
        let (next, count) = self.wanted;
        if at >= next {
            return (at, 0);
        }
        if next < Time::MAX && count > 0 {
            *self.ignored.entry(next).or_default() += count;
        }
        self.wanted.0 = at;
        (at, count)
    }

    /// Whether this wake-up for starts is one that is to be ignored.
    #[inline]
    pub(super) fn ignores(&mut self, now: Time) -> bool {
        !self.ignored.is_empty() && self.ignore_one(now)
    }

    fn ignore_one(&mut self, now: Time) -> bool {
        self.ignored.retain(|at, _| *at >= now);
        let Some(left) = self.ignored.get_mut(&now).filter(|left| **left > 0) else { return false };
        *left -= 1;
        true
    }

    fn await_late(&mut self, conn: u32) {
        self.late_received.push(conn);
        self.receivers.push(None);
        if !self.udp_receivers.is_empty() {
            self.udp_receivers.push(None);
        }
        self.received.push(super::Received::NOTHING);
        self.received_flows.push(self.plan.conn(conn).first.0);
        self.received_first.push(self.received.len() as u32);
    }

    /// What this host knows of a flow that it receives.
    pub fn received(&self, flow: FlowId) -> super::Received {
        let conn = self.plan.flow(flow.0).conn.0;
        let first = self.received_first[self.plan.rx_ordinal(conn) as usize];
        self.received[(first + flow.0 - self.plan.conn(conn).first.0) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_a_place_of_its_own() {
        let mut last = (0, 0, usize::MAX);
        for at in 0..10_000 {
            let (block, size, within) = place(at);
            assert!(within < size);
            let next = if last.2 == usize::MAX || within == 0 { 0 } else { last.2 + 1 };
            assert_eq!((block, within), (last.0 + usize::from(within == 0 && at > 0), next));
            last = (block, size, within);
        }
    }
}
