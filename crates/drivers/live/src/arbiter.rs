//! The daemon on the machine of a controller: runs a station of the scheme, and provides network time to hosts.

use crate::clock::Local;
use crate::election::Election;
use crate::hook::Hook;
use crate::line::Line;
use crate::record::Recorder;
use crate::renewal::{Renewal, Request};
use crate::running::{Running, waiting_list};
use crate::seat::Seat;
use crate::status::{ArbiterStatus, Shared};
use slotline_linux::datagrams::Share;
use slotline_linux::wait;
use slotline_net::node::Node;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use time::Source;
use topology::Topology;

mod hearing;
mod node;
mod report;
mod scenario;
mod setup;
mod standby;
mod time;
pub mod topology;

pub use setup::ArbiterSetup;

/// The longest sleep. It bounds the time until a request to stop is noticed.
const NAP: Duration = Duration::from_millis(20);
/// The interval at which the log is written to the disk.
const WRITES: Duration = Duration::from_millis(200);
/// An agent that was heard within this time counts as present.
const PRESENT: Duration = Duration::from_secs(3);
/// The largest number of messages handled before the node runs.
const BURST: usize = 256;

/// A running arbiter.
pub struct Arbiter {
    setup: ArbiterSetup,
    line: Line,
    /// Since when it has looked for the source of network time.
    seeks: Local,
    source: Option<Source>,
    seat: Option<Seat>,
    /// The number of the next start and its node, where this arbiter has to take over quickly.
    spare: Option<(u64, Box<dyn Node>)>,
    /// The node does not begin before this time.
    begins: Local,
    /// Whether this arbiter is the active one, if there are two.
    election: Option<Election>,
    /// Hosts that are out of the schedule, by number, and their names.
    drained: BTreeMap<u32, String>,
    /// The digests of the scenarios that agents have told, by their numbers; 0 of those that have told none.
    scenarios: Vec<u64>,
    /// The network that is discovered.
    topology: Option<Topology>,
    asks: Local,
    /// The time of the next write of the log to the disk.
    writes: Local,
    received: u64,
}

impl Arbiter {
    /// Opens the socket.
    ///
    /// # Errors
    /// The address cannot be used.
    pub fn open(mut setup: ArbiterSetup, now: Local) -> io::Result<Arbiter> {
        let topology =
            setup.discovery.take().map(|(of, assemble)| Topology::new(of, assemble, now));
        let channel = setup.opening(Share::ALL)(now)?;
        let standby = setup.standby.clone();
        let mut arbiter = Arbiter {
            election: standby.map(|standby| Election::new(setup.rank, standby, now)),
            spare: None,
            begins: Local(0),
            setup,
            line: Line::Here(Box::new(channel)),
            seeks: Local(0),
            source: None,
            seat: None,
            drained: BTreeMap::new(),
            scenarios: Vec::new(),
            topology,
            asks: Local(0),
            writes: Local(0),
            received: 0,
        };
        if arbiter.knows_network() {
            arbiter.prepare();
        }
        if arbiter.election.is_some() {
            arbiter.start_program()?;
        }
        Ok(arbiter)
    }

    /// Runs until it is requested to stop.
    ///
    /// # Errors
    /// The socket has failed.
    pub fn run(mut self, running: &Arc<Running>, shared: &Shared<ArbiterStatus>) -> io::Result<()> {
        if self.setup.threads > 1 {
            // Another socket cannot have the address as long as this one is open.
            drop(self.line);
            let of = usize::from(self.setup.threads) - 1;
            let opens = (0..of).map(|at| self.setup.opening(Share { of, at })).collect();
            self.line = Line::there(opens, &self.setup.peers, running, PRESENT)?;
        }
        let list = waiting_list(&[self.line.readable()])?;
        while !running.stopped() {
            let now = running.now();
            shared.carry_out(|request| self.carry_out(request, now));
            let next = self.round(&|| running.now())?;
            shared.show(|| self.status(running.now()));
            self.write_log(now);
            if !next.is_zero() {
                wait::sleep(&list, next.min(NAP))?;
            }
        }
        self.setup.recorder.iter_mut().for_each(Recorder::flush);
        Ok(())
    }

    /// Changes what a request asks for.
    fn carry_out(&mut self, request: Request, now: Local) -> Result<(), String> {
        match request {
            Request::Renew(renewal) => {
                let Renewal { key, peers, quotas, clock, witnesses, .. } = *renewal;
                let named = |number: u32| peers.iter().any(|peer| peer.number == number);
                self.drained.retain(|number, _| named(*number));
                self.line.renew(key, peers, now)?;
                self.line.limit(quotas);
                self.election.iter_mut().for_each(|of| of.renew(witnesses.clone()));
                if let Some(Source::Other { clock: other, .. }) = &mut self.source {
                    other.configure(&clock);
                }
                self.setup.clock = clock;
            }
            Request::ArbiterAnew(setup) => return self.take_scenario(*setup, now),
            Request::AgentAnew(_) => return Err("this daemon is no agent".into()),
            Request::DrainHost { number, name, drained: true } => {
                self.drained.insert(number, name);
            }
            Request::DrainHost { number, .. } => _ = self.drained.remove(&number),
        }
        Ok(())
    }

    /// Writes the log to the disk at intervals, so that it remains if the arbiter is killed.
    fn write_log(&mut self, now: Local) {
        if now >= self.writes {
            self.writes = now.after(WRITES);
            self.setup.recorder.iter_mut().for_each(Recorder::flush);
        }
    }

    /// Does everything that is due by this clock. Returns the time until there is more to do.
    ///
    /// # Errors
    /// The socket has failed.
    pub fn round(&mut self, clock: &impl Fn() -> Local) -> io::Result<Duration> {
        for _ in 0..BURST {
            if !self.hear(clock)? {
                break;
            }
        }
        let now = clock();
        self.renew_epoch(clock);
        self.follow_topology(now);
        self.elect(now)?;
        self.seek_time(clock);
        self.setup.hook.as_mut().map_or(Ok(()), Hook::check)?;
        let next = self.step(now)?;
        let next = match (self.hear_switches(now)?, &self.setup.hook) {
            (true, _) => Duration::ZERO,
            (false, hook) => next.min(hook.as_ref().map_or(NAP, Hook::pause)),
        };
        let next = self.election.as_ref().map_or(next, |of| next.min(of.next(now)));
        Ok(next.min(self.line.attend(now)?))
    }

    /// Whether the node of the scheme runs here: always if there is one arbiter for each controller.
    fn is_active(&self) -> bool {
        self.election.as_ref().is_none_or(|election| election.active().is_some())
    }
}

#[cfg(test)]
mod tests;
