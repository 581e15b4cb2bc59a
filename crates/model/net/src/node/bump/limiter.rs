//! A bump as reaction point (NetBump, 5.3.3 and Figure 5.8). It takes the notices for senders behind it off the wire,
//! and limits their flows to the resulting rates. A bump holds no packets. Each flow has a virtual queue that drains at
//! the rate of the flow, and packets that find no room in it are dropped.

use super::spec::LimitSpec;
use crate::aqm::spec::ReactionSpec;
use crate::aqm::{ReactionPoint, VirtualQueue};
use crate::frame::{Kind, Packet};
use crate::id::PortId;
use crate::node::{Counters, counters};
use crate::time::Time;
use crate::units::{Bytes, Rate};
use crate::wire::cnm::Cnm;

/// A sample of the virtual queue of a flow that a bump limits, after a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limited {
    /// The time of the sample.
    pub at: Time,
    /// The port of the switch by which the flow arrives, through the bump.
    pub port: PortId,
    /// Its connection.
    pub flow: u32,
    /// The rate of the flow, at which its virtual queue drains.
    pub rate: Rate,
    /// Bytes in the virtual queue.
    pub bytes: u64,
}

/// A flow that passes the bump. It may be limited or not.
struct Flow {
    number: u32,
    point: ReactionPoint,
    queue: VirtualQueue,
    rate: Rate,
    /// The time of the next sample of its virtual queue.
    sample_at: Time,
}

impl Flow {
    fn new(number: u32, spec: ReactionSpec, line: Rate, room: Bytes) -> Flow {
        let queue = VirtualQueue::new(line.inverse_rate(), room);
        let point = ReactionPoint::new(spec, line);
        Flow { number, point, queue, rate: line, sample_at: Time::ZERO }
    }

    /// Sets the drain rate of the virtual queue to the present rate of the flow.
    fn follow(&mut self, now: Time) {
        if self.point.rate() != self.rate {
            self.rate = self.point.rate();
            self.queue.set_pace(self.rate.inverse_rate(), now);
        }
    }

    /// Whether a packet may pass.
    fn admits(&mut self, len: u32, now: Time) -> bool {
        self.point.passed(now);
        self.follow(now);
        let room = self.queue.add(len, now);
        if room {
            self.point.sent(len);
        }
        room || !self.point.limits()
    }
}

/// The bump at one port: the rate of its wire, and flows in the order of their numbers.
struct Tap {
    line: Rate,
    flows: Vec<Flow>,
}

impl Tap {
    fn flow(&mut self, number: u32, spec: ReactionSpec, room: Bytes) -> &mut Flow {
        let found = self.flows.binary_search_by_key(&number, |flow| flow.number);
        let at = found.unwrap_or_else(|at| {
            self.flows.insert(at, Flow::new(number, spec, self.line, room));
            at
        });
        &mut self.flows[at]
    }
}

/// The bumps in front of one switch that limit flows.
pub(super) struct Limiters {
    spec: ReactionSpec,
    room: Bytes,
    /// By port of the switch.
    taps: Vec<Option<Tap>>,
    /// The shortest time between two samples of one flow. If it is zero there are no samples.
    every: Time,
    samples: Vec<Limited>,
    most: u64,
    drops: u64,
    notices: u64,
    unread: u64,
}

/// The most samples of one switch.
const MOST_SAMPLES: usize = 1_000_000;

impl Limiters {
    /// Limiters without a limited flow. `taps`: ports with a bump, and the rate of the wire to the switch.
    pub fn new(
        spec: ReactionSpec,
        limit: Option<&LimitSpec>,
        taps: impl Iterator<Item = (PortId, Rate)>,
        ports: usize,
        every: Time,
    ) -> Limiters {
        let mut by_port: Vec<Option<Tap>> = (0..ports).map(|_| None).collect();
        taps.for_each(|(port, line)| by_port[port.at()] = Some(Tap { line, flows: Vec::new() }));
        Limiters {
            spec,
            room: limit.map_or(LimitSpec::default().limit, |limit| limit.limit),
            taps: by_port,
            every,
            samples: Vec::new(),
            most: 0,
            drops: 0,
            notices: 0,
            unread: 0,
        }
    }

    /// Whether a packet that arrives by `port` may pass.
    pub fn admits(&mut self, port: PortId, packet: &Packet, now: Time) -> bool {
        let Some(tap) = &mut self.taps[port.at()] else { return true };
        if !matches!(packet.kind, Kind::Data | Kind::Datagram | Kind::Ack) {
            return true;
        }
        let flow = tap.flow(packet.flow, self.spec, self.room);
        let admitted = flow.admits(u32::from(packet.len), now);
        self.drops += u64::from(!admitted);
        if !flow.point.limits() {
            return admitted;
        }
        let bytes = flow.queue.bytes(now);
        self.most = self.most.max(bytes);
        if self.every > Time::ZERO && now >= flow.sample_at && self.samples.len() < MOST_SAMPLES {
            flow.sample_at = now + self.every;
            self.samples.push(Limited { at: now, port, flow: packet.flow, rate: flow.rate, bytes });
        }
        admitted
    }

    /// Whether the bump on the wire of `port` takes this packet, because it is a notice for a sender behind it.
    pub fn takes(&self, port: PortId, packet: &Packet) -> bool {
        packet.kind == Kind::Control && self.taps[port.at()].is_some()
    }

