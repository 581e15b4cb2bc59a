//! The host of Hedera's scheduler. It receives reports and sends paths.

use crate::Hedera;
use crate::counters;
use crate::survivors::Survivors;
use crate::wire::{Body, MAX_LINKS, MAX_PATHS, Message};
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{ConnId, HostId, NodeId, PortId};
use slotline_net::node::{Change, Counters, Cx, DropReason, Node, PacketAccount};
use slotline_net::scheme::CONTROL_CLASS;
use slotline_net::scheme::{Control, Decision, FlowCount, Map, Network, News, Plan};
use slotline_net::time::Time;
use slotline_net::topology::End;
use slotline_net::wire::ETHERNET_OVERHEAD;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const DECIDE: u32 = 0;
const SEND: u32 = 1;

/// A report of which not all parts have arrived.
#[derive(Clone, Default)]
struct Partial {
    report: u32,
    /// The next part.
    next: u16,
    flows: Vec<FlowCount>,
}

/// The counters of the node.
#[derive(Clone, Copy, Default)]
struct SchedulerCounters {
    decisions: u64,
    directives: u64,
    reports: u64,
    ignored: u64,
    rewirings: u64,
    sent: u64,
    received: u64,
}

/// The node translates reports for a [`Control`], and its decisions into messages. It sends by its FIFO port 0.
///
/// It requests decisions `gather` after the first report of a poll, and sends them `computing` later.
pub struct SchedulerNode {
    host: HostId,
    options: Hedera,
    control: Box<dyn Control>,
    map: Map,
    /// What real switches report: by switch, the directed links of its ports that do not work; and what is left.
    reported: BTreeMap<HostId, Vec<u32>>,
    survivors: Survivors,
    /// By host, the report that is arriving.
    partial: Vec<Partial>,
    /// When decisions are requested next, unless a report arrives before. [`Time::MAX`] if only a report causes a
    /// request.
    due: Time,
    /// Decisions that are being computed, and when they are ready.
    computed: VecDeque<(Time, Plan)>,
    seq: u32,
    account: PacketAccount,
    counters: SchedulerCounters,
}

