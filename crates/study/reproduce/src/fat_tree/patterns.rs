//! The traffic patterns of the thesis' benchmark suite (section 3.5.2), on 16 hosts in pods of four.
//!
//! In each pattern every host sends to one other host and receives from one other host.

use slotline_net::rng::Stream;

/// The number of hosts.
const HOSTS: u32 = 16;
const POD: u32 = 4;
const SUBNET: u32 = 2;

/// A pattern of Table 3.1, and the paper's values: tree, two-level table, classification, scheduling.
pub(super) struct Pattern {
    /// The name in the table.
    pub name: &'static str,
    /// Percent of the ideal bisection bandwidth.
    pub paper: [f64; 4],
    /// The number of different draws.
    pub draws: u32,
    /// The destination of each host.
    pub draw: fn(&mut Stream) -> Vec<u32>,
}

const fn pattern(
    name: &'static str,
    draws: u32,
    draw: fn(&mut Stream) -> Vec<u32>,
    paper: [f64; 4],
) -> Pattern {
    Pattern { name, paper, draws, draw }
}

/// The rows of Table 3.1.
pub(super) const PATTERNS: [Pattern; 10] = [
    pattern("Random", 5, random, [53.4, 75.0, 76.3, 93.5]),
    pattern("Stride (1)", 1, |_| stride(1), [100.0, 100.0, 100.0, 100.0]),
    pattern("Stride (2)", 1, |_| stride(2), [78.1, 100.0, 100.0, 99.5]),
    pattern("Stride (4)", 1, |_| stride(4), [27.9, 100.0, 100.0, 100.0]),
    pattern("Stride (8)", 1, |_| stride(8), [28.0, 100.0, 100.0, 99.9]),
    pattern("Staggered (1.0, 0.0)", 1, |s| staggered(s, 1.0, 0.0), [100.0, 100.0, 100.0, 100.0]),
    pattern("Staggered (0.5, 0.3)", 5, |s| staggered(s, 0.5, 0.3), [83.6, 82.0, 86.2, 93.4]),
    pattern("Staggered (0.2, 0.3)", 5, |s| staggered(s, 0.2, 0.3), [64.9, 75.6, 80.2, 88.5]),
    pattern("Inter-pod Incoming", 5, incoming, [28.0, 50.6, 75.1, 99.9]),
    pattern("Same-ID Outgoing", 5, same_id, [27.8, 38.5, 75.4, 87.4]),
];

fn stride(by: u32) -> Vec<u32> {
    (0..HOSTS).map(|host| (host + by) % HOSTS).collect()
}

/// Draws permutations until one is `good`.
fn until(stream: &mut Stream, good: impl Fn(&[u32]) -> bool) -> Vec<u32> {
    let mut to: Vec<u32> = (0..HOSTS).collect();
    loop {
        stream.shuffle(&mut to);
        if good(&to) {
            return to;
        }
    }
}

fn random(stream: &mut Stream) -> Vec<u32> {
    until(stream, |to| (0..).zip(to).all(|(src, dst)| src != *dst))
}

/// In random order, each host draws the distance of its destination, and then one of the remaining hosts at that
/// distance. If there is none, it draws one of all remaining hosts. Everything is drawn again if only the host itself
/// remains at the end.
fn staggered(stream: &mut Stream, subnet: f64, pod: f64) -> Vec<u32> {
    loop {
        let mut left: Vec<u32> = (0..HOSTS).collect();
        let mut order = left.clone();
        stream.shuffle(&mut order);
        let mut to = vec![None; HOSTS as usize];
        for src in order {
            to[src as usize] = destination(stream, &mut left, src, [subnet, pod]);
        }
        if let Some(to) = to.into_iter().collect() {
            return to;
        }
    }
}

fn destination(
    stream: &mut Stream,
    left: &mut Vec<u32>,
    src: u32,
    [subnet, pod]: [f64; 2],
) -> Option<u32> {
    let drawn = stream.unit();
    let near = |dst: u32| {
        let far = [src / SUBNET != dst / SUBNET, src / POD != dst / POD];
        match drawn {
            _ if drawn < subnet => !far[0],
            _ if drawn < subnet + pod => far[0] && !far[1],
            _ => far[1],
        }
    };
    let nearby: Vec<u32> = left.iter().copied().filter(|&dst| dst != src && near(dst)).collect();
    let any: Vec<u32> = left.iter().copied().filter(|&dst| dst != src).collect();
    let among = if nearby.is_empty() { any } else { nearby };
    let dst = *among.get(stream.below(among.len() as u64) as usize)?;
    left.retain(|other| *other != dst);
    Some(dst)
}

