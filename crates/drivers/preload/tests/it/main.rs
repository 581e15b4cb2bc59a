//! The library with real programs. Virtual time began long ago, so that a moment that is not translated differs
//! clearly from the expected one. Ratios have wide limits, because the machine may be busy. Tests print what they skip.

mod adu;
mod programs;
mod refusals;
mod waits;

use slotline_preload::{Clock, Dilation, Now, SharedTime, environment, install};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const HOUR_NS: i64 = 3_600_000_000_000;
/// The time after which a program is ended.
const LIMIT: Duration = Duration::from_secs(60);

/// A folder for each test: they run side by side.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("preload").join(test);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A program of `c/`. `None`, with a message, if there is no C compiler.
fn compiled(name: &str, folder: &Path, flags: &[&str]) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/c").join(format!("{name}.c"));
    let program = folder.join(name);
    let mut compiler = Command::new("cc");
    compiler
        .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(source);
    let Ok(done) = compiler.args(["-ldl", "-lrt", "-lpthread"]).args(flags).output() else {
        eprintln!("skipped: {name}.c needs the C compiler `cc`, which is not installed");
        return None;
    };
    assert!(done.status.success(), "{}", text(&done.stderr));
    Some(program)
}

/// Whether a program is installed. Prints a message if it is not.
fn installed(program: &str, option: &str) -> bool {
    let there = Command::new(program).arg(option).output().is_ok_and(|done| done.status.success());
    if !there {
        eprintln!("skipped: {program} is not installed");
    }
    there
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Virtual time that began an hour ago, or when the machine had run for half of its time so far, and the library.
struct Virtual {
    library: PathBuf,
    time: SharedTime,
}

impl Virtual {
    fn new(test: &str, dilation: u64) -> Self {
        let (folder, now) = (folder(test), Now::read());
        // The monotonic clock began when the machine started, and is never negative.
        let past = HOUR_NS.min(now.monotonic / 2);
        let begin = Now { realtime: now.realtime - past, monotonic: now.monotonic - past };
        let dilation = Dilation::new(dilation, 1).unwrap();
        let time = SharedTime::create(&folder.join("time"), dilation, begin).unwrap();
        Self { library: install(&folder).unwrap(), time }
    }
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.envs(self.environment());
        command
    }
    fn environment(&self) -> Vec<(String, std::ffi::OsString)> {
        environment(&self.library, Some(&self.time), None)
    }
    /// The time of day that programs see.
    fn now(&self) -> i64 {
        self.time.virtual_ns(Clock::Realtime, Now::read().realtime)
    }
}

/// Runs a program that must succeed. Returns its output and its real duration. A program that waits for a moment that
/// was not translated is killed.
fn run(command: &mut Command) -> (String, Duration) {
    let begin = Instant::now();
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (id, (ended, ends)) = (child.id().to_string(), mpsc::channel::<()>());
    let limit = std::thread::spawn(move || {
        if ends.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
            Command::new("kill").args(["-9", &id]).status().unwrap();
        }
    });
    let done = child.wait_with_output().unwrap();
    let span = begin.elapsed();
    drop(ended);
    limit.join().unwrap();
    assert!(done.status.success(), "{command:?}: {}{}", text(&done.stdout), text(&done.stderr));
    (text(&done.stdout), span)
}
