//! Work inside a host, between flows: steps that triggers start, and that count towards triggers.

use super::{Host, token};
use crate::node::Cx;
use crate::time::Time;
use crate::workload::Start;
use std::cmp::Reverse;
use std::collections::VecDeque;

/// An action of a host at a time. Actions of the same time are done in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Due {
    /// A flow starts: its think time is over.
    Flow(u32),
    /// A step is ready.
    Ready(u32),
    /// A step has its processor.
    Begun(u32),
    /// A step is done.
    Done(u32),
}

impl Host {
    /// Records the steps that are ready at a fixed time.
    pub(super) fn plan_steps(&mut self, cx: &mut Cx<'_>) {
        let plan = std::sync::Arc::clone(&self.plan);
        for &step in plan.timed_steps(self.id) {
            if let Start::At(at) = plan.traffic.steps[step as usize].start {
                self.later(at, Due::Ready(step), cx);
            }
        }
    }

    /// Adds an action that is due at `at`.
    pub(super) fn later(&mut self, at: Time, due: Due, cx: &mut Cx<'_>) {
        self.thinking.push(Reverse((at, due)));
        cx.wake(at, token::START);
    }

    /// Starts the steps that wait for `trigger`, which has fired.
    pub(super) fn start_steps(&mut self, trigger: u32, cx: &mut Cx<'_>) {
        let mut todo = VecDeque::new();
        self.ready_after(trigger, &mut todo, cx);
        self.work(todo, cx);
    }

    /// Carries out `todo`, and all actions that follow from it at once.
    pub(super) fn work(&mut self, mut todo: VecDeque<Due>, cx: &mut Cx<'_>) {
        while let Some(due) = todo.pop_front() {
            match due {
                Due::Flow(flow) => self.start_flow(flow, cx),
                Due::Ready(step) => self.begin(step, &mut todo, cx),
                Due::Begun(step) => {
                    self.count_step(self.plan.traffic.steps[step as usize].begun, &mut todo, cx);
                }
                Due::Done(step) => {
                    self.count_step(self.plan.traffic.steps[step as usize].then, &mut todo, cx);
                }
            }
        }
    }

    /// A step is ready. It waits for its processor.
    fn begin(&mut self, at: u32, todo: &mut VecDeque<Due>, cx: &mut Cx<'_>) {
        let step = self.plan.traffic.steps[at as usize];
        let begun = match step.cpu {
            None => cx.now,
            Some(cpu) => {
                if self.cpus.len() <= usize::from(cpu) {
                    self.cpus.resize(usize::from(cpu) + 1, Time::ZERO);
                }
                let free = &mut self.cpus[usize::from(cpu)];
                let begun = cx.now.max(*free);
                *free = begun.after(step.work);
                begun
            }
        };
        for (when, due, counts) in [
            (begun, Due::Begun(at), step.begun.is_some()),
            (begun.after(step.work), Due::Done(at), step.then.is_some()),
        ] {
            match (counts, when <= cx.now) {
                (false, _) => {}
                (true, true) => todo.push_back(due),
                (true, false) => self.later(when, due, cx),
            }
        }
    }

    fn count_step(&mut self, trigger: Option<u32>, todo: &mut VecDeque<Due>, cx: &mut Cx<'_>) {
        if let Some(trigger) = trigger
            && self.count_down(trigger)
        {
            self.start_triggered(trigger, cx);
            self.ready_after(trigger, todo, cx);
        }
    }

    fn ready_after(&mut self, trigger: u32, todo: &mut VecDeque<Due>, cx: &mut Cx<'_>) {
        let plan = std::sync::Arc::clone(&self.plan);
        for &step in plan.steps_after(trigger) {
            match plan.traffic.steps[step as usize].start {
                Start::After { delay, .. } if delay > Time::ZERO => {
                    self.later(cx.now.after(delay), Due::Ready(step), cx);
                }
                _ => todo.push_back(Due::Ready(step)),
            }
        }
    }
}
