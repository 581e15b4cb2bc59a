//! Counts compared with closed forms, properties of costs, and the networks of the thesis.

use super::amount::Ratio;
use super::bill::Bill;
use super::compare::{Comparison, Shape, plan};
use super::parts::{Parts, SHIPPED};
use super::*;
use proptest::prelude::*;

const GIGE: Rate = Rate(1_000_000_000);

fn wish(hosts: u64, oversubscription: Ratio) -> Wish {
    Wish { hosts, nic: GIGE, oversubscription, k: None, pod_switch: false }
}

fn parts(year: &str) -> Parts {
    Parts::shipped(year).expect("a table")
}

fn count(design: &Design, role: &str) -> u64 {
    design.switches.iter().filter(|kind| kind.role == role).map(|kind| kind.count).sum()
}

fn linked(design: &Design, link: &str) -> u64 {
    design.runs.iter().filter(|run| run.link == link).map(|run| run.count).sum()
}

#[test]
fn full_fat_trees_have_the_numbers_of_the_closed_forms() {
    let parts = parts("2008");
    for k in (4..=48).step_by(2) {
        let hosts = k * k * k / 4;
        let design = fat_tree::design(&wish(hosts, Ratio::FULL), &parts).expect("a plan");
        assert_eq!(design.room, hosts, "k = {k} is the smallest that does");
        assert_eq!(design.switch_count(), 5 * k * k / 4);
        assert_eq!(count(&design, "edge"), k * k / 2);
        assert_eq!(count(&design, "aggregation"), k * k / 2);
        assert_eq!(count(&design, "core"), k * k / 4);
        assert_eq!(design.cables(), 3 * hosts);
        for link in ["host-edge", "edge-aggregation", "aggregation-core"] {
            assert_eq!(linked(&design, link), hosts, "k = {k}, {link}");
        }
        assert_eq!(design.ports_used(), k * design.switch_count(), "every port of k is used");
        assert_eq!(design.hall.blocks.len() as u64, k);
    }
}

#[test]
fn a_pod_switch_takes_its_inner_cables_away_and_nothing_else() {
    let parts = parts("2008");
    let full = Wish { pod_switch: true, ..wish(27_648, Ratio::FULL) };
    let packed = fat_tree::design(&full, &parts).expect("a plan");
    let loose = fat_tree::design(&Wish { pod_switch: false, ..full }, &parts).expect("a plan");
    assert_eq!(loose.cables() - packed.cables(), 27_648);
    assert_eq!(packed.ports_used(), loose.ports_used());
    assert_eq!(packed.hall, loose.hall);
}

#[test]
fn the_thesis_tree_comes_out() {
    let parts = parts("2008");
    // §3.2: 576 edge switches, 36 and 18 above them.
    let design = tree::design(&wish(27_648, Ratio(1_200)), &parts).expect("a plan");
    let found = ["edge", "aggregation", "core"].map(|role| count(&design, role));
    assert_eq!(found, [576, 36, 18]);
    assert_eq!(design.oversubscription, Ratio(1_200));
    // SIGCOMM 2008: $37M for 20,000 hosts, $7,000 and $700,000 for each switch.
    let (design, bill) = plan(Shape::Tree, &wish(20_000, Ratio::FULL), &parts).expect("a plan");
    let found = ["edge", "aggregation", "core"].map(|role| count(&design, role));
    assert_eq!(found, [500, 32, 16]);
    assert_eq!(bill.switches.whole(), Some(3_710_000_000));
    let (_, bill) = plan(Shape::FatTree, &wish(27_648, Ratio::FULL), &parts).expect("a plan");
    assert_eq!(bill.switches.whole(), Some(864_000_000));
}

#[test]
fn a_tree_goes_as_far_as_its_core_reaches() {
    let parts = parts("2008");
    let most = tree::most_hosts(&wish(1, Ratio::FULL), &parts);
    // Two levels of 128 ports, ten hosts per uplink.
    assert_eq!(most, 5 * 128 * 128);
    assert!(tree::design(&wish(most, Ratio::FULL), &parts).is_ok());
    let error = tree::design(&wish(most + 1, Ratio::FULL), &parts).expect_err("too many");
    assert!(error.to_string().contains("up to 81920 hosts"), "{error}");
    let most = leaf_spine::most_hosts(&wish(1, Ratio::FULL), &parts);
    assert_eq!(most, 40 * 128);
    assert!(leaf_spine::design(&wish(most, Ratio::FULL), &parts).is_ok());
    assert!(leaf_spine::design(&wish(most + 1, Ratio::FULL), &parts).is_err());
}

