//! Threads that run shards in step, with one barrier per window, or one thread that runs them in turn.

use crate::calendar::Windows;
use crate::links::{Mail, bit};
use crate::shard::Shard;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Shows the progress of a run, and can cancel it.
#[derive(Default)]
pub struct Watch {
    /// Simulated time reached, in ps.
    pub reached: AtomicU64,
    /// The number of complete flows.
    pub completed: AtomicU64,
    /// Any thread may set it. The run then stops at the next window with its results so far.
    pub cancel: AtomicBool,
}

/// When a run ends.
#[derive(Clone, Copy)]
pub(crate) struct Until {
    pub end: u64,
    pub completions: u64,
}

/// What a shard publishes at the end of a round. Only its thread writes it, and it has cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct Cell {
    /// The last round of which the rest of the cell tells.
    round: AtomicU64,
    /// The window of the shard's next event, including what it has just sent.
    next: AtomicU64,
    completed: AtomicU64,
    events: AtomicU64,
    /// The shards that have mail from this one, as [`bit`] has them.
    mailed: AtomicU64,
    cancelled: AtomicBool,
}

#[derive(Default)]
#[repr(align(128))]
struct Slot(Mutex<Mail>);

/// What all shards publish in a round. There are two boards, used alternately: a shard that writes its cell again has seen
/// that all others are done with the round before.
struct Board {
    cells: Vec<Cell>,
    /// By sender, then receiver.
    mail: Vec<Slot>,
}

impl Board {
    fn new(shards: usize) -> Board {
        Board {
            cells: (0..shards).map(|_| Cell::default()).collect(),
            mail: (0..shards * shards).map(|_| Slot::default()).collect(),
        }
    }

    fn events(&self) -> u64 {
        self.cells.iter().map(|cell| cell.events.load(Ordering::Relaxed)).sum()
    }

    fn mail(&self, from: usize, to: usize) -> MutexGuard<'_, Mail> {
        lock(&self.mail[from * self.cells.len() + to].0)
    }
}

/// The number of checks that a waiting thread makes before it yields the processor. They take some microseconds.
const SPINS: u32 = 300;
/// The number of times that it yields before it sleeps, so that waiting threads leave the processors to the others.
const YIELDS: u32 = 400;

/// Threads that have waited for so long that they sleep.
#[derive(Default)]
struct Waiting {
    /// A thread has panicked and publishes nothing any more.
    broken: AtomicBool,
    sleepers: AtomicUsize,
    asleep: Mutex<()>,
    wake: Condvar,
}

impl Waiting {
    /// Tells that a cell has reached `round`.
    fn announce(&self, cell: &Cell, round: u64) {
        cell.round.store(round, Ordering::SeqCst);
        self.wake_all();
    }

    /// Waits until a cell has reached `round`. Returns false if a thread panics before, otherwise true.
    fn wait(&self, cell: &Cell, round: u64) -> bool {
        for spins in 0..SPINS + YIELDS {
            if cell.round.load(Ordering::Acquire) >= round {
                return true;
            }
            if spins < SPINS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        self.sleep(cell, round)
    }

    #[cold]
    fn sleep(&self, cell: &Cell, round: u64) -> bool {
        let mut asleep = lock(&self.asleep);
        // A thread that publishes after this sees a sleeper.
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let missing = || cell.round.load(Ordering::SeqCst) < round;
        while missing() && !self.broken.load(Ordering::SeqCst) {
            asleep = self.wake.wait(asleep).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        !missing()
    }

    fn wake_all(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            drop(lock(&self.asleep));
            self.wake.notify_all();
        }
    }
}

/// Lets nobody wait for its thread if that panics.
struct Breaker<'a>(&'a Waiting);

impl Drop for Breaker<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::SeqCst);
            self.0.wake_all();
        }
    }
}

/// Threads begin to run windows together if these have as many events on average, or [`MANY_EACH`] for each thread: to wait
/// for each other takes 1 to 5 us.
const MANY: u64 = 96;
const MANY_EACH: u64 = 12;
/// The number of windows for each thread whose events decide how windows are run. To start a thread takes as long as some
/// windows.
const SPAN_EACH: u64 = 16;

/// Counts events of up to `span` windows. Both questions are to be asked once for each window.
struct Pace {
    span: u64,
    /// So many events in a span are many. Half of them are few.
    many: u64,
    windows: u64,
    /// Events before the span.
    before: u64,
}

impl Pace {
    fn of(threads: usize, before: u64) -> Pace {
        let threads = threads as u64;
        let span = SPAN_EACH * threads;
        Pace { span, many: MANY.max(MANY_EACH * threads) * span, windows: 0, before }
    }

