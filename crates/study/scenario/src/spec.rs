//! A scenario as plain data.

use super::app::AppSpec;
use super::engine::EngineSpec;
use super::event::EventSpec;
use super::expect::ExpectSpec;
use super::quantity::QuantitySpec;
use crate::metric::Metric;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slotline_hybrid::VoqSpec;
use slotline_net::aqm::spec::{QueueSpec, ReactionSpec};
use slotline_net::node::bump::BumpSpec;
use slotline_net::route::RoutingSpec;
use slotline_net::route::classifier::ClassifierSpec;
use slotline_net::route::recovery::RecoverySpec;
use slotline_net::time::Time;
use slotline_net::topology::TopologySpec;
use slotline_net::transport::TransportSpec;
use slotline_net::transport::congestion::AlgorithmKind;
use slotline_net::workload::WorkloadSpec;
use slotline_schemes::ControlSpec;
use std::collections::BTreeMap;

/// A scenario file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Scenario {
    /// Short name. The result's folder is named after it.
    pub name: String,
    /// Description in a sentence, shown in reports.
    #[serde(default)]
    pub description: String,
    /// Seed of the first repetition. The others have the numbers after it.
    #[serde(default = "one")]
    pub seed: u32,
    /// Repetitions of each scheme, each with its own seed.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 10_000))]
    pub repeat: u32,
    /// The engine that runs the scenario.
    #[serde(default, skip_serializing_if = "EngineSpec::is_default")]
    pub engine: EngineSpec,
    /// When a run ends.
    pub end: EndSpec,
    /// What is measured.
    #[serde(default)]
    pub measure: MeasureSpec,
    /// The network.
    pub fabric: TopologySpec,
    /// The traffic, which consists of all workloads. It may be missing if programs run on emulated hosts.
    #[serde(default)]
    pub workload: Vec<WorkloadSpec>,
    /// The schemes that are compared. The first is the baseline.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub scheme: Vec<SchemeSpec>,
    /// Events that change the network during a run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub event: Vec<EventSpec>,
    /// Programs on hosts, for `slotline emulate`; simulations ignore them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub app: Vec<AppSpec>,
    /// Values that results are expected to have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<ExpectSpec>,
}

/// One configuration of the network: its routing, queues, transport and central scheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SchemeSpec {
    /// Name of the scheme in results.
    pub name: String,
    /// How paths are selected for packets.
    #[serde(default)]
    pub routing: RoutingSpec,
    /// How often switches under `routing = "classifier"` move flows, and how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classifier: Option<ClassifierSpec>,
    /// How switches route around failures by themselves; without it, all follow `reroute-after` of the
    /// event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoverySpec>,
    /// With `routing = "flowlet"`: a flow that has paused for this long may take another path. Default: 500us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flowlet_gap: Option<Time>,
    /// The switches' queues.
    #[serde(default)]
    pub queue: QueueSpec,
    /// The queues by destination rack of a `hybrid` fabric. Default: 16 packets each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voq: Option<VoqSpec>,
    /// Bumps on the wires of switches: virtual queues that mark, drop or notify in their place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bump: Option<BumpSpec>,
    /// What hosts do when a queue of kind `qcn` notifies them, in a switch or a bump.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reaction: Option<ReactionSpec>,
    /// The hosts' transport.
    #[serde(default = "newreno")]
    pub transport: TransportSpec,
    /// The central scheduler.
    #[serde(default)]
    pub control: ControlSpec,
    /// A fabric of its own. It has as many hosts as the scenario's fabric, so that the traffic is the same. Default: the
    /// scenario's fabric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric: Option<Box<TopologySpec>>,
    /// Share of the central scheduler's messages that get lost on arrival, at hosts and at controllers.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 1))]
    pub control_loss: f64,
}

impl SchemeSpec {
    /// The default of `flowlet-gap`.
    pub const FLOWLET_GAP: Time = Time::us(500);
}

/// When a run ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EndSpec {
    /// The latest end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
    /// What ends a run before `at`.
    #[serde(default)]
    pub when: EndWhen,
}

