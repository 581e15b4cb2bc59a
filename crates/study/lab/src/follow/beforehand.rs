//! Selects what the first pass of a run records, so that most runs need no second one.

use super::choose::{Chooser, cost, drawn, most_hops};
use super::forecast;
use slotline_net::node::host::Plan;
use slotline_net::workload::{Carrier, Flow, Role, Start, Traffic};
use slotline_scenario::MeasureSpec;
use slotline_sim::{Follow, Network};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The packet-hops that the first pass of a run of `hops` records at most. With more, a run with `why = true` would take
/// more than twice the memory of one without.
pub(crate) fn room(hops: u64) -> u64 {
    most_hops(hops) * 5 / 2
}

/// The hops of the largest flows are at most so many times those that are recorded at a time. With more, it is likely that
/// the wrong ones are given up.
const MOST_AHEAD: u64 = 4;

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
    /// followed, if there is room for them; in a race, or where the slowest flows are large ones, those that are likely to be
    /// followed. In other runs it records nothing, because what will be followed cannot be foreseen, and nothing where ports
    /// are captured, because such ports ask for each packet.
    pub fn record(&self) -> Follow {
        if !self.measure.capture.is_empty() {
            return Follow::default();
        }
        let named = self.conns_of(&self.measure.follow);
        if !self.measure.why {
            return Follow { conns: named.into_iter().collect(), ..Follow::default() };
        }
        let costs = self.costs();
        let hops = costs.iter().map(|(_, cost)| cost).sum();
        // Unless it is named, a connection with more hops than are followed in all is not followed.
        let possible = |(conn, cost): &(u32, u64)| *cost <= most_hops(hops) || named.contains(conn);
        let (conns, costs): (Vec<u32>, Vec<u64>) = costs.into_iter().filter(possible).unzip();
        let follow = match costs.iter().sum::<u64>() <= room(hops) {
            true => Follow { conns, ..Follow::default() },
            false if self.is_race() => self.racers(hops),
            false if !self.ideal => self.largest(hops),
            false => return Follow::default(),
        };
        Follow { room: Some(room(hops)), ..follow }
    }

    /// The TCP connections, and the approximate number of hops of all packets of each.
    fn costs(&self) -> Vec<(u32, u64)> {
        let conns = (0..).zip(&self.plan.traffic.conns);
        let conns = conns.filter(|(_, conn)| conn.carrier == Carrier::Tcp);
        conns.map(|(conn, _)| (conn, cost(self.plan, conn))).collect()
    }

    fn conns_of<'a>(&self, flows: impl IntoIterator<Item = &'a u32>) -> BTreeSet<u32> {
        let flow = |flow: &u32| &self.plan.traffic.flows[*flow as usize];
        flows.into_iter().map(|number| flow(number).conn.0).collect()
    }

    /// Whether all flows are equal, begin together, have connections of their own, and get rates by their paths.
    fn is_race(&self) -> bool {
        let traffic = &self.plan.traffic;
        let Some(first) = traffic.flows.first() else { return false };
        let equal = |flow: &Flow| {
            (flow.bytes, flow.start, flow.role) == (first.bytes, first.start, Role::Alone)
        };
        self.fair
            && self.network.timeline.is_empty()
            && matches!(first.start, Start::At(_))
            && traffic.flows.len() == traffic.conns.len()
            && traffic.flows.iter().all(equal)
            && traffic.conns.iter().all(|conn| conn.carrier == Carrier::Tcp)
    }

    /// In a race of `hops`, the flows that are named or will be drawn, and as many of the slowest in the forecast as fit
    /// for half of the way. Those of them that are ahead are given up then.
    fn racers(&self, hops: u64) -> Follow {
        let flows = &self.plan.traffic.flows;
        let each = cost(self.plan, 0);
        let followed = (most_hops(hops) / each) as usize;
        if followed == 0 {
            return Follow::default();
        }
        let slowest = flows.len().div_ceil(100);
        // One of the first that are drawn may be among the slowest.
        let chances = (followed + 1).saturating_sub(slowest);
        let chance: Vec<u32> = drawn(0..flows.len() as u32).take(chances).collect();
        let lasting = self.conns_of(self.measure.follow.iter().chain(&chance));
        let behind = forecast::slowest_first(self.network, self.plan, self.seed);
        let behind = self.conns_of(behind.iter().take((2 * room(hops) / each) as usize));
        let conns = lasting.union(&behind).copied().collect();
        Follow { conns, lasting: lasting.into_iter().collect(), ..Follow::default() }
    }

    /// Where the flows that take longest will be followed: as many of the largest flows, with all that are not smaller, and
    /// the flows that will be drawn. Of the largest ones, those that are ahead are given up.
    fn largest(&self, hops: u64) -> Follow {
        let Traffic { flows, conns, .. } = &self.plan.traffic;
        let is_tcp = |flow: &Flow| conns[flow.conn.at()].carrier == Carrier::Tcp;
        let possible = (0..).zip(flows).filter(|(_, flow)| is_tcp(flow));
        let (numbers, mut sizes): (Vec<u32>, Vec<u64>) =
            possible.map(|(number, flow)| (number, flow.bytes)).unzip();
        let slowest = numbers.len().div_ceil(100);
        let (_, &mut least, _) =
            sizes.select_nth_unstable_by_key(slowest - 1, |size| Reverse(*size));
        let large = numbers.iter().filter(|&&flow| flows[flow as usize].bytes >= least);
        let large = self.conns_of(large);
        let all = large.iter().map(|&conn| cost(self.plan, conn)).sum::<u64>();
        let left = most_hops(hops).saturating_sub(all / large.len() as u64 * slowest as u64);
        if left == 0 || all > MOST_AHEAD * room(hops) {
            return Follow::default();
        }
        let mut chooser = Chooser::new(self.plan, left);
        drawn(numbers).for_each(|flow| chooser.take_if_room(flow));
        let lasting = &chooser.conns | &self.conns_of(&self.measure.follow);
        let conns = lasting.union(&large).copied().collect();
        Follow { conns, lasting: lasting.into_iter().collect(), ..Follow::default() }
    }
}