#[test]
fn impossible_designs_are_refused() {
    let table = parts("2012");
    let error = |wish: Wish| fat_tree::design(&wish, &table).expect_err("no plan").to_string();
    assert!(error(wish(0, Ratio::FULL)).contains("not 0"));
    assert!(error(wish(MOST_HOSTS + 1, Ratio::FULL)).contains("10000000"));
    assert!(error(Wish { k: Some(7), ..wish(10, Ratio::FULL) }).contains("even"));
    assert!(error(Wish { k: Some(0), ..wish(10, Ratio::FULL) }).contains("even"));
    let full = error(Wish { k: Some(4), ..wish(17, Ratio::FULL) });
    assert!(full.contains("which has 16; k = 6 would do"), "{full}");
    let slow = error(Wish { nic: Rate(25_000_000_000), ..wish(17, Ratio::FULL) });
    assert!(slow.contains("25Gbps") && slow.contains("1Gbps, 10Gbps, 40Gbps"), "{slow}");
    let large = error(wish(27_649, Ratio::FULL));
    assert!(large.contains("50 ports") && large.contains("27648 hosts"), "{large}");
    let mut short = parts("2012");
    short.cables.retain(|cable| cable.length.0 <= 5_000);
    let error =
        plan(Shape::FatTree, &wish(27_648, Ratio::FULL), &short).expect_err("too wide a hall");
    let error = error.to_string();
    assert!(
        error.contains("no cable of 1Gbps over") && error.contains("longest has 5 m"),
        "{error}"
    );
}

#[test]
fn what_a_table_does_not_know_is_no_sum() {
    let mut parts = parts("today");
    let wish = Wish { nic: Rate(400_000_000_000), ..wish(1_000, Ratio::FULL) };
    let sums = |parts: &Parts| plan(Shape::FatTree, &wish, parts).expect("a plan").1;
    let whole = sums(&parts);
    assert!(whole.cost().whole().is_some() && whole.power.whole().is_some());
    assert!(whole.cost().example && whole.power.example, "its figures are examples");
    let both = whole.switches.value + whole.cables.value;
    assert_eq!(whole.cost().value, both);
    parts.switches.iter_mut().for_each(|part| part.power = None);
    let without = sums(&parts);
    assert_eq!((without.power.whole(), without.heat.whole()), (None, None));
    assert!(without.power.missing.is_some() && without.cost() == whole.cost());
}

#[test]
fn the_bill_is_the_design() {
    for (year, _) in SHIPPED {
        let parts = parts(year);
        let wish = Wish { nic: parts.switches[0].rate, ..wish(900, Ratio(2_000)) };
        for shape in [Shape::FatTree, Shape::Tree, Shape::LeafSpine] {
            let (design, bill) = plan(shape, &wish, &parts).expect("a plan");
            let of = |kind| bill.lines.iter().filter(move |line| line.kind == kind);
            let sum = |kind| of(kind).map(|line| line.count).sum::<u64>();
            assert_eq!(sum("switch"), design.switch_count());
            assert_eq!(sum("cable"), design.cables());
            assert_eq!(sum("rack"), design.hall.racks.len() as u64);
            let csv = files::csv(&bill, &parts);
            assert_eq!(csv.lines().count(), 1 + bill.lines.len());
            let svg = drawing::svg(&design);
            let drawn = racks_drawn(&svg);
            assert_eq!(drawn, design.hall.racks.len(), "a rectangle for each rack");
        }
    }
}

/// The number of racks in a drawing: rectangles of the two colours, less the two of the legend.
fn racks_drawn(svg: &str) -> usize {
    ["#cfe3f7", "#f59e0b"]
        .map(|fill| svg.matches(&format!("fill=\"{fill}\"")).count())
        .iter()
        .sum::<usize>()
        - 2
}

#[test]
fn a_comparison_has_what_can_be_and_says_what_cannot() {
    let comparison =
        Comparison::of(Shape::FatTree, wish(20_000, Ratio::FULL), parts("2008")).expect("a plan");
    let names: Vec<&str> = comparison.costed().map(|(design, _)| design.name.as_str()).collect();
    assert_eq!(names, ["fat-tree", "tree 1:1", "tree 3:1", "tree 7:1"]);
    let text = comparison.text();
    assert!(text.contains("leaf-spine 1:1: no leaf-spine at 1:1"), "{text}");
    let json = files::json(&comparison);
    assert_eq!(json["designs"].as_array().map(Vec::len), Some(5));
    assert!(json["designs"][4]["error"].is_string());
    assert_eq!(json["designs"][1]["cost_of_switches"]["value"], 37.1e6);
}

