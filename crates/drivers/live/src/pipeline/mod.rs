//! The arbiter of Fastpass over several cores: communication, timeslot allocation, path selection
//! (§6.2).
//!
//! ```text
//!   port 0 ──demand──> way 0 ──grants──> selection 0 ──permits──> port 0
//!          ╲        ╱  │   ↑  ╲        ╱             ╲         ╱
//!          ╱        ╲  ↓   │  ╱        ╲             ╱         ╲
//!   port 1 ──────────> way 1 ──────────> selection 1 ───────────> port 1
//! ```
//!
//! A *port* speaks with some of the endpoints, over FCP or whatever its implementation does. Time goes
//! in *rounds*: the demand of a round is everything that ports handed in for it, and a round is one
//! batch of 64 timeslots for each way of the allocation
//! ([`slotline_fastpass::allocation::partitions`]). Each stage is a state machine that never waits; rings
//! without locks lie between them; a thread runs some of the stages in turn.
//!
//! **Deterministic.** A stage reads its rings in an order that does not depend on when something
//! comes. So the same demand gives the same permits, byte by byte, on any number of threads, and the
//! allocation is that of [`slotline_fastpass::Partitions`].
//!
//! **Bounded.** A port is asked for a round when all but [`Setup::depth`] - 1 of those before it have been
//! delivered: a slow port slows demand down, and what is under way is never more than `depth` rounds. Within
//! that bound every stage takes in all that is there, so no two stages wait for each other.
//!
//! **Ends.** When all ports have ended, the rounds under way are finished and delivered. A stage that
//! is gone ends its rings; where that is for a panic, the other stages end too and it goes on in the
//! calling thread.

mod allocation;
mod endpoints;
mod message;
mod selection;
mod stage;

use allocation::Allocation;
use endpoints::Communication;
use message::{Inlet, Outlet, channel};
use selection::Selection;
pub use slotline_fastpass::Demand;
use slotline_fastpass::{Choice, DemandError, Partition, PathError, PathSelector, Policy};
use stage::{Stage, Worked, work};
use std::time::Duration;

fn to_word(demand: Demand) -> u64 {
    u64::from(demand.slots) << 32 | u64::from(demand.src) << 16 | u64::from(demand.dst)
}

fn from_word(word: u64) -> Demand {
    Demand { src: (word >> 16) as u16, dst: word as u16, slots: (word >> 32) as u32 }
}

/// What a packet of one slot may do: from where to where, when, on which path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Permit(u64);

/// No path can have these numbers: paths times room is at most 4,096.
const LOCAL: u64 = 0xffff;
const UNPLACED: u64 = 0xfffe;

impl Permit {
    fn new(src: u16, dst: u16, slot: u8, choice: Choice) -> Permit {
        let choice = match choice {
            Choice::Local => LOCAL,
            Choice::Unplaced => UNPLACED,
            Choice::Over(path) => path.into(),
        };
        Permit(choice << 48 | u64::from(slot) << 32 | u64::from(src) << 16 | u64::from(dst))
    }
    /// All of it: from the top 16 bits of path, 16 of slot, 16 of source, 16 of destination.
    pub fn to_word(self) -> u64 {
        self.0
    }
    /// The sending endpoint.
    pub fn src(self) -> u16 {
        (self.0 >> 16) as u16
    }
    /// The receiving endpoint.
    pub fn dst(self) -> u16 {
        self.0 as u16
    }
    /// The slot of the batch, from 0 to 63.
    pub fn slot(self) -> u8 {
        (self.0 >> 32) as u8
    }
    /// The path. A packet that is unplaced has none and must not be sent; the pipeline asks for it
    /// again by itself as long as its port has not ended.
    pub fn choice(self) -> Choice {
        match self.0 >> 48 {
            LOCAL => Choice::Local,
            UNPLACED => Choice::Unplaced,
            path => Choice::Over(path as u16),
        }
    }
}

/// The permits of a batch for the endpoints of one port, by slot.
#[derive(Clone, Copy, Debug)]
pub struct Permits<'a> {
    words: &'a [u64],
}

impl<'a> Permits<'a> {
    /// One after another, in the order of slots.
    pub fn iter(self) -> impl Iterator<Item = Permit> + 'a {
        self.words.iter().map(|&word| Permit(word))
    }
    /// The words of the permits ([`Permit::to_word`]).
    pub fn words(self) -> &'a [u64] {
        self.words
    }
}

