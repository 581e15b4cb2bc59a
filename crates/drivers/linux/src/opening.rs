//! Opens a gate for a time: a rule of iptables whose BPF program compares the clock with the end of that time, so packets pass
//! without the queue until then, and not later, however late this process runs. To open or close it takes one system call.

use crate::capability::check_bpf;
use crate::command::command;
use slotline_rings::bpf::code::{self, function};
use slotline_rings::bpf::{Instruction, Kind, Map, Program};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file system in which rules find programs.
const FOLDER: &str = "/sys/fs/bpf";
const BYTES: u32 = 8;

/// The condition of a rule, which holds until a time of the monotonic clock.
#[derive(Debug)]
pub(crate) struct Opening {
    until: Map,
    path: PathBuf,
}

impl Opening {
    /// A condition that does not hold, for the queue with this number of the present network namespace. One that a killed
    /// program has left is replaced.
    ///
    /// # Errors
    /// The kernel lacks BPF, or this user lacks the permission.
    pub fn new(queue: u16) -> io::Result<Opening> {
        check_bpf()?;
        let space = fs::metadata("/proc/thread-self/ns/net")?.ino();
        let path = Path::new(FOLDER).join(format!("slotline-{space}-{queue}"));
        // Usually there is none.
        let _ = fs::remove_file(&path);
        let until = Map::of_value(BYTES)?;
        let program = Program::load(Kind::Filter, &before(&until))?;
        let pinned = program.pin(&path.to_string_lossy());
        pinned.or_else(|_| {
            // The file system is missing, as it is in new mount namespaces.
            command("mount", &["-t", "bpf", "slotline", FOLDER], "").map_err(io::Error::other)?;
            program.pin(&path.to_string_lossy())
        })?;
        Ok(Opening { until, path })
    }

    /// The condition for `iptables-restore`.
    pub fn condition(&self) -> String {
        format!("-m bpf --object-pinned {}", self.path.display())
    }

    /// Lets packets pass until a time, ns of the monotonic clock; 0 closes it.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn until(&self, at: u64) -> io::Result<()> {
        self.until.set(0, &at.to_ne_bytes())
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        // The rule, which has the program, is removed before.
        let _ = fs::remove_file(&self.path);
    }
}

/// 1 before the time in the map, and 0 from then on.
fn before(until: &Map) -> Vec<Instruction> {
    let start = [code::call(function::NOW), code::copy(6, 0)];
    let compare = [
        code::load64(1, 1, 0),
        code::set(0, 0),
        code::if_at_least(6, 1, 1),
        code::set(0, 1),
        code::exit(),
    ];
    [&start[..], &code::value(1, until), &compare].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_condition_ends_in_time() {
        let Ok(until) = Map::of_value(BYTES) else { return println!("skipped: BPF needs root") };
        let program = Program::load(Kind::Filter, &before(&until)).unwrap();
        let holds = |at: u64| {
            until.set(0, &at.to_ne_bytes()).unwrap();
            program.test(&[0; 64], &mut []).unwrap()
        };
        assert_eq!([0, 1, u64::MAX].map(holds), [0, 0, 1]);
    }
}
