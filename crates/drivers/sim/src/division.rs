//! How the work of a run divides among threads.

use crate::engine::{self, Options, Outcome};
use crate::network::Network;
use crate::parallel::{Until, Watch, deliver, next_window};
use crate::shard::Shard;
use slotline_net::time::Time;
use slotline_net::topology::{Graph, NodeInfo, NodeKind};
use std::sync::atomic::Ordering;

/// The work of a host, in that of a switch port: 2.2 to 4.6 in fat-trees with 8 threads, depending on queues, scheme and
/// traffic.
const HOST_WORK: u64 = 3;

/// The least work of a thread, in that of a switch port.
const LEAST_WORK: u64 = 128;

/// The number of threads beyond which a run is hardly faster, or slower, because threads wait longer for each other than
/// they work: 8 for a fat-tree with k = 8, 64 with k = 16, and one for a star of up to 63 hosts.
pub fn useful_threads(graph: &Graph) -> usize {
    usize::try_from(works(graph).sum::<u64>() / LEAST_WORK).unwrap_or(usize::MAX).max(1)
}

/// Cuts the nodes into contiguous ranges of about equal work.
pub(crate) fn partition(graph: &Graph, parts: usize) -> Vec<usize> {
    let work: Vec<u64> = works(graph).collect();
    let total: u64 = work.iter().sum();
    let parts = parts.clamp(1, work.len().max(1)) as u64;
    let mut cuts = vec![0];
    let mut done = 0;
    for (at, work) in work.iter().enumerate() {
        // A node belongs to the range in which its middle lies.
        let middle = 2 * done + work;
        if middle * parts >= 2 * total * cuts.len() as u64 && (cuts.len() as u64) < parts {
            cuts.push(at);
        }
        done += work;
    }
    cuts.push(work.len());
    cuts.dedup();
    cuts
}

/// An estimate of the work of each node.
fn works(graph: &Graph) -> impl Iterator<Item = u64> {
    let of = |(node, ports): (&NodeInfo, u16)| {
        u64::from(ports) * if node.kind == NodeKind::Host { HOST_WORK } else { 1 }
    };
    graph.nodes.iter().zip(graph.ports()).map(of)
}

/// The work of each thread of a run in each window. Threads wait for each other after a window, so that a run cannot be
/// faster than the busiest thread of each window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Division {
    /// The number of threads.
    pub threads: usize,
    /// Events that one thread creates for another.
    pub crossing: u64,
    /// The work of all threads in the first window with events, then in the next, in units of the clock.
    work: Vec<u32>,
}

impl Division {
    /// The number of windows with events.
    pub fn windows(&self) -> usize {
        self.work.len() / self.threads
    }

    /// Keeps the lesser work of two runs of the same network, by thread and window.
    ///
    /// # Panics
    /// If the runs have different threads or windows.
    pub fn keep_lesser(&mut self, other: &Division) {
        assert_eq!((self.threads, self.work.len()), (other.threads, other.work.len()));
        self.work.iter_mut().zip(&other.work).for_each(|(work, other)| *work = (*work).min(*other));
    }

    /// The work of all threads.
    pub fn total(&self) -> u64 {
        sum(&self.work)
    }

    /// The work of the thread that has most to do in a window, added up over all windows.
    pub fn busiest_by_window(&self) -> u64 {
        sum(self.work.chunks(self.threads).flat_map(|window| window.iter().max()))
    }

    /// The work of the thread that has most to do in the whole run.
    pub fn busiest(&self) -> u64 {
        let of = |thread| sum(self.work.iter().skip(thread).step_by(self.threads));
        (0..self.threads).map(of).max().unwrap_or(0)
    }
}

fn sum<'a>(work: impl IntoIterator<Item = &'a u32>) -> u64 {
    work.into_iter().map(|&work| u64::from(work)).sum()
}

/// Runs `network` to its end as [`crate::run`] does, but lets the threads' parts take turns on this thread. `clock` measures
/// their work, in any unit.
pub fn divided(
    network: Network,
    options: Options,
    watch: &Watch,
    clock: &mut dyn FnMut() -> u64,
) -> (Outcome, Division) {
    let (mut shards, windows) = engine::shards(network, options);
    let threads = shards.len();
    shards.iter_mut().for_each(|shard| shard.begin(true));
    let until = Until { end: options.end.as_ps(), completions: options.completions };
    let mut division = Division { threads, crossing: 0, work: Vec::new() };
    loop {
        let accepted: Vec<u64> = (0..threads)
            .map(|to| timed(clock, || division.crossing += accept(&mut shards, to)))
            .collect();
        let Some(window) = next_window(&shards, windows, until, watch) else { break };
        for (shard, accepted) in shards.iter_mut().zip(accepted) {
            let work = accepted + timed(clock, || shard.process(window, windows));
            division.work.push(u32::try_from(work).unwrap_or(u32::MAX));
        }
    }
    let reached = Time::ps(watch.reached.load(Ordering::Relaxed));
    (engine::gather(shards, reached, threads), division)
}

fn timed(clock: &mut dyn FnMut() -> u64, act: impl FnOnce()) -> u64 {
    let start = clock();
    act();
    clock() - start
}

/// Gives one shard what the others have sent to it. Returns the number of events.
fn accept(shards: &mut [Shard], to: usize) -> u64 {
    let mut events = 0;
    for from in 0..shards.len() {
        if !shards[from].links.outbox[to].entries.is_empty() {
            events += deliver(shards, from, to) as u64;
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::topology::{FatTreeSpec, TopologySpec};

    #[test]
    fn no_range_has_much_more_than_its_share() {
        for k in [8, 16] {
            let graph = TopologySpec::FatTree(FatTreeSpec::new(k)).build().unwrap();
            let work: Vec<u64> = works(&graph).collect();
            let (largest, total) = (u64::from(k).max(HOST_WORK), work.iter().sum::<u64>());
            for parts in 1..=64 {
                let cuts = partition(&graph, parts);
                assert_eq!((cuts[0], cuts.len(), cuts[parts]), (0, parts + 1, graph.nodes.len()));
                let heaviest = cuts.windows(2).map(|cut| work[cut[0]..cut[1]].iter().sum()).max();
                let share = total / parts as u64;
                assert!(heaviest <= Some(share + largest + 1), "{parts} of k = {k}: {heaviest:?}");
            }
        }
    }

    #[test]
    fn the_busiest_of_each_window_and_of_the_run() {
        let of = |work: [u32; 6]| Division { threads: 2, crossing: 0, work: work.into() };
        let mut division = of([5, 1, 2, 4, 3, 3]);
        let found = |d: &Division| (d.windows(), d.total(), d.busiest_by_window(), d.busiest());
        assert_eq!(found(&division), (3, 18, 12, 10));
        division.keep_lesser(&of([6, 0, 1, 9, 3, 1]));
        assert_eq!(division, of([5, 0, 1, 4, 3, 1]));
    }

    #[test]
    fn small_networks_have_one_thread() {
        let useful = |k| {
            let graph = TopologySpec::FatTree(FatTreeSpec::new(k)).build().unwrap();
            useful_threads(&graph)
        };
        assert_eq!([2, 4, 6, 8, 16].map(useful), [1, 1, 3, 8, 64]);
    }

    #[test]
    fn there_are_no_more_ranges_than_nodes() {
        let graph = TopologySpec::FatTree(FatTreeSpec::new(2)).build().unwrap();
        assert_eq!(partition(&graph, 100).len(), graph.nodes.len() + 1);
    }
}
