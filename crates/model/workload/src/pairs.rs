//! Every host sends to one other at a time: stride, staggered, random, permutation, hot spot.
//!
//! Patterns of Al-Fares et al., "Hedera" (NSDI 2010, section 5.2). In a closed loop, a host sends again when its
//! last flow is acknowledged, on the same connection if the destination is the same. With `load` the loop is open:
//! flows arrive at each host as a Poisson process, each on a connection of its own.

use super::job::{Job, after};
use super::one_to_one::OneToOne;
use super::options::options;
use super::spec::Generate;
use super::{ConnHandle, Hosts, Start, When};
use slotline_base::error::SpecError;
use slotline_base::id::HostId;
use slotline_base::rng::Stream;
use slotline_base::time::Time;
use slotline_base::units::Bytes;
use std::collections::BTreeMap;

/// Declares a pattern: its own options, and those that all patterns have.
macro_rules! pattern {
    ($(#[$meta:meta])* $name:ident { $($own:tt)* }) => {
        options! {
            $(#[$meta])* $name {
                $($own)*
                /// Hosts that take part, as senders and receivers.
                hosts: Hosts = Hosts::All,
                /// Bytes of each flow. With `exponential`, the mean.
                size: Bytes = Bytes(1_000_000),
                /// Whether sizes are exponentially distributed.
                exponential: bool = false,
                /// Number of flows that each host sends, one after another.
                repeats: u32 = 1,
                /// Instead of `repeats`: as many flows as the host's link could carry in this time, so
                /// that it has something to send throughout.
                #[serde(skip_serializing_if = "Option::is_none")]
                duration: Option<Time> = None,
                /// With `duration`: flows arrive at each host as a Poisson process during that time, whether
                /// or not earlier flows are done. The value is their payload as a share of what the host's link
                /// carries, above 0 and at most 1.
                #[serde(skip_serializing_if = "Option::is_none")]
                #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
                load: Option<f64> = None,
                /// When the first flows start.
                start: Time = Time::ZERO,
                /// Priority class, 0 to 7.
                #[schemars(range(max = 7))]
                class: u8 = 0,
            }
        }
        impl $name {
            fn rounds(&self) -> Rounds {
                let &$name { size, exponential, repeats, duration, load, start, class, .. } = self;
                Rounds { size, exponential, repeats, duration, load, start, class }
            }
        }
    };
}

pattern! {
    /// Host x sends to host x + `by`, counted in a circle over the hosts that take part.
    Stride {
        /// Distance in hosts.
        by: u32 = 1,
    }
}
pattern! {
    /// A host sends within its rack, within its pod, or beyond, with given probabilities.
    Staggered {
        /// Probability of a destination at the same edge switch.
        #[schemars(range(min = 0.0, max = 1.0))]
        edge: f64 = 0.5,
        /// Probability of a destination in the same pod at another edge switch.
        #[schemars(range(min = 0.0, max = 1.0))]
        pod: f64 = 0.3,
        /// Whether each host receives from exactly one other in each draw.
        ///
        /// Source: Al-Fares, "A Scalable, Adaptive, and Extensible Data Center Network Architecture", UC San
        /// Diego, 2012, section 3.5.2.
        one_to_one: bool = false,
        /// Whether to draw a new destination for each repeat.
        redraw: bool = true,
    }
}
pattern! {
    /// Each host sends to a random other. Several may send to the same host.
    Random {
        /// Whether to draw a new destination for each repeat.
        redraw: bool = true,
    }
}
pattern! {
    /// A random permutation: every host sends to one other and receives from one other.
    RandomBijective {
        /// Whether to draw a new permutation for each repeat.
        redraw: bool = true,
    }
}
pattern! {
    /// A share of the flows goes to a few hosts.
    HotSpot {
        /// The hosts that attract traffic.
        spots: Hosts = Hosts::Count(1),
        /// Share of flows that go to one of them. The rest go to any host.
        #[schemars(range(min = 0.0, max = 1.0))]
        share: f64 = 0.5,
        /// Whether to draw a new destination for each repeat.
        redraw: bool = true,
    }
}

/// The options that all patterns have.
struct Rounds {
    size: Bytes,
    exponential: bool,
    repeats: u32,
    duration: Option<Time>,
    load: Option<f64>,
    start: Time,
    class: u8,
}

impl Rounds {
    /// The number of flows that `host` sends.
    fn count(&self, job: &Job, host: HostId) -> Result<u64, SpecError> {
        let Some(duration) = self.duration else {
            return Ok(self.repeats.into());
        };
        if self.repeats != 1 {
            return Err(SpecError::new(
                "duration",
                "`duration` and `repeats` exclude each other: give one",
            ));
        }
        let span = duration.min(job.setting.horizon.since(self.start));
        let room = job.place(host).rate.inverse_rate().bytes_in(span);
        Ok(room.div_ceil(self.size.0.max(1)).max(1))
    }
}

impl Rounds {
    /// The bytes of the next flow.
    fn draw(&self, rng: &mut Stream) -> Bytes {
        match self.exponential {
            true => Bytes((rng.exponential(self.size.0 as f64) as u64).max(1)),
            false => self.size,
        }
    }
    /// The mean time between arrivals of flows at `host` and the time during which they arrive, in picoseconds.
    fn process(&self, job: &Job, load: f64, host: HostId) -> Result<(f64, f64), SpecError> {
        if !(load > 0.0 && load <= 1.0) {
            let message = format!(
                "`load` = {load}: expected a share of the link's rate, above 0 and at most 1"
            );
            return Err(SpecError::new("load", message));
        }
        let Some(duration) = self.duration else {
            let message = "`load` needs `duration`: flows arrive during that time";
            return Err(SpecError::new("load", message));
        };
        let gap = 8e12 * self.size.0.max(1) as f64 / (load * job.place(host).rate.0.max(1) as f64);
        let span = duration.min(job.setting.horizon.since(self.start)).as_ps() as f64;
        Ok((gap, span))
    }
    /// The times of at most the first `most` arrivals.
    fn arrivals(&self, job: &mut Job, (gap, span): (f64, f64), most: u64) -> Vec<Time> {
        let mut at = job.rng.exponential(gap);
        let mut times = Vec::new();
        while at < span && (times.len() as u64) < most {
            times.push(self.start.after(Time::ps(at as u64)));
            at += job.rng.exponential(gap);
        }
        times
    }
}

/// One host's flows, one after another.
struct Chain {
    host: HostId,
    left: u64,
    next: Start,
    conns: BTreeMap<HostId, ConnHandle>,
}

impl Chain {
    /// Adds the next flow.
    fn step(&mut self, job: &mut Job, dst: HostId, rounds: &Rounds) -> Result<(), SpecError> {
        if self.left == 0 {
            return Ok(());
        }
        self.left -= 1;
        let conn = match self.conns.get(&dst) {
            Some(conn) => *conn,
            None => job.tcp(self.host, dst, rounds.class)?,
        };
        self.conns.insert(dst, conn);
        let then = (self.left > 0).then(|| job.out.trigger(self.host, 1));
        let size = rounds.draw(&mut job.rng);
        job.send(conn, size, self.next, then.map(|t| (t, When::Acked)))?;
        self.next = then.map_or(self.next, after);
        Ok(())
    }
}

/// `draw` gives one destination for each of `hosts`. It is called again for each round if `redraw`.
fn generate(
    job: &mut Job,
    hosts: &[HostId],
    rounds: Rounds,
    redraw: bool,
    mut draw: impl FnMut(&mut Stream) -> Vec<HostId>,
) -> Result<(), SpecError> {
    if let Some(load) = rounds.load {
        return open_loop(job, hosts, (&rounds, load), redraw, draw);
    }
    let counts: Result<Vec<u64>, _> = hosts.iter().map(|&host| rounds.count(job, host)).collect();
    let counts = counts?;
    job.out.check_room("repeats", counts.iter().copied().fold(0, u64::saturating_add))?;
    let chain = |(&host, &left)| Chain {
        host,
        left,
        next: Start::At(rounds.start),
        conns: BTreeMap::new(),
    };
    let mut chains: Vec<Chain> = hosts.iter().zip(&counts).map(chain).collect();
    let mut to = draw(&mut job.rng);
    for round in 0..counts.iter().copied().max().unwrap_or(0) {
        if redraw && round > 0 {
            to = draw(&mut job.rng);
        }
        for (chain, &dst) in chains.iter_mut().zip(&to) {
            chain.step(job, dst, &rounds)?;
        }
    }
    Ok(())
}

/// Adds flows that arrive whether or not others are done. In a sample, each host has only its first flows.
fn open_loop(
    job: &mut Job,
    hosts: &[HostId],
    (rounds, load): (&Rounds, f64),
    redraw: bool,
    mut draw: impl FnMut(&mut Stream) -> Vec<HostId>,
) -> Result<(), SpecError> {
    let processes: Result<Vec<(f64, f64)>, _> =
        hosts.iter().map(|&host| rounds.process(job, load, host)).collect();
    let processes = processes?;
    let expected = |(gap, span): (f64, f64)| (span / gap) as u64;
    let all = processes.iter().copied().map(expected).fold(0, u64::saturating_add);
    job.out.check_room("load", all)?;
    let is_sample = job.out.thinned(all, all) < all;
    let mut arrivals = Vec::new();
    for process in processes {
        let most = job.out.thinned(expected(process), all);
        arrivals.push(rounds.arrivals(job, process, if is_sample { most } else { u64::MAX }));
    }
    let made = arrivals.iter().map(|times| times.len() as u64).sum();
    job.out.check_room("load", made)?;
    let mut to = draw(&mut job.rng);
    for round in 0..arrivals.iter().map(Vec::len).max().unwrap_or(0) {
        if redraw && round > 0 {
            to = draw(&mut job.rng);
        }
        for ((&host, times), &dst) in hosts.iter().zip(&arrivals).zip(&to) {
            let Some(&at) = times.get(round) else { continue };
            let conn = job.tcp(host, dst, rounds.class)?;
            let size = rounds.draw(&mut job.rng);
            job.send(conn, size, Start::At(at), None)?;
        }
    }
    if is_sample {
        job.out.end_thinned();
    }
    Ok(())
}

impl Generate for Stride {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        let hosts = job.peers("hosts", &self.hosts)?;
        let by = self.by as usize % hosts.len();
        if by == 0 {
            let message = format!(
                "a stride of {} among {} hosts leads back to the sender",
                self.by,
                hosts.len()
            );
            return Err(SpecError::new("by", message));
        }
        let to: Vec<HostId> = (0..hosts.len()).map(|at| hosts[(at + by) % hosts.len()]).collect();
        generate(job, &hosts, self.rounds(), false, |_| to.clone())
    }
}

