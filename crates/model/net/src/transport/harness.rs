//! One connection in virtual time: a sender and a receiver with store-and-forward hops between them.

use super::{Receiver, Reply, Sender, Transport};
use crate::frame::{CE, Circuits, ECT, Packet};
use crate::id::FlowId;
use crate::rng::Stream;
use crate::time::Time;
use crate::topology::LinkParams;
use crate::units::InverseRate;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// A FIFO with a transmitter behind it.
pub struct Hop {
    pace: InverseRate,
    delay: Time,
    /// Packets, the one in transmission included, above which arrivals are dropped.
    pub limit: usize,
    /// Packets at which arrivals are marked.
    pub mark: usize,
    departures: VecDeque<Time>,
    /// The largest number of packets so far.
    pub longest: usize,
}

impl Hop {
    /// A hop without a limit or marks.
    pub fn new(lane: &LinkParams) -> Hop {
        Hop {
            pace: lane.rate.inverse_rate(),
            delay: lane.delay,
            limit: usize::MAX,
            mark: usize::MAX,
            departures: VecDeque::new(),
            longest: 0,
        }
    }

    /// When `packet` arrives at the far end; `None` if it is dropped.
    fn cross(&mut self, packet: &mut Packet, now: Time) -> Option<Time> {
        while self.departures.front().is_some_and(|&at| at <= now) {
            self.departures.pop_front();
        }
        if self.departures.len() >= self.limit {
            return None;
        }
        if self.departures.len() >= self.mark && packet.has(ECT) {
            packet.flags |= CE;
        }
        let free = self.departures.back().map_or(now, |&at| at.max(now));
        let departure = free + self.pace.time_for(u64::from(packet.len));
        self.departures.push_back(departure);
        self.longest = self.longest.max(self.departures.len());
        Some(departure + self.delay)
    }
}

/// A circuit that replaces the first forward hop during the first part of each week.
pub struct Circuit {
    pub hop: Hop,
    pub day: Time,
    pub week: Time,
    /// How long before each change the sender gets a message about it; `None` if it gets none.
    pub notice: Option<Time>,
}

impl Circuit {
    fn is_up(&self, now: Time) -> bool {
        now.as_ps() % self.week.as_ps() < self.day.as_ps()
    }

    /// The time of a change: the circuit begins if the number is even, and ends if it is odd.
    fn change(&self, number: u64) -> Time {
        self.week.times(number / 2) + if number % 2 == 1 { self.day } else { Time::ZERO }
    }
}

/// Faults where packets leave their host. The probabilities hold for both directions unless stated otherwise.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Additional loss of data packets.
    pub data_loss: f64,
    pub loss: f64,
    pub duplication: f64,
    /// Probability that a packet is late, by up to `lateness`.
    pub reordering: f64,
    pub lateness: Time,
    /// Whether the information about circuits in packets is random.
    pub lies: bool,
    /// Loss of messages about circuits.
    pub notice_loss: f64,
    /// Data packets that are lost in any case, in the order of sending.
    pub lost: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    /// A packet is at the entrance of a hop of a direction. The number after the last hop is the far end.
    At { direction: usize, hop: usize, packet: u64 },
    /// A timer of the sender (0) or the receiver (1) may be due.
    Wake(usize),
    /// The sender gets a message that the circuit begins or ends.
    Tell(u64),
}

/// The result of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// When the receiver had all data.
    pub received: Time,
    pub retransmissions: u32,
    pub timeouts: u32,
    pub events: u64,
}

/// One connection with its network.
pub struct World {
    transport: Transport,
    sender: Sender,
    receiver: Receiver,
    /// Forward and back.
    pub directions: [Vec<Hop>; 2],
    pub circuit: Option<Circuit>,
    pub faults: Faults,
    rng: Stream,
    now: Time,
    queue: BinaryHeap<Reverse<(Time, u64, Event)>>,
    packets: BTreeMap<u64, Packet>,
    serial: u64,
    /// The earliest future wake-up of each end.
    wakes: [Time; 2],
    /// Data packets sent.
    sent: u32,
    events: u64,
}

