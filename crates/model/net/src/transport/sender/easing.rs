//! The window falls over a round trip when marks are echoed, as in Linux's state CWR. It lasts from the first mark that
//! causes a reaction until everything that was sent before is acknowledged. In this time, the data in transit follows
//! RFC 6937, and the window does not grow.

use super::super::reduction::Reduction;
use super::{Congestion, Sender};

/// A reduction that has begun.
#[derive(Debug)]
pub(super) struct Easing {
    reduction: Reduction,
    /// It ends when a segment from here on is acknowledged.
    until: u32,
}

impl Easing {
    /// Segments that may be in the network now.
    #[inline]
    pub fn window(&self) -> u32 {
        self.reduction.window()
    }

    /// A segment is sent.
    pub fn send(&mut self) {
        self.reduction.send();
    }
}

impl Sender {
    /// Ends the reduction if more is acknowledged than was sent when it began.
    #[inline]
    pub(super) fn end_easing(&mut self) {
        if self.easing.as_ref().is_some_and(|easing| self.una > easing.until) {
            self.easing = None;
        }
    }

    /// An acknowledgement of `news` segments arrived; the window was `before`. Begins a reduction if the
    /// acknowledgement has made the window smaller, and continues the present one.
    #[cold]
    pub(super) fn ease(&mut self, before: u32, news: u32) {
        let (target, pipe) = (self.algorithm.window(), self.pipe());
        if self.easing.is_none() && !self.recovering && target < before {
            let reduction = Reduction::new(before, target, pipe);
            self.easing = Some(Easing { reduction, until: self.nxt });
        }
        if news > 0 {
            self.easing.iter_mut().for_each(|easing| easing.reduction.on_ack(news, pipe));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Transport;
    use super::*;
    use crate::frame::{ECE, Kind, Packet};
    use crate::id::FlowId;
    use crate::time::Time;
    use crate::transport::congestion::AlgorithmKind;
    use crate::transport::spec::{EcnResponse, TransportSpec};

    /// How many segments each acknowledgement of one segment allows. The first acknowledgement echoes a mark.
    fn windows(kind: AlgorithmKind, ecn_response: EcnResponse, acks: u32) -> Vec<usize> {
        let spec = TransportSpec { ecn: true, ecn_response, ..TransportSpec::of(kind) };
        let transport: Transport = spec.build().unwrap();
        let mut sender = Sender::new(&transport);
        sender.push(FlowId(0), 1_000_000, &transport, Time::ZERO);
        let send = |sender: &mut Sender| {
            std::iter::from_fn(|| sender.next_segment(&transport, Time::us(1))).count()
        };
        assert_eq!(send(&mut sender), 10);
        let ack = |seq| Packet {
            seq,
            kind: Kind::Ack,
            flags: if seq == 1 { ECE } else { 0 },
            ..Packet::default()
        };
        let each = |seq| {
            sender.on_ack(&ack(seq), &transport, Time::us(100));
            send(&mut sender)
        };
        (1..=acks).map(each).collect()
    }

    /// Alpha is 1 at first, so DCTCP halves the window of ten, as NewReno does. Every second acknowledgement allows a
    /// segment until five are in the network, and then every one.
    #[test]
    fn the_window_falls_over_a_round_trip() {
        for kind in [AlgorithmKind::NewReno, AlgorithmKind::Dctcp] {
            let gradual = windows(kind, EcnResponse::Gradual, 11);
            assert_eq!(gradual, [1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1], "{kind:?}");
            let at_once = windows(kind, EcnResponse::AtOnce, 10);
            // The window has grown to six again when five are left in the network.
            assert_eq!(at_once, [0, 0, 0, 0, 0, 2, 1, 1, 1, 1], "{kind:?}");
        }
    }
}
