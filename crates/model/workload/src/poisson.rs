//! Open-loop Poisson arrivals with sizes from a distribution.

use super::cdf::Cdf;
use super::job::Job;
use super::options::options;
use super::spec::Generate;
use super::{ConnHandle, Hosts, Start};
use serde::{Deserialize, Serialize};
use slotline_base::error::SpecError;
use slotline_base::id::HostId;
use slotline_base::rng::Stream;
use slotline_base::time::Time;
use slotline_base::units::Bytes;
use std::collections::BTreeMap;

/// The destinations of a source.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Pairs {
    /// Any other host.
    #[default]
    Uniform,
    /// Any host at another edge switch.
    InterRack,
}

options! {
    /// Flows arrive as a Poisson process; each goes from a random host to another.
    Poisson {
        /// Hosts that take part.
        hosts: Hosts = Hosts::All,
        /// Flow sizes: a published distribution (`websearch`, `hadoop`, `alistorage`, `googlerpc`), a
        /// file of lines `size cumulative`, or one size for all (`"100KB"`).
        sizes: String = "websearch".into(),
        /// Offered load: payload as a share of what the hosts' links can send, above 0 and at most 1. A host with
        /// a faster link sends more flows.
        #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
        load: f64 = 0.3,
        /// The destinations of a source.
        pairs: Pairs = Pairs::Uniform,
        /// Whether a pair of hosts has one connection for all its flows, instead of one per flow. Flows of a
        /// connection wait for each other.
        persistent: bool = false,
        /// Largest number of flows.
        #[serde(skip_serializing_if = "Option::is_none")]
        flows: Option<u32> = None,
        /// When arrivals end. Default: the end of the run.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<Time> = None,
        /// When arrivals begin.
        start: Time = Time::ZERO,
        /// Priority class, 0 to 7.
        #[schemars(range(max = 7))]
        class: u8 = 0,
    }
}

/// Draws the ends of flows.
struct Ends {
    /// The hosts, grouped by rack.
    hosts: Vec<HostId>,
    /// For each host, the start and length of the range of `hosts` to which it does not send, itself included.
    barred: Vec<(usize, usize)>,
    /// The cumulative rates of `hosts`, in bit/s.
    rates: Vec<u64>,
}

impl Ends {
    fn new(job: &Job, mut hosts: Vec<HostId>, pairs: Pairs) -> Result<Ends, SpecError> {
        hosts.sort_by_key(|&host| (job.place(host).edge, host));
        let mut barred: Vec<(usize, usize)> = (0..hosts.len()).map(|at| (at, 1)).collect();
        if pairs == Pairs::InterRack {
            let racks = hosts.chunk_by(|&a, &b| job.place(a).edge == job.place(b).edge);
            let spans = racks.scan(0, |end, rack| {
                *end += rack.len();
                Some((*end - rack.len(), rack.len()))
            });
            barred = spans.flat_map(|(start, len)| vec![(start, len); len]).collect();
        }
        if barred.iter().any(|&(_, len)| len == hosts.len()) {
            return Err(SpecError::new(
                "pairs",
                "inter-rack: all hosts are at the same edge switch",
            ));
        }
        let rates = hosts.iter().scan(0u64, |sum, &host| {
            *sum = sum.saturating_add(job.place(host).rate.0);
            Some(*sum)
        });
        Ok(Ends { barred, rates: rates.collect(), hosts })
    }

    /// The rate at which all hosts together can send, in bit/s.
    fn rate(&self) -> u64 {
        self.rates.last().copied().unwrap_or(0)
    }

    /// The index of the host to which this bit of [`Ends::rate`] belongs. If all hosts have the same rate, a division finds
    /// it, where a search would wait for memory.
    fn source(&self, bit: u64) -> usize {
        let hosts = self.rates.len() as u128;
        let guess = (u128::from(bit) * hosts / u128::from(self.rate().max(1))) as usize;
        let below = guess.checked_sub(1).map_or(0, |before| self.rates[before]);
        if (below..self.rates[guess]).contains(&bit) {
            return guess;
        }
        self.rates.partition_point(|&sum| sum <= bit)
    }

