//! containerlab topologies (`.clab.yml`).

use super::draft::{Draft, Edge, Node, Role, Speed};
use super::spanning_tree::{SpanningTree, circle};
use super::{Fabric, ReadError, fail};
use crate::error::FormatError;
use crate::tree::{Entry, Tree, Value, get, short};
use crate::yaml;
use slotline_net::topology::GraphSpec;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::str::FromStr;

/// The label of a node that gives its role.
pub(super) const ROLE: &str = "role";
/// The labels of a link: rate and delay in either direction.
pub(super) const LANES: [&str; 4] = ["rate", "delay", "reverse-rate", "reverse-delay"];

/// Kinds of node that are hosts by default.
const HOST_KINDS: [&str; 5] =
    ["linux", "ext-container", "k8s-kind", "generic_vm", "keysight_ixia-c-one"];
/// The machine on which the lab runs, as the end of a link.
const MACHINE: &str = "host";
/// Types of links that do not join two nodes, also as the first part of an endpoint.
const OUTSIDE: [&str; 5] = ["mgmt-net", "macvlan", "vxlan", "vxlan-stitch", "dummy"];
const TOPOLOGY: [&str; 5] = ["defaults", "kinds", "groups", "nodes", "links"];
const LINK: [&str; 5] = ["endpoints", "labels", "type", "mtu", "vars"];
/// Settings of nodes that are read.
const READ: [&str; 4] = ["kind", "group", "labels", "network-mode"];

const HOW_RATE: &str = "; the file can say it as the label `rate: 10Gbps` of the link";
const HOW_DELAY: &str = "; the file can say it as the label `delay: 1us` of the link";

const HOW_HOST: &str = "; nodes of kind `linux`, or of those in `host-kinds`, are hosts unless their label `role` \
    says switch or they join two links, one of them to another host";

pub(super) fn read(text: &str, asked: &GraphSpec) -> Result<Fabric, ReadError> {
    read_on(text, asked, None)
}

/// Reads the lab, without the links that `blocked` keeps from forwarding.
pub(super) fn read_on(
    text: &str,
    asked: &GraphSpec,
    blocked: Option<&SpanningTree>,
) -> Result<Fabric, ReadError> {
    let tree = yaml::parse(text)?;
    let top = tree.map("a containerlab file")?;
    let topology = get(top, "topology").ok_or_else(|| {
        FormatError::new(tree.line, "`topology` is missing: it has the `nodes` and `links`")
    })?;
    let topology = topology.map("`topology`")?;
    if let Some(strange) = topology.iter().find(|entry| !TOPOLOGY.contains(&entry.key.as_str())) {
        let message = format!(
            "`{}` in `topology` is not understood: expected one of {}",
            short(&strange.key),
            TOPOLOGY.join(", ")
        );
        return Err(FormatError::new(strange.line, message).into());
    }
    let mut lab = Lab::new(topology, asked, blocked)?;
    let nodes = get(topology, "nodes")
        .ok_or_else(|| FormatError::new(tree.line, "`nodes` is missing in `topology`"))?;
    for node in nodes.map("`nodes`")? {
        lab.node(node)?;
    }
    let links = get(topology, "links").map_or(Ok(&[][..]), |links| links.list("`links`"))?;
    lab.merged = merged(&lab.shared);
    links.iter().try_for_each(|link| lab.link(link))?;
    let fabric = lab.finish(asked)?;
    blocked.map_or(Ok(()), |tree| is_tree(&fabric.spec, tree, nodes.line))?;
    Ok(fabric)
}

/// Checks that the tree has all switches, and no circle of links.
fn is_tree(spec: &GraphSpec, tree: &SpanningTree, line: usize) -> Result<(), FormatError> {
    if let Some(switch) = spec.switches.iter().find(|switch| !tree.has(switch)) {
        let known = tree.switches().map(short).collect::<Vec<_>>().join(", ");
        let why = format!(
            "switch `{}` is not in the spanning-tree file, which has {known}",
            short(switch)
        );
        return fail(line, why);
    }
    let between = spec.link.iter().filter(|link| tree.has(&link.a) && tree.has(&link.b));
    let Some((a, b)) = circle(between.map(|link| (link.a.as_str(), link.b.as_str()))) else {
        return Ok(());
    };
    let why = format!(
        "the links that forward are no tree: that of `{}` and `{}` closes a circle. Were the states of all switches \
         read at the same time?",
        short(a),
        short(b)
    );
    fail(line, why)
}

