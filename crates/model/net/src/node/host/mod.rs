//! A host: transports, applications' triggers, and the network card.

mod bursts;
mod expect;
mod in_order;
mod late;
mod news;
mod nic;
mod plan;
mod results;
pub(super) mod shaped;
mod shaper;
mod starts;
mod steps;
mod tcp;
mod udp;

pub use expect::STEPS;
pub use late::LateFlow;
pub use nic::{Egress, Nic, NicConfig};
pub use plan::{Plan, Spread, pair_entropy};
pub use results::{FlowResult, Received, Sent};

use super::agent::AGENT_TOKENS;
use super::station::Loss;
use super::{Change, Counters, Cx, DropReason, Node, PacketAccount};
use crate::frame::{Kind, Packet};
use crate::id::{FlowId, HostId, NodeId, PortId};
use crate::rng::{Stream, mix32, mix64};
use crate::route::Routes;
use crate::time::Time;
use crate::units::Rate;
use crate::workload::{Flow, Start, When};
use news::News;
use shaper::Shaper;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use steps::Due;
use tcp::{TcpReceiver, TcpSender};
use udp::{UdpReceiver, UdpSender};

/// Kinds of wake-up tokens, in the high bits. The low bits are the number of a connection at this host.
mod token {
    pub const START: u32 = 0;
    pub const RESUME: u32 = 1 << 28;
    pub const TIMEOUT: u32 = 2 << 28;
    pub const ACKNOWLEDGE: u32 = 3 << 28;
    pub const DATAGRAM: u32 = 4 << 28;
    pub const GIVE_UP: u32 = 5 << 28;
    pub const PLACE: u32 = (1 << 28) - 1;
}

/// The parts of a host.
pub struct HostConfig {
    /// Its number among hosts.
    pub id: HostId,
    /// Its node.
    pub node: NodeId,
    /// Traffic and transport.
    pub plan: Arc<Plan>,
    /// Routes, for hosts with several network cards.
    pub routes: Arc<Routes>,
    /// Rate of each network card.
    pub rates: Vec<Rate>,
    /// Where packets wait for the card.
    pub egress: Egress,
    /// Whether [`Egress::Classes`] and [`Egress::InOrder`] have eight strict priorities instead of one queue.
    pub priorities: bool,
    /// Whether the switch of its rack sends it messages about paths, and how often they get lost.
    pub news: Option<Loss>,
    /// The run's seed.
    pub seed: u64,
}

/// A host.
pub struct Host {
    id: HostId,
    plan: Arc<Plan>,
    nic: Nic,
    news: Option<News>,
    line: Rate,
    seed: u64,
    /// The first own connection, whose sender is `senders[0]`.
    first_conn: u32,
    senders: Vec<Option<Box<TcpSender>>>,
    receivers: Vec<Option<Box<TcpReceiver>>>,
    udp_senders: Vec<Option<Box<UdpSender>>>,
    udp_receivers: Vec<Option<Box<UdpReceiver>>>,
    sent: Vec<Sent>,
    /// The first own flow, whose results are `sent[0]`.
    first_flow: u32,
    received: Vec<Received>,
    /// The flows of `received`.
    received_flows: Vec<u32>,
    /// By received connection, the index of its first flow in `received`.
    received_first: Vec<u32>,
    next_start: usize,
    /// When the next flow with a known start begins, and how many wake-ups were wanted for that time.
    wanted: (Time, u32),
    /// Flows whose trigger has fired and whose think time is not over, and steps in progress.
    thinking: BinaryHeap<Reverse<(Time, Due)>>,
    /// By processor, the time at which it is free.
    cpus: Vec<Time>,
    /// Own triggers and the completions they still need.
    triggers: Vec<(u32, u32)>,
    /// By connection, first sent and then received ones, under [`Spread::PerBurst`]: the time of its last packet, and
    /// that packet's hash input.
    bursts: Vec<(Time, u16)>,
    /// The same for late connections, by connection.
    late_bursts: BTreeMap<u32, (Time, u16)>,
    /// By time, how many wake-ups for starts are to be ignored, because a late flow starts before.
    ignored: BTreeMap<Time, u32>,
    /// Late flows that have not started.
    late: BinaryHeap<Reverse<(Time, u32)>>,
    /// The late connections that this host sends on, and those that it receives.
    late_sent: Vec<u32>,
    late_received: Vec<u32>,
    shaper: Option<Shaper>,
    created: u64,
    consumed: u64,
    draws: u32,
    /// The key of the random streams of this host.
    salt: u32,
}

