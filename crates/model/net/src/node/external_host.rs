//! A host whose applications are outside of the network: on a real machine, for example.

use super::agent::AGENT_TOKENS;
use super::host::shaped::Shaped;
use super::host::{Nic, Plan, Spread};
use super::station::Loss;
use super::{Change, Counters, Cx, DropReason, Handover, Node, PacketAccount};
use crate::frame::{Kind, Packet};
use crate::id::{HostId, PortId};
use crate::rng::{mix32, mix64};
use crate::time::Time;
use crate::units::InverseRate;
use crate::wire::path_news::PathNews;
use crate::workload::{Carrier, Conn, Traffic};
use std::sync::Arc;

/// The number of connections from each host to each other host. They stand for connections of applications that no
/// workload describes.
pub const SHARED_CONNS: u32 = 8;

/// The wake-up for packets in the shaper.
const SHAPER: u32 = 0;

/// Adds [`SHARED_CONNS`] connections without flows between every two of the first `hosts` hosts.
pub fn add_shared_conns(traffic: &mut Traffic, hosts: u32) {
    let workloads = traffic.conns.len();
    let order = |conns: &[Conn]| {
        let mut order: Vec<usize> = (0..conns.len()).collect();
        order.sort_by_key(|&at| conns[at].src);
        order
    };
    for src in 0..hosts {
        for dst in (0..hosts).filter(|&dst| dst != src) {
            traffic.conns.extend((0..SHARED_CONNS).map(|n| shared(src, dst, n)));
        }
    }
    let order = order(&traffic.conns);
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(new, &old)| place[old] = new as u32);
    traffic.conns = order.iter().map(|&old| traffic.conns[old]).collect();
    if workloads > 0 {
        traffic.flows.iter_mut().for_each(|flow| flow.conn.0 = place[flow.conn.at()]);
        traffic.cuts.iter_mut().for_each(|(conn, _)| conn.0 = place[conn.at()]);
        traffic.cuts.sort_by_key(|(conn, _)| *conn);
    }
}

/// Traffic with only connections without flows: one from `host` to each other of the first `hosts` hosts.
pub fn conns_of(host: Option<HostId>, hosts: u32) -> Traffic {
    let to = |src: HostId| {
        (0..hosts).filter(move |&dst| dst != src.0).map(move |dst| shared(src.0, dst, 0))
    };
    Traffic { conns: host.into_iter().flat_map(to).collect(), ..Traffic::default() }
}

fn shared(src: u32, dst: u32, n: u32) -> Conn {
    Conn {
        src: HostId(src),
        dst: HostId(dst),
        carrier: Carrier::Tcp,
        class: 0,
        machines: Default::default(),
        first: Default::default(),
        count: 0,
        key: mix64(u64::from(n) ^ 0x5aa5_0000_0000),
    }
}

/// A network card, a shaper in front of it, and the agent of a central scheme, if there are such, without transports.
///
/// Its applications pass packets to it as arrivals at port 0 that are not for this host. It hands over the packets that
/// arrive for this host, those that have left its card, and news of circuits ([`Handover`]). All its ports are pulled.
pub struct ExternalHost {
    id: HostId,
    plan: Arc<Plan>,
    nic: Nic,
    shaped: Option<Shaped>,
    /// Messages of the scheme that get lost on arrival.
    loss: Loss,
    /// By connection and direction, under [`Spread::PerBurst`]: the time of its last packet, and that packet's hash
    /// input.
    bursts: Vec<(Option<Time>, u16)>,
    draws: u32,
    salt: u32,
    created: u64,
    consumed: u64,
}

impl ExternalHost {
    /// Host `id`. `plan` gives the connections of its packets and how they choose paths.
    pub fn new(id: HostId, plan: Arc<Plan>, nic: Nic, loss: Loss, seed: u64) -> ExternalHost {
        let salt = mix64(seed ^ mix64(plan.host_key(id))) as u32;
        let (shaped, bursts, draws, created, consumed) = (None, Vec::new(), 0, 0, 0);
        ExternalHost { id, plan, nic, shaped, loss, bursts, draws, salt, created, consumed }
    }

    /// Packets of applications pass a shaper of this rate, if there is one, on their way to the card.
    #[must_use]
    pub fn with_shaper(self, pace: Option<InverseRate>) -> ExternalHost {
        ExternalHost { shaped: pace.map(Shaped::new), ..self }
    }

