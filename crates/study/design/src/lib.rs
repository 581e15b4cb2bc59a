//! Plans networks for a number of hosts: switches, cables by length, racks, cost, power and heat of fat-trees,
//! hierarchical trees and leaf-spines, from a table of parts.
//!
//! Source: Al-Fares' thesis (2012), §2.1 (cost), §3.2 (power and heat), §3.3 (packaging).

pub mod amount;
pub mod bill;
pub mod compare;
pub mod drawing;
pub mod fat_tree;
pub mod files;
pub mod hall;
pub mod leaf_spine;
pub mod parts;
pub mod tree;

#[cfg(test)]
mod hall_tests;
#[cfg(test)]
mod parts_tests;
#[cfg(test)]
mod tests;

use amount::{Length, Money, Ratio};
use hall::Hall;
use parts::Parts;
use slotline_net::units::Rate;

/// The requested network.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// Hosts.
    pub hosts: u64,
    /// Rate of a host's port.
    pub nic: Rate,
    /// The capacity of all hosts over the capacity of the network; a fat-tree has 1:1.
    pub oversubscription: Ratio,
    /// Ports per switch of a fat-tree; `None` for the smallest sufficient even number.
    pub k: Option<u64>,
    /// Whether the switches of a fat-tree's pod are one unit, without cables between them (§3.3).
    pub pod_switch: bool,
}

/// A network and its place in a hall.
#[derive(Clone, PartialEq, Debug)]
pub struct Design {
    /// Its kind: `fat-tree`, `tree 3:1`, `leaf-spine 1:1`.
    pub name: String,
    /// Hosts.
    pub hosts: u64,
    /// Rate of a host's port.
    pub nic: Rate,
    /// Hosts for which its switches have ports.
    pub room: u64,
    /// The worst demand divided by what the network carries.
    pub oversubscription: Ratio,
    /// Switches, from the hosts upwards.
    pub switches: Vec<Switches>,
    /// Cables.
    pub runs: Vec<Run>,
    /// Connections within units, which use ports but no cables.
    pub inside: u64,
    /// The places of racks.
    pub hall: Hall,
    /// Remarks for readers.
    pub remarks: Vec<String>,
}

/// Switches of one kind at one level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Switches {
    /// `edge`, `aggregation`, `core`, `leaf`, `spine`.
    pub role: &'static str,
    /// Index into [`Parts::switches`].
    pub part: usize,
    /// Their number.
    pub count: u64,
}

/// A bundle of parallel cables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The levels that it joins, such as `edge-aggregation`.
    pub link: &'static str,
    /// Rate of its ports.
    pub rate: Rate,
    /// Their number.
    pub count: u64,
    /// Minimum length of each cable.
    pub length: Length,
    /// Blocks of its two ends; the same block twice if it stays within a block.
    pub blocks: (usize, usize),
}

