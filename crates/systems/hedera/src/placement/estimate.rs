//! Natural demands of flows: what each would get were hosts' network cards the only limit.

use super::Flow;
use slotline_net::id::HostId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A network card, one direction of it.
#[derive(Clone, Copy, Default)]
struct Card {
    /// What it has not given to a flow yet.
    room: f64,
    /// Flows that wait for their share of it.
    waiting: u32,
}

impl Card {
    /// What it has for each of the flows that wait, if any do.
    #[inline]
    fn share(&self) -> Option<f64> {
        (self.waiting > 0).then(|| self.room.max(0.0) / f64::from(self.waiting))
    }
}

/// What flows got at a card, and how many cards were settled before it.
#[derive(Clone, Copy, Default)]
struct Settled {
    share: f64,
    rank: u32,
}

/// Estimates demands; keeps its memory from one call to the next.
///
/// The result is that of the thesis' ESTIMATE-DEMANDS (Fig 4.4), which is max-min fairness with
/// network cards as the only resources. It is found in one pass: cards are settled in the order of the
/// share that they can give, each flow when the first of its two cards is.
#[derive(Default)]
pub struct Estimator {
    /// Sending cards by host, then receiving ones.
    cards: Vec<Card>,
    /// By card, the end of its part of `others`, which begins where that of the card before ends.
    ends: Vec<u32>,
    /// For each flow of each card, the card at the flow's other end.
    others: Vec<u32>,
    /// By card.
    settled: Vec<Settled>,
    demands: Vec<f64>,
    queue: Queue,
}

impl Estimator {
    /// The demand of each of `flows`, in the unit of `send` and `receive`: what each host's card can
    /// send and receive. Hosts are below the length of these.
    pub fn demands(&mut self, send: &[f64], receive: &[f64], flows: &[(HostId, HostId)]) -> &[f64] {
        self.settle_all(send, receive, flows.iter().copied());
        let (from, to) = self.settled.split_at(send.len());
        self.demands.clear();
        self.demands.extend(flows.iter().map(|(src, dst)| first(from[src.at()], to[dst.at()])));
        &self.demands
    }
    /// Writes its demand into each of `flows`.
    pub fn assign(&mut self, send: &[f64], receive: &[f64], flows: &mut [Flow]) {
        self.settle_all(send, receive, flows.iter().map(|flow| (flow.src, flow.dst)));
        let (from, to) = self.settled.split_at(send.len());
        for flow in flows {
            flow.demand = first(from[flow.src.at()], to[flow.dst.at()]);
        }
    }

    /// Finds the share of each card that has one of `flows`.
    fn settle_all(
        &mut self,
        send: &[f64],
        receive: &[f64],
        flows: impl Iterator<Item = (HostId, HostId)> + Clone,
    ) {
        self.list(send, receive, flows);
        let most = send.iter().chain(receive).copied().fold(0.0, f64::max);
        self.queue.reset(self.cards.len(), most);
        for (at, card) in (0..).zip(&self.cards) {
            if let Some(share) = card.share() {
                self.queue.push(at, share);
            }
        }
        let mut rank = 0;
        while let Some((share, at)) = self.queue.pop(&self.cards) {
            // What is left for it has grown where others took less than their part.
            match self.cards[at as usize].share() {
                None => {}
                Some(now) if now > share => self.queue.push(at, now),
                Some(now) => {
                    self.settle(at as usize, Settled { share: now, rank });
                    rank += 1;
                }
            }
        }
    }

    /// Groups flows by card.
    fn list(
        &mut self,
        send: &[f64],
        receive: &[f64],
        flows: impl Iterator<Item = (HostId, HostId)> + Clone,
    ) {
        let cards = send.len() + receive.len();
        self.ends.clear();
        self.ends.resize(cards, 0);
        let (from, to) = self.ends.split_at_mut(send.len());
        for (src, dst) in flows.clone() {
            from[src.at()] += 1;
            to[dst.at()] += 1;
        }
        let card = |(&room, &waiting): (&f64, &u32)| Card { room, waiting };
        self.cards.clear();
        self.cards.extend(send.iter().chain(receive).zip(&self.ends).map(card));
        // First where each part begins; as it is filled, this comes to be its end.
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
        self.settled.clear();
        self.settled.resize(cards, Settled { share: 0.0, rank: NONE });
    }

    /// The flows that wait at a card get their share. Cards that are settled already are changed too:
    /// nobody looks at them again, and to ask would take longer.
    fn settle(&mut self, at: usize, settled: Settled) {
        self.settled[at] = settled;
        let first = at.checked_sub(1).map_or(0, |before| self.ends[before]) as usize;
        for &other in &self.others[first..self.ends[at] as usize] {
            let card = &mut self.cards[other as usize];
            card.room -= settled.share;
            card.waiting = card.waiting.wrapping_sub(1);
        }
    }
}

/// What a flow gets: at the first of its cards to be settled.
#[inline]
fn first(a: Settled, b: Settled) -> f64 {
    if a.rank < b.rank { a.share } else { b.share }
}

const NONE: u32 = u32::MAX;

/// Cards for each bucket, if all shares were equally frequent.
const BUCKET: usize = 8;

/// Cards in order of their shares, which never fall below that of the last one taken: buckets of equal
/// width, and in order what is in the present one.
#[derive(Default)]
struct Queue {
    /// The cards of each bucket.
    buckets: Vec<Vec<u32>>,
    /// Buckets for each unit of a share.
    scale: f64,
    present: usize,
    /// What the present bucket had at first, the last to come first.
    now: Vec<(u64, u32)>,
    /// What has come into it since.
    since: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Queue {
    fn reset(&mut self, cards: usize, most: f64) {
        let buckets = cards / BUCKET + 1;
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
    /// Shares are not negative: their bits are in the order of their values.
    fn push(&mut self, card: u32, share: f64) {
        let bucket = self.bucket(share);
        if bucket == self.present {
            self.since.push(Reverse((share.to_bits(), card)));
        } else {
            self.buckets[bucket].push(card);
        }
    }
    /// The card with the least share, and this share as it was when its bucket's turn came.
    fn pop(&mut self, cards: &[Card]) -> Option<(f64, u32)> {
        loop {
            let since = self.since.peek().map(|Reverse(first)| *first);
            let first = match (self.now.last().copied(), since) {
                (Some(now), since) if since.is_none_or(|since| now < since) => self.now.pop(),
                _ => self.since.pop().map(|Reverse(first)| first),
            };
            if let Some((share, card)) = first {
                return Some((f64::from_bits(share), card));
            }
            self.open(cards)?;
        }
    }
    /// The turn of the next bucket that has cards. Those whose shares have grown too much are put off.
    fn open(&mut self, cards: &[Card]) -> Option<()> {
        let later = self.buckets.get(self.present + 1..)?;
        self.present += 1 + later.iter().position(|bucket| !bucket.is_empty())?;
        let mut bucket = std::mem::take(&mut self.buckets[self.present]);
        for card in bucket.drain(..) {
            let Some(share) = cards[card as usize].share() else { continue };
            match self.bucket(share) {
                now if now == self.present => self.now.push((share.to_bits(), card)),
                later => self.buckets[later].push(card),
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

    /// Water-filling in the most naive way: all rise together until a card is full.
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

        /// The pseudo-code as it is printed comes to the same.
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
    fn nothing_to_do_is_done() {
        let mut estimator = Estimator::default();
        assert!(estimator.demands(&[], &[], &[]).is_empty());
        let to_itself = [(HostId(0), HostId(0))];
        assert_eq!(estimator.demands(&[0.0], &[1.0], &to_itself), [0.0]);
    }
}
