//! The entries of switches. The first table has an entry for each port, which drops what arrives by a link that is down. The
//! second has routes for all packets, and the port of each connection where several lead to its destination. The third
//! drops, and counts, packets for hosts to which there is no way.

use super::cables::number;
use crate::classify::{Addresses, FIRST_PORT, SERVER_PORT};
use slotline_net::id::{HostId, NodeId, PortId};
use slotline_net::node::host::Plan;
use slotline_net::route::Routes;
use slotline_net::topology::{End, Graph, Wiring};
use slotline_net::workload::Carrier;
use slotline_openflow::action::{Action, Instruction};
use slotline_openflow::matching::{Field, IPV4, TCP, UDP};
use slotline_openflow::message::Body;
use slotline_openflow::modify::{Command, FlowMod, GroupMod};
use std::collections::BTreeMap;

/// The table of links, in which each packet meets one entry, that of paths, and that of packets without a way.
pub(super) const LINKS: u8 = 0;
pub(super) const PATHS: u8 = 1;
pub(super) const NOWHERE: u8 = 2;
/// The priorities of entries: of hosts whose link is down, of connections, and of routes. Other packets are dropped with the
/// lowest one.
const DOWN: u16 = 200;
const CONNECTION: u16 = 100;
const ROUTE: u16 = 10;
const REST: u16 = 0;
/// This bit of a cookie says that the first switch counts a connection there. The lower ones are the connection's number.
pub(super) const COUNTED: u64 = 1 << 32;
/// This bit says that an entry drops packets for a host whose link is down.
pub(super) const CUT: u64 = 1 << 33;

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

    /// The messages that give a switch its links and routes, instead of all that it has.
    pub(super) fn of_switch(&self, node: NodeId) -> Vec<Body> {
        let (groups, routes) = self.routes(node, 0);
        let ports = (0..self.wiring.of(node).len() as u16).map(PortId);
        let links = ports.map(|port| link(Command::Add, port, true));
        let rest = [PATHS, NOWHERE].map(rest);
        let first = [Body::FlowMod(FlowMod::delete_all()), Body::GroupMod(GroupMod::delete_all())];
        let entries = links.chain(routes).chain(rest).map(Body::FlowMod);
        first.into_iter().chain(groups.into_iter().map(Body::GroupMod)).chain(entries).collect()
    }

    /// The messages that change the routes of a switch to the present ones. `again` alternates, so that groups in use keep
    /// their numbers until no entry uses them.
    pub(super) fn new_routes(&self, node: NodeId, again: bool) -> Vec<Body> {
        let (groups, routes) = self.routes(node, u32::from(again) << 16);
        let replaced = |group: GroupMod| [GroupMod::delete(group.group), group];
        let groups = groups.into_iter().flat_map(replaced).map(Body::GroupMod);
        let routes =
            routes.into_iter().map(|entry| FlowMod { command: Command::ModifyStrict, ..entry });
        groups.chain(routes.map(Body::FlowMod)).collect()
    }

    /// The groups of a switch, which have numbers above `before`, and its route to each host.
    fn routes(&self, node: NodeId, before: u32) -> (Vec<GroupMod>, Vec<FlowMod>) {
        let (mut groups, mut routes) = (BTreeMap::new(), Vec::new());
        for host in (0..self.addresses().hosts).map(HostId) {
            let ports = self.ports(node, host);
            let does = match ports[..] {
                [] => vec![Instruction::Goto(NOWHERE)],
                [port] => vec![Instruction::output(port)],
                _ => {
                    let next = before + groups.len() as u32 + 1;
                    let group = *groups.entry(ports).or_insert(next);
                    vec![Instruction::Apply(vec![Action::Group(group)])]
                }
            };
            routes.push(at_paths(ROUTE, self.to(host), does));
        }
        (groups.into_iter().map(|(ports, group)| GroupMod::select(group, ports)).collect(), routes)
    }

    /// What all packets for a host have.
    fn to(&self, host: HostId) -> Vec<Field> {
        vec![Field::EthType(IPV4), Field::to(self.addresses().of(host))]
    }

    /// The changes at an end of a link that goes down, or works again. A host's end has none: its switch drops what
    /// comes from it, and what goes to it.
    pub(super) fn link(&self, end: End, works: bool) -> Vec<Placed> {
        let hosts = self.routes.host_nodes();
        if hosts.contains(&end.node) {
            return Vec::new();
        }
        let far = self.wiring.of(end.node)[end.port.at()].far.node;
        let host = hosts.iter().position(|node| *node == far).map(|host| HostId(host as u32));
        let command = if works { Command::DeleteStrict } else { Command::Add };
        let cut = host.map(|host| {
            let entry = at_paths(DOWN, self.to(host), Vec::new());
            FlowMod { command, cookie: CUT, ..entry }
        });
        let changes = [link(Command::ModifyStrict, end.port, works)].into_iter().chain(cut);
        changes.map(|change| (end.node, change)).collect()
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
        self.there(conn, path).into_iter().filter(|(needed, _)| *needed).map(|(_, at)| at).collect()
    }

    /// The entries of what the receiver of a connection sends.
    pub(super) fn answers(&self, conn: u32) -> Vec<Placed> {
        self.back(conn).into_iter().filter(|(needed, _)| *needed).map(|(_, at)| at).collect()
    }

    /// The entries of both directions of a connection at all switches of its paths, of which some may have entries of earlier
    /// paths. Counts stay.
    pub(super) fn rerouted(&self, conn: u32, path: Option<u16>) -> Vec<Placed> {
        let all = self.there(conn, path).into_iter().chain(self.back(conn));
        let command = |entry: &FlowMod| match entry.cookie & COUNTED {
            0 => Command::Add,
            _ => Command::ModifyStrict,
        };
        all.map(|(_, (node, entry))| (node, FlowMod { command: command(&entry), ..entry }))
            .collect()
    }

    fn there(&self, conn: u32, path: Option<u16>) -> Vec<(bool, Placed)> {
        let entropy = path.unwrap_or_else(|| self.plan.entropy(conn));
        let info = &self.plan.traffic.conns[conn as usize];
        let counted = if self.counts { COUNTED } else { 0 };
        let [from, to] = self.ends(conn);
        self.along((info.src, info.dst), entropy, (from, to), u64::from(conn) | counted)
    }

    fn back(&self, conn: u32) -> Vec<(bool, Placed)> {
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

    /// Entries at the switches of a path, and whether they are needed: where several ports lead to the destination, and at
    /// the first switch if it counts. Without a path the first switch drops packets.
    fn along(
        &self,
        (src, dst): (HostId, HostId),
        entropy: u16,
        (from, to): ((u8, HostId, u16), (u8, HostId, u16)),
        cookie: u64,
    ) -> Vec<(bool, Placed)> {
        let address = |(_, host, port): (u8, HostId, u16)| (self.addresses().of(host), port);
        let fields = Field::connection(from.0, address(from), address(to));
        let Some(path) = self.routes.path(self.wiring, src, dst, entropy) else {
            let first = self.wiring.of(self.routes.host_nodes()[src.at()])[0].far.node;
            let nowhere = at_paths(CONNECTION, fields, vec![Instruction::Goto(NOWHERE)]);
            return vec![(true, (first, FlowMod { cookie, ..nowhere }))];
        };
        // The first link is the one that leaves the host.
        let switches = path.into_iter().skip(1).enumerate();
        let entry = |(at, End { node, port }): (usize, End)| {
            let several = self.spreads && self.routes.choices(node, dst).len() > 1;
            let cookie = if at == 0 { cookie } else { cookie & !COUNTED };
            let output = vec![Instruction::output(number(port))];
            let entry = FlowMod { cookie, ..at_paths(CONNECTION, fields.clone(), output) };
            (several || cookie & COUNTED != 0, (node, entry))
        };
        switches.map(entry).collect()
    }
}