impl World {
    pub fn new(transport: &Transport, path: &[LinkParams], back: &[LinkParams]) -> World {
        World {
            transport: transport.clone(),
            sender: Sender::new(transport),
            receiver: Receiver::new(),
            directions: [path, back].map(|lanes| lanes.iter().map(Hop::new).collect()),
            circuit: None,
            faults: Faults::default(),
            rng: Stream::named(1, "harness", 0),
            now: Time::ZERO,
            queue: BinaryHeap::new(),
            packets: BTreeMap::new(),
            serial: 0,
            wakes: [Time::MAX; 2],
            sent: 0,
            events: 0,
        }
    }

    pub fn seeded(mut self, seed: u64, faults: Faults) -> World {
        self.rng = Stream::named(seed, "harness", 0);
        self.faults = faults;
        self
    }

    /// Sends messages of these sizes, all at once, until all are acknowledged. Fails if this takes more than `most`
    /// events, if a window is zero, or if messages are not reported once each, in order.
    pub fn run(&mut self, messages: &[u64], most: u64) -> Result<Outcome, String> {
        let mut segments = 0;
        for (index, &bytes) in messages.iter().enumerate() {
            segments += self.transport.segments(bytes);
            self.sender.push(FlowId(index as u32), bytes, &self.transport, self.now);
        }
        self.pump();
        self.notify_next(0);
        let (mut received, mut acked) = (None, 0);
        while let Some(Reverse((at, _, event))) = self.queue.pop() {
            self.now = at;
            self.handle(event);
            self.check(segments, most)?;
            while let Some(flow) = self.sender.poll_acked() {
                if flow != FlowId(acked) {
                    return Err(format!("{flow:?} acknowledged instead of {acked}"));
                }
                acked += 1;
            }
            if self.receiver.delivered() == segments {
                received = received.or(Some(self.now));
            }
        }
        match received {
            Some(received) if self.sender.is_idle() && acked as usize == messages.len() => {
                let (retransmissions, timeouts) = self.sender.losses();
                Ok(Outcome { received, retransmissions, timeouts, events: self.events })
            }
            _ => Err(format!(
                "stuck at {} with {} of {segments}",
                self.now,
                self.receiver.delivered()
            )),
        }
    }

    fn check(&mut self, segments: u32, most: u64) -> Result<(), String> {
        self.events += 1;
        let delivered = self.receiver.delivered();
        if delivered > segments || self.sender.window() == 0 {
            return Err(format!(
                "{delivered} of {segments} delivered, window {}",
                self.sender.window()
            ));
        }
        if self.events > most {
            return Err(format!(
                "{} events and only {delivered} of {segments} delivered",
                self.events
            ));
        }
        Ok(())
    }

