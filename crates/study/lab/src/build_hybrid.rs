//! The switches of a hybrid fabric: from a scheme to nodes.

use slotline_hybrid::control::{CircuitProgram, CircuitsSpec};
use slotline_hybrid::node::{
    CircuitLinks, CircuitScheduler, CircuitSwitch, PacketSwitch, PanelSwitch, PanelSwitchConfig,
    SchedulerConfig, Tor, TorConfig, WeekTracker,
};
use slotline_hybrid::{DemandEstimator, DemandKind, LeadTimes, RackDay, ScheduleExecutor, VoqSpec};
use slotline_net::error::SpecError;
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::host::Plan;
use slotline_net::node::station::Loss;
use slotline_net::node::switch::Switch;
use slotline_net::rng::Stream;
use slotline_net::time::Time;
use slotline_net::topology::{HybridSpec, Link, Role, Roles, TopologySpec};
use slotline_net::units::Pace;
use slotline_net::workload::WorkloadSpec;
use slotline_scenario::SchemeSpec;
use slotline_schemes::ControlSpec;
use slotline_sim::Place;
use std::sync::Arc;

/// A hybrid fabric under a scheme.
pub(crate) struct Hybrid {
    fabric: HybridSpec,
    roles: Roles,
    voq: VoqSpec,
    control: Option<CircuitsSpec>,
    program: Option<CircuitProgram>,
    /// By rack: what it sees of the first weeks, each with its length.
    firsts: Vec<Vec<(Vec<RackDay>, Time)>>,
    loss: f64,
    seed: u64,
}

impl Hybrid {
    /// The fabric, if it is one, under `scheme`.
    ///
    /// # Errors
    /// The scheme's circuits do not fit the fabric.
    pub fn new(
        fabric: &TopologySpec,
        scheme: &SchemeSpec,
        workloads: &[WorkloadSpec],
        seed: u64,
    ) -> Result<Option<Hybrid>, SpecError> {
        let Some(fabric) = fabric.hybrid() else { return Ok(None) };
        let control = match &scheme.control {
            ControlSpec::Circuits(spec) => Some(spec.clone()),
            _ => None,
        };
        let program = control.as_ref().map(|spec| spec.program(fabric, workloads)).transpose();
        let program =
            program.map_err(|e| SpecError::new(format!("control.{}", e.key), e.message))?;
        let by_rack = program.as_ref().filter(|_| fabric.core.is_none());
        Ok(Some(Hybrid {
            firsts: by_rack
                .map_or(Vec::new(), |program| program.first_weeks_by_rack(fabric.dark())),
            program,
            control,
            voq: scheme.voq.unwrap_or_default(),
            fabric: fabric.clone(),
            roles: fabric.roles(),
            loss: scheme.control_loss,
            seed,
        }))
    }

    /// Whether a node asks for packets at this port; others are FIFOs.
    pub fn pulls(&self, node: NodeId, port: PortId) -> bool {
        match self.roles.role(node) {
            Role::Host | Role::Scheduler => false,
            Role::Packet | Role::Circuit(_) => true,
            Role::Rack(_) if self.roles.cores > 0 => port != self.roles.control_port(),
            Role::Rack(_) => {
                u32::from(port.0) >= self.roles.hosts && port != self.roles.control_port()
            }
            Role::Core(_) => port != self.roles.news_port(self.roles.racks),
        }
    }

    /// The switch whose uplinks end at patch panels that sits at a node: a rack's number, or from `racks` on a core's.
    pub fn seat(&self, node: NodeId) -> Option<u32> {
        match self.roles.role(node) {
            Role::Rack(rack) if self.roles.cores > 0 => Some(rack),
            Role::Core(core) => Some(self.roles.racks + core),
            _ => None,
        }
    }

    /// What sits there: `switch`, whose ports have `paces`, behind the panels.
    pub fn patched(
        &self,
        seat: u32,
        (switch, paces): (Switch, Vec<Pace>),
        mtu: u64,
        plan: &Arc<Plan>,
    ) -> Place {
        let (executor, weekly) = self.whole_executor();
        let key = Stream::named(self.seed, "panel.path", seat.into()).bits() as u32;
        Place::Node(Box::new(PanelSwitch::new(PanelSwitchConfig {
            roles: self.roles,
            seat,
            switch,
            paces,
            delay: self.fabric.circuits.as_ref().map_or(Time::ZERO, |circuits| circuits.delay),
            mtu,
            key,
            voq: self.voq,
            executor,
            weekly,
            estimator: if seat < self.roles.racks { self.estimator(seat, plan) } else { None },
        })))
    }

    /// What all switches behind panels do when: each knows of all circuits.
    fn whole_executor(&self) -> (ScheduleExecutor, Option<WeekTracker>) {
        let whole = |length| LeadTimes { all_circuits: Some(length), ..LeadTimes::default() };
        let Some(program) = &self.program else {
            return (ScheduleExecutor::new(whole(Time::ZERO)), None);
        };
        let (days, length) = program.first_week(self.fabric.dark());
        self.executor_of(program, whole(length), vec![(days, length)])
    }

