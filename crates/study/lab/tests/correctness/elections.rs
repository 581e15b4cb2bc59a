//! Two arbiters of Fastpass in a network that is cut, and that loses, repeats and reorders messages; one arbiter may stop or be
//! slow: no timeslot is granted twice, and an arbiter that reaches enough witnesses grants some.
//!
//! The parts of the daemons are the real ones: nodes, elections, witnesses, and messages as bytes. Only sockets, encryption,
//! the kernel's packets and the daemons' clocks are the test's.

use crate::common::Random;
use proptest::prelude::*;
use slotline_envelope::KeyPair;
use slotline_lab::live::{LiveNetwork, recorded_controller};
use slotline_live::agent::AgentSetup;
use slotline_live::arbiter::ArbiterSetup;
use slotline_live::clock::Local;
use slotline_live::config::Config;
use slotline_live::election::{Election, Leadership, Moment, Standing, Turn};
use slotline_live::lease::{Answer, Witness};
use slotline_live::message::Message;
use slotline_live::record::{Header, Recorder, Sent};
use slotline_live::replay::{Log, replay};
use slotline_live::seat::{Io, Seat};
use slotline_live::timeslots::{Accepted, Timeslots};
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::Note;
use slotline_net::time::Time;
use slotline_net::topology::End;
use slotline_scenario::Scenario;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

const HOSTS: u32 = 4;
const ALL: usize = HOSTS as usize + 2;
const EPOCH: u64 = 7;
/// When an arbiter is active and trouble begins, and the end.
const SETTLED: Time = Time::ms(480);
const END: Time = Time::ms(880);
const CASES: u32 = 60;
const STEP: Time = Time::us(100);
/// Packets that a host keeps waiting.
const BACKLOG: usize = 20;

fn key(number: u32) -> KeyPair {
    KeyPair::from_private([number as u8 + 1; 32])
}

/// The daemons of hosts and of two arbiters.
fn network() -> LiveNetwork {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("slotline-elections-{}-{number}.toml", std::process::id());
    let path = std::env::temp_dir().join(name);
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
    None,
    /// It does nothing for a while, and goes on.
    Stall,
    /// It ends, and begins anew.
    Kill,
}

#[derive(Clone, Debug)]
struct Disturbance {
    trouble: Trouble,
    /// Whom it happens to, and for how many milliseconds.
    arbiter: usize,
    span: u64,
    /// The longest delay of a message, in microseconds, and the percentages of messages that are lost and repeated.
    delay: u64,
    loss: u64,
    repeated: u64,
    /// Whether arbiters do not reach each other, and by arbiter the hosts that it does not reach.
    apart: bool,
    cut: [[bool; HOSTS as usize]; 2],
    /// The difference of the arbiters' clocks in microseconds.
    clocks: u64,
    /// Whether arbiters heed their leases.
    leases: bool,
    /// Whether the last host lies: it promises everything to both arbiters, claims higher terms, and says to both that it is
    /// the active arbiter.
    lies: bool,
}

const CALM: Disturbance = Disturbance {
    trouble: Trouble::None,
    arbiter: 0,
    span: 0,
    delay: 500,
    loss: 0,
    repeated: 0,
    apart: false,
    cut: [[false; HOSTS as usize]; 2],
    clocks: 0,
    leases: true,
    lies: false,
};

impl Disturbance {
    /// Whether a message passes at some time.
    fn passes(&self, from: usize, to: usize, now: Time) -> bool {
        let arbiter = |at: usize| at.checked_sub(HOSTS as usize);
        let cut = match (arbiter(from), arbiter(to)) {
            (Some(_), Some(_)) => self.apart,
            (Some(rank), None) => self.cut[rank][to],
            (None, Some(rank)) => self.cut[rank][from],
            (None, None) => false,
        };
        !cut || now < SETTLED
    }
    /// Whether an arbiter that is not in trouble reaches a quorum of witnesses: three of four.
    fn has_majority(&self) -> bool {
        (0..2).any(|rank| {
            let healthy = self.trouble == Trouble::None || self.arbiter != rank;
            healthy && self.cut[rank].iter().filter(|cut| **cut).count() <= 1
        })
    }
}

