//! Packets that the kernel holds for user space: the netlink protocol of `nfnetlink_queue` (`NFQUEUE` in rules of
//! iptables), as far as a gate needs it.
//!
//! A held packet stays charged to its socket, so TCP notices that the card is busy (TCP small queues).

use crate::hold::{Hold, Leave, Ticket};
use crate::netlink::{HEADER, attribute, error_of, native16};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, MultiHeaders, recvmmsg};
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

const SUBSYSTEM: u16 = 3 << 8;
const PACKET: u16 = SUBSYSTEM;
const VERDICT: u16 = SUBSYSTEM | 1;
const CONFIG: u16 = SUBSYSTEM | 2;
const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
/// Attributes of configurations.
const CONFIG_COMMAND: u16 = 1;
const CONFIG_COPY: u16 = 2;
const CONFIG_LENGTH: u16 = 3;
const CONFIG_MASK: u16 = 4;
const CONFIG_FLAGS: u16 = 5;
/// The flag by which packets pass where the queue is full, and the one by which packets stay as they are.
const FAIL_OPEN: u32 = 1;
const AS_THEY_ARE: u32 = 4;
/// Attributes of packets and verdicts.
const PACKET_HEADER: u16 = 1;
const VERDICT_HEADER: u16 = 2;
const MARK: u16 = 3;
const PAYLOAD: u16 = 10;
const BIND: u8 = 1;
const COPY_PACKET: u8 = 2;
/// The headers of a message: netlink's, and one with the number of the queue.
const HEADERS: usize = HEADER + 4;
/// Room for the kernel's attributes of a packet.
const ATTRIBUTES: usize = 512;
/// The most packets that are read at once.
const BATCH: usize = 64;
/// The most packets that the kernel holds.
const MOST_HELD: u32 = 16_384;
/// The receive buffer for messages that were not read yet, in bytes.
const RECEIVE_BUFFER: usize = 16 << 20;

/// What the kernel does with a released packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The packet is dropped: the program that released it sends a copy.
    Drop = 0,
    /// The packet continues on its way.
    Accept = 1,
}

/// The number of the queue, and what happens to its packets.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of the queue in its network namespace.
    pub number: u16,
    /// The number of bytes copied of each packet.
    pub copied: u16,
    /// What the kernel does with released packets.
    pub verdict: Verdict,
    /// Whether packets pass while the queue is full. Otherwise the kernel drops them.
    pub pass_when_full: bool,
    /// Whether packets stay as they are: without their checksum if the interface completes it, and longer than the
    /// interface permits if it splits them. Otherwise the kernel completes and splits them first.
    pub as_they_are: bool,
}

/// A queue of the network namespace in which it was opened.
#[derive(Debug)]
pub struct NfQueue {
    socket: OwnedFd,
    settings: Settings,
    /// The number of a second queue.
    splitting: Option<u16>,
    /// Messages that were read, each with the same room, their lengths, and the number of those that were used.
    buffer: Vec<u8>,
    room: usize,
    lengths: Vec<usize>,
    used: usize,
    verdicts: Vec<u8>,
}

