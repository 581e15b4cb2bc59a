//! Measures the schedule of an arbiter, from demand to timeslots with paths, and its speed-up on two threads.
//!
//! The compared runs alternate, so that other load of the machine affects all of them. The shortest run of each counts,
//! because other load can only make a run longer. Elapsed time shows the gain of two cores only if the cores are free.
//! The *critical path* shows it on a busy machine, too: it is the CPU time of the busiest thread.

use crate::Row;
use crate::arbiter::arrivals;
use slotline_arbiter::{THREAD, threads};
use slotline_fastpass::schedule::Placed;
use slotline_fastpass::{EmptySchedule, FastpassSpec, Schedule};
use slotline_lab::usage::{named_threads_cpu_s, thread_cpu_s};
use std::time::Instant;

/// One case of the benchmark: random flows among racks of 32 hosts, joined by 32 paths.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Case {
    /// Endpoints, all sending.
    pub endpoints: u16,
    /// Requested slots per available slot.
    pub load: f64,
    /// Slots per visit.
    pub quantum: u32,
}

/// How a case is run: the number of allocators, and whether they have threads.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Form {
    allocators: u32,
    apart: bool,
}

const ONE: Form = Form { allocators: 1, apart: false };
const AWAY: Form = Form { allocators: 1, apart: true };
const SPLIT: Form = Form { allocators: 2, apart: false };
const TWO: Form = Form { allocators: 2, apart: true };
const FORMS: [Form; 4] = [ONE, AWAY, SPLIT, TWO];
/// Batches of a run, and the number of runs, with 256 endpoints and with more. Runs are short, so that some of them are
/// not disturbed. They are long enough for queues to fill, and for the memory that each partition takes at its start to
/// matter little.
const SMALL: (usize, usize) = (512, 20);
const LARGE: (usize, usize) = (256, 8);
const RACK_HOSTS: u16 = 32;
const PATHS: u16 = 32;
const SLOT_BITS: f64 = 12_000.0;

/// The cases of `slotline bench arbiter`.
pub fn cases() -> Vec<Case> {
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
    /// CPU time of the arbiter's thread, and of all threads of allocators.
    own_ns: f64,
    apart_ns: f64,
    /// CPU time of the busiest thread.
    longest_ns: f64,
    digest: u64,
}

impl Case {
    /// The name on the command line, for example `pipeline:256:0.5:1`.
    pub fn name(&self) -> String {
        format!("pipeline:{}:{}:{}", self.endpoints, self.load, self.quantum)
    }
    /// Runs the case at its usual length.
    ///
    /// # Panics
    /// As [`Case::run`].
    pub fn measure(&self) -> Vec<Row> {
        let (batches, repetitions) = if self.endpoints <= 256 { SMALL } else { LARGE };
        self.run(batches, repetitions)
    }
    /// Runs the case `repetitions` times in each form.
    ///
    /// # Panics
    /// One thread and several grant different slots, which is a bug.
    pub fn run(&self, batches: usize, repetitions: usize) -> Vec<Row> {
        let flows = arrivals(self.endpoints.into(), self.load, batches);
        let empty = [1, 2].map(|allocators| self.empty(allocators));
        let once = |form: Form| {
            let crew = form.apart.then(threads);
            measure(empty[form.allocators as usize - 1].begin(crew.as_ref()), form, &flows)
        };
        let turns: Vec<_> = (0..repetitions).map(|_| FORMS.map(once)).collect();
        for [one, away, split, two] in &turns {
            let same = one.digest == away.digest && split.digest == two.digest;
            assert!(same, "one thread and several grant different slots");
        }
        self.report(&turns)
    }
    fn empty(&self, allocators: u32) -> EmptySchedule {
        let fabric = format!(
            "kind = 'leaf-spine'\nleaves = {}\nspines = {PATHS}\nhosts-per-leaf = {RACK_HOSTS}\nuplink-rate = '10Gbps'",
            self.endpoints / RACK_HOSTS
        );
        let quantum = self.quantum;
        let spec = FastpassSpec { quantum, allocators, ..FastpassSpec::default() };
        let fabric = toml::from_str(&fabric).expect("the fabric is valid");
        let options = spec.build().expect("the options are valid");
        EmptySchedule::of_network(&options, &fabric).expect("the network is valid")
    }
    fn report(&self, turns: &[[Took; FORMS.len()]]) -> Vec<Row> {
        let fastest = |form: Form, of: fn(&Took) -> f64| {
            let at = FORMS.iter().position(|other| *other == form).unwrap_or(0);
            least(turns.iter().map(|turn| of(&turn[at]) / turn[at].slots))
        };
        let times = FORMS.into_iter().flat_map(|form| {
            let per_slot =
                |name: &str, of: fn(&Took) -> f64| self.row(form, name, fastest(form, of), "ns");
            [
                per_slot("wall_per_slot", |took| took.wall_ns),
                per_slot("cpu_per_slot", |took| took.own_ns + took.apart_ns),
                per_slot("own_cpu_per_slot", |took| took.own_ns),
                per_slot("critical_path_per_slot", |took| took.longest_ns),
            ]
        });
        let gain = |name: &str, of: fn(&Took) -> f64| {
            self.row(TWO, name, fastest(ONE, of) / fastest(TWO, of), "times one thread")
        };
        let critical = fastest(TWO, |took| took.longest_ns);
        let ends = [
            self.row(TWO, "two_cores", SLOT_BITS / critical / 1e3, "Tbit/s"),
            gain("scaling_wall", |took| took.wall_ns),
            gain("scaling_critical_path", |took| took.longest_ns),
        ];
        times.chain(ends).collect()
    }
    fn row(&self, form: Form, name: &str, value: f64, unit: &str) -> Row {
        let Form { allocators, apart } = form;
        Row {
            name: format!("pipeline/{name}"),
            scenario: format!("{} at {}", self.endpoints, self.load),
            scheme: format!(
                "quantum {}, {allocators} allocator{}",
                self.quantum,
                &"s"[..usize::from(allocators > 1)]
            ),
            threads: if apart { 1 + allocators } else { 1 },
            value,
            unit: unit.into(),
        }
    }
}

