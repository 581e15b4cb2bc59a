//! One node under the wall clock.

use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::{Change, Cx, DropReason, Effects, Handover, Node, Note, Payloads, Sink};
use slotline_net::time::Time;
use slotline_net::topology::{End, Wire};
use slotline_net::units::InverseRate;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;

/// A busy port that is late sends without pauses until it has caught up with its rate, for at most this much lost time,
/// unless the seat has another limit.
const SLACK: Time = Time::ms(5);
/// The largest number of packets that one port sends in a step, so that arriving packets are not neglected, unless the seat
/// has another limit.
const BURST: usize = 64;

/// The connection of a node to its network.
pub trait Io {
    /// Sends a packet from a port to its far end. Control messages have a payload. Returns whether it could be sent;
    /// otherwise it is lost.
    ///
    /// # Errors
    /// Nothing can be sent any more.
    fn send(&mut self, far: End, packet: &Packet, payload: &[u8]) -> io::Result<bool>;
}

/// Counters of a seat.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SeatReport {
    /// Packets sent.
    pub sent: u64,
    /// Packets that could not be sent.
    pub lost: u64,
    /// Packets that the node dropped, by reason.
    pub dropped: [u64; DropReason::COUNT],
    /// Flows completed.
    pub completed: u64,
    /// The longest time by which a wake-up came late: it shows how well this machine keeps up.
    pub latest: Time,
}

struct Port {
    far: End,
    pace: InverseRate,
    /// Packets that the node sent with [`Cx::send`], and their destinations.
    queue: VecDeque<(Packet, End)>,
    /// Whether the node may have something to [`Node::transmit`].
    kicked: bool,
    /// Whether the port has sent without a pause until `free_at`.
    busy: bool,
    free_at: Time,
}

