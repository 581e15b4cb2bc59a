//! Measures an arbiter's daemon with many agents, and for a long time. Agents are only sessions and sockets here, and ask
//! for the time; all take turns on one thread, and time goes on by steps, however long a turn takes.

use crate::daemons::{Fault, Host, beside, cpu, key, network, row};
use crate::table::Outcome;
use slotline_envelope::{Endpoint, Event, Settings, Start};
use slotline_lab::live::LiveNetwork;
use slotline_live::arbiter::Arbiter;
use slotline_live::channel::Peer;
use slotline_live::clock::Local;
use slotline_live::lease::Witness;
use slotline_live::message::Message;
use slotline_net::time::Time;
use std::net::{SocketAddr, UdpSocket};
use std::ops::Range;
use std::time::Duration;

/// The time between turns until all have their sessions, with sessions, and while an arbiter takes over.
const BEGINNING: Duration = Duration::from_millis(100);
const IDLE: Duration = Duration::from_millis(250);
const TAKE_OVER: Duration = Duration::from_millis(1);
/// Turns after which one arbiter is active.
const ELECTION: u32 = 200;
/// How long a lease lasts.
const LEASE: Duration = Duration::from_millis(15);
/// The most turns of a part.
const MOST_TURNS: u32 = 2_000;
/// Turns of the idle part.
const IDLE_TURNS: u32 = 20;
/// Agents that have their turn before the arbiters have theirs.
const GROUP: usize = 1_000;
/// Rounds without work after which arbiters have nothing more to do in a turn.
const QUIET: u32 = 3;
/// Hosts of the long run, the time between their turns, and the packets that wait in each.
const SOAK_HOSTS: u32 = 8;
const SOAK_TURN: Duration = Duration::from_micros(500);
const SOAK_BACKLOG: u32 = 16;
/// Growth of memory that a long run may have.
const GROWTH_MB: f64 = 2.0;

/// An agent without a host.
struct Agent {
    socket: UdpSocket,
    endpoint: Endpoint,
    /// The arbiters, and whether each has told the time since the last question.
    arbiters: Vec<(Peer, bool)>,
    /// What it has promised to arbiters.
    witness: Witness,
    /// Messages of the scheme that it has received.
    directed: u64,
    out: Vec<u8>,
}

impl Agent {
    fn new(address: SocketAddr, number: u32, arbiters: &[Peer]) -> Result<Agent, Fault> {
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        let keys = arbiters.iter().map(|peer| (peer.number, peer.key));
        let start = Start { since_1970: Duration::from_secs(1), seed: number.into() };
        let endpoint = Endpoint::new(key(number), keys, start, Settings::default())?;
        let arbiters = arbiters.iter().map(|peer| (peer.clone(), false)).collect();
        let witness = Witness::new(LEASE, Local(0));
        Ok(Agent { socket, endpoint, arbiters, witness, directed: 0, out: Vec::new() })
    }
    /// Handles what has arrived, and asks the arbiters for the time if `asks`.
    fn turn(&mut self, now: Local, asks: bool) -> Result<(), Fault> {
        let time = Time::ns(now.0);
        let mut buffer = [0; 2_048];
        let mut answers = Vec::new();
        while let Ok((length, source)) = self.socket.recv_from(&mut buffer) {
            match self.endpoint.open(&mut buffer[..length], 0, time) {
                Ok(Event::Message { peer, message }) => match Message::parse(message) {
                    Some(Message::TimeReply(_)) => {
                        let at = place(&self.arbiters, peer)?;
                        self.arbiters[at].1 = true;
                    }
                    Some(Message::Elected(..)) => self.directed += 1,
                    Some(Message::Ask(ask)) => {
                        let at = place(&self.arbiters, peer)?;
                        answers.push((at, Message::Answer(self.witness.answer(at, &ask, now))));
                    }
                    _ => {}
                },
                Ok(Event::Handshake { reply, .. }) => drop(self.socket.send_to(&reply, source)?),
                _ => {}
            }
        }
        for at in 0..if asks { self.arbiters.len() } else { 0 } {
            self.arbiters[at].1 = false;
            answers.push((at, Message::TimeRequest(now)));
        }
        answers.iter().try_for_each(|(at, what)| self.say(*at, what, time))?;
        self.out.clear();
        while let Some(peer) = self.endpoint.poll(time, &mut self.out) {
            self.send(place(&self.arbiters, peer)?)?;
            self.out.clear();
        }
        Ok(())
    }
    /// Sends a message to the arbiter at a place.
    fn say(&mut self, at: usize, what: &Message<'_>, time: Time) -> Result<(), Fault> {
        let mut message = Vec::new();
        what.emit(&mut message);
        self.out.clear();
        self.endpoint.seal(self.arbiters[at].0.number, &message, time, &mut self.out)?;
        self.send(at)
    }
    fn send(&self, arbiter: usize) -> Result<(), Fault> {
        if !self.out.is_empty() {
            self.socket.send_to(&self.out, self.arbiters[arbiter].0.address)?;
        }
        Ok(())
    }
    fn knows_the_time(&self) -> bool {
        self.arbiters.iter().all(|(_, told)| *told)
    }
}

