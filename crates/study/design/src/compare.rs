//! Compares designs for the same hosts in a table.

use super::amount::{Money, Power, Ratio};
use super::bill::{Bill, Sum};
use super::parts::Parts;
use super::{Design, PlanError, Wish, fat_tree, leaf_spine, tree};
use std::fmt::Write;

/// A kind of network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// A fat-tree of identical switches.
    FatTree,
    /// A tree of edge switches with faster uplinks and two levels above.
    Tree,
    /// A leaf-spine with two levels of switches.
    LeafSpine,
}

/// A design with its bill.
pub type Costed = (Design, Bill);

/// Designs for the same hosts.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The parts of all designs.
    pub parts: Parts,
    /// The requested network.
    pub wish: Wish,
    /// The requested design.
    pub main: Costed,
    /// Other designs with their names, or the reason why they do not exist.
    pub others: Vec<(String, Result<Costed, PlanError>)>,
}

/// The ratios of the thesis' Fig 2.2.
pub const RATIOS: [Ratio; 3] = [Ratio::FULL, Ratio(3_000), Ratio(7_000)];

/// A design and its bill.
pub fn plan(shape: Shape, wish: &Wish, parts: &Parts) -> Result<Costed, PlanError> {
    let design = match shape {
        Shape::FatTree => fat_tree::design(wish, parts),
        Shape::Tree => tree::design(wish, parts),
        Shape::LeafSpine => leaf_spine::design(wish, parts),
    }?;
    let bill = Bill::of(&design, parts)?;
    Ok((design, bill))
}

impl Comparison {
    /// The requested design, compared with the other kinds.
    pub fn of(shape: Shape, wish: Wish, parts: Parts) -> Result<Comparison, PlanError> {
        let main = plan(shape, &wish, &parts)?;
        let with = |oversubscription| Wish { oversubscription, k: None, ..wish };
        let trees = |ratios: &[Ratio]| -> Vec<(Shape, Wish)> {
            ratios.iter().map(|ratio| (Shape::Tree, with(*ratio))).collect()
        };
        let own = wish.oversubscription;
        let others = match shape {
            Shape::FatTree => [trees(&RATIOS), vec![(Shape::LeafSpine, with(own))]].concat(),
            Shape::Tree => vec![(Shape::FatTree, with(own)), (Shape::LeafSpine, with(own))],
            Shape::LeafSpine => vec![(Shape::FatTree, with(own)), (Shape::Tree, with(own))],
        };
        let tried =
            |(shape, wish): (Shape, Wish)| (shape.titled(&wish), plan(shape, &wish, &parts));
        let others = others.into_iter().map(tried).collect();
        Ok(Comparison { main, others, wish, parts })
    }

    /// The designs that exist, the requested one first.
    pub fn costed(&self) -> impl Iterator<Item = &Costed> {
        let others = self.others.iter().filter_map(|(_, plan)| plan.as_ref().ok());
        std::iter::once(&self.main).chain(others)
    }

    /// The table, followed by remarks.
    pub fn text(&self) -> String {
        let columns: Vec<&Costed> = self.costed().collect();
        let rows = rows(&columns, &self.parts);
        let mut out = self.head();
        out.push('\n');
        out.push_str(&aligned(&rows));
        out.push('\n');
        for remark in self.remarks() {
            out.push_str(&remark);
            out.push('\n');
        }
        out
    }

    fn head(&self) -> String {
        let Parts { name, date, source, .. } = &self.parts;
        let Wish { hosts, nic, .. } = &self.wish;
        format!("{hosts} hosts of {nic}, parts of table `{name}` ({date}; {source})\n")
    }

    fn remarks(&self) -> Vec<String> {
        let warnings = |(design, _): &Costed| -> Vec<String> {
            design.remarks.iter().map(|remark| format!("{}: {remark}", design.name)).collect()
        };
        let mut all: Vec<String> = self.costed().flat_map(warnings).collect();
        let missing = self
            .others
            .iter()
            .filter_map(|(name, plan)| Some(format!("{name}: {}", plan.as_ref().err()?)));
        all.extend(missing);
        all.extend(self.unknown());
        let sums = |bill: &Bill| [bill.cost(), bill.power.clone(), bill.heat.clone()];
        if self.costed().flat_map(|(_, bill)| sums(bill)).any(|sum| sum.example) {
            all.push(
                "*: depends on example figures: replace them in a copy of the table (`slotline design parts`)"
                    .into(),
            );
        }
        all
    }
}

