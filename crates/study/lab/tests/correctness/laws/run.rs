//! A run in which every packet on every link is recorded, and the laws that it has to obey.

use super::draw::{Case, Queue, THRESHOLD};
use crate::common::assemble;
use proptest::prelude::*;
use slotline_lab::build::Assembly;
use slotline_net::frame::{Kind, Packet, RETRANSMITTED};
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::DropReason;
use slotline_net::node::switch::Switch;
use slotline_net::time::Time;
use slotline_net::topology::{NodeKind, Wire, Wiring};
use slotline_sim::{Follow, Hop, Options, Outcome, Place, Watch, run};
use std::collections::BTreeMap;

type Law = Result<(), TestCaseError>;

/// The results of a run.
pub struct Run {
    pub outcome: Outcome,
    pub flows: u64,
    wiring: Wiring,
    /// For each node, whether it is a switch.
    switches: Vec<bool>,
}

impl Run {
    /// Runs with every packet recorded.
    pub fn watched(text: &str, seed: u64) -> Run {
        let mut assembly = assemble(text, seed);
        let ports = assembly.network.graph.ports();
        let of_node = |(node, &ports): (usize, &u16)| {
            (0..ports).map(move |port| (NodeId(node as u32), PortId(port)))
        };
        let ports = ports.iter().enumerate().flat_map(of_node).collect();
        assembly.network.follow = Follow { ports, limit: u64::MAX, ..Follow::default() };
        Run::of(assembly, 1)
    }

    /// Runs on `threads` threads with nothing recorded.
    pub fn plain(text: &str, seed: u64, threads: usize) -> Run {
        Run::of(assemble(text, seed), threads)
    }

    fn of(assembly: Assembly, threads: usize) -> Run {
        let Assembly { network, wiring, flows, .. } = assembly;
        let switches = network.graph.nodes.iter().map(|n| n.kind == NodeKind::Switch).collect();
        let options = Options { threads, end: Time::s(10), completions: flows };
        Run { outcome: run(network, options, &Watch::default()), flows, wiring, switches }
    }

    /// The packets that left each port, in order.
    pub fn captures(&self) -> impl Iterator<Item = &[Hop]> {
        self.outcome.journal.captures.iter().map(|(hops, _)| &hops[..])
    }

    fn wire(&self, hop: &Hop) -> &Wire {
        &self.wiring.of(hop.node)[hop.port.at()]
    }

    /// Longest backlog and number of marks of each port of each packet switch.
    fn switch_ports(&self) -> Vec<(u64, u64)> {
        let mut out = Vec::new();
        for (place, ports) in self.outcome.places.iter().zip(&self.outcome.ports) {
            match place {
                Place::Switch => out.extend(ports.iter().map(|port| (port.peak, port.marks))),
                Place::Node(node) => {
                    let Some(switch) = node.downcast_ref::<Switch>() else { continue };
                    for port in 0..ports.len() as u16 {
                        let stats = switch.stats(PortId(port));
                        let marks = stats.classes.iter().map(|class| class.marks).sum();
                        out.push((stats.max_backlog, marks));
                    }
                }
                Place::Host(_) => {}
            }
        }
        out
    }
}

/// Checks all laws for a case.
pub fn obeys_all(case: &Case) -> Law {
    let run = Run::watched(&case.text, case.seed);
    nothing_is_lost_or_invented(&run, case)?;
    no_port_exceeds_its_rate(&run)?;
    switches_keep_order(&run)?;
    hosts_send_in_order(&run)?;
    if case.keeps_path() {
        packets_arrive_in_order(&run)?;
    }
    if case.fabric != "hybrid" {
        queues_keep_their_limits(&run, &case.queue)?;
    }
    threads_change_nothing(&run, case)
}

/// Every packet is accounted for, every flow ends, and packets are dropped only where there is no room.
fn nothing_is_lost_or_invented(run: &Run, case: &Case) -> Law {
    let conservation = run.outcome.conservation;
    prop_assert!(conservation.holds(), "{conservation:?}");
    prop_assert_eq!(run.outcome.completed, run.flows, "unfinished flows");
    for reason in DropReason::ALL {
        let expected = matches!(reason, DropReason::Full | DropReason::Early)
            || (reason == DropReason::LinkDown && case.drops_at_night);
        prop_assert!(expected || conservation.dropped[reason as usize] == 0, "{conservation:?}");
    }
    if case.queue.lossless && case.control == "none" {
        prop_assert_eq!(conservation.dropped, [0; 7]);
    }
    Ok(())
}

