//! Turns the outcome of an engine into a record.

use crate::ideal::Ideal;
use crate::record::{
    Conservation, ControlRow, EngineStats, EstimateRow, FaultRow, FlowRow, LimitRow, NEVER,
    PortRow, RunRecord, Samples, StoppedRow, VoqRow,
};
use slotline_hybrid::VoqStats;
use slotline_hybrid::node::{PanelSwitch, Tor};
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::bump::{Bumped, Estimate, Limited};
use slotline_net::node::host::{FlowResult, Plan};
use slotline_net::node::switch::Switch;
use slotline_net::node::{Counter, Counters, Fault, Node, Part, Stopped};
use slotline_net::route::Routes;
use slotline_net::time::Time;
use slotline_net::topology::{Graph, NodeKind, Wiring};
use slotline_net::transport::Transport;
use slotline_net::workload::{Carrier, Flow, Role};
use slotline_scenario::Scenario;
use slotline_sim::{Outcome, Place};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What must be known about a network to read the results of a run on it.
pub struct Scene {
    /// The network.
    pub graph: Graph,
    /// The ports of each node and the links at them.
    pub wiring: Wiring,
    /// Traffic and transport.
    pub plan: Arc<Plan>,
    /// Routes at the start.
    pub routes: Arc<Routes>,
    /// Ports that were sampled, by series.
    pub sampled: Vec<(NodeId, PortId)>,
    /// Whether the time of each flow alone in the network is computed.
    pub ideal: bool,
    /// Circuit switches. What is sent to one arrives at the far end of its circuit.
    pub circuits: Vec<NodeId>,
    /// Whether racks queue packets by port and not by destination rack. They do so if a core is behind circuit
    /// switches.
    pub by_port: bool,
}

impl Scene {
    /// The scene of a network that `scenario` describes, under scheme number `at`.
    pub fn of(
        scenario: &Scenario,
        at: usize,
        graph: Graph,
        wiring: Wiring,
        plan: &Arc<Plan>,
        routes: Arc<Routes>,
        sampled: Vec<(NodeId, PortId)>,
    ) -> Scene {
        let fabric = scenario.fabric_of(&scenario.scheme[at]);
        Scene {
            ideal: scenario.measure.ideal && fabric.hybrid().is_none(),
            circuits: fabric.circuit_switches(),
            by_port: fabric.has_core(),
            plan: Arc::clone(plan),
            graph,
            wiring,
            routes,
            sampled,
        }
    }

    /// Records everything in `outcome`. Panics if packets were lost or invented: that is a fault of this program, and
    /// no number of such a run could be trusted.
    pub fn record(&self, outcome: &mut Outcome) -> RunRecord {
        let mut flows = flows(&self.plan, outcome);
        self.fill_ideal(&self.plan.transport, &mut flows);
        let ports = self.ports_with(|node, port| port_row(outcome, node, port));
        let census = census(outcome);
        let counters = counters(outcome);
        let row_of = self.rows();
        assert!(census.holds(), "packets were lost or invented: {census:?}");
        RunRecord {
            samples: self.samples(std::mem::take(&mut outcome.samples)),
            estimates: self.estimates(outcome, &row_of),
            limits: self.limits(outcome, &row_of),
            stopped: self.stopped(&counters, &row_of),
            control: counters.all().map(control_row).collect(),
            voqs: outcome.places.iter().flat_map(voqs).collect(),
            faults: counters.faults().iter().map(|fault| self.fault(fault)).collect(),
            engine: engine(outcome),
            flows,
            ports,
            census,
            ..RunRecord::default()
        }
    }

    /// The estimates of bumps, in order of time.
    fn estimates(&self, outcome: &Outcome, row_of: &RowOf) -> Vec<EstimateRow> {
        let row = |node: u32, estimate: &Estimate| EstimateRow {
            t_ps: estimate.at.as_ps(),
            port: row_of[&(NodeId(node), estimate.port)],
            bump: estimate.table,
            estimate_bytes: estimate.estimate,
            real_bytes: estimate.real,
        };
        let all = (0..).zip(&outcome.places);
        let mut rows: Vec<EstimateRow> = all
            .flat_map(|(node, place)| estimates_at(place).iter().map(move |one| row(node, one)))
            .collect();
        rows.sort_by_key(|row| (row.t_ps, row.port, row.bump));
        rows
    }

