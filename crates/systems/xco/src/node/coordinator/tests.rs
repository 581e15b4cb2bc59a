use super::*;
use crate::spec::{Mode, OnDemandSpec, XcoSpec};
use slotline_net::node::host::Spread;
use slotline_net::node::{Collected, Effects};
use slotline_net::topology::{TopologySpec, TreeSpec};
use slotline_net::transport::TransportSpec;
use slotline_net::transport::congestion::AlgorithmKind;
use slotline_net::units::Bytes;
use slotline_net::workload::{Carrier, Start, TrafficBuilder};

const CONTROLLER: HostId = HostId(9);

/// A coordinator with a port that is always free, and time in microseconds.
struct Bench {
    coordinator: Coordinator,
    effects: Effects,
    asked: Collected,
    directives: u32,
    /// Number of the last message that has reached the controller.
    heard: u32,
}

impl Bench {
    fn new(spec: XcoSpec) -> Bench {
        let coordinator = spec.build().unwrap().coordinator(HostId(0), CONTROLLER);
        let (effects, asked) = (Effects::default(), Collected::default());
        Bench { coordinator, effects, asked, directives: 0, heard: 0 }
    }
    fn enqueue(&mut self, us: u64, dst: u32, kind: Kind) {
        let packet = Packet { dst: HostId(dst), len: 1_538, kind, ..Packet::default() };
        self.coordinator.enqueue(packet, &mut Cx::new(Time::us(us), &mut self.effects));
    }
    fn directive(&mut self, us: u64, body: Body) {
        let (seq, heard) = (self.directives, self.heard);
        let message = Message { host: HostId(0), seq, heard, level: 0, term: 0, body };
        self.directives += 1;
        self.coordinator.control(&message.emit(), &mut Cx::new(Time::us(us), &mut self.effects));
    }
    fn window(&mut self, us: u64, dst: Option<u32>, duration: u64) {
        let (dst, duration) = (dst.map(HostId), Time::us(duration));
        self.directive(us, Body::Window { dst, duration, rate: None });
    }
    /// Whether the coordinator has requested a wake-up at this time.
    fn is_to_wake(&mut self, at: Time) -> bool {
        self.effects.drain(&mut self.asked);
        self.asked.wakes.contains(&(at, AGENT_TOKENS))
    }
    fn expire(&mut self, us: u64) {
        self.coordinator.expire(AGENT_TOKENS, &mut Cx::new(Time::us(us), &mut self.effects));
    }
    /// Everything that leaves now, as text.
    fn drain(&mut self, us: u64) -> Vec<String> {
        let mut left = Vec::new();
        loop {
            let mut cx = Cx::new(Time::us(us), &mut self.effects);
            let Some(packet) = self.coordinator.dequeue(&mut cx) else {
                break;
            };
            if packet.kind != Kind::Control {
                left.push(format!("{:?} to {}", packet.kind, packet.dst.0));
                continue;
            }
            assert_eq!((packet.dst, packet.class), (CONTROLLER, 7));
            let message = Message::parse(&cx.detach(&packet)).unwrap();
            self.heard = message.seq;
            left.push(match message.body {
                Body::Hello => continue,
                Body::Load { loads, .. } => {
                    format!("load {:?}", loads.iter().map(|(d, b)| (d.0, *b)).collect::<Vec<_>>())
                }
                Body::Leave => "leave".into(),
                Body::Release(dst) => format!("release {}", dst.0),
                Body::Backlog(group) => {
                    format!("backlog {:?}", group.iter().map(|f| f.dst.0).collect::<Vec<_>>())
                }
                body => panic!("{body:?} from a coordinator"),
            });
        }
        left
    }
}

fn strict() -> XcoSpec {
    XcoSpec { small_flow: Bytes(0), ..XcoSpec::default() }
}

