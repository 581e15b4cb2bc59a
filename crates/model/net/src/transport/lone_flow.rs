//! The completion time of a flow alone in the network. It is the base of slowdown.

use super::Transport;
use crate::time::Time;
use crate::topology::LinkParams;

/// Time from the start of a flow of `bytes` (at least 1) until the receiver has its last byte. The flow is alone on the
/// store-and-forward links `path`, and is acknowledged over `back`.
///
/// The connection is new, every segment is acknowledged at once, nothing is lost or marked, and the time-out is longer
/// than any round trip. The flow begins with slow start from the initial window: each acknowledgement adds one segment,
/// up to the largest window. A limit of the packets in the host's network card has no effect, because the card never
/// runs dry. The result is exact. The effort is one step per round trip until the path or the largest window is full.
pub fn lone_flow_time(
    bytes: u64,
    transport: &Transport,
    path: &[LinkParams],
    back: &[LinkParams],
) -> Time {
    let segments = transport.segments(bytes).max(1);
    let payload = bytes - u64::from(segments - 1) * u64::from(transport.mss());
    let train = Train::new(segments, transport, path, back);
    let last = segments - 1;
    // The last segment may be short, so it may wait for the one before it at any hop.
    let spans: Vec<Time> = spans(path, transport.data_len(payload as u32)).collect();
    let mut arrival = train.sent(last).after(total(&spans));
    for hop in 0..path.len() {
        if let Some(before) = last.checked_sub(1) {
            arrival = arrival.max(train.departure(before, hop).after(total(&spans[hop..])));
        }
    }
    arrival
}

/// The serialisation time plus delay of a packet of `len` bytes, link by link.
fn spans(lanes: &[LinkParams], len: u16) -> impl Iterator<Item = Time> {
    services(lanes, len).zip(lanes).map(|(service, lane)| service.after(lane.delay))
}

fn services(lanes: &[LinkParams], len: u16) -> impl Iterator<Item = Time> {
    lanes.iter().map(move |lane| lane.rate.inverse_rate().time_for(u64::from(len)))
}

fn total(spans: &[Time]) -> Time {
    spans.iter().fold(Time::ZERO, |sum, &span| sum.after(span))
}

/// The segments that are sent back to back after the acknowledgements of the round before.
#[derive(Clone, Copy)]
struct Round {
    first: u32,
    size: u32,
    /// When the acknowledgement of the first segment arrives.
    acked: Time,
}

/// All full segments of a flow. In a series of servers with constant service times, a packet leaves after the sum of
/// these times, or one slowest service after the packet before it, whichever is later.
struct Train {
    initial: u32,
    most: u32,
    /// The last round has no end if there are no pauses between acknowledgements.
    rounds: Vec<Round>,
    /// Time between acknowledgements: the slowest service in both directions.
    spacing: Time,
    /// By hop: the time until the end of transmission there, on an idle path.
    reach: Vec<Time>,
    /// By hop: the slowest service up to this hop.
    slowest: Vec<Time>,
}

impl Train {
    fn new(
        segments: u32,
        transport: &Transport,
        path: &[LinkParams],
        back: &[LinkParams],
    ) -> Train {
        let len = transport.data_len(transport.mss());
        let service: Vec<Time> = services(path, len).collect();
        let there: Vec<Time> = spans(path, len).collect();
        let again: Vec<Time> = spans(back, transport.ack_len()).collect();
        let slowest = service.iter().scan(Time::ZERO, |most, &service| {
            *most = service.max(*most);
            Some(*most)
        });
        let slowest: Vec<Time> = slowest.collect();
        let spacing = services(back, transport.ack_len()).chain(slowest.last().copied()).max();
        let mut train = Train {
            initial: transport.initial_window(),
            most: transport.max_window(),
            rounds: Vec::new(),
            spacing: spacing.unwrap_or(Time::ZERO),
            reach: (0..path.len()).map(|hop| total(&there[..hop]).after(service[hop])).collect(),
            slowest,
        };
        train.fill(segments, total(&there).after(total(&again)));
        train
    }

    fn fill(&mut self, segments: u32, round_trip: Time) {
        let mut round = Round { first: 0, size: self.initial, acked: round_trip };
        self.rounds.push(round);
        while segments - round.first > round.size
            && self.spacing.times(u64::from(round.size)) < round_trip
        {
            let skipped =
                if round.size == self.most { self.alike(segments - round.first) } else { 0 };
            round.first += round.size + skipped * self.most;
            round.acked = round.acked.after(round_trip.times(u64::from(1 + skipped)));
            round.size = (2 * round.size).min(self.most);
            self.rounds.push(round);
        }
    }

    /// The number of rounds of the largest window, of `left` segments, that need not be listed, because only the last
    /// few are used.
    fn alike(&self, left: u32) -> u32 {
        (left / self.most).saturating_sub(4)
    }

    fn round_of(&self, segment: u32) -> &Round {
        &self.rounds[self.rounds.partition_point(|round| round.first <= segment) - 1]
    }

    fn acked(&self, segment: u32) -> Time {
        let round = self.round_of(segment);
        round.acked.after(self.spacing.times(u64::from(segment - round.first)))
    }

