//! Every host sends to one other at a time: stride, staggered, random, permutation, hot spot.
//!
//! Patterns of Al-Fares et al., "Hedera" (NSDI 2010, section 5.2). In a closed loop, a host sends again when its
//! last flow is acknowledged, on the same connection if the destination is the same. With `load` the loop is open:
//! flows arrive at each host as a Poisson process, each on a connection of its own.

use super::Hosts;
use super::job::Job;
use super::options::options;
use super::spec::Generate;
use rounds::{Rounds, generate};
use slotline_base::error::SpecError;
use slotline_base::id::HostId;
use slotline_base::rng::Stream;
use slotline_base::time::Time;
use slotline_base::units::Bytes;

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

mod rounds;
mod staggered;

pub use staggered::Staggered;

pattern! {
    /// Host x sends to host x + `by`, counted in a circle over the hosts that take part.
    Stride {
        /// Distance in hosts.
        by: u32 = 1,
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

#[cfg(test)]
mod tests {
    use super::super::testing::{fabric, made, refusal};
    use super::super::{Traffic, WorkloadSpec};
    use super::*;

    pub(super) fn destinations(traffic: &Traffic) -> Vec<(u32, u32)> {
        let ends = |conn: slotline_base::id::ConnId| {
            (traffic.conns[conn.at()].src.0, traffic.conns[conn.at()].dst.0)
        };
        traffic.flows.iter().map(|flow| ends(flow.conn)).collect()
    }

    /// Whether `count` of `n` draws is the share `expected`, within four standard deviations.
    pub(super) fn close(count: usize, n: usize, expected: f64) -> bool {
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
