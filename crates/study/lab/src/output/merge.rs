//! Merges several results into one, for a page that compares them.

use super::differences::{Difference, differences};
use super::read::Stored;
use crate::record::{RunSet, Window};
use std::collections::BTreeSet;

/// The most differences that are shown on the page.
const MOST_DIFFERENCES: usize = 30;

/// Why results cannot be compared on one page.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// There is nothing to compare.
    #[error("no result was named")]
    None,
    /// A result was named twice.
    #[error("`{0}` is named twice: a result cannot be compared with itself")]
    Twice(String),
    /// The measured parts of the runs differ.
    #[error(
        "`{first}` counts what happens {}, `{other}` {}, so their numbers are not comparable. Run one of \
         them again with the other's `[measure]`", span(.windows.0), span(.windows.1)
    )]
    Window {
        /// The first result.
        first: String,
        /// The one that differs.
        other: String,
        /// The measured part of each.
        windows: Box<(Window, Window)>,
    },
    /// The results have no seed in common, and verdicts are paired by seed.
    #[error(
        "`{first}` has seeds {}, `{other}` {}: they have none in common, and a page compares by seed. Run one of \
         them again with the other's --seed and --repeat; `slotline diff` compares them as they are",
        list(&.seeds.0), list(&.seeds.1)
    )]
    Seeds {
        /// The first result.
        first: String,
        /// The one that differs.
        other: String,
        /// The seeds of each.
        seeds: Box<(Vec<u64>, Vec<u64>)>,
    },
}

/// A window as text.
pub(crate) fn span(window: Window) -> String {
    let time = |ps: u64| {
        super::format::quantity(slotline_scenario::metric::Unit::Seconds, ps as f64 / 1e12)
    };
    match window {
        Window::ALL => "in the whole run".into(),
        Window { from_ps, until_ps: u64::MAX } => format!("from {} on", time(from_ps)),
        Window { from_ps, until_ps } => format!("from {} to {}", time(from_ps), time(until_ps)),
    }
}

fn list(seeds: &[u64]) -> String {
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    seeds.join(", ")
}

/// A result with its label.
pub type Labelled = (String, Stored);

/// Merges `parts` into one set. A scheme that several results have with the same runs is there once. A scheme has its
/// own name where only one result has that name; otherwise it is called `label: name`. The description lists the other
/// differences.
pub fn merge(mut parts: Vec<Labelled>) -> Result<RunSet, MergeError> {
    let (label, first) = parts.first().ok_or(MergeError::None)?;
    for (at, (other, stored)) in parts.iter().enumerate().skip(1) {
        if parts[..at].iter().any(|(label, _)| label == other) {
            return Err(MergeError::Twice(other.clone()));
        }
        fits((label, &first.set), (other, &stored.set))?;
    }
    let mut merged = RunSet {
        name: title(&parts),
        description: description(&parts),
        scenario: scenarios(&parts),
        fabric: distinct(parts.iter().map(|(_, s)| s.set.fabric.clone())).join("; "),
        schemes: vec![],
        workloads: vec![],
        metrics: distinct(parts.iter().flat_map(|(_, s)| s.set.metrics.clone())),
        seeds: common_seeds(&parts),
        window: first.set.window,
        runs: vec![],
        failed: vec![],
    };
    let alike = parts.iter().all(|(_, s)| s.set.workloads == first.set.workloads);
    once(&mut parts);
    let names: Vec<String> = parts.iter().flat_map(|(_, s)| s.set.schemes.clone()).collect();
    for (label, stored) in parts {
        let shared = alike && !merged.workloads.is_empty();
        let groups = if shared { 0 } else { merged.workloads.len() as u16 };
        add(&mut merged, renamed(&label, stored.set, &names), groups, shared);
    }
    Ok(merged)
}

fn fits(first: (&String, &RunSet), other: (&String, &RunSet)) -> Result<(), MergeError> {
    let (label, name) = (first.0.clone(), other.0.clone());
    let (first, set) = (first.1, other.1);
    if first.window != set.window {
        let windows = Box::new((first.window, set.window));
        return Err(MergeError::Window { first: label, other: name, windows });
    }
    if !first.seeds.iter().any(|seed| set.seeds.contains(seed)) {
        let seeds = Box::new((first.seeds.clone(), set.seeds.clone()));
        return Err(MergeError::Seeds { first: label, other: name, seeds });
    }
    Ok(())
}

