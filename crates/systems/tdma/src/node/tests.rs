//! Agents, fabric managers and controllers accept any input in any order. They use the messages that they
//! understand and lose no packet.

use super::*;
use crate::TdmaSpec;
use crate::options::{Reporting, Signalling};
use crate::wire::{Body, Class, Demand, Edge, Fragment, Message, Open, Timing};
use proptest::prelude::*;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::agent::Agent;
use slotline_net::node::{Collected, Counters, Cx, Effects, Node};
use slotline_net::rng::Stream;
use slotline_net::scheme::network::Network;
use slotline_net::time::Time;
use slotline_net::units::Rate;
use slotline_net::wire::mac_control::{Classes, Extended, Frame, Mac, Pause, Quanta};

const HOSTS: u32 = 4;
const MANAGER: HostId = HostId(HOSTS);
const CONTROLLER: HostId = HostId(HOSTS + 1);
const LINE: Rate = Rate(10_000_000_000);

fn stream() -> Stream {
    Stream::named(1, "tdma.host", 0)
}

fn spec(signalling: Signalling) -> TdmaSpec {
    TdmaSpec { signalling, ..TdmaSpec::default() }
}

fn manager(spec: &TdmaSpec, controllers: Vec<HostId>) -> FabricManager {
    FabricManager::new(config(spec, controllers)).unwrap()
}

fn config(spec: &TdmaSpec, controllers: Vec<HostId>) -> ManagerConfig {
    let star = Network::new(HOSTS as usize, vec![LINE; 2 * HOSTS as usize], |src, dst, out| {
        out.extend([src.0, HOSTS + dst.0]);
    });
    ManagerConfig {
        tdma: spec.build().unwrap(),
        host: MANAGER,
        line: LINE,
        control: spec.control_link().map(|link| link.rate),
        hosts: vec![(0..HOSTS).map(|host| (HostId(host), LINE)).collect()],
        controllers,
        weights: vec![(HostId(1), 2)],
        network: star,
        map: None,
    }
}

fn part() -> impl Strategy<Value = Fragment> {
    (1..4u16).prop_flat_map(|parts| (0..parts).prop_map(move |part| Fragment { part, parts }))
}

fn demand() -> impl Strategy<Value = Body> {
    let waiting = prop::collection::vec((0..HOSTS + 3, 0..2_000_000u64), 0..5);
    let place = (0..4u32, part(), 0..4u32, 0..9u16, any::<bool>(), 0..3u64);
    (place, waiting).prop_map(|((report, part, round, slot, whole, free), waiting)| {
        let waiting = waiting.into_iter().map(|(dst, bytes)| (HostId(dst), bytes)).collect();
        let free = [u64::MAX, 0, 100_000][free as usize];
        Body::Demand(Demand { report, part, round, slot, whole, free, waiting })
    })
}

fn classes() -> impl Strategy<Value = Body> {
    let times = (0..9u16, 0..9u16, 0..400u64, 0..400u64);
    let class =
        (0..2_048u16, 0..9u16, 0..HOSTS + 3, prop::option::of(1..1_000_000u64), 0..99_999u64);
    (0..4u32, part(), times, prop::collection::vec(class, 0..5)).prop_map(
        |(round, part, (next, slots, begins, slot), classes)| {
            let (begins, slot, guard) = (Time::us(begins), Time::us(slot), Time::us(15));
            let timing = Timing { next, slots, begins, slot, guard };
            let class = |(class, from, dst, rate, bytes): (u16, u16, u32, Option<u64>, u64)| {
                Class { class: class % 9, from, dst: HostId(dst), rate: rate.map(Rate), bytes }
            };
            let classes = classes.into_iter().map(class).collect();
            Body::Classes { round, part, timing, classes }
        },
    )
}

fn body() -> impl Strategy<Value = Body> {
    let open = (0..9u16, 0..HOSTS + 3, 0..9u16).prop_map(|(slot, host, class)| Open {
        slot,
        host: HostId(host),
        class,
    });
    let edge = prop_oneof![Just(Edge::Begins), Just(Edge::Ends)];
    prop_oneof![
        Just(Body::Hello),
        Just(Body::Leave),
        (0..4u32).prop_map(Body::Reported),
        (0..4u32).prop_map(Body::Ready),
        demand(),
        classes(),
        (0..4u32, part(), prop::collection::vec(open, 0..5))
            .prop_map(|(round, part, open)| Body::Slots { round, part, open }),
        (0..4u32, any::<u16>(), edge).prop_map(|(round, slot, edge)| Body::Trigger {
            round,
            slot,
            edge
        }),
    ]
}

