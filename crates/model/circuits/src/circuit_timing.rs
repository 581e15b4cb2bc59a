//! The times and rates that a scheduler plans with: week, night, shortest day, circuit rate, packet rate.

use std::fmt;

/// The times and rates of a hybrid network, not checked yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CircuitTimingSpec {
    /// The period that a scheduler plans at once, in picoseconds.
    pub week: u64,
    /// The time to change circuits, in picoseconds. Changed circuits carry nothing during it.
    pub night: u64,
    /// The shortest day that a scheduler may plan, in picoseconds.
    pub min_day: u64,
    /// The rate of a circuit, in bits per second.
    pub circuit: u64,
    /// The rate of each rack's link to the packet switch, in bits per second. It is zero if there is none.
    pub packet: u64,
}

/// The times and rates of a hybrid network, checked: a week has room for a day and a night, and circuits have
/// a rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CircuitTiming(CircuitTimingSpec);

/// An error in the times and rates of a hybrid network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CircuitTimingError {
    /// The week is shorter than one day and one night.
    Short {
        /// The week, in picoseconds.
        week: u64,
        /// The shortest day plus a night, in picoseconds.
        needed: u64,
    },
    /// The week is longer than the longest week supported. The value is the week, in picoseconds.
    Long(u64),
    /// The shortest day is zero.
    NoDay,
    /// The rate of circuits is zero.
    NoRate,
}

/// The longest week supported, in picoseconds. It is longer than an hour.
const LONGEST: u64 = 1 << 52;

impl fmt::Display for CircuitTimingError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            CircuitTimingError::Short { week, needed } => write!(
                f,
                "a week of {week} ps has no room for a day and a night: it needs at least {needed} ps"
            ),
            CircuitTimingError::Long(week) => {
                write!(f, "a week of {week} ps is too long: at most {LONGEST} ps")
            }
            CircuitTimingError::NoDay => f.write_str("the shortest day is 0 ps: it must be longer"),
            CircuitTimingError::NoRate => {
                f.write_str("circuits have a rate of 0 bit/s: it must be higher")
            }
        }
    }
}

impl std::error::Error for CircuitTimingError {}

impl CircuitTimingSpec {
    /// Etalon's network (§3.4): days of at least 180 us, nights of 20 us, circuits of 80 Gbit/s and a packet
    /// network of 10 Gbit/s. `week` is in picoseconds.
    pub fn etalon(week: u64) -> CircuitTimingSpec {
        let us = 1_000_000;
        let (circuit, packet) = (80_000_000_000, 10_000_000_000);
        CircuitTimingSpec { week, night: 20 * us, min_day: 180 * us, circuit, packet }
    }
    /// Checks the times and rates.
    ///
    /// # Errors
    /// See [`CircuitTimingError`].
    pub fn build(self) -> Result<CircuitTiming, CircuitTimingError> {
        let needed = self.min_day.saturating_add(self.night);
        match self {
            CircuitTimingSpec { circuit: 0, .. } => Err(CircuitTimingError::NoRate),
            CircuitTimingSpec { min_day: 0, .. } => Err(CircuitTimingError::NoDay),
            CircuitTimingSpec { week, .. } if week < needed => {
                Err(CircuitTimingError::Short { week, needed })
            }
            CircuitTimingSpec { week, .. } if week > LONGEST => Err(CircuitTimingError::Long(week)),
            _ => Ok(CircuitTiming(self)),
        }
    }
}

impl CircuitTiming {
    /// The week, in picoseconds.
    pub fn week(&self) -> u64 {
        self.0.week
    }
    /// The night, in picoseconds.
    pub fn night(&self) -> u64 {
        self.0.night
    }
    /// The shortest day, in picoseconds.
    pub fn min_day(&self) -> u64 {
        self.0.min_day
    }
    /// The rate of a circuit, in bits per second.
    pub fn circuit(&self) -> u64 {
        self.0.circuit
    }
    /// The rate of a rack's link to the packet switch, in bits per second.
    pub fn packet(&self) -> u64 {
        self.0.packet
    }
    /// The times and rates as a specification, to change some of them.
    pub fn spec(&self) -> CircuitTimingSpec {
        self.0
    }
    /// The largest number of days in a week, each followed by a night.
    pub fn most_days(&self) -> u64 {
        self.0.week / (self.0.min_day + self.0.night)
    }
    /// The whole bytes that a circuit carries in `span` picoseconds.
    pub fn circuit_bytes(&self, span: u64) -> u64 {
        bytes(span, self.0.circuit)
    }
    /// The whole bytes that a rack's link to the packet switch carries in `span` picoseconds.
    pub fn packet_bytes(&self, span: u64) -> u64 {
        bytes(span, self.0.packet)
    }
}

/// The whole bytes sent in `span` picoseconds at `rate` bits per second.
fn bytes(span: u64, rate: u64) -> u64 {
    let bytes = u128::from(span) * u128::from(rate) / 8_000_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
