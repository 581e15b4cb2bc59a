//! Traffic: who sends what to whom, and when.
//!
//! A [`WorkloadSpec`] generates its connections and flows into a [`TrafficBuilder`], whose
//! [`TrafficBuilder::finish`] checks them and puts them in order. All traffic of a run is known before
//! it starts; what depends on completions is said with triggers.

pub mod builder;
pub mod bulk;
pub mod cdf;
mod check;
pub mod cm;
mod cm_traffic;
pub mod collective;
pub mod csv;
pub mod custom;
mod decimal;
pub mod goal;
#[cfg(test)]
mod goal_tests;
mod goal_traffic;
pub mod hdfs;
pub mod hosts;
mod hpcc;
pub mod incast;
mod job;
pub mod migration;
mod options;
pub mod pairs;
pub mod poisson;
pub mod probe;
pub mod rack_rings;
#[cfg(test)]
mod rehearsal;
pub mod ring;
pub mod rows;
pub mod rpc;
pub mod short_flows;
pub mod shuffle;
pub mod spec;
#[cfg(test)]
mod testing;
pub mod text;
pub mod trace;
pub mod udp;

pub use builder::{ConnHandle, TrafficBuilder};
pub use cdf::{Cdf, DISTRIBUTIONS};
pub use hosts::Hosts;
pub use job::{Job, Place, Setting, Shape};
pub use spec::{Generate, WorkloadSpec};

use crate::id::{ConnId, FlowId, HostId};
use crate::time::Time;
use crate::units::Rate;

/// When a flow starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// At a time.
    At(Time),
    /// When trigger `trigger` fires, and `delay` later.
    After {
        /// Index into [`Traffic::triggers`].
        trigger: u32,
        /// Think time.
        delay: Time,
    },
}

/// Fires once, when `count` flows and steps that name it are complete. A trigger lives at one host:
/// every flow that names it in [`Flow::then`] ends (or, for [`When::Acked`], begins) there, and every
/// flow or step that it starts begins there, as in a real application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trigger {
    /// The host that observes the completions and acts.
    pub host: HostId,
    /// Completions needed.
    pub count: u32,
}

/// Work done inside a host, between flows: when it is ready it waits for its processor, takes `work`,
/// and then counts as a completion. Triggers of other hosts it cannot reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The host that works.
    pub host: HostId,
    /// When it is ready.
    pub start: Start,
    /// How long it takes.
    pub work: Time,
    /// The processor it occupies meanwhile, first come, first served; none: it waits for nobody.
    pub cpu: Option<u16>,
    /// The trigger that its beginning counts towards.
    pub begun: Option<u32>,
    /// The trigger that its end counts towards.
    pub then: Option<u32>,
}

/// Which end's view of completion counts for a trigger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// The receiver has the last byte.
    Received,
    /// The sender knows that all was received.
    Acked,
}

/// What a flow is to the application.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Role {
    /// A transfer of its own.
    #[default]
    Alone,
    /// It merely asks for others: those of the exchange with this number.
    Request(u32),
    /// It is asked for, or part of what is: it counts towards the exchange with this number.
    Answer(u32),
    /// It merely tells another host that something happened.
    Signal,
}

impl Role {
    /// The exchange it takes part in.
    pub fn exchange(self) -> Option<u32> {
        match self {
            Role::Alone | Role::Signal => None,
            Role::Request(exchange) | Role::Answer(exchange) => Some(exchange),
        }
    }
}

/// One message on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    /// Its connection. A connection's flows are contiguous in [`Traffic::flows`], in sending order.
    pub conn: ConnId,
    /// Payload bytes, at least 1.
    pub bytes: u64,
    /// When it starts.
    pub start: Start,
    /// The trigger its completion counts towards.
    pub then: Option<(u32, When)>,
    /// A second one, at the sender, that counts when it knows that all was received.
    pub also: Option<u32>,
    /// Which workload of the scenario made it, for grouping results.
    pub group: u16,
    /// What it is to the application; for results alone.
    pub role: Role,
}

/// How a connection carries its flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Carrier {
    /// Reliable, congestion-controlled byte stream (the scheme's transport).
    Tcp,
    /// Datagrams at a given pace, without feedback. A message that exceeds one datagram is
    /// fragmented and is lost when any fragment is.
    Udp {
        /// Rate on the wire while on; capped by the host's link.
        rate: Rate,
        /// Application message size in bytes.
        message: u32,
        /// Sends for `on`, is silent for `off`, and so on; `off` zero: constant rate.
        on: Time,
        /// Silent part of the cycle.
        off: Time,
        /// Poisson instead of evenly spaced packets.
        poisson: bool,
    },
}

/// Virtual machines at both ends of a connection, by their numbers on their hosts: one V2V flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Machines {
    /// On the sending host.
    pub from: u16,
    /// On the receiving host.
    pub to: u16,
}

impl Machines {
    /// Of what goes the other way.
    pub const fn back(self) -> Machines {
        Machines { from: self.to, to: self.from }
    }
}

/// A connection between two different hosts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Conn {
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// How data is carried.
    pub carrier: Carrier,
    /// Priority class of its packets, 0 to 7 (7 first).
    pub class: u8,
    /// The virtual machines that it connects.
    pub machines: Machines,
    /// First flow in [`Traffic::flows`].
    pub first: FlowId,
    /// Number of flows.
    pub count: u32,
}

/// All traffic of a run, known before it starts. Connections are sorted by source host, so that each
/// host's are contiguous.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// Connections, by [`ConnId`].
    pub conns: Vec<Conn>,
    /// Flows, by [`FlowId`].
    pub flows: Vec<Flow>,
    /// Triggers, by index.
    pub triggers: Vec<Trigger>,
    /// Work inside hosts, by index.
    pub steps: Vec<Step>,
    /// Connections that their sender gives up so long after it began, if they are not done; sorted.
    pub cuts: Vec<(ConnId, Time)>,
}
