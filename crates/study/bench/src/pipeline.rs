//! Measures the cost of the pipeline of the arbiter, from demand to paths, and its speed-up on two threads.
//!
//! The compared runs alternate, so that other load of the machine affects all of them. The shortest run of each counts,
//! because other load can only make a run longer. Elapsed time shows the gain of two cores only if two cores are free.
//! The *critical path* shows it on a busy machine, too: it is the CPU time of the busiest thread without the time in
//! which it waited.

use crate::Row;
use crate::arbiter::arrivals;
use slotline_arbiter::{Demand, Intake, Permits, Port, Refusal, Setup, run};
use slotline_fastpass::{PathSelector, Policy};
use std::time::Instant;

/// One case of the pipeline benchmark: random flows among racks of 32 hosts, joined by 32 paths.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Case {
    /// Endpoints, all sending.
    pub endpoints: u16,
    /// Requested slots per available slot.
    pub load: f64,
    /// Slots per visit.
    pub quantum: u32,
}

/// How a case is run: the numbers of ports, partitions, path selections and threads.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Form {
    lanes: u16,
    threads: usize,
}

const ONE: Form = Form { lanes: 1, threads: 1 };
const SPLIT: Form = Form { lanes: 2, threads: 1 };
const TWO: Form = Form { lanes: 2, threads: 2 };
/// Batches of a run, and the number of runs, with 256 endpoints and with more. Runs are short, so that some of them are
/// not disturbed. They are long enough for queues to fill, and for the memory that each partition takes at its start to
/// matter little.
const SMALL: (usize, usize) = (512, 20);
const LARGE: (usize, usize) = (256, 8);
const RACK_HOSTS: u16 = 32;
const PATHS: u16 = 32;
const SLOT_BITS: f64 = 12_000.0;

/// All rows of the pipeline in `slotline bench arbiter`.
pub fn rows() -> Vec<Row> {
    let run = |case: &Case| {
        let (batches, repetitions) = if case.endpoints <= 256 { SMALL } else { LARGE };
        case.run(batches, repetitions)
    };
    cases().iter().flat_map(run).collect()
}

fn cases() -> Vec<Case> {
    let sizes = [(256, 1), (256, 4), (2_048, 1)].into_iter();
    sizes
        .flat_map(|(endpoints, quantum)| [0.5, 0.9].map(|load| Case { endpoints, load, quantum }))
        .collect()
}

/// The cost of one run.
#[derive(Clone, Copy)]
struct Took {
    slots: f64,
    wall_ns: f64,
    /// CPU time of all threads, and of the busiest one.
    busy_ns: f64,
    longest_ns: f64,
    digest: u64,
}

