//! An Open vSwitch of this emulation alone: a database, a switch daemon in user space, and their files in one folder.

use crate::isolation;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The programs of Open vSwitch that are used.
pub const PROGRAMS: [&str; 4] = ["ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl"];
/// How to get them.
const PACKAGE: &str =
    "install Open vSwitch (Debian and Ubuntu: sudo apt install openvswitch-switch)";
/// The time that a daemon has to begin.
const PATIENCE: Duration = Duration::from_secs(10);
/// Where the kernel counts the processor time of a process: ticks of a hundredth of a second.
const TICK: Duration = Duration::from_millis(10);

/// A running Open vSwitch. Dropping it ends its daemons.
#[derive(Debug)]
pub struct OpenVswitch {
    folder: PathBuf,
    database: Child,
    switch: Child,
}

/// The version of the installed Open vSwitch, such as `Open vSwitch 3.1.0`.
///
/// # Errors
/// Which program is missing, and how to get it.
pub fn version() -> Result<String, String> {
    for program in PROGRAMS {
        let tried = Command::new(program).arg("--version").output();
        tried.map_err(|error| format!("{program}: {error}; {PACKAGE}"))?;
    }
    let output = Command::new("ovs-vswitchd").arg("--version").output();
    let output = output.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let number = text.lines().next().and_then(|line| line.split_whitespace().last());
    Ok(format!("Open vSwitch {}", number.unwrap_or("of unknown version")))
}

impl OpenVswitch {
    /// Starts the daemons, with all files in a new folder at `folder`. Switches of the machine's own Open vSwitch are not
    /// touched.
    ///
    /// # Errors
    /// Open vSwitch is not installed, or a daemon does not begin; its log is in the message.
    pub fn start(folder: &Path) -> io::Result<OpenVswitch> {
        version().map_err(io::Error::other)?;
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder)?;
        let database = start_database(folder)?;
        let switch = configure(folder).and_then(|()| start_switch(folder));
        match switch {
            Ok(switch) => Ok(OpenVswitch { folder: folder.into(), database, switch }),
            Err(error) => {
                end(database);
                Err(error)
            }
        }
    }

    /// Makes bridges, each with ports of these names and numbers. A port is an interface (TAP) of the present network
    /// namespace: what the bridge sends arrives there, and what leaves by the interface reaches the bridge.
    ///
    /// # Errors
    /// The switch refuses them.
    pub fn add_bridges(&self, bridges: &[(String, Vec<(String, u32)>)]) -> io::Result<()> {
        // Without this type Open vSwitch removes the queues of interfaces.
        let mut words: Vec<String> =
            split("--timeout=30 -- --id=@none create qos type=linux-noop").collect();
        for (bridge, ports) in bridges {
            let settings = "datapath_type=netdev fail-mode=secure protocols=OpenFlow13";
            words.extend(split(&format!("-- add-br {bridge} -- set bridge {bridge} {settings}")));
            for (port, number) in ports {
                words.extend(split(&format!("-- add-port {bridge} {port}")));
                words.extend(split(&format!("-- set port {port} qos=@none")));
                words.extend(split(&format!(
                    "-- set interface {port} type=tap ofport_request={number}"
                )));
            }
        }
        control(&self.folder, &words)
    }

    /// Waits until the switch has noticed all changes of interfaces. It then removes filters of packets that arrive, and does
    /// not look again before the next change.
    ///
    /// # Errors
    /// The switch does not answer.
    pub fn settle(&self) -> io::Result<()> {
        let words = "--timeout=30 set Open_vSwitch . external_ids:settled=yes";
        control(&self.folder, &split(words).collect::<Vec<_>>())
    }

    /// The socket at which a bridge listens for controllers.
    pub fn socket(&self, bridge: &str) -> PathBuf {
        self.folder.join(format!("{bridge}.mgmt"))
    }

    /// The processor time that the switch daemon has used.
    ///
    /// # Errors
    /// It has ended.
    pub fn cpu_time(&self) -> io::Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.switch.id()))?;
        // The name of the program is in parentheses and may contain blanks.
        let after = stat.rsplit(") ").next().unwrap_or_default();
        let ticks = after.split_whitespace().skip(11).take(2);
        Ok(TICK * ticks.filter_map(|ticks| ticks.parse::<u32>().ok()).sum())
    }
}

