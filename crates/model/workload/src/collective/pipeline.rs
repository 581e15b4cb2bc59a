//! A pipeline of stages: microbatches go forward, then back.

use super::super::job::after;
use super::super::{Role, Start};
use super::runner::Runner;
use super::steps::Move;
use super::{Barrier, MICROBATCHES};
use slotline_base::error::SpecError;

/// Adds all rounds.
pub(super) fn run(runner: &mut Runner) -> Result<(), SpecError> {
    for round in 0..runner.spec.rounds {
        if round > 0 && runner.spec.barrier != Barrier::None {
            runner.barrier()?;
        }
        let role = Role::Answer(runner.job.out.exchange());
        let batches = runner.spec.microbatches.unwrap_or(MICROBATCHES) as usize;
        let forward: Vec<u32> = (0..runner.hosts.len() as u32).collect();
        let turn = pass(runner, role, &forward, vec![runner.next[0]; batches])?;
        let back: Vec<u32> = forward.into_iter().rev().collect();
        let done = pass(runner, role, &back, vec![turn; batches])?;
        runner.next[0] = done;
    }
    Ok(())
}

/// Microbatches, ready at the first of `stages` at `ready`, go through all of them. Returns when the last stage
/// has computed all of them. Every other stage continues when it has computed its last microbatch.
fn pass(
    runner: &mut Runner,
    role: Role,
    stages: &[u32],
    mut ready: Vec<Start>,
) -> Result<Start, SpecError> {
    let batches = ready.len() as u32;
    let mut through = ready[0];
    for (at, &stage) in stages.iter().enumerate() {
        let all = runner.trigger(stage, batches);
        for ready in &mut ready {
            let Some(&to) = stages.get(at + 1) else {
                runner.compute(stage, *ready, Some(all))?;
                continue;
            };
            let (done, there) = (runner.trigger(stage, 1), runner.trigger(to, 1));
            runner.compute(stage, *ready, Some(done))?;
            runner.count(stage, done, all)?;
            let message = Move { from: stage, to, bytes: runner.spec.size.0 };
            runner.send(role, message, after(done), Some(there))?;
            *ready = after(there);
        }
        through = after(all);
        runner.next[stage as usize] = through;
    }
    Ok(through)
}
