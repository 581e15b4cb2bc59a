//! Simulated annealing over maps from destination hosts to core switches (§4.2.4).

use super::parts::PartsByHost;
use crate::placement::network::HostLocations;
use crate::placement::network::{Changes, Load, PathModel};
use crate::placement::network::{Fabric, Shape};
use crate::placement::{Flow, UNIT};
use slotline_net::rng::Stream;

/// A slot of a pool that has no host.
const NO_HOST: u32 = u32::MAX;

/// The factor of the acceptance probability, as a multiple of the first temperature, for a fabric of `hosts` hosts.
/// The thesis has one value for 16 hosts and one for large fabrics.
pub fn default_c(hosts: usize) -> f64 {
    if hosts <= 16 { 0.5 } else { 1_000.0 }
}

/// Whether a step is accepted that makes the excess larger by `worse`.
pub(super) fn accepts(worse: i64, factor: f64, stream: &mut Stream) -> bool {
    let exponent = -factor * worse as f64;
    worse <= 0 || (exponent > -40.0 && libm::exp(exponent) > stream.unit())
}

/// A map from destination hosts to path numbers. The path number is that of the core switch, the same
/// from all senders. As in the thesis, the map is kept from one call to the next.
///
/// The numbers are spread evenly over the hosts of a pod (in fabrics of two tiers, of an edge switch), and a step
/// swaps two of these hosts. Two points are missing in the pseudo-code or do not work there. Here a temperature of
/// zero ends the search before anything is divided by it, and the first map gives neighbours at an edge switch
/// different aggregation switches.
#[derive(Clone, Debug)]
pub struct Annealing {
    /// By slot, its host. The slots of a pool follow those of the pool before.
    host: Vec<u32>,
    /// By host, its slot.
    slot: Vec<u32>,
    /// By pool, its first slot; at the end, the number of slots.
    pools: Vec<u32>,
    /// By host, its pool.
    pool: Vec<u32>,
    /// By edge switch, its hosts.
    edges: Vec<Vec<u32>>,
    /// The number of path numbers.
    numbers: u32,
    /// Path numbers that differ by this lead to the same aggregation switch.
    stride: u32,
    parts: PartsByHost,
}

/// The number of path numbers, and the difference of two of them that lead to the same aggregation switch.
fn numbers(fabric: &Fabric) -> (u32, u32) {
    match &fabric.shape {
        Shape::Tiers(tiers) => (tiers.paths().max(1), tiers.aggs.max(1)),
        Shape::Listed(listed) => (listed.widest(), 1),
    }
}

impl Annealing {
    /// The first map for `fabric`.
    pub fn new(fabric: &Fabric) -> Annealing {
        let locations = &*fabric.locations;
        let (numbers, stride) = numbers(fabric);
        let groups = if locations.edges.len() > 1 {
            by_pod(locations, stride)
        } else {
            locations.hosts.clone()
        };
        let mut map = Annealing {
            host: Vec::new(),
            slot: vec![0; fabric.hosts()],
            pools: vec![0],
            pool: vec![0; fabric.hosts()],
            edges: locations.hosts.iter().filter(|hosts| hosts.len() > 1).cloned().collect(),
            numbers,
            stride,
            parts: PartsByHost::default(),
        };
        for (pool, hosts) in (0..).zip(groups) {
            let size = (hosts.len() as u32).next_multiple_of(numbers);
            for (slot, &host) in (map.host.len() as u32..).zip(&hosts) {
                (map.slot[host as usize], map.pool[host as usize]) = (slot, pool);
            }
            map.host.extend(hosts);
            let end = map.pools[pool as usize] + size;
            map.host.resize(end as usize, NO_HOST);
            map.pools.push(end);
        }
        map
    }
    /// The number of the path that all flows to a host take.
    pub fn number(&self, host: usize) -> u16 {
        self.number_at(self.slot[host]) as u16
    }
    fn number_at(&self, slot: u32) -> u32 {
        // The size of each pool is a multiple of `numbers`.
        slot % self.numbers
    }

