//! A drawing as SVG, with texts as texts, so that it can be edited.

use crate::drawing::{Anchor, Colour, Drawing, Item, Path, Step, Stroke, Text};
use crate::font;
use std::fmt::Write;

/// The file. `title` is what screen readers say.
pub fn svg(drawing: &Drawing, title: &str) -> String {
    let millimetres = |units: f64| number(units * Drawing::POINTS / 72.0 * 25.4);
    let (width, height) = (number(drawing.width), number(drawing.height));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}mm\" height=\"{}mm\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"{}, Arial, Helvetica, 'Liberation Sans', sans-serif\" role=\"img\">\n<title>{}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
        millimetres(drawing.width),
        millimetres(drawing.height),
        font::NAME,
        escaped(title)
    );
    for item in &drawing.items {
        match item {
            Item::Path(path) => out += &path_element(path),
            Item::Text(text) => out += &text_element(text),
        }
    }
    out + "</svg>\n"
}

/// At most two decimals.
pub(crate) fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

fn escaped(text: &str) -> String {
    slotline_report::html::escape(text)
}

fn hex([r, g, b]: Colour) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn path_element(path: &Path) -> String {
    let fill = path.fill.map_or("none".into(), hex);
    let stroke = path.stroke.as_ref().map_or(String::new(), stroke_attributes);
    let opacity = match path.opacity {
        1.0 => String::new(),
        opacity => format!(" fill-opacity=\"{}\"", number(opacity)),
    };
    format!("<path d=\"{}\" fill=\"{fill}\"{opacity}{stroke}/>\n", data(&path.steps))
}

fn stroke_attributes(stroke: &Stroke) -> String {
    let mut out = format!(
        " stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"",
        hex(stroke.colour),
        number(stroke.width)
    );
    if !stroke.dash.is_empty() {
        let dash: Vec<String> = stroke.dash.iter().copied().map(number).collect();
        out += &format!(" stroke-dasharray=\"{}\"", dash.join(" "));
    }
    if stroke.round {
        out += " stroke-linecap=\"round\"";
    }
    out
}

fn data(steps: &[Step]) -> String {
    let mut out = String::new();
    for step in steps {
        let numbers: &[f64] = match step {
            Step::Move(x, y) | Step::Line(x, y) => &[*x, *y],
            Step::Curve(points) => points,
            Step::Close => &[],
        };
        out.push(match step {
            Step::Move(..) => 'M',
            Step::Line(..) => 'L',
            Step::Curve(_) => 'C',
            Step::Close => 'Z',
        });
        out += &numbers.iter().copied().map(number).collect::<Vec<_>>().join(" ");
    }
    out
}

fn text_element(text: &Text) -> String {
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"{anchor}>{}</text>",
        number(text.x),
        number(text.y),
        number(text.size),
        hex(text.colour),
        escaped(&text.content)
    );
    out
}
