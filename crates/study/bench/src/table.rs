//! The list of all benchmarks.

use crate::{Row, arbiter_parts, bump, circuits, engine, flow, hedera, report, tdma, xco};
#[cfg(target_os = "linux")]
use crate::{daemons, emulate, interface};
use std::error::Error;
use std::path::Path;

/// The rows of a case, or the reason why it cannot be run.
pub type Outcome = Result<Vec<Row>, Failure>;

/// The reason why a case cannot be run.
pub type Failure = Box<dyn Error + Send + Sync>;

/// One benchmark of the command line.
#[derive(Clone, Copy, Debug)]
pub struct Benchmark {
    /// The name on the command line.
    pub name: &'static str,
    /// A description in one line.
    pub help: &'static str,
    /// The method.
    pub work: Work,
}

/// The method of a benchmark.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// All cases one after another in the calling process.
    Here(fn() -> Vec<Row>),
    /// Each case in a process of its own, so that CPU time and memory are those of the case.
    Separate(Separate),
}

/// A benchmark that runs each case in a separate process.
#[derive(Clone, Copy, Debug)]
pub struct Separate {
    /// The names of its cases.
    pub cases: fn(&Choice<'_>) -> Vec<String>,
    /// Runs one case in this process, which should do nothing else. The path is the folder with the scenarios of
    /// benchmarks.
    pub run: fn(&str, &Path) -> Outcome,
    /// Runs a case with the given function, and further cases to compare it with. `None` if each case stands alone.
    pub compared: Option<Compared>,
    /// Whether there are large cases, which are left out unless requested.
    pub has_large: bool,
    /// Whether the number of threads can be chosen.
    pub takes_threads: bool,
}

/// The rows of a case, from a function that runs the named case in a process of its own.
pub type Compared = fn(&str, &mut dyn FnMut(&str) -> Outcome) -> Outcome;

/// The cases to run.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// Whether large cases are run too.
    pub large: bool,
    /// The number of threads of each case; `None` for the case's own number.
    pub threads: Option<u32>,
    /// An empty folder for files that one case leaves for the next.
    pub scratch: &'a Path,
}

const fn here(name: &'static str, help: &'static str, rows: fn() -> Vec<Row>) -> Benchmark {
    Benchmark { name, help, work: Work::Here(rows) }
}

const fn separate(name: &'static str, help: &'static str, work: Separate) -> Benchmark {
    Benchmark { name, help, work: Work::Separate(work) }
}

/// All benchmarks, in the order in which they are listed.
pub static BENCHMARKS: &[Benchmark] = &[
    separate(
        "engine",
        "The packet engine: CPU time per packet-hop, memory, threads",
        engine::SEPARATE,
    ),
    separate(
        "flow",
        "The flow-level engine: flows per second on fat-trees of up to 65,536 hosts, memory",
        flow::SEPARATE,
    ),
    separate(
        "report",
        "Writing a result of four million flows and making its report: seconds, memory",
        report::SEPARATE,
    ),
    separate(
        "arbiter",
        "The arbiter of Fastpass: time per slot, of allocation and of path selection",
        arbiter_parts::SEPARATE,
    ),
    here("tdma", "Planning a round of TDMA among 1,024 hosts, all pairs backlogged", tdma::rows),
    here(
        "xco",
        "XCo's controller: time per scheduling event, with 4,800 and 19,200 hosts",
        xco::rows,
    ),
    here(
        "bump",
        "A bump: time per packet with DCTCP, RED, an eBPF program, and with tables that cores share",
        bump::rows,
    ),
    #[cfg(target_os = "linux")]
    separate(
        "interface",
        "A bump between real interfaces: latency of packets by discipline and load",
        interface::SEPARATE,
    ),
    here(
        "hedera",
        "Hedera's scheduler: demand estimation, annealing, exact placement, the control loop; quality",
        hedera::rows,
    ),
    here(
        "circuits",
        "The schedulers of circuit switches: time per week, and how much of the demand is served",
        circuits::rows,
    ),
    #[cfg(target_os = "linux")]
    separate(
        "emulate",
        "Emulation: packets per second beside the kernel's bridge, delays, slots, hosts that come and go",
        emulate::SEPARATE,
    ),
    #[cfg(target_os = "linux")]
    separate(
        "daemons",
        "An arbiter's daemon: demands and grants per second of its processor, time to an answer",
        daemons::SEPARATE,
    ),
];
