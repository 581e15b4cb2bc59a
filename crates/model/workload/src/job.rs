//! The input of a generator: the fabric, the time, its random stream, and the traffic that it adds to.

use super::cdf::{self, Cdf, DISTRIBUTIONS};
use super::{Carrier, ConnHandle, Files, Hosts, Role, Start, TrafficBuilder, When};
use slotline_base::error::SpecError;
use slotline_base::id::{HostId, NodeId};
use slotline_base::rng::{Stream, pair_key};
use slotline_base::time::Time;
use slotline_base::topology::Graph;
use slotline_base::units::{Bytes, Rate};
use std::collections::BTreeMap;

/// The location of a host, for workloads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostLocation {
    /// Its pod.
    pub pod: u32,
    /// Its edge switch, or rack: the number of the first host there.
    pub edge: u32,
    /// The sum of the rates of its network cards.
    pub rate: Rate,
}

/// The hosts of a fabric, by [`HostId`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostMap {
    /// One entry per host.
    pub hosts: Vec<HostLocation>,
}

impl HostMap {
    /// The locations of the hosts of `graph`. A host with several links belongs to the edge switch of its first.
    pub fn of(graph: &Graph) -> HostMap {
        let nowhere = |&node: &NodeId| HostLocation {
            pod: graph.nodes[node.at()].pod,
            edge: u32::MAX,
            rate: Rate(0),
        };
        let mut by_node: Vec<Option<usize>> = vec![None; graph.nodes.len()];
        graph.hosts.iter().enumerate().for_each(|(host, node)| by_node[node.at()] = Some(host));
        let mut hosts: Vec<HostLocation> = graph.hosts.iter().map(nowhere).collect();
        for link in &graph.links {
            for (near, far, lane) in [(link.a, link.b, link.ab), (link.b, link.a, link.ba)] {
                let Some(host) = by_node[near.node.at()] else {
                    continue;
                };
                hosts[host].rate.0 = hosts[host].rate.0.saturating_add(lane.rate.0);
                if near.port.0 == 0 {
                    hosts[host].edge = far.node.0;
                }
            }
        }
        let mut first = BTreeMap::new();
        for (host, place) in (0..).zip(&mut hosts) {
            place.edge = *first.entry(place.edge).or_insert(host);
        }
        HostMap { hosts }
    }
}

/// The run a workload is generated for.
pub struct Setting<'a> {
    /// The fabric.
    pub fabric: &'a HostMap,
    /// The end of the run; [`Time::MAX`] if it ends with its last flow.
    pub horizon: Time,
    /// Seed of the run.
    pub seed: u64,
    /// The files named in specifications.
    pub files: &'a dyn Files,
}

/// One workload being generated.
pub struct Job<'a> {
    /// The run.
    pub setting: &'a Setting<'a>,
    /// Index of the workload in the scenario.
    pub group: u16,
    /// Its key, computed from its kind and its place among workloads of its kind.
    pub key: u64,
    /// The random numbers of this workload.
    pub rng: Stream,
    /// The traffic to which its connections and flows are added.
    pub out: &'a mut TrafficBuilder,
}

/// The start of a flow that follows `trigger` without delay.
pub(super) fn after(trigger: u32) -> Start {
    Start::After { trigger, delay: Time::ZERO }
}

