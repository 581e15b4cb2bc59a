//! XCo's local coordinator (§3.1). It holds a host's packets back until the controller permits them.
//!
//! Packets wait in one FIFO per V2V flow. The coordinator reports a queue that fills. A directive opens the
//! queues of a destination for a while, or at a rate, and its V2V flows take turns. A permission that stays
//! unused is given back. Acknowledgements and small flows are exempt. A host that hears nothing from the
//! controller for too long sends uncontrolled until the controller is back (§7).
//!
//! On demand (§7) destinations are free at first. The host reports what it sends, and holds back packets for
//! the destinations that the controller lists.

mod controller_state;
mod flows;
mod load;
mod queues;

use crate::counters;
use crate::levels::Levels;
use crate::spec::Xco;
use crate::wire::{Body, MAX_FLOWS, Message};
use controller_state::ControllerState;
use flows::Arrival;
use queues::Queues;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::agent::{AGENT_TOKENS, Agent};
use slotline_net::node::host::Plan;
use slotline_net::node::{Counters, Cx, Note, PacketAccount};
use slotline_net::rng::Stream;
use slotline_net::scheme::CONTROL_CLASS;
use slotline_net::time::Time;
use slotline_net::units::Rate;
use slotline_net::wire::ETHERNET_OVERHEAD;
use slotline_net::workload::Machines;
use std::collections::VecDeque;
use std::sync::Arc;

/// The agent of a host under XCo.
pub struct Coordinator {
    host: HostId,
    slice: Time,
    /// After this time an unused permission is given back.
    hysteresis: Time,
    small_flow: u64,
    exempt_acks: bool,
    timeout: Time,
    report_interval: Time,
    /// When its reports are due within a report interval. It differs among hosts, so that hosts that begin to
    /// wait at the same time do not always report at the same time.
    phase: Time,
    /// The time to set up a V2V flow's queue.
    setup: Time,
    /// The interval of load measurements, on demand.
    measure: Option<Time>,

    /// The levels that say which controller decides about a destination.
    levels: Option<Arc<Levels>>,
    /// The virtual machines of connections, where there are several.
    plan: Option<Arc<Plan>>,
    controllers: Vec<ControllerState>,
    queues: Queues,
    /// Messages to the controllers, except reports.
    messages: VecDeque<Packet>,
    /// Packets that need no permission.
    exempt: VecDeque<Packet>,
    /// With coordination on demand, the destinations that need permission.
    controlled: Vec<HostId>,
    /// V2V flows that are being set up, and when they will be ready.
    setting_up: VecDeque<(Time, HostId, Machines)>,
    /// When the load has to be reported. [`Time::MAX`]: there is none.
    load_due: Time,
    /// Whether the host has left. Then it sends only the message that it leaves.
    away: bool,
    created: u64,
    counters: CoordinatorCounters,
}

/// The counters of a coordinator.
#[derive(Clone, Copy, Default)]
struct CoordinatorCounters {
    /// V2V flows for which a queue was set up.
    flows: u64,
    /// How often a controller was silent for too long.
    silences: u64,
}

