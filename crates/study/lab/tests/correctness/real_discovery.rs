//! Daemons of a network that arbiters discover, in virtual time: the nodes of hosts, which know no cables, with those of an
//! arbiter that follows them.

use crate::real_paths::Outlet;
use slotline_envelope::KeyPair;
use slotline_lab::live::{LiveNetwork, recorded_controller};
use slotline_live::arbiter::topology::{Assemble, Assembled};
use slotline_live::config::Config;
use slotline_live::discovery::Discovered;
use slotline_live::record::{Header, Recorder};
use slotline_live::replay::{Log, replay};
use slotline_live::seat::Seat;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::Handover;
use slotline_net::time::Time;
use slotline_scenario::Scenario;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

const LENGTH: u16 = 1_538;
const STEP: Time = Time::us(200);
/// The number of the arbiter.
const ARBITER: u32 = 4;

fn key(number: u8) -> KeyPair {
    KeyPair::from_private([number + 1; 32])
}

/// A network of four hosts and two switches, with a change to its configuration or scenario.
fn try_network(from: &str, to: &str) -> Result<LiveNetwork, String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("slotline-discovery-{}-{number}.toml", std::process::id());
    let path = std::env::temp_dir().join(name);
    // Its fabric, traffic and events are of another network.
    let scenario = "name = 'found'\nend.at = '1s'\nfabric = { kind = 'fat-tree', k = 4 }\n\
        [[workload]]\nkind = 'bulk'\nsenders = '15'\nreceivers = '14'\n\
        [[event]]\nat = '1ms'\nkind = 'link-down'\nlink = 'agg1.0-core0'\n\
        [[scheme]]\nname = 'other'\n[[scheme]]\nname = 's'\n[scheme.control]\nkind = 'fastpass'\nreserve = 0.06\nbatch = 8\n\
        lead = '3ms'\ntimeout = '20ms'\ngap = '200us'\n";
    let host = |h: u8| {
        format!("[[host]]\nname = 'h{h}'\naddress = ['10.7.0.{h}']\nkey = '{}'\n", key(h).public())
    };
    let switch = |n: u8| {
        let public = key(10 + n).public();
        format!("[[switch]]\nname = 's{n}'\naddress = '10.7.1.{n}'\nkey = '{public}'\n")
    };
    let text = format!(
        "scenario = {path:?}\nnetwork = ['10.7.0.0/24']\n{}{}[[arbiter]]\naddress = '10.7.2.1'\nkey = '{}'\n\
         [discovery]\nrate = '20Mbps'\n",
        (0..4).map(host).collect::<String>(),
        (0..2).map(switch).collect::<String>(),
        key(99).public()
    );
    std::fs::write(&path, scenario.replace(from, to)).unwrap();
    let config = Config::parse(&text.replace(from, to), &path).map_err(|error| error.to_string());
    let network = config.and_then(|config| LiveNetwork::new(config).map_err(|e| e.to_string()));
    std::fs::remove_file(path).unwrap();
    network
}

fn discovered(cables: &[(&str, &str)], switches: &[&str]) -> Discovered {
    Discovered {
        cables: cables.iter().map(|(a, b)| [(*a).to_owned(), (*b).to_owned()]).collect(),
        switches: switches.iter().map(|name| (*name).to_owned()).collect(),
        outside: Vec::new(),
    }
}

/// All hosts at one switch.
fn star() -> Discovered {
    discovered(&[("h0", "s0"), ("h1", "s0"), ("h2", "s0"), ("h3", "s0")], &["s0"])
}

/// Two hosts at each of two switches.
fn two_racks() -> Discovered {
    let cables = [("h0", "s0"), ("h1", "s0"), ("h2", "s1"), ("h3", "s1"), ("s0", "s1")];
    discovered(&cables, &["s0", "s1"])
}

