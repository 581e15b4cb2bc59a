//! An edge switch's work for one of its hosts, in a simulated network: its [`FlowTable`] counts the bytes of connections,
//! and packets take the paths that the scheduler has installed.
//!
//! The agent is at the host's end of the link. This changes neither the counts nor the paths, because each packet has
//! the number of its path from there on. The messages of the agent use the host's link.

use super::table::{FlowTable, TableConfig};
use super::{INSTALL, POLL};
use crate::counters;
use crate::wire::Message;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::agent::Agent;
use slotline_net::node::{Counters, Cx, PacketAccount};
use slotline_net::scheme::CONTROL_CLASS;
use slotline_net::units::Bytes;
use slotline_net::wire::ETHERNET_OVERHEAD;
use std::collections::VecDeque;

/// The flow table of an edge switch for one host, and the packets of the host.
pub struct EdgeAgent {
    table: FlowTable,
    /// The scheduler's host.
    scheduler: HostId,
    packets: VecDeque<Packet>,
    bytes: u64,
    messages: VecDeque<Packet>,
    created: u64,
    sent: u64,
}

impl EdgeAgent {
    /// An empty table, which reports to the scheduler on the host `scheduler`.
    pub fn new(table: TableConfig, scheduler: HostId) -> EdgeAgent {
        EdgeAgent {
            table: FlowTable::new(table),
            scheduler,
            packets: VecDeque::new(),
            bytes: 0,
            messages: VecDeque::new(),
            created: 0,
            sent: 0,
        }
    }
    /// Reports to the scheduler.
    fn poll(&mut self, cx: &mut Cx<'_>) {
        for bytes in self.table.poll(cx.now) {
            let ends = (self.table.host(), self.scheduler);
            let packet = cx.attach(ends, bytes, ETHERNET_OVERHEAD, CONTROL_CLASS);
            self.created += 1;
            self.sent += u64::from(packet.len);
            self.messages.push_back(packet);
            cx.kick(PortId(0));
        }
        cx.wake(cx.now.after(self.table.options().spec().poll), POLL);
    }
}

impl Agent for EdgeAgent {
    fn start(&mut self, cx: &mut Cx<'_>) {
        cx.wake(cx.now.after(self.table.options().spec().poll), POLL);
    }
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        self.bytes += u64::from(packet.len);
        self.packets.push_back(packet);
        cx.kick(PortId(0));
    }
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        if let Some(message) = self.messages.pop_front() {
            return Some(message);
        }
        let mut packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.len);
        // Acknowledgements are not counted.
        if matches!(packet.kind, Kind::Data | Kind::Datagram)
            && let Some(path) = self.table.count(&packet, cx.now)
        {
            packet.entropy = path;
        }
        Some(packet)
    }
    fn has_more(&self) -> bool {
        !self.messages.is_empty() || !self.packets.is_empty()
    }
    fn control(&mut self, message: &[u8], cx: &mut Cx<'_>) {
        let message = Message::parse(message).ok();
        if let Some(at) = message.and_then(|message| self.table.order(&message, cx.now)) {
            cx.wake(at, INSTALL);
        }
    }
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        match token {
            POLL => self.poll(cx),
            _ => self.table.install(cx.now, |_, _| {}),
        }
    }
    fn queued(&self, _dst: HostId) -> u64 {
        self.bytes
    }
    /// As without a scheduler, the queue of the host is that of its NIC.
    fn has_room(&self, limit: Bytes) -> bool {
        self.bytes < limit.0
    }
    fn account(&self) -> PacketAccount {
        let held = (self.packets.len() + self.messages.len()) as u64;
        PacketAccount { created: self.created, consumed: 0, held }
    }
    fn add_counters(&self, counters: &mut Counters) {
        self.table.add_counters(counters);
        counters.add(counters::CONTROL_BYTES_SENT, self.sent);
    }
}