impl Coordinator {
    /// Makes the coordinator of `host`, whose controller runs on `controller`.
    pub fn new(options: &Xco, host: HostId, controller: HostId) -> Coordinator {
        Coordinator::below(options, host, vec![vec![controller]])
    }
    /// Makes a coordinator below several controllers, one for each level, each with its standby, if it has
    /// one.
    pub fn below(options: &Xco, host: HostId, controllers: Vec<Vec<HostId>>) -> Coordinator {
        let spec = options.spec();
        Coordinator {
            host,
            slice: spec.slice,
            hysteresis: spec.release_delay(),
            small_flow: spec.small_flow.0,
            exempt_acks: spec.exempt_acks,
            timeout: spec.timeout(),
            report_interval: spec.report_interval(),
            phase: Time::ZERO,
            setup: spec.setup,
            measure: spec.on_demand.as_ref().map(|demand| demand.interval),
            levels: None,
            plan: None,
            controllers: controllers.into_iter().map(ControllerState::new).collect(),
            queues: Queues::new(Time::ps(spec.slice.as_ps() / 2)),
            messages: VecDeque::new(),
            exempt: VecDeque::new(),
            controlled: Vec::new(),
            setting_up: VecDeque::new(),
            load_due: Time::MAX,
            away: false,
            created: 0,
            counters: CoordinatorCounters::default(),
        }
    }
    /// Distinguishes the V2V flows of the connections of `plan`.
    pub fn with_machines(self, plan: &Arc<Plan>) -> Coordinator {
        let several = plan.traffic.conns.iter().any(|conn| conn.machines != Machines::default());
        Coordinator { plan: several.then(|| Arc::clone(plan)), ..self }
    }
    /// Repeats its reports at times of its own, drawn from `stream`.
    pub fn with_phase(self, mut stream: Stream) -> Coordinator {
        let phase = Time::ps(stream.below(self.report_interval.as_ps()));
        Coordinator { phase, ..self }
    }
    /// Sets the rate of its link. A packet has to be complete when its timeslice ends.
    pub fn with_line(mut self, line: Rate) -> Coordinator {
        self.queues.line = Some(line.inverse_rate());
        self
    }
    /// Lets the controllers of several levels decide, each about its destinations.
    pub fn with_levels(self, levels: Arc<Levels>) -> Coordinator {
        Coordinator { levels: Some(levels), ..self }
    }
    /// Whether a controller has been silent for too long, so that packets leave uncontrolled.
    pub fn uncontrolled(&self) -> bool {
        self.controllers.iter().any(|controller| controller.uncontrolled)
    }
    fn controller(&mut self, level: u8) -> &mut ControllerState {
        &mut self.controllers[usize::from(level)]
    }
    fn level(&self, dst: HostId) -> u8 {
        self.levels.as_ref().map_or(0, |levels| levels.of(self.host, dst))
    }
    /// The V2V flow of `packet`. That of an acknowledgement has the opposite direction.
    fn machines(&self, packet: &Packet) -> Machines {
        let conn = self.plan.as_ref().and_then(|plan| plan.traffic.conns.get(packet.flow as usize));
        let machines = conn.map_or(Machines::default(), |conn| conn.machines);
        if packet.kind == Kind::Ack { machines.back() } else { machines }
    }

    /// Queues a message for the controller of a level, and for its standby.
    fn send(&mut self, level: u8, body: Body, cx: &mut Cx<'_>) {
        let (seq, heard, term) = self.controller(level).number();
        let bytes = Message { host: self.host, seq, heard, level, term, body }.emit();
        let stations = &self.controllers[usize::from(level)].stations;
        for (station, bytes) in stations.iter().zip(std::iter::repeat_n(bytes, stations.len())) {
            self.created += 1;
            let ends = (self.host, *station);
            self.messages.push_back(cx.attach(ends, bytes, ETHERNET_OVERHEAD, CONTROL_CLASS));
        }
    }
    /// Makes sure that a controller knows this host, which joins with its first message (§3.5).
    fn register(&mut self, level: u8, cx: &mut Cx<'_>) {
        if !std::mem::replace(&mut self.controller(level).joined, true) {
            self.send(level, Body::Hello, cx);
        }
    }
    /// Writes a report that is due.
    fn write_report(&mut self, cx: &mut Cx<'_>) {
        let due = self.controllers.iter().position(|controller| controller.report);
        let Some(level) = due.map(|level| level as u8) else { return };
        self.controller(level).report = false;
        self.register(level, cx);
        let backlog = self.queues.backlog(level, MAX_FLOWS);
        self.send(level, Body::Backlog(backlog), cx);
    }
    /// Starts regular reports, while there is something to report.
    fn start_reports(&mut self, level: u8, cx: &mut Cx<'_>) {
        if self.controller(level).beat == Time::MAX {
            self.controller(level).heard = cx.now;
            self.set_beat(level, cx);
        }
    }
    fn set_beat(&mut self, level: u8, cx: &mut Cx<'_>) {
        let beat = self.next_beat(cx.now);
        self.controller(level).beat = beat;
        cx.wake(beat, AGENT_TOKENS);
    }
    /// The next report time of this host after `now`.
    fn next_beat(&self, now: Time) -> Time {
        let into = now.after(self.report_interval).since(self.phase).as_ps();
        now.after(Time::ps(self.report_interval.as_ps() - into % self.report_interval.as_ps()))
    }
    fn beat(&mut self, level: u8, cx: &mut Cx<'_>) {
        if cx.now < self.controller(level).beat {
            return;
        }
        if self.queues.idle(level) {
            self.controller(level).beat = Time::MAX;
            return;
        }
        if cx.now.since(self.controller(level).heard) >= self.timeout {
            let silent = std::mem::replace(&mut self.controller(level).uncontrolled, true);
            self.counters.silences += u64::from(!silent);
            self.revoke_others(level, None, cx);
        }
        self.controller(level).report = true;
        self.set_beat(level, cx);
    }

