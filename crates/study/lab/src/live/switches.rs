//! Switches that send flows on paths: what their agents need, and what the scheduler's arbiter needs to know of them.

use super::{LiveNetwork, LiveNetworkError, belongs, system, unfit};
use crate::build::live::{self, EdgePart, Part};
use slotline_envelope::KeyPair;
use slotline_linux::flows::{FlowOptions, MOST_PATHS};
use slotline_linux::tags::TagOptions;
use slotline_live::agent::AgentSetup;
use slotline_live::channel::Peer;
use slotline_live::config::{Host, Switch, span};
use slotline_live::forwarding::Hosts;
use slotline_live::links::Links;
use slotline_live::role::{HostPaths, Prefix, Role, SwitchRole};
use slotline_net::id::{HostId, NodeId};
use slotline_net::route::RoutingSpec;
use slotline_net::scheme::system::System;
use slotline_net::time::Time;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// A switch that only forwards by tags counts no flows that it could forget.
pub(super) const UNUSED: Time = Time::s(1);

impl LiveNetwork {
    /// Whether agents of hosts choose the paths of packets, so that switches may forward by tags.
    pub(super) fn chooses(&self) -> bool {
        let system = system(&self.loaded, self.scheme);
        let pinned = |of: &dyn System| of.routing() == Some(RoutingSpec::Pinned);
        system.is_some_and(|of| of.times_packets() && pinned(&*of))
    }

    /// Checks that all switches that choose among paths forward by tags, if any does.
    pub(super) fn check_tags(&self, part: &Part) -> Result<(), LiveNetworkError> {
        if self.config.switch.is_empty() {
            return Ok(());
        }
        if let Some(switch) = self.config.switch.iter().find(|switch| !switch.hosts.is_empty()) {
            return unfit(format!(
                "`{}` has `hosts`, but under `{}` hosts have agents of their own: give each a [[host]] instead",
                switch.name,
                self.scheme()
            ));
        }
        self.check_rules(part)?;
        self.config.host.iter().try_for_each(|host| self.in_network(host).map(drop))?;
        let first = self.in_network(&self.config.host[0])?.is_ipv4();
        let other = |host: &&Host| self.in_network(host).is_ok_and(|of| of.is_ipv4() != first);
        if let Some(host) = self.config.host.iter().find(other) {
            return unfit(format!(
                "host `{}` has its first address within `network` in another family than `{}`: hosts probe paths to each \
                 other by these addresses",
                host.name, self.config.host[0].name
            ));
        }
        let named = |name: &str| self.config.switch.iter().any(|switch| switch.name == name);
        for (node, info) in (0..).map(NodeId).zip(&part.graph.nodes) {
            let edge = live::edge(&self.loaded, self.scheme, node);
            let chooses = info.tier > 0 && matches!(edge, Ok(Some(_)));
            if chooses && !named(&info.name) {
                return unfit(format!(
                    "switch `{}` chooses among paths and has no [[switch]]: either all such switches forward by tags, or none",
                    info.name
                ));
            }
        }
        Ok(())
    }

    /// How the packets of a host take paths, if switches forward by tags.
    pub(super) fn host_paths(
        &self,
        part: &Part,
        own: &Host,
    ) -> Result<Option<HostPaths>, LiveNetworkError> {
        let tagging = self.config.switch.first().filter(|_| self.config.discovery.is_none());
        let Some(switch) = tagging else { return Ok(None) };
        let paths = self.edge(switch, self.node(part, &switch.name)?)?.paths.len();
        let port = self.config.probe_port();
        let address = self.in_network(own)?;
        let mut peers = Vec::new();
        for host in self.config.host.iter().filter(|host| host.name != own.name) {
            let number = self.number(part, &host.name)?.0;
            let (address, key) = (SocketAddr::new(self.in_network(host)?, port), host.key);
            peers.push(Peer { number, address, key });
        }
        let tags = TagOptions {
            table: self.config.agent.queue,
            network: self.config.network.clone(),
            paths,
            mark: self.config.paths.mark,
            tagged: port,
        };
        Ok(Some(HostPaths { tags, address: SocketAddr::new(address, port), peers }))
    }