/// The node to which each node belongs that shares the network of another.
fn merged(shared: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let last = |name: &String| {
        let mut at = name;
        // Nodes may share in a circle.
        for _ in 0..shared.len() {
            at = shared.get(at).unwrap_or(at);
        }
        at.clone()
    };
    shared.keys().map(|name| (name.clone(), last(name))).collect()
}

struct Lab<'a> {
    draft: Draft,
    host_kinds: Vec<String>,
    defaults: &'a [Entry],
    groups: &'a [Entry],
    /// Nodes that share the network of another, with its name.
    shared: BTreeMap<String, String>,
    /// The same with the node that has the network, once all nodes were read.
    merged: BTreeMap<String, String>,
    /// Nodes that are hosts only by their kind.
    by_kind: BTreeSet<String>,
    /// The line in which an interface is linked.
    interfaces: BTreeMap<(String, String), usize>,
    blocked: Option<&'a SpanningTree>,
}

impl<'a> Lab<'a> {
    fn new(
        topology: &'a [Entry],
        asked: &GraphSpec,
        blocked: Option<&'a SpanningTree>,
    ) -> Result<Lab<'a>, FormatError> {
        let part = |key: &str| match get(topology, key) {
            None | Some(Tree { value: Value::Null, .. }) => Ok(&[][..]),
            Some(tree) => tree.map(&format!("`{key}`")),
        };
        let usual = || HOST_KINDS.map(str::to_string).to_vec();
        Ok(Lab {
            draft: Draft::new([HOW_RATE, HOW_DELAY, HOW_HOST]),
            host_kinds: asked.host_kinds.clone().unwrap_or_else(usual),
            defaults: part("defaults")?,
            groups: part("groups")?,
            shared: BTreeMap::new(),
            merged: BTreeMap::new(),
            by_kind: BTreeSet::new(),
            interfaces: BTreeMap::new(),
            blocked,
        })
    }

    fn node(&mut self, node: &Entry) -> Result<(), FormatError> {
        let what = format!("node `{}`", short(&node.key));
        let settings = match node.tree.value {
            Value::Null => &[],
            _ => node.tree.map(&what)?,
        };
        if self.has_no_network(node, settings)? {
            return Ok(());
        }
        for entry in settings.iter().filter(|entry| !READ.contains(&entry.key.as_str())) {
            self.draft.unread.insert(format!("`{}` of nodes", short(&entry.key)));
        }
        let role = match label(settings, ROLE)? {
            Some((role, line)) => labelled(&what, &short(&role), line)?,
            None => self.by_kind(&what, settings)?,
        };
        if role == Role::Host && label(settings, ROLE)?.is_none() {
            self.by_kind.insert(node.key.clone());
        }
        let name = node.key.clone();
        self.draft.node(Node { id: name.clone(), name, line: node.line, role })
    }

    /// Whether the node has no network of its own: it shares that of another node, or that of the machine.
    fn has_no_network(&mut self, node: &Entry, settings: &[Entry]) -> Result<bool, FormatError> {
        let Some(mode) = get(settings, "network-mode") else { return Ok(false) };
        let text = mode.plain("`network-mode`")?;
        let name = short(&node.key);
        match text.split_once(':') {
            None if text == "none" || text == "bridge" => Ok(false),
            None if text == MACHINE => {
                self.draft
                    .unread
                    .insert(format!("node `{name}`, which has the network of the machine"));
                Ok(true)
            }
            Some(("container", other)) => {
                let with = short(other);
                self.draft
                    .assumed
                    .insert(format!("`{name}` and `{with}` are one node, by `network-mode`"));
                self.shared.insert(node.key.clone(), other.into());
                Ok(true)
            }
            _ => fail(
                mode.line,
                format!(
                    "`network-mode` of node `{name}`: expected none, bridge, host or container:NODE"
                ),
            ),
        }
    }

    fn by_kind(&self, what: &str, settings: &[Entry]) -> Result<Role, FormatError> {
        let group = get(settings, "group").map_or(Ok(&[][..]), |name| self.group(name))?;
        let kind = [settings, group, self.defaults].into_iter().find_map(|s| get(s, "kind"));
        Ok(match kind.map(|kind| kind.plain(&format!("the kind of {what}"))).transpose()? {
            None => Role::Unknown("has neither a `kind` nor a label `role`".into()),
            Some(kind) if self.host_kinds.contains(&kind) => Role::Host,
            Some(_) => Role::Switch,
        })
    }

    fn group(&self, name: &Tree) -> Result<&'a [Entry], FormatError> {
        let name_text = name.plain("`group`")?;
        match get(self.groups, &name_text) {
            Some(group) => group.map("a group"),
            None => {
                fail(name.line, format!("there is no group `{}` in `groups`", short(&name_text)))
            }
        }
    }

    fn link(&mut self, link: &Tree) -> Result<(), FormatError> {
        let settings = link.map("a link")?;
        if let Some(kind) = outside(settings)? {
            self.draft.unread.insert(format!("links of type `{kind}`"));
            return Ok(());
        }
        check_link(settings)?;
        for key in ["mtu", "vars"].into_iter().filter(|key| get(settings, key).is_some()) {
            self.draft.unread.insert(format!("`{key}` of links"));
        }
        for entry in labels(settings)?.iter().filter(|entry| !LANES.contains(&entry.key.as_str())) {
            self.draft.unread.insert(format!("label `{}` of links", short(&entry.key)));
        }
        let Some(ends) = get(settings, "endpoints") else {
            return fail(link.line, "`endpoints` is missing: it names two interfaces");
        };
        let [a, b] = ends.list("`endpoints`")? else {
            let why = "a link has two endpoints, for example [\"a:eth1\", \"b:eth1\"]";
            return fail(ends.line, why);
        };
        let forwards = self.forwards(a)? & self.forwards(b)?;
        let (Some(a), Some(b)) = (self.end(a)?, self.end(b)?) else { return Ok(()) };
        if !forwards {
            let (a, b) = (short(&a), short(&b));
            self.draft
                .unread
                .insert(format!("the link of `{a}` and `{b}`, which the spanning tree blocks"));
            return Ok(());
        }
        if a == b {
            self.draft.unread.insert(format!("links of node `{}` to itself", short(&a)));
            return Ok(());
        }
        let [rate, delay, reverse_rate, reverse_delay] = LANES;
        let (there, back) =
            (speed(settings, rate, delay)?, speed(settings, reverse_rate, reverse_delay)?);
        self.draft.two_way(Edge { a, b, line: link.line, speed: there }, back)
    }

    /// Whether the spanning tree lets a port forward.
    fn forwards(&self, end: &Tree) -> Result<bool, FormatError> {
        let Some(tree) = self.blocked else { return Ok(true) };
        let (node, interface) = endpoint(end)?;
        tree.forwards(&node, &interface).ok_or_else(|| {
            let name = format!("{}:{}", short(&node), short(&interface));
            FormatError::new(end.line, format!("the spanning-tree file has no port `{name}`"))
        })
    }

    /// The node of an endpoint, or `None` if it is outside the lab. Each interface of a node can be linked once.
    fn end(&mut self, end: &Tree) -> Result<Option<String>, FormatError> {
        let (node, interface) = endpoint(end)?;
        let is_node = self.draft.has(&node) || self.merged.contains_key(&node);
        if !is_node && OUTSIDE.contains(&node.as_str()) {
            self.draft.unread.insert(format!("links to `{node}`, which is not a node"));
            return Ok(None);
        }
        if !is_node && node == MACHINE {
            let machine =
                Node { id: node.clone(), name: node.clone(), line: end.line, role: Role::Host };
            self.draft.node(machine)?;
        }
        let key = (node.clone(), interface);
        if let Some(first) = self.interfaces.get(&key) {
            let name = format!("{}:{}", short(&key.0), short(&key.1));
            let why = format!("interface `{name}` is linked twice, first in line {first}");
            return fail(end.line, why);
        }
        self.interfaces.insert(key, end.line);
        Ok(Some(self.merged.get(&node).cloned().unwrap_or(node)))
    }

    /// Builds the network. Unless the scenario says which nodes are hosts, routers that are Linux containers become
    /// switches, a lab of switches gets hosts, and nodes without links are left out.
    fn finish(mut self, asked: &GraphSpec) -> Result<Fabric, ReadError> {
        if !asked.hosts.is_empty() || asked.attach_hosts.is_some() || asked.host_kinds.is_some() {
            return self.draft.finish(asked);
        }
        for name in self.draft.drop_unlinked() {
            self.draft.unread.insert(format!("node `{}`, which has no links", short(&name)));
        }
        for name in self.draft.joined_hosts(&self.by_kind) {
            let note = format!("`{}` is a switch: it links a host to other nodes", short(&name));
            self.draft.assumed.insert(note);
            self.draft.is_switch(&name);
        }
        if !self.draft.has_only_switches() {
            return self.draft.finish(asked);
        }
        self.draft.assumed.insert("the lab has no hosts: one is linked to every node".into());
        self.draft.finish(&GraphSpec { attach_hosts: Some(1), ..asked.clone() })
    }
}

