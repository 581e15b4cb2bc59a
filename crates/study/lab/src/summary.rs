//! Summarises a set of runs: each scheme on each metric, and each scheme compared with the first.

use crate::fit::Fit;
use crate::metrics::Measured;
use crate::quantity;
use crate::record::{Conservation, EngineStats, RunRecord, RunSet};
use crate::statistics::{Comparison, Estimate, Pair, Verdict};
use slotline_scenario::metric::Metric;
use slotline_scenario::quantity::QuantitySpec;
use slotline_tables::parallel;

/// One scheme on one metric.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cell {
    /// Mean over seeds.
    pub estimate: Estimate,
    /// Whether it is a lower bound because of unfinished flows.
    pub at_least: bool,
    /// The comparison with the baseline; `None` for the baseline itself.
    pub against: Option<Comparison>,
}

impl Cell {
    /// The cell, without a verdict unless the scheme `acted`.
    fn judged_if(mut self, acted: bool) -> Cell {
        if let Some(comparison) = self.against.as_mut().filter(|_| !acted) {
            comparison.verdict = Verdict::Idle;
        }
        self
    }
}

/// One scheme.
#[derive(Clone, PartialEq, Debug)]
pub struct SchemeSummary {
    /// Its name.
    pub name: String,
    /// Number of complete runs.
    pub runs: usize,
    /// By position in [`Summary::metrics`].
    pub cells: Vec<Option<Cell>>,
    /// Whether its scheduler acted, and whether its periods fit.
    pub fit: Fit,
    /// By position in [`Summary::quantities`]; `None` if no run has a value.
    pub quantities: Vec<Option<Estimate>>,
    /// The counts of its central scheme by name, as means per run.
    pub control: Vec<(String, f64)>,
    /// The engine figures of its runs.
    pub engine: EngineTotal,
}

/// Engine figures of several runs: sums, except for threads, memory and simulated time, which are maxima.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct EngineTotal {
    /// The figures. Their `digest` is computed from the digests of the runs in order.
    pub stats: EngineStats,
    /// The packet balance of all runs.
    pub census: Conservation,
}

/// The summary of a set of runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    /// The metrics that some run has a value of.
    pub metrics: Vec<Metric>,
    /// The quantities that the scenario defines.
    pub quantities: Vec<QuantitySpec>,
    /// Schemes in the scenario's order; the first is the baseline.
    pub schemes: Vec<SchemeSummary>,
}

/// The values of one scheme on one metric, by seed.
pub type BySeed = Vec<(u64, Measured)>;

impl Summary {
    /// Evaluates every metric on every run of `set`.
    pub fn of(set: &RunSet) -> Summary {
        let values: Vec<Vec<BySeed>> = parallel::map(&set.schemes, |s| measure_all(set, s));
        let present = |at: &usize| values.iter().any(|scheme| !scheme[*at].is_empty());
        let present_metrics: Vec<usize> = (0..Metric::ALL.len()).filter(present).collect();
        let fits = crate::fit::of(set);
        let quantities = quantity::of_set(set);
        let scheme = |(index, name): (usize, &String)| {
            let idle = fits[index].never_acted;
            let base = if index > 0 { values.first() } else { None };
            let cell = |at: &usize| {
                let base = base.map(|b| b[*at].as_slice());
                Some(cell(Metric::ALL[*at], &values[index][*at], base)?.judged_if(!idle))
            };
            let runs = set.of(name);
            SchemeSummary {
                name: name.clone(),
                runs: runs.len(),
                fit: fits[index].clone(),
                cells: present_metrics.iter().map(cell).collect(),
                quantities: quantities
                    .iter()
                    .map(|own| quantity::estimate(own, &runs, set.window))
                    .collect(),
                control: control(&runs),
                engine: EngineTotal::of(&runs),
            }
        };
        Summary {
            schemes: set.schemes.iter().enumerate().map(scheme).collect(),
            metrics: present_metrics.iter().map(|at| Metric::ALL[*at]).collect(),
            quantities,
        }
    }
    /// The cell of the scheme with index `scheme` on `metric`.
    pub fn cell(&self, scheme: usize, metric: Metric) -> Option<&Cell> {
        let at = self.metrics.iter().position(|m| *m == metric)?;
        self.schemes.get(scheme)?.cells[at].as_ref()
    }
    /// The metrics that tables show and headlines count, in order: those that the scenario names, or else all that
    /// are not zero throughout.
    pub fn shown(&self, set: &RunSet) -> Vec<Metric> {
        let chosen = |m: &Metric| match set.metrics.is_empty() {
            true => !self.all_zero(*m),
            false => set.metrics.contains(m),
        };
        self.metrics.iter().copied().filter(chosen).collect()
    }
    /// The metrics that [`Summary::shown`] omits because they are zero throughout.
    pub fn zero(&self, set: &RunSet) -> Vec<Metric> {
        let left_out = |m: &Metric| set.metrics.is_empty() && self.all_zero(*m);
        self.metrics.iter().copied().filter(left_out).collect()
    }
    /// Whether a value of the `shown` metrics is a lower bound.
    pub fn has_bound(&self, shown: &[Metric]) -> bool {
        let cells = (0..self.schemes.len()).flat_map(|at| shown.iter().map(move |m| (at, *m)));
        cells.filter_map(|(at, metric)| self.cell(at, metric)).any(|cell| cell.at_least)
    }
    /// Warnings that readers need before any verdict: schedulers that never acted, and periods that do not fit.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        self.schemes.iter().flat_map(|scheme| scheme.fit.warnings.iter().map(String::as_str))
    }
    /// Whether several seeds gave the same numbers throughout.
    pub fn is_fixed(&self) -> bool {
        let mut cells = self.schemes.iter().flat_map(|scheme| scheme.cells.iter().flatten());
        let fixed = |cell: &Cell| cell.estimate.n > 1 && cell.estimate.half == Some(0.0);
        cells.clone().next().is_some() && cells.all(fixed)
    }
    fn all_zero(&self, metric: Metric) -> bool {
        let cells = (0..self.schemes.len()).filter_map(|at| self.cell(at, metric));
        cells.map(|cell| cell.estimate.mean).all(|mean| mean == 0.0)
    }
}

