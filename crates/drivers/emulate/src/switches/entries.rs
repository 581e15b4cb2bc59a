//! The entries of switches: routes for all packets, and the port of each connection where several lead to its
//! destination.

use super::cables::number;
use crate::classify::{Addresses, FIRST_PORT, SERVER_PORT};
use slotline_net::id::{HostId, NodeId};
use slotline_net::node::host::Plan;
use slotline_net::route::Routes;
use slotline_net::topology::{End, Graph, Wiring};
use slotline_net::workload::Carrier;
use slotline_openflow::action::{Action, Instruction};
use slotline_openflow::matching::{Field, IPV4, TCP, UDP};
use slotline_openflow::message::Body;
use slotline_openflow::modify::{Command, FlowMod, GroupMod};
use std::collections::BTreeMap;

/// The priorities of entries: of connections, and of routes. Other packets are dropped with the lowest one.
const CONNECTION: u16 = 100;
const ROUTE: u16 = 10;
const REST: u16 = 0;
/// This bit of a cookie says that the first switch counts a connection there. The lower ones are the connection's number.
pub(super) const COUNTED: u64 = 1 << 32;

/// What entries are made from.
pub struct Entries<'a> {
    /// The network.
    pub graph: &'a Graph,
    /// The links.
    pub wiring: &'a Wiring,
    /// Routes. Those that number paths have the same numbers as the decisions of schemes.
    pub routes: &'a Routes,
    /// The connections.
    pub plan: &'a Plan,
    /// Whether connections to a host are spread over equal ports.
    pub spreads: bool,
    /// Whether switches count connections.
    pub counts: bool,
}

/// The entry of a switch.
pub(super) type Placed = (NodeId, FlowMod);

impl Entries<'_> {
    fn addresses(&self) -> Addresses {
        Addresses { hosts: self.routes.host_nodes().len() as u32 }
    }

    /// All connections that carry something.
    pub(super) fn connections(&self) -> impl Iterator<Item = u32> + '_ {
        let conns = (0..).zip(&self.plan.traffic.conns);
        conns.filter(|(_, conn)| conn.count > 0).map(|(number, _)| number)
    }

    /// The messages that give a switch its routes, instead of all that it has.
    pub(super) fn of_switch(&self, node: NodeId) -> Vec<Body> {
        let (mut groups, mut routes) = (BTreeMap::new(), Vec::new());
        for host in (0..self.addresses().hosts).map(HostId) {
            let ports = self.ports(node, host);
            let action = match ports[..] {
                [] => continue,
                [port] => Action::Output(port),
                _ => {
                    let next = groups.len() as u32 + 1;
                    Action::Group(*groups.entry(ports).or_insert(next))
                }
            };
            let to = vec![Field::EthType(IPV4), Field::to(self.addresses().of(host))];
            routes.push(FlowMod::add(ROUTE, to, vec![Instruction::Apply(vec![action])]));
        }
        let groups = groups.into_iter().map(|(ports, group)| GroupMod::select(group, ports));
        let rest = FlowMod::add(REST, Vec::new(), Vec::new());
        let first = [Body::FlowMod(FlowMod::delete_all()), Body::GroupMod(GroupMod::delete_all())];
        let entries = routes.into_iter().chain([rest]).map(Body::FlowMod);
        first.into_iter().chain(groups.map(Body::GroupMod)).chain(entries).collect()
    }

    /// The ports of a switch that lead to a host.
    fn ports(&self, node: NodeId, host: HostId) -> Vec<u32> {
        match self.spreads {
            true => self.routes.choices(node, host).iter().map(number).collect(),
            false => self.routes.next(node, host, 0).into_iter().map(number).collect(),
        }
    }

    /// The entries of a connection on the path with this number, or on that of its hash. The first is the one of its first
    /// switch, which counts it, if switches count.
    pub(super) fn connection(&self, conn: u32, path: Option<u16>) -> Vec<Placed> {
        let entropy = path.unwrap_or_else(|| self.plan.entropy(conn));
        let info = &self.plan.traffic.conns[conn as usize];
        let counted = if self.counts { COUNTED } else { 0 };
        let [from, to] = self.ends(conn);
        self.along((info.src, info.dst), entropy, (from, to), u64::from(conn) | counted)
    }

    /// The entries of what the receiver of a connection sends.
    pub(super) fn answers(&self, conn: u32) -> Vec<Placed> {
        let info = &self.plan.traffic.conns[conn as usize];
        let [from, to] = self.ends(conn);
        self.along((info.dst, info.src), self.plan.entropy_back(conn), (to, from), u64::from(conn))
    }

    /// The protocol, address and port of both ends of a connection.
    fn ends(&self, conn: u32) -> [(u8, HostId, u16); 2] {
        let info = &self.plan.traffic.conns[conn as usize];
        let place = conn - self.plan.sends(info.src).start;
        let protocol = if info.carrier == Carrier::Tcp { TCP } else { UDP };
        let port = FIRST_PORT + place as u16;
        [(protocol, info.src, port), (protocol, info.dst, SERVER_PORT)]
    }

    /// Entries at the switches of a path where they are needed: where several ports lead to the destination, and at the
    /// first switch if it counts.
    fn along(
        &self,
        (src, dst): (HostId, HostId),
        entropy: u16,
        (from, to): ((u8, HostId, u16), (u8, HostId, u16)),
        cookie: u64,
    ) -> Vec<Placed> {
        let address = |(_, host, port): (u8, HostId, u16)| (self.addresses().of(host), port);
        let fields = Field::connection(from.0, address(from), address(to));
        let path = self.routes.path(self.wiring, src, dst, entropy).unwrap_or_default();
        // The first link is the one that leaves the host.
        let switches = path.into_iter().skip(1).enumerate();
        let needed = switches.filter(|(at, end)| {
            let several = self.spreads && self.routes.choices(end.node, dst).len() > 1;
            several || *at == 0 && cookie & COUNTED != 0
        });
        let entry = |(at, End { node, port }): (usize, End)| {
            let cookie = if at == 0 { cookie } else { cookie & !COUNTED };
            let output = vec![Instruction::output(number(port))];
            (node, FlowMod { cookie, ..FlowMod::add(CONNECTION, fields.clone(), output) })
        };
        needed.map(entry).collect()
    }
}

