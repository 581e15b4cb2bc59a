//! The common parts of the JSON Schemas of a scenario's types.
//!
//! Types derive [`JsonSchema`]; their comments become the descriptions that editors and the reference
//! show. The functions here are for `#[schemars(transform = …)]` on a type whose text form differs from its
//! fields.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fmt;

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

/// Reads a schema. Of the properties of tables it reads only `kind` and those in `keys`, because skipping the others is
/// much faster than reading them.
///
/// # Errors
/// The text is not JSON.
pub fn part_of(text: &str, keys: &BTreeSet<&str>) -> serde_json::Result<Value> {
    let part = Part { keys, names_properties: false };
    part.deserialize(&mut serde_json::Deserializer::from_str(text))
}

/// A part of a schema that is being read.
#[derive(Clone, Copy)]
struct Part<'a> {
    keys: &'a BTreeSet<&'a str>,
    /// Whether it is a table of properties by name.
    names_properties: bool,
}

impl Part<'_> {
    fn skips(self, key: &str) -> bool {
        self.names_properties && key != "kind" && !self.keys.contains(key)
    }
}

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a schema")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut table = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if self.skips(&key) {
                entries.next_value::<IgnoredAny>()?;
                continue;
            }
            let names_properties = !self.names_properties && key == "properties";
            let value = entries.next_value_seed(Part { names_properties, ..self })?;
            table.insert(key, value);
        }
        Ok(Value::Object(table))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = vec![];
        while let Some(item) = items.next_element_seed(Part { names_properties: false, ..self })? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }
    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }
    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }
    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }
    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
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
    fn a_part_of_a_schema_lacks_only_other_properties() {
        let text = r#"{ "type": "object", "required": ["b"], "properties": {
            "a": { "type": "object", "properties": { "b": { "minimum": -1.5 }, "c": [0] } },
            "b": { "oneOf": [{ "properties": { "kind": { "const": "x" }, "c": {} } }, null] },
            "properties": { "properties": { "b": true } },
            "c": { "properties": { "a": { "maximum": 7 } } }
        } }"#;
        let all = BTreeSet::from(["a", "b", "c", "properties"]);
        let whole: Value = serde_json::from_str(text).expect("it is JSON");
        assert_eq!(part_of(text, &all).expect("it is JSON"), whole);
        let some = BTreeSet::from(["a", "b", "properties"]);
        let part = part_of(text, &some).expect("it is JSON");
        let expected = json!({ "type": "object", "required": ["b"], "properties": {
            "a": { "type": "object", "properties": { "b": { "minimum": -1.5 } } },
            "b": { "oneOf": [{ "properties": { "kind": { "const": "x" } } }, null] },
            "properties": { "properties": { "b": true } },
        } });
        assert_eq!(part, expected);
        assert!(part_of("{", &some).is_err());
    }
}
