//! Which circuits exist: the options of a scheme, and the weeks that follow from them in a fabric.

use super::phases::{OnDemand, Phases};
use crate::error::SpecError;
use crate::hybrid::DemandKind;
use crate::hybrid::RackDay;
use crate::hybrid::program::of_rack;
use crate::time::Time;
use crate::topology::{Dark, HybridSpec};
use crate::units::Bytes;
use crate::workload::WorkloadSpec;
use serde::{Deserialize, Serialize};
use slotline_circuits::{
    Bvn, Eclipse, Harvest, Matching, MaxWeight, Mesh, Rotor, Scheduler, Solstice, SolsticeSpec,
    Terms, TermsError, TermsSpec, Week,
};

/// How weeks of circuits are planned.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulerKind {
    /// Each pair of racks in turn, whatever the demand; several switches one after the other.
    ///
    /// Source: Mellette et al., "RotorNet: A Scalable, Low-complexity, Optical Datacenter Network",
    /// SIGCOMM 2017.
    #[default]
    Rotor,
    /// The week in `schedule`, again and again.
    Fixed,
    /// Demand cut into perfect matchings by thresholds that are halved.
    ///
    /// Source: Liu et al., "Scheduling Techniques for Hybrid Circuit/Packet Networks", CoNEXT 2015.
    Solstice,
    /// Greedily the days with the most demand served for their time.
    ///
    /// Source: Bojja Venkatakrishnan, Alizadeh and Viswanath, "Costly Circuits, Submodular Schedules and
    /// Approximate Caratheodory Theorems", SIGMETRICS 2016.
    Eclipse,
    /// Demand as a sum of permutations.
    ///
    /// Source: Birkhoff, 1946; von Neumann, 1953.
    BirkhoffVonNeumann,
    /// The heaviest matching, held for a time: `hold`.
    ///
    /// Source: Farrington et al., "Helios", SIGCOMM 2010; Wang et al., "c-Through", SIGCOMM 2010.
    MaxWeight,
    /// Our own.
    Harvest,
    /// Links between pods that are held for the week, in proportion to demand: topology engineering of patch panels
    /// with several switches, over which all reach each other in two hops.
    ///
    /// Source: Poutievski et al., "Jupiter Evolving", SIGCOMM 2022, section 4.
    Mesh,
    /// Circuits for the phases of the scenario's collective operation, one after another by the clock: each for as long
    /// as its bytes take on a circuit, times `stretch`, and again for each round. Where all phases need the same
    /// circuits, these stay.
    Phases,
    /// Of the circuits that the phases of the scenario's collective operation need, those that serve most of what is
    /// reported, for a week at a time; they change only where another phase wants more.
    PhasesOnDemand,
}

impl SchedulerKind {
    /// Whether it looks at demand.
    pub fn looks_at_demand(self) -> bool {
        use SchedulerKind::{Fixed, Phases, Rotor};
        !matches!(self, Rotor | Fixed | Phases)
    }
}

/// How circuits are scheduled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = crate::schema::keep_comment)]
pub struct CircuitsSpec {
    /// How weeks are planned.
    pub scheduler: SchedulerKind,
    /// What is planned at once. Default: with `rotor` as long as all pairs take, else 2ms; with `fixed` it is
    /// that of the schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub week: Option<Time>,
    /// The shortest day. Default: nine nights, with which circuits are up for nine tenths of the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<Time>,
    /// With `fixed`: the week, in microseconds, as "2 180 1/2/3/0 20 -1/-1/-1/-1": the number of parts, then
    /// of each its length and by destination rack its source; -1 is none. A line for each circuit switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// With `max-weight`: how long circuits are held. Default: for the week.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<Time>,
    /// With `solstice`: if a pair of racks wants at least so much, those that want less are left to the packet
    /// switch, as in Etalon's code. Default: none are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefilter: Option<Bytes>,
    /// With `solstice`: demand is scaled up until it fills half of the week, as in Etalon's code.
    #[serde(skip_serializing_if = "is_false")]
    pub inflate: bool,
    /// With `phases`: how many times as long as its bytes take on a circuit each phase has its circuits, 1 to 100.
    /// Default: 1.25.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1.0, max = 100.0))]
    pub stretch: Option<f64>,
    /// What is taken for demand.
    pub demand: DemandKind,
    /// How long before a week racks report what they want of it. Default: a whole week.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_ahead: Option<Time>,
    /// How long the scheduler waits for further reports after the first of a week.
    pub gather: Time,
    /// What planning takes, on top of messages.
    pub computing: Time,
}

