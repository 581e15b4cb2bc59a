//! Runs several points at the same time, each in its own process, so that a failing point affects no other.

use super::SweepOptions;
use crate::run::INTERRUPTED;
use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use slotline_lab::output::is_of;
use slotline_lab::output::lock::{self, Attempt, Lock};
use slotline_lab::sweep::summary_file::SummaryFile;
use slotline_lab::sweep::{Part, State, store};
use std::collections::{BTreeMap, VecDeque};
use std::io::IsTerminal;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Interval at which a point that another process runs is checked again.
const PATIENCE: Duration = Duration::from_millis(300);
const PERIOD: Duration = Duration::from_millis(100);
const SIGKILL: i32 = 9;

/// Processors that this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The outcome of a point.
struct Outcome {
    point: usize,
    state: State,
    message: Option<String>,
}

/// The state that all workers share.
struct Pool<'a> {
    options: &'a SweepOptions,
    part: &'a Part,
    program: PathBuf,
    threads: usize,
    queue: Mutex<VecDeque<usize>>,
    held: Mutex<BTreeMap<usize, Lock>>,
    lives: Arc<Lives>,
    outcomes: Mutex<Vec<Outcome>>,
    bar: ProgressBar,
}

/// The standard inputs of running points. A point stops when its input is dropped.
#[derive(Default)]
struct Lives {
    stopped: AtomicBool,
    lines: Mutex<BTreeMap<usize, ChildStdin>>,
}

impl Lives {
    fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        locked(&self.lines).clear();
    }

    fn add(&self, point: usize, line: Option<ChildStdin>) {
        let mut lines = locked(&self.lines);
        if !self.stopped() {
            line.into_iter().for_each(|line| drop(lines.insert(point, line)));
        }
    }

    fn stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the points `todo` of `part` and records their outcome. Returns whether Ctrl-C ended the sweep.
pub fn run(options: &SweepOptions, part: &mut Part, todo: Vec<usize>) -> Result<bool> {
    let jobs = options.jobs.map_or_else(processors, usize::from).min(todo.len()).max(1);
    let lives = Arc::new(Lives::default());
    let pool = Pool {
        options,
        part,
        program: crate::program()?,
        threads: (processors() / jobs).max(1),
        bar: bar(part, todo.len()),
        queue: Mutex::new(todo.into()),
        held: Mutex::default(),
        lives: Arc::clone(&lives),
        outcomes: Mutex::default(),
    };
    let handler = Arc::clone(&lives);
    ctrlc::set_handler(move || handler.stop())?;
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let beat = scope.spawn(|| pool.beat(&over));
        std::thread::scope(|scope| {
            (0..jobs).for_each(|_| drop(scope.spawn(|| pool.work())));
        });
        over.store(true, Ordering::Relaxed);
        beat.thread().unpark();
    });
    pool.bar.finish_and_clear();
    let outcomes = pool.outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    record_outcomes(part, outcomes, &options.out);
    Ok(lives.stopped())
}

/// Records the outcome of the points, with the digests of their results below `root`.
fn record_outcomes(part: &mut Part, outcomes: Vec<Outcome>, root: &Path) {
    for outcome in outcomes {
        let record = &mut part.points[outcome.point];
        (record.state, record.message) = (outcome.state, outcome.message);
    }
    for record in part.points.iter_mut().filter(|record| record.state == State::Done) {
        let folder = root.join(record.id.as_deref().unwrap_or(""));
        record.digest = SummaryFile::read(&folder).ok().map(|summary| summary.engine.digest);
    }
}

