//! The cost of switches by the number of hosts: Fig 2.2, Tables 2.1 and 2.2.

use super::computed;
use crate::{Experiment, Findings, Row, Work};
use slotline_design::amount::{Money, Ratio};
use slotline_design::compare::{RATIOS, Shape, plan};
use slotline_design::fat_tree::room;
use slotline_design::parts::{Parts, Switch};
use slotline_design::tree::{cheapest, most_hosts};
use slotline_design::{MOST_HOSTS, Wish};
use slotline_net::units::Rate;
use slotline_report::plot::{
    Axis, Division, Figure, Lines, Mark, Measure, Plot, Series, Shape as Drawn,
};

/// Experiment ft-1.
pub(super) const COST: Experiment = Experiment {
    id: "ft-1",
    about: "Figure 2.2, Tables 2.1 and 2.2: cost of switches by hosts and oversubscription, 2008 and 2012",
    work: Work::Computed {
        how: "Plans as `slotline design` makes them, with the tables of parts `2008` and `2012` that come with the \
              program and only the kinds of switches that the thesis has in its trees.",
        find: |_| findings(),
    },
};

const GIGE: Rate = Rate(1_000_000_000);
const TEN: Rate = Rate(10_000_000_000);
const FORTY: Rate = Rate(40_000_000_000);
const COST_OF: (&str, &str) = ("cost of switches", "MUSD");
const EACH: (&str, &str) = ("cost of switches per host", "USD");
const LARGEST: (&str, &str) = ("largest network", "hosts");

const EDGE: &str = "34 is close to the cost of aggregation and core only, 33.6; with the 500 edge switches of $7,000 \
                    it is 37.1";
const MAXIMUM: &str = "$37M is the cost of our tree of 20,480 hosts, the thesis' largest of 2008 (Table 2.1), not of \
                       the tree of 27,648";
const WORKED_BACK: &str =
    "prices of switches are derived from this value: it agrees by construction";
const OTHERS: &str = "prices of switches are derived from other statements of the thesis on 2012, not from this value";
const PRICES: &str =
    "prices of $7,000 and $700,000 per switch are those of the SIGCOMM paper; the thesis has none";
const SWITCH: &str = "$3,000 per switch is derived from this value. Table 2.1 has $417 per port for a year and $312 \
                      for a later year; this value is that of the later year";
const SQUARE: &str = "5 r² hosts with two levels of r ports above edge switches with ten hosts per uplink; the \
                      thesis' rows up to 128 ports have other numbers, 160 or 240 r, and it does not say why";
const FASTER: &str = "the thesis' 46,080 is again 5 r² with ten hosts per uplink. For 10 Gbit/s on 40 Gbit/s that is \
                      2.5:1, not the 1:1 of its caption. The cost per host agrees by construction";

fn findings() -> Findings {
    let (then, later) = (thesis("2008"), thesis("2012"));
    let rows = [of_2008(&then), of_2012(&later), sizes()].concat();
    Findings {
        names: curves().into_iter().map(|(name, ..)| name).collect(),
        rows: rows.into_iter().flatten().collect(),
        figures: vec![
            figure("cost-2008", "Cost in 2008 (Figure 2.2a)", &then, 34.0),
            figure("cost-2012", "Cost in 2012 (Figure 2.2b)", &later, 3.2),
        ],
        emulated: None,
    }
}

/// The parts of a year. The upper levels of trees only have switches of 128 ports and more: §2.1.1.
fn thesis(year: &str) -> Parts {
    let mut parts = Parts::shipped(year).expect("a table of the program");
    let commodity = |part: &Switch| part.rate == TEN && part.ports < 128;
    parts.switches.retain(|part| !commodity(part));
    parts
}

fn wish(hosts: u64, oversubscription: Ratio, nic: Rate) -> Wish {
    Wish { hosts, nic, oversubscription, k: None, pod_switch: false }
}

/// The cost of the switches of a plan; `None` if there is no plan.
fn cost(shape: Shape, wish: &Wish, parts: &Parts) -> Option<f64> {
    let whole = plan(shape, wish, parts).ok()?.1.switches.whole()?;
    Some(Money(whole).value() / 1e6)
}

