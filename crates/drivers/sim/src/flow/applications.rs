//! The applications of hosts: flows and steps that wait for a time or a trigger.

use super::engine::Engine;
use slotline_net::node::host::Plan;
use slotline_net::time::Time;
use slotline_net::workload::{Flow, Start, When};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// An event of an application. Events at the same time are handled in the order of the variants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Due {
    /// The receiver has the last byte of a flow.
    Delivered(u32),
    /// The sender has received its acknowledgement.
    Acked(u32),
    /// A flow starts: its think time is over.
    Flow(u32),
    /// A step is ready.
    Ready(u32),
    /// A step has got its processor.
    Begun(u32),
    /// A step is done.
    Done(u32),
    /// A stream of datagrams pauses, or continues.
    Pause(u32),
    /// A scheme's decision is in force.
    Install(u32),
}

/// Applications of all hosts.
#[derive(Clone, Debug)]
pub(super) struct Applications {
    due: BinaryHeap<Reverse<(u64, Due)>>,
    /// By trigger, the number of completions that it still needs.
    missing: Vec<u32>,
    /// By host and processor, the time at which it is free.
    free: BTreeMap<(u32, u16), u64>,
    /// The streams that pause now.
    silent: BTreeSet<u32>,
}

impl Applications {
    pub fn new(plan: &Plan) -> Applications {
        Applications {
            due: BinaryHeap::new(),
            missing: plan.traffic.triggers.iter().map(|trigger| trigger.count).collect(),
            free: BTreeMap::new(),
            silent: BTreeSet::new(),
        }
    }

    /// Schedules an event at `at`.
    pub fn later(&mut self, at: u64, due: Due) {
        self.due.push(Reverse((at, due)));
    }

    /// The time of the next event.
    pub fn next(&self) -> Option<u64> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    /// The first event that is due by now.
    pub fn take(&mut self, now: u64) -> Option<Due> {
        self.due.peek().filter(|Reverse((at, _))| *at <= now)?;
        self.due.pop().map(|Reverse((_, due))| due)
    }

    /// Counts a completion. Returns whether `trigger` fires.
    fn fires(&mut self, trigger: u32) -> bool {
        let missing = &mut self.missing[trigger as usize];
        let fires = *missing == 1;
        *missing = missing.saturating_sub(1);
        fires
    }
}

impl Engine {
    pub(super) fn happen(&mut self, due: Due) {
        match due {
            Due::Delivered(flow) => self.delivered(flow),
            Due::Acked(flow) => self.flow_done(flow, When::Acked),
            Due::Flow(flow) => self.start_flow(flow),
            Due::Ready(step) => self.begin_step(step),
            Due::Begun(step) => self.count(self.plan.traffic.steps[step as usize].begun),
            Due::Done(step) => self.count(self.plan.traffic.steps[step as usize].then),
            Due::Pause(conn) => self.pause(conn),
            Due::Install(decision) => self.install(decision),
        }
    }

    /// Counts a flow that is complete at `side` towards its triggers.
    pub(super) fn flow_done(&mut self, flow: u32, side: When) {
        let Flow { then, also, .. } = self.plan.traffic.flows[flow as usize];
        self.count(then.filter(|(_, when)| *when == side).map(|(trigger, _)| trigger));
        self.count(also.filter(|_| side == When::Acked));
    }

    /// Counts a completion towards `trigger`, which may fire.
    fn count(&mut self, trigger: Option<u32>) {
        let Some(trigger) = trigger.filter(|&trigger| self.applications.fires(trigger)) else {
            return;
        };
        let plan = std::sync::Arc::clone(&self.plan);
        for &flow in plan.triggered(trigger) {
            self.after(plan.traffic.flows[flow as usize].start, Due::Flow(flow));
        }
        for &step in plan.steps_after(trigger) {
            self.after(plan.traffic.steps[step as usize].start, Due::Ready(step));
        }
    }

    fn after(&mut self, start: Start, due: Due) {
        let delay = match start {
            Start::After { delay, .. } => delay,
            Start::At(_) => Time::ZERO,
        };
        self.applications.later(self.now.saturating_add(delay.as_ps()), due);
    }

    /// Begins a step, which is ready. It waits for its processor.
    fn begin_step(&mut self, at: u32) {
        let step = self.plan.traffic.steps[at as usize];
        let begun = match step.cpu {
            None => self.now,
            Some(cpu) => {
                let free = self.applications.free.entry((step.host.0, cpu)).or_default();
                let begun = self.now.max(*free);
                *free = begun.saturating_add(step.work.as_ps());
                begun
            }
        };
        let done = begun.saturating_add(step.work.as_ps());
        if step.begun.is_some() {
            self.applications.later(begun, Due::Begun(at));
        }
        if step.then.is_some() {
            self.applications.later(done, Due::Done(at));
        }
    }

    /// Pauses or continues a stream of datagrams, if it has not ended.
    fn pause(&mut self, conn: u32) {
        let info = &self.plan.traffic.conns[conn as usize];
        let slotline_net::workload::Carrier::Udp { on, off, .. } = info.carrier else { return };
        let Some(key) = self.senders.key_of(conn) else { return };
        let speaks = self.applications.silent.remove(&conn);
        let (cap, span) = if speaks { (self.cap(conn), on) } else { (0.0, off) };
        if speaks {
            self.begin_burst(conn);
            self.reroute_burst(key, conn);
        } else {
            self.applications.silent.insert(conn);
            self.end_burst(conn);
        }
        self.rates.set_cap(key, cap);
        self.solve_later();
        self.applications.later(self.now.saturating_add(span.as_ps()), Due::Pause(conn));
    }
}
