//! A packet switch whose uplinks end at patch panels: the switch of a rack, or a core switch. It queues packets as any
//! switch does, but where its uplinks lead changes while the network runs.

mod departures;
mod foresight;
mod node;

use super::message;
use super::rack_counters::RackCounters;
use super::traffic::RackTraffic;
use super::week_tracker::WeekTracker;
use crate::schedule::{ActiveCircuits, PanelRoutes, RouteKind, ScheduleAction, ScheduleExecutor};
use crate::wire::Message;
use crate::{AtNight, DemandEstimator, Voq, VoqSpec, VoqStats};
use departures::Departing;
use slotline_net::frame::Packet;
use slotline_net::id::PortId;
use slotline_net::node::egress::Stored;
use slotline_net::node::switch::Switch;
use slotline_net::node::{Change, Cx, DropReason, Node, Note, PacketAccount};
use slotline_net::rng::mix32;
use slotline_net::time::Time;
use slotline_net::topology::Roles;
use slotline_net::units::InverseRate;
use std::collections::VecDeque;

/// The configuration of a panel switch.
pub struct PanelSwitchConfig {
    /// The fabric.
    pub roles: Roles,
    /// The number of the switch: that of its rack. The numbers of core switches follow those of the racks.
    pub seat: u32,
    /// The switch that queues the packets.
    pub switch: Switch,
    /// The rates of its ports at the start.
    pub paces: Vec<InverseRate>,
    /// The propagation delay from switch to switch.
    pub delay: Time,
    /// The largest packet in bytes on the wire.
    pub mtu: u64,
    /// The key with which flows are hashed.
    pub key: u32,
    /// What happens to packets at night, and how many may wait for a route.
    pub voq: VoqSpec,
    /// Its actions over time.
    pub executor: ScheduleExecutor,
    /// The weeks, where the scheduler plans them one by one.
    pub weekly: Option<WeekTracker>,
    /// The demand that its hosts have announced, where that counts as demand.
    pub estimator: Option<DemandEstimator>,
}

/// A port at a panel.
struct PanelPort {
    uplink: u8,
    end: u16,
    port: PortId,
    /// Where its circuit leads, and when that ends.
    open: Option<(u16, Time)>,
    /// Packets that wait outside of the switch, in order.
    outside: VecDeque<Departing>,
}

/// Counters that other switches do not have.
#[derive(Clone, Copy, Default)]
struct Counts {
    rewirings: u64,
    moved: u64,
    waited: u64,
    by_core: u64,
    by_rack: u64,
}

/// A packet switch behind patch panels.
pub struct PanelSwitch {
    config: PanelSwitchConfig,
    circuits: ActiveCircuits,
    routes: PanelRoutes,
    panel_ports: Vec<PanelPort>,
    /// By port of the switch, the index of the port at a panel.
    index_of_port: Vec<Option<u16>>,
    /// The number of ports of hosts, which come first.
    host_ports: u16,
    /// The port to the scheduler.
    news: PortId,
    /// By destination rack, packets without a route: those of own hosts, and those from other switches.
    waiting: [Vec<Voq>; 2],
    /// Packets of own hosts by destination rack.
    traffic: RackTraffic,
    /// The earliest wake-up that was requested and has not come.
    wake: Time,
    account: PacketAccount,
    counters: RackCounters,
    counts: Counts,
}

const AGENDA: u32 = 0;

impl PanelSwitch {
    /// A switch with empty queues and no circuits.
    pub fn new(config: PanelSwitchConfig) -> PanelSwitch {
        let (roles, seat) = (config.roles.clone(), config.seat);
        let racks = roles.racks as usize;
        let all =
            (0..roles.uplinks).flat_map(|uplink| roles.ends_of(seat).map(move |end| (uplink, end)));
        let panel = |(uplink, end)| PanelPort {
            uplink: uplink as u8,
            end: end as u16,
            port: roles.end_port(end, uplink),
            open: None,
            outside: VecDeque::new(),
        };
        let panel_ports: Vec<PanelPort> = all.map(panel).collect();
        let mut index_of_port = vec![None; config.paces.len()];
        (0..).zip(&panel_ports).for_each(|(at, panel)| index_of_port[panel.port.at()] = Some(at));
        let waiting = || vec![Voq::new(config.voq.packets); racks];
        PanelSwitch {
            circuits: ActiveCircuits::new(roles.clone(), seat),
            routes: PanelRoutes::none(roles.racks),
            panel_ports,
            index_of_port,
            host_ports: if seat < roles.racks { roles.ports(seat).hosts as u16 } else { 0 },
            news: roles.news_port(seat),
            waiting: [waiting(), waiting()],
            traffic: RackTraffic::new(racks),
            wake: Time::MAX,
            account: PacketAccount::default(),
            counters: RackCounters::new(racks),
            counts: Counts::default(),
            config,
        }
    }