/// Node and interface of an endpoint.
fn endpoint(end: &Tree) -> Result<(String, String), FormatError> {
    let part = |entries: &[Entry], key: &str| match get(entries, key) {
        Some(tree) => tree.plain(&format!("`{key}` of an endpoint")),
        None => fail(end.line, format!("an endpoint needs `{key}`")),
    };
    if let Value::Map(entries) = &end.value {
        return Ok((part(entries, "node")?, part(entries, "interface")?));
    }
    let text = end.plain("an endpoint")?;
    match text.split_once(':') {
        Some((node, interface)) => Ok((node.into(), interface.into())),
        None => fail(end.line, format!("endpoint `{}`: expected for example a:eth1", short(&text))),
    }
}

/// The role of a node by its label.
fn labelled(what: &str, role: &str, line: usize) -> Result<Role, FormatError> {
    match role {
        "host" => Ok(Role::Host),
        "switch" => Ok(Role::Switch),
        _ => fail(line, format!("{what}: label `{ROLE}` = `{role}`: expected host or switch")),
    }
}

/// Refuses settings without a meaning here.
fn check_link(settings: &[Entry]) -> Result<(), FormatError> {
    match settings.iter().find(|entry| !LINK.contains(&entry.key.as_str())) {
        None => Ok(()),
        Some(strange) => {
            let (key, known) = (short(&strange.key), LINK.join(", "));
            let why = format!("`{key}` of a link is not understood: expected one of {known}");
            fail(strange.line, why)
        }
    }
}

