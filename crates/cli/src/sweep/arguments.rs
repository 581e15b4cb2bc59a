//! Options of `slotline sweep` and `slotline collect`.

use clap::Args;
use slotline_lab::sweep::part::Shard;
use std::path::PathBuf;

#[derive(Args)]
pub struct SweepOptions {
    /// The scenario file, with a `sweep`.
    pub file: PathBuf,
    /// Folder in which each point and the sweep itself get a folder of their own.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub out: PathBuf,
    /// Points at a time, each in a process of its own [default: all processors].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Do only the points of shard i of n: 0/4, 1/4, 2/4 and 3/4 together are all.
    #[arg(long, value_name = "I/N", value_parser = Shard::parse)]
    pub shard: Option<Shard>,
    /// Only list the points, and which are done.
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub slurm: SlurmOptions,
    /// Run one point in this process: number:id.
    #[arg(long, hide = true)]
    pub point: Option<String>,
    /// Threads of that process.
    #[arg(long, hide = true, default_value_t = 1)]
    pub threads: usize,
}

/// For a cluster.
#[derive(Args)]
#[command(next_help_heading = "On a cluster")]
pub struct SlurmOptions {
    /// Run nothing, but write a job array for Slurm, and say how to submit it.
    #[arg(long, conflicts_with_all = ["shard", "dry_run", "json", "jobs"])]
    pub slurm: bool,
    /// Tasks of the array, each a shard [default: one per point, at most 100].
    #[arg(long, value_name = "N", requires = "slurm", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub tasks: Option<u16>,
    /// Tasks at a time, at most.
    #[arg(long, value_name = "N", requires = "slurm", value_parser = clap::value_parser!(u16).range(1..))]
    pub at_once: Option<u16>,
    /// Processors of a task, which does as many points at a time [default: 1].
    #[arg(long, value_name = "N", requires = "slurm", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub cpus: Option<u16>,
    /// Time limit of a task, as Slurm has it: 2:00:00.
    #[arg(long, value_name = "LIMIT", requires = "slurm", value_parser = word)]
    pub time: Option<String>,
    /// Memory of a task: 4G.
    #[arg(long, value_name = "SIZE", requires = "slurm", value_parser = word)]
    pub mem: Option<String>,
    /// Partition.
    #[arg(long, value_name = "NAME", requires = "slurm", value_parser = word)]
    pub partition: Option<String>,
    /// Account.
    #[arg(long, value_name = "NAME", requires = "slurm", value_parser = word)]
    pub account: Option<String>,
    /// Any other option of sbatch, as qos=long; may be repeated.
    #[arg(long, value_name = "OPTION", requires = "slurm", value_parser = word)]
    pub sbatch: Vec<String>,
}

#[derive(Args)]
pub struct CollectOptions {
    /// Folders with results of `slotline sweep`, or the sweep's own folder in one.
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Folder in which the joined sweep gets its folder [default: the first DIR].
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

/// What can stand in a directive of a job script.
fn word(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_graphic() && !"#'\"\\`$".contains(c);
    let fits = !text.is_empty() && text.chars().all(plain);
    if fits { Ok(text.to_string()) } else { Err("write it without spaces and quotes".into()) }
}