/// The names of the scenarios, and the number of results if it is larger.
fn title(parts: &[Labelled]) -> String {
    let names = distinct(parts.iter().map(|(_, stored)| stored.set.name.clone()));
    let results = if parts.len() > names.len() {
        format!(": {} results", parts.len())
    } else {
        String::new()
    };
    match &names[..] {
        [one] => format!("{one}{results} compared"),
        [first @ .., last] => format!("{} and {last}{results} compared", first.join(", ")),
        [] => String::new(),
    }
}

/// Removes schemes that an earlier result has with the same name and the same runs.
fn once(parts: &mut [Labelled]) {
    for at in 1..parts.len() {
        let (before, rest) = parts.split_at_mut(at);
        let set = &mut rest[0].1.set;
        let known =
            |name: &String| before.iter().any(|(_, earlier)| same_runs(&earlier.set, set, name));
        let again: Vec<String> = set.schemes.iter().filter(|name| known(name)).cloned().collect();
        set.schemes.retain(|name| !again.contains(name));
        set.runs.retain(|run| !again.contains(&run.scheme));
    }
}

/// Whether two sets have a scheme of this name with the same seeds, and each run has the same digest.
fn same_runs(a: &RunSet, b: &RunSet, name: &str) -> bool {
    let runs = |set: &RunSet| -> BTreeSet<(u64, u64)> {
        set.of(name).iter().map(|run| (run.seed, run.engine.digest)).collect()
    };
    let failed = |set: &RunSet| set.failed.iter().any(|run| run.scheme == name);
    let (ours, theirs) = (runs(a), runs(b));
    !ours.is_empty() && ours == theirs && !failed(a) && !failed(b)
}

fn labels(parts: &[Labelled]) -> Vec<String> {
    parts.iter().map(|(label, _)| label.clone()).collect()
}

/// Each of `items` once, in order.
fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut out = Vec::new();
    for item in items {
        if !out.contains(&item) {
            out.push(item);
        }
    }
    out
}

fn common_seeds(parts: &[Labelled]) -> Vec<u64> {
    let everywhere = |seed: &u64| parts.iter().all(|(_, s)| s.set.seeds.contains(seed));
    parts
        .iter()
        .flat_map(|(_, s)| &s.set.seeds)
        .copied()
        .filter(everywhere)
        .collect::<BTreeSet<u64>>()
        .into_iter()
        .collect()
}

/// Returns `set` with its schemes renamed for the page.
fn renamed(label: &str, mut set: RunSet, names: &[String]) -> RunSet {
    let name = |scheme: &String| match names.iter().filter(|name| *name == scheme).count() {
        1 => scheme.clone(),
        _ => format!("{label}: {scheme}"),
    };
    set.runs.iter_mut().for_each(|run| run.scheme = name(&run.scheme));
    set.failed.iter_mut().for_each(|run| run.scheme = name(&run.scheme));
    set.schemes = set.schemes.iter().map(name).collect();
    set
}

/// Adds `set`, whose workloads are numbered from `groups` on unless they are `shared`.
fn add(merged: &mut RunSet, set: RunSet, groups: u16, shared: bool) {
    merged.schemes.extend(set.schemes);
    merged.failed.extend(set.failed);
    if !shared {
        merged.workloads.extend(set.workloads);
    }
    for mut run in set.runs {
        run.flows.iter_mut().for_each(|flow| flow.group = flow.group.saturating_add(groups));
        merged.runs.push(run);
    }
}

/// The common scenario, or each scenario under its label.
fn scenarios(parts: &[Labelled]) -> String {
    let texts = distinct(parts.iter().map(|(_, s)| &s.set.scenario));
    match texts[..] {
        [text] => text.clone(),
        _ => parts.iter().map(|(l, s)| format!("# ==== {l}\n\n{}\n", s.set.scenario)).collect(),
    }
}

/// The descriptions of the results, and their differences.
fn description(parts: &[Labelled]) -> String {
    let mut out = distinct(parts.iter().map(|(_, s)| s.set.description.clone()));
    out.retain(|text| !text.is_empty());
    out.iter_mut().filter(|text| !text.ends_with(['.', '!', '?'])).for_each(|text| text.push('.'));
    out.push(format!("This page compares the results {}.", labels(parts).join(", ")));
    out.extend(parts.iter().skip(1).map(|other| changes_between(&parts[0], other)));
    if let Some(stopped) = parts.iter().find(|(_, s)| !s.set.complete()) {
        out.push(format!("{} is incomplete: not all its runs were done.", stopped.0));
    }
    out.join(" ")
}

