//! What an agent has of its machine's traffic: the packets that the kernel holds for it, or the flows that the kernel
//! forwards.

use crate::clock::Local;
use crate::forwarding::{Forwarding, Hosts};
use slotline_linux::gate::{Gate, Kind};
use slotline_linux::hold::{Leave, Ticket};
use slotline_linux::segments::Segments;
use slotline_linux::tags::Tags;
use slotline_net::id::HostId;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// The traffic of a machine.
pub enum Grip {
    /// Packets that are held.
    Packets(Box<Packets>),
    /// Flows that are counted and sent on paths.
    Flows(Box<Forwarding>),
}

/// The packets of a machine's applications, or those that it forwards.
pub struct Packets {
    gate: Box<dyn Gate>,
    /// The rules that give packets the tags of their paths.
    _tags: Option<Tags>,
    /// The time since which the agent obeys no arbiter.
    free_since: Option<Local>,
    /// Whether the rules can be changed. Otherwise the agent itself lets packets leave at once.
    changeable: bool,
    /// The number of packets that have passed the gate and were told, and the time of that.
    told: u64,
    asked: Local,
}

/// The time without an arbiter after which packets pass without being held. Changes of rules take milliseconds.
const SETTLED: Duration = Duration::from_millis(200);
/// The interval between readings of the kernel's count of packets that have passed.
const COUNTS: Duration = Duration::from_secs(1);

impl Packets {
    fn attend(&mut self, obeys: bool, now: Local) -> io::Result<u64> {
        if obeys {
            self.free_since = None;
            return if self.gate.passes() { self.hold_again() } else { Ok(0) };
        }
        let since = *self.free_since.get_or_insert(now);
        if self.changeable && !self.gate.passes() && now.since(since) > SETTLED {
            self.changeable = self.gate.pass(true).is_ok();
            (self.told, self.asked) = (0, now);
        }
        if self.gate.passes() && now.since(self.asked) > COUNTS {
            self.asked = now;
            return self.passed();
        }
        Ok(0)
    }

    fn hold_again(&mut self) -> io::Result<u64> {
        let passed = self.passed()?;
        self.gate.pass(false)?;
        Ok(passed)
    }

    fn passed(&mut self) -> io::Result<u64> {
        let passed = self.gate.passed()?;
        Ok(passed - std::mem::replace(&mut self.told, passed).min(passed))
    }
}

impl Packets {
    /// The packets at a gate, which get tags of their paths if there are such.
    pub fn new(gate: Box<dyn Gate>, tags: Option<Tags>) -> Packets {
        let (free_since, told, asked) = (None, 0, Local(0));
        Packets { gate, _tags: tags, free_since, changeable: true, told, asked }
    }
}

impl Grip {
    /// A file descriptor that is readable while packets wait, or when links have changed.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Grip::Packets(packets) => Some(packets.gate.as_fd()),
            Grip::Flows(flows) => Some(flows.fd()),
        }
    }
    /// Reads packets that wait.
    pub(crate) fn fill(&mut self) -> io::Result<()> {
        match self {
            Grip::Packets(packets) => packets.gate.fill(),
            Grip::Flows(_) => Ok(()),
        }
    }
    /// The segments that are held as one packet, where they have a limit.
    pub(crate) fn segments(&self) -> Option<Segments> {
        match self {
            Grip::Packets(packets) => packets.gate.segments(),
            Grip::Flows(_) => None,
        }
    }
    /// Lets packets of fewer bytes pass without being held, where rules can say so. Otherwise the agent itself releases
    /// them.
    pub(crate) fn exempt_below(&mut self, bytes: u32) {
        if let Grip::Packets(packets) = self {
            let _ = packets.gate.exempt_below(bytes);
        }
    }
    /// The next packet, whose bytes are appended to `buffer`.
    pub(crate) fn next(&mut self, buffer: &mut Vec<u8>) -> Option<Ticket> {
        match self {
            Grip::Packets(packets) => packets.gate.next(buffer),
            Grip::Flows(_) => None,
        }
    }
    /// The means by which packets are held, where they are.
    pub fn gate(&self) -> Option<Kind> {
        match self {
            Grip::Packets(packets) => Some(packets.gate.kind()),
            Grip::Flows(_) => None,
        }
    }
    /// The number of packets for which the gate had no room, as far as the kernel tells.
    pub(crate) fn lost(&self) -> u64 {
        match self {
            Grip::Packets(packets) => packets.gate.lost(),
            Grip::Flows(_) => 0,
        }
    }
    /// Whether packets can be released before the time at which they leave.
    pub fn is_timed(&self) -> bool {
        matches!(self, Grip::Packets(packets) if packets.gate.is_timed())
    }
    /// What the kernel does not do for this daemon, and why.
    pub fn lacks(&self) -> &[String] {
        match self {
            Grip::Packets(packets) => packets.gate.lacks(),
            Grip::Flows(_) => &[],
        }
    }
    /// Lets a packet leave.
    pub(crate) fn release(&mut self, packet: Ticket, how: Leave) {
        if let Grip::Packets(packets) = self {
            packets.gate.release(packet, how);
        }
    }
    /// Drops a packet.
    pub(crate) fn discard(&mut self, packet: Ticket) {
        if let Grip::Packets(packets) = self {
            packets.gate.discard(packet);
        }
    }
    /// Sends a connection on a path.
    pub(crate) fn order(&mut self, conn: u32, path: u16, now: Local) {
        if let Grip::Flows(flows) = self {
            flows.order(conn, path, now);
        }
    }
    /// Sends packets to a host that have no other path on this one, or spreads them.
    pub(crate) fn detour(&mut self, hosts: &Hosts, to: HostId, path: Option<u16>, now: Local) {
        if let Grip::Flows(flows) = self {
            flows.detour(hosts, to, path, now);
        }
    }
    /// Gives no flow a path until further orders.
    pub(crate) fn clear(&mut self) {
        if let Grip::Flows(flows) = self {
            flows.clear();
        }
    }
    /// Lets packets pass without being held while the agent does not obey an arbiter for some time. Returns the number
    /// of those that passed since the last call that told.
    pub(crate) fn attend(&mut self, obeys: bool, now: Local) -> io::Result<u64> {
        match self {
            Grip::Packets(packets) => packets.attend(obeys, now),
            Grip::Flows(_) => Ok(0),
        }
    }
    /// Passes everything to the kernel.
    pub(crate) fn flush(&mut self, now: Local) -> io::Result<()> {
        match self {
            Grip::Packets(packets) => packets.gate.flush(),
            Grip::Flows(flows) => flows.flush(now),
        }
    }
}