    /// When the window allows a segment. An acknowledgement allows two, or one at the largest window.
    fn sent(&self, segment: u32) -> Time {
        if segment < self.initial {
            return Time::ZERO;
        }
        let count = segment + 1;
        self.acked((count - self.initial).div_ceil(2).max(count.saturating_sub(self.most)) - 1)
    }

    /// When `hop` has sent a segment. It waits for the segments before it, back to a `leader` that found the path idle.
    /// Sending times are staircases with two slopes, so the leader is at one end of a slope.
    fn departure(&self, segment: u32, hop: usize) -> Time {
        let round = self.round_of(segment);
        let leaders = [round.first, round.first + round.size, segment.saturating_sub(1), segment];
        let after = |leader: u32| {
            let queue = self.slowest[hop].times(u64::from(segment - leader));
            self.sent(leader).after(self.reach[hop]).after(queue)
        };
        leaders
            .into_iter()
            .filter(|&leader| leader <= segment)
            .map(after)
            .max()
            .unwrap_or(Time::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::super::TransportSpec;
    use super::super::congestion::AlgorithmKind;
    use super::super::harness::World;
    use super::*;
    use crate::units::{Bytes, Rate};
    use proptest::prelude::*;

    fn transport(initial_window: u32, max_window: u64) -> Transport {
        let max_window = Bytes(max_window * 1_460);
        let spec = TransportSpec::of(AlgorithmKind::NewReno);
        TransportSpec { initial_window, max_window, min_rto: Time::s(10), ..spec }.build().unwrap()
    }

    fn lane(mbps: u64, delay: Time) -> LinkParams {
        LinkParams { rate: Rate(mbps * 1_000_000), delay }
    }

    #[test]
    fn one_segment_takes_serialisation_and_delay() {
        let lanes = [lane(10_000, Time::us(1)); 2];
        let time = lone_flow_time(1_460, &transport(10, 1_000), &lanes, &lanes);
        assert_eq!(time, Time::ps(2 * (1_538 * 800 + 1_000_000)));
    }

    #[test]
    fn slow_start_takes_round_trips() {
        // 1 ms in each direction, and almost no serialisation: windows of 10, 20, 40.
        let lanes = [lane(1_000_000, Time::ms(1))];
        for (segments, rounds) in [(10, 0), (11, 1), (30, 1), (31, 2), (70, 2), (71, 3)] {
            let time = lone_flow_time(segments * 1_460, &transport(10, 1_000), &lanes, &lanes);
            let expected = Time::ms(2 * rounds + 1);
            assert!(time >= expected && time < expected + Time::us(10), "{segments}: {time}");
        }
    }

    #[test]
    fn a_long_flow_runs_at_the_rate_of_the_slowest_link() {
        let path =
            [lane(100_000, Time::us(1)), lane(10_000, Time::us(1)), lane(100_000, Time::us(1))];
        let time = lone_flow_time(100_000_000, &transport(10, 1_000), &path, &path);
        let ideal = 100e6 * 8.0 / 10e9 * 1_538.0 / 1_460.0;
        assert!((time.as_secs_f64() / ideal - 1.0).abs() < 0.001, "{time}");
    }

    #[test]
    fn a_small_window_costs_no_more_effort_for_a_large_flow() {
        let lanes = [lane(100_000, Time::ms(5))];
        let transport = transport(2, 2);
        let train = Train::new(1_000_000_000, &transport, &lanes, &lanes);
        assert!(train.rounds.len() < 10, "{}", train.rounds.len());
        let time = lone_flow_time(1_000_000_000 * 1_460, &transport, &lanes, &lanes);
        let rounds = time.as_secs_f64() / 0.010;
        assert!((rounds - 500_000_000.0).abs() < 50_000.0, "{rounds}");
    }

    fn lanes() -> impl Strategy<Value = Vec<LinkParams>> {
        let rate = prop::sample::select(vec![10, 1_000, 2_500, 10_000, 25_000, 100_000, 400_000]);
        let lane = (rate, 0..100_000_000u64).prop_map(|(rate, delay)| lane(rate, Time::ps(delay)));
        prop::collection::vec(lane, 1..6)
    }

    fn agrees(bytes: u64, initial: u32, most: u64, path: &[LinkParams], back: &[LinkParams]) {
        let transport = transport(initial, most);
        let reference = World::new(&transport, path, back).run(&[bytes], u64::MAX).unwrap();
        assert_eq!(reference.retransmissions, 0);
        assert_eq!(lone_flow_time(bytes, &transport, path, back), reference.received, "{bytes} B");
    }

    #[test]
    fn agrees_with_the_packets_of_a_large_flow() {
        let path =
            [lane(10_000, Time::us(20)), lane(40_000, Time::us(50)), lane(10_000, Time::us(20))];
        agrees(100_000_000, 10, 1_369, &path, &path);
        agrees(100_000_000, 10, 100, &path, &path);
        agrees(10_000_000, 10, 7, &path, &path);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn agrees_with_the_packets(
            magnitude in 0..=20u32,
            fraction in 0..1_000_000u64,
            initial in 1..50u32,
            most in 2..2_000u64,
            path in lanes(),
            back in lanes(),
        ) {
            agrees((fraction % (1 << magnitude)) + (1 << magnitude), initial, most, &path, &back);
        }
    }
}
