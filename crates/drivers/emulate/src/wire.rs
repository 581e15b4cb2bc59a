//! The interface of a host: the kernel's TUN, or one end of a pair (veth) with a packet socket at the other end.

use crate::namespace::INTERFACE;
use crate::port::PREFIX;
use rustix::io::writev;
use slotline_linux::command::command;
use slotline_rings::PacketSocket;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

/// The end of the pair at which the socket is.
const FAR: &str = "wire0";
/// The Ethernet header of frames to the host.
const ETHERNET: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
/// The size of a ring in MiB: some 250 frames.
const BLOCKS: u16 = 4;
/// The room for a packet with its prefix.
const ROOM: usize = PREFIX + 65_536;
/// The fields of a prefix that count from the beginning of the frame: the length of the headers if the frame is to be split,
/// and where the checksum begins if it is to be computed.
const HEADERS: usize = 2;
const CHECKSUM: usize = 6;

/// The interface of a host.
pub(crate) enum Wire {
    Tun(SyncDevice),
    Ring(Box<PacketSocket>),
}

impl Wire {
    /// Makes a TUN interface in the present network namespace.
    pub fn tun(mtu: u16) -> io::Result<Wire> {
        let device = DeviceBuilder::new().name(INTERFACE).layer(Layer::L3).mtu(mtu).offload(true);
        let tun = device.build_sync()?;
        tun.set_nonblocking(true)?;
        Ok(Wire::Tun(tun))
    }

    /// Makes a pair in the present network namespace.
    pub fn ring(mtu: u16) -> io::Result<Wire> {
        let longest = slotline_rings::LONGEST;
        let pair = format!(
            "link add {INTERFACE} address 02:00:00:00:00:01 mtu {mtu} type veth peer name {FAR} address \
             02:00:00:00:00:02 mtu {mtu}\nlink set {FAR} up\n\
             link set {INTERFACE} arp off gso_max_size {longest}\n"
        );
        command("ip", &["-batch", "-"], &pair).map_err(io::Error::other)?;
        Ok(Wire::Ring(Box::new(PacketSocket::open(FAR, BLOCKS)?)))
    }

    /// Reads the next packet that has left by the interface, with its prefix, into `buffer`. Returns its length; `None`
    /// if there is none.
    pub fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<Option<usize>> {
        match self {
            Wire::Tun(tun) => {
                buffer.resize(ROOM, 0);
                match tun.recv(buffer) {
                    Ok(length) => Ok(Some(length.clamp(PREFIX, ROOM))),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                    Err(error) => Err(error),
                }
            }
            Wire::Ring(socket) => {
                buffer.clear();
                if !socket.receive(buffer) || buffer.len() < PREFIX + ETHERNET.len() {
                    return Ok(None);
                }
                buffer.drain(PREFIX..PREFIX + ETHERNET.len());
                shift(buffer, |at| at.wrapping_sub(ETHERNET.len() as u16));
                Ok(Some(buffer.len()))
            }
        }
    }

    /// Gives a packet with its prefix, in parts, to the host. Returns whether the kernel accepted it.
    pub fn deliver(&self, parts: &[IoSlice<'_>]) -> bool {
        match self {
            Wire::Tun(tun) => writev(tun, parts).is_ok(),
            Wire::Ring(socket) => {
                let Some((first, rest)) = parts.split_first() else { return false };
                let Some((prefix, head)) = first.split_at_checked(PREFIX) else { return false };
                let mut start = [prefix, &ETHERNET].concat();
                shift(&mut start, |at| at.wrapping_add(ETHERNET.len() as u16));
                let front = [IoSlice::new(&start), IoSlice::new(head)];
                let all: Vec<_> = front.into_iter().chain(rest.iter().copied()).collect();
                writev(socket, &all).is_ok()
            }
        }
    }

    /// The number of packets of the host for which the ring had no room since the last call.
    pub fn dropped(&self) -> io::Result<u64> {
        match self {
            Wire::Tun(_) => Ok(0),
            Wire::Ring(socket) => socket.dropped(),
        }
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Wire::Tun(tun) => tun.as_fd(),
            Wire::Ring(socket) => socket.as_fd(),
        }
    }
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
