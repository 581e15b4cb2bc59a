//! The schema, made from the types of a scenario. Only tests and generators of code do this.

use crate::{EventSpec, Scenario};
use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};
use slotline_net::schema::to_lines;
use slotline_net::transport::TransportSpec;
use std::collections::BTreeMap;

/// The schema of a scenario, without references.
pub fn scenario() -> Value {
    let mut schema = described::<Scenario>();
    schema["title"] = "Slotline scenario".into();
    schema
}

/// The schema of a file as it is written: a scenario, or a file that extends another or has a sweep.
fn file() -> Value {
    let mut schema = scenario();
    let mut keys = described::<FileKeys>();
    if let (Some(all), Some(more)) =
        (schema["properties"].as_object_mut(), keys["properties"].as_object_mut())
    {
        all.append(more);
    }
    if let Some(table) = schema.as_object_mut()
        && let Some(required) = table.remove("required")
    {
        let forms = json!([{ "required": required }, { "required": ["extends"] }]);
        table.insert("anyOf".into(), forms);
    }
    schema
}

/// The content of `shape.jsonl`: the schema of a scenario as lines of tables, without its texts and defaults, and without the
/// form of quantities, which half of it would be about.
pub fn shape_text() -> String {
    let mut shape = scenario();
    strip(&mut shape);
    to_lines(&shape)
}

/// The content of `file.json`: the schema of files.
pub fn file_text() -> String {
    // A tree of plain values.
    let mut text = serde_json::to_string_pretty(&file()).expect("a schema is plain data");
    text.push('\n');
    text
}

/// Removes texts, defaults, and the form of quantities. The keys of `properties` are names of a scenario.
fn strip(schema: &mut Value) {
    match schema {
        Value::Object(table) => {
            for text in ["$schema", "title", "description", "default"] {
                table.remove(text);
            }
            if matches!(table.get("x-type").and_then(Value::as_str), Some("time" | "rate" | "size"))
            {
                table.remove("pattern");
                table.remove("examples");
            }
            for (key, value) in table {
                match value {
                    Value::Object(names) if key == "properties" => {
                        names.values_mut().for_each(strip)
                    }
                    value => strip(value),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(strip),
        _ => {}
    }
}

/// The schema of a scenario with a definition for each type that has a name, for generators of code.
pub fn definitions() -> Value {
    let settings =
        SchemaSettings::draft07().with(|settings| settings.transforms.push(Box::new(in_toml)));
    let mut schema = settings.into_generator().into_root_schema_for::<Scenario>().to_value();
    // `by_kind` needs the kinds in place, so these tables are as in the other schema.
    schema["definitions"]["TransportSpec"] = described::<TransportSpec>();
    schema["definitions"]["EventSpec"] = described::<EventSpec>();
    schema
}

/// The keys of [`FileKeys`].
pub(super) const FILE_KEYS: [&str; 3] = ["extends", "without", "sweep"];

/// Keys of a file in addition to those of a scenario. They merge files, or make many scenarios of one file.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "it is there to be described")]
struct FileKeys {
    /// The file that this one extends: this file has only the differences. The path is relative to this file.
    extends: Option<String>,
    /// With `extends`: paths of keys that the extended file has and this scenario does not have, such as
    /// `measure.sample` or `scheme[xco]`.
    without: Option<Vec<String>>,
    /// The parameters that are varied. `slotline sweep` runs all points.
    sweep: Option<Sweep>,
}

/// The parameters that are varied. Keys are paths such as `workload[0].load` or `scheme[dctcp].queue.threshold`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "it is there to be described")]
struct Sweep {
    /// Lists of values, of which all combinations are run.
    grid: Option<BTreeMap<String, Value>>,
    /// Single points, each combined with the whole grid.
    point: Option<Vec<BTreeMap<String, Value>>>,
}

fn described<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.transforms.push(Box::new(in_toml));
    });
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Adapts a schema to TOML: there is no null, counts have the limits of their type, and comments are one text.
fn in_toml(schema: &mut Schema) {
    without_null(schema);
    require(schema);
    if schema.get("format").is_some_and(|format| format == "uint32") {
        schema.ensure_object().entry("maximum").or_insert(u32::MAX.into());
    }
    let own = schema.remove("description").and_then(as_text);
    let more = schema.remove("x-more").and_then(as_text);
    let both: Vec<String> = own.into_iter().chain(more).map(|text| unwrapped(&text)).collect();
    if !both.is_empty() {
        schema.insert("description".into(), both.join("\n\n").into());
    }
    transform_subschemas(&mut in_toml, schema);
}

/// Makes keys with `x-required` required.
fn require(schema: &mut Schema) {
    let mut needed: Vec<Value> = vec![];
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (key, property) in properties.into_iter().flatten() {
        let Some(property) = property.as_object_mut() else { continue };
        if property.remove("x-required").is_some() {
            property.remove("default");
            needed.push(key.as_str().into());
        }
    }
    if !needed.is_empty() {
        let required =
            schema.ensure_object().entry("required").or_insert_with(|| Value::Array(vec![]));
        required.as_array_mut().into_iter().for_each(|list| list.append(&mut needed));
    }
}

fn as_text(value: Value) -> Option<String> {
    value.as_str().map(str::to_string)
}

/// `Option<T>` is a `T` that may be left out.
fn without_null(schema: &mut Schema) {
    let null = |kind: &Value| kind == "null" || kind["type"] == "null";
    for key in ["type", "anyOf"] {
        let Some(Value::Array(forms)) = schema.get_mut(key) else { continue };
        forms.retain(|form| !null(form));
        let [only] = &mut forms[..] else { continue };
        let only = only.take();
        match only {
            Value::Object(inner) if key == "anyOf" => {
                schema.remove(key);
                let outer = schema.ensure_object();
                for (key, value) in inner {
                    outer.entry(key).or_insert(value);
                }
            }
            only => drop(schema.insert(key.into(), only)),
        }
    }
}

/// Puts each paragraph on one line.
fn unwrapped(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}
