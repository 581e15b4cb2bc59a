//! Communication: what a port's endpoints ask for goes to the allocation stages, what they may send
//! comes back from path selection.

use super::message::{Inlet, Outlet};
use super::stage::{Stage, Step};
use super::{Demand, Intake, Permits, Port, Refusal};
use slotline_fastpass::{Choice, partition_of};

/// One port and its place in the pipeline.
pub(super) struct Communication<'a, P> {
    port: &'a mut P,
    index: u16,
    /// Of each endpoint.
    port_of: &'a [u16],
    /// Rounds that may be under way.
    depth: u64,
    /// To each way; none once the port has ended.
    demands: Vec<Outlet>,
    /// From each path selection.
    permits: Vec<Inlet>,
    /// Batches of a round.
    ways: u64,
    ended: bool,
    /// The next round that is asked for, and the next batch that is delivered.
    round: u64,
    batch: u64,
    asked: Vec<Demand>,
    /// Packets without a path, to be asked for once more.
    again: Vec<Demand>,
}

impl<P: Port> Stage for Communication<'_, P> {
    fn step(&mut self) -> Step {
        let pulled = self.permits.iter_mut().fold(false, |any, inlet| inlet.pull() | any);
        let flushed = self.demands.iter_mut().fold(false, |any, outlet| outlet.flush() | any);
        if self.ended && self.demands.iter().all(Outlet::is_empty) {
            // Dropped, they tell the ways.
            self.demands.clear();
        }
        let due = !self.ended && self.round < self.depth + self.batch / self.ways;
        if due && self.ask() || self.deliver() {
            return Step::Moved;
        }
        let over = self.ended && self.demands.is_empty() && self.source().is_over();
        if over { Step::Done } else { Step::moved(pulled | flushed) }
    }
}

impl<'a, P: Port> Communication<'a, P> {
    pub(super) fn new(
        port: &'a mut P,
        (index, port_of): (u16, &'a [u16]),
        depth: u64,
        demands: Vec<Outlet>,
        permits: Vec<Inlet>,
    ) -> Communication<'a, P> {
        let ways = demands.len() as u64;
        let (asked, again) = (Vec::new(), Vec::new());
        let (ended, round, batch) = (false, 0, 0);
        Communication {
            port,
            index,
            port_of,
            depth,
            demands,
            permits,
            ways,
            ended,
            round,
            batch,
            asked,
            again,
        }
    }
    /// Where the next batch comes from.
    fn source(&mut self) -> &mut Inlet {
        let sources = self.permits.len() as u64;
        &mut self.permits[(self.batch % sources) as usize]
    }
    /// Asks the port for a round. Returns whether it had one, or has ended.
    fn ask(&mut self) -> bool {
        let mut asked = std::mem::take(&mut self.asked);
        asked.append(&mut self.again);
        let intake = self.port.demand(self.round, &mut asked);
        match intake {
            Intake::Wait => self.again.append(&mut asked),
            Intake::Ready => self.send(&mut asked),
            Intake::End => self.ended = true,
        }
        asked.clear();
        self.asked = asked;
        intake != Intake::Wait
    }
    fn send(&mut self, asked: &mut Vec<Demand>) {
        let ways = self.demands.len();
        self.demands.iter_mut().for_each(|outlet| {
            outlet.begin();
        });
        for demand in asked.drain(..) {
            match self.check(demand) {
                Ok(()) => {
                    let way = partition_of(demand.src, demand.dst, ways);
                    self.demands[way].message().push(super::to_word(demand));
                }
                Err(refusal) => self.port.refused(demand, refusal),
            }
        }
        self.demands.iter_mut().for_each(Outlet::end);
        self.round += 1;
    }
    fn check(&self, demand: Demand) -> Result<(), Refusal> {
        let port_of = |endpoint: u16| self.port_of.get(usize::from(endpoint));
        let port = *port_of(demand.src).ok_or(Refusal::Unknown(demand.src))?;
        port_of(demand.dst).ok_or(Refusal::Unknown(demand.dst))?;
        match demand {
            Demand { src, dst, .. } if src == dst => Err(Refusal::Itself(src)),
            Demand { src, .. } if port != self.index => Err(Refusal::Elsewhere { src, port }),
            _ => Ok(()),
        }
    }
    /// Gives the next batch to the port, if it has arrived.
    fn deliver(&mut self) -> bool {
        let sources = self.permits.len() as u64;
        let source = &mut self.permits[(self.batch % sources) as usize];
        let Some(words) = source.receive() else { return false };
        let permits = Permits { words };
        let unplaced = permits.iter().filter(|permit| permit.choice() == Choice::Unplaced);
        self.again.extend(unplaced.map(|p| Demand { src: p.src(), dst: p.dst(), slots: 1 }));
        self.port.granted(self.batch, permits);
        self.batch += 1;
        true
    }
}
