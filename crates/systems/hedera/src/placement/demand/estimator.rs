//! Natural demands of flows: the rates that they would have if the NICs of hosts were the only limit.

use crate::placement::Flow;
use slotline_net::id::HostId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One direction of a NIC.
#[derive(Clone, Copy, Default)]
struct Nic {
    /// The rate that is not given to a flow yet.
    remaining: f64,
    /// Flows that wait for their share of it.
    waiting: u32,
}

impl Nic {
    /// The equal share of the flows that wait, if any do.
    #[inline]
    fn share(&self) -> Option<f64> {
        (self.waiting > 0).then(|| self.remaining.max(0.0) / f64::from(self.waiting))
    }
}

/// The share that flows got at a NIC, and how many NICs were fixed before it.
#[derive(Clone, Copy, Default)]
struct FixedShare {
    share: f64,
    rank: u32,
}

/// Estimates demands. It keeps its memory from one call to the next.
///
/// The result is that of the thesis' ESTIMATE-DEMANDS (Fig 4.4), which is max-min fairness with
/// the NICs as the only resources. It is found in one pass: NICs are fixed in the order of their shares, and each
/// flow is fixed with the first of its two NICs.
#[derive(Default)]
pub struct Estimator {
    /// The sending sides of NICs by host, then the receiving sides.
    nics: Vec<Nic>,
    /// By NIC, the end of its part of `others`, which begins where the part of the NIC before ends.
    ends: Vec<u32>,
    /// For each flow of each NIC, the NIC at the other end of the flow.
    others: Vec<u32>,
    /// The shares by NIC.
    fixed: Vec<FixedShare>,
    demands: Vec<f64>,
    queue: Queue,
}

impl Estimator {
    /// The demand of each of `flows`, in the unit of `send` and `receive`, which are the rates of the NIC of each
    /// host. The numbers of hosts are below the length of these.
    pub fn demands(&mut self, send: &[f64], receive: &[f64], flows: &[(HostId, HostId)]) -> &[f64] {
        self.compute_shares(send, receive, flows.iter().copied());
        let (from, to) = self.fixed.split_at(send.len());
        self.demands.clear();
        self.demands.extend(flows.iter().map(|(src, dst)| first(from[src.at()], to[dst.at()])));
        &self.demands
    }
    /// Writes the demands into the flows.
    pub fn assign(&mut self, send: &[f64], receive: &[f64], flows: &mut [Flow]) {
        self.compute_shares(send, receive, flows.iter().map(|flow| (flow.src, flow.dst)));
        let (from, to) = self.fixed.split_at(send.len());
        for flow in flows {
            flow.demand = first(from[flow.src.at()], to[flow.dst.at()]);
        }
    }
    /// Bytes of memory that it holds.
    pub fn memory(&self) -> usize {
        let Queue { buckets, now, since, .. } = &self.queue;
        let lists: usize = buckets.iter().map(bytes).sum();
        let queue =
            lists + bytes(buckets) + bytes(now) + since.capacity() * size_of::<(u64, u32)>();
        let nics = bytes(&self.nics) + bytes(&self.ends) + bytes(&self.others);
        nics + bytes(&self.fixed) + bytes(&self.demands) + queue
    }

    /// Finds the share of each NIC that has a flow.
    fn compute_shares(
        &mut self,
        send: &[f64],
        receive: &[f64],
        flows: impl Iterator<Item = (HostId, HostId)> + Clone,
    ) {
        self.list(send, receive, flows);
        let most = send.iter().chain(receive).copied().fold(0.0, f64::max);
        self.queue.reset(self.nics.len(), most);
        for (at, nic) in (0..).zip(&self.nics) {
            if let Some(share) = nic.share() {
                self.queue.push(at, share);
            }
        }
        let mut rank = 0;
        while let Some((share, at)) = self.queue.pop(&self.nics) {
            // The share has grown where flows got less at their other NICs.
            match self.nics[at as usize].share() {
                None => {}
                Some(now) if now > share => self.queue.push(at, now),
                Some(now) => {
                    self.fix(at as usize, FixedShare { share: now, rank });
                    rank += 1;
                }
            }
        }
    }