    /// The switch that queues the packets.
    pub fn switch(&self) -> &Switch {
        &self.config.switch
    }

    /// The number of its rack and the number of racks; `None` for a core switch.
    pub fn racks(&self) -> Option<(u32, u32)> {
        self.is_rack().then_some((self.config.seat, self.config.roles.racks))
    }

    /// The counters of packets for `rack`, and how long there was a direct circuit to it.
    pub fn stats(&self, rack: usize) -> (VoqStats, Time) {
        (self.traffic.of(rack), self.counters.up(rack))
    }

    fn is_rack(&self) -> bool {
        self.config.seat < self.config.roles.racks
    }

    /// Whether a host of this rack is at a port.
    #[inline]
    fn is_host(&self, port: PortId) -> bool {
        port.0 < self.host_ports
    }

    #[inline]
    fn panel(&self, port: PortId) -> Option<&PanelPort> {
        let at = self.index_of_port.get(port.at()).copied().flatten()?;
        Some(&self.panel_ports[usize::from(at)])
    }

    /// Forwards a packet to a host of this rack or of another.
    fn forward(&mut self, from: PortId, packet: Packet, cx: &mut Cx<'_>) {
        let to = self.config.roles.hosts.rack(packet.dst);
        if to == self.config.seat {
            let host = self.config.roles.hosts.port(packet.dst, to);
            return self.config.switch.enqueue(from, host, packet, cx);
        }
        if to >= self.config.roles.racks {
            return cx.drop(&packet, DropReason::NoRoute);
        }
        if self.is_host(from) {
            self.comes_from_host(to as u16, &packet, cx.now);
        }
        self.dispatch(from, to as usize, packet, cx);
    }

    /// Queues a packet for another rack at a port that leads there. Without such a port it waits.
    fn dispatch(&mut self, from: PortId, to: usize, packet: Packet, cx: &mut Cx<'_>) {
        let fresh = self.is_host(from);
        let Some(out) = self.route(fresh, to, &packet, cx.now) else {
            return self.wait(fresh, to, packet, cx);
        };
        let before = self.config.switch.account().held;
        self.config.switch.enqueue(from, out, packet, cx);
        let taken = self.config.switch.account().held > before;
        if fresh {
            self.traffic.queued(to, packet.len, taken);
        }
    }

    /// A packet without a route waits for one.
    fn wait(&mut self, fresh: bool, to: usize, packet: Packet, cx: &mut Cx<'_>) {
        self.counts.waited += 1;
        let taken = self.waiting[usize::from(!fresh)][to].push(packet, cx.now);
        if fresh {
            self.traffic.queued(to, packet.len, taken);
        }
        if !taken {
            return cx.drop(&packet, DropReason::Full);
        }
        self.account.held += 1;
    }

    /// The port by which a packet leaves. A hash chooses among the ports of the best kind of route by which the
    /// packet leaves in time. A packet from another switch may only take a direct route.
    fn route(&self, fresh: bool, to: usize, packet: &Packet, now: Time) -> Option<PortId> {
        let kinds: &[RouteKind] = if fresh {
            &[RouteKind::Direct, RouteKind::Core, RouteKind::Rack]
        } else {
            &[RouteKind::Direct]
        };
        let hash = mix32(u32::from(packet.entropy) ^ self.config.key);
        let pick = |count: usize| ((u64::from(hash) * count as u64) >> 32) as usize;
        let mut first = None;
        for ports in kinds.iter().map(|&kind| self.routes.ports(kind, to)) {
            let Some(&port) = ports.get(pick(ports.len())) else { continue };
            first = first.or(Some(port));
            if self.in_time(port, packet, now) {
                return Some(port);
            }
            let others = || ports.iter().filter(|port| self.in_time(**port, packet, now));
            if let Some(&port) = others().nth(pick(others().count())) {
                return Some(port);
            }
        }
        first
    }

