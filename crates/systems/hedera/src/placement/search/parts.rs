//! The parts of flows by the host to which they go.

use crate::placement::Flow;
use crate::placement::network::{FlowPart, Load, PathModel};
use slotline_net::id::HostId;

/// The parts of the flows to each host, one after another.
#[derive(Clone, Debug, Default)]
pub(super) struct PartsByHost {
    /// The source and the amount of each flow, in the order of destinations.
    flows: Vec<(HostId, i32)>,
    /// By host, the index in `flows` behind the flows to it, and then that in `parts` behind its parts.
    ends: Vec<u32>,
    parts: Vec<FlowPart>,
}

impl PartsByHost {
    /// Lists the parts of these flows. Returns the load of wires if all flows to a host take the path with the number
    /// of that host.
    pub(super) fn list<T: PathModel>(
        &mut self,
        model: &T,
        flows: &[Flow],
        numbers: &[u16],
    ) -> Load {
        self.sort(flows, numbers.len());
        let PartsByHost { flows, ends, parts } = self;
        let mut over: Vec<i32> = model.capacities().iter().map(|room| -room).collect();
        let mut from = 0;
        parts.clear();
        for (host, (end, &number)) in (0..).map(HostId).zip(ends.iter_mut().zip(numbers)) {
            let (first, to) = (parts.len(), *end as usize);
            model.parts_to_host(host, &flows[from..to], parts);
            for part in &parts[first..] {
                let wires = model.wires(part, number.into());
                wires.for_each(|wire| over[wire as usize] += part.amount);
            }
            (from, *end) = (to, parts.len() as u32);
        }
        Load::of(over)
    }
    /// Sorts flows by destination.
    fn sort(&mut self, flows: &[Flow], hosts: usize) {
        let PartsByHost { flows: sorted, ends, .. } = self;
        ends.clear();
        ends.resize(hosts, 0);
        flows.iter().for_each(|flow| ends[flow.dst.at()] += 1);
        let mut first = 0;
        for end in &mut *ends {
            first += std::mem::replace(end, first);
        }
        sorted.resize(flows.len(), (HostId(0), 0));
        for flow in flows {
            let end = &mut ends[flow.dst.at()];
            sorted[*end as usize] = (flow.src, flow.amount());
            *end += 1;
        }
    }
    /// The parts of a host. There are none of a host that does not exist.
    #[inline]
    pub(super) fn of(&self, host: u32) -> &[FlowPart] {
        let host = host as usize;
        let end = |host: usize| self.ends.get(host).map(|&end| end as usize);
        let first = host.checked_sub(1).and_then(end).unwrap_or(0);
        end(host).map_or(&[], |end| &self.parts[first..end])
    }
}
