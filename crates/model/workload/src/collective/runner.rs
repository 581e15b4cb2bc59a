//! Converts steps into flows, triggers and work.

use super::super::job::{Job, after};
use super::super::{ConnHandle, Role, Start, Step, When};
use super::steps::Move;
use super::{Barrier, Collective};
use slotline_base::error::SpecError;
use slotline_base::id::HostId;
use slotline_base::time::Time;
use slotline_base::units::Bytes;
use std::collections::BTreeMap;

/// The bytes of a barrier message.
const BARRIER_MESSAGE: Bytes = Bytes(64);

/// An operation under construction.
pub(super) struct Runner<'a, 'b, 'c> {
    pub spec: &'a Collective,
    pub job: &'b mut Job<'c>,
    pub hosts: &'a [HostId],
    /// The computing time of each host.
    work: Vec<Time>,
    conns: BTreeMap<(u32, u32), ConnHandle>,
    /// The time or trigger at which each place continues.
    pub next: Vec<Start>,
}

impl<'a, 'b, 'c> Runner<'a, 'b, 'c> {
    pub fn new(
        spec: &'a Collective,
        job: &'b mut Job<'c>,
        hosts: &'a [HostId],
        work: Vec<Time>,
    ) -> Runner<'a, 'b, 'c> {
        let next = vec![Start::At(spec.start); hosts.len()];
        Runner { spec, job, hosts, work, conns: BTreeMap::new(), next }
    }

    pub fn host(&self, place: u32) -> HostId {
        self.hosts[place as usize]
    }

    pub fn trigger(&mut self, place: u32, count: u32) -> u32 {
        let host = self.host(place);
        self.job.out.trigger(host, count)
    }

    /// Adds a message on the connection between its two places. Its arrival counts towards `then`.
    pub fn send(
        &mut self,
        role: Role,
        Move { from, to, bytes }: Move,
        start: Start,
        then: Option<u32>,
    ) -> Result<(), SpecError> {
        let conn = match self.conns.get(&(from, to)) {
            Some(conn) => *conn,
            None => {
                let conn = self.job.tcp(self.host(from), self.host(to), self.spec.class)?;
                self.conns.insert((from, to), conn);
                conn
            }
        };
        let then = then.map(|trigger| (trigger, When::Received));
        self.job.send_as(role, conn, Bytes(bytes), start, then)
    }

    /// Adds a computation at `place`, from `start` on and on its only processor. Its end counts towards `then`.
    pub fn compute(
        &mut self,
        place: u32,
        start: Start,
        then: Option<u32>,
    ) -> Result<(), SpecError> {
        let (host, work) = (self.host(place), self.work[place as usize]);
        self.job.out.step(Step { host, start, work, cpu: Some(0), begun: None, then })
    }

    /// At `place`, `then` counts when `fired` fires.
    pub fn count(&mut self, place: u32, fired: u32, then: u32) -> Result<(), SpecError> {
        self.at_once(place, after(fired), then)
    }

    fn at_once(&mut self, place: u32, start: Start, then: u32) -> Result<(), SpecError> {
        let (host, work, then) = (self.host(place), Time::ZERO, Some(then));
        self.job.out.step(Step { host, start, work, cpu: None, begun: None, then })
    }

    /// Adds all rounds of an operation that consists of steps.
    pub fn rounds(&mut self, steps: &[Vec<Move>]) -> Result<(), SpecError> {
        for round in 0..self.spec.rounds {
            if round > 0 && self.spec.barrier != Barrier::None {
                self.barrier()?;
            }
            let role = Role::Answer(self.job.out.exchange());
            if self.spec.compute > Time::ZERO {
                for place in 0..self.hosts.len() as u32 {
                    let done = self.trigger(place, 1);
                    self.compute(place, self.next[place as usize], Some(done))?;
                    self.next[place as usize] = after(done);
                }
            }
            for (at, step) in steps.iter().enumerate() {
                if at > 0 && self.spec.barrier == Barrier::Step {
                    self.barrier()?;
                }
                self.step(role, step)?;
            }
        }
        Ok(())
    }

    /// Adds a step. A place continues when it has begun the step and received all messages of the step. Messages
    /// that arrive early must not change the order of the place's own messages.
    fn step(&mut self, role: Role, step: &[Move]) -> Result<(), SpecError> {
        let mut coming = vec![0; self.hosts.len()];
        step.iter().for_each(|message| coming[message.to as usize] += 1);
        let mut received = Vec::with_capacity(coming.len());
        for (place, count) in (0u32..).zip(coming) {
            let begin = self.next[place as usize];
            let late = matches!(begin, Start::After { .. });
            let all = (count > 0).then(|| self.trigger(place, count + u32::from(late)));
            if let Some(all) = all.filter(|_| late) {
                self.at_once(place, begin, all)?;
            }
            received.push(all);
        }
        for message in step {
            let start = self.next[message.from as usize];
            self.send(role, *message, start, received[message.to as usize])?;
        }
        for (next, trigger) in self.next.iter_mut().zip(received) {
            *next = trigger.map_or(*next, after);
        }
        Ok(())
    }

    /// Adds a barrier: every place sends a message to the first place. When it has all, it sends one to every place.
    pub fn barrier(&mut self) -> Result<(), SpecError> {
        let others = 1..self.hosts.len() as u32;
        let all = self.trigger(0, self.hosts.len() as u32);
        self.at_once(0, self.next[0], all)?;
        for from in others.clone() {
            let report = Move { from, to: 0, bytes: BARRIER_MESSAGE.0 };
            self.send(Role::Signal, report, self.next[from as usize], Some(all))?;
        }
        let delay = self.spec.gap;
        self.next[0] = Start::After { trigger: all, delay };
        for to in others {
            let received = self.trigger(to, 1);
            let release = Move { from: 0, to, bytes: BARRIER_MESSAGE.0 };
            self.send(Role::Signal, release, after(all), Some(received))?;
            self.next[to as usize] = Start::After { trigger: received, delay };
        }
        Ok(())
    }
}
