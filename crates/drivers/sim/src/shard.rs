//! A contiguous range of nodes with their outgoing links, and the processing of one window.
//!
//! Within a window nodes cannot affect each other, so each node's events are handled together, in the
//! order (time, port, token). That order does not depend on how nodes are divided into shards.

use crate::ahead::any_switch;
use crate::calendar::{Entry, Windows};
use crate::item::{Item, NONE};
use crate::line::{ColdState, Line, PORT_MASK};
use crate::links::{Links, Mail, Shared, own};
use crate::network::Place;
use crate::node_events::NodeEvent;
use crate::plain_switch::PlainSwitch;
use crate::sample::window_of;
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::buffer::Buffer;
use slotline_net::node::host::Host;
use slotline_net::node::{Change, Cx, DropReason, Effects, Node, Payloads};
use slotline_net::route::Routes;
use slotline_net::samples::Samples;
use slotline_net::time::Time;
use std::sync::Arc;

/// The nodes and links of a shard.
pub(crate) struct Part {
    pub nodes: std::ops::Range<usize>,
    pub places: Vec<Place>,
    pub lines: Vec<Line>,
    pub cold: Vec<ColdState>,
    pub buffers: Vec<Option<Buffer>>,
    pub routes: Arc<Routes>,
}

pub(crate) struct Shard {
    pub first_node: usize,
    pub places: Vec<Place>,
    pub routes: Vec<Arc<Routes>>,
    in_epoch: Vec<u8>,
    /// The time of the next samples, and its window; the highest numbers if there are no more.
    pub next_samples: (u64, u64),
    /// The number of the first time at which samples are taken in the window.
    pub first_turn: usize,
    pub links: Links,
    pub effects: Effects,
    /// Pulled ports of the node being called that may have something to send.
    pub kicked: Vec<PortId>,
    /// The delay until packets that the node being called sends now start.
    pub hold: Time,
    /// The event of the node being called, if it is not a packet.
    pub turn: NodeEvent,
    pub samples: Samples,
    pub events: u64,
    pub hops: u64,
    /// Entries that arrive after the end of the run.
    pub leftover: Vec<Entry>,
    /// Whether the samples of the node being called found that nothing waits or is sent.
    pub is_idle: bool,
    /// By node: its last event of the window; [`NONE`] or [`IDLE`]. `chain` links it to the others.
    pub last: Vec<u32>,
    pub chain: Vec<u32>,
    /// Whether each node is a host.
    pub is_host: Vec<bool>,
    /// Nodes with events in the window, with space for one more: hosts, and all others.
    pub active: Vec<u32>,
    pub others: Vec<u32>,
    /// Whether hosts have so many connections that the state for first segments is requested.
    expects_segments: bool,
    /// Whether the state of hosts that are called soon is requested.
    expects_hosts: bool,
    /// The hosts and connections of first segments in the window.
    pub first_segments: Vec<(u32, u32)>,
    items: Vec<Item>,
}

impl Shard {
    pub fn new(shared: Arc<Shared>, index: usize, part: Part, windows: Windows) -> Shard {
        let count = part.nodes.len();
        let sampled = part.nodes.clone().flat_map(|node| shared.sampler.of(node));
        let samples = Samples::of_ports(sampled.map(|port| port.number));
        Shard {
            first_node: part.nodes.start,
            routes: vec![part.routes; count],
            in_epoch: vec![0; part.lines.len()],
            is_host: part.places.iter().map(|place| matches!(place, Place::Host(_))).collect(),
            places: part.places,
            next_samples: window_of(shared.sampler.first(), windows),
            first_turn: 0,
            links: Links::new(shared, index, count, (part.lines, part.cold, part.buffers), windows),
            effects: Effects::default(),
            kicked: Vec::new(),
            hold: Time::ZERO,
            turn: NodeEvent::new(0, 0, 0),
            samples,
            events: 0,
            hops: 0,
            leftover: Vec::new(),
            is_idle: false,
            last: vec![NONE; count],
            chain: Vec::new(),
            active: vec![0; count + 1],
            others: vec![0; count + 1],
            expects_segments: false,
            expects_hosts: false,
            first_segments: Vec::new(),
            items: Vec::new(),
        }
    }

