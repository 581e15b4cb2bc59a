//! Measures an arbiter's daemon: messages per second of its processor, with encryption and sockets, and the response
//! time when it is otherwise idle. The hosts are nodes of one thread, without the gate that holds real packets.

use crate::Row;
use crate::crowd::{crowd, soak};
use crate::table::{Choice, Outcome, Separate};
use rustix::time::{ClockId, clock_gettime};
use slotline_envelope::KeyPair;
use slotline_lab::live::LiveNetwork;
use slotline_lab::usage::named_threads_cpu_s;
use slotline_live::agent::AgentSetup;
use slotline_live::arbiter::{Arbiter, ArbiterSetup};
use slotline_live::channel::Channel;
use slotline_live::clock::{Local, NetworkClock};
use slotline_live::config::{ClockOptions, Config};
use slotline_live::message::Message;
use slotline_live::running::Running;
use slotline_live::seat::{Io, Seat};
use slotline_live::status::{ArbiterStatus, Shared};
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::Handover;
use slotline_net::time::Time;
use slotline_net::topology::End;
use std::error::Error;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

mod allocators;
mod paper;

pub(crate) type Fault = Box<dyn Error + Send + Sync>;

/// The benchmark for the command line.
pub const SEPARATE: Separate = Separate {
    cases: names,
    run: run_named,
    compared: None,
    has_large: true,
    takes_threads: false,
};

/// The time that passes between two turns: that of a batch of timeslots.
const TURN: Duration = Duration::from_micros(400);
/// Turns until clocks and sessions have settled, and those that are measured.
const SETTLE: u32 = 2_000;
const TURNS: u32 = 8_000;
/// The longest time in which answers are awaited.
const SPAN: Duration = Duration::from_secs(30);
/// The number of round trips that are measured.
const QUESTIONS: usize = 5_000;

fn names(choice: &Choice<'_>) -> Vec<String> {
    let long = ["agents:10000", "soak:600"].into_iter().filter(|_| choice.large);
    let short = [
        "messages:16",
        "messages:64",
        "paper:32",
        "answer",
        "agents:1000",
        "threads:1",
        "threads:2",
        "threads:3",
        "allocators:64",
    ];
    let all = short.into_iter().chain(long);
    all.map(String::from).collect()
}

fn run_named(case: &str, _scenarios: &Path) -> Outcome {
    match case.split_once(':') {
        Some(("messages", hosts)) => messages(case, hosts.parse()?),
        Some(("paper", hosts)) => paper::busy(case, hosts.parse()?),
        Some(("agents", count)) => crowd(case, count.parse()?),
        Some(("allocators", hosts)) => allocators::compare(case, hosts.parse()?),
        Some(("threads", threads)) => spread(case, threads.parse()?),
        Some(("soak", seconds)) => soak(case, seconds.parse()?),
        None if case == "answer" => answer(case),
        _ => Err(
            "a case is messages:HOSTS, paper:HOSTS, agents:COUNT, soak:SECONDS, threads:COUNT, \
                 allocators:HOSTS or answer"
                .into(),
        ),
    }
}

pub(crate) fn row(case: &str, name: &str, value: f64, unit: &str) -> Row {
    Row {
        name: format!("daemons/{name}"),
        scenario: case.into(),
        scheme: "fastpass".into(),
        threads: 1,
        value,
        unit: unit.into(),
    }
}

pub(crate) fn key(number: u32) -> KeyPair {
    let mut private = [7; 32];
    private[8..12].copy_from_slice(&number.to_le_bytes());
    KeyPair::from_private(private)
}

/// A network on the loopback interface, whose hosts are at one switch.
pub(crate) fn network(hosts: u32, arbiters: u32) -> Result<LiveNetwork, Fault> {
    network_of(&star(hosts, "1Gbps"), hosts, arbiters, OPTIONS)
}

/// The options of Fastpass where a case has none of its own.
const OPTIONS: &str = "slot = '50us', batch = 8, lead = '2ms', timeout = '5ms', gap = '100us'";

fn star(hosts: u32, rate: &str) -> String {
    format!("kind = 'star', hosts = {hosts}, rate = '{rate}'")
}

/// The same in another fabric, with these options of Fastpass.
fn network_of(
    fabric: &str,
    hosts: u32,
    arbiters: u32,
    options: &str,
) -> Result<LiveNetwork, Fault> {
    network_with(fabric, hosts, arbiters, options, false)
}

