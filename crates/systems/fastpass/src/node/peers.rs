//! An endpoint's arbiters: one session with each, one of which is in use.

use super::Common;
use crate::fcp::EndpointSession;
use crate::wire::fcp;
use slotline_net::id::HostId;
use slotline_net::time::Time;

/// An arbiter as an endpoint knows it.
pub(super) struct Peer {
    pub host: HostId,
    pub session: EndpointSession,
    /// Sessions before this one.
    start: u64,
    /// Path of messages to it: another one after each time-out.
    path: u64,
    /// Times-outs of the sessions before.
    timeouts: u64,
}

impl Peer {
    /// Where messages go now.
    pub fn path(&self) -> u16 {
        (self.path + self.session.session().counters().timeouts + self.timeouts) as u16
    }
}

/// All of them.
pub(super) struct Peers {
    me: u32,
    peers: Vec<Peer>,
    current: usize,
    /// When the arbiter in use was heard, or from when on it had something to answer.
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
    /// Whose FCP message this is, as it says.
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
    /// Whether there is another arbiter to turn to.
    pub fn has_other(&self) -> bool {
        self.peers.len() > 1
    }
    /// The next arbiter in turn.
    pub fn other(&self) -> usize {
        (self.current + 1) % self.peers.len()
    }
    /// Turns to another arbiter; the session with the one before is over.
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
    /// When one of the sessions has something to do.
    pub fn deadline(&self) -> Option<Time> {
        self.peers.iter().filter_map(|peer| peer.session.deadline()).min()
    }
}
