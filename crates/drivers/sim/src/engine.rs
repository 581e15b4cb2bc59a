//! Runs a network and collects the outcome.

use crate::calendar::{Entry, Windows};
use crate::division::partition;
use crate::journal::{Journal, Recorder};
use crate::line::{ColdState, Discipline, Line, PORT_MASK};
use crate::links::Shared;
use crate::network::{Layout, Network, Place, Queue};
#[cfg(doc)]
use crate::notes::FIRST_NOTES;
use crate::notes::in_order;
use crate::parallel::{self, Until, Watch};
use crate::sample::Sampler;
use crate::shard::{Part, Shard};
use crate::sojourn::SojournQueue;
use slotline_net::aqm::Discipline as _;
use slotline_net::aqm::spec::SharedSpec;
use slotline_net::id::NodeId;
use slotline_net::node::buffer::Buffer;
use slotline_net::node::host::{FlowResult, Host};
use slotline_net::node::{DropReason, Node, Note, PacketAccount};
use slotline_net::rng::mix64;
use slotline_net::samples::Samples;
use slotline_net::time::Time;
use slotline_net::topology::{Graph, LinkParams};
use slotline_net::units::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The smallest packet any node sends, in bytes on the wire.
const MIN_PACKET: u64 = 40;

/// How a simulation runs, and until when.
#[derive(Clone, Copy)]
pub struct Options {
    /// The most threads that a run may have, at least one. The result does not depend on it.
    pub threads: usize,
    /// No event at or after this time happens.
    pub end: Time,
    /// The run ends in the window in which this many flows are complete.
    pub completions: u64,
}

/// The counters of one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortCounters {
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent, framing included.
    pub bytes: u64,
    /// FIFO: packets refused for lack of room.
    pub full: u64,
    /// FIFO: packets dropped early by RED.
    pub early: u64,
    /// FIFO: packets refused because the link was down.
    pub down: u64,
    /// FIFO: packets marked.
    pub marks: u64,
    /// FIFO: longest backlog in bytes, the packet being sent included.
    pub peak: u64,
}

/// The account of all packets: `created = consumed + dropped + in_flight` in every run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Conservation {
    /// Packets that nodes created.
    pub created: u64,
    /// Packets that reached their end.
    pub consumed: u64,
    /// Packets dropped, by reason.
    pub dropped: [u64; DropReason::ALL.len()],
    /// Packets on links, in queues and inside nodes at the end.
    pub in_flight: u64,
}

impl Conservation {
    /// Whether every packet is accounted for.
    pub fn holds(&self) -> bool {
        self.created == self.consumed + self.dropped.iter().sum::<u64>() + self.in_flight
    }
}

/// The result of a simulation.
pub struct Outcome {
    /// Nodes in their final state.
    pub places: Vec<Place>,
    /// The counters of ports, by node, then port.
    pub ports: Vec<Vec<PortCounters>>,
    /// The samples. Numbers of ports are indices into [`Network::sampled`].
    pub samples: Samples,
    /// Single packets that were recorded.
    pub journal: Journal,
    /// Notes of nodes, in order of time, then of host; empty unless notes are kept. After the first [`FIRST_NOTES`], permissions
    /// are only kept between hosts that have a followed connection.
    pub notes: Vec<(Time, Note)>,
    /// Events handled.
    pub events: u64,
    /// Packets that arrived over a link.
    pub packet_hops: u64,
    /// The number of complete flows.
    pub completed: u64,
    /// The count of all packets.
    pub conservation: Conservation,
    /// The simulated time at the end.
    pub reached: Time,
    /// A hash of the result: equal digests mean equal results.
    pub digest: u64,
    /// The largest number of threads at a time. Windows with few events are run by one.
    pub threads: usize,
}

/// The shard of a run on one thread, and the division of its time into windows of at most `longest`.
pub(crate) fn single(network: Network, end: Time, longest: Time) -> (Shard, Windows) {
    let layout = Layout::new(&network.graph);
    let windows = Windows::new(lookahead(&network.graph).min(longest.as_ps()));
    let whole = [0, network.graph.nodes.len()];
    let mut shards = build(network, layout, &whole, windows, end);
    (shards.remove(0), windows)
}

/// Runs `network` to its end.
pub fn run(network: Network, options: Options, watch: &Watch) -> Outcome {
    let (mut shards, windows) = shards(network, options);
    shards.iter_mut().for_each(|shard| shard.begin(true));
    let until = Until { end: options.end.as_ps(), completions: options.completions };
    let threads = parallel::run(&mut shards, windows, until, watch);
    let reached = Time::ps(watch.reached.load(std::sync::atomic::Ordering::Relaxed));
    gather(shards, reached, threads)
}

