//! Runs a scenario: all schemes with all seeds, in parallel.

use crate::build::{self, Assembly};
use crate::build_flow::{self, FlowAssembly};
use crate::collect::Scene;
use crate::follow::{self, Choice, Recorded, Upcoming};
use crate::record::{FailedRun, RunRecord};
use crate::usage;
use slotline_net::node::host::Plan;
use slotline_net::time::Time;
use slotline_scenario::{EmulateSpec, EndWhen, Loaded, Scenario, ScenarioError};
use slotline_schemes::ControlSpec;
use slotline_sim::{FIRST_NOTES, Follow, Network, Options, Outcome, Watch};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// One run, with its progress.
pub struct Job {
    /// Index of the scheme.
    pub scheme: usize,
    /// The seed.
    pub seed: u64,
    /// Its progress, and a flag to stop it.
    pub watch: Watch,
    /// Whether packets of the run are recorded.
    pub followed: bool,
    /// Whether the first pass records packets, so that a repetition is hardly ever needed.
    pub foreseen: AtomicBool,
    /// Whether the repetition is running.
    pub again: AtomicBool,
    /// The number of flows of the run, once it is known.
    pub flows: AtomicU64,
    /// Whether it is complete.
    pub done: AtomicBool,
}

impl Job {
    /// The completed fraction: of its flows or of its time until `end_ps`, whichever is larger.
    pub fn share(&self, end_ps: Option<u64>) -> f64 {
        if self.done.load(Ordering::Relaxed) {
            return 1.0;
        }
        let flows = self.flows.load(Ordering::Relaxed);
        let reached = self.watch.reached.load(Ordering::Relaxed) as f64;
        let by_time = end_ps.map_or(0.0, |end| reached / end as f64);
        let completed = self.watch.completed.load(Ordering::Relaxed) as f64;
        let by_flows = if flows > 0 { completed / flows as f64 } else { 0.0 };
        let of_pass = by_time.max(by_flows).min(1.0);
        let once = !self.followed || self.foreseen.load(Ordering::Relaxed);
        match (self.again.load(Ordering::Relaxed), once) {
            (true, _) => 0.5 + of_pass / 2.0,
            (false, true) => of_pass,
            (false, false) => of_pass / 2.0,
        }
    }
    fn cancelled(&self) -> bool {
        self.watch.cancel.load(Ordering::Relaxed)
    }
}

/// A run that has no result.
#[derive(Debug, thiserror::Error)]
#[error("the run of `{scheme}` with seed {seed} failed: {error}")]
pub struct Failure {
    /// Name of the scheme.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
    /// Why it has no result.
    pub error: ScenarioError,
}

impl Failure {
    /// Plain data, as results keep it.
    pub fn record(&self) -> FailedRun {
        let (scheme, why) = (self.scheme.clone(), self.error.to_string());
        FailedRun { scheme, seed: self.seed, why }
    }
}

/// The results of jobs.
#[derive(Debug, Default)]
pub struct Done {
    /// The complete runs, in order.
    pub records: Vec<RunRecord>,
    /// The runs that failed, in order.
    pub failed: Vec<Failure>,
}

