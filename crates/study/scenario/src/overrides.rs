//! Values that replace those of a scenario file, as `--set fabric.hosts=9` on the command line.

use super::document::Document;
use super::error::ScenarioError;
use super::extends::{Merged, merged};
use super::extensions::Extensions;
use super::keys::KeyPath;
use super::load::Loaded;
use super::merge::Node;
use super::spec::Scenario;
use std::path::Path;
use std::sync::Arc;

/// The option that replaces values, where no other is named.
const SET: &str = "--set";

impl Scenario {
    /// Checks `text` as the content of the file at `path`, with values replaced: `fabric.hosts=9` or
    /// `scheme.dctcp.queue.threshold=20KB`. A value that is not TOML is a text. Reports every error that is independent of
    /// others; the place of an error in a replaced value is the value.
    pub fn parse_all(
        path: &Path,
        text: String,
        replaced: &[String],
    ) -> Result<Loaded, Vec<ScenarioError>> {
        let document = Document::new(path, text);
        let document = with(document, replaced, SET).map_err(|error| vec![error])?;
        Loaded::all_of(document, &Extensions::new())
    }

    /// As [`Scenario::parse_single`], with values replaced as in [`Scenario::parse_all`]. Errors name the `option` that gave
    /// them.
    ///
    /// # Errors
    /// The first error.
    pub fn parse_single_with(
        path: &Path,
        text: String,
        replaced: &[String],
        option: &str,
    ) -> Result<Loaded, ScenarioError> {
        let document = with(super::extends::single(Document::new(path, text))?, replaced, option)?;
        Loaded::of(document, &Extensions::new())
    }
}

fn with(document: Document, replaced: &[String], option: &str) -> Result<Document, ScenarioError> {
    if replaced.is_empty() {
        return super::extends::resolved(document);
    }
    let Merged { mut tree, notices } = merged(&Arc::new(document))?;
    if let Some(sweep) = tree.take("sweep") {
        return Err(sweep.fault_of_key(super::extends::HAS_SWEEP.into()));
    }
    replaced.iter().try_for_each(|setting| set(&mut tree, setting, option))?;
    Ok(Document { notices, ..tree.document() })
}

/// Replaces values of `tree`, each as in `fabric.hosts=9`.
///
/// # Errors
/// The first value that has no place in the tree, or is no value.
pub fn set_all(tree: &mut Node, replaced: &[String]) -> Result<(), ScenarioError> {
    replaced.iter().try_for_each(|setting| set(tree, setting, SET))
}

fn set(tree: &mut Node, setting: &str, option: &str) -> Result<(), ScenarioError> {
    let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
    let (key, value) = (key.trim(), value.trim());
    let literal = match toml::from_str::<toml::Table>(&format!("value = {value}")) {
        Ok(_) => value.to_string(),
        Err(_) => toml::Value::String(value.into()).to_string(),
    };
    let quoted = toml::Value::String(key.into()).to_string();
    let document = Arc::new(Document::new(Path::new(option), format!("{quoted} = {literal}")));
    let wrong = |why: String| document.fault_at("", why);
    if !setting.contains('=') {
        return Err(wrong(format!("`{setting}` has no value: write, for example, fabric.hosts=9")));
    }
    let path = KeyPath::parse(key).map_err(wrong)?;
    let value = Node::read(&document)?.take(key).ok_or_else(|| wrong("no key".into()))?;
    tree.assign(&path, &value).map_err(|why| value.fault_of_key(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = r#"name = "small"
end = { at = "50ms" }
fabric = { kind = "star", hosts = 5 }
[[workload]]
kind = "incast"
senders = 4
block = "100KB"
[[scheme]]
name = "tcp"
[[scheme]]
name = "dctcp"
transport = "dctcp"
queue = { kind = "ecn", threshold = "30KB" }
"#;

    fn loaded(replaced: &[&str]) -> Result<Loaded, String> {
        let replaced: Vec<String> = replaced.iter().map(ToString::to_string).collect();
        let loaded = Scenario::parse_all(Path::new("a.toml"), BASE.into(), &replaced);
        loaded
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn values_are_replaced() {
        let loaded = loaded(&[
            "scheme.dctcp.queue.threshold=20KB",
            "scheme[tcp].transport = cubic",
            "fabric.hosts=9",
            "workload[0].senders=8",
            "end.at=1s",
        ]);
        let text = loaded.unwrap_or_else(|error| panic!("{error}")).resolved();
        for part in
            ["threshold = \"20KB\"", "kind = \"cubic\"", "hosts = 9", "senders = 8", "at = \"1s\""]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        let same = Scenario::parse_all(Path::new("a.toml"), BASE.into(), &[]).unwrap();
        let plain = Scenario::parse(Path::new("a.toml"), BASE.into()).unwrap();
        assert_eq!(same.resolved(), plain.resolved());
    }

    #[test]
    fn errors_name_the_option() {
        let path = Path::new("a.toml");
        let replaced = ["fabric.host=9".to_string()];
        let error = Scenario::parse_single_with(path, BASE.into(), &replaced, "--with").err();
        let error = error.unwrap().to_string();
        assert!(error.starts_with("--with:") && error.contains("`host`"), "{error}");
    }

    #[test]
    fn what_cannot_be_set_is_named() {
        for (setting, words) in [
            ("fabric.hosts", "has no value"),
            ("scheme.xco.queue=1", "xco"),
            ("fabric.host=9", "unknown"),
            ("scheme.dctcp.queue.threshold=twenty", "twenty"),
            ("a..b=1", "not a path of keys"),
        ] {
            let error = loaded(&[setting]).err().unwrap_or_default();
            assert!(error.contains("--set") && error.contains(words), "{setting}: {error}");
        }
    }
}
