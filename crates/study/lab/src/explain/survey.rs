//! Builds a scenario to describe it: its graph, the traffic of the first seed, and the load of each link.

use crate::build::sample;
use crate::output::format::quantity;
use slotline_net::error::SpecError;
use slotline_net::id::{HostId, NodeId};
use slotline_net::node::host::pair_entropy;
use slotline_net::route::Routes;
use slotline_net::time::Time;
use slotline_net::topology::{End, Graph, LinkParams, NodeKind, Wiring};
use slotline_net::transport::Transport;
use slotline_net::units::Rate;
use slotline_net::wire::UDP_HEADERS;
use slotline_net::workload::{Carrier, Conn, Count, Start, Traffic, WorkloadSpec};
use slotline_scenario::metric::Unit;
use slotline_scenario::{EndWhen, Loaded, Scenario};

/// A scenario with its graph, its traffic and the load of each link.
pub(super) struct Survey<'a> {
    pub scenario: &'a Scenario,
    pub graph: Graph,
    pub wiring: Wiring,
    pub routes: Routes,
    /// The first flows of each workload.
    pub traffic: Traffic,
    /// The number of flows of each workload.
    counts: Vec<Count>,
    /// The transport of the first scheme.
    pub transport: Transport,
    /// All directed links, in order of node and port.
    pub lanes: Vec<DirectedLink>,
    /// The index in `lanes` of the first link of each node.
    first: Vec<usize>,
    /// For each connection, where the directed links of its path are in `path_lanes`.
    paths: Vec<std::ops::Range<usize>>,
    path_lanes: Vec<u32>,
}

/// A directed link.
#[derive(Clone, Debug)]
pub(super) struct DirectedLink {
    pub from: NodeId,
    pub to: NodeId,
    pub lane: LinkParams,
    /// Bytes of the traffic on this link, with framing and acknowledgements.
    pub bytes: f64,
}

impl DirectedLink {
    /// How long the link takes to carry all of its bytes.
    pub fn busy(&self) -> Time {
        Time::from_secs_f64(self.bytes * 8.0 / self.lane.rate.0.max(1) as f64)
    }
}

/// What a connection sends.
#[derive(Clone, Copy, Default)]
pub(super) struct Load {
    pub packets: f64,
    pub wire_bytes: f64,
    pub acks: f64,
    pub ack_bytes: f64,
}

