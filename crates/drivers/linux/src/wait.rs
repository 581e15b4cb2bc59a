//! Sleeping until something happens.

use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Sleeps until a file on an epoll list is ready, at most for `span`. The time-outs of epoll itself are whole
/// milliseconds on older kernels.
pub fn sleep(list: &OwnedFd, span: Duration) -> io::Result<()> {
    let timeout =
        Timespec { tv_sec: span.as_secs() as i64, tv_nsec: i64::from(span.subsec_nanos()) };
    match poll(&mut [PollFd::new(list, PollFlags::IN)], Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Puts the numbers of the ready files on an epoll list into `numbers`, without waiting.
pub fn ready(list: &OwnedFd, numbers: &mut Vec<usize>) -> io::Result<()> {
    let mut events = Vec::with_capacity(256);
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    match epoll::wait(list, rustix::buffer::spare_capacity(&mut events), Some(&at_once)) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    numbers.extend(events.iter().map(|event| event.data.u64() as usize));
    Ok(())
}
