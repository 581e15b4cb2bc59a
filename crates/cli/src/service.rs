//! The parts that all daemons share: options, monitoring, control, and the end at a signal.

use crate::ctl;
use anyhow::{Context, Result, anyhow};
use clap::Args;
use slotline_live::control::ControlSocket;
use slotline_live::http::HttpSocket;
use slotline_live::notify::Manager;
use slotline_live::observe;
use slotline_live::running::Running;
use slotline_live::status::{Shared, Status};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// The interval of messages to systemd.
const BEAT: Duration = Duration::from_millis(200);

#[derive(Args)]
pub struct ServiceOptions {
    /// The socket at which `slotline ctl` finds this daemon [default: a file in /run/slotline].
    #[arg(long, value_name = "FILE")]
    pub control: Option<PathBuf>,
    /// Serve the status by HTTP at this address, such as 127.0.0.1:7078: a page, /metrics (OpenMetrics), /livez and
    /// /readyz.
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
}

impl ServiceOptions {
    /// Opens the sockets of daemon `name`.
    pub fn open<'a>(&self, name: &str, running: &'a Running) -> Result<Service<'a>> {
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

/// The interfaces by which a daemon is monitored and controlled.
pub struct Service<'a> {
    control: ControlSocket,
    http: Option<HttpSocket>,
    manager: Manager,
    running: &'a Running,
}

impl Service<'_> {
    /// Serves requests while `work` runs. `command` executes commands other than `status`, and returns `None` for
    /// unknown ones.
    pub fn run<T: Status + Send>(
        &self,
        shared: &Shared<T>,
        command: impl Fn(&str) -> Option<Result<()>> + Sync,
        work: impl FnOnce() -> Result<()>,
    ) -> Result<ExitCode> {
        let answer = |line: &str| match line {
            "status" => shared.json(),
            _ => match command(line).unwrap_or_else(|| Err(anyhow!("this daemon cannot {line}"))) {
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

    /// Reports to systemd that the daemon is ready, and regularly that it still works.
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

/// The state of a daemon that stops at Ctrl-C and SIGTERM.
pub fn stoppable() -> Result<Arc<Running>> {
    let running = Arc::new(Running::default());
    let stopped = Arc::clone(&running);
    crate::progress::on_interrupt(move || stopped.stop())?;
    Ok(running)
}
