//! Measures the cost of the Fastpass arbiter: demand intake, timeslot allocation and completion under random
//! flows, and path selection on random matchings. CPU time of one thread.

use crate::Row;
use slotline_fastpass::{Allocator, BySlot, PathSelector, Policy};
use slotline_lab::usage;
use slotline_net::rng::Stream;

/// One case of the arbiter benchmark.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Case {
    /// Timeslot allocation.
    Allocate {
        /// Endpoints, all sending.
        endpoints: u32,
        /// Requested slots per available slot.
        load: f64,
        /// Slots per visit.
        quantum: u32,
        /// Whether the first visit of a batch takes no more than that.
        strict: bool,
    },
    /// Path selection among 32 racks of 32 hosts.
    Paths {
        /// Paths between racks. Each has room for `32 / paths` packets of a rack.
        paths: u16,
        /// The share of hosts that send.
        load: f64,
    },
}

/// The length of a case.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Length {
    /// Batches before the measurement, in which the queues reach their usual length.
    pub warm_up: u32,
    /// Blocks of 64 batches (or 256 timeslots for paths) that are measured.
    pub blocks: u32,
}

/// The length of `slotline bench arbiter`.
pub const USUAL: Length = Length { warm_up: 3_072, blocks: 25 };

/// Data of a timeslot in bits: a packet of 1,500 bytes.
const SLOT_BITS: f64 = 12_000.0;
/// Mean size of a flow in slots.
const FLOW_SLOTS: f64 = 10.0;
const BATCHES: u32 = 64;
const MATCHINGS: usize = 256;
const RACKS: u16 = 32;
const RACK_HOSTS: u16 = 32;

/// The cases of `slotline bench arbiter`.
pub fn cases() -> Vec<Case> {
    let allocate = [1, 4, 64].into_iter().flat_map(|quantum| {
        let sizes = [256, 1_024, 2_048].into_iter();
        sizes.flat_map(move |endpoints| {
            [0.5, 0.9, 0.99].map(|load| Case::Allocate { endpoints, load, quantum, strict: false })
        })
    });
    let strict = [256, 2_048].into_iter().flat_map(|endpoints| {
        [0.5, 0.9, 0.99].map(|load| Case::Allocate { endpoints, load, quantum: 1, strict: true })
    });
    let paths = [4, 32]
        .into_iter()
        .flat_map(|paths| [0.3, 0.5, 0.9, 0.99].map(|load| Case::Paths { paths, load }));
    allocate.chain(strict).chain(paths).collect()
}

impl Case {
    /// The name on the command line, for example `256:0.99:4` or `paths:32:0.9`.
    pub fn name(&self) -> String {
        match *self {
            Case::Allocate { endpoints, load, quantum, strict } => {
                let turns = if strict { ":strict" } else { "" };
                format!("{endpoints}:{load}:{quantum}{turns}")
            }
            Case::Paths { paths, load } => format!("paths:{paths}:{load}"),
        }
    }
    /// Runs the case in this thread.
    pub fn run(&self, length: Length) -> Vec<Row> {
        match *self {
            Case::Allocate { endpoints, load, quantum, strict } => {
                let mut bench = Allocation::new(endpoints, load, quantum, strict);
                (0..length.warm_up.div_ceil(BATCHES)).for_each(|_| {
                    bench.block();
                });
                let blocks: Vec<Block> = (0..length.blocks).map(|_| bench.block()).collect();
                allocation_rows(self, &blocks, bench.arbiter.active_pairs())
            }
            Case::Paths { paths, load } => self.paths(paths, load, length),
        }
    }
    fn paths(&self, paths: u16, load: f64, length: Length) -> Vec<Row> {
        let mut stream = Stream::named(1, "bench.paths", u64::from(paths));
        let slots: Vec<_> = (0..MATCHINGS).map(|_| matching(&mut stream, load)).collect();
        let packets: usize = slots.iter().map(Vec::len).sum();
        let mut selector =
            PathSelector::new(RACKS, paths, RACK_HOSTS / paths).expect("these are few paths");
        let mut out = Vec::new();
        let mut block = || {
            let began = usage::thread_cpu_s();
            for slot in &slots {
                selector.select(slot, &mut out).expect("these racks exist");
                std::hint::black_box(&out);
            }
            (usage::thread_cpu_s() - began) * 1e9 / packets as f64
        };
        let mut each: Vec<f64> = (0..=length.blocks).map(|_| block()).skip(1).collect();
        vec![self.row("paths", "per_packet", median(&mut each), "ns")]
    }
    fn row(&self, part: &str, name: &str, value: f64, unit: &str) -> Row {
        let (scenario, scheme) = match self {
            Case::Allocate { endpoints, load, quantum, strict } => {
                let turns = if *strict { ", strict" } else { "" };
                (format!("{endpoints} at {load}"), format!("quantum {quantum}{turns}"))
            }
            Case::Paths { paths, load } => (format!("32 x 32 at {load}"), format!("{paths} paths")),
        };
        Row {
            name: format!("{part}/{name}"),
            scenario,
            scheme,
            threads: 1,
            value,
            unit: unit.into(),
        }
    }
}

