//! Rates as TCP's slow start and congestion avoidance would have them, tick by tick, without packets.
//!
//! Source: Al-Fares, Radhakrishnan, Raghavan, Huang and Vahdat, "Hedera: Dynamic Flow Scheduling for Data
//! Center Networks", NSDI 2010, section 5.3: "each tick, the simulator shuffles the order of flows and
//! computes the expected rate increase for each flow, constrained by available bandwidth on the flow's
//! path. If a flow is in slow start, its rate is doubled. If it is in congestion avoidance, its rate is
//! additively increased (using an additive increase factor of 15 MB/s to simulate a network with an RTT
//! of 100 µs). If the flow's path is saturated, the flow's rate is halved and bandwidth is freed along
//! the path." The paper does not state the length of a tick.

use super::flow_paths::FlowPath;
use super::maxmin::FlowKey;
use slotline_net::rng::Stream;
use slotline_net::time::Time;

/// The parameters of the published simulator. The paper leaves some of them open.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AimdOptions {
    /// Time from one update of all rates to the next.
    pub tick: Time,
    /// The additive increase of a flow in each tick, in bytes per second. It is also a flow's first rate.
    pub increase: f64,
}

/// A link counts as full if less than this share of its capacity is free.
const FULL: f64 = 1e-9;

#[derive(Clone, Debug, Default)]
struct Flow {
    path: Vec<u32>,
    /// The share of the flow that each link of its path carries. If it is empty, each link carries all.
    shares: Vec<f64>,
    rate: f64,
    cap: f64,
    slow_start: bool,
    there: bool,
}

impl Flow {
    /// The links of its path, with the share that each carries.
    fn parts(&self) -> impl Iterator<Item = (usize, f64)> {
        let share = |hop: usize| self.shares.get(hop).copied().unwrap_or(1.0);
        self.path.iter().enumerate().map(move |(hop, link)| (*link as usize, share(hop)))
    }
}

/// Flows on links, and the rate of each.
#[derive(Clone, Debug)]
pub struct Aimd {
    options: AimdOptions,
    capacity: Vec<f64>,
    used: Vec<f64>,
    flows: Vec<Flow>,
    unused: Vec<u32>,
    /// The current flows, and those that left since the last tick. They are shuffled in each tick.
    order: Vec<u32>,
    /// The number of current flows.
    there: usize,
    rng: Stream,
}

impl Aimd {
    /// Links with these capacities, in bytes per second, and no flows.
    pub fn new(capacities: &[f64], options: AimdOptions, seed: u64) -> Aimd {
        Aimd {
            options,
            capacity: capacities.to_vec(),
            used: vec![0.0; capacities.len()],
            flows: Vec::new(),
            unused: Vec::new(),
            order: Vec::new(),
            there: 0,
            rng: Stream::named(seed, "flow.aimd", 0),
        }
    }

    /// Time between two updates.
    pub fn tick_length(&self) -> Time {
        self.options.tick
    }

    /// Whether there is no flow.
    pub fn is_empty(&self) -> bool {
        self.there == 0
    }

    /// Adds a flow with a rate of at most `cap`. Each of its links carries a share of it, or all if there are no
    /// shares. It sends nothing before the next tick.
    pub fn insert(&mut self, FlowPath { links, shares }: FlowPath<'_>, cap: f64) -> FlowKey {
        let key = self.unused.pop().unwrap_or_else(|| {
            self.flows.push(Flow::default());
            self.flows.len() as u32 - 1
        });
        let (path, shares) = (links.to_vec(), shares.to_vec());
        self.flows[key as usize] =
            Flow { path, shares, rate: 0.0, cap, slow_start: true, there: true };
        self.order.push(key);
        self.there += 1;
        FlowKey(key)
    }

    /// Removes a flow.
    pub fn remove(&mut self, key: FlowKey) {
        self.charge(key.at(), -self.flows[key.at()].rate);
        self.flows[key.at()] = Flow::default();
        self.there -= 1;
    }

    /// Moves a flow to another path. Its rate does not change.
    pub fn reroute(&mut self, key: FlowKey, FlowPath { links, shares }: FlowPath<'_>) {
        let rate = self.flows[key.at()].rate;
        self.charge(key.at(), -rate);
        let flow = &mut self.flows[key.at()];
        (flow.path, flow.shares) = (links.to_vec(), shares.to_vec());
        self.charge(key.at(), rate);
    }

    /// Gives a link another capacity.
    pub fn set_capacity(&mut self, link: u32, capacity: f64) {
        self.capacity[link as usize] = capacity;
    }

