//! A tree of racks, and of rows of racks, under one core switch.

use super::builder::{Builder, count, positive, size};
use super::spec::{LinkOverride, Topology, default_delay, default_rate, one};
use super::{Graph, LinkParams, NO_POD};
use crate::error::SpecError;
use crate::id::NodeId;
use crate::time::Time;
use crate::units::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Racks of hosts below one core switch: two tiers (`tor0`, …, `core`), or with `rows` three
/// (`tor0.0`, …, `row0`, …, `core`). A pod is a rack in the first case, a row in the second.
///
/// Every switch has one uplink. Its rate is given, or follows from the oversubscription of its tier: the sum of the
/// rates below divided by it. If neither is given, the oversubscription is 1, and the tree never blocks.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = crate::schema::keep_comment)]
pub struct TreeSpec {
    /// Hosts in each rack.
    pub hosts_per_rack: u32,
    /// Racks; with `rows`, racks in each row.
    pub racks: u32,
    /// Rows. Default: no rows; racks are linked to the core switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u32>,
    /// Rate of host links.
    #[serde(default = "default_rate")]
    pub rate: Rate,
    /// Rate of a rack's uplink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack_uplink: Option<Rate>,
    /// Rate from hosts into a rack's switch over the rate out of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack_oversubscription: Option<f64>,
    /// Rate of a row's uplink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_uplink: Option<Rate>,
    /// Rate from racks into a row's switch over the rate out of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_oversubscription: Option<f64>,
    /// Propagation delay of every link.
    #[serde(default = "default_delay")]
    pub delay: Time,
    /// Network cards per host, each with a link of its own to the rack's switch.
    #[serde(default = "one")]
    pub nics: u32,
    /// Links whose rate or delay differs.
    #[serde(default)]
    pub overrides: Vec<LinkOverride>,
}

impl TreeSpec {
    /// Two tiers that never block, with defaults for all other settings.
    pub fn new(racks: u32, hosts_per_rack: u32) -> TreeSpec {
        TreeSpec {
            hosts_per_rack,
            racks,
            rows: None,
            rate: default_rate(),
            rack_uplink: None,
            rack_oversubscription: None,
            row_uplink: None,
            row_oversubscription: None,
            delay: default_delay(),
            nics: 1,
            overrides: Vec::new(),
        }
    }

    fn check(&self) -> Result<(), SpecError> {
        let most = u16::MAX.into();
        count("hosts-per-rack", self.hosts_per_rack, most)?;
        count("racks", self.racks, most)?;
        count("rows", self.rows.unwrap_or(1), most)?;
        count("nics", self.nics, most)?;
        positive("rate", self.rate)?;
        let rows = u64::from(self.rows.unwrap_or(1));
        let racks = u64::from(self.racks) * rows;
        size("racks", racks + rows, racks + rows + 1)?;
        let host_links = racks * u64::from(self.hosts_per_rack) * u64::from(self.nics);
        size("hosts-per-rack", host_links, 1)?;
        self.check_rows()
    }

    fn check_rows(&self) -> Result<(), SpecError> {
        let row_keys = [
            ("row-uplink", self.row_uplink.is_some()),
            ("row-oversubscription", self.row_oversubscription.is_some()),
        ];
        match row_keys.into_iter().find(|&(_, given)| given && self.rows.is_none()) {
            None => Ok(()),
            Some((key, _)) => Err(SpecError::new(
                key,
                format!("`{key}` is given, but the tree has no rows: give `rows`, or leave it out"),
            )),
        }
    }

    fn rack(&self, b: &mut Builder, pod: u32, number: String) -> NodeId {
        let hosts = b.hosts(self.hosts_per_rack, pod);
        let tor = b.switch(format!("tor{number}"), 1, pod);
        b.home(&hosts, &[tor], self.nics, LinkParams { rate: self.rate, delay: self.delay });
        tor
    }

    fn row(&self, b: &mut Builder, row: u32, lane: LinkParams) -> NodeId {
        let tors: Vec<_> =
            (0..self.racks).map(|rack| self.rack(b, row, format!("{row}.{rack}"))).collect();
        let switch = b.switch(format!("row{row}"), 2, row);
        tors.into_iter().for_each(|tor| b.link(tor, switch, lane));
        switch
    }
}

impl Topology for TreeSpec {
    fn build(&self) -> Result<Graph, SpecError> {
        self.check()?;
        let hosts = self.hosts_per_rack.saturating_mul(self.nics);
        let rack =
            Uplink { tier: "rack", rate: self.rack_uplink, over: self.rack_oversubscription };
        let row = Uplink { tier: "row", rate: self.row_uplink, over: self.row_oversubscription };
        let rack_rate = rack.rate_above(hosts, self.rate)?;
        let row_rate = row.rate_above(self.racks, rack_rate)?;
        let [rack_lane, row_lane] =
            [rack_rate, row_rate].map(|rate| LinkParams { rate, delay: self.delay });
        let mut b = Builder::default();
        let (below, lane, tier) = match self.rows {
            None => (
                (0..self.racks).map(|r| self.rack(&mut b, r, r.to_string())).collect(),
                rack_lane,
                2,
            ),
            Some(rows) => {
                let rows: Vec<_> = (0..rows).map(|row| self.row(&mut b, row, rack_lane)).collect();
                (rows, row_lane, 3)
            }
        };
        let core = b.switch("core".into(), tier, NO_POD);
        below.into_iter().for_each(|switch| b.link(switch, core, lane));
        b.finish()
    }

    fn overrides(&self) -> &[LinkOverride] {
        &self.overrides
    }
}

/// How the rate of a tier's uplinks is given.
struct Uplink {
    tier: &'static str,
    rate: Option<Rate>,
    over: Option<f64>,
}

impl Uplink {
    /// The rate of the uplink of a switch with `links` links of `rate` below.
    fn rate_above(&self, links: u32, rate: Rate) -> Result<Rate, SpecError> {
        let (uplink, over) =
            (format!("{}-uplink", self.tier), format!("{}-oversubscription", self.tier));
        match (self.rate, self.over) {
            (Some(_), Some(_)) => Err(SpecError::new(
                &over,
                format!("`{uplink}` and `{over}` are both given: leave one out"),
            )),
            (Some(rate), None) => positive(&uplink, rate).map(|()| rate),
            (None, ratio) => {
                let ratio = ratio.unwrap_or(1.0);
                let above = (rate.0 as f64 * f64::from(links) / ratio).round();
                // Also false where `ratio` is not a number.
                if ratio > 0.0 && (1.0..1e18).contains(&above) {
                    return Ok(Rate(above as u64));
                }
                let message = format!(
                    "`{over}` = {ratio} gives no usable rate above {links} links of {rate}: \
                     it must be above zero, for example 4.0"
                );
                Err(SpecError::new(&over, message))
            }
        }
    }
}