/// The reason why a network cannot be planned.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlanError {
    /// The number of hosts is zero or too large.
    #[error("a plan needs 1 to {MOST_HOSTS} hosts, not {0}")]
    Hosts(u64),
    /// A fat-tree's switches have an even number of ports.
    #[error("k = {0}: a fat-tree needs an even number of ports per switch, from 2 to 1024")]
    Odd(u64),
    /// The hosts do not fit.
    #[error(
        "{hosts} hosts do not fit into a fat-tree of k = {k}, which has {room}; k = {need} would do"
    )]
    Full {
        /// Requested number of hosts.
        hosts: u64,
        /// Requested ports per switch.
        k: u64,
        /// Hosts that fit.
        room: u64,
        /// Sufficient ports per switch.
        need: u64,
    },
    /// The table has no switch for hosts of that rate.
    #[error("the table `{table}` has no switch with ports of {nic}: it has {known}")]
    NoRate {
        /// The table.
        table: String,
        /// Requested rate.
        nic: Rate,
        /// Rates in the table.
        known: String,
    },
    /// The table has no switch with enough ports.
    #[error(
        "a fat-tree of {hosts} hosts needs switches with {k} ports of {nic}; the largest in the table `{table}` has {largest}, for up to {room} hosts"
    )]
    TooSmall {
        /// Hosts asked for.
        hosts: u64,
        /// Ports needed.
        k: u64,
        /// Their rate.
        nic: Rate,
        /// The table.
        table: String,
        /// Ports of its largest switch.
        largest: u64,
        /// Hosts for which this would suffice.
        room: u64,
    },
    /// No combination of the table's switches satisfies the request.
    #[error("no {what} at {oversubscription} with the switches of the table `{table}`: {why}")]
    Impossible {
        /// `hierarchical tree` or `leaf-spine`.
        what: &'static str,
        /// The largest oversubscription allowed.
        oversubscription: Ratio,
        /// The table.
        table: String,
        /// The reason.
        why: String,
    },
    /// The table has no cable that is long enough.
    #[error("the table `{table}` has no cable of {rate} over {length}{longest}")]
    NoCable {
        /// The table.
        table: String,
        /// The rate of the ports.
        rate: Rate,
        /// The length needed.
        length: Length,
        /// `: its longest has 50 m`, or nothing.
        longest: String,
    },
}

/// The largest number of hosts. It is beyond any hall, and far from an overflow of sums.
pub const MOST_HOSTS: u64 = 10_000_000;

impl Wish {
    /// Refuses requests that cannot be planned.
    pub fn check(&self, parts: &Parts) -> Result<(), PlanError> {
        if !(1..=MOST_HOSTS).contains(&self.hosts) {
            return Err(PlanError::Hosts(self.hosts));
        }
        if parts.switches.iter().any(|part| part.rate == self.nic) {
            return Ok(());
        }
        let mut rates: Vec<Rate> = parts.switches.iter().map(|part| part.rate).collect();
        rates.sort_unstable();
        rates.dedup();
        let known = rates.iter().map(Rate::to_string).collect::<Vec<_>>().join(", ");
        Err(PlanError::NoRate { table: parts.name.clone(), nic: self.nic, known })
    }
}

impl Design {
    /// Cables of all kinds.
    pub fn cables(&self) -> u64 {
        self.runs.iter().map(|run| run.count).sum()
    }
    /// Switches of all kinds.
    pub fn switch_count(&self) -> u64 {
        self.switches.iter().map(|kind| kind.count).sum()
    }
    /// Ports of all switches that are in use.
    pub fn ports_used(&self) -> u64 {
        2 * (self.cables() + self.inside) - self.hosts
    }
    /// Ports of all switches.
    pub fn ports(&self, parts: &Parts) -> u64 {
        self.switches.iter().map(|kind| kind.count * parts.switches[kind.part].all_ports()).sum()
    }
    /// Price of its switches, for comparisons. A switch without a price counts as more than any sum.
    pub fn worth(&self, parts: &Parts) -> (Money, u64) {
        (worth(&self.switches, parts), self.switch_count())
    }
}

/// Price of `switches`, for comparisons.
fn worth(switches: &[Switches], parts: &Parts) -> Money {
    let cost =
        |kind: &Switches| parts::money(&parts.switches[kind.part].price).0 * u128::from(kind.count);
    Money(switches.iter().map(cost).sum())
}

/// Divides `hosts` into racks of `each`. The last rack may have fewer.
fn racks_of(hosts: u64, each: u64) -> Vec<u64> {
    let full = std::iter::repeat_n(each, (hosts / each) as usize);
    full.chain((!hosts.is_multiple_of(each)).then_some(hosts % each)).collect()
}

/// Racks for `count` switches of `units` each.
fn network_racks(count: u64, units: u64, rack_units: u64) -> usize {
    count.div_ceil((rack_units / units).max(1)) as usize
}

/// `1 pod`, `2 pods`.
fn several(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