/// What a schedule has granted.
#[derive(Default)]
struct Granted {
    slots: u64,
    digest: u64,
}

impl Granted {
    /// Waits for a round, and reads what it grants.
    fn collect(&mut self, schedule: &mut Schedule) {
        schedule.collect();
        schedule.placed().iter().for_each(|placed| self.read(placed));
    }
    fn read(&mut self, placed: &Placed) {
        let Placed { src, batch, dst, path, slots } = *placed;
        let ends = u64::from(src) << 48 | u64::from(dst) << 32;
        let word = ends | u64::from(path) << 16 | u64::from(batch);
        self.slots += u64::from(slots.count_ones());
        self.digest =
            (self.digest.rotate_left(5) ^ word ^ slots).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// Runs a schedule with these flows by batch. A round is collected when the demand of the next one is known.
fn measure(mut schedule: Schedule, form: Form, flows: &[Vec<(u16, u16, u32)>]) -> Took {
    let mut granted = Granted::default();
    let (began, cpu) = (Instant::now(), thread_cpu_s());
    for round in flows.chunks(form.allocators as usize) {
        for &(src, dst, slots) in round.iter().flatten() {
            assert!(schedule.demand(src, dst, slots), "the flows are between these hosts");
        }
        granted.collect(&mut schedule);
        schedule.begin();
    }
    granted.collect(&mut schedule);
    let (wall_ns, own_ns) = (began.elapsed().as_nanos() as f64, (thread_cpu_s() - cpu) * 1e9);
    Took::new(&granted, wall_ns, own_ns)
}

impl Took {
    /// While the threads of allocators are still there.
    fn new(granted: &Granted, wall_ns: f64, own_ns: f64) -> Took {
        let apart = named_threads_cpu_s(THREAD).into_iter().map(|seconds| seconds * 1e9);
        let (apart_ns, longest_ns) =
            apart.fold((0.0, own_ns), |(sum, most), of| (sum + of, f64::max(most, of)));
        let Granted { slots, digest } = *granted;
        Took { slots: slots as f64, wall_ns, own_ns, apart_ns, longest_ns, digest }
    }
}

fn least(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_is_measured() {
        let rows = Case { endpoints: 64, load: 0.7, quantum: 1 }.run(16, 1);
        assert!(rows.iter().all(|row| row.value > 0.0), "{rows:?}");
        assert_eq!(rows.len(), 19);
        assert_eq!(cases().len(), 6);
    }
}