/// Any of `hosts` but the one at `at`.
fn other(rng: &mut Stream, hosts: &[HostId], at: usize) -> HostId {
    let drawn = rng.below(hosts.len() as u64 - 1) as usize;
    hosts[drawn + usize::from(drawn >= at)]
}

impl Generate for Random {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        let hosts = job.peers("hosts", &self.hosts)?;
        generate(job, &hosts, self.rounds(), self.redraw, |rng| {
            (0..hosts.len()).map(|at| other(rng, &hosts, at)).collect()
        })
    }
}

impl Generate for RandomBijective {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        let hosts = job.peers("hosts", &self.hosts)?;
        let mut to = hosts.clone();
        generate(job, &hosts, self.rounds(), self.redraw, |rng| {
            // By rejection, all permutations without a fixed point are equally likely. One in e has none.
            loop {
                rng.shuffle(&mut to);
                if to.iter().zip(&hosts).all(|(a, b)| a != b) {
                    return to.clone();
                }
            }
        })
    }
}

/// A probability or share.
fn share(key: &str, value: f64) -> Result<f64, SpecError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    Err(SpecError::new(key, format!("`{key}` = {value}: expected a share from 0 to 1")))
}

impl Generate for HotSpot {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        let hot = share("share", self.share)?;
        let hosts = job.peers("hosts", &self.hosts)?;
        let spots = job.hosts("spots", &self.spots, &[])?;
        let places: Vec<Option<usize>> =
            hosts.iter().map(|host| spots.iter().position(|spot| spot == host)).collect();
        let target = |rng: &mut Stream, at: usize| match (rng.unit() < hot, places[at]) {
            (true, None) => spots[rng.below(spots.len() as u64) as usize],
            (true, Some(own)) if spots.len() > 1 => other(rng, &spots, own),
            _ => other(rng, &hosts, at),
        };
        generate(job, &hosts, self.rounds(), self.redraw, |rng| {
            (0..hosts.len()).map(|at| target(rng, at)).collect()
        })
    }
}

