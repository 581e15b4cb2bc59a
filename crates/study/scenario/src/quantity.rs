//! Quantities that a scenario defines, beside the metrics that every run has.

use super::check::{Fit, ensure, perhaps};
use super::expect::Amount;
use super::metric::{Metric, Unit};
use super::spec::Scenario;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slotline_net::error::SpecError;
use slotline_net::node::Counter;
use slotline_net::node::counter::Unit as CountUnit;
use slotline_net::time::Time;
use slotline_schemes::counters;

/// A quantity of a run with a name of its own: a metric of some flows, a count, or a value of flows or of a port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct QuantitySpec {
    /// Its name in tables and expectations.
    pub name: String,
    /// A metric, of the flows that are chosen below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metric>,
    /// Instead of a metric, a count of the table `control`, such as `voq_drops`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter: Option<String>,
    /// The count is divided by this count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// The count is divided by the length of the run; bytes give a rate in bit/s.
    #[serde(default, skip_serializing_if = "is_false")]
    pub per_second: bool,
    /// Instead of a metric, the mean of these values, or a percentile of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Values>,
    /// Only flows of this workload, by its place in the file, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<u16>,
    /// Only flows from this host, by its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<u32>,
    /// The port of values of ports, such as `s0-h0`: the node, and its neighbour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The percentile of the values (nearest rank). Default: their mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub percentile: Option<f64>,
    /// Instead, the share of the values that are larger than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<Amount>,
    /// Instead, the value as a share of this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_of: Option<Amount>,
    /// Only flows that start, and samples, from this time on. Default: `warmup` of `measure`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Time>,
    /// The quantity is divided by this number: of hosts, or to scale it.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub per: f64,
}

/// Values of flows or of a port, of which a quantity is the mean or a percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Values {
    /// Times from start to end of complete TCP flows, without requests.
    CompletionTimes,
    /// Times of complete exchanges, from the request to the last byte of the answer: round trips of a probe.
    ExchangeTimes,
    /// Samples of the queue at `port`, in bytes.
    Queue,
    /// The rates at which `port` sent between two samples.
    Throughput,
    /// The rate at which `port` sent over the whole run, with preambles and gaps between frames.
    Sent,
    /// The longest queue at `port`.
    Peak,
    /// The packets that `port` dropped, as a share of all that reached it.
    Lost,
    /// The rate at which payload arrived from `warmup` to `until` of `measure`, where each flow has the same rate from its
    /// start to its end.
    Arrived,
}

fn is_false(value: &bool) -> bool {
    !value
}
fn one() -> f64 {
    1.0
}
fn is_one(value: &f64) -> bool {
    *value == 1.0
}

impl Values {
    /// Their unit.
    pub const fn unit(self) -> Unit {
        match self {
            Values::CompletionTimes | Values::ExchangeTimes => Unit::Seconds,
            Values::Queue | Values::Peak => Unit::Bytes,
            Values::Throughput | Values::Sent | Values::Arrived => Unit::BitsPerSecond,
            Values::Lost => Unit::Share,
        }
    }
    /// Whether they are of a port.
    pub const fn is_of_port(self) -> bool {
        !matches!(self, Values::CompletionTimes | Values::ExchangeTimes | Values::Arrived)
    }
    /// Whether they come from samples.
    pub const fn is_sampled(self) -> bool {
        matches!(self, Values::Queue | Values::Throughput)
    }
    /// Whether a run has only one of them.
    const fn is_single(self) -> bool {
        matches!(self, Values::Sent | Values::Peak | Values::Lost | Values::Arrived)
    }
}

/// The counter with this name in results.
fn counter(name: &str) -> Option<Counter> {
    counters::all().into_iter().find(|counter| counter.name == name)
}

impl QuantitySpec {
    /// The unit of its value.
    pub fn unit(&self) -> Unit {
        if self.above.is_some() || self.over.is_some() || self.share_of.is_some() {
            return Unit::Share;
        }
        self.own_unit()
    }

    /// The unit of its value before it is made a share.
    fn own_unit(&self) -> Unit {
        let counted = || match self.counter.as_deref().and_then(counter)?.unit {
            CountUnit::Bytes if self.per_second => Some(Unit::BitsPerSecond),
            CountUnit::Bytes => Some(Unit::Bytes),
            CountUnit::Nanoseconds => Some(Unit::Seconds),
            CountUnit::Count => Some(Unit::Count),
        };
        let own = self.metric.map(Metric::unit).or(self.values.map(Values::unit));
        own.or_else(counted).unwrap_or(Unit::Count)
    }

