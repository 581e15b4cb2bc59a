//! A contiguous range of nodes with their outgoing links, and the processing of one window.
//!
//! Within a window nodes cannot affect each other, so each node's events are handled together, in the
//! order (time, port, token). That order does not depend on how nodes are divided into shards.

use crate::calendar::{Calendar, Entry};
use crate::line::{Discipline, Line, Offer, PORT_MASK, Rare};
use crate::network::{Layout, Place};
use crate::sample::{Sample, Sampler};
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::{Census, Change, Cx, DropReason, Effects, Node};
use slotline_net::route::Routes;
use slotline_net::time::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Codes of a node's own events (`packet.flow`), in the order in which they happen at equal times.
pub(crate) mod own {
    pub const CHANGE: u32 = 0;
    pub const FREE: u32 = 1;
    pub const WAKE: u32 = 2;
    pub const SAMPLE: u32 = 3;
}

/// A packet for another shard, with its control message.
pub(crate) struct Mail {
    pub entry: Entry,
    pub payload: Option<Box<[u8]>>,
}

/// What is shared by all shards and never changes.
pub(crate) struct Shared {
    pub layout: Layout,
    pub timeline: Vec<(Time, NodeId, Change)>,
    /// First port index of each shard, and the total.
    pub cuts: Vec<u32>,
    pub sampler: Sampler,
    /// Nothing at or after this time happens.
    pub end: u64,
}

/// An event in a window: its key and where it is stored.
#[derive(Clone, Copy)]
struct Item {
    time: u64,
    to: u32,
    position: u32,
}

/// One of a node's own events that fell into the window being processed.
type Local = Reverse<(u64, u32, u32)>;

/// Everything of a shard but its nodes: what a node's effects act upon.
pub(crate) struct Reach {
    pub shared: Arc<Shared>,
    pub index: usize,
    first_port: u32,
    last_port: u32,
    pub calendar: Calendar,
    pub lines: Vec<Line>,
    pub rare: Vec<Rare>,
    pub outbox: Vec<Vec<Mail>>,
    pub effects: Effects,
    locals: BinaryHeap<Local>,
    window_end: u64,
}

/// What a shard is made of.
pub(crate) struct Part {
    pub nodes: std::ops::Range<usize>,
    pub places: Vec<Place>,
    pub lines: Vec<Line>,
    pub rare: Vec<Rare>,
    pub routes: Arc<Routes>,
}

pub(crate) struct Shard {
    pub first_node: usize,
    pub places: Vec<Place>,
    routes: Vec<Arc<Routes>>,
    in_epoch: Vec<u8>,
    /// Nodes that the timeline touches.
    fragile: Vec<bool>,
    pub reach: Reach,
    pub samples: Vec<Sample>,
    pub events: u64,
    pub hops: u64,
    /// Entries cut off by the end of the run.
    pub leftover: Vec<Entry>,
    counts: Vec<u32>,
    active: Vec<u32>,
    positions: Vec<u32>,
    items: Vec<Item>,
}

impl Reach {
    fn line(&mut self, port: u32) -> (&mut Line, &mut Rare) {
        let at = (port - self.first_port) as usize;
        (&mut self.lines[at], &mut self.rare[at])
    }

    #[inline]
    fn is_mine(&self, to: u32) -> bool {
        let to = to & PORT_MASK;
        to >= self.first_port && to < self.last_port
    }

    #[inline]
    fn deliver(&mut self, time: u64, to: u32, packet: &Packet) {
        if self.is_mine(to) {
            self.calendar.push(time, to, packet);
        } else {
            self.post(Entry { time, to, packet: *packet });
        }
    }

    /// Sends the packet at `position` of the calendar on.
    #[inline]
    fn forward(&mut self, port: u32, position: u32, now: u64) {
        let packet = &self.calendar.get(position).packet;
        let at = (port - self.first_port) as usize;
        match self.lines[at].offer(&mut self.rare[at], packet.len, packet.flags, now) {
            Offer::Sent { time, to, flags } if self.is_mine(to) => {
                self.calendar.push_again(position, time, to, flags);
            }
            Offer::Sent { time, to, flags } => {
                let flags = packet.flags | flags;
                self.post(Entry { time, to, packet: Packet { flags, ..*packet } });
            }
            refused => {
                let packet = *packet;
                self.refuse(&packet, &refused);
            }
        }
    }

