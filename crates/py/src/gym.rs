//! The scheduler of `slotline.gym`: it asks a program for its decisions, step by step.
//!
//! The run has a thread of its own, which needs nothing of Python. That thread and the program take turns.

use crate::errors::{of_run, of_scenario, wrong};
use crate::outcome::Outcome;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use slotline_lab::record::RunSet;
use slotline_lab::run::{Failure, Jobs};
use slotline_net::id::HostId;
use slotline_net::scheme::{Control, Decision, Network, News};
use slotline_net::time::Time;
use slotline_scenario::{Extensions, Loaded};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The name of the scheduler in scenarios.
const NAME: &str = "slotline.gym";

/// How often a thread looks whether it is its turn before it sleeps: a few microseconds, as the other thread may need its
/// processor.
const SPINS: u32 = 150;
/// Interval at which signals are looked at.
const PERIOD: Duration = Duration::from_millis(20);

/// Values of [`Exchange::turn`].
mod turn {
    pub const RUN: u8 = 0;
    pub const PROGRAM: u8 = 1;
    pub const OVER: u8 = 2;
}

/// What the run and the program exchange.
#[derive(Default)]
struct Exchange {
    /// Whose turn it is.
    turn: AtomicU8,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The time of the step.
    now: u64,
    /// By host and destination, how many flows wait.
    waiting: Vec<f32>,
    /// By host, its destination. Other numbers than those of hosts mean that it waits.
    action: Vec<i64>,
    /// The program wants no more steps.
    closing: bool,
}

