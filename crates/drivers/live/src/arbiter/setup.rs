//! What an arbiter needs to run.

use super::topology::Assemble;
use crate::agent::MakeNode;
use crate::channel::{Channel, Peer};
use crate::config::{CircuitOptions, ClockOptions};
use crate::discovery::Discovery;
use crate::election::Standby;
use crate::hook::Hook;
use crate::line::{Open, peers_of};
use crate::links::Links;
use crate::parts::Parts;
use crate::quotas::Quotas;
use crate::record::Recorder;
use slotline_envelope::KeyPair;
use slotline_linux::datagrams::Share;
use slotline_net::id::HostId;
use slotline_net::topology::Wire;
use std::net::SocketAddr;

/// The configuration of an arbiter.
pub struct ArbiterSetup {
    /// Its number among the hosts of the network.
    pub me: HostId,
    /// Its place among the arbiters.
    pub rank: usize,
    /// The address on which it listens.
    pub address: SocketAddr,
    /// Its private key.
    pub key: KeyPair,
    /// Agents and other arbiters.
    pub peers: Vec<Peer>,
    /// The numbers of all arbiters, in order.
    pub arbiters: Vec<u32>,
    /// The links of the node.
    pub wires: Vec<Wire>,
    /// The machines at the far ends of the links, where messages have no address of their own.
    pub links: Links,
    /// The program that drives circuit switches. It gets the messages that go to none of the other machines.
    pub hook: Option<Hook>,
    /// That program, where arbiters are elected.
    pub program: Option<CircuitOptions>,
    /// The number of the first circuit switch among machines.
    pub switches: u32,
    /// How one of two arbiters is elected.
    pub standby: Option<Standby>,
    /// The names of links and switches that may be found to be faulty.
    pub parts: Parts,
    /// Makes the station.
    pub make: MakeNode,
    /// Where the network is discovered: what is known of it, and how the station's part of it follows. The links, names and
    /// station above are of no network then.
    pub discovery: Option<(Discovery, Assemble)>,
    /// Options of time transfer.
    pub clock: ClockOptions,
    /// Messages that are handled per second.
    pub quotas: Quotas,
    /// Threads: all but the first have sockets and encryption, each for a share of the peers. One does everything.
    pub threads: u8,
    /// The digest of the scenario, which agents have, too.
    pub digest: u64,
    /// The scenario with all its values, and the name of the scheme. Both are written to the log.
    pub scenario: (String, String),
    /// The log of all messages heard and digests of messages sent.
    pub recorder: Option<Recorder>,
}

impl ArbiterSetup {
    /// Opens a share of the channel, in the thread that calls the result.
    pub(super) fn opening(&self, share: Share) -> Open {
        let (address, key) = ((self.address, share), self.key.clone());
        let peers = peers_of(share, &self.peers);
        let quotas = self.quotas.part(|number| peers.iter().any(|peer| peer.number == number));
        Box::new(move |now| {
            let mut channel = Channel::open_share(address, key, &peers, now)?;
            channel.limit(quotas);
            Ok(channel)
        })
    }
}