/// The shards of a run on several threads, and the division of its time.
pub(crate) fn shards(network: Network, options: Options) -> (Vec<Shard>, Windows) {
    let layout = Layout::new(&network.graph);
    let windows = Windows::new(lookahead(&network.graph));
    let cuts = partition(&network.graph, options.threads);
    (build(network, layout, &cuts, windows, options.end), windows)
}

/// Windows are not longer than this, so that a time within one fits into an event's key, a number without sign.
pub(crate) const LONGEST_WINDOW: u64 = 1 << 38;

/// The shortest time in which one node can affect another.
fn lookahead(graph: &Graph) -> u64 {
    let least = |lane: &LinkParams| (lane.delay + lane.rate.time_for(Bytes(MIN_PACKET))).as_ps();
    graph
        .links
        .iter()
        .flat_map(|l| [least(&l.ab), least(&l.ba)])
        .min()
        .unwrap_or(1_000_000)
        .min(LONGEST_WINDOW)
}

fn build(
    network: Network,
    layout: Layout,
    cuts: &[usize],
    windows: Windows,
    end: Time,
) -> Vec<Shard> {
    let (mut lines, mut cold) = connect(&network.graph, &network.queues, &layout);
    let mut places = network.places;
    let shared = Arc::new(Shared {
        cuts: cuts.iter().map(|&node| layout.first[node]).collect(),
        sampler: Sampler::new(network.interval, &network.sampled, cuts),
        changes: !network.timeline.is_empty(),
        timeline: network.timeline,
        end: end.as_ps(),
        layout,
    });
    let mut shards = Vec::new();
    for (index, nodes) in cuts.windows(2).map(|w| w[0]..w[1]).enumerate().rev() {
        let first_port = shared.cuts[index] as usize;
        let part = Part {
            places: places.split_off(nodes.start),
            lines: lines.split_off(first_port),
            cold: cold.split_off(first_port),
            buffers: shared_buffers(&network.buffers, &nodes),
            routes: Arc::clone(&network.routes),
            nodes,
        };
        let mut shard = Shard::new(Arc::clone(&shared), index, part, windows);
        shard.links.notices.senders = network.senders.clone();
        let recorded = network.follow.any();
        shard.links.recorder = recorded.then(|| {
            let own = shared.cuts[index]..shared.cuts[index + 1];
            let shards = shared.cuts.len() as u64 - 1;
            Box::new(Recorder::new(&network.follow, &shared.layout, own, shards))
        });
        shard.effects.keep_notes(if recorded { Time::MAX } else { network.follow.notes_until });
        shards.push(shard);
    }
    shards.reverse();
    shards
}

/// The buffers of plain switches, by node; none if no switch has one.
fn shared_buffers(
    specs: &BTreeMap<NodeId, SharedSpec>,
    nodes: &Range<usize>,
) -> Vec<Option<Buffer>> {
    let nodes = if specs.is_empty() { 0..0 } else { nodes.clone() };
    nodes.map(|node| specs.get(&NodeId(node as u32)).copied().map(Buffer::new)).collect()
}

/// The sending ends of all links, by port index; a node's own slot gets an unused one.
fn connect(graph: &Graph, queues: &[Vec<Queue>], layout: &Layout) -> (Vec<Line>, Vec<ColdState>) {
    let unused = Line::new(slotline_net::units::Rate(1), Time::ZERO, 0, Discipline::Down);
    let mut lines = vec![unused; layout.node.len()];
    let mut cold = vec![ColdState::default(); lines.len()];
    for link in &graph.links {
        for (from, to, lane) in [(link.a, link.b, link.ab), (link.b, link.a, link.ba)] {
            let at = layout.port(from.node, from.port) as usize;
            let queue = &queues[from.node.at()][from.port.at()];
            let discipline = match queue {
                Queue { pulled: true, .. } => Discipline::Pulled,
                Queue { marker: Some(marker), .. } if marker.decides_on_departure() => {
                    Discipline::Sojourn
                }
                Queue { marker: Some(_), .. } => Discipline::Managed,
                _ => Discipline::Fifo,
            };
            let mut line =
                Line::new(lane.rate, lane.delay, layout.port(to.node, to.port), discipline);
            line.bound(queue.limit.map(|b| b.0), queue.mark.map(|b| b.0));
            lines[at] = line;
            if discipline == Discipline::Sojourn {
                cold[at].sojourn = Some(Box::new(SojournQueue::new(at as u32, queue.largest)));
            }
            cold[at].marker.clone_from(&queue.marker);
        }
    }
    (lines, cold)
}

