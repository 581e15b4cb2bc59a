//! The schedule of a central scheduler: which host may send to which, and when.

use super::plot::{Figure, Gantt, GanttPanel, Missing, Plot, Shape, Spans};
use super::view::{View, hosts, seconds};
use slotline_lab::record::{RunRecord, ScheduleRow};
use std::collections::{BTreeMap, BTreeSet};

const TITLE: &str = "Who may send, and when";
/// The largest number of windows that are drawn one by one.
const MOST: usize = 4_000;
/// The largest number of hosts that are drawn: those with the most windows.
const HOSTS: usize = 128;
/// The number of first windows that are included one by one if there are more.
const DETAIL: usize = 1_500;
/// A schedule with at most this many windows was recorded to the end of its run.
const PART: usize = 100_000;

/// The figure of this subject.
pub fn figure(view: &View<'_>) -> Figure {
    let scheduled = || view.first().filter(|(_, run)| !run.schedule.is_empty());
    let remedy = "No schedule was recorded: set why = true in [measure], and use a scheme with circuits, or a central scheduler that opens and closes windows.";
    let (_, one) = scheduled().next().ok_or(Missing { title: TITLE, remedy })?;
    let panels: Vec<GanttPanel> = scheduled().map(|(at, run)| panel(at, run)).collect();
    let summed = panels.iter().any(|panel| !panel.detail.row.is_empty());
    let how = match summed {
        true => {
            " There are more windows than can be drawn, so each bar stands for an interval: it is paler where less of the interval was permitted, and grey where there were several destinations. Zoom in at the start to see the first windows one by one."
        }
        false => " Each bar is a window; the colour stands for the destination.",
    };
    let all: usize = scheduled().map(|(_, run)| senders(run)).max().unwrap_or(0);
    let left_out = match all.saturating_sub(HOSTS) {
        0 => String::new(),
        n => format!(" {n} hosts with fewer windows are not drawn."),
    };
    let caption = format!(
        "The figure shows when each host was permitted to send, and to which host, in the first seed. A host may have sent less in a window, or nothing. On a hybrid fabric the windows are circuits between racks.{how}{left_out}{}",
        up_to(one)
    );
    let steps = scheduled().flat_map(|(_, run)| &run.schedule).map(|row| row.dst);
    let gantt = Gantt { hosts: names(one), step: steps.fold(0, gcd).max(1), panels };
    Ok(Plot { id: "schedule", title: TITLE.into(), caption, shape: Shape::Gantt(gantt) })
}

/// The names of hosts; on a hybrid fabric the names of racks, because circuits are between racks.
fn names(run: &RunRecord) -> Vec<String> {
    if run.voqs.is_empty() {
        return hosts(run);
    }
    run.ports.iter().filter(|port| port.host).map(|port| port.port.clone()).collect()
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A note if only a part of the schedule was recorded.
fn up_to(run: &RunRecord) -> String {
    let last = run.schedule.iter().map(|row| row.until_ps).max().unwrap_or(0);
    match run.schedule.len() > PART && last < run.engine.sim_time_ps {
        true => {
            format!(" Windows that began up to {:.3} ms were recorded.", last as f64 * 1e-9)
        }
        false => String::new(),
    }
}

/// The number of hosts that were permitted to send.
fn senders(run: &RunRecord) -> usize {
    run.schedule.iter().map(|row| row.src).collect::<BTreeSet<u32>>().len()
}

fn panel(scheme: usize, run: &RunRecord) -> GanttPanel {
    let end =
        run.engine.sim_time_ps.max(run.schedule.iter().map(|row| row.from_ps).max().unwrap_or(0));
    let windows: Vec<ScheduleRow> = run
        .schedule
        .iter()
        .map(|row| ScheduleRow { until_ps: row.until_ps.min(end), ..*row })
        .collect();
    let hosts = busiest(&windows);
    let drawn = |row: &ScheduleRow| hosts.binary_search(&row.src).is_ok();
    let windows: Vec<ScheduleRow> = windows.into_iter().filter(drawn).collect();
    let (rows, at) = lanes(&windows, &hosts);
    let (bars, detail) = match windows.len() <= MOST {
        true => (each(&windows, &at), Spans::default()),
        false => (summed_up(&windows, &at, rows.len(), end), each(&windows[..DETAIL], &at)),
    };
    let next = windows.get(DETAIL).filter(|_| windows.len() > MOST);
    GanttPanel {
        scheme,
        end: seconds(end),
        detail_until: next.map_or(0.0, |row| seconds(row.from_ps)),
        rows,
        bars,
        detail,
    }
}

/// The sending hosts that are drawn, in order.
fn busiest(windows: &[ScheduleRow]) -> Vec<u32> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    windows.iter().for_each(|row| *counts.entry(row.src).or_default() += 1);
    let mut all: Vec<(u32, usize)> = counts.into_iter().collect();
    all.sort_by_key(|(host, n)| (std::cmp::Reverse(*n), *host));
    let mut rows: Vec<u32> = all.into_iter().take(HOSTS).map(|(host, _)| host).collect();
    rows.sort_unstable();
    rows
}

