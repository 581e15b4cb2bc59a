//! The scheduler, which turns large flows into paths. It depends on neither messages nor engines.

use super::spec::{Hedera, PlacementKind};
use crate::placement::{Annealing, Estimator, Fabric, Flow, anneal_per_flow, best, first_fit};
use slotline_net::id::{ConnId, HostId};
use slotline_net::rng::Stream;
use slotline_net::scheme::{Control, Decision, FlowCount, Network, News, Plan};
use slotline_net::time::Time;

/// A large flow of a host, and its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Known {
    conn: ConnId,
    dst: HostId,
    path: Option<u16>,
}

/// The state of a sending host.
#[derive(Clone, Debug, Default)]
struct Sender {
    /// The large flows, in the order of connections.
    flows: Vec<Known>,
    /// When it reported last.
    last_report: Time,
}

/// Hedera's central scheduler (§4.1.2). It keeps only soft state: reports are complete, and every decision has the
/// paths of all large flows.
pub struct Scheduler {
    options: Hedera,
    hosts: usize,
    fabric: Fabric,
    senders: Vec<Sender>,
    estimator: Estimator,
    map: Annealing,
    stream: Stream,
    /// Whether reports have arrived since the last decision.
    has_reports: bool,
    /// Working memory for one placement.
    flows: Vec<Flow>,
}

impl Scheduler {
    /// A scheduler for the hosts of `network`.
    pub fn new(options: Hedera, network: &Network, seed: u64) -> Scheduler {
        let fabric = Fabric::new(network);
        Scheduler {
            hosts: network.hosts(),
            senders: vec![Sender::default(); network.hosts()],
            estimator: Estimator::default(),
            map: Annealing::new(&fabric),
            stream: Stream::named(seed, "control.hedera", 0),
            has_reports: false,
            flows: Vec::new(),
            fabric,
            options,
        }
    }
    /// The number of known large flows.
    pub fn flows(&self) -> usize {
        self.senders.iter().map(|sender| sender.flows.len()).sum()
    }
    /// Handles a report of all large flows of a host. Known flows keep their paths.
    fn report(&mut self, host: HostId, counts: &[FlowCount], now: Time) {
        let hosts = self.hosts;
        let Some(sender) = self.senders.get_mut(host.at()) else { return };
        let path = |conn: ConnId| {
            let at = sender.flows.binary_search_by_key(&conn, |known| known.conn);
            at.ok().and_then(|at| sender.flows[at].path)
        };
        let known =
            |flow: &FlowCount| Known { conn: flow.conn, dst: flow.dst, path: path(flow.conn) };
        let valid = |flow: &&FlowCount| flow.dst.at() < hosts && flow.dst != host;
        let mut flows: Vec<Known> = counts.iter().filter(valid).map(known).collect();
        flows.sort_unstable_by_key(|known| known.conn);
        flows.dedup_by_key(|known| known.conn);
        (sender.flows, sender.last_report) = (flows, now);
    }
    /// Forgets the flows of hosts that have not reported for too long.
    fn forget_silent(&mut self, now: Time) {
        let expire = self.options.expire();
        for sender in &mut self.senders {
            if now.since(sender.last_report) > expire {
                sender.flows.clear();
            }
        }
    }
    /// Estimates demands and finds paths.
    fn place(&mut self) {
        self.flows.clear();
        for (src, sender) in (0..).map(HostId).zip(&self.senders) {
            let flow = |known: &Known| Flow { src, dst: known.dst, demand: 0.0, path: known.path };
            self.flows.extend(sender.flows.iter().map(flow));
        }
        self.estimator.assign(self.fabric.send(), self.fabric.receive(), &mut self.flows);
        let (flows, iterations) = (&mut self.flows, self.options.spec().iterations);
        let c = self.options.c(self.hosts);
        match self.options.spec().placement {
            PlacementKind::FirstFit => {
                first_fit(&mut self.fabric, flows);
            }
            PlacementKind::Annealing => {
                self.map.place(&mut self.fabric, flows, iterations, c, &mut self.stream);
            }
            PlacementKind::AnnealingPerFlow => {
                anneal_per_flow(&mut self.fabric, flows, iterations, c, &mut self.stream);
            }
            PlacementKind::Best => {
                best(&mut self.fabric, flows);
            }
        }
    }
}

