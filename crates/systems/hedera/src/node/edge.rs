//! An edge switch's work for one of its hosts: it counts the bytes of its connections and sends packets on the paths
//! that the scheduler has installed (§4.1.1, §4.3.3).
//!
//! The agent is at the host's end of the link. This changes neither the counts nor the paths, because each packet has
//! the number of its path from there on. The messages of the agent use the host's link.

use super::{INSTALL, POLL};
use crate::Hedera;
use crate::counters;
use crate::wire::{Body, MAX_FLOWS, Message};
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{ConnId, HostId, PortId};
use slotline_net::node::agent::Agent;
use slotline_net::node::{Counters, Cx, PacketAccount};
use slotline_net::scheme::CONTROL_CLASS;
use slotline_net::scheme::FlowCount;
use slotline_net::time::Time;
use slotline_net::units::{Bytes, Rate};
use slotline_net::wire::ETHERNET_OVERHEAD;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// The configuration of the agent.
pub struct EdgeConfig {
    /// The host whose flows it counts.
    pub host: HostId,
    /// The scheduler's host.
    pub scheduler: HostId,
    /// The options of the scheme.
    pub options: Hedera,
    /// The rate of the host's link.
    pub line: Rate,
    /// The connections that the host sends on, as far as they are known before the run.
    pub conns: Range<u32>,
    /// The destination of each of these connections.
    pub destinations: Vec<HostId>,
}

/// The entry of a connection in the table.
#[derive(Clone, Copy, Default)]
struct Entry {
    /// Bytes since the last poll.
    bytes: u64,
    /// The path that it takes until `expires`.
    path: u16,
    expires: Time,
    /// Whether it is in the list of active connections.
    listed: bool,
}

/// The flow table of an edge switch for one host.
pub struct EdgeAgent {
    config: EdgeConfig,
    /// A flow is large if it has at least this number of bytes in a poll.
    large: u64,
    /// Known connections first, then the others in the order of their first packets.
    table: Vec<Entry>,
    /// The connections that are not known before the run, and their places in the table.
    late: BTreeMap<u32, usize>,
    late_conns: Vec<u32>,
    /// Connections that have sent since the last poll, or have a path.
    active: Vec<u32>,
    /// Paths that are being installed, and when they are used.
    installing: VecDeque<(Time, Vec<(ConnId, u16)>)>,
    packets: VecDeque<Packet>,
    bytes: u64,
    messages: VecDeque<Packet>,
    seq: u32,
    reports: u32,
    /// Whether the last poll had large flows.
    reported: bool,
    polled: Time,
    created: u64,
    large_flows: u64,
    installed: u64,
    rerouted: u64,
    sent: u64,
}