    /// The samples of flows that bumps limited, in order of time.
    fn limits(&self, outcome: &Outcome, row_of: &RowOf) -> Vec<LimitRow> {
        let row = |node: u32, one: &Limited| LimitRow {
            t_ps: one.at.as_ps(),
            port: row_of[&(NodeId(node), one.port)],
            connection: one.flow,
            rate_bps: one.rate.0,
            queue_bytes: one.bytes,
        };
        let mut rows: Vec<LimitRow> = (0..)
            .zip(&outcome.places)
            .flat_map(|(node, place)| limited(place).iter().map(move |one| row(node, one)))
            .collect();
        rows.sort_by_key(|row| (row.t_ps, row.port, row.connection));
        rows
    }

    /// The queues whose discipline failed, in order of time.
    fn stopped(&self, counters: &Counters, row_of: &RowOf) -> Vec<StoppedRow> {
        let row = |one: Stopped| StoppedRow {
            t_ps: one.failure.at.as_ps(),
            port: row_of[&(one.node, one.port)],
            bump: one.bump.map_or(NEVER, u64::from),
            class: one.class,
            unjudged: one.failure.unjudged,
            why: one.failure.why,
        };
        counters.stopped().into_iter().map(row).collect()
    }

    /// A fault, with the name of its component.
    fn fault(&self, fault: &Fault) -> FaultRow {
        let ps = |time: Option<Time>| time.map_or(NEVER, Time::as_ps);
        let (name, switch) = match fault.part {
            Part::Link(link) => (self.graph.link_name(link as usize), false),
            Part::Switch(node) => (self.graph.nodes[node.at()].name.clone(), true),
        };
        let (avoided_ps, cleared_ps) = (ps(fault.avoided), ps(fault.cleared));
        FaultRow { name, switch, found_ps: fault.found.as_ps(), avoided_ps, cleared_ps }
    }

    /// The time of each flow alone in the network, if it is computed.
    pub(crate) fn fill_ideal(&self, transport: &Transport, flows: &mut [FlowRow]) {
        if self.ideal {
            Ideal::new(transport, &self.routes, &self.wiring).fill(flows);
        }
    }

    /// The index of each port in [`RunRecord::ports`].
    pub fn rows(&self) -> RowOf {
        let ports = |node: u32| {
            let ports = self.wiring.of(NodeId(node)).len() as u16;
            (0..ports).map(move |port| (NodeId(node), PortId(port)))
        };
        (0..self.graph.nodes.len() as u32).flat_map(ports).zip(0..).collect()
    }

    /// All ports, with the values that `counted` gives for each.
    pub(crate) fn ports_with(&self, counted: impl Fn(NodeId, PortId) -> PortRow) -> Vec<PortRow> {
        let mut rows = Vec::new();
        for (node, info) in self.graph.nodes.iter().enumerate() {
            let id = NodeId(node as u32);
            for port in (0..self.wiring.of(id).len() as u16).map(PortId) {
                let far = self.wiring.of(id)[port.at()].far.node;
                rows.push(PortRow {
                    node: info.name.clone(),
                    port: self.graph.nodes[far.at()].name.clone(),
                    host: info.kind != NodeKind::Switch,
                    rate_bps: self.wiring.of(id)[port.at()].lane.rate.0,
                    ..counted(id, port)
                });
            }
        }
        rows
    }

    /// Samples whose ports have the numbers of rows.
    pub(crate) fn samples(&self, samples: Samples) -> Samples {
        let row_of = self.rows();
        samples.numbered(|port| row_of[&self.sampled[port as usize]])
    }
}

/// Index into [`RunRecord::ports`].
pub type RowOf = BTreeMap<(NodeId, PortId), u32>;

/// What happened to each flow, from the results of both ends.
fn flows(plan: &Plan, outcome: &mut Outcome) -> Vec<FlowRow> {
    let mut rows: Vec<FlowRow> =
        (0..plan.all_flows()).map(|id| planned(plan, id, plan.flow(id))).collect();
    for place in &mut outcome.places {
        let Place::Host(host) = place else { continue };
        for result in host.results() {
            match result {
                FlowResult::Sent(flow, sent) => {
                    let row = &mut rows[flow.at()];
                    row.start_ps = sent.started.as_ps();
                    (row.retransmits, row.timeouts) = (sent.retransmissions, sent.timeouts);
                }
                FlowResult::Received(flow, received) => {
                    let row = &mut rows[flow.at()];
                    row.finish_ps = received.finished.as_ps();
                    row.delivered_bytes = received.bytes;
                }
            }
        }
    }
    rows
}

