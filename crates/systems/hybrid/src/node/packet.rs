//! The packet switch of a hybrid fabric: short queues by pair of racks; what finds one long is held back
//! where it came from, or goes back there.
//!
//! "If a packet would be dropped in the packet switch, it is held at the ToR VOQ (similar to PFC)" (Etalon,
//! section 3.2). Its emulator sends such a packet back to its rack, at once, to a queue of five that goes
//! first, and drops it where that is full ([`InnerFull::Return`]; here the way back takes the link's delay, but next to
//! none of its rate). By default the rack is told to send no more for that destination when
//! the queue of the pair is at its limit, as a frame of priority flow control would: what is under way by
//! then still comes, so that a queue can be longer by a round trip, and nothing is lost.

use super::hold;
use super::shares::Turns;
use crate::ring::Ring;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::PortId;
use slotline_net::node::{Change, Cx, DropReason, Node, PacketAccount, Tally};
use slotline_net::topology::{InnerFull, RackOf};
use std::collections::VecDeque;

/// Packets of one pair of racks.
#[derive(Clone, Default)]
struct Pair {
    packets: Ring<Packet>,
    held: bool,
}

/// The sending side towards one rack.
struct Exit {
    /// By source rack.
    pairs: Vec<Pair>,
    turns: Turns,
    /// Frames for this rack, which go first.
    frames: VecDeque<Packet>,
    bytes: u64,
}

/// The packet switch. Its ports are numbered as racks are.
pub struct PacketSwitch {
    exits: Vec<Exit>,
    rack_of: RackOf,
    limit: usize,
    full: InnerFull,
    account: PacketAccount,
    longest: u64,
    returned: u64,
}

impl PacketSwitch {
    /// One with queues of `limit` packets, which deals as `full` says with what finds one full.
    pub fn new(racks: u32, hosts_per_rack: u32, limit: u32, full: InnerFull) -> PacketSwitch {
        let racks = racks as usize;
        let exit = || Exit {
            pairs: vec![Pair::default(); racks],
            turns: Turns::new(racks),
            frames: VecDeque::new(),
            bytes: 0,
        };
        PacketSwitch {
            exits: (0..racks).map(|_| exit()).collect(),
            rack_of: RackOf::new(hosts_per_rack),
            limit: limit as usize,
            full,
            account: PacketAccount::default(),
            longest: 0,
            returned: 0,
        }
    }

    fn tell(&mut self, from: usize, to: usize, stop: bool, cx: &mut Cx<'_>) {
        self.exits[to].pairs[from].held = stop;
        self.exits[from].frames.push_back(hold(to as u32, stop));
        self.account.created += 1;
        self.account.held += 1;
        cx.kick(PortId(from as u16));
    }
}

impl PacketSwitch {
    /// A packet that found no room goes back to the rack that it came from.
    fn give_back(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        self.exits[port.at()].frames.push_back(turn_back(packet));
        self.account.held += 1;
        self.returned += 1;
        cx.kick(port);
    }

    /// The link to a rack works again, which forgot what it was asked: what has to be held, once more.
    fn tell_again(&mut self, rack: usize, cx: &mut Cx<'_>) {
        let frames = &mut self.exits[rack].frames;
        let before = frames.len();
        frames.retain(|packet| frame(packet).is_none());
        let stale = (before - frames.len()) as u64;
        self.account.created -= stale;
        self.account.held -= stale;
        for to in 0..self.exits.len() {
            if self.exits[to].pairs[rack].held {
                self.tell(rack, to, true, cx);
            }
        }
    }
}

impl Node for PacketSwitch {
    fn start(&mut self, _cx: &mut Cx<'_>) {}

    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        let to = self.rack_of.of(packet.dst) as usize;
        let Some(exit) = self.exits.get_mut(to) else {
            return cx.drop(&packet, DropReason::NoRoute);
        };
        let pair = &mut exit.pairs[port.at()];
        if self.full == InnerFull::Return && pair.packets.len() >= self.limit {
            return self.give_back(port, packet, cx);
        }
        pair.packets.push(packet);
        exit.bytes += u64::from(packet.len);
        exit.turns.set(port.at(), true);
        self.account.held += 1;
        let (length, held) = (pair.packets.len(), pair.held);
        self.longest = self.longest.max(length as u64);
        cx.kick(PortId(to as u16));
        if self.full == InnerFull::Hold && length >= self.limit && !held {
            self.tell(port.at(), to, true, cx);
        }
    }

    fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        let exit = &mut self.exits[port.at()];
        if let Some(frame) = exit.frames.pop_front() {
            self.account.held -= 1;
            return Some(frame);
        }
        let from = exit.turns.next()?;
        let pair = &mut exit.pairs[from];
        let packet = pair.packets.pop()?;
        exit.bytes -= u64::from(packet.len);
        exit.turns.set(from, !pair.packets.is_empty());
        self.account.held -= 1;
        if pair.held && pair.packets.len() < self.limit {
            self.tell(from, port.at(), false, cx);
        }
        Some(packet)
    }

    fn expire(&mut self, _token: u32, _cx: &mut Cx<'_>) {}

    fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        if let Change::Up(port) = change {
            self.tell_again(port.at(), cx);
            cx.kick(*port);
        }
    }

    fn account(&self) -> PacketAccount {
        self.account
    }

    fn tally(&self, tally: &mut Tally) {
        tally.most("packet_switch_longest_queue", self.longest);
        tally.add("packet_switch_holds", self.account.created);
        tally.add("packet_switch_returns", self.returned);
    }

    fn queued(&self, port: PortId) -> u64 {
        self.exits[port.at()].bytes
    }
}

/// Bytes on the wire of a packet that goes back: as good as none, for Etalon's emulator hands it back in no time.
const TURNED_BACK: u16 = 84;

/// A packet as it goes back to its rack. Its length is where nothing else is read in such a fabric.
fn turn_back(packet: Packet) -> Packet {
    Packet { entropy: packet.len, len: TURNED_BACK, ..packet }
}

/// A packet that came back, as it was but for its `entropy`.
pub(super) fn came_back(packet: Packet) -> Packet {
    Packet { len: packet.entropy, ..packet }
}

/// Whether a packet is such a frame: for which rack, and whether it has to stop.
pub(super) fn frame(packet: &Packet) -> Option<(usize, bool)> {
    (packet.kind == Kind::Pause).then_some((packet.flow as usize, packet.seq == 1))
}
