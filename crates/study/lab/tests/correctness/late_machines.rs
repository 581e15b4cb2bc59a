//! Daemons on slow machines, over a network that loses, delays and reorders messages: every packet that a host holds
//! leaves in the end.

use proptest::prelude::*;
use slotline_envelope::KeyPair;
use slotline_lab::live::{LiveNetwork, recorded_controller};
use slotline_live::agent::AgentSetup;
use slotline_live::config::Config;
use slotline_live::record::{Header, Recorder, Sent};
use slotline_live::replay::{Log, replay};
use slotline_live::seat::{Io, Seat};
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::Handover;
use slotline_net::time::Time;
use slotline_net::topology::End;
use slotline_scenario::Scenario;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

const HOSTS: u32 = 3;
const SCHEMES: [&str; 4] = [
    "kind = 'fastpass', slot = '500us', lead = '2ms', batch = 4, timeout = '5ms', gap = '100us'",
    "kind = 'fastpass', slot = '100us', lead = '20ms', timeout = '5ms', gap = '100us'",
    "kind = 'tdma', slot = '2ms', guard = '200us', round = '20ms', lead = '3ms'",
    "kind = 'xco'",
];

/// The disturbances of messages and machines.
#[derive(Clone, Copy, Debug)]
struct Disturbance {
    /// The percentage of messages that are lost.
    loss: u64,
    /// The longest delay of a message, in microseconds.
    delay: u64,
    /// The longest pause of a machine, in microseconds.
    stall: u64,
    seed: u64,
}

fn key(number: u32) -> KeyPair {
    KeyPair::from_private([number as u8 + 1; 32])
}

/// The daemons' nodes of a network with one controller.
fn network(control: &str) -> LiveNetwork {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("slotline-late-{}-{number}.toml", std::process::id());
    let path = std::env::temp_dir().join(name);
    let scenario = format!(
        "name = 'late'\nend.at = '1s'\nfabric = {{ kind = 'star', hosts = {HOSTS}, rate = '200Mbps' }}\n\
         [[scheme]]\nname = 's'\ncontrol = {{ {control} }}\n[[workload]]\nkind = 'bulk'\nsenders = '1'\nreceivers = '0'\n"
    );
    std::fs::write(&path, scenario).unwrap();
    let host = |n| {
        format!("[[host]]\nname = 'h{n}'\naddress = ['10.0.0.{n}']\nkey = '{}'\n", key(n).public())
    };
    let text = format!(
        "scenario = {path:?}\nnetwork = ['10.0.0.0/24']\n{}[[arbiter]]\naddress = '10.0.1.1'\nkey = '{}'\n",
        (0..HOSTS).map(host).collect::<String>(),
        key(HOSTS).public()
    );
    let network = LiveNetwork::new(Config::parse(&text, &path).unwrap()).unwrap();
    std::fs::remove_file(path).unwrap();
    network
}

/// Messages in flight: by arrival, the destination and the payload.
#[derive(Default)]
struct Wires {
    in_flight: BTreeMap<(Time, u64), (Packet, Vec<u8>)>,
    sent: u64,
}

/// The random part of a run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most.max(1)
    }
}

/// A network that delays or loses the messages of a node.
struct LossyNetwork<'a> {
    sent: Sent,
    wires: &'a mut Wires,
    random: &'a mut Random,
    disturbance: Disturbance,
    now: Time,
}

impl Io for LossyNetwork<'_> {
    fn send(&mut self, far: End, packet: &Packet, payload: &[u8]) -> io::Result<bool> {
        self.sent.add(far, packet, payload);
        let arrives = self.now.after(Time::us(20 + self.random.below(self.disturbance.delay)));
        self.wires.sent += 1;
        if packet.kind == Kind::Control && self.random.below(100) >= self.disturbance.loss {
            self.wires.in_flight.insert((arrives, self.wires.sent), (*packet, payload.to_vec()));
        }
        Ok(true)
    }
}