fn of_2008(parts: &Parts) -> Vec<Option<Row>> {
    let tree = |hosts, ratio| cost(Shape::Tree, &wish(hosts, ratio, GIGE), parts);
    let fat_tree = |hosts| cost(Shape::FatTree, &wish(hosts, Ratio::FULL, GIGE), parts);
    let at = "2008, 20000 hosts";
    let full = "2008, 27648 hosts";
    let largest = "2008, 20480 hosts";
    let all = Parts::shipped("2008").expect("a table of the program");
    let fast = cost(Shape::FatTree, &wish(27_648, Ratio::FULL, TEN), &all);
    vec![
        tree(20_000, RATIOS[0])
            .and_then(|v| computed((at, "tree 1:1"), COST_OF, Some(34.0), v, EDGE)),
        tree(20_000, RATIOS[1]).and_then(|v| computed((at, "tree 3:1"), COST_OF, None, v, PRICES)),
        tree(20_000, RATIOS[2]).and_then(|v| computed((at, "tree 7:1"), COST_OF, None, v, PRICES)),
        fat_tree(20_000).and_then(|v| computed((at, "fat-tree"), COST_OF, None, v, SWITCH)),
        tree(20_480, RATIOS[0]).and_then(|v| {
            computed((largest, "tree 1:1"), EACH, Some(1_800.0), v * 1e6 / 20_480.0, PRICES)
        }),
        tree(27_648, RATIOS[0])
            .and_then(|v| computed((full, "tree 1:1"), COST_OF, Some(37.0), v, MAXIMUM)),
        tree(27_648, Ratio(1_200)).and_then(|v| {
            let note = "the 576 edge and 54 upper switches of §3.2: 48 hosts on 40 Gbit/s";
            computed((full, "tree 1.2:1"), COST_OF, None, v, note)
        }),
        fat_tree(27_648).and_then(|v| computed((full, "fat-tree"), COST_OF, Some(8.64), v, SWITCH)),
        fast.and_then(|v| {
            computed(
                ("2008, 27648 hosts, 10 Gbit/s", "fat-tree"),
                COST_OF,
                Some(690.0),
                v,
                WORKED_BACK,
            )
        }),
    ]
}

fn of_2012(parts: &Parts) -> Vec<Option<Row>> {
    let tree = |hosts, ratio| cost(Shape::Tree, &wish(hosts, ratio, GIGE), parts);
    let at = "2012, 20000 hosts";
    let full = "2012, 27648 hosts";
    let fat_tree = |hosts| cost(Shape::FatTree, &wish(hosts, Ratio::FULL, GIGE), parts);
    let all = Parts::shipped("2012").expect("a table of the program");
    let fast = |shape, hosts, ratio| cost(shape, &wish(hosts, ratio, TEN), &all);
    let ten = "2012, 27648 hosts, 10 Gbit/s";
    let most = 46_080;
    let half = Ratio(2_500);
    vec![
        tree(20_000, RATIOS[0])
            .and_then(|v| computed((at, "tree 1:1"), COST_OF, Some(3.2), v, WORKED_BACK)),
        tree(20_000, RATIOS[1]).and_then(|v| computed((at, "tree 3:1"), COST_OF, None, v, OTHERS)),
        tree(20_000, RATIOS[2]).and_then(|v| computed((at, "tree 7:1"), COST_OF, None, v, OTHERS)),
        fat_tree(20_000).and_then(|v| computed((at, "fat-tree"), COST_OF, None, v, OTHERS)),
        fat_tree(27_648).and_then(|v| {
            computed((full, "fat-tree"), EACH, Some(47.0), v * 1e6 / 27_648.0, WORKED_BACK)
        }),
        fast(Shape::FatTree, 27_648, Ratio::FULL)
            .and_then(|v| computed((ten, "fat-tree"), COST_OF, Some(14.4), v, WORKED_BACK)),
        fast(Shape::Tree, most, half).and_then(|v| {
            let point = ("2012, 46080 hosts, 10 Gbit/s", "tree 2.5:1");
            computed(point, EACH, Some(2_094.0), v * 1e6 / most as f64, FASTER)
        }),
    ]
}

