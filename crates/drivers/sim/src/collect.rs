//! The events of each node in a window.

use crate::calendar::{Entry, Taken};
use crate::item::{IDLE, Item, NONE, sort};
use crate::line::PORT_MASK;
use crate::links::Links;
use crate::shard::Shard;
use slotline_net::id::NodeId;
use slotline_net::node::switch::Switch;
use slotline_net::prefetch::prefetch;
use std::hint::select_unpredictable;

impl Shard {
    /// Chains the events of each node. Returns the number of nodes that have any. Whether an event is the first of
    /// its node cannot be predicted, so that the code does not branch on it.
    pub fn chain_by_node(&mut self, taken: &Taken) -> usize {
        let calendar = &self.links.calendar;
        if self.chain.len() < calendar.capacity() {
            self.chain.resize(calendar.capacity(), NONE);
        }
        let node_of = &self.links.shared.layout.node[..];
        let (chain, last) = (&mut self.chain[..], &mut self.last[..]);
        let first = self.first_node as u32;
        let mut count = 0;
        for positions in calendar.positions(taken) {
            for position in positions {
                let to = calendar.get(position).to & PORT_MASK;
                let at = node_of[to as usize] - first;
                let before = std::mem::replace(&mut last[at as usize], position);
                chain[position as usize] = before;
                self.active[count] = at;
                count += usize::from(before >= IDLE);
            }
        }
        count
    }

    /// Moves the nodes that are no hosts, of the first `count` active ones, to `others`. Returns the numbers of hosts and of
    /// others. If all hosts are called first, the kind of node can be predicted.
    pub fn hosts_first(&mut self, count: usize) -> (usize, usize) {
        let (mut hosts, mut others) = (0, 0);
        for next in 0..count {
            let at = self.active[next];
            let is_host = self.is_host[at as usize];
            self.active[hosts] = at;
            self.others[others] = at;
            hosts += usize::from(is_host);
            others += usize::from(!is_host);
        }
        (hosts, others)
    }

    /// Puts a node's events of the window into `items`, in the order (time, port).
    #[inline(always)]
    pub fn collect(&mut self, at: usize, items: &mut Vec<Item>) {
        let last = std::mem::replace(&mut self.last[at], NONE);
        gather(&self.links, &self.chain, last, items, |_| NONE);
    }

    /// As [`Shard::collect`], for a plain switch: with the ports by which packets leave. Their state is requested, so that cache
    /// misses overlap.
    #[inline(always)]
    pub fn collect_at_plain_switch(&mut self, at: usize, items: &mut Vec<Item>) {
        let id = self.first_node + at;
        let (links, row) = (&self.links, self.routes[at].row(NodeId(id as u32)));
        let base = links.shared.layout.first[id];
        let last = std::mem::replace(&mut self.last[at], NONE);
        gather(links, &self.chain, last, items, |Entry { packet, .. }| {
            let Some(port) = row.next(packet.dst, packet.entropy) else { return NONE };
            let out = base + u32::from(port.0);
            links.expect(out);
            out
        });
    }

    /// As [`Shard::collect`], for a switch that decides ahead: with the ports by which packets leave, unless links may fail. The
    /// state of these ports is requested.
    #[inline(never)]
    pub fn collect_at_switch(&mut self, at: usize, switch: &Switch, items: &mut Vec<Item>) {
        let links = &self.links;
        if links.shared.changes {
            return self.collect(at, items);
        }
        let id = self.first_node + at;
        let (first, own) = (links.shared.layout.first[id], links.shared.layout.own(id));
        let row = switch.row();
        let last = std::mem::replace(&mut self.last[at], NONE);
        gather(links, &self.chain, last, items, |Entry { to, packet, .. }| {
            let port = to & PORT_MASK;
            let out = Switch::exit_by(&row, packet).map_or(NONE, |out| u32::from(out.0));
            // An event of a free port has its number.
            let out = select_unpredictable(port == own, packet.seq, out);
            prefetch(&links.lines, (first - links.first_port).wrapping_add(out));
            switch.expect_port(port - first, out);
            out
        });
    }
}

/// Puts the events of a node in the window into `items`, in the order (time, port). They are chained from `last` on. `exit`
/// looks up by which port each leaves, if that is needed.
#[inline(always)]
fn gather(
    links: &Links,
    chain: &[u32],
    last: u32,
    items: &mut Vec<Item>,
    exit: impl Fn(&Entry) -> u32,
) {
    items.clear();
    let mut position = last;
    while position < IDLE {
        let entry = links.calendar.get(position);
        items.push(Item::new(entry, position, links.window_start, exit(entry)));
        position = chain[position as usize];
    }
    if items.len() > 1 {
        sort(items);
    }
}
