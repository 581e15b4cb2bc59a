//! Whether traffic can run: every flow starts once everything before it is complete.

use super::{Flow, Start, Traffic};
use crate::error::SpecError;
use crate::time::Time;

fn wrong(message: String) -> Result<(), SpecError> {
    Err(SpecError::new("workload", message))
}

/// Refuses triggers that cannot fire, connections whose flows are not in order of their start, and
/// flows that would wait for ever.
pub(super) fn check(traffic: &Traffic) -> Result<(), SpecError> {
    check_triggers(traffic)?;
    for conn in &traffic.conns {
        let first = conn.first.at();
        check_order(&traffic.flows[first..first + conn.count as usize])?;
    }
    match Rehearsal::new(traffic).run() {
        None => Ok(()),
        Some(flow) => wrong(format!("flow {flow} waits for a trigger that depends on itself")),
    }
}

fn check_triggers(traffic: &Traffic) -> Result<(), SpecError> {
    let mut fed = vec![0u32; traffic.triggers.len()];
    for (trigger, _) in traffic.flows.iter().filter_map(|flow| flow.then) {
        fed[trigger as usize] += 1;
    }
    for (trigger, have) in traffic.triggers.iter().zip(fed) {
        if trigger.count == 0 || have < trigger.count {
            let (host, count) = (trigger.host.0, trigger.count);
            wrong(format!(
                "a trigger at host {host} needs {count} completions and can get {have}"
            ))?;
        }
    }
    Ok(())
}

fn check_order(flows: &[Flow]) -> Result<(), SpecError> {
    let mut last = Time::ZERO;
    for flow in flows {
        last = match flow.start {
            Start::At(time) if time < last => {
                return wrong(format!(
                    "a connection's flow starts at {time}, after one that starts later"
                ));
            }
            Start::At(time) => time,
            // Nothing timed may follow what waits for a trigger: which is first would be open.
            Start::After { .. } => Time::MAX,
        };
    }
    Ok(())
}

/// Runs the traffic in a network where every flow completes at once.
struct Rehearsal<'a> {
    traffic: &'a Traffic,
    /// Completions each trigger still needs.
    missing: Vec<u32>,
    /// Flows by the trigger they wait for: `waiters[first_waiter[t]..first_waiter[t + 1]]`.
    first_waiter: Vec<u32>,
    waiters: Vec<u32>,
    released: Vec<bool>,
    /// Flows started on each connection.
    started: Vec<u32>,
}

fn awaited(flow: &Flow) -> Option<usize> {
    match flow.start {
        Start::After { trigger, .. } => Some(trigger as usize),
        Start::At(_) => None,
    }
}

