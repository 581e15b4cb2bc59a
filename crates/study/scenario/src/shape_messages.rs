//! Messages for wrong keys and values, derived from the schema.

use super::error::nearest;
use crate::schema;
use serde_json::Value;
use slotline_net::schema::variants;
use slotline_net::time::Time;
use slotline_net::units::{Bytes, Rate};
use slotline_net::workload::Hosts;
use toml::de::DeValue;

/// The message, and a suggestion of what was meant.
type Wrong = (String, Option<String>);

/// The keys that a table must have.
pub fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The keys of a table, the required ones first.
pub fn keys(schema: &Value) -> Vec<&str> {
    let all = schema["properties"].as_object().into_iter().flat_map(|table| table.keys());
    let mut keys: Vec<&str> = all.map(String::as_str).collect();
    keys.sort_by_key(|key| (*key != "kind", !required(schema).any(|needed| needed == *key)));
    keys
}

/// `` `a` `` or `` one of `a`, `b` ``.
pub fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match &quoted[..] {
        [one] => one.clone(),
        [one, other] => format!("{one} or {other}"),
        _ => format!("one of {}", quoted.join(", ")),
    }
}

/// Suggests the nearest of `choices`, if it is similar to `given`.
pub fn did_you_mean<'a>(given: &str, choices: impl Iterator<Item = &'a str>) -> Option<String> {
    nearest(given, choices).map(|choice| format!("did you mean `{choice}`?"))
}

/// The type and content of a value, for a message.
pub fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("string \"{text}\""),
        DeValue::Integer(number) => format!("integer `{}`", number.as_str()),
        DeValue::Float(number) => format!("floating point `{}`", number.as_str()),
        DeValue::Boolean(yes) => format!("boolean `{yes}`"),
        DeValue::Datetime(_) => "a date".into(),
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
    }
}

/// The expected type, for a message.
pub fn due(schema: &Value) -> String {
    if let Some(forms) = schema["anyOf"].as_array() {
        return forms.iter().map(due).collect::<Vec<_>>().join(", or ");
    }
    let variants = variants(schema);
    let names: Vec<&str> = variants.iter().map(|(name, _)| name.as_str()).collect();
    if variants.first().is_some_and(|(_, table)| table["type"] == "object") {
        return "a table with a `kind`".into();
    }
    if !names.is_empty() {
        return listed(&names);
    }
    if let Some(names) = schema["enum"].as_array() {
        return listed(&names.iter().filter_map(Value::as_str).collect::<Vec<_>>());
    }
    match schema["x-type"].as_str() {
        Some("time") => return "a time such as \"10us\"".into(),
        Some("rate") => return "a rate such as \"10Gbps\"".into(),
        Some("size") => return "a size such as \"64KB\"".into(),
        _ => {}
    }
    match (schema["type"].as_str(), schema["const"].as_str()) {
        (_, Some(word)) => format!("\"{word}\""),
        (Some("object"), _) => "a table".into(),
        (Some("array"), _) => "a list".into(),
        (Some("string"), _) => "text in quotes".into(),
        (Some("integer"), _) => format!("a whole number{}", schema::limits(schema)),
        (Some("number"), _) => format!("a number{}", schema::limits(schema)),
        (Some("boolean"), _) => "true or false".into(),
        _ => "something else".into(),
    }
}

/// A hint for a value of the wrong type.
pub fn due_hint(path: &str, value: &DeValue<'_>, schema: &Value) -> Option<String> {
    let table = path.rsplit('.').next().unwrap_or(path);
    match (value, schema["type"].as_str()) {
        (DeValue::Table(_), Some("array")) if !table.contains('[') => {
            Some(format!("write [[{path}]] instead of [{path}]: there may be several"))
        }
        (DeValue::Array(_), kind) if kind != Some("array") && !path.contains(['.', '[']) => {
            Some(format!("write [{path}] instead of [[{path}]]: there is only one"))
        }
        (DeValue::String(name), _) => as_table(table, name, schema),
        (DeValue::Integer(number), Some("string")) if schema["x-type"].is_null() => {
            Some(format!("write \"{}\"", number.as_str()))
        }
        (DeValue::Integer(_), Some("string")) => Some("a quantity needs a unit".into()),
        _ => None,
    }
}

