//! The daemon on the machine of a controller: runs a station of the scheme, and provides network time to hosts.

use crate::agent::MakeNode;
use crate::channel::{Channel, Peer};
use crate::clock::Local;
use crate::config::{CircuitOptions, ClockOptions};
use crate::discovery::Discovery;
use crate::election::{Election, Standby};
use crate::hook::Hook;
use crate::line::{Line, Open, peers_of};
use crate::links::Links;
use crate::message::Message;
use crate::parts::Parts;
use crate::quotas::Quotas;
use crate::record::{Header, Recorder, Sent};
use crate::renewal::{Renewal, Request};
use crate::running::{Running, waiting_list};
use crate::seat::{Io, Seat};
use crate::status::{ArbiterStatus, Shared};
use scenario::is_stranger;
use slotline_envelope::KeyPair;
use slotline_linux::datagrams::Share;
use slotline_linux::wait;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::HostId;
use slotline_net::node::{Counters, Node};
use slotline_net::time::Time;
use slotline_net::topology::{End, Wire};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use time::{ASKS, Source, time_of_node};
use topology::{Assemble, Topology};

mod scenario;
mod standby;
mod time;
pub mod topology;

/// The longest sleep. It bounds the time until a request to stop is noticed.
const NAP: Duration = Duration::from_millis(20);
/// The interval at which the log is written to the disk.
const WRITES: Duration = Duration::from_millis(200);
/// An agent that was heard within this time counts as present.
const PRESENT: Duration = Duration::from_secs(3);
/// The largest number of messages handled before the node runs.
const BURST: usize = 256;

/// The configuration of an arbiter.
pub struct ArbiterSetup {
    /// Its number among the hosts of the network.
    pub me: HostId,
    /// Its place among the arbiters.
    pub rank: usize,
    /// The address on which it listens.
    pub address: SocketAddr,
    /// Its private key.
    pub key: KeyPair,
    /// Agents and other arbiters.
    pub peers: Vec<Peer>,
    /// The numbers of all arbiters, in order.
    pub arbiters: Vec<u32>,
    /// The links of the node.
    pub wires: Vec<Wire>,
    /// The machines at the far ends of the links, where messages have no address of their own.
    pub links: Links,
    /// The program that drives circuit switches. It gets the messages that go to none of the other machines.
    pub hook: Option<Hook>,
    /// That program, where arbiters are elected.
    pub program: Option<CircuitOptions>,
    /// The number of the first circuit switch among machines.
    pub switches: u32,
    /// How one of two arbiters is elected.
    pub standby: Option<Standby>,
    /// The names of links and switches that may be found to be faulty.
    pub parts: Parts,
    /// Makes the station.
    pub make: MakeNode,
    /// Where the network is discovered: what is known of it, and how the station's part of it follows. The links, names and
    /// station above are of no network then.
    pub discovery: Option<(Discovery, Assemble)>,
    /// Options of time transfer.
    pub clock: ClockOptions,
    /// Messages that are handled per second.
    pub quotas: Quotas,
    /// Threads: all but the first have sockets and encryption, each for a share of the peers. One does everything.
    pub threads: u8,
    /// The digest of the scenario, which agents have, too.
    pub digest: u64,
    /// The scenario with all its values, and the name of the scheme. Both are written to the log.
    pub scenario: (String, String),
    /// The log of all messages heard and digests of messages sent.
    pub recorder: Option<Recorder>,
}

/// A running arbiter.
pub struct Arbiter {
    setup: ArbiterSetup,
    line: Line,
    /// Since when it has looked for the source of network time.
    seeks: Local,
    source: Option<Source>,
    seat: Option<Seat>,
    /// The number of the next start and its node, where this arbiter has to take over quickly.
    spare: Option<(u64, Box<dyn Node>)>,
    /// The node does not begin before this time.
    begins: Local,
    /// Whether this arbiter is the active one, if there are two.
    election: Option<Election>,
    /// Hosts that are out of the schedule, by number, and their names.
    drained: BTreeMap<u32, String>,
    /// The digests of the scenarios that agents have told, by their numbers; 0 of those that have told none.
    scenarios: Vec<u64>,
    /// The network that is discovered.
    topology: Option<Topology>,
    asks: Local,
    /// The time of the next write of the log to the disk.
    writes: Local,
    received: u64,
}

