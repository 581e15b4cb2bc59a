//! A host's state about a controller and its standby.

use crate::wire::Message;
use slotline_net::id::HostId;
use slotline_net::time::Time;
use slotline_net::wire::newer;

/// A controller that decides about some destinations of a host.
pub(super) struct ControllerState {
    /// The stations: the controller, and its standby if there is one. Both get all messages.
    pub stations: Vec<HostId>,
    /// Whether it is silent, so that packets leave uncontrolled.
    pub uncontrolled: bool,
    /// Whether it knows this host.
    pub joined: bool,
    /// Whether a report has to be sent. It is written when it leaves, so it is always up to date.
    pub report: bool,
    /// When the next report is due even if nothing changes; [`Time::MAX`] while there is nothing to do.
    pub beat: Time,
    /// When its last message arrived, or when this host began to report, if that was later.
    pub heard: Time,
    /// Number of the next message to it.
    pub next: u32,
    /// Number of the last directive of this term.
    directive: Option<u32>,
    term: u16,
}

impl ControllerState {
    pub fn new(stations: Vec<HostId>) -> ControllerState {
        ControllerState {
            stations,
            uncontrolled: false,
            joined: false,
            report: false,
            beat: Time::MAX,
            heard: Time::ZERO,
            next: 0,
            directive: None,
            term: 0,
        }
    }
    /// Handles the host's leave: nothing is due any more. Returns whether the controller has to be informed.
    pub fn leave(&mut self) -> bool {
        (self.report, self.uncontrolled, self.beat) = (false, false, Time::MAX);
        std::mem::take(&mut self.joined)
    }
    /// The number of the next message, the number of the last directive, and the term.
    pub fn number(&mut self) -> (u32, u32, u16) {
        let seq = self.next;
        self.next = seq.wrapping_add(1);
        (seq, self.directive.unwrap_or(0), self.term)
    }
    /// Notes a directive. Returns whether it counts: it has to be the latest of the latest term. After a
    /// silence any directive counts.
    pub fn accepts(&mut self, message: &Message, now: Time) -> bool {
        let latest = || self.directive.is_none_or(|last| newer(message.seq, last));
        let counts = self.uncontrolled
            || message.term > self.term
            || (message.term == self.term && latest());
        if counts {
            (self.term, self.directive) = (message.term, Some(message.seq));
            (self.heard, self.uncontrolled) = (now, false);
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Body;

    #[test]
    fn later_terms_and_numbers_count() {
        let mut controller = ControllerState::new(vec![HostId(1)]);
        let mut accepts = |term, seq, silent: bool| {
            controller.uncontrolled |= silent;
            let message =
                Message { host: HostId(0), seq, heard: 0, level: 0, term, body: Body::Alive };
            controller.accepts(&message, Time::ZERO)
        };
        assert!(accepts(0, 5, false) && !accepts(0, 5, false) && !accepts(0, 4, false));
        assert!(accepts(1, 0, false), "the standby has taken over");
        assert!(!accepts(0, 6, false), "the old one does not know yet");
        assert!(accepts(1, 1, false));
        assert!(accepts(0, 0, true), "after a silence");
    }
}