/// The place of the arbiter with this number.
fn place(arbiters: &[(Peer, bool)], number: u32) -> Result<usize, Fault> {
    let at = arbiters.iter().position(|(arbiter, _)| arbiter.number == number);
    at.ok_or_else(|| "a message of a stranger".into())
}

/// Agents and two arbiters.
struct Crowd {
    agents: Vec<Agent>,
    arbiters: Vec<Arbiter>,
    now: Local,
    /// CPU time of all arbiters.
    spent: f64,
    /// The longest CPU time of one round of an arbiter: for so long a beat may wait.
    longest: f64,
}

impl Crowd {
    /// Two arbiters without agents.
    fn open(network: &LiveNetwork, count: u32) -> Result<Crowd, Fault> {
        let now = Local(1);
        let open = |rank: u32| -> Result<Arbiter, Fault> {
            Ok(Arbiter::open(network.arbiter(rank as usize, key(count + rank))?, now)?)
        };
        Ok(Crowd {
            agents: Vec::new(),
            arbiters: vec![open(0)?, open(1)?],
            now,
            spent: 0.0,
            longest: 0.0,
        })
    }
    /// Adds agents.
    fn join(&mut self, network: &LiveNetwork, numbers: Range<u32>) -> Result<(), Fault> {
        let arbiters = network.agent("h0", key(0))?.arbiters;
        let config = network.config();
        for number in numbers {
            let address = config.socket(config.host[number as usize].address[0]);
            self.agents.push(Agent::new(address, number, &arbiters)?);
        }
        Ok(())
    }
    fn turn(&mut self, step: Duration, asks: bool) -> Result<(), Fault> {
        self.now = self.now.after(step);
        let Crowd { agents, arbiters, now, spent, longest } = self;
        // The beats of an arbiter, for which the arbiters have just slept, come first.
        arbiters.iter_mut().try_for_each(|arbiter| arbiter.round(&|| *now).map(drop))?;
        for group in agents.chunks_mut(GROUP) {
            group.iter_mut().try_for_each(|agent| agent.turn(*now, asks))?;
            // A round answers one handshake, and what follows from it may need further rounds of both.
            let (mut rounds, mut quiet) = (0, 0);
            while quiet < QUIET && rounds < 8 + 2 * group.len() {
                let mut idle = true;
                for arbiter in arbiters.iter_mut() {
                    let began = cpu();
                    idle &= !arbiter.round(&|| *now)?.is_zero();
                    let took = cpu() - began;
                    (*spent, *longest) = (*spent + took, longest.max(took));
                }
                (rounds, quiet) = (rounds + 1, if idle { quiet + 1 } else { 0 });
            }
        }
        Ok(())
    }
    /// Takes turns until `done`. Returns their number, and the CPU time of the arbiters.
    fn until(
        &mut self,
        step: Duration,
        what: &str,
        mut asks: impl FnMut(u32) -> bool,
        done: impl Fn(&mut Crowd) -> bool,
    ) -> Result<(u32, f64), Fault> {
        self.spent = 0.0;
        for turn in 1..=MOST_TURNS {
            self.turn(step, asks(turn))?;
            if done(self) {
                return Ok((turn, self.spent));
            }
        }
        Err(format!("after {MOST_TURNS} turns, not {what}").into())
    }
    /// The share of a core that an arbiter takes while agents only ask for the time.
    fn idle(&mut self) -> Result<f64, Fault> {
        self.spent = 0.0;
        for _ in 0..IDLE_TURNS {
            self.turn(IDLE, true)?;
        }
        Ok(self.spent / 2.0 / (IDLE * IDLE_TURNS).as_secs_f64())
    }
    /// Ends the active arbiter. Returns how long the other one waits until it takes over, and the CPU time until all agents have
    /// heard of it.
    fn take_over(&mut self) -> Result<(Duration, f64), Fault> {
        self.settle()?;
        let now = self.now;
        let active = self.arbiters.iter_mut().position(|arbiter| arbiter.status(now).active);
        self.arbiters.remove(active.ok_or("no arbiter was active")?);
        self.agents.iter_mut().for_each(|agent| agent.directed = 0);
        if self.took_over() {
            return Err("an arbiter took over although the other one worked".into());
        }
        let silent = self.now;
        let (_, before) =
            self.until(TAKE_OVER, "an arbiter took over", |_| false, Crowd::took_over)?;
        let silence = self.now.since(silent);
        let heard = |crowd: &mut Crowd| crowd.agents.iter().all(|agent| agent.directed > 0);
        let (_, after) =
            self.until(TAKE_OVER, "all agents heard the other arbiter", |_| false, heard)?;
        Ok((silence, before + after))
    }
    /// Lets one arbiter be active for a while. In longer turns, leases are over before they are renewed.
    fn settle(&mut self) -> Result<(), Fault> {
        (0..ELECTION).try_for_each(|_| self.turn(TAKE_OVER, false))
    }
    fn took_over(&mut self) -> bool {
        let now = self.now;
        self.arbiters.iter_mut().any(|arbiter| arbiter.status(now).active)
    }
}

