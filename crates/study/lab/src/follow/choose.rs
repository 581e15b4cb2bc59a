//! Selects the flows to follow.

use crate::collect::Scene;
use crate::record::{FlowRow, RunRecord};
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::host::Plan;
use slotline_net::rng::mix64;
use slotline_net::workload::{Carrier, Flow, Role};
use slotline_scenario::MeasureSpec;
use slotline_scenario::port_names::ports_named;
use slotline_sim::Follow;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

/// The most packet-hops of one half of the followed flows, in large runs. Each takes 32 bytes.
const MOST_HOPS: u64 = 750_000;
/// The number in any run.
const LEAST_HOPS: u64 = 200_000;
/// One in so many packet-hops of a run belongs to one half of the followed flows, so that following them costs a small part of
/// the run.
const HOPS_PER_RECORDED: u64 = 80;

/// The approximate number of packet-hops of one half of the followed flows in a run of `hops`: of the sample, and of the
/// slowest flows.
pub(crate) fn most_hops(hops: u64) -> u64 {
    (hops / HOPS_PER_RECORDED).clamp(LEAST_HOPS, MOST_HOPS)
}

/// The approximate number of links that a segment and its acknowledgement cross.
pub(crate) const HOPS_PER_SEGMENT: u64 = 12;

/// What is followed in a run.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Flows whose time is explained, by number.
    pub flows: Vec<u32>,
    /// The flows among them that the scenario names.
    pub named: Vec<u32>,
    /// Connections of these flows, by number.
    pub conns: Vec<u32>,
    /// Captured ports.
    pub ports: Vec<(NodeId, PortId)>,
    /// The most packets that are recorded at each port.
    pub limit: u64,
}

impl Choice {
    /// Chooses the flows that are followed in any case (`Chooser::of`), and the slowest 1 % that still fit. It also chooses the ports
    /// to capture.
    pub fn of(record: &RunRecord, scene: &Scene, measure: &MeasureSpec) -> Choice {
        let mut chooser = Chooser::of(&scene.plan, measure);
        if measure.why {
            slowest(record).0.iter().for_each(|&flow| chooser.take_if_room(flow));
        }
        let named: Vec<u32> = measure.follow.clone();
        let Chooser { mut flows, conns, .. } = chooser;
        flows.sort_unstable();
        flows.dedup();
        Choice {
            flows,
            named,
            conns: conns.into_iter().collect(),
            ..Choice::capture(scene, measure)
        }
    }

    /// The ports to capture, and no flows.
    pub fn capture(scene: &Scene, measure: &MeasureSpec) -> Choice {
        let named = measure.capture.iter().flat_map(|name| ports_named(&scene.graph, name));
        let ports: BTreeSet<_> = named.map(|end| (end.node, end.port)).collect();
        let ports = ports.into_iter().collect();
        Choice { ports, limit: measure.capture_limit, ..Choice::default() }
    }

    /// The packets that the engine records.
    pub fn follow(&self, plan: &Arc<Plan>) -> Follow {
        Follow {
            plan: Some(Arc::clone(plan)),
            conns: self.conns.clone(),
            ports: self.ports.clone(),
            limit: self.limit,
            ..Follow::default()
        }
    }

    /// Whether there is nothing to follow.
    pub fn is_empty(&self) -> bool {
        self.conns.is_empty() && self.ports.is_empty()
    }
}

/// The flows of a run that can be explained: the slowest 1 %, the slowest first, and the others in no particular order.
pub fn slowest(record: &RunRecord) -> (Vec<u32>, Vec<u32>) {
    let order =
        |a: &&FlowRow, b: &&FlowRow| slowness(b).total_cmp(&slowness(a)).then(a.flow.cmp(&b.flow));
    let mut flows: Vec<&FlowRow> =
        record.flows.iter().filter(|flow| can_be_explained(flow)).collect();
    let most = flows.len().div_ceil(100);
    // Only the slowest flows must be in order.
    if most < flows.len() {
        flows.select_nth_unstable_by(most, order);
    }
    let (slowest, others) = flows.split_at_mut(most);
    slowest.sort_unstable_by(order);
    let numbers = |flows: &[&FlowRow]| flows.iter().map(|flow| flow.flow).collect();
    (numbers(slowest), numbers(others))
}

