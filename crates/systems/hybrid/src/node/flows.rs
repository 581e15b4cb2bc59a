//! Packets of one rack for each other, wherever they wait in its switch: as in queues by destination.

use crate::VoqStats;
use crate::voq::DATA;
use slotline_net::frame::Packet;
use slotline_net::time::Time;

/// The packets for one rack.
#[derive(Clone, Copy, Default)]
struct Flow {
    stats: VoqStats,
    packets: u32,
    bytes: u64,
}

/// Those for all racks.
pub(super) struct Flows(Vec<Flow>);

impl Flows {
    /// None for any of so many racks.
    pub fn new(racks: usize) -> Flows {
        Flows(vec![Flow::default(); racks])
    }
    /// A packet came from a host.
    #[inline]
    pub fn came(&mut self, to: usize, packet: &Packet) {
        let stats = &mut self.0[to].stats;
        stats.arrived += 1;
        stats.carries_data |= packet.len > DATA;
    }
    /// It was queued, or was not.
    #[inline]
    pub fn queued(&mut self, to: usize, packet: &Packet, taken: bool) {
        let flow = &mut self.0[to];
        if !taken {
            flow.stats.refused += 1;
            return;
        }
        flow.packets += 1;
        flow.bytes += u64::from(packet.len);
        flow.stats.longest = flow.stats.longest.max(flow.packets);
    }
    /// It is in no queue any more.
    #[inline]
    pub fn gone(&mut self, to: usize, packet: &Packet) {
        let flow = &mut self.0[to];
        flow.packets -= 1;
        flow.bytes -= u64::from(packet.len);
    }
    /// It has left by a direct circuit, or by another way, after a wait in its last queue.
    #[inline]
    pub fn left(&mut self, to: usize, packet: &Packet, waited: Time, direct: bool) {
        self.gone(to, packet);
        let (stats, len) = (&mut self.0[to].stats, u64::from(packet.len));
        stats.left += 1;
        stats.waited += waited.as_ps();
        *(if direct { &mut stats.circuit_bytes } else { &mut stats.packet_bytes }) += len;
    }
    /// What happened to those for one rack.
    pub fn of(&self, to: usize) -> VoqStats {
        self.0[to].stats
    }
    /// The same of all.
    pub fn all(&self) -> Vec<VoqStats> {
        self.0.iter().map(|flow| flow.stats).collect()
    }
    /// Bytes that wait, by rack.
    pub fn bytes(&self) -> Vec<u64> {
        self.0.iter().map(|flow| flow.bytes).collect()
    }
}
