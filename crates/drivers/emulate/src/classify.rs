//! Maps a real packet to a packet of the model: its connection and its kind.

use crate::ipv4::{self, Headers, tcp_flags};
use slotline_net::frame::{CE, CWR, ECE, ECT, Kind, Packet, RETRANSMITTED};
use slotline_net::id::HostId;
use slotline_net::node::external_host::SHARED_CONNS;
use slotline_net::node::host::Plan;
use slotline_net::rng::mix64;
use std::net::Ipv4Addr;
use std::sync::Arc;

/// The port of all servers of replayed workloads.
pub const SERVER_PORT: u16 = 7_001;
/// The port of the first connection that a host opens in a workload.
pub const FIRST_PORT: u16 = 10_000;
/// The largest number of connections of a workload that a host can open.
pub const MOST_CONNS: u32 = (u16::MAX - FIRST_PORT) as u32;

/// The addresses of hosts: consecutive, from `10.77.0.1` on.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// The number of hosts.
    pub hosts: u32,
}

impl Addresses {
    const FIRST: u32 = u32::from_be_bytes([10, 77, 0, 1]);
    /// The length of the network's prefix in bits.
    pub const PREFIX: u8 = 16;
    /// The largest number of hosts.
    pub const MOST: u32 = 65_000;

    /// The hosts, as congestion controls of the kernel know them.
    pub fn range(self) -> slotline_congestion::Hosts {
        slotline_congestion::Hosts { first: self.of(HostId(0)), count: self.hosts }
    }
    /// The address of a host.
    pub fn of(self, host: HostId) -> Ipv4Addr {
        Ipv4Addr::from(Addresses::FIRST + host.0)
    }
    /// The host that has an address.
    pub fn host(self, address: Ipv4Addr) -> Option<HostId> {
        let place = u32::from(address).wrapping_sub(Addresses::FIRST);
        (place < self.hosts).then_some(HostId(place))
    }
}

/// The reason why a packet does not enter the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Foreign {
    /// It is not an IPv4 packet.
    Protocol,
    /// Its source or destination is not a host of the network, or its source is another host.
    Address,
    /// It is longer than packets of the network are.
    Length,
}

/// Numbers the segments of a connection, so that a retransmission has the number of the original segment.
#[derive(Clone, Copy, Default)]
struct Numbers {
    first: Option<u32>,
    /// One past the highest byte, relative to `first`.
    highest: u32,
}

/// Classifies the packets of all hosts.
pub struct Classifier {
    addresses: Addresses,
    plan: Arc<Plan>,
    numbers: Vec<Numbers>,
    /// For each flow, the number of segments that were retransmitted.
    retransmitted: Vec<u32>,
}

impl Classifier {
    /// A classifier for the connections of `plan`, which includes shared connections.
    pub fn new(plan: Arc<Plan>, addresses: Addresses) -> Classifier {
        let numbers = vec![Numbers::default(); plan.traffic.conns.len()];
        let retransmitted = vec![0; plan.traffic.flows.len()];
        Classifier { addresses, plan, numbers, retransmitted }
    }

    /// The packet of the model for `bytes`, which `src` sends. The caller sets [`Packet::stamp`].
    pub fn classify(&mut self, src: HostId, bytes: &[u8]) -> Result<Packet, Foreign> {
        let headers = ipv4::parse(bytes).ok_or(Foreign::Protocol)?;
        let dst = self.addresses.host(headers.dst).filter(|&dst| dst != src);
        let dst = dst.filter(|_| self.addresses.of(src) == headers.src).ok_or(Foreign::Address)?;
        if u32::from(headers.length) > self.plan.transport.mtu() {
            return Err(Foreign::Length);
        }
        let len = self.plan.transport.datagram_len(headers.length.into());
        let (flow, kind) = self.connection(src, dst, &headers);
        let conn = &self.plan.traffic.conns[flow as usize];
        let packet = Packet { dst, flow, len, kind, class: conn.class, ..Packet::default() };
        let entropy = match kind {
            Kind::Ack => self.plan.entropy_back(flow),
            _ => self.plan.entropy(flow),
        };
        let mut packet = Packet { entropy, flags: flags(&headers), ..packet };
        if let Some(tcp) = headers.tcp.filter(|_| kind == Kind::Data) {
            self.number(&mut packet, &tcp);
        }
        Ok(packet)
    }

