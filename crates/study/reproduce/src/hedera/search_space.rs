//! Annealing of core switches by destination against annealing of each flow's path (section 4.2.4).

use super::row;
use crate::{Experiment, Findings, Row, Work};
use slotline_bench::hedera::{estimated, hosts};
use slotline_hedera::placement::{Annealing, Fabric, Flow, anneal_per_flow, default_c, max_min};
use slotline_lab::usage::thread_cpu_s;
use slotline_net::id::HostId;
use slotline_net::rng::{Stream, mix64};
use std::hint::black_box;

/// Section 4.2.4.
pub(super) const SEARCH_SPACE: Experiment = Experiment {
    id: "hed-12",
    about: "Section 4.2.4: annealing by destination and of each flow, 8,192 hosts, 16,384 flows",
    work: Work::Computed {
        how: "Flows between random hosts, placed once from the first map, or from random paths. Rates are max-min \
              fair. CPU time of one thread, on this machine.",
        find: |_| Findings {
            rows: rows(32, 16_384, &[1_000, 10_000, 100_000], 3),
            ..Findings::default()
        },
    },
};

const SHARE: (&str, &str) = ("share of full bisection", "%");
const TIME: (&str, &str) = ("time", "ms");
const GAIN: (&str, &str) = ("bandwidth by destination over each flow", "times");
const SPEED: (&str, &str) = ("time of each flow over by destination", "times");
const ANEW: (&str, &str) =
    ("time of each flow, energy computed anew, over by destination", "times");

/// The results of one search.
struct Found {
    share: f64,
    ms: f64,
}

/// Places `flows` by `search`.
fn search(
    fabric: &mut Fabric,
    flows: &[Flow],
    search: impl FnOnce(&mut Fabric, &mut [Flow]),
) -> Found {
    let mut flows = flows.to_vec();
    let begun = thread_cpu_s();
    search(fabric, &mut flows);
    let ms = (thread_cpu_s() - begun) * 1e3;
    let hash = |flow: usize| mix64(flow as u64) as u16;
    let rates: f64 = max_min(fabric, &flows, hash).iter().sum();
    Found { share: 100.0 * rates / fabric.hosts() as f64, ms }
}

/// Flows between random hosts, with their demands.
fn random(fabric: &Fabric, count: u32, seed: u64) -> Vec<Flow> {
    let mut stream = Stream::named(seed, "reproduce.search-space", 0);
    let hosts = fabric.hosts() as u64;
    let pair = |_| {
        let src = stream.below(hosts) as u32;
        let dst = (u64::from(src) + 1 + stream.below(hosts - 1)) % hosts;
        (HostId(src), HostId(dst as u32))
    };
    estimated(fabric, &(0..count).map(pair).collect::<Vec<_>>())
}

/// The time of one computation of the energy from all flows, in ms.
fn energy_anew(fabric: &Fabric, flows: &[Flow]) -> f64 {
    const TIMES: u32 = 10;
    let (mut load, mut wires) = (vec![0.0; fabric.capacities().len()], Vec::new());
    let begun = thread_cpu_s();
    for turn in 0..TIMES {
        load.fill(0.0);
        for flow in flows {
            wires.clear();
            fabric.wires(flow, turn as u16, &mut wires);
            wires.iter().for_each(|&wire| load[wire as usize] += flow.demand);
        }
        black_box(load.iter().map(|load| (load - 1.0_f64).max(0.0)).sum::<f64>());
    }
    (thread_cpu_s() - begun) * 1e3 / f64::from(TIMES)
}

fn rows(k: u32, count: u32, steps: &[u32], seeds: u64) -> Vec<Row> {
    steps.iter().flat_map(|&steps| with_steps(k, count, steps, seeds)).collect()
}

fn with_steps(k: u32, count: u32, steps: u32, seeds: u64) -> Vec<Row> {
    let c = default_c(hosts(k) as usize);
    let mut found: [Vec<Found>; 2] = Default::default();
    let mut anew = Vec::new();
    for seed in 1..=seeds {
        let mut fabric = Fabric::fat_tree(k);
        let flows = random(&fabric, count, seed);
        let stream = || Stream::named(seed, "reproduce.annealing", 0);
        found[0].push(search(&mut fabric, &flows, |fabric, flows| {
            Annealing::new(fabric).place(fabric, flows, steps, c, &mut stream());
        }));
        found[1].push(search(&mut fabric, &flows, |fabric, flows| {
            anneal_per_flow(fabric, flows, steps, c, &mut stream());
        }));
        anew.push(energy_anew(&fabric, &flows) * f64::from(steps));
    }
    let [ours, each] = found;
    let point = format!("{steps} steps");
    let of = |scheme: &str,
              (found, what): (&[Found], (&'static str, &'static str)),
              value: fn(&Found) -> f64| {
        let values: Vec<f64> = found.iter().map(value).collect();
        row(None, (point.clone(), scheme.into()), what, None, &values, "")
    };
    let ratio = |what, paper, value: &dyn Fn(usize) -> f64| {
        let values: Vec<f64> = (0..ours.len()).map(value).collect();
        row(None, (point.clone(), String::new()), what, paper, &values, "")
    };
    let rows = [
        of("by destination", (&ours, SHARE), |found| found.share),
        of("each flow", (&each, SHARE), |found| found.share),
        of("by destination", (&ours, TIME), |found| found.ms),
        of("each flow", (&each, TIME), |found| found.ms),
        ratio(GAIN, Some(1.2), &|at| ours[at].share / each[at].share),
        ratio(SPEED, Some(10.0), &|at| each[at].ms / ours[at].ms),
        ratio(ANEW, Some(10.0), &|at| anew[at] / ours[at].ms),
    ];
    rows.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_searches_place_all_flows_within_what_cards_carry() {
        let rows = rows(4, 32, &[1_000], 2);
        let shares: Vec<f64> =
            rows.iter().filter(|row| row.quantity == SHARE.0).map(|row| row.ours.mean).collect();
        assert_eq!(shares.len(), 2);
        assert!(shares.iter().all(|share| *share > 40.0 && *share <= 100.0), "{shares:?}");
        let gain = rows.iter().find(|row| row.quantity == GAIN.0).expect("a ratio");
        assert!((gain.ours.mean - shares[0] / shares[1]).abs() < 0.05, "{gain:?}");
    }
}