    fn draw(&self, rng: &mut Stream) -> (HostId, HostId) {
        let bit = rng.below(self.rate());
        let src = self.source(bit);
        let (start, len) = self.barred[src];
        let dst = rng.below((self.hosts.len() - len) as u64) as usize;
        (self.hosts[src], self.hosts[if dst >= start { dst + len } else { dst }])
    }
}

impl Poisson {
    /// Mean time between two flows of all hosts together, in picoseconds.
    fn gap(&self, rate: u64, sizes: &Cdf) -> Result<f64, SpecError> {
        if !(self.load > 0.0 && self.load <= 1.0) {
            let message = format!(
                "`load` = {}: expected a share of the links' rate, above 0 and at most 1",
                self.load
            );
            return Err(SpecError::new("load", message));
        }
        Ok(8e12 * sizes.mean() / (self.load * rate.max(1) as f64))
    }

    fn end(&self, job: &Job) -> Result<Time, SpecError> {
        match self.flows {
            Some(_) => Ok(self.until.unwrap_or(Time::MAX).min(job.setting.horizon)),
            None => job.end(self.start, self.until),
        }
    }

    fn conn(
        &self,
        job: &mut Job,
        pair: (HostId, HostId),
        open: &mut BTreeMap<(HostId, HostId), ConnHandle>,
    ) -> Result<ConnHandle, SpecError> {
        if let Some(conn) = open.get(&pair) {
            return Ok(*conn);
        }
        let conn = job.tcp(pair.0, pair.1, self.class)?;
        if self.persistent {
            open.insert(pair, conn);
        }
        Ok(conn)
    }
}

/// If fewer flows are expected, more than one seed in a hundred has none.
const FEW: f64 = 4.6;

/// The note for a workload of which few flows are expected.
fn few(expected: f64) -> String {
    let none = 100.0 * libm::exp(-expected);
    format!(
        "poisson: {expected:.1} flows are expected in a run, so that {none:.0} % of seeds have none, and their runs \
         fail; a higher `load` or a longer run gives more flows"
    )
}