fn allocation_rows(case: &Case, blocks: &[Block], active: usize) -> Vec<Row> {
    let mut each: Vec<f64> = blocks.iter().map(|block| block.cpu_ns / block.slots).collect();
    let slot_ns = median(&mut each);
    let granted: f64 = blocks.iter().map(|block| block.slots).sum();
    let offered: f64 = blocks.iter().map(|block| block.capacity).sum();
    vec![
        case.row("allocate", "per_slot", slot_ns, "ns"),
        case.row("allocate", "per_core", SLOT_BITS / slot_ns / 1e3, "Tbit/s"),
        case.row("allocate", "utilisation", granted / offered, "of all slots"),
        case.row("allocate", "active_pairs", active as f64, "pairs"),
    ]
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The cost and the result of one block of batches.
struct Block {
    cpu_ns: f64,
    /// Slots granted.
    slots: f64,
    /// Available slots.
    capacity: f64,
}

/// An arbiter under load. Flows arrive as a Poisson process, each between two random endpoints. Their sizes in slots
/// have a geometric distribution (an exponential size in whole slots) with a mean of ten.
struct Allocation {
    arbiter: Allocator,
    /// The source and destination of each packet of a slot.
    slots: BySlot,
    uses: Uses,
    stream: Stream,
    endpoints: u32,
    /// Mean time between flows in batches.
    gap: f64,
    /// The time until the next flow arrives, from the start of the next batch.
    next: f64,
}

impl Allocation {
    fn new(endpoints: u32, load: f64, quantum: u32, strict: bool) -> Allocation {
        let arbiter = Allocator::new(endpoints as usize, Policy::MaxMin { quantum });
        let arbiter = arbiter.map(|arbiter| arbiter.with_strict_turns(strict));
        let gap = FLOW_SLOTS / (load * f64::from(endpoints) * 64.0);
        Allocation {
            arbiter: arbiter.expect("these are few endpoints"),
            slots: BySlot::new(endpoints as usize),
            uses: Uses::new(endpoints),
            stream: Stream::named(1, "bench.arbiter", 0),
            endpoints,
            gap,
            next: 0.0,
        }
    }
    /// Runs one block of batches. Arrivals are drawn before the clock starts. It runs until the grants of a batch are
    /// ordered by slot, as path selection needs them, and stands still while the batch is checked.
    fn block(&mut self) -> Block {
        let arrivals: Vec<_> = (0..BATCHES).map(|_| self.arrivals()).collect();
        let asked: u64 = arrivals.iter().flatten().map(|flow| u64::from(flow.2)).sum();
        let before = self.waiting();
        let mut cpu_ns = 0.0;
        for flows in &arrivals {
            let began = usage::thread_cpu_s();
            for &(src, dst, size) in flows {
                self.arbiter.add_demand(src, dst, size).expect("these endpoints exist");
            }
            self.slots.sort(self.arbiter.next_batch());
            cpu_ns += (usage::thread_cpu_s() - began) * 1e9;
            let valid = self.slots.slots().all(|slot| self.uses.are_single(slot));
            assert!(valid, "an endpoint is used twice in a slot");
        }
        let capacity = f64::from(self.endpoints) * f64::from(BATCHES * 64);
        Block { cpu_ns, slots: (before + asked - self.waiting()) as f64, capacity }
    }
    /// Slots that were requested and not yet granted.
    fn waiting(&self) -> u64 {
        self.arbiter.backlog().map(|(_, _, slots)| slots).sum()
    }
    /// The flows that arrive during one batch.
    fn arrivals(&mut self) -> Vec<(u16, u16, u32)> {
        let mut flows = Vec::new();
        while self.next < 1.0 {
            flows.push(self.flow());
            self.next += self.stream.exponential(self.gap);
        }
        self.next -= 1.0;
        flows
    }
    fn flow(&mut self) -> (u16, u16, u32) {
        let src = self.stream.below(self.endpoints.into()) as u32;
        let dst =
            (src + 1 + self.stream.below(u64::from(self.endpoints) - 1) as u32) % self.endpoints;
        // Rounding up an exponential size of this mean gives a mean of ten.
        let mean = -1.0 / (1.0 - 1.0 / FLOW_SLOTS).ln();
        (src as u16, dst as u16, self.stream.exponential(mean).ceil().max(1.0) as u32)
    }
}

/// The last slot in which each endpoint sent, and in which it received.
struct Uses {
    last: Vec<[u64; 2]>,
    slot: u64,
}

impl Uses {
    fn new(endpoints: u32) -> Uses {
        Uses { last: vec![[0; 2]; endpoints as usize], slot: 0 }
    }
    /// Whether no source and no destination occurs twice among the packets of the next slot.
    fn are_single(&mut self, packets: &[(u16, u16)]) -> bool {
        self.slot += 1;
        let Uses { last, slot } = self;
        let mut once = |end: u16, side: usize| {
            std::mem::replace(&mut last[usize::from(end)][side], *slot) != *slot
        };
        packets.iter().all(|&(src, dst)| once(src, 0) && once(dst, 1))
    }
}

/// The flows that arrive in each batch: source, destination, slots.
pub(crate) fn arrivals(endpoints: u32, load: f64, batches: usize) -> Vec<Vec<(u16, u16, u32)>> {
    let mut bench = Allocation::new(endpoints, load, 1, false);
    (0..batches).map(|_| bench.arrivals()).collect()
}

/// The packets between racks of one timeslot: a random matching of the hosts, each of which sends with probability
/// `load`. Their order is random, because an allocator's grants are not sorted by source either.
fn matching(stream: &mut Stream, load: f64) -> Vec<(u16, u16)> {
    let mut to: Vec<u16> = (0..RACKS * RACK_HOSTS).collect();
    stream.shuffle(&mut to);
    let ends = (0..).zip(to).map(|(src, dst): (u16, u16)| (src / RACK_HOSTS, dst / RACK_HOSTS));
    let mut packets: Vec<_> =
        ends.filter(|(src, dst)| stream.unit() < load && src != dst).collect();
    stream.shuffle(&mut packets);
    packets
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the long run all requested slots are granted.
    #[test]
    fn utilisation_follows_the_load() {
        let case = Case::Allocate { endpoints: 64, load: 0.8, quantum: 1, strict: true };
        let rows = case.run(Length { warm_up: 64, blocks: 8 });
        let utilisation = rows.iter().find(|row| row.name == "allocate/utilisation").unwrap();
        assert!((utilisation.value - 0.8).abs() < 0.03, "{rows:?}");
        assert!(rows.iter().all(|row| row.value > 0.0), "{rows:?}");
    }

    #[test]
    fn a_schedule_that_uses_an_endpoint_twice_is_found() {
        let mut uses = Uses::new(4);
        assert!(uses.are_single(&[(1, 2), (2, 1)]) && uses.are_single(&[(1, 2), (0, 3)]));
        assert!(!uses.are_single(&[(1, 2), (1, 3)]) && !uses.are_single(&[(1, 2), (3, 2)]));
    }

    #[test]
    fn each_case_is_measured() {
        let rows = Case::Paths { paths: 32, load: 0.9 }.run(Length { warm_up: 0, blocks: 1 });
        assert!(rows[0].value > 0.0);
        assert_eq!(cases().len(), 41);
    }
}