/// Messages in flight: by arrival, the receiver, the sender and the message.
struct Wires {
    in_flight: BTreeMap<(Time, u64), (usize, usize, Vec<u8>)>,
    sent: u64,
    random: Random,
    now: Time,
    disturbance: Disturbance,
}

impl Wires {
    fn arrived(&mut self, at: usize) -> Vec<(usize, Vec<u8>)> {
        let now = self.now;
        let due = self.in_flight.range(..=(now, u64::MAX));
        let keys: Vec<_> = due.filter(|(_, (to, ..))| *to == at).map(|(key, _)| *key).collect();
        let taken = keys.iter().filter_map(|key| self.in_flight.remove(key));
        taken.map(|(_, from, bytes)| (from, bytes)).collect()
    }
    fn send(&mut self, from: usize, to: usize, message: &Message<'_>) {
        let mut bytes = Vec::new();
        message.emit(&mut bytes);
        let repeats = u64::from(self.random.below(100) < self.disturbance.repeated);
        for _ in 0..=repeats {
            let delay = 20 + self.random.below(self.disturbance.delay);
            let lost = self.random.below(100) < self.disturbance.loss;
            self.sent += 1;
            if !lost && self.disturbance.passes(from, to, self.now) {
                let arrives = self.now.after(Time::us(delay));
                self.in_flight.insert((arrives, self.sent), (to, from, bytes.clone()));
            }
        }
    }
}

/// What a node sends, in a term, and a digest of it.
struct Outlet<'a>(&'a mut Wires, usize, u64, Sent);

impl Io for Outlet<'_> {
    fn send(&mut self, far: End, packet: &Packet, payload: &[u8]) -> io::Result<bool> {
        self.3.add(far, packet, payload);
        if packet.kind == Kind::Control {
            let message = Message::control(Some(self.2), *packet, payload);
            self.0.send(self.1, packet.dst.at(), &message);
        }
        Ok(true)
    }
}

/// An arbiter's daemon.
struct Arbiter<'a> {
    setup: &'a ArbiterSetup,
    election: Election,
    seat: Option<Seat>,
    recorder: Option<Recorder<Vec<u8>>>,
    logs: Vec<Vec<u8>>,
    /// How far its clock is ahead.
    ahead: Time,
    leases: bool,
}

