//! The arbiter and the agents, or the bump, of the demonstration. They are processes of this program, as in a real network.

use super::clock_faults::{Consequence, Faulty, Observed};
use super::faults::Broken;
use super::outage::Kill;
use super::roster::{Daemon, Kind, TIMESLOTS, roster};
use super::{Demo, Victim};
use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;
use slotline_emulate::isolation;
use slotline_emulate::optical::OpticalSwitch;
use slotline_live::control;
use slotline_live::timeslots::Timeslots;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The time that agents have to find their arbiter.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time for which a killed daemon is absent.
const ABSENCE: Duration = Duration::from_secs(1);
/// The interval at which agents are checked.
const PERIOD: Duration = Duration::from_millis(50);

/// The interval at which a status is read until it is a new one.
const FRESH: Duration = Duration::from_millis(2);

/// What was done to daemons and the network while traffic ran.
#[derive(Default)]
pub struct Disturbed {
    pub kills: Vec<Kill>,
    pub broken: Option<Broken>,
    pub clock_faults: Vec<Observed>,
}

/// Seconds from a kill to the next one.
pub const BETWEEN: u16 = 3;

/// Running daemons. Dropping this value ends them.
pub struct Daemons {
    folder: PathBuf,
    children: Vec<(Daemon, Child)>,
    /// The optical switch between racks.
    optical: Option<OpticalSwitch>,
    /// The clock of the first sender's agent, if it is faulty.
    faulty: Option<Faulty>,
}

impl Daemons {
    /// Starts the daemons, and waits until all agents obey the arbiter.
    pub fn start(demo: &Demo<'_>) -> Result<Daemons> {
        let folder = demo.folder.join("daemons");
        fs::create_dir_all(&folder)?;
        let roster = roster(demo, &folder)?;
        let optical = demo.optical_switch(&folder)?;
        let faulty = demo.options.faulty_clock.then(|| Faulty::new(&folder)).transpose()?;
        let mut daemons = Daemons { folder, children: Vec::new(), optical, faulty };
        for daemon in roster {
            let child = daemons.spawn(demo, &daemon)?;
            daemons.children.push((daemon, child));
        }
        daemons.wait()?;
        Ok(daemons)
    }

    fn file(&self, daemon: &Daemon, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", daemon.name))
    }

