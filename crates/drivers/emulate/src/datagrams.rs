//! Streams of datagrams at given rates, over sockets.

use crate::classify::{Addresses, FIRST_PORT};
use rustix::io::Errno;
use rustix::net::SendFlags;
use slotline_net::id::HostId;
use slotline_net::node::host::Plan;
use slotline_net::rng::Stream;
use slotline_net::time::Time;
use slotline_net::units::Bytes;
use slotline_net::workload::Carrier;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;

struct Sender {
    socket: OwnedFd,
    flow: u32,
    unsent: u64,
    began: Time,
    random: Stream,
}

/// All streams of a workload.
pub struct Datagrams {
    plan: Arc<Plan>,
    senders: BTreeMap<u32, Sender>,
    /// The receiving socket of each host; empty if the workload has no stream.
    receivers: Vec<UdpSocket>,
    addresses: Addresses,
    due: BinaryHeap<Reverse<(Time, u32)>>,
    zeros: Vec<u8>,
}

/// A datagram was sent.
pub struct SentDatagram {
    /// Its flow.
    pub flow: u32,
    /// Whether it was the flow's last.
    pub last: bool,
}

impl Datagrams {
    /// Streams over the sockets `senders`, by connection.
    pub fn new(
        plan: Arc<Plan>,
        senders: BTreeMap<u32, OwnedFd>,
        receivers: Vec<UdpSocket>,
        addresses: Addresses,
        seed: u64,
    ) -> Datagrams {
        let sender = |(conn, socket)| {
            let random = Stream::named(seed, "host.udp", plan.conn_key(conn));
            (conn, Sender { socket, flow: 0, unsent: 0, began: Time::ZERO, random })
        };
        let senders = senders.into_iter().map(sender).collect();
        let (due, zeros) = (BinaryHeap::new(), vec![0; 65_507]);
        Datagrams { plan, senders, receivers, addresses, due, zeros }
    }

    /// The sockets that receive.
    pub fn receivers(&self) -> &[UdpSocket] {
        &self.receivers
    }

    /// The time at which the next datagram is due.
    pub fn next(&self) -> Option<Time> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    /// Starts a flow at `now`.
    pub fn start(&mut self, conn: u32, flow: u32, now: Time) {
        let Some(sender) = self.senders.get_mut(&conn) else { return };
        (sender.flow, sender.began) = (flow, now);
        sender.unsent = self.plan.traffic.flows[flow as usize].bytes;
        self.due.push(Reverse((now, conn)));
    }

    /// Sends the next datagram that is due by `now`. If the socket has no room for it, it waits for the time of a packet.
    pub fn send(&mut self, now: Time) -> Option<SentDatagram> {
        let Reverse((at, conn)) = *self.due.peek().filter(|Reverse((at, _))| *at <= now)?;
        self.due.pop();
        let carrier = self.plan.traffic.conns[conn as usize].carrier;
        let (Carrier::Udp { message, rate, .. }, Some(sender)) =
            (carrier, self.senders.get_mut(&conn))
        else {
            return None;
        };
        let length = sender.unsent.min(message.into()).min(self.zeros.len() as u64);
        let datagram = &self.zeros[..length as usize];
        let sent = rustix::net::send(&sender.socket, datagram, SendFlags::empty());
        if matches!(sent, Err(Errno::AGAIN | Errno::NOBUFS)) {
            let packet = rate.time_for(Bytes(self.plan.transport.mtu().into()));
            self.due.push(Reverse((now + packet, conn)));
            return Some(SentDatagram { flow: sender.flow, last: false });
        }
        sender.unsent -= length;
        let sent = SentDatagram { flow: sender.flow, last: sender.unsent == 0 };
        if !sent.last {
            let (wire, _) = self.plan.wire_bytes(sender.flow);
            let bytes = self.plan.traffic.flows[sender.flow as usize].bytes;
            let share = u128::from(wire) * u128::from(length) / u128::from(bytes);
            let packets = (length as u32).div_ceil(self.plan.transport.mtu()).max(1);
            let next = sender.after(at, Bytes(share as u64), packets, carrier);
            self.due.push(Reverse((next, conn)));
        }
        Some(sent)
    }

    /// The flow and the payload of the next datagram that a host has received.
    pub fn receive(&self, host: usize, buffer: &mut [u8]) -> io::Result<Option<(u32, u64)>> {
        loop {
            let (length, from) = match self.receivers[host].recv_from(buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            };
            let IpAddr::V4(address) = from.ip() else { continue };
            let src = self.addresses.host(address);
            let conn = src.and_then(|src| self.connection(src, from.port()));
            if let Some(sender) = conn.and_then(|conn| self.senders.get(&conn)) {
                return Ok(Some((sender.flow, length as u64)));
            }
        }
    }

    fn connection(&self, src: HostId, port: u16) -> Option<u32> {
        Some(self.plan.sends(src).start + u32::from(port.checked_sub(FIRST_PORT)?))
    }
}

impl Sender {
    /// The time at which the next datagram is due after one of `wire` bytes, in `packets` packets, at `at`. As in the model,
    /// packets are the Poisson process, so a datagram waits for as many gaps.
    fn after(&mut self, at: Time, wire: Bytes, packets: u32, carrier: Carrier) -> Time {
        let Carrier::Udp { rate, on, off, poisson, .. } = carrier else { return at };
        let span = rate.time_for(wire);
        let mean = span.as_ps() as f64 / f64::from(packets);
        let gap = |_| self.random.exponential(mean);
        let span = if poisson { Time::ps((0..packets).map(gap).sum::<f64>() as u64) } else { span };
        let next = at + span;
        let cycle = on + off;
        if off == Time::ZERO || cycle == Time::ZERO {
            return next;
        }
        let within = Time::ps(next.since(self.began).as_ps() % cycle.as_ps());
        if within < on { next } else { next + cycle.since(within) }
    }
}