    #[inline(never)]
    fn post(&mut self, mut entry: Entry) {
        let to = entry.to & PORT_MASK;
        let shard = self.shared.cuts.partition_point(|&cut| cut <= to) - 1;
        debug_assert_ne!(shard, self.index);
        let payload = (entry.packet.kind == Kind::Control).then(|| {
            let bytes = self.effects.release(entry.packet.seq);
            entry.packet.seq = 0;
            bytes
        });
        self.outbox[shard].push(Mail { entry, payload });
    }

    /// Takes in what another shard sent.
    pub fn accept(&mut self, mut mail: Mail) {
        if let Some(bytes) = mail.payload {
            mail.entry.packet.seq = self.effects.keep(bytes);
        }
        self.calendar.push(mail.entry.time, mail.entry.to, &mail.entry.packet);
    }

    /// Puts a packet into a FIFO port.
    #[inline]
    fn send(&mut self, port: u32, packet: &mut Packet, now: u64) {
        let at = (port - self.first_port) as usize;
        match self.lines[at].offer(&mut self.rare[at], packet.len, packet.flags, now) {
            Offer::Sent { time, to, flags } => {
                packet.flags |= flags;
                self.deliver(time, to, packet);
            }
            refused => self.refuse(packet, &refused),
        }
    }

    #[cold]
    fn refuse(&mut self, packet: &Packet, refused: &Offer) {
        let reason = match refused {
            Offer::Early => DropReason::Early,
            Offer::Down => DropReason::LinkDown,
            Offer::Full | Offer::Sent { .. } => DropReason::Full,
        };
        Cx::new(Time::ZERO, &mut self.effects).drop(packet, reason);
    }

    /// Schedules an event of `node` itself.
    fn schedule(&mut self, node: usize, at: u64, code: u32, token: u32) {
        if at < self.window_end {
            self.locals.push(Reverse((at, code, token)));
        } else {
            let to = self.shared.layout.own(node);
            let packet = Packet { flow: code, seq: token, ..Packet::default() };
            self.calendar.push(at, to, &packet);
        }
    }

    /// Carries out what `node` asked for, asking it in turn what to send on free pulled ports.
    fn carry_out<N: Node + ?Sized>(&mut self, node: &mut N, id: usize, now: u64) {
        let base = self.shared.layout.first[id];
        while !self.effects.is_empty() {
            let mut sends = std::mem::take(&mut self.effects.sends);
            for (port, packet) in &mut sends {
                self.send(base + u32::from(port.0), packet, now);
            }
            sends.clear();
            self.effects.sends = sends;
            while let Some((at, token)) = self.effects.wakes.pop() {
                self.schedule(id, at.as_ps().max(now), own::WAKE, token);
            }
            while let Some((port, far, far_port)) = self.effects.rewires.pop() {
                let to = self.shared.layout.port(far, far_port);
                self.line(base + u32::from(port.0)).0.rewire(to);
            }
            if let Some(port) = self.effects.kicks.pop() {
                self.pull(node, id, port, now);
            }
        }
    }

    /// Asks for the next packet of a pulled port, if it is free.
    fn pull<N: Node + ?Sized>(&mut self, node: &mut N, id: usize, port: PortId, now: u64) {
        let index = self.shared.layout.first[id] + u32::from(port.0);
        let (line, rare) = self.line(index);
        if rare.armed || line.discipline() != Discipline::Pulled {
            return;
        }
        if line.free_at > now {
            let at = line.free_at;
            rare.armed = true;
            return self.schedule(id, at, own::FREE, u32::from(port.0));
        }
        let Some(packet) = node.transmit(port, &mut Cx::new(Time::ps(now), &mut self.effects)) else {
            return;
        };
        let (line, rare) = self.line(index);
        let (time, to) = line.transmit(packet.len, now);
        rare.armed = true;
        let free_at = line.free_at;
        self.deliver(time, to, &packet);
        self.schedule(id, free_at, own::FREE, u32::from(port.0));
    }
}

