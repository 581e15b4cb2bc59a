//! The packet switch of a hybrid fabric. It has short queues by pair of racks. When one is full, the source rack
//! holds its packets, or they are returned to it.
//!
//! "If a packet would be dropped in the packet switch, it is held at the ToR VOQ (similar to PFC)" (Etalon,
//! section 3.2). Its emulator returns such a packet at once to its rack, to a queue of five packets that leave
//! first, and drops it if that queue is full ([`InnerFull::Return`]; here the return takes the delay of the link, but
//! hardly any of its rate). By default the rack is asked to send no more packets for that destination when the queue
//! of the pair is at its limit, as in priority flow control. Packets that are already on the link
//! still arrive, so a queue can be longer by a round trip, and no packet is lost.

use super::hold_frame;
use super::round_robin::RoundRobin;
use crate::counters;
use crate::voq::ring::Ring;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::PortId;
use slotline_net::node::{Change, Counters, Cx, DropReason, Node, PacketAccount};
use slotline_net::topology::{InnerFull, RackHosts};
use std::collections::VecDeque;

/// The packets of one pair of racks.
#[derive(Clone, Default)]
struct Pair {
    packets: Ring<Packet>,
    held: bool,
}

/// The sending side towards one rack.
struct Egress {
    /// The queues by source rack.
    pairs: Vec<Pair>,
    turns: RoundRobin,
    /// Frames for this rack, which leave first.
    frames: VecDeque<Packet>,
    bytes: u64,
}

/// The packet switch. Its ports have the numbers of the racks.
pub struct PacketSwitch {
    egresses: Vec<Egress>,
    hosts: RackHosts,
    limit: usize,
    full: InnerFull,
    account: PacketAccount,
    longest: u64,
    returned: u64,
}

impl PacketSwitch {
    /// A packet switch with queues of `limit` packets; `full` says what happens when a queue is full.
    pub fn new(racks: u32, hosts: RackHosts, limit: u32, full: InnerFull) -> PacketSwitch {
        let racks = racks as usize;
        let egress = || Egress {
            pairs: vec![Pair::default(); racks],
            turns: RoundRobin::new(racks),
            frames: VecDeque::new(),
            bytes: 0,
        };
        PacketSwitch {
            egresses: (0..racks).map(|_| egress()).collect(),
            hosts,
            limit: limit as usize,
            full,
            account: PacketAccount::default(),
            longest: 0,
            returned: 0,
        }
    }

    /// Asks a rack to hold its packets for `to`, or to resume.
    fn request_hold(&mut self, from: usize, to: usize, stop: bool, cx: &mut Cx<'_>) {
        self.egresses[to].pairs[from].held = stop;
        self.egresses[from].frames.push_back(hold_frame(to as u32, stop));
        self.account.created += 1;
        self.account.held += 1;
        cx.kick(PortId(from as u16));
    }
}

impl PacketSwitch {
    /// Returns a packet that found no room to the rack from which it came.
    fn return_packet(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        self.egresses[port.at()].frames.push_back(returned(packet));
        self.account.held += 1;
        self.returned += 1;
        cx.kick(port);
    }

    /// A packet from the rack at `port` joins the queue of its pair of racks.
    fn join(&mut self, port: PortId, packet: &Packet, cx: &mut Cx<'_>) {
        let to = self.hosts.rack(packet.dst) as usize;
        let Some(egress) = self.egresses.get_mut(to) else {
            return cx.drop(packet, DropReason::NoRoute);
        };
        let pair = &mut egress.pairs[port.at()];
        if self.full == InnerFull::Return && pair.packets.len() >= self.limit {
            return self.return_packet(port, *packet, cx);
        }
        pair.packets.push(*packet);
        // A port for which something waits will ask.
        if egress.bytes == 0 && egress.frames.is_empty() {
            cx.kick(PortId(to as u16));
        }
        egress.bytes += u64::from(packet.len);
        egress.turns.set(port.at(), true);
        self.account.held += 1;
        let (length, held) = (pair.packets.len(), pair.held);
        self.longest = self.longest.max(length as u64);
        if self.full == InnerFull::Hold && length >= self.limit && !held {
            self.request_hold(port.at(), to, true, cx);
        }
    }

    /// The link to a rack works again, and the rack has forgotten the requests: they are sent once more.
    fn repeat_requests(&mut self, rack: usize, cx: &mut Cx<'_>) {
        let frames = &mut self.egresses[rack].frames;
        let before = frames.len();
        frames.retain(|packet| hold_request(packet).is_none());
        let stale = (before - frames.len()) as u64;
        self.account.created -= stale;
        self.account.held -= stale;
        for to in 0..self.egresses.len() {
            if self.egresses[to].pairs[rack].held {
                self.request_hold(rack, to, true, cx);
            }
        }
    }
}

impl Node for PacketSwitch {
    fn start(&mut self, _cx: &mut Cx<'_>) {}

    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        self.arrive(port, &packet, cx);
    }

    fn arrive(&mut self, port: PortId, packet: &Packet, cx: &mut Cx<'_>) -> Option<PortId> {
        self.join(port, packet, cx);
        None
    }

    fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        let egress = &mut self.egresses[port.at()];
        if let Some(frame) = egress.frames.pop_front() {
            self.account.held -= 1;
            return Some(frame);
        }
        let from = egress.turns.next()?;
        let pair = &mut egress.pairs[from];
        let packet = *pair.packets.pop()?;
        egress.bytes -= u64::from(packet.len);
        egress.turns.set(from, !pair.packets.is_empty());
        self.account.held -= 1;
        if pair.held && pair.packets.len() < self.limit {
            self.request_hold(from, port.at(), false, cx);
        }
        Some(packet)
    }

    fn has_more(&self, port: PortId) -> bool {
        let egress = &self.egresses[port.at()];
        egress.bytes > 0 || !egress.frames.is_empty()
    }

    fn expire(&mut self, _token: u32, _cx: &mut Cx<'_>) {}

    fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        if let Change::Up(port) = change {
            self.repeat_requests(port.at(), cx);
            cx.kick(*port);
        }
    }

    fn account(&self) -> PacketAccount {
        self.account
    }

    fn add_counters(&self, counters: &mut Counters) {
        counters.add(counters::PACKET_SWITCH_LONGEST_QUEUE, self.longest);
        counters.add(counters::PACKET_SWITCH_HOLDS, self.account.created);
        counters.add(counters::PACKET_SWITCH_RETURNS, self.returned);
    }

    fn queued(&self, port: PortId) -> u64 {
        self.egresses[port.at()].bytes
    }
}

/// Bytes on the wire of a returned packet. They are few, because Etalon's emulator returns packets without delay.
const RETURNED_LEN: u16 = 84;

/// A packet as it returns to its rack. Its length is in a field that has no other use in such a fabric.
fn returned(packet: Packet) -> Packet {
    Packet { entropy: packet.len, len: RETURNED_LEN, ..packet }
}

/// Restores a returned packet, except for its `entropy`.
pub(super) fn restored(packet: Packet) -> Packet {
    Packet { len: packet.entropy, ..packet }
}

/// The destination rack and whether to stop, if the packet is a request to hold packets or to resume.
pub(super) fn hold_request(packet: &Packet) -> Option<(usize, bool)> {
    (packet.kind == Kind::Pause).then_some((packet.flow as usize, packet.seq == 1))
}
