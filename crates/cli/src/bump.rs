//! `slotline bump replay`: replays a capture through a bump.

use crate::out::say;
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use slotline_bump::capture::{Report, Setup, through};
use slotline_bump::{Guarded, Malformed, ebpf};
use slotline_net::aqm::spec::{Policy, QueueSpec};
use slotline_net::aqm::{Discipline, Failure, Marker, ObjectSpec, queue_stream};
use slotline_net::id::{NodeId, PortId};
use slotline_net::units::{Bytes, Rate};
use slotline_scenario::queue_from_text;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

#[derive(Args)]
pub struct BumpOptions {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Replay a capture through a bump, and record its marks, drops and estimates.
    #[command(alias = "pcapng")]
    Replay(CaptureOptions),
}

#[derive(Args)]
struct CaptureOptions {
    /// The capture of Ethernet frames, in pcap or pcapng.
    input: PathBuf,
    /// The pcapng file to write, with the packets that pass and with estimates as comments.
    output: PathBuf,
    /// Discipline and capacity in the form of a scenario's `queue`, for example '{ kind = "ecn", limit = "150KB" }'.
    #[arg(long, value_name = "QUEUE", default_value = "\"drop-tail\"")]
    queue: String,
    /// An eBPF object file whose program decides, as '{ kind = "object", file = FILE }' of --queue; that then
    /// says the capacity alone.
    #[arg(long, value_name = "FILE")]
    ebpf: Option<PathBuf>,
    /// The rate at which virtual queues drain.
    #[arg(long, default_value = "1Gbps")]
    rate: Rate,
    /// Largest number of virtual queues; packets for further destinations pass unchanged.
    #[arg(long, default_value_t = 1_024, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    queues: u32,
    /// Leading bits of IPv4 destinations that share a virtual queue.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u8).range(0..=32))]
    prefix: u8,
    /// Leading bits of IPv6 destinations that share a virtual queue.
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u8).range(0..=128))]
    prefix6: u8,
    /// Bytes that links add to each packet: preamble, check sequence and gap.
    #[arg(long, default_value_t = slotline_bump::pipeline::FRAMING)]
    framing: u32,
    /// What happens to malformed packets.
    #[arg(long, value_enum, default_value = "pass")]
    malformed: OnMalformed,
    /// CSV file to write, with a line for each packet of the input.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Seed of disciplines that use random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Replace existing files.
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum OnMalformed {
    Pass,
    Drop,
}

pub fn bump(options: &BumpOptions) -> Result<ExitCode> {
    let What::Replay(options) = &options.what;
    let spec = queue(options)?;
    if spec.shared.is_some() || spec.priorities {
        bail!("--queue: a virtual queue has neither classes nor a shared buffer");
    }
    if options.rate.0 == 0 {
        bail!("--rate is 0: nothing would drain");
    }
    let setup = Setup {
        rate: options.rate,
        capacity: spec.limit,
        queues: options.queues,
        prefix: (options.prefix, options.prefix6),
        framing: options.framing,
        malformed: match options.malformed {
            OnMalformed::Pass => Malformed::Pass,
            OnMalformed::Drop => Malformed::Drop,
        },
    };
    take(options, &setup, |at: u32| {
        let rng = queue_stream(options.seed, NodeId(at), PortId(0), 0);
        Guarded::new(spec.marker(options.rate.inverse_rate(), 1_538, rng))
    })
}

/// Discipline and capacity.
fn queue(options: &CaptureOptions) -> Result<QueueSpec> {
    let spec = queue_from_text(&options.queue).map_err(|why| anyhow::anyhow!("--queue: {why}"))?;
    let Some(path) = &options.ebpf else { return Ok(spec) };
    if spec.policy != Policy::default() {
        bail!("--queue names a discipline, and --ebpf another: with --ebpf it says `limit` alone");
    }
    let file = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let program = ebpf::load(&file).with_context(|| format!("{}", path.display()))?;
    let policy = Policy::Object(ObjectSpec {
        file: path.display().to_string(),
        instructions: ObjectSpec::INSTRUCTIONS,
        notifies: true,
        program: Some(Arc::new(program)),
    });
    Ok(QueueSpec { policy, ..spec })
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
        // Half a capture would look like a whole one.
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
                "{network}: the program was stopped at {at}, {unjudged} packets passed since: {why}"
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
        format!("cannot write {}; --force replaces a file that is there", path.display())
    })?;
    Ok(BufWriter::new(file))
}

/// Queues that are listed.
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