/// Counts the points of this shard.
fn bar(part: &Part, todo: usize) -> ProgressBar {
    let own = part.points.iter().filter(|point| part.shard.has(point.point)).count();
    let bar = ProgressBar::with_draw_target(Some(own as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} points  {msg}  {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_position((own - todo) as u64);
    bar.reset_eta();
    bar.set_message("0 failed");
    bar
}

impl Pool<'_> {
    /// Shows progress, and renews the locks on points.
    fn beat(&self, over: &AtomicBool) {
        let mut touched = Instant::now();
        while !over.load(Ordering::Relaxed) {
            std::thread::park_timeout(PERIOD);
            self.bar.tick();
            if touched.elapsed() > lock::HEARTBEAT {
                touched = Instant::now();
                // If touching a lock fails, only the lock is lost, not the work.
                locked(&self.held).values().for_each(|lock| drop(lock.touch()));
            }
        }
    }

    fn work(&self) {
        while !self.lives.stopped() {
            let Some(point) = locked(&self.queue).pop_front() else { return };
            let began = Instant::now();
            match self.attempt(point) {
                Ok(Some(outcome)) => self.note(outcome, began),
                Ok(None) => {
                    locked(&self.queue).push_back(point);
                    std::thread::sleep(PATIENCE);
                }
                Err(error) => {
                    let message = Some(format!("{error:#}"));
                    self.note(Outcome { point, state: State::Failed, message }, began);
                }
            }
        }
    }

    /// Runs a point, unless it is done; `None` if another process is running it.
    fn attempt(&self, point: usize) -> Result<Option<Outcome>> {
        let id = self.part.points[point].id.as_deref().unwrap_or("");
        let folder = self.options.out.join(id);
        let is_done = || {
            SummaryFile::read(&folder).is_ok_and(|s| s.complete && s.id == id) && is_of(&folder, id)
        };
        let done = Outcome { point, state: State::Done, message: None };
        if is_done() {
            return Ok(Some(done));
        }
        let lock = Lock::take(&self.options.out, id);
        match lock.with_context(|| format!("cannot lock {}", folder.display()))? {
            Attempt::Busy(_) => return Ok(None),
            Attempt::Held(lock) => drop(locked(&self.held).insert(point, lock)),
        }
        // Another process may have finished the point just before the lock was taken.
        let tried = if is_done() { Ok(done) } else { self.spawn(point, id) };
        drop(locked(&self.held).remove(&point));
        tried.map(Some)
    }

    fn spawn(&self, point: usize, id: &str) -> Result<Outcome> {
        let mut child = Command::new(&self.program)
            .arg("sweep")
            .arg(&self.options.file)
            .arg("--out")
            .arg(&self.options.out)
            .args(["--point", &format!("{point}:{id}")])
            .args(["--threads", &self.threads.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", self.program.display()))?;
        self.lives.add(point, child.stdin.take());
        let ended = wait_for(child);
        drop(locked(&self.lives.lines).remove(&point));
        let (status, complaint) = ended?;
        if status.success() {
            return Ok(Outcome { point, state: State::Done, message: None });
        }
        if status.signal().is_some() {
            store::clear_remains(&self.options.out);
        }
        let given_up = self.lives.stopped();
        let state = if given_up { State::Missing } else { State::Failed };
        Ok(Outcome { point, state, message: (!given_up).then(|| why(status, &complaint)) })
    }

    fn note(&self, outcome: Outcome, began: Instant) {
        let mut outcomes = locked(&self.outcomes);
        if outcome.state != State::Missing {
            self.bar.inc(1);
        }
        if !std::io::stderr().is_terminal() {
            let word = match outcome.state {
                State::Done => "done",
                State::Failed => "FAILED",
                State::Missing => "given up",
            };
            let (at, of) = (self.bar.position(), self.bar.length().unwrap_or(0));
            let took = began.elapsed().as_secs_f64();
            crate::out::warn(format_args!(
                "{at}/{of}  {word}  {}  ({took:.1} s)",
                self.part.settings_text(outcome.point)
            ));
        }
        outcomes.push(outcome);
        let failed = outcomes.iter().filter(|outcome| outcome.state == State::Failed).count();
        self.bar.set_message(format!("{failed} failed"));
    }
}

/// Waits for the end of `child`; returns its status and its error output.
fn wait_for(child: Child) -> Result<(ExitStatus, String)> {
    let output = child.wait_with_output()?;
    Ok((output.status, String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// The reason why a point failed.
fn why(status: ExitStatus, complaint: &str) -> String {
    match (status.signal(), status.code()) {
        (Some(SIGKILL), _) => {
            "killed (signal 9), as the system does where memory runs out: give each \
                               point more of it, with fewer at a time (--jobs)"
                .into()
        }
        (Some(signal), _) => format!("ended by signal {signal}\n{complaint}"),
        (None, Some(code)) if code == i32::from(INTERRUPTED) => "interrupted".into(),
        (None, code) if complaint.trim().is_empty() => {
            format!("ended with exit code {}", code.unwrap_or(-1))
        }
        _ => complaint.to_string(),
    }
}
