//! The hierarchical tree of the thesis' §2.1: edge switches with faster uplinks, and two levels of switches
//! of that faster rate.
//!
//! Edge switches are in the racks of their hosts. A pod has as many edge switches as an aggregation switch has ports
//! downwards, and one aggregation switch for each uplink. Every core switch has a link to every aggregation switch, so
//! there are at most as many aggregation switches as a core switch has ports. The number of hosts and uplinks of an
//! edge switch and the division of an aggregation switch's ports are those of the lowest cost within the allowed
//! oversubscription.

use super::amount::{Money, Ratio};
use super::hall::{Block, Hall};
use super::parts::{Parts, Switch};
use super::{Design, PlanError, Run, Switches, Wish, network_racks, several, worth};
use slotline_net::units::Rate;

/// The numbers of parts of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Index of the edge switch in its table.
    pub edge_part: usize,
    /// Index of the switch of the upper levels.
    pub upper_part: usize,
    /// Hosts per edge switch.
    pub hosts_each: u64,
    /// Uplinks that an edge switch uses; 0 if there is only one edge switch.
    pub uplinks: u64,
    /// Ports of an aggregation switch to edge switches.
    pub down: u64,
    /// Its ports to the core.
    pub up: u64,
    /// Edge switches.
    pub edge: u64,
    /// Pods.
    pub pods: u64,
    /// Aggregation switches.
    pub aggregation: u64,
    /// Cables from aggregation to core.
    pub to_core: u64,
    /// Core switches.
    pub core: u64,
}

/// The free parameters of a tree.
#[derive(Clone, Copy)]
struct Choice {
    hosts_each: u64,
    uplinks: u64,
    down: u64,
}

/// The two kinds of switches of a tree: indices into [`Parts::switches`].
#[derive(Clone, Copy)]
struct Pair {
    /// The edge switch.
    edge: usize,
    /// The switch of the upper levels.
    upper: usize,
}

impl Counts {
    /// The numbers for `hosts` hosts; `None` if a core switch cannot reach every aggregation switch.
    fn of(hosts: u64, choice: Choice, ports: u64, pair: Pair) -> Option<Counts> {
        let Choice { hosts_each, uplinks, down } = choice;
        let edge = hosts.div_ceil(hosts_each);
        let pods = edge.div_ceil(down);
        // A single edge switch needs no uplinks.
        let uplinks = if edge > 1 { uplinks } else { 0 };
        let alone = Counts {
            edge_part: pair.edge,
            upper_part: pair.upper,
            hosts_each,
            uplinks,
            down,
            up: 0,
            edge,
            pods,
            aggregation: pods * uplinks,
            to_core: 0,
            core: 0,
        };
        if pods == 1 {
            return Some(alone);
        }
        let up = ports - down;
        let to_core = uplinks * (edge * up).div_ceil(down);
        let reached = alone.aggregation <= ports && up > 0;
        let core = to_core.div_ceil(ports);
        reached.then_some(Counts { up, to_core, core, ..alone })
    }

    fn switches(&self) -> Vec<Switches> {
        let upper = |role, count| Switches { role, part: self.upper_part, count };
        vec![
            Switches { role: "edge", part: self.edge_part, count: self.edge },
            upper("aggregation", self.aggregation),
            upper("core", self.core),
        ]
    }

    /// The cost of its switches; larger than any amount if one has no price.
    pub fn cost(&self, parts: &Parts) -> Money {
        worth(&self.switches(), parts)
    }

    /// The number of hosts of edge switch `edge`. The last one has the rest.
    fn hosts_of(&self, hosts: u64, edge: u64) -> u64 {
        (hosts - edge * self.hosts_each).min(self.hosts_each)
    }

    /// Edge switches of pod `pod`.
    fn edges_of(&self, pod: u64) -> std::ops::Range<u64> {
        pod * self.down..((pod + 1) * self.down).min(self.edge)
    }

    /// The worst demand divided by what is carried, in thousandths, rounded up.
    fn oversubscription(&self, nic: u64, uplink: u64) -> Ratio {
        if self.edge == 1 {
            return Ratio::FULL;
        }
        let demand = u128::from(self.hosts_each) * u128::from(nic);
        let carried = u128::from(self.uplinks) * u128::from(uplink);
        let edge = (1_000 * demand).div_ceil(carried);
        let above = match self.up {
            0 => edge,
            up => (1_000 * demand * u128::from(self.down)).div_ceil(carried * u128::from(up)),
        };
        Ratio(u64::try_from(edge.max(above).max(1_000)).unwrap_or(u64::MAX))
    }
}

