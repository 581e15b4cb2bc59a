//! The fat-tree of k-port switches, packaged by pods (Al-Fares' thesis, chapter 3 and §3.3).
//!
//! With fewer hosts than the k³/4 of a full fat-tree, pods are filled one after another. The last pod has only the edge
//! switches that its hosts need, but all its aggregation switches. All (k/2)² core switches exist, with a free port for
//! each missing pod. Therefore the network can grow to k³/4 hosts without moving a cable.

use super::amount::{Length, Ratio};
use super::hall::{Block, Hall};
use super::parts::{self, Parts};
use super::{Design, PlanError, Run, Switches, Wish, network_racks, racks_of};

/// The numbers of parts of a fat-tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Ports per switch.
    pub k: u64,
    /// Hosts.
    pub hosts: u64,
    /// Pods with hosts.
    pub pods: u64,
    /// Edge switches.
    pub edge: u64,
    /// Aggregation switches.
    pub aggregation: u64,
    /// Core switches.
    pub core: u64,
}

/// Hosts of a full fat-tree: k³/4.
pub const fn room(k: u64) -> u64 {
    k * k * k / 4
}

/// The smallest even k for this number of hosts.
pub fn smallest(hosts: u64) -> u64 {
    (1..).map(|half| 2 * half).find(|k| room(*k) >= hosts).expect("numbers do not end")
}

impl Counts {
    /// The numbers for at most k³/4 hosts, with an even k.
    pub fn of(hosts: u64, k: u64) -> Counts {
        let (half, pod) = (k / 2, k * k / 4);
        let pods = hosts.div_ceil(pod);
        let edge = hosts / pod * half + (hosts % pod).div_ceil(half);
        Counts { k, hosts, pods, edge, aggregation: pods * half, core: half * half }
    }
    /// The numbers of connections: hosts to edge, edge to aggregation, aggregation to core.
    pub fn connections(&self) -> [u64; 3] {
        let half = self.k / 2;
        [self.hosts, self.edge * half, self.aggregation * half]
    }
    /// The numbers of hosts and edge switches of pod `pod`.
    fn pod(&self, pod: u64) -> (u64, u64) {
        let (half, full) = (self.k / 2, self.k * self.k / 4);
        let hosts = (self.hosts - pod * full).min(full);
        (hosts, hosts.div_ceil(half))
    }
    /// The number of core switches in pod `pod`. They are spread evenly over the pods.
    fn cores_in(&self, pod: u64) -> u64 {
        (pod + 1) * self.core / self.pods - pod * self.core / self.pods
    }
}

/// The fat-tree for `wish`.
pub fn design(wish: &Wish, parts: &Parts) -> Result<Design, PlanError> {
    wish.check(parts)?;
    let k = ports(wish)?;
    let part = switch(wish, k, parts)?;
    let counts = Counts::of(wish.hosts, k);
    let units = parts.switches[part].units;
    let one_rack = |count: u64| network_racks(count, units, parts.floor.rack_units) == 1;
    let pod = |pod: u64| {
        let (hosts, edge) = counts.pod(pod);
        let switches = edge + k / 2 + counts.cores_in(pod);
        Block {
            label: format!("pod {pod}"),
            hosts: racks_of(hosts, parts.floor.hosts_per_rack),
            network: network_racks(switches, units, parts.floor.rack_units),
        }
    };
    let hall = Hall::of((0..counts.pods).map(pod).collect(), None, &parts.floor);
    let mut runs = Vec::new();
    for pod in 0..counts.pods {
        let in_one_rack = one_rack(k);
        runs.extend(in_pod(wish, &counts, &hall, pod, in_one_rack));
        let alone = one_rack(k + counts.cores_in(pod));
        runs.extend(to_core(wish, &counts, &hall, pod, alone));
    }
    let inside = if wish.pod_switch { counts.connections()[1] } else { 0 };
    let level = |role, count| Switches { role, part, count };
    Ok(Design {
        name: "fat-tree".into(),
        hosts: wish.hosts,
        nic: wish.nic,
        room: room(k),
        oversubscription: Ratio::FULL,
        switches: vec![
            level("edge", counts.edge),
            level("aggregation", counts.aggregation),
            level("core", counts.core),
        ],
        runs,
        inside,
        remarks: remarks(&counts, wish, &hall),
        hall,
    })
}