impl<'a> Survey<'a> {
    pub fn of(loaded: &'a Loaded) -> Result<Survey<'a>, SpecError> {
        let scenario = &loaded.scenario;
        let graph = scenario.fabric.build()?;
        let first = u64::from(scenario.seed);
        let counts = |seed| (seed == first).then_some(loaded.counts());
        let of_seed = |seed| sample(scenario, &graph, seed, counts(seed), loaded);
        // A seed may give no flow.
        let mut seeds = scenario.seeds().into_iter();
        let (traffic, counts) = match seeds.find_map(|seed| of_seed(seed).ok()) {
            Some(made) => made,
            None => of_seed(first)?,
        };
        let transport = scenario.scheme[0].transport.build()?;
        let wiring = graph.wiring();
        let routing = scenario.scheme[0].routing;
        let unrouted = scenario.fabric.unrouted();
        let routes = Routes::build(&graph, routing, &unrouted, scenario.seed.into());
        let mut survey = Survey {
            scenario,
            wiring,
            routes,
            traffic,
            counts,
            transport,
            lanes: vec![],
            first: vec![],
            paths: vec![],
            path_lanes: vec![],
            graph,
        };
        survey.list_lanes();
        survey.find_paths();
        survey.add_loads();
        Ok(survey)
    }

    fn list_lanes(&mut self) {
        for node in 0..self.graph.nodes.len() as u32 {
            self.first.push(self.lanes.len());
            let wires = self.wiring.of(NodeId(node)).iter();
            let link = |wire: &slotline_net::topology::Wire| DirectedLink {
                from: NodeId(node),
                to: wire.far.node,
                lane: wire.lane,
                bytes: 0.0,
            };
            self.lanes.extend(wires.map(link));
        }
    }

    fn find_paths(&mut self) {
        for conn in &self.traffic.conns {
            let start = self.path_lanes.len();
            let key = |host: HostId| self.wiring.key(self.graph.hosts[host.at()]);
            let entropy = pair_entropy(self.scenario.seed.into(), key(conn.src), key(conn.dst));
            let path = self.routes.path(&self.wiring, conn.src, conn.dst, entropy);
            let lane = |end: &End| (self.first[end.node.at()] + end.port.at()) as u32;
            self.path_lanes.extend(path.iter().flatten().map(lane));
            self.paths.push(start..self.path_lanes.len());
        }
    }

    /// The packets that leave from a port before the latest end of the run.
    pub fn packets_from(&self, port: End) -> f64 {
        let lane = (self.first[port.node.at()] + port.port.at()) as u32;
        let crosses = |at: &usize| self.path_lanes[self.paths[*at].clone()].contains(&lane);
        let packets = |at: usize| {
            let conn = &self.traffic.conns[at];
            let load = self.load(conn, &self.transport);
            (load.packets + load.acks) * self.scale_of(conn) * self.done(at)
        };
        (0..self.paths.len()).filter(crosses).map(packets).sum()
    }

    /// The part of a connection's data that the links of its path can carry before the latest end of the run.
    pub fn done(&self, conn: usize) -> f64 {
        let end = self.scenario.end.at.unwrap_or(Time::MAX).as_secs_f64();
        let share = |link: &DirectedLink| (end / link.busy().as_secs_f64().max(1e-12)).min(1.0);
        self.path(conn).map(share).fold(1.0, f64::min)
    }

    fn add_loads(&mut self) {
        for (at, conn) in self.traffic.conns.iter().enumerate() {
            let load = self.load(conn, &self.transport);
            let scale = self.scale_of(conn);
            for &lane in &self.path_lanes[self.paths[at].clone()] {
                self.lanes[lane as usize].bytes += load.wire_bytes * scale;
            }
        }
    }

    /// The number of flows of a run that each flow of `group` in the sample represents.
    pub fn scale(&self, group: u16) -> f64 {
        let count = self.counts.get(usize::from(group)).copied().unwrap_or_default();
        count.all.max(1) as f64 / count.made.max(1) as f64
    }

    /// As [`Survey::scale`], for the flows of a connection.
    pub fn scale_of(&self, conn: &Conn) -> f64 {
        let first = self.traffic.flows.get(conn.first.at());
        first.map_or(1.0, |flow| self.scale(flow.group))
    }

    /// The number of flows of a run.
    pub fn flows(&self) -> u64 {
        self.counts.iter().map(|count| count.all).sum()
    }

    /// The directed links of connection `at`.
    pub fn path(&self, at: usize) -> impl Iterator<Item = &DirectedLink> {
        let lanes = &self.path_lanes[self.paths[at].clone()];
        lanes.iter().map(|&lane| &self.lanes[lane as usize])
    }

    /// What a connection sends under `transport`.
    pub fn load(&self, conn: &Conn, transport: &Transport) -> Load {
        let flows = &self.traffic.flows[conn.first.at()..][..conn.count as usize];
        flows.iter().fold(Load::default(), |sum, flow| {
            let own = match conn.carrier {
                Carrier::Tcp => of_tcp(flow.bytes, transport),
                Carrier::Udp { message, .. } => of_udp(flow.bytes, message, transport),
            };
            Load {
                packets: sum.packets + own.packets,
                wire_bytes: sum.wire_bytes + own.wire_bytes,
                acks: sum.acks + own.acks,
                ack_bytes: sum.ack_bytes + own.ack_bytes,
            }
        })
    }

    /// The time for a full packet and its acknowledgement between two hosts in an empty network.
    pub fn round_trip(&self, src: HostId, dst: HostId, transport: &Transport) -> Option<Time> {
        let data = u64::from(transport.data_len(transport.mss()));
        let there = self.one_way(src, dst, data)?;
        Some(there + self.one_way(dst, src, transport.ack_len().into())?)
    }

    fn one_way(&self, src: HostId, dst: HostId, bytes: u64) -> Option<Time> {
        let path = self.routes.path(&self.wiring, src, dst, 0)?;
        let lanes = path.iter().map(|end| self.wiring.of(end.node)[end.port.at()].lane);
        Some(lanes.fold(Time::ZERO, |sum, lane| {
            sum + lane.delay + lane.rate.inverse_rate().time_for(bytes)
        }))
    }

    /// The least and the largest round trip from the first host to another.
    pub fn round_trips(&self, transport: &Transport) -> Option<(Time, Time)> {
        let others = 1..self.graph.hosts.len() as u32;
        let all = others.filter_map(|to| self.round_trip(HostId(0), HostId(to), transport));
        all.fold(None, |span, time| match span {
            None => Some((time, time)),
            Some((least, most)) => Some((time.min(least), time.max(most))),
        })
    }

    /// The directed link that takes longest to carry its bytes.
    pub fn busiest(&self) -> Option<&DirectedLink> {
        self.lanes.iter().max_by_key(|link| (link.busy(), std::cmp::Reverse(link.from)))
    }

    /// The name of a directed link, as `h0-s0`.
    pub fn name(&self, link: &DirectedLink) -> String {
        let name = |node: NodeId| &self.graph.nodes[node.at()].name;
        format!("{}-{}", name(link.from), name(link.to))
    }

    pub fn is_host(&self, node: NodeId) -> bool {
        self.graph.nodes[node.at()].kind == NodeKind::Host
    }

    /// Whether the flows of a workload last as long as the run.
    pub fn endless(&self, group: u16) -> bool {
        match &self.scenario.workload[usize::from(group)] {
            WorkloadSpec::Bulk(bulk) => bulk.size.is_none(),
            WorkloadSpec::Udp(_) => true,
            _ => false,
        }
    }

    /// The start times that are known before the run, for the flows of `group` or for all flows.
    pub fn starts(&self, group: Option<u16>) -> impl Iterator<Item = Time> {
        let flows = self.traffic.flows.iter();
        flows.filter(move |flow| group.is_none_or(|group| flow.group == group)).filter_map(|flow| {
            match flow.start {
                Start::At(time) => Some(time),
                Start::After { .. } => None,
            }
        })
    }

    /// The number of flows of a run whose start times are known before.
    pub fn begin_at_known_times(&self) -> f64 {
        let groups = 0..self.counts.len() as u16;
        groups.map(|group| self.starts(Some(group)).count() as f64 * self.scale(group)).sum()
    }

    /// The directed links from switches to hosts, or to other switches.
    pub fn ports_of_switches(&self, to_hosts: bool) -> impl Iterator<Item = &DirectedLink> {
        let of_switch = move |link: &&DirectedLink| {
            !self.is_host(link.from) && self.is_host(link.to) == to_hosts
        };
        self.lanes.iter().filter(of_switch)
    }

    /// The first and the last of the start times that are known before the run, for the flows of `group`. If the sample
    /// does not have all of the flows that arrive over time, the last start time is extrapolated.
    pub fn first_and_last(&self, group: u16) -> Option<(Time, Time)> {
        let (first, last) = (self.starts(Some(group)).min()?, self.starts(Some(group)).max()?);
        let count = self.counts.get(usize::from(group)).copied().unwrap_or_default();
        let open = self.starts(Some(group)).count() as u64 == count.made;
        let scale = if open { self.scale(group) } else { 1.0 };
        let span = Time::from_secs_f64(last.since(first).as_secs_f64() * scale);
        let end = self.scenario.end.at.unwrap_or(Time::MAX);
        Some((first, if scale > 1.0 { first.after(span).min(end) } else { last }))
    }

    /// As [`Survey::first_and_last`], for all flows.
    pub fn all_first_and_last(&self) -> Option<(Time, Time)> {
        let groups = 0..self.counts.len() as u16;
        let spans = groups.filter_map(|group| self.first_and_last(group));
        spans.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
    }

    /// The least duration of a run: until its end, or until the busiest link has carried its bytes.
    pub fn lasts(&self) -> Time {
        let busy = self.busiest().map_or(Time::ZERO, DirectedLink::busy);
        let work = busy.max(self.all_first_and_last().unwrap_or_default().1);
        match (self.scenario.end.at, self.scenario.end.when) {
            (Some(at), EndWhen::Time) => at,
            (Some(at), EndWhen::FlowsDone) => at.min(work),
            (None, _) => work,
        }
    }
}

fn of_tcp(bytes: u64, transport: &Transport) -> Load {
    let packets = f64::from(transport.segments(bytes));
    let overhead = f64::from(transport.data_len(0)).min(f64::from(transport.data_len(1)));
    let acks = if transport.delayed_ack() == Time::ZERO { packets } else { (packets / 2.0).ceil() };
    Load {
        packets,
        wire_bytes: bytes as f64 + packets * overhead,
        acks,
        ack_bytes: acks * f64::from(transport.ack_len()),
    }
}

fn of_udp(bytes: u64, message: u32, transport: &Transport) -> Load {
    let fragments = (message + 8).div_ceil(transport.mtu().saturating_sub(20).max(1));
    let packets = bytes as f64 / f64::from(message.max(1)) * f64::from(fragments);
    let framing = f64::from(transport.datagram_len(1400)) - 1400.0;
    let wire_bytes = bytes as f64 + packets * (f64::from(UDP_HEADERS) + framing);
    Load { packets, wire_bytes, ..Load::default() }
}

/// A rate as text, as `10 Gbit/s`.
pub(super) fn rate(rate: Rate) -> String {
    quantity(Unit::BitsPerSecond, rate.0 as f64)
}

/// A number of bytes as text, as `1.5 KB`.
pub(super) fn size(bytes: f64) -> String {
    quantity(Unit::Bytes, bytes)
}
