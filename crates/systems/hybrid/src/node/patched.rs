//! A packet switch whose uplinks end at patch panels: the switch of a rack, or a core switch. It queues packets as any
//! switch does; where its uplinks lead changes while it runs.

mod node;

use super::flows::Flows;
use super::message;
use super::sums::Sums;
use super::weekly::Weekly;
use crate::wire::Message;
use crate::{Agenda, AtNight, Deed, Ledger, Rank, Voq, VoqSpec, VoqStats, Ways, Wires};
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::egress::Stored;
use slotline_net::node::switch::Switch;
use slotline_net::node::{Census, Change, Cx, DropReason, Node, Note};
use slotline_net::rng::mix32;
use slotline_net::time::Time;
use slotline_net::topology::{RackOf, Roles};
use slotline_net::units::InverseRate;

/// What such a switch is made from.
pub struct PatchedConfig {
    /// The fabric.
    pub roles: Roles,
    /// Which switch it is: its rack, or from `racks` on a core.
    pub seat: u32,
    /// Its queues.
    pub switch: Switch,
    /// The rates of its ports at the start.
    pub paces: Vec<InverseRate>,
    /// From switch to switch.
    pub delay: Time,
    /// The largest packet in bytes on the wire.
    pub mtu: u64,
    /// What flows are hashed with.
    pub key: u32,
    /// What becomes of packets at night, and how many wait for a way.
    pub voq: VoqSpec,
    /// What happens when.
    pub agenda: Agenda,
    /// Where weeks come from the scheduler one by one.
    pub weekly: Option<Weekly>,
    /// What its hosts have reported, where that is taken for demand.
    pub ledger: Option<Ledger>,
}

/// A port at a panel.
#[derive(Clone, Copy)]
struct Line {
    uplink: u8,
    end: u16,
    port: PortId,
    /// Where it leads, and until when.
    open: Option<(u16, Time)>,
}

/// What was counted beside.
#[derive(Clone, Copy, Default)]
struct Counts {
    rewirings: u64,
    moved: u64,
    waited: u64,
    by_core: u64,
    by_rack: u64,
}

/// A packet switch behind patch panels.
pub struct Patched {
    config: PatchedConfig,
    rack_of: RackOf,
    wires: Wires,
    ways: Ways,
    lines: Vec<Line>,
    /// By port: its line.
    line_of: Vec<Option<u16>>,
    /// By destination: what has no way, from own hosts and from other switches.
    waiting: [Vec<Voq>; 2],
    /// By destination.
    flows: Flows,
    /// The earliest wake-up asked for and not yet had.
    wake: Time,
    census: Census,
    sums: Sums,
    counts: Counts,
}

const AGENDA: u32 = 0;

impl Patched {
    /// One with empty queues and no circuits.
    pub fn new(config: PatchedConfig) -> Patched {
        let (roles, seat) = (config.roles, config.seat);
        let racks = roles.racks as usize;
        let all =
            (0..roles.uplinks).flat_map(|uplink| roles.ends_of(seat).map(move |end| (uplink, end)));
        let line = |(uplink, end)| Line {
            uplink: uplink as u8,
            end: end as u16,
            port: roles.end_port(end, uplink),
            open: None,
        };
        let lines: Vec<Line> = all.map(line).collect();
        let mut line_of = vec![None; config.paces.len()];
        (0..).zip(&lines).for_each(|(at, line)| line_of[line.port.at()] = Some(at));
        let waiting = || vec![Voq::new(config.voq.packets); racks];
        Patched {
            rack_of: RackOf::new(roles.hosts),
            wires: Wires::new(roles, seat),
            ways: Ways::none(roles.racks),
            lines,
            line_of,
            waiting: [waiting(), waiting()],
            flows: Flows::new(racks),
            wake: Time::MAX,
            census: Census::default(),
            sums: Sums::new(racks),
            counts: Counts::default(),
            config,
        }
    }

    /// Its queues.
    pub fn switch(&self) -> &Switch {
        &self.config.switch
    }

    /// Its own rack, if it is one's, and how many there are.
    pub fn racks(&self) -> Option<(u32, u32)> {
        self.is_rack().then_some((self.config.seat, self.config.roles.racks))
    }

