//! The daemons of Hedera: switches whose kernels count flows and send them on paths, and the scheduler.

use slotline_envelope::KeyPair;
use slotline_lab::live::{LiveNetwork, recorded_controller};
use slotline_live::agent::AgentSetup;
use slotline_live::arbiter::ArbiterSetup;
use slotline_live::config::Config;
use slotline_live::links::Links;
use slotline_live::record::{Header, Recorder, Sent};
use slotline_live::replay::{Log, replay};
use slotline_live::role::{Role, SwitchRole};
use slotline_live::seat::{Io, Seat};
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::Change;
use slotline_net::route::{Routes, RoutingSpec};
use slotline_net::time::Time;
use slotline_net::topology::{Down, End, FatTreeSpec, Graph, TopologySpec};
use slotline_scenario::Scenario;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

const PODS: u32 = 4;
const HOSTS: u32 = 16;
/// What a link of 20 Mbit/s carries in a poll.
const FULL: u16 = 62_500;

fn key(number: u32) -> KeyPair {
    KeyPair::from_private([number as u8 + 1; 32])
}

/// The address of a switch by its place: its tier (1: edge, 2: aggregation, 3: core), its pod and its number there.
fn address(tier: u32, pod: u32, n: u32) -> String {
    format!("10.{tier}.{pod}.{n}")
}

fn entry(tier: u32, pod: u32, n: u32) -> String {
    let (name, hosts, up) = match tier {
        1 => {
            let host = |h: u32| format!("h{h} = ['10.0.0.{h}']");
            let first = (pod * 2 + n) * 2;
            let up = |a: u32| format!("'agg{pod}.{a}' = ['{}']", address(2, pod, a));
            ("edge", [first, first + 1].map(host).join(", "), [0, 1].map(up).join(", "))
        }
        _ => {
            let up = |c: u32| format!("'core{c}' = ['{}']", address(3, 0, c));
            ("agg", String::new(), [2 * n, 2 * n + 1].map(up).join(", "))
        }
    };
    format!(
        "[[switch]]\nname = '{name}{pod}.{n}'\naddress = '10.9.{tier}.{}'\nkey = '{}'\nhosts = {{ {hosts} }}\nup = {{ {up} }}\n",
        pod * 2 + n,
        key(tier * 10 + pod * 2 + n).public()
    )
}

/// The network, with a change to its configuration.
fn try_network(control: &str, from: &str, to: &str) -> Result<LiveNetwork, String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir()
        .join(format!("slotline-switches-{}-{number}.toml", std::process::id()));
    let scenario = format!(
        "name = 'switches'\nend.at = '1s'\nfabric = {{ kind = 'fat-tree', k = 4, rate = '20Mbps' }}\n\
         [[scheme]]\nname = 's'\ncontrol = {{ {control} }}\n\
         [[workload]]\nkind = 'bulk'\nsenders = '1'\nreceivers = '0'\n"
    );
    std::fs::write(&path, scenario).unwrap();
    let places =
        [1, 2].into_iter().flat_map(|tier| (0..PODS * 2).map(move |n| (tier, n / 2, n % 2)));
    let switches: String = places.map(|(tier, pod, n)| entry(tier, pod, n)).collect();
    let text = format!(
        "scenario = {path:?}\n{switches}[[arbiter]]\naddress = '10.9.0.1'\nkey = '{}'\n",
        key(99).public()
    );
    let config = Config::parse(&text.replace(from, to), &path).map_err(|error| error.to_string());
    let network = config.and_then(|config| LiveNetwork::new(config).map_err(|e| e.to_string()));
    std::fs::remove_file(path).unwrap();
    network
}

const HEDERA: &str =
    "kind = 'hedera', placement = 'best', poll = '100ms', gather = '2ms', computing = '1ms'";

fn network() -> LiveNetwork {
    try_network(HEDERA, "#", "#").unwrap()
}

fn switch(network: &LiveNetwork, tier: u32, pod: u32, n: u32) -> AgentSetup {
    let name = format!("{}{pod}.{n}", if tier == 1 { "edge" } else { "agg" });
    network.agent(&name, key(tier * 10 + pod * 2 + n)).unwrap()
}