    /// Whether a packet that is queued at a port now would leave before its circuit ends.
    fn in_time(&self, port: PortId, packet: &Packet, now: Time) -> bool {
        let until = self.panel(port).and_then(|panel| panel.open).map_or(Time::MAX, |open| open.1);
        let (pace, len) = (self.config.paces[port.at()], u64::from(packet.len));
        // The time for whole bytes is at most this.
        let end = now + self.config.switch.wait_at(port, now) + pace.time_for(len);
        end <= until || {
            let bytes = self.config.switch.unsent(port, now) + len;
            now + pace.time_for(bytes) <= until
        }
    }

    /// The next packet for a panel, if it can be complete before night.
    fn by_panel(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        let (to, until) = self.panel(port)?.open?;
        let pace = self.config.paces[port.at()];
        let rule = self.config.voq.at_night;
        if rule == AtNight::Hold && cx.now + pace.time_for(self.config.mtu) > until {
            self.counters.held += u64::from(self.config.switch.queued(port) > 0);
            return None;
        }
        let stored = self.config.switch.pull(port, cx)?;
        let len = u64::from(stored.packet.len);
        let end = cx.now + pace.time_for(len);
        if end > until && rule == AtNight::Drop {
            self.cut(port, &stored, cx);
            return None;
        }
        self.counters.on_circuit(to.into(), len, end.since(until));
        let Stored { mut packet, from, since } = stored;
        let departing = Departing::new(to, self.rack_of_own(from, &packet), &packet);
        self.leave(&departing, cx.now.since(since), end.since(cx.now));
        departing.mark(&mut packet);
        Some(packet)
    }

    /// A packet is lost because its circuit ends.
    fn cut(&mut self, port: PortId, stored: &Stored, cx: &mut Cx<'_>) {
        self.counters.cut += 1;
        if self.is_host(stored.from) {
            self.traffic.removed(
                self.config.roles.hosts.rack(stored.packet.dst) as usize,
                stored.packet.len,
            );
        }
        self.config.switch.lose(port, &stored.packet, DropReason::LinkDown, cx);
    }

    /// Does all actions that are due.
    fn run_schedule(&mut self, cx: &mut Cx<'_>) {
        let mut rewired = false;
        while let Some(action) = self.config.executor.due(cx.now) {
            rewired |= matches!(
                action,
                ScheduleAction::Extend { .. }
                    | ScheduleAction::Connect { .. }
                    | ScheduleAction::Disconnect(_)
            );
            match action {
                ScheduleAction::Extend { circuit, from, until } => {
                    self.circuits.extend(circuit, from, until)
                }
                ScheduleAction::Connect { circuit, until } => self.circuits.connect(circuit, until),
                ScheduleAction::Disconnect(circuit) => self.circuits.disconnect(circuit, cx.now),
                ScheduleAction::Report(week) => self.report(week, cx),
                ScheduleAction::BeginWeek(week) => {
                    if let Some(weekly) = &mut self.config.weekly {
                        weekly.begin(week, &mut self.config.executor, cx.now);
                    }
                }
                // Only switches that know just their own days have the other actions.
                _ => {}
            }
        }
        if rewired {
            self.update_ports(cx);
        }
        let next = self.config.executor.next().unwrap_or(Time::MAX);
        if next < self.wake {
            self.wake = next;
            cx.wake(next, AGENDA);
        }
    }

    /// Updates where the circuits of the ports lead. Packets at a port whose circuit has ended get another
    /// route.
    fn update_ports(&mut self, cx: &mut Cx<'_>) {
        let mut stranded = Vec::new();
        for at in 0..self.panel_ports.len() {
            let panel = &mut self.panel_ports[at];
            let (uplink, port) = (panel.uplink, panel.port);
            let new = self.circuits.circuit_from(uplink, panel.end);
            let old = std::mem::replace(&mut panel.open, new);
            cx.kick(port);
            if old.map(|open| open.0) == new.map(|open| open.0) {
                self.circuit_stays(old, new, cx);
                continue;
            }
            if let Some((to, until)) = old {
                self.circuit_ends(to, until, cx.now);
                stranded
                    .extend(self.config.switch.empty(port, cx).into_iter().map(|one| (port, one)));
            }
            if let Some((to, until)) = new {
                let roles = &self.config.roles;
                let (to_end, uplink) = (u32::from(to), u32::from(uplink));
                cx.rewire(
                    port,
                    roles.node_of(roles.seat_of(to_end)),
                    roles.end_port(to_end, uplink),
                );
                self.counts.rewirings += 1;
                self.circuit_begins(to_end, until, cx);
            }
        }
        self.routes = self.circuits.routes();
        for (port, stored) in stranded {
            if self.config.voq.at_night == AtNight::Drop {
                self.cut(port, &stored, cx);
                continue;
            }
            self.counts.moved += 1;
            self.reroute(stored.from, stored.packet, cx);
        }
        self.forward_waiting(cx);
    }

