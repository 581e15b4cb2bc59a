//! A switch that assigns flows to its equal ports by load, and rearranges some periodically.
//!
//! Source: Al-Fares, "Data center network architecture", sections 3.1.6 and 3.4.2, Figure 3.11.

use super::Choices;
use crate::error::SpecError;
use crate::frame::Packet;
use crate::id::{HostId, PortId};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The settings of switches that move flows under `routing = "classifier"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClassifierSpec {
    /// The time from one rearrangement to the next.
    pub period: Time,
    /// The largest number of flows that a switch moves each time.
    #[schemars(range(min = 0, max = 1000))]
    pub moves: u32,
}

impl Default for ClassifierSpec {
    fn default() -> ClassifierSpec {
        ClassifierSpec { period: Time::s(1), moves: 3 }
    }
}

impl ClassifierSpec {
    /// Checks the values.
    ///
    /// # Errors
    /// The period is zero, or too many flows are moved.
    pub fn check(&self) -> Result<(), SpecError> {
        if self.period == Time::ZERO {
            return Err(SpecError::new("period", "`period` is 0: for example \"1s\""));
        }
        if self.moves > 1_000 {
            let message = format!("`moves` is {}: at most 1000", self.moves);
            return Err(SpecError::new("moves", message));
        }
        Ok(())
    }
}

/// A flow without a packet for this many periods is removed. It may return on another port.
const FORGET_AFTER: u32 = 10;

/// The packets of one connection in one direction.
#[derive(Clone, Copy, Debug)]
struct Flow {
    port: PortId,
    /// Bytes since the last rearrangement.
    bytes: u64,
    /// Periods in a row without a packet.
    idle: u32,
}

/// The load of a port.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    /// The bytes of the last complete period.
    before: u64,
    /// The bytes since then.
    since: u64,
    flows: u32,
}

impl Load {
    /// The order of ports by load. The port with the smallest value is the least loaded.
    fn weight(&self) -> (u64, u32) {
        (self.before + self.since, self.flows)
    }
}

/// The state of one switch. It is soft state: if it is lost, the switch assigns its flows again.
#[derive(Clone, Debug, Default)]
pub struct Classifier {
    /// By connection and destination.
    flows: BTreeMap<(u32, HostId), Flow>,
    /// By port.
    loads: Vec<Load>,
}

impl Classifier {
    /// The state of a switch with `ports` ports.
    pub fn new(ports: usize) -> Classifier {
        Classifier { flows: BTreeMap::new(), loads: vec![Load::default(); ports] }
    }

    /// The port, one of `choices`, by which `packet` leaves: the port of its flow, or for its
    /// first packet the least loaded port. `None` means that there is no choice.
    pub fn port(&mut self, packet: &Packet, choices: Choices<'_>) -> Option<PortId> {
        let key = (packet.flow, packet.dst);
        let port = self.exit(key, choices)?;
        if choices.len() > 1 {
            self.carry(key, packet.len.into());
        }
        Some(port)
    }

    /// The port, one of `choices`, by which a flow leaves from now on. The key is its connection and destination.
    pub fn exit(&mut self, key: (u32, HostId), choices: Choices<'_>) -> Option<PortId> {
        if choices.len() < 2 {
            return choices.iter().next();
        }
        let known = self.flows.get(&key).map(|flow| flow.port);
        match known {
            Some(port) if choices.contains(port) => Some(port),
            _ => self.place(key, choices),
        }
    }

    /// Adds bytes to the counters of a flow, if it had a choice of ports.
    pub fn carry(&mut self, key: (u32, HostId), bytes: u64) {
        let Some(flow) = self.flows.get_mut(&key) else { return };
        (flow.bytes, flow.idle) = (flow.bytes + bytes, 0);
        self.loads[flow.port.at()].since += bytes;
    }

    /// Whether it has chosen a port for a flow.
    pub fn knows(&self, key: (u32, HostId)) -> bool {
        self.flows.contains_key(&key)
    }

    /// Assigns a flow to the least loaded of `choices`.
    fn place(&mut self, key: (u32, HostId), choices: Choices<'_>) -> Option<PortId> {
        let port = choices.iter().min_by_key(|port| self.loads[port.at()].weight())?;
        let old = self.flows.insert(key, Flow { port, bytes: 0, idle: 0 });
        if let Some(old) = old {
            self.loads[old.port.at()].flows -= 1;
        }
        self.loads[port.at()].flows += 1;
        Some(port)
    }

    /// Ends a period. It moves at most `moves` flows. Each time it moves the largest flow that reduces the difference
    /// between the most and the least loaded of the ports in use. `choices` returns those of a destination.
    pub fn rearrange<'a>(&mut self, moves: u32, choices: impl Fn(HostId) -> Choices<'a>) {
        let mut bytes: BTreeMap<PortId, u64> = BTreeMap::new();
        for (&(_, dst), flow) in &self.flows {
            choices(dst).iter().for_each(|port| _ = bytes.entry(port).or_default());
            *bytes.entry(flow.port).or_default() += flow.bytes;
        }
        for _ in 0..moves {
            if !self.shift(&mut bytes, &choices) {
                break;
            }
        }
        self.begin(&bytes);
    }

    /// Moves one flow from the most to the least loaded port. Returns whether there was one.
    fn shift<'a>(
        &mut self,
        bytes: &mut BTreeMap<PortId, u64>,
        choices: &impl Fn(HostId) -> Choices<'a>,
    ) -> bool {
        let most = bytes.iter().max_by_key(|(port, bytes)| (**bytes, Reverse(**port)));
        let least = bytes.iter().min_by_key(|(port, bytes)| (**bytes, **port));
        let (Some((&from, &high)), Some((&to, &low))) = (most, least) else { return false };
        let fits = |(key, flow): &(&(u32, HostId), &mut Flow)| {
            flow.port == from
                && flow.bytes > 0
                && flow.bytes < high - low
                && choices(key.1).contains(to)
        };
        let there = self.flows.iter_mut().filter(fits);
        // Among equal flows the first one.
        let largest = there.max_by_key(|(key, flow)| (flow.bytes, Reverse(**key)));
        let Some((_, flow)) = largest else { return false };
        flow.port = to;
        let moved = flow.bytes;
        bytes.insert(from, high - moved);
        bytes.insert(to, low + moved);
        self.loads[from.at()].flows -= 1;
        self.loads[to.at()].flows += 1;
        true
    }

    /// Begins the next period. `bytes` are the last loads of ports with the present assignment of flows.
    fn begin(&mut self, bytes: &BTreeMap<PortId, u64>) {
        for (port, load) in (0..).map(PortId).zip(&mut self.loads) {
            (load.before, load.since) = (bytes.get(&port).copied().unwrap_or(0), 0);
        }
        let loads = &mut self.loads;
        self.flows.retain(|_, flow| {
            flow.idle = if flow.bytes == 0 { flow.idle + 1 } else { 0 };
            flow.bytes = 0;
            let keep = flow.idle < FORGET_AFTER;
            loads[flow.port.at()].flows -= u32::from(!keep);
            keep
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::NodeId;
    use crate::route::{Routes, RoutingSpec};
    use crate::topology::{Down, FatTreeSpec, Graph, TopologySpec};
    use proptest::prelude::*;

    fn tree() -> (Graph, Routes) {
        let graph = TopologySpec::FatTree(FatTreeSpec::new(8)).build().unwrap();
        let routes = Routes::build(&graph, RoutingSpec::Classifier, &Down::default(), 1);
        (graph, routes)
    }
    /// `edge0.0`, whose ports 4 to 7 lead up.
    const EDGE: NodeId = NodeId(16);

    fn packet(flow: u32, dst: u32, len: u16) -> Packet {
        Packet { flow, dst: HostId(dst), len, ..Packet::default() }
    }

    struct Switch {
        state: Classifier,
        routes: Routes,
    }
    impl Switch {
        fn new() -> Switch {
            let (graph, routes) = tree();
            assert_eq!(graph.nodes[EDGE.at()].name, "edge0.0");
            Switch { state: Classifier::new(8), routes }
        }
        fn send(&mut self, flow: u32, dst: u32, len: u16) -> u16 {
            let choices = self.routes.choices(EDGE, HostId(dst));
            self.state.port(&packet(flow, dst, len), choices).unwrap().0
        }
        fn rearrange(&mut self, moves: u32) {
            self.state.rearrange(moves, |dst| self.routes.choices(EDGE, dst));
        }
    }

    #[test]
    fn a_flow_keeps_its_port_and_new_ones_go_where_least_is() {
        let mut switch = Switch::new();
        assert_eq!([1, 2, 3, 4].map(|flow| switch.send(flow, 100, 1500)), [4, 5, 6, 7]);
        assert_eq!(switch.send(2, 100, 1500), 5);
        // The least loaded port now; the first of several.
        assert_eq!(switch.send(5, 90, 100), 4);
        assert_eq!(switch.send(6, 90, 100), 6);
        assert_eq!(switch.send(7, 1, 1500), 1, "downwards there is no choice");
    }

    #[test]
    fn three_flows_at_most_move_and_the_largest_that_fit_first() {
        let mut switch = Switch::new();
        // Flows 0 to 3 hold the ports, then all others but the first stop.
        (0..4).for_each(|flow| _ = switch.send(flow, 100, 1500));
        switch.rearrange(3);
        let sizes = [(0, 900), (10, 700), (11, 300), (12, 200)];
        for (flow, _) in sizes.into_iter().skip(1) {
            switch
                .state
                .flows
                .insert((flow, HostId(100)), Flow { port: PortId(4), bytes: 0, idle: 0 });
            switch.state.loads[4].flows += 1;
        }
        sizes.iter().for_each(|(flow, len)| assert_eq!(switch.send(*flow, 100, *len), 4));
        switch.rearrange(3);
        // 2100 bytes against 0: flow 0 with 900 bytes is the largest below the difference. Then 1200 against 0: 700
        // bytes move. Then port 5 has most bytes, 900, and its only flow is not smaller than the difference.
        let ports = sizes.map(|(flow, _)| switch.state.flows[&(flow, HostId(100))].port.0);
        assert_eq!(ports, [5, 6, 4, 4]);
    }

    #[test]
    fn a_port_that_is_gone_is_left() {
        let mut switch = Switch::new();
        assert_eq!(switch.send(1, 100, 1500), 4);
        let graph = tree().0;
        let link = graph.link_named("edge0.0-agg0.0").unwrap();
        let down = Down { links: [link].into(), ..Down::default() };
        switch.routes = Routes::build(&graph, RoutingSpec::Classifier, &down, 1);
        assert_eq!(switch.send(1, 100, 1500), 5);
    }

    #[test]
    fn what_is_idle_is_forgotten() {
        let mut switch = Switch::new();
        switch.send(1, 100, 1500);
        (0..FORGET_AFTER).for_each(|_| switch.rearrange(3));
        assert_eq!(switch.state.flows.len(), 1, "the period with its packet does not count");
        switch.rearrange(3);
        assert!(switch.state.flows.is_empty());
        assert!(switch.state.loads.iter().all(|load| load.flows == 0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Rearranging never increases the difference between the most and the least loaded port. Without a limit of
        /// moves, it ends when no single move of a flow would reduce the difference.
        #[test]
        fn ports_become_more_even(
            flows in proptest::collection::vec((0..40u32, 16..128u32, 64..1500u16), 1..60),
        ) {
            let mut switch = Switch::new();
            for (flow, dst, len) in &flows {
                switch.send(*flow, *dst, *len);
            }
            let spread = |switch: &Switch, weight: &BTreeMap<(u32, HostId), u64>| {
                let mut by_port = BTreeMap::from([4, 5, 6, 7].map(|port| (port, 0)));
                for (key, bytes) in weight {
                    *by_port.get_mut(&switch.state.flows[key].port.0).unwrap() += bytes;
                }
                by_port
            };
            let weight: BTreeMap<_, _> =
                switch.state.flows.iter().map(|(key, flow)| (*key, flow.bytes)).collect();
            let width = |ports: &BTreeMap<u16, u64>| {
                ports.values().max().unwrap() - ports.values().min().unwrap()
            };
            let before = spread(&switch, &weight);
            switch.rearrange(1_000);
            let after = spread(&switch, &weight);
            prop_assert!(width(&after) <= width(&before), "{before:?} {after:?}");
            let (from, _) = after.iter().max_by_key(|(port, n)| (**n, Reverse(**port))).unwrap();
            let stuck = weight.iter().all(|(key, bytes)| {
                switch.state.flows[key].port.0 != *from || *bytes >= width(&after)
            });
            prop_assert!(stuck, "{after:?}");
        }
    }
}
