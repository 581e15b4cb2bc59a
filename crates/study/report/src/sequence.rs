//! Time-sequence graphs of single flows: segments, retransmissions, acknowledgements, and permissions.

use super::plot::{Figure, Missing, Plot, Points, Sequence, Shape, Track};
use super::view::{View, host, hosts, seconds};
use slotline_lab::output::format;
use slotline_lab::record::{RunRecord, SequenceRow, Step};
use slotline_scenario::metric::Unit;
use std::collections::{BTreeMap, BTreeSet};

const TITLE: &str = "Time and sequence";
const REMEDY: &str =
    "No flow was followed in detail: set follow = [0], or other numbers of flows, in [measure].";
/// The largest number of flows that can be chosen.
const FLOWS: usize = 12;
/// The largest number of points of all traces.
const POINTS: usize = 40_000;

/// The figure of this subject.
pub fn figure(view: &View<'_>) -> Figure {
    let remedy = view.with_packets(REMEDY);
    let followed = |(_, run): (usize, &RunRecord)| {
        run.sequence.iter().map(|row| row.flow).collect::<BTreeSet<u32>>()
    };
    let mut schemes: BTreeMap<u32, usize> = BTreeMap::new();
    view.first().flat_map(followed).for_each(|flow| *schemes.entry(flow).or_default() += 1);
    // Flows under several schemes come first.
    let mut all: Vec<u32> = schemes.keys().copied().collect();
    all.sort_by_key(|flow| (std::cmp::Reverse(schemes[flow]), *flow));
    let (_, one) = view.first().next().ok_or(Missing { title: TITLE, remedy })?;
    let chosen: Vec<u32> = all.iter().copied().take(FLOWS).collect();
    if chosen.is_empty() {
        return Err(Missing { title: TITLE, remedy });
    }
    let most = POINTS / (chosen.len() * view.runs.len() * 3);
    let tracks: Vec<(Track, usize)> = chosen
        .iter()
        .enumerate()
        .flat_map(|(at, flow)| {
            view.first().filter_map(move |(s, run)| track(at, *flow, s, run, most))
        })
        .collect();
    let coarsest = tracks.iter().map(|(_, each)| *each).max().unwrap_or(1);
    let caption = caption(all.len() - chosen.len(), coarsest);
    let flows = chosen.iter().map(|flow| name(one, *flow)).collect();
    let tracks = tracks.into_iter().map(|(track, _)| track).collect();
    let sequence = Sequence { flows, tracks };
    Ok(Plot { id: "sequence", title: TITLE.into(), caption, shape: Shape::Sequence(sequence) })
}

fn caption(left_out: usize, each: usize) -> String {
    let thinned = match each {
        1 => String::new(),
        n => format!(" In a series of similar points, at least one in {n} is drawn."),
    };
    let left_out = match left_out {
        0 => String::new(),
        n => format!(" {n} more flows were followed and are only in sequence.csv."),
    };
    format!(
        "One flow under each scheme, in the first seed; time starts at its first segment. A dot is the end of a segment when it was sent, and a cross is a retransmission. The line shows the acknowledged bytes. In shaded intervals the sender was permitted to send to this destination.{thinned}{left_out}"
    )
}

fn name(run: &RunRecord, flow: u32) -> String {
    let names = hosts(run);
    match run.flows.get(flow as usize) {
        Some(row) => {
            let size = format::quantity(Unit::Bytes, row.bytes as f64);
            format!("flow {flow}: {} → {}, {size}", host(&names, row.src), host(&names, row.dst))
        }
        None => format!("flow {flow}"),
    }
}

/// The trace of `flow`, and the number of points that one drawn point may stand for.
fn track(
    at: usize,
    flow: u32,
    scheme: usize,
    run: &RunRecord,
    most: usize,
) -> Option<(Track, usize)> {
    let from = run.sequence.partition_point(|row| row.flow < flow);
    let rows: Vec<&SequenceRow> =
        run.sequence[from..].iter().take_while(|row| row.flow == flow).collect();
    let start = rows.first()?.t_ps;
    let end = rows.last()?.t_ps;
    let of = |step: Step| points(rows.iter().filter(|row| row.step == step), start, most);
    let [sent, resent, acknowledged] = [Step::Sent, Step::Resent, Step::Acknowledged].map(of);
    let windows = windows(run, flow, start, end, most);
    let each = sent.1.max(resent.1).max(acknowledged.1);
    let track = Track {
        flow: at,
        scheme,
        sent: sent.0,
        resent: resent.0,
        acknowledged: acknowledged.0,
        open: windows.iter().map(|w| seconds(w.0 - start)).collect(),
        shut: windows.iter().map(|w| seconds(w.1 - start)).collect(),
    };
    Some((track, each))
}

