//! The daemon on a host: holds the packets of the host's applications until its arbiter permits them.
//!
//! It fails open: without an arbiter, or without network time, packets leave at once. If the daemon ends, the kernel
//! lets packets pass.

use crate::channel::{Channel, Peer};
use crate::clock::{ClockState, Local, NetworkClock};
use crate::config::{AgentOptions, ClockOptions, span};
use crate::held::Held;
use crate::message::Message;
use crate::running::{Running, unique, waiting_list};
use crate::seat::{Io, Seat};
use crate::status::{AgentStatus, Shared};
use slotline_envelope::KeyPair;
use slotline_linux::gate::Gate;
use slotline_linux::wait;
use slotline_net::error::SpecError;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::host::Plan;
use slotline_net::node::{Counters, Handover, Node};
use slotline_net::time::Time;
use slotline_net::topology::{End, Wire};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// The largest number of messages handled before other work has its turn.
const BURST: usize = 64;
/// The longest sleep. It bounds the time until a request to stop is noticed.
const NAP: Duration = Duration::from_millis(20);
/// If the next event is nearer than this, the thread does not sleep while packets wait.
const SPIN: Duration = Duration::from_micros(30);

/// Creates the node at each new start, from a number that no other start has.
pub type MakeNode = Box<dyn Fn(u64) -> Result<Box<dyn Node>, SpecError>>;

/// The configuration of a host's agent.
pub struct AgentSetup {
    /// The host's number.
    pub me: HostId,
    /// The address on which it listens.
    pub address: SocketAddr,
    /// The private key of the host.
    pub key: KeyPair,
    /// The arbiters.
    pub arbiters: Vec<Peer>,
    /// The host of each address.
    pub hosts: HashMap<IpAddr, HostId>,
    /// The links of the host.
    pub wires: Vec<Wire>,
    /// Connections from this host to each other one, and the framing of packets.
    pub plan: Arc<Plan>,
    /// Makes the node.
    pub make: MakeNode,
    /// Options.
    pub agent: AgentOptions,
    /// Options of time transfer.
    pub clock: ClockOptions,
}

/// Counters of an agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AgentCounts {
    /// Packets that were held until the scheme let them leave.
    pub scheduled: u64,
    /// Packets that left at once, because there was no arbiter or no network time.
    pub unscheduled: u64,
    /// Packets that are never held: short ones, and packets to addresses that belong to no host.
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
    gate: Gate,
    channel: Channel,
    /// The connection to each host.
    flows: HashMap<HostId, u32>,
    /// The clock of each arbiter.
    clocks: Vec<NetworkClock>,
    /// The node of the scheme; `None` while packets leave at once.
    seat: Option<Seat>,
    /// The arbiter that was heard last, the time of that, and the time of the last message to the scheme.
    leader: usize,
    heard: Local,
    directed: Local,
    held: Held,
    /// Whether the agent is drained: all packets leave at once until further notice.
    drained: bool,
    /// The time of the next request for network time, and the time from which an arbiter may be obeyed again.
    asks: Local,
    retries: Local,
    counts: AgentCounts,
    /// Counters of earlier nodes.
    past: Counters,
    buffer: Vec<u8>,
}

/// Sends the messages of the node.
struct Outlet<'a> {
    channel: &'a mut Channel,
    now: Local,
}

impl Io for Outlet<'_> {
    fn send(&mut self, _far: End, packet: &Packet, payload: &[u8]) -> io::Result<bool> {
        match packet.kind {
            Kind::Control => {
                let message = Message::Control(*packet, payload);
                Ok(self.channel.send(packet.dst.0, &message, self.now))
            }
            // The kernel sends the packet when it is released.
            _ => Ok(true),
        }
    }
}

