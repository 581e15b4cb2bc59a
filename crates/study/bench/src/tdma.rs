//! Measures the cost to plan a round of TDMA among 1,024 hosts, each with a backlog for every other host. CPU time of
//! one thread.

use crate::Row;
use slotline_lab::usage;
use slotline_net::id::HostId;
use slotline_net::rng::mix32;
use slotline_net::scheme::Network;
use slotline_net::units::Rate;
use slotline_tdma::{Demand, Round, RoundScheduler, RoundSpec, SchedulerKind};

/// A network of 10 Gbit/s hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fabric {
    /// One switch.
    Star,
    /// Racks below one core switch, whose uplinks carry a quarter of the rate of their hosts.
    Tree,
    /// As many spines as hosts in a rack, 10 Gbit/s each. A hash selects the spine of a pair.
    LeafSpine,
}

/// One case of the TDMA benchmark.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Case {
    /// The network.
    pub fabric: Fabric,
    /// The scheduler of rounds.
    pub scheduler: SchedulerKind,
    /// Racks.
    pub racks: u32,
    /// Hosts in each rack.
    pub hosts: u32,
    /// Slots in a round.
    pub slots: u16,
}

const LINK: Rate = Rate(10_000_000_000);
/// A backlog that no measurement exhausts.
const PLENTY: u64 = 1 << 40;

/// The cases of `slotline bench tdma`: the paper's rounds of 10 ms, and one in which all pairs get a slot.
pub fn cases() -> Vec<Case> {
    use Fabric::*;
    use SchedulerKind::*;
    let case = |(fabric, scheduler, slots)| Case { fabric, scheduler, racks: 32, hosts: 32, slots };
    let cases = [
        (Star, WeightedRoundRobin, 31),
        (Star, Any, 31),
        (Star, SchedulerKind::Tree, 31),
        (Star, Any, 1_023),
        (Fabric::Tree, SchedulerKind::Tree, 31),
        (Fabric::Tree, Any, 31),
        (LeafSpine, WeightedRoundRobin, 31),
        (LeafSpine, Any, 31),
    ];
    cases.map(case).to_vec()
}

impl Case {
    /// Plans `rounds` rounds, after two rounds that do not count.
    pub fn run(&self, rounds: u32) -> Vec<Row> {
        let (mut demand, intake) = self.backlog();
        let mut scheduler = self.scheduler();
        let mut round = Round::default();
        let mut one = || {
            let began = usage::thread_cpu_s();
            scheduler.plan(&mut demand, &mut round);
            usage::thread_cpu_s() - began
        };
        let mut each: Vec<f64> = (0..rounds + 2).map(|_| one()).skip(2).collect();
        each.sort_unstable_by(f64::total_cmp);
        let (median, count) = (each[each.len() / 2], round.assignments().len() as f64);
        vec![
            self.row("round", median * 1e3, "ms"),
            self.row("per_assignment", median * 1e9 / count, "ns"),
            self.row("senders_per_slot", count / round.len() as f64, "of all hosts"),
            self.row("report_per_pair", intake * 1e9, "ns"),
        ]
    }
    fn count(&self) -> u32 {
        self.racks * self.hosts
    }
    /// A demand with a backlog for every pair, and the seconds per pair when all hosts report one more byte for each.
    fn backlog(&self) -> (Demand, f64) {
        let hosts = self.count();
        let mut demand = Demand::new(hosts as usize);
        let others = |src| (0..hosts).filter(move |&dst| dst != src);
        let mut all = |bytes: u64| {
            let report = |src| others(src).map(|dst| (HostId(dst), bytes)).collect::<Vec<_>>();
            let reports: Vec<_> = (0..hosts).map(report).collect();
            let began = usage::thread_cpu_s();
            for (src, report) in (0..hosts).map(HostId).zip(&reports) {
                demand.replace(src, report);
            }
            usage::thread_cpu_s() - began
        };
        all(PLENTY);
        let seconds = all(PLENTY + 1);
        (demand, seconds / (f64::from(hosts) * f64::from(hosts - 1)))
    }
    fn scheduler(&self) -> Box<dyn RoundScheduler> {
        let slot = RoundSpec::default();
        let round = (slot.slot + slot.guard).times(self.slots.into());
        let spec = RoundSpec { scheduler: self.scheduler, round, ..slot };
        let made = spec.build().and_then(|rounds| rounds.scheduler(self.network()));
        made.expect("these networks are what their schedulers take")
    }
    fn network(&self) -> Network {
        let Case { fabric, racks, hosts, .. } = *self;
        let (all, spines) = (racks * hosts, hosts);
        let (inner, rate) = match fabric {
            Fabric::Star => (0, LINK),
            Fabric::Tree => (racks, Rate(LINK.0 * u64::from(hosts / 4))),
            Fabric::LeafSpine => (racks * spines, LINK),
        };
        let mut rates = vec![LINK; 2 * all as usize];
        rates.extend(vec![rate; 2 * inner as usize]);
        let base = 2 * all;
        Network::new(all as usize, rates, move |src, dst, out| {
            let (from, to) = (src.0 / hosts, dst.0 / hosts);
            out.push(src.0);
            match fabric {
                Fabric::Tree if from != to => out.extend([base + from, base + inner + to]),
                Fabric::LeafSpine if from != to => {
                    let spine = mix32(src.0 * all + dst.0) % spines;
                    out.extend([base + from * spines + spine, base + inner + to * spines + spine]);
                }
                _ => {}
            }
            out.push(all + dst.0);
        })
    }
    fn row(&self, name: &str, value: f64, unit: &str) -> Row {
        let fabric = match self.fabric {
            Fabric::Star => "star",
            Fabric::Tree => "tree 4:1",
            Fabric::LeafSpine => "leaf-spine",
        };
        Row {
            name: format!("tdma/{name}"),
            scenario: format!("{} {fabric}, {} slots", self.count(), self.slots),
            scheme: match self.scheduler {
                SchedulerKind::WeightedRoundRobin => "weighted-round-robin",
                SchedulerKind::Tree => "tree",
                SchedulerKind::Any => "any",
            }
            .into(),
            threads: 1,
            value,
            unit: unit.into(),
        }
    }
}

/// The number of measured rounds.
const ROUNDS: u32 = 25;

/// Measures all cases.
pub fn rows() -> Vec<Row> {
    cases().iter().flat_map(|case| case.run(ROUNDS)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases in smaller networks. On stars and trees no host is idle.
    #[test]
    fn each_case_is_measured() {
        assert_eq!(cases().len(), 8);
        for case in cases() {
            let case = Case { racks: 4, hosts: 8, ..case };
            let rows = case.run(3);
            assert!(rows.iter().all(|row| row.value > 0.0), "{rows:?}");
            let senders = rows.iter().find(|row| row.name == "tdma/senders_per_slot").unwrap();
            let least = if case.fabric == Fabric::LeafSpine { 28.0 } else { 31.0 };
            assert!(senders.value >= least, "{rows:?}");
        }
    }
}
