//! Options of `slotline sweep` and `slotline collect`.

use clap::Args;
use slotline_lab::sweep::part::Shard;
use std::path::PathBuf;

#[derive(Args)]
pub struct SweepOptions {
    /// The scenario file, with a `sweep`.
    pub file: PathBuf,
    /// Folder that receives a new folder for each point and one for the sweep.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub out: PathBuf,
    /// Number of points that run at the same time, each in its own process [default: one per processor].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Run only the points of shard I of N; 0/4, 1/4, 2/4 and 3/4 cover all points.
    #[arg(long, value_name = "I/N", value_parser = Shard::parse)]
    pub shard: Option<Shard>,
    /// List the points and whether each is done, and run nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub slurm: SlurmOptions,
    /// Run one point in this process, given as number:id.
    #[arg(long, hide = true)]
    pub point: Option<String>,
    /// Threads of that process.
    #[arg(long, hide = true, default_value_t = 1)]
    pub threads: usize,
}

/// Options for a cluster.
#[derive(Args)]
#[command(next_help_heading = "On a cluster")]
pub struct SlurmOptions {
    /// Write a job array for Slurm and print how to submit it, and run nothing.
    #[arg(long, conflicts_with_all = ["shard", "dry_run", "json", "jobs"])]
    pub slurm: bool,
    /// Number of tasks in the array, each of which runs one shard [default: one per point, at most 100].
    #[arg(long, value_name = "N", requires = "slurm", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub tasks: Option<u16>,
    /// Most tasks that run at the same time.
    #[arg(long, value_name = "N", requires = "slurm", value_parser = clap::value_parser!(u16).range(1..))]
    pub at_once: Option<u16>,
    /// Processors of a task, which runs that many points at the same time [default: 1].
    #[arg(long, value_name = "N", requires = "slurm", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub cpus: Option<u16>,
    /// Time limit of a task in Slurm's notation, for example 2:00:00.
    #[arg(long, value_name = "LIMIT", requires = "slurm", value_parser = word)]
    pub time: Option<String>,
    /// Memory of a task, for example 4G.
    #[arg(long, value_name = "SIZE", requires = "slurm", value_parser = word)]
    pub mem: Option<String>,
    /// Slurm partition.
    #[arg(long, value_name = "NAME", requires = "slurm", value_parser = word)]
    pub partition: Option<String>,
    /// Slurm account.
    #[arg(long, value_name = "NAME", requires = "slurm", value_parser = word)]
    pub account: Option<String>,
    /// Another option of sbatch, for example qos=long; can be given several times.
    #[arg(long, value_name = "OPTION", requires = "slurm", value_parser = word)]
    pub sbatch: Vec<String>,
}

#[derive(Args)]
pub struct CollectOptions {
    /// Folders that `slotline sweep` wrote to, or the folder of the sweep inside one.
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Folder that receives the folder of the joined sweep [default: the first DIR].
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

/// Text that is valid in a directive of a job script.
fn word(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_graphic() && !"#'\"\\`$".contains(c);
    let fits = !text.is_empty() && text.chars().all(plain);
    if fits { Ok(text.to_string()) } else { Err("write it without spaces and quotes".into()) }
}