/// The changes that move a connection to other entries: first those of later switches, then that of its first switch, whose
/// counts stay. So its packets meet the new entries on their whole path. Entries of switches that it leaves remain without
/// effect.
pub(super) fn moved(mut entries: Vec<Placed>) -> (Vec<Placed>, Option<Placed>) {
    if entries.is_empty() {
        return (entries, None);
    }
    let (node, entry) = entries.remove(0);
    (entries, Some((node, FlowMod { command: Command::ModifyStrict, ..entry })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::node::host::Spread;
    use slotline_net::route::RoutingSpec;
    use slotline_net::topology::{Down, FatTreeSpec, TopologySpec};
    use slotline_net::transport::congestion::AlgorithmKind::NewReno as NEW_RENO;

    /// The routes of a switch lead to each host, by a group where several ports do.
    #[test]
    fn each_switch_has_a_route_to_each_host() {
        let graph = TopologySpec::FatTree(FatTreeSpec::new(4)).build().unwrap();
        let wiring = graph.wiring();
        for (routing, spreads) in [(RoutingSpec::Ecmp, true), (RoutingSpec::TwoLevel, false)] {
            let routes = Routes::build(&graph, routing, &Down::default(), 1);
            let traffic = slotline_net::workload::Traffic::default();
            let transport = slotline_net::transport::TransportSpec::of(NEW_RENO).build().unwrap();
            let plan =
                Plan::new(traffic, transport, Spread::PerFlow, graph.host_keys(), 1).unwrap();
            let entries = Entries {
                graph: &graph,
                wiring: &wiring,
                routes: &routes,
                plan: &plan,
                spreads,
                counts: true,
            };
            for node in super::super::switches(&graph) {
                let bodies = entries.of_switch(node);
                let changes = |body: &Body| match body {
                    Body::FlowMod(change) => change.priority == ROUTE,
                    _ => false,
                };
                assert_eq!(bodies.iter().filter(|body| changes(body)).count(), 16);
                let groups = bodies.iter().filter(|body| matches!(body, Body::GroupMod(_)));
                let is_core = graph.nodes[node.at()].name.starts_with("core");
                // One of them deletes all groups.
                assert_eq!(groups.count(), 1 + usize::from(spreads && !is_core));
            }
        }
    }
}
