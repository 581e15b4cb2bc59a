//! The daemons of circuits: switches of racks whose clocks differ and that begin at any time, and the controller, which
//! tells a circuit switch its circuits.

use crate::common::Random;
use proptest::prelude::*;
use slotline_envelope::KeyPair;
use slotline_hybrid::wire::ToldCircuit;
use slotline_lab::live::{LiveNetwork, recorded_controller};
use slotline_live::agent::AgentSetup;
use slotline_live::arbiter::{Arbiter, ArbiterSetup};
use slotline_live::channel::Channel;
use slotline_live::clock::Local;
use slotline_live::config::Config;
use slotline_live::lease::Witness;
use slotline_live::message::Message;
use slotline_live::record::{Header, Recorder, Sent};
use slotline_live::replay::{Log, replay};
use slotline_live::role::{Departure, Role};
use slotline_live::seat::{Io, Seat};
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, NodeId, PortId};
use slotline_net::time::Time;
use slotline_net::topology::End;
use slotline_scenario::Scenario;
use std::collections::BTreeMap;
use std::io;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const RACKS: u32 = 4;
const SCHEDULERS: [&str; 4] = [
    "scheduler = 'rotor', day = '20ms'",
    "scheduler = 'solstice', week = '200ms', day = '20ms', gather = '4ms'",
    "scheduler = 'max-weight', week = '100ms', day = '20ms', hold = '40ms', gather = '4ms'",
    "scheduler = 'eclipse', week = '200ms', day = '20ms', gather = '4ms', report-ahead = '30ms'",
];

fn key(number: u32) -> KeyPair {
    KeyPair::from_private([number as u8 + 1; 32])
}

/// The configuration and the scenario of racks, with changes to both.
fn try_network(scheduler: &str, scheme: &str, config: &str) -> Result<LiveNetwork, String> {
    let arbiter = format!("[[arbiter]]\naddress = '10.0.1.1'\nkey = '{}'\n", key(RACKS).public());
    with_arbiters(scheduler, scheme, &format!("circuits.command = ['true']\n{config}"), &arbiter)
}

/// The same, with these arbiters.
fn with_arbiters(
    scheduler: &str,
    scheme: &str,
    config: &str,
    arbiters: &str,
) -> Result<LiveNetwork, String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path =
        std::env::temp_dir().join(format!("slotline-racks-{}-{number}.toml", std::process::id()));
    let scenario = format!(
        "name = 'racks'\nend.at = '1s'\n[fabric]\nkind = 'hybrid'\nracks = {RACKS}\nhosts-per-rack = 2\n\
         packet = {{ rate = '20Mbps' }}\ncircuits = {{ rate = '200Mbps', reconfiguration = '10ms' }}\n\
         [[scheme]]\nname = 's'\n{scheme}\ncontrol = {{ kind = 'circuits', {scheduler} }}\n\
         [[workload]]\nkind = 'bulk'\nsenders = '1'\nreceivers = '0'\n"
    );
    std::fs::write(&path, scenario).unwrap();
    let rack = |n| {
        format!(
            "[[rack]]\nname = 'tor{n}'\naddress = '127.0.1.{n}'\nhosts = ['10.1.{n}.0/24']\nkey = '{}'\n",
            key(n).public()
        )
    };
    let text = format!(
        "scenario = {path:?}\n{config}\n{}{arbiters}",
        (0..RACKS).map(rack).collect::<String>(),
    );
    let config = Config::parse(&text, &path).map_err(|error| error.to_string());
    let network = config.and_then(|config| LiveNetwork::new(config).map_err(|e| e.to_string()));
    std::fs::remove_file(path).unwrap();
    network
}

fn network(scheduler: &str) -> LiveNetwork {
    try_network(scheduler, "", "").unwrap()
}

/// The circuits of the switch from a time on.
type Circuits = Vec<(u32, u32)>;

/// What is in flight, and what was seen.
#[derive(Default)]
struct World {
    /// Messages by arrival: the machine, its port, and the message.
    in_flight: BTreeMap<(Time, u64), (u32, Packet, Vec<u8>)>,
    sent: u64,
    /// Changes of circuits: when the old ones may go down, when the new ones are up, and the new ones.
    changes: Vec<(Time, Time, Circuits)>,
    /// Packets on circuits: the time, the racks, and the transmission time.
    on_circuits: Vec<(Time, u32, u32, Time)>,
    by_packet_switch: u64,
    /// The percentage of messages that are lost.
    loss: u64,
    /// The longest time in ms for which machines and the program of the circuit switch are held back.
    held_back: u64,
    random: Random,
}