/// The same, where allocators may have threads of their own.
fn network_with(
    fabric: &str,
    hosts: u32,
    arbiters: u32,
    options: &str,
    allocation_threads: bool,
) -> Result<LiveNetwork, Fault> {
    let path = std::env::temp_dir().join(format!("slotline-bench-{}.toml", std::process::id()));
    let secondary = match arbiters {
        1 => "",
        _ => ", secondary = true, watchdog-interval = '2ms', watchdog-timeout = '20ms'",
    };
    let scenario = format!(
        "name = 'bench'\nend.at = '1s'\nfabric = {{ {fabric} }}\n\
         [[workload]]\nkind = 'bulk'\nsenders = '1'\nreceivers = '0'\n[[scheme]]\nname = 'fastpass'\n\
         control = {{ kind = 'fastpass', {options}{secondary} }}\n"
    );
    std::fs::write(&path, scenario)?;
    let (high, low) = (|n: u32| n / 250, |n: u32| n % 250 + 1);
    let host = |n: u32| {
        let address = format!("127.78.{}.{}", high(n), low(n));
        format!("[[host]]\nname = 'h{n}'\naddress = ['{address}']\nkey = '{}'\n", key(n).public())
    };
    let arbiter = |n: u32| {
        let (address, key) = (n + 1, key(hosts + n).public());
        format!("[[arbiter]]\naddress = '127.79.0.{address}'\nkey = '{key}'\n")
    };
    let text = format!(
        "scenario = {path:?}\nport = {}\nnetwork = ['127.78.0.0/16']\n{}{}",
        free_port()?,
        (0..hosts).map(host).collect::<String>(),
        (0..arbiters).map(arbiter).collect::<String>()
    );
    let config = Config { allocation_threads, ..Config::parse(&text, &path)? };
    let network = LiveNetwork::new(config);
    std::fs::remove_file(&path)?;
    Ok(network?)
}

/// A UDP port that is free on the loopback interface. All daemons of a network use the same one, each at an address of its own.
fn free_port() -> io::Result<u16> {
    Ok(UdpSocket::bind((Ipv4Addr::new(127, 79, 0, 1), 0))?.local_addr()?.port())
}

/// A host without applications.
pub(crate) struct Host {
    setup: AgentSetup,
    channel: Channel,
    clock: NetworkClock,
    seat: Seat,
    /// The number of packets that the node holds.
    held: u32,
    asks: Local,
    /// Whether what is due since the last turn is done at its own time, and the time of that turn.
    exact: bool,
    stepped: Time,
    /// The packets that it was given so far, where all other hosts get as many of them.
    given: u32,
}

struct Outlet<'a>(&'a mut Channel, Local);

impl Io for Outlet<'_> {
    fn send(&mut self, _far: End, packet: &Packet, payload: &[u8]) -> io::Result<bool> {
        match packet.kind {
            Kind::Control => {
                Ok(self.0.send(packet.dst.0, &Message::Control(*packet, payload), self.1))
            }
            _ => Ok(true),
        }
    }
}

impl Host {
    pub fn new(network: &LiveNetwork, number: u32, now: Local) -> Result<Host, Fault> {
        let setup = network.agent(&format!("h{number}"), key(number))?;
        let channel = Channel::open(setup.address, key(number), &setup.arbiters, now)?;
        let (interval, guard) = (Time::ms(100), Time::ms(50));
        let clock = NetworkClock::new(&ClockOptions { interval, guard, ..ClockOptions::default() });
        let seat = Seat::new((setup.make)(1)?, &setup.wires, Time::ZERO);
        Ok(Host {
            setup,
            channel,
            clock,
            seat,
            held: 0,
            asks: now,
            exact: false,
            stepped: Time::ZERO,
            given: 0,
        })
    }

