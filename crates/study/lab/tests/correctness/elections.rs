//! Two arbiters of which one stops, or is slow: no timeslot is granted twice.

use crate::common::Random;
use proptest::prelude::*;
use slotline_envelope::KeyPair;
use slotline_lab::live::LiveNetwork;
use slotline_live::agent::AgentSetup;
use slotline_live::config::Config;
use slotline_live::seat::{Io, Seat};
use slotline_live::timeslots::{Accepted, Timeslots};
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::Note;
use slotline_net::time::Time;
use slotline_net::topology::End;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;

const HOSTS: u32 = 4;
const ALL: usize = HOSTS as usize + 2;
const STEP: Time = Time::us(100);
/// Packets that a host keeps waiting.
const BACKLOG: usize = 20;

fn key(number: u32) -> KeyPair {
    KeyPair::from_private([number as u8 + 1; 32])
}

/// The daemons of hosts and of two arbiters.
fn network() -> LiveNetwork {
    let path = std::env::temp_dir().join(format!("slotline-elections-{}.toml", std::process::id()));
    let scenario = format!(
        "name = 'two'\nend.at = '1s'\nfabric = {{ kind = 'star', hosts = {HOSTS}, rate = '100Mbps' }}\n\
         [[scheme]]\nname = 's'\n[scheme.control]\nkind = 'fastpass'\nslot = '500us'\nbatch = 4\nlead = '2ms'\ntimeout = '5ms'\n\
         gap = '100us'\nsecondary = true\nwatchdog-interval = '2ms'\nwatchdog-timeout = '20ms'\n\
         [[workload]]\nkind = 'bulk'\nsenders = '1'\nreceivers = '0'\n"
    );
    std::fs::write(&path, scenario).unwrap();
    let host = |n| {
        format!("[[host]]\nname = 'h{n}'\naddress = ['10.0.0.{n}']\nkey = '{}'\n", key(n).public())
    };
    let arbiter = |n| format!("[[arbiter]]\naddress = '10.0.1.{n}'\nkey = '{}'\n", key(n).public());
    let text = format!(
        "scenario = {path:?}\nnetwork = ['10.0.0.0/24']\n{}{}",
        (0..HOSTS).map(host).collect::<String>(),
        (HOSTS..HOSTS + 2).map(arbiter).collect::<String>()
    );
    let network = LiveNetwork::new(Config::parse(&text, &path).unwrap()).unwrap();
    std::fs::remove_file(path).unwrap();
    network
}

/// What happens to an arbiter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Trouble {
    /// It does nothing for a while, and goes on.
    Stall,
    /// It ends, and begins anew.
    Kill,
}

#[derive(Clone, Copy, Debug)]
struct Disturbance {
    trouble: Trouble,
    /// Whom it happens to, from when, and for how long, in milliseconds.
    arbiter: usize,
    from: u64,
    span: u64,
    /// The longest delay of a message, in microseconds, and the percentage of messages that are lost.
    delay: u64,
    loss: u64,
}

/// Messages in flight: by arrival, packet and payload.
struct Wires {
    in_flight: BTreeMap<(Time, u64), (Packet, Vec<u8>)>,
    sent: u64,
    random: Random,
    now: Time,
    disturbance: Disturbance,
}

impl Wires {
    fn arrived(&mut self, at: usize) -> Vec<(Packet, Vec<u8>)> {
        let now = self.now;
        let due =
            |(arrives, _): &(Time, u64), packet: &Packet| *arrives <= now && packet.dst.at() == at;
        let keys: Vec<_> = self
            .in_flight
            .iter()
            .filter(|(key, (packet, _))| due(key, packet))
            .map(|(key, _)| *key)
            .collect();
        keys.iter().filter_map(|key| self.in_flight.remove(key)).collect()
    }
}

impl Io for Wires {
    fn send(&mut self, _far: End, packet: &Packet, payload: &[u8]) -> io::Result<bool> {
        let arrives = self.now.after(Time::us(20 + self.random.below(self.disturbance.delay)));
        let lost = self.random.below(100) < self.disturbance.loss;
        self.sent += 1;
        if packet.kind == Kind::Control && !lost {
            self.in_flight.insert((arrives, self.sent), (*packet, payload.to_vec()));
        }
        Ok(true)
    }
}

