//! The part of an arbiter that knows of another one: it is elected, and holds a lease while its node runs.

use super::Arbiter;
use super::time::time_of_node;
use crate::clock::Local;
use crate::election::{Election, Moment, Standby, Standing, Turn};
use crate::hook::Hook;
use crate::message::Message;
use crate::running::unique;
use slotline_net::time::Time;
use std::io;
use std::time::Duration;

impl Arbiter {
    /// Takes over or steps back, and says and asks what is due.
    pub(super) fn elect(&mut self, now: Local) -> io::Result<()> {
        // One that does not know the network leaves control to the other one.
        if self.election.is_none() || !self.knows_network() {
            return Ok(());
        }
        let moment = self.moment(now);
        let Some(election) = &mut self.election else { return Ok(()) };
        let turn = election.check(moment, now);
        self.apply(turn, now)?;
        let due = self.election.as_mut().map(|of| of.due(moment, now)).unwrap_or_default();
        for (to, ask) in due.asks {
            // If it is lost, the next one follows.
            let _ = self.line.send(to, &Message::Ask(ask), now);
        }
        if due.announce || due.beat {
            let arbiters = &self.setup.arbiters;
            let told = self.setup.peers.iter().map(|peer| peer.number);
            let told = told.filter(|to| due.announce || arbiters.contains(to));
            told.collect::<Vec<_>>().into_iter().for_each(|to| self.stand(to, now));
        }
        Ok(())
    }

    fn moment(&mut self, now: Local) -> Option<Moment> {
        let source = self.source.as_mut()?;
        Some((source.epoch(), source.now(now)?.as_ns()))
    }

    pub(super) fn apply(&mut self, turn: Turn, now: Local) -> io::Result<()> {
        match turn {
            Turn::Stay => {}
            Turn::TakeOver => self.begins = now.after(self.pause()),
            Turn::StepBack => {
                // What the program has not read yet is of an old term.
                (self.seat, self.setup.hook) = (None, None);
                self.start_program()?;
                let why = "another arbiter may take over: the log is complete";
                self.setup.recorder.iter_mut().for_each(|recorder| recorder.end(why));
                self.prepare();
            }
        }
        Ok(())
    }

    /// Tells a machine the highest term that this arbiter knows, and whether it is its own.
    pub(super) fn stand(&mut self, to: u32, now: Local) {
        let Some((term, standing)) = self.election.as_ref().map(Election::standing) else { return };
        // If it is lost, the next one follows.
        let _ = self.line.send(to, &Message::Standing(term, standing), now);
    }

    /// The other arbiter has said something about a term.
    pub(super) fn hear_other(
        &mut self,
        term: u64,
        standing: Standing,
        now: Local,
    ) -> io::Result<()> {
        let Some(election) = &mut self.election else { return Ok(()) };
        let turn = election.hear(term, standing, now);
        self.apply(turn, now)
    }

    /// The time from a take-over to the begin of the node. The first line for a circuit switch ends the circuits that racks use
    /// until they have heard of the take-over, so it comes after the announcements.
    fn pause(&self) -> Duration {
        let standby = self.setup.standby.as_ref().filter(|_| self.setup.program.is_some());
        standby.map_or(Duration::ZERO, Standby::announcing)
    }

    /// Starts the operator's program where arbiters are elected. It runs before the arbiter is active: in the first days of
    /// circuits there is no time for that.
    pub(super) fn start_program(&mut self) -> io::Result<()> {
        if let Some(program) = &self.setup.program {
            self.setup.hook = Some(Hook::start(program)?);
        }
        Ok(())
    }

    /// Network time, if the node of the scheme may run now.
    pub(super) fn time_of_node(&mut self, now: Local) -> Option<Time> {
        time_of_node(&mut self.source, &self.election, now)
    }

    /// Makes the node of the next start, if there is none yet: that may take longer than an outage should.
    pub(super) fn prepare(&mut self) {
        if self.spare.is_none() {
            let number = unique();
            // Errors of a scheme were reported when the daemon started.
            self.spare = (self.setup.make)(number).ok().map(|node| (number, node));
        }
    }
}
