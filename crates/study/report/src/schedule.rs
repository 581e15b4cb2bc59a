//! The schedule of a central scheduler: which host may send to which, and when.

use super::plot::{Figure, Gantt, GanttPanel, Missing, Plot, Shape, Spans};
use super::view::{View, hosts, seconds};
use slotline_lab::record::{RunRecord, ScheduleRow};

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

/// Until when windows were recorded, in ps, if that is before the end of the run.
fn recorded_until(run: &RunRecord) -> Option<u64> {
    let last = run.schedule.iter().map(|row| row.until_ps).max()?;
    (run.schedule.len() > PART && last < run.engine.sim_time_ps).then_some(last)
}

/// A note if only a part of the schedule was recorded.
fn up_to(run: &RunRecord) -> String {
    recorded_until(run).map_or(String::new(), |last| {
        format!(" Windows that began up to {:.3} ms were recorded.", last as f64 * 1e-9)
    })
}

/// The number of windows of each host.
fn windows_of_hosts(run: &RunRecord) -> Vec<usize> {
    let hosts = run.schedule.iter().map(|row| row.src as usize + 1).max().unwrap_or(0);
    let mut counts = vec![0; hosts];
    run.schedule.iter().for_each(|row| counts[row.src as usize] += 1);
    counts
}

/// The number of hosts that were permitted to send.
fn senders(run: &RunRecord) -> usize {
    windows_of_hosts(run).into_iter().filter(|windows| *windows > 0).count()
}

fn panel(scheme: usize, run: &RunRecord) -> GanttPanel {
    let last = run.schedule.iter().map(|row| row.from_ps).max().unwrap_or(0);
    let end = recorded_until(run).unwrap_or(run.engine.sim_time_ps).max(last);
    let hosts = busiest(&windows_of_hosts(run));
    let drawn = Drawn::of(&run.schedule, &hosts, end);
    let (rows, row_of) = lanes(drawn.windows(), &hosts);
    let windows = drawn.windows().zip(&row_of).map(|(window, row)| Window { row: *row, ..window });
    let few = row_of.len() <= MOST;
    let (bars, detail) = match few {
        true => (each(windows), Spans::default()),
        false => (summed_up(windows.clone(), rows.len(), end), each(windows.take(DETAIL))),
    };
    let next = drawn.windows().nth(DETAIL).filter(|_| !few);
    GanttPanel {
        scheme,
        end: seconds(end),
        detail_until: next.map_or(0.0, |window| seconds(window.from)),
        rows,
        bars,
        detail,
    }
}

/// The sending hosts that are drawn, in order.
fn busiest(windows: &[usize]) -> Vec<u32> {
    let mut all: Vec<(u32, usize)> = (0..).zip(windows.iter().copied()).collect();
    all.retain(|(_, n)| *n > 0);
    all.sort_by_key(|(host, n)| (std::cmp::Reverse(*n), *host));
    let mut rows: Vec<u32> = all.into_iter().take(HOSTS).map(|(host, _)| host).collect();
    rows.sort_unstable();
    rows
}

/// A window that is drawn, in picoseconds.
struct Window {
    /// The number of its host among those that are drawn, and then its row.
    row: u32,
    from: u64,
    until: u64,
    dst: u32,
}

/// The windows that are drawn, of which there may be a million.
struct Drawn<'a> {
    schedule: &'a [ScheduleRow],
    /// By host: its number among those that are drawn.
    number: Vec<Option<u32>>,
    end: u64,
}

impl Drawn<'_> {
    fn of<'a>(schedule: &'a [ScheduleRow], hosts: &[u32], end: u64) -> Drawn<'a> {
        let mut number = vec![None; hosts.last().map_or(0, |host| *host as usize + 1)];
        (0..).zip(hosts).for_each(|(at, host)| number[*host as usize] = Some(at));
        Drawn { schedule, number, end }
    }

    fn windows(&self) -> impl Iterator<Item = Window> + Clone {
        self.schedule.iter().filter_map(|row| {
            let ScheduleRow { from_ps: from, until_ps, src, dst, .. } = *row;
            let row = (*self.number.get(src as usize)?)?;
            Some(Window { row, from, until: until_ps.min(self.end), dst })
        })
    }
}

