//! `report.html`: one file, no network, no scripts, light and dark.

use crate::metrics::{Metric, Unit, busiest_port};
use crate::output::plot::{self, Axis, Line, cumulative, escape, extremes, slopes};
use crate::output::words::{self, Scale};
use crate::record::{FlowRow, RunRecord, RunSet};
use crate::summary::{Cell, EngineTotal, Summary};

/// Points of a time series before neighbours are drawn together.
const INTERVALS: usize = 600;

/// The page.
pub fn html(id: &str, set: &RunSet, summary: &Summary) -> String {
    let title = escape(&set.name);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    page += &about(id, set);
    page += &table(set, summary);
    page += &legend(set);
    page += &distributions(set);
    page += &histories(set);
    page += &trust(set);
    page += &format!(
        "<h2>Scenario</h2>\n<details><summary>All settings</summary><pre>{}</pre></details>\n",
        escape(&set.scenario)
    );
    page + "</body>\n</html>\n"
}

fn about(id: &str, set: &RunSet) -> String {
    let seeds: Vec<String> = set.seeds.iter().map(u64::to_string).collect();
    let mut out = String::new();
    if !set.description.is_empty() {
        out += &paragraph(&set.description);
    }
    out += &paragraph(&format!(
        "Fabric: {}. Workloads: {}. Schemes: {}. Seeds: {}. Result {id}, slotline {}.",
        set.fabric,
        set.workloads.join(", "),
        set.schemes.join(", "),
        seeds.join(", "),
        env!("CARGO_PKG_VERSION"),
    ));
    if !set.complete() {
        out +=
            "<p class=\"warning\">Incomplete: the run was stopped; this shows what was done.</p>\n";
    }
    out
}

/// Why the numbers can be trusted, and what they cost.
fn trust(set: &RunSet) -> String {
    let lines = words::engine(&EngineTotal::of(&set.in_order()), set.runs.len());
    let paragraphs = lines.iter().map(|line| format!("<p class=\"small\">{}</p>\n", escape(line)));
    format!("<h2>How it was made</h2>\n{}", paragraphs.collect::<String>())
}

fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

fn table(set: &RunSet, summary: &Summary) -> String {
    let heads =
        summary.schemes.iter().map(|s| format!("<th scope=\"col\">{}</th>", escape(&s.name)));
    let mut out = format!(
        "<h2>Comparison</h2>\n<div class=\"wide\"><table>\n<tr><th></th>{}</tr>\n",
        heads.collect::<String>()
    );
    for metric in summary.shown(set, &Metric::ALL) {
        let cells = (0..summary.schemes.len()).map(|at| cell(metric, summary.cell(at, metric)));
        let row: String = cells.collect();
        out += &format!("<tr><th scope=\"row\">{}</th>{row}</tr>\n", metric.title());
    }
    let zero: Vec<&str> =
        summary.zero(set, &Metric::ALL).iter().map(|metric| metric.title()).collect();
    out += "</table></div>\n<p class=\"small\">Mean over seeds ± half width of its 95 % confidence \
            interval (Student's t). Verdicts against the first scheme, paired by seed; each stands for \
            itself: among many, one in twenty may be chance; below 0.1 % nothing counts as a \
            difference. ≥ is a lower bound: unfinished flows count with the time they had when the run \
            ended.";
    for words in words::explanations(&summary.shown(set, &Metric::ALL)) {
        out += &format!(" {words}");
    }
    if !zero.is_empty() {
        out += &format!(" Zero in every run: {}.", zero.join(", "));
    }
    out + "</p>\n"
}

fn cell(metric: Metric, cell: Option<&Cell>) -> String {
    let Some(cell) = cell else { return "<td>–</td>".into() };
    let scale = Scale::of(metric.unit(), cell.estimate.mean);
    let value = scale.with(words::estimate(&cell.estimate, cell.at_least, scale));
    let said = cell.against.map(|comparison| {
        let class = comparison.verdict.words().split([' ', ':']).next().unwrap_or("");
        let words = unbroken(&words::verdict(metric, &comparison));
        format!("<br/><span class=\"{class}\">{words}</span>")
    });
    format!("<td>{}{}</td>", unbroken(&value), said.unwrap_or_default())
}

/// `text` that may be broken only after a colon and before a bracket.
fn unbroken(text: &str) -> String {
    text.replace(' ', "\u{a0}").replace(":\u{a0}", ": ").replace("\u{a0}(", " (")
}

/// The key to all plots.
fn legend(set: &RunSet) -> String {
    let entry = |(at, name): (usize, &String)| {
        format!(
            "<span><svg class=\"key\" viewBox=\"0 0 36 8\" aria-hidden=\"true\">\
             <path class=\"line\" style=\"{}\" d=\"M0 4H36\"/></svg> {}</span>\n",
            plot::style(at),
            escape(name)
        )
    };
    let entries: String = set.schemes.iter().enumerate().map(entry).collect();
    format!("<p class=\"legend\">{entries}</p>\n")
}

