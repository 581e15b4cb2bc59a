//! `slotline export`: a result, or a fabric, in the format of another tool.

use crate::out;
use anyhow::{Context, Error, Result, bail};
use clap::{Args, Subcommand};
use slotline_lab::output;
use slotline_lab::record::{RunRecord, RunSet};
use slotline_report::export::{
    self, ExportError, containerlab, hpcc_fct, openmetrics, pcapng, perfetto, routes,
};
use slotline_scenario::Scenario;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
pub struct ExportOptions {
    #[command(subcommand)]
    format: Format,
}

/// The formats of exports.
#[derive(Subcommand)]
enum Format {
    /// Packets of the ports named in `measure.capture`, for Wireshark and tshark.
    Pcapng(PcapngOptions),
    /// Timeline of flows, schedule and queues for ui.perfetto.dev, as Chrome trace events.
    Perfetto(Source),
    /// Metrics and totals of all runs in OpenMetrics text, which Prometheus reads.
    Openmetrics(Source),
    /// Flow completion times in the format of HPCC's simulator, for its analysis scripts.
    HpccFct(Source),
    /// The fabric of a scenario as a containerlab topology.
    Containerlab(ContainerlabOptions),
    /// The two-level routing tables of a scenario's fat-tree, for switches.
    Routes(RoutesOptions),
}

/// The result to export, and the file to write.
#[derive(Args)]
struct Source {
    /// Folder of the result.
    run: PathBuf,
    /// File to write; it must not exist [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Export only this scheme.
    #[arg(long)]
    scheme: Option<String>,
    /// Export only this seed.
    #[arg(long)]
    seed: Option<u64>,
}

#[derive(Args)]
struct ContainerlabOptions {
    /// The scenario file.
    file: PathBuf,
    /// File to write; it must not exist [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Image of the containers; it needs `tc`.
    #[arg(long, default_value = "alpine:3")]
    image: String,
}

#[derive(Args)]
struct RoutesOptions {
    /// The scenario file.
    file: PathBuf,
    /// File to write; it must not exist [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Format of the routes: prefixes and suffixes, or a route for each host instead of a suffix.
    #[arg(long = "as", value_name = "FORMAT", default_value = "table")]
    format: RouteSyntax,
    /// Export only the switch of this name, for example agg0.1.
    #[arg(long, value_name = "NAME")]
    switch: Option<String>,
}

/// The formats of routing tables.
#[derive(Clone, Copy, clap::ValueEnum)]
enum RouteSyntax {
    /// Prefixes, suffixes and sizes.
    Table,
    /// Commands of iproute2.
    Linux,
    /// Static routes for FRR.
    Frr,
}

#[derive(Args)]
struct PcapngOptions {
    #[command(flatten)]
    source: Source,
    /// Export only this port, for example s0-h0; can be given several times.
    #[arg(long, value_name = "PORT")]
    port: Vec<String>,
    /// Bytes written of each frame; payloads are zeros.
    #[arg(long, value_name = "BYTES", default_value_t = pcapng::SNAP,
          value_parser = clap::value_parser!(u32).range(14..=262_144))]
    snap: u32,
}

