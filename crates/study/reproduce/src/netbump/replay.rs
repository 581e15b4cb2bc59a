//! Two recorded flows that are replayed into a virtual queue, one of them late: the method of Figure 5.11.

use slotline_lab::record::RunRecord;
use slotline_net::frame::Kind;

/// The rate at which the queue drains, in bytes per picosecond: 5 Gbit/s.
const DRAIN: f64 = 5e9 / 8e12;
/// The size of the queue in bytes.
const LIMIT: f64 = 40_000.0;

/// A packet of a recording: when it arrived, in picoseconds, and its bytes.
type Arrival = (u64, f64);

/// A queue that drains at a constant rate and drops what does not fit.
#[derive(Default)]
struct Queue {
    at: u64,
    bytes: f64,
}

impl Queue {
    /// The bytes in the queue at time `at`, which is not before the last one.
    fn until(&mut self, at: u64) -> f64 {
        self.bytes = (self.bytes - (at - self.at) as f64 * DRAIN).max(0.0);
        self.at = at;
        self.bytes
    }
    fn add(&mut self, (at, bytes): Arrival) {
        if self.until(at) + bytes <= LIMIT {
            self.bytes += bytes;
        }
    }
}

/// For each packet of the first flow, how far the queue with the second flow `late` picoseconds late differs from the
/// queue without delay, in bytes.
pub(super) fn errors(run: &RunRecord, late: u64) -> Vec<f64> {
    let [Some(own), Some(other)] = ["s0", "s1"].map(|node| recording(run, node)) else {
        return vec![];
    };
    let delayed: Vec<Arrival> = other.iter().map(|&(at, bytes)| (at + late, bytes)).collect();
    let (in_time, late) = (levels(&own, &other), levels(&own, &delayed));
    in_time.iter().zip(late).map(|(a, b)| (a - b).abs()).collect()
}

/// The data packets that left `node` towards the common switch.
fn recording(run: &RunRecord, node: &str) -> Option<Vec<Arrival>> {
    let is_port = |at: usize| run.ports[at].node == node && run.ports[at].port == "s2";
    let capture = run.captures.iter().find(|capture| is_port(capture.port as usize))?;
    let data = capture.packets.iter().filter(|packet| packet.packet.kind == Kind::Data);
    Some(data.map(|packet| (packet.t_ps, f64::from(packet.packet.len))).collect())
}

/// The bytes in the queue of both flows just before each packet of the first one.
fn levels(own: &[Arrival], other: &[Arrival]) -> Vec<f64> {
    let (mut queue, mut others) = (Queue::default(), other.iter().peekable());
    let before = |arrival: &Arrival| {
        while let Some(packet) = others.next_if(|packet| packet.0 <= arrival.0) {
            queue.add(*packet);
        }
        let level = queue.until(arrival.0);
        queue.add(*arrival);
        level
    };
    own.iter().map(before).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_drains_and_drops_what_does_not_fit() {
        // 1,500 bytes take 2.4 us at 5 Gbit/s.
        let us = |at: f64| (at * 1e6) as u64;
        let own: Vec<Arrival> =
            (0..30).map(|_| (us(10.0), 1_500.0)).chain([(us(20.0), 1.0)]).collect();
        let levels_alone = levels(&own, &[]);
        assert_eq!(levels_alone[1], 1_500.0);
        assert_eq!(levels_alone[29], 39_000.0, "26 packets fit");
        assert_eq!(levels_alone[30], 39_000.0 - 6_250.0);
        let with = levels(&own, &[(us(5.0), 4_000.0)]);
        assert_eq!(with[0], 4_000.0 - 3_125.0);
        let late = levels(&own, &[(us(15.0), 900.0)]);
        assert_eq!(late[..30], levels_alone[..30]);
        assert_eq!(late[30], levels_alone[30] + 900.0);
    }
}
