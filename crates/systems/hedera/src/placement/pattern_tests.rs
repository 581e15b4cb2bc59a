//! Placements on the patterns of the thesis (§3.5.2, §4.4.1) and its shuffle, in fabrics of three sizes.

use super::*;
use slotline_net::id::HostId;
use slotline_net::rng::Stream;

type Pairs = Vec<(u32, u32)>;

/// Each host sends to a host at its edge switch or in its pod with the given probabilities, otherwise to any host.
fn staggered(k: u32, [edge, pod]: [f64; 2], stream: &mut Stream) -> Pairs {
    let hosts = k * k * k / 4;
    let mut to = |src: u32| loop {
        let odds = stream.unit();
        let size = match () {
            () if odds < edge => k / 2,
            () if odds < edge + pod => k * k / 4,
            () => hosts,
        };
        let dst = src / size * size + stream.below(size.into()) as u32;
        if dst != src {
            return dst;
        }
    };
    (0..hosts).map(|src| (src, to(src))).collect()
}

/// Each host sends to `each` others, drawn one by one.
fn random(hosts: u32, each: u32, stream: &mut Stream) -> Pairs {
    let mut other = |src: u32| (src + 1 + stream.below(u64::from(hosts) - 1) as u32) % hosts;
    (0..hosts * each).map(|at| (at % hosts, other(at % hosts))).collect()
}

fn bijective(hosts: u32, stream: &mut Stream) -> Pairs {
    let mut to: Vec<u32> = (0..hosts).collect();
    while (0..).zip(&to).any(|(src, dst)| src == *dst) {
        stream.shuffle(&mut to);
    }
    (0..).zip(to).collect()
}

/// Half of the hosts send to one of a few hosts, the others to any host.
fn hot_spots(hosts: u32, spots: u32, stream: &mut Stream) -> Pairs {
    let anywhere = random(hosts, 1, stream);
    let hot = |(src, dst): (u32, u32)| match stream.unit() < 0.5 && src >= spots {
        true => (src, stream.below(spots.into()) as u32),
        false => (src, dst),
    };
    anywhere.into_iter().map(hot).collect()
}

fn patterns(k: u32, seed: u64) -> Vec<(String, Pairs)> {
    let hosts = k * k * k / 4;
    let mut stream = Stream::named(seed, "patterns", 0);
    let stride = |by: u32| {
        (format!("stride({by})"), (0..hosts).map(|src| (src, (src + by) % hosts)).collect())
    };
    let mut all: Vec<(String, Pairs)> =
        [1, k / 2, k * k / 4, hosts / 2, hosts - 1, 3].map(stride).into();
    for odds in [[1.0, 0.0], [0.5, 0.3], [0.2, 0.3]] {
        all.push((format!("staggered {odds:?}"), staggered(k, odds, &mut stream)));
    }
    all.push(("bijective".into(), bijective(hosts, &mut stream)));
    for each in [1, 2, 4] {
        all.push((format!("random, {each} each"), random(hosts, each, &mut stream)));
    }
    for spots in [1, 4] {
        all.push((format!("{spots} hot spots"), hot_spots(hosts, spots, &mut stream)));
    }
    // A shuffle: each host sends to one other host at any time, or to all others at once.
    all.push((
        "two bijections".into(),
        [0; 2].iter().flat_map(|_| bijective(hosts, &mut stream)).collect(),
    ));
    if k == 4 {
        let to = |src| (0..hosts).filter(move |dst| *dst != src).map(move |dst| (src, dst));
        all.push(("shuffle".into(), (0..hosts).flat_map(to).collect()));
    }
    all
}

fn flows(fabric: &Fabric, pairs: &[(u32, u32)]) -> Vec<Flow> {
    let ids: Vec<_> = pairs.iter().map(|&(src, dst)| (HostId(src), HostId(dst))).collect();
    let mut estimator = Estimator::default();
    let demands = estimator.demands(fabric.send(), fabric.receive(), &ids);
    let flow = |(&(src, dst), &demand): (&(u32, u32), &f64)| Flow::new(src, dst, demand);
    pairs.iter().zip(demands).map(flow).collect()
}

/// The rates with first fit, annealing with the options of the scheduler, and the best placement. A hash gives
/// the path of flows without one.
fn carried(k: u32, pairs: &[(u32, u32)], seed: u64) -> [f64; 3] {
    let mut fabric = Fabric::fat_tree(k);
    let [mut fit, mut annealed, mut finest] = [(); 3].map(|()| flows(&fabric, pairs));
    first_fit(&mut fabric, &mut fit);
    let (c, mut stream) = (default_c(fabric.hosts()), Stream::named(seed, "annealing", 0));
    Annealing::new(&fabric).place(&mut fabric, &mut annealed, 10_000, c, &mut stream);
    best(&mut fabric, &mut finest);
    let hash = |at: usize| slotline_net::rng::mix64(seed << 32 | at as u64) as u16;
    [fit, annealed, finest].map(|flows| max_min(&fabric, &flows, hash).iter().sum())
}

#[test]
fn the_best_is_at_least_as_good_on_every_pattern() {
    let mut worse = Vec::new();
    for (k, seeds) in [(4, 10), (8, 4), (16, 1)] {
        for seed in 0..seeds {
            for (name, pairs) in patterns(k, seed) {
                let [fit, annealed, best] = carried(k, &pairs, seed);
                if best < fit.max(annealed) - 1e-6 {
                    worse.push(format!("k = {k}, {name}: {fit} {annealed} {best}"));
                }
            }
        }
    }
    assert!(worse.is_empty(), "{worse:#?}");
}