impl Default for CircuitsSpec {
    fn default() -> CircuitsSpec {
        CircuitsSpec {
            scheduler: SchedulerKind::default(),
            week: None,
            day: None,
            schedule: None,
            hold: None,
            prefilter: None,
            inflate: false,
            stretch: None,
            demand: DemandKind::default(),
            report_ahead: None,
            gather: Time::us(20),
            computing: Time::us(20),
        }
    }
}

/// The weeks of a scheme in a fabric.
pub enum Course {
    /// The same weeks again and again: by circuit switch, all of one length.
    Static {
        /// By circuit switch.
        weeks: Vec<Week>,
        /// Their length.
        length: Time,
    },
    /// Week after week from the scheduler.
    Weekly {
        /// A week's length.
        length: Time,
        /// How long before it demand is reported.
        ahead: Time,
        /// What is in force until the first plan.
        first: Vec<Week>,
        /// The numbers that weeks are planned by.
        terms: Terms,
        /// Circuits that are never changed, from rack to rack.
        always: Vec<(u16, u16)>,
        /// With `phases-on-demand`: the configurations to choose from.
        configurations: Vec<Matching>,
    },
}

impl Course {
    /// All circuits that ever are, each once, where that is known; elsewhere those that always are.
    pub fn ever(&self) -> Vec<(u16, u16)> {
        let weeks = match self {
            Course::Static { weeks, .. } => weeks,
            Course::Weekly { always, .. } => return always.clone(),
        };
        let days = weeks.iter().flat_map(Week::days);
        let pairs = days.flat_map(|day| day.circuits.pairs());
        let mut ever: Vec<_> = pairs.map(|(from, to)| (from as u16, to as u16)).collect();
        ever.sort_unstable();
        ever.dedup();
        ever
    }
    /// What `rack` sees of the first week, and how long that is.
    pub fn first_of(&self, rack: u16, dark: Dark) -> (Vec<RackDay>, Time) {
        match self {
            Course::Static { weeks, length } => (of_rack(weeks, rack, dark), *length),
            Course::Weekly { first, length, .. } => (of_rack(first, rack, dark), *length),
        }
    }
}

impl CircuitsSpec {
    /// Whether the options make sense by themselves.
    ///
    /// # Errors
    /// One has a value that makes no sense, or has no effect.
    pub fn check(&self) -> Result<(), SpecError> {
        let fail = |key: &str, why: String| Err(SpecError::new(key, why));
        let fixed = self.scheduler == SchedulerKind::Fixed;
        if fixed != self.schedule.is_some() {
            return fail("schedule", "`schedule` and scheduler = \"fixed\" go together".into());
        }
        if fixed && (self.week.is_some() || self.day.is_some()) {
            let key = if self.week.is_some() { "week" } else { "day" };
            return fail(key, format!("`{key}` is in the `schedule`: leave it out"));
        }
        let demanding = self.scheduler.looks_at_demand();
        if self.hold.is_some() && self.scheduler != SchedulerKind::MaxWeight {
            return fail("hold", "`hold` is for scheduler = \"max-weight\"".into());
        }
        let cuts = self.prefilter.is_some() || self.inflate;
        if cuts && self.scheduler != SchedulerKind::Solstice {
            let key = if self.inflate { "inflate" } else { "prefilter" };
            return fail(key, format!("`{key}` is for scheduler = \"solstice\""));
        }
        if self.stretch.is_some() && self.scheduler != SchedulerKind::Phases {
            return fail("stretch", "`stretch` is for scheduler = \"phases\"".into());
        }
        if self.stretch.is_some_and(|stretch| !(1.0..=100.0).contains(&stretch)) {
            return fail("stretch", "`stretch` is from 1 to 100".into());
        }
        if self.scheduler == SchedulerKind::Phases && self.week.is_some() {
            return fail("week", "with `phases` a week is a round: leave `week` out".into());
        }
        let usual = CircuitsSpec::default();
        if !demanding && self.demand != usual.demand {
            return fail(
                "demand",
                "`demand` does nothing: this scheduler does not look at it".into(),
            );
        }
        if !demanding && self.report_ahead.is_some() {
            let why = "`report-ahead` does nothing: this scheduler does not look at demand";
            return fail("report-ahead", why.into());
        }
        for (key, value) in [("gather", self.gather), ("computing", self.computing)] {
            if value > Time::s(10) {
                return fail(key, format!("`{key}` is {value}: at most 10s"));
            }
        }
        Ok(())
    }