/// An example of the table whose `kind` was given alone.
fn as_table(key: &str, name: &str, schema: &Value) -> Option<String> {
    let variants = variants(schema);
    let (_, table) = variants.iter().find(|(variant, _)| variant == name)?;
    let needed = required(table).filter(|key| *key != "kind");
    let more: String = needed.map(|key| format!(", {key} = …")).collect();
    Some(format!("write a table: {key} = {{ kind = \"{name}\"{more} }}"))
}

/// Whether a value has the type of a form.
pub fn fits(value: &DeValue<'_>, form: &Value) -> bool {
    if form["oneOf"].is_array() {
        let table = form["oneOf"][0]["type"] == "object";
        return matches!(value, DeValue::Table(_)) == table;
    }
    match form["type"].as_str() {
        Some("string") => matches!(value, DeValue::String(_)),
        Some("integer") => matches!(value, DeValue::Integer(_)),
        Some("number") => matches!(value, DeValue::Integer(_) | DeValue::Float(_)),
        Some("array") => matches!(value, DeValue::Array(_)),
        Some("object") => matches!(value, DeValue::Table(_)),
        _ => false,
    }
}

/// The names that are permitted in place of a quantity.
pub fn also(schema: &Value) -> String {
    let forms = schema["anyOf"].as_array().into_iter().flatten();
    forms.filter_map(|form| form["const"].as_str()).map(|word| format!(", or \"{word}\"")).collect()
}

/// The fault of a text, if it has one.
pub fn wrong_text(text: &str, schema: &Value) -> Option<Wrong> {
    if let Some(names) = schema["enum"].as_array() {
        let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
        let message = || format!("unknown value `{text}`, expected {}", listed(&names));
        let hint = || did_you_mean(text, names.iter().copied());
        return (!names.contains(&text)).then(|| (message(), hint()));
    }
    if let Some(word) = schema["const"].as_str() {
        return (text != word)
            .then(|| (format!("unknown value `{text}`, expected `{word}`"), None));
    }
    let hint = |units: &[&str]| unit_meant(text, units);
    let wrong = |error: &dyn ToString, units: &[&str]| Some((error.to_string(), hint(units)));
    match schema["x-type"].as_str() {
        Some("time") => wrong(&text.parse::<Time>().err()?, &["s", "ms", "us", "ns", "ps"]),
        Some("rate") => {
            wrong(&text.parse::<Rate>().err()?, &["Tbps", "Gbps", "Mbps", "Kbps", "bps"])
        }
        Some("size") => {
            wrong(&text.parse::<Bytes>().err()?, &["GB", "MB", "KB", "B", "GiB", "MiB", "KiB"])
        }
        _ if schema["pattern"].as_str().is_some_and(|pattern| pattern.contains("random")) => {
            wrong(&text.parse::<Hosts>().err()?, &[])
        }
        _ => None,
    }
}

/// The quantity with the unit that was probably meant: `10 Gbs` is 10Gbps.
fn unit_meant(text: &str, units: &[&str]) -> Option<String> {
    let split = text.trim().find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.trim().split_at(split);
    let bytes_of_a_rate = units.contains(&"bps") && unit.contains('B');
    if bytes_of_a_rate || units.contains(&unit.trim()) {
        return None;
    }
    let (number, unit) = (number.trim(), unit.trim().to_lowercase());
    let plain =
        unit.replace("/s", "ps").replace("bit", "b").replace("yte", "").replace("econd", "");
    let plain = if plain.len() > 1 { plain.trim_end_matches("es") } else { &plain };
    number.parse::<f64>().ok()?;
    let lower = |candidate: &&&str| candidate.to_lowercase() == plain;
    let same = units.iter().find(lower).copied();
    let begins = |candidate: &&str| candidate.to_lowercase().chars().next() == plain.chars().next();
    let near = || nearest(plain, units.iter().copied().filter(begins));
    let only = || units.iter().copied().find(|candidate| begins(candidate) && units.len() == 5);
    let unit = same.or_else(near).or_else(only)?;
    Some(format!("did you mean \"{number}{unit}\"?"))
}

