//! Periods that fit a network and its traffic, and the counters of its activity.

use crate::counters;
use crate::spec::{Mode, XcoSpec};
use slotline_net::scheme::fit::rounded;
use slotline_net::scheme::{Activity, Conditions, Proposal};
use slotline_net::time::Time;

/// The counters of the activity of XCo.
pub const ACTIVITY: Activity =
    Activity { heard: &[counters::REPORTS], acted: &[counters::DECISIONS] };

/// Proposes `slice` and `hysteresis`. A timeslice should take five round trips, so that a flow can use it, and at least
/// eight full packets. It fits from one round trip on, if a turn of all hosts that may contend for a link takes no
/// longer than the run or a large flow. A permission should be given back after one and a half round trips, when the
/// last acknowledgement would have arrived.
pub fn proposals(spec: &XcoSpec, conditions: &Conditions) -> Vec<Proposal> {
    let Conditions { hosts, round_trip, flow, large_flow, run, .. } = *conditions;
    let slice = round_trip.times(5).max(conditions.time_for(8 * conditions.packet));
    let others = u64::from(hosts.saturating_sub(2).max(1));
    let turn = Time::ps(large_flow.max(run).as_ps() / others);
    let because = format!(
        "a round trip takes {}, and a host may wait for {others} timeslices, {}, while there is traffic for {}",
        rounded(round_trip),
        rounded(spec.slice.times(others)),
        rounded(run)
    );
    let longest = turn.max(slice.times(4));
    let slice = Proposal::new("slice", spec.slice, slice, round_trip..=longest, because);
    let gives_back = spec.mode == Mode::Timeslice && spec.work_conserving;
    let hysteresis = gives_back.then(|| {
        let back = Time::ps(round_trip.times(3).as_ps() / 2);
        let longest = flow.max(round_trip.times(5));
        let because = format!(
            "a host keeps its timeslice for this long without a packet, but a round trip takes {}, and half of \
             the flows take no longer than {} alone",
            rounded(round_trip),
            rounded(flow)
        );
        Proposal::new("hysteresis", spec.hysteresis, back, Time::ZERO..=longest, because)
    });
    std::iter::once(slice).chain(hysteresis).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::units::Rate;

    #[test]
    fn timeslices_for_slow_networks_do_not_fit_fast_ones() {
        let conditions = Conditions {
            hosts: 34,
            rate: Rate(10_000_000_000),
            packet: 1_538,
            round_trip: Time::us(7),
            flow: Time::us(30),
            large_flow: Time::us(30),
            run: Time::ms(20),
        };
        let default = XcoSpec::default();
        let found = proposals(&default, &conditions);
        let wrong: Vec<&str> = found.iter().filter(|p| !p.is_fit()).map(|p| p.key).collect();
        assert_eq!(wrong, ["slice", "hysteresis"]);
        let scaled = XcoSpec { slice: found[0].proposed, hysteresis: found[1].proposed, ..default };
        assert_eq!((scaled.slice, scaled.hysteresis), (Time::us(35), Time::us(11)));
        assert!(scaled.build().is_ok());
        assert!(proposals(&scaled, &conditions).iter().all(Proposal::is_fit));
    }
}
