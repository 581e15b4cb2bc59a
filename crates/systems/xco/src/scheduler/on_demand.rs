//! Coordination on demand (§7): only pairs of hosts whose path has a link near saturation need permission.
//!
//! Hosts report what they send. A link that several hosts load with more than a threshold becomes *hot*. It
//! becomes calm again when its load has stayed below a lower threshold for three intervals. Pairs with a hot
//! link on their path are coordinated by the inner scheduler; all other pairs are free.

use crate::spec::OnDemandSpec;
use crate::wire::MAX_DESTINATIONS;
use slotline_net::id::HostId;
use slotline_net::scheme::network::Network;
use slotline_net::scheme::{Control, Decision, News, Plan};
use slotline_net::time::Time;
use std::collections::BTreeMap;

/// The number of intervals with a low load until a link is calm.
const CALM: u64 = 3;

/// The load from one host to another.
struct Flow {
    /// Bits per second.
    rate: u64,
    links: Vec<u32>,
    /// When it was last reported.
    seen: Time,
    controlled: bool,
}

#[derive(Clone, Default)]
struct Link {
    load: u64,
    /// A host that sends through this link, and whether there is another.
    source: Option<HostId>,
    shared: bool,
    hot: bool,
    /// Since when the load is low.
    calm: Option<Time>,
}

/// A scheduler that coordinates hot links only.
pub struct OnDemand {
    inner: Box<dyn Control>,
    network: Network,
    options: OnDemandSpec,
    flows: BTreeMap<(HostId, HostId), Flow>,
    links: Vec<Link>,
    /// By host, until when its list is repeated, so that a lost message does not matter for long.
    repeat: Vec<Time>,
    /// Hosts whose list has to be sent.
    outdated: Vec<HostId>,
    /// Whether loads were reported since the last update of links.
    fresh: bool,
    next_update: Time,
}

impl OnDemand {
    /// Makes a scheduler that uses `inner` for links of `network` near saturation.
    pub fn new(options: &OnDemandSpec, network: Network, inner: Box<dyn Control>) -> OnDemand {
        OnDemand {
            inner,
            options: options.clone(),
            flows: BTreeMap::new(),
            links: vec![Link::default(); network.capacity().len()],
            repeat: vec![Time::ZERO; network.hosts()],
            outdated: Vec::new(),
            fresh: false,
            next_update: Time::ZERO,
            network,
        }
    }

    fn is_controlled(&self, src: HostId, dst: HostId) -> bool {
        self.flows.get(&(src, dst)).is_some_and(|flow| flow.controlled)
    }
    fn of(&self, src: HostId) -> impl Iterator<Item = (HostId, &Flow)> {
        let own = (src, HostId(0))..=(src, HostId(u32::MAX));
        self.flows.range(own).map(|((_, dst), flow)| (*dst, flow))
    }
    fn measure(&mut self, src: HostId, span: Time, loads: &[(HostId, u64)], now: Time) {
        let hosts = self.network.hosts();
        let rate = |bytes: u64| {
            let bits = u128::from(bytes) * 8_000_000_000_000;
            u64::try_from(bits / u128::from(span.as_ps().max(1))).unwrap_or(u64::MAX / 4)
        };
        for dst in self.of(src).map(|(dst, _)| dst).collect::<Vec<_>>() {
            self.flows.entry((src, dst)).and_modify(|flow| flow.rate = 0);
        }
        for &(dst, bytes) in loads.iter().filter(|(dst, _)| dst.at() < hosts && *dst != src) {
            let network = &self.network;
            let flow = self.flows.entry((src, dst)).or_insert_with(|| {
                let mut links = Vec::new();
                network.path(src, dst, &mut links);
                Flow { rate: 0, links, seen: now, controlled: false }
            });
            (flow.rate, flow.seen) = (rate(bytes), now);
        }
        self.fresh = true;
        if now < self.repeat[src.at()] || self.of(src).any(|(_, flow)| flow.controlled) {
            self.outdated.push(src);
        }
    }
    /// Forgets the loads of a host.
    fn forget(&mut self, src: HostId) {
        let own: Vec<HostId> = self.of(src).map(|(dst, _)| dst).collect();
        own.into_iter().for_each(|dst| {
            self.flows.remove(&(src, dst));
        });
        self.fresh = true;
    }