impl World {
    /// Whether the circuit is up for a time.
    fn is_up(&self, at: Time, until: Time, circuit: (u32, u32)) -> bool {
        let last = self.changes.iter().rposition(|(down, ..)| *down <= at);
        let Some(last) = last else { return false };
        let (_, up, circuits) = &self.changes[last];
        let next = self.changes.get(last + 1).map_or(Time::MAX, |(down, ..)| *down);
        *up <= at && until <= next && circuits.contains(&circuit)
    }
}

/// The connections of one machine at one time.
struct Outlet<'a> {
    world: &'a mut World,
    me: u32,
    setup: &'a Setup,
    /// The true time.
    now: Time,
}

enum Setup {
    Rack(Box<AgentSetup>),
    Controller(Box<ArbiterSetup>),
}

impl Io for Outlet<'_> {
    fn send(&mut self, far: End, packet: &Packet, payload: &[u8]) -> io::Result<bool> {
        let links = match self.setup {
            Setup::Rack(setup) => setup.role.links(),
            Setup::Controller(setup) => setup.links.clone(),
        };
        match (packet.kind, links.addressed(packet, far, HostId(self.me)), self.setup) {
            (Kind::Control, Some(_), _) if self.world.random.below(100) < self.world.loss => {}
            (Kind::Control, Some((to, packet)), _) => {
                let arrives = self.now.after(Time::us(50 + self.world.random.below(1_500)));
                self.world.sent += 1;
                let message = (to, packet, payload.to_vec());
                self.world.in_flight.insert((arrives, self.world.sent), message);
            }
            (Kind::Control, None, _) => self.change(payload),
            (_, _, Setup::Rack(setup)) => self.packet(packet, far, &setup.role),
            (_, _, Setup::Controller(_)) => panic!("a controller has no packets"),
        }
        Ok(true)
    }
}

impl Outlet<'_> {
    fn change(&mut self, line: &[u8]) {
        let line: serde_json::Value = serde_json::from_slice(line).unwrap();
        assert_eq!(line["switch"], 0);
        // The program may be held back, too.
        let begins = self.world.changes.last().map_or(self.now, |(_, up, _)| self.now.max(*up));
        let begins = begins + Time::us(self.world.random.below(1 + self.world.held_back * 1_000));
        let up = begins + Time::us(line["in-us"].as_u64().unwrap()).max(CHANGE);
        let number = |value: &serde_json::Value| value.as_u64().unwrap() as u32;
        let circuits = line["circuits"].as_array().unwrap().iter();
        let circuits = circuits.map(|pair| (number(&pair[0]), number(&pair[1]))).collect();
        self.world.changes.push((begins, up, circuits));
        let change = line["change"].to_string().into_bytes();
        let packet = Packet { flow: RACKS + 2, kind: Kind::Control, ..Packet::default() };
        self.world.sent += 1;
        self.world.in_flight.insert((up, self.world.sent), (RACKS, packet, change));
    }
    fn packet(&mut self, packet: &Packet, far: End, role: &Role) {
        match role.leaves(packet, far).unwrap() {
            Departure::Packet(_, None) => self.world.by_packet_switch += 1,
            Departure::Order(..) | Departure::Detour(..) => panic!("a rack orders no paths"),
            Departure::Packet(_, Some(mark)) => {
                assert_eq!(mark, 1_280);
                // The switch of a rack is the last node of the rack.
                let to = (0..RACKS).find(|rack| NodeId(rack * 3 + 2) == far.node).unwrap();
                assert_eq!(packet.dst.0 / 2, to, "its circuit leads to its rack");
                let takes = Time::ns(u64::from(packet.len) * 40);
                self.world.on_circuits.push((self.now, self.me, to, takes));
            }
        }
    }
}

/// The time that the circuit switch needs for a change, whatever it is told.
const CHANGE: Time = Time::us(4_500);