    /// Handles a notice for a sender at `port`. It names its flow by the low 16 bits.
    pub fn notified(&mut self, port: PortId, message: &[u8], now: Time) {
        let (Ok(cnm), Some(tap)) = (Cnm::parse(message), &mut self.taps[port.at()]) else {
            self.unread += 1;
            return;
        };
        self.notices += 1;
        let named = tap.flows.iter_mut().find(|flow| flow.number as u16 == cnm.flow);
        if let Some(flow) = named {
            flow.point.passed(now);
            flow.point.notified(cnm.quantised, now);
            flow.follow(now);
        }
    }

    /// Packets that reached no host, because bumps took them.
    pub fn taken(&self) -> u64 {
        self.notices + self.unread
    }

    /// The samples of virtual queues, in time order.
    pub fn samples(&self) -> &[Limited] {
        &self.samples
    }

    /// Adds the counters, if a bump limits flows.
    pub fn add_counters(&self, counters: &mut Counters) {
        if self.taps.iter().all(Option::is_none) {
            return;
        }
        counters.add(counters::LIMITER_NOTICES, self.notices);
        counters.add(counters::LIMITER_UNREAD_NOTICES, self.unread);
        counters.add(counters::LIMITER_DROPS, self.drops);
        counters.add(counters::LIMITER_QUEUE_MOST, self.most);
        let flows = self.taps.iter().flatten().flat_map(|tap| &tap.flows);
        counters
            .add(counters::LIMITER_FLOWS, flows.filter(|flow| flow.point.limits()).count() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::mac_control::Mac;

    const LINE: Rate = Rate(1_000_000_000);
    const PORT: PortId = PortId(1);

    fn limiters(limit: Bytes, every: Time) -> Limiters {
        let spec = ReactionSpec { cycle: Bytes(u64::MAX / 4), ..ReactionSpec::default() };
        let limit = LimitSpec { limit, ..LimitSpec::default() };
        Limiters::new(spec, Some(&limit), [(PORT, LINE)].into_iter(), 2, every)
    }

    fn packet(flow: u32) -> Packet {
        Packet { flow, len: 1_250, kind: Kind::Datagram, ..Packet::default() }
    }

    fn notice(flow: u16) -> Vec<u8> {
        let nobody = Mac([0; 6]);
        let (point, offset, delta, priority) = (0, 0, 0, 0);
        let ends = (nobody, nobody, nobody);
        let (destination, source, sampled_to) = ends;
        let (quantised, sample) = (63, Vec::new());
        Cnm {
            destination,
            source,
            flow,
            quantised,
            point,
            offset,
            delta,
            priority,
            sampled_to,
            sample,
        }
        .emit()
    }

    /// The packets of `flow` that pass in a second, if one arrives every 10 us (1 Gbit/s).
    fn passed(limiters: &mut Limiters, port: PortId, flow: u32) -> u64 {
        let admitted =
            |n: &u64| limiters.admits(port, &packet(flow), Time::us(10 * n) + Time::us(1));
        (0..100_000u64).filter(admitted).count() as u64
    }

    /// A sender ignores its rate. The packets that pass are those of the rate, and those that fill the virtual queue
    /// once.
    #[test]
    fn a_notified_flow_passes_at_its_rate_and_its_virtual_queue_stays_full() {
        let mut limiters = limiters(Bytes(100_000), Time::ms(1));
        assert!(limiters.admits(PORT, &packet(70_000), Time::ZERO));
        for _ in 0..2 {
            limiters.notified(PORT, &notice(70_000u32 as u16), Time::ZERO);
        }
        limiters.notified(PORT, &[1, 2, 3], Time::ZERO);
        assert_eq!((limiters.notices, limiters.unread, limiters.taken()), (2, 1, 3));
        // (65/128)² of a hundred thousand packets, and 80 packets that fill the queue.
        let count = passed(&mut limiters, PORT, 70_000);
        assert!((25_840..25_880).contains(&count), "{count}");
        assert_eq!(limiters.drops, 100_000 - count);
        assert!((98_750..=100_000).contains(&limiters.most), "{}", limiters.most);
        let samples = limiters.samples();
        assert!((990..=1_001).contains(&samples.len()), "{}", samples.len());
        // The queue is full after 100 KB / (1 - 0.258) Gbit/s = 1.1 ms.
        let late = samples.iter().filter(|one| one.at > Time::ms(3));
        assert!(late.clone().all(|one| one.bytes > 97_000 && one.flow == 70_000), "{samples:?}");
        assert!(late.count() > 900);
    }

    #[test]
    fn flows_without_notices_and_other_ports_pass() {
        let mut limiters = limiters(Bytes(3_000), Time::ZERO);
        assert!(limiters.admits(PORT, &packet(1), Time::ZERO));
        limiters.notified(PORT, &notice(1), Time::ZERO);
        assert_eq!(passed(&mut limiters, PORT, 2), 100_000);
        assert_eq!(passed(&mut limiters, PortId(0), 1), 100_000);
        assert!(passed(&mut limiters, PORT, 1) < 51_000);
        assert!(limiters.samples().is_empty());
        let control = Packet { kind: Kind::Control, ..packet(1) };
        assert!(limiters.takes(PORT, &control));
        assert!(!limiters.takes(PortId(0), &control) && !limiters.takes(PORT, &packet(1)));
    }
}
