//! Who says what rate each flow has, and when it ends: exact max-min fairness, or TCP's saw-teeth.

use super::aimd::{Aimd, AimdOptions};
use super::maxmin::{Effort, FlowKey, MaxMin};
use super::paced::Paced;

/// How rates come about.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Model {
    /// Weighted max-min fairness at any moment.
    MaxMin {
        /// Changes of a link's level by less than this share are not passed on; zero: rates are exact.
        tolerance: f64,
    },
    /// Slow start and additive increase, multiplicative decrease, once a tick.
    Aimd(AimdOptions),
}

/// Flows on links, under one of the models.
#[derive(Clone, Debug)]
pub(super) enum Rates {
    MaxMin(Box<MaxMin>),
    Aimd(Box<Paced>),
}

impl Model {
    /// Exact max-min fairness.
    pub const FAIR: Model = Model::MaxMin { tolerance: 0.0 };
}

impl Rates {
    pub fn new(model: Model, capacities: &[f64], seed: u64) -> Rates {
        match model {
            Model::MaxMin { tolerance } => {
                Rates::MaxMin(Box::new(MaxMin::rough(capacities, tolerance)))
            }
            Model::Aimd(options) => {
                Rates::Aimd(Box::new(Paced::new(Aimd::new(capacities, options, seed))))
            }
        }
    }
    /// Time goes on to `now`, in picoseconds.
    pub fn advance(&mut self, now: u64) {
        match self {
            Rates::MaxMin(rates) => rates.advance(now),
            Rates::Aimd(rates) => rates.advance(now),
        }
    }
    pub fn insert(&mut self, links: &[u32], weight: f64, cap: f64, bytes: f64) -> FlowKey {
        match self {
            Rates::MaxMin(rates) => rates.insert(links, weight, cap, bytes),
            Rates::Aimd(rates) => rates.insert(links, cap, bytes),
        }
    }
    pub fn extend(&mut self, key: FlowKey, bytes: f64) {
        match self {
            Rates::MaxMin(rates) => rates.extend(key, bytes),
            Rates::Aimd(rates) => rates.extend(key, bytes),
        }
    }
    pub fn remove(&mut self, key: FlowKey) {
        match self {
            Rates::MaxMin(rates) => rates.remove(key),
            Rates::Aimd(rates) => rates.remove(key),
        }
    }
    pub fn reroute(&mut self, key: FlowKey, links: &[u32]) {
        match self {
            Rates::MaxMin(rates) => rates.reroute(key, links),
            Rates::Aimd(rates) => rates.aimd.reroute(key, links),
        }
    }
    pub fn set_capacity(&mut self, link: u32, capacity: f64) {
        match self {
            Rates::MaxMin(rates) => rates.set_capacity(link, capacity),
            Rates::Aimd(rates) => rates.aimd.set_capacity(link, capacity),
        }
    }
    pub fn set_cap(&mut self, key: FlowKey, cap: f64) {
        match self {
            Rates::MaxMin(rates) => rates.set_cap(key, cap),
            Rates::Aimd(rates) => rates.aimd.set_cap(key, cap),
        }
    }
    /// The bytes that a flow has not sent by now.
    pub fn left(&self, key: FlowKey) -> f64 {
        match self {
            Rates::MaxMin(rates) => rates.left(key),
            Rates::Aimd(rates) => rates.left(key),
        }
    }
    /// A flow's rate, in bytes per second.
    pub fn rate(&self, key: FlowKey) -> f64 {
        match self {
            Rates::MaxMin(rates) => rates.rate(key),
            Rates::Aimd(rates) => rates.rate(key),
        }
    }
    /// When the next flow ends.
    pub fn next_end(&mut self) -> Option<u64> {
        match self {
            Rates::MaxMin(rates) => rates.next_end(),
            Rates::Aimd(rates) => rates.next_end(),
        }
    }
    /// Adds flows to `out` that have ended by now, if any have. They are to be removed, or extended.
    pub fn ended(&mut self, out: &mut Vec<FlowKey>) {
        match self {
            Rates::MaxMin(rates) => rates.ended(out),
            Rates::Aimd(rates) => rates.ended(out),
        }
    }
    /// Replaces `out` with the links of a flow's way.
    pub fn way(&self, key: FlowKey, out: &mut Vec<u32>) {
        out.clear();
        match self {
            Rates::MaxMin(rates) => out.extend(rates.way(key)),
            Rates::Aimd(rates) => out.extend_from_slice(rates.aimd.way(key)),
        }
    }
    /// Something of what is kept of a link.
    pub fn glance(&self, link: u32) -> u32 {
        match self {
            Rates::MaxMin(rates) => rates.glance(link),
            Rates::Aimd(_) => 0,
        }
    }
    /// Flows of which one is likely to end soon, each with something of what is kept of its links.
    pub fn glance_ahead(&self, mut each: impl FnMut(FlowKey, u32)) {
        if let Rates::MaxMin(rates) = self {
            rates.soon().for_each(|key| each(key, rates.glance_at_flow(key)));
        }
    }
    pub fn effort(&self) -> Effort {
        match self {
            Rates::MaxMin(rates) => rates.effort(),
            Rates::Aimd(_) => Effort::default(),
        }
    }
}
