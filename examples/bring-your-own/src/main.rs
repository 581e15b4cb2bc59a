//! A program that brings a central scheduler, a queue policy, a congestion control algorithm, a workload and a circuit
//! scheduler. Two scenarios name them, and the program runs both and prints their tables.

mod circuits;
mod control;
mod queue;
mod transport;
mod workload;

use slotline::{Error, Extensions, Options};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

/// How often the simulator called a part.
pub struct Calls(AtomicU64);

impl Calls {
    /// None yet.
    pub const fn none() -> Calls {
        Calls(AtomicU64::new(0))
    }
    /// One more.
    pub fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// All parts of this program, by the names that the scenarios use.
fn extensions() -> Extensions {
    Extensions::new()
        .control("turns", control::factory)
        .queue("coin", Options::read::<queue::Coin>)
        .transport("gentle", transport::factory)
        .workload("neighbours", Options::read::<workload::Neighbours>)
        .circuits("longest-queue", circuits::factory)
}

fn run() -> Result<(), Error> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in ["scenario.toml", "circuits.toml"] {
        let results = slotline::run_with(folder.join(file), &extensions())?;
        println!("{}", slotline::table(&results));
    }
    Ok(())
}

fn main() -> ExitCode {
    if let Err(error) = run() {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    let parts = [
        ("control", &control::CALLS),
        ("queue", &queue::CALLS),
        ("transport", &transport::CALLS),
        ("workload", &workload::CALLS),
        ("circuits", &circuits::CALLS),
    ];
    let calls = parts.map(|(part, calls)| (part, calls.0.load(Ordering::Relaxed)));
    calls.iter().for_each(|(part, calls)| println!("{part}: {calls} calls"));
    match calls.iter().all(|(_, calls)| *calls > 0) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
