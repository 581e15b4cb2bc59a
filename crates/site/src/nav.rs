//! The order of pages: sections and links of `docs/index.md`, and below a folder's `README.md` the pages of the
//! folder that it links to.

use crate::Fault;
use crate::document::{Document, Link};
use crate::link::join;
use std::collections::BTreeMap;

/// The document that has the order of all others.
pub const INDEX: &str = "docs/index.md";

/// A section with the pages in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// In order.
    pub pages: Vec<Page>,
}

/// A document in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its path.
    pub path: String,
    /// The words that lead to it.
    pub words: String,
    /// The `README.md` of its folder, where that leads to it.
    pub parent: Option<String>,
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
        let say = |path: &String| {
            fault(path, format!("neither {INDEX} nor the README.md of its folder has a link to it"))
        };
        documents.keys().filter(unnamed).map(say).collect()
    }

    /// All pages in order.
    pub fn pages(&self) -> impl Iterator<Item = &Page> {
        self.0.iter().flat_map(|section| &section.pages)
    }

    fn place(&self, path: &str) -> Option<usize> {
        self.pages().position(|page| page.path == path)
    }

    /// The pages before and after one.
    pub fn around(&self, path: &str) -> [Option<&Page>; 2] {
        let Some(at) = self.place(path) else { return [None, self.pages().next()] };
        let before = at.checked_sub(1).and_then(|at| self.pages().nth(at));
        [before, self.pages().nth(at + 1)]
    }
}

/// The documents that the index links to under its heading number `under`, each once, with those below
/// them.
fn pages(index: &Document, under: usize, documents: &BTreeMap<String, Document>) -> Vec<Page> {
    let mut pages: Vec<Page> = Vec::new();
    let links = index.links.iter().filter(|link| link.under == under);
    for page in links.filter_map(|link| page(index, link, documents)) {
        let below = below(&page, documents);
        for page in std::iter::once(page).chain(below) {
            if pages.iter().all(|known| known.path != page.path) {
                pages.push(page);
            }
        }
    }
    pages
}

/// The document that a link leads to.
fn page(from: &Document, link: &Link, documents: &BTreeMap<String, Document>) -> Option<Page> {
    let path = join(&from.path, &link.to)?;
    let known = documents.contains_key(&path) && path != from.path;
    known.then(|| Page { path, words: link.text.clone(), parent: None })
}

/// What the `README.md` of a folder leads to in its folder.
fn below(parent: &Page, documents: &BTreeMap<String, Document>) -> Vec<Page> {
    let folder = parent.path.strip_suffix("README.md").filter(|folder| !folder.is_empty());
    let (Some(folder), Some(document)) = (folder, documents.get(&parent.path)) else {
        return vec![];
    };
    let pages = document.links.iter().filter_map(|link| page(document, link, documents));
    let own = pages.filter(|page| page.path.starts_with(folder));
    own.map(|page| Page { parent: Some(parent.path.clone()), ..page }).collect()
}
