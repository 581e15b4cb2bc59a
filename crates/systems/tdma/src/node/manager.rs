//! The fabric manager (§5.2). It collects demand, plans rounds, and lets hosts send in their slots.
//!
//! While a round runs, the next one is planned and announced. Pause frames leave on time, and all other messages
//! wait for them. A manager that has restarted learns all it needs from new reports.

mod announcements;

use super::demand_tracker::{DemandTracker, Scheduled};
use super::outbox::Outbox;
use super::runs::{Edge, Run};
use super::signals::{Signals, SwitchHosts};
use crate::counters;
use crate::options::Triggers;
use crate::wire::{Body, Demand, Edge as Side, Message};
use crate::{ClassMap, Classes, Round, RoundScheduler, Tdma};
use announcements::QueuedMessage;
use slotline_net::error::SpecError;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::control_switch::EVERYONE;
use slotline_net::node::{Change, Counters, Cx, DropReason, Node, PacketAccount};
use slotline_net::scheme::Map;
use slotline_net::scheme::network::Network;
use slotline_net::time::Time;
use slotline_net::units::Rate;
use std::collections::VecDeque;

const EDGE: u32 = 0;
const PLAN: u32 = 1;
const SEND: u32 = 2;
const SWEEP: u32 = 3;

/// The number of the slot for reports in a trigger.
pub(super) const REPORTS: u16 = u16::MAX;

/// The configuration of a fabric manager.
#[derive(Clone)]
pub struct ManagerConfig {
    /// The scheme.
    pub tdma: Tdma,
    /// Its host.
    pub host: HostId,
    /// The rate of its link.
    pub line: Rate,
    /// The rate of its link to the control network, if there is one.
    pub control: Option<Rate>,
    /// The hosts that it schedules, by switch.
    pub hosts: Vec<SwitchHosts>,
    /// The controllers near the hosts, one for each switch. If there are none, the manager sends all pause frames.
    pub controllers: Vec<HostId>,
    /// The weights of hosts whose weight is not 1.
    pub weights: Vec<(HostId, u32)>,
    /// The network.
    pub network: Network,
    /// The map that follows changes of routes and rates; `None` in a network that never changes.
    pub map: Option<Map>,
}

#[derive(Default)]
struct Counts {
    rounds: u64,
    slots: u64,
    reports: u64,
    bytes_received: u64,
    ignored: u64,
    aborted: u64,
    gone: u64,
}

/// The node of the fabric manager. It sends by its FIFO port 0, and by port 1 into the control network.
pub struct FabricManager {
    config: ManagerConfig,
    /// The hosts that it schedules, ascending.
    members: Vec<HostId>,
    signals: Signals,
    scheduler: Box<dyn RoundScheduler>,
    classes: ClassMap,
    tracker: DemandTracker,
    outbox: Outbox,
    control: Option<Outbox>,
    messages: VecDeque<QueuedMessage>,
    /// The round that is being planned, and when it is ready.
    planning: Option<(Time, Round)>,
    current: Option<Run>,
    next: Option<Run>,
    number: u32,
    /// Counts slots, which determines the order of hosts.
    turn: usize,
    /// When the last round began.
    begun: Option<Time>,
    /// Whether the last round had no slots.
    idle: bool,
    /// How long it took to announce the last round.
    announcing: Time,
    plan_at: Time,
    /// After a time without demand, until when further hosts are expected to report.
    gathered: Time,
    /// When the requested reports have arrived.
    answers: Time,
    send_at: Time,
    consumed: u64,
    counts: Counts,
}

impl FabricManager {
    /// A fabric manager without any reports.
    ///
    /// # Errors
    /// The planner of the scheme does not suit the network.
    pub fn new(config: ManagerConfig) -> Result<FabricManager, SpecError> {
        let hosts = config.network.hosts();
        let spec = config.tdma.spec();
        let mut scheduler = config.tdma.rounds().scheduler(config.network.clone())?;
        config.weights.iter().for_each(|&(host, weight)| scheduler.set_weight(host, weight));
        let classes = config.tdma.rounds().spec().classes;
        let outbox = Outbox::new(config.host, config.line);
        let control = config.control.map(|rate| Outbox::of_control(config.host, rate));
        let longest = outbox.longest().max(control.as_ref().map_or(Time::ZERO, Outbox::longest));
        let mut members: Vec<HostId> =
            config.hosts.iter().flatten().map(|(host, _)| *host).collect();
        members.sort_unstable();
        Ok(FabricManager {
            signals: Signals::new(spec, config.host, &config.hosts),
            scheduler,
            classes: ClassMap::new(hosts, classes),
            tracker: DemandTracker::new(hosts),
            announcing: longest.times(members.len() as u64),
            members,
            outbox,
            control,
            messages: VecDeque::new(),
            planning: None,
            current: None,
            next: None,
            number: 0,
            turn: 0,
            begun: None,
            idle: true,
            plan_at: Time::MAX,
            gathered: Time::ZERO,
            answers: Time::ZERO,
            send_at: Time::MAX,
            consumed: 0,
            counts: Counts::default(),
            config,
        })
    }