/// The entry for all packets of a table that have no other. It drops them.
fn rest(table: u8) -> FlowMod {
    FlowMod { table, ..FlowMod::add(REST, Vec::new(), Vec::new()) }
}

/// An entry of the table of paths.
fn at_paths(priority: u16, fields: Vec<Field>, instructions: Vec<Instruction>) -> FlowMod {
    FlowMod { table: PATHS, ..FlowMod::add(priority, fields, instructions) }
}

/// The entry of a link, by which packets get to the table of paths while it works.
fn link(command: Command, port: PortId, works: bool) -> FlowMod {
    let does = if works { vec![Instruction::Goto(PATHS)] } else { Vec::new() };
    let entry = FlowMod::add(ROUTE, vec![Field::InPort(number(port))], does);
    FlowMod { command, table: LINKS, ..entry }
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
    use slotline_net::topology::{Down, FatTreeSpec, Link, TopologySpec};
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
                let of_table = |wanted: u8| {
                    let changes = |body: &&Body| match body {
                        Body::FlowMod(FlowMod { table, priority: ROUTE, .. }) => *table == wanted,
                        _ => false,
                    };
                    bodies.iter().filter(changes).count()
                };
                assert_eq!((of_table(LINKS), of_table(PATHS)), (4, 16));
                let groups = bodies.iter().filter(|body| matches!(body, Body::GroupMod(_)));
                let is_core = graph.nodes[node.at()].name.starts_with("core");
                // One of them deletes all groups.
                assert_eq!(groups.count(), 1 + usize::from(spreads && !is_core));
            }
        }
    }

    /// No switch knows a way to a host without a link, and the first one drops what a connection sends there.
    #[test]
    fn packets_without_a_way_are_counted() {
        let graph = TopologySpec::FatTree(FatTreeSpec::new(4)).build().unwrap();
        let wiring = graph.wiring();
        let (lost, node) = (HostId(9), graph.hosts[9]);
        let at_host = |link: &Link| link.ends().iter().any(|end| end.node == node);
        let links = graph.links.iter().position(at_host).into_iter().collect();
        let down = Down { links, ..Down::default() };
        let routes = Routes::build(&graph, RoutingSpec::Ecmp, &down, 1);
        let mut traffic = slotline_net::workload::Traffic::default();
        slotline_net::node::external_host::add_shared_conns(&mut traffic, 16);
        let transport = slotline_net::transport::TransportSpec::of(NEW_RENO).build().unwrap();
        let plan = Plan::new(traffic, transport, Spread::PerFlow, graph.host_keys(), 1).unwrap();
        let (graph, wiring, routes, plan) = (&graph, &wiring, &routes, &plan);
        let entries = Entries { graph, wiring, routes, plan, spreads: true, counts: false };
        let goes_nowhere = |entry: &FlowMod| entry.instructions == [Instruction::Goto(NOWHERE)];
        let to_lost = Field::to(entries.addresses().of(lost));
        for switch in super::super::switches(graph) {
            for body in entries.new_routes(switch, true) {
                let Body::FlowMod(entry) = body else { continue };
                assert_eq!(goes_nowhere(&entry), entry.fields.contains(&to_lost), "{entry:?}");
            }
        }
        for (conn, info) in (0..).zip(&plan.traffic.conns) {
            let sent = entries.connection(conn, None);
            let first = wiring.of(graph.hosts[info.src.at()])[0].far.node;
            let is_dropped = sent.iter().any(|(_, entry)| goes_nowhere(entry));
            assert_eq!(is_dropped, info.dst == lost || info.src == lost, "{conn}");
            assert!(!is_dropped || sent.len() == 1 && sent[0].0 == first);
        }
    }
}
