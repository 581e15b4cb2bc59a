//! The thesis' numbers of the fat-tree's cost, power and packaging: those that are reproduced, and those that are not.

use slotline_reproduce::{Findings, Stated, Work, find};

fn findings(id: &str) -> Findings {
    match find(id).expect("an experiment").work {
        Work::Computed { find, .. } => find(1),
        Work::Runs(_) => panic!("{id} needs no run"),
    }
}

/// The value of `findings` for a setup, with the value of the thesis.
fn row(findings: &Findings, setup: &str, quantity: &str) -> (f64, Option<f64>) {
    let row = findings.rows.iter().find(|row| row.setup() == setup && row.quantity == quantity);
    let row = row.unwrap_or_else(|| panic!("no {quantity} for {setup}"));
    (row.ours.mean, row.paper.map(Stated::value))
}

fn near(ours: f64, paper: f64, percent: f64) -> bool {
    (ours / paper - 1.0).abs() <= percent / 100.0
}

#[test]
fn all_counts_of_the_packaging_come_out() {
    let findings = findings("ft-7");
    let stated = findings.rows.iter().filter_map(|row| Some((row, row.paper?.value())));
    let compared: Vec<(f64, f64)> = stated.map(|(row, paper)| (row.ours.mean, paper)).collect();
    assert_eq!(compared.len(), 11);
    compared.iter().for_each(|(ours, paper)| assert_eq!(ours, paper));
    let length = |layout| row(&findings, &format!("all cables, {layout}"), "length").0;
    assert!(length("grid") < length("row"), "what §3.3 says of horizontal layouts");
    assert!(findings.figures.iter().all(Result::is_ok));
}

#[test]
fn the_switches_of_the_power_comparison_come_out_and_the_savings_do_not() {
    let findings = findings("ft-6");
    let counts = findings.rows.iter().filter(|row| row.quantity == "count");
    let counts: Vec<f64> = counts.map(|row| row.ours.mean).collect();
    assert_eq!(counts, [576.0, 36.0, 18.0, 2_880.0]);
    // Computed by hand, in units of a GigE switch's watts per Gbit/s.
    let (fat_tree, edge, upper) = (2_880.0 * 48.0, 576.0 * 88.0, 54.0 * 1_280.0);
    let saved = |times: f64| 100.0 - 100.0 * fat_tree / (edge + times * upper);
    let of = |what: &str| row(&findings, &format!("{what}, fat-tree"), "less than the tree");
    let (power, paper) = of("power");
    assert!(near(power, saved(2.0), 1.0) && paper == Some(56.6), "{power}");
    let (heat, paper) = of("heat");
    assert!(near(heat, saved(3.0), 1.0) && paper == Some(56.5), "{heat}");
    let (times, _) = row(&findings, "power, tree 1.2:1", "per Gbit/s over that of GigE");
    assert!(near(saved(times), 56.6, 1.0), "{times}");
}

#[test]
fn costs_are_those_of_the_thesis_where_it_agrees_with_itself() {
    let findings = findings("ft-1");
    let cost = |setup| row(&findings, setup, "cost of switches");
    let agree = |(ours, paper): (f64, Option<f64>)| near(ours, paper.expect("stated"), 1.0);
    assert!(agree(cost("2008, 27648 hosts, fat-tree")));
    assert!(agree(cost("2012, 20000 hosts, tree 1:1")));
    assert!(agree(cost("2012, 27648 hosts, 10 Gbit/s, fat-tree")));
    assert!(agree(row(&findings, "2008, 20480 hosts, tree 1:1", "cost of switches per host")));
    assert_eq!(cost("2008, 20000 hosts, tree 1:1"), (37.1, Some(34.0)));
    let (full, stated) = cost("2008, 27648 hosts, tree 1:1");
    assert!(full > 50.0 && stated == Some(37.0));
    let largest =
        |ports, name| row(&findings, &format!("{ports} ports, {name}"), "largest network");
    for (ports, name) in [
        ("switches with 28", "fat-tree"),
        ("switches with 48", "fat-tree"),
        ("switches with 96", "fat-tree"),
        ("10GigE switches with 140", "tree 1:1"),
        ("10GigE switches with 768", "tree 1:1"),
        ("40GigE switches with 96", "tree 2.5:1"),
    ] {
        let (ours, paper) = largest(ports, name);
        assert_eq!(Some(ours), paper, "{ports} {name}");
    }
    assert_eq!(largest("40GigE switches with 96", "tree 1:1").0, 18_432.0);
    assert_eq!(findings.figures.iter().filter(|figure| figure.is_ok()).count(), 2);
}
