//! The common parts of the JSON Schemas of a scenario's types.
//!
//! Types derive [`JsonSchema`]; their comments become the descriptions that editors and the reference
//! show. The functions here are for `#[schemars(transform = …)]` on a type whose text form differs from its
//! fields.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The schema of a text with a number and one of `units`. `what` is the name of the quantity ("time").
pub fn quantity(what: &str, units: &[&str], example: &str, about: &str) -> Schema {
    let pattern = format!(r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*({})\s*$", units.join("|"));
    json_schema!({
        "type": "string",
        "description": about,
        "pattern": pattern,
        "examples": [example],
        "x-type": what,
    })
}

/// A transform for a table of options. Its comment is shown below the comment of the variant that contains it.
pub fn keep_comment(schema: &mut Schema) {
    if let Some(comment) = schema.remove("description") {
        schema.insert("x-more".into(), comment);
    }
}

/// A transform for one flat table whose keys depend on its `kind`. It becomes one table for each kind. A key belongs to
/// all kinds, to those in its `x-only`, or to all but those in its `x-except`. The kinds in its `x-needed-by` require
/// it.
pub fn by_kind(schema: &mut Schema) {
    let flat = schema.as_value().clone();
    let kinds = &flat["properties"]["kind"];
    let choices = kinds["oneOf"].as_array().into_iter().flatten();
    let tables: Vec<Value> = choices.map(|kind| table_of(&flat, kind, &kinds["default"])).collect();
    *schema = commented(&flat, json!({ "oneOf": tables }));
}

/// `schema` with the comment that `before` had.
fn commented(before: &Value, schema: Value) -> Schema {
    let mut schema = Schema::try_from(schema).unwrap_or_default();
    if let Some(comment) = before.get("description") {
        schema.insert("description".into(), comment.clone());
    }
    schema
}

/// The part of the flat table for one `kind`.
fn table_of(flat: &Value, kind: &Value, usual: &Value) -> Value {
    let name = &kind["const"];
    let lists = |property: &Value, key: &str| {
        property[key].as_array().is_some_and(|kinds| kinds.contains(name))
    };
    let mut required: Vec<Value> = flat["required"].as_array().cloned().unwrap_or_default();
    required.retain(|key| key != "kind");
    if usual != name {
        required.push("kind".into());
    }
    let mut properties = Map::new();
    for (key, property) in flat["properties"].as_object().into_iter().flatten() {
        let marked = !property["x-only"].is_null() || !property["x-needed-by"].is_null();
        let needed = lists(property, "x-needed-by");
        let taken = !marked || needed || lists(property, "x-only");
        if !taken || lists(property, "x-except") {
            continue;
        }
        let mut property = property.clone();
        if let Some(property) = property.as_object_mut() {
            property
                .retain(|key, _| !["x-only", "x-except", "x-needed-by"].contains(&key.as_str()));
        }
        required.extend(needed.then(|| key.as_str().into()));
        properties.insert(key.clone(), property);
    }
    properties.insert("kind".into(), json!({ "type": "string", "const": name }));
    json!({
        "type": "object",
        "description": kind["description"],
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// A transform for a table with a `kind`: the name alone is also accepted if the table needs nothing else.
pub fn or_name(schema: &mut Schema) {
    let before = schema.as_value().clone();
    let tables = before["oneOf"].as_array().cloned().unwrap_or_default();
    let names: Vec<Value> = tables.iter().filter(|table| alone(table)).map(name).collect();
    let forms = json!({ "anyOf": [{ "type": "string", "enum": names }, { "oneOf": tables }] });
    *schema = commented(&before, forms);
}

/// The name of a variant.
fn name(table: &Value) -> Value {
    let kind = &table["properties"]["kind"]["const"];
    if kind.is_null() { table["const"].clone() } else { kind.clone() }
}

/// Whether a table needs nothing but its `kind`.
fn alone(table: &Value) -> bool {
    let needed = table["required"].as_array().into_iter().flatten();
    needed.into_iter().all(|key| key == "kind")
}

/// The schema of a value that is either the given word or a `T`.
pub fn word_or<T: JsonSchema>(generator: &mut SchemaGenerator, word: &str) -> Schema {
    let other = generator.subschema_for::<T>();
    json_schema!({ "anyOf": [{ "type": "string", "const": word }, other] })
}

/// A schema as lines of JSON, one for each table with properties; the last one is the whole. Other lines have
/// `{"$ref": N}` in place of the table in line N, with its `kind` if it is a variant that has to be named. So a reader
/// needs to read only the tables that it asks for, and equal tables are there once.
pub fn to_lines(schema: &Value) -> String {
    let mut lines = vec![];
    let whole = outlined(schema, &mut lines);
    if whole["$ref"] != json!(lines.len().wrapping_sub(1)) {
        lines.push(whole.to_string());
    }
    lines.join("\n") + "\n"
}

/// `schema` with references in place of its tables, which are added to `lines`.
fn outlined(schema: &Value, lines: &mut Vec<String>) -> Value {
    match schema {
        Value::Array(items) => items.iter().map(|item| outlined(item, lines)).collect(),
        Value::Object(table) => outlined_table(table, lines),
        plain => plain.clone(),
    }
}

fn outlined_table(table: &Map<String, Value>, lines: &mut Vec<String>) -> Value {
    let mut line = Map::new();
    for (key, value) in table {
        let value = match value {
            Value::Object(names) if key == "properties" => {
                names.iter().map(|(name, value)| (name.clone(), outlined(value, lines))).collect()
            }
            value => outlined(value, lines),
        };
        line.insert(key.clone(), value);
    }
    let line = Value::Object(line);
    let kind = line["properties"]["kind"]["const"].clone();
    if !line["properties"].is_object() {
        return line;
    }
    let is_named = line["required"].as_array().is_some_and(|keys| keys.contains(&json!("kind")));
    let text = line.to_string();
    let at = lines.iter().position(|known| *known == text).unwrap_or_else(|| {
        lines.push(text);
        lines.len() - 1
    });
    if is_named { json!({ "$ref": at, "kind": kind }) } else { json!({ "$ref": at }) }
}

/// The part of a schema that is needed to check a table: of properties only `kind` and those in `keys`, and of variants that
/// have to be named only those in `kinds`. `lines` is what [`to_lines`] returned.
///
/// # Errors
/// A line is not JSON, or refers to a line that is not there.
pub fn part_of(
    lines: &str,
    keys: &BTreeSet<&str>,
    kinds: &BTreeSet<&str>,
) -> serde_json::Result<Value> {
    let lines: Vec<&str> = lines.lines().collect();
    let part = Part { lines: &lines, keys, kinds };
    part.table(lines.len().wrapping_sub(1))
}

/// What is read of a schema.
struct Part<'a> {
    lines: &'a [&'a str],
    keys: &'a BTreeSet<&'a str>,
    kinds: &'a BTreeSet<&'a str>,
}

impl Part<'_> {
    /// The table in a line.
    fn table(&self, line: usize) -> serde_json::Result<Value> {
        let mut table: Value = serde_json::from_str(self.lines.get(line).unwrap_or(&""))?;
        if let Some(properties) = table["properties"].as_object_mut() {
            properties.retain(|key, _| key == "kind" || self.keys.contains(key.as_str()));
            properties.values_mut().try_for_each(|value| self.fill(value))?;
        }
        let others = table.as_object_mut().into_iter().flatten();
        others.filter(|(key, _)| *key != "properties").try_for_each(|(_, v)| self.fill(v))?;
        Ok(table)
    }

    /// Puts tables in the place of references.
    fn fill(&self, value: &mut Value) -> serde_json::Result<()> {
        match value {
            Value::Array(items) => {
                items.retain(|item| self.is_asked_for(item));
                items.iter_mut().try_for_each(|item| self.fill(item))
            }
            Value::Object(table) => match table.get("$ref").and_then(Value::as_u64) {
                Some(line) => self.table(line as usize).map(|table| *value = table),
                None => table.values_mut().try_for_each(|value| self.fill(value)),
            },
            _ => Ok(()),
        }
    }

    /// Whether an item of a list is not a variant that is to be left out.
    fn is_asked_for(&self, item: &Value) -> bool {
        let kind = item.get("$ref").and_then(|_| item.get("kind")?.as_str());
        kind.is_none_or(|kind| self.kinds.contains(kind))
    }
}

/// The name and the description of each kind of `T`, in order. A scenario may write the name as `kind`, or alone.
pub fn kinds<T: JsonSchema>() -> Vec<(String, String)> {
    let schema = root::<T>();
    variants(schema.as_value()).into_iter().map(|(name, table)| (name, line(table))).collect()
}

/// The whole schema of `T`, without references.
pub fn root<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>()
}

