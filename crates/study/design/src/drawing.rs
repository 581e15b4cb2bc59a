//! A plan seen from above: racks, pods, bundles of cables, as SVG.

use super::hall::{Hall, Placed, Rack};
use super::{Design, Run};
use std::fmt::Write;

/// The longer side of the hall in the drawing.
const SIDE: f64 = 1_200.0;
/// The margin around the hall.
const MARGIN: f64 = 24.0;
/// The height of a line: the title above the hall and the legend below it.
const LINE: f64 = 22.0;
/// If there are more bundles than this between pods, only those of the first pod are drawn.
const MANY: usize = 4_000;

/// The scale from millimetres of the hall to the drawing.
#[derive(Clone, Copy)]
struct Scale(f64);

impl Scale {
    fn x(self, mm: u64) -> f64 {
        MARGIN + mm as f64 * self.0
    }
    fn y(self, mm: u64) -> f64 {
        MARGIN + 2.0 * LINE + mm as f64 * self.0
    }
    fn size(self, mm: u64) -> f64 {
        mm as f64 * self.0
    }
}

/// The drawing as the text of a self-contained SVG file.
pub fn svg(design: &Design) -> String {
    let hall = &design.hall;
    let scale = Scale(SIDE / hall.width.max(hall.depth).max(1) as f64);
    let width = 2.0 * MARGIN + scale.size(hall.width).max(640.0);
    let height = 2.0 * MARGIN + 5.0 * LINE + scale.size(hall.depth);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    title(&mut out, design);
    hall.blocks.iter().for_each(|block| ground(&mut out, block, scale));
    out.push_str("<g stroke=\"#6b7280\" stroke-width=\"0.5\">\n");
    hall.racks.iter().for_each(|rack| place(&mut out, hall, rack, scale));
    out.push_str("</g>\n");
    bundles(&mut out, design, scale);
    hall.blocks.iter().for_each(|block| label(&mut out, block, scale));
    legend(&mut out, design, MARGIN + 3.2 * LINE + scale.size(hall.depth));
    out.push_str("</svg>\n");
    out
}

fn title(out: &mut String, design: &Design) {
    let Design { name, hosts, nic, hall, .. } = design;
    let (racks, switches, cables) = (hall.racks.len(), design.switch_count(), design.cables());
    let metres = |mm: u64| mm as f64 / 1e3;
    let _ = writeln!(
        out,
        "<text x=\"{MARGIN}\" y=\"{:.0}\" font-size=\"16\" font-weight=\"bold\">{name}: {hosts} hosts of {nic}</text>\n\
         <text x=\"{MARGIN}\" y=\"{:.0}\">{switches} switches, {cables} cables, {racks} racks on {:.1} m x {:.1} m</text>",
        MARGIN + 0.5 * LINE,
        MARGIN + 1.4 * LINE,
        metres(hall.width),
        metres(hall.depth),
    );
}

/// Draws the area of a block.
fn ground(out: &mut String, block: &Placed, scale: Scale) {
    let _ = writeln!(
        out,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\" fill=\"#f3f4f6\"/>",
        scale.x(block.x),
        scale.y(block.y),
        scale.size(block.width),
        scale.size(block.depth),
    );
}

/// Draws a rack in the upper half of its cell. The rest is aisle.
fn place(out: &mut String, hall: &Hall, rack: &Rack, scale: Scale) {
    let fill = if rack.hosts > 0 { "#cfe3f7" } else { "#f59e0b" };
    let _ = writeln!(
        out,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{fill}\"/>",
        scale.x(rack.x),
        scale.y(rack.y + hall.cell.1 / 4),
        scale.size(hall.cell.0),
        scale.size(hall.cell.1 / 2),
    );
}

/// Draws bundles between blocks. Those of the first block are in front and in colour.
fn bundles(out: &mut String, design: &Design, scale: Scale) {
    let between = |run: &&Run| run.blocks.0 != run.blocks.1;
    let runs: Vec<&Run> = design.runs.iter().filter(between).collect();
    let first = |run: &&&Run| run.blocks.0 == 0;
    let style = |out: &mut String, colour, width| {
        let _ = writeln!(out, "<g stroke=\"{colour}\" stroke-width=\"{width}\" fill=\"none\">");
    };
    if runs.len() <= MANY {
        style(out, "#9ca3af", 0.6);
        runs.iter().filter(|run| !first(run)).for_each(|run| bundle(out, design, run, scale));
        out.push_str("</g>\n");
    }
    style(out, "#b91c1c", 1.2);
    runs.iter().filter(first).for_each(|run| bundle(out, design, run, scale));
    out.push_str("</g>\n");
}

/// Draws a bundle along the row and then along the column, as its length is computed.
fn bundle(out: &mut String, design: &Design, run: &Run, scale: Scale) {
    let centre = |block: usize| design.hall.blocks[block].centre;
    let (from, to) = (centre(run.blocks.0), centre(run.blocks.1));
    let _ = writeln!(
        out,
        "<path d=\"M{:.1} {:.1}H{:.1}V{:.1}\"/>",
        scale.x(from.0),
        scale.y(from.1),
        scale.x(to.0),
        scale.y(to.1),
    );
}

fn label(out: &mut String, block: &Placed, scale: Scale) {
    let size = (scale.size(block.width) / 5.0).clamp(5.0, 12.0);
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{size:.1}\" fill=\"#111827\">{}</text>",
        scale.x(block.x) + 1.0,
        scale.y(block.y) + size,
        block.label,
    );
}

fn legend(out: &mut String, design: &Design, y: f64) {
    let marks = [("#cfe3f7", "rack with hosts"), ("#f59e0b", "rack with switches only")];
    let mut x = MARGIN;
    for (colour, label) in marks {
        let _ = writeln!(
            out,
            "<rect x=\"{x:.0}\" y=\"{:.0}\" width=\"12\" height=\"12\" fill=\"{colour}\" stroke=\"#6b7280\"/>\
             <text x=\"{:.0}\" y=\"{y:.0}\">{label}</text>",
            y - 11.0,
            x + 18.0,
        );
        x += 190.0;
    }
    let first = |run: &&Run| run.blocks.0 == 0 && run.blocks.1 != 0;
    let Some(run) = design.runs.iter().find(first) else { return };
    let _ = writeln!(
        out,
        "<path d=\"M{x:.0} {:.0}h16\" stroke=\"#b91c1c\" stroke-width=\"1.5\"/><text x=\"{:.0}\" y=\"{y:.0}\">\
         bundles of {}, the first with {} cables; grey: those of other blocks</text>",
        y - 5.0,
        x + 22.0,
        design.hall.blocks[0].label,
        run.count,
    );
}
