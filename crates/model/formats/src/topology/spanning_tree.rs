//! Which ports of switches forward frames, as switches state it: the spanning tree of an Ethernet.
//!
//! The file has what Linux prints for a bridge's ports (`bridge -j link`, `ip -j -d link`), or what switches of Cisco and
//! Arista print (`show spanning-tree`).

use super::fail;
use super::show_spanning_tree::{self as shown, ShownPort, plain_name};
use crate::error::FormatError;
use crate::json;
use crate::tree::{Entry, Tree, Value, get, short};
use std::collections::BTreeMap;

/// The states of ports, as iproute2 prints them.
const STATES: [&str; 5] = ["disabled", "listening", "learning", "forwarding", "blocking"];

/// The state of each port of some switches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanningTree {
    /// By switch and interface: whether the port forwards, and its line.
    ports: BTreeMap<(String, String), (bool, usize)>,
    /// Whether their interfaces are compared by the name that Linux has for them, or without differences of form.
    switches: BTreeMap<String, Names>,
}

/// How the names of interfaces in the file are compared with those of a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    /// As they are.
    Exact,
    /// Without differences of form: `Et1` is `eth1`.
    Plain,
}

impl SpanningTree {
    /// Reads a file: an object with, for each switch, what it prints as JSON; the list of one machine, in which `master`
    /// names the switch of each port; or the text of terminals with `show spanning-tree`.
    ///
    /// # Errors
    /// The file has another content, a port twice, or a port that forwards in one instance and not in another.
    pub fn parse(text: &str) -> Result<SpanningTree, FormatError> {
        let mut tree = SpanningTree::default();
        if !text.trim_start().starts_with(['{', '[']) {
            shown::ports(text)?.into_iter().try_for_each(|port| tree.shown(port))?;
            return if tree.ports.is_empty() { fail(1, NOTHING) } else { Ok(tree) };
        }
        let file = json::parse(text)?;
        match &file.value {
            Value::List(ports) => ports.iter().try_for_each(|port| tree.port(None, port))?,
            Value::Map(switches) => switches.iter().try_for_each(|entry| tree.switch(entry))?,
            _ => return fail(file.line, NOTHING),
        }
        if tree.ports.is_empty() {
            return fail(file.line, "no port of a bridge has a `state`");
        }
        Ok(tree)
    }
    fn switch(&mut self, entry: &Entry) -> Result<(), FormatError> {
        if let Value::Map(fields) = &entry.tree.value {
            return self.arista(&entry.key, entry.tree.line, fields);
        }
        let ports = entry.tree.list(&format!("switch `{}`", short(&entry.key)))?;
        self.switches.insert(entry.key.clone(), Names::Exact);
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
        self.switches.insert(switch.clone(), Names::Exact);
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
    /// Takes what EOS prints for `show spanning-tree | json`.
    fn arista(&mut self, switch: &str, line: usize, fields: &[Entry]) -> Result<(), FormatError> {
        let Some(instances) = get(fields, "spanningTreeInstances") else {
            let why = "expected a list, or an object with `spanningTreeInstances`";
            return fail(line, format!("switch `{}`: {why}", short(switch)));
        };
        self.switches.insert(switch.into(), Names::Plain);
        for instance in instances.map("`spanningTreeInstances`")? {
            let fields = instance.tree.map(&format!("instance `{}`", short(&instance.key)))?;
            let Some(interfaces) = get(fields, "interfaces") else { continue };
            for interface in interfaces.map("`interfaces`")? {
                self.shown(arista_port(switch, &instance.key, interface)?)?;
            }
        }
        Ok(())
    }
    /// Takes a port that a switch shows, perhaps in several instances.
    fn shown(&mut self, port: ShownPort) -> Result<(), FormatError> {
        self.switches.insert(port.switch.clone(), Names::Plain);
        let key = (port.switch.clone(), plain_name(&port.interface));
        let Some((forwards, first)) = self.ports.get(&key) else {
            self.ports.insert(key, (port.forwards, port.line));
            return Ok(());
        };
        if *forwards == port.forwards {
            return Ok(());
        }
        let named = format!("{}:{}", short(&port.switch), short(&port.interface));
        let why = format!(
            "port `{named}` has another state in `{}` than in line {first}: give the output for one VLAN or instance",
            short(&port.instance)
        );
        fail(port.line, why)
    }
    /// Whether the file has ports of `switch`.
    pub fn has(&self, switch: &str) -> bool {
        self.switches.contains_key(switch)
    }
    /// Whether a port forwards. Nodes that are not in the file forward by all ports; `None` for a switch of the file
    /// that does not have the port.
    pub fn forwards(&self, switch: &str, interface: &str) -> Option<bool> {
        let name = match self.switches.get(switch) {
            None => return Some(true),
            Some(Names::Exact) => interface.to_string(),
            Some(Names::Plain) => plain_name(interface),
        };
        self.ports.get(&(switch.into(), name)).map(|(forwards, _)| *forwards)
    }
    /// The switches, in order.
    pub fn switches(&self) -> impl Iterator<Item = &str> {
        self.switches.keys().map(String::as_str)
    }
}

const NOTHING: &str = "expected the list of `bridge -j link`, an object with such a list or the output of `show \
                       spanning-tree | json` for each switch, or the text of terminals with `show spanning-tree`";

fn arista_port(switch: &str, instance: &str, interface: &Entry) -> Result<ShownPort, FormatError> {
    let fields = interface.tree.map(&format!("interface `{}`", short(&interface.key)))?;
    let text = field(&interface.tree, fields, "state")?;
    let Some(forwards) = shown::forwards(&text) else {
        let (text, name, known) = (short(&text), short(&interface.key), shown::known_states());
        return fail(
            interface.tree.line,
            format!("`state` of `{name}` = `{text}`: expected {known}"),
        );
    };
    let (switch, instance, line) = (switch.into(), instance.into(), interface.tree.line);
    Ok(ShownPort { switch, instance, interface: interface.key.clone(), forwards, line })
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
    const SHOWN: &str = include_str!("../../tests/data/triangle_shown.txt");
    const EOS: &str = include_str!("../../tests/data/triangle_eos.json");

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

    /// The same triangle, as switches of two makers show it.
    #[test]
    fn shown_trees_are_the_same() {
        let bridge = SpanningTree::parse(BRIDGES).unwrap();
        for text in [SHOWN, EOS] {
            let shown = SpanningTree::parse(text).unwrap();
            assert_eq!(shown.switches().collect::<Vec<_>>(), ["s1", "s2", "s3"]);
            for (switch, interface) in bridge.ports.keys() {
                let same = bridge.forwards(switch, interface);
                assert_eq!(shown.forwards(switch, interface), same, "{switch}:{interface}");
                let long = interface.replace("eth", "Ethernet");
                assert_eq!(shown.forwards(switch, &long), same);
            }
            assert_eq!(shown.forwards("s1", "eth9"), None);
        }
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
            ("{\"s1\": {}}", 1, "switch `s1`: expected a list, or an object with"),
            (
                "{\"s\": {\"spanningTreeInstances\": {\"MST0\": {\"interfaces\": {\n\"Et1\": {\"state\": \"odd\"}}}}}}",
                2,
                "`state` of `Et1` = `odd`: expected fwd",
            ),
            ("Interface Role Sts Cost\nEt1 Root FWD 4", 2, "a table of ports without a switch"),
            ("s#sh span\nInterface Role Sts\nEt1 Root", 3, "a name, a role and a state"),
            ("s#sh span\nInterface Role Sts\nEt1 King FWD", 3, "`King` is no role of port `Et1`"),
            ("s#sh span\nInterface Role Sts\nEt1 Root ODD", 3, "state of port `Et1` = `ODD`"),
            (
                "s#sh span\nVL1\nInterface Role Sts\nEt1 Root FWD\n\nVL2\nInterface Role Sts\nEt1 Altn BLK",
                8,
                "port `s:Et1` has another state in `VL2` than in line 4",
            ),
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
