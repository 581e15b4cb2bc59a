//! `slotline agent`, `slotline arbiter` and `slotline key`: the daemons of a real network.

use crate::ctl;
use crate::out::say;
use anyhow::{Context, Result, anyhow};
use clap::{Args, Subcommand};
use slotline_envelope::KeyPair;
use slotline_lab::live::LiveNetwork;
use slotline_linux::gate::{Gate, Held};
use slotline_live::agent::Agent;
use slotline_live::arbiter::Arbiter;
use slotline_live::channel::Keys;
use slotline_live::config::Config;
use slotline_live::control::ControlSocket;
use slotline_live::http::HttpSocket;
use slotline_live::keys;
use slotline_live::notify::Manager;
use slotline_live::observe;
use slotline_live::record::Recorder;
use slotline_live::running::Running;
use slotline_live::status::{Shared, Status};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// How often systemd is told that a daemon works.
const BEAT: Duration = Duration::from_millis(200);

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
    /// Write all that the arbiter hears and sends to this file, for `slotline replay`. If it exists, to FILE.1, and so on.
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
    /// The socket at which `slotline ctl` finds this daemon [default: a file in /run/slotline].
    #[arg(long, value_name = "FILE")]
    pub control: Option<PathBuf>,
    /// Show the daemon by HTTP at this address, such as 127.0.0.1:7078: a page, /metrics (OpenMetrics), /livez and /readyz.
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
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
    let running = stoppable()?;
    let gate =
        Gate::open(held).context("cannot hold packets of this machine (netfilter's queue)")?;
    let address = setup.address;
    let agent = Agent::open(setup, gate, running.now())
        .with_context(|| format!("cannot use the address {address}"))?;
    let service = options.common.service(&format!("agent-{host}"), &running)?;
    say(&format!("agent of host {host} at {address}, scheme {}", network.scheme()));
    let shared = Shared::default();
    let told = |line: &str| match line {
        "drain" | "resume" => {
            shared.drain(line == "drain");
            Some(Ok(()))
        }
        "reload" => Some(options.common.keys(&options.config, |network, key| {
            let setup = network.agent(&host, key)?;
            shared.rekey(Keys::of(&setup.key, &setup.arbiters));
            Ok(())
        })),
        _ => None,
    };
    service.run(&shared, told, || agent.run(&running, &shared).context("the agent cannot go on"))
}

/// Runs the arbiter or controller of this machine until Ctrl-C or SIGTERM.
pub fn arbiter(options: &ArbiterOptions) -> Result<ExitCode> {
    let network = network(&options.config)?;
    let here = || network.config().arbiter_here();
    let rank = options.rank.or_else(here).with_context(|| {
        format!("this machine has no address of an [[arbiter]] of {}", options.config.display())
    })?;
    let mut setup = network.arbiter(rank, options.common.key(network.config())?)?;
    if options.common.check_config {
        return Ok(fine(&options.config, &network));
    }
    setup.recorder = options.record.as_deref().map(record).transpose()?;
    let running = stoppable()?;
    let address = setup.address;
    let arbiter = Arbiter::open(setup, running.now())
        .with_context(|| format!("cannot use the address {address}"))?;
    let service = options.common.service(&format!("arbiter-{rank}"), &running)?;
    say(&format!("arbiter {rank} at {address}, scheme {}", network.scheme()));
    let shared = Shared::default();
    let run = || arbiter.run(&running, &shared).context("the arbiter cannot go on");
    let told = |line: &str| {
        (line == "reload").then(|| {
            options.common.keys(&options.config, |network, key| {
                let setup = network.arbiter(rank, key)?;
                shared.rekey(Keys::of(&setup.key, &setup.peers));
                Ok(())
            })
        })
    };
    service.run(&shared, told, run)
}

fn record(file: &Path) -> Result<Recorder> {
    Recorder::create(file).with_context(|| format!("cannot begin the log {}", file.display()))
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
    /// Reads the configuration and the key again, for `take`.
    fn keys(
        &self,
        config: &Path,
        take: impl FnOnce(&LiveNetwork, KeyPair) -> Result<()>,
    ) -> Result<()> {
        let network = network(config)?;
        take(&network, self.key(network.config())?)
    }
    fn service<'a>(&self, name: &str, running: &'a Running) -> Result<Service<'a>> {
        let usual = || Path::new(ctl::FOLDER).join(format!("{name}.sock"));
        let path = self.control.clone().unwrap_or_else(usual);
        let control = ControlSocket::open(&path)
            .with_context(|| format!("cannot open the control socket {}", path.display()))?;
        let open = |address| {
            HttpSocket::open(address).with_context(|| format!("cannot use the address {address}"))
        };
        let http = self.http.map(open).transpose()?;
        Ok(Service { control, http, manager: Manager::of_process(), running })
    }
}

/// By what others watch a daemon, and tell it what to do.
struct Service<'a> {
    control: ControlSocket,
    http: Option<HttpSocket>,
    manager: Manager,
    running: &'a Running,
}

impl Service<'_> {
    /// Serves while `work` runs. `told` answers lines that are not about the status.
    fn run<T: Status + Send>(
        &self,
        shared: &Shared<T>,
        told: impl Fn(&str) -> Option<Result<()>> + Sync,
        work: impl FnOnce() -> Result<()>,
    ) -> Result<ExitCode> {
        let answer = |line: &str| match line {
            "status" => shared.json(),
            _ => match told(line).unwrap_or_else(|| Err(anyhow!("it cannot {line}"))) {
                Ok(()) => "null".into(),
                Err(error) => serde_json::json!({ "error": format!("{error:#}") }).to_string(),
            },
        };
        std::thread::scope(|scope| {
            scope.spawn(|| self.control.serve(self.running, answer));
            if let Some(http) = &self.http {
                scope.spawn(|| http.serve(self.running, |path| observe::answer(shared, path)));
            }
            scope.spawn(|| self.tell_manager(|| shared.is_alive()));
            let ended = work();
            self.running.stop();
            ended
        })?;
        Ok(ExitCode::SUCCESS)
    }

    /// Tells systemd that the daemon is ready, and that it works as long as it does.
    fn tell_manager(&self, alive: impl Fn() -> bool) {
        self.manager.tell("READY=1");
        while !self.running.stopped() {
            if alive() {
                self.manager.tell("WATCHDOG=1");
            }
            std::thread::sleep(BEAT);
        }
        self.manager.tell("STOPPING=1");
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