    fn at(&mut self, time: Time, event: Event) {
        self.serial += 1;
        self.queue.push(Reverse((time, self.serial, event)));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::At { direction, hop, packet: id } => {
                let Some(packet) = self.packets.remove(&id) else { return };
                if hop < self.directions[direction].len() {
                    self.cross(direction, hop, packet);
                } else if direction == 0 {
                    self.data(&packet);
                } else {
                    self.sender.on_ack(&packet, &self.transport, self.now);
                }
            }
            Event::Wake(end) => self.wake(end),
            Event::Tell(number) => {
                self.notify(number);
                if !self.sender.is_quiet() {
                    return;
                }
            }
        }
        self.pump();
    }

    /// Schedules the message about the next change of the circuit, if there are messages.
    fn notify_next(&mut self, number: u64) {
        let Some(circuit) = self.circuit.as_ref().filter(|_| !self.sender.is_idle()) else {
            return;
        };
        let Some(ahead) = circuit.notice else { return };
        self.at(circuit.change(number).since(ahead).max(self.now), Event::Tell(number));
    }

    fn notify(&mut self, number: u64) {
        let Some(circuit) = &self.circuit else { return };
        let (from, up) = (circuit.change(number), number.is_multiple_of(2));
        if self.rng.unit() >= self.faults.notice_loss {
            let circuits = Circuits::default().with_news(up.into(), up);
            self.sender.on_path_news(circuits, from);
        }
        self.notify_next(number + 1);
    }

    fn pump(&mut self) {
        while let Some(segment) = self.sender.next_segment(&self.transport, self.now) {
            let ecn = if self.transport.ecn() { ECT } else { 0 };
            let (seq, len) = (segment.seq, self.transport.data_len(segment.payload));
            let flags = segment.flags | ecn;
            self.emit(
                0,
                Packet { seq, len, flags, stamp: self.now.as_ns() as u32, ..Packet::default() },
            );
        }
        for (end, due) in [self.sender.deadline(), self.receiver.deadline()].into_iter().enumerate()
        {
            if let Some(due) = due.filter(|&due| due < self.wakes[end]) {
                self.wakes[end] = due;
                self.at(due.max(self.now), Event::Wake(end));
            }
        }
    }

    fn wake(&mut self, end: usize) {
        self.wakes[end] = Time::MAX;
        let due = [self.sender.deadline(), self.receiver.deadline()][end];
        if due.is_none_or(|due| due > self.now) {
            return;
        }
        if end == 0 {
            self.sender.on_timeout(&self.transport, self.now);
        } else {
            let reply = self.receiver.on_timeout();
            self.acknowledge(reply);
        }
    }

    fn data(&mut self, packet: &Packet) {
        let reply = self.receiver.on_data(packet, &self.transport, self.now);
        self.acknowledge(reply);
    }

    fn acknowledge(&mut self, reply: Option<Reply>) {
        if let Some(reply) = reply {
            let packet = reply.fill(Packet::default(), &self.transport);
            self.emit(1, packet);
        }
    }

    /// A packet leaves its host, unless a fault occurs.
    fn emit(&mut self, direction: usize, mut packet: Packet) {
        let mut up = self.circuit.as_ref().is_some_and(|circuit| circuit.is_up(self.now));
        let mut path = u8::from(up);
        if self.faults.lies {
            (up, path) = (self.rng.below(2) == 1, self.rng.below(8) as u8);
        }
        packet.put_on_path(path);
        packet.set_circuits(path, up);
        let certain = direction == 0 && self.faults.lost.contains(&self.sent);
        self.sent += u32::from(direction == 0);
        let data_loss = if direction == 0 { self.faults.data_loss } else { 0.0 };
        if self.rng.unit() < self.faults.loss + data_loss || certain {
            return;
        }
        let copies = if self.rng.unit() < self.faults.duplication { 2 } else { 1 };
        for _ in 0..copies {
            let late = self.rng.unit() < self.faults.reordering;
            let by = if late { self.rng.below(self.faults.lateness.as_ps()) } else { 0 };
            self.put(self.now + Time::ps(by), direction, 0, packet);
        }
    }

    fn cross(&mut self, direction: usize, hop: usize, mut packet: Packet) {
        let circuit = self.circuit.as_mut().filter(|circuit| circuit.is_up(self.now));
        let line = match circuit.filter(|_| (direction, hop) == (0, 0)) {
            Some(circuit) => &mut circuit.hop,
            None => &mut self.directions[direction][hop],
        };
        if let Some(arrival) = line.cross(&mut packet, self.now) {
            self.put(arrival, direction, hop + 1, packet);
        }
    }

    fn put(&mut self, time: Time, direction: usize, hop: usize, packet: Packet) {
        self.packets.insert(self.serial, packet);
        let packet = self.serial;
        self.at(time, Event::At { direction, hop, packet });
    }
}
