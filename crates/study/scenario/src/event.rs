//! Events that change the network during a run.

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
    /// The time of the event.
    pub at: Time,
    /// The change and its target.
    pub kind: EventKind,
    /// Time until the routes change; zero means at once.
    pub reroute_after: Time,
    /// How often it happens; at least once.
    pub times: u32,
    /// The time from one repetition to the next; zero if it happens once.
    pub every: Time,
}

/// A change and its target.
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// A link loses the packets on it and carries no more packets.
    LinkDown {
        /// The names of its two ends, `"edge0.0-agg0.1"`.
        link: String,
    },
    /// A link carries packets again.
    LinkUp {
        /// The names of its two ends.
        link: String,
    },
    /// All links of a switch go down.
    SwitchDown {
        /// Its name.
        switch: String,
    },
    /// All links of a switch carry packets again.
    SwitchUp {
        /// Its name.
        switch: String,
    },
    /// A link gets another rate, in both directions.
    Rate {
        /// The names of its two ends.
        link: String,
        /// The new rate.
        rate: Rate,
    },
    /// A controller of a central scheme stops and loses its state.
    ControllerDown {
        /// Its name.
        controller: String,
    },
    /// A controller starts again, without its previous state.
    ControllerUp {
        /// Its name.
        controller: String,
    },
    /// A host leaves the network, and first informs a central scheduler that keeps a list of hosts.
    Leave {
        /// Its name.
        host: String,
    },
    /// A host returns to the network.
    Join {
        /// Its name.
        host: String,
    },
}

/// The most repetitions of an event.
const MOST_TIMES: u32 = 100_000;

impl EventSpec {
    /// The times at which it happens.
    pub fn moments(&self) -> impl Iterator<Item = Time> + use<> {
        let (at, every) = (self.at, self.every);
        (0..u64::from(self.times)).map(move |n| at.after(every.times(n)))
    }
    /// The last time at which it happens.
    pub fn last(&self) -> Time {
        self.at.after(self.every.times(u64::from(self.times - 1)))
    }
}

/// The form in a scenario file.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = slotline_net::schema::by_kind)]
struct Table {
    /// Time of the event; of the first repetition, if it is repeated.
    at: Time,
    kind: Kind,
    /// How often it happens. More than once needs `every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000), extend("default" = 1))]
    times: Option<u32>,
    /// Time from one repetition to the next. Only with `times`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    every: Option<Time>,
    /// The link: the names of its two ends, as in `overrides` of the fabric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-needed-by" = ["link-down", "link-up", "rate"]))]
    link: Option<String>,
    /// The switch's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-needed-by" = ["switch-down", "switch-up"]))]
    switch: Option<String>,
    /// The controller's name. Schemes without such a controller are not affected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-needed-by" = ["controller-down", "controller-up"]))]
    controller: Option<String>,
    /// The host's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-needed-by" = ["leave", "join"]))]
    host: Option<String>,
    /// The new rate, in both directions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-needed-by" = ["rate"]))]
    rate: Option<Rate>,
    /// Time until the routes change; zero means at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["link-down", "link-up", "switch-down", "switch-up"]))]
    #[schemars(extend("default" = Time::ZERO))]
    reroute_after: Option<Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// A link loses the packets on it and carries no more packets.
    LinkDown,
    /// A link carries packets again.
    LinkUp,
    /// All links of a switch go down.
    SwitchDown,
    /// All links of a switch carry packets again.
    SwitchUp,
    /// A link gets another rate, in both directions; routes do not change.
    Rate,
    /// A controller of a central scheme stops and loses its state.
    ControllerDown,
    /// A controller starts again, without its previous state.
    ControllerUp,
    /// A host leaves. It first informs XCo's controller, which no longer schedules it; then its links go down.
    Leave,
    /// A host returns: its links go up, and it registers with XCo's controller.
    Join,
}

