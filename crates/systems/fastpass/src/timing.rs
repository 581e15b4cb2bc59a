//! Timeslots in units of time and bytes.

use super::spec::{Fastpass, LEAST_RESERVE, MOST_RESERVE};
use crate::wire::{OVERHEAD, fcp};
use slotline_net::error::SpecError;
use slotline_net::id::{HostId, NodeId};
use slotline_net::scheme::Surroundings;
use slotline_net::time::Time;
use slotline_net::topology::{NodeKind, Wire, Wiring};
use slotline_net::units::Rate;
use std::collections::VecDeque;

/// The timing that all nodes share: timeslot `n` begins at `n` times its length.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Timing {
    /// How many timeslots are allocated at once: those of the batches of all allocators.
    pub batch: u32,
    /// Length of a timeslot.
    pub slot: Time,
    /// Bytes on the wire that a timeslot carries.
    pub capacity: u32,
    /// The time from the allocation of a batch of timeslots until it begins.
    pub lead: Time,
    /// The time over which hosts get their grants one after another.
    pub grant_span: Time,
    /// The slowest host's rate.
    pub slowest: Rate,
    /// The longest message, in bytes of FCP.
    pub message: u16,
    /// The share of a timeslot that is left for messages.
    pub reserve: f64,
    /// Bytes that the links between an arbiter's switch and other switches carry in a batch, where messages
    /// share these links with packets and have only their reserve.
    pub message_links: Option<u64>,
    /// Bytes that the arbiter's own link carries in a batch, where messages go on to shared links.
    pub arbiter_link: Option<u64>,
}

impl Timing {
    /// Computes the timing for a network and its largest packet.
    ///
    /// # Errors
    /// A host has several network cards or receives faster than it sends, or a timeslot is too short for a
    /// packet.
    pub fn new(options: &Fastpass, around: &Surroundings<'_>) -> Result<Timing, SpecError> {
        let spec = options.spec();
        let slowest = host_rates(around)?.into_iter().min();
        let slowest = slowest.ok_or_else(|| SpecError::new("control", "fastpass needs hosts"))?;
        let packet = largest_packet(around);
        let message = longest_message(options, around, packet);
        let (batch, allocators) = (options.round(), spec.allocators);
        let slot_of = Slot { rate: slowest, packet, batch, allocators };
        let needs = options.is_reserved().then(|| busiest_need(around, message, slot_of)).flatten();
        let reserve = spec.reserve.unwrap_or_else(|| {
            needs.map_or(0.0, |need| need.share()).clamp(LEAST_RESERVE, MOST_RESERVE)
        });
        let shares = 1.0 - reserve;
        let needed =
            Time::from_secs_f64(slowest.inverse_rate().time_for(packet).as_secs_f64() / shares);
        // Rounded up to the next nanosecond.
        let needed = Time::ns(needed.as_ps().div_ceil(1_000));
        let slot = spec.slot.unwrap_or(needed);
        if slot < needed {
            return Err(SpecError::new(
                "control.slot",
                format!(
                    "`slot` is {slot}, but a full packet of {packet} B takes {needed} at {slowest}, \
                     with {} of the timeslot in reserve",
                    reserve
                ),
            ));
        }
        if spec.processing >= slot.times(batch.into()) {
            return Err(SpecError::new(
                "control.processing",
                format!(
                    "`processing` is {}, but it has to be below {} timeslots of {slot}",
                    spec.processing, batch
                ),
            ));
        }
        let share = Time::ps((slot.as_ps() as f64 * shares) as u64);
        let capacity =
            slowest.inverse_rate().bytes_in(share).max(packet).min(u32::MAX.into()) as u32;
        // Grants leave within half of the time until the batch begins or the next one is allocated.
        let room = spec.lead.min(slot.times(batch.into())).since(spec.processing);
        let grant_span = Time::ps(room.as_ps() / 2);
        let (message_links, arbiter_link) =
            (needs.map(|need| need.links), needs.map(|need| need.card));
        Ok(Timing {
            slot,
            batch,
            capacity,
            lead: spec.lead,
            grant_span,
            slowest,
            message,
            reserve,
            message_links,
            arbiter_link,
        })
    }
    /// When a timeslot begins.
    #[inline]
    pub const fn start(&self, slot: u64) -> Time {
        self.slot.times(slot)
    }
    /// The first batch that can still be allocated at `now`.
    pub const fn next_batch(&self, now: Time) -> u64 {
        let batch = self.slot.as_ps() * self.batch as u64;
        now.after(self.lead).as_ps().div_ceil(batch)
    }
    /// The first timeslot of a batch.
    pub const fn first_slot(&self, batch: u64) -> u64 {
        batch * self.batch as u64
    }
    /// When to allocate a batch.
    pub const fn allocation(&self, batch: u64) -> Time {
        self.start(self.first_slot(batch)).since(self.lead)
    }
}