/// What a port says when it is asked for demand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Intake {
    /// The round is not due yet: what was put out stays, and the port is asked again.
    Wait,
    /// That is all for this round.
    Ready,
    /// There is nothing for this round, nor for any later one. What was put out is left undone.
    End,
}

/// Why a demand is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// A number that no endpoint has.
    #[error("endpoint {0} does not exist")]
    Unknown(u16),
    /// A demand for the endpoint itself.
    #[error("endpoint {0} wants slots to itself; traffic within an endpoint needs none")]
    Itself(u16),
    /// The source belongs to another port.
    #[error("endpoint {src} belongs to port {port}")]
    Elsewhere {
        /// The source.
        src: u16,
        /// Its port.
        port: u16,
    },
}

/// Speaks with endpoints: hands their demand in, takes their permits.
///
/// If a port never says [`Intake::Wait`], the order of calls is fixed: round `r` is asked for when all
/// batches of round `r - depth` have been delivered, and no others. So even what answers to permits gives
/// the same on any number of threads.
pub trait Port: Send {
    /// Appends what endpoints ask for in this round.
    fn demand(&mut self, round: u64, out: &mut Vec<Demand>) -> Intake;
    /// What endpoints may send in a batch. Batches come in order, none is left out.
    fn granted(&mut self, batch: u64, permits: Permits<'_>);
    /// A demand was not taken.
    fn refused(&mut self, demand: Demand, why: Refusal);
}

/// What a pipeline is for, and its parts.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Who is served first.
    pub policy: Policy,
    /// Of each endpoint: its rack.
    pub racks: Vec<u16>,
    /// Of each endpoint: the port that speaks for it.
    pub port_of: Vec<u16>,
    /// The paths between racks. Failures are to be in it.
    pub paths: PathSelector,
    /// Partitions of the allocation: a part of the result, as it decides who is served when.
    pub ways: usize,
    /// Path selections.
    pub selections: usize,
    /// Rounds that may be under way at once.
    pub depth: u64,
    /// Threads, at most one for each stage. The first port, way and selection are neighbours, then
    /// come the second ones, and each thread runs as many neighbours as any other.
    pub threads: usize,
}

/// Why a pipeline cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PipelineError {
    /// Nothing of something that there has to be one of.
    #[error(
        "a pipeline has at least one of each: ports, ways, selections, threads, rounds of depth"
    )]
    Nothing,
    /// Racks and ports are of different numbers of endpoints.
    #[error("racks of {racks} endpoints, ports of {ports}")]
    Endpoints {
        /// Length of `racks`.
        racks: usize,
        /// Length of `port_of`.
        ports: usize,
    },
    /// A port that is not there.
    #[error("an endpoint belongs to port {port}; there are {ports}, counted from 0")]
    Port {
        /// Its number.
        port: u16,
        /// How many there are.
        ports: usize,
    },
    /// The allocator's reason.
    #[error(transparent)]
    Demand(#[from] DemandError),
    /// The path selector's reason.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// What a pipeline has done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Slots that were asked for and not granted when the ports ended.
    pub waiting: u64,
    /// Of each thread: its CPU time, but for that in which it had nothing to do.
    pub busy: Vec<Duration>,
}

/// Runs a pipeline until all ports have ended.
///
/// # Errors
/// A setup that makes no sense; nothing has run then.
pub fn run<P: Port>(setup: &Setup, ports: &mut [P]) -> Result<Report, PipelineError> {
    let batch = setup.racks.len() * 64 / ports.len().max(1);
    run_with(setup, ports, batch.next_power_of_two().clamp(1 << 10, 1 << 16))
}

fn run_with<P: Port>(
    setup: &Setup,
    ports: &mut [P],
    capacity: usize,
) -> Result<Report, PipelineError> {
    check(setup, ports.len())?;
    let mut groups = groups(stages(setup, ports, capacity)?, setup.threads);
    let worked: Vec<Worked> = std::thread::scope(|scope| {
        let here = groups.pop().unwrap_or_default();
        let others: Vec<_> = groups.into_iter().map(|group| scope.spawn(|| work(group))).collect();
        let last = work(here);
        let join = |thread: std::thread::ScopedJoinHandle<'_, Worked>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        others.into_iter().map(join).chain([last]).collect()
    });
    let busy = worked.iter().map(|thread| thread.busy).collect();
    Ok(Report { waiting: worked.iter().map(|thread| thread.waiting).sum(), busy })
}

