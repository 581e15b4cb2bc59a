//! What a central scheme adds to a network: its stations, and an agent in every host.

use super::Control;
use super::fit::{Activity, Conditions, Proposal};
use super::map::Map;
use super::network::Network;
use crate::error::SpecError;
use crate::id::{HostId, NodeId, PortId};
use crate::node::Node;
use crate::node::agent::Agent;
use crate::node::host::{Plan, Spread};
use crate::node::reserve::Reserve;
use crate::node::switch::Switch;
use crate::route::{Routes, RoutingSpec};
use crate::time::Time;
use crate::topology::{Graph, Link, LinkParams, NodeKind, Wiring};
use std::sync::Arc;

/// Makes a central scheduler for a network.
#[derive(Clone)]
pub struct MakeControl(Arc<dyn Fn(Network) -> Box<dyn Control> + Send + Sync>);

impl MakeControl {
    /// `make` is called for each run, and again when the station of the scheduler restarts.
    pub fn new<C: Control + 'static>(
        make: impl Fn(Network) -> C + Send + Sync + 'static,
    ) -> MakeControl {
        MakeControl(Arc::new(move |network| Box::new(make(network))))
    }
    /// A fresh scheduler.
    pub fn control(&self, network: Network) -> Box<dyn Control> {
        (self.0)(network)
    }
}

impl std::fmt::Debug for MakeControl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MakeControl")
    }
}

/// Makes a station's node: once at the start, and again each time it restarts, without any memory.
pub type MakeNode = Box<dyn Fn() -> Box<dyn Node> + Send>;

/// A host of the scheme's own: a controller, arbiter or fabric manager.
#[derive(Clone, PartialEq, Debug)]
pub struct Station {
    /// Its name: scenarios' events name it by this.
    pub name: String,
    /// The switch it is attached to.
    pub switch: NodeId,
    /// Its link, both ways.
    pub lane: LinkParams,
}

/// The network that a scheme is put into. Stations are attached: they are its last hosts.
pub struct Surroundings<'a> {
    /// The network, stations included.
    pub graph: &'a Graph,
    /// The same, seen from its ports.
    pub wiring: &'a Wiring,
    /// Routes at the start.
    pub routes: &'a Arc<Routes>,
    /// Traffic and transport.
    pub plan: &'a Arc<Plan>,
    /// The stations, in the order of [`System::stations`].
    pub stations: &'a [HostId],
    /// The seed of the run.
    pub seed: u64,
    /// What distinguishes the starts of a real machine's process; 0 in simulation.
    pub incarnation: u64,
}