/// The nodes by the numbers of their machines. Hosts 0 and 1 always hold packets for hosts 2 and 3.
struct World {
    seats: BTreeMap<u32, Seat>,
    assemble: Assemble,
    now: Time,
    held: BTreeMap<u32, u32>,
    next: u32,
    /// The times at which packets left.
    left: Vec<Time>,
    recorder: Recorder<Vec<u8>>,
}

impl World {
    fn new(network: &Discovered) -> World {
        let daemons = try_network("#", "#").unwrap();
        let setup = daemons.arbiter(0, key(99)).unwrap();
        assert_eq!(setup.me, HostId(ARBITER));
        let (_, assemble) = setup.discovery.unwrap();
        let mut seats = BTreeMap::new();
        for host in 0..4 {
            let agent = daemons.agent(&format!("h{host}"), key(host)).unwrap();
            let mut seat = Seat::new((agent.make)(1).unwrap(), &agent.wires, Time::ZERO);
            seat.track_frames();
            seat.start(Time::ZERO);
            seats.insert(agent.me.0, seat);
        }
        let (held, recorder) = ([(0, 0), (1, 0)].into(), Recorder::new(Vec::new()));
        let left = Vec::new();
        let mut world = World { seats, assemble, now: Time::ZERO, held, next: 0, left, recorder };
        world.use_network(network, 1);
        world
    }
    /// The arbiter begins anew with a network.
    fn use_network(&mut self, network: &Discovered, incarnation: u64) {
        let Assembled { wires, make, scenario: (scenario, scheme), parts } =
            (self.assemble)(network).unwrap();
        drop(parts);
        let mut seat = Seat::new(make(incarnation).unwrap(), &wires, Time::ZERO);
        self.recorder = Recorder::new(Vec::new());
        let (program, station, began) = (String::new(), ARBITER, self.now.as_ps());
        self.recorder.begin(&Header { program, scenario, scheme, station, incarnation, began });
        seat.start(self.now);
        self.seats.insert(ARBITER, seat);
    }
    fn fill(&mut self) {
        for (src, held) in &mut self.held {
            while *held < 24 {
                (self.next, *held) = (self.next + 1, *held + 1);
                let (dst, seq) = (HostId(src + 2), self.next);
                let packet =
                    Packet { dst, seq, len: LENGTH, kind: Kind::Datagram, ..Packet::default() };
                self.seats.get_mut(src).unwrap().receive(PortId(0), packet, &[], self.now);
            }
        }
    }
    fn step(&mut self) {
        self.now = self.now.after(STEP);
        self.fill();
        let mut messages = Vec::new();
        for (number, seat) in &mut self.seats {
            let mut outlet = Outlet::default();
            seat.step(self.now, &mut outlet).unwrap();
            if *number == ARBITER {
                self.recorder.stepped(outlet.sent, self.now);
            }
            messages.extend(outlet.messages);
            for (at, what) in seat.handovers().collect::<Vec<_>>() {
                if let Handover::Left(_) = what {
                    *self.held.get_mut(number).unwrap() -= 1;
                    self.left.push(at);
                }
            }
        }
        for (packet, payload) in messages {
            if packet.dst.0 == ARBITER {
                self.recorder.heard(&packet, &payload, self.now);
            }
            let seat = self.seats.get_mut(&packet.dst.0).unwrap();
            seat.receive(PortId(0), packet, &payload, self.now);
        }
    }
    /// The packets that leave within this time.
    fn run(&mut self, span: Time) -> usize {
        let (until, before) = (self.now.after(span), self.left.len());
        while self.now < until {
            self.step();
        }
        self.left.len() - before
    }
    /// The log replays to the same messages, on the network that it names.
    fn check_log(self) {
        let bytes = self.recorder.into_inner();
        let mut log = Log::open(&bytes).unwrap();
        let loaded = Scenario::parse(Path::new("log"), log.header.scenario.clone()).unwrap();
        let (mut seat, links) = recorded_controller(&loaded, &log.header).unwrap();
        let replayed = replay(&mut log, &mut seat, &links, true).unwrap();
        assert!(replayed.heard > 50 && replayed.sent == replayed.recorded, "{replayed:?}");
    }
}