/// The type of a link that does not join two nodes of the lab.
fn outside(settings: &[Entry]) -> Result<Option<String>, FormatError> {
    let Some(kind) = get(settings, "type") else { return Ok(None) };
    let text = kind.plain("the type of a link")?;
    match text.as_str() {
        "veth" => Ok(None),
        text if text == MACHINE || OUTSIDE.contains(&text) => Ok(Some(text.into())),
        _ => {
            let known = OUTSIDE.join(", ");
            fail(
                kind.line,
                format!("type `{}` of a link: expected veth, host, {known}", short(&text)),
            )
        }
    }
}

fn labels(settings: &[Entry]) -> Result<&[Entry], FormatError> {
    match get(settings, "labels") {
        None | Some(Tree { value: Value::Null, .. }) => Ok(&[]),
        Some(labels) => labels.map("`labels`"),
    }
}

fn label(settings: &[Entry], key: &str) -> Result<Option<(String, usize)>, FormatError> {
    let found = get(labels(settings)?, key);
    found.map(|tree| Ok((tree.plain(&format!("the label `{key}`"))?, tree.line))).transpose()
}

/// One direction of a link, by its labels.
fn speed(settings: &[Entry], rate: &str, delay: &str) -> Result<Speed, FormatError> {
    Ok(Speed { rate: quantity(settings, rate)?, delay: quantity(settings, delay)? })
}

fn quantity<T>(settings: &[Entry], key: &str) -> Result<Option<T>, FormatError>
where
    T: FromStr<Err: Display>,
{
    let parse = |(text, line): (String, usize)| {
        text.parse::<T>().or_else(|error| fail(line, format!("the label `{key}`: {error}")))
    };
    label(settings, key)?.map(parse).transpose()
}