struct Outlet<'a> {
    line: &'a mut Line,
    now: Local,
    me: HostId,
    links: &'a Links,
    hook: Option<&'a mut Hook>,
    /// The term of this arbiter, if arbiters are elected.
    term: Option<u64>,
    /// The digest of messages sent, if a log is written.
    sent: Option<Sent>,
}

impl Io for Outlet<'_> {
    fn send(&mut self, far: End, packet: &Packet, payload: &[u8]) -> io::Result<bool> {
        self.sent.iter_mut().for_each(|sent| sent.add(far, packet, payload));
        if packet.kind != Kind::Control {
            return Ok(true);
        }
        match (self.links.addressed(packet, far, self.me), &mut self.hook) {
            (Some((to, packet)), _) => {
                Ok(self.line.send(to, &Message::control(self.term, packet, payload), self.now))
            }
            (None, Some(hook)) => hook.tell(payload, self.term).map(|()| true),
            (None, None) => Ok(false),
        }
    }
}

impl ArbiterSetup {
    /// Opens a share of the channel, in the thread that calls the result.
    fn opening(&self, share: Share) -> Open {
        let (address, key) = ((self.address, share), self.key.clone());
        let peers = peers_of(share, &self.peers);
        let quotas = self.quotas.part(|number| peers.iter().any(|peer| peer.number == number));
        Box::new(move |now| {
            let mut channel = Channel::open_share(address, key, &peers, now)?;
            channel.limit(quotas);
            Ok(channel)
        })
    }
}

impl Arbiter {
    /// Opens the socket.
    ///
    /// # Errors
    /// The address cannot be used.
    pub fn open(mut setup: ArbiterSetup, now: Local) -> io::Result<Arbiter> {
        let topology =
            setup.discovery.take().map(|(of, assemble)| Topology::new(of, assemble, now));
        let channel = setup.opening(Share::ALL)(now)?;
        let standby = setup.standby.clone();
        let mut arbiter = Arbiter {
            election: standby.map(|standby| Election::new(setup.rank, standby, now)),
            spare: None,
            begins: Local(0),
            setup,
            line: Line::Here(Box::new(channel)),
            seeks: Local(0),
            source: None,
            seat: None,
            drained: BTreeMap::new(),
            scenarios: Vec::new(),
            topology,
            asks: Local(0),
            writes: Local(0),
            received: 0,
        };
        if arbiter.knows_network() {
            arbiter.prepare();
        }
        if arbiter.election.is_some() {
            arbiter.start_program()?;
        }
        Ok(arbiter)
    }

    /// Runs until it is requested to stop.
    ///
    /// # Errors
    /// The socket has failed.
    pub fn run(mut self, running: &Arc<Running>, shared: &Shared<ArbiterStatus>) -> io::Result<()> {
        if self.setup.threads > 1 {
            // Another socket cannot have the address as long as this one is open.
            drop(self.line);
            let of = usize::from(self.setup.threads) - 1;
            let opens = (0..of).map(|at| self.setup.opening(Share { of, at })).collect();
            self.line = Line::there(opens, &self.setup.peers, running, PRESENT)?;
        }
        let list = waiting_list(&[self.line.readable()])?;
        while !running.stopped() {
            let now = running.now();
            shared.carry_out(|request| self.carry_out(request, now));
            let next = self.round(&|| running.now())?;
            shared.show(|| self.status(running.now()));
            self.write_log(now);
            if !next.is_zero() {
                wait::sleep(&list, next.min(NAP))?;
            }
        }
        self.setup.recorder.iter_mut().for_each(Recorder::flush);
        Ok(())
    }

    /// Changes what a request asks for.
    fn carry_out(&mut self, request: Request, now: Local) -> Result<(), String> {
        match request {
            Request::Renew(renewal) => {
                let Renewal { key, peers, quotas, clock, witnesses, .. } = *renewal;
                let named = |number: u32| peers.iter().any(|peer| peer.number == number);
                self.drained.retain(|number, _| named(*number));
                self.line.renew(key, peers, now)?;
                self.line.limit(quotas);
                self.election.iter_mut().for_each(|of| of.renew(witnesses.clone()));
                if let Some(Source::Other { clock: other, .. }) = &mut self.source {
                    other.configure(&clock);
                }
                self.setup.clock = clock;
            }
            Request::ArbiterAnew(setup) => return self.take_scenario(*setup, now),
            Request::AgentAnew(_) => return Err("this daemon is no agent".into()),
            Request::DrainHost { number, name, drained: true } => {
                self.drained.insert(number, name);
            }
            Request::DrainHost { number, .. } => _ = self.drained.remove(&number),
        }
        Ok(())
    }

