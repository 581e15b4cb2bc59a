//! Checks that a file has the shape of a scenario, and collects every violation of the schema.

use super::error::nearest;
use super::shape_messages as messages;
use crate::schema;
use serde_json::Value;
use slotline_net::schema::variants;
use std::collections::BTreeSet;
use toml::de::{DeArray, DeTable, DeValue};

/// A violation of the schema.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    /// Path of the key, as `scheme[1].queue.kind`.
    pub path: String,
    /// The part at fault.
    pub part: Part,
    /// The fault and its correction.
    pub message: String,
    /// A suggestion of what was meant.
    pub hint: Option<String>,
}

/// The part of an entry that is at fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// The key.
    Key,
    /// The value.
    Value,
    /// The value is a table that lacks a key.
    MissingKey,
}

/// The unknown keys and wrong values of `root`, and the keys that it lacks.
pub(super) fn findings(root: &DeTable<'_>) -> Vec<Finding> {
    let mut names = Names::default();
    names.add(root);
    let shape = schema::shape(&names.keys, &names.kinds);
    let found = |schema| {
        let mut out = vec![];
        Walk { path: String::new(), out: &mut out }.table(root, schema);
        out
    };
    // Messages quote the texts of the schema. A file without faults does not need them.
    if found(&shape).is_empty() { vec![] } else { found(schema::scenario()) }
}

/// The keys of a file, and the values of those that are called `kind`.
#[derive(Default)]
struct Names<'t> {
    keys: BTreeSet<&'t str>,
    kinds: BTreeSet<&'t str>,
}

impl<'t> Names<'t> {
    /// Adds the names in a table, and in all tables in it.
    fn add(&mut self, table: &'t DeTable<'_>) {
        for (key, value) in table {
            self.keys.insert(key.get_ref());
            match value.get_ref() {
                DeValue::String(kind) if key.get_ref() == "kind" => drop(self.kinds.insert(kind)),
                value => self.add_value(value),
            }
        }
    }

    fn add_value(&mut self, value: &'t DeValue<'_>) {
        match value {
            DeValue::Table(table) => self.add(table),
            DeValue::Array(array) => array.iter().for_each(|value| self.add_value(value.get_ref())),
            _ => {}
        }
    }
}

/// A place in the file.
struct Walk<'a> {
    path: String,
    out: &'a mut Vec<Finding>,
}