    /// For each flow, the number of segments that were retransmitted.
    pub fn retransmitted(&self) -> &[u32] {
        &self.retransmitted
    }

    /// The connection of a packet, and its kind: data goes from the connection's source to its destination, and
    /// acknowledgements go back.
    fn connection(&self, src: HostId, dst: HostId, headers: &Headers) -> (u32, Kind) {
        let (from, to) = headers.ports;
        let own = |host: HostId, port: u16, peer: HostId| {
            let conn = self.plan.sends(host).start + u32::from(port.checked_sub(FIRST_PORT)?);
            let planned = self.plan.traffic.conns.get(conn as usize)?;
            ((planned.src, planned.dst) == (host, peer) && planned.count > 0).then_some(conn)
        };
        let data = if headers.tcp.is_some() { Kind::Data } else { Kind::Datagram };
        if to == SERVER_PORT
            && let Some(conn) = own(src, from, dst)
        {
            return (conn, data);
        }
        if from == SERVER_PORT
            && let Some(conn) = own(dst, to, src)
        {
            return (conn, Kind::Ack);
        }
        let pure =
            headers.tcp.is_some_and(|tcp| tcp.payload == 0 && tcp.flags & tcp_flags::SYN == 0);
        let hash = flow_hash(headers);
        match (headers.tcp.is_some(), pure) {
            (true, true) => (self.shared(dst, src, hash), Kind::Ack),
            _ => (self.shared(src, dst, hash), data),
        }
    }

    /// The shared connection for a hash. The shared connections are the last ones of a host.
    fn shared(&self, src: HostId, dst: HostId, hash: u64) -> u32 {
        let place = dst.0 - u32::from(dst > src);
        let first = self.plan.sends(src).end - (self.addresses.hosts - 1) * SHARED_CONNS;
        first + place * SHARED_CONNS + (hash % u64::from(SHARED_CONNS)) as u32
    }

    /// Gives a data packet the number of its segment.
    fn number(&mut self, packet: &mut Packet, tcp: &ipv4::Tcp) {
        let numbers = &mut self.numbers[packet.flow as usize];
        if tcp.flags & tcp_flags::SYN != 0 {
            *numbers = Numbers { first: Some(tcp.seq.wrapping_add(1)), ..*numbers };
            numbers.highest = 0;
            return;
        }
        let first = *numbers.first.get_or_insert(tcp.seq);
        let offset = tcp.seq.wrapping_sub(first);
        let end = offset.wrapping_add(u32::from(tcp.payload));
        let beyond = end.wrapping_sub(numbers.highest);
        packet.seq = offset / self.plan.transport.mss();
        if tcp.payload > 0 && (beyond == 0 || beyond > u32::MAX / 2) {
            packet.flags |= RETRANSMITTED;
            self.count_retransmission(packet.flow, offset);
        } else if beyond <= u32::MAX / 2 {
            numbers.highest = end;
        }
    }
}

impl Classifier {
    /// Counts a retransmitted segment of a connection for the flow that contains byte `offset`.
    fn count_retransmission(&mut self, conn: u32, offset: u32) {
        let mut end = 0;
        for flow in self.plan.flows(conn) {
            end += self.plan.traffic.flows[flow.at()].bytes;
            if u64::from(offset) < end {
                self.retransmitted[flow.at()] += 1;
                return;
            }
        }
    }
}

/// A hash of the addresses and ports, the same for both directions.
fn flow_hash(headers: &Headers) -> u64 {
    let end = |address: Ipv4Addr, port: u16| u64::from(u32::from(address)) << 16 | u64::from(port);
    let ends = [end(headers.src, headers.ports.0), end(headers.dst, headers.ports.1)];
    mix64(ends[0] ^ ends[1] ^ u64::from(headers.protocol) << 56)
}

fn flags(headers: &Headers) -> u8 {
    let ecn = match headers.ecn {
        0 => 0,
        3 => ECT | CE,
        _ => ECT,
    };
    let tcp = headers.tcp.map_or(0, |tcp| {
        let echo = if tcp.flags & tcp_flags::ECE != 0 { ECE } else { 0 };
        let reduced = if tcp.flags & tcp_flags::CWR != 0 { CWR } else { 0 };
        if tcp.flags & tcp_flags::SYN == 0 { echo | reduced } else { 0 }
    });
    ecn | tcp
}
