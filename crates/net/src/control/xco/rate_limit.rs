//! Rate limiting (§3.3): each pair of hosts may send at any time, at the capacity of its bottleneck
//! link divided by the number of senders through it.
//!
//! A sender is a pair, so that a host's own link is not promised twice either. As in the paper the
//! shares are not max-min fair: what a pair limited elsewhere leaves over is not given to others.

use super::demand::Demand;
use crate::control::network::Network;
use crate::control::{Control, Decision, News, Plan};
use crate::id::HostId;
use crate::time::Time;
use crate::units::Rate;

/// XCo's rate limiter.
pub struct RateLimit {
    demand: Demand,
    /// What each pair was last told, in bits per second.
    told: Vec<u64>,
    /// Pairs whose rate may have to be told.
    stale: Vec<u32>,
    unanswered: Vec<HostId>,
}

impl RateLimit {
    /// A rate limiter for `network`.
    pub fn new(network: Network) -> RateLimit {
        RateLimit {
            demand: Demand::new(network),
            told: Vec::new(),
            stale: Vec::new(),
            unanswered: Vec::new(),
        }
    }

    fn report(&mut self, host: HostId, destinations: &[HostId], now: Time) {
        let (gone, new) = self.demand.compare(host, destinations);
        gone.into_iter().for_each(|id| self.remove(id));
        new.into_iter().for_each(|dst| self.demand.add(host, dst, now));
    }
    fn remove(&mut self, id: u32) {
        self.forget(id);
        self.demand.remove(id);
    }
    /// Makes sure that a pair's rate is told.
    fn forget(&mut self, id: u32) {
        if let Some(told) = self.told.get_mut(id as usize) {
            *told = 0;
        }
    }
    fn rate(&self, id: u32) -> u64 {
        let links = self.demand.path(id).map(|link| &self.demand.links()[link]);
        let shares = links.map(|link| link.capacity / link.contenders.len() as u64);
        shares.min().unwrap_or(0).max(1)
    }
    /// Collects the pairs on touched links and those of hosts that want an answer, by host.
    fn collect(&mut self) {
        while let Some(link) = self.demand.untouch() {
            self.stale.extend_from_slice(&self.demand.links()[link].contenders);
        }
        for host in std::mem::take(&mut self.unanswered) {
            for at in 0..self.demand.backlog(host).len() {
                let id = self.demand.backlog(host)[at];
                self.forget(id);
                self.stale.push(id);
            }
        }
        let demand = &self.demand;
        self.stale.sort_unstable_by_key(|&id| (demand.pair(id).src, demand.pair(id).dst));
        self.stale.dedup();
    }
}

impl Control for RateLimit {
    fn observe(&mut self, news: &News<'_>, now: Time) {
        match *news {
            News::Joined(host) | News::Left(host) if host.at() < self.demand.hosts() => {
                self.report(host, &[], now);
            }
            News::Backlog { host, destinations } if host.at() < self.demand.hosts() => {
                self.report(host, destinations, now);
                self.unanswered.push(host);
            }
            News::Released { host, dst } => {
                self.demand.find(host, dst).into_iter().for_each(|id| self.remove(id));
            }
            _ => {}
        }
    }

    fn decide(&mut self, _now: Time, plan: &mut Plan) -> Option<Time> {
        self.collect();
        let mut stale = std::mem::take(&mut self.stale);
        for id in stale.drain(..) {
            let rate = self.rate(id);
            self.told.resize(self.told.len().max(id as usize + 1), 0);
            if std::mem::replace(&mut self.told[id as usize], rate) != rate {
                let pair = self.demand.pair(id);
                plan.push(Decision::Rate { src: pair.src, dst: pair.dst, rate: Rate(rate) });
            }
        }
        self.stale = stale;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Hosts at one switch, except that links to hosts from 13 on share one of 10 Gbit/s.
    fn network() -> Network {
        let mut capacity = vec![Rate(1_000_000_000); 60];
        capacity.push(Rate(10_000_000_000));
        Network::new(30, capacity, |src, dst, out| {
            out.push(src.0);
            out.extend((dst.0 >= 13).then_some(60));
            out.push(30 + dst.0);
        })
    }
    fn told(control: &mut RateLimit) -> Vec<(u32, u32, u64)> {
        let mut plan = Plan::new();
        assert_eq!(control.decide(Time::ZERO, &mut plan), None);
        let rate = |decision: &Decision| match *decision {
            Decision::Rate { src, dst, rate } => (src.0, dst.0, rate.0),
            Decision::Window { .. } => panic!("a window"),
        };
        plan.iter().map(rate).collect()
    }
    fn report(control: &mut RateLimit, src: u32, dsts: &[u32]) {
        let destinations: Vec<HostId> = dsts.iter().copied().map(HostId).collect();
        control
            .observe(&News::Backlog { host: HostId(src), destinations: &destinations }, Time::ZERO);
    }

    #[test]
    fn the_bottleneck_is_shared_evenly() {
        let mut control = RateLimit::new(network());
        (0..5).for_each(|src| report(&mut control, src, &[5]));
        assert_eq!(told(&mut control), (0..5).map(|src| (src, 5, 200_000_000)).collect::<Vec<_>>());
        let mut control = RateLimit::new(network());
        (0..13).for_each(|src| report(&mut control, src, &[13 + src]));
        let share = 10_000_000_000 / 13;
        let expected: Vec<_> = (0..13).map(|src| (src, 13 + src, share)).collect();
        assert_eq!(told(&mut control), expected);
    }

    #[test]
    fn only_changes_and_answers_are_told() {
        let mut control = RateLimit::new(network());
        (0..2).for_each(|src| report(&mut control, src, &[5]));
        told(&mut control);
        report(&mut control, 3, &[6]);
        assert_eq!(told(&mut control), [(3, 6, 1_000_000_000)]);
        report(&mut control, 0, &[5]);
        assert_eq!(told(&mut control), [(0, 5, 500_000_000)], "an answer");
        control.observe(&News::Released { host: HostId(0), dst: HostId(5) }, Time::ZERO);
        assert_eq!(told(&mut control), [(1, 5, 1_000_000_000)]);
        control.observe(&News::Left(HostId(1)), Time::ZERO);
        assert!(told(&mut control).is_empty());
    }

    proptest! {
        /// What was told last never adds up to more than any link carries.
        #[test]
        fn no_link_is_promised_twice(
            reports in prop::collection::vec((0u32..30, prop::collection::btree_set(0u32..30, 0..4)), 1..40)
        ) {
            let mut control = RateLimit::new(network());
            let mut rates = std::collections::BTreeMap::new();
            for (src, mut dsts) in reports {
                dsts.remove(&src);
                report(&mut control, src, &dsts.iter().copied().collect::<Vec<_>>());
                rates.retain(|(from, to), _| *from != src || dsts.contains(to));
                rates.extend(told(&mut control).into_iter().map(|(src, dst, rate)| ((src, dst), rate)));
                let mut load = [0; 61];
                for (&(src, dst), rate) in &rates {
                    let mut path = Vec::new();
                    network().path(HostId(src), HostId(dst), &mut path);
                    path.iter().for_each(|&link| load[link as usize] += rate);
                }
                for (link, load) in load.into_iter().enumerate() {
                    prop_assert!(load <= control.demand.links()[link].capacity, "link {}", link);
                }
            }
        }
    }
}
