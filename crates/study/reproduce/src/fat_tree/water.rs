//! Rates of flows that share links of capacity 1, by two definitions.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The largest number of links of a flow.
pub(super) const HOPS: usize = 6;
/// The value for a link that a flow does not have.
pub(super) const NO_LINK: u32 = u32::MAX;

/// The links of each flow.
pub(super) type Paths = [[u32; HOPS]];

fn links(path: &[u32; HOPS]) -> impl Iterator<Item = usize> + '_ {
    path.iter().take_while(|link| **link != NO_LINK).map(|&link| link as usize)
}

fn counts(paths: &Paths, count: usize) -> Vec<u32> {
    let mut flows = vec![0; count];
    paths.iter().flat_map(links).for_each(|link| flows[link] += 1);
    flows
}

/// The sum of rates if each flow gets the smallest of the equal shares of its links. The unused rest of its other
/// shares is lost.
pub(super) fn fair_shares(paths: &Paths, count: usize) -> f64 {
    let flows = counts(paths, count);
    let most = |path| links(path).map(|link| flows[link]).max().unwrap_or(1);
    paths.iter().map(|path| 1.0 / f64::from(most(path))).sum()
}

/// The sum of rates under max-min fairness: the link with the smallest share per flow is filled, its flows are removed,
/// and so on.
pub(super) fn max_min(paths: &Paths, count: usize) -> f64 {
    let (first, flows) = by_link(paths, count);
    let mut left = counts(paths, count);
    let mut room = vec![1.0; count];
    let mut done = vec![false; paths.len()];
    let share = |room: f64, left: u32| (room / f64::from(left)).max(0.0);
    // Shares of links never decrease, so values on the heap are lower bounds.
    let all = (0..count).filter(|link| left[*link] > 0);
    let mut heap: BinaryHeap<Reverse<(u64, usize)>> =
        all.map(|link| Reverse((share(room[link], left[link]).to_bits(), link))).collect();
    let mut sum = 0.0;
    while let Some(Reverse((bound, link))) = heap.pop() {
        if left[link] == 0 {
            continue;
        }
        let rate = share(room[link], left[link]);
        if rate > f64::from_bits(bound) {
            heap.push(Reverse((rate.to_bits(), link)));
            continue;
        }
        for &flow in &flows[first[link]..first[link + 1]] {
            if std::mem::replace(&mut done[flow as usize], true) {
                continue;
            }
            sum += rate;
            for other in links(&paths[flow as usize]) {
                left[other] -= 1;
                room[other] -= rate;
            }
        }
    }
    sum
}

/// The flows by link: the index at which each link's flows begin, and all flows.
fn by_link(paths: &Paths, count: usize) -> (Vec<usize>, Vec<u32>) {
    let mut first = vec![0; count + 1];
    for (link, flows) in counts(paths, count).into_iter().enumerate() {
        first[link + 1] = first[link] + flows as usize;
    }
    let mut next = first.clone();
    let mut flows = vec![0; first[count]];
    for (flow, path) in (0..).zip(paths) {
        for link in links(path) {
            flows[next[link]] = flow;
            next[link] += 1;
        }
    }
    (first, flows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(links: &[u32]) -> [u32; HOPS] {
        std::array::from_fn(|at| links.get(at).copied().unwrap_or(NO_LINK))
    }

    #[test]
    fn the_two_definitions_differ() {
        // One flow shares link 0 with two others, one of which shares link 1 with it.
        let paths = [path(&[0]), path(&[0]), path(&[0, 1]), path(&[1])];
        assert!((fair_shares(&paths, 2) - (1.0 + 0.5)).abs() < 1e-12);
        assert!((max_min(&paths, 2) - (1.0 + 2.0 / 3.0)).abs() < 1e-12);
    }

    /// Water-filling in rounds: all flows grow at the same rate until a link is full, and the flows on that link stop.
    fn slowly(paths: &Paths, count: usize) -> f64 {
        let (mut rate, mut open) = (vec![0.0; paths.len()], vec![true; paths.len()]);
        while open.iter().any(|open| *open) {
            let step = (0..count)
                .filter_map(|link| {
                    let mine = |flow: &usize| links(&paths[*flow]).any(|l| l == link);
                    let used: f64 = (0..paths.len()).filter(mine).map(|flow| rate[flow]).sum();
                    let growing = (0..paths.len()).filter(mine).filter(|flow| open[*flow]).count();
                    (growing > 0).then(|| (link, (1.0 - used) / growing as f64))
                })
                .min_by(|a, b| a.1.total_cmp(&b.1));
            let Some((full, step)) = step else { break };
            (0..paths.len()).filter(|flow| open[*flow]).for_each(|flow| rate[flow] += step);
            (0..paths.len())
                .filter(|flow| links(&paths[*flow]).any(|l| l == full))
                .for_each(|flow| open[flow] = false);
        }
        rate.iter().sum()
    }

    proptest! {
        #[test]
        fn filling_is_exact(
            paths in proptest::collection::vec(
                proptest::collection::btree_set(0..8u32, 1..5), 1..30,
            ),
        ) {
            let paths: Vec<[u32; HOPS]> =
                paths.iter().map(|set| path(&set.iter().copied().collect::<Vec<_>>())).collect();
            prop_assert!((max_min(&paths, 8) - slowly(&paths, 8)).abs() < 1e-9);
            prop_assert!(fair_shares(&paths, 8) <= max_min(&paths, 8) + 1e-9);
        }
    }
}
