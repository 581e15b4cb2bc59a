//! The daemon on the machine of a controller: runs a station of the scheme, and provides network time to hosts.

use crate::agent::MakeNode;
use crate::channel::{Channel, Peer};
use crate::clock::{Local, NetworkClock, TimeReply};
use crate::config::{ClockOptions, span};
use crate::hook::Hook;
use crate::links::Links;
use crate::message::Message;
use crate::record::{Header, Recorder, Sent};
use crate::running::{Running, unique, waiting_list};
use crate::seat::{Io, Seat};
use crate::status::{ArbiterStatus, Shared};
use slotline_envelope::KeyPair;
use slotline_linux::wait;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::HostId;
use slotline_net::time::Time;
use slotline_net::topology::{End, Wire};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// The longest sleep. It bounds the time until a request to stop is noticed.
const NAP: Duration = Duration::from_millis(20);
/// The time for which a starting arbiter waits for the time of another one, by rank.
const PATIENCE: [Duration; 2] = [Duration::from_millis(300), Duration::from_millis(1_500)];
/// The interval between its requests meanwhile.
const ASKS: Duration = Duration::from_millis(50);
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
    /// Makes the station.
    pub make: MakeNode,
    /// Options of time transfer.
    pub clock: ClockOptions,
    /// Messages that are handled per second from each peer.
    pub quota: u32,
    /// The scenario with all its values, and the name of the scheme. Both are written to the log.
    pub scenario: (String, String),
    /// The log of all messages heard and digests of messages sent.
    pub recorder: Option<Recorder>,
}

/// The source of network time.
enum Source {
    /// Network time began here, at this local time.
    Own { epoch: u64, began: Local },
    /// Network time comes from the arbiter with the number `of`.
    Other { clock: Box<NetworkClock>, of: u32 },
}

/// A running arbiter.
pub struct Arbiter {
    setup: ArbiterSetup,
    channel: Channel,
    source: Option<Source>,
    seat: Option<Seat>,
    asks: Local,
    /// The time of the next write of the log to the disk.
    writes: Local,
    received: u64,
}

struct Outlet<'a> {
    channel: &'a mut Channel,
    now: Local,
    me: HostId,
    links: &'a Links,
    hook: Option<&'a mut Hook>,
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
            (Some(packet), _) => {
                let message = Message::Control(packet, payload);
                Ok(self.channel.send(packet.dst.0, &message, self.now))
            }
            (None, Some(hook)) => hook.tell(payload).map(|()| true),
            (None, None) => Ok(false),
        }
    }
}

impl Source {
    fn now(&mut self, now: Local) -> Option<Time> {
        match self {
            Source::Own { began, .. } => Some(Time::ns(now.since(*began).as_nanos() as u64)),
            Source::Other { clock, .. } => clock.now(now),
        }
    }
    fn epoch(&self) -> u64 {
        match self {
            Source::Own { epoch, .. } => *epoch,
            Source::Other { clock, .. } => clock.epoch(),
        }
    }
}

impl Arbiter {
    /// Opens the socket.
    ///
    /// # Errors
    /// The address cannot be used.
    pub fn open(setup: ArbiterSetup, now: Local) -> io::Result<Arbiter> {
        let mut channel = Channel::open(setup.address, setup.key.clone(), &setup.peers, now)?;
        channel.limit(setup.quota);
        let (source, seat) = (None, None);
        let (asks, writes) = (Local(0), Local(0));
        Ok(Arbiter { setup, channel, source, seat, asks, writes, received: 0 })
    }

    /// Runs until it is requested to stop.
    ///
    /// # Errors
    /// The socket has failed.
    pub fn run(mut self, running: &Running, shared: &Shared<ArbiterStatus>) -> io::Result<()> {
        let list = waiting_list(&[self.channel.readable()])?;
        while !running.stopped() {
            let now = running.now();
            if let Some(keys) = shared.new_keys() {
                // `Config::load` has refused configurations in which two machines have the same key.
                let _ = self.channel.rekey(&keys);
            }
            let next = self.round(now)?;
            shared.show(|| self.status(running.now()));
            self.write_log(now);
            if !next.is_zero() {
                wait::sleep(&list, next.min(NAP))?;
            }
        }
        self.setup.recorder.iter_mut().for_each(Recorder::flush);
        Ok(())
    }

