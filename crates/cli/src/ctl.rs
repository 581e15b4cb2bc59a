//! `slotline ctl`: queries and controls daemons of this machine.

use crate::out::{is_closed, say};
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use serde_json::Value;
use slotline_live::control;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The folder of the control sockets of daemons.
pub const FOLDER: &str = "/run/slotline";
/// The interval at which `top` shows daemons again.
const PERIOD: Duration = Duration::from_secs(1);

#[derive(Args)]
pub struct CtlOptions {
    #[command(subcommand)]
    pub command: CtlCommand,
}

#[derive(Args)]
pub struct Chosen {
    /// A daemon, such as `agent-h0`, or its socket [default: all daemons with a socket in /run/slotline].
    pub daemon: Option<PathBuf>,
}

#[derive(Subcommand)]
pub enum CtlCommand {
    /// Print a short status of daemons.
    Status(Chosen),
    /// Print the full status of daemons as JSON, one line for each.
    Dump(Chosen),
    /// Print a short status of daemons every second, until Ctrl-C.
    Top(Chosen),
    /// Let all packets of a host leave at once until `resume`, for example before its arbiter is stopped; a bump lets all
    /// packets pass without a decision.
    Drain(Chosen),
    /// Obey the arbiter, or let the bump decide, again after `drain`.
    Resume(Chosen),
    /// Read the keys in the configuration and in the key file again. Previous keys of other machines are accepted as
    /// well, until the next `reload`.
    Reload(Chosen),
}

/// Queries or controls daemons of this machine.
pub fn ctl(options: &CtlOptions) -> Result<ExitCode> {
    match &options.command {
        CtlCommand::Status(chosen) => say(&table(&answers(chosen, "status")?)),
        CtlCommand::Dump(chosen) => {
            for (daemon, status) in answers(chosen, "status")? {
                say(&serde_json::json!({ "daemon": daemon, "status": status }).to_string());
            }
        }
        CtlCommand::Top(chosen) => {
            while !is_closed() {
                say(&table(&answers(chosen, "status")?));
                std::thread::sleep(PERIOD);
            }
        }
        CtlCommand::Drain(chosen) => drop(answers(chosen, "drain")?),
        CtlCommand::Resume(chosen) => drop(answers(chosen, "resume")?),
        CtlCommand::Reload(chosen) => drop(answers(chosen, "reload")?),
    }
    Ok(ExitCode::SUCCESS)
}

/// The answers of the chosen daemons to a line.
fn answers(chosen: &Chosen, line: &str) -> Result<Vec<(String, Value)>> {
    let sockets = match &chosen.daemon {
        Some(daemon) if daemon.components().count() > 1 => vec![daemon.clone()],
        Some(name) => vec![Path::new(FOLDER).join(name).with_extension("sock")],
        None => sockets(Path::new(FOLDER)),
    };
    if sockets.is_empty() {
        bail!("no daemon runs on this machine: there is no socket in {FOLDER}");
    }
    sockets.iter().map(|socket| answer(socket, line)).collect()
}

fn answer(socket: &Path, line: &str) -> Result<(String, Value)> {
    let name = socket.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let text = control::ask(socket, line)
        .with_context(|| format!("no daemon listens at {}", socket.display()))?;
    let value: Value = serde_json::from_str(&text)
        .with_context(|| format!("the answer of {name} is not JSON: {text}"))?;
    match value["error"].as_str() {
        Some(error) => bail!("{name}: {error}"),
        None => Ok((name, value)),
    }
}

fn sockets(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut sockets: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    sockets.retain(|path| path.extension().is_some_and(|extension| extension == "sock"));
    sockets.sort();
    sockets
}

/// One line for each daemon.
fn table(daemons: &[(String, Value)]) -> String {
    let mut text = String::new();
    for (name, status) in daemons {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:20}  {}", brief(status));
    }
    text
}

fn brief(status: &Value) -> String {
    let us = |key: &str| status[key].as_u64().map_or("-".into(), |ns| format!("{} us", ns / 1_000));
    if status.is_null() {
        return "starts".into();
    }
    if !status["marked"].is_null() {
        return bump(status);
    }
    if status["clock"].is_null() {
        return format!(
            "{} peers, {} messages received, {} sent, latest wake-up {}",
            status["peers"],
            status["received"],
            status["sent"],
            us("latest-ns")
        );
    }
    let obeys = match (status["drained"].as_bool(), status["obeys"].as_u64()) {
        (Some(true), _) => "is drained".into(),
        (_, Some(arbiter)) => format!("obeys arbiter {arbiter}"),
        (_, None) => "obeys no arbiter: packets leave at once".to_owned(),
    };
    format!(
        "{obeys}, clock {} within {}, {} packets held, {} left as scheduled, {} at once",
        status["clock"].as_str().unwrap_or_default(),
        us("clock-bound-ns"),
        status["held"],
        status["scheduled"],
        status["unscheduled"]
    )
}

fn bump(status: &Value) -> String {
    let drained = if status["drained"] == true { "is drained, " } else { "" };
    format!(
        "{drained}{} packets, {} marked, {} dropped, {} without room",
        status["packets"], status["marked"], status["dropped"], status["no-room"]
    )
}
