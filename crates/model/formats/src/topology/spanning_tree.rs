//! Which ports of switches forward frames, as switches state it: the spanning tree of an Ethernet.
//!
//! The file has what Linux prints for a bridge's ports (`bridge -j link`, `ip -j -d link`).

use super::fail;
use crate::error::FormatError;
use crate::json;
use crate::tree::{Entry, Tree, Value, get, short};
use std::collections::{BTreeMap, BTreeSet};

/// The states of ports, as iproute2 prints them.
const STATES: [&str; 5] = ["disabled", "listening", "learning", "forwarding", "blocking"];

/// The state of each port of some switches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanningTree {
    /// By switch and interface: whether the port forwards, and its line.
    ports: BTreeMap<(String, String), (bool, usize)>,
    switches: BTreeSet<String>,
}

impl SpanningTree {
    /// Reads a file: an object with, for each switch, the list that it prints, or the list of one machine, in which
    /// `master` names the switch of each port.
    ///
    /// # Errors
    /// The file has another content, or a port twice.
    pub fn parse(text: &str) -> Result<SpanningTree, FormatError> {
        let file = json::parse(text)?;
        let mut tree = SpanningTree::default();
        match &file.value {
            Value::List(ports) => ports.iter().try_for_each(|port| tree.port(None, port))?,
            Value::Map(switches) => switches.iter().try_for_each(|entry| tree.switch(entry))?,
            _ => {
                let why = "expected the list of `bridge -j link`, or an object with such a list for each switch";
                return fail(file.line, why);
            }
        }
        if tree.ports.is_empty() {
            return fail(file.line, "no port of a bridge has a `state`");
        }
        Ok(tree)
    }
    fn switch(&mut self, entry: &Entry) -> Result<(), FormatError> {
        let ports = entry.tree.list(&format!("switch `{}`", short(&entry.key)))?;
        self.switches.insert(entry.key.clone());
        ports.iter().try_for_each(|port| self.port(Some(&entry.key), port))
    }
    /// Takes a port. Interfaces that are no ports of a bridge have no state, and are left out.
    fn port(&mut self, switch: Option<&str>, port: &Tree) -> Result<(), FormatError> {
        let fields = port.map("a port")?;
        let Some(state) = state(fields)? else { return Ok(()) };
        let name = field(port, fields, "ifname")?;
        let switch = match switch {
            Some(switch) => switch.to_string(),
            None => field(port, fields, "master")?,
        };
        let text = state.plain("`state`")?;
        if !STATES.contains(&text.as_str()) {
            let known = STATES.join(", ");
            let (text, name) = (short(&text), short(&name));
            return fail(state.line, format!("`state` of `{name}` = `{text}`: expected {known}"));
        }
        self.switches.insert(switch.clone());
        let key = (switch, name);
        if let Some((_, first)) = self.ports.get(&key) {
            let named = format!("{}:{}", short(&key.0), short(&key.1));
            return fail(
                port.line,
                format!("port `{named}` is given twice, first in line {first}"),
            );
        }
        self.ports.insert(key, (text == "forwarding", port.line));
        Ok(())
    }
    /// Whether the file has ports of `switch`.
    pub fn has(&self, switch: &str) -> bool {
        self.switches.contains(switch)
    }
    /// Whether a port forwards. Nodes that are not in the file forward by all ports; `None` for a switch of the file
    /// that does not have the port.
    pub fn forwards(&self, switch: &str, interface: &str) -> Option<bool> {
        if !self.has(switch) {
            return Some(true);
        }
        self.ports.get(&(switch.into(), interface.into())).map(|(forwards, _)| *forwards)
    }
    /// The switches, in order.
    pub fn switches(&self) -> impl Iterator<Item = &str> {
        self.switches.iter().map(String::as_str)
    }
}

/// The state of a port: of `bridge`, or of `ip`.
fn state(fields: &[Entry]) -> Result<Option<&Tree>, FormatError> {
    if let Some(state) = get(fields, "state") {
        return Ok(Some(state));
    }
    let Some(info) = get(fields, "linkinfo") else { return Ok(None) };
    let info = info.map("`linkinfo`")?;
    match get(info, "info_slave_kind").and_then(Tree::as_plain).as_deref() {
        Some("bridge") => {}
        _ => return Ok(None),
    }
    let Some(data) = get(info, "info_slave_data") else { return Ok(None) };
    Ok(get(data.map("`info_slave_data`")?, "state"))
}

