//! Runs this program again in namespaces of its own. Nothing of an emulation remains after its end, even if it is
//! killed, and the machine's own network does not change.

use crate::registry;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Set in the environment of the isolated process; the value is the number of the process that waits for it.
const INSIDE: &str = "SLOTLINE_ISOLATED";
/// The program that creates namespaces.
const UNSHARE: &str = "unshare";

/// The programs of the system that emulations run, `tc` and `iptables` only for the gate `queue`.
pub const PROGRAMS: [&str; 11] = [
    "sh",
    "env",
    "true",
    "setpriv",
    UNSHARE,
    "chrt",
    "mount",
    "nsenter",
    "ip",
    "tc",
    "iptables-legacy-restore",
];

/// The reason why a process cannot be isolated.
#[derive(Debug, thiserror::Error)]
pub enum IsolationError {
    /// The kernel or its administrator forbids it.
    #[error(
        "this user may not make network namespaces ({why}); run as root, or allow user namespaces \
         (kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)"
    )]
    Forbidden {
        /// The message of `unshare`.
        why: String,
    },
    /// A program is missing or cannot be started.
    #[error("cannot start `{program}` (util-linux): {error}")]
    Program {
        /// The program.
        program: &'static str,
        /// The reason.
        error: io::Error,
    },
}

/// Set in the environment of the isolated process: the folder with files about running emulations.
pub(crate) const RUN_DIR: &str = "SLOTLINE_RUN_DIR";

/// Whether this process is isolated.
pub fn is_inside() -> bool {
    outer().is_some()
}

/// The process that waits for this isolated one.
pub fn outer() -> Option<u32> {
    std::env::var(INSIDE).ok()?.parse().ok()
}

/// Adds the names of an emulation's hosts to `/etc/hosts`, as this isolated process and its children see it.
pub fn name_hosts(hosts: &[(String, Ipv4Addr)]) -> io::Result<()> {
    let before = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    let lines = hosts.iter().map(|(name, address)| format!("{address}\t{name}\n"));
    let file = registry::own_folder()?.join(format!("hosts-{}", outer().unwrap_or_default()));
    std::fs::write(&file, before + "\n" + &lines.collect::<String>())?;
    let mounted = Command::new("mount").arg("--bind").arg(&file).arg("/etc/hosts").status();
    // The mount keeps the content after the file is removed.
    std::fs::remove_file(&file)?;
    match mounted?.success() {
        true => Ok(()),
        false => Err(io::Error::other("`mount --bind` failed")),
    }
}

/// An empty folder in memory that this isolated process and its children alone see. It ends with them, even if they are
/// killed.
pub fn own_folder() -> io::Result<PathBuf> {
    let folder = Path::new("/dev/shm");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "slotline"]).arg(folder).status();
    match mounted?.success() {
        true => Ok(folder.into()),
        false => Err(io::Error::other(format!("`mount` of {} failed", folder.display()))),
    }
}

/// The arguments of `unshare`. The process keeps the rights of the present user.
fn arguments() -> Vec<&'static str> {
    let root = rustix::process::geteuid().is_root();
    let user = ["--user", "--map-root-user"].into_iter().filter(move |_| !root);
    let spaces = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    user.chain(spaces).collect()
}

/// Whether this machine permits isolation.
pub fn permitted() -> Result<(), IsolationError> {
    let tried = Command::new(UNSHARE).args(arguments()).arg("true").output();
    let output = tried.map_err(|error| IsolationError::Program { program: UNSHARE, error })?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(IsolationError::Forbidden { why })
}

/// A command that gives the network's thread priority over all others. Applications do not inherit the priority.
const FIRST_SERVED: [&str; 4] = ["chrt", "--reset-on-fork", "--fifo", "10"];

/// The start of a command line that gives its program priority over others; empty if this user may not request it.
pub fn first_served() -> impl Iterator<Item = &'static str> {
    let [program, options @ ..] = FIRST_SERVED;
    let tried = Command::new(program).args(options).arg("true").output();
    let permitted = tried.is_ok_and(|output| output.status.success());
    FIRST_SERVED.into_iter().filter(move |_| permitted)
}

/// Gives the present thread priority over others, if this user may request it.
pub fn serve_first() {
    let [program, options @ ..] = FIRST_SERVED;
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    // Without the priority the thread may be late, as others are.
    let _ =
        Command::new(program).args([options[0], options[1], "--pid", options[2], &thread]).output();
}

/// The limit of open files that kernels permit by default (fs.nr_open).
const MOST_FILES: u64 = 1 << 20;

/// Raises the limit of open files to what this user may have, because hosts, connections and programs need many.
fn allow_many_files() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let most =
        |maximum: Option<u64>| setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    // Root may exceed its limit. If the limit cannot be raised, opening a file reports it later.
    let _ = most(Some(MOST_FILES)).or_else(|_| most(limit.maximum));
}

/// Runs this program again with the same arguments in namespaces for networks, processes and mounts, and returns its
/// exit code. If this process is killed, the kernel ends all processes in the namespaces.
pub fn run_inside() -> Result<ExitCode, IsolationError> {
    permitted()?;
    allow_many_files();
    let program = "/proc/self/exe";
    let error = |error| IsolationError::Program { program: "setpriv", error };
    let own = std::fs::read_link(program).map_err(error)?;
    let mut child = Command::new("setpriv")
        .args(["--pdeathsig", "KILL", UNSHARE])
        .args(arguments())
        .args(first_served())
        .arg(own)
        .args(std::env::args_os().skip(1))
        .env(INSIDE, std::process::id().to_string())
        .env(RUN_DIR, registry::folder())
        .spawn()
        .map_err(error)?;
    let status = child.wait().map_err(error)?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}
