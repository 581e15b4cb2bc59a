//! The real documents build, every page can be reached, and what is wrong is named with file and line.

use slotline_site::{Fault, Site};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn real() -> Site {
    let words =
        |faults: Vec<Fault>| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    Site::build(&root()).map_err(words).unwrap_or_else(|faults| panic!("{faults}"))
}

/// The values of `key="…"` in a page.
fn values<'a>(page: &'a str, key: &str) -> Vec<&'a str> {
    let mark = format!(" {key}=\"");
    let starts = page.match_indices(&mark).map(|(at, _)| at + mark.len());
    starts.filter_map(|at| page[at..].split_once('"').map(|(value, _)| value)).collect()
}

/// Where a relative link in the page at `from` leads.
fn follow(from: &str, to: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in to.split('/') {
        if part == ".." {
            assert!(parts.pop().is_some(), "{from}: {to} leads out of the site");
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// The pages and files that a page leads to, with the anchor or nothing.
fn links(site: &Site, from: &str) -> Vec<(String, String)> {
    let page = String::from_utf8_lossy(&site.files[from]).into_owned();
    let all = [values(&page, "href"), values(&page, "src")].concat();
    let here = all.into_iter().filter(|to| !to.contains("://") && !to.starts_with("mailto:"));
    here.map(|to| {
        let (file, anchor) = to.split_once('#').unwrap_or((to, ""));
        let file = if file.is_empty() { from.to_string() } else { follow(from, file) };
        (file, anchor.to_string())
    })
    .collect()
}

#[test]
fn every_page_is_reached_from_the_first() {
    let site = real();
    let mut seen = BTreeSet::from(["index.html".to_string()]);
    let mut open = vec!["index.html".to_string()];
    while let Some(page) = open.pop().filter(|page| site.files.contains_key(page)) {
        if page.ends_with(".html") {
            let new = links(&site, &page).into_iter().map(|(file, _)| file);
            open.extend(new.filter(|file| seen.insert(file.clone())).collect::<Vec<_>>());
        }
    }
    let all: BTreeSet<String> = site.files.keys().cloned().collect();
    assert_eq!(seen, all, "reached, and there");
    assert!(all.len() > 15, "{all:?}");
}

#[test]
fn every_link_and_anchor_is_there() {
    let site = real();
    for from in site.files.keys().filter(|file| file.ends_with(".html")) {
        for (file, anchor) in links(&site, from) {
            let target = site.files.get(&file).unwrap_or_else(|| panic!("{from}: no {file}"));
            let target = String::from_utf8_lossy(target);
            let ids = [values(&target, "id"), values(&target, "name")].concat();
            assert!(anchor.is_empty() || ids.contains(&anchor.as_str()), "{from}: {file}#{anchor}");
        }
    }
}

#[test]
fn pages_need_no_network_and_no_script() {
    let site = real();
    for (name, page) in site.files.iter().filter(|(name, _)| name.ends_with(".html")) {
        let page = String::from_utf8_lossy(page);
        let loaded = [values(&page, "src"), values(&page, "srcset")].concat();
        assert!(loaded.iter().all(|from| !from.contains("://")), "{name}: {loaded:?}");
        assert!(!page.contains("<script") && !page.contains("<link"), "{name}");
        let ids = values(&page, "id");
        assert_eq!(ids.len(), ids.iter().collect::<BTreeSet<_>>().len(), "{name}: {ids:?}");
        assert_eq!(page.matches("<h1").count(), 1, "{name}: one title");
    }
}

/// A folder of its own with these files.
fn small(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    drop(fs::remove_dir_all(&root));
    for (file, text) in files {
        let path = root.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a writable folder");
        fs::write(path, text).expect("a writable folder");
    }
    root
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let root = small(
        "site-faults",
        &[
            ("docs/index.md", "# T\n\n## S\n\n- [a](a.md)\n- [gone](gone.md)\n"),
            (
                "docs/a.md",
                "# A\n\n[x](#b) [ok](#a)\n\n![p](p.svg)\n[f](../docs)\n[o](../../o.md)\n",
            ),
            ("docs/b/c.md", "# C\n"),
        ],
    );
    let faults = Site::build(&root).expect_err("faults");
    let said: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let expected = [
        "docs/a.md:3: `#b`: docs/a.md has no `#b`; it has a",
        "docs/a.md:5: `p.svg`: there is no file `docs/p.svg`",
        "docs/a.md:6: `../docs` is a folder: link to a file in it",
        "docs/a.md:7: `../../o.md` leads out of the repository",
        "docs/b/c.md: neither docs/index.md nor the README.md of its folder has a link to it",
        "docs/index.md:6: `gone.md`: there is no file `docs/gone.md`",
    ];
    assert_eq!(said, expected);
}

#[test]
fn a_small_site() {
    let root = small(
        "site-small",
        &[
            ("README.md", "# R\n"),
            ("x.toml", "a = 1 # <one>\n"),
            ("docs/p.svg", "<svg/>"),
            (
                "docs/index.md",
                "# Slotline\n\n## S\n\n- [one](b/c.md)\n- [r](../README.md)\n- [d](d/README.md)\n",
            ),
            ("docs/d/README.md", "# All\n\n[e](e.md) [other](../b/c.md)\n"),
            ("docs/d/e.md", "# E\n"),
            (
                "docs/b/c.md",
                "# C & D\n\n## E\n\n![p](../p.svg) [x](../../x.toml) [i](../index.md#s)\n\n\
              ```console exact\n$ a <b>\nc\n```\n\n| a |\n|---|\n| 1 |\n",
            ),
        ],
    );
    let site = Site::build(&root).unwrap_or_else(|faults| panic!("{faults:?}"));
    let files: Vec<&str> = site.files.keys().map(String::as_str).collect();
    let expected = "b/c.html d/README.html d/e.html files/docs/p.svg files/x.toml.html index.html \
                    project/readme.html";
    assert_eq!(files.join(" "), expected);
    let has = |page: &str, part| String::from_utf8_lossy(&site.files[page]).contains(part);
    let below = "<li class=\"below\"><a href=\"../d/e.html\">e</a>";
    assert!(has("d/README.html", below) && !has("b/c.html", "d/e.html"), "only within the folder");
    let page = String::from_utf8_lossy(&site.files["b/c.html"]).into_owned();
    for part in [
        "<title>C &amp; D · Slotline</title>",
        "<h2 id=\"e\">E</h2>",
        "<img src=\"../files/docs/p.svg\" alt=\"p\" />",
        "<a href=\"../files/x.toml.html\">x</a>",
        "<a href=\"../index.html#s\">i</a>",
        "<pre><code><span class=\"p\">$ </span><b>a &lt;b&gt;</b>\nc\n</code></pre>",
        "<div class=\"wide\"><table>",
        "<a class=\"next\" rel=\"next\" href=\"../project/readme.html\">→ r</a>",
        "<a href=\"../b/c.html\" aria-current=\"page\">one</a>",
    ] {
        assert!(page.contains(part), "no {part} in\n{page}");
    }
    let text = String::from_utf8_lossy(&site.files["files/x.toml.html"]).into_owned();
    assert!(text.contains("a = 1 # &lt;one&gt;"), "{text}");
    let out = root.join("out");
    site.write(&out).expect("a writable folder");
    assert_eq!(fs::read(out.join("files/docs/p.svg")).expect("a picture"), b"<svg/>");
}
