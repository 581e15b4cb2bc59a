//! Valid inputs, from which mutations start.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The content of a file.
pub(crate) struct Sample {
    pub bytes: Vec<u8>,
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// The files below `folders` whose names end in one of `endings`, in order. Files larger than `most` are left out.
pub(crate) fn files(folders: &[&str], endings: &[&str], most: usize) -> Vec<Sample> {
    let mut paths = vec![];
    folders.iter().for_each(|folder| walk(&root().join(folder), &mut paths));
    paths.sort();
    let fits =
        |path: &PathBuf| endings.iter().any(|ending| path.to_string_lossy().ends_with(ending));
    let read = |path: &PathBuf| {
        let bytes = std::fs::read(path).ok()?;
        (bytes.len() <= most).then_some(Sample { bytes })
    };
    let samples: Vec<Sample> = paths.iter().filter(|path| fits(path)).filter_map(read).collect();
    assert!(!samples.is_empty(), "no {endings:?} in {folders:?}");
    samples
}

fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { walk(&path, out) } else { out.push(path) }
    }
}

/// Scenarios without `[sweep]`, and a small one for each central scheme.
pub(crate) fn scenarios() -> &'static [Sample] {
    static FILES: OnceLock<Vec<Sample>> = OnceLock::new();
    FILES.get_or_init(|| files(&["scenarios"], &[".toml"], 20_000))
}

/// Object files of disciplines.
pub(crate) fn objects() -> &'static [Sample] {
    static FILES: OnceLock<Vec<Sample>> = OnceLock::new();
    FILES.get_or_init(|| files(&["data/bpf", "crates/drivers/bump/bpf"], &[".o"], 1 << 20))
}

/// Captures.
pub(crate) fn captures() -> &'static [Sample] {
    static FILES: OnceLock<Vec<Sample>> = OnceLock::new();
    FILES.get_or_init(|| {
        files(&["crates/model/formats/tests/data/captures"], &[".pcap", ".pcapng"], 1 << 20)
    })
}
