use super::*;
use crate::spec::{Mode, XcoSpec};
use slotline_net::node::{Collected, Effects};
use slotline_net::scheme::network::Network;
use slotline_net::units::Rate;
use slotline_net::workload::Machines;

const HERE: HostId = HostId(3);

struct Bench {
    controller: Controller,
    effects: Effects,
    asked: Collected,
}

impl Bench {
    /// Three hosts and the controller at one switch.
    fn new(mode: Mode) -> Bench {
        let star = Network::new(4, vec![Rate(1_000_000_000); 8], |src, dst, out| {
            out.extend([src.0, 4 + dst.0]);
        });
        let spec = XcoSpec { mode, ..XcoSpec::default() };
        let controller = spec.build().unwrap().controller(HERE, star);
        Bench { controller, effects: Effects::default(), asked: Collected::default() }
    }
    fn say(&mut self, us: u64, host: u32, seq: u32, body: Body) {
        self.bytes(
            us,
            host,
            Message { host: HostId(host), seq, heard: 0, level: 0, term: 0, body }.emit(),
        );
    }
    fn bytes(&mut self, us: u64, from: u32, bytes: Vec<u8>) {
        let mut cx = Cx::new(Time::us(us), &mut self.effects);
        let packet = cx.attach((HostId(from), HERE), bytes, ETHERNET_OVERHEAD, CONTROL_CLASS);
        self.controller.receive(PortId(0), packet, &mut cx);
    }
    /// Runs all wake-ups up to a time, and returns what is sent.
    fn until(&mut self, us: u64) -> Vec<(u32, u32, Body)> {
        self.effects.drain(&mut self.asked);
        while let Some(at) = self.asked.wakes.iter().map(|(at, _)| *at).min() {
            if at > Time::us(us) {
                break;
            }
            let first = self.asked.wakes.iter().position(|wake| wake.0 == at);
            let (at, token) = self.asked.wakes.remove(first.unwrap());
            self.controller.expire(token, &mut Cx::new(at, &mut self.effects));
            self.effects.drain(&mut self.asked);
        }
        let sends = std::mem::take(&mut self.asked.sends);
        let read = |(_, packet): (PortId, Packet)| {
            let message = Message::parse(&self.effects.payloads().release(packet.seq)).unwrap();
            let about = message.host == packet.dst || message.body == Body::Alive;
            assert!(about && packet.class == CONTROL_CLASS);
            (message.host.0, message.seq, message.body)
        };
        sends.into_iter().map(read).collect()
    }
}

fn backlog(dst: u32) -> Body {
    Body::Backlog(vec![V2v { dst: HostId(dst), machines: Machines::default() }])
}
fn window(dst: Option<u32>, us: u64) -> Body {
    Body::Window { dst: dst.map(HostId), duration: Time::us(us), rate: None }
}

#[test]
fn directives_take_the_decision_time() {
    let mut bench = Bench::new(Mode::Timeslice);
    bench.say(0, 0, 0, backlog(2));
    bench.say(4, 1, 0, backlog(2));
    assert_eq!(bench.until(9), []);
    assert_eq!(bench.until(10), [(0, 0, window(Some(2), 10_000)), (1, 0, window(None, 0))]);
    // The slice ends at 10,010 us.
    assert_eq!(bench.until(10_019), []);
    assert_eq!(bench.until(10_020), [(1, 1, window(Some(2), 10_000))]);
    let counters = bench.controller.counters();
    assert_eq!((counters.decisions, counters.directives, counters.reports), (2, 3, 2));
    assert_eq!((counters.bytes_sent, counters.bytes_received), (3 * 84, 2 * 84));
    assert_eq!(bench.controller.account(), PacketAccount { created: 3, consumed: 2, held: 0 });
}

#[test]
fn late_and_broken_messages_do_not_count() {
    let mut bench = Bench::new(Mode::Timeslice);
    bench.say(0, 0, 5, Body::Backlog(Vec::new()));
    bench.say(1, 0, 4, backlog(2));
    bench.say(2, 77, 0, backlog(2));
    bench.say(3, 0, 6, window(None, 0));
    bench.bytes(4, 1, vec![1, 2, 3]);
    assert_eq!(bench.until(20), [(0, 0, window(None, 0))]);
    assert_eq!(bench.controller.counters().ignored, 4);
    bench.say(30, 0, 0, Body::Hello);
    bench.say(31, 0, 1, backlog(2));
    assert_eq!(bench.until(50), [(0, 1, window(Some(2), 10_000))], "it has started again");
}

