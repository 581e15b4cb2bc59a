//! Experiment D and section 7.2 with daemons: messages are encrypted datagrams of real sockets.

use crate::{Experiment, Findings, Row, Stated, Work};
use slotline_bench::Row as Benched;
use slotline_lab::statistics::Estimate;
use slotline_report::plot::Missing;
use std::process::Command;

/// Experiment D and section 7.2.
pub(super) const DAEMONS: Experiment = Experiment {
    id: "fp-D2",
    about: "Experiment D and section 7.2 with daemons: traffic of endpoints whose messages one core handles, and what messages take",
    work: Work::Computed {
        how: "`slotline bench daemons --case paper:32`: 32 hosts with links of 10 Gbit/s and timeslots of 1.25 us, allocated 64 at a time, \
              always have packets for each other. Hosts and the arbiter's daemon take turns on one thread, with the time of a batch for \
              each turn, and exchange encrypted datagrams by sockets of the kernel. The traffic of a core is that of hosts per second of \
              processor time that the arbiter takes for everything: sockets, encryption, messages and allocation.",
        find: |_| measured().map_or_else(|_| missing(), |rows| findings(&rows)),
    },
};

/// What the benchmark measures, what the table calls it, and the paper's value.
const SHOWN: [(&str, &str, &str, Option<Stated>); 4] = [
    ("traffic_per_core", "traffic of a core", "Gbit/s", Some(Stated::About(130.0))),
    ("pairs_per_core", "pairs of messages of a core", "1/s", None),
    ("messages_over_data", "messages over data, both directions", "%", Some(Stated::About(0.3))),
    ("links_used", "use of the hosts' links", "%", None),
];

/// The rows of the benchmark, from a process of this program.
fn measured() -> Result<Vec<Benched>, Box<dyn std::error::Error>> {
    let program = std::env::current_exe()?;
    let words = ["bench", "daemons", "--json", "--case", "paper:32"];
    let done = Command::new(program).args(words).output()?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into());
    }
    let text = String::from_utf8(done.stdout)?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

fn missing() -> Findings {
    let remedy = "Run `slotline bench daemons --case paper:32`, which says why.";
    let figure = Err(Missing { title: "Messages of daemons", remedy });
    Findings { figures: vec![figure], ..Findings::default() }
}

fn findings(all: &[Benched]) -> Findings {
    let rows: Vec<Row> = all.iter().filter_map(row).collect();
    Findings { names: vec!["fastpass".into()], rows, ..Findings::default() }
}

/// A row of the table.
fn row(found: &Benched) -> Option<Row> {
    let own = |(key, ..): &&(&str, &str, &str, Option<Stated>)| {
        found.name.strip_prefix("daemons/") == Some(*key)
    };
    let (_, quantity, unit, paper) = SHOWN.into_iter().find(|of| own(&of))?;
    let hosts: u32 = found.scenario.strip_prefix("paper:")?.parse().ok()?;
    Some(Row {
        x: Some(hosts.into()),
        point: format!("{hosts} hosts"),
        scheme: found.scheme.clone(),
        quantity: quantity.into(),
        unit: unit.into(),
        paper,
        ours: Estimate::read(found.value, None, 1),
        note: "our messages are encrypted, and one thread does all that the paper's two cores do"
            .into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_benchmark_become_those_of_the_table() {
        let benched = |name: &str, value: f64| Benched {
            name: format!("daemons/{name}"),
            scenario: "paper:32".into(),
            scheme: "fastpass".into(),
            threads: 1,
            value,
            unit: "x".into(),
        };
        let all =
            [benched("traffic_per_core", 9.0), benched("other", 1.0), benched("links_used", 70.0)];
        let found = findings(&all).rows;
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].x, found[0].point.as_str()), (Some(32.0), "32 hosts"));
        assert_eq!((found[0].paper, found[1].paper), (Some(Stated::About(130.0)), None));
        assert_eq!(found[1].quantity, "use of the hosts' links");
    }
}