fn role(setup: &AgentSetup) -> &SwitchRole {
    match &setup.role {
        Role::Switch(role) => role,
        _ => panic!("a switch"),
    }
}

fn graph() -> Graph {
    TopologySpec::FatTree(FatTreeSpec::new(4)).build().unwrap()
}

/// The names of the switches above through which a path leads, by the network's routes.
fn by_routes(graph: &Graph, ends: (HostId, HostId), path: u16) -> Vec<String> {
    let routes = Routes::build(graph, RoutingSpec::Pinned, &Down::default(), 1);
    let (wiring, mut names) = (graph.wiring(), Vec::new());
    routes.visit(&wiring, ends, path, |end| {
        names.push(graph.nodes[wiring.of(end.node)[end.port.at()].far.node.at()].name.clone());
    });
    names
}

/// The address to which a switch sends packets of a path.
fn hop(setup: &AgentSetup, path: u16) -> String {
    let flows = &role(setup).flows;
    flows.up[flows.paths[usize::from(path)]][0].to_string()
}

#[test]
fn tags_lead_packets_on_the_paths_that_the_scheduler_means() {
    let (network, graph) = (network(), graph());
    let mut different = BTreeSet::new();
    for src in 0..HOSTS {
        for path in 0..4 {
            let ends = (HostId(src), HostId((src + 4) % HOSTS));
            let names = by_routes(&graph, ends, path);
            let (pod, edge) = (src / 4, src / 2 % 2);
            let agg = hop(&switch(&network, 1, pod, edge), path);
            let a = names[1].strip_prefix(&format!("agg{pod}.")).unwrap().parse().unwrap();
            assert_eq!(agg, address(2, pod, a), "{names:?}");
            let core = hop(&switch(&network, 2, pod, a), path);
            let c = names[2].strip_prefix("core").unwrap().parse().unwrap();
            assert_eq!(core, address(3, 0, c), "{names:?}");
            different.insert((src, agg, core));
        }
    }
    assert_eq!(different.len(), 64, "each host has four paths");
}

/// What a machine has sent: control messages with their destinations, and orders.
#[derive(Default)]
struct Outlet {
    me: HostId,
    links: Links,
    messages: Vec<(u32, Packet, Vec<u8>)>,
    orders: Vec<(u32, u16)>,
    /// The path of packets to a host.
    detours: Vec<(HostId, u16)>,
    sent: Sent,
}

impl Io for Outlet {
    fn send(&mut self, far: End, packet: &Packet, payload: &[u8]) -> io::Result<bool> {
        self.sent.add(far, packet, payload);
        match packet.kind {
            Kind::Control => {
                let (to, packet) = self.links.addressed(packet, far, self.me).unwrap();
                self.messages.push((to, packet, payload.to_vec()));
            }
            _ if packet.flow == u32::MAX => self.detours.push((packet.dst, packet.entropy)),
            _ => self.orders.push((packet.flow, packet.entropy)),
        }
        Ok(true)
    }
}

/// The scheduler, its log, and edge switches, without a network between them.
struct World {
    edges: Vec<(AgentSetup, Seat)>,
    setup: ArbiterSetup,
    scheduler: Seat,
    recorder: Recorder<Vec<u8>>,
    /// The path of the flow of each host.
    paths: BTreeMap<u32, u16>,
    /// By edge switch and host, the path of packets that have no other.
    detours: BTreeMap<(usize, u32), u16>,
    refused: u32,
}