#[test]
fn silent_hosts_are_forgotten() {
    let mut bench = Bench::new(Mode::RateLimit);
    let rates = |rate| Body::Rates(vec![(HostId(2), Rate(rate))]);
    bench.say(0, 0, 0, backlog(2));
    bench.say(0, 1, 0, backlog(2));
    let half = [(0, 0, rates(500_000_000)), (1, 0, rates(500_000_000))];
    assert_eq!(bench.until(20), half);
    // Only host 1 goes on, up to 100 ms.
    let mut sent = Vec::new();
    for beat in 1..=10 {
        bench.say(beat * 10_000, 1, beat as u32, backlog(2));
        sent.extend(bench.until(beat * 10_000 + 20));
    }
    assert_eq!(sent.last().map(|(host, _, body)| (*host, body)), Some((1, &rates(1_000_000_000))));
    bench.until(1_000_000);
    assert!(bench.asked.wakes.is_empty(), "no sweeps when nobody is busy");
    assert_eq!(bench.controller.counters().silent, 2);
}

#[test]
fn a_host_without_backlog_is_not_silent() {
    let mut bench = Bench::new(Mode::Timeslice);
    let both = [0, 1].map(|dst| V2v { dst: HostId(dst), machines: Machines::default() });
    // Host 0 gives back all that it waited for, host 1 leaves, host 2 gives back one of two.
    bench.say(0, 0, 0, backlog(2));
    bench.say(0, 1, 0, backlog(2));
    bench.say(0, 2, 0, Body::Backlog(both.to_vec()));
    bench.say(9, 0, 1, Body::Release(HostId(2)));
    bench.say(9, 1, 1, Body::Leave);
    bench.say(9, 2, 1, Body::Release(HostId(1)));
    bench.until(1_000_000);
    assert_eq!(bench.controller.counters().silent, 1);
}

#[test]
fn packets_for_others_are_dropped() {
    let mut bench = Bench::new(Mode::Timeslice);
    let mut cx = Cx::new(Time::ZERO, &mut bench.effects);
    let packet = cx.attach((HERE, HostId(1)), vec![0; 12], ETHERNET_OVERHEAD, CONTROL_CLASS);
    bench.controller.receive(PortId(0), packet, &mut cx);
    assert_eq!(Collected::of(&mut bench.effects).dropped[DropReason::Misrouted as usize], 1);
    assert_eq!(bench.controller.account(), PacketAccount::default());
}

/// Two controllers: the messages that the second receives and sends.
#[test]
fn the_standby_is_silent_until_the_other_is() {
    let star = Network::new(4, vec![Rate(1_000_000_000); 8], |src, dst, out| {
        out.extend([src.0, 4 + dst.0]);
    });
    let xco = XcoSpec::default().build().unwrap();
    let standby = xco.standby(HostId(2), false);
    let controller = xco.controller(HERE, star).with_standby(standby);
    let mut bench = Bench { controller, effects: Effects::default(), asked: Collected::default() };
    bench.controller.start(&mut Cx::new(Time::ZERO, &mut bench.effects));
    let alive = |term| {
        Message { host: HostId(2), seq: 0, heard: 0, level: 0, term, body: Body::Alive }.emit()
    };
    for ms in [2, 4, 6] {
        bench.bytes(ms * 1_000, 2, alive(0));
        bench.say(ms * 1_000, 0, ms as u32, backlog(1));
        assert_eq!(bench.until(ms * 1_000 + 500), [], "the other is in control");
    }
    // A slice of 10 ms and two beats of 2.5 ms after 6 ms, at the next beat.
    assert_eq!(bench.until(22_499), []);
    let taken = bench.until(22_500);
    assert!(matches!(taken[..], [(_, _, Body::Alive)]), "{taken:?}");
    assert!(bench.controller.is_active());
    bench.say(23_000, 0, 9, backlog(1));
    assert_eq!(bench.until(23_010)[..1], [(0, 0, window(Some(1), 10_000))]);
    assert_eq!(bench.controller.counters().take_overs, 1);
    bench.bytes(24_000, 2, alive(0));
    assert!(bench.controller.is_active(), "the other has started again and will learn");
    bench.bytes(24_100, 2, alive(2));
    assert!(!bench.controller.is_active());
    bench.say(24_200, 0, 10, backlog(1));
    assert_eq!(bench.until(25_000), []);
}
