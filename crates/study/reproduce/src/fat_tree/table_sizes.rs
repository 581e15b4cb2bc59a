//! The sizes of the tables of two-level routing (sections 3.1.1 and 3.1.3 to 3.1.5).

use super::computed;
use crate::{Experiment, Findings, Row, Work};
use slotline_net::route::two_level::{Place, Plan, Sizes};

/// Sections 3.1.3 to 3.1.5.
pub(super) const SIZES: Experiment = Experiment {
    id: "ft-8",
    about: "Sections 3.1.1 to 3.1.5: sizes of the tables of two-level routing, and rows of a ternary memory",
    work: Work::Computed {
        how: "The tables of `slotline export routes`, for one switch of each level.",
        find: |_| Findings {
            rows: [4, 24, 48].into_iter().flat_map(of_size).collect(),
            ..Findings::default()
        },
    },
};

/// The rows for switches with `k` ports, with the thesis' bounds.
fn of_size(k: u32) -> Vec<Row> {
    let Ok(plan) = Plan::new(k, k / 2) else { return vec![] };
    let (half, ports) = (f64::from(k) / 2.0, f64::from(k));
    let levels = [
        ("edge", Place::Edge { pod: 0, at: 0 }, [half, half, ports]),
        ("aggregation", Place::Aggregation { pod: 0, at: 0 }, [half, half, ports]),
        ("core", Place::Core { group: 0, at: 0 }, [ports, 0.0, ports]),
    ];
    let two_level = levels.into_iter().flat_map(|(level, place, bounds)| {
        let Sizes { prefixes, suffixes, tcam } = plan.table(place).sizes();
        let values = [prefixes, suffixes, tcam].into_iter().zip(bounds);
        let point = format!("k = {k}, {level}");
        let row = move |((quantity, unit), (ours, most)): (
            (&'static str, &'static str),
            (usize, f64),
        )| {
            computed(
                (&point, ""),
                (quantity, unit),
                Some(most),
                ours as f64,
                "the thesis has an upper bound",
            )
        };
        QUANTITIES.into_iter().zip(values).filter_map(row).collect::<Vec<_>>()
    });
    // Section 3.1.1: a prefix for every path to every other subnet.
    let subnets = ports * half;
    let place = format!("k = {k}, edge, OSPF with equal-cost paths");
    let all = ports * half * half;
    let ospf = computed((&place, ""), QUANTITIES[0], Some(all), (subnets - 1.0) * half, "");
    two_level.chain(ospf).collect()
}

const QUANTITIES: [(&str, &str); 3] =
    [("prefixes", ""), ("suffixes", ""), ("rows of a ternary memory, 32 bits each", "")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_of_a_pod_needs_no_more_rows_than_it_has_ports() {
        for k in [4, 48] {
            let rows = of_size(k);
            assert_eq!(rows.len(), 10);
            let tcam = rows.iter().filter(|row| row.quantity == QUANTITIES[2].0);
            assert!(
                tcam.clone().count() == 3
                    && tcam.into_iter().all(|row| row.ours.mean <= f64::from(k))
            );
        }
    }
}