fn check(setup: &Setup, ports: usize) -> Result<(), PipelineError> {
    let Setup { racks, port_of, ways, selections, threads, .. } = setup;
    if [ports, *ways, *selections, *threads, setup.depth as usize].contains(&0) {
        return Err(PipelineError::Nothing);
    }
    if racks.len() != port_of.len() {
        return Err(PipelineError::Endpoints { racks: racks.len(), ports: port_of.len() });
    }
    if let Some(&port) = port_of.iter().find(|&&port| usize::from(port) >= ports) {
        return Err(PipelineError::Port { port, ports });
    }
    let last = racks.iter().copied().max().unwrap_or(0);
    setup.paths.clone().select(&[(last, last)], &mut Vec::new())?;
    Ok(())
}

/// Channels from each of some stages to each of others: by sender, and by receiver.
fn mesh(senders: usize, receivers: usize, words: usize) -> (Vec<Vec<Outlet>>, Vec<Vec<Inlet>>) {
    let mut inlets: Vec<Vec<Inlet>> = (0..receivers).map(|_| Vec::new()).collect();
    let mut outlets = |_| {
        let ends = inlets.iter_mut().map(|inlets| {
            let (outlet, inlet) = channel(words);
            inlets.push(inlet);
            outlet
        });
        ends.collect()
    };
    ((0..senders).map(&mut outlets).collect(), inlets)
}

/// From each way to the one before it: what a way receives from and sends to.
fn circle(ways: usize, words: usize) -> Vec<Option<(Inlet, Outlet)>> {
    if ways == 1 {
        return vec![None];
    }
    let (mut outlets, inlets): (Vec<_>, Vec<_>) = (0..ways).map(|_| channel(words)).unzip();
    // Channel `i` ends at way `i`, and begins at the next one.
    outlets.rotate_right(1);
    inlets.into_iter().zip(outlets).map(Some).collect()
}

/// All stages: of each kind the first, then of each kind the second, and so on.
fn stages<'a, P: Port>(
    setup: &'a Setup,
    ports: &'a mut [P],
    words: usize,
) -> Result<Vec<Box<dyn Stage + 'a>>, PipelineError> {
    let Setup { ways, selections, .. } = *setup;
    let way = Partition::new(setup.racks.len(), setup.policy)?;
    let (demand_out, demand_in) = mesh(ports.len(), ways, words);
    let (grants_out, grants_in) = mesh(ways, selections, words);
    let (permits_out, permits_in) = mesh(selections, ports.len(), words);
    let mut stages: Vec<(usize, Box<dyn Stage + 'a>)> = Vec::new();
    let ends = demand_out.into_iter().zip(permits_in);
    for ((i, port), (demands, permits)) in ports.iter_mut().enumerate().zip(ends) {
        let port =
            Communication::new(port, (i as u16, &setup.port_of), setup.depth, demands, permits);
        stages.push((i, Box::new(port)));
    }
    let ends = demand_in.into_iter().zip(circle(ways, words)).zip(grants_out);
    for (i, ((demands, circle), out)) in ends.enumerate() {
        let way = Allocation::new((i, ways), way.clone(), demands, circle, out);
        stages.push((i, Box::new(way)));
    }
    for (i, (grants, permits)) in grants_in.into_iter().zip(permits_out).enumerate() {
        let tables = (&setup.racks[..], &setup.port_of[..]);
        let batches = (i, selections);
        let selection = Selection::new(batches, setup.paths.clone(), tables, grants, permits);
        stages.push((i, Box::new(selection)));
    }
    stages.sort_by_key(|&(lane, _)| lane);
    Ok(stages.into_iter().map(|(_, stage)| stage).collect())
}

/// Neighbours together, in groups of about equal numbers.
fn groups<T>(items: Vec<T>, groups: usize) -> Vec<Vec<T>> {
    let count = items.len();
    let groups = groups.min(count);
    let mut out: Vec<Vec<T>> = (0..groups).map(|_| Vec::new()).collect();
    items.into_iter().enumerate().for_each(|(i, item)| out[i * groups / count].push(item));
    out
}

#[cfg(test)]
mod tests;