    /// The factor from its count to its unit.
    pub fn count_factor(&self) -> f64 {
        match self.own_unit() {
            _ if self.over.is_some() => 1.0,
            Unit::Seconds => 1e-9,
            Unit::BitsPerSecond => 8.0,
            _ => 1.0,
        }
    }

    /// What the value is a share of, in the unit of the value.
    pub fn whole(&self) -> Option<f64> {
        self.share_of.as_ref()?.in_unit(self.own_unit()).ok()
    }

    fn check(&self, scenario: &Scenario) -> Fit {
        ensure(!self.name.trim().is_empty(), "name", || "`name` is empty".into())?;
        let subjects = [self.metric.is_some(), self.counter.is_some(), self.values.is_some()];
        let given = subjects.iter().filter(|given| **given).count();
        ensure(given == 1, "metric", || {
            "a quantity is a `metric`, a `counter` or `values`: give one of them".into()
        })?;
        self.check_counter()?;
        self.check_values(scenario)?;
        self.check_choice(scenario)?;
        self.check_share()?;
        ensure(self.per.is_finite() && self.per > 0.0, "per", || {
            format!("`per` is {}: it has to be a number above 0", self.per)
        })
    }

    fn check_counter(&self) -> Fit {
        let names = || counters::all().into_iter().map(|counter| counter.name.to_string());
        for (key, name) in [("counter", &self.counter), ("over", &self.over)] {
            let Some(name) = name else { continue };
            ensure(counter(name).is_some(), key, || {
                let all: Vec<String> = names().collect();
                format!("there is no counter `{name}`{}", perhaps(name, &all))
            })?;
        }
        for (key, given) in [("over", self.over.is_some()), ("per-second", self.per_second)] {
            needs(key, given, self.counter.is_some(), "`counter`")?;
        }
        ensure(self.over.is_none() || !self.per_second, "per-second", || {
            "a count is divided by another count or by the time, not by both".into()
        })
    }

    fn check_values(&self, scenario: &Scenario) -> Fit {
        let several = self.values.is_some_and(|values| !values.is_single());
        needs(
            "percentile",
            self.percentile.is_some(),
            several,
            "`values` of which a run has many",
        )?;
        needs("above", self.above.is_some(), several, "`values` of which a run has many")?;
        let of_port = self.values.is_some_and(Values::is_of_port);
        needs("port", self.port.is_some(), of_port, "`values` of a port")?;
        ensure(!of_port || self.port.is_some(), "values", || {
            "these values are of a port: add, for example, port = \"s0-h0\"".into()
        })?;
        let sampled = self.values.is_some_and(Values::is_sampled);
        ensure(!sampled || scenario.measure.sample.is_some(), "values", || {
            "these values are samples: add, for example, sample = \"10us\" to `measure`".into()
        })?;
        ensure(self.percentile.is_none() || self.above.is_none(), "above", || {
            "a quantity is a percentile or the share `above` a value, not both".into()
        })?;
        let Some((values, above)) = self.values.zip(self.above.as_ref()) else { return Ok(()) };
        above.in_unit(values.unit()).map(drop).map_err(|why| SpecError::new("above", why))
    }

    fn check_share(&self) -> Fit {
        let Some(whole) = &self.share_of else { return Ok(()) };
        let twice = self.above.is_some() || self.over.is_some();
        ensure(!twice, "share-of", || "`above` and `over` give shares already".into())?;
        let value =
            whole.in_unit(self.own_unit()).map_err(|why| SpecError::new("share-of", why))?;
        ensure(value > 0.0, "share-of", || format!("`share-of` is {whole}: it has to be above 0"))
    }

    /// Workloads that other points of a sweep have are accepted, ports are checked with the network.
    fn check_choice(&self, scenario: &Scenario) -> Fit {
        let of_flows = self.metric.is_some() || self.values.is_some_and(|v| !v.is_of_port());
        needs("workload", self.workload.is_some(), of_flows, "a quantity of flows")?;
        needs("sender", self.sender.is_some(), of_flows, "a quantity of flows")?;
        needs("from", self.from.is_some(), self.counter.is_none(), "something with a time")?;
        let count = scenario.workload.len();
        ensure(self.workload.is_none_or(|at| usize::from(at) < count), "workload", || {
            format!("there are {count} workloads, numbered from 0")
        })
    }
}

/// `key` is only valid beside `what`.
fn needs(key: &str, given: bool, there: bool, what: &str) -> Fit {
    ensure(!given || there, key, || format!("`{key}` has no meaning without {what}"))
}

