//! Which way flows go, and what follows when ways change.

use super::bundles::{Bundles, Fan};
use super::bursts::Bursts;
use super::classified::Classified;
use super::engine::Engine;
use super::fabric::Fabric;
use super::maxmin::FlowKey;
use super::network::FlowNetwork;
use super::rates::Rates;
use slotline_net::node::host::Spread;

/// How a flow's way is found.
#[derive(Clone, Debug)]
pub(super) enum Paths {
    /// As routes say: by a hash, or a number that may be a scheme's.
    Plain,
    /// By a hash that may be another after a pause.
    Bursts(Bursts),
    /// As switches choose.
    Classified(Box<Classified>),
    /// All equal paths at once. What is kept by link is kept by bundle of links.
    Spread(Box<(Bundles, Fan)>),
}

impl Paths {
    pub fn new(network: &FlowNetwork, fabric: &Fabric) -> Paths {
        let conns = network.plan.traffic.conns.len();
        match (network.plan.spread, &network.classifier) {
            (Spread::PerPacket, _) => {
                Paths::Spread(Box::new((Bundles::new(fabric), Fan::default())))
            }
            (Spread::PerBurst(gap), _) => {
                Paths::Bursts(Bursts::new(gap.as_ps(), network.seed, conns))
            }
            (_, Some(spec)) => Paths::Classified(Box::new(Classified::new(spec.clone(), fabric))),
            _ => Paths::Plain,
        }
    }

    /// When switches move flows next.
    pub fn next(&self) -> u64 {
        match self {
            Paths::Classified(state) => state.next(),
            _ => u64::MAX,
        }
    }

    /// Whether a flow's way is known ahead of its start.
    pub fn are_known(&self) -> bool {
        matches!(self, Paths::Plain)
    }

    /// Whether flows are on several paths at once.
    pub fn are_spread(&self) -> bool {
        matches!(self, Paths::Spread(_))
    }

    /// What rates are found of: links, or bundles of them, and one that carries nothing.
    pub fn capacities(&self, fabric: &Fabric) -> Vec<f64> {
        match self {
            Paths::Spread(spread) => spread.0.capacities(fabric),
            _ => (0..fabric.links() as u32).map(|link| fabric.capacity(link)).collect(),
        }
    }

    /// What stands for a link where rates are found; nothing where nobody uses it.
    pub fn stand_in(&self, link: u32) -> Option<u32> {
        match self {
            Paths::Spread(spread) => spread.0.of(link),
            _ => Some(link),
        }
    }
}

impl Engine {
    /// Puts the way of `conn` into `self.way` and `self.shares`; nothing where there is none.
    pub(super) fn find_way(&mut self, conn: u32) {
        let info = &self.plan.traffic.conns[conn as usize];
        match &mut self.paths {
            Paths::Plain => self.follow_routes(conn),
            Paths::Classified(_) => self.classify(conn),
            Paths::Bursts(bursts) => {
                self.fabric.way(info.src, info.dst, bursts.entropy(conn), &mut self.way);
            }
            Paths::Spread(spread) => {
                let (bundles, fan) = &mut **spread;
                bundles.spread(&self.fabric, info.src, info.dst, fan);
                self.way.clone_from(&fan.bundles);
                self.shares.clone_from(&fan.shares);
            }
        }
    }

    fn follow_routes(&mut self, conn: u32) {
        let known = self.ahead.way(conn);
        if let Some(way) = known.filter(|_| !cfg!(debug_assertions)) {
            return self.way.clone_from(way);
        }
        let info = &self.plan.traffic.conns[conn as usize];
        let chosen = self.scheduled.as_ref().and_then(|scheme| scheme.path(conn));
        let entropy = chosen.unwrap_or_else(|| self.plan.entropy(conn));
        self.fabric.way(info.src, info.dst, entropy, &mut self.way);
        debug_assert!(known.is_none_or(|way| *way == self.way));
    }

    /// `conn` begins to send.
    pub(super) fn begin_burst(&mut self, conn: u32) {
        if let Paths::Bursts(bursts) = &mut self.paths {
            bursts.begin(conn, self.now, self.plan.entropy(conn));
        }
    }

    /// Sends what is sent under `key` where its burst goes.
    pub(super) fn reroute_burst(&mut self, key: FlowKey, conn: u32) {
        if matches!(self.paths, Paths::Bursts(_)) {
            self.reroute(key, conn);
        }
    }

    /// `conn` has sent its last byte for now.
    pub(super) fn end_burst(&mut self, conn: u32) {
        if let Paths::Bursts(bursts) = &mut self.paths {
            bursts.pause(conn, self.now);
        }
    }

