//! The page as a whole.

use super::frame::{SCRIPTS, STYLE};
use super::*;

#[test]
fn data_cannot_end_the_script() {
    let mut set = RunSet::example(1);
    set.name = "</script><b>".into();
    let text = page("id", &set, &Summary::of(&set)).data();
    assert!(!text.contains('<'), "{text}");
    let read: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read["name"], "</script><b>");
}

#[test]
fn every_figure_has_a_name_of_its_own() {
    let set = RunSet::example(2);
    let sections = sections(&set, &Summary::of(&set));
    let mut ids: Vec<&str> =
        sections.iter().flat_map(|s| &s.figures).flatten().map(|p| p.id).collect();
    ids.extend(sections.iter().map(|section| section.id));
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "{ids:?}");
}

#[test]
fn scripts_are_short_and_self_contained() {
    for script in SCRIPTS.iter().chain([&STYLE]) {
        let lines = script.lines().count();
        assert!(lines <= 500, "{lines} lines: {}", script.lines().next().unwrap_or(""));
        for word in ["eval(", "new Function", "fetch(", "XMLHttpRequest", "import(", "localStorage"]
        {
            assert!(!script.contains(word), "{word}");
        }
    }
}

/// Every tag is closed in order, and attributes and text have no unescaped `<` or `&`. Scripts and styles may have
/// them.
fn well_formed(page: &str) -> Result<usize, String> {
    let body = page.strip_prefix("<!DOCTYPE html>").ok_or("no doctype")?;
    let mut open: Vec<&str> = vec![];
    let mut tags = 0;
    let mut rest = body;
    while let Some((text, next)) = rest.split_once('<') {
        let (tag, after) = next.split_once('>').ok_or(format!("unclosed <{next}"))?;
        let name = tag.split([' ', '\n']).next().unwrap_or("");
        let bare = text
            .split('&')
            .skip(1)
            .any(|rest| !rest.split([' ', '<']).next().unwrap_or("").contains(';'));
        if bare || tag.matches('"').count() % 2 == 1 {
            return Err(format!("{text}<{tag}>"));
        }
        tags += 1;
        match name.strip_prefix('/') {
            Some(closed) if open.pop() != Some(closed) => return Err(format!("stray </{closed}>")),
            None if !tag.ends_with('/') => open.push(name),
            _ => {}
        }
        rest = match name {
            "script" => &after[after.find("</script>").ok_or("an endless script")?..],
            _ => after,
        };
    }
    if open.is_empty() { Ok(tags) } else { Err(format!("left open: {open:?}")) }
}

#[test]
fn the_report_stands_alone_and_is_well_formed() {
    let set = RunSet::example(3);
    let page = html("incast-0", &set, &Summary::of(&set));
    let tags = well_formed(&page).unwrap();
    assert!(tags > 100, "{tags}");
    for part in ["Flow completion times", "Slowdown", "Queue over time", "Throughput over time"] {
        assert!(page.contains(&format!("<h3>{part}")), "{part}");
    }
    // These addresses are only names and are never fetched: the name space of SVG and the schema of Vega-Lite.
    let names = ["http://www.w3.org/2000/svg", "https://vega.github.io/schema/vega-lite/v5.json"];
    let rest = names.iter().fold(page.clone(), |page, name| page.replacen(name, "", 1));
    for outside in ["http:", "https:", "<link", " src=", "@import", "url("] {
        assert!(!rest.contains(outside), "{outside}");
    }
    assert!(page.contains("Eight senders &amp; one receiver.") && !page.contains("<slices>"));
    assert!(!page.contains("\"NaN") && page.len() < 1_000_000, "{}", page.len());
}

#[test]
fn an_interrupted_run_is_marked() {
    let mut set = RunSet::example(3);
    set.runs.truncate(4);
    assert!(html("id", &set, &Summary::of(&set)).contains("Incomplete"));
    set.runs.clear();
    assert!(well_formed(&html("id", &set, &Summary::of(&set))).is_ok());
}
