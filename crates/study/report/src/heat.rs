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
    let own: BTreeSet<u32> = run.samples.iter().map(|sample| sample.port).collect();
    own.into_iter().filter_map(|own| links.number(scheme, own as usize)).collect()
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
    let times: BTreeSet<u64> = run.samples.iter().map(|sample| sample.t_ps).collect();
    let times: Vec<u64> = [0].into_iter().chain(times.into_iter().filter(|t| *t > 0)).collect();
    let each = (times.len() - 1).div_ceil(COLUMNS).max(1);
    let mut edges: Vec<u64> = times.iter().copied().step_by(each).collect();
    if edges.last() != times.last() {
        edges.extend(times.last());
    }
    let sent = sent(run, &edges);
    let row = |port: &Option<usize>| cells(run, *port, &edges, &sent);
    HeatPanel {
        scheme,
        permille: ports.iter().map(row).collect(),
        edges: edges.iter().copied().map(seconds).collect(),
    }
}

/// By port, the bytes that were sent until each of `edges`, as far as there are samples.
fn sent(run: &RunRecord, edges: &[u64]) -> Vec<Vec<Option<u64>>> {
    let mut sent = vec![vec![]; run.ports.len()];
    for samples in run.samples.chunk_by(|a, b| a.t_ps == b.t_ps) {
        let Ok(at) = edges.binary_search(&samples[0].t_ps) else { continue };
        for sample in samples {
            if let Some(sent) = sent.get_mut(sample.port as usize) {
                sent.resize(edges.len(), None);
                sent[at] = Some(sample.tx_bytes);
            }
        }
    }
    sent
}

/// Utilisation between neighbouring `edges`, which are times of samples; -1 if the port has none.
fn cells(
    run: &RunRecord,
    port: Option<usize>,
    edges: &[u64],
    sent: &[Vec<Option<u64>>],
) -> Vec<i32> {
    let sampled =
        port.and_then(|port| Some((port, sent.get(port).filter(|sent| !sent.is_empty())?)));
    let Some((port, sent)) = sampled else { return vec![-1; edges.len() - 1] };
    let sent = |at: usize| if at == 0 { Some(sent[0].unwrap_or(0)) } else { sent[at] };
    let rate = run.ports.get(port).map_or(0, |port| port.rate_bps);
    let cell = |at: usize| match (sent(at), sent(at + 1)) {
        (Some(a), Some(b)) => permille(b.saturating_sub(a), rate, edges[at + 1] - edges[at]),
        _ => -1,
    };
    (0..edges.len() - 1).map(cell).collect()
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
    use slotline_lab::record::RunSet;

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
        set.runs.iter_mut().for_each(|run| run.samples.clear());
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