#[test]
fn packets_wait_for_their_window() {
    let mut bench = Bench::new(strict());
    (0..3).for_each(|_| bench.enqueue(0, 1, Kind::Data));
    bench.enqueue(0, 2, Kind::Data);
    assert_eq!(bench.coordinator.queued(HostId(1)), 3 * 1_538);
    assert_eq!(bench.drain(0), ["backlog [1, 2]"], "one report for all");
    bench.window(100, Some(2), 1_000);
    assert_eq!(bench.drain(100), ["Data to 2"]);
    bench.window(110, None, 0);
    assert!(bench.drain(110).is_empty());
    bench.window(120, Some(1), 1_000);
    assert_eq!(bench.coordinator.account().held, 3);
    assert_eq!(bench.drain(120), ["Data to 1"; 3]);
    assert_eq!(bench.coordinator.queued(HostId(1)), 0);
}

#[test]
fn a_window_ends() {
    let mut bench = Bench::new(strict());
    bench.enqueue(0, 1, Kind::Data);
    bench.drain(0);
    bench.window(100, Some(1), 1_000);
    assert_eq!(bench.drain(1_100), [""; 0], "the end is not part of it");
    bench.expire(1_100);
    assert_eq!(bench.drain(1_100), [""; 0]);
}

#[test]
fn a_packet_is_over_when_its_window_is() {
    let bench = Bench::new(strict());
    let line = Rate(1_000_000_000);
    let mut bench = Bench { coordinator: bench.coordinator.with_line(line), ..bench };
    (0..4).for_each(|_| bench.enqueue(0, 1, Kind::Data));
    bench.drain(0);
    // A packet takes 12.3 us.
    bench.window(100, Some(1), 5);
    assert_eq!(bench.drain(100), ["Data to 1"], "one goes in any case");
    bench.expire(105);
    bench.window(200, Some(1), 1_000);
    bench.window(300, Some(1), 920);
    assert_eq!(bench.drain(300), ["Data to 1"; 3]);
    bench.enqueue(1_187, 1, Kind::Data);
    assert_eq!(bench.drain(1_187), ["Data to 1"]);
    bench.enqueue(1_188, 1, Kind::Data);
    assert_eq!(
        bench.drain(1_188),
        [""; 0],
        "it ends at 1,200 us, however late the permission is repeated"
    );
    bench.window(1_190, Some(1), 10_000);
    assert_eq!(bench.drain(1_190), ["Data to 1"], "another one");
}

#[test]
fn an_unused_window_is_given_back_after_the_hysteresis() {
    let mut bench = Bench::new(strict());
    bench.enqueue(0, 1, Kind::Data);
    bench.drain(0);
    bench.window(100, Some(1), 5_000);
    assert_eq!(bench.drain(100), ["Data to 1"]);
    bench.expire(149);
    assert!(bench.drain(149).is_empty());
    bench.enqueue(149, 1, Kind::Data);
    assert_eq!(bench.drain(149), ["Data to 1"], "no new report within a window");
    bench.expire(150);
    assert!(bench.drain(150).is_empty(), "it was used in the meantime");
    bench.expire(199);
    assert_eq!(bench.drain(199), ["release 1"]);
    bench.enqueue(200, 1, Kind::Data);
    assert_eq!(bench.drain(200), ["backlog [1]"]);
}

#[test]
fn a_window_that_crosses_its_return_is_void() {
    let mut bench = Bench::new(strict());
    bench.enqueue(0, 1, Kind::Data);
    bench.drain(0);
    let before = bench.heard;
    bench.window(100, Some(1), 5_000);
    bench.drain(100);
    bench.expire(150);
    assert_eq!(bench.drain(150), ["release 1"]);
    bench.heard = before;
    bench.window(160, Some(1), 5_000);
    bench.enqueue(170, 1, Kind::Data);
    assert_eq!(bench.drain(170), ["backlog [1]"], "nothing but the report");
    bench.window(180, Some(1), 5_000);
    assert_eq!(bench.drain(180), ["Data to 1"], "an answer to that");
}