/// The longest message. If a packet waits for one message at each port of its path, it waits for at most one
/// timeslot in total.
fn longest_message(options: &Fastpass, around: &Surroundings<'_>, packet: u64) -> u16 {
    if !options.is_reserved() {
        return fcp::LONGEST as u16;
    }
    let first = around.graph.hosts.first();
    let links = first
        .map_or(0, |first| Reach::from(around.wiring, around.graph.nodes.len(), *first).longest);
    let most = (packet / u64::from(links.max(1))).saturating_sub(OVERHEAD.into()) as usize;
    most.clamp(fcp::SHORTEST, fcp::LONGEST) as u16
}

/// The messages of a batch, and the links that carry them, in bytes per batch. Each host has one destination, and its
/// timeslots are spread over all paths.
#[derive(Clone, Copy)]
struct Need {
    /// The messages to hosts at other switches.
    messages: u64,
    /// What the links between the arbiter's switch and other switches carry.
    links: u64,
    /// What the arbiter's own link carries, on which there are only messages.
    card: u64,
}

impl Need {
    /// The share of the links that messages need, and a quarter more.
    fn share(self) -> f64 {
        1.25 * self.messages as f64 / self.links as f64
    }
}

/// A timeslot, which carries a packet of `packet` bytes at the slowest host's rate.
#[derive(Clone, Copy)]
struct Slot {
    rate: Rate,
    packet: u64,
    /// How many timeslots are allocated at once.
    batch: u32,
    /// By how many allocators.
    allocators: u32,
}

impl Slot {
    /// Bytes that a link of `rate` carries in a batch.
    fn batch_of(self, rate: Rate) -> u64 {
        let slots = u128::from(self.batch) * u128::from(self.packet);
        let bytes = slots * u128::from(rate.0) / u128::from(self.rate.0.max(1));
        bytes.min(u64::MAX.into()) as u64
    }
}

/// The need at the arbiter whose messages need the largest share of links. `None` if no host is at another switch.
fn busiest_need(around: &Surroundings<'_>, message: u16, slot: Slot) -> Option<Need> {
    let needs = around.stations.iter().filter_map(|&station| need(around, station, message, slot));
    needs.max_by(|a, b| a.share().total_cmp(&b.share()))
}

fn need(around: &Surroundings<'_>, arbiter: HostId, message: u16, slot: Slot) -> Option<Need> {
    let card = around.wiring.of(around.graph.hosts[arbiter.at()])[0];
    let switch_of = |host: HostId| around.wiring.of(around.graph.hosts[host.at()])[0].far.node;
    let switch = switch_of(arbiter);
    let is_switch = |wire: &&Wire| around.graph.nodes[wire.far.node.at()].kind == NodeKind::Switch;
    let uplinks = around.wiring.of(switch).iter().filter(is_switch);
    let links = uplinks.fold(0, |sum: u64, wire| sum.saturating_add(slot.batch_of(wire.lane.rate)));
    let beyond =
        (0..around.hosts() as u32).filter(|&host| switch_of(HostId(host)) != switch).count() as u64;
    let paths = Reach::from(around.wiring, around.graph.nodes.len(), switch).most_paths;
    let messages = beyond * batch_bytes(paths, message, slot);
    let card = slot.batch_of(card.lane.rate);
    (beyond > 0).then_some(Need { messages, links, card })
}

/// Bytes of a host's messages in a batch: one of the longest or two of the shortest, or as many as the grants of one
/// destination over `paths` paths take.
fn batch_bytes(paths: u64, message: u16, slot: Slot) -> u64 {
    let (overhead, shortest) = (u64::from(OVERHEAD), fcp::SHORTEST as u64);
    let allocators = u64::from(slot.allocators);
    let grants = allocators * paths.min(u64::from(slot.batch) / allocators);
    let fixed = shortest - fcp::GRANT as u64;
    let in_one = (u64::from(message) - fixed) / fcp::GRANT as u64;
    let messages = grants.div_ceil(in_one);
    let all = grants * fcp::GRANT as u64 + messages * (fixed + overhead);
    all.max(u64::from(message) + overhead).max(2 * (shortest + overhead))
}

/// Properties of the shortest paths from one node.
struct Reach {
    /// The number of links to the farthest node.
    longest: u32,
    /// The largest number of shortest paths to a node.
    most_paths: u64,
}

impl Reach {
    /// Of a network of `count` nodes.
    fn from(wiring: &Wiring, count: usize, first: NodeId) -> Reach {
        let mut away = vec![u32::MAX; count];
        let mut paths = vec![0u64; count];
        (away[first.at()], paths[first.at()]) = (0, 1);
        let (mut next, mut last) = (VecDeque::from([first.at()]), first.at());
        while let Some(node) = next.pop_front() {
            last = node;
            for wire in wiring.of(NodeId(node as u32)) {
                let other = wire.far.node.at();
                if away[other] == u32::MAX {
                    away[other] = away[node] + 1;
                    next.push_back(other);
                }
                if away[other] == away[node] + 1 {
                    paths[other] = paths[other].saturating_add(paths[node]);
                }
            }
        }
        Reach { longest: away[last], most_paths: paths.into_iter().max().unwrap_or(1) }
    }
}

