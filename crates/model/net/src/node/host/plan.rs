//! The data that all hosts of a run share: the traffic, with the indices that hosts need.

use super::late::LateFlows;
use crate::error::SpecError;
use crate::id::{ConnId, FlowId, HostId};
use crate::rng::{mix64, pair_key};
use crate::route::Routes;
use crate::time::Time;
use crate::topology::{Graph, Wiring};
use crate::transport::Transport;
use crate::units::Rate;
use crate::workload::{Carrier, Conn, Flow, Start, Step, Traffic};

/// How packets of a connection choose among equal paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spread {
    /// All packets of a connection take one path, by a hash of the connection.
    PerFlow,
    /// Every packet takes a random path.
    PerPacket,
    /// All packets of a connection take one path, until a pause of at least this time.
    PerBurst(Time),
    /// All packets for a host take one path.
    PerDestination,
    /// The host's n-th connection of a workload takes path n.
    Pinned,
    /// All packets from one host to another take one path, so that a central scheduler knows it.
    PerPair,
}

/// The hash of all packets from one host to another under [`Spread::PerPair`], by the keys of their names.
pub fn pair_entropy(seed: u64, src: u64, dst: u64) -> u16 {
    mix64(seed ^ pair_key(src, dst)) as u16
}

/// The hash of all packets to a host under [`Spread::PerDestination`], by the key of its name.
fn destination_entropy(seed: u64, dst: u64) -> u16 {
    mix64(seed ^ mix64(dst)) as u16
}

/// Traffic and transport of a run, shared by its hosts.
#[derive(Debug)]
pub struct Plan {
    /// The traffic.
    pub traffic: Traffic,
    /// The transport of all TCP connections.
    pub transport: Transport,
    /// How paths are chosen.
    pub spread: Spread,
    seed: u64,
    /// By host, the key of its name.
    host_keys: Vec<u64>,
    reactions: Reactions,
    pub(super) entropy: Vec<u16>,
    /// By connection, the hash input of acknowledgements; empty if it is that of the connection's packets.
    entropy_back: Vec<u16>,
    /// Whether entropies are the numbers of the paths that equal-cost multipath selects.
    numbered: bool,
    /// Whether all connections that are known before the run have the same class.
    one_class: bool,
    /// First connection of each sending host, and the total.
    tx_first: Vec<u32>,
    /// By connection: its index among the connections of its receiver.
    pub(super) rx_ordinal: Vec<u32>,
    rx: Grouped,
    starts: Grouped,
    triggered: Grouped,
    triggers: Grouped,
    steps_after: Grouped,
    timed_steps: Grouped,
    pub(super) late: LateFlows,
}

/// The longest times that hosts take to react, in picoseconds.
#[derive(Debug)]
struct Reactions {
    /// The time for events that belong to no connection.
    other: u64,
    conns: ConnReactions,
}

/// The longest times that hosts take to react to packets and timers of connections.
#[derive(Debug)]
enum ConnReactions {
    /// The same for all connections.
    Same(u64),
    /// By connection, from their paths.
    ByPaths(Vec<u32>),
}

/// The longest reaction time of a host, if neither an option nor paths determine it.
const REACTION: Time = Time::ns(100);

/// Indices grouped by a key, in one array.
#[derive(Debug)]
struct Grouped {
    first: Vec<u32>,
    members: Vec<u32>,
}

impl Grouped {
    fn new(groups: usize, of: impl Iterator<Item = (usize, u32)> + Clone) -> Grouped {
        let mut first = vec![0u32; groups + 1];
        of.clone().for_each(|(group, _)| first[group + 1] += 1);
        for at in 0..groups {
            first[at + 1] += first[at];
        }
        let mut next = first.clone();
        let mut members = vec![0; first[groups] as usize];
        for (group, member) in of {
            members[next[group] as usize] = member;
            next[group] += 1;
        }
        Grouped { first, members }
    }
    fn of(&self, group: usize) -> &[u32] {
        &self.members[self.first[group] as usize..self.first[group + 1] as usize]
    }
}