#[test]
fn without_work_conservation_the_window_stays() {
    let mut bench = Bench::new(XcoSpec { work_conserving: false, ..strict() });
    bench.enqueue(0, 1, Kind::Data);
    bench.drain(0);
    bench.window(100, Some(1), 5_000);
    bench.drain(100);
    bench.expire(4_000);
    assert!(bench.drain(4_000).is_empty());
    bench.expire(5_100);
    assert_eq!(bench.drain(5_100), ["backlog []"], "the controller learns that nothing is left");
}

#[test]
fn a_window_renewed_in_vain_is_given_back() {
    let mut bench = Bench::new(XcoSpec { work_conserving: false, ..strict() });
    bench.enqueue(0, 1, Kind::Data);
    bench.drain(0);
    bench.window(0, Some(1), 10_000);
    bench.drain(100);
    bench.window(9_999, Some(1), 10_000);
    bench.expire(10_000);
    assert_eq!(bench.drain(10_000), ["backlog [1]"], "the repeated report");
    bench.expire(10_100);
    assert_eq!(bench.drain(10_100), ["release 1"]);
}

#[test]
fn small_flows_and_acknowledgements_are_exempt() {
    let mut bench = Bench::new(XcoSpec { small_flow: Bytes(3_100), ..XcoSpec::default() });
    (0..3).for_each(|_| bench.enqueue(0, 1, Kind::Data));
    (0..5).for_each(|_| bench.enqueue(0, 1, Kind::Ack));
    let mut expected = vec!["backlog [1]"];
    expected.extend(["Data to 1"; 2]);
    expected.extend(["Ack to 1"; 5]);
    assert_eq!(bench.drain(0), expected);
    assert_eq!(bench.coordinator.queued(HostId(1)), 1_538);
    bench.enqueue(10_000, 1, Kind::Data);
    assert!(bench.drain(10_000).is_empty(), "nothing overtakes what waits");
    bench.enqueue(10_000, 2, Kind::Data);
    assert_eq!(bench.drain(10_000), ["Data to 2"]);
}

#[test]
fn acknowledgements_can_be_controlled() {
    let mut bench = Bench::new(XcoSpec { exempt_acks: false, ..strict() });
    bench.enqueue(0, 1, Kind::Ack);
    assert_eq!(bench.drain(0), ["backlog [1]"]);
}

#[test]
fn reports_are_repeated_until_the_controller_is_given_up() {
    let mut bench = Bench::new(strict());
    bench.enqueue(0, 1, Kind::Data);
    assert_eq!(bench.drain(0), ["backlog [1]"]);
    for beat in 1..5 {
        bench.expire(beat * 10_000);
        assert_eq!(bench.drain(beat * 10_000), ["backlog [1]"]);
    }
    bench.expire(50_000);
    assert!(bench.coordinator.uncontrolled());
    assert_eq!(bench.drain(50_000), ["backlog [1]", "Data to 1"]);
    bench.enqueue(51_000, 1, Kind::Data);
    assert_eq!(bench.drain(51_000), ["Data to 1"]);
    bench.window(52_000, None, 0);
    assert!(!bench.coordinator.uncontrolled());
    bench.enqueue(53_000, 1, Kind::Data);
    assert_eq!(bench.drain(53_000), ["backlog [1]"], "under control again");
}

#[test]
fn late_and_foreign_directives_do_not_count() {
    let mut bench = Bench::new(strict());
    bench.enqueue(0, 1, Kind::Data);
    bench.drain(0);
    bench.window(10, None, 0);
    bench.directives = 0;
    bench.window(20, Some(1), 1_000);
    let foreign = Body::Window { dst: Some(HostId(1)), duration: Time::ms(1), rate: None };
    let foreign =
        Message { host: HostId(3), seq: 7, heard: 0, level: 0, term: 0, body: foreign }.emit();
    bench.coordinator.control(&foreign, &mut Cx::new(Time::us(20), &mut bench.effects));
    bench.coordinator.control(&[1, 2, 3], &mut Cx::new(Time::us(20), &mut bench.effects));
    assert!(bench.drain(30).is_empty());
}

