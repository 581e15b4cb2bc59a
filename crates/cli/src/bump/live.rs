//! `slotline bump --out INTERFACE`: the bump as a daemon, for packets that this machine forwards.

use super::VirtualQueues;
use crate::out::say;
use crate::service::{ServiceOptions, stoppable};
use anyhow::{Context, Result, bail};
use clap::Args;
use slotline_bump::{ByDestination, Guarded, Own, Pipeline};
use slotline_linux::crossing::{Crossed, Crossing};
use slotline_live::bump::LiveBump;
use slotline_live::status::Shared;
use slotline_net::aqm::bank::Entry;
use slotline_net::aqm::spec::{Policy, QueueSpec};
use slotline_net::aqm::{Marker, VirtualQueue};
use std::process::ExitCode;

#[derive(Args)]
pub struct LiveOptions {
    /// The interface by which packets arrive [default: any].
    #[arg(long = "in", value_name = "INTERFACE", requires = "output")]
    input: Option<String>,
    /// Run as a daemon until Ctrl-C or SIGTERM, and mark or drop packets that this machine forwards to this interface,
    /// as a bridge or as a router.
    #[arg(long = "out", value_name = "INTERFACE")]
    output: Option<String>,
    /// The number of the netfilter queue. Bumps on one machine need different numbers.
    #[arg(long, value_name = "N", default_value_t = 7_079)]
    number: u16,
    #[command(flatten)]
    queues: VirtualQueues,
    #[command(flatten)]
    service: ServiceOptions,
}

type Live = Pipeline<ByDestination, Guarded<Marker>, Own>;

/// Runs the bump of an interface.
pub fn live(options: &LiveOptions) -> Result<ExitCode> {
    let Some(output) = options.output.clone() else {
        bail!(
            "name the interface by which packets leave (--out), or replay a capture (`slotline bump replay`)"
        );
    };
    let pipeline = options.pipeline()?;
    let running = stoppable()?;
    let service = options.service.open(&format!("bump-{output}"), &running)?;
    let described = match &options.input {
        Some(input) => format!("from `{input}` to `{output}`"),
        None => format!("to `{output}`"),
    };
    let crossed = Crossed { input: options.input.clone(), output, queue: options.number };
    let crossing =
        Crossing::open(&crossed).with_context(|| format!("cannot queue packets {described}"))?;
    let shared = Shared::default();
    let command = |line: &str| {
        matches!(line, "drain" | "resume").then(|| {
            shared.drain(line == "drain");
            Ok(())
        })
    };
    say(&format!("bump for packets {described}, {}", options.queues.rate));
    let bump = LiveBump::new(crossing, pipeline);
    service.run(&shared, command, || bump.run(&running, &shared).context("the bump has failed"))
}

impl LiveOptions {
    fn pipeline(&self) -> Result<Live> {
        let spec = self.queues.spec()?;
        check_notices(&spec)?;
        let setup = self.queues.setup(&spec)?;
        let queue = VirtualQueue::new(setup.rate.inverse_rate(), setup.capacity);
        let entry = |at| Entry::new(queue, self.queues.discipline(&spec, at));
        let entries = (0..setup.queues).map(entry).collect();
        let classifier = ByDestination::new(setup.queues, setup.prefix);
        let levels = Own::new(setup.queues as usize);
        let pipeline = Pipeline::new(classifier, entries, levels, setup.framing);
        Ok(pipeline.malformed(setup.malformed))
    }
}

/// Refuses disciplines that only notify, because hosts of a real network do not understand the notices of 802.1Qau. A
/// program may also have other verdicts, so it is not refused.
fn check_notices(spec: &QueueSpec) -> Result<()> {
    if spec.notifies() && !matches!(spec.policy, Policy::Object(_)) {
        bail!(
            "--queue: this discipline only notifies senders, which a bump on real interfaces cannot do"
        );
    }
    Ok(())
}