/// Bytes of the largest packet on the wire.
fn largest_packet(around: &Surroundings<'_>) -> u64 {
    let transport = &around.plan.transport;
    u64::from(transport.data_len(transport.mss()))
}

/// The rate of each host's link, which is the same in both directions.
fn host_rates(around: &Surroundings<'_>) -> Result<Vec<Rate>, SpecError> {
    let rate = |host: usize| {
        let node = around.graph.hosts[host];
        let name = &around.graph.nodes[node.at()].name;
        let [wire] = around.wiring.of(node) else {
            let cards = around.wiring.of(node).len();
            let message = format!(
                "fastpass schedules hosts with one network card, but {name} has {cards}: set nics = 1 \
                 in the fabric"
            );
            return Err(SpecError::new("control", message));
        };
        let back = around.wiring.of(wire.far.node)[wire.far.port.at()].lane.rate;
        if back != wire.lane.rate {
            let message = format!(
                "fastpass needs hosts that receive as fast as they send, but {name} sends at {} and \
                 receives at {back}",
                wire.lane.rate
            );
            return Err(SpecError::new("control", message));
        }
        Ok(back)
    };
    (0..around.hosts()).map(rate).collect()
}

/// The number of packets per timeslot of each host: its rate divided by the slowest host's rate.
///
/// # Errors
/// The errors of [`Timing::new`], or a host is more than 65,535 times as fast as the slowest.
pub fn lanes(around: &Surroundings<'_>) -> Result<Vec<u16>, SpecError> {
    let rates = host_rates(around)?;
    let slowest = rates.iter().min().map_or(1, |rate| rate.0.max(1));
    let lanes = |rate: &Rate| {
        let message = || format!("{rate} is more than 65,535 times the slowest host's rate");
        u16::try_from(rate.0 / slowest).map_err(|_| SpecError::new("control", message()))
    };
    rates.iter().map(lanes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FastpassSpec;
    use slotline_net::node::host::{Plan, Spread};
    use slotline_net::route::{Routes, RoutingSpec};
    use slotline_net::scheme::system::System;
    use slotline_net::topology::{Down, TopologySpec};
    use slotline_net::transport::TransportSpec;
    use slotline_net::transport::congestion::AlgorithmKind;
    use slotline_net::workload::Traffic;
    use std::sync::Arc;

    /// The timing with all defaults in this fabric.
    fn timing(fabric: &str) -> Timing {
        let mut graph = toml::from_str::<TopologySpec>(fabric).unwrap().build().unwrap();
        let options = FastpassSpec::default().build().unwrap();
        let stations = options.stations(&graph).unwrap();
        let attach =
            |s: slotline_net::scheme::system::Station| graph.attach_host(s.name, s.switch, s.lane);
        let stations: Vec<HostId> = stations.into_iter().map(attach).collect();
        let transport = TransportSpec::of(AlgorithmKind::NewReno).build().unwrap();
        let keys = graph.host_keys();
        let plan = Plan::new(Traffic::default(), transport, Spread::Pinned, keys, 1).unwrap();
        let around = Surroundings {
            wiring: &graph.wiring(),
            routes: &Arc::new(Routes::build(&graph, RoutingSpec::Pinned, &Down::default(), 1)),
            plan: &Arc::new(plan),
            stations: &stations,
            seed: 1,
            incarnation: 0,
            elected: false,
            graph: &graph,
        };
        Timing::new(&options, &around).unwrap()
    }

    /// The reserve, in per cent of a timeslot.
    fn reserve(fabric: &str) -> f64 {
        100.0 * timing(fabric).reserve
    }

    /// These are the values of docs/fastpass.md.
    #[test]
    fn the_reserve_follows_paths_and_hosts() {
        for (fabric, low, high) in [
            ("kind = \"star\"\nhosts = 16", 1.0, 1.0),
            ("kind = \"fat-tree\"\nk = 4", 2.5, 3.5),
            ("kind = \"fat-tree\"\nk = 8", 25.0, 25.0),
        ] {
            let found = reserve(fabric);
            assert!((low..=high).contains(&found), "{fabric}: {found}");
        }
    }

    #[test]
    fn links_count_by_their_rate() {
        let fabric = |uplink: &str| {
            format!(
                "kind = \"leaf-spine\"\nleaves = 16\nspines = 4\nhosts-per-leaf = 8\nuplink-rate = \"{uplink}\""
            )
        };
        let (slow, fast) = (timing(&fabric("10Gbps")), timing(&fabric("40Gbps")));
        assert!(slow.reserve > 2.0 * LEAST_RESERVE && slow.reserve < MOST_RESERVE);
        assert!((slow.reserve / 4.0).max(LEAST_RESERVE) - fast.reserve < 1e-9, "{fast:?}");
        assert_eq!(slow.message_links.map(|bytes| 4 * bytes), fast.message_links);
        assert_eq!(slow.arbiter_link, fast.arbiter_link);
    }
}
