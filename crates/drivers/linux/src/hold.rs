//! The interface of everything that holds packets for a program: a queue of netfilter alone, as emulated hosts have it, or
//! the gate of a daemon.

use std::io;
use std::os::fd::AsFd;

/// A packet that is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket {
    /// Its number in its queue.
    pub number: u32,
    /// Whether it is in the second queue, whose packets the kernel splits.
    pub split: bool,
}

impl From<u32> for Ticket {
    /// The packet with this number in the first queue.
    fn from(number: u32) -> Ticket {
        Ticket { number, split: false }
    }
}

/// How a packet leaves that is released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leave {
    /// At once.
    Now,
    /// At once, with a mark by which rules of routing can choose its way.
    Marked(u32),
    /// Not before a time of the monotonic clock, in ns, which is at most half a second ahead. What has no
    /// [`departures`](crate::departures) lets it leave at once.
    At(u64),
}

/// Packets that the kernel holds until a program has decided. Decisions take effect with [`Hold::flush`]. The file is
/// readable while there are packets that the program has not seen.
pub trait Hold: AsFd {
    /// Reads which packets the kernel holds, a limited number at once, for [`Hold::next`].
    ///
    /// # Errors
    /// The back-end has failed.
    fn fill(&mut self) -> io::Result<()>;
    /// Appends the beginning of the next packet to `head`; `None` if there is none. All packets must be taken before
    /// [`Hold::fill`] reads others.
    fn next(&mut self, head: &mut Vec<u8>) -> Option<Ticket>;
    /// Releases a packet, which frees room in its socket when it leaves.
    fn release(&mut self, packet: Ticket, how: Leave);
    /// Drops a packet.
    fn discard(&mut self, packet: Ticket);
    /// Tells the kernel what was decided.
    ///
    /// # Errors
    /// As for [`Hold::fill`].
    fn flush(&mut self) -> io::Result<()>;
}
