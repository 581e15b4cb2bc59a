//! The kinds of figures, one file each. They have the layout of the report page, which is for a narrow screen as it is
//! for a column of a paper.

mod bars;
mod fabric;
mod gantt;
mod heat;
mod legend;
mod lines;
mod sequence;
mod stack;
mod study;

use crate::drawing::Drawing;
use slotline_report::plot::{Axis, Division, Plot, Shape};

/// What a reader chose.
pub struct Look<'a> {
    /// The names of schemes.
    pub names: &'a [String],
    /// The width in units of a drawing.
    pub width: f64,
    /// The schemes that are not drawn.
    pub hidden: Vec<usize>,
    /// Whether the horizontal and the vertical axis have the scale that the page does not begin with.
    pub other_scale: [bool; 2],
}

impl Look<'_> {
    /// Whether a scheme is drawn.
    fn shows(&self, scheme: usize) -> bool {
        !self.hidden.contains(&scheme)
    }

    /// The name of a scheme.
    fn name(&self, scheme: usize) -> &str {
        self.names.get(scheme).map_or("", String::as_str)
    }

    /// Whether an axis is logarithmic; `at` is 0 for the horizontal one.
    fn is_log<Label>(&self, axis: &Axis<Label>, at: usize) -> bool {
        axis.scale != Division::Linear && (axis.scale == Division::LogFirst) != self.other_scale[at]
    }
}

/// The room around a figure, so that no letter or line is cut.
const EDGE: f64 = 2.0;

/// Draws `plot`, with the names of its schemes above it.
pub fn draw(plot: &Plot, look: &Look<'_>) -> Drawing {
    let inner = Look { width: look.width - 2.0 * EDGE, hidden: look.hidden.clone(), ..*look };
    let (legend, body) = (legend::schemes(&plot.shape, &inner), body(plot, &inner));
    let mut drawing = Drawing::new(look.width);
    drawing.height = legend.height + body.height + 2.0 * EDGE;
    let top = EDGE + legend.height;
    drawing.add(legend, EDGE, EDGE);
    drawing.add(body, EDGE, top);
    drawing
}

fn body(plot: &Plot, look: &Look<'_>) -> Drawing {
    match &plot.shape {
        Shape::Lines(lines) => lines::draw(lines, look),
        Shape::Study(study) => study::draw(study, look),
        Shape::Bars(bars) => bars::draw(bars, look),
        Shape::Stack(stack) => stack::draw(stack, look),
        Shape::Heat(heat) => heat::draw(heat, look),
        Shape::Gantt(gantt) => gantt::draw(gantt, look),
        Shape::Sequence(sequence) => sequence::draw(sequence, look),
        Shape::Fabric(fabric) => fabric::draw(fabric, look),
        Shape::Flows(flows) => stack::draw_flows(flows, look),
    }
}
