//! `slotline replay`: runs an arbiter again from the log of a real one.

use crate::out::say;
use crate::what_if::{self, Seen};
use anyhow::{Context, Result, bail};
use clap::Args;
use slotline_lab::live::recorded_controller;
use slotline_live::replay::{Log, Replayed, ReplayedStep, replay_watched};
use slotline_scenario::{Loaded, Scenario};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
pub struct ReplayOptions {
    /// The log that `slotline arbiter --record` has written.
    pub log: PathBuf,
    /// Replay with another scenario, or with another value of a key of the scheme's `control`, such as
    /// `policy=shortest-first`; keys that begin with `scheme` or `fabric` are those of the scenario. Shows how decisions, waiting
    /// and the arbiter's counts change. The hosts' messages remain the same. May be repeated.
    #[arg(long, value_name = "SCENARIO|KEY=VALUE")]
    pub with: Vec<String>,
    /// Print the scenario in the log, and do not replay it.
    #[arg(long, conflicts_with = "with")]
    pub print_scenario: bool,
}

pub fn run(options: &ReplayOptions) -> Result<ExitCode> {
    let file = &options.log;
    let name = || format!("{}", file.display());
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let log = Log::open(&bytes).with_context(name)?;
    if options.print_scenario {
        say(&log.header.scenario);
        return Ok(ExitCode::SUCCESS);
    }
    let own = Scenario::parse(file, log.header.scenario.clone())?;
    let then = again(&log, &own, true).with_context(name)?;
    say(&summary(&then.done));
    if !options.with.is_empty() {
        let other = changed(file, &log, &options.with)?;
        let now = again(&log, &other, false).with_context(name)?;
        say(&what_if::comparison(&options.with.join(", "), &then, &now));
    }
    Ok(ExitCode::SUCCESS)
}

/// The scenario of the log, or another one, with values replaced.
fn changed(file: &Path, log: &Log<'_>, with: &[String]) -> Result<Loaded> {
    let is_file = |text: &&String| Path::new(text).exists() || !text.contains('=');
    let (files, settings): (Vec<&String>, Vec<&String>) = with.iter().partition(is_file);
    let scheme = &log.header.scheme;
    let whole = |key: &str| ["scheme", "fabric"].iter().any(|first| key.starts_with(first));
    let setting = |text: &&String| match whole(text) {
        true => text.to_string(),
        false => format!("scheme[{scheme}].control.{text}"),
    };
    let settings: Vec<String> = settings.iter().map(setting).collect();
    match files[..] {
        [] => {
            let text = log.header.scenario.clone();
            Ok(Scenario::parse_single_with(file, text, &settings, "--with")?)
        }
        [other] if settings.is_empty() => Ok(Scenario::load(Path::new(other))?),
        [other] => {
            let text = fs::read_to_string(other).with_context(|| format!("cannot read {other}"))?;
            Ok(Scenario::parse_single_with(Path::new(other), text, &settings, "--with")?)
        }
        _ => bail!("`--with` takes one scenario, and any number of KEY=VALUE"),
    }
}

/// Runs the arbiter in the network of a scenario, and returns what was seen.
fn again(log: &Log<'_>, loaded: &Loaded, compare: bool) -> Result<Seen> {
    let (mut seat, links) = recorded_controller(loaded, &log.header)?;
    let mut seen = Seen::default();
    let watch = |step: &ReplayedStep<'_>| seen.step(step);
    let done = replay_watched(&mut log.clone(), &mut seat, &links, compare, watch)?;
    seen.done = done;
    seat.node().add_counters(&mut seen.counters);
    Ok(seen)
}

fn summary(done: &Replayed) -> String {
    let cut = match done.cut {
        true => " The log ends in the middle of a record: the arbiter was probably killed.",
        false => "",
    };
    format!(
        "{} messages received and {} sent in {:.3} s: all messages sent equal those in the log.{cut}",
        done.heard,
        done.sent,
        done.span.as_secs_f64()
    )
}