    /// The weeks in a fabric; none where that has no circuits.
    ///
    /// # Errors
    /// A week has no room for a day and a night, or the schedule does not fit the fabric or the workloads.
    pub fn course(
        &self,
        fabric: &HybridSpec,
        workloads: &[WorkloadSpec],
    ) -> Result<Course, SpecError> {
        self.check()?;
        if fabric.circuits.is_none() {
            let why = "the fabric has no circuits to schedule: give it `circuits`, or leave `control` out";
            return Err(SpecError::new("kind", why));
        }
        match self.scheduler {
            SchedulerKind::Fixed => self.fixed(fabric),
            SchedulerKind::Rotor => self.rotor(fabric),
            SchedulerKind::Phases => {
                let phases = Phases::new(workloads, fabric)?;
                // A round may be as long as it has to be.
                let terms = self.terms(fabric, Time::s(1_000))?;
                let week = phases.week(&terms, self.stretch.unwrap_or(1.25));
                Ok(Course::Static { length: Time::ps(week.span()), weeks: vec![week] })
            }
            SchedulerKind::PhasesOnDemand => {
                let phases = Phases::new(workloads, fabric)?;
                self.weekly(fabric, phases.configurations())
            }
            _ => self.weekly(fabric, Vec::new()),
        }
    }

    /// Week after week; a rotation until the first plan.
    fn weekly(
        &self,
        fabric: &HybridSpec,
        configurations: Vec<Matching>,
    ) -> Result<Course, SpecError> {
        let length = self.week.unwrap_or(Time::ms(2));
        let terms = self.terms(fabric, length)?;
        let ahead = self.report_ahead.unwrap_or(length);
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
        self.planner(fabric, terms, &configurations)?;
        let (racks, switches) = (fabric.racks as usize, fabric.uplinks() as usize);
        if self.scheduler == SchedulerKind::Mesh {
            let mesh = self.mesh(fabric, terms)?;
            let mut first = vec![Week::default(); switches];
            mesh.held(&mut first);
            let always = mesh.always();
            return Ok(Course::Weekly { length, ahead, first, terms, always, configurations });
        }
        let rotor = |at| {
            let mut week = Week::default();
            Rotor::staggered(racks, terms, at, switches).rotate(&mut week);
            week
        };
        if switches >= racks {
            let why = format!("{switches} circuit switches need more racks than {racks}");
            return Err(SpecError::new("scheduler", why));
        }
        let first = (0..switches).map(rotor).collect();
        let always = vec![];
        Ok(Course::Weekly { length, ahead, first, terms, always, configurations })
    }

    /// The shortest day in a fabric.
    fn day(&self, fabric: &HybridSpec) -> Time {
        self.day.unwrap_or(fabric.night().times(9))
    }

