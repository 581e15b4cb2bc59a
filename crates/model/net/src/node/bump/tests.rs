//! A switch with bumps, with a driver for its ports, which send whenever they are free.

use super::*;
use crate::aqm::spec::{EcnSpec, Policy, QueueSpec};
use crate::id::HostId;
use crate::node::notify::Senders;
use crate::node::switch::SwitchConfig;
use crate::node::{Collected, Counter, Effects};
use crate::route::{Routes, RoutingSpec};
use crate::topology::{Down, End, Graph, Link, LinkParams, NodeInfo, NodeKind};
use crate::units::{Bytes, Rate};
use crate::workload::Hosts;
use proptest::prelude::*;
use std::sync::Arc;

const MTU: u64 = 1_500;
/// The port whose queue is observed, and its host.
const OUT: u16 = 2;

/// Three hosts at one switch, node 3: port n leads to host n.
fn star() -> Graph {
    let lane = LinkParams { rate: Rate(1_000_000_000), delay: Time::us(1) };
    let node = |n: u16| NodeInfo {
        name: format!("n{n}"),
        kind: if n < 3 { NodeKind::Host } else { NodeKind::Switch },
        tier: u8::from(n == 3),
        pod: 0,
    };
    let link = |n: u16| Link {
        a: End { node: NodeId(n.into()), port: PortId(0) },
        b: End { node: NodeId(3), port: PortId(n) },
        ab: lane,
        ba: lane,
    };
    Graph {
        nodes: (0..4).map(node).collect(),
        links: (0..3).map(link).collect(),
        hosts: (0..3).map(NodeId).collect(),
    }
}

fn bumped(spec: BumpSpec, queue: QueueSpec) -> Bumped {
    let graph = star();
    let ports = SwitchPort::all_of(&graph.wiring(), NodeId(3));
    let switch = Switch::new(SwitchConfig {
        node: NodeId(3),
        routes: Arc::new(Routes::build(&graph, RoutingSpec::Shortest, &Down::default(), 1)),
        queue,
        ports: ports.clone(),
        mtu: MTU,
        seed: 1,
        classifier: None,
        senders: Senders::default(),
        reserve: None,
    });
    let taps = vec![PortId(0), PortId(1)];
    let sample = Time::ps(1);
    Bumped::new(BumpConfig {
        switch,
        node: NodeId(3),
        key: 3,
        taps,
        limits: vec![],
        ports,
        spec,
        reaction: ReactionSpec::default(),
        mtu: MTU,
        seed: 1,
        sample,
    })
}

/// The packets that left the observed port, each with the time at which it began to leave.
fn drive(node: &mut Bumped, packets: &[(Time, u16, u16)]) -> Vec<(Time, Packet)> {
    let (mut effects, mut sent) = (Effects::default(), Vec::new());
    let (mut free_at, mut wakes) = (Time::ZERO, Vec::<Time>::new());
    let pace = Rate(1_000_000_000).inverse_rate();
    let mut arrivals = packets.iter().copied().peekable();
    let mut now = Time::ZERO;
    loop {
        let next = arrivals.peek().map(|(at, ..)| *at);
        let woken = wakes.iter().min().copied();
        // At equal times, arrivals come first.
        let waiting = node.switch.queued(PortId(OUT)) > 0;
        let free = waiting.then(|| free_at.max(now));
        let first = [next, woken, free].into_iter().flatten().min();
        let Some(at) = first else { return sent };
        now = at;
        let mut cx = Cx::new(now, &mut effects);
        if next == Some(at) {
            let (_, from, len) = arrivals.next().unwrap();
            let flags = ECT;
            node.receive(
                PortId(from),
                Packet { dst: HostId(2), len, flags, ..Packet::default() },
                &mut cx,
            );
        } else if woken == Some(at) {
            wakes.retain(|wake| *wake != at);
            node.expire(FORWARD, &mut cx);
        } else if let Some(packet) = node.transmit(PortId(OUT), &mut cx) {
            free_at = now + pace.time_for(u64::from(packet.len));
            sent.push((now, packet));
        }
        wakes.extend(Collected::of(&mut effects).wakes.iter().map(|(at, _)| at));
    }
}

