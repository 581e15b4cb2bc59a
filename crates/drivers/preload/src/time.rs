//! Virtual time, its relation to real time, and the file that describes it.

use crate::PreloadError;
use crate::error::at;
use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf, absolute};

const MAGIC: [u8; 8] = *b"SLOTTIME";
const VERSION: u64 = 1;

/// The time dilation factor: the number of real seconds per virtual second (Etalon, §3.3). It is at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dilation {
    numerator: u64,
    denominator: u64,
}

impl Dilation {
    /// `numerator` real seconds for `denominator` virtual ones.
    ///
    /// # Errors
    /// [`PreloadError::Dilation`] if the quotient is below 1, or a number is zero or needs more than 32 bits.
    pub fn new(numerator: u64, denominator: u64) -> Result<Self, PreloadError> {
        let valid = denominator > 0 && numerator >= denominator && numerator <= u64::from(u32::MAX);
        valid
            .then_some(Self { numerator, denominator })
            .ok_or(PreloadError::Dilation { numerator, denominator })
    }
    /// The quotient.
    pub fn factor(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl fmt::Display for Dilation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.denominator {
            1 => write!(f, "{}", self.numerator),
            denominator => write!(f, "{}/{denominator}", self.numerator),
        }
    }
}

/// A clock with an origin of its own. The other clocks of Linux follow one of them, except those of processor
/// time, which stay real.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// `CLOCK_REALTIME`: the time of day.
    Realtime,
    /// `CLOCK_MONOTONIC`: the time since the machine started.
    Monotonic,
}

/// A moment, on both clocks, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Now {
    /// On [`Clock::Realtime`].
    pub realtime: i64,
    /// On [`Clock::Monotonic`].
    pub monotonic: i64,
}

impl Now {
    /// Reads the machine's clocks.
    pub fn read() -> Self {
        Self { realtime: read(ClockId::Realtime), monotonic: read(ClockId::Monotonic) }
    }
    /// The reading of one clock.
    pub fn of(self, clock: Clock) -> i64 {
        match clock {
            Clock::Realtime => self.realtime,
            Clock::Monotonic => self.monotonic,
        }
    }
}

fn read(clock: ClockId) -> i64 {
    let now = clock_gettime(clock);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// The virtual time of the programs of one emulation, in a file that each of them maps.
#[derive(Clone, Debug)]
pub struct SharedTime {
    path: PathBuf,
    dilation: Dilation,
    origin: Now,
    /// What the virtual clocks showed at the origin, with the steps that they have made since.
    shown: Now,
}

impl SharedTime {
    /// Writes the file. At `now` the virtual clocks show the same as the real ones. After that they are slower by the
    /// dilation.
    ///
    /// # Errors
    /// [`PreloadError::File`] if the file cannot be written.
    pub fn create(path: &Path, dilation: Dilation, now: Now) -> Result<Self, PreloadError> {
        let path = absolute(path).map_err(at(path))?;
        let time = Self { path, dilation, origin: now, shown: now };
        fs::write(&time.path, time.to_bytes()).map_err(at(&time.path))?;
        Ok(time)
    }
    /// Puts a virtual clock forward by so many nanoseconds, or back if they are negative, also in programs that run. A clock
    /// that would show more than 64 bits does not change.
    ///
    /// # Errors
    /// [`PreloadError::File`] if the file cannot be written.
    pub fn step(&mut self, clock: Clock, by_ns: i64) -> Result<(), PreloadError> {
        let shown = match clock {
            Clock::Realtime => &mut self.shown.realtime,
            Clock::Monotonic => &mut self.shown.monotonic,
        };
        *shown = shown.checked_add(by_ns).unwrap_or(*shown);
        // In place: programs have mapped this file.
        let file = File::options().write(true).open(&self.path).map_err(at(&self.path))?;
        file.write_all_at(&self.to_bytes(), 0).map_err(at(&self.path))
    }
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// The dilation of the file.
    pub fn dilation(&self) -> Dilation {
        self.dilation
    }
    /// The reading of a virtual clock, rounded down, when the real clock shows `real` nanoseconds.
    pub fn virtual_ns(&self, clock: Clock, real: i64) -> i64 {
        let origin = i128::from(self.origin.of(clock));
        let elapsed = (i128::from(real) - origin) * i128::from(self.dilation.denominator);
        let since = elapsed.div_euclid(i128::from(self.dilation.numerator));
        let shown = i128::from(self.shown.of(clock)) + since;
        shown.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    /// The bytes of `struct time_file` in `c/virtual.c`: each origin is a real and a virtual moment.
    fn to_bytes(&self) -> Vec<u8> {
        let (real, shown) = (self.origin, self.shown);
        let numbers = [VERSION, self.dilation.numerator, self.dilation.denominator];
        let origins = [real.realtime, shown.realtime, real.monotonic, shown.monotonic];
        let mut bytes = MAGIC.to_vec();
        bytes.extend(numbers.iter().flat_map(|number| number.to_ne_bytes()));
        bytes.extend(origins.iter().flat_map(|origin| origin.to_ne_bytes()));
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dilation_is_at_least_1_and_has_32_bits() {
        for (numerator, denominator) in [(0, 1), (1, 0), (1, 2), (1 << 32, 1), (u64::MAX, u64::MAX)]
        {
            let why = Dilation::new(numerator, denominator).unwrap_err().to_string();
            assert!(why.contains(&format!("{numerator}/{denominator}")), "{why}");
        }
        assert_eq!(Dilation::new(20, 1).unwrap().to_string(), "20");
        assert_eq!(Dilation::new(5, 2).unwrap().to_string(), "5/2");
        assert_eq!(Dilation::new(5, 2).unwrap().factor(), 2.5);
    }

    #[test]
    fn virtual_time_is_slower_on_both_sides_of_its_origin() {
        let now = Now { realtime: 1_000_000, monotonic: 5_000 };
        let dilation = Dilation::new(20, 1).unwrap();
        let time = SharedTime { path: PathBuf::new(), dilation, origin: now, shown: now };
        for (real, shown) in
            [(5_000, 5_000), (5_019, 5_000), (5_020, 5_001), (4_999, 4_999), (4_000, 4_950)]
        {
            assert_eq!(time.virtual_ns(Clock::Monotonic, real), shown, "{real}");
        }
        assert_eq!(time.virtual_ns(Clock::Realtime, 1_002_000), 1_000_100);
        assert!(
            time.virtual_ns(Clock::Realtime, i64::MAX) > time.virtual_ns(Clock::Realtime, i64::MIN)
        );
    }
}
