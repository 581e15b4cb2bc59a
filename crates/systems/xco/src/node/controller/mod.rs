//! The controller: the host on which a central scheduler runs.

pub mod hierarchy;
pub mod standby;

use crate::counters;
use crate::wire::{Body, MAX_DESTINATIONS, MAX_RATES, Message, V2v};
use hierarchy::{Hierarchy, ShareRequest};
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::{Change, Counters, Cx, DropReason, Node, PacketAccount};
use slotline_net::scheme::CONTROL_CLASS;
use slotline_net::scheme::{Control, Decision, Map, Network, News, Plan};
use slotline_net::time::Time;
use slotline_net::wire::ETHERNET_OVERHEAD;
use slotline_net::wire::newer;
use standby::{Beat, Standby};

const DECIDE: u32 = 0;
const SWEEP: u32 = 1;
const BEAT: u32 = 2;
const HIERARCHY_BEAT: u32 = 3;

/// The counters of a controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ControllerCounters {
    /// Decisions of the scheduler.
    pub decisions: u64,
    /// Directives sent.
    pub directives: u64,
    /// Bytes of directives on the wire.
    pub bytes_sent: u64,
    /// Messages from coordinators.
    pub reports: u64,
    /// Bytes of messages from coordinators on the wire.
    pub bytes_received: u64,
    /// Messages that were invalid or late, and decisions about paths, which coordinators do not choose.
    pub ignored: u64,
    /// Hosts that counted as gone, because they were silent although they had something to send.
    pub silent: u64,
    /// Take-overs from another controller.
    pub take_overs: u64,
    /// Changes of the network.
    pub rewirings: u64,
}

#[derive(Clone, Default)]
struct Peer {
    /// Number of the last message from it.
    heard: Option<u32>,
    /// Number of the next directive to it.
    next: u32,
    /// When it was last heard.
    at: Time,
    /// The destinations for which it has reported waiting packets.
    waiting: Vec<HostId>,
}

impl Peer {
    /// Notes the destinations for which the host has packets.
    fn note_demand(&mut self, body: &Body) {
        match body {
            Body::Backlog(flows) => {
                self.waiting.clear();
                self.waiting.extend(flows.chunk_by(|a, b| a.dst == b.dst).map(|of| of[0].dst));
            }
            Body::Release(dst) => self.waiting.retain(|other| other != dst),
            Body::Load { .. } => {}
            _ => self.waiting.clear(),
        }
    }
    /// Drops waiting destinations that need no permission any more.
    fn keep_controlled(&mut self, decisions: &[Decision]) {
        let named = |dst: HostId| move |decision: &Decision| matches!(decision, Decision::Controlled { dst: Some(other), .. } if *other == dst);
        self.waiting.retain(|&dst| decisions.iter().any(named(dst)));
    }
}

/// A node that translates messages into news for a [`Control`], and its decisions into directives. It sends
/// by its FIFO port 0.
pub struct Controller {
    host: HostId,
    decision_time: Time,
    timeout: Time,
    control: Box<dyn Control>,
    peers: Vec<Peer>,
    plan: Plan,
    /// Its level among several controllers. Level 0 is the lowest.
    level: u8,
    standby: Option<Standby>,
    /// Its place among controllers of other levels, and the network of which it uses a part.
    hierarchy: Option<(Hierarchy, Network)>,
    /// The network from which the scheduler's view is made.
    map: Option<Map>,
    /// When the scheduler decides next. [`Time::MAX`]: after the next news.
    due: Time,
    sweeping: bool,
    account: PacketAccount,
    counters: ControllerCounters,
}

impl Controller {
    /// Makes a controller on `host`, one of `hosts` hosts. Directives leave `decision_time` after the event
    /// that they answer. Busy hosts that are silent for `timeout` count as gone.
    pub fn new(
        host: HostId,
        hosts: usize,
        decision_time: Time,
        timeout: Time,
        control: Box<dyn Control>,
    ) -> Controller {
        Controller {
            host,
            decision_time,
            timeout,
            control,
            peers: vec![Peer::default(); hosts],
            plan: Plan::new(),
            level: 0,
            standby: None,
            hierarchy: None,
            map: None,
            due: Time::MAX,
            sweeping: false,
            account: PacketAccount::default(),
            counters: ControllerCounters::default(),
        }
    }
    /// Makes it one of two controllers.
    pub fn with_standby(self, standby: Standby) -> Controller {
        Controller { standby: Some(standby), ..self }
    }
    /// Makes it one of several controllers in a tree, with `level` counted from below. This comes after
    /// [`Controller::with_map`]. Each controller decides about other pairs of hosts, with its share of the
    /// links.
    pub fn in_tree(self, level: u8, hierarchy: Hierarchy) -> Controller {
        let network = self.map.as_ref().map(Map::network);
        Controller { level, hierarchy: network.map(|network| (hierarchy, network)), ..self }
    }
    /// Informs the scheduler when routes and rates change.
    pub fn with_map(self, map: Map) -> Controller {
        Controller { map: Some(map), ..self }
    }
    /// The counters so far.
    pub fn counters(&self) -> ControllerCounters {
        self.counters
    }
    /// Whether hosts follow this controller.
    pub fn is_active(&self) -> bool {
        self.standby.is_none_or(|standby| standby.active)
    }
    fn term(&self) -> u16 {
        self.standby.map_or(0, |standby| standby.term)
    }

