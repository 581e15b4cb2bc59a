//! `slotline bump replay`: replays a capture through a bump.

use super::VirtualQueues;
use crate::out::say;
use anyhow::{Context, Result};
use clap::Args;
use slotline_bump::Guarded;
use slotline_bump::capture::{Report, Setup, through};
use slotline_net::aqm::{Discipline, Failure, Marker};
use slotline_net::units::Bytes;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
pub struct CaptureOptions {
    /// The capture of Ethernet frames, a pcap or pcapng file.
    input: PathBuf,
    /// The pcapng file to write, with the packets that pass and with estimates as comments.
    output: PathBuf,
    #[command(flatten)]
    queues: VirtualQueues,
    /// The CSV file to write, with a line for each packet of the input.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Replace existing files.
    #[arg(long)]
    force: bool,
}

pub fn replay(options: &CaptureOptions) -> Result<ExitCode> {
    let spec = options.queues.spec()?;
    let setup = options.queues.setup(&spec)?;
    take(options, &setup, |at| options.queues.discipline(&spec, at))
}

fn take(
    options: &CaptureOptions,
    setup: &Setup,
    discipline: impl FnMut(u32) -> Guarded<Marker>,
) -> Result<ExitCode> {
    let path = &options.input;
    let input = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let output = create(&options.output, options)?;
    let table: Box<dyn Write> = match &options.csv {
        Some(csv) => Box::new(create(csv, options)?),
        None => Box::new(std::io::sink()),
    };
    let done = through(setup, &input, discipline, output, table);
    if done.is_err() {
        // A partial capture would look like a complete one.
        options
            .csv
            .iter()
            .chain([&options.output])
            .for_each(|file| drop(std::fs::remove_file(file)));
    }
    let (report, disciplines) = done.with_context(|| format!("{}", path.display()))?;
    show(&report);
    let failures = disciplines.iter().map(Discipline::failure);
    for ((network, ..), failure) in report.queues.iter().zip(failures) {
        if let Some(Failure { at, why, unjudged }) = failure {
            say(&format!(
                "{network}: the program was stopped at {at}, and {unjudged} packets have passed since: {why}"
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn create(path: &Path, options: &CaptureOptions) -> Result<BufWriter<File>> {
    let mut open = File::options();
    open.write(true);
    let open = match options.force {
        true => open.create(true).truncate(true),
        false => open.create_new(true),
    };
    let file = open.open(path);
    let file = file.with_context(|| {
        format!("cannot write {}; --force replaces an existing file", path.display())
    })?;
    Ok(BufWriter::new(file))
}

/// The largest number of queues that are listed.
const LISTED: usize = 20;

fn show(report: &Report) {
    say(&format!(
        "{} packets, {} queues; without a queue: {}, malformed: {}, out of order: {}, notices: {}",
        report.packets,
        report.queues.len(),
        report.others.unclassified,
        report.others.malformed,
        report.late,
        report.notices
    ));
    let line = |cells: [&str; 6]| {
        let [network, packets, marks, early, full, most] = cells;
        say(&format!("{network:<40} {packets:>10} {marks:>10} {early:>10} {full:>10} {most:>10}"));
    };
    line(["destination", "packets", "marked", "dropped", "no room", "longest"]);
    let mut queues: Vec<_> = report.queues.iter().collect();
    queues.sort_by_key(|(_, counts, _)| std::cmp::Reverse(counts.packets));
    for (network, counts, most) in queues.iter().take(LISTED) {
        let [packets, marks, early, full] =
            [counts.packets, counts.marks, counts.early, counts.full].map(|n| n.to_string());
        let most = Bytes(*most).to_string();
        line([&network.to_string(), &packets, &marks, &early, &full, &most]);
    }
    if let Some(more) = queues.len().checked_sub(LISTED).filter(|more| *more > 0) {
        say(&format!("and {more} more"));
    }
}