/// A central scheme, checked and ready to be put into networks.
pub trait System {
    /// The stations it needs in `graph`.
    ///
    /// # Errors
    /// The scheme cannot work on this network.
    fn stations(&self, graph: &Graph) -> Result<Vec<Station>, SpecError>;
    /// What runs on station number `at`.
    ///
    /// # Errors
    /// The scheme cannot work in these surroundings.
    fn station(&self, at: usize, around: &Surroundings<'_>) -> Result<MakeNode, SpecError>;
    /// What holds the packets of `host` back, which is no station.
    ///
    /// # Errors
    /// The scheme cannot work in these surroundings.
    fn agent(&self, host: HostId, around: &Surroundings<'_>) -> Result<Box<dyn Agent>, SpecError>;
    /// The routing it needs, where it does not leave the choice to the scenario: one whose agents
    /// choose paths needs [`RoutingSpec::Pinned`].
    fn routing(&self) -> Option<RoutingSpec> {
        None
    }
    /// Whether an agent in every host holds packets back ([`System::agent`]).
    fn has_agents(&self) -> bool {
        true
    }
    /// Whether it decides when packets leave hosts. Then hosts take no longer to react than without paths.
    fn times_packets(&self) -> bool {
        self.has_agents()
    }
    /// How packets are spread over equal paths. `by_routing` is what the routing says; `None` where it
    /// leaves that to the scheme.
    fn spread(&self, by_routing: Option<Spread>) -> Spread {
        by_routing.unwrap_or(Spread::PerPair)
    }
    /// The switches that the scheme uses in place of the network's own.
    fn switches(&self) -> Option<&dyn SchemeSwitches> {
        None
    }
    /// How long the schedule is recorded in a run of which no flow is followed, so that it has at most
    /// about `entries` entries.
    fn recorded_span(&self, _entries: u64) -> Time {
        Time::ZERO
    }
    /// The class that has a share of each port before all others, where it needs one.
    ///
    /// # Errors
    /// The scheme cannot work in these surroundings.
    fn reserve(&self, _around: &Surroundings<'_>) -> Result<Option<Reserve>, SpecError> {
        Ok(None)
    }
    /// A value for each of its periods that fits a network and its traffic. The periods that are given need not fit.
    fn proposals(&self, _conditions: &Conditions) -> Vec<Proposal> {
        Vec::new()
    }
    /// The counters that say what it did in a run.
    fn activity(&self) -> Activity {
        Activity::default()
    }
    /// What an engine without packets needs to run the scheme on `network`, whose routes are those of
    /// [`System::routing`]; `None` for a scheme that decides about packets.
    ///
    /// # Errors
    /// The scheme cannot work on this network.
    fn per_flow(&self, _network: &Network, _seed: u64) -> Result<Option<PerFlow>, SpecError> {
        Ok(None)
    }
}

/// The switches of a scheme that replaces those of the network, and routes by itself when links fail.
pub trait SchemeSwitches {
    /// The node at `place`, which is no host.
    fn node(&self, place: &SwitchPlace<'_>) -> Box<dyn Node>;
    /// Whether the queue of this port is the one that the scenario gives the scheme.
    fn has_plain_queue(&self, node: NodeId, port: PortId) -> bool;
    /// Whether the node is asked for packets at this port; other ports are FIFOs.
    fn pulls(&self, node: NodeId, port: PortId) -> bool;
    /// Whether `link` carries the scheme's messages alone: it does not fail with a switch.
    fn carries_messages(&self, link: &Link) -> bool;
}

/// Where a switch of a scheme is.
pub struct SwitchPlace<'a> {
    /// Its node in the network.
    pub node: NodeId,
    /// Makes the switch that the network would have here.
    pub ordinary: &'a dyn Fn() -> Switch,
    /// The network, seen from its ports.
    pub wiring: &'a Wiring,
    /// The largest packet in bytes on the wire.
    pub mtu: u64,
    /// Traffic and transport.
    pub plan: &'a Arc<Plan>,
}

/// A scheme that decides about flows alone, for an engine without packets. Every `poll` the engine
/// says [`super::News::Flows`] for each host that has large flows, or had some in the poll before, then
/// calls [`Control::decide`] once; each [`super::Decision::Path`] is in force `computing` plus
/// `install` later. A connection without a decision takes the path of its hash.
pub struct PerFlow {
    /// The scheduler.
    pub control: Box<dyn Control>,
    /// Time between two polls of the edge switches.
    pub poll: Time,
    /// From which share of its host's link on a flow is large, by the bytes of a poll.
    pub threshold: f64,
    /// What deciding takes.
    pub computing: Time,
    /// From a decision that is known until switches follow it.
    pub install: Time,
}

impl Station {
    /// A station at the last switch (in trees, one of the uppermost), with a link like the first of the first host.
    pub fn uppermost(name: impl Into<String>, graph: &Graph) -> Result<Station, SpecError> {
        let lane = graph.first_lane();
        let switch = graph.nodes.iter().rposition(|node| node.kind == NodeKind::Switch);
        let (Some(lane), Some(switch)) = (lane, switch) else {
            return Err(SpecError::new(
                "control",
                "a central scheduler needs a fabric with a switch",
            ));
        };
        Ok(Station { name: name.into(), switch: NodeId(switch as u32), lane })
    }
}

impl Surroundings<'_> {
    /// Hosts that are not stations.
    pub fn hosts(&self) -> usize {
        self.graph.hosts.len() - self.stations.len()
    }
    /// What a scheduler knows, as it is at the start.
    pub fn map(&self) -> Map {
        Map::new(
            self.graph.nodes.len(),
            self.graph.hosts.len(),
            self.wiring,
            self.routes,
            self.seed,
        )
    }
    /// What a scheduler knows: directed links, and the path that packets of each pair of hosts take
    /// where hosts leave it to equal-cost multipath by pairs.
    pub fn network(&self) -> Network {
        self.map().network()
    }
}
