//! The thread of a part.

use slotline_fastpass::allocation::partitions::add_loads;
use slotline_fastpass::schedule::{Part, Round};
use std::sync::mpsc::{Receiver, Sender};

/// What a part is to do.
pub(crate) enum Order {
    /// Its share of a round.
    Round(Box<Round>),
    /// Tell what the pairs of a source wait for.
    Backlog(u16),
    #[cfg(test)]
    Panic,
}

/// The answer to an order.
pub(crate) enum Answer {
    Round(Box<Round>),
    Backlog(Vec<(u16, u16, u64)>),
}

/// A part's place in the ring by which sets of pairs move.
pub(crate) struct Ring {
    /// From the next part.
    pub from: Receiver<Vec<u64>>,
    /// To the part before.
    pub to: Sender<Vec<u64>>,
    /// The number of parts.
    pub parts: usize,
}

impl Ring {
    /// Passes a list on, and waits for that of the next part. `None` if a part has ended.
    fn pass(&self, list: Vec<u64>) -> Option<Vec<u64>> {
        self.to.send(list).ok()?;
        self.from.recv().ok()
    }
}

/// A part with its channels.
pub(crate) struct Worker {
    part: Part,
    /// `None` for a single part.
    ring: Option<Ring>,
    orders: Receiver<Order>,
    answers: Sender<Answer>,
    /// Lists that go round, and come back.
    spare: [Vec<u64>; 2],
    /// The loads of all other parts.
    loads: Vec<u64>,
}

impl Worker {
    pub fn new(
        part: Part,
        ring: Option<Ring>,
        orders: Receiver<Order>,
        answers: Sender<Answer>,
    ) -> Worker {
        Worker { part, ring, orders, answers, spare: Default::default(), loads: Vec::new() }
    }
    /// Works until the arbiter or another part has ended.
    pub fn run(mut self) {
        while let Ok(order) = self.orders.recv() {
            let Some(answer) = self.carry_out(order) else { return };
            if self.answers.send(answer).is_err() {
                return;
            }
        }
    }
    fn carry_out(&mut self, order: Order) -> Option<Answer> {
        match order {
            #[cfg(test)]
            Order::Panic => panic!("a test has ordered it"),
            Order::Backlog(source) => Some(Answer::Backlog(self.part.backlog_of(source))),
            Order::Round(mut round) => {
                self.part.take(&mut round);
                self.allocate()?;
                self.part.place(&mut round);
                Some(Answer::Round(round))
            }
        }
    }
    /// Allocates a batch, together with the other parts.
    fn allocate(&mut self) -> Option<()> {
        let Worker { part, ring, spare, loads, .. } = self;
        let (partition, grants) = part.allocation();
        let Some(ring) = ring else {
            partition.allocate_alone(grants);
            return Some(());
        };
        let [mut set, mut passed] = std::mem::take(spare);
        set.clear();
        passed.clear();
        partition.loads(&mut passed);
        loads.clear();
        loads.resize(passed.len(), 0);
        for _ in 1..ring.parts {
            passed = ring.pass(passed)?;
            add_loads(loads, &passed);
        }
        partition.begin(loads, grants, &mut set);
        let mut rest = passed;
        for _ in 1..ring.parts {
            let pairs = ring.pass(set)?;
            rest.clear();
            partition.serve(&pairs, &mut rest, grants);
            (set, rest) = (rest, pairs);
        }
        let own = ring.pass(set)?;
        partition.finish(&own, grants);
        *spare = [own, rest];
        Some(())
    }
}
