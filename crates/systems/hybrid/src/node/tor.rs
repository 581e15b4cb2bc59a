//! The switch of a rack. Packets for other racks wait by destination, for a circuit or for the packet switch.

mod kicks;
mod node;
mod notifications;
mod ports;

use super::conditions::ConditionTable;
use super::packet_switch::{hold_request, restored};
use super::relay::{Relay, Source};
use super::round_robin::RoundRobin;
use super::week_tracker::WeekTracker;
use super::{message, rack_counters::RackCounters};
use crate::schedule::{Condition, ScheduleAction, ScheduleExecutor};
use crate::wire::{Message, ToldCircuit};
use crate::{AtNight, DemandEstimator, Shrink, Voq, VoqSpec, VoqStats};
use notifications::Notifications;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::PortId;
use slotline_net::node::{Cx, DropReason, Note, PacketAccount};
use slotline_net::time::Time;
use slotline_net::topology::{RackPorts, Roles};
use slotline_net::units::InverseRate;

/// The links of a rack to the circuit switches.
#[derive(Clone, Copy, Debug)]
pub struct CircuitLinks {
    /// The rate of circuits at the start.
    pub pace: InverseRate,
    /// The propagation delay from rack to rack.
    pub delay: Time,
}

/// The links of a rack to the packet switch, and of the packet switch to a rack.
#[derive(Clone, Copy, Debug)]
pub struct PacketLinks {
    /// The rates of both at the start.
    pub paces: [InverseRate; 2],
    /// The sum of their propagation delays.
    pub delay: Time,
}

impl PacketLinks {
    /// The time of a packet of `bytes` on both links.
    #[inline]
    fn time_for(self, bytes: u64) -> Time {
        self.paces.iter().fold(self.delay, |time, pace| time + pace.time_for(bytes))
    }
}

/// The configuration of the switch of a rack.
pub struct TorConfig {
    /// The number of the rack.
    pub rack: u32,
    /// The fabric.
    pub roles: Roles,
    /// The options of its queues.
    pub voq: VoqSpec,
    /// Its links to circuit switches, if the fabric has any.
    pub circuits: Option<CircuitLinks>,
    /// Its links to and from the packet switch, if the fabric has one.
    pub packet_links: Option<PacketLinks>,
    /// All circuits that may exist, from rack to rack, where packets can be relayed.
    pub all_circuits: Vec<(u16, u16)>,
    /// Its actions over time.
    pub executor: ScheduleExecutor,
    /// The weeks, where the scheduler plans them one by one.
    pub weekly: Option<WeekTracker>,
    /// The demand that its hosts have announced, where that counts as demand.
    pub estimator: Option<DemandEstimator>,
    /// Whether a circuit is used only as far as the controller says that its switch was told. Simulated switches follow the
    /// schedule by themselves.
    pub waits_for_switch: bool,
}

/// The switch of a rack.
pub struct Tor {
    config: TorConfig,
    ports: RackPorts,
    voqs: Vec<Voq>,
    conditions: ConditionTable,
    /// By destination rack, whether the packet switch has asked to hold packets.
    held: Vec<bool>,
    /// The queues from which the packet switch may take.
    turns: RoundRobin,
    relay: Option<Relay>,
    notifications: Option<Notifications>,
    /// By uplink, where its circuit leads, and when it ends.
    open: Vec<Option<(u16, Time)>>,
    /// By uplink, where its circuit would lead if all ports worked.
    days: Vec<Option<(u16, Time)>>,
    /// By uplink, the circuit that its switch has been told.
    told: Vec<ToldCircuit>,
    /// By uplink, the rate of its port.
    paces: Vec<InverseRate>,
    /// By uplink, when its last packet has left.
    busy_until: Vec<Time>,
    /// The earliest wake-up that was requested and has not come.
    wake: Time,
    account: PacketAccount,
    counters: RackCounters,
}

const AGENDA: u32 = 0;

