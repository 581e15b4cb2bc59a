//! Collective operations of AI clusters: their messages, and the times at which circuits may change.
//!
//! All but the pipeline consist of steps (`steps`). In each step some hosts send messages to others. A host begins
//! the next step when it has received all messages of the present one. The pipeline is in `pipeline`.
//! [`Collective::phases`] gives the demand of each step, so that a scheduler can prepare circuits for it.

mod pipeline;
mod runner;
mod steps;
#[cfg(test)]
mod tests;

pub use steps::Move;

use super::Hosts;
use super::job::Job;
use super::options::options;
use super::spec::Generate;
use runner::Runner;
use serde::{Deserialize, Serialize};
use slotline_base::error::SpecError;
use slotline_base::time::Time;
use slotline_base::units::Bytes;

/// The operation.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// All-reduce in a ring: 2(n - 1) steps, in each of which every host sends a share of 1/n to the next.
    ///
    /// Source: Patarasuk and Yuan, "Bandwidth Optimal All-reduce Algorithms for Clusters of
    /// Workstations", Journal of Parallel and Distributed Computing 69(2), 2009.
    #[default]
    RingAllReduce,
    /// All-reduce by recursive halving and doubling: hosts exchange a half of the vector with the host at
    /// distance 1, a quarter with the host at distance 2, and so on, and then the same in reverse order. Hosts
    /// in excess of a power of two take part through a partner, in one step before and one step after.
    ///
    /// Source: Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in
    /// MPICH", International Journal of High Performance Computing Applications 19(1), 2005.
    HalvingDoubling,
    /// Every host sends a share of 1/n to every other: n - 1 steps, in the k-th to the host k places further on.
    AllToAll,
    /// Stages of a model, one host each: `microbatches` go forward through all stages, then back. In both
    /// directions, a stage computes for `compute` on one microbatch after another, and sends `size` to the next
    /// stage.
    ///
    /// Source: Huang et al., "GPipe: Efficient Training of Giant Neural Networks using Pipeline
    /// Parallelism", NeurIPS 2019.
    Pipeline,
}

/// The times at which all hosts wait for each other.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Barrier {
    /// Never: a host waits only for the messages that it receives.
    #[default]
    None,
    /// Before each round but the first.
    Round,
    /// Before each step but the first: circuits can change inside the operation.
    Step,
}

options! {
    /// A collective operation, `rounds` times, with computation before each round. Every pair of hosts has
    /// one connection each way for the whole run. A round is an exchange: its time is in the metrics
    /// `qct-mean` and `qct-p99`; the job's time is the `makespan`, which begins with the first message.
    Collective {
        /// The operation.
        pattern: Pattern = Pattern::RingAllReduce,
        /// Hosts that take part, in this order.
        hosts: Hosts = Hosts::All,
        /// Bytes of each host. All-reduce: the vector. All-to-all: the data for all hosts, its own share
        /// included. Pipeline: the data of a microbatch from one stage to the next. Shares are rounded up to
        /// bytes.
        size: Bytes = Bytes(1_000_000),
        /// Number of rounds.
        #[schemars(range(min = 1))]
        rounds: u32 = 1,
        /// Time that each host computes before each round; in a pipeline, on each microbatch.
        compute: Time = Time::ZERO,
        /// Share of the hosts whose computation takes `slowdown` times as long.
        #[schemars(range(min = 0.0, max = 1.0))]
        stragglers: f64 = 0.0,
        /// Factor of the computing time of stragglers, 1 to 1000.
        #[schemars(range(min = 1.0, max = 1000.0))]
        slowdown: f64 = 2.0,
        /// `pipeline`: number of parts of a round, which follow each other through the stages. Default: 4.
        #[serde(skip_serializing_if = "Option::is_none")]
        microbatches: Option<u32> = None,
        /// When all hosts wait for each other. All hosts send a message to the first, and it sends one to all.
        barrier: Barrier = Barrier::None,
        /// Time after each barrier in which no host sends, so that circuits can change.
        gap: Time = Time::ZERO,
        /// When the first round starts.
        start: Time = Time::ZERO,
        /// Priority class, 0 to 7.
        #[schemars(range(max = 7))]
        class: u8 = 0,
    }
}

