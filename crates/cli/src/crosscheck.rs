//! `slotline crosscheck`: one scenario on two engines.

use crate::arguments::Common;
use crate::out::say;
use crate::progress;
use crate::run::{INTERRUPTED, NOT_VALID};
use crate::source::Source;
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use slotline_lab::crosscheck::{Crosscheck, Row, Sides};
use slotline_lab::output::format::{emulated, quantity};
use slotline_scenario::EmulateSpec;
use slotline_scenario::Loaded;
use slotline_scenario::metric::{Metric, Unit};
use std::process::ExitCode;
use std::sync::Arc;

/// The engines to compare.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Engines {
    /// Packet by packet, and flow by flow.
    #[value(name = "packet,flow")]
    PacketFlow,
    /// Packet by packet, and with real hosts.
    #[value(name = "packet,emulate")]
    PacketEmulate,
}

#[derive(Args)]
pub struct CrosscheckOptions {
    #[command(flatten)]
    pub source: Source,
    /// The engines to compare.
    #[arg(long, value_enum, default_value = "packet,flow")]
    pub engines: Engines,
    /// With `emulate`: how many times slower than real time the network runs, instead of the file's.
    #[arg(long, value_name = "FACTOR")]
    pub dilation: Option<f64>,
    /// With `emulate`: in a guest machine with virtual time, as with `slotline emulate --exact`.
    #[cfg(target_os = "linux")]
    #[arg(long)]
    pub exact: bool,
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    pub guest: crate::exact::GuestOptions,
    #[command(flatten)]
    pub common: Common,
}

pub fn crosscheck(options: &CrosscheckOptions) -> Result<ExitCode> {
    let emulates = options.engines == Engines::PacketEmulate;
    #[cfg(target_os = "linux")]
    if options.exact && !emulates {
        bail!("--exact is only valid with --engines packet,emulate");
    }
    if options.dilation.is_some() && !emulates {
        bail!("--dilation is only valid with --engines packet,emulate");
    }
    if options.engines == Engines::PacketEmulate && options.source.is_stdin() {
        bail!("real hosts need a process that reads the scenario again: name a file instead of -");
    }
    let loaded = options.source.load()?;
    crate::print_notes(&loaded);
    let sides = match options.engines {
        Engines::PacketFlow => Sides::of(&loaded)?,
        Engines::PacketEmulate => Sides::emulated(&loaded, emulation(options, &loaded))?,
    };
    #[cfg(target_os = "linux")]
    if crate::exact::is_wanted(&sides.other) {
        return crate::exact::run(&sides.other, &options.guest, None);
    }
    #[cfg(target_os = "linux")]
    if options.engines == Engines::PacketEmulate
        && let Some(code) = crate::emulate::isolated(&sides.other)?
    {
        return Ok(code);
    }
    let threads = options.common.threads();
    let end = loaded.scenario.end.at.map(|at| at.as_ps());
    let [packet, other] = sides.jobs().map(Arc::new);
    progress::stop_on_interrupt(&[&packet, &other])?;
    let packets = progress::watched(&packet, end, || packet.run(&sides.packet, threads))?;
    if packet.cancelled() {
        return Ok(interrupted());
    }
    // Emulations at the same time would make each other late.
    let threads = if sides.other.scenario.engine.emulated().is_some() { 1 } else { threads };
    let others = progress::watched(&other, end, || other.run(&sides.other, threads))?;
    if other.cancelled() {
        return Ok(interrupted());
    }
    let checked = sides.compare(packets, others);
    if options.common.json {
        say(&serde_json::to_string_pretty(&checked)?);
    } else {
        say(&table(&checked));
    }
    if checked.emulation.is_some_and(|emulation| !emulation.is_valid()) {
        return Ok(ExitCode::from(NOT_VALID));
    }
    Ok(if checked.complete { ExitCode::SUCCESS } else { ExitCode::from(INTERRUPTED) })
}

fn interrupted() -> ExitCode {
    crate::out::warn(format_args!("interrupted before all runs were complete: nothing to compare"));
    ExitCode::from(INTERRUPTED)
}

/// The options of the emulation.
fn emulation(options: &CrosscheckOptions, loaded: &Loaded) -> EmulateSpec {
    let spec = loaded.scenario.engine.emulated().cloned().unwrap_or_default();
    #[cfg(target_os = "linux")]
    let spec = EmulateSpec { exact: spec.exact || options.exact, ..spec };
    EmulateSpec { dilation: options.dilation.unwrap_or(spec.dilation), ..spec }
}

fn table(checked: &Crosscheck) -> String {
    let mut lines: Vec<String> = checked.notes.iter().map(|note| format!("note: {note}")).collect();
    let mut scheme = "";
    for row in &checked.rows {
        if row.scheme != scheme {
            scheme = &row.scheme;
            lines.push(format!(
                "\n{scheme:<22} {:>14} {:>14} {:>12}",
                "packet", checked.engine, "difference"
            ));
        }
        lines.push(line(row));
    }
    lines.push(format!(
        "\nCPU time: packet {}, {} {}",
        quantity(Unit::Seconds, checked.packet_cpu_s),
        checked.engine,
        quantity(Unit::Seconds, checked.other_cpu_s)
    ));
    lines.extend(checked.emulation.as_ref().map(emulated));
    lines.join("\n").trim_start().to_string()
}

fn line(row: &Row) -> String {
    let (unit, title, difference) = (unit(row), &row.title, difference(row));
    let (packet, other) = (quantity(unit, row.packet), quantity(unit, row.other));
    format!("  {title:<20} {packet:>14} {other:>14} {difference:>12}")
}

fn unit(row: &Row) -> Unit {
    let known = Metric::ALL.into_iter().find(|metric| metric.key() == row.metric);
    known.map_or(Unit::Ratio, Metric::unit)
}

fn difference(row: &Row) -> String {
    match row.difference {
        Some(part) => format!("{:+.2} %", 100.0 * part),
        None if row.other == row.packet => "none".to_string(),
        None => String::new(),
    }
}