impl Done {
    /// Sorts the results of jobs by the position of the job.
    fn of(mut each: Vec<(usize, Result<RunRecord, Failure>)>) -> Done {
        each.sort_by_key(|(at, _)| *at);
        let mut done = Done::default();
        for (_, result) in each {
            match result {
                Ok(record) => done.records.push(record),
                Err(failure) => done.failed.push(failure),
            }
        }
        done
    }
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
            followed: seed == seeds[0] && follows(&loaded.scenario),
            foreseen: AtomicBool::new(false),
            again: AtomicBool::new(false),
            flows: AtomicU64::new(0),
            done: AtomicBool::new(false),
        };
        let schemes = loaded.scenario.scheme.len();
        Jobs(seeds.iter().flat_map(|&seed| (0..schemes).map(move |s| (seed, s))).map(job).collect())
    }

    /// One scheme, or all, with all seeds.
    pub fn of_scheme(loaded: &Loaded, scheme: Option<usize>) -> Jobs {
        let Jobs(mut jobs) = Jobs::of(loaded);
        jobs.retain(|job| scheme.is_none_or(|scheme| job.scheme == scheme));
        Jobs(jobs)
    }

    /// The jobs whose runs are not in `done`.
    pub fn without(self, done: &[RunRecord], loaded: &Loaded) -> Jobs {
        let Jobs(mut jobs) = self;
        let name = |job: &Job| &loaded.scenario.scheme[job.scheme].name;
        jobs.retain(|job| !done.iter().any(|r| r.seed == job.seed && r.scheme == *name(job)));
        Jobs(jobs)
    }

    /// Stops all jobs soon. Complete runs are retained.
    pub fn cancel(&self) {
        self.0.iter().for_each(|job| job.watch.cancel.store(true, Ordering::Relaxed));
    }

    /// Whether the jobs were stopped.
    pub fn cancelled(&self) -> bool {
        self.0.iter().any(Job::cancelled)
    }

    /// Runs the jobs, `threads` at a time. Where there are fewer runs than threads, each run uses several
    /// threads. Returns complete runs only, in order, or the error of the first run that failed.
    pub fn run(&self, loaded: &Loaded, threads: usize) -> Result<Vec<RunRecord>, ScenarioError> {
        let Done { records, failed } = self.run_saving(loaded, threads, |_| ());
        failed.into_iter().next().map_or(Ok(records), |failure| Err(failure.error))
    }

    /// Runs the jobs as [`Jobs::run`] does. The failure of a run, even by an error of the program, does not affect the
    /// others. Calls `save` for each complete run except the last one, on the thread of the run.
    pub fn run_saving(
        &self,
        loaded: &Loaded,
        threads: usize,
        save: impl Fn(&mut RunRecord) + Sync,
    ) -> Done {
        self.run_within(loaded, threads, save, |work| work())
    }

    /// Runs the jobs as [`Jobs::run_saving`] does, each thread's work in one call of `around`: a program in another
    /// language prepares its threads there.
    pub fn run_within(
        &self,
        loaded: &Loaded,
        threads: usize,
        save: impl Fn(&mut RunRecord) + Sync,
        around: impl Fn(&(dyn Fn() + Sync)) + Sync,
    ) -> Done {
        let left = AtomicUsize::new(self.0.len());
        let workers = threads.clamp(1, self.0.len().max(1));
        let each = (threads / workers).max(1);
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<(usize, Result<RunRecord, Failure>)>> = Mutex::default();
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = self.0.get(at).filter(|_| !self.cancelled()) else { return };
                let made = isolated(loaded, job, each, workers == 1).transpose();
                let Some(mut record) = made else { return };
                // A run that was stopped during its repetition lacks the recorded packets.
                if left.fetch_sub(1, Ordering::Relaxed) > 1 && !job.cancelled() {
                    record.iter_mut().for_each(&save);
                }
                job.done.store(true, Ordering::Relaxed);
                done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, record));
            }
        };
        std::thread::scope(|scope| {
            (1..workers).for_each(|_| drop(scope.spawn(|| around(&work))));
            around(&work);
        });
        Done::of(done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

/// Whether packets of the first runs of a scenario are recorded.
fn follows(scenario: &Scenario) -> bool {
    let measure = &scenario.measure;
    measure.why || !measure.follow.is_empty() || !measure.capture.is_empty()
}

/// The time until which the schedule of circuits is recorded if no flow is followed.
fn noted_until(scenario: &Scenario, job: &Job) -> Time {
    if !(job.followed && scenario.measure.why) {
        return Time::ZERO;
    }
    let system = build::system(scenario, &scenario.scheme[job.scheme], job.seed);
    system.ok().flatten().map_or(Time::ZERO, |system| system.recorded_span(FIRST_NOTES as u64))
}

/// As [`one`], but a panic ends only this run.
fn isolated(
    loaded: &Loaded,
    job: &Job,
    threads: usize,
    alone: bool,
) -> Result<Option<RunRecord>, Failure> {
    // After a panic, nothing that the run changed is used except its progress counters.
    let run = AssertUnwindSafe(|| one(loaded, job, threads, alone));
    let result = catch_unwind(run)
        .unwrap_or_else(|panic| Err(ScenarioError::Panic(message_of(panic.as_ref()))));
    result.map_err(|error| {
        let scheme = loaded.scenario.scheme[job.scheme].name.clone();
        Failure { scheme, seed: job.seed, error }
    })
}

/// The text of a panic.
fn message_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "it gave no message".into())
}

