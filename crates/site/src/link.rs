//! Where links lead.

use crate::document::{Document, Link};
use std::collections::BTreeMap;
use std::path::Path;

/// The path of a file below the site's folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address(pub String);

impl Address {
    /// The page of a document: those below `docs` keep their places, the others are about the project.
    pub fn of_document(path: &str) -> Address {
        let stem = path.strip_suffix(".md").unwrap_or(path);
        Address(match stem.strip_prefix("docs/") {
            Some(inner) => format!("{inner}.html"),
            None => format!("project/{}.html", stem.to_lowercase()),
        })
    }
    /// Any other file of the repository: pictures stay as they are, texts become pages.
    pub fn of_file(path: &str) -> Address {
        let picture = [".svg", ".png", ".jpg"].iter().any(|extension| path.ends_with(extension));
        Address(format!("files/{path}{}", if picture { "" } else { ".html" }))
    }
    /// This address, seen from the page at `from`.
    pub fn seen_from(&self, from: &Address) -> String {
        format!("{}{}", "../".repeat(from.0.matches('/').count()), self.0)
    }
}

/// What a link leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Another site.
    Elsewhere,
    /// A document's page, and an anchor with `#` or nothing.
    Page(String, String),
    /// Another file of the repository.
    File(String),
}

impl Target {
    /// The repository's file, where it leads to one that is no document.
    pub fn file(&self) -> Option<&str> {
        match self {
            Target::File(path) => Some(path),
            _ => None,
        }
    }
    /// What stands in the page at `from` for a link that was written as `to`.
    pub fn seen_from(&self, from: &Address, to: &str) -> String {
        match self {
            Target::Elsewhere => to.to_string(),
            Target::Page(path, anchor) => Address::of_document(path).seen_from(from) + anchor,
            Target::File(path) => Address::of_file(path).seen_from(from),
        }
    }
}

/// What a link of `document` leads to, or what is wrong with it.
pub fn resolve(
    root: &Path,
    document: &Document,
    link: &Link,
    documents: &BTreeMap<String, Document>,
) -> Result<Target, String> {
    let to = &link.to;
    if to.contains("://") || to.starts_with("mailto:") {
        return Ok(Target::Elsewhere);
    }
    let (file, anchor) = to.split_once('#').map_or((to.as_str(), None), |(f, a)| (f, Some(a)));
    let path = if file.is_empty() {
        document.path.clone()
    } else {
        join(&document.path, file).ok_or_else(|| format!("`{to}` leads out of the repository"))?
    };
    match documents.get(&path) {
        Some(target) => to_page(target, anchor, to),
        None if root.join(&path).is_dir() => {
            Err(format!("`{to}` is a folder: link to a file in it"))
        }
        None if root.join(&path).is_file() => Ok(Target::File(path)),
        None => Err(format!("`{to}`: there is no file `{path}`")),
    }
}

fn to_page(target: &Document, anchor: Option<&str>, to: &str) -> Result<Target, String> {
    let Some(anchor) = anchor else { return Ok(Target::Page(target.path.clone(), String::new())) };
    if target.anchors.iter().any(|known| known == anchor) {
        return Ok(Target::Page(target.path.clone(), format!("#{anchor}")));
    }
    let known = target.anchors.join(", ");
    Err(format!("`{to}`: {} has no `#{anchor}`; it has {known}", target.path))
}

/// `relative`, as it stands in the document at `path`, from the root of the repository.
pub fn join(path: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in relative.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined() {
        assert_eq!(join("docs/a/b.md", "../c.md").as_deref(), Some("docs/c.md"));
        assert_eq!(join("README.md", "./docs/c.md").as_deref(), Some("docs/c.md"));
        assert_eq!(join("docs/a.md", "../../c.md"), None);
    }

    #[test]
    fn addresses_are_relative() {
        let page = |path: &str| Address::of_document(path);
        assert_eq!(page("docs/a/b.md"), Address("a/b.html".into()));
        assert_eq!(page("README.md"), Address("project/readme.html".into()));
        assert_eq!(page("docs/index.md").seen_from(&page("docs/a/b.md")), "../index.html");
        let file = |path: &str| Address::of_file(path).0;
        assert_eq!(file("docs/x.svg"), "files/docs/x.svg");
        assert_eq!(file("scenarios/x.toml"), "files/scenarios/x.toml.html");
    }
}
