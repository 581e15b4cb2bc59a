//! What happens to the network during a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slotline_net::error::SpecError;
use slotline_net::time::Time;
use slotline_net::units::Rate;

/// One event.
///
/// ```toml
/// [[event]]
/// at = "5ms"
/// kind = "link-down"
/// link = "edge0.0-agg0.1"
/// reroute-after = "1ms"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Table", into = "Table")]
pub struct EventSpec {
    /// When.
    pub at: Time,
    /// What.
    pub kind: EventKind,
    /// How long it takes until routes follow; zero: at once.
    pub reroute_after: Time,
}

/// What happens.
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// A link loses what is on it and carries nothing more.
    LinkDown {
        /// The names of its two ends, `"edge0.0-agg0.1"`.
        link: String,
    },
    /// A link carries again.
    LinkUp {
        /// The names of its two ends.
        link: String,
    },
    /// All links of a switch go down.
    SwitchDown {
        /// Its name.
        switch: String,
    },
    /// All links of a switch carry again.
    SwitchUp {
        /// Its name.
        switch: String,
    },
    /// A link gets another rate, both ways.
    Rate {
        /// The names of its two ends.
        link: String,
        /// The new rate.
        rate: Rate,
    },
}

/// The form in a scenario file.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = slotline_net::schema::by_kind)]
struct Table {
    /// When.
    at: Time,
    kind: Kind,
    /// The link: the names of its two ends, as in `overrides` of the fabric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-needed-by" = ["link-down", "link-up", "rate"]))]
    link: Option<String>,
    /// The switch's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-needed-by" = ["switch-down", "switch-up"]))]
    switch: Option<String>,
    /// The new rate, both ways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-needed-by" = ["rate"]))]
    rate: Option<Rate>,
    /// How long it takes until routes follow; zero: at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["link-down", "link-up", "switch-down", "switch-up"]))]
    #[schemars(extend("default" = Time::ZERO))]
    reroute_after: Option<Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// A link loses what is on it and carries nothing more.
    LinkDown,
    /// A link carries again.
    LinkUp,
    /// All links of a switch go down.
    SwitchDown,
    /// All links of a switch carry again.
    SwitchUp,
    /// A link gets another rate, both ways; routes stay as they are.
    Rate,
}

impl TryFrom<Table> for EventSpec {
    type Error = SpecError;

    fn try_from(table: Table) -> Result<EventSpec, SpecError> {
        let Table { at, kind, link, switch, rate, reroute_after } = table;
        let kind = match (kind, link, switch, rate) {
            (Kind::LinkDown, Some(link), None, None) => EventKind::LinkDown { link },
            (Kind::LinkUp, Some(link), None, None) => EventKind::LinkUp { link },
            (Kind::SwitchDown, None, Some(switch), None) => EventKind::SwitchDown { switch },
            (Kind::SwitchUp, None, Some(switch), None) => EventKind::SwitchUp { switch },
            (Kind::Rate, Some(link), None, Some(rate)) if reroute_after.is_none() => {
                EventKind::Rate { link, rate }
            }
            (kind, ..) => return Err(SpecError::new("kind", needs(kind))),
        };
        Ok(EventSpec { at, kind, reroute_after: reroute_after.unwrap_or_default() })
    }
}

fn needs(kind: Kind) -> &'static str {
    match kind {
        Kind::LinkDown => "a `link-down` event needs `at` and `link`, and takes `reroute-after`",
        Kind::LinkUp => "a `link-up` event needs `at` and `link`, and takes `reroute-after`",
        Kind::SwitchDown => {
            "a `switch-down` event needs `at` and `switch`, and takes `reroute-after`"
        }
        Kind::SwitchUp => "a `switch-up` event needs `at` and `switch`, and takes `reroute-after`",
        Kind::Rate => "a `rate` event needs `at`, `link` and `rate`, and takes nothing else",
    }
}

impl From<EventSpec> for Table {
    fn from(event: EventSpec) -> Table {
        let changes_routes = !matches!(event.kind, EventKind::Rate { .. });
        let reroute_after = changes_routes.then_some(event.reroute_after);
        let (kind, link, switch, rate) = match event.kind {
            EventKind::LinkDown { link } => (Kind::LinkDown, Some(link), None, None),
            EventKind::LinkUp { link } => (Kind::LinkUp, Some(link), None, None),
            EventKind::SwitchDown { switch } => (Kind::SwitchDown, None, Some(switch), None),
            EventKind::SwitchUp { switch } => (Kind::SwitchUp, None, Some(switch), None),
            EventKind::Rate { link, rate } => (Kind::Rate, Some(link), None, Some(rate)),
        };
        Table { at: event.at, kind, link, switch, rate, reroute_after }
    }
}
