//! The daemon on a host: holds the packets of the host's applications until its arbiter permits them. On the switch of
//! a rack, it holds the packets that the switch forwards to other racks until there is a circuit or room in the packet
//! network. On a switch of another network, it holds nothing: it reports what flows the switch forwards, and installs
//! their paths.
//!
//! It fails open: without an arbiter, or without network time, packets leave at once. If the daemon ends, the kernel
//! lets packets pass.

use crate::cabling::WrongCables;
use crate::channel::{Channel, Peer};
use crate::clock::{ClockState, Local, NetworkClock};
use crate::config::{AgentOptions, ClockOptions, span};
use crate::election::{Controllers, Leadership, Standby, Standing};
use crate::grip::Grip;
use crate::held::Held;
use crate::lease::Witness;
use crate::links::Links;
use crate::message::Message;
use crate::neighbours::{Heard, Reports};
use crate::role::{Departure, Role};
use crate::running::{Running, unique, waiting_list};
use crate::seat::Seat;
use crate::status::{AgentStatus, Shared};
use crate::timeslots::TimeslotLog;
use probes::Probes;
use slotline_envelope::KeyPair;
use slotline_linux::gate::Kind;
use slotline_linux::hold::Leave;
use slotline_linux::wait;
use slotline_net::error::SpecError;
use slotline_net::id::HostId;
use slotline_net::node::{Counters, Node};
use slotline_net::time::Time;
use slotline_net::topology::Wire;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

mod intake;
mod lead;
mod outgo;
mod probes;
mod renewed;

/// The largest number of messages handled before other work has its turn.
const BURST: usize = 64;
/// The longest sleep. It bounds the time until a request to stop is noticed.
const NAP: Duration = Duration::from_millis(20);
/// The most packets that are released before the clock is read again. The kernel takes microseconds for each of them, and its
/// slot may end meanwhile.
pub const RELEASED: usize = 2;
/// If the next event is nearer than this, the thread does not sleep while packets wait.
const SPIN: Duration = Duration::from_micros(30);

/// Creates the node at each new start, from a number that no other start has.
pub type MakeNode = Box<dyn Fn(u64) -> Result<Box<dyn Node>, SpecError> + Send>;

/// The configuration of a host's agent.
pub struct AgentSetup {
    /// The number of the host or rack.
    pub me: HostId,
    /// The address on which it listens.
    pub address: SocketAddr,
    /// The private key of the machine.
    pub key: KeyPair,
    /// The arbiters.
    pub arbiters: Vec<Peer>,
    /// What it holds.
    pub role: Role,
    /// The links of the node.
    pub wires: Vec<Wire>,
    /// Makes the node.
    pub make: MakeNode,
    /// Options.
    pub agent: AgentOptions,
    /// Options of time transfer.
    pub clock: ClockOptions,
    /// The log of the host's timeslots.
    pub timeslots: Option<TimeslotLog>,
    /// How far ahead of network time its node runs where packets can be released before they leave. Then they leave in time
    /// although this daemon may be late.
    pub lead: Duration,
    /// The links of this switch that lead elsewhere.
    pub wrong_cables: Arc<WrongCables>,
    /// The cables of this machine, if arbiters discover the network.
    pub heard: Option<Arc<Heard>>,
    /// The digest of the scenario.
    pub digest: u64,
    /// How controllers are shared out between two arbiters, and the time after which a silent one is replaced.
    pub elected: Option<(Controllers, Duration)>,
}

/// Counters of an agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AgentCounts {
    /// Packets that were held until the scheme let them leave.
    pub scheduled: u64,
    /// Packets that left at once, because there was no arbiter or no network time.
    pub unscheduled: u64,
    /// Packets to addresses that belong to no machine of the network. Short ones, which are never held either, count only
    /// where no rule of the kernel lets them pass.
    pub exempt: u64,
    /// Packets that the scheme dropped.
    pub dropped: u64,
    /// How often the agent started to obey an arbiter.
    pub joined: u64,
    /// How often it stopped because the arbiter was silent.
    pub silences: u64,
    /// How often it stopped because network time was not known well enough.
    pub clock_losses: u64,
}