/// The means of the counts of central schemes over `runs`.
fn control(runs: &[&RunRecord]) -> Vec<(String, f64)> {
    let mut names: Vec<&str> =
        runs.iter().flat_map(|run| run.control.iter().map(|row| row.count.as_str())).collect();
    names.sort_unstable();
    names.dedup();
    let sum = |name: &str| {
        runs.iter()
            .filter_map(|run| run.counted_by_name(name))
            .map(|value| value as f64)
            .sum::<f64>()
    };
    names.into_iter().map(|name| (name.into(), sum(name) / runs.len() as f64)).collect()
}

/// The values of `scheme` by seed, for each of [`Metric::ALL`] in order.
pub fn measure_all(set: &RunSet, scheme: &str) -> Vec<BySeed> {
    let runs = set.of(scheme);
    let measured: Vec<_> =
        runs.iter().map(|run| (run.seed, crate::metrics::measure_all(run, set.window))).collect();
    let by_seed = |at: usize| {
        let value = |(seed, values): &(u64, Vec<Option<Measured>>)| Some((*seed, values[at]?));
        measured.iter().filter_map(value).collect()
    };
    (0..Metric::ALL.len()).map(by_seed).collect()
}

fn cell(
    metric: Metric,
    values: &[(u64, Measured)],
    base: Option<&[(u64, Measured)]>,
) -> Option<Cell> {
    let numbers: Vec<f64> = values.iter().map(|(_, m)| m.value).collect();
    let pair = |(seed, base): &(u64, Measured)| -> Option<Pair> {
        let (_, own) = values.iter().find(|(s, _)| s == seed)?;
        Some((*base, *own))
    };
    let pairs: Option<Vec<Pair>> = base.map(|base| base.iter().filter_map(pair).collect());
    Some(Cell {
        estimate: Estimate::of(&numbers)?.within(metric.possible()),
        at_least: values.iter().any(|(_, m)| m.at_least),
        against: pairs.and_then(|pairs| Comparison::paired(&pairs, metric.better())),
    })
}

impl EngineTotal {
    /// Of `runs`, in the order given.
    pub fn of(runs: &[&RunRecord]) -> EngineTotal {
        let mut total = EngineTotal::default();
        let mut digests = Vec::new();
        for run in runs {
            total.add_stats(&run.engine);
            total.add_census(&run.census);
            digests.extend(run.engine.digest.to_le_bytes());
        }
        total.stats.digest = slotline_scenario::fingerprint(&digests);
        total
    }
    fn add_stats(&mut self, run: &EngineStats) {
        let sum = &mut self.stats;
        sum.cpu_s += run.cpu_s;
        sum.wall_s += run.wall_s;
        sum.events += run.events;
        sum.packet_hops += run.packet_hops;
        sum.peak_rss_bytes = sum.peak_rss_bytes.max(run.peak_rss_bytes);
        sum.threads = sum.threads.max(run.threads);
        sum.sim_time_ps = sum.sim_time_ps.max(run.sim_time_ps);
        sum.flow_level |= run.flow_level;
        sum.emulation = match (sum.emulation, run.emulation) {
            (Some(sum), Some(run)) => Some(sum.worse(run)),
            (sum, run) => sum.or(run),
        };
    }
    fn add_census(&mut self, run: &Conservation) {
        let sum = &mut self.census;
        sum.sent += run.sent;
        sum.delivered += run.delivered;
        sum.in_flight += run.in_flight;
        for (sum, dropped) in sum.dropped.iter_mut().zip(run.dropped) {
            *sum += dropped;
        }
    }
}
