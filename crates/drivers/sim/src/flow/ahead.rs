//! The flows that start or end soon: their paths, and requests of the memory that they need. What is requested leads to
//! the next request, so each flow has several steps, some events apart. The processor waits for none of them.

use super::engine::Engine;
use super::maxmin::{FlowKey, MaxMin};
use slotline_net::id::HostId;
use slotline_net::prefetch::prefetch;
use std::collections::VecDeque;

/// The number of flows whose paths are looked up at a time.
const BATCH: usize = 16;
/// For each step of a flow that starts, the number of flows before it.
const STEPS: [usize; 3] = [6, 4, 2];
/// The number of links that are remembered after their flows were requested.
const RECENT: usize = 32;

/// What is known of flows that start or end soon.
#[derive(Clone, Debug)]
pub(super) struct Ahead {
    /// The next flows that start: the connection and the path of each. Paths are valid until routes change.
    next: VecDeque<(u32, Vec<u32>)>,
    pairs: Vec<(HostId, HostId, u16)>,
    conns: Vec<u32>,
    /// Paths that are not used.
    unused: Vec<Vec<u32>>,
    /// Links of which a flow was likely to end soon.
    recent: [u32; RECENT],
    /// The index at which the next one is noted.
    turn: usize,
    /// The links that were noted when the last flow ended.
    links: Vec<u32>,
    /// Flows of such links, by how many flows have ended since their own state was requested.
    ending: [Vec<FlowKey>; 3],
}

impl Default for Ahead {
    fn default() -> Ahead {
        Ahead {
            next: VecDeque::new(),
            pairs: Vec::new(),
            conns: Vec::new(),
            unused: Vec::new(),
            recent: [u32::MAX; RECENT],
            turn: 0,
            links: Vec::new(),
            ending: Default::default(),
        }
    }
}

impl Ahead {
    /// The path of `conn`, if it is the one that starts now.
    pub fn path(&self, conn: u32) -> Option<&Vec<u32>> {
        self.next.front().filter(|(next, _)| *next == conn).map(|(_, path)| path)
    }

    /// Removes the first of them, which has started.
    pub fn pass(&mut self) {
        self.unused.extend(self.next.pop_front().map(|(_, path)| path));
    }

    /// Removes all paths, because routes have changed.
    pub fn forget(&mut self) {
        self.next.clear();
    }
}

impl Engine {
    /// Looks up the paths of the next flows, unless a scheme chooses them, and requests what they need.
    pub(super) fn look_ahead(&mut self) {
        if self.scheduled.is_some() || !self.path_choice.are_known() {
            return;
        }
        if self.ahead.next.len() <= STEPS[0] {
            self.look_up_paths();
        }
        let Some(rates) = self.rates.ahead() else { return };
        let [links, flows, limits] = STEPS.map(|at| self.ahead.next.get(at));
        links.iter().for_each(|(_, path)| rates.fetch_links(path));
        flows.iter().for_each(|(_, path)| rates.fetch_flows(path));
        limits.iter().for_each(|(_, path)| rates.fetch_limits(path));
    }

    /// Looks up the paths of some more flows, all at once.
    fn look_up_paths(&mut self) {
        let Engine { ahead, plan, fabric, senders, flows, .. } = self;
        let starts = &self.starts[self.next_start + ahead.next.len()..];
        let (next, later) = starts.split_at(starts.len().min(BATCH));
        later.iter().take(BATCH).for_each(|&(_, flow)| prefetch(&plan.traffic.flows, flow));
        next.iter().for_each(|&(_, flow)| prefetch(flows, flow));
        ahead.conns.clear();
        ahead.conns.extend(next.iter().map(|&(_, flow)| plan.traffic.flows[flow as usize].conn.0));
        ahead.pairs.clear();
        ahead.pairs.extend(ahead.conns.iter().map(|&conn| {
            senders.prefetch_conn(conn);
            let info = &plan.traffic.conns[conn as usize];
            (info.src, info.dst, plan.entropy(conn))
        }));
        let mut paths = std::mem::take(&mut ahead.unused);
        paths.resize_with(next.len(), Vec::new);
        fabric.paths(&ahead.pairs, &mut paths);
        ahead.next.extend(ahead.conns.iter().copied().zip(paths.drain(..)));
        ahead.unused = paths;
    }

    /// Requests the state of the flows that may end next.
    pub(super) fn look_at_next_sent(&mut self) {
        let Some(rates) = self.rates.ahead() else { return };
        let [entered, fetched, crossed] = &self.ahead.ending;
        crossed.iter().for_each(|&key| rates.fetch_limits(rates.first_links(key)));
        fetched.iter().for_each(|&key| rates.fetch_flows(rates.first_links(key)));
        entered.iter().for_each(|&key| self.fetch_departure(rates, key));
        let Ahead { ending, links, recent, turn, .. } = &mut self.ahead;
        ending.rotate_right(1);
        ending[0].clear();
        ending[0].extend(links.drain(..).flat_map(|link| rates.ending(link)));
        for &key in &ending[0] {
            rates.fetch_flow(key);
            self.senders.prefetch(key);
        }
        links.extend(rates.soon().filter(|link| !recent.contains(link)));
        for &link in &*links {
            rates.fetch_ending(link);
            recent[*turn % RECENT] = link;
            *turn += 1;
        }
    }

    /// Requests what the end of a flow needs.
    fn fetch_departure(&self, rates: &MaxMin, key: FlowKey) {
        let sender = self.senders.of(key);
        self.senders.prefetch_conn(sender.conn);
        prefetch(&self.plan.traffic.flows, sender.flow);
        prefetch(&self.plan.traffic.conns, sender.conn);
        prefetch(&self.flows, sender.flow);
        rates.fetch_links(rates.first_links(key));
        for &link in rates.first_links(key) {
            self.fabric.prefetch(link);
            prefetch(&self.senders.carried, link);
        }
    }
}
