//! The names that programs need most.

pub use crate::{Extensions, Loaded, Options, RunSet, Scenario, Summary};
pub use slotline_circuits::{CircuitTiming, Demand, Matching, Note, Scheduler, Week};
pub use slotline_net::aqm::{
    Arrival, Departure, Discipline, Guest, Program, QueueParams, Settings, Verdict,
};
pub use slotline_net::error::SpecError;
pub use slotline_net::id::{ConnId, FlowId, HostId, NodeId, PortId};
pub use slotline_net::rng::Stream;
pub use slotline_net::scheme::{Control, Decision, Network, News, Plan, Surroundings, System};
pub use slotline_net::time::Time;
pub use slotline_net::topology::{Graph, TopologySpec};
pub use slotline_net::transport::congestion::{Ack, Congestion, Loss};
pub use slotline_net::units::{Bytes, InverseRate, Rate};
pub use slotline_net::workload::{Generate, Job, Start, Traffic, WorkloadSpec};
pub use slotline_scenario::metric::Metric;
