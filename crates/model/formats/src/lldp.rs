//! What machines know of their neighbours by LLDP (IEEE 802.1AB), as `lldpcli -f json` of lldpd prints it.

use crate::error::FormatError;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A neighbour of a machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Neighbour {
    /// The interface of the machine itself.
    pub interface: String,
    /// The neighbour's name, or the number of its chassis if it tells no name.
    pub machine: String,
    /// Its addresses for management.
    pub addresses: Vec<String>,
    /// The name of its port.
    pub port: String,
}

/// A machine and its neighbours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Its neighbours.
    pub neighbours: Vec<Neighbour>,
}

/// One end of a cable: a machine and its port.
pub type Port = (String, String);

/// The neighbours in the output of `lldpcli -f json show neighbors`.
///
/// # Errors
/// The text is no such output.
pub fn neighbours(text: &str) -> Result<Vec<Neighbour>, FormatError> {
    match &outputs(text)?[..] {
        [Output::Neighbours(neighbours)] => Ok(neighbours.clone()),
        _ => Err(FormatError::new(1, "this is not the output of `lldpcli -f json show neighbors`")),
    }
}

/// The machines in a file that has, for each of them, the outputs of `lldpcli -f json show chassis` and of `lldpcli -f json
/// show neighbors`, in this order.
///
/// # Errors
/// The text has something else.
pub fn machines(text: &str) -> Result<Vec<Machine>, FormatError> {
    let mut machines: Vec<Machine> = Vec::new();
    for output in outputs(text)? {
        match (output, machines.last_mut()) {
            (Output::Chassis(name), _) => machines.push(Machine { name, neighbours: Vec::new() }),
            (Output::Neighbours(more), Some(machine)) => machine.neighbours.extend(more),
            (Output::Neighbours(_), None) => {
                let why = "there are neighbours of an unknown machine: put the output of `lldpcli -f json show \
                           chassis` before that of `lldpcli -f json show neighbors`";
                return Err(FormatError::new(1, why));
            }
        }
    }
    match machines.is_empty() {
        true => Err(FormatError::new(1, "there is no machine")),
        false => Ok(machines),
    }
}

/// A cable between two machines.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cable {
    /// The machines at its ends and their ports.
    pub ends: [Port; 2],
    /// By end: whether the machine there names the other end.
    pub named: [bool; 2],
}

impl Cable {
    /// Whether both machines name each other.
    pub fn is_confirmed(&self) -> bool {
        self.named == [true, true]
    }
}

/// The network of machines as node-link JSON, and what does not fit together. Each cable is there once, and cables between
/// the same machines are told apart by their ports.
pub fn node_link(machines: &[Machine]) -> (String, Vec<String>) {
    let seen = cables(machines);
    let named = |end: &Port| machines.iter().any(|machine| machine.name == end.0);
    let one_sided = seen.iter().filter(|of| !of.is_confirmed() && of.ends.iter().all(named));
    let note = |Cable { ends: [a, b], .. }: &Cable| {
        format!("{} of {} and {} of {} do not both name each other", a.1, a.0, b.1, b.0)
    };
    let notes = one_sided.map(note).collect();
    let mut names: Vec<&str> = machines.iter().map(|machine| machine.name.as_str()).collect();
    names.extend(seen.iter().flat_map(|of| of.ends.iter().map(|end| end.0.as_str())));
    names.sort_unstable();
    names.dedup();
    let nodes: Vec<Value> = names.iter().map(|name| json!({ "id": name })).collect();
    let link = |Cable { ends: [a, b], .. }: &Cable| json!({ "source": a.0, "target": b.0 });
    let links: Vec<Value> = seen.iter().map(link).collect();
    let text = json!({ "directed": false, "multigraph": true, "graph": {}, "nodes": nodes, "links": links });
    (text.to_string(), notes)
}

/// All cables, in the order of their ends.
pub fn cables(machines: &[Machine]) -> Vec<Cable> {
    let mut cables: BTreeMap<[Port; 2], [bool; 2]> = BTreeMap::new();
    for machine in machines {
        for neighbour in &machine.neighbours {
            let near = (machine.name.clone(), neighbour.interface.clone());
            let far = (neighbour.machine.clone(), neighbour.port.clone());
            let (ends, at) = if near <= far { ([near, far], 0) } else { ([far, near], 1) };
            cables.entry(ends).or_default()[at] = true;
        }
    }
    cables.into_iter().map(|(ends, named)| Cable { ends, named }).collect()
}

/// One output of lldpcli.
enum Output {
    Chassis(String),
    Neighbours(Vec<Neighbour>),
}

fn outputs(text: &str) -> Result<Vec<Output>, FormatError> {
    let values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let output = |value: Result<Value, serde_json::Error>| {
        let value =
            value.map_err(|error| FormatError::new(error.line().max(1), error.to_string()))?;
        output(&value).ok_or_else(|| {
            let why = "expected outputs of `lldpcli -f json show chassis` and `lldpcli -f json show neighbors`";
            FormatError::new(1, why)
        })
    };
    values.map(output).collect()
}

fn output(value: &Value) -> Option<Output> {
    if let Some(chassis) = value.get("local-chassis") {
        return Some(Output::Chassis(chassis_of(chassis.get("chassis")?)?.0));
    }
    let interfaces = value.get("lldp")?.as_object()?.get("interface");
    let neighbours = entries(interfaces).into_iter().map(neighbour).collect::<Option<Vec<_>>>();
    neighbours.map(Output::Neighbours)
}