    /// The first address of a host within the network whose switches forward by tags.
    fn in_network(&self, host: &Host) -> Result<IpAddr, LiveNetworkError> {
        let networks: Vec<Prefix> =
            self.config.network.iter().filter_map(|text| Prefix::parse(text)).collect();
        let within = |of: &&IpAddr| networks.iter().any(|network| network.contains(**of));
        match host.address.iter().find(within) {
            Some(address) => Ok(*address),
            None => unfit(format!(
                "host `{}` has no address within `network`, through which its packets take paths",
                host.name
            )),
        }
    }

    /// How long switches use a path after the scheduler last chose it, if the scheme decides on paths.
    pub(super) fn path_life(&self) -> Option<Time> {
        system(&self.loaded, self.scheme)?.path_life()
    }

    /// Checks that the switches and the arbiter of the configuration are those of the scenario.
    pub(super) fn check_switches(&self) -> Result<(), LiveNetworkError> {
        let (scheme, config) = (self.scheme(), &self.config);
        let others = config.host.is_empty() && config.rack.is_empty() && config.network.is_empty();
        if config.switch.is_empty() || !others {
            return unfit(format!(
                "scheme `{scheme}` decides on paths: give a [[switch]] for each switch with several ports upwards, and no \
                 [[host]], no [[rack]] and no `network`"
            ));
        }
        let part = self.part(None)?;
        self.check_rules(&part)?;
        self.check_arbiters(&part)
    }

    /// Checks what the rules of switches are made of.
    fn check_rules(&self, part: &Part) -> Result<(), LiveNetworkError> {
        for switch in &self.config.switch {
            let node = self.node(part, &switch.name)?;
            self.own(part, switch, node)?;
            self.flows(part, switch, &self.edge(switch, node)?, Time::ZERO)?;
        }
        Ok(())
    }

    fn node(&self, part: &Part, name: &str) -> Result<NodeId, LiveNetworkError> {
        let switch = |node: &NodeId| part.graph.nodes[node.at()].tier > 0;
        match part.graph.node_named(name).filter(switch) {
            Some(node) => Ok(node),
            None => unfit(format!(
                "the fabric of {} has no switch `{name}`",
                self.config.scenario.display()
            )),
        }
    }

    /// The numbers of switches follow those of hosts and stations.
    pub(super) fn switch_number(&self, part: &Part, name: &str) -> Result<u32, LiveNetworkError> {
        if self.config.discovery.is_some() {
            return self.discovered_switch(part, name);
        }
        Ok(part.graph.hosts.len() as u32 + self.node(part, name)?.0)
    }

    /// The hosts at a switch.
    fn own(
        &self,
        part: &Part,
        switch: &Switch,
        node: NodeId,
    ) -> Result<Vec<HostId>, LiveNetworkError> {
        let wiring = part.graph.wiring();
        let host = |name: &String| {
            let host = self.number(part, name)?;
            let above = wiring.of(part.graph.hosts[host.at()])[0].far.node;
            match above == node {
                true => Ok(host),
                false => unfit(format!(
                    "`{}`: host `{name}` is at `{}` in the fabric",
                    switch.name,
                    part.graph.nodes[above.at()].name
                )),
            }
        };
        switch.hosts.keys().map(host).collect()
    }

    fn edge(&self, switch: &Switch, node: NodeId) -> Result<EdgePart, LiveNetworkError> {
        let part = live::edge(&self.loaded, self.scheme, node);
        match part.map_err(|error| self.loaded.blame(error))? {
            Some(part) => Ok(part),
            None => unfit(format!(
                "`{}` cannot choose among paths by their numbers: only switches with several equal ports upwards have a \
                 [[switch]], in fabrics whose paths lead up and down (fat-trees, leaf-spines, trees)",
                switch.name
            )),
        }
    }

