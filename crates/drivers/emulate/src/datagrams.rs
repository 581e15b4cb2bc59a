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

    /// Sends the next datagram that is due by `now`. If the socket has no room for it, it waits for its next turn.
    pub fn send(&mut self, now: Time) -> Option<SentDatagram> {
        let Reverse((at, conn)) = *self.due.peek().filter(|Reverse((at, _))| *at <= now)?;
        self.due.pop();
        let carrier = self.plan.traffic.conns[conn as usize].carrier;
        let (Carrier::Udp { message, .. }, Some(sender)) = (carrier, self.senders.get_mut(&conn))
        else {
            return None;
        };
        let length = sender.unsent.min(message.into()).min(self.zeros.len() as u64);
        match rustix::net::send(&sender.socket, &self.zeros[..length as usize], SendFlags::empty())
        {
            Err(Errno::AGAIN | Errno::NOBUFS) => {}
            _ => sender.unsent -= length,
        }
        let sent = SentDatagram { flow: sender.flow, last: sender.unsent == 0 };
        if !sent.last {
            let (wire, _) = self.plan.wire_bytes(sender.flow);
            let bytes = self.plan.traffic.flows[sender.flow as usize].bytes;
            let share = u128::from(wire) * u128::from(length) / u128::from(bytes);
            let next = sender.after(at, Bytes(share as u64), carrier);
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
    /// The time at which the next datagram is due after one of `wire` bytes at `at`.
    fn after(&mut self, at: Time, wire: Bytes, carrier: Carrier) -> Time {
        let Carrier::Udp { rate, on, off, poisson, .. } = carrier else { return at };
        let span = rate.time_for(wire);
        let random = |stream: &mut Stream| Time::ps(stream.exponential(span.as_ps() as f64) as u64);
        let span = if poisson { random(&mut self.random) } else { span };
        let next = at + span;
        let cycle = on + off;
        if off == Time::ZERO || cycle == Time::ZERO {
            return next;
        }
        let within = Time::ps(next.since(self.began).as_ps() % cycle.as_ps());
        if within < on { next } else { next + cycle.since(within) }
    }
}
