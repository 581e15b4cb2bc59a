//! htsim's generic fat-tree (`fat_tree_topology.cpp` of csg-htsim): two or three tiers of switches, given
//! by their numbers of links. The fabric is the one htsim builds, to the last link.

use super::draft::{Draft, Edge, Node, Role, Speed};
use super::{Fabric, ReadError};
use crate::error::FormatError;
use crate::tree::short;
use slotline_net::time::Time;
use slotline_net::topology::GraphSpec;
use slotline_net::units::Rate;

pub(super) fn read(text: &str, asked: &GraphSpec) -> Result<Fabric, ReadError> {
    let file = parse(text)?;
    let tree = file.sizes()?;
    lay_out(&file, &tree)?.finish(asked)
}

/// A number and the line it stands in.
#[derive(Clone, Copy, Default)]
struct Field {
    value: u64,
    line: usize,
}

/// What is said of a tier of switches.
#[derive(Clone, Copy, Default)]
struct Tier {
    line: usize,
    speed_gbps: Option<Field>,
    radix_down: Option<Field>,
    radix_up: Option<Field>,
    latency_ns: Option<Field>,
    switch_latency_ns: Option<Field>,
    oversubscribed: Option<Field>,
    bundle: Option<Field>,
}

#[derive(Default)]
struct File {
    nodes: Option<Field>,
    count: Option<Field>,
    pod_size: Option<Field>,
    tiers: [Option<Tier>; 3],
}

const HEADER: &str = "`Nodes`, `Tiers`, `Podsize`, or `Tier` with a number";
const OF_TIER: &str = "`Downlink_speed_Gbps`, `Radix_Down`, `Radix_Up`, `Downlink_Latency_ns`, \
    `Switch_Latency_ns`, `Oversubscribed`, `Bundle`, or the next `Tier`";

fn parse(text: &str) -> Result<File, FormatError> {
    let mut file = File::default();
    let mut current = None;
    for (line, words) in (1..).zip(text.lines()) {
        let words: Vec<&str> = words.split_whitespace().collect();
        let Some(key) = words.first().filter(|word| !word.starts_with('#')) else {
            continue;
        };
        let [_, value] = words[..] else {
            let message = format!("`{}` needs one number behind it", short(key));
            return Err(FormatError::new(line, message));
        };
        let value: u32 = value.parse().map_err(|_| {
            let message = format!("`{}`: `{}` is no whole number", short(key), short(value));
            FormatError::new(line, message)
        })?;
        let field = Field { value: value.into(), line };
        current = set(&mut file, current, key, field)?;
    }
    Ok(file)
}

/// Takes one line in; returns the tier that the next lines are about.
fn set(
    file: &mut File,
    current: Option<usize>,
    key: &str,
    field: Field,
) -> Result<Option<usize>, FormatError> {
    let fail = |why: String| Err(FormatError::new(field.line, why));
    let lower = key.to_lowercase();
    if lower == "tier" {
        let at = field.value as usize;
        return match file.tiers.get_mut(at) {
            None => fail(format!("tier {at}: tiers are 0 (next to hosts), 1 and 2")),
            Some(Some(first)) => {
                fail(format!("tier {at} is there twice, first in line {}", first.line))
            }
            Some(tier) => {
                *tier = Some(Tier { line: field.line, ..Tier::default() });
                Ok(Some(at))
            }
        };
    }
    let slot = match current {
        None => file.header(&lower),
        Some(at) => file.tiers[at].as_mut().and_then(|tier| tier.slot(&lower, at)),
    };
    let Some(slot) = slot else {
        return fail(strange(key, &lower, current));
    };
    if let Some(first) = slot.replace(field) {
        return fail(format!("`{key}` is there twice, first in line {}", first.line));
    }
    Ok(current)
}

/// Why a key has no place.
fn strange(key: &str, lower: &str, current: Option<usize>) -> String {
    let key = short(key);
    match (lower, current) {
        ("queue_up" | "queue_down", _) => {
            format!("`{key}`: queues are not part of the fabric; give the scheme's queue a `limit`")
        }
        ("radix_up", Some(2)) => format!("`{key}`: the switches of tier 2 have no uplinks"),
        ("nodes" | "tiers" | "podsize", Some(_)) => {
            format!("`{key}` has to come before the first `Tier`")
        }
        (_, None) => format!("`{key}` is not understood here: expected {HEADER}"),
        (_, Some(_)) => format!("`{key}` is not understood here: expected {OF_TIER}"),
    }
}

