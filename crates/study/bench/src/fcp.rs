//! Measures the cost of FCP for an arbiter and its endpoints: parsing and counting demand, counting and sending grants,
//! and the share of the network that control messages take. CPU time of one thread. The allocator and the path selector
//! run outside the measured time.

use crate::Row;
use slotline_fastpass::fcp::{
    ArbiterEvent, ArbiterSession, Config, EndpointSession, MessageBatch, SessionGrants,
    receive_all, send_grants,
};
use slotline_fastpass::wire::fcp::{self, Key};
use slotline_fastpass::{Allocator, BySlot, Choice, Grant, PathSelector, Policy};
use slotline_lab::usage;
use slotline_net::rng::Stream;
use slotline_net::time::Time;

/// One case: endpoints at 10 Gbit/s, in racks of 32.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Case {
    /// Endpoints, all sending.
    pub endpoints: u16,
    /// Requested slots per available slot.
    pub load: f64,
    /// Paths between racks.
    pub paths: u16,
    /// The number of times that an endpoint may send in a batch of 64 slots.
    pub bursts: u32,
}

/// The length of a case, in blocks of 16 batches.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Length {
    /// Blocks before the measurement.
    pub warm_up: u32,
    /// Measured blocks.
    pub blocks: u32,
}

/// The length of `slotline bench arbiter`.
pub const USUAL: Length = Length { warm_up: 16, blocks: 15 };

/// Data of a timeslot in bits: a packet of 1,500 bytes.
const SLOT_BITS: f64 = 12_000.0;
/// Mean size of a flow in slots.
const FLOW_SLOTS: f64 = 10.0;
/// The number of slots of a batch.
const SLOTS: u64 = 64;
/// The duration of a batch at 10 Gbit/s.
const BATCH: Time = Time::ns(1_200 * SLOTS);
/// The number of batches of a block.
const BLOCK: u32 = 16;
const RACK_HOSTS: u16 = 32;
/// Bytes of lower layers: IPv4 and UDP, Ethernet with its check sequence, preamble and gap.
const BELOW: usize = 28 + 18 + 20;

/// The cases of `slotline bench arbiter`.
pub fn cases() -> Vec<Case> {
    let case = |endpoints, (load, paths, bursts)| Case { endpoints, load, paths, bursts };
    let kinds = [(0.5, 1, 1), (0.9, 1, 1), (0.9, 1, 4), (0.9, 4, 1)];
    let sizes = [256, 1_024, 2_048].into_iter();
    sizes.flat_map(|endpoints| kinds.map(|kind| case(endpoints, kind))).collect()
}

