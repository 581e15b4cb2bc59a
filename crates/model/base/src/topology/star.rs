//! One switch.

use super::builder::{Builder, count, positive, size};
use super::spec::{LinkOverride, Topology, default_delay, default_rate, one};
use super::{Graph, LinkParams};
use crate::error::SpecError;
use crate::time::Time;
use crate::units::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hosts around one switch, `s0`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = crate::schema::keep_comment)]
pub struct StarSpec {
    /// Number of hosts.
    pub hosts: u32,
    /// Rate of every link.
    #[serde(default = "default_rate")]
    pub rate: Rate,
    /// Propagation delay of every link.
    #[serde(default = "default_delay")]
    pub delay: Time,
    /// Network cards per host, each with a link of its own to the switch.
    #[serde(default = "one")]
    pub nics: u32,
    /// Links whose rate or delay differs.
    #[serde(default)]
    pub overrides: Vec<LinkOverride>,
}

impl StarSpec {
    /// A star of `hosts` hosts, with defaults for all other settings.
    pub fn new(hosts: u32) -> StarSpec {
        let (rate, delay) = (default_rate(), default_delay());
        StarSpec { hosts, rate, delay, nics: 1, overrides: Vec::new() }
    }
}

impl Topology for StarSpec {
    fn build(&self) -> Result<Graph, SpecError> {
        count("hosts", self.hosts, u16::MAX.into())?;
        count("nics", self.nics, u16::MAX.into())?;
        size("hosts", u64::from(self.hosts) * u64::from(self.nics), 1)?;
        positive("rate", self.rate)?;
        let mut b = Builder::default();
        let hosts = b.hosts(self.hosts, 0);
        let switch = b.switch("s0".into(), 1, 0);
        b.home(&hosts, &[switch], self.nics, LinkParams { rate: self.rate, delay: self.delay });
        b.finish()
    }

    fn overrides(&self) -> &[LinkOverride] {
        &self.overrides
    }
}
