//! Priority flow control (IEEE 802.1Qbb): the pauses of classes, and the room that makes a class lossless.

use crate::aqm::spec::PfcSpec;
use crate::frame::{CLASSES, Kind, Packet};
use crate::topology::LinkParams;

/// A pause frame on the wire: the shortest Ethernet frame (64 bytes), preamble (8) and gap (12).
pub const PAUSE_LEN: u16 = 84;

/// Bytes of one class that may still arrive after the decision to pause it, rounded up. They are the packet that led to
/// the decision; the bytes that the sender sends while the pause frame waits for a packet of `mtu` bytes on lane
/// `back`, is sent and travels; the bytes that are then on lane `towards`; and the packet that the sender has begun.
/// With equal lanes this is 2 · delay · rate + 3 · mtu + the pause frame.
pub fn headroom(towards: LinkParams, back: LinkParams, mtu: u64) -> u64 {
    let pace = back.rate.inverse_rate();
    let sent = pace.time_for(mtu) + pace.time_for(u64::from(PAUSE_LEN));
    let reaction = sent + back.delay + towards.delay;
    towards.rate.inverse_rate().bytes_in(reaction) + 1 + 2 * mtu
}

/// Counts the bytes in the switch that arrived by one port, by class, and decides on pauses.
#[derive(Clone, Debug)]
#[repr(C, align(32))]
pub struct Ingress {
    xoff: u64,
    xon: u64,
    headroom: u64,
    /// Lossless classes, as a bit mask.
    lossless: u8,
    paused: u8,
    /// Changes of which the sender has not been notified: classes to pause, and classes to resume.
    pending: (u8, u8),
    held: [Held; CLASSES],
}

/// The bytes of one class that arrived by one port.
#[derive(Clone, Copy, Default, Debug)]
struct Held {
    /// Bytes that count against the common room.
    common: u64,
    /// Bytes in the port's own headroom.
    reserve: u64,
}

impl Ingress {
    /// The state before any arrival. `headroom` is used if the specification gives none. Without a specification no
    /// class is lossless.
    pub fn new(spec: Option<&PfcSpec>, headroom: u64) -> Ingress {
        Ingress {
            xoff: spec.map_or(u64::MAX, |spec| spec.xoff.0),
            xon: spec.map_or(u64::MAX, |spec| spec.xon.0),
            headroom: spec.and_then(|spec| spec.headroom).map_or(headroom, |bytes| bytes.0),
            lossless: spec.map_or(0, PfcSpec::mask),
            paused: 0,
            pending: (0, 0),
            held: [Held::default(); CLASSES],
        }
    }

    /// Whether packets of `class` must not be dropped.
    pub fn is_lossless(&self, class: u8) -> bool {
        self.lossless >> class & 1 == 1
    }

    /// Counts a packet that found common room.
    #[inline]
    pub fn charge(&mut self, class: u8, len: u64) {
        self.held[usize::from(class)].common += len;
        self.review(class);
    }

    /// Takes a packet that found no common room into the headroom. Returns whether it could: its class must be
    /// lossless, and it must fit.
    pub fn charge_reserve(&mut self, class: u8, len: u64) -> bool {
        let Held { reserve, .. } = &mut self.held[usize::from(class)];
        let fits = self.lossless >> class & 1 == 1 && *reserve + len <= self.headroom;
        if fits {
            *reserve += len;
        }
        self.review(class);
        fits
    }

    /// A packet leaves. Headroom is freed first, whichever packet used it. Returns the number of bytes freed in the
    /// common room.
    #[inline]
    pub fn release(&mut self, class: u8, len: u64) -> u64 {
        let held = &mut self.held[usize::from(class)];
        let own = len.min(held.reserve);
        held.reserve -= own;
        held.common -= len - own;
        self.review(class);
        len - own
    }

    /// Whether a packet that arrives and leaves at once has no effect here.
    #[inline]
    pub fn ignores(&self, class: u8, len: u64) -> bool {
        let Held { common, reserve } = self.held[usize::from(class)];
        let is_paused = self.paused >> class & 1 == 1;
        let stays = is_paused || common + len <= self.xoff;
        !self.is_lossless(class) || (stays && reserve == 0)
    }

    /// Pauses a class above `xoff` and whenever it needs headroom, and resumes it at `xon`.
    #[inline]
    fn review(&mut self, class: u8) {
        let bit = 1 << class & self.lossless;
        let Held { common, reserve } = self.held[usize::from(class)];
        let held = common + reserve;
        let (stop, go) = &mut self.pending;
        if self.paused & bit == 0 && (held > self.xoff || reserve > 0) {
            self.paused |= bit;
            (*stop, *go) = (*stop | bit, *go & !bit);
        } else if self.paused & bit != 0 && held <= self.xon && reserve == 0 {
            self.paused &= !bit;
            (*stop, *go) = (*stop & !bit, *go | bit);
        }
    }

