//! The announcements of rounds to hosts and controllers, in messages that delay no pause frame.

use super::super::outbox::Outbox;
use super::super::runs::{Run, slot_parts};
use super::{FabricManager, SEND};
use crate::wire::{Body, Fragment, MAX_CLASSES, MAX_SLOTS, Open};
use slotline_net::id::HostId;
use slotline_net::node::Cx;
use slotline_net::time::Time;

/// A message that is sent when it delays no pause frame.
#[derive(Clone, Copy)]
pub(super) enum QueuedMessage {
    Classes { round: u32, host: HostId, part: u16 },
    Slots { round: u32, controller: usize, part: u16 },
    Reported { host: HostId, report: u32 },
}

impl FabricManager {
    /// Queues the messages about a round. Returns their number.
    pub(super) fn announce(&mut self, run: &Run) -> u64 {
        let before = self.messages.len();
        for controller in 0..self.config.controllers.len() {
            let parts = slot_parts(self.open_under(run, controller).count());
            let message = |part| QueuedMessage::Slots { round: run.number, controller, part };
            let missing = (!run.controllers_ready[controller]).then_some(0..parts);
            self.messages.extend(missing.into_iter().flatten().map(message));
        }
        for &host in self.members.iter().filter(|host| !run.ready[host.at()]) {
            let message = |part| QueuedMessage::Classes { round: run.number, host, part };
            self.messages.extend((0..run.class_parts(host)).map(message));
        }
        (self.messages.len() - before) as u64
    }
    /// The entries of a round for the hosts of a controller.
    fn open_under<'a>(
        &'a self,
        run: &'a Run,
        controller: usize,
    ) -> impl Iterator<Item = Open> + 'a {
        let hosts = &self.config.hosts[controller];
        let here = move |open: &&Open| hosts.iter().any(|(host, _)| *host == open.host);
        run.open.iter().filter(here).copied()
    }
    fn run(&self, number: u32) -> Option<&Run> {
        [&self.current, &self.next].into_iter().flatten().find(|run| run.number == number)
    }
    /// Sends the queued messages that delay no pause frame.
    pub(super) fn send(&mut self, cx: &mut Cx<'_>) {
        let edge = self.current.as_ref().map(Run::due);
        let edge = edge.or(self.next.as_ref().map(|run| run.begin)).unwrap_or(Time::MAX);
        while let Some(&message) = self.messages.front() {
            if let Err(at) = self.port_of(message).may_send(edge, cx.now) {
                if at != self.send_at {
                    self.send_at = at;
                    cx.wake(at, SEND);
                }
                return;
            }
            self.messages.pop_front();
            if let Some((to, body)) = self.body(message, cx.now) {
                let heard = self.tracker.heard(to);
                self.port_of(message).message(to, to, heard, body, cx);
            }
        }
    }
    fn port_of(&mut self, message: QueuedMessage) -> &mut Outbox {
        match message {
            QueuedMessage::Slots { .. } => self.outbox_to_controllers(),
            QueuedMessage::Classes { .. } | QueuedMessage::Reported { .. } => {
                self.outbox_to_hosts()
            }
        }
    }
    fn body(&self, message: QueuedMessage, now: Time) -> Option<(HostId, Body)> {
        match message {
            QueuedMessage::Reported { host, report } => Some((host, Body::Reported(report))),
            QueuedMessage::Classes { round, host, part } => {
                let run = self.run(round)?;
                let of = Fragment { part, parts: run.class_parts(host) };
                let classes =
                    run.classes.of_host(host).chunks(MAX_CLASSES).nth(part.into())?.to_vec();
                let timing = run.timing(now);
                Some((host, Body::Classes { round, part: of, timing, classes }))
            }
            QueuedMessage::Slots { round, controller, part } => {
                let open: Vec<Open> = self.open_under(self.run(round)?, controller).collect();
                let of = Fragment { part, parts: slot_parts(open.len()) };
                let open = open.chunks(MAX_SLOTS).nth(part.into()).unwrap_or(&[]).to_vec();
                let to = self.config.controllers[controller];
                Some((to, Body::Slots { round, part: of, open }))
            }
        }
    }
    /// Repeats the announcements to those that have not confirmed them.
    pub(super) fn repeat(&mut self) {
        if !self.messages.is_empty() {
            return;
        }
        let (current, next) = (self.current.take(), self.next.take());
        for run in [&current, &next].into_iter().flatten() {
            self.announce(run);
        }
        (self.current, self.next) = (current, next);
    }
}