    /// Lets the scheduler decide `decision_time` after an event at `event`.
    fn schedule_decision(&mut self, event: Time, cx: &mut Cx<'_>) {
        let at = event.after(self.decision_time);
        if at < self.due && self.is_active() {
            self.due = at;
            cx.wake(at, DECIDE);
        }
    }
    /// Handles a message of `sender`. A message in the name of another host is ignored.
    fn on_message(&mut self, sender: HostId, bytes: &[u8], cx: &mut Cx<'_>) {
        self.counters.reports += 1;
        let message = Message::parse(bytes).ok().filter(|message| message.host == sender);
        if message.and_then(|message| self.accept(message, cx)).is_none() {
            self.counters.ignored += 1;
        }
    }
    fn accept(&mut self, message: Message, cx: &mut Cx<'_>) -> Option<()> {
        let Message { host, seq, level, term, ref body, .. } = message;
        match *body {
            Body::ShareRequest { flows, share } => {
                return self.on_share_request(host, flows, share, cx);
            }
            Body::ShareGrant(share) => return self.on_share_grant(host, share, cx),
            _ if level != self.level => return None,
            _ => {}
        }
        if *body == Body::Alive {
            let standby = self.standby.as_mut().filter(|standby| standby.peer == host)?;
            let steps_down = standby.on_peer_message(term, cx.now);
            self.step_down(steps_down, cx);
            return Some(());
        }
        let peer = self.peers.get_mut(host.at())?;
        let restarted = *body == Body::Hello;
        if !restarted && peer.heard.is_some_and(|last| !newer(seq, last)) {
            return None;
        }
        if !matches!(
            body,
            Body::Hello | Body::Leave | Body::Backlog(_) | Body::Release(_) | Body::Load { .. }
        ) {
            return None;
        }
        peer.heard = Some(seq);
        peer.at = cx.now;
        peer.note_demand(body);
        let steps_down = self.standby.as_mut().is_some_and(|s| s.on_host_message(term, cx.now));
        self.step_down(steps_down, cx);
        if self.is_active() {
            self.report(host, body, cx.now);
            self.schedule_decision(cx.now, cx);
        }
        self.schedule_sweep(cx);
        Some(())
    }
    /// Passes a host's message to the scheduler.
    fn report(&mut self, host: HostId, body: &Body, now: Time) {
        let mut see = |news: News<'_>| self.control.observe(&news, now);
        match body {
            Body::Hello => see(News::Joined(host)),
            Body::Leave => see(News::Left(host)),
            Body::Release(dst) => see(News::Released { host, dst: *dst }),
            Body::Load { span, loads } => see(News::Load { host, span: *span, loads }),
            Body::Backlog(flows) => {
                let (destinations, flows) = by_destination(flows);
                see(News::Backlog { host, destinations: &destinations, flows: &flows });
            }
            _ => {}
        }
    }
    /// Schedules the next search for silent hosts, while there are busy ones.
    fn schedule_sweep(&mut self, cx: &mut Cx<'_>) {
        if !self.sweeping && self.peers.iter().any(|peer| !peer.waiting.is_empty()) {
            self.sweeping = true;
            cx.wake(cx.now.after(self.timeout), SWEEP);
        }
    }
    fn sweep(&mut self, cx: &mut Cx<'_>) {
        self.sweeping = false;
        for (at, peer) in self.peers.iter_mut().enumerate() {
            if !peer.waiting.is_empty() && cx.now.since(peer.at) > self.timeout {
                peer.waiting.clear();
                self.counters.silent += 1;
                self.control.observe(&News::Left(HostId(at as u32)), cx.now);
            }
        }
        self.schedule_decision(cx.now, cx);
        self.schedule_sweep(cx);
    }
    fn decide(&mut self, cx: &mut Cx<'_>) {
        self.due = Time::MAX;
        self.counters.decisions += 1;
        let mut plan = std::mem::take(&mut self.plan);
        let again = self.control.decide(cx.now, &mut plan);
        let all = plan.len();
        plan.retain(|decision| !matches!(decision, Decision::Path { .. }));
        self.counters.ignored += (all - plan.len()) as u64;
        for directive in plan.chunk_by(share_message) {
            self.note_controlled(directive);
            directive
                .chunks(max_per_message(&directive[0]))
                .for_each(|part| self.send_directive(part, cx));
        }
        plan.clear();
        self.plan = plan;
        if let Some(at) = again {
            self.schedule_decision(at, cx);
        }
    }
    /// Notes that a host does not wait for destinations that need no permission.
    fn note_controlled(&mut self, directive: &[Decision]) {
        let controlled = matches!(directive[0], Decision::Controlled { .. });
        let peer = self.peers.get_mut(directive[0].host().at()).filter(|_| controlled);
        peer.into_iter().for_each(|peer| peer.keep_controlled(directive));
    }
    /// Sends one message with decisions about one host.
    fn send_directive(&mut self, decisions: &[Decision], cx: &mut Cx<'_>) {
        let host = decisions[0].host();
        let Some(peer) = self.peers.get_mut(host.at()) else {
            return;
        };
        let (seq, heard) = (peer.next, peer.heard.unwrap_or(0));
        peer.next = seq.wrapping_add(1);
        self.counters.directives += 1;
        self.send(host, host, seq, heard, body(decisions, cx.now), cx);
    }
    fn send(
        &mut self,
        to: HostId,
        about: HostId,
        seq: u32,
        heard: u32,
        body: Body,
        cx: &mut Cx<'_>,
    ) {
        let (level, term) = (self.level, self.term());
        let bytes = Message { host: about, seq, heard, level, term, body }.emit();
        let packet = cx.attach((self.host, to), bytes, ETHERNET_OVERHEAD, CONTROL_CLASS);
        self.account.created += 1;
        self.counters.bytes_sent += u64::from(packet.len);
        cx.send(PortId(0), packet);
    }