/// The largest networks of Tables 2.1 and 2.2.
fn sizes() -> Vec<Option<Row>> {
    let ports =
        [(28, 4_480), (32, 7_680), (64, 10_240), (128, 20_480), (140, 98_000), (768, 2_949_120)];
    let tree = |(ports, paper): (u64, u64)| {
        let ours = largest_tree(ports, GIGE, TEN, Ratio::FULL);
        let point = format!("10GigE switches with {ports} ports");
        computed((&point, "tree 1:1"), LARGEST, Some(paper as f64), ours, SQUARE)
    };
    let fat_tree = |(k, paper): (u64, u64)| {
        let point = format!("switches with {k} ports");
        computed((&point, "fat-tree"), LARGEST, Some(paper as f64), room(k) as f64, "")
    };
    let faster = |(ratio, name)| {
        let ours = largest_tree(96, TEN, FORTY, ratio);
        computed(("40GigE switches with 96 ports", name), LARGEST, Some(46_080.0), ours, FASTER)
    };
    let trees = ports.into_iter().map(tree);
    let fat_trees = [(28, 5_488), (48, 27_648), (96, 221_184)].into_iter().map(fat_tree);
    let fast = [(Ratio(2_500), "tree 2.5:1"), (Ratio::FULL, "tree 1:1")].into_iter().map(faster);
    trees.chain(fat_trees).chain(fast).collect()
}

/// The largest number of hosts of a tree whose upper levels have switches with `ports` ports.
fn largest_tree(ports: u64, nic: Rate, uplink: Rate, ratio: Ratio) -> f64 {
    let mut parts = Parts::shipped("2012").expect("a table of the program");
    parts.switches.retain(|part| part.rate == nic && part.uplinks > 0 || part.rate == uplink);
    let upper = parts.switches.iter().find(|part| part.rate == uplink).cloned();
    parts.switches.retain(|part| part.rate == nic && part.uplinks > 0);
    parts.switches.extend(upper.map(|part| Switch { ports, ..part }));
    most_hosts(&wish(MOST_HOSTS, ratio, nic), &parts) as f64
}

type Curve = (String, Shape, Ratio);

fn curves() -> Vec<Curve> {
    let tree = |ratio: Ratio| (format!("tree {ratio}"), Shape::Tree, ratio);
    let fat_tree = ("fat-tree".to_string(), Shape::FatTree, Ratio::FULL);
    RATIOS.into_iter().map(tree).chain([fat_tree]).collect()
}

/// Cost by hosts. `paper`: the value in the text for the tree at 1:1 with 20,000 hosts, in millions.
fn figure(id: &'static str, title: &'static str, parts: &Parts, paper: f64) -> Figure {
    let hosts = || (1..=55).map(|step| 500 * step).chain([27_648]);
    let line = |(scheme, (_, shape, ratio)): (usize, Curve)| {
        let value =
            |hosts: u64| Some((hosts as f64, curve(shape, &wish(hosts, ratio, GIGE), parts)?));
        let points: Vec<(f64, f64)> = hosts().filter_map(value).collect();
        let star = Mark { x: 20_000.0, y: paper, sense: "about" };
        Series {
            scheme,
            x: points.iter().map(|point| point.0).collect(),
            y: points.iter().map(|point| point.1).collect(),
            stated: if scheme == 0 { vec![star] } else { vec![] },
            ..Series::default()
        }
    };
    let axis = |label| Axis { label, unit: Measure::Number, scale: Division::Linear };
    let series = curves().into_iter().enumerate().map(line).collect();
    let lines = Lines { x: axis("hosts"), y: axis("cost of switches, million USD"), series };
    let caption = "Without cables, as in the thesis. A fat-tree uses the smallest sufficient number of ports of its \
                   switches, all of which are bought with 48 ports. Stars show the values in the text of the thesis.";
    Ok(Plot { id, title: title.into(), caption: caption.into(), shape: Drawn::Lines(lines) })
}

/// As [`cost`], but without placing racks if that is not needed.
fn curve(shape: Shape, wish: &Wish, parts: &Parts) -> Option<f64> {
    if shape != Shape::Tree {
        return cost(shape, wish, parts);
    }
    let cost = cheapest(wish, parts).ok()?.cost(parts);
    Some(cost.value() / 1e6)
}
