//! Traffic: connections and flows between hosts, and their start times.
//!
//! A [`WorkloadSpec`] generates its connections and flows into a [`TrafficBuilder`], whose
//! [`TrafficBuilder::finish`] checks them and sorts them. All traffic of a run is known before
//! it starts. Triggers describe what depends on completions.

pub mod builder;
pub mod bulk;
pub mod cdf;
mod check;
pub mod cm;
mod cm_trace;
mod cm_traffic;
pub mod collective;
pub mod csv;
pub mod custom;
mod decimal;
mod files;
pub mod goal;
#[cfg(test)]
mod goal_tests;
mod goal_traffic;
pub mod hdfs;
pub mod hosts;
mod hpcc;
pub mod incast;
mod job;
pub mod log_columns;
pub mod migration;
pub mod moment;
mod one_to_one;
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
mod sampling;
pub mod short_flows;
pub mod shuffle;
pub mod spec;
#[cfg(test)]
mod testing;
pub mod text;
pub mod trace;
pub mod udp;

pub use builder::{ConnHandle, TrafficBuilder, workload_key};
pub use cdf::{Cdf, DISTRIBUTIONS};
pub use files::{BYTE_ORDER_MARK, EachLine, Files};
pub use hosts::Hosts;
pub use job::{HostLocation, HostMap, Job, Setting};
pub use sampling::{Count, MAX_FLOWS};
pub use spec::{Generate, WorkloadSpec, in_order};

use slotline_base::id::{ConnId, FlowId, HostId};
use slotline_base::time::Time;
use slotline_base::units::Rate;

/// The start of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// At a time.
    At(Time),
    /// After trigger `trigger` fires, with a delay of `delay`.
    After {
        /// Index into [`Traffic::triggers`].
        trigger: u32,
        /// Think time.
        delay: Time,
    },
}

/// A trigger fires once, when `count` flows and steps that name it are complete. It belongs to one host:
/// every flow that names it in [`Flow::then`] ends (or, for [`When::Acked`], begins) there, and every
/// flow or step that it starts begins there, as in a real application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trigger {
    /// The host that observes the completions and acts.
    pub host: HostId,
    /// The number of completions that it needs.
    pub count: u32,
}

/// Work done inside a host, between flows: when it is ready it waits for its processor, takes `work`,
/// and then counts as a completion. It can only count towards triggers of its own host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The host that works.
    pub host: HostId,
    /// The time or trigger at which it is ready.
    pub start: Start,
    /// The time that it takes.
    pub work: Time,
    /// The processor that it occupies meanwhile, first come, first served. Without one it does not wait.
    pub cpu: Option<u16>,
    /// The trigger that its beginning counts towards.
    pub begun: Option<u32>,
    /// The trigger that its end counts towards.
    pub then: Option<u32>,
}

/// The end whose view of completion counts for a trigger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// The receiver has the last byte.
    Received,
    /// The sender has the last acknowledgement.
    Acked,
}

/// The role of a flow in the application.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Role {
    /// A separate transfer.
    #[default]
    Alone,
    /// A request for the flows of the exchange with this number.
    Request(u32),
    /// An answer, or a part of one: it counts towards the exchange with this number.
    Answer(u32),
    /// A notification for another host.
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
    /// The time or trigger at which it starts.
    pub start: Start,
    /// The trigger its completion counts towards.
    pub then: Option<(u32, When)>,
    /// A second trigger, at the sender, that counts when it has the last acknowledgement.
    pub also: Option<u32>,
    /// The workload of the scenario that made it. It groups results.
    pub group: u16,
    /// Its role in the application. It only affects results.
    pub role: Role,
}

/// The transport of a connection's flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Carrier {
    /// Reliable, congestion-controlled byte stream (the scheme's transport).
    Tcp,
    /// Datagrams at a given rate, without feedback. A message that exceeds one datagram is fragmented. It is lost
    /// if any fragment is lost.
    Udp {
        /// The rate on the wire while on. The host's link limits it.
        rate: Rate,
        /// Application message size in bytes.
        message: u32,
        /// The source sends for `on`, pauses for `off`, and so on. If `off` is zero, the rate is constant.
        on: Time,
        /// The pause of the cycle.
        off: Time,
        /// Poisson instead of evenly spaced packets.
        poisson: bool,
    },
}

/// Virtual machines at both ends of a connection, by their numbers on their hosts. Each pair is one V2V flow of XCo.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Machines {
    /// The number on the sending host.
    pub from: u16,
    /// The number on the receiving host.
    pub to: u16,
}

impl Machines {
    /// The machines of the reverse direction.
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
    /// The transport of its data.
    pub carrier: Carrier,
    /// Priority class of its packets, 0 to 7 (7 first).
    pub class: u8,
    /// The virtual machines that it connects.
    pub machines: Machines,
    /// First flow in [`Traffic::flows`].
    pub first: FlowId,
    /// Number of flows.
    pub count: u32,
    /// The key of its workload and of its place among the workload's connections between these two hosts. Hashes and
    /// random streams use it instead of numbers, which depend on other workloads.
    pub key: u64,
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
    /// The connections that their sender aborts this time after their start, if they are not done. They are sorted.
    pub cuts: Vec<(ConnId, Time)>,
}
