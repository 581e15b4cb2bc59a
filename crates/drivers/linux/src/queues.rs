//! What the queues of interfaces have sent, dropped and hold: the kernel's list of queue disciplines (rtnetlink).

use crate::netlink::{HEADER, attribute, error_of, native16, native32, native64};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::io;
use std::os::fd::OwnedFd;

/// Types of messages: an entry of the list, the request for it, and its end.
const QUEUE: u16 = 36;
const GET_QUEUES: u16 = 38;
const DONE: u16 = 3;
/// The flags of a request for a list.
const LIST: u16 = 0x301;
/// The bytes of `struct tcmsg`, and the place of the interface's number in it.
const TCMSG: usize = 20;
const INTERFACE: usize = 4;
/// Attributes: the name of the discipline, and its statistics; and the attributes in these.
const KIND: u16 = 1;
const STATISTICS: u16 = 7;
const SENT: u16 = 1;
const WAITS: u16 = 3;
/// Room for the messages that the kernel sends at once.
const ROOM: usize = 1 << 14;

/// What the queue of an interface has sent, dropped and holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueueState {
    /// The number of the interface in its network namespace.
    pub interface: u32,
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets dropped because the queue was full.
    pub dropped: u64,
    /// Bytes that wait.
    pub waiting: u64,
}

/// The queues of the network namespace in which it was opened.
#[derive(Debug)]
pub struct Queues {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl Queues {
    /// Opens a socket for questions to the kernel.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn open() -> io::Result<Queues> {
        let family = AddressFamily::NETLINK;
        // Without a protocol, it is rtnetlink's.
        let flags = SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(family, SocketType::RAW, flags, None)?;
        rustix::net::bind(&socket, &SocketAddrNetlink::new(0, 0))?;
        Ok(Queues { socket, buffer: vec![0; ROOM] })
    }

    /// Calls `found` with the state of each queue of a discipline, such as `tbf`.
    ///
    /// # Errors
    /// The kernel refuses to answer.
    pub fn read(&mut self, discipline: &str, mut found: impl FnMut(QueueState)) -> io::Result<()> {
        rustix::net::send(&self.socket, &request(), SendFlags::empty())?;
        loop {
            let room = &mut self.buffer[..];
            let length = match rustix::net::recv(&self.socket, room, RecvFlags::empty()) {
                Ok((length, _)) => length,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            for message in messages(&self.buffer[..length.min(ROOM)]) {
                if native16(message, 4) == Some(DONE) {
                    return Ok(());
                }
                if let Some(code) = error_of(message).filter(|code| *code != 0) {
                    return Err(io::Error::from_raw_os_error(-code));
                }
                state_of(message, discipline).into_iter().for_each(&mut found);
            }
        }
    }
}

/// The request for a list of all queues.
fn request() -> [u8; HEADER + TCMSG] {
    let mut request = [0; HEADER + TCMSG];
    request[..4].copy_from_slice(&((HEADER + TCMSG) as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&GET_QUEUES.to_ne_bytes());
    request[6..8].copy_from_slice(&LIST.to_ne_bytes());
    request
}

/// The messages that came at once.
fn messages(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = native32(rest, 0)? as usize;
        let message = rest.get(..length).filter(|_| length >= HEADER)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(message)
    })
}

/// The state of a queue in its message, if it has this discipline.
fn state_of(message: &[u8], discipline: &str) -> Option<QueueState> {
    (native16(message, 4)? == QUEUE).then_some(())?;
    let list = message.get(HEADER + TCMSG..)?;
    let name = attribute(list, KIND)?.split(|byte| *byte == 0).next()?;
    (name == discipline.as_bytes()).then_some(())?;
    let statistics = attribute(list, STATISTICS)?;
    let (sent, waits) = (attribute(statistics, SENT)?, attribute(statistics, WAITS)?);
    Some(QueueState {
        interface: native32(message, HEADER + INTERFACE)?,
        bytes: native64(sent, 0)?,
        packets: native32(sent, 8)?.into(),
        waiting: native32(waits, 4)?.into(),
        dropped: native32(waits, 8)?.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn put(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
        out.extend(((4 + value.len()) as u16).to_ne_bytes());
        out.extend(kind.to_ne_bytes());
        out.extend(value);
        out.resize(out.len().next_multiple_of(4), 0);
    }

    /// The message of the kernel about a queue.
    fn message(discipline: &str, state: QueueState) -> Vec<u8> {
        let mut sent = state.bytes.to_ne_bytes().to_vec();
        sent.extend((state.packets as u32).to_ne_bytes());
        let waits = [7, state.waiting as u32, state.dropped as u32, 0, 3].map(u32::to_ne_bytes);
        let mut statistics = Vec::new();
        put(&mut statistics, SENT, &sent);
        put(&mut statistics, WAITS, waits.as_flattened());
        let mut out = vec![0; HEADER + TCMSG];
        out[4..6].copy_from_slice(&QUEUE.to_ne_bytes());
        out[HEADER + INTERFACE..][..4].copy_from_slice(&state.interface.to_ne_bytes());
        put(&mut out, KIND, &[discipline.as_bytes(), &[0]].concat());
        put(&mut out, STATISTICS, &statistics);
        let length = (out.len() as u32).to_ne_bytes();
        out[..4].copy_from_slice(&length);
        out
    }

    proptest! {
        #[test]
        fn a_queue_is_found_among_others(interface: u32, bytes: u64, packets: u32, waiting: u32, dropped: u32) {
            let state = QueueState {
                interface,
                bytes,
                packets: packets.into(),
                waiting: waiting.into(),
                dropped: dropped.into(),
            };
            let all = [message("noqueue", QueueState::default()), message("tbf", state)].concat();
            let found: Vec<_> = messages(&all).filter_map(|one| state_of(one, "tbf")).collect();
            prop_assert_eq!(found, vec![state]);
            for cut in 0..all.len() {
                let whole = messages(&all[..cut]).filter_map(|one| state_of(one, "tbf"));
                prop_assert_eq!(whole.count(), 0);
            }
        }

        #[test]
        fn random_bytes_cause_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..99)) {
            let mut bytes = bytes;
            if bytes.len() > 6 {
                bytes[4..6].copy_from_slice(&QUEUE.to_ne_bytes());
            }
            state_of(&bytes, "tbf");
            messages(&bytes).filter_map(error_of).for_each(|_| ());
        }
    }

    /// The loopback interface has no queue of this kind.
    #[test]
    fn the_kernel_lists_its_queues() {
        let mut queues = Queues::open().unwrap();
        queues.read("none of this name", |state| panic!("{state:?}")).unwrap();
    }
}