/// Measures two arbiters with many agents: handshakes, memory, an idle network, and a take-over.
pub(crate) fn crowd(case: &str, count: u32) -> Outcome {
    let network = network(count, 2)?;
    let before = resident_mb()?;
    // Both make their nodes, and one begins network time.
    let mut crowd = Crowd::open(&network, count)?;
    crowd.join(&network, 0..1)?;
    for turn in 0..40 {
        crowd.turn(BEGINNING, turn % 10 == 0)?;
    }
    let nodes = resident_mb()?;
    crowd.join(&network, 1..count)?;
    let agents = resident_mb()?;
    let (turns, handshakes) = crowd.until(
        BEGINNING,
        "all agents had sessions",
        |turn| turn % 10 == 1,
        |crowd| crowd.agents.iter().all(Agent::knows_the_time),
    )?;
    let (sessions, longest) = (resident_mb()?, crowd.longest);
    let idle = crowd.idle()?;
    let (silence, announced) = crowd.take_over()?;
    let kb_each = |mb: f64| mb * 1e3 / f64::from(count);
    Ok(vec![
        row(case, "all_sessions", (BEGINNING * turns).as_secs_f64(), "s"),
        row(case, "handshake_cpu", handshakes / 2.0 / f64::from(count) * 1e6, "us"),
        row(case, "longest_round", longest * 1e3, "ms"),
        row(case, "node_memory_per_agent", kb_each((nodes - before) / 2.0), "kB"),
        // Both ends of both sessions of an agent are in this process.
        row(case, "session_memory", kb_each((sessions - agents) / 4.0), "kB"),
        row(case, "idle_share_of_core", idle * 100.0, "%"),
        row(case, "take_over_silence", silence.as_secs_f64() * 1e3, "ms"),
        row(case, "take_over_cpu", announced * 1e3, "ms"),
    ])
}

/// Runs an arbiter and busy hosts in real time, and measures whether memory grows.
pub(crate) fn soak(case: &str, seconds: u64) -> Outcome {
    let network = network(SOAK_HOSTS, 1)?;
    let span = Duration::from_secs(seconds);
    let (first, last, held) = beside(&network, SOAK_HOSTS, |running| {
        let hosts = (0..SOAK_HOSTS).map(|n| Host::new(&network, n, running.now()));
        let mut hosts: Vec<Host> = hosts.collect::<Result<_, Fault>>()?;
        let (mut first, mut left) = (None, 0);
        while running.now() < Local(0).after(span) {
            for host in &mut hosts {
                left += u64::from(host.round(running.now(), SOAK_BACKLOG)?);
            }
            if first.is_none() && running.now() > Local(0).after(span / 10) {
                first = Some(resident_mb()?);
            }
            std::thread::sleep(SOAK_TURN);
        }
        Ok((first.unwrap_or_default(), resident_mb()?, left))
    })?;
    if last > first + GROWTH_MB || held == 0 {
        let what = format!("memory grew from {first:.1} to {last:.1} MB; {held} packets left");
        return Err(what.into());
    }
    Ok(vec![
        row(case, "packets", held as f64 / span.as_secs_f64(), "packets/s"),
        row(case, "memory_after_a_tenth", first, "MB"),
        row(case, "memory_at_the_end", last, "MB"),
    ])
}

/// Memory of this process.
fn resident_mb() -> Result<f64, Fault> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kb = line.and_then(|line| line.split_whitespace().next()).ok_or("no VmRSS")?;
    Ok(kb.parse::<f64>()? / 1e3)
}
