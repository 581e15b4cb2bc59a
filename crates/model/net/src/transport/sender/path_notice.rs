//! The network's information about paths: in every acknowledgement, and in separate messages.
//!
//! An acknowledgement carries the state at the time when it left the far rack. A message carries the present state, or
//! the next one. After a message, the state in acknowledgements is ignored until they are for data that was sent after
//! the message took effect. If a later message is lost, acknowledgements carry the same information a round trip later.

use super::Sender;
use super::loss_detection::LossDetection;
use crate::frame::{Circuits, Packet};
use crate::time::Time;
use crate::transport::congestion::Congestion;

/// The content of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathNotice {
    circuits: Circuits,
    /// The time from which it holds.
    from: Time,
}

impl Sender {
    /// Handles a message from the switch of the rack: the class of path that is active from `from` on, and whether a
    /// circuit is announced. Segments from now on are for that path. They should be sent with the next acknowledgement,
    /// if one will arrive ([`Self::is_quiet`]), because all hosts of a rack get the message at the same time.
    pub fn on_path_news(&mut self, circuits: Circuits, from: Time) {
        self.notice = Some(PathNotice { circuits, from });
        if let Some(paths) = self.detection.paths_mut() {
            paths.activate(circuits.active());
            self.algorithm.select(paths.active());
        }
        self.algorithm.on_circuit(circuits.announced(), self.recovering);
    }

    /// Whether probably nothing is in the network, so that no acknowledgement will arrive.
    pub fn is_quiet(&self) -> bool {
        match &self.detection {
            LossDetection::PerPath(paths) => paths.is_quiet(),
            _ => self.pipe() == 0,
        }
    }

    /// The state of paths at an acknowledgement of data that was sent `rtt` nanoseconds ago.
    #[inline]
    pub(super) fn circuits_at(&self, packet: &Packet, rtt: u32, now: Time) -> Circuits {
        match self.notice {
            Some(notice) if now.since(Time::ns(rtt.into())) < notice.from => notice.circuits,
            _ => packet.circuits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::FlowId;
    use crate::transport::TransportSpec;
    use crate::transport::congestion::AlgorithmKind;

    const CIRCUIT: Circuits = Circuits::from_bits(64 | 1 << 3).unwrap();

    /// An acknowledgement of the first `una` segments. The echoed segment was sent at `sent`.
    fn ack(una: u32, sent: Time, circuits: Circuits) -> Packet {
        Packet { seq: una, stamp: sent.as_ns() as u32, circuits, ..Packet::default() }
    }

    fn connection(kind: AlgorithmKind) -> (Sender, crate::transport::Transport) {
        let transport = TransportSpec::of(kind).build().unwrap();
        let mut sender = Sender::new(&transport);
        sender.push(FlowId(0), 1_000_000, &transport, Time::ZERO);
        (sender, transport)
    }

    /// Sends as many segments as the window allows, and returns their number.
    fn send(sender: &mut Sender, transport: &crate::transport::Transport, now: Time) -> usize {
        std::iter::from_fn(|| sender.next_segment(transport, now)).count()
    }

    #[test]
    fn tdtcp_has_another_window_at_once() {
        let (mut sender, transport) = connection(AlgorithmKind::Tdtcp);
        assert_eq!(send(&mut sender, &transport, Time::ZERO), 10);
        sender.on_path_news(CIRCUIT, Time::us(30));
        assert!(!sender.is_quiet());
        assert_eq!(send(&mut sender, &transport, Time::us(5)), 10, "a window for each path");
        // An acknowledgement from before the message took effect does not have its information.
        sender.on_ack(&ack(1, Time::ZERO, Circuits::default()), &transport, Time::us(20));
        assert_eq!(sender.detection.paths_mut().unwrap().active(), 1);
        // A later one does: the circuit has ended, and the message about it was lost.
        sender.on_ack(&ack(2, Time::us(30), Circuits::default()), &transport, Time::us(90));
        assert_eq!(sender.detection.paths_mut().unwrap().active(), 0);
        sender.on_ack(&ack(3, Time::us(31), CIRCUIT), &transport, Time::us(95));
        assert_eq!(sender.detection.paths_mut().unwrap().active(), 1);
    }

    #[test]
    fn retcp_jumps_at_once_and_once() {
        let (mut sender, transport) = connection(AlgorithmKind::Retcp);
        assert_eq!(send(&mut sender, &transport, Time::ZERO), 10);
        sender.on_path_news(CIRCUIT, Time::us(30));
        assert_eq!(send(&mut sender, &transport, Time::us(5)), 10, "the window has doubled");
        sender.on_ack(&ack(1, Time::ZERO, Circuits::default()), &transport, Time::us(20));
        assert_eq!(sender.window(), 21);
        sender.on_ack(&ack(2, Time::us(5), CIRCUIT), &transport, Time::us(40));
        assert_eq!(sender.window(), 22);
        sender.on_path_news(Circuits::default(), Time::us(50));
        assert_eq!(sender.window(), 11);
        sender.on_ack(&ack(3, Time::us(45), CIRCUIT), &transport, Time::us(60));
        assert_eq!(sender.window(), 12);
    }
}