    /// Whether windows have many events, as soon as that is certain. `events` are all so far.
    fn is_high(&mut self, events: u64) -> bool {
        self.windows += 1;
        let high = events - self.before >= self.many;
        if self.windows == self.span {
            (self.windows, self.before) = (0, events);
        }
        high
    }

    /// Whether windows have had few events. `events` counts all so far.
    fn is_low(&mut self, events: impl FnOnce() -> u64) -> bool {
        self.windows += 1;
        if self.windows < self.span {
            return false;
        }
        let (before, events) = (self.before, events());
        (self.windows, self.before) = (0, events);
        events - before < self.many / 2
    }
}

/// Runs all shards to the end: with one thread each (the caller's for the first) while windows have many events, otherwise in
/// turn. Returns the largest number of threads.
pub(crate) fn run(shards: &mut [Shard], windows: Windows, until: Until, watch: &Watch) -> usize {
    if let [shard] = shards {
        alone(shard, windows, until, watch);
        return 1;
    }
    let mut threads = 1;
    while in_turn(shards, windows, until, watch) {
        threads = shards.len();
        if !together(shards, windows, until, watch) {
            break;
        }
    }
    threads
}

/// Runs one shard, which has nobody to wait for. With [`next_window`] small windows would take 2 % longer.
fn alone(shard: &mut Shard, windows: Windows, until: Until, watch: &Watch) {
    let next = |shard: &Shard| shard.next_window().unwrap_or(u64::MAX);
    let cancelled = || watch.cancel.load(Ordering::Relaxed);
    while let Some(window) =
        until.agreed(next(shard), shard.links.reports.completed, cancelled(), windows, Some(watch))
    {
        shard.process(window, windows);
    }
}

/// Runs shards in turn until windows have many events. Returns false if the run is over.
fn in_turn(shards: &mut [Shard], windows: Windows, until: Until, watch: &Watch) -> bool {
    let mut pace = Pace::of(shards.len(), events(shards));
    loop {
        deliver_all(shards);
        let Some(window) = next_window(shards, windows, until, watch) else { return false };
        for shard in shards.iter_mut().filter(|shard| shard.next_window() == Some(window)) {
            shard.process(window, windows);
        }
        if pace.is_high(events(shards)) {
            return true;
        }
    }
}

/// The next window of shards that run on this thread, or `None` when the run is over.
pub(crate) fn next_window(
    shards: &[Shard],
    windows: Windows,
    until: Until,
    watch: &Watch,
) -> Option<u64> {
    let next = shards.iter().filter_map(Shard::next_window).min().unwrap_or(u64::MAX);
    let completed = shards.iter().map(|shard| shard.links.reports.completed).sum();
    until.agreed(next, completed, watch.cancel.load(Ordering::Relaxed), windows, Some(watch))
}

fn events(shards: &[Shard]) -> u64 {
    shards.iter().map(|shard| shard.events).sum()
}

/// Gives each shard what the others have sent to it.
fn deliver_all(shards: &mut [Shard]) {
    for from in 0..shards.len() {
        let mailed = std::mem::take(&mut shards[from].links.mailed);
        for to in (0..shards.len()).filter(|to| mailed & bit(*to) != 0) {
            deliver(shards, from, to);
        }
    }
}

/// Gives one shard what another one has sent to it. Returns the number of events.
pub(crate) fn deliver(shards: &mut [Shard], from: usize, to: usize) -> usize {
    let mut mail = std::mem::take(&mut shards[from].links.outbox[to]);
    let events = mail.entries.len();
    shards[to].accept(&mut mail);
    shards[from].links.outbox[to] = mail;
    events
}

/// Runs each shard on a thread of its own until windows have few events. Returns false if the run is over.
fn together(shards: &mut [Shard], windows: Windows, until: Until, watch: &Watch) -> bool {
    let boards = [(); 2].map(|()| Board::new(shards.len()));
    let (waiting, events) = (Waiting::default(), events(shards));
    let team = Team { boards, waiting, windows, until, watch, events };
    std::thread::scope(|scope| {
        let (first, rest) = shards.split_at_mut(1);
        let team = &team;
        let start = |(at, shard)| scope.spawn(move || team.work(at + 1, shard));
        let threads: Vec<_> = rest.iter_mut().enumerate().map(start).collect();
        let goes_on = team.work(0, &mut first[0]);
        // The panic of a thread continues here with its message.
        for thread in threads {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        goes_on
    })
}

struct Team<'a> {
    boards: [Board; 2],
    waiting: Waiting,
    windows: Windows,
    until: Until,
    watch: &'a Watch,
    /// Events before the first round.
    events: u64,
}

