//! Who says what rate each flow has: exact max-min fairness, or TCP's saw-teeth.

use super::aimd::{Aimd, AimdOptions};
use super::maxmin::{Effort, FlowKey, MaxMin};

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
    Aimd(Box<Aimd>),
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
            Model::Aimd(options) => Rates::Aimd(Box::new(Aimd::new(capacities, options, seed))),
        }
    }
    pub fn insert(&mut self, links: &[u32], weight: f64, cap: f64) -> FlowKey {
        match self {
            Rates::MaxMin(rates) => rates.insert(links, weight, cap),
            Rates::Aimd(rates) => rates.insert(links, cap),
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
            Rates::Aimd(rates) => rates.reroute(key, links),
        }
    }
    pub fn set_capacity(&mut self, link: u32, capacity: f64) {
        match self {
            Rates::MaxMin(rates) => rates.set_capacity(link, capacity),
            Rates::Aimd(rates) => rates.set_capacity(link, capacity),
        }
    }
    pub fn set_cap(&mut self, key: FlowKey, cap: f64) {
        match self {
            Rates::MaxMin(rates) => rates.set_cap(key, cap),
            Rates::Aimd(rates) => rates.set_cap(key, cap),
        }
    }
    /// Replaces `out` with the links of a flow's way.
    pub fn way(&self, key: FlowKey, out: &mut Vec<u32>) {
        out.clear();
        match self {
            Rates::MaxMin(rates) => out.extend(rates.way(key)),
            Rates::Aimd(rates) => out.extend_from_slice(rates.way(key)),
        }
    }
    /// Something of what is kept of a link.
    pub fn glance(&self, link: u32) -> u32 {
        match self {
            Rates::MaxMin(rates) => rates.glance(link),
            Rates::Aimd(_) => 0,
        }
    }
    /// Something of what is kept of the links of a flow.
    pub fn glance_at_flow(&self, key: FlowKey) -> u32 {
        match self {
            Rates::MaxMin(rates) => rates.glance_at_flow(key),
            Rates::Aimd(_) => 0,
        }
    }
    pub fn effort(&self) -> Effort {
        match self {
            Rates::MaxMin(rates) => rates.effort(),
            Rates::Aimd(_) => Effort::default(),
        }
    }
}
