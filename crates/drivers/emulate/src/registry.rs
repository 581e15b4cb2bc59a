//! The emulations that run on this machine: a folder for each, which `slotline exec` reads.

use crate::isolation;
use crate::virtual_time::Environment;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A host of a running emulation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// The file descriptor of its network namespace in the emulation's process.
    descriptor: i32,
}

/// A running emulation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Running {
    /// The process that the user started. It waits for the emulation.
    pub process: u32,
    /// The name of the scenario.
    pub scenario: String,
    /// Its hosts.
    pub hosts: Vec<Entry>,
    /// Environment variables that programs need, as `KEY=VALUE`.
    variables: Vec<String>,
}

/// The folder of a running emulation. Dropping this value removes the folder.
pub struct Registered {
    folder: PathBuf,
}

impl Registered {
    /// Creates a folder for this emulation alone.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn new() -> io::Result<Registered> {
        let process = isolation::outer().unwrap_or_else(std::process::id);
        let folder = own_folder()?.join(process.to_string());
        fs::create_dir_all(&folder)?;
        Ok(Registered { folder })
    }

    /// The path of the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes the hosts of `scenario` and the environment that programs on them need, for other processes to read.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn tell(
        &self,
        scenario: &str,
        hosts: &[(String, Ipv4Addr)],
        namespaces: &[OwnedFd],
        environment: &Environment,
    ) -> io::Result<()> {
        let line = |((name, address), namespace): (&(String, Ipv4Addr), &OwnedFd)| {
            format!("{name}\t{address}\t{}\n", namespace.as_fd().as_raw_fd())
        };
        let lines: String = hosts.iter().zip(namespaces).map(line).collect();
        let variable = |(key, value): &(String, OsString)| format!("{key}={}\t", value.display());
        let variables: String = environment.variables().iter().map(variable).collect();
        let scenario = scenario.replace(['\n', '\t'], " ");
        fs::write(self.folder.join(HOSTS), format!("{scenario}\n{variables}\n{lines}"))
    }
}

impl Registered {
    /// Publishes the status for other processes. A reader sees a whole text: the new one or the old one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn show(&self, status: &str) -> io::Result<()> {
        let draft = self.folder.join(".status");
        fs::write(&draft, status)?;
        fs::rename(draft, self.folder.join(STATUS))
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // If the folder remains, the next command that lists emulations removes it.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The file in the folder that names the hosts.
const HOSTS: &str = "hosts";
/// The file with the status.
const STATUS: &str = "status";

/// The folder that contains this user's folders. An isolated process gets its path, because its user id may differ.
pub(crate) fn folder() -> PathBuf {
    let given = std::env::var_os(isolation::RUN_DIR).map(PathBuf::from);
    let own = || {
        let id = rustix::process::getuid().as_raw();
        std::env::temp_dir().join(format!("slotline-{id}"))
    };
    given.unwrap_or_else(own)
}

/// Creates the folder for this user alone, because programs on hosts load a library from it.
///
/// # Errors
/// The folder cannot be created, or it belongs to another user.
pub(crate) fn own_folder() -> io::Result<PathBuf> {
    let folder = folder();
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    match is_own(&folder) {
        true => Ok(folder),
        false => Err(io::Error::other(format!(
            "the folder {} belongs to another user, or others may write to it: remove it",
            folder.display()
        ))),
    }
}

/// Whether a folder belongs to this user and nobody else may write to it.
fn is_own(folder: &Path) -> bool {
    let owner = rustix::process::geteuid().as_raw();
    let found = fs::symlink_metadata(folder);
    found.is_ok_and(|found| found.is_dir() && found.uid() == owner && found.mode() & 0o022 == 0)
}

/// The running emulations of this user. Folders of emulations that have ended are removed.
pub fn running() -> Vec<Running> {
    let own = Some(folder()).filter(|folder| is_own(folder));
    let files = own.and_then(|own| fs::read_dir(own).ok()).into_iter().flatten().flatten();
    files.filter_map(|file| read(&file.path())).collect()
}

fn read(path: &Path) -> Option<Running> {
    let process: u32 = path.file_name()?.to_str()?.parse().ok()?;
    if inner(process).is_none() {
        let _ = fs::remove_dir_all(path);
        return None;
    }
    let text = fs::read_to_string(path.join(HOSTS)).ok()?;
    let mut lines = text.lines();
    let scenario = lines.next()?.to_owned();
    let variables = lines.next()?.split('\t').filter(|one| !one.is_empty());
    let variables = variables.map(str::to_owned).collect();
    Some(Running { process, scenario, variables, hosts: lines.filter_map(entry).collect() })
}

fn entry(line: &str) -> Option<Entry> {
    let mut fields = line.split('\t');
    let name = fields.next()?.to_owned();
    let address = fields.next()?.parse().ok()?;
    Some(Entry { name, address, descriptor: fields.next()?.parse().ok()? })
}

/// Removes the folders of emulations that were killed, and returns the number of folders.
pub fn clean() -> usize {
    let count = || fs::read_dir(folder()).into_iter().flatten().flatten().count();
    let before = count();
    let running = running().len();
    before.saturating_sub(running.max(count()))
}

/// Forwards Ctrl-C to the isolated process that this process waits for.
pub fn interrupt_inner() {
    let inner = inner(std::process::id()).and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    // If there is no such process, it has not started yet or has already ended.
    let _ = inner.map(|inner| kill_process(inner, Signal::INT));
}

/// The first process in the namespaces of an emulation: the child of `unshare`, which is the child of `process`.
fn inner(process: u32) -> Option<u32> {
    child(child(process)?)
}

fn child(process: u32) -> Option<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten();
    let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    children.flat_map(|list| list.split_whitespace().find_map(|id| id.parse().ok())).next()
}

impl Running {
    /// The last status that it published ([`Registered::show`]); `None` before the first one and after its end.
    pub fn status(&self) -> Option<String> {
        fs::read_to_string(folder().join(self.process.to_string()).join(STATUS)).ok()
    }

    /// The command, with its arguments, that runs `program` on a host (`nsenter`). `None` if the emulation has ended.
    pub fn command(&self, host: &Entry, program: &[String]) -> Option<Vec<String>> {
        let inner = inner(self.process)?;
        let root = rustix::process::geteuid().is_root();
        let user = [format!("--user=/proc/{inner}/ns/user"), "--preserve-credentials".into()];
        let mut command = vec!["nsenter".to_owned()];
        command.extend(user.into_iter().filter(|_| !root));
        command.push(format!("--mount=/proc/{inner}/ns/mnt"));
        command.push(format!("--pid=/proc/{inner}/ns/pid"));
        command.push(format!("--net=/proc/{inner}/fd/{}", host.descriptor));
        command.extend(["--", "env"].map(str::to_owned));
        command.extend_from_slice(&self.variables);
        // In virtual time the shell refuses programs that would have real time.
        command.extend(["sh", "-c", "exec \"$@\"", "sh"].map(str::to_owned));
        command.extend_from_slice(program);
        Some(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_folder_that_others_may_write_to_is_not_used() {
        let folder = std::env::temp_dir().join(format!("slotline-own-{}", std::process::id()));
        fs::DirBuilder::new().mode(0o700).create(&folder).unwrap();
        assert!(is_own(&folder));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(!is_own(&folder));
        fs::remove_dir(&folder).unwrap();
        assert!(!is_own(&folder));
    }
}