/// Each pod receives only from hosts of other pods at edge switches with the same number, whose traffic the two-level
/// tables send through the same core switches. Hosts of an edge switch send to different numbers.
fn incoming(stream: &mut Stream) -> Vec<u32> {
    let mut pods = [0, 1, 2, 3];
    stream.shuffle(&mut pods);
    // The first two pods receive from the first edge switches, and the other two from the second ones.
    let place = |pod: u32| pods.iter().position(|p| *p == pod).unwrap_or(0);
    until_swapped(stream, |src, dst| {
        let first = place(dst / POD) < 2;
        src / POD != dst / POD && first == (src % POD < SUBNET)
    })
}

/// Both hosts of a subnet send to hosts of the same number in other pods.
fn same_id(stream: &mut Stream) -> Vec<u32> {
    let mut ids = [0, 0, 0, 0, 1, 1, 1, 1];
    stream.shuffle(&mut ids);
    let number = |src: u32| ids[(src / SUBNET) as usize];
    until_swapped_any(stream, |src, dst| src / POD != dst / POD && dst % SUBNET == number(src))
}

/// A permutation whose pairs are all `good`, and in which hosts of a subnet send to different numbers.
fn until_swapped(stream: &mut Stream, good: impl Fn(u32, u32) -> bool) -> Vec<u32> {
    loop {
        let to = until_swapped_any(stream, &good);
        if to.chunks(SUBNET as usize).all(|pair| pair[0] % SUBNET != pair[1] % SUBNET) {
            return to;
        }
    }
}

/// A permutation whose pairs are all `good`: a random one is improved by swaps that do not increase the number of bad
/// pairs.
fn until_swapped_any(stream: &mut Stream, good: impl Fn(u32, u32) -> bool) -> Vec<u32> {
    let mut to: Vec<u32> = (0..HOSTS).collect();
    stream.shuffle(&mut to);
    let ok = |to: &[u32], at: usize| usize::from(good(at as u32, to[at]));
    while (0..to.len()).any(|at| ok(&to, at) == 0) {
        let [a, b] = [0; 2].map(|_: u32| stream.below(HOSTS.into()) as usize);
        let before = ok(&to, a) + ok(&to, b);
        to.swap(a, b);
        if ok(&to, a) + ok(&to, b) < before {
            to.swap(a, b);
        }
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(pattern: &Pattern) -> impl Iterator<Item = Vec<u32>> {
        let draw = pattern.draw;
        (0..50).map(move |seed| draw(&mut Stream::named(seed, "test", 0)))
    }

    fn named(name: &str) -> &'static Pattern {
        PATTERNS.iter().find(|pattern| pattern.name == name).unwrap()
    }

    #[test]
    fn every_host_sends_to_one_and_receives_from_one_other() {
        for pattern in &PATTERNS {
            for to in draws(pattern) {
                assert!((0..).zip(&to).all(|(src, dst)| src != *dst), "{}", pattern.name);
                let mut sorted = to.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..HOSTS).collect::<Vec<_>>(), "{}", pattern.name);
            }
        }
    }

    #[test]
    fn staggered_keeps_near_what_it_should() {
        assert!(draws(named("Staggered (1.0, 0.0)")).all(|to| {
            (0..).zip(to).all(|(src, dst): (u32, u32)| src / SUBNET == dst / SUBNET)
        }));
        let near = |name| {
            let pairs =
                draws(named(name)).flat_map(|to| (0..).zip(to).collect::<Vec<(u32, u32)>>());
            pairs.filter(|(src, dst)| src / SUBNET == dst / SUBNET).count() as f64 / 800.0
        };
        let [half, fifth] = [near("Staggered (0.5, 0.3)"), near("Staggered (0.2, 0.3)")];
        // These are less than the drawn probabilities, because the only neighbour is often already taken.
        assert!((0.25..0.4).contains(&half) && (0.05..0.15).contains(&fifth), "{half} {fifth}");
    }

    #[test]
    fn worst_cases_are_as_described() {
        for to in draws(named("Inter-pod Incoming")) {
            for pod in 0..4 {
                let from: Vec<u32> =
                    (0..).zip(&to).filter(|(_, d)| **d / POD == pod).map(|p| p.0).collect();
                assert!(from.iter().all(|src| src / POD != pod));
                assert!(
                    from.iter().all(|src| src % POD / SUBNET == from[0] % POD / SUBNET),
                    "{to:?}"
                );
            }
        }
        for to in draws(named("Same-ID Outgoing")) {
            for (edge, pair) in (0..).zip(to.chunks(2)) {
                assert_eq!(pair[0] % SUBNET, pair[1] % SUBNET);
                assert!(pair.iter().all(|dst| dst / POD != edge / 2));
            }
        }
    }
}
