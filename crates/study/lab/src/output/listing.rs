//! The results in a folder: what `slotline results` lists.

use crate::sweep::summary_file::SummaryFile;
use serde::Serialize;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The file of a result with the text that its user gave it.
pub const LABEL: &str = "label.txt";

/// A result.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub struct Entry {
    /// The name of its folder.
    pub folder: String,
    /// The text that its user gave it; empty if there is none.
    pub label: String,
    /// When it was made, in UTC: `2026-01-31 23:59`.
    pub made: String,
    /// The program's version.
    pub version: String,
    /// The number of metrics on which each scheme is better and worse than the first one.
    pub verdict: String,
    /// Seconds since 1970, to sort.
    #[serde(skip)]
    at: u64,
}

/// The results in `root`, the latest first. Folders with other content are left out.
pub fn entries(root: &Path) -> io::Result<Vec<Entry>> {
    let folders = fs::read_dir(root)?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut all: Vec<Entry> = folders.filter_map(|folder| entry(&folder)).collect();
    all.sort_by(|a, b| (b.at, &a.folder).cmp(&(a.at, &b.folder)));
    Ok(all)
}

fn entry(folder: &Path) -> Option<Entry> {
    let name = folder.file_name()?.to_str().filter(|name| !name.starts_with('.'))?;
    let made = fs::metadata(folder.join("summary.json")).ok()?.modified().ok()?;
    let summary = SummaryFile::read(folder).ok()?;
    let label = fs::read_to_string(folder.join(LABEL)).unwrap_or_default();
    let verdict = if summary.complete { verdict(&summary) } else { "incomplete".into() };
    let at = made.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Some(Entry {
        folder: name.into(),
        label: label.trim().into(),
        made: date(made),
        version: summary.version,
        verdict,
        at,
    })
}

/// `dctcp 5 better, 1 worse`, for each scheme but the first.
fn verdict(summary: &SummaryFile) -> String {
    let of = |(name, scheme): &(String, crate::sweep::summary_file::SchemeEntry)| {
        let verdicts = scheme.metrics.values().filter_map(|m| m.against_baseline.as_ref());
        let count = |word: &str| verdicts.clone().filter(|v| v.verdict.starts_with(word)).count();
        format!("{name} {} better, {} worse", count("better"), count("worse"))
    };
    let others: Vec<String> = summary.schemes.iter().skip(1).map(of).collect();
    others.join("; ")
}

/// A time as date and time in UTC (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": `civil_from_days`).
fn date(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let days = seconds / 86_400 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let minutes = seconds % 86_400 / 60;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", minutes / 60, minutes % 60)
}

/// The listing as a table for a screen.
pub fn table(entries: &[Entry]) -> String {
    let head = ["result", "label", "made (UTC)", "version", "verdict"].map(String::from);
    let row = |e: &Entry| [&e.folder, &e.label, &e.made, &e.version, &e.verdict].map(String::clone);
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(entries.iter().map(row)).collect();
    let wide =
        |at: usize| rows.iter().map(|row| super::terminal::text_width(&row[at])).max().unwrap_or(0);
    let line = |row: &[String; 5]| {
        let cells = (0..5).map(|at| super::terminal::padded(&row[at], wide(at), false));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{scratch, write};
    use crate::record::RunSet;
    use std::time::Duration;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |seconds: u64| date(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01 00:00");
        assert_eq!(at(951_782_399), "2000-02-28 23:59");
        assert_eq!(at(951_782_400), "2000-02-29 00:00");
        assert_eq!(at(1_767_225_599), "2025-12-31 23:59");
    }

    #[test]
    fn results_are_listed_with_label_and_verdict() {
        let root = scratch("listing");
        let folder = write(&RunSet::example(3), &root, false, &[]).unwrap();
        fs::write(folder.join(LABEL), "the first\n").unwrap();
        fs::create_dir(root.join("something else")).unwrap();
        let found = entries(&root).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].label, "the first");
        assert_eq!(found[0].folder, folder.file_name().unwrap().to_str().unwrap());
        assert!(found[0].verdict.starts_with("dctcp ") && found[0].verdict.contains(" better"));
        assert!(table(&found).starts_with("result  "), "{}", table(&found));
        fs::remove_dir_all(root).unwrap();
    }
}
