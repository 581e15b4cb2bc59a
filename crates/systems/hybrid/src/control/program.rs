//! The program of circuits that follows from the options of a scheme in a fabric.

use super::phases::Phases;
use super::{CircuitsSpec, SchedulerKind, cores};
use crate::schedule::{RackDay, circuits_of_weeks, rack_days, rack_days_of_switch};
use slotline_circuits::{
    CircuitTiming, CircuitTimingError, CircuitTimingSpec, Matching, Rotor, Week,
};
use slotline_net::error::SpecError;
use slotline_net::time::Time;
use slotline_net::topology::{Dark, HybridSpec};
use slotline_net::workload::WorkloadSpec;

/// The week of each circuit switch, and circuits from rack to rack that never change.
type FirstWeek = (Vec<Week>, Vec<(u16, u16)>);

/// The circuits of a scheme in a fabric over time.
pub enum CircuitProgram {
    /// The same weeks repeat. Those of different circuit switches may have different lengths.
    Static {
        /// The week of each circuit switch.
        weeks: Vec<Week>,
    },
    /// The scheduler plans week after week.
    Weekly {
        /// The length of a week.
        length: Time,
        /// How long before a week its demand is reported.
        ahead: Time,
        /// The week of each circuit switch until the first plan.
        first: Vec<Week>,
        /// The times and rates by which weeks are planned.
        terms: CircuitTiming,
        /// Circuits that never change, from rack to rack.
        always: Vec<(u16, u16)>,
        /// With `phases-on-demand`: the configurations from which the scheduler chooses.
        configurations: Vec<Matching>,
    },
}

impl CircuitProgram {
    /// All circuits that may ever exist, each once. Where the scheduler plans week after week, these are only
    /// the circuits that never change.
    pub fn all_circuits(&self) -> Vec<(u16, u16)> {
        let weeks = match self {
            CircuitProgram::Static { weeks } => weeks,
            CircuitProgram::Weekly { always, .. } => return always.clone(),
        };
        let days = weeks.iter().flat_map(Week::days);
        let pairs = days.flat_map(|day| day.circuits.pairs());
        let mut circuits: Vec<_> = pairs.map(|(from, to)| (from as u16, to as u16)).collect();
        circuits.sort_unstable();
        circuits.dedup();
        circuits
    }

    /// All circuits of the first week, and the length of that week.
    pub fn first_week(&self, dark: Dark) -> (Vec<RackDay>, Time) {
        match self {
            CircuitProgram::Static { weeks } => {
                (circuits_of_weeks(weeks, dark), span(weeks.first()))
            }
            CircuitProgram::Weekly { first, length, .. } => {
                (circuits_of_weeks(first, dark), *length)
            }
        }
    }

    /// By rack, its days in the first weeks, and the lengths of these. Where weeks repeat, each circuit switch
    /// has an entry of its own; else there is one entry for all switches.
    pub fn first_weeks_by_rack(&self, dark: Dark) -> Vec<Vec<(Vec<RackDay>, Time)>> {
        match self {
            CircuitProgram::Static { weeks } => {
                let mut all = vec![Vec::new(); weeks.first().map_or(0, Week::racks)];
                for (uplink, week) in (0u8..).zip(weeks) {
                    let days = rack_days_of_switch(week, uplink, dark);
                    let length = span(Some(week));
                    all.iter_mut().zip(days).for_each(|(all, days)| all.push((days, length)));
                }
                all
            }
            CircuitProgram::Weekly { first, length, .. } => {
                rack_days(first, dark).into_iter().map(|days| vec![(days, *length)]).collect()
            }
        }
    }
}

impl CircuitProgram {
    /// The longest time in which at most `circuits` circuits come up, on average.
    pub fn span_with(&self, circuits: u64) -> Time {
        let of_week =
            |week: &Week| week.days().map(|day| day.circuits.pairs().count() as u64).sum();
        let each: Vec<(u64, u64)> = match self {
            CircuitProgram::Static { weeks } => {
                weeks.iter().map(|week| (of_week(week), week.span())).collect()
            }
            CircuitProgram::Weekly { first, terms, .. } => {
                let most = |week: &Week| (terms.most_days() * week.racks() as u64, terms.week());
                first.iter().map(most).collect()
            }
        };
        let each: f64 = each.iter().map(|(circuits, span)| *circuits as f64 / *span as f64).sum();
        Time::ps((circuits as f64 / each) as u64)
    }
}

