//! `extends`: a scenario that says only how it differs from another file.

use super::document::Document;
use super::error::ScenarioError;
use super::keys::KeyPath;
use super::merge::Node;
use slotline_net::units::Bytes;
use slotline_net::workload::cdf::published;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files that extend one another, at most.
const DEEPEST: usize = 16;

/// Keys at the top of a file that say how a scenario is put together. None is left in a scenario.
pub const FILE_KEYS: [&str; 3] = ["extends", "without", "sweep"];

/// `document` with all that it extends, and where each part was written. A file that has none of
/// [`FILE_KEYS`] is left as it is; one with a `sweep` is many scenarios, and refused.
pub fn resolved(document: Document) -> Result<Document, ScenarioError> {
    let plain = toml::from_str::<toml::Table>(&document.text)
        .map_or(true, |table| !FILE_KEYS.iter().any(|key| table.contains_key(*key)));
    if plain {
        return Ok(document);
    }
    let mut tree = tree(&Arc::new(document))?;
    match tree.take("sweep") {
        Some(sweep) => Err(sweep.fault_of_key(
            "`sweep` makes many scenarios of this file: use `slotline sweep` with it".into(),
        )),
        None => Ok(tree.document()),
    }
}

/// Everything that `document` says, itself and by the files it extends; it may have a `sweep`.
pub fn tree(document: &Arc<Document>) -> Result<Node, ScenarioError> {
    extended(document, Path::new(""), &mut vec![canonical(&document.file)])
}

/// `folder` leads from the first file's folder to this one's; `chain` are the files up to here.
fn extended(
    document: &Arc<Document>,
    folder: &Path,
    chain: &mut Vec<PathBuf>,
) -> Result<Node, ScenarioError> {
    let mut own = Node::read(document)?;
    own.each_text("", &|key, text| moved(key, text, folder, document));
    let without = own.take("without");
    let Some(extends) = own.take("extends") else {
        return match without {
            Some(without) => Err(without.fault_of_key("`without` needs `extends`".into())),
            None => Ok(own),
        };
    };
    let named = extends.text().ok_or_else(|| {
        extends.fault("`extends` is the name of a file: extends = \"base.toml\"".into())
    })?;
    let below = Arc::new(opened(&extends, named, document, chain)?);
    let next = folder.join(Path::new(named).parent().unwrap_or(Path::new("")));
    let mut base = extended(&below, &next, chain)?;
    for path in without.iter().flat_map(paths) {
        let (node, text) = path?;
        let removed = KeyPath::parse(text).and_then(|path| base.remove(&path));
        removed.map_err(|why| node.fault(why))?;
    }
    Ok(base.under(own))
}

/// The paths that `without` lists.
fn paths(without: &Node) -> Vec<Result<(&Node, &str), ScenarioError>> {
    let wrong = || "`without` lists paths of keys in quotes: without = [\"measure.sample\", \"scheme[xco]\"]";
    match without.list() {
        None => vec![Err(without.fault(wrong().into()))],
        Some(list) => list
            .iter()
            .map(|node| {
                node.text().map(|text| (node, text)).ok_or_else(|| node.fault(wrong().into()))
            })
            .collect(),
    }
}

/// The file that `document` extends; refused where it leads back or too far.
fn opened(
    extends: &Node,
    named: &str,
    document: &Document,
    chain: &mut Vec<PathBuf>,
) -> Result<Document, ScenarioError> {
    let file = document.file.parent().unwrap_or(Path::new("")).join(named);
    let read = std::fs::read_to_string(&file);
    let text = read
        .map_err(|e| extends.fault(format!("`extends`: cannot read `{}`: {e}", file.display())))?;
    let real = canonical(&file);
    if chain.contains(&real) {
        return Err(extends.fault(format!("`extends` leads in a circle, back to `{named}`")));
    }
    if chain.len() >= DEEPEST {
        return Err(extends.fault(format!("`extends`: at most {DEEPEST} files in a row")));
    }
    chain.push(real);
    Ok(Document::new(&file, text))
}

fn canonical(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_path_buf())
}

/// Files that a scenario names are looked for beside the file in which the name stands.
fn moved(key: &str, text: &mut String, folder: &Path, document: &Document) {
    let beside = || document.file.parent().unwrap_or(Path::new("")).join(text.as_str());
    let is_file = match key.rsplit('.').next().unwrap_or(key) {
        "file" => true,
        "sizes" => {
            let known = published(text).is_some() || text.parse::<Bytes>().is_ok();
            !known && beside().is_file()
        }
        _ => false,
    };
    if is_file && folder != Path::new("") {
        *text = folder.join(text.as_str()).to_string_lossy().into_owned();
    }
}