impl Agent {
    /// Starts to hold the packets of this network namespace, and opens the socket.
    ///
    /// # Errors
    /// The kernel refuses the queue, its rules or the socket.
    pub fn open(setup: AgentSetup, gate: Gate, now: Local) -> io::Result<Agent> {
        let channel = Channel::open(setup.address, setup.key.clone(), &setup.arbiters, now)?;
        let conns = setup.plan.sends(setup.me);
        let dst = |conn: u32| setup.plan.traffic.conns[conn as usize].dst;
        let flows = conns.map(|conn| (dst(conn), conn)).collect();
        let clock = NetworkClock::new(span(setup.clock.interval), span(setup.clock.guard));
        Ok(Agent {
            clocks: vec![clock; setup.arbiters.len()],
            setup,
            gate,
            channel,
            flows,
            seat: None,
            leader: 0,
            heard: Local(0),
            directed: Local(0),
            held: Held::default(),
            drained: false,
            asks: Local(0),
            retries: Local(0),
            counts: AgentCounts::default(),
            past: Counters::default(),
            buffer: Vec::new(),
        })
    }

    /// Runs until it is requested to stop. After that no packet is held.
    ///
    /// # Errors
    /// The socket or the queue has failed.
    pub fn run(mut self, running: &Running, shared: &Shared<AgentStatus>) -> io::Result<()> {
        let list = waiting_list(&[self.gate.queue_fd(), self.channel.readable()])?;
        while !running.stopped() {
            let now = running.now();
            self.drain(shared.is_drained(), now);
            if let Some(keys) = shared.new_keys() {
                // `Config::load` has refused configurations in which two machines have the same key.
                let _ = self.channel.rekey(&keys);
            }
            let next = self.round(now)?;
            shared.show(|| self.status(now));
            let spins = !self.held.is_empty() && next <= SPIN;
            if !spins && !next.is_zero() {
                wait::sleep(&list, next.saturating_sub(SPIN).clamp(Duration::from_micros(1), NAP))?;
            }
        }
        self.open_up(running.now());
        self.gate.queue.flush()
    }

    /// Sets whether the host is drained.
    fn drain(&mut self, drained: bool, now: Local) {
        if drained && !self.drained {
            self.open_up(now);
        }
        self.drained = drained;
    }

    /// Does everything that is due. Returns the time until there is more to do.
    fn round(&mut self, now: Local) -> io::Result<Duration> {
        self.hear(now)?;
        self.take_in(now)?;
        self.ask_for_time(now);
        self.judge(now);
        let next = self.step(now)?;
        self.gate.queue.flush()?;
        let attend = self.channel.attend(now);
        Ok(next.min(self.asks.since(now)).min(attend))
    }

    /// Handles messages from arbiters.
    fn hear(&mut self, now: Local) -> io::Result<()> {
        for _ in 0..BURST {
            let Some((from, message)) = self.channel.receive(now)? else { return Ok(()) };
            let Some(at) = self.setup.arbiters.iter().position(|peer| peer.number == from) else {
                continue;
            };
            match message {
                Message::Control(packet, payload) => {
                    let own = packet.dst == self.setup.me && packet.flow == from;
                    let time = self.clocks[self.leader].now(now);
                    if let (true, Some(seat), Some(time)) = (own, &mut self.seat, time) {
                        (self.leader, self.heard, self.directed) = (at, now, now);
                        seat.receive(PortId(0), packet, payload, time);
                    }
                }
                Message::TimeReply(reply) => {
                    let fresh = self.clocks[at].answered(&reply, now);
                    if at == self.leader || self.seat.is_none() {
                        (self.leader, self.heard) = (at, now);
                    }
                    if fresh && at == self.leader {
                        self.open_up(now);
                    }
                }
                Message::TimeRequest(_) => {}
            }
        }
        Ok(())
    }

    /// Reads packets of applications from the queue.
    fn take_in(&mut self, now: Local) -> io::Result<()> {
        self.gate.queue.fill()?;
        self.buffer.clear();
        while let Some(number) = self.gate.queue.next(&mut self.buffer) {
            let packet = self.classify();
            self.buffer.clear();
            let time = self.clocks[self.leader].now(now);
            match (packet, &mut self.seat, time) {
                (Some(packet), Some(seat), Some(time)) => {
                    let stamp = self.held.put(number, now);
                    seat.receive(PortId(0), Packet { stamp, ..packet }, &[], time);
                    continue;
                }
                (Some(_), ..) => self.counts.unscheduled += 1,
                (None, ..) => self.counts.exempt += 1,
            }
            self.gate.queue.release(number);
        }
        Ok(())
    }

