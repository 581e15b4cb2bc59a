//! The speed of the scheduler: Tables 4.5, 4.6 and 4.7.

use super::row;
use crate::{Experiment, Findings, Row, Stated, Work};
use slotline_bench::hedera::{Case, annealings, estimates, hosts, loops};

/// Table 4.5.
pub(super) const ESTIMATION: Experiment = Experiment {
    id: "hed-7",
    about: "Table 4.5: how long demand estimation takes, and how much memory",
    work: Work::Computed {
        how: "The part of `slotline bench hedera` about estimation: CPU time of one thread, on this machine.",
        find: |_| Findings { rows: estimation(), ..Findings::default() },
    },
};

/// Table 4.6.
pub(super) const ANNEALING: Experiment = Experiment {
    id: "hed-8",
    about: "Table 4.6: how long annealing takes",
    work: Work::Computed {
        how: "The part of `slotline bench hedera` about annealing: CPU time of one thread, on this machine.",
        find: |_| Findings { rows: annealing(), ..Findings::default() },
    },
};

/// Table 4.7.
pub(super) const CONTROL_LOOP: Experiment = Experiment {
    id: "hed-9",
    about: "Table 4.7: the length of the control loop",
    work: Work::Computed {
        how: "The transfer times of messages are computed for a link of 10 Gbit/s. Estimation and placement are \
              measured: CPU time of one thread, on this machine.",
        find: |_| Findings { rows: control_loop(), ..Findings::default() },
    },
};

const TIMES: usize = 7;

fn estimation() -> Vec<Row> {
    let printed = [1.45, 4.14, 2.71, 9.23, 26.31, 6.91, 51.30, 199.43];
    let one = |(at, case): (usize, &Case)| {
        let note = "four threads at 2.13 GHz in the thesis, one here";
        let rows = case.run(TIMES).into_iter().filter_map(|measured| {
            let place = (measured.scenario, String::new());
            // "Less than 20MB even for the extreme scenario".
            let extreme = matches!(case, Case::Estimate { flows: 250_000, .. });
            match measured.unit.as_str() {
                "ms" => row(
                    None,
                    place,
                    ("time", "ms"),
                    printed.get(at).copied(),
                    &[measured.value],
                    note,
                ),
                _ => row(
                    None,
                    place,
                    ("memory", "MB"),
                    extreme.then_some(20.0),
                    &[measured.value],
                    "",
                )
                .map(|row| Row { paper: row.paper.map(|most| Stated::Under(most.value())), ..row }),
            }
        });
        rows.collect::<Vec<_>>()
    };
    estimates().iter().enumerate().flat_map(one).collect()
}

fn annealing() -> Vec<Row> {
    let printed = |k: u32, flows: u32, steps: u32| {
        let column = [(16, 3_215), (16, 6_250), (32, 25_000), (32, 50_000)];
        let column = column.iter().position(|&size| size == (k, flows))?;
        let cells = match steps {
            1_000 => [2.997, 5.042, 6.898, 11.573],
            5_000 => [12.209, 20.848, 19.091, 32.079],
            10_000 => [23.447, 40.255, 32.912, 55.741],
            _ => return None,
        };
        Some(cells[column])
    };
    let one = |case: &Case| {
        let Case::Anneal { k, flows, iterations } = *case else { return vec![] };
        let both = case.run(TIMES).into_iter().map(|measured| {
            let place = (measured.scenario, measured.scheme);
            match measured.unit.as_str() {
                "ms" => {
                    let paper = printed(k, flows, iterations);
                    row(None, place, ("time", "ms"), paper, &[measured.value], "")
                }
                _ => row(None, place, ("time of a step", "ns"), None, &[measured.value], ""),
            }
        });
        both.flatten().collect()
    };
    annealings().iter().flat_map(one).collect()
}

fn control_loop() -> Vec<Row> {
    let printed = |k: u32, each: u32| {
        let cells = match k {
            16 => [100.2, 100.9, 101.7],
            32 => [101.4, 106.8, 113.5],
            _ => [104.6, 122.8, 145.5],
        };
        [1, 5, 10].iter().position(|&n| n == each).map(|column| cells[column])
    };
    let one = |case: &Case| {
        let Case::Loop { k, each } = *case else { return vec![] };
        let part = |measured: slotline_bench::Row| {
            let (quantity, paper, note) = match measured.name.as_str() {
                "hedera/loop_computing" => {
                    ("estimation and placement", Some(100.0), "assumed in the thesis")
                }
                "hedera/loop_reports" => ("reports on the scheduler's link", None, ""),
                "hedera/loop_paths" => ("paths on the scheduler's link", None, ""),
                "hedera/loop" => ("loop", printed(k, each), "with messages of this program"),
                _ => ("loop with entries of 72 B", printed(k, each), "three entries for each flow"),
            };
            let place = (format!("{} hosts, {each} flows each", hosts(k)), String::new());
            row(None, place, (quantity, "ms"), paper, &[measured.value], note)
        };
        case.run(TIMES).into_iter().filter_map(part).collect()
    };
    loops().iter().flat_map(one).collect()
}