fn figure(title: &str, caption: &str, x: Axis<'_>, y: Axis<'_>, lines: &[Line]) -> String {
    if lines.iter().all(|line| line.points.is_empty()) {
        return String::new();
    }
    let drawn = plot::svg(title, x, y, lines);
    format!(
        "<figure>\n<h3>{title}</h3>\n{drawn}<figcaption>{}</figcaption>\n</figure>\n",
        escape(caption)
    )
}

const SHARE: Axis<'static> = Axis { label: "share of flows", unit: Unit::Ratio, log: false };

/// Completion times and slowdowns of all seeds together.
fn distributions(set: &RunSet) -> String {
    let time = Axis { label: "flow completion time", unit: Unit::Seconds, log: true };
    let slow = Axis { label: "slowdown", unit: Unit::Ratio, log: true };
    let lasted = |f: &FlowRow| (f.finish_ps - f.start_ps) as f64 / 1e12;
    let slowed = |f: &FlowRow| (f.finish_ps - f.start_ps) as f64 / f.ideal_ps as f64;
    let all = |_: &FlowRow| true;
    let known = |f: &FlowRow| f.ideal_ps > 0;
    let caption = "All seeds together. A line that ends below 1 has unfinished flows.";
    figure("Flow completion times", caption, time, SHARE, &spread(set, all, lasted))
        + &figure(
            "Slowdown: completion time over the time alone in the network",
            caption,
            slow,
            SHARE,
            &spread(set, known, slowed),
        )
}

fn spread(set: &RunSet, wanted: fn(&FlowRow) -> bool, value: fn(&FlowRow) -> f64) -> Vec<Line> {
    let line = |name: &String| {
        let counts = |f: &&FlowRow| {
            f.started() && !f.udp && !f.request && set.window.contains(f.start_ps) && wanted(f)
        };
        let runs = set.of(name);
        let flows: Vec<_> = runs.iter().flat_map(|run| run.flows.iter().filter(counts)).collect();
        let done = flows.iter().filter(|f| f.finished()).map(|f| value(f)).collect();
        Line { name: name.clone(), points: cumulative(done, flows.len()) }
    };
    set.schemes.iter().map(line).collect()
}

/// Queue and throughput over time at each scheme's busiest switch port, in its first run.
fn histories(set: &RunSet) -> String {
    let first: Vec<Option<&RunRecord>> =
        set.schemes.iter().map(|scheme| set.of(scheme).first().copied()).collect();
    let time = Axis { label: "time", unit: Unit::Seconds, log: false };
    let queue = Axis { label: "queue", unit: Unit::Bytes, log: false };
    let rate = Axis { label: "throughput", unit: Unit::BitsPerSecond, log: false };
    let names = set.schemes.iter().zip(&first);
    let ports: Vec<String> = names.clone().filter_map(|(name, run)| place(name, (*run)?)).collect();
    let line = |(name, points)| Line { name, points };
    let queues = names.clone().map(|(name, run)| {
        line((name.clone(), extremes(&series(*run, |q, _| q as f64), INTERVALS)))
    });
    let rates = names.clone().map(|(name, run)| {
        line((name.clone(), slopes(&series(*run, |_, sent| sent as f64 * 8.0), INTERVALS / 4)))
    });
    let (queues, rates): (Vec<_>, Vec<_>) = (queues.collect(), rates.collect());
    let at = format!(
        "First seed, at the switch port with the longest mean queue: {}.",
        ports.join("; ")
    );
    let peaks = format!(
        "{at} Where samples are closer than the screen shows, the lowest and highest are drawn."
    );
    let means = format!("{at} Each point is the mean since the one before.");
    figure("Queue over time", &peaks, time, queue, &queues)
        + &figure("Throughput over time", &means, time, rate, &rates)
}

fn place(scheme: &str, run: &RunRecord) -> Option<String> {
    let port = run.ports.get(busiest_port(run, crate::record::Window::ALL)? as usize)?;
    Some(format!("{scheme}: {} port {}", port.node, port.port))
}

/// What `value` makes of each sample's queue and bytes sent at the busiest port, over seconds.
fn series(run: Option<&RunRecord>, value: fn(u64, u64) -> f64) -> Vec<(f64, f64)> {
    let Some(run) = run else { return vec![] };
    let port = busiest_port(run, crate::record::Window::ALL);
    let there = run.samples.iter().filter(|sample| Some(sample.port) == port);
    there.map(|s| (s.t_ps as f64 / 1e12, value(s.queue_bytes, s.tx_bytes))).collect()
}

/// Colours: Okabe and Ito, "Color universal design" (2008), told apart by all common kinds of sight.
const STYLE: &str = include_str!("report.css");