impl EdgeAgent {
    /// An empty table.
    pub fn new(config: EdgeConfig) -> EdgeAgent {
        let spec = config.options.spec();
        let whole = config.line.inverse_rate().bytes_in(spec.poll);
        EdgeAgent {
            large: ((whole as f64 * spec.threshold) as u64).max(1),
            table: vec![Entry::default(); config.conns.len()],
            config,
            late: BTreeMap::new(),
            late_conns: Vec::new(),
            active: Vec::new(),
            installing: VecDeque::new(),
            packets: VecDeque::new(),
            bytes: 0,
            messages: VecDeque::new(),
            seq: 0,
            reports: 0,
            reported: false,
            polled: Time::ZERO,
            created: 0,
            large_flows: 0,
            installed: 0,
            rerouted: 0,
            sent: 0,
        }
    }
    /// The index in the table of the connection of a packet; `None` for acknowledgements.
    #[inline]
    fn place(&mut self, packet: &Packet) -> Option<usize> {
        if !matches!(packet.kind, Kind::Data | Kind::Datagram) {
            return None;
        }
        let known = self.known_place(packet.flow);
        Some(known.unwrap_or_else(|| self.late_place(packet)))
    }
    #[inline]
    fn known_place(&self, conn: u32) -> Option<usize> {
        let known = self.config.conns.contains(&conn);
        known.then(|| (conn - self.config.conns.start) as usize)
    }
    #[cold]
    fn late_place(&mut self, packet: &Packet) -> usize {
        let next = self.table.len();
        let place = *self.late.entry(packet.flow).or_insert(next);
        if place == next {
            self.table.push(Entry::default());
            self.config.destinations.push(packet.dst);
            self.late_conns.push(packet.flow);
        }
        place
    }
    /// Counts a packet that leaves, and puts it on its path.
    #[inline]
    fn pass(&mut self, mut packet: Packet, now: Time) -> Packet {
        let Some(place) = self.place(&packet) else { return packet };
        let entry = &mut self.table[place];
        entry.bytes += u64::from(packet.len);
        if !entry.listed {
            entry.listed = true;
            self.active.push(place as u32);
        }
        if now < entry.expires {
            packet.entropy = entry.path;
        }
        packet
    }
    /// The large flows since the last poll, in order. This resets the counts.
    fn count(&mut self, now: Time) -> Vec<FlowCount> {
        let (table, large, late) = (&mut self.table, self.large, &self.late_conns);
        let known = self.config.conns.clone();
        let mut flows = Vec::new();
        self.active.retain(|&place| {
            let entry = &mut table[place as usize];
            let bytes = std::mem::take(&mut entry.bytes);
            let holds = now < entry.expires && bytes > 0;
            if bytes >= large || holds {
                let late = place.checked_sub(known.len() as u32).map(|place| late[place as usize]);
                let conn = ConnId(late.unwrap_or(known.start + place));
                let dst = self.config.destinations[place as usize];
                flows.push(FlowCount { conn, dst, bytes });
            }
            entry.listed = bytes > 0 || now < entry.expires;
            entry.listed
        });
        flows.sort_unstable_by_key(|flow| flow.conn);
        flows
    }
    /// Reports to the scheduler. If there are no large flows any more, this is reported once.
    fn poll(&mut self, cx: &mut Cx<'_>) {
        let span = cx.now.since(self.polled);
        self.polled = cx.now;
        let flows = self.count(cx.now);
        self.large_flows += flows.len() as u64;
        if self.reported || !flows.is_empty() {
            self.reported = !flows.is_empty();
            self.reports = self.reports.wrapping_add(1);
            let parts = flows.len().div_ceil(MAX_FLOWS).max(1) as u16;
            for part in 0..parts {
                let first = usize::from(part) * MAX_FLOWS;
                let own = flows[first..flows.len().min(first + MAX_FLOWS)].to_vec();
                let report = self.reports;
                self.send_message(Body::Flows { report, part, parts, span, flows: own }, cx);
            }
        }
        cx.wake(cx.now.after(self.config.options.spec().poll), POLL);
    }
    /// Sends a message to the scheduler.
    fn send_message(&mut self, body: Body, cx: &mut Cx<'_>) {
        self.seq = self.seq.wrapping_add(1);
        self.created += 1;
        let bytes = Message { host: self.config.host, seq: self.seq, body }.emit();
        let ends = (self.config.host, self.config.scheduler);
        let packet = cx.attach(ends, bytes, ETHERNET_OVERHEAD, CONTROL_CLASS);
        self.sent += u64::from(packet.len);
        self.messages.push_back(packet);
        cx.kick(PortId(0));
    }
    /// Enters the paths whose installation is complete into the table.
    fn install(&mut self, now: Time) {
        let expires = now.after(self.config.options.expire());
        while let Some((_, paths)) = self.installing.pop_front_if(|(at, _)| *at <= now) {
            for (conn, path) in paths {
                let known = self.known_place(conn.0);
                let Some(place) = known.or_else(|| self.late.get(&conn.0).copied()) else {
                    continue;
                };
                let entry = &mut self.table[place];
                self.installed += 1;
                self.rerouted += u64::from(now >= entry.expires || entry.path != path);
                (entry.path, entry.expires) = (path, expires);
                if !entry.listed {
                    entry.listed = true;
                    self.active.push(place as u32);
                }
            }
        }
    }
}

impl Agent for EdgeAgent {
    fn start(&mut self, cx: &mut Cx<'_>) {
        cx.wake(cx.now.after(self.config.options.spec().poll), POLL);
    }
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        self.bytes += u64::from(packet.len);
        self.packets.push_back(packet);
        cx.kick(PortId(0));
    }
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        if let Some(message) = self.messages.pop_front() {
            return Some(message);
        }
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.len);
        Some(self.pass(packet, cx.now))
    }
    fn control(&mut self, message: &[u8], cx: &mut Cx<'_>) {
        let Ok(Message { host, body: Body::Paths(paths), .. }) = Message::parse(message) else {
            return;
        };
        if host == self.config.host {
            let at = cx.now.after(self.config.options.spec().install);
            self.installing.push_back((at, paths));
            cx.wake(at, INSTALL);
        }
    }
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        match token {
            POLL => self.poll(cx),
            _ => self.install(cx.now),
        }
    }
    fn queued(&self, _dst: HostId) -> u64 {
        self.bytes
    }
    /// As without a scheduler, the queue of the host is that of its NIC.
    fn has_room(&self, limit: Bytes) -> bool {
        self.bytes < limit.0
    }
    fn account(&self) -> PacketAccount {
        let held = (self.packets.len() + self.messages.len()) as u64;
        PacketAccount { created: self.created, consumed: 0, held }
    }
    fn add_counters(&self, counters: &mut Counters) {
        counters.add(counters::LARGE_FLOWS, self.large_flows);
        counters.add(counters::INSTALLED_PATHS, self.installed);
        counters.add(counters::CHANGED_PATHS, self.rerouted);
        counters.add(counters::CONTROL_BYTES_SENT, self.sent);
    }
}
