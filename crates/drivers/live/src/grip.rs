//! What an agent has of its machine's traffic: the packets that the kernel holds for it, or the flows that the kernel
//! forwards.

use crate::clock::Local;
use crate::forwarding::Forwarding;
use slotline_linux::gate::Gate;
use std::io;
use std::os::fd::BorrowedFd;

/// The traffic of a machine.
pub enum Grip {
    /// Packets that are held.
    Packets(Gate),
    /// Flows that are counted and sent on paths.
    Flows(Box<Forwarding>),
}

impl Grip {
    /// A file descriptor that is readable while packets wait.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Grip::Packets(gate) => Some(gate.queue_fd()),
            Grip::Flows(_) => None,
        }
    }
    /// Reads packets that wait.
    pub(crate) fn fill(&mut self) -> io::Result<()> {
        match self {
            Grip::Packets(gate) => gate.queue.fill(),
            Grip::Flows(_) => Ok(()),
        }
    }
    /// The number of the next packet, whose bytes are appended to `buffer`.
    pub(crate) fn next(&mut self, buffer: &mut Vec<u8>) -> Option<u32> {
        match self {
            Grip::Packets(gate) => gate.queue.next(buffer),
            Grip::Flows(_) => None,
        }
    }
    /// Lets a packet leave.
    pub(crate) fn release(&mut self, number: u32, mark: Option<u32>) {
        let Grip::Packets(gate) = self else { return };
        match mark {
            Some(mark) => gate.queue.release_marked(number, mark),
            None => gate.queue.release(number),
        }
    }
    /// Drops a packet.
    pub(crate) fn discard(&mut self, number: u32) {
        if let Grip::Packets(gate) = self {
            gate.queue.discard(number);
        }
    }
    /// Sends a connection on a path.
    pub(crate) fn order(&mut self, conn: u32, path: u16, now: Local) {
        if let Grip::Flows(flows) = self {
            flows.order(conn, path, now);
        }
    }
    /// Gives no flow a path until further orders.
    pub(crate) fn clear(&mut self) {
        if let Grip::Flows(flows) = self {
            flows.clear();
        }
    }
    /// Passes everything to the kernel.
    pub(crate) fn flush(&mut self, now: Local) -> io::Result<()> {
        match self {
            Grip::Packets(gate) => gate.queue.flush(),
            Grip::Flows(flows) => flows.flush(now),
        }
    }
}