impl Plan {
    /// Indexes `traffic` for hosts with the keys `host_keys` ([`crate::topology::Graph::host_keys`]). `seed` decides
    /// the hashes of connections.
    pub fn new(
        traffic: Traffic,
        transport: Transport,
        spread: Spread,
        host_keys: Vec<u64>,
        seed: u64,
    ) -> Result<Plan, SpecError> {
        refuse_shared_datagrams(&traffic)?;
        let hosts = host_keys.len();
        let one_class = traffic.conns.windows(2).all(|two| two[0].class == two[1].class);
        let transport_reaction = transport.processing().unwrap_or(REACTION).as_ps();
        let by_source = Grouped::new(hosts, conns(&traffic).map(|(id, c)| (c.src.at(), id)));
        let rx = Grouped::new(hosts, conns(&traffic).map(|(id, c)| (c.dst.at(), id)));
        let triggers = (0..).zip(&traffic.triggers).map(|(id, t)| (t.host.at(), id));
        Ok(Plan {
            entropy: entropy(&traffic, spread, &host_keys, seed),
            rx_ordinal: ordinals(&rx, hosts, traffic.conns.len()),
            starts: starts(&traffic, hosts),
            triggered: triggered(&traffic),
            triggers: Grouped::new(hosts, triggers),
            steps_after: Grouped::new(traffic.triggers.len(), steps(&traffic, awaited)),
            timed_steps: Grouped::new(hosts, steps(&traffic, host_of_timed)),
            tx_first: by_source.first,
            rx,
            traffic,
            transport,
            spread,
            seed,
            host_keys,
            reactions: Reactions {
                other: transport_reaction,
                conns: ConnReactions::Same(transport_reaction),
            },
            entropy_back: Vec::new(),
            numbered: false,
            one_class,
            late: LateFlows::default(),
        })
    }

