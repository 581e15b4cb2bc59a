//! Running a pipeline: stages, the channels between them, and threads.

use crate::allocation::Allocation;
use crate::communication::Communication;
use crate::message::{Receiver, Sender, channel};
use crate::port::Port;
use crate::selection::Selection;
use crate::setup::{PipelineError, Setup, check};
use crate::stage::{Stage, Work, work};
use slotline_fastpass::Partition;
use std::time::Duration;

/// The result of a pipeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Slots that were requested and not granted before the ports ended.
    pub waiting: u64,
    /// The CPU time of each thread, without the time in which no stage could proceed.
    pub busy: Vec<Duration>,
}

/// Runs a pipeline until all ports have ended.
///
/// # Errors
/// [`PipelineError`] if the setup is not valid. The ports are not called then.
pub fn run<P: Port>(setup: &Setup, ports: &mut [P]) -> Result<Report, PipelineError> {
    let batch = setup.racks.len() * 64 / ports.len().max(1);
    run_with(setup, ports, batch.next_power_of_two().clamp(1 << 10, 1 << 16))
}

pub(crate) fn run_with<P: Port>(
    setup: &Setup,
    ports: &mut [P],
    capacity: usize,
) -> Result<Report, PipelineError> {
    check(setup, ports.len())?;
    let mut groups = groups(stages(setup, ports, capacity)?, setup.threads);
    let worked: Vec<Work> = std::thread::scope(|scope| {
        let here = groups.pop().unwrap_or_default();
        let others: Vec<_> = groups.into_iter().map(|group| scope.spawn(|| work(group))).collect();
        let last = work(here);
        let join = |thread: std::thread::ScopedJoinHandle<'_, Work>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        others.into_iter().map(join).chain([last]).collect()
    });
    let busy = worked.iter().map(|thread| thread.busy).collect();
    Ok(Report { waiting: worked.iter().map(|thread| thread.waiting).sum(), busy })
}

/// A channel from each of `from` stages to each of `to` stages: the senders by stage, and the receivers
/// by stage. `capacity` is in words.
fn mesh(from: usize, to: usize, capacity: usize) -> (Vec<Vec<Sender>>, Vec<Vec<Receiver>>) {
    let mut receivers: Vec<Vec<Receiver>> = (0..to).map(|_| Vec::new()).collect();
    let mut senders = |_| {
        let connect = |receivers: &mut Vec<Receiver>| {
            let (sender, receiver) = channel(capacity);
            receivers.push(receiver);
            sender
        };
        receivers.iter_mut().map(connect).collect()
    };
    ((0..from).map(&mut senders).collect(), receivers)
}

/// The channels of a ring of partitions, in which each sends to the one before it.
fn ring(partitions: usize, capacity: usize) -> Vec<Option<(Receiver, Sender)>> {
    if partitions == 1 {
        return vec![None];
    }
    let (mut senders, receivers): (Vec<_>, Vec<_>) =
        (0..partitions).map(|_| channel(capacity)).unzip();
    // Partition `i` receives from channel `i`, and partition `i + 1` sends to it.
    senders.rotate_right(1);
    receivers.into_iter().zip(senders).map(Some).collect()
}

/// All stages, sorted by number: the first of each kind, then the second of each kind, and so on.
fn stages<'a, P: Port>(
    setup: &'a Setup,
    ports: &'a mut [P],
    capacity: usize,
) -> Result<Vec<Box<dyn Stage + 'a>>, PipelineError> {
    let Setup { partitions, selections, .. } = *setup;
    let partition = Partition::new(setup.racks.len(), setup.policy)?;
    let (demand_out, demand_in) = mesh(ports.len(), partitions, capacity);
    let (grants_out, grants_in) = mesh(partitions, selections, capacity);
    let (permits_out, permits_in) = mesh(selections, ports.len(), capacity);
    let mut stages: Vec<(usize, Box<dyn Stage + 'a>)> = Vec::new();
    let ends = demand_out.into_iter().zip(permits_in);
    for ((i, port), (demands, permits)) in ports.iter_mut().enumerate().zip(ends) {
        let (index, port_of) = (i as u16, &setup.port_of);
        let port = Communication::new(port, index, port_of, setup.depth, demands, permits);
        stages.push((i, Box::new(port)));
    }
    let ends = demand_in.into_iter().zip(ring(partitions, capacity)).zip(grants_out);
    for (i, ((demands, neighbours), out)) in ends.enumerate() {
        let partition = partition.clone();
        let stage = Allocation::new(i, partitions, partition, demands, neighbours, out);
        stages.push((i, Box::new(stage)));
    }
    for (i, (grants, permits)) in grants_in.into_iter().zip(permits_out).enumerate() {
        let (paths, racks, port_of) = (setup.paths.clone(), &setup.racks, &setup.port_of);
        let selection = Selection::new(i, selections, paths, racks, port_of, grants, permits);
        stages.push((i, Box::new(selection)));
    }
    stages.sort_by_key(|&(number, _)| number);
    Ok(stages.into_iter().map(|(_, stage)| stage).collect())
}

/// Divides consecutive items into groups of about equal size.
fn groups<T>(items: Vec<T>, groups: usize) -> Vec<Vec<T>> {
    let count = items.len();
    let groups = groups.min(count);
    let mut out: Vec<Vec<T>> = (0..groups).map(|_| Vec::new()).collect();
    items.into_iter().enumerate().for_each(|(i, item)| out[i * groups / count].push(item));
    out
}
