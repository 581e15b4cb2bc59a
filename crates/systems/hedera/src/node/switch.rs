//! A real switch, whose kernel counts and forwards. The node learns the bytes of flows as packets, and the paths to
//! install leave it as packets.

use super::table::{FlowTable, TableConfig};
use super::{INSTALL, POLL, PORTS};
use crate::Hedera;
use crate::counters;
use crate::survivors::Survivors;
use crate::wire::{Body, MAX_LINKS, Message};
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{ConnId, HostId, PortId};
use slotline_net::node::{Change, Counters, Cx, DropReason, Node, PacketAccount};
use slotline_net::scheme::CONTROL_CLASS;
use slotline_net::wire::ETHERNET_OVERHEAD;
use std::collections::BTreeSet;

/// The path of packets that are spread over all paths.
pub const SPREAD: u16 = u16::MAX;
/// The connection in an order for all packets to a host.
pub const ANY: u32 = u32::MAX;

/// The flow tables of a switch. A switch without hosts, between others, has none.
///
/// - A datagram that arrives at port 1 + n stands for bytes of the connection `flow` from host n of the switch.
/// - Messages of the scheduler arrive at port 0, and those to the scheduler leave by it.
/// - A datagram of 0 bytes that leaves by port 0 is an order to send the connection `flow` on the path `entropy`.
/// - Such a datagram with the connection [`ANY`] is an order to send packets to the host `dst` that have no path of their
///   own on the path `entropy`, or, if that is [`SPREAD`], to spread them.
/// - Orders have 0 bytes, so that none waits for another one.
/// - Changes of links are those of the switch in the network, by their ports there.
pub struct EdgeSwitch {
    tables: Vec<FlowTable>,
    options: Hedera,
    /// Its own number among machines, and the scheduler's.
    me: HostId,
    scheduler: HostId,
    /// The ports whose links do not work.
    down: BTreeSet<u32>,
    /// The paths that are left.
    survivors: Survivors,
    /// The hosts to which packets without a path of their own have one.
    detours: BTreeSet<HostId>,
    seq: u32,
    account: PacketAccount,
    sent: u64,
}

impl EdgeSwitch {
    /// The machine `me` with the tables of its hosts, which report to the scheduler on the host `scheduler`.
    pub fn new(
        options: Hedera,
        tables: Vec<TableConfig>,
        (me, scheduler): (HostId, HostId),
        survivors: Survivors,
    ) -> EdgeSwitch {
        EdgeSwitch {
            tables: tables.into_iter().map(FlowTable::new).collect(),
            options,
            me,
            scheduler,
            down: BTreeSet::new(),
            survivors,
            detours: BTreeSet::new(),
            seq: 0,
            account: PacketAccount::default(),
            sent: 0,
        }
    }
    /// Reports the state of links and the large flows.
    fn poll(&mut self, cx: &mut Cx<'_>) {
        self.report_ports(cx);
        for at in 0..self.tables.len() {
            for bytes in self.tables[at].poll(cx.now) {
                self.send(self.tables[at].host(), bytes, cx);
            }
        }
        cx.wake(cx.now.after(self.options.spec().poll), POLL);
    }
    fn report_ports(&mut self, cx: &mut Cx<'_>) {
        self.seq = self.seq.wrapping_add(1);
        let ports = self.down.iter().copied().take(MAX_LINKS).collect();
        let message = Message { host: self.me, seq: self.seq, body: Body::Ports(ports) };
        self.send(self.me, message.emit(), cx);
    }
    fn send(&mut self, from: HostId, bytes: Vec<u8>, cx: &mut Cx<'_>) {
        let packet = cx.attach((from, self.scheduler), bytes, ETHERNET_OVERHEAD, CONTROL_CLASS);
        self.account.created += 1;
        self.sent += u64::from(packet.len);
        cx.send(PortId(0), packet);
    }
    fn install(&mut self, cx: &mut Cx<'_>) {
        let mut orders = Vec::new();
        let tables = self.tables.iter_mut();
        tables.for_each(|table| table.install(cx.now, |conn, path| orders.push((conn, path))));
        self.order_paths(orders, cx);
    }
    fn order_paths(&mut self, orders: Vec<(ConnId, u16)>, cx: &mut Cx<'_>) {
        for (conn, path) in orders {
            self.order(Packet { flow: conn.0, entropy: path, ..Packet::default() }, cx);
        }
    }
    fn order(&mut self, order: Packet, cx: &mut Cx<'_>) {
        self.account.created += 1;
        cx.send(PortId(0), Packet { kind: Kind::Datagram, ..order });
    }
    /// Moves all packets from paths with broken links, as long as the scheduler has not decided anew.
    fn avoid(&mut self, broken: Vec<u32>, cx: &mut Cx<'_>) {
        self.survivors.set_broken(broken.into_iter().collect());
        let (survivors, mut orders) = (&self.survivors, Vec::new());
        for table in &mut self.tables {
            let src = table.host();
            let working = |dst, path| survivors.working(src, dst, path);
            table.avoid(cx.now, working, |conn, path| orders.push((conn, path)));
        }
        self.order_paths(orders, cx);
        self.order_detours(cx);
    }
    /// Gives paths to packets to hosts that some paths do not reach.
    fn order_detours(&mut self, cx: &mut Cx<'_>) {
        let Some(src) = self.tables.first().map(FlowTable::host) else { return };
        for dst in (0..self.survivors.hosts() as u32).map(HostId) {
            let path = self.survivors.detour(src, dst);
            let had = match path {
                Some(_) => !self.detours.insert(dst),
                None => self.detours.remove(&dst),
            };
            if had || path.is_some() {
                let entropy = path.unwrap_or(SPREAD);
                self.order(Packet { dst, entropy, flow: ANY, ..Packet::default() }, cx);
            }
        }
    }
    fn hear(&mut self, bytes: &[u8], cx: &mut Cx<'_>) {
        let Ok(message) = Message::parse(bytes) else { return };
        if let Body::Broken(links) = message.body {
            return self.avoid(links, cx);
        }
        let at = self.tables.iter_mut().find_map(|table| table.order(&message, cx.now));
        at.into_iter().for_each(|at| cx.wake(at, INSTALL));
    }
}

impl Node for EdgeSwitch {
    fn start(&mut self, cx: &mut Cx<'_>) {
        self.tables.iter_mut().for_each(|table| table.begin(cx.now));
        cx.wake(cx.now, PORTS);
        cx.wake(cx.now.after(self.options.spec().poll), POLL);
    }
    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        if packet.kind == Kind::Control {
            self.account.consumed += 1;
            let bytes = cx.detach(&packet);
            return self.hear(&bytes, cx);
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
            PORTS => self.report_ports(cx),
            _ => self.install(cx),
        }
    }
    fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        let changed = match change {
            Change::Up(port) => self.down.remove(&port.0.into()),
            Change::Down(port) => self.down.insert(port.0.into()),
            _ => false,
        };
        if changed {
            cx.wake(cx.now, PORTS);
        }
    }
    fn account(&self) -> PacketAccount {
        self.account
    }
    fn add_counters(&self, counters: &mut Counters) {
        self.tables.iter().for_each(|table| table.add_counters(counters));
        counters.add(counters::CONTROL_BYTES_SENT, self.sent);
        counters.add(counters::BROKEN_PORTS, self.down.len() as u64);
        counters.add(counters::DETOURS, self.detours.len() as u64);
    }
}