    /// The numbers that weeks are planned by.
    fn terms(&self, fabric: &HybridSpec, week: Time) -> Result<Terms, SpecError> {
        let circuit = fabric.circuits.as_ref().map_or(0, |circuits| circuits.rate.0);
        let spec = TermsSpec {
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
                TermsError::Short { .. } => {
                    format!("`week` = {week} has no room for a day and a night, which take {slot}")
                }
                other => other.to_string(),
            };
            SpecError::new(key, why)
        })
    }

    fn rotor(&self, fabric: &HybridSpec) -> Result<Course, SpecError> {
        let (racks, switches) = (fabric.racks as usize, fabric.uplinks() as usize);
        if switches >= racks {
            let why = format!(
                "a rotor of {switches} switches needs more racks than {racks}: some would have nothing to show"
            );
            return Err(SpecError::new("scheduler", why));
        }
        let turns = (racks - 1).div_ceil(switches) as u64;
        let slot = self.day(fabric).after(fabric.night());
        let terms = self.terms(fabric, self.week.unwrap_or(slot.times(turns)))?;
        let rotors = (0..switches).map(|at| Rotor::staggered(racks, terms, at, switches));
        let mut rotors: Vec<Rotor> = rotors.collect();
        let days = turns.min(terms.most_days());
        let period = |rotor: &Rotor| rotor.turns() / gcd(rotor.turns(), days);
        let weeks = rotors.iter().map(period).fold(1, |all, one| all / gcd(all, one) * one);
        let all = rotors.iter_mut().map(|rotor| several(rotor, weeks)).collect();
        Ok(Course::Static { weeks: all, length: Time::ps(terms.week()).times(weeks) })
    }

    fn fixed(&self, fabric: &HybridSpec) -> Result<Course, SpecError> {
        let fail = |why: String| Err(SpecError::new("schedule", why));
        let text = self.schedule.as_deref().unwrap_or_default();
        let unit = Some(slotline_circuits::text::Unit::Us);
        let weeks = match slotline_circuits::text::parse(text, unit) {
            Ok(weeks) => weeks,
            Err(error) => return fail(format!("`schedule`: {error}")),
        };
        let (racks, switches) = (fabric.racks as usize, fabric.uplinks() as usize);
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
                return fail(format!("`schedule` is of {found} racks, the fabric has {racks}"));
            }
            if week.span() != length {
                return fail("`schedule` has weeks of several lengths".into());
            }
            let spec = TermsSpec { week: length, min_day: 1, ..self.terms_of(fabric) };
            let checked = spec.build().map_err(|e| e.to_string());
            let checked = checked.and_then(|terms| week.check(&terms).map_err(|e| e.to_string()));
            if let Err(why) = checked.and_then(|()| wraps(week, fabric.night())) {
                return fail(format!("`schedule`: {why}"));
            }
        }
        Ok(Course::Static { weeks, length: Time::ps(length) })
    }

    fn terms_of(&self, fabric: &HybridSpec) -> TermsSpec {
        let circuit = fabric.circuits.as_ref().map_or(0, |circuits| circuits.rate.0);
        TermsSpec { week: 0, night: fabric.night().as_ps(), min_day: 1, circuit, packet: 0 }
    }
}

/// Whether there is a night between a week's last day and its first, unless they are alike.
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

/// So many weeks of a rotor as one.
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

impl CircuitsSpec {
    /// Links between all racks of a fabric.
    ///
    /// # Errors
    /// There are too few circuit switches.
    fn mesh(&self, fabric: &HybridSpec, terms: Terms) -> Result<Mesh, SpecError> {
        let (racks, switches) = (fabric.racks as usize, fabric.uplinks() as usize);
        Mesh::new(racks, switches, terms, fabric.dark() == Dark::Changed).map_err(|error| {
            let why = format!(
                "{switches} circuit switches are too few for a mesh of {racks} racks: {} of them never change, \
                 so that all reach each other in two hops; give `switches` = {} or more",
                error.base,
                error.base + 1
            );
            SpecError::new("scheduler", why)
        })
    }

