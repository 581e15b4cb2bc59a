//! Runs one scenario on the packet engine and on another one, and compares the results.

use crate::record::{Emulation, RunRecord, RunSet};
use crate::run::Jobs;
use crate::summary::{EngineTotal, Summary};
use serde::Serialize;
use slotline_net::aqm::spec::QueueSpec;
use slotline_scenario::flow_level::{decides_about_flows, impossible, plain};
use slotline_scenario::metric::{About, Metric, Unit};
use slotline_scenario::{EmulateSpec, EngineSpec, EventSpec, Loaded, Scenario, ScenarioError};
use slotline_schemes::ControlSpec;

/// One quantity, measured with both engines.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The scheme.
    pub scheme: String,
    /// Key of the quantity.
    pub metric: String,
    /// The title of the quantity.
    pub title: String,
    /// The unit of its values.
    pub unit: &'static str,
    /// Its value on the packet engine, a mean over seeds.
    pub packet: f64,
    /// Its value on the other engine.
    pub other: f64,
    /// `other` over `packet`, minus one; `None` if `packet` is zero.
    pub difference: Option<f64>,
}

/// The comparison of both engines.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Crosscheck {
    /// The name of the other engine.
    pub engine: &'static str,
    /// By scheme, then metric.
    pub rows: Vec<Row>,
    /// Parts of the scenario that the flow-level engine does not model, and schemes that it cannot run.
    pub notes: Vec<String>,
    /// Processor time of the packet engine in seconds, for all schemes and seeds that were compared.
    pub packet_cpu_s: f64,
    /// Processor time of the other engine in seconds.
    pub other_cpu_s: f64,
    /// How well the machine kept up; only if the other engine is emulation.
    pub emulation: Option<Emulation>,
    /// Whether all runs were done.
    pub complete: bool,
}

/// The scenario for each engine.
pub struct Sides {
    /// For the packet engine.
    pub packet: Loaded,
    /// For the other engine.
    pub other: Loaded,
    /// The parts that were omitted.
    pub notes: Vec<String>,
}

impl Sides {
    /// Prepares the scenario for the packet engine and for emulation.
    ///
    /// # Errors
    /// The scenario cannot be emulated.
    pub fn emulated(loaded: &Loaded, spec: EmulateSpec) -> Result<Sides, ScenarioError> {
        let (mut packet, mut other) = (loaded.clone(), loaded.clone());
        for side in [&mut packet, &mut other] {
            side.scenario.measure.capture.clear();
            side.scenario.measure.follow.clear();
            side.scenario.measure.why = false;
        }
        other.use_engine(EngineSpec::Emulate(spec))?;
        packet.use_engine(EngineSpec::Packet {})?;
        Ok(Sides { packet, other, notes: vec![] })
    }

    /// Prepares the scenario for the packet engine and for the flow-level engine. Omits the parts that only one of them
    /// models.
    ///
    /// # Errors
    /// No scheme remains to compare, or the flow-level engine cannot run the scenario.
    pub fn of(loaded: &Loaded) -> Result<Sides, ScenarioError> {
        let (mut packet, mut flow, mut notes) = (loaded.clone(), loaded.clone(), vec![]);
        let seed = loaded.scenario.seed.into();
        let graph = loaded.scenario.fabric.build().map_err(|e| loaded.blame(e))?;
        let able = |scheme: &slotline_scenario::SchemeSpec| {
            matches!(scheme.control, ControlSpec::None {})
                || decides_about_flows(scheme, &graph, seed).is_ok()
        };
        for scheme in loaded.scenario.scheme.iter().filter(|scheme| !able(scheme)) {
            notes.push(format!("{}: omitted, because it decides packet by packet", scheme.name));
        }
        let possible = |event: &EventSpec| impossible(&event.kind).is_none();
        if !loaded.scenario.event.iter().all(possible) {
            notes.push("events of controllers and schedulers: omitted".into());
        }
        for side in [&mut packet, &mut flow] {
            side.scenario.event.retain(possible);
            side.scenario.scheme.retain(able);
            side.scenario.measure.metrics.retain(|metric| !metric.is_of_packets());
            side.scenario.measure.capture.clear();
            side.scenario.measure.capture_limit = slotline_scenario::MeasureSpec::CAPTURE_LIMIT;
            side.scenario.measure.follow.clear();
        }
        if flow.scenario.scheme.is_empty() {
            let why = "no scheme remains that both engines can run";
            return Err(loaded.blame(slotline_net::error::SpecError::new("scheme", why)));
        }
        notes.extend(without_packets(&mut flow.scenario));
        flow.scenario.measure.why = false;
        let engine = Some(loaded.scenario.engine.clone()).filter(|engine| !engine.is_packet());
        flow.use_engine(engine.unwrap_or_else(EngineSpec::flow))?;
        packet.use_engine(EngineSpec::Packet {})?;
        packet.scenario.measure.why = false;
        Ok(Sides { packet, other: flow, notes })
    }

