//! The leaf-spine: leaves with hosts, each with the same number of links to every spine switch.
//!
//! A leaf is a switch with faster uplinks, or one whose ports are divided between hosts and uplinks. It has as many
//! hosts as the oversubscription allows for its uplinks. The number of uplinks and the parts are those of the lowest
//! cost. All leaves are in the racks of their hosts, and the spine is in the middle of the hall.

use super::amount::{Money, Ratio};
use super::hall::{Block, Hall};
use super::parts::Parts;
use super::tree::{host_runs, racks};
use super::{Design, PlanError, Run, Switches, Wish, network_racks, several, worth};
use slotline_net::units::Rate;

/// The numbers of parts of a leaf-spine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Index of the leaf in its table.
    pub leaf_part: usize,
    /// Index of the spine switch.
    pub spine_part: usize,
    /// Hosts per leaf.
    pub hosts_each: u64,
    /// Uplinks per leaf.
    pub uplinks: u64,
    /// Rate of the uplinks.
    pub rate: Rate,
    /// Leaves.
    pub leaves: u64,
    /// Spine switches; none for a single leaf.
    pub spines: u64,
}

/// A leaf with a spine switch, and the number of ports of each.
#[derive(Clone, Copy)]
struct Pair {
    leaf: usize,
    spine: usize,
    rate: Rate,
    /// The number of uplinks, from 1 on.
    uplinks: u64,
    /// The number of ports for hosts, without regard to `shared`.
    ports: u64,
    /// Whether the uplinks are some of these ports.
    shared: bool,
    spine_ports: u64,
}

impl Counts {
    fn of(wish: &Wish, pair: &Pair, uplinks: u64) -> Option<Counts> {
        let allowed = u128::from(wish.oversubscription.0 * uplinks) * u128::from(pair.rate.0);
        let fast = allowed / (1_000 * u128::from(wish.nic.0));
        let fast = u64::try_from(fast).unwrap_or(u64::MAX);
        let hosts_each = fast.min(if pair.shared { pair.ports - uplinks } else { pair.ports });
        if hosts_each == 0 {
            return None;
        }
        let leaves = wish.hosts.div_ceil(hosts_each);
        let fits = |spines: &u64| {
            uplinks.is_multiple_of(*spines) && leaves * (uplinks / spines) <= pair.spine_ports
        };
        let spines = if leaves == 1 { Some(0) } else { (1..=uplinks).find(fits) }?;
        Some(Counts {
            leaf_part: pair.leaf,
            spine_part: pair.spine,
            hosts_each,
            uplinks,
            rate: pair.rate,
            leaves,
            spines,
        })
    }

    fn switches(&self) -> Vec<Switches> {
        vec![
            Switches { role: "leaf", part: self.leaf_part, count: self.leaves },
            Switches { role: "spine", part: self.spine_part, count: self.spines },
        ]
    }

    /// The cost of its switches; larger than any amount if one has no price.
    pub fn cost(&self, parts: &Parts) -> Money {
        worth(&self.switches(), parts)
    }

    fn oversubscription(&self, nic: Rate) -> Ratio {
        let demand = 1_000 * u128::from(self.hosts_each) * u128::from(nic.0);
        let ratio = demand.div_ceil(u128::from(self.uplinks) * u128::from(self.rate.0));
        if self.spines == 0 { Ratio::FULL } else { Ratio(ratio.max(1_000) as u64) }
    }
}

/// The numbers of the cheapest leaf-spine for `wish`.
pub fn cheapest(wish: &Wish, parts: &Parts) -> Result<Counts, PlanError> {
    wish.check(parts)?;
    let score =
        |counts: &Counts| -> (Money, u64) { (counts.cost(parts), counts.leaves + counts.spines) };
    candidates(wish, parts).min_by_key(score).ok_or_else(|| PlanError::Impossible {
        what: "leaf-spine",
        oversubscription: wish.oversubscription,
        table: parts.name.clone(),
        why: match most_hosts(wish, parts) {
            0 => "no leaf has uplinks for which a spine switch has ports".into(),
            far => format!("they go up to {far} hosts"),
        },
    })
}