    /// Finds a route for a packet once more.
    fn reroute(&mut self, from: PortId, packet: Packet, cx: &mut Cx<'_>) {
        let to = self.config.roles.hosts.rack(packet.dst) as usize;
        if self.is_host(from) {
            self.traffic.removed(to, packet.len);
        }
        self.dispatch(from, to, packet, cx);
    }

    /// Forwards the waiting packets that have a route now.
    fn forward_waiting(&mut self, cx: &mut Cx<'_>) {
        // One port stands for all ports of its kind.
        let ports = [PortId(0), self.panel_ports.first().map_or(PortId(0), |panel| panel.port)];
        for (kind, from) in ports.into_iter().enumerate() {
            for to in 0..self.config.roles.racks as usize {
                while let Some(packet) = self.waiting[kind][to].first().copied() {
                    if self.route(kind == 0, to, &packet, cx.now).is_none() {
                        break;
                    }
                    self.waiting[kind][to].pop(cx.now);
                    self.account.held -= 1;
                    self.reroute(from, packet, cx);
                }
            }
        }
    }

    /// A direct circuit of this rack begins.
    fn circuit_begins(&mut self, to: u32, until: Time, cx: &mut Cx<'_>) {
        let roles = &self.config.roles;
        if !self.is_rack() || to >= roles.racks {
            return;
        }
        self.counters.day(to as usize, until.since(cx.now));
        let (host, dst) = (roles.hosts.first(self.config.seat), roles.hosts.first(to));
        cx.note(Note::Circuit { host, dst, until });
    }

    /// A direct circuit that would have ended at `until` ends now.
    fn circuit_ends(&mut self, to: u16, until: Time, now: Time) {
        if self.is_rack() && u32::from(to) < self.config.roles.racks {
            self.counters.cut_day(to.into(), until.since(now));
        }
    }

    /// A circuit stays up, perhaps for longer than before.
    fn circuit_stays(
        &mut self,
        old: Option<(u16, Time)>,
        new: Option<(u16, Time)>,
        cx: &mut Cx<'_>,
    ) {
        let roles = &self.config.roles;
        if let (Some((to, old)), Some((_, new))) = (old, new)
            && self.is_rack()
            && u32::from(to) < roles.racks
            && old != new
        {
            self.counters.longer_day(to.into(), new.since(old));
            let (host, dst) = (roles.hosts.first(self.config.seat), roles.hosts.first(to.into()));
            cx.note(Note::Circuit { host, dst, until: new });
        }
    }

    fn report(&mut self, week: u64, cx: &mut Cx<'_>) {
        if !self.is_rack() {
            return;
        }
        let end = self.config.weekly.as_ref().map_or(cx.now, |weekly| weekly.end_of(week));
        let bytes = match &mut self.config.estimator {
            Some(estimator) => estimator.report(end, cx.now),
            None => self.traffic.bytes(),
        };
        let report = Message::Report { week, rack: self.config.seat as u16, bytes };
        self.send_message(&report, cx);
    }

    /// Sends a message to the scheduler.
    fn send_message(&mut self, content: &Message, cx: &mut Cx<'_>) {
        let packet = message(content.emit(), cx);
        self.account.created += 1;
        cx.send(self.news, packet);
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
            (Ok(Message::Port { rack, uplink, works }), _) => {
                self.circuits.set_port(uplink, rack, works);
                self.update_ports(cx);
            }
            _ => {}
        }
    }

    /// The link at an own port has failed or works again. For a port at a panel, the scheduler gets a message.
    fn set_link(&mut self, port: PortId, works: bool, change: &Change, cx: &mut Cx<'_>) {
        let Some(&PanelPort { uplink, end, .. }) = self.panel(port) else {
            return self.config.switch.change(change, cx);
        };
        self.counters.port_failures += u64::from(!works);
        self.circuits.set_port(uplink, end, works);
        self.update_ports(cx);
        self.send_message(&Message::Port { rack: end, uplink, works }, cx);
    }
}