#[test]
fn rates_are_held_and_given_back() {
    let mut bench = Bench::new(XcoSpec { mode: Mode::RateLimit, ..strict() });
    (0..3).for_each(|_| bench.enqueue(0, 1, Kind::Data));
    bench.drain(0);
    // 1538 bytes at 12.304 Mbit/s: one packet per millisecond.
    bench.directive(0, Body::Rates(vec![(HostId(1), Rate(12_304_000)), (HostId(7), Rate(1))]));
    for us in [0, 1_000, 2_000] {
        assert_eq!(bench.drain(us), ["Data to 1"]);
        assert!(bench.drain(us + 999).is_empty());
        assert!(us == 2_000 || bench.is_to_wake(Time::us(us + 1_000)));
    }
    bench.expire(11_999);
    bench.drain(11_999);
    bench.expire(12_000);
    assert_eq!(bench.drain(12_000), ["release 1"]);
}

#[test]
fn a_packet_that_arrives_before_its_rate_allows_it_gets_a_wake_up() {
    let mut bench = Bench::new(XcoSpec { mode: Mode::RateLimit, ..strict() });
    bench.enqueue(0, 1, Kind::Data);
    bench.drain(0);
    bench.directive(0, Body::Rates(vec![(HostId(1), Rate(12_304_000))]));
    assert!(bench.coordinator.has_more());
    assert_eq!(bench.drain(0), ["Data to 1"]);
    assert!(!bench.coordinator.has_more());
    bench.enqueue(300, 1, Kind::Data);
    assert!(bench.is_to_wake(Time::us(1_000)), "though the port has not asked");
    assert!(bench.drain(999).is_empty() && bench.coordinator.has_more());
    assert_eq!(bench.drain(1_000), ["Data to 1"]);
}

#[test]
fn more_destinations_than_fit_are_reported_in_turn() {
    let mut bench = Bench::new(strict());
    let count = MAX_FLOWS as u32 + 5;
    (1..=count).for_each(|dst| bench.enqueue(0, dst, Kind::Data));
    let first = bench.coordinator.queues.backlog(0, MAX_FLOWS);
    let second = bench.coordinator.queues.backlog(0, MAX_FLOWS);
    assert_eq!(first.len(), MAX_FLOWS);
    let second: Vec<u32> = second[..5].iter().map(|flow| flow.dst.0).collect();
    assert_eq!(second, [185, 186, 187, 188, 189]);
}

#[test]
fn leaving_is_said() {
    let mut bench = Bench::new(strict());
    bench.coordinator.leave(&mut Cx::new(Time::us(5), &mut bench.effects));
    assert_eq!(bench.drain(5), [""; 0], "it has not joined");
    bench.coordinator.join(&mut Cx::new(Time::us(5), &mut bench.effects));
    bench.enqueue(6, 1, Kind::Data);
    assert_eq!(bench.drain(6), ["backlog [1]"]);
    bench.window(6, Some(1), 100);
    bench.coordinator.leave(&mut Cx::new(Time::us(7), &mut bench.effects));
    bench.enqueue(8, 2, Kind::Data);
    bench.enqueue(8, 2, Kind::Ack);
    bench.window(9, Some(2), 100);
    assert_eq!(bench.drain(9), ["leave"], "and nothing else, permitted or not");
    bench.expire(5_000);
    assert_eq!(bench.drain(5_000), [""; 0]);
    bench.coordinator.join(&mut Cx::new(Time::us(6_000), &mut bench.effects));
    assert_eq!(bench.drain(6_000), ["backlog [1, 2]", "Ack to 2"]);
}

/// The kinds of control messages that leave now, with their stations.
fn messages(coordinator: &mut Coordinator, us: u64, effects: &mut Effects) -> Vec<(u32, Message)> {
    let mut cx = Cx::new(Time::us(us), effects);
    let mut out = Vec::new();
    while let Some(packet) = coordinator.dequeue(&mut cx) {
        if packet.kind == Kind::Control {
            out.push((packet.dst.0, Message::parse(&cx.detach(&packet)).unwrap()));
        }
    }
    out
}

