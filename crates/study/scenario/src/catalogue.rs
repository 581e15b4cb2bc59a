//! Every name that a scenario can use, with every parameter, as derived from the schema.

use crate::metric::{Better, Metric, Unit};
use crate::schema;
use serde::Serialize;
use serde_json::Value;
use slotline_net::schema::variants;
use slotline_net::workload::DISTRIBUTIONS;

/// A kind of thing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The top of the file.
    Scenario,
    /// `[fabric]`.
    Topology,
    /// `[[workload]]`.
    Workload,
    /// Flow sizes of a workload.
    Distribution,
    /// `[[scheme]]`.
    Scheme,
    /// `routing` of a scheme.
    Routing,
    /// `queue` of a scheme.
    Queue,
    /// `transport` of a scheme.
    Transport,
    /// `control` of a scheme.
    Control,
    /// `[[event]]`.
    Event,
    /// `[measure]`.
    Measure,
    /// `metrics` of `[measure]`.
    Metric,
    /// `[end]`.
    End,
}

/// An entry of a kind.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Entry {
    /// Its name in a scenario; empty if the kind is a single table.
    pub name: String,
    /// Its description in one line.
    pub about: String,
    /// More paragraphs of its description.
    pub more: Vec<String>,
    /// Its source: a section of a paper, or a standard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
}

/// A key of a table.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Parameter {
    /// The key.
    pub key: String,
    /// The type of its value: `time`, `whole number from 0 to 7`.
    pub value: String,
    /// Whether it must be given.
    pub required: bool,
    /// Its default, as in a scenario; `None` if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Its meaning.
    pub about: String,
    /// The source of the parameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// If its value is one of many names, the names with their meanings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// If its value is a table or a list of tables, the keys of the table.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
}

/// A name that a key may have as its value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Choice {
    /// The name, as in a scenario.
    pub name: String,
    /// Its meaning.
    pub about: String,
    /// Its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 13] = [
        Kind::Scenario,
        Kind::Topology,
        Kind::Workload,
        Kind::Distribution,
        Kind::Scheme,
        Kind::Routing,
        Kind::Queue,
        Kind::Transport,
        Kind::Control,
        Kind::Event,
        Kind::Measure,
        Kind::Metric,
        Kind::End,
    ];

    /// The kind with this name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.about().0
    }

    /// The place in a scenario where it is named.
    pub fn place(self) -> &'static str {
        self.about().1
    }

    fn about(self) -> (&'static str, &'static str) {
        match self {
            Kind::Scenario => ("scenario", "the top of the file"),
            Kind::Topology => ("topology", "kind in [fabric]"),
            Kind::Workload => ("workload", "kind in [[workload]]"),
            Kind::Distribution => {
                ("distribution", "sizes of a poisson workload; also a size, or a file")
            }
            Kind::Scheme => ("scheme", "[[scheme]]"),
            Kind::Routing => ("routing", "routing in [[scheme]]"),
            Kind::Queue => ("queue", "queue in [[scheme]]"),
            Kind::Transport => ("transport", "transport in [[scheme]]"),
            Kind::Control => ("control", "control in [[scheme]]"),
            Kind::Event => ("event", "kind in [[event]]"),
            Kind::Measure => ("measure", "[measure]"),
            Kind::Metric => ("metric", "metrics in [measure]"),
            Kind::End => ("end", "[end]"),
        }
    }

    /// All entries of this kind.
    pub fn entries(self) -> Vec<Entry> {
        let metrics = |entry: Entry| with_unit(entry);
        match self {
            Kind::Distribution => {
                DISTRIBUTIONS.iter().map(|(name, table)| sizes(name, table)).collect()
            }
            Kind::Metric => entries(self.schema()).into_iter().map(metrics).collect(),
            _ => entries(self.schema()),
        }
    }

    /// The part of the schema that describes it.
    fn schema(self) -> &'static Value {
        let top = &schema::scenario()["properties"];
        let scheme = &top["scheme"]["items"]["properties"];
        match self {
            Kind::Scenario | Kind::Distribution => schema::scenario(),
            Kind::Topology => &top["fabric"],
            Kind::Workload => &top["workload"]["items"],
            Kind::Scheme => &top["scheme"]["items"],
            Kind::Routing => &scheme["routing"],
            Kind::Queue => &scheme["queue"],
            Kind::Transport => &scheme["transport"],
            Kind::Control => &scheme["control"],
            Kind::Event => &top["event"]["items"],
            Kind::Measure => &top["measure"],
            Kind::Metric => &top["measure"]["properties"]["metrics"]["items"],
            Kind::End => &top["end"],
        }
    }
}