    /// Whether a packet belongs to a small flow (§4.4): acknowledgements, and a few bytes per slice to each
    /// destination. It never overtakes packets that wait for the same destination.
    fn is_exempt(&mut self, packet: &Packet, now: Time) -> bool {
        match packet.kind {
            Kind::Ack => self.exempt_acks,
            Kind::Control | Kind::Pause => true,
            Kind::Data | Kind::Datagram => {
                let (slice, allowance) = (self.slice, self.small_flow);
                self.queues.is_small(packet, now, slice, allowance)
            }
        }
    }
    /// Queues a packet that needs permission.
    fn hold(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let machines = self.machines(&packet);
        match self.queues.push(packet, machines, self.setup == Time::ZERO) {
            Arrival::First => self.flow_waits(packet.dst, cx),
            Arrival::Further => {}
            Arrival::Unknown => {
                let at = cx.now.after(self.setup);
                self.setting_up.push_back((at, packet.dst, machines));
                cx.wake(at, AGENT_TOKENS);
            }
        }
    }
    /// Handles a V2V flow for `dst` that waits from now on.
    fn flow_waits(&mut self, dst: HostId, cx: &mut Cx<'_>) {
        let level = self.queues.level(dst);
        if let Some((due, _)) = self.queues.next(cx.now).filter(|(due, _)| *due > cx.now) {
            cx.wake(due, AGENT_TOKENS);
        }
        if !self.away && !self.queues.is_permitted(dst) {
            let controller = self.controller(level);
            controller.report |= !controller.uncontrolled;
            self.start_reports(level, cx);
        }
    }
    /// Handles V2V flows whose queues are ready now.
    fn set_up(&mut self, cx: &mut Cx<'_>) {
        while let Some((_, dst, machines)) =
            self.setting_up.pop_front_if(|(at, _, _)| *at <= cx.now)
        {
            self.counters.flows += 1;
            if self.queues.set_up(dst, machines) {
                self.flow_waits(dst, cx);
            }
        }
    }
    /// Sends a packet that waits only for the port.
    fn send_freely(&mut self, packet: Packet) {
        self.queues.count(&packet);
        self.exempt.push_back(packet);
    }
    /// Takes the next permitted packet.
    fn release(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        if self.uncontrolled() {
            let controllers = &self.controllers;
            let open = |level: u8| controllers[usize::from(level)].uncontrolled;
            let packet = self.queues.pop_any(open);
            if packet.is_some() || self.controllers.len() == 1 {
                return packet;
            }
        }
        let (due, dst) = self.queues.next(cx.now)?;
        if due > cx.now {
            cx.wake(due, AGENT_TOKENS);
            return None;
        }
        let packet = self.queues.pop(dst, cx.now);
        if self.queues.is_empty(dst) {
            self.give_back_later(cx);
        }
        packet
    }
    fn give_back_later(&self, cx: &mut Cx<'_>) {
        cx.wake(cx.now.after(self.hysteresis), AGENT_TOKENS);
    }
    /// Work conservation (§3.1): gives back what has been unused for the hysteresis delay.
    fn give_back(&mut self, cx: &mut Cx<'_>) {
        loop {
            let controllers = &self.controllers;
            let next = |level: u8| controllers[usize::from(level)].next;
            let Some(dst) = self.queues.revoke_unused(cx.now, self.hysteresis, next) else {
                return;
            };
            cx.note(Note::Withdrawn { host: self.host, dst });
            self.send(self.queues.level(dst), Body::Release(dst), cx);
        }
    }
    /// Ends permissions whose time is over. A controller is informed of those that were not used.
    fn end_permissions(&mut self, now: Time) {
        loop {
            let controllers = &self.controllers;
            let next = |level: u8| controllers[usize::from(level)].next;
            let Some((level, unused)) = self.queues.revoke_ended(now, next) else { return };
            self.controller(level).report |= unused;
        }
    }