impl File {
    fn header(&mut self, key: &str) -> Option<&mut Option<Field>> {
        match key {
            "nodes" => Some(&mut self.nodes),
            "tiers" => Some(&mut self.count),
            "podsize" => Some(&mut self.pod_size),
            _ => None,
        }
    }
}

impl Tier {
    fn slot(&mut self, key: &str, at: usize) -> Option<&mut Option<Field>> {
        match key {
            "downlink_speed_gbps" => Some(&mut self.speed_gbps),
            "radix_down" => Some(&mut self.radix_down),
            "radix_up" if at < 2 => Some(&mut self.radix_up),
            "downlink_latency_ns" => Some(&mut self.latency_ns),
            "switch_latency_ns" => Some(&mut self.switch_latency_ns),
            "oversubscribed" => Some(&mut self.oversubscribed),
            "bundle" => Some(&mut self.bundle),
            _ => None,
        }
    }

    fn bundle(&self) -> Field {
        self.bundle.unwrap_or(Field { value: 1, line: self.line })
    }

    fn oversubscribed(&self) -> Field {
        self.oversubscribed.unwrap_or(Field { value: 1, line: self.line })
    }
}

/// A value that must be there and above zero.
fn needed(field: Option<Field>, key: &str, line: usize) -> Result<Field, FormatError> {
    match field {
        Some(field) if field.value > 0 => Ok(field),
        Some(field) => Err(FormatError::new(field.line, format!("`{key}` must be above zero"))),
        None => Err(FormatError::new(line, format!("`{key}` is missing"))),
    }
}

/// How many of everything there are.
struct Sizes {
    tiers: usize,
    nodes: u64,
    pods: u64,
    tors_per_pod: u64,
    aggs_per_pod: u64,
    cores: u64,
    /// Of the tier below the cores, and the bundles of links between tiers.
    agg_radix_up: u64,
    bundles: [u64; 3],
    /// By tier: what a link downwards is like.
    speeds: [Speed; 3],
    switch_latency: [Time; 3],
    radix_down: u64,
}

/// More links than a fabric may have.
const TOO_MANY: u64 = 1 << 18;

/// `a` / `b` where it is whole.
fn divide(a: u64, b: u64, line: usize, why: impl FnOnce() -> String) -> Result<u64, FormatError> {
    match a.checked_rem(b) {
        Some(0) => Ok(a / b),
        _ => Err(FormatError::new(line, why())),
    }
}

impl File {
    fn tier(&self, at: usize) -> Result<&Tier, FormatError> {
        let line = self.count.map_or(1, |count| count.line);
        let missing = || FormatError::new(line, format!("`Tier {at}` is missing"));
        self.tiers[at].as_ref().ok_or_else(missing)
    }

    /// The checks that htsim makes, in its order.
    fn sizes(&self) -> Result<Sizes, FormatError> {
        let nodes = needed(self.nodes, "Nodes", 1)?;
        let count = needed(self.count, "Tiers", 1)?;
        let pod_size = needed(self.pod_size, "Podsize", 1)?;
        if !(2..=3).contains(&count.value) {
            return Err(FormatError::new(count.line, "`Tiers` must be 2 or 3"));
        }
        let tiers = count.value as usize;
        if let Some(unused) = self.tiers[tiers..].iter().flatten().next() {
            let message = format!("`Tiers` is {tiers}, numbered from 0: this one is not used");
            return Err(FormatError::new(unused.line, message));
        }
        if tiers == 2 && pod_size.value != nodes.value {
            let message = format!("with 2 tiers all is one pod: `Podsize` must be {}", nodes.value);
            return Err(FormatError::new(pod_size.line, message));
        }
        let pods = divide(nodes.value, pod_size.value, pod_size.line, || {
            format!("`Podsize` = {} does not divide `Nodes` = {}", pod_size.value, nodes.value)
        })?;
        let mut sizes = self.lower_tiers(nodes, pods, pod_size, tiers)?;
        if tiers == 3 {
            self.upper_tier(&mut sizes)?;
        }
        for at in 0..tiers {
            let tier = self.tier(at)?;
            let speed = needed(tier.speed_gbps, "Downlink_speed_Gbps", tier.line)?;
            let delay = needed(tier.latency_ns, "Downlink_Latency_ns", tier.line)?;
            sizes.speeds[at] = Speed {
                rate: Some(Rate(speed.value * 1_000_000_000)),
                delay: Some(Time::ns(delay.value)),
            };
            sizes.switch_latency[at] = Time::ns(tier.switch_latency_ns.map_or(0, |f| f.value));
            sizes.bundles[at] = tier.bundle().value;
        }
        Ok(sizes)
    }

