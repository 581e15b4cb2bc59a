//! The choice of paths for flows, and the effects of changed paths.

use super::bundles::{Bundles, Fan};
use super::bursts::Bursts;
use super::classified::Classified;
use super::engine::Engine;
use super::fabric::Fabric;
use super::flow_paths::FlowPath;
use super::maxmin::FlowKey;
use super::network::FlowNetwork;
use super::rates::Rates;
use slotline_net::node::host::Spread;

/// The method that chooses a flow's path.
#[derive(Clone, Debug)]
pub(super) enum PathChoice {
    /// By routes: with a hash, or with a number that a scheme may set.
    Plain,
    /// By a hash that may change after a pause.
    Bursts(Bursts),
    /// By the switches, which choose ports by load.
    Classified(Box<Classified>),
    /// All equal paths at once. The state of links is stored by bundle of links.
    Spread(Box<(Bundles, Fan)>),
}

impl PathChoice {
    pub fn new(network: &FlowNetwork, fabric: &Fabric) -> PathChoice {
        let conns = network.plan.traffic.conns.len();
        match (network.plan.spread, &network.classifier) {
            (Spread::PerPacket, _) => {
                PathChoice::Spread(Box::new((Bundles::new(fabric), Fan::default())))
            }
            (Spread::PerBurst(gap), _) => {
                PathChoice::Bursts(Bursts::new(gap.as_ps(), network.seed, conns))
            }
            (_, Some(spec)) => {
                PathChoice::Classified(Box::new(Classified::new(spec.clone(), fabric)))
            }
            _ => PathChoice::Plain,
        }
    }

    /// The time of the switches' next rearrangement.
    pub fn next(&self) -> u64 {
        match self {
            PathChoice::Classified(state) => state.next(),
            _ => u64::MAX,
        }
    }

    /// Whether a flow's path is known before its start.
    pub fn are_known(&self) -> bool {
        matches!(self, PathChoice::Plain)
    }

    /// Whether flows use several paths at once.
    pub fn are_spread(&self) -> bool {
        matches!(self, PathChoice::Spread(_))
    }

    /// The capacities that rates are computed with: of links, or of bundles and one that carries nothing.
    pub fn capacities(&self, fabric: &Fabric) -> Vec<f64> {
        match self {
            PathChoice::Spread(spread) => spread.0.capacities(fabric),
            _ => (0..fabric.links() as u32).map(|link| fabric.capacity(link)).collect(),
        }
    }

    /// The number of a link in the computation of rates; none if no route uses it.
    pub fn stand_in(&self, link: u32) -> Option<u32> {
        match self {
            PathChoice::Spread(spread) => spread.0.of(link),
            _ => Some(link),
        }
    }
}

impl Engine {
    /// Stores the path of `conn` in `self.path` and `self.shares`. They are empty if there is none.
    pub(super) fn find_path(&mut self, conn: u32) {
        let info = &self.plan.traffic.conns[conn as usize];
        match &mut self.path_choice {
            PathChoice::Plain => self.follow_routes(conn),
            PathChoice::Classified(_) => self.classify(conn),
            PathChoice::Bursts(bursts) => {
                self.fabric.path(info.src, info.dst, bursts.entropy(conn), &mut self.path);
            }
            PathChoice::Spread(spread) => {
                let (bundles, fan) = &mut **spread;
                bundles.spread(&self.fabric, info.src, info.dst, fan);
                self.path.clone_from(&fan.bundles);
                self.shares.clone_from(&fan.shares);
            }
        }
    }

    fn follow_routes(&mut self, conn: u32) {
        let known = self.ahead.path(conn);
        if let Some(path) = known.filter(|_| !cfg!(debug_assertions)) {
            return self.path.clone_from(path);
        }
        let info = &self.plan.traffic.conns[conn as usize];
        let chosen = self.scheduled.as_ref().and_then(|scheme| scheme.path(conn));
        let entropy = chosen.unwrap_or_else(|| self.plan.entropy(conn));
        self.fabric.path(info.src, info.dst, entropy, &mut self.path);
        debug_assert!(known.is_none_or(|path| *path == self.path));
    }

    /// Begins a burst of `conn`.
    pub(super) fn begin_burst(&mut self, conn: u32) {
        if let PathChoice::Bursts(bursts) = &mut self.path_choice {
            let key = self.plan.conn_key(conn);
            bursts.begin(conn, key, self.now, self.plan.entropy(conn));
        }
    }

    /// Moves the flow under `key` to the path of its burst.
    pub(super) fn reroute_burst(&mut self, key: FlowKey, conn: u32) {
        if matches!(self.path_choice, PathChoice::Bursts(_)) {
            self.reroute(key, conn);
        }
    }

    /// Ends a burst of `conn`, which has sent its last byte for now.
    pub(super) fn end_burst(&mut self, conn: u32) {
        if let PathChoice::Bursts(bursts) = &mut self.path_choice {
            bursts.pause(conn, self.now);
        }
    }