/// The host of each row, and the row of each window. A host has as many rows as it has simultaneous windows, for
/// example with several circuit switches; it has one row if that would be too many.
fn lanes(windows: &[ScheduleRow], hosts: &[u32]) -> (Vec<u32>, Vec<usize>) {
    let mut busy: Vec<Vec<u64>> = vec![vec![]; hosts.len()];
    let lane = |window: &ScheduleRow| {
        let host = hosts.binary_search(&window.src).unwrap_or(0);
        let ends = &mut busy[host];
        let free = ends.iter().position(|end| *end <= window.from_ps);
        let lane = free.unwrap_or(ends.len());
        ends.resize(ends.len().max(lane + 1), 0);
        ends[lane] = window.until_ps;
        (host, lane)
    };
    let places: Vec<(usize, usize)> = windows.iter().map(lane).collect();
    if busy.iter().map(Vec::len).sum::<usize>() > HOSTS {
        return (hosts.to_vec(), places.into_iter().map(|(host, _)| host).collect());
    }
    let rows: Vec<u32> =
        hosts.iter().zip(&busy).flat_map(|(host, ends)| vec![*host; ends.len()]).collect();
    let row = |(host, lane)| rows.partition_point(|row| *row < hosts[host]) + lane;
    let at = places.into_iter().map(row).collect();
    (rows, at)
}

impl Spans {
    fn push(&mut self, row: usize, span: (u64, u64), to: i64, windows: u32, share: f64) {
        self.row.push(row as u32);
        self.from.push(seconds(span.0));
        self.until.push(seconds(span.1));
        self.to.push(to);
        self.windows.push(windows);
        self.share.push(share);
    }
}

/// A bar for each window.
fn each(windows: &[ScheduleRow], rows: &[usize]) -> Spans {
    let mut out = Spans::default();
    for (window, &row) in windows.iter().zip(rows) {
        let span = (window.from_ps, window.until_ps);
        out.push(row, span, i64::from(window.dst), 1, 1.0);
    }
    out
}

/// The permissions of one host within an interval.
#[derive(Default)]
struct Sum {
    /// Picoseconds of permission; simultaneous windows to different hosts all count.
    open: u64,
    windows: u32,
    to: Option<i64>,
}