impl NfQueue {
    /// Binds a queue of the present network namespace.
    ///
    /// # Errors
    /// The kernel's refusal: it lacks the feature, or permission.
    pub fn open(settings: Settings) -> io::Result<NfQueue> {
        let flags = SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            flags,
            Some(netlink::NETFILTER),
        )?;
        rustix::net::bind(&socket, &SocketAddrNetlink::new(0, 0))?;
        if sockopt::set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER).is_err() {
            sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER)?;
        }
        let room = usize::from(settings.copied) + ATTRIBUTES;
        let (buffer, lengths, verdicts) = (vec![0; BATCH * room], Vec::new(), Vec::new());
        let splitting = None;
        let mut queue =
            NfQueue { socket, settings, splitting, buffer, room, lengths, used: 0, verdicts };
        queue.bind(settings)?;
        Ok(queue)
    }

    /// Binds a second queue with the same settings, except that the kernel splits its packets. Packets of both are read
    /// in the order in which they came.
    ///
    /// # Errors
    /// As for [`NfQueue::open`].
    pub fn also_split(&mut self, number: u16) -> io::Result<()> {
        self.splitting = Some(number);
        self.bind(Settings { number, as_they_are: false, ..self.settings })
    }

    fn bind(&mut self, settings: Settings) -> io::Result<()> {
        let number = settings.number;
        let mut copy = u32::from(settings.copied).to_be_bytes().to_vec();
        copy.push(COPY_PACKET);
        self.configure(number, &[(CONFIG_COMMAND, &[BIND, 0, 0, 0])])?;
        self.configure(number, &[(CONFIG_LENGTH, &MOST_HELD.to_be_bytes())])?;
        let flag = |flag: u32, set: bool| if set { flag } else { 0 };
        let flags =
            flag(FAIL_OPEN, settings.pass_when_full) | flag(AS_THEY_ARE, settings.as_they_are);
        if flags != 0 {
            let flags = flags.to_be_bytes();
            self.configure(number, &[(CONFIG_FLAGS, &flags), (CONFIG_MASK, &flags)])?;
        }
        // From here on the kernel queues packets.
        self.configure(number, &[(CONFIG_COPY, &copy)])
    }

    /// Changes a queue, and waits for the kernel's answer. Packets that come before the answer pass.
    fn configure(&mut self, queue: u16, attributes: &[Attribute<'_>]) -> io::Result<()> {
        let mut request = Vec::new();
        message(&mut request, queue, [CONFIG, REQUEST | ACKNOWLEDGE], attributes);
        rustix::net::send(&self.socket, &request, SendFlags::empty())?;
        loop {
            let (length, _) =
                rustix::net::recv(&self.socket, &mut self.buffer[..], RecvFlags::empty())?;
            let answer = &self.buffer[..length.min(self.buffer.len())];
            match error_of(answer) {
                Some(0) => return self.flush(),
                Some(code) => return Err(io::Error::from_raw_os_error(-code)),
                None => {
                    if let Some((queue, number, _)) = packet_of(answer) {
                        let split = self.splitting == Some(queue);
                        self.release(Ticket { number, split }, Leave::Now);
                    }
                }
            }
        }
    }

    fn read(&mut self) -> Result<(), Errno> {
        self.lengths.clear();
        self.used = 0;
        let mut rooms: Vec<_> =
            self.buffer.chunks_exact_mut(self.room).map(|room| [IoSliceMut::new(room)]).collect();
        let mut headers = MultiHeaders::<()>::preallocate(BATCH, None);
        let socket = self.socket.as_raw_fd();
        let read = recvmmsg(socket, &mut headers, &mut rooms, MsgFlags::MSG_DONTWAIT, None)?;
        self.lengths.extend(read.map(|message| message.bytes));
        Ok(())
    }

    /// Releases a packet with other content. It takes effect with [`Hold::flush`].
    pub fn release_as(&mut self, packet: impl Into<Ticket>, content: &[u8]) {
        self.decide(packet.into(), self.settings.verdict, Some((PAYLOAD, content)));
    }

    /// `change` is an attribute of the packet that gets another value.
    fn decide(&mut self, packet: Ticket, verdict: Verdict, change: Option<Attribute<'_>>) {
        let mut header = [0; 8];
        header[..4].copy_from_slice(&(verdict as u32).to_be_bytes());
        header[4..].copy_from_slice(&packet.number.to_be_bytes());
        let queue = self.splitting.filter(|_| packet.split).unwrap_or(self.settings.number);
        let all = [(VERDICT_HEADER, &header[..]), change.unwrap_or_default()];
        let attributes = &all[..if change.is_some() { 2 } else { 1 }];
        message(&mut self.verdicts, queue, [VERDICT, REQUEST], attributes);
    }
}

