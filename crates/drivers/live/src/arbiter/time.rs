//! Network time of an arbiter: its own, or that of another one.

use super::Arbiter;
use crate::channel::LONGEST;
use crate::clock::{Local, NetworkClock, TimeReply};
use crate::config::{ClockSource, span};
use crate::election::{Election, Turn};
use crate::message::Message;
use crate::reference;
use crate::running::unique;
use slotline_net::time::Time;
use std::io;
use std::time::Duration;

/// The time for which a starting arbiter waits for the time of another one, by rank.
pub(super) const PATIENCE: [Duration; 2] =
    [Duration::from_millis(300), Duration::from_millis(1_500)];
/// The interval between its requests meanwhile.
pub(super) const ASKS: Duration = Duration::from_millis(50);

/// The source of network time.
pub(super) enum Source {
    /// Network time began here, at this local time.
    Own { epoch: u64, began: Local },
    /// Network time comes from the arbiter with the number `of`.
    Other { clock: Box<NetworkClock>, of: u32 },
}

impl Source {
    /// Network time that begins now.
    fn begin(of: &ClockSource, clock: &impl Fn() -> Local) -> Source {
        let began = clock();
        // Without a good comparison, the epoch is a number like any other, and agents notice that their system's clocks
        // do not fit it.
        let ahead = reference::ahead(of, clock);
        let epoch = ahead.and_then(|ahead| began.0.checked_add_signed(ahead));
        Source::Own { epoch: epoch.unwrap_or_else(unique), began }
    }
    pub(super) fn now(&mut self, now: Local) -> Option<Time> {
        match self {
            Source::Own { began, .. } => Some(Time::ns(now.since(*began).as_nanos() as u64)),
            Source::Other { clock, .. } => clock.now(now),
        }
    }
    pub(super) fn epoch(&self) -> u64 {
        match self {
            Source::Own { epoch, .. } => *epoch,
            Source::Other { clock, .. } => clock.epoch(),
        }
    }
}

/// Network time, if the node of the scheme may run now.
pub(super) fn time_of_node(
    source: &mut Option<Source>,
    election: &Option<Election>,
    now: Local,
) -> Option<Time> {
    let source = source.as_mut()?;
    let time = source.now(now)?;
    let moment = (source.epoch(), time.as_ns());
    election.as_ref().is_none_or(|election| election.runs(moment)).then_some(time)
}

impl Arbiter {
    pub(super) fn tell_time(&mut self, to: u32, asked: Local, now: Local) {
        let drained = self.is_out(to);
        let Some(source) = &mut self.source else { return };
        let Some(time) = source.now(now) else { return };
        let (time, epoch) = (time.as_ns(), source.epoch());
        let reply = TimeReply { asked, received: time, sent: time, epoch, drained };
        // If the reply is lost, the sender asks again.
        let _ = self.line.send(to, &Message::TimeReply(reply), now);
    }

    /// Handles an answer to a time request. Only the time of other arbiters counts. If this machine's clock has stepped, the node
    /// begins anew.
    pub(super) fn learn_time(
        &mut self,
        from: u32,
        reply: &TimeReply,
        now: Local,
    ) -> io::Result<()> {
        if !self.setup.arbiters.contains(&from) {
            return Ok(());
        }
        match &mut self.source {
            None => {
                let mut clock = NetworkClock::new(&self.setup.clock);
                clock.answered(reply, now);
                self.source = Some(Source::Other { clock: Box::new(clock), of: from });
            }
            // Another epoch belongs to an arbiter that has restarted and asked this one, so it does not count here.
            Some(Source::Other { clock, of }) if *of == from && clock.epoch() == reply.epoch => {
                if clock.answered(reply, now) {
                    self.end_node("this machine's clock has stepped: the log is complete");
                    let turn = self.election.as_mut().map_or(Turn::Stay, |of| of.resign(now));
                    self.apply(turn, now)?;
                }
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// Begins network time anew before its picoseconds, which have 64 bits, are over. Agents notice the new epoch, let
    /// their packets leave, and obey again. An arbiter with the time of another one asks that one again.
    pub(super) fn renew_epoch(&mut self, clock: &impl Fn() -> Local) {
        let now = clock();
        let time = self.source.as_mut().and_then(|source| source.now(now));
        if time.is_none_or(|time| time.as_ns() <= LONGEST.as_nanos() as u64) {
            return;
        }
        (self.seeks, self.asks) = (now, now);
        let own = matches!(self.source, Some(Source::Own { .. }));
        self.source = own.then(|| Source::begin(&self.setup.clock.source, clock));
        self.end_node(
            "network time has begun anew, as it does after 200 days: the log is complete",
        );
    }

    /// Asks other arbiters for the time, and begins network time if no arbiter answers.
    pub(super) fn seek_time(&mut self, clock: &impl Fn() -> Local) {
        let now = clock();
        let patience = PATIENCE[self.setup.rank.min(PATIENCE.len() - 1)];
        let alone = self.setup.arbiters.len() < 2;
        if self.source.is_none() && (alone || now.since(self.seeks) > patience) {
            self.source = Some(Source::begin(&self.setup.clock.source, clock));
        }
        let may_begin = self.knows_network() && self.is_active() && now >= self.begins;
        if self.seat.is_none() && may_begin {
            self.begin(now);
        }
        let follows = !matches!(self.source, Some(Source::Own { .. }));
        if follows && now >= self.asks {
            for &arbiter in self.setup.arbiters.iter().filter(|&&number| number != self.setup.me.0)
            {
                self.line.expect(arbiter, now);
                self.line.send(arbiter, &Message::TimeRequest(now), now);
            }
            let interval = span(self.setup.clock.interval);
            self.asks = now.after(if self.source.is_none() { ASKS } else { interval });
        }
    }
}
