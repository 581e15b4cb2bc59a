//! The arbiter and the agents, or the bump, of the demonstration. They are processes of this program, as in a real network.

use super::{Demo, DemoControl, Victim};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use slotline_emulate::bridge::Bridge;
use slotline_emulate::isolation;
use slotline_live::{control, keys};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The time that agents have to find their arbiter.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time for which a killed daemon is absent.
const ABSENCE: Duration = Duration::from_secs(1);
/// The interval at which agents are checked.
const PERIOD: Duration = Duration::from_millis(50);

/// The machine of a daemon.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Host(usize),
    Switch,
}

impl Place {
    fn name(self) -> String {
        match self {
            Place::Host(host) => format!("h{host}"),
            Place::Switch => "bump".into(),
        }
    }
}

/// Running daemons. Dropping this value ends them.
pub struct Daemons {
    folder: PathBuf,
    children: Vec<(Place, Child)>,
}

impl Daemons {
    /// Starts the daemons, and waits until all agents obey the arbiter.
    pub fn start(demo: &Demo<'_>) -> Result<Daemons> {
        let folder = demo.folder.join("daemons");
        fs::create_dir_all(&folder)?;
        let mut daemons = Daemons { folder, children: Vec::new() };
        let places: Vec<Place> = match demo.options.control {
            DemoControl::Bump => vec![Place::Switch],
            _ => {
                daemons.write_files(demo)?;
                (0..demo.addresses.len()).rev().map(Place::Host).collect()
            }
        };
        for place in places {
            let child = daemons.spawn(demo, place)?;
            daemons.children.push((place, child));
        }
        daemons.wait(demo)?;
        Ok(daemons)
    }

    fn write_files(&self, demo: &Demo<'_>) -> Result<()> {
        fs::write(self.folder.join("fabric.toml"), scenario(demo))?;
        let mut text = String::from("scenario = \"fabric.toml\"\nnetwork = [\"10.79.0.0/24\"]\n");
        for (host, address) in demo.addresses.iter().enumerate() {
            let key = keys::create(&self.file(Place::Host(host), "key"))?.public();
            text += &match host < demo.hosts() {
                true => format!(
                    "[[host]]\nname = \"h{host}\"\naddress = [\"{address}\"]\nkey = \"{key}\"\n"
                ),
                false => format!("[[arbiter]]\naddress = \"{address}\"\nkey = \"{key}\"\n"),
            };
        }
        Ok(fs::write(self.folder.join("network.toml"), text)?)
    }
    fn file(&self, place: Place, extension: &str) -> PathBuf {
        self.folder.join(place.name()).with_extension(extension)
    }