impl Job<'_> {
    /// The location of a host.
    pub fn place(&self, host: HostId) -> HostLocation {
        self.setting.fabric.hosts[host.at()]
    }

    /// The host with the number `index`, which the option `key` gives.
    ///
    /// # Errors
    /// There is no such host.
    pub fn host(&self, key: &str, index: u32) -> Result<HostId, SpecError> {
        self.hosts(key, &Hosts::List(vec![(index, index)]), &[]).map(|_| HostId(index))
    }

    /// The hosts selected, without `taken`. The draw has a separate random stream for each key.
    pub fn hosts(
        &self,
        key: &str,
        hosts: &Hosts,
        taken: &[HostId],
    ) -> Result<Vec<HostId>, SpecError> {
        let mut rng = Stream::named(self.setting.seed, &format!("workload.{key}"), self.key);
        hosts.select(key, self.setting.fabric.hosts.len() as u32, taken, &mut rng)
    }

    /// Like [`Job::hosts`], for patterns that need at least two hosts.
    pub fn peers(&self, key: &str, hosts: &Hosts) -> Result<Vec<HostId>, SpecError> {
        match self.hosts(key, hosts, &[])? {
            two if two.len() >= 2 => Ok(two),
            _ => Err(SpecError::new(key, "one host: at least 2 are needed")),
        }
    }

    /// Senders and receivers. Unless receivers are listed, they are taken from the hosts that do not send.
    pub fn disjoint(
        &self,
        senders: &Hosts,
        receivers: &Hosts,
    ) -> Result<(Vec<HostId>, Vec<HostId>), SpecError> {
        let senders = self.hosts("senders", senders, &[])?;
        let taken = if matches!(receivers, Hosts::List(_)) { &[] } else { &senders[..] };
        let receivers = self.hosts("receivers", receivers, taken)?;
        Ok((senders, receivers))
    }

    /// Begins part `number` of the workload. Its random numbers and connections do not depend on those of other parts,
    /// so that a part that lasts longer changes nothing in the others.
    pub fn begin_part(&mut self, number: u64) {
        let part = pair_key(self.key, number);
        self.rng = Stream::named(self.setting.seed, "workload.part", part);
        self.out.begin_part(part);
    }

    /// A TCP connection of a priority class, 0 to 7.
    ///
    /// # Errors
    /// Both ends are one host, or there are too many connections.
    pub fn tcp(&mut self, src: HostId, dst: HostId, class: u8) -> Result<ConnHandle, SpecError> {
        self.out.connect(src, dst, Carrier::Tcp, class)
    }

    /// A flow of `bytes` on a connection. Its completion counts towards the trigger `then`.
    ///
    /// # Errors
    /// The flow has no bytes, or there are too many flows.
    pub fn send(
        &mut self,
        conn: ConnHandle,
        bytes: Bytes,
        start: Start,
        then: Option<(u32, When)>,
    ) -> Result<(), SpecError> {
        self.send_as(Role::Alone, conn, bytes, start, then)
    }

    /// Like [`Job::send`], for a flow that is part of an exchange.
    pub fn send_as(
        &mut self,
        role: Role,
        conn: ConnHandle,
        bytes: Bytes,
        start: Start,
        then: Option<(u32, When)>,
    ) -> Result<(), SpecError> {
        self.out.flow_as(role, conn, bytes.0, start, then, self.group)
    }

    /// The end of a workload that starts at `start`: `until` if it is given, but not later than the
    /// end of the run. `Time::MAX` is refused, because such a workload would be endless.
    pub fn end(&self, start: Time, until: Option<Time>) -> Result<Time, SpecError> {
        let end = until.unwrap_or(Time::MAX).min(self.setting.horizon);
        if end == Time::MAX {
            return Err(SpecError::new("until", "`until` is needed where the run has no end time"));
        }
        if end <= start {
            return Err(SpecError::new(
                "start",
                format!("`start` = {start}: the workload ends at {end}, before it starts"),
            ));
        }
        Ok(end)
    }

    /// The text of a file named in the specification.
    pub fn file(&self, key: &str, name: &str) -> Result<String, SpecError> {
        self.setting.files.text(name).map_err(|why| SpecError::new(key, format!("{name}: {why}")))
    }

    /// A published distribution, a size that all flows have, or a file.
    pub fn sizes(&mut self, key: &str, name: &str) -> Result<Cdf, SpecError> {
        let wrong = |why: String| SpecError::new(key, format!("{name}: {why}"));
        if let Ok(Bytes(size)) = name.parse() {
            return Cdf::constant(size).map_err(wrong);
        }
        if let Some(table) = cdf::published(name) {
            return Cdf::parse(table).map_err(|e| wrong(e.to_string()));
        }
        let known: Vec<&str> = DISTRIBUTIONS.iter().map(|(name, _)| *name).collect();
        let table = self.setting.files.text(name).map_err(|why| {
            wrong(format!("{why}; published distributions are {}", known.join(", ")))
        })?;
        let sizes = Cdf::parse(&table).map_err(|e| wrong(e.to_string()))?;
        self.out.note(format!("{name}: read as {}", sizes.scale().in_words()));
        Ok(sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_base::id::PortId;
    use slotline_base::topology::{End, Link, LinkParams, NodeInfo, NodeKind};

    #[test]
    fn a_shape_has_edges_pods_and_rates() {
        let node = |kind, pod| NodeInfo { name: String::new(), kind, tier: 0, pod };
        let end = |node, port| End { node: NodeId(node), port: PortId(port) };
        let lane = |gbps: u64| LinkParams { rate: Rate(gbps * 1_000_000_000), delay: Time::us(1) };
        let link = |a, b, up, down| Link { a, b, ab: lane(up), ba: lane(down) };
        let graph = Graph {
            nodes: vec![
                node(NodeKind::Switch, 0),
                node(NodeKind::Host, 5),
                node(NodeKind::Switch, 1),
            ],
            links: vec![link(end(0, 0), end(1, 0), 40, 10), link(end(1, 1), end(2, 0), 25, 1)],
            hosts: vec![NodeId(1)],
        };
        let shape = HostMap::of(&graph);
        assert_eq!(shape.hosts, [HostLocation { pod: 5, edge: 0, rate: Rate(35_000_000_000) }]);
    }
}