impl SchedulerNode {
    /// The node of a scheduler on `host`.
    pub fn new(
        host: HostId,
        options: Hedera,
        control: Box<dyn Control>,
        map: Map,
    ) -> SchedulerNode {
        SchedulerNode {
            survivors: Survivors::new(map.network().first(host.at()), BTreeSet::new()),
            reported: BTreeMap::new(),
            host,
            options,
            control,
            map,
            partial: Vec::new(),
            due: Time::MAX,
            computed: VecDeque::new(),
            seq: 0,
            account: PacketAccount::default(),
            counters: SchedulerCounters::default(),
        }
    }
    /// Requests decisions `gather` from now.
    fn request_decisions(&mut self, cx: &mut Cx<'_>) {
        let due = cx.now.after(self.options.spec().gather);
        if due < self.due {
            self.due = due;
            cx.wake(due, DECIDE);
        }
    }
    /// Handles a message from `source`. Returns false if it is none, or not the next part of a report.
    fn hear(&mut self, source: u32, bytes: &[u8], cx: &mut Cx<'_>) -> bool {
        let Ok(message) = Message::parse(bytes) else { return false };
        match message.body {
            Body::Ports(ports) if message.host.0 == source => {
                self.receive_ports(message.host, &ports, cx)
            }
            _ => self.receive_report(source, message, cx),
        }
    }
    /// Handles the report of a switch about its ports. Returns false if the network has no such port.
    fn receive_ports(&mut self, switch: HostId, ports: &[u32], cx: &mut Cx<'_>) -> bool {
        let Some(links) = self.links_at(switch, ports) else { return false };
        self.reported.insert(switch, links);
        let broken: BTreeSet<u32> = self.reported.values().flatten().copied().collect();
        if broken == *self.survivors.broken() {
            if !broken.is_empty() {
                self.tell_broken(switch, cx);
            }
            return true;
        }
        self.survivors.set_broken(broken);
        let left = self.survivors.network();
        self.rewire(&left, cx);
        let switches: Vec<HostId> = self.reported.keys().copied().collect();
        switches.into_iter().for_each(|switch| self.tell_broken(switch, cx));
        true
    }
    /// The directed links, in both directions, at these ports of a switch, whose number follows those of hosts.
    fn links_at(&self, switch: HostId, ports: &[u32]) -> Option<Vec<u32>> {
        let node = NodeId(switch.0.checked_sub(self.map.hosts() as u32)?);
        let cable =
            |port: &u32| self.map.cable(End { node, port: PortId(u16::try_from(*port).ok()?) });
        let cables: Option<Vec<[u32; 2]>> = ports.iter().map(cable).collect();
        self.map.cable(End { node, port: PortId(0) })?;
        Some(cables?.into_flattened())
    }
    fn tell_broken(&mut self, switch: HostId, cx: &mut Cx<'_>) {
        let links = self.survivors.broken().iter().copied().take(MAX_LINKS).collect();
        self.send(switch, Body::Broken(links), cx);
    }
    /// Handles a part of a report from host `source`. Returns false if the message is not the next part of one.
    fn receive_report(&mut self, source: u32, message: Message, cx: &mut Cx<'_>) -> bool {
        let Message { host, body, .. } = message;
        let Body::Flows { report, part, parts, span, flows } = body else { return false };
        if host.0 >= self.host.0 || host.0 != source {
            return false;
        }
        if self.partial.len() <= host.at() {
            self.partial.resize_with(host.at() + 1, Partial::default);
        }
        let partial = &mut self.partial[host.at()];
        if part == 0 {
            *partial = Partial { report, ..Partial::default() };
        }
        if (partial.report, partial.next) != (report, part) {
            return false;
        }
        partial.next += 1;
        partial.flows.extend(flows);
        if partial.next == parts {
            let flows = std::mem::take(&mut partial.flows);
            self.control.observe(&News::Flows { host, span, flows: &flows }, cx.now);
            self.request_decisions(cx);
        }
        true
    }
    fn decide(&mut self, cx: &mut Cx<'_>) {
        self.due = Time::MAX;
        self.counters.decisions += 1;
        let mut plan = Plan::new();
        let again = self.control.decide(cx.now, &mut plan);
        plan.iter_mut().for_each(|decision| self.name_working(decision));
        if let Some(at) = again {
            self.due = at.max(cx.now);
            cx.wake(self.due, DECIDE);
        }
        let at = cx.now.after(self.options.spec().computing);
        self.computed.push_back((at, plan));
        cx.wake(at, SEND);
    }
    /// Replaces the number of a path with a broken link by that of the path for which it stands.
    fn name_working(&self, decision: &mut Decision) {
        if let Decision::Path { src, dst, path, .. } = decision {
            *path = self.survivors.working(*src, *dst, *path).unwrap_or(*path);
        }
    }
    /// The network is another one, so decisions for the previous one are void.
    fn rewire(&mut self, network: &Network, cx: &mut Cx<'_>) {
        self.counters.rewirings += 1;
        self.computed.clear();
        self.control.rewire(network, cx.now);
        self.request_decisions(cx);
    }
    /// Sends the decisions that are ready.
    fn send_decisions(&mut self, cx: &mut Cx<'_>) {
        while let Some((_, plan)) = self.computed.pop_front_if(|(at, _)| *at <= cx.now) {
            for decisions in plan.chunk_by(|a, b| a.host() == b.host()) {
                let path = |decision: &Decision| match *decision {
                    Decision::Path { conn, path, .. } => Some((conn, path)),
                    _ => None,
                };
                let paths: Vec<(ConnId, u16)> = decisions.iter().filter_map(path).collect();
                self.counters.ignored += (decisions.len() - paths.len()) as u64;
                for part in paths.chunks(MAX_PATHS) {
                    self.send(decisions[0].host(), Body::Paths(part.to_vec()), cx);
                }
            }
        }
    }
    fn send(&mut self, to: HostId, body: Body, cx: &mut Cx<'_>) {
        self.seq = self.seq.wrapping_add(1);
        let bytes = Message { host: to, seq: self.seq, body }.emit();
        let packet = cx.attach((self.host, to), bytes, ETHERNET_OVERHEAD, CONTROL_CLASS);
        self.account.created += 1;
        self.counters.directives += 1;
        self.counters.sent += u64::from(packet.len);
        cx.send(PortId(0), packet);
    }
}

impl Node for SchedulerNode {
    fn start(&mut self, _cx: &mut Cx<'_>) {}
    fn receive(&mut self, _port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        if packet.dst != self.host {
            return cx.drop(&packet, DropReason::Misrouted);
        }
        self.account.consumed += 1;
        if packet.kind == Kind::Control {
            self.counters.received += u64::from(packet.len);
            let bytes = cx.detach(&packet);
            let accepted = self.hear(packet.flow, &bytes, cx);
            self.counters.reports += u64::from(accepted);
            self.counters.ignored += u64::from(!accepted);
        }
    }
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        None
    }
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        match token {
            SEND => self.send_decisions(cx),
            _ if cx.now >= self.due => self.decide(cx),
            _ => {}
        }
    }
    fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        match change {
            Change::Routes(routes) => self.map.reroute(routes),
            Change::Elsewhere(end, rate) => self.map.set_rate(*end, *rate),
            _ => return,
        }
        let network = self.map.network();
        self.rewire(&network, cx);
    }
    fn account(&self) -> PacketAccount {
        self.account
    }
    fn add_counters(&self, counters: &mut Counters) {
        let SchedulerCounters {
            decisions,
            directives,
            reports,
            ignored,
            rewirings,
            sent,
            received,
        } = self.counters;
        counters.add(counters::DECISIONS, decisions);
        counters.add(counters::DIRECTIVES, directives);
        counters.add(counters::REPORTS, reports);
        counters.add(counters::IGNORED_MESSAGES, ignored);
        counters.add(counters::REWIRINGS, rewirings);
        if !self.reported.is_empty() {
            counters.add(counters::BROKEN_LINKS, self.survivors.broken().len() as u64);
        }
        counters.add(counters::CONTROL_BYTES_SENT, sent);
        counters.add(counters::CONTROL_BYTES_RECEIVED, received);
    }
}
