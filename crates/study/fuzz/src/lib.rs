//! Fuzzers: random input for everything that reads input.
//!
//! A [`Target`] makes inputs from a random stream and judges each of them. An input is a sequence of bytes. The verdict
//! depends on nothing else, so that a failing input can be stored and tried again. [`fuzz`] drives a target. A panic is
//! a failure, and so is a violated property.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod corpus;
mod daemons;
mod driver;
mod instructions;
mod messages;
mod mutate;
mod random;
mod readers;
mod results;
mod scenarios;
mod schema_values;
mod scratch;
mod sessions;
mod wire;

pub use driver::{Settings, fuzz};

use slotline_net::rng::Stream;

/// A part of the program that is tried with random input.
#[derive(Clone, Copy)]
pub struct Target {
    /// The name, which is the prefix of the names of failing inputs.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// The number of inputs if no time is set; they take some seconds.
    pub inputs: u64,
    /// Makes an input.
    pub make: fn(&mut Stream) -> Vec<u8>,
    /// Tries an input. The error names the property that does not hold. It may also panic.
    pub judge: fn(&[u8]) -> Result<(), String>,
}

/// All targets.
pub const TARGETS: [Target; 17] = [
    Target {
        name: "scenarios",
        about: "scenarios made from the schema are checked, explained and run",
        inputs: 150,
        make: scenarios::generated,
        judge: scenarios::judge,
    },
    Target {
        name: "scenario_texts",
        about: "mutated scenario files are checked",
        inputs: 200,
        make: scenarios::mutated,
        judge: scenarios::judge,
    },
    Target {
        name: "sweeps",
        about: "mutated sweep files are read, and their first points are checked",
        inputs: 500,
        make: scenarios::sweep,
        judge: scenarios::judge_sweep,
    },
    Target {
        name: "imports",
        about: "mutated files of other tools are imported: traffic, topologies, circuits, captures",
        inputs: 4_000,
        make: readers::import,
        judge: readers::judge_import,
    },
    Target {
        name: "spanning_trees",
        about: "mutated states of bridges' ports decide which links of a lab are imported",
        inputs: 1_000,
        make: readers::spanning_tree,
        judge: readers::judge_spanning_tree,
    },
    Target {
        name: "traces",
        about: "mutated traces and distributions become the traffic of a scenario",
        inputs: 1_500,
        make: readers::trace,
        judge: readers::judge_trace,
    },
    Target {
        name: "captures",
        about: "mutated captures are replayed through a bump",
        inputs: 5_000,
        make: readers::capture,
        judge: readers::judge_capture,
    },
    Target {
        name: "frames",
        about: "random Ethernet frames go through a bump",
        inputs: 30_000,
        make: readers::frame,
        judge: readers::judge_frame,
    },
    Target {
        name: "objects",
        about: "mutated object files are loaded as a discipline, which judges packets",
        inputs: 3_000,
        make: instructions::object,
        judge: instructions::judge_object,
    },
    Target {
        name: "instructions",
        about: "random and mutated eBPF programs run within their limits",
        inputs: 50_000,
        make: instructions::program,
        judge: instructions::judge_program,
    },
    Target {
        name: "results",
        about: "mutated files of a result folder, with right checksums, are read, compared and shown",
        inputs: 80,
        make: results::file,
        judge: results::judge_file,
    },
    Target {
        name: "parts",
        about: "mutated parts and summaries of a sweep are joined and shown",
        inputs: 1_500,
        make: results::part,
        judge: results::judge_part,
    },
    Target {
        name: "wire",
        about: "mutated messages of all systems are parsed; what is read is written as the same bytes",
        inputs: 30_000,
        make: wire::message,
        judge: wire::judge,
    },
    Target {
        name: "sessions",
        about: "mutated messages with right codes reach both ends of FCP",
        inputs: 400,
        make: sessions::script,
        judge: sessions::judge,
    },
    Target {
        name: "networks",
        about: "control messages are changed in transit in networks with a central scheme",
        inputs: 150,
        make: messages::script,
        judge: messages::judge,
    },
    Target {
        name: "daemons",
        about: "datagrams between two daemons are lost, repeated, reordered and changed",
        inputs: 60,
        make: daemons::script,
        judge: daemons::judge_script,
    },
    Target {
        name: "daemon_files",
        about: "mutated configurations, messages and logs of daemons are read",
        inputs: 2_000,
        make: daemons::file,
        judge: daemons::judge_file,
    },
];
