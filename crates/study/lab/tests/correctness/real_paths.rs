//! The daemons of Fastpass where switches forward by tags, in virtual time: the nodes of hosts, switches and the arbiter, with
//! packets of connections that send again what was lost.

use slotline_envelope::KeyPair;
use slotline_lab::live::{LiveNetwork, recorded_controller};
use slotline_live::arbiter::ArbiterSetup;
use slotline_live::config::Config;
use slotline_live::record::{Header, Recorder, Sent};
use slotline_live::replay::{Log, replay};
use slotline_live::role::{HostPaths, Role};
use slotline_live::seat::{Io, Seat};
use slotline_net::frame::{Kind, Packet, RETRANSMITTED};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::{Change, Counters, Handover};
use slotline_net::route::{Routes, RoutingSpec};
use slotline_net::time::Time;
use slotline_net::topology::{Down, End, FatTreeSpec, Graph, TopologySpec};
use slotline_scenario::Scenario;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

const HOSTS: u32 = 16;
/// The first number of switches: the arbiter is a host, too.
const SWITCHES: u32 = HOSTS + 1;
const LENGTH: u16 = 1_538;
/// The step of time, and how long it takes until a connection sends again what was lost.
const STEP: Time = Time::us(200);
const AGAIN: Time = Time::ms(6);

fn key(number: u32) -> KeyPair {
    KeyPair::from_private([number as u8 + 1; 32])
}

/// The network, with a change to its configuration.
fn try_network(from: &str, to: &str) -> Result<LiveNetwork, String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path =
        std::env::temp_dir().join(format!("slotline-paths-{}-{number}.toml", std::process::id()));
    let scenario = "name = 'paths'\nend.at = '1s'\nfabric = { kind = 'fat-tree', k = 4, rate = '20Mbps' }\n\
        [[scheme]]\nname = 's'\n[scheme.control]\nkind = 'fastpass'\nmessages = 'first'\nreserve = 0.06\nbatch = 8\n\
        lead = '3ms'\ntimeout = '20ms'\ngap = '200us'\nfault-window = '40ms'\nfault-share = 0.1\nprobe-interval = '20ms'\n\
        [[workload]]\nkind = 'bulk'\nsenders = '1'\nreceivers = '0'\n";
    std::fs::write(&path, scenario).unwrap();
    let host = |h| {
        let public = key(h).public();
        format!(
            "[[host]]\nname = 'h{h}'\naddress = ['10.7.0.{h}', '10.8.0.{h}']\nkey = '{public}'\n"
        )
    };
    let switch = |n: u32| {
        let (pod, at) = (n % 8 / 2, n % 2);
        let up = |name: String| format!("'{name}' = ['10.9.9.1']");
        let (name, up) = match n < 8 {
            true => ("edge", [0, 1].map(|a| up(format!("agg{pod}.{a}")))),
            false => ("agg", [0, 1].map(|c| up(format!("core{}", 2 * at + c)))),
        };
        format!(
            "[[switch]]\nname = '{name}{pod}.{at}'\naddress = '10.7.1.{n}'\nkey = '{}'\nup = {{ {} }}\n",
            key(20 + n).public(),
            up.join(", ")
        )
    };
    let text = format!(
        "scenario = {path:?}\nnetwork = ['10.8.0.0/16']\n{}{}[[arbiter]]\naddress = '10.7.2.1'\nkey = '{}'\n",
        (0..HOSTS).map(host).collect::<String>(),
        (0..16).map(switch).collect::<String>(),
        key(99).public()
    );
    let config = Config::parse(&text.replace(from, to), &path).map_err(|error| error.to_string());
    let network = config.and_then(|config| LiveNetwork::new(config).map_err(|e| e.to_string()));
    std::fs::remove_file(path).unwrap();
    network
}

/// What a node has sent: messages with their destinations.
#[derive(Default)]
pub struct Outlet {
    pub messages: Vec<(Packet, Vec<u8>)>,
    pub sent: Sent,
}

