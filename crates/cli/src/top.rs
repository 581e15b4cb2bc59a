//! `slotline top`: shows the state of a running emulation.

use crate::out::{is_closed, say};
use anyhow::{Context, Result, bail};
use clap::Args;
use slotline_emulate::registry::{self, Running};
use slotline_lab::output::format::grouped;
use slotline_lab::status::{PortStatus, Status};
use std::fmt::Write;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Args)]
pub struct TopOptions {
    /// Name of the scenario, if several emulations run.
    pub scenario: Option<String>,
    /// Show the state once, instead of until the emulation ends.
    #[arg(long)]
    pub once: bool,
    /// The largest number of links to show.
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub links: usize,
}

/// The interval at which the state is read.
const PERIOD: Duration = Duration::from_secs(1);
/// The number of intervals to wait for a newer state.
const PATIENCE: u32 = 10;

pub fn top(options: &TopOptions) -> Result<ExitCode> {
    let running = chosen(options.scenario.as_deref())?;
    let mut before = newer(&running, None).context("the emulation has not published its state")?;
    while let Some(now) = newer(&running, Some(&before)) {
        let clear = console::Term::stdout().is_term() && !options.once;
        say(&format!(
            "{}{}",
            if clear { "\x1b[H\x1b[2J" } else { "" },
            page(&running, &before, &now, options.links)
        ));
        if options.once || is_closed() {
            return Ok(ExitCode::SUCCESS);
        }
        before = now;
    }
    Ok(ExitCode::SUCCESS)
}

/// The chosen emulation, or the only one.
fn chosen(scenario: Option<&str>) -> Result<Running> {
    let mut all = registry::running();
    all.retain(|running| scenario.is_none_or(|name| running.scenario == name));
    let names: Vec<&str> = all.iter().map(|running| running.scenario.as_str()).collect();
    match (names.as_slice(), scenario) {
        ([_], _) => Ok(all.swap_remove(0)),
        ([], Some(name)) => bail!("no emulation of `{name}` runs"),
        ([], None) => bail!("no emulation runs: start one with `slotline emulate FILE`"),
        (_, _) => bail!("several emulations run; name the scenario of one: {}", names.join(", ")),
    }
}

/// The next state after `before`; `None` if the emulation has ended.
fn newer(running: &Running, before: Option<&Status>) -> Option<Status> {
    for _ in 0..PATIENCE {
        std::thread::sleep(PERIOD);
        let text = running.status();
        let found = text.and_then(|text| serde_json::from_str::<Status>(&text).ok());
        // The time of each scheme begins at zero.
        let found = found.filter(|found| before.is_none_or(|b| b.at_ns != found.at_ns));
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The time in seconds of network time.
fn seconds(now: &Status) -> f64 {
    now.at_ns as f64 / 1e9
}

fn page(running: &Running, before: &Status, now: &Status, links: usize) -> String {
    let span = seconds(now) - seconds(before);
    let outside =
        now.lost_outside.map_or(String::new(), |lost| format!(", {} lost outside", grouped(lost)));
    let mut out = format!(
        "{}, {}: {:.3} s of network time, dilation {}\n\
         {} packets entered, {} delivered, {} dropped{outside}; late by {} us (99 %), {} us (most); CPU {:.0} %\n",
        running.scenario,
        now.scheme,
        seconds(now),
        now.dilation,
        grouped(now.entered),
        grouped(now.delivered),
        grouped(now.dropped),
        now.late_p99_ns / 1_000,
        now.late_most_ns / 1_000,
        now.cpu_share * 100.0,
    );
    let _ = writeln!(out, "\n{:<24} {:>12} {:>8} {:>14}", "link", "Mbit/s", "used", "queue");
    let mut ports: Vec<(f64, &PortStatus)> = now
        .ports
        .iter()
        .enumerate()
        .map(|(at, port)| (rate(before, at, port, span), port))
        .collect();
    ports.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.queued.cmp(&a.1.queued)));
    for (rate, port) in
        ports.into_iter().take(links).filter(|(rate, port)| *rate > 0.0 || port.queued > 0)
    {
        let used = 100.0 * rate / port.rate_bps.max(1) as f64;
        let queue = grouped(port.queued);
        let _ = writeln!(out, "{:<24} {:>12.1} {used:>6.1} % {queue:>12} B", port.name, rate / 1e6);
    }
    for (name, value) in now.counters.iter().filter(|(_, value)| *value > 0) {
        let _ = write!(out, "\n{name:<40} {:>14}", grouped(*value));
    }
    out
}

/// The average rate of a port since `before`, in bits per second of network time.
fn rate(before: &Status, at: usize, port: &PortStatus, span: f64) -> f64 {
    let sent = before.ports.get(at).map_or(0, |old| port.sent.saturating_sub(old.sent));
    if span > 0.0 { sent as f64 * 8.0 / span } else { 0.0 }
}
