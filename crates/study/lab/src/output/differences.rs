//! Compares two resolved scenarios key by key.

use std::collections::{BTreeMap, BTreeSet};
use toml::Value;

/// A key that has another value, or that only one side has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The key's full path, as `scheme.dctcp.queue.threshold`.
    pub key: String,
    /// Its value in the old scenario, in the syntax of TOML; `None` if the old scenario lacks the key.
    pub old: Option<String>,
    /// Its value in the new scenario.
    pub new: Option<String>,
}

impl Difference {
    /// The difference in one line.
    pub fn text(&self) -> String {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => format!("{}: {old} → {new}", self.key),
            (Some(old), None) => format!("{}: {old} → nothing", self.key),
            (None, new) => format!("{}: nothing → {}", self.key, new.as_deref().unwrap_or("")),
        }
    }
}

impl Difference {
    /// The difference as the rest of a sentence that begins with the name of the new scenario.
    pub fn words(&self) -> String {
        let scheme = self.key.strip_prefix("scheme.").filter(|name| !name.contains('.'));
        match (&self.old, &self.new, scheme) {
            (None, Some(_), Some(name)) => format!("has also the scheme `{name}`"),
            (Some(_), None, Some(name)) => format!("does not have the scheme `{name}`"),
            (Some(old), Some(new), _) => format!("has {} = {new} instead of {old}", self.key),
            (Some(old), None, _) => format!("does not have {} = {old}", self.key),
            (None, new, _) => {
                format!("has {} = {} in addition", self.key, new.as_deref().unwrap_or(""))
            }
        }
    }
}

/// The length of the longest value that is shown whole.
const LONGEST: usize = 60;

/// All differences, in order of keys. Tables in a list are identified by their `name`, or else by number.
/// Files that a scenario names are compared by the fingerprints in its last lines.
pub fn differences(old: &str, new: &str) -> Vec<Difference> {
    let mut found = Vec::new();
    if old != new {
        match (parsed(old), parsed(new)) {
            (Some(old), Some(new)) => compare("", Some(&old), Some(&new), &mut found),
            _ => found.push(unlike("scenario", Some("one text".into()), Some("another".into()))),
        }
    }
    found
}

fn unlike(key: &str, old: Option<String>, new: Option<String>) -> Difference {
    Difference { key: key.into(), old, new }
}

/// The parsed scenario, with the fingerprints of files under `file`.
fn parsed(text: &str) -> Option<Value> {
    let mut table: toml::Table = text.parse().ok()?;
    let prints = text.lines().filter_map(|line| line.strip_prefix("# ")?.rsplit_once(": "));
    let files: toml::Table = prints.map(|(name, print)| (name.into(), print.into())).collect();
    if !files.is_empty() {
        table.insert("file".into(), Value::Table(files));
    }
    Some(Value::Table(table))
}

fn compare(key: &str, old: Option<&Value>, new: Option<&Value>, found: &mut Vec<Difference>) {
    if old == new {
        return;
    }
    match (old.and_then(children), new.and_then(children)) {
        (Some(old), Some(new)) => {
            let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for child in keys {
                let path = if key.is_empty() { child.clone() } else { format!("{key}.{child}") };
                compare(&path, old.get(child).copied(), new.get(child).copied(), found);
            }
        }
        _ => found.push(unlike(key, old.map(shown), new.map(shown))),
    }
}

/// The children of a table, or of a list of tables.
fn children(value: &Value) -> Option<BTreeMap<String, &Value>> {
    match value {
        Value::Table(table) => {
            Some(table.iter().map(|(key, value)| (key.clone(), value)).collect())
        }
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_table) => {
            let name = |item: &Value| Some(item.get("name")?.as_str()?.to_string());
            let names: Option<BTreeSet<String>> = items.iter().map(name).collect();
            let unique = names.is_some_and(|names| names.len() == items.len());
            let key = |(at, item)| (name(item).filter(|_| unique).unwrap_or(format!("{at}")), item);
            Some(items.iter().enumerate().map(key).collect())
        }
        _ => None,
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string().replace('\n', " ");
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = r#"
name = "a"
[fabric]
kind = "star"
[[workload]]
kind = "incast"
[[scheme]]
name = "tcp"
[scheme.queue]
limit = "1KB"
[[scheme]]
name = "dctcp"
# t.cm: 10 bytes, 0123
"#;

    fn text(new: &str) -> Vec<String> {
        differences(OLD, new).iter().map(Difference::text).collect()
    }

    #[test]
    fn differences_are_named_by_key() {
        assert!(text(OLD).is_empty());
        assert!(text(&OLD.replace("[fabric]", "\n[fabric]")).is_empty());
        assert_eq!(text(&OLD.replace("1KB", "2KB")), [r#"scheme.tcp.queue.limit: "1KB" → "2KB""#]);
        let other = OLD.replace("kind = \"incast\"", "kind = \"ring\"\nsize = 1");
        let expected = [r#"workload.0.kind: "incast" → "ring""#, "workload.0.size: nothing → 1"];
        assert_eq!(text(&other), expected);
        let trace = text(&OLD.replace("0123", "0124"));
        assert_eq!(trace, [r#"file.t.cm: "10 bytes, 0123" → "10 bytes, 0124""#]);
        let gone = text(&OLD.replace("[[scheme]]\nname = \"dctcp\"\n", ""));
        assert_eq!(gone, [r#"scheme.dctcp: { name = "dctcp" } → nothing"#]);
        assert_eq!(text("no = toml = at all").len(), 1);
    }

    #[test]
    fn differences_have_words() {
        let words = |new: &str| {
            differences(OLD, new).iter().map(Difference::words).collect::<Vec<String>>()
        };
        let limit = words(&OLD.replace("1KB", "2KB"));
        assert_eq!(limit, [r#"has scheme.tcp.queue.limit = "2KB" instead of "1KB""#]);
        let other = words(&OLD.replace("name = \"dctcp\"", "name = \"xco\""));
        assert_eq!(other, ["does not have the scheme `dctcp`", "has also the scheme `xco`"]);
        let size = words(&OLD.replace("kind = \"incast\"", "kind = \"incast\"\nsize = 1"));
        assert_eq!(size, ["has workload.0.size = 1 in addition"]);
    }
}