    /// Stores the links that the last byte of a flow crosses in `self.path`. Of several paths it is the slowest.
    pub(super) fn last_path(&mut self, key: FlowKey) {
        let conn = self.senders.of(key).conn;
        let info = &self.plan.traffic.conns[conn as usize];
        if let PathChoice::Spread(spread) = &mut self.path_choice {
            let (bundles, fan) = &mut **spread;
            bundles.spread(&self.fabric, info.src, info.dst, fan);
            self.path.clone_from(&fan.slowest);
        } else {
            self.rates.path(key, &mut self.path);
        }
    }

    /// Stores the path of acknowledgements of `conn` in `self.path`.
    pub(super) fn return_path(&mut self, conn: u32) {
        let info = &self.plan.traffic.conns[conn as usize];
        if let PathChoice::Spread(spread) = &mut self.path_choice {
            let (bundles, fan) = &mut **spread;
            bundles.spread(&self.fabric, info.dst, info.src, fan);
            self.path.clone_from(&fan.slowest);
        } else {
            self.fabric.path(info.dst, info.src, self.plan.entropy_back(conn), &mut self.path);
        }
    }

    /// Updates the capacity of a link that has changed its rate or has gone down or up.
    pub(super) fn refit(&mut self, link: u32) {
        match &self.path_choice {
            PathChoice::Spread(_) => self.refit_bundles(),
            _ => self.rates.set_capacity(link, self.fabric.capacity(link)),
        }
        self.solve_later();
    }

    fn refit_bundles(&mut self) {
        let capacities = self.path_choice.capacities(&self.fabric);
        for (bundle, capacity) in (0..).zip(capacities) {
            self.rates.set_capacity(bundle, capacity);
        }
    }

    /// Moves flows to their new paths after routes have changed. Flows without a path try again.
    pub(super) fn reroute_all(&mut self) {
        if self.path_choice.are_spread() {
            self.spread_anew();
        } else {
            for (key, conn) in self.senders.all() {
                self.reroute(key, conn);
            }
        }
        for conn in self.senders.without_path() {
            self.send(conn);
        }
    }

    /// Spreads all flows over the bundles under changed routes. A flow without a path is assigned to the bundle beyond
    /// the last, which carries nothing.
    fn spread_anew(&mut self) {
        self.book_all();
        if let PathChoice::Spread(spread) = &mut self.path_choice {
            spread.0.renew(&self.fabric, &mut self.senders.carried);
        }
        self.refit_bundles();
        for (key, conn) in self.senders.all() {
            self.find_path(conn);
            if self.path.is_empty() {
                self.path.push(self.fabric.links() as u32);
                self.shares.push(1.0);
            }
            self.may_round(key);
            self.rates.reroute(key, FlowPath { links: &self.path, shares: &self.shares });
        }
        self.solve_later();
    }

    /// Moves the flow under `key` to the path that routes and decisions give now.
    pub(super) fn reroute(&mut self, key: FlowKey, conn: u32) {
        self.tally(key);
        self.find_path(conn);
        let (new, shares) = (std::mem::take(&mut self.path), std::mem::take(&mut self.shares));
        self.rates.path(key, &mut self.path);
        if !new.is_empty() && new != self.path {
            self.may_round(key);
            self.book(key);
            self.rates.reroute(key, FlowPath { links: &new, shares: &shares });
            self.solve_later();
        }
        (self.path, self.shares) = (new, shares);
    }

    /// The flows on a link. The result may include other flows.
    pub(super) fn keys_on(&self, link: u32) -> Vec<FlowKey> {
        let at = self.path_choice.stand_in(link);
        match (&self.rates, at) {
            (Rates::MaxMin(rates), Some(at)) => rates.flows(at).collect(),
            (Rates::Spread(rates), Some(at)) => rates.flows(at).collect(),
            (Rates::Aimd(_), Some(_)) => {
                self.senders.all().into_iter().map(|(key, _)| key).collect()
            }
            (_, None) => Vec::new(),
        }
    }

    /// The booked bytes of a link.
    pub(super) fn carried(&self, link: u32) -> f64 {
        let at = self.path_choice.stand_in(link);
        let now = at.map_or(0.0, |at| self.senders.carried[at as usize]);
        match &self.path_choice {
            PathChoice::Spread(spread) => spread.0.before(link) + now,
            _ => now,
        }
    }

    /// Books the bytes of all links up to now.
    pub(super) fn book_all(&mut self) {
        self.senders.all().into_iter().for_each(|(key, _)| self.book(key));
    }

    /// Books the bytes of a flow to its links up to now.
    pub(super) fn book(&mut self, key: FlowKey) {
        self.book_up_to(key, self.rates.left(key));
    }

    /// Books the bytes of a flow to its links up to the last `left`.
    pub(super) fn book_up_to(&mut self, key: FlowKey, left: f64) {
        self.rates.path(key, &mut self.path);
        self.rates.shares(key, &mut self.shares);
        self.senders.book(key, left, FlowPath { links: &self.path, shares: &self.shares });
    }

    /// Accounts for rounding if a flow gets another rate or ends: its time may be rounded up to the next picosecond.
    pub(super) fn may_round(&mut self, key: FlowKey) {
        self.roundable += self.rates.rate(key) * 1e-12;
    }
}