    /// Whether a pause frame has to be sent.
    pub fn has_frame(&self) -> bool {
        self.pending != (0, 0)
    }

    /// The pause frame with all pending changes.
    pub fn take_frame(&mut self) -> Option<Packet> {
        if !self.has_frame() {
            return None;
        }
        let (stop, go) = std::mem::take(&mut self.pending);
        let seq = u32::from(stop) | u32::from(go) << 8;
        let class = CLASSES as u8 - 1;
        Some(Packet { seq, class, len: PAUSE_LEN, kind: Kind::Pause, ..Packet::default() })
    }

    /// The link works again: the next frame has the state of all classes, because the sender may have missed frames.
    pub fn restart(&mut self) {
        self.pending = (self.paused, self.lossless & !self.paused);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;
    use crate::units::{Bytes, Rate};
    use proptest::prelude::*;

    fn ingress(headroom: u64) -> Ingress {
        let (xoff, xon) = (Bytes(3_000), Bytes(1_000));
        Ingress::new(Some(&PfcSpec { xoff, xon, headroom: None, classes: vec![3] }), headroom)
    }

    #[test]
    fn headroom_of_equal_lanes() {
        let lane = LinkParams { rate: Rate(10_000_000_000), delay: Time::us(1) };
        assert_eq!(headroom(lane, lane, 1500), 2 * 1250 + 3 * 1500 + 84 + 1);
    }

    #[test]
    fn pauses_above_xoff_and_resumes_at_xon() {
        let mut port = ingress(0);
        port.charge(3, 3_000);
        assert_eq!(port.take_frame(), None);
        port.charge(3, 1);
        assert_eq!(port.take_frame().map(|frame| frame.seq), Some(0x0008));
        assert_eq!((port.release(3, 2_000), port.take_frame()), (2_000, None));
        port.release(3, 1);
        assert_eq!(port.take_frame().map(|frame| frame.seq), Some(0x0800));
    }

    #[test]
    fn other_classes_are_never_paused_nor_given_headroom() {
        let mut port = ingress(5_000);
        port.charge(2, 100_000);
        assert!(!port.charge_reserve(2, 100) && !port.has_frame());
    }

    #[test]
    fn headroom_pauses_at_once_is_bounded_and_freed_first() {
        let mut port = ingress(200);
        port.charge(3, 50);
        assert!(port.charge_reserve(3, 150) && !port.charge_reserve(3, 51));
        assert!(port.take_frame().is_some());
        assert_eq!(port.release(3, 100), 0);
        assert_eq!((port.release(3, 60), port.has_frame()), (10, true));
    }

    #[test]
    fn outdated_changes_are_not_sent_and_a_repaired_link_gets_the_state_again() {
        let mut port = ingress(0);
        port.charge(3, 4_000);
        port.release(3, 4_000);
        assert_eq!(port.take_frame().map(|frame| frame.seq), Some(0x0800));
        port.charge(3, 4_000);
        assert!(port.take_frame().is_some() && port.take_frame().is_none());
        port.restart();
        assert_eq!(port.take_frame().map(|frame| frame.seq), Some(0x0008));
    }

    proptest! {
        /// Packets that are said to have no effect have none, and only those that do not fit below the threshold of a pause,
        /// or use headroom, are said to have one.
        #[test]
        fn what_leaves_at_once_and_is_ignored_has_no_effect(
            steps in prop::collection::vec((0u8..5, 2u8..4, 1u64..1_500), 1..300)
        ) {
            let (mut port, mut held) = (ingress(2_000), Vec::new());
            for (what, class, len) in steps {
                let mut other = port.clone();
                other.charge(class, len);
                other.release(class, len);
                let same = format!("{port:?}") == format!("{other:?}");
                prop_assert!(same || !port.ignores(class, len));
                let uses_headroom = port.held[usize::from(class)].reserve > 0;
                let is_above = port.held[usize::from(class)].common + len > 3_000;
                prop_assert!(port.ignores(class, len) || uses_headroom || is_above);
                match what {
                    0 | 1 => {
                        port.charge(class, len);
                        held.push((class, len));
                    }
                    2 if port.charge_reserve(class, len) => held.push((class, len)),
                    3 => drop(port.take_frame()),
                    _ => {
                        held.pop().into_iter().for_each(|(class, len)| {
                            port.release(class, len);
                        });
                    }
                }
            }
        }
    }
}
