//! Rate limiting (§3.3): each pair of hosts may send at any time, at the capacity of its bottleneck link
//! divided by the number of senders through it.
//!
//! A sender is a V2V flow, so that a host's own link is not promised twice either. A pair's rate is that of
//! all its V2V flows. As in the paper, the shares are not max-min fair: if a pair is limited elsewhere, others do
//! not get the rest of its share. With the option for max-min fairness they do.

use super::demand::{Affects, Demand};
use super::max_min::MaxMin;
use crate::spec::{Fairness, Xco};
use slotline_net::id::HostId;
use slotline_net::scheme::network::Network;
use slotline_net::scheme::{Control, Decision, News, Plan};
use slotline_net::time::Time;
use slotline_net::units::Rate;

/// XCo's rate limiter.
pub struct RateLimit {
    demand: Demand,
    /// The rate that each pair was last sent, in bits per second.
    announced: Vec<u64>,
    /// Pairs whose rate may have to be sent.
    stale: Vec<u32>,
    unanswered: Vec<HostId>,
    /// The fair shares, and the version of the demand for which they were computed.
    fair: Option<(MaxMin, u64)>,
}

impl RateLimit {
    /// Makes a rate limiter for `network`.
    pub fn new(options: &Xco, network: Network) -> RateLimit {
        let fair = options.spec().fairness == Fairness::MaxMin;
        RateLimit {
            demand: Demand::new(network.clone(), options.weights(network.hosts()), Affects::All),
            announced: Vec::new(),
            stale: Vec::new(),
            unanswered: Vec::new(),
            fair: fair.then(|| (MaxMin::default(), 0)),
        }
    }

    fn report(&mut self, host: HostId, destinations: &[HostId], flows: &[u32], now: Time) {
        let changes = self.demand.compare(host, destinations, flows);
        changes.gone.into_iter().for_each(|id| self.remove(id));
        changes.new.into_iter().for_each(|(dst, flows)| self.demand.add(host, dst, flows, 0, now));
    }
    fn remove(&mut self, id: u32) {
        self.forget(id);
        self.demand.remove(id);
    }
    /// Makes sure that a pair's rate is sent.
    fn forget(&mut self, id: u32) {
        if let Some(announced) = self.announced.get_mut(id as usize) {
            *announced = 0;
        }
    }
    fn rate(&self, id: u32) -> u64 {
        if self.fair.is_some() {
            return self.demand.pair(id).share;
        }
        let flows = u64::from(self.demand.pair(id).flows);
        let links = self.demand.path(id).map(|link| &self.demand.links()[link]);
        let shares = links.map(|link| link.capacity / link.flows * flows);
        shares.min().unwrap_or(0).max(1)
    }
    /// Collects the pairs whose rate may have changed and those of hosts that need an answer, by host.
    fn collect(&mut self) {
        while let Some(link) = self.demand.untouch() {
            self.stale.extend(self.demand.links()[link].contenders.iter().map(|c| c.id));
        }
        while let Some(host) = self.demand.untouch_host() {
            self.stale.extend_from_slice(self.demand.backlog(host));
        }
        if let Some((shares, version)) = &mut self.fair
            && *version != self.demand.version()
        {
            *version = self.demand.version();
            shares.share(&mut self.demand);
            self.stale.extend(self.demand.ids());
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
                self.report(host, &[], &[], now);
            }
            News::Backlog { host, destinations, flows } if host.at() < self.demand.hosts() => {
                self.report(host, destinations, flows, now);
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
            self.announced.resize(self.announced.len().max(id as usize + 1), 0);
            if std::mem::replace(&mut self.announced[id as usize], rate) != rate {
                let pair = self.demand.pair(id);
                plan.push(Decision::Rate { src: pair.src, dst: pair.dst, rate: Rate(rate) });
            }
        }
        self.stale = stale;
        None
    }