impl World {
    fn new(network: &LiveNetwork) -> World {
        let edge = |n: u32| {
            let setup = switch(network, 1, n / 2, n % 2);
            let mut seat = Seat::new((setup.make)(1).unwrap(), &setup.wires, Time::ZERO);
            seat.start(Time::ZERO);
            (setup, seat)
        };
        let setup = network.arbiter(0, key(99)).unwrap();
        let mut scheduler = Seat::new((setup.make)(1).unwrap(), &setup.wires, Time::ZERO);
        let mut recorder = Recorder::new(Vec::new());
        let (scenario, scheme) = setup.scenario.clone();
        let program = String::new();
        recorder.begin(&Header {
            program,
            scenario,
            scheme,
            station: setup.me.0,
            incarnation: 1,
            began: 0,
        });
        scheduler.start(Time::ZERO);
        World {
            edges: (0..PODS * 2).map(edge).collect(),
            setup,
            scheduler,
            recorder,
            paths: BTreeMap::new(),
            detours: BTreeMap::new(),
            refused: 0,
        }
    }
    /// Kernels have counted a flow from each host h to h + 4, as much as its link carries.
    fn count(&mut self) {
        for src in 0..HOSTS {
            let (port, dst) = (1 + (src % 2) as u16, HostId((src + 4) % HOSTS));
            let flow = port.into();
            let packet = Packet { dst, flow, len: FULL, kind: Kind::Datagram, ..Packet::default() };
            self.edges[(src / 2) as usize].1.receive(PortId(port), packet, &[], Time::ZERO);
        }
    }
    /// Machines do what is due.
    fn step(&mut self, now: Time) {
        for at in 0..self.edges.len() {
            let (setup, seat) = &mut self.edges[at];
            let links = setup.role.links();
            let mut outlet = Outlet { me: setup.me, links, ..Outlet::default() };
            seat.step(now, &mut outlet).unwrap();
            let from = setup.me.0;
            for (conn, path) in outlet.orders {
                self.paths.insert(at as u32 * 2 + conn - 1, path);
            }
            for (host, path) in outlet.detours {
                match path {
                    u16::MAX => self.detours.remove(&(at, host.0)),
                    _ => self.detours.insert((at, host.0), path),
                };
            }
            for (to, packet, payload) in outlet.messages {
                assert_eq!(to, self.setup.me.0);
                self.hear(from, packet, &payload, now);
            }
        }
        let me = self.setup.me;
        let mut outlet = Outlet { me, links: self.setup.links.clone(), ..Outlet::default() };
        self.scheduler.step(now, &mut outlet).unwrap();
        self.recorder.stepped(outlet.sent, now);
        for (to, packet, payload) in outlet.messages {
            let edge = self.edges.iter_mut().find(|(setup, _)| setup.me.0 == to).unwrap();
            assert!(edge.0.role.links().accepts(&packet, me.0, HostId(to)));
            edge.1.receive(PortId(0), packet, &payload, now);
        }
    }
    /// What the arbiter does with a message that a machine has sent.
    fn hear(&mut self, from: u32, packet: Packet, payload: &[u8], now: Time) {
        if !self.setup.links.accepts(&packet, from, self.setup.me) {
            self.refused += 1;
            return;
        }
        self.recorder.heard(&packet, payload, now);
        self.scheduler.receive(self.setup.links.port(packet.flow).unwrap(), packet, payload, now);
    }
    /// Whether a path leads over the cable between these switches.
    fn uses(ends: (u32, u32), path: u16, cable: [&str; 2]) -> bool {
        let names = by_routes(&graph(), (HostId(ends.0), HostId(ends.1)), path);
        let is_it = |pair: &[String]| pair == cable || (pair[1] == cable[0] && pair[0] == cable[1]);
        names.windows(2).any(is_it)
    }
    /// The number of flows on the fullest link upwards.
    fn fullest(&self) -> usize {
        let (graph, mut load) = (graph(), BTreeMap::new());
        for (&src, &path) in &self.paths {
            let names = by_routes(&graph, (HostId(src), HostId((src + 4) % HOSTS)), path);
            let edge = names[0].clone();
            for (from, to) in [(&edge, &names[1]), (&names[1], &names[2]), (&names[2], &names[3])] {
                *load.entry((from.clone(), to.clone())).or_insert(0) += 1;
            }
        }
        load.into_values().max().unwrap_or(0)
    }
}

