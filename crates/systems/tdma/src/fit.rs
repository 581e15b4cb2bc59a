//! Periods that fit a network and its traffic, and the counters of its activity.

use crate::counters;
use crate::options::TdmaSpec;
use slotline_net::scheme::fit::rounded;
use slotline_net::scheme::{Activity, Conditions, Proposal};
use slotline_net::time::Time;

/// The counters of the activity of TDMA.
pub const ACTIVITY: Activity =
    Activity { heard: &[counters::REPORTS], acted: &[counters::SLOTS_OPENED] };

/// Rounds in which the window of a flow grows from ten packets to two thousand.
const ROUNDS: u64 = 8;

/// Proposes `round` and `slot`. A window is acknowledged once per round, so a flow needs several rounds until its
/// window has grown. A round fits if eight of them take no longer than a large flow alone. Half of that length is
/// proposed, or more if planning and the reaction of network cards need it. A slot takes nine guard times, because the
/// reaction varies by a part of a guard time at any rate of the network. A round has at least four slots.
pub fn proposals(spec: &TdmaSpec, conditions: &Conditions) -> Vec<Proposal> {
    let Conditions { large_flow, run, .. } = *conditions;
    let slot =
        spec.guard.times(9).max(conditions.time_for(8 * conditions.packet)).min(Time::us(300));
    let delay = spec.planning_time.after(spec.lead).after(spec.reaction());
    let least = slot.after(spec.guard).times(4).max(delay.times(2));
    let short = Time::ps(large_flow.min(run).as_ps() / (2 * ROUNDS));
    let round = short.max(least).min(Time::ms(10).max(least));
    let because = format!(
        "a window grows once in a round, and {ROUNDS} rounds take {}, but flows with half of all bytes take at most {} \
         alone, and there is traffic for {}",
        rounded(spec.round.times(ROUNDS)),
        rounded(large_flow),
        rounded(run)
    );
    let round_fits = Time::ZERO..=round.times(2);
    let round = Proposal::new("round", spec.round, round, round_fits, because.clone());
    // If rounds fit, slots of any length fit.
    let longest = if round.is_fit() { Time::MAX } else { slot.times(2) };
    let slot = Proposal::new("slot", spec.slot, slot, Time::ZERO..=longest, because);
    vec![round, slot]
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::units::Rate;

    #[test]
    fn rounds_longer_than_the_traffic_are_found() {
        let conditions = Conditions {
            hosts: 16,
            rate: Rate(100_000_000_000),
            packet: 1_538,
            round_trip: Time::us(5),
            flow: Time::us(5),
            large_flow: Time::us(400),
            run: Time::us(3_500),
        };
        let spec = TdmaSpec::default();
        let found = proposals(&spec, &conditions);
        assert!(found.iter().all(|proposal| !proposal.is_fit()), "{found:?}");
        let scaled = TdmaSpec { round: found[0].proposed, slot: found[1].proposed, ..spec.clone() };
        assert_eq!((scaled.round, scaled.slot), (Time::us(600), Time::us(140)));
        assert!(scaled.build().is_ok());
        assert!(proposals(&scaled, &conditions).iter().all(Proposal::is_fit));
        let slow = Conditions { large_flow: Time::s(1), run: Time::s(10), ..conditions };
        assert!(proposals(&spec, &slow).iter().all(Proposal::is_fit));
    }
}