/// An entry for each variant of a schema, or one entry for a single table.
fn entries(schema: &Value) -> Vec<Entry> {
    let variants = variants(schema);
    if variants.is_empty() {
        return vec![entry(String::new(), schema)];
    }
    variants.into_iter().map(|(name, schema)| entry(name, schema)).collect()
}

fn entry(name: String, schema: &Value) -> Entry {
    let Comment { about, more, source } = comment(schema);
    Entry { name, about, more, source, parameters: parameters(schema) }
}

/// The first lines of a published distribution's table describe it.
fn sizes(name: &str, table: &str) -> Entry {
    let mut lines = table.lines().map(|line| line.trim_start_matches(['#', ' ']));
    let about = lines.next().and_then(|line| line.split_once(": ")).map_or("", |(_, about)| about);
    let source = lines.next().and_then(|line| line.strip_prefix("Source: "));
    Entry {
        name: name.into(),
        about: capitalised(about),
        more: vec![],
        source: source.map(str::to_string),
        parameters: vec![],
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The description of a metric ends with its unit and with whether lower or higher is better.
fn with_unit(entry: Entry) -> Entry {
    let metric = Metric::ALL.into_iter().find(|metric| metric.key() == entry.name);
    let ending = metric.map(|metric| {
        let better = match metric.better() {
            Better::Lower => "lower is better",
            Better::Higher => "higher is better",
            Better::Neither => "neither lower nor higher is better",
        };
        let unit = match metric.unit() {
            Unit::Count => "a count".into(),
            Unit::Ratio | Unit::Share => "a ratio".into(),
            unit => format!("in {}", unit.symbol()),
        };
        format!("\"{}\" in tables, {unit}; {better}.", metric.title())
    });
    Entry { more: ending.into_iter().chain(entry.more).collect(), ..entry }
}

/// The parts of a description.
struct Comment {
    about: String,
    more: Vec<String>,
    source: Option<String>,
}

fn comment(schema: &Value) -> Comment {
    let text = schema["description"].as_str().unwrap_or("");
    let is_source = |paragraph: &&str| paragraph.starts_with("Source: ");
    let (source, text): (Vec<&str>, Vec<&str>) = text.split("\n\n").partition(is_source);
    let source = source.first().map(|line| line.trim_start_matches("Source: ").to_string());
    let (about, more) = text.split_first().map_or(("", &[][..]), |(first, rest)| (*first, rest));
    Comment { about: about.into(), more: more.iter().map(|p| p.to_string()).collect(), source }
}

/// The keys of a table: `kind` and those that must be given first.
fn parameters(schema: &Value) -> Vec<Parameter> {
    let table = schema["properties"].as_object().into_iter().flatten();
    let needed = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let keys = table.filter(|(_, property)| property["const"].is_null());
    let mut all: Vec<Parameter> = keys
        .map(|(key, property)| parameter(key, property, needed.contains(&key.as_str().into())))
        .collect();
    all.sort_by_key(|parameter| !parameter.required);
    all
}

fn parameter(key: &str, schema: &Value, required: bool) -> Parameter {
    let Comment { about, more, source } = comment(schema);
    let about = std::iter::once(about).chain(more).collect::<Vec<_>>().join(" ");
    let inner = if schema["items"].is_object() { &schema["items"] } else { schema };
    let own_kind = Kind::ALL.iter().any(|kind| std::ptr::eq(kind.schema(), inner));
    let default = schema.get("default").map(in_toml).filter(|_| !required);
    Parameter {
        key: key.into(),
        value: value(schema),
        required,
        default,
        about,
        source,
        choices: if own_kind { vec![] } else { choices(inner) },
        parameters: if own_kind { vec![] } else { parameters(inner) },
    }
}

/// A value with at most this many names is shown with its names, and otherwise as "name".
const FEW: usize = 4;

/// The names of a value that has more than [`FEW`] names.
fn choices(schema: &Value) -> Vec<Choice> {
    let variants = variants(schema);
    let tables = variants.first().is_some_and(|(_, variant)| variant["type"] == "object");
    if tables || variants.len() <= FEW {
        return vec![];
    }
    let choice = |(name, schema)| {
        let Comment { about, more, source } = comment(schema);
        let about = std::iter::once(about).chain(more).collect::<Vec<_>>().join(" ");
        Choice { name, about, source }
    };
    variants.into_iter().map(choice).collect()
}

/// A default as a scenario would have it. A table is shown as its `kind`, or else as an empty table.
fn in_toml(value: &Value) -> String {
    match value {
        Value::Object(table) => table.get("kind").map_or("{}".into(), Value::to_string),
        Value::Array(list) => {
            format!("[{}]", list.iter().map(in_toml).collect::<Vec<_>>().join(", "))
        }
        plain => plain.to_string(),
    }
}

/// The type of a value, as text.
fn value(schema: &Value) -> String {
    if let Some(own @ ("hosts" | "time" | "rate" | "size" | "file")) = schema["x-type"].as_str() {
        return own.into();
    }
    let variants = variants(schema);
    let tables = variants.first().is_some_and(|(_, variant)| variant["type"] == "object");
    match (schema["anyOf"].as_array(), tables) {
        (Some(_), true) => return "name, or table with that `kind`".into(),
        (None, true) => return "table with a `kind`".into(),
        (Some(forms), _) => return forms.iter().map(value).collect::<Vec<_>>().join(" or "),
        (None, false) => {}
    }
    match variants.len() {
        0 => plain(schema),
        1..=FEW => {
            let names = variants.iter().map(|(name, _)| format!("\"{name}\""));
            names.collect::<Vec<_>>().join(" or ")
        }
        _ => "name".into(),
    }
}

fn plain(schema: &Value) -> String {
    if let Some(word) = schema["const"].as_str() {
        return format!("\"{word}\"");
    }
    match schema["type"].as_str() {
        Some("string") => "text".into(),
        Some("boolean") => "true or false".into(),
        Some("integer") => format!("count{}", schema::limits(schema)),
        Some("number") => format!("number{}", schema::limits(schema)),
        Some("array") => match value(&schema["items"]).as_str() {
            "name" => "list of names".into(),
            "text" => "list of texts".into(),
            other if other.starts_with("table") => "tables".into(),
            other => format!("list of {other}"),
        },
        _ => "table".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(kind: Kind, name: &str) -> Entry {
        kind.entries().into_iter().find(|entry| entry.name == name).expect(name)
    }

    fn parameter_of(kind: Kind, name: &str, key: &str) -> Parameter {
        find(kind, name).parameters.into_iter().find(|p| p.key == key).expect(key)
    }

    /// All names that a value may have are listed, even if there are many.
    #[test]
    fn a_value_of_many_names_lists_them() {
        let scheduler = parameter_of(Kind::Control, "circuits", "scheduler");
        let names: Vec<&str> = scheduler.choices.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(scheduler.value, "name");
        assert!(names.len() >= 12 && names.contains(&"rotor") && names.contains(&"portfolio"));
        assert!(scheduler.choices.iter().all(|one| !one.about.is_empty()), "{names:?}");
    }

    #[test]
    fn parameters_have_value_default_and_meaning() {
        let threshold = parameter_of(Kind::Queue, "ecn", "threshold");
        assert_eq!(
            (threshold.value.as_str(), threshold.default.as_deref()),
            ("size", Some("\"22500B\""))
        );
        assert!(find(Kind::Queue, "drop-tail").parameters.iter().all(|p| p.key != "threshold"));
        let hosts = parameter_of(Kind::Topology, "star", "hosts");
        assert_eq!((hosts.value.as_str(), hosts.required, hosts.default), ("count", true, None));
        let ecn = |name| parameter_of(Kind::Transport, name, "ecn").default;
        assert_eq!(
            [ecn("dctcp").as_deref(), ecn("cubic").as_deref()],
            [Some("true"), Some("false")]
        );
        assert_eq!(parameter_of(Kind::Workload, "udp", "rate").value, "\"line\" or rate");
        assert_eq!(parameter_of(Kind::Workload, "ring", "class").value, "count from 0 to 7");
        let window = parameter_of(Kind::Transport, "newreno", "initial-window");
        assert_eq!(window.source.as_deref(), Some("RFC 6928."));
        let shared = parameter_of(Kind::Queue, "red", "shared");
        assert_eq!(shared.parameters.len(), 2);
        // Keys whose names have lists of their own do not repeat the parameters.
        let named = ["routing", "queue", "transport", "control"];
        let listed = |p: &Parameter| named.contains(&p.key.as_str()) && !p.parameters.is_empty();
        assert!(!find(Kind::Scheme, "").parameters.iter().any(listed));
    }

    #[test]
    fn everything_says_what_it_is() {
        for kind in Kind::ALL {
            let entries = kind.entries();
            assert!(!entries.is_empty(), "{kind:?}");
            for entry in entries {
                assert!(!entry.about.is_empty(), "{kind:?} {}", entry.name);
                all_described(&format!("{kind:?} {}", entry.name), &entry.parameters);
            }
        }
        assert_eq!(Kind::Metric.entries().len(), Metric::ALL.len());
    }

    fn all_described(place: &str, parameters: &[Parameter]) {
        for parameter in parameters {
            let about = &parameter.about;
            assert!(!about.is_empty(), "{place}: `{}` has no comment", parameter.key);
            assert!(!about.contains("[`"), "{place}: {about} is a link for programmers");
            all_described(place, &parameter.parameters);
        }
    }
}