#[test]
fn flows_get_paths_of_their_own_and_the_log_replays() {
    let network = network();
    let mut world = World::new(&network);
    world.count();
    (1..=110).for_each(|ms| world.step(Time::ms(ms)));
    assert_eq!((world.paths.len(), world.fullest(), world.refused), (16, 1, 0));
    // A switch reports a flow of a host of another switch, or as if it was that switch.
    let message = |flow| {
        let dst = world.setup.me;
        Packet { dst, flow, len: 84, kind: Kind::Control, ..Packet::default() }
    };
    let (other, own) = (message(15), world.edges[0].0.me.0);
    world.hear(own, other, b"", Time::ms(111));
    assert_eq!(world.refused, 1);
    // A link fails: neither large flows nor other packets take it until it works again.
    let cable = ["edge1.0", "agg1.0"];
    let port = role(&world.edges[2].0).ports[0];
    let affected = |world: &World| {
        let flows = world.paths.iter().map(|(src, path)| ((*src, (src + 4) % HOSTS), *path));
        flows.filter(|(ends, path)| World::uses(*ends, *path, cable)).count()
    };
    assert!(affected(&world) > 0);
    world.edges[2].1.change(&Change::Down(port), Time::ms(111));
    (111..=113).for_each(|ms| world.step(Time::ms(ms)));
    assert_eq!(affected(&world), 0, "at once, before the scheduler has decided");
    let to_others = world.detours.keys().filter(|(at, _)| *at == 2).count();
    assert_eq!((to_others, world.detours.len() - to_others), (14, 14), "hosts 4 and 5 and others");
    for ((at, host), path) in &world.detours {
        assert!(!World::uses((*at as u32 * 2, *host), *path, cable), "{at} {host} {path}");
    }
    world.count();
    (114..=250).for_each(|ms| world.step(Time::ms(ms)));
    assert_eq!((affected(&world), world.paths.len()), (0, 16));
    world.edges[2].1.change(&Change::Up(port), Time::ms(251));
    (251..=253).for_each(|ms| world.step(Time::ms(ms)));
    assert!(world.detours.is_empty(), "{:?}", world.detours);
    // The log has all that the scheduler heard.
    world.recorder.flush();
    let bytes = std::mem::replace(&mut world.recorder, Recorder::new(Vec::new())).into_inner();
    let mut log = Log::open(&bytes).unwrap();
    let loaded = Scenario::parse(Path::new("log"), log.header.scenario.clone()).unwrap();
    let (mut seat, links) = recorded_controller(&loaded, &log.header).unwrap();
    let replayed = replay(&mut log, &mut seat, &links, true).unwrap();
    assert!(replayed.heard > 32 && replayed.sent > 32, "{replayed:?}");
    assert_eq!(replayed.sent, replayed.recorded);
}

#[test]
fn what_does_not_fit_is_named() {
    let error = |from: &str, to: &str| try_network(HEDERA, from, to).err().unwrap_or_default();
    let wrong = error("'agg0.0' = ['10.2.0.0'], ", "");
    assert!(wrong.contains("`edge0.0`: `up` needs") && wrong.contains("agg0.0, agg0.1"), "{wrong}");
    assert!(error("h0 =", "h17 =").contains("no host `h17`"));
    assert!(error("h0 = ['10.0.0.0'], ", "").is_empty(), "not all hosts need an entry");
    let elsewhere =
        error("h0 = ['10.0.0.0'], h1 = ['10.0.0.1']", "h1 = ['10.0.0.1'], h8 = ['10.0.0.0']");
    assert!(elsewhere.contains("given twice"), "{elsewhere}");
    assert!(error("'edge0.0'", "'edge9.0'").contains("no switch `edge9.0`"));
    let core = error("name = 'agg0.0'", "name = 'core0'");
    assert!(core.contains("`core0` cannot choose among paths"), "{core}");
    assert!(
        error("[[arbiter]]", "network = ['10.0.0.0/8']\n[[arbiter]]").contains("unknown field")
    );
    let other = try_network("kind = 'xco'", "#", "#").err().unwrap();
    assert!(other.contains("runs on hosts"), "{other}");
    assert!(try_network("kind = 'flow-scheduler'", "#", "#").is_ok());
}
