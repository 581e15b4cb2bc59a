use super::run::run_with;
use super::*;
use proptest::prelude::*;
use slotline_fastpass::{BySlot, Partitions};
use slotline_fastpass::{Choice, DemandError, PathError, PathSelector, Policy};
use std::collections::{BTreeMap, BTreeSet};

const HOSTS: u16 = 4;
const PATHS: u16 = 4;

/// A port that supplies a list, round by round, and records the permits.
#[derive(Clone, Default)]
struct Listed {
    rounds: Vec<Vec<Demand>>,
    /// The number of times that the port waits before each round.
    waits: u32,
    waited: u32,
    /// Requests another slot for every `echo`-th permit, so that demand depends on permits.
    echo: Option<usize>,
    echoes: Vec<Demand>,
    batches: Vec<Vec<u64>>,
    refused: Vec<(Demand, Refusal)>,
}

impl Port for Listed {
    fn demand(&mut self, round: u64, out: &mut Vec<Demand>) -> Intake {
        if self.waited < self.waits {
            self.waited += 1;
            return Intake::Wait;
        }
        self.waited = 0;
        let Some(demands) = self.rounds.get(round as usize) else { return Intake::End };
        out.extend(demands);
        out.append(&mut self.echoes);
        Intake::Ready
    }
    fn granted(&mut self, batch: u64, permits: Permits<'_>) {
        assert_eq!(batch, self.batches.len() as u64);
        self.batches.push(permits.words().to_vec());
        let again = |permit: Permit| Demand { src: permit.src(), dst: permit.dst(), slots: 1 };
        self.echoes
            .extend(self.echo.iter().flat_map(|&every| permits.iter().step_by(every).map(again)));
    }
    fn refused(&mut self, demand: Demand, why: Refusal) {
        self.refused.push((demand, why));
    }
}

fn setup(endpoints: u16, partitions: usize, threads: usize, ports: u16) -> Setup {
    let racks = endpoints.div_ceil(HOSTS);
    Setup {
        policy: Policy::MaxMin { quantum: 1 },
        racks: (0..endpoints).map(|endpoint| endpoint / HOSTS).collect(),
        port_of: (0..endpoints).map(|endpoint| endpoint % ports).collect(),
        paths: PathSelector::new(racks, PATHS, HOSTS / PATHS).unwrap(),
        partitions,
        selections: partitions,
        depth: 2,
        threads,
    }
}

/// Each port has the demand of its endpoints.
fn ports(count: u16, rounds: &[Vec<Demand>]) -> Vec<Listed> {
    let of = |port: u16| {
        let mine = |demands: &Vec<Demand>| {
            demands.iter().filter(|demand| demand.src % count == port).copied().collect()
        };
        Listed { rounds: rounds.iter().map(mine).collect(), ..Listed::default() }
    };
    (0..count).map(of).collect()
}

/// The same allocation without stages or rings. It is valid if every packet gets a path.
fn plain(setup: &Setup, ports: &[Listed], rounds: usize) -> Vec<Vec<Vec<u64>>> {
    let mut partitions =
        Partitions::new(setup.partitions, setup.racks.len(), setup.policy).unwrap();
    let (mut selector, mut out) = (setup.paths.clone(), vec![Vec::new(); ports.len()]);
    for round in 0..rounds {
        for demand in ports.iter().flat_map(|port| &port.rounds[round]) {
            partitions.add_demand(demand.src, demand.dst, demand.slots).unwrap();
        }
        for grants in partitions.allocate_round() {
            let mut slots = BySlot::new(setup.racks.len());
            slots.sort(grants);
            out.iter_mut().for_each(|port| port.push(Vec::new()));
            for (slot, packets) in slots.slots().enumerate() {
                let rack = |endpoint: u16| setup.racks[usize::from(endpoint)];
                let ends: Vec<_> = packets.iter().map(|&(s, d)| (rack(s), rack(d))).collect();
                let mut choices = Vec::new();
                selector.select(&ends, &mut choices).unwrap();
                for (&(src, dst), &choice) in packets.iter().zip(&choices) {
                    let port = usize::from(setup.port_of[usize::from(src)]);
                    let word = Permit::new(src, dst, slot as u8, choice).to_word();
                    out[port].last_mut().unwrap().push(word);
                }
            }
        }
    }
    out
}

