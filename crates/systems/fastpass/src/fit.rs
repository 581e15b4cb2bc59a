//! Periods that fit a network, and the counters of its activity.

use crate::counters;
use crate::spec::{FastpassSpec, LEAST_RESERVE, MOST_RESERVE};
use slotline_net::scheme::fit::rounded;
use slotline_net::scheme::{Activity, Conditions, Proposal};
use slotline_net::time::Time;

/// The counters of the activity of Fastpass.
pub const ACTIVITY: Activity =
    Activity { heard: &[counters::SLOTS_GRANTED], acted: &[counters::SLOTS_USED] };

/// In the paper, at 10 Gbit/s, a timeslot is 1.23 us. The lead is 53 timeslots, the time-out 163, the gap of the
/// released code 16, and the processing 4 (sections 5.1 and 7). At another rate, the same numbers of timeslots fit.
/// But messages need time to reach a host, so the lead is at least a round trip plus processing and gap, and the
/// time-out at least three round trips.
pub fn proposals(spec: &FastpassSpec, conditions: &Conditions) -> Vec<Proposal> {
    let share = 1.0 - spec.reserve.unwrap_or((LEAST_RESERVE + MOST_RESERVE) / 2.0);
    let packet = conditions.time_for(conditions.packet);
    let slot = spec.slot.unwrap_or(Time::ps((packet.as_ps() as f64 / share) as u64));
    let trip = conditions.round_trip;
    let (processing, gap) = (slot.times(4), slot.times(16));
    let lead = slot.times(53).max(processing.after(gap).after(trip));
    let timeout = slot.times(163).max(trip.times(3)).max(lead);
    let because = format!(
        "a timeslot takes {} at {}, and a round trip {}",
        rounded(slot),
        conditions.rate,
        rounded(trip)
    );
    let one = |key, given, proposed: Time, least| {
        Proposal::new(key, given, proposed, least..=proposed.times(3), because.clone())
    };
    let first = Time::ps(trip.as_ps() / 2).after(spec.processing);
    vec![
        one("lead", spec.lead, lead, first),
        one("processing", spec.processing, processing, Time::ZERO),
        one("gap", spec.gap, gap, Time::ZERO),
        one("timeout", spec.timeout, timeout, trip),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::units::Rate;

    fn at(rate: u64, trip: Time) -> Conditions {
        Conditions {
            hosts: 16,
            rate: Rate(rate),
            packet: 1_538,
            round_trip: trip,
            flow: Time::us(30),
            large_flow: Time::ms(1),
            run: Time::ms(20),
        }
    }

    #[test]
    fn defaults_are_for_ten_gigabits() {
        let spec = FastpassSpec::default();
        let paper = proposals(&spec, &at(10_000_000_000, Time::us(20)));
        assert!(paper.iter().all(Proposal::is_fit), "{paper:?}");
        let fast = proposals(&spec, &at(400_000_000_000, Time::us(5)));
        assert!(fast.iter().all(|proposal| !proposal.is_fit()), "{fast:?}");
        let scaled = FastpassSpec {
            lead: fast[0].proposed,
            processing: fast[1].proposed,
            gap: fast[2].proposed,
            timeout: fast[3].proposed,
            ..spec
        };
        assert!(scaled.build().is_ok());
        let fast = proposals(&scaled, &at(400_000_000_000, Time::us(5)));
        assert!(fast.iter().all(Proposal::is_fit), "{fast:?}");
    }
}
