//! The paths of flows that start soon. Several are looked up at a time.

use super::engine::Engine;
use super::maxmin::FlowKey;
use slotline_net::id::HostId;
use slotline_net::prefetch::prefetch;

/// The number of flows that are looked up at a time.
const BATCH: usize = 16;

/// The number of flows that are remembered after they were prefetched.
const RECENT: usize = 16;

/// The paths of the next flows that start. They are valid until routes change.
#[derive(Clone, Debug, Default)]
pub(super) struct Ahead {
    /// Connections in the order of their starts, and the path of each.
    conns: Vec<u32>,
    paths: Vec<Vec<u32>>,
    /// How many of them have started.
    passed: usize,
    pairs: Vec<(HostId, HostId, u16)>,
    /// The links of some flows.
    links: Vec<u32>,
    /// Flows that were likely to end soon. What they need was requested.
    requested: [Option<FlowKey>; RECENT],
    /// The index at which the next one is noted.
    turn: usize,
}

impl Ahead {
    /// The path of `conn`, if it is the one that starts now.
    pub fn path(&self, conn: u32) -> Option<&Vec<u32>> {
        let starts = self.conns.get(self.passed) == Some(&conn);
        self.paths.get(self.passed).filter(|_| starts)
    }

    /// Removes the first of them, which has started.
    pub fn pass(&mut self) {
        self.passed += 1;
    }

    /// Removes all paths, because routes have changed.
    pub fn forget(&mut self) {
        self.conns.clear();
        self.passed = 0;
    }
}

impl Engine {
    /// Looks up the paths of the next flows, unless a scheme chooses them. It also requests the state of their
    /// links, so that the processor waits for the memory of all of them at once.
    pub(super) fn look_ahead(&mut self) {
        let Engine { ahead, plan, fabric, path_choice, rates, senders, flows, .. } = self;
        if ahead.passed < ahead.conns.len() || self.scheduled.is_some() || !path_choice.are_known()
        {
            return;
        }
        let next = self.starts[self.next_start..].iter().take(BATCH);
        ahead.passed = 0;
        ahead.conns.clear();
        ahead.conns.extend(next.map(|&(_, flow)| plan.traffic.flows[flow as usize].conn.0));
        ahead.paths.resize_with(ahead.conns.len(), Vec::new);
        ahead.pairs.clear();
        ahead.pairs.extend(ahead.conns.iter().map(|&conn| {
            let info = &plan.traffic.conns[conn as usize];
            (info.src, info.dst, plan.entropy(conn))
        }));
        fabric.paths(&ahead.pairs, &mut ahead.paths);
        let later = self.starts[self.next_start..].iter().take(2 * BATCH);
        for (at, &(_, flow)) in later.enumerate() {
            match ahead.conns.get(at) {
                Some(&conn) => {
                    prefetch(flows, flow);
                    senders.prefetch_conn(conn);
                }
                None => prefetch(&plan.traffic.flows, flow),
            }
        }
        if let Some(rates) = rates.ahead() {
            ahead.links.clear();
            ahead.links.extend(ahead.paths.iter().flatten());
            rates.fetch_links(&ahead.links);
        }
    }

    /// Requests the state of the flows that may end next.
    pub(super) fn look_at_next_sent(&mut self) {
        let Engine { ahead, plan, senders, rates, fabric, flows, .. } = self;
        let Some(rates) = rates.ahead() else { return };
        rates.fetch_soon();
        let first = ahead.turn;
        for key in rates.soon() {
            if !ahead.requested.contains(&Some(key)) {
                ahead.requested[ahead.turn % RECENT] = Some(key);
                ahead.turn += 1;
                rates.fetch_flow(key);
                senders.prefetch(key);
            }
        }
        ahead.links.clear();
        for at in first.max(ahead.turn.saturating_sub(RECENT))..ahead.turn {
            let Some(key) = ahead.requested[at % RECENT] else { continue };
            let sender = senders.of(key);
            senders.prefetch_conn(sender.conn);
            prefetch(&plan.traffic.flows, sender.flow);
            prefetch(&plan.traffic.conns, sender.conn);
            prefetch(flows, sender.flow);
            ahead.links.extend(rates.path(key));
        }
        for &link in &ahead.links {
            fabric.prefetch(link);
            prefetch(&senders.carried, link);
        }
        rates.fetch_links(&ahead.links);
    }
}
