//! Periods of the control loop that fit a network and its traffic, and the counters of the schedulers' activity.

use crate::{HederaSpec, counters};
use slotline_net::scheme::counters as shared;
use slotline_net::scheme::{Activity, Conditions, Proposal};
use slotline_net::time::Time;

/// The counters of the activity of Hedera and the flow scheduler.
pub const ACTIVITY: Activity = Activity {
    heard: &[counters::REPORTS, shared::FLOW_POLLS],
    acted: &[counters::DECISIONS, shared::FLOW_DECISIONS],
};

/// The proposed control loop, from the first byte of a flow to packets on its new path, takes an eighth of a large
/// flow's time. The poll takes a tenth of the flow's time, and each other part a tenth of the poll. The flow scheduler
/// has no `gather`. A control loop fits if it takes at most half of a large flow's time.
pub fn proposals(spec: &HederaSpec, gathers: bool, conditions: &Conditions) -> Vec<Proposal> {
    let alone = conditions.large_flow.min(conditions.run);
    // A poll has to count more than a packet or two.
    let least = Time::us(10).max(conditions.round_trip.times(2));
    let poll = part(alone, 10).max(least);
    let rest = part(poll, 10).max(Time::us(1));
    let takes =
        [spec.gather, spec.computing, spec.install].into_iter().fold(spec.poll, Time::after);
    let fits = takes <= part(alone, 2);
    let because = format!(
        "a flow gets its path {} after it begins (poll, gather, computing and install), but flows with half of all \
         bytes take at most {} alone, and there is traffic for {}",
        rounded(takes),
        rounded(conditions.large_flow),
        rounded(conditions.run)
    );
    let one = |key, given: Time, proposed: Time| {
        // If the loop is too long, a key is wrong only if its own part is too long.
        let most = if fits { Time::MAX } else { proposed.times(2) };
        Proposal::new(key, given, proposed, Time::ZERO..=most, because.clone())
    };
    let gather = gathers.then(|| one("gather", spec.gather, rest));
    let others = [one("computing", spec.computing, rest), one("install", spec.install, rest)];
    std::iter::once(one("poll", spec.poll, poll)).chain(gather).chain(others).collect()
}

fn part(time: Time, of: u64) -> Time {
    Time::ps(time.as_ps() / of)
}

fn rounded(time: Time) -> Time {
    slotline_net::scheme::fit::rounded(time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::units::Rate;

    const CONDITIONS: Conditions = Conditions {
        hosts: 16,
        rate: Rate(1_000_000_000),
        packet: 1_538,
        round_trip: Time::us(100),
        flow: Time::ms(80),
        large_flow: Time::ms(80),
        run: Time::ms(500),
    };

    #[test]
    fn a_poll_longer_than_the_traffic_is_found_and_what_is_proposed_fits() {
        let spec = HederaSpec::default();
        let found = proposals(&spec, true, &CONDITIONS);
        let wrong: Vec<&str> = found.iter().filter(|p| !p.is_fit()).map(|p| p.key).collect();
        assert_eq!(wrong, ["poll", "computing"]);
        let value = |key| found.iter().find(|p| p.key == key).map(|p| p.proposed).unwrap();
        let scaled = HederaSpec {
            poll: value("poll"),
            gather: value("gather"),
            computing: value("computing"),
            install: value("install"),
            ..spec
        };
        assert_eq!(scaled.poll, Time::ms(8));
        assert!(scaled.build().is_ok());
        assert!(proposals(&scaled, true, &CONDITIONS).iter().all(Proposal::is_fit));
    }

    #[test]
    fn what_is_proposed_is_valid_for_the_shortest_flows() {
        for flow in [Time::ns(1), Time::us(3), Time::s(100)] {
            let conditions = Conditions { large_flow: flow, flow, ..CONDITIONS };
            let found = proposals(&HederaSpec::default(), true, &conditions);
            let value = |key| found.iter().find(|p| p.key == key).map(|p| p.proposed).unwrap();
            let (poll, gather) = (value("poll"), value("gather"));
            assert!(HederaSpec { poll, gather, ..HederaSpec::default() }.build().is_ok(), "{flow}");
        }
    }
}