/// A port sends one packet after another, each for the time of its length, and each arrives after the delay.
fn no_port_exceeds_its_rate(run: &Run) -> Law {
    for hops in run.captures() {
        let mut free = 0;
        for hop in hops {
            let lane = &run.wire(hop).lane;
            let takes = lane.rate.inverse_rate().time_for(hop.packet.len.into()).as_ps();
            prop_assert!(hop.start >= free, "{hop:?} began before {free}");
            prop_assert!(hop.leave - hop.start >= takes, "{hop:?} took less than {takes} ps");
            prop_assert!(hop.arrive >= hop.leave + lane.delay.as_ps(), "{hop:?} arrived too early");
            free = hop.leave;
        }
    }
    Ok(())
}

/// Whether a packet is sent only once, so that it has a number of its own.
fn is_sent_once(packet: &Packet) -> bool {
    match packet.kind {
        Kind::Data => !packet.has(RETRANSMITTED),
        kind => kind == Kind::Datagram,
    }
}

/// A packet that arrives at a switch or leaves it.
struct Passage {
    time: u64,
    node: NodeId,
    port: PortId,
    leaves: bool,
    packet: Packet,
}

/// All arrivals at switches and departures from them, in order of time.
fn passages(run: &Run) -> Vec<Passage> {
    let mut all = Vec::new();
    for hop in run.captures().flatten().filter(|hop| is_sent_once(&hop.packet)) {
        let Hop { node, port, packet, start, arrive, .. } = *hop;
        let far = run.wire(hop).far;
        all.push(Passage { time: start, node, port, leaves: true, packet });
        all.push(Passage { time: arrive, node: far.node, port: far.port, leaves: false, packet });
    }
    all.retain(|passage| run.switches[passage.node.at()]);
    all.sort_by_key(|passage| (passage.time, passage.leaves));
    all
}

/// Packets of a flow and a class that arrive at one port of a switch and leave by one other port leave in the order of
/// arrival.
fn switches_keep_order(run: &Run) -> Law {
    let mut came = BTreeMap::new();
    let mut last = BTreeMap::new();
    for Passage { time, node, port, leaves, packet } in passages(run) {
        let Packet { flow, seq, kind, class, .. } = packet;
        let key = (node, flow, kind as u8, seq);
        if !leaves {
            came.insert(key, (port, time));
            continue;
        }
        let Some(&(by, at)) = came.get(&key) else { continue };
        let before = last.insert((node, by, port, flow, kind as u8, class), at);
        let fine = before.is_none_or(|before| before < at);
        prop_assert!(fine, "{packet:?} left {node:?} by {port:?} before one that came earlier");
    }
    Ok(())
}

/// New data of a connection leave a host by each port in the order of their numbers.
fn hosts_send_in_order(run: &Run) -> Law {
    for hops in run.captures() {
        let mut last = BTreeMap::new();
        let of_host = hops.iter().filter(|hop| !run.switches[hop.node.at()]);
        for hop in of_host.filter(|hop| is_sent_once(&hop.packet)) {
            let Packet { flow, kind, class, seq, .. } = hop.packet;
            let before = last.insert((flow, kind as u8, class), seq);
            prop_assert!(before.is_none_or(|before| before < seq), "{hop:?} is late");
        }
    }
    Ok(())
}

/// On one path, new data of a connection, its datagrams and its acknowledgements arrive in the order of sending.
fn packets_arrive_in_order(run: &Run) -> Law {
    let at_host = |hop: &&Hop| !run.switches[run.wire(hop).far.node.at()];
    let ordered = |hop: &&Hop| is_sent_once(&hop.packet) || hop.packet.kind == Kind::Ack;
    let mut hops: Vec<&Hop> = run.captures().flatten().filter(at_host).filter(ordered).collect();
    hops.sort_by_key(|hop| hop.arrive);
    let mut last = BTreeMap::new();
    for hop in hops {
        let Packet { flow, kind, class, seq, .. } = hop.packet;
        let before = last.insert((run.wire(hop).far.node, flow, kind as u8, class), seq);
        let same = kind == Kind::Ack && before == Some(seq);
        prop_assert!(same || before.is_none_or(|before| before < seq), "{hop:?} came late");
    }
    Ok(())
}

fn queues_keep_their_limits(run: &Run, queue: &Queue) -> Law {
    for (peak, marks) in run.switch_ports() {
        prop_assert!(queue.lossless || peak <= queue.limit, "{peak} B in {queue:?}");
        prop_assert!(queue.marks || marks == 0, "{marks} marks by {queue:?}");
        if queue.kind == "ecn" {
            prop_assert!(marks == 0 || peak > THRESHOLD, "{marks} marks below {THRESHOLD}: {peak}");
        }
    }
    Ok(())
}

/// Neither the number of threads nor the recording of packets makes a difference.
fn threads_change_nothing(run: &Run, case: &Case) -> Law {
    for threads in [2, 3] {
        let other = Run::plain(&case.text, case.seed, threads).outcome;
        prop_assert_eq!(other.digest, run.outcome.digest, "{} threads", threads);
        prop_assert_eq!(other.conservation, run.outcome.conservation, "{} threads", threads);
    }
    Ok(())
}