/// Does one run on `threads` threads; `None` if it was stopped. `alone` says that nothing else runs in the process at
/// the same time.
fn one(
    loaded: &Loaded,
    job: &Job,
    threads: usize,
    alone: bool,
) -> Result<Option<RunRecord>, ScenarioError> {
    let cpu = || if alone { usage::process_cpu_s() } else { usage::thread_cpu_s() };
    let (began, cpu_before) = (Instant::now(), cpu());
    let First { scene, mut record, recorded } = first(loaded, job, threads)?;
    let stayed = loaded.scenario.engine.emulated().is_some_and(|spec| spec.stay);
    if job.cancelled() && !stayed {
        return Ok(None);
    }
    record.scheme.clone_from(&loaded.scenario.scheme[job.scheme].name);
    record.seed = job.seed;
    if job.followed && loaded.scenario.engine.emulated().is_none() {
        follow(&mut record, loaded, job, threads, &scene, recorded)?;
    }
    record.engine.cpu_s = cpu() - cpu_before;
    record.engine.wall_s = began.elapsed().as_secs_f64();
    record.engine.peak_rss_bytes = usage::peak_rss_bytes();
    Ok(Some(record))
}

/// The result of the first pass of a run.
struct First {
    scene: Scene,
    record: RunRecord,
    recorded: Recorded,
}

/// The first pass of a run, on the engine of the scenario.
fn first(loaded: &Loaded, job: &Job, threads: usize) -> Result<First, ScenarioError> {
    if let Some(spec) = loaded.scenario.engine.emulated() {
        let (scene, record) = emulated(loaded, job, spec)?;
        return Ok(First { scene, record, recorded: Recorded::default() });
    }
    if loaded.scenario.engine.is_packet() {
        return simulated(loaded, job, threads);
    }
    let scenario = &loaded.scenario;
    let assembly = build_flow::build(scenario, job.scheme, job.seed, loaded);
    let FlowAssembly { network, wiring, flows } = assembly.map_err(|e| loaded.blame(e))?;
    job.flows.store(flows, Ordering::Relaxed);
    let (graph, sampled) = (network.graph.clone(), network.sampled.clone());
    let routes = Arc::clone(&network.routes);
    let scene = Scene::of(scenario, job.scheme, graph, wiring, &network.plan, routes, sampled);
    let outcome = slotline_sim::flow::run(network, options(scenario, flows, 1), &job.watch);
    let record = scene.record_flows(&outcome);
    Ok(First { scene, record, recorded: Recorded::default() })
}

/// The first pass of a run on the packet engine.
fn simulated(loaded: &Loaded, job: &Job, threads: usize) -> Result<First, ScenarioError> {
    let notes_until = noted_until(&loaded.scenario, job);
    let choose = |network: &Network, plan: &Arc<Plan>| {
        let follow = if job.followed {
            upcoming(loaded, job, network, plan).record()
        } else {
            Follow::default()
        };
        job.foreseen.store(!follow.conns.is_empty(), Ordering::Relaxed);
        Follow { notes_until, ..follow }
    };
    let (scene, mut outcome) = simulate(loaded, job, threads, choose)?;
    let whole = (!job.cancelled()).then(|| scene.record(&mut outcome));
    let mut record = whole.unwrap_or_default();
    let recorded = Recorded::of(&mut outcome);
    follow::record_schedule(&mut record, &recorded, notes_until);
    Ok(First { scene, record, recorded })
}

