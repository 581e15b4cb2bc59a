//! The utilisation of links: over time if there are samples, otherwise over the whole run.

use super::links::Links;
use super::plot::{
    Axis, Bars, Division, Figure, Heat, HeatPanel, Measure, Missing, Plot, Row, Shape,
};
use super::view::{View, seconds};
use slotline_lab::output::format;
use slotline_lab::record::{PortRow, RunRecord};
use std::collections::BTreeSet;

const TITLE: &str = "Link utilisation";
/// The largest number of ports that are drawn over time.
const ROWS: usize = 40;
/// The number of columns of a map.
const COLUMNS: usize = 120;
/// The largest number of ports that are drawn if there are only totals.
const BARS: usize = 24;

/// The figure of this subject.
pub fn figure(view: &View<'_>) -> Figure {
    over_time(view).unwrap_or_else(|| totals(view))
}

/// A map for each scheme, all with the same rows; `None` if nothing was sampled.
fn over_time(view: &View<'_>) -> Option<Figure> {
    let links = Links::of(view)?;
    view.first().find(|(_, run)| !run.samples.is_empty())?;
    let sampled: Vec<BTreeSet<usize>> =
        view.first().map(|(scheme, run)| sampled(&links, scheme, run)).collect();
    let all = sampled.iter().flatten().collect::<BTreeSet<_>>().len();
    let ports = busiest(&links, &sampled);
    let panel = |(scheme, run): (usize, &RunRecord)| {
        let own: Vec<Option<usize>> = ports.iter().map(|at| links.in_first(scheme, *at)).collect();
        panel(scheme, run, &own)
    };
    let left_out = match all - ports.len() {
        0 => String::new(),
        n => format!(" {n} sampled ports that were used less are not drawn."),
    };
    let caption = format!(
        "Mean utilisation of each sampled port in each interval, in the first seed.{left_out}"
    );
    let panels = view.first().filter(|(_, run)| !run.samples.is_empty()).map(panel).collect();
    let heat = Heat { rows: ports.iter().map(|at| name(links.ports[*at])).collect(), panels };
    Some(Ok(Plot { id: "utilisation", title: TITLE.into(), caption, shape: Shape::Heat(heat) }))
}

/// The ports of which `run`, the first of `scheme`, has samples.
fn sampled(links: &Links<'_>, scheme: usize, run: &RunRecord) -> BTreeSet<usize> {
    let own = run.samples.series().iter().map(|series| series.port as usize);
    let known = own.filter(|port| *port < run.ports.len());
    known.filter_map(|port| links.number(scheme, port)).collect()
}

/// The ports to draw: those with the highest utilisation. Schemes on different fabrics have the same number each.
fn busiest(links: &Links<'_>, sampled: &[BTreeSet<usize>]) -> Vec<usize> {
    let mut groups: Vec<&BTreeSet<usize>> = vec![];
    for ports in sampled.iter().filter(|ports| !ports.is_empty()) {
        if groups.iter().all(|group| group.is_disjoint(ports)) {
            groups.push(ports);
        }
    }
    let each = ROWS / groups.len().max(1);
    let most = |group: &&BTreeSet<usize>| {
        let joined = sampled.iter().filter(|ports| !ports.is_disjoint(group));
        let all: BTreeSet<usize> = joined.flatten().copied().collect();
        let mut ports: Vec<usize> = all.into_iter().collect();
        ports.sort_by_key(|at| (std::cmp::Reverse(links.used(*at).into_iter().max()), *at));
        ports.truncate(each);
        ports
    };
    let chosen: BTreeSet<usize> = groups.iter().flat_map(most).collect();
    chosen.into_iter().collect()
}

fn name(port: &PortRow) -> String {
    format::direction(&port.node, &port.port)
}

fn panel(scheme: usize, run: &RunRecord, ports: &[Option<usize>]) -> HeatPanel {
    let moments = moments(run);
    let row = |port: &Option<usize>| match port {
        Some(port) => cells(run, *port, &moments),
        None => vec![-1; moments.len() - 1],
    };
    HeatPanel {
        scheme,
        permille: ports.iter().map(row).collect(),
        edges: moments.iter().map(|moment| seconds(moment.t_ps)).collect(),
    }
}

/// A time between intervals that are drawn.
#[derive(Clone, Copy)]
struct Moment {
    t_ps: u64,
    /// The number of the samples that were taken then; `None` at the beginning.
    turn: Option<usize>,
}

/// The times between which utilisation is drawn: the beginning, and every so many samples.
fn moments(run: &RunRecord) -> Vec<Moment> {
    let taken = run.samples.times().iter().enumerate().filter(|(_, time)| **time > 0);
    let taken = taken.map(|(turn, t_ps)| Moment { t_ps: *t_ps, turn: Some(turn) });
    let all: Vec<Moment> = [Moment { t_ps: 0, turn: None }].into_iter().chain(taken).collect();
    let each = (all.len() - 1).div_ceil(COLUMNS).max(1);
    let mut drawn: Vec<Moment> = all.iter().copied().step_by(each).collect();
    if !(all.len() - 1).is_multiple_of(each) {
        drawn.extend(all.last());
    }
    drawn
}