impl Io for Outlet {
    fn send(&mut self, far: End, packet: &Packet, payload: &[u8]) -> io::Result<bool> {
        self.sent.add(far, packet, payload);
        if packet.kind == Kind::Control {
            self.messages.push((*packet, payload.to_vec()));
        }
        Ok(true)
    }
}

/// All nodes by the numbers of their machines, and the network between hosts.
struct World {
    seats: BTreeMap<u32, Seat>,
    setup: ArbiterSetup,
    recorder: Recorder<Vec<u8>>,
    graph: Graph,
    routes: Routes,
    now: Time,
    /// The link that loses every n-th packet.
    bad: Option<(usize, u64)>,
    /// Packets that crossed that link, and those of them that were lost.
    crossed: u64,
    lost: u64,
    /// Packets that are sent again at a time.
    again: Vec<(Time, u32, Packet)>,
    /// The number of packets that each host holds, and the next one.
    held: BTreeMap<u32, u32>,
    next: u32,
    arrived: u64,
    /// Probes that hosts have sent to hosts.
    probes: u64,
}

impl World {
    fn new() -> World {
        let network = try_network("#", "#").unwrap();
        let graph = TopologySpec::FatTree(FatTreeSpec::new(4)).build().unwrap();
        let routes = Routes::build(&graph, RoutingSpec::Pinned, &Down::default(), 1);
        let setup = network.arbiter(0, key(99)).unwrap();
        let names = (0..HOSTS).map(|h| (format!("h{h}"), key(h))).chain((0..16).map(|n| {
            let tier = if n < 8 { "edge" } else { "agg" };
            (format!("{tier}{}.{}", n % 8 / 2, n % 2), key(20 + n))
        }));
        let mut seats = BTreeMap::new();
        for (name, key) in names {
            let agent = network.agent(&name, key).unwrap();
            let mut seat = Seat::new((agent.make)(1).unwrap(), &agent.wires, Time::ZERO);
            seat.track_frames();
            seats.insert(agent.me.0, seat);
        }
        let arbiter = Seat::new((setup.make)(1).unwrap(), &setup.wires, Time::ZERO);
        seats.insert(setup.me.0, arbiter);
        seats.values_mut().for_each(|seat| seat.start(Time::ZERO));
        let mut recorder = Recorder::new(Vec::new());
        let ((scenario, scheme), station) = (setup.scenario.clone(), setup.me.0);
        let (program, incarnation, began) = (String::new(), 1, 0);
        recorder.begin(&Header { program, scenario, scheme, station, incarnation, began });
        let held = (0..HOSTS).map(|host| (host, 0)).collect();
        World {
            seats,
            setup,
            recorder,
            graph,
            routes,
            now: Time::ZERO,
            bad: None,
            crossed: 0,
            lost: 0,
            again: Vec::new(),
            held,
            next: 0,
            arrived: 0,
            probes: 0,
        }
    }
    /// Each host always holds packets for the host at its place in the next pod.
    fn fill(&mut self) {
        for src in 0..HOSTS {
            while self.held[&src] < 24 {
                let dst = HostId((src + 4) % HOSTS);
                self.next += 1;
                let packet = Packet { dst, seq: self.next, len: LENGTH, ..Packet::default() };
                self.enqueue(src, Packet { kind: Kind::Data, flags: RETRANSMITTED, ..packet });
            }
        }
        let (due, later) =
            std::mem::take(&mut self.again).into_iter().partition(|x| x.0 <= self.now);
        self.again = later;
        let due: Vec<_> = due;
        due.into_iter().for_each(|(_, src, packet)| self.enqueue(src, packet));
    }
    fn enqueue(&mut self, src: u32, packet: Packet) {
        *self.held.entry(src).or_default() += 1;
        let seat = self.seats.get_mut(&src).unwrap();
        seat.receive(PortId(0), packet, &[], self.now);
    }
    /// Whether a packet or probe reaches its destination by its path.
    fn carries(&mut self, src: u32, packet: &Packet) -> bool {
        let Some((bad, nth)) = self.bad else { return true };
        let (wiring, mut over) = (self.graph.wiring(), false);
        let ends = (HostId(src), packet.dst);
        self.routes.visit(&wiring, ends, packet.entropy, |end| {
            over |= wiring.of(end.node)[end.port.at()].link == bad;
        });
        self.crossed += u64::from(over);
        let lost = over && self.crossed.is_multiple_of(nth);
        self.lost += u64::from(lost);
        !lost
    }
    fn step(&mut self) {
        self.now = self.now.after(STEP);
        self.fill();
        let numbers: Vec<u32> = self.seats.keys().copied().collect();
        let mut messages = Vec::new();
        for number in numbers {
            let (seat, mut outlet) = (self.seats.get_mut(&number).unwrap(), Outlet::default());
            seat.step(self.now, &mut outlet).unwrap();
            let left: Vec<_> = seat.handovers().collect();
            if number == self.setup.me.0 {
                self.recorder.stepped(outlet.sent, self.now);
            }
            messages.extend(outlet.messages);
            for (_, what) in left {
                let Handover::Left(packet) = what else { continue };
                *self.held.entry(number).or_default() -= 1;
                match self.carries(number, &packet) {
                    true => self.arrived += 1,
                    false => self.again.push((self.now.after(AGAIN), number, packet)),
                }
            }
        }
        messages.into_iter().for_each(|(packet, payload)| self.deliver(packet, &payload));
    }
    fn deliver(&mut self, packet: Packet, payload: &[u8]) {
        let (from, to) = (packet.flow, packet.dst.0);
        if from < HOSTS && to < HOSTS {
            self.probes += 1;
            if !self.carries(from, &packet) {
                return;
            }
        }
        if to == self.setup.me.0 {
            self.recorder.heard(&packet, payload, self.now);
        }
        let seat = self.seats.get_mut(&to).unwrap();
        seat.receive(PortId(0), packet, payload, self.now);
    }
    fn run(&mut self, span: Time) {
        let until = self.now.after(span);
        while self.now < until {
            self.step();
        }
    }
    /// The names of faults, and whether they are still avoided.
    fn faults(&self) -> Vec<(String, bool)> {
        let mut counters = Counters::default();
        self.seats[&self.setup.me.0].node().add_counters(&mut counters);
        let status = |fault| self.setup.parts.status(fault);
        let named = |fault| (status(fault).part, status(fault).cleared_ns.is_none());
        counters.faults().iter().map(named).collect()
    }
    fn link(&self, name: &str) -> usize {
        self.graph.link_named(name).unwrap()
    }
    /// The log replays to the same messages.
    fn check_log(mut self) {
        self.recorder.flush();
        let bytes = self.recorder.into_inner();
        let mut log = Log::open(&bytes).unwrap();
        let loaded = Scenario::parse(Path::new("log"), log.header.scenario.clone()).unwrap();
        let (mut seat, links) = recorded_controller(&loaded, &log.header).unwrap();
        let replayed = replay(&mut log, &mut seat, &links, true).unwrap();
        assert!(replayed.heard > 100 && replayed.sent == replayed.recorded, "{replayed:?}");
        let mut counters = Counters::default();
        seat.node().add_counters(&mut counters);
        assert!(!counters.faults().is_empty(), "the replay has the loss reports");
    }
}