    /// Prepares the first window of a run. `fixed`: no flow is added while it goes on.
    pub fn begin(&mut self, fixed: bool) {
        self.decide_ahead();
        self.expects_segments = self.has_many_connections();
        self.expects_hosts = !self.expects_segments && self.has_hosts_with_queues();
        if fixed {
            self.hosts_decide_ahead();
        }
        self.start();
    }

    /// Starts all nodes and schedules the timeline.
    pub fn start(&mut self) {
        let mut places = std::mem::take(&mut self.places);
        for (at, place) in places.iter_mut().enumerate() {
            match place {
                Place::Switch => {}
                Place::Host(host) => self.start_host(at, host),
                Place::Node(node) => self.start_node(at, &mut **node),
            }
        }
        self.places = places;
        let Shard { places, links, first_node, .. } = self;
        let shared = Arc::clone(&links.shared);
        let mine = *first_node..*first_node + places.len();
        for (token, (at, node, _)) in shared.timeline.iter().enumerate() {
            if mine.contains(&node.at()) {
                links.schedule(node.at(), at.as_ps(), own::CHANGE, token as u32);
                links.own_events[node.at() - *first_node] += 1;
            }
        }
    }

    /// The first window in which something happens.
    #[inline]
    pub fn next_window(&self) -> Option<u64> {
        let next = self.links.calendar.peek().min(self.next_samples.1);
        (next != u64::MAX).then_some(next)
    }

    /// The number of failures of the link of port `index`, modulo 256.
    pub fn epoch(&self, index: u32) -> u8 {
        self.in_epoch[(index - self.links.first_port) as usize]
    }

    fn start_node<N: Node + ?Sized>(&mut self, at: usize, node: &mut N) {
        node.start(&mut Cx::new(Time::ZERO, &mut self.effects));
        self.carry_out(node, self.first_node + at, 0);
    }

    fn start_host(&mut self, at: usize, host: &mut Host) {
        if !host.is_reported() {
            return self.start_node(at, host);
        }
        host.start(&mut Cx::new(Time::ZERO, &mut self.effects));
        self.carry_out_ahead(host, self.first_node + at, 0);
    }

    /// Accepts the packets that another shard sent.
    pub fn accept(&mut self, mail: &mut Mail) {
        self.links.accept(mail, self.effects.payloads());
    }

    /// Handles all events of `window`.
    pub fn process(&mut self, window: u64, windows: Windows) {
        self.links.advance(window, windows);
        let taken = self.links.calendar.take();
        let active = self.chain_by_node(&taken);
        let (hosts, others) = self.hosts_first(active);
        self.events += u64::from(taken.len);
        // Nodes are apart from the rest while they are called.
        let mut places = std::mem::take(&mut self.places);
        let mut items = std::mem::take(&mut self.items);
        if self.expects_segments {
            self.expect_segments(&places, hosts);
        }
        if window == self.next_samples.1 {
            self.handle_sampled(&mut places, &mut items, windows);
        }
        for next in 0..hosts {
            if self.expects_hosts {
                self.expect_hosts(&places, next, hosts);
            }
            self.handle(&mut places, self.active[next], &mut items);
        }
        for next in 0..others {
            self.handle(&mut places, self.others[next], &mut items);
        }
        self.places = places;
        self.items = items;
        self.links.calendar.give_back(taken);
        self.links.reports.notes.end_window(self.links.recorder.as_deref());
    }

