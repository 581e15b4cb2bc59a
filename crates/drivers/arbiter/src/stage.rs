//! The interface of a stage, and the loop of a thread that runs stages.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The result of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The stage did nothing: it waits for other stages.
    Idle,
    /// The stage did something and must be called again.
    Progress,
    /// The stage has ended.
    Done,
}

impl Step {
    pub(super) fn progress(moved: bool) -> Step {
        if moved { Step::Progress } else { Step::Idle }
    }
}

/// A part of the pipeline. A step does all that is possible without blocking. Its result depends on the messages and on
/// their order from each sender, never on the time at which they arrive. Dropping a stage closes its channels.
pub(super) trait Stage: Send {
    fn step(&mut self) -> Step;
    /// Slots that were requested and not granted before the stage ended.
    fn waiting(&self) -> u64 {
        0
    }
}

/// The result of a thread.
#[derive(Clone, Copy, Default)]
pub(super) struct Work {
    pub(super) waiting: u64,
    /// CPU time without the time in which no stage could proceed.
    pub(super) busy: Duration,
}

/// The number of passes without progress before a thread yields the core, and before it sleeps.
const SPINS: u32 = 300;
const YIELDS: u32 = 10_000;
const NAP: Duration = Duration::from_micros(50);

/// Runs stages in turn until all have ended.
pub(super) fn work(mut stages: Vec<Box<dyn Stage + '_>>) -> Work {
    let mut result = Work::default();
    let began = thread_cpu();
    let (mut idle, mut idled, mut since) = (0, Duration::ZERO, began);
    while !stages.is_empty() {
        let pass = if idle > 0 { thread_cpu() } else { since };
        let mut moved = false;
        stages.retain_mut(|stage| {
            let step = stage.step();
            moved |= step != Step::Idle;
            result.waiting += if step == Step::Done { stage.waiting() } else { 0 };
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
    result.busy = thread_cpu() - began - idled;
    result
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
