//! Result folders: files of a run and of a sweep, which are mutated and read back.

use crate::mutate::{mutated, mutated_text};
use crate::random::Draw;
use crate::readers::label_of;
use crate::scenarios::{law, shown};
use crate::scratch::{self, Scratch};
use slotline_lab::diff::{Diff, Question};
use slotline_lab::output::merge::merge;
use slotline_lab::output::read::{Stored, open};
use slotline_lab::output::write;
use slotline_lab::record::RunSet;
use slotline_lab::run::Jobs;
use slotline_lab::sweep::part::{Shard, State, find, join};
use slotline_lab::sweep::summary_file::SummaryFile;
use slotline_lab::sweep::{Part, Study, store};
use slotline_net::rng::Stream;
use slotline_report::export;
use slotline_scenario::Scenario;
use std::io::sink;
use std::path::Path;
use std::sync::OnceLock;
use twox_hash::XxHash64;

/// A run that leaves rows in most tables.
const SCENARIO: &str = r#"
name = "stored"
seed = 3
repeat = 2
end = { at = "1ms" }
fabric = { kind = "star", hosts = 5, rate = "10Gbps", delay = "1us" }
workload = [{ kind = "incast", senders = 4, block = "80KB" }]
measure = { sample = "50us", capture = ["s0-h0"] }
[[scheme]]
name = "dctcp"
transport = "dctcp"
queue = { kind = "ecn", limit = "60KB", threshold = "30KB" }
[[scheme]]
name = "xco"
control = { kind = "xco", slice = "100us", hysteresis = "10us" }
"#;

/// The file that names the others, with their checksums.
const INDEX: &str = "runs.json";

/// A result: the name and the bytes of each file.
type Files = Vec<(String, Vec<u8>)>;

fn read_all(folder: &Path) -> Files {
    let read = |entry: std::fs::DirEntry| {
        Some((entry.file_name().into_string().ok()?, std::fs::read(entry.path()).ok()?))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Files = entries.filter_map(read).collect();
    files.sort();
    files
}

/// An unchanged result, and its files.
fn result() -> &'static (Stored, Files) {
    static RESULT: OnceLock<(Stored, Files)> = OnceLock::new();
    RESULT.get_or_init(|| {
        let scratch = Scratch::new();
        let loaded = Scenario::parse(Path::new("stored.toml"), SCENARIO.into());
        let loaded = loaded.unwrap_or_else(|error| panic!("{error}"));
        let runs = Jobs::of(&loaded).run(&loaded, 1).unwrap_or_else(|error| panic!("{error}"));
        let set = RunSet::new(&loaded, runs);
        let folder = write(&set, scratch.path(), false, &[]).unwrap_or_else(|why| panic!("{why}"));
        let stored = open(&folder).unwrap_or_else(|why| panic!("{why}"));
        (stored, read_all(&folder))
    })
}

/// Mutates a text as text, and other files as bytes.
fn mutated_file(rng: &mut Stream, name: &str, seed: &[u8], other: &[u8]) -> Vec<u8> {
    if name.ends_with(".parquet") {
        mutated(rng, seed, other)
    } else {
        mutated_text(rng, seed, other)
    }
}

/// The name of a file of a result, followed by its mutated content.
pub(crate) fn file(rng: &mut Stream) -> Vec<u8> {
    let (_, files) = result();
    let read_back = |name: &str| {
        name.ends_with(".parquet") || name.ends_with(".json") || name == "scenario.toml"
    };
    let files: Vec<_> = files.iter().filter(|(name, _)| read_back(name)).collect();
    let ((name, seed), (_, other)) = (rng.pick(&files), rng.pick(&files));
    [name.as_bytes(), b"\n", &mutated_file(rng, name, seed, other)].concat()
}

/// The index with the length and the checksum of a file, so that the file is read.
fn with_note(index: &str, name: &str, bytes: &[u8]) -> String {
    let Some(at) = index.find(&format!("\"{name}\": {{")) else { return index.into() };
    let end = at + index[at..].find('}').unwrap_or(index.len() - at);
    let sum = checksum(bytes);
    let note = format!("\"{name}\": {{ \"bytes\": {}, \"xxh64\": \"{sum}\" ", bytes.len());
    [&index[..at], &note, &index[end..]].concat()
}

/// An index with the right checksum of itself, its last field.
fn sealed(index: &str) -> String {
    const KEY: &str = "\"checksum\": \"";
    const NONE: &str = "0000000000000000";
    let Some(from) = index.rfind(KEY).map(|at| at + KEY.len()) else { return index.into() };
    let Some(rest) = index.get(from + NONE.len()..) else { return index.into() };
    let sum = checksum([&index[..from], NONE, rest].concat().as_bytes());
    [&index[..from], &sum, rest].concat()
}

fn checksum(bytes: &[u8]) -> String {
    format!("{:016x}", XxHash64::oneshot(0, bytes))
}

/// The index for the mutated file `name`.
fn index(content: &[u8], name: &str, bytes: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(if name == INDEX { bytes } else { content }) {
        Ok(text) if name == INDEX => sealed(text).into_bytes(),
        Ok(text) => sealed(&with_note(text, name, bytes)).into_bytes(),
        Err(_) => bytes.to_vec(),
    }
}