impl Shard {
    pub fn new(shared: Arc<Shared>, index: usize, part: Part, shift: u32) -> Shard {
        let count = part.nodes.len();
        Shard {
            first_node: part.nodes.start,
            places: part.places,
            routes: vec![part.routes; count],
            in_epoch: vec![0; part.lines.len()],
            fragile: vec![false; count],
            reach: Reach {
                index,
                first_port: shared.cuts[index],
                last_port: shared.cuts[index + 1],
                calendar: Calendar::new(shift),
                lines: part.lines,
                rare: part.rare,
                outbox: (1..shared.cuts.len()).map(|_| Vec::new()).collect(),
                effects: Effects::default(),
                locals: BinaryHeap::new(),
                window_end: 0,
                shared,
            },
            samples: Vec::new(),
            events: 0,
            hops: 0,
            leftover: Vec::new(),
            counts: vec![0; count],
            active: Vec::new(),
            positions: Vec::new(),
            items: Vec::new(),
        }
    }

    /// Starts all nodes and schedules the timeline and the samples.
    pub fn start(&mut self) {
        let Shard { places, reach, first_node, .. } = self;
        for (at, place) in places.iter_mut().enumerate() {
            let id = *first_node + at;
            let mut cx = Cx::new(Time::ZERO, &mut reach.effects);
            match place {
                Place::Switch => {}
                Place::Host(host) => {
                    host.start(&mut cx);
                    reach.carry_out(&mut **host, id, 0);
                }
                Place::Node(node) => {
                    node.start(&mut cx);
                    reach.carry_out(&mut **node, id, 0);
                }
            }
        }
        let shared = Arc::clone(&reach.shared);
        let mine = *first_node..*first_node + places.len();
        for (token, (at, node, _)) in shared.timeline.iter().enumerate() {
            if mine.contains(&node.at()) {
                reach.schedule(node.at(), at.as_ps(), own::CHANGE, token as u32);
                self.fragile[node.at() - *first_node] = true;
            }
        }
        for node in shared.sampler.nodes().filter(|n| mine.contains(n)) {
            reach.schedule(node, shared.sampler.interval, own::SAMPLE, 0);
        }
    }

    /// Handles all events of `window`.
    pub fn process(&mut self, window: u64, shift: u32) {
        self.reach.calendar.advance(window);
        self.reach.window_end = (window + 1) << shift;
        let mut positions = std::mem::take(&mut self.positions);
        let taken = self.reach.calendar.take(&mut positions);
        self.group(&positions);
        self.positions = positions;
        let active = std::mem::take(&mut self.active);
        let mut items = std::mem::take(&mut self.items);
        let mut start = 0;
        for &at in &active {
            let end = self.counts[at as usize] as usize;
            self.counts[at as usize] = 0;
            let mine = &mut items[start..end];
            order(mine, &self.reach.calendar);
            self.handle(at as usize, mine);
            start = end;
        }
        self.active = active;
        self.items = items;
        self.active.clear();
        self.reach.calendar.give_back(taken);
    }

    /// Gathers a window's events by node: a counting sort. Leaves in `counts` where each node's end.
    fn group(&mut self, positions: &[u32]) {
        let node_of = &self.reach.shared.layout.node;
        let calendar = &self.reach.calendar;
        let first = self.first_node as u32;
        self.events += positions.len() as u64;
        for &position in positions {
            let to = calendar.get(position).to & PORT_MASK;
            let at = node_of[to as usize] - first;
            let count = &mut self.counts[at as usize];
            if *count == 0 {
                self.active.push(at);
            }
            *count += 1;
        }
        let mut total = 0;
        for &at in &self.active {
            let count = &mut self.counts[at as usize];
            total += std::mem::replace(count, total);
        }
        self.items.resize(positions.len(), Item { time: 0, to: 0, position: 0 });
        for &position in positions {
            let entry = calendar.get(position);
            let at = node_of[(entry.to & PORT_MASK) as usize] - first;
            let slot = &mut self.counts[at as usize];
            self.items[*slot as usize] = Item { time: entry.time, to: entry.to, position };
            *slot += 1;
        }
    }

