//! Renamed keys and values: a scenario file may use the old names for one release, with a notice.
//!
//! The table below is the only place that knows old names. It is applied to the parsed file, before the
//! file is merged with what it extends and before its shape is checked.

use super::error::ScenarioError;
use super::merge::{Mark, Node, Value};
use std::collections::BTreeMap;

/// The kind of a renamed item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    /// A key of the tables at `place`.
    Key,
    /// A value of the key at `place`.
    Value,
}

/// A name that changed.
struct Renamed {
    what: What,
    /// The last keys of the path at which it stands, without the numbers and names of list elements.
    place: &'static str,
    old: &'static str,
    new: &'static str,
}

const RENAMED: [Renamed; 5] = [
    value("measure.metrics", "answer-mean", "qct-mean"),
    value("measure.metrics", "answer-p99", "qct-p99"),
    value("control.scheduler", "harvest", "portfolio"),
    value("control.scheduler", "mix", "clos-direct"),
    key("transport", "small-queue", "tsq-limit"),
];

const fn value(place: &'static str, old: &'static str, new: &'static str) -> Renamed {
    Renamed { what: What::Value, place, old, new }
}

const fn key(place: &'static str, old: &'static str, new: &'static str) -> Renamed {
    Renamed { what: What::Key, place, old, new }
}

/// Whether `text` contains an old name anywhere, perhaps as part of something else.
pub(crate) fn may_have_old_names(text: &str) -> bool {
    RENAMED.iter().any(|renamed| text.contains(renamed.old))
}

/// The current name of a metric.
pub fn metric_name(text: &str) -> &str {
    let of_metric = |renamed: &&Renamed| renamed.place == "measure.metrics" && renamed.old == text;
    RENAMED.iter().find(of_metric).map_or(text, |renamed| renamed.new)
}

/// Replaces old names by new ones in a whole file; returns a notice for each.
pub(crate) fn update(file: &mut Node) -> Vec<String> {
    let mut notices = vec![];
    update_below(file, "", &mut notices);
    notices
}

fn update_below(node: &mut Node, place: &str, notices: &mut Vec<String>) {
    match &mut node.value {
        Value::Table(table) => update_table(table, place, notices),
        Value::List(list) => list.iter_mut().for_each(|node| update_below(node, place, notices)),
        Value::Plain(toml::Value::String(text)) => {
            if let Some((new, renamed)) = new_text(place, text) {
                notices.push(notice(&node.mark, renamed));
                *text = new;
            }
        }
        Value::Plain(_) => {}
    }
}

fn update_table(table: &mut BTreeMap<String, Node>, place: &str, notices: &mut Vec<String>) {
    let old = std::mem::take(table);
    let is_free = |new: &String| !old.contains_key(new);
    let names: Vec<_> =
        old.keys().map(|key| new_key(place, key).filter(|(new, _)| is_free(new))).collect();
    for ((key, mut node), name) in old.into_iter().zip(names) {
        let key = match name {
            Some((new, renamed)) => {
                notices.push(notice(&node.mark, renamed));
                new
            }
            None => key,
        };
        update_below(&mut node, &joined(place, &key), notices);
        table.insert(key, node);
    }
}

/// The new text for the value `text` at `place`. The texts of `without` are paths of keys.
fn new_text(place: &str, text: &str) -> Option<(String, &'static Renamed)> {
    if place == "without" {
        return new_key("", text);
    }
    let is_it = |renamed: &&Renamed| {
        renamed.what == What::Value && renamed.old == text && ends_with(place, renamed.place)
    };
    RENAMED.iter().find(is_it).map(|renamed| (renamed.new.to_string(), renamed))
}

/// The new spelling of `key` in the table at `place`. In a sweep the key is itself a path of keys.
fn new_key(place: &str, key: &str) -> Option<(String, &'static Renamed)> {
    let path = joined(place, key);
    let is_it = |renamed: &&Renamed| {
        let table = path.strip_suffix(renamed.old).and_then(|table| table.strip_suffix('.'));
        renamed.what == What::Key && table.is_some_and(|table| ends_with(table, renamed.place))
    };
    let renamed = RENAMED.iter().find(is_it)?;
    Some((key.strip_suffix(renamed.old)?.to_string() + renamed.new, renamed))
}

