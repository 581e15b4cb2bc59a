//! The traffic of a connection matrix: flows, some of which are started by triggers.
//!
//! In htsim a trigger acts at once at all hosts. Here only a host can start its flows, and only after events
//! that it observes. A trigger therefore belongs to the host at which its first flow begins. This host observes
//! the end of the flows that it receives, and the last acknowledgement of the flows that it sends. The ends of
//! other flows are reported to it by a host that observes them, with a message of [`SIGNAL`] bytes. If the
//! trigger also starts flows of other hosts, these hosts are notified in the same way.

use super::cm::{Begin, CmFlow, Matrix, Shots};
use super::job::{Job, after};
use super::text::LineError;
use super::{ConnHandle, Role, Start, Step, When};
use slotline_base::error::{SpecError, SpecErrorKind};
use slotline_base::id::HostId;
use slotline_base::time::Time;
use slotline_base::units::Bytes;
use std::collections::BTreeMap;

/// Size of the message by which one host notifies another of an event.
pub const SIGNAL: Bytes = Bytes(64);

/// The classes of the flows of a matrix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Classes<'a> {
    /// The class of flows without a priority, and of all flows if priorities do not become classes.
    pub default: u8,
    /// The class of each priority, if priorities become classes.
    pub by_priority: Option<&'a BTreeMap<u32, u8>>,
}

impl Classes<'_> {
    fn of(&self, flow: &CmFlow) -> u8 {
        let class = self.by_priority.zip(flow.prio).and_then(|(map, prio)| map.get(&prio));
        class.copied().unwrap_or(self.default)
    }
}

/// The cause of a trigger's activation: the end of a flow, as its sender or its receiver observes it.
#[derive(Clone, Copy)]
struct Cause {
    flow: usize,
    received: bool,
}

/// A trigger with the flows that activate it and the flows that it starts.
struct Use<'a> {
    shots: Shots,
    causes: Vec<Cause>,
    started: Vec<&'a CmFlow>,
}

/// Adds the flows of `matrix`. Their start times count from `from`.
pub(super) fn generate(
    matrix: &Matrix,
    classes: Classes,
    from: Time,
    job: &mut Job,
) -> Result<(), Fault> {
    let uses = uses(matrix)?;
    let mut plan = Plan {
        matrix,
        job,
        ends: vec![End::default(); matrix.flows.len()],
        starts: BTreeMap::new(),
    };
    for used in &uses {
        plan.trigger(used)?;
    }
    for (at, flow) in matrix.flows.iter().enumerate() {
        let wrong = |error: SpecError| match error.kind {
            SpecErrorKind::SampleFull => Fault::Spec(error),
            _ => Fault::Line(LineError { line: flow.line, message: error.message }),
        };
        let conn =
            plan.job.tcp(HostId(flow.src), HostId(flow.dst), classes.of(flow)).map_err(wrong)?;
        let start = match flow.begin {
            Begin::At(at) => Start::At(from.after(at)),
            Begin::On(_) => plan.starts[&flow.line],
        };
        let ends = plan.ends[at];
        let group = plan.job.group;
        let sent = plan.job.out.flow_with_both(Role::Alone, conn, flow.bytes, start, ends, group);
        sent.map_err(wrong)?;
    }
    Ok(())
}

/// An error in a line of the file, or in the scenario.
pub(super) enum Fault {
    Line(LineError),
    Spec(SpecError),
}

impl From<LineError> for Fault {
    fn from(error: LineError) -> Fault {
        Fault::Line(error)
    }
}
impl From<SpecError> for Fault {
    fn from(error: SpecError) -> Fault {
        Fault::Spec(error)
    }
}

/// The triggers, in order of their ids, with the flows that activate them and the flows that wait for them.
fn uses(matrix: &Matrix) -> Result<Vec<Use<'_>>, LineError> {
    let empty = |shots| Use { shots, causes: vec![], started: vec![] };
    let mut uses: BTreeMap<u32, Use> =
        matrix.triggers.iter().map(|(id, trigger)| (*id, empty(trigger.shots))).collect();
    for (at, flow) in matrix.flows.iter().enumerate() {
        for (id, received) in [(flow.send_done, false), (flow.recv_done, true)] {
            if let Some(used) = id.and_then(|id| uses.get_mut(&id)) {
                used.causes.push(Cause { flow: at, received });
            }
        }
        if let Begin::On(id) = flow.begin
            && let Some(used) = uses.get_mut(&id)
        {
            used.started.push(flow);
        }
    }
    for (id, used) in &uses {
        let line = matrix.triggers[id].line;
        possible(*id, used).map_err(|message| LineError { line, message })?;
    }
    Ok(uses.into_values().collect())
}