/// The possible destinations of a host: at the same edge switch, elsewhere in the pod, and in other pods.
type Reach = [Vec<HostId>; 3];

impl Staggered {
    /// The parts of a [`Reach`] that are used, with their cumulative probabilities.
    fn parts(&self) -> Result<Vec<(usize, f64)>, SpecError> {
        let (edge, pod) = (share("edge", self.edge)?, share("pod", self.pod)?);
        let beyond = 1.0 - edge - pod;
        // The rounding error of 1 - 0.7 - 0.3 is neither an input error nor a probability of other pods.
        if beyond < -1e-9 {
            let message =
                format!("`edge` = {edge} and `pod` = {pod} are probabilities: their sum exceeds 1");
            return Err(SpecError::new("edge", message));
        }
        let sums = [(0, edge, edge), (1, pod, edge + pod), (2, beyond, 1.0)];
        let used = sums.iter().filter(|(_, odds, _)| *odds > 1e-9);
        Ok(used.map(|&(part, _, sum)| (part, sum)).collect())
    }
}

fn reach(job: &Job, hosts: &[HostId], from: HostId) -> Reach {
    let own = job.place(from);
    let mut reach = Reach::default();
    for &host in hosts.iter().filter(|&&host| host != from) {
        let place = job.place(host);
        let part = if place.edge == own.edge { 0 } else { 1 + usize::from(place.pod != own.pod) };
        reach[part].push(host);
    }
    reach
}

