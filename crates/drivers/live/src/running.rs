//! The clock of a daemon, and requests to stop it.

use crate::clock::Local;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The interval at which a request to stop is noticed, and the longest wait for a client.
pub(crate) const PATIENCE: Duration = Duration::from_millis(50);

/// The time since which a daemon runs, and whether it was requested to stop.
#[derive(Debug)]
pub struct Running {
    origin: Instant,
    stop: AtomicBool,
}

impl Default for Running {
    fn default() -> Running {
        Running { origin: Instant::now(), stop: AtomicBool::new(false) }
    }
}

impl Running {
    /// The present local time, which is later than zero.
    pub fn now(&self) -> Local {
        Local(self.origin.elapsed().as_nanos() as u64 + 1)
    }
    /// What the kernel's monotonic clock, in ns, shows at the local time zero.
    pub(crate) fn monotonic_origin(&self) -> u64 {
        let read = || {
            let (local, time) = (self.now(), clock_gettime(ClockId::Monotonic));
            (time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64).saturating_sub(local.0)
        };
        // Between the two readings this thread may have to wait.
        (0..8).map(|_| read()).min().unwrap_or_default()
    }
    /// Requests the daemon to stop.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }
    /// Whether the daemon was requested to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

/// Accepts connections and answers them one after another, until the daemon is to stop. A client that disconnects before
/// its answer does not matter.
pub(crate) fn attend<T>(
    running: &Running,
    accept: impl Fn() -> io::Result<T>,
    converse: impl Fn(T) -> io::Result<()>,
) {
    while !running.stopped() {
        match accept() {
            Ok(stream) => drop(converse(stream)),
            Err(_) => std::thread::sleep(PATIENCE),
        }
    }
}

/// A number that no other start of a daemon has, from the time of day.
pub(crate) fn unique() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos() as u64
}

/// An epoll list that wakes a daemon when one of these files is readable.
pub(crate) fn waiting_list(files: &[BorrowedFd<'_>]) -> io::Result<OwnedFd> {
    let list = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (at, file) in files.iter().enumerate() {
        epoll::add(&list, file, EventData::new_u64(at as u64), EventFlags::IN)?;
    }
    Ok(list)
}
