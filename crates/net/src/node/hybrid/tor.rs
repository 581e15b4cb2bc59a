//! The switch of a rack: packets for other racks wait by destination, for a circuit or for the packet
//! switch.

use super::packet::frame;
use super::relay::{Relay, Source};
use super::shares::Turns;
use super::weekly::Weekly;
use super::{message, sums::Sums};
use crate::frame::{Kind, Packet};
use crate::hybrid::{Agenda, AtNight, Deed, Ledger, Shrink, Voq, VoqSpec, VoqStats};
use crate::id::{HostId, PortId};
use crate::node::{Census, Cx, DropReason, Node, Note, Tally};
use crate::time::Time;
use crate::topology::Roles;
use crate::units::Pace;
use crate::wire::circuits::Message;
use std::any::Any;

/// The circuits of a fabric as a rack's switch knows them.
#[derive(Clone, Copy, Debug)]
pub struct Circuits {
    /// Their rate.
    pub pace: Pace,
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

/// What is on for one destination: by how many days.
#[derive(Clone, Copy, Default)]
struct On {
    barred: u16,
    grown: u16,
    marked: u16,
    heard: u16,
    /// The packet switch asks to hold back.
    held: bool,
}

/// The switch of a rack.
pub struct Tor {
    config: TorConfig,
    voqs: Vec<Voq>,
    on: Vec<On>,
    /// Queues that the packet switch takes from.
    turns: Turns,
    relay: Option<Relay>,
    /// By uplink: where its circuit leads, and until when.
    open: Vec<Option<(u16, Time)>>,
    /// The earliest wake-up asked for and not yet had.
    wake: Time,
    census: Census,
    sums: Sums,
}

const AGENDA: u32 = 0;

impl Tor {
    /// One with empty queues.
    pub fn new(config: TorConfig) -> Tor {
        let racks = config.roles.racks as usize;
        Tor {
            voqs: vec![Voq::new(config.voq.packets); racks],
            on: vec![On::default(); racks],
            turns: Turns::new(racks),
            relay: config.voq.relay.map(|spec| Relay::new(spec, racks, &config.ever)),
            open: vec![None; config.roles.uplinks as usize],
            wake: Time::MAX,
            census: Census::default(),
            sums: Sums::new(racks),
            config,
        }
    }

    /// What happened in the queue for `rack`.
    pub fn stats(&self, rack: usize) -> VoqStats {
        self.voqs[rack].stats
    }

    fn hosts(&self) -> u32 {
        self.config.roles.hosts
    }