/// At most about `most` of the rows, evenly spaced and including the last one.
fn points<'a>(
    rows: impl Iterator<Item = &'a &'a SequenceRow> + Clone,
    start: u64,
    most: usize,
) -> (Points, usize) {
    let n = rows.clone().count();
    let each = n.div_ceil(most.max(1)).max(1);
    let mut out = Points::default();
    for (_, row) in rows.enumerate().filter(|(at, _)| at.is_multiple_of(each) || at + 1 == n) {
        out.x.push(seconds(row.t_ps - start));
        out.y.push(row.bytes);
    }
    (out, each)
}

/// Windows between the ends of the flow that overlap its lifetime, cut to it. Adjacent windows are joined. If there are
/// more than `most`, those with the smallest gaps between them are joined, too.
fn windows(run: &RunRecord, flow: u32, start: u64, end: u64, most: usize) -> Vec<(u64, u64)> {
    let Some(row) = run.flows.get(flow as usize) else { return vec![] };
    let ours = run
        .schedule
        .iter()
        .filter(|w| w.src == row.src && w.dst == row.dst && w.until_ps > start && w.from_ps < end);
    let all: Vec<(u64, u64)> = ours.map(|w| (w.from_ps.max(start), w.until_ps.min(end))).collect();
    let mut gap = 0;
    loop {
        let joined = join(&all, gap);
        if joined.len() <= most.max(1) {
            return joined;
        }
        gap = (gap * 2).max((end - start) / 10_000).max(1);
    }
}

/// Joins neighbours with a gap of at most `gap`.
fn join(windows: &[(u64, u64)], gap: u64) -> Vec<(u64, u64)> {
    let mut out: Vec<(u64, u64)> = vec![];
    for window in windows {
        match out.last_mut().filter(|last| window.0 <= last.1.saturating_add(gap)) {
            Some(last) => last.1 = last.1.max(window.1),
            None => out.push(*window),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_lab::record::{RunSet, ScheduleRow};

    fn followed(points: u64) -> RunSet {
        let mut set = RunSet::example(1);
        for run in &mut set.runs {
            let row = |i: u64| SequenceRow {
                flow: 3,
                t_ps: 1_000_000 + i * 1_000,
                step: [Step::Sent, Step::Resent, Step::Acknowledged][(i % 3) as usize],
                bytes: i * 1_000,
            };
            run.sequence = (0..points).map(row).collect();
            let window = |i: u64| ScheduleRow {
                from_ps: i * 500_000,
                until_ps: i * 500_000 + 300_000,
                src: 3,
                dst: 8,
                rate_bps: 0,
            };
            run.schedule = (0..20).map(window).collect();
        }
        set
    }

    fn drawn(set: &RunSet) -> (Sequence, String) {
        let plot = figure(&View::of(set)).unwrap();
        match plot.shape {
            Shape::Sequence(sequence) => (sequence, plot.caption),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_short_trace_is_whole() {
        let (drawn, caption) = drawn(&followed(3_000));
        assert_eq!((drawn.flows.len(), drawn.tracks.len()), (1, 3));
        let track = &drawn.tracks[0];
        assert_eq!((track.sent.x.len(), track.resent.x.len()), (1_000, 1_000));
        assert_eq!(track.sent.x[0], 0.0);
        // From 1 to 4 us: windows at 1.0, 1.5, .. 3.5 us, cut to the flow's lifetime.
        assert_eq!((track.open.len(), track.shut[0]), (6, 0.3e-6));
        assert!(!caption.contains("one in"), "{caption}");
    }

    #[test]
    fn a_long_trace_names_what_is_left_out() {
        let (drawn, caption) = drawn(&followed(100_000));
        let sent = &drawn.tracks[0].sent;
        assert!(sent.x.len() <= 4_446, "{}", sent.x.len());
        assert_eq!(sent.y.last(), Some(&99_999_000));
        assert!(caption.contains("one in 8"), "{caption}");
    }

    #[test]
    fn close_windows_are_joined() {
        assert_eq!(join(&[(0, 2), (2, 3), (5, 6)], 0), [(0, 3), (5, 6)]);
        assert_eq!(join(&[(0, 2), (2, 3), (5, 6)], 2), [(0, 6)]);
    }
}