/// A simple checker: no source, destination or link twice in a slot, and no slot without demand.
/// Returns the number of slots that are not granted.
fn check(ports: &[Listed], asked: &[Vec<Demand>]) -> u64 {
    let mut book: BTreeMap<(u16, u16), u64> = BTreeMap::new();
    for demand in asked.iter().flatten() {
        *book.entry((demand.src, demand.dst)).or_default() += u64::from(demand.slots);
    }
    let mut taken = BTreeSet::new();
    for (batch, words) in ports.iter().flat_map(|port| port.batches.iter().enumerate()) {
        for permit in words.iter().map(|&word| Permit(word)) {
            let (src, dst, slot) = (permit.src(), permit.dst(), (batch, permit.slot()));
            let mut take = |what: &'static str, which: u16, path: u16| {
                assert!(
                    taken.insert((slot, what, which, path)),
                    "{what} {which} twice in {slot:?}"
                );
            };
            match permit.choice() {
                Choice::Unplaced => continue,
                Choice::Local => assert_eq!(src / HOSTS, dst / HOSTS),
                Choice::Over(path) => {
                    take("up", src / HOSTS, path);
                    take("down", dst / HOSTS, path);
                }
            }
            take("source", src, 0);
            take("destination", dst, 0);
            let left = book.get_mut(&(src, dst)).expect("demand for this pair");
            *left = left.checked_sub(1).expect("at most the requested slots");
        }
    }
    book.values().sum()
}

