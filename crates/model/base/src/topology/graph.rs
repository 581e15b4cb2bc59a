//! Any network, given by its hosts, switches and links.

use super::builder::{Builder, count, positive, size};
use super::layout::Layout;
use super::spec::{LinkOverride, Topology};
use super::{Graph, LinkParams, NodeKind};
use crate::error::SpecError;
use crate::id::{NodeId, PortId};
use crate::time::Time;
use crate::units::Rate;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Named hosts and switches, and the links between them, or a file that has them.
///
/// Hosts are numbered in the order given. The order of switches and links has no effect, with two exceptions: parallel
/// links and the links of one host are numbered in the order given. A switch's tier is its distance from the nearest
/// host. Pods are the connected parts that remain without the uppermost tier. If only one part remains, each switch
/// with hosts is a pod. A host with several links belongs to the pod of its first link.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = crate::schema::keep_comment)]
pub struct GraphSpec {
    /// Names of the hosts. In names of nodes of a file, `*` is for any characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Instead of `hosts`: the number of hosts at every switch. They are named `x.h0`, `x.h1`, … at switch `x`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attach_hosts: Option<u32>,
    /// Names of the switches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<String>,
    /// Rate of links that give no rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation delay of links that give no delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// Rate of hosts' links that give no rate. Default: `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_rate: Option<Rate>,
    /// Propagation delay of hosts' links that give no delay. Default: `delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_delay: Option<Time>,
    /// A file that has the nodes and links instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Format of the file, if its name does not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<FabricFormat>,
    /// A file with the states of the switches' ports, as `bridge -j link` or `show spanning-tree` prints them: links of a
    /// containerlab topology that the spanning tree blocks are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spanning_tree: Option<String>,
    /// The attribute in the file that names nodes. Default: their ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<String>,
    /// Kinds of node in the file that are hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_kinds: Option<Vec<String>>,
    /// The links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link: Vec<GraphLink>,
    /// Links whose rate or delay differs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<LinkOverride>,
}

/// A full-duplex link. Several may join the same two nodes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GraphLink {
    /// Name of one end.
    pub a: String,
    /// Name of the other.
    pub b: String,
    /// Rate from `a` to `b`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation delay from `a` to `b`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// Rate from `b` to `a`. Default: the rate from `a` to `b`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_rate: Option<Rate>,
    /// Propagation delay from `b` to `a`. Default: the delay from `a` to `b`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_delay: Option<Time>,
}

/// Formats of files that describe a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FabricFormat {
    /// JSON as networkx's `node_link_data` writes it.
    NodeLink,
    /// GraphML.
    Graphml,
    /// A generic fat-tree of htsim.
    HtsimTopo,
    /// A topology file of HPCC's simulator.
    HpccTopology,
    /// A containerlab topology.
    Containerlab,
}

/// The part of a [`GraphSpec`] with the error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GraphPart {
    /// A key of the fabric.
    Key(&'static str),
    /// The host at this place of the list.
    Host(usize),
    /// The switch at this place of the list.
    Switch(usize),
    /// A key of the link at this place of the list.
    Link(usize, &'static str),
}

/// The reason why a [`GraphSpec`] is not a valid network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphFault {
    /// The part with the error.
    pub part: GraphPart,
    /// The error, with the expected value.
    pub message: String,
}

impl GraphFault {
    pub(super) fn new(part: GraphPart, message: impl Into<String>) -> GraphFault {
        GraphFault { part, message: message.into() }
    }
}

impl From<GraphFault> for SpecError {
    fn from(fault: GraphFault) -> SpecError {
        let key = match fault.part {
            GraphPart::Key(key) => key.to_string(),
            GraphPart::Host(at) => format!("hosts[{at}]"),
            GraphPart::Switch(at) => format!("switches[{at}]"),
            GraphPart::Link(at, key) => format!("link[{at}].{key}"),
        };
        SpecError::new(key, fault.message)
    }
}

fn key(error: SpecError, key: &'static str) -> GraphFault {
    GraphFault::new(GraphPart::Key(key), error.message)
}

type Checked<T = ()> = Result<T, GraphFault>;

/// A reserved name: that of the host of a central scheduler.
const CONTROLLER: &str = "controller";

