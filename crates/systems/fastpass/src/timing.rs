//! Timeslots in units of time and bytes.

use super::allocation::BATCH;
use super::spec::{Fastpass, LEAST_RESERVE, MOST_RESERVE, Messages};
use crate::wire::{OVERHEAD, fcp};
use slotline_net::error::SpecError;
use slotline_net::id::{HostId, NodeId};
use slotline_net::scheme::Surroundings;
use slotline_net::time::Time;
use slotline_net::topology::{Graph, NodeKind, Wire};
use slotline_net::units::Rate;
use std::collections::VecDeque;

/// The timing that all nodes share: timeslot `n` begins at `n` times its length.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Timing {
    /// Length of a timeslot.
    pub slot: Time,
    /// Bytes on the wire that a timeslot carries.
    pub capacity: u32,
    /// How long before it begins a batch of timeslots is allocated.
    pub lead: Time,
    /// The time over which hosts get their grants one after another.
    pub grant_span: Time,
    /// The slowest host's rate.
    pub slowest: Rate,
    /// The longest message, in bytes of FCP.
    pub message: u16,
    /// The share of a timeslot that is left for messages.
    pub reserve: f64,
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
        let slowest = slowest.ok_or_else(|| SpecError::new("control", "no hosts"))?;
        let packet = largest_packet(around);
        let message = longest_message(options, around, packet);
        let reserve = match spec.messages {
            Messages::First => spec.reserve.unwrap_or(LEAST_RESERVE),
            Messages::Reserved => {
                spec.reserve.unwrap_or_else(|| needed_reserve(around, message, packet))
            }
        };
        let shares = 1.0 - reserve;
        let needed =
            Time::from_secs_f64(slowest.inverse_rate().time_for(packet).as_secs_f64() / shares);
        // To the next nanosecond.
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
        if spec.processing >= slot.times(BATCH.into()) {
            return Err(SpecError::new(
                "control.processing",
                format!(
                    "`processing` is {}, but it has to be below {BATCH} timeslots of {slot}",
                    spec.processing
                ),
            ));
        }
        let share = Time::ps((slot.as_ps() as f64 * shares) as u64);
        let capacity =
            slowest.inverse_rate().bytes_in(share).max(packet).min(u32::MAX.into()) as u32;
        // This is half of the time before the batch begins and before the next one is allocated.
        let room = spec.lead.min(slot.times(BATCH.into())).since(spec.processing);
        let grant_span = Time::ps(room.as_ps() / 2);
        Ok(Timing { slot, capacity, lead: spec.lead, grant_span, slowest, message, reserve })
    }
    /// When a timeslot begins.
    #[inline]
    pub const fn start(&self, slot: u64) -> Time {
        self.slot.times(slot)
    }
    /// The first batch that can still be allocated at `now`.
    pub const fn next_batch(&self, now: Time) -> u64 {
        let batch = self.slot.as_ps() * BATCH as u64;
        now.after(self.lead).as_ps().div_ceil(batch)
    }
    /// When to allocate a batch; its first timeslot is 64 times its number.
    pub const fn allocation(&self, batch: u64) -> Time {
        self.start(batch * BATCH as u64).since(self.lead)
    }
}

/// The longest message. If a packet waits for one message at each port of its path, it waits for at most one
/// timeslot in total.
fn longest_message(options: &Fastpass, around: &Surroundings<'_>, packet: u64) -> u16 {
    match options.spec().messages {
        Messages::First => fcp::LONGEST as u16,
        Messages::Reserved => {
            let share = packet / u64::from(longest_path(around.graph).max(1));
            let most = share.saturating_sub(OVERHEAD.into()) as usize;
            most.clamp(fcp::SHORTEST, fcp::LONGEST) as u16
        }
    }
}

/// The share that messages need of the links between an arbiter's switch and other switches. Each host beyond
/// these links needs, in every batch, one of the longest messages or two of the shortest. A quarter is added.
fn needed_reserve(around: &Surroundings<'_>, message: u16, packet: u64) -> f64 {
    let switch_of = |host: HostId| around.wiring.of(around.graph.hosts[host.at()])[0].far.node;
    let share = |&arbiter: &HostId| {
        let switch = switch_of(arbiter);
        let is_switch =
            |wire: &&Wire| around.graph.nodes[wire.far.node.at()].kind == NodeKind::Switch;
        let links = around.wiring.of(switch).iter().filter(is_switch).count().max(1);
        let beyond = (0..around.hosts() as u32).filter(|&host| switch_of(HostId(host)) != switch);
        let one =
            u64::from(message + OVERHEAD).max(2 * (fcp::SHORTEST as u64 + u64::from(OVERHEAD)));
        let bytes = beyond.count() as u64 * one;
        1.25 * bytes as f64 / (links as u64 * u64::from(BATCH) * packet) as f64
    };
    let most = around.stations.iter().map(share).fold(LEAST_RESERVE, f64::max);
    most.min(MOST_RESERVE)
}

/// The number of links on the longest of the shortest paths from the first host to others.
fn longest_path(graph: &Graph) -> u32 {
    let mut away = vec![u32::MAX; graph.nodes.len()];
    let mut next: VecDeque<NodeId> = graph.hosts.first().copied().into_iter().collect();
    next.iter().for_each(|first| away[first.at()] = 0);
    let mut neighbours = vec![Vec::new(); graph.nodes.len()];
    for link in &graph.links {
        neighbours[link.a.node.at()].push(link.b.node);
        neighbours[link.b.node.at()].push(link.a.node);
    }
    let mut last = 0;
    while let Some(node) = next.pop_front() {
        last = away[node.at()];
        for &other in &neighbours[node.at()] {
            if away[other.at()] == u32::MAX {
                away[other.at()] = last + 1;
                next.push_back(other);
            }
        }
    }
    last
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
/// The errors of [`Timing::new`]; or a host is more than 65,535 times as fast as the slowest.
pub fn lanes(around: &Surroundings<'_>) -> Result<Vec<u16>, SpecError> {
    let rates = host_rates(around)?;
    let slowest = rates.iter().min().map_or(1, |rate| rate.0.max(1));
    let lanes = |rate: &Rate| {
        let message = format!("{rate} is too fast beside the slowest host");
        u16::try_from(rate.0 / slowest).map_err(|_| SpecError::new("control", message))
    };
    rates.iter().map(lanes).collect()
}
