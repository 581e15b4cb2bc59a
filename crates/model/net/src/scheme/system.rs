//! The parts that a central scheme adds to a network: its stations, and an agent in every host.

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
use std::collections::BTreeMap;
use std::sync::Arc;

/// Makes a central scheduler for a network.
#[derive(Clone)]
pub struct MakeControl(Arc<dyn Fn(Network) -> Box<dyn Control> + Send + Sync>);

impl MakeControl {
    /// `make` is called for each run, and again when the scheduler's station restarts.
    pub fn new<C: Control + 'static>(
        make: impl Fn(Network) -> C + Send + Sync + 'static,
    ) -> MakeControl {
        MakeControl(Arc::new(move |network| Box::new(make(network))))
    }
    /// A new scheduler.
    pub fn control(&self, network: Network) -> Box<dyn Control> {
        (self.0)(network)
    }
}

impl std::fmt::Debug for MakeControl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MakeControl")
    }
}

/// Makes a station's node at the start, and again, without former state, each time it restarts.
pub type MakeNode = Box<dyn Fn() -> Box<dyn Node> + Send>;

/// A host of the scheme's own: a controller, arbiter or fabric manager.
#[derive(Clone, PartialEq, Debug)]
pub struct Station {
    /// Its name, also in the events of scenarios.
    pub name: String,
    /// The switch it is attached to.
    pub switch: NodeId,
    /// The parameters of its link, in both directions.
    pub lane: LinkParams,
}

/// A network of a scheme's own beside the network: one switch, which carries only the scheme's messages.
#[derive(Clone, PartialEq, Debug)]
pub struct ControlNetwork {
    /// The hosts and stations that it connects, each by its last port.
    pub members: Vec<HostId>,
    /// The parameters of each link, in both directions.
    pub lane: LinkParams,
}

/// The network in which a scheme runs. The stations are attached; they are its last hosts.
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
    /// A number that differs between starts of a real machine's process; 0 in simulation.
    pub incarnation: u64,
    /// Whether the driver elects the controller in charge of a scheme with a [`System::standby`], and runs its node alone.
    pub elected: bool,
}

/// Refuses networks that have hosts with several network cards.
///
/// # Errors
/// Such a network; `scheme` is the name of the scheme that it cannot have.
pub fn one_card_each(graph: &Graph, scheme: &str) -> Result<(), SpecError> {
    let ports = graph.ports();
    if graph.hosts.iter().all(|node| ports[node.at()] == 1) {
        return Ok(());
    }
    let message =
        format!("{scheme} schedules hosts with one network card: set nics = 1 in the fabric");
    Err(SpecError::new("control", message))
}

/// Checks that no host has a weight of zero.
///
/// # Errors
/// A host has, in the option `weights` of a scheme.
pub fn check_weights(weights: &BTreeMap<String, u32>) -> Result<(), SpecError> {
    let zero = weights.iter().find(|(_, weight)| **weight == 0);
    zero.map_or(Ok(()), |(host, _)| {
        let message = format!("host `{host}` has weight 0, but 1 is the least");
        Err(SpecError::new("weights", message))
    })
}