/// The numbers of the cheapest tree for `wish`.
pub fn cheapest(wish: &Wish, parts: &Parts) -> Result<Counts, PlanError> {
    wish.check(parts)?;
    let score = |counts: &Counts| -> (Money, u64) {
        (counts.cost(parts), counts.edge + counts.aggregation + counts.core)
    };
    let found = pairs(wish, parts).flat_map(|pair| candidates(wish, parts, pair)).min_by_key(score);
    found.ok_or_else(|| PlanError::Impossible {
        what: "hierarchical tree",
        oversubscription: wish.oversubscription,
        table: parts.name.clone(),
        why: why_not(wish, parts),
    })
}

/// Edge switches with ports for the hosts, with upper switches for the rate of their uplinks.
fn pairs<'a>(wish: &'a Wish, parts: &'a Parts) -> impl Iterator<Item = Pair> + 'a {
    let all = || parts.switches.iter().enumerate();
    let edge = all().filter(|(_, part)| part.rate == wish.nic && part.uplinks > 0);
    edge.flat_map(move |(edge, part)| {
        let above = all().filter(|(_, upper)| Some(upper.rate) == part.uplink_rate);
        above.map(move |(upper, _)| Pair { edge, upper })
    })
}

/// All trees of two kinds of switches within the oversubscription that can be the cheapest.
fn candidates<'a>(
    wish: &'a Wish,
    parts: &'a Parts,
    pair: Pair,
) -> impl Iterator<Item = Counts> + 'a {
    let (edge, upper) = (&parts.switches[pair.edge], &parts.switches[pair.upper]);
    let each =
        (1..=edge.uplinks).flat_map(|uplinks| (1..=edge.ports).map(move |hosts| (hosts, uplinks)));
    each.flat_map(move |(hosts_each, uplinks)| {
        // As many ports downwards as allowed, or all of them if no core is needed.
        let downs = [most_down(wish, edge, upper.ports, hosts_each, uplinks), Some(upper.ports)];
        let choice = move |down| Choice { hosts_each, uplinks, down };
        let counts = move |choice| Counts::of(wish.hosts, choice, upper.ports, pair);
        downs.into_iter().flatten().map(choice).filter_map(counts)
    })
    .filter(move |counts| within(wish, edge, counts))
}

fn within(wish: &Wish, edge: &Switch, counts: &Counts) -> bool {
    let uplink = edge.uplink_rate.map_or(1, |rate| rate.0);
    counts.oversubscription(wish.nic.0, uplink) <= wish.oversubscription
}

/// The largest number of an aggregation switch's ports that may go to edge switches. At least one goes up.
fn most_down(wish: &Wish, edge: &Switch, ports: u64, hosts: u64, uplinks: u64) -> Option<u64> {
    let demand = 1_000 * u128::from(hosts) * u128::from(wish.nic.0);
    let uplink = u128::from(edge.uplink_rate?.0);
    let allowed = u128::from(wish.oversubscription.0 * uplinks) * uplink;
    let down = u128::from(ports) * allowed / (allowed + demand);
    let down = (down as u64).min(ports - 1);
    (down > 0).then_some(down)
}

/// The part that the table lacks, or the size of the largest possible network.
fn why_not(wish: &Wish, parts: &Parts) -> String {
    let far = most_hosts(wish, parts);
    match (pairs(wish, parts).next(), far) {
        (None, _) => format!(
            "it has no switch with ports of {} and uplinks that another switch has ports for",
            wish.nic
        ),
        (_, 0) => "its uplinks are too slow".into(),
        (_, far) => format!("they go up to {far} hosts"),
    }
}

