//! containerlab topologies (`.clab.yml`).

use super::draft::{Draft, Edge, Node, Role, Speed};
use super::{Fabric, ReadError, fail};
use crate::error::FormatError;
use crate::tree::{Entry, Tree, Value, get, short};
use crate::yaml;
use slotline_net::topology::GraphSpec;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

/// The label of a node that gives its role.
pub(super) const ROLE: &str = "role";
/// The labels of a link: rate and delay in either direction.
pub(super) const LANES: [&str; 4] = ["rate", "delay", "reverse-rate", "reverse-delay"];

/// Kinds of node that are hosts by default.
const HOST_KINDS: [&str; 1] = ["linux"];
const TOPOLOGY: [&str; 5] = ["defaults", "kinds", "groups", "nodes", "links"];
const LINK: [&str; 5] = ["endpoints", "labels", "type", "mtu", "vars"];
/// Settings of nodes that are read.
const READ: [&str; 3] = ["kind", "group", "labels"];

const HOW_RATE: &str = "; the file can say it as the label `rate: 10Gbps` of the link";
const HOW_DELAY: &str = "; the file can say it as the label `delay: 1us` of the link";

const HOW_HOST: &str = "; nodes of kind `linux`, or of those in `host-kinds`, are hosts unless their label `role` \
    says switch";

pub(super) fn read(text: &str, asked: &GraphSpec) -> Result<Fabric, ReadError> {
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
    let mut lab = Lab::new(topology, asked)?;
    let nodes = get(topology, "nodes")
        .ok_or_else(|| FormatError::new(tree.line, "`nodes` is missing in `topology`"))?;
    for node in nodes.map("`nodes`")? {
        lab.node(node)?;
    }
    let links = get(topology, "links").map_or(Ok(&[][..]), |links| links.list("`links`"))?;
    links.iter().try_for_each(|link| lab.link(link))?;
    lab.draft.finish(asked)
}

struct Lab<'a> {
    draft: Draft,
    host_kinds: Vec<String>,
    defaults: &'a [Entry],
    groups: &'a [Entry],
    /// The line in which an interface is linked.
    interfaces: BTreeMap<(String, String), usize>,
}

impl<'a> Lab<'a> {
    fn new(topology: &'a [Entry], asked: &GraphSpec) -> Result<Lab<'a>, FormatError> {
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
            interfaces: BTreeMap::new(),
        })
    }

    fn node(&mut self, node: &Entry) -> Result<(), FormatError> {
        let what = format!("node `{}`", short(&node.key));
        let settings = match node.tree.value {
            Value::Null => &[],
            _ => node.tree.map(&what)?,
        };
        let shared = get(settings, "network-mode");
        if let Some(shared) = shared.filter(|mode| mode.as_plain() != Some("none".into())) {
            let why = format!("{what}: `network-mode` is not understood: leave it out");
            return fail(shared.line, why);
        }
        for entry in settings.iter().filter(|entry| !READ.contains(&entry.key.as_str())) {
            self.draft.unread.insert(format!("`{}` of nodes", short(&entry.key)));
        }
        let role = match label(settings, ROLE)? {
            Some((role, line)) => labelled(&what, &short(&role), line)?,
            None => self.by_kind(&what, settings)?,
        };
        let name = node.key.clone();
        self.draft.node(Node { id: name.clone(), name, line: node.line, role })
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
        let (a, b) = (self.end(a)?, self.end(b)?);
        let [rate, delay, reverse_rate, reverse_delay] = LANES;
        let (there, back) =
            (speed(settings, rate, delay)?, speed(settings, reverse_rate, reverse_delay)?);
        self.draft.two_way(Edge { a, b, line: link.line, speed: there }, back)
    }

    /// The node of an endpoint. Each interface of a node can be linked once.
    fn end(&mut self, end: &Tree) -> Result<String, FormatError> {
        let (node, interface) = endpoint(end)?;
        let key = (node.clone(), interface);
        if let Some(first) = self.interfaces.get(&key) {
            let name = format!("{}:{}", short(&key.0), short(&key.1));
            let why = format!("interface `{name}` is linked twice, first in line {first}");
            return fail(end.line, why);
        }
        self.interfaces.insert(key, end.line);
        Ok(node)
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

/// Refuses links of other types, and settings without a meaning here.
fn check_link(settings: &[Entry]) -> Result<(), FormatError> {
    if let Some(strange) = settings.iter().find(|entry| !LINK.contains(&entry.key.as_str())) {
        let (key, known) = (short(&strange.key), LINK.join(", "));
        let why = format!("`{key}` of a link is not understood: expected one of {known}");
        return fail(strange.line, why);
    }
    match get(settings, "type").filter(|kind| kind.as_plain() != Some("veth".into())) {
        None => Ok(()),
        Some(kind) => {
            let why = "only links of type `veth` join two nodes of the lab: leave others out";
            fail(kind.line, why)
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