    /// Whether all packets have the same class, unless flows are added during the run.
    pub fn has_one_class(&self) -> bool {
        self.one_class
    }
    /// The connections that `host` sends on: a contiguous range.
    pub fn sends(&self, host: HostId) -> std::ops::Range<u32> {
        self.tx_first[host.at()]..self.tx_first[host.at() + 1]
    }
    /// The connections that `host` receives, by ordinal.
    pub fn receives(&self, host: HostId) -> &[u32] {
        self.rx.of(host.at())
    }
    /// The index of `conn` among the connections of its receiver.
    #[inline]
    pub(super) fn rx_ordinal(&self, conn: u32) -> u32 {
        match self.rx_ordinal.get(conn as usize) {
            Some(ordinal) => *ordinal,
            None => self.late_conn(conn).received,
        }
    }
    /// The entropy of the packets of `conn`: the hash input of switches, or the number of the path.
    #[inline]
    pub fn entropy(&self, conn: u32) -> u16 {
        match self.entropy.get(conn as usize) {
            Some(entropy) => *entropy,
            None => self.late_conn(conn).entropy,
        }
    }
    /// The entropy of acknowledgements of a connection. It is that of its packets, unless switches hash only the
    /// destination.
    pub fn entropy_back(&self, conn: u32) -> u16 {
        match self.spread {
            _ if self.is_late(conn) => self.late_conn(conn).entropy_back,
            Spread::PerDestination => {
                let src = self.traffic.conns[conn as usize].src;
                destination_entropy(self.seed, self.host_keys[src.at()])
            }
            _ => {
                let own = self.entropy_back.get(conn as usize).copied();
                own.unwrap_or_else(|| self.entropy(conn))
            }
        }
    }
    /// Gives each connection and its acknowledgements the number of the path that equal-cost multipath selects, if
    /// `pinned` routes have such a number. A scheme that moves no connection then changes no path.
    pub fn number_hashed_paths(&mut self, graph: &Graph, wiring: &Wiring, pinned: &Routes) {
        let hashed = pinned.hashed(graph, self.seed);
        let both = self.traffic.conns.iter().zip(&self.entropy);
        let numbers = both.map(|(conn, &hash)| path_numbers(conn, hash, wiring, pinned, &hashed));
        (self.entropy, self.entropy_back) = numbers.unzip();
        self.numbered = true;
    }
    /// The key of a host for random streams, computed from its name.
    pub fn host_key(&self, host: HostId) -> u64 {
        self.host_keys[host.at()]
    }
    /// The key of a connection for random streams. It is computed from its workload, the names of its ends, and its
    /// place among the connections between them. It does not depend on other workloads, hosts or links.
    pub fn conn_key(&self, conn: u32) -> u64 {
        conn_key(self.conn(conn), &self.host_keys)
    }
    /// Sets the longest reaction time of hosts for each connection to the time of one full packet at the slowest link
    /// of its path (Floyd and Jacobson, section 5), unless an option sets it. Datagrams are sent at their own
    /// intervals.
    pub fn react_by_paths(&mut self, graph: &Graph, wiring: &Wiring, routes: &Routes) {
        if self.transport.processing().is_some() {
            return;
        }
        let of = |(conn, entropy): (&Conn, &u16)| {
            self.path_time(conn, *entropy, graph, wiring, routes).as_ps() as u32
        };
        self.reactions.conns = match same_rate(graph, wiring) {
            Some(rate) => ConnReactions::Same(self.transport.packet_time(rate).as_ps()),
            None => {
                let conns = self.traffic.conns.iter().zip(&self.entropy);
                ConnReactions::ByPaths(conns.map(of).collect())
            }
        };
    }
    /// The time of one full packet at the slowest link of a connection's path.
    fn path_time(
        &self,
        conn: &Conn,
        entropy: u16,
        graph: &Graph,
        wiring: &Wiring,
        routes: &Routes,
    ) -> Time {
        let Conn { src, dst, .. } = *conn;
        let mut slowest = wiring.of(graph.hosts[src.at()]).iter().map(|wire| wire.lane.rate).min();
        routes.visit(wiring, (src, dst), entropy, |end| {
            slowest = slowest.min(Some(wiring.of(end.node)[end.port.at()].lane.rate));
        });
        slowest.map_or(REACTION, |rate| self.transport.packet_time(rate))
    }
    /// The longest time that a host takes to react to packets and timers of `conn`, in picoseconds.
    #[inline]
    pub fn reaction(&self, conn: u32) -> u64 {
        match &self.reactions.conns {
            ConnReactions::Same(span) => *span,
            ConnReactions::ByPaths(spans) => match spans.get(conn as usize) {
                Some(span) => u64::from(*span),
                None => self.late_conn(conn).reaction,
            },
        }
    }
    /// The reaction time of a late connection whose packets have this hash input.
    pub(super) fn late_reaction(
        &self,
        conn: &Conn,
        entropy: u16,
        graph: &Graph,
        wiring: &Wiring,
        routes: &Routes,
    ) -> u64 {
        match self.reactions.conns {
            ConnReactions::Same(span) => span,
            ConnReactions::ByPaths(_) => {
                self.path_time(conn, entropy, graph, wiring, routes).as_ps()
            }
        }
    }
    /// The hash inputs of the packets and the acknowledgements of a late connection, the `nth` of its sender, or the
    /// numbers of their paths.
    pub(super) fn late_entropy(
        &self,
        conn: &Conn,
        nth: u32,
        graph: &Graph,
        wiring: &Wiring,
        routes: &Routes,
    ) -> (u16, u16) {
        let (src, dst) = (self.host_keys[conn.src.at()], self.host_keys[conn.dst.at()]);
        match self.spread {
            Spread::Pinned => (nth as u16, nth as u16),
            Spread::PerDestination => {
                (destination_entropy(self.seed, dst), destination_entropy(self.seed, src))
            }
            Spread::PerPair => {
                let own = pair_entropy(self.seed, src, dst);
                (own, own)
            }
            _ => {
                let own = hashed_entropy(self.seed, conn, &self.host_keys);
                if !self.numbered {
                    return (own, own);
                }
                let hashed = self.late.hashed.get_or_init(|| routes.hashed(graph, self.seed));
                path_numbers(conn, own, wiring, routes, hashed)
            }
        }
    }
    /// The longest time that a host takes to react to anything else, in picoseconds.
    #[inline]
    pub fn other_reaction(&self) -> u64 {
        self.reactions.other
    }
    /// The flows of `host` that start at a fixed time, in order of time.
    pub fn starts(&self, host: HostId) -> &[u32] {
        self.starts.of(host.at())
    }
    /// When a flow starts; [`Time::MAX`] if a trigger starts it.
    pub fn start_time(&self, flow: u32) -> Time {
        match self.flow(flow).start {
            Start::At(time) => time,
            Start::After { .. } => Time::MAX,
        }
    }
    /// The time after the start of `conn` at which it is given up if it is not done. Most connections have none.
    #[inline]
    pub fn gives_up(&self, conn: u32) -> Option<Time> {
        let cuts = &self.traffic.cuts;
        let at = cuts.binary_search_by_key(&conn, |(cut, _)| cut.0).ok()?;
        Some(cuts[at].1)
    }
    /// Flows that `trigger` starts.
    pub fn triggered(&self, trigger: u32) -> &[u32] {
        self.triggered.of(trigger as usize)
    }
    /// Triggers that live at `host`.
    pub fn triggers(&self, host: HostId) -> &[u32] {
        self.triggers.of(host.at())
    }
    /// Steps that `trigger` starts.
    pub fn steps_after(&self, trigger: u32) -> &[u32] {
        self.steps_after.of(trigger as usize)
    }
    /// Steps of `host` that start at a fixed time.
    pub fn timed_steps(&self, host: HostId) -> &[u32] {
        self.timed_steps.of(host.at())
    }
    /// Bytes on the wire of all packets of a flow, and of the packet for which the last one waits at each switch.
    pub fn wire_bytes(&self, flow: u32) -> (u64, u64) {
        let flow = self.flow(flow);
        match self.conn(flow.conn.0).carrier {
            Carrier::Tcp => self.transport.wire_bytes(flow.bytes),
            Carrier::Udp { message, .. } => {
                super::udp::wire_bytes(message, flow.bytes, &self.transport)
            }
        }
    }
    /// The flows of `conn`.
    pub fn flows(&self, conn: u32) -> impl Iterator<Item = FlowId> + use<> {
        let conn = self.conn(conn);
        (conn.first.0..conn.first.0 + conn.count).map(FlowId)
    }
}

