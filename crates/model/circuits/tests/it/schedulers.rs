//! Properties that hold for every scheduler and every demand pattern.

use proptest::prelude::*;
use slotline_circuits::{
    Bvn, CircuitTiming, CircuitTimingError, CircuitTimingSpec, Demand, DemandPattern, Eclipse,
    Fallback, Fixed, MaxWeight, Meter, Note, PlanWorkspace, Portfolio, Rotor, Scheduler, Solstice,
    SolsticeSpec, Week, plan_all, served,
};

const US: u64 = 1_000_000;

fn etalon(week_us: u64) -> CircuitTiming {
    CircuitTimingSpec::etalon(week_us * US).build().expect("a good week")
}

fn solstice(racks: usize, timing: CircuitTiming) -> Solstice {
    Solstice::new(racks, timing, SolsticeSpec::default())
}

/// All demand-aware schedulers, and the rotation.
fn all(racks: usize, timing: CircuitTiming) -> Vec<(&'static str, Box<dyn Scheduler>)> {
    let held = |hold| MaxWeight::new(racks, timing, hold).expect("a good hold time");
    vec![
        ("rotor", Box::new(Rotor::new(racks, timing))),
        ("max-weight", Box::new(held(None))),
        ("max-weight, held", Box::new(held(Some(timing.min_day())))),
        ("bvn", Box::new(Bvn::new(racks, timing))),
        ("solstice", Box::new(solstice(racks, timing))),
        ("eclipse", Box::new(Eclipse::new(racks, timing))),
        ("portfolio", Box::new(Portfolio::new(racks, timing))),
    ]
}

fn week(scheduler: &mut dyn Scheduler, demand: &Demand) -> (Week, Note) {
    let mut out = Week::default();
    let note = scheduler.week(demand, &mut out);
    (out, note)
}

/// The largest demand that circuits and packets can carry.
fn capacity(racks: usize, timing: &CircuitTiming) -> u64 {
    racks as u64 * (timing.circuit_bytes(timing.week()) + timing.packet_bytes(timing.week()))
}

