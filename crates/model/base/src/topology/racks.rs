//! Racks of a hybrid fabric that are given one by one, or that are those of another fabric.

use super::builder::positive;
use super::hybrid::MOST_HOSTS;
use super::{End, Graph, LinkParams, NodeKind};
use crate::error::SpecError;
use crate::id::NodeId;
use crate::time::Time;
use crate::units::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A rack of a hybrid fabric.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RackSpec {
    /// Names of its hosts.
    pub hosts: Vec<String>,
    /// Name of its switch. Default: `tor0`, `tor1`, … by its place in the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<String>,
    /// Rate of its hosts' links. Default: `host-rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_rate: Option<Rate>,
    /// Propagation delay of its hosts' links. Default: `host-delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_delay: Option<Time>,
}

/// How hosts of another fabric form racks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RacksOf {
    /// The hosts at a switch are a rack, and the switch keeps its name.
    Switches,
    /// The hosts of a pod are a rack.
    Pods,
}

impl RackSpec {
    pub(super) fn check(&self) -> Result<(), SpecError> {
        if let Some(rate) = self.host_rate {
            positive("host-rate", rate)?;
        }
        let hosts = self.hosts.len();
        if (1..=MOST_HOSTS as usize).contains(&hosts) {
            return Ok(());
        }
        let why = format!("a rack has {hosts} hosts: it has to have from 1 to {MOST_HOSTS}");
        Err(SpecError::new("hosts", why))
    }

    /// The links of its hosts, which are as `usual` if it does not say otherwise.
    pub(super) fn lane(&self, usual: LinkParams) -> LinkParams {
        let (rate, delay) = (self.host_rate, self.host_delay);
        LinkParams { rate: rate.unwrap_or(usual.rate), delay: delay.unwrap_or(usual.delay) }
    }
}

/// Where a host of another fabric is.
struct Place {
    /// The switch or the pod that stands for its rack.
    rack: u32,
    switch: NodeId,
    lane: LinkParams,
}

impl RacksOf {
    /// The racks of `graph`, with hosts of the same numbers.
    ///
    /// # Errors
    /// The hosts of a rack do not follow each other, their links differ, or a host has several.
    pub fn racks(self, graph: &Graph) -> Result<Vec<RackSpec>, SpecError> {
        let places = self.places(graph)?;
        let name = |host: usize| &graph.nodes[graph.hosts[host].at()].name;
        let mut racks: Vec<RackSpec> = Vec::new();
        let mut first: Vec<usize> = Vec::new();
        for (host, place) in places.iter().enumerate() {
            let found = first.iter().position(|&first| places[first].rack == place.rack);
            match found {
                None => {
                    first.push(host);
                    racks.push(self.rack(graph, place));
                }
                Some(rack) if rack + 1 < racks.len() => {
                    return Err(apart(name(first[rack]), name(host), name(first[rack + 1])));
                }
                Some(rack) if places[first[rack]].lane != place.lane => {
                    return Err(differ(name(first[rack]), name(host)));
                }
                Some(_) => {}
            }
            racks.last_mut().into_iter().for_each(|rack| rack.hosts.push(name(host).clone()));
        }
        Ok(racks)
    }

    /// An empty rack for hosts like this one.
    fn rack(self, graph: &Graph, place: &Place) -> RackSpec {
        let switch = match self {
            RacksOf::Switches => Some(graph.nodes[place.switch.at()].name.clone()),
            RacksOf::Pods => None,
        };
        let (host_rate, host_delay) = (Some(place.lane.rate), Some(place.lane.delay));
        RackSpec { hosts: Vec::new(), switch, host_rate, host_delay }
    }

    /// By host, where it is.
    fn places(self, graph: &Graph) -> Result<Vec<Place>, SpecError> {
        let mut places: Vec<Option<Place>> = graph.nodes.iter().map(|_| None).collect();
        for link in &graph.links {
            let is_host = |end: &End| graph.nodes[end.node.at()].kind == NodeKind::Host;
            let Some(host) = link.ends().into_iter().find(is_host) else { continue };
            let name = &graph.nodes[host.node.at()].name;
            let switch = if link.a == host { link.b.node } else { link.a.node };
            if link.ab != link.ba {
                return Err(wrong(format!("the directions of the link of host `{name}` differ")));
            }
            let pod = graph.nodes[host.node.at()].pod;
            let rack = if self == RacksOf::Pods { pod } else { switch.0 };
            let place = Place { rack, switch, lane: link.ab };
            if places[host.node.at()].replace(place).is_some() {
                return Err(wrong(format!("host `{name}` has several links")));
            }
        }
        let place = |node: &NodeId| {
            let name = &graph.nodes[node.at()].name;
            places[node.at()].take().ok_or_else(|| wrong(format!("host `{name}` has no link")))
        };
        graph.hosts.iter().map(place).collect()
    }
}

fn wrong(why: String) -> SpecError {
    let rule = "a rack of a `hybrid` fabric has hosts of consecutive numbers, each with one link, all alike";
    SpecError::new("racks-of", format!("{why}: {rule}; list the racks with `rack` instead"))
}

fn apart(first: &str, host: &str, other: &str) -> SpecError {
    wrong(format!("hosts `{first}` and `{host}` are in one rack, but `{other}` is between them"))
}

fn differ(first: &str, host: &str) -> SpecError {
    wrong(format!("the links of hosts `{first}` and `{host}` in one rack differ"))
}