fn check_reach(from: HostId, reach: &Reach, parts: &[(usize, f64)]) -> Result<(), SpecError> {
    let names = [
        ("edge", "at its edge switch"),
        ("pod", "elsewhere in its pod"),
        ("edge", "in other pods"),
    ];
    match parts.iter().find(|(part, _)| reach[*part].is_empty()) {
        None => Ok(()),
        Some(&(part, _)) => {
            let (key, place) = names[part];
            let message =
                format!("host {} would at times send to a host {place}: there is none", from.0);
            Err(SpecError::new(key, message))
        }
    }
}

impl Generate for Staggered {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        let parts = self.parts()?;
        let hosts = job.peers("hosts", &self.hosts)?;
        let reaches: Vec<Reach> = hosts.iter().map(|&host| reach(job, &hosts, host)).collect();
        for (&host, reach) in hosts.iter().zip(&reaches) {
            check_reach(host, reach, &parts)?;
        }
        let part = |rng: &mut Stream| {
            let u = rng.unit();
            parts[parts.partition_point(|&(_, sum)| sum <= u).min(parts.len() - 1)].0
        };
        generate(job, &hosts, self.rounds(), self.redraw, |rng| {
            if self.one_to_one {
                let drawn: Vec<usize> = hosts.iter().map(|_| part(rng)).collect();
                let near = |at: usize| reaches[at][drawn[at]].as_slice();
                return OneToOne::draw(rng, &hosts, near);
            }
            let target = |reach: &Reach| {
                let part = &reach[part(rng)];
                part[rng.below(part.len() as u64) as usize]
            };
            reaches.iter().map(target).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{fabric, made, refusal};
    use super::super::{Traffic, WorkloadSpec};
    use super::*;
    use slotline_base::units::Rate;

    fn destinations(traffic: &Traffic) -> Vec<(u32, u32)> {
        let ends = |conn: slotline_base::id::ConnId| {
            (traffic.conns[conn.at()].src.0, traffic.conns[conn.at()].dst.0)
        };
        traffic.flows.iter().map(|flow| ends(flow.conn)).collect()
    }

    /// Whether `count` of `n` draws is the share `expected`, within four standard deviations.
    fn close(count: usize, n: usize, expected: f64) -> bool {
        let share = count as f64 / n as f64;
        (share - expected).abs() <= 4.0 * (expected * (1.0 - expected) / n as f64).sqrt()
    }

    #[test]
    fn stride_is_a_circle() {
        let spec = Stride { by: 5, hosts: "0-7".parse().unwrap(), ..Stride::default() };
        let pairs = destinations(&made(&WorkloadSpec::Stride(spec), &fabric()));
        assert_eq!(pairs, (0..8).map(|x| (x, (x + 5) % 8)).collect::<Vec<_>>());
        let back = Stride { by: 8, hosts: "0-7".parse().unwrap(), ..Stride::default() };
        assert!(refusal(&WorkloadSpec::Stride(back), &fabric()).contains("leads back"));
    }

    #[test]
    fn repeats_are_a_chain_on_one_connection() {
        let spec = Stride { repeats: 3, ..Stride::default() };
        let traffic = made(&WorkloadSpec::Stride(spec), &fabric());
        assert_eq!(
            (traffic.conns.len(), traffic.flows.len(), traffic.triggers.len()),
            (64, 192, 128)
        );
        for conn in &traffic.conns {
            let flows = &traffic.flows[conn.first.at()..][..3];
            assert_eq!(flows[0].start, Start::At(Time::ZERO));
            assert_eq!(flows[1].start, after(flows[0].then.unwrap().0));
            assert_eq!(flows[2].start, after(flows[1].then.unwrap().0));
            assert_eq!(flows[2].then, None);
        }
    }

    #[test]
    fn a_duration_is_filled_at_line_rate() {
        let mut shape = fabric();
        shape.hosts[1].rate = Rate(40_000_000_000);
        let duration = Some(Time::ms(1));
        let spec = Stride { size: Bytes(100_000), duration, ..Stride::default() };
        let traffic = made(&WorkloadSpec::Stride(spec.clone()), &shape);
        // 10 Gbit/s carry 1.25 MB in a millisecond, 40 Gbit/s carry 5 MB.
        assert_eq!((traffic.conns[0].count, traffic.conns[1].count), (13, 50));
        let both = WorkloadSpec::Stride(Stride { repeats: 2, ..spec });
        assert!(refusal(&both, &shape).contains("exclude each other"));
    }

    #[test]
    fn open_loops_offer_their_load() {
        let spec = RandomBijective {
            size: Bytes(100_000),
            exponential: true,
            load: Some(0.5),
            duration: Some(Time::ms(20)),
            redraw: false,
            ..RandomBijective::default()
        };
        let traffic = made(&WorkloadSpec::RandomBijective(spec.clone()), &fabric());
        // 64 hosts of 10 Gbit/s at half of their rate: 0.8 GB in 20 ms.
        let n = traffic.flows.len() as f64;
        assert!((n - 8_000.0).abs() < 4.0 * 8_000f64.sqrt(), "{n}");
        let bytes: Vec<f64> = traffic.flows.iter().map(|flow| flow.bytes as f64).collect();
        let mean = bytes.iter().sum::<f64>() / n;
        assert!((mean - 1e5).abs() < 4.0 * 1e5 / n.sqrt(), "{mean}");
        let small = bytes.iter().filter(|bytes| **bytes < 1e5 * 2f64.ln()).count();
        assert!(close(small, bytes.len(), 0.5), "the median of an exponential distribution");
        assert_eq!(traffic.conns.len(), traffic.flows.len());
        let pairs: std::collections::BTreeSet<_> = destinations(&traffic).into_iter().collect();
        assert_eq!(pairs.len(), 64, "a host's flows go to one other");
        let late = |start| !matches!(start, Start::At(at) if at < Time::ms(20));
        assert!(!traffic.flows.iter().any(|flow| late(flow.start)));
        for (wrong, key) in [
            (RandomBijective { load: Some(0.0), ..spec.clone() }, "`load` = 0"),
            (RandomBijective { duration: None, ..spec }, "`load` needs `duration`"),
        ] {
            let why = refusal(&WorkloadSpec::RandomBijective(wrong), &fabric());
            assert!(why.contains(key), "{why}");
        }
    }

    #[test]
    fn bijective_rounds_are_permutations_without_fixed_points() {
        for redraw in [true, false] {
            let spec = RandomBijective { repeats: 5, redraw, ..RandomBijective::default() };
            let traffic = made(&WorkloadSpec::RandomBijective(spec), &fabric());
            let pairs = destinations(&traffic);
            assert!(pairs.iter().all(|(src, dst)| src != dst));
            let mut received = [0; 64];
            pairs.iter().for_each(|&(_, dst)| received[dst as usize] += 1);
            assert_eq!(received, [5; 64]);
            assert_eq!(traffic.conns.len() == 64, !redraw);
        }
        // One round alone.
        let spec = WorkloadSpec::RandomBijective(RandomBijective::default());
        let mut to: Vec<u32> = destinations(&made(&spec, &fabric())).iter().map(|p| p.1).collect();
        to.sort_unstable();
        assert_eq!(to, (0..64).collect::<Vec<_>>());
    }

    #[test]
    fn random_is_uniform_over_the_others() {
        let spec = Random { repeats: 2_000, hosts: "0-4".parse().unwrap(), ..Random::default() };
        let pairs = destinations(&made(&WorkloadSpec::Random(spec), &fabric()));
        for src in 0..5 {
            for dst in 0..5 {
                let count = pairs.iter().filter(|&&pair| pair == (src, dst)).count();
                assert!(
                    close(count, 2_000, if src == dst { 0.0 } else { 0.25 }),
                    "{src} {dst} {count}"
                );
            }
        }
    }

    #[test]
    fn staggered_keeps_its_probabilities() {
        let shape = fabric();
        let spec = Staggered { edge: 0.2, pod: 0.3, repeats: 200, ..Staggered::default() };
        let pairs = destinations(&made(&WorkloadSpec::Staggered(spec), &shape));
        let place = |host: u32| shape.hosts[host as usize];
        let edge = pairs.iter().filter(|(a, b)| place(*a).edge == place(*b).edge).count();
        let pod = pairs.iter().filter(|(a, b)| place(*a).pod == place(*b).pod).count() - edge;
        assert!(pairs.iter().all(|(a, b)| a != b));
        assert!(close(edge, pairs.len(), 0.2) && close(pod, pairs.len(), 0.3), "{edge} {pod}");
    }

    #[test]
    fn staggered_destinations_one_to_one_keep_their_probabilities() {
        let shape = fabric();
        let part = |edge, pod| {
            let one_to_one = true;
            let spec = Staggered { edge, pod, one_to_one, repeats: 200, ..Staggered::default() };
            let pairs = destinations(&made(&WorkloadSpec::Staggered(spec), &shape));
            assert!(pairs.iter().all(|(a, b)| a != b));
            let mut received = [0; 64];
            pairs.iter().for_each(|&(_, dst)| received[dst as usize] += 1);
            assert_eq!(received, [200; 64]);
            let place = |host: u32| shape.hosts[host as usize];
            let near = pairs.iter().filter(|(a, b)| place(*a).edge == place(*b).edge).count();
            let pods = pairs.iter().filter(|(a, b)| place(*a).pod == place(*b).pod).count();
            [near, pods - near, pairs.len() - pods].map(|count| count as f64 / pairs.len() as f64)
        };
        for (edge, pod) in [(0.5, 0.3), (0.2, 0.3), (0.0, 0.5), (1.0, 0.0), (0.0, 1.0)] {
            let [at_edge, in_pod, beyond] = part(edge, pod);
            // Wishes that exclude each other are few: 1 % here.
            let close = |ours: f64, odds: f64| (ours - odds).abs() < 0.015;
            let all = close(at_edge, edge) && close(in_pod, pod) && close(beyond, 1.0 - edge - pod);
            assert!(all, "{edge} {pod}: {at_edge} {in_pod} {beyond}");
            assert!(edge < 1.0 || at_edge == 1.0);
        }
    }

    #[test]
    fn hosts_whose_wishes_exclude_each_other_send_elsewhere() {
        // Hosts 0 and 1 want to send to other pods, but only host 16 is in another one.
        let hosts = "0,1,16".parse().unwrap();
        let (edge, pod, one_to_one) = (0.0, 0.0, true);
        let spec = Staggered { edge, pod, hosts, one_to_one, repeats: 20, ..Staggered::default() };
        let pairs = destinations(&made(&WorkloadSpec::Staggered(spec), &fabric()));
        for dst in [0, 1, 16] {
            assert_eq!(pairs.iter().filter(|pair| pair.1 == dst).count(), 20);
        }
        assert!(pairs.iter().all(|(src, dst)| src != dst));
    }

    #[test]
    fn staggered_extremes_and_impossibilities() {
        let shape = fabric();
        let with = |edge, pod, hosts: &str| {
            let hosts = hosts.parse().unwrap();
            WorkloadSpec::Staggered(Staggered {
                edge,
                pod,
                hosts,
                repeats: 20,
                ..Staggered::default()
            })
        };
        let pod_of = |host: u32| shape.hosts[host as usize].pod;
        let inside = destinations(&made(&with(0.7, 0.3, "all"), &shape));
        assert!(inside.iter().all(|&(a, b)| pod_of(a) == pod_of(b)));
        let outside = destinations(&made(&with(0.0, 0.0, "all"), &shape));
        assert!(outside.iter().all(|&(a, b)| pod_of(a) != pod_of(b)));
        assert!(refusal(&with(0.5, 0.0, "0,4"), &shape).contains("at its edge switch"));
        assert!(refusal(&with(0.5, 0.0, "0-3"), &shape).contains("in other pods"));
        assert!(refusal(&with(0.8, 0.3, "all"), &shape).contains("exceeds 1"));
        assert!(refusal(&with(f64::NAN, 0.3, "all"), &shape).contains("0 to 1"));
    }

    #[test]
    fn hot_spots_get_their_share() {
        let spots: Hosts = "3,9".parse().unwrap();
        let spec = HotSpot { spots, share: 0.4, repeats: 500, ..HotSpot::default() };
        let pairs = destinations(&made(&WorkloadSpec::HotSpot(spec), &fabric()));
        let cold: Vec<_> = pairs.iter().filter(|(src, _)| ![3, 9].contains(src)).collect();
        for spot in [3, 9] {
            let count = cold.iter().filter(|(_, dst)| *dst == spot).count();
            assert!(close(count, cold.len(), 0.2 + 0.6 / 63.0), "{spot}: {count}");
        }
        assert!(pairs.iter().all(|(a, b)| a != b));
    }
}
