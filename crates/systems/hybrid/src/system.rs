//! Circuits as a central scheme: the nodes that it adds to a hybrid fabric.

use crate::control::{CircuitProgram, CircuitsSpec, SchedulerKind};
use crate::demand::Messages;
use crate::node::{
    CircuitController, CircuitLinks, CircuitScheduler, CircuitSwitch, PacketLinks, PacketSwitch,
    PanelSwitch, PanelSwitchConfig, SchedulerConfig, Tor, TorConfig, WeekTracker,
};
use crate::{DemandEstimator, DemandKind, LeadTimes, RackDay, ScheduleExecutor, VoqSpec};
use slotline_net::error::SpecError;
use slotline_net::id::{HostId, NodeId, PortId};
use slotline_net::node::Node;
use slotline_net::node::agent::Agent;
use slotline_net::node::host::{Plan, Spread};
use slotline_net::node::station::Loss;
use slotline_net::rng::Stream;
use slotline_net::scheme::{Activity, Conditions, Proposal};
use slotline_net::scheme::{MakeNode, SchemeSwitches, Station, Surroundings, SwitchPlace, System};
use slotline_net::time::Time;
use slotline_net::topology::{Graph, HybridSpec, Link, PacketNetSpec, Role, Roles};
use slotline_net::units::Rate;
use slotline_net::workload::WorkloadSpec;
use std::sync::Arc;

/// The options of a scheme about circuits.
#[derive(Clone, Copy)]
pub struct HybridOptions<'a> {
    /// The scheduler of circuits; `None`: there are no circuits.
    pub control: Option<&'a CircuitsSpec>,
    /// Queues by destination rack.
    pub voq: VoqSpec,
    /// The workloads, whose phases a scheduler may know.
    pub workloads: &'a [WorkloadSpec],
    /// The share of control messages that are lost.
    pub loss: f64,
    /// The seed of the run.
    pub seed: u64,
}

/// The scheme on a hybrid fabric: with circuits, or with the packet switch alone.
pub struct HybridSystem {
    fabric: HybridSpec,
    roles: Roles,
    voq: VoqSpec,
    control: Option<CircuitsSpec>,
    program: Option<CircuitProgram>,
    /// By rack: its days in the first weeks, each with the length of the week.
    firsts: Vec<Vec<(Vec<RackDay>, Time)>>,
    loss: f64,
    seed: u64,
}

/// The links between a rack and the packet switch.
fn packet_links(packet: &PacketNetSpec) -> PacketLinks {
    let paces = [packet.rate, packet.down_rate.unwrap_or(packet.rate)].map(Rate::inverse_rate);
    PacketLinks { paces, delay: packet.delay.times(2) }
}

impl HybridSystem {
    /// The scheme on `fabric`.
    ///
    /// # Errors
    /// The circuits do not fit the fabric.
    pub fn new(fabric: &HybridSpec, options: HybridOptions<'_>) -> Result<HybridSystem, SpecError> {
        let HybridOptions { control, voq, workloads, loss, seed } = options;
        let program = control.map(|spec| spec.program(fabric, workloads)).transpose()?;
        let by_rack = program.as_ref().filter(|_| fabric.core.is_none());
        Ok(HybridSystem {
            firsts: by_rack
                .map_or(Vec::new(), |program| program.first_weeks_by_rack(fabric.dark())),
            program,
            control: control.cloned(),
            voq,
            fabric: fabric.clone(),
            roles: fabric.roles(),
            loss,
            seed,
        })
    }

    /// The switch with number `seat`, whose uplinks end at patch panels.
    fn panel_switch(&self, seat: u32, place: &SwitchPlace<'_>) -> PanelSwitch {
        let paces = place.wiring.of(place.node).iter().map(|wire| wire.lane.rate.inverse_rate());
        let (executor, weekly) = self.whole_executor();
        let key = Stream::named(self.seed, "panel.path", seat.into()).bits() as u32;
        PanelSwitch::new(PanelSwitchConfig {
            roles: self.roles.clone(),
            seat,
            switch: (place.ordinary)(),
            paces: paces.collect(),
            delay: self.fabric.circuits.as_ref().map_or(Time::ZERO, |circuits| circuits.delay),
            mtu: place.mtu,
            key,
            voq: self.voq,
            executor,
            weekly,
            estimator: if seat < self.roles.racks {
                self.estimator(seat, place.plan)
            } else {
                None
            },
        })
    }

    /// The number of a switch whose uplinks end at patch panels: that of its rack. Core switches follow the racks.
    fn panel_number(&self, node: NodeId) -> Option<u32> {
        match self.roles.role(node) {
            Role::Rack(rack) if self.roles.cores > 0 => Some(rack),
            Role::Core(core) => Some(self.roles.racks + core),
            _ => None,
        }
    }