/// The path of `key` in the table at `place`, without the text in brackets.
fn joined(place: &str, key: &str) -> String {
    let mut depth = 0;
    let outside = key.chars().filter(|letter| {
        depth += i32::from(*letter == '[');
        let is_outside = depth == 0;
        depth -= i32::from(*letter == ']');
        is_outside
    });
    let dot = if place.is_empty() { "" } else { "." };
    format!("{place}{dot}{}", outside.collect::<String>())
}

/// Whether the last keys of `path` are those of `place`.
fn ends_with(path: &str, place: &str) -> bool {
    path.strip_suffix(place).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

fn notice(mark: &Mark, renamed: &Renamed) -> String {
    let Renamed { what, old, new, .. } = renamed;
    let text =
        format!("\"{old}\" is now called \"{new}\"; the old name works until the next release");
    match mark.fault(*what == What::Key && !is_text(mark, old), text) {
        ScenarioError::Fault(fault) => fault.heading(),
        other => other.to_string(),
    }
}

/// Whether the value itself, not its key, is the text with the name: an element of `without`.
fn is_text(mark: &Mark, name: &str) -> bool {
    let written = mark.document.text.get(mark.value.clone());
    written.is_some_and(|text| text.starts_with(['"', '\'']) && text.contains(name))
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use std::path::Path;

    const OLD: &str = r#"name = "old"
end = { at = "10ms" }

[fabric]
kind = "star"
hosts = 9

[measure]
metrics = ["fct-mean", "answer-mean", "answer-p99"]

[[workload]]
kind = "incast"

[[scheme]]
name = "harvest"
transport = { kind = "newreno", small-queue = "32KB" }
"#;

    fn parsed(text: &str) -> crate::Loaded {
        let loaded = Scenario::parse(Path::new("old.toml"), text.to_string());
        loaded.unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn old_names_mean_the_new_ones_and_are_noticed() {
        let new = OLD.replace("answer-", "qct-").replace("small-queue", "tsq-limit");
        let (old, new) = (parsed(OLD), parsed(&new));
        assert_eq!(old.resolved(), new.resolved());
        assert_eq!(new.document.notices, [] as [String; 0]);
        let rest = "the old name works until the next release";
        assert_eq!(
            old.document.notices,
            [
                format!("old.toml:9:24: \"answer-mean\" is now called \"qct-mean\"; {rest}"),
                format!("old.toml:9:39: \"answer-p99\" is now called \"qct-p99\"; {rest}"),
                format!("old.toml:16:33: \"small-queue\" is now called \"tsq-limit\"; {rest}"),
            ]
        );
    }

    #[test]
    fn faults_beside_old_names_show_the_file_as_it_is() {
        let wrong = OLD.replace("\"32KB\"", "\"32 KBs\"");
        let fault = Scenario::parse(Path::new("old.toml"), wrong).map(drop).expect_err("a fault");
        let text = fault.to_string();
        assert!(text.starts_with("old.toml:16:47: "), "{text}");
        assert!(text.contains("small-queue = \"32 KBs\""), "{text}");
    }

    #[test]
    fn paths_of_keys_are_renamed_too() {
        let key = |place: &str, key: &str| super::new_key(place, key).map(|(new, _)| new);
        let new = |text: &str| Some(text.to_string());
        let swept = "scheme[a.b].transport.small-queue";
        assert_eq!(key("sweep.grid", swept), new("scheme[a.b].transport.tsq-limit"));
        assert_eq!(key("scheme.transport", "small-queue"), new("tsq-limit"));
        assert_eq!(key("scheme.queue", "small-queue"), None);
        let text = |place: &str, text: &str| super::new_text(place, text).map(|(new, _)| new);
        assert_eq!(text("without", swept), new("scheme[a.b].transport.tsq-limit"));
        assert_eq!(text("scheme.control.scheduler", "mix"), new("clos-direct"));
        assert_eq!(text("sweep.grid.scheme.control.scheduler", "harvest"), new("portfolio"));
        assert_eq!(text("scheme.name", "harvest"), None);
    }
}
