//! The paths of flows that start soon. Several are looked up at a time.

use super::engine::Engine;
use slotline_net::id::HostId;

/// The number of flows that are looked up at a time.
const BATCH: usize = 16;

/// The paths of the next flows that start. They are valid until routes change.
#[derive(Clone, Debug, Default)]
pub(super) struct Ahead {
    /// Connections in the order of their starts, and the path of each.
    conns: Vec<u32>,
    paths: Vec<Vec<u32>>,
    /// How many of them have started.
    passed: usize,
    pairs: Vec<(HostId, HostId, u16)>,
    /// A combination of the prefetched values. It has no meaning, but keeps the reads.
    read: u32,
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
    /// Looks up the paths of the next flows, unless a scheme chooses them. It also prefetches the state of their
    /// links, so that the processor waits for the memory of all of them at once.
    pub(super) fn look_ahead(&mut self) {
        let Engine { ahead, plan, fabric, path_choice, rates, .. } = self;
        if ahead.passed < ahead.conns.len() || self.scheduled.is_some() || !path_choice.are_known()
        {
            return;
        }
        let next = self.starts[self.next_start..].iter().take(BATCH);
        ahead.passed = 0;
        ahead.conns.clear();
        ahead.conns.extend(next.map(|&flow| plan.traffic.flows[flow as usize].conn.0));
        ahead.paths.resize_with(ahead.conns.len(), Vec::new);
        ahead.pairs.clear();
        ahead.pairs.extend(ahead.conns.iter().map(|&conn| {
            let info = &plan.traffic.conns[conn as usize];
            (info.src, info.dst, plan.entropy(conn))
        }));
        fabric.paths(&ahead.pairs, &mut ahead.paths);
        let links = ahead.paths.iter().flatten();
        ahead.read ^= links.fold(0, |read, &link| read ^ rates.glance(link));
    }

    /// Prefetches the state of the flows that may end next.
    pub(super) fn look_at_next_sent(&mut self) {
        let Engine { ahead, plan, senders, rates, .. } = self;
        rates.glance_ahead(|key, read| {
            let flow = senders.of(key).flow;
            let conn = plan.traffic.flows[flow as usize].conn;
            ahead.read ^= plan.traffic.conns[conn.at()].src.0 ^ read;
        });
    }
}