/// The variants of a schema by name: tables with a `kind`, or plain words.
pub fn variants(schema: &Value) -> Vec<(String, &Value)> {
    let tables = schema["anyOf"].as_array().and_then(|forms| forms.last()).unwrap_or(schema);
    let tables = tables["oneOf"].as_array().into_iter().flatten();
    let named = |table| name(table).as_str().map(str::to_string);
    tables.filter_map(|table| Some((named(table)?, table))).collect()
}

/// The first paragraph of a description, on one line.
fn line(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or("");
    text.split("\n\n").next().unwrap_or("").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_schema_lacks_other_properties_and_variants() {
        let variant = |kind: &str, required: Value| json!({ "properties": { "kind": { "const": kind }, "c": {} }, "required": required });
        let schema = json!({ "type": "object", "required": ["b"], "properties": {
            "a": { "type": "object", "properties": { "b": { "minimum": -1.5 }, "c": [0] } },
            "b": { "oneOf": [variant("x", json!(["kind"])), variant("y", json!(["kind"])), variant("z", json!([])), null] },
            "properties": { "properties": { "b": true } },
            "c": { "properties": { "a": { "maximum": 7 } } },
        } });
        let lines = to_lines(&schema);
        let all = BTreeSet::from(["a", "b", "c", "properties"]);
        let part = |keys, kinds: &[&'static str]| {
            part_of(&lines, keys, &kinds.iter().copied().collect()).expect("it is a schema")
        };
        assert_eq!(part(&all, &["x", "y"]), schema);
        let some = BTreeSet::from(["a", "b", "properties"]);
        let short = |kind: &str, required: Value| json!({ "properties": { "kind": { "const": kind } }, "required": required });
        let expected = json!({ "type": "object", "required": ["b"], "properties": {
            "a": { "type": "object", "properties": { "b": { "minimum": -1.5 } } },
            "b": { "oneOf": [short("y", json!(["kind"])), short("z", json!([])), null] },
            "properties": { "properties": { "b": true } },
        } });
        assert_eq!(part(&some, &["y"]), expected);
        assert!(part_of("{", &some, &all).is_err());
        assert!(part_of("{\"oneOf\": [{\"$ref\": 7}]}", &some, &all).is_err());
        assert!(part_of("", &some, &all).is_err());
    }
}
