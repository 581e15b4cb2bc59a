//! What the arbiter found out about a link that broke.

use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// When the link broke and worked again, by network time in nanoseconds.
pub struct Broken {
    pub from_ns: f64,
    pub until_ns: f64,
    /// How long it took to break it.
    pub change_ms: f64,
}

/// A link or switch that the arbiter found to lose packets. Times are in milliseconds.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct FoundFault {
    part: String,
    /// How long the change of the link took: it broke within this time.
    change_ms: f64,
    /// From the begin of this change until the fault was found.
    found_ms: f64,
    /// From the begin of this change until the first timeslots that avoid it.
    avoided_ms: Option<f64>,
    /// From when the link worked again until it was used again.
    cleared_ms: Option<f64>,
}

/// The faults that arbiters have found, by their status.
pub fn found(daemons: &BTreeMap<String, Value>, broken: &Broken) -> Vec<FoundFault> {
    let faults = daemons.values().filter_map(|status| status["faults"].as_array()).flatten();
    let since = |ns: &Value, since: f64| ns.as_f64().map(|ns| (ns - since) / 1e6);
    let fault = |fault: &Value| {
        Some(FoundFault {
            change_ms: broken.change_ms,
            part: fault["part"].as_str()?.to_owned(),
            found_ms: since(&fault["found-ns"], broken.from_ns)?,
            avoided_ms: since(&fault["avoided-ns"], broken.from_ns),
            cleared_ms: since(&fault["cleared-ns"], broken.until_ns),
        })
    };
    faults.filter_map(fault).collect()
}

impl FoundFault {
    /// The fault as a line of the table.
    pub fn line(&self) -> String {
        let ms = |time: Option<f64>| time.map_or("never".to_owned(), |ms| format!("{ms:.0} ms"));
        format!(
            "{} was found {} and avoided {} after the link began to break, which took {}; it was used again {} after the link \
             worked",
            self.part,
            ms(Some(self.found_ms)),
            ms(self.avoided_ms),
            ms(Some(self.change_ms)),
            ms(self.cleared_ms)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_since_the_link_changed() {
        let status = r#"{"faults":[{"part":"a-b","found-ns":3500000,"avoided-ns":4000000,"cleared-ns":null},
            {"part":"c","found-ns":5000000,"avoided-ns":null,"cleared-ns":9000000}]}"#;
        let daemons =
            BTreeMap::from([("arbiter".to_owned(), serde_json::from_str(status).unwrap())]);
        let found = found(&daemons, &Broken { from_ns: 3e6, until_ns: 8e6, change_ms: 0.1 });
        let times: Vec<_> =
            found.iter().map(|of| (of.found_ms, of.avoided_ms, of.cleared_ms)).collect();
        assert_eq!(times, [(0.5, Some(1.0), None), (2.0, None, Some(1.0))]);
        assert!(found[0].line().ends_with("used again never after the link worked"));
    }
}