    /// Computes the loads of links and finds hot ones.
    fn update_links(&mut self, now: Time) {
        let old = self.options.interval.times(CALM + 1);
        self.flows.retain(|_, flow| now.since(flow.seen) <= old || flow.controlled);
        for link in &mut self.links {
            (link.load, link.source, link.shared) = (0, None, false);
        }
        for ((src, _), flow) in self.flows.iter().filter(|(_, flow)| now.since(flow.seen) <= old) {
            for &at in &flow.links {
                let link = &mut self.links[at as usize];
                link.load = link.load.saturating_add(flow.rate);
                link.shared |= link.source.is_some_and(|source| source != *src);
                link.source = Some(*src);
            }
        }
        for (link, capacity) in self.links.iter_mut().zip(self.network.capacity()) {
            link.update_hot(&self.options, capacity.0 as f64, now);
        }
        let regular = now.after(self.options.interval);
        (self.fresh, self.next_update) = (false, regular);
    }
    /// Puts pairs with hot links under control and frees the others.
    fn update_controlled(&mut self, now: Time) {
        let (links, mut freed) = (&self.links, Vec::new());
        for (&(src, dst), flow) in &mut self.flows {
            let hot = flow.links.iter().any(|&link| links[link as usize].hot);
            if flow.controlled != hot {
                flow.controlled = hot;
                self.outdated.push(src);
                self.repeat[src.at()] = now.after(self.options.interval.times(CALM));
                freed.extend((!hot).then_some((src, dst)));
            }
        }
        for (host, dst) in freed {
            self.inner.observe(&News::Released { host, dst }, now);
        }
    }
    /// Sends hosts the list of destinations that need permission.
    fn send_lists(&mut self, plan: &mut Plan) {
        let mut outdated = std::mem::take(&mut self.outdated);
        outdated.sort_unstable();
        outdated.dedup();
        for src in outdated.drain(..) {
            let controlled = self.of(src).filter(|(_, flow)| flow.controlled);
            let list = controlled.map(|(dst, _)| Decision::Controlled { src, dst: Some(dst) });
            let before = plan.len();
            plan.extend(list.take(MAX_DESTINATIONS));
            if plan.len() == before {
                plan.push(Decision::Controlled { src, dst: None });
            }
        }
        self.outdated = outdated;
    }
}

impl Link {
    fn update_hot(&mut self, options: &OnDemandSpec, capacity: f64, now: Time) {
        let load = self.load as f64;
        if self.shared && load >= options.threshold * capacity {
            (self.hot, self.calm) = (true, None);
        } else if load >= options.release * capacity {
            self.calm = None;
        } else if self.hot {
            let since = *self.calm.get_or_insert(now);
            self.hot = now.since(since) < options.interval.times(CALM);
        }
    }
}

impl Control for OnDemand {
    fn observe(&mut self, news: &News<'_>, now: Time) {
        let host = news.host();
        if host.at() >= self.network.hosts() {
            return;
        }
        match *news {
            News::Load { span, loads, .. } => return self.measure(host, span, loads, now),
            News::Joined(_) | News::Left(_) => self.forget(host),
            News::Backlog { destinations, flows, .. } => {
                // The host waits for the permission of an earlier controller, or does not know yet that the pair
                // is free.
                if destinations.iter().any(|&dst| !self.is_controlled(host, dst)) {
                    self.outdated.push(host);
                }
                if !self.of(host).any(|(_, flow)| flow.controlled) {
                    return;
                }
                let (mut own, mut counts) = (Vec::new(), Vec::new());
                for (at, &dst) in destinations.iter().enumerate() {
                    if self.is_controlled(host, dst) {
                        own.push(dst);
                        counts.push(flows.get(at).copied().unwrap_or(1));
                    }
                }
                let news = News::Backlog { host, destinations: &own, flows: &counts };
                return self.inner.observe(&news, now);
            }
            News::Released { .. } | News::Flows { .. } => {}
        }
        self.inner.observe(news, now);
    }

    fn decide(&mut self, now: Time, plan: &mut Plan) -> Option<Time> {
        if now >= self.next_update || (self.fresh && self.next_update.since(now) <= self.soon()) {
            self.update_links(now);
            self.update_controlled(now);
        }
        self.send_lists(plan);
        let inner = self.inner.decide(now, plan);
        let busy = self.fresh || self.links.iter().any(|link| link.hot);
        let again = if self.fresh {
            now.after(self.next_update.since(now).since(self.soon()))
        } else {
            self.next_update
        };
        inner.into_iter().chain(busy.then_some(again)).filter(|&at| at > now).min()
    }

    fn rewire(&mut self, network: &Network, now: Time) {
        self.network = network.clone();
        for (&(src, dst), flow) in &mut self.flows {
            network.path(src, dst, &mut flow.links);
        }
        self.fresh = true;
        self.inner.rewire(network, now);
    }

    fn flows(&self, link: u32) -> u64 {
        self.inner.flows(link)
    }
}