fn arrivals() -> impl Strategy<Value = Vec<(Time, u16, u16)>> {
    let one = (0u64..20_000_000, 0u16..2, 64u16..=1_500);
    prop::collection::vec(one, 1..200).prop_map(|steps| {
        let times = steps.iter().scan(Time::ZERO, |now, (gap, ..)| {
            *now += Time::ps(*gap);
            Some(*now)
        });
        times.collect::<Vec<_>>().into_iter().zip(&steps).map(|(at, s)| (at, s.1, s.2)).collect()
    })
}

fn limit(bytes: u64) -> QueueSpec {
    QueueSpec { limit: Bytes(bytes), ..QueueSpec::default() }
}

proptest! {
    /// A bump that sees all traffic knows the queue exactly, full or not: with one table for several links, or with an
    /// update of each packet at once.
    #[test]
    fn all_traffic_seen_is_all_known(packets in arrivals(), room in 3_000u64..40_000) {
        for sharing in [Sharing::Table, Sharing::Updates] {
            let spec = BumpSpec { queue: limit(room), observe: true, sharing, ..BumpSpec::default() };
            let mut node = bumped(spec, limit(room));
            let sent = drive(&mut node, &packets);
            prop_assert_eq!(node.accuracy().worst(), 0);
            let tables = node.tables.len();
            prop_assert_eq!(node.accuracy().count(), (packets.len() * tables) as u64);
            prop_assert!(sent.len() <= packets.len());
        }
    }

    /// A threshold as a further application of a drop-tail bump acts as one that is the bump's only application. If it
    /// acts only on flows to other hosts, it does nothing.
    #[test]
    fn applications_are_composed(packets in arrivals(), room in 3_000u64..40_000) {
        let policy = Policy::Ecn(EcnSpec { threshold: Bytes(room / 3), drop_non_ect: false });
        let run = |queue, also: Option<Hosts>| {
            let policy = policy.clone();
            let flows = |to| ChosenFlows { to, from: Hosts::All };
            let also = also.map(|to| ApplicationSpec { policy, flows: flows(to) }).into_iter().collect();
            let spec = BumpSpec { queue, also, ..BumpSpec::default() };
            drive(&mut bumped(spec, limit(40_000)), &packets)
        };
        let alone = run(QueueSpec { policy: policy.clone(), ..limit(room) }, None);
        for to in [Hosts::All, Hosts::Count(3), Hosts::List(vec![(0, 0), (2, 2)])] {
            prop_assert_eq!(&alone, &run(limit(room), Some(to)));
        }
        prop_assert_eq!(run(limit(room), None), run(limit(room), Some(Hosts::List(vec![(0, 1)]))));
    }

    /// A drop-tail bump with less room than the switch keeps the queue of the switch that short. The same packets leave
    /// as from a switch with that little room.
    #[test]
    fn a_bump_drops_what_the_switch_would(packets in arrivals(), room in 3_000u64..20_000) {
        let spec = BumpSpec { queue: limit(room), ..BumpSpec::default() };
        let with_bump = drive(&mut bumped(spec, limit(1_000_000)), &packets);
        let looking_on = BumpSpec { observe: true, ..BumpSpec::default() };
        let by_itself = drive(&mut bumped(looking_on, limit(room)), &packets);
        prop_assert_eq!(with_bump, by_itself);
    }

    /// A bump with a delay keeps the order and loses nothing.
    #[test]
    fn latency_delays_and_nothing_else(packets in arrivals(), jitter in 0u64..50) {
        let spec = BumpSpec {
            latency: Time::us(30),
            jitter: Time::us(jitter),
            observe: true,
            ..BumpSpec::default()
        };
        let mut node = bumped(spec, limit(1_000_000_000));
        let sent = drive(&mut node, &packets);
        let lens = |packets: &mut dyn Iterator<Item = u16>| packets.collect::<Vec<_>>();
        prop_assert_eq!(
            lens(&mut sent.iter().map(|(_, packet)| packet.len)),
            lens(&mut packets.iter().map(|(_, _, len)| *len))
        );
        prop_assert!(sent[0].0 >= packets[0].0 + Time::us(30));
        prop_assert_eq!(node.account().held, 0);
    }
}