fn pause() -> impl Strategy<Value = Pause> {
    let time = || prop_oneof![Just(Quanta::NONE), Just(Quanta::MAX), (0..200u16).prop_map(Quanta)];
    let entries = prop::collection::btree_map(0..2_048u16, time(), 0..4);
    prop_oneof![
        time().prop_map(Pause::All),
        (any::<u8>(), prop::array::uniform8(time()))
            .prop_map(|(enabled, times)| Pause::Classes(Classes { enabled, times })),
        (prop::option::of(time()), entries).prop_map(|(others, entries)| {
            Pause::Extended(Extended { others, entries: entries.into_iter().collect() })
        }),
    ]
}

/// Something that happens to a node.
#[derive(Clone, Debug)]
enum Step {
    Bytes(Vec<u8>),
    Wait(u64),
    Packet(u32, u16),
}

fn steps(about: impl Strategy<Value = u32>) -> impl Strategy<Value = Vec<Step>> {
    let message = (about, 0..99u32, body()).prop_map(|(host, seq, body)| {
        Step::Bytes(Message { host: HostId(host), seq, heard: 0, body }.emit())
    });
    let frame = pause().prop_map(|pause| {
        let frame = Frame { destination: Mac::of(HostId(0)), source: Mac::of(MANAGER), pause };
        Step::Bytes(frame.emit())
    });
    let step = prop_oneof![
        6 => message,
        3 => frame,
        1 => prop::collection::vec(any::<u8>(), 0..80).prop_map(Step::Bytes),
        4 => (0..400u64).prop_map(Step::Wait),
        4 => (0..HOSTS + 2, 64..1_539u16).prop_map(|(dst, len)| Step::Packet(dst, len)),
    ];
    prop::collection::vec(step, 0..120)
}

