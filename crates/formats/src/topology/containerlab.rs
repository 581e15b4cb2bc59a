//! containerlab topologies (`.clab.yml`).

use super::draft::{Draft, Edge, Node, Role, Speed};
use super::{Fabric, ReadError};
use crate::error::FormatError;
use crate::tree::{Entry, Tree, Value, get, short};
use crate::yaml;
use slotline_net::topology::GraphSpec;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

/// The label of a node that says what it is.
pub(super) const ROLE: &str = "role";
/// The labels of a link: rate and delay there and back.
pub(super) const LANES: [&str; 4] = ["rate", "delay", "reverse-rate", "reverse-delay"];

/// Kinds of node that are hosts where nothing else is said.
const HOST_KINDS: [&str; 1] = ["linux"];
const TOPOLOGY: [&str; 5] = ["defaults", "kinds", "groups", "nodes", "links"];
const LINK: [&str; 5] = ["endpoints", "labels", "type", "mtu", "vars"];
/// Settings of nodes that are read or do not matter for anything.
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
        if let Some(shared) =
            get(settings, "network-mode").filter(|mode| mode.as_plain() != Some("none".into()))
        {
            let message = format!("{what}: `network-mode` is not understood: leave it out");
            return Err(FormatError::new(shared.line, message));
        }
        for entry in settings.iter().filter(|entry| !READ.contains(&entry.key.as_str())) {
            self.draft.unread.insert(format!("`{}` of nodes", short(&entry.key)));
        }
        let group = match get(settings, "group") {
            None => &[][..],
            Some(name) => self.group(name)?,
        };
        let role = match label(settings, ROLE)? {
            Some((role, line)) => match role.as_str() {
                "host" => Role::Host,
                "switch" => Role::Switch,
                _ => {
                    let message = format!(
                        "{what}: the label `{ROLE}` must be host or switch, not `{}`",
                        short(&role)
                    );
                    return Err(FormatError::new(line, message));
                }
            },
            None => {
                let kind =
                    [settings, group, self.defaults].into_iter().find_map(|s| get(s, "kind"));
                self.role(kind.map(|kind| kind.plain(&format!("the kind of {what}"))).transpose()?)
            }
        };
        let name = node.key.clone();
        self.draft.node(Node { id: name.clone(), name, line: node.line, role })
    }

    fn group(&self, name: &Tree) -> Result<&'a [Entry], FormatError> {
        let name_text = name.plain("`group`")?;
        match get(self.groups, &name_text) {
            Some(group) => group.map("a group"),
            None => {
                let message = format!("there is no group `{}` in `groups`", short(&name_text));
                Err(FormatError::new(name.line, message))
            }
        }
    }

    fn role(&self, kind: Option<String>) -> Role {
        match kind {
            None => Role::Unsaid("has no `kind`, nor a label `role`".into()),
            Some(kind) if self.host_kinds.contains(&kind) => Role::Host,
            Some(_) => Role::Switch,
        }
    }

    fn link(&mut self, link: &Tree) -> Result<(), FormatError> {
        let settings = link.map("a link")?;
        let strange = settings.iter().find(|entry| !LINK.contains(&entry.key.as_str()));
        if let Some(strange) = strange {
            let (key, known) = (short(&strange.key), LINK.join(", "));
            let message = format!("`{key}` of a link is not understood: expected one of {known}");
            return Err(FormatError::new(strange.line, message));
        }
        if let Some(kind) =
            get(settings, "type").filter(|kind| kind.as_plain() != Some("veth".into()))
        {
            let message = "only links of type `veth` join two nodes of the lab: leave others out";
            return Err(FormatError::new(kind.line, message));
        }
        for key in ["mtu", "vars"].into_iter().filter(|key| get(settings, key).is_some()) {
            self.draft.unread.insert(format!("`{key}` of links"));
        }
        let ends = get(settings, "endpoints").ok_or_else(|| {
            FormatError::new(link.line, "`endpoints` is missing: it names two interfaces")
        })?;
        let [a, b] = ends.list("`endpoints`")? else {
            let message = "a link has two endpoints, for example [\"a:eth1\", \"b:eth1\"]";
            return Err(FormatError::new(ends.line, message));
        };
        let (a, b) = (self.end(a)?, self.end(b)?);
        let lanes = Lanes::read(settings)?;
        for entry in labels(settings)?.iter().filter(|entry| !LANES.contains(&entry.key.as_str())) {
            self.draft.unread.insert(format!("label `{}` of links", short(&entry.key)));
        }
        self.draft.two_way(Edge { a, b, line: link.line, speed: lanes.there }, lanes.back)
    }

    /// The node of an endpoint, each interface of which can be linked once.
    fn end(&mut self, end: &Tree) -> Result<String, FormatError> {
        let (node, interface) = match &end.value {
            Value::Map(entries) => {
                let part = |key: &str| match get(entries, key) {
                    Some(tree) => tree.plain(&format!("`{key}` of an endpoint")),
                    None => Err(FormatError::new(end.line, format!("an endpoint needs `{key}`"))),
                };
                (part("node")?, part("interface")?)
            }
            _ => {
                let text = end.plain("an endpoint")?;
                let parts = text.split_once(':').map(|(a, b)| (a.to_string(), b.to_string()));
                parts.ok_or_else(|| {
                    let message =
                        format!("endpoint `{}`: expected for example a:eth1", short(&text));
                    FormatError::new(end.line, message)
                })?
            }
        };
        let known = self.interfaces.insert((node.clone(), interface.clone()), end.line);
        if let Some(first) = known {
            let message = format!(
                "interface `{}:{}` is linked twice, first in line {first}",
                short(&node),
                short(&interface)
            );
            return Err(FormatError::new(end.line, message));
        }
        Ok(node)
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

/// Both directions of a link, by its labels.
struct Lanes {
    there: Speed,
    back: Speed,
}

impl Lanes {
    fn read(settings: &[Entry]) -> Result<Lanes, FormatError> {
        let [rate, delay, reverse_rate, reverse_delay] = LANES;
        Ok(Lanes {
            there: Speed { rate: quantity(settings, rate)?, delay: quantity(settings, delay)? },
            back: Speed {
                rate: quantity(settings, reverse_rate)?,
                delay: quantity(settings, reverse_delay)?,
            },
        })
    }
}

fn quantity<T: FromStr<Err: Display>>(
    settings: &[Entry],
    key: &str,
) -> Result<Option<T>, FormatError> {
    let Some((text, line)) = label(settings, key)? else {
        return Ok(None);
    };
    let wrong = |error: T::Err| FormatError::new(line, format!("the label `{key}`: {error}"));
    text.parse().map(Some).map_err(wrong)
}
