//! Racks, bundles and cables of a full fat-tree of 48-port switches: §3.3 with Fig 3.10.

use super::computed;
use crate::{Experiment, Findings, Row, Work};
use slotline_design::amount::Ratio;
use slotline_design::parts::Parts;
use slotline_design::{Design, Run, Wish, fat_tree};
use slotline_net::units::Rate;
use slotline_report::plot::{Axis, Division, Figure, Lines, Measure, Plot, Series, Shape as Drawn};

/// Experiment ft-7.
pub(super) const PACKAGING: Experiment = Experiment {
    id: "ft-7",
    about: "Section 3.3, Figure 3.10: racks, bundles and cables of a fat-tree for 27,648 hosts",
    work: Work::Computed {
        how: "The plan of `slotline design fat-tree --hosts 27648 --nic 1Gbps --year 2008 --pod-switch`, whose \
              --drawing shows the hall.",
        find: |_| findings(),
    },
};

const COUNT: (&str, &str) = ("count", "1");
const HALL: &str = "ours: racks of 0.6 m, rows 2.4 m apart, 2 m up and 2 m down at the ends; the thesis has no lengths";

fn findings() -> Findings {
    let parts = Parts::shipped("2008").expect("a table of the program");
    let planned = |pod_switch| {
        let wish = Wish {
            hosts: 27_648,
            nic: Rate(1_000_000_000),
            oversubscription: Ratio::FULL,
            k: Some(48),
            pod_switch,
        };
        fat_tree::design(&wish, &parts).expect("the thesis' network")
    };
    let (packed, loose) = (planned(true), planned(false));
    let row = in_a_row(&packed);
    let rows = [of_pod(&packed), of_cables(&packed, &loose), of_lengths(&packed, &row)].concat();
    Findings {
        names: vec!["grid".into(), "row".into()],
        rows: rows.into_iter().flatten().collect(),
        figures: vec![figure(&packed.runs, &row)],
        emulated: None,
    }
}

fn fact(what: &str, paper: f64, ours: u64) -> Option<Row> {
    computed((what, ""), COUNT, Some(paper), ours as f64, "")
}

fn of_pod(design: &Design) -> Vec<Option<Row>> {
    let pods = design.hall.blocks.len() as u64;
    let columns = design.hall.blocks.iter().filter(|block| block.y == design.hall.blocks[0].y);
    let own = |link: &str, there: usize| -> u64 {
        let to = |run: &&Run| run.link == link && run.blocks == (0, there);
        design.runs.iter().filter(to).map(|run| run.count).sum()
    };
    let to_core: u64 = (0..pods as usize).map(|pod| own("aggregation-core", pod)).sum();
    let core = design.switches.iter().filter(|kind| kind.role == "core");
    let hosts = own("host-edge", 0);
    vec![
        fact("pods", 48.0, pods),
        fact("pods in a row of the hall", 7.0, columns.count() as u64),
        fact("hosts of a pod", 576.0, hosts),
        fact("racks with hosts of a pod", 12.0, design.hall.host_racks(0).len() as u64),
        fact("core switches in a pod", 12.0, core.map(|kind| kind.count).sum::<u64>() / pods),
        fact("ports of a pod switch to the outside", 1_152.0, hosts + to_core),
        fact("ports within a pod switch", 1_152.0, 2 * design.inside / pods),
        fact("cables from a pod to the core", 576.0, to_core),
        fact("of these, to core switches in the same pod", 12.0, own("aggregation-core", 0)),
        fact("cables of a bundle from pod to pod", 12.0, own("aggregation-core", 1)),
        fact("cables of a bundle from a rack", 48.0, largest(design, "host-edge")),
    ]
}

fn largest(design: &Design, link: &str) -> u64 {
    let own = design.runs.iter().filter(|run| run.link == link);
    own.map(|run| run.count).max().unwrap_or(0)
}

fn of_cables(packed: &Design, loose: &Design) -> Vec<Option<Row>> {
    let external: u64 =
        packed.runs.iter().filter(|run| run.blocks.0 != run.blocks.1).map(|run| run.count).sum();
    let plain = |what, ours: u64| computed((what, ""), COUNT, None, ours as f64, "");
    vec![
        plain("cables, with separate switches", loose.cables()),
        plain("cables, with pod switches", packed.cables()),
        plain("cables between pods", external),
        plain(
            "bundles between pods",
            packed.hall.blocks.len() as u64 * (packed.hall.blocks.len() as u64 - 1),
        ),
    ]
}

fn of_lengths(packed: &Design, row: &[Run]) -> Vec<Option<Row>> {
    let kilometres = |runs: &[Run]| {
        runs.iter().map(|run| run.count as f64 * run.length.metres()).sum::<f64>() / 1e3
    };
    let longest = |runs: &[Run]| runs.iter().map(|run| run.length.metres()).fold(0.0, f64::max);
    let line =
        |scheme, (what, unit), ours| computed((what, scheme), ("length", unit), None, ours, HALL);
    let (all, most) = (("all cables", "km"), ("longest cable", "m"));
    vec![
        line("grid", all, kilometres(&packed.runs)),
        line("row", all, kilometres(row)),
        line("grid", most, longest(&packed.runs)),
        line("row", most, longest(row)),
    ]
}

/// The same cables if the racks of a pod are in one row and the pods behind each other, which §3.3 calls a horizontal
/// layout.
fn in_a_row(design: &Design) -> Vec<Run> {
    let hall = &design.hall;
    let racks = |block: usize| hall.blocks[block].racks.len() as u64;
    let pitch = racks(0) + 1;
    let (width, ends) = (hall.cell.0, 2 * hall.within().0);
    let mut seen = std::collections::BTreeMap::new();
    let mut length = |run: &Run| match run.link {
        "host-edge" => {
            // Racks are placed alternately to the left and to the right of those with switches.
            let rack: &mut u64 = seen.entry(run.blocks.0).or_default();
            *rack += 1;
            rack.div_ceil(2) * width + hall.blocks[run.blocks.0].network as u64 * width / 2 + ends
        }
        _ if run.blocks.0 == run.blocks.1 => run.length.0,
        _ => run.blocks.0.abs_diff(run.blocks.1) as u64 * pitch * width + ends,
    };
    let moved = |run: &Run| Run { length: slotline_design::amount::Length(length(run)), ..*run };
    design.runs.iter().map(moved).collect()
}

/// Share of cables by length.
fn figure(grid: &[Run], row: &[Run]) -> Figure {
    let line = |(scheme, runs): (usize, &[Run])| {
        let mut sorted: Vec<(f64, u64)> =
            runs.iter().map(|run| (run.length.metres(), run.count)).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all: u64 = sorted.iter().map(|(_, count)| count).sum();
        let sums = sorted.iter().scan(0, |sum, (_, count)| {
            *sum += count;
            Some(*sum as f64 / all as f64)
        });
        Series {
            scheme,
            step: true,
            y: sums.collect(),
            x: sorted.iter().map(|(length, _)| *length).collect(),
            ..Series::default()
        }
    };
    let lines = Lines {
        x: Axis { label: "length, m", unit: Measure::Number, scale: Division::Linear },
        y: Axis { label: "share", unit: Measure::Share, scale: Division::Tail },
        series: [grid, row].into_iter().enumerate().map(line).collect(),
    };
    let caption = "Share of cables that are this long or shorter: pods in a grid as in Figure 3.10, and all racks in \
                   one row. Lengths are of our hall; the paper has none.";
    Ok(Plot {
        id: "lengths",
        title: "Lengths of cables".into(),
        caption: caption.into(),
        shape: Drawn::Lines(lines),
    })
}
