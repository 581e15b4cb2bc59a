//! The data of the figures: one [`Plot`] for each figure, so that the script of the page only draws.

use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// One figure.
#[derive(Serialize, Debug)]
pub struct Plot {
    /// Its name in the page and in the names of saved files.
    pub id: &'static str,
    /// Its heading.
    #[serde(skip)]
    pub title: Cow<'static, str>,
    /// An explanation of the figure, and the data that it omits.
    #[serde(skip)]
    pub caption: String,
    /// The drawing.
    #[serde(flatten)]
    pub shape: Shape,
}

/// A figure, or the reason why there is none.
pub type Figure = Result<Plot, Missing>;

/// A figure for which there are no data.
#[derive(Debug, PartialEq, Eq)]
pub struct Missing {
    /// The heading of the figure.
    pub title: &'static str,
    /// How to get the data, in a sentence.
    pub remedy: &'static str,
}

/// The kinds of drawing.
#[derive(Serialize, Debug)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Shape {
    /// Lines over two axes.
    Lines(Lines),
    /// Metrics of a parameter study.
    Study(Study),
    /// Horizontal bars, several per name.
    Bars(Bars),
    /// Horizontal bars made of parts.
    Stack(Stack),
    /// Rows of coloured cells over time.
    Heat(Heat),
    /// Spans of time in rows.
    Gantt(Gantt),
    /// Points of single flows over time.
    Sequence(Sequence),
    /// Nodes and links.
    Fabric(Fabric),
    /// One flow at a time.
    Flows(Flows),
}

/// The unit of the values of an axis.
#[derive(Serialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Bits per second.
    #[serde(rename = "bit/s")]
    BitsPerSecond,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// A multiple of a reference value.
    #[serde(rename = "x")]
    Times,
    /// A part of a whole: 1 is all of it.
    #[serde(rename = "share")]
    Share,
    /// A number without a unit.
    #[serde(rename = "1")]
    Number,
}

/// One axis.
#[derive(Serialize, Clone, Copy, Debug)]
pub struct Axis<Label = &'static str> {
    /// Its label.
    pub label: Label,
    /// The unit of its values.
    pub unit: Measure,
    /// The scales that it can have.
    pub scale: Division,
}

/// The scales of an axis.
#[derive(Serialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Division {
    /// Linear only.
    Linear,
    /// Linear, with a logarithm as an option.
    LinearFirst,
    /// Logarithmic, with a linear scale as an option.
    LogFirst,
    /// Linear; the optional logarithm is of the distance to one, to show the last per mille.
    Tail,
}

/// Lines over two axes.
#[derive(Serialize, Debug)]
pub struct Lines {
    /// The axis from left to right.
    pub x: Axis,
    /// The axis from bottom to top.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
}

/// One line.
#[derive(Serialize, Debug, Default)]
pub struct Series {
    /// Index of the scheme.
    pub scheme: usize,
    /// Its name among the lines of the scheme.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub part: &'static str,
    /// A note in the legend.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Whether each value holds until the next one. All points are drawn then.
    pub step: bool,
    /// Whether every point has a mark.
    pub marks: bool,
    /// Positions from left to right.
    #[serde(serialize_with = "fine")]
    pub x: Vec<f64>,
    /// Values from bottom to top.
    #[serde(serialize_with = "short")]
    pub y: Vec<f64>,
    /// The lowest value that a point represents; empty if it represents itself.
    #[serde(serialize_with = "short", skip_serializing_if = "Vec::is_empty")]
    pub low: Vec<f64>,
    /// The highest value that a point represents.
    #[serde(serialize_with = "short", skip_serializing_if = "Vec::is_empty")]
    pub high: Vec<f64>,
    /// The number of flows that a point represents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub count: Vec<usize>,
    /// Values that papers state for the line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stated: Vec<Mark>,
}

/// A value that a paper states.
#[derive(Serialize, Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// Its position from left to right.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// `about` this value, `over` it or `under` it.
    pub sense: &'static str,
}

/// The result of a parameter study: a metric against one of the parameters, with intervals.
#[derive(Serialize, Debug)]
pub struct Study {
    /// The axis from left to right.
    pub x: Axis<String>,
    /// Names of the values if they are not numbers. `x` of lines is then an index into the names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The axis from bottom to top.
    pub y: Axis<String>,
    /// The settings that distinguish lines: the scheme and the other parameters.
    pub settings: Vec<String>,
    /// The lines.
    pub series: Vec<StudyLine>,
}

