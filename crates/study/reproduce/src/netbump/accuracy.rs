//! The differences between virtual and real queues: Figures 5.10 to 5.13.

use super::replay;
use crate::draw::{Values, View};
use crate::{Experiment, Measured, Quantity, Row, Stated, Study, Work};
use slotline_lab::record::{EstimateRow, RunRecord};
use slotline_lab::statistics::Estimate;
use slotline_net::node::Counter;
use slotline_net::node::bump::UpdatePath;
use slotline_net::time::Time;
use slotline_report::bumps::longest;
use slotline_report::plot::{Division, Figure, Measure};
use slotline_scenario::Scenario;
use slotline_schemes::counters;

/// Figure 5.10. Only its figures are no data: the virtual queue over time, and its errors.
pub(super) const ALONE: Experiment = Experiment {
    id: "nb-3",
    about: "Figure 5.10: a virtual queue beside the queue of 40 KB behind it, one TCP flow, 1 Gbit/s",
    work: Work::Runs(Study {
        figures: |view| vec![time_series(view, 0), distribution(view, 0)],
        ..Study::data(
            "scenarios/reproduce/nb-3.toml",
            include_str!("../../../../../scenarios/reproduce/nb-3.toml"),
        )
    }),
};

fn by_delay(view: &View) -> Vec<Figure> {
    let by = |quantity| view.against_in("delay of updates", Measure::Seconds, 1e-6, quantity);
    vec![by(&WITHIN_2), by(&MOST), distribution(view, 25)]
}

/// Figures 5.11 and 5.13.
pub(super) const UPDATES: Experiment = Experiment {
    id: "nb-4",
    about: "Figures 5.11 and 5.13: two bumps that update each other on two TCP flows, by the delay of updates",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/nb-4.toml",
        text: include_str!("../../../../../scenarios/reproduce/nb-4.toml"),
        axis: &[0, 5, 10, 25, 50, 75, 100, 125, 150, 200],
        set: set_delay,
        compare: updates,
        figures: by_delay,
    }),
};

/// Another reading of Figure 5.11.
pub(super) const LIMITED: Experiment = Experiment {
    id: "nb-4c",
    about: "Figure 5.11, in another reading: as nb-4, with flows that are limited before they meet",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/nb-4c.toml",
        text: include_str!("../../../../../scenarios/reproduce/nb-4c.toml"),
        axis: &[0, 5, 10, 25, 50, 75, 100, 125, 150, 200],
        set: set_delay,
        compare: limited,
        figures: by_delay,
    }),
};

/// Figure 5.12.
pub(super) const NEIGHBOUR: Experiment = Experiment {
    id: "nb-4b",
    about: "Figure 5.12: the estimate of a bump that sees none of the traffic, by packets per update",
    work: Work::Runs(Study {
        file: "scenarios/reproduce/nb-4b.toml",
        text: include_str!("../../../../../scenarios/reproduce/nb-4b.toml"),
        axis: &[1, 2, 4, 8, 16, 32],
        set: set_batch,
        compare: neighbour,
        figures: |view| {
            let far = Values { id: "far", title: "Error without seeing the traffic", ..ERROR };
            let of = |run: &RunRecord| errors(run, FAR).collect();
            vec![
                view.against("packets per update", &FAR_3),
                view.distribution(1, &far, of, &[("neighbour", 0.9, 3.0 * MTU)]),
            ]
        },
    }),
};

/// The size of the paper's packets in bytes.
const MTU: f64 = 1_500.0;
/// The bump that sees none of the traffic.
const FAR: u16 = 1;

const ERROR: Values = Values {
    id: "error",
    title: "Error of the virtual queue",
    label: "error",
    unit: Measure::Bytes,
    scale: Division::LinearFirst,
};

const WITHIN_2: Quantity =
    share("within-2", "within 2 packets", |run| counted(run, counters::net::BUMP_WITHIN_2_MTU));
const WITHIN_3: Quantity =
    share("within-3", "within 3 packets", |run| counted(run, counters::net::BUMP_WITHIN_3_MTU));
const FAR_2: Quantity = share("far-2", "within 2 packets", |run| far(run, 2.0));
const FAR_3: Quantity = share("far-3", "within 3 packets", |run| far(run, 3.0));
const MOST: Quantity = Quantity {
    key: "most",
    name: "largest error",
    unit: "KB",
    of: |run| run.counted(counters::net::BUMP_ERROR_MOST).unwrap_or(0) as f64 / 1e3,
};
const fn share(key: &'static str, name: &'static str, of: fn(&RunRecord) -> f64) -> Quantity {
    Quantity { key, name, unit: "%", of }
}

fn counted(run: &RunRecord, counter: Counter) -> f64 {
    100.0 * run.over(counter, counters::net::BUMP_ESTIMATES).unwrap_or(0.0)
}