impl Walk<'_> {
    fn fault(&mut self, message: String, hint: Option<String>) {
        self.find(Part::Value, message, hint);
    }

    fn find(&mut self, part: Part, message: String, hint: Option<String>) {
        self.out.push(Finding { path: self.path.clone(), part, message, hint });
    }

    /// The place of `key` in the current table.
    fn at(&mut self, key: &str) -> Walk<'_> {
        let dot = if self.path.is_empty() { "" } else { "." };
        Walk { path: format!("{}{dot}{key}", self.path), out: self.out }
    }

    fn value(&mut self, value: &DeValue<'_>, schema: &Value) {
        if schema["anyOf"].is_array() {
            self.one_of_forms(value, schema);
        } else if schema["oneOf"].is_array() {
            self.one_of_variants(value, schema);
        } else {
            self.plain(value, schema);
        }
    }

    fn plain(&mut self, value: &DeValue<'_>, schema: &Value) {
        match (schema["type"].as_str(), value) {
            (Some("object"), DeValue::Table(table)) => self.table(table, schema),
            (Some("array"), DeValue::Array(array)) => self.array(array, schema),
            (Some("string"), DeValue::String(text)) => {
                let wrong = messages::wrong_text(text, schema);
                wrong.into_iter().for_each(|(message, hint)| self.fault(message, hint));
            }
            (Some("boolean"), DeValue::Boolean(_)) => {}
            (Some("integer"), DeValue::Integer(_))
            | (Some("number"), DeValue::Integer(_) | DeValue::Float(_)) => {
                let wrong = messages::wrong_number(&self.path, value, schema);
                wrong.into_iter().for_each(|message| self.fault(message, None));
            }
            _ => self.wrong_type(value, schema),
        }
    }

    fn wrong_type(&mut self, value: &DeValue<'_>, schema: &Value) {
        let message =
            format!("wrong type: {}, expected {}", messages::found(value), messages::due(schema));
        self.fault(message, messages::due_hint(&self.path, value, schema));
    }

    /// Checks a value against the form that has its type.
    fn one_of_forms(&mut self, value: &DeValue<'_>, schema: &Value) {
        let forms = schema["anyOf"].as_array().into_iter().flatten();
        let fitting: Vec<&Value> = forms.filter(|form| messages::fits(value, form)).collect();
        let judged = fitting.iter().map(|form| {
            let mut out = vec![];
            Walk { path: self.path.clone(), out: &mut out }.value(value, form);
            out
        });
        match judged.rev().min_by_key(Vec::len) {
            None => self.wrong_type(value, schema),
            Some(findings) if fitting.len() > 1 => {
                let also = messages::also(schema);
                self.out.extend(
                    findings
                        .into_iter()
                        .map(|finding| Finding { message: finding.message + &also, ..finding }),
                );
            }
            Some(mut findings) => self.out.append(&mut findings),
        }
    }

    /// Checks a value that is one of several names, or one of several tables that differ by their `kind`.
    fn one_of_variants(&mut self, value: &DeValue<'_>, schema: &Value) {
        let variants = variants(schema);
        let names: Vec<&str> = variants.iter().map(|(name, _)| name.as_str()).collect();
        let is_table = variants.first().is_some_and(|(_, table)| table["type"] == "object");
        match value {
            DeValue::String(name) if !is_table => {
                if !names.contains(&&**name) {
                    self.unknown(name, &names);
                }
            }
            DeValue::Table(table) if is_table => self.variant(table, &variants, &names),
            _ => self.wrong_type(value, schema),
        }
    }

    fn variant(&mut self, table: &DeTable<'_>, variants: &[(String, &Value)], names: &[&str]) {
        let needs_kind = |schema: &Value| messages::required(schema).any(|key| key == "kind");
        let chosen = match table.get("kind").map(|kind| kind.get_ref()) {
            None => variants.iter().find(|(_, schema)| !needs_kind(schema)),
            Some(DeValue::String(kind)) => {
                let found = variants.iter().find(|(name, _)| name == kind);
                if found.is_none() {
                    self.at("kind").unknown(kind, names);
                    return;
                }
                found
            }
            Some(other) => {
                let schema = serde_json::json!({ "type": "string" });
                return self.at("kind").wrong_type(other, &schema);
            }
        };
        match chosen {
            Some((_, schema)) => self.table(table, schema),
            None => {
                let choices = messages::listed(names);
                let message = format!("missing key `kind`, expected {choices}");
                self.find(Part::MissingKey, message, None);
            }
        }
    }

    fn unknown(&mut self, given: &str, names: &[&str]) {
        let message = format!("unknown value `{given}`, expected {}", messages::listed(names));
        self.fault(message, messages::did_you_mean(given, names.iter().copied()));
    }

    fn table(&mut self, table: &DeTable<'_>, schema: &Value) {
        let mut meant = vec![];
        for (key, value) in table {
            let key = key.get_ref();
            match schema["properties"].get(&**key) {
                Some(property) => self.at(key).value(value.get_ref(), property),
                // A table whose keys are names.
                None if schema["additionalProperties"].is_object() => {
                    self.at(key).value(value.get_ref(), &schema["additionalProperties"]);
                }
                None if schema["additionalProperties"] == true => {}
                None => meant.extend(self.unknown_key(key, schema)),
            }
        }
        let missing = |key: &&str| !table.contains_key(*key) && !meant.contains(key);
        for key in messages::required(schema).filter(missing) {
            let example = messages::example(key, &schema["properties"][key]);
            self.find(Part::MissingKey, format!("missing key `{key}`"), example);
        }
    }

    /// Reports an unknown key. Returns the key that was probably meant.
    fn unknown_key<'s>(&mut self, key: &str, schema: &'s Value) -> Option<&'s str> {
        let keys: Vec<&str> = messages::keys(schema);
        let message = format!("unknown key `{key}`, expected {}", messages::listed(&keys));
        let near = nearest(key, keys.iter().copied());
        let hint = messages::belongs(key, &self.path)
            .filter(|home| near.is_none() || home.exact)
            .map(|home| home.sentence)
            .or_else(|| near.map(|near| format!("did you mean `{near}`?")));
        let path = self.at(key).path;
        self.out.push(Finding { path, part: Part::Key, message, hint });
        near
    }

    fn array(&mut self, array: &DeArray<'_>, schema: &Value) {
        for (index, value) in array.iter().enumerate() {
            let path = format!("{}[{index}]", self.path);
            Walk { path, out: self.out }.value(value.get_ref(), &schema["items"]);
        }
    }
}
