//! Scenarios and sweeps: read, checked, explained, run and shown.

use crate::corpus::{Sample, root, scenarios};
use crate::driver::caught;
use crate::mutate::mutated_text;
use crate::random::Draw;
use crate::schema_values::{Maker, document};
use crate::scratch;
use serde_json::{Value, json};
use slotline_lab::build;
use slotline_lab::explain::{Machine, explain};
use slotline_lab::output::terminal;
use slotline_lab::record::{RunRecord, RunSet};
use slotline_lab::run::Jobs;
use slotline_lab::summary::Summary;
use slotline_lab::sweep::part::{Part, Shard};
use slotline_lab::sweep::plan::Study;
use slotline_net::rng::Stream;
use slotline_net::time::Time;
use slotline_scenario::{EndWhen, Fault, Loaded, Scenario, ScenarioError, schema};
use std::path::{Path, PathBuf};

/// Fabrics on which many options are valid. Most scenarios have one of these, and the others have a random one.
const FABRICS: [&str; 6] = [
    r#"{"kind": "star", "hosts": 6}"#,
    r#"{"kind": "star", "hosts": 9, "rate": "10Gbps", "delay": "1us"}"#,
    r#"{"kind": "fat-tree", "k": 4, "rate": "10Gbps"}"#,
    r#"{"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts-per-leaf": 3}"#,
    r#"{"kind": "tree", "racks": 3, "hosts-per-rack": 2}"#,
    r#"{"kind": "hybrid", "racks": 3, "hosts-per-rack": 2, "packet": {"rate": "10Gbps"}}"#,
];
const MOST_HOSTS: usize = 24;
const MOST_FLOWS: u64 = 2_000;
/// The end of runs, which keeps the number of packets small.
const END: Time = Time::us(50);

/// A scenario made from the schema.
pub(crate) fn generated(rng: &mut Stream) -> Vec<u8> {
    let rare = *rng.pick(&[2, 6, 12, 40]);
    let whole = schema::scenario();
    let part = |key: &str| &whole["properties"][key];
    let mut maker = Maker { rng, rare };
    let mut scenario = maker.table(whole);
    scenario["name"] = json!("fuzz");
    if !maker.rng.once_in(4) {
        scenario["fabric"] =
            serde_json::from_str(maker.rng.pick::<&str>(&FABRICS)).unwrap_or_default();
    }
    for (key, most) in [("workload", 2), ("scheme", 3)] {
        let count = 1 + maker.rng.index(most);
        let tables = (0..count).map(|_| maker.value(key, &part(key)["items"]));
        scenario[key] = tables.collect::<Vec<Value>>().into();
    }
    scenario["end"]["at"] = json!(maker.rng.pick(&["1us", "30us", "50us", "200us", "1ms"]));
    if !rng.once_in(6) {
        repair(&mut scenario);
    }
    document(&scenario).into_bytes()
}

/// Removes invalid parts, so that most scenarios are accepted.
fn repair(scenario: &mut Value) {
    for _ in 0..20 {
        let text = document(scenario);
        // A panic occurs again when the scenario is judged.
        match caught(|| Scenario::parse(&place(), text)) {
            Ok(Err(ScenarioError::Fault(fault))) => mend(scenario, &fault),
            _ => return,
        }
    }
}

/// Removes an invalid key. A table that lacks a key, or whose kind does not fit, is replaced.
fn mend(scenario: &mut Value, fault: &Fault) {
    let steps: Vec<&str> =
        fault.key.split(['.', '[', ']']).filter(|step| !step.is_empty()).collect();
    let last = steps.last().copied().unwrap_or_default();
    let lacks = fault.lacks_key || fault.message.contains(" needs ");
    if !lacks && !["kind", "pod", "at"].contains(&last) && steps.len() > 1 {
        return remove(scenario, &fault.key);
    }
    let at = steps.get(1).and_then(|step| step.parse::<usize>().ok()).unwrap_or(0);
    match steps.first().copied().unwrap_or_default() {
        "workload" => {
            scenario["workload"][at] = json!({ "kind": "random-bijective", "size": "20KB" })
        }
        "scheme" => scenario["scheme"][at] = json!({ "name": format!("plain{at}") }),
        "measure" | "event" | "engine" | "expect" | "app" => remove(scenario, steps[0]),
        _ => scenario["fabric"] = serde_json::from_str(FABRICS[2]).unwrap_or_default(),
    }
}