    /// What plans week after week in a fabric; none where demand is not looked at. `configurations` are those to
    /// choose from with `phases-on-demand`.
    ///
    /// # Errors
    /// Circuits are held for longer than a week, or a mesh has too few switches.
    pub fn planner(
        &self,
        fabric: &HybridSpec,
        terms: Terms,
        configurations: &[Matching],
    ) -> Result<Option<Box<dyn Scheduler + Send>>, SpecError> {
        let racks = fabric.racks as usize;
        Ok(Some(match self.scheduler {
            SchedulerKind::Rotor | SchedulerKind::Fixed | SchedulerKind::Phases => {
                return Ok(None);
            }
            SchedulerKind::PhasesOnDemand => {
                Box::new(OnDemand::new(configurations.to_vec(), terms))
            }
            SchedulerKind::Solstice => {
                let prefilter = self.prefilter.map(|bytes| bytes.0);
                let spec = SolsticeSpec { prefilter, inflate: self.inflate };
                Box::new(Solstice::new(racks, terms, spec))
            }
            SchedulerKind::Eclipse => Box::new(Eclipse::new(racks, terms)),
            SchedulerKind::BirkhoffVonNeumann => Box::new(Bvn::new(racks, terms)),
            SchedulerKind::MaxWeight => {
                let hold = self.hold.map(Time::as_ps);
                let planner = MaxWeight::new(racks, terms, hold);
                Box::new(planner.map_err(|e| SpecError::new("hold", format!("`hold`: {e}")))?)
            }
            SchedulerKind::Harvest => Box::new(Harvest::new(racks, terms)),
            SchedulerKind::Mesh => Box::new(self.mesh(fabric, terms)?),
        }))
    }
}

fn is_false(it: &bool) -> bool {
    !it
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{CircuitNetSpec, TopologySpec};
    use crate::units::Rate;

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

    /// Who has a circuit to whom, and for how long in all.
    fn met(course: &Course, racks: u32) -> (Vec<u64>, Time) {
        let mut met = vec![0; (racks * racks) as usize];
        let mut length = Time::ZERO;
        for rack in 0..racks {
            let (days, week) = course.first_of(rack as u16, Dark::All);
            length = week;
            for day in days.iter().filter(|day| day.to != crate::hybrid::NO_RACK) {
                met[(rack * racks) as usize + usize::from(day.to)] +=
                    day.until.since(day.from).as_ns();
            }
        }
        (met, length)
    }

    #[test]
    fn rotors_meet_everybody_for_as_long() {
        for (racks, switches) in [(8, 1), (8, 3), (9, 4), (25, 1), (5, 4)] {
            let spec = CircuitsSpec::default();
            let fabric = fabric(racks, switches);
            TopologySpec::Hybrid(fabric.clone()).build().unwrap();
            let (met, length) = met(&spec.course(&fabric, &[]).unwrap(), racks);
            let each = met[1];
            assert!(each > 0);
            // A switch with a turn less than others has some of its turns more often.
            let even = (racks - 1) % switches == 0;
            for (pair, met) in (0..).zip(met) {
                let itself = pair % racks == pair / racks;
                assert_eq!(met == 0, itself, "{pair}");
                assert!(itself || !even || met.abs_diff(each) <= 400, "{pair}: {met} {each}");
            }
            if (racks, switches) == (8, 1) {
                assert_eq!(length, Time::us(1400));
            }
        }
    }

    #[test]
    fn fixed_schedules_fit_the_fabric() {
        let good = fixed("2 180 1/2/3/0 20 -1/-1/-1/-1");
        let (met, length) = met(&good.course(&fabric(4, 1), &[]).unwrap(), 4);
        assert_eq!((length, met[4]), (Time::us(200), 180_000));
        let no = |text: &str| fixed(text).course(&fabric(4, 1), &[]).err().unwrap();
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
        assert!(fixed("2 180 1/2/3/0 20 -1/-1/-1/-1").course(&fabric(4, 2), &[]).is_err());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let short = CircuitsSpec { week: Some(Time::us(199)), ..CircuitsSpec::default() };
        let error = short.course(&fabric(8, 1), &[]).err().unwrap();
        assert_eq!(error.key, "week");
        assert!(error.message.contains("200us"), "{error}");
        let dark = HybridSpec::new(8, 2);
        assert!(CircuitsSpec::default().course(&dark, &[]).is_err());
        assert!(CircuitsSpec::default().course(&fabric(3, 3), &[]).is_err());
        let useless = CircuitsSpec { demand: DemandKind::Adu, ..CircuitsSpec::default() };
        assert_eq!(useless.check().unwrap_err().key, "demand");
    }
}
