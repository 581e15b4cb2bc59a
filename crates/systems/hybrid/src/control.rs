//! The options of the scheme: the list of circuit schedulers, and the planner that follows from the options.

mod custom;
mod phases;
mod program;

pub use custom::{CustomCircuits, MakePlanner};
pub use program::CircuitProgram;

use crate::DemandKind;
use phases::OnDemand;
use serde::{Deserialize, Serialize};
use slotline_circuits::{
    Bvn, CircuitTiming, ClosDirect, Eclipse, Fallback, Matching, MaxWeight, Mesh, PanelLayout,
    Planner, Portfolio, Scheduler, Solstice, SolsticeSpec,
};
use slotline_net::error::SpecError;
use slotline_net::scheme::Scale;
use slotline_net::time::Time;
use slotline_net::topology::{Dark, HybridSpec};
use slotline_net::units::Bytes;

/// How the circuits of a week are planned.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulerKind {
    /// Each pair of racks gets a circuit in turn, whatever the demand. Several switches share the turns.
    ///
    /// Source: Mellette et al., "RotorNet: A Scalable, Low-complexity, Optical Datacenter Network",
    /// SIGCOMM 2017.
    #[default]
    Rotor,
    /// The week in `schedule` is repeated.
    Fixed,
    /// The demand is split into perfect matchings by a threshold that is halved step by step.
    ///
    /// Source: Liu et al., "Scheduling Techniques for Hybrid Circuit/Packet Networks", CoNEXT 2015.
    Solstice,
    /// Days are chosen greedily by the demand that they serve for their time.
    ///
    /// Source: Bojja Venkatakrishnan, Alizadeh and Viswanath, "Costly Circuits, Submodular Schedules and
    /// Approximate Caratheodory Theorems", SIGMETRICS 2016.
    Eclipse,
    /// The demand is decomposed into a sum of permutations.
    ///
    /// Source: Birkhoff, 1946; von Neumann, 1953.
    BirkhoffVonNeumann,
    /// The heaviest matching is held for the time `hold`.
    ///
    /// Source: Farrington et al., "Helios", SIGCOMM 2010; Wang et al., "c-Through", SIGCOMM 2010.
    MaxWeight,
    /// A scheduler of this project: it chooses days by the demand that they serve, and their lengths.
    #[serde(alias = "harvest")]
    Portfolio,
    /// Racks have links that are held for the week, in proportion to demand. This is the topology engineering of
    /// several patch panels, over which all racks reach each other in two hops.
    ///
    /// Source: Poutievski et al., "Jupiter Evolving", SIGCOMM 2022, section 4.
    Mesh,
    /// In a fabric with a `core`, uplinks go evenly to the core switches and stay there: a folded Clos network.
    Clos,
    /// In a fabric with a `core`, links are held for the week. Pairs of racks with heavy demand get direct links,
    /// as many as relieve the core most. The other uplinks go to the core, which carries all other pairs.
    ///
    /// Source: Poutievski et al., "Jupiter Evolving", SIGCOMM 2022: the step between Clos and direct links.
    #[serde(alias = "mix")]
    ClosDirect,
    /// The phases of the scenario's collective operation get their circuits one after another by the clock, in each
    /// round. A phase has its circuits for as long as its bytes take on a circuit, times `stretch`. If all
    /// phases need the same circuits, these stay up.
    Phases,
    /// Each week has the circuits of the phase of the scenario's collective operation that serves most of the
    /// reported demand. Circuits change only when another phase serves more.
    PhasesOnDemand,
    /// A scheduler that the calling program supplies, in Rust: `custom` has its name.
    Custom,
}

impl SchedulerKind {
    /// Whether the scheduler plans by demand.
    pub fn looks_at_demand(self) -> bool {
        use SchedulerKind::{Clos, Fixed, Phases, Rotor};
        !matches!(self, Rotor | Fixed | Phases | Clos)
    }

    /// Whether the scheduler fits a fabric with core switches (`core`) or without.
    fn fits(self, core: bool) -> bool {
        use SchedulerKind::{Clos, ClosDirect, Fixed, Mesh};
        match self {
            Clos | ClosDirect => core,
            Mesh | Fixed => true,
            _ => !core,
        }
    }
}

