//! The counters of the switch of a rack.

use crate::VoqStats;
use crate::counters;
use crate::voq::DATA;
use slotline_net::histogram::Histogram;
use slotline_net::node::Counters;
use slotline_net::time::Time;

/// The counters of one rack.
#[derive(Clone, Debug)]
pub(super) struct RackCounters {
    /// Nanoseconds from the entry into a queue to the far rack.
    circuit: Histogram,
    packet: Histogram,
    circuit_packets: u64,
    packet_packets: u64,
    /// By destination rack, how long circuits to it were up, in nanoseconds.
    days_ns: Vec<u64>,
    /// By destination rack, how long packets on circuits to it were still leaving after their days, in nanoseconds.
    overtime_ns: Vec<u64>,
    /// By destination rack, the bytes that left on circuits to it, also for other racks.
    circuit_bytes: Vec<u64>,
    days: u64,
    /// Days, or parts of days, without a circuit because a port had failed.
    pub days_without_port: u64,
    /// Failures of the rack's ports at circuit switches.
    pub port_failures: u64,
    /// Packets that were marked.
    pub marked: u64,
    /// Packets that left for a relaying rack.
    pub first_hops: u64,
    /// Packets of other racks that left on their second circuit.
    pub second_hops: u64,
    /// How often a circuit waited because the next packet would not have been complete by night.
    pub held: u64,
    /// Packets whose transmission ended after their day.
    pub drained: u64,
    /// Packets that were cut off by a night.
    pub cut: u64,
}

impl RackCounters {
    pub fn new(racks: usize) -> RackCounters {
        let none = Histogram::default;
        RackCounters {
            circuit: none(),
            packet: none(),
            circuit_packets: 0,
            packet_packets: 0,
            days_ns: vec![0; racks],
            overtime_ns: vec![0; racks],
            circuit_bytes: vec![0; racks],
            days: 0,
            days_without_port: 0,
            port_failures: 0,
            marked: 0,
            first_hops: 0,
            second_hops: 0,
            held: 0,
            drained: 0,
            cut: 0,
        }
    }

    /// A packet leaves by a circuit.
    #[inline]
    pub fn circuit(&mut self, len: u16, latency: Time) {
        self.circuit_packets += 1;
        if len > DATA {
            self.circuit.add(latency.as_ns());
        }
    }

    /// Bytes leave on a circuit to end `rack`, and their transmission ends so long after the day.
    #[inline]
    pub fn on_circuit(&mut self, rack: usize, bytes: u64, overtime: Time) {
        self.drained += u64::from(overtime > Time::ZERO);
        // Circuits also lead to core switches, which have no counters.
        if let Some(sent) = self.circuit_bytes.get_mut(rack) {
            *sent += bytes;
            // Rounded up, so that a full circuit never carries more than its rate.
            if overtime > Time::ZERO {
                self.overtime_ns[rack] += overtime.as_ps().div_ceil(1_000);
            }
        }
    }

    /// A packet leaves by the packet switch.
    #[inline]
    pub fn packet(&mut self, len: u16, latency: Time) {
        self.packet_packets += 1;
        if len > DATA {
            self.packet.add(latency.as_ns());
        }
    }

    /// A day begins.
    pub fn day(&mut self, to: usize, span: Time) {
        self.days_ns[to] += span.as_ns();
        self.days += 1;
    }

    /// A day that was counted ends earlier by `span`.
    pub fn cut_day(&mut self, to: usize, span: Time) {
        self.days_ns[to] = self.days_ns[to].saturating_sub(span.as_ns());
    }

    /// How long there was a circuit to `to`, counting all days that have begun.
    pub fn up(&self, to: usize) -> Time {
        Time::ns(self.days_ns[to])
    }

    /// A day that was counted is longer by `span`.
    pub fn longer_day(&mut self, to: usize, span: Time) {
        self.days_ns[to] += span.as_ns();
    }

    /// Adds these counters, and those of the queues by destination, to those of the run.
    pub fn add_counters(&self, voqs: &[VoqStats], counters: &mut Counters) {
        let sum = |of: fn(&VoqStats) -> u64| voqs.iter().map(of).sum::<u64>();
        let data = || (0..voqs.len()).filter(|to| voqs[*to].carries_data);
        let up = |to: usize| self.days_ns[to] + self.overtime_ns[to];
        counters.add(counters::CIRCUIT_PACKETS, self.circuit_packets);
        counters.add(counters::PACKET_SWITCH_PACKETS, self.packet_packets);
        counters.add(counters::CIRCUIT_BYTES, sum(|voq| voq.circuit_bytes));
        counters.add(counters::PACKET_SWITCH_BYTES, sum(|voq| voq.packet_bytes));
        counters.add(counters::CIRCUIT_DAYS, self.days);
        counters.add(counters::DAYS_WITHOUT_PORT, self.days_without_port);
        counters.add(counters::PORT_FAILURES, self.port_failures);
        counters.add(counters::CIRCUIT_UP_NS, self.days_ns.iter().sum());
        counters.add(counters::DATA_CIRCUIT_UP_NS, data().map(up).sum());
        counters.add(counters::DATA_CIRCUIT_BYTES, data().map(|to| self.circuit_bytes[to]).sum());
        let by_packet_switch = data().map(|to| voqs[to].packet_bytes).sum();
        counters.add(counters::DATA_PACKET_SWITCH_BYTES, by_packet_switch);
        counters.add(counters::VOQ_DROPS, sum(|voq| voq.refused));
        counters.add(counters::VOQ_DROPS_BY_RESIZING, sum(|voq| voq.shed));
        let longest = voqs.iter().map(|voq| u64::from(voq.longest)).max();
        counters.add(counters::VOQ_LONGEST, longest.unwrap_or(0));
        counters.add(counters::PACKETS_TO_RELAYS, self.first_hops);
        counters.add(counters::PACKETS_FROM_RELAYS, self.second_hops);
        counters.add(counters::PACKETS_WITH_CIRCUIT_MARK, self.marked);
        counters.add(counters::CIRCUIT_WAITS_FOR_NIGHT, self.held);
        counters.add(counters::PACKETS_DRAINED_INTO_NIGHT, self.drained);
        counters.add(counters::PACKETS_CUT_BY_NIGHT, self.cut);
        counters.add_times(counters::CIRCUIT_LATENCY, &self.circuit);
        counters.add_times(counters::PACKET_SWITCH_LATENCY, &self.packet);
        counters.add_times(counters::LATENCY, &self.circuit);
        counters.add_times(counters::LATENCY, &self.packet);
    }
}
