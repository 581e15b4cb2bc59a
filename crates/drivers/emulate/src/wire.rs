//! The interface of a host, behind one interface for all ways to reach it: the kernel's TUN, or one end of a pair (veth) with
//! a packet socket or a socket of AF_XDP at the other end.

mod ring;
mod tun;
mod xdp;

pub(crate) use ring::without_ethernet;

use crate::namespace::GateKind;
use crate::namespace::INTERFACE;
use slotline_linux::command::command;
use std::io::{self, IoSlice};
use std::os::fd::AsFd;

/// The end of the pair at which the socket is.
const FAR: &str = "wire0";
/// The Ethernet header of frames to the host.
const ETHERNET: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];

/// Whole packets from a host and to it, each with its prefix. The file is readable while packets have left the host.
pub(crate) trait Wire: AsFd + Send + Sync {
    /// Reads the next packet that has left by the interface, with its prefix, into `buffer`. Returns its length; `None`
    /// if there is none.
    fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<Option<usize>>;
    /// Gives a packet with its prefix, in parts, to the host. Returns whether the kernel accepted it. It takes effect with
    /// [`Wire::flush`] at the latest.
    fn deliver(&mut self, parts: &[IoSlice<'_>]) -> bool;
    /// Gives the host what it does not have yet.
    fn flush(&mut self) {}
    /// The number of packets of the host for which the interface's own memory had no room since the last call.
    fn dropped(&self) -> io::Result<u64>;
    /// Whether the host takes several segments as one packet.
    fn joins(&self) -> bool {
        true
    }
}

/// Makes the interface of a host in the present network namespace. The error says what failed.
pub(crate) fn open(mtu: u16, gate: GateKind) -> Result<Box<dyn Wire>, (&'static str, io::Error)> {
    match gate {
        GateKind::Queue | GateKind::Interface => tun::Tun::open(mtu)
            .map(|wire| Box::new(wire) as _)
            .map_err(|error| ("make its interface (/dev/net/tun)", error)),
        GateKind::Packet => ring::Ring::open(mtu)
            .map(|wire| Box::new(wire) as _)
            .map_err(|error| ("make its interface (veth, AF_PACKET)", error)),
        GateKind::Xdp => xdp::Xdp::open(mtu)
            .map(|wire| Box::new(wire) as _)
            .map_err(|error| ("make its interface (veth, AF_XDP)", error)),
    }
}

/// Makes a pair in the present network namespace. The host's end has `more` options.
fn pair(mtu: u16, more: &str) -> io::Result<()> {
    let commands = format!(
        "link add {INTERFACE} address 02:00:00:00:00:01 mtu {mtu} type veth peer name {FAR} address \
         02:00:00:00:00:02 mtu {mtu}\nlink set {FAR} up\nlink set {INTERFACE} arp off{more}\n"
    );
    command("ip", &["-batch", "-"], &commands).map_err(io::Error::other)
}