impl Drop for OpenVswitch {
    fn drop(&mut self) {
        for child in [&mut self.switch, &mut self.database] {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn split(words: &str) -> impl Iterator<Item = String> + '_ {
    words.split_whitespace().map(str::to_owned)
}

fn end(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// A program of Open vSwitch whose files are in `folder`. Its output goes to a file there.
fn program(folder: &Path, first: &[&str], program: &str) -> Command {
    let mut words = first.iter().copied().chain([program]);
    let mut command = Command::new(words.next().unwrap_or(program));
    command.args(words).stdin(Stdio::null()).current_dir(folder);
    for variable in ["OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR", "OVS_SYSCONFDIR"] {
        command.env(variable, folder);
    }
    command
}

/// Starts a daemon, and waits until it listens at a socket.
fn daemon(folder: &Path, mut command: Command, socket: &str) -> io::Result<Child> {
    let log = fs::File::create(folder.join(format!("{socket}.log")))?;
    let mut child = command.stdout(log.try_clone()?).stderr(log).spawn()?;
    let began = Instant::now();
    while !folder.join(socket).exists() {
        let ended = child.try_wait()?;
        if ended.is_some() || began.elapsed() > PATIENCE {
            end(child);
            let said = fs::read_to_string(folder.join(format!("{socket}.log")));
            let name = command.get_program().display();
            let said = said.unwrap_or_default();
            return Err(io::Error::other(format!("{name} did not begin: {}", said.trim())));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(child)
}

fn start_database(folder: &Path) -> io::Result<Child> {
    let file = folder.join("conf.db");
    let made = program(folder, &[], "ovsdb-tool").arg("create").arg(&file).output()?;
    if !made.status.success() {
        let said = String::from_utf8_lossy(&made.stderr).trim().to_owned();
        return Err(io::Error::other(format!("ovsdb-tool create: {said}")));
    }
    let mut command = program(folder, &[], "ovsdb-server");
    let remote = format!("--remote=punix:{}", folder.join(DATABASE).display());
    command.arg(file).arg(remote).args(["--unixctl=database.ctl", "-vconsole:warn"]);
    daemon(folder, command, DATABASE)
}

/// The socket of the database.
const DATABASE: &str = "db.sock";
/// The socket for commands of the switch.
const SWITCH: &str = "switch.ctl";

/// Settings of the switch, before it begins. Checksums and segmentation are left to the kernel, as by a card: without
/// `userspace-tso-enable` packets of local sockets have no checksum. Counts of entries are at most 100 ms old, the least
/// that can be set.
const SETTINGS: &str = "--no-wait -- init -- set Open_vSwitch . other_config:userspace-tso-enable=true \
                        other_config:n-handler-threads=1 other_config:n-revalidator-threads=1 \
                        other_config:max-revalidator=100";
/// The age of counts, at most.
pub(super) const COUNTS_ARE_OLD: Duration = Duration::from_millis(100);

fn configure(folder: &Path) -> io::Result<()> {
    control(folder, &split(SETTINGS).collect::<Vec<_>>())
}

/// Runs `ovs-vsctl`.
fn control(folder: &Path, words: &[String]) -> io::Result<()> {
    let database = format!("--db=unix:{}", folder.join(DATABASE).display());
    let output = program(folder, &[], "ovs-vsctl").arg(database).args(words).output()?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    // It reports ports that could not be opened without failing.
    match output.status.success() && !said.contains("Error detected") {
        true => Ok(()),
        false => Err(io::Error::other(format!("ovs-vsctl: {said}"))),
    }
}

fn start_switch(folder: &Path) -> io::Result<Child> {
    let first: Vec<&str> = isolation::first_served().collect();
    let mut command = program(folder, &first, "ovs-vswitchd");
    command.arg(format!("unix:{}", folder.join(DATABASE).display()));
    command.arg(format!("--unixctl={}", folder.join(SWITCH).display()));
    // It must not look for a datapath in the kernel.
    command.args(["--disable-system", "-vconsole:warn"]);
    daemon(folder, command, SWITCH)
}
