//! The page as a whole.

use super::frame::{SCRIPTS, STYLE};
use super::*;
use crate::output::tests::fake;

#[test]
fn data_cannot_end_the_script() {
    let mut set = fake(1);
    set.name = "</script><b>".into();
    let text = page("id", &set, &Summary::of(&set)).data();
    assert!(!text.contains('<'), "{text}");
    let read: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read["name"], "</script><b>");
}

#[test]
fn every_figure_has_a_name_of_its_own() {
    let set = fake(2);
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
fn scripts_are_short_and_keep_to_themselves() {
    for script in SCRIPTS.iter().chain([&STYLE]) {
        let lines = script.lines().count();
        assert!(lines <= 500, "{lines} lines: {}", script.lines().next().unwrap_or(""));
        for word in ["eval(", "new Function", "fetch(", "XMLHttpRequest", "import(", "localStorage"]
        {
            assert!(!script.contains(word), "{word}");
        }
    }
}
