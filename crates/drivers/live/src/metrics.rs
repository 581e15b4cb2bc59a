//! Metrics as text in the format of OpenMetrics 1.0.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

/// The metrics of one daemon.
#[derive(Debug, Default)]
pub struct Exposition(String);

impl Exposition {
    /// Adds a value that can rise and fall.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "gauge", help);
        self.sample(name, value);
    }
    /// Adds a count since the start of the daemon.
    pub fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "counter", help);
        self.sample(&format!("{name}_total"), value);
    }
    /// Adds values of one kind that a label tells apart. A value of a label needs no escape: it is an address or a name.
    pub fn labelled(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (String, u64)>,
    ) {
        self.family(name, "gauge", help);
        for (of, value) in values {
            self.sample(&format!("{name}{{{label}=\"{of}\"}}"), value);
        }
    }
    /// Adds the counters of the scheme, which docs/results.md explains.
    pub fn scheme(&mut self, counters: &BTreeMap<&'static str, u64>) {
        for (name, value) in counters {
            let name = format!("scheme_{name}");
            self.family(&name, "unknown", "");
            self.sample(&name, value);
        }
    }
    /// The whole text.
    pub fn end(self) -> String {
        self.0 + "# EOF\n"
    }

    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# TYPE slotline_{name} {kind}"));
        if !help.is_empty() {
            self.line(format_args!("# HELP slotline_{name} {help}"));
        }
    }
    fn sample(&mut self, name: &str, value: impl Display) {
        self.line(format_args!("slotline_{name} {value}"));
    }
    fn line(&mut self, line: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_that_of_the_format() {
        let mut metrics = Exposition::default();
        metrics.gauge("held_packets", "Packets held.", 3);
        metrics.counter("joins", "Joins.", 2);
        metrics.labelled("bytes", "Bytes.", "to", [("10.0.0.1".to_owned(), 7)]);
        metrics.scheme(&BTreeMap::from([("slots_used", 9)]));
        let text = "# TYPE slotline_held_packets gauge\n# HELP slotline_held_packets Packets held.\nslotline_held_packets 3\n\
                    # TYPE slotline_joins counter\n# HELP slotline_joins Joins.\nslotline_joins_total 2\n\
                    # TYPE slotline_bytes gauge\n# HELP slotline_bytes Bytes.\nslotline_bytes{to=\"10.0.0.1\"} 7\n\
                    # TYPE slotline_scheme_slots_used unknown\nslotline_scheme_slots_used 9\n# EOF\n";
        assert_eq!(metrics.end(), text);
    }
}