    /// Puts the links that the last byte of a flow crosses into `self.way`: of several, those of the way
    /// that takes longest.
    pub(super) fn last_way(&mut self, key: FlowKey) {
        let conn = self.senders.of(key).conn;
        let info = &self.plan.traffic.conns[conn as usize];
        if let Paths::Spread(spread) = &mut self.paths {
            let (bundles, fan) = &mut **spread;
            bundles.spread(&self.fabric, info.src, info.dst, fan);
            self.way.clone_from(&fan.slowest);
        } else {
            self.rates.way(key, &mut self.way);
        }
    }

    /// Puts the links by which acknowledgements of `conn` come back into `self.way`.
    pub(super) fn way_back(&mut self, conn: u32) {
        let info = &self.plan.traffic.conns[conn as usize];
        if let Paths::Spread(spread) = &mut self.paths {
            let (bundles, fan) = &mut **spread;
            bundles.spread(&self.fabric, info.dst, info.src, fan);
            self.way.clone_from(&fan.slowest);
        } else {
            self.fabric.way(info.dst, info.src, self.plan.entropy(conn), &mut self.way);
        }
    }

    /// A link has another rate, or goes down or up.
    pub(super) fn refit(&mut self, link: u32) {
        match &self.paths {
            Paths::Spread(_) => self.refit_bundles(),
            _ => self.rates.set_capacity(link, self.fabric.capacity(link)),
        }
        self.solve_later();
    }

    fn refit_bundles(&mut self) {
        let capacities = self.paths.capacities(&self.fabric);
        for (bundle, capacity) in (0..).zip(capacities) {
            self.rates.set_capacity(bundle, capacity);
        }
    }

    /// Routes have changed: flows go where these lead, if anywhere; those that had no way try again.
    pub(super) fn reroute_all(&mut self) {
        if self.paths.are_spread() {
            self.spread_anew();
        } else {
            for (key, conn) in self.senders.all() {
                self.reroute(key, conn);
            }
        }
        for conn in self.senders.without_way() {
            self.send(conn);
        }
    }

    /// Other links are alike under other routes. A flow without a way is put on the bundle beyond the last,
    /// which carries nothing.
    fn spread_anew(&mut self) {
        self.book_all();
        if let Paths::Spread(spread) = &mut self.paths {
            spread.0.renew(&self.fabric, &mut self.senders.carried);
        }
        self.refit_bundles();
        for (key, conn) in self.senders.all() {
            self.find_way(conn);
            if self.way.is_empty() {
                self.way.push(self.fabric.links() as u32);
                self.shares.push(1.0);
            }
            self.rates.reroute(key, (&self.way, &self.shares));
        }
        self.solve_later();
    }

    /// Sends what is sent under `key` where routes and decisions lead now.
    pub(super) fn reroute(&mut self, key: FlowKey, conn: u32) {
        self.tally(key);
        self.find_way(conn);
        let (new, shares) = (std::mem::take(&mut self.way), std::mem::take(&mut self.shares));
        self.rates.way(key, &mut self.way);
        if !new.is_empty() && new != self.way {
            self.book(key);
            self.rates.reroute(key, (&new, &shares));
            self.solve_later();
        }
        (self.way, self.shares) = (new, shares);
    }

    /// The flows on a link, and maybe others.
    pub(super) fn keys_on(&self, link: u32) -> Vec<FlowKey> {
        let at = self.paths.stand_in(link);
        match (&self.rates, at) {
            (Rates::MaxMin(rates), Some(at)) => rates.flows(at).collect(),
            (Rates::Spread(rates), Some(at)) => rates.flows(at).collect(),
            (Rates::Aimd(_), Some(_)) => {
                self.senders.all().into_iter().map(|(key, _)| key).collect()
            }
            (_, None) => Vec::new(),
        }
    }

    /// Bytes that a link has carried, as far as they are booked.
    pub(super) fn carried(&self, link: u32) -> f64 {
        let at = self.paths.stand_in(link);
        let now = at.map_or(0.0, |at| self.senders.carried[at as usize]);
        match &self.paths {
            Paths::Spread(spread) => spread.0.before(link) + now,
            _ => now,
        }
    }

    /// Brings the bytes of all links up to now.
    pub(super) fn book_all(&mut self) {
        self.senders.all().into_iter().for_each(|(key, _)| self.book(key));
    }

    /// Brings what links have carried of a flow up to now.
    pub(super) fn book(&mut self, key: FlowKey) {
        self.rates.way(key, &mut self.way);
        self.rates.shares(key, &mut self.shares);
        self.senders.book(key, self.rates.left(key), (&self.way, &self.shares));
    }
}
