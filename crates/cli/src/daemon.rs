//! `slotline agent`, `slotline arbiter` and `slotline ctl`: the daemons of a real network.

use crate::out::say;
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use slotline_envelope::KeyPair;
use slotline_lab::live::LiveNetwork;
use slotline_linux::gate::{Gate, Held};
use slotline_live::agent::Agent;
use slotline_live::arbiter::Arbiter;
use slotline_live::config::Config;
use slotline_live::control::{self, ControlSocket};
use slotline_live::keys;
use slotline_live::running::Running;
use slotline_live::status::Shared;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Where daemons have their control sockets.
const FOLDER: &str = "/run/slotline";

#[derive(Args)]
pub struct AgentOptions {
    /// The configuration, which is the same on all machines of the network.
    pub config: PathBuf,
    /// The host of the configuration that this machine is [default: the one whose address this machine has].
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    #[command(flatten)]
    pub common: DaemonOptions,
}

#[derive(Args)]
pub struct ArbiterOptions {
    /// The configuration, which is the same on all machines of the network.
    pub config: PathBuf,
    /// Which `[[arbiter]]` of the configuration this machine is: 0 is the first [default: the one whose address this machine
    /// has].
    #[arg(long, value_name = "N")]
    pub rank: Option<usize>,
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
    /// The socket at which `slotline ctl` finds this daemon [default: a file in /run/slotline].
    #[arg(long, value_name = "FILE")]
    pub control: Option<PathBuf>,
}

#[derive(Args)]
pub struct CtlOptions {
    #[command(subcommand)]
    pub command: CtlCommand,
}

#[derive(Subcommand)]
pub enum CtlCommand {
    /// Print the status of daemons that run on this machine, as JSON.
    Status {
        /// The socket of one daemon [default: all in /run/slotline].
        socket: Option<PathBuf>,
    },
}

#[derive(Args)]
pub struct KeyOptions {
    #[command(subcommand)]
    pub command: KeyCommand,
}

#[derive(Subcommand)]
pub enum KeyCommand {
    /// Make a private key in a new file that only its owner can read, and print the public key.
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
    let here = || config.host_here().map(|host| host.name.clone());
    let host = options.host.clone().or_else(here).with_context(|| {
        format!("this machine has no address of a [[host]] of {}", options.config.display())
    })?;
    let setup = network.agent(&host, options.common.key(config)?)?;
    if options.common.check_config {
        return Ok(fine(&options.config, &network));
    }
    let held = Held {
        network: config.network.clone(),
        exempt_ports: [&config.agent.exempt_ports[..], &[config.port]].concat(),
        queue: config.agent.queue,
    };
    let (running, shared) = (stoppable()?, Shared::default());
    let socket = options.common.socket(&format!("agent-{host}"))?;
    let gate =
        Gate::open(held).context("cannot hold packets of this machine (netfilter's queue)")?;
    let address = setup.address;
    let agent = Agent::open(setup, gate, running.now())
        .with_context(|| format!("cannot use the address {address}"))?;
    say(&format!("agent of host {host} at {address}, scheme {}", network.scheme()));
    std::thread::scope(|scope| {
        scope.spawn(|| socket.serve(&running, || shared.json()));
        let ended = agent.run(&running, &shared);
        running.stop();
        ended.context("the agent cannot go on")
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the arbiter or controller of this machine until Ctrl-C or SIGTERM.
pub fn arbiter(options: &ArbiterOptions) -> Result<ExitCode> {
    let network = network(&options.config)?;
    let here = || network.config().arbiter_here();
    let rank = options.rank.or_else(here).with_context(|| {
        format!("this machine has no address of an [[arbiter]] of {}", options.config.display())
    })?;
    let setup = network.arbiter(rank, options.common.key(network.config())?)?;
    if options.common.check_config {
        return Ok(fine(&options.config, &network));
    }
    let (running, shared) = (stoppable()?, Shared::default());
    let socket = options.common.socket(&format!("arbiter-{rank}"))?;
    let address = setup.address;
    let arbiter = Arbiter::open(setup, running.now())
        .with_context(|| format!("cannot use the address {address}"))?;
    say(&format!("arbiter {rank} at {address}, scheme {}", network.scheme()));
    std::thread::scope(|scope| {
        scope.spawn(|| socket.serve(&running, || shared.json()));
        let ended = arbiter.run(&running, &shared);
        running.stop();
        ended.context("the arbiter cannot go on")
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Asks daemons of this machine.
pub fn ctl(options: &CtlOptions) -> Result<ExitCode> {
    let CtlCommand::Status { socket } = &options.command;
    let sockets = match socket {
        Some(socket) => vec![socket.clone()],
        None => sockets(Path::new(FOLDER)),
    };
    if sockets.is_empty() {
        bail!("no daemon runs on this machine: there is no socket in {FOLDER}");
    }
    for socket in sockets {
        let name = socket.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let status = control::ask(&socket)
            .with_context(|| format!("no daemon listens at {}", socket.display()))?;
        say(&format!("{{\"daemon\": {name:?}, \"status\": {status}}}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn sockets(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut sockets: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    sockets.retain(|path| path.extension().is_some_and(|extension| extension == "sock"));
    sockets.sort();
    sockets
}

/// Makes a key, or shows the public one of a file.
pub fn key(options: &KeyOptions) -> Result<ExitCode> {
    let key = match &options.command {
        KeyCommand::New { file } => keys::create(file)?,
        KeyCommand::Public { file } => keys::read(file)?,
    };
    say(&key.public().to_string());
    Ok(ExitCode::SUCCESS)
}

impl DaemonOptions {
    fn key(&self, config: &Config) -> Result<KeyPair> {
        Ok(keys::read(self.key.as_ref().unwrap_or(&config.key))?)
    }
    fn socket(&self, name: &str) -> Result<ControlSocket> {
        let usual = || Path::new(FOLDER).join(format!("{name}.sock"));
        let path = self.control.clone().unwrap_or_else(usual);
        ControlSocket::open(&path)
            .with_context(|| format!("cannot open the control socket {}", path.display()))
    }
}

fn network(config: &Path) -> Result<LiveNetwork> {
    Ok(LiveNetwork::new(Config::load(config)?)?)
}

fn fine(config: &Path, network: &LiveNetwork) -> ExitCode {
    say(&format!(
        "{}: ok, {} hosts and {} arbiters, scheme {}",
        config.display(),
        network.config().host.len(),
        network.config().arbiter.len(),
        network.scheme()
    ));
    ExitCode::SUCCESS
}

/// A daemon that Ctrl-C and SIGTERM stop.
fn stoppable() -> Result<Arc<Running>> {
    let running = Arc::new(Running::default());
    let stopped = Arc::clone(&running);
    crate::progress::on_interrupt(move || stopped.stop())?;
    Ok(running)
}