    /// Writes the log to the disk at intervals, so that it remains if the arbiter is killed.
    fn write_log(&mut self, now: Local) {
        if now >= self.writes {
            self.writes = now.after(WRITES);
            self.setup.recorder.iter_mut().for_each(Recorder::flush);
        }
    }

    /// Does everything that is due by this clock. Returns the time until there is more to do.
    ///
    /// # Errors
    /// The socket has failed.
    pub fn round(&mut self, clock: &impl Fn() -> Local) -> io::Result<Duration> {
        for _ in 0..BURST {
            if !self.hear(clock)? {
                break;
            }
        }
        let now = clock();
        self.renew_epoch(clock);
        self.follow_topology(now);
        self.elect(now)?;
        self.seek_time(clock);
        self.setup.hook.as_mut().map_or(Ok(()), Hook::check)?;
        let next = self.step(now)?;
        let next = match (self.hear_switches(now)?, &self.setup.hook) {
            (true, _) => Duration::ZERO,
            (false, hook) => next.min(hook.as_ref().map_or(NAP, Hook::pause)),
        };
        let next = self.election.as_ref().map_or(next, |of| next.min(of.next(now)));
        Ok(next.min(self.line.attend(now)?))
    }

    /// Whether the node of the scheme runs here: always if there is one arbiter for each controller.
    fn is_active(&self) -> bool {
        self.election.as_ref().is_none_or(|election| election.active().is_some())
    }

    /// Runs the node as far as something is due.
    fn step(&mut self, now: Local) -> io::Result<Duration> {
        let Some(time) = self.time_of_node(now) else { return Ok(ASKS) };
        let Some(seat) = &mut self.seat else { return Ok(ASKS) };
        let recorder = self.setup.recorder.as_mut().filter(|_| !seat.is_idle(time));
        let sent = recorder.is_some().then(Sent::default);
        let (me, links, hook) = (self.setup.me, &self.setup.links, self.setup.hook.as_mut());
        let term = self.election.as_ref().and_then(Election::active);
        let mut outlet = Outlet { line: &mut self.line, now, me, links, hook, term, sent };
        let next = seat.step(time, &mut outlet)?;
        if let (Some(recorder), Some(sent)) = (recorder, outlet.sent) {
            recorder.stepped(sent, time);
        }
        Ok(Duration::from_nanos(next.since(time).as_ns()))
    }

    /// Handles one message. Returns whether there was one. The clock is read after the message: an answer with an
    /// earlier time would have an error that its bound does not contain.
    fn hear(&mut self, clock: &impl Fn() -> Local) -> io::Result<bool> {
        let Some((from, message)) = self.line.receive(clock())? else { return Ok(false) };
        let now = clock();
        let term = self.election.as_ref().and_then(Election::active);
        match message {
            // An agent that obeys another arbiter, or has yet to hear of this one.
            Message::Elected(other, ..) if Some(other) != term => {}
            Message::Control(..) if self.election.is_some() => {}
            Message::Control(packet, payload) | Message::Elected(_, packet, payload) => {
                let own = self.setup.links.accepts(&packet, from, self.setup.me);
                let own = own
                    && !(self.drained.contains_key(&from)
                        || is_stranger(&self.scenarios, from, self.setup.digest)
                        || self.topology.as_ref().is_some_and(|of| of.is_outside(from)));
                let port = self.setup.links.port(packet.flow).filter(|_| own);
                let time = time_of_node(&mut self.source, &self.election, now);
                if let (Some(port), Some(seat), Some(time)) = (port, &mut self.seat, time) {
                    self.received += 1;
                    let recorder = self.setup.recorder.iter_mut();
                    recorder.for_each(|recorder| recorder.heard(&packet, payload, time));
                    seat.receive(port, packet, payload, time);
                }
            }
            Message::TimeRequest(asked) => {
                self.tell_time(from, asked, now);
                self.stand(from, now);
            }
            Message::Standing(term, standing) if self.setup.arbiters.contains(&from) => {
                self.hear_other(term, standing, now)?;
            }
            Message::Answer(answer) => {
                self.election.iter_mut().for_each(|of| of.answered(from, &answer, now));
            }
            Message::TimeReply(reply) => self.learn_time(from, &reply, now)?,
            Message::Neighbours(page) => {
                self.topology.iter_mut().for_each(|of| of.discovery.hear(from, &page));
            }
            Message::Scenario(digest) => self.hear_scenario(from, digest),
            Message::Standing(..) | Message::Ask(_) => {}
        }
        Ok(true)
    }

