//! The parts of the time of flows: means over flows, the ports where they waited, and single flows.

use super::groups::{self, Groups};
use super::plot::{
    Axis, Bars, Division, Figure, FlowBreakdown, Flows, Measure, Missing, Plot, Row, Shape, Stack,
};
use super::view::{View, host, hosts, is_transfer, seconds};
use slotline_lab::output::format;
use slotline_lab::record::{FlowRow, Part, PortRow, RunRecord, WhyRow};
use slotline_scenario::metric::Unit;
use std::collections::BTreeMap;

const REMEDY: &str = "No flow was followed: set why = true in [measure].";
const NONE_FINISHED: &str = "No flow finished before the end of the runs with the first seed. Only the completion time of a finished flow is divided into parts.";
const NONE_FOLLOWED: &str = "No flow was followed, although why = true is set in [measure]: the runs with the first seed were not repeated to record packets, or no flow had room in the record.";
/// The largest number of flows of a scheme that can be chosen.
const MOST_FLOWS: usize = 200;
/// The largest number of ports that are listed.
const PORTS: usize = 15;

/// All figures of this subject, or a single reason if no flow was followed.
pub fn figures(view: &View<'_>) -> Vec<Figure> {
    let followed: Vec<Vec<Followed<'_>>> =
        (0..view.runs.len()).map(|at| followed_flows(view, at)).collect();
    if followed.iter().all(Vec::is_empty) {
        return vec![Err(Missing {
            title: "Where the time went",
            remedy: view.with_packets(remedy(view)),
        })];
    }
    vec![Ok(parts(view, &followed)), places(&followed), Ok(breakdowns(&followed))]
}

/// The reason why no flow was followed.
fn remedy(view: &View<'_>) -> &'static str {
    let scenario: Option<toml::Table> = view.set.scenario.parse().ok();
    let why = scenario.and_then(|table| table.get("measure")?.get("why")?.as_bool());
    let mut first = view.first().flat_map(|(_, run)| &run.flows);
    let finished = first.any(|flow| flow.finished() && is_transfer(flow, view.set.window));
    match (why, finished) {
        (Some(true), true) => NONE_FOLLOWED,
        (Some(true), false) => NONE_FINISHED,
        _ => REMEDY,
    }
}

/// A followed flow.
pub(super) struct Followed<'a> {
    pub(super) run: &'a RunRecord,
    pub(super) flow: &'a FlowRow,
    pub(super) why: &'a WhyRow,
    total: u64,
}

/// The followed flows of a scheme that count, all seeds, the slowest first.
fn followed_flows<'a>(view: &View<'a>, scheme: usize) -> Vec<Followed<'a>> {
    let window = view.set.window;
    let followed = |(run, why): (&'a RunRecord, &'a WhyRow)| {
        let flow = run.flows.get(why.flow as usize)?;
        let total = why.parts.iter().sum();
        (is_transfer(flow, window) && total > 0).then_some(Followed { run, flow, why, total })
    };
    let runs = view.runs[scheme].iter();
    let rows = runs.flat_map(|run| run.why.iter().map(move |why| (*run, why)));
    let mut all: Vec<Followed<'_>> = rows.filter_map(followed).collect();
    all.sort_by_key(|followed| {
        (std::cmp::Reverse(followed.total), followed.run.seed, followed.why.flow)
    });
    all
}

fn titles() -> Vec<&'static str> {
    Part::ALL.iter().map(|part| part.title()).collect()
}

fn parts(view: &View<'_>, followed: &[Vec<Followed<'_>>]) -> Plot {
    let groups: Vec<Groups<'_>> =
        followed.iter().enumerate().map(|(at, all)| Groups::of(view, at, all)).collect();
    let bars = groups.iter().enumerate().flat_map(|(at, groups)| groups.bars(at));
    let stack = Stack { parts: titles(), bars: bars.collect() };
    let caption = format!(
        "Mean time per flow by what the flow did or waited for. The parts of a flow are the pieces of its critical path, and their sum is its completion time. {}",
        groups::caption(&view.set.schemes, &groups)
    );
    Plot { id: "why", title: "Where the time went".into(), caption, shape: Shape::Stack(stack) }
}