    /// Does what is due, and gives packets to the node until it has `backlog` packets. Returns how many have left.
    pub fn round(&mut self, now: Local, backlog: u32) -> io::Result<u32> {
        let Host { channel, clock, seat, .. } = self;
        while let Some((_, message)) = channel.receive(now)? {
            match message {
                Message::TimeReply(reply) => drop(clock.answered(&reply, now)),
                Message::Control(packet, payload) => {
                    let time = clock.now(now).unwrap_or_default();
                    seat.receive(PortId(0), packet, payload, time);
                }
                // There is one arbiter.
                _ => {}
            }
        }
        if now >= self.asks {
            self.asks = now.after(Duration::from_millis(100));
            channel.send(self.setup.arbiters[0].number, &Message::TimeRequest(now), now);
        }
        let mut left = 0;
        if let Some(time) = self.clock.now(now) {
            for number in self.held..backlog {
                self.hand_over(number, time);
            }
            let (outlet, from) = (&mut Outlet(&mut self.channel, now), self.stepped.min(time));
            match self.exact {
                true => self.seat.step_through([from, time], Time::ZERO, outlet)?,
                false => self.seat.step(time, outlet)?,
            };
            self.stepped = time;
            let leaves = |(_, what): &(Time, Handover)| matches!(what, Handover::Left(_));
            left = self.seat.handovers().filter(leaves).count() as u32;
            self.held -= left;
        }
        self.channel.attend(now);
        Ok(left)
    }

    /// Gives the node a full packet for one of the other hosts.
    fn hand_over(&mut self, number: u32, time: Time) {
        let (plan, me) = (self.setup.role.plan(), self.setup.me);
        let conns = plan.sends(me);
        let count = conns.clone().count() as u32;
        let pick = match self.exact {
            true => self.given % count.max(1),
            false => (number.wrapping_mul(7) ^ me.0.wrapping_mul(13)) % count.max(1),
        };
        self.given += 1;
        let Some(flow) = conns.clone().nth(pick as usize) else { return };
        let dst: HostId = plan.traffic.conns[flow as usize].dst;
        let (len, entropy) = (plan.transport.datagram_len(1_500), plan.entropy(flow));
        let packet = Packet { dst, flow, len, entropy, kind: Kind::Datagram, ..Packet::default() };
        self.seat.receive(PortId(0), packet, &[], time);
        self.held += 1;
    }
}

/// CPU time of this thread.
pub(crate) fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Runs an arbiter in another thread while `work` runs.
pub(crate) fn beside<T>(
    network: &LiveNetwork,
    hosts: u32,
    work: impl FnOnce(&Running) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let running = Arc::new(Running::default());
    let shared = Shared::default();
    std::thread::scope(|scope| {
        let arbiter = scope.spawn(|| -> Result<(), Fault> {
            let arbiter = Arbiter::open(network.arbiter(0, key(hosts))?, running.now())?;
            Ok(arbiter.run(&running, &shared)?)
        });
        let done = work(&running);
        running.stop();
        arbiter.join().map_err(|_| "the arbiter's thread failed")??;
        done
    })
}

/// Measures hosts with waiting packets, which request and get timeslots. Hosts and arbiter take turns on one thread, and
/// time goes on by a batch of timeslots each turn, however long the turn takes. So the arbiter never waits, and the time
/// that it takes is that of an arbiter at its limit.
fn messages(case: &str, hosts: u32) -> Outcome {
    let network = network(hosts, 1)?;
    let mut now = Local(1);
    let mut arbiter = Arbiter::open(network.arbiter(0, key(hosts))?, now)?;
    let mut all =
        (0..hosts).map(|n| Host::new(&network, n, now)).collect::<Result<Vec<Host>, Fault>>()?;
    let (mut spent, mut before) = (0.0, 0);
    for turn in 0..SETTLE + TURNS {
        now = now.after(TURN);
        if turn == SETTLE {
            (spent, before) = (0.0, pairs(&arbiter.status(now)));
        }
        let backlog = if turn < SETTLE / 2 { 0 } else { 32 };
        all.iter_mut().try_for_each(|host| host.round(now, backlog).map(drop))?;
        let began = cpu();
        arbiter.round(&|| now)?;
        spent += cpu() - began;
    }
    let pairs = (pairs(&arbiter.status(now)) - before) as f64;
    Ok(vec![
        row(case, "pairs_per_turn", pairs / f64::from(TURNS), "pairs"),
        row(case, "pairs_per_core", pairs / spent, "pairs/s"),
    ])
}

/// Messages that were heard and answered.
fn pairs(status: &ArbiterStatus) -> u64 {
    status.received.min(status.sent)
}