impl Tor {
    /// A switch with empty queues.
    pub fn new(config: TorConfig) -> Tor {
        let (racks, uplinks) = (config.roles.racks as usize, config.roles.uplinks as usize);
        Tor {
            voqs: vec![Voq::new(config.voq.packets); racks],
            ports: config.roles.ports(config.rack),
            conditions: ConditionTable::new(config.rack as usize, racks, uplinks),
            held: vec![false; racks],
            turns: RoundRobin::new(racks),
            relay: config.voq.relay.map(|spec| Relay::new(spec, racks, &config.all_circuits)),
            notifications: config
                .voq
                .notify
                .map(|spec| Notifications::new(spec, racks, config.roles.hosts.count(config.rack))),
            open: vec![None; uplinks],
            days: vec![None; uplinks],
            told: vec![ToldCircuit::NONE; uplinks],
            paces: config.circuits.map_or(vec![], |circuits| vec![circuits.pace; uplinks]),
            busy_until: vec![Time::ZERO; uplinks],
            wake: Time::MAX,
            account: PacketAccount::default(),
            counters: RackCounters::new(racks),
            config,
        }
    }

    /// The counters of the queue for `rack`, and how long there was a circuit to it.
    pub fn stats(&self, rack: usize) -> (VoqStats, Time) {
        (self.voqs[rack].stats, self.counters.up(rack))
    }

    /// The number of its rack, and the number of racks.
    pub fn racks(&self) -> (u32, u32) {
        (self.config.rack, self.config.roles.racks)
    }

    /// Queues a packet for another rack. Returns the port of a host of this rack for which it is.
    fn forward(&mut self, port: PortId, packet: &Packet, cx: &mut Cx<'_>) -> Option<PortId> {
        let hosts = &self.config.roles.hosts;
        let to = hosts.rack(packet.dst);
        if to == self.config.rack {
            return Some(hosts.port(packet.dst, to));
        }
        if to >= self.config.roles.racks {
            cx.drop(packet, DropReason::NoRoute);
        } else if self.ports.is_host(port) {
            self.comes_from_host(port, to as usize, packet, cx);
        } else if self.ports.packet() == Some(port) {
            self.take_back(to as usize, restored(*packet), cx);
        } else {
            self.relay(to as usize, packet, cx);
        }
        None
    }

    /// Stores a packet of another rack until there is a second circuit.
    fn relay(&mut self, to: usize, packet: &Packet, cx: &mut Cx<'_>) {
        let Some(relay) = &mut self.relay else {
            return cx.drop(packet, DropReason::Misrouted);
        };
        if !relay.store(to, packet, cx.now) {
            return cx.drop(packet, DropReason::Full);
        }
        self.account.held += 1;
        self.kick_circuits(to, packet.len, |next, _| next == to, cx);
    }

    /// The packet switch returned a packet. It leaves before others, unless too many returned packets wait.
    fn take_back(&mut self, to: usize, packet: Packet, cx: &mut Cx<'_>) {
        if !self.voqs[to].take_back(packet, cx.now) {
            return cx.drop(&packet, DropReason::Full);
        }
        self.account.held += 1;
        self.update_offer(to, cx);
        self.kick_own(to, packet.len, cx);
    }

    /// A packet of a host of this rack joins the queue for rack `to`.
    fn comes_from_host(&mut self, port: PortId, to: usize, packet: &Packet, cx: &mut Cx<'_>) {
        if packet.kind == Kind::Data {
            if let Some(notifications) = &mut self.notifications {
                notifications.data_sent(port, to);
            }
            if let Some(estimator) = &mut self.config.estimator {
                estimator.arrives(packet.flow, packet.seq, cx.now);
            }
        }
        let voq = &mut self.voqs[to];
        if !voq.push(*packet, cx.now) {
            return cx.drop(packet, DropReason::Full);
        }
        self.account.held += 1;
        if voq.len() == 1 {
            self.update_offer(to, cx);
            self.kick_own(to, packet.len, cx);
        }
    }

