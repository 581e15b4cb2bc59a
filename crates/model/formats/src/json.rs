//! JSON with the line of every value.

use crate::error::FormatError;
use crate::lines::Lines;
use crate::tree::{DEEPEST, Entry, Tree, Value, check_keys};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// Reads `text`, which is one value.
pub(crate) fn parse(text: &str) -> Result<Tree, FormatError> {
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| {
        let (line, what) = (error.line(), error.to_string());
        let what = what.split(" at line ").next().unwrap_or_default();
        FormatError::new(
            line.max(1),
            format!("this is not JSON: {what} (column {})", error.column()),
        )
    })?;
    grow(&Place { text, lines: Lines::new(text) }, raw, 0)
}

struct Place<'a> {
    text: &'a str,
    lines: Lines,
}

impl Place<'_> {
    /// The line of `part`, which is a part of the text.
    fn line(&self, part: &str) -> usize {
        self.lines.at((part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize))
    }
}

fn grow(place: &Place<'_>, raw: &RawValue, depth: usize) -> Result<Tree, FormatError> {
    let (text, line) = (raw.get(), place.line(raw.get()));
    let wrong = |error: serde_json::Error| FormatError::new(line, format!("not JSON: {error}"));
    if depth > DEEPEST {
        return Err(FormatError::new(line, format!("values are nested more than {DEEPEST} deep")));
    }
    let value = match text.as_bytes().first() {
        Some(b'{') => {
            let Fields(fields) = serde_json::from_str(text).map_err(wrong)?;
            let entry = |(key, raw): (String, &RawValue)| {
                let tree = grow(place, raw, depth + 1)?;
                Ok(Entry { key, line: tree.line, tree })
            };
            let entries = fields.into_iter().map(entry).collect::<Result<Vec<_>, _>>()?;
            check_keys(&entries)?;
            Value::Map(entries)
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(wrong)?;
            let items = items.into_iter().map(|raw| grow(place, raw, depth + 1));
            Value::List(items.collect::<Result<_, _>>()?)
        }
        Some(b'"') => Value::Text(serde_json::from_str(text).map_err(wrong)?),
        Some(b't' | b'f') => Value::Flag(text == "true"),
        Some(b'n') => Value::Null,
        _ => Value::Number(text.to_string()),
    };
    Ok(Tree { line, value })
}

/// The keys and values of an object, in order and with repeated keys.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Fields<'de>, D::Error> {
        from.deserialize_map(Collect)
    }
}

struct Collect;

impl<'de> Visitor<'de> for Collect {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Fields(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::get;

    #[test]
    fn values_have_their_lines() {
        let tree = parse("{\n \"a\": [1,\n 2.50, \"x\\n\"],\n\n\"b\": {\"c\": null, \"d\": true}}")
            .unwrap();
        let top = tree.map("it").unwrap();
        let list = get(top, "a").unwrap().list("a").unwrap();
        let lines: Vec<usize> = list.iter().map(|item| item.line).collect();
        assert_eq!(lines, [2, 3, 3]);
        assert_eq!(list[1].value, Value::Number("2.50".into()));
        assert_eq!(list[2].value, Value::Text("x\n".into()));
        let inner = get(top, "b").unwrap();
        assert_eq!(inner.line, 5);
        assert_eq!(get(inner.map("b").unwrap(), "d").unwrap().value, Value::Flag(true));
    }

    #[test]
    fn what_is_wrong_has_a_line() {
        for (text, line, part) in [
            ("{\n\"a\": 1,\n}", 3, "key must be a string"),
            ("", 1, "EOF"),
            ("{\"a\": 1,\n\"a\": 2}", 2, "twice"),
            ("[1]\n[2]", 2, "trailing characters"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.line == line && error.message.contains(part), "{text}: {error}");
        }
        let deep = "[".repeat(100) + &"]".repeat(100);
        assert!(parse(&deep).unwrap_err().message.contains("deep"));
        assert!(parse(&"[".repeat(200_000)).is_err());
    }
}
