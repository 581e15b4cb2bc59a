//! How many switches htsim builds from its numbers of links, and what it refuses: the checks of
//! `FatTreeTopology::set_custom_params`, in their order.

use super::fail;
use super::htsim_topo::{Field, File, Tier};
use crate::error::FormatError;
use slotline_net::time::Time;
use slotline_net::units::Rate;

/// A tier of switches and the links downwards from it.
pub(super) struct Level {
    pub line: usize,
    speed: Field,
    pub rate: Rate,
    pub delay: Time,
    /// What a switch adds to each packet.
    pub latency: Time,
    pub down: Field,
    /// Zero in the uppermost tier.
    up: Field,
    over: Field,
    pub bundle: Field,
}

/// The numbers of hosts, pods and switches.
pub(super) struct Sizes {
    pub nodes: Field,
    pub pods: u64,
    pub tors_per_pod: u64,
    pub aggs_per_pod: u64,
    pub cores: u64,
    /// Two or three levels, the lowest first.
    pub levels: Vec<Level>,
}

/// The largest number of links of a fabric.
const MOST_LINKS: u64 = 1 << 18;

type Checked<T = ()> = Result<T, FormatError>;

/// A value that must be there and above zero.
fn needed(field: Option<Field>, key: &str, line: usize) -> Checked<Field> {
    match field {
        Some(field) if field.value > 0 => Ok(field),
        Some(field) => fail(field.line, format!("`{key}` must be above zero")),
        None => fail(line, format!("`{key}` is missing")),
    }
}

/// `a` / `b`, if it is a whole number.
fn divide(a: u64, b: u64, line: usize, why: impl FnOnce() -> String) -> Checked<u64> {
    match a.checked_rem(b) {
        Some(0) => Ok(a / b),
        _ => fail(line, why()),
    }
}

impl Sizes {
    pub fn of(file: &File) -> Checked<Sizes> {
        let nodes = needed(file.nodes, "Nodes", 1)?;
        let count = needed(file.count, "Tiers", 1)?;
        let pod_size = needed(file.pod_size, "Podsize", 1)?;
        let levels = levels(file, count)?;
        let (tor, agg) = (&levels[0], &levels[1]);
        let pods = pods(nodes, pod_size, count)?;
        let tors_per_pod = tors_per_pod(tor, pod_size)?;
        let tor_uplinks = uplinks(nodes.value, tor, agg, 0)?;
        check_size(nodes, nodes.value + tor_uplinks)?;
        let aggs_per_pod = aggs_per_pod(tor, agg, tor_uplinks, pods)?;
        let cores = match levels.get(2) {
            None => 0,
            Some(core) => {
                let agg_uplinks = uplinks(tor_uplinks, agg, core, 1)?;
                check_size(nodes, nodes.value + tor_uplinks + agg_uplinks)?;
                cores(agg, core, agg_uplinks, aggs_per_pod)?
            }
        };
        Ok(Sizes { nodes, pods, tors_per_pod, aggs_per_pod, cores, levels })
    }
}

fn levels(file: &File, count: Field) -> Checked<Vec<Level>> {
    if !(2..=3).contains(&count.value) {
        return fail(count.line, "`Tiers` must be 2 or 3");
    }
    let tiers = count.value as usize;
    if let Some(unused) = file.tiers[tiers..].iter().flatten().next() {
        let message = format!("`Tiers` is {tiers}, numbered from 0: this tier is not used");
        return fail(unused.line, message);
    }
    let level = |at: usize| match &file.tiers[at] {
        Some(tier) => level(tier, at, at + 1 == tiers),
        None => fail(count.line, format!("`Tier {at}` is missing")),
    };
    (0..tiers).map(level).collect()
}