/// The host of each row, and the row of each window. A host has as many rows as it has simultaneous windows, for
/// example with several circuit switches; it has one row if that would be too many.
fn lanes(windows: impl Iterator<Item = Window> + Clone, hosts: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut busy: Vec<Vec<u64>> = vec![vec![]; hosts.len()];
    let lane = |window: Window| {
        let ends = &mut busy[window.row as usize];
        let free = ends.iter().position(|end| *end <= window.from);
        let lane = free.unwrap_or(ends.len());
        ends.resize(ends.len().max(lane + 1), 0);
        ends[lane] = window.until;
        lane as u32
    };
    let lanes: Vec<u32> = windows.clone().map(lane).collect();
    if busy.iter().map(Vec::len).sum::<usize>() > HOSTS {
        return (hosts.to_vec(), windows.map(|window| window.row).collect());
    }
    let rows: Vec<u32> =
        hosts.iter().zip(&busy).flat_map(|(host, ends)| vec![*host; ends.len()]).collect();
    let first: Vec<u32> =
        hosts.iter().map(|host| rows.partition_point(|row| row < host) as u32).collect();
    let row = |(window, lane): (Window, u32)| first[window.row as usize] + lane;
    (rows, windows.zip(lanes).map(row).collect())
}

impl Spans {
    fn push(&mut self, row: u32, span: (u64, u64), to: i64, windows: u32, share: f64) {
        self.row.push(row);
        self.from.push(seconds(span.0));
        self.until.push(seconds(span.1));
        self.to.push(to);
        self.windows.push(windows);
        self.share.push(share);
    }
}

/// A bar for each window.
fn each(windows: impl Iterator<Item = Window>) -> Spans {
    let mut out = Spans::default();
    for Window { row, from, until, dst } in windows {
        out.push(row, (from, until), i64::from(dst), 1, 1.0);
    }
    out
}

/// The permissions of one host within an interval.
#[derive(Clone, Copy, Default)]
struct Sum {
    /// Picoseconds of permission; simultaneous windows to different hosts all count.
    open: u64,
    windows: u32,
    to: Option<i64>,
}

/// A bar for each row and interval with a permission.
fn summed_up(windows: impl Iterator<Item = Window>, rows: usize, end: u64) -> Spans {
    let columns = (MOST / rows).clamp(2, 400);
    let width = end.div_ceil(columns as u64).max(1);
    // The last window may begin at the end.
    let mut sums = vec![Sum::default(); rows * (columns + 1)];
    for Window { row, from, until, dst } in windows {
        let last = until.saturating_sub(1).max(from) / width;
        for column in from / width..=last {
            let sum = &mut sums[row as usize * (columns + 1) + column as usize];
            let bounds = (column * width, (column + 1) * width);
            sum.open += until.min(bounds.1).saturating_sub(from.max(bounds.0));
            sum.windows += 1;
            let to = i64::from(dst);
            sum.to = Some(if sum.to.is_none_or(|before| before == to) { to } else { -1 });
        }
    }
    let mut out = Spans::default();
    for (at, sum) in sums.iter().enumerate().filter(|(_, sum)| sum.windows > 0) {
        let (row, column) = ((at / (columns + 1)) as u32, (at % (columns + 1)) as u64);
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

    #[test]
    fn a_part_is_drawn_up_to_its_end() {
        let mut set = scheduled(PART as u64 + 2);
        set.runs[2].schedule.pop();
        let last = set.runs[2].schedule[PART].until_ps;
        set.runs[2].engine.sim_time_ps = 2 * last;
        assert_eq!(drawn(&set).end, seconds(last));
        assert!(up_to(&set.runs[2]).contains("were recorded"));
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