impl GraphSpec {
    /// The network, without the overrides.
    pub fn graph(&self) -> Result<Graph, GraphFault> {
        self.check()?;
        let hosts = self.all_hosts();
        let nodes = self.index(&hosts)?;
        let links = self.links(&nodes, hosts.len())?;
        let rank = ranks(&nodes, hosts.len());
        let layout =
            Layout::new(hosts.len(), &rank, &links).map_err(|fault| self.name(&hosts, fault))?;
        let mut b = Builder::default();
        let mut ids = vec![None; hosts.len() + self.switches.len()];
        for &at in &layout.order {
            let pod = layout.pod[at];
            ids[at] = Some(match at.checked_sub(hosts.len()) {
                None => b.named_host(hosts[at].clone(), pod),
                Some(switch) => b.switch(self.switches[switch].clone(), layout.tier[at], pod),
            });
        }
        for link in &links {
            if let (Some(a), Some(b_end)) = (ids[link.a], ids[link.b]) {
                b.cable(a, b_end, link.ab, link.ba);
            }
        }
        let mut graph = b.finish().map_err(|error| key(error, "link"))?;
        let of_node =
            |id: NodeId| (layout.tier[layout.order[id.at()]], rank[layout.order[id.at()]]);
        number_ports(&mut graph, of_node);
        Ok(graph)
    }

    fn check(&self) -> Checked {
        let wrong = |key, message: &str| Err(GraphFault::new(GraphPart::Key(key), message));
        if self.file.is_some() {
            return wrong("file", "`file` has to be read first: its content replaces this key");
        }
        let for_files = [
            ("format", self.format.is_some()),
            ("spanning-tree", self.spanning_tree.is_some()),
            ("names", self.names.is_some()),
            ("host-kinds", self.host_kinds.is_some()),
        ];
        if let Some((name, _)) = for_files.into_iter().find(|(_, given)| *given) {
            return wrong(name, &format!("`{name}` says how to read a `file`, but none is given"));
        }
        for (name, rate) in [("rate", self.rate), ("host-rate", self.host_rate)] {
            positive(name, rate.unwrap_or(Rate(1))).map_err(|error| key(error, name))?;
        }
        match (self.hosts.is_empty(), self.attach_hosts) {
            (true, None) => wrong(
                "hosts",
                "a network needs `hosts`: name them, for example hosts = [\"h0\", \"h1\"], or \
                 let attach-hosts = 1 link some to every switch",
            ),
            (false, Some(_)) => {
                wrong("attach-hosts", "`hosts` and `attach-hosts` are both given: leave one out")
            }
            (_, several) => self.check_size(several),
        }
    }

    fn check_size(&self, attached: Option<u32>) -> Checked {
        let name = if attached.is_some() { "attach-hosts" } else { "link" };
        if let Some(attached) = attached {
            count(name, attached, u16::MAX.into()).map_err(|error| key(error, name))?;
        }
        let switches = self.switches.len() as u64;
        let links = self.link.len() as u64 + switches * u64::from(attached.unwrap_or(0));
        size(name, links, switches).map_err(|error| key(error, name))
    }

    fn all_hosts(&self) -> Vec<String> {
        let at = |switch: &String, n: u32| format!("{switch}.h{n}");
        let count = self.attach_hosts.unwrap_or(0);
        let attached = self.switches.iter().flat_map(|s| (0..count).map(move |n| at(s, n)));
        self.hosts.iter().cloned().chain(attached).collect()
    }

    /// The index of a node in the list of hosts and then switches.
    fn part(&self, hosts: usize, at: usize) -> GraphPart {
        match (at.checked_sub(hosts), at < self.hosts.len()) {
            (Some(switch), _) => GraphPart::Switch(switch),
            (None, true) => GraphPart::Host(at),
            (None, false) => GraphPart::Key("attach-hosts"),
        }
    }

    /// All names: hosts, then switches.
    fn index<'a>(&'a self, hosts: &'a [String]) -> Checked<BTreeMap<&'a str, usize>> {
        let mut index = BTreeMap::new();
        for (at, name) in hosts.iter().chain(&self.switches).enumerate() {
            let fail = |why: String| Err(GraphFault::new(self.part(hosts.len(), at), why));
            if let Some(why) = unusable(name) {
                return fail(format!("`{name}` cannot be the name of a node: {why}"));
            }
            if index.insert(name.as_str(), at).is_some() {
                return fail(format!("two nodes are named `{name}`: names must be unique"));
            }
        }
        Ok(index)
    }

