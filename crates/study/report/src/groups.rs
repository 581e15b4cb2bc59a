//! Groups of followed flows whose means are estimates for all flows of a run.
//!
//! The slowest 1 % of the flows are followed, a random sample of the others, and the flows that the scenario names.
//! A mean over all of these would be biased towards slow flows, so each group has a mean of its own.

use super::plot::StackBar;
use super::view::{View, is_transfer, seconds};
use super::why::Followed;
use slotline_lab::follow::slowest;
use slotline_lab::output::format::grouped;
use slotline_lab::record::Part;
use std::collections::BTreeSet;

/// The followed flows of one scheme over all runs that count.
pub(super) struct Groups<'a> {
    /// Followed flows of the slowest 1 %.
    slowest: Vec<&'a Followed<'a>>,
    /// Followed flows among the others, except flows that may be followed only because they are named.
    others: Vec<&'a Followed<'a>>,
    /// Followed flows that the scenario names and that are in neither group.
    named: Vec<&'a Followed<'a>>,
    /// The number of flows in the slowest 1 %.
    slowest_of: usize,
    /// The number of the other flows.
    others_of: usize,
    /// Whether the flows that the scenario names are known.
    named_known: bool,
}

impl<'a> Groups<'a> {
    /// Sorts the followed flows of `scheme` into groups.
    pub(super) fn of(view: &View<'_>, scheme: usize, followed: &'a [Followed<'a>]) -> Groups<'a> {
        let window = view.set.window;
        let names = named(&view.set.scenario);
        let mut groups = Groups {
            slowest: vec![],
            others: vec![],
            named: vec![],
            slowest_of: 0,
            others_of: 0,
            named_known: names.is_some(),
        };
        for run in view.runs[scheme].iter().filter(|run| !run.why.is_empty()) {
            let counts = |flow: &u32| is_transfer(&run.flows[*flow as usize], window);
            let (slow, others) = slowest(run);
            let slow: BTreeSet<u32> = slow.into_iter().filter(counts).collect();
            groups.slowest_of += slow.len();
            groups.others_of += others.iter().filter(|flow| counts(flow)).count();
            groups.sort(followed.iter().filter(|followed| std::ptr::eq(followed.run, *run)), &slow);
        }
        groups.separate_named(names.as_ref());
        groups
    }

    fn sort(&mut self, followed: impl Iterator<Item = &'a Followed<'a>>, slow: &BTreeSet<u32>) {
        let (slow, others): (Vec<_>, Vec<_>) = followed.partition(|t| slow.contains(&t.flow.flow));
        self.slowest.extend(slow);
        self.others.extend(others);
    }

    /// Separates the flows that are followed only because they are named, unless all flows are followed.
    fn separate_named(&mut self, names: Option<&BTreeSet<u32>>) {
        if let Some(names) = names.filter(|_| !self.all()) {
            let others = std::mem::take(&mut self.others).into_iter();
            (self.named, self.others) =
                others.partition(|followed| names.contains(&followed.flow.flow));
        }
    }

    /// Whether every flow is followed.
    fn all(&self) -> bool {
        let followed = self.slowest.len() + self.others.len() + self.named.len();
        followed == self.slowest_of + self.others_of
    }

    /// The bars of `scheme` for the groups that have flows.
    pub(super) fn bars(&self, scheme: usize) -> Vec<StackBar> {
        let everything = || [&self.slowest[..], &self.others[..]].concat();
        let alone = self.others.is_empty();
        let groups = match self.all() {
            true => [("all flows", everything()), ("slowest 1 %", self.slowest.clone())],
            false if alone => {
                [("slowest 1 %", self.slowest.clone()), ("named flows", self.named.clone())]
            }
            false => [
                ("slowest 1 %", self.slowest.clone()),
                ("random sample of the others", self.others.clone()),
            ],
        };
        let filled = groups.into_iter().filter(|(_, flows)| !flows.is_empty());
        filled.map(|(group, flows)| mean(scheme, group, &flows)).collect()
    }

    /// `tcp 20 of 20 and 1,000 of 1,980`.
    fn count_text(&self, name: &str) -> String {
        let n = |n: usize| grouped(n as u64);
        let (slowest, others) = (self.slowest.len(), self.others.len());
        let (of, rest) = (self.slowest_of, self.others_of);
        match self.all() {
            true => format!("{name} all {}", n(of + rest)),
            false => format!(
                "{name} {} of the slowest {}, and {} of the other {}",
                n(slowest),
                n(of),
                n(others),
                n(rest)
            ),
        }
    }
}

/// The part of the caption with the numbers of followed flows and the biases of the sample.
pub(super) fn caption(schemes: &[String], groups: &[Groups<'_>]) -> String {
    let pairs = schemes.iter().zip(groups).filter(|(_, groups)| groups.slowest_of > 0);
    let followed: Vec<String> = pairs.map(|(name, groups)| groups.count_text(name)).collect();
    let mut out = format!(
        "Flows are ranked by slowdown, or by completion time where the slowdown is not known. These complete flows were followed: {}.",
        followed.join("; ")
    );
    let partly: Vec<&Groups<'_>> = groups.iter().filter(|groups| !groups.all()).collect();
    if !partly.is_empty() {
        out += " The others were drawn at random until their half of the memory was full, so very large ones may be missing; \
                all flows of a connection are followed or none.";
    }
    if partly.iter().any(|groups| !groups.named_known) {
        out += " Flows named in follow cannot be distinguished here and count with the others.";
    } else if partly.iter().any(|groups| !groups.named.is_empty()) {
        out += " Other flows that are followed only because they are named are not in the sample.";
    }
    out
}

/// The flows that `follow` names in a scenario; `None` if there are several scenarios.
fn named(scenario: &str) -> Option<BTreeSet<u32>> {
    let table: toml::Table = scenario.parse().ok()?;
    let Some(list) = table.get("measure").and_then(|measure| measure.get("follow")) else {
        return Some(BTreeSet::new());
    };
    let number = |value: &toml::Value| u32::try_from(value.as_integer()?).ok();
    list.as_array()?.iter().map(number).collect()
}

fn mean(scheme: usize, group: &'static str, flows: &[&Followed<'_>]) -> StackBar {
    let of =
        |part: &Part| flows.iter().map(|followed| seconds(followed.why.of(*part))).sum::<f64>();
    let seconds = Part::ALL.iter().map(|part| of(part) / flows.len() as f64).collect();
    StackBar { scheme, group, flows: flows.len(), seconds }
}