pub fn export(options: &ExportOptions) -> Result<ExitCode> {
    match &options.format {
        Format::Pcapng(options) => captured(options)?,
        Format::Perfetto(source) => source.write(|set, out| {
            perfetto::write(set, source.one(set)?, out).map_err(ExportError::from)
        })?,
        Format::Openmetrics(source) => source.write(|set, out| {
            let runs = export::runs(set, source.scheme.as_deref(), source.seed)?;
            openmetrics::write(set, &runs, out).map_err(ExportError::from)
        })?,
        Format::HpccFct(source) => completion_times(source)?,
        Format::Containerlab(options) => lab(options)?,
        Format::Routes(options) => tables(options)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn lab(options: &ContainerlabOptions) -> Result<()> {
    let loaded = Scenario::load(&options.file)?;
    let text = containerlab::containerlab(&loaded, &options.image).map_err(Error::msg)?;
    written(options.output.as_deref(), |out| Ok(out.write_all(text.as_bytes())?))
}

fn tables(options: &RoutesOptions) -> Result<()> {
    let loaded = Scenario::load(&options.file)?;
    let tables = routes::Tables::of(&loaded, options.switch.as_deref()).map_err(Error::msg)?;
    written(options.output.as_deref(), |out| Ok(tables.write(options.format.into(), out)?))
}

impl From<RouteSyntax> for routes::RouteFormat {
    fn from(syntax: RouteSyntax) -> routes::RouteFormat {
        match syntax {
            RouteSyntax::Table => routes::RouteFormat::Table,
            RouteSyntax::Linux => routes::RouteFormat::Linux,
            RouteSyntax::Frr => routes::RouteFormat::Frr,
        }
    }
}

fn captured(options: &PcapngOptions) -> Result<()> {
    let source = &options.source;
    if source.output.is_none() && io::stdout().is_terminal() {
        bail!(
            "a capture is not text: name a file with --output, or pipe it, for example into tshark -r -"
        );
    }
    source.write(|set, out| pcapng::write(set, source.one(set)?, &options.port, options.snap, out))
}

fn completion_times(source: &Source) -> Result<()> {
    let mut left_out = hpcc_fct::LeftOut::default();
    source.write(|set, out| {
        left_out = hpcc_fct::write(set, source.one(set)?, out)?;
        Ok(())
    })?;
    report_omissions(left_out);
    Ok(())
}

/// Prints what the file omits.
fn report_omissions(left_out: hpcc_fct::LeftOut) {
    let counts = [
        (left_out.unfinished, "unfinished flows"),
        (left_out.without_ideal, "flows whose time alone is not known"),
        (left_out.requests, "requests"),
    ];
    let some = counts.iter().filter(|(count, _)| *count > 0);
    some.for_each(|(count, what)| out::warn(format_args!("left out: {count} {what}")));
}

type Sink = BufWriter<Box<dyn Write>>;

impl Source {
    /// The run for formats that contain a single run.
    fn one<'a>(&self, set: &'a RunSet) -> Result<&'a RunRecord, ExportError> {
        export::one_run(set, self.scheme.as_deref(), self.seed)
    }

    /// Reads the result and calls `fill` to write it.
    fn write(
        &self,
        fill: impl FnOnce(&RunSet, &mut Sink) -> Result<(), ExportError>,
    ) -> Result<()> {
        let set = read(&self.run)?;
        written(self.output.as_deref(), |out| fill(&set, out))
    }
}

/// Calls `fill` to write to `output`, which must not exist, or to standard output. An incomplete file is removed.
fn written(
    output: Option<&Path>,
    fill: impl FnOnce(&mut Sink) -> Result<(), ExportError>,
) -> Result<()> {
    match output {
        Some(path) => to_file(path, fill),
        None => filled(Box::new(out::Stream), fill),
    }
}

fn to_file(path: &Path, fill: impl FnOnce(&mut Sink) -> Result<(), ExportError>) -> Result<()> {
    let file =
        File::create_new(path).with_context(|| format!("cannot write {}", path.display()))?;
    let done = filled(Box::new(file), fill);
    if done.is_err() {
        drop(std::fs::remove_file(path));
    }
    done.with_context(|| path.display().to_string())
}

fn filled(
    sink: Box<dyn Write>,
    fill: impl FnOnce(&mut Sink) -> Result<(), ExportError>,
) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, sink);
    match fill(&mut out).and_then(|()| Ok(out.flush()?)) {
        // A reader that has closed the pipe is not an error; other errors of standard output are reported at the end.
        Err(ExportError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => Ok(done?),
    }
}

/// Reads the result in `folder`.
fn read(folder: &Path) -> Result<RunSet> {
    Ok(output::read::read(folder)?)
}