    /// The schedule of all switches behind panels. Each switch knows all circuits.
    fn whole_executor(&self) -> (ScheduleExecutor, Option<WeekTracker>) {
        let whole = |length| LeadTimes { all_circuits: Some(length), ..LeadTimes::default() };
        let Some(program) = &self.program else {
            return (ScheduleExecutor::new(whole(Time::ZERO)), None);
        };
        let (days, length) = program.first_week(self.fabric.dark());
        self.executor_of(program, whole(length), vec![(days, length)])
    }

    fn tor(&self, rack: u32, plan: &Arc<Plan>) -> TorConfig {
        let circuits = self.fabric.circuits.as_ref();
        let times = LeadTimes {
            block: self.fabric.night(),
            enlarge: self.voq.resize.map(|resize| resize.ahead),
            mark: self.voq.mark_ahead,
            all_circuits: None,
            notify: self.voq.notify.map(|notify| (notify.ahead, notify.end_ahead)),
        };
        let (executor, weekly) = self.executor(rack, times);
        TorConfig {
            rack,
            roles: self.roles.clone(),
            voq: self.voq,
            circuits: circuits
                .map(|c| CircuitLinks { pace: c.rate.inverse_rate(), delay: c.delay }),
            packet_links: self.fabric.packet.as_ref().map(packet_links),
            all_circuits: match self.voq.relay {
                Some(_) => self.program.as_ref().map_or(Vec::new(), CircuitProgram::all_circuits),
                None => Vec::new(),
            },
            executor,
            weekly,
            estimator: self.estimator(rack, plan),
            waits_for_switch: false,
        }
    }

    /// The estimator of demand, if demand is what the hosts of a rack report.
    fn estimator(&self, rack: u32, plan: &Arc<Plan>) -> Option<DemandEstimator> {
        let Roles { racks, hosts, .. } = &self.roles;
        let estimator = || DemandEstimator::new(Arc::clone(plan), rack, *racks, hosts.clone());
        match self.control.as_ref().map(|control| control.demand)? {
            DemandKind::Adu => Some(match self.messages(rack, plan) {
                Some(messages) => estimator().with_messages(messages),
                None => estimator(),
            }),
            DemandKind::Perfect => Some(estimator().with_known_starts(rack)),
            DemandKind::Voq => None,
        }
    }

    /// The control network of a rack's reports, if they are messages.
    fn messages(&self, rack: u32, plan: &Plan) -> Option<Messages> {
        let control = self.control.as_ref()?;
        Some(Messages {
            delay: control.adu_delay?,
            loss: control.adu_loss.unwrap_or(0.0),
            retry: plan.transport.rto_limits().min,
            stream: Stream::named(self.seed, "circuits.reports", rack.into()),
        })
    }

    fn executor(&self, rack: u32, times: LeadTimes) -> (ScheduleExecutor, Option<WeekTracker>) {
        let Some(program) = &self.program else { return (ScheduleExecutor::new(times), None) };
        self.executor_of(program, times, self.firsts[rack as usize].clone())
    }

    fn executor_of(
        &self,
        program: &CircuitProgram,
        times: LeadTimes,
        first: Vec<(Vec<RackDay>, Time)>,
    ) -> (ScheduleExecutor, Option<WeekTracker>) {
        match program {
            CircuitProgram::Static { .. } => (ScheduleExecutor::repeating(times, first), None),
            CircuitProgram::Weekly { ahead, length, .. } => {
                let mut executor = ScheduleExecutor::new(times);
                let days = first.into_iter().flat_map(|(days, _)| days).collect();
                let weekly = WeekTracker::new(*length, *ahead, days, &mut executor);
                (executor, Some(weekly))
            }
        }
    }

    /// The node that plans weeks. If all weeks are known in advance, it only forwards the states of ports.
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
            roles: self.roles.clone(),
            dark: self.fabric.dark(),
            gather: control.gather,
            computing: control.computing,
            loss: Loss::new(self.loss, Stream::named(self.seed, "circuits.loss", 0)),
        })
    }
}

impl HybridSystem {
    /// Checks that racks can be machines of a real network.
    fn check_machines(&self) -> Result<(), SpecError> {
        let fail = |key: &str, why: &str| Err(SpecError::new(key, why));
        if self.fabric.core.is_some() {
            return fail("fabric.core", "daemons cannot run a fabric with a `core`");
        }
        if self.voq.relay.is_some() || self.voq.notify.is_some() {
            let key = if self.voq.relay.is_some() { "voq.relay" } else { "voq.notify" };
            return fail(key, "daemons neither relay packets nor notify hosts: leave it out");
        }
        if self.control.as_ref().is_some_and(|control| control.demand != DemandKind::Voq) {
            let why = "hosts announce no demand to daemons: `demand` has to be \"voq\"";
            return fail("control.demand", why);
        }
        Ok(())
    }
}