impl Host {
    /// A host ready to start.
    pub fn new(config: HostConfig) -> Host {
        let HostConfig { id, node, plan, routes, rates, egress, priorities, news, seed } = config;
        let sends = plan.sends(id);
        let flows_of = |conns: &[crate::workload::Conn]| conns.iter().map(|c| c.count).sum::<u32>();
        let own = &plan.traffic.conns[sends.start as usize..sends.end as usize];
        let (mut received_first, mut received_flows) = (vec![0], Vec::new());
        for &conn in plan.receives(id) {
            received_flows.extend(plan.flows(conn).map(|flow| flow.0));
            received_first.push(received_flows.len() as u32);
        }
        let triggers =
            plan.triggers(id).iter().map(|&t| (t, plan.traffic.triggers[t as usize].count));
        let tsq_limit = plan.transport.tsq_limit();
        let nic = NicConfig { node, routes, egress, priorities, tsq_limit };
        let paces: Vec<_> = rates.iter().map(|rate| rate.inverse_rate()).collect();
        Host {
            id,
            nic: Nic::new(nic, &paces),
            news: news.map(News::new),
            line: rates.iter().copied().max().unwrap_or_default(),
            seed,
            first_conn: sends.start,
            senders: own.iter().map(|_| None).collect(),
            receivers: plan.receives(id).iter().map(|_| None).collect(),
            udp_senders: Vec::new(),
            udp_receivers: Vec::new(),
            sent: vec![Sent::NEVER; flows_of(own) as usize],
            first_flow: own.first().map_or(0, |conn| conn.first.0),
            received: vec![Received::NOTHING; received_flows.len()],
            received_flows,
            received_first,
            next_start: 0,
            wanted: (Time::MAX, 0),
            thinking: BinaryHeap::new(),
            cpus: Vec::new(),
            triggers: triggers.collect(),
            bursts: Vec::new(),
            late_bursts: BTreeMap::new(),
            ignored: BTreeMap::new(),
            late: BinaryHeap::new(),
            late_sent: Vec::new(),
            late_received: Vec::new(),
            shaper: plan.transport.shaper().map(Shaper::new),
            created: 0,
            consumed: 0,
            draws: 0,
            salt: mix64(seed ^ mix64(plan.host_key(id))) as u32,
            plan,
        }
    }

    /// The results of each flow that this host sends or receives.
    pub fn results(&self) -> impl Iterator<Item = FlowResult> {
        let own = (self.sent.len() - self.late_sent.len()) as u32;
        let late = self.late_sent.iter().map(|&conn| self.plan.conn(conn).first.0);
        let sent = (self.first_flow..self.first_flow + own).chain(late).zip(&self.sent);
        let sent = sent.map(|(f, s)| FlowResult::Sent(FlowId(f), *s));
        let received = self.received_flows.iter().zip(&self.received);
        sent.chain(received.map(|(f, r)| FlowResult::Received(FlowId(*f), *r)))
    }

    /// The central scheduler's agent, if this host has one.
    pub fn agent(&self) -> Option<&dyn super::agent::Agent> {
        self.nic.agent()
    }

    /// The index of own connection `conn` at this host.
    #[inline]
    fn place(&self, conn: u32) -> usize {
        if self.plan.is_late(conn) {
            return self.plan.late_conn(conn).sent as usize;
        }
        (conn - self.first_conn) as usize
    }

    /// The index of the result of own flow `flow`.
    #[inline]
    fn sent_place(&self, flow: u32) -> usize {
        if self.late_sent.is_empty() || (flow as usize) < self.plan.traffic.flows.len() {
            return (flow - self.first_flow) as usize;
        }
        let place = self.place(self.plan.flow(flow).conn.0);
        self.sent.len() + place - self.senders.len()
    }

    /// The connection with this index among those that this host receives.
    #[inline]
    fn received_conn(&self, ordinal: usize) -> u32 {
        let planned = self.plan.receives(self.id);
        match planned.get(ordinal) {
            Some(conn) => *conn,
            None => self.late_received[ordinal - planned.len()],
        }
    }

    #[inline]
    fn conn_at(&self, place: usize) -> u32 {
        let planned = self.senders.len() - self.late_sent.len();
        match place.checked_sub(planned) {
            None => self.first_conn + place as u32,
            Some(late) => self.late_sent[late],
        }
    }

