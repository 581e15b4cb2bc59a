//! A clock of one program that is wrong: it is slow, and steps while the program runs.

pub use slotline_preload::Clock;
use slotline_preload::{Dilation, Now, PreloadError, SharedTime};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The clocks of the programs that have [`FaultyClock::variables`] in their environment.
#[derive(Clone, Debug)]
pub struct FaultyClock {
    library: PathBuf,
    time: SharedTime,
}

impl FaultyClock {
    /// Clocks that are slow by so many parts per million, at most 1,000. The files of programs are in `folder`.
    ///
    /// # Errors
    /// A file cannot be written, or this system has no library for programs.
    pub fn slow_by(ppm: u16, folder: &Path) -> Result<FaultyClock, PreloadError> {
        let library = slotline_preload::install(folder)?;
        let rate = Dilation::new(1_000_000 + u64::from(ppm.min(1_000)), 1_000_000)?;
        let time = SharedTime::create(&folder.join("clock"), rate, Now::read())?;
        Ok(FaultyClock { library, time })
    }
    /// Puts one of the clocks forward by so many milliseconds, or back if they are negative.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn step(&mut self, clock: Clock, by_ms: i32) -> Result<(), PreloadError> {
        self.time.step(clock, i64::from(by_ms) * 1_000_000)
    }
    /// Names and values of environment variables.
    pub fn variables(&self) -> Vec<(String, OsString)> {
        slotline_preload::environment(&self.library, Some(&self.time), None)
    }
}