impl Case {
    /// The name on the command line, for example `fcp:256:0.9:4:1`.
    pub fn name(&self) -> String {
        format!("fcp:{}:{}:{}:{}", self.endpoints, self.load, self.paths, self.bursts)
    }
    /// Runs the case in this thread.
    pub fn run(&self, length: Length) -> Vec<Row> {
        let mut bench = Bench::new(self);
        let mut measured = Measured { arbiters: bench.arbiters.clone(), ..Measured::default() };
        let mut block = || measured.replay(&bench.block());
        let all: Vec<Spent> = (0..length.warm_up + length.blocks).map(|_| block()).collect();
        self.rows(&all[length.warm_up as usize..])
    }
    fn rows(&self, blocks: &[Spent]) -> Vec<Row> {
        let median = |value: &dyn Fn(&Spent) -> f64| {
            let mut values: Vec<f64> = blocks.iter().map(value).collect();
            values.sort_unstable_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let share = |bytes: f64, count: f64, slots: f64| {
            100.0 * 8.0 * (bytes + count * BELOW as f64) / (slots * SLOT_BITS)
        };
        let slot_ns = median(&|spent| spent.arbiter() / spent.slots);
        let rows = [
            ("per_slot", slot_ns, "ns"),
            ("per_core", SLOT_BITS / slot_ns / 1e3, "Tbit/s"),
            ("per_request", median(&|spent| spent.arbiter() / spent.requests), "ns"),
            ("intake", median(&|spent| spent.intake / spent.requests), "ns per request"),
            ("answer", median(&|spent| spent.answer / spent.grants), "ns per grant"),
            ("slots", median(&|spent| spent.slots / spent.grants), "per grant"),
            ("endpoint", median(&|spent| spent.endpoint / spent.slots), "ns per slot"),
            ("requests", median(&|spent| spent.requests / spent.up), "per message"),
            ("grants", median(&|spent| spent.grants / spent.down), "per message"),
            ("control_up", median(&|s| share(s.up_bytes, s.up, s.slots)), "% of traffic"),
            ("control_down", median(&|s| share(s.down_bytes, s.down, s.slots)), "% of traffic"),
        ];
        rows.map(|(name, value, unit)| self.row(name, value, unit)).into()
    }
    fn row(&self, name: &str, value: f64, unit: &str) -> Row {
        let Case { endpoints, load, paths, bursts } = self;
        Row {
            name: format!("fcp/{name}"),
            scenario: format!("{endpoints} at {load}"),
            scheme: format!("{paths} paths, {bursts} bursts"),
            threads: 1,
            value,
            unit: unit.into(),
        }
    }
}

/// The cost of a block in ns of CPU time, and the amount of work in it.
#[derive(Clone, Copy, Default, Debug)]
struct Spent {
    intake: f64,
    answer: f64,
    endpoint: f64,
    requests: f64,
    grants: f64,
    slots: f64,
    up: f64,
    up_bytes: f64,
    down: f64,
    down_bytes: f64,
}

impl Spent {
    fn arbiter(&self) -> f64 {
        self.intake + self.answer
    }
}

/// Source, destination, path, slots.
type Over = (u16, u16, u16, u64);

/// The work of an arbiter between two bursts.
#[derive(Debug)]
struct Step {
    now: Time,
    base: u64,
    session_grants: SessionGrants,
    up: MessageBatch,
    /// CPU time of the endpoints in ns.
    endpoint: f64,
}

/// The arbiters whose work is measured. They repeat the recorded steps without anything else in between, so that their
/// state stays in the cache.
#[derive(Default, Debug)]
struct Measured {
    arbiters: Vec<ArbiterSession>,
    demands: Vec<(u32, ArbiterEvent)>,
    down: MessageBatch,
}

impl Measured {
    fn replay(&mut self, trace: &[Step]) -> Spent {
        let mut spent = Spent::default();
        trace.iter().for_each(|step| self.step(step, &mut spent));
        spent
    }
    fn step(&mut self, step: &Step, spent: &mut Spent) {
        self.demands.clear();
        self.down.clear();
        let began = usage::thread_cpu_s();
        receive_all(&mut self.arbiters, &step.up, step.now, &mut self.demands);
        let taken = usage::thread_cpu_s();
        grant(&mut self.arbiters, &step.session_grants, step.base, step.now, &mut self.down);
        spent.answer += (usage::thread_cpu_s() - taken) * 1e9;
        spent.intake += (taken - began) * 1e9;
        spent.endpoint += step.endpoint;
        spent.requests += self.demands.len() as f64;
        spent.grants += step.session_grants.grants().len() as f64;
        spent.slots += step
            .session_grants
            .grants()
            .iter()
            .map(|grant| f64::from(grant.slots.count_ones()))
            .sum::<f64>();
        spent.up += step.up.len() as f64;
        spent.up_bytes += step.up.bytes().len() as f64;
        spent.down += self.down.len() as f64;
        spent.down_bytes += self.down.bytes().len() as f64;
    }
}

/// Grants and sends everything that was decided since the last burst.
fn grant(
    arbiters: &mut [ArbiterSession],
    session_grants: &SessionGrants,
    base: u64,
    now: Time,
    messages: &mut MessageBatch,
) {
    let denied = send_grants(arbiters, session_grants, base, now, messages);
    assert_eq!(denied, [], "only requested slots are allocated");
}

/// Endpoints, arbiters, the allocator and the path selector.
struct Bench {
    case: Case,
    endpoints: Vec<EndpointSession>,
    arbiters: Vec<ArbiterSession>,
    allocator: Allocator,
    paths: Option<PathSelector>,
    stream: Stream,
    /// The time until the next flow arrives, in steps from now.
    next: f64,
    now: Time,
    base: u64,
    down: MessageBatch,
}

impl Bench {
    fn new(case: &Case) -> Bench {
        let nodes = u32::from(case.endpoints);
        let key = Key(*b"no secret at all");
        let gap = Time::ps(BATCH.as_ps() / u64::from(case.bursts));
        let config =
            |me, peer, seed| Config { gap, ..Config::with_defaults(key, me, peer, nodes, seed) };
        let endpoint = |me| EndpointSession::new(config(me, nodes, me.into()));
        let arbiter = |peer| ArbiterSession::new(config(nodes, peer, 1 << 32));
        let policy = Policy::MaxMin { quantum: 1 };
        let racks = case.endpoints / RACK_HOSTS;
        let paths = (case.paths > 1).then(|| {
            PathSelector::new(racks, case.paths, RACK_HOSTS / case.paths).expect("few paths")
        });
        Bench {
            case: *case,
            endpoints: (0..nodes).map(endpoint).collect(),
            arbiters: (0..nodes).map(arbiter).collect(),
            allocator: Allocator::new(case.endpoints.into(), policy).expect("few endpoints"),
            paths,
            stream: Stream::named(1, "bench.fcp", 0),
            next: 0.0,
            now: Time::ZERO,
            base: 0,
            down: MessageBatch::default(),
        }
    }
    /// The steps of a block.
    fn block(&mut self) -> Vec<Step> {
        (0..BLOCK).flat_map(|_| self.batch()).collect()
    }
    /// Runs a batch of 64 timeslots.
    fn batch(&mut self) -> Vec<Step> {
        let mut grants = Vec::new();
        self.allocator.allocate_batch(&mut grants);
        self.base += SLOTS;
        let mut session_grants = self.select(&grants);
        (0..self.case.bursts).map(|_| self.step(std::mem::take(&mut session_grants))).collect()
    }
    /// Runs a part of a batch: earlier messages arrive, and both sides send.
    fn step(&mut self, session_grants: SessionGrants) -> Step {
        self.now = self.now.after(Time::ps(BATCH.as_ps() / u64::from(self.case.bursts)));
        let (now, base) = (self.now, self.base);
        self.arrivals();
        let (up, endpoint) = self.endpoints();
        let mut demands = Vec::new();
        receive_all(&mut self.arbiters, &up, now, &mut demands);
        for (src, event) in demands {
            if let ArbiterEvent::Demand { dst, slots } = event {
                self.allocator
                    .add_demand(src as u16, dst as u16, slots)
                    .expect("these endpoints exist");
            }
        }
        self.down.clear();
        grant(&mut self.arbiters, &session_grants, base, now, &mut self.down);
        Step { now, base, session_grants, up, endpoint }
    }
    /// Lets the endpoints handle the messages that have arrived. Returns their messages and the CPU time.
    fn endpoints(&mut self) -> (MessageBatch, f64) {
        let (now, mut events, mut up) = (self.now, Vec::new(), MessageBatch::default());
        let Bench { endpoints, down, .. } = self;
        let began = usage::thread_cpu_s();
        for (to, bytes) in down.iter() {
            endpoints[to as usize].on_message(bytes, now, &mut events).ok();
            std::hint::black_box(&events);
            events.clear();
        }
        let mut out = Vec::new();
        for (at, end) in (0..).zip(endpoints) {
            while end.poll_message(now, &mut out) {
                up.push(at, &out);
            }
        }
        (up, (usage::thread_cpu_s() - began) * 1e9)
    }
    /// Grants by source, destination and path.
    fn select(&mut self, grants: &[Grant]) -> SessionGrants {
        let mut all: Vec<Over> = match &mut self.paths {
            None => grants.iter().map(|grant| (grant.src, grant.dst, 0, grant.slots)).collect(),
            Some(paths) => over(paths, self.case.endpoints as usize, grants),
        };
        all.sort_unstable();
        let mut session_grants = SessionGrants::default();
        for same in all.chunk_by(|a, b| (a.0, a.1, a.2) == (b.0, b.1, b.2)) {
            let (src, dst, path, _) = same[0];
            let slots = same.iter().fold(0, |slots, grant| slots | grant.3);
            session_grants.push(src.into(), fcp::Grant { dst: dst.into(), path, slots });
        }
        session_grants
    }
    /// The flows that begin in a step.
    fn arrivals(&mut self) {
        let endpoints = u64::from(self.case.endpoints);
        let steps = f64::from(self.case.bursts);
        let gap = FLOW_SLOTS * steps / (self.case.load * (endpoints * SLOTS) as f64);
        // Rounding up an exponential size of this mean gives a mean of ten.
        let mean = -1.0 / (1.0 - 1.0 / FLOW_SLOTS).ln();
        while self.next < 1.0 {
            self.next += self.stream.exponential(gap);
            let src = self.stream.below(endpoints);
            let dst = (src + 1 + self.stream.below(endpoints - 1)) % endpoints;
            let slots = self.stream.exponential(mean).ceil().max(1.0) as u32;
            self.endpoints[src as usize].demand(dst as u32, slots).expect("these endpoints exist");
        }
        self.next -= 1.0;
    }
}

/// The granted slots by source, destination and chosen path, slot by slot.
fn over(paths: &mut PathSelector, endpoints: usize, grants: &[Grant]) -> Vec<Over> {
    let (mut slots, mut all, mut choices) = (BySlot::new(endpoints), Vec::new(), Vec::new());
    slots.sort(grants.iter().copied());
    for (slot, packets) in slots.slots().enumerate() {
        let racks = packets.iter().map(|&(src, dst)| (src / RACK_HOSTS, dst / RACK_HOSTS));
        paths.select(&racks.collect::<Vec<_>>(), &mut choices).expect("these racks exist");
        let chosen =
            packets.iter().zip(&choices).filter_map(|(&(src, dst), choice)| match choice {
                Choice::Local => Some((src, dst, 0, 1 << slot)),
                Choice::Over(path) => Some((src, dst, *path, 1 << slot)),
                Choice::Unplaced => None,
            });
        all.extend(chosen);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_asked_for_is_granted_and_arrives() {
        for (paths, bursts) in [(1, 1), (4, 4)] {
            let mut bench = Bench::new(&Case { endpoints: 64, load: 0.7, paths, bursts });
            let steps: Vec<Step> = (0..100).flat_map(|_| bench.batch()).collect();
            let slots = |step: &Step| {
                step.session_grants
                    .grants()
                    .iter()
                    .map(|grant| grant.slots.count_ones())
                    .sum::<u32>()
            };
            let share = f64::from(steps.iter().map(slots).sum::<u32>()) / (64.0 * 64.0 * 100.0);
            assert!((share - 0.7).abs() < 0.05, "{share}");
            let counters = bench.arbiters.iter().map(|end| end.session().counters());
            assert_eq!(counters.map(|counters| counters.timeouts).sum::<u64>(), 0);
        }
    }

    #[test]
    fn what_is_replayed_is_what_happened() {
        let mut bench = Bench::new(&Case { endpoints: 64, load: 0.9, paths: 4, bursts: 1 });
        let mut measured = Measured { arbiters: bench.arbiters.clone(), ..Measured::default() };
        for _ in 0..20 {
            measured.replay(&bench.batch());
            assert_eq!(measured.down.bytes(), bench.down.bytes());
        }
        assert!(!bench.down.is_empty());
    }

    #[test]
    fn each_case_is_measured() {
        let case = Case { endpoints: 64, load: 0.9, paths: 4, bursts: 1 };
        let rows = case.run(Length { warm_up: 1, blocks: 2 });
        assert!(rows.iter().all(|row| row.value > 0.0), "{rows:?}");
        assert_eq!(cases().len(), 12);
    }
}
