//! A packet socket that shows the frames of one direction at an interface, each with the time at which the kernel saw it.

use crate::checked;
use crate::ring::{self, Ring, frame_of, word};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// Fields of the header of a frame, `struct tpacket2_hdr`: the time at which the kernel saw it.
const SECONDS: usize = 16;
const NANOSECONDS: usize = 20;
/// Instructions of the kernel's filters (`linux/filter.h`): load a byte, compare, and return.
const LOAD: u16 = 0x30;
const EQUALS: u16 = 0x15;
const RETURN: u16 = 0x06;
/// The place of a frame's direction for filters, and its value for frames that leave.
const DIRECTION: u32 = (-0x1000i32 + 4) as u32;
const LEAVES: u32 = 4;

/// The frames that are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Those that arrive by the interface.
    Arriving,
    /// Those that leave by it, behind its queue.
    Leaving,
}

/// A socket with a ring of frames.
#[derive(Debug)]
pub struct CaptureSocket {
    socket: OwnedFd,
    ring: Ring,
    cut: u64,
}

impl CaptureSocket {
    /// Opens a socket for frames of an interface in the present network namespace. The ring has `blocks` MiB.
    ///
    /// # Errors
    /// There is no such interface, or the kernel refuses.
    pub fn open(interface: &str, direction: Direction, blocks: u16) -> io::Result<CaptureSocket> {
        let socket = ring::socket()?;
        filter(&socket, direction)?;
        let ring = Ring::new(&socket, blocks)?;
        ring::bind(&socket, interface, libc::ETH_P_ALL)?;
        Ok(CaptureSocket { socket, ring, cut: 0 })
    }

    /// Appends the next frame with its prefix to `out`. Returns the time at which the kernel saw it, since 1970.
    pub fn receive(&mut self, out: &mut Vec<u8>) -> Option<Duration> {
        loop {
            let seen = self.ring.take(|bytes| {
                let at = time_of(bytes)?;
                out.extend_from_slice(frame_of(bytes)?);
                Some(at)
            })?;
            match seen {
                Some(at) => return Some(at),
                None => self.cut += 1,
            }
        }
    }

    /// The number of frames since the last call that found no room in the ring, or were too long for it.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn dropped(&mut self) -> io::Result<u64> {
        Ok(ring::dropped(&self.socket)? + std::mem::take(&mut self.cut))
    }
}

/// The time in the bytes after a status.
fn time_of(bytes: &[u8]) -> Option<Duration> {
    let (seconds, nanoseconds) = (word(bytes, SECONDS)?, word(bytes, NANOSECONDS)?);
    (nanoseconds < 1_000_000_000).then(|| Duration::new(seconds.into(), nanoseconds))
}

/// Lets a socket receive frames of one direction only.
fn filter(socket: &OwnedFd, direction: Direction) -> io::Result<()> {
    let (leaves, arrives) = match direction {
        Direction::Leaving => (u32::MAX, 0),
        Direction::Arriving => (0, u32::MAX),
    };
    let instruction = |code, jf, k| libc::sock_filter { code, jt: 0, jf, k };
    let mut program = [
        instruction(LOAD, 0, DIRECTION),
        instruction(EQUALS, 1, LEAVES),
        instruction(RETURN, 0, leaves),
        instruction(RETURN, 0, arrives),
    ];
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    let length = size_of_val(&program) as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);
    let from = (&raw const program).cast();
    // SAFETY: the kernel reads `length` bytes, which are those of `program`, and copies its instructions, which are still there.
    checked(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, from, length) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PREFIX;
    use std::net::UdpSocket;
    use std::time::SystemTime;

    /// A datagram on the loopback interface leaves and arrives, and each socket sees it once.
    #[test]
    fn each_direction_is_seen_once() {
        let open = |direction| CaptureSocket::open("lo", direction, 1);
        let mut sockets = match [Direction::Leaving, Direction::Arriving].map(open) {
            [Ok(leaving), Ok(arriving)] => [leaving, arriving],
            other => return println!("skipped: {other:?}"),
        };
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let text = format!("a datagram of process {}", std::process::id());
        let before = SystemTime::UNIX_EPOCH.elapsed().unwrap();
        receiver.send_to(text.as_bytes(), receiver.local_addr().unwrap()).unwrap();
        receiver.recv(&mut [0; 99]).unwrap();
        let after = SystemTime::UNIX_EPOCH.elapsed().unwrap();
        for socket in &mut sockets {
            let (mut frame, mut times) = (Vec::new(), Vec::new());
            while let Some(at) = socket.receive(&mut frame) {
                times.extend(frame.ends_with(text.as_bytes()).then_some(at));
                // The prefix, Ethernet's header, and IPv4.
                assert!(frame.len() > PREFIX + 14 && frame[PREFIX + 14] >> 4 != 0);
                frame.clear();
            }
            assert_eq!(times.len(), 1);
            assert!((before..=after).contains(&times[0]), "{times:?}");
        }
    }

    #[test]
    fn a_time_is_read_from_the_header() {
        let mut bytes = [0; 28];
        bytes[SECONDS - 4..SECONDS].copy_from_slice(&7u32.to_ne_bytes());
        bytes[NANOSECONDS - 4..NANOSECONDS].copy_from_slice(&9u32.to_ne_bytes());
        assert_eq!(time_of(&bytes), Some(Duration::new(7, 9)));
        bytes[NANOSECONDS - 4..].fill(255);
        assert_eq!(time_of(&bytes), None);
        assert_eq!(time_of(&bytes[..18]), None);
    }
}
