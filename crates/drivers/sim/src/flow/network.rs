//! The input and the output of a flow-level simulation.

use super::maxmin::Effort;
use super::rates::Model;
use slotline_net::frame::CLASSES;
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::Change;
use slotline_net::node::host::Plan;
use slotline_net::route::Routes;
use slotline_net::route::classifier::ClassifierSpec;
use slotline_net::samples::Samples;
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
    /// The changes with their times and places, in any order. A change of routes holds for the whole network, so one
    /// is enough.
    pub timeline: Vec<(Time, NodeId, Change)>,
    /// The ports whose bytes are sampled.
    pub sampled: Vec<(NodeId, PortId)>,
    /// Interval between samples; zero for none.
    pub interval: Time,
    /// The model of rates.
    pub model: Model,
    /// The weight of flows of each priority class.
    pub weights: [f64; CLASSES],
    /// Whether switches store and forward, so that the last packet of a flow takes its serialisation time at each
    /// of them.
    pub store_and_forward: bool,
    /// The settings of switches that choose ports by load and rearrange flows.
    pub classifier: Option<ClassifierSpec>,
    /// A scheme that decides about paths.
    pub scheduler: Option<PerFlow>,
    /// The run's seed.
    pub seed: u64,
}

/// The result of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passage {
    /// The time at which it began; [`Time::MAX`] if it did not.
    pub started: Time,
    /// The time at which its receiver had the last byte; [`Time::MAX`] if it did not.
    pub finished: Time,
    /// Payload that has arrived.
    pub delivered: u64,
}

impl Passage {
    pub(super) const NEVER: Passage =
        Passage { started: Time::MAX, finished: Time::MAX, delivered: 0 };
}

/// The bytes on the wire: `sent = delivered + under way` in every run. Bytes are whole numbers, so this holds exactly
/// unless links carry shares of flows.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Volume {
    /// The bytes that started flows must send in total.
    pub offered: u64,
    /// The bytes that left hosts, as booked to their links.
    pub sent: f64,
    /// The bytes that arrived, from complete flows.
    pub delivered: u64,
    /// The bytes that have left and not arrived, from incomplete flows.
    pub under_way: u64,
    /// The number of shares of bytes that were added to links.
    pub parts: u64,
    /// The difference between the bytes of flows that have ended and the integral of their rates.
    pub missed: f64,
    /// The most that rounding to picoseconds adds to this difference: the sum of what each such flow sends in a
    /// picosecond.
    pub roundable: f64,
}

/// The share of all bytes by which sums of rates over time may differ from them: a sum has 52 bits, and errors of
/// several million additions can accumulate.
const DRIFT: f64 = 1e-6;

impl Volume {
    /// Whether the counts balance.
    pub fn holds(&self) -> bool {
        let accounted = self.delivered.saturating_add(self.under_way) as f64;
        let most = self.sent.max(accounted);
        // An addition is rounded by half of EPSILON at most, and so is the share.
        let rounded = self.parts as f64 * f64::EPSILON * most;
        // Beyond 2^53 bytes, a sum of whole numbers is also rounded.
        let exact = if most < 9e15 { 0.0 } else { DRIFT * most };
        let drift = DRIFT * most + 1.0;
        (self.sent - accounted).abs() <= rounded + exact && self.missed <= self.roundable + drift
    }
}

/// The results of a simulation.
#[derive(Clone, Debug)]
pub struct FlowOutcome {
    /// The results by flow.
    pub flows: Vec<Passage>,
    /// By node, then port: bytes sent.
    pub ports: Vec<Vec<u64>>,
    /// The samples. Numbers of ports are indices into [`FlowNetwork::sampled`], and queues are empty.
    pub samples: Samples,
    /// The counters of the scheme.
    pub counts: Vec<(slotline_net::node::Counter, u64)>,
    /// The number of times at which an event happened.
    pub events: u64,
    /// The work of computing rates.
    pub effort: Effort,
    /// The number of complete flows.
    pub completed: u64,
    /// The byte counts.
    pub volume: Volume,
    /// The simulated time at the end.
    pub reached: Time,
    /// Fingerprint of the result: equal digests mean equal results.
    pub digest: u64,
}
