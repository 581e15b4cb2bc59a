//! The schema accepts what the loader accepts, and refuses what it refuses. The judge here is written
//! from JSON Schema's own rules and shares nothing with the program's.

use proptest::prelude::*;
use regex_lite::Regex;
use serde_json::Value;
use slotline_net::time::Time;
use slotline_net::units::{Bytes, Rate};
use slotline_net::workload::Hosts;
use slotline_scenario::Scenario;
use slotline_scenario::catalogue::Kind;
use slotline_scenario::schema::{self, types};
use std::fs;
use std::path::{Path, PathBuf};

/// JSON Schema, draft 7, as far as the schema of a scenario uses it.
fn accepts(schema: &Value, value: &Value) -> bool {
    let known = [
        "$schema",
        "title",
        "description",
        "default",
        "examples",
        "format",
        "x-type",
        "type",
        "const",
        "enum",
        "oneOf",
        "anyOf",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "pattern",
        "minimum",
        "maximum",
        "exclusiveMinimum",
    ];
    let table = schema.as_object().expect("a schema is a table");
    table.iter().all(|(keyword, rule)| {
        assert!(known.contains(&keyword.as_str()), "`{keyword}` is not known here");
        holds(keyword, rule, value, schema)
    })
}

fn holds(keyword: &str, rule: &Value, value: &Value, schema: &Value) -> bool {
    let all = |list: &Value| list.as_array().expect("a list").clone();
    let count = |forms: &Value| all(forms).iter().filter(|form| accepts(form, value)).count();
    match (keyword, value) {
        ("type", _) => is_of(rule.as_str().expect("a name"), value),
        ("const", _) => rule == value,
        ("enum", _) => all(rule).contains(value),
        ("oneOf", _) => count(rule) == 1,
        ("anyOf", _) => count(rule) >= 1,
        ("properties", Value::Object(table)) => {
            table.iter().all(|(key, inner)| rule.get(key).is_none_or(|rule| accepts(rule, inner)))
        }
        ("required", Value::Object(table)) => {
            all(rule).iter().all(|key| table.contains_key(key.as_str().expect("a key")))
        }
        ("additionalProperties", Value::Object(table)) => {
            let fits = |value| rule.as_bool().unwrap_or_else(|| accepts(rule, value));
            let is_known = |key: &String| schema["properties"].get(key).is_some();
            table.iter().all(|(key, value)| is_known(key) || fits(value))
        }
        ("items", Value::Array(list)) => list.iter().all(|item| accepts(rule, item)),
        ("pattern", Value::String(text)) => matches(rule, text),
        ("minimum", Value::Number(n)) => n.as_f64() >= rule.as_f64(),
        ("maximum", Value::Number(n)) => n.as_f64() <= rule.as_f64(),
        ("exclusiveMinimum", Value::Number(n)) => n.as_f64() > rule.as_f64(),
        _ => true,
    }
}

fn matches(pattern: &Value, text: &str) -> bool {
    Regex::new(pattern.as_str().expect("a pattern")).expect("a pattern").is_match(text)
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("type `{other}` is not known here"),
    }
}

fn by_schema(text: &str) -> bool {
    let table: toml::Table = toml::from_str(text).expect("TOML");
    accepts(schema::file(), &serde_json::to_value(table).expect("plain data"))
}

/// All files below `folder` with that ending.
fn below(folder: PathBuf, ending: &str) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let right = files.into_iter().filter(|file| file.extension().is_some_and(|e| e == ending));
    right.chain(folders.into_iter().flat_map(|folder| below(folder, ending))).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

#[test]
fn all_scenarios_of_the_repository_are_accepted() {
    let files = below(root().join("scenarios"), "toml");
    assert!(files.len() >= 8);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let loaded = Scenario::parse_single(&file, text.clone());
        let loaded = loaded.unwrap_or_else(|error| panic!("{error}"));
        assert!(by_schema(&text), "{}", file.display());
        assert!(by_schema(&loaded.resolved()), "{}", loaded.resolved());
    }
    for document in below(root().join("docs"), "md").into_iter().chain([root().join("README.md")]) {
        let text = fs::read_to_string(&document).unwrap();
        for block in text.split("```toml scenario\n").skip(1) {
            let scenario = block.split("```").next().unwrap();
            assert!(by_schema(scenario), "{}:\n{scenario}", document.display());
        }
    }
}