#[test]
fn a_link_that_loses_packets_is_avoided_and_used_again_and_the_log_replays() {
    for nth in [1, 3] {
        let mut world = World::new();
        world.run(Time::ms(200));
        assert_eq!((world.faults(), world.probes), (vec![], 0));
        // 20 Mbit/s with a reserve of 6 %: a packet takes 655 us.
        assert!(world.arrived > 16 * 200 * 1_000 / 655 * 8 / 10, "{}", world.arrived);
        world.bad = Some((world.link("agg1.0-core0"), nth));
        world.run(Time::ms(100));
        let avoided = ("agg1.0-core0".to_owned(), true);
        assert_eq!(world.faults(), std::slice::from_ref(&avoided), "every {nth}th packet is lost");
        let (lost, probes) = (world.lost, world.probes);
        world.run(Time::ms(300));
        // Probes fail, and nothing else crosses the link. Where a third of them is lost, three in a row succeed at times, and
        // then more are needed.
        if nth == 1 {
            assert_eq!(world.faults(), [avoided]);
            let probed = world.probes - probes;
            assert!(probed >= 14 && world.lost - lost <= probed, "{probed}, {}", world.lost - lost);
        }
        assert!(world.faults().len() < 5, "{:?}", world.faults());
        world.bad = None;
        world.run(if nth == 1 { Time::ms(150) } else { Time::s(1) });
        assert!(world.faults().iter().all(|(_, avoided)| !avoided), "{:?}", world.faults());
        world.check_log();
    }
}

