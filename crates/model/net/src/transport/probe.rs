//! Tail loss probes (RFC 8985, section 7): if acknowledgements stop, a probe segment requests one before the
//! retransmission timer expires.

use crate::time::Time;

/// A probe in transit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Gone {
    /// The next new segment after it (TLP.end_seq).
    end: u32,
    /// Whether it is a retransmission (TLP.is_retrans).
    again: bool,
}

/// The probes of a connection, at most one at a time.
#[derive(Debug)]
pub(super) struct Probes {
    /// The time at which the next one is due; [`Time::MAX`] for never.
    pub at: Time,
    /// Whether a probe must be sent now, even if the window is full.
    pub pending: bool,
    gone: Option<Gone>,
}

/// The probe's time-out (section 7.2): two round trips, and for a single segment in transit also the longest delay of
/// its acknowledgement. Before the first round trip there is only the retransmission timer.
pub(super) fn timeout(srtt: Time, under_way: u32, ack_delay: Time, slack: Time) -> Time {
    if srtt == Time::ZERO {
        return Time::MAX;
    }
    srtt.times(2).after(slack).after(if under_way == 1 { ack_delay } else { Time::ZERO })
}

impl Probes {
    /// No probe is due.
    pub const fn new() -> Probes {
        Probes { at: Time::MAX, pending: false, gone: None }
    }

    /// Schedules a probe after `timeout`, or at `limit` if that is earlier, unless one is in transit.
    #[inline]
    pub fn schedule(&mut self, now: Time, timeout: Time, limit: Time) {
        self.at = if self.gone.is_some() { Time::MAX } else { now.after(timeout).min(limit) };
    }

    /// Cancels the probe.
    pub fn cancel(&mut self) {
        (self.at, self.pending) = (Time::MAX, false);
    }

    /// The pending probe is sent. `next` is the next new segment.
    pub fn send(&mut self, next: u32, again: bool) {
        self.cancel();
        self.gone = Some(Gone { end: next, again });
    }

    /// The retransmission timer has expired. All state is reset.
    pub fn reset(&mut self) {
        *self = Probes::new();
    }

    /// All segments below `una` are acknowledged. `advanced`: the acknowledgement covers more than earlier ones.
    /// `selective`: it acknowledges segments beyond `una`. Returns whether the probe has repaired a loss, to which the
    /// sender reacts as to any other loss (section 7.4.2).
    #[inline]
    pub fn on_ack(&mut self, una: u32, advanced: bool, selective: bool) -> bool {
        self.pending &= !advanced;
        let Some(gone) = self.gone.filter(|gone| una >= gone.end) else { return false };
        let beyond = una > gone.end;
        let duplicate = !advanced && !selective;
        if !gone.again || beyond || duplicate {
            self.gone = None;
        }
        gone.again && beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_round_trips_and_for_one_segment_the_delay_of_its_acknowledgement() {
        let (srtt, delay) = (Time::ms(1), Time::ms(200));
        assert_eq!(timeout(srtt, 2, delay, Time::ZERO), Time::ms(2));
        assert_eq!(timeout(srtt, 1, delay, Time::ZERO), Time::ms(202));
        assert_eq!(timeout(srtt, 2, delay, Time::ms(4)), Time::ms(6));
        assert_eq!(timeout(Time::ZERO, 2, delay, Time::ZERO), Time::MAX);
        let mut probes = Probes::new();
        probes.schedule(Time::ms(5), Time::ms(202), Time::ms(150));
        assert_eq!(probes.at, Time::ms(150), "not after the retransmission timer");
    }

    /// The state after a probe, when segments up to 9 were sent.
    fn gone(again: bool) -> Probes {
        let mut probes = Probes::new();
        probes.send(10, again);
        probes.schedule(Time::ZERO, Time::ms(1), Time::ms(2));
        assert_eq!(probes.at, Time::MAX, "one at a time");
        assert!(!probes.on_ack(9, true, false));
        probes
    }

    #[test]
    fn a_new_segment_as_probe_repairs_nothing() {
        let mut probes = gone(false);
        assert!(!probes.on_ack(10, true, false));
        assert_eq!(probes.gone, None);
    }

    /// Section 7.4.1: the last segment was lost, and the probe took its place.
    #[test]
    fn a_loss_that_the_probe_repaired_is_noticed() {
        let mut probes = gone(true);
        assert!(!probes.on_ack(10, true, false), "it may be the segment or the probe");
        assert!(probes.on_ack(11, true, false));
        assert_eq!(probes.gone, None);
    }

    /// Both segments arrived, so the second is acknowledged as a duplicate.
    #[test]
    fn a_probe_of_what_was_not_lost_is_noticed() {
        let mut probes = gone(true);
        assert!(!probes.on_ack(10, true, false));
        assert!(!probes.on_ack(10, false, false));
        assert!(!probes.on_ack(11, true, false));
    }
}
