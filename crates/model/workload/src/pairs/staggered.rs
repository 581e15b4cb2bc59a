//! Destinations in the rack, in the pod, or beyond, with given probabilities.

use super::super::Hosts;
use super::super::job::Job;
use super::super::one_to_one::OneToOne;
use super::super::options::options;
use super::super::spec::Generate;
use super::rounds::{Rounds, generate};
use super::share;
use slotline_base::error::SpecError;
use slotline_base::id::HostId;
use slotline_base::rng::Stream;
use slotline_base::time::Time;
use slotline_base::units::Bytes;

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
    use super::super::super::WorkloadSpec;
    use super::super::super::testing::{fabric, made, refusal};
    use super::super::tests::{close, destinations};
    use super::*;

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
}