impl Table {
    /// The key that names the target of `kind`.
    fn named(&mut self, kind: &EventKind) -> &mut Option<String> {
        match kind {
            EventKind::LinkDown { .. } | EventKind::LinkUp { .. } | EventKind::Rate { .. } => {
                &mut self.link
            }
            EventKind::SwitchDown { .. } | EventKind::SwitchUp { .. } => &mut self.switch,
            EventKind::ControllerDown { .. } | EventKind::ControllerUp { .. } => {
                &mut self.controller
            }
            EventKind::Leave { .. } | EventKind::Join { .. } => &mut self.host,
        }
    }
}

impl EventKind {
    /// Whether routes change after the event.
    pub fn changes_routes(&self) -> bool {
        matches!(self.kind(), Kind::LinkDown | Kind::LinkUp | Kind::SwitchDown | Kind::SwitchUp)
    }
    fn kind(&self) -> Kind {
        match self {
            EventKind::LinkDown { .. } => Kind::LinkDown,
            EventKind::LinkUp { .. } => Kind::LinkUp,
            EventKind::SwitchDown { .. } => Kind::SwitchDown,
            EventKind::SwitchUp { .. } => Kind::SwitchUp,
            EventKind::Rate { .. } => Kind::Rate,
            EventKind::ControllerDown { .. } => Kind::ControllerDown,
            EventKind::ControllerUp { .. } => Kind::ControllerUp,
            EventKind::Leave { .. } => Kind::Leave,
            EventKind::Join { .. } => Kind::Join,
        }
    }
    /// The name of the link, switch, controller or host that it affects.
    fn name(&self) -> String {
        match self {
            EventKind::LinkDown { link }
            | EventKind::LinkUp { link }
            | EventKind::Rate { link, .. } => link,
            EventKind::SwitchDown { switch } | EventKind::SwitchUp { switch } => switch,
            EventKind::ControllerDown { controller } | EventKind::ControllerUp { controller } => {
                controller
            }
            EventKind::Leave { host } | EventKind::Join { host } => host,
        }
        .clone()
    }
}

impl TryFrom<Table> for EventSpec {
    type Error = SpecError;

    fn try_from(table: Table) -> Result<EventSpec, SpecError> {
        let Table { at, kind, link, switch, controller, host, rate, reroute_after, times, every } =
            table;
        let (times, every) = repetition(times, every)?;
        let stays = reroute_after.is_none();
        let kind = match (kind, link, switch, controller, host, rate) {
            (Kind::LinkDown, Some(link), None, None, None, None) => EventKind::LinkDown { link },
            (Kind::LinkUp, Some(link), None, None, None, None) => EventKind::LinkUp { link },
            (Kind::SwitchDown, None, Some(switch), None, None, None) => {
                EventKind::SwitchDown { switch }
            }
            (Kind::SwitchUp, None, Some(switch), None, None, None) => {
                EventKind::SwitchUp { switch }
            }
            (Kind::Rate, Some(link), None, None, None, Some(rate)) if stays => {
                EventKind::Rate { link, rate }
            }
            (Kind::ControllerDown, None, None, Some(controller), None, None) if stays => {
                EventKind::ControllerDown { controller }
            }
            (Kind::ControllerUp, None, None, Some(controller), None, None) if stays => {
                EventKind::ControllerUp { controller }
            }
            (Kind::Leave, None, None, None, Some(host), None) if stays => EventKind::Leave { host },
            (Kind::Join, None, None, None, Some(host), None) if stays => EventKind::Join { host },
            (kind, ..) => return Err(SpecError::new("kind", needs(kind))),
        };
        Ok(EventSpec { at, kind, reroute_after: reroute_after.unwrap_or_default(), times, every })
    }
}

