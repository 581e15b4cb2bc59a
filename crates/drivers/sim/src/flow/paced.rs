//! The progress of flows whose rates change with each tick, and their end times.

use super::aimd::Aimd;
use super::ends::{Ends, Timed};
use super::flow_paths::FlowPath;
use super::maxmin::FlowKey;

/// The progress of a flow.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Progress {
    /// Bytes that were left at `since`.
    left: f64,
    /// Bytes per picosecond since then.
    rate: f64,
    since: u64,
    /// See [`Timed::queued`].
    queued: u64,
}

impl Progress {
    const NONE: Progress = Progress { left: 0.0, rate: 0.0, since: 0, queued: u64::MAX };

    fn left(&self, now: u64) -> f64 {
        self.left - self.rate * (now - self.since) as f64
    }

    fn go_on(&mut self, now: u64, more: f64, rate: f64) {
        *self = Progress { left: self.left(now) + more, rate, since: now, ..*self };
    }
}

impl Timed for Progress {
    fn due(&self) -> u64 {
        let span = (self.left / self.rate).max(0.0).ceil();
        let known = self.rate > 0.0 && span < 9e18;
        if known { self.since.saturating_add(span as u64) } else { u64::MAX }
    }

    fn queued(&mut self) -> &mut u64 {
        &mut self.queued
    }
}

/// Flows with TCP's sawtooth rates.
#[derive(Clone, Debug)]
pub(super) struct Paced {
    pub aimd: Aimd,
    now: u64,
    /// By key.
    paces: Vec<Progress>,
    ends: Ends,
}

impl Paced {
    pub fn new(aimd: Aimd) -> Paced {
        Paced { aimd, now: 0, paces: Vec::new(), ends: Ends::default() }
    }

    pub fn advance(&mut self, now: u64) {
        self.now = now;
    }

    pub fn insert(&mut self, path: FlowPath<'_>, cap: f64, bytes: f64) -> FlowKey {
        let key = self.aimd.insert(path, cap);
        if self.paces.len() <= key.at() {
            self.paces.resize(key.at() + 1, Progress::NONE);
        }
        let pace = &mut self.paces[key.at()];
        *pace = Progress { left: bytes, rate: 0.0, since: self.now, ..*pace };
        key
    }

    pub fn extend(&mut self, key: FlowKey, bytes: f64) {
        let pace = &mut self.paces[key.at()];
        pace.go_on(self.now, bytes, pace.rate);
        self.ends.update(&mut self.paces, key.0);
    }

    pub fn remove(&mut self, key: FlowKey) {
        self.aimd.remove(key);
        self.paces[key.at()].rate = 0.0;
        self.ends.update(&mut self.paces, key.0);
    }

    pub fn left(&self, key: FlowKey) -> f64 {
        self.paces[key.at()].left(self.now)
    }

    /// The rate of a flow in bytes per second.
    pub fn rate(&self, key: FlowKey) -> f64 {
        self.paces[key.at()].rate * 1e12
    }

    pub fn next_end(&mut self) -> Option<u64> {
        self.ends.first(&mut self.paces).map(|(due, _)| due)
    }

    /// Adds one flow to `out` that has ended by now, if there is one.
    pub fn ended(&mut self, out: &mut Vec<FlowKey>) {
        let ended = self.ends.first(&mut self.paces).filter(|(due, _)| *due <= self.now);
        out.extend(ended.map(|(_, key)| FlowKey(key)));
    }

    /// Updates all rates.
    pub fn tick(&mut self) {
        let Paced { aimd, now, paces, ends } = self;
        aimd.tick(|key, rate| {
            let pace = &mut paces[key.at()];
            pace.go_on(*now, 0.0, rate * 1e-12);
            ends.update(paces, key.0);
        });
    }
}
