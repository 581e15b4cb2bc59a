//! Daemons in namespaces that a script makes and starts.

use crate::folder::{Folder, PROGRAM};
use serde_json::Value;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// The longest time for which a test waits for a daemon, on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The namespaces, which end with this value. The folder has the configuration, the sockets and the logs of daemons.
pub struct Network {
    pub folder: Folder,
    child: Child,
}

impl Drop for Network {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Network {
    /// Runs a script of the folder in namespaces of its own.
    pub fn run(folder: Folder, script: &str) -> Network {
        let mut command = Command::new("unshare");
        let spaces = ["--net", "--mount", "--pid", "--fork", "--kill-child"];
        command.args(spaces).args(["bash", script, PROGRAM]);
        let child = command.current_dir(&folder.0).spawn().expect("unshare");
        Network { folder, child }
    }

    pub fn status(&self, daemon: &str) -> Value {
        let socket = self.folder.0.join(format!("{daemon}.sock"));
        let output = self.folder.run(&["ctl", "dump", &socket.display().to_string()]);
        serde_json::from_slice::<Value>(&output.stdout)
            .map_or(Value::Null, |mut all| all["status"].take())
    }

    /// Waits until the status of all these daemons is as it should be.
    pub fn wait(&self, daemons: &[&str], what: &str, is: impl Fn(&Value) -> bool) {
        let since = Instant::now();
        for daemon in daemons {
            while !is(&self.status(daemon)) {
                let log = || std::fs::read_to_string(self.folder.0.join(format!("{daemon}.log")));
                let status = self.status(daemon);
                assert!(since.elapsed() < PATIENCE, "{daemon}: {what}: {status}\n{:?}", log());
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

/// An entry of the configuration, with a key that is made for it.
pub fn entry(folder: &Folder, table: &str, name: &str, address: &str) -> String {
    let made = folder.run(&["key", "new", &format!("{name}.key")]);
    let key = String::from_utf8(made.stdout).expect("a key");
    let named = if table == "arbiter" { String::new() } else { format!("name = '{name}'\n") };
    format!("[[{table}]]\n{named}address = {address}\nkey = '{}'\n", key.trim())
}