    /// Handles a beat of one of two controllers.
    fn beat(&mut self, cx: &mut Cx<'_>) {
        let Some(standby) = &mut self.standby else { return };
        let (beat, peer, every) = (standby.beat(cx.now), standby.peer, standby.beat);
        if beat == Beat::TakeOver {
            self.counters.take_overs += 1;
        }
        if beat != Beat::Wait {
            self.send(peer, self.host, 0, 0, Body::Alive, cx);
        }
        cx.wake(cx.now.after(every), BEAT);
    }
    /// A controller above requests a share of this one's links.
    fn on_share_request(
        &mut self,
        by: HostId,
        flows: u32,
        share: u32,
        cx: &mut Cx<'_>,
    ) -> Option<()> {
        let (hierarchy, _) = self.hierarchy.as_mut()?;
        let (granted, changed) =
            hierarchy.on_share_request(by, flows, share, &*self.control, cx.now)?;
        self.send(by, self.host, 0, 0, Body::ShareGrant(granted), cx);
        self.rescale(changed, cx);
        Some(())
    }
    /// A controller below grants a share of its links.
    fn on_share_grant(&mut self, by: HostId, share: u32, cx: &mut Cx<'_>) -> Option<()> {
        let (hierarchy, _) = self.hierarchy.as_mut()?;
        let changed = hierarchy.on_share_grant(by, share, cx.now)?;
        self.rescale(changed, cx);
        Some(())
    }
    /// Handles a beat of a controller in a tree.
    fn hierarchy_beat(&mut self, cx: &mut Cx<'_>) {
        let Some((hierarchy, _)) = &mut self.hierarchy else { return };
        let every = hierarchy.beat;
        let (changed, requests) = hierarchy.beat(&*self.control, cx.now);
        for ShareRequest { owner, flows, share } in requests {
            self.send(owner, self.host, 0, 0, Body::ShareRequest { flows, share }, cx);
        }
        self.rescale(changed, cx);
        cx.wake(cx.now.after(every), HIERARCHY_BEAT);
    }
    /// Passes changed shares of links to the scheduler.
    fn rescale(&mut self, changed: bool, cx: &mut Cx<'_>) {
        if let Some((hierarchy, network)) = self.hierarchy.as_ref().filter(|_| changed) {
            let network = hierarchy.scale(network);
            self.control.rewire(&network, cx.now);
            self.schedule_decision(cx.now, cx);
        }
    }
    /// Forgets the demand of hosts after another controller has taken over.
    fn step_down(&mut self, steps_down: bool, cx: &mut Cx<'_>) {
        if steps_down {
            self.due = Time::MAX;
            for host in (0..self.peers.len() as u32).map(HostId) {
                self.control.observe(&News::Left(host), cx.now);
            }
        }
    }
}