    /// A packet for a host: of this rack, or of another.
    fn forward(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        let (to, host) = (packet.dst.0 / self.hosts(), packet.dst.0 % self.hosts());
        if to == self.config.rack {
            return cx.send(PortId(host as u16), packet);
        }
        if to >= self.config.roles.racks {
            return cx.drop(&packet, DropReason::NoRoute);
        }
        if u32::from(port.0) < self.hosts() {
            return self.queue(to as usize, packet, cx);
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

    /// Takes the first packet of the queue for `to`.
    fn take(&mut self, to: usize) -> Option<(Packet, Time)> {
        let first = self.voqs[to].pop()?;
        if self.voqs[to].is_empty() {
            self.turns.set(to, false);
            if let Some(relay) = &mut self.relay {
                relay.turns.set(to, false);
            }
        }
        Some(first)
    }

    /// Whether the packet switch may take from the queue for `to`, as things are now.
    fn offer(&mut self, to: usize, cx: &mut Cx<'_>) {
        let on = self.on[to];
        let free = on.barred == 0 && !on.held && !self.voqs[to].is_empty();
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
        let (packet, came) = self.take(to)?;
        self.voqs[to].stats.packet_bytes += u64::from(packet.len);
        let latency = cx.now.since(came) + self.config.packet_delay;
        self.sums.packet(&packet, latency);
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
        let whole = cx.now + circuits.pace.time_for(len) <= until;
        if !whole && self.config.voq.at_night == AtNight::Hold {
            self.sums.held += 1;
            return None;
        }
        let (packet, came) = match source {
            Source::Own(to) => self.take(to)?,
            Source::Stored => self.relay.as_mut()?.pop(leads_to)?,
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
        self.sums.circuit(&packet, cx.now.since(came) + circuits.delay);
        self.sums.first_hops += u64::from(to != leads_to);
        if let Some(relay) = &mut self.relay {
            relay.turns.taken(to);
        }
        Some(self.leave(to, packet, 1))
    }

    /// A packet leaves by a path of `class`, with news of the way back.
    fn leave(&mut self, to: usize, mut packet: Packet, class: u8) -> Packet {
        self.census.held -= 1;
        if let Some(ledger) = &mut self.config.ledger
            && packet.kind == Kind::Data
        {
            ledger.leaves(packet.flow, packet.seq);
        }
        let on = self.on[to];
        packet.put_on_path(class);
        packet.tell_circuits(u8::from(on.heard > 0), on.marked > 0);
        self.sums.marked += u64::from(on.marked > 0);
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
            Deed::Bar(to) => {
                self.on[usize::from(to)].barred += 1;
                self.offer(to.into(), cx);
            }
            Deed::Unbar(to) => {
                self.on[usize::from(to)].barred -= 1;
                self.offer(to.into(), cx);
            }
            Deed::Grow(to) => self.grow(to.into()),
            Deed::Shrink(to) => self.shrink(to.into(), cx),
            Deed::Mark(to) => self.on[usize::from(to)].marked += 1,
            Deed::Unmark(to) => self.on[usize::from(to)].marked -= 1,
            Deed::Hear(from) => self.on[usize::from(from)].heard += 1,
            Deed::Unhear(from) => self.on[usize::from(from)].heard -= 1,
            Deed::Open { uplink, to, until } => self.open(uplink, to, until, cx),
            Deed::Close { uplink, .. } => self.open[usize::from(uplink)] = None,
            Deed::Report(week) => self.report(week, cx),
            Deed::Week(week) => self.begin_week(week, cx.now),
        }
    }

    fn open(&mut self, uplink: u8, to: u16, until: Time, cx: &mut Cx<'_>) {
        let roles = self.config.roles;
        let port = roles.circuit_port(uplink.into());
        self.open[usize::from(uplink)] = Some((to, until));
        self.sums.day(to.into(), until.since(cx.now));
        let first = |rack: u32| HostId(rack * roles.hosts);
        cx.note(Note::Circuit { host: first(self.config.rack), dst: first(to.into()), until });
        cx.rewire(port, roles.tor(to.into()), port);
        cx.kick(port);
    }

    fn grow(&mut self, to: usize) {
        self.on[to].grown += 1;
        if let Some(resize) = self.config.voq.resize {
            self.voqs[to].resize(resize.to);
        }
    }

    fn shrink(&mut self, to: usize, cx: &mut Cx<'_>) {
        self.on[to].grown -= 1;
        if self.on[to].grown > 0 {
            return;
        }
        self.voqs[to].resize(self.config.voq.packets);
        if self.config.voq.resize.is_some_and(|resize| resize.shrink == Shrink::Drop) {
            while let Some(packet) = self.voqs[to].shed() {
                self.census.held -= 1;
                cx.drop(&packet, DropReason::Full);
            }
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
        if let (Ok(Message::Plan { week, days }), Some(weekly)) =
            (Message::parse(&bytes), &mut self.config.weekly)
        {
            weekly.plan(week, days, &mut self.config.agenda, cx.now);
            self.carry_out(cx);
        }
    }

    fn obey(&mut self, packet: &Packet, cx: &mut Cx<'_>) {
        self.census.consumed += 1;
        if let Some((to, stop)) = frame(packet)
            && let Some(on) = self.on.get_mut(to)
        {
            on.held = stop;
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

    fn census(&self) -> Census {
        self.census
    }

    fn tally(&self, tally: &mut Tally) {
        self.sums.tally(&self.voqs, tally);
        if let Some(relay) = &self.relay {
            let (stored, refused) = relay.sums();
            tally.add("relayed_packets", stored);
            tally.add("relay_drops", refused);
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
