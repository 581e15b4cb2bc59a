//! A clock that another program or device keeps right, compared with the local one.

use crate::clock::Local;
use crate::config::ClockSource;
use rustix::time::{DynamicClockId, clock_gettime_dynamic};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The longest time in which the system's clock, or a device, is compared with the local one, and how often that is tried.
const AT_ONCE: [Duration; 2] = [Duration::from_micros(5), Duration::from_micros(20)];
const TRIES: usize = 50;

/// The clock of a source minus the local one, in nanoseconds; without a clock of its own, the source is the system's.
/// `None` if this machine takes the processor away each time, or if the device has failed.
pub fn ahead(source: &ClockSource, clock: &impl Fn() -> Local) -> Option<i64> {
    let system = || SystemTime::now().duration_since(UNIX_EPOCH).ok();
    let (read, at_once): (&dyn Fn() -> Option<Duration>, Duration) = match source {
        ClockSource::Transfer | ClockSource::System => (&system, AT_ONCE[0]),
        ClockSource::Device(path) => {
            let device = File::open(path).ok()?;
            return compare(&|| read(&device).ok(), AT_ONCE[1], clock);
        }
    };
    compare(read, at_once, clock)
}

fn compare(
    read: &dyn Fn() -> Option<Duration>,
    at_once: Duration,
    clock: &impl Fn() -> Local,
) -> Option<i64> {
    let once = || {
        let before = clock();
        let time = read()?.as_nanos() as i64;
        let after = clock();
        let middle = before.0.midpoint(after.0) as i64;
        (after.since(before) <= at_once).then_some(time - middle)
    };
    (0..TRIES).find_map(|_| once())
}

/// The time of a hardware clock.
fn read(device: &File) -> io::Result<Duration> {
    let time = clock_gettime_dynamic(DynamicClockId::Dynamic(device.as_fd()))?;
    let wrong = |_| io::Error::other("the clock is before 1970");
    let seconds = u64::try_from(time.tv_sec).map_err(wrong)?;
    Ok(Duration::from_secs(seconds)
        + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0)))
}

/// Checks that a source can be read.
///
/// # Errors
/// It is a device that this machine does not have, that this user may not read, or that is no clock.
pub fn check(source: &ClockSource) -> io::Result<()> {
    let ClockSource::Device(path) = source else { return Ok(()) };
    let failed =
        |what: &str, error: io::Error| io::Error::new(error.kind(), refusal(path, what, &error));
    let device = File::open(path).map_err(|error| failed("cannot be opened", error))?;
    read(&device).map(drop).map_err(|error| failed("is no hardware clock of PTP", error))
}

fn refusal(path: &Path, what: &str, error: &io::Error) -> String {
    format!(
        "clock.source: `{}` {what} ({error}); `ls /dev/ptp*` shows the clocks of this machine; without one use \"system\" or \
         \"transfer\"",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_clock_is_compared_with_the_local_one() {
        let running = crate::running::Running::default();
        let clock = || running.now();
        let source = ClockSource::System;
        let (Some(one), Some(two)) = (ahead(&source, &clock), ahead(&source, &clock)) else {
            return eprintln!("skipped: this machine took the processor away each time");
        };
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
        assert!(one.abs_diff(two) < 1_000_000_000 && one < since && since - one < 60_000_000_000);
    }

    #[test]
    fn what_is_no_clock_is_refused() {
        let refused =
            |path: &str| check(&ClockSource::Device(path.into())).unwrap_err().to_string();
        assert!(refused("/dev/no-such-clock").contains("`/dev/no-such-clock` cannot be opened"));
        assert!(refused("/dev/null").contains("`/dev/null` is no hardware clock of PTP"));
        assert!(check(&ClockSource::System).is_ok());
        let device = ClockSource::Device("/dev/null".into());
        assert_eq!(ahead(&device, &|| Local(1)), None);
    }

    /// On a machine that has one.
    #[test]
    fn a_hardware_clock_goes_on() {
        let source = ClockSource::Device("/dev/ptp0".into());
        if let Err(why) = check(&source) {
            return eprintln!("skipped: {why}");
        }
        let running = crate::running::Running::default();
        let clock = || running.now();
        if let (Some(one), Some(two)) = (ahead(&source, &clock), ahead(&source, &clock)) {
            assert!(one.abs_diff(two) < 1_000_000, "{one} {two}");
        }
    }
}
