//! The command line.

use crate::check::CheckOptions;
use crate::explain::ExplainOptions;
use crate::export::ExportOptions;
use crate::late::Late;
use crate::list::ListOptions;
use crate::manual::{CompletionsOptions, ManOptions};
use crate::new::NewOptions;
use crate::reference::ReferenceOptions;
pub use crate::sweep::arguments::{CollectOptions, SweepOptions};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
#[cfg(target_os = "linux")]
use slotline_bench::peer::Peer;
use slotline_bench::{BENCHMARKS, Benchmark};
use slotline_net::time::Time;
use std::path::PathBuf;

/// Compare ways to run a datacenter network.
#[derive(Parser)]
#[command(name = "slotline", version, about, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Run a scenario, print the comparison and save the results.
    Run(Late<RunOptions>),
    /// Run a scenario with real hosts on this machine, joined by the network that it describes.
    #[cfg(target_os = "linux")]
    Emulate(Late<crate::emulate::EmulateOptions>),
    /// Be the first process of a guest machine.
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    Guest,
    /// Run a program on a host of a running emulation: `slotline exec h3 -- ping h7`.
    #[cfg(target_os = "linux")]
    Exec(Late<crate::hosts::ExecOptions>),
    /// Run a shell on a host of a running emulation.
    #[cfg(target_os = "linux")]
    Shell(Late<crate::hosts::ShellOptions>),
    /// Show the state of a running emulation: links, queues, and what the scheme has counted.
    #[cfg(target_os = "linux")]
    Top(Late<crate::top::TopOptions>),
    /// Remove the files of emulations that were killed; their hosts are gone already.
    #[cfg(target_os = "linux")]
    Clean,
    /// Show which features for emulation this machine has, and which it lacks.
    #[cfg(target_os = "linux")]
    Probe(Late<crate::hosts::ProbeOptions>),
    /// Show what a central scheduler does for an incast of real hosts, which are created on this machine.
    #[cfg(target_os = "linux")]
    Demo(Late<crate::demo::DemoOptions>),
    /// Hold the packets of this machine until the arbiter of its network lets them leave: a daemon.
    #[cfg(target_os = "linux")]
    Agent(Late<crate::daemon::AgentOptions>),
    /// Decide when packets of a real network leave: a daemon.
    #[cfg(target_os = "linux")]
    Arbiter(Late<crate::daemon::ArbiterOptions>),
    /// Run an arbiter again from the log of a real one, and check that it decides the same.
    #[cfg(target_os = "linux")]
    Replay(Late<crate::replay::ReplayOptions>),
    /// Create the private key of a machine of a real network, or print its public key.
    #[cfg(target_os = "linux")]
    #[command(arg_required_else_help = true)]
    Key(crate::daemon::KeyOptions),
    /// Show the state of daemons that run on this machine, or control them.
    #[cfg(target_os = "linux")]
    Ctl(crate::ctl::CtlOptions),
    /// Run a scenario on two engines, packet by packet and flow by flow or with real hosts, and show where they differ.
    Crosscheck(Late<crate::crosscheck::CrosscheckOptions>),
    /// Show where the time of single flows was spent.
    Why(Late<crate::why::WhyOptions>),
    /// Run all points of a scenario's `sweep`; points that already have a result are skipped.
    Sweep(Late<SweepOptions>),
    /// Run one point of a sweep, and print its record as a line of JSON: a unit of work for clusters.
    Point(Late<crate::sweep::point::PointOptions>),
    /// Join the parts of a sweep that ran on several machines or as several shards.
    Collect(Late<CollectOptions>),
    /// List the results in a folder: name, label, date, version and verdict.
    Results(Late<crate::results::ResultsOptions>),
    /// Show what changed from one result to another.
    Diff(Late<crate::diff::DiffOptions>),
    /// Rebuild the page of a result, or compare several results on one page.
    Report(Late<crate::report::ReportOptions>),
    /// Draw a figure of a result for a paper, as PDF, SVG or PNG.
    Figure(Late<crate::figure::FigureOptions>),
    /// Draw all figures of a result for a paper.
    Figures(Late<crate::figure::FiguresOptions>),
    /// Design a network: switches, cables, racks, cost, power and heat of fat-tree, tree and leaf-spine.
    #[command(alias = "plan")]
    Design(crate::design::DesignOptions),
    /// Run published experiments, print the paper's values beside ours, and write a page with the figures.
    Reproduce(Late<ReproduceOptions>),
    /// Convert a file of another program (traffic, captures, networks) into a part of a scenario.
    Import(Late<crate::import::ImportOptions>),
    /// Replay real traffic through virtual queues, with estimates, marks, drops and notifications.
    Bump(crate::bump::BumpOptions),
    /// Measure the speed and memory use of this program.
    Bench(Late<BenchOptions>),
    /// Check scenario files for errors without running them.
    Check(Late<CheckOptions>),
    /// Describe what a scenario simulates, estimate how long that takes, and warn of likely mistakes.
    Explain(Late<ExplainOptions>),
    /// List every name that a scenario can use; with a kind, also every parameter with its unit and default.
    List(Late<ListOptions>),
    /// Print the JSON Schema of scenario files, for editors.
    Schema,
    /// Write the reference pages that are in docs/reference.
    #[command(hide = true)]
    Reference(Late<ReferenceOptions>),
    /// Write a result in the format of another tool.
    Export(ExportOptions),
    /// Write a commented scenario as a starting point.
    New(NewOptions),
    /// Print the completion script of a shell.
    Completions(Late<CompletionsOptions>),
    /// Write manual pages.
    Man(Late<ManOptions>),
}