    /// A packet was taken from the queue for `to`.
    #[inline(always)]
    fn taken(&mut self, to: usize) {
        let stays = !self.voqs[to].is_empty();
        self.turns.keep(to, stays);
        if let Some(relay) = &mut self.relay {
            relay.turns.keep(to, stays);
        }
    }

    /// Updates whether the packet switch and relays may take from the queue for `to`.
    fn update_offer(&mut self, to: usize, cx: &mut Cx<'_>) {
        let blocked = self.conditions.of(to).hold(Condition::PacketSwitchBlocked) || self.held[to];
        let free = !blocked && !self.voqs[to].is_empty();
        self.turns.set(to, free);
        if let Some(relay) = &mut self.relay {
            relay.turns.set(to, !self.voqs[to].is_empty());
        }
        if let Some(port) = self.ports.packet().filter(|_| free) {
            cx.kick(port);
        }
    }

    /// The next packet for the packet switch.
    fn by_packet_switch(&mut self, cx: &Cx<'_>) -> Option<Packet> {
        let to = self.turns.next()?;
        let (&packet, waited) = self.voqs[to].pop(cx.now)?;
        self.taken(to);
        self.voqs[to].stats.packet_bytes += u64::from(packet.len);
        let links = self.config.packet_links;
        let on_links = links.map_or(Time::ZERO, |links| links.time_for(u64::from(packet.len)));
        self.counters.packet(packet.len, waited + on_links);
        Some(self.leave(to, packet, 0))
    }

    /// The queue from which a circuit to `to` takes its next packet.
    fn source(&mut self, to: usize) -> Option<Source> {
        let own = !self.voqs[to].is_empty();
        match &mut self.relay {
            None => own.then_some(Source::Own(to)),
            Some(relay) => relay.choose(to, own),
        }
    }

    /// The next packet for a circuit, if it can be complete before night.
    fn by_circuit(&mut self, uplink: usize, cx: &mut Cx<'_>) -> Option<Packet> {
        let (leads_to, until) = self.open[uplink]?;
        let (leads_to, circuits) = (usize::from(leads_to), self.config.circuits?);
        let source = self.source(leads_to)?;
        let first = match (source, &self.relay) {
            (Source::Own(to), _) => self.voqs[to].first(),
            (Source::Stored, relay) => relay.as_ref()?.first(leads_to),
        };
        let len = u64::from(first?.len);
        let end = cx.now + self.paces[uplink].time_for(len);
        let whole = end <= until;
        if !whole && self.config.voq.at_night == AtNight::Hold {
            self.counters.held += 1;
            return None;
        }
        let (&packet, waited) = match source {
            Source::Own(to) => self.voqs[to].pop(cx.now)?,
            Source::Stored => self.relay.as_mut()?.pop(leads_to, cx.now)?,
        };
        if let Source::Own(to) = source {
            self.taken(to);
        }
        if !whole && self.config.voq.at_night == AtNight::Drop {
            self.counters.cut += 1;
            self.open[uplink] = None;
            self.account.held -= 1;
            cx.drop(&packet, DropReason::LinkDown);
            return None;
        }
        self.busy_until[uplink] = end;
        self.counters.on_circuit(leads_to, len, end.since(until));
        let Source::Own(to) = source else {
            self.account.held -= 1;
            self.counters.second_hops += 1;
            return Some(packet);
        };
        self.voqs[to].stats.circuit_bytes += len;
        self.counters.circuit(packet.len, waited + end.since(cx.now) + circuits.delay);
        self.counters.first_hops += u64::from(to != leads_to);
        if let Some(relay) = &mut self.relay {
            relay.turns.taken(to);
        }
        Some(self.leave(to, packet, 1))
    }