#[test]
fn a_host_joins_with_its_first_report_and_informs_the_standby() {
    let spec = strict().build().unwrap();
    let mut coordinator = Coordinator::below(&spec, HostId(0), vec![vec![CONTROLLER, HostId(10)]]);
    let mut effects = Effects::default();
    coordinator.start(&mut Cx::new(Time::ZERO, &mut effects));
    assert!(messages(&mut coordinator, 0, &mut effects).is_empty());
    let packet = Packet { dst: HostId(1), len: 1_538, ..Packet::default() };
    coordinator.enqueue(packet, &mut Cx::new(Time::us(1), &mut effects));
    let sent = messages(&mut coordinator, 1, &mut effects);
    let sent: Vec<_> = sent.into_iter().map(|(to, m)| (to, m.seq, m.body == Body::Hello)).collect();
    assert_eq!(sent, [(9, 0, true), (10, 0, true), (9, 1, false), (10, 1, false)]);
}

#[test]
fn a_flow_waits_until_its_queue_is_set_up() {
    let mut bench = Bench::new(XcoSpec { setup: Time::ms(75), ..strict() });
    bench.enqueue(0, 1, Kind::Data);
    bench.enqueue(10, 1, Kind::Data);
    assert!(bench.drain(10).is_empty());
    assert_eq!(bench.coordinator.account().held, 2);
    assert!(bench.is_to_wake(Time::ms(75)));
    bench.expire(75_000);
    assert_eq!(bench.drain(75_000), ["backlog [1]"]);
    bench.window(75_100, Some(1), 1_000);
    assert_eq!(bench.drain(75_100), ["Data to 1"; 2]);
    bench.expire(76_100);
    bench.drain(76_100);
    bench.enqueue(80_000, 1, Kind::Data);
    assert_eq!(bench.drain(80_000), ["backlog [1]"], "once is enough");
}

/// A host measures its loads, and holds back only packets for the listed destinations.
#[test]
fn on_demand_only_what_is_named_is_held_back() {
    let mut bench = Bench::new(XcoSpec { on_demand: Some(OnDemandSpec::default()), ..strict() });
    for dst in [1, 2] {
        bench.enqueue(0, dst, Kind::Data);
    }
    assert_eq!(bench.drain(0), ["Data to 1", "Data to 2"]);
    bench.expire(9_999);
    assert!(bench.drain(9_999).is_empty());
    bench.expire(10_000);
    assert_eq!(bench.drain(10_000), ["load [(1, 1538), (2, 1538)]"]);
    bench.directive(10_100, Body::Controlled(vec![HostId(2)]));
    for dst in [1, 2] {
        bench.enqueue(10_200, dst, Kind::Data);
    }
    assert_eq!(bench.drain(10_200), ["backlog [2]", "Data to 1"]);
    bench.window(10_300, Some(2), 1_000);
    assert_eq!(bench.drain(10_300), ["Data to 2"]);
    bench.window(10_400, None, 0);
    bench.enqueue(10_500, 2, Kind::Data);
    assert_eq!(bench.drain(10_500), ["backlog [2]"]);
    bench.directive(10_600, Body::Controlled(Vec::new()));
    assert_eq!(bench.drain(10_600), ["Data to 2"], "free again");
    assert_eq!(bench.coordinator.queued(HostId(2)), 0);
    bench.expire(20_000);
    assert_eq!(bench.drain(20_000), ["load [(2, 3076), (1, 1538)]"]);
    bench.expire(30_000);
    assert!(bench.drain(30_000).is_empty(), "a silent host says nothing");
}

