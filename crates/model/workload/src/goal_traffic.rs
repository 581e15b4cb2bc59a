//! The traffic of a GOAL program: rank *r* runs on host *r*, and messages are flows.
//!
//! An operation is ready when all that it requires is done and all that it "irequires" has begun. A
//! `calc` then waits for its processor and occupies it; processors serve in the order in which
//! operations become ready. A `send` begins at once. It is also done at once if it is not larger than
//! `eager`, like LogGOPSim's messages up to its parameter S. Otherwise it is done when the sender has the last
//! acknowledgement. A `recv` is done when it is ready and its message has arrived.

use super::goal::{Act, Program};
use super::job::{Job, after};
use super::{Role, Start, Step};
use slotline_base::error::SpecError;
use slotline_base::id::HostId;
use slotline_base::time::Time;

/// The options of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    /// The start time.
    pub from: Time,
    /// The sender does not wait for messages up to this size.
    pub eager: u64,
    /// Priority class of all messages.
    pub class: u8,
}

/// Operations by the operation that they wait for: `ops[first[op]..first[op + 1]]`.
struct Waiting {
    first: Vec<u32>,
    ops: Vec<u32>,
}

impl Waiting {
    fn new(program: &Program, counts: impl Fn(&super::goal::Need) -> bool) -> Waiting {
        let mut first = vec![0u32; program.ops.len() + 1];
        let needs = || program.needs.iter().filter(|need| counts(need));
        needs().for_each(|need| first[need.on as usize + 1] += 1);
        (1..first.len()).for_each(|at| first[at] += first[at - 1]);
        let mut place = first.clone();
        let mut ops = vec![0; place[program.ops.len()] as usize];
        for need in needs() {
            ops[place[need.on as usize] as usize] = need.op;
            place[need.on as usize] += 1;
        }
        Waiting { first, ops }
    }
    fn on(&self, op: u32) -> Vec<u32> {
        self.ops[self.first[op as usize] as usize..self.first[op as usize + 1] as usize].to_vec()
    }
}

struct Plan<'a, 'b, 'c> {
    program: &'a Program,
    options: Options,
    job: &'b mut Job<'c>,
    /// For each operation that waits, the trigger that fires when it is ready.
    ready: Vec<Option<u32>>,
    for_begin: Waiting,
    for_end: Waiting,
}

/// Adds the traffic of `program`.
pub(super) fn generate(
    program: &Program,
    options: Options,
    job: &mut Job,
) -> Result<(), SpecError> {
    let mut ready = vec![None; program.ops.len()];
    for need in &program.needs {
        match ready[need.op as usize] {
            Some(trigger) => job.out.await_more(trigger),
            None => {
                let host = HostId(program.ops[need.op as usize].rank);
                ready[need.op as usize] = Some(job.out.trigger(host, 1));
            }
        }
    }
    let for_begin = Waiting::new(program, |need| need.begun);
    let for_end = Waiting::new(program, |need| !need.begun);
    let mut plan = Plan { program, options, job, ready, for_begin, for_end };
    for (at, op) in (0..).zip(&program.ops) {
        if let Act::Calc { ns, cpu } = op.act {
            plan.calc(at, HostId(op.rank), ns, cpu)?;
        }
    }
    program.messages.iter().try_for_each(|(send, receive)| plan.message(*send, *receive))
}

impl Plan<'_, '_, '_> {
    /// The time or trigger at which an operation is ready.
    fn start(&self, op: u32) -> Start {
        self.ready[op as usize].map_or(Start::At(self.options.from), after)
    }

    fn calc(&mut self, op: u32, host: HostId, ns: u64, cpu: u8) -> Result<(), SpecError> {
        let start = self.start(op);
        let begun = self.trigger_for(host, &self.for_begin.on(op))?;
        let then = self.trigger_for(host, &self.for_end.on(op))?;
        let work = Time::ns(1).times(ns);
        self.job.out.step(Step { host, start, work, cpu: Some(cpu.into()), begun, then })
    }

    fn message(&mut self, send: u32, receive: u32) -> Result<(), SpecError> {
        let [sender, receiver] = [send, receive].map(|op| self.program.ops[op as usize]);
        let [src, dst] = [sender.rank, receiver.rank].map(HostId);
        let Act::Send { bytes, .. } = sender.act else { return Ok(()) };
        let start = self.start(send);
        self.at_once(src, start, &self.for_begin.on(send))?;
        let waiting = self.for_end.on(send);
        let acked = if bytes <= self.options.eager {
            self.at_once(src, start, &waiting)?;
            None
        } else {
            self.trigger_for(src, &waiting)?
        };
        let received = self.receive(receive, dst)?;
        if bytes == 0 {
            self.job.out.note("messages of 0 bytes are sent as 1 byte".into());
        }
        let conn = self.job.tcp(src, dst, self.options.class)?;
        let (out, group) = (&mut self.job.out, self.job.group);
        out.flow_with_both(Role::Alone, conn, bytes.max(1), start, [received, acked], group)
    }

    /// The trigger that the arrival of its message counts towards.
    fn receive(&mut self, op: u32, host: HostId) -> Result<Option<u32>, SpecError> {
        let start = self.start(op);
        self.at_once(host, start, &self.for_begin.on(op))?;
        let waiting = self.for_end.on(op);
        match self.ready[op as usize] {
            Some(ready) if !waiting.is_empty() => {
                let both = self.job.out.trigger(host, 2);
                self.step(host, after(ready), both)?;
                self.at_once(host, after(both), &waiting)?;
                Ok(Some(both))
            }
            _ => self.trigger_for(host, &waiting),
        }
    }

    /// A trigger that, when it fires, counts towards the readiness of all of `waiting`.
    fn trigger_for(&mut self, host: HostId, waiting: &[u32]) -> Result<Option<u32>, SpecError> {
        match *waiting {
            [] => Ok(None),
            [one] => Ok(self.ready[one as usize]),
            _ => {
                let trigger = self.job.out.trigger(host, 1);
                self.at_once(host, after(trigger), waiting)?;
                Ok(Some(trigger))
            }
        }
    }

    /// At `start`, the dependency of all of `waiting` is fulfilled.
    fn at_once(&mut self, host: HostId, start: Start, waiting: &[u32]) -> Result<(), SpecError> {
        let ready: Vec<u32> = waiting.iter().filter_map(|op| self.ready[*op as usize]).collect();
        ready.into_iter().try_for_each(|then| self.step(host, start, then))
    }

    fn step(&mut self, host: HostId, start: Start, then: u32) -> Result<(), SpecError> {
        let work = Time::ZERO;
        self.job.out.step(Step { host, start, work, cpu: None, begun: None, then: Some(then) })
    }
}
