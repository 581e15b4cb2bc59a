//! What the events of a scenario change in the nodes of a network, and when.

use super::Builder;
use super::presence::{Changes, presence};
use crate::recovery::{self, Ground};
use slotline_net::error::SpecError;
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::Change;
use slotline_net::route::Routes;
use slotline_net::route::recovery::LinkChange;
use slotline_net::time::Time;
use slotline_net::topology::{Down, End, Graph};
use slotline_net::units::Rate;
use slotline_scenario::{EventKind, EventSpec, Scenario};
use std::sync::Arc;

/// For each link, whether its rate changes in the run.
pub(super) fn changing_links(graph: &Graph, events: &[EventSpec]) -> Result<Vec<bool>, SpecError> {
    let mut changing = vec![false; graph.links.len()];
    for event in events.iter().filter(|e| matches!(e.kind, EventKind::Rate { .. })) {
        for link in touched(graph, event)? {
            changing[link] = true;
        }
    }
    Ok(changing)
}

/// The links that an event affects.
fn touched(graph: &Graph, event: &EventSpec) -> Result<Vec<usize>, SpecError> {
    match &event.kind {
        EventKind::LinkDown { link }
        | EventKind::LinkUp { link }
        | EventKind::Rate { link, .. } => {
            let found = graph.links_named(link);
            let unknown =
                || SpecError::new("event.link", format!("no link `{link}` in this fabric"));
            if found.is_empty() {
                Err(unknown())
            } else {
                Ok(found.into_iter().map(|(at, _)| at).collect())
            }
        }
        EventKind::SwitchDown { switch } | EventKind::SwitchUp { switch } => {
            let unknown =
                || SpecError::new("event.switch", format!("no switch `{switch}` in this fabric"));
            let node = graph.node_named(switch).ok_or_else(unknown)?;
            let at = |link: &usize| graph.links[*link].ends().iter().any(|end| end.node == node);
            Ok((0..graph.links.len()).filter(at).collect())
        }
        EventKind::ControllerDown { .. }
        | EventKind::ControllerUp { .. }
        | EventKind::Leave { .. }
        | EventKind::Join { .. } => Ok(Vec::new()),
    }
}

impl Builder<'_> {
    /// The changes of nodes that the events of the scenario cause, with the new routes.
    pub(super) fn timeline(&self, scenario: &Scenario) -> Result<Changes, SpecError> {
        let (mut out, mut changes) = (Vec::new(), Vec::new());
        let mut down = Down::default();
        let events = &scenario.event;
        let moments = |event| EventSpec::moments(event).map(move |at| (at, event));
        let mut ordered: Vec<(Time, &EventSpec)> = events.iter().flat_map(moments).collect();
        ordered.sort_by_key(|(at, _)| *at);
        for (at, event) in ordered {
            if let Some(changes) = self.of_nodes(at, &event.kind) {
                out.extend(changes?);
                continue;
            }
            let mut links = touched(&self.graph, event)?;
            if let Some(switches) = self.scheme_switches() {
                links.retain(|&link| !switches.carries_messages(&self.graph.links[link]));
            }
            for end in links.iter().flat_map(|&link| self.graph.links[link].ends()) {
                out.push((at, end.node, change(&event.kind, end.port)));
            }
            if let EventKind::Rate { rate, .. } = event.kind {
                let changes = self.rate_changes(&links, rate);
                out.extend(changes.map(|(node, change)| (at, node, change)));
            }
            if !event.kind.changes_routes() || self.scheme_switches().is_some() {
                continue;
            }
            let fails =
                matches!(event.kind, EventKind::LinkDown { .. } | EventKind::SwitchDown { .. });
            if self.scheme.recovery.is_some() {
                changes.extend(links.into_iter().map(|link| LinkChange { at, link, up: !fails }));
                continue;
            }
            for link in links {
                if fails {
                    down.links.insert(link)
                } else {
                    down.links.remove(&link)
                };
            }
            let routes = Arc::new(Routes::build(&self.graph, self.routing, &down, self.seed));
            for node in 0..self.graph.nodes.len() as u32 {
                let change = Change::Routes(Arc::clone(&routes));
                out.push((at.after(event.reroute_after), NodeId(node), change));
            }
        }
        if let Some(spec) = &self.scheme.recovery {
            let end = scenario.end.at.unwrap_or(Time::MAX);
            let ground = Ground { graph: &self.graph, routing: self.routing, seed: self.seed, end };
            out.extend(recovery::follow(&ground, spec, &changes));
        }
        Ok(out)
    }

    /// The changes for an event of a controller or a host; `None` for an event of links or switches.
    fn of_nodes(&self, at: Time, kind: &EventKind) -> Option<Result<Changes, SpecError>> {
        match kind {
            EventKind::ControllerDown { controller } | EventKind::ControllerUp { controller } => {
                let station = self.station_named(controller).into_iter();
                Some(Ok(station.map(|node| (at, node, change(kind, PortId(0)))).collect()))
            }
            _ => presence(&self.graph, at, kind, self.largest()),
        }
    }

    /// Notifies all stations of the new rate of links.
    fn rate_changes(&self, links: &[usize], rate: Rate) -> impl Iterator<Item = (NodeId, Change)> {
        let ends: Vec<End> = links.iter().flat_map(|&at| self.graph.links[at].ends()).collect();
        let nodes: Vec<NodeId> =
            self.stations.iter().map(|host| self.graph.hosts[host.at()]).collect();
        nodes.into_iter().flat_map(move |node| {
            let ends = ends.clone();
            ends.into_iter().map(move |end| (node, Change::Elsewhere(end, rate)))
        })
    }

    /// The node of the station `name`; `None` if the scheme does not have it, so that nothing is stopped.
    fn station_named(&self, name: &str) -> Option<NodeId> {
        let nodes = self.stations.iter().map(|host| self.graph.hosts[host.at()]);
        nodes.into_iter().find(|node| self.graph.nodes[node.at()].name == name)
    }
}

fn change(kind: &EventKind, port: PortId) -> Change {
    match kind {
        EventKind::LinkDown { .. } | EventKind::SwitchDown { .. } => Change::Down(port),
        EventKind::LinkUp { .. } | EventKind::SwitchUp { .. } => Change::Up(port),
        EventKind::Rate { rate, .. } => Change::Rate(port, *rate),
        EventKind::ControllerDown { .. } => Change::Stop,
        EventKind::ControllerUp { .. } => Change::Restart,
        EventKind::Leave { .. } => Change::Leave,
        EventKind::Join { .. } => Change::Join,
    }
}