fn upcoming<'a>(
    loaded: &'a Loaded,
    job: &Job,
    network: &'a Network,
    plan: &'a Arc<Plan>,
) -> Upcoming<'a> {
    let scheme = &loaded.scenario.scheme[job.scheme];
    let hybrid = loaded.scenario.fabric_of(scheme).hybrid().is_some();
    let fair = matches!(scheme.control, ControlSpec::None {}) && !hybrid;
    let measure = &loaded.scenario.measure;
    let ideal = measure.ideal && !hybrid;
    Upcoming { network, plan, measure, seed: job.seed, fair, ideal }
}

#[cfg(target_os = "linux")]
fn emulated(
    loaded: &Loaded,
    job: &Job,
    spec: &EmulateSpec,
) -> Result<(Scene, RunRecord), ScenarioError> {
    crate::emulate::record(loaded, job, spec)
}

#[cfg(not(target_os = "linux"))]
fn emulated(
    _loaded: &Loaded,
    _job: &Job,
    _spec: &EmulateSpec,
) -> Result<(Scene, RunRecord), ScenarioError> {
    Err(ScenarioError::Emulation("emulation needs Linux".into()))
}

/// Follows the chosen flows. If the first pass has not recorded all of them, the run is repeated; if the repetition is
/// stopped, the record does not change.
fn follow(
    record: &mut RunRecord,
    loaded: &Loaded,
    job: &Job,
    threads: usize,
    scene: &Scene,
    recorded: Recorded,
) -> Result<(), ScenarioError> {
    let choice = Choice::of(record, scene, &loaded.scenario.measure);
    if choice.is_empty() {
        return Ok(());
    }
    if recorded.has(&choice) {
        follow::record_followed(record, &choice, scene, recorded);
        return Ok(());
    }
    drop(recorded);
    job.again.store(true, Ordering::Relaxed);
    let (scene, mut outcome) = simulate(loaded, job, threads, |_, plan| choice.follow(plan))?;
    if job.cancelled() {
        return Ok(());
    }
    assert_eq!(outcome.digest, record.engine.digest, "the same run ended differently");
    follow::record_followed(record, &choice, &scene, Recorded::of(&mut outcome));
    Ok(())
}

fn simulate(
    loaded: &Loaded,
    job: &Job,
    threads: usize,
    follow: impl FnOnce(&Network, &Arc<Plan>) -> Follow,
) -> Result<(Scene, Outcome), ScenarioError> {
    let scenario = &loaded.scenario;
    let assembly = build::build(scenario, job.scheme, job.seed, loaded);
    let assembly = assembly.map_err(|e| loaded.blame(e))?;
    job.flows.store(assembly.flows, Ordering::Relaxed);
    let Assembly { mut network, plan, routes, wiring, flows, .. } = assembly;
    network.follow = follow(&network, &plan);
    let threads = threads.min(slotline_sim::useful_threads(&network.graph));
    let (graph, sampled) = (network.graph.clone(), network.sampled.clone());
    let scene = Scene::of(scenario, job.scheme, graph, wiring, &plan, routes, sampled);
    let outcome = slotline_sim::run(network, options(scenario, flows, threads), &job.watch);
    Ok((scene, outcome))
}

/// The options of a run with this number of flows.
pub fn options(scenario: &Scenario, flows: u64, threads: usize) -> Options {
    let completions = match scenario.end.when {
        EndWhen::FlowsDone => flows,
        EndWhen::Time => u64::MAX,
    };
    Options { threads, end: scenario.end.at.unwrap_or(Time::MAX), completions }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
