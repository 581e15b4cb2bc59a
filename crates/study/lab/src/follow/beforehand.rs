//! Selects what the first pass of a run records, so that most runs need no second one.

use super::choose::{Chooser, all, cost, costs, most_hops};
use super::forecast;
use crate::ideal::Ideal;
use slotline_net::node::host::Plan;
use slotline_net::workload::{Carrier, Flow, Role, Start};
use slotline_scenario::MeasureSpec;
use slotline_sim::{Follow, Network, Room, Slowest};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The packet-hops that the first pass of a run of `hops` records at most. With more, a run with `why = true` would take
/// more than twice the memory of one without. Each flow takes memory, too.
pub(crate) fn room(hops: u64, flows: u64) -> u64 {
    most_hops(hops) * 5 / 2 + 3 * flows
}

/// The same in a race, where it is known late which flows are behind.
fn room_for_race(hops: u64) -> u64 {
    most_hops(hops) * 7 / 2
}

/// A run before it begins.
pub(crate) struct Upcoming<'a> {
    pub network: &'a Network,
    pub plan: &'a Arc<Plan>,
    pub measure: &'a MeasureSpec,
    pub seed: u64,
    /// Whether hosts alone decide about rates, so that these are about max-min fair.
    pub fair: bool,
    /// Whether the slowest flows are those with the largest slowdown. Otherwise they are those that take longest.
    pub ideal: bool,
}

impl Upcoming<'_> {
    /// What the first pass records: the flows that the scenario names, if no others are followed; all flows that can be
    /// followed, if there is room for them; where each connection has one flow, those that may be among the slowest, and
    /// in a race those of them that are likely to be. In other runs it records nothing, and nothing where ports
    /// are captured, because such ports ask for each packet.
    pub fn record(&self) -> Follow {
        if !self.measure.capture.is_empty() {
            return Follow::default();
        }
        let follow = Follow { plan: Some(Arc::clone(self.plan)), ..Follow::default() };
        let certain = Chooser::of(self.plan, self.measure).conns;
        let lasting: Vec<u32> = certain.iter().copied().collect();
        if !self.measure.why {
            return Follow { conns: lasting, ..follow };
        }
        let costs = costs(self.plan);
        let hops = all(&costs);
        // Otherwise a connection with more hops than the slowest flows may have is not followed.
        let possible =
            |(conn, cost): &(u32, u64)| *cost <= most_hops(hops) || certain.contains(conn);
        let (conns, costs): (Vec<u32>, Vec<u64>) = costs.into_iter().filter(possible).unzip();
        let room = room(hops, self.plan.traffic.flows.len() as u64);
        if costs.iter().sum::<u64>() <= room {
            return Follow { conns, ..follow };
        }
        let traffic = &self.plan.traffic;
        if traffic.conns.iter().any(|conn| conn.count != 1) {
            return Follow::default();
        }
        let (conns, crossings) = match self.is_race() {
            true => (self.likely(certain, hops), room_for_race(hops)),
            false => (conns, room),
        };
        let count = traffic.flows.len().div_ceil(100);
        let slowest = Slowest::new(Arc::clone(self.plan), self.ideals(), count);
        Follow { conns, room: Some(Room { crossings, lasting, slowest }), ..follow }
    }

    /// By flow: its completion time in an empty network, in ps; empty if that does not matter.
    fn ideals(&self) -> Vec<u64> {
        if !self.ideal {
            return Vec::new();
        }
        let (plan, wiring) = (self.plan, self.network.graph.wiring());
        let mut ideal = Ideal::new(&plan.transport, &self.network.routes, &wiring);
        let time = |flow: &Flow| match plan.traffic.conns[flow.conn.at()] {
            conn if conn.carrier == Carrier::Tcp => {
                ideal.time((conn.src, conn.dst), flow.bytes).as_ps()
            }
            _ => 0,
        };
        plan.traffic.flows.iter().map(time).collect()
    }

    /// Whether all flows are equal, begin together, and get rates by their paths.
    fn is_race(&self) -> bool {
        let traffic = &self.plan.traffic;
        let Some(first) = traffic.flows.first() else { return false };
        let equal = |flow: &Flow| {
            (flow.bytes, flow.start, flow.role) == (first.bytes, first.start, Role::Alone)
        };
        self.fair
            && self.network.timeline.is_empty()
            && matches!(first.start, Start::At(_))
            && traffic.flows.iter().all(equal)
            && traffic.conns.iter().all(|conn| conn.carrier == Carrier::Tcp)
    }

    /// In a race of `hops`, the connections that are followed in any case, and as many of the slowest in the forecast as fit
    /// for half of the way. Those of them that are ahead are given up then.
    fn likely(&self, certain: BTreeSet<u32>, hops: u64) -> Vec<u32> {
        let most = (2 * room_for_race(hops) / cost(self.plan, 0)) as usize;
        let behind = forecast::slowest_first(self.network, self.plan, self.seed);
        let conn = |flow: &u32| self.plan.traffic.flows[*flow as usize].conn.0;
        let mut conns = certain;
        conns.extend(behind.iter().take(most).map(conn));
        conns.into_iter().collect()
    }
}
