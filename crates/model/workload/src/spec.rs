//! The one list of workloads, by the names that scenarios use.

use super::bulk::Bulk;
use super::collective::Collective;
use super::custom::Custom;
use super::hdfs::Hdfs;
use super::incast::Incast;
use super::job::{Job, Setting};
use super::migration::Migration;
use super::options::OnMachines;
use super::pairs::{HotSpot, Random, RandomBijective, Staggered, Stride};
use super::poisson::Poisson;
use super::probe::Probe;
use super::rack_rings::RackRings;
use super::ring::Ring;
use super::rpc::RequestResponse;
use super::short_flows::ShortFlows;
use super::shuffle::Shuffle;
use super::trace::Trace;
use super::udp::Udp;
use super::{Machines, TrafficBuilder};
use serde::{Deserialize, Serialize};
use slotline_base::error::{SpecError, SpecErrorKind};
use slotline_base::rng::Stream;

/// Makes the kinds of workloads from a list of variants, names and settings.
macro_rules! workloads {
    ($($(#[$comment:meta])* $kind:ident($name:literal, $settings:ty),)*) => {
        /// A workload as written in a scenario: `kind` and its options.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum WorkloadSpec {
            $($(#[$comment])* #[serde(rename = $name)] $kind($settings),)*
        }

        impl WorkloadSpec {
            /// The name in scenario files.
            pub fn kind(&self) -> &'static str {
                match self { $(WorkloadSpec::$kind(_) => $name,)* }
            }
            fn settings(&self) -> &dyn Workload {
                match self { $(WorkloadSpec::$kind(settings) => settings,)* }
            }
        }
    };
}

workloads! {
    /// Host x sends to host x + i, in a circle; closed loop.
    ///
    /// Source: Al-Fares et al., "Hedera: Dynamic Flow Scheduling for Data Center Networks", NSDI 2010,
    /// section 5.2.
    Stride("stride", Stride),
    /// Each host sends within its rack, its pod or beyond with given probabilities; closed loop.
    ///
    /// Source: Al-Fares et al., "Hedera: Dynamic Flow Scheduling for Data Center Networks", NSDI 2010,
    /// section 5.2.
    Staggered("staggered", Staggered),
    /// Each host sends to a random other, and several may send to the same; closed loop.
    ///
    /// Source: Al-Fares et al., "Hedera: Dynamic Flow Scheduling for Data Center Networks", NSDI 2010,
    /// section 5.2.
    Random("random", Random),
    /// A random permutation: each host sends to one and receives from one; closed loop.
    ///
    /// Source: Al-Fares et al., "Hedera: Dynamic Flow Scheduling for Data Center Networks", NSDI 2010,
    /// section 5.2.
    RandomBijective("random-bijective", RandomBijective),
    /// A share of all flows goes to a few hosts; closed loop.
    ///
    /// Source: Al-Fares et al., "Hedera: Dynamic Flow Scheduling for Data Center Networks", NSDI 2010,
    /// section 5.2.
    HotSpot("hot-spot", HotSpot),
    /// Every host sends to every other, all at once or some at a time.
    ///
    /// Source: Al-Fares et al., "Hedera: Dynamic Flow Scheduling for Data Center Networks", NSDI 2010,
    /// section 5.2.
    Shuffle("shuffle", Shuffle),
    /// Many senders to one receiver, in barrier-synchronised blocks or all at once.
    ///
    /// Source: Phanishayee et al., "Measurement and Analysis of TCP Throughput Collapse in
    /// Cluster-based Storage Systems", FAST 2008.
    Incast("incast", Incast),
    /// Clients ask servers; closed loop, or open loop with Poisson requests.
    ///
    /// Source: Schroeder, Wierman and Harchol-Balter, "Open Versus Closed: A Cautionary Tale", NSDI
    /// 2006, for the difference between the two loops.
    RequestResponse("request-response", RequestResponse),
    /// Each host sends to the next in a ring, step after step, as in all-reduce.
    ///
    /// Source: Patarasuk and Yuan, "Bandwidth Optimal All-reduce Algorithms for Clusters of
    /// Workstations", Journal of Parallel and Distributed Computing 69(2), 2009.
    Ring("ring", Ring),
    /// A collective operation of an AI cluster, round after round, with computation in between: all-reduce,
    /// all-to-all, a pipeline.
    ///
    /// Source: Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in
    /// MPICH", International Journal of High Performance Computing Applications 19(1), 2005.
    Collective("collective", Collective),
    /// Files written to a distributed file system, block by block, with replicas in other racks.
    ///
    /// Source: Mukerjee et al., "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks"
    /// (Etalon), 2018, section 6, for `rehdfs`.
    Hdfs("hdfs", Hdfs),
    /// Large flows from each rack to the next, small ones between all others; open loop.
    ///
    /// Source: "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018,
    /// section 5.3.
    RackRings("rack-rings", RackRings),
    /// Poisson arrivals at a given load, sizes from a distribution; open loop.
    Poisson("poisson", Poisson),
    /// Datagrams at a constant rate, on and off, or Poisson.
    ///
    /// Source: RFC 768.
    Udp("udp", Udp),
    /// Long TCP flows, of given size or as long as the run.
    Bulk("bulk", Bulk),
    /// Small datagrams at regular times, which the receiver returns; lost ones stay unanswered.
    ///
    /// Source: RFC 862, the echo protocol over UDP.
    Probe("probe", Probe),
    /// Sequences of short TCP flows, each on a fresh connection; closed loop.
    ///
    /// Source: Rajanna, Shah, Jahagirdar and Gopalan, "XCo: Explicit Coordination to Prevent Network
    /// Fabric Congestion in Cloud Computing Cluster Platforms", 2010, section 2.3.
    ShortFlows("short-flows", ShortFlows),
    /// Live migration of a virtual machine: its memory is copied in rounds while it runs, then the rest.
    ///
    /// Source: Clark et al., "Live Migration of Virtual Machines", NSDI 2005, section 3.
    Migration("migration", Migration),
    /// Flows from a file: CSV, htsim .cm, HPCC, GOAL, or a packet capture.
    Trace("trace", Trace),
    /// A workload that the calling program supplies, in Rust.
    Custom("custom", Custom),
}

/// Generates the flows of one workload.
///
/// A new kind is one file with its settings and this trait, and one line in the list above.
pub trait Generate {
    /// Adds connections and flows to `job`. It may use no random numbers other than those of the job.
    ///
    /// # Errors
    /// An option does not fit the fabric, or there is no room for so many flows.
    fn generate(&self, job: &mut Job) -> Result<(), SpecError>;
}

/// The options of a workload that a scenario can name.
trait Workload: Generate + OnMachines {}

impl<T: Generate + OnMachines> Workload for T {}

impl WorkloadSpec {
    /// The virtual machines between which its flows are.
    pub fn machines(&self) -> Machines {
        self.settings().machines()
    }

    /// Adds this workload's traffic to `out`, as flows of group `index`. The random stream depends on the seed, the kind
    /// and the place among workloads of this kind alone: workloads of other kinds do not change it. See [`in_order`].
    pub fn generate(
        &self,
        index: u16,
        setting: &Setting,
        out: &mut TrafficBuilder,
    ) -> Result<(), SpecError> {
        let (kind, options) = (self.kind(), self.settings());
        let (place, key) = out.begin(kind);
        let rng = Stream::named(setting.seed, &format!("workload.{kind}"), place);
        let before = out.flows();
        out.between(options.machines());
        let made = options.generate(&mut Job { setting, group: index, key, rng, out });
        out.end(index, made)?;
        if out.flows() == before {
            let error = SpecError::new("kind", format!("{kind}: these options give no flow"));
            return Err(error.of_kind(SpecErrorKind::NoFlow));
        }
        Ok(())
    }
}

/// The workloads of a scenario with their numbers, in the order in which their traffic is made: by kind. The result
/// does not depend on the order in which workloads of different kinds are written.
pub fn in_order(workloads: &[WorkloadSpec]) -> Vec<(u16, &WorkloadSpec)> {
    let mut all: Vec<(u16, &WorkloadSpec)> = (0..).zip(workloads).collect();
    all.sort_by_key(|(_, workload)| workload.kind());
    all
}

#[cfg(test)]
mod tests {
    use super::super::testing::{digest, fabric, files, refusal};
    use super::super::{Flow, Traffic};
    use super::*;
    use slotline_base::schema::kinds;
    use slotline_base::time::Time;

    fn read(text: &str) -> Result<WorkloadSpec, String> {
        toml::from_str(text).map_err(|e| e.to_string())
    }

    fn every() -> Vec<WorkloadSpec> {
        let file = |name: &str| {
            if name == "trace" { "file = \"a.csv\"" } else { "" }
        };
        let one = |name: &str| read(&format!("kind = \"{name}\"\n{}", file(name)));
        let kinds = kinds::<WorkloadSpec>().into_iter().filter(|(name, _)| name != "custom");
        kinds.map(|(name, _)| one(&name).expect("its defaults are enough")).collect()
    }

    #[test]
    fn every_name_is_read_and_round_trips() {
        for (spec, (name, _)) in every().iter().zip(kinds::<WorkloadSpec>()) {
            assert_eq!(spec.kind(), name);
            let text = toml::to_string(spec).expect("serialises");
            assert_eq!(read(&text).as_ref(), Ok(spec), "{text}");
        }
    }

    #[test]
    fn every_workload_generates_with_its_defaults_and_repeatably() {
        for spec in every() {
            let run = || scenario(std::slice::from_ref(&spec));
            assert!(!run().flows.is_empty(), "{}", spec.kind());
            assert_eq!(digest(&run()), digest(&run()), "{}", spec.kind());
        }
    }

    #[test]
    fn unknown_keys_and_kinds_are_refused() {
        let error = read("kind = \"stride\"\nstep = 3").unwrap_err();
        assert!(error.contains("step") && error.contains("`by`"), "{error}");
        let error = read("kind = \"strid\"").unwrap_err();
        assert!(error.contains("strid") && error.contains("random-bijective"), "{error}");
        assert!(read("kind = \"stride\"\nsize = 5").is_err());
        assert!(read("kind = \"incast\"\nsenders = -1").is_err());
        assert!(read("kind = \"incast\"\nsenders = 16\nrequest = \"64B\"").is_ok());
    }

    #[test]
    fn a_workload_without_flows_is_refused() {
        for text in ["kind = \"ring\"\nrepeats = 0", "kind = \"bulk\"\nconnections = 0"] {
            assert!(refusal(&read(text).unwrap(), &fabric()).contains("no flow"), "{text}");
        }
    }

    #[test]
    fn tiny_fabrics_are_served_or_refused() {
        for hosts in 0..6 {
            let mut shape = fabric();
            shape.hosts.truncate(hosts);
            for spec in every() {
                let setting =
                    Setting { fabric: &shape, horizon: Time::us(50), seed: 1, files: &files };
                let mut out = TrafficBuilder::new(hosts as u32);
                let made = spec.generate(0, &setting, &mut out);
                assert!(made.is_err() || out.finish().is_ok(), "{} on {hosts} hosts", spec.kind());
                assert!(hosts > 1 || made.is_err(), "{} on {hosts} hosts", spec.kind());
            }
        }
    }

    fn scenario(specs: &[WorkloadSpec]) -> Traffic {
        let fabric = fabric();
        let horizon = Time::ms(1);
        let setting = Setting { fabric: &fabric, horizon, seed: 1, files: &files };
        let mut out = TrafficBuilder::new(fabric.hosts.len() as u32);
        for (index, spec) in specs.iter().enumerate() {
            spec.generate(index as u16, &setting, &mut out).expect("generates");
        }
        out.finish().expect("runs")
    }

    #[test]
    fn another_workload_changes_nothing_in_the_first() {
        let first = |traffic: &Traffic| -> Vec<_> {
            let ends = |flow: &Flow| {
                (traffic.conns[flow.conn.at()].src, traffic.conns[flow.conn.at()].dst)
            };
            let own = traffic.flows.iter().filter(|flow| flow.group == 0);
            own.map(|flow| (ends(flow), flow.bytes, flow.start, flow.then)).collect()
        };
        for spec in every() {
            let alone = first(&scenario(std::slice::from_ref(&spec)));
            for other in every() {
                assert_eq!(first(&scenario(&[spec.clone(), other])), alone, "{}", spec.kind());
            }
        }
    }
}
