//! Runs traffic in a network in which every flow takes the same time, whatever else is in transit. Tests compare
//! triggers and steps with it.

use super::{Start, Traffic, When};
use slotline_base::time::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Start(usize),
    End(usize, bool),
    Ready(usize),
    Count(u32),
}

/// The start time of each flow, if the last byte of a flow arrives `one_way` after its start, and the last
/// acknowledgement twice that after its start.
pub fn starts(traffic: &Traffic, one_way: Time) -> Vec<Option<Time>> {
    let mut run = Run {
        traffic,
        missing: traffic.triggers.iter().map(|trigger| i64::from(trigger.count)).collect(),
        started: vec![None; traffic.flows.len()],
        free: BTreeMap::new(),
        events: BinaryHeap::new(),
        number: 0,
    };
    for (step, at) in traffic.steps.iter().enumerate() {
        if let Start::At(time) = at.start {
            run.push(time, Event::Ready(step));
        }
    }
    for (flow, at) in traffic.flows.iter().enumerate() {
        if let Start::At(time) = at.start {
            run.push(time, Event::Start(flow));
        }
    }
    while let Some(Reverse((now, _, event))) = run.events.pop() {
        run.handle(now, event, one_way);
    }
    run.started
}

struct Run<'a> {
    traffic: &'a Traffic,
    missing: Vec<i64>,
    started: Vec<Option<Time>>,
    free: BTreeMap<(u32, u16), Time>,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    number: u64,
}

impl Run<'_> {
    fn push(&mut self, at: Time, event: Event) {
        self.number += 1;
        self.events.push(Reverse((at, self.number, event)));
    }

    fn handle(&mut self, now: Time, event: Event, one_way: Time) {
        match event {
            Event::Start(flow) => {
                assert!(self.started[flow].replace(now).is_none(), "flow {flow} starts twice");
                self.push(now + one_way, Event::End(flow, false));
                self.push(now + one_way + one_way, Event::End(flow, true));
            }
            Event::End(flow, acked) => {
                let flow = &self.traffic.flows[flow];
                let side = if acked { When::Acked } else { When::Received };
                let then = flow.then.filter(|(_, when)| *when == side).map(|(trigger, _)| trigger);
                let also = flow.also.filter(|_| acked);
                then.into_iter()
                    .chain(also)
                    .for_each(|trigger| self.push(now, Event::Count(trigger)));
            }
            Event::Ready(at) => {
                let step = self.traffic.steps[at];
                let mut begun = now;
                if let Some(cpu) = step.cpu {
                    let free = self.free.entry((step.host.0, cpu)).or_insert(Time::ZERO);
                    begun = begun.max(*free);
                    *free = begun + step.work;
                }
                step.begun.into_iter().for_each(|trigger| self.push(begun, Event::Count(trigger)));
                let done = begun + step.work;
                step.then.into_iter().for_each(|trigger| self.push(done, Event::Count(trigger)));
            }
            Event::Count(trigger) => {
                self.missing[trigger as usize] -= 1;
                if self.missing[trigger as usize] == 0 {
                    self.fire(now, trigger);
                }
            }
        }
    }

    fn fire(&mut self, now: Time, fired: u32) {
        let due = |start: Start| match start {
            Start::After { trigger, delay } if trigger == fired => Some(now + delay),
            _ => None,
        };
        for (flow, at) in self.traffic.flows.iter().enumerate() {
            due(at.start).into_iter().for_each(|time| self.push(time, Event::Start(flow)));
        }
        for (step, at) in self.traffic.steps.iter().enumerate() {
            due(at.start).into_iter().for_each(|time| self.push(time, Event::Ready(step)));
        }
    }
}
