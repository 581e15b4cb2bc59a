//! Allocation: one way of `slotline_net`'s allocator in ways.

use super::Demand;
use super::message::{Inlet, Outlet};
use super::stage::{Stage, Step};
use slotline_fastpass::{Grant, Partition};

/// The places of a round at which a way may have to wait.
#[derive(Clone, Copy)]
enum At {
    /// For the demand of this port.
    Demand(usize),
    /// For the loads of so many other ways.
    Loads(usize),
    /// For the set to serve in this phase; after the last one, for its own.
    Set(usize),
    /// All is sent on: the ports have ended.
    End,
}

/// One way.
pub(super) struct Allocation {
    index: usize,
    way: Partition,
    /// From each port.
    demands: Vec<Inlet>,
    /// Loads and sets, from the next way and to the one before; none where this is the only one.
    circle: Option<(Inlet, Outlet)>,
    /// To each path selection.
    selections: Vec<Outlet>,
    ways: usize,
    at: At,
    round: usize,
    /// Ports that have ended, seen in this round.
    ended: usize,
    loads: Vec<u64>,
    grants: Vec<Grant>,
    /// Demand of pairs that wait for more slots than can be counted; it is tried again each round.
    excess: Vec<Demand>,
}

impl Stage for Allocation {
    fn step(&mut self) -> Step {
        let pulled = self.demands.iter_mut().fold(false, |any, inlet| inlet.pull() | any);
        let turned = self.circle.as_mut().is_some_and(|(from, to)| from.pull() | to.flush());
        let flushed = self.selections.iter_mut().fold(false, |any, outlet| outlet.flush() | any);
        let moved = match self.at {
            At::Demand(port) => self.intake(port),
            At::Loads(missing) => self.add_loads(missing),
            At::Set(phase) => self.serve(phase),
            At::End if self.is_sent() => return Step::Done,
            At::End => false,
        };
        Step::moved(moved | pulled | turned | flushed)
    }
    fn waiting(&self) -> u64 {
        let excess = self.excess.iter().map(|demand| u64::from(demand.slots));
        self.way.backlog().map(|(_, _, slots)| slots).chain(excess).sum()
    }
}

impl Allocation {
    pub(super) fn new(
        (index, ways): (usize, usize),
        way: Partition,
        demands: Vec<Inlet>,
        circle: Option<(Inlet, Outlet)>,
        selections: Vec<Outlet>,
    ) -> Allocation {
        Allocation {
            index,
            way,
            demands,
            circle,
            selections,
            ways,
            at: At::Demand(0),
            round: 0,
            ended: 0,
            loads: Vec::new(),
            grants: Vec::new(),
            excess: Vec::new(),
        }
    }
    fn is_sent(&self) -> bool {
        let circle = self.circle.as_ref().is_none_or(|(_, to)| to.is_empty());
        circle && self.selections.iter().all(Outlet::is_empty)
    }
    /// Takes in a port's demand for this round. Ports come in order, whichever is first.
    fn intake(&mut self, port: usize) -> bool {
        let Allocation { way, excess, demands, .. } = self;
        if let Some(words) = demands[port].receive() {
            for &word in words {
                add(way, super::from_word(word), excess);
            }
        } else if demands[port].is_over() {
            self.ended += 1;
        } else {
            return false;
        }
        self.at = At::Demand(port + 1);
        if port + 1 == self.demands.len() {
            self.begin();
        }
        true
    }
    /// All demand of the round is there. A way alone needs no others.
    fn begin(&mut self) {
        if std::mem::take(&mut self.ended) == self.demands.len() {
            self.at = At::End;
            return;
        }
        for demand in std::mem::take(&mut self.excess) {
            add(&mut self.way, demand, &mut self.excess);
        }
        if let Some((_, to)) = &mut self.circle {
            self.way.loads(to.begin());
            to.end();
            self.at = At::Loads(self.ways - 1);
        } else {
            self.way.allocate_alone(&mut self.grants);
            self.hand_over();
        }
    }
    /// Adds the loads of another way to those known; with all of them known, the batch begins.
    fn add_loads(&mut self, missing: usize) -> bool {
        let Allocation { circle: Some((from, to)), loads, .. } = self else { return false };
        let Some(words) = from.receive() else { return self.is_alone() };
        loads.resize(words.len(), 0);
        loads.iter_mut().zip(words).for_each(|(sum, load)| *sum += load);
        if missing > 1 {
            to.begin().extend_from_slice(words);
            to.end();
            self.at = At::Loads(missing - 1);
            return true;
        }
        self.way.begin(loads, &mut self.grants, to.begin());
        to.end();
        loads.clear();
        self.at = At::Set(1);
        true
    }
    /// Serves a set and sends it on; the last one to come is the way's own.
    fn serve(&mut self, phase: usize) -> bool {
        let Allocation { circle: Some((from, to)), way, grants, .. } = self else {
            return false;
        };
        let Some(words) = from.receive() else { return self.is_alone() };
        if phase == self.ways {
            way.finish(words, grants);
            self.hand_over();
            return true;
        }
        way.serve(words, to.begin(), grants);
        to.end();
        self.at = At::Set(phase + 1);
        true
    }
    /// Ends where another way is gone, for a panic. Returns whether it is.
    fn is_alone(&mut self) -> bool {
        let gone = self.circle.as_mut().is_some_and(|(from, _)| from.is_over());
        if gone {
            self.at = At::End;
        }
        gone
    }
    /// Sends the batch on to path selection.
    fn hand_over(&mut self) {
        let batch = self.round * self.ways + self.index;
        let selections = self.selections.len();
        let outlet = &mut self.selections[batch % selections];
        let ends = |grant: &Grant| u64::from(grant.src) << 16 | u64::from(grant.dst);
        outlet.begin().extend(self.grants.iter().flat_map(|grant| [ends(grant), grant.slots]));
        outlet.end();
        self.grants.clear();
        self.round += 1;
        self.at = At::Demand(0);
    }
}

/// Ports have checked the endpoints: what is refused waits for more slots than can be counted.
fn add(way: &mut Partition, demand: Demand, excess: &mut Vec<Demand>) {
    if way.add_demand(demand.src, demand.dst, demand.slots).is_err() {
        excess.push(demand);
    }
}
