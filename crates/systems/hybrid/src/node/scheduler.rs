//! The scheduler of circuits. It takes reports, plans weeks, and forwards the failures of ports to all racks.

use super::message;
use crate::counters;
use crate::schedule::{circuits_of_weeks, rack_days};
use crate::wire::Message;
use slotline_circuits::{CircuitTiming, Demand, Note, PlanWorkspace, Planner, Week};
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::PortId;
use slotline_net::node::station::Loss;
use slotline_net::node::{Counters, Cx, DropReason, Node, PacketAccount};
use slotline_net::time::Time;
use slotline_net::topology::{Dark, Roles};

/// The configuration of the scheduler.
pub struct SchedulerConfig {
    /// The planner of weeks, and the times and rates by which it plans; `None` for a static schedule.
    pub planner: Option<(Planner, CircuitTiming)>,
    /// The fabric.
    pub roles: Roles,
    /// How long it waits for further reports after the first of a week.
    pub gather: Time,
    /// How long planning takes.
    pub computing: Time,
    /// Which circuits are down at night.
    pub dark: Dark,
    /// Which reports get lost.
    pub loss: Loss,
}

/// The tokens of wake-ups.
const GATHERED: u32 = 0;
const PLANNED: u32 = 1;

/// The node of the scheduler. It has a port for each rack and for each core switch.
pub struct CircuitScheduler {
    config: SchedulerConfig,
    demand: Demand,
    memory: PlanWorkspace,
    /// By circuit switch and end, whether the port has failed.
    failed: Vec<bool>,
    /// The week for which reports arrive, and how many have arrived.
    week: u64,
    reports: usize,
    is_planned: bool,
    /// A planned week that is not yet sent: its number, and the circuits of all switches.
    planned: Option<(u64, Vec<Week>)>,
    /// The newest week that was sent, unless it was taken.
    sent: Option<(u64, Vec<Week>)>,
    account: PacketAccount,
    weeks: u64,
    days: u64,
    rotations: u64,
}

impl CircuitScheduler {
    /// A scheduler that has no reports yet.
    ///
    /// # Panics
    /// There are more racks than a demand can have. The fabric was checked before.
    pub fn new(config: SchedulerConfig) -> CircuitScheduler {
        let roles = &config.roles;
        let demand =
            Demand::new(roles.racks as usize).expect("the number of racks of a fabric is checked");
        CircuitScheduler {
            memory: PlanWorkspace::default(),
            failed: vec![false; (roles.ends() * roles.uplinks) as usize],
            demand,
            config,
            week: 0,
            reports: 0,
            is_planned: false,
            planned: None,
            sent: None,
            account: PacketAccount::default(),
            weeks: 0,
            days: 0,
            rotations: 0,
        }
    }

    /// A rack reports its demand for a week. A report that arrives after its week was planned counts for the next.
    fn report(&mut self, week: u64, rack: usize, bytes: &[u64], cx: &mut Cx<'_>) {
        let racks = self.demand.racks();
        if rack >= racks || bytes.len() != racks {
            return;
        }
        (0..).zip(bytes).for_each(|(to, &bytes)| self.demand.set(rack, to, bytes));
        if week > self.week {
            (self.week, self.reports, self.is_planned) = (week, 0, false);
            cx.wake(cx.now.after(self.config.gather), GATHERED);
        }
        self.reports += 1;
        if self.reports == racks {
            self.plan(cx);
        }
    }

    /// Plans the week, unless it is planned already.
    fn plan(&mut self, cx: &mut Cx<'_>) {
        if self.is_planned || self.week == 0 {
            return;
        }
        let uplinks = self.config.roles.uplinks;
        let (ends, failed) = (self.config.roles.ends() as usize, &self.failed);
        let Some((planner, terms)) = &mut self.config.planner else { return };
        self.is_planned = true;
        let mut weeks = vec![Week::default(); uplinks as usize];
        let works = |switch: usize, end: usize| !failed[switch * ends + end];
        let memory = &mut self.memory;
        let note = planner.plan(&self.demand, terms, works, memory, &mut weeks);
        self.weeks += 1;
        self.rotations += u64::from(matches!(note, Note::Rotation | Note::NoDemand));
        self.days += weeks.iter().map(|week| week.days().count() as u64).sum::<u64>();
        self.planned = Some((self.week, weeks));
        cx.wake(cx.now.after(self.config.computing), PLANNED);
    }

    /// Tells all other switches that a port has failed or works again.
    fn port(&mut self, rack: u16, uplink: u8, works: bool, cx: &mut Cx<'_>) {
        let roles = &self.config.roles;
        let (end, switch) = (u32::from(rack), u32::from(uplink));
        if end >= roles.ends() || switch >= roles.uplinks {
            return;
        }
        self.failed[(switch * roles.ends() + end) as usize] = !works;
        for other in (0..roles.seats()).filter(|other| *other != roles.seat_of(end)) {
            let packet = message(Message::Port { rack, uplink, works }.emit(), cx);
            self.account.created += 1;
            cx.send(PortId(other as u16), packet);
        }
    }

    /// Sends the planned week to all switches.
    fn send_plan(&mut self, cx: &mut Cx<'_>) {
        let Some((week, weeks)) = self.planned.take() else { return };
        let (roles, dark) = (&self.config.roles, self.config.dark);
        let all = match roles.cores {
            0 => rack_days(&weeks, dark),
            _ => vec![circuits_of_weeks(&weeks, dark); roles.seats() as usize],
        };
        for (seat, days) in (0..).zip(all) {
            let plan = Message::Plan { week, days };
            let packet = message(plan.emit(), cx);
            self.account.created += 1;
            cx.send(PortId(seat), packet);
        }
        self.sent = Some((week, weeks));
    }

    /// Takes the newest week that was sent: its number, and the circuits of all switches.
    pub(super) fn take_sent(&mut self) -> Option<(u64, Vec<Week>)> {
        self.sent.take()
    }

    /// Handles a message.
    pub(super) fn hear(&mut self, message: Message, cx: &mut Cx<'_>) {
        self.account.consumed += 1;
        match message {
            Message::Report { week, rack, bytes } => self.report(week, rack.into(), &bytes, cx),
            Message::Port { rack, uplink, works } => self.port(rack, uplink, works, cx),
            Message::Plan { .. } | Message::Told { .. } => {}
        }
    }
}

impl Node for CircuitScheduler {
    fn start(&mut self, _cx: &mut Cx<'_>) {}

    fn receive(&mut self, _port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        let bytes = cx.detach(&packet);
        let message = Message::parse(&bytes);
        if matches!(message, Ok(Message::Report { .. })) && self.config.loss.loses(&packet) {
            // Its bytes were detached already, so it is dropped as a packet without bytes.
            return cx.drop(&Packet { kind: Kind::Data, ..packet }, DropReason::Injected);
        }
        match message {
            Ok(message) => self.hear(message, cx),
            Err(_) => self.account.consumed += 1,
        }
    }

    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        None
    }

    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        if token == PLANNED { self.send_plan(cx) } else { self.plan(cx) }
    }

    fn account(&self) -> PacketAccount {
        self.account
    }

    fn add_counters(&self, counters: &mut Counters) {
        if self.config.planner.is_none() {
            return;
        }
        counters.add(counters::WEEKS_PLANNED, self.weeks);
        counters.add(counters::DAYS_PLANNED, self.days);
        counters.add(counters::WEEKS_OF_ROTATION, self.rotations);
    }
}