/// Measures a host that repeatedly asks for the time.
fn answer(case: &str) -> Outcome {
    let network = network(2, 1)?;
    let mut took = beside(&network, 2, |running| {
        let mut host = Host::new(&network, 0, running.now())?;
        let arbiter = host.setup.arbiters[0].number;
        let mut took: Vec<f64> = Vec::new();
        while took.len() < QUESTIONS && running.now() < Local(0).after(SPAN) {
            let asked = running.now();
            host.channel.send(arbiter, &Message::TimeRequest(asked), asked);
            while running.now().since(asked) < Duration::from_millis(50) {
                host.channel.attend(running.now());
                if let Some((_, Message::TimeReply(reply))) = host.channel.receive(running.now())?
                    && reply.asked == asked
                {
                    took.push(running.now().since(reply.asked).as_secs_f64() * 1e6);
                    break;
                }
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(took)
    })?;
    took.sort_by(f64::total_cmp);
    let quantile = |share: f64| took.get((share * took.len() as f64) as usize).copied();
    let value = |share| quantile(share).ok_or("the arbiter did not answer");
    Ok(vec![
        row(case, "answer_p50", value(0.5)?, "us"),
        row(case, "answer_p99", value(0.99)?, "us"),
    ])
}

/// Measures the threads of an arbiter beside 64 hosts that ask without a pause, in real time: how many pairs of messages all
/// have processed, and what a pair takes of the thread with the node, and of all threads with sockets. The hosts have a
/// thread on the same processors, so with more threads than processors the sum does not grow.
fn spread(case: &str, threads: u8) -> Outcome {
    const HOSTS: u32 = 64;
    let network = network(HOSTS, 1)?;
    let (running, shared) = (Arc::new(Running::default()), Shared::default());
    std::thread::scope(|scope| {
        let run = || -> Result<(), Fault> {
            let setup = ArbiterSetup { threads, ..network.arbiter(0, key(HOSTS))? };
            Ok(Arbiter::open(setup, running.now())?.run(&running, &shared)?)
        };
        let named = std::thread::Builder::new().name("node".into());
        let arbiter = named.spawn_scoped(scope, run)?;
        let measured = ask_without_pause(&network, HOSTS, &running, &shared);
        running.stop();
        arbiter.join().map_err(|_| "the arbiter's thread failed")??;
        Ok(measured?.rows(case, threads))
    })
}

/// What threads did: pairs of messages, the time, and the processor time of the node's thread and of those with sockets.
struct Spread {
    pairs: f64,
    seconds: f64,
    node: f64,
    sockets: f64,
}

impl Spread {
    /// What was done until now.
    fn now(running: &Running, shared: &Shared<ArbiterStatus>) -> Spread {
        Spread {
            pairs: shared.latest().as_ref().map_or(0, pairs) as f64,
            seconds: running.now().0 as f64 / 1e9,
            node: cpu_of("node"),
            sockets: cpu_of("network"),
        }
    }
    fn since(&self, before: &Spread) -> Spread {
        Spread {
            pairs: self.pairs - before.pairs,
            seconds: self.seconds - before.seconds,
            node: self.node - before.node,
            sockets: self.sockets - before.sockets,
        }
    }
    fn rows(&self, case: &str, threads: u8) -> Vec<Row> {
        let row =
            |name, value, unit| Row { threads: threads.into(), ..row(case, name, value, unit) };
        vec![
            row("pairs_per_second", self.pairs / self.seconds, "pairs/s"),
            row("node_us_per_pair", self.node / self.pairs * 1e6, "us"),
            row("sockets_us_per_pair", self.sockets / self.pairs * 1e6, "us"),
        ]
    }
}

/// The processor time of this process' threads with a name, in seconds.
fn cpu_of(name: &str) -> f64 {
    named_threads_cpu_s(name).iter().sum()
}

fn ask_without_pause(
    network: &LiveNetwork,
    hosts: u32,
    running: &Running,
    shared: &Shared<ArbiterStatus>,
) -> Result<Spread, Fault> {
    let new = |n| Host::new(network, n, running.now());
    let mut all = (0..hosts).map(new).collect::<Result<Vec<Host>, Fault>>()?;
    ask_for(Duration::from_secs(2), &mut all, running)?;
    let before = Spread::now(running, shared);
    ask_for(Duration::from_secs(4), &mut all, running)?;
    Ok(Spread::now(running, shared).since(&before))
}

/// Lets hosts ask for timeslots for this time.
fn ask_for(span: Duration, hosts: &mut [Host], running: &Running) -> io::Result<()> {
    let until = running.now().after(span);
    while running.now() < until {
        hosts.iter_mut().try_for_each(|host| host.round(running.now(), 32).map(drop))?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "daemons_tests.rs"]
mod tests;