fn candidates<'a>(wish: &'a Wish, parts: &'a Parts) -> impl Iterator<Item = Counts> + 'a {
    let each = |pair: Pair| (1..=pair.uplinks).map(move |uplinks| (pair, uplinks));
    pairs(wish, parts).flat_map(each).filter_map(|(pair, uplinks)| Counts::of(wish, &pair, uplinks))
}

fn pairs<'a>(wish: &'a Wish, parts: &'a Parts) -> impl Iterator<Item = Pair> + 'a {
    let all = || parts.switches.iter().enumerate();
    let leaves = all().filter(|(_, part)| part.rate == wish.nic);
    let ways = leaves.flat_map(|(leaf, part)| {
        let own = (leaf, part.rate, part.ports - 1, part.ports, true);
        let other = part.uplink_rate.map(|rate| (leaf, rate, part.uplinks, part.ports, false));
        [Some(own), other].into_iter().flatten()
    });
    ways.flat_map(move |(leaf, rate, uplinks, ports, shared)| {
        let spines = all().filter(move |(_, part)| part.rate == rate);
        spines.map(move |(spine, part)| Pair {
            leaf,
            spine,
            rate,
            uplinks,
            ports,
            shared,
            spine_ports: part.ports,
        })
    })
}

/// The largest number of hosts that a leaf-spine of the table's switches can have within the oversubscription.
pub fn most_hosts(wish: &Wish, parts: &Parts) -> u64 {
    // Each leaf has as many spines as uplinks, and all ports of the spines are in use.
    let most = |pair: Pair| {
        let full = |uplinks| {
            let one = Wish { hosts: 1, ..*wish };
            Counts::of(&one, &pair, uplinks).map(|counts| counts.hosts_each * pair.spine_ports)
        };
        (1..=pair.uplinks).filter_map(full).max()
    };
    pairs(wish, parts).filter_map(most).max().unwrap_or(0)
}

/// The cheapest leaf-spine for `wish`.
pub fn design(wish: &Wish, parts: &Parts) -> Result<Design, PlanError> {
    let counts = cheapest(wish, parts)?;
    let each = |leaf: u64| (wish.hosts - leaf * counts.hosts_each).min(counts.hosts_each);
    let hosts: Vec<u64> = (0..counts.leaves).map(each).collect();
    let filled = racks(&hosts, counts.hosts_each, parts.floor.hosts_per_rack);
    let units = parts.switches[counts.spine_part].units;
    let block = Block {
        label: "leaves around the spine".into(),
        hosts: filled.iter().map(|rack| rack.0).collect(),
        network: network_racks(counts.spines, units, parts.floor.rack_units),
    };
    let hall = Hall::of(vec![block], None, &parts.floor);
    let mut runs = host_runs(wish, &hall, 0, &filled, "host-leaf");
    let up = |(rack, (_, leaves)): (usize, &(u64, u64))| Run {
        link: "leaf-spine",
        rate: counts.rate,
        count: leaves * counts.uplinks,
        length: hall.to_centre(rack),
        blocks: (0, 0),
    };
    let above = hall.host_racks(0).zip(&filled).map(up);
    runs.extend(above.filter(|run| run.count > 0 && counts.spines > 0));
    let (leaf, spine) = (&parts.switches[counts.leaf_part], &parts.switches[counts.spine_part]);
    let remark = format!(
        "leaves ({}) with {} and {}; spine switches ({})",
        leaf.name,
        several(counts.hosts_each, "host"),
        several(counts.uplinks, "uplink"),
        spine.name
    );
    Ok(Design {
        name: format!("leaf-spine {}", wish.oversubscription),
        hosts: wish.hosts,
        nic: wish.nic,
        room: counts.leaves * counts.hosts_each,
        oversubscription: counts.oversubscription(wish.nic),
        switches: counts.switches(),
        runs,
        inside: 0,
        remarks: vec![remark],
        hall,
    })
}
