//! The order of pages: sections and links of `docs/index.md`.

use crate::Fault;
use crate::document::Document;
use std::collections::BTreeMap;

/// The document that has the order of all others.
pub const INDEX: &str = "docs/index.md";

/// A section with the pages in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// Paths of documents, and the words that lead to them.
    pub pages: Vec<(String, String)>,
}

/// All sections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nav(pub Vec<Section>);

impl Nav {
    /// Reads the order; what it names and is not there is found when links are checked.
    pub fn of(documents: &BTreeMap<String, Document>) -> Nav {
        let Some(index) = documents.get(INDEX) else { return Nav(vec![]) };
        let section = |(at, heading): (usize, &crate::document::Heading)| Section {
            title: heading.text.clone(),
            pages: pages(index, at + 1, documents),
        };
        let sections = index.headings.iter().enumerate().skip(1).map(section);
        Nav(sections.filter(|section| !section.pages.is_empty()).collect())
    }

    /// Documents that the index does not name.
    pub fn missing(&self, documents: &BTreeMap<String, Document>) -> Vec<Fault> {
        let fault = |file: &str, message: String| Fault { file: file.into(), line: 0, message };
        if !documents.contains_key(INDEX) {
            return vec![fault(INDEX, "is missing: it has the order of all pages".into())];
        }
        let unnamed = |path: &&String| *path != INDEX && self.place(path).is_none();
        let say = |path: &String| fault(path, format!("no section of {INDEX} has a link to it"));
        documents.keys().filter(unnamed).map(say).collect()
    }

    /// All pages in order.
    pub fn pages(&self) -> impl Iterator<Item = &(String, String)> {
        self.0.iter().flat_map(|section| &section.pages)
    }

    fn place(&self, path: &str) -> Option<usize> {
        self.pages().position(|(page, _)| page == path)
    }

    /// The pages before and after one.
    pub fn around(&self, path: &str) -> [Option<&(String, String)>; 2] {
        let Some(at) = self.place(path) else { return [None, self.pages().next()] };
        let before = at.checked_sub(1).and_then(|at| self.pages().nth(at));
        [before, self.pages().nth(at + 1)]
    }
}

/// The documents that the index links to under its heading number `under`, each once.
fn pages(
    index: &Document,
    under: usize,
    documents: &BTreeMap<String, Document>,
) -> Vec<(String, String)> {
    let mut pages: Vec<(String, String)> = Vec::new();
    for link in index.links.iter().filter(|link| link.under == under) {
        let path = match link.to.strip_prefix("../") {
            Some(outside) => outside.to_string(),
            None => format!("docs/{}", link.to),
        };
        if documents.contains_key(&path) && pages.iter().all(|(known, _)| *known != path) {
            pages.push((path, link.text.clone()));
        }
    }
    pages
}