    /// What the kernel of a switch counts, and its paths.
    fn flows(
        &self,
        part: &Part,
        switch: &Switch,
        edge: &EdgePart,
        life: Time,
    ) -> Result<FlowOptions, LiveNetworkError> {
        if edge.paths.len() > MOST_PATHS {
            return unfit(format!(
                "the fabric has {} paths between two hosts, but packets can have at most {MOST_PATHS} tags",
                edge.paths.len()
            ));
        }
        let names: Vec<&str> =
            edge.up.iter().map(|node| part.graph.nodes[node.at()].name.as_str()).collect();
        let up = names.iter().map(|name| switch.up.get(*name).filter(|to| !to.is_empty()).cloned());
        match up.collect::<Option<Vec<Vec<IpAddr>>>>() {
            Some(up) if switch.up.len() == names.len() => Ok(FlowOptions {
                table: self.config.agent.queue,
                hosts: switch.hosts.values().flatten().copied().collect(),
                up,
                paths: edge.paths.clone(),
                mark: self.config.paths.mark,
                idle: span(life),
            }),
            _ => unfit(format!(
                "`{}`: `up` needs the address of the router of each switch above, and of no other: {}",
                switch.name,
                names.join(", ")
            )),
        }
    }

    /// The switches as machines that an arbiter talks to.
    pub(super) fn switches(&self, part: &Part) -> Result<Vec<Peer>, LiveNetworkError> {
        let peer = |switch: &Switch| {
            let number = self.switch_number(part, &switch.name)?;
            Ok(Peer { number, address: self.config.socket(switch.address), key: switch.key })
        };
        self.config.switch.iter().map(peer).collect()
    }

    /// The switches that act for hosts.
    pub(super) fn acting(&self, part: &Part) -> Result<Links, LiveNetworkError> {
        let mut machines = BTreeMap::new();
        for switch in &self.config.switch {
            let machine = self.switch_number(part, &switch.name)?;
            for name in switch.hosts.keys() {
                machines.insert(self.number(part, name)?.0, machine);
            }
        }
        Ok(Links::acting(machines))
    }

    /// The host of each address.
    fn addresses(
        &self,
        part: &Part,
    ) -> Result<std::collections::HashMap<IpAddr, HostId>, LiveNetworkError> {
        let mut all = std::collections::HashMap::new();
        for (name, addresses) in self.config.switch.iter().flat_map(|switch| &switch.hosts) {
            let host = self.number(part, name)?;
            all.extend(addresses.iter().map(|address| (*address, host)));
        }
        Ok(all)
    }

    /// What the agent of a switch needs.
    pub(super) fn switch_agent(
        &self,
        life: Time,
        name: &str,
        key: KeyPair,
    ) -> Result<AgentSetup, LiveNetworkError> {
        let Some(switch) = self.config.switch.iter().find(|switch| switch.name == name) else {
            return unfit(format!("the configuration has no [[switch]] with the name `{name}`"));
        };
        belongs(&key, switch.key, &format!("switch `{name}`"))?;
        let part = self.part(None)?;
        let node = self.node(&part, name)?;
        let (own, edge) = (self.own(&part, switch, node)?, self.edge(switch, node)?);
        let (loaded, scheme, hosts) = (Arc::clone(&self.loaded), self.scheme, own.clone());
        let me = HostId(self.switch_number(&part, name)?);
        Ok(AgentSetup {
            me,
            key,
            address: self.config.socket(switch.address),
            arbiters: self.arbiters(&part),
            role: Role::Switch(SwitchRole {
                flows: self.flows(&part, switch, &edge, life)?,
                hosts: Hosts { all: self.addresses(&part)?, own },
                ports: edge.ports,
                expire: span(life),
                plan: edge.plan,
                links: self.acting(&part)?,
            }),
            wires: edge.wires,
            make: Box::new(move |_| live::edge_node(&loaded, scheme, me, &hosts)),
            agent: self.config.agent.clone(),
            clock: self.config.clock.clone(),
            digest: self.digest(),
            timeslots: None,
            wrong_cables: Default::default(),
            heard: None,
            lead: Duration::ZERO,
            elected: self.elected(part.stations.len()),
        })
    }
}