    /// Searches a better map for `flows` in `iterations` steps from the present map on, and gives each flow its
    /// path. `c` is the factor of the acceptance probability exp(c (E - E') / T) as a multiple of the first
    /// temperature, with energies in units of the fastest NIC. Returns the excess of the best map found.
    pub fn place(
        &mut self,
        fabric: &mut Fabric,
        flows: &mut [Flow],
        iterations: u32,
        c: f64,
        stream: &mut Stream,
    ) -> i64 {
        fabric.prepare(flows);
        if numbers(fabric).0 != self.numbers {
            // Where paths are listed, their number is known when flows are.
            *self = Annealing::new(fabric);
        }
        let excess = match &fabric.shape {
            Shape::Tiers(tiers) => self.search(tiers, flows, iterations, c, stream),
            Shape::Listed(listed) => self.search(listed, flows, iterations, c, stream),
        };
        let numbers = self.numbers();
        for flow in flows {
            flow.path = Some(numbers[flow.dst.at()]);
        }
        excess
    }
    /// By host, the number of the path that all flows to it take.
    fn numbers(&self) -> Vec<u16> {
        self.slot.iter().map(|&slot| self.number_at(slot) as u16).collect()
    }
    fn search<T: PathModel>(
        &mut self,
        model: &T,
        flows: &[Flow],
        iterations: u32,
        c: f64,
        stream: &mut Stream,
    ) -> i64 {
        let mut load = self.parts.list(model, flows, &self.numbers());
        let mut changes = Changes::default();
        let factor = c * f64::from(iterations) / f64::from(UNIT);
        // The swaps since the best map are undone in the end.
        let (mut best, mut since) = (load.excess(), Vec::new());
        for temperature in (1..=iterations).rev() {
            if best == 0 {
                break;
            }
            let Some((a, b)) = self.neighbour(stream) else { continue };
            let before = load.excess();
            self.swap(model, &mut load, (a, b), &mut changes);
            if !accepts(load.excess() - before, factor / f64::from(temperature), stream) {
                load.take_back(&changes);
                self.exchange(a, b);
            } else if load.excess() < best {
                best = load.excess();
                since.clear();
            } else {
                since.push((a, b));
            }
        }
        for (a, b) in since.into_iter().rev() {
            self.exchange(a, b);
        }
        best
    }

    /// Two slots that may swap hosts, from one of the three generators of the thesis, which are equally frequent.
    fn neighbour(&self, stream: &mut Stream) -> Option<(u32, u32)> {
        let bits = stream.bits();
        let mut parts = [bits as u32, (bits >> 32) as u32].into_iter();
        let mut draw = |below: u32| {
            let part = parts.next().unwrap_or_else(|| stream.bits() as u32);
            ((u64::from(part) * u64::from(below)) >> 32) as u32
        };
        // Each generator has two of six kinds. The first swaps any hosts of a pod, the second hosts of an edge switch,
        // and the third has one kind for edge switches and one for aggregation switches.
        let kind = draw(6);
        let (a, b) = match kind {
            2..=4 if !self.edges.is_empty() => {
                let hosts = &self.edges[draw(self.edges.len() as u32) as usize];
                let pair = draw((hosts.len() * hosts.len()) as u32);
                let (a, b) = (pair / hosts.len() as u32, pair % hosts.len() as u32);
                [a, b].map(|at| self.slot[hosts[at as usize] as usize]).into()
            }
            _ => {
                let pool = draw(self.pools.len() as u32 - 1) as usize;
                let (first, end) = (self.pools[pool], self.pools[pool + 1]);
                // Both hosts use the same aggregation switch, or any.
                let stride = if kind == 5 { self.stride } else { 1 };
                let each = (end - first) / stride;
                let pair = draw(each * each);
                let first = if stride > 1 { first + draw(stride) } else { first };
                (first + pair / each * stride, first + pair % each * stride)
            }
        };
        (self.number_at(a) != self.number_at(b)).then_some((a, b))
    }
    /// Swaps the hosts of two slots, and so the numbers of their paths.
    #[inline]
    fn swap<T: PathModel>(
        &mut self,
        model: &T,
        load: &mut Load,
        (a, b): (u32, u32),
        changes: &mut Changes,
    ) {
        let (from, to) = (self.number_at(a), self.number_at(b));
        let [x, y] = [a, b].map(|slot| self.parts.of(self.host[slot as usize]));
        load.begin(changes);
        load.shift_all(model, x, (from, to), changes);
        load.shift_all(model, y, (to, from), changes);
        self.exchange(a, b);
    }
    fn exchange(&mut self, a: u32, b: u32) {
        self.host.swap(a as usize, b as usize);
        for slot in [a, b] {
            if let Some(host) = self.slot.get_mut(self.host[slot as usize] as usize) {
                *host = slot;
            }
        }
    }
}

/// Hosts by pod, in an order that gives neighbours different aggregation switches.
fn by_pod(locations: &HostLocations, aggs: u32) -> Vec<Vec<u32>> {
    let pod = |edges: &Vec<u32>| {
        let order = |(at, &edge): (usize, &u32)| {
            let hosts = locations.hosts[edge as usize].iter().zip(0u32..);
            hosts.map(move |(&host, i)| (i / aggs, at, i % aggs, host)).collect::<Vec<_>>()
        };
        let mut all: Vec<_> = edges.iter().enumerate().flat_map(order).collect();
        all.sort_unstable();
        all.into_iter().map(|(.., host)| host).collect()
    };
    locations.edges.iter().map(pod).collect()
}