/// Checks that all flows of a trigger can start, and that htsim would not stop with an error.
fn possible(id: u32, used: &Use) -> Result<(), String> {
    let (causes, started) = (used.causes.len(), used.started.len());
    let wrong = |why: String| Err(format!("trigger {id} {why}"));
    match used.shots {
        _ if causes == 0 && started > 0 => {
            wrong(format!("starts {started} flows, but no flow activates it"))
        }
        Shots::Oneshot if causes > 1 => {
            wrong(format!("is a oneshot, but {causes} flows activate it"))
        }
        Shots::Barrier(count) if causes != count as usize => {
            wrong(format!("waits for {count} flows, but {causes} activate it"))
        }
        Shots::Multishot if causes < started => wrong(format!(
            "starts one flow each time, {started} in all, but {causes} flows activate it"
        )),
        _ => Ok(()),
    }
}

/// The triggers that the end of a flow counts towards: one at its receiver and one at its sender.
type End = [Option<u32>; 2];

struct Plan<'a, 'b, 'c> {
    matrix: &'a Matrix,
    job: &'b mut Job<'c>,
    ends: Vec<End>,
    /// The start of the flow of each line.
    starts: BTreeMap<usize, Start>,
}

impl Plan<'_, '_, '_> {
    fn trigger(&mut self, used: &Use) -> Result<(), SpecError> {
        let Some(first) = used.started.first() else { return Ok(()) };
        let here = HostId(first.src);
        match used.shots {
            Shots::Oneshot => self.all(used, here, 1),
            Shots::Barrier(count) => self.all(used, here, count),
            Shots::Multishot => self.one_by_one(used, here),
        }
    }

    /// Starts all flows after `count` activations.
    fn all(&mut self, used: &Use, here: HostId, count: u32) -> Result<(), SpecError> {
        let fired = self.job.out.trigger(here, count);
        for cause in &used.causes {
            self.activate(*cause, here, &[fired])?;
        }
        let mut notified = BTreeMap::from([(here, fired)]);
        for flow in &used.started {
            let there = HostId(flow.src);
            let trigger = match notified.get(&there) {
                Some(trigger) => *trigger,
                None => self.tell(fired, here, there)?,
            };
            notified.insert(there, trigger);
            self.starts.insert(flow.line, after(trigger));
        }
        Ok(())
    }

    /// Starts one flow per activation: the n-th flow waits for n activations.
    fn one_by_one(&mut self, used: &Use, here: HostId) -> Result<(), SpecError> {
        let counts = 1..=used.started.len() as u32;
        let turns: Vec<u32> = counts.map(|count| self.job.out.trigger(here, count)).collect();
        for cause in &used.causes {
            self.activate(*cause, here, &turns)?;
        }
        for (flow, turn) in used.started.iter().zip(turns) {
            let there = HostId(flow.src);
            let trigger = if there == here { turn } else { self.tell(turn, here, there)? };
            self.starts.insert(flow.line, after(trigger));
        }
        Ok(())
    }

    /// Counts the end of a flow towards all triggers of `towards`, which are at host `here`.
    fn activate(&mut self, cause: Cause, here: HostId, towards: &[u32]) -> Result<(), SpecError> {
        let (at, seen) = self.observer(cause, here);
        let slot = usize::from(seen == When::Acked);
        let alone = towards.len() == 1 && !self.shared(cause.flow);
        if at == here && alone {
            self.ends[cause.flow][slot] = Some(towards[0]);
            return Ok(());
        }
        let own = match self.ends[cause.flow][slot] {
            Some(trigger) => trigger,
            None => self.job.out.trigger(at, 1),
        };
        self.ends[cause.flow][slot] = Some(own);
        let known = if at == here { own } else { self.tell(own, at, here)? };
        towards.iter().try_for_each(|&trigger| self.count(known, here, trigger))
    }

    /// Whether a flow activates two triggers, which may then be seen at the same end.
    fn shared(&self, flow: usize) -> bool {
        let flow = &self.matrix.flows[flow];
        flow.send_done.is_some() && flow.recv_done.is_some()
    }

    /// The host that observes the end of a flow for a trigger at `here`, and whether as sender or receiver. It
    /// is `here` if the flow begins or ends there.
    fn observer(&self, cause: Cause, here: HostId) -> (HostId, When) {
        let flow = &self.matrix.flows[cause.flow];
        match (here.0 == flow.src, here.0 == flow.dst) {
            (true, _) => (here, When::Acked),
            (_, true) => (here, When::Received),
            _ if cause.received => (HostId(flow.dst), When::Received),
            _ => (HostId(flow.src), When::Acked),
        }
    }

    /// A trigger at `there` that fires when a message sent on `trigger` arrives.
    fn tell(&mut self, trigger: u32, here: HostId, there: HostId) -> Result<u32, SpecError> {
        let conn: ConnHandle = self.job.tcp(here, there, 0)?;
        let heard = self.job.out.trigger(there, 1);
        let then = Some((heard, When::Received));
        self.job.send_as(Role::Signal, conn, SIGNAL, after(trigger), then)?;
        Ok(heard)
    }

    /// When trigger `from` fires, it counts towards `to`, both at `host`.
    fn count(&mut self, from: u32, host: HostId, to: u32) -> Result<(), SpecError> {
        let (start, work) = (after(from), Time::ZERO);
        let step = Step { host, start, work, cpu: None, begun: None, then: Some(to) };
        self.job.out.step(step)
    }
}

#[cfg(test)]
mod tests;
