//! The switch of a rack: packets for other racks wait by destination, for a circuit or for the packet
//! switch.

mod notices;
mod ports;

use super::board::{Board, Thing};
use super::packet::{came_back, frame};
use super::relay::{Relay, Source};
use super::shares::Turns;
use super::weekly::Weekly;
use super::{message, sums::Sums};
use crate::wire::Message;
use crate::{Agenda, AtNight, Deed, Ledger, Shrink, Voq, VoqSpec, VoqStats};
use notices::Notices;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::{Census, Change, Cx, DropReason, Node, Note, Tally};
use slotline_net::time::Time;
use slotline_net::topology::{RackOf, Roles};
use slotline_net::units::InverseRate;
use std::any::Any;

/// The circuits of a fabric as a rack's switch knows them.
#[derive(Clone, Copy, Debug)]
pub struct Circuits {
    /// Their rate at the start.
    pub pace: InverseRate,
    /// From rack to rack.
    pub delay: Time,
}

/// What the switch of a rack is made from.
pub struct TorConfig {
    /// Its rack.
    pub rack: u32,
    /// The fabric.
    pub roles: Roles,
    /// Its queues.
    pub voq: VoqSpec,
    /// Its circuits, if the fabric has any.
    pub circuits: Option<Circuits>,
    /// Propagation delay to and from the packet switch together.
    pub packet_delay: Time,
    /// All circuits that ever are, from rack to rack: where packets can be relayed.
    pub ever: Vec<(u16, u16)>,
    /// What it does when.
    pub agenda: Agenda,
    /// Where weeks come from the scheduler one by one.
    pub weekly: Option<Weekly>,
    /// What its hosts have reported, where that is taken for demand.
    pub ledger: Option<Ledger>,
}

/// The switch of a rack.
pub struct Tor {
    config: TorConfig,
    rack_of: RackOf,
    voqs: Vec<Voq>,
    board: Board,
    /// By destination: the packet switch asks to hold back.
    held: Vec<bool>,
    /// Queues that the packet switch takes from.
    turns: Turns,
    relay: Option<Relay>,
    notices: Option<Notices>,
    /// By uplink: where its circuit leads, and until when.
    open: Vec<Option<(u16, Time)>>,
    /// By uplink: where it would lead if all ports worked.
    days: Vec<Option<(u16, Time)>>,
    /// By uplink: the rate of its port.
    paces: Vec<InverseRate>,
    /// The earliest wake-up asked for and not yet had.
    wake: Time,
    census: Census,
    sums: Sums,
}

const AGENDA: u32 = 0;

impl Tor {
    /// One with empty queues.
    pub fn new(config: TorConfig) -> Tor {
        let (racks, uplinks) = (config.roles.racks as usize, config.roles.uplinks as usize);
        Tor {
            voqs: vec![Voq::new(config.voq.packets); racks],
            rack_of: RackOf::new(config.roles.hosts),
            board: Board::new(config.rack as usize, racks, uplinks),
            held: vec![false; racks],
            turns: Turns::new(racks),
            relay: config.voq.relay.map(|spec| Relay::new(spec, racks, &config.ever)),
            notices: config
                .voq
                .notify
                .map(|spec| Notices::new(spec, racks, config.roles.hosts as usize)),
            open: vec![None; uplinks],
            days: vec![None; uplinks],
            paces: config.circuits.map_or(vec![], |circuits| vec![circuits.pace; uplinks]),
            wake: Time::MAX,
            census: Census::default(),
            sums: Sums::new(racks),
            config,
        }
    }

    /// What happened in the queue for `rack`, and how long there was a circuit.
    pub fn stats(&self, rack: usize) -> (VoqStats, Time) {
        (self.voqs[rack].stats, self.sums.up(rack))
    }

    /// Its own rack, and how many there are.
    pub fn racks(&self) -> (u32, u32) {
        (self.config.rack, self.config.roles.racks)
    }

    /// A packet for a host: of this rack, or of another.
    fn forward(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        let to = self.rack_of.of(packet.dst);
        if to == self.config.rack {
            return cx.send(PortId(self.rack_of.within(packet.dst, to) as u16), packet);
        }
        if to >= self.config.roles.racks {
            return cx.drop(&packet, DropReason::NoRoute);
        }
        if u32::from(port.0) < self.config.roles.hosts {
            if let Some(notices) = self.notices.as_mut().filter(|_| packet.kind == Kind::Data) {
                notices.saw(port, to as usize);
            }
            return self.queue(to as usize, packet, cx);
        }
        if self.config.roles.packet_port() == Some(port) {
            return self.take_back(to as usize, came_back(packet), cx);
        }
        let Some(relay) = &mut self.relay else {
            return cx.drop(&packet, DropReason::Misrouted);
        };
        if !relay.store(to as usize, packet, cx.now) {
            return cx.drop(&packet, DropReason::Full);
        }
        self.census.held += 1;
        self.kick_circuits(to as usize, cx);
    }