/// Timeslots of 655 us (20 Mbit/s with a reserve of 6 %) in this time.
fn slots(span: Time) -> usize {
    (span.as_ns() / 655_000) as usize
}

#[test]
fn the_schedule_follows_cables() {
    let mut world = World::new(&star());
    world.run(Time::ms(40));
    let span = Time::ms(200);
    // In a star both hosts send all the time. Between two racks they share a cable.
    let both = world.run(span);
    assert!(both > 2 * slots(span) * 9 / 10, "{both}");
    let changed = world.now;
    world.use_network(&two_racks(), 2);
    world.run(Time::ms(60));
    let pause = world.left.iter().find(|at| **at > changed.after(Time::ms(5))).unwrap();
    assert!(pause.since(changed) < Time::ms(40), "{pause}");
    let one = world.run(span);
    assert!(one > slots(span) * 9 / 10 && one <= slots(span) + 2, "{one} of {}", slots(span));
    world.use_network(&star(), 3);
    world.run(Time::ms(60));
    let both = world.run(span);
    assert!(both > 2 * slots(span) * 9 / 10, "{both}");
    world.check_log();
}

#[test]
fn numbers_of_machines_do_not_depend_on_cables() {
    let network = try_network("#", "#").unwrap();
    let number = |name: &str| network.host(name).unwrap();
    assert_eq!(["h0", "h3", "s0", "s1"].map(number), [0, 3, 5, 6]);
    assert!(network.is_observer("s1") && !network.is_observer("h1"));
    assert_eq!(network.observer("s1", key(11)).unwrap().arbiters[0].number, ARBITER);
    assert!(network.observer("s1", key(10)).is_err(), "another key");
    let setup = network.arbiter(0, key(99)).unwrap();
    let peers: Vec<u32> = setup.peers.iter().map(|peer| peer.number).collect();
    assert_eq!(peers, [0, 1, 2, 3, 5, 6]);
    let (_, assemble) = setup.discovery.unwrap();
    // A host without a cable is at the first switch, where nobody hears it.
    let lacks = Discovered { cables: two_racks().cables[1..].to_vec(), ..two_racks() };
    let assembled = assemble(&lacks).unwrap();
    assert!(assembled.scenario.0.contains("s0") && assembled.wires.len() == 1);
    let twice = discovered(&[("h0", "s0"), ("h0", "s1"), ("s0", "s1")], &["s0", "s1"]);
    let why = assemble(&twice).err().unwrap();
    assert!(why.contains("network card"), "{why}");
}

#[test]
fn what_cannot_be_discovered_is_refused() {
    let error = |from: &str, to: &str| try_network(from, to).err().unwrap_or_default();
    let reserve = error("reserve = 0.06\n", "");
    assert!(reserve.contains("`reserve` has to be given"), "{reserve}");
    assert_eq!(error("reserve = 0.06", "messages = 'first'"), "");
    let fastpass = "kind = 'fastpass'\nreserve = 0.06\nbatch = 8\nlead = '3ms'\ntimeout = '20ms'\ngap = '200us'\n";
    let hedera = error(fastpass, "kind = 'hedera'\n");
    assert!(hedera.contains("suits fastpass, tdma and xco"), "{hedera}");
    for other in ["kind = 'tdma'\n", "kind = 'xco'\n"] {
        assert_eq!(error(fastpass, other), "", "{other}");
    }
    let several = error(fastpass, "kind = 'xco'\ncontrollers = 'standby'\n");
    assert!(several.contains("controllers"), "{several}");
    let up = error("name = 's0'\n", "name = 's0'\nup = { s1 = ['10.9.9.1'] }\n");
    assert!(up.contains("`s0` has `up` or `hosts`, which are discovered"), "{up}");
}