impl Hold for NfQueue {
    fn fill(&mut self) -> io::Result<()> {
        loop {
            match self.read() {
                Ok(()) | Err(Errno::EAGAIN) => return Ok(()),
                // Messages were lost; the kernel drops their packets or lets them pass.
                Err(Errno::ENOBUFS | Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn next(&mut self, head: &mut Vec<u8>) -> Option<Ticket> {
        while let Some(length) = self.lengths.get(self.used) {
            let message = &self.buffer[self.used * self.room..][..*length];
            self.used += 1;
            if let Some((queue, number, payload)) = packet_of(message) {
                head.extend_from_slice(payload);
                return Some(Ticket { number, split: self.splitting == Some(queue) });
            }
        }
        None
    }

    fn release(&mut self, packet: Ticket, how: Leave) {
        let verdict = self.settings.verdict;
        match how {
            Leave::Now | Leave::At(_) => self.decide(packet, verdict, None),
            Leave::Marked(mark) => {
                self.decide(packet, verdict, Some((MARK, &mark.to_be_bytes())));
            }
        }
    }

    fn discard(&mut self, packet: Ticket) {
        self.decide(packet, Verdict::Drop, None);
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.verdicts.is_empty() {
            rustix::net::send(&self.socket, &self.verdicts, SendFlags::empty())?;
            self.verdicts.clear();
        }
        Ok(())
    }
}

impl AsFd for NfQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The type of an attribute, and its value.
type Attribute<'a> = (u16, &'a [u8]);

/// Appends a message about a queue, with a type, flags and attributes.
fn message(out: &mut Vec<u8>, queue: u16, [kind, flags]: [u16; 2], attributes: &[Attribute<'_>]) {
    let start = out.len();
    // The length is filled in at the end.
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&kind.to_ne_bytes());
    out.extend_from_slice(&flags.to_ne_bytes());
    // Sequence number, port, address family, version.
    out.extend_from_slice(&[0; 10]);
    out.extend_from_slice(&queue.to_be_bytes());
    for (kind, value) in attributes {
        out.extend_from_slice(&((4 + value.len()) as u16).to_ne_bytes());
        out.extend_from_slice(&kind.to_ne_bytes());
        out.extend_from_slice(value);
        let padding = value.len().next_multiple_of(4) - value.len();
        out.resize(out.len() + padding, 0);
    }
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_ne_bytes());
}

/// The queue, the number and the bytes of the packet that a message is about.
fn packet_of(message: &[u8]) -> Option<(u16, u32, &[u8])> {
    (native16(message, 4)? == PACKET).then_some(())?;
    let queue = message.get(HEADERS - 2..)?.first_chunk().map(|b| u16::from_be_bytes(*b))?;
    let list = message.get(HEADERS..)?;
    let number = attribute(list, PACKET_HEADER)?.first_chunk().map(|b| u32::from_be_bytes(*b))?;
    Some((queue, number, attribute(list, PAYLOAD)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packet_message(queue: u16, number: u32, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let header = [&number.to_be_bytes()[..], &[8, 0, 3]].concat();
        message(&mut out, queue, [PACKET, 0], &[(PACKET_HEADER, &header), (PAYLOAD, payload)]);
        out
    }

    proptest! {
        #[test]
        fn a_packet_is_found_in_its_message(
            queue: u16,
            number: u32,
            payload in prop::collection::vec(any::<u8>(), 0..99),
        ) {
            let message = packet_message(queue, number, &payload);
            prop_assert_eq!(packet_of(&message), Some((queue, number, &payload[..])));
            for cut in 0..message.len() {
                packet_of(&message[..cut]);
            }
        }

        #[test]
        fn random_bytes_cause_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..99)) {
            let mut bytes = bytes;
            if bytes.len() > 6 {
                bytes[4..6].copy_from_slice(&PACKET.to_ne_bytes());
            }
            packet_of(&bytes);
            error_of(&bytes);
        }
    }
}
