//! The bandwidth that is lost by hashing flows onto paths: Figure 2.5.

use super::water::{HOPS, NO_LINK, fair_shares, max_min};
use crate::draw::View;
use crate::{Experiment, Findings, Quantity, Row, Stated, Work};
use slotline_lab::statistics::Estimate;
use slotline_net::rng::Stream;
use slotline_report::plot::Figure;

/// Figure 2.5.
pub(super) const LOSS: Experiment = Experiment {
    id: "ft-2",
    about: "Figure 2.5: bisection bandwidth that hash collisions cost, by flows per host, k = 48",
    work: Work::Computed {
        how: "A Monte Carlo simulation: each host sends this number of flows. The flows of one index form a random \
              permutation of hosts, and each flow takes a random path. Rates are computed by minimum fair share and \
              by max-min fairness.",
        find: |_| findings(48, &POINTS),
    },
};

/// Flows per host, and the number of random draws.
const POINTS: [(u32, u64); 10] = [
    (1, 20),
    (2, 20),
    (5, 10),
    (10, 10),
    (20, 5),
    (50, 5),
    (100, 3),
    (200, 2),
    (500, 2),
    (1_000, 2),
];

const LOST: Quantity =
    Quantity { key: "lost", name: "bisection bandwidth lost", unit: "%", of: |_| f64::NAN };

fn findings(k: u32, points: &[(u32, u64)]) -> Findings {
    let rows: Vec<Row> = points.iter().flat_map(|&(flows, runs)| rows(k, flows, runs)).collect();
    let view = View::of(&[], &rows);
    let figures: Vec<Figure> = vec![view.against("flows per host", &LOST)];
    Findings { names: view.names, rows, figures, emulated: None }
}

fn rows(k: u32, flows: u32, runs: u64) -> Vec<Row> {
    let draws: Vec<[f64; 2]> = (1..=runs).map(|seed| losses(k, flows, seed)).collect();
    let paper = match flows {
        1 => Some(Stated::About(60.8)),
        1_000 => Some(Stated::About(2.5)),
        _ => None,
    };
    let notes = [
        "each flow gets the smallest of the equal shares of its links; the unused rest of the other shares is lost",
        "other flows use the share that a flow leaves unused, so no network loses more than this by collisions alone. \
         The paper's value for 1 flow is between the two definitions, and its value for 1,000 is that of the other \
         one",
    ];
    let row = |(at, scheme): (usize, &str)| {
        Some(Row {
            x: Some(f64::from(flows)),
            point: format!("{flows} flow{} per host", if flows == 1 { "" } else { "s" }),
            scheme: scheme.into(),
            quantity: LOST.name.into(),
            unit: LOST.unit.into(),
            paper,
            ours: Estimate::of(&draws.iter().map(|draw| draw[at]).collect::<Vec<_>>())?,
            note: notes[at].into(),
        })
    };
    ["minimum fair share", "max-min"].into_iter().enumerate().filter_map(row).collect()
}

/// Percent of bisection bandwidth lost under both definitions.
fn losses(k: u32, flows: u32, seed: u64) -> [f64; 2] {
    let tree = Tree { half: k / 2 };
    let mut stream = Stream::named(seed, "reproduce.ecmp-loss", flows.into());
    let mut paths = Vec::with_capacity((tree.hosts() * flows) as usize);
    let mut to: Vec<u32> = (0..tree.hosts()).collect();
    for _ in 0..flows {
        cycle(&mut stream, &mut to);
        paths.extend((0..).zip(&to).map(|(src, &dst)| tree.path(src, dst, &mut stream)));
    }
    let links = tree.links();
    // The flows of a host share its link, and together could fill it.
    let lost = |sum: f64| 100.0 * (1.0 - sum / f64::from(tree.hosts()));
    [lost(fair_shares(&paths, links)), lost(max_min(&paths, links))]
}

/// A random permutation without fixed points (Sattolo).
fn cycle(stream: &mut Stream, items: &mut [u32]) {
    (0..).zip(items.iter_mut()).for_each(|(at, item)| *item = at);
    for at in (1..items.len()).rev() {
        items.swap(at, stream.below(at as u64) as usize);
    }
}

/// A fat-tree's directed links, by number: upwards from hosts, edge and aggregation switches, and then the same
/// downwards.
#[derive(Clone, Copy)]
struct Tree {
    half: u32,
}

impl Tree {
    fn hosts(&self) -> u32 {
        2 * self.half.pow(3)
    }
    fn links(&self) -> usize {
        6 * self.hosts() as usize
    }

    fn path(&self, src: u32, dst: u32, stream: &mut Stream) -> [u32; HOPS] {
        let (half, all) = (self.half, self.hosts());
        let [edge_a, edge_b] = [src, dst].map(|host| host / half);
        let [pod_a, pod_b] = [edge_a, edge_b].map(|edge| edge / half);
        let [up, across] = [0; 2].map(|_: u32| stream.below(half.into()) as u32);
        // Each tier has as many links as there are hosts, in each direction.
        let link = |tier: u32, switch: u32, port: u32| tier * all + switch * half + port;
        let mut path = [NO_LINK; HOPS];
        let mut at = 0;
        let mut add = |link| {
            path[at] = link;
            at += 1;
        };
        add(src);
        if edge_a != edge_b {
            add(link(1, edge_a, up));
            if pod_a != pod_b {
                add(link(2, pod_a * half + up, across));
                add(link(3, pod_b * half + up, across));
            }
            add(link(4, edge_b, up));
        }
        add(5 * all + dst);
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_up_and_down_by_the_same_switches() {
        let tree = Tree { half: 2 };
        let mut stream = Stream::named(1, "test", 0);
        let lengths = [(0, 1), (0, 2), (0, 4)].map(|(src, dst)| {
            let path = tree.path(src, dst, &mut stream);
            path.iter().filter(|link| **link != NO_LINK).count()
        });
        assert_eq!(lengths, [2, 4, 6]);
        for _ in 0..100 {
            let [first, up, core, down, edge, last] = tree.path(1, 14, &mut stream);
            assert_eq!((first, last), (1, 5 * 16 + 14));
            let [aggregation, top] = [up - 16, core - 32];
            // From edge switch 0 to aggregation switch a, from there by port c, and the reverse way downwards.
            let (a, c) = (aggregation % 2, top % 2);
            assert_eq!((aggregation / 2, top / 2), (0, a));
            assert_eq!((down - 48, edge - 64), ((3 * 2 + a) * 2 + c, 7 * 2 + a));
        }
    }

    #[test]
    fn few_flows_lose_much_and_many_little() {
        let found = findings(8, &[(1, 3), (100, 1)]);
        let lost: Vec<f64> = found.rows.iter().map(|row| row.ours.mean).collect();
        assert!(lost[0] > 40.0 && lost[1] > 40.0 && lost[1] < lost[0], "{lost:?}");
        assert!(lost[2] < 20.0 && lost[3] < lost[2], "{lost:?}");
    }

    #[test]
    fn a_permutation_has_no_fixed_point() {
        let (mut stream, mut to) = (Stream::named(3, "test", 0), vec![0; 50]);
        cycle(&mut stream, &mut to);
        assert!((0..).zip(&to).all(|(at, to)| at != *to));
        to.sort_unstable();
        assert_eq!(to, (0..50).collect::<Vec<_>>());
    }
}
