//! The documentation as a small static site: Markdown below `docs/` and at the root of the repository,
//! and every other file they link to, as pages that need no server and no script.
//!
//! `docs/index.md` is the order of pages: each `##` heading in it is a section, each link below it a page.
//! A document that it does not name, a link that leads nowhere and an anchor that is not there are errors.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod code;
mod document;
mod link;
mod nav;
mod page;

use document::Document;
use link::{Address, Target};
use nav::Nav;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;

/// Something wrong in a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The file, from the root of the repository.
    pub file: String,
    /// The line, from 1; 0 where it is about the whole file.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message),
            line => write!(f, "{}:{line}: {}", self.file, self.message),
        }
    }
}

/// A built site: the content of each file, by its path below the site's folder.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// By path.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Site {
    /// Builds the site of the repository at `root`.
    ///
    /// # Errors
    /// All faults found, in order of files and lines.
    pub fn build(root: &Path) -> Result<Site, Vec<Fault>> {
        let documents = documents(root).map_err(|fault| vec![fault])?;
        let nav = Nav::of(&documents);
        let mut faults = nav.missing(&documents);
        let mut site = Site::default();
        let mut linked = BTreeSet::new();
        for document in documents.values() {
            let mut targets = Vec::new();
            for link in &document.links {
                match link::resolve(root, document, link, &documents) {
                    Ok(target) => targets.push(target),
                    Err(message) => {
                        faults.push(Fault { message, ..document.fault(link.line) });
                        targets.push(Target::Elsewhere);
                    }
                }
            }
            linked.extend(targets.iter().filter_map(Target::file).map(str::to_string));
            let html = page::document(document, &targets, &nav);
            site.files.insert(document.address().0, html.into_bytes());
        }
        for file in &linked {
            site.add_file(root, file, &nav).unwrap_or_else(|fault| faults.push(fault));
        }
        faults.sort();
        if faults.is_empty() { Ok(site) } else { Err(faults) }
    }

    /// A file of the repository that some document links to: a picture as it is, a text as a page.
    fn add_file(&mut self, root: &Path, file: &str, nav: &Nav) -> Result<(), Fault> {
        let fault = |message: String| Fault { file: file.into(), line: 0, message };
        let bytes = fs::read(root.join(file)).map_err(|e| fault(format!("cannot read it: {e}")))?;
        let Address(address) = Address::of_file(file);
        if address.ends_with(".html") {
            let text = String::from_utf8(bytes).map_err(|_| fault("is not text".into()))?;
            self.files.insert(address, page::source(file, &text, nav).into_bytes());
        } else {
            self.files.insert(address, bytes);
        }
        Ok(())
    }

    /// Writes all files below `out`.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write(&self, out: &Path) -> std::io::Result<()> {
        for (path, content) in &self.files {
            let path = out.join(path);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, content)?;
        }
        Ok(())
    }
}

/// All Markdown files at the root and below `docs`, by path.
fn documents(root: &Path) -> Result<BTreeMap<String, Document>, Fault> {
    let mut found = BTreeMap::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let fault = |e: std::io::Error| Fault {
            file: folder.clone(),
            line: 0,
            message: format!("cannot read it: {e}"),
        };
        for entry in fs::read_dir(root.join(&folder)).map_err(fault)? {
            let name = entry.map_err(fault)?.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            if path.ends_with(".md") {
                let text = fs::read_to_string(root.join(&path)).map_err(fault)?;
                found.insert(path.clone(), Document::read(&path, &text));
            } else if path.starts_with("docs") && root.join(&path).is_dir() {
                folders.push(path);
            }
        }
    }
    Ok(found)
}