/// A running agent.
pub struct Agent {
    setup: AgentSetup,
    grip: Grip,
    channel: Channel,
    /// The socket by which this host and others probe paths, where it knows paths.
    probes: Option<Probes>,
    links: Links,
    /// What arbiters are told of the machine's cables.
    reports: Reports,
    /// The clock of each arbiter.
    clocks: Vec<NetworkClock>,
    /// The node of the scheme; `None` while packets leave at once.
    seat: Option<Seat>,
    /// The arbiter that was heard last, the time of that, and the time of the last message to the scheme.
    leader: usize,
    heard: Local,
    directed: Local,
    /// Which of two arbiters is active.
    leadership: Option<Leadership>,
    /// What this agent has promised to arbiters.
    witness: Witness,
    /// The payload of a message.
    inbox: Vec<u8>,
    held: Held,
    /// Whether the agent is drained: all packets leave at once until further notice.
    drained: bool,
    /// By arbiter: whether it has taken this host out of the schedule.
    out: Vec<bool>,
    /// The time of the next request for network time, and the time from which an arbiter may be obeyed again.
    asks: Local,
    retries: Local,
    /// When it took over another scenario, and whether the leader has said since whether this host is out of the schedule.
    anew: Local,
    answered: bool,
    counts: AgentCounts,
    /// Counters of earlier nodes.
    past: Counters,
    buffer: Vec<u8>,
    /// What follows from packets that the node has sent.
    left: Vec<Departure>,
    /// The latest local time.
    latest: Local,
    /// How far ahead the node runs, the latest time that it was shown, and what the monotonic clock shows at local time zero.
    lead: Time,
    shown: Time,
    origin: u64,
}

/// How far ahead of network time a node runs, where packets can be released before they leave.
fn lead(setup: &AgentSetup, grip: &Grip) -> Time {
    let lead = if grip.is_timed() { setup.lead } else { Duration::ZERO };
    Time::ns(lead.as_nanos() as u64)
}

