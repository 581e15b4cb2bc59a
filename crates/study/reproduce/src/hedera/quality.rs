//! The quality of placements in large fabrics: the patterns of Figure 4.7, and random bijections.

use super::row;
use crate::{Experiment, Findings, Row, Work};
use slotline_bench::hedera::{PLACERS, Placer, estimated, hosts, permutation};
use slotline_hedera::placement::{Annealing, Fabric, Flow, best, default_c, first_fit, max_min};
use slotline_net::id::HostId;
use slotline_net::rng::{Stream, mix64};

/// Figure 4.7's patterns, without arrivals.
pub(super) const ONCE: Experiment = Experiment {
    id: "hed-11",
    about: "Not in the thesis: Figure 4.7's patterns, one flow that lasts for each of 8,192 hosts, placed once",
    work: Work::Computed {
        how: "One permanent flow for each host, placed once. Rates are max-min fair over all links. There are no \
              arrivals and no TCP.",
        find: |_| findings(patterns(32, 3)),
    },
};

/// The table of `shared/specs/hedera.md`.
pub(super) const PLACEMENT: Experiment = Experiment {
    id: "hed-10",
    about: "Not in the thesis: placements of random bijections, k = 4 to 32, against the optimum of 100 %",
    work: Work::Computed {
        how: "As `slotline bench hedera`: 40 random bijections for each size, max-min fair rates.",
        find: |_| findings([4, 8, 16, 32].into_iter().flat_map(bijections).collect()),
    },
};

const SHARE: (&str, &str) = ("share of full bisection", "%");

fn findings(rows: Vec<Row>) -> Findings {
    Findings { rows, ..Findings::default() }
}

/// The total rate of flows, in percent of the rate of all network cards.
fn share(fabric: &Fabric, flows: &[Flow], seed: u64) -> f64 {
    let hash = |flow: usize| mix64(seed << 32 | flow as u64) as u16;
    100.0 * max_min(fabric, flows, hash).iter().sum::<f64>() / fabric.hosts() as f64
}

/// The total of the demands, which a non-blocking network carries.
fn all_demands(fabric: &Fabric, flows: &[Flow]) -> f64 {
    100.0 * flows.iter().map(|flow| flow.demand).sum::<f64>() / fabric.hosts() as f64
}

fn annealed(fabric: &mut Fabric, flows: &[Flow], steps: u32, seed: u64) -> Vec<Flow> {
    let mut flows = flows.to_vec();
    let mut stream = Stream::named(seed, "reproduce.annealing", 0);
    let c = default_c(fabric.hosts());
    Annealing::new(fabric).place(fabric, &mut flows, steps, c, &mut stream);
    flows
}

/// Destinations of a pattern among the hosts of a fat-tree.
fn destinations(name: &str, k: u32, seed: u64) -> Vec<(HostId, HostId)> {
    let (all, rack, pod) = (hosts(k), k / 2, k * k / 4);
    let mut stream = Stream::named(seed, "reproduce.pattern", 0);
    let mut within = |src: u32, first: u32, size: u32| loop {
        let dst = first + stream.below(size.into()) as u32;
        if dst != src {
            return dst;
        }
    };
    let mut odds = Stream::named(seed, "reproduce.odds", 0);
    let mut staggered = |src: u32, edge: f64, near: f64| {
        let u = odds.unit();
        if u < edge {
            within(src, src / rack * rack, rack)
        } else if u < edge + near {
            within(src, src / pod * pod, pod)
        } else {
            within(src, 0, all)
        }
    };
    let stride: Option<u32> =
        name.strip_prefix("stride(").and_then(|n| n.trim_end_matches(')').parse().ok());
    let to = |src: u32| match (name, stride) {
        (_, Some(by)) => (src + by) % all,
        ("staggered(1, 0)", _) => staggered(src, 1.0, 0.0),
        ("staggered(0.5, 0.3)", _) => staggered(src, 0.5, 0.3),
        ("staggered(0.2, 0.3)", _) => staggered(src, 0.2, 0.3),
        _ => staggered(src, 0.0, 0.0),
    };
    match name {
        "random bijective" => {
            permutation(all, seed).iter().map(|flow| (flow.src, flow.dst)).collect()
        }
        _ => (0..all).map(to).zip(0..).map(|(dst, src)| (HostId(src), HostId(dst))).collect(),
    }
}

/// All patterns by all placements, over `seeds` seeds.
fn patterns(k: u32, seeds: u64) -> Vec<Row> {
    let names = [
        "stride(1)",
        "stride(16)",
        "stride(256)",
        "stride(4096)",
        "staggered(1, 0)",
        "staggered(0.5, 0.3)",
        "staggered(0.2, 0.3)",
        "random bijective",
        "random",
    ];
    let mut rows = Vec::new();
    for (x, name) in (1..).zip(names) {
        let mut found: [Vec<f64>; 5] = Default::default();
        for seed in 1..=seeds {
            let mut fabric = Fabric::fat_tree(k);
            let flows = estimated(&fabric, &destinations(name, k, seed));
            let mut fit = flows.clone();
            first_fit(&mut fabric, &mut fit);
            let annealed = annealed(&mut fabric, &flows, 100_000, seed);
            let mut finest = flows.clone();
            best(&mut fabric, &mut finest);
            found[0].push(share(&fabric, &flows, seed));
            found[1].push(share(&fabric, &fit, seed));
            found[2].push(share(&fabric, &annealed, seed));
            found[3].push(share(&fabric, &finest, seed));
            found[4].push(all_demands(&fabric, &flows));
        }
        let schemes = ["ecmp-flow", "first-fit", "annealing", "best", "control"];
        for (scheme, ours) in schemes.into_iter().zip(&found) {
            let place = (name.to_string(), scheme.to_string());
            rows.extend(row(Some(f64::from(x)), place, SHARE, None, ours, ""));
        }
    }
    rows
}

/// The means (percent) of a naive implementation, by placer.
fn reference(k: u32, placer: Placer) -> Option<f64> {
    let at = PLACERS.iter().position(|known| *known == placer)?;
    let table = [
        (4, [59.3, 88.2, 99.6, 100.0, 100.0, 100.0]),
        (8, [47.0, 81.4, 86.5, 95.9, 98.0, 100.0]),
        (16, [42.5, 82.8, 65.4, 79.7, 91.3, 100.0]),
        (32, [40.9, 85.5, 53.7, 62.4, 77.6, 100.0]),
    ];
    table.iter().find(|(size, _)| *size == k).map(|(_, means)| means[at])
}

fn bijections(k: u32) -> Vec<Row> {
    let one = |placer: Placer| {
        let place = (format!("{} hosts", hosts(k)), placer.name());
        let note = "compared with a naive implementation of the pseudo-code, not with the thesis";
        row(None, place, SHARE, reference(k, placer), &placer.quality(k, 40), note)
    };
    PLACERS.into_iter().filter_map(one).collect()
}
