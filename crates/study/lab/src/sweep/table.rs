//! Formats a sweep's rows as a table for the screen, and as CSV.

use super::part::{Sweep, json_shown};
use super::plan::Parameter;
use super::rows::{Row, of_rows};
use super::summary_file::QuantityEntry;
use crate::expect::{self, Outcome};
use crate::output::format::{self, Scale};
use crate::output::terminal::{padded, text_width};
use crate::statistics::Estimate;
use serde_json::Value;
use slotline_net::time::Time;
use slotline_net::units::{Bytes, Rate};
use slotline_scenario::metric::{Metric, Unit};
use slotline_tables::quoted;
use std::collections::BTreeMap;

/// A value in its base unit: seconds, bytes or bits per second. Plain numbers are counts.
pub fn quantity(value: &Value) -> Option<(f64, Unit)> {
    let text = match value {
        Value::Number(number) => return Some((number.as_f64()?, Unit::Count)),
        Value::String(text) => text,
        _ => return None,
    };
    let time = text.parse::<Time>().map(|time| (time.as_ps() as f64 / 1e12, Unit::Seconds));
    let size = text.parse::<Bytes>().map(|size| (size.0 as f64, Unit::Bytes));
    let rate = text.parse::<Rate>().map(|rate| (rate.0 as f64, Unit::BitsPerSecond));
    time.ok().or(size.ok()).or(rate.ok())
}

/// The unit of a column whose values are all quantities of one kind.
pub fn unit_of<'a>(values: impl Iterator<Item = Option<&'a Value>>) -> Option<Unit> {
    let units: Option<Vec<Unit>> = values.map(|value| Some(quantity(value?)?.1)).collect();
    let units = units?;
    let first = *units.first()?;
    units.iter().all(|unit| *unit == first).then_some(first)
}

impl Sweep {
    /// Whether all expectations hold.
    pub fn as_expected(&self) -> bool {
        self.expectations.iter().all(|(_, outcome)| outcome.holds)
    }

    /// The settings of point `at`: `load = 0.7, k = 8`.
    pub fn settings_text(&self, at: usize) -> String {
        let named = self.parameters.iter().zip(&self.points[at].settings);
        let pair = |(parameter, value): (&Parameter, &Option<Value>)| {
            Some(format!("{} = {}", parameter.label, json_shown(value.as_ref()?)))
        };
        named.filter_map(pair).collect::<Vec<_>>().join(", ")
    }

    /// The expectations as text; empty without any.
    pub fn expectations_text(&self) -> String {
        if self.expectations.is_empty() {
            return String::new();
        }
        let row = |(at, outcome): &(usize, Outcome)| {
            [vec![self.settings_text(*at)], outcome.cells().to_vec()].concat()
        };
        let rows: Vec<Vec<String>> = self.expectations.iter().map(row).collect();
        expect::heading(self.expectations.iter().map(|(_, outcome)| outcome))
            + &expect::lines(&rows)
    }

    /// The values of parameter number `at` of the rows.
    pub fn column(&self, at: usize) -> impl Iterator<Item = Option<&Value>> {
        self.rows.iter().map(move |row| row.settings[at].as_ref())
    }

    /// The metrics that the scenario names, or else all that are not zero throughout.
    pub fn shown(&self) -> Vec<Metric> {
        let mean = |row: &Row, m| row.metrics.get(&m).and_then(|entry| entry.mean);
        let has = |m: Metric| self.rows.iter().any(|row| mean(row, m).is_some());
        let zero = |m: Metric| self.rows.iter().filter_map(|row| mean(row, m)).all(|v| v == 0.0);
        let chosen = |m: &Metric| {
            if self.metrics.is_empty() { !zero(*m) } else { self.metrics.contains(m) }
        };
        Metric::ALL.into_iter().filter(|m| has(*m) && chosen(m)).collect()
    }

    /// `sweep.json`.
    pub fn json(&self) -> String {
        // Plain data with text keys always has a JSON form.
        serde_json::to_string_pretty(self).expect("plain data") + "\n"
    }