    /// Opens a destination. A permission that has crossed the message that returns it is void: the controller
    /// expects that nothing is sent, and may have permitted others instead.
    fn open(&mut self, dst: HostId, rate: Option<Rate>, until: Time, heard: u32, cx: &mut Cx<'_>) {
        if self.queues.returned_since(dst, heard) || self.queues.is_free(dst) {
            return;
        }
        let until = self.queues.permit(dst, until, rate, cx.now);
        cx.note(Note::Permitted { host: self.host, dst, until, rate });
        if until < Time::MAX {
            cx.wake(until, AGENT_TOKENS);
        }
        if self.queues.is_empty(dst) {
            self.give_back_later(cx);
        }
    }
    /// Withdraws all permissions of the controller of `level`, except for `dst`.
    fn revoke_others(&mut self, level: u8, dst: Option<HostId>, cx: &mut Cx<'_>) {
        let others: Vec<HostId> =
            self.queues.permitted(level).filter(|other| Some(*other) != dst).collect();
        self.queues.revoke_these(&others);
        if self.controllers.len() == 1 {
            return cx.note(Note::AllWithdrawn { host: self.host, except: dst });
        }
        for dst in others {
            cx.note(Note::Withdrawn { host: self.host, dst });
        }
    }
    fn apply(&mut self, level: u8, body: Body, heard: u32, cx: &mut Cx<'_>) {
        match body {
            Body::Window { dst, duration, rate } => {
                self.revoke_others(level, dst, cx);
                if let Some(dst) = dst {
                    self.open(dst, rate, cx.now.after(duration), heard, cx);
                }
            }
            Body::Rates(rates) => {
                rates
                    .into_iter()
                    .for_each(|(dst, rate)| self.open(dst, Some(rate), Time::MAX, heard, cx));
            }
            Body::Controlled(destinations) if self.measure.is_some() => {
                self.queues
                    .control(&destinations)
                    .into_iter()
                    .for_each(|packet| self.send_freely(packet));
                self.controlled = destinations;
            }
            _ => {}
        }
    }
    fn kick(&self, cx: &mut Cx<'_>) {
        let report = self.controllers.iter().any(|controller| controller.report);
        let waiting = report || !self.messages.is_empty() || !self.exempt.is_empty();
        let open =
            |level: usize| self.controllers[level].uncontrolled && !self.queues.idle(level as u8);
        let open = (0..self.controllers.len()).any(open);
        if waiting || open || self.queues.next(cx.now).is_some_and(|(due, _)| due <= cx.now) {
            cx.kick(PortId(0));
        }
    }
}

