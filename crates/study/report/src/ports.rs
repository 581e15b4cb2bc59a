//! Figures of the busiest switch port: its throughput, its queue, and the distribution of the queue.

use super::plot::{Axis, Division, Figure, Lines, Measure, Missing, Plot, Series, Shape};
use super::thin::{self, Envelope, Moment, envelope};
use super::view::{View, seconds};
use slotline_lab::metrics::{busiest_port, queues_in_use};
use slotline_lab::record::{RunRecord, SampleRow};

const TIME: Axis = Axis { label: "time", unit: Measure::Seconds, scale: Division::LinearFirst };
const QUEUE: Axis = Axis { label: "queue", unit: Measure::Bytes, scale: Division::LinearFirst };
const REMEDY: &str = "No samples were taken at a switch port: set sample = \"100us\", or another interval, in [measure].";

/// All figures of this subject.
pub fn figures(view: &View<'_>) -> Vec<Figure> {
    if view.is_flow_level() {
        return vec![throughput(view)];
    }
    vec![throughput(view), queue(view), distribution(view)]
}

fn throughput(view: &View<'_>) -> Figure {
    let y =
        Axis { label: "throughput", unit: Measure::BitsPerSecond, scale: Division::LinearFirst };
    let (lines, each) = over_time(view, y, rates);
    let caption = format!("{} Bytes include framing. {}", place(view), summed_up(each));
    figure("throughput", "Throughput over time", caption, lines)
}

fn queue(view: &View<'_>) -> Figure {
    let (lines, each) = over_time(view, QUEUE, queues);
    let caption = format!("{} {}", place(view), summed_up(each));
    figure("queue", "Queue over time", caption, lines)
}

fn figure(id: &'static str, title: &'static str, caption: String, lines: Lines) -> Figure {
    if lines.is_empty() {
        return Err(Missing { title, remedy: REMEDY });
    }
    Ok(Plot { id, title: title.into(), caption, shape: Shape::Lines(lines) })
}

fn place(view: &View<'_>) -> String {
    let which = if view.is_flow_level() {
        "that sent the most bytes"
    } else {
        "with the longest mean queue"
    };
    format!("At the switch port {which}, in the first seed: {}.", view.busiest_places())
}

fn summed_up(each: usize) -> String {
    match each {
        0 | 1 => "Every sample is drawn.".into(),
        n => format!(
            "Each point of a line is the mean of {n} samples, and the band shows their range."
        ),
    }
}

/// The lines of `moments` at each scheme's busiest port, and the number of samples that one point sums up.
fn over_time(view: &View<'_>, y: Axis, moments: fn(&[SampleRow]) -> Vec<Moment>) -> (Lines, usize) {
    let mut most = 0;
    let line = |(scheme, run): (usize, &RunRecord)| {
        let Envelope { at, mean, low, high, each } =
            envelope(&moments(&busiest(view, scheme, run)));
        most = most.max(each);
        Series { scheme, x: at, y: mean, low, high, ..Series::default() }
    };
    let series = view.first().map(line).collect();
    (Lines { x: TIME, y, series }, most)
}

/// Samples of the busiest port of `run`, the first of `scheme`.
fn busiest(view: &View<'_>, scheme: usize, run: &RunRecord) -> Vec<SampleRow> {
    view.busiest(scheme).map_or(vec![], |port| run.samples.rows_of(port))
}

fn queues(samples: &[SampleRow]) -> Vec<Moment> {
    let one =
        |s: &SampleRow| Moment { at: seconds(s.t_ps), weight: 1.0, value: s.queue_bytes as f64 };
    samples.iter().map(one).collect()
}

/// Mean rates between neighbouring samples.
fn rates(samples: &[SampleRow]) -> Vec<Moment> {
    let between = |pair: &[SampleRow]| {
        let span = seconds(pair[1].t_ps - pair[0].t_ps);
        let sent = pair[1].tx_bytes.saturating_sub(pair[0].tx_bytes) as f64 * 8.0;
        let at = (seconds(pair[0].t_ps) + seconds(pair[1].t_ps)) / 2.0;
        Moment { at, weight: span, value: sent / span }
    };
    samples.windows(2).filter(|pair| pair[1].t_ps > pair[0].t_ps).map(between).collect()
}

fn distribution(view: &View<'_>) -> Figure {
    let y = Axis { label: "share of samples", unit: Measure::Share, scale: Division::Tail };
    let mut most = 0;
    let line = |scheme: usize| {
        let runs = view.runs[scheme].iter();
        let mut values: Vec<f64> = runs.flat_map(|run| in_use(view, run)).collect();
        values.sort_unstable_by(f64::total_cmp);
        most = most.max(values.len());
        let shown = thin::ranks(values.len());
        Series {
            scheme,
            step: !thin::is_thinned(values.len()),
            x: shown.iter().map(|rank| values[*rank]).collect(),
            y: shown.iter().map(|rank| (rank + 1) as f64 / values.len() as f64).collect(),
            ..Series::default()
        }
    };
    let series = (0..view.runs.len()).map(line).collect();
    let caption = format!(
        "Share of samples with a queue this long or shorter, at the switch port with the longest mean queue, over all seeds and only while the port was in use.{}",
        thin::note(most)
    );
    figure("queue-cdf", "Queue distribution", caption, Lines { x: QUEUE, y, series })
}

/// Queues at the busiest port in samples of the measured part before which the port sent something.
fn in_use(view: &View<'_>, run: &RunRecord) -> Vec<f64> {
    let window = view.set.window;
    let Some(port) = busiest_port(run, window) else { return vec![] };
    queues_in_use(run, port, window).into_iter().map(|bytes| bytes as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_lab::record::{RunSet, Samples};

    fn lines(figure: Figure) -> (Lines, String) {
        let plot = figure.unwrap();
        match plot.shape {
            Shape::Lines(lines) => (lines, plot.caption),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_steady_sender_has_one_rate() {
        let set = RunSet::example(1);
        let (drawn, caption) = lines(throughput(&View::of(&set)));
        // 9,000 bytes each 10 us.
        assert!(drawn.series[0].y.iter().all(|rate| (rate - 7.2e9).abs() < 1.0));
        assert!(caption.contains("s0") && caption.contains("mean of 7 samples"), "{caption}");
    }

    #[test]
    fn no_peak_of_the_queue_is_lost() {
        let set = RunSet::example(1);
        let (drawn, _) = lines(queue(&View::of(&set)));
        let peak = set.runs[0].samples.series()[0].longest_queue();
        assert_eq!(drawn.series[0].high.iter().copied().fold(0.0, f64::max), peak as f64);
        assert!(drawn.series[0].x.len() <= 300);
    }

    #[test]
    fn idle_times_are_no_part_of_the_distribution() {
        let mut set = RunSet::example(1);
        let samples = &mut set.runs[0].samples;
        let mut rows = samples.rows(0..samples.len());
        rows.iter_mut().skip(500).for_each(|sample| sample.tx_bytes = 499 * 9_000);
        *samples = Samples::from_rows(&rows).unwrap();
        let idle = View::of(&set);
        assert_eq!(in_use(&idle, &set.runs[0]).len(), 499);
        assert_eq!(in_use(&idle, &set.runs[1]).len(), 1_999);
    }

    #[test]
    fn without_samples_the_remedy_is_named() {
        let mut set = RunSet::example(1);
        set.runs.iter_mut().for_each(|run| run.samples = Samples::default());
        for figure in figures(&View::of(&set)) {
            assert_eq!(figure.unwrap_err().remedy, REMEDY);
        }
    }
}