/// A packet of a host for another one.
fn packet(setup: &AgentSetup, to: u32, stamp: u32) -> Packet {
    let plan = setup.role.plan();
    let to_host = |conn: &u32| plan.traffic.conns[*conn as usize].dst == HostId(to);
    let flow = plan.sends(setup.me).find(to_host).unwrap();
    let (len, entropy) = (plan.transport.datagram_len(1_400), plan.entropy(flow));
    let (dst, kind) = (HostId(to), Kind::Datagram);
    Packet { dst, flow, len, entropy, kind, stamp, ..Packet::default() }
}

/// Hands packets to hosts for a while, and returns the number of those that never left. The log of the controller replays.
fn stuck(control: &str, disturbance: Disturbance) -> u64 {
    let network = network(control);
    let mut random = Random(disturbance.seed);
    let agents: Vec<_> =
        (0..HOSTS).map(|n| network.agent(&format!("h{n}"), key(n)).unwrap()).collect();
    let arbiter = network.arbiter(0, key(HOSTS)).unwrap();
    let mut seats: Vec<Seat> = Vec::new();
    for setup in &agents {
        let mut seat =
            Seat::new((setup.make)(setup.me.0.into()).unwrap(), &setup.wires, Time::ZERO);
        seat.track_frames();
        seats.push(seat);
    }
    seats.push(Seat::new((arbiter.make)(9).unwrap(), &arbiter.wires, Time::ZERO));
    let mut now = Time::ms(1);
    seats.iter_mut().for_each(|seat| seat.start(now));
    let (scenario, scheme) = arbiter.scenario.clone();
    let (station, incarnation, began) = (arbiter.me.0, 9, now.as_ps());
    let header = Header { program: "0".into(), scenario, scheme, station, incarnation, began };
    let mut recorder = Recorder::new(Vec::new());
    recorder.begin(&header);
    let mut wires = Wires::default();
    let (mut given, mut left) = (0, 0);
    let mut wakes = vec![now; seats.len()];
    while now < Time::s(4) {
        now = now.after(Time::us(100));
        if now < Time::s(1) && random.below(5) == 0 {
            let (from, to) =
                (random.below(HOSTS.into()) as usize, random.below(HOSTS.into()) as u32);
            if from as u32 != to {
                given += 1;
                let packet = packet(&agents[from], to, given as u32);
                seats[from].receive(PortId(0), packet, &[], now);
            }
        }
        for at in 0..seats.len() {
            if wakes[at] > now {
                continue; // this machine does nothing now
            }
            if random.below(200) == 0 {
                wakes[at] = now.after(Time::us(random.below(disturbance.stall)));
                continue;
            }
            let due: Vec<_> = wires
                .in_flight
                .iter()
                .filter(|((arrives, _), (packet, _))| *arrives <= now && packet.dst.at() == at)
                .map(|(key, _)| *key)
                .collect();
            for key in due {
                let (packet, payload) = wires.in_flight.remove(&key).unwrap();
                if at == arbiter.me.at() {
                    recorder.heard(&packet, &payload, now);
                }
                seats[at].receive(PortId(0), packet, &payload, now);
            }
            let (sent, wires, random) = (Sent::default(), &mut wires, &mut random);
            let mut lossy = LossyNetwork { sent, wires, random, disturbance, now };
            seats[at].step(now, &mut lossy).unwrap();
            if at == arbiter.me.at() {
                recorder.stepped(lossy.sent, now);
            }
            let leaves = |(_, what): &(Time, Handover)| matches!(what, Handover::Left(_));
            left += seats[at].handovers().filter(leaves).count() as u64;
            left += seats[at].lost_frames().count() as u64;
        }
    }
    assert!(given > 200, "packets were handed over");
    assert!(replays(&recorder.into_inner()) > 100);
    given - left
}

/// The messages of a log that its replay sends, too: all of them.
fn replays(log: &[u8]) -> u64 {
    let mut log = Log::open(log).unwrap();
    let loaded = Scenario::parse(Path::new("log"), log.header.scenario.clone()).unwrap();
    let (mut seat, links) = recorded_controller(&loaded, &log.header).unwrap();
    replay(&mut log, &mut seat, &links, true).unwrap().sent
}

