//! Computes the completion time of each flow in the same network when empty: the reference of slowdown.

use crate::record::FlowRow;
use slotline_net::id::HostId;
use slotline_net::route::Routes;
use slotline_net::time::Time;
use slotline_net::topology::{LinkParams, Wiring};
use slotline_net::transport::{Transport, lone_flow_time};
use std::collections::BTreeMap;

/// Ideal completion times, computed once for each kind of path and size.
pub struct Ideal<'a> {
    transport: &'a Transport,
    routes: &'a Routes,
    wiring: &'a Wiring,
}

impl<'a> Ideal<'a> {
    /// Prepares for flows of `transport` over `routes`.
    pub fn new(transport: &'a Transport, routes: &'a Routes, wiring: &'a Wiring) -> Ideal<'a> {
        Ideal { transport, routes, wiring }
    }

    /// Fills in the ideal time of each TCP flow. Senders of datagrams have a fixed rate, so they have none.
    pub fn fill(&self, rows: &mut [FlowRow]) {
        let mut known: BTreeMap<Vec<(u64, u64)>, BTreeMap<u64, Time>> = BTreeMap::new();
        for row in rows.iter_mut().filter(|row| !row.udp) {
            let path = self.lanes(HostId(row.src), HostId(row.dst));
            let shape = path.iter().map(|lane| (lane.rate.0, lane.delay.as_ps())).collect();
            let time = *known.entry(shape).or_default().entry(row.bytes).or_insert_with(|| {
                let back = self.lanes(HostId(row.dst), HostId(row.src));
                lone_flow_time(row.bytes, self.transport, &path, &back)
            });
            row.ideal_ps = time.as_ps();
        }
    }

    /// The links of one of the shortest paths.
    fn lanes(&self, src: HostId, dst: HostId) -> Vec<LinkParams> {
        let path = self.routes.path(self.wiring, src, dst, 0);
        path.iter().flatten().map(|end| self.wiring.of(end.node)[end.port.at()].lane).collect()
    }
}