/// A central scheme. It is checked and ready for use in networks.
pub trait System {
    /// The stations it needs in `graph`.
    ///
    /// # Errors
    /// The scheme cannot work on this network.
    fn stations(&self, graph: &Graph) -> Result<Vec<Station>, SpecError>;
    /// Makes the node of station number `at`.
    ///
    /// # Errors
    /// The scheme cannot work in these surroundings.
    fn station(&self, at: usize, around: &Surroundings<'_>) -> Result<MakeNode, SpecError>;
    /// The agent that holds back the packets of `host`, which is not a station.
    ///
    /// # Errors
    /// The scheme cannot work in these surroundings.
    fn agent(&self, host: HostId, around: &Surroundings<'_>) -> Result<Box<dyn Agent>, SpecError>;
    /// The control network that it needs beside `graph`, which has its `stations`.
    fn control_network(&self, _graph: &Graph, _stations: &[HostId]) -> Option<ControlNetwork> {
        None
    }
    /// Checks that the agents of hosts need to know no more of a network than its hosts and the rates of their links. Then only
    /// controllers begin anew when cables of a real network change.
    ///
    /// # Errors
    /// They need more; the error says what has to be given instead.
    fn check_discovery(&self) -> Result<(), SpecError> {
        let what = "this scheme needs the network of a scenario: one that is discovered suits fastpass, tdma and xco";
        Err(SpecError::new("control", what))
    }
    /// The routing that it needs; `None` if the scenario may choose. A scheme whose agents choose paths needs
    /// [`RoutingSpec::Pinned`].
    fn routing(&self) -> Option<RoutingSpec> {
        None
    }
    /// Whether it controls `host`. Other hosts have no agent, and send as without a scheme.
    fn controls(&self, _host: HostId) -> bool {
        true
    }
    /// Whether an agent in every host that it controls holds packets back ([`System::agent`]).
    fn has_agents(&self) -> bool {
        true
    }
    /// Whether it decides when packets leave hosts. If so, the paths do not determine the longest reaction time of
    /// hosts.
    fn times_packets(&self) -> bool {
        self.has_agents()
    }
    /// The shortest time for which it lets a host send to another one; `None` if it knows none.
    fn turn(&self) -> Option<Time> {
        None
    }
    /// Whether hosts know their slots some time before these begin.
    fn knows_slots(&self) -> bool {
        false
    }
    /// How long a real switch sends a flow on a path after the scheduler last chose it ([`System::edge`]); `None` if the
    /// scheme has no nodes for real switches.
    fn path_life(&self) -> Option<Time> {
        None
    }
    /// The node of a real switch, which reports its links and the flows of its hosts, and orders their paths; `None` if the
    /// scheme has no such nodes. The machine is the number of the switch in messages, and its hosts. Bytes that the kernel
    /// has counted for host n arrive at port 1 + n, messages of the scheduler at port 0. A datagram of 0 bytes that leaves
    /// is an order to send the connection `flow` on the path `entropy`. If `flow` is `u32::MAX`, it is an order for all
    /// packets to the host `dst` that have no other path, and the path `u16::MAX` ends it.
    fn edge(
        &self,
        _machine: (HostId, &[HostId]),
        _around: &Surroundings<'_>,
    ) -> Option<Box<dyn Node>> {
        None
    }
    /// How packets are spread over equal paths. `by_routing` is the choice of the routing; `None` if the routing leaves
    /// the choice to the scheme.
    fn spread(&self, by_routing: Option<Spread>) -> Spread {
        by_routing.unwrap_or(Spread::PerPair)
    }
    /// Whether it serves connections that are added while a run goes on.
    fn takes_new_flows(&self) -> bool {
        true
    }
    /// The switches that the scheme uses in place of the network's own.
    fn switches(&self) -> Option<&dyn SchemeSwitches> {
        None
    }
    /// How long the schedule is recorded in a run in which no flow is followed. The record then has at most about
    /// `entries` entries.
    fn recorded_span(&self, _entries: u64) -> Time {
        Time::ZERO
    }
    /// The class that gets a share of each port before all others, if the scheme needs one.
    ///
    /// # Errors
    /// The scheme cannot work in these surroundings.
    fn reserve(&self, _around: &Surroundings<'_>) -> Result<Option<Reserve>, SpecError> {
        Ok(None)
    }
    /// For each of its periods a value that fits a network and its traffic. The present values need not fit.
    fn proposals(&self, _conditions: &Conditions) -> Vec<Proposal> {
        Vec::new()
    }
    /// For a scheme with two controllers, of which one is in charge: how long that one may be silent, and the interval at
    /// which it shows that it works. A driver that elects the controller in charge runs the node of no other one.
    fn standby(&self) -> Option<(Time, Time)> {
        None
    }
    /// The counters that show what it did in a run.
    fn activity(&self) -> Activity {
        Activity::default()
    }
    /// The parts with which an engine without packets runs the scheme on `network`, whose routes are those of
    /// [`System::routing`]. `None` if the scheme decides about packets.
    ///
    /// # Errors
    /// The scheme cannot work on this network.
    fn per_flow(&self, _network: &Network, _seed: u64) -> Result<Option<PerFlow>, SpecError> {
        Ok(None)
    }
}

/// The switches of a scheme that replaces those of the network. They handle failed links themselves.
pub trait SchemeSwitches {
    /// The node at `place`, which is not a host.
    fn node(&self, place: &SwitchPlace<'_>) -> Box<dyn Node>;
    /// The node at `place` if it is a machine of a real network: a switch that holds packets, or the scheduler of all.
    ///
    /// # Errors
    /// The scheme cannot work there.
    fn machine(&self, _place: &SwitchPlace<'_>) -> Result<Box<dyn Node>, SpecError> {
        Err(SpecError::new("control", "daemons cannot run the switches of this scheme"))
    }
    /// Whether the queue of this port is the one that the scenario gives for the scheme.
    fn has_plain_queue(&self, node: NodeId, port: PortId) -> bool;
    /// Whether the driver asks the node for packets at this port. Other ports are FIFOs.
    fn pulls(&self, node: NodeId, port: PortId) -> bool;
    /// Whether `link` carries only the scheme's messages. Such a link does not fail with a switch.
    fn carries_messages(&self, link: &Link) -> bool;
}

/// The place of a switch of a scheme.
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

/// A scheme that decides only about flows, for an engine without packets. After each `poll` the engine reports
/// [`super::News::Flows`] for each host that has large flows, or had some in the last poll. Then it calls
/// [`Control::decide`] once. Each [`super::Decision::Path`] takes effect after `computing` plus `install`. A connection
/// without a decision takes the path of its hash.
pub struct PerFlow {
    /// The scheduler.
    pub control: Box<dyn Control>,
    /// Time between two polls of the edge switches.
    pub poll: Time,
    /// The share of its host's link above which a flow is large, by its bytes in a poll.
    pub threshold: f64,
    /// The time to compute decisions.
    pub computing: Time,
    /// The time from a decision until switches follow it.
    pub install: Time,
}

impl Station {
    /// A station at the last switch, in trees one of the uppermost. Its link is like the first link of the first host.
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
    /// The hosts named in `weights`, which are an option of the scheme, with their weights.
    ///
    /// # Errors
    /// A name is not that of a host.
    pub fn weights(
        &self,
        weights: &BTreeMap<String, u32>,
    ) -> Result<Vec<(HostId, u32)>, SpecError> {
        let name = |host: &HostId| &self.graph.nodes[self.graph.hosts[host.at()].at()].name;
        let named = |(wanted, weight): (&String, &u32)| {
            let mut hosts = (0..self.hosts() as u32).map(HostId);
            let host = hosts.find(|host| name(host) == wanted);
            let unknown = || {
                let first = name(&HostId(0));
                let message =
                    format!("there is no host `{wanted}`: hosts have names like `{first}`");
                SpecError::new("weights", message)
            };
            Ok((host.ok_or_else(unknown)?, *weight))
        };
        weights.iter().map(named).collect()
    }
    /// The map of the network from which a scheduler's view is made, as it is at the start.
    pub fn map(&self) -> Map {
        Map::new(
            self.graph.nodes.len(),
            self.graph.hosts.len(),
            self.wiring,
            self.routes,
            self.seed,
        )
    }
    /// The view of a scheduler at the start: the directed links, and the path that packets of each pair of hosts take
    /// if hosts use equal-cost multipath by pairs.
    pub fn network(&self) -> Network {
        self.map().network()
    }
}