impl Case {
    /// Runs the case `repetitions` times in each form.
    ///
    /// # Panics
    /// One and two threads grant different slots, which is a bug.
    pub fn run(&self, batches: usize, repetitions: usize) -> Vec<Row> {
        let flows = arrivals(self.endpoints.into(), self.load, batches);
        let run = |_| [ONE, SPLIT, TWO].map(|form| self.once(form, &flows));
        let turns: Vec<[Took; 3]> = (0..repetitions).map(run).collect();
        for [_, split, two] in &turns {
            assert_eq!(split.digest, two.digest, "one and two threads grant different slots");
        }
        self.report(&turns)
    }
    fn report(&self, turns: &[[Took; 3]]) -> Vec<Row> {
        let fastest = |i: usize, of: fn(&Took) -> f64| {
            least(turns.iter().map(|turn| of(&turn[i]) / turn[i].slots))
        };
        let forms = [(0, ONE), (1, SPLIT), (2, TWO)].into_iter();
        let times = forms.flat_map(|(i, form)| {
            let per_slot =
                |name: &str, of: fn(&Took) -> f64| self.row(form, name, fastest(i, of), "ns");
            [
                per_slot("wall_per_slot", |took| took.wall_ns),
                per_slot("cpu_per_slot", |took| took.busy_ns),
                per_slot("critical_path_per_slot", |took| took.longest_ns),
            ]
        });
        let gain = |name: &str, of: fn(&Took) -> f64| {
            self.row(TWO, name, fastest(0, of) / fastest(2, of), "times one thread")
        };
        let critical = fastest(2, |took| took.longest_ns);
        let ends = [
            self.row(TWO, "two_cores", SLOT_BITS / critical / 1e3, "Tbit/s"),
            gain("scaling_wall", |took| took.wall_ns),
            gain("scaling_critical_path", |took| took.longest_ns),
        ];
        times.chain(ends).collect()
    }
    fn row(&self, form: Form, name: &str, value: f64, unit: &str) -> Row {
        Row {
            name: format!("pipeline/{name}"),
            scenario: format!("{} at {}", self.endpoints, self.load),
            scheme: format!(
                "quantum {}, {} partition{}",
                self.quantum,
                form.lanes,
                &"s"[..usize::from(form.lanes > 1)]
            ),
            threads: form.threads as u32,
            value,
            unit: unit.into(),
        }
    }
    fn once(&self, form: Form, flows: &[Vec<(u16, u16, u32)>]) -> Took {
        let lanes = usize::from(form.lanes);
        let racks = self.endpoints.div_ceil(RACK_HOSTS);
        let setup = Setup {
            policy: Policy::MaxMin { quantum: self.quantum },
            racks: (0..self.endpoints).map(|endpoint| endpoint / RACK_HOSTS).collect(),
            port_of: (0..self.endpoints).map(|endpoint| endpoint % form.lanes).collect(),
            paths: PathSelector::new(racks, PATHS, 1).expect("these are few paths"),
            partitions: lanes,
            selections: lanes,
            depth: 3,
            threads: form.threads,
        };
        let mut ports: Vec<_> =
            (0..form.lanes).map(|port| Load::new(port, form.lanes, flows)).collect();
        let began = Instant::now();
        let report = run(&setup, &mut ports).expect("the setup makes sense");
        let wall_ns = began.elapsed().as_nanos() as f64;
        let busy = || report.busy.iter().map(|busy| busy.as_nanos() as f64);
        Took {
            slots: ports.iter().map(|port| port.slots as f64).sum(),
            wall_ns,
            busy_ns: busy().sum(),
            longest_ns: busy().fold(0.0, f64::max),
            digest: ports.iter().fold(0, |digest, port| digest ^ port.digest),
        }
    }
}

fn least(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

/// A port that supplies flows that were drawn before, and reads each permit.
struct Load {
    rounds: Vec<Vec<Demand>>,
    slots: u64,
    digest: u64,
}

impl Load {
    /// The flows of the sources of one port, grouped by the batches of a round.
    fn new(port: u16, lanes: u16, flows: &[Vec<(u16, u16, u32)>]) -> Load {
        let round = |batches: &[Vec<(u16, u16, u32)>]| {
            let mine = batches.iter().flatten().filter(|flow| flow.0 % lanes == port);
            mine.map(|&(src, dst, slots)| Demand { src, dst, slots }).collect()
        };
        let rounds = flows.chunks(lanes.into()).map(round).collect();
        Load { rounds, slots: 0, digest: port.into() }
    }
}

impl Port for Load {
    fn demand(&mut self, round: u64, out: &mut Vec<Demand>) -> Intake {
        let Some(demands) = self.rounds.get(round as usize) else { return Intake::End };
        out.extend_from_slice(demands);
        Intake::Ready
    }
    fn granted(&mut self, batch: u64, permits: Permits<'_>) {
        self.slots += permits.words().len() as u64;
        self.digest = permits.words().iter().fold(self.digest ^ batch, |digest, &word| {
            (digest.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        });
    }
    fn refused(&mut self, demand: Demand, why: Refusal) {
        unreachable!("{demand:?} was drawn for this port: {why}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_is_measured() {
        let rows = Case { endpoints: 64, load: 0.7, quantum: 1 }.run(16, 1);
        assert!(rows.iter().all(|row| row.value > 0.0), "{rows:?}");
        assert_eq!(rows.len(), 12);
        assert_eq!(cases().len(), 6);
    }
}
