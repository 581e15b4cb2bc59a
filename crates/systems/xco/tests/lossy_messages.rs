//! XCo's controller and coordinators over a channel that may lose control messages.

use proptest::prelude::*;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::agent::Agent;
use slotline_net::node::{Collected, Cx, Effects, Node};
use slotline_net::rng::Stream;
use slotline_net::scheme::network::Network;
use slotline_net::time::Time;
use slotline_net::units::{Bytes, Rate};
use slotline_xco::node::controller::Controller;
use slotline_xco::node::coordinator::Coordinator;
use slotline_xco::spec::{Mode, XcoSpec};
use slotline_xco::wire::Message;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const LINK: Rate = Rate(1_000_000_000);
const DELAY: Time = Time::us(5);
const LENGTH: u16 = 1_538;

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A wake-up of a host; the controller is the last one.
    Wake(usize, u32),
    /// The port of a host is free.
    Free(usize),
    /// A control message arrives.
    Message(usize, Vec<u8>),
    /// This many packets arrive for a destination.
    Burst { src: usize, dst: u32, count: u32 },
}

struct Host {
    agent: Coordinator,
    busy: bool,
    /// The destination and number of packets of a host that always has this many waiting.
    greedy: Option<(u32, u64)>,
    queued: Vec<u32>,
    /// Data packets: begin and end of transmission.
    sent: Vec<(Time, Time, Packet)>,
}

/// Hosts with links of 1 Gbit/s at one switch; the last one is the controller's.
struct World {
    now: Time,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    count: u64,
    effects: Effects,
    controller: Controller,
    hosts: Vec<Host>,
    loss: f64,
    rng: Stream,
}