    /// The packet of the model for the IP packet in the buffer; `None` if the packet is not held.
    fn classify(&self) -> Option<Packet> {
        let (destination, length) = crate::ip::destination(&self.buffer)?;
        let dst = *self.setup.hosts.get(&destination)?;
        let flow = *self.flows.get(&dst)?;
        let held = u32::from(length) >= self.setup.agent.exempt_below;
        let plan = &self.setup.plan;
        let (len, entropy) = (plan.transport.datagram_len(length.into()), plan.entropy(flow));
        held.then(|| Packet { dst, flow, len, entropy, kind: Kind::Datagram, ..Packet::default() })
    }

    /// Asks all arbiters for the time. It asks more often if packets wait and the arbiter is silent.
    fn ask_for_time(&mut self, now: Local) {
        let silence = span(self.setup.agent.silence) / 4;
        let worried = self.held.stalled(now) > silence && now.since(self.directed) > silence;
        if now < self.asks && !(worried && self.asks > now.after(silence)) {
            return;
        }
        for peer in &self.setup.arbiters {
            self.channel.expect(peer.number, now);
            self.channel.send(peer.number, &Message::TimeRequest(now), now);
        }
        self.asks = now.after(if worried { silence } else { span(self.setup.clock.interval) });
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
            // An arbiter that only answers time requests does not count as working.
            Some(_) if now.since(self.directed) > silence && self.held.stalled(now) > silence => {
                self.counts.silences += 1;
                self.retries = now.after(span(self.setup.agent.retry));
                self.open_up(now);
            }
            None if state == ClockState::Locked
                && !silent
                && !self.drained
                && now >= self.retries =>
            {
                self.join(now);
            }
            _ => {}
        }
    }

    /// Starts to obey an arbiter.
    fn join(&mut self, now: Local) {
        let (Ok(node), Some(time)) =
            ((self.setup.make)(unique()), self.clocks[self.leader].now(now))
        else {
            return;
        };
        let mut seat = Seat::new(node, &self.setup.wires, Time::ZERO);
        seat.track_frames();
        seat.start(time);
        self.seat = Some(seat);
        self.directed = now;
        self.counts.joined += 1;
    }

    /// Releases all packets, now and until an arbiter is obeyed again.
    fn open_up(&mut self, now: Local) {
        if let Some(seat) = self.seat.take() {
            seat.node().add_counters(&mut self.past);
        }
        for number in self.held.take_all(now) {
            self.counts.unscheduled += 1;
            self.gate.queue.release(number);
        }
    }

    /// Runs the node as far as something is due.
    fn step(&mut self, now: Local) -> io::Result<Duration> {
        let clock = &mut self.clocks[self.leader];
        let (Some(seat), Some(time)) = (&mut self.seat, clock.now(now)) else { return Ok(NAP) };
        let next = seat.step(time, &mut Outlet { channel: &mut self.channel, now })?;
        for (_, what) in seat.handovers() {
            if let Handover::Left(packet) = what {
                self.counts.scheduled += 1;
                self.gate.queue.release(self.held.take(packet.stamp, now));
            }
        }
        for stamp in seat.lost_frames() {
            self.counts.dropped += 1;
            self.gate.queue.discard(self.held.take(stamp, now));
        }
        Ok(clock.until(next, now))
    }

    fn status(&self, now: Local) -> AgentStatus {
        let clock = &self.clocks[self.leader];
        let mut counters = self.past.clone();
        let seat = self.seat.as_ref();
        seat.iter().for_each(|seat| seat.node().add_counters(&mut counters));
        AgentStatus {
            obeys: seat.map(|_| self.leader),
            drained: self.drained,
            clock: clock.state(now).name(),
            clock_offset_ns: clock.offset(now),
            clock_bound_ns: clock.bound(now).map(|bound| bound.as_nanos() as u64),
            epoch: clock.epoch(),
            held: self.held.len(),
            counts: self.counts,
            refused: self.channel.refused(),
            latest_ns: seat.map_or(0, |seat| seat.report().latest.as_ns()),
            lost_messages: seat.map_or(0, |seat| seat.report().lost),
            counters: crate::status::named(&counters),
        }
    }
}
