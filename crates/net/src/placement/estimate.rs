//! Natural demands of flows: what each would get were hosts' network cards the only limit.

use crate::id::HostId;
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
    /// A bit for each card that is settled: the second card of a flow looks at this alone.
    settled: Vec<u64>,
    /// By card, how many were settled before it.
    ranks: Vec<u32>,
    /// What flows got at cards, in the order in which these were settled.
    shares: Vec<f64>,
    demands: Vec<f64>,
    queue: Queue,
}

impl Estimator {
    /// The demand of each of `flows`, in the unit of `send` and `receive`: what each host's card can
    /// send and receive. Hosts are below the length of these.
    pub fn demands(&mut self, send: &[f64], receive: &[f64], flows: &[(HostId, HostId)]) -> &[f64] {
        self.list(send, receive, flows);
        let most = send.iter().chain(receive).copied().fold(0.0, f64::max);
        self.queue.reset(self.cards.len(), most);
        for (at, card) in (0..).zip(&self.cards).filter(|(_, card)| card.waiting > 0) {
            self.queue.push(at, card.room / f64::from(card.waiting));
        }
        while let Some((share, at)) = self.queue.pop() {
            let Card { room, waiting } = self.cards[at as usize];
            if waiting == 0 {
                continue;
            }
            // What is left for it has grown where others took less than their part.
            let now = room.max(0.0) / f64::from(waiting);
            if now > share {
                self.queue.push(at, now);
            } else {
                self.settle(at as usize, now);
            }
        }
        let (from, to) = self.ranks.split_at(send.len());
        let demand =
            |&(src, dst): &(HostId, HostId)| self.shares[from[src.at()].min(to[dst.at()]) as usize];
        self.demands.clear();
        self.demands.extend(flows.iter().map(demand));
        &self.demands
    }

    /// Groups flows by card.
    fn list(&mut self, send: &[f64], receive: &[f64], flows: &[(HostId, HostId)]) {
        let cards = send.len() + receive.len();
        self.ends.clear();
        self.ends.resize(cards, 0);
        let (from, to) = self.ends.split_at_mut(send.len());
        for (src, dst) in flows {
            from[src.at()] += 1;
            to[dst.at()] += 1;
        }
        let card = |(&room, &waiting): (&f64, &u32)| Card { room, waiting };
        self.cards.clear();
        self.cards.extend(send.iter().chain(receive).zip(&self.ends).map(card));
        // First where each part begins; as it is filled, this comes to be its end.
        self.ends.iter_mut().fold(0, |first, end| first + std::mem::replace(end, first));
        self.others.clear();
        self.others.resize(2 * flows.len(), 0);
        let (from, to) = self.ends.split_at_mut(send.len());
        for (src, dst) in flows {
            let ends = [&mut from[src.at()], &mut to[dst.at()]];
            for (end, other) in ends.into_iter().zip([send.len() as u32 + dst.0, src.0]) {
                self.others[*end as usize] = other;
                *end += 1;
            }
        }
        self.settled.clear();
        self.settled.resize(cards.div_ceil(64), 0);
        self.ranks.clear();
        self.ranks.resize(cards, NONE);
        self.shares.clear();
    }

    /// The flows that wait at a card get `share` each.
    fn settle(&mut self, at: usize, share: f64) {
        self.ranks[at] = self.shares.len() as u32;
        self.shares.push(share);
        let first = at.checked_sub(1).map_or(0, |before| self.ends[before]) as usize;
        for &other in &self.others[first..self.ends[at] as usize] {
            let other = other as usize;
            if self.settled[other / 64] & 1 << (other % 64) == 0 {
                let card = &mut self.cards[other];
                card.room -= share;
                card.waiting -= 1;
            }
        }
        self.settled[at / 64] |= 1 << (at % 64);
    }
}

const NONE: u32 = u32::MAX;

/// Cards in order of their shares, which never fall below that of the last one taken: buckets of equal
/// width, and in order what is in the present one.
#[derive(Default)]
struct Queue {
    /// First card of each bucket.
    head: Vec<u32>,
    /// By card: its share, and the next card of its bucket.
    next: Vec<(f64, u32)>,
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
        self.head.clear();
        self.head.resize(cards + 1, NONE);
        self.next.clear();
        self.next.resize(cards, (0.0, NONE));
        self.scale = if most > 0.0 { cards as f64 / most } else { 0.0 };
        self.present = 0;
        self.now.clear();
        self.since.clear();
    }
    /// Shares are not negative: their bits are in the order of their values.
    fn push(&mut self, card: u32, share: f64) {
        let bucket = ((share * self.scale) as usize).clamp(self.present, self.head.len() - 1);
        if bucket == self.present {
            return self.since.push(Reverse((share.to_bits(), card)));
        }
        self.next[card as usize] = (share, self.head[bucket]);
        self.head[bucket] = card;
    }
    fn pop(&mut self) -> Option<(f64, u32)> {
        loop {
            let since = self.since.peek().map(|Reverse(first)| *first);
            let first = match (self.now.last().copied(), since) {
                (Some(now), since) if since.is_none_or(|since| now < since) => self.now.pop(),
                _ => self.since.pop().map(|Reverse(first)| first),
            };
            if let Some((share, card)) = first {
                return Some((f64::from_bits(share), card));
            }
            let later = self.head.get(self.present + 1..)?;
            self.present += 1 + later.iter().position(|&card| card != NONE)?;
            let mut card = std::mem::replace(&mut self.head[self.present], NONE);
            while card != NONE {
                let (share, next) = self.next[card as usize];
                self.now.push((share.to_bits(), card));
                card = next;
            }
            self.now.sort_unstable_by_key(|&first| Reverse(first));
        }
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