    /// What happened to packets for `rack`, and how long there was a direct circuit.
    pub fn stats(&self, rack: usize) -> (VoqStats, Time) {
        (self.flows.of(rack), self.sums.up(rack))
    }

    fn is_rack(&self) -> bool {
        self.config.seat < self.config.roles.racks
    }

    /// Whether what comes by a port comes from a host of this rack.
    #[inline]
    fn is_host(&self, port: PortId) -> bool {
        self.is_rack() && u32::from(port.0) < self.config.roles.hosts
    }

    fn line(&self, port: PortId) -> Option<&Line> {
        let at = self.line_of.get(port.at()).copied().flatten()?;
        Some(&self.lines[usize::from(at)])
    }

    /// A packet for a host: of this rack, or of another.
    fn forward(&mut self, from: PortId, packet: Packet, cx: &mut Cx<'_>) {
        let to = self.rack_of.of(packet.dst);
        if to == self.config.seat {
            let host = PortId(self.rack_of.within(packet.dst, to) as u16);
            return self.config.switch.enqueue((from, host), packet, cx);
        }
        if to >= self.config.roles.racks {
            return cx.drop(&packet, DropReason::NoRoute);
        }
        if self.is_host(from) {
            if let Some(ledger) = &mut self.config.ledger
                && packet.kind == Kind::Data
            {
                ledger.arrives(packet.flow, packet.seq);
            }
            self.flows.came(to as usize, &packet);
        }
        self.dispatch(from, to as usize, packet, cx);
    }

    /// A packet for another rack goes to the queue of a port that leads there; without one it waits.
    fn dispatch(&mut self, from: PortId, to: usize, packet: Packet, cx: &mut Cx<'_>) {
        let fresh = self.is_host(from);
        let Some(out) = self.way(fresh, to, &packet, cx.now) else {
            return self.wait(fresh, to, packet, cx);
        };
        let before = self.config.switch.census().held;
        self.config.switch.enqueue((from, out), packet, cx);
        let taken = self.config.switch.census().held > before;
        if fresh {
            self.flows.queued(to, &packet, taken);
        }
    }

    /// A packet without a way waits for one.
    fn wait(&mut self, fresh: bool, to: usize, packet: Packet, cx: &mut Cx<'_>) {
        self.counts.waited += 1;
        let taken = self.waiting[usize::from(!fresh)][to].push(packet, cx.now);
        if fresh {
            self.flows.queued(to, &packet, taken);
        }
        if !taken {
            return cx.drop(&packet, DropReason::Full);
        }
        self.census.held += 1;
    }

