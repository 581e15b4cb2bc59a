//! One end of a session between neighbours (RFC 5880, section 6.2).

use super::RecoverySpec;
use crate::time::Time;

/// The state of a session at one end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// No hello packet arrives.
    Down,
    /// Hello packets arrive, but the other end receives none yet.
    Init,
    /// Both ends receive hello packets.
    Up,
}

/// One end of a session. It has no clock: the caller reports hello packets and time-outs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Session {
    state: State,
    /// The state in the other end's last hello packet.
    other: State,
}

impl Session {
    /// A session that is up at both ends.
    pub const UP: Session = Session { state: State::Up, other: State::Up };

    /// The state at this end, which every hello packet carries.
    pub fn state(&self) -> State {
        self.state
    }
    /// Whether it is up at both ends, as far as this one knows.
    pub fn is_up(&self) -> bool {
        (self.state, self.other) == (State::Up, State::Up)
    }
    /// A hello packet has arrived. It carries the other end's state.
    pub fn receive(&mut self, other: State) {
        self.other = other;
        self.state = match (self.state, other) {
            (State::Down, State::Down) => State::Init,
            (State::Down, State::Init) | (State::Init, State::Init | State::Up) => State::Up,
            (State::Up, State::Down) => State::Down,
            (same, _) => same,
        };
    }
    /// No hello packet has arrived for [`Session::detection_time`].
    pub fn expire(&mut self) {
        *self = Session { state: State::Down, other: State::Down };
    }
    /// The time from one hello packet to the next.
    pub fn interval(&self, spec: &RecoverySpec) -> Time {
        if self.state == State::Up { spec.interval } else { spec.down_interval }
    }
    /// The time without a hello packet after which the session is down: as many of the other end's intervals as
    /// packets may be missing (RFC 5880, section 6.8.4).
    pub fn detection_time(&self, spec: &RecoverySpec) -> Time {
        let interval = if self.other == State::Up { spec.interval } else { spec.down_interval };
        interval.times(spec.multiplier.into())
    }
}