    /// The packet switch had no room for a packet: it goes again, first, if not too many wait for that.
    fn take_back(&mut self, to: usize, packet: Packet, cx: &mut Cx<'_>) {
        if !self.voqs[to].take_back(packet, cx.now) {
            return cx.drop(&packet, DropReason::Full);
        }
        self.census.held += 1;
        self.offer(to, cx);
        self.kick_circuits(to, cx);
    }

    fn queue(&mut self, to: usize, packet: Packet, cx: &mut Cx<'_>) {
        if let Some(ledger) = &mut self.config.ledger
            && packet.kind == Kind::Data
        {
            ledger.arrives(packet.flow, packet.seq);
        }
        let voq = &mut self.voqs[to];
        if !voq.push(packet, cx.now) {
            return cx.drop(&packet, DropReason::Full);
        }
        self.census.held += 1;
        if voq.len() == 1 {
            self.offer(to, cx);
            self.kick_circuits(to, cx);
        }
    }

    /// Takes the first packet of the queue for `to`, and how long it has waited.
    #[inline]
    fn take(&mut self, to: usize, now: Time) -> Option<(Packet, Time)> {
        let voq = &mut self.voqs[to];
        let first = voq.pop(now)?;
        if voq.is_empty() {
            self.turns.set(to, false);
            if let Some(relay) = &mut self.relay {
                relay.turns.set(to, false);
            }
        }
        Some(first)
    }

    /// Whether the packet switch may take from the queue for `to`, as things are now.
    fn offer(&mut self, to: usize, cx: &mut Cx<'_>) {
        let barred = self.board.of(to).is(Thing::Bar) || self.held[to];
        let free = !barred && !self.voqs[to].is_empty();
        self.turns.set(to, free);
        if let Some(relay) = &mut self.relay {
            relay.turns.set(to, !self.voqs[to].is_empty());
        }
        if let Some(port) = self.config.roles.packet_port().filter(|_| free) {
            cx.kick(port);
        }
    }

    fn kick_circuits(&self, to: usize, cx: &mut Cx<'_>) {
        let any = self.relay.is_some();
        for (uplink, open) in (0..).zip(&self.open) {
            if open.is_some_and(|(rack, _)| any || usize::from(rack) == to) {
                cx.kick(self.config.roles.circuit_port(uplink));
            }
        }
    }

    /// The packet switch takes a packet.
    fn by_packet_switch(&mut self, cx: &Cx<'_>) -> Option<Packet> {
        let to = self.turns.next()?;
        let (packet, waited) = self.take(to, cx.now)?;
        self.voqs[to].stats.packet_bytes += u64::from(packet.len);
        self.sums.packet(&packet, waited + self.config.packet_delay);
        Some(self.leave(to, packet, 0))
    }

    /// Where the next packet for a circuit to `to` comes from.
    fn source(&mut self, to: usize) -> Option<Source> {
        let own = !self.voqs[to].is_empty();
        match &mut self.relay {
            None => own.then_some(Source::Own(to)),
            Some(relay) => relay.choose(to, own),
        }
    }

    /// A circuit takes a packet, if it can be whole before night.
    fn by_circuit(&mut self, uplink: usize, cx: &mut Cx<'_>) -> Option<Packet> {
        let (leads_to, until) = self.open[uplink]?;
        let (leads_to, circuits) = (usize::from(leads_to), self.config.circuits?);
        let source = self.source(leads_to)?;
        let first = match (source, &self.relay) {
            (Source::Own(to), _) => self.voqs[to].first(),
            (Source::Stored, relay) => relay.as_ref()?.first(leads_to),
        };
        let len = u64::from(first?.len);
        let whole = cx.now + self.paces[uplink].time_for(len) <= until;
        if !whole && self.config.voq.at_night == AtNight::Hold {
            self.sums.held += 1;
            return None;
        }
        let (packet, waited) = match source {
            Source::Own(to) => self.take(to, cx.now)?,
            Source::Stored => self.relay.as_mut()?.pop(leads_to, cx.now)?,
        };
        if !whole && self.config.voq.at_night == AtNight::Drop {
            self.sums.cut += 1;
            self.open[uplink] = None;
            self.census.held -= 1;
            cx.drop(&packet, DropReason::LinkDown);
            return None;
        }
        self.sums.drained += u64::from(!whole);
        let Source::Own(to) = source else {
            self.census.held -= 1;
            self.sums.second_hops += 1;
            return Some(packet);
        };
        self.voqs[to].stats.circuit_bytes += len;
        self.sums.circuit(&packet, waited + circuits.delay);
        self.sums.first_hops += u64::from(to != leads_to);
        if let Some(relay) = &mut self.relay {
            relay.turns.taken(to);
        }
        Some(self.leave(to, packet, 1))
    }