    fn lower_tiers(
        &self,
        nodes: Field,
        pods: u64,
        pod_size: Field,
        tiers: usize,
    ) -> Result<Sizes, FormatError> {
        let (tor, agg) = (self.tier(0)?, self.tier(1)?);
        if tor.bundle().value != 1 {
            let message = "`Bundle` of tier 0 must be 1: hosts have one link";
            return Err(FormatError::new(tor.bundle().line, message));
        }
        let down = needed(tor.radix_down, "Radix_Down", tor.line)?;
        let up = needed(tor.radix_up, "Radix_Up", tor.line)?;
        let over = needed(Some(tor.oversubscribed()), "Oversubscribed", tor.line)?;
        let tors_per_pod = divide(pod_size.value, down.value, down.line, || {
            format!("`Radix_Down` = {} does not divide `Podsize` = {}", down.value, pod_size.value)
        })?;
        if down.value / up.value != over.value {
            let message = format!(
                "{} links down over {} up is not `Oversubscribed` = {}",
                down.value, up.value, over.value
            );
            return Err(FormatError::new(over.line, message));
        }
        let tor_uplinks = self.uplinks(0, nodes.value)?;
        let agg_down = needed(agg.radix_down, "Radix_Down", agg.line)?;
        let aggs_per_pod = divide(tor_uplinks, pods * agg_down.value, agg_down.line, || {
            format!(
                "{tor_uplinks} uplinks of tier 0 in {pods} pods cannot be shared by switches with \
                 `Radix_Down` = {}",
                agg_down.value
            )
        })?;
        let bundle = agg.bundle();
        if aggs_per_pod * bundle.value != up.value {
            let message = format!(
                "a switch of tier 0 has `Radix_Up` = {}, but there are {aggs_per_pod} switches above it \
                 with `Bundle` = {}: the radix must be their product",
                up.value, bundle.value
            );
            return Err(FormatError::new(bundle.line, message));
        }
        let agg_radix_up = match tiers {
            2 => 0,
            _ => needed(agg.radix_up, "Radix_Up", agg.line)?.value,
        };
        let links = nodes.value + tor_uplinks;
        self.check_size(nodes, links)?;
        Ok(Sizes {
            tiers,
            nodes: nodes.value,
            pods,
            tors_per_pod,
            aggs_per_pod,
            cores: 0,
            agg_radix_up,
            bundles: [1; 3],
            speeds: [Speed::default(); 3],
            switch_latency: [Time::ZERO; 3],
            radix_down: down.value,
        })
    }

    fn check_size(&self, nodes: Field, links: u64) -> Result<(), FormatError> {
        if links <= TOO_MANY {
            return Ok(());
        }
        let message = format!("this fabric would have {links} links or more: at most {TOO_MANY}");
        Err(FormatError::new(nodes.line, message))
    }

    /// The links from `tier` upwards, of which `below` links lead into it.
    fn uplinks(&self, at: usize, below: u64) -> Result<u64, FormatError> {
        let (tier, above) = (self.tier(at)?, self.tier(at + 1)?);
        let speed = needed(tier.speed_gbps, "Downlink_speed_Gbps", tier.line)?;
        let faster = needed(above.speed_gbps, "Downlink_speed_Gbps", above.line)?;
        let over = needed(Some(tier.oversubscribed()), "Oversubscribed", tier.line)?;
        let wide = |a: u64, b: u64| a.saturating_mul(b);
        divide(wide(below, speed.value), wide(faster.value, over.value), faster.line, || {
            format!(
                "{below} links of {} Gbit/s into tier {at}, oversubscribed {} times, are no whole number \
                 of links of {} Gbit/s",
                speed.value, over.value, faster.value
            )
        })
    }