impl World {
    fn new(spec: &XcoSpec, hosts: usize, loss: f64, seed: u64) -> World {
        let xco = spec.build().unwrap();
        let at = HostId(hosts as u32);
        let links = hosts as u32 + 1;
        let star = Network::new(hosts + 1, vec![LINK; 2 * hosts + 2], move |src, dst, out| {
            out.extend([src.0, links + dst.0]);
        });
        let host = |host: usize| Host {
            agent: xco.coordinator(HostId(host as u32), at),
            busy: false,
            greedy: None,
            queued: vec![0; hosts],
            sent: Vec::new(),
        };
        let mut world = World {
            now: Time::ZERO,
            events: BinaryHeap::new(),
            count: 0,
            effects: Effects::default(),
            controller: xco.controller(at, star),
            hosts: (0..hosts).map(host).collect(),
            loss,
            rng: Stream::named(seed, "test.loss", 0),
        };
        for host in 0..hosts {
            world.call(host, |agent, cx| agent.start(cx));
        }
        world
    }
    fn at(&mut self, at: Time, event: Event) {
        self.count += 1;
        self.events.push(Reverse((at.max(self.now), self.count, event)));
    }
    fn call(&mut self, host: usize, call: impl FnOnce(&mut Coordinator, &mut Cx)) {
        call(&mut self.hosts[host].agent, &mut Cx::new(self.now, &mut self.effects));
        let kicked = self.carry_out(host);
        if kicked && !self.hosts[host].busy {
            self.transmit(host);
        }
    }
    /// Whether it has kicked its port.
    fn carry_out(&mut self, who: usize) -> bool {
        let Collected { wakes, sends, kicks, .. } = Collected::of(&mut self.effects);
        for (at, token) in wakes {
            self.at(at, Event::Wake(who, token));
        }
        for (_, packet) in sends {
            self.deliver(packet, LINK.time_for(Bytes(packet.len.into())));
        }
        !kicks.is_empty()
    }
    fn deliver(&mut self, packet: Packet, after: Time) {
        let bytes = self.effects.payloads().release(packet.seq).into_vec();
        if self.rng.unit() >= self.loss {
            self.at(self.now + after + DELAY, Event::Message(packet.dst.at(), bytes));
        }
    }
    fn top_up(&mut self, host: usize) {
        let Some((dst, bytes)) = self.hosts[host].greedy else {
            return;
        };
        if self.hosts[host].agent.queued(HostId(dst)) < bytes {
            self.enqueue(host, dst, 1);
        }
    }
    fn enqueue(&mut self, src: usize, dst: u32, count: u32) {
        for _ in 0..count {
            let seq = self.hosts[src].queued[dst as usize];
            self.hosts[src].queued[dst as usize] += 1;
            let packet = Packet { dst: HostId(dst), len: LENGTH, seq, ..Packet::default() };
            self.call(src, |agent, cx| agent.enqueue(packet, cx));
        }
    }
    fn transmit(&mut self, host: usize) {
        let packet = self.hosts[host].agent.dequeue(&mut Cx::new(self.now, &mut self.effects));
        self.carry_out(host);
        let Some(packet) = packet else { return };
        let time = LINK.time_for(Bytes(packet.len.into()));
        self.hosts[host].busy = true;
        self.at(self.now + time, Event::Free(host));
        if packet.kind == Kind::Control {
            self.deliver(packet, time);
        } else {
            self.hosts[host].sent.push((self.now, self.now + time, packet));
            self.top_up(host);
        }
    }
    fn handle(&mut self, event: Event) {
        let controller = self.hosts.len();
        match event {
            Event::Free(host) => {
                self.hosts[host].busy = false;
                self.transmit(host);
            }
            Event::Burst { src, dst, count } => self.enqueue(src, dst, count),
            Event::Wake(who, token) if who == controller => {
                self.controller.expire(token, &mut Cx::new(self.now, &mut self.effects));
                self.carry_out(who);
            }
            Event::Message(who, bytes) if who == controller => {
                let flow = Message::parse(&bytes).map_or(0, |message| message.host.0);
                let seq = self.effects.payloads().keep(bytes.into());
                let dst = HostId(who as u32);
                let packet = Packet { dst, flow, seq, kind: Kind::Control, ..Packet::default() };
                let cx = &mut Cx::new(self.now, &mut self.effects);
                self.controller.receive(PortId(0), packet, cx);
                self.carry_out(who);
            }
            Event::Wake(who, token) => self.call(who, |agent, cx| agent.expire(token, cx)),
            Event::Message(who, bytes) => self.call(who, |agent, cx| agent.control(&bytes, cx)),
        }
    }
    /// Runs until nothing is left to do. Returns whether this was before `end`.
    fn run(&mut self, end: Time) -> bool {
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            if at > end {
                return false;
            }
            self.now = at;
            self.handle(event);
        }
        true
    }
    /// The longest time during which two hosts send to the same destination.
    fn overlap(&self) -> Time {
        let sent = |host: &Host| host.sent.clone();
        let mut sent: Vec<_> = self
            .hosts
            .iter()
            .enumerate()
            .flat_map(|(at, host)| sent(host).into_iter().map(move |s| (s, at)))
            .collect();
        sent.sort_by_key(|((begin, _, _), _)| *begin);
        let mut worst = Time::ZERO;
        let mut last = vec![(Time::ZERO, usize::MAX); self.hosts.len()];
        for ((begin, end, packet), src) in sent {
            let last = &mut last[packet.dst.at()];
            if last.1 != src {
                worst = worst.max(last.0.since(begin));
            }
            *last = (end, src);
        }
        worst
    }
}

/// No small flows: every packet needs permission.
fn strict(mode: Mode) -> XcoSpec {
    XcoSpec { mode, slice: Time::ms(2), small_flow: Bytes(0), ..XcoSpec::default() }
}

#[test]
fn greedy_senders_take_turns() {
    for work_conserving in [true, false] {
        let mut world =
            World::new(&XcoSpec { work_conserving, ..strict(Mode::Timeslice) }, 6, 0.0, 1);
        for src in 0..5 {
            world.hosts[src].greedy = Some((5, 100_000));
            world.enqueue(src, 5, 60);
        }
        assert!(!world.run(Time::ms(203)), "greedy senders never end");
        let sent: Vec<usize> = world.hosts[..5].iter().map(|host| host.sent.len()).collect();
        let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
        assert!(most - least <= 170, "more than one slice apart: {sent:?}");
        // 203 ms of 1538 bytes at 1 Gbit/s, less what slices lose at their ends.
        assert!(sent.iter().sum::<usize>() > 16_000, "{sent:?}");
        assert!(
            world.overlap() <= LINK.time_for(Bytes(LENGTH.into())) + DELAY,
            "{}",
            world.overlap()
        );
        assert!(world.hosts.iter().all(|host| !host.agent.uncontrolled()));
    }
}