    /// Writes the log to the disk at intervals, so that it remains if the arbiter is killed.
    fn write_log(&mut self, now: Local) {
        if now >= self.writes {
            self.writes = now.after(WRITES);
            self.setup.recorder.iter_mut().for_each(Recorder::flush);
        }
    }

    /// Does everything that is due. Returns the time until there is more to do.
    fn round(&mut self, now: Local) -> io::Result<Duration> {
        for _ in 0..BURST {
            if !self.hear(now)? {
                break;
            }
        }
        self.seek_time(now);
        self.setup.hook.as_mut().map_or(Ok(()), Hook::check)?;
        let next = self.step(now)?;
        Ok(next.min(self.channel.attend(now)))
    }

    /// Runs the node as far as something is due.
    fn step(&mut self, now: Local) -> io::Result<Duration> {
        let Some(source) = &mut self.source else { return Ok(ASKS) };
        let (Some(seat), Some(time)) = (&mut self.seat, source.now(now)) else { return Ok(ASKS) };
        let recorder = self.setup.recorder.as_mut().filter(|_| !seat.is_idle(time));
        let sent = recorder.is_some().then(Sent::default);
        let (me, links, hook) = (self.setup.me, &self.setup.links, self.setup.hook.as_mut());
        let mut outlet = Outlet { channel: &mut self.channel, now, me, links, hook, sent };
        let next = seat.step(time, &mut outlet)?;
        if let (Some(recorder), Some(sent)) = (recorder, outlet.sent) {
            recorder.stepped(sent, time);
        }
        Ok(Duration::from_nanos(next.since(time).as_ns()))
    }

    /// Handles one message. Returns whether there was one.
    fn hear(&mut self, now: Local) -> io::Result<bool> {
        let Some((from, message)) = self.channel.receive(now)? else { return Ok(false) };
        match message {
            Message::Control(packet, payload) => {
                let own = packet.dst == self.setup.me && packet.flow == from;
                let port = self.setup.links.port(from).filter(|_| own);
                let time = self.source.as_mut().and_then(|source| source.now(now));
                if let (Some(port), Some(seat), Some(time)) = (port, &mut self.seat, time) {
                    self.received += 1;
                    let recorder = self.setup.recorder.iter_mut();
                    recorder.for_each(|recorder| recorder.heard(&packet, payload, time));
                    seat.receive(port, packet, payload, time);
                }
            }
            Message::TimeRequest(asked) => self.tell_time(from, asked, now),
            Message::TimeReply(reply) => self.learn_time(from, &reply, now),
        }
        Ok(true)
    }

    fn tell_time(&mut self, to: u32, asked: Local, now: Local) {
        let Some(source) = &mut self.source else { return };
        let Some(time) = source.now(now) else { return };
        let (time, epoch) = (time.as_ns(), source.epoch());
        let reply = TimeReply { asked, received: time, sent: time, epoch };
        // If the reply is lost, the sender asks again.
        let _ = self.channel.send(to, &Message::TimeReply(reply), now);
    }

    /// Handles an answer to a time request. Only the time of other arbiters counts.
    fn learn_time(&mut self, from: u32, reply: &TimeReply, now: Local) {
        if !self.setup.arbiters.contains(&from) {
            return;
        }
        match &mut self.source {
            None => {
                let options = &self.setup.clock;
                let mut clock = NetworkClock::new(span(options.interval), span(options.guard));
                clock.answered(reply, now);
                self.source = Some(Source::Other { clock: Box::new(clock), of: from });
            }
            // Another epoch belongs to an arbiter that has restarted and asked this one, so it does not count here.
            Some(Source::Other { clock, of }) if *of == from && clock.epoch() == reply.epoch => {
                clock.answered(reply, now);
            }
            Some(_) => {}
        }
    }

