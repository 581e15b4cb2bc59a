//! `slotline agent`, `slotline arbiter` and `slotline key`: the daemons of a real network.

use crate::out::say;
use crate::service::{ServiceOptions, stoppable};
use crate::{switch_daemon, traffic};
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Subcommand};
use slotline_envelope::KeyPair;
use slotline_lab::live::{LiveNetwork, Renewed};
use slotline_live::agent::{Agent, AgentSetup};
use slotline_live::arbiter::Arbiter;
use slotline_live::cabling::{self, Cabling, WrongCables};
use slotline_live::config::Config;
use slotline_live::keys;
use slotline_live::record::Recorder;
use slotline_live::reference;
use slotline_live::renewal::{Renewal, Request};
use slotline_live::running::Running;
use slotline_live::status::{ArbiterStatus, Shared, Status};
use slotline_live::timeslots::TimeslotLog;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The interval at which a switch compares its links with its neighbours.
const CABLES: Duration = Duration::from_secs(5);

#[derive(Args)]
pub struct AgentOptions {
    /// The configuration, which is the same on all machines of the network.
    pub config: PathBuf,
    /// Name of this machine's `[[host]]`, `[[rack]]` or `[[switch]]` in the configuration [default: the one whose address
    /// this machine has].
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Add the timeslots that this host accepts, and the times at which its packets leave, to this file (fastpass).
    #[arg(long, value_name = "FILE")]
    pub timeslots: Option<PathBuf>,
    #[command(flatten)]
    pub common: DaemonOptions,
}

#[derive(Args)]
pub struct ArbiterOptions {
    /// The configuration, which is the same on all machines of the network.
    pub config: PathBuf,
    /// Number of this machine's `[[arbiter]]` in the configuration, from 0 [default: the arbiter whose address this
    /// machine has].
    #[arg(long, value_name = "N")]
    pub rank: Option<usize>,
    /// Write all messages that the arbiter receives, and digests of those that it sends, to this file, for `slotline
    /// replay`. If FILE exists, FILE.1 is written, and so on.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    #[command(flatten)]
    pub common: DaemonOptions,
}

#[derive(Args)]
pub struct DaemonOptions {
    /// Check the configuration and its scenario, and run nothing.
    #[arg(long)]
    pub check_config: bool,
    /// The file with this machine's private key [default: `key` of the configuration].
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    #[command(flatten)]
    pub service: ServiceOptions,
}

#[derive(Args)]
pub struct KeyOptions {
    #[command(subcommand)]
    pub command: KeyCommand,
}

#[derive(Subcommand)]
pub enum KeyCommand {
    /// Create a private key in a new file that only its owner can read, and print the public key.
    New {
        /// The file.
        file: PathBuf,
    },
    /// Print the public key of a file with a private key.
    Public {
        /// The file.
        file: PathBuf,
    },
}

/// Runs the agent of this machine until Ctrl-C or SIGTERM.
pub fn agent(options: &AgentOptions) -> Result<ExitCode> {
    let network = network(&options.config)?;
    let config = network.config();
    let host = machine(options, config)?;
    if network.is_observer(&host) {
        return switch_daemon::observe(options, &network, &host);
    }
    let mut setup = network.agent(&host, options.common.key(config)?)?;
    reference::check(&setup.clock.source)?;
    let cabling = cabling::here(config, &host).map_err(|why| anyhow!(why))?;
    if options.common.check_config {
        check_cabling(cabling)?;
        return Ok(fine(&options.config, &network));
    }
    let cables = Arc::clone(&setup.wrong_cables);
    let heard = cabling.map(|cabling| note_cables(&cables, cabling)).is_some();
    let ports =
        setup.heard.as_ref().map(|heard| switch_daemon::first_look(&network, heard)).transpose()?;
    setup.timeslots = options.timeslots.as_deref().map(timeslots).transpose()?;
    let running = stoppable()?;
    let grip = traffic::take(&network, &host, &setup.role)?;
    grip.lacks().iter().for_each(|lack| crate::out::warn(format_args!("{lack}")));
    let (address, timed) = (setup.address, grip.is_timed());
    let gate = grip.gate().map_or(String::new(), |gate| format!(", gate {}", gate.name()));
    let agent = Agent::open(setup, grip, running.now())
        .with_context(|| format!("cannot use the address {address}"))?;
    let service = options.common.service.open(&format!("agent-{host}"), &running)?;
    let timed = if timed { "; the kernel keeps packets until they leave" } else { "" };
    say(&format!("agent of {host} at {address}, scheme {}{gate}{timed}", network.scheme()));
    let shared = Shared::default();
    let current = Current::new(&options.config, &options.common, &network);
    let command = |line: &str| match line {
        "drain" | "resume" => {
            shared.drain(line == "drain");
            Some(Ok(()))
        }
        "reload" => Some(current.renew(|new, key, what| {
            let setup = new.agent(&host, key)?;
            check_address(address, setup.address)?;
            network.check_room(new, &host, &setup.role)?;
            ask(&shared, of_agent(what, setup))
        })),
        _ => None,
    };
    std::thread::scope(|scope| {
        if heard {
            scope.spawn(|| watch_cables(config, &host, &cables, &running));
        }
        if let Some(ports) = ports {
            scope.spawn(|| switch_daemon::watch_ports(ports, &running));
        }
        let run = || agent.run(&running, &shared).context("the agent failed");
        let ended = service.run(&shared, command, run);
        running.stop();
        ended
    })
}

