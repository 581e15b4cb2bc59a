//! What a scheduler has to work with: week, night, shortest day, rates.

use std::fmt;

/// The numbers of a hybrid network, unchecked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TermsSpec {
    /// What is planned at once, in picoseconds.
    pub week: u64,
    /// What a change of circuits takes, in picoseconds; in it nothing passes.
    pub night: u64,
    /// The shortest day that is planned, in picoseconds.
    pub min_day: u64,
    /// The rate of a circuit, in bits per second.
    pub circuit: u64,
    /// The rate of each rack's link to the packet switch, in bits per second; zero where there is none.
    pub packet: u64,
}

/// The numbers of a hybrid network: a week has room for a day and a night, and circuits carry something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms(TermsSpec);

/// Why no week can be planned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TermsError {
    /// Not even one day and one night fit.
    Short {
        /// The week, in picoseconds.
        week: u64,
        /// The shortest day and a night, in picoseconds.
        needed: u64,
    },
    /// A week that is too long to reckon with.
    Long(u64),
    /// Days of no length.
    NoDay,
    /// Circuits that carry nothing.
    NoRate,
}

/// The longest week, in picoseconds: more than an hour.
const LONGEST: u64 = 1 << 52;

impl fmt::Display for TermsError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            TermsError::Short { week, needed } => write!(
                f,
                "a week of {week} ps has no room for a day and a night: it needs at least {needed} ps"
            ),
            TermsError::Long(week) => {
                write!(f, "a week of {week} ps is too long: at most {LONGEST} ps")
            }
            TermsError::NoDay => f.write_str("the shortest day is 0 ps: it must be longer"),
            TermsError::NoRate => f.write_str("circuits have a rate of 0 bit/s: it must be higher"),
        }
    }
}

impl std::error::Error for TermsError {}

impl TermsSpec {
    /// Etalon's network (§3.4): days of at least 180 us, nights of 20 us, 80 and 10 Gbit/s.
    pub fn etalon(week: u64) -> TermsSpec {
        let us = 1_000_000;
        let (circuit, packet) = (80_000_000_000, 10_000_000_000);
        TermsSpec { week, night: 20 * us, min_day: 180 * us, circuit, packet }
    }
    /// Checks the numbers.
    pub fn build(self) -> Result<Terms, TermsError> {
        let needed = self.min_day.saturating_add(self.night);
        match self {
            TermsSpec { circuit: 0, .. } => Err(TermsError::NoRate),
            TermsSpec { min_day: 0, .. } => Err(TermsError::NoDay),
            TermsSpec { week, .. } if week < needed => Err(TermsError::Short { week, needed }),
            TermsSpec { week, .. } if week > LONGEST => Err(TermsError::Long(week)),
            _ => Ok(Terms(self)),
        }
    }
}

impl Terms {
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
    /// The numbers.
    pub fn spec(&self) -> TermsSpec {
        self.0
    }
    /// The most days that fit into a week, each with its night.
    pub fn most_days(&self) -> u64 {
        self.0.week / (self.0.min_day + self.0.night)
    }
    /// Whole bytes that a circuit carries in a span.
    pub fn circuit_bytes(&self, span: u64) -> u64 {
        bytes(span, self.0.circuit)
    }
    /// Whole bytes that a rack's link to the packet switch carries in a span.
    pub fn packet_bytes(&self, span: u64) -> u64 {
        bytes(span, self.0.packet)
    }
}

/// Picoseconds and bits per second to whole bytes.
fn bytes(span: u64, rate: u64) -> u64 {
    let bytes = u128::from(span) * u128::from(rate) / 8_000_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
