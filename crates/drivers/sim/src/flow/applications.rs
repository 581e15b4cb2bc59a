//! What applications do: flows and steps that wait for a time or a trigger.

use super::engine::Engine;
use slotline_net::node::host::Plan;
use slotline_net::time::Time;
use slotline_net::workload::{Flow, Start, When};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// Something that is due at a time. The order is that in which things of the same time are done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Due {
    /// The receiver has the last byte of a flow.
    Delivered(u32),
    /// The sender knows that it has.
    Acked(u32),
    /// A flow starts: its think time is over.
    Flow(u32),
    /// A step is ready.
    Ready(u32),
    /// A step has its processor.
    Begun(u32),
    /// A step is done.
    Done(u32),
    /// A stream of datagrams falls silent, or goes on.
    Pause(u32),
    /// A scheme's decision is in force.
    Install(u32),
}

/// Applications of all hosts.
#[derive(Clone, Debug)]
pub(super) struct Applications {
    due: BinaryHeap<Reverse<(u64, Due)>>,
    /// By trigger, completions that it still needs.
    missing: Vec<u32>,
    /// By host and processor, when it is free.
    free: BTreeMap<(u32, u16), u64>,
    /// Streams that are silent now.
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

    /// Notes what is due at `at`.
    pub fn later(&mut self, at: u64, due: Due) {
        self.due.push(Reverse((at, due)));
    }

    /// When something is due next.
    pub fn next(&self) -> Option<u64> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    /// The first thing that is due by now.
    pub fn take(&mut self, now: u64) -> Option<Due> {
        self.due.peek().filter(|Reverse((at, _))| *at <= now)?;
        self.due.pop().map(|Reverse((_, due))| due)
    }

    /// Counts a completion; whether `trigger` fires.
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

    /// A flow is complete as seen from `side`: counts towards its triggers.
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

    /// A step is ready: it takes its turn at the processor.
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

    /// A stream of datagrams falls silent, or goes on, if it is still there.
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
