//! One end of a session between neighbours (RFC 5880, section 6.2).

use super::RecoverySpec;
use crate::time::Time;

/// The state of a session at one end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Nothing is heard.
    Down,
    /// The other end is heard, but does not hear this one yet.
    Init,
    /// Both ends hear each other.
    Up,
}

/// One end of a session. It knows no clock: it is told what it heard, and that it heard nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Session {
    state: State,
    /// What the other end said last.
    other: State,
}

impl Session {
    /// A session that is up at both ends.
    pub const UP: Session = Session { state: State::Up, other: State::Up };

    /// Its state here, which every hello packet says.
    pub fn state(&self) -> State {
        self.state
    }
    /// Whether it is up at both ends, as far as this one knows.
    pub fn settled(&self) -> bool {
        (self.state, self.other) == (State::Up, State::Up)
    }
    /// A hello packet came.
    pub fn hear(&mut self, said: State) {
        self.other = said;
        self.state = match (self.state, said) {
            (State::Down, State::Down) => State::Init,
            (State::Down, State::Init) | (State::Init, State::Init | State::Up) => State::Up,
            (State::Up, State::Down) => State::Down,
            (same, _) => same,
        };
    }
    /// Nothing came for [`Session::patience`].
    pub fn silence(&mut self) {
        *self = Session { state: State::Down, other: State::Down };
    }
    /// From one hello packet to the next.
    pub fn pace(&self, spec: &RecoverySpec) -> Time {
        if self.state == State::Up { spec.interval } else { spec.down_interval }
    }
    /// For how long nothing may come: as many packets as may be missing, at the pace of the other end.
    pub fn patience(&self, spec: &RecoverySpec) -> Time {
        let pace = if self.other == State::Up { spec.interval } else { spec.down_interval };
        pace.times(spec.multiplier.into())
    }
}
