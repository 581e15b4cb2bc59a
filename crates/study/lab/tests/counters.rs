//! Each counter has a name of its own, is written by some code, and is described in `docs/results.md`.

use regex_lite::Regex;
use slotline_net::node::Counter;
use slotline_schemes::counters::{all, hybrid, tables};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");
const BEGIN: &str = "<!-- counters -->\n";
const END: &str = "<!-- end of counters -->\n";

#[test]
fn names_are_unique() {
    let names: BTreeSet<&str> = all().iter().map(|counter| counter.name).collect();
    assert_eq!(names.len(), all().len());
}

#[test]
fn meanings_are_sentences() {
    for Counter { name, meaning, .. } in all() {
        assert!(
            meaning.ends_with('.') && meaning.starts_with(|c: char| !c.is_lowercase()),
            "{name}"
        );
    }
}

/// The constant of a counter is its name in capital letters, as the first element of a pair with a value.
#[test]
fn somebody_writes_each_counter() {
    let written = Regex::new(r"\(\s*counters::([A-Z0-9_]+),").expect("a right expression");
    let sources = ["model", "systems", "drivers"].map(|floor| format!("{ROOT}/crates/{floor}"));
    let written: BTreeSet<String> = sources
        .iter()
        .flat_map(|floor| files(Path::new(floor)))
        .flat_map(|text| written.captures_iter(&text).map(|c| c[1].to_string()).collect::<Vec<_>>())
        .collect();
    let times: Vec<Counter> = hybrid::ALL_TIMES.iter().flat_map(|one| one.counters()).collect();
    for counter in all() {
        let of_times = times.contains(&counter).then(|| counter.name.split_once("latency"));
        let name = of_times.flatten().map_or(counter.name.into(), |(by, _)| format!("{by}latency"));
        let constant = name.to_uppercase().replace('-', "_");
        assert!(written.contains(&constant), "nobody writes {constant}");
    }
}

/// The texts of all sources below `folder`, without tests.
fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder of sources");
    let paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    let text = |path: &PathBuf| fs::read_to_string(path).expect("a readable source");
    let is_source = |path: &&PathBuf| {
        path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs")
    };
    let folders = paths.iter().filter(|path| path.is_dir() && !path.ends_with("tests"));
    let below = folders.flat_map(|folder| files(folder));
    paths.iter().filter(is_source).map(text).chain(below).collect()
}

#[test]
fn the_document_has_every_counter() {
    let path = Path::new(ROOT).join("docs/results.md");
    let document = fs::read_to_string(&path).expect("a readable document");
    let (_, rest) = document.split_once(BEGIN).expect("the beginning of the counters");
    let (said, _) = rest.split_once(END).expect("the end of the counters");
    let right: String = tables().iter().map(|(by, counters)| table(by, counters)).collect();
    let why = format!("between `{}` and `{}` write:\n{right}", BEGIN.trim(), END.trim());
    assert!(said == right, "{}: {why}", path.display());
}

fn table(by: &str, counters: &[Counter]) -> String {
    let rows: String = counters.iter().map(row).collect();
    format!(
        "\n### Counters: {by}\n\n| count | unit | over nodes | meaning |\n|---|---|---|---|\n{rows}"
    )
}

fn row(counter: &Counter) -> String {
    let (unit, combine) = (counter.unit.symbol(), counter.combine.name());
    format!("| `{}` | {unit} | {combine} | {} |\n", counter.name, counter.meaning)
}
