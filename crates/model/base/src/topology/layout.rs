//! The layout of an arbitrary network: tiers, pods, and an order in which neighbours in the network have
//! neighbouring numbers.

use super::NO_POD;
use super::graph::Cable;
use std::collections::{BTreeMap, BTreeSet};

/// The layout. Nodes are indices in the list of hosts and then switches.
pub(super) struct Layout {
    /// By node, hops to the nearest host.
    pub tier: Vec<u8>,
    /// By node, its pod.
    pub pod: Vec<u32>,
    /// All nodes in the order of their numbers. Hosts are in the order given. The switches of a pod follow its last
    /// host, by tier and name. Nodes in no pod come last.
    pub order: Vec<usize>,
}

/// The reason why nodes are not a valid network.
pub(super) enum Fault {
    /// A host without a link.
    Lonely(usize),
    /// A host that cannot be reached from another.
    Apart(usize, usize),
    /// A switch that no host can be reached from.
    NoHost(usize),
}

impl Layout {
    /// `rank`: by node, its position: hosts in the order given, then switches by name.
    pub fn new(hosts: usize, rank: &[usize], links: &[Cable]) -> Result<Layout, Fault> {
        let mut near = vec![Vec::new(); rank.len()];
        for link in links {
            near[link.a].push(link.b);
            near[link.b].push(link.a);
        }
        if let Some(lonely) = near[..hosts].iter().position(Vec::is_empty) {
            return Err(Fault::Lonely(lonely));
        }
        let all = |_: usize| true;
        check_reach(hosts, &near, &parts(hosts, &near, all))?;
        let tier = tiers(hosts, &near)?;
        let pod = pods(hosts, &near, &tier);
        let order = order(hosts, &tier, &pod, rank);
        Ok(Layout { tier, pod, order })
    }
}

/// By node, the number of its connected part, if only the switches that are `kept` remain; `None` for other nodes.
fn parts(hosts: usize, near: &[Vec<usize>], kept: impl Fn(usize) -> bool) -> Vec<Option<usize>> {
    let mut part = vec![None; near.len()];
    let mut count = 0;
    for start in (hosts..near.len()).filter(|&at| kept(at)) {
        if part[start].is_some() {
            continue;
        }
        part[start] = Some(count);
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            for &next in near[at].iter().filter(|&&next| next >= hosts && kept(next)) {
                if part[next].is_none() {
                    part[next] = Some(count);
                    open.push(next);
                }
            }
        }
        count += 1;
    }
    part
}

/// Checks that every two hosts have links to a common connected part of the switches.
fn check_reach(hosts: usize, near: &[Vec<usize>], part: &[Option<usize>]) -> Result<(), Fault> {
    let mut kinds: BTreeMap<BTreeSet<usize>, usize> = BTreeMap::new();
    for (host, near) in near[..hosts].iter().enumerate() {
        kinds.entry(near.iter().filter_map(|&at| part[at]).collect()).or_insert(host);
    }
    let mut seen: Vec<(&BTreeSet<usize>, usize)> = Vec::new();
    let mut by_host: Vec<_> = kinds.iter().map(|(parts, &host)| (host, parts)).collect();
    by_host.sort_unstable_by_key(|(host, _)| *host);
    for (host, parts) in by_host {
        if let Some((_, other)) = seen.iter().find(|(others, _)| others.is_disjoint(parts)) {
            return Err(Fault::Apart(host, *other));
        }
        seen.push((parts, host));
    }
    Ok(())
}

/// Hops to the nearest host, at most 255.
fn tiers(hosts: usize, near: &[Vec<usize>]) -> Result<Vec<u8>, Fault> {
    let mut tier: Vec<Option<u8>> = vec![None; near.len()];
    tier[..hosts].fill(Some(0));
    let mut queue: Vec<usize> = (0..hosts).collect();
    let mut head = 0;
    while let Some(&at) = queue.get(head) {
        head += 1;
        let above = tier[at].map(|tier| tier.saturating_add(1));
        for &next in &near[at] {
            if tier[next].is_none() {
                tier[next] = above;
                queue.push(next);
            }
        }
    }
    let lost = |at: usize| Fault::NoHost(at);
    tier.into_iter().enumerate().map(|(at, tier)| tier.ok_or_else(|| lost(at))).collect()
}

/// Pods are numbered by their first host.
fn pods(hosts: usize, near: &[Vec<usize>], tier: &[u8]) -> Vec<u32> {
    let top = tier.iter().copied().max().unwrap_or(0);
    let mut part = parts(hosts, near, |at| tier[at] < top);
    if part.iter().flatten().max().is_none_or(|&last| last == 0) {
        let edge = |at: usize| (at >= hosts && tier[at] == 1).then_some(at);
        part = (0..near.len()).map(edge).collect();
    }
    let mut number = BTreeMap::new();
    for host in 0..hosts {
        part[host] = near[host].first().and_then(|&first| part[first]);
        let next = number.len() as u32;
        if let Some(part) = part[host] {
            number.entry(part).or_insert(next);
        }
    }
    let pod = |part: Option<usize>| part.and_then(|part| number.get(&part).copied());
    part.into_iter().map(|part| pod(part).unwrap_or(NO_POD)).collect()
}

fn order(hosts: usize, tier: &[u8], pod: &[u32], rank: &[usize]) -> Vec<usize> {
    let mut switches: Vec<usize> = (hosts..pod.len()).collect();
    switches.sort_by_key(|&at| (pod[at], tier[at], rank[at]));
    let mut of_pod: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    switches.into_iter().for_each(|at| of_pod.entry(pod[at]).or_default().push(at));
    let last: BTreeMap<u32, usize> = (0..hosts).map(|host| (pod[host], host)).collect();
    let mut order = Vec::with_capacity(pod.len());
    for host in 0..hosts {
        order.push(host);
        if pod[host] != NO_POD && last[&pod[host]] == host {
            order.extend(of_pod.remove(&pod[host]).unwrap_or_default());
        }
    }
    order.extend(of_pod.into_values().flatten());
    order
}