fn level(tier: &Tier, at: usize, last: bool) -> Checked<Level> {
    let line = tier.line;
    let one = Field { value: 1, line };
    let speed = needed(tier.speed_gbps, "Downlink_speed_Gbps", line)?;
    let delay = needed(tier.latency_ns, "Downlink_Latency_ns", line)?;
    let bundle = needed(tier.bundle.or(Some(one)), "Bundle", line)?;
    if at == 0 && bundle.value != 1 {
        return fail(bundle.line, "`Bundle` of tier 0 must be 1: hosts have one link");
    }
    Ok(Level {
        line,
        speed,
        rate: Rate(speed.value * 1_000_000_000),
        delay: Time::ns(delay.value),
        latency: Time::ns(tier.switch_latency_ns.map_or(0, |latency| latency.value)),
        down: needed(tier.radix_down, "Radix_Down", line)?,
        up: if last { Field { value: 0, line } } else { needed(tier.radix_up, "Radix_Up", line)? },
        over: needed(tier.oversubscribed.or(Some(one)), "Oversubscribed", line)?,
        bundle,
    })
}

fn pods(nodes: Field, pod_size: Field, tiers: Field) -> Checked<u64> {
    if tiers.value == 2 && pod_size.value != nodes.value {
        let message =
            format!("with 2 tiers, all hosts are in one pod: `Podsize` must be {}", nodes.value);
        return fail(pod_size.line, message);
    }
    divide(nodes.value, pod_size.value, pod_size.line, || {
        format!("`Podsize` = {} does not divide `Nodes` = {}", pod_size.value, nodes.value)
    })
}

fn tors_per_pod(tor: &Level, pod_size: Field) -> Checked<u64> {
    let Level { down, up, over, .. } = tor;
    let count = divide(pod_size.value, down.value, down.line, || {
        format!("`Radix_Down` = {} does not divide `Podsize` = {}", down.value, pod_size.value)
    })?;
    if down.value / up.value == over.value {
        return Ok(count);
    }
    let message = format!(
        "{} links down over {} up is not `Oversubscribed` = {}",
        down.value, up.value, over.value
    );
    fail(over.line, message)
}

/// The number of links from a level upwards, if `below` links lead into it.
fn uplinks(below: u64, level: &Level, above: &Level, at: usize) -> Checked<u64> {
    let capacity = below.saturating_mul(level.speed.value);
    let share = above.speed.value.saturating_mul(level.over.value);
    divide(capacity, share, above.speed.line, || {
        format!(
            "{below} links of {} Gbit/s into tier {at}, oversubscribed {} times, are not a whole number of \
             links of {} Gbit/s",
            level.speed.value, level.over.value, above.speed.value
        )
    })
}

fn check_size(nodes: Field, links: u64) -> Checked {
    if links <= MOST_LINKS {
        return Ok(());
    }
    fail(nodes.line, format!("this fabric would have {links} links or more: at most {MOST_LINKS}"))
}

/// Checks that a switch has one bundle of uplinks to each switch above it.
fn check_radix(level: &Level, above: &Level, at: usize, count: u64) -> Checked {
    let (up, bundle) = (level.up.value, above.bundle);
    if count * bundle.value == up {
        return Ok(());
    }
    let message = format!(
        "a switch of tier {at} has `Radix_Up` = {up}, but there are {count} switches above it with \
         `Bundle` = {}: the radix must be their product",
        bundle.value
    );
    fail(bundle.line, message)
}

fn aggs_per_pod(tor: &Level, agg: &Level, uplinks: u64, pods: u64) -> Checked<u64> {
    let down = agg.down;
    let count = divide(uplinks, pods * down.value, down.line, || {
        format!(
            "{uplinks} uplinks of tier 0 in {pods} pods cannot be shared by switches with `Radix_Down` = {}",
            down.value
        )
    })?;
    check_radix(tor, agg, 0, count)?;
    Ok(count)
}

fn cores(agg: &Level, core: &Level, uplinks: u64, aggs_per_pod: u64) -> Checked<u64> {
    let down = core.down;
    let cores = divide(uplinks, down.value, down.line, || {
        format!("{uplinks} uplinks of tier 1 are not a multiple of `Radix_Down` = {}", down.value)
    })?;
    let above = divide(cores, aggs_per_pod, down.line, || {
        format!(
            "{cores} core switches cannot be shared evenly by {aggs_per_pod} switches of tier 1 in a pod"
        )
    })?;
    check_radix(agg, core, 1, above)?;
    Ok(cores)
}