/// One scheme with one setting of the other parameters.
#[derive(Serialize, Debug, PartialEq)]
pub struct StudyLine {
    /// Index of its name in the names of the page.
    pub scheme: usize,
    /// Its values of [`Study::settings`].
    pub settings: Vec<String>,
    /// Positions from left to right.
    #[serde(serialize_with = "fine")]
    pub x: Vec<f64>,
    /// Means.
    #[serde(serialize_with = "short")]
    pub y: Vec<f64>,
    /// Lower ends of the 95 % intervals; not a number with a single seed.
    #[serde(serialize_with = "short")]
    pub low: Vec<f64>,
    /// Upper ends.
    #[serde(serialize_with = "short")]
    pub high: Vec<f64>,
    /// Seeds of each point.
    pub seeds: Vec<usize>,
    /// Whether unfinished flows make a point a lower bound.
    pub least: Vec<bool>,
    /// Values that papers state for the line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stated: Vec<Mark>,
}

/// Horizontal bars.
#[derive(Serialize, Debug)]
pub struct Bars {
    /// The axis from left to right.
    pub x: Axis,
    /// The subject of a row.
    pub row: &'static str,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// The values by scheme, then by row.
    pub values: Vec<Row>,
    /// Values that papers state; not a number if a row has none, and empty if there are none at all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stated: Vec<Row>,
}

/// The numbers of a row.
#[derive(Serialize, Debug)]
pub struct Row(#[serde(serialize_with = "short")] pub Vec<f64>);

/// Horizontal bars made of parts.
#[derive(Serialize, Debug)]
pub struct Stack {
    /// Names of the parts.
    pub parts: Vec<&'static str>,
    /// The bars.
    pub bars: Vec<StackBar>,
}

/// One bar.
#[derive(Serialize, Debug)]
pub struct StackBar {
    /// Index of the scheme.
    pub scheme: usize,
    /// The group of flows.
    pub group: &'static str,
    /// The number of flows.
    pub flows: usize,
    /// Mean seconds by part.
    #[serde(serialize_with = "short")]
    pub seconds: Vec<f64>,
}

/// Rows of coloured cells over time.
#[derive(Serialize, Debug)]
pub struct Heat {
    /// Names of the rows.
    pub rows: Vec<String>,
    /// A map for each scheme.
    pub panels: Vec<HeatPanel>,
}

/// The map of one scheme.
#[derive(Serialize, Debug)]
pub struct HeatPanel {
    /// Index of the scheme.
    pub scheme: usize,
    /// Edges of the columns, in seconds: one more than there are columns.
    #[serde(serialize_with = "fine")]
    pub edges: Vec<f64>,
    /// Per mille by row, then by column; -1 if unknown.
    pub permille: Vec<Vec<i32>>,
}

/// Spans of time in rows.
#[derive(Serialize, Debug)]
pub struct Gantt {
    /// Names of all hosts, or of their racks if the schedule is one of circuits.
    pub hosts: Vec<String>,
    /// The step between destinations: one for hosts, and the number of hosts per rack for racks.
    pub step: u32,
    /// A chart for each scheme that has a schedule.
    pub panels: Vec<GanttPanel>,
}

/// The chart of one scheme.
#[derive(Serialize, Debug)]
pub struct GanttPanel {
    /// Index of the scheme.
    pub scheme: usize,
    /// End of the run, in seconds.
    pub end: f64,
    /// The sending hosts by row. A host that may send to several destinations at a time has several rows.
    pub rows: Vec<u32>,
    /// The bars of the whole run.
    pub bars: Spans,
    /// The first windows one by one, if `bars` sums them up.
    pub detail: Spans,
    /// The time until which `detail` is complete, in seconds.
    pub detail_until: f64,
}

/// Spans of time, column by column.
#[derive(Serialize, Debug, Default)]
pub struct Spans {
    /// The row of each span.
    pub row: Vec<u32>,
    /// The beginning of each span, in seconds.
    #[serde(serialize_with = "fine")]
    pub from: Vec<f64>,
    /// The end of each span, in seconds.
    #[serde(serialize_with = "fine")]
    pub until: Vec<f64>,
    /// The destination of each span; -1 if there are several.
    pub to: Vec<i64>,
    /// The number of windows that each span represents.
    pub windows: Vec<u32>,
    /// The fraction of each span in which sending was permitted.
    #[serde(serialize_with = "short")]
    pub share: Vec<f64>,
}

/// Points of single flows over time.
#[derive(Serialize, Debug)]
pub struct Sequence {
    /// Names of the flows that can be chosen.
    pub flows: Vec<String>,
    /// A trace for each flow and scheme.
    pub tracks: Vec<Track>,
}

/// The trace of one flow under one scheme. Times count from its start.
#[derive(Serialize, Debug)]
pub struct Track {
    /// Index into [`Sequence::flows`].
    pub flow: usize,
    /// Index of the scheme.
    pub scheme: usize,
    /// Segments sent for the first time.
    pub sent: Points,
    /// Retransmitted segments.
    pub resent: Points,
    /// Acknowledgements.
    pub acknowledged: Points,
    /// Beginnings of the windows in which the sender was permitted to send to this destination.
    #[serde(serialize_with = "fine")]
    pub open: Vec<f64>,
    /// Ends of these windows.
    #[serde(serialize_with = "fine")]
    pub shut: Vec<f64>,
}

/// Points, column by column.
#[derive(Serialize, Debug, Default)]
pub struct Points {
    /// Seconds.
    #[serde(serialize_with = "fine")]
    pub x: Vec<f64>,
    /// Bytes.
    pub y: Vec<u64>,
}

/// Nodes and links.
#[derive(Serialize, Debug)]
pub struct Fabric {
    /// Places to draw.
    pub nodes: Vec<FabricNode>,
    /// Lines between them.
    pub links: Vec<FabricLink>,
    /// Whether both directions are drawn, side by side.
    pub both: bool,
    /// For each scheme, the busiest directions of links, with their utilisation per mille.
    pub hottest: Vec<Vec<(String, i32)>>,
}

/// A node, or several hosts drawn as one.
#[derive(Serialize, Debug)]
pub struct FabricNode {
    /// Its name.
    pub name: String,
    /// 0 for hosts, 1 for the switches next to them, and so on.
    pub tier: usize,
    /// The position from left (0) to right (1).
    pub x: f64,
    /// The number of hosts that it represents.
    pub hosts: usize,
}

/// All links between two places.
#[derive(Serialize, Debug)]
pub struct FabricLink {
    /// Index of the upper node.
    pub top: usize,
    /// Index of the lower node.
    pub bottom: usize,
    /// The number of links that it represents.
    pub links: usize,
    /// For each scheme, the utilisation per mille of the busiest link from bottom to top.
    pub up: Vec<i32>,
    /// The same from top to bottom.
    pub down: Vec<i32>,
}

/// Single flows.
#[derive(Serialize, Debug)]
pub struct Flows {
    /// Names of the parts.
    pub parts: Vec<&'static str>,
    /// Flows, by scheme, the slowest first.
    pub flows: Vec<FlowBreakdown>,
}

/// The parts of the time of one flow.
#[derive(Serialize, Debug)]
pub struct FlowBreakdown {
    /// Index of the scheme.
    pub scheme: usize,
    /// Its number, seed, ends and size.
    pub name: String,
    /// The largest part of its time, as text.
    pub summary: String,
    /// Seconds by part.
    #[serde(serialize_with = "short")]
    pub seconds: Vec<f64>,
    /// The ports where it waited longest, with seconds.
    pub places: Vec<(String, f64)>,
}

impl Lines {
    /// Whether the figure has data.
    pub fn is_empty(&self) -> bool {
        self.series.iter().all(|series| series.x.is_empty())
    }
}

/// Rounds to seven significant digits, which are finer than any screen.
fn short<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|value| rounded(*value, 7)))
}

