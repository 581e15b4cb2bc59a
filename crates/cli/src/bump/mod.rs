//! `slotline bump`: virtual queues for real packets, of a capture or of this machine's interfaces.

#[cfg(target_os = "linux")]
mod live;
mod replay;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Subcommand, ValueEnum};
use slotline_bump::capture::Setup;
use slotline_bump::{Guarded, Malformed, ebpf};
use slotline_net::aqm::spec::{Policy, QueueSpec};
use slotline_net::aqm::{Marker, ObjectSpec, queue_stream};
use slotline_net::units::Rate;
use slotline_scenario::queue_from_text;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct BumpOptions {
    #[command(subcommand)]
    what: Option<What>,
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    live: live::LiveOptions,
}

#[derive(Subcommand)]
enum What {
    /// Replay a capture through a bump, and record its marks, drops and estimates.
    #[command(alias = "pcapng")]
    Replay(replay::CaptureOptions),
}

/// The virtual queues of a bump.
#[derive(Args)]
struct VirtualQueues {
    /// Discipline and capacity in the form of a scenario's `queue`, for example '{ kind = "ecn", limit = "150KB" }'.
    #[arg(long, value_name = "QUEUE", default_value = "\"drop-tail\"")]
    queue: String,
    /// An eBPF object file whose program is the discipline, like '{ kind = "object", file = FILE }' in --queue. --queue
    /// then contains only the capacity.
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
    /// Seed of disciplines that use random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum OnMalformed {
    Pass,
    Drop,
}

pub fn bump(options: &BumpOptions) -> Result<ExitCode> {
    match &options.what {
        Some(What::Replay(options)) => replay::replay(options),
        #[cfg(target_os = "linux")]
        None => live::live(&options.live),
        #[cfg(not(target_os = "linux"))]
        None => bail!("name a command: `slotline bump replay`"),
    }
}

impl VirtualQueues {
    /// The sizes and rates of the virtual queues.
    fn setup(&self, spec: &QueueSpec) -> Result<Setup> {
        if self.rate.0 == 0 {
            bail!("--rate is 0: virtual queues would never drain");
        }
        Ok(Setup {
            rate: self.rate,
            capacity: spec.limit,
            queues: self.queues,
            prefix: (self.prefix, self.prefix6),
            framing: self.framing,
            malformed: match self.malformed {
                OnMalformed::Pass => Malformed::Pass,
                OnMalformed::Drop => Malformed::Drop,
            },
        })
    }

    /// Discipline and capacity.
    fn spec(&self) -> Result<QueueSpec> {
        let spec = queue_from_text(&self.queue).map_err(|why| anyhow!("--queue: {why}"))?;
        if spec.shared.is_some() || spec.priorities {
            bail!("--queue: a virtual queue has neither classes nor a shared buffer");
        }
        let Some(path) = &self.ebpf else { return Ok(spec) };
        if spec.policy != Policy::default() {
            bail!(
                "--queue and --ebpf both name a discipline: with --ebpf, --queue has only `limit`"
            );
        }
        let file =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let program = ebpf::load(&file).with_context(|| format!("{}", path.display()))?;
        let policy = Policy::Object(ObjectSpec {
            file: path.display().to_string(),
            instructions: ObjectSpec::INSTRUCTIONS,
            notifies: true,
            program: Some(Arc::new(program)),
        });
        Ok(QueueSpec { policy, ..spec })
    }

    /// The discipline of queue number `at`.
    fn discipline(&self, spec: &QueueSpec, at: u32) -> Guarded<Marker> {
        let rng = queue_stream(self.seed, at.into(), 0);
        Guarded::new(spec.marker(self.rate.inverse_rate(), 1_538, rng))
    }
}