    /// Plans the next round, if it is time for it.
    fn plan_if_due(&mut self, cx: &mut Cx<'_>) {
        if self.polls() {
            self.next = None;
        }
        if self.planning.is_some() || self.next.is_some() {
            return;
        }
        let spec = self.config.tdma.spec();
        let ahead = spec.planning_time + spec.lead + self.announcing;
        let at = match &self.current {
            None => cx.now.max(self.gathered),
            Some(run) if spec.pipelined => run.over().since(ahead),
            Some(run) => run.over(),
        };
        let at = at.max(self.answers);
        if at > cx.now {
            if self.plan_at != at {
                self.plan_at = at;
                cx.wake(at, PLAN);
            }
            return;
        }
        self.plan(cx);
    }
    /// Whether the next round is only for reports, although some have already arrived.
    fn polls(&self) -> bool {
        let empty = self.next.as_ref().is_some_and(|run| run.round.is_empty());
        empty && self.tracker.demand.total() > 0
    }
    fn plan(&mut self, cx: &mut Cx<'_>) {
        let spec = self.config.tdma.spec();
        let mut round = Round::default();
        self.scheduler.plan(&mut self.tracker.demand, &mut round);
        if !round.is_empty() || spec.report_slot().is_some() {
            let at = cx.now.after(spec.planning_time);
            self.planning = Some((at, round));
            cx.wake(at, PLAN);
        }
    }
    /// Announces the planned round, if it is ready.
    fn announce_planned(&mut self, cx: &mut Cx<'_>) {
        let due = self.planning.as_ref().is_some_and(|(at, _)| *at <= cx.now);
        let Some((_, round)) = self.planning.take_if(|_| due) else { return };
        let mut classes = Classes::default();
        if self.classes.assign(&round, &mut classes).is_err() {
            // The planners of this crate keep to the number of classes, but another planner may not.
            self.tracker.give_back(round.assignments());
            self.counts.ignored += 1;
            return;
        }
        self.number = self.number.wrapping_add(1);
        let spec = self.config.tdma.spec();
        let (hosts, controllers) = (self.config.network.hosts(), self.config.controllers.len());
        let mut run = Run::new(
            self.number,
            round,
            classes,
            spec.report_slot(),
            spec.guard,
            hosts,
            controllers,
        );
        let (lead, round) = (spec.lead, spec.round);
        let messages = self.announce(&run);
        self.announcing = self.longest_message().times(messages);
        let known = cx.now.after(self.announcing + lead);
        let free = self.current.as_ref().map_or(cx.now, Run::over);
        run.begin = free.max(known);
        // After a round with slots, more demand is likely. Otherwise one request for reports per round is enough.
        if run.round.is_empty() && self.idle {
            run.begin = run.begin.max(self.begun.map_or(Time::ZERO, |begun| begun.after(round)));
        }
        cx.wake(run.begin, EDGE);
        self.next = Some(run);
    }

