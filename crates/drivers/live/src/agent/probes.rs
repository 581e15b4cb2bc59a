//! The socket by which hosts probe paths to each other: their messages take the path that they test. Nothing but probes and
//! their echoes is sent.

use super::{Agent, AgentSetup, BURST};
use crate::channel::{Channel, Peer};
use crate::clock::Local;
use crate::message::Message;
use crate::quotas::Quotas;
use crate::role::{HostPaths, Role};
use slotline_envelope::{KeyPair, PeerError};
use slotline_net::frame::Packet;
use slotline_net::id::PortId;
use std::collections::HashSet;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// The most probes and echoes per second that a host handles from each other one.
const QUOTA: u32 = 1_000;

/// The socket, and the hosts at its other ends.
pub(super) struct Probes {
    channel: Channel,
    /// The number of paths.
    paths: usize,
    hosts: HashSet<u32>,
}

impl Probes {
    /// The socket of a host that knows paths; `None` for other machines.
    ///
    /// # Errors
    /// Its address cannot be used.
    pub fn of(setup: &AgentSetup, now: Local) -> io::Result<Option<Probes>> {
        let Role::Host(role) = &setup.role else { return Ok(None) };
        let Some(HostPaths { tags, address, peers }) = &role.paths else { return Ok(None) };
        let mut channel = Channel::open(*address, setup.key.clone(), peers, now)?;
        channel.limit(Quotas { each: QUOTA, tenants: Vec::new() });
        let hosts = peers.iter().map(|peer| peer.number).collect();
        Ok(Some(Probes { channel, paths: tags.paths, hosts }))
    }
    pub fn readable(&self) -> BorrowedFd<'_> {
        self.channel.readable()
    }
    /// Whether this is another host.
    pub fn knows(&self, host: u32) -> bool {
        self.hosts.contains(&host)
    }
    /// Sends a message of the node on its path. Returns whether that was possible; the first message to a host begins a
    /// session instead.
    pub fn send(&mut self, packet: &Packet, payload: &[u8], now: Local) -> bool {
        if usize::from(packet.entropy) >= self.paths {
            return false;
        }
        let (tag, message) = (packet.entropy as u8 + 1, Message::Control(*packet, payload));
        self.channel.send_tagged(packet.dst.0, &message, tag, now)
    }
    /// The next message of another host. Its packet and its payload name that host, in octets 4 to 7 of messages of a
    /// scheme: no host speaks for an arbiter.
    fn receive(&mut self, now: Local) -> io::Result<Option<(Packet, Vec<u8>)>> {
        for _ in 0..BURST {
            let Some((from, message)) = self.channel.receive(now)? else { return Ok(None) };
            let Message::Control(packet, payload) = message else { continue };
            let source = payload.get(4..8).and_then(|octets| octets.first_chunk());
            if packet.flow == from && source.map(|of| u32::from_be_bytes(*of)) == Some(from) {
                return Ok(Some((packet, payload.to_vec())));
            }
        }
        Ok(None)
    }
    /// See [`Channel::renew`].
    pub fn renew(&mut self, own: &KeyPair, peers: &[Peer], now: Local) -> Result<(), PeerError> {
        self.hosts = peers.iter().map(|peer| peer.number).collect();
        self.channel.renew(own, peers, now)
    }
    /// See [`Channel::attend`].
    pub fn attend(&mut self, now: Local) -> Duration {
        self.channel.attend(now)
    }
}

impl Agent {
    /// Passes probes of other hosts and their echoes to the node.
    pub(super) fn hear_probes(&mut self, now: Local) -> io::Result<()> {
        let time = self.time(now);
        let (Some(probes), me) = (&mut self.probes, self.setup.me) else { return Ok(()) };
        while let Some((packet, payload)) = probes.receive(now)? {
            if let (Some(seat), Some(time)) = (&mut self.seat, time)
                && packet.dst == me
            {
                seat.receive(PortId(0), packet, &payload, time);
            }
        }
        Ok(())
    }
}