    fn spawn(&self, demo: &Demo<'_>, place: Place) -> Result<Child> {
        let log = File::create(self.file(place, "log"))?;
        let own = crate::program()?;
        let mut words = isolation::first_served().map(OsString::from).chain([own.into()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).args(self.arguments(demo, place));
        command.arg("--control").arg(self.file(place, "sock"));
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = match place {
            Place::Host(host) => demo.bridge.inside(host, || command.spawn()),
            Place::Switch => command.spawn(),
        };
        child.with_context(|| format!("cannot start the daemon of {}", place.name()))
    }

    /// The arguments of a daemon. An agent or arbiter finds its entry in the configuration by its address.
    fn arguments(&self, demo: &Demo<'_>, place: Place) -> Vec<OsString> {
        let Place::Host(host) = place else { return bump(demo) };
        let kind = if host < demo.hosts() { "agent" } else { "arbiter" };
        let config = self.folder.join("network.toml");
        let key = self.file(place, "key");
        vec![kind.into(), config.into(), "--key".into(), key.into()]
    }

    /// Waits until all agents obey an arbiter, or the bump works.
    fn wait(&mut self, demo: &Demo<'_>) -> Result<()> {
        let since = Instant::now();
        let places: Vec<Place> = self.children.iter().map(|(place, _)| *place).collect();
        for place in places {
            while !self.works(demo, place) {
                self.check_running()?;
                if since.elapsed() > PATIENCE {
                    bail!("the daemon of {} does not work after {PATIENCE:?}", place.name());
                }
                std::thread::sleep(PERIOD);
            }
        }
        Ok(())
    }

    fn works(&self, demo: &Demo<'_>, place: Place) -> bool {
        let Ok(status) = status(&self.file(place, "sock")) else { return false };
        match place {
            Place::Host(host) if host < demo.hosts() => !status["obeys"].is_null(),
            _ => !status.is_null(),
        }
    }

    fn check_running(&mut self) -> Result<()> {
        for (place, child) in &mut self.children {
            if let Some(status) = child.try_wait()? {
                let log = self.folder.join(place.name()).with_extension("log");
                let log = fs::read_to_string(log).unwrap_or_default();
                bail!("the daemon of {} has ended ({status}): {}", place.name(), log.trim());
            }
        }
        Ok(())
    }

    /// Kills the daemon of `--kill`, and starts it again unless it is the primary arbiter.
    pub fn kill(&mut self, demo: &Demo<'_>) -> Result<()> {
        let place = match demo.options.kill {
            None => return Ok(()),
            Some(Victim::Agent) => Place::Host(1),
            Some(Victim::Arbiter | Victim::Primary) => Place::Host(demo.hosts()),
            Some(Victim::Bump) => Place::Switch,
        };
        std::thread::sleep(Duration::from_secs(demo.options.seconds.into()) / 2);
        if let Some(at) = self.children.iter().position(|(of, _)| *of == place) {
            end(&mut self.children.remove(at).1);
        }
        if demo.options.kill != Some(Victim::Primary) {
            std::thread::sleep(ABSENCE);
            self.children.push((place, self.spawn(demo, place)?));
        }
        Ok(())
    }

    /// Checks that all daemons still run, returns their status by host, and ends them.
    pub fn end(mut self) -> Result<BTreeMap<String, Value>> {
        self.check_running()?;
        let status =
            |(place, _): &(Place, Child)| Ok((place.name(), status(&self.file(*place, "sock"))?));
        self.children.iter().map(status).collect()
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

/// Virtual queues that drain a little slower than the switch, for the packets to the host that receives.
fn bump(demo: &Demo<'_>) -> Vec<OsString> {
    let (rate, buffer) = (demo.options.rate.0, demo.options.buffer.0);
    let queue =
        format!("{{ kind = \"ecn\", threshold = \"{}B\", limit = \"{buffer}B\" }}", buffer / 5);
    let rate = format!("{}bps", rate / 100 * 95);
    // The bridge's own limit does not count preambles and gaps.
    let words =
        ["bump", "--out", Bridge::PORT0, "--framing", "0", "--rate", &rate, "--queue", &queue];
    words.map(OsString::from).into()
}

fn status(socket: &Path) -> Result<Value> {
    Ok(serde_json::from_str(&control::ask(socket, "status")?)?)
}

/// The scenario that describes the network to the arbiter.
fn scenario(demo: &Demo<'_>) -> String {
    let (hosts, rate) = (demo.hosts(), demo.options.rate);
    let control = match demo.options.control {
        DemoControl::Fastpass => {
            "kind = \"fastpass\"\nslot = \"500us\"\nbatch = 4\nlead = \"2ms\"\ntimeout = \"5ms\"\ngap = \"100us\"\n\
             watchdog-timeout = \"20ms\""
        }
        DemoControl::Tdma => {
            "kind = \"tdma\"\nslot = \"2ms\"\nguard = \"200us\"\nround = \"20ms\"\nlead = \"3ms\"\nplanning-time = \"1ms\""
        }
        DemoControl::Xco => "kind = \"xco\"",
        DemoControl::Bump => "kind = \"none\"",
    };
    let secondary = match demo.arbiters {
        1 => "",
        _ => "\nsecondary = true\nwatchdog-interval = \"2ms\"",
    };
    format!(
        "name = \"demo\"\nend.at = \"1s\"\n[fabric]\nkind = \"star\"\nhosts = {hosts}\nrate = \"{rate}\"\ndelay = \"50us\"\n\
         [[workload]]\nkind = \"bulk\"\nsenders = \"1\"\nreceivers = \"0\"\n[[scheme]]\nname = \"{}\"\n[scheme.control]\n{control}{secondary}\n",
        demo.options.control.name()
    )
}