impl Agent for Coordinator {
    fn start(&mut self, _cx: &mut Cx<'_>) {}
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        if !self.queues.is_known(packet.dst) {
            let free = self.measure.is_some() && !self.controlled.contains(&packet.dst);
            self.queues.introduce(packet.dst, self.level(packet.dst), free);
        }
        if self.queues.is_free(packet.dst) || self.is_exempt(&packet, cx.now) {
            self.send_freely(packet);
        } else {
            self.hold(packet, cx);
        }
        self.measure(cx);
        self.kick(cx);
    }
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        if self.messages.is_empty() {
            self.write_report(cx);
        }
        if let Some(message) = self.messages.pop_front() {
            return Some(message);
        }
        if self.away {
            return None;
        }
        if let Some(packet) = self.exempt.pop_front() {
            self.queues.discount(&packet);
            return Some(packet);
        }
        self.release(cx)
    }
    fn dequeue_again(&mut self, _cx: &mut Cx<'_>) -> Option<Packet> {
        // No report is due, and no destination with packets is permitted.
        None
    }
    fn has_more(&self) -> bool {
        self.controllers.iter().any(|controller| controller.report || controller.uncontrolled)
            || !self.messages.is_empty()
            || !self.exempt.is_empty()
            || self.queues.may_leave()
    }
    fn control(&mut self, message: &[u8], cx: &mut Cx<'_>) {
        let Ok(message) = Message::parse(message) else {
            return;
        };
        let own = message.host == self.host && !self.away;
        let controller = self.controllers.get_mut(usize::from(message.level)).filter(|_| own);
        if !controller.is_some_and(|controller| controller.accepts(&message, cx.now)) {
            return;
        }
        self.apply(message.level, message.body, message.heard, cx);
        self.kick(cx);
    }
    fn expire(&mut self, _token: u32, cx: &mut Cx<'_>) {
        self.set_up(cx);
        self.end_permissions(cx.now);
        self.give_back(cx);
        (0..self.controllers.len() as u8).for_each(|level| self.beat(level, cx));
        self.report_load(cx);
        self.kick(cx);
    }
    /// Dynamic leave (§3.5): the controllers are informed and do not schedule the host any more.
    fn leave(&mut self, cx: &mut Cx<'_>) {
        self.away = true;
        self.load_due = Time::MAX;
        for level in 0..self.controllers.len() as u8 {
            self.revoke_others(level, None, cx);
            if self.controller(level).leave() {
                self.send(level, Body::Leave, cx);
            }
        }
        self.kick(cx);
    }
    /// Dynamic join (§3.5): the host registers, and reports what waits.
    fn join(&mut self, cx: &mut Cx<'_>) {
        self.away = false;
        for level in 0..self.controllers.len() as u8 {
            self.register(level, cx);
            if !self.queues.idle(level) {
                self.controller(level).report = true;
                self.start_reports(level, cx);
            }
        }
        self.measure(cx);
        self.kick(cx);
    }
    fn queued(&self, dst: HostId) -> u64 {
        self.queues.bytes(dst)
    }
    fn queued_with(&self, dst: HostId, conn: u32) -> u64 {
        let packet = Packet { dst, flow: conn, ..Packet::default() };
        match &self.plan {
            None => self.queues.bytes(dst),
            Some(_) => self.queues.bytes_of(dst, self.machines(&packet)),
        }
    }
    fn account(&self) -> PacketAccount {
        let held = self.messages.len() + self.exempt.len() + self.queues.packets();
        PacketAccount { created: self.created, consumed: 0, held: held as u64 }
    }
    fn add_counters(&self, counters: &mut Counters) {
        counters.add(counters::SILENCES, self.counters.silences);
        if self.setup > Time::ZERO {
            counters.add(counters::FLOWS_SET_UP, self.counters.flows);
        }
    }
}

#[cfg(test)]
mod tests;