    /// A packet leaves by a path of `class`, and carries the state of the circuit in the other direction.
    #[inline(always)]
    fn leave(&mut self, to: usize, mut packet: Packet, class: u8) -> Packet {
        self.account.held -= 1;
        if let Some(estimator) = &mut self.config.estimator
            && packet.kind == Kind::Data
        {
            estimator.leaves(packet.flow, packet.seq);
        }
        let conditions = self.conditions.of(to);
        packet.put_on_path(class);
        let marked = conditions.hold(Condition::Marking);
        packet.set_circuits(u8::from(conditions.hold(Condition::Receiving)), marked);
        self.counters.marked += u64::from(marked);
        packet
    }

    /// Begins while the schedule goes on, as the switch of a real rack may.
    fn join(&mut self, now: Time) {
        self.config.executor.skip_to(now);
        if let Some(weekly) = &mut self.config.weekly {
            weekly.skip_to(now, &mut self.config.executor);
        }
    }

    /// Does all actions that are due.
    fn run_schedule(&mut self, cx: &mut Cx<'_>) {
        while let Some(action) = self.config.executor.due(cx.now) {
            self.act(action, cx);
        }
        let next = self.config.executor.next().unwrap_or(Time::MAX);
        if next < self.wake {
            self.wake = next;
            cx.wake(next, AGENDA);
        }
    }

    fn act(&mut self, action: ScheduleAction, cx: &mut Cx<'_>) {
        match action {
            ScheduleAction::Begin { condition, rack, uplink } => {
                self.set_condition(condition, rack, uplink, true, cx);
            }
            ScheduleAction::End { condition, rack, uplink } => {
                self.set_condition(condition, rack, uplink, false, cx);
            }
            ScheduleAction::Open { uplink, to, until } => {
                self.days[usize::from(uplink)] = Some((to, until));
                self.open(uplink, cx);
            }
            ScheduleAction::Close { uplink, .. } => {
                self.days[usize::from(uplink)] = None;
                self.open[usize::from(uplink)] = None;
            }
            ScheduleAction::Report(week) => self.report(week, cx),
            ScheduleAction::BeginWeek(week) => self.begin_week(week, cx.now),
            // Only switches that know all circuits have these actions.
            ScheduleAction::Extend { .. }
            | ScheduleAction::Connect { .. }
            | ScheduleAction::Disconnect(_) => {}
        }
    }

    /// A day requires a condition from now on, or no longer.
    fn set_condition(
        &mut self,
        condition: Condition,
        rack: u16,
        uplink: u8,
        on: bool,
        cx: &mut Cx<'_>,
    ) {
        self.conditions.set(condition, rack, uplink, on);
        let to = usize::from(rack);
        match condition {
            Condition::PacketSwitchBlocked => self.update_offer(to, cx),
            Condition::LargerQueue => self.resize_queue(to, cx),
            Condition::Announced => self.notify_hosts(to, cx),
            Condition::Marking | Condition::Receiving => {}
        }
    }

    /// From when until when a circuit to `to` whose day ends at `until` may be used, as far as its switch has been told.
    fn use_of(&self, uplink: u8, to: u16, until: Time, now: Time) -> Option<(Time, Time)> {
        if !self.config.waits_for_switch {
            return Some((now, until));
        }
        let told = self.told[usize::from(uplink)];
        let until = until.min(told.until);
        (told.to == to && until > told.from.max(now)).then_some((told.from, until))
    }