    /// Carries out what is due in the present round.
    fn run_edges(&mut self, cx: &mut Cx<'_>) {
        loop {
            if self.current.is_none() {
                self.current = self.next.take_if(|run| run.begin <= cx.now);
                if let Some(run) = &self.current {
                    (self.begun, self.idle) = (Some(cx.now), run.round.is_empty());
                }
                self.counts.rounds += u64::from(self.current.is_some());
            }
            let Some(run) = &self.current else { return };
            if run.due() > cx.now {
                return;
            }
            let edge = run.edge;
            self.edge(edge, cx);
            let Some(run) = &mut self.current else { return };
            if edge == Edge::Over {
                self.current = None;
                self.plan_if_due(cx);
            } else {
                run.advance();
                cx.wake(run.due(), EDGE);
                self.plan_if_due(cx);
            }
        }
    }
    fn edge(&mut self, edge: Edge, cx: &mut Cx<'_>) {
        match edge {
            Edge::Ask => {
                let spec = self.config.tdma.spec();
                let slot = spec.report_slot().unwrap_or_default();
                let taken = slot + spec.guard + spec.reaction() + spec.jitter();
                self.answers = cx.now.after(taken);
                self.signal(REPORTS, Side::Begins, cx);
            }
            Edge::Asked => self.signal(REPORTS, Side::Ends, cx),
            Edge::Begin(slot) => {
                self.counts.slots += 1;
                self.signal(slot, Side::Begins, cx);
            }
            Edge::End(slot) => {
                self.signal(slot, Side::Ends, cx);
                self.turn += 1;
                self.repeat();
            }
            Edge::Over => {}
        }
    }
    /// How long the longest message takes on the slowest link by which messages leave.
    fn longest_message(&self) -> Time {
        self.outbox.longest().max(self.control.as_ref().map_or(Time::ZERO, Outbox::longest))
    }
    /// The port by which messages to hosts leave.
    fn outbox_to_hosts(&mut self) -> &mut Outbox {
        let apart = self.config.tdma.spec().reports_apart();
        self.control.as_mut().filter(|_| apart).unwrap_or(&mut self.outbox)
    }
    /// The port by which messages to controllers leave.
    fn outbox_to_controllers(&mut self) -> &mut Outbox {
        self.control.as_mut().unwrap_or(&mut self.outbox)
    }
    /// Sends a message to all controllers: one after another, or in a broadcast frame.
    fn tell_controllers(&mut self, body: &Body, cx: &mut Cx<'_>) {
        if self.config.tdma.spec().triggers == Triggers::Broadcast {
            return self.outbox_to_controllers().message(EVERYONE, EVERYONE, 0, body.clone(), cx);
        }
        for at in 0..self.config.controllers.len() {
            let to = self.config.controllers[at];
            self.outbox_to_controllers().message(to, to, 0, body.clone(), cx);
        }
    }
    /// Sends pause frames, or triggers the controllers to send theirs.
    fn signal(&mut self, slot: u16, edge: Side, cx: &mut Cx<'_>) {
        let Some(round) = self.current.as_ref().map(|run| run.number) else { return };
        if !self.config.controllers.is_empty() {
            return self.tell_controllers(&Body::Trigger { round, slot, edge }, cx);
        }
        match edge {
            Side::Ends => self.stop_all(cx),
            Side::Begins => self.open(slot, cx),
        }
    }
    fn stop_all(&mut self, cx: &mut Cx<'_>) {
        for host in self.signals.order(self.turn) {
            self.outbox.frame(host, &self.signals.stop(host), cx);
        }
    }
    fn open(&mut self, slot: u16, cx: &mut Cx<'_>) {
        let Some(run) = &self.current else { return };
        for host in self.signals.order(self.turn) {
            let open = run.open_at(slot, host);
            if slot == REPORTS {
                self.outbox.frame(host, &self.signals.ask(host), cx);
            } else if !open.is_empty() {
                self.outbox.frame(host, &self.signals.open(host, open), cx);
            }
        }
    }
    /// Paths have changed, so all planned rounds are void.
    fn abort(&mut self, cx: &mut Cx<'_>) {
        let planning = self.planning.take().map(|(_, round)| round);
        if let Some(run) = &self.current {
            self.signal(run.next_slot(), Side::Ends, cx);
            self.counts.aborted += 1;
        }
        if let Some(run) = self.current.take() {
            self.tracker.give_back(run.round.from_slot(run.next_slot().into()));
        }
        let rounds = self.next.take().map(|run| run.round).into_iter().chain(planning);
        rounds.for_each(|round| self.tracker.give_back(round.assignments()));
        self.messages.clear();
        self.plan_if_due(cx);
    }

