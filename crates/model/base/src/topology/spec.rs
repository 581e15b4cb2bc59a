//! The settings of the fabric of a scenario.

use super::{Down, FatTreeSpec, Graph, GraphSpec, HybridSpec, LeafSpineSpec, StarSpec, TreeSpec};
use crate::error::SpecError;
use crate::id::NodeId;
use crate::time::Time;
use crate::units::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The settings of a fabric of one kind.
///
/// A new kind is one file with its settings and this trait, and one line in the list below.
pub(super) trait Topology {
    /// The network, before the overrides.
    fn build(&self) -> Result<Graph, SpecError>;
    /// The links that differ from the rest.
    fn overrides(&self) -> &[LinkOverride] {
        &[]
    }
}

/// Makes the kinds of fabrics from a list of names and settings.
macro_rules! topologies {
    ($($(#[$comment:meta])* $name:ident($settings:ty),)*) => {
        /// A fabric.
        #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        pub enum TopologySpec {
            $($(#[$comment])* $name($settings),)*
        }

        impl TopologySpec {
            fn settings(&self) -> &dyn Topology {
                match self { $(TopologySpec::$name(settings) => settings,)* }
            }
        }
    };
}

topologies! {
    /// Hosts around one switch.
    Star(StarSpec),
    /// Racks, or rows of racks, under one core switch, oversubscribed as given.
    Tree(TreeSpec),
    /// The k-ary fat-tree, for any even k.
    ///
    /// Source: Al-Fares, Loukissas and Vahdat, "A Scalable, Commodity Data Center Network
    /// Architecture", SIGCOMM 2008, section 2.2.
    FatTree(FatTreeSpec),
    /// Every leaf switch linked to every spine switch.
    ///
    /// Source: Alizadeh and Edsall, "On the Data Path Performance of Leaf-Spine Datacenter
    /// Fabrics", HOTI 2013.
    LeafSpine(LeafSpineSpec),
    /// Racks joined by a packet switch, by circuit switches that reconfigure repeatedly, or by both.
    ///
    /// Source: "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018,
    /// section 2.1.
    Hybrid(HybridSpec),
    /// Any network, by its hosts, switches and links, or from a file.
    Graph(GraphSpec),
}

impl TopologySpec {
    /// The network. Hosts are numbered pod by pod, and so are nodes: the hosts of a pod, then its switches.
    /// Switches above the pods come last.
    ///
    /// # Errors
    /// A setting is out of range, or an override names no link.
    pub fn build(&self) -> Result<Graph, SpecError> {
        let settings = self.settings();
        let mut graph = settings.build()?;
        settings.overrides().iter().try_for_each(|change| change.apply(&mut graph))?;
        graph.validate()?;
        Ok(graph)
    }

    /// The settings of the hybrid fabric, if this is one.
    pub fn hybrid(&self) -> Option<&HybridSpec> {
        match self {
            TopologySpec::Hybrid(spec) => Some(spec),
            _ => None,
        }
    }

    /// The circuit switches of the fabric.
    pub fn circuit_switches(&self) -> Vec<NodeId> {
        let roles = self.hybrid().map(HybridSpec::roles);
        roles.map_or(Vec::new(), |roles| roles.circuit_switches().collect())
    }

    /// Whether it is a hybrid fabric with a core behind its circuit switches.
    pub fn has_core(&self) -> bool {
        self.hybrid().is_some_and(|fabric| fabric.core.is_some())
    }
    /// The links and nodes that routes must avoid from the start: circuits.
    pub fn unrouted(&self) -> Down {
        self.hybrid().map(HybridSpec::roles).map_or(Down::default(), |roles| roles.unrouted())
    }
}

/// A link that differs from the rest of its fabric. `rate` and `delay` hold for both directions unless `reverse-rate`
/// or `reverse-delay` gives another value for the reverse direction.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LinkOverride {
    /// The names of its two ends, `"h3-edge0.1"`: all parallel links between them, or with `#n` only
    /// the n-th, counted from 0.
    pub link: String,
    /// Rate from the first end to the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation delay from the first end to the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// Rate from the second end to the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_rate: Option<Rate>,
    /// Propagation delay from the second end to the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_delay: Option<Time>,
}

impl LinkOverride {
    fn apply(&self, graph: &mut Graph) -> Result<(), SpecError> {
        if self.rate == Some(Rate(0)) || self.reverse_rate == Some(Rate(0)) {
            return self.fail("has a rate of zero: it must be above zero, for example \"10Gbps\"");
        }
        let found = graph.links_named(&self.link);
        if found.is_empty() {
            return self.fail(&hint(graph, &self.link));
        }
        for (link, flipped) in found {
            let link = &mut graph.links[link];
            let (there, back) =
                if flipped { (&mut link.ba, &mut link.ab) } else { (&mut link.ab, &mut link.ba) };
            there.rate = self.rate.unwrap_or(there.rate);
            there.delay = self.delay.unwrap_or(there.delay);
            back.rate = self.reverse_rate.or(self.rate).unwrap_or(back.rate);
            back.delay = self.reverse_delay.or(self.delay).unwrap_or(back.delay);
        }
        Ok(())
    }

    fn fail(&self, why: &str) -> Result<(), SpecError> {
        Err(SpecError::new("overrides", format!("the override of link `{}` {why}", self.link)))
    }
}

/// The rest of the error for a name that is no link. It suggests links of a node that the name contains.
fn hint(graph: &Graph, name: &str) -> String {
    let known = name.split(['-', '#']).find_map(|end| graph.node_named(end.trim()));
    let Some(near) = known.or(graph.hosts.first().copied()) else {
        return "names no link: the fabric has neither hosts nor links".into();
    };
    let mut links: Vec<String> = (graph.wiring().of(near).iter())
        .map(|wire| {
            format!("`{}-{}`", graph.nodes[near.at()].name, graph.nodes[wire.far.node.at()].name)
        })
        .collect();
    links.dedup();
    links.truncate(8);
    format!("names no link: write the names of its two ends, for example {}", links.join(", "))
}

pub(super) fn default_rate() -> Rate {
    Rate(10_000_000_000)
}

pub(super) fn default_delay() -> Time {
    Time::us(1)
}

pub(super) fn one() -> u32 {
    1
}
