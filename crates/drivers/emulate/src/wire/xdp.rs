//! A pair with a socket of AF_XDP. It knows neither joined segments nor checksums that are left to the card, so the kernel
//! splits what TCP sends, and checksums are computed here.

use super::{ETHERNET, FAR, Wire, pair};
use crate::burst;
use crate::port::PREFIX;
use slotline_rings::{LONGEST_FRAME, XdpSocket};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

pub(super) struct Xdp {
    socket: XdpSocket,
    frame: Vec<u8>,
}

impl Xdp {
    /// Makes the pair in the present network namespace.
    pub fn open(mtu: u16) -> io::Result<Xdp> {
        let most = LONGEST_FRAME - ETHERNET.len();
        if usize::from(mtu) > most {
            return Err(io::Error::other(format!(
                "AF_XDP has a page for each frame: packets may have {most} B, and these have {mtu} B"
            )));
        }
        pair(mtu, "")?;
        Ok(Xdp { socket: XdpSocket::open(FAR)?, frame: Vec::new() })
    }
}

impl Wire for Xdp {
    fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<Option<usize>> {
        // Frames of other protocols are left out.
        loop {
            self.frame.clear();
            if !self.socket.receive(&mut self.frame) {
                return Ok(None);
            }
            let Some((header, packet)) = self.frame.split_at_checked(ETHERNET.len()) else {
                continue;
            };
            if header[12..] == ETHERNET[12..] {
                buffer.clear();
                buffer.resize(PREFIX, 0);
                buffer.extend_from_slice(packet);
                return Ok(Some(buffer.len()));
            }
        }
    }

    fn deliver(&mut self, parts: &[IoSlice<'_>]) -> bool {
        self.frame.clear();
        parts.iter().for_each(|part| self.frame.extend_from_slice(part));
        if self.frame.len() < PREFIX {
            return false;
        }
        burst::complete(&mut self.frame);
        self.socket.send(&[IoSlice::new(&ETHERNET), IoSlice::new(&self.frame[PREFIX..])])
    }

    fn flush(&mut self) {
        self.socket.flush();
    }

    fn dropped(&self) -> io::Result<u64> {
        self.socket.dropped()
    }

    fn joins(&self) -> bool {
        false
    }
}

impl AsFd for Xdp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