fn check_all(demand: &Demand, timing: &CircuitTiming) {
    let racks = demand.racks();
    for (name, mut scheduler) in all(racks, *timing) {
        // The second week must not depend on the memory of the first.
        for _ in 0..2 {
            let (week, _) = week(&mut *scheduler, demand);
            assert_eq!(week.check(timing), Ok(()), "{name} {racks}");
            let served = served(&week, demand, timing);
            assert_eq!(served.demand, demand.total());
            assert!(
                served.total() <= demand.total().min(capacity(racks, timing)),
                "{name} {racks}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn weeks_are_whole_and_serve_no_more_than_there_is(
        racks in 2_usize..12,
        cells in proptest::collection::vec(prop_oneof![3 => Just(0), 2 => 0_u64..10_000_000, 1 => any::<u64>()], 144),
        (min_day, night, more) in (1_u64..1_000_000, 0_u64..1_000_000, 0_u64..50_000_000),
        (circuit, packet) in (1_u64..1_000_000_000_000, 0_u64..1_000_000_000_000),
    ) {
        let mut demand = Demand::new(racks).expect("a few racks");
        for (at, &bytes) in cells.iter().enumerate().take(racks * racks) {
            demand.set(at / racks, at % racks, bytes / racks as u64);
        }
        let spec = CircuitTimingSpec { week: min_day + night + more, night, min_day, circuit, packet };
        check_all(&demand, &spec.build().expect("valid timing"));
    }

    /// The same demand gives the same week, independent of earlier weeks.
    #[test]
    fn what_was_planned_before_is_forgotten(seeds in (any::<u64>(), any::<u64>()), racks in 4_usize..12) {
        let timing = etalon(2_000);
        let bytes = timing.circuit_bytes(timing.week());
        let demands = [(DemandPattern::Skewed, seeds.0), (DemandPattern::Random, seeds.1)];
        let demands = demands.map(|(class, seed)| class.demand(racks, bytes, seed).expect("a demand"));
        for (name, mut scheduler) in all(racks, timing).into_iter().skip(1) {
            let first = week(&mut *scheduler, &demands[0]).0;
            if week(&mut *scheduler, &demands[1]).1 == Note::Planned && name != "portfolio" {
                prop_assert_eq!(week(&mut *scheduler, &demands[0]).0, first, "{}", name);
            }
        }
    }
}

#[test]
fn all_kinds_of_demand_make_whole_weeks() {
    for racks in [2, 4, 5, 16, 33, 64] {
        for week_us in [200, 2_000, (racks as u64 - 1) * 200] {
            let timing = etalon(week_us);
            for class in DemandPattern::ALL {
                let bytes = timing.circuit_bytes(timing.week());
                check_all(&class.demand(racks, bytes, 3).expect("a demand"), &timing);
            }
        }
    }
}

/// Etalon's Solstice plans one useless day for 13 or more racks that all send to all others.
#[test]
fn solstice_rotates_if_that_serves_more() {
    let timing = etalon(2_000);
    let bytes = timing.circuit_bytes(timing.week());
    for racks in 4..40 {
        let demand = DemandPattern::AllToAll.demand(racks, bytes, 1).expect("a demand");
        let (week, note) = week(&mut solstice(racks, timing), &demand);
        assert_eq!(note == Note::Rotation, racks >= 13, "{racks} racks");
        let served = served(&week, &demand, &timing);
        // There are ten days of 180 us in 2,000 us, and a pair has no more than it can use.
        let day = 180.0_f64.min(2_000.0 / (racks as f64 - 1.0));
        let least = (10.0_f64.min(racks as f64 - 1.0) * day) / 2_000.0;
        let share = served.circuit as f64 / served.demand as f64;
        assert!(share >= least - 1e-3, "{racks} racks: {share} of {least}");
    }
}

/// If one rack has a large demand for one other rack, stuffing makes days that serve nothing.
#[test]
fn decompositions_serve_at_least_what_a_rotation_serves() {
    for racks in [8, 16, 64] {
        let timing = etalon((racks as u64 - 1) * 200);
        let bytes = timing.circuit_bytes(timing.week());
        for class in DemandPattern::ALL {
            let demand = class.demand(racks, bytes, 1).expect("a demand");
            let circuit = |week: &Week| served(week, &demand, &timing).circuit;
            let rotor = circuit(&week(&mut Rotor::new(racks, timing), &demand).0);
            for (name, mut scheduler) in all(racks, timing) {
                if ["bvn", "solstice"].contains(&name) {
                    let here = circuit(&week(&mut *scheduler, &demand).0);
                    // Times are rounded to ticks.
                    assert!(
                        here + here / 10_000 >= rotor,
                        "{name} {class} {racks}: {here} of {rotor}"
                    );
                }
            }
        }
    }
}

/// Etalon's authors name these schedules for perfect demand: one ring needs one configuration, two rings need
/// two.
#[test]
fn rings_get_the_days_they_need() {
    let timing = etalon(2_000);
    let bytes = timing.circuit_bytes(timing.week());
    let ring = DemandPattern::Ring.demand(8, bytes, 1).expect("a ring");
    let mut rings = Demand::new(8).expect("eight racks");
    for src in 0..8 {
        rings.set(src, (src + 1) % 8, bytes / 2);
        rings.set(src, (src + 2) % 8, bytes / 2);
    }
    for (name, mut scheduler) in all(8, timing).into_iter().skip(3) {
        for (demand, days) in [(&ring, 1), (&rings, 2)] {
            let (week, _) = week(&mut *scheduler, demand);
            assert_eq!(week.days().count(), days, "{name}");
            let carried = timing.circuit_bytes(timing.week() - days as u64 * timing.night());
            assert_eq!(served(&week, demand, &timing).circuit, 8 * carried, "{name}");
        }
    }
}

#[test]
fn the_prefilter_leaves_small_demand_to_packets() {
    let timing = etalon(2_000);
    let mut demand = Demand::new(4).expect("four racks");
    for src in 0..4 {
        demand.set(src, (src + 1) % 4, 12_000_000);
        demand.set(src, (src + 2) % 4, 4_000_000);
    }
    let spec = SolsticeSpec { prefilter: Some(5_000_000), ..SolsticeSpec::default() };
    let days = |spec| week(&mut Solstice::new(4, timing, spec), &demand).0.days().count();
    assert_eq!((days(spec), days(SolsticeSpec::default())), (1, 2));
    // Without a large demand no demand is small.
    let spec = SolsticeSpec { prefilter: Some(50_000_000), ..SolsticeSpec::default() };
    assert_eq!(days(spec), 2);
}

#[test]
fn inflation_makes_little_demand_worth_a_day() {
    let timing = etalon(2_000);
    let mut demand = Demand::new(4).expect("four racks");
    (0..4).for_each(|src| demand.set(src, (src + 1) % 4, 10_000));
    let note = |inflate| {
        let spec = SolsticeSpec { inflate, ..SolsticeSpec::default() };
        week(&mut Solstice::new(4, timing, spec), &demand)
    };
    assert_eq!(note(false).1, Note::Rotation);
    let (week, note) = note(true);
    assert_eq!((week.days().count(), note), (1, Note::Planned));
}

/// Eight racks have so little demand for each other that no day is worth its night.
#[test]
fn where_solstice_finds_no_day_the_fallback_says_what_is_planned() {
    let timing = etalon(1_000);
    let mut even = Demand::new(8).expect("eight racks");
    for src in 0..8 {
        (1..8).for_each(|step| even.set(src, (src + step) % 8, 1_000_000));
    }
    let of = |fallback, demand: &Demand| {
        let spec = SolsticeSpec { fallback, ..SolsticeSpec::default() };
        let (week, note) = week(&mut Solstice::new(8, timing, spec), demand);
        assert_eq!(week.check(&timing), Ok(()));
        let days: Vec<Vec<_>> = week.days().map(|day| day.circuits.pairs().collect()).collect();
        (days, note)
    };
    let ring: Vec<_> = (0..8).map(|dst| ((dst + 1) % 8, dst)).collect();
    let (days, note) = of(Fallback::Ring, &even);
    assert_eq!((days, note), (vec![ring.clone()], Note::Rotation));
    let none = Demand::new(8).expect("eight racks");
    assert_eq!(of(Fallback::Ring, &none), (vec![ring], Note::NoDemand));
    for fallback in [Fallback::Better, Fallback::Empty] {
        let (days, note) = of(fallback, &even);
        assert!(days.len() > 1 && note == Note::Rotation, "{fallback:?}");
    }
}

/// All partial permutations of a few racks, as the destination of each source.
fn matchings(racks: usize) -> Vec<Vec<Option<usize>>> {
    let mut all: Vec<Vec<Option<usize>>> = vec![vec![]];
    for row in 0..racks {
        let next = |made: &Vec<Option<usize>>| {
            let free = (0..racks).filter(|to| *to != row && !made.contains(&Some(*to)));
            let free: Vec<_> = free.map(Some).chain([None]).collect();
            let made = made.clone();
            free.into_iter().map(move |to| [made.clone(), vec![to]].concat())
        };
        all = all.iter().flat_map(next).collect();
    }
    all
}

/// The maximum that any schedule of whole ticks serves. It tries all days in an order in which none comes
/// twice.
fn best_possible(
    left: &mut Vec<u64>,
    week: u64,
    night: u64,
    racks: usize,
    days: &[Vec<Option<usize>>],
) -> u64 {
    let Some((day, others)) = days.split_first() else { return 0 };
    let mut best = best_possible(left, week, night, racks, others);
    for length in 1..=week.saturating_sub(night) {
        let before = left.clone();
        let mut served = 0;
        for (src, dst) in day.iter().enumerate().filter_map(|(src, dst)| Some((src, (*dst)?))) {
            let cell = &mut left[src * racks + dst];
            let part = length.min(*cell);
            *cell -= part;
            served += part;
        }
        served += best_possible(left, week - length - night, night, racks, others);
        best = best.max(served);
        *left = before;
    }
    best
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// Theorem 1 of Eclipse: days that take the fraction `t` of the week serve `1 - exp(-t)` of the optimum,
    /// here with a slack of 3 %.
    #[test]
    fn eclipse_keeps_its_guarantee(
        racks in 2_usize..5,
        cells in proptest::collection::vec(prop_oneof![Just(0), 0_u64..6], 16),
        (week_ticks, night) in (3_u64..7, 1_u64..3),
    ) {
        let mut demand = Demand::new(racks).expect("a few racks");
        for (at, &bytes) in cells.iter().enumerate().take(racks * racks) {
            demand.set(at / racks, at % racks, bytes);
        }
        // A byte takes a tick of 1 ps.
        let spec = CircuitTimingSpec { week: week_ticks, night, min_day: 1, circuit: 8_000_000_000_000, packet: 0 };
        let timing = spec.build().expect("valid timing");
        let (week, _) = week(&mut Eclipse::new(racks, timing), &demand);
        let full: Vec<_> = matchings(racks)
            .into_iter()
            .filter(|day| maximal(day, racks))
            .collect();
        let mut left = demand.cells().to_vec();
        let best = best_possible(&mut left, week_ticks, night, racks, &full);
        let days: Vec<u64> = week.days().map(|day| day.length + night).collect();
        let all_but_last: u64 = days[..days.len().saturating_sub(1)].iter().sum();
        let part = all_but_last as f64 / week_ticks as f64;
        let share = 1.0 - (-part / 1.03).exp();
        let served = served(&week, &demand, &timing).circuit;
        prop_assert!(served <= best);
        prop_assert!(served as f64 >= share * best as f64, "{} of {}, at least {}", served, best, share);
        // The first day is the best possible day, so that it serves something unless nothing can be served.
        prop_assert!(best == 0 || served > 0);
        let portfolio = self::week(&mut Portfolio::with_budget(racks, timing, 1_000 * US), &demand).0;
        let portfolio = slotline_circuits::served(&portfolio, &demand, &timing).circuit;
        prop_assert!(served <= portfolio && portfolio <= best);
    }
}

/// Whether no circuit can be added. A configuration that is not maximal serves no more than one that is.
fn maximal(day: &[Option<usize>], racks: usize) -> bool {
    let free = |src: usize| day[src].is_none();
    let open = |dst: usize| !day.contains(&Some(dst));
    !(0..racks).any(|src| free(src) && (0..racks).any(|dst| dst != src && open(dst)))
}

/// The bytes that the portfolio serves, and those of the best other scheduler.
fn race(class: DemandPattern, racks: usize, week_us: u64, seed: u64) -> (u64, u64, &'static str) {
    let timing = etalon(week_us);
    let bytes = timing.circuit_bytes(timing.week());
    let demand = class.demand(racks, bytes, seed).expect("a demand");
    let mut meter = Meter::default();
    let mut total = |scheduler: &mut dyn Scheduler| {
        let week = week(scheduler, &demand).0;
        meter.served(&[week], &demand, &timing).total()
    };
    let ours = total(&mut Portfolio::new(racks, timing));
    let others = all(racks, timing).into_iter().filter(|(name, _)| *name != "portfolio");
    let theirs = others.map(|(name, mut scheduler)| (total(&mut *scheduler), name)).max();
    let (theirs, name) = theirs.expect("there are others");
    // Ticks and bytes are rounded per day and circuit.
    (ours + demand.total() / 100_000, theirs, name)
}

/// The portfolio serves at least what every other scheduler serves. `slotline bench circuits` compares up to
/// 256 racks.
#[test]
fn portfolio_is_the_best() {
    for racks in [4, 8, 16, 32, 64] {
        for week_us in [1_000, 2_000, (racks as u64 - 1) * 200] {
            let seeds = if racks < 64 { 1..5 } else { 1..3 };
            for (class, seed) in
                DemandPattern::ALL.into_iter().flat_map(|c| seeds.clone().map(move |s| (c, s)))
            {
                let (ours, theirs, name) = race(class, racks, week_us, seed);
                let case = format!("{class} {seed}, {racks} racks, {week_us} us");
                assert!(ours >= theirs, "{case}: {ours}, {name} {theirs}");
            }
        }
    }
}

/// The same holds if there is time for little more than the first plan.
#[test]
fn portfolio_is_the_best_of_many_racks_in_short_weeks() {
    let seeds =
        |class, racks| if (class, racks) == (DemandPattern::Random, 256) { 1..5 } else { 1..2 };
    for (racks, class) in
        [128, 256].into_iter().flat_map(|n| DemandPattern::ALL.map(|class| (n, class)))
    {
        for seed in seeds(class, racks) {
            let (ours, theirs, name) = race(class, racks, 2_000, seed);
            assert!(ours >= theirs, "{class} {seed}, {racks} racks: {ours}, {name} {theirs}");
        }
    }
}

/// In a collective operation some racks report while they are between two messages. Solstice connects them by
/// chance, because it stuffs the matrix. The portfolio remembers their recent demand.
#[test]
fn pausing_racks_keep_their_circuits() {
    let timing = etalon(2_000);
    let ring = DemandPattern::Ring.demand(8, 4_000_000, 1).expect("a ring");
    let mut paused = ring.clone();
    [(2, 3), (5, 6), (6, 7)].into_iter().for_each(|(src, dst)| paused.set(src, dst, 0));
    let all = |week: &Week, demand: &Demand| {
        week.days()
            .all(|day| demand_pairs(demand).all(|(src, dst)| day.circuits.source(dst) == Some(src)))
    };
    let mut portfolio = Portfolio::new(8, timing);
    let fresh = week(&mut portfolio.clone(), &paused).0;
    assert!(all(&fresh, &paused) && !all(&fresh, &ring));
    week(&mut portfolio, &ring);
    assert!(all(&week(&mut portfolio, &paused).0, &ring));
    // It forgets old demand.
    let other = DemandPattern::Permutation.demand(8, 4_000_000, 3).expect("a permutation");
    for _ in 0..200 {
        week(&mut portfolio, &other);
    }
    assert!(!all(&week(&mut portfolio, &paused).0, &ring));
}

fn demand_pairs(demand: &Demand) -> impl Iterator<Item = (usize, usize)> {
    let racks = demand.racks();
    let pairs = (0..racks * racks).filter(|&pair| demand.cells()[pair] > 0);
    pairs.map(move |pair| (pair / racks, pair % racks))
}

#[test]
fn parallel_switches_share_the_work() {
    let timing = etalon(2_000);
    let demand =
        DemandPattern::Sparse { large: 4 }.demand(16, timing.circuit_bytes(timing.week()), 1);
    let demand = demand.expect("a demand");
    let mut memory = PlanWorkspace::default();
    let mut meter = Meter::default();
    let mut before = 0;
    for switches in 1..4 {
        let mut weeks = vec![Week::default(); switches];
        let mut eclipse = Eclipse::new(16, timing);
        plan_all(&mut eclipse, &demand, &timing, |_, _| true, &mut memory, &mut weeks);
        let circuit = meter.served(&weeks, &demand, &timing).circuit;
        assert!(circuit > before || circuit == demand.total(), "{switches} switches");
        // Bytes are rounded once per day and once per pair.
        assert!(memory.residual.total() - (demand.total() - circuit) < 1_000);
        before = circuit;
    }
    assert_eq!(before, demand.total());
}

#[test]
fn nothing_is_planned_for_ports_that_do_not_work() {
    let timing = etalon(2_000);
    let demand =
        DemandPattern::Sparse { large: 4 }.demand(8, timing.circuit_bytes(timing.week()), 1);
    let demand = demand.expect("a demand");
    let left = |works: fn(usize, usize) -> bool| {
        let (mut memory, mut weeks) = (PlanWorkspace::default(), vec![Week::default(); 2]);
        plan_all(&mut Eclipse::new(8, timing), &demand, &timing, works, &mut memory, &mut weeks);
        memory.residual
    };
    let (all, none) = (left(|_, _| true), left(|_, rack| rack != 3));
    let other = left(|switch, rack| rack != 3 || switch != 0);
    for at in (0..8).filter(|at| *at != 3) {
        assert_eq!((none.get(3, at), none.get(at, 3)), (demand.get(3, at), demand.get(at, 3)));
    }
    assert!(all.total() < other.total() && other.total() < none.total());
}

#[test]
fn a_fixed_week_is_always_the_same() {
    let timing = etalon(2_000);
    let planned = week(&mut Rotor::new(8, timing), &Demand::new(8).expect("eight racks")).0;
    let demand = DemandPattern::Ring.demand(8, 1_000_000, 1).expect("a ring");
    let mut fixed = Fixed::new(planned.clone());
    for _ in 0..2 {
        assert_eq!(week(&mut fixed, &demand), (planned.clone(), Note::Planned));
    }
}

#[test]
fn as_many_bytes_as_64_bits_hold_are_no_panic() {
    let spec = CircuitTimingSpec {
        circuit: u64::MAX,
        packet: u64::MAX,
        ..CircuitTimingSpec::etalon(1 << 52)
    };
    let timing = spec.build().expect("valid timing");
    let demand = DemandPattern::AllToAll.demand(5, u64::MAX, 1).expect("a demand");
    for (name, mut scheduler) in all(5, timing) {
        let (week, _) = week(&mut *scheduler, &demand);
        assert_eq!(week.check(&timing), Ok(()), "{name}");
        assert_eq!(served(&week, &demand, &timing).total(), demand.total(), "{name}");
    }
}

#[test]
fn invalid_timing_is_refused() {
    let good = CircuitTimingSpec::etalon(2_000 * US);
    let error = |spec: CircuitTimingSpec| spec.build().expect_err("invalid timing").to_string();
    assert_eq!(
        error(CircuitTimingSpec { week: 199 * US, ..good }),
        "a week of 199000000 ps has no room for a day and a night: it needs at least 200000000 ps"
    );
    assert_eq!(
        error(CircuitTimingSpec { circuit: 0, ..good }),
        "circuits have a rate of 0 bit/s: it must be higher"
    );
    assert_eq!(
        error(CircuitTimingSpec { min_day: 0, ..good }),
        "the shortest day is 0 ps: it must be longer"
    );
    assert!(CircuitTimingSpec { packet: 0, night: 0, ..good }.build().is_ok());
    let held = MaxWeight::new(8, good.build().expect("valid timing"), Some(3_000 * US));
    let needed = 3_020 * US;
    assert_eq!(held.err(), Some(CircuitTimingError::Short { week: 2_000 * US, needed }));
}

/// If there is no time for maximum-weight matchings of all pairs, those of the largest demands serve as much.
#[test]
fn portfolio_is_the_best_for_many_racks_with_dense_demand() {
    let (ours, theirs, name) = race(DemandPattern::Random, 128, 127 * 200, 1);
    assert!(ours >= theirs, "{ours}, {name} {theirs}");
}