/// A changed result is refused with a message, or can be read, compared and shown.
pub(crate) fn judge_file(input: &[u8]) -> Result<(), String> {
    let (name, bytes) = label_of(input);
    let (whole, files) = result();
    if !files.iter().any(|(known, _)| *known == name) {
        return Ok(());
    }
    let read = scratch::with(|scratch| {
        for (known, content) in files {
            match known.as_str() {
                INDEX => scratch.write(INDEX, &index(content, &name, bytes)),
                known if known == name => scratch.write(known, bytes),
                known => scratch.write(known, content),
            };
        }
        drop(SummaryFile::read(scratch.path()));
        open(scratch.path())
    });
    match read {
        Ok(stored) => used(whole, stored),
        Err(error) => law(!error.to_string().is_empty(), || "an error without a text".into()),
    }
}

/// Uses a result: compares, merges, exports and shows it.
fn used(whole: &Stored, stored: Stored) -> Result<(), String> {
    for (old, new) in [(whole, &stored), (&stored, whole)] {
        if let Err(error) = Diff::of(old, new, Question { tolerance: 0.0, metrics: vec![] }) {
            law(!error.to_string().is_empty(), || "an error without a text".into())?;
        }
    }
    for run in &stored.set.runs {
        drop(export::perfetto::write(&stored.set, run, &mut sink()));
        drop(export::pcapng::write(&stored.set, run, &[], export::pcapng::SNAP, sink()));
        drop(export::hpcc_fct::write(&stored.set, run, &mut sink()));
    }
    let runs: Vec<_> = stored.set.runs.iter().collect();
    drop(export::openmetrics::write(&stored.set, &runs, &mut sink()));
    shown(&stored.set)?;
    let parts = vec![("old".to_string(), whole.clone()), ("new".to_string(), stored)];
    merge(parts).map_or(Ok(()), |set| shown(&set))
}

const SWEEP: &str =
    "[sweep.grid]\nseed = [1, 2]\n\"scheme[dctcp].queue.threshold\" = [\"20KB\", \"30KB\"]\n";

/// The files of a finished sweep: its part, and the summary of its points.
fn sweep() -> &'static [(String, Vec<u8>)] {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| {
        let text = SCENARIO.replace("repeat = 2", "repeat = 1") + SWEEP;
        let study =
            Study::parse(Path::new("stored.toml"), text).unwrap_or_else(|why| panic!("{why}"));
        let mut part = Part::of(&study, Shard::WHOLE);
        for point in &mut part.points {
            point.state = State::Done;
            point.id = Some("point".into());
        }
        let summary = result().1.iter().find(|(name, _)| name == "summary.json");
        let summary = summary.map(|(_, bytes)| bytes.clone()).unwrap_or_default();
        vec![(part.file_name(), part.text().into_bytes()), ("summary.json".into(), summary)]
    })
}

/// The name of a file of a sweep, followed by its mutated content.
pub(crate) fn part(rng: &mut Stream) -> Vec<u8> {
    let files = sweep();
    let (name, seed) = if rng.once_in(3) { &files[1] } else { &files[0] };
    [name.as_bytes(), b"\n", &mutated_text(rng, seed, &files[0].1)].concat()
}

/// Parts of a sweep are refused with a message, or can be joined, written and shown.
pub(crate) fn judge_part(input: &[u8]) -> Result<(), String> {
    let (name, bytes) = label_of(input);
    let folder = Scratch::new();
    for (known, content) in sweep() {
        let content = if *known == name { bytes } else { content };
        let below = if known == "summary.json" { "point" } else { "sweep" };
        drop(std::fs::create_dir_all(folder.path().join(below)));
        folder.write(&format!("{below}/{known}"), content);
    }
    let joined = find(folder.path()).and_then(|parts| join(&parts));
    let sweep = match joined {
        Ok(sweep) => sweep,
        Err(error) => {
            return law(!error.to_string().is_empty(), || "an error without a text".into());
        }
    };
    let pages = slotline_report::sweep::files(&sweep, &|id| id.len() > 1);
    law(pages[0].1.contains("</html>") && !sweep.table(100).is_empty(), || {
        "a sweep is not shown".into()
    })?;
    if let Err(error) = store::write_sweep(folder.path(), &sweep, &pages) {
        law(!error.to_string().is_empty(), || "an error without a text".into())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksums equal those of the program, so that a changed file is read.
    #[test]
    fn mutated_files_get_right_checksums() {
        let (_, files) = result();
        let bytes = |name: &str| &files.iter().find(|(known, _)| known == name).unwrap().1;
        assert_eq!(index(bytes(INDEX), INDEX, bytes(INDEX)), *bytes(INDEX));
        let scenario = [bytes("scenario.toml"), &b"# more\n"[..]].concat();
        let folder = Scratch::new();
        files.iter().for_each(|(name, bytes)| drop(folder.write(name, bytes)));
        folder.write("scenario.toml", &scenario);
        assert!(open(folder.path()).is_err(), "a file with another checksum");
        folder.write(INDEX, &index(bytes(INDEX), "scenario.toml", &scenario));
        let stored = open(folder.path()).unwrap();
        assert!(stored.set.scenario.ends_with("# more\n"));
    }
}