impl CircuitsSpec {
    /// The program of circuits in a fabric.
    ///
    /// # Errors
    /// The fabric has no circuits, a week has no room for a day and a night, or the schedule does not fit the
    /// fabric or the workloads.
    pub fn program(
        &self,
        fabric: &HybridSpec,
        workloads: &[WorkloadSpec],
    ) -> Result<CircuitProgram, SpecError> {
        self.check()?;
        if fabric.circuits.is_none() {
            let why = "the fabric has no circuits to schedule: give it `circuits`, or leave `control` out";
            return Err(SpecError::new("kind", why));
        }
        let core = fabric.core.is_some();
        if !self.scheduler.fits(core) {
            let why = match core {
                true => {
                    "on a fabric with a `core` the scheduler is \"clos\", \"mesh\", \"clos-direct\" or \"fixed\""
                }
                false => {
                    "schedulers \"clos\" and \"clos-direct\" need a fabric with a `core`, for example \
                          core = { switches = 2, ports = 8 }"
                }
            };
            return Err(SpecError::new("scheduler", why));
        }
        match self.scheduler {
            SchedulerKind::Fixed => self.fixed(fabric),
            SchedulerKind::Clos => {
                Ok(CircuitProgram::Static { weeks: cores(fabric).clos(Time::s(1).as_ps()) })
            }
            SchedulerKind::Rotor => self.rotor(fabric),
            SchedulerKind::Phases => {
                let phases = Phases::new(workloads, fabric)?;
                // A round may be as long as it needs.
                let terms = self.terms(fabric, Time::s(1_000))?;
                let week = phases.week(&terms, self.stretch.unwrap_or(1.25));
                Ok(CircuitProgram::Static { weeks: vec![week] })
            }
            SchedulerKind::PhasesOnDemand => {
                let phases = Phases::new(workloads, fabric)?;
                self.weekly(fabric, phases.configurations())
            }
            _ => self.weekly(fabric, Vec::new()),
        }
    }

    /// The program of a scheduler that plans week after week. Circuits rotate until the first plan.
    fn weekly(
        &self,
        fabric: &HybridSpec,
        configurations: Vec<Matching>,
    ) -> Result<CircuitProgram, SpecError> {
        let length = self.week.unwrap_or(crate::fit::WEEK);
        let terms = self.terms(fabric, length)?;
        let ahead = self.report_ahead.unwrap_or(length);
        self.check_reports(length, ahead)?;
        self.planner(fabric, terms, &configurations)?;
        let (first, always) = self.first_week(fabric, terms)?;
        Ok(CircuitProgram::Weekly { length, ahead, first, terms, always, configurations })
    }

    /// Checks that reports, their collection and planning fit into a week.
    fn check_reports(&self, length: Time, ahead: Time) -> Result<(), SpecError> {
        if self.report_ahead.is_none() && self.computing >= length {
            let why = format!(
                "`computing` is {}: it has to be below the week, {length}, before which demand is reported",
                self.computing
            );
            return Err(SpecError::new("computing", why));
        }
        if ahead <= self.computing || ahead > length {
            let why = format!(
                "`report-ahead` is {ahead}: it has to be above `computing`, {}, and at most the week, {length}",
                self.computing
            );
            return Err(SpecError::new("report-ahead", why));
        }
        if self.gather >= length {
            let why = format!("`gather` is {}: it has to be below the week, {length}", self.gather);
            return Err(SpecError::new("gather", why));
        }
        Ok(())
    }

    /// The week of each circuit switch until the first plan, and the circuits that never change.
    fn first_week(
        &self,
        fabric: &HybridSpec,
        terms: CircuitTiming,
    ) -> Result<FirstWeek, SpecError> {
        let (racks, switches) = (fabric.rack_count() as usize, fabric.uplinks() as usize);
        let mut first = vec![Week::default(); switches];
        if self.scheduler == SchedulerKind::Mesh {
            let mesh = self.mesh(fabric, terms)?;
            mesh.current_weeks(&mut first);
            return Ok((first, mesh.permanent()));
        }
        if self.scheduler == SchedulerKind::ClosDirect {
            self.clos_direct(fabric, terms).current_weeks(&mut first);
            return Ok((first, vec![]));
        }
        if switches >= racks {
            let why = format!("{switches} circuit switches need more racks than {racks}");
            return Err(SpecError::new("scheduler", why));
        }
        for (at, week) in first.iter_mut().enumerate() {
            Rotor::staggered(racks, terms, at, switches).rotate(week);
        }
        Ok((first, vec![]))
    }

