//! The communication stage: sends the demand of a port to the allocation stages, and delivers the permits
//! from path selection.

use super::message::{Receiver, Sender, demand_to_word};
use super::stage::{Stage, Step};
use super::{Demand, Intake, Permits, Port, Refusal};
use slotline_fastpass::{Choice, partition_of};

/// One port in the pipeline.
pub(super) struct Communication<'a, P> {
    port: &'a mut P,
    index: u16,
    /// The port of each endpoint.
    port_of: &'a [u16],
    /// The highest number of rounds in progress.
    depth: u64,
    /// To each partition; empty after the port has ended.
    demands: Vec<Sender>,
    /// From each path selection.
    permits: Vec<Receiver>,
    /// The number of batches of a round.
    partitions: u64,
    ended: bool,
    /// The next round to request, and the next batch to deliver.
    round: u64,
    batch: u64,
    /// The buffer for the demand of a round.
    demand: Vec<Demand>,
    /// Demand for packets without a path, for the next round.
    retry: Vec<Demand>,
}

impl<P: Port> Stage for Communication<'_, P> {
    fn step(&mut self) -> Step {
        let polled = self.permits.iter_mut().fold(false, |any, receiver| receiver.poll() | any);
        let flushed = self.demands.iter_mut().fold(false, |any, sender| sender.flush() | any);
        if self.ended && self.demands.iter().all(Sender::is_empty) {
            // Dropping the senders ends the partitions.
            self.demands.clear();
        }
        let due = !self.ended && self.round < self.depth + self.batch / self.partitions;
        if due && self.request() || self.deliver() {
            return Step::Progress;
        }
        let closed = self.ended && self.demands.is_empty() && self.source().is_closed();
        if closed { Step::Done } else { Step::progress(polled | flushed) }
    }
}

impl<'a, P: Port> Communication<'a, P> {
    pub(super) fn new(
        port: &'a mut P,
        index: u16,
        port_of: &'a [u16],
        depth: u64,
        demands: Vec<Sender>,
        permits: Vec<Receiver>,
    ) -> Communication<'a, P> {
        let partitions = demands.len() as u64;
        let (demand, retry) = (Vec::new(), Vec::new());
        let (ended, round, batch) = (false, 0, 0);
        Communication {
            port,
            index,
            port_of,
            depth,
            demands,
            permits,
            partitions,
            ended,
            round,
            batch,
            demand,
            retry,
        }
    }
    /// The receiver of the next batch.
    fn source(&mut self) -> &mut Receiver {
        let sources = self.permits.len() as u64;
        &mut self.permits[(self.batch % sources) as usize]
    }
    /// Requests the demand of a round from the port. Returns whether the demand is complete or the port has
    /// ended.
    fn request(&mut self) -> bool {
        let mut demand = std::mem::take(&mut self.demand);
        demand.append(&mut self.retry);
        let intake = self.port.demand(self.round, &mut demand);
        match intake {
            Intake::Wait => self.retry.append(&mut demand),
            Intake::Ready => self.send(&mut demand),
            Intake::End => self.ended = true,
        }
        demand.clear();
        self.demand = demand;
        intake != Intake::Wait
    }
    fn send(&mut self, round: &mut Vec<Demand>) {
        let partitions = self.demands.len();
        self.demands.iter_mut().for_each(|sender| {
            sender.begin();
        });
        for demand in round.drain(..) {
            match self.check(demand) {
                Ok(()) => {
                    let partition = partition_of(demand.src, demand.dst, partitions);
                    self.demands[partition].message().push(demand_to_word(demand));
                }
                Err(refusal) => self.port.refused(demand, refusal),
            }
        }
        self.demands.iter_mut().for_each(Sender::end);
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
    /// Delivers the next batch to the port, if it has arrived.
    fn deliver(&mut self) -> bool {
        let sources = self.permits.len() as u64;
        let source = &mut self.permits[(self.batch % sources) as usize];
        let Some(words) = source.receive() else { return false };
        let permits = Permits { words };
        let unplaced = permits.iter().filter(|permit| permit.choice() == Choice::Unplaced);
        self.retry.extend(unplaced.map(|p| Demand { src: p.src(), dst: p.dst(), slots: 1 }));
        self.port.granted(self.batch, permits);
        self.batch += 1;
        true
    }
}