    /// The port by which a packet leaves: of the best kind of way, by a hash, one by which it gets away in time. What
    /// comes from another switch has direct ways only.
    fn way(&self, fresh: bool, to: usize, packet: &Packet, now: Time) -> Option<PortId> {
        let ranks: &[Rank] =
            if fresh { &[Rank::Direct, Rank::Core, Rank::Rack] } else { &[Rank::Direct] };
        let hash = mix32(u32::from(packet.entropy) ^ self.config.key);
        let pick = |count: usize| ((u64::from(hash) * count as u64) >> 32) as usize;
        let mut first = None;
        for ports in ranks.iter().map(|&rank| self.ways.of(rank, to)) {
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

    /// Whether a packet that is queued for a port now has left before its circuit goes.
    fn in_time(&self, port: PortId, packet: &Packet, now: Time) -> bool {
        let until = self.line(port).and_then(|line| line.open).map_or(Time::MAX, |open| open.1);
        let bytes = self.config.switch.unsent(port, now) + u64::from(packet.len);
        now + self.config.paces[port.at()].time_for(bytes) <= until
    }

    /// The next packet for a panel, if it can be whole before night.
    fn by_panel(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        let (to, until) = self.line(port)?.open?;
        let pace = self.config.paces[port.at()];
        let rule = self.config.voq.at_night;
        if rule == AtNight::Hold && cx.now + pace.time_for(self.config.mtu) > until {
            self.sums.held += u64::from(self.config.switch.queued(port) > 0);
            return None;
        }
        let stored = self.config.switch.pull(port, cx)?;
        let whole = cx.now + pace.time_for(stored.packet.len.into()) <= until;
        if !whole && rule == AtNight::Drop {
            self.cut(port, &stored, cx);
            return None;
        }
        self.sums.drained += u64::from(!whole);
        Some(self.leave(to.into(), stored, cx.now))
    }

    /// A packet is lost as its circuit goes.
    fn cut(&mut self, port: PortId, stored: &Stored, cx: &mut Cx<'_>) {
        self.sums.cut += 1;
        if self.is_host(stored.from) {
            self.flows.gone(self.rack_of.of(stored.packet.dst) as usize, &stored.packet);
        }
        self.config.switch.lose(port, &stored.packet, DropReason::LinkDown, cx);
    }

    /// A packet leaves for the end `next`.
    fn leave(&mut self, next: u32, stored: Stored, now: Time) -> Packet {
        let Stored { mut packet, from, since } = stored;
        if !self.is_host(from) {
            self.counts.by_rack += u64::from(self.is_rack());
            self.counts.by_core += u64::from(!self.is_rack());
            return packet;
        }
        let to = self.rack_of.of(packet.dst) as usize;
        if let Some(ledger) = &mut self.config.ledger
            && packet.kind == Kind::Data
        {
            ledger.leaves(packet.flow, packet.seq);
        }
        let (waited, direct) = (now.since(since), next as usize == to);
        self.flows.left(to, &packet, waited, direct);
        packet.put_on_path(u8::from(direct));
        if direct {
            self.sums.circuit(&packet, waited + self.config.delay);
        } else {
            self.sums.packet(&packet, waited + self.config.delay.times(2));
            self.sums.first_hops += u64::from(next < self.config.roles.racks);
        }
        packet
    }

    fn carry_out(&mut self, cx: &mut Cx<'_>) {
        let mut rewired = false;
        while let Some(deed) = self.config.agenda.due(cx.now) {
            rewired |= matches!(deed, Deed::Stay { .. } | Deed::Up { .. } | Deed::Down(_));
            match deed {
                Deed::Stay { wire, from, until } => self.wires.stay(wire, from, until),
                Deed::Up { wire, until } => self.wires.up(wire, until),
                Deed::Down(wire) => self.wires.down(wire, cx.now),
                Deed::Report(week) => self.report(week, cx),
                Deed::Week(week) => {
                    if let Some(weekly) = &mut self.config.weekly {
                        weekly.begin(week, &mut self.config.agenda, cx.now);
                    }
                }
                // Of racks that see their own days only.
                _ => {}
            }
        }
        if rewired {
            self.settle(cx);
        }
        let next = self.config.agenda.next().unwrap_or(Time::MAX);
        if next < self.wake {
            self.wake = next;
            cx.wake(next, AGENDA);
        }
    }

    /// Ports lead where circuits in force do, and what waited for one that is gone goes another way.
    fn settle(&mut self, cx: &mut Cx<'_>) {
        let mut stranded = Vec::new();
        for at in 0..self.lines.len() {
            let line = self.lines[at];
            let new = self.wires.leads(line.uplink, line.end);
            self.lines[at].open = new;
            let port = line.port;
            cx.kick(port);
            if line.open.map(|open| open.0) == new.map(|open| open.0) {
                self.goes_on(line.open, new, cx);
                continue;
            }
            if let Some((to, until)) = line.open {
                self.ends(to, until, cx.now);
                stranded
                    .extend(self.config.switch.empty(port, cx).into_iter().map(|one| (port, one)));
            }
            if let Some((to, until)) = new {
                let roles = self.config.roles;
                let (to_end, uplink) = (u32::from(to), u32::from(line.uplink));
                cx.rewire(
                    port,
                    roles.node_of(roles.seat_of(to_end)),
                    roles.end_port(to_end, uplink),
                );
                self.counts.rewirings += 1;
                self.begins(to_end, until, cx);
            }
        }
        self.ways = self.wires.ways();
        for (port, stored) in stranded {
            if self.config.voq.at_night == AtNight::Drop {
                self.cut(port, &stored, cx);
                continue;
            }
            self.counts.moved += 1;
            self.again(stored.from, stored.packet, cx);
        }
        self.end_waiting(cx);
    }

    /// A packet is given a way once more.
    fn again(&mut self, from: PortId, packet: Packet, cx: &mut Cx<'_>) {
        let to = self.rack_of.of(packet.dst) as usize;
        if self.is_host(from) {
            self.flows.gone(to, &packet);
        }
        self.dispatch(from, to, packet, cx);
    }

    /// What waited and has a way now goes.
    fn end_waiting(&mut self, cx: &mut Cx<'_>) {
        // A port that stands for all those of its kind.
        let ports = [PortId(0), self.lines.first().map_or(PortId(0), |line| line.port)];
        for (kind, from) in ports.into_iter().enumerate() {
            for to in 0..self.config.roles.racks as usize {
                while let Some(packet) = self.waiting[kind][to].first().copied() {
                    if self.way(kind == 0, to, &packet, cx.now).is_none() {
                        break;
                    }
                    self.waiting[kind][to].pop(cx.now);
                    self.census.held -= 1;
                    self.again(from, packet, cx);
                }
            }
        }
    }

    /// A direct circuit of this rack begins.
    fn begins(&mut self, to: u32, until: Time, cx: &mut Cx<'_>) {
        let roles = self.config.roles;
        if !self.is_rack() || to >= roles.racks {
            return;
        }
        self.sums.day(to as usize, until.since(cx.now));
        let first = |rack: u32| HostId(rack * roles.hosts);
        cx.note(Note::Circuit { host: first(self.config.seat), dst: first(to), until });
    }

    /// One that was to end at `until` ends now.
    fn ends(&mut self, to: u16, until: Time, now: Time) {
        if self.is_rack() && u32::from(to) < self.config.roles.racks {
            self.sums.cut_day(to.into(), until.since(now));
        }
    }

    /// The same circuit as before, perhaps for longer.
    fn goes_on(&mut self, old: Option<(u16, Time)>, new: Option<(u16, Time)>, cx: &mut Cx<'_>) {
        let roles = self.config.roles;
        if let (Some((to, old)), Some((_, new))) = (old, new)
            && self.is_rack()
            && u32::from(to) < roles.racks
            && old != new
        {
            self.sums.longer_day(to.into(), new.since(old));
            let first = |rack: u32| HostId(rack * roles.hosts);
            let (host, dst) = (first(self.config.seat), first(to.into()));
            cx.note(Note::Circuit { host, dst, until: new });
        }
    }

    fn report(&mut self, week: u64, cx: &mut Cx<'_>) {
        if !self.is_rack() {
            return;
        }
        let end = self.config.weekly.as_ref().map_or(cx.now, |weekly| weekly.end_of(week));
        let bytes = match &mut self.config.ledger {
            Some(ledger) => {
                ledger.foresee(end);
                ledger.give_up(cx.now);
                ledger.bytes()
            }
            None => self.flows.bytes(),
        };
        let report = Message::Report { week, rack: self.config.seat as u16, bytes };
        self.say(&report, cx);
    }

    fn say(&mut self, news: &Message, cx: &mut Cx<'_>) {
        let packet = message(news.emit(), cx);
        self.census.created += 1;
        cx.send(self.config.roles.news_port(self.config.seat), packet);
    }

    /// A message from the scheduler.
    fn hear(&mut self, packet: &Packet, cx: &mut Cx<'_>) {
        self.census.consumed += 1;
        let bytes = cx.detach(packet);
        match (Message::parse(&bytes), &mut self.config.weekly) {
            (Ok(Message::Plan { week, days }), Some(weekly)) => {
                weekly.plan(week, days, &mut self.config.agenda, cx.now);
                self.carry_out(cx);
            }
            (Ok(Message::Port { rack, uplink, works }), _) => {
                self.wires.port(uplink, rack, works);
                self.settle(cx);
            }
            _ => {}
        }
    }

    /// The link at an own port fails or works again: one at a panel makes news.
    fn link(&mut self, port: PortId, works: bool, change: &Change, cx: &mut Cx<'_>) {
        let Some(&Line { uplink, end, .. }) = self.line(port) else {
            return self.config.switch.change(change, cx);
        };
        self.sums.port_failures += u64::from(!works);
        self.wires.port(uplink, end, works);
        self.settle(cx);
        self.say(&Message::Port { rack: end, uplink, works }, cx);
    }
}
