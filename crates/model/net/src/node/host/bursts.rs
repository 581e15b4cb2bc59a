//! Paths of bursts: a pause of a connection is long enough that its packets may take another path.

use super::Host;
use crate::time::Time;

impl Host {
    /// The hash input of a packet: that of the connection's last packet, unless the last packet is older than `gap`.
    /// Bursts are recognised in hosts, not in switches.
    pub(super) fn burst_entropy(&mut self, conn: u32, gap: Time, now: Time) -> u16 {
        if self.plan.is_late(conn) {
            return self.late_burst(conn, gap, now);
        }
        let own = self.plan.sends(self.id);
        let place = if own.contains(&conn) {
            self.place(conn)
        } else {
            own.len() + self.plan.rx_ordinal(conn) as usize
        };
        if self.bursts.is_empty() {
            let places = own.len() + self.plan.receives(self.id).len();
            self.bursts.resize(places, (Time::ZERO, 0));
        }
        self.bursts[place] = self.next_burst(self.bursts[place], gap, now);
        self.bursts[place].1
    }

    fn late_burst(&mut self, conn: u32, gap: Time, now: Time) -> u16 {
        let last = self.late_bursts.get(&conn).copied().unwrap_or_default();
        let burst = self.next_burst(last, gap, now);
        self.late_bursts.insert(conn, burst);
        burst.1
    }

    /// The time of a packet at `now` and its hash input, after those of the last packet.
    fn next_burst(&mut self, (last, entropy): (Time, u16), gap: Time, now: Time) -> (Time, u16) {
        let fresh = last == Time::ZERO || now.since(last) >= gap;
        let entropy = if fresh { self.draw() as u16 } else { entropy };
        // Zero stands for never.
        (now.max(Time::ps(1)), entropy)
    }
}