    /// `sweep.csv`: one line per setting, scheme and metric (RFC 4180). A value with a unit is shown as written, and
    /// again as a number in a column of its own, such as `delay in s`.
    pub fn csv(&self) -> String {
        let columns: Vec<(&str, Option<Unit>)> = of_rows(&self.parameters)
            .enumerate()
            .map(|(at, parameter)| (parameter.label.as_str(), self.unit_beside(at)))
            .collect();
        let heads = columns.iter().flat_map(|(label, unit)| {
            let number = unit.map(|unit| format!("{label} in {}", unit.symbol()));
            std::iter::once(label.to_string()).chain(number)
        });
        let fixed = [
            "scheme",
            "metric",
            "unit",
            "mean",
            "ci_low",
            "ci_high",
            "n",
            "lower_bound",
            "verdict",
        ];
        let mut out = line(heads.chain(fixed.map(str::to_string)));
        for row in &self.rows {
            let settings: Vec<String> = row
                .settings
                .iter()
                .zip(&columns)
                .flat_map(|(value, (_, unit))| {
                    let text = value.as_ref().map_or(String::new(), json_shown);
                    let number =
                        unit.map(|_| number(value.as_ref().and_then(quantity).map(|q| q.0)));
                    std::iter::once(text).chain(number)
                })
                .collect();
            for (metric, entry) in &row.metrics {
                let verdict =
                    entry.against_baseline.as_ref().map_or("", |against| &against.verdict);
                let cells = [
                    row.scheme.clone(),
                    metric.key().into(),
                    metric.unit().symbol().into(),
                    number(entry.mean),
                    number(entry.ci_low),
                    number(entry.ci_high),
                    entry.n.to_string(),
                    entry.lower_bound.to_string(),
                    verdict.into(),
                ];
                out += &line(settings.iter().cloned().chain(cells));
            }
            for (name, entry) in &row.quantities {
                let cells = quantity_cells(&row.scheme, name, entry);
                out += &line(settings.iter().cloned().chain(cells));
            }
        }
        out
    }

    /// The unit of the second column of parameter number `at`, if it has one.
    fn unit_beside(&self, at: usize) -> Option<Unit> {
        unit_of(self.column(at)).filter(|unit| *unit != Unit::Count)
    }

    /// The parameter for the horizontal axis: the one with the most values. Of several such parameters, numbers are
    /// preferred to names.
    pub fn across(&self) -> Option<usize> {
        let distinct = |at: usize| {
            let mut texts: Vec<String> =
                self.column(at).map(|value| format!("{value:?}")).collect();
            texts.sort();
            texts.dedup();
            texts.len()
        };
        let rank = |at: &usize| {
            (distinct(*at), unit_of(self.column(*at)).is_some(), std::cmp::Reverse(*at))
        };
        (0..of_rows(&self.parameters).count()).max_by_key(rank)
    }

    /// The parameters that divide the points along `across` into lines: all others, except those whose value follows from
    /// that of `across`, because listed points vary several parameters together.
    pub fn beside(&self, across: usize) -> Vec<usize> {
        let follows = |at: usize| {
            let mut seen: BTreeMap<String, &Option<Value>> = BTreeMap::new();
            self.rows.iter().all(|row| {
                let x = format!("{:?}", row.settings[across]);
                *seen.entry(x).or_insert(&row.settings[at]) == &row.settings[at]
            })
        };
        (0..of_rows(&self.parameters).count()).filter(|at| *at != across && !follows(*at)).collect()
    }

    /// A table for a screen `width` columns wide, with a line per setting and scheme. Metrics that do not fit beside
    /// each other are shown in further blocks, which repeat the settings.
    pub fn table(&self, width: usize) -> String {
        let labels = of_rows(&self.parameters).map(|p| p.label.clone());
        let mut fixed: Vec<Vec<String>> = labels
            .enumerate()
            .map(|(at, label)| {
                let values = self.column(at).map(|value| value.map_or("-".into(), json_shown));
                std::iter::once(label).chain(values).collect()
            })
            .collect();
        let schemes = self.rows.iter().map(|row| row.scheme.clone());
        fixed.push(std::iter::once("scheme".into()).chain(schemes).collect());
        let metrics = self.shown().into_iter().map(|m| self.metric(m));
        let names = self.quantities();
        let own = names.iter().map(|name| self.quantity(name));
        let columns: Vec<Vec<String>> = metrics.chain(own).collect();
        let own: usize = fixed.iter().map(|column| column_width(column) + 2).sum();
        let mut groups: Vec<Vec<&Vec<String>>> = vec![vec![]];
        let mut used = own;
        for column in &columns {
            let needs = column_width(column) + 2;
            if used + needs > width + 2 && groups.last().is_some_and(|group| !group.is_empty()) {
                groups.push(vec![]);
                used = own;
            }
            used += needs;
            groups.last_mut().into_iter().for_each(|group| group.push(column));
        }
        groups.iter().map(|group| block(&fixed, group)).collect::<Vec<_>>().join("\n")
    }