    /// Asks other arbiters for the time, and begins network time if no arbiter answers.
    fn seek_time(&mut self, now: Local) {
        let patience = PATIENCE[self.setup.rank.min(PATIENCE.len() - 1)];
        let alone = self.setup.arbiters.len() < 2;
        if self.source.is_none() && (alone || now.0 > patience.as_nanos() as u64) {
            self.source = Some(Source::Own { epoch: unique(), began: now });
        }
        if self.seat.is_none() && self.source.is_some() {
            self.begin(now);
        }
        let follows = !matches!(self.source, Some(Source::Own { .. }));
        if follows && now >= self.asks {
            for &arbiter in self.setup.arbiters.iter().filter(|&&number| number != self.setup.me.0)
            {
                self.channel.expect(arbiter, now);
                self.channel.send(arbiter, &Message::TimeRequest(now), now);
            }
            let interval = span(self.setup.clock.interval);
            self.asks = now.after(if self.source.is_none() { ASKS } else { interval });
        }
    }

    fn begin(&mut self, now: Local) {
        let time = self.source.as_mut().and_then(|source| source.now(now));
        let incarnation = unique();
        if let (Ok(node), Some(time)) = ((self.setup.make)(incarnation), time) {
            let header = self.header(incarnation, time);
            self.setup.recorder.iter_mut().for_each(|recorder| recorder.begin(&header));
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

    fn status(&mut self, now: Local) -> ArbiterStatus {
        let mut counters = Default::default();
        let report = self.seat.as_ref().map(Seat::report).unwrap_or_default();
        self.seat.iter().for_each(|seat| seat.node().add_counters(&mut counters));
        let time = self.source.as_mut().and_then(|source| source.now(now));
        ArbiterStatus {
            rank: self.setup.rank,
            epoch: self.source.as_ref().map_or(0, Source::epoch),
            time_ns: time.map_or(0, Time::as_ns),
            peers: self.channel.present(PRESENT, now),
            received: self.received,
            sent: report.sent,
            lost_messages: report.lost,
            recording: self.setup.recorder.as_ref().map(|recorder| match recorder.fault() {
                Some(error) => error.to_string(),
                None => "ok".into(),
            }),
            refused: self.channel.refused(),
            over_quota: self.channel.over_quota(),
            latest_ns: report.latest.as_ns(),
            counters: crate::status::named(&counters),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::error::SpecError;
    use std::net::{Ipv4Addr, UdpSocket};

    const NOW: Local = Local(1_000);

    /// An arbiter with number 8 that knows arbiter 9 and host 1, and that has no network time yet.
    fn arbiter() -> Arbiter {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = socket.local_addr().unwrap();
        drop(socket);
        let key = |number: u8| KeyPair::from_private([number + 1; 32]);
        let peer = |number: u8| Peer { number: number.into(), address, key: key(number).public() };
        let setup = ArbiterSetup {
            me: HostId(8),
            rank: 0,
            address,
            key: key(8),
            peers: vec![peer(1), peer(9)],
            arbiters: vec![8, 9],
            wires: Vec::new(),
            links: Links::default(),
            hook: None,
            make: Box::new(|_| Err(SpecError::new("control", "no node here"))),
            clock: ClockOptions::default(),
            quota: 1_000,
            scenario: Default::default(),
            recorder: None,
        };
        Arbiter::open(setup, NOW).unwrap()
    }

    #[test]
    fn a_host_does_not_say_what_time_it_is() {
        let mut arbiter = arbiter();
        let reply = TimeReply { asked: NOW, received: 5, sent: 5, epoch: 7 };
        arbiter.learn_time(1, &reply, NOW);
        assert!(arbiter.source.is_none());
        arbiter.learn_time(9, &reply, NOW);
        assert_eq!(arbiter.source.map(|source| source.epoch()), Some(7));
    }
}