    /// A packet from an application.
    fn leave(&mut self, mut packet: Packet, cx: &mut Cx<'_>) {
        self.created += 1;
        packet.entropy = match self.plan.spread {
            Spread::PerPacket => self.draw(),
            Spread::PerBurst(gap) => self.burst_entropy(&packet, gap, cx.now),
            _ => packet.entropy,
        };
        match &mut self.shaped {
            Some(shaped) => {
                let idle = shaped.due().is_none();
                shaped.put(packet, cx.now);
                shaped.due().filter(|_| idle).into_iter().for_each(|due| cx.wake(due, SHAPER));
            }
            None => self.nic.send(packet, cx),
        }
    }

    /// Gives the card the packets that leave the shaper now.
    fn pass_shaped(&mut self, cx: &mut Cx<'_>) {
        let Some(shaped) = &mut self.shaped else { return };
        while let Some(packet) = shaped.next(cx.now) {
            self.nic.send(packet, cx);
        }
        shaped.due().into_iter().for_each(|due| cx.wake(due, SHAPER));
    }

    /// The hash input of a packet: that of the connection's last packet, unless the last packet is older than `gap`.
    fn burst_entropy(&mut self, packet: &Packet, gap: Time, now: Time) -> u16 {
        let back = self.plan.traffic.conns[packet.flow as usize].src != self.id;
        let place = packet.flow as usize * 2 + usize::from(back);
        if self.bursts.len() <= place {
            self.bursts.resize(place + 1, (None, 0));
        }
        let (last, entropy) = self.bursts[place];
        let fresh = last.is_none_or(|last| now.since(last) >= gap);
        let entropy = if fresh { self.draw() } else { entropy };
        self.bursts[place] = (Some(now), entropy);
        entropy
    }

    fn draw(&mut self) -> u16 {
        self.draws = self.draws.wrapping_add(1);
        mix32(self.draws.wrapping_mul(0x9e37_79b9) ^ self.salt) as u16
    }

    fn arrive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        if self.loss.loses(&packet) {
            return cx.drop(&packet, DropReason::Injected);
        }
        if let Some(agent) = self.nic.agent_mut()
            && !agent.arrived(&packet, cx)
        {
            return cx.drop(&packet, DropReason::Full);
        }
        self.consumed += 1;
        match packet.kind {
            Kind::Data | Kind::Ack | Kind::Datagram => cx.hand_over(Handover::Arrived(packet)),
            Kind::Pause => self.nic.pause(port, &packet, cx),
            Kind::Control => {
                let message = cx.detach(&packet);
                match self.nic.agent_mut() {
                    Some(agent) => agent.control(&message, cx),
                    None => PathNews::parse(&message)
                        .iter()
                        .for_each(|news| cx.hand_over(Handover::Notified(self.id, *news))),
                }
            }
        }
    }
}

impl Node for ExternalHost {
    fn start(&mut self, cx: &mut Cx<'_>) {
        if let Some(agent) = self.nic.agent_mut() {
            agent.start(cx);
        }
    }

    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        if packet.dst == self.id || packet.kind == Kind::Pause {
            self.arrive(port, packet, cx);
        } else {
            self.leave(packet, cx);
        }
    }

    fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        let packet = self.nic.transmit(port, cx)?;
        if matches!(packet.kind, Kind::Data | Kind::Ack | Kind::Datagram) {
            cx.hand_over(Handover::Left(packet));
        }
        Some(packet)
    }

    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        match self.nic.agent_mut() {
            _ if token == SHAPER => self.pass_shaped(cx),
            Some(agent) if token >= AGENT_TOKENS => agent.expire(token, cx),
            _ => {}
        }
    }

    fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        self.nic.change(change, cx);
    }

    fn account(&self) -> PacketAccount {
        let account = self.nic.account(self.created, self.consumed);
        let shaped = self.shaped.as_ref().map_or(0, Shaped::held);
        PacketAccount { held: account.held + shaped, ..account }
    }

    fn add_counters(&self, counters: &mut Counters) {
        self.nic.add_counters(counters);
    }

    fn queued(&self, port: PortId) -> u64 {
        self.nic.queued(port)
    }
}
