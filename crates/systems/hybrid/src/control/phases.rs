//! Circuits for a known job: one configuration for each phase of a collective operation.

use slotline_circuits::{CircuitTiming, Demand, Matching, Note, Scheduler, Week};
use slotline_net::error::SpecError;
use slotline_net::id::HostId;
use slotline_net::time::Time;
use slotline_net::topology::HybridSpec;
use slotline_net::workload::collective::Collective;
use slotline_net::workload::{Hosts, WorkloadSpec};

/// The configurations of one round in their order, each with the most bytes that one of its circuits carries.
#[derive(Clone, PartialEq, Debug)]
pub struct Phases {
    days: Vec<(Matching, u64)>,
    /// How long hosts compute before each round.
    pause: Time,
}

impl Phases {
    /// The phases of the one collective operation among the workloads. Phases that follow each other and need the
    /// same circuits share a day. A phase in which a rack sends to several others has several days.
    ///
    /// # Errors
    /// There is not exactly one such operation, or the places of its hosts are not known ahead.
    pub fn new(workloads: &[WorkloadSpec], fabric: &HybridSpec) -> Result<Phases, SpecError> {
        let jobs: Vec<&Collective> = workloads.iter().filter_map(collective).collect();
        let [job] = jobs[..] else {
            let why = format!(
                "this scheduler follows the phases of one workload of kind = \"collective\"; the scenario has {}",
                jobs.len()
            );
            return Err(SpecError::new("scheduler", why));
        };
        if fabric.uplinks() != 1 {
            let why = "this scheduler is for one circuit switch";
            return Err(SpecError::new("scheduler", why));
        }
        let racks = racks_of(job, fabric)?;
        let mut days = Vec::new();
        for phase in job.phases(racks.len() as u32) {
            let count = fabric.rack_count() as usize;
            let mut bytes = vec![0; count * count];
            for part in phase {
                let (from, to) = (racks[part.from as usize], racks[part.to as usize]);
                bytes[from * count + to] += if from == to { 0 } else { part.bytes };
            }
            split_phase(count, &mut bytes, &mut days);
        }
        if days.is_empty() {
            let why = "all hosts of the operation are in one rack: it needs no circuits";
            return Err(SpecError::new("scheduler", why));
        }
        Ok(Phases { days, pause: job.compute })
    }

    /// A week that is one round. The first circuits are up while hosts compute. Each configuration is up for
    /// `stretch` times as long as its bytes take on a circuit, and at least for the shortest day.
    pub fn week(&self, terms: &CircuitTiming, stretch: f64) -> Week {
        let mut week = Week::default();
        week.clear(self.days[0].0.racks());
        for (at, (circuits, bytes)) in self.days.iter().enumerate() {
            let carry = *bytes as f64 * 8e12 / terms.circuit() as f64 * stretch;
            let pause = if at == 0 { self.pause.as_ps() } else { 0 };
            week.push(terms.min_day().max(carry as u64) + pause, circuits.circuits());
            if self.days.len() > 1 {
                week.push_night(terms.night());
            }
        }
        week
    }

    /// The configurations in their order.
    pub fn configurations(&self) -> Vec<Matching> {
        self.days.iter().map(|(circuits, _)| circuits.clone()).collect()
    }
}

fn collective(workload: &WorkloadSpec) -> Option<&Collective> {
    match workload {
        WorkloadSpec::Collective(job) => Some(job),
        _ => None,
    }
}

/// By rank of the operation, the rack of its host.
fn racks_of(job: &Collective, fabric: &HybridSpec) -> Result<Vec<usize>, SpecError> {
    let racks = fabric.rack_hosts();
    let all = racks.all();
    let hosts: Vec<u32> = match &job.hosts {
        Hosts::All => (0..all).collect(),
        Hosts::Count(count) => (0..*count.min(&all)).collect(),
        Hosts::List(ranges) => ranges.iter().flat_map(|&(from, to)| from..=to).collect(),
        Hosts::Random(_) => {
            let why = "this scheduler has to know where the hosts of the operation are: list them";
            return Err(SpecError::new("scheduler", why));
        }
    };
    let rack = |host: u32| racks.rack(HostId(host)) as usize;
    match hosts.iter().find(|host| **host >= all) {
        Some(host) => Err(SpecError::new("scheduler", format!("there is no host {host}"))),
        None => Ok(hosts.into_iter().map(rack).collect()),
    }
}

/// Splits the bytes of a phase into configurations, the pairs with the most bytes first.
fn split_phase(racks: usize, bytes: &mut [u64], days: &mut Vec<(Matching, u64)>) {
    loop {
        let mut pairs: Vec<usize> = (0..bytes.len()).filter(|&pair| bytes[pair] > 0).collect();
        let Some(most) = pairs.iter().map(|&pair| bytes[pair]).max() else { return };
        pairs.sort_by_key(|&pair| std::cmp::Reverse(bytes[pair]));
        let mut circuits = Matching::dark(racks);
        for pair in pairs {
            if circuits.connect(pair / racks, pair % racks).is_ok() {
                bytes[pair] = 0;
            }
        }
        match days.last_mut() {
            Some((last, sum)) if *last == circuits => *sum += most,
            _ => days.push((circuits, most)),
        }
    }
}

/// A scheduler that chooses for each week the configuration that serves most of the reported demand. It keeps the
/// configuration while there is no demand. There is a night only when circuits change.
pub struct OnDemand {
    configurations: Vec<Matching>,
    /// The present configuration.
    present: usize,
    terms: CircuitTiming,
}