    /// Calls the node at `at` with its events of this window, which are put into `items`.
    pub fn handle(&mut self, places: &mut [Place], at: u32, items: &mut Vec<Item>) {
        let at = at as usize;
        match &mut places[at] {
            Place::Switch if self.is_plain(at) => self.forward_all(at, items),
            Place::Switch => {
                self.collect(at, items);
                self.handle_plain_in_order(at, items);
            }
            Place::Host(host) => {
                self.collect(at, items);
                self.handle_host(at, host, items);
            }
            Place::Node(node) => {
                let none_decides = self.links.ahead.is_empty();
                match if none_decides { None } else { any_switch(&mut **node) } {
                    Some(switch) if switch.is_foreseeable() => {
                        self.collect_at_switch(at, switch, items);
                        self.handle_switch(at, switch, items);
                    }
                    Some(switch) if switch.may_start_at_once() => {
                        self.collect_at_switch(at, switch, items);
                        self.handle_pausing(at, switch, items);
                    }
                    _ => {
                        self.collect(at, items);
                        self.handle_node(at, &mut **node, items);
                    }
                }
            }
        }
    }

    /// Forwards packets at a plain switch that has no other events in this window.
    #[inline(always)]
    fn forward_all(&mut self, at: usize, items: &mut Vec<Item>) {
        self.collect_at_plain_switch(at, items);
        if self.links.interrupts {
            return self.forward_with_interruptions(at, items);
        }
        self.hops += items.len() as u64;
        let (links, payloads) = (&mut self.links, self.effects.payloads());
        let shares = links.buffers.get(at).is_some_and(Option::is_some);
        match (links.recorder.is_some(), shares) {
            (false, false) => forward::<false, false, false>(links, items, payloads),
            (false, true) => forward::<false, true, false>(links, items, payloads),
            (true, false) => forward::<true, false, false>(links, items, payloads),
            (true, true) => forward::<true, true, false>(links, items, payloads),
        };
    }

    /// Forwards packets at a plain switch whose ports may hold some or notify senders.
    #[inline(never)]
    fn forward_with_interruptions(&mut self, at: usize, items: &[Item]) {
        let mut rest = items;
        loop {
            let forwarded = self.forward_until_interrupted(at, rest);
            self.hops += forwarded as u64;
            rest = &rest[forwarded..];
            if self.links.notifies_now() {
                self.send_notices(&self.plain_switch(at));
            }
            if !self.is_plain(at) {
                return self.handle_plain_in_order(at, rest);
            }
            if rest.is_empty() {
                return;
            }
        }
    }

    fn forward_until_interrupted(&mut self, at: usize, items: &[Item]) -> usize {
        let (links, payloads) = (&mut self.links, self.effects.payloads());
        let shares = links.buffers.get(at).is_some_and(Option::is_some);
        match (links.recorder.is_some(), shares) {
            (false, false) => forward::<false, false, true>(links, items, payloads),
            (false, true) => forward::<false, true, true>(links, items, payloads),
            (true, _) => forward::<true, true, true>(links, items, payloads),
        }
    }

    fn plain_switch(&self, at: usize) -> PlainSwitch {
        let id = NodeId((self.first_node + at) as u32);
        PlainSwitch { id, routes: Arc::clone(&self.routes[at]) }
    }

    /// Calls a plain switch with its events of this window, in order.
    #[inline(never)]
    fn handle_plain_in_order(&mut self, at: usize, items: &[Item]) {
        let mut switch = self.plain_switch(at);
        let own_slot = self.links.shared.layout.own(switch.id.at());
        for item in items {
            let Some((time, to)) = self.links.arrival_at(item.position, own_slot) else { continue };
            self.handle_own_events(at, &mut switch, time);
            self.arrival(at, &mut switch, time, to, item.position);
            if self.links.notifies_now() {
                self.send_notices(&switch);
            }
        }
        self.handle_own_events(at, &mut switch, u64::MAX);
        self.routes[at] = switch.routes;
    }

    /// Whether a switch has no events in this window except packets from links that work.
    #[inline]
    fn is_plain(&self, at: usize) -> bool {
        self.links.window_end <= self.links.shared.end
            && self.links.own_events[at] == 0
            && !self.links.node_events.any_before(u64::MAX)
    }

    /// A plain switch's own events before `until`: at equal times packets come first.
    fn handle_own_events(&mut self, at: usize, switch: &mut PlainSwitch, until: u64) {
        while self.links.node_events.any_before(until) {
            let event = self.links.node_events.pop();
            self.handle_own_event(at, switch, event);
        }
    }

