//! Which circuits exist: the options of a scheme, and what plans by them.

mod course;

pub use course::Course;

use crate::DemandKind;
use crate::phases::OnDemand;
use serde::{Deserialize, Serialize};
use slotline_circuits::{
    Bvn, CircuitTiming, ClosDirect, Eclipse, Fallback, Matching, MaxWeight, Mesh, PanelLayout,
    Planner, Portfolio, Scheduler, Solstice, SolsticeSpec,
};
use slotline_net::error::SpecError;
use slotline_net::time::Time;
use slotline_net::topology::{Dark, HybridSpec};
use slotline_net::units::Bytes;

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
    Portfolio,
    /// Links between pods that are held for the week, in proportion to demand: topology engineering of patch panels
    /// with several switches, over which all reach each other in two hops.
    ///
    /// Source: Poutievski et al., "Jupiter Evolving", SIGCOMM 2022, section 4.
    Mesh,
    /// Of a fabric with a `core`: uplinks go to the core switches, evenly, and stay there: a folded Clos network.
    Clos,
    /// Of a fabric with a `core`: links that are held for the week. Pairs of racks with heavy demand get direct
    /// links, as many as relieve most; the other uplinks go to the core, which carries all other pairs.
    ///
    /// Source: Poutievski et al., "Jupiter Evolving", SIGCOMM 2022, on its way from Clos to direct links.
    ClosDirect,
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
        use SchedulerKind::{Clos, Fixed, Phases, Rotor};
        !matches!(self, Rotor | Fixed | Phases | Clos)
    }

    /// Whether it fits a fabric with core switches, or one without.
    fn fits(self, core: bool) -> bool {
        use SchedulerKind::{Clos, ClosDirect, Fixed, Mesh};
        match self {
            Clos | ClosDirect => core,
            Mesh | Fixed => true,
            _ => !core,
        }
    }
}

/// What a week of Solstice is where its own days serve little.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum FallbackKind {
    /// A rotation, wherever that would serve more of the demand that is planned for.
    #[default]
    IfBetter,
    /// A rotation where Solstice finds no day at all: where many pairs want little each.
    IfEmpty,
    /// Where it finds no day at all, one for the whole week, from each rack to the one before it, as in Etalon's code.
    Ring,
}

impl From<FallbackKind> for Fallback {
    fn from(kind: FallbackKind) -> Fallback {
        match kind {
            FallbackKind::IfBetter => Fallback::Better,
            FallbackKind::IfEmpty => Fallback::Empty,
            FallbackKind::Ring => Fallback::Ring,
        }
    }
}