impl<'a> Arbiter<'a> {
    fn new(setup: &'a ArbiterSetup, disturbance: &Disturbance, now: Time) -> Arbiter<'a> {
        let election = Election::new(setup.rank, setup.standby.clone().unwrap(), local(now));
        let ahead = Time::us(disturbance.clocks * setup.rank as u64);
        let (seat, recorder, logs, leases) = (None, None, Vec::new(), disturbance.leases);
        Arbiter { setup, election, seat, recorder, logs, ahead, leases }
    }
    fn apply(&mut self, turn: Turn, time: Time) {
        match turn {
            Turn::StepBack if self.leases => {
                self.seat = None;
                self.logs.extend(self.recorder.take().map(Recorder::into_inner));
            }
            Turn::TakeOver => {
                let incarnation = time.as_ns();
                let node = (self.setup.make)(incarnation).unwrap();
                let (scenario, scheme) = self.setup.scenario.clone();
                let (station, began) = (self.setup.me.0, time.as_ps());
                let program = "0".into();
                let mut recorder = Recorder::new(Vec::new());
                recorder.begin(&Header { program, scenario, scheme, station, incarnation, began });
                let mut seat = Seat::new(node, &self.setup.wires, Time::ZERO);
                seat.start(time);
                (self.seat, self.recorder) = (Some(seat), Some(recorder));
            }
            _ => {}
        }
    }
    fn turn(&mut self, wires: &mut Wires) {
        let (me, now) = (HOSTS as usize + self.setup.rank, local(wires.now));
        let time = wires.now.after(self.ahead);
        let moment: Moment = (EPOCH, time.as_ns());
        for (from, bytes) in wires.arrived(me) {
            match Message::parse(&bytes).unwrap() {
                Message::Elected(term, packet, payload) => {
                    let runs = self.election.active() == Some(term) && self.election.runs(moment);
                    if let (Some(seat), Some(recorder)) = (&mut self.seat, &mut self.recorder)
                        && (runs || !self.leases)
                    {
                        recorder.heard(&packet, payload, time);
                        seat.receive(PortId(0), packet, payload, time);
                    }
                }
                Message::Standing(term, standing) if from >= HOSTS as usize => {
                    let turn = self.election.hear(term, standing, now);
                    self.apply(turn, time);
                }
                Message::Answer(answer) => self.election.answered(from as u32, &answer, now),
                _ => {}
            }
        }
        let turn = self.election.check(Some(moment), now);
        self.apply(turn, time);
        let due = self.election.due(Some(moment), now);
        due.asks.iter().for_each(|(to, ask)| wires.send(me, *to as usize, &Message::Ask(*ask)));
        let (term, standing) = self.election.standing();
        let told = (0..ALL).filter(|at| *at != me && (due.announce || *at >= HOSTS as usize));
        for at in told.filter(|_| due.beat || due.announce) {
            wires.send(me, at, &Message::Standing(term, standing));
        }
        if let (Some(seat), Some(recorder)) = (&mut self.seat, &mut self.recorder)
            && (self.election.runs(moment) || !self.leases)
        {
            let mut outlet = Outlet(wires, me, term, Sent::default());
            seat.step(time, &mut outlet).unwrap();
            recorder.stepped(outlet.3, time);
        }
    }
}

/// A host's daemon.
struct Host {
    setup: AgentSetup,
    witness: Witness,
    leadership: Leadership,
    seat: Seat,
    waiting: usize,
    log: String,
    /// Timeslots accepted since half of the trouble was over.
    late: u64,
    /// Whether it refuses messages of earlier terms.
    heeds_terms: bool,
}

impl Host {
    fn new(network: &LiveNetwork, number: u32, heeds_terms: bool) -> Host {
        let setup = network.agent(&format!("h{number}"), key(number)).unwrap();
        let mut seat = Seat::new((setup.make)(number.into()).unwrap(), &setup.wires, Time::MAX);
        seat.start(Time::ms(1));
        let lease = slotline_live::election::Standby::lease(setup.elected.unwrap().1);
        let witness = Witness::new(lease, local(Time::ms(1)));
        let (leadership, log) = Default::default();
        Host { setup, witness, leadership, seat, waiting: 0, log, late: 0, heeds_terms }
    }
    fn turn(&mut self, wires: &mut Wires) {
        let (me, now) = (self.setup.me.at(), wires.now);
        for (from, bytes) in wires.arrived(me) {
            let at = from - HOSTS as usize;
            match Message::parse(&bytes).unwrap() {
                Message::Ask(ask) => {
                    let mut answer = self.witness.answer(at, &ask, local(now));
                    if wires.disturbance.lies && me + 1 == HOSTS as usize {
                        let (highest, free) = (ask.term + 1_001, true);
                        answer =
                            Answer { highest, free, from: ask.from, until: ask.until, ..answer };
                        // A daemon believes neither of an agent.
                        wires.send(me, from, &Message::Standing(highest, Standing::Active));
                        wires.send(me, from, &Message::Standing(highest - 1, Standing::Active));
                    }
                    wires.send(me, from, &Message::Answer(answer));
                }
                Message::Standing(term, Standing::Active) => {
                    self.leadership.leads(at, term);
                }
                Message::Elected(term, packet, payload) => {
                    self.leadership.leads(at, term);
                    if self.leadership.is_led_by(at, term) || !self.heeds_terms {
                        self.seat.receive(PortId(0), packet, payload, now);
                    }
                }
                _ => {}
            }
        }
        while self.waiting < BACKLOG {
            let to = if me == 0 || wires.random.below(2) == 0 && me != 1 { 1 } else { 0 };
            self.seat.receive(PortId(0), packet(&self.setup, to), &[], now);
            self.waiting += 1;
        }
        self.seat.step(now, &mut Outlet(wires, me, self.leadership.term, Sent::default())).unwrap();
        self.waiting -= self.seat.handovers().count();
        for (_, note) in self.seat.notes() {
            if let Note::Timeslot { dst, slot, .. } = note {
                writeln!(self.log, "g {slot} {}", dst.0).unwrap();
                self.late += u64::from(now > Time::ps(SETTLED.as_ps().midpoint(END.as_ps())));
            }
        }
    }
}

fn local(now: Time) -> Local {
    Local(now.as_ns())
}

/// A packet of a host for another one.
fn packet(setup: &AgentSetup, to: u32) -> Packet {
    let plan = setup.role.plan();
    let to_host = |conn: &u32| plan.traffic.conns[*conn as usize].dst == HostId(to);
    let flow = plan.sends(setup.me).find(to_host).unwrap();
    let (len, entropy) = (plan.transport.datagram_len(1_400), plan.entropy(flow));
    Packet { dst: HostId(to), flow, len, entropy, kind: Kind::Datagram, ..Packet::default() }
}

/// What happened in a run.
struct Run {
    /// The timeslots that hosts accepted while all of them had packets for two of them, and those of the last part.
    accepted: Accepted,
    late: u64,
    /// How often each host changed its arbiter.
    changes: Vec<u64>,
    /// The logs of arbiters, one for each time that one was active until it stepped back or the run ended.
    logs: Vec<Vec<u8>>,
}

fn run(disturbance: &Disturbance, seed: u64) -> Run {
    let network = network();
    let mut hosts: Vec<Host> =
        (0..HOSTS).map(|n| Host::new(&network, n, disturbance.leases)).collect();
    let setups = [0, 1].map(|rank| network.arbiter(rank, key(HOSTS + rank as u32)).unwrap());
    let mut now = Time::ms(1);
    let mut arbiters = [0, 1].map(|rank| Arbiter::new(&setups[rank], disturbance, now));
    let (in_flight, random) = (BTreeMap::new(), Random(seed));
    let mut wires = Wires { in_flight, sent: 0, random, now, disturbance: disturbance.clone() };
    let until = SETTLED.after(Time::ms(disturbance.span));
    while now < END {
        now = now.after(STEP);
        wires.now = now;
        let troubled = Some(disturbance.arbiter).filter(|_| (SETTLED..until).contains(&now));
        if disturbance.trouble == Trouble::Kill && now >= until && now < until.after(STEP) {
            arbiters[disturbance.arbiter] =
                Arbiter::new(&setups[disturbance.arbiter], disturbance, now);
        }
        hosts.iter_mut().for_each(|host| host.turn(&mut wires));
        for (rank, arbiter) in arbiters.iter_mut().enumerate() {
            match disturbance.trouble {
                Trouble::Stall if troubled == Some(rank) => {}
                Trouble::Kill if troubled == Some(rank) => {
                    drop(wires.arrived(HOSTS as usize + rank))
                }
                _ => arbiter.turn(&mut wires),
            }
        }
    }
    let mut timeslots = Timeslots::default();
    for (number, host) in hosts.iter().enumerate() {
        timeslots.add(&format!("host {number} epoch {EPOCH}\n{}", host.log)).unwrap();
    }
    let logs = arbiters.into_iter().flat_map(|mut arbiter| {
        arbiter.apply(Turn::StepBack, now);
        arbiter.logs
    });
    Run {
        accepted: timeslots.accepted(),
        late: hosts.iter().map(|host| host.late).sum(),
        changes: hosts.iter().map(|host| host.leadership.changes).collect(),
        logs: logs.collect(),
    }
}

/// The messages that an arbiter sent, all of which its replay sends, too.
fn replayed(bytes: &[u8]) -> u64 {
    let mut log = Log::open(bytes).unwrap();
    let loaded = Scenario::parse(Path::new("log"), log.header.scenario.clone()).unwrap();
    let (mut seat, links) = recorded_controller(&loaded, &log.header).unwrap();
    let done = replay(&mut log, &mut seat, &links, true).unwrap();
    assert!(!done.cut);
    done.sent
}

#[test]
fn another_arbiter_takes_over_and_every_host_follows() {
    for trouble in [Trouble::Kill, Trouble::Stall] {
        let disturbance = Disturbance { trouble, span: 60, ..CALM };
        let Run { accepted, late, changes, logs } = run(&disturbance, 1);
        let sent: Vec<u64> = logs.iter().map(|log| replayed(log)).collect();
        // The log of an arbiter that was killed is not kept here.
        let count = if trouble == Trouble::Kill { 1 } else { 2 };
        assert!(sent.len() == count && sent.iter().all(|sent| *sent > 100), "{sent:?}");
        assert!(
            accepted.timeslots > 500 && accepted.twice == 0 && late > 200,
            "{accepted:?} {late}"
        );
        assert_eq!(changes, [1; HOSTS as usize], "{trouble:?}");
    }
}

/// The check of the checks: where arbiters do not heed leases, timeslots are granted twice.
#[test]
fn without_leases_timeslots_are_granted_twice() {
    let disturbance =
        Disturbance { trouble: Trouble::Stall, span: 60, apart: true, leases: false, ..CALM };
    let accepted = run(&disturbance, 1).accepted;
    assert!(accepted.twice > 0, "{accepted:?}");
}

#[test]
fn arbiters_that_do_not_reach_each_other_share_nothing() {
    let disturbance = Disturbance { apart: true, loss: 30, ..CALM };
    let Run { accepted, late, changes, .. } = run(&disturbance, 1);
    assert!(accepted.twice == 0 && late > 100, "{accepted:?} {late}");
    assert_eq!(changes, [0; HOSTS as usize]);
}

#[test]
fn an_agent_that_lies_changes_nothing() {
    let disturbance = Disturbance { lies: true, ..CALM };
    let Run { accepted, late, changes, .. } = run(&disturbance, 1);
    assert!(accepted.twice == 0 && late > 200, "{accepted:?} {late}");
    assert_eq!(changes, [0; HOSTS as usize]);
    let disturbance = Disturbance { trouble: Trouble::Kill, span: 60, lies: true, ..CALM };
    let Run { accepted, late, changes, .. } = run(&disturbance, 1);
    assert!(accepted.twice == 0 && late > 200, "{accepted:?} {late}");
    assert_eq!(changes, [1; HOSTS as usize], "the other arbiter takes over all the same");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, ..ProptestConfig::default() })]
    #[test]
    fn no_timeslot_is_granted_twice(
        what in 0usize..3, arbiter in 0usize..2, span in 1u64..200, delay in 1u64..3_000, loss in 0u64..=30,
        repeated in 0u64..=30, apart: bool, cut: [[bool; HOSTS as usize]; 2], cuts in 0u8..4, clocks in 0u64..600, lies: bool, seed: u64
    ) {
        let trouble = [Trouble::None, Trouble::Stall, Trouble::Kill][what];
        let side = |rank: usize| if cuts >> rank & 1 == 1 { cut[rank] } else { [false; 4] };
        let cut = [side(0), side(1)];
        let disturbance =
            Disturbance { trouble, arbiter, span, delay, loss, repeated, apart, cut, clocks, leases: true, lies };
        let Run { accepted, late, .. } = run(&disturbance, seed);
        prop_assert_eq!(accepted.twice, 0);
        // One that lies and one that is cut off are too many of four.
        prop_assert!(late > 0 || lies || !disturbance.has_majority(), "{accepted:?}");
    }
}
