//! Max-min fair shares by progressive filling over V2V flows, for any network.
//!
//! All V2V flows of a pair of hosts take the same path. A pair counts for as many flows as it has, and its
//! share is the sum of their shares. Shares are whole bits per second, so no link is promised more than it
//! carries.

use super::demand::Demand;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Working memory of [`MaxMin::share`].
#[derive(Default)]
pub(super) struct MaxMin {
    /// By link, the rate that is left and the flows that wait for a share.
    room: Vec<(u64, u64)>,
    /// Links by the rate that they could give each waiting flow. That rate may have grown since.
    fullest: BinaryHeap<Reverse<(u64, u32)>>,
    assigned: Vec<bool>,
}

impl MaxMin {
    /// Gives each pair its share. The flows of the link that can give least get that rate, which leaves the
    /// rest to others, and so on. A share is at least one bit per second.
    pub fn share(&mut self, demand: &mut Demand) {
        self.room.clear();
        self.room.extend(demand.links().iter().map(|link| (link.capacity, link.flows)));
        self.assigned.clear();
        self.assigned.resize(demand.slots(), false);
        self.fullest.clear();
        let busy = (0..).zip(&self.room).filter(|(_, (_, flows))| *flows > 0);
        self.fullest.extend(busy.map(|(link, (room, flows))| Reverse((room / flows, link))));
        while let Some(Reverse((least, link))) = self.fullest.pop() {
            let (room, flows) = self.room[link as usize];
            match room.checked_div(flows) {
                None => {}
                Some(now) if now > least => self.fullest.push(Reverse((now, link))),
                Some(_) => self.assign(link as usize, least, demand),
            }
        }
    }
    /// Gives all flows that wait at `link` the rate `each`.
    fn assign(&mut self, link: usize, each: u64, demand: &mut Demand) {
        for at in 0..demand.links()[link].contenders.len() {
            let id = demand.links()[link].contenders[at].id;
            if std::mem::replace(&mut self.assigned[id as usize], true) {
                continue;
            }
            let flows = u64::from(demand.pair(id).flows);
            for link in demand.path(id) {
                let (room, waiting) = &mut self.room[link];
                *room -= each * flows;
                *waiting -= flows;
            }
            demand.set_share(id, (each * flows).max(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::demand::Affects;
    use proptest::prelude::*;
    use slotline_net::id::HostId;
    use slotline_net::rng::mix64;
    use slotline_net::scheme::network::Network;
    use slotline_net::time::Time;
    use slotline_net::units::Rate;

    const LINKS: u32 = 9;

    fn path(seed: u64, src: u32, dst: u32) -> Vec<u32> {
        let hash = mix64(seed ^ mix64(u64::from(src * 64 + dst)));
        let links = (0..LINKS).filter(|link| hash >> (3 * link) & 7 < 3);
        let own = (hash >> 40) as u32 % LINKS;
        let mut links: Vec<u32> = links.chain([own]).collect();
        links.sort_unstable();
        links.dedup();
        links
    }

    /// Naive water-filling: all rates rise together until a link is full.
    fn naive(capacity: &[f64], pairs: &[(Vec<u32>, f64)]) -> Vec<f64> {
        let mut rates = vec![0.0; pairs.len()];
        let mut rising = vec![true; pairs.len()];
        while rising.contains(&true) {
            let of = |link: u32, rising: &[bool]| -> (f64, f64) {
                let mine = (0..pairs.len()).filter(|&p| pairs[p].0.contains(&link));
                mine.fold((0.0, 0.0), |(used, weight), p| {
                    (used + rates[p], weight + if rising[p] { pairs[p].1 } else { 0.0 })
                })
            };
            let rise = |link: u32| {
                let (used, weight) = of(link, &rising);
                (weight > 0.0).then(|| (capacity[link as usize] - used) / weight)
            };
            let rises: Vec<Option<f64>> = (0..LINKS).map(rise).collect();
            let least = rises.iter().flatten().copied().fold(f64::INFINITY, f64::min);
            (0..pairs.len()).filter(|&p| rising[p]).for_each(|p| rates[p] += least * pairs[p].1);
            for (p, (path, _)) in pairs.iter().enumerate() {
                let full =
                    |link: &u32| rises[*link as usize].is_some_and(|r| r <= least * (1.0 + 1e-12));
                rising[p] &= !path.iter().any(full);
            }
        }
        rates
    }

    proptest! {
        /// On random networks with paths over several bottlenecks and pairs of several flows.
        #[test]
        fn shares_are_those_of_water_filling(
            seed: u64,
            capacity in prop::collection::vec(1_000u64..100_000, LINKS as usize),
            pairs in prop::collection::btree_map((0u32..12, 0u32..12), 1u32..5, 1..40),
        ) {
            const UNIT: u64 = 1_000_000;
            let rates = capacity.iter().map(|c| Rate(c * UNIT)).collect();
            let network = Network::new(12, rates, move |src, dst, out| out.extend(path(seed, src.0, dst.0)));
            let mut demand = Demand::new(network, Vec::new(), Affects::All);
            for (&(src, dst), &flows) in &pairs {
                demand.add(HostId(src), HostId(dst), flows, 0, Time::ZERO);
            }
            MaxMin::default().share(&mut demand);
            let paths: Vec<_> = pairs.iter().map(|(&(s, d), &w)| (path(seed, s, d), f64::from(w))).collect();
            let capacity: Vec<f64> = capacity.iter().map(|c| (c * UNIT) as f64).collect();
            let mut load = vec![0.0; LINKS as usize];
            for ((&(src, dst), expected), (path, _)) in
                pairs.keys().zip(naive(&capacity, &paths)).zip(&paths)
            {
                let id = demand.find(HostId(src), HostId(dst)).unwrap();
                let share = demand.pair(id).share as f64;
                // Shares are rounded to bits per second, for each flow and at each bottleneck.
                prop_assert!((share - expected).abs() <= 1_000.0, "{share} for {expected}");
                path.iter().for_each(|&link| load[link as usize] += share);
            }
            prop_assert!(load.iter().zip(&capacity).all(|(load, capacity)| load <= capacity));
        }
    }
}