impl Control for Scheduler {
    fn observe(&mut self, news: &News<'_>, now: Time) {
        match *news {
            News::Flows { host, flows, .. } => self.report(host, flows, now),
            News::Joined(host) | News::Left(host) => self.report(host, &[], now),
            News::Backlog { .. } | News::Load { .. } | News::Released { .. } => return,
        }
        self.has_reports = true;
    }
    fn decide(&mut self, now: Time, plan: &mut Plan) -> Option<Time> {
        if !std::mem::take(&mut self.has_reports) {
            return None;
        }
        self.forget_silent(now);
        self.place();
        let mut placed = self.flows.iter();
        for (src, sender) in (0..).map(HostId).zip(&mut self.senders) {
            for (known, flow) in sender.flows.iter_mut().zip(&mut placed) {
                known.path = flow.path;
                let (conn, dst) = (known.conn, known.dst);
                plan.extend(flow.path.map(|path| Decision::Path { src, conn, dst, path }));
            }
        }
        None
    }
    /// The numbers of paths may now stand for other paths, so all flows are placed again.
    fn rewire(&mut self, network: &Network, _now: Time) {
        self.fabric = Fabric::new(&network.clone().first(self.hosts));
        self.map = Annealing::new(&self.fabric);
        for sender in &mut self.senders {
            sender.flows.iter_mut().for_each(|known| known.path = None);
        }
        self.has_reports = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HederaSpec;
    use slotline_net::route::{Routes, RoutingSpec};
    use slotline_net::scheme::Map;
    use slotline_net::topology::{Down, FatTreeSpec, Graph, TopologySpec};
    use std::collections::BTreeMap;
    use std::sync::Arc;

    fn graph() -> Graph {
        TopologySpec::FatTree(FatTreeSpec::new(4)).build().unwrap()
    }
    fn network(graph: &Graph, down: &Down) -> Network {
        let routes = Arc::new(Routes::build(graph, RoutingSpec::Pinned, down, 1));
        Map::new(graph.nodes.len(), graph.hosts.len(), &graph.wiring(), &routes, 1).network()
    }
    fn scheduler(placement: PlacementKind) -> Scheduler {
        let options = HederaSpec { placement, ..HederaSpec::default() }.build().unwrap();
        Scheduler::new(options, &network(&graph(), &Down::default()), 1)
    }
    /// Host x sends to x + 4 on connection x.
    fn stride(scheduler: &mut Scheduler, hosts: std::ops::Range<u32>, now: Time) {
        for src in hosts {
            let flow = FlowCount { conn: ConnId(src), dst: HostId((src + 4) % 16), bytes: 9 };
            let news = News::Flows { host: HostId(src), span: Time::s(5), flows: &[flow] };
            scheduler.observe(&news, now);
        }
    }
    fn decided(scheduler: &mut Scheduler, now: Time) -> BTreeMap<u32, (u32, u32, u16)> {
        let mut plan = Plan::new();
        assert_eq!(scheduler.decide(now, &mut plan), None);
        let path = |decision| match decision {
            Decision::Path { src, conn, dst, path } => (conn.0, (src.0, dst.0, path)),
            other => panic!("{other:?}"),
        };
        plan.into_iter().map(path).collect()
    }
    /// How many flows are on the fullest link between switches.
    fn fullest(network: &Network, paths: &BTreeMap<u32, (u32, u32, u16)>) -> usize {
        let (mut load, mut links) = (BTreeMap::new(), Vec::new());
        for &(src, dst, path) in paths.values() {
            network.numbered_path(HostId(src), HostId(dst), path, &mut links);
            links.iter().for_each(|&link| *load.entry(link).or_insert(0) += 1);
        }
        load.into_values().max().unwrap()
    }

    #[test]
    fn flows_get_paths_of_their_own() {
        use PlacementKind::{Annealing, AnnealingPerFlow, Best, FirstFit};
        for kind in [FirstFit, Annealing, AnnealingPerFlow, Best] {
            let mut scheduler = scheduler(kind);
            stride(&mut scheduler, 0..16, Time::s(5));
            let paths = decided(&mut scheduler, Time::s(5));
            let network = network(&graph(), &Down::default());
            assert_eq!((paths.len(), fullest(&network, &paths)), (16, 1), "{kind:?}");
            // Flows that are reported again keep their paths. Without reports there are no decisions.
            stride(&mut scheduler, 0..16, Time::s(10));
            assert_eq!(decided(&mut scheduler, Time::s(10)), paths, "{kind:?}");
            assert!(decided(&mut scheduler, Time::s(11)).is_empty());
        }
    }

    #[test]
    fn flows_leave_a_link_that_fails() {
        let graph = graph();
        let link = graph.link_named("agg0.0-core0").unwrap();
        let broken = network(&graph, &Down { links: [link].into(), ..Down::default() });
        let mut scheduler = scheduler(PlacementKind::Best);
        // Half of the hosts: there is room for all without the link.
        let half = [0, 1, 4, 5, 8, 9, 12, 13];
        half.into_iter().for_each(|src| stride(&mut scheduler, src..src + 1, Time::s(5)));
        decided(&mut scheduler, Time::s(5));
        scheduler.rewire(&broken, Time::s(6));
        let paths = decided(&mut scheduler, Time::s(6));
        assert_eq!((paths.len(), fullest(&broken, &paths)), (8, 1));
    }

    /// The numbers of paths stay those of the whole network.
    #[test]
    fn flows_avoid_links_that_switches_report() {
        use PlacementKind::{Annealing, AnnealingPerFlow, Best, FirstFit};
        let graph = graph();
        let routes = Arc::new(Routes::build(&graph, RoutingSpec::Pinned, &Down::default(), 1));
        let map = Map::new(graph.nodes.len(), 16, &graph.wiring(), &routes, 1);
        let cable = map.cable(graph.links[graph.link_named("agg1.0-core0").unwrap()].a).unwrap();
        let survivors = crate::Survivors::new(map.network(), cable.into());
        for kind in [FirstFit, Annealing, AnnealingPerFlow, Best] {
            let mut scheduler = scheduler(kind);
            stride(&mut scheduler, 0..8, Time::s(5));
            decided(&mut scheduler, Time::s(5));
            scheduler.rewire(&survivors.network(), Time::s(6));
            stride(&mut scheduler, 0..8, Time::s(6));
            let paths = decided(&mut scheduler, Time::s(6));
            let working = |(conn, (src, dst, path)): (u32, (u32, u32, u16))| {
                let path = survivors.working(HostId(src), HostId(dst), path).unwrap();
                (conn, (src, dst, path))
            };
            let paths: BTreeMap<u32, (u32, u32, u16)> = paths.into_iter().map(working).collect();
            // Three links lead to pod 1, and from it, for four flows each.
            // First fit leaves flows to their hash for which there is no room.
            let expected = if kind == FirstFit { (6, 1) } else { (8, 2) };
            let found = (paths.len(), fullest(&map.network(), &paths));
            assert_eq!(found, expected, "{kind:?} {paths:?}");
        }
    }

    #[test]
    fn a_host_that_is_gone_is_removed() {
        let mut scheduler = scheduler(PlacementKind::FirstFit);
        stride(&mut scheduler, 0..16, Time::s(5));
        assert_eq!(scheduler.flows(), 16);
        scheduler.observe(&News::Left(HostId(3)), Time::s(6));
        assert_eq!(scheduler.flows(), 15);
        // The others are silent for more than three polls.
        stride(&mut scheduler, 0..2, Time::s(21));
        assert_eq!(decided(&mut scheduler, Time::s(21)).len(), 2);
        // Flows of unknown hosts, to the sender itself, or reported twice are ignored.
        let flow = |conn, dst| FlowCount { conn: ConnId(conn), dst: HostId(dst), bytes: 1 };
        let flows = [flow(1, 99), flow(2, 5), flow(3, 6), flow(3, 6)];
        for host in [HostId(5), HostId(99)] {
            scheduler.observe(&News::Flows { host, span: Time::s(5), flows: &flows }, Time::s(21));
        }
        assert_eq!(scheduler.flows(), 3);
    }
}
