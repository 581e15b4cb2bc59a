//! A drawing: paths and texts, which every format can hold.

use crate::font;

/// Red, green and blue.
pub type Colour = [u8; 3];

/// A step of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Begins a new part.
    Move(f64, f64),
    /// A straight line.
    Line(f64, f64),
    /// A cubic curve: two control points, and the end.
    Curve([f64; 6]),
    /// Back to the beginning of the part.
    Close,
}

/// A line along a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Stroke {
    /// Its colour.
    pub colour: Colour,
    /// Its width.
    pub width: f64,
    /// Lengths of dashes and gaps in turn; empty for a continuous line.
    pub dash: Vec<f64>,
    /// Whether its ends are round.
    pub round: bool,
}

impl Stroke {
    /// A continuous line.
    pub fn solid(colour: Colour, width: f64) -> Stroke {
        Stroke { colour, width, dash: vec![], round: false }
    }
}

/// A path, filled, stroked, or both.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Its steps.
    pub steps: Vec<Step>,
    /// The colour inside.
    pub fill: Option<Colour>,
    /// The line along it.
    pub stroke: Option<Stroke>,
    /// Its opacity: 1 hides what is below.
    pub opacity: f64,
}

/// The part of a text at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The left end.
    Start,
    /// The middle.
    Middle,
    /// The right end.
    End,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// Position of the anchor from the left.
    pub x: f64,
    /// Position of the base line from the top.
    pub y: f64,
    /// Height of the font.
    pub size: f64,
    /// The part of the text at its position.
    pub anchor: Anchor,
    /// The colour.
    pub colour: Colour,
    /// The text.
    pub content: String,
}

impl Text {
    /// The position of its left end.
    pub fn left(&self) -> f64 {
        let width = font::width(&self.content, self.size);
        match self.anchor {
            Anchor::Start => self.x,
            Anchor::Middle => self.x - width / 2.0,
            Anchor::End => self.x - width,
        }
    }
}

/// A part of a drawing.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A path.
    Path(Path),
    /// A text.
    Text(Text),
}

/// A drawing. Its unit is that of the report page, where a label has a height of 12; [`Drawing::POINTS`] says how
/// large it is on paper.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
    /// What is drawn, from bottom to top.
    pub items: Vec<Item>,
}

impl Drawing {
    /// Points (1/72 inch) of a unit: labels are 7 points high, as papers print them.
    pub const POINTS: f64 = 7.0 / 12.0;

    /// Nothing yet.
    pub fn new(width: f64) -> Drawing {
        Drawing { width, height: 0.0, items: vec![] }
    }

    /// Adds a filled rectangle.
    pub fn rect(&mut self, at: (f64, f64), size: (f64, f64), fill: Colour, opacity: f64) {
        let steps = rectangle(at, size);
        self.items.push(Item::Path(Path { steps, fill: Some(fill), stroke: None, opacity }));
    }

    /// Adds a line along `steps`.
    pub fn line(&mut self, steps: Vec<Step>, stroke: Stroke) {
        self.items.push(Item::Path(Path { steps, fill: None, stroke: Some(stroke), opacity: 1.0 }));
    }

    /// Adds a filled path with a line along it.
    pub fn shape(&mut self, steps: Vec<Step>, fill: Colour, stroke: Stroke) {
        let stroke = Some(stroke);
        self.items.push(Item::Path(Path { steps, fill: Some(fill), stroke, opacity: 1.0 }));
    }

    /// Adds a filled path.
    pub fn area(&mut self, steps: Vec<Step>, fill: Colour, opacity: f64) {
        self.items.push(Item::Path(Path { steps, fill: Some(fill), stroke: None, opacity }));
    }

    /// Adds a text.
    pub fn text(
        &mut self,
        at: (f64, f64),
        content: &str,
        size: f64,
        anchor: Anchor,
        colour: Colour,
    ) {
        let content = content.to_string();
        self.items.push(Item::Text(Text { x: at.0, y: at.1, size, anchor, colour, content }));
    }

    /// Adds `other` at an offset.
    pub fn add(&mut self, other: Drawing, dx: f64, dy: f64) {
        self.items.extend(other.items.into_iter().map(|item| moved(item, dx, dy)));
    }
}

fn moved(item: Item, dx: f64, dy: f64) -> Item {
    match item {
        Item::Path(path) => Item::Path(Path { steps: shifted(&path.steps, dx, dy), ..path }),
        Item::Text(text) => Item::Text(Text { x: text.x + dx, y: text.y + dy, ..text }),
    }
}

/// `steps` at an offset.
pub fn shifted(steps: &[Step], dx: f64, dy: f64) -> Vec<Step> {
    let step = |step: &Step| match *step {
        Step::Move(x, y) => Step::Move(x + dx, y + dy),
        Step::Line(x, y) => Step::Line(x + dx, y + dy),
        Step::Curve([a, b, c, d, e, f]) => {
            Step::Curve([a + dx, b + dy, c + dx, d + dy, e + dx, f + dy])
        }
        Step::Close => Step::Close,
    };
    steps.iter().map(step).collect()
}

/// A rectangle with this upper left corner.
pub fn rectangle((x, y): (f64, f64), (width, height): (f64, f64)) -> Vec<Step> {
    let (right, bottom) = (x + width, y + height);
    vec![
        Step::Move(x, y),
        Step::Line(right, y),
        Step::Line(right, bottom),
        Step::Line(x, bottom),
        Step::Close,
    ]
}

/// A line through points.
pub fn polyline(points: impl IntoIterator<Item = (f64, f64)>) -> Vec<Step> {
    let step = |(at, (x, y))| if at == 0 { Step::Move(x, y) } else { Step::Line(x, y) };
    points.into_iter().enumerate().map(step).collect()
}

/// A circle around a point.
pub fn circle((x, y): (f64, f64), r: f64) -> Vec<Step> {
    // The distance of control points that brings four cubic curves closest to a circle.
    let k = 0.5523 * r;
    vec![
        Step::Move(x - r, y),
        Step::Curve([x - r, y - k, x - k, y - r, x, y - r]),
        Step::Curve([x + k, y - r, x + r, y - k, x + r, y]),
        Step::Curve([x + r, y + k, x + k, y + r, x, y + r]),
        Step::Curve([x - k, y + r, x - r, y + k, x - r, y]),
        Step::Close,
    ]
}
