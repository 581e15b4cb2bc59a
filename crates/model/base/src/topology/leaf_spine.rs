//! Leaf-spine: every leaf switch is linked to every spine switch.

use super::builder::{Builder, count, positive, size};
use super::spec::{LinkOverride, Topology, default_delay, default_rate, one};
use super::{Graph, LinkParams, NO_POD};
use crate::error::SpecError;
use crate::id::NodeId;
use crate::time::Time;
use crate::units::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Leaf switches (`leaf0`, …) with hosts, and spine switches (`spine0`, …). A pod is a leaf.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = crate::schema::keep_comment)]
pub struct LeafSpineSpec {
    /// Leaf switches.
    pub leaves: u32,
    /// Spine switches.
    pub spines: u32,
    /// Hosts at each leaf.
    pub hosts_per_leaf: u32,
    /// Rate of host links.
    #[serde(default = "default_rate")]
    pub host_rate: Rate,
    /// Rate of links between leaves and spines.
    #[serde(default = "default_rate")]
    pub uplink_rate: Rate,
    /// Parallel links between a leaf and a spine.
    #[serde(default = "one")]
    pub uplinks_per_spine: u32,
    /// Propagation delay of every link.
    #[serde(default = "default_delay")]
    pub delay: Time,
    /// Network cards per host. The first is linked to the host's own leaf, and each further one to the next leaf. The
    /// first leaf follows the last.
    #[serde(default = "one")]
    pub nics: u32,
    /// Links whose rate or delay differs.
    #[serde(default)]
    pub overrides: Vec<LinkOverride>,
}

impl LeafSpineSpec {
    /// A fabric of this size, with defaults for all other settings.
    pub fn new(leaves: u32, spines: u32, hosts_per_leaf: u32) -> LeafSpineSpec {
        LeafSpineSpec {
            leaves,
            spines,
            hosts_per_leaf,
            host_rate: default_rate(),
            uplink_rate: default_rate(),
            uplinks_per_spine: 1,
            delay: default_delay(),
            nics: 1,
            overrides: Vec::new(),
        }
    }

    fn check(&self) -> Result<(), SpecError> {
        let most = u16::MAX.into();
        count("leaves", self.leaves, most)?;
        count("spines", self.spines, most)?;
        count("hosts-per-leaf", self.hosts_per_leaf, most)?;
        count("uplinks-per-spine", self.uplinks_per_spine, most)?;
        count("nics", self.nics, most)?;
        positive("host-rate", self.host_rate)?;
        positive("uplink-rate", self.uplink_rate)?;
        let [leaves, spines] = [self.leaves, self.spines].map(u64::from);
        let uplinks = leaves * spines * u64::from(self.uplinks_per_spine);
        let downlinks = leaves * u64::from(self.hosts_per_leaf) * u64::from(self.nics);
        size("leaves", uplinks + downlinks, leaves + spines)
    }
}

impl Topology for LeafSpineSpec {
    fn build(&self) -> Result<Graph, SpecError> {
        self.check()?;
        let mut b = Builder::default();
        let (mut hosts, mut leaves): (Vec<NodeId>, Vec<NodeId>) = Default::default();
        for leaf in 0..self.leaves {
            hosts.extend(b.hosts(self.hosts_per_leaf, leaf));
            leaves.push(b.switch(format!("leaf{leaf}"), 1, leaf));
        }
        b.home(&hosts, &leaves, self.nics, LinkParams { rate: self.host_rate, delay: self.delay });
        let lane = LinkParams { rate: self.uplink_rate, delay: self.delay };
        for spine in 0..self.spines {
            let spine = b.switch(format!("spine{spine}"), 2, NO_POD);
            for &leaf in &leaves {
                (0..self.uplinks_per_spine).for_each(|_| b.link(leaf, spine, lane));
            }
        }
        b.finish()
    }

    fn overrides(&self) -> &[LinkOverride] {
        &self.overrides
    }
}
