//! Threads that run shards in step, with one barrier per window.

use crate::calendar::Windows;
use crate::links::Mail;
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

/// What shards publish at the end of a window. There are two copies, used alternately, so that one
/// barrier per window is enough.
struct Board {
    next: Vec<AtomicU64>,
    completed: Vec<AtomicU64>,
    cancelled: AtomicBool,
    mail: Vec<Mutex<Mail>>,
}

/// The number of checks that a waiting thread makes before it yields the processor. They take some microseconds.
const SPINS: u32 = 300;
/// The number of times that it yields before it sleeps, so that waiting threads leave the processors to the others.
const YIELDS: u32 = 400;

#[derive(Default)]
struct Barrier {
    parties: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    /// A thread has panicked and does not arrive any more.
    broken: AtomicBool,
    sleepers: AtomicUsize,
    asleep: Mutex<()>,
    wake: Condvar,
}

impl Barrier {
    fn new(parties: usize) -> Barrier {
        Barrier { parties, ..Barrier::default() }
    }

    /// Waits for all others. Returns false if one of them panics, otherwise true.
    fn wait(&self) -> bool {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parties {
            self.arrived.store(0, Ordering::Release);
            self.round.store(round.wrapping_add(1), Ordering::SeqCst);
            self.wake_all();
            return true;
        }
        for spins in 0..SPINS + YIELDS {
            if self.round.load(Ordering::Acquire) != round {
                return true;
            }
            if spins < SPINS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        self.sleep(round)
    }

    #[cold]
    fn sleep(&self, round: usize) -> bool {
        let mut asleep = lock(&self.asleep);
        // A thread that ends the round after this sees a sleeper.
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let goes_on = || self.round.load(Ordering::SeqCst) == round;
        while goes_on() && !self.broken.load(Ordering::SeqCst) {
            asleep = self.wake.wait(asleep).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        !goes_on()
    }

    fn wake_all(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            drop(lock(&self.asleep));
            self.wake.notify_all();
        }
    }
}

/// Breaks the barrier if its thread panics, so that no other thread waits forever.
struct Breaker<'a>(&'a Barrier);

impl Drop for Breaker<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::SeqCst);
            self.0.wake_all();
        }
    }
}

/// Runs all shards to the end, one thread each (the caller's for the first).
pub(crate) fn run(shards: &mut [Shard], windows: Windows, until: Until, watch: &Watch) {
    let count = shards.len();
    let board = || Board {
        next: (0..count).map(|_| AtomicU64::new(0)).collect(),
        completed: (0..count).map(|_| AtomicU64::new(0)).collect(),
        cancelled: AtomicBool::new(false),
        mail: (0..count * count).map(|_| Mutex::default()).collect(),
    };
    let boards = [board(), board()];
    let barrier = Barrier::new(count);
    let team = Team { boards, barrier, windows, until, watch };
    std::thread::scope(|scope| {
        let (first, rest) = shards.split_at_mut(1);
        let team = &team;
        let start = |(at, shard)| scope.spawn(move || team.work(at + 1, shard));
        let threads: Vec<_> = rest.iter_mut().enumerate().map(start).collect();
        team.work(0, &mut first[0]);
        // The panic of a thread continues here with its message.
        for thread in threads {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
}

struct Team<'a> {
    boards: [Board; 2],
    barrier: Barrier,
    windows: Windows,
    until: Until,
    watch: &'a Watch,
}

impl Team<'_> {
    fn work(&self, me: usize, shard: &mut Shard) {
        let _breaker = Breaker(&self.barrier);
        for round in 0usize.. {
            let board = &self.boards[round % 2];
            self.publish(board, me, shard);
            if !self.barrier.wait() {
                return;
            }
            self.collect(board, me, shard);
            let Some(window) = self.agree(board) else { return };
            if me == 0 {
                self.watch.reached.store(self.windows.start(window), Ordering::Relaxed);
            }
            shard.process(window, self.windows);
        }
    }

    /// Publishes when this shard's next event is, including what it has just sent.
    fn publish(&self, board: &Board, me: usize, shard: &mut Shard) {
        let mut next = shard.links.calendar.peek().unwrap_or(u64::MAX);
        for (to, outgoing) in shard.links.outbox.iter_mut().enumerate() {
            if !outgoing.entries.is_empty() {
                next = next.min(self.windows.of(outgoing.first));
                std::mem::swap(&mut *lock(&board.mail[me * board.next.len() + to]), outgoing);
            }
        }
        board.next[me].store(next, Ordering::Relaxed);
        board.completed[me].store(shard.links.reports.completed, Ordering::Relaxed);
        if me == 0 {
            board.cancelled.store(self.watch.cancel.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// The next window of all shards, or `None` when the run is over.
    fn agree(&self, board: &Board) -> Option<u64> {
        let sum =
            |cells: &[AtomicU64]| cells.iter().map(|c| c.load(Ordering::Relaxed)).sum::<u64>();
        let completed = sum(&board.completed);
        self.watch.completed.store(completed, Ordering::Relaxed);
        let next = board.next.iter().map(|c| c.load(Ordering::Relaxed)).min()?;
        if completed >= self.until.completions || board.cancelled.load(Ordering::Relaxed) {
            return None;
        }
        let over = next == u64::MAX || self.windows.start(next) >= self.until.end;
        if over && self.until.end != u64::MAX {
            self.watch.reached.store(self.until.end, Ordering::Relaxed);
        }
        (!over).then_some(next)
    }

    fn collect(&self, board: &Board, me: usize, shard: &mut Shard) {
        let count = board.next.len();
        for from in (0..count).filter(|from| *from != me) {
            shard.accept(&mut lock(&board.mail[from * count + me]));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_a_thread_that_has_panicked() {
        let barrier = Barrier::new(3);
        let work = |panics: bool| {
            let _breaker = Breaker(&barrier);
            assert!(barrier.wait(), "all arrive");
            assert!(!panics, "requested by the test");
            barrier.wait()
        };
        let ended: Vec<_> = std::thread::scope(|scope| {
            let start = |panics| scope.spawn(move || work(panics));
            let threads = [false, true, false].map(start);
            threads.into_iter().map(|thread| thread.join().ok()).collect()
        });
        assert_eq!(ended, [Some(false), None, Some(false)]);
    }
}