    /// The quantities that the scenario defines, in order.
    pub fn quantities(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (name, _) in self.rows.iter().flat_map(|row| &row.quantities) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// As [`Sweep::metric`], of a quantity that the scenario defines.
    fn quantity(&self, name: &str) -> Vec<String> {
        let of =
            |row: &Row| row.quantities.iter().find(|own| own.0 == name).map(|own| own.1.clone());
        let entries: Vec<Option<QuantityEntry>> = self.rows.iter().map(of).collect();
        let mut known = entries.iter().flatten();
        let symbol = known.clone().next().map_or("", |entry| entry.unit.as_str());
        let largest = known.by_ref().map(|entry| entry.mean.abs()).fold(0.0, f64::max);
        let scale = Scale::of(unit_with(symbol), largest);
        let unit =
            if scale.symbol.is_empty() { String::new() } else { format!(" ({})", scale.symbol) };
        let shown = |entry: &Option<QuantityEntry>| {
            let entry = entry.as_ref()?;
            let ends = entry.ci_low.zip(entry.ci_high);
            Some(format::estimate(&Estimate::read(entry.mean, ends, entry.n), false, scale))
        };
        let values = entries.iter().map(|entry| shown(entry).unwrap_or("-".into()));
        std::iter::once(format!("{name}{unit}")).chain(values).collect()
    }

    /// Name with unit, then the values, all in the unit of the largest one.
    fn metric(&self, metric: Metric) -> Vec<String> {
        let entries = || self.rows.iter().map(|row| row.metrics.get(&metric));
        let means = entries().filter_map(|entry| entry?.mean);
        let scale = Scale::of(metric.unit(), means.map(f64::abs).fold(0.0, f64::max));
        let unit =
            if scale.symbol.is_empty() { String::new() } else { format!(" ({})", scale.symbol) };
        let shown = |entry: Option<&super::summary_file::MetricEntry>| {
            let entry = entry?;
            let ends = entry.ci_low.zip(entry.ci_high);
            let estimate = Estimate::read(entry.mean?, ends, entry.n);
            Some(format::estimate(&estimate, entry.lower_bound, scale))
        };
        let head = format!("{}{unit}", metric.title());
        std::iter::once(head)
            .chain(entries().map(|entry| shown(entry).unwrap_or("-".into())))
            .collect()
    }
}

/// The cells of a line of CSV about a quantity, behind the settings.
fn quantity_cells(scheme: &str, name: &str, entry: &QuantityEntry) -> [String; 9] {
    [
        scheme.into(),
        name.into(),
        entry.unit.clone(),
        entry.mean.to_string(),
        number(entry.ci_low),
        number(entry.ci_high),
        entry.n.to_string(),
        "false".into(),
        String::new(),
    ]
}

/// The unit with this symbol; a count if there is none.
fn unit_with(symbol: &str) -> Unit {
    let all = [Unit::Seconds, Unit::BitsPerSecond, Unit::Bytes];
    all.into_iter().find(|unit| unit.symbol() == symbol).unwrap_or(Unit::Count)
}

fn column_width(column: &[String]) -> usize {
    column.iter().map(|text| text_width(text)).max().unwrap_or(0)
}

fn block(fixed: &[Vec<String>], metrics: &[&Vec<String>]) -> String {
    let mut out = String::new();
    for at in 0..fixed[0].len() {
        let own = fixed.iter().map(|column| padded(&column[at], column_width(column), false));
        let values = metrics.iter().map(|column| padded(&column[at], column_width(column), true));
        out += own.chain(values).collect::<Vec<_>>().join("  ").trim_end();
        out.push('\n');
    }
    out
}

fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// A line of CSV.
fn line(cells: impl Iterator<Item = String>) -> String {
    let field = |cell: String| match cell.parse::<f64>() {
        Ok(_) => cell,
        Err(_) => quoted(&cell).into_owned(),
    };
    cells.map(field).collect::<Vec<_>>().join(",") + "\n"
}