    fn spawn(&self, demo: &Demo<'_>, daemon: &Daemon) -> Result<Child> {
        let log = File::create(self.file(daemon, "log"))?;
        let own = crate::program()?;
        let mut words = isolation::first_served().map(OsString::from).chain([own.into()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).args(&daemon.arguments);
        command.arg("--control").arg(self.file(daemon, "sock"));
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let faulty =
            self.faulty.as_ref().filter(|_| daemon.kind == Kind::Agent && daemon.is_victim);
        command.envs(faulty.into_iter().flat_map(Faulty::variables));
        let child = match daemon.machine {
            Some(machine) => demo.testbed.inside(machine, || command.spawn()),
            None => command.spawn(),
        };
        child.with_context(|| format!("cannot start the daemon of {}", daemon.name))
    }

    /// Waits until all agents obey an arbiter, or the bump works.
    fn wait(&mut self) -> Result<()> {
        let since = Instant::now();
        while let Some(name) = self.idle() {
            self.check_running()?;
            if since.elapsed() > PATIENCE {
                bail!("the daemon of {name} does not work after {PATIENCE:?}");
            }
            std::thread::sleep(PERIOD);
        }
        Ok(())
    }

    /// A daemon that does not work yet.
    fn idle(&self) -> Option<String> {
        let works = |daemon: &Daemon| match status(&self.file(daemon, "sock")) {
            Ok(status) if daemon.kind == Kind::Agent => !status["obeys"].is_null(),
            Ok(status) => !status.is_null(),
            Err(_) => false,
        };
        let idle = self.children.iter().find(|(daemon, _)| !works(daemon));
        idle.map(|(daemon, _)| daemon.name.clone())
    }

    fn check_running(&mut self) -> Result<()> {
        for (daemon, child) in &mut self.children {
            if let Some(status) = child.try_wait()? {
                let log = self.folder.join(format!("{}.log", daemon.name));
                let log = fs::read_to_string(log).unwrap_or_default();
                bail!("the daemon of {} has ended ({status}): {}", daemon.name, log.trim());
            }
        }
        Ok(())
    }

    /// Does what the options say while traffic runs.
    pub fn disturb(&mut self, demo: &Demo<'_>) -> Result<Disturbed> {
        if demo.options.operate {
            self.operate(demo)?;
        }
        let broken = match demo.break_link()? {
            Some(times) => Some(self.by_network_time(times)?),
            None => None,
        };
        let clock_faults = match self.faulty.take() {
            None => Vec::new(),
            Some(mut faulty) => {
                let observed = faulty.steps(|| self.agents());
                self.faulty = Some(faulty);
                observed?
            }
        };
        Ok(Disturbed { kills: self.kill(demo)?, broken, clock_faults })
    }

    /// Times by the network's time, as the arbiter tells it.
    fn by_network_time(&self, [from, broken, until]: [Instant; 3]) -> Result<Broken> {
        let arbiter = self.children.iter().find(|(daemon, _)| daemon.kind == Kind::Arbiter);
        let (arbiter, _) = arbiter.context("there is no arbiter")?;
        let told =
            || Ok::<_, anyhow::Error>(status(&self.file(arbiter, "sock"))?["time-ns"].as_f64());
        let (before, since) = (told()?, Instant::now());
        // A daemon shows its status at intervals, so a new one is recent.
        while told()? == before && since.elapsed() < PATIENCE {
            std::thread::sleep(FRESH);
        }
        let (now, here) = (told()?.context("the arbiter does not tell the time")?, Instant::now());
        let at = |time: Instant| now - here.duration_since(time).as_nanos() as f64;
        let change_ms = broken.duration_since(from).as_secs_f64() * 1e3;
        Ok(Broken { from_ns: at(from), until_ns: at(until), change_ms })
    }

    /// The status of the agent that may be disturbed, and those of the others.
    fn agents(&self) -> Result<(Value, Vec<Value>)> {
        let (mut own, mut others) = (Value::Null, Vec::new());
        for (agent, _) in self.children.iter().filter(|(of, _)| of.kind == Kind::Agent) {
            let status = status(&self.file(agent, "sock"))?;
            match agent.is_victim {
                true => own = status,
                false => others.push(status),
            }
        }
        Ok((own, others))
    }

    /// What followed from faults of a clock for the timeslots of its host.
    pub fn consequences(&self, faults: Vec<Observed>) -> Result<Vec<Consequence>> {
        let Some(faulty) = &self.faulty else { return Ok(Vec::new()) };
        let agents = self.children.iter().filter(|(of, _)| of.kind == Kind::Agent);
        let (agent, _) = agents.into_iter().find(|(of, _)| of.is_victim).context("no agent")?;
        let file = self.file(agent, TIMESLOTS);
        let text = fs::read_to_string(&file)?;
        faulty
            .consequences(faults, &text)
            .with_context(|| format!("cannot read the log of timeslots {}", file.display()))
    }

    /// Reloads all daemons twice, and takes the first sender out of the schedule for a third of the time. In a star the scenario
    /// has one more host at the second time, so that all arbiters have other numbers.
    fn operate(&self, demo: &Demo<'_>) -> Result<()> {
        let third = Duration::from_secs(demo.options.seconds.into()) / 3;
        std::thread::sleep(third);
        self.children.iter().try_for_each(|(daemon, _)| self.ask(daemon, "reload"))?;
        let arbiters = || self.children.iter().filter(|(of, _)| of.kind == Kind::Arbiter);
        arbiters().try_for_each(|(arbiter, _)| self.ask(arbiter, "drain h1"))?;
        std::thread::sleep(third);
        let file = self.folder.join("fabric.toml");
        let [hosts, more] = [0, 1].map(|more| format!("\nhosts = {}\n", demo.hosts() + more));
        fs::write(&file, fs::read_to_string(&file)?.replace(&hosts, &more))?;
        self.children.iter().try_for_each(|(daemon, _)| self.ask(daemon, "reload"))?;
        arbiters().try_for_each(|(arbiter, _)| self.ask(arbiter, "resume h1"))
    }

    /// Gives a command to a daemon.
    fn ask(&self, daemon: &Daemon, command: &str) -> Result<()> {
        let text = control::ask(&self.file(daemon, "sock"), command)?;
        let answer: Value = serde_json::from_str(&text)?;
        match answer["error"].as_str() {
            None => Ok(()),
            Some(error) => bail!("{}: {command}: {error}", daemon.name),
        }
    }

    /// Kills the daemon of `--kill`, and starts it again unless it is the primary arbiter. With `--kills`, does so many
    /// times with the arbiter that hosts obey, and returns the kills.
    fn kill(&mut self, demo: &Demo<'_>) -> Result<Vec<Kill>> {
        let Some(victim) = demo.options.kill else { return Ok(Vec::new()) };
        if let Some(kills) = demo.options.kills {
            let begun = Instant::now();
            let due = |n: u16| begun + Duration::from_secs((BETWEEN * (n + 1)).into()) - ABSENCE;
            return (0..kills).map(|n| self.kill_obeyed(demo, due(n))).collect();
        }
        let kind = match victim {
            Victim::Agent => Kind::Agent,
            Victim::Arbiter | Victim::Primary => Kind::Arbiter,
            Victim::Bump => Kind::Bump,
        };
        std::thread::sleep(Duration::from_secs(demo.options.seconds.into()) / 2);
        let of_kind = self.children.iter().position(|(of, _)| of.kind == kind && of.is_victim);
        let Some(at) = of_kind else { return Ok(Vec::new()) };
        let (daemon, mut child) = self.children.remove(at);
        end(&mut child);
        if victim != Victim::Primary {
            std::thread::sleep(ABSENCE);
            let child = self.spawn(demo, &daemon)?;
            self.children.push((daemon, child));
        }
        Ok(Vec::new())
    }

    /// Waits until a time, kills the arbiter that hosts obey, and starts it again.
    fn kill_obeyed(&mut self, demo: &Demo<'_>, due: Instant) -> Result<Kill> {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let name = demo.arbiter_name(self.obeyed()?);
        let at = self.children.iter().position(|(daemon, _)| daemon.name == name);
        let (daemon, mut child) = self.children.remove(at.context("the arbiter has ended")?);
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        end(&mut child);
        std::thread::sleep(ABSENCE);
        let arbiters = self.children.iter().filter(|(daemon, _)| daemon.kind == Kind::Arbiter);
        let silence = |(daemon, _): &(Daemon, Child)| {
            let status = status(&self.file(daemon, "sock")).ok()?;
            let ns = status["counters"]["take_over_silence_ns"].as_f64()?;
            (ns > 0.0).then_some(ns / 1e6)
        };
        let silence_ms = arbiters.filter_map(silence).reduce(f64::max);
        let child = self.spawn(demo, &daemon)?;
        self.children.push((daemon, child));
        Ok(Kill { at, silence_ms })
    }

    /// The place of the arbiter that hosts obey. A host that obeys none at the moment gets some time.
    fn obeyed(&self) -> Result<usize> {
        let agent = self.children.iter().find(|(daemon, _)| daemon.kind == Kind::Agent);
        let (agent, _) = agent.context("there is no agent")?;
        let since = Instant::now();
        while since.elapsed() < PATIENCE {
            if let Some(rank) = status(&self.file(agent, "sock"))?["obeys"].as_u64() {
                return Ok(rank as usize);
            }
            std::thread::sleep(PERIOD);
        }
        bail!("{} obeys no arbiter after {PATIENCE:?}", agent.name)
    }

    /// The status of a daemon, which may have been started a moment ago.
    fn answer(&self, daemon: &Daemon) -> Result<Value> {
        let (socket, since) = (self.file(daemon, "sock"), Instant::now());
        loop {
            match status(&socket) {
                Err(_) if since.elapsed() < PATIENCE => std::thread::sleep(PERIOD),
                answer => return answer,
            }
        }
    }

    /// Checks that all daemons still run, and ends them. Returns their status by host, and the timeslots of hosts.
    pub fn end(mut self) -> Result<(BTreeMap<String, Value>, Timeslots)> {
        self.check_running()?;
        let status =
            |(daemon, _): &(Daemon, Child)| Ok((daemon.name.clone(), self.answer(daemon)?));
        let all = self.children.iter().map(status).collect::<Result<_>>()?;
        let mut timeslots = Timeslots::default();
        for (daemon, _) in &self.children {
            let file = self.file(daemon, TIMESLOTS);
            // Only hosts have one, and only if an arbiter is to be killed.
            let text = fs::read_to_string(&file).unwrap_or_default();
            timeslots.add(&text).map_err(|why| anyhow!("{}: {why}", file.display()))?;
        }
        if let Some(optical) = self.optical.take() {
            optical.end().context("the optical switch failed")?;
        }
        Ok((all, timeslots))
    }
}

impl Drop for Daemons {
    fn drop(&mut self) {
        self.children.iter_mut().for_each(|(_, child)| end(child));
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Ends a process, unless it has ended already.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn status(socket: &Path) -> Result<Value> {
    Ok(serde_json::from_str(&control::ask(socket, "status")?)?)
}
