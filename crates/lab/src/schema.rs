//! The scenario file described from its types: a JSON Schema, for editors, for `slotline list`, for the
//! reference, and for finding everything that is wrong with a file at once.

use crate::scenario::Scenario;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use serde_json::Value;
use std::sync::LazyLock;

static SCENARIO: LazyLock<Value> = LazyLock::new(generate);

/// The schema of a scenario file (JSON Schema, draft 7), without references.
pub fn scenario() -> &'static Value {
    &SCENARIO
}

/// The schema as text, for editors.
pub fn text() -> String {
    // A tree of plain values.
    let mut text = serde_json::to_string_pretty(scenario()).expect("a schema is plain data");
    text.push('\n');
    text
}

/// How large a number may be, where that says more than its type.
pub fn limits(schema: &Value) -> String {
    let least =
        schema["minimum"].as_f64().filter(|least| *least > 0.0 || schema["maximum"].is_f64());
    let above = schema["exclusiveMinimum"].as_f64();
    let most = schema["maximum"].as_f64().filter(|most| *most < 60_000.0 && *most != 255.0);
    match (least, above, most) {
        (None, None, Some(most)) => format!(" from 0 to {most}"),
        (Some(least), _, Some(most)) => format!(" from {least} to {most}"),
        (_, Some(above), Some(most)) => format!(" above {above} and at most {most}"),
        (Some(least), ..) => format!(", at least {least}"),
        _ => String::new(),
    }
}

fn generate() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.transforms.push(Box::new(in_toml));
    });
    let mut schema = settings.into_generator().into_root_schema_for::<Scenario>();
    schema.insert("title".into(), "Slotline scenario".into());
    schema.to_value()
}

/// TOML knows no null, and counts are as large as their type; comments are one text.
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

/// What may not be empty must be there, too: `x-required` on a key.
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

/// Paragraphs on a line each.
fn unwrapped(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}
