//! The traffic that an arbiter's cores can serve: §7.2 and §7.3, experiments D, F and G.

use crate::{Experiment, Findings, Row, Stated, Work};
use slotline_bench::Row as Figure;
use slotline_bench::{arbiter, fcp};
use slotline_lab::statistics::Estimate;

/// Experiment D.
pub(super) const COMMUNICATION: Experiment = Experiment {
    id: "fp-D",
    about: "Experiment D: traffic of endpoints whose requests and allocations one core handles",
    work: Work::Computed {
        how: "The part of `slotline bench arbiter` about the protocol: CPU time of one thread, on this machine.",
        find: |_| {
            let rows: Vec<Figure> = fcp::cases().iter().flat_map(|c| c.run(fcp::USUAL)).collect();
            let note = "the paper's value includes the queues of its network card, ours does not; its processor is \
                        from 2013. Ours is measured on this machine";
            findings(&rows, "fcp/per_core", 130.0, note)
        },
    },
};

/// Experiment F.
pub(super) const ALLOCATION: Experiment = Experiment {
    id: "fp-F",
    about: "Experiment F: traffic whose timeslots one core allocates",
    work: Work::Computed {
        how: "The part of `slotline bench arbiter` about timeslots: CPU time of one thread, on this machine.",
        find: |_| {
            let note = "the paper has 2.2 Tbit/s on eight cores of 2013, and this is an eighth of it; ours is one core \
                        of the machine that ran this";
            findings(&allocation(), "allocate/per_core", 2_200.0 / 8.0, note)
        },
    },
};

/// Experiment G.
pub(super) const PATHS: Experiment = Experiment {
    id: "fp-G",
    about: "Experiment G: traffic whose paths one core selects",
    work: Work::Computed {
        how: "The part of `slotline bench arbiter` about paths: CPU time of one thread, on this machine.",
        find: |_| {
            let note =
                "the paper has over 5 Tbit/s on ten cores of 2013, and this is a tenth of it";
            findings(&allocation(), "paths/per_packet", 500.0, note)
        },
    },
};

fn allocation() -> Vec<Figure> {
    arbiter::cases().iter().flat_map(|case| case.run(arbiter::USUAL)).collect()
}

/// Data of a timeslot in bits: a packet of 1,500 bytes.
const SLOT_BITS: f64 = 12_000.0;

/// The rows of `measured` with this name, as traffic in Gbit/s.
fn findings(measured: &[Figure], name: &str, paper: f64, note: &str) -> Findings {
    let row = |row: &Figure| {
        let traffic = match row.unit.as_str() {
            "Tbit/s" => row.value * 1e3,
            _ => SLOT_BITS / row.value,
        };
        Some(Row {
            x: None,
            point: format!("{}, {}", row.scenario, row.scheme),
            scheme: String::new(),
            quantity: "traffic of a core".into(),
            unit: "Gbit/s".into(),
            paper: Some(Stated::About(paper)),
            ours: Estimate::of(&[traffic])?,
            note: note.into(),
        })
    };
    let rows = measured.iter().filter(|row| row.name == name).filter_map(row).collect();
    Findings { rows, ..Findings::default() }
}