    fn rewire(&mut self, network: &Network, _now: Time) {
        self.demand.rewire(network);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::XcoSpec;
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
    fn options(fairness: Fairness) -> Xco {
        XcoSpec { fairness, ..XcoSpec::default() }.build().unwrap()
    }
    fn announced(control: &mut RateLimit) -> Vec<(u32, u32, u64)> {
        let mut plan = Plan::new();
        assert_eq!(control.decide(Time::ZERO, &mut plan), None);
        let rate = |decision: &Decision| match *decision {
            Decision::Rate { src, dst, rate } => (src.0, dst.0, rate.0),
            _ => panic!("no rate"),
        };
        plan.iter().map(rate).collect()
    }
    fn report(control: &mut RateLimit, src: u32, dsts: &[u32]) {
        let destinations: Vec<HostId> = dsts.iter().copied().map(HostId).collect();
        control.observe(&News::backlog(HostId(src), &destinations), Time::ZERO);
    }

    #[test]
    fn the_bottleneck_is_shared_evenly() {
        let mut control = RateLimit::new(&options(Fairness::RoundRobin), network());
        (0..5).for_each(|src| report(&mut control, src, &[5]));
        assert_eq!(
            announced(&mut control),
            (0..5).map(|src| (src, 5, 200_000_000)).collect::<Vec<_>>()
        );
        let mut control = RateLimit::new(&options(Fairness::RoundRobin), network());
        (0..13).for_each(|src| report(&mut control, src, &[13 + src]));
        let share = 10_000_000_000 / 13;
        let expected: Vec<_> = (0..13).map(|src| (src, 13 + src, share)).collect();
        assert_eq!(announced(&mut control), expected);
    }

    #[test]
    fn rates_follow_weights() {
        for fairness in [Fairness::RoundRobin, Fairness::MaxMin] {
            let options = options(fairness).with_weights(vec![(HostId(1), 3)]);
            let mut control = RateLimit::new(&options, network());
            (0..2).for_each(|src| report(&mut control, src, &[5]));
            assert_eq!(announced(&mut control), [(0, 5, 250_000_000), (1, 5, 750_000_000)]);
        }
    }

    #[test]
    fn only_changes_and_answers_are_sent() {
        let mut control = RateLimit::new(&options(Fairness::RoundRobin), network());
        (0..2).for_each(|src| report(&mut control, src, &[5]));
        announced(&mut control);
        report(&mut control, 3, &[6]);
        assert_eq!(announced(&mut control), [(3, 6, 1_000_000_000)]);
        report(&mut control, 0, &[5]);
        assert_eq!(announced(&mut control), [(0, 5, 500_000_000)], "an answer");
        control.observe(&News::Released { host: HostId(0), dst: HostId(5) }, Time::ZERO);
        assert_eq!(announced(&mut control), [(1, 5, 1_000_000_000)]);
        control.observe(&News::Left(HostId(1)), Time::ZERO);
        assert!(announced(&mut control).is_empty());
    }

    /// Host 0 has two V2V flows to host 5, and host 1 has one. With max-min fairness, five other hosts limit
    /// host 1 at another link, and host 0 gets the rest of its share.
    #[test]
    fn virtual_machines_count_and_leftovers_are_given_away() {
        for (fairness, rates) in [
            (Fairness::RoundRobin, [666_666_666, 333_333_333]),
            (Fairness::MaxMin, [833_333_334, 166_666_666]),
        ] {
            let links = vec![Rate(1_000_000_000); 12];
            let network = Network::new(10, links, |src, dst, out| {
                out.push(src.0);
                out.extend((dst.0 == 9 || src.0 == 1).then_some(10));
                out.extend((dst.0 == 5).then_some(11));
            });
            let mut control = RateLimit::new(&options(fairness), network);
            let news = News::Backlog { host: HostId(0), destinations: &[HostId(5)], flows: &[2] };
            control.observe(&news, Time::ZERO);
            report(&mut control, 1, &[5]);
            let alone = fairness == Fairness::RoundRobin;
            (2..7).filter(|_| !alone).for_each(|src| report(&mut control, src, &[9]));
            let announced = announced(&mut control);
            assert_eq!([announced[0].2, announced[1].2], rates, "{announced:?}");
        }
    }

    proptest! {
        /// The latest rates never add up to more than the capacity of any link.
        #[test]
        fn no_link_is_promised_twice(
            reports in prop::collection::vec((0u32..30, prop::collection::btree_set(0u32..30, 0..4)), 1..40),
            fair: bool,
        ) {
            let fairness = if fair { Fairness::MaxMin } else { Fairness::RoundRobin };
            let mut control = RateLimit::new(&options(fairness), network());
            let mut rates = std::collections::BTreeMap::new();
            for (src, mut dsts) in reports {
                dsts.remove(&src);
                report(&mut control, src, &dsts.iter().copied().collect::<Vec<_>>());
                rates.retain(|(from, to), _| *from != src || dsts.contains(to));
                rates.extend(announced(&mut control).into_iter().map(|(src, dst, rate)| ((src, dst), rate)));
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
