//! The allocation stage: one partition of the allocator in `slotline_net`.

use super::message::{Receiver, Sender, demand_from_word};
use super::stage::{Stage, Step};
use slotline_fastpass::{Demand, Grant, Partition};

/// The message that a partition waits for.
#[derive(Clone, Copy)]
enum State {
    /// The demand of this port.
    Demand(usize),
    /// The loads of this number of other partitions.
    Loads(usize),
    /// The set of pairs to serve in this phase; in the last phase, the partition's own set.
    Set(usize),
    /// No message: the ports have ended.
    End,
}

/// One partition.
pub(super) struct Allocation {
    index: usize,
    partition: Partition,
    /// From each port.
    demands: Vec<Receiver>,
    /// Loads and sets, from the next partition and to the previous one; `None` for a single partition.
    neighbours: Option<(Receiver, Sender)>,
    /// To each path selection.
    selections: Vec<Sender>,
    partitions: usize,
    state: State,
    round: usize,
    /// The number of ports that have ended before this round.
    ended: usize,
    loads: Vec<u64>,
    grants: Vec<Grant>,
    /// Demand that the counter of a pair cannot hold. It is added again in each round.
    excess: Vec<Demand>,
}

impl Stage for Allocation {
    fn step(&mut self) -> Step {
        let polled = self.demands.iter_mut().fold(false, |any, receiver| receiver.poll() | any);
        let exchanged = self.neighbours.as_mut().is_some_and(|(from, to)| from.poll() | to.flush());
        let flushed = self.selections.iter_mut().fold(false, |any, sender| sender.flush() | any);
        let moved = match self.state {
            State::Demand(port) => self.receive_demand(port),
            State::Loads(missing) => self.add_loads(missing),
            State::Set(phase) => self.serve(phase),
            State::End if self.is_sent() => return Step::Done,
            State::End => false,
        };
        Step::progress(moved | polled | exchanged | flushed)
    }
    fn waiting(&self) -> u64 {
        let excess = self.excess.iter().map(|demand| u64::from(demand.slots));
        self.partition.backlog().map(|(_, _, slots)| slots).chain(excess).sum()
    }
}

impl Allocation {
    pub(super) fn new(
        index: usize,
        partitions: usize,
        partition: Partition,
        demands: Vec<Receiver>,
        neighbours: Option<(Receiver, Sender)>,
        selections: Vec<Sender>,
    ) -> Allocation {
        Allocation {
            index,
            partition,
            demands,
            neighbours,
            selections,
            partitions,
            state: State::Demand(0),
            round: 0,
            ended: 0,
            loads: Vec::new(),
            grants: Vec::new(),
            excess: Vec::new(),
        }
    }
    fn is_sent(&self) -> bool {
        let ring = self.neighbours.as_ref().is_none_or(|(_, to)| to.is_empty());
        ring && self.selections.iter().all(Sender::is_empty)
    }
    /// Receives the demand of a port for this round. The ports are served in order, whichever is ready first.
    fn receive_demand(&mut self, port: usize) -> bool {
        let Allocation { partition, excess, demands, .. } = self;
        if let Some(words) = demands[port].receive() {
            for &word in words {
                add(partition, demand_from_word(word), excess);
            }
        } else if demands[port].is_closed() {
            self.ended += 1;
        } else {
            return false;
        }
        self.state = State::Demand(port + 1);
        if port + 1 == self.demands.len() {
            self.begin();
        }
        true
    }
    /// Begins the round when its demand is complete. A single partition allocates the batch at once.
    fn begin(&mut self) {
        if std::mem::take(&mut self.ended) == self.demands.len() {
            self.state = State::End;
            return;
        }
        for demand in std::mem::take(&mut self.excess) {
            add(&mut self.partition, demand, &mut self.excess);
        }
        if let Some((_, to)) = &mut self.neighbours {
            self.partition.loads(to.begin());
            to.end();
            self.state = State::Loads(self.partitions - 1);
        } else {
            self.partition.allocate_alone(&mut self.grants);
            self.send_batch();
        }
    }
    /// Adds the loads of another partition. When the loads of all partitions are known, the batch begins.
    fn add_loads(&mut self, missing: usize) -> bool {
        let Allocation { neighbours: Some((from, to)), loads, .. } = self else { return false };
        let Some(words) = from.receive() else { return self.end_if_closed() };
        loads.resize(words.len(), 0);
        loads.iter_mut().zip(words).for_each(|(sum, load)| *sum += load);
        if missing > 1 {
            to.begin().extend_from_slice(words);
            to.end();
            self.state = State::Loads(missing - 1);
            return true;
        }
        self.partition.begin(loads, &mut self.grants, to.begin());
        to.end();
        loads.clear();
        self.state = State::Set(1);
        true
    }
    /// Serves a set and forwards it. The last set to arrive is the partition's own.
    fn serve(&mut self, phase: usize) -> bool {
        let Allocation { neighbours: Some((from, to)), partition, grants, .. } = self else {
            return false;
        };
        let Some(words) = from.receive() else { return self.end_if_closed() };
        if phase == self.partitions {
            partition.finish(words, grants);
            self.send_batch();
            return true;
        }
        partition.serve(words, to.begin(), grants);
        to.end();
        self.state = State::Set(phase + 1);
        true
    }
    /// Ends if another partition has ended by a panic. Returns whether it has.
    fn end_if_closed(&mut self) -> bool {
        let closed = self.neighbours.as_mut().is_some_and(|(from, _)| from.is_closed());
        if closed {
            self.state = State::End;
        }
        closed
    }
    /// Sends the batch to path selection.
    fn send_batch(&mut self) {
        let batch = self.round * self.partitions + self.index;
        let selections = self.selections.len();
        let sender = &mut self.selections[batch % selections];
        let ends = |grant: &Grant| u64::from(grant.src) << 16 | u64::from(grant.dst);
        sender.begin().extend(self.grants.iter().flat_map(|grant| [ends(grant), grant.slots]));
        sender.end();
        self.grants.clear();
        self.round += 1;
        self.state = State::Demand(0);
    }
}

/// Adds demand. The ports have checked the endpoints, so an error means that the counter is full.
fn add(partition: &mut Partition, demand: Demand, excess: &mut Vec<Demand>) {
    if partition.add_demand(demand.src, demand.dst, demand.slots).is_err() {
        excess.push(demand);
    }
}