/// Runs all wake-ups up to a time.
fn wait(
    (effects, asked): (&mut Effects, &mut Collected),
    until: Time,
    mut call: impl FnMut(u32, &mut Cx<'_>),
) {
    for _ in 0..10_000 {
        effects.drain(asked);
        let due = asked.wakes.iter().enumerate().min_by_key(|(_, wake)| wake.0);
        let Some((first, &(at, token))) = due.filter(|(_, wake)| wake.0 <= until) else { return };
        asked.wakes.swap_remove(first);
        call(token, &mut Cx::new(at, effects));
    }
    panic!("wake-ups without end");
}

fn drive(node: &mut dyn Node, here: HostId, steps: Vec<Step>) {
    let (mut effects, mut asked, mut now) = (Effects::default(), Collected::default(), Time::ZERO);
    node.start(&mut Cx::new(now, &mut effects));
    for step in steps {
        match step {
            Step::Wait(us) => now = now.after(Time::us(us)),
            Step::Bytes(bytes) => {
                let mut cx = Cx::new(now, &mut effects);
                let packet = cx.attach((HostId(0), here), bytes, 38, 7);
                node.receive(PortId(0), packet, &mut cx);
            }
            Step::Packet(..) => {}
        }
        wait((&mut effects, &mut asked), now, |token, cx| node.expire(token, cx));
    }
    effects.drain(&mut asked);
    let account = node.account();
    assert_eq!(account.created, asked.sends.len() as u64);
    node.add_counters(&mut Counters::default());
}

proptest! {
    #[test]
    fn fabric_managers_take_anything(steps in steps(0..HOSTS + 3), slot: bool, near: bool) {
        let reports = if slot { Reporting::Slot } else { Reporting::OutOfBand };
        let spec = TdmaSpec { reports, ..spec(Signalling::Pfc) };
        let controllers = if near { vec![CONTROLLER] } else { vec![] };
        drive(&mut manager(&spec, controllers), MANAGER, steps);
    }

    #[test]
    fn controllers_take_anything(steps in steps(Just(CONTROLLER.0))) {
        let tdma = spec(Signalling::Extended).build().unwrap();
        let hosts = (0..HOSTS).map(|host| (HostId(host), LINE)).collect();
        let mut controller = SlotController::new(&tdma, CONTROLLER, LINE, MANAGER, hosts);
        drive(&mut controller, CONTROLLER, steps);
    }

    /// Whatever an agent receives, it loses no packet and keeps the order of packets for one destination. Once
    /// it sends without slots, it sends all of them.
    #[test]
    fn agents_take_anything_and_lose_nothing(steps in steps(Just(0)), which in 0usize..3) {
        let signalling = [Signalling::Pause, Signalling::Pfc, Signalling::Extended][which];
        let tdma = spec(signalling).build().unwrap();
        let mut agent = TdmaAgent::new(&tdma, HostId(0), MANAGER, LINE, None, stream());
        let (mut effects, mut asked) = (Effects::default(), Collected::default());
        let (mut now, mut given) = (Time::ZERO, 0u32);
        let mut left: Vec<Packet> = Vec::new();
        agent.start(&mut Cx::new(now, &mut effects));
        for step in steps {
            match step {
                Step::Wait(us) => now = now.after(Time::us(us)),
                Step::Bytes(bytes) => agent.control(&bytes, &mut Cx::new(now, &mut effects)),
                Step::Packet(dst, len) => {
                    let packet = Packet { dst: HostId(dst), seq: given, len, ..Packet::default() };
                    given += 1;
                    agent.enqueue(packet, &mut Cx::new(now, &mut effects));
                }
            }
            wait((&mut effects, &mut asked), now, |token, cx| agent.expire(token, cx));
            left.extend(agent.dequeue(&mut Cx::new(now, &mut effects)));
        }
        // The manager is silent until the agent sends without slots.
        now = now.after(Time::s(1));
        wait((&mut effects, &mut asked), now, |token, cx| agent.expire(token, cx));
        while let Some(packet) = agent.dequeue(&mut Cx::new(now, &mut effects)) {
            left.push(packet);
        }
        prop_assert!(agent.released() || given == 0 || left.len() >= given as usize);
        let data = left.iter().filter(|packet| packet.kind == Kind::Data);
        prop_assert_eq!(data.clone().count(), given as usize);
        for dst in 0..HOSTS + 2 {
            let seqs: Vec<u32> = data.clone().filter(|p| p.dst.0 == dst).map(|p| p.seq).collect();
            prop_assert!(seqs.is_sorted(), "{:?}", seqs);
        }
        prop_assert_eq!(agent.account().held, 0);
    }
}

/// Tells an agent of a round from 100 us on, in which host 0 sends to host 1 in slots of 300 us. Returns the frame that opens a
/// slot.
fn plan(agent: &mut TdmaAgent, effects: &mut Effects) -> Vec<u8> {
    let (slot, guard) = (Time::us(300), Time::us(15));
    let timing = Timing { next: 0, slots: 9, begins: Time::us(100), slot, guard };
    let classes = vec![Class { class: 0, from: 0, dst: HostId(1), rate: None, bytes: u64::MAX }];
    let body = Body::Classes { round: 1, part: Fragment::ALONE, timing, classes };
    let message = Message { host: HostId(0), seq: 1, heard: 0, body }.emit();
    agent.control(&message, &mut Cx::new(Time::ZERO, effects));
    let pause = Pause::Extended(Extended::all_but(&[0], Quanta::MAX));
    Frame { destination: Mac::of(HostId(0)), source: Mac::of(MANAGER), pause }.emit()
}

/// The packets of a host that leave before 2 ms, with their times, where each of `count` has `len` bytes. The host is opened for
/// a slot of 300 us at 250 us.
fn leaving(len: u16, count: u32) -> Vec<Time> {
    let spec =
        TdmaSpec { jitter: Some(Time::ZERO), clock_drift: Time::ZERO, ..TdmaSpec::default() };
    let agent = TdmaAgent::new(&spec.build().unwrap(), HostId(0), MANAGER, LINE, None, stream());
    let mut agent = agent.with_packets_of(1_538);
    let (mut effects, mut asked) = (Effects::default(), Collected::default());
    agent.start(&mut Cx::new(Time::ZERO, &mut effects));
    for seq in 0..count {
        let packet = Packet { dst: HostId(1), seq, len, ..Packet::default() };
        agent.enqueue(packet, &mut Cx::new(Time::ZERO, &mut effects));
    }
    let open = plan(&mut agent, &mut effects);
    agent.control(&open, &mut Cx::new(Time::us(100), &mut effects));
    let (mut sent, mut now) = (Vec::new(), Time::ZERO);
    while now < Time::ms(2) {
        wait((&mut effects, &mut asked), now, |token, cx| agent.expire(token, cx));
        let packet = agent.dequeue(&mut Cx::new(now, &mut effects));
        sent.extend(packet.filter(|packet| packet.kind == Kind::Data).map(|_| now));
        now = now.after(LINE.inverse_rate().time_for(len.into()));
    }
    sent
}

/// Several packets that leave together end before the next slot begins. Others may begin until their slot ends.
#[test]
fn joined_packets_end_with_their_slot() {
    let span = |len: u16| LINE.inverse_rate().time_for(len.into());
    let limit = Time::us(550 + 15);
    for parts in [2, 8, 20, 42] {
        let len = parts * 1_538;
        let sent = leaving(len, 400);
        // They begin within the slot, and end before the guard time is over.
        let spans = |us: u64| Time::us(us).as_ps() / span(len).as_ps();
        let room = spans(315).min(spans(300) + 1);
        assert!((room - 1..=room).contains(&(sent.len() as u64)), "{parts}: {}", sent.len());
        assert!(sent.iter().all(|at| at.after(span(len)) <= limit), "{parts}");
    }
    assert!(leaving(1_538, 400).iter().all(|at| *at < Time::us(550)));
}

/// A host that was opened stops by itself at the end of its slot if the pause frame is lost. A frame that
/// opens the host too late does not open it beyond the slot.
#[test]
fn a_slot_ends_without_a_pause_frame() {
    let tdma =
        TdmaSpec { jitter: Some(Time::ZERO), clock_drift: Time::ZERO, ..TdmaSpec::default() };
    let mut agent =
        TdmaAgent::new(&tdma.build().unwrap(), HostId(0), MANAGER, LINE, None, stream());
    let (mut effects, mut asked) = (Effects::default(), Collected::default());
    agent.start(&mut Cx::new(Time::ZERO, &mut effects));
    for seq in 0..2_000 {
        let packet = Packet { dst: HostId(1), seq, len: 1_538, ..Packet::default() };
        agent.enqueue(packet, &mut Cx::new(Time::ZERO, &mut effects));
    }
    let open = plan(&mut agent, &mut effects);
    agent.control(&open, &mut Cx::new(Time::us(100), &mut effects));
    // This frame opens slot 1, but 100 us of its 300 us too late.
    agent.control(&open, &mut Cx::new(Time::us(515), &mut effects));
    let mut sent = Vec::new();
    let mut now = Time::ZERO;
    while now < Time::ms(2) {
        wait((&mut effects, &mut asked), now, |token, cx| agent.expire(token, cx));
        let packet = agent.dequeue(&mut Cx::new(now, &mut effects));
        sent.extend(packet.filter(|packet| packet.kind == Kind::Data).map(|_| now));
        now = now.after(LINE.inverse_rate().time_for(1_538));
    }
    // The reaction is 150 us.
    let within = |from: u64, until: u64| {
        sent.iter().filter(|at| (Time::us(from)..Time::us(until)).contains(*at)).count()
    };
    assert!((240..=245).contains(&within(250, 550)), "{}", within(250, 550));
    assert_eq!(within(550, 665), 0, "the guard time, and the missed part of slot 1");
    assert!((160..=164).contains(&within(665, 865)), "{}", within(665, 865));
    assert_eq!(within(0, 250) + within(865, 2_000), 0);
}

/// Only the hosts that take part hear of the fabric manager, and packets to other hosts leave without a slot, at the rate
/// of short flows.
#[test]
fn a_part_of_the_hosts_takes_part() {
    let tdma = TdmaSpec { short_share: 0.1, ..spec(Signalling::Extended) };
    let hosts = vec![(0..2).map(|host| (HostId(host), LINE)).collect()];
    let mut manager = FabricManager::new(ManagerConfig { hosts, ..config(&tdma, vec![]) }).unwrap();
    let (mut effects, mut asked) = (Effects::default(), Collected::default());
    manager.start(&mut Cx::new(Time::ZERO, &mut effects));
    effects.drain(&mut asked);
    let heard: Vec<u32> = asked.sends.iter().map(|send| send.1.dst.0).collect();
    assert_eq!(heard, [0, 1, 0, 1], "a pause frame and a message for each");

    let tdma = tdma.build().unwrap();
    let agent = TdmaAgent::new(&tdma, HostId(0), MANAGER, LINE, tdma.short_flow(4, LINE), stream());
    let mut agent = agent.beside(vec![HostId(2), HostId(3)]);
    let (mut effects, mut asked) = (Effects::default(), Collected::default());
    for seq in 0..400 {
        let packet = Packet { dst: HostId(1 + seq % 2), seq, len: 1_538, ..Packet::default() };
        agent.enqueue(packet, &mut Cx::new(Time::ZERO, &mut effects));
    }
    let mut now = Time::ZERO;
    let mut sent = [0; 3];
    while now < Time::ms(1) {
        wait((&mut effects, &mut asked), now, |token, cx| agent.expire(token, cx));
        let packet = agent.dequeue(&mut Cx::new(now, &mut effects));
        let data = packet.filter(|packet| packet.kind == Kind::Data);
        data.iter().for_each(|packet| sent[packet.dst.at()] += 1);
        now = now.after(LINE.inverse_rate().time_for(1_538));
    }
    // 1 Gbit/s carries 81 packets in a millisecond, and one more has begun; six of them are a short flow to host 1.
    assert_eq!(sent[1], 6);
    assert!((70..=82).contains(&(sent[1] + sent[2])), "{sent:?}");
}