    /// The shortest day in a fabric.
    fn day(&self, fabric: &HybridSpec) -> Time {
        self.day.unwrap_or(fabric.night().times(crate::fit::NIGHTS))
    }

    /// The times and rates by which weeks are planned.
    fn terms(&self, fabric: &HybridSpec, week: Time) -> Result<CircuitTiming, SpecError> {
        let circuit = fabric.circuits.as_ref().map_or(0, |circuits| circuits.rate.0);
        let spec = CircuitTimingSpec {
            week: week.as_ps(),
            night: fabric.night().as_ps(),
            min_day: self.day(fabric).as_ps(),
            circuit,
            packet: fabric.packet.as_ref().map_or(0, |packet| packet.rate.0),
        };
        let slot = self.day(fabric).after(fabric.night());
        spec.build().map_err(|error| {
            let key = if self.day == Some(Time::ZERO) { "day" } else { "week" };
            let why = match error {
                CircuitTimingError::Short { .. } => {
                    format!("`week` = {week} has no room for a day and a night, which take {slot}")
                }
                other => other.to_string(),
            };
            SpecError::new(key, why)
        })
    }

    fn rotor(&self, fabric: &HybridSpec) -> Result<CircuitProgram, SpecError> {
        let (racks, switches) = (fabric.rack_count() as usize, fabric.uplinks() as usize);
        if switches >= racks {
            let why = format!(
                "a rotor of {switches} switches needs more racks than {racks}: some switches would have no circuits"
            );
            return Err(SpecError::new("scheduler", why));
        }
        let turns = (racks - 1).div_ceil(switches) as u64;
        let slot = self.day(fabric).after(fabric.night());
        let terms = self.terms(fabric, self.week.unwrap_or(slot.times(turns)))?;
        let weeks = (0..switches).map(|at| turns_of(racks, terms, at, switches)).collect();
        Ok(CircuitProgram::Static { weeks })
    }

    fn fixed(&self, fabric: &HybridSpec) -> Result<CircuitProgram, SpecError> {
        let fail = |why: String| Err(SpecError::new("schedule", why));
        let text = self.schedule.as_deref().unwrap_or_default();
        let unit = Some(slotline_circuits::etalon_format::Unit::Us);
        let weeks = match slotline_circuits::etalon_format::parse(text, unit) {
            Ok(weeks) => weeks,
            Err(error) => return fail(format!("`schedule`: {error}")),
        };
        let (racks, switches) = (fabric.roles().ends() as usize, fabric.uplinks() as usize);
        if weeks.len() != switches {
            let found = weeks.len();
            return fail(format!(
                "`schedule` has {found} weeks, the fabric {switches} circuit switches"
            ));
        }
        let length = weeks[0].span();
        for week in &weeks {
            if week.racks() != racks {
                let found = week.racks();
                let what = if fabric.core.is_some() { "racks and core ports" } else { "racks" };
                return fail(format!(
                    "`schedule` is of {found} racks, the fabric has {racks} {what}"
                ));
            }
            if week.span() != length {
                return fail("`schedule` has weeks of several lengths".into());
            }
            let spec = CircuitTimingSpec { week: length, min_day: 1, ..self.terms_of(fabric) };
            let checked = spec.build().map_err(|e| e.to_string());
            let checked = checked.and_then(|terms| week.check(&terms).map_err(|e| e.to_string()));
            if let Err(why) = checked.and_then(|()| wraps(week, fabric.night())) {
                return fail(format!("`schedule`: {why}"));
            }
        }
        Ok(CircuitProgram::Static { weeks })
    }

    fn terms_of(&self, fabric: &HybridSpec) -> CircuitTimingSpec {
        let circuit = fabric.circuits.as_ref().map_or(0, |circuits| circuits.rate.0);
        CircuitTimingSpec { week: 0, night: fabric.night().as_ps(), min_day: 1, circuit, packet: 0 }
    }
}