    fn upper_tier(&self, sizes: &mut Sizes) -> Result<(), FormatError> {
        let (agg, core) = (self.tier(1)?, self.tier(2)?);
        let tor_uplinks = self.uplinks(0, sizes.nodes)?;
        let uplinks = self.uplinks(1, tor_uplinks)?;
        self.check_size(needed(self.nodes, "Nodes", 1)?, sizes.nodes + tor_uplinks + uplinks)?;
        let down = needed(core.radix_down, "Radix_Down", core.line)?;
        sizes.cores = divide(uplinks, down.value, down.line, || {
            format!("{uplinks} uplinks of tier 1 are no multiple of `Radix_Down` = {}", down.value)
        })?;
        let groups = divide(sizes.cores, sizes.aggs_per_pod, down.line, || {
            format!(
                "{} core switches cannot be shared evenly by {} switches of tier 1 in a pod",
                sizes.cores, sizes.aggs_per_pod
            )
        })?;
        let (bundle, up) = (core.bundle(), needed(agg.radix_up, "Radix_Up", agg.line)?);
        if groups * bundle.value != up.value {
            let message = format!(
                "a switch of tier 1 has `Radix_Up` = {}, but there are {groups} core switches above it with \
                 `Bundle` = {}: the radix must be their product",
                up.value, bundle.value
            );
            return Err(FormatError::new(bundle.line, message));
        }
        Ok(())
    }
}

/// Hosts and switches with htsim's numbers, and links in the order in which htsim makes them.
fn lay_out(file: &File, sizes: &Sizes) -> Result<Draft, FormatError> {
    let mut draft = Draft::new([""; 3]);
    let line = |at: usize| file.tier(at).map(|tier| tier.line);
    let (tors, aggs) = (sizes.tors_per_pod * sizes.pods, sizes.aggs_per_pod * sizes.pods);
    let header = file.nodes.map_or(1, |nodes| nodes.line);
    add(&mut draft, "h", sizes.nodes, header, Role::Host)?;
    add(&mut draft, "tor", tors, line(0)?, Role::Switch)?;
    add(&mut draft, "agg", aggs, line(1)?, Role::Switch)?;
    for host in 0..sizes.nodes {
        let tor = host / sizes.radix_down;
        sizes.link(&mut draft, line(0)?, 0, format!("h{host}"), format!("tor{tor}"))?;
    }
    for tor in 0..tors {
        let pod = tor / sizes.tors_per_pod;
        for agg in pod * sizes.aggs_per_pod..(pod + 1) * sizes.aggs_per_pod {
            sizes.link(&mut draft, line(1)?, 1, format!("tor{tor}"), format!("agg{agg}"))?;
        }
    }
    if sizes.tiers == 3 {
        add(&mut draft, "core", sizes.cores, line(2)?, Role::Switch)?;
        for agg in 0..aggs {
            for group in 0..sizes.agg_radix_up / sizes.bundles[2] {
                let core = agg % sizes.aggs_per_pod + sizes.aggs_per_pod * group;
                sizes.link(&mut draft, line(2)?, 2, format!("agg{agg}"), format!("core{core}"))?;
            }
        }
    }
    Ok(draft)
}

fn add(
    draft: &mut Draft,
    name: &str,
    count: u64,
    line: usize,
    role: Role,
) -> Result<(), FormatError> {
    (0..count).try_for_each(|at| {
        let id = format!("{name}{at}");
        draft.node(Node { name: id.clone(), id, line, role: role.clone() })
    })
}

impl Sizes {
    /// A bundle of links between the tier below `upper` and `upper`. A switch's latency, which htsim
    /// adds to every packet that enters it, is part of the delay of the links that lead to it.
    fn link(
        &self,
        draft: &mut Draft,
        line: usize,
        upper: usize,
        a: String,
        b: String,
    ) -> Result<(), FormatError> {
        let wire = self.speeds[upper];
        let into = |latency: Time| Speed {
            rate: wire.rate,
            delay: wire.delay.map(|delay| delay.after(latency)),
        };
        let below = upper.checked_sub(1).map_or(Time::ZERO, |below| self.switch_latency[below]);
        let (there, back) = (into(self.switch_latency[upper]), into(below));
        (0..self.bundles[upper]).try_for_each(|_| {
            draft.two_way(Edge { a: a.clone(), b: b.clone(), line, speed: there }, back)
        })
    }
}
