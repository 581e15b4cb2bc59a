//! The arbiter and the agents of the demonstration: processes of this program, as a real network has them.

use super::{Demo, DemoControl, Victim};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use slotline_emulate::isolation;
use slotline_live::{control, keys};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long agents have to find their arbiter.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a daemon that was killed is away.
const ABSENCE: Duration = Duration::from_secs(1);
/// How often that is looked at.
const PERIOD: Duration = Duration::from_millis(50);

/// Daemons that run. They end with this.
pub struct Daemons {
    folder: PathBuf,
    /// By host.
    children: Vec<(usize, Child)>,
}

impl Daemons {
    /// Starts them, and waits until all agents obey the arbiter.
    pub fn start(demo: &Demo<'_>) -> Result<Daemons> {
        // In its namespace this process has the same number as those of other demonstrations.
        let number = isolation::outer().unwrap_or_else(std::process::id);
        let folder = std::env::temp_dir().join(format!("slotline-demo-{number}"));
        // One that was killed may have left it.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        let mut daemons = Daemons { folder, children: Vec::new() };
        daemons.write_files(demo)?;
        for host in (0..demo.addresses.len()).rev() {
            let child = daemons.spawn(demo, host)?;
            daemons.children.push((host, child));
        }
        daemons.wait(demo)?;
        Ok(daemons)
    }

    fn write_files(&self, demo: &Demo<'_>) -> Result<()> {
        fs::write(self.folder.join("fabric.toml"), scenario(demo))?;
        let mut text = String::from("scenario = \"fabric.toml\"\nnetwork = [\"10.79.0.0/24\"]\n");
        for (host, address) in demo.addresses.iter().enumerate() {
            let key = keys::create(&self.file(host, "key"))?.public();
            text += &match host < demo.hosts() {
                true => format!(
                    "[[host]]\nname = \"h{host}\"\naddress = [\"{address}\"]\nkey = \"{key}\"\n"
                ),
                false => format!("[[arbiter]]\naddress = \"{address}\"\nkey = \"{key}\"\n"),
            };
        }
        Ok(fs::write(self.folder.join("network.toml"), text)?)
    }
    fn file(&self, host: usize, extension: &str) -> PathBuf {
        self.folder.join(format!("h{host}.{extension}"))
    }

    /// Starts the daemon of a host. It finds itself in the configuration by its address.
    fn spawn(&self, demo: &Demo<'_>, host: usize) -> Result<Child> {
        let kind = if host < demo.hosts() { "agent" } else { "arbiter" };
        let log = File::create(self.file(host, "log"))?;
        let own = std::env::current_exe()?;
        let mut words = isolation::first_served().map(OsString::from).chain([own.into()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).arg(kind).arg(self.folder.join("network.toml"));
        command.arg("--key").arg(self.file(host, "key"));
        command.arg("--control").arg(self.file(host, "sock"));
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = demo.bridge.inside(host, || command.spawn());
        child.with_context(|| format!("cannot start the {kind} of h{host}"))
    }

    /// Until all agents obey.
    fn wait(&mut self, demo: &Demo<'_>) -> Result<()> {
        let since = Instant::now();
        for host in 0..demo.hosts() {
            while !obeys(&self.file(host, "sock")) {
                self.check_running()?;
                if since.elapsed() > PATIENCE {
                    bail!("the agent of h{host} has not found the arbiter within {PATIENCE:?}");
                }
                std::thread::sleep(PERIOD);
            }
        }
        Ok(())
    }

    fn check_running(&mut self) -> Result<()> {
        for (host, child) in &mut self.children {
            if let Some(status) = child.try_wait()? {
                let log = self.folder.join(format!("h{host}.log"));
                let log = fs::read_to_string(log).unwrap_or_default();
                bail!("the daemon of h{host} has ended ({status}): {}", log.trim());
            }
        }
        Ok(())
    }

    /// Kills what is to be killed, and starts it again.
    pub fn kill(&mut self, demo: &Demo<'_>) -> Result<()> {
        let Some(victim) = demo.options.kill else { return Ok(()) };
        let host = if victim == Victim::Agent { 1 } else { demo.hosts() };
        std::thread::sleep(Duration::from_secs(demo.options.seconds.into()) / 2);
        if let Some(at) = self.children.iter().position(|(of, _)| *of == host) {
            end(&mut self.children.remove(at).1);
        }
        if victim != Victim::Primary {
            std::thread::sleep(ABSENCE);
            self.children.push((host, self.spawn(demo, host)?));
        }
        Ok(())
    }

    /// What they say of themselves, by host. All of them still run, and end now.
    pub fn end(mut self) -> Result<BTreeMap<String, Value>> {
        self.check_running()?;
        let status = |(host, _): &(usize, Child)| {
            Ok((format!("h{host}"), status(&self.file(*host, "sock"))?))
        };
        self.children.iter().map(status).collect()
    }
}

impl Drop for Daemons {
    fn drop(&mut self) {
        self.children.iter_mut().for_each(|(_, child)| end(child));
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// One that has ended already needs no more.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Whether an agent obeys an arbiter.
fn obeys(socket: &Path) -> bool {
    status(socket).is_ok_and(|status| !status["obeys"].is_null())
}

fn status(socket: &Path) -> Result<Value> {
    Ok(serde_json::from_str(&control::ask(socket, "status")?)?)
}

/// The network as the arbiter knows it.
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
