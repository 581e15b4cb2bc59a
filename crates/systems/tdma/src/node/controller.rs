//! A controller near its hosts (§4.4). It sends their pause frames when the fabric manager triggers it.

use super::manager::REPORTS;
use super::outbox::Outbox;
use super::runs::open_at;
use super::signals::{Signals, SwitchHosts};
use crate::Tdma;
use crate::counters;
use crate::wire::{Body, Edge, Fragment, Message, Open};
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::control_switch::EVERYONE;
use slotline_net::node::{Counters, Cx, DropReason, Node, PacketAccount};
use slotline_net::units::Rate;
use slotline_net::wire::newer;
use std::collections::VecDeque;

/// The slots of a round, as far as they are known.
struct KnownSlots {
    round: u32,
    open: Vec<Open>,
    missing: Vec<bool>,
}

/// The node of a controller. It sends by its FIFO port 0, and messages by port 1 if there is a control network.
pub struct SlotController {
    host: HostId,
    manager: HostId,
    signals: Signals,
    outbox: Outbox,
    control: Option<Outbox>,
    rounds: VecDeque<KnownSlots>,
    heard: Option<u32>,
    turn: usize,
    consumed: u64,
    ignored: u64,
    bytes_received: u64,
}

impl SlotController {
    /// A controller on `host`, whose link has the rate `line`, for these hosts.
    pub fn new(
        tdma: &Tdma,
        host: HostId,
        line: Rate,
        manager: HostId,
        hosts: SwitchHosts,
    ) -> SlotController {
        SlotController {
            host,
            manager,
            signals: Signals::new(tdma.spec(), host, &[hosts]),
            outbox: Outbox::new(host, line),
            control: tdma.spec().control_link().map(|link| Outbox::of_control(host, link.rate)),
            rounds: VecDeque::new(),
            heard: None,
            turn: 0,
            consumed: 0,
            ignored: 0,
            bytes_received: 0,
        }
    }
    /// Takes a message; `None` if it is ignored.
    fn receive_message(&mut self, message: Message, cx: &mut Cx<'_>) -> Option<()> {
        let Message { host, seq, body, .. } = message;
        let to_all = host == EVERYONE && matches!(body, Body::Trigger { .. } | Body::Hello);
        if !(host == self.host || to_all) || self.heard.is_some_and(|last| !newer(seq, last)) {
            return None;
        }
        self.heard = Some(seq);
        match body {
            Body::Hello => {
                self.rounds.clear();
                self.stop_all(cx);
            }
            Body::Slots { round, part, open } => self.learn(round, part, &open, cx),
            Body::Trigger { slot, edge: Edge::Ends, .. } => {
                self.stop_all(cx);
                self.turn += usize::from(slot != REPORTS);
            }
            Body::Trigger { round, slot, edge: Edge::Begins } => self.open(round, slot, cx),
            _ => return None,
        }
        Some(())
    }
    fn learn(&mut self, round: u32, part: Fragment, open: &[Open], cx: &mut Cx<'_>) {
        if !self.rounds.iter().any(|known| known.round == round) {
            let missing = vec![true; part.parts.into()];
            self.rounds.push_back(KnownSlots { round, open: Vec::new(), missing });
            if self.rounds.len() > 2 {
                self.rounds.pop_front();
            }
        }
        let Some(known) = self.rounds.iter_mut().find(|known| known.round == round) else { return };
        if known.missing.get_mut(usize::from(part.part)).is_some_and(std::mem::take) {
            known.open.extend(open);
            known.open.sort_by_key(|open| (open.slot, open.host, open.class));
        }
        if !known.missing.contains(&true) {
            self.send_message(Body::Ready(round), cx);
        }
    }
    fn send_message(&mut self, body: Body, cx: &mut Cx<'_>) {
        let heard = self.heard.unwrap_or(0);
        let outbox = self.control.as_mut().unwrap_or(&mut self.outbox);
        outbox.message(self.manager, self.host, heard, body, cx);
    }
    fn stop_all(&mut self, cx: &mut Cx<'_>) {
        for host in self.signals.order(self.turn) {
            self.outbox.frame(host, &self.signals.stop(host), cx);
        }
    }
    fn open(&mut self, round: u32, slot: u16, cx: &mut Cx<'_>) {
        let known = self.rounds.iter().find(|known| known.round == round);
        for host in self.signals.order(self.turn) {
            let open = known.map_or(&[][..], |known| open_at(&known.open, slot, host));
            if slot == REPORTS {
                self.outbox.frame(host, &self.signals.ask(host), cx);
            } else if !open.is_empty() {
                self.outbox.frame(host, &self.signals.open(host, open), cx);
            }
        }
    }
}

impl Node for SlotController {
    fn start(&mut self, cx: &mut Cx<'_>) {
        self.outbox.start(cx.now);
        self.control.iter_mut().for_each(|control| control.start(cx.now));
        self.send_message(Body::Hello, cx);
    }
    fn receive(&mut self, _port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        if packet.dst != self.host {
            cx.drop(&packet, DropReason::Misrouted);
            return;
        }
        self.consumed += 1;
        if packet.kind != Kind::Control {
            return;
        }
        self.bytes_received += u64::from(packet.len);
        let bytes = cx.detach(&packet);
        let sender = HostId(packet.flow);
        // Only messages of the manager count.
        let message = Message::parse(&bytes).ok().filter(|_| sender == self.manager);
        if message.and_then(|message| self.receive_message(message, cx)).is_none() {
            self.ignored += 1;
        }
    }
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        None
    }
    fn expire(&mut self, _token: u32, _cx: &mut Cx<'_>) {}
    fn account(&self) -> PacketAccount {
        let created = self.outbox.created + self.control.as_ref().map_or(0, |port| port.created);
        PacketAccount { created, consumed: self.consumed, held: 0 }
    }
    fn add_counters(&self, counters: &mut Counters) {
        self.outbox.add_counters(counters);
        self.control.iter().for_each(|control| control.add_counters(counters));
        counters.add(counters::IGNORED_MESSAGES, self.ignored);
        counters.add(counters::CONTROL_BYTES_RECEIVED, self.bytes_received);
    }
}