    #[inline]
    pub fn arrival<N: Node + ?Sized>(
        &mut self,
        at: usize,
        node: &mut N,
        time: u64,
        to: u32,
        position: u32,
    ) {
        if time >= self.links.shared.end {
            return self.leftover.push(*self.links.calendar.get(position));
        }
        self.hops += 1;
        let id = self.first_node + at;
        let index = to & PORT_MASK;
        let port = index - self.links.shared.layout.first[id];
        let epoch = self.in_epoch[(index - self.links.first_port) as usize];
        // The only copy, from the calendar to the place where the node reads it.
        let packet = self.links.calendar.get(position).packet;
        self.turn = NodeEvent::new(time, 0, 0);
        if u32::from(epoch) != to >> 24 {
            return self.links.lose(&packet, DropReason::LinkDown, self.effects.payloads());
        }
        node.receive(PortId(port as u16), packet, &mut Cx::new(Time::ps(time), &mut self.effects));
        self.carry_out(node, id, time);
    }

    pub fn handle_own_event<N: Node + ?Sized>(
        &mut self,
        at: usize,
        node: &mut N,
        event: NodeEvent,
    ) {
        let (time, code, token) = (event.time(), event.code(), event.token());
        if time >= self.links.shared.end {
            return;
        }
        let id = self.first_node + at;
        let now = Time::ps(time);
        self.turn = event;
        match code {
            own::CHANGE => self.change(at, node, now, token),
            own::FREE => {
                let port = self.links.shared.layout.first[id] + token;
                self.links.turn(port, time, self.effects.payloads());
                self.links.line(port).0.disarm();
                self.pull(node, id, PortId(token as u16), time);
                return self.pull_kicked(node, id, time);
            }
            own::WAKE => node.expire(token, &mut Cx::new(now, &mut self.effects)),
            _ => return self.sample(id, node, time),
        }
        self.carry_out(node, id, time);
    }

    /// Carries out a change of the timeline at this node.
    fn change<N: Node + ?Sized>(&mut self, at: usize, node: &mut N, now: Time, token: u32) {
        let shared = Arc::clone(&self.links.shared);
        self.arm_busy(self.first_node + at, now.as_ps());
        let change = &shared.timeline[token as usize].2;
        let base = shared.layout.first[self.first_node + at];
        if let Change::Up(port) | Change::Down(port) | Change::Rate(port, _) = change {
            let index = base + u32::from(port.0);
            if matches!(change, Change::Down(_)) {
                self.links.lose_held(index, now.as_ps(), self.effects.payloads());
            }
            let (line, cold) = self.links.line(index);
            match change {
                Change::Up(_) => line.come_up(cold, now.as_ps()),
                Change::Rate(_, rate) => line.set_rate(*rate),
                _ => {
                    line.go_down(cold);
                    let epoch = &mut self.in_epoch[(index - self.links.first_port) as usize];
                    *epoch = epoch.wrapping_add(1);
                }
            }
        }
        node.change(change, &mut Cx::new(now, &mut self.effects));
    }
}

/// The fast path: enqueue, propagate. Returns the number of packets up to one that is held or causes a notice, if `INTERRUPTS`:
/// something may come before the next packet.
#[inline(always)]
fn forward<const RECORDED: bool, const SHARED: bool, const INTERRUPTS: bool>(
    links: &mut Links,
    items: &[Item],
    payloads: &mut Payloads,
) -> usize {
    for (before, item) in items.iter().enumerate() {
        if item.out == NONE {
            let packet = links.calendar.get(item.position).packet;
            links.lose(&packet, DropReason::NoRoute, payloads);
            continue;
        }
        let now = item.time(links.window_start);
        let is_interrupted =
            links.forward::<RECORDED, SHARED>(item.out, item.position, now, payloads);
        if INTERRUPTS && is_interrupted {
            return before + 1;
        }
    }
    items.len()
}
