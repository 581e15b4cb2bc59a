//! The switches of a hybrid fabric: from a scheme to nodes.

use slotline_hybrid::control::{CircuitsSpec, Course};
use slotline_hybrid::node::{
    CircuitScheduler, CircuitSwitch, Circuits, PacketSwitch, Patched, PatchedConfig,
    SchedulerConfig, Tor, TorConfig, Weekly,
};
use slotline_hybrid::{Agenda, DemandKind, Leads, Ledger, RackDay, VoqSpec};
use slotline_net::error::SpecError;
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::host::Plan;
use slotline_net::node::station::Loss;
use slotline_net::node::switch::Switch;
use slotline_net::rng::Stream;
use slotline_net::time::Time;
use slotline_net::topology::{HybridSpec, Link, Role, Roles, TopologySpec};
use slotline_net::units::InverseRate;
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
    course: Option<Course>,
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
        let course = control.as_ref().map(|spec| spec.course(fabric, workloads)).transpose();
        let course = course.map_err(|e| SpecError::new(format!("control.{}", e.key), e.message))?;
        let by_rack = course.as_ref().filter(|_| fabric.core.is_none());
        Ok(Some(Hybrid {
            firsts: by_rack.map_or(Vec::new(), |course| course.first_of_racks(fabric.dark())),
            course,
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
        (switch, paces): (Switch, Vec<InverseRate>),
        mtu: u64,
        plan: &Arc<Plan>,
    ) -> Place {
        let (agenda, weekly) = self.whole_agenda();
        let key = Stream::named(self.seed, "panel.path", seat.into()).bits() as u32;
        Place::Node(Box::new(Patched::new(PatchedConfig {
            roles: self.roles,
            seat,
            switch,
            paces,
            delay: self.fabric.circuits.as_ref().map_or(Time::ZERO, |circuits| circuits.delay),
            mtu,
            key,
            voq: self.voq,
            agenda,
            weekly,
            ledger: if seat < self.roles.racks { self.ledger(seat, plan) } else { None },
        })))
    }

    /// What all switches behind panels do when: each knows of all circuits.
    fn whole_agenda(&self) -> (Agenda, Option<Weekly>) {
        let whole = |length| Leads { whole: Some(length), ..Leads::default() };
        let Some(course) = &self.course else { return (Agenda::new(whole(Time::ZERO)), None) };
        let (days, length) = course.first_of_all(self.fabric.dark());
        self.agenda_of(course, whole(length), vec![(days, length)])
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
        let leads = Leads {
            bar: self.fabric.night(),
            grow: self.voq.resize.map(|resize| resize.ahead),
            mark: self.voq.mark_ahead,
            whole: None,
            tell: self.voq.notify.map(|notify| (notify.ahead, notify.end_ahead)),
        };
        let (agenda, weekly) = self.agenda(rack, leads);
        TorConfig {
            rack,
            roles: self.roles,
            voq: self.voq,
            circuits: circuits.map(|c| Circuits { pace: c.rate.inverse_rate(), delay: c.delay }),
            packet_delay: self.fabric.packet.as_ref().map_or(Time::ZERO, |p| p.delay.times(2)),
            ever: match self.voq.relay {
                Some(_) => self.course.as_ref().map_or(Vec::new(), Course::ever),
                None => Vec::new(),
            },
            agenda,
            weekly,
            ledger: self.ledger(rack, plan),
        }
    }

    /// What the hosts of a rack report, where that is taken for demand.
    fn ledger(&self, rack: u32, plan: &Arc<Plan>) -> Option<Ledger> {
        let ledger = || Ledger::new(Arc::clone(plan), rack, self.roles.racks, self.roles.hosts);
        match self.control.as_ref().map(|control| control.demand)? {
            DemandKind::Adu => Some(ledger()),
            DemandKind::Perfect => Some(ledger().foreseeing(rack)),
            DemandKind::Voq => None,
        }
    }

    fn agenda(&self, rack: u32, leads: Leads) -> (Agenda, Option<Weekly>) {
        let Some(course) = &self.course else { return (Agenda::new(leads), None) };
        self.agenda_of(course, leads, self.firsts[rack as usize].clone())
    }

    fn agenda_of(
        &self,
        course: &Course,
        leads: Leads,
        first: Vec<(Vec<RackDay>, Time)>,
    ) -> (Agenda, Option<Weekly>) {
        match course {
            Course::Static { .. } => (Agenda::repeating(leads, first), None),
            Course::Weekly { ahead, length, .. } => {
                let mut agenda = Agenda::new(leads);
                let days = first.into_iter().flat_map(|(days, _)| days).collect();
                let weekly = Weekly::new(*length, *ahead, days, &mut agenda);
                (agenda, Some(weekly))
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
        let planner = match &self.course {
            Some(Course::Weekly { terms, configurations, .. }) => {
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