    /// Whether it is a port that leads to a host: its queue is that of the scheme.
    pub fn leads_to_host(&self, node: NodeId, port: PortId) -> bool {
        let rack = matches!(self.roles.role(node), Role::Rack(_)) && self.roles.cores == 0;
        rack && u32::from(port.0) < self.roles.hosts
    }

    /// What sits at a node that is no host.
    pub fn place(&self, node: NodeId, plan: &Arc<Plan>) -> Place {
        let packet = self.fabric.packet.as_ref();
        match self.roles.role(node) {
            Role::Rack(rack) => Place::Node(Box::new(Tor::new(self.tor(rack, plan)))),
            Role::Packet => Place::Node(Box::new(PacketSwitch::new(
                self.roles.racks,
                self.roles.hosts,
                packet.map_or(1, |packet| packet.inner_queue),
                packet.map(|packet| packet.inner_full).unwrap_or_default(),
            ))),
            Role::Scheduler => match self.scheduler() {
                Some(config) => Place::Node(Box::new(CircuitScheduler::new(config))),
                None => Place::Node(Box::new(CircuitSwitch)),
            },
            // Core switches are behind panels, as racks' switches are where there are any.
            Role::Circuit(_) | Role::Core(_) | Role::Host => Place::Node(Box::new(CircuitSwitch)),
        }
    }

    fn tor(&self, rack: u32, plan: &Arc<Plan>) -> TorConfig {
        let circuits = self.fabric.circuits.as_ref();
        let leads = LeadTimes {
            block: self.fabric.night(),
            enlarge: self.voq.resize.map(|resize| resize.ahead),
            mark: self.voq.mark_ahead,
            all_circuits: None,
            notify: self.voq.notify.map(|notify| (notify.ahead, notify.end_ahead)),
        };
        let (executor, weekly) = self.executor(rack, leads);
        TorConfig {
            rack,
            roles: self.roles,
            voq: self.voq,
            circuits: circuits.map(|c| CircuitLinks { pace: c.rate.pace(), delay: c.delay }),
            packet_delay: self.fabric.packet.as_ref().map_or(Time::ZERO, |p| p.delay.times(2)),
            all_circuits: match self.voq.relay {
                Some(_) => self.program.as_ref().map_or(Vec::new(), CircuitProgram::all_circuits),
                None => Vec::new(),
            },
            executor,
            weekly,
            estimator: self.estimator(rack, plan),
        }
    }

    /// What the hosts of a rack report, where that is taken for demand.
    fn estimator(&self, rack: u32, plan: &Arc<Plan>) -> Option<DemandEstimator> {
        let estimator =
            || DemandEstimator::new(Arc::clone(plan), rack, self.roles.racks, self.roles.hosts);
        match self.control.as_ref().map(|control| control.demand)? {
            DemandKind::Adu => Some(estimator()),
            DemandKind::Perfect => Some(estimator().with_known_starts(rack)),
            DemandKind::Voq => None,
        }
    }

    fn executor(&self, rack: u32, leads: LeadTimes) -> (ScheduleExecutor, Option<WeekTracker>) {
        let Some(program) = &self.program else { return (ScheduleExecutor::new(leads), None) };
        self.executor_of(program, leads, self.firsts[rack as usize].clone())
    }

    fn executor_of(
        &self,
        program: &CircuitProgram,
        leads: LeadTimes,
        first: Vec<(Vec<RackDay>, Time)>,
    ) -> (ScheduleExecutor, Option<WeekTracker>) {
        match program {
            CircuitProgram::Static { .. } => (ScheduleExecutor::repeating(leads, first), None),
            CircuitProgram::Weekly { ahead, length, .. } => {
                let mut executor = ScheduleExecutor::new(leads);
                let days = first.into_iter().flat_map(|(days, _)| days).collect();
                let weekly = WeekTracker::new(*length, *ahead, days, &mut executor);
                (executor, Some(weekly))
            }
        }
    }

    /// Whether a link carries the scheduler's messages alone: it does not fail with a switch.
    pub fn is_news(&self, link: &Link) -> bool {
        link.ends().iter().any(|end| self.roles.role(end.node) == Role::Scheduler)
    }

    /// What plans weeks, or where all are known ahead merely passes news of ports on.
    fn scheduler(&self) -> Option<SchedulerConfig> {
        let usual = CircuitsSpec::default();
        let control = self.control.as_ref().unwrap_or(&usual);
        self.fabric.circuits.as_ref()?;
        let planner = match &self.program {
            Some(CircuitProgram::Weekly { terms, configurations, .. }) => {
                let planner = control.planner(&self.fabric, *terms, configurations).ok()??;
                Some((planner, *terms))
            }
            _ => None,
        };
        Some(SchedulerConfig {
            planner,
            roles: self.roles,
            dark: self.fabric.dark(),
            gather: control.gather,
            computing: control.computing,
            loss: Loss::new(self.loss, Stream::named(self.seed, "circuits.loss", 0)),
        })
    }
}