    /// Passes a packet that this host made to the network card.
    #[inline(always)]
    fn emit(&mut self, mut packet: Packet, cx: &mut Cx<'_>) {
        match self.plan.spread {
            Spread::PerPacket => packet.entropy = self.draw() as u16,
            Spread::PerBurst(gap) => packet.entropy = self.burst_entropy(packet.flow, gap, cx.now),
            _ => {}
        }
        self.created += 1;
        if let Some(shaper) = &mut self.shaper {
            cx.hold(shaper.hold(packet.len, cx.now));
        }
        self.nic.send(packet, cx);
    }

    /// Random bits, cheap enough for every packet.
    #[inline]
    fn draw(&mut self) -> u32 {
        self.draws = self.draws.wrapping_add(1);
        mix32(self.draws.wrapping_mul(0x9e37_79b9) ^ self.salt)
    }

    /// Delays the reaction of this host to the present event by a random time of up to `most` picoseconds.
    #[inline]
    fn react(&mut self, most: u64, cx: &mut Cx<'_>) {
        if most > 0 {
            cx.hold(Time::ps((u64::from(self.draw()) * most) >> 32));
        }
    }

    /// The longest time that this host takes to react to a wake-up.
    #[inline]
    fn reaction_to(&self, token: u32) -> u64 {
        let place = token & token::PLACE;
        match token & !token::PLACE {
            token::TIMEOUT => self.plan.reaction(self.conn_at(place as usize)),
            token::ACKNOWLEDGE => self.plan.reaction(self.received_conn(place as usize)),
            _ => self.plan.other_reaction(),
        }
    }

    /// A flow is complete, as seen from `side`. Counts this towards its trigger, which may fire.
    fn flow_done(&mut self, flow: u32, side: When, cx: &mut Cx<'_>) {
        let Flow { then, also, .. } = *self.plan.flow(flow);
        if let Some((trigger, when)) = then
            && when == side
        {
            self.complete(trigger, cx);
        }
        if let Some(trigger) = also.filter(|_| side == When::Acked) {
            self.complete(trigger, cx);
        }
    }

    /// Counts a completion towards own `trigger`, which may fire.
    fn complete(&mut self, trigger: u32, cx: &mut Cx<'_>) {
        if self.count_down(trigger) {
            self.start_triggered(trigger, cx);
            if !self.plan.steps_after(trigger).is_empty() {
                self.start_steps(trigger, cx);
            }
        }
    }

    /// Counts a completion towards own `trigger`. Returns whether it fires.
    fn count_down(&mut self, trigger: u32) -> bool {
        let Ok(at) = self.triggers.binary_search_by_key(&trigger, |(t, _)| *t) else {
            return false;
        };
        let missing = &mut self.triggers[at].1;
        let fires = *missing == 1;
        *missing = missing.saturating_sub(1);
        fires
    }

    /// Starts the flows that wait for `trigger`, which has fired.
    fn start_triggered(&mut self, trigger: u32, cx: &mut Cx<'_>) {
        let plan = Arc::clone(&self.plan);
        for &flow in plan.triggered(trigger) {
            match plan.traffic.flows[flow as usize].start {
                Start::After { delay, .. } if delay > Time::ZERO => {
                    self.later(cx.now.after(delay), Due::Flow(flow), cx);
                }
                _ => self.start_flow(flow, cx),
            }
        }
    }

    fn start_udp(&mut self, place: usize, conn: u32, cx: &mut Cx<'_>) {
        let info = &self.plan.traffic.conns[conn as usize];
        let bytes = self.plan.traffic.flows[info.first.at()].bytes;
        let stream = Stream::named(self.seed, "host.udp", self.plan.conn_key(conn));
        let sender = UdpSender::new(info, bytes, &self.plan.transport, self.line, stream, cx.now);
        if self.udp_senders.is_empty() {
            self.udp_senders = self.senders.iter().map(|_| None).collect();
        }
        self.udp_senders[place] = sender.map(Box::new);
        self.send_datagram(place, cx);
    }

    /// Sends the datagram that is due, unless its socket would block, and asks for the next.
    fn send_datagram(&mut self, place: usize, cx: &mut Cx<'_>) {
        let conn = self.conn_at(place);
        let plan = Arc::clone(&self.plan);
        let info = &plan.traffic.conns[conn as usize];
        let entropy = plan.entropy(conn);
        let open = self.nic.held_for(info.dst, conn) < udp::SOCKET_BUFFER
            && self.nic.has_room(info.dst, entropy, cx.now);
        let Some(sender) = self.udp_senders.get_mut(place).and_then(Option::as_mut) else { return };
        if !open {
            let retry = sender.due_after(plan.transport.mtu() as u16, cx.now);
            return cx.wake(retry, token::DATAGRAM | place as u32);
        }
        match sender.next(info.dst, conn, info.class, &plan.transport) {
            Some(packet) => {
                let due = sender.due_after(packet.len, cx.now);
                cx.wake(due, token::DATAGRAM | place as u32);
                self.emit(Packet { entropy, ..packet }, cx);
            }
            None => {
                let flow = sender.flow.0;
                self.udp_senders[place] = None;
                cx.complete(flow);
                self.flow_done(flow, When::Acked, cx);
            }
        }
    }