/// The replacement of a week of Solstice that serves little demand.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum FallbackKind {
    /// A rotation replaces it if that serves more of the demand.
    #[default]
    IfBetter,
    /// A rotation replaces it if Solstice finds no day at all, because many pairs have little demand each.
    IfEmpty,
    /// If Solstice finds no day at all, each rack has a circuit to the rack before it for the whole week, as in
    /// Etalon's code.
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
    /// How the circuits of a week are planned.
    pub scheduler: SchedulerKind,
    /// The time that is planned at once. Default: with `rotor` the time that all pairs take, otherwise 2ms. With
    /// `fixed` the schedule determines it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub week: Option<Time>,
    /// The shortest day. Default: nine nights, so that circuits are up for nine tenths of the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<Time>,
    /// With `fixed`: the week, in microseconds, as "2 180 1/2/3/0 20 -1/-1/-1/-1". The first number is the number of
    /// slices. Each slice has its length and, by destination rack, the source; -1 means none. Each circuit switch
    /// has a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// With `max-weight`: how long circuits are held. Default: the whole week.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<Time>,
    /// With `solstice`: if a pair of racks has at least this demand, pairs with less are left to the packet
    /// switch, as in Etalon's code. Default: no pair is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefilter: Option<Bytes>,
    /// With `solstice`: whether demand is scaled up until it fills half of the week, as in Etalon's code.
    #[serde(skip_serializing_if = "is_false")]
    pub inflate: bool,
    /// With `solstice`: whether the week is filled by longer days, as in Etalon's code. Otherwise time and circuits that
    /// the decomposition leaves serve the remaining demand.
    #[serde(skip_serializing_if = "is_false")]
    pub decomposition_only: bool,
    /// With `solstice`: the replacement of a week that serves little demand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<FallbackKind>,
    /// With `custom`: the scheduler of the calling program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom: Option<CustomCircuits>,
    /// With `phases`: how long each phase has its circuits, as a multiple of the time that its bytes take on a
    /// circuit, from 1 to 100. Default: 1.25.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1.0, max = 100.0))]
    pub stretch: Option<f64>,
    /// The source of the demand.
    pub demand: DemandKind,
    /// With `demand = "adu"`: hosts report each flow in a message over a control network when the application writes it,
    /// and the message arrives after this time. Default: the report is a field in the first segment of the flow.
    ///
    /// Source: Etalon, section 5.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adu_delay: Option<Time>,
    /// With `adu-delay`: the share of these messages that are lost, from 0 to below 1. TCP sends them again after the
    /// transport's `min-rto`, and holds back later messages of the same host until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    pub adu_loss: Option<f64>,
    /// How long before a week racks report their demand for it. Default: a whole week.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_ahead: Option<Time>,
    /// How long the scheduler waits for further reports after the first of a week.
    pub gather: Time,
    /// How long planning takes, in addition to the messages.
    pub computing: Time,
    /// `"auto"`: periods that are not given get values that fit this network and traffic. The resolved scenario has
    /// these values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
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
            decomposition_only: false,
            fallback: None,
            custom: None,
            stretch: None,
            demand: DemandKind::default(),
            adu_delay: None,
            adu_loss: None,
            report_ahead: None,
            gather: Time::us(20),
            computing: Time::us(20),
            scale: None,
        }
    }
}

impl CircuitsSpec {
    /// Checks the options without a fabric.
    ///
    /// # Errors
    /// An option has an invalid value, or has no effect.
    pub fn check(&self) -> Result<(), SpecError> {
        let fail = |key: &str, why: String| Err(SpecError::new(key, why));
        let fixed = self.scheduler == SchedulerKind::Fixed;
        if fixed != self.schedule.is_some() {
            return fail("schedule", "`schedule` and scheduler = \"fixed\" go together".into());
        }
        if fixed && (self.week.is_some() || self.day.is_some()) {
            let key = if self.week.is_some() { "week" } else { "day" };
            return fail(key, format!("the `schedule` determines `{key}`: leave `{key}` out"));
        }
        if self.scheduler == SchedulerKind::Clos && (self.week.is_some() || self.day.is_some()) {
            let key = if self.week.is_some() { "week" } else { "day" };
            return fail(key, format!("`{key}` does nothing: with `clos` links never change"));
        }
        let uses_demand = self.scheduler.looks_at_demand();
        self.check_scheduler_options()?;
        let default = CircuitsSpec::default();
        if !uses_demand && self.demand != default.demand {
            let why = "`demand` does nothing: this scheduler does not look at it";
            return fail("demand", why.into());
        }
        if !uses_demand && self.report_ahead.is_some() {
            let why = "`report-ahead` does nothing: this scheduler does not look at demand";
            return fail("report-ahead", why.into());
        }
        self.check_messages()?;
        let times = [
            ("gather", self.gather, default.gather),
            ("computing", self.computing, default.computing),
        ];
        for (key, value, default) in times {
            if value > Time::s(10) {
                return fail(key, format!("`{key}` is {value}: at most 10s"));
            }
            if !uses_demand && value != default {
                let why = format!("`{key}` does nothing: this scheduler does not look at demand");
                return fail(key, why);
            }
        }
        Ok(())
    }

