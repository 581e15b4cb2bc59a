//! The packets of one rack by destination rack, wherever they wait in its switch. They are counted as if there
//! were a queue for each destination.

use crate::VoqStats;
use crate::voq::DATA;
use slotline_net::time::Time;

/// The packets for one destination rack.
#[derive(Clone, Copy, Default)]
struct Destination {
    stats: VoqStats,
    packets: u32,
    bytes: u64,
}

/// The packets for all destination racks.
pub(super) struct RackTraffic(Vec<Destination>);

impl RackTraffic {
    /// No packets for any of `racks` racks.
    pub fn new(racks: usize) -> RackTraffic {
        RackTraffic(vec![Destination::default(); racks])
    }
    /// A packet arrived from a host.
    #[inline]
    pub fn arrived(&mut self, to: usize, len: u16) {
        let stats = &mut self.0[to].stats;
        stats.arrived += 1;
        stats.carries_data |= len > DATA;
    }
    /// A packet was queued (`taken`), or refused.
    #[inline]
    pub fn queued(&mut self, to: usize, len: u16, taken: bool) {
        let flow = &mut self.0[to];
        if !taken {
            flow.stats.refused += 1;
            return;
        }
        flow.packets += 1;
        flow.bytes += u64::from(len);
        flow.stats.longest = flow.stats.longest.max(flow.packets);
    }
    /// Whether one more packet may be the most that waited at one time. Packets that have left may still count.
    #[inline]
    pub fn may_be_longest(&self, to: usize) -> bool {
        self.0.get(to).is_some_and(|flow| flow.packets >= flow.stats.longest)
    }
    /// A packet is no longer in a queue.
    #[inline]
    pub fn removed(&mut self, to: usize, len: u16) {
        let flow = &mut self.0[to];
        flow.packets -= 1;
        flow.bytes -= u64::from(len);
    }
    /// A packet has left by a `direct` circuit or by another route, after it waited in its last queue.
    #[inline]
    pub fn left(&mut self, to: usize, len: u16, waited: Time, direct: bool) {
        self.removed(to, len);
        let (stats, len) = (&mut self.0[to].stats, u64::from(len));
        stats.left += 1;
        stats.waited += waited.as_ps();
        *(if direct { &mut stats.circuit_bytes } else { &mut stats.packet_bytes }) += len;
    }
    /// The counters of one destination rack.
    pub fn of(&self, to: usize) -> VoqStats {
        self.0[to].stats
    }
    /// The counters of all destination racks.
    pub fn all(&self) -> Vec<VoqStats> {
        self.0.iter().map(|flow| flow.stats).collect()
    }
    /// The bytes that wait, by destination rack.
    pub fn bytes(&self) -> Vec<u64> {
        self.0.iter().map(|flow| flow.bytes).collect()
    }
}