/// The ports at which a flow waited longest, with picoseconds.
fn worst<'a>(followed: &Followed<'a>) -> impl Iterator<Item = (&'a PortRow, u64)> + use<'a> {
    let (run, why) = (followed.run, followed.why);
    let there = why.worst.iter().filter(|(_, ps)| *ps > 0);
    there.filter_map(|(port, ps)| Some((run.ports.get(*port as usize)?, *ps)))
}

fn places(followed: &[Vec<Followed<'_>>]) -> Figure {
    let title = "Where flows waited";
    let mut waits: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (scheme, all) in followed.iter().enumerate() {
        for (port, ps) in all.iter().flat_map(worst) {
            let name = format::direction(&port.node, &port.port);
            let row = waits.entry(name).or_insert_with(|| vec![0.0; followed.len()]);
            row[scheme] += seconds(ps) / all.len() as f64;
        }
    }
    let longest = |row: &[f64]| row.iter().copied().fold(0.0, f64::max);
    let mut rows: Vec<(String, Vec<f64>)> = waits.into_iter().collect();
    rows.sort_by(|a, b| longest(&b.1).total_cmp(&longest(&a.1)));
    if rows.is_empty() {
        return Err(Missing { title, remedy: "No followed flow waited anywhere." });
    }
    let left_out = rows.len().saturating_sub(PORTS);
    rows.truncate(PORTS);
    let values = |scheme: usize| Row(rows.iter().map(|(_, row)| row[scheme]).collect());
    let bars = Bars {
        x: Axis {
            label: "waiting per followed flow",
            unit: Measure::Seconds,
            scale: Division::LinearFirst,
        },
        row: "port",
        values: (0..followed.len()).map(values).collect(),
        rows: rows.into_iter().map(|(name, _)| name).collect(),
        stated: vec![],
    };
    let others = match left_out {
        0 => String::new(),
        1 => "; one port with shorter waits is not drawn".into(),
        _ => format!("; {left_out} ports with shorter waits are not drawn"),
    };
    let caption = format!(
        "Mean time that a followed flow waited to leave a port: in the queue of a switch, or in a host for a grant or its network card. For each flow the three ports with the longest waits count{others}."
    );
    Ok(Plot { id: "waits", title: title.into(), caption, shape: Shape::Bars(bars) })
}

fn breakdowns(followed: &[Vec<Followed<'_>>]) -> Plot {
    let of = |(scheme, all): (usize, &Vec<Followed<'_>>)| {
        all.iter().take(MOST_FLOWS).map(|followed| breakdown(scheme, followed)).collect::<Vec<_>>()
    };
    let flows =
        Flows { parts: titles(), flows: followed.iter().enumerate().flat_map(of).collect() };
    let most = followed.iter().map(Vec::len).max().unwrap_or(0);
    let left_out = match most > MOST_FLOWS {
        true => {
            format!(" The {MOST_FLOWS} slowest of each scheme can be chosen; all are in why.csv.")
        }
        false => String::new(),
    };
    let caption = format!("Followed flows, the slowest first.{left_out}");
    Plot {
        id: "flow",
        title: "Where the time of one flow went".into(),
        caption,
        shape: Shape::Flows(flows),
    }
}

fn breakdown(scheme: usize, followed: &Followed<'_>) -> FlowBreakdown {
    let Followed { run, flow, why, .. } = followed;
    let names = hosts(run);
    let waits: Vec<(&PortRow, u64)> = worst(followed).collect();
    let place = |(port, ps): &(&PortRow, u64)| {
        (format::direction(&port.node, &port.port), super::plot::rounded(seconds(*ps), 7))
    };
    FlowBreakdown {
        scheme,
        name: format!(
            "flow {}, seed {}: {} → {}, {}",
            flow.flow,
            run.seed,
            host(&names, flow.src),
            host(&names, flow.dst),
            format::quantity(Unit::Bytes, flow.bytes as f64),
        ),
        summary: format::time_summary(flow, why, &waits),
        seconds: Part::ALL.iter().map(|part| seconds(why.of(*part))).collect(),
        places: waits.iter().map(place).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::plot::StackBar;
    use super::*;
    use slotline_lab::record::RunSet;

    fn followed() -> RunSet {
        let mut set = RunSet::example(2);
        for run in &mut set.runs {
            let row = |flow: &FlowRow| {
                let mut why = WhyRow { flow: flow.flow, round_trips: 14, ..WhyRow::default() };
                why.parts[Part::Queue as usize] = 9_000_000 * u64::from(flow.flow + 1);
                why.parts[Part::Propagating as usize] = 1_000_000;
                why.worst[0] = (1, why.of(Part::Queue));
                why
            };
            run.why = run.flows.iter().map(row).collect();
        }
        set
    }

    #[test]
    fn parts_are_means_over_flows() {
        let set = followed();
        let figures = figures(&View::of(&set));
        let Shape::Stack(stack) = &figures[0].as_ref().unwrap().shape else { panic!("no bars") };
        assert_eq!(stack.bars.len(), 6);
        let (all, slowest) = (&stack.bars[0], &stack.bars[1]);
        // The slowest flow of each run.
        assert_eq!((all.flows, slowest.flows), (16, 2));
        assert_eq!((all.group, slowest.group), ("all flows", "slowest 1 %"));
        assert!((all.seconds[Part::Queue as usize] - 40.5e-6).abs() < 1e-12);
        assert!((slowest.seconds[Part::Queue as usize] - 72e-6).abs() < 1e-12);
    }

    #[test]
    fn the_reason_why_no_flow_was_followed_is_the_true_one() {
        let mut set = RunSet::example(1);
        let remedy = |set: &RunSet| figures(&View::of(set)).remove(0).unwrap_err().remedy;
        assert_eq!(remedy(&set), REMEDY);
        set.scenario = "measure = { why = true }".into();
        assert_eq!(remedy(&set), NONE_FOLLOWED);
        let flows = set.runs.iter_mut().flat_map(|run| &mut run.flows);
        flows.for_each(|flow| flow.finish_ps = slotline_lab::record::NEVER);
        assert_eq!(remedy(&set), NONE_FINISHED);
        let flows = super::super::flows::figures(
            &View::of(&set),
            &slotline_lab::summary::Summary::of(&set),
        );
        let none = flows.into_iter().next().unwrap().unwrap_err().remedy;
        assert!(none.starts_with("TCP flows began"), "{none}");
    }

    /// The followed flows are the slowest, flow 7, some others, and flow 1, which is named.
    fn partly(scenario: &str) -> (Vec<StackBar>, String) {
        let mut set = followed();
        set.scenario = scenario.into();
        for run in &mut set.runs {
            run.why.retain(|why| [0, 1, 2, 7].contains(&why.flow));
        }
        let figure = figures(&View::of(&set)).remove(0).unwrap();
        let Shape::Stack(stack) = figure.shape else { panic!("no bars") };
        (stack.bars, figure.caption)
    }

    #[test]
    fn a_sample_does_not_lean_towards_slow_or_named_flows() {
        let (bars, caption) = partly("[measure]\nfollow = [1, 7]\n");
        let (slowest, others) = (&bars[0], &bars[1]);
        assert_eq!((slowest.group, slowest.flows), ("slowest 1 %", 2));
        assert_eq!((others.group, others.flows), ("random sample of the others", 4));
        assert!((slowest.seconds[Part::Queue as usize] - 72e-6).abs() < 1e-12);
        assert!((others.seconds[Part::Queue as usize] - 18e-6).abs() < 1e-12);
        assert!(caption.contains("tcp 2 of the slowest 2, and 4 of the other 14;"), "{caption}");
        assert!(caption.contains("only because they are named"), "{caption}");
        let (bars, caption) = partly("name = \"a\"\nname = \"b\"\n");
        assert_eq!(bars[1].flows, 6);
        assert!(caption.contains("cannot be distinguished"), "{caption}");
    }

    #[test]
    fn each_flow_has_its_breakdown() {
        let set = followed();
        let figures = figures(&View::of(&set));
        let Shape::Flows(flows) = &figures[2].as_ref().unwrap().shape else { panic!("no flows") };
        assert_eq!(flows.flows.len(), 48);
        let first = &flows.flows[0];
        assert!(first.name.starts_with("flow 7, seed 1: "), "{}", first.name);
        assert!(
            first.summary.starts_with("99 % of its 73 µs waiting in the queue of s0"),
            "{}",
            first.summary
        );
        let Shape::Bars(bars) = &figures[1].as_ref().unwrap().shape else { panic!("no bars") };
        assert!((bars.values[0].0[0] - 40.5e-6).abs() < 1e-12);
    }

    #[test]
    fn without_followed_flows_there_is_one_remedy() {
        let figures = figures(&View::of(&RunSet::example(1)));
        assert_eq!(figures.len(), 1);
        assert_eq!(figures[0].as_ref().unwrap_err().remedy, REMEDY);
    }
}
