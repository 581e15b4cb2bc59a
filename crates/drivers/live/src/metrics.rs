//! Metrics as text in the format of OpenMetrics 1.0.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

/// The metrics of one daemon.
#[derive(Debug, Default)]
pub struct Exposition(String);

impl Exposition {
    /// A value that rises and falls.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "gauge", help);
        self.sample(name, value);
    }
    /// A count since the start of the daemon.
    pub fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "counter", help);
        self.sample(&format!("{name}_total"), value);
    }
    /// What the scheme counts; docs/results.md says what each is.
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
        // Writing to a string does not fail.
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
        metrics.scheme(&BTreeMap::from([("slots_used", 9)]));
        let text = "# TYPE slotline_held_packets gauge\n# HELP slotline_held_packets Packets held.\nslotline_held_packets 3\n\
                    # TYPE slotline_joins counter\n# HELP slotline_joins Joins.\nslotline_joins_total 2\n\
                    # TYPE slotline_scheme_slots_used unknown\nslotline_scheme_slots_used 9\n# EOF\n";
        assert_eq!(metrics.end(), text);
    }
}