impl Comparison {
    /// The figures that the table lacks, each with one part as an example.
    fn unknown(&self) -> Vec<String> {
        type Of = fn(&Bill) -> &Sum;
        let kinds: [(&str, Of); 4] = [
            ("price", |bill| &bill.switches),
            ("price", |bill| &bill.cables),
            ("power", |bill| &bill.power),
            ("heat", |bill| &bill.heat),
        ];
        let lack = |(what, of): (&str, Of)| {
            let item = self.costed().find_map(|(_, bill)| of(bill).missing.clone())?;
            Some(format!("-: the table has no {what} of some parts, such as {item}"))
        };
        kinds.into_iter().filter_map(lack).collect()
    }
}

impl Shape {
    /// The title of a column.
    fn titled(self, wish: &Wish) -> String {
        match self {
            Shape::FatTree => "fat-tree".into(),
            Shape::Tree => format!("tree {}", wish.oversubscription),
            Shape::LeafSpine => format!("leaf-spine {}", wish.oversubscription),
        }
    }
}

/// A line of the table: its label, and a cell for each design.
type Cells = (String, Vec<String>);

fn rows(columns: &[&Costed], parts: &Parts) -> Vec<Cells> {
    let row = |name: &str, of: &dyn Fn(&Costed) -> String| -> Cells {
        (name.into(), columns.iter().map(|costed| of(costed)).collect())
    };
    let currency = parts.currency();
    let mut rows = vec![
        row("", &|(design, _)| design.name.clone()),
        row("room for hosts", &|(design, _)| design.room.to_string()),
        row("oversubscription", &|(design, _)| design.oversubscription.to_string()),
        row("switches", &|(design, _)| design.switch_count().to_string()),
    ];
    for (name, roles) in [
        ("  edge, leaf", &["edge", "leaf"][..]),
        ("  aggregation", &["aggregation"]),
        ("  core, spine", &["core", "spine"]),
    ] {
        rows.push(row(name, &|(design, _)| level(design, roles)));
    }
    rows.push(row("ports of switches", &|(design, _)| design.ports(parts).to_string()));
    rows.push(row("  used", &|(design, _)| design.ports_used().to_string()));
    rows.push(row("cables", &|(design, _)| design.cables().to_string()));
    let classes = parts.cables.iter().map(|cable| &cable.name);
    let class = |name: &String| row(&format!("  {name}"), &|(_, bill)| count(bill, name));
    rows.extend(classes.map(class).filter(|(_, cells)| cells.iter().any(|cell| cell != "-")));
    rows.push(row("  length, km", &|(_, bill)| format!("{:.1}", bill.length as f64 / 1e6)));
    rows.push(row("racks", &|(design, _)| design.hall.racks.len().to_string()));
    rows.push(row("  for switches alone", &|(design, _)| {
        design.hall.racks.iter().filter(|rack| rack.hosts == 0).count().to_string()
    }));
    let money = |sum: &Sum| shown(sum, |value| thousands(Money(value)));
    rows.push(row(&format!("switches, k{currency}"), &|(_, bill)| money(&bill.switches)));
    rows.push(row(&format!("with cables, k{currency}"), &|(_, bill)| money(&bill.cost())));
    rows.push(row(&format!("switches per host, {currency}"), &|(design, bill)| {
        let each = |value| format!("{:.0}", Money(value).value() / design.hosts as f64);
        shown(&bill.switches, each)
    }));
    let kilowatts = |sum: &Sum| shown(sum, |value| format!("{:.1}", Power(value).watts() / 1e3));
    rows.push(row("power, kW", &|(_, bill)| kilowatts(&bill.power)));
    rows.push(row("heat, kW", &|(_, bill)| kilowatts(&bill.heat)));
    rows
}

/// The number of switches of a level; `-` if there is none.
fn level(design: &Design, roles: &[&str]) -> String {
    let own = design.switches.iter().find(|kind| roles.contains(&kind.role));
    own.filter(|kind| kind.count > 0).map_or("-".into(), |kind| kind.count.to_string())
}

/// The number of cables of a class.
fn count(bill: &Bill, name: &str) -> String {
    let own = bill.lines.iter().filter(|line| line.kind == "cable" && line.item == name);
    match own.map(|line| line.count).sum::<u64>() {
        0 => "-".into(),
        count => count.to_string(),
    }
}

fn thousands(money: Money) -> String {
    format!("{:.0}", money.value() / 1e3)
}

/// A sum with its mark; `-` if a part has no figure.
fn shown(sum: &Sum, write: impl Fn(u128) -> String) -> String {
    let mark = if sum.example { " *" } else { "" };
    sum.whole().map_or("-".into(), |value| write(value) + mark)
}

/// Aligns labels to the left and cells to the right.
fn aligned(rows: &[Cells]) -> String {
    let label = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let columns = rows.first().map_or(0, |(_, cells)| cells.len());
    let width =
        |at: usize| rows.iter().map(|(_, cells)| cells[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for (name, cells) in rows {
        let _ = write!(out, "{name:<label$}");
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(out, "  {cell:>width$}");
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    out
}