/// Checks `times` and `every`. Each needs the other.
fn repetition(times: Option<u32>, every: Option<Time>) -> Result<(u32, Time), SpecError> {
    let wrong = |key, message: String| Err(SpecError::new(key, message));
    match (times, every) {
        (None | Some(1), None) => Ok((1, Time::ZERO)),
        (Some(times @ 2..=MOST_TIMES), Some(every)) if every > Time::ZERO => Ok((times, every)),
        (Some(times), _) if !(1..=MOST_TIMES).contains(&times) => {
            wrong("times", format!("`times` is {times}: it has to be 1 to {MOST_TIMES}"))
        }
        (Some(times), None) => wrong(
            "every",
            format!("`times` is {times}: `every` is needed, the time from one to the next"),
        ),
        (Some(_), Some(_)) => {
            wrong("every", "`every` has to be more than 0, and `times` more than 1".into())
        }
        (None, Some(_)) => {
            wrong("times", "`every` is given: `times` is needed, how often it happens".into())
        }
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
        Kind::ControllerDown => {
            "a `controller-down` event needs `at` and `controller`, and takes nothing else"
        }
        Kind::ControllerUp => {
            "a `controller-up` event needs `at` and `controller`, and takes nothing else"
        }
        Kind::Leave => "a `leave` event needs `at` and `host`, and takes nothing else",
        Kind::Join => "a `join` event needs `at` and `host`, and takes nothing else",
    }
}

impl From<EventSpec> for Table {
    fn from(event: EventSpec) -> Table {
        let mut table = Table {
            at: event.at,
            kind: Kind::Rate,
            link: None,
            switch: None,
            controller: None,
            host: None,
            rate: None,
            reroute_after: event.kind.changes_routes().then_some(event.reroute_after),
            times: (event.times > 1).then_some(event.times),
            every: (event.times > 1).then_some(event.every),
        };
        (table.kind, *table.named(&event.kind)) = (event.kind.kind(), Some(event.kind.name()));
        if let EventKind::Rate { rate, .. } = event.kind {
            table.rate = Some(rate);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(more: &str) -> Result<EventSpec, String> {
        let text = format!("at = '1ms'\nkind = 'link-down'\nlink = 'a-b'\n{more}");
        toml::from_str(&text).map_err(|error| error.to_string())
    }

    #[test]
    fn an_event_repeats() {
        let event = read("times = 3\nevery = '20us'").expect("an event");
        assert_eq!(event.moments().collect::<Vec<_>>(), [1_000, 1_020, 1_040].map(Time::us));
        assert_eq!(event.last(), Time::us(1_040));
        let text = toml::to_string(&event).expect("plain data");
        assert_eq!(toml::from_str(&text), Ok(event), "{text}");
        let once = read("").expect("an event");
        assert_eq!((once.moments().count(), once.last()), (1, Time::ms(1)));
        assert!(!toml::to_string(&once).expect("plain data").contains("times"));
    }

    #[test]
    fn hosts_leave_and_join() {
        let of = |kind: &str, more: &str| {
            toml::from_str::<EventSpec>(&format!("at = '1ms'\nkind = '{kind}'\n{more}"))
                .map_err(|error| error.to_string())
        };
        let event = of("leave", "host = 'h3'").expect("an event");
        assert_eq!(event.kind, EventKind::Leave { host: "h3".into() });
        let text = toml::to_string(&event).expect("plain data");
        assert_eq!(toml::from_str(&text), Ok(event), "{text}");
        for wrong in ["", "controller = 'h3'", "host = 'h3'\nreroute-after = '1ms'"] {
            assert!(
                of("join", wrong).expect_err(wrong).contains("needs `at` and `host`"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn half_of_a_repetition_is_refused() {
        let no = |more: &str| read(more).expect_err(more);
        assert!(no("times = 3").contains("`every` is needed"));
        assert!(no("every = '1ms'").contains("`times` is needed"));
        assert!(no("times = 0").contains("1 to 100000"));
        assert!(no("times = 100001\nevery = '1ms'").contains("1 to 100000"));
        assert!(no("times = 2\nevery = '0s'").contains("more than 0"));
        assert!(no("times = 1\nevery = '1ms'").contains("more than 1"));
    }
}
