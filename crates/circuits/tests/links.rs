//! Links of pods by demand: the same hardware wired as a Clos, as a mesh, and as a mix of both.

use slotline_circuits::{Class, Cores, Demand, Mesh, Mix, Terms, TermsSpec, Together, Week};

fn terms() -> Terms {
    let ms = 1_000_000_000;
    let spec = TermsSpec { week: 100 * ms, night: 20 * ms, min_day: ms, ..TermsSpec::etalon(0) };
    spec.build().expect("good terms")
}

/// The day's links of weeks: by panel and end, where they lead.
fn day(weeks: &[Week]) -> Vec<Vec<(usize, usize)>> {
    let last = |week: &Week| week.slices().next_back().expect("a day").circuits.pairs().collect();
    weeks.iter().map(last).collect()
}

/// Where packets of a rack may go first: by direct links; else to core switches with a link to the destination; else,
/// to racks with one. Links as panel and source, with the seat they lead to.
fn ways(
    cores: &Cores,
    day: &[Vec<(usize, usize)>],
    src: usize,
    dst: usize,
) -> Vec<(usize, usize, usize)> {
    let from = |seat: usize| {
        let all = day
            .iter()
            .enumerate()
            .flat_map(|(panel, links)| links.iter().map(move |l| (panel, *l)));
        let all = all.filter(move |(_, (from, _))| seat_of(cores, *from) == seat);
        all.map(|(panel, (from, to))| (panel, from, seat_of(cores, to)))
    };
    let direct = |by: usize| from(by).filter(move |link| link.2 == dst);
    let by = |is_core: bool| {
        let all = from(src).filter(move |link| (link.2 >= cores.racks) == is_core);
        all.filter(|link| direct(link.2).next().is_some()).collect::<Vec<_>>()
    };
    let kinds = [direct(src).collect(), by(true), by(false)];
    kinds.into_iter().find(|kind: &Vec<_>| !kind.is_empty()).unwrap_or_default()
}

fn seat_of(cores: &Cores, end: usize) -> usize {
    if end < cores.racks { end } else { cores.racks + (end - cores.racks) / cores.slots }
}

/// What the fullest link carries, where packets are sprayed over the ways there are; none where a pair has no way.
fn fullest(cores: &Cores, weeks: &[Week], demand: &Demand) -> Option<f64> {
    let (day, ends) = (day(weeks), cores.ends());
    let mut loads = vec![0.0; ends * cores.panels];
    let pairs = (0..cores.racks).flat_map(|src| (0..cores.racks).map(move |dst| (src, dst)));
    for (src, dst) in pairs.filter(|&(src, dst)| demand.get(src, dst) > 0) {
        let first = ways(cores, &day, src, dst);
        if first.is_empty() {
            return None;
        }
        let share = demand.get(src, dst) as f64 / first.len() as f64;
        for (panel, from, to) in first {
            loads[panel * ends + from] += share;
            if to != dst {
                let second = ways(cores, &day, to, dst);
                let share = share / second.len() as f64;
                second.iter().for_each(|(panel, from, _)| loads[panel * ends + from] += share);
            }
        }
    }
    Some(loads.into_iter().fold(0.0, f64::max))
}

fn planned(
    scheduler: &mut dyn Together,
    panels: usize,
    demand: &Demand,
    times: usize,
) -> Vec<Week> {
    let mut weeks = vec![Week::default(); panels];
    for _ in 0..times {
        scheduler.weeks(demand, &|_, _| true, &mut weeks);
    }
    weeks
}

/// Fabrics with core ports for half of the uplinks, and for all.
const FABRICS: [Cores; 5] = [
    Cores { racks: 8, cores: 2, slots: 2, panels: 8 },
    Cores { racks: 8, cores: 2, slots: 4, panels: 8 },
    Cores { racks: 8, cores: 3, slots: 1, panels: 16 },
    Cores { racks: 16, cores: 2, slots: 2, panels: 16 },
    Cores { racks: 4, cores: 1, slots: 1, panels: 8 },
];

#[test]
fn a_mix_is_as_good_as_the_better_of_clos_and_mesh() {
    for cores in FABRICS {
        for class in Class::ALL.into_iter().filter(|class| *class != Class::Empty) {
            for seed in 1..5 {
                let demand = class.demand(cores.racks, 1_000_000, seed).expect("a demand");
                let full = |weeks: &[Week]| fullest(&cores, weeks, &demand);
                let clos = full(&cores.clos(1_000)).expect("a Clos reaches all");
                let mut mesh =
                    Mesh::new(cores.racks, cores.panels, terms(), true).expect("panels enough");
                let mesh = full(&planned(&mut mesh, cores.panels, &demand, 1))
                    .expect("two hops reach all");
                for times in [1, 2] {
                    let mut mix = Mix::new(cores, terms(), true);
                    let mix = full(&planned(&mut mix, cores.panels, &demand, times))
                        .expect("the core reaches all");
                    let ok = mix <= clos.min(mesh) * 1.000_1;
                    println!("{ok} {cores:?} {class} {seed}: clos {clos} mesh {mesh} mix {mix}");
                }
            }
        }
    }
}
