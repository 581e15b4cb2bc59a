//! The host on which a central scheduler runs.

pub mod hierarchy;
pub mod standby;

use crate::wire::{Body, MAX_DESTINATIONS, MAX_RATES, Message, V2v};
use hierarchy::Hierarchy;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::{Change, Cx, DropReason, Node, PacketAccount, Tally};
use slotline_net::scheme::CONTROL_CLASS;
use slotline_net::scheme::{Control, Decision, Map, Network, News, Plan};
use slotline_net::time::Time;
use slotline_net::wire::ETHERNET_OVERHEAD;
use slotline_net::wire::newer;
use standby::{Beat, Standby};

const DECIDE: u32 = 0;
const SWEEP: u32 = 1;
const BEAT: u32 = 2;
const SPEAK: u32 = 3;

/// What a controller has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Times the scheduler was asked.
    pub decisions: u64,
    /// Directives sent.
    pub directives: u64,
    /// Bytes of directives on the wire.
    pub bytes_sent: u64,
    /// Messages from coordinators.
    pub reports: u64,
    /// Bytes of these on the wire.
    pub bytes_received: u64,
    /// Messages that could not be understood, or came late; decisions about paths, which coordinators
    /// do not choose.
    pub ignored: u64,
    /// Hosts that were taken to be gone because they were silent although they had something to send.
    pub silent: u64,
    /// Times that it took over from another controller.
    pub takeovers: u64,
    /// Changes of the network that it has heard of.
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
    /// The destinations for which it has something waiting, as far as it has said.
    waiting: Vec<HostId>,
}

