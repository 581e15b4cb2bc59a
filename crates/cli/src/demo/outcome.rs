//! What a demonstration has measured, and its table.

use super::clock_faults::{self, Consequence};
use super::faults::FoundFault;
use super::load::Load;
use super::outage::Outage;
use serde::Serialize;
use serde_json::Value;
use slotline_live::timeslots::Accepted;
use std::collections::BTreeMap;

/// The measured values with and without the daemons.
#[derive(Serialize)]
pub struct Outcome {
    pub without: Option<Load>,
    pub with: Load,
    /// What followed from each kill of `--kills`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kills: Vec<Outage>,
    /// The links and switches that the arbiter found to lose packets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FoundFault>,
    /// The timeslots that hosts accepted, where an arbiter is killed and the other one takes over.
    pub timeslots: Option<Timeslots>,
    /// What followed from the faults of a clock.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clock_faults: Vec<Consequence>,
    /// The status of the daemons at the end.
    pub daemons: BTreeMap<String, Value>,
}

/// The timeslots that hosts accepted.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Timeslots {
    pub accepted: u64,
    /// Those that were granted twice, to one source or to one destination.
    pub granted_twice: u64,
}

impl From<Accepted> for Timeslots {
    fn from(Accepted { timeslots: accepted, twice: granted_twice }: Accepted) -> Timeslots {
        Timeslots { accepted, granted_twice }
    }
}

impl Outcome {
    /// A table for people, whose second column has this name.
    pub fn table(&self, name: &str) -> String {
        let mut lines = vec![format!("{:36}{:>12}{:>12}", "", "without", name)];
        let mut row = |what: &str, of: fn(&Load) -> f64, digits: usize| {
            let number = |load| format!("{:>12.digits$}", of(load));
            let without = self.without.as_ref().map_or_else(|| format!("{:>12}", "-"), number);
            lines.push(format!("{what:36}{without}{}", number(&self.with)));
        };
        row("Goodput, all senders     Mbit/s", Load::goodput, 1);
        row("Goodput, least sender    Mbit/s", Load::least, 1);
        row("Goodput, most sender     Mbit/s", Load::most, 1);
        if !self.with.by_second.is_empty() {
            row("Goodput, all links work  Mbit/s", |load| load.third(0), 1);
            row("Goodput, a link is bad   Mbit/s", |load| load.third(1), 1);
            row("Goodput, it works again  Mbit/s", |load| load.third(2), 1);
        }
        row("Ping, median                 ms", |load| load.ping(0.5), 2);
        row("Ping, 99th percentile        ms", |load| load.ping(0.99), 2);
        row("Ping, longest                ms", |load| load.ping(1.0), 2);
        row("Pings without answer", |load| load.pings_lost as f64, 0);
        row("Segments sent again", |load| load.retransmits as f64, 0);
        if self.with.lost_in_nights.is_some() {
            row("Packets lost in nights", |load| load.lost_in_nights.unwrap_or_default() as f64, 0);
        }
        row("Packets dropped by the switch", |load| load.dropped as f64, 0);
        if self.with.most_waiting.is_some() {
            row(
                "Most bytes seen in the switch KB",
                |load| load.most_waiting.unwrap_or_default() as f64 / 1e3,
                1,
            );
        }
        if let Some(Timeslots { accepted, granted_twice }) = self.timeslots {
            let mut line = |what: &str, count: u64| {
                lines.push(format!("{what:36}{:>12}{count:>12}", "-"));
            };
            line("Timeslots that hosts accepted", accepted);
            line("Timeslots granted twice", granted_twice);
        }
        if let Some(share) = self.share_of_circuits() {
            lines.push(format!(
                "{:36}{:>12}{share:>12.1}",
                "Bytes that left by circuits       %", "-"
            ));
        }
        if let Some(changed) = self.changed_paths() {
            let none = "-";
            lines.push(format!("{:36}{none:>12}{changed:>12}", "Paths that switches were told"));
        }
        lines.extend(self.faults.iter().map(FoundFault::line));
        if let Some(bump) = self.daemons.get("bump") {
            let dropped = ["dropped", "no-room"].map(|key| bump[key].as_u64().unwrap_or_default());
            let (none, dropped) = ("-", dropped.iter().sum::<u64>());
            lines.push(format!("{:36}{none:>12}{dropped:>12}", "Packets dropped by the bump"));
        }
        lines.extend(clock_faults::lines(&self.clock_faults));
        lines.join("\n")
    }
    /// How often a switch was told another path for a flow.
    fn changed_paths(&self) -> Option<u64> {
        let of = |status: &Value| status["counters"]["changed_paths"].as_u64();
        let counts: Vec<u64> = self.daemons.values().filter_map(of).collect();
        (!counts.is_empty()).then(|| counts.iter().sum())
    }
    /// The share of circuits among all bytes that left racks, in percent.
    fn share_of_circuits(&self) -> Option<f64> {
        let sum = |name: &str| {
            let of = |status: &Value| status["counters"][name].as_f64();
            self.daemons.values().filter_map(of).sum::<f64>()
        };
        let (circuits, packets) = (sum("circuit_bytes"), sum("packet_switch_bytes"));
        (circuits > 0.0).then(|| 100.0 * circuits / (circuits + packets))
    }
}