impl Team<'_> {
    /// Runs one shard. Returns false if the run is over.
    fn work(&self, me: usize, shard: &mut Shard) -> bool {
        let _breaker = Breaker(&self.waiting);
        let mut pace = Pace::of(self.boards[0].cells.len(), self.events);
        for round in 1u64.. {
            let board = &self.boards[round as usize % 2];
            self.publish(board, me, shard, round);
            if !board.cells.iter().all(|cell| self.waiting.wait(cell, round)) {
                return false;
            }
            collect(board, me, shard);
            let Some(window) = self.agree(board, me) else { return false };
            // All threads find the same, and all mail is delivered.
            if pace.is_low(|| board.events()) {
                return true;
            }
            shard.process(window, self.windows);
        }
        false
    }

    /// Publishes when this shard's next event is, including what it has just sent.
    fn publish(&self, board: &Board, me: usize, shard: &mut Shard, round: u64) {
        let cell = &board.cells[me];
        let mut next = shard.next_window().unwrap_or(u64::MAX);
        let mailed = std::mem::take(&mut shard.links.mailed);
        for (to, outgoing) in shard.links.outbox.iter_mut().enumerate() {
            if !outgoing.entries.is_empty() {
                next = next.min(self.windows.of(outgoing.first));
                std::mem::swap(&mut *board.mail(me, to), outgoing);
            }
        }
        cell.next.store(next, Ordering::Relaxed);
        cell.completed.store(shard.links.reports.completed, Ordering::Relaxed);
        cell.events.store(shard.events, Ordering::Relaxed);
        cell.mailed.store(mailed, Ordering::Relaxed);
        if me == 0 {
            cell.cancelled.store(self.watch.cancel.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.waiting.announce(cell, round);
    }

    /// The next window of all shards, or `None` when the run is over.
    fn agree(&self, board: &Board, me: usize) -> Option<u64> {
        let completed = board.cells.iter().map(|cell| cell.completed.load(Ordering::Relaxed)).sum();
        let next = board.cells.iter().map(|cell| cell.next.load(Ordering::Relaxed)).min()?;
        let cancelled = board.cells[0].cancelled.load(Ordering::Relaxed);
        let watch = (me == 0).then_some(self.watch);
        self.until.agreed(next, completed, cancelled, self.windows, watch)
    }
}

impl Until {
    /// The window `next`, or `None` when the run is over. Tells `watch` how far it is.
    #[inline]
    fn agreed(
        self,
        next: u64,
        completed: u64,
        cancelled: bool,
        windows: Windows,
        watch: Option<&Watch>,
    ) -> Option<u64> {
        let stopped = completed >= self.completions || cancelled;
        let begins = if next == u64::MAX { u64::MAX } else { windows.start(next) };
        let over = begins >= self.end;
        if let Some(watch) = watch {
            watch.completed.store(completed, Ordering::Relaxed);
            let reached = if over { self.end } else { begins };
            if !stopped && reached != u64::MAX {
                watch.reached.store(reached, Ordering::Relaxed);
            }
        }
        (!stopped && !over).then_some(next)
    }
}

/// Puts what other shards have sent into the calendar.
fn collect(board: &Board, me: usize, shard: &mut Shard) {
    for (from, cell) in board.cells.iter().enumerate() {
        if from != me && cell.mailed.load(Ordering::Relaxed) & bit(me) != 0 {
            shard.accept(&mut board.mail(from, me));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of eight threads, each with some events: whether that is many or few.
    #[test]
    fn the_pace_follows_the_mean_of_a_span() {
        let first = |each: u64, high: bool| {
            let (mut pace, mut events) = (Pace::of(8, 1_000), 1_000);
            let mut next = || {
                events += each;
                if high { pace.is_high(events) } else { pace.is_low(|| events) }
            };
            (1..1_000u64).find(|_| next())
        };
        let (span, many) = (8 * SPAN_EACH, MANY);
        assert_eq!(first(many, true), Some(span));
        assert_eq!(first(many - 1, true), None);
        assert_eq!(first(4 * many, true), Some(span / 4), "as soon as it is certain");
        assert_eq!(first(many / 2, false), None);
        assert_eq!(first(many / 2 - 1, false), Some(span));
    }

    #[test]
    fn nobody_waits_for_a_thread_that_has_panicked() {
        let (cells, waiting) = ([(); 3].map(|()| Cell::default()), Waiting::default());
        let work = |me: usize, panics: bool| {
            let _breaker = Breaker(&waiting);
            let all = |round| cells.iter().all(|cell| waiting.wait(cell, round));
            waiting.announce(&cells[me], 1);
            assert!(all(1), "all arrive");
            assert!(!panics, "requested by the test");
            waiting.announce(&cells[me], 2);
            all(2)
        };
        let ended: Vec<_> = std::thread::scope(|scope| {
            let start = |(me, panics)| scope.spawn(move || work(me, panics));
            let threads = [(0, false), (1, true), (2, false)].map(start);
            threads.into_iter().map(|thread| thread.join().ok()).collect()
        });
        assert_eq!(ended, [Some(false), None, Some(false)]);
    }
}
