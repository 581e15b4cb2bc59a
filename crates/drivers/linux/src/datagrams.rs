//! A UDP socket whose datagrams are read and written many at a time, so that they share the cost of a system call.

use nix::libc;
use nix::sys::socket::sockopt::AttachReusePortCbpf;
use nix::sys::socket::{MsgFlags, MultiHeaders, SetSockOpt, SockaddrStorage, recvmmsg};
use rustix::net::addr::SocketAddrArg;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, SocketAddrAny, sendmmsg};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// The bytes reserved for a datagram: those of the longest one, and a distance after which the next datagram does not
/// compete for the same places of a cache.
const PLACE: usize = 65_536 + 192;
/// Instructions of BPF: load a word of the packet, take the remainder, return it.
const LOAD: u16 = 0x20;
const MODULO: u16 = 0x94;
const RETURN: u16 = 0x16;
/// Where the header of IP begins for BPF, and the last four octets of the sender's address in it, for IPv4 and IPv6.
const NETWORK_HEADER: u32 = 0xfff0_0000;
const LAST_OCTETS: [u32; 2] = [12, 20];
/// The bytes of datagrams that the kernel keeps until they are read or sent, where it permits so many.
const KEPT: usize = 8 << 20;

/// One of several sockets with the same address, which share the datagrams by the addresses of senders. All sockets of an
/// address are opened in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// The number of sockets.
    pub of: usize,
    /// The place of this one, from 0.
    pub at: usize,
}

impl Share {
    /// The only socket of an address.
    pub const ALL: Share = Share { of: 1, at: 0 };

    /// Whether datagrams from this address arrive here.
    pub fn contains(self, source: IpAddr) -> bool {
        let last = match source {
            IpAddr::V4(address) => address.to_bits(),
            IpAddr::V6(address) => address.to_bits() as u32,
        };
        last as usize % self.of == self.at
    }
}

/// A socket whose address it shares with others. The kernel chooses one of them by a program of BPF, from the last four
/// octets of the sender's address.
fn bind_shared(address: SocketAddr, of: usize) -> io::Result<UdpSocket> {
    let domain = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(domain, SocketType::DGRAM, flags, None)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    rustix::net::bind(&socket, &address)?;
    let at = LAST_OCTETS[usize::from(address.is_ipv6())];
    let line = |code, k| libc::sock_filter { code, jt: 0, jf: 0, k };
    let mut program = [line(LOAD, NETWORK_HEADER + at), line(MODULO, of as u32), line(RETURN, 0)];
    let len = program.len() as u16;
    AttachReusePortCbpf.set(&socket, &libc::sock_fprog { len, filter: program.as_mut_ptr() })?;
    Ok(socket.into())
}

/// A socket with the datagrams of the last reading, and those of the next writing.
pub struct Datagrams {
    socket: UdpSocket,
    batch: usize,
    headers: MultiHeaders<SockaddrStorage>,
    places: Vec<u8>,
    /// The length and the sender of each datagram in `places`, and the first one that was not returned yet.
    arrived: Vec<(usize, SocketAddr)>,
    next: usize,
    /// The bytes of datagrams that leave with the next writing, and the end and the destination of each.
    bytes: Vec<u8>,
    leaving: Vec<(usize, SocketAddrAny)>,
    lost: u64,
}

impl Datagrams {
    /// Opens a socket that reads and writes up to `batch` datagrams at a time, and never waits. It gets a [`Share`] of the
    /// datagrams to its address.
    ///
    /// # Errors
    /// The address cannot be used.
    pub fn bind(address: SocketAddr, share: Share, batch: usize) -> io::Result<Datagrams> {
        let socket = match share.of {
            1 => UdpSocket::bind(address)?,
            of => bind_shared(address, of)?,
        };
        socket.set_nonblocking(true)?;
        // Without the right to exceed the limit, the kernel keeps as many bytes as the limit permits.
        if sockopt::set_socket_recv_buffer_size_force(&socket, KEPT).is_err() {
            sockopt::set_socket_recv_buffer_size(&socket, KEPT)?;
        }
        sockopt::set_socket_send_buffer_size(&socket, KEPT)?;
        Ok(Datagrams {
            socket,
            batch,
            headers: MultiHeaders::preallocate(batch, None),
            places: vec![0; batch * PLACE],
            arrived: Vec::with_capacity(batch),
            next: 0,
            bytes: Vec::new(),
            leaving: Vec::with_capacity(batch),
            lost: 0,
        })
    }