impl OnDemand {
    /// After a report, the next update comes this long before the regular one. So links are updated at most four
    /// times an interval.
    fn soon(&self) -> Time {
        Time::ps(self.options.interval.as_ps() / 4 * 3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timeslice;
    use crate::spec::XcoSpec;
    use slotline_net::units::Rate;

    const DST: HostId = HostId(3);
    const INTERVAL: Time = Time::ms(10);

    struct Bench {
        control: OnDemand,
        now: Time,
        next: Option<Time>,
    }

    impl Bench {
        /// Four hosts at one switch.
        fn new() -> Bench {
            let star = Network::new(4, vec![Rate(1_000_000_000); 8], |src, dst, out| {
                out.extend([src.0, 4 + dst.0]);
            });
            let inner = Timeslice::new(&XcoSpec::default().build().unwrap(), star.clone());
            let control = OnDemand::new(&OnDemandSpec::default(), star, Box::new(inner));
            Bench { control, now: Time::ZERO, next: None }
        }
        /// Hosts report the megabits per second that they send to host 3.
        fn interval(&mut self, loads: &[(u32, u64)]) -> Vec<String> {
            self.now += INTERVAL;
            for &(host, mbps) in loads {
                let loads = [(DST, mbps * 1_250)];
                let loads = if mbps > 0 { &loads[..] } else { &[] };
                let news = News::Load { host: HostId(host), span: INTERVAL, loads };
                self.control.observe(&news, self.now);
            }
            self.decide()
        }
        fn decide(&mut self) -> Vec<String> {
            let mut plan = Plan::new();
            self.next = self.control.decide(self.now, &mut plan);
            let text = |decision: &Decision| match *decision {
                Decision::Controlled { src, dst } => {
                    format!("{} {}", src.0, if dst.is_some() { "controlled" } else { "free" })
                }
                Decision::Window { src, dst, .. } => {
                    format!("{} {}", src.0, if dst.is_some() { "sends" } else { "waits" })
                }
                Decision::Rate { .. } | Decision::Path { .. } => panic!("{decision:?}"),
            };
            plan.iter().map(text).collect()
        }
        fn backlog(&mut self, hosts: &[u32]) -> Vec<String> {
            for &host in hosts {
                self.control.observe(&News::backlog(HostId(host), &[DST]), self.now);
            }
            self.decide()
        }
    }

    #[test]
    fn links_near_saturation_are_controlled_and_set_free() {
        let mut bench = Bench::new();
        assert!(bench.interval(&[(0, 400), (1, 400)]).is_empty());
        assert!(bench.interval(&[(0, 400), (1, 450)]).is_empty());
        assert_eq!(bench.backlog(&[0]), ["0 free"], "a free pair gets a message, and no schedule");
        assert_eq!(bench.interval(&[(0, 500), (1, 450)]), ["0 controlled", "1 controlled"]);
        assert_eq!(bench.backlog(&[0, 1]), ["0 sends", "1 waits"]);
        assert!(bench.next.is_some());
        // Under control: below the threshold, but not by much.
        for _ in 0..5 {
            assert!(bench.interval(&[(0, 400), (1, 400)]).contains(&"0 controlled".into()));
        }
        for _ in 0..3 {
            assert!(bench.interval(&[(0, 500), (1, 0)]).contains(&"0 controlled".into()));
        }
        let freed = bench.interval(&[(0, 500), (1, 0)]);
        assert!(freed.contains(&"0 free".into()) && freed.contains(&"1 free".into()), "{freed:?}");
        // The list is repeated for a while, in case a message got lost, and then no more.
        for _ in 0..3 {
            bench.interval(&[(0, 500)]);
        }
        assert!(bench.interval(&[(0, 500)]).is_empty());
        assert_eq!(bench.backlog(&[0]), ["0 free"]);
    }

    #[test]
    fn a_host_that_alone_fills_a_link_is_free() {
        let mut bench = Bench::new();
        assert!(bench.interval(&[(0, 1_000)]).is_empty());
        assert_eq!(bench.interval(&[(0, 1_000), (1, 10)]).len(), 2, "not alone any more");
    }

    /// This happens after a take-over, when hosts still wait for the former controller.
    #[test]
    fn a_pair_that_waits_without_need_gets_a_message() {
        let mut bench = Bench::new();
        assert_eq!(bench.backlog(&[0]), ["0 free"]);
        assert_eq!(bench.decide(), [""; 0], "once for each report");
    }

    #[test]
    fn a_host_that_leaves_is_removed() {
        let mut bench = Bench::new();
        bench.interval(&[(0, 900), (1, 100)]);
        bench.control.observe(&News::Left(HostId(0)), bench.now);
        for _ in 0..4 {
            bench.interval(&[(1, 100)]);
        }
        assert!(bench.control.links.iter().all(|link| !link.hot));
    }
}