proptest! {
    /// In a fat-tree that is not full, every host has a port, every switch has at most k ports, and each pod reaches
    /// every core switch.
    #[test]
    fn a_fat_tree_that_is_not_full_is_still_one(hosts in 1u64..3_000, more in 0u64..4) {
        let k = fat_tree::smallest(hosts) + 2 * more;
        let parts = parts("2008");
        let wish = Wish { k: Some(k), ..wish(hosts, Ratio::FULL) };
        let design = fat_tree::design(&wish, &parts).expect("a plan");
        let pods = design.hall.blocks.len() as u64;
        prop_assert_eq!(linked(&design, "host-edge"), hosts);
        prop_assert_eq!(design.hall.racks.iter().map(|rack| rack.hosts).sum::<u64>(), hosts);
        prop_assert!(count(&design, "edge") * (k / 2) >= hosts);
        prop_assert!((count(&design, "edge") - 1) * (k / 2) < hosts);
        prop_assert_eq!(linked(&design, "aggregation-core"), pods * (k / 2) * (k / 2));
        prop_assert_eq!(count(&design, "core"), (k / 2) * (k / 2));
        prop_assert!(pods <= k && (pods - 1) * (k * k / 4) < hosts);
        prop_assert!(design.ports_used() <= k * design.switch_count());
    }

    /// More hosts never cost less, and more oversubscription never costs more.
    #[test]
    fn costs_follow_hosts_and_oversubscription(
        hosts in 1u64..20_000,
        more in 0u64..2_000,
        ratio in 1_000u64..8_000,
        wider in 0u64..3_000,
        year in 0usize..2,
    ) {
        let parts = parts(SHIPPED[year].0);
        let (few, many) = (wish(hosts, Ratio(ratio)), wish(hosts + more, Ratio(ratio)));
        let wide = wish(hosts, Ratio(ratio + wider));
        let tree = |wish: &Wish| tree::cheapest(wish, &parts).map(|counts| counts.cost(&parts)).ok();
        let leaf_spine = |wish: &Wish| leaf_spine::cheapest(wish, &parts).map(|counts| counts.cost(&parts)).ok();
        for cost in [&tree as &dyn Fn(&Wish) -> Option<Money>, &leaf_spine] {
            if let (Some(few), Some(many)) = (cost(&few), cost(&many)) {
                prop_assert!(few <= many);
            }
            if let Some(few) = cost(&few) {
                prop_assert!(cost(&wide).is_some_and(|wide| wide <= few));
            }
        }
    }

    /// No level of a tree carries less than the stated part of the rate below it, and no switch has more cables than
    /// ports.
    #[test]
    fn a_tree_keeps_its_ratio_and_its_ports(hosts in 41u64..20_000, ratio in 1_000u64..8_000) {
        let parts = parts("2008");
        let wish = wish(hosts, Ratio(ratio));
        let counts = tree::cheapest(&wish, &parts).expect("a tree");
        let edge = &parts.switches[counts.edge_part];
        let upper = &parts.switches[counts.upper_part];
        let fast = edge.uplink_rate.expect("uplinks").0;
        prop_assert!(counts.hosts_each <= edge.ports && counts.uplinks <= edge.uplinks);
        prop_assert!(counts.down + counts.up <= upper.ports);
        prop_assert!(counts.to_core <= counts.core * upper.ports);
        prop_assert!(counts.edge * counts.hosts_each >= hosts);
        let allowed = |up: u64| u128::from(up) * u128::from(fast) * u128::from(ratio);
        let demand = |hosts: u64| 1_000 * u128::from(hosts) * u128::from(wish.nic.0);
        // The hosts of a single edge switch communicate within it.
        prop_assert!(counts.edge == 1 || demand(counts.hosts_each) <= allowed(counts.uplinks));
        if counts.core > 0 {
            prop_assert!(demand(counts.hosts_each * counts.down) <= allowed(counts.uplinks * counts.up));
        }
        let design = tree::design(&wish, &parts).expect("a tree");
        prop_assert_eq!(linked(&design, "host-edge"), hosts);
        prop_assert_eq!(linked(&design, "edge-aggregation"), counts.edge * counts.uplinks);
        prop_assert_eq!(linked(&design, "aggregation-core"), counts.to_core);
        prop_assert!(Bill::of(&design, &parts).is_ok());
    }
}