    /// Checks the options of hosts' reports.
    fn check_messages(&self) -> Result<(), SpecError> {
        let fail = |key: &str, why: &str| Err(SpecError::new(key, why));
        if self.adu_delay.is_some() && self.demand != DemandKind::Adu {
            return fail("adu-delay", "`adu-delay` is for demand = \"adu\"");
        }
        if self.adu_delay.is_some_and(|delay| delay > Time::s(10)) {
            return fail("adu-delay", "`adu-delay` is at most 10s");
        }
        if self.adu_loss.is_some() && self.adu_delay.is_none() {
            return fail("adu-loss", "`adu-loss` has no meaning without `adu-delay`");
        }
        if self.adu_loss.is_some_and(|loss| !(0.0..1.0).contains(&loss)) {
            return fail("adu-loss", "`adu-loss` is a share, from 0 to below 1");
        }
        Ok(())
    }

    /// Checks that options of one scheduler are given only with that scheduler.
    fn check_scheduler_options(&self) -> Result<(), SpecError> {
        let fail = |key: &str, why: String| Err(SpecError::new(key, why));
        if self.hold.is_some() && self.scheduler != SchedulerKind::MaxWeight {
            return fail("hold", "`hold` is for scheduler = \"max-weight\"".into());
        }
        let own = [
            ("prefilter", self.prefilter.is_some()),
            ("inflate", self.inflate),
            ("decomposition-only", self.decomposition_only),
            ("fallback", self.fallback.is_some()),
        ];
        if self.scheduler != SchedulerKind::Solstice
            && let Some((key, _)) = own.into_iter().find(|(_, given)| *given)
        {
            return fail(key, format!("`{key}` is for scheduler = \"solstice\""));
        }
        if self.custom.is_some() != (self.scheduler == SchedulerKind::Custom) {
            let why = "`custom` and scheduler = \"custom\" go together";
            return fail("custom", why.into());
        }
        if let Some(custom) = &self.custom {
            custom.name.part().map_err(|e| e.within("custom"))?;
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
        Ok(())
    }

    /// The planner of direct links between all racks of a fabric.
    ///
    /// # Errors
    /// There are too few circuit switches.
    fn mesh(&self, fabric: &HybridSpec, terms: CircuitTiming) -> Result<Mesh, SpecError> {
        let (racks, switches) = (fabric.rack_count() as usize, fabric.uplinks() as usize);
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

    /// The planner of direct links and links to the core of a fabric.
    fn clos_direct(&self, fabric: &HybridSpec, terms: CircuitTiming) -> ClosDirect {
        ClosDirect::new(cores(fabric), terms, fabric.dark() == Dark::Changed)
    }

    /// The planner of each week in a fabric; `None` for a scheduler that does not plan by demand. With
    /// `phases-on-demand` the planner chooses from `configurations`.
    ///
    /// # Errors
    /// Circuits are held for longer than a week, or a mesh has too few switches.
    pub fn planner(
        &self,
        fabric: &HybridSpec,
        terms: CircuitTiming,
        configurations: &[Matching],
    ) -> Result<Option<Planner>, SpecError> {
        let racks = fabric.rack_count() as usize;
        let each_switch: Box<dyn Scheduler + Send> = match self.scheduler {
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
                let (inflate, decomposition_only) = (self.inflate, self.decomposition_only);
                let spec = SolsticeSpec { prefilter, inflate, decomposition_only, fallback };
                Box::new(Solstice::new(racks, terms, spec))
            }
            SchedulerKind::Custom => {
                let make = self.custom.as_ref().map(|custom| custom.name.part()).transpose()?;
                return Ok(make.map(|make| make(racks, terms)));
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
        Ok(Some(Planner::PerSwitch(each_switch)))
    }
}

/// The racks and core switches at the panels of a fabric.
fn cores(fabric: &HybridSpec) -> PanelLayout {
    let roles = fabric.roles();
    PanelLayout {
        racks: roles.racks as usize,
        cores: roles.cores as usize,
        slots: roles.slots as usize,
        panels: roles.uplinks as usize,
    }
}

fn is_false(value: &bool) -> bool {
    !value
}
