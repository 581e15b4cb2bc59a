//! The network of an arbiter that discovers it.

use super::Arbiter;
use crate::agent::MakeNode;
use crate::clock::Local;
use crate::discovery::{Discovered, Discovery};
use crate::parts::Parts;
use crate::status::TopologyStatus;
use slotline_net::topology::Wire;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, TryRecvError};

/// An arbiter's part of a network.
pub struct Assembled {
    /// The links of its node.
    pub wires: Vec<Wire>,
    /// The names of links and switches.
    pub parts: Parts,
    /// Makes the node.
    pub make: MakeNode,
    /// The scenario with this network, and the name of the scheme.
    pub scenario: (String, String),
}

/// Makes an arbiter's part of a network that was discovered; or says why the scheme cannot run there.
pub type Assemble = Arc<dyn Fn(&Discovered) -> Result<Assembled, String> + Send + Sync>;

/// The answer of a thread that assembles a network.
type Assembling = Receiver<Result<Assembled, String>>;

/// What is known of a network that is discovered.
pub(super) struct Topology {
    pub(super) discovery: Discovery,
    assemble: Assemble,
    /// The network that is being assembled. That may take longer than an arbiter should be silent.
    next: Option<(Discovered, Assembling)>,
    /// The network of the node, and how often it has changed.
    network: Option<Discovered>,
    changes: u64,
    /// The numbers of hosts that are no part of it.
    outside: BTreeMap<u32, String>,
    /// Why the scheme cannot run on the latest network.
    fault: Option<String>,
}

impl Topology {
    pub(super) fn new(mut discovery: Discovery, assemble: Assemble, now: Local) -> Topology {
        discovery.begin(now);
        let (network, outside) = (None, BTreeMap::new());
        Topology { discovery, assemble, next: None, network, changes: 0, outside, fault: None }
    }
    /// Whether a host is no part of the network.
    pub(super) fn is_outside(&self, host: u32) -> bool {
        self.outside.contains_key(&host)
    }
    pub(super) fn status(&self) -> TopologyStatus {
        let missing = &self.discovery.survey().missing;
        TopologyStatus {
            known: self.network.is_some(),
            cables: self.network.as_ref().map_or(0, |of| of.cables.len()),
            changes: self.changes,
            missing: self.fault.iter().chain(missing).cloned().collect(),
        }
    }

    /// A network that is ready. Begins to assemble the next one.
    fn ready(&mut self, now: Local) -> Option<Assembled> {
        let done = self.next.as_ref().map(|(_, assembling)| assembling.try_recv());
        let assembled = match done {
            Some(Err(TryRecvError::Empty)) => return None,
            Some(Ok(Ok(assembled))) => Some(assembled),
            Some(Ok(Err(why))) => self.refused(why),
            Some(Err(TryRecvError::Disconnected)) => self.refused("it cannot be assembled".into()),
            None => {
                self.next = self.discovery.take(now).map(|network| self.begin(network));
                None
            }
        };
        if assembled.is_some() {
            self.use_next();
        }
        assembled
    }

    fn begin(&self, network: Discovered) -> (Discovered, Assembling) {
        let (sender, receiver) = mpsc::channel();
        let (assemble, asked) = (Arc::clone(&self.assemble), network.clone());
        // Nobody waits for it any more if the daemon has ended.
        std::thread::spawn(move || _ = sender.send(assemble(&asked)));
        (network, receiver)
    }

    /// The scheme cannot run there. The last network remains.
    fn refused(&mut self, why: String) -> Option<Assembled> {
        (self.next, self.fault) = (None, Some(why));
        None
    }

    fn use_next(&mut self) {
        let Some((network, _)) = self.next.take() else { return };
        self.changes += u64::from(self.network.is_some());
        self.outside = network.outside.iter().cloned().collect();
        (self.network, self.fault) = (Some(network), None);
    }
}

impl Arbiter {
    /// Whether the network is known on which the node is to run.
    pub(super) fn knows_network(&self) -> bool {
        self.topology.as_ref().is_none_or(|topology| topology.network.is_some())
    }

    /// Begins anew on another network, if there is one.
    pub(super) fn follow_topology(&mut self, now: Local) {
        let Some(topology) = &mut self.topology else { return };
        let Some(assembled) = topology.ready(now) else { return };
        let Assembled { wires, parts, make, scenario } = assembled;
        let setup = &mut self.setup;
        (setup.wires, setup.parts, setup.make, setup.scenario) = (wires, parts, make, scenario);
        self.begin_anew("cables have changed: the log is complete");
    }

    /// Replaces the node by a new one, in the same term: as a controller that has failed and starts again.
    pub(super) fn begin_anew(&mut self, why: &str) {
        self.spare = None;
        self.prepare();
        if self.seat.is_some() {
            self.end_node(why);
        }
    }
}
