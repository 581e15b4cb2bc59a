//! `slotline crosscheck`: one scenario on both engines.

use crate::arguments::Common;
use crate::out::say;
use crate::progress;
use crate::run::INTERRUPTED;
use anyhow::Result;
use clap::Args;
use slotline_lab::crosscheck::{Crosscheck, Row, Sides};
use slotline_lab::output::format::quantity;
use slotline_scenario::Scenario;
use slotline_scenario::metric::{Metric, Unit};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(Args)]
pub struct CrosscheckOptions {
    /// The scenario file.
    pub file: PathBuf,
    #[command(flatten)]
    pub common: Common,
}

pub fn crosscheck(options: &CrosscheckOptions) -> Result<ExitCode> {
    let loaded = Scenario::load(&options.file)?;
    crate::print_notes(&loaded);
    let sides = Sides::of(&loaded)?;
    let threads = options.common.threads();
    let end = loaded.scenario.end.at.map(|at| at.as_ps());
    let [packet, flow] = sides.jobs().map(Arc::new);
    progress::stop_on_interrupt(&packet)?;
    let packets = progress::watched(&packet, end, || packet.run(&sides.packet, threads))?;
    if packets.len() < packet.0.len() {
        crate::out::warn(format_args!(
            "interrupted before all runs were complete: nothing to compare"
        ));
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let flows = progress::watched(&flow, end, || flow.run(&sides.flow, threads))?;
    let checked = sides.compare(packets, flows);
    if options.common.json {
        say(&serde_json::to_string_pretty(&checked)?);
    } else {
        say(&table(&checked));
    }
    Ok(if checked.complete { ExitCode::SUCCESS } else { ExitCode::from(INTERRUPTED) })
}

fn table(checked: &Crosscheck) -> String {
    let mut lines: Vec<String> = checked.notes.iter().map(|note| format!("note: {note}")).collect();
    let mut scheme = "";
    for row in &checked.rows {
        if row.scheme != scheme {
            scheme = &row.scheme;
            lines.push(format!(
                "\n{scheme:<22} {:>14} {:>14} {:>12}",
                "packet", "flow", "difference"
            ));
        }
        lines.push(line(row));
    }
    lines.push(format!(
        "\nCPU time: packet {}, flow {}",
        quantity(Unit::Seconds, checked.packet_cpu_s),
        quantity(Unit::Seconds, checked.flow_cpu_s)
    ));
    lines.join("\n").trim_start().to_string()
}

fn line(row: &Row) -> String {
    let (unit, title, difference) = (unit(row), &row.title, difference(row));
    let (packet, flow) = (quantity(unit, row.packet), quantity(unit, row.flow));
    format!("  {title:<20} {packet:>14} {flow:>14} {difference:>12}")
}

fn unit(row: &Row) -> Unit {
    let known = Metric::ALL.into_iter().find(|metric| metric.key() == row.metric);
    known.map_or(Unit::Ratio, Metric::unit)
}

fn difference(row: &Row) -> String {
    match row.difference {
        Some(part) => format!("{:+.2} %", 100.0 * part),
        None if row.flow == row.packet => "none".to_string(),
        None => String::new(),
    }
}