impl SchemeSwitches for HybridSystem {
    fn machine(&self, place: &SwitchPlace<'_>) -> Result<Box<dyn Node>, SpecError> {
        self.check_machines()?;
        match (self.roles.role(place.node), &self.program, self.scheduler()) {
            (Role::Rack(rack), Some(_), _) => {
                let mut config = self.tor(rack, place.plan);
                config.weekly.iter_mut().for_each(WeekTracker::leave_out_late_weeks);
                config.waits_for_switch = true;
                Ok(Box::new(Tor::new(config)))
            }
            (Role::Scheduler, Some(program), Some(scheduler)) => {
                let night = self.fabric.night();
                Ok(Box::new(CircuitController::new(program, night, scheduler)))
            }
            _ => Err(SpecError::new("control", "daemons need `control` = \"circuits\"")),
        }
    }
    fn node(&self, place: &SwitchPlace<'_>) -> Box<dyn Node> {
        let SwitchPlace { node, plan, .. } = *place;
        if let Some(number) = self.panel_number(node) {
            return Box::new(self.panel_switch(number, place));
        }
        let packet = self.fabric.packet.as_ref();
        match self.roles.role(node) {
            Role::Rack(rack) => Box::new(Tor::new(self.tor(rack, plan))),
            Role::Packet => Box::new(PacketSwitch::new(
                self.roles.racks,
                self.roles.hosts.clone(),
                packet.map_or(1, |packet| packet.inner_queue),
                packet.map(|packet| packet.inner_full).unwrap_or_default(),
            )),
            Role::Scheduler => match self.scheduler() {
                Some(config) => Box::new(CircuitScheduler::new(config)),
                None => Box::new(CircuitSwitch),
            },
            Role::Circuit(_) | Role::Core(_) | Role::Host => Box::new(CircuitSwitch),
        }
    }
    fn has_plain_queue(&self, node: NodeId, port: PortId) -> bool {
        match self.roles.role(node) {
            Role::Rack(rack) if self.roles.cores == 0 => self.roles.ports(rack).is_host(port),
            _ => false,
        }
    }
    fn pulls(&self, node: NodeId, port: PortId) -> bool {
        match self.roles.role(node) {
            Role::Host | Role::Scheduler => false,
            Role::Packet | Role::Circuit(_) => true,
            Role::Rack(rack) => {
                let ports = self.roles.ports(rack);
                (self.roles.cores > 0 || !ports.is_host(port)) && port != ports.control()
            }
            Role::Core(_) => port != self.roles.news_port(self.roles.racks),
        }
    }
    fn carries_messages(&self, link: &Link) -> bool {
        link.ends().iter().any(|end| self.roles.role(end.node) == Role::Scheduler)
    }
}

/// The scheduler is a node of the fabric, so there are no stations, and hosts send at any time.
impl System for HybridSystem {
    /// Perfect demand has the flows that begin before the end of a week, also those that are added later.
    fn takes_new_flows(&self) -> bool {
        self.control.as_ref().is_none_or(|control| control.demand != DemandKind::Perfect)
    }
    fn stations(&self, _graph: &Graph) -> Result<Vec<Station>, SpecError> {
        Ok(Vec::new())
    }
    fn station(&self, _at: usize, _around: &Surroundings<'_>) -> Result<MakeNode, SpecError> {
        Err(SpecError::new("control", "circuits have no stations"))
    }
    fn agent(&self, _host: HostId, _: &Surroundings<'_>) -> Result<Box<dyn Agent>, SpecError> {
        Err(SpecError::new("control", "circuits have no agents in hosts"))
    }
    fn has_agents(&self) -> bool {
        false
    }
    /// Switches of racks hash flows where there is a core; they queue by rack where there is none.
    fn spread(&self, by_routing: Option<Spread>) -> Spread {
        let hashed = self.fabric.core.is_some() || self.control.is_none();
        let usual = if hashed { Spread::PerFlow } else { Spread::PerPair };
        by_routing.unwrap_or(usual)
    }
    fn switches(&self) -> Option<&dyn SchemeSwitches> {
        Some(self)
    }
    fn proposals(&self, conditions: &Conditions) -> Vec<Proposal> {
        let of = |spec| crate::fit::proposals(spec, &self.fabric, conditions);
        self.control.as_ref().map_or(Vec::new(), of)
    }
    /// Circuits that never change are no decision.
    fn activity(&self) -> Activity {
        let changes =
            self.control.as_ref().is_some_and(|spec| spec.scheduler != SchedulerKind::Clos);
        if changes { crate::fit::ACTIVITY } else { Activity::default() }
    }
    fn recorded_span(&self, entries: u64) -> Time {
        self.program.as_ref().map_or(Time::ZERO, |program| program.span_with(entries))
    }
}
