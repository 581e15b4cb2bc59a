//! Figures of flows: completion times, slowdowns, slowdowns by size, and fairness.

use super::plot::{Axis, Division, Figure, Lines, Measure, Missing, Plot, Series, Shape};
use super::thin;
use super::view::{View, is_transfer, lifetime, seconds};
use slotline_lab::record::FlowRow;
use slotline_lab::summary::Summary;
use slotline_net::order::sort_numbers;
use slotline_scenario::metric::Metric;

const SHARE: Axis = Axis { label: "share of flows", unit: Measure::Share, scale: Division::Tail };
const ONE_SIZE: &str = "All flows have one size: see the distribution of slowdowns.";
const NO_FLOWS: &str = "No TCP flow started in the part of the runs that is measured.";
const NONE_FINISHED: &str = "TCP flows began, but none of them finished before the end of the runs, and an unfinished flow has no completion time.";
const NO_IDEAL: &str =
    "The completion times in an empty network were not computed: set ideal = true in [measure].";

const NO_IDEAL_HYBRID: &str = "Slowdowns are not defined on a hybrid fabric: the completion time of a flow in an empty network depends on when it starts.";

/// The reason why slowdowns are not known.
fn no_ideal(view: &View<'_>) -> &'static str {
    let hybrid = view.first().any(|(_, run)| !run.voqs.is_empty());
    if hybrid { NO_IDEAL_HYBRID } else { NO_IDEAL }
}

/// The reason why there are no completion times.
fn no_flows(view: &View<'_>) -> &'static str {
    let began = (0..view.runs.len()).any(|at| view.transfers(at).next().is_some());
    if began { NONE_FINISHED } else { NO_FLOWS }
}

/// All figures of this subject.
pub fn figures(view: &View<'_>, summary: &Summary) -> Vec<Figure> {
    vec![completion(view), slowdown(view), by_size(view), fairness(view, summary)]
}

fn completion(view: &View<'_>) -> Figure {
    let title = "Flow completion times";
    let x =
        Axis { label: "flow completion time", unit: Measure::Seconds, scale: Division::LogFirst };
    let value = |f: &FlowRow| Some(seconds(f.finish_ps - f.start_ps));
    let drawn =
        distribution(view, x, value).ok_or_else(|| Missing { title, remedy: no_flows(view) })?;
    Ok(Plot { id: "fct-cdf", title: title.into(), caption: drawn.1, shape: Shape::Lines(drawn.0) })
}

fn slowdown(view: &View<'_>) -> Figure {
    let title = "Slowdown";
    let x = Axis { label: "slowdown", unit: Measure::Times, scale: Division::LogFirst };
    let value = |f: &FlowRow| {
        (f.ideal_ps > 0).then(|| (f.finish_ps - f.start_ps) as f64 / f.ideal_ps as f64)
    };
    let drawn = distribution(view, x, value).ok_or(Missing { title, remedy: no_ideal(view) })?;
    let caption =
        format!("Completion time over the completion time in an empty network. {}", drawn.1);
    Ok(Plot { id: "slowdown-cdf", title: title.into(), caption, shape: Shape::Lines(drawn.0) })
}

/// The distribution of `value` over all seeds by scheme, with its caption.
fn distribution(
    view: &View<'_>,
    x: Axis,
    value: impl Fn(&FlowRow) -> Option<f64>,
) -> Option<(Lines, String)> {
    let (mut most, mut unfinished) = (0, 0);
    let mut series = Vec::new();
    for scheme in 0..view.runs.len() {
        let mut open = 0;
        let mut done = Vec::new();
        for (_, flow) in view.transfers(scheme) {
            if flow.finished() { done.extend(value(flow)) } else { open += 1 }
        }
        (most, unfinished) = (most.max(done.len()), unfinished + open);
        series.push(cumulative(scheme, done, open));
    }
    let end =
        if unfinished > 0 { " A line that ends below 100 % has unfinished flows." } else { "" };
    let lines = Lines { x, y: SHARE, series };
    let caption = format!("Share of flows that took this long or less, over all seeds.{end}");
    (!lines.is_empty()).then(|| (lines, caption + &thin::note(most)))
}

/// The cumulative shares of `values` among all flows, including `open` unfinished ones.
pub fn cumulative(scheme: usize, mut values: Vec<f64>, open: usize) -> Series {
    sort_numbers(&mut values);
    let total = (values.len() + open) as f64;
    let shown = thin::ranks(values.len());
    Series {
        scheme,
        step: !thin::is_thinned(values.len()),
        x: shown.iter().map(|rank| values[*rank]).collect(),
        y: shown.iter().map(|rank| (rank + 1) as f64 / total).collect(),
        ..Series::default()
    }
}

/// The number of buckets of flows by size.
const BUCKETS: usize = 20;

fn by_size(view: &View<'_>) -> Figure {
    let title = "Slowdown by flow size";
    let x = Axis { label: "flow size", unit: Measure::Bytes, scale: Division::LogFirst };
    let y = Axis { label: "slowdown", unit: Measure::Times, scale: Division::LogFirst };
    let sizes = (0..view.runs.len()).map(|at| sizes(view, at)).find(|sizes| !sizes.is_empty());
    let edges = edges(&sizes.ok_or(Missing { title, remedy: no_ideal(view) })?);
    if edges.len() == 1 {
        return Err(Missing { title, remedy: ONE_SIZE });
    }
    let series = (0..view.runs.len()).flat_map(|at| buckets(view, at, &edges)).collect();
    let caption = format!(
        "Over all seeds. Each point is for a bucket of about 5 % of all flows with neighbouring \
         sizes ({} here: flows of one size are never split) and stands at its largest size. Heavy lines with filled marks show the 99th percentile, light lines with hollow marks the median. Unfinished flows count \
         with the time they had.",
        edges.len()
    );
    Ok(Plot {
        id: "slowdown-by-size",
        title: title.into(),
        caption,
        shape: Shape::Lines(Lines { x, y, series }),
    })
}

/// The sizes of the flows with known slowdowns, in ascending order.
fn sizes(view: &View<'_>, scheme: usize) -> Vec<u64> {
    let known = view.transfers(scheme).filter(|(_, flow)| flow.ideal_ps > 0);
    let mut sizes: Vec<u64> = known.map(|(_, flow)| flow.bytes).collect();
    sizes.sort_unstable();
    sizes
}

/// The largest size of each bucket. Flows of one size are in one bucket.
fn edges(sizes: &[u64]) -> Vec<u64> {
    let edge = |i: usize| sizes[(i * sizes.len()).div_ceil(BUCKETS) - 1];
    let mut edges: Vec<u64> = (1..=BUCKETS).map(edge).collect();
    edges.dedup();
    edges
}

/// Median and 99th percentile of the slowdown in each bucket.
fn buckets(view: &View<'_>, scheme: usize, edges: &[u64]) -> [Series; 2] {
    let mut slowdowns: Vec<Vec<f64>> = vec![vec![]; edges.len()];
    for (run, flow) in view.transfers(scheme).filter(|(_, flow)| flow.ideal_ps > 0) {
        let bucket = edges.partition_point(|edge| *edge < flow.bytes).min(edges.len() - 1);
        slowdowns[bucket].push(lifetime(run, flow) as f64 / flow.ideal_ps as f64);
    }
    let filled = || (0..edges.len()).filter(|at| !slowdowns[*at].is_empty());
    let x: Vec<f64> = filled().map(|at| edges[at] as f64).collect();
    let count: Vec<usize> = filled().map(|at| slowdowns[at].len()).collect();
    slowdowns.retain(|bucket| !bucket.is_empty());
    [("median", 50), ("99th", 99)].map(|(part, percent)| Series {
        scheme,
        part,
        marks: true,
        x: x.clone(),
        y: slowdowns.iter_mut().map(|bucket| nearest_rank(bucket, percent)).collect(),
        count: count.clone(),
        ..Series::default()
    })
}

/// The percentile of `values` by nearest rank.
fn nearest_rank(values: &mut [f64], percent: usize) -> f64 {
    let rank = (values.len() * percent).div_ceil(100).max(1) - 1;
    *values.select_nth_unstable_by(rank, f64::total_cmp).1
}

fn fairness(view: &View<'_>, summary: &Summary) -> Figure {
    let title = "Fairness";
    let x = Axis {
        label: "share of flows, slowest first",
        unit: Measure::Share,
        scale: Division::Linear,
    };
    let y = Axis { label: "goodput", unit: Measure::BitsPerSecond, scale: Division::LogFirst };
    let mut most = 0;
    let line = |scheme: usize| {
        let rates = rates(view, scheme);
        most = most.max(rates.len());
        let shown = thin::ranks(rates.len());
        let jain = summary.cell(scheme, Metric::Fairness);
        Series {
            scheme,
            note: jain.map_or(String::new(), |cell| format!("Jain {:.3}", cell.estimate.mean)),
            step: !thin::is_thinned(rates.len()),
            x: shown.iter().map(|rank| (rank + 1) as f64 / rates.len() as f64).collect(),
            y: shown.iter().map(|rank| rates[*rank]).collect(),
            ..Series::default()
        }
    };
    let lines = Lines { x, y, series: (0..view.runs.len()).map(line).collect() };
    let remedy = "No flow started in the part of the runs that is measured.";
    let caption =
        "Goodput of each flow over its own time, in ascending order, over all seeds: a flat line is fair. Jain's index is 1 when all are equal; it is a mean over seeds."
            .to_string();
    if lines.is_empty() {
        return Err(Missing { title, remedy });
    }
    Ok(Plot {
        id: "fairness",
        title: title.into(),
        caption: caption + &thin::note(most),
        shape: Shape::Lines(lines),
    })
}

/// The goodputs of flows in ascending order.
fn rates(view: &View<'_>, scheme: usize) -> Vec<f64> {
    let mut rates = Vec::new();
    for run in &view.runs[scheme] {
        for flow in run.flows.iter().filter(|flow| is_transfer(flow, view.set.window)) {
            let span = lifetime(run, flow);
            if span > 0 {
                rates.push(flow.delivered_bytes as f64 * 8.0 / seconds(span));
            }
        }
    }
    sort_numbers(&mut rates);
    rates
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_lab::record::NEVER;
    use slotline_lab::record::RunSet;

    fn lines(figure: Figure) -> Lines {
        match figure.unwrap().shape {
            Shape::Lines(lines) => lines,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_distribution_reaches_what_finished() {
        let drawn = cumulative(0, vec![3.0, 1.0], 2);
        assert_eq!((drawn.x, drawn.y), (vec![1.0, 3.0], vec![0.25, 0.5]));
        let whole = cumulative(0, (0..100_000).map(f64::from).collect(), 0);
        assert!(!whole.step);
        assert!(whole.x.iter().zip(&whole.y).all(|(x, y)| ((x + 1.0) / 1e5 - y).abs() < 1e-12));
    }

    #[test]
    fn unfinished_flows_hold_the_line_below_one() {
        let set = RunSet::example(3);
        let drawn = lines(completion(&View::of(&set)));
        let last = |scheme: usize| *drawn.series[scheme].y.last().unwrap();
        assert_eq!((last(0), last(1)), (1.0, 1.0));
        assert!((last(2) - 23.0 / 24.0).abs() < 1e-12);
        assert_eq!(drawn.series[0].x.len(), 24);
    }

    #[test]
    fn a_size_lies_in_one_bucket() {
        let sizes: Vec<u64> = [vec![1; 500], vec![7; 30], (100..570).collect()].concat();
        let edges = edges(&sizes);
        assert_eq!(edges[..2], [1, 119]);
        assert_eq!((edges.len(), edges.last()), (11, Some(&569)));
        assert_eq!(super::edges(&[5]), [5]);
    }

    #[test]
    fn buckets_have_exact_percentiles() {
        let mut set = RunSet::example(1);
        for run in &mut set.runs {
            let flow = |i: u32| FlowRow {
                flow: i,
                bytes: if i.is_multiple_of(2) { 10 } else { 1_000 },
                finish_ps: u64::from(i / 2 + 1) * 10,
                ideal_ps: 10,
                ..FlowRow::default()
            };
            run.flows = (0..200).map(flow).collect();
        }
        let drawn = lines(by_size(&View::of(&set)));
        assert_eq!(drawn.series.len(), 6);
        let (median, tail) = (&drawn.series[0], &drawn.series[1]);
        assert_eq!((&median.x, &median.count), (&vec![10.0, 1_000.0], &vec![100, 100]));
        assert_eq!((&median.y, &tail.y), (&vec![50.0, 50.0], &vec![99.0, 99.0]));
    }

    #[test]
    fn what_is_absent_is_named() {
        let mut set = RunSet::example(1);
        set.runs.iter_mut().flat_map(|run| &mut run.flows).for_each(|flow| flow.ideal_ps = 0);
        assert_eq!(slowdown(&View::of(&set)).unwrap_err().remedy, NO_IDEAL);
        assert_eq!(by_size(&View::of(&RunSet::example(1))).unwrap_err().remedy, ONE_SIZE);
        assert_eq!(by_size(&View::of(&set)).unwrap_err().remedy, NO_IDEAL);
        set.runs[0].voqs.push(slotline_lab::record::VoqRow::default());
        assert_eq!(slowdown(&View::of(&set)).unwrap_err().remedy, NO_IDEAL_HYBRID);
        set.runs.iter_mut().flat_map(|run| &mut run.flows).for_each(|flow| flow.start_ps = NEVER);
        assert_eq!(completion(&View::of(&set)).unwrap_err().remedy, NO_FLOWS);
        assert!(fairness(&View::of(&set), &Summary::of(&set)).is_err());
    }

    #[test]
    fn goodputs_ascend() {
        let set = RunSet::example(2);
        let drawn = lines(fairness(&View::of(&set), &Summary::of(&set)));
        assert!(drawn.series.iter().all(|line| line.y.is_sorted() && line.x.len() == 16));
        assert!(
            drawn.series[0].note.starts_with("Jain 0.99") || drawn.series[0].note == "Jain 1.000"
        );
    }
}