/// The numbers among `pinned` routes of the paths that the `hashed` ones select for packets of a connection with this
/// hash, and for acknowledgements; the hash if there is no such number.
fn path_numbers(
    conn: &Conn,
    hash: u16,
    wiring: &Wiring,
    pinned: &Routes,
    hashed: &Routes,
) -> (u16, u16) {
    let number = |ends| pinned.number_of(wiring, ends, hashed, hash).unwrap_or(hash);
    (number((conn.src, conn.dst)), number((conn.dst, conn.src)))
}

fn start_time(traffic: &Traffic, flow: u32) -> Time {
    match traffic.flows[flow as usize].start {
        Start::At(time) => time,
        Start::After { .. } => Time::MAX,
    }
}

fn conns(traffic: &Traffic) -> impl Iterator<Item = (u32, &Conn)> + Clone {
    (0u32..).zip(&traffic.conns)
}

fn refuse_shared_datagrams(traffic: &Traffic) -> Result<(), SpecError> {
    let shared = |c: &Conn| matches!(c.carrier, Carrier::Udp { .. }) && c.count > 1;
    match conns(traffic).find(|(_, conn)| shared(conn)) {
        None => Ok(()),
        Some((id, _)) => Err(SpecError::new(
            "workload",
            format!("connection {id} has several flows: a UDP connection carries one"),
        )),
    }
}

