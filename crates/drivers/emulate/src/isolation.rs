//! A program that runs again in namespaces of its own, so that nothing of an emulation remains when it ends, however it
//! ends, and nothing of the machine's own network is touched.

use std::io;
use std::process::{Command, ExitCode};

/// Set in the environment of the isolated process; the value is the number of the process that waits for it.
const INSIDE: &str = "SLOTLINE_ISOLATED";
/// The program that makes namespaces.
const UNSHARE: &str = "unshare";

/// Why a process cannot be isolated.
#[derive(Debug, thiserror::Error)]
pub enum IsolationError {
    /// The kernel or its administrator forbids it.
    #[error(
        "this user may not make network namespaces ({why}); run as root, or allow user namespaces \
         (kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)"
    )]
    Forbidden {
        /// What `unshare` said.
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

/// Whether this process is isolated.
pub fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// The arguments of `unshare`: with the rights of the present user.
fn arguments() -> Vec<&'static str> {
    let root = rustix::process::geteuid().is_root();
    let user = ["--user", "--map-root-user"].into_iter().filter(move |_| !root);
    let spaces = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    user.chain(spaces).collect()
}

/// Whether this machine permits it.
pub fn permitted() -> Result<(), IsolationError> {
    let tried = Command::new(UNSHARE).args(arguments()).arg("true").output();
    let output = tried.map_err(|error| IsolationError::Program { program: UNSHARE, error })?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(IsolationError::Forbidden { why })
}

/// The thread that runs the network comes before all others, where this user may ask for that; applications do not.
const FIRST_SERVED: [&str; 4] = ["chrt", "--reset-on-fork", "--fifo", "10"];

fn first_served() -> impl Iterator<Item = &'static str> {
    let [program, options @ ..] = FIRST_SERVED;
    let tried = Command::new(program).args(options).arg("true").output();
    let permitted = tried.is_ok_and(|output| output.status.success());
    FIRST_SERVED.into_iter().filter(move |_| permitted)
}

/// Runs this program again with the same arguments in namespaces for networks, processes and mounts, and returns its
/// exit code. When this process is killed, the kernel ends all processes of the other.
pub fn run_inside() -> Result<ExitCode, IsolationError> {
    permitted()?;
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
        .spawn()
        .map_err(error)?;
    let status = child.wait().map_err(error)?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}