/// Checks that a label is one line that a list can show.
fn label(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a label is not empty".into()),
        text if text.chars().count() > 80 || text.contains(char::is_control) => {
            Err("a label is one line of at most 80 letters".into())
        }
        text => Ok(text.into()),
    }
}

/// The engine that simulates.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// Every packet.
    Packet,
    /// Flows as fluids.
    Flow,
}

/// The engines that reproduce.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReproduceEngine {
    /// Every packet is simulated.
    Packet,
    /// Simulation, and real hosts beside it.
    Emulate,
}

/// Options with the same meaning in all commands.
#[derive(Args)]
pub struct Common {
    /// Most threads at a time; results do not depend on their number [default: all processors].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

impl Common {
    pub fn threads(&self) -> usize {
        self.threads.map_or_else(processors, usize::from)
    }
}

/// The number of threads if none is given.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[derive(Args)]
pub struct RunOptions {
    #[command(flatten)]
    pub source: crate::source::Source,
    /// Folder that receives a new folder with the result.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub out: PathBuf,
    /// Text for the list of results and the name of the folder, for example "larger buffers".
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub label: Option<String>,
    /// Replace an existing result of the same scenario.
    #[arg(long)]
    pub force: bool,
    /// Write tables of more than a million rows as CSV as well as Parquet.
    #[arg(long)]
    pub csv: bool,
    /// Seed of the first repetition, instead of the file's.
    #[arg(long)]
    pub seed: Option<u32>,
    /// Number of repetitions, instead of the file's.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeat: Option<u32>,
    /// Simulation engine, instead of the file's.
    #[arg(long, value_enum)]
    pub engine: Option<Engine>,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Args)]
pub struct ReproduceOptions {
    /// The experiments, for example xco-2.
    #[arg(required_unless_present_any = ["list", "paper", "stored"], conflicts_with = "paper")]
    pub id: Vec<String>,
    /// All experiments of a paper, for example xco; `all` selects every paper.
    #[arg(long)]
    pub paper: Option<String>,
    /// List the experiments.
    #[arg(long)]
    pub list: bool,
    /// Print Markdown tables instead, for documents.
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Store the results in `results` below this folder, for example docs/reproduction, and write the tables into the
    /// pages of the papers there. The texts around them stay. Those of real hosts are only stored if they are valid, or
    /// with --accept-late.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["json", "markdown"])]
    pub pages: Option<PathBuf>,
    /// Run nothing: write the tables of these experiments, or of all, from the stored results.
    #[arg(long, requires = "pages", conflicts_with = "end")]
    pub stored: bool,
    /// Run the experiments with real hosts, too.
    #[arg(long, value_enum, default_value = "packet")]
    pub engine: ReproduceEngine,
    /// With `emulate`: how many times slower than real time the network runs.
    #[arg(long, value_name = "FACTOR")]
    pub dilation: Option<f64>,
    /// With `emulate`: what joins the hosts.
    #[cfg(target_os = "linux")]
    #[arg(long, value_enum)]
    pub switches: Option<crate::emulate::Switches>,
    /// End each run at this network time, if the experiment does not end before, for example 200ms.
    #[arg(long, value_name = "TIME")]
    pub end: Option<Time>,
    /// End with success even if the machine did not keep up with real hosts.
    #[arg(long)]
    pub accept_late: bool,
    /// Folder that receives a new folder with a page for each experiment.
    #[arg(long, value_name = "DIR", default_value = "results/reproduce")]
    pub out: PathBuf,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Args)]
pub struct BenchOptions {
    /// What to measure.
    #[arg(value_parser = benchmarks())]
    pub name: String,
    /// Include the large cases (8,192 hosts; needs up to 4 GB).
    #[arg(long)]
    pub large: bool,
    /// With `engine`: run a program of another simulator in turn on the same input, and print ratios. PATH is
    /// `crates/study/bench/peers/htsim.cpp`, linked to htsim.
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "htsim:PATH")]
    pub compare: Option<Peer>,
    /// With `emulate`: measure in a guest machine with virtual time (needs QEMU and a kernel; see `slotline probe`).
    #[cfg(target_os = "linux")]
    #[arg(long, conflicts_with_all = ["compare", "large"])]
    pub exact: bool,
    /// Run one case in this process, given as scenario:scheme:threads.
    #[arg(long, hide = true)]
    pub case: Option<String>,
    /// With `flow` and `--case`: write the traffic as a plain file for other simulators instead.
    #[arg(long, hide = true, value_name = "FILE")]
    pub traffic: Option<PathBuf>,
    #[command(flatten)]
    pub common: Common,
}

/// The names of all benchmarks, with what they measure.
fn benchmarks() -> PossibleValuesParser {
    let value = |benchmark: &Benchmark| PossibleValue::new(benchmark.name).help(benchmark.help);
    PossibleValuesParser::new(BENCHMARKS.iter().map(value))
}