const GOOD: &str = r#"name = "good"
seed = 3
repeat = 2
end = { at = "100ms", when = "time" }

[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts-per-leaf = 4
overrides = [{ link = "h0-leaf0", rate = "1Gbps" }]

[[workload]]
kind = "incast"
receiver = 0
senders = "1-3"
block = "1MB"
split = true

[[workload]]
kind = "poisson"
load = 0.5

[[workload]]
kind = "udp"
senders = 2
rate = "line"

[[scheme]]
name = "one"
routing = "ecmp"
queue = { kind = "ecn", threshold = "30KB" }
transport = { kind = "dctcp", min-rto = "10ms" }

[[scheme]]
name = "two"
queue = "red"
control = { kind = "xco", slice = "2ms" }

[[event]]
at = "5ms"
kind = "link-down"
link = "leaf0-spine1"

[measure]
sample = "1ms"
metrics = ["fct-p99"]
"#;

/// Parts of the good scenario, and what stands there instead.
const WRONG: &[(&str, &str)] = &[
    ("name = \"good\"\n", ""),
    ("name = \"good\"", "name = 3"),
    ("name = \"good\"", "nam = \"good\""),
    ("seed = 3", "seed = -1"),
    ("seed = 3", "seed = 1.5"),
    ("seed = 3", "seed = 5000000000"),
    ("repeat = 2", "repeat = 0"),
    ("repeat = 2", "repeat = 20000"),
    ("repeat = 2", "repeat = \"2\""),
    ("end = { at = \"100ms\", when = \"time\" }\n", ""),
    ("at = \"100ms\"", "at = \"100\""),
    ("at = \"100ms\"", "at = 100"),
    ("at = \"100ms\"", "at = \"100MB\""),
    ("at = \"100ms\"", "at = \"ms\""),
    ("at = \"100ms\"", "at = \"-1ms\""),
    ("when = \"time\"", "when = \"never\""),
    ("when = \"time\"", "whenever = \"time\""),
    ("kind = \"leaf-spine\"", "kind = \"leafspine\""),
    ("kind = \"leaf-spine\"\n", ""),
    ("leaves = 2\n", ""),
    ("leaves = 2", "leafs = 2"),
    ("leaves = 2", "leaves = true"),
    ("[fabric]", "[[fabric]]"),
    ("link = \"h0-leaf0\", ", ""),
    ("rate = \"1Gbps\"", "rate = \"1Gb\""),
    ("rate = \"1Gbps\"", "speed = \"1Gbps\""),
    ("kind = \"incast\"", "kind = \"in-cast\""),
    ("senders = \"1-3\"", "senders = \"1..3\""),
    ("senders = \"1-3\"", "senders = [1, 2, 3]"),
    ("senders = \"1-3\"", "senders = -3"),
    ("split = true", "split = \"yes\""),
    ("split = true", "class = 8"),
    ("load = 0.5", "load = 1.5"),
    ("load = 0.5", "load = 0"),
    ("load = 0.5", "load = \"50%\""),
    ("rate = \"line\"", "rate = \"lines\""),
    ("routing = \"ecmp\"", "routing = \"rip\""),
    ("threshold = \"30KB\"", "treshold = \"30KB\""),
    ("kind = \"ecn\", threshold", "kind = \"red\", threshold"),
    ("kind = \"dctcp\", min-rto", "min-rto"),
    ("min-rto = \"10ms\"", "initial-window = 0"),
    ("queue = \"red\"", "queue = \"blue\""),
    ("queue = \"red\"", "queue = { kind = \"red\", max-p = 1.5 }"),
    ("queue = \"red\"", "queue = { shared = {} }"),
    ("queue = \"red\"", "queue = 3"),
    ("queue = \"red\"", "queue = \"object\""),
    ("queue = \"red\"", "queue = { kind = \"object\" }"),
    ("queue = \"red\"", "queue = { kind = \"red\", file = \"red.o\" }"),
    ("kind = \"xco\", slice", "kind = \"none\", slice"),
    ("slice = \"2ms\"", "slice = \"2Gbps\""),
    ("at = \"5ms\"\n", ""),
    ("link = \"leaf0-spine1\"\n", ""),
    ("link = \"leaf0-spine1\"", "switch = \"leaf0\""),
    ("link = \"leaf0-spine1\"", "link = \"leaf0-spine1\"\nrate = \"1Gbps\""),
    ("kind = \"link-down\"", "kind = \"rate\""),
    ("[\"fct-p99\"]", "[\"fct-p98\"]"),
    ("[\"fct-p99\"]", "\"fct-p99\""),
    ("sample = \"1ms\"", "samples = \"1ms\""),
];

#[test]
fn what_is_wrong_is_refused_by_schema_and_loader() {
    let loads = |text: &str| Scenario::parse(Path::new("s.toml"), text.into());
    assert!(by_schema(GOOD));
    assert!(loads(GOOD).is_ok(), "{}", loads(GOOD).unwrap_err());
    for (old, new) in WRONG {
        assert!(GOOD.contains(old), "{old}");
        let text = GOOD.replacen(old, new, 1);
        assert!(loads(&text).is_err(), "the loader takes {new} for {old}");
        assert!(!by_schema(&text), "the schema takes {new} for {old}");
    }
    for table in ["workload", "scheme"] {
        let parts: Vec<&str> = GOOD.split("\n\n").collect();
        let without = parts.into_iter().filter(|part| !part.starts_with(&format!("[[{table}]]")));
        let text = without.collect::<Vec<_>>().join("\n\n");
        // A scenario without workload may have programs, which only the loader knows to count.
        assert!(loads(&text).is_err() && (!by_schema(&text) || table == "workload"), "no {table}");
    }
}

const BASE: &str = "name = \"d\"\nend = { at = \"1s\" }\n\n[measure]\nsample = \"1ms\"\n\n[fabric]\n\
                    kind = \"fat-tree\"\nk = 4\n\n[[workload]]\nkind = \"ring\"\n\n[[scheme]]\n\
                    name = \"s\"\n";

/// The fabric that circuits need, and a scheduler for which all their keys mean something.
const HYBRID: &str = "name = \"d\"\nend = { at = \"1s\" }\n\n[fabric]\nkind = \"hybrid\"\nracks = 4\n\
                      hosts-per-rack = 2\ncircuits = { rate = \"10Gbps\" }\n\n[[workload]]\n\
                      kind = \"ring\"\n\n[[scheme]]\nname = \"s\"\n";

fn resolved(text: &str) -> String {
    let loaded = Scenario::parse(Path::new("d.toml"), text.into());
    loaded.unwrap_or_else(|error| panic!("{error}\n{text}")).resolved()
}

/// A default that is written out changes nothing: what the schema says is what the loader does. For
/// each kind: what stands in `BASE`, and what a table of that kind looks like.
#[test]
fn defaults_are_those_of_the_loader() {
    let mut written = 0;
    let mut check = |kind: Kind, old: &str, table: &dyn Fn(&str, &str) -> String| {
        for entry in kind.entries() {
            let text = |more: &str| match entry.name.as_str() {
                "circuits" => HYBRID.replacen(old, &table(&entry.name, more), 1),
                _ => BASE.replacen(old, &table(&entry.name, more), 1),
            };
            // Some keys are refused unless another one is set.
            let needs = |key: &str| match key {
                "tail-loss-probe" | "timer-slack" => "loss-recovery = \"rack\"",
                "ecn-response" => "ecn = true",
                _ => "",
            };
            for parameter in entry.parameters.iter().filter(|p| p.default.is_some()) {
                let (key, default) = (&parameter.key, parameter.default.clone().unwrap());
                let needed = needs(key);
                let comma = if needed.is_empty() { "" } else { ", " };
                let with = resolved(&text(&format!("{needed}{comma}{key} = {default}")));
                assert_eq!(with, resolved(&text(needed)), "{kind:?} {}: {key}", entry.name);
                written += 1;
            }
        }
    };
    check(Kind::Topology, "kind = \"fat-tree\"\nk = 4", &|name, more| {
        let needed = match name {
            "star" => "hosts = 8",
            "tree" => "hosts-per-rack = 4\nracks = 2",
            "leaf-spine" => "leaves = 2\nspines = 2\nhosts-per-leaf = 4",
            "hybrid" => "racks = 2\nhosts-per-rack = 4\npacket = { rate = \"10Gbps\" }",
            _ => "k = 4",
        };
        format!("kind = \"{name}\"\n{needed}\n{more}\n")
    });
    check(Kind::Workload, "kind = \"ring\"", &|name, more| match name {
        // Needs a file.
        "trace" => "kind = \"ring\"".into(),
        // Needs a program.
        "custom" => "kind = \"ring\"".into(),
        _ => format!("kind = \"{name}\"\n{more}"),
    });
    check(Kind::Measure, "sample = \"1ms\"", &|_, more| format!("sample = \"1ms\"\n{more}"));
    check(Kind::End, "at = \"1s\"", &|_, more| {
        format!("at = \"1s\"{}{more}", if more.is_empty() { "" } else { ", " })
    });
    for (kind, key) in
        [(Kind::Queue, "queue"), (Kind::Transport, "transport"), (Kind::Control, "control")]
    {
        check(kind, "name = \"s\"", &|name, more| {
            if name == "custom" {
                return "name = \"s\"".into();
            }
            let marks = if name == "dctcp" { "queue = \"ecn\"\n" } else { "" };
            let comma = if more.is_empty() { "" } else { ", " };
            let file = if name == "object" { ", file = \"../../../data/bpf/red.o\"" } else { "" };
            format!("name = \"s\"\n{marks}{key} = {{ kind = \"{name}\"{file}{comma}{more} }}")
        });
    }
    assert!(written > 150, "{written}");
}

fn pattern(kind: &str) -> Value {
    fn find(schema: &Value, kind: &str) -> Option<Value> {
        let own = (schema["x-type"] == kind).then(|| schema.clone());
        let inner = || match schema {
            Value::Object(table) => table.values().find_map(|inner| find(inner, kind)),
            Value::Array(list) => list.iter().find_map(|inner| find(inner, kind)),
            _ => None,
        };
        own.or_else(inner)
    }
    find(schema::scenario(), kind).expect("a type of the schema")
}

proptest! {
    #[test]
    fn patterns_are_what_the_types_read(text in "[ ]?[0-9]{0,3}[.]?[0-9]{0,2}[ ]?(|s|ms|us|µs|ns|ps|KB|KiB|B|GB|Gbps|Mbps|bps|Gb|S|all|random|-1|,2|-)[ ]?") {
        let value = Value::String(text.clone());
        prop_assert_eq!(accepts(&pattern("time"), &value), text.parse::<Time>().is_ok(), "{}", text);
        prop_assert_eq!(accepts(&pattern("size"), &value), text.parse::<Bytes>().is_ok(), "{}", text);
        prop_assert_eq!(accepts(&pattern("rate"), &value), text.parse::<Rate>().is_ok(), "{}", text);
        // A pattern cannot tell that 3-1 is no range.
        if !text.contains('-') {
            prop_assert_eq!(accepts(&pattern("hosts"), &value), text.parse::<Hosts>().is_ok(), "{}", text);
        }
    }
}

/// `SLOTLINE_WRITE_SCHEMA=1` writes the files.
#[test]
fn the_files_with_the_schema_are_those_of_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/schema");
    let how = "SLOTLINE_WRITE_SCHEMA=1 cargo test -p slotline-scenario the_files_with_the_schema";
    for (name, made) in [("shape.jsonl", types::shape_text()), ("file.json", types::file_text())] {
        let file = folder.join(name);
        if std::env::var_os("SLOTLINE_WRITE_SCHEMA").is_some() {
            std::fs::write(&file, &made).expect("the source folder can be written");
        }
        let kept = std::fs::read_to_string(&file).expect("it is part of the source");
        assert!(kept == made, "src/schema/{name} is not of these types; {how}");
    }
}

#[test]
fn the_schema_of_a_file_has_that_of_a_scenario() {
    assert_eq!(*schema::scenario(), types::scenario());
}