    /// Groups flows by NIC.
    fn list(
        &mut self,
        send: &[f64],
        receive: &[f64],
        flows: impl Iterator<Item = (HostId, HostId)> + Clone,
    ) {
        let nics = send.len() + receive.len();
        self.ends.clear();
        self.ends.resize(nics, 0);
        let (from, to) = self.ends.split_at_mut(send.len());
        for (src, dst) in flows.clone() {
            from[src.at()] += 1;
            to[dst.at()] += 1;
        }
        let nic = |(&remaining, &waiting): (&f64, &u32)| Nic { remaining, waiting };
        self.nics.clear();
        self.nics.extend(send.iter().chain(receive).zip(&self.ends).map(nic));
        // At first each entry is where a part begins. As the part is filled, the entry becomes its end.
        let listed =
            self.ends.iter_mut().fold(0, |first, end| first + std::mem::replace(end, first));
        self.others.clear();
        self.others.resize(listed as usize, 0);
        let (from, to) = self.ends.split_at_mut(send.len());
        for (src, dst) in flows {
            let ends = [&mut from[src.at()], &mut to[dst.at()]];
            for (end, other) in ends.into_iter().zip([send.len() as u32 + dst.0, src.0]) {
                self.others[*end as usize] = other;
                *end += 1;
            }
        }
        self.fixed.clear();
        self.fixed.resize(nics, FixedShare { share: 0.0, rank: NONE });
    }

    /// Gives the flows that wait at a NIC their share. This also changes NICs that are fixed already. They are
    /// not used again, and a test would take longer.
    fn fix(&mut self, at: usize, fixed: FixedShare) {
        self.fixed[at] = fixed;
        let first = at.checked_sub(1).map_or(0, |before| self.ends[before]) as usize;
        for &other in &self.others[first..self.ends[at] as usize] {
            let nic = &mut self.nics[other as usize];
            nic.remaining -= fixed.share;
            nic.waiting = nic.waiting.wrapping_sub(1);
        }
    }
}

/// The rate of a flow: its share at the NIC that was fixed first.
#[inline]
fn first(a: FixedShare, b: FixedShare) -> f64 {
    if a.rank < b.rank { a.share } else { b.share }
}

const NONE: u32 = u32::MAX;

/// The mean number of NICs in a bucket, if all shares are equally frequent.
const BUCKET: usize = 8;

/// Bytes that a list has allocated.
fn bytes<T>(list: &Vec<T>) -> usize {
    list.capacity() * size_of::<T>()
}