/// The name of this machine in the configuration.
fn machine(options: &AgentOptions, config: &Config) -> Result<String> {
    let here = || config.machine_here().map(str::to_owned);
    options.host.clone().or_else(here).with_context(|| {
        let file = options.config.display();
        format!("this machine has no address of a [[host]], [[rack]] or [[switch]] of {file}")
    })
}

/// The request to an agent to take over another configuration or scenario.
fn of_agent(what: Renewed, setup: AgentSetup) -> Request {
    match what {
        Renewed::Configuration => Request::Renew(Box::new(Renewal::from(setup))),
        Renewed::Scenario => Request::AgentAnew(Box::new(setup)),
    }
}

/// Looks at the links of this switch at intervals, until the daemon is to stop.
fn watch_cables(config: &Config, host: &str, cables: &WrongCables, running: &Running) {
    let mut looked = Instant::now();
    while !running.stopped() {
        std::thread::sleep(Duration::from_millis(100));
        if looked.elapsed() < CABLES {
            continue;
        }
        looked = Instant::now();
        // If lldpd has ended, what was known remains.
        if let Ok(Some(cabling)) = cabling::here(config, host) {
            note_cables(cables, cabling);
        }
    }
}

/// Notes which links lead elsewhere, and says what has changed.
fn note_cables(cables: &WrongCables, cabling: Cabling) {
    let [more, fewer] = cables.replace(cabling.wrong);
    more.iter().for_each(|wrong| {
        crate::out::warn(format_args!("a link leads elsewhere, says LLDP: {wrong}"));
    });
    fewer.iter().for_each(|wrong| say(&format!("no longer, says LLDP: {wrong}")));
}

/// Says what LLDP has heard, if lldpd runs on this switch.
fn check_cabling(cabling: Option<Cabling>) -> Result<()> {
    let Some(Cabling { confirmed, unknown, wrong }) = cabling else { return Ok(()) };
    if !wrong.is_empty() {
        bail!("links lead elsewhere, says LLDP: {}", wrong.join("; "));
    }
    let silent = match unknown.is_empty() {
        true => String::new(),
        false => format!("; it has heard nothing of {}", unknown.join(", ")),
    };
    say(&format!("LLDP confirms {} of the links upwards{silent}", confirmed.len()));
    Ok(())
}

/// Runs the arbiter or controller of this machine until Ctrl-C or SIGTERM.
pub fn arbiter(options: &ArbiterOptions) -> Result<ExitCode> {
    let network = network(&options.config)?;
    let here = || network.config().arbiter_here();
    let rank = options.rank.or_else(here).with_context(|| {
        format!("this machine has no address of an [[arbiter]] of {}", options.config.display())
    })?;
    let mut setup = network.arbiter(rank, options.common.key(network.config())?)?;
    reference::check(&setup.clock.source)?;
    if options.common.check_config {
        return Ok(fine(&options.config, &network));
    }
    setup.recorder = options.record.as_deref().map(record).transpose()?;
    setup.hook = network.start_hook()?;
    let running = stoppable()?;
    let address = setup.address;
    let arbiter = Arbiter::open(setup, running.now())
        .with_context(|| format!("cannot use the address {address}"))?;
    let service = options.common.service.open(&format!("arbiter-{rank}"), &running)?;
    say(&format!("arbiter {rank} at {address}, scheme {}", network.scheme()));
    let shared = Shared::default();
    let run = || arbiter.run(&running, &shared).context("the arbiter failed");
    let current = Current::new(&options.config, &options.common, &network);
    let renew = |new: &LiveNetwork, key: KeyPair, what| {
        let setup = new.arbiter(rank, key)?;
        check_address(address, setup.address)?;
        let request = match what {
            Renewed::Configuration => Request::Renew(Box::new(Renewal::from(setup))),
            Renewed::Scenario => Request::ArbiterAnew(Box::new(setup)),
        };
        ask(&shared, request)
    };
    let command = |line: &str| match line.split_once(' ') {
        None if line == "reload" => Some(current.renew(renew)),
        None if line == "drain" => Some(Err(anyhow!(
            "give the host that the arbiter takes out of the schedule: `slotline ctl drain --host NAME`"
        ))),
        Some((what @ ("drain" | "resume"), name)) => {
            Some(drain(&options.config, name, what == "drain", &shared))
        }
        _ => None,
    };
    service.run(&shared, command, run)
}