/// Runs racks for a while. `offsets` are the errors of their clocks in microseconds, and `joins` are when they begin. The
/// controller is killed when so many milliseconds are over. Each machine is held back by others now and then, for up to so many
/// milliseconds.
fn run(
    scheduler: &str,
    offsets: &[i64],
    joins: &[u64],
    loss: u64,
    killed: u64,
    held_back: u64,
    seed: u64,
) -> World {
    let network = network(scheduler);
    let rack = |n| Setup::Rack(network.agent(&format!("tor{n}"), key(n)).unwrap().into());
    let mut setups: Vec<Setup> = (0..RACKS).map(rack).collect();
    setups.push(Setup::Controller(network.arbiter(0, key(RACKS)).unwrap().into()));
    let mut world = World { loss, held_back, random: Random(seed), ..World::default() };
    let mut seats: Vec<Option<Seat>> = (0..=RACKS).map(|_| None).collect();
    let (mut given, mut dropped, mut resumes) = (0, 0, [Time::ZERO; RACKS as usize + 1]);
    for step in 1..30_000 {
        let now = Time::us(50).times(step);
        for (at, setup) in setups.iter().enumerate() {
            if at as u32 == RACKS && now >= Time::ms(killed) {
                break;
            }
            if held_back > 0 && world.random.below(2_000) == 0 {
                resumes[at] = now + Time::us(world.random.below(held_back * 1_000));
            }
            if resumes[at] > now {
                continue;
            }
            let offset = offsets.get(at).copied().unwrap_or_default();
            let local = Time::us(now.as_ns().saturating_add_signed(offset * 1_000) / 1_000);
            if seats[at].is_none() && now >= Time::ms(joins.get(at).copied().unwrap_or_default()) {
                seats[at] = Some(begin(setup, local));
            }
            let Some(seat) = &mut seats[at] else { continue };
            let arrived = |((arrives, _), (to, ..)): (&(Time, u64), &(u32, _, _))| {
                *arrives <= now && *to == at as u32
            };
            let due: Vec<_> = world
                .in_flight
                .iter()
                .filter(|entry| arrived(*entry))
                .map(|(key, _)| *key)
                .collect();
            for key in due {
                let (_, packet, payload) = world.in_flight.remove(&key).unwrap();
                seat.receive(port(setup, packet.flow), packet, &payload, local);
            }
            let rack = at as u32;
            if rack < RACKS && now < Time::ms(1_100) && world.random.below(8) == 0 {
                let dst = HostId((rack + 1 + world.random.below(3) as u32) % RACKS * 2);
                let packet =
                    Packet { dst, len: 1_538, kind: Kind::Datagram, stamp: 1, ..Packet::default() };
                given += 1;
                seat.receive(PortId(0), packet, &[], local);
            }
            seat.step(local, &mut Outlet { world: &mut world, me: rack, setup, now }).unwrap();
            dropped += seat.lost_frames().count() as u64;
        }
    }
    assert_eq!(given, dropped + world.by_packet_switch + world.on_circuits.len() as u64);
    world
}

fn begin(setup: &Setup, local: Time) -> Seat {
    let mut seat = match setup {
        Setup::Rack(setup) => Seat::new((setup.make)(1).unwrap(), &setup.wires, Time::ZERO),
        Setup::Controller(setup) => Seat::new((setup.make)(1).unwrap(), &setup.wires, Time::ZERO),
    };
    seat.track_frames();
    seat.limit_catching_up(Time::ms(1));
    seat.start(local);
    seat
}

