//! The bill of materials of a design, and its sums.

use super::amount::{Length, Money, Power, Price};
use super::parts::{Figure, Parts, Switch};
use super::{Design, PlanError, Run};
use std::collections::BTreeMap;

/// One line of the bill.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// `switch`, `cable` or `rack`.
    pub kind: &'static str,
    /// Name of the part.
    pub item: String,
    /// The level of the part, or the levels that it joins.
    pub role: &'static str,
    /// Number of parts.
    pub count: u64,
    /// Price of one part.
    pub price: Known<Money>,
    /// Power of one part.
    pub power: Known<Power>,
    /// Heat of one part.
    pub heat: Known<Power>,
}

/// A figure of a part: known or not, and whether it is an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Known<T> {
    /// The figure; `None` if the table does not have it.
    pub value: Option<T>,
    /// Whether the table marks it as an example.
    pub example: bool,
}

/// A sum of figures.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sum {
    /// The sum of all known figures.
    pub value: u128,
    /// Whether one of the figures is an example.
    pub example: bool,
    /// A part without the figure. The sum is then incomplete.
    pub missing: Option<String>,
}

/// All lines and their sums.
#[derive(Clone, PartialEq, Debug)]
pub struct Bill {
    /// Switches from the hosts upwards, cables, racks.
    pub lines: Vec<Line>,
    /// Price of all switches, in hundredths.
    pub switches: Sum,
    /// Price of all cables.
    pub cables: Sum,
    /// Power of switches and ends of cables, in milliwatts.
    pub power: Sum,
    /// Their heat, in milliwatts.
    pub heat: Sum,
    /// Length of all cables as needed, in millimetres.
    pub length: u128,
}

impl<T> Known<T> {
    fn of(value: Option<T>, figure: Figure, examples: &[Figure]) -> Known<T> {
        Known { value, example: examples.contains(&figure) }
    }
    fn nothing() -> Known<T> {
        Known { value: None, example: false }
    }
    fn map<U>(self, of: impl FnOnce(T) -> U) -> Known<U> {
        Known { value: self.value.map(of), example: self.example }
    }
}

impl Sum {
    /// The value, if every part has the figure.
    pub fn whole(&self) -> Option<u128> {
        self.missing.is_none().then_some(self.value)
    }
    /// The sum of both.
    pub fn and(&self, other: &Sum) -> Sum {
        Sum {
            value: self.value + other.value,
            example: self.example || other.example,
            missing: self.missing.clone().or_else(|| other.missing.clone()),
        }
    }
    /// The sum over `lines` of a figure.
    fn over<'a>(lines: impl Iterator<Item = &'a Line>, of: impl Fn(&Line) -> Known<u128>) -> Sum {
        let mut sum = Sum { value: 0, example: false, missing: None };
        for line in lines {
            let Known { value, example } = of(line);
            sum.value += value.unwrap_or(0) * u128::from(line.count);
            sum.example |= example && value != Some(0);
            if value.is_none() && sum.missing.is_none() {
                sum.missing = Some(line.item.clone());
            }
        }
        sum
    }
}

impl Bill {
    /// The bill of `design`, with prices from `parts`.
    pub fn of(design: &Design, parts: &Parts) -> Result<Bill, PlanError> {
        let mut lines: Vec<Line> = design
            .switches
            .iter()
            .filter(|kind| kind.count > 0)
            .map(|kind| switch(&parts.switches[kind.part], kind.role, kind.count))
            .collect();
        lines.extend(cables(&design.runs, parts)?);
        lines.extend(racks(design));
        let bought = |kind: &'static str| lines.iter().filter(move |line| line.kind == kind);
        let powered = || lines.iter().filter(|line| line.kind != "rack");
        let cost = |line: &Line| line.price.map(|price| price.0);
        Ok(Bill {
            switches: Sum::over(bought("switch"), cost),
            cables: Sum::over(bought("cable"), cost),
            power: Sum::over(powered(), |line| line.power.map(|power| power.0)),
            heat: Sum::over(powered(), |line| line.heat.map(|heat| heat.0)),
            length: design
                .runs
                .iter()
                .map(|run| u128::from(run.count) * u128::from(run.length.0))
                .sum(),
            lines,
        })
    }
    /// The total of the bill.
    pub fn cost(&self) -> Sum {
        self.switches.and(&self.cables)
    }
}

fn amount(price: &Option<Price>) -> Option<Money> {
    price.as_ref().map(|price| price.money)
}

fn switch(part: &Switch, role: &'static str, count: u64) -> Line {
    // If a switch has no figure for heat, its power is used, and is an example if the power is one.
    let heat = if part.heat.is_some() { Figure::Heat } else { Figure::Power };
    Line {
        kind: "switch",
        item: part.name.clone(),
        role,
        count,
        price: Known::of(amount(&part.price), Figure::Price, &part.examples),
        power: Known::of(part.power, Figure::Power, &part.examples),
        heat: Known::of(part.given_off(), heat, &part.examples),
    }
}

/// Cables by the levels that they join and by class. The cheapest class that is long enough is chosen.
fn cables(runs: &[Run], parts: &Parts) -> Result<Vec<Line>, PlanError> {
    let mut order: Vec<&'static str> = Vec::new();
    let mut counts: BTreeMap<(usize, Length, usize), u64> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.count > 0) {
        if !order.contains(&run.link) {
            order.push(run.link);
        }
        let link = order.iter().position(|link| *link == run.link).unwrap_or(0);
        let cable = parts.cable(run.rate, run.length).ok_or_else(|| none(run, parts))?;
        *counts.entry((link, parts.cables[cable].length, cable)).or_default() += run.count;
    }
    let line = |((link, _, cable), count): ((usize, Length, usize), u64)| {
        let part = &parts.cables[cable];
        let power = Known::of(Some(part.power), Figure::Power, &part.examples);
        Line {
            kind: "cable",
            item: part.name.clone(),
            role: order[link],
            count,
            price: Known::of(amount(&part.price), Figure::Price, &part.examples),
            power,
            heat: power,
        }
    };
    Ok(counts.into_iter().map(line).collect())
}

fn none(run: &Run, parts: &Parts) -> PlanError {
    let longest = parts.longest(run.rate);
    PlanError::NoCable {
        table: parts.name.clone(),
        rate: run.rate,
        length: run.length,
        longest: longest.map_or(String::new(), |most| format!(": its longest has {most}")),
    }
}

fn racks(design: &Design) -> Vec<Line> {
    let line = |role, hosts: bool| {
        let racks = design.hall.racks.iter().filter(|rack| (rack.hosts > 0) == hosts);
        Line {
            kind: "rack",
            item: "rack".into(),
            role,
            count: racks.count() as u64,
            price: Known::nothing(),
            power: Known::nothing(),
            heat: Known::nothing(),
        }
    };
    let both = [line("hosts", true), line("switches", false)];
    both.into_iter().filter(|line| line.count > 0).collect()
}
