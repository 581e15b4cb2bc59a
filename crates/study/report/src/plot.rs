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
    /// How to read the figure, and which data it omits.
    #[serde(skip)]
    pub caption: String,
    /// What is drawn.
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
    /// A multiple of something.
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
    /// Each value holds until the next one: all points are there.
    pub step: bool,
    /// Every point gets a mark.
    pub marks: bool,
    /// From left to right.
    #[serde(serialize_with = "fine")]
    pub x: Vec<f64>,
    /// From bottom to top.
    #[serde(serialize_with = "short")]
    pub y: Vec<f64>,
    /// The lowest value that a point stands for; empty where it stands for itself.
    #[serde(serialize_with = "short", skip_serializing_if = "Vec::is_empty")]
    pub low: Vec<f64>,
    /// The highest value that a point stands for.
    #[serde(serialize_with = "short", skip_serializing_if = "Vec::is_empty")]
    pub high: Vec<f64>,
    /// Flows that a point stands for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub count: Vec<usize>,
    /// Values that papers state for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stated: Vec<Mark>,
}

/// A value that a paper states.
#[derive(Serialize, Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// Its place from left to right.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// `about` this value, `over` or `under` it.
    pub sense: &'static str,
}

/// What a parameter study found: a metric against one of the parameters, with intervals.
#[derive(Serialize, Debug)]
pub struct Study {
    /// The axis from left to right.
    pub x: Axis<String>,
    /// Names of the values where they are no numbers: `x` of lines is an index into these.
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
    /// From left to right.
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
    /// Values that papers state for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stated: Vec<Mark>,
}

/// Horizontal bars.
#[derive(Serialize, Debug)]
pub struct Bars {
    /// The axis from left to right.
    pub x: Axis,
    /// The name of the subject of a row.
    pub row: &'static str,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// By scheme, then by row.
    pub values: Vec<Row>,
    /// Values that papers state: not a number where there is none, and empty without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stated: Vec<Row>,
}

/// Numbers in a row.
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
    /// Per mille by row, then by column; -1 where nothing is known.
    pub permille: Vec<Vec<i32>>,
}

/// Spans of time in rows.
#[derive(Serialize, Debug)]
pub struct Gantt {
    /// Names of all hosts; of their racks, where the schedule is one of circuits.
    pub hosts: Vec<String>,
    /// Destinations are multiples of it: one for hosts, the hosts of a rack for racks.
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
    /// Sending hosts, by row; one that may send to several at a time has several.
    pub rows: Vec<u32>,
    /// All of it.
    pub bars: Spans,
    /// The first windows one by one, where `bars` sums them up.
    pub detail: Spans,
    /// The time until which `detail` is complete, in seconds.
    pub detail_until: f64,
}

/// Spans of time, column by column.
#[derive(Serialize, Debug, Default)]
pub struct Spans {
    /// Its row.
    pub row: Vec<u32>,
    /// Beginning, in seconds.
    #[serde(serialize_with = "fine")]
    pub from: Vec<f64>,
    /// End, in seconds.
    #[serde(serialize_with = "fine")]
    pub until: Vec<f64>,
    /// The destination; -1 where there are several.
    pub to: Vec<i64>,
    /// Windows that it stands for.
    pub windows: Vec<u32>,
    /// The part of the span in which something was permitted.
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
    /// Both directions are drawn, side by side.
    pub both: bool,
    /// By scheme: the busiest directions of links, with their utilisation per mille.
    pub hottest: Vec<Vec<(String, i32)>>,
}

/// A node, or several hosts drawn as one.
#[derive(Serialize, Debug)]
pub struct FabricNode {
    /// Its name.
    pub name: String,
    /// 0 for hosts, 1 for the switches next to them, and so on.
    pub tier: usize,
    /// From left (0) to right (1).
    pub x: f64,
    /// Hosts that it stands for.
    pub hosts: usize,
}

/// All links between two places.
#[derive(Serialize, Debug)]
pub struct FabricLink {
    /// Index of the upper node.
    pub top: usize,
    /// Index of the lower node.
    pub bottom: usize,
    /// Links that it stands for.
    pub links: usize,
    /// By scheme: utilisation per mille from bottom to top, of the busiest of them.
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

/// Where the time of one flow went.
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

/// `value` to so many significant digits.
pub fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

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
}