    /// Gives a flow another cap.
    pub fn set_cap(&mut self, key: FlowKey, cap: f64) {
        self.flows[key.at()].cap = cap;
    }

    /// The links of a flow's path.
    pub fn path(&self, key: FlowKey) -> &[u32] {
        &self.flows[key.at()].path
    }

    /// The shares of a flow that the links of its path carry; none if each carries all.
    pub fn shares(&self, key: FlowKey) -> &[f64] {
        &self.flows[key.at()].shares
    }

    /// Updates all rates. It calls `each` for every flow with its new rate.
    pub fn tick(&mut self, mut each: impl FnMut(FlowKey, f64)) {
        let mut order = std::mem::take(&mut self.order);
        let left = order.extract_if(.., |flow| !self.flows[*flow as usize].there);
        self.unused.extend(left);
        self.rng.shuffle(&mut order);
        for &flow in &order {
            let change = self.change(flow as usize);
            self.charge(flow as usize, change);
            self.flows[flow as usize].rate += change;
            each(FlowKey(flow), self.flows[flow as usize].rate);
        }
        self.order = order;
    }

    /// The change of a flow's rate in this tick.
    fn change(&mut self, at: usize) -> f64 {
        let room = |(link, share): (usize, f64)| {
            let (capacity, used) = (self.capacity[link], self.used[link]);
            if capacity - used <= FULL * capacity { 0.0 } else { (capacity - used) / share }
        };
        let flow = &mut self.flows[at];
        let room = flow.parts().map(room).fold(f64::INFINITY, f64::min);
        if room <= 0.0 {
            flow.slow_start = false;
            return -flow.rate / 2.0;
        }
        let wanted = if flow.slow_start { flow.rate } else { 0.0 }.max(self.options.increase);
        wanted.min(room).min(flow.cap - flow.rate)
    }

    fn charge(&mut self, at: usize, rate: f64) {
        for (link, share) in self.flows[at].parts() {
            self.used[link] += rate * share;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: AimdOptions = AimdOptions { tick: Time::us(100), increase: 15e6 };

    fn mean_of(flows: &[Vec<u32>], capacities: &[f64]) -> Vec<f64> {
        let mut aimd = Aimd::new(capacities, OPTIONS, 1);
        let keys: Vec<FlowKey> =
            flows.iter().map(|path| aimd.insert(FlowPath::whole(path), f64::INFINITY)).collect();
        let mut sums = vec![0.0; flows.len()];
        let ticks = 20_000;
        for tick in 0..ticks {
            aimd.tick(|key, rate| sums[key.at()] += if tick < 1_000 { 0.0 } else { rate });
            assert!(aimd.used.iter().zip(capacities).all(|(used, most)| *used <= most * 1.000_001));
        }
        keys.iter().map(|key| sums[key.at()] / f64::from(ticks - 1_000)).collect()
    }

    #[test]
    fn a_flow_alone_is_a_saw_tooth() {
        let rates = mean_of(&[vec![0]], &[1.25e9]);
        // Between half the capacity and all of it.
        assert!((rates[0] / 1.25e9 - 0.75).abs() < 0.02, "{rates:?}");
    }

    #[test]
    fn slow_start_doubles() {
        let mut aimd = Aimd::new(&[1.25e9], OPTIONS, 1);
        aimd.insert(FlowPath::whole(&[0]), f64::INFINITY);
        let mut rates = Vec::new();
        (0..4).for_each(|_| aimd.tick(|_, rate| rates.push(rate)));
        assert_eq!(rates, [15e6, 30e6, 60e6, 120e6]);
    }

    #[test]
    fn flows_of_one_link_get_about_the_same() {
        let rates = mean_of(&[vec![0], vec![0], vec![0, 1], vec![1]], &[1.25e9, 1.25e9]);
        assert!((rates[0] / rates[1] - 1.0).abs() < 0.1, "{rates:?}");
        assert!(rates[2] < rates[0] && rates[3] > rates[0], "{rates:?}");
    }

    #[test]
    fn a_link_that_is_down_empties_its_flows() {
        let mut aimd = Aimd::new(&[1e9], OPTIONS, 1);
        let key = aimd.insert(FlowPath::whole(&[0]), f64::INFINITY);
        (0..100).for_each(|_| aimd.tick(|_, _| ()));
        aimd.set_capacity(0, 0.0);
        let mut last = 0.0;
        (0..60).for_each(|_| aimd.tick(|_, rate| last = rate));
        assert!(last < 1.0, "{last}");
        aimd.remove(key);
        assert!(aimd.is_empty() && aimd.used[0].abs() < 1e-3);
    }
}
