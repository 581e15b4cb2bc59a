//! Fastpass in a network: one or two arbiters, and an endpoint in every host.

use super::paths::Fabric;
use super::schedule::EmptySchedule;
use super::spec::Fastpass;
use super::timing::{Timing, lanes};
use crate::node::{Arbiter, Common, Endpoint, PathSwitch};
use slotline_net::error::SpecError;
use slotline_net::id::{HostId, NodeId};
use slotline_net::node::Node;
use slotline_net::node::agent::Agent;
use slotline_net::node::reserve::Reserve;
use slotline_net::route::RoutingSpec;
use slotline_net::scheme::system::{MakeNode, Station, Surroundings, System};
use slotline_net::scheme::{Activity, Conditions, Proposal};
use slotline_net::time::Time;
use slotline_net::topology::{Graph, NodeKind};
use std::sync::Arc;

impl Fastpass {
    fn common(&self, around: &Surroundings<'_>) -> Result<Common, SpecError> {
        Ok(Common {
            options: self.clone(),
            timing: Timing::new(self, around)?,
            hosts: around.hosts() as u32,
            arbiters: around.stations.to_vec(),
            seed: around.seed,
            incarnation: around.incarnation,
            elected: around.elected,
            // A driver that elects runs real machines.
            apart: around.elected,
            host_keys: around.graph.host_keys().into(),
        })
    }
}

impl System for Fastpass {
    fn proposals(&self, conditions: &Conditions) -> Vec<Proposal> {
        crate::fit::proposals(self.spec(), conditions)
    }
    fn standby(&self) -> Option<(Time, Time)> {
        let spec = self.spec();
        spec.secondary.then_some((spec.watchdog_timeout, spec.watchdog_interval))
    }
    fn activity(&self) -> Activity {
        crate::fit::ACTIVITY
    }
    /// By default a timeslot is as long as a packet.
    fn turn(&self) -> Option<Time> {
        self.spec().slot
    }
    /// The arbiters are attached like hosts: one to the first rack, one to the last.
    fn stations(&self, graph: &Graph) -> Result<Vec<Station>, SpecError> {
        let leaf = |(_, node): &(usize, &slotline_net::topology::NodeInfo)| {
            node.kind == NodeKind::Switch && node.tier == 1
        };
        let leaves: Vec<usize> =
            graph.nodes.iter().enumerate().filter(leaf).map(|(at, _)| at).collect();
        let lane = graph.first_lane();
        let (Some(mut lane), Some(&first), Some(&last)) = (lane, leaves.first(), leaves.last())
        else {
            return Err(SpecError::new("control", "fastpass needs a fabric with a switch"));
        };
        lane.rate = self.spec().arbiter_rate.unwrap_or(lane.rate);
        let station =
            |name: &str, at: usize| Station { name: name.into(), switch: NodeId(at as u32), lane };
        let mut stations = vec![station("arbiter", first)];
        if self.spec().secondary {
            stations.push(station("arbiter-secondary", last));
        }
        Ok(stations)
    }
    fn station(&self, at: usize, around: &Surroundings<'_>) -> Result<MakeNode, SpecError> {
        let common = self.common(around)?;
        let fabric = Arc::new(Fabric::new(around, common.timing.slowest)?);
        let empty = EmptySchedule::new(self, &fabric, &lanes(around)?)?;
        let rank = at as u8;
        Ok(Box::new(move || {
            let (fabric, empty) = (Arc::clone(&fabric), empty.clone());
            Box::new(Arbiter::new(common.clone(), rank, fabric, empty))
        }))
    }
    fn agent(&self, host: HostId, around: &Surroundings<'_>) -> Result<Box<dyn Agent>, SpecError> {
        let lanes = lanes(around)?[host.at()];
        Ok(Box::new(Endpoint::new(self.common(around)?, host, lanes)))
    }
    fn edge(
        &self,
        (me, _): (HostId, &[HostId]),
        around: &Surroundings<'_>,
    ) -> Option<Box<dyn Node>> {
        Some(Box::new(PathSwitch::new(self.common(around).ok()?, me)))
    }
    fn reserve(&self, around: &Surroundings<'_>) -> Result<Option<Reserve>, SpecError> {
        let (scheduled, messages) = self.classes();
        let reserve = Timing::new(self, around)?.reserve;
        Ok(scheduled.map(|_| Reserve::new(messages, reserve)))
    }
    /// Without `reserve`, timeslots depend on the links between switches.
    fn check_discovery(&self) -> Result<(), SpecError> {
        let what = "where the network is discovered, `reserve` has to be given, such as 0.06: without it, the reserve \
                    follows from a network that hosts do not know";
        match self.is_reserved() && self.spec().reserve.is_none() {
            true => Err(SpecError::new("control.reserve", what)),
            false => Ok(()),
        }
    }
    fn routing(&self) -> Option<RoutingSpec> {
        Some(RoutingSpec::Pinned)
    }
}