    fn on_datagram(&mut self, packet: &Packet, cx: &mut Cx<'_>) {
        let plan = Arc::clone(&self.plan);
        let info = &plan.traffic.conns[packet.flow as usize];
        let bytes = plan.traffic.flows[info.first.at()].bytes;
        let ordinal = plan.rx_ordinal(packet.flow) as usize;
        if self.udp_receivers.is_empty() {
            self.udp_receivers = self.receivers.iter().map(|_| None).collect();
        }
        let fresh = || Box::new(UdpReceiver::new(info, &plan.transport));
        let receiver = self.udp_receivers[ordinal].get_or_insert_with(fresh);
        let Some(length) = receiver.on_datagram(packet.seq, bytes) else { return };
        let result = &mut self.received[self.received_first[ordinal] as usize];
        result.bytes += length;
        if result.bytes == bytes {
            result.finished = cx.now;
            self.flow_done(info.first.0, When::Received, cx);
        }
    }

    fn on_control(&mut self, packet: &Packet, cx: &mut Cx<'_>) {
        let message = cx.detach(packet);
        if let Some(agent) = self.nic.agent_mut() {
            return agent.control(&message, cx);
        }
        self.on_path_news(&message, cx);
    }
}

impl Node for Host {
    fn start(&mut self, cx: &mut Cx<'_>) {
        if let Some(agent) = self.nic.agent_mut() {
            agent.start(cx);
        }
        self.plan_steps(cx);
        self.start_due(cx);
    }

    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        if packet.dst != self.id && packet.kind != Kind::Pause {
            return cx.drop(&packet, DropReason::Misrouted);
        }
        if self.nic.loses(&packet) || self.news.as_mut().is_some_and(|news| news.loses(&packet)) {
            return cx.drop(&packet, DropReason::Injected);
        }
        if let Some(agent) = self.nic.agent_mut()
            && !agent.arrived(&packet, cx)
        {
            return cx.drop(&packet, DropReason::Full);
        }
        self.consumed += 1;
        let most = match packet.kind {
            Kind::Data | Kind::Ack => self.plan.reaction(packet.flow),
            Kind::Datagram | Kind::Control | Kind::Pause => self.plan.other_reaction(),
        };
        self.react(most, cx);
        match packet.kind {
            Kind::Data => self.on_data(&packet, cx),
            Kind::Ack => self.on_ack(&packet, cx),
            Kind::Datagram => self.on_datagram(&packet, cx),
            Kind::Control => self.on_control(&packet, cx),
            Kind::Pause => self.nic.pause(port, &packet, cx),
        }
    }

    fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        let packet = self.nic.transmit(port, cx);
        if self.nic.blocked.is_empty() {
            return packet.or_else(|| self.nic.transmit_again(cx));
        }
        self.resume(cx);
        packet.or_else(|| self.nic.transmit(port, cx))
    }

    fn has_more(&self, port: PortId) -> bool {
        self.nic.has_more(port)
    }

    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        let place = (token & token::PLACE) as usize;
        if token == token::START && self.ignores(cx.now) {
            return;
        }
        self.react(self.reaction_to(token), cx);
        if token >= AGENT_TOKENS {
            if let Some(agent) = self.nic.agent_mut() {
                agent.expire(token, cx);
            }
            return;
        }
        match token & !token::PLACE {
            token::START => {
                self.start_due(cx);
                self.start_thinking(cx);
            }

            token::RESUME => {
                self.nic.resuming = false;
                self.resume(cx);
            }
            token::TIMEOUT => self.on_timeout(place, cx),
            token::ACKNOWLEDGE => self.acknowledge_late(place, cx),
            token::GIVE_UP => self.give_up(place),
            _ => self.send_datagram(place, cx),
        }
    }

    fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        self.nic.change(change, cx);
    }

    fn account(&self) -> PacketAccount {
        self.nic.account(self.created, self.consumed)
    }

    fn add_counters(&self, counters: &mut Counters) {
        self.nic.add_counters(counters);
    }

    fn queued(&self, port: PortId) -> u64 {
        self.nic.queued(port)
    }
}
