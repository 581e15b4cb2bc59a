//! A real edge switch, whose kernel counts and forwards. The node learns the bytes of flows as packets, and the paths to
//! install leave it as packets.

use super::table::{FlowTable, TableConfig};
use super::{INSTALL, POLL};
use crate::Hedera;
use crate::counters;
use crate::wire::Message;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::{Counters, Cx, DropReason, Node, PacketAccount};
use slotline_net::scheme::CONTROL_CLASS;
use slotline_net::wire::ETHERNET_OVERHEAD;

/// The flow tables of a switch. A switch without hosts, between others, has none.
///
/// - A datagram that arrives at port 1 + n stands for bytes of the connection `flow` from host n of the switch.
/// - Messages of the scheduler arrive at port 0, and those to the scheduler leave by it.
/// - A datagram of 0 bytes that leaves by port 0 is an order to send the connection `flow` on the path `entropy`.
pub struct EdgeSwitch {
    tables: Vec<FlowTable>,
    options: Hedera,
    scheduler: HostId,
    account: PacketAccount,
    sent: u64,
}

impl EdgeSwitch {
    /// The tables of hosts, which report to the scheduler on the host `scheduler`.
    pub fn new(options: Hedera, tables: Vec<TableConfig>, scheduler: HostId) -> EdgeSwitch {
        let tables = tables.into_iter().map(FlowTable::new).collect();
        EdgeSwitch { tables, options, scheduler, account: PacketAccount::default(), sent: 0 }
    }
    fn poll(&mut self, cx: &mut Cx<'_>) {
        for table in &mut self.tables {
            for bytes in table.poll(cx.now) {
                let ends = (table.host(), self.scheduler);
                let packet = cx.attach(ends, bytes, ETHERNET_OVERHEAD, CONTROL_CLASS);
                self.account.created += 1;
                self.sent += u64::from(packet.len);
                cx.send(PortId(0), packet);
            }
        }
        cx.wake(cx.now.after(self.options.spec().poll), POLL);
    }
    fn install(&mut self, cx: &mut Cx<'_>) {
        for table in &mut self.tables {
            table.install(cx.now, |conn, path| {
                let order = Packet {
                    flow: conn.0,
                    entropy: path,
                    kind: Kind::Datagram,
                    ..Packet::default()
                };
                self.account.created += 1;
                cx.send(PortId(0), order);
            });
        }
    }
    fn order(&mut self, bytes: &[u8], cx: &mut Cx<'_>) {
        let Ok(message) = Message::parse(bytes) else { return };
        let at = self.tables.iter_mut().find_map(|table| table.order(&message, cx.now));
        at.into_iter().for_each(|at| cx.wake(at, INSTALL));
    }
}

impl Node for EdgeSwitch {
    fn start(&mut self, cx: &mut Cx<'_>) {
        self.tables.iter_mut().for_each(|table| table.begin(cx.now));
        cx.wake(cx.now.after(self.options.spec().poll), POLL);
    }
    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        if packet.kind == Kind::Control {
            self.account.consumed += 1;
            let bytes = cx.detach(&packet);
            return self.order(&bytes, cx);
        }
        let table = port.at().checked_sub(1).and_then(|host| self.tables.get_mut(host));
        let Some(table) = table else { return cx.drop(&packet, DropReason::Misrouted) };
        self.account.consumed += 1;
        table.count(&packet, cx.now);
    }
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        None
    }
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        match token {
            POLL => self.poll(cx),
            _ => self.install(cx),
        }
    }
    fn account(&self) -> PacketAccount {
        self.account
    }
    fn add_counters(&self, counters: &mut Counters) {
        self.tables.iter().for_each(|table| table.add_counters(counters));
        counters.add(counters::CONTROL_BYTES_SENT, self.sent);
    }
}
