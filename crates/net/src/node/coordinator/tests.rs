use super::*;
use crate::node::Effects;
use crate::units::Bytes;

const CONTROLLER: HostId = HostId(9);

/// A coordinator with a port that is always free, and time in microseconds.
struct Bench {
    coordinator: Coordinator,
    effects: Effects,
    directives: u32,
    /// Number of the last message that has reached the controller.
    heard: u32,
}

impl Bench {
    fn new(spec: XcoSpec) -> Bench {
        let coordinator = spec.build().unwrap().coordinator(HostId(0), CONTROLLER);
        let mut bench = Bench { coordinator, effects: Effects::default(), directives: 0, heard: 0 };
        bench.coordinator.start(&mut Cx::new(Time::ZERO, &mut bench.effects));
        assert_eq!(bench.drain(0), ["hello"]);
        bench
    }
    fn enqueue(&mut self, us: u64, dst: u32, kind: Kind) {
        let packet = Packet { dst: HostId(dst), len: 1_538, kind, ..Packet::default() };
        self.coordinator.enqueue(packet, &mut Cx::new(Time::us(us), &mut self.effects));
    }
    fn directive(&mut self, us: u64, body: Body) {
        let message = Message { host: HostId(0), seq: self.directives, heard: self.heard, body };
        self.directives += 1;
        self.coordinator.control(&message.emit(), &mut Cx::new(Time::us(us), &mut self.effects));
    }
    fn window(&mut self, us: u64, dst: Option<u32>, duration: u64) {
        let (dst, duration) = (dst.map(HostId), Time::us(duration));
        self.directive(us, Body::Window { dst, duration, rate: None });
    }
    fn expire(&mut self, us: u64) {
        self.coordinator.expire(AGENT_TOKENS, &mut Cx::new(Time::us(us), &mut self.effects));
    }
    /// Everything that leaves now, in words.
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
                Body::Hello => "hello".into(),
                Body::Leave => "leave".into(),
                Body::Release(dst) => format!("release {}", dst.0),
                Body::Backlog(group) => {
                    format!("backlog {:?}", group.iter().map(|d| d.0).collect::<Vec<_>>())
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
    assert_eq!(bench.coordinator.census().held, 3);
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
    let foreign = Message { host: HostId(3), seq: 7, heard: 0, body: foreign }.emit();
    bench.coordinator.control(&foreign, &mut Cx::new(Time::us(20), &mut bench.effects));
    bench.coordinator.control(&[1, 2, 3], &mut Cx::new(Time::us(20), &mut bench.effects));
    assert!(bench.drain(30).is_empty());
}

#[test]
fn rates_are_kept_and_given_back() {
    let mut bench = Bench::new(XcoSpec { mode: Mode::RateLimit, ..strict() });
    (0..3).for_each(|_| bench.enqueue(0, 1, Kind::Data));
    bench.drain(0);
    // 1538 bytes at 12.304 Mbit/s: one packet per millisecond.
    bench.directive(0, Body::Rates(vec![(HostId(1), Rate(12_304_000)), (HostId(7), Rate(1))]));
    for us in [0, 1_000, 2_000] {
        assert_eq!(bench.drain(us), ["Data to 1"]);
        assert!(bench.drain(us + 999).is_empty());
        assert!(us == 2_000 || bench.effects.wakes.contains(&(Time::us(us + 1_000), AGENT_TOKENS)));
    }
    bench.expire(11_999);
    bench.drain(11_999);
    bench.expire(12_000);
    assert_eq!(bench.drain(12_000), ["release 1"]);
}

#[test]
fn more_destinations_than_fit_are_reported_in_turn() {
    let mut bench = Bench::new(strict());
    let count = MAX_DESTINATIONS as u32 + 5;
    (1..=count).for_each(|dst| bench.enqueue(0, dst, Kind::Data));
    let first = bench.coordinator.queues.backlog(MAX_DESTINATIONS);
    let second = bench.coordinator.queues.backlog(MAX_DESTINATIONS);
    assert_eq!(first.len(), MAX_DESTINATIONS);
    assert_eq!(second[..5], [361, 362, 363, 364, 365].map(HostId));
}

#[test]
fn leaving_is_said() {
    let mut bench = Bench::new(strict());
    bench.coordinator.leave(&mut Cx::new(Time::us(5), &mut bench.effects));
    assert_eq!(bench.drain(5), ["leave"]);
}
