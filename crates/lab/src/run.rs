//! Runs a scenario: all schemes, all seeds, side by side.

use crate::build::{self, Assembly};
use crate::collect::Scene;
use crate::record::RunRecord;
use crate::scenario::{EndWhen, Loaded, Scenario, ScenarioError};
use crate::usage;
use slotline_net::time::Time;
use slotline_sim::{Options, Watch};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// One run to be done, and how far it is.
pub struct Job {
    /// Index of the scheme.
    pub scheme: usize,
    /// The seed.
    pub seed: u64,
    /// Progress, and the way to stop it.
    pub watch: Watch,
    /// Flows of the run, once known.
    pub flows: AtomicU64,
    /// Whether it is complete.
    pub done: AtomicBool,
}

/// The runs of a scenario, in order.
pub struct Jobs(pub Vec<Job>);

impl Jobs {
    /// All schemes with all seeds.
    pub fn of(loaded: &Loaded) -> Jobs {
        let seeds = loaded.scenario.seeds();
        let job = |(seed, scheme)| Job {
            scheme,
            seed,
            watch: Watch::default(),
            flows: AtomicU64::new(0),
            done: AtomicBool::new(false),
        };
        let schemes = loaded.scenario.scheme.len();
        Jobs(seeds.iter().flat_map(|&seed| (0..schemes).map(move |s| (seed, s))).map(job).collect())
    }

    /// Stops everything soon; what is done is kept.
    pub fn cancel(&self) {
        self.0.iter().for_each(|job| job.watch.cancel.store(true, Ordering::Relaxed));
    }

    fn cancelled(&self) -> bool {
        self.0.iter().any(|job| job.watch.cancel.load(Ordering::Relaxed))
    }

    /// Does them, `threads` at a time; where there are fewer runs than threads, each run uses several.
    /// Returns complete runs only, in order.
    pub fn run(&self, loaded: &Loaded, threads: usize) -> Result<Vec<RunRecord>, ScenarioError> {
        let workers = threads.clamp(1, self.0.len().max(1));
        let each = (threads / workers).max(1);
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<(usize, Result<RunRecord, ScenarioError>)>> = Mutex::default();
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = self.0.get(at).filter(|_| !self.cancelled()) else { return };
                let record = one(loaded, job, each, workers == 1);
                if job.watch.cancel.load(Ordering::Relaxed) && record.is_ok() {
                    return;
                }
                job.done.store(true, Ordering::Relaxed);
                done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, record));
            }
        };
        std::thread::scope(|scope| {
            (1..workers).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        done.sort_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, record)| record).collect()
    }
}

/// One run, on `threads` threads. `alone`: nothing else runs in the process meanwhile.
fn one(
    loaded: &Loaded,
    job: &Job,
    threads: usize,
    alone: bool,
) -> Result<RunRecord, ScenarioError> {
    let cpu = || if alone { usage::process_cpu_s() } else { usage::thread_cpu_s() };
    let (began, cpu_before) = (Instant::now(), cpu());
    let scenario = &loaded.scenario;
    let files = |name: &str| loaded.file(name);
    let assembly = build::build_with(
        scenario,
        job.scheme,
        job.seed,
        &files,
        loaded.schedulers.get(&job.scheme),
    )
    .map_err(|e| loaded.blame(e))?;
    job.flows.store(assembly.flows, Ordering::Relaxed);
    let Assembly { network, plan, routes, wiring, flows } = assembly;
    let scene = Scene {
        graph: network.graph.clone(),
        sampled: network.sampled.clone(),
        ideal: scenario.measure.ideal,
        plan,
        routes,
        wiring,
    };
    let mut outcome = slotline_sim::run(network, options(scenario, flows, threads), &job.watch);
    let mut record = scene.record(&mut outcome);
    record.scheme.clone_from(&scenario.scheme[job.scheme].name);
    record.seed = job.seed;
    record.engine.cpu_s = cpu() - cpu_before;
    record.engine.wall_s = began.elapsed().as_secs_f64();
    record.engine.peak_rss_bytes = usage::peak_rss_bytes();
    Ok(record)
}

/// How a run with so many flows goes and ends.
fn options(scenario: &Scenario, flows: u64, threads: usize) -> Options {
    let completions = match scenario.end.when {
        EndWhen::FlowsDone => flows,
        EndWhen::Time => u64::MAX,
    };
    Options { threads, end: scenario.end.at.unwrap_or(Time::MAX), completions }
}