/// A bar for each row and interval with a permission.
fn summed_up(windows: &[ScheduleRow], rows: &[usize], count: usize, end: u64) -> Spans {
    let columns = (MOST / count).clamp(2, 400) as u64;
    let width = end.div_ceil(columns).max(1);
    let mut sums: BTreeMap<(usize, u64), Sum> = BTreeMap::new();
    for (window, &row) in windows.iter().zip(rows) {
        let last = window.until_ps.saturating_sub(1).max(window.from_ps) / width;
        for column in window.from_ps / width..=last {
            let sum = sums.entry((row, column)).or_default();
            let (from, until) = (column * width, (column + 1) * width);
            sum.open += window.until_ps.min(until).saturating_sub(window.from_ps.max(from));
            sum.windows += 1;
            let to = i64::from(window.dst);
            sum.to = Some(if sum.to.is_none_or(|before| before == to) { to } else { -1 });
        }
    }
    let mut out = Spans::default();
    for ((row, column), sum) in sums {
        let span = (column * width, ((column + 1) * width).min(end));
        let share = sum.open as f64 / (span.1 - span.0).max(1) as f64;
        out.push(row, span, sum.to.unwrap_or(-1), sum.windows, share.min(1.0));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_lab::record::{NEVER, RunSet};

    fn scheduled(windows: u64) -> RunSet {
        let mut set = RunSet::example(1);
        let row = |i: u64| ScheduleRow {
            from_ps: i * 10_000_000,
            until_ps: if i + 1 == windows { NEVER } else { i * 10_000_000 + 8_000_000 },
            src: (i % 8) as u32,
            dst: 8,
            rate_bps: 0,
        };
        set.runs[2].schedule = (0..windows).map(row).collect();
        set
    }

    fn drawn(set: &RunSet) -> GanttPanel {
        match figure(&View::of(set)).unwrap().shape {
            Shape::Gantt(mut gantt) => gantt.panels.remove(0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn few_windows_are_drawn_one_by_one() {
        let panel = drawn(&scheduled(100));
        assert_eq!((panel.bars.row.len(), panel.rows.len(), panel.scheme), (100, 8, 2));
        assert!(panel.detail.row.is_empty());
        assert_eq!(panel.bars.until[99], panel.end);
    }

    #[test]
    fn windows_at_the_same_time_have_rows_of_their_own() {
        let mut set = scheduled(16);
        set.runs[2].schedule.iter_mut().for_each(|row| row.src %= 4);
        set.runs[2].schedule.iter_mut().skip(12).for_each(|row| row.from_ps -= 85_000_000);
        set.runs[2].schedule.sort_by_key(|row| row.from_ps);
        let panel = drawn(&set);
        assert_eq!(panel.rows, [0, 0, 1, 1, 2, 2, 3, 3]);
        let spans = |row| panel.bars.row.iter().filter(move |at| **at == row).count();
        assert_eq!((0..8).map(spans).collect::<Vec<_>>(), [2; 8]);
    }

    #[test]
    fn many_windows_are_summed_up_without_losing_time() {
        let panel = drawn(&scheduled(30_000));
        assert!(panel.bars.row.len() <= 2 * MOST && panel.detail.row.len() == DETAIL);
        let span = |at: usize| panel.bars.until[at] - panel.bars.from[at];
        let open: f64 = (0..panel.bars.row.len()).map(|at| span(at) * panel.bars.share[at]).sum();
        let exact = 29_999.0 * 8e-6 + (panel.end - 29_999.0 * 1e-5);
        assert!((open / exact - 1.0).abs() < 0.01, "{open} {exact}");
        assert!((panel.detail_until - 0.015).abs() < 1e-12);
    }

    /// The first host of a rack represents it, and each rack has a colour of its own.
    #[test]
    fn racks_have_colours_and_names() {
        let mut set = scheduled(8);
        set.runs[2].schedule.iter_mut().for_each(|row| row.dst = row.src / 2 * 4 + 4);
        set.runs[2].voqs.push(slotline_lab::record::VoqRow::default());
        let Shape::Gantt(gantt) = figure(&View::of(&set)).unwrap().shape else {
            panic!("no chart")
        };
        assert_eq!(gantt.step, 4);
        let ports = set.runs[2].ports.iter().filter(|port| port.host);
        assert_eq!(gantt.hosts, ports.map(|port| port.port.as_str()).collect::<Vec<_>>());
    }

    #[test]
    fn without_a_schedule_the_remedy_is_named() {
        assert!(
            figure(&View::of(&RunSet::example(1)))
                .unwrap_err()
                .remedy
                .contains("central scheduler")
        );
    }
}