impl OnDemand {
    /// The scheduler begins with the first configuration. There has to be one.
    pub fn new(configurations: Vec<Matching>, terms: CircuitTiming) -> OnDemand {
        OnDemand { configurations, present: 0, terms }
    }
    fn serves(&self, at: usize, demand: &Demand) -> u64 {
        let most = self.terms.circuit_bytes(self.terms.week());
        let pairs = self.configurations[at].circuits().pairs();
        pairs.map(|(from, to)| demand.get(from, to).min(most)).sum()
    }
}

impl Scheduler for OnDemand {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        let count = self.configurations.len();
        // The order is that of the job, from the present configuration on.
        let order = (self.present..count).chain(0..self.present);
        let best = order.rev().max_by_key(|&at| self.serves(at, demand)).unwrap_or(self.present);
        out.clear(demand.racks());
        let night = if best == self.present { 0 } else { self.terms.night() };
        out.push_night(night);
        out.push(self.terms.week() - night, self.configurations[best].circuits());
        self.present = best;
        if demand.total() == 0 { Note::NoDemand } else { Note::Planned }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_circuits::CircuitTimingSpec;
    use slotline_net::topology::{CircuitNetSpec, Dark};
    use slotline_net::units::Rate;
    use slotline_net::workload::collective::Pattern;

    fn job(pattern: Pattern, size: u64) -> Vec<WorkloadSpec> {
        let size = slotline_net::units::Bytes(size);
        let compute = Time::us(50);
        vec![WorkloadSpec::Collective(Collective {
            pattern,
            size,
            compute,
            ..Collective::default()
        })]
    }

    fn terms() -> CircuitTiming {
        CircuitTimingSpec::etalon(2_000_000_000).build().expect("good terms")
    }

    fn fabric(racks: u32, hosts: u32) -> HybridSpec {
        let circuits = CircuitNetSpec {
            switches: 1,
            rate: Rate(80_000_000_000),
            delay: Time::us(1),
            reconfiguration: Time::us(20),
            dark: Dark::All,
        };
        HybridSpec { circuits: Some(circuits), ..HybridSpec::new(racks, hosts) }
    }

    fn phases(pattern: Pattern, racks: u32, hosts: u32) -> Phases {
        Phases::new(&job(pattern, 8_000_000), &fabric(racks, hosts)).expect("phases")
    }

    #[test]
    fn a_ring_is_held_and_other_operations_change() {
        let ring = phases(Pattern::RingAllReduce, 8, 1).week(&terms(), 1.0);
        assert_eq!((ring.len(), ring.slice(0).circuits.source(3)), (1, Some(2)));
        // Fourteen steps of 1 MB: 100 us each on a circuit of 80 Gbit/s.
        assert_eq!(ring.span(), (14 * 100 + 50) * 1_000_000);
        assert_eq!(phases(Pattern::AllToAll, 8, 1).configurations().len(), 7);
        // 4, 2, 1, and back: the smallest exchange comes twice and has one day.
        let halving = phases(Pattern::HalvingDoubling, 8, 1).week(&terms(), 2.0);
        let days: Vec<u64> = halving.days().map(|day| day.length / 1_000_000).collect();
        assert_eq!(days, [850, 400, 400, 400, 800]);
        assert_eq!(halving.len(), 10);
    }

    #[test]
    fn racks_of_several_hosts_send_all_they_have() {
        // Two hosts in each of four racks: a ring leaves each rack once.
        let ring = phases(Pattern::RingAllReduce, 4, 2);
        assert_eq!(ring.configurations().len(), 1);
        let all = phases(Pattern::AllToAll, 4, 2);
        // From hosts 1 to 7 places on, each of which is one or two racks.
        let carried: u64 = all
            .days
            .iter()
            .map(|(circuits, bytes)| circuits.circuits().pairs().count() as u64 * bytes)
            .sum();
        assert!(carried >= 48 * 1_000_000, "{carried}");
    }

    #[test]
    fn the_traffic_says_which_phase_it_is() {
        let all = phases(Pattern::AllToAll, 8, 1);
        let mut scheduler = OnDemand::new(all.configurations(), terms());
        let (mut demand, mut week) = (Demand::new(8).expect("eight racks"), Week::default());
        for step in [1, 1, 2, 5, 3] {
            let changes = step != scheduler.present + 1;
            demand.clear();
            // Some racks have not begun.
            (0..5).for_each(|from| demand.set(from, (from + step) % 8, 1_000_000));
            assert_eq!(scheduler.week(&demand, &mut week), Note::Planned);
            assert_eq!(week.span(), terms().week());
            assert_eq!(week.len(), if changes { 2 } else { 1 });
            let day = week.days().next().expect("a day");
            assert_eq!(day.circuits.source((7 + step) % 8), Some(7));
        }
        demand.clear();
        assert_eq!(scheduler.week(&demand, &mut week), Note::NoDemand);
        assert_eq!((week.len(), scheduler.present), (1, 2));
    }

    #[test]
    fn what_has_no_phases_is_refused() {
        let fabric = fabric(8, 1);
        assert!(Phases::new(&[], &fabric).is_err());
        let twice = [job(Pattern::AllToAll, 1), job(Pattern::AllToAll, 1)].concat();
        assert!(Phases::new(&twice, &fabric).is_err());
        let mut drawn = job(Pattern::AllToAll, 1);
        let WorkloadSpec::Collective(spec) = &mut drawn[0] else { return };
        spec.hosts = Hosts::Random(4);
        let error = Phases::new(&drawn, &fabric).expect_err("not known ahead");
        assert!(error.message.contains("list them"), "{error}");
    }
}