/// Rounds to eleven significant digits, for times far from zero.
fn fine<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|value| rounded(*value, 11)))
}

/// Rounds `value` to `digits` significant digits.
pub fn rounded(value: f64, digits: usize) -> f64 {
    let written = || format!("{value:.*e}", digits - 1).parse().unwrap_or(value);
    scaled(value, digits).unwrap_or_else(written)
}

/// The same without a text. `None` if it might differ from what the text says: near the middle between two numbers, and
/// where a power of ten is not exact.
fn scaled(value: f64, digits: usize) -> Option<f64> {
    let places = (digits as f64 - 1.0 - value.abs().log10().floor()) as i64;
    let power = *POWERS.get(usize::try_from(places.unsigned_abs()).ok()?)?;
    let exact = if places < 0 { value / power } else { value * power };
    let whole = exact.round();
    let has_digits = (POWERS[digits - 1]..=POWERS[digits]).contains(&whole.abs());
    let is_clear = (exact - whole).abs() < 0.499;
    (has_digits && is_clear).then(|| if places < 0 { whole * power } else { whole / power })
}

/// The powers of ten that are exact.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_no_longer_than_needed() {
        let series = Series { x: vec![0.1 + 0.2], y: vec![1.0 / 3.0, 0.0], ..Series::default() };
        let text = serde_json::to_string(&series).unwrap();
        assert!(text.contains("\"x\":[0.3],\"y\":[0.3333333,0.0]"), "{text}");
        assert!(!text.contains("low") && !text.contains("count"), "{text}");
    }

    #[test]
    fn numbers_are_rounded_as_texts_are() {
        let mut dice = 1u64;
        for at in 0..200_000i32 {
            dice = dice
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let power = 10f64.powi(at % 40 - 20);
            let value =
                (dice >> (12 + at % 50)) as f64 * power * if at % 2 == 0 { 1.0 } else { -1.0 };
            for digits in [7, 11] {
                let text: f64 = format!("{value:.*e}", digits - 1).parse().unwrap();
                assert_eq!(rounded(value, digits).to_bits(), text.to_bits(), "{value} {digits}");
            }
        }
        assert!(rounded(f64::NAN, 7).is_nan() && rounded(f64::INFINITY, 7) == f64::INFINITY);
    }
}