/// What ends a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EndWhen {
    /// The last flow is complete.
    #[default]
    FlowsDone,
    /// Nothing: the run ends at `at`.
    Time,
}

/// What is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct MeasureSpec {
    /// Interval between samples of queues and throughput. Without it, no samples are taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Time>,
    /// Switch ports that are sampled, such as `s0-h0`: the switch, and its neighbour. If empty, all ports, but at most
    /// 256: those that lead to hosts come first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<String>,
    /// Ports whose departing packets are all captured, such as `s0-h0`: the node, and the node at the other end of the
    /// link. Simulations capture in the runs of the first seed, emulations in all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capture: Vec<String>,
    /// Packets captured at each port; later packets are only counted.
    pub capture_limit: u64,
    /// Flows that start before this time do not count, nor do earlier samples.
    pub warmup: Time,
    /// Flows that start at this time or later do not count, nor do samples from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// Whether to find where the time of flows was spent. The run of the first seed may be repeated with recorded
    /// packets: those of the slowest 1 % of flows, and of as many others as memory allows.
    pub why: bool,
    /// Numbers of flows that are always followed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub follow: Vec<u32>,
    /// The metrics to show. If empty, all that are not zero in every run. All metrics are saved in any case.
    pub metrics: Vec<Metric>,
    /// Whether each flow's completion time alone in the network is computed, for the slowdown.
    pub ideal: bool,
    /// Quantities that the scenario defines, beside the metrics.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quantity: Vec<QuantitySpec>,
}

impl MeasureSpec {
    /// Default number of packets captured at each port.
    pub const CAPTURE_LIMIT: u64 = 1_000_000;
}

impl Default for MeasureSpec {
    fn default() -> MeasureSpec {
        MeasureSpec {
            sample: None,
            ports: vec![],
            capture: vec![],
            capture_limit: MeasureSpec::CAPTURE_LIMIT,
            warmup: Time::ZERO,
            until: None,
            why: true,
            follow: vec![],
            metrics: vec![],
            ideal: true,
            quantity: vec![],
        }
    }
}

impl SchemeSpec {
    /// The queues of its switches: those of `queue`, with classes if its scheduler needs them.
    pub fn queues(&self) -> QueueSpec {
        let priorities = self.queue.priorities || self.control.scheduled_class().is_some();
        QueueSpec { priorities, ..self.queue.clone() }
    }
    /// How its switches move flows among equal-cost ports, if they do.
    pub fn classifies(&self) -> Option<ClassifierSpec> {
        let does = self.routing == RoutingSpec::Classifier;
        does.then(|| self.classifier.clone().unwrap_or_default())
    }
    /// Whether a queue of a switch or a bump notifies senders.
    pub fn notifies(&self) -> bool {
        self.queue.notifies() || self.bump.as_ref().is_some_and(BumpSpec::notifies)
    }
}

impl Scenario {
    /// The seeds of its repetitions.
    pub fn seeds(&self) -> Vec<u64> {
        let first = u64::from(self.seed);
        (first..first + u64::from(self.repeat)).collect()
    }
    /// The fabric on which a scheme runs: its own, or else the scenario's.
    pub fn fabric_of<'a>(&'a self, scheme: &'a SchemeSpec) -> &'a TopologySpec {
        scheme.fabric.as_deref().unwrap_or(&self.fabric)
    }
    /// The scenario with all defaults written out, as TOML that reads back to the same scenario.
    pub fn resolved(&self) -> String {
        // Plain data: tables, lists, text and numbers that came from TOML.
        toml::to_string(self).expect("a scenario is plain data")
    }
}

/// A part of a scenario as it is written there; `None` if it is left out. It goes through the text of
/// [`Scenario::resolved`], because code for another form of each part would be much larger.
pub fn written(part: &impl Serialize) -> Option<toml::Value> {
    let text = toml::to_string(&BTreeMap::from([("part", part)])).ok()?;
    toml::from_str::<toml::Table>(&text).ok()?.remove("part")
}

fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

fn one() -> u32 {
    1
}

fn newreno() -> TransportSpec {
    TransportSpec::of(AlgorithmKind::NewReno)
}