/// Checks that there is a night between the last day of a week and its first, unless they are equal.
fn wraps(week: &Week, night: Time) -> Result<(), String> {
    let mut slices = week.slices();
    let (Some(first), Some(last)) = (slices.next(), slices.next_back()) else { return Ok(()) };
    let dark = |slice: &slotline_circuits::Slice<'_>| {
        if slice.circuits.is_dark() { slice.length } else { 0 }
    };
    let between = dark(&first) + dark(&last);
    let days: Vec<_> = week.days().collect();
    let same = match (days.first(), days.last()) {
        (Some(first), Some(last)) => first.circuits == last.circuits,
        _ => true,
    };
    if same || between >= night.as_ps() {
        return Ok(());
    }
    Err(format!(
        "the last day ends {} before the first of the next week: a night takes {night}",
        Time::ps(between)
    ))
}

/// The length of a week.
fn span(week: Option<&Week>) -> Time {
    Time::ps(week.map_or(0, Week::span))
}

/// The shortest week in which rotor `at` of several has all its turns equally often. If the days of one week
/// differ by a picosecond, the result consists of whole weeks of `terms`.
fn turns_of(racks: usize, terms: CircuitTiming, at: usize, switches: usize) -> Week {
    let mut rotor = Rotor::staggered(racks, terms, at, switches);
    let days = ((racks - 1).div_ceil(switches) as u64).min(terms.most_days());
    let (turns, slot) = (rotor.turns(), terms.week() / days);
    let even = slot * days == terms.week();
    let one =
        CircuitTimingSpec { week: slot * turns, min_day: slot - terms.night(), ..terms.spec() };
    match one.build().ok().filter(|_| even) {
        Some(terms) => several(&mut Rotor::staggered(racks, terms, at, switches), 1),
        None => several(&mut rotor, turns / gcd(turns, days)),
    }
}