/// The row of a flow that has not started.
pub(crate) fn planned(plan: &Plan, id: u32, flow: &Flow) -> FlowRow {
    let conn = plan.conn(flow.conn.0);
    FlowRow {
        flow: id,
        group: flow.group,
        src: conn.src.0,
        dst: conn.dst.0,
        bytes: flow.bytes,
        start_ps: NEVER,
        finish_ps: NEVER,
        udp: conn.carrier != Carrier::Tcp,
        request: matches!(flow.role, Role::Request(_) | Role::Signal),
        exchange: flow.role.exchange(),
        ..FlowRow::default()
    }
}

/// The counters of a port: the engine's for a FIFO, the switch's own otherwise.
fn port_row(outcome: &Outcome, node: NodeId, port: PortId) -> PortRow {
    let counters = &outcome.ports[node.at()][port.at()];
    let mut row = PortRow {
        tx_packets: counters.packets,
        tx_bytes: counters.bytes,
        drops: counters.full + counters.early + counters.down,
        marks: counters.marks,
        peak_bytes: counters.peak,
        ..PortRow::default()
    };
    if let Place::Node(place) = &outcome.places[node.at()]
        && let Some(switch) = switch_of(&**place)
    {
        let stats = switch.stats(port);
        row.drops += stats.classes.iter().flat_map(|class| class.drops).sum::<u64>();
        row.marks += stats.classes.iter().map(|class| class.marks).sum::<u64>();
        row.peak_bytes = row.peak_bytes.max(stats.max_backlog);
        row.message_peak_bytes = stats.max_messages;
        row.pauses = stats.pauses_received;
    }
    row
}

/// The estimates of the bumps at a place.
fn estimates_at(place: &Place) -> &[Estimate] {
    let Place::Node(node) = place else { return &[] };
    node.downcast_ref().map_or(&[], Bumped::estimates)
}

/// The samples of flows that the bumps at a place limit.
fn limited(place: &Place) -> &[Limited] {
    let Place::Node(node) = place else { return &[] };
    node.downcast_ref().map_or(&[], Bumped::limited)
}

/// The queues of a rack's switch; none at other places.
fn voqs(place: &Place) -> Vec<VoqRow> {
    let Place::Node(node) = place else { return vec![] };
    if let Some(tor) = node.downcast_ref::<Tor>() {
        return voqs_of(tor.racks(), |rack| tor.stats(rack));
    }
    let patched = node.downcast_ref::<PanelSwitch>();
    let patched = patched.and_then(|switch| Some((switch, switch.racks()?)));
    patched.map_or(vec![], |(switch, racks)| voqs_of(racks, |rack| switch.stats(rack)))
}

fn voqs_of((rack, racks): (u32, u32), stats: impl Fn(usize) -> (VoqStats, Time)) -> Vec<VoqRow> {
    let row = |to: u32| {
        let (stats, up) = stats(to as usize);
        VoqRow {
            src_rack: rack,
            dst_rack: to,
            packets: stats.arrived,
            circuit_bytes: stats.circuit_bytes,
            packet_switch_bytes: stats.packet_bytes,
            drops: stats.refused,
            resize_drops: stats.shed,
            resizes: stats.resizes,
            longest: stats.longest.into(),
            mean_wait_ps: stats.waited / stats.left.max(1),
            circuit_up_ps: up.as_ps(),
        }
    };
    (0..racks).map(row).filter(|row| row.packets > 0).collect()
}

/// The switch at a node, also if it is behind bumps.
fn switch_of(node: &dyn Node) -> Option<&Switch> {
    let any = node;
    let bumped = || any.downcast_ref().map(Bumped::switch);
    any.downcast_ref().or_else(bumped).or_else(|| any.downcast_ref().map(PanelSwitch::switch))
}

/// The counts of all nodes, and the faults that they found.
fn counters(outcome: &Outcome) -> Counters {
    let mut counters = Counters::default();
    for place in &outcome.places {
        match place {
            Place::Host(host) => host.add_counters(&mut counters),
            Place::Node(node) => node.add_counters(&mut counters),
            Place::Switch => {}
        }
    }
    counters
}

pub(crate) fn control_row((counter, value): (Counter, u64)) -> ControlRow {
    ControlRow { count: counter.name.into(), value }
}

fn census(outcome: &Outcome) -> Conservation {
    let packets = &outcome.conservation;
    Conservation {
        sent: packets.created,
        delivered: packets.consumed,
        dropped: packets.dropped,
        in_flight: packets.in_flight,
    }
}

/// What the engine counted. Its caller adds the cost.
fn engine(outcome: &Outcome) -> EngineStats {
    EngineStats {
        events: outcome.events,
        packet_hops: outcome.packet_hops,
        digest: outcome.digest,
        threads: outcome.threads as u32,
        sim_time_ps: outcome.reached.as_ps(),
        ..EngineStats::default()
    }
}
