//! The k-ary fat-tree (Al-Fares, Loukissas and Vahdat, SIGCOMM 2008, section 2.2).

use super::builder::{Builder, count, positive, size};
use super::spec::{LinkOverride, Topology, default_delay, default_rate, one};
use super::{Graph, LinkParams, NO_POD};
use crate::error::SpecError;
use crate::id::NodeId;
use crate::time::Time;
use crate::units::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `k` pods of `k`/2 edge and `k`/2 aggregation switches (`edge0.1`: pod 0, switch 1; `agg0.1`), and (`k`/2)² core
/// switches (`core3`). Aggregation switch `a` of every pod is linked to the `k`/2 cores from number `a`·`k`/2 on. A
/// core's port `p` leads to pod `p`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = crate::schema::keep_comment)]
pub struct FatTreeSpec {
    /// Ports per switch and number of pods: even, 2 to 64.
    pub k: u32,
    /// Rate of links between switches.
    #[serde(default = "default_rate")]
    pub rate: Rate,
    /// Rate of host links. Default: `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_rate: Option<Rate>,
    /// Propagation delay of every link.
    #[serde(default = "default_delay")]
    pub delay: Time,
    /// Ratio of hosts to uplinks at an edge switch: each has `k`/2 times this many hosts.
    #[serde(default = "one")]
    pub oversubscription: u32,
    /// Network cards per host. The first is linked to the host's own edge switch, and each further one to the next edge
    /// switch of the pod. The first switch follows the last.
    #[serde(default = "one")]
    pub nics: u32,
    /// Links whose rate or delay differs.
    #[serde(default)]
    pub overrides: Vec<LinkOverride>,
}

const MAX_K: u32 = 64;

impl FatTreeSpec {
    /// A `k`-ary fat-tree with defaults for all other settings.
    pub fn new(k: u32) -> FatTreeSpec {
        FatTreeSpec {
            k,
            rate: default_rate(),
            host_rate: None,
            delay: default_delay(),
            oversubscription: 1,
            nics: 1,
            overrides: Vec::new(),
        }
    }

    fn check(&self) -> Result<(), SpecError> {
        let k = self.k;
        if !(2..=MAX_K).contains(&k) || !k.is_multiple_of(2) {
            let message = if (2..MAX_K).contains(&k) {
                format!(
                    "`k` = {k} is odd: a fat-tree needs an even number, for example {} or {}",
                    k - 1,
                    k + 1
                )
            } else {
                format!("`k` = {k} must be an even number from 2 to {MAX_K}")
            };
            return Err(SpecError::new("k", message));
        }
        count("oversubscription", self.oversubscription, 1024)?;
        count("nics", self.nics, 64)?;
        positive("rate", self.rate)?;
        positive("host-rate", self.host_rate.unwrap_or(self.rate))?;
        let cables = u64::from(k).pow(3) / 4;
        size("oversubscription", cables * (2 + u64::from(self.oversubscription * self.nics)), 1)
    }

    fn lane(&self) -> LinkParams {
        LinkParams { rate: self.rate, delay: self.delay }
    }

    /// Lays out one pod and returns its aggregation switches.
    fn pod(&self, b: &mut Builder, pod: u32) -> Vec<NodeId> {
        let half = self.k / 2;
        let hosts = b.hosts(half * half * self.oversubscription, pod);
        let mut tier = |name, tier| -> Vec<NodeId> {
            (0..half).map(|at| b.switch(format!("{name}{pod}.{at}"), tier, pod)).collect()
        };
        let (edges, aggs) = (tier("edge", 1), tier("agg", 2));
        let host_lane = LinkParams { rate: self.host_rate.unwrap_or(self.rate), delay: self.delay };
        b.home(&hosts, &edges, self.nics, host_lane);
        for &edge in &edges {
            aggs.iter().for_each(|&agg| b.link(edge, agg, self.lane()));
        }
        aggs
    }
}

impl Topology for FatTreeSpec {
    fn build(&self) -> Result<Graph, SpecError> {
        self.check()?;
        let half = self.k / 2;
        let mut b = Builder::default();
        let aggs: Vec<NodeId> = (0..self.k).flat_map(|pod| self.pod(&mut b, pod)).collect();
        for core in 0..half * half {
            let switch = b.switch(format!("core{core}"), 3, NO_POD);
            for pod in 0..self.k {
                b.link(aggs[(pod * half + core / half) as usize], switch, self.lane());
            }
        }
        b.finish()
    }

    fn overrides(&self) -> &[LinkOverride] {
        &self.overrides
    }
}