#[test]
fn bumps_that_know_nothing_of_each_other_miss_half() {
    let packets: Vec<_> = (0..200).map(|n| (Time::us(6 * n), (n % 2) as u16, 1_500)).collect();
    let spec = BumpSpec { sharing: Sharing::Nothing, observe: true, ..BumpSpec::default() };
    let mut node = bumped(BumpSpec { queue: limit(1_000_000), ..spec }, limit(1_000_000));
    drive(&mut node, &packets);
    // Packets arrive at twice the rate of the port, half of them by each bump, so neither sees a queue.
    assert!(node.accuracy().worst() > 100_000, "{}", node.accuracy().worst());
    assert!(node.estimates().iter().all(|e| e.estimate <= 3_000));
}

#[test]
fn lost_updates_are_reported_and_the_estimate_recovers_when_the_queue_is_empty() {
    let mut packets: Vec<_> = (0..200).map(|n| (Time::us(6 * n), (n % 2) as u16, 1_500)).collect();
    packets.extend((0..50).map(|n| (Time::ms(50) + Time::us(100 * n), 0, 1_500)));
    let spec = BumpSpec {
        sharing: Sharing::Updates,
        update_loss: 0.3,
        update_delay: Time::us(25),
        queue: limit(1_000_000),
        observe: true,
        ..BumpSpec::default()
    };
    let mut node = bumped(spec, limit(1_000_000));
    drive(&mut node, &packets);
    let count = |counter| counted(&node, counter);
    assert_eq!(count(counters::BUMP_UPDATES), 250);
    let (merged, lost) = (count(counters::BUMP_UPDATES_MERGED), count(counters::BUMP_UPDATES_LOST));
    assert!(lost > 40 && merged + lost >= 240 && merged + lost <= 250, "{merged} {lost}");
    let late = node.estimates().iter().filter(|e| e.at >= Time::ms(50));
    assert!(late.clone().count() > 50 && late.clone().all(|e| e.error() <= 1_500));
    assert!(count(counters::BUMP_ERROR_MOST) > 20_000);
}

#[test]
fn marks_are_made_in_front_of_the_switch() {
    let packets: Vec<_> = (0..10).map(|n| (Time::us(n), 0, 1_500)).collect();
    let policy = Policy::Ecn(EcnSpec { threshold: Bytes(4_500), drop_non_ect: false });
    let queue = QueueSpec { policy, ..limit(150_000) };
    let mut node = bumped(BumpSpec { queue, ..BumpSpec::default() }, limit(150_000));
    let sent = drive(&mut node, &packets);
    let marked: Vec<bool> = sent.iter().map(|(_, packet)| packet.has(CE)).collect();
    // Each packet finds 1375 bytes more than the one before: more than 4500 from the fifth on.
    let want: Vec<bool> = (0..10).map(|n| n >= 4).collect();
    assert_eq!(marked, want);
    assert_eq!(node.switch().stats(PortId(OUT)).classes[0].marks, 0);
}

/// All packets that the node sends, at all ports: the time at which each began to leave, its port, and the packet.
/// `packets` has time, port, destination and length of each arrival.
fn drive_all(node: &mut Bumped, packets: &[(Time, u16, u32, u16)]) -> Vec<(Time, u16, Packet)> {
    let (mut effects, mut sent) = (Effects::default(), Vec::new());
    let (mut free_at, mut wakes) = ([Time::ZERO; 3], Vec::<(Time, u32)>::new());
    let pace = Rate(1_000_000_000).inverse_rate();
    let mut arrivals = packets.iter().copied().peekable();
    let mut asked = [false; 3];
    let mut now = Time::ZERO;
    loop {
        let next = arrivals.peek().map(|(at, ..)| *at);
        let woken = wakes.iter().map(|(at, _)| *at).min();
        let free = (0..3).filter(|port| asked[*port]).map(|port| free_at[port].max(now)).min();
        let Some(at) = [next, woken, free].into_iter().flatten().min() else { return sent };
        now = at;
        let mut cx = Cx::new(now, &mut effects);
        if next == Some(at) {
            let (_, from, dst, len) = arrivals.next().unwrap();
            let packet = Packet { dst: HostId(dst), len, flags: ECT, ..Packet::default() };
            node.receive(PortId(from), packet, &mut cx);
        } else if woken == Some(at) {
            let tokens: Vec<u32> =
                wakes.extract_if(.., |wake| wake.0 == at).map(|wake| wake.1).collect();
            tokens.into_iter().for_each(|token| node.expire(token, &mut cx));
        } else {
            let port = (0..3).find(|port| asked[*port] && free_at[*port] <= at).unwrap();
            match node.transmit(PortId(port as u16), &mut cx) {
                Some(packet) => {
                    free_at[port] = now + pace.time_for(u64::from(packet.len));
                    sent.push((now, port as u16, packet));
                }
                None => asked[port] = false,
            }
        }
        let mut said = Collected::of(&mut effects);
        wakes.append(&mut said.wakes);
        said.kicks.iter().for_each(|port| asked[port.at()] = true);
    }
}