impl Port {
    fn new(wire: &Wire) -> Port {
        let pace = wire.lane.rate.inverse_rate();
        let (queue, free_at) = (VecDeque::new(), Time::ZERO);
        Port { far: wire.far, pace, queue, kicked: false, busy: false, free_at }
    }
    fn has_work(&self) -> bool {
        self.kicked || !self.queue.is_empty()
    }
    /// Occupies the line for a packet of `len` bytes, from `now` on.
    fn occupy(&mut self, len: u16, now: Time, slack: Time) {
        let begin = if self.busy { self.free_at.max(now.since(slack)) } else { now };
        (self.busy, self.free_at) = (true, begin + self.pace.time_for(len.into()));
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Wake {
    at: Time,
    order: u64,
    token: u32,
}

/// Everything that the node's effects act upon.
struct Surroundings {
    ports: Vec<Port>,
    wakes: BinaryHeap<Reverse<Wake>>,
    /// The number of wake-ups requested.
    orders: u64,
    report: SeatReport,
    notes: Vec<(Time, Note)>,
    handovers: Vec<(Time, Handover)>,
}

impl Surroundings {
    /// Takes the next wake-up that is due at `now`.
    fn due(&mut self, now: Time) -> Option<Wake> {
        let due = self.wakes.peek().is_some_and(|Reverse(wake)| wake.at <= now);
        due.then(|| self.wakes.pop()).flatten().map(|Reverse(wake)| wake)
    }
    /// The time of the next wake-up or transmission.
    fn next(&self) -> Time {
        let woken = self.wakes.peek().map_or(Time::MAX, |Reverse(wake)| wake.at);
        let free = self.ports.iter().filter(|port| port.has_work()).map(|port| port.free_at);
        free.fold(woken, Time::min)
    }
}

impl Sink for Surroundings {
    /// The real time of the processing has already passed.
    fn hold(&mut self, _span: Time) {}
    fn rewire(&mut self, port: PortId, node: NodeId, far: PortId) {
        self.ports[port.at()].far = End { node, port: far };
    }
    fn send(&mut self, port: PortId, packet: &mut Packet, _payloads: &mut Payloads) {
        let port = &mut self.ports[port.at()];
        port.queue.push_back((*packet, port.far));
    }
    fn wake(&mut self, at: Time, token: u32) {
        self.orders += 1;
        self.wakes.push(Reverse(Wake { at, order: self.orders, token }));
    }
    fn kick(&mut self, port: PortId) {
        self.ports[port.at()].kicked = true;
    }
    fn complete(&mut self, _flow: u32) {
        self.report.completed += 1;
    }
    fn dropped(&mut self, reason: DropReason) {
        self.report.dropped[reason as usize] += 1;
    }
    fn note(&mut self, at: Time, note: Note) {
        self.notes.push((at, note));
    }
    fn hand_over(&mut self, at: Time, what: Handover) {
        self.handovers.push((at, what));
    }
}

/// A node, its ports, which send at the rates of their links, and its wake-ups. The caller provides the time and the
/// packets that arrive.
pub struct Seat {
    node: Box<dyn Node>,
    effects: Effects,
    around: Surroundings,
    slack: Time,
    burst: usize,
}

impl Seat {
    /// A seat of a node with these links. Notes of events before `notes_until` are kept.
    pub fn new(node: Box<dyn Node>, wires: &[Wire], notes_until: Time) -> Seat {
        let mut effects = Effects::default();
        effects.keep_notes(notes_until);
        let around = Surroundings {
            ports: wires.iter().map(Port::new).collect(),
            wakes: BinaryHeap::new(),
            orders: 0,
            report: SeatReport::default(),
            notes: Vec::new(),
            handovers: Vec::new(),
        };
        Seat { node, effects, around, slack: SLACK, burst: BURST }
    }

    /// Limits the lost time for which busy ports catch up.
    pub fn limit_catching_up(&mut self, most: Time) {
        self.slack = most;
    }
    /// Limits the number of packets that a port sends in a step, so that each step has a recent time.
    pub fn limit_burst(&mut self, most: usize) {
        self.burst = most;
    }
    /// Makes packets stand for frames: the frames of dropped packets are listed.
    pub fn track_frames(&mut self) {
        self.effects.payloads().track_frames();
    }
    /// The node.
    pub fn node(&self) -> &dyn Node {
        self.node.as_ref()
    }
    /// Returns the node at the end.
    pub fn into_node(self) -> Box<dyn Node> {
        self.node
    }
    /// The counters so far.
    pub fn report(&self) -> SeatReport {
        self.around.report
    }
    /// The number of packets that wait in the FIFOs of ports.
    pub fn waiting(&self) -> u64 {
        self.around.ports.iter().map(|port| port.queue.len() as u64).sum()
    }
    /// Removes and returns the notes of the node.
    pub fn notes(&mut self) -> impl Iterator<Item = (Time, Note)> {
        self.around.notes.drain(..)
    }
    /// Removes and returns the packets that the node handed to applications.
    pub fn handovers(&mut self) -> impl Iterator<Item = (Time, Handover)> {
        self.around.handovers.drain(..)
    }
    /// Removes and returns the frames whose packets the node dropped.
    pub fn lost_frames(&mut self) -> impl Iterator<Item = u32> {
        self.effects.payloads().lost_frames()
    }

    /// Starts the node.
    pub fn start(&mut self, now: Time) {
        self.call(now, |node, cx| node.start(cx));
    }

    /// Passes a packet that has arrived at a port to the node. `payload` is that of a control message.
    pub fn receive(&mut self, port: PortId, packet: Packet, payload: &[u8], now: Time) {
        let mut packet = packet;
        if packet.kind == Kind::Control {
            packet.seq = self.effects.payloads().keep(payload.into());
        }
        self.call(now, |node, cx| node.receive(port, packet, cx));
    }

    /// Tells the node of a change in its surroundings.
    pub fn change(&mut self, change: &Change, now: Time) {
        self.call(now, |node, cx| node.change(change, cx));
    }

    /// The time of the node's next wake-up; [`Time::MAX`] if there is none.
    pub fn next_wake(&self) -> Time {
        self.around.wakes.peek().map_or(Time::MAX, |Reverse(wake)| wake.at)
    }

    /// Whether [`Seat::step`] would do nothing at `now`.
    pub fn is_idle(&self, now: Time) -> bool {
        let settled = |port: &Port| port.free_at > now || !(port.busy || port.has_work());
        self.next_wake() > now && self.around.ports.iter().all(settled)
    }

    /// Does what is due at `now`: wake-ups, and sending from free ports. Returns the time of the next call, unless a
    /// packet arrives earlier.
    ///
    /// # Errors
    /// The error of `io`.
    pub fn step(&mut self, now: Time, io: &mut impl Io) -> io::Result<Time> {
        while let Some(Wake { at, token, .. }) = self.around.due(now) {
            let latest = &mut self.around.report.latest;
            *latest = now.since(at).max(*latest);
            self.call(now, |node, cx| node.expire(token, cx));
        }
        for port in 0..self.around.ports.len() {
            self.transmit(port, now, io)?;
        }
        Ok(self.around.next())
    }

    /// Does everything that is due from `from` to `until`, each at its own time. What is done for a time that is more than
    /// `lead` before `until` is late. Returns the time of the next call, as [`Seat::step`].
    ///
    /// # Errors
    /// The error of `io`.
    pub fn step_through(
        &mut self,
        [from, until]: [Time; 2],
        lead: Time,
        io: &mut impl Io,
    ) -> io::Result<Time> {
        let mut at = from;
        loop {
            let late = until.since(self.next_wake().after(lead));
            self.around.report.latest = self.around.report.latest.max(late);
            let next = self.step(at, io)?;
            if next > until {
                return Ok(next);
            }
            at = next.max(at);
        }
    }

    /// Sends from a port while it is free and has packets.
    fn transmit(&mut self, port: usize, now: Time, io: &mut impl Io) -> io::Result<()> {
        for _ in 0..self.burst {
            if self.around.ports[port].free_at > now {
                return Ok(());
            }
            let Some((packet, far)) = self.take(port, now) else {
                self.around.ports[port].busy = false;
                return Ok(());
            };
            self.around.ports[port].occupy(packet.len, now, self.slack);
            let payload = self.payload(&packet);
            let sent = io.send(far, &packet, &payload)?;
            self.around.report.sent += u64::from(sent);
            self.around.report.lost += u64::from(!sent);
        }
        Ok(())
    }

    fn payload(&mut self, packet: &Packet) -> Box<[u8]> {
        match packet.kind {
            Kind::Control => self.effects.payloads().release(packet.seq),
            _ => Box::default(),
        }
    }

    /// The next packet of a port and its destination.
    fn take(&mut self, at: usize, now: Time) -> Option<(Packet, End)> {
        let port = &mut self.around.ports[at];
        if let Some(next) = port.queue.pop_front() {
            return Some(next);
        }
        if !std::mem::take(&mut port.kicked) {
            return None;
        }
        let packet = self.call(now, |node, cx| node.transmit(PortId(at as u16), cx));
        let port = &mut self.around.ports[at];
        port.kicked |= packet.is_some();
        packet.map(|packet| (packet, port.far))
    }

    /// Calls the node and carries out its effects.
    fn call<T>(&mut self, now: Time, call: impl FnOnce(&mut dyn Node, &mut Cx<'_>) -> T) -> T {
        let mut cx = Cx::new(now, &mut self.effects);
        let result = call(self.node.as_mut(), &mut cx);
        self.effects.drain(&mut self.around);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::node::PacketAccount;

    /// Wakes up every 10 us, and hands a packet over each time.
    struct Ticker;

    impl Node for Ticker {
        fn start(&mut self, cx: &mut Cx<'_>) {
            cx.wake(cx.now + Time::us(10), 0);
        }
        fn receive(&mut self, _port: PortId, _packet: Packet, _cx: &mut Cx<'_>) {}
        fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
            None
        }
        fn expire(&mut self, _token: u32, cx: &mut Cx<'_>) {
            cx.hand_over(Handover::Left(Packet::default()));
            cx.wake(cx.now + Time::us(10), 0);
        }
        fn account(&self) -> PacketAccount {
            PacketAccount::default()
        }
    }

    struct Nowhere;

    impl Io for Nowhere {
        fn send(&mut self, _far: End, _packet: &Packet, _payload: &[u8]) -> io::Result<bool> {
            Ok(false)
        }
    }

    #[test]
    fn what_is_due_happens_at_its_own_time() {
        let times = |seat: &mut Seat| seat.handovers().map(|(at, _)| at).collect::<Vec<_>>();
        let mut seat = Seat::new(Box::new(Ticker), &[], Time::ZERO);
        seat.start(Time::ZERO);
        let next = seat.step_through([0, 35].map(Time::us), Time::us(10), &mut Nowhere).unwrap();
        assert_eq!((next, times(&mut seat)), (Time::us(40), [10, 20, 30].map(Time::us).into()));
        assert_eq!(
            seat.report().latest,
            Time::us(15),
            "the first wake-up, of 10 us, had a lead of 10"
        );
        let next = seat.step_through([35, 36].map(Time::us), Time::us(10), &mut Nowhere).unwrap();
        assert_eq!((next, times(&mut seat)), (Time::us(40), vec![]));
        // One step does all at the time of the call.
        seat.step(Time::us(45), &mut Nowhere).unwrap();
        assert_eq!(times(&mut seat), [Time::us(45)]);
    }
}