    /// A file descriptor that is readable while datagrams wait in the kernel.
    pub fn readable(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
    /// Whether datagrams were read that [`Datagrams::receive`] has not returned.
    pub fn has_more(&self) -> bool {
        self.next < self.arrived.len()
    }
    /// The number of datagrams that could not be sent.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The next datagram and its sender. `None` after a batch that was not full, or if there is none: the kernel is not
    /// asked once more whether another datagram has arrived meanwhile, and the socket remains readable if one has.
    ///
    /// # Errors
    /// The socket has failed.
    pub fn receive(&mut self) -> io::Result<Option<(&mut [u8], SocketAddr)>> {
        if !self.has_more() {
            let ended = !self.arrived.is_empty() && self.arrived.len() < self.batch;
            match ended {
                true => self.arrived.clear(),
                false => self.read()?,
            }
            self.next = 0;
        }
        let Some(&(length, source)) = self.arrived.get(self.next) else { return Ok(None) };
        let place = self.next * PLACE;
        self.next += 1;
        Ok(Some((&mut self.places[place..place + length], source)))
    }
    fn read(&mut self) -> io::Result<()> {
        self.arrived.clear();
        let place = |place| [IoSliceMut::new(place)];
        let mut places: Vec<_> = self.places.chunks_exact_mut(PLACE).map(place).collect();
        let (socket, flags) = (self.socket.as_raw_fd(), MsgFlags::MSG_DONTWAIT);
        match recvmmsg(socket, &mut self.headers, places.iter_mut(), flags, None) {
            Ok(found) => {
                self.arrived.extend(found.map(|one| (one.bytes, address(one.address))));
                Ok(())
            }
            Err(error) if is_passing(&error.into()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends what waits, and gives later datagrams this value of the DSCP field; 0 is the usual one.
    ///
    /// # Errors
    /// The kernel refuses the value.
    pub fn set_dscp(&mut self, dscp: u8) -> io::Result<()> {
        self.flush();
        let octet = dscp << 2;
        match self.socket.local_addr()? {
            SocketAddr::V4(_) => sockopt::set_ip_tos(&self.socket, octet)?,
            SocketAddr::V6(_) => sockopt::set_ipv6_tclass(&self.socket, octet.into())?,
        }
        Ok(())
    }
    /// The bytes to which the next datagram is appended; [`Datagrams::put`] ends it.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
    /// Lets the bytes that were appended leave with the next writing, which comes with a full batch at the latest.
    pub fn put(&mut self, to: SocketAddr) {
        self.leaving.push((self.bytes.len(), to.as_any()));
        if self.leaving.len() == self.batch {
            self.flush();
        }
    }
    /// Sends all datagrams. Errors of the network, such as a missing route, may be temporary: the datagram is lost.
    pub fn flush(&mut self) {
        let mut begin = 0;
        let slices: Vec<[IoSlice<'_>; 1]> = (self.leaving.iter())
            .map(|(end, _)| [IoSlice::new(&self.bytes[std::mem::replace(&mut begin, *end)..*end])])
            .collect();
        let mut nothing: Vec<_> =
            self.leaving.iter().map(|_| SendAncillaryBuffer::default()).collect();
        let parts = self.leaving.iter().zip(&slices).zip(&mut nothing);
        let mut messages: Vec<_> = parts
            .map(|(((_, to), slice), nothing)| MMsgHdr::new_with_addr(to, slice, nothing))
            .collect();
        let mut rest = &mut messages[..];
        while !rest.is_empty() {
            // An error concerns the first datagram; those after one that was not sent are not tried by the kernel.
            let sent = sendmmsg(&self.socket, rest, SendFlags::DONTWAIT);
            self.lost += u64::from(sent.is_err());
            rest = &mut rest[sent.unwrap_or(1)..];
        }
        self.bytes.clear();
        self.leaving.clear();
    }
}

/// The address of a sender. The kernel supplies it with each datagram.
fn address(of: Option<SockaddrStorage>) -> SocketAddr {
    let v4 = of.and_then(|of| of.as_sockaddr_in().map(|of| SocketAddrV4::from(*of).into()));
    let v6 = of.and_then(|of| of.as_sockaddr_in6().map(|of| SocketAddrV6::from(*of).into()));
    v4.or(v6).unwrap_or((Ipv4Addr::UNSPECIFIED, 0).into())
}

/// Whether the socket may work again at the next attempt.
pub fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock
            | ErrorKind::Interrupted
            | ErrorKind::ConnectionRefused
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(address: &str, batch: usize) -> (Datagrams, SocketAddr) {
        let socket = Datagrams::bind(address.parse().unwrap(), Share::ALL, batch).unwrap();
        let address = socket.socket.local_addr().unwrap();
        (socket, address)
    }
    /// All datagrams that wait, with their senders.
    fn all(socket: &mut Datagrams) -> Vec<(Vec<u8>, SocketAddr)> {
        let mut all = Vec::new();
        while let Some((bytes, source)) = socket.receive().unwrap() {
            all.push((bytes.to_vec(), source));
        }
        all
    }

    #[test]
    fn datagrams_of_all_lengths_cross_in_order() {
        for local in ["127.0.0.1:0", "[::1]:0"] {
            let ((mut one, from), (mut two, to)) = (open(local, 4), open(local, 3));
            let message = |n: usize| vec![n as u8; [1, 65_000, 0, 700][n % 4]];
            for n in 0..10 {
                one.bytes().extend(message(n));
                one.put(to);
            }
            assert_eq!(all(&mut two).len(), 8, "two full batches have left");
            one.flush();
            let rest: Vec<_> = (8..10).map(|n| (message(n), from)).collect();
            assert_eq!(all(&mut two), rest);
            assert_eq!((one.lost(), one.has_more(), two.has_more()), (0, false, false));
        }
    }

    /// Each socket gets the datagrams of the senders that it contains, whose number says where they belong.
    #[test]
    fn sockets_of_one_address_share_datagrams_by_sender() {
        for (any, senders) in [("127.0.0.1:0", 1..9), ("[::1]:0", 1..2)] {
            let (_, free) = open(any, 1);
            let of = 3;
            let open_share = |at| Datagrams::bind(free, Share { of, at }, 4).unwrap();
            let mut shares: Vec<Datagrams> = (0..of).map(open_share).collect();
            let sent = senders.clone().count();
            for n in senders {
                let local = any.replace("0.1", &format!("0.{n}"));
                let (mut sender, _) = open(&local, 4);
                sender.bytes().push(n);
                sender.put(free);
                sender.flush();
            }
            let mut arrived = 0;
            for (at, socket) in shares.iter_mut().enumerate() {
                for (_, source) in all(socket) {
                    assert!(Share { of, at }.contains(source.ip()), "{source} at {at}");
                    arrived += 1;
                }
            }
            assert_eq!(arrived, sent);
        }
    }

    #[test]
    fn a_datagram_that_cannot_be_sent_is_lost_alone() {
        let ((mut one, _), (mut two, to)) = (open("127.0.0.1:0", 8), open("127.0.0.1:0", 8));
        // A socket of IPv4 sends nothing to an address of IPv6.
        for to in [to, "[::1]:9".parse().unwrap(), to] {
            one.bytes().extend(b"message");
            one.put(to);
        }
        one.flush();
        assert_eq!((all(&mut two).len(), one.lost()), (2, 1));
    }
}