/// The utilisation of a port between neighbouring `moments`; -1 if there is no sample of it.
fn cells(run: &RunRecord, port: usize, moments: &[Moment]) -> Vec<i32> {
    let rate = run.ports.get(port).map_or(0, |port| port.rate_bps);
    let series = run.samples.of(port as u32);
    let sent = |moment: &Moment| match moment.turn {
        Some(turn) => series?.tx_bytes(turn),
        None => Some(0),
    };
    let sent: Vec<Option<u64>> = moments.iter().map(sent).collect();
    let cell = |at: usize| match (sent[at], sent[at + 1]) {
        (Some(a), Some(b)) => {
            permille(b.saturating_sub(a), rate, moments[at + 1].t_ps - moments[at].t_ps)
        }
        _ => -1,
    };
    (0..moments.len() - 1).map(cell).collect()
}

/// The utilisation of a link by `bytes` within `span_ps`; -1 if the capacity is unknown.
fn permille(bytes: u64, rate_bps: u64, span_ps: u64) -> i32 {
    let capacity = rate_bps as f64 * seconds(span_ps);
    if capacity > 0.0 { (bytes as f64 * 8000.0 / capacity).round() as i32 } else { -1 }
}

fn totals(view: &View<'_>) -> Figure {
    let missing = Missing { title: TITLE, remedy: "No link carried any packet." };
    let Some(links) = Links::of(view) else { return Err(missing) };
    let mut ports: Vec<(Vec<i32>, &PortRow)> =
        links.ports.iter().enumerate().map(|(at, port)| (links.used(at), *port)).collect();
    ports.retain(|(used, _)| used.iter().any(|permille| *permille > 0));
    ports.sort_by_key(|(used, _)| std::cmp::Reverse(used.iter().max().copied()));
    if ports.is_empty() {
        return Err(missing);
    }
    let left_out = ports.len().saturating_sub(BARS);
    ports.truncate(BARS);
    let value = |used: &Vec<i32>, scheme: usize| f64::from(used[scheme].max(0)) / 1000.0;
    let row = |scheme| Row(ports.iter().map(|(used, _)| value(used, scheme)).collect());
    let bars = Bars {
        x: Axis { label: "utilisation", unit: Measure::Share, scale: Division::Linear },
        row: "port",
        rows: ports.iter().map(|(_, port)| name(port)).collect(),
        values: (0..view.runs.len()).map(row).collect(),
        stated: vec![],
    };
    let caption = format!(
        "Bytes sent over the capacity of the link during the whole run, over all seeds, at the busiest ports ({left_out} ports that were used less are not drawn). To see the utilisation over time, set sample in [measure]."
    );
    Ok(Plot { id: "utilisation", title: TITLE.into(), caption, shape: Shape::Bars(bars) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_lab::record::{RunSet, Samples};

    fn with_rates(mut set: slotline_lab::record::RunSet) -> slotline_lab::record::RunSet {
        set.runs
            .iter_mut()
            .flat_map(|run| &mut run.ports)
            .for_each(|p| p.rate_bps = 10_000_000_000);
        set
    }

    #[test]
    fn cells_are_bytes_over_capacity() {
        let set = with_rates(RunSet::example(1));
        let Shape::Heat(heat) = figure(&View::of(&set)).unwrap().shape else { panic!("no map") };
        assert_eq!((heat.rows.len(), heat.panels.len()), (1, 3));
        let panel = &heat.panels[0];
        assert!(panel.edges.len() <= COLUMNS + 2 && panel.edges.is_sorted_by(|a, b| a < b));
        // 9,000 bytes each 10 us are 7.2 of 10 Gbit/s.
        assert!(panel.permille[0].iter().all(|cell| *cell == 720), "{:?}", panel.permille[0]);
    }

    #[test]
    fn without_samples_there_are_totals() {
        let mut set = with_rates(RunSet::example(2));
        set.runs.iter_mut().for_each(|run| run.samples = Samples::default());
        let Shape::Bars(bars) = figure(&View::of(&set)).unwrap().shape else { panic!("no bars") };
        // 8.4 MB in 250 ms.
        assert!((bars.values[1].0[0] - 0.027).abs() < 1e-9, "{:?}", bars.values);
        set.runs.clear();
        assert!(figure(&View::of(&set)).is_err());
    }

    #[test]
    fn an_unknown_rate_is_no_utilisation() {
        assert_eq!(permille(1_000, 0, 1_000), -1);
        assert_eq!(permille(125, 1_000_000_000, 1_000_000), 1000);
    }
}