/// The errors in the quantities of a scenario.
pub(super) fn faults(scenario: &Scenario) -> Vec<SpecError> {
    let all = &scenario.measure.quantity;
    let wrong = all.iter().enumerate().filter_map(|(at, quantity)| {
        let twice = all[..at].iter().any(|other| other.name == quantity.name);
        let distinct = ensure(!twice, "name", || {
            format!("`{}` is the name of another quantity", quantity.name)
        });
        let error = distinct.and_then(|()| quantity.check(scenario)).err()?;
        Some(error.within(format_args!("measure.quantity[{at}]")))
    });
    wrong.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn loaded(quantity: &str) -> Result<Scenario, String> {
        let text = format!(
            "name = \"x\"\nend = {{ at = \"1ms\" }}\n[fabric]\nkind = \"star\"\nhosts = 3\n[[workload]]\nkind = \"ring\"\n\
             [[scheme]]\nname = \"tcp\"\n[measure]\nsample = \"10us\"\n[[measure.quantity]]\nname = \"own\"\n{quantity}\n"
        );
        let loaded = Scenario::parse(Path::new("x.toml"), text);
        loaded.map(|loaded| loaded.scenario).map_err(|error| error.to_string())
    }

    #[test]
    fn units_follow_from_the_subject() {
        for (text, unit, factor) in [
            ("metric = \"goodput\"\nworkload = 0", Unit::BitsPerSecond, 8.0),
            ("counter = \"voq_drops\"", Unit::Count, 1.0),
            ("counter = \"voq_drops\"\nover = \"circuit_days\"", Unit::Share, 1.0),
            ("counter = \"take_over_silence_ns\"", Unit::Seconds, 1e-9),
            ("counter = \"pause_frame_bytes\"\nper-second = true", Unit::BitsPerSecond, 8.0),
            ("values = \"exchange-times\"\npercentile = 99.9", Unit::Seconds, 1e-9),
            ("values = \"queue\"\nport = \"s0-h1\"", Unit::Bytes, 1.0),
            ("values = \"queue\"\nport = \"s0-h1\"\nabove = \"2KB\"", Unit::Share, 1.0),
            ("values = \"arrived\"\nshare-of = \"3Gbps\"", Unit::Share, 8.0),
        ] {
            let quantity =
                &loaded(text).unwrap_or_else(|e| panic!("{text}: {e}")).measure.quantity[0];
            assert_eq!((quantity.unit(), quantity.count_factor()), (unit, factor), "{text}");
        }
    }

    #[test]
    fn quantities_without_a_meaning_are_refused() {
        for (text, why) in [
            ("", "a `metric`, a `counter` or `values`: give one of them"),
            ("metric = \"goodput\"\ncounter = \"voq_drops\"", "give one of them"),
            ("counter = \"voq_drop\"", "there is no counter `voq_drop`; did you mean `voq_drops`?"),
            (
                "metric = \"goodput\"\nover = \"voq_drops\"",
                "`over` has no meaning without `counter`",
            ),
            (
                "metric = \"goodput\"\npercentile = 5",
                "`percentile` has no meaning without `values`",
            ),
            ("values = \"queue\"", "these values are of a port"),
            ("values = \"queue\"\nport = \"s0-h9\"", "s0-h9"),
            ("values = \"completion-times\"\nport = \"s0-h1\"", "`port` has no meaning"),
            ("values = \"completion-times\"\npercentile = 101", "expected a number from 0 to 100"),
            ("values = \"completion-times\"\nabove = \"2KB\"", "expected for example \"1.5ms\""),
            ("metric = \"goodput\"\nworkload = 1", "there are 1 workloads, numbered from 0"),
            ("metric = \"goodput\"\nper = 0", "a number above 0"),
            ("metric = \"goodput\"\nshare-of = \"2KB\"", "expected for example \"9.4Gbps\""),
            ("metric = \"goodput\"\nshare-of = \"0bps\"", "it has to be above 0"),
            (
                "counter = \"voq_drops\"\nover = \"circuit_days\"\nshare-of = 2",
                "give shares already",
            ),
            ("values = \"arrived\"\nport = \"s0-h1\"", "`port` has no meaning"),
            ("counter = \"voq_drops\"\nworkload = 0", "without a quantity of flows"),
            (
                "metric = \"goodput\"\n[[measure.quantity]]\nname = \"own\"\nmetric = \"drops\"",
                "another quantity",
            ),
        ] {
            let error = loaded(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