/// `flows` in the order in which they are drawn.
fn drawn(flows: impl IntoIterator<Item = u32>) -> impl Iterator<Item = u32> {
    let lot = |flow: u32| Reverse((mix64(u64::from(flow)), flow));
    // Often only the first ones are needed.
    let mut lots: BinaryHeap<Reverse<(u64, u32)>> = flows.into_iter().map(lot).collect();
    std::iter::from_fn(move || lots.pop().map(|Reverse((_, flow))| flow))
}

/// Whether a flow has a completion time, and a chain of packets that determined it.
pub(super) fn can_be_explained(flow: &FlowRow) -> bool {
    flow.started() && flow.finished() && !flow.udp && !flow.request
}

/// The slowdown; if it is not known, the completion time.
fn slowness(flow: &FlowRow) -> f64 {
    let took = (flow.finish_ps - flow.start_ps) as f64;
    if flow.ideal_ps > 0 { took / flow.ideal_ps as f64 } else { took }
}

/// Takes flows while there is room for the hops of their connections.
pub(super) struct Chooser<'a> {
    plan: &'a Plan,
    room: u64,
    /// The connections of the flows that were taken.
    pub conns: BTreeSet<u32>,
    flows: Vec<u32>,
}

impl<'a> Chooser<'a> {
    /// Takes the flows that are followed whatever happens: those named in the scenario, and a sample drawn at random, or all
    /// flows if there is room for them. The room that is left is that of the slowest flows.
    pub fn of(plan: &'a Plan, measure: &MeasureSpec) -> Chooser<'a> {
        let hops = all(&costs(plan));
        let half = most_hops(hops);
        let room = if hops <= 2 * half { 2 * half } else { half };
        let mut chooser = Chooser { plan, room: 0, conns: BTreeSet::new(), flows: vec![] };
        measure.follow.iter().for_each(|&flow| chooser.take(flow));
        if measure.why {
            chooser.room = room;
            let flows = (0..).zip(&plan.traffic.flows);
            let possible = flows.filter(|(_, flow)| may_be_explained(plan, flow));
            for flow in drawn(possible.map(|(number, _)| number)) {
                chooser.take_if_room(flow);
                if chooser.room < HOPS_PER_SEGMENT {
                    break;
                }
            }
        }
        Chooser { room: half, ..chooser }
    }

    fn take(&mut self, flow: u32) {
        let conn = self.plan.traffic.flows[flow as usize].conn.0;
        if !self.conns.contains(&conn) {
            self.room = self.room.saturating_sub(cost(self.plan, conn));
            self.conns.insert(conn);
        }
        self.flows.push(flow);
    }

    pub fn take_if_room(&mut self, flow: u32) {
        let conn = self.plan.traffic.flows[flow as usize].conn.0;
        if self.conns.contains(&conn) || cost(self.plan, conn) <= self.room {
            self.take(flow);
        }
    }
}

/// Whether a flow is explained if it is completed.
fn may_be_explained(plan: &Plan, flow: &Flow) -> bool {
    let is_request = matches!(flow.role, Role::Request(_) | Role::Signal);
    plan.traffic.conns[flow.conn.at()].carrier == Carrier::Tcp && !is_request
}

/// The TCP connections, and the approximate number of hops of all packets of each.
pub(super) fn costs(plan: &Plan) -> Vec<(u32, u64)> {
    let conns = (0..).zip(&plan.traffic.conns);
    let conns = conns.filter(|(_, conn)| conn.carrier == Carrier::Tcp);
    conns.map(|(conn, _)| (conn, cost(plan, conn))).collect()
}

/// The hops of all these connections.
pub(super) fn all(costs: &[(u32, u64)]) -> u64 {
    costs.iter().map(|(_, cost)| cost).sum()
}

/// The approximate number of hops of all packets of a connection.
pub(super) fn cost(plan: &Plan, conn: u32) -> u64 {
    let flows = &plan.traffic.flows;
    let segments = |bytes| u64::from(plan.transport.segments(bytes));
    plan.flows(conn).map(|flow| segments(flows[flow.at()].bytes)).sum::<u64>() * HOPS_PER_SEGMENT
}
