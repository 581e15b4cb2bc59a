//! A TUN interface.

use super::Wire;
use crate::namespace::INTERFACE;
use crate::port::PREFIX;
use rustix::io::writev;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

/// The room for a packet with its prefix.
const ROOM: usize = PREFIX + 65_536;

pub(super) struct Tun(SyncDevice);

impl Tun {
    /// Makes the interface in the present network namespace.
    pub fn open(mtu: u16) -> io::Result<Tun> {
        let device = DeviceBuilder::new().name(INTERFACE).layer(Layer::L3).mtu(mtu).offload(true);
        let tun = device.build_sync()?;
        tun.set_nonblocking(true)?;
        Ok(Tun(tun))
    }
}

impl Wire for Tun {
    fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<Option<usize>> {
        buffer.resize(ROOM, 0);
        match self.0.recv(buffer) {
            Ok(length) => Ok(Some(length.clamp(PREFIX, ROOM))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
    fn deliver(&mut self, parts: &[IoSlice<'_>]) -> bool {
        writev(&self.0, parts).is_ok()
    }
    fn dropped(&self) -> io::Result<u64> {
        Ok(0)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
