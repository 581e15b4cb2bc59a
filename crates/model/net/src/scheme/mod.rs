//! The interface of central schedulers. The input is news about a network, and the output is decisions about who may
//! send when.
//!
//! A scheduler has neither a clock nor network access. The controller of a scheme passes it the news that reaches its
//! host, and executes its decisions.

pub mod counters;
pub mod fit;
mod map;
pub mod network;
pub mod system;

pub use fit::{Activity, Conditions, Proposal, Scale};
pub use map::Map;
pub use network::Network;
pub use system::{
    ControlNetwork, MakeNode, PerFlow, SchemeSwitches, Station, Surroundings, SwitchPlace, System,
};

use crate::id::{ConnId, HostId};
use crate::time::Time;
use crate::units::Rate;

/// The priority class of control messages: the highest.
pub const CONTROL_CLASS: u8 = 7;

/// An event that a central scheduler is informed of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum News<'a> {
    /// A host's coordinator has started or restarted. It has no demand and no permission.
    Joined(HostId),
    /// A host is gone, or has been silent for too long.
    Left(HostId),
    /// All destinations for which a host has waiting packets.
    Backlog {
        /// The sending host.
        host: HostId,
        /// The complete set of destinations, each once; may be empty.
        destinations: &'a [HostId],
        /// For each of these, the number of waiting flows between virtual machines. If empty, one flow each.
        flows: &'a [u32],
    },
    /// The bytes that a host has sent.
    Load {
        /// The sending host.
        host: HostId,
        /// The duration of the measurement.
        span: Time,
        /// Destinations and bytes on the wire; those with none are left out.
        loads: &'a [(HostId, u64)],
    },
    /// A host gives back its permission for this destination, because nothing is left to send.
    Released {
        /// The sending host.
        host: HostId,
        /// The destination.
        dst: HostId,
    },
    /// The large flows of a host that its edge switch has counted.
    Flows {
        /// The sending host.
        host: HostId,
        /// The duration of the count.
        span: Time,
        /// The complete set of its large flows, each connection once; may be empty.
        flows: &'a [FlowCount],
    },
}

/// A switch's count of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowCount {
    /// The connection.
    pub conn: ConnId,
    /// The destination of its packets.
    pub dst: HostId,
    /// Bytes on the wire during the count.
    pub bytes: u64,
}

impl<'a> News<'a> {
    /// A backlog of one flow for each destination.
    pub const fn backlog(host: HostId, destinations: &'a [HostId]) -> News<'a> {
        News::Backlog { host, destinations, flows: &[] }
    }
    /// The host that the news is about.
    pub const fn host(&self) -> HostId {
        match *self {
            News::Joined(host)
            | News::Left(host)
            | News::Backlog { host, .. }
            | News::Load { host, .. }
            | News::Released { host, .. }
            | News::Flows { host, .. } => host,
        }
    }
}

/// A decision of a central scheduler about a host. It replaces the earlier decision of this kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// `src` may send to `dst`, and to nobody else, until `until`.
    Window {
        /// The sending host.
        src: HostId,
        /// Its permitted destination; `None` if it must wait.
        dst: Option<HostId>,
        /// End of the window, in the scheduler's time.
        until: Time,
        /// Its highest rate; `None` for the rate of the host's link.
        rate: Option<Rate>,
    },
    /// `src` may send to `dst` at this rate until the next decision.
    Rate {
        /// The sending host.
        src: HostId,
        /// The destination.
        dst: HostId,
        /// Wire bytes over time.
        rate: Rate,
    },
    /// `src` needs permission to send to `dst`. Consecutive decisions of this kind for one host give all destinations
    /// for which it needs permission. With `None` it needs no permission for any.
    Controlled {
        /// The sending host.
        src: HostId,
        /// The destination.
        dst: Option<HostId>,
    },
    /// Packets of a connection take this one of the equal paths until the next decision, or until the connection is
    /// idle for so long that switches forget it.
    Path {
        /// The sending host.
        src: HostId,
        /// The connection.
        conn: ConnId,
        /// The destination of its packets.
        dst: HostId,
        /// Number of the path, as in [`Network::numbered_path`]. Packets carry it as their entropy.
        path: u16,
    },
}

impl Decision {
    /// The host that the decision is for.
    pub const fn host(&self) -> HostId {
        match *self {
            Decision::Window { src, .. }
            | Decision::Rate { src, .. }
            | Decision::Controlled { src, .. }
            | Decision::Path { src, .. } => src,
        }
    }
}

/// Decisions, in the order they were made.
pub type Plan = Vec<Decision>;

/// A central scheduler.
pub trait Control: Send {
    /// Handles `news`. Calls come in time order.
    fn observe(&mut self, news: &News<'_>, now: Time);
    /// Appends decisions to `plan`. This is called after news, and at the time that the last call returned. The
    /// returned time is later than `now`.
    fn decide(&mut self, now: Time, plan: &mut Plan) -> Option<Time>;
    /// Paths or rates of the network have changed. The numbers of links and hosts are unchanged. The next decisions
    /// must withdraw permissions that no longer fit. A scheduler that does not use paths has nothing to do.
    fn rewire(&mut self, _network: &Network, _now: Time) {}
    /// How many flows wait at a directed link, for controllers that share links with others.
    fn flows(&self, _link: u32) -> u64 {
        0
    }
}