/// By connection, the entropy of its packets, or the number of their path.
fn entropy(traffic: &Traffic, spread: Spread, hosts: &[u64], seed: u64) -> Vec<u16> {
    let conns = traffic.conns.iter();
    match spread {
        Spread::Pinned => places_in_workloads(traffic),
        Spread::PerPair => {
            conns.map(|c| pair_entropy(seed, hosts[c.src.at()], hosts[c.dst.at()])).collect()
        }
        Spread::PerDestination => {
            conns.map(|c| destination_entropy(seed, hosts[c.dst.at()])).collect()
        }
        _ => conns.map(|conn| hashed_entropy(seed, conn, hosts)).collect(),
    }
}

fn hashed_entropy(seed: u64, conn: &Conn, hosts: &[u64]) -> u16 {
    mix64(seed ^ mix64(conn_key(conn, hosts))) as u16
}

fn conn_key(conn: &Conn, hosts: &[u64]) -> u64 {
    pair_key(conn.key, pair_key(hosts[conn.src.at()], hosts[conn.dst.at()]))
}

/// By connection, its place among the connections of the same host and workload. These are consecutive.
fn places_in_workloads(traffic: &Traffic) -> Vec<u16> {
    let workload = |conn: &Conn| traffic.flows.get(conn.first.at()).map(|flow| flow.group);
    let alike = |a: &Conn, b: &Conn| a.src == b.src && workload(a) == workload(b);
    let runs = traffic.conns.chunk_by(alike);
    runs.flat_map(|run| (0..run.len()).map(|place| place as u16)).collect()
}

/// By connection, its index among the connections of its receiver.
fn ordinals(rx: &Grouped, hosts: usize, count: usize) -> Vec<u32> {
    let mut ordinals = vec![0; count];
    for host in 0..hosts {
        (0..).zip(rx.of(host)).for_each(|(n, conn)| ordinals[*conn as usize] = n);
    }
    ordinals
}

/// By host, the flows that start at a fixed time, in order of time.
fn starts(traffic: &Traffic, hosts: usize) -> Grouped {
    let source = |conn: ConnId| traffic.conns[conn.at()].src.at();
    let at_a_time = |(id, f): (u32, &Flow)| match f.start {
        Start::At(_) => Some((source(f.conn), id)),
        Start::After { .. } => None,
    };
    let mut starts = Grouped::new(hosts, (0..).zip(&traffic.flows).filter_map(at_a_time));
    for host in 0..hosts {
        let range = starts.first[host] as usize..starts.first[host + 1] as usize;
        starts.members[range].sort_by_key(|&flow| start_time(traffic, flow));
    }
    starts
}

/// By trigger, the flows that it starts.
fn triggered(traffic: &Traffic) -> Grouped {
    let by_trigger = |(id, f): (u32, &Flow)| match f.start {
        Start::After { trigger, .. } => Some((trigger as usize, id)),
        Start::At(_) => None,
    };
    Grouped::new(traffic.triggers.len(), (0..).zip(&traffic.flows).filter_map(by_trigger))
}

/// Steps, each with its group by `of`.
fn steps(
    traffic: &Traffic,
    of: fn(&Step) -> Option<usize>,
) -> impl Iterator<Item = (usize, u32)> + Clone {
    (0u32..).zip(&traffic.steps).filter_map(move |(id, step)| Some((of(step)?, id)))
}

fn awaited(step: &Step) -> Option<usize> {
    match step.start {
        Start::After { trigger, .. } => Some(trigger as usize),
        Start::At(_) => None,
    }
}

fn host_of_timed(step: &Step) -> Option<usize> {
    matches!(step.start, Start::At(_)).then_some(step.host.at())
}
/// The rate of all links, if they have the same and every host has a link.
fn same_rate(graph: &Graph, wiring: &Wiring) -> Option<Rate> {
    let linked = graph.hosts.iter().all(|&host| !wiring.of(host).is_empty());
    let mut rates = graph.links.iter().flat_map(|link| [link.ab.rate, link.ba.rate]);
    let first = rates.next().filter(|_| linked)?;
    rates.all(|rate| rate == first).then_some(first)
}
