//! Links of pods by demand: the same hardware wired as a Clos network, as a mesh, and by [`ClosDirect`].

use slotline_circuits::{
    CircuitTiming, CircuitTimingSpec, ClosDirect, Demand, DemandPattern, JointScheduler, Mesh,
    PanelLayout, Week,
};

fn timing() -> CircuitTiming {
    let ms = 1_000_000_000;
    let spec = CircuitTimingSpec {
        week: 100 * ms,
        night: 20 * ms,
        min_day: ms,
        ..CircuitTimingSpec::etalon(0)
    };
    spec.build().expect("valid timing")
}

/// The links during the day: source and destination by panel.
fn day(weeks: &[Week]) -> Vec<Vec<(usize, usize)>> {
    let last = |week: &Week| week.slices().next_back().expect("a day").circuits.pairs().collect();
    weeks.iter().map(last).collect()
}

/// The first links that packets of a rack may take: direct links; otherwise links to core switches that have
/// a link to the destination; otherwise links to racks that have one. A link is its panel, its source and the
/// node that it leads to.
fn first_links(
    cores: &PanelLayout,
    day: &[Vec<(usize, usize)>],
    src: usize,
    dst: usize,
) -> Vec<(usize, usize, usize)> {
    let from = |node: usize| {
        let all = day
            .iter()
            .enumerate()
            .flat_map(|(panel, links)| links.iter().map(move |l| (panel, *l)));
        let all = all.filter(move |(_, (from, _))| node_of(cores, *from) == node);
        all.map(|(panel, (from, to))| (panel, from, node_of(cores, to)))
    };
    let direct = |by: usize| from(by).filter(move |link| link.2 == dst);
    let by = |is_core: bool| {
        let all = from(src).filter(move |link| (link.2 >= cores.racks) == is_core);
        all.filter(|link| direct(link.2).next().is_some()).collect::<Vec<_>>()
    };
    let kinds = [direct(src).collect(), by(true), by(false)];
    kinds.into_iter().find(|kind: &Vec<_>| !kind.is_empty()).unwrap_or_default()
}

fn node_of(cores: &PanelLayout, end: usize) -> usize {
    if end < cores.racks { end } else { cores.racks + (end - cores.racks) / cores.slots }
}

/// The maximum load of a link if packets are spread evenly over their first links, or `None` if a pair is not
/// connected.
fn max_load(cores: &PanelLayout, weeks: &[Week], demand: &Demand) -> Option<f64> {
    let (day, ends) = (day(weeks), cores.ends());
    let mut loads = vec![0.0; ends * cores.panels];
    let pairs = (0..cores.racks).flat_map(|src| (0..cores.racks).map(move |dst| (src, dst)));
    for (src, dst) in pairs.filter(|&(src, dst)| demand.get(src, dst) > 0) {
        let first = first_links(cores, &day, src, dst);
        if first.is_empty() {
            return None;
        }
        let share = demand.get(src, dst) as f64 / first.len() as f64;
        for (panel, from, to) in first {
            loads[panel * ends + from] += share;
            if to != dst {
                let second = first_links(cores, &day, to, dst);
                let share = share / second.len() as f64;
                second.iter().for_each(|(panel, from, _)| loads[panel * ends + from] += share);
            }
        }
    }
    Some(loads.into_iter().fold(0.0, f64::max))
}

