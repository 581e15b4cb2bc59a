//! Checks that traffic can run: every flow must start when all flows before it are complete.

use super::{Flow, Start, Step, Traffic};
use slotline_base::error::SpecError;
use slotline_base::time::Time;

fn wrong(message: String) -> Result<(), SpecError> {
    Err(SpecError::new("workload", message))
}

/// Refuses triggers that cannot fire, connections whose flows are not in order of their start, and
/// flows that would never start.
pub(super) fn check(traffic: &Traffic) -> Result<(), SpecError> {
    check_triggers(traffic)?;
    for conn in &traffic.conns {
        let first = conn.first.at();
        check_order(&traffic.flows[first..first + conn.count as usize])?;
    }
    match DryRun::new(traffic).run() {
        None => Ok(()),
        Some(flow) => wrong(format!("flow {flow} waits for a trigger that depends on itself")),
    }
}

fn check_triggers(traffic: &Traffic) -> Result<(), SpecError> {
    let mut fed = vec![0u32; traffic.triggers.len()];
    let flows = traffic.flows.iter().flat_map(counted);
    let steps = traffic.steps.iter().flat_map(|step| [step.begun, step.then]).flatten();
    flows.chain(steps).for_each(|trigger| fed[trigger as usize] += 1);
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
            // No flow with a start time may follow one with a trigger, because their order would be undefined.
            Start::After { .. } => Time::MAX,
        };
    }
    Ok(())
}

/// A dry run of the traffic: every flow completes at once, and work takes no time.
struct DryRun<'a> {
    traffic: &'a Traffic,
    /// The completions that each trigger still needs.
    missing: Vec<u32>,
    flows: Waiting,
    steps: Waiting,
    released: Vec<bool>,
    /// The number of flows started on each connection.
    started: Vec<u32>,
    /// Connections that may continue.
    active: Vec<u32>,
}

/// The connections and steps that wait for each trigger: `members[first[t]..first[t + 1]]`.
struct Waiting {
    first: Vec<u32>,
    members: Vec<u32>,
}

impl Waiting {
    fn new(triggers: usize, starts: impl Iterator<Item = Start> + Clone) -> Waiting {
        let mut first = vec![0u32; triggers + 1];
        starts.clone().filter_map(awaited).for_each(|trigger| first[trigger + 1] += 1);
        for t in 1..first.len() {
            first[t] += first[t - 1];
        }
        let mut place = first.clone();
        let mut members = vec![0; place[triggers] as usize];
        for (id, start) in starts.enumerate() {
            if let Some(trigger) = awaited(start) {
                members[place[trigger] as usize] = id as u32;
                place[trigger] += 1;
            }
        }
        Waiting { first, members }
    }
    fn range(&self, trigger: usize) -> std::ops::Range<usize> {
        self.first[trigger] as usize..self.first[trigger + 1] as usize
    }
}

/// The triggers that a flow counts towards.
fn counted(flow: &Flow) -> impl Iterator<Item = u32> + use<> {
    flow.then.map(|(trigger, _)| trigger).into_iter().chain(flow.also)
}

fn awaited(start: Start) -> Option<usize> {
    match start {
        Start::After { trigger, .. } => Some(trigger as usize),
        Start::At(_) => None,
    }
}

impl<'a> DryRun<'a> {
    fn new(traffic: &'a Traffic) -> DryRun<'a> {
        let triggers = traffic.triggers.len();
        DryRun {
            traffic,
            missing: traffic.triggers.iter().map(|trigger| trigger.count).collect(),
            flows: Waiting::new(triggers, traffic.flows.iter().map(|flow| flow.start)),
            steps: Waiting::new(triggers, traffic.steps.iter().map(|step| step.start)),
            released: traffic.flows.iter().map(|flow| awaited(flow.start).is_none()).collect(),
            started: vec![0; traffic.conns.len()],
            active: (0..traffic.conns.len() as u32).collect(),
        }
    }

    /// The first flow that never starts, if any.
    fn run(mut self) -> Option<usize> {
        let timed = |step: &&Step| awaited(step.start).is_none();
        let of_step = |step: &Step| [step.begun, step.then].into_iter().flatten();
        self.count(self.traffic.steps.iter().filter(timed).flat_map(of_step).collect());
        while let Some(conn) = self.active.pop() {
            while let Some(flow) = self.next_released(conn) {
                self.started[conn as usize] += 1;
                self.count(counted(&self.traffic.flows[flow]).collect());
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

    /// Counts a completion towards each of `todo`, and towards the triggers of steps that complete as a result.
    fn count(&mut self, mut todo: Vec<u32>) {
        while let Some(trigger) = todo.pop() {
            let trigger = trigger as usize;
            self.missing[trigger] = self.missing[trigger].wrapping_sub(1);
            if self.missing[trigger] != 0 {
                continue;
            }
            for &flow in &self.flows.members[self.flows.range(trigger)] {
                self.released[flow as usize] = true;
                self.active.push(self.traffic.flows[flow as usize].conn.0);
            }
            for &step in &self.steps.members[self.steps.range(trigger)] {
                let Step { begun, then, .. } = self.traffic.steps[step as usize];
                todo.extend(begun.into_iter().chain(then));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Carrier, TrafficBuilder, When};
    use super::*;
    use slotline_base::id::HostId;

    const NOW: Start = Start::At(Time::ZERO);

    fn refusal(fill: impl Fn(&mut TrafficBuilder) -> Result<(), SpecError>) -> String {
        let mut builder = TrafficBuilder::new(3);
        fill(&mut builder).expect("each single call is valid");
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