fn in_band(every: u32) -> BumpSpec {
    BumpSpec {
        sharing: Sharing::Updates,
        update_path: UpdatePath::InBand,
        update_every: every,
        observe: true,
        queue: limit(1_000_000),
        ..BumpSpec::default()
    }
}

fn counted(node: &Bumped, counter: Counter) -> u64 {
    let mut counters = Counters::default();
    node.add_counters(&mut counters);
    counters.get(counter).unwrap_or(0)
}

/// One packet is seen by the bump at port 0. The update of 84 bytes takes 672 ns on the link of port 1. There the other
/// bump takes it off, and no host sees it.
#[test]
fn an_update_in_band_takes_the_time_of_its_bytes() {
    let mut node = bumped(in_band(1), limit(1_000_000));
    let sent = drive_all(&mut node, &[(Time::ZERO, 0, 2, 1_250)]);
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!(counted(&node, counters::BUMP_UPDATES_MERGED), 1);
    assert_eq!(counted(&node, counters::BUMP_UPDATE_BYTES), 84);
    let before = node.tables[1].bytes(OUT.into(), Time::ns(671));
    let empty = node.tables[1].empty_at(OUT.into());
    // The update counts from its arrival, 672 ns after the packet.
    assert_eq!((before, empty), (1_250, Time::ns(10_672)));
    let account = node.account();
    assert_eq!((account.created, account.consumed, account.held), (1, 1, 0));
}

/// Updates share a link with traffic, so each waits for the other.
#[test]
fn updates_in_band_compete_with_the_traffic_of_their_link() {
    let idle: Vec<_> = (0..100).map(|n| (Time::us(20 * n), 0, 2, 1_250)).collect();
    let mut busy = idle.clone();
    // Packets from host 2 to host 1 keep that link busy from 0 to 2 ms.
    busy.extend((0..200).map(|n| (Time::us(10 * n), 2, 1, 1_250)));
    busy.sort_unstable();
    let mut alone = bumped(in_band(1), limit(1_000_000));
    drive_all(&mut alone, &idle);
    let mut beside = bumped(in_band(1), limit(1_000_000));
    let sent = drive_all(&mut beside, &busy);
    assert_eq!(counted(&alone, counters::BUMP_UPDATES_MERGED), 100);
    assert_eq!(counted(&beside, counters::BUMP_UPDATES_MERGED), 100);
    // 100 updates of 672 ns were sent in between, so the last packet is late by their sum.
    let last = sent.iter().rfind(|(_, port, _)| *port == 1).unwrap().0;
    assert!(last >= Time::us(1_990) + Time::us(60), "{last}");
    assert!(beside.accuracy().worst() >= alone.accuracy().worst());
}

#[test]
fn updates_in_band_are_lost_where_their_queue_is_full() {
    let at = |n: u64| Time::ns(20_000 * n + 100);
    let mut packets: Vec<_> = (0..100).map(|n| (at(n), 0, 2, 1_250)).collect();
    // Twice the rate of the link to host 1, for half of the time. Its queue of four packets is full after every second
    // packet, when an update arrives.
    packets.extend((0..200).map(|n| (Time::us(5 * n), 2, 1, 1_250)));
    packets.sort_unstable();
    let mut node = bumped(in_band(1), limit(5_000));
    drive_all(&mut node, &packets);
    let (merged, lost) = (
        counted(&node, counters::BUMP_UPDATES_MERGED),
        counted(&node, counters::BUMP_UPDATES_LOST),
    );
    assert!(lost > 10 && merged > 0 && merged + lost <= 100, "{merged} {lost}");
    let account = node.account();
    assert_eq!((account.held, account.consumed), (0, merged));
}
