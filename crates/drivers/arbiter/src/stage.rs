//! What a stage is, and threads that run stages.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// What a stage did.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing: it waits for others.
    Idle,
    /// Something; ask again.
    Moved,
    /// The last thing.
    Done,
}

impl Step {
    pub(super) fn moved(moved: bool) -> Step {
        if moved { Step::Moved } else { Step::Idle }
    }
}

/// A part of the pipeline: does what it can without waiting. What it does depends on the messages
/// that it gets and on their order from each sender, never on when they come. Dropped, its rings end.
pub(super) trait Stage: Send {
    fn step(&mut self) -> Step;
    /// Slots that were asked for and not granted when it was done.
    fn waiting(&self) -> u64 {
        0
    }
}

/// What a thread has done.
#[derive(Clone, Copy, Default)]
pub(super) struct Worked {
    pub(super) waiting: u64,
    /// CPU time, but for that in which no stage could do anything.
    pub(super) busy: Duration,
}

/// Passes without anything to do before a thread lets others have the core, and before it sleeps.
const SPINS: u32 = 300;
const YIELDS: u32 = 10_000;
const NAP: Duration = Duration::from_micros(50);

/// Runs stages in turn until all are done.
pub(super) fn work(mut stages: Vec<Box<dyn Stage + '_>>) -> Worked {
    let mut worked = Worked::default();
    let began = thread_cpu();
    let (mut idle, mut idled, mut since) = (0, Duration::ZERO, began);
    while !stages.is_empty() {
        let pass = if idle > 0 { thread_cpu() } else { since };
        let mut moved = false;
        stages.retain_mut(|stage| {
            let step = stage.step();
            moved |= step != Step::Idle;
            worked.waiting += if step == Step::Done { stage.waiting() } else { 0 };
            step != Step::Done
        });
        if moved {
            idled += if idle > 0 { pass - since } else { Duration::ZERO };
            idle = 0;
        } else {
            since = if idle == 0 { thread_cpu() } else { since };
            idle += 1;
            pause(idle);
        }
    }
    worked.busy = thread_cpu() - began - idled;
    worked
}

fn pause(idle: u32) {
    match idle {
        ..SPINS => std::hint::spin_loop(),
        SPINS..YIELDS => std::thread::yield_now(),
        YIELDS.. => std::thread::sleep(NAP),
    }
}

fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