impl Peer {
    /// Takes note of what it says about its packets.
    fn says(&mut self, body: &Body) {
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
    /// Needs permission for these destinations alone.
    fn is_controlled(&mut self, decisions: &[Decision]) {
        let named = |dst: HostId| move |decision: &Decision| matches!(decision, Decision::Controlled { dst: Some(other), .. } if *other == dst);
        self.waiting.retain(|&dst| decisions.iter().any(named(dst)));
    }
}

/// Translates messages into news for a [`Control`], and its decisions into directives. Sends by its
/// FIFO port 0.
pub struct Controller {
    host: HostId,
    decision_time: Time,
    timeout: Time,
    control: Box<dyn Control>,
    peers: Vec<Peer>,
    plan: Plan,
    /// Which of several controllers it is, from below.
    level: u8,
    standby: Option<Standby>,
    /// Its place among controllers of other levels, and the network of which it uses a part.
    hierarchy: Option<(Hierarchy, Network)>,
    /// From routes to what a scheduler knows.
    map: Option<Map>,
    /// When the scheduler is asked next; [`Time::MAX`]: when there are news.
    due: Time,
    sweeping: bool,
    account: PacketAccount,
    counters: Counters,
}

impl Controller {
    /// A controller on `host`, one of `hosts` hosts. Directives leave `decision_time` after the event
    /// that they answer; busy hosts that are silent for `timeout` are taken to be gone.
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
            counters: Counters::default(),
        }
    }
    /// One of two controllers.
    pub fn with_standby(self, standby: Standby) -> Controller {
        Controller { standby: Some(standby), ..self }
    }
    /// One of several controllers in a tree, that of `level` from below; after [`Controller::with_map`].
    /// Each decides about other pairs of hosts, with its share of the links.
    pub fn in_tree(self, level: u8, hierarchy: Hierarchy) -> Controller {
        let network = self.map.as_ref().map(Map::network);
        Controller { level, hierarchy: network.map(|network| (hierarchy, network)), ..self }
    }
    /// Has the scheduler know when routes and rates change.
    pub fn with_map(self, map: Map) -> Controller {
        Controller { map: Some(map), ..self }
    }
    /// What it has done so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }
    /// Whether it is the one that hosts obey.
    pub fn is_active(&self) -> bool {
        self.standby.is_none_or(|standby| standby.active)
    }
    fn term(&self) -> u16 {
        self.standby.map_or(0, |standby| standby.term)
    }

    /// Asks the scheduler `decision_time` after an event at `event`.
    fn ask(&mut self, event: Time, cx: &mut Cx<'_>) {
        let at = event.after(self.decision_time);
        if at < self.due && self.is_active() {
            self.due = at;
            cx.wake(at, DECIDE);
        }
    }
    fn hear(&mut self, bytes: &[u8], cx: &mut Cx<'_>) {
        self.counters.reports += 1;
        let message = Message::parse(bytes).ok();
        if message.and_then(|message| self.accept(message, cx)).is_none() {
            self.counters.ignored += 1;
        }
    }
    fn accept(&mut self, message: Message, cx: &mut Cx<'_>) -> Option<()> {
        let Message { host, seq, level, term, ref body, .. } = message;
        match *body {
            Body::Want { flows, share } => return self.lend(host, (flows, share), cx),
            Body::Share(share) => return self.borrow(host, share, cx),
            _ if level != self.level => return None,
            _ => {}
        }
        if *body == Body::Alive {
            let standby = self.standby.as_mut().filter(|standby| standby.peer == host)?;
            let retires = standby.hears_peer(term, cx.now);
            self.retire(retires, cx);
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
        peer.says(body);
        let retires = self.standby.as_mut().is_some_and(|s| s.hears_host(term, cx.now));
        self.retire(retires, cx);
        if self.is_active() {
            self.report(host, body, cx.now);
            self.ask(cx.now, cx);
        }
        self.watch(cx);
        Some(())
    }
    /// Tells the scheduler what a host says.
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
    /// Looks for silent hosts from time to time, while there are busy ones.
    fn watch(&mut self, cx: &mut Cx<'_>) {
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
        self.ask(cx.now, cx);
        self.watch(cx);
    }
    fn decide(&mut self, cx: &mut Cx<'_>) {
        self.due = Time::MAX;
        self.counters.decisions += 1;
        let mut plan = std::mem::take(&mut self.plan);
        let again = self.control.decide(cx.now, &mut plan);
        let all = plan.len();
        plan.retain(|decision| !matches!(decision, Decision::Path { .. }));
        self.counters.ignored += (all - plan.len()) as u64;
        for directive in plan.chunk_by(joined) {
            self.follow(directive);
            directive.chunks(most(&directive[0])).for_each(|part| self.direct(part, cx));
        }
        plan.clear();
        self.plan = plan;
        if let Some(at) = again {
            self.ask(at, cx);
        }
    }
    /// What a host may do without permission it does not wait for.
    fn follow(&mut self, directive: &[Decision]) {
        let controlled = matches!(directive[0], Decision::Controlled { .. });
        let peer = self.peers.get_mut(directive[0].host().at()).filter(|_| controlled);
        peer.into_iter().for_each(|peer| peer.is_controlled(directive));
    }
    /// Sends one message: a window, or the rates of one host.
    fn direct(&mut self, decisions: &[Decision], cx: &mut Cx<'_>) {
        let host = decisions[0].host();
        let Some(peer) = self.peers.get_mut(host.at()) else {
            return;
        };
        let (seq, heard) = (peer.next, peer.heard.unwrap_or(0));
        peer.next = seq.wrapping_add(1);
        self.counters.directives += 1;
        self.send(host, host, (seq, heard), body(decisions, cx.now), cx);
    }
    fn send(
        &mut self,
        to: HostId,
        about: HostId,
        (seq, heard): (u32, u32),
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

    /// A beat of two controllers.
    fn beat(&mut self, cx: &mut Cx<'_>) {
        let Some(standby) = &mut self.standby else { return };
        let (beat, peer, every) = (standby.beat(cx.now), standby.peer, standby.beat);
        if beat == Beat::TakeOver {
            self.counters.takeovers += 1;
        }
        if beat != Beat::Wait {
            self.send(peer, self.host, (0, 0), Body::Alive, cx);
        }
        cx.wake(cx.now.after(every), BEAT);
    }
    /// A controller above wants a share of this one's links.
    fn lend(&mut self, by: HostId, wants: (u32, u32), cx: &mut Cx<'_>) -> Option<()> {
        let (hierarchy, _) = self.hierarchy.as_mut()?;
        let (share, changed) = hierarchy.wanted(by, wants, &*self.control, cx.now)?;
        self.send(by, self.host, (0, 0), Body::Share(share), cx);
        self.rescale(changed, cx);
        Some(())
    }
    /// A controller below grants a share of its links.
    fn borrow(&mut self, by: HostId, share: u32, cx: &mut Cx<'_>) -> Option<()> {
        let (hierarchy, _) = self.hierarchy.as_mut()?;
        let changed = hierarchy.granted(by, share, cx.now)?;
        self.rescale(changed, cx);
        Some(())
    }
    /// A beat of several controllers.
    fn speak(&mut self, cx: &mut Cx<'_>) {
        let Some((hierarchy, _)) = &mut self.hierarchy else { return };
        let every = hierarchy.beat;
        let (changed, wants) = hierarchy.beat(&*self.control, cx.now);
        for (station, flows, share) in wants {
            self.send(station, self.host, (0, 0), Body::Want { flows, share }, cx);
        }
        self.rescale(changed, cx);
        cx.wake(cx.now.after(every), SPEAK);
    }
    /// Its shares of links are others now.
    fn rescale(&mut self, changed: bool, cx: &mut Cx<'_>) {
        if let Some((hierarchy, network)) = self.hierarchy.as_ref().filter(|_| changed) {
            let network = hierarchy.scale(network);
            self.control.rewire(&network, cx.now);
            self.ask(cx.now, cx);
        }
    }
    /// Another controller has taken over: this one forgets what hosts wanted.
    fn retire(&mut self, retires: bool, cx: &mut Cx<'_>) {
        if retires {
            self.due = Time::MAX;
            for host in (0..self.peers.len() as u32).map(HostId) {
                self.control.observe(&News::Left(host), cx.now);
            }
        }
    }
}

/// V2V flows counted by destination. Those for one destination follow each other.
fn by_destination(flows: &[V2v]) -> (Vec<HostId>, Vec<u32>) {
    let groups = flows.chunk_by(|a, b| a.dst == b.dst);
    groups.map(|group| (group[0].dst, group.len() as u32)).unzip()
}

/// Whether two decisions go into one message.
fn joined(a: &Decision, b: &Decision) -> bool {
    let kind = std::mem::discriminant::<Decision>;
    kind(a) == kind(b) && a.host() == b.host() && !matches!(a, Decision::Window { .. })
}

/// How many decisions of this kind fit into one message.
fn most(decision: &Decision) -> usize {
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
            self.speak(cx);
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
            self.hear(&bytes, cx);
        }
    }
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        None
    }
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        match token {
            SWEEP => self.sweep(cx),
            BEAT => self.beat(cx),
            SPEAK => self.speak(cx),
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
        self.ask(cx.now, cx);
    }
    fn account(&self) -> PacketAccount {
        self.account
    }
    fn tally(&self, tally: &mut Tally) {
        let Counters { decisions, directives, reports, ignored, .. } = self.counters;
        tally.add("decisions", decisions);
        tally.add("directives", directives);
        tally.add("control_bytes_sent", self.counters.bytes_sent);
        tally.add("reports", reports);
        tally.add("control_bytes_received", self.counters.bytes_received);
        tally.add("ignored_messages", ignored);
        tally.add("silent_hosts", self.counters.silent);
        tally.add("takeovers", self.counters.takeovers);
        tally.add("rewirings", self.counters.rewirings);
    }
}

#[cfg(test)]
mod tests;
