//! Runs, watched from Python: progress, Ctrl-C, and exceptions of parts that are written in Python.

use crate::control::Faults;
use pyo3::prelude::*;
use slotline_lab::run::Jobs;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Interval at which signals are looked at.
const PERIOD: Duration = Duration::from_millis(20);
/// Interval at which progress is reported.
const REPORT: Duration = Duration::from_millis(100);

/// A function of Python that is told the progress.
pub struct Progress {
    /// The function: it gets the share of the work that is done, and the numbers of complete and of all runs.
    pub call: Py<PyAny>,
    /// The latest end of a run in picoseconds.
    pub end: Option<u64>,
}

impl Progress {
    fn report(&self, py: Python<'_>, jobs: &Jobs) -> PyResult<()> {
        let all = jobs.0.len();
        let done = jobs.0.iter().filter(|job| job.done.load(Ordering::Relaxed)).count();
        let share = jobs.0.iter().map(|job| job.share(self.end)).sum::<f64>() / all.max(1) as f64;
        self.call.call1(py, (share, done, all)).map(drop)
    }
}

/// Calls `work` on a thread that keeps its state in Python: otherwise each call into Python makes one.
pub fn attached<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    Python::attach(|py| py.detach(work))
}

/// Calls `work` on another thread, without Python's lock. A signal, an exception of `progress`, or one of a part written
/// in Python stops the jobs; complete runs are returned with the exception.
pub fn watched<T: Send>(
    py: Python<'_>,
    jobs: &Arc<Jobs>,
    faults: &Arc<Faults>,
    progress: Option<&Progress>,
    work: impl FnOnce() -> T + Send,
) -> (T, Option<PyErr>) {
    let report = |py: Python<'_>| progress.map_or(Ok(()), |progress| progress.report(py, jobs));
    watched_by(py, faults, || jobs.cancel(), report, work)
}

/// As [`watched`], for anything that `cancel` stops and whose progress `report` reports.
pub fn watched_by<T: Send>(
    py: Python<'_>,
    faults: &Faults,
    cancel: impl Fn() + Send + Sync,
    report: impl Fn(Python<'_>) -> PyResult<()> + Send + Sync,
    work: impl FnOnce() -> T + Send,
) -> (T, Option<PyErr>) {
    py.detach(|| {
        std::thread::scope(|scope| {
            let waiting = std::thread::current();
            let worker = scope.spawn(move || {
                let done = attached(work);
                waiting.unpark();
                done
            });
            let look = |due: bool| {
                Python::attach(|py| {
                    py.check_signals()?;
                    faults.raise()?;
                    if due { report(py) } else { Ok(()) }
                })
            };
            let mut stopped = None;
            let mut reported = Instant::now();
            while !worker.is_finished() {
                std::thread::park_timeout(PERIOD);
                let due = reported.elapsed() >= REPORT && stopped.is_none();
                reported = if due { Instant::now() } else { reported };
                if let Err(error) = look(due) {
                    stopped.get_or_insert(error);
                    cancel();
                }
            }
            let done = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let last = look(true).err();
            (done, stopped.or(last))
        })
    })
}