/// The largest number of hosts that a tree of the table's switches can have within the oversubscription of `wish`.
pub fn most_hosts(wish: &Wish, parts: &Parts) -> u64 {
    let possible = |hosts: u64| {
        let wish = Wish { hosts, ..*wish };
        pairs(&wish, parts).any(|pair| candidates(&wish, parts, pair).next().is_some())
    };
    let (mut low, mut high) = (0, super::MOST_HOSTS);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if possible(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// The cheapest hierarchical tree for `wish`.
pub fn design(wish: &Wish, parts: &Parts) -> Result<Design, PlanError> {
    let counts = cheapest(wish, parts)?;
    let edge = &parts.switches[counts.edge_part];
    let upper = &parts.switches[counts.upper_part];
    let uplink = edge.uplink_rate.unwrap_or(wish.nic);
    let hall = hall(wish, &counts, parts);
    let mut runs = Vec::new();
    for pod in 0..counts.pods {
        runs.extend(in_pod(wish, &counts, parts, &hall, pod, uplink));
    }
    let above = |pod| to_core(&counts, &hall, pod, uplink);
    runs.extend((0..counts.pods).filter_map(above));
    let oversubscription = counts.oversubscription(wish.nic.0, uplink.0);
    Ok(Design {
        name: format!("tree {}", wish.oversubscription),
        hosts: wish.hosts,
        nic: wish.nic,
        room: counts.edge * counts.hosts_each,
        oversubscription,
        switches: counts.switches(),
        runs,
        inside: 0,
        remarks: vec![remark(&counts, edge, upper)],
        hall,
    })
}

fn remark(counts: &Counts, edge: &Switch, upper: &Switch) -> String {
    let above = match counts.up {
        0 => "without a core".into(),
        up => {
            let down = several(counts.down, "port");
            format!("aggregation switches with {down} down and {up} up")
        }
    };
    format!(
        "{}; edge switches ({}) with {} and {}, {above} ({})",
        several(counts.pods, "pod"),
        edge.name,
        several(counts.hosts_each, "host"),
        several(counts.uplinks, "uplink"),
        upper.name
    )
}

/// The racks of one pod with the number of hosts and edge switches in each. Several small edge switches share a rack. A
/// large one has several racks and is in the middle of them.
pub(super) fn racks(hosts: &[u64], each: u64, per_rack: u64) -> Vec<(u64, u64)> {
    let share = (per_rack / each).max(1) as usize;
    let rack = |edges: &[u64]| -> Vec<(u64, u64)> {
        let all: u64 = edges.iter().sum();
        let racks = super::racks_of(all, per_rack.max(1));
        let middle = racks.len() / 2;
        let with = |(at, hosts)| (hosts, if at == middle { edges.len() as u64 } else { 0 });
        racks.into_iter().enumerate().map(with).collect()
    };
    hosts.chunks(share).flat_map(rack).collect()
}

/// The racks of pod `pod`, as in [`racks`].
fn pod_racks(wish: &Wish, counts: &Counts, parts: &Parts, pod: u64) -> Vec<(u64, u64)> {
    let hosts: Vec<u64> =
        counts.edges_of(pod).map(|edge| counts.hosts_of(wish.hosts, edge)).collect();
    racks(&hosts, counts.hosts_each, parts.floor.hosts_per_rack)
}

/// The places of pods with their aggregation switches, and of the core among them.
fn hall(wish: &Wish, counts: &Counts, parts: &Parts) -> Hall {
    let units = parts.switches[counts.upper_part].units;
    let network = |count| network_racks(count, units, parts.floor.rack_units);
    let pod = |pod: u64| Block {
        label: format!("pod {pod}"),
        hosts: pod_racks(wish, counts, parts, pod).into_iter().map(|rack| rack.0).collect(),
        network: network(counts.aggregation / counts.pods),
    };
    let core = Block { label: "core".into(), hosts: vec![], network: network(counts.core) };
    let pods = (0..counts.pods).map(pod);
    let central = (counts.core > 0).then_some(counts.pods as usize);
    Hall::of(pods.chain(central.map(|_| core)).collect(), central, &parts.floor)
}

/// Cables from hosts to edge switches in their racks, and from these to the pod's aggregation switches.
fn in_pod(
    wish: &Wish,
    counts: &Counts,
    parts: &Parts,
    hall: &Hall,
    pod: u64,
    uplink: Rate,
) -> Vec<Run> {
    let block = pod as usize;
    let filled = pod_racks(wish, counts, parts, pod);
    let below = host_runs(wish, hall, block, &filled, "host-edge");
    let up = |(rack, (_, edges)): (usize, &(u64, u64))| Run {
        link: "edge-aggregation",
        rate: uplink,
        count: edges * counts.uplinks,
        length: hall.to_centre(rack),
        blocks: (block, block),
    };
    let above = hall.host_racks(block).zip(&filled).map(up);
    let above = above.filter(|run| run.count > 0);
    below.into_iter().chain(above).collect()
}

/// Cables from the hosts of each rack to the nearest rack with their switch.
pub(super) fn host_runs(
    wish: &Wish,
    hall: &Hall,
    block: usize,
    filled: &[(u64, u64)],
    link: &'static str,
) -> Vec<Run> {
    let distance = |at: usize| {
        let with = filled.iter().enumerate().filter(|(_, (_, switches))| *switches > 0);
        with.map(|(other, _)| at.abs_diff(other) as u64).min().unwrap_or(0)
    };
    let run = |(at, &(count, switches)): (usize, &(u64, u64))| Run {
        link,
        rate: wish.nic,
        count,
        length: if switches > 0 { hall.within() } else { hall.beside(distance(at)) },
        blocks: (block, block),
    };
    filled.iter().enumerate().map(run).collect()
}

/// Cables from the aggregation switches of a pod to the core.
fn to_core(counts: &Counts, hall: &Hall, pod: u64, rate: Rate) -> Option<Run> {
    let edges = counts.edges_of(pod);
    let count = counts.uplinks * ((edges.end - edges.start) * counts.up).div_ceil(counts.down);
    let core = counts.pods as usize;
    (counts.core > 0).then(|| Run {
        link: "aggregation-core",
        rate,
        count,
        length: hall.between(pod as usize, core),
        blocks: (pod as usize, core),
    })
}