/// The default number of microbatches of a pipeline.
const MICROBATCHES: u32 = 4;

impl Collective {
    /// The messages between `hosts` hosts, by their place in the operation, in each phase of a round. No message
    /// of a phase is needed before all messages of the previous phase have arrived, so that each phase can have
    /// circuits of its own. With `barrier` = `step`, phases do not overlap. A pipeline has two phases, forward
    /// and back.
    pub fn phases(&self, hosts: u32) -> Vec<Vec<Move>> {
        match self.pattern {
            Pattern::RingAllReduce => steps::ring(hosts, self.size.0),
            Pattern::HalvingDoubling => steps::halving_doubling(hosts, self.size.0),
            Pattern::AllToAll => steps::all_to_all(hosts, self.size.0),
            Pattern::Pipeline => {
                let batches = u64::from(self.microbatches.unwrap_or(MICROBATCHES));
                steps::pipeline(hosts, self.size.0.saturating_mul(batches))
            }
        }
    }

    /// The approximate number of messages in a round of `n` hosts, barriers included.
    fn messages(&self, n: u64) -> u64 {
        let levels = u64::from(n.ilog2()) + 1;
        let (steps, each) = match self.pattern {
            Pattern::RingAllReduce => (2 * n, n),
            Pattern::AllToAll => (n, n),
            Pattern::HalvingDoubling => (2 * levels, n),
            Pattern::Pipeline => (2, n * u64::from(self.microbatches.unwrap_or(MICROBATCHES))),
        };
        let barriers = if self.barrier == Barrier::Step { steps } else { 1 };
        steps * each + barriers * 2 * n
    }

    fn check(&self) -> Result<(), SpecError> {
        let wrong = |key: &str, why: &str| Err(SpecError::new(key, why));
        let pipeline = self.pattern == Pattern::Pipeline;
        let checks = [
            (self.size.0 > 0, "size", "`size` = 0B: at least 1 byte is needed"),
            (self.size.0 < 1 << 50, "size", "`size` is more than 1 PB"),
            (
                (0.0..=1.0).contains(&self.stragglers),
                "stragglers",
                "`stragglers` is a share, from 0 to 1",
            ),
            ((1.0..=1e3).contains(&self.slowdown), "slowdown", "`slowdown` is from 1 to 1000"),
            (
                self.stragglers == 0.0 || self.compute > Time::ZERO,
                "stragglers",
                "`stragglers` compute more slowly, but no host computes: give `compute`",
            ),
            (
                pipeline || self.microbatches.is_none(),
                "microbatches",
                "`microbatches` is for pattern = \"pipeline\"",
            ),
            (self.microbatches != Some(0), "microbatches", "`microbatches` = 0: at least 1"),
            (
                !pipeline || self.barrier != Barrier::Step,
                "barrier",
                "a pipeline has no common steps: use barrier = \"round\"",
            ),
            (
                self.gap == Time::ZERO || self.barrier != Barrier::None,
                "gap",
                "`gap` comes after a barrier: give barrier = \"round\" or \"step\"",
            ),
        ];
        match checks.iter().find(|(right, ..)| !right) {
            Some((_, key, why)) => wrong(key, why),
            None => Ok(()),
        }
    }

    /// The computing time of each of `count` hosts.
    fn work(&self, job: &mut Job, count: usize) -> Vec<Time> {
        let slow = (self.stragglers * count as f64).round() as usize;
        let late = Time::ps((self.compute.as_ps() as f64 * self.slowdown) as u64);
        let mut work: Vec<Time> = vec![self.compute; count];
        let mut order: Vec<usize> = (0..count).collect();
        job.rng.shuffle(&mut order);
        order.iter().take(slow).for_each(|&host| work[host] = late);
        work
    }
}

impl Generate for Collective {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        self.check()?;
        let hosts = job.peers("hosts", &self.hosts)?;
        let messages = self.messages(hosts.len() as u64);
        job.out.check_room("rounds", messages.saturating_mul(self.rounds.into()))?;
        let work = self.work(job, hosts.len());
        let mut runner = Runner::new(self, job, &hosts, work);
        match self.pattern {
            Pattern::Pipeline => pipeline::run(&mut runner),
            _ => runner.rounds(&self.phases(hosts.len() as u32)),
        }
    }
}