/// The number of V2V flows by destination. Flows for one destination follow each other.
fn by_destination(flows: &[V2v]) -> (Vec<HostId>, Vec<u32>) {
    let groups = flows.chunk_by(|a, b| a.dst == b.dst);
    groups.map(|group| (group[0].dst, group.len() as u32)).unzip()
}

/// Whether two decisions go into one message.
fn share_message(a: &Decision, b: &Decision) -> bool {
    let kind = std::mem::discriminant::<Decision>;
    kind(a) == kind(b) && a.host() == b.host() && !matches!(a, Decision::Window { .. })
}

/// How many decisions of this kind fit into one message.
fn max_per_message(decision: &Decision) -> usize {
    match decision {
        Decision::Window { .. } | Decision::Rate { .. } => MAX_RATES,
        Decision::Controlled { .. } | Decision::Path { .. } => MAX_DESTINATIONS,
    }
}

fn body(decisions: &[Decision], now: Time) -> Body {
    let rate = |decision: &Decision| match *decision {
        Decision::Rate { dst, rate, .. } => Some((dst, rate)),
        _ => None,
    };
    let controlled = |decision: &Decision| match *decision {
        Decision::Controlled { dst, .. } => dst,
        _ => None,
    };
    match decisions[0] {
        Decision::Window { dst, until, rate, .. } => {
            Body::Window { dst, duration: until.since(now), rate }
        }
        Decision::Rate { .. } => Body::Rates(decisions.iter().filter_map(rate).collect()),
        Decision::Controlled { .. } | Decision::Path { .. } => {
            Body::Controlled(decisions.iter().filter_map(controlled).collect())
        }
    }
}

impl Node for Controller {
    fn start(&mut self, cx: &mut Cx<'_>) {
        if let Some(standby) = &mut self.standby {
            standby.start(cx.now);
            self.beat(cx);
        }
        if let Some((hierarchy, _)) = &mut self.hierarchy {
            hierarchy.start(cx.now);
            self.rescale(true, cx);
            self.hierarchy_beat(cx);
        }
    }
    fn receive(&mut self, _port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        if packet.dst != self.host {
            cx.drop(&packet, DropReason::Misrouted);
            return;
        }
        self.account.consumed += 1;
        if packet.kind == Kind::Control {
            self.counters.bytes_received += u64::from(packet.len);
            let bytes = cx.detach(&packet);
            self.on_message(HostId(packet.flow), &bytes, cx);
        }
    }
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        None
    }
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        match token {
            SWEEP => self.sweep(cx),
            BEAT => self.beat(cx),
            HIERARCHY_BEAT => self.hierarchy_beat(cx),
            _ if cx.now >= self.due => self.decide(cx),
            _ => {}
        }
    }
    fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        let Some(map) = &mut self.map else { return };
        match change {
            Change::Routes(routes) => map.reroute(routes),
            Change::Elsewhere(end, rate) => map.set_rate(*end, *rate),
            _ => return,
        }
        self.counters.rewirings += 1;
        let network = map.network();
        if let Some((_, whole)) = &mut self.hierarchy {
            *whole = network;
            return self.rescale(true, cx);
        }
        self.control.rewire(&network, cx.now);
        self.schedule_decision(cx.now, cx);
    }
    fn account(&self) -> PacketAccount {
        self.account
    }
    fn add_counters(&self, counters: &mut Counters) {
        let ControllerCounters { decisions, directives, reports, ignored, .. } = self.counters;
        counters.add(counters::DECISIONS, decisions);
        counters.add(counters::DIRECTIVES, directives);
        counters.add(counters::CONTROL_BYTES_SENT, self.counters.bytes_sent);
        counters.add(counters::REPORTS, reports);
        counters.add(counters::CONTROL_BYTES_RECEIVED, self.counters.bytes_received);
        counters.add(counters::IGNORED_MESSAGES, ignored);
        counters.add(counters::SILENT_HOSTS, self.counters.silent);
        counters.add(counters::TAKE_OVERS, self.counters.take_overs);
        counters.add(counters::REWIRINGS, self.counters.rewirings);
    }
}

#[cfg(test)]
mod tests;
