//! The share of a flow that each link of its path carries.

use super::flow_paths::HEAD;
use std::fmt::Debug;

/// By flow and hop, the share of the flow's rate that a link carries.
pub trait Shares: Clone + Debug + Default {
    /// Every share is one.
    const WHOLE: bool;
    /// Makes room for one more flow.
    fn grow(&mut self);
    /// Sets the shares of a flow from its first hop on. The other shares are one.
    fn set(&mut self, flow: u32, shares: &[f64]);
    /// The share at one hop.
    fn of(&self, flow: u32, hop: usize) -> f64;
}

/// Each flow uses one path. Every link of it carries the whole flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Whole;

impl Shares for Whole {
    const WHOLE: bool = true;
    fn grow(&mut self) {}
    fn set(&mut self, _flow: u32, _shares: &[f64]) {}
    #[inline(always)]
    fn of(&self, _flow: u32, _hop: usize) -> f64 {
        1.0
    }
}

/// Flows use several paths at once. Each link carries a share.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// The first shares of each flow, as many as links in a row of [`super::flow_paths::FlowPaths`].
    heads: Vec<[f64; HEAD]>,
    tails: Vec<Vec<f64>>,
}

impl Shares for Parts {
    const WHOLE: bool = false;
    fn grow(&mut self) {
        self.heads.push([1.0; HEAD]);
        self.tails.push(Vec::new());
    }
    fn set(&mut self, flow: u32, shares: &[f64]) {
        let (head, tail) = shares.split_at(shares.len().min(HEAD));
        let at = flow as usize;
        self.heads[at] = std::array::from_fn(|hop| head.get(hop).copied().unwrap_or(1.0));
        self.tails[at].clear();
        self.tails[at].extend_from_slice(tail);
    }
    #[inline(always)]
    fn of(&self, flow: u32, hop: usize) -> f64 {
        match hop.checked_sub(HEAD) {
            None => self.heads[flow as usize][hop],
            Some(hop) => self.tails[flow as usize].get(hop).copied().unwrap_or(1.0),
        }
    }
}