/// The fault of a number that is outside of the schema's limits.
pub fn wrong_number(path: &str, value: &DeValue<'_>, schema: &Value) -> Option<String> {
    let (text, number) = match value {
        DeValue::Integer(number) => {
            let digits = number.as_str().trim_start_matches('+');
            (digits, i128::from_str_radix(digits, number.radix()).ok()? as f64)
        }
        DeValue::Float(number) => (number.as_str(), number.as_str().parse::<f64>().ok()?),
        _ => return None,
    };
    let limit = |key: &str| schema[key].as_f64();
    let fits = limit("minimum").is_none_or(|least| number >= least)
        && limit("maximum").is_none_or(|most| number <= most)
        && limit("exclusiveMinimum").is_none_or(|above| number > above);
    let key = path.rsplit('.').next().unwrap_or(path);
    (!fits).then(|| format!("`{key}` is {text}: expected {}", due(schema)))
}

/// An example of a missing key.
pub fn example(key: &str, schema: &Value) -> Option<String> {
    let fixed = match key {
        "end" => "give the latest end of a run, for example: end = { at = \"100ms\" }",
        "fabric" => "describe the network, for example: fabric = { kind = \"star\", hosts = 9 }",
        "name" => "for example: name = \"incast\"",
        "scheme" => "name a scheme to compare, for example [[scheme]] with name = \"tcp\"",
        _ => {
            let about = schema["description"].as_str()?.lines().next()?;
            return Some(format!("`{key}` is {}: {}", due(schema), uncapitalised(about)));
        }
    };
    Some(fixed.into())
}

fn uncapitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}

/// The place where a key is permitted.
pub struct Belongs {
    /// In the same table, if it were of another kind.
    pub exact: bool,
    /// The sentence that states it.
    pub sentence: String,
}

/// The nearest place that permits a key which is unknown at `path`.
pub fn belongs(key: &str, path: &str) -> Option<Belongs> {
    let mut homes = vec![];
    homes_of(key, schema::scenario(), &mut vec![], &mut homes);
    let names: Vec<&str> =
        path.split('.').map(|part| part.split('[').next().unwrap_or(part)).collect();
    let shared = |home: &&Home| {
        let common = home.path.iter().zip(&names).take_while(|(a, b)| a == b).count();
        (common, std::cmp::Reverse(home.path.len()))
    };
    let best = homes.iter().max_by_key(shared)?;
    let same = homes.iter().filter(|home| home.path == best.path);
    let kinds: Vec<String> =
        same.filter_map(|home| Some(format!("\"{}\"", home.kind.as_ref()?))).collect();
    let exact = best.path == names;
    let sentence = match (exact, &kinds[..]) {
        (true, kinds) => format!("`{key}` is only for kind = {}", kinds.join(" or ")),
        (false, kinds @ ([_] | [_, _])) => {
            let kinds = kinds.join(" or ");
            format!("`{key}` belongs in {}, with kind = {kinds}", place(&best.path))
        }
        (false, _) if best.path.is_empty() => format!("`{key}` belongs at the top of the file"),
        (false, _) => format!("`{key}` belongs in {}", place(&best.path)),
    };
    Some(Belongs { exact, sentence })
}

/// A table that has the key.
struct Home {
    path: Vec<String>,
    kind: Option<String>,
}

fn homes_of(key: &str, schema: &Value, path: &mut Vec<String>, out: &mut Vec<Home>) {
    for form in ["anyOf", "oneOf"] {
        for inner in schema[form].as_array().into_iter().flatten() {
            homes_of(key, inner, path, out);
        }
    }
    homes_of_items(key, schema, path, out);
    let Some(properties) = schema["properties"].as_object() else { return };
    if properties.contains_key(key) {
        let kind = schema["properties"]["kind"]["const"].as_str().map(str::to_string);
        out.push(Home { path: path.clone(), kind });
    }
    for (name, property) in properties {
        path.push(name.clone());
        homes_of(key, property, path, out);
        path.pop();
    }
}

fn homes_of_items(key: &str, schema: &Value, path: &mut Vec<String>, out: &mut Vec<Home>) {
    if schema["items"].is_object() {
        homes_of(key, &schema["items"], path, out);
    }
}

/// `[measure]`, `[[scheme]]`, `queue` of a `[[scheme]]`.
fn place(path: &[String]) -> String {
    match path {
        [] => "the top of the file".into(),
        [table] if schema::scenario()["properties"][table]["type"] == "array" => {
            format!("[[{table}]]")
        }
        [table] => format!("[{table}]"),
        [outer @ .., inner] => format!("`{inner}` of {}", place(outer)),
    }
}