    fn handle(&mut self, at: usize, items: &[Item]) {
        let id = self.first_node + at;
        let mut place = std::mem::replace(&mut self.places[at], Place::Switch);
        match &mut place {
            Place::Switch if self.is_plain(at, id, items) => {
                self.hops += items.len() as u64;
                forward(&mut self.reach, &self.routes[at], id, items);
            }
            Place::Switch => {
                let mut switch = PlainSwitch { id: NodeId(id as u32), routes: Arc::clone(&self.routes[at]) };
                self.narrate(at, &mut switch, items);
                self.routes[at] = switch.routes;
            }
            Place::Host(host) => self.narrate(at, &mut **host, items),
            Place::Node(node) => self.narrate(at, &mut **node, items),
        }
        self.places[at] = place;
    }

    /// Whether nothing but packets over sound links happens at a switch in this window.
    #[inline]
    fn is_plain(&self, at: usize, id: usize, items: &[Item]) -> bool {
        let own = self.reach.shared.layout.own(id);
        !self.fragile[at]
            && self.reach.window_end <= self.reach.shared.end
            && items.iter().all(|item| item.to != own)
    }

    /// Tells a node what happens to it in this window, in order.
    fn narrate<N: Node + ?Sized>(&mut self, at: usize, node: &mut N, items: &[Item]) {
        let id = self.first_node + at;
        let own_slot = self.reach.shared.layout.own(id);
        let mut items = items.iter().peekable();
        loop {
            let local = self.reach.locals.peek().map(|&Reverse(key)| key);
            let entry = items.peek().map(|item| *self.reach.calendar.get(item.position));
            let entry_key = entry.map(|e| match e.to & PORT_MASK == own_slot {
                true => (e.time, e.packet.flow, e.packet.seq),
                false => (e.time, 0, 0),
            });
            match (entry, entry_key, local) {
                (Some(entry), Some(key), local) if local.is_none_or(|l| key <= l) => {
                    items.next();
                    if entry.to & PORT_MASK == own_slot {
                        self.own_event(at, node, key);
                    } else {
                        self.arrival(at, node, &entry);
                    }
                }
                (_, _, Some(key)) => {
                    self.reach.locals.pop();
                    self.events += 1;
                    self.own_event(at, node, key);
                }
                _ => return,
            }
        }
    }

    #[inline]
    fn arrival<N: Node + ?Sized>(&mut self, at: usize, node: &mut N, entry: &Entry) {
        if entry.time >= self.reach.shared.end {
            return self.leftover.push(*entry);
        }
        self.hops += 1;
        let id = self.first_node + at;
        let port = (entry.to & PORT_MASK) - self.reach.shared.layout.first[id];
        let epoch = self.in_epoch[(entry.to & PORT_MASK) as usize - self.reach.first_port as usize];
        let mut cx = Cx::new(Time::ps(entry.time), &mut self.reach.effects);
        if u32::from(epoch) != entry.to >> 24 {
            return cx.drop(&entry.packet, DropReason::LinkDown);
        }
        node.receive(PortId(port as u16), entry.packet, &mut cx);
        self.reach.carry_out(node, id, entry.time);
    }

    fn own_event<N: Node + ?Sized>(&mut self, at: usize, node: &mut N, key: (u64, u32, u32)) {
        let (time, code, token) = key;
        if time >= self.reach.shared.end {
            return;
        }
        let id = self.first_node + at;
        let now = Time::ps(time);
        match code {
            own::CHANGE => self.change(at, node, now, token),
            own::FREE => {
                let port = self.reach.shared.layout.first[id] + token;
                self.reach.line(port).1.armed = false;
                self.reach.pull(node, id, PortId(token as u16), time);
            }
            own::WAKE => node.expire(token, &mut Cx::new(now, &mut self.reach.effects)),
            _ => self.sample(id, node, time),
        }
        self.reach.carry_out(node, id, time);
    }

