//! What schedulers that are written in Python see: the network, and the plan with their decisions.

use pyo3::prelude::*;
use slotline_net::id::HostId;
use slotline_net::scheme::{Decision, Network};
use slotline_net::time::Time;
use slotline_net::topology::{Graph, LinkParams, NodeKind};
use slotline_net::units::Rate;
use std::sync::Mutex;

/// The network as a central scheduler sees it: directed links with rates, and the path between any two hosts.
#[pyclass(frozen, name = "Network", module = "slotline._core")]
pub struct NetworkView(pub Network);

#[pymethods]
impl NetworkView {
    /// The number of hosts; hosts are numbered from 0.
    #[getter]
    fn hosts(&self) -> usize {
        self.0.hosts()
    }
    /// The rate of each directed link in bits per second.
    #[getter]
    fn rates(&self) -> Vec<u64> {
        self.0.lines().iter().map(|rate| rate.0).collect()
    }
    /// The numbers of the links on the path from `src` to `dst`, the link of the host `src` first.
    fn path(&self, src: u32, dst: u32) -> Vec<u32> {
        let mut links = vec![];
        let hosts = 0..self.0.hosts() as u32;
        if hosts.contains(&src) && hosts.contains(&dst) {
            self.0.path(HostId(src), HostId(dst), &mut links);
        }
        links
    }
}

/// The decisions of a central scheduler, in the order they are made.
#[pyclass(frozen, module = "slotline._core")]
#[derive(Default)]
pub struct Plan(Mutex<Vec<Decision>>);

impl Plan {
    /// Moves the decisions to `out`.
    pub fn drain(&self, out: &mut Vec<Decision>) {
        out.append(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }
    fn push(&self, decision: Decision) {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(decision);
    }
}

#[pymethods]
impl Plan {
    /// `src` may send to `dst`, and to nobody else, until the time `until` (picoseconds), at `rate` (bit/s) or at the
    /// rate of its link. With `dst=None` it waits.
    #[pyo3(signature = (src, dst, until, rate=None))]
    fn window(&self, src: u32, dst: Option<u32>, until: u64, rate: Option<u64>) {
        let (src, dst) = (HostId(src), dst.map(HostId));
        let (until, rate) = (Time::ps(until), rate.map(Rate));
        self.push(Decision::Window { src, dst, until, rate });
    }
    /// `src` may send to `dst` at `rate` (bit/s) until the next decision.
    fn rate(&self, src: u32, dst: u32, rate: u64) {
        self.push(Decision::Rate { src: HostId(src), dst: HostId(dst), rate: Rate(rate) });
    }
    fn __len__(&self) -> usize {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).len()
    }
}

/// A node: its name, whether it is a host, and its tier.
pub type NodeRow = (String, bool, u32);
/// A link: its ends, and its rate (bit/s) and delay (picoseconds) in each direction.
pub type LinkRow = (String, String, (u64, u64), (u64, u64));

/// The nodes and links of `graph`.
pub fn described(graph: &Graph) -> (Vec<NodeRow>, Vec<LinkRow>) {
    let name = |end: slotline_net::topology::End| graph.nodes[end.node.at()].name.clone();
    let lane = |lane: &LinkParams| (lane.rate.0, lane.delay.as_ps());
    let nodes = graph.nodes.iter();
    let nodes =
        nodes.map(|node| (node.name.clone(), node.kind == NodeKind::Host, node.tier.into()));
    let links = graph.links.iter();
    let links = links.map(|it| (name(it.a), name(it.b), lane(&it.ab), lane(&it.ba)));
    (nodes.collect(), links.collect())
}