/// Takes a host out of the schedule, or back. The configuration is read again, because hosts may have joined.
fn drain(config: &Path, name: &str, drained: bool, shared: &Shared<ArbiterStatus>) -> Result<()> {
    let number = network(config)?.host(name)?;
    ask(shared, Request::DrainHost { number, name: name.into(), drained })
}

/// Makes a request to the daemon of this process.
pub fn ask<T: Status>(shared: &Shared<T>, request: Request) -> Result<()> {
    shared.ask(request).map_err(|why| anyhow!(why))
}

/// Checks that the machine keeps its own address, because its socket has it.
pub fn check_address(old: SocketAddr, new: SocketAddr) -> Result<()> {
    match old == new {
        true => Ok(()),
        false => bail!(
            "this machine's own address cannot change from {old} to {new} while its daemon runs: nothing was changed; \
             restart the daemon to use it"
        ),
    }
}

fn timeslots(file: &Path) -> Result<TimeslotLog> {
    TimeslotLog::open(file)
        .with_context(|| format!("cannot write the log of timeslots {}", file.display()))
}

fn record(file: &Path) -> Result<Recorder> {
    Recorder::create(file).with_context(|| format!("cannot create the log {}", file.display()))
}

/// Creates a key, or prints the public key of a file.
pub fn key(options: &KeyOptions) -> Result<ExitCode> {
    let key = match &options.command {
        KeyCommand::New { file } => keys::create(file)?,
        KeyCommand::Public { file } => keys::read(file)?,
    };
    say(&key.public().to_string());
    Ok(ExitCode::SUCCESS)
}

impl DaemonOptions {
    pub fn key(&self, config: &Config) -> Result<KeyPair> {
        Ok(keys::read(self.key.as_ref().unwrap_or(&config.key))?)
    }
}

/// What a daemon has taken over last.
pub struct Current<'a> {
    config: &'a Path,
    options: &'a DaemonOptions,
    network: Mutex<LiveNetwork>,
}

impl<'a> Current<'a> {
    /// What it begins with.
    pub fn new(config: &'a Path, options: &'a DaemonOptions, network: &LiveNetwork) -> Current<'a> {
        Current { config, options, network: Mutex::new(network.clone()) }
    }
    /// Reads the configuration and the key again, checks that the daemon may take them over, and passes them to `take`.
    pub fn renew(
        &self,
        take: impl FnOnce(&LiveNetwork, KeyPair, Renewed) -> Result<()>,
    ) -> Result<()> {
        let new = network(self.config)?;
        let mut old = self.network.lock().unwrap_or_else(PoisonError::into_inner);
        let what = old.check_renewal(&new)?;
        reference::check(&new.config().clock.source)?;
        take(&new, self.options.key(new.config())?, what)?;
        *old = new;
        Ok(())
    }
}

fn network(config: &Path) -> Result<LiveNetwork> {
    Ok(LiveNetwork::new(Config::load(config)?)?)
}

pub fn fine(config: &Path, network: &LiveNetwork) -> ExitCode {
    let Config { host, rack, switch, arbiter, .. } = network.config();
    let kinds = [
        (host.len(), "host", "hosts"),
        (rack.len(), "rack", "racks"),
        (switch.len(), "switch", "switches"),
        (arbiter.len(), "arbiter", "arbiters"),
    ];
    let given = kinds.into_iter().filter(|(count, ..)| *count > 0);
    let given: Vec<String> = given
        .map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }))
        .collect();
    say(&format!("{}: ok, {}, scheme {}", config.display(), given.join(", "), network.scheme()));
    ExitCode::SUCCESS
}