    /// Something on the timeline happens to this node.
    fn change<N: Node + ?Sized>(&mut self, at: usize, node: &mut N, now: Time, token: u32) {
        let shared = Arc::clone(&self.reach.shared);
        let change = &shared.timeline[token as usize].2;
        let base = shared.layout.first[self.first_node + at];
        if let Change::Up(port) | Change::Down(port) | Change::Rate(port, _) = change {
            let index = base + u32::from(port.0);
            let (line, rare) = self.reach.line(index);
            match change {
                Change::Up(_) => line.come_up(rare, now.as_ps()),
                Change::Rate(_, rate) => line.set_rate(*rate),
                _ => {
                    line.go_down(rare);
                    let epoch = &mut self.in_epoch[(index - self.reach.first_port) as usize];
                    *epoch = epoch.wrapping_add(1);
                }
            }
        }
        node.change(change, &mut Cx::new(now, &mut self.reach.effects));
    }

    fn sample<N: Node + ?Sized>(&mut self, id: usize, node: &mut N, time: u64) {
        let shared = Arc::clone(&self.reach.shared);
        for (series, port) in shared.sampler.of(id) {
            let (line, _) = self.reach.line(shared.layout.first[id] + u32::from(port.0));
            let pulled = line.discipline() == Discipline::Pulled;
            let queued = if pulled { node.queued(*port) } else { line.backlog_bytes(time) };
            self.samples.push(Sample { time, series: *series, queued, sent: line.bytes() });
        }
        self.reach.schedule(id, time + shared.sampler.interval, own::SAMPLE, 0);
    }
}

/// The fast path: look up, enqueue, propagate.
fn forward(reach: &mut Reach, routes: &Routes, id: usize, items: &[Item]) {
    let base = reach.shared.layout.first[id];
    for item in items {
        let packet = &reach.calendar.get(item.position).packet;
        match routes.next(NodeId(id as u32), packet.dst, packet.entropy) {
            Some(port) => reach.forward(base + u32::from(port.0), item.position, item.time),
            None => Cx::new(Time::ZERO, &mut reach.effects).drop(packet, DropReason::NoRoute),
        }
    }
}

/// Puts one node's events of a window into their order: (time, port, code, token).
fn order(items: &mut [Item], calendar: &Calendar) {
    let late = |a: &Item, b: &Item| {
        let key = |i: &Item| (i.time, i.to & PORT_MASK);
        key(a) > key(b) || (key(a) == key(b) && token(calendar, a) > token(calendar, b))
    };
    if items.len() > 64 {
        return items.sort_unstable_by_key(|i| (i.time, i.to & PORT_MASK, token(calendar, i)));
    }
    for end in 1..items.len() {
        let mut at = end;
        while at > 0 && late(&items[at - 1], &items[at]) {
            items.swap(at - 1, at);
            at -= 1;
        }
    }
}

#[cold]
fn token(calendar: &Calendar, item: &Item) -> (u32, u32) {
    let packet = &calendar.get(item.position).packet;
    (packet.flow, packet.seq)
}

/// A plain switch in the windows in which more than packets happens to it.
struct PlainSwitch {
    id: NodeId,
    routes: Arc<Routes>,
}

impl Node for PlainSwitch {
    fn start(&mut self, _cx: &mut Cx<'_>) {}
    fn receive(&mut self, _port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        match self.routes.next(self.id, packet.dst, packet.entropy) {
            Some(port) => cx.send(port, packet),
            None => cx.drop(&packet, DropReason::NoRoute),
        }
    }
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        None
    }
    fn expire(&mut self, _token: u32, _cx: &mut Cx<'_>) {}
    fn change(&mut self, change: &Change, _cx: &mut Cx<'_>) {
        if let Change::Routes(routes) = change {
            self.routes = Arc::clone(routes);
        }
    }
    fn census(&self) -> Census {
        Census::default()
    }
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn std::any::Any {
        self
    }
}