/// Ports per switch: the requested number, or the smallest sufficient one.
fn ports(wish: &Wish) -> Result<u64, PlanError> {
    let need = smallest(wish.hosts);
    match wish.k {
        None => Ok(need),
        Some(k) if !k.is_multiple_of(2) || !(2..=1024).contains(&k) => Err(PlanError::Odd(k)),
        Some(k) if k < need => Err(PlanError::Full { hosts: wish.hosts, k, room: room(k), need }),
        Some(k) => Ok(k),
    }
}

/// The cheapest switch with `k` ports for hosts.
fn switch(wish: &Wish, k: u64, parts: &Parts) -> Result<usize, PlanError> {
    let all = || parts.switches.iter().enumerate().filter(|(_, part)| part.rate == wish.nic);
    let fit = all().filter(|(_, part)| part.ports >= k);
    let best = fit.min_by_key(|(_, part)| (parts::money(&part.price), part.ports));
    best.map(|(at, _)| at).ok_or_else(|| {
        let largest = all().map(|(_, part)| part.ports).max().unwrap_or(0);
        PlanError::TooSmall {
            hosts: wish.hosts,
            k,
            nic: wish.nic,
            table: parts.name.clone(),
            largest,
            room: room(largest / 2 * 2),
        }
    })
}

/// Cables from the racks of a pod to its switches, and between these. `in_one_rack`: the switches share a rack.
fn in_pod(wish: &Wish, counts: &Counts, hall: &Hall, pod: u64, in_one_rack: bool) -> Vec<Run> {
    let block = pod as usize;
    let run =
        |link, count, length| Run { link, rate: wish.nic, count, length, blocks: (block, block) };
    let rack = |rack: usize| run("host-edge", hall.racks[rack].hosts, hall.to_centre(rack));
    let mut runs: Vec<Run> = hall.host_racks(block).map(rack).collect();
    if !wish.pod_switch {
        let (_, edge) = counts.pod(pod);
        runs.push(run("edge-aggregation", edge * counts.k / 2, near(hall, block, in_one_rack)));
    }
    runs
}

/// Cables from the aggregation switches of a pod to the core switches in all pods, one for each.
fn to_core<'a>(
    wish: &'a Wish,
    counts: &'a Counts,
    hall: &'a Hall,
    pod: u64,
    alone: bool,
) -> impl Iterator<Item = Run> + 'a {
    let run = move |to: u64| {
        let (here, there) = (pod as usize, to as usize);
        let length = if pod == to { near(hall, here, alone) } else { hall.between(here, there) };
        Run {
            link: "aggregation-core",
            rate: wish.nic,
            count: counts.cores_in(to),
            length,
            blocks: (here, there),
        }
    };
    (0..counts.pods).map(run).filter(|run| run.count > 0)
}

/// The length between switches of a pod: within a rack, or from the first to the last rack with switches.
fn near(hall: &Hall, block: usize, in_one_rack: bool) -> Length {
    let apart = hall.blocks[block].network as u64 - 1;
    if in_one_rack { hall.within() } else { hall.beside(apart.max(1)) }
}

fn remarks(counts: &Counts, wish: &Wish, hall: &Hall) -> Vec<String> {
    let Counts { k, hosts, pods, core, .. } = *counts;
    let racks = hall.host_racks(0).len();
    let network = hall.blocks[0].network;
    let some = |least: u64, most: u64| match least == most {
        true => least.to_string(),
        false => format!("{least} to {most}"),
    };
    let cores = some(core / pods, core.div_ceil(pods));
    let filled = match room(k) == hosts {
        true => format!("k = {k}, full: {pods} pods of {} hosts", k * k / 4),
        false => format!(
            "k = {k}, not full: {pods} of {k} pods, filled one after another; the core is complete, so that it can grow \
             to {} hosts without moving a cable",
            room(k)
        ),
    };
    let mut all = vec![
        filled,
        format!(
            "a pod: up to {racks} racks of hosts around {network} of switches, which hold {cores} core switches \
             too; bundles of {cores} cables from pod to pod"
        ),
    ];
    if wish.pod_switch {
        let saved = counts.connections()[1];
        all.push(format!("pod switches: {saved} connections within them need no cable"));
    }
    all
}