    /// Passes the confirmations of circuit switches to the node. Returns whether there were any.
    fn hear_switches(&mut self, now: Local) -> io::Result<bool> {
        let mut heard = false;
        let term = self.election.as_ref().and_then(Election::active);
        let time = self.time_of_node(now);
        let setup = &mut self.setup;
        let (Some(hook), Some(seat), Some(time)) = (&mut setup.hook, &mut self.seat, time) else {
            return Ok(false);
        };
        while let Some(done) = hook.confirmation()? {
            let flow = setup.switches.saturating_add(done.switch);
            let Some(port) = setup.links.port(flow).filter(|_| done.term == term) else { continue };
            let text = done.change.to_string().into_bytes();
            let packet = Packet { dst: setup.me, flow, kind: Kind::Control, ..Packet::default() };
            setup.recorder.iter_mut().for_each(|recorder| recorder.heard(&packet, &text, time));
            seat.receive(port, packet, &text, time);
            heard = true;
        }
        Ok(heard)
    }

    /// Ends the node and its log. Another one begins when it may.
    fn end_node(&mut self, why: &str) {
        self.seat = None;
        self.setup.recorder.iter_mut().for_each(|recorder| recorder.end(why));
    }

    fn begin(&mut self, now: Local) {
        let Some(time) = self.time_of_node(now) else { return };
        self.prepare();
        if let Some((incarnation, node)) = self.spare.take() {
            let header = self.header(incarnation, time);
            self.setup.recorder.iter_mut().for_each(|recorder| recorder.begin_next(&header));
            let mut seat = Seat::new(node, &self.setup.wires, Time::ZERO);
            seat.start(time);
            self.seat = Some(seat);
        }
    }

    fn header(&self, incarnation: u64, began: Time) -> Header {
        let (scenario, scheme) = self.setup.scenario.clone();
        let (station, began) = (self.setup.me.0, began.as_ps());
        let program = env!("CARGO_PKG_VERSION").into();
        Header { program, scenario, scheme, station, incarnation, began }
    }

    /// The state at `now`.
    pub fn status(&mut self, now: Local) -> ArbiterStatus {
        let mut counters = Default::default();
        let report = self.seat.as_ref().map(Seat::report).unwrap_or_default();
        let line = self.line.report(PRESENT, now);
        self.seat.iter().for_each(|seat| seat.node().add_counters(&mut counters));
        let time = self.source.as_mut().and_then(|source| source.now(now));
        ArbiterStatus {
            rank: self.setup.rank,
            term: self.election.as_ref().map(|election| election.standing().0),
            active: self.is_active(),
            epoch: self.source.as_ref().map_or(0, Source::epoch),
            time_ns: time.map_or(0, Time::as_ns),
            peers: line.present,
            drained_hosts: self.drained.values().cloned().collect(),
            received: self.received,
            sent: report.sent,
            lost_messages: report.lost + line.lost,
            recording: self.setup.recorder.as_ref().map(|recorder| match recorder.fault() {
                Some(error) => error.to_string(),
                None => "ok".into(),
            }),
            refused: line.refused,
            over_quota: line.over_quota,
            latest_ns: report.latest.as_ns(),
            other_scenario: self.strangers(),
            topology: self.topology.as_ref().map(Topology::status),
            faults: counters.faults().iter().map(|fault| self.setup.parts.status(fault)).collect(),
            counters: self.counted(&counters),
        }
    }

    /// The counters of the scheme, and those of the election.
    fn counted(&self, counters: &Counters) -> BTreeMap<&'static str, u64> {
        let mut named = crate::status::named(counters);
        if let Some(election) = &self.election {
            let (take_overs, silence) = election.history();
            named.insert("lease_lapses", election.lapses());
            named.insert("take_overs", take_overs);
            named.insert("take_over_silence_ns", silence.as_nanos() as u64);
        }
        named
    }
}

#[cfg(test)]
mod tests {
    use super::time::PATIENCE;
    use super::*;
    use crate::channel::LONGEST;
    use crate::clock::{NetworkClock, TimeReply};
    use crate::discovery::Member;
    use crate::parts::FaultStatus;
    use crate::status::Status;
    use slotline_net::error::SpecError;
    use slotline_net::id::PortId;
    use slotline_net::node::{Cx, PacketAccount};
    use std::net::{Ipv4Addr, UdpSocket};