/// The recorded errors of one table, in bytes.
fn errors(run: &RunRecord, bump: u16) -> impl Iterator<Item = f64> {
    let own = run.estimates.iter().filter(move |row| row.bump == bump);
    own.map(|row| row.error() as f64)
}

fn far(run: &RunRecord, packets: f64) -> f64 {
    let all = errors(run, FAR).count().max(1);
    let close = errors(run, FAR).filter(|error| *error <= packets * MTU).count();
    100.0 * close as f64 / all as f64
}

fn set_delay(scenario: &mut Scenario, us: u32) -> String {
    let bumps = scenario.scheme.iter_mut().filter_map(|scheme| scheme.bump.as_mut());
    let dedicated = bumps.filter(|bump| bump.update_path == UpdatePath::Dedicated);
    dedicated.for_each(|bump| bump.update_delay = Time::us(us.into()));
    format!("{us} us")
}

fn set_batch(scenario: &mut Scenario, packets: u32) -> String {
    let bumps = scenario.scheme.iter_mut().filter_map(|scheme| scheme.bump.as_mut());
    bumps.for_each(|bump| bump.update_every = packets);
    format!("{packets} packets")
}

fn updates(points: &[Measured]) -> Vec<Row> {
    let in_band = "updates are packets of the network, and their delay is that of the links back";
    let of = |point: &Measured| {
        let paper = (point.x == 25).then_some(Stated::About(100.0));
        let both = "the traffic of the other bump since its last update is missing: in 25 us at half of 5 Gbit/s that \
                    is 7.8 KB, five packets, while the queue is neither empty nor full. The paper shifts the \
                    recordings of two flows, and does not describe their queue";
        let lossy = "a lost update is missing until the queue is empty or full again";
        [
            point.row("both", &WITHIN_2, paper, both),
            point.row("both", &MOST, None, both),
            point.row("lossy", &WITHIN_2, None, lossy),
            point.row("lossy", &MOST, None, lossy),
            point.row("both", &WITHIN_3, None, both),
            point.row("in-band", &WITHIN_2, None, in_band),
            point.row("in-band", &MOST, None, in_band),
            replayed(point, paper),
        ]
    };
    points.iter().flat_map(of).flatten().collect()
}

/// The thesis' method: the recordings of both flows, one of them shifted, are put into the same queue.
fn replayed(point: &Measured, paper: Option<Stated>) -> Option<Row> {
    let run = point.of("both").find(|run| !run.captures.is_empty())?;
    let errors = replay::errors(run, u64::from(point.x) * 1_000_000);
    let close = errors.iter().filter(|error| **error <= 2.0 * MTU).count();
    let share = 100.0 * close as f64 / errors.len().max(1) as f64;
    Some(Row {
        x: Some(f64::from(point.x)),
        point: point.setup.clone(),
        scheme: "replayed".into(),
        quantity: WITHIN_2.name.into(),
        unit: WITHIN_2.unit.into(),
        paper,
        ours: Estimate::of(&[share])?,
        note: "the recordings of both flows of one run, the second one shifted".into(),
    })
}

fn limited(points: &[Measured]) -> Vec<Row> {
    let note = "each flow is limited to half of 5 Gbit/s before the bumps: their queue is nearly empty, so little \
                traffic can be missing";
    let of = |point: &Measured| {
        let paper = (point.x == 25).then_some(Stated::About(100.0));
        [
            point.row("both", &WITHIN_2, paper, note),
            point.row("both", &MOST, None, note),
            replayed(point, paper),
        ]
    };
    points.iter().flat_map(of).flatten().collect()
}

fn neighbour(points: &[Measured]) -> Vec<Row> {
    let of = |point: &Measured| {
        let paper = (point.x == 1).then_some(Stated::About(90.0));
        let note = "the paper says that estimates \"quickly drift\" with batches, without a number";
        [point.row("neighbour", &FAR_2, None, note), point.row("neighbour", &FAR_3, paper, note)]
    };
    points.iter().flat_map(of).flatten().collect()
}

/// The two queues of the scheme `software`, as in Figure 5.10 (a).
fn time_series(view: &View, x: u32) -> Figure {
    let values = Values {
        id: "course",
        title: "The virtual queue over time",
        label: "virtual queue",
        unit: Measure::Bytes,
        scale: Division::LinearFirst,
    };
    let point = |row: &&EstimateRow| (row.t_ps as f64 / 1e12, row.estimate_bytes as f64);
    view.time_series(x, &values, |run| longest(run).iter().map(point).collect())
}

fn distribution(view: &View, x: u32) -> Figure {
    let all = |run: &RunRecord| run.estimates.iter().map(|row| row.error() as f64).collect();
    view.distribution(x, &ERROR, all, &[])
}
