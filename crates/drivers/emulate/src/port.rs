//! The passage between a host's kernel and the modelled network: an interface, and a queue of packets that the kernel
//! holds before they leave by it.
//!
//! The queue shows only the headers of packets. The interface has the whole packets that the kernel has released, and
//! acknowledgements without data, which it does not hold.

use crate::namespace::GateKind;
use crate::wire::{self, Wire};
use slotline_linux::hold::{Hold, Leave, Ticket};
use slotline_linux::nfqueue::{NfQueue, Settings, Verdict};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

/// The bytes before a packet that say which checksum is still to be computed and how to split it, as
/// `struct virtio_net_hdr`. The kernel of the receiving host accepts a packet without checksum, as from a card that has
/// verified it.
pub(crate) const PREFIX: usize = 10;
/// The number of bytes that a queue shows of each packet.
pub(crate) const SHOWN: u16 = 128;
const QUEUE: Settings = Settings {
    number: 0,
    copied: SHOWN,
    verdict: Verdict::Accept,
    pass_when_full: false,
    as_they_are: true,
};

/// The passage between a host's kernel and the modelled network.
pub(crate) struct Port {
    // This field is dropped before the interface, which would wait for the packets that the queue holds.
    queue: Option<NfQueue>,
    wire: Box<dyn Wire>,
    gate: GateKind,
    /// The longest packet of the interface. The kernel leaves longer ones to be split.
    pub mtu: usize,
}
impl Port {
    /// Makes the interface in the present network namespace. The error says what failed.
    pub fn open(mtu: u16, gate: GateKind) -> Result<Port, (&'static str, io::Error)> {
        // The queue is opened before the interface, so that it is also closed first if the process is killed.
        let queue = (gate == GateKind::Queue).then(|| NfQueue::open(QUEUE)).transpose();
        let queue = queue.map_err(|error| ("queue its packets (netfilter)", error))?;
        Ok(Port { queue, wire: wire::open(mtu, gate)?, gate, mtu: mtu.into() })
    }

    /// Whether the kernel holds packets.
    pub fn holds(&self) -> bool {
        self.queue.is_some()
    }

    /// How packets enter the network.
    pub fn gate(&self) -> GateKind {
        self.gate
    }

    /// Whether the host takes several segments as one packet.
    pub fn joins(&self) -> bool {
        self.wire.joins()
    }

    /// The number of packets for which the interface's own memory had no room since the last call.
    pub fn dropped(&self) -> io::Result<u64> {
        self.wire.dropped()
    }

    /// A file descriptor that is readable while the kernel shows packets that it holds.
    pub fn held(&self) -> Option<BorrowedFd<'_>> {
        self.queue.as_ref().map(AsFd::as_fd)
    }

    /// A file descriptor that is readable while packets have left by the interface.
    pub fn loose(&self) -> BorrowedFd<'_> {
        self.wire.as_fd()
    }

    /// Reads which packets the kernel holds, for [`Port::next_held`].
    pub fn fill(&mut self) -> io::Result<()> {
        self.queue.as_mut().map_or(Ok(()), NfQueue::fill)
    }

    /// Appends the beginning of the next packet that the kernel holds to `head`, and returns its number.
    pub fn next_held(&mut self, head: &mut Vec<u8>) -> Option<u32> {
        self.queue.as_mut()?.next(head).map(|packet| packet.number)
    }

    /// Lets a held packet leave by the interface. It takes effect with [`Port::flush`].
    pub fn release(&mut self, number: u32) {
        self.queue.iter_mut().for_each(|queue| queue.release(Ticket::from(number), Leave::Now));
    }

    /// Drops a held packet. It takes effect with [`Port::flush`].
    pub fn discard(&mut self, number: u32) {
        self.queue.iter_mut().for_each(|queue| queue.discard(Ticket::from(number)));
    }

    /// Tells the kernel what happens to held packets.
    pub fn flush(&mut self) -> io::Result<()> {
        self.queue.as_mut().map_or(Ok(()), NfQueue::flush)
    }

    /// Reads the next packet that has left by the interface, with its prefix, into `buffer`. Returns its length; `None`
    /// if there is none.
    pub fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<Option<usize>> {
        self.wire.read(buffer)
    }

    /// Gives the host what it does not have yet.
    pub fn flush_delivered(&mut self) {
        self.wire.flush();
    }

    /// Gives a packet with its prefix, in parts, to the host. Returns whether the kernel accepted it. It takes effect with
    /// [`Port::flush_delivered`] at the latest.
    pub fn deliver(&mut self, parts: &[IoSlice<'_>]) -> bool {
        self.wire.deliver(parts)
    }
}
