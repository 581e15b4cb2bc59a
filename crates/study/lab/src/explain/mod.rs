//! Describes a scenario: what is simulated, what it costs, and what looks like a mistake.
//!
//! Every sentence is computed from the scenario: the fabric is built and the traffic of the first seed is generated.

mod cost;
mod doubts;
mod fabric;
mod flow_level;
mod hybrid;
mod memory;
mod schemes;
mod size;
mod survey;
mod tdma;
mod traffic;

pub use cost::{Estimate, Machine, calibrate};

use crate::output::format::{quantity, several};
use slotline_net::time::Time;
use slotline_scenario::catalogue::Kind;
use slotline_scenario::metric::Unit;
use slotline_scenario::{EndWhen, EventKind, EventSpec, Loaded, Scenario, ScenarioError};
use std::fmt;
use survey::Survey;

/// The description of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Titles, and the sentences below each.
    pub sections: Vec<(String, Vec<String>)>,
    /// The estimated cost of each scheme.
    pub estimates: Vec<Estimate>,
}

/// Explains `loaded` and estimates its cost on `machine`.
pub fn explain(loaded: &Loaded, machine: Machine) -> Result<Explanation, ScenarioError> {
    let survey = Survey::of(loaded).map_err(|error| loaded.blame(error))?;
    let scenario = &loaded.scenario;
    let estimates = cost::estimates(&survey, machine.slower);
    let flow_level = !scenario.engine.is_packet();
    let cost = match flow_level {
        true => flow_level::cost(&survey, machine.slower),
        false => cost::sentences(&survey, &estimates, machine.at_once),
    };
    let mut sections = vec![
        ("Engine", flow_level::sentences(&scenario.engine)),
        ("Fabric", fabric::sentences(&survey, loaded.fabric())),
        ("Traffic", traffic::sentences(&survey)),
        ("Schemes", schemes::sentences(&survey)),
        ("Events", scenario.event.iter().map(|e| event(scenario, e)).collect()),
        ("End and measurement", end(scenario)),
        ("Cost", cost),
        ("Doubts", doubts::sentences(&survey).into_iter().chain(loaded.misfits()).collect()),
    ];
    sections.retain(|(_, sentences)| !sentences.is_empty());
    let sections = sections.into_iter().map(|(title, text)| (title.to_string(), text)).collect();
    Ok(Explanation { sections, estimates })
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (title, sentences)) in self.sections.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            writeln!(f, "{title}")?;
            sentences.iter().try_for_each(|sentence| writeln!(f, "  {sentence}"))?;
        }
        Ok(())
    }
}

/// A duration as text, such as `12.34 ms`.
fn span(time: Time) -> String {
    quantity(Unit::Seconds, time.as_secs_f64())
}

/// The settings that differ from their defaults, as in a scenario: `load = 0.6, until = "50ms"`.
fn settings(kind: Kind, name: &str, table: &toml::Value) -> String {
    let entry = kind.entries().into_iter().find(|entry| entry.name == name);
    let usual = |key: &str, value: &toml::Value| {
        let parameters = entry.iter().flat_map(|entry| &entry.parameters);
        let known = parameters.filter(|p| p.key == key).find_map(|p| p.default.clone());
        known.is_some_and(|default| default == value.to_string())
    };
    let given = table.as_table().into_iter().flatten();
    let unusual = given.filter(|(key, value)| *key != "kind" && !usual(key, value));
    let pairs: Vec<String> = unusual.map(|(key, value)| format!("{key} = {value}")).collect();
    pairs.join(", ")
}

/// One line about an entry of the catalogue.
fn about(kind: Kind, name: &str) -> String {
    let entry = kind.entries().into_iter().find(|entry| entry.name == name);
    let line = entry.map(|entry| entry.about).unwrap_or_default();
    let line = line.trim_end_matches('.');
    let mut letters = line.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_lowercase).collect();
    // Do not change the first letter of a name.
    if letters.clone().next().is_some_and(char::is_uppercase) {
        line.into()
    } else {
        first + letters.as_str()
    }
}

fn event(scenario: &Scenario, event: &EventSpec) -> String {
    let at = match event.times {
        1 => span(event.at),
        n => format!("{}, and {} times more every {},", span(event.at), n - 1, span(event.every)),
    };
    let what = match &event.kind {
        EventKind::LinkDown { link } => format!("link {link} goes down"),
        EventKind::LinkUp { link } => format!("link {link} comes up"),
        EventKind::SwitchDown { switch } => format!("all links of {switch} go down"),
        EventKind::SwitchUp { switch } => format!("all links of {switch} come up"),
        EventKind::ControllerDown { controller } => format!("{controller} stops"),
        EventKind::ControllerUp { controller } => format!("{controller} starts again"),
        EventKind::Leave { host } => return format!("At {at} {host} leaves."),
        EventKind::Join { host } => return format!("At {at} {host} joins again."),
        EventKind::Rate { link, rate } => {
            let rate = survey::rate(*rate);
            return format!("At {at} the rate of link {link} becomes {rate} in both directions.");
        }
    };
    let routes = if event.reroute_after == Time::ZERO {
        "at once".into()
    } else {
        format!("{} later", span(event.reroute_after))
    };
    let alone = scenario.scheme.iter().filter(|scheme| scheme.recovery.is_some()).count();
    match alone {
        0 => format!("At {at} {what}; routes follow {routes}."),
        n if n == scenario.scheme.len() => format!("At {at} {what}."),
        _ => format!(
            "At {at} {what}; routes follow {routes}, or when switches detect the change themselves."
        ),
    }
}

fn end(scenario: &Scenario) -> Vec<String> {
    let done = scenario.end.when == EndWhen::FlowsDone;
    let ends = match (scenario.end.at, done) {
        (Some(at), true) => {
            format!("A run ends when all flows are complete, at {} at the latest.", span(at))
        }
        (Some(at), false) => format!("A run ends at {}, even if flows are unfinished.", span(at)),
        (None, _) => "A run ends when all flows are complete, however long that takes.".into(),
    };
    let measure = &scenario.measure;
    let window = match (measure.warmup, measure.until) {
        (Time::ZERO, None) => "All flows count".to_string(),
        (warmup, None) => format!("Flows that start from {} on count", span(warmup)),
        (warmup, Some(until)) => {
            format!("Flows that start from {} until {} count", span(warmup), span(until))
        }
    };
    let ideal = if measure.ideal && scenario.fabric.hybrid().is_none() {
        "each is compared with its completion time in an empty network (slowdown)"
    } else {
        "slowdowns are not computed"
    };
    let samples = match (measure.sample, measure.ports.len() as u64) {
        (None, _) => "Queues and throughput are not sampled.".into(),
        (Some(sample), 0) => format!(
            "Queues and throughput are sampled every {}, at up to 256 switch ports.",
            span(sample)
        ),
        (Some(sample), ports) => {
            format!(
                "Queues and throughput are sampled every {}, at {}.",
                span(sample),
                several(ports, "switch port")
            )
        }
    };
    vec![ends, format!("{window}; {ideal}."), samples]
}
