//! `extends`: a scenario that lists only its differences from another file.

use super::document::Document;
use super::error::ScenarioError;
use super::keys::KeyPath;
use super::merge::Node;
use super::renamed;
use slotline_net::units::Bytes;
use slotline_net::workload::cdf::published;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest chain of files that extend one another.
const DEEPEST: usize = 16;

/// Keys at the top of a file that control how a scenario is merged. A scenario has none of them.
pub const FILE_KEYS: [&str; 3] = ["extends", "without", "sweep"];

/// `document` merged with the files that it extends, with new names in place of old ones, and with the
/// place where each part was written. A file that needs none of this is returned unchanged.
///
/// # Errors
/// A file cannot be read or merged, or it has a `sweep`, which stands for many scenarios.
pub fn resolved(document: Document) -> Result<Document, ScenarioError> {
    let Ok(table) = toml::from_str::<toml::Table>(&document.text) else { return Ok(document) };
    let stands_alone = !FILE_KEYS.iter().any(|key| table.contains_key(*key));
    if stands_alone && !renamed::may_have_old_names(&document.text) {
        return Ok(document);
    }
    let Merged { mut tree, notices } = merged(&Arc::new(document.clone()))?;
    if stands_alone && notices.is_empty() {
        return Ok(document);
    }
    match tree.take("sweep") {
        Some(sweep) => Err(sweep.fault_of_key(HAS_SWEEP.into())),
        None => Ok(Document { notices, ..tree.document() }),
    }
}

/// `document` as one scenario: without its sweep, and without the expectations about its points.
///
/// # Errors
/// A file cannot be read or merged.
pub fn single(document: Document) -> Result<Document, ScenarioError> {
    let Merged { mut tree, notices } = merged(&Arc::new(document))?;
    let swept = tree.take("sweep").is_some();
    if swept {
        tree.take("expect");
    }
    Ok(Document { notices, ..tree.document() })
}

/// Why a file with a sweep is not a scenario.
pub(super) const HAS_SWEEP: &str =
    "`sweep` stands for many scenarios: run this file with `slotline sweep`";

/// A file merged with those that it extends.
#[derive(Clone, Debug)]
pub struct Merged {
    /// Its content, which may have a `sweep`.
    pub tree: Node,
    /// A line for each old name that one of the files uses.
    pub notices: Vec<String>,
}

/// The content of `document` and of the files that it extends.
///
/// # Errors
/// A file cannot be read or merged.
pub fn merged(document: &Arc<Document>) -> Result<Merged, ScenarioError> {
    let mut files = Files { chain: vec![canonical(&document.file)], notices: vec![] };
    let tree = extended(document, Path::new(""), &mut files)?;
    Ok(Merged { tree, notices: files.notices })
}

/// The files read so far, each of which extends the next.
struct Files {
    chain: Vec<PathBuf>,
    notices: Vec<String>,
}

/// `folder` is the path from the first file's folder to the folder of `document`.
fn extended(
    document: &Arc<Document>,
    folder: &Path,
    files: &mut Files,
) -> Result<Node, ScenarioError> {
    let mut own = Node::read(document)?;
    files.notices.extend(renamed::update(&mut own));
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
    let below = Arc::new(opened(&extends, named, document, &mut files.chain)?);
    let next = folder.join(Path::new(named).parent().unwrap_or(Path::new("")));
    let mut base = extended(&below, &next, files)?;
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

/// The file that `document` extends; refused if the files form a circle or a chain that is too long.
fn opened(
    extends: &Node,
    named: &str,
    document: &Document,
    chain: &mut Vec<PathBuf>,
) -> Result<Document, ScenarioError> {
    let file = document.file.parent().unwrap_or(Path::new("")).join(named);
    let read = crate::read_text(&file);
    let text = read
        .map_err(|e| extends.fault(format!("`extends`: cannot read `{}`: {e}", file.display())))?;
    let real = canonical(&file);
    if chain.contains(&real) {
        return Err(extends.fault(format!("`extends` forms a circle with `{named}`")));
    }
    if chain.len() >= DEEPEST {
        return Err(extends.fault(format!("`extends`: a chain has at most {DEEPEST} files")));
    }
    chain.push(real);
    Ok(Document::new(&file, text))
}

fn canonical(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_path_buf())
}

/// Makes the name of a file relative to the first file. Files are looked for beside the file that names them.
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
