//! The arbiter and the agents of the demonstration: processes of this program, as a real network has them.

use super::{Demo, DemoControl};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use slotline_emulate::isolation;
use slotline_live::{control, keys};
use std::ffi::OsString;
use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long agents have to find their arbiter.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often that is looked at.
const PERIOD: Duration = Duration::from_millis(50);

/// Daemons that run. They end with this.
pub struct Daemons {
    folder: PathBuf,
    children: Vec<(String, Child)>,
}

impl Daemons {
    /// Starts them, and waits until all agents obey the arbiter.
    pub fn start(demo: &Demo<'_>) -> Result<Daemons> {
        let folder = std::env::temp_dir().join(format!("slotline-demo-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let mut daemons = Daemons { folder, children: Vec::new() };
        daemons.write_files(demo)?;
        daemons.spawn(demo, demo.arbiter(), "arbiter", &["--rank", "0"])?;
        for host in 0..demo.arbiter() {
            let name = format!("h{host}");
            daemons.spawn(demo, host, &name, &["--host", &name])?;
        }
        daemons.wait(demo)?;
        Ok(daemons)
    }

    fn write_files(&self, demo: &Demo<'_>) -> Result<()> {
        fs::write(self.folder.join("fabric.toml"), scenario(demo))?;
        let mut text = String::from("scenario = \"fabric.toml\"\nnetwork = [\"10.79.0.0/24\"]\n");
        for (host, address) in demo.addresses.iter().enumerate() {
            let name = name(demo, host);
            let key = keys::create(&self.folder.join(&name).with_extension("key"))?.public();
            write!(text, "{}", match host == demo.arbiter() {
                true => format!("\n[[arbiter]]\naddress = \"{address}\"\nkey = \"{key}\"\n"),
                false => format!("\n[[host]]\nname = \"{name}\"\naddress = [\"{address}\"]\nkey = \"{key}\"\n"),
            })?;
        }
        Ok(fs::write(self.folder.join("network.toml"), text)?)
    }

    fn spawn(&mut self, demo: &Demo<'_>, host: usize, name: &str, options: &[&str]) -> Result<()> {
        let kind = if host == demo.arbiter() { "arbiter" } else { "agent" };
        let file = |extension: &str| self.folder.join(name).with_extension(extension);
        let log = File::create(file("log"))?;
        let own = std::env::current_exe()?;
        let mut words = isolation::first_served().map(OsString::from).chain([own.into()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).arg(kind).arg(self.folder.join("network.toml")).args(options);
        command.arg("--key").arg(file("key")).arg("--control").arg(file("sock"));
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = demo.bridge.inside(host, || command.spawn());
        self.children.push((name.to_owned(), child.with_context(|| format!("cannot start the {kind}"))?));
        Ok(())
    }

    /// Until all agents obey.
    fn wait(&mut self, demo: &Demo<'_>) -> Result<()> {
        let since = Instant::now();
        for host in 0..demo.arbiter() {
            while !obeys(&self.folder.join(format!("h{host}.sock"))) {
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
        for (name, child) in &mut self.children {
            if let Some(status) = child.try_wait()? {
                let log = fs::read_to_string(self.folder.join(&name).with_extension("log"));
                bail!("the daemon of {name} has ended ({status}): {}", log.unwrap_or_default().trim());
            }
        }
        Ok(())
    }

    /// What they say of themselves, by name. All of them still run, and end now.
    pub fn end(mut self) -> Result<Vec<(String, Value)>> {
        self.check_running()?;
        let status = |(name, _): &(String, Child)| {
            Ok((name.clone(), status(&self.folder.join(name).with_extension("sock"))?))
        };
        self.children.iter().map(status).collect()
    }
}

impl Drop for Daemons {
    fn drop(&mut self) {
        for (_, child) in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn name(demo: &Demo<'_>, host: usize) -> String {
    if host == demo.arbiter() { "arbiter".into() } else { format!("h{host}") }
}

/// Whether an agent obeys an arbiter.
fn obeys(socket: &Path) -> bool {
    status(socket).is_ok_and(|status| !status["obeys"].is_null())
}

fn status(socket: &Path) -> Result<Value> {
    Ok(serde_json::from_str(&control::ask(socket)?)?)
}

/// The network as the arbiter knows it.
fn scenario(demo: &Demo<'_>) -> String {
    let (hosts, rate) = (demo.arbiter(), demo.options.rate);
    let control = match demo.options.control {
        DemoControl::Fastpass => "kind = \"fastpass\"\nslot = \"500us\"\nbatch = 4\nlead = \"2ms\"\ntimeout = \"5ms\"\ngap = \"100us\"",
        DemoControl::Tdma => "kind = \"tdma\"\nslot = \"2ms\"\nguard = \"200us\"\nround = \"20ms\"\nlead = \"3ms\"\nplanning-time = \"1ms\"",
        DemoControl::Xco => "kind = \"xco\"",
    };
    format!(
        "name = \"demo\"\nend.at = \"1s\"\n[fabric]\nkind = \"star\"\nhosts = {hosts}\nrate = \"{rate}\"\ndelay = \"50us\"\n\
         [[workload]]\nkind = \"bulk\"\nsenders = \"1\"\nreceivers = \"0\"\n[[scheme]]\nname = \"{}\"\n[scheme.control]\n{control}\n",
        demo.options.control.name()
    )
}
