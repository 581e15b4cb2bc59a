//! Periods that fit a fabric and its traffic, and the counters of its activity.

use crate::control::{CircuitsSpec, SchedulerKind};
use crate::counters;
use slotline_net::scheme::fit::rounded;
use slotline_net::scheme::{Activity, Conditions, Proposal};
use slotline_net::time::Time;
use slotline_net::topology::HybridSpec;

/// The counters of the activity of circuits.
pub const ACTIVITY: Activity = Activity {
    heard: &[counters::WEEKS_PLANNED],
    acted: &[counters::CIRCUIT_DAYS, counters::LINKS_REWIRED, counters::PACKETS_BY_CORE],
};

/// The week of schedulers that plan by demand, where none is given.
pub(crate) const WEEK: Time = Time::ms(2);
/// Nights in the shortest day, where no day is given: circuits are up for nine tenths of the time.
pub(crate) const NIGHTS: u64 = 9;

/// Proposes `day` and `week`. A day takes at least nine nights and five round trips. A week that is planned by demand
/// has one day and one night where links are held for the week, and ten of each elsewhere. It fits if there is traffic
/// for at least two weeks, because the demand of a week is served in the next one.
pub fn proposals(
    spec: &CircuitsSpec,
    fabric: &HybridSpec,
    conditions: &Conditions,
) -> Vec<Proposal> {
    use SchedulerKind::{Clos, ClosDirect, Fixed, Mesh, Phases, PhasesOnDemand};
    if matches!(spec.scheduler, Clos | Fixed | Phases | PhasesOnDemand) {
        return Vec::new();
    }
    let Conditions { round_trip, run, .. } = *conditions;
    let night = fabric.night();
    let shortest = night.times(NIGHTS).max(round_trip.times(5));
    let given = spec.day.unwrap_or(night.times(NIGHTS));
    let because =
        format!("a night takes {}, and a round trip {}", rounded(night), rounded(round_trip));
    let day = Proposal::new("day", given, shortest, round_trip..=Time::MAX, because);
    let slot = spec.day.unwrap_or(day.proposed).after(night);
    let days = if matches!(spec.scheduler, Mesh | ClosDirect) { 1 } else { 10 };
    let least = spec.gather.after(spec.computing).times(2);
    let because = format!(
        "the demand of a week is served in the next one, but there is traffic for {}",
        rounded(run)
    );
    let week = spec.scheduler.looks_at_demand().then(|| {
        let half = Time::ps(run.as_ps() / 2);
        // Rounding must not make the week shorter than its days.
        let proposed = slot.times(days).max(least).after(night);
        let given = spec.week.unwrap_or(WEEK);
        Proposal::new("week", given, proposed, Time::ZERO..=half, because)
    });
    std::iter::once(day).chain(week).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::topology::CircuitNetSpec;
    use slotline_net::units::Rate;

    fn fabric() -> HybridSpec {
        let text = r#"{ "racks": 8, "hosts-per-rack": 4, "circuits": { "switches": 1, "rate": "80Gbps" } }"#;
        let fabric: HybridSpec = serde_json::from_str(text).expect("a fabric");
        assert!(fabric.circuits.as_ref().is_some_and(|c: &CircuitNetSpec| c.switches == 1));
        fabric
    }

    #[test]
    fn a_week_as_long_as_the_traffic_is_found() {
        let conditions = Conditions {
            hosts: 32,
            rate: Rate(10_000_000_000),
            packet: 9_038,
            round_trip: Time::us(50),
            flow: Time::ms(1),
            large_flow: Time::ms(1),
            run: Time::ms(3),
        };
        let solstice =
            CircuitsSpec { scheduler: SchedulerKind::Solstice, ..CircuitsSpec::default() };
        let fabric = fabric();
        let long = CircuitsSpec { week: Some(Time::s(2)), ..solstice.clone() };
        let found = proposals(&long, &fabric, &conditions);
        let wrong: Vec<&str> = found.iter().filter(|p| !p.is_fit()).map(|p| p.key).collect();
        assert_eq!(wrong, ["week"]);
        let scaled = CircuitsSpec {
            day: Some(found[0].proposed),
            week: Some(found[1].proposed),
            ..solstice
        };
        assert!(scaled.program(&fabric, &[]).is_ok(), "{found:?}");
        let rotor = CircuitsSpec { day: Some(Time::us(10)), ..CircuitsSpec::default() };
        let found = proposals(&rotor, &fabric, &conditions);
        assert!(found.len() == 1 && !found[0].is_fit(), "{found:?}");
    }
}
