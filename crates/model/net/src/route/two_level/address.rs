//! Addresses of a fat-tree's switches and hosts (section 3.1.2).

use crate::error::SpecError;
use crate::id::{HostId, NodeId};
use crate::topology::{FatTreeSpec, TopologySpec};
use core::net::Ipv4Addr;

/// The position of a switch in a fat-tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// Edge switch `at` of a pod.
    Edge {
        /// The pod.
        pod: u32,
        /// Its index among the pod's edge switches.
        at: u32,
    },
    /// Aggregation switch `at` of a pod.
    Aggregation {
        /// The pod.
        pod: u32,
        /// Its index among the pod's aggregation switches.
        at: u32,
    },
    /// Core switch `at` of those linked to the aggregation switches `group` of all pods.
    Core {
        /// The aggregation switch of each pod that it is linked to.
        group: u32,
        /// Its index among those.
        at: u32,
    },
}

/// The addresses of a fat-tree: 10.pod.switch.1 for switches of pods, 10.k.j.i for core switches (j and
/// i from 1), 10.pod.switch.id for hosts (id from 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    k: u32,
    hosts: u32,
}

/// The last byte of a host's address is at most this, because 255 is the broadcast address.
const LAST_ID: u32 = 254;
/// The first host's last byte.
pub(super) const FIRST_ID: u32 = 2;
/// The largest `k`: pods and switches are bytes, and 10.k is for core switches.
const MOST_K: u32 = 254;

impl Plan {
    /// A fat-tree of `k`-port switches with `hosts` hosts at each edge switch (`k`/2, unless it is
    /// oversubscribed).
    ///
    /// # Errors
    /// `k` is odd or out of range, or the hosts do not fit into a subnet.
    pub fn new(k: u32, hosts: u32) -> Result<Plan, SpecError> {
        if !(2..=MOST_K).contains(&k) || !k.is_multiple_of(2) {
            let message = format!("`k` = {k}: addresses need an even number from 2 to {MOST_K}");
            return Err(SpecError::new("k", message));
        }
        let most = LAST_ID + 1 - FIRST_ID;
        if !(1..=most).contains(&hosts) {
            let message = format!(
                "{hosts} hosts per edge switch: two-level routing has addresses for 1 to {most}"
            );
            return Err(SpecError::new("oversubscription", message));
        }
        Ok(Plan { k, hosts })
    }

    /// The addresses of `fabric`.
    ///
    /// # Errors
    /// It is not a fat-tree, or its hosts have several cards, which would need several addresses.
    pub fn of(fabric: &TopologySpec) -> Result<Plan, SpecError> {
        match fabric {
            TopologySpec::FatTree(FatTreeSpec { nics: 1, k, oversubscription, .. }) => {
                Plan::new(*k, k / 2 * oversubscription)
            }
            TopologySpec::FatTree(spec) => {
                let message =
                    format!("hosts have {} cards: two-level routing supports only one", spec.nics);
                Err(SpecError::new("nics", message))
            }
            _ => Err(SpecError::new(
                "kind",
                "two-level routing needs a fat-tree: kind = \"fat-tree\"",
            )),
        }
    }

    /// Ports per switch.
    pub fn k(&self) -> u32 {
        self.k
    }
    /// Half of the ports per switch.
    pub fn half(&self) -> u32 {
        self.k / 2
    }
    /// Hosts at each edge switch.
    pub fn hosts_per_edge(&self) -> u32 {
        self.hosts
    }
    /// All hosts.
    pub fn hosts(&self) -> u32 {
        self.k * self.half() * self.hosts
    }

    /// All switches, in the order of a fat-tree's nodes: the edge and then the aggregation switches of each pod, then
    /// the core switches.
    pub fn places(&self) -> impl Iterator<Item = Place> + use<> {
        let (k, half) = (self.k, self.k / 2);
        let pod = move |pod| {
            let edges = (0..half).map(move |at| Place::Edge { pod, at });
            edges.chain((0..half).map(move |at| Place::Aggregation { pod, at }))
        };
        let core = move |group| (0..half).map(move |at| Place::Core { group, at });
        (0..k).flat_map(pod).chain((0..half).flat_map(core))
    }

    /// Its node in the graph of such a fat-tree.
    pub fn node(&self, place: Place) -> NodeId {
        let half = self.half();
        let pod_nodes = half * self.hosts + self.k;
        NodeId(match place {
            Place::Edge { pod, at } => pod * pod_nodes + half * self.hosts + at,
            Place::Aggregation { pod, at } => pod * pod_nodes + half * (self.hosts + 1) + at,
            Place::Core { group, at } => self.k * pod_nodes + group * half + at,
        })
    }

    /// Its name in the graph of such a fat-tree.
    pub fn name(&self, place: Place) -> String {
        match place {
            Place::Edge { pod, at } => format!("edge{pod}.{at}"),
            Place::Aggregation { pod, at } => format!("agg{pod}.{at}"),
            Place::Core { group, at } => format!("core{}", group * self.half() + at),
        }
    }

    /// The address of a switch.
    pub fn switch(&self, place: Place) -> Ipv4Addr {
        match place {
            Place::Edge { pod, at } => address(pod, at, 1),
            Place::Aggregation { pod, at } => address(pod, self.half() + at, 1),
            Place::Core { group, at } => address(self.k, group + 1, at + 1),
        }
    }

    /// The address of a host.
    pub fn host(&self, host: HostId) -> Ipv4Addr {
        let edge = host.0 / self.hosts;
        address(edge / self.half(), edge % self.half(), host.0 % self.hosts + FIRST_ID)
    }

    /// The switch at the far end of port `port` of the switch at `place`; none if a host is there.
    pub fn behind(&self, place: Place, port: u32) -> Option<Place> {
        let half = self.half();
        match place {
            Place::Edge { pod, .. } => {
                port.checked_sub(self.hosts).map(|at| Place::Aggregation { pod, at })
            }
            Place::Aggregation { pod, at } => Some(match port.checked_sub(half) {
                None => Place::Edge { pod, at: port },
                Some(up) => Place::Core { group: at, at: up },
            }),
            Place::Core { group, .. } => Some(Place::Aggregation { pod: port, at: group }),
        }
    }
}

/// 10.a.b.c. The numbers are below 256.
pub(super) fn address(a: u32, b: u32, c: u32) -> Ipv4Addr {
    Ipv4Addr::from(10 << 24 | a << 16 | b << 8 | c)
}
