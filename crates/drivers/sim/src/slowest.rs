//! Which flows of a run may be its slowest, as judged while it goes on. Of the others no packets need to be recorded.

use slotline_net::node::host::Plan;
use slotline_net::workload::{Carrier, Role, Start};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::{Debug, Formatter, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The search for the slowest flows of a run in which each connection has one flow.
#[derive(Clone)]
pub struct Slowest {
    plan: Arc<Plan>,
    /// By flow: its completion time in an empty network, ps; empty if the slowest flows are those that take longest.
    ideal: Vec<u64>,
    /// The number of flows that are searched for.
    count: usize,
    /// By connection: whether its flow is not among them, 64 to a word. Shards tell each other.
    ruled_out: Arc<[AtomicU64]>,
}

/// How slow a flow is. The order is that of the bits of a positive number; of equally slow flows, the first counts as slower.
type Slowness = (u64, Reverse<u32>);

impl Slowest {
    /// Searches for `count` flows of `plan`, those with the largest slowdown, or the longest completion time if `ideal` is empty.
    /// `ideal` has the completion times in an empty network, in ps, by flow.
    pub fn new(plan: Arc<Plan>, ideal: Vec<u64>, count: usize) -> Slowest {
        let words = plan.traffic.conns.len().div_ceil(64);
        let ruled_out = (0..words).map(|_| AtomicU64::new(0)).collect();
        Slowest { plan, ideal, count, ruled_out }
    }

    /// The slowness of a flow that takes `took` ps.
    fn slowness(&self, flow: u32, took: f64) -> Slowness {
        let ideal = self.ideal.get(flow as usize).copied().unwrap_or(1).max(1);
        ((took / ideal as f64).to_bits(), Reverse(flow))
    }

    fn start(&self, flow: u32, otherwise: u64) -> u64 {
        match self.plan.flow(flow).start {
            Start::At(time) => time.as_ps(),
            Start::After { .. } => otherwise,
        }
    }

    fn rule_out(&self, conn: u32) {
        self.ruled_out[conn as usize / 64].fetch_or(1 << (conn % 64), Ordering::Relaxed);
    }

    fn is_ruled_out(&self, conn: u32) -> bool {
        self.ruled_out[conn as usize / 64].load(Ordering::Relaxed) >> (conn % 64) & 1 == 1
    }
}

impl Debug for Slowest {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("Slowest").field("count", &self.count).finish_non_exhaustive()
    }
}

/// The flows that have been completed in one shard.
pub(crate) struct Ranking {
    of: Slowest,
    /// The slowest ones, at most as many as are searched for.
    slowest: BinaryHeap<Reverse<Slowness>>,
}

impl Ranking {
    pub fn new(of: &Slowest) -> Ranking {
        Ranking { of: of.clone(), slowest: BinaryHeap::with_capacity(of.count + 1) }
    }

    /// A flow is complete at `now`. `since` says when a connection began, about. Returns the connection whose flow is not among
    /// the slowest, if this is known now.
    pub fn complete(&mut self, flow: u32, since: impl Fn(u32) -> u64, now: u64) -> Option<u32> {
        let planned = self.of.plan.flow(flow);
        let is_answer = matches!(planned.role, Role::Alone | Role::Answer(_));
        if self.of.plan.conn(planned.conn.0).carrier != Carrier::Tcp || !is_answer {
            return None;
        }
        let took = now.saturating_sub(self.of.start(flow, since(planned.conn.0)));
        self.slowest.push(Reverse(self.of.slowness(flow, took as f64)));
        if self.slowest.len() <= self.of.count {
            return None;
        }
        let Reverse((_, Reverse(fastest))) = self.slowest.pop()?;
        let conn = self.of.plan.flow(fastest).conn.0;
        self.of.rule_out(conn);
        Some(conn)
    }

    /// How slow the flow of a connection is likely to be that began at about `since` and has `reached` this segment at `now`; zero
    /// if it is not among the slowest.
    pub fn expected(&self, conn: u32, (since, reached): (u64, u32), now: u64) -> u64 {
        if self.of.is_ruled_out(conn) {
            return 0;
        }
        let flow = self.of.plan.conn(conn).first.0;
        let segments = self.of.plan.transport.segments(self.of.plan.flow(flow).bytes);
        let left = f64::from(segments.max(1)) / f64::from(reached.max(1));
        let age = now.saturating_sub(self.of.start(flow, since));
        self.of.slowness(flow, age as f64 * left).0
    }
}

#[cfg(test)]
mod tests;
