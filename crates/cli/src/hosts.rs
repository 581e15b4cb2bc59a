//! `slotline exec`, `slotline shell` and `slotline probe`: the hosts of a running emulation, and the features of this
//! machine.

use crate::exact;
use crate::out::say;
use anyhow::{Context, Result, bail};
use clap::Args;
use slotline_emulate::registry::{self, Entry, Running};
use slotline_emulate::{isolation, probe, probe::Probed};
use slotline_guest::inside;
use slotline_guest::machine::Machine;
use std::process::{Command, ExitCode};

#[derive(Args)]
pub struct ExecOptions {
    /// The host.
    pub host: String,
    /// The program and its arguments.
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    pub program: Vec<String>,
}

#[derive(Args)]
pub struct ShellOptions {
    /// The host.
    pub host: String,
}

/// Runs a program on a host of the running emulation.
pub fn exec(options: &ExecOptions) -> Result<ExitCode> {
    let (running, host) = find(&options.host)?;
    let command = running.command(&host, &options.program).context("the emulation has ended")?;
    let (program, arguments) = command.split_first().context("nothing to run")?;
    let status = Command::new(program).args(arguments).status();
    let status = status.with_context(|| format!("cannot start `{program}` (util-linux)"))?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}

/// Runs the user's shell on a host.
pub fn shell(options: &ShellOptions) -> Result<ExitCode> {
    let shell = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".into());
    exec(&ExecOptions { host: options.host.clone(), program: vec![shell] })
}

fn find(name: &str) -> Result<(Running, Entry)> {
    let all = registry::running();
    if all.is_empty() {
        bail!("no emulation runs: start one with `slotline emulate FILE --stay`");
    }
    for running in &all {
        if let Some(host) = running.hosts.iter().find(|host| host.name == name) {
            return Ok((running.clone(), host.clone()));
        }
    }
    let first = |running: &Running| running.hosts.iter().take(8).map(|h| h.name.clone()).collect();
    let names: Vec<String> =
        all.iter().flat_map(|running| -> Vec<String> { first(running) }).collect();
    bail!("no host `{name}` in the running emulations; hosts are {}, ...", names.join(", "))
}

/// Removes the files that killed emulations have left.
pub fn clean() -> ExitCode {
    let removed = registry::clean();
    let running = registry::running().len();
    say(&format!("{removed} removed; {running} emulations run"));
    ExitCode::SUCCESS
}

/// The feature that `--exact` needs.
const EXACT: &str = "exact emulation: a guest with virtual time (QEMU, a kernel with its modules)";

#[derive(Args)]
pub struct ProbeOptions {
    /// Show what a guest machine has in which `slotline emulate --exact` runs.
    #[arg(long)]
    pub exact: bool,
}

/// Shows which features for emulation this machine has, and which it lacks.
pub fn probe(options: &ProbeOptions) -> Result<ExitCode> {
    if options.exact && !inside::is_inside() {
        return exact::run_alone(&[]);
    }
    // An ordinary user has the necessary rights only inside namespaces.
    if !isolation::is_inside() && isolation::permitted().is_ok() {
        return Ok(isolation::run_inside()?);
    }
    let mut found = probe::probe();
    let guest = Machine::find().map(drop).map_err(|error| error.to_string());
    found.push(Probed { what: EXACT.into(), needed: false, works: guest });
    let lines: Vec<String> = found
        .iter()
        .map(|one| {
            let state = if one.works.is_ok() { "yes" } else { "no " };
            let why = one.works.as_ref().err().map_or(String::new(), |why| format!(": {why}"));
            format!("{state}  {}{why}", one.what)
        })
        .collect();
    say(&lines.join("\n"));
    let needed = found.iter().all(|one| one.works.is_ok() || !one.needed);
    Ok(if needed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
