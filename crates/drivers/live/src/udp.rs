//! A port at the end of a UDP socket on the loopback interface.

use slotline_linux::datagrams::is_passing;
use slotline_net::frame::Packet;
use slotline_net::wire::packet;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

/// The size of the largest datagram in bytes.
pub(crate) const LARGEST: usize = 65_536;

pub(crate) struct UdpPort {
    socket: UdpSocket,
    address: SocketAddr,
}

/// The result of reading a socket.
pub(crate) enum Incoming<'a> {
    /// A packet and the payload that came with it.
    Packet(Packet, &'a [u8]),
    /// Bytes that are not a packet.
    Malformed,
    /// Nothing is there.
    Nothing,
}

impl UdpPort {
    /// Binds a socket to a free port number.
    pub fn bind() -> io::Result<UdpPort> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        Ok(UdpPort { socket, address })
    }
    pub fn address(&self) -> SocketAddr {
        self.address
    }
    /// Sends to the socket at `far`. Returns whether the packet could be sent; it is lost if the socket's buffer is
    /// full.
    pub fn send(&self, packet: &Packet, payload: &[u8], far: SocketAddr) -> io::Result<bool> {
        match self.socket.send_to(&packet::emit(packet, payload), far) {
            Ok(_) => Ok(true),
            Err(error) if is_passing(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
    pub fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Incoming<'a>> {
        match self.socket.recv(buffer) {
            Ok(length) => Ok(match packet::parse(&buffer[..length]) {
                Ok((packet, payload)) => Incoming::Packet(packet, payload),
                Err(_) => Incoming::Malformed,
            }),
            Err(error) if is_passing(&error) => Ok(Incoming::Nothing),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::frame::Kind;
    use slotline_net::id::HostId;
    use std::time::{Duration, Instant};

    /// The packet and payload of the next datagram; `None` if it has none.
    fn wait_for(port: &UdpPort) -> Option<(Packet, Vec<u8>)> {
        let end = Instant::now() + Duration::from_secs(1);
        let mut buffer = [0; 256];
        while Instant::now() < end {
            match port.receive(&mut buffer).unwrap() {
                Incoming::Nothing => std::thread::yield_now(),
                Incoming::Malformed => return None,
                Incoming::Packet(packet, payload) => return Some((packet, payload.to_vec())),
            }
        }
        panic!("nothing came")
    }

    #[test]
    fn packets_cross_and_garbage_is_recognised() {
        let (a, b) = (UdpPort::bind().unwrap(), UdpPort::bind().unwrap());
        let packet = Packet { dst: HostId(3), len: 84, kind: Kind::Control, ..Packet::default() };
        assert!(a.send(&packet, b"hello", b.address()).unwrap());
        assert_eq!(wait_for(&b), Some((packet, b"hello".to_vec())));
        a.socket.send_to(b"not a packet", b.address()).unwrap();
        assert_eq!(wait_for(&b), None);
        assert!(matches!(b.receive(&mut [0; 9]).unwrap(), Incoming::Nothing));
    }
}
