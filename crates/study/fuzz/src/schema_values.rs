//! Random values of a JSON Schema, as TOML.

use crate::random::Draw;
use serde_json::{Map, Value, json};
use slotline_net::rng::Stream;
use std::fmt::Write;

const TIMES: [&str; 11] =
    ["0s", "100ns", "1us", "2.5us", "5us", "10us", "20us", "40us", "100us", "1ms", "1s"];
const RATES: [&str; 8] =
    ["1Mbps", "100Mbps", "1Gbps", "2.5Gbps", "10Gbps", "25Gbps", "40Gbps", "100Gbps"];
const SIZES: [&str; 12] =
    ["0B", "1B", "64B", "100B", "1460B", "1500B", "3KB", "9KB", "64KB", "100KB", "150KB", "1MB"];
/// Names of links that exist in some fabric.
const LINKS: [&str; 6] =
    ["s0-h0", "h1-s0", "edge0.0-agg0.0", "agg0.0-core0", "leaf0-spine0", "edge0.0-h0"];
const NODES: [&str; 8] = ["h0", "h1", "s0", "edge0.0", "core0", "leaf0", "controller", "arbiter"];

/// Hosts as text.
const HOSTS: [&str; 5] = ["all", "2 random", "0-1", "0,1", "1-3"];
/// Keys that are only valid with other keys. They are left out more often.
const CONDITIONAL: [&str; 21] = [
    "vm",
    "to-vm",
    "reaction",
    "flowlet-gap",
    "classifier",
    "voq",
    "file",
    "every",
    "times",
    "pfc",
    "bump",
    "notify",
    "tail-loss-probe",
    "timer-slack",
    "update-every",
    "update-delay",
    "row-uplink",
    "hold",
    "schedule",
    "ports",
    "capture",
];

/// Makes values. One of `rare` optional keys is given.
pub(crate) struct Maker<'a> {
    pub rng: &'a mut Stream,
    pub rare: u64,
}

impl Maker<'_> {
    /// A value of `schema` for `key`.
    pub fn value(&mut self, key: &str, schema: &Value) -> Value {
        if !schema["const"].is_null() {
            return schema["const"].clone();
        }
        if !schema["default"].is_null() && self.rng.once_in(3) {
            return schema["default"].clone();
        }
        for choices in ["enum", "anyOf", "oneOf"] {
            if let Some(choices @ [_, ..]) = schema[choices].as_array().map(Vec::as_slice) {
                let mut choice = self.rng.pick(choices);
                // This value would need a program that supplies the part.
                while is_custom(choice) && !self.rng.once_in(50) {
                    choice = self.rng.pick(choices);
                }
                return if choice.is_object() { self.value(key, choice) } else { choice.clone() };
            }
        }
        self.plain(key, schema)
    }

    fn plain(&mut self, key: &str, schema: &Value) -> Value {
        match schema["type"].as_str() {
            Some("object") => self.table(schema),
            Some("array") => {
                let count =
                    self.rng.length(2).max(schema["minItems"].as_u64().unwrap_or(0) as usize);
                (0..count).map(|_| self.value(key, &schema["items"])).collect()
            }
            Some("boolean") => self.rng.once_in(2).into(),
            Some("integer") if key == "k" => (2 * (1 + self.rng.below(2))).into(),
            Some("integer") => self.integer(schema).into(),
            Some("number") => self.number(schema).into(),
            Some("string") => self.text(key, schema).into(),
            _ => json!(self.rng.below(9)),
        }
    }

    /// A table with all required keys, and some others.
    pub fn table(&mut self, schema: &Value) -> Value {
        let needed = schema["required"].as_array().cloned().unwrap_or_default();
        let mut table = Map::new();
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            let given = needed.contains(&key.as_str().into()) || key == "kind";
            let rare = if CONDITIONAL.contains(&key.as_str()) { 12 * self.rare } else { self.rare };
            if given || self.rng.once_in(rare) {
                table.insert(key.clone(), self.value(key, property));
            }
        }
        table.into()
    }

    fn integer(&mut self, schema: &Value) -> i64 {
        let least = schema["minimum"].as_i64().unwrap_or(0);
        let most = schema["maximum"].as_i64().unwrap_or(i64::MAX);
        let up_to = *self.rng.pick(&[1, 2, 4, 4, 8, 16, 100]);
        let usual = least.max(i64::from(!self.rng.once_in(12)));
        let drawn = usual.saturating_add(self.rng.below(up_to) as i64);
        let edge = *self.rng.pick(&[least, most.min(1_000)]);
        if self.rng.once_in(12) { edge } else { drawn.min(most) }
    }

    fn number(&mut self, schema: &Value) -> f64 {
        let least =
            schema["minimum"].as_f64().or(schema["exclusiveMinimum"].as_f64()).unwrap_or(0.0);
        let most = schema["maximum"].as_f64().unwrap_or(least + 10.0);
        match self.rng.index(10) {
            0 => least,
            1 => most,
            _ => least + self.rng.unit() * (most - least).min(2.0),
        }
    }

    fn text(&mut self, key: &str, schema: &Value) -> String {
        let selects_hosts = schema["pattern"].as_str().is_some_and(|text| text.contains("random"));
        let choices: &[&str] = match (schema["x-type"].as_str(), key) {
            (Some("time"), _) => &TIMES,
            (Some("rate"), _) => &RATES,
            (Some("size"), _) => &SIZES,
            (Some("file"), _) => &["../data/traces/incast16.cm", "none.csv"],
            (_, "link" | "ports" | "capture") => &LINKS,
            _ if selects_hosts => &HOSTS,
            (_, "sizes") => &["websearch", "hadoop", "20KB", "1B"],
            (_, "switch" | "controller" | "host") => &NODES,
            _ => &[],
        };
        if let [_, ..] = choices {
            return self.rng.pick(choices).to_string();
        }
        let examples = schema["examples"].as_array().map_or(&[][..], Vec::as_slice);
        match examples {
            [] => format!("n{}", self.rng.below(1_000)),
            some => self.rng.pick(some).as_str().unwrap_or("all").to_string(),
        }
    }
}

fn is_custom(choice: &Value) -> bool {
    choice == "custom" || choice["properties"]["kind"]["const"] == "custom"
}

/// `table` as a TOML document: each of its keys on a line.
pub(crate) fn document(table: &Value) -> String {
    let mut out = String::new();
    for (key, value) in table.as_object().into_iter().flatten() {
        let _ = writeln!(out, "{} = {}", json!(key), inline(value));
    }
    out
}

/// A value on one line of TOML.
fn inline(value: &Value) -> String {
    match value {
        Value::Object(table) => {
            let pairs = table.iter().filter(|(_, value)| !value.is_null());
            let pairs = pairs.map(|(key, value)| format!("{} = {}", json!(key), inline(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
