//! The network: nodes in tiers with hosts at the bottom, and links coloured by utilisation.

use super::{Look, legend};
use crate::drawing::{Anchor, Colour, Drawing, Step, Stroke, circle, rectangle};
use crate::font::width;
use crate::numbers::grouped;
use crate::scales::LABEL;
use crate::style;
use slotline_report::plot::{Fabric, FabricLink};
use std::collections::BTreeSet;

/// The room above the highest tier.
const TOP: f64 = 44.0;
/// The height of the names of nodes.
const NAME: f64 = 11.0;

/// Where nodes are.
struct Layout {
    at: Vec<(f64, f64)>,
    tiers: usize,
    dense: bool,
    height: f64,
}

impl Layout {
    fn of(plot: &Fabric, wide: f64) -> Layout {
        let tiers = plot.nodes.iter().map(|node| node.tier).max().unwrap_or(0);
        let gap = if tiers > 0 { (260.0 / tiers as f64).clamp(76.0, 120.0) } else { 0.0 };
        let y = |tier: usize| TOP + (tiers - tier) as f64 * gap;
        let at = plot.nodes.iter().map(|node| (12.0 + node.x * (wide - 24.0), y(node.tier)));
        let height = TOP + tiers as f64 * gap + 34.0;
        Layout { at: at.collect(), tiers, dense: plot.nodes.len() > 120, height }
    }
}

pub fn draw(plot: &Fabric, look: &Look<'_>) -> Drawing {
    let layout = Layout::of(plot, look.width);
    let mut drawing = legend::ramp(look.width);
    for scheme in (0..plot.hottest.len()).filter(|at| look.shows(*at)) {
        let top = drawing.height;
        let panel = panel(plot, &layout, scheme, look);
        drawing.height += panel.height;
        drawing.text((0.0, top + 12.0), look.name(scheme), LABEL, Anchor::Start, style::ink());
        let up = layout.height - panel.height;
        drawing.add(panel, 0.0, top - up);
    }
    drawing
}

fn busier(link: &FabricLink, scheme: usize) -> i32 {
    link.up[scheme].max(link.down[scheme])
}

/// The links of a scheme, the least used first. Other schemes may have nodes that this one does not have.
fn links_of(plot: &Fabric, scheme: usize) -> Vec<&FabricLink> {
    let of = |link: &&FabricLink| {
        busier(link, scheme) >= 0 || (0..link.up.len()).all(|at| busier(link, at) < 0)
    };
    let mut links: Vec<&FabricLink> = plot.links.iter().filter(of).collect();
    links.sort_by_key(|link| busier(link, scheme));
    links
}

/// The network of a scheme. Its height is that of the tiers that it has.
fn panel(plot: &Fabric, layout: &Layout, scheme: usize, look: &Look<'_>) -> Drawing {
    let mut drawing = Drawing::new(look.width);
    let links = links_of(plot, scheme);
    for link in &links {
        let (a, b) = (layout.at[link.bottom], layout.at[link.top]);
        if plot.both {
            line(&mut drawing, layout, a, b, link.up[scheme], -1.8);
            line(&mut drawing, layout, a, b, link.down[scheme], 1.8);
        } else {
            line(&mut drawing, layout, a, b, busier(link, scheme), 0.0);
        }
    }
    let there: BTreeSet<usize> = links.iter().flat_map(|link| [link.top, link.bottom]).collect();
    there.iter().for_each(|at| node(&mut drawing, plot, layout, *at));
    let highest = there.iter().map(|at| layout.at[*at].1).fold(f64::INFINITY, f64::min);
    drawing.height = layout.height - if highest.is_finite() { highest - TOP } else { 0.0 };
    (0..=layout.tiers).for_each(|tier| labels(&mut drawing, plot, layout, tier, &there));
    drawing
}

/// `aside`: how far the line lies to the side, if both directions are drawn.
fn line(
    drawing: &mut Drawing,
    layout: &Layout,
    a: (f64, f64),
    b: (f64, f64),
    permille: i32,
    aside: f64,
) {
    let long = (b.0 - a.0).hypot(b.1 - a.1).max(1e-9);
    let (dx, dy) = ((b.1 - a.1) / long * aside, -(b.0 - a.0) / long * aside);
    let used = f64::from(permille.max(0)) / 1000.0;
    let (thin, thick) = if layout.dense { (0.4, 2.0) } else { (1.0, 3.5) };
    let colour = if permille < 0 { style::named("grid") } else { link_colour(permille) };
    let stroke = Stroke { round: true, ..Stroke::solid(colour, thin + used * thick) };
    drawing.line(vec![Step::Move(a.0 + dx, a.1 + dy), Step::Line(b.0 + dx, b.1 + dy)], stroke);
}

/// The palest colours of cells would hardly be visible as lines.
fn link_colour(permille: i32) -> Colour {
    match permille {
        ..100 => style::named("edge"),
        100..500 => style::level(permille + 100),
        _ => style::level(permille),
    }
}

fn node(drawing: &mut Drawing, plot: &Fabric, layout: &Layout, at: usize) {
    let (node, (x, y)) = (&plot.nodes[at], layout.at[at]);
    let size = if layout.dense { 2.5 } else { 5.0 };
    let stroke = Stroke::solid(style::ink(), 1.3);
    if node.tier == 0 && node.hosts < 2 {
        drawing.shape(circle((x, y), size * 0.8), style::ink(), stroke);
    } else {
        let steps = rectangle((x - size, y - size * 0.75), (2.0 * size, 1.5 * size));
        drawing.shape(steps, style::paper(), stroke);
    }
}

/// The names of a tier if there is room; otherwise the first, the last and their number.
fn labels(
    drawing: &mut Drawing,
    plot: &Fabric,
    layout: &Layout,
    tier: usize,
    there: &BTreeSet<usize>,
) {
    let mut nodes: Vec<usize> =
        there.iter().copied().filter(|at| plot.nodes[*at].tier == tier).collect();
    nodes.sort_by(|a, b| plot.nodes[*a].x.total_cmp(&plot.nodes[*b].x));
    let (Some(first), Some(last)) = (nodes.first(), nodes.last()) else { return };
    let y = layout.at[*first].1 + if tier == 0 { 20.0 } else { -12.0 };
    let room = drawing.width / nodes.len() as f64;
    let fits = nodes.iter().all(|at| width(&plot.nodes[*at].name, NAME) + 4.0 < room);
    if fits {
        for at in &nodes {
            let name = &plot.nodes[*at].name;
            let half = width(name, NAME) / 2.0;
            let x = layout.at[*at].0.clamp(half, (drawing.width - half).max(half));
            on_paper(drawing, (x - half, y), name);
        }
        return;
    }
    let hosts: usize = nodes.iter().map(|at| plot.nodes[*at].hosts).sum();
    let count = match tier {
        0 => format!("{} hosts", grouped(&hosts.to_string())),
        _ => format!("{} switches", nodes.len()),
    };
    let name = |at: usize| plot.nodes[at].name.as_str();
    let from = name(*first).split(" … ").next().unwrap_or_default();
    let to = name(*last).split(" … ").last().unwrap_or_default();
    on_paper(drawing, (1.0, y), &format!("{from} … {to}: {count}"));
}

/// A text that lines do not cross.
fn on_paper(drawing: &mut Drawing, (x, y): (f64, f64), text: &str) {
    drawing.rect((x - 1.0, y - 10.0), (width(text, NAME) + 2.0, 13.0), style::paper(), 0.85);
    drawing.text((x, y), text, NAME, Anchor::Start, style::ink());
}