/// NICs in the order of their shares. No share falls below that of the last NIC taken. The queue has buckets of
/// equal width, of which only the present one is sorted.
#[derive(Default)]
struct Queue {
    /// The NICs of each bucket.
    buckets: Vec<Vec<u32>>,
    /// The number of buckets for one unit of a share.
    scale: f64,
    present: usize,
    /// The NICs that the present bucket had at first, in reverse order.
    now: Vec<(u64, u32)>,
    /// The NICs that have entered the present bucket since.
    since: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Queue {
    fn reset(&mut self, nics: usize, most: f64) {
        let buckets = nics / BUCKET + 1;
        self.buckets.iter_mut().for_each(Vec::clear);
        self.buckets.resize_with(buckets, Vec::new);
        self.scale = if most > 0.0 { buckets as f64 / most } else { 0.0 };
        self.present = 0;
        self.now.clear();
        self.since.clear();
    }
    fn bucket(&self, share: f64) -> usize {
        ((share * self.scale) as usize).clamp(self.present, self.buckets.len() - 1)
    }
    /// Shares are not negative, so their bits have the order of their values.
    fn push(&mut self, nic: u32, share: f64) {
        let bucket = self.bucket(share);
        if bucket == self.present {
            self.since.push(Reverse((share.to_bits(), nic)));
        } else {
            self.buckets[bucket].push(nic);
        }
    }
    /// The NIC with the least share, and its share when its bucket became the present one.
    fn pop(&mut self, nics: &[Nic]) -> Option<(f64, u32)> {
        loop {
            let since = self.since.peek().map(|Reverse(first)| *first);
            let first = match (self.now.last().copied(), since) {
                (Some(now), since) if since.is_none_or(|since| now < since) => self.now.pop(),
                _ => self.since.pop().map(|Reverse(first)| first),
            };
            if let Some((share, nic)) = first {
                return Some((f64::from_bits(share), nic));
            }
            self.open(nics)?;
        }
    }
    /// Makes the next bucket with NICs the present one. NICs whose shares have grown too much move to later buckets.
    fn open(&mut self, nics: &[Nic]) -> Option<()> {
        let later = self.buckets.get(self.present + 1..)?;
        self.present += 1 + later.iter().position(|bucket| !bucket.is_empty())?;
        let mut bucket = std::mem::take(&mut self.buckets[self.present]);
        for nic in bucket.drain(..) {
            let Some(share) = nics[nic as usize].share() else { continue };
            match self.bucket(share) {
                now if now == self.present => self.now.push((share.to_bits(), nic)),
                later => self.buckets[later].push(nic),
            }
        }
        self.buckets[self.present] = bucket;
        self.now.sort_unstable_by_key(|&first| Reverse(first));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::matrix::Matrix;
    use proptest::prelude::*;

    /// Naive water-filling: all demands rise together until a NIC is full.
    fn naive(send: &[f64], receive: &[f64], flows: &[(HostId, HostId)]) -> Vec<f64> {
        let cards: Vec<f64> = send.iter().chain(receive).copied().collect();
        let ends = |at: usize| [flows[at].0.at(), send.len() + flows[at].1.at()];
        let mut rates = vec![0.0; flows.len()];
        let mut rising = vec![true; flows.len()];
        while rising.contains(&true) {
            let rise = |card: usize| {
                let mine = (0..flows.len()).filter(|&f| ends(f).contains(&card));
                let (used, waiting) = mine.fold((0.0, 0), |(used, waiting), f| {
                    (used + rates[f], waiting + u32::from(rising[f]))
                });
                (waiting > 0).then(|| (cards[card] - used) / f64::from(waiting))
            };
            let rises: Vec<Option<f64>> = (0..cards.len()).map(rise).collect();
            let least = rises.iter().flatten().copied().fold(f64::INFINITY, f64::min);
            (0..flows.len()).filter(|&f| rising[f]).for_each(|f| rates[f] += least);
            let full = |card: usize| rises[card].is_some_and(|r| r <= least + 1e-12);
            (0..flows.len()).for_each(|f| rising[f] &= !ends(f).into_iter().any(full));
        }
        rates
    }

    fn flows(hosts: u32) -> impl Strategy<Value = Vec<(HostId, HostId)>> {
        let pair = (0..hosts, 0..hosts).prop_map(|(src, dst)| (HostId(src), HostId(dst)));
        prop::collection::vec(pair, 0..60)
    }

    proptest! {
        #[test]
        fn demands_are_max_min_fair(
            flows in flows(9),
            send in prop::collection::vec(1u32..50, 9),
            receive in prop::collection::vec(1u32..50, 9),
        ) {
            let [send, receive]: [Vec<f64>; 2] =
                [send, receive].map(|cards| cards.into_iter().map(|c| f64::from(c) / 10.0).collect());
            let mut estimator = Estimator::default();
            for _ in 0..2 {
                let demands = estimator.demands(&send, &receive, &flows);
                for (demand, expected) in demands.iter().zip(naive(&send, &receive, &flows)) {
                    prop_assert!((demand - expected).abs() < 1e-9, "{demand} for {expected}");
                }
                let demands = demands.to_vec();
                let mut assigned: Vec<Flow> =
                    flows.iter().map(|&(src, dst)| Flow::new(src.0, dst.0, 9.0)).collect();
                estimator.assign(&send, &receive, &mut assigned);
                prop_assert!(assigned.iter().map(|flow| flow.demand).eq(demands));
            }
        }

        /// The printed pseudo-code has the same result.
        #[test]
        fn demands_are_those_of_the_thesis(flows in flows(8)) {
            let mut matrix = Matrix::new(8, &flows);
            matrix.estimate();
            let mut estimator = Estimator::default();
            let demands = estimator.demands(&[1.0; 8], &[1.0; 8], &flows);
            for (&(src, dst), demand) in flows.iter().zip(demands) {
                let expected = matrix.cell(src, dst).map_or(0.0, |cell| cell.demand);
                prop_assert!((demand - expected).abs() < 1e-6, "{demand} for {expected}");
            }
        }
    }

    #[test]
    fn empty_input_is_handled() {
        let mut estimator = Estimator::default();
        assert!(estimator.demands(&[], &[], &[]).is_empty());
        let to_itself = [(HostId(0), HostId(0))];
        assert_eq!(estimator.demands(&[0.0], &[1.0], &to_itself), [0.0]);
    }
}
