//! A run that can pause, so that its driver adds flows.

use crate::calendar::Windows;
use crate::engine::{self, Options, Outcome};
use crate::links::own;
use crate::network::{Network, Place};
use crate::parallel::{self, Until, Watch};
use crate::shard::Shard;
use slotline_net::id::{FlowId, NodeId};
use slotline_net::node::host::Host;
use slotline_net::time::Time;
use std::sync::atomic::Ordering;

/// A run that pauses between two windows of time. The result does not depend on the pauses.
pub struct Session {
    shards: Vec<Shard>,
    windows: Windows,
    end: Time,
    threads: usize,
    started: bool,
    /// All events before this time have happened.
    now: u64,
}

impl Session {
    /// A run of `network` before its first event. The number of completions in `options` does not count here.
    pub fn new(network: Network, options: Options) -> Session {
        let (shards, windows) = engine::shards(network, options);
        Session { shards, windows, end: options.end, threads: 1, started: false, now: 0 }
    }

    /// Continues until `to`, until the end of the run, or until `completions` flows are complete. Time stops at the
    /// start of the window that contains `to`.
    pub fn advance(&mut self, to: Time, completions: u64, watch: &Watch) {
        let whole = to >= self.end;
        let pause = self.windows.start(self.windows.of(to.as_ps().min(self.end.as_ps())));
        // Flows that start at time zero can be added until the run begins.
        if pause == 0 && !whole {
            return;
        }
        if !std::mem::replace(&mut self.started, true) {
            self.shards.iter_mut().for_each(|shard| shard.begin(false));
        }
        let end = if whole { self.end.as_ps() } else { pause };
        let until = Until { end, completions };
        let threads = parallel::run(&mut self.shards, self.windows, until, watch);
        self.threads = self.threads.max(threads);
        let handled = self.shards.iter().map(|shard| shard.links.window_end).max().unwrap_or(0);
        let stopped = self.completed() >= completions || watch.cancel.load(Ordering::Relaxed);
        let reached = if stopped { handled } else { end.max(handled) };
        self.now = self.now.max(reached.min(self.end.as_ps()));
    }

    /// The time before which all events have happened. Flows that are added start then or later.
    pub fn now(&self) -> Time {
        Time::ps(self.now)
    }

    /// The number of complete flows.
    pub fn completed(&self) -> u64 {
        self.shards.iter().map(|shard| shard.links.reports.completed).sum()
    }

    /// Informs the hosts at both ends of a flow that was added to the plan of the run.
    pub fn add(&mut self, flow: FlowId, ends: [NodeId; 2]) {
        for node in ends {
            let Some((shard, at)) = self.place(node) else { continue };
            let Place::Host(host) = &mut shard.places[at] else { continue };
            let (time, wakes) = host.add_late(flow);
            for _ in 0..wakes {
                shard.links.schedule(node.at(), time.as_ps(), own::WAKE, 0);
            }
        }
    }

    /// The host at `node`.
    pub fn host(&mut self, node: NodeId) -> Option<&Host> {
        let (shard, at) = self.place(node)?;
        match &shard.places[at] {
            Place::Host(host) => Some(host),
            _ => None,
        }
    }

    fn place(&mut self, node: NodeId) -> Option<(&mut Shard, usize)> {
        let shard = self.shards.iter_mut().rfind(|shard| shard.first_node <= node.at())?;
        let at = node.at() - shard.first_node;
        Some((shard, at))
    }

    /// Ends the run, in which all events until its end have happened. `number` gives flows other numbers in the digest.
    pub fn finish(self, watch: &Watch, number: impl Fn(u32) -> u32) -> Outcome {
        let reached = Time::ps(watch.reached.load(Ordering::Relaxed));
        let mut outcome = engine::gather(self.shards, reached, self.threads);
        engine::number(&mut outcome, number);
        outcome
    }
}