/// Removes the key with this path, such as `scheme[0].queue.limit`.
fn remove(scenario: &mut Value, path: &str) {
    let steps = path.replace('[', ".").replace(']', "");
    let mut steps: Vec<&str> = steps.split('.').collect();
    let last = steps.pop().unwrap_or_default();
    let inner = steps.into_iter().try_fold(scenario, |value, step| match value {
        Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
        value => value.get_mut(step),
    });
    if let Some(table) = inner.and_then(Value::as_object_mut) {
        table.remove(last);
    }
}

/// A scenario of the repository, mutated.
pub(crate) fn mutated(rng: &mut Stream) -> Vec<u8> {
    one_mutated(rng, scenarios())
}

fn one_mutated(rng: &mut Stream, samples: &[Sample]) -> Vec<u8> {
    let (seed, other) = (rng.pick(samples), rng.pick(samples));
    mutated_text(rng, &seed.bytes, &other.bytes)
}

/// The text of an input, as if in a file beside the scenarios of the repository. Input that is not UTF-8 must be
/// refused.
fn text_of(input: &[u8]) -> Result<Option<String>, String> {
    if let Ok(text) = String::from_utf8(input.to_vec()) {
        return Ok(Some(text));
    }
    scratch::with(|scratch| {
        let file = scratch.write("scenario.toml", input);
        match Scenario::load_all(&file) {
            Err(errors) if errors.iter().all(|error| !error.to_string().is_empty()) => Ok(None),
            _ => Err("a file that is not UTF-8 is accepted".into()),
        }
    })
}

fn place() -> PathBuf {
    root().join("scenarios/fuzz.toml")
}

/// Checks the properties of a scenario's text.
pub(crate) fn judge(input: &[u8]) -> Result<(), String> {
    let Some(text) = text_of(input)? else { return Ok(()) };
    match Scenario::parse(&place(), text.clone()) {
        Ok(loaded) => accepted(loaded),
        Err(error) => refused(&error, &place(), &text),
    }
}

/// An error has a message and a place in the file.
fn refused(error: &ScenarioError, file: &Path, text: &str) -> Result<(), String> {
    let shown = error.to_string();
    let ScenarioError::Fault(fault) = error else {
        return law(!shown.is_empty(), || "an error without a text".into());
    };
    let lines = text.split('\n').count();
    let inside = fault.file != file || (1..=lines).contains(&fault.line);
    law(inside && fault.column > 0, || format!("an error beyond the {lines} lines: {shown}"))?;
    law(!fault.message.trim().is_empty(), || format!("an error without a message: {shown}"))
}

/// `Err(why)` unless `holds`.
pub(crate) fn law(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}

fn accepted(loaded: Loaded) -> Result<(), String> {
    let resolved = loaded.resolved();
    let again = Scenario::parse(&place(), resolved.clone());
    let again =
        again.map_err(|error| format!("the resolved scenario is refused: {error}\n{resolved}"))?;
    law(again.scenario == loaded.scenario, || {
        format!("it resolves to a different scenario:\n{resolved}")
    })?;
    let Some(short) = shortened(loaded) else { return Ok(()) };
    if let Some(error) = build::central_faults(&short).into_iter().next() {
        return law(!error.to_string().is_empty(), || "an error without a text".into());
    }
    explain(&short, Machine { slower: 1.0, at_once: 2 })
        .map_err(|error| format!("accepted, but not explained: {error}"))?;
    runs(&short)
}

/// The same scenario with a short end, if it is small.
fn shortened(mut loaded: Loaded) -> Option<Loaded> {
    let hosts = loaded.scenario.fabric.build().ok()?.hosts.len();
    let end = &mut loaded.scenario.end;
    end.at = Some(end.at.map_or(END, |at| at.min(END)));
    end.when = EndWhen::FlowsDone;
    if hosts > MOST_HOSTS || loaded.reseed(None, Some(1)).is_err() {
        return None;
    }
    let scenario = &loaded.scenario;
    let graph = scenario.fabric.build().ok()?;
    let (_, counts) = build::sample(scenario, &graph, scenario.seed.into(), None, &loaded).ok()?;
    let flows: u64 = counts.iter().map(|count| count.all).sum();
    (flows <= MOST_FLOWS).then_some(loaded)
}