/// The entries of an object, or of all objects of a list: lldpcli prints a list if there are several.
fn entries(value: Option<&Value>) -> Vec<(&String, &Value)> {
    let objects: Vec<&Map<String, Value>> = match value {
        Some(Value::Object(object)) => vec![object],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_object).collect(),
        _ => Vec::new(),
    };
    objects.into_iter().flatten().collect()
}

fn neighbour((interface, value): (&String, &Value)) -> Option<Neighbour> {
    let (machine, chassis) = chassis_of(value.get("chassis")?)?;
    let port = value.get("port")?;
    let id = port.get("id")?;
    let named = id["type"] == "ifname" || port.get("descr").is_none();
    let port = if named { id.get("value")? } else { port.get("descr")? };
    let port = port.as_str()?.to_owned();
    let addresses = texts(chassis.get("mgmt-ip")).map(str::to_owned).collect();
    Some(Neighbour { interface: interface.clone(), machine, addresses, port })
}

/// The name of a chassis, and what is said about it. A chassis without a name has its number.
fn chassis_of(value: &Value) -> Option<(String, &Value)> {
    match value.get("id").and_then(|id| id.get("value")) {
        Some(id) => Some((id.as_str()?.to_owned(), value)),
        None => value.as_object()?.iter().next().map(|(name, of)| (name.clone(), of)),
    }
}

/// A text, or all texts of a list.
fn texts(value: Option<&Value>) -> impl Iterator<Item = &str> {
    let list = value.and_then(Value::as_array).into_iter().flatten();
    value.and_then(Value::as_str).into_iter().chain(list.filter_map(Value::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Recorded from lldpd 1.0.16 on three machines in namespaces, without descriptions and capabilities.
    const RECORDED: &str = include_str!("lldp_sample.json");

    #[test]
    fn recorded_machines_make_a_network() {
        let machines = machines(RECORDED).unwrap();
        let names: Vec<_> = machines.iter().map(|machine| machine.name.as_str()).collect();
        assert_eq!(names, ["edge0.0", "agg0.0"]);
        let expected = Neighbour {
            interface: "up1".into(),
            machine: "agg0.1".into(),
            addresses: ["10.81.0.3", "fe80::1"].map(str::to_owned).into(),
            port: "down0".into(),
        };
        assert_eq!(machines[0].neighbours[1], expected);
        let (text, notes) = node_link(&machines);
        assert_eq!((text.matches("source").count(), text.matches("\"id\"").count()), (2, 3));
        assert!(notes.is_empty(), "{notes:?}");
        let asked = slotline_net::topology::GraphSpec {
            hosts: vec!["edge*".into()],
            rate: Some(slotline_net::units::Rate(1_000_000_000)),
            delay: Some(slotline_net::time::Time::us(1)),
            ..Default::default()
        };
        let format = crate::topology::FabricFormat::NodeLink;
        let read = crate::topology::read(format, &text, &asked).unwrap();
        assert_eq!(
            (read.spec.hosts.len(), read.spec.switches.len(), read.spec.link.len()),
            (1, 2, 2)
        );
    }

    #[test]
    fn ends_that_disagree_are_named() {
        let mut machines = machines(RECORDED).unwrap();
        machines[1].neighbours[0].port = "up7".into();
        let (text, notes) = node_link(&machines);
        assert_eq!((text.matches("source").count(), notes.len()), (3, 2), "{notes:?}");
        assert!(notes[0].contains("down0 of agg0.0 and up0 of edge0.0"), "{notes:?}");
    }

    /// A machine that says the same twice does not speak for the other one.
    #[test]
    fn each_end_names_the_other_itself() {
        let mut machines = machines(RECORDED).unwrap();
        let confirmed = |machines: &[Machine]| {
            cables(machines).iter().filter(|cable| cable.is_confirmed()).count()
        };
        assert_eq!((cables(&machines).len(), confirmed(&machines)), (2, 1));
        machines.pop();
        let again = machines[0].neighbours.clone();
        machines[0].neighbours.extend(again);
        assert_eq!((cables(&machines).len(), confirmed(&machines)), (2, 0));
    }

    #[test]
    fn other_content_is_refused() {
        let none = "{\"lldp\": {\n}}";
        assert_eq!(neighbours(none).unwrap(), []);
        assert!(machines(none).unwrap_err().message.contains("unknown machine"));
        assert!(machines("").unwrap_err().message.contains("no machine"));
        assert_eq!(machines("{}\n{").unwrap_err().line, 1);
        assert!(neighbours(RECORDED).is_err());
        let unnamed = r#"{"lldp": {"interface": {"e0": {"chassis": {"id": {"type": "mac", "value": "02:00"}},
            "port": {"id": {"type": "ifname", "value": "p1"}, "descr": "to here"}}}}}"#;
        let found = neighbours(unnamed).unwrap();
        assert_eq!((found[0].machine.as_str(), found[0].port.as_str()), ("02:00", "p1"));
    }

    proptest! {
        #[test]
        fn damaged_text_causes_no_panic(at in 0..RECORDED.len(), byte in 0x20u8..0x7f, cut: bool) {
            let mut bytes = RECORDED.as_bytes().to_vec();
            bytes[at] = byte;
            bytes.truncate(if cut { at } else { bytes.len() });
            if let Ok(machines) = machines(&String::from_utf8_lossy(&bytes)) {
                let (text, _) = node_link(&machines);
                prop_assert!(serde_json::from_str::<Value>(&text).is_ok());
            }
        }
    }
}