    /// The circuit of the day is up, if its ports work, as far as its switch has been told.
    fn open(&mut self, uplink: u8, cx: &mut Cx<'_>) {
        let Some((to, day)) = self.days[usize::from(uplink)] else { return };
        let Some((from, until)) = self.use_of(uplink, to, day, cx.now) else { return };
        if from > cx.now {
            let later = ScheduleAction::Open { uplink, to, until: day };
            return self.config.executor.add_action(from, later);
        }
        if self.open[usize::from(uplink)] == Some((to, until)) {
            return;
        }
        if !self.conditions.works(to.into(), uplink.into()) {
            self.counters.days_without_port += 1;
            return;
        }
        let port = self.ports.circuit(uplink.into());
        self.open[usize::from(uplink)] = Some((to, until));
        self.counters.day(to.into(), until.since(cx.now));
        let roles = &self.config.roles;
        let (host, dst) = (roles.hosts.first(self.config.rack), roles.hosts.first(to.into()));
        cx.note(Note::Circuit { host, dst, until });
        cx.rewire(port, roles.tor(to.into()), roles.ports(to.into()).circuit(uplink.into()));
        cx.kick(port);
    }

    /// Gives the queue for `to` the size that its days require.
    fn resize_queue(&mut self, to: usize, cx: &mut Cx<'_>) {
        let Some(resize) = self.config.voq.resize else { return };
        if self.conditions.of(to).hold(Condition::LargerQueue) {
            return self.voqs[to].resize(resize.to);
        }
        self.voqs[to].resize(self.config.voq.packets);
        while resize.shrink == Shrink::Drop
            && let Some(packet) = self.voqs[to].shed()
        {
            self.account.held -= 1;
            cx.drop(&packet, DropReason::Full);
        }
    }

    fn report(&mut self, week: u64, cx: &mut Cx<'_>) {
        let end = self.config.weekly.as_ref().map_or(cx.now, |weekly| weekly.end_of(week));
        let bytes = match &mut self.config.estimator {
            Some(estimator) => estimator.report(end, cx.now),
            None => self.voqs.iter().map(Voq::bytes).collect(),
        };
        let report = Message::Report { week, rack: self.config.rack as u16, bytes };
        let packet = message(report.emit(), cx);
        self.account.created += 1;
        cx.send(self.ports.control(), packet);
    }

    fn begin_week(&mut self, week: u64, now: Time) {
        if let Some(weekly) = &mut self.config.weekly {
            weekly.begin(week, &mut self.config.executor, now);
        }
    }

    /// A message from the scheduler has arrived.
    fn receive_message(&mut self, packet: &Packet, cx: &mut Cx<'_>) {
        self.account.consumed += 1;
        let bytes = cx.detach(packet);
        let roles = &self.config.roles;
        match (Message::parse(&bytes), &mut self.config.weekly) {
            (Ok(Message::Plan { week, days }), Some(weekly))
                if weekly.fits(&days, roles.uplinks, roles.ends()) =>
            {
                weekly.plan(week, days, &mut self.config.executor, cx.now);
                self.run_schedule(cx);
            }
            (Ok(Message::Port { rack, uplink, works }), _)
                if u32::from(uplink) < self.config.roles.uplinks =>
            {
                self.set_port(rack.into(), uplink, works, cx);
            }
            (Ok(Message::Told { uplink, circuit }), _)
                if self.config.waits_for_switch
                    && u32::from(uplink) < self.config.roles.uplinks =>
            {
                self.learn_circuit(uplink, circuit, cx);
            }
            _ => {}
        }
    }

    /// The switch of an uplink has been told a circuit. Messages may overtake each other.
    fn learn_circuit(&mut self, uplink: u8, circuit: ToldCircuit, cx: &mut Cx<'_>) {
        let at = usize::from(uplink);
        if circuit.until < self.told[at].until {
            return;
        }
        self.told[at] = circuit;
        if self.open[at].is_some_and(|(to, _)| to != circuit.to) {
            self.open[at] = None;
        }
        self.open(uplink, cx);
        self.run_schedule(cx);
    }

    /// The packet switch asks to hold packets, or to resume.
    fn receive_hold(&mut self, packet: &Packet, cx: &mut Cx<'_>) {
        self.account.consumed += 1;
        if let Some((to, stop)) = hold_request(packet)
            && let Some(held) = self.held.get_mut(to)
        {
            *held = stop;
            self.update_offer(to, cx);
        }
    }
}