/// How circuits are scheduled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = slotline_net::schema::keep_comment)]
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
    /// With `solstice`: what a week is where its days serve little.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<FallbackKind>,
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
            fallback: None,
            stretch: None,
            demand: DemandKind::default(),
            report_ahead: None,
            gather: Time::us(20),
            computing: Time::us(20),
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
        if self.scheduler == SchedulerKind::Clos && (self.week.is_some() || self.day.is_some()) {
            let key = if self.week.is_some() { "week" } else { "day" };
            return fail(key, format!("`{key}` does nothing: with `clos` links never change"));
        }
        let demanding = self.scheduler.looks_at_demand();
        if self.hold.is_some() && self.scheduler != SchedulerKind::MaxWeight {
            return fail("hold", "`hold` is for scheduler = \"max-weight\"".into());
        }
        let own = [
            ("prefilter", self.prefilter.is_some()),
            ("inflate", self.inflate),
            ("fallback", self.fallback.is_some()),
        ];
        if self.scheduler != SchedulerKind::Solstice
            && let Some((key, _)) = own.into_iter().find(|(_, given)| *given)
        {
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
            let why = "`demand` does nothing: this scheduler does not look at it";
            return fail("demand", why.into());
        }
        if !demanding && self.report_ahead.is_some() {
            let why = "`report-ahead` does nothing: this scheduler does not look at demand";
            return fail("report-ahead", why.into());
        }
        let times =
            [("gather", self.gather, usual.gather), ("computing", self.computing, usual.computing)];
        for (key, value, usual) in times {
            if value > Time::s(10) {
                return fail(key, format!("`{key}` is {value}: at most 10s"));
            }
            if !demanding && value != usual {
                let why = format!("`{key}` does nothing: this scheduler does not look at demand");
                return fail(key, why);
            }
        }
        Ok(())
    }

    /// Links between all racks of a fabric.
    ///
    /// # Errors
    /// There are too few circuit switches.
    fn mesh(&self, fabric: &HybridSpec, terms: CircuitTiming) -> Result<Mesh, SpecError> {
        let (racks, switches) = (fabric.racks as usize, fabric.uplinks() as usize);
        Mesh::new(racks, switches, terms, fabric.dark() == Dark::Changed).map_err(|error| {
            let why = format!(
                "`switches` = {switches} of `circuits` is too few for a mesh of {racks} racks: {} never change, \
                 so that all reach each other in two hops; give {} or more",
                error.base,
                error.base + 1
            );
            SpecError::new("scheduler", why)
        })
    }

    /// Direct links and links to the core of a fabric.
    fn clos_direct(&self, fabric: &HybridSpec, terms: CircuitTiming) -> ClosDirect {
        ClosDirect::new(cores(fabric), terms, fabric.dark() == Dark::Changed)
    }

    /// What plans week after week in a fabric; none where demand is not looked at. `configurations` are those to
    /// choose from with `phases-on-demand`.
    ///
    /// # Errors
    /// Circuits are held for longer than a week, or a mesh has too few switches.
    pub fn planner(
        &self,
        fabric: &HybridSpec,
        terms: CircuitTiming,
        configurations: &[Matching],
    ) -> Result<Option<Planner>, SpecError> {
        let racks = fabric.racks as usize;
        let apart: Box<dyn Scheduler + Send> = match self.scheduler {
            SchedulerKind::Rotor
            | SchedulerKind::Fixed
            | SchedulerKind::Phases
            | SchedulerKind::Clos => {
                return Ok(None);
            }
            SchedulerKind::PhasesOnDemand => {
                Box::new(OnDemand::new(configurations.to_vec(), terms))
            }
            SchedulerKind::Solstice => {
                let prefilter = self.prefilter.map(|bytes| bytes.0);
                let fallback = self.fallback.unwrap_or_default().into();
                let spec = SolsticeSpec { prefilter, inflate: self.inflate, fallback };
                Box::new(Solstice::new(racks, terms, spec))
            }
            SchedulerKind::Eclipse => Box::new(Eclipse::new(racks, terms)),
            SchedulerKind::BirkhoffVonNeumann => Box::new(Bvn::new(racks, terms)),
            SchedulerKind::MaxWeight => {
                let hold = self.hold.map(Time::as_ps);
                let planner = MaxWeight::new(racks, terms, hold);
                Box::new(planner.map_err(|e| SpecError::new("hold", format!("`hold`: {e}")))?)
            }
            SchedulerKind::Portfolio => Box::new(Portfolio::new(racks, terms)),
            SchedulerKind::Mesh => {
                return Ok(Some(Planner::Joint(Box::new(self.mesh(fabric, terms)?))));
            }
            SchedulerKind::ClosDirect => {
                return Ok(Some(Planner::Joint(Box::new(self.clos_direct(fabric, terms)))));
            }
        };
        Ok(Some(Planner::PerSwitch(apart)))
    }
}

/// Racks and core switches at the panels of a fabric.
fn cores(fabric: &HybridSpec) -> PanelLayout {
    let roles = fabric.roles();
    PanelLayout {
        racks: roles.racks as usize,
        cores: roles.cores as usize,
        slots: roles.slots as usize,
        panels: roles.uplinks as usize,
    }
}

fn is_false(it: &bool) -> bool {
    !it
}
