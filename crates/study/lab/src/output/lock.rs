//! Locks on points of a sweep, where several processes and machines share a folder.
//!
//! A lock is a file that only one process can create. It names the process and the host that hold it, and its holder
//! updates it while at work. A lock is stale if that process has ended (on the same host), or if nobody has updated it
//! for [`SILENCE`] by the file system's own clock. Locks only avoid repeated work. A result is complete or absent
//! whatever locks say, and two processes that run the same point get the same result.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How often a holder updates its locks.
pub const HEARTBEAT: Duration = Duration::from_secs(20);
/// Locks that were not updated for this long are stale.
pub const SILENCE: Duration = Duration::from_secs(180);

/// A lock that this process holds, until it is dropped.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    holder: String,
}

/// The outcome of an attempt to take a lock.
#[derive(Debug)]
pub enum Attempt {
    /// This process holds the lock.
    Held(Lock),
    /// Another process holds it; its host and process number.
    Busy(String),
}

impl Lock {
    /// Tries to get the lock of result `id` in folder `root`.
    pub fn take(root: &Path, id: &str) -> io::Result<Attempt> {
        let path = root.join(format!(".{id}.lock"));
        let holder = holder();
        // A stale lock is removed once. Then the fastest process gets the lock.
        for _ in 0..2 {
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(mut file) => {
                    file.write_all(holder.as_bytes())?;
                    return Ok(Attempt::Held(Lock { path, holder }));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let other = fs::read_to_string(&path).unwrap_or_default();
                    if !is_stale(root, &path, &other) {
                        return Ok(Attempt::Busy(other));
                    }
                    clear(&path, &other)?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Attempt::Busy(fs::read_to_string(&path).unwrap_or_default()))
    }

    /// Shows that the holder is still alive.
    pub fn touch(&self) -> io::Result<()> {
        // If another process took it over, it is not created again.
        File::options().write(true).open(&self.path)?.write_all(self.holder.as_bytes())
    }
}

impl Drop for Lock {
    /// Removes the lock, unless another process took it over. A failure cannot be handled here and is ignored.
    fn drop(&mut self) {
        if fs::read_to_string(&self.path).is_ok_and(|held| held == self.holder) {
            drop(fs::remove_file(&self.path));
        }
    }
}

/// The name of this process in locks and drafts: `host.number`.
pub fn holder() -> String {
    format!("{}.{}", host(), std::process::id())
}

/// The name of this machine, with only letters, digits and hyphens.
fn host() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = name.chars().map(letter).collect();
    if name.is_empty() { "host".into() } else { name }
}

/// Whether the process named by `holder` ran on this machine and has ended.
pub fn is_gone(holder: &str) -> bool {
    let Some((host_name, number)) = holder.trim().rsplit_once('.') else { return false };
    let number = number.parse().ok().and_then(rustix::process::Pid::from_raw);
    let dead = |pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH);
    host_name == host() && number.is_some_and(dead)
}

/// Whether a lock is stale. A lock without a name is still being written and becomes stale only by its age.
fn is_stale(root: &Path, path: &Path, holder: &str) -> bool {
    is_gone(holder) || age(root, path).is_some_and(|age| age > SILENCE)
}

/// The time since `path` was updated, by the clock of its file system.
fn age(root: &Path, path: &Path) -> Option<Duration> {
    let probe = root.join(format!(".clock.{}", holder()));
    let now = fs::write(&probe, ".").and_then(|()| fs::metadata(&probe)?.modified());
    drop(fs::remove_file(&probe));
    let then: SystemTime = fs::metadata(path).and_then(|found| found.modified()).ok()?;
    now.ok()?.duration_since(then).ok()
}

/// Removes a lock whose holder has ended on this machine without removing it.
pub fn clear_if_gone(path: &Path) {
    if let Ok(holder) = fs::read_to_string(path)
        && is_gone(&holder)
    {
        // A lock that cannot be removed is stale, and does no harm.
        drop(clear(path, &holder));
    }
}

/// Moves a stale lock away. If another process replaced it by a new lock in the meantime, that lock is put back.
fn clear(path: &Path, stale: &str) -> io::Result<()> {
    let aside = path.with_extension(format!("stale.{}", holder()));
    match fs::rename(path, &aside) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    if fs::read_to_string(&aside).is_ok_and(|moved| moved != stale) {
        drop(fs::hard_link(&aside, path));
    }
    fs::remove_file(&aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("slotline-lock-{}-{name}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn the_lock_of_an_ended_process_is_cleared() {
        let path = folder("ended").join(".x.lock");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        fs::write(&path, format!("{}.{}", host(), child.id())).unwrap();
        clear_if_gone(&path);
        assert!(!path.exists());
        fs::write(&path, holder()).unwrap();
        clear_if_gone(&path);
        assert!(path.exists());
    }

    #[test]
    fn a_lock_has_one_holder() {
        let root = folder("one");
        let first = Lock::take(&root, "x").unwrap();
        let Attempt::Busy(other) = Lock::take(&root, "x").unwrap() else { panic!("held twice") };
        assert_eq!(other, holder());
        drop(first);
        assert!(matches!(Lock::take(&root, "x").unwrap(), Attempt::Held(_)));
        assert_eq!(fs::read_dir(&root).unwrap().count(), 0, "locks are removed");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn of_many_threads_one_gets_it() {
        let root = folder("many");
        let held: Vec<Attempt> = std::thread::scope(|scope| {
            let take = || Lock::take(&root, "x").unwrap();
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(take)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let holders = held.iter().filter(|attempt| matches!(attempt, Attempt::Held(_))).count();
        assert_eq!(holders, 1);
        drop(held);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_dead_process_and_silence_make_it_stale() {
        let root = folder("stale");
        let path = root.join(".x.lock");
        fs::write(&path, format!("{}.{}", host(), i32::MAX)).unwrap();
        assert!(matches!(Lock::take(&root, "x").unwrap(), Attempt::Held(_)), "nobody is there");
        fs::write(&path, "elsewhere.1").unwrap();
        assert!(matches!(Lock::take(&root, "x").unwrap(), Attempt::Busy(_)), "another machine");
        let long_ago = SystemTime::now() - SILENCE - Duration::from_secs(10);
        File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
        let Attempt::Held(lock) = Lock::take(&root, "x").unwrap() else { panic!("silent lock") };
        File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
        lock.touch().unwrap();
        assert!(!is_stale(&root, &path, "elsewhere.1"), "touched");
        drop(lock);
        assert!(!path.exists());
        fs::remove_dir_all(root).unwrap();
    }
}