fn planned(
    scheduler: &mut dyn JointScheduler,
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

/// Fabrics whose core has ports for half of the uplinks, for all of them, and for a quarter.
const FABRICS: [PanelLayout; 3] = [
    PanelLayout { racks: 8, cores: 2, slots: 2, panels: 8 },
    PanelLayout { racks: 8, cores: 2, slots: 4, panels: 8 },
    PanelLayout { racks: 16, cores: 2, slots: 2, panels: 16 },
];
/// Three links of each rack always go to the core here. A mesh has more direct links.
const LARGE_CORE: PanelLayout = PanelLayout { racks: 8, cores: 3, slots: 1, panels: 16 };
/// The links of a single core switch never move and can block direct links.
const SINGLE_CORE: PanelLayout = PanelLayout { racks: 4, cores: 1, slots: 1, panels: 8 };

/// The maximum load in a Clos network, in a mesh, and with [`ClosDirect`] after a number of weeks.
fn race(cores: PanelLayout, demand: &Demand, weeks: usize) -> [f64; 3] {
    let full = |weeks: &[Week]| max_load(&cores, weeks, demand).expect("all are reached");
    let mut mesh = Mesh::new(cores.racks, cores.panels, timing(), true).expect("enough panels");
    let mut clos_direct = ClosDirect::new(cores, timing(), true);
    [
        full(&cores.clos(1_000)),
        full(&planned(&mut mesh, cores.panels, demand, weeks)),
        full(&planned(&mut clos_direct, cores.panels, demand, weeks)),
    ]
}

fn demands(cores: PanelLayout) -> impl Iterator<Item = (String, Demand)> {
    let classes = DemandPattern::ALL.into_iter().filter(|class| *class != DemandPattern::Empty);
    let all = classes.flat_map(|class| (1..5).map(move |seed| (class, seed)));
    all.map(move |(class, seed)| {
        let demand = class.demand(cores.racks, 1_000_000, seed).expect("a demand");
        (format!("{cores:?} {class} {seed}"), demand)
    })
}

/// A twentieth is the tolerance below which no link moves.
#[test]
fn clos_direct_is_as_good_as_the_better_of_clos_and_mesh() {
    for (cores, weeks) in FABRICS.into_iter().flat_map(|cores| [1, 2].map(|n| (cores, n))) {
        for (name, demand) in demands(cores) {
            let [clos, mesh, clos_direct] = race(cores, &demand, weeks);
            assert!(
                clos_direct <= clos.min(mesh) * 1.05,
                "{name}: clos {clos} mesh {mesh} clos-direct {clos_direct}"
            );
        }
    }
    for (name, demand) in demands(LARGE_CORE) {
        let [clos, mesh, clos_direct] = race(LARGE_CORE, &demand, 1);
        let best = clos.min(mesh * 16.0 / 13.0);
        assert!(
            clos_direct <= best * 1.05,
            "{name}: clos {clos} mesh {mesh} clos-direct {clos_direct}"
        );
    }
    for (name, demand) in demands(SINGLE_CORE) {
        let [clos, _, clos_direct] = race(SINGLE_CORE, &demand, 1);
        assert!(clos_direct <= clos * 1.05, "{name}: clos {clos} clos-direct {clos_direct}");
    }
}

/// The result does not depend on the earlier wiring.
#[test]
fn clos_direct_follows_demand_that_changes() {
    let cores = FABRICS[0];
    let mut clos_direct = ClosDirect::new(cores, timing(), true);
    for (name, demand) in demands(cores) {
        let [clos, mesh, _] = race(cores, &demand, 1);
        let weeks = planned(&mut clos_direct, cores.panels, &demand, 1);
        let clos_direct = max_load(&cores, &weeks, &demand).expect("all are reached");
        assert!(
            clos_direct <= clos.min(mesh) * 1.05,
            "{name}: clos {clos} mesh {mesh} clos-direct {clos_direct}"
        );
    }
}

/// If demand hardly changes, no circuit moves and none is dark.
#[test]
fn clos_direct_moves_nothing_for_little() {
    let cores = FABRICS[0];
    let mut clos_direct = ClosDirect::new(cores, timing(), true);
    let even = DemandPattern::AllToAll.demand(8, 1_000_000, 1).expect("a demand");
    for seed in 0..12 {
        let mut demand = DemandPattern::Random.demand(8, 300_000, seed).expect("a demand");
        let pairs = (0..8).flat_map(|src| (0..8).map(move |dst| (src, dst)));
        pairs
            .for_each(|(src, dst)| demand.set(src, dst, demand.get(src, dst) + even.get(src, dst)));
        for week in planned(&mut clos_direct, cores.panels, &demand, 1) {
            let mut slices = week.slices();
            let (night, day) = (slices.next(), slices.next_back());
            assert_eq!(night.map(|it| it.circuits), day.map(|it| it.circuits), "seed {seed}");
        }
    }
}