impl Agent {
    /// Opens the socket.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn open(setup: AgentSetup, mut grip: Grip, now: Local) -> io::Result<Agent> {
        grip.exempt_below(setup.agent.exempt_below);
        let channel = Channel::open(setup.address, setup.key.clone(), &setup.arbiters, now)?;
        let probes = Probes::of(&setup, now)?;
        Ok(Agent {
            lead: lead(&setup, &grip),
            shown: Time::ZERO,
            origin: 0,
            latest: now,
            clocks: vec![NetworkClock::new(&setup.clock); setup.arbiters.len()],
            out: vec![false; setup.arbiters.len()],
            links: setup.role.links(),
            reports: Reports::default(),
            leadership: setup.elected.map(|_| Leadership::default()),
            witness: Witness::new(
                setup.elected.map_or(Duration::ZERO, |of| Standby::lease(of.1)),
                now,
            ),
            inbox: Vec::new(),
            setup,
            grip,
            channel,
            probes,
            seat: None,
            leader: 0,
            heard: Local(0),
            directed: Local(0),
            held: Held::default(),
            drained: false,
            asks: Local(0),
            retries: Local(0),
            anew: Local(0),
            answered: true,
            counts: AgentCounts::default(),
            past: Counters::default(),
            buffer: Vec::new(),
            left: Vec::new(),
        })
    }

    /// Runs until it is requested to stop. After that no packet is held.
    ///
    /// # Errors
    /// The socket or the queue has failed.
    pub fn run(mut self, running: &Running, shared: &Shared<AgentStatus>) -> io::Result<()> {
        let probes = self.probes.iter().map(Probes::readable);
        let files = [self.channel.readable()].into_iter().chain(self.grip.fd()).chain(probes);
        let files: Vec<_> = files.collect();
        let list = waiting_list(&files)?;
        self.origin = running.monotonic_origin();
        while !running.stopped() {
            let now = running.now();
            self.drain(shared.is_drained(), now);
            shared.carry_out(|request| self.carry_out(request, now));
            let next = self.round(&|| running.now())?;
            shared.show(|| self.status(now));
            let spins = !self.held.is_empty() && next <= SPIN;
            if !spins && !next.is_zero() {
                wait::sleep(&list, next.saturating_sub(SPIN).clamp(Duration::from_micros(1), NAP))?;
            }
        }
        let now = running.now();
        self.open_up(now);
        self.setup.timeslots.iter_mut().for_each(TimeslotLog::flush);
        self.grip.flush(now)
    }

    /// Sets whether the host is drained.
    fn drain(&mut self, drained: bool, now: Local) {
        if drained && !self.drained {
            self.open_up(now);
        }
        self.drained = drained;
    }

    /// Does everything that is due. Returns the time until there is more to do.
    fn round(&mut self, clock: &impl Fn() -> Local) -> io::Result<Duration> {
        self.look_at(clock());
        if self.lead > Time::ZERO {
            // What is due comes before what has arrived since.
            self.step(clock())?;
        }
        self.hear(clock)?;
        self.hear_probes(clock())?;
        let began = clock();
        self.take_in(began)?;
        let now = clock();
        // It has not listened meanwhile, which is no silence of the arbiter. To read the counts of flows takes long.
        self.heard = self.heard.after(now.since(began));
        self.ask_for_time(now);
        self.judge(now);
        self.counts.unscheduled += self.grip.attend(self.seat.is_some(), now)?;
        let next = self.step(now)?;
        self.grip.flush(now)?;
        self.heard = self.heard.after(clock().since(now));
        self.tell_neighbours(now);
        let attend = self.channel.attend(now);
        let probes = self.probes.as_mut().map_or(NAP, |probes| probes.attend(now));
        Ok(next.min(self.asks.since(now)).min(attend).min(probes))
    }

    /// Begins anew if the local clock has been put back. The kernel's monotonic clock never is, but a machine may be resumed from
    /// a copy.
    fn look_at(&mut self, now: Local) {
        if now < self.latest {
            self.clocks.iter_mut().for_each(NetworkClock::put_back);
            (self.asks, self.retries, self.heard, self.directed) = (now, now, now, now);
            self.open_up(now);
        }
        self.latest = now;
    }

    /// Handles messages from arbiters. The clock is read after each message, because the bound of an answer holds for
    /// a time at which it had arrived.
    fn hear(&mut self, clock: &impl Fn() -> Local) -> io::Result<()> {
        for _ in 0..BURST {
            let Some((from, message)) = self.channel.receive(clock())? else { return Ok(()) };
            let now = clock();
            let Some(at) = self.setup.arbiters.iter().position(|peer| peer.number == from) else {
                continue;
            };
            match message {
                Message::Control(..) if self.leadership.is_some() => {}
                Message::Control(packet, payload) => {
                    self.inbox.clear();
                    self.inbox.extend_from_slice(payload);
                    self.control(at, packet, now);
                }
                Message::Elected(term, packet, payload) => {
                    self.inbox.clear();
                    self.inbox.extend_from_slice(payload);
                    self.follow(at, term, now);
                    if self.leadership.is_some_and(|of| of.is_led_by(at, term)) {
                        self.control(at, packet, now);
                    }
                }
                Message::TimeReply(reply) => {
                    let fresh = self.clocks[at].answered(&reply, now);
                    self.clocks[at].compare(clock);
                    self.out[at] = reply.drained;
                    self.answered |= at == self.leader && reply.asked >= self.anew;
                    if self.leadership.is_none() && self.takes_time_of(at, now) {
                        (self.leader, self.heard) = (at, now);
                    }
                    if (fresh || reply.drained) && at == self.leader {
                        self.open_up(now);
                    }
                }
                Message::Standing(term, Standing::Active) => self.follow(at, term, now),
                Message::Ask(ask) if self.leadership.is_some() => {
                    let answer = self.witness.answer(at, &ask, now);
                    self.channel.send(from, &Message::Answer(answer), now);
                }
                Message::TimeRequest(_)
                | Message::Standing(..)
                | Message::Ask(_)
                | Message::Answer(_)
                | Message::Neighbours(_)
                | Message::Scenario(_) => {}
            }
        }
        Ok(())
    }

    /// Whether network time comes from arbiter `at` from now on: it is obeyed, or none is, or the one that is obeyed no longer tells
    /// the same time.
    fn takes_time_of(&self, at: usize, now: Local) -> bool {
        let (own, other) = (&self.clocks[self.leader], &self.clocks[at]);
        let silent = own.state(now) != ClockState::Locked && own.epoch() == other.epoch();
        at == self.leader || self.seat.is_none() || silent
    }

    /// Asks all arbiters for the time. It asks more often if packets wait and the arbiter is silent.
    fn ask_for_time(&mut self, now: Local) {
        let silence = span(self.setup.agent.silence) / 4;
        let worried = self.held.stalled(now) > silence && now.since(self.directed) > silence;
        if now < self.asks && !(worried && self.asks > now.after(silence)) {
            return;
        }
        for at in 0..self.setup.arbiters.len() {
            let number = self.setup.arbiters[at].number;
            self.channel.expect(number, now);
            self.clocks[at].ask(now);
            self.channel.send(number, &Message::Scenario(self.setup.digest), now);
            self.channel.send(number, &Message::TimeRequest(now), now);
        }
        let interval = span(self.setup.clock.interval);
        let often = worried || self.setup.role.needs_beat();
        self.asks = now.after(if often { silence.min(interval) } else { interval });
    }

    /// Tells arbiters which cables the machine has.
    fn tell_neighbours(&mut self, now: Local) {
        if let Some(heard) = &self.setup.heard {
            self.reports.attend(heard, &mut self.channel, &self.setup.arbiters, now);
        }
    }

    /// Decides whether to start or stop obeying an arbiter.
    fn judge(&mut self, now: Local) {
        let state = self.clocks[self.leader].state(now);
        let silence = span(self.setup.agent.silence);
        let silent = now.since(self.heard) > silence;
        match &self.seat {
            Some(_) if state == ClockState::Free => {
                self.counts.clock_losses += 1;
                self.open_up(now);
            }
            Some(_) if self.is_deserted(now) => {
                self.counts.silences += 1;
                self.retries = now.after(span(self.setup.agent.retry));
                self.open_up(now);
            }
            None if state == ClockState::Locked
                && !silent
                && !(self.drained || self.out[self.leader])
                && self.answered
                && self.leadership.is_none_or(|of| of.by.is_some())
                && now >= self.retries =>
            {
                self.join(now);
            }
            _ => {}
        }
    }

    /// Whether the arbiter does not work. An arbiter of hosts that only answers time requests does not count as working.
    fn is_deserted(&self, now: Local) -> bool {
        let silence = span(self.setup.agent.silence);
        match self.setup.role.needs_beat() {
            true => now.since(self.heard) > silence,
            false => now.since(self.directed) > silence && self.held.stalled(now) > silence,
        }
    }

    /// Starts to obey an arbiter.
    fn join(&mut self, now: Local) {
        let (Ok(node), Some(time)) = ((self.setup.make)(unique()), self.time(now)) else {
            return;
        };
        let notes_until = if self.setup.timeslots.is_some() { Time::MAX } else { Time::ZERO };
        let mut seat = Seat::new(node, &self.setup.wires, notes_until);
        seat.track_frames();
        seat.limit_burst(RELEASED);
        if self.setup.role.needs_beat() {
            seat.limit_catching_up(self.setup.clock.guard);
        }
        seat.start(time);
        (self.seat, self.shown) = (Some(seat), time);
        self.tell_links(time);
        self.directed = now;
        self.counts.joined += 1;
        let (host, epoch) = (self.setup.me.0, self.clocks[self.leader].epoch());
        self.setup.timeslots.iter_mut().for_each(|log| log.join(host, epoch));
    }

    /// Releases all packets, now and until an arbiter is obeyed again.
    fn open_up(&mut self, now: Local) {
        if let Some(seat) = self.seat.take() {
            seat.node().add_counters(&mut self.past);
        }
        for packet in self.held.take_all(now) {
            self.counts.unscheduled += 1;
            self.grip.release(packet, Leave::Now);
        }
        self.grip.clear();
    }

    fn status(&self, now: Local) -> AgentStatus {
        let clock = &self.clocks[self.leader];
        let mut counters = self.past.clone();
        let seat = self.seat.as_ref();
        seat.iter().for_each(|seat| seat.node().add_counters(&mut counters));
        AgentStatus {
            obeys: seat.map(|_| self.leader),
            drained: self.drained,
            drained_by_arbiter: self.out[self.leader],
            clock: clock.state(now).name(),
            clock_disciplined: clock.is_disciplined(now),
            clock_steps: self.clocks.iter().map(NetworkClock::steps).max().unwrap_or(0),
            clock_offset_ns: clock.offset(now),
            clock_bound_ns: clock.bound(now).map(|bound| bound.as_nanos() as u64),
            epoch: clock.epoch(),
            wrong_cables: self.setup.wrong_cables.now(),
            held: self.held.len(),
            departure_times: self.lead > Time::ZERO,
            gate: self.grip.gate().map(Kind::name),
            gate_lost: self.grip.lost(),
            joined_segments: self.grip.segments().map(|segments| segments.most),
            counts: self.counts,
            refused: self.channel.refused(),
            latest_ns: seat.map_or(0, |seat| seat.report().latest.as_ns()),
            lost_messages: self.channel.lost(),
            counters: self.counted(&counters),
        }
    }

    /// The counters of the scheme, and how often another arbiter has led.
    fn counted(&self, counters: &Counters) -> BTreeMap<&'static str, u64> {
        let mut named = crate::status::named(counters);
        named.extend(self.leadership.map(|leadership| ("arbiter_changes", leadership.changes)));
        named
    }
}
