//! The arbiters of an endpoint: one session with each, one of which is in use.

use super::Common;
use crate::fcp::EndpointSession;
use crate::wire::fcp;
use slotline_net::id::HostId;
use slotline_net::time::Time;

/// An arbiter as an endpoint knows it.
pub(super) struct Peer {
    pub host: HostId,
    pub session: EndpointSession,
    /// The number of earlier sessions with it.
    start: u64,
    /// The first path of messages to it. Each time-out selects another one.
    path: u64,
    /// The number of time-outs of earlier sessions.
    timeouts: u64,
}

impl Peer {
    /// The path of messages now.
    pub fn path(&self) -> u16 {
        (self.path + self.session.session().counters().timeouts + self.timeouts) as u16
    }
}

/// All arbiters of an endpoint.
pub(super) struct Peers {
    me: u32,
    peers: Vec<Peer>,
    current: usize,
    /// When the arbiter in use was last heard, or when packets began to wait for it.
    pub heard: Time,
}

impl Peers {
    pub fn new(common: &Common, me: HostId) -> Peers {
        let peer = |&host: &HostId| Peer {
            host,
            session: EndpointSession::new(common.session(me.0, host.0, 0)),
            start: 0,
            path: me.0.into(),
            timeouts: 0,
        };
        let peers = common.arbiters.iter().map(peer).collect();
        Peers { me: me.0, peers, current: 0, heard: Time::ZERO }
    }
    /// Requests the session with the arbiter in use.
    #[inline]
    pub fn expect(&self) {
        if let Some(peer) = self.peers.get(self.current) {
            peer.session.expect();
        }
    }
    /// The arbiter that an FCP message names as its source.
    pub fn sender(&self, message: &[u8]) -> Option<usize> {
        if message.first() != Some(&fcp::VERSION) {
            return None;
        }
        let source = u32::from_be_bytes(message.get(4..8)?.try_into().ok()?);
        self.peers.iter().position(|peer| peer.host.0 == source)
    }
    pub fn all(&mut self) -> &mut [Peer] {
        &mut self.peers
    }
    pub fn current(&mut self) -> &mut Peer {
        &mut self.peers[self.current]
    }
    pub fn is_current(&self, at: usize) -> bool {
        self.current == at
    }
    /// Whether there is another arbiter to switch to.
    pub fn has_other(&self) -> bool {
        self.peers.len() > 1
    }
    /// The next arbiter in turn.
    pub fn other(&self) -> usize {
        (self.current + 1) % self.peers.len()
    }
    /// Switches to another arbiter. The session with the former one ends.
    pub fn switch_to(&mut self, at: usize, common: &Common, now: Time) {
        self.heard = now;
        if at == self.current {
            return;
        }
        let before = &mut self.peers[self.current];
        before.start += 1;
        before.timeouts += before.session.session().counters().timeouts;
        let config = common.session(self.me, before.host.0, before.start);
        before.session = EndpointSession::new(config);
        self.current = at;
    }
    /// The earliest deadline of the sessions.
    pub fn deadline(&self) -> Option<Time> {
        self.peers.iter().filter_map(|peer| peer.session.deadline()).min()
    }
}
