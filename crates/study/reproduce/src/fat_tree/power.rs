//! Power and heat of a tree and a fat-tree for 27,648 hosts: §3.2 with Fig 3.8 and 3.9.

use super::computed;
use crate::{Experiment, Findings, Row, Work};
use slotline_design::amount::{Power, Ratio};
use slotline_design::bill::Bill;
use slotline_design::compare::{Costed, Shape, plan};
use slotline_design::parts::{Parts, Switch};
use slotline_design::{Design, Wish};
use slotline_net::units::Rate;
use slotline_report::plot::{
    Axis, Bars, Division, Figure, Measure, Plot, Row as Bar, Shape as Drawn,
};

/// Experiment ft-6.
pub(super) const POWER: Experiment = Experiment {
    id: "ft-6",
    about: "Figures 3.8 and 3.9: power and heat of switches for 27,648 hosts, tree and fat-tree",
    work: Work::Computed {
        how: "Plans as `slotline design` makes them, with the table of parts `2008` and the ratios of power and heat \
              that the thesis' text has.",
        find: |_| findings(),
    },
};

/// Power per Gbit/s of 10GigE switches divided by that of GigE switches, and the same ratio for heat: §3.2.
const TIMES: (f64, f64) = (2.0, 3.0);
/// The savings that the paper states, in percent: power and heat.
const SAVED: (f64, f64) = (56.6, 56.5);
const COUNT: (&str, &str) = ("count", "1");

const RATIOS: &str = "from the text's ratios per Gbit/s (10GigE switches roughly double the power and three times the \
                      heat of GigE); the paper's watts are only in its figures, and its two statements are \
                      inconsistent";
const NEEDED: &str =
    "the power that 10GigE switches would need per Gbit/s for the savings that the paper states";

fn findings() -> Findings {
    let parts = Parts::shipped("2008").expect("a table of the program");
    let parts = Parts { switches: parts.switches.into_iter().map(heated).collect(), ..parts };
    let wish = Wish {
        hosts: 27_648,
        nic: Rate(1_000_000_000),
        // 48 hosts on four uplinks: the 576 edge switches of §3.2.
        oversubscription: Ratio(1_200),
        k: None,
        pod_switch: false,
    };
    let planned = |shape| plan(shape, &wish, &parts).expect("the thesis' network");
    let (tree, fat_tree) = (planned(Shape::Tree), planned(Shape::FatTree));
    let rows = [counts(&tree.0, &fat_tree.0), savings(&tree, &fat_tree, &parts)].concat();
    Findings {
        names: vec!["tree 1.2:1".into(), "fat-tree".into()],
        rows: rows.into_iter().flatten().collect(),
        figures: vec![figure(&tree.1, &fat_tree.1)],
        emulated: None,
    }
}

/// `part` with the heat from the text's ratio if it is a 10GigE switch.
fn heated(part: Switch) -> Switch {
    let scale = |power: Power| Power((power.0 as f64 * TIMES.1 / TIMES.0) as u128);
    let heat = if part.rate == Rate(10_000_000_000) { part.power.map(scale) } else { part.power };
    Switch { heat, ..part }
}

fn counts(tree: &Design, fat_tree: &Design) -> Vec<Option<Row>> {
    let of = |design: &Design, role| {
        let own = design.switches.iter().filter(|kind| kind.role == role);
        own.map(|kind| kind.count).sum::<u64>() as f64
    };
    let row = |point, paper, ours| computed((point, "tree 1.2:1"), COUNT, Some(paper), ours, "");
    vec![
        row("edge switches", 576.0, of(tree, "edge")),
        row("aggregation switches", 36.0, of(tree, "aggregation")),
        row("core switches", 18.0, of(tree, "core")),
        computed(
            ("all switches", "fat-tree"),
            COUNT,
            Some(2_880.0),
            fat_tree.switch_count() as f64,
            "",
        ),
    ]
}

fn savings(tree: &Costed, fat_tree: &Costed, parts: &Parts) -> Vec<Option<Row>> {
    let saved = |of: fn(&Bill) -> u128| 100.0 - 100.0 * share(&tree.1, &fat_tree.1, of);
    let less = |what, paper, ours| {
        computed((what, "fat-tree"), ("less than the tree", "%"), Some(paper), ours, RATIOS)
    };
    let times = |what, paper, saved| {
        let ours = needed(tree, fat_tree, parts, saved);
        let quantity = ("per Gbit/s over that of GigE", "times");
        computed((what, "tree 1.2:1"), quantity, Some(paper), ours, NEEDED)
    };
    vec![
        less("power", SAVED.0, saved(power)),
        less("heat", SAVED.1, saved(heat)),
        times("power", TIMES.0, SAVED.0),
        times("heat", TIMES.1, SAVED.1),
    ]
}

fn power(bill: &Bill) -> u128 {
    bill.power.value
}

fn heat(bill: &Bill) -> u128 {
    bill.heat.value
}

/// The value of the fat-tree as a fraction of that of the tree.
fn share(tree: &Bill, fat_tree: &Bill, of: fn(&Bill) -> u128) -> f64 {
    of(fat_tree) as f64 / of(tree) as f64
}

/// The ratio of power per Gbit/s of the upper switches to that of GigE switches with which `percent` is saved.
fn needed(tree: &Costed, fat_tree: &Costed, parts: &Parts, percent: f64) -> f64 {
    let drawn = |role: &str| {
        let own = tree.0.switches.iter().filter(|kind| (kind.role == "edge") == (role == "edge"));
        let power = |kind: &slotline_design::Switches| {
            parts.switches[kind.part].power.map_or(0.0, Power::watts) * kind.count as f64
        };
        own.map(power).sum::<f64>()
    };
    let all = Power(power(&fat_tree.1)).watts() / (1.0 - percent / 100.0);
    TIMES.0 * (all - drawn("edge")) / drawn("upper")
}

/// Figure 3.9 as multiples. The table's watts are examples, but multiples do not depend on them.
fn figure(tree: &Bill, fat_tree: &Bill) -> Figure {
    let over = |of| 1.0 / share(tree, fat_tree, of);
    let over_saving = |percent: f64| 1.0 / (1.0 - percent / 100.0);
    let bars = Bars {
        x: Axis {
            label: "times that of the fat-tree",
            unit: Measure::Times,
            scale: Division::Linear,
        },
        row: "quantity",
        rows: vec!["power".into(), "heat".into()],
        values: vec![Bar(vec![over(power), over(heat)]), Bar(vec![1.0, 1.0])],
        stated: vec![
            Bar(vec![over_saving(SAVED.0), over_saving(SAVED.1)]),
            Bar(vec![f64::NAN, f64::NAN]),
        ],
    };
    let caption = "The network has 27,648 hosts. Stars show the savings in the text of the paper.";
    Ok(Plot {
        id: "power",
        title: "Power and heat (Figure 3.9)".into(),
        caption: caption.into(),
        shape: Drawn::Bars(bars),
    })
}