impl Generate for Poisson {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        let sizes = job.sizes("sizes", &self.sizes)?;
        let ends = Ends::new(job, job.peers("hosts", &self.hosts)?, self.pairs)?;
        let gap = self.gap(ends.rate(), &sizes)?;
        let end = self.end(job)?;
        let most = self.flows.map_or(u64::MAX, u64::from);
        let expected = end.since(self.start).as_ps() as f64 / gap;
        let announced = most.min(expected as u64);
        job.out.check_room("load", announced)?;
        if expected < FEW {
            job.out.note(few(expected));
        }
        let mut at = self.start.as_ps() as f64;
        let mut open = BTreeMap::new();
        let made = job.out.drawn(most, announced);
        for _ in 0..made {
            at += job.rng.exponential(gap);
            if at >= end.as_ps() as f64 {
                break;
            }
            let pair = ends.draw(&mut job.rng);
            let bytes = Bytes(sizes.sample(&mut job.rng));
            let conn = self.conn(job, pair, &mut open)?;
            job.send(conn, bytes, Start::At(Time::ps(at as u64)), None)?;
        }
        if made < most {
            job.out.end_thinned();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{digest, endless, fabric, made, refusal};
    use super::super::{Carrier, Count, Setting, Traffic, TrafficBuilder, WorkloadSpec};
    use super::*;
    use proptest::prelude::*;
    use slotline_base::units::Rate;

    proptest! {
        /// Hosts of the same rate are found by division, others by a search.
        #[test]
        fn each_bit_belongs_to_one_host(rates in prop::collection::vec(0u64..9, 1..20), same: bool) {
            let rates = if same { vec![rates[0]; rates.len()] } else { rates };
            let owners = rates.iter().enumerate().flat_map(|(host, &rate)| vec![host; rate as usize]);
            let sums = rates.iter().scan(0, |sum, rate| {
                *sum += rate;
                Some(*sum)
            });
            let ends = Ends { hosts: Vec::new(), barred: Vec::new(), rates: sums.collect() };
            for (bit, owner) in (0..).zip(owners) {
                prop_assert_eq!(ends.source(bit), owner);
            }
        }
    }

    fn spec() -> Poisson {
        Poisson {
            until: Some(Time::ms(200)),
            sizes: "hadoop".into(),
            load: 0.4,
            ..Poisson::default()
        }
    }
    fn traffic(spec: Poisson) -> Traffic {
        made(&WorkloadSpec::Poisson(spec), &fabric())
    }
    fn starts(traffic: &Traffic) -> Vec<f64> {
        let at = |start| {
            if let Start::At(time) = start { time.as_secs_f64() } else { f64::NAN }
        };
        let mut starts: Vec<f64> = traffic.flows.iter().map(|flow| at(flow.start)).collect();
        starts.sort_by(f64::total_cmp);
        starts
    }

    #[test]
    fn load_is_what_was_asked() {
        // These runs are long enough that the mean of heavy-tailed sizes converges within 1 %.
        for (sizes, load, ms) in
            [("hadoop", 0.9, 1_000), ("alistorage", 0.5, 1_000), ("20KB", 0.2, 200)]
        {
            let capacity = 64.0 * 10e9 / 8.0 * 1e-3 * ms as f64;
            let until = Some(Time::ms(ms));
            let traffic = traffic(Poisson { sizes: sizes.into(), load, until, ..spec() });
            let bytes: u64 = traffic.flows.iter().map(|flow| flow.bytes).sum();
            let got = bytes as f64 / capacity;
            assert!((got / load - 1.0).abs() < 0.02, "{sizes}: load {got} instead of {load}");
        }
    }

    /// A Kolmogorov-Smirnov test against the exponential distribution, at the 0.1 % level. Successive gaps are
    /// uncorrelated.
    #[test]
    fn gaps_are_exponential_and_independent() {
        let starts = starts(&traffic(spec()));
        let gaps: Vec<f64> = starts.windows(2).map(|w| w[1] - w[0]).collect();
        let n = gaps.len() as f64;
        let mean = 120_420.75 * 8.0 / (0.4 * 64.0 * 10e9);
        let correlation =
            gaps.windows(2).map(|w| (w[0] / mean - 1.0) * (w[1] / mean - 1.0)).sum::<f64>() / n;
        assert!(correlation.abs() < 4.0 / n.sqrt(), "{correlation}");
        let mut sorted = gaps;
        sorted.sort_by(f64::total_cmp);
        let distance =
            |(i, gap): (usize, &f64)| ((i as f64 + 0.5) / n - (1.0 - libm::exp(-gap / mean))).abs();
        let worst = sorted.iter().enumerate().map(distance).fold(0.0, f64::max);
        assert!(worst < 1.95 / n.sqrt(), "{worst} with {n} gaps");
    }

    #[test]
    fn pairs_are_even_and_within_bounds() {
        let shape = fabric();
        let rack = |host: HostId| shape.hosts[host.at()].edge;
        for pairs in [Pairs::Uniform, Pairs::InterRack] {
            let traffic = traffic(Poisson { pairs, sizes: "20KB".into(), ..spec() });
            let (mut sent, mut received) = ([0u32; 64], [0u32; 64]);
            for conn in &traffic.conns {
                assert!(
                    conn.src != conn.dst
                        && (pairs == Pairs::Uniform || rack(conn.src) != rack(conn.dst))
                );
                sent[conn.src.at()] += 1;
                received[conn.dst.at()] += 1;
            }
            let expected = traffic.conns.len() as f64 / 64.0;
            let even = |count: &u32| (f64::from(*count) - expected).abs() < 4.5 * expected.sqrt();
            assert!(sent.iter().all(even) && received.iter().all(even), "{pairs:?}");
        }
        let near = WorkloadSpec::Poisson(Poisson {
            pairs: Pairs::InterRack,
            hosts: Hosts::Count(4),
            ..spec()
        });
        assert!(refusal(&near, &shape).contains("same edge switch"));
    }

    #[test]
    fn faster_links_send_more() {
        let mut shape = fabric();
        shape.hosts[5].rate = Rate(100_000_000_000);
        let spec = WorkloadSpec::Poisson(Poisson { sizes: "50KB".into(), ..spec() });
        let traffic = made(&spec, &shape);
        let share = traffic.conns.iter().filter(|c| c.src.0 == 5).count() as f64
            / traffic.conns.len() as f64;
        assert!((share / (10.0 / 73.0) - 1.0).abs() < 0.05, "{share}");
    }

    #[test]
    fn counts_and_connections() {
        let thousand = Poisson { flows: Some(1_000), until: None, ..spec() };
        let each = traffic(thousand.clone());
        assert_eq!((each.flows.len(), each.conns.len()), (1_000, 1_000));
        let shared = traffic(Poisson { persistent: true, hosts: Hosts::Count(3), ..thousand });
        assert_eq!((shared.flows.len(), shared.conns.len()), (1_000, 6));
    }

    /// Where a run may have as few flows, all are made.
    #[test]
    fn few_flows_that_are_drawn_are_the_first_ones() {
        let fabric = fabric();
        let files = |_: &str| Err("no file".to_string());
        let setting = Setting { fabric: &fabric, horizon: Time::MAX, seed: 1, files: &files };
        let some = |most: u64| {
            let mut out = TrafficBuilder::sample(64, 100_000).drawing(most);
            WorkloadSpec::Poisson(spec())
                .generate(0, &setting, &mut out)
                .expect("a valid workload");
            (out.counts()[0], out)
        };
        let flows = |out: TrafficBuilder| out.finish_sample().expect("flows");
        let ((count, mut few), whole) = (some(20), traffic(spec()));
        let times = starts(&flows(few.clone()));
        assert_eq!((count.made, times.len()), (20, 20));
        assert_eq!(times, starts(&whole)[..20]);
        let all = whole.flows.len() as u64;
        assert!(count.all.abs_diff(all) < all / 5, "{} of {all}", count.all);
        assert_eq!(some(all).0, Count { made: all, all });
        // A flow of another workload that never starts is found.
        let never = Start::After { trigger: few.trigger(HostId(0), 1), delay: Time::ZERO };
        let conn = few.connect(HostId(0), HostId(1), Carrier::Tcp, 0).expect("a connection");
        few.flow(conn, 1, never, None, 1).expect("a flow");
        assert!(few.finish_sample().is_err());
    }

    #[test]
    fn impossible_arrivals_are_refused() {
        let no = |spec| refusal(&WorkloadSpec::Poisson(spec), &fabric());
        for load in [0.0, 1.01, -0.1, f64::NAN, f64::INFINITY] {
            assert!(no(Poisson { load, ..spec() }).contains("at most 1"));
        }
        let forever = WorkloadSpec::Poisson(Poisson { until: None, ..spec() });
        assert!(endless(&forever).unwrap_err().to_string().contains("no end time"));
        assert!(no(Poisson { start: Time::ms(300), ..spec() }).contains("before it starts"));
        assert!(
            no(Poisson { sizes: "1B".into(), until: Some(Time::s(1)), ..spec() })
                .contains("at most")
        );
        let unknown = no(Poisson { sizes: "websaerch".into(), ..spec() });
        assert!(
            unknown.contains("websaerch") && unknown.contains("websearch, hadoop"),
            "{unknown}"
        );
        assert!(no(Poisson { sizes: "0B".into(), ..spec() }).contains("mean size is 0"));
    }

    /// The traffic is the same on every machine and in every version. Change this number only deliberately.
    #[test]
    fn websearch_traffic_is_golden() {
        let spec = Poisson { until: Some(Time::ms(20)), ..Poisson::default() };
        let traffic = traffic(spec);
        assert_eq!((traffic.flows.len(), digest(&traffic)), (251, 12_334_491_639_312_604_022));
    }
}
