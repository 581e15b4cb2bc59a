//! A daemon's socket to the other daemons.

use crate::message::Message;
use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// The longest datagram.
const LONGEST: usize = 65_536;

/// Another daemon.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Its number: that of its host in the network, where arbiters come last.
    pub number: u32,
    /// Where it listens.
    pub address: SocketAddr,
}

/// The socket, and what is known about the others.
pub struct Channel {
    me: u32,
    socket: UdpSocket,
    addresses: HashMap<u32, SocketAddr>,
    plain: Vec<u8>,
    buffer: Vec<u8>,
    /// Datagrams that were no messages of a peer.
    pub refused: u64,
}

impl Channel {
    /// Opens the socket of daemon number `me`.
    ///
    /// # Errors
    /// The address cannot be used.
    pub fn open(me: u32, address: SocketAddr, peers: &[Peer]) -> io::Result<Channel> {
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        let addresses = peers.iter().map(|peer| (peer.number, peer.address)).collect();
        let (plain, buffer) = (Vec::new(), vec![0; LONGEST]);
        Ok(Channel { me, socket, addresses, plain, buffer, refused: 0 })
    }

    /// What to wait for.
    pub fn readable(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Sends a message to a peer. Returns whether it could be sent.
    ///
    /// # Errors
    /// The socket does not work any more.
    pub fn send(&mut self, to: u32, message: &Message<'_>) -> io::Result<bool> {
        let Some(address) = self.addresses.get(&to) else { return Ok(false) };
        message.emit(&mut self.plain);
        let datagram = [&self.me.to_be_bytes()[..], &self.plain].concat();
        match self.socket.send_to(&datagram, address) {
            Ok(_) => Ok(true),
            Err(error) if is_passing(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The next message, and who sent it; `None` where there is none.
    ///
    /// # Errors
    /// The socket does not work any more.
    pub fn receive(&mut self) -> io::Result<Option<(u32, Message<'_>)>> {
        let length = loop {
            match self.socket.recv_from(&mut self.buffer) {
                Ok((length, from)) if self.is_peer(length, from) => break length,
                Ok(_) => self.refused += 1,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        };
        let Some((number, rest)) = self.buffer[..length].split_first_chunk() else {
            return Ok(None);
        };
        Ok(Message::parse(rest).map(|message| (u32::from_be_bytes(*number), message)))
    }

    fn is_peer(&self, length: usize, from: SocketAddr) -> bool {
        let number = self.buffer[..length].first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
        number.and_then(|number| self.addresses.get(&number)) == Some(&from)
    }
}

/// Whether the socket works again at the next try.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock
            | ErrorKind::Interrupted
            | ErrorKind::ConnectionRefused
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
    )
}
