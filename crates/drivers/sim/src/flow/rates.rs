//! The models that compute the rate and the end of each flow: exact max-min fairness, with flows on one or several
//! paths, or TCP's sawtooth.

use super::aimd::{Aimd, AimdOptions};
use super::flow_paths::FlowPath;
use super::maxmin::{Effort, FlowKey, MaxMin};
use super::paced::Paced;
use super::shares::Parts;

/// The model of rates.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Model {
    /// Weighted max-min fairness at any moment.
    MaxMin {
        /// Changes of a link's level by less than this share are ignored. With zero, rates are exact.
        tolerance: f64,
    },
    /// Slow start and additive increase, multiplicative decrease, once a tick.
    Aimd(AimdOptions),
}

/// Flows on links, under one of the models.
#[derive(Clone, Debug)]
pub(super) enum Rates {
    MaxMin(Box<MaxMin>),
    /// Max-min fairness of flows that use several paths at once.
    Spread(Box<MaxMin<Parts>>),
    Aimd(Box<Paced>),
}

impl Model {
    /// Exact max-min fairness.
    pub const FAIR: Model = Model::MaxMin { tolerance: 0.0 };
}

impl Rates {
    /// `spread`: flows use several paths at once.
    pub fn new(model: Model, capacities: &[f64], seed: u64, spread: bool) -> Rates {
        match model {
            Model::MaxMin { tolerance } if spread => {
                Rates::Spread(Box::new(MaxMin::spread(capacities, tolerance)))
            }
            Model::MaxMin { tolerance } => {
                Rates::MaxMin(Box::new(MaxMin::rough(capacities, tolerance)))
            }
            Model::Aimd(options) => {
                Rates::Aimd(Box::new(Paced::new(Aimd::new(capacities, options, seed))))
            }
        }
    }
    /// Advances the time to `now`, in picoseconds.
    pub fn advance(&mut self, now: u64) {
        match self {
            Rates::MaxMin(rates) => rates.advance(now),
            Rates::Spread(rates) => rates.advance(now),
            Rates::Aimd(rates) => rates.advance(now),
        }
    }
    /// Adds a flow. Its links carry shares of it, or all if there are no shares.
    pub fn insert(&mut self, path: FlowPath<'_>, weight: f64, cap: f64, bytes: f64) -> FlowKey {
        match self {
            Rates::MaxMin(rates) => rates.insert(path.links, weight, cap, bytes),
            Rates::Spread(rates) => rates.insert_spread(path, weight, cap, bytes),
            Rates::Aimd(rates) => rates.insert(path, cap, bytes),
        }
    }
    pub fn extend(&mut self, key: FlowKey, bytes: f64) {
        match self {
            Rates::MaxMin(rates) => rates.extend(key, bytes),
            Rates::Spread(rates) => rates.extend(key, bytes),
            Rates::Aimd(rates) => rates.extend(key, bytes),
        }
    }
    pub fn remove(&mut self, key: FlowKey) {
        match self {
            Rates::MaxMin(rates) => rates.remove(key),
            Rates::Spread(rates) => rates.remove(key),
            Rates::Aimd(rates) => rates.remove(key),
        }
    }
    pub fn reroute(&mut self, key: FlowKey, path: FlowPath<'_>) {
        match self {
            Rates::MaxMin(rates) => rates.reroute(key, path.links),
            Rates::Spread(rates) => rates.reroute_spread(key, path),
            Rates::Aimd(rates) => rates.aimd.reroute(key, path),
        }
    }
    pub fn set_capacity(&mut self, link: u32, capacity: f64) {
        match self {
            Rates::MaxMin(rates) => rates.set_capacity(link, capacity),
            Rates::Spread(rates) => rates.set_capacity(link, capacity),
            Rates::Aimd(rates) => rates.aimd.set_capacity(link, capacity),
        }
    }
    pub fn set_cap(&mut self, key: FlowKey, cap: f64) {
        match self {
            Rates::MaxMin(rates) => rates.set_cap(key, cap),
            Rates::Spread(rates) => rates.set_cap(key, cap),
            Rates::Aimd(rates) => rates.aimd.set_cap(key, cap),
        }
    }
    /// The bytes that a flow has not sent by now.
    pub fn left(&self, key: FlowKey) -> f64 {
        match self {
            Rates::MaxMin(rates) => rates.left(key),
            Rates::Spread(rates) => rates.left(key),
            Rates::Aimd(rates) => rates.left(key),
        }
    }
    /// A flow's rate, in bytes per second.
    pub fn rate(&self, key: FlowKey) -> f64 {
        match self {
            Rates::MaxMin(rates) => rates.rate(key),
            Rates::Spread(rates) => rates.rate(key),
            Rates::Aimd(rates) => rates.rate(key),
        }
    }
    /// The time at which the next flow ends.
    pub fn next_end(&mut self) -> Option<u64> {
        match self {
            Rates::MaxMin(rates) => rates.next_end(),
            Rates::Spread(rates) => rates.next_end(),
            Rates::Aimd(rates) => rates.next_end(),
        }
    }
    /// Adds flows to `out` that have ended by now. The caller must remove or extend them.
    pub fn ended(&mut self, out: &mut Vec<FlowKey>) {
        match self {
            Rates::MaxMin(rates) => rates.ended(out),
            Rates::Spread(rates) => rates.ended(out),
            Rates::Aimd(rates) => rates.ended(out),
        }
    }
    /// Replaces `out` with the links of a flow's path.
    pub fn path(&self, key: FlowKey, out: &mut Vec<u32>) {
        out.clear();
        match self {
            Rates::MaxMin(rates) => rates.copy_path(key, out),
            Rates::Spread(rates) => rates.copy_path(key, out),
            Rates::Aimd(rates) => out.extend_from_slice(rates.aimd.path(key)),
        }
    }
    /// Replaces `out` with the shares of a flow that the links of its path carry. It is empty if each carries all.
    pub fn shares(&self, key: FlowKey, out: &mut Vec<f64>) {
        out.clear();
        match self {
            Rates::MaxMin(_) => {}
            Rates::Spread(rates) => out.extend(rates.shares(key)),
            Rates::Aimd(rates) => out.extend_from_slice(rates.aimd.shares(key)),
        }
    }
    /// The rates whose state is prefetched.
    pub fn ahead(&self) -> Option<&MaxMin> {
        match self {
            Rates::MaxMin(rates) => Some(rates),
            Rates::Spread(_) | Rates::Aimd(_) => None,
        }
    }
    pub fn effort(&self) -> Effort {
        match self {
            Rates::MaxMin(rates) => rates.effort(),
            Rates::Spread(rates) => rates.effort(),
            Rates::Aimd(_) => Effort::default(),
        }
    }
}
