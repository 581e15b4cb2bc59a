//! htsim's generic fat-tree (`fat_tree_topology.cpp` of csg-htsim): two or three tiers of switches, given
//! by their numbers of links. The fabric is exactly the one that htsim builds.

use super::draft::{Draft, Edge, Node, Role, Speed};
use super::htsim_sizes::Sizes;
use super::{Fabric, ReadError};
use crate::error::FormatError;
use crate::tree::short;
use slotline_net::time::Time;
use slotline_net::topology::GraphSpec;

pub(super) fn read(text: &str, asked: &GraphSpec) -> Result<Fabric, ReadError> {
    let file = parse(text)?;
    lay_out(&Sizes::of(&file)?)?.finish(asked)
}

/// A number and its line.
#[derive(Clone, Copy, Default)]
pub(super) struct Field {
    pub value: u64,
    pub line: usize,
}

/// The attributes of a tier of switches.
#[derive(Clone, Copy, Default)]
pub(super) struct Tier {
    pub line: usize,
    pub speed_gbps: Option<Field>,
    pub radix_down: Option<Field>,
    pub radix_up: Option<Field>,
    pub latency_ns: Option<Field>,
    pub switch_latency_ns: Option<Field>,
    pub oversubscribed: Option<Field>,
    pub bundle: Option<Field>,
}

/// The content of a file.
#[derive(Default)]
pub(super) struct File {
    pub nodes: Option<Field>,
    pub count: Option<Field>,
    pub pod_size: Option<Field>,
    pub tiers: [Option<Tier>; 3],
}

const HEADER: &str = "`Nodes`, `Tiers`, `Podsize`, or `Tier` with a number";
const OF_TIER: &str = "`Downlink_speed_Gbps`, `Radix_Down`, `Radix_Up`, `Downlink_Latency_ns`, \
    `Switch_Latency_ns`, `Oversubscribed`, `Bundle`, or the next `Tier`";

fn parse(text: &str) -> Result<File, FormatError> {
    let mut file = File::default();
    let mut current = None;
    for (line, tokens) in (1..).zip(text.lines()) {
        let tokens: Vec<&str> = tokens.split_whitespace().collect();
        let Some(key) = tokens.first().filter(|word| !word.starts_with('#')) else {
            continue;
        };
        let [_, value] = tokens[..] else {
            let message = format!("`{}` needs one number after it", short(key));
            return Err(FormatError::new(line, message));
        };
        let value: u32 = value.parse().map_err(|_| {
            let message = format!("`{}`: `{}` is not a whole number", short(key), short(value));
            FormatError::new(line, message)
        })?;
        let field = Field { value: value.into(), line };
        current = set(&mut file, current, key, field)?;
    }
    Ok(file)
}

/// Stores the value of one line. Returns the tier that the next lines describe.
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
                fail(format!("tier {at} is given twice, first in line {}", first.line))
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
        return fail(format!("`{key}` is given twice, first in line {}", first.line));
    }
    Ok(current)
}

/// The reason why a key is not valid here.
fn strange(key: &str, lower: &str, current: Option<usize>) -> String {
    let key = short(key);
    match (lower, current) {
        ("queue_up" | "queue_down", _) => {
            format!("`{key}`: queues are not part of the fabric; give the scheme's queue a `limit`")
        }
        ("radix_up", Some(2)) => format!("`{key}`: the switches of tier 2 have no uplinks"),
        ("nodes" | "tiers" | "podsize", Some(_)) => {
            format!("`{key}` must come before the first `Tier`")
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
}

/// Hosts and switches with htsim's numbers, and links in the order in which htsim makes them.
fn lay_out(sizes: &Sizes) -> Result<Draft, FormatError> {
    let mut draft = Draft::new([""; 3]);
    let (tors, aggs) = (sizes.tors_per_pod * sizes.pods, sizes.aggs_per_pod * sizes.pods);
    add(&mut draft, "h", sizes.nodes, Role::Host)?;
    for (name, count, level) in [("tor", tors, 0), ("agg", aggs, 1), ("core", sizes.cores, 2)] {
        let line = sizes.levels.get(level).map_or(1, |level| level.line);
        add(&mut draft, name, Field { value: count, line }, Role::Switch)?;
    }
    for host in 0..sizes.nodes.value {
        let tor = host / sizes.levels[0].down.value;
        link(sizes, &mut draft, 0, format!("h{host}"), format!("tor{tor}"))?;
    }
    for tor in 0..tors {
        let pod = tor / sizes.tors_per_pod;
        for agg in pod * sizes.aggs_per_pod..(pod + 1) * sizes.aggs_per_pod {
            link(sizes, &mut draft, 1, format!("tor{tor}"), format!("agg{agg}"))?;
        }
    }
    for agg in 0..aggs {
        for group in 0..sizes.cores / sizes.aggs_per_pod {
            let core = agg % sizes.aggs_per_pod + sizes.aggs_per_pod * group;
            link(sizes, &mut draft, 2, format!("agg{agg}"), format!("core{core}"))?;
        }
    }
    Ok(draft)
}

fn add(draft: &mut Draft, name: &str, count: Field, role: Role) -> Result<(), FormatError> {
    (0..count.value).try_for_each(|at| {
        let id = format!("{name}{at}");
        draft.node(Node { name: id.clone(), id, line: count.line, role: role.clone() })
    })
}

/// A bundle of links between the level below `upper` and `upper`. A switch's latency, which htsim adds
/// to every packet that enters it, is part of the delay of the links that lead to it.
fn link(
    sizes: &Sizes,
    draft: &mut Draft,
    upper: usize,
    a: String,
    b: String,
) -> Result<(), FormatError> {
    let level = &sizes.levels[upper];
    let into =
        |latency: Time| Speed { rate: Some(level.rate), delay: Some(level.delay.after(latency)) };
    let below = upper.checked_sub(1).map_or(Time::ZERO, |below| sizes.levels[below].latency);
    let (there, back) = (into(level.latency), into(below));
    (0..level.bundle.value).try_for_each(|_| {
        let edge = Edge { a: a.clone(), b: b.clone(), line: level.line, speed: there };
        draft.two_way(edge, back)
    })
}