    /// A packet leaves by a path of `class`, with news of the way back.
    #[inline]
    fn leave(&mut self, to: usize, mut packet: Packet, class: u8) -> Packet {
        self.census.held -= 1;
        if let Some(ledger) = &mut self.config.ledger
            && packet.kind == Kind::Data
        {
            ledger.leaves(packet.flow, packet.seq);
        }
        let on = self.board.of(to);
        packet.put_on_path(class);
        packet.tell_circuits(u8::from(on.is(Thing::Hear)), on.is(Thing::Mark));
        self.sums.marked += u64::from(on.is(Thing::Mark));
        packet
    }

    fn carry_out(&mut self, cx: &mut Cx<'_>) {
        while let Some(deed) = self.config.agenda.due(cx.now) {
            self.act(deed, cx);
        }
        let next = self.config.agenda.next().unwrap_or(Time::MAX);
        if next < self.wake {
            self.wake = next;
            cx.wake(next, AGENDA);
        }
    }

    fn act(&mut self, deed: Deed, cx: &mut Cx<'_>) {
        match deed {
            Deed::Bar(rack, uplink) => self.put((rack, uplink), Thing::Bar, true, cx),
            Deed::Unbar(rack, uplink) => self.put((rack, uplink), Thing::Bar, false, cx),
            Deed::Grow(rack, uplink) => self.put((rack, uplink), Thing::Grow, true, cx),
            Deed::Shrink(rack, uplink) => self.put((rack, uplink), Thing::Grow, false, cx),
            Deed::Mark(rack, uplink) => self.put((rack, uplink), Thing::Mark, true, cx),
            Deed::Unmark(rack, uplink) => self.put((rack, uplink), Thing::Mark, false, cx),
            Deed::Hear(rack, uplink) => self.put((rack, uplink), Thing::Hear, true, cx),
            Deed::Unhear(rack, uplink) => self.put((rack, uplink), Thing::Hear, false, cx),
            Deed::Tell(rack, uplink) => self.put((rack, uplink), Thing::Tell, true, cx),
            Deed::Untell(rack, uplink) => self.put((rack, uplink), Thing::Tell, false, cx),
            Deed::Open { uplink, to, until } => {
                self.days[usize::from(uplink)] = Some((to, until));
                self.open(uplink, cx);
            }
            Deed::Close { uplink, .. } => {
                self.days[usize::from(uplink)] = None;
                self.open[usize::from(uplink)] = None;
            }
            Deed::Report(week) => self.report(week, cx),
            Deed::Week(week) => self.begin_week(week, cx.now),
            // Of switches that are told of all circuits.
            Deed::Stay { .. } | Deed::Up { .. } | Deed::Down(_) => {}
        }
    }

    /// A day has something on from now on, or no more.
    fn put(&mut self, pair: (u16, u8), thing: Thing, on: bool, cx: &mut Cx<'_>) {
        self.board.set(pair, thing, on);
        match thing {
            Thing::Bar => self.offer(pair.0.into(), cx),
            Thing::Grow => self.fit(pair.0.into(), cx),
            Thing::Tell => self.tell(pair.0.into(), cx),
            Thing::Mark | Thing::Hear => {}
        }
    }

    /// The circuit of the day is up, if its ports work.
    fn open(&mut self, uplink: u8, cx: &mut Cx<'_>) {
        let Some((to, until)) = self.days[usize::from(uplink)] else { return };
        if !self.board.works(to.into(), uplink.into()) {
            self.sums.dead_days += 1;
            return;
        }
        let roles = self.config.roles;
        let port = roles.circuit_port(uplink.into());
        self.open[usize::from(uplink)] = Some((to, until));
        self.sums.day(to.into(), until.since(cx.now));
        let first = |rack: u32| HostId(rack * roles.hosts);
        cx.note(Note::Circuit { host: first(self.config.rack), dst: first(to.into()), until });
        cx.rewire(port, roles.tor(to.into()), port);
        cx.kick(port);
    }

