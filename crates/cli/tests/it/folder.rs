//! A folder of its own for each test, in which the program runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_slotline");
/// Exit code for invalid input.
pub const BAD_INPUT: i32 = 2;
/// A scenario that runs in a very short time.
pub const SMALL: &str = r#"name = "small"
end = { at = "50ms" }
fabric = { kind = "star", hosts = 5 }

[[workload]]
kind = "incast"
senders = 4
block = "100KB"

[[scheme]]
name = "tcp"

[[scheme]]
name = "dctcp"
transport = "dctcp"
queue = { kind = "ecn", threshold = "30KB" }
"#;
/// The longest time that a test waits for another process.
const PATIENCE: Duration = Duration::from_secs(120);

/// The folder. It is removed at the end of the test.
pub struct Folder(pub PathBuf);

impl Folder {
    /// A new folder with `files`, each a name and a text.
    pub fn new(name: &str, files: &[(&str, &str)]) -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("slotline-{}-{number}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).expect("a temporary folder");
        let folder = Folder(path);
        for (file, text) in files {
            folder.write(file, text);
        }
        folder
    }

    pub fn write(&self, file: &str, text: &str) -> &Folder {
        fs::write(self.0.join(file), text).unwrap_or_else(|e| panic!("{file}: {e}"));
        self
    }

    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(&self.0).stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program starts")
    }

    /// Starts the program without waiting for it.
    pub fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    }

    /// The entries of `results`, where results are written by default.
    pub fn results(&self) -> Vec<PathBuf> {
        entries(&self.0.join("results"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// The entries of `folder`, sorted; empty if there is no such folder.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(listed) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.sort();
    found
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Waits until `holds` returns true. `what` describes the condition.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what}: never");
        std::thread::sleep(Duration::from_millis(5));
    }
}