impl Exchange {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn is(&self, turn: u8) -> bool {
        self.turn.load(Ordering::Acquire) == turn
    }
    /// Ends the own turn, after `last` has changed the state. Nothing happens unless `last` agrees.
    fn pass(&self, to: u8, last: impl FnOnce(&mut State) -> bool) -> bool {
        let mut state = self.state();
        let passes = last(&mut state);
        if passes {
            self.turn.store(to, Ordering::Release);
        }
        drop(state);
        self.changed.notify_all();
        passes
    }
    /// Waits while the turn is `other`, at most for [`PERIOD`]. Returns whether it is not any more.
    fn wait_while(&self, other: u8) -> bool {
        for _ in 0..SPINS {
            if !self.is(other) {
                return true;
            }
            std::hint::spin_loop();
        }
        let going_on = |_: &mut State| self.is(other);
        let waited = self.changed.wait_timeout_while(self.state(), PERIOD, going_on);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

/// Ends the turns of a run, also when it panics.
struct LastTurn(Arc<Exchange>);

impl Drop for LastTurn {
    fn drop(&mut self) {
        self.0.pass(turn::OVER, |_| true);
    }
}

/// The parts of a program that every scenario may name. Without an episode, they do nothing.
pub fn extension(extensions: Extensions) -> Extensions {
    with_agent(extensions, &Arc::default(), (Time::MAX, 0))
}

/// The agent for a network of `hosts` hosts, which asks every `every`.
fn with_agent(
    extensions: Extensions,
    exchange: &Arc<Exchange>,
    (every, hosts): (Time, usize),
) -> Extensions {
    let exchange = Arc::clone(exchange);
    extensions.control(NAME, move |_| {
        let exchange = Arc::clone(&exchange);
        Ok(move |_: Network| Agent::new(Arc::clone(&exchange), every, hosts))
    })
}

/// The scheduler that asks the program.
struct Agent {
    exchange: Arc<Exchange>,
    every: Time,
    hosts: usize,
    /// By host and destination, how many flows wait.
    waiting: Vec<f32>,
    /// By host, whether it reported since the last step.
    reported: Vec<bool>,
    action: Vec<i64>,
    /// When the next step is due; `None` after the last one.
    next: Option<Time>,
}

impl Agent {
    fn new(exchange: Arc<Exchange>, every: Time, hosts: usize) -> Agent {
        let next = (every < Time::MAX).then_some(Time::ZERO);
        let (waiting, reported) = (vec![0.0; hosts * hosts], vec![false; hosts]);
        Agent { exchange, every, hosts, waiting, reported, action: Vec::new(), next }
    }
    fn row(&mut self, host: HostId) -> &mut [f32] {
        let first = host.at() * self.hosts;
        self.waiting.get_mut(first..first + self.hosts).unwrap_or_default()
    }
    /// Lets the program take its step. Returns whether there are more.
    fn ask(&mut self, now: Time) -> bool {
        let passes = self.exchange.pass(turn::PROGRAM, |state| {
            state.now = now.as_ps();
            state.waiting.clone_from(&self.waiting);
            !state.closing
        });
        while passes && !self.exchange.wait_while(turn::PROGRAM) {}
        let mut state = self.exchange.state();
        std::mem::swap(&mut self.action, &mut state.action);
        !state.closing
    }
    /// The decision about `host` that follows from the action.
    fn decision(&self, host: usize, until: Time) -> Option<Decision> {
        let dst = self.action.get(host).and_then(|dst| usize::try_from(*dst).ok());
        let waits = |dst: &usize| *dst < self.hosts && self.waiting[host * self.hosts + dst] > 0.0;
        let dst = dst.filter(|dst| *dst != host).filter(waits);
        // A host whose window is over waits, but one that reported expects an answer.
        let dst = dst.map(|dst| HostId(dst as u32));
        (dst.is_some() || self.reported[host]).then_some(Decision::Window {
            src: HostId(host as u32),
            dst,
            until,
            rate: None,
        })
    }
}

impl Control for Agent {
    fn observe(&mut self, news: &News<'_>, _now: Time) {
        let host = news.host();
        match *news {
            News::Backlog { destinations, flows, .. } => {
                self.reported[host.at()] = true;
                let row = self.row(host);
                row.fill(0.0);
                for (at, dst) in destinations.iter().enumerate() {
                    row[dst.at()] = flows.get(at).copied().unwrap_or(1) as f32;
                }
            }
            News::Released { dst, .. } => self.row(host)[dst.at()] = 0.0,
            News::Left(_) => self.row(host).fill(0.0),
            _ => {}
        }
    }
    fn decide(&mut self, now: Time, plan: &mut Vec<Decision>) -> Option<Time> {
        if now < self.next? {
            return self.next;
        }
        let until = now.after(self.every);
        self.next = self.ask(now).then_some(until);
        plan.extend((0..self.hosts).filter_map(|host| self.decision(host, until)));
        self.reported.fill(false);
        self.next
    }
}

/// A run whose scheduler asks the program.
#[pyclass(module = "slotline._core")]
pub struct Episode {
    exchange: Arc<Exchange>,
    jobs: Arc<Jobs>,
    run: Option<JoinHandle<Result<RunSet, String>>>,
    loaded: Loaded,
}

impl Episode {
    /// Starts a run of `loaded`, which `read` reads with given parts.
    pub fn start(
        read: impl FnOnce(Extensions) -> PyResult<Loaded>,
        (seed, every, hosts): (u32, u64, usize),
    ) -> PyResult<Episode> {
        let exchange = Arc::<Exchange>::default();
        let setting = (Time::ps(every.max(1)), hosts);
        let mut loaded = read(with_agent(Extensions::new(), &exchange, setting))?;
        loaded.reseed(Some(seed), Some(1)).map_err(of_scenario)?;
        let jobs = Arc::new(Jobs::of(&loaded));
        let (own, last, work) =
            (loaded.clone(), LastTurn(Arc::clone(&exchange)), Arc::clone(&jobs));
        let run = std::thread::Builder::new().name("slotline.gym".into()).spawn(move || {
            let _last = last;
            let done = work.run_saving(&own, 1, |_| ());
            match done.failed.first() {
                Some(failure) => Err(Failure::to_string(failure)),
                None => Ok(RunSet::new(&own, done.records)),
            }
        });
        Ok(Episode { exchange, jobs, run: Some(run.map_err(wrong)?), loaded })
    }
}

#[pymethods]
impl Episode {
    /// Waits for the next step, and copies the waiting flows to `waiting`. Returns the time of the step, the number of
    /// pairs with waiting flows, and whether the run is over.
    fn observe(&self, py: Python<'_>, waiting: PyBuffer<f32>) -> PyResult<(u64, usize, bool)> {
        while !py.detach(|| self.exchange.wait_while(turn::RUN)) {
            py.check_signals()?;
        }
        let state = self.exchange.state();
        if waiting.item_count() == state.waiting.len() {
            waiting.copy_from_slice(py, &state.waiting)?;
        }
        let pairs = state.waiting.iter().filter(|flows| **flows > 0.0).count();
        Ok((state.now, pairs, self.exchange.is(turn::OVER)))
    }
    /// Lets the hosts send as `action` says, until the next step.
    fn act(&self, py: Python<'_>, action: PyBuffer<i64>) -> PyResult<()> {
        let wanted = action.to_vec(py)?;
        self.exchange.pass(turn::RUN, |state| {
            state.action = wanted;
            self.exchange.is(turn::PROGRAM)
        });
        Ok(())
    }
    /// The result of a run that is over; `None` if it was closed before.
    fn result(&mut self, py: Python<'_>) -> PyResult<Option<Outcome>> {
        let Some(run) = self.run.take() else { return Ok(None) };
        let ended = py.detach(|| run.join());
        let set = ended.unwrap_or_else(|_| Err("the run panicked".into())).map_err(of_run)?;
        let whole = !set.runs.is_empty();
        Ok(whole.then(|| Outcome::of(self.loaded.clone(), set)))
    }
    /// Ends the run.
    fn close(&mut self, py: Python<'_>) {
        self.stop();
        if let Some(run) = self.run.take() {
            drop(py.detach(|| run.join()));
        }
    }
}

impl Episode {
    /// Lets the run end soon.
    fn stop(&self) {
        self.jobs.cancel();
        self.exchange.pass(turn::RUN, |state| {
            state.closing = true;
            self.exchange.is(turn::PROGRAM)
        });
    }
}

impl Drop for Episode {
    fn drop(&mut self) {
        self.stop();
    }
}
