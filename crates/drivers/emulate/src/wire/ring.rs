//! A pair with a packet socket, which has prefixes as TUN has.

use super::{ETHERNET, FAR, Wire, pair};
use crate::port::PREFIX;
use rustix::io::writev;
use slotline_rings::{Frames, PacketSocket};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

/// The size of a ring in MiB: some 250 frames.
const BLOCKS: u16 = 4;
/// The fields of a prefix that count from the beginning of the frame: the length of the headers if the frame is to be split,
/// and where the checksum begins if it is to be computed.
const HEADERS: usize = 2;
const CHECKSUM: usize = 6;

pub(super) struct Ring(PacketSocket);

impl Ring {
    /// Makes the pair in the present network namespace.
    pub fn open(mtu: u16) -> io::Result<Ring> {
        pair(mtu, &format!(" gso_max_size {}", slotline_rings::LONGEST))?;
        Ok(Ring(PacketSocket::open(FAR, Frames::Ipv4, BLOCKS)?))
    }
}

impl Wire for Ring {
    fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<Option<usize>> {
        buffer.clear();
        let is_there = self.0.receive(buffer) && without_ethernet(buffer);
        Ok(is_there.then_some(buffer.len()))
    }

    fn deliver(&mut self, parts: &[IoSlice<'_>]) -> bool {
        let Some((first, rest)) = parts.split_first() else { return false };
        let Some((prefix, head)) = first.split_at_checked(PREFIX) else { return false };
        let mut start = [prefix, &ETHERNET].concat();
        shift(&mut start, |at| at.wrapping_add(ETHERNET.len() as u16));
        let front = [IoSlice::new(&start), IoSlice::new(head)];
        let all: Vec<_> = front.into_iter().chain(rest.iter().copied()).collect();
        writev(&self.0, &all).is_ok()
    }

    fn dropped(&self) -> io::Result<u64> {
        self.0.dropped()
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Removes the Ethernet header of a frame with its prefix. Returns whether it had one.
pub(crate) fn without_ethernet(frame: &mut Vec<u8>) -> bool {
    if frame.len() < PREFIX + ETHERNET.len() {
        return false;
    }
    frame.drain(PREFIX..PREFIX + ETHERNET.len());
    shift(frame, |at| at.wrapping_sub(ETHERNET.len() as u16));
    true
}

/// Changes where the prefix of a frame refers to, as far as it refers to something.
fn shift(frame: &mut [u8], to: impl Fn(u16) -> u16) {
    let (computes, splits) = (frame[0] & 1 != 0, frame[1] != 0);
    for (at, _) in [(HEADERS, splits), (CHECKSUM, computes)].into_iter().filter(|field| field.1) {
        let value = to(u16::from_ne_bytes([frame[at], frame[at + 1]]));
        frame[at..at + 2].copy_from_slice(&value.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_refers_to_the_frame_or_to_the_packet() {
        let mut frame = [1, 1, 52, 0, 0xa8, 5, 20, 0, 16, 0, 0x45];
        shift(&mut frame, |at| at + 14);
        assert_eq!(frame, [1, 1, 66, 0, 0xa8, 5, 34, 0, 16, 0, 0x45]);
        let mut plain = [2, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        shift(&mut plain, |at| at + 14);
        assert_eq!(plain, [2, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
}
