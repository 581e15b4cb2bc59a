//! The crew of a schedule: a thread for each part.

use crate::worker::{Answer, Order, Ring, Worker};
use slotline_fastpass::schedule::{Crew, MakeCrew, Part, Round};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

/// The name of the threads.
pub const THREAD: &str = "allocate";

/// Gives each part of a schedule a thread of its own.
pub fn threads() -> MakeCrew {
    MakeCrew::new(|parts| Box::new(Threads::begin(parts)))
}

/// The thread of a part, as its arbiter sees it.
struct Remote {
    orders: Sender<Order>,
    answers: Receiver<Answer>,
    thread: JoinHandle<()>,
}

/// The threads of all parts, in order.
pub(crate) struct Threads {
    remotes: Vec<Remote>,
}

impl Threads {
    pub(crate) fn begin(parts: Vec<Part>) -> Threads {
        let rings = rings(parts.len());
        Threads { remotes: parts.into_iter().zip(rings).map(Remote::begin).collect() }
    }
    /// The next answer of a thread. If the thread has ended, it was by a panic, which continues here.
    fn answer(&mut self, at: usize) -> Answer {
        match self.remotes[at].answers.recv() {
            Ok(answer) => answer,
            Err(_) => self.fail(),
        }
    }
    pub(crate) fn order(&mut self, at: usize, order: Order) {
        if self.remotes[at].orders.send(order).is_err() {
            self.fail();
        }
    }
    fn fail(&mut self) -> ! {
        let threads = self.end();
        let panic = threads.into_iter().find_map(|thread| thread.join().err());
        std::panic::resume_unwind(panic.unwrap_or_else(|| Box::new("a thread has ended")))
    }
    /// Lets all threads end.
    fn end(&mut self) -> Vec<JoinHandle<()>> {
        self.remotes.drain(..).map(|remote| remote.thread).collect()
    }
}

impl Remote {
    fn begin((part, ring): (Part, Option<Ring>)) -> Remote {
        let ((orders, given), (reports, answers)) = (channel(), channel());
        let worker = Worker::new(part, ring, given, reports);
        let thread = thread::Builder::new().name(THREAD.into());
        let thread = thread.spawn(move || worker.run()).expect("the system has threads");
        Remote { orders, answers, thread }
    }
}

/// The channels by which parts pass sets on: each sends to the part before it.
fn rings(parts: usize) -> Vec<Option<Ring>> {
    if parts == 1 {
        return vec![None];
    }
    let (mut senders, receivers): (Vec<_>, Vec<_>) = (0..parts).map(|_| channel()).unzip();
    // Part `i` receives from channel `i`, and part `i + 1` sends to it.
    senders.rotate_right(1);
    let ring = |(from, to)| Some(Ring { from, to, parts });
    receivers.into_iter().zip(senders).map(ring).collect()
}

impl Crew for Threads {
    fn begin(&mut self, rounds: &mut Vec<Round>) {
        for (at, round) in rounds.drain(..).enumerate() {
            self.order(at, Order::Round(Box::new(round)));
        }
    }
    fn finish(&mut self, rounds: &mut Vec<Round>) {
        for at in 0..self.remotes.len() {
            if let Answer::Round(round) = self.answer(at) {
                rounds.push(*round);
            }
        }
    }
    fn backlog_of(&mut self, source: u16) -> Vec<(u16, u16, u64)> {
        let count = self.remotes.len();
        (0..count).for_each(|at| self.order(at, Order::Backlog(source)));
        let answers = (0..count).map(|at| self.answer(at)).collect::<Vec<_>>();
        let backlog = |answer| match answer {
            Answer::Backlog(pairs) => pairs,
            Answer::Round(_) => Vec::new(),
        };
        answers.into_iter().flat_map(backlog).collect()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // A panic in a thread without a round to return matters to nobody.
        self.end().into_iter().for_each(|thread| drop(thread.join()));
    }
}
