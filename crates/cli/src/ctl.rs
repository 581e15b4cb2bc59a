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

#[derive(Args)]
pub struct Drained {
    #[command(flatten)]
    pub chosen: Chosen,
    /// A host that arbiters take out of the schedule or back: the given arbiter, or all arbiters of this machine.
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
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
    /// packets pass without a decision. With `--host`, an arbiter takes that host out of its schedule.
    Drain(Drained),
    /// Obey the arbiter, or let the bump decide, again after `drain`. With `--host`, an arbiter takes that host back.
    Resume(Drained),
    /// Read the configuration and the key file again. Hosts join and leave, and options change, while the daemon works;
    /// what needs a restart is refused. Previous keys of other machines are accepted as well, until the next `reload`.
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
        CtlCommand::Drain(of) => of.tell("drain")?,
        CtlCommand::Resume(of) => of.tell("resume")?,
        CtlCommand::Reload(chosen) => drop(answers(chosen, "reload")?),
    }
    Ok(ExitCode::SUCCESS)
}

impl Drained {
    /// Drains or resumes the chosen daemons, or a host at the arbiters among them.
    fn tell(&self, what: &str) -> Result<()> {
        let Some(host) = &self.host else { return answers(&self.chosen, what).map(drop) };
        let mut sockets = self.chosen.sockets()?;
        if self.chosen.daemon.is_none() {
            sockets.retain(|socket| name(socket).starts_with("arbiter-"));
        }
        if sockets.is_empty() {
            bail!("no arbiter runs on this machine: run this on the machines of the arbiters");
        }
        let line = format!("{what} {host}");
        sockets.iter().try_for_each(|socket| answer(socket, &line).map(drop))
    }
}

impl Chosen {
    fn sockets(&self) -> Result<Vec<PathBuf>> {
        let sockets = match &self.daemon {
            Some(daemon) if daemon.components().count() > 1 => vec![daemon.clone()],
            Some(name) => vec![Path::new(FOLDER).join(name).with_extension("sock")],
            None => sockets(Path::new(FOLDER)),
        };
        if sockets.is_empty() {
            bail!("no daemon runs on this machine: there is no socket in {FOLDER}");
        }
        Ok(sockets)
    }
}

/// The answers of the chosen daemons to a line.
fn answers(chosen: &Chosen, line: &str) -> Result<Vec<(String, Value)>> {
    chosen.sockets()?.iter().map(|socket| answer(socket, line)).collect()
}

/// The name of the daemon at a socket.
fn name(socket: &Path) -> String {
    socket.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn answer(socket: &Path, line: &str) -> Result<(String, Value)> {
    let name = name(socket);
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
    if status["arbiters"].is_u64() {
        return observer(status);
    }
    if status["clock"].is_null() {
        let topology = topology(&status["topology"]);
        let out = status["drained-hosts"].as_array().into_iter().flatten();
        let out: Vec<&str> = out.filter_map(Value::as_str).collect();
        let out =
            if out.is_empty() { String::new() } else { format!("drained: {}; ", out.join(", ")) };
        let faults = status["faults"].as_array().into_iter().flatten();
        let avoided = faults.filter(|fault| fault["cleared-ns"].is_null());
        let avoided: Vec<&str> = avoided.filter_map(|fault| fault["part"].as_str()).collect();
        let avoided = match avoided.is_empty() {
            true => String::new(),
            false => format!("avoids {}, where packets were lost; ", avoided.join(", ")),
        };
        return format!(
            "{topology}{out}{avoided}{} peers, {} messages received, {} sent, latest wake-up {}",
            status["peers"],
            status["received"],
            status["sent"],
            us("latest-ns")
        );
    }
    let obeys = match (status["drained"].as_bool(), status["obeys"].as_u64()) {
        (Some(true), _) => "is drained".into(),
        _ if status["drained-by-arbiter"] == true => "is drained by its arbiter".into(),
        (_, Some(arbiter)) => format!("obeys arbiter {arbiter}"),
        (_, None) => "obeys no arbiter: packets leave at once".to_owned(),
    };
    let clock = status["clock"].as_str().unwrap_or_default();
    let counters = &status["counters"];
    let done = match counters["installed_paths"].as_u64() {
        Some(paths) => {
            format!("{} large flows reported, {paths} paths installed", counters["large_flows"])
        }
        None if counters["link_reports"].is_u64() => {
            format!("forwards by tags, {} links reported as broken", counters["link_reports"])
        }
        None => format!(
            "{} packets held, {} left as scheduled, {} at once",
            status["held"], status["scheduled"], status["unscheduled"]
        ),
    };
    format!("{obeys}, clock {clock} within {}, {done}", us("clock-bound-ns"))
}

/// What an arbiter says about a network that it discovers.
fn topology(topology: &Value) -> String {
    let missing = topology["missing"].as_array().into_iter().flatten();
    let missing: Vec<&str> = missing.filter_map(Value::as_str).collect();
    match (topology["known"].as_bool(), &missing[..]) {
        (None, _) | (Some(true), []) => String::new(),
        (Some(true), missing) => format!("cables are missing: {}; ", missing.join("; ")),
        (Some(false), missing) => format!("waits for the network: {}; ", missing.join("; ")),
    }
}

/// The daemon of a switch that only tells its neighbours.
fn observer(status: &Value) -> String {
    match status["cables"].as_array() {
        None => "lldpd has told no neighbours yet".into(),
        Some(cables) => {
            format!("tells {} cables to {} arbiters", cables.len(), status["arbiters"])
        }
    }
}

fn bump(status: &Value) -> String {
    let drained = if status["drained"] == true { "is drained, " } else { "" };
    format!(
        "{drained}{} packets, {} marked, {} dropped, {} without room",
        status["packets"], status["marked"], status["dropped"], status["no-room"]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_missing() {
        let status = r#"{"peers":3,"received":0,"sent":0,"latest-ns":9000,
            "topology":{"known":false,"cables":0,"missing":["h1 has not told its neighbours","x"]}}"#;
        let line = brief(&serde_json::from_str(status).unwrap());
        assert!(
            line.starts_with("waits for the network: h1 has not told its neighbours; x; 3 peers"),
            "{line}"
        );
        let switch = |text| brief(&serde_json::from_str(text).unwrap());
        assert_eq!(switch(r#"{"cables":["p1"],"arbiters":2}"#), "tells 1 cables to 2 arbiters");
        assert_eq!(switch(r#"{"cables":null,"arbiters":0}"#), "lldpd has told no neighbours yet");
    }

    #[test]
    fn a_line_names_what_an_arbiter_avoids() {
        let status = r#"{"peers":3,"received":5,"sent":7,"latest-ns":9000,"faults":[{"part":"a-b","cleared-ns":null},
            {"part":"c","cleared-ns":5}]}"#;
        assert_eq!(
            brief(&serde_json::from_str(status).unwrap()),
            "avoids a-b, where packets were lost; 3 peers, 5 messages received, 7 sent, latest wake-up 9 us"
        );
    }
}