    fn links(&self, nodes: &BTreeMap<&str, usize>, hosts: usize) -> Checked<Vec<Cable>> {
        let mut cables = self.attached(hosts)?;
        for (at, link) in self.link.iter().enumerate() {
            let a = end(nodes, at, "a", &link.a)?;
            let b = end(nodes, at, "b", &link.b)?;
            let fail = |why: &str| {
                let message = format!("link `{}-{}` {why}", link.a, link.b);
                Err(GraphFault::new(GraphPart::Link(at, "b"), message))
            };
            if a == b {
                return fail("leads back to its own node");
            }
            if a.max(b) < hosts {
                return fail("joins two hosts: put a switch between them");
            }
            let (ab, ba) = self.lanes(at, link, a.min(b) < hosts)?;
            cables.push(Cable { a, b, ab, ba });
        }
        self.check_link_names(nodes)?;
        Ok(cables)
    }

    /// The links of attached hosts.
    fn attached(&self, hosts: usize) -> Checked<Vec<Cable>> {
        let Some(count) = self.attach_hosts else {
            return Ok(Vec::new());
        };
        let lacks = |key, example: &str| {
            let message = format!("attached hosts have no `{key}`: give {key} = \"{example}\"");
            GraphFault::new(GraphPart::Key("attach-hosts"), message)
        };
        let rate = self.host_rate.or(self.rate).ok_or_else(|| lacks("host-rate", "10Gbps"))?;
        let delay = self.host_delay.or(self.delay).ok_or_else(|| lacks("host-delay", "1us"))?;
        let lane = LinkParams { rate, delay };
        let at = |host| Cable { a: host, b: hosts + host / count as usize, ab: lane, ba: lane };
        Ok((0..hosts).map(at).collect())
    }

    fn lanes(
        &self,
        at: usize,
        link: &GraphLink,
        to_host: bool,
    ) -> Checked<(LinkParams, LinkParams)> {
        let lacks = |key, example: &str| {
            let message = format!(
                "link `{}-{}` has no {key}: give it one, or give {key} = \"{example}\" for all \
                 links that have none",
                link.a, link.b
            );
            GraphFault::new(GraphPart::Link(at, key), message)
        };
        let rate = link.rate.or(self.host_rate.filter(|_| to_host)).or(self.rate);
        let delay = link.delay.or(self.host_delay.filter(|_| to_host)).or(self.delay);
        let rate = rate.ok_or_else(|| lacks("rate", "10Gbps"))?;
        let delay = delay.ok_or_else(|| lacks("delay", "1us"))?;
        let back = LinkParams {
            rate: link.reverse_rate.unwrap_or(rate),
            delay: link.reverse_delay.unwrap_or(delay),
        };
        if let Some((_, key)) =
            [(rate, "rate"), (back.rate, "reverse-rate")].iter().find(|(rate, _)| rate.0 == 0)
        {
            let message = format!(
                "link `{}-{}` has a rate of zero: it must be above zero, for example \"10Gbps\"",
                link.a, link.b
            );
            return Err(GraphFault::new(GraphPart::Link(at, key), message));
        }
        Ok((LinkParams { rate, delay }, back))
    }

    /// Checks that the name of a link, `a-b`, does not stand for two links.
    fn check_link_names(&self, nodes: &BTreeMap<&str, usize>) -> Checked {
        if !nodes.keys().any(|name| name.contains('-')) {
            return Ok(());
        }
        let mut known = BTreeMap::new();
        for (at, link) in self.link.iter().enumerate() {
            for (from, to) in [(&link.a, &link.b), (&link.b, &link.a)] {
                let ends = known.entry(format!("{from}-{to}")).or_insert((from, to));
                if *ends != (from, to) {
                    let (a, b) = ends;
                    let message = format!(
                        "`{from}-{to}` would be the name of the link from `{from}` to `{to}` and of \
                         that from `{a}` to `{b}`: give one of these nodes another name"
                    );
                    return Err(GraphFault::new(GraphPart::Link(at, "a"), message));
                }
            }
        }
        Ok(())
    }

