//! Every link and anchor of the documentation has a target, and every page is in `docs/SUMMARY.md`.
//!
//! Pages are the Markdown files at the root of the repository and below `docs/`. Each error is reported with its file
//! and line. Links to other sites are not followed.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The list of all pages, in order.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Pages by their paths from the root of the repository.
type Pages = BTreeMap<String, Page>;

/// A link or a picture.
struct Link {
    line: usize,
    /// The target as written.
    target: String,
}

/// The parts of a page that other pages refer to.
#[derive(Default)]
struct Page {
    links: Vec<Link>,
    /// Anchors of its headings, and those that HTML sets.
    anchors: Vec<String>,
}

impl Page {
    fn read(text: &str) -> Page {
        let mut page = Page::default();
        let mut heading: Option<String> = None;
        let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
        for (event, at) in Parser::new_ext(text, options).into_offset_iter() {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    page.add_anchor(&heading.take().unwrap_or_default());
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    let line = text[..at.start].matches('\n').count() + 1;
                    page.links.push(Link { line, target: dest_url.into_string() });
                }
                Event::Text(words) | Event::Code(words) => {
                    heading.iter_mut().for_each(|heading| heading.push_str(&words));
                }
                Event::Html(html) | Event::InlineHtml(html) => page.anchors.extend(ids(&html)),
                _ => {}
            }
        }
        page
    }

    /// Adds an anchor. If there is one with the same words, the new one gets a number.
    fn add_anchor(&mut self, heading: &str) {
        let slug = slug(heading);
        let numbered = (1..).map(|count| format!("{slug}-{count}"));
        let free = std::iter::once(slug.clone()).chain(numbered);
        let anchor = { free }.find(|anchor| !self.anchors.contains(anchor));
        self.anchors.extend(anchor);
    }
}

/// The anchor of a heading, as mdBook and the usual hosts of repositories make it.
fn slug(heading: &str) -> String {
    let used = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let lower = heading.trim().chars().filter(used).flat_map(char::to_lowercase);
    lower.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The anchors that HTML sets by `name="…"` and `id="…"`.
fn ids(html: &str) -> Vec<String> {
    let starts = [" name=\"", " id=\""]
        .into_iter()
        .flat_map(|key| html.match_indices(key).map(move |(at, _)| at + key.len()));
    let values = starts.filter_map(|at| html[at..].split_once('"'));
    values.map(|(value, _)| value.to_string()).collect()
}

/// All Markdown files at the root and below `docs`.
fn pages(root: &Path) -> Pages {
    let mut pages = Pages::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).expect("a readable folder") {
            let name = entry.expect("a readable folder").file_name();
            let path = format!("{folder}{}", name.to_string_lossy());
            if path.ends_with(".md") {
                let text = fs::read_to_string(root.join(&path)).expect("a readable page");
                pages.insert(path, Page::read(&text));
            } else if path.starts_with("docs") && root.join(&path).is_dir() {
                folders.push(path + "/");
            }
        }
    }
    pages
}

/// All errors of the repository at `root`, in the order of files and lines.
fn faults(root: &Path) -> Vec<String> {
    let pages = pages(root);
    let mut faults = Vec::new();
    for (path, page) in &pages {
        for link in &page.links {
            if let Err(why) = follow(root, &pages, path, &link.target) {
                faults.push(format!("{path}:{}: {why}", link.line));
            }
        }
    }
    faults.extend(unlisted(&pages));
    faults
}

/// Whether `target` in the page at `from` exists.
fn follow(root: &Path, pages: &Pages, from: &str, target: &str) -> Result<(), String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return Ok(());
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = join(from, file).ok_or(format!("`{target}` leads out of the repository"))?;
    if root.join(&path).is_dir() {
        return Err(format!("`{target}` is a folder: link to a file in it"));
    }
    if !root.join(&path).is_file() {
        return Err(format!("`{target}`: there is no file `{path}`"));
    }
    let anchors = pages.get(&path).map_or(&[][..], |page| &page.anchors);
    if anchor.is_empty() || anchors.iter().any(|known| known == anchor) {
        return Ok(());
    }
    Err(format!("`{target}`: {path} has no `#{anchor}`; it has {}", anchors.join(", ")))
}

/// The path `relative` in the page at `from`, as a path from the root of the repository.
fn join(from: &str, relative: &str) -> Option<String> {
    if relative.is_empty() {
        return Some(from.to_string());
    }
    let mut parts: Vec<&str> = from.split('/').collect();
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

/// Pages that are not in the summary exactly once.
fn unlisted(pages: &Pages) -> Vec<String> {
    let links = pages.get(SUMMARY).map_or(&[][..], |summary| &summary.links);
    let listed: Vec<String> = links.iter().filter_map(|link| join(SUMMARY, &link.target)).collect();
    let count = |page: &str| listed.iter().filter(|listed| *listed == page).count();
    let wrong = pages.keys().filter(|page| *page != SUMMARY && count(page) != 1);
    wrong.map(|page| format!("{page}: is {} times in {SUMMARY}, not once", count(page))).collect()
}

#[test]
fn every_link_leads_somewhere_and_every_page_is_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let faults = faults(&root);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(pages(&root).len() > 40, "pages were not found");
}

#[test]
fn faults_are_named_with_file_and_line() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("docs-links");
    drop(fs::remove_dir_all(&root));
    fs::create_dir_all(root.join("docs/b")).expect("a writable folder");
    let write = |path: &str, text: &str| fs::write(root.join(path), text).expect("a writable file");
    write(SUMMARY, "# S\n\n- [a](a.md)\n- [gone](gone.md)\n");
    write(
        "docs/a.md",
        "# A\n\n[x](#b) [ok](#a) [s](SUMMARY.md#s)\n\n![p](p.svg)\n[f](../docs)\n[o](../../o.md)\n",
    );
    write("docs/b/c.md", "# C\n");
    let expected = [
        "docs/SUMMARY.md:4: `gone.md`: there is no file `docs/gone.md`",
        "docs/a.md:3: `#b`: docs/a.md has no `#b`; it has a",
        "docs/a.md:5: `p.svg`: there is no file `docs/p.svg`",
        "docs/a.md:6: `../docs` is a folder: link to a file in it",
        "docs/a.md:7: `../../o.md` leads out of the repository",
        "docs/b/c.md: is 0 times in docs/SUMMARY.md, not once",
    ];
    assert_eq!(faults(&root), expected);
}

#[test]
fn headings_have_the_usual_anchors() {
    let page =
        Page::read("# The `end`, now\n\n<a name=\"x\"></a>\n\n## A\n\n## xco-2: TCP\n\n## A\n");
    assert_eq!(page.anchors, ["the-end-now", "x", "a", "xco-2-tcp", "a-1"]);
}