pub(crate) fn gather(mut shards: Vec<Shard>, reached: Time, threads: usize) -> Outcome {
    let mut outcome = Outcome {
        places: Vec::new(),
        ports: Vec::new(),
        samples: Samples::default(),
        journal: Journal::default(),
        notes: Vec::new(),
        events: 0,
        packet_hops: 0,
        completed: 0,
        conservation: Conservation::default(),
        reached,
        digest: 0,
        threads,
    };
    for shard in &mut shards {
        absorb(&mut outcome, shard);
    }
    outcome.samples.finish();
    outcome.notes = in_order(std::mem::take(&mut outcome.notes));
    outcome.digest = digest(&outcome);
    outcome
}

fn absorb(outcome: &mut Outcome, shard: &mut Shard) {
    let first_port = shard.links.shared.cuts[shard.links.index] as usize;
    shard.finish_switches(outcome.reached.as_ps());
    shard.finish_hosts(outcome.reached.as_ps());
    let layout_first = &shard.links.shared.layout.first;
    for at in 0..shard.places.len() {
        let id = shard.first_node + at;
        let ports =
            layout_first[id] as usize - first_port..layout_first[id + 1] as usize - 1 - first_port;
        let (lines, cold) = (&shard.links.lines[ports.clone()], &shard.links.cold[ports]);
        outcome.ports.push(lines.iter().zip(cold).map(counters).collect());
    }
    let mut pending = shard.links.calendar.pending();
    pending.append(&mut shard.leftover);
    let layout = &shard.links.shared.layout;
    let arriving = |e: &&Entry| {
        let to = e.to & PORT_MASK;
        to != layout.own(layout.node[to as usize] as usize)
    };
    let total = &mut outcome.conservation;
    total.in_flight += pending.iter().filter(arriving).count() as u64 + shard.links.held();
    for (sum, n) in total.dropped.iter_mut().zip(shard.links.reports.dropped) {
        *sum += n;
    }
    for place in &mut shard.places {
        if let Place::Host(host) = place {
            host.book_unfinished();
        }
    }
    for account in shard.places.iter().map(account) {
        total.created += account.created;
        total.consumed += account.consumed;
        total.in_flight += account.held;
    }
    total.created += shard.links.notices.made;
    outcome.events += shard.events;
    outcome.packet_hops += shard.hops;
    outcome.completed += shard.links.reports.completed;
    outcome.samples.absorb(std::mem::take(&mut shard.samples));
    if let Some(recorder) = shard.links.recorder.take() {
        outcome.journal.absorb(recorder.finish());
    }
    let notes = std::mem::take(&mut shard.links.reports.notes.list);
    if outcome.notes.is_empty() {
        outcome.notes = notes;
    } else {
        outcome.notes.extend(notes);
    }
    outcome.places.append(&mut shard.places);
}

fn account(place: &Place) -> PacketAccount {
    match place {
        Place::Switch => PacketAccount::default(),
        Place::Host(host) => host.account(),
        Place::Node(node) => node.account(),
    }
}

fn counters((line, cold): (&Line, &ColdState)) -> PortCounters {
    PortCounters {
        packets: line.packets(),
        bytes: line.bytes(),
        full: cold.full,
        early: cold.early,
        down: cold.lost_down,
        marks: cold.marks,
        peak: line.peak_bytes(),
    }
}

/// Hashes all results that a user can see, in a fixed order.
fn digest(outcome: &Outcome) -> u64 {
    digest_of(outcome, |host, add| host.results().for_each(|result| add(result.fingerprint())))
}

/// Gives flows other numbers in the digest.
pub(crate) fn number(outcome: &mut Outcome, number: impl Fn(u32) -> u32) {
    outcome.digest = digest_of(outcome, |host, add| {
        let mut results: Vec<FlowResult> =
            host.results().map(|result| result.numbered(&number)).collect();
        results.sort_by_key(FlowResult::order);
        results.iter().for_each(|result| add(result.fingerprint()));
    });
}

fn digest_of(outcome: &Outcome, of_host: impl Fn(&Host, &mut dyn FnMut([u64; 4]))) -> u64 {
    let mut hash = 0u64;
    let mut add = |value: u64| hash = mix64(hash.rotate_left(5) ^ value);
    for port in outcome.ports.iter().flatten() {
        let p = port;
        [p.packets, p.bytes, p.full, p.early, p.down, p.marks, p.peak]
            .into_iter()
            .for_each(&mut add);
    }
    for place in &outcome.places {
        if let Place::Host(host) = place {
            of_host(host, &mut |values| values.into_iter().for_each(&mut add));
        }
    }
    outcome.samples.fingerprint(&mut add);
    [outcome.packet_hops, outcome.completed, outcome.conservation.created]
        .into_iter()
        .for_each(&mut add);
    hash
}