    /// The error for a fault of the layout, with names.
    fn name(&self, hosts: &[String], fault: super::layout::Fault) -> GraphFault {
        use super::layout::Fault::*;
        let name = |at: usize| hosts.get(at).unwrap_or_else(|| &self.switches[at - hosts.len()]);
        let (at, message) = match fault {
            Lonely(at) => (at, format!("host `{}` has no link: it needs at least one", name(at))),
            Apart(at, other) => (
                at,
                format!(
                    "host `{}` cannot be reached from host `{}`: link their switches, directly or \
                     through others (hosts do not forward)",
                    name(at),
                    name(other)
                ),
            ),
            NoHost(at) => (
                at,
                format!(
                    "no links lead from switch `{}` to any host: link it to the others, or leave it out",
                    name(at)
                ),
            ),
        };
        GraphFault::new(self.part(hosts.len(), at), message)
    }
}

impl Topology for GraphSpec {
    fn build(&self) -> Result<Graph, SpecError> {
        Ok(self.graph()?)
    }

    fn overrides(&self) -> &[LinkOverride] {
        &self.overrides
    }
}

/// A link. Its ends are indices in the list of hosts and then switches.
pub(super) struct Cable {
    pub a: usize,
    pub b: usize,
    pub ab: LinkParams,
    pub ba: LinkParams,
}

/// By node, its position: hosts in the order given, then switches by name. Numbers in names are compared as numbers.
fn ranks(nodes: &BTreeMap<&str, usize>, hosts: usize) -> Vec<usize> {
    let mut names: Vec<(&str, usize)> = nodes.iter().map(|(name, node)| (*name, *node)).collect();
    names.sort_by_cached_key(|(name, node)| match *node < hosts {
        true => (*node, Vec::new(), *name),
        false => (hosts, by_numbers(name), *name),
    });
    let mut rank = vec![0; nodes.len()];
    names.iter().zip(0..).for_each(|((_, node), place)| rank[*node] = place);
    rank
}

/// The parts of a name, each with the number that follows it.
fn by_numbers(name: &str) -> Vec<(&str, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let digits = rest[text..].find(|c: char| !c.is_ascii_digit());
        let end = digits.map_or(rest.len(), |digits| text + digits);
        parts.push((&rest[..text], rest[text..end].parse().unwrap_or(u64::MAX)));
        rest = &rest[end..];
    }
    parts
}

/// Numbers the ports of switches by the nodes at their far ends. The order in which links are listed has no effect,
/// except for parallel links and the cards of a host.
fn number_ports(graph: &mut Graph, rank: impl Fn(NodeId) -> (u8, usize)) {
    let mut ports = Vec::new();
    for (at, link) in graph.links.iter().enumerate() {
        let [a, b] = link.ends().map(|end| end.node);
        ports.push((a, rank(b), at, false));
        ports.push((b, rank(a), at, true));
    }
    ports.retain(|(node, ..)| graph.nodes[node.at()].kind == NodeKind::Switch);
    ports.sort_unstable();
    for of_switch in ports.chunk_by(|a, b| a.0 == b.0) {
        for (port, &(_, _, at, is_b)) in (0..).map(PortId).zip(of_switch) {
            let link = &mut graph.links[at];
            if is_b { link.b.port = port } else { link.a.port = port }
        }
    }
}

fn end(
    nodes: &BTreeMap<&str, usize>,
    at: usize,
    key: &'static str,
    name: &str,
) -> Result<usize, GraphFault> {
    nodes.get(name).copied().ok_or_else(|| {
        let message = format!("a link ends at `{name}`, which is neither a host nor a switch");
        GraphFault::new(GraphPart::Link(at, key), message)
    })
}

/// The reason why a name is not valid.
fn unusable(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("it is empty")
    } else if name.trim() != name {
        Some("it begins or ends with a blank")
    } else if name.contains(|c: char| c.is_control()) {
        Some("it has a control character in it")
    } else if name.contains('#') {
        Some("`#` stands before the number of a parallel link, as in `a-b#1`")
    } else if name == CONTROLLER {
        Some("it is reserved for the host of a central scheduler")
    } else {
        None
    }
}
