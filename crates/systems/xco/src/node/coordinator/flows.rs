//! The packets of a host's virtual machines for one destination, with a FIFO for each V2V flow.

use slotline_net::frame::Packet;
use slotline_net::workload::Machines;
use std::collections::VecDeque;

struct Fifo {
    machines: Machines,
    packets: VecDeque<Packet>,
    bytes: u64,
    /// The bytes that have left. A flow that begins to wait gets at least the lowest count of waiting flows.
    served: u64,
    /// Whether the flow is set up, so that its packets can leave.
    ready: bool,
}

/// The V2V flows to one destination. Those that wait take turns, byte by byte as far as packets allow.
#[derive(Default)]
pub(super) struct Flows {
    fifos: Vec<Fifo>,
    /// The number of packets that can leave.
    ready: usize,
    /// The number of all packets.
    packets: usize,
}

/// What a packet changes for its flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrival {
    /// The flow is new and has to be set up.
    Unknown,
    /// The flow waits from now on.
    First,
    /// The flow waits already, or is not set up yet.
    Further,
}

impl Flows {
    /// Whether nothing can leave.
    pub fn is_empty(&self) -> bool {
        self.ready == 0
    }
    /// The number of all packets, including those that cannot leave yet.
    pub fn packets(&self) -> usize {
        self.packets
    }
    /// The FIFO of `machines`.
    fn find(&mut self, machines: Machines) -> Option<&mut Fifo> {
        self.fifos.iter_mut().find(|fifo| fifo.machines == machines)
    }
    /// Bytes of one flow.
    pub fn bytes_of(&self, machines: Machines) -> u64 {
        self.fifos.iter().find(|fifo| fifo.machines == machines).map_or(0, |fifo| fifo.bytes)
    }
    /// Adds a packet. A new flow is ready at once if `ready`, otherwise after [`Flows::set_up`].
    pub fn push(&mut self, packet: Packet, machines: Machines, ready: bool) -> Arrival {
        let least = self.waiting().map(|fifo| fifo.served).min().unwrap_or(0);
        let unknown = self.find(machines).is_none();
        if unknown {
            let packets = VecDeque::new();
            self.fifos.push(Fifo { machines, packets, bytes: 0, served: 0, ready });
        }
        let Some(fifo) = self.find(machines) else { return Arrival::Further };
        let first = fifo.packets.is_empty();
        if first {
            fifo.served = fifo.served.max(least);
        }
        fifo.packets.push_back(packet);
        fifo.bytes += u64::from(packet.len);
        let ready = fifo.ready;
        self.packets += 1;
        self.ready += usize::from(ready);
        match (unknown && !ready, first && ready) {
            (true, _) => Arrival::Unknown,
            (_, true) => Arrival::First,
            _ => Arrival::Further,
        }
    }
    /// Lets the flow leave from now on. Returns whether it has packets.
    pub fn set_up(&mut self, machines: Machines) -> bool {
        let Some(fifo) = self.find(machines) else { return false };
        let waiting = if std::mem::replace(&mut fifo.ready, true) { 0 } else { fifo.packets.len() };
        self.ready += waiting;
        waiting > 0
    }
    fn waiting(&self) -> impl Iterator<Item = &Fifo> {
        self.fifos.iter().filter(|fifo| fifo.ready && !fifo.packets.is_empty())
    }
    /// The flows that wait. If none waits, the flow that waited last.
    pub fn machines(&self) -> impl Iterator<Item = Machines> + '_ {
        let idle = self.is_empty();
        let last = self.fifos.iter().take(usize::from(idle)).map(|fifo| fifo.machines);
        self.waiting().map(|fifo| fifo.machines).chain(last)
    }
    /// The length of the next packet.
    pub fn next_len(&self) -> Option<u16> {
        let fifo = self.waiting().min_by_key(|fifo| fifo.served)?;
        fifo.packets.front().map(|packet| packet.len)
    }
    /// Takes a packet of the flow that was served least.
    pub fn pop(&mut self) -> Option<Packet> {
        let waiting = self.fifos.iter_mut().filter(|fifo| fifo.ready && !fifo.packets.is_empty());
        let fifo = waiting.min_by_key(|fifo| fifo.served)?;
        let packet = fifo.packets.pop_front()?;
        fifo.bytes -= u64::from(packet.len);
        fifo.served += u64::from(packet.len);
        self.packets -= 1;
        self.ready -= 1;
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(vm: u16) -> Machines {
        Machines { from: vm, to: 0 }
    }
    fn packet(vm: u16, seq: u32, len: u16) -> Packet {
        Packet { flow: vm.into(), seq, len, ..Packet::default() }
    }

    #[test]
    fn a_flow_that_is_not_set_up_waits() {
        let mut flows = Flows::default();
        assert_eq!(flows.push(packet(1, 0, 100), of(1), false), Arrival::Unknown);
        assert_eq!(flows.push(packet(1, 1, 100), of(1), false), Arrival::Further);
        assert!(flows.is_empty() && flows.packets() == 2 && flows.pop().is_none());
        assert!(flows.set_up(of(1)) && !flows.set_up(of(1)));
        assert_eq!(flows.pop().map(|p| p.seq), Some(0));
        assert_eq!(flows.pop().map(|p| p.seq), Some(1));
        assert_eq!(flows.push(packet(1, 2, 100), of(1), false), Arrival::First, "once is enough");
    }

    proptest! {
        /// No packet is lost or overtaken within a flow. While two flows wait, they get the same bytes except for one
        /// packet each.
        #[test]
        fn flows_take_turns(lengths in prop::collection::vec((0u16..3, 64u16..1_538), 1..200)) {
            let mut flows = Flows::default();
            for (seq, (vm, len)) in (0..).zip(&lengths) {
                flows.push(packet(*vm, seq, *len), of(*vm), true);
            }
            let (mut sent, mut last, mut left) = ([0u64; 3], [None; 3], [0; 3]);
            lengths.iter().for_each(|(vm, _)| left[usize::from(*vm)] += 1);
            while let Some(packet) = flows.pop() {
                let vm = packet.flow as usize;
                prop_assert!(last[vm] < Some(packet.seq));
                last[vm] = Some(packet.seq);
                left[vm] -= 1;
                sent[vm] += u64::from(packet.len);
                for other in (0..3).filter(|&other| left[other] > 0 && left[vm] > 0) {
                    prop_assert!(sent[vm].abs_diff(sent[other]) <= 2 * 1_538, "{sent:?}");
                }
            }
            prop_assert_eq!((left, flows.packets()), ([0; 3], 0));
        }
    }
}