fn rounds() -> impl Strategy<Value = (u16, Vec<Vec<Demand>>)> {
    (2u16..40).prop_flat_map(|n| {
        let demand = (0..n, 1..n, 0u32..90).prop_map(move |(src, by, slots)| Demand {
            src,
            dst: (src + by) % n,
            slots,
        });
        (Just(n), prop::collection::vec(prop::collection::vec(demand, 0..100), 0..6))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any demand, any number of stages, threads and rounds in progress, and rings of any length give the
    /// permits of a simple loop, byte by byte, and valid ones.
    #[test]
    fn any_number_of_threads_gives_the_same(
        (n, demands) in rounds(), partitions in 1usize..4, selections in 1usize..4, count in 1u16..4,
        depth in 1u64..4, waits in 0u32..3, capacity in 1usize..200
    ) {
        let mut setup = setup(n, partitions, 1, count);
        (setup.selections, setup.depth) = (selections, depth);
        let expected = plain(&setup, &ports(count, &demands), demands.len());
        for threads in [1, 2, 3, 20] {
            setup.threads = threads;
            let mut ports = ports(count, &demands);
            ports.iter_mut().for_each(|port| port.waits = waits);
            let report = run_with(&setup, &mut ports, capacity).unwrap();
            let got: Vec<_> = ports.iter().map(|port| port.batches.clone()).collect();
            prop_assert_eq!(&got, &expected);
            prop_assert_eq!(check(&ports, &demands), report.waiting);
            prop_assert!(ports.iter().all(|port| port.refused.is_empty()));
            prop_assert_eq!(report.busy.len(), threads.min(partitions + selections + usize::from(count)));
        }
    }

    /// The result is the same even if demand depends on earlier permits.
    #[test]
    fn demand_may_depend_on_permits(
        (n, demands) in rounds(), partitions in 1usize..4, depth in 1u64..4, every in 1usize..5
    ) {
        let results = [1, 2, 5].map(|threads| {
            let mut setup = setup(n, partitions, threads, 2);
            setup.depth = depth;
            let mut ports = ports(2, &demands);
            ports.iter_mut().for_each(|port| port.echo = Some(every));
            let waiting = run_with(&setup, &mut ports, 64).unwrap().waiting;
            (waiting, ports.into_iter().map(|port| port.batches).collect::<Vec<_>>())
        });
        prop_assert_eq!(&results[0], &results[1]);
        prop_assert_eq!(&results[0], &results[2]);
    }
}

/// Two of four paths fail: packets without a path are requested again until all of them have one.
#[test]
fn packets_without_a_path_are_requested_again() {
    let mut demands = vec![Vec::new(); 40];
    demands[0] = (0..16).map(|src| Demand { src, dst: (src + 4) % 16, slots: 100 }).collect();
    let batches = [1, 2].map(|threads| {
        let mut setup = setup(16, 2, threads, 2);
        (0..2).for_each(|path| setup.paths.set_path(path, false).unwrap());
        let mut ports = ports(2, &demands);
        assert_eq!(run(&setup, &mut ports).unwrap().waiting, 0);
        assert_eq!(check(&ports, &demands), 0);
        let unplaced = |word: &&u64| Permit(**word).choice() == Choice::Unplaced;
        assert!(ports[0].batches.iter().flatten().filter(unplaced).count() > 100);
        ports.into_iter().map(|port| port.batches).collect::<Vec<_>>()
    });
    assert_eq!(batches[0], batches[1]);
}

#[test]
fn invalid_demand_is_refused_and_the_rest_is_served() {
    let mut ports = ports(2, &[Vec::new()]);
    let demand = |src, dst| Demand { src, dst, slots: 3 };
    ports[0].rounds =
        vec![vec![demand(9, 0), demand(0, 9), demand(2, 2), demand(1, 0), demand(0, 1)]];
    run(&setup(4, 1, 2, 2), &mut ports).unwrap();
    let expected = [
        (demand(9, 0), Refusal::Unknown(9)),
        (demand(0, 9), Refusal::Unknown(9)),
        (demand(2, 2), Refusal::Itself(2)),
        (demand(1, 0), Refusal::Elsewhere { src: 1, port: 1 }),
    ];
    assert_eq!(ports[0].refused, expected);
    assert_eq!(ports[0].batches[0].len(), 3);
}

/// Demand beyond what 32 bits can count waits until it can be counted.
#[test]
fn excessive_demand_is_not_lost() {
    let all = Demand { src: 0, dst: 1, slots: u32::MAX };
    let mut ports = ports(1, &[vec![all; 3], Vec::new()]);
    let report = run(&setup(4, 1, 1, 1), &mut ports).unwrap();
    assert_eq!(report.waiting, 3 * u64::from(u32::MAX) - 128);
}

/// The other ports continue after a port has ended.
#[test]
fn ports_may_end_at_different_times() {
    let demands = vec![vec![Demand { src: 1, dst: 2, slots: 7 }]; 20];
    let mut ports = ports(2, &demands);
    ports[0].rounds.truncate(3);
    let report = run(&setup(8, 2, 2, 2), &mut ports).unwrap();
    assert_eq!((report.waiting, check(&ports, &demands)), (0, 0));
    assert!(ports.iter().all(|port| port.batches.len() == 40));
}

/// A port that panics at its fourth batch.
struct Broken;

impl Port for Broken {
    fn demand(&mut self, _: u64, _: &mut Vec<Demand>) -> Intake {
        Intake::Ready
    }
    fn granted(&mut self, batch: u64, _: Permits<'_>) {
        assert!(batch < 3, "the port is broken");
    }
    fn refused(&mut self, _: Demand, _: Refusal) {}
}

/// No stage waits for ever for a stage that has panicked.
#[test]
fn a_panic_ends_all_threads() {
    for threads in [1, 2, 3, 6] {
        let setup = setup(8, 2, threads, 2);
        let ended = std::panic::catch_unwind(|| run(&setup, &mut [Broken, Broken]));
        assert!(ended.is_err());
    }
}

#[test]
fn an_invalid_setup_is_refused() {
    let good = setup(8, 2, 2, 2);
    let refused = |change: fn(&mut Setup)| {
        let mut setup = good.clone();
        change(&mut setup);
        run(&setup, &mut ports(2, &[])).unwrap_err()
    };
    assert_eq!(refused(|s| s.partitions = 0), PipelineError::Zero);
    assert_eq!(refused(|s| s.selections = 0), PipelineError::Zero);
    assert_eq!(refused(|s| s.threads = 0), PipelineError::Zero);
    assert_eq!(refused(|s| s.depth = 0), PipelineError::Zero);
    let lengths = PipelineError::Endpoints { racks: 7, ports: 8 };
    assert_eq!(refused(|s| s.racks.truncate(7)), lengths);
    assert_eq!(refused(|s| s.port_of[3] = 2), PipelineError::Port { port: 2, ports: 2 });
    let rack = PathError::Rack { rack: 5, racks: 2 };
    assert_eq!(refused(|s| s.racks[3] = 5), PipelineError::Path(rack));
    let quantum = DemandError::Quantum(65);
    assert_eq!(
        refused(|s| s.policy = Policy::MaxMin { quantum: 65 }),
        PipelineError::Demand(quantum)
    );
    assert_eq!(run::<Listed>(&good, &mut []).unwrap_err(), PipelineError::Zero);
}