fn field(port: &Tree, fields: &[Entry], key: &str) -> Result<String, FormatError> {
    match get(fields, key) {
        Some(value) => value.plain(&format!("`{key}`")),
        None => fail(port.line, format!("a port needs `{key}`")),
    }
}

/// Two of `links` that close a circle among the nodes that they join, given by the ends of the last one; `None` if
/// there is no circle.
pub(super) fn circle<'a>(
    links: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<(&'a str, &'a str)> {
    let mut parts: BTreeMap<&str, &str> = BTreeMap::new();
    for (a, b) in links {
        let (root_a, root_b) = (root(&parts, a), root(&parts, b));
        if root_a == root_b {
            return Some((a, b));
        }
        parts.insert(root_a, root_b);
    }
    None
}

fn root<'a>(parts: &BTreeMap<&'a str, &'a str>, node: &'a str) -> &'a str {
    let mut at = node;
    while let Some(next) = parts.get(at) {
        at = next;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    const BRIDGES: &str = include_str!("../../tests/data/triangle_bridges.json");
    const IP: &str = include_str!("../../tests/data/triangle_ip.json");

    /// Three bridges in a triangle, as iproute2 printed them: one of their six ports to each other blocks.
    #[test]
    fn both_commands_state_the_same_tree() {
        let (bridge, ip) =
            (SpanningTree::parse(BRIDGES).unwrap(), SpanningTree::parse(IP).unwrap());
        let states = |tree: &SpanningTree| -> Vec<(String, String, bool)> {
            let port =
                |((s, i), (f, _)): (&(String, String), &(bool, usize))| (s.clone(), i.clone(), *f);
            tree.ports.iter().map(port).collect()
        };
        assert_eq!(states(&bridge), states(&ip));
        assert_eq!(bridge.switches().collect::<Vec<_>>(), ["s1", "s2", "s3"]);
        assert_eq!(bridge.ports.len(), 9);
        assert_eq!(bridge.ports.values().filter(|(forwards, _)| !forwards).count(), 1);
        assert_eq!(bridge.forwards("h1", "eth1"), Some(true));
        assert_eq!(bridge.forwards("s1", "eth9"), None);
    }

    #[test]
    fn a_list_names_the_bridge_of_each_port() {
        let text = r#"[{"ifname":"lo"},
            {"ifname":"a1","master":"s1","state":"forwarding"},
            {"ifname":"b1","master":"s2","state":"blocking"}]"#;
        let tree = SpanningTree::parse(text).unwrap();
        assert_eq!(
            (tree.forwards("s1", "a1"), tree.forwards("s2", "b1")),
            (Some(true), Some(false))
        );
    }

    #[test]
    fn errors_name_line_and_key() {
        for (text, line, part) in [
            ("3", 1, "expected the list"),
            ("[]", 1, "no port of a bridge"),
            ("{\"s1\": 3}", 1, "switch `s1` must be a list"),
            ("[\n{\"state\":\"forwarding\"}]", 2, "a port needs `ifname`"),
            ("[\n{\"ifname\":\"a\",\n\"state\":\"up\"}]", 2, "a port needs `master`"),
            (
                "{\"s\": [\n{\"ifname\":\"a\",\n\"state\":\"up\"}]}",
                3,
                "`state` of `a` = `up`: expected disabled",
            ),
            (
                "{\"s\": [{\"ifname\":\"a\",\"state\":\"forwarding\"},\n{\"ifname\":\"a\",\"state\":\"blocking\"}]}",
                2,
                "port `s:a` is given twice, first in line 1",
            ),
        ] {
            let error = SpanningTree::parse(text).unwrap_err();
            assert_eq!(error.line, line, "{text}: {}", error.message);
            assert!(error.message.contains(part), "{text}: {}", error.message);
        }
    }

    #[test]
    fn circles_are_found() {
        assert_eq!(circle([("a", "b"), ("b", "c"), ("d", "c")].into_iter()), None);
        assert_eq!(circle([("a", "b"), ("b", "c"), ("c", "a")].into_iter()), Some(("c", "a")));
        assert_eq!(circle([("a", "b"), ("a", "b")].into_iter()), Some(("a", "b")));
    }
}
