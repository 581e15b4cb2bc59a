//! Computes the completion time of each flow in the same network when empty: the reference of slowdown.

use crate::record::FlowRow;
use slotline_net::id::HostId;
use slotline_net::route::Routes;
use slotline_net::time::Time;
use slotline_net::topology::{LinkParams, Wiring};
use slotline_net::transport::{Transport, lone_flow_time};
use std::collections::{BTreeMap, HashMap};

/// Ideal completion times, computed once for each kind of path and size.
pub struct Ideal<'a> {
    transport: &'a Transport,
    routes: &'a Routes,
    wiring: &'a Wiring,
    /// By pair of hosts: the number of its kind of path.
    kind_of: HashMap<(HostId, HostId), usize>,
    /// By the rates and delays of the links of a path: its number.
    kinds: BTreeMap<Vec<(u64, u64)>, usize>,
    /// By kind of path: the time for each size.
    known: Vec<HashMap<u64, Time>>,
}

impl<'a> Ideal<'a> {
    /// Prepares for flows of `transport` over `routes`.
    pub fn new(transport: &'a Transport, routes: &'a Routes, wiring: &'a Wiring) -> Ideal<'a> {
        let (kind_of, kinds, known) = (HashMap::new(), BTreeMap::new(), Vec::new());
        Ideal { transport, routes, wiring, kind_of, kinds, known }
    }

    /// Fills in the ideal time of each TCP flow. Senders of datagrams have a fixed rate, so they have none.
    pub fn fill(mut self, rows: &mut [FlowRow]) {
        for row in rows.iter_mut().filter(|row| !row.udp) {
            row.ideal_ps = self.time((HostId(row.src), HostId(row.dst)), row.bytes).as_ps();
        }
    }

    /// The ideal time of a TCP flow.
    pub fn time(&mut self, (src, dst): (HostId, HostId), bytes: u64) -> Time {
        let kind = match self.kind_of.get(&(src, dst)) {
            Some(kind) => *kind,
            None => self.kind((src, dst)),
        };
        if let Some(time) = self.known[kind].get(&bytes) {
            return *time;
        }
        let (path, back) = (self.lanes(src, dst), self.lanes(dst, src));
        let time = lone_flow_time(bytes, self.transport, &path, &back);
        self.known[kind].insert(bytes, time);
        time
    }

    /// The kind of path between two hosts.
    fn kind(&mut self, (src, dst): (HostId, HostId)) -> usize {
        let path = self.lanes(src, dst);
        let links = path.iter().map(|lane| (lane.rate.0, lane.delay.as_ps())).collect();
        let next = self.known.len();
        let kind = *self.kinds.entry(links).or_insert(next);
        if kind == next {
            self.known.push(HashMap::new());
        }
        self.kind_of.insert((src, dst), kind);
        kind
    }

    /// The links of one of the shortest paths.
    fn lanes(&self, src: HostId, dst: HostId) -> Vec<LinkParams> {
        let path = self.routes.path(self.wiring, src, dst, 0);
        path.iter().flatten().map(|end| self.wiring.of(end.node)[end.port.at()].lane).collect()
    }
}