    const NOW: Local = Local(1_000);

    struct Idle;

    impl Node for Idle {
        fn start(&mut self, _: &mut Cx<'_>) {}
        fn transmit(&mut self, _: PortId, _: &mut Cx<'_>) -> Option<Packet> {
            None
        }
        fn expire(&mut self, _: u32, _: &mut Cx<'_>) {}
        fn receive(&mut self, _: PortId, _: Packet, _: &mut Cx<'_>) {}
        fn account(&self) -> PacketAccount {
            PacketAccount::default()
        }
    }

    fn key(number: u8) -> KeyPair {
        KeyPair::from_private([number + 1; 32])
    }

    /// Arbiter 8, which knows arbiter 9 and host 1.
    fn setup() -> ArbiterSetup {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = socket.local_addr().unwrap();
        drop(socket);
        let peer = |number: u8| Peer { number: number.into(), address, key: key(number).public() };
        ArbiterSetup {
            me: HostId(8),
            rank: 0,
            address,
            key: key(8),
            peers: vec![peer(1), peer(9)],
            arbiters: vec![8, 9],
            wires: Vec::new(),
            links: Links::default(),
            hook: None,
            program: None,
            switches: 0,
            standby: None,
            parts: Parts::default(),
            make: Box::new(|_| Err(SpecError::new("control", "no node here"))),
            discovery: None,
            digest: 1,
            clock: ClockOptions::default(),
            quotas: Quotas { each: 1_000, tenants: Vec::new() },
            threads: 1,
            scenario: Default::default(),
            recorder: None,
        }
    }

    /// An arbiter that has no network time yet.
    fn arbiter() -> Arbiter {
        Arbiter::open(setup(), NOW).unwrap()
    }

    #[test]
    fn a_host_does_not_say_what_time_it_is() {
        let mut arbiter = arbiter();
        let reply = TimeReply { asked: NOW, received: 5, sent: 5, epoch: 7, drained: false };
        arbiter.learn_time(1, &reply, NOW).unwrap();
        assert!(arbiter.source.is_none());
        arbiter.learn_time(9, &reply, NOW).unwrap();
        assert_eq!(arbiter.source.map(|source| source.epoch()), Some(7));
    }

    #[test]
    fn network_time_begins_anew_before_it_is_over() {
        let mut arbiter = arbiter();
        arbiter.seek_time(&|| NOW);
        assert!(arbiter.source.is_none(), "it asks the other one");
        let now = NOW.after(PATIENCE[0] * 2);
        arbiter.seek_time(&|| now);
        let epoch = arbiter.source.as_ref().map(Source::epoch).unwrap();
        let late = now.after(LONGEST + PATIENCE[0]);
        arbiter.renew_epoch(&|| late);
        let source = arbiter.source.as_mut().unwrap();
        assert_ne!(source.epoch(), epoch);
        assert_eq!(source.now(late.after(Duration::from_micros(3))), Some(Time::us(3)));
        // One that has the time of another arbiter asks that one again.
        let mut clock = NetworkClock::new(&ClockOptions::default());
        let received = LONGEST.as_nanos() as u64 + 1_000;
        let reply = TimeReply { asked: late, received, sent: received, epoch: 7, drained: false };
        clock.answered(&reply, late);
        arbiter.source = Some(Source::Other { clock: Box::new(clock), of: 9 });
        arbiter.renew_epoch(&|| late);
        arbiter.seek_time(&|| late);
        assert!(arbiter.source.is_none());
        arbiter.seek_time(&|| late.after(PATIENCE[0] * 2));
        assert!(arbiter.source.is_some(), "nobody answers");
    }

    #[test]
    fn metrics_name_what_is_avoided() {
        let mut status = arbiter().status(NOW);
        let (found_ns, avoided_ns) = (1, Some(2));
        let fault = |part: &str, cleared_ns| FaultStatus {
            part: part.into(),
            found_ns,
            avoided_ns,
            cleared_ns,
        };
        status.faults = vec![fault("agg1.0-core0", None), fault("core1", Some(5))];
        let text = status.metrics();
        assert!(text.contains("slotline_avoided{part=\"agg1.0-core0\"} 1\n"), "{text}");
        assert!(!text.contains("core1"), "it is used again: {text}");
    }

    #[test]
    fn an_arbiter_whose_clock_has_stepped_begins_anew() {
        let mut arbiter = arbiter();
        let reply = |asked: Local, received| TimeReply {
            asked,
            received,
            sent: received,
            epoch: 7,
            drained: false,
        };
        let time = 5_000_000_000;
        arbiter.learn_time(9, &reply(NOW, time), NOW).unwrap();
        arbiter.seat = Some(Seat::new(Box::new(Idle), &[], Time::ZERO));
        let later = NOW.after(Duration::from_secs(1));
        arbiter.learn_time(9, &reply(later, time + 1_000_000_000), later).unwrap();
        assert!(arbiter.seat.is_some(), "time has gone on");
        arbiter.learn_time(9, &reply(later, time), later).unwrap();
        assert!(arbiter.seat.is_none());
        let network = arbiter.source.as_mut().and_then(|source| source.now(later));
        assert_eq!(
            network,
            Some(Time::ns(time)),
            "time is that of the other arbiter, although it goes back"
        );
    }

    #[test]
    fn a_host_out_of_the_schedule_is_told_so() {
        let mut arbiter = arbiter();
        let drain = |drained| Request::DrainHost { number: 1, name: "h1".into(), drained };
        arbiter.carry_out(drain(true), NOW).unwrap();
        assert_eq!(arbiter.status(NOW).drained_hosts, ["h1"]);
        arbiter.carry_out(drain(false), NOW).unwrap();
        assert!(arbiter.status(NOW).drained_hosts.is_empty());
    }

    #[test]
    fn an_arbiter_says_what_it_lacks_of_a_network() {
        let host = Member { number: 1, name: "h1".into(), is_host: true };
        let discovery = Discovery::new(vec![host], Duration::from_secs(2));
        let assemble: Assemble = Arc::new(|_| Err("nothing can be assembled".into()));
        let setup = ArbiterSetup { discovery: Some((discovery, assemble)), ..setup() };
        let mut arbiter = Arbiter::open(setup, NOW).unwrap();
        arbiter.seek_time(&|| NOW);
        let later = NOW.after(PATIENCE[0] * 2);
        arbiter.seek_time(&|| later);
        assert!(arbiter.source.is_some() && arbiter.seat.is_none() && !arbiter.knows_network());
        let why = arbiter.status(later).unready();
        let expected = "the network is not known yet: h1 has not told its neighbours";
        assert_eq!(why.as_deref(), Some(expected));
        assert!(arbiter.status(later).metrics().contains("slotline_cables_missing 1\n"));
    }

    #[test]
    fn agents_with_another_scenario_are_out_of_the_schedule() {
        let mut arbiter = arbiter();
        arbiter.seek_time(&|| NOW);
        arbiter.seek_time(&|| NOW.after(PATIENCE[0] * 2));
        let epoch = arbiter.source.as_ref().map(Source::epoch);
        let drain = Request::DrainHost { number: 1, name: "h1".into(), drained: true };
        assert!(!arbiter.is_out(1), "it has told nothing");
        arbiter.hear_scenario(1, 1);
        assert!(!arbiter.is_out(1), "it has the same one");
        arbiter.carry_out(drain, NOW).unwrap();
        arbiter.seat = Some(Seat::new(Box::new(Idle), &[], Time::ZERO));
        // In another scenario that host has number 3, and the other arbiter number 12.
        let mut other = ArbiterSetup { digest: 2, ..setup() };
        (other.peers[0].number, other.peers[1].number, other.arbiters) = (3, 12, vec![8, 12]);
        arbiter.carry_out(Request::ArbiterAnew(Box::new(other)), NOW).unwrap();
        assert!(arbiter.seat.is_none(), "its node begins anew");
        assert_eq!(arbiter.source.as_ref().map(Source::epoch), epoch);
        let status = arbiter.status(NOW);
        assert_eq!((status.other_scenario, &status.drained_hosts[..]), (1, &["h1".to_owned()][..]));
        let resume = Request::DrainHost { number: 3, name: "h1".into(), drained: false };
        arbiter.carry_out(resume, NOW).unwrap();
        assert!(arbiter.is_out(3) && !arbiter.is_out(1));
        arbiter.hear_scenario(3, 2);
        assert_eq!((arbiter.is_out(3), arbiter.status(NOW).other_scenario), (false, 0));
    }
}
