//! The requests of nodes as plain lists.

use super::{DropReason, Effects, Handover, Note, Payloads, Sink};
use crate::frame::Packet;
use crate::id::{NodeId, PortId};
use crate::time::Time;

/// The requests of nodes, as plain lists that grow with each [`Effects::drain`]. They are for tests.
#[derive(Default)]
pub struct Collected {
    /// The latest span of [`Sink::hold`].
    pub hold: Time,
    /// Ports that were connected to another port: own port, far node and far port.
    pub rewires: Vec<(PortId, NodeId, PortId)>,
    /// Packets for FIFO ports, in order.
    pub sends: Vec<(PortId, Packet)>,
    /// Wake-ups: the time and the token.
    pub wakes: Vec<(Time, u32)>,
    /// Pulled ports that may have something to send.
    pub kicks: Vec<PortId>,
    /// The number of complete flows.
    pub completed: u64,
    /// Packets dropped, by reason.
    pub dropped: [u64; DropReason::COUNT],
    /// The notes, each with its time.
    pub notes: Vec<(Time, Note)>,
    /// Everything that hosts handed over to applications outside, with its time.
    pub handovers: Vec<(Time, Handover)>,
}

impl Collected {
    /// The requests that `effects` holds.
    pub fn of(effects: &mut Effects) -> Collected {
        let mut collected = Collected::default();
        effects.drain(&mut collected);
        collected
    }
}

impl Sink for Collected {
    fn hold(&mut self, span: Time) {
        self.hold = span;
    }
    fn rewire(&mut self, port: PortId, node: NodeId, far: PortId) {
        self.rewires.push((port, node, far));
    }
    fn send(&mut self, port: PortId, packet: &mut Packet, _payloads: &mut Payloads) {
        self.sends.push((port, *packet));
    }
    fn wake(&mut self, at: Time, token: u32) {
        self.wakes.push((at, token));
    }
    fn kick(&mut self, port: PortId) {
        self.kicks.push(port);
    }
    fn complete(&mut self, _flow: u32) {
        self.completed += 1;
    }
    fn dropped(&mut self, reason: DropReason) {
        self.dropped[reason as usize] += 1;
    }
    fn note(&mut self, at: Time, note: Note) {
        self.notes.push((at, note));
    }
    fn hand_over(&mut self, at: Time, what: Handover) {
        self.handovers.push((at, what));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::HostId;
    use crate::node::Cx;

    /// One request of each kind, made twice. Each arrives once, in order.
    #[test]
    fn all_that_was_asked_for_is_handed_over_once() {
        let mut effects = Effects::default();
        effects.keep_notes(Time::us(2));
        let note = Note::Withdrawn { host: HostId(1), dst: HostId(2) };
        for n in 0..2u16 {
            let mut cx = Cx::new(Time::us(1 + u64::from(n)), &mut effects);
            let message = cx.attach((HostId(0), HostId(1)), vec![7; 9], 38, 7);
            cx.hold(Time::ns(u64::from(n)));
            cx.rewire(PortId(n), NodeId(3), PortId(4));
            cx.send(PortId(n), message);
            cx.wake(Time::us(9), n.into());
            cx.kick(PortId(n));
            cx.complete(n.into());
            cx.drop(&message, DropReason::Early);
            cx.note(note);
            cx.hand_over(Handover::Arrived(message));
        }
        let all = Collected::of(&mut effects);
        assert_eq!(all.hold, Time::ns(1), "the latest");
        assert_eq!(all.rewires, [0, 1].map(|n| (PortId(n), NodeId(3), PortId(4))));
        assert_eq!(all.sends.iter().map(|(port, _)| port.0).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(all.wakes, [(Time::us(9), 0), (Time::us(9), 1)]);
        assert_eq!(all.kicks, [PortId(0), PortId(1)]);
        assert_eq!(all.completed, 2);
        assert_eq!(all.dropped, [0, 2, 0, 0, 0, 0, 0]);
        assert_eq!(all.notes, [(Time::us(1), note)], "none from 2 us on");
        assert!(all.sends.iter().all(|(_, packet)| packet.seq == 0), "the handle was free again");
        assert_eq!(
            all.handovers.iter().map(|(at, _)| *at).collect::<Vec<_>>(),
            [1, 2].map(Time::us)
        );
        let rest = Collected::of(&mut effects);
        assert!(rest.sends.is_empty() && rest.wakes.is_empty() && rest.completed == 0);
    }
}