fn changes_between((label, first): &Labelled, (other, second): &Labelled) -> String {
    let mut changes: Vec<String> = Vec::new();
    if first.version != second.version {
        changes
            .push(format!("was made by slotline {} instead of {}", second.version, first.version));
    }
    if first.set.seeds != second.set.seeds {
        let (old, new) = (list(&first.set.seeds), list(&second.set.seeds));
        changes.push(format!("has the seeds {new} instead of {old}"));
    }
    let keys = differences(&first.set.scenario, &second.set.scenario);
    changes.extend(keys.iter().take(MOST_DIFFERENCES).map(Difference::words));
    if keys.len() > MOST_DIFFERENCES {
        changes.push(format!("differs in {} more keys", keys.len() - MOST_DIFFERENCES));
    }
    match changes.is_empty() {
        true => format!("{label} and {other} have the same scenario and version."),
        false => format!("Unlike {label}, {other} {}.", changes.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Summary;

    fn part(label: &str, change: impl Fn(&mut RunSet)) -> Labelled {
        let mut set = RunSet::example(3);
        change(&mut set);
        (label.into(), Stored { id: label.into(), version: "0.1.0".into(), set })
    }
    fn only(name: &'static str) -> impl Fn(&mut RunSet) {
        move |set| {
            set.schemes.retain(|scheme| scheme == name);
            set.runs.retain(|run| run.scheme == name);
        }
    }

    #[test]
    fn schemes_of_one_result_keep_their_names() {
        let merged = merge(vec![part("a", only("tcp")), part("b", only("dctcp"))]);
        let merged = merged.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(merged.schemes, ["tcp", "dctcp"]);
        assert_eq!(merged.name, "Incast of 8: 2 results compared");
        assert!(merged.complete() && merged.runs.len() == 6 && merged.seeds == [1, 2, 3]);
        assert_eq!((merged.workloads.len(), &*merged.scenario), (1, &*RunSet::example(1).scenario));
        assert!(merged.description.contains("same scenario and version"), "{}", merged.description);
        // The numbers are the same as in one scenario with all schemes.
        let (summary, whole) = (Summary::of(&merged), Summary::of(&RunSet::example(3)));
        assert_eq!(summary.schemes[1].cells[0], whole.schemes[1].cells[0]);
    }

    #[test]
    fn equal_schemes_are_there_once() {
        let other = part("new", |set| {
            set.runs
                .iter_mut()
                .filter(|run| run.scheme == "dctcp")
                .for_each(|run| run.engine.digest ^= 1);
        });
        let merged =
            merge(vec![part("old", |_| ()), other]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(merged.schemes, ["tcp", "old: dctcp", "xco, <slices>", "new: dctcp"]);
        assert!(merged.complete() && merged.runs.len() == 12, "{}", merged.runs.len());
    }

    #[test]
    fn names_in_several_results_get_the_result_in_front() {
        let other = part("new", |set| {
            only("tcp")(set);
            set.scenario = "name = \"another\"\n".into();
            set.workloads = vec!["ring".into()];
            set.runs.iter_mut().for_each(|run| run.engine.digest ^= 1);
            set.seeds = vec![2, 3, 4];
        });
        let merged = merge(vec![part("old", |_| ()), other]);
        let merged = merged.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(merged.schemes, ["old: tcp", "dctcp", "xco, <slices>", "new: tcp"]);
        assert_eq!((merged.workloads.join(" "), merged.seeds), ("incast ring".into(), vec![2, 3]));
        let last = merged.runs.last().map(|run| (run.scheme.as_str(), run.flows[0].group));
        assert_eq!(last, Some(("new: tcp", 1)));
        for expected in [
            "Unlike old, new has the seeds 2, 3, 4 instead of 1, 2, 3",
            "has name = \"another\" instead of \"Incast of 8\"",
        ] {
            assert!(merged.description.contains(expected), "{}", merged.description);
        }
        assert!(merged.scenario.contains("# ==== old") && merged.scenario.contains("another"));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let refused = |change: &dyn Fn(&mut RunSet)| {
            let parts = vec![part("a", |_| ()), part("b", change)];
            merge(parts).expect_err("a refusal").to_string()
        };
        let window =
            refused(&|set| set.window = Window { from_ps: 10_000_000_000, until_ps: u64::MAX });
        assert!(window.contains("in the whole run, `b` from 10 ms on"), "{window}");
        let seeds = refused(&|set| set.seeds = vec![7, 8]);
        assert!(seeds.contains("1, 2, 3") && seeds.contains("7, 8"), "{seeds}");
        let twice = merge(vec![part("a", |_| ()), part("a", |_| ())]);
        assert_eq!(twice, Err(MergeError::Twice("a".into())));
    }
}