    /// The queue for `to` has the size that days want.
    fn fit(&mut self, to: usize, cx: &mut Cx<'_>) {
        let Some(resize) = self.config.voq.resize else { return };
        if self.board.of(to).is(Thing::Grow) {
            return self.voqs[to].resize(resize.to);
        }
        self.voqs[to].resize(self.config.voq.packets);
        while resize.shrink == Shrink::Drop
            && let Some(packet) = self.voqs[to].shed()
        {
            self.census.held -= 1;
            cx.drop(&packet, DropReason::Full);
        }
    }

    fn report(&mut self, week: u64, cx: &mut Cx<'_>) {
        let end = self.config.weekly.as_ref().map_or(cx.now, |weekly| weekly.end_of(week));
        let bytes = match &mut self.config.ledger {
            Some(ledger) => {
                ledger.foresee(end);
                ledger.give_up(cx.now);
                ledger.bytes()
            }
            None => self.voqs.iter().map(Voq::bytes).collect(),
        };
        let report = Message::Report { week, rack: self.config.rack as u16, bytes };
        let packet = message(report.emit(), cx);
        self.census.created += 1;
        cx.send(self.config.roles.control_port(), packet);
    }

    fn begin_week(&mut self, week: u64, now: Time) {
        if let Some(weekly) = &mut self.config.weekly {
            weekly.begin(week, &mut self.config.agenda, now);
        }
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
            (Ok(Message::Port { rack, uplink, works }), _)
                if u32::from(uplink) < self.config.roles.uplinks =>
            {
                self.port((rack.into(), uplink), works, cx);
            }
            _ => {}
        }
    }

    fn obey(&mut self, packet: &Packet, cx: &mut Cx<'_>) {
        self.census.consumed += 1;
        if let Some((to, stop)) = frame(packet)
            && let Some(held) = self.held.get_mut(to)
        {
            *held = stop;
            self.offer(to, cx);
        }
    }
}

impl Node for Tor {
    fn start(&mut self, cx: &mut Cx<'_>) {
        self.carry_out(cx);
    }

    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        match packet.kind {
            Kind::Control if port == self.config.roles.control_port() => self.hear(&packet, cx),
            Kind::Pause => self.obey(&packet, cx),
            _ => self.forward(port, packet, cx),
        }
    }

    fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        if self.config.roles.packet_port() == Some(port) {
            return self.by_packet_switch(cx);
        }
        let first = self.config.roles.circuit_port(0);
        self.by_circuit(usize::from(port.0 - first.0), cx)
    }

    fn expire(&mut self, _token: u32, cx: &mut Cx<'_>) {
        if self.wake <= cx.now {
            self.wake = Time::MAX;
        }
        self.carry_out(cx);
    }

    fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        match change {
            Change::Up(port) => self.link(*port, true, cx),
            Change::Down(port) => self.link(*port, false, cx),
            Change::Rate(port, rate) => {
                let first = self.config.roles.circuit_port(0).0;
                let at = port.0.checked_sub(first).map(usize::from);
                if let Some(pace) = at.and_then(|at| self.paces.get_mut(at)) {
                    *pace = rate.inverse_rate();
                }
            }
            _ => {}
        }
    }

    fn census(&self) -> Census {
        self.census
    }

    fn tally(&self, tally: &mut Tally) {
        let stats: Vec<VoqStats> = self.voqs.iter().map(|voq| voq.stats).collect();
        self.sums.tally(&stats, tally);
        if let Some(relay) = &self.relay {
            let (stored, refused) = relay.sums();
            tally.add("relayed_packets", stored);
            tally.add("relay_drops", refused);
        }
        if let Some(notices) = &self.notices {
            tally.add("hosts_told_of_circuits", notices.sent);
        }
        if let Some(weekly) = &self.config.weekly {
            tally.add("late_weeks", weekly.late);
        }
    }

    fn queued(&self, port: PortId) -> u64 {
        let all = || self.voqs.iter().map(Voq::bytes).sum();
        let circuit = u32::from(port.0).checked_sub(self.config.roles.circuit_port(0).0.into());
        let open = circuit.and_then(|uplink| self.open.get(uplink as usize).copied());
        match open {
            Some(open) => open.map_or(0, |(to, _)| self.voqs[usize::from(to)].bytes()),
            None if self.config.roles.packet_port() == Some(port) => all(),
            None => 0,
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