    /// Takes a message; `None` if it is ignored.
    fn receive_message(&mut self, message: Message, cx: &mut Cx<'_>) -> Option<()> {
        let Message { host, seq, body, .. } = message;
        if let Some(at) = self.config.controllers.iter().position(|other| *other == host) {
            return self.receive_from_controller(at, &body);
        }
        if !self.tracker.receive(host, seq, cx.now) {
            return None;
        }
        match body {
            Body::Hello => self.classes.forget(host),
            Body::Leave => self.tracker.leave(host),
            Body::Ready(round) => {
                let runs = [&mut self.current, &mut self.next].into_iter().flatten();
                runs.filter(|run| run.number == round).for_each(|run| run.ready[host.at()] = true);
            }
            Body::Demand(demand) => self.report(host, demand, cx),
            _ => return None,
        }
        Some(())
    }
    fn receive_from_controller(&mut self, at: usize, body: &Body) -> Option<()> {
        let runs = [&mut self.current, &mut self.next].into_iter().flatten();
        match *body {
            Body::Hello => runs.for_each(|run| run.controllers_ready[at] = false),
            Body::Ready(round) => {
                runs.filter(|run| run.number == round)
                    .for_each(|run| run.controllers_ready[at] = true);
            }
            _ => return None,
        }
        Some(())
    }
    fn report(&mut self, host: HostId, demand: Demand, cx: &mut Cx<'_>) {
        let report = demand.report;
        let planning = self.planning.as_ref().map(|(_, round)| {
            Scheduled::of(self.number.wrapping_add(1), round, self.config.network.hosts())
        });
        let runs = [&self.current, &self.next].into_iter().flatten().map(|run| &run.scheduled);
        let scheduled: Vec<_> = runs.chain(&planning).collect();
        let first = self.current.is_none() && self.tracker.demand.total() == 0;
        if self.tracker.report(host, demand, &scheduled) {
            self.counts.reports += 1;
            if first {
                // Hosts that are in step differ by at most a guard time. A round for only the first host
                // would make the others wait for its end.
                self.gathered = cx.now.after(self.config.tdma.spec().guard);
            }
            self.messages.push_back(QueuedMessage::Reported { host, report });
            self.plan_if_due(cx);
        }
    }
}

impl Node for FabricManager {
    fn start(&mut self, cx: &mut Cx<'_>) {
        self.outbox.start(cx.now);
        self.control.iter_mut().for_each(|control| control.start(cx.now));
        self.number = (cx.now.as_ns() / 1_000) as u32;
        if self.config.controllers.is_empty() {
            self.stop_all(cx);
        }
        for at in 0..self.members.len() {
            let to = self.members[at];
            self.outbox_to_hosts().message(to, to, 0, Body::Hello, cx);
        }
        if !self.config.controllers.is_empty() {
            self.tell_controllers(&Body::Hello, cx);
        }
        cx.wake(cx.now.after(self.config.tdma.spec().host_timeout()), SWEEP);
        if self.config.tdma.spec().report_slot().is_some() {
            self.plan_if_due(cx);
        }
    }
    fn receive(&mut self, _port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        if packet.dst != self.config.host {
            cx.drop(&packet, DropReason::Misrouted);
            return;
        }
        self.consumed += 1;
        if packet.kind != Kind::Control {
            return;
        }
        self.counts.bytes_received += u64::from(packet.len);
        let bytes = cx.detach(&packet);
        let sender = HostId(packet.flow);
        // A message in the name of another host is ignored.
        let message = Message::parse(&bytes).ok().filter(|message| message.host == sender);
        if message.and_then(|message| self.receive_message(message, cx)).is_none() {
            self.counts.ignored += 1;
        }
        self.send(cx);
    }
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        None
    }
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        match token {
            EDGE => self.run_edges(cx),
            PLAN => {
                self.announce_planned(cx);
                self.plan_if_due(cx);
            }
            SWEEP => {
                let timeout = self.config.tdma.spec().host_timeout();
                self.counts.gone += self.tracker.sweep(timeout, cx.now);
                cx.wake(cx.now.after(Time::ps(timeout.as_ps() / 4)), SWEEP);
            }
            _ => {}
        }
        self.send(cx);
    }
    fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        let Some(map) = &mut self.config.map else { return };
        match change {
            Change::Routes(routes) => map.reroute(routes),
            Change::Elsewhere(end, rate) => map.set_rate(*end, *rate),
            _ => return,
        }
        let network = map.network().first(self.config.network.hosts());
        if self.scheduler.reroute(network).is_err() {
            self.counts.ignored += 1;
        }
        self.abort(cx);
        self.send(cx);
    }
    fn account(&self) -> PacketAccount {
        let created = self.outbox.created + self.control.as_ref().map_or(0, |port| port.created);
        PacketAccount { created, consumed: self.consumed, held: 0 }
    }
    fn add_counters(&self, counters: &mut Counters) {
        let counts = &self.counts;
        self.outbox.add_counters(counters);
        self.control.iter().for_each(|control| control.add_counters(counters));
        counters.add(counters::ROUNDS, counts.rounds);
        counters.add(counters::SLOTS, counts.slots);
        counters.add(counters::REPORTS, counts.reports);
        counters.add(counters::CONTROL_BYTES_RECEIVED, counts.bytes_received);
        counters.add(counters::IGNORED_MESSAGES, counts.ignored);
        counters.add(counters::ABORTED_ROUNDS, counts.aborted);
        counters.add(counters::SILENT_HOSTS, counts.gone);
    }
}