#[test]
fn slow_senders_leave_the_rest_to_greedy_ones() {
    let share = |work_conserving| {
        let mut world =
            World::new(&XcoSpec { work_conserving, ..strict(Mode::Timeslice) }, 4, 0.0, 1);
        world.hosts[0].greedy = Some((3, 100_000));
        world.enqueue(0, 3, 60);
        for us in (0..200_000).step_by(500) {
            for src in [1, 2] {
                world.at(Time::us(us), Event::Burst { src, dst: 3, count: 2 });
            }
        }
        world.run(Time::ms(200));
        world.hosts[0].sent.len()
    };
    // Of 16,254 packets the slow ones send 1,600.
    let (with, without) = (share(true), share(false));
    assert!(with > 12_000 && with > 3 * without / 2, "{with} with, {without} without");
}

#[test]
fn rates_share_the_link() {
    let mut world = World::new(&strict(Mode::RateLimit), 6, 0.0, 1);
    for src in 0..5 {
        world.hosts[src].greedy = Some((5, 100_000));
        world.enqueue(src, 5, 60);
    }
    world.run(Time::ms(100));
    for host in &world.hosts[..5] {
        // A fifth of the link: 100 ms are 1,625 packets.
        assert!((1_600..=1_630).contains(&host.sent.len()), "{}", host.sent.len());
    }
}

#[test]
fn without_a_controller_everything_leaves_uncontrolled() {
    let mut world = World::new(&strict(Mode::Timeslice), 3, 1.0, 1);
    world.enqueue(0, 2, 50);
    world.enqueue(1, 2, 50);
    assert!(world.run(Time::s(1)));
    for host in &world.hosts[..2] {
        assert!(host.agent.uncontrolled());
        assert_eq!((host.sent.len(), host.agent.account().held), (50, 0));
        assert!(host.sent[0].0 >= Time::ms(10), "not before the time-out");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever is lost, all packets leave in order, and then no more messages are sent.
    #[test]
    fn all_packets_leave(
        seed: u64, loss in 0.0f64..0.6, rates: bool, work_conserving: bool,
        bursts in prop::collection::vec((0usize..5, 0u32..5, 1u32..60, 0u64..20_000), 1..25),
    ) {
        let mode = if rates { Mode::RateLimit } else { Mode::Timeslice };
        let work_conserving = work_conserving || rates;
        let mut world = World::new(&XcoSpec { work_conserving, ..strict(mode) }, 5, loss, seed);
        for &(src, dst, count, us) in bursts.iter().filter(|(src, dst, _, _)| *src != *dst as usize) {
            world.at(Time::us(us), Event::Burst { src, dst, count });
        }
        prop_assert!(world.run(Time::s(20)), "still busy after 20 s");
        for host in &world.hosts {
            prop_assert_eq!(host.agent.account().held, 0);
            let mut next = [0; 5];
            for (_, _, packet) in &host.sent {
                prop_assert_eq!(packet.seq, next[packet.dst.at()]);
                next[packet.dst.at()] += 1;
            }
            prop_assert_eq!(&next[..], &host.queued[..]);
        }
    }

    /// As long as nothing is lost, no two hosts send to the same one at the same time.
    #[test]
    fn timeslices_do_not_overlap(
        seed: u64, work_conserving: bool,
        bursts in prop::collection::vec((0usize..5, 0u32..5, 1u32..300, 0u64..20_000), 1..40),
    ) {
        let spec = XcoSpec { work_conserving, ..strict(Mode::Timeslice) };
        let mut world = World::new(&spec, 5, 0.0, seed);
        for &(src, dst, count, us) in bursts.iter().filter(|(src, dst, _, _)| *src != *dst as usize) {
            world.at(Time::us(us), Event::Burst { src, dst, count });
        }
        prop_assert!(world.run(Time::s(20)), "still busy after 20 s");
        prop_assert!(world.hosts.iter().all(|host| !host.agent.uncontrolled()));
        let allowed = LINK.time_for(Bytes(LENGTH.into())) + DELAY;
        prop_assert!(world.overlap() <= allowed, "overlap of {}", world.overlap());
    }
}