impl<'a> Rehearsal<'a> {
    fn new(traffic: &'a Traffic) -> Rehearsal<'a> {
        let mut first_waiter = vec![0u32; traffic.triggers.len() + 1];
        for trigger in traffic.flows.iter().filter_map(awaited) {
            first_waiter[trigger + 1] += 1;
        }
        for t in 1..first_waiter.len() {
            first_waiter[t] += first_waiter[t - 1];
        }
        let mut place = first_waiter.clone();
        let mut waiters = vec![0; place[traffic.triggers.len()] as usize];
        for (id, flow) in traffic.flows.iter().enumerate() {
            if let Some(trigger) = awaited(flow) {
                waiters[place[trigger] as usize] = id as u32;
                place[trigger] += 1;
            }
        }
        Rehearsal {
            traffic,
            missing: traffic.triggers.iter().map(|trigger| trigger.count).collect(),
            first_waiter,
            waiters,
            released: traffic.flows.iter().map(|flow| awaited(flow).is_none()).collect(),
            started: vec![0; traffic.conns.len()],
        }
    }

    /// The first flow that never starts, if any.
    fn run(mut self) -> Option<usize> {
        let mut active: Vec<u32> = (0..self.traffic.conns.len() as u32).collect();
        while let Some(conn) = active.pop() {
            while let Some(flow) = self.next_released(conn) {
                self.started[conn as usize] += 1;
                self.complete(flow, &mut active);
            }
        }
        let stuck = self.traffic.conns.iter().zip(&self.started).find(|(conn, n)| conn.count > **n);
        stuck.map(|(conn, started)| conn.first.at() + *started as usize)
    }

    fn next_released(&self, conn: u32) -> Option<usize> {
        let (at, started) = (&self.traffic.conns[conn as usize], self.started[conn as usize]);
        let flow = at.first.at() + started as usize;
        (started < at.count && self.released[flow]).then_some(flow)
    }

    fn complete(&mut self, flow: usize, active: &mut Vec<u32>) {
        let Some((trigger, _)) = self.traffic.flows[flow].then else {
            return;
        };
        let trigger = trigger as usize;
        self.missing[trigger] = self.missing[trigger].wrapping_sub(1);
        if self.missing[trigger] != 0 {
            return;
        }
        for at in self.first_waiter[trigger]..self.first_waiter[trigger + 1] {
            let waiter = self.waiters[at as usize] as usize;
            self.released[waiter] = true;
            active.push(self.traffic.flows[waiter].conn.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Carrier, TrafficBuilder, When};
    use super::*;
    use crate::id::HostId;

    const NOW: Start = Start::At(Time::ZERO);

    fn refusal(fill: impl Fn(&mut TrafficBuilder) -> Result<(), SpecError>) -> String {
        let mut builder = TrafficBuilder::new(3);
        fill(&mut builder).expect("each call alone is right");
        builder.finish().expect_err("not runnable").to_string()
    }

    fn after(trigger: u32) -> Start {
        Start::After { trigger, delay: Time::ZERO }
    }

    #[test]
    fn a_trigger_needs_enough_completions() {
        let text = refusal(|b| {
            let conn = b.connect(HostId(0), HostId(1), Carrier::Tcp, 0)?;
            let trigger = b.trigger(HostId(1), 2);
            b.flow(conn, 1, NOW, Some((trigger, When::Received)), 0)
        });
        assert!(text.contains("needs 2 completions and can get 1"), "{text}");
    }

    #[test]
    fn starts_on_a_connection_are_in_order() {
        let text = refusal(|b| {
            let conn = b.connect(HostId(0), HostId(1), Carrier::Tcp, 0)?;
            b.flow(conn, 1, Start::At(Time::us(2)), None, 0)?;
            b.flow(conn, 1, Start::At(Time::us(1)), None, 0)
        });
        assert!(text.contains("1us"), "{text}");
    }

    #[test]
    fn a_circle_of_triggers_is_refused() {
        let text = refusal(|b| {
            let there = b.connect(HostId(0), HostId(1), Carrier::Tcp, 0)?;
            let back = b.connect(HostId(1), HostId(0), Carrier::Tcp, 0)?;
            let (at0, at1) = (b.trigger(HostId(0), 1), b.trigger(HostId(1), 1));
            b.flow(there, 1, after(at0), Some((at1, When::Received)), 0)?;
            b.flow(back, 1, after(at1), Some((at0, When::Received)), 0)
        });
        assert!(text.contains("depends on itself"), "{text}");
    }

    #[test]
    fn a_flow_that_waits_for_its_successor_is_refused() {
        let text = refusal(|b| {
            let conn = b.connect(HostId(0), HostId(1), Carrier::Tcp, 0)?;
            let (early, late) = (b.trigger(HostId(0), 1), b.trigger(HostId(0), 1));
            b.flow(conn, 1, NOW, Some((late, When::Acked)), 0)?;
            b.flow(conn, 1, after(early), None, 0)?;
            b.flow(conn, 1, after(late), Some((early, When::Acked)), 0)
        });
        assert!(text.contains("flow 1 "), "{text}");
    }
}
