//! The applications of a workload: flows and steps that wait for a time or for a trigger.

use slotline_net::node::host::Plan;
use slotline_net::time::Time;
use slotline_net::workload::{Flow, Start, When};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

/// An event. Events of the same time are handled in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Due {
    /// A flow starts.
    Flow(u32),
    /// A step is ready.
    Ready(u32),
    /// A step has its processor.
    Begun(u32),
    /// A step is done.
    Done(u32),
}

/// Determines when flows start.
pub struct Applications {
    plan: Arc<Plan>,
    due: BinaryHeap<Reverse<(Time, Due)>>,
    /// For each trigger, the number of completions that it still waits for.
    missing: Vec<u32>,
    /// For each host and processor, the time at which the processor is free.
    free: BTreeMap<(u32, u16), Time>,
}

impl Applications {
    /// The applications of the traffic of `plan`.
    pub fn new(plan: Arc<Plan>) -> Applications {
        let at = |start: Start| match start {
            Start::At(at) => Some(at),
            Start::After { .. } => None,
        };
        let flows = (0..).zip(&plan.traffic.flows);
        let flows = flows.filter_map(|(id, flow)| Some((at(flow.start)?, Due::Flow(id))));
        let steps = (0..).zip(&plan.traffic.steps);
        let steps = steps.filter_map(|(id, step)| Some((at(step.start)?, Due::Ready(id))));
        Applications {
            due: flows.chain(steps).map(Reverse).collect(),
            missing: plan.traffic.triggers.iter().map(|trigger| trigger.count).collect(),
            free: BTreeMap::new(),
            plan,
        }
    }

    /// The time of the next event.
    pub fn next(&self) -> Option<Time> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    /// The next flow that starts by `now`.
    pub fn take(&mut self, now: Time) -> Option<u32> {
        while self.next().is_some_and(|at| at <= now) {
            match self.due.pop()?.0 {
                (_, Due::Flow(flow)) => return Some(flow),
                (at, Due::Ready(step)) => self.begin(step, at),
                (at, Due::Begun(step)) => {
                    self.count(self.plan.traffic.steps[step as usize].begun, at)
                }
                (at, Due::Done(step)) => {
                    self.count(self.plan.traffic.steps[step as usize].then, at)
                }
            }
        }
        None
    }

    /// Notes that a flow is complete at one end: its receiver has all of it, or its sender knows that.
    pub fn done(&mut self, flow: u32, side: When, now: Time) {
        let Flow { then, also, .. } = self.plan.traffic.flows[flow as usize];
        self.count(then.filter(|(_, when)| *when == side).map(|(trigger, _)| trigger), now);
        self.count(also.filter(|_| side == When::Acked), now);
    }

    /// Counts a completion towards `trigger`, which may fire.
    fn count(&mut self, trigger: Option<u32>, now: Time) {
        let Some(trigger) = trigger else { return };
        let missing = &mut self.missing[trigger as usize];
        let fires = *missing == 1;
        *missing = missing.saturating_sub(1);
        if !fires {
            return;
        }
        let plan = Arc::clone(&self.plan);
        for &flow in plan.triggered(trigger) {
            self.after(plan.traffic.flows[flow as usize].start, Due::Flow(flow), now);
        }
        for &step in plan.steps_after(trigger) {
            self.after(plan.traffic.steps[step as usize].start, Due::Ready(step), now);
        }
    }

    fn after(&mut self, start: Start, due: Due, now: Time) {
        let delay = match start {
            Start::After { delay, .. } => delay,
            Start::At(_) => Time::ZERO,
        };
        self.due.push(Reverse((now.after(delay), due)));
    }

    /// Schedules a step that is ready: it begins when its processor is free.
    fn begin(&mut self, at: u32, now: Time) {
        let step = self.plan.traffic.steps[at as usize];
        let begun = match step.cpu {
            None => now,
            Some(cpu) => {
                let free = self.free.entry((step.host.0, cpu)).or_default();
                let begun = now.max(*free);
                *free = begun.after(step.work);
                begun
            }
        };
        self.due.push(Reverse((begun, Due::Begun(at))));
        self.due.push(Reverse((begun.after(step.work), Due::Done(at))));
    }
}
