//! The scheduler of circuits: reports in, weeks out. News of ports that fail goes to all racks.

use super::message;
use crate::program::{of_all, of_racks};
use crate::wire::Message;
use slotline_circuits::{CircuitTiming, Demand, Note, PlanWorkspace, Planner, Week};
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::PortId;
use slotline_net::node::station::Loss;
use slotline_net::node::{Cx, DropReason, Node, PacketAccount, Tally};
use slotline_net::time::Time;
use slotline_net::topology::{Dark, Roles};

/// What the scheduler is made from.
pub struct SchedulerConfig {
    /// How weeks are planned, and the network as the scheduler sees it; none where all is known ahead.
    pub planner: Option<(Planner, CircuitTiming)>,
    /// The fabric.
    pub roles: Roles,
    /// How long it waits for further reports after the first of a week.
    pub gather: Time,
    /// What planning takes.
    pub computing: Time,
    /// What a night darkens.
    pub dark: Dark,
    /// Reports that get lost.
    pub loss: Loss,
}

/// Wake-ups.
const GATHERED: u32 = 0;
const PLANNED: u32 = 1;

/// The scheduler as a node: a port for each rack, and for each core switch.
pub struct CircuitScheduler {
    config: SchedulerConfig,
    demand: Demand,
    memory: PlanWorkspace,
    /// By circuit switch and end: the port there has failed.
    dead: Vec<bool>,
    /// The week that reports come for, and how many came.
    week: u64,
    reports: usize,
    decided: bool,
    /// What is planned and not yet sent: the week, and the weeks of all switches.
    planned: Option<(u64, Vec<Week>)>,
    account: PacketAccount,
    weeks: u64,
    days: u64,
    rotations: u64,
}

impl CircuitScheduler {
    /// One that has heard of nothing.
    ///
    /// # Panics
    /// Where there are more racks than a demand can have: the fabric was checked.
    pub fn new(config: SchedulerConfig) -> CircuitScheduler {
        let roles = config.roles;
        let demand =
            Demand::new(roles.racks as usize).expect("a fabric has a number of racks that can be");
        CircuitScheduler {
            memory: PlanWorkspace::default(),
            dead: vec![false; (roles.ends() * roles.uplinks) as usize],
            demand,
            config,
            week: 0,
            reports: 0,
            decided: false,
            planned: None,
            account: PacketAccount::default(),
            weeks: 0,
            days: 0,
            rotations: 0,
        }
    }

    /// A rack's report of a week; one that comes when its week is decided is for the next.
    fn report(&mut self, week: u64, rack: usize, bytes: &[u64], cx: &mut Cx<'_>) {
        let racks = self.demand.racks();
        if rack >= racks || bytes.len() != racks {
            return;
        }
        (0..).zip(bytes).for_each(|(to, &bytes)| self.demand.set(rack, to, bytes));
        if week > self.week {
            (self.week, self.reports, self.decided) = (week, 0, false);
            cx.wake(cx.now.after(self.config.gather), GATHERED);
        }
        self.reports += 1;
        if self.reports == racks {
            self.decide(cx);
        }
    }

    fn decide(&mut self, cx: &mut Cx<'_>) {
        if self.decided || self.week == 0 {
            return;
        }
        let Roles { uplinks, .. } = self.config.roles;
        let (ends, dead) = (self.config.roles.ends() as usize, &self.dead);
        let Some((planner, terms)) = &mut self.config.planner else { return };
        self.decided = true;
        let mut weeks = vec![Week::default(); uplinks as usize];
        let works = |switch: usize, end: usize| !dead[switch * ends + end];
        let memory = &mut self.memory;
        let note = planner.plan(&self.demand, terms, works, memory, &mut weeks);
        self.weeks += 1;
        self.rotations += u64::from(matches!(note, Note::Rotation | Note::NoDemand));
        self.days += weeks.iter().map(|week| week.days().count() as u64).sum::<u64>();
        self.planned = Some((self.week, weeks));
        cx.wake(cx.now.after(self.config.computing), PLANNED);
    }

    /// A port has failed, or works again: all others are told.
    fn port(&mut self, (rack, uplink): (u16, u8), works: bool, cx: &mut Cx<'_>) {
        let roles = self.config.roles;
        let (end, switch) = (u32::from(rack), u32::from(uplink));
        if end >= roles.ends() || switch >= roles.uplinks {
            return;
        }
        self.dead[(switch * roles.ends() + end) as usize] = !works;
        for other in (0..roles.seats()).filter(|other| *other != roles.seat_of(end)) {
            let packet = message(Message::Port { rack, uplink, works }.emit(), cx);
            self.account.created += 1;
            cx.send(PortId(other as u16), packet);
        }
    }

    fn tell(&mut self, cx: &mut Cx<'_>) {
        let Some((week, weeks)) = self.planned.take() else { return };
        let (roles, dark) = (self.config.roles, self.config.dark);
        let all = match roles.cores {
            0 => of_racks(&weeks, dark),
            _ => vec![of_all(&weeks, dark); roles.seats() as usize],
        };
        for (seat, days) in (0..).zip(all) {
            let plan = Message::Plan { week, days };
            let packet = message(plan.emit(), cx);
            self.account.created += 1;
            cx.send(PortId(seat), packet);
        }
    }
}

impl Node for CircuitScheduler {
    fn start(&mut self, _cx: &mut Cx<'_>) {}

    fn receive(&mut self, _port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        let bytes = cx.detach(&packet);
        let said = Message::parse(&bytes);
        if matches!(said, Ok(Message::Report { .. })) && self.config.loss.loses(&packet) {
            // Its bytes are given back already: as a packet that has none.
            return cx.drop(&Packet { kind: Kind::Data, ..packet }, DropReason::Injected);
        }
        self.account.consumed += 1;
        match said {
            Ok(Message::Report { week, rack, bytes }) => self.report(week, rack.into(), &bytes, cx),
            Ok(Message::Port { rack, uplink, works }) => self.port((rack, uplink), works, cx),
            Ok(Message::Plan { .. }) | Err(_) => {}
        }
    }

    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        None
    }

    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        if token == PLANNED { self.tell(cx) } else { self.decide(cx) }
    }

    fn account(&self) -> PacketAccount {
        self.account
    }

    fn tally(&self, tally: &mut Tally) {
        if self.config.planner.is_none() {
            return;
        }
        tally.add("weeks_planned", self.weeks);
        tally.add("days_planned", self.days);
        tally.add("weeks_of_rotation", self.rotations);
    }
}