/// Two connections of different machines: each is reported, and they share a window evenly.
#[test]
fn machines_are_distinguished() {
    let mut builder = TrafficBuilder::new(3);
    for from in [1, 2] {
        builder.between(Machines { from, to: 7 });
        let conn = builder.connect(HostId(0), HostId(1), Carrier::Tcp, 0).unwrap();
        builder.flow(conn, 1, Start::At(Time::ZERO), None, 0).unwrap();
    }
    let transport = TransportSpec::of(AlgorithmKind::NewReno).build().unwrap();
    let plan =
        Plan::new(builder.finish().unwrap(), transport, Spread::PerPair, (0..3).collect(), 1)
            .unwrap();
    let spec = strict().build().unwrap();
    let mut coordinator = spec.coordinator(HostId(0), CONTROLLER).with_machines(&Arc::new(plan));
    let mut effects = Effects::default();
    // Three packets of one machine before one of the other.
    for flow in [0, 0, 0, 1] {
        let packet = Packet { dst: HostId(1), len: 1_538, flow, ..Packet::default() };
        coordinator.enqueue(packet, &mut Cx::new(Time::ZERO, &mut effects));
    }
    assert_eq!([0, 1].map(|conn| coordinator.queued_with(HostId(1), conn)), [3 * 1_538, 1_538]);
    let sent = messages(&mut coordinator, 0, &mut effects);
    let Some((_, Message { body: Body::Backlog(flows), .. })) = sent.last() else {
        panic!("{sent:?}")
    };
    let machines: Vec<_> = flows.iter().map(|f| (f.machines.from, f.machines.to)).collect();
    assert_eq!(machines, [(1, 7), (2, 7)]);
    let window = Body::Window { dst: Some(HostId(1)), duration: Time::ms(1), rate: None };
    let window = Message { host: HostId(0), seq: 0, heard: 9, level: 0, term: 0, body: window };
    coordinator.control(&window.emit(), &mut Cx::new(Time::us(1), &mut effects));
    let mut cx = Cx::new(Time::us(1), &mut effects);
    let sent: Vec<u32> =
        std::iter::from_fn(|| coordinator.dequeue(&mut cx)).map(|packet| packet.flow).collect();
    assert_eq!(sent, [0, 1, 0, 0]);
}

/// Each controller decides about its own destinations.
#[test]
fn levels_are_independent() {
    let tree = TopologySpec::Tree(TreeSpec::new(2, 2)).build().unwrap();
    let levels = Arc::new(Levels::new(&tree, 4).unwrap());
    let spec = strict().build().unwrap();
    let controllers = vec![vec![HostId(4)], vec![HostId(5)]];
    let mut coordinator = Coordinator::below(&spec, HostId(0), controllers).with_levels(levels);
    let mut effects = Effects::default();
    for dst in [1, 2] {
        let packet = Packet { dst: HostId(dst), len: 1_538, ..Packet::default() };
        coordinator.enqueue(packet, &mut Cx::new(Time::ZERO, &mut effects));
    }
    let sent = messages(&mut coordinator, 0, &mut effects);
    let sent: Vec<_> = sent.iter().map(|(to, m)| (*to, m.level, m.body == Body::Hello)).collect();
    assert_eq!(sent, [(4, 0, true), (4, 0, false), (5, 1, true), (5, 1, false)]);
    let mut directive = |level, dst: Option<u32>, us| {
        let rate = Some(Rate(1_000_000_000));
        let body = Body::Window { dst: dst.map(HostId), duration: Time::ms(1), rate };
        let message = Message { host: HostId(0), seq: us as u32, heard: 9, level, term: 0, body };
        coordinator.control(&message.emit(), &mut Cx::new(Time::us(us), &mut effects));
        let mut cx = Cx::new(Time::us(us), &mut effects);
        let sent = std::iter::from_fn(|| coordinator.dequeue(&mut cx));
        sent.filter(|p| p.kind != Kind::Control).map(|p| p.dst.0).collect::<Vec<_>>()
    };
    assert_eq!(directive(0, Some(1), 1), [1]);
    assert_eq!(directive(0, None, 2), [0; 0]);
    assert_eq!(directive(1, Some(2), 3), [2], "one controller may permit what the other withdraws");
    assert_eq!(directive(7, Some(2), 4), [0; 0], "there is no such level");
}