#[test]
fn a_switch_reports_its_own_links() {
    let mut world = World::new();
    world.run(Time::ms(20));
    // The third aggregation switch is in the second pod; its links upwards follow those downwards.
    let wiring = world.graph.wiring();
    let node = world.graph.node_named("agg1.0").unwrap();
    let link = world.link("agg1.0-core1");
    let port = wiring.of(node).iter().position(|wire| wire.link == link).unwrap();
    world.bad = Some((link, 1));
    let seat = world.seats.get_mut(&(SWITCHES + node.0)).unwrap();
    seat.change(&Change::Down(PortId(port as u16)), world.now);
    world.run(Time::ms(1));
    assert_eq!(world.faults(), [("agg1.0-core1".to_owned(), true)], "before anything was lost");
    world.run(Time::ms(100));
    world.bad = None;
    world.run(Time::ms(150));
    assert_eq!(world.faults(), [("agg1.0-core1".to_owned(), false)]);
    world.check_log();
}

#[test]
fn packets_have_the_marks_of_their_paths_and_what_does_not_fit_is_named() {
    let network = try_network("#", "#").unwrap();
    let agent = network.agent("h3", key(3)).unwrap();
    let Role::Host(host) = &agent.role else { panic!("a host") };
    let HostPaths { tags, address, peers } = host.paths.as_ref().unwrap();
    assert_eq!((tags.paths, tags.mark, tags.tagged), (4, 1_280, 7_078));
    assert_eq!((address.to_string(), peers.len()), ("10.8.0.3:7078".to_owned(), 15));
    let mark = |entropy| agent.role.tag(&Packet { entropy, ..Packet::default() });
    assert_eq!([mark(0), mark(3), mark(4)], [Some(1_280), Some(1_283), None]);
    let error = |from: &str, to: &str| try_network(from, to).err().unwrap_or_default();
    let missing = error("name = 'agg0.0'", "name = 'agg0.9'");
    assert!(missing.contains("no switch `agg0.9`"), "{missing}");
    let hosts = error("'edge3.1'\n", "'edge3.1'\nhosts = { x0 = ['10.8.0.99'] }\n");
    assert!(hosts.contains("hosts have agents of their own"), "{hosts}");
    let outside = error("'10.7.0.3', '10.8.0.3'", "'10.7.0.3'");
    assert!(outside.contains("`h3` has no address within `network`"), "{outside}");
    let six = error("network = [", "network = ['fd00::/8', ").is_empty();
    assert!(six, "another family may be in the network, too");
    let mixed = error("'10.7.0.3', '10.8.0.3'", "'10.7.0.3', 'fd00::3'");
    assert!(mixed.contains("no address within"), "{mixed}");
}
