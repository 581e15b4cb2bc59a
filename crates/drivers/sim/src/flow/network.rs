//! What a flow-level simulation is made of, and what it leaves.

use super::maxmin::Effort;
use super::rates::Model;
use crate::sample::Sample;
use slotline_net::frame::CLASSES;
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::Change;
use slotline_net::node::host::Plan;
use slotline_net::route::Routes;
use slotline_net::route::classifier::ClassifierSpec;
use slotline_net::scheme::PerFlow;
use slotline_net::time::Time;
use slotline_net::topology::Graph;
use std::sync::Arc;

/// A network ready to run.
pub struct FlowNetwork {
    /// Nodes and links.
    pub graph: Graph,
    /// Traffic, transport (for the bytes on the wire) and path choice: a path for every packet spreads a
    /// flow over all its equal paths.
    pub plan: Arc<Plan>,
    /// Routes in force at the start.
    pub routes: Arc<Routes>,
    /// Changes with their time and place, in any order. Routes are the network's: one change is enough.
    pub timeline: Vec<(Time, NodeId, Change)>,
    /// Ports whose bytes are sampled.
    pub sampled: Vec<(NodeId, PortId)>,
    /// Interval between samples; zero for none.
    pub interval: Time,
    /// How rates come about.
    pub model: Model,
    /// The weight of flows of each priority class.
    pub weights: [f64; CLASSES],
    /// Whether switches send on what they have whole, so that the last packet of a flow takes its time
    /// at each of them.
    pub store_and_forward: bool,
    /// Switches choose ports by what these carry, and move flows.
    pub classifier: Option<ClassifierSpec>,
    /// A scheme that decides about paths.
    pub scheduler: Option<PerFlow>,
    /// The run's seed.
    pub seed: u64,
}

/// What became of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passage {
    /// When it began; [`Time::MAX`] if it never did.
    pub started: Time,
    /// When its receiver had the last byte; [`Time::MAX`] if it never did.
    pub finished: Time,
    /// Payload that has arrived.
    pub delivered: u64,
}

impl Passage {
    pub(super) const NEVER: Passage =
        Passage { started: Time::MAX, finished: Time::MAX, delivered: 0 };
}

/// Where all bytes on the wire are: `sent = delivered + under way` in every run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Volume {
    /// What flows that began have to send in all.
    pub offered: u64,
    /// What left hosts, from the rates of their links over time.
    pub sent: f64,
    /// What arrived, from flows that arrived.
    pub delivered: f64,
    /// What has left and not arrived, from flows that did not arrive.
    pub under_way: f64,
}

impl Volume {
    /// Whether all is accounted for, but for what rounding of times to picoseconds makes.
    pub fn holds(&self) -> bool {
        let accounted = self.delivered + self.under_way;
        (self.sent - accounted).abs() <= 1e-6 * self.sent.max(accounted) + 1.0
    }
}

/// What a simulation leaves.
#[derive(Clone, Debug)]
pub struct FlowOutcome {
    /// By flow.
    pub flows: Vec<Passage>,
    /// By node, then port: bytes sent.
    pub ports: Vec<Vec<u64>>,
    /// In order of time, then series. Nothing waits in queues.
    pub samples: Vec<Sample>,
    /// What a scheme counted.
    pub counts: Vec<(slotline_net::node::Counter, u64)>,
    /// Times at which anything happened.
    pub events: u64,
    /// What finding rates has cost.
    pub effort: Effort,
    /// Flows complete.
    pub completed: u64,
    /// Where the bytes are.
    pub volume: Volume,
    /// Where simulated time stood at the end.
    pub reached: Time,
    /// Fingerprint of the result: equal digests mean equal results.
    pub digest: u64,
}