/// The messages that a controller sends to hosts within 100 ms, after messages that it receives at once.
fn answers(network: &LiveNetwork, messages: &[(Packet, Vec<u8>)]) -> Vec<(HostId, Vec<u8>)> {
    let arbiter = network.arbiter(0, key(HOSTS)).unwrap();
    let mut seat = Seat::new((arbiter.make)(9).unwrap(), &arbiter.wires, Time::ZERO);
    let mut heard = SentMessages::default();
    seat.start(Time::ms(1));
    for (packet, payload) in messages {
        seat.receive(PortId(0), *packet, payload, Time::ms(1));
    }
    for us in (1_000..101_000).step_by(100) {
        seat.step(Time::us(us), &mut heard).unwrap();
    }
    heard.0.into_iter().map(|(packet, payload)| (packet.dst, payload)).collect()
}

/// Records the messages of a node.
#[derive(Default)]
struct SentMessages(Vec<(Packet, Vec<u8>)>);

impl Io for SentMessages {
    fn send(&mut self, _far: End, packet: &Packet, payload: &[u8]) -> io::Result<bool> {
        if packet.kind == Kind::Control {
            self.0.push((*packet, payload.to_vec()));
        }
        Ok(true)
    }
}

/// A message of a host is ignored if the key belongs to another host, because its number comes with the packet.
#[test]
fn nobody_speaks_for_another_host() {
    for control in SCHEMES {
        let network = network(control);
        let setup = network.agent("h0", key(0)).unwrap();
        let mut seat = Seat::new((setup.make)(1).unwrap(), &setup.wires, Time::ZERO);
        seat.start(Time::ms(1));
        let packets = (0..100).map(|stamp| packet(&setup, 1, stamp));
        packets.for_each(|packet| seat.receive(PortId(0), packet, &[], Time::ms(1)));
        let mut said = SentMessages::default();
        for us in (1_000..201_000).step_by(100) {
            seat.step(Time::us(us), &mut said).unwrap();
        }
        assert!(!said.0.is_empty(), "{control}: a host with packets says so");
        let forged: Vec<_> = said
            .0
            .iter()
            .cloned()
            .map(|(packet, payload)| (Packet { flow: 2, ..packet }, payload))
            .collect();
        let silence = answers(&network, &[]);
        assert_eq!(answers(&network, &forged), silence, "{control}");
        assert_ne!(answers(&network, &said.0), silence, "{control}");
    }
}

/// An arbiter without hosts that send is idle. Its log has no record of that time.
#[test]
fn a_log_may_have_hours_without_a_record() {
    let network = network(SCHEMES[0]);
    let setup = network.arbiter(0, key(HOSTS)).unwrap();
    let (scenario, scheme) = setup.scenario.clone();
    let (station, incarnation, began) = (setup.me.0, 9, Time::ms(1).as_ps());
    let header = Header { program: "0".into(), scenario, scheme, station, incarnation, began };
    let mut recorder = Recorder::new(Vec::new());
    recorder.begin(&header);
    recorder.stepped(Sent::default(), Time::s(20 * 3_600));
    let bytes = recorder.into_inner();
    let mut log = Log::open(&bytes).unwrap();
    let loaded = Scenario::parse(Path::new("log"), header.scenario.clone()).unwrap();
    let (mut seat, links) = recorded_controller(&loaded, &header).unwrap();
    let done = replay(&mut log, &mut seat, &links, true).unwrap();
    assert!(done.span > Time::s(19 * 3_600) && !done.cut);
}

/// Errors that appear only when the node is made are reported before the daemon starts.
#[test]
fn a_scheme_that_does_not_fit_the_network_is_refused() {
    let network = network("kind = 'fastpass', slot = '1us'");
    for error in [network.agent("h0", key(0)).err(), network.arbiter(0, key(HOSTS)).err()] {
        let error = error.expect("a timeslot too short for a packet").to_string();
        assert!(error.contains("`slot` is 1us"), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn every_packet_leaves(scheme in 0usize..SCHEMES.len(), loss in 0u64..30, delay in 1u64..20_000, stall in 1u64..30_000, seed: u64) {
        let disturbance = Disturbance { loss, delay, stall, seed };
        prop_assert_eq!(stuck(SCHEMES[scheme], disturbance), 0);
    }
}