/// An accepted scenario runs without an error, and its packets are accounted for. A scenario with real hosts is not
/// run, because its programs would be executed.
fn runs(loaded: &Loaded) -> Result<(), String> {
    if loaded.scenario.engine.emulated().is_some() {
        return Ok(());
    }
    let records = Jobs::of(loaded).run(loaded, 1);
    let records = records.map_err(|error| format!("accepted, but not run: {error}"))?;
    law(records.len() == loaded.scenario.scheme.len(), || "a run is missing".into())?;
    records.iter().try_for_each(conserved)?;
    let set = RunSet::new(loaded, records);
    shown(&set)
}

fn conserved(run: &RunRecord) -> Result<(), String> {
    let count = &run.census;
    let all = count.delivered + count.dropped.iter().sum::<u64>() + count.in_flight;
    law(count.sent == all, || {
        format!("{}: {} packets sent, {all} accounted for", run.scheme, count.sent)
    })
}

/// Shows a result in all formats.
pub(crate) fn shown(set: &RunSet) -> Result<(), String> {
    let summary = Summary::of(set);
    let table = terminal::table_of(set, &summary, 100);
    let page = slotline_report::html("fuzz", set, &summary);
    law(!table.is_empty() && page.contains("</html>"), || "a result is not shown".into())
}

/// A sweep over a scenario, mutated.
pub(crate) fn sweep(rng: &mut Stream) -> Vec<u8> {
    const SWEEPS: [&str; 4] = [
        "extends = \"incast.toml\"\n[sweep.grid]\nseed = [1, 2, 3]\n\"scheme[dctcp].queue.threshold\" = \
         [\"30KB\", \"60KB\"]\n",
        "extends = \"websearch.toml\"\nwithout = [\"measure.sample\"]\n[sweep.grid]\n\"workload[0].load\" = \
         [0.3, 0.5, 0.7]\n[[sweep.point]]\nseed = 7\n[[sweep.point]]\nseed = 8\n",
        "extends = \"hedera.toml\"\n[[sweep.point]]\n\"fabric.k\" = 4\nrepeat = 2\n",
        "extends = \"reproduce/fp-A.toml\"\n[sweep.grid]\n\"end.at\" = [\"1ms\", \"2ms\"]\n",
    ];
    let base = if rng.once_in(3) { &rng.pick(scenarios()).bytes } else { &b""[..] };
    let sweep = rng.pick(&SWEEPS).as_bytes();
    let seed = [base, sweep].concat();
    let other = rng.pick(&SWEEPS).as_bytes();
    mutated_text(rng, &seed, other)
}

/// Checks the properties of a sweep's text.
pub(crate) fn judge_sweep(input: &[u8]) -> Result<(), String> {
    let Some(text) = text_of(input)? else { return Ok(()) };
    let study = match Study::parse(&place(), text.clone()) {
        Ok(study) => study,
        Err(error) => return refused(&error, &place(), &text),
    };
    law(!study.is_empty(), || "a sweep without points".into())?;
    let part = Part::of(&study, Shard::WHOLE);
    for at in 0..study.len().min(4) {
        let known = part.points[at].settings.iter().flatten().filter(|value| !value.is_null());
        let given = study.settings(at).iter().flatten().count();
        law(known.count() == given, || format!("a setting of point {at} is lost"))?;
        law(study.settings_text(at).is_empty() == part.settings_text(at).is_empty(), || {
            format!("the settings of point {at} differ")
        })?;
        match study.point(at) {
            Ok(loaded) => drop(loaded.resolved()),
            Err(error) => refused(&error, &place(), &text)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If most scenarios were refused, fuzzing would test little but refusals.
    #[test]
    fn many_generated_scenarios_are_accepted_and_run() {
        let (mut accepted, mut small) = (0, 0);
        for number in 0..200 {
            let input = generated(&mut Stream::named(1, "fuzz.acceptance", number));
            let text = String::from_utf8(input).unwrap();
            match Scenario::parse(&place(), text) {
                Ok(loaded) => {
                    accepted += 1;
                    small += u32::from(shortened(loaded).is_some());
                }
                Err(error) => println!("{}", error.to_string().lines().next().unwrap_or("")),
            }
        }
        println!("{accepted} accepted, {small} small");
        assert!(accepted > 120 && small > 100, "{accepted} accepted, {small} small");
    }
}