fn port(setup: &Setup, from: u32) -> PortId {
    match setup {
        Setup::Rack(setup) => setup.role.links().port(from).unwrap(),
        Setup::Controller(setup) => setup.links.port(from).unwrap(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]
    /// Clocks may be wrong by an eighth of a night, messages may be lost, racks begin at any time, machines are held back, and the
    /// controller may be killed: a packet on a circuit always finds the circuit up.
    #[test]
    fn packets_on_circuits_find_them_up(
        at in 0usize..SCHEDULERS.len(), offsets in prop::collection::vec(-1_250i64..=1_250, 4),
        joins in prop::collection::vec(0u64..400, 4), loss in 0u64..30, killed in 800u64..2_000, held_back in 0u64..40, seed: u64
    ) {
        let world = run(SCHEDULERS[at], &offsets, &joins, loss, killed, held_back, seed);
        for &(now, from, to, takes) in &world.on_circuits {
            prop_assert!(world.is_up(now, now + takes, (from, to)), "{from} to {to} at {now}");
        }
        prop_assert!(world.on_circuits.len() > 200, "{}", world.on_circuits.len());
    }
}

/// A message of the controller's scheduler, as bytes.
fn report(week: u64, rack: u16, bytes: [u64; RACKS as usize]) -> Vec<u8> {
    slotline_hybrid::wire::Message::Report { week, rack, bytes: bytes.to_vec() }.emit()
}

/// The messages that the controller sends to racks within a second, after messages that it receives at once, each with
/// the rack from which it comes.
fn plans(network: &LiveNetwork, messages: &[(u32, Vec<u8>)]) -> Vec<Vec<u8>> {
    struct Heard(Vec<Vec<u8>>);
    impl Io for Heard {
        fn send(&mut self, far: End, _packet: &Packet, payload: &[u8]) -> io::Result<bool> {
            let told = slotline_hybrid::wire::Message::parse(payload);
            if far.node.0 < RACKS * 3
                && matches!(told, Ok(slotline_hybrid::wire::Message::Plan { .. }))
            {
                self.0.push(payload.to_vec());
            }
            Ok(true)
        }
    }
    let arbiter = network.arbiter(0, key(RACKS)).unwrap();
    let mut seat = Seat::new((arbiter.make)(9).unwrap(), &arbiter.wires, Time::ZERO);
    let mut heard = Heard(Vec::new());
    seat.start(Time::ms(1));
    for (from, payload) in messages {
        let packet = Packet { len: 84, flow: *from, kind: Kind::Control, ..Packet::default() };
        seat.receive(arbiter.links.port(*from).unwrap(), packet, payload, Time::ms(1));
    }
    for ms in 1..1_000 {
        seat.step(Time::ms(ms), &mut heard).unwrap();
    }
    heard.0
}

/// A rack is heard only about itself, once for each week, and not about distant weeks.
#[test]
fn nobody_speaks_for_another_rack() {
    let network = network(SCHEDULERS[1]);
    let fine = (2, report(1, 2, [900_000, 0, 0, 0]));
    let honest = plans(&network, std::slice::from_ref(&fine));
    assert_eq!(honest.len(), RACKS as usize, "a plan for each rack");
    let circuit = ToldCircuit { to: 2, from: Time::ZERO, until: Time::s(9) };
    let forged = [
        (1, report(1, 2, [0, 5_000_000, 0, 0])),
        (1, report(u64::MAX, 1, [5_000_000, 0, 0, 0])),
        (1, slotline_hybrid::wire::Message::Port { rack: 2, uplink: 0, works: false }.emit()),
        (1, slotline_hybrid::wire::Message::Plan { week: 1, days: vec![] }.emit()),
        (1, slotline_hybrid::wire::Message::Told { uplink: 0, circuit }.emit()),
        (1, vec![1, 2, 3]),
    ];
    assert_eq!(plans(&network, &forged), Vec::<Vec<u8>>::new());
    let all = [&forged[..], &[fine.clone(), (2, report(1, 2, [0, 0, 0, 5_000_000]))]].concat();
    assert_eq!(plans(&network, &all), honest);
}

/// The log of a controller is replayed with the same messages, those to the circuit switch included.
#[test]
fn a_log_is_replayed() {
    struct Digest(Sent, Option<Vec<u8>>);
    impl Io for Digest {
        fn send(&mut self, far: End, packet: &Packet, payload: &[u8]) -> io::Result<bool> {
            self.0.add(far, packet, payload);
            if let Ok(line) = serde_json::from_slice::<serde_json::Value>(payload) {
                self.1 = Some(line["change"].to_string().into_bytes());
            }
            Ok(true)
        }
    }
    let network = network(SCHEDULERS[1]);
    let arbiter = network.arbiter(0, key(RACKS)).unwrap();
    let (scenario, scheme) = arbiter.scenario.clone();
    let (station, incarnation, began) = (arbiter.me.0, 9, Time::ms(1).as_ps());
    let header = Header { program: "0".into(), scenario, scheme, station, incarnation, began };
    let mut seat = Seat::new((arbiter.make)(9).unwrap(), &arbiter.wires, Time::ZERO);
    let mut recorder = Recorder::new(Vec::new());
    recorder.begin(&header);
    seat.start(Time::ms(1));
    let mut sent = 0;
    for ms in 2..900 {
        let now = Time::ms(ms);
        if ms % 200 == 3 {
            let rack = (ms / 200 % 4) as u16;
            let payload = report(ms / 200 + 1, rack, [400_000, 300_000, 0, 70_000 * ms]);
            let packet = Packet {
                len: 84,
                dst: arbiter.me,
                flow: rack.into(),
                kind: Kind::Control,
                ..Packet::default()
            };
            recorder.heard(&packet, &payload, now);
            seat.receive(arbiter.links.port(rack.into()).unwrap(), packet, &payload, now);
        }
        let mut digest = Digest(Sent::default(), None);
        seat.step(now, &mut digest).unwrap();
        sent += digest.0.messages;
        recorder.stepped(digest.0, now);
        if let Some(change) = digest.1 {
            let packet = Packet { flow: RACKS + 2, kind: Kind::Control, ..Packet::default() };
            recorder.heard(&packet, &change, now);
            seat.receive(arbiter.links.port(packet.flow).unwrap(), packet, &change, now);
        }
    }
    assert!(sent > 20);
    let bytes = recorder.into_inner();
    let mut log = Log::open(&bytes).unwrap();
    let loaded = Scenario::parse(Path::new("log"), header.scenario.clone()).unwrap();
    let (mut again, links) = recorded_controller(&loaded, &header).unwrap();
    let done = replay(&mut log, &mut again, &links, true).unwrap();
    assert_eq!((done.sent, done.recorded), (sent, sent));
    let wrong = Header { station: 2, ..header };
    assert!(recorded_controller(&loaded, &wrong).is_err());
}

/// Two arbiters on the loopback interface, whose program for the circuit switch writes its lines to a file, and racks that are
/// only witnesses.
struct Pair {
    arbiters: [Arbiter; 2],
    racks: Vec<(Channel, Witness)>,
    /// The numbers of arbiters as racks know them.
    numbers: Vec<u32>,
    file: PathBuf,
    now: Local,
}

impl Pair {
    fn new() -> Pair {
        let file = std::env::temp_dir().join(format!("slotline-pair-{}", std::process::id()));
        let free = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let config = format!(
            "port = {port}\nstandby.timeout = '40ms'\ncircuits.command = ['sh', '-c', 'exec cat >> {}']",
            file.display()
        );
        let arbiter = |n: u32| {
            let key = key(RACKS + n).public();
            format!("[[arbiter]]\naddress = '127.0.0.{}'\nkey = '{key}'\n", n + 1)
        };
        let text = arbiter(0) + &arbiter(1);
        let network = with_arbiters(SCHEDULERS[0], "", &config, &text).unwrap();
        let now = Local(1);
        let open = |rank: u32| {
            let setup = network.arbiter(rank as usize, key(RACKS + rank)).unwrap();
            Arbiter::open(setup, now).unwrap()
        };
        let rack = |number: u32| {
            let setup = network.agent(&format!("tor{number}"), key(number)).unwrap();
            let peers = &setup.arbiters;
            let mut channel = Channel::open(setup.address, key(number), peers, now).unwrap();
            for peer in peers {
                channel.send(peer.number, &Message::TimeRequest(now), now);
            }
            (channel, Witness::new(Duration::from_millis(30), now))
        };
        let numbers = vec![RACKS, RACKS + 1];
        let racks = (0..RACKS).map(rack).collect();
        Pair { arbiters: [open(0), open(1)], racks, numbers, file, now }
    }
    /// Lets some of them run for a time. Datagrams on the loopback interface arrive at once.
    fn run(&mut self, ms: u64, who: &[usize]) {
        for _ in 0..ms {
            self.now = self.now.after(Duration::from_millis(1));
            let now = self.now;
            who.iter().for_each(|at| _ = self.arbiters[*at].round(&|| now).unwrap());
            self.racks.iter_mut().for_each(|rack| answer(rack, &self.numbers, now));
        }
    }
    fn active(&mut self) -> [bool; 2] {
        let now = self.now;
        self.arbiters.each_mut().map(|arbiter| arbiter.status(now).active)
    }
    /// The term of each line for the circuit switch, once there are more than `known`.
    fn terms(&self, known: usize) -> Vec<u64> {
        let read = || {
            let text = std::fs::read_to_string(&self.file).unwrap_or_default();
            let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
            lines.map(|line: serde_json::Value| line["term"].as_u64().unwrap()).collect::<Vec<_>>()
        };
        let wait = |_| std::thread::sleep(Duration::from_millis(5));
        (0..1_000).inspect(|_| wait(())).map(|_| read()).find(|terms| terms.len() > known).unwrap()
    }
}

/// A rack answers questions for leases.
fn answer((channel, witness): &mut (Channel, Witness), arbiters: &[u32], now: Local) {
    loop {
        let asked = match channel.receive(now).unwrap() {
            None => break,
            Some((from, Message::Ask(ask))) => (from, ask),
            Some(_) => continue,
        };
        let at = arbiters.iter().position(|number| *number == asked.0).unwrap();
        let answer = witness.answer(at, &asked.1, now);
        channel.send(asked.0, &Message::Answer(answer), now);
    }
    channel.attend(now);
}

/// The second arbiter takes over after the silence of the first, which steps back when it goes on. Lines for the circuit
/// switch carry terms that only rise.
#[test]
fn two_arbiters_drive_the_circuit_switch_in_turn() {
    let mut pair = Pair::new();
    pair.run(430, &[0, 1]);
    assert_eq!(pair.active(), [false, false], "both listen first");
    pair.run(70, &[0, 1]);
    assert_eq!(pair.active(), [true, false]);
    pair.run(300, &[0, 1]);
    assert_eq!(pair.active(), [true, false]);
    pair.terms(3);
    std::thread::sleep(Duration::from_millis(100));
    let first = pair.terms(0);
    assert!(first.iter().all(|term| *term == 2), "{first:?}");
    pair.run(50, &[1]);
    assert_eq!(pair.active(), [true, true], "the first does not know yet");
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(
        pair.terms(0).len(),
        first.len(),
        "racks hear of the second one before the switch does"
    );
    pair.run(60, &[1]);
    pair.run(1, &[0]);
    assert_eq!(pair.active(), [false, true]);
    let both = pair.terms(first.len() + 1);
    pair.run(300, &[0, 1]);
    assert_eq!(pair.active(), [false, true]);
    let later = pair.terms(both.len() + 3);
    assert!(later[both.len()..].iter().all(|term| *term == 3), "{later:?}");
    assert!(later.is_sorted(), "{later:?}");
    let counters = pair.arbiters[1].status(pair.now).counters;
    // It asks witnesses twice.
    assert_eq!(counters["take_overs"], 1);
    assert!((40..=50).contains(&(counters["take_over_silence_ns"] / 1_000_000)));
    std::fs::remove_file(&pair.file).unwrap();
}

/// The switch of a rack holds packets for other racks, whatever host they are for.
#[test]
fn packets_are_for_the_rack_of_their_prefix() {
    let agent = network(SCHEDULERS[0]).agent("tor1", key(1)).unwrap();
    let classified = |destination: [u8; 4]| {
        let mut packet = vec![0x45, 0, 5, 220];
        packet.resize(16, 0);
        packet.extend(destination);
        agent.role.classify(&packet).map(|(packet, length)| (packet.dst, packet.len, length))
    };
    assert_eq!(classified([10, 1, 2, 9]), Some((HostId(4), 1_538, 1_500)));
    assert_eq!(classified([10, 1, 0, 1]), Some((HostId(0), 1_538, 1_500)));
    assert_eq!(classified([10, 1, 1, 1]), None, "its own rack");
    assert_eq!(classified([10, 9, 0, 1]), None, "no rack");
    assert!(agent.role.needs_beat());
}

/// What racks cannot run is refused, with what would be right.
#[test]
fn what_does_not_fit_is_refused() {
    let refused = |scheduler: &str, scheme: &str, config: &str| {
        try_network(scheduler, scheme, config).err().expect("refused")
    };
    let usual = SCHEDULERS[0];
    let cases = [
        (
            refused(usual, "", "clock.guard = '2ms'"),
            "at most an eighth of a night, which lasts 10ms",
        ),
        (
            refused(usual, "voq = { packets = 99, relay = { hops = 'valiant', packets = 9 } }", ""),
            "leave it out",
        ),
        (
            refused("scheduler = 'solstice', week = '200ms', day = '20ms', demand = 'adu'", "", ""),
            "\"voq\"",
        ),
        (
            refused(
                usual,
                "",
                "host = [{ name = 'h0', address = ['10.9.0.1'], key = 'x6WtnLECCapTJ0xICffSJxS+4joIU8dWjcmJhGj6fXw=' }]\nnetwork = ['10.9.0.0/24']",
            ),
            "no [[host]]",
        ),
    ];
    for (error, part) in cases {
        assert!(error.contains(part), "{error}");
    }
    let network = network(usual);
    assert!(network.agent("tor9", key(0)).err().unwrap().to_string().contains("no [[rack]]"));
    assert!(network.agent("tor0", key(1)).err().unwrap().to_string().contains("rack `tor0`"));
    assert!(network.arbiter(1, key(RACKS)).is_err());
}