/// Several weeks of a rotor as one week.
fn several(rotor: &mut Rotor, weeks: u64) -> Week {
    let (mut all, mut one) = (Week::default(), Week::default());
    for _ in 0..weeks {
        rotor.rotate(&mut one);
        if all.is_empty() {
            all.clear(one.racks());
        }
        one.slices().for_each(|slice| all.push(slice.length, slice.circuits));
    }
    all
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DemandKind;
    use slotline_net::topology::{CircuitNetSpec, TopologySpec};
    use slotline_net::units::Rate;

    fn fabric(racks: u32, switches: u32) -> HybridSpec {
        let circuits = CircuitNetSpec {
            switches,
            rate: Rate(80_000_000_000),
            delay: Time::us(30),
            reconfiguration: Time::us(20),
            dark: Dark::All,
        };
        HybridSpec { circuits: Some(circuits), ..HybridSpec::new(racks, 2) }
    }

    fn fixed(text: &str) -> CircuitsSpec {
        let scheduler = SchedulerKind::Fixed;
        CircuitsSpec { scheduler, schedule: Some(text.into()), ..CircuitsSpec::default() }
    }

    /// The share of the time for which each pair has a circuit, in millionths, and the lengths of the weeks.
    fn met(program: &CircuitProgram, racks: u32) -> (Vec<u64>, Vec<Time>) {
        let mut met = vec![0; (racks * racks) as usize];
        let all = program.first_weeks_by_rack(Dark::All);
        for (rack, weeks) in (0..racks).zip(&all) {
            for (days, length) in weeks {
                for day in days.iter().filter(|day| day.to != crate::NO_RACK) {
                    let share = day.until.since(day.from).as_ps() * 1_000_000 / length.as_ps();
                    met[(rack * racks) as usize + usize::from(day.to)] += share;
                }
            }
        }
        (met, all[0].iter().map(|(_, length)| *length).collect())
    }

    #[test]
    fn rotors_meet_everybody_for_as_long() {
        for (racks, switches) in [(8, 1), (8, 3), (9, 4), (25, 1), (5, 4), (70, 8)] {
            let spec = CircuitsSpec::default();
            let fabric = fabric(racks, switches);
            TopologySpec::Hybrid(fabric.clone()).build().unwrap();
            let program = spec.program(&fabric, &[]).unwrap();
            let (met, lengths) = met(&program, racks);
            // A switch with one turn less than others has each of its turns more often.
            let turns = |switch: u32| (racks - 1 - switch).div_ceil(switches);
            for (pair, met) in (0..).zip(met) {
                let (from, to) = (pair / racks, pair % racks);
                let switch = ((racks + from - to) % racks).checked_sub(1).map(|at| at % switches);
                let want = switch.map_or(0, |at| 900_000 / u64::from(turns(at)));
                assert!(met.abs_diff(want) <= 1, "{pair}: {met} {want}");
            }
            let want = (0..switches).map(|at| Time::us(200).times(turns(at).into()));
            assert_eq!(lengths, want.collect::<Vec<_>>(), "{racks} {switches}");
            let CircuitProgram::Static { weeks } = program else {
                panic!("a rotor is known ahead")
            };
            // A day that begins in one week and ends in the next counts as two days.
            let days = |week: &Week| week.days().count() as u32;
            let most = (0..).zip(&weeks).all(|(at, week)| days(week) <= turns(at) + 1);
            assert!(most, "{racks} {switches}: no more days than a rotation has");
        }
    }

    /// Weeks that cannot be divided evenly are repeated until they can.
    #[test]
    fn rotors_of_odd_weeks_meet_everybody() {
        let spec = CircuitsSpec { week: Some(Time::ps(700_000_001)), ..CircuitsSpec::default() };
        let (met, lengths) = met(&spec.program(&fabric(8, 2), &[]).unwrap(), 8);
        assert_eq!(lengths, [4, 1].map(|weeks| Time::ps(700_000_001 * weeks)));
        assert!((0..64).all(|pair| (met[pair] == 0) == (pair / 8 == pair % 8)), "{met:?}");
    }

    #[test]
    fn fixed_schedules_fit_the_fabric() {
        let good = fixed("2 180 1/2/3/0 20 -1/-1/-1/-1");
        let (met, lengths) = met(&good.program(&fabric(4, 1), &[]).unwrap(), 4);
        assert_eq!((lengths, met[4]), (vec![Time::us(200)], 900_000));
        let no = |text: &str| fixed(text).program(&fabric(4, 1), &[]).err().unwrap();
        for text in [
            "2 180 1/2/3/1 20 -1/-1/-1/-1",
            "2 180 1/2/0 20 -1/-1/-1",
            "1 180",
            "",
            "2 180 1/2/3/0 200 3/0/1/2",
            "2 180 0/1/2/3 20 -1/-1/-1/-1",
        ] {
            assert_eq!(no(text).key, "schedule", "{text}");
        }
        assert!(fixed("2 180 1/2/3/0 20 -1/-1/-1/-1").program(&fabric(4, 2), &[]).is_err());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let short = CircuitsSpec { week: Some(Time::us(199)), ..CircuitsSpec::default() };
        let error = short.program(&fabric(8, 1), &[]).err().unwrap();
        assert_eq!(error.key, "week");
        assert!(error.message.contains("200us"), "{error}");
        let dark = HybridSpec::new(8, 2);
        assert!(CircuitsSpec::default().program(&dark, &[]).is_err());
        assert!(CircuitsSpec::default().program(&fabric(3, 3), &[]).is_err());
        let useless = CircuitsSpec { demand: DemandKind::Adu, ..CircuitsSpec::default() };
        assert_eq!(useless.check().unwrap_err().key, "demand");
        let solstice = |demand, adu_delay, adu_loss| {
            let scheduler = SchedulerKind::Solstice;
            let spec =
                CircuitsSpec { scheduler, demand, adu_delay, adu_loss, ..CircuitsSpec::default() };
            spec.check().err().map(|error| error.key)
        };
        let delay = Some(Time::us(100));
        assert_eq!(solstice(DemandKind::Adu, delay, Some(0.01)), None);
        assert_eq!(solstice(DemandKind::Voq, delay, None).as_deref(), Some("adu-delay"));
        assert_eq!(solstice(DemandKind::Adu, None, Some(0.01)).as_deref(), Some("adu-loss"));
        assert_eq!(solstice(DemandKind::Adu, delay, Some(1.0)).as_deref(), Some("adu-loss"));
    }
}
