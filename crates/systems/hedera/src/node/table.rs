//! The flow table of an edge switch for one of its hosts: it counts the bytes of connections, reports large flows, and
//! knows the paths that the scheduler has installed (§4.1.1, §4.3.3).

use crate::Hedera;
use crate::counters;
use crate::wire::{Body, MAX_FLOWS, Message};
use slotline_net::frame::Packet;
use slotline_net::id::{ConnId, HostId};
use slotline_net::node::Counters;
use slotline_net::scheme::FlowCount;
use slotline_net::time::Time;
use slotline_net::units::Rate;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// The configuration of a table.
pub struct TableConfig {
    /// The host whose flows it counts.
    pub host: HostId,
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

/// The table.
pub struct FlowTable {
    config: TableConfig,
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
    seq: u32,
    reports: u32,
    /// Whether the last poll had large flows.
    reported: bool,
    polled: Time,
    large_flows: u64,
    installed: u64,
    rerouted: u64,
}

impl FlowTable {
    /// An empty table.
    pub fn new(config: TableConfig) -> FlowTable {
        let spec = config.options.spec();
        let whole = config.line.inverse_rate().bytes_in(spec.poll);
        FlowTable {
            large: ((whole as f64 * spec.threshold) as u64).max(1),
            table: vec![Entry::default(); config.conns.len()],
            config,
            late: BTreeMap::new(),
            late_conns: Vec::new(),
            active: Vec::new(),
            installing: VecDeque::new(),
            seq: 0,
            reports: 0,
            reported: false,
            polled: Time::ZERO,
            large_flows: 0,
            installed: 0,
            rerouted: 0,
        }
    }
    /// Begins to count.
    pub fn begin(&mut self, now: Time) {
        self.polled = now;
    }
    /// The host whose flows it counts.
    pub fn host(&self) -> HostId {
        self.config.host
    }
    /// The options of the scheme.
    pub fn options(&self) -> &Hedera {
        &self.config.options
    }
    #[inline]
    fn known_place(&self, conn: u32) -> Option<usize> {
        let known = self.config.conns.contains(&conn);
        known.then(|| (conn - self.config.conns.start) as usize)
    }
    /// The number of a connection may be used again for one to another host.
    #[cold]
    fn late_place(&mut self, packet: &Packet) -> usize {
        let next = self.table.len();
        let place = *self.late.entry(packet.flow).or_insert(next);
        if place == next {
            self.table.push(Entry::default());
            self.config.destinations.push(packet.dst);
            self.late_conns.push(packet.flow);
        }
        self.config.destinations[place] = packet.dst;
        place
    }
    /// Counts a packet of a connection. Returns its path, if the scheduler has given one.
    #[inline]
    pub fn count(&mut self, packet: &Packet, now: Time) -> Option<u16> {
        let known = self.known_place(packet.flow);
        let place = known.unwrap_or_else(|| self.late_place(packet));
        let entry = &mut self.table[place];
        entry.bytes += u64::from(packet.len);
        if !entry.listed {
            entry.listed = true;
            self.active.push(place as u32);
        }
        (now < entry.expires).then_some(entry.path)
    }
    /// The large flows since the last poll, in order. This resets the counts.
    fn large_flows(&mut self, now: Time) -> Vec<FlowCount> {
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
    /// The messages to the scheduler at a poll. If there are no large flows any more, this is reported once.
    pub fn poll(&mut self, now: Time) -> Vec<Vec<u8>> {
        let span = now.since(self.polled);
        self.polled = now;
        let flows = self.large_flows(now);
        self.large_flows += flows.len() as u64;
        if !self.reported && flows.is_empty() {
            return Vec::new();
        }
        self.reported = !flows.is_empty();
        self.reports = self.reports.wrapping_add(1);
        let (report, parts) = (self.reports, flows.len().div_ceil(MAX_FLOWS).max(1) as u16);
        let part = |part: u16| {
            let first = usize::from(part) * MAX_FLOWS;
            let flows = flows[first..flows.len().min(first + MAX_FLOWS)].to_vec();
            self.seq = self.seq.wrapping_add(1);
            let body = Body::Flows { report, part, parts, span, flows };
            Message { host: self.config.host, seq: self.seq, body }.emit()
        };
        (0..parts).map(part).collect()
    }
    /// Handles a message of the scheduler. Returns when its paths are to be installed; `None` if it has none for this
    /// host.
    pub fn order(&mut self, message: &Message, now: Time) -> Option<Time> {
        let Body::Paths(paths) = &message.body else { return None };
        if message.host != self.config.host {
            return None;
        }
        let at = now.after(self.config.options.spec().install);
        self.installing.push_back((at, paths.clone()));
        Some(at)
    }
    /// Enters the paths whose installation is complete into the table, and passes them to `each`.
    pub fn install(&mut self, now: Time, mut each: impl FnMut(ConnId, u16)) {
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
                each(conn, path);
            }
        }
    }
    /// Moves connections from paths that do not work, and passes their new paths to `each`. `working` has the path to
    /// a destination that is used instead of a path, if there is one.
    pub fn avoid(
        &mut self,
        now: Time,
        working: impl Fn(HostId, u16) -> Option<u16>,
        mut each: impl FnMut(ConnId, u16),
    ) {
        for &place in &self.active {
            let entry = &mut self.table[place as usize];
            let path = working(self.config.destinations[place as usize], entry.path);
            if let Some(path) = path.filter(|path| now < entry.expires && *path != entry.path) {
                entry.path = path;
                self.rerouted += 1;
                let late = place.checked_sub(self.config.conns.len() as u32);
                let late = late.map(|late| self.late_conns[late as usize]);
                each(ConnId(late.unwrap_or(self.config.conns.start + place)), path);
            }
        }
    }
    /// Adds its counters.
    pub fn add_counters(&self, counters: &mut Counters) {
        counters.add(counters::LARGE_FLOWS, self.large_flows);
        counters.add(counters::INSTALLED_PATHS, self.installed);
        counters.add(counters::CHANGED_PATHS, self.rerouted);
    }
}