/// A packet of a host for another one.
fn packet(setup: &AgentSetup, to: u32) -> Packet {
    let plan = setup.role.plan();
    let to_host = |conn: &u32| plan.traffic.conns[*conn as usize].dst == HostId(to);
    let flow = plan.sends(setup.me).find(to_host).unwrap();
    let (len, entropy) = (plan.transport.datagram_len(1_400), plan.entropy(flow));
    Packet { dst: HostId(to), flow, len, entropy, kind: Kind::Datagram, ..Packet::default() }
}

/// The timeslots that hosts accept in 150 ms in which all of them have packets for two of them, and how often they
/// changed their arbiter.
fn accepted(disturbance: Disturbance, seed: u64) -> (Accepted, u64) {
    let network = network();
    let agents: Vec<_> =
        (0..HOSTS).map(|n| network.agent(&format!("h{n}"), key(n)).unwrap()).collect();
    let arbiters = [0, 1].map(|rank| network.arbiter(rank, key(HOSTS + rank as u32)).unwrap());
    let new_arbiter = |rank: usize, start: u64| {
        Seat::new((arbiters[rank].make)(start).unwrap(), &arbiters[rank].wires, Time::ZERO)
    };
    let host = |setup: &AgentSetup| {
        Seat::new((setup.make)(setup.me.0.into()).unwrap(), &setup.wires, Time::MAX)
    };
    let mut seats: Vec<Seat> =
        agents.iter().map(host).chain([0, 1].map(|rank| new_arbiter(rank, 9))).collect();
    let mut now = Time::ms(1);
    seats.iter_mut().for_each(|seat| seat.start(now));
    let mut wires =
        Wires { in_flight: BTreeMap::new(), sent: 0, random: Random(seed), now, disturbance };
    let (mut waiting, mut logs) = (vec![0; HOSTS as usize], vec![String::new(); HOSTS as usize]);
    while now < Time::ms(150) {
        now = now.after(STEP);
        wires.now = now;
        let troubled = HOSTS as usize + disturbance.arbiter;
        let (from, until) =
            (Time::ms(disturbance.from), Time::ms(disturbance.from + disturbance.span));
        let trouble = Some(disturbance.trouble).filter(|_| (from..until).contains(&now));
        if disturbance.trouble == Trouble::Kill && now >= until && now < until.after(STEP) {
            seats[troubled] = new_arbiter(disturbance.arbiter, 10);
            seats[troubled].start(now);
        }
        for at in 0..ALL {
            if at == troubled && trouble == Some(Trouble::Kill) {
                wires.arrived(at);
            }
            if at == troubled && trouble.is_some() {
                continue;
            }
            for (packet, payload) in wires.arrived(at) {
                seats[at].receive(PortId(0), packet, &payload, now);
            }
            if at < HOSTS as usize {
                while waiting[at] < BACKLOG {
                    let to = if at == 0 || wires.random.below(2) == 0 && at != 1 { 1 } else { 0 };
                    seats[at].receive(PortId(0), packet(&agents[at], to), &[], now);
                    waiting[at] += 1;
                }
            }
            seats[at].step(now, &mut wires).unwrap();
            if at < HOSTS as usize {
                waiting[at] -= seats[at].handovers().count();
                for (_, note) in seats[at].notes() {
                    if let Note::Timeslot { dst, slot, .. } = note {
                        writeln!(logs[at], "g {slot} {}", dst.0).unwrap();
                    }
                }
            }
        }
    }
    let mut timeslots = Timeslots::default();
    for (host, log) in logs.iter().enumerate() {
        timeslots.add(&format!("host {host} epoch 0\n{log}")).unwrap();
    }
    let mut counters = Default::default();
    seats[..HOSTS as usize].iter().for_each(|seat| seat.node().add_counters(&mut counters));
    let changes = slotline_live::status::named(&counters)["arbiter_changes"];
    (timeslots.accepted(), changes)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn no_timeslot_is_granted_twice(
        kill: bool, arbiter in 0usize..2, from in 25u64..50, span in 1u64..95, delay in 1u64..3_000, loss in 0u64..20, seed: u64
    ) {
        let trouble = if kill { Trouble::Kill } else { Trouble::Stall };
        let disturbance = Disturbance { trouble, arbiter, from, span, delay, loss };
        let (accepted, changes) = accepted(disturbance, seed);
        prop_assert!(accepted.timeslots > 100, "{accepted:?}");
        prop_assert_eq!(accepted.twice, 0);
        // The primary is active first. Beats that are late or lost may count as silence, too.
        prop_assert!(changes >= u64::from(HOSTS) || arbiter == 1 || span < 25, "{changes} changes");
    }
}