    /// The runs of both sides: those of the packet engine, then those of the other.
    pub fn jobs(&self) -> [Jobs; 2] {
        [Jobs::of(&self.packet), Jobs::of(&self.other)]
    }

    /// Compares the runs of both sides.
    pub fn compare(self, packet: Vec<RunRecord>, other: Vec<RunRecord>) -> Crosscheck {
        let sets = [RunSet::new(&self.packet, packet), RunSet::new(&self.other, other)];
        let cpu = |set: &RunSet| EngineTotal::of(&set.in_order()).stats.cpu_s;
        let emulated = self.other.scenario.engine.emulated().is_some();
        Crosscheck {
            engine: if emulated { "emulate" } else { "flow" },
            emulation: EngineTotal::of(&sets[1].in_order()).stats.emulation,
            rows: rows(&sets),
            notes: self.notes,
            packet_cpu_s: cpu(&sets[0]),
            other_cpu_s: cpu(&sets[1]),
            complete: sets.iter().all(RunSet::complete),
        }
    }
}

/// Removes the settings of packets that the flow-level engine does not model, and lists them.
fn without_packets(scenario: &mut Scenario) -> Vec<String> {
    let mut notes = vec![];
    for scheme in &mut scenario.scheme {
        let mut left_out = vec![];
        if scheme.queue != QueueSpec::default() {
            left_out.push("queue");
        }
        if scheme.transport != plain(&scheme.transport) {
            left_out.push("congestion control");
        }
        if scheme.control_loss > 0.0 {
            left_out.push("loss of control messages");
        }
        scheme.queue = QueueSpec::default();
        scheme.transport = plain(&scheme.transport);
        scheme.control_loss = 0.0;
        if !left_out.is_empty() {
            let what = left_out.join(" and ");
            notes.push(format!("{}: the flow-level engine does not model {what}", scheme.name));
        }
    }
    notes
}

fn rows(sets: &[RunSet; 2]) -> Vec<Row> {
    let [packet, other] = [Summary::of(&sets[0]), Summary::of(&sets[1])];
    let mut rows = vec![];
    for (at, name) in sets[0].schemes.iter().enumerate() {
        for metric in Metric::ALL {
            let of = |summary: &Summary| Some(summary.cell(at, metric)?.estimate.mean);
            let About { title, unit, .. } = metric.about();
            if let (Some(packet), Some(other)) = (of(&packet), of(&other)) {
                rows.push(row(name, metric.key(), title, unit.symbol(), [packet, other]));
            }
        }
        for (key, title, measure) in USE {
            let mean = |set: &RunSet| {
                let runs = set.of(name);
                runs.iter().map(|run| measure(run)).sum::<f64>() / runs.len().max(1) as f64
            };
            let both = [mean(&sets[0]), mean(&sets[1])];
            rows.push(row(name, key, title, Unit::Ratio.symbol(), both));
        }
    }
    rows
}

fn row(scheme: &str, key: &str, title: &str, unit: &'static str, both: [f64; 2]) -> Row {
    let [packet, other] = both;
    let difference = (packet != 0.0).then(|| other / packet - 1.0);
    let (scheme, metric, title) = (scheme.into(), key.into(), title.into());
    Row { scheme, metric, title, unit, packet, other, difference }
}

type Use = (&'static str, &'static str, fn(&RunRecord) -> f64);

/// The utilisation of switch ports.
const USE: [Use; 2] = [
    ("utilisation-mean", "Utilisation, mean", mean_use),
    ("utilisation-most", "Utilisation, busiest", most_use),
];

fn mean_use(run: &RunRecord) -> f64 {
    let (sum, count) = uses(run).fold((0.0, 0u32), |(sum, n), used| (sum + used, n + 1));
    sum / f64::from(count.max(1))
}

fn most_use(run: &RunRecord) -> f64 {
    uses(run).fold(0.0, f64::max)
}

/// The utilisation of each port of a switch, from the beginning of the run until the last byte arrived.
fn uses(run: &RunRecord) -> impl Iterator<Item = f64> {
    let ends = run.flows.iter().filter(|flow| flow.finished()).map(|flow| flow.finish_ps);
    let all_done = run.flows.iter().all(|flow| flow.finished());
    let end = if all_done { ends.max().unwrap_or(0) } else { run.engine.sim_time_ps };
    let seconds = (end.max(1)) as f64 * 1e-12;
    let switches = run.ports.iter().filter(|port| !port.host && port.rate_bps > 0);
    switches.map(move |port| port.tx_bytes as f64 * 8.0 / port.rate_bps as f64 / seconds)
}
