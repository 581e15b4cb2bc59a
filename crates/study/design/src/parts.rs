//! Parts tables: the parts that can be bought, and the hall. A table is a TOML file with a date and a source, and users
//! can supply their own.

use super::amount::{Length, Money, Power, Price};
use serde::Deserialize;
use slotline_net::units::Rate;
use slotline_scenario::ScenarioError;
use slotline_scenario::document::Document;
use std::path::Path;

/// Parts and prices of one time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Parts {
    /// The name of the table.
    pub name: String,
    /// The date of its prices.
    pub date: String,
    /// The source of its figures.
    pub source: String,
    /// The hall and its racks.
    pub floor: FloorSpec,
    /// Switches.
    #[serde(rename = "switch")]
    pub switches: Vec<Switch>,
    /// Cables, each including the parts at both ends.
    #[serde(rename = "cable")]
    pub cables: Vec<Cable>,
}

/// The hall and its racks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FloorSpec {
    /// Hosts in a rack that also has room for its switches.
    pub hosts_per_rack: u64,
    /// Rack units of a rack for switches alone.
    pub rack_units: u64,
    /// Distance from one rack to the next one in its row.
    pub rack_width: Length,
    /// Distance from one row to the next: a rack and its share of the aisles.
    pub row_depth: Length,
    /// Length of cable between a port and the tray above the rack, and of a cable within a rack.
    pub riser: Length,
}

/// A switch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Switch {
    /// Its name.
    pub name: String,
    /// Number of ports of `rate`.
    pub ports: u64,
    /// Rate of these ports.
    pub rate: Rate,
    /// Number of further ports, of `uplink-rate`.
    #[serde(default)]
    pub uplinks: u64,
    /// Rate of the uplinks.
    pub uplink_rate: Option<Rate>,
    /// Rack units.
    pub units: u64,
    /// Its price.
    pub price: Option<Price>,
    /// Its power consumption.
    pub power: Option<Power>,
    /// Its heat; without it, its power.
    pub heat: Option<Power>,
    /// The source of these figures.
    #[serde(default)]
    pub source: String,
    /// The figures that are examples, which users should replace.
    #[serde(default)]
    pub examples: Vec<Figure>,
}

/// A cable including the parts at both ends.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cable {
    /// Its name.
    pub name: String,
    /// Rate of the ports that it joins.
    pub rate: Rate,
    /// Its length. A cable of this class can also be used for shorter distances.
    pub length: Length,
    /// Its price, with transceivers.
    pub price: Option<Price>,
    /// Power of its two ends; 0 if they need no power.
    #[serde(default)]
    pub power: Power,
    /// The source of these figures.
    #[serde(default)]
    pub source: String,
    /// The figures that are examples, which users should replace.
    #[serde(default)]
    pub examples: Vec<Figure>,
}

/// A figure of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Its price.
    Price,
    /// Its power.
    Power,
    /// Its heat.
    Heat,
}

/// The tables that come with the program: name and text.
pub const SHIPPED: [(&str, &str); 3] = [
    ("2008", include_str!("../../../../data/parts/2008.toml")),
    ("2012", include_str!("../../../../data/parts/2012.toml")),
    ("today", include_str!("../../../../data/parts/today.toml")),
];

/// The order in which tables are searched for a rate: those with sources first.
const PREFERRED: [&str; 3] = ["2012", "2008", "today"];

impl Parts {
    /// Reads the table at `path`.
    pub fn load(path: &Path) -> Result<Parts, ScenarioError> {
        let read = std::fs::read_to_string(path);
        let text = read.map_err(|error| ScenarioError::Read { path: path.into(), error })?;
        Parts::parse(path, text)
    }

    /// Reads `text`, the content of the file at `path`.
    pub fn parse(path: &Path, text: String) -> Result<Parts, ScenarioError> {
        let document = Document::new(path, text);
        let parts: Parts =
            toml::from_str(&document.text).map_err(|error| document.plain_fault_of(&error))?;
        match parts.fault() {
            Some((place, message)) => Err(document.fault_at(&place, message)),
            None => Ok(parts),
        }
    }

    /// The table that comes with the program under `name`.
    pub fn shipped(name: &str) -> Option<Parts> {
        let (name, text) = SHIPPED.iter().find(|(known, _)| *known == name)?;
        let path = format!("{name}.toml");
        // The tables are part of the program, and a test reads all of them.
        Some(Parts::parse(Path::new(&path), (*text).into()).expect("a whole table"))
    }

    /// The first table that has switches with ports of `rate`, in the order of preference. If there is none, the first
    /// table; an error then lists its rates.
    pub fn for_rate(rate: Rate) -> Parts {
        let tables = || PREFERRED.iter().filter_map(|name| Parts::shipped(name));
        let found = tables().find(|table| table.switches.iter().any(|part| part.rate == rate));
        found.or_else(|| tables().next()).expect("tables come with the program")
    }

    /// The currency of its prices; empty without any.
    pub fn currency(&self) -> &str {
        self.prices().next().map_or("", |(_, price)| &price.currency)
    }

    /// The cheapest cable for `rate` that is at least as long as `length`.
    pub fn cable(&self, rate: Rate, length: Length) -> Option<usize> {
        let fits = |at: &usize| {
            let cable = &self.cables[*at];
            cable.rate == rate && cable.length >= length
        };
        let worth = |at: &usize| (money(&self.cables[*at].price), self.cables[*at].length);
        (0..self.cables.len()).filter(fits).min_by_key(worth)
    }

    /// The longest cable for `rate`.
    pub fn longest(&self, rate: Rate) -> Option<Length> {
        let own = self.cables.iter().filter(|cable| cable.rate == rate);
        own.map(|cable| cable.length).max()
    }

    /// All prices with their keys.
    fn prices(&self) -> impl Iterator<Item = (String, &Price)> {
        let switches = self.switches.iter().map(|part| &part.price).enumerate();
        let cables = self.cables.iter().map(|part| &part.price).enumerate();
        let switches = switches.map(|(at, price)| (format!("switch[{at}].price"), price));
        let cables = cables.map(|(at, price)| (format!("cable[{at}].price"), price));
        switches.chain(cables).filter_map(|(key, price)| Some((key, price.as_ref()?)))
    }

    /// The first invalid value, with its key.
    fn fault(&self) -> Option<(String, String)> {
        let switches = self.switches.iter().enumerate();
        let cables = self.cables.iter().enumerate();
        let twice = |at: usize| {
            let name = &self.switches[at].name;
            let twice = self.switches[..at].iter().any(|other| other.name == *name);
            twice.then(|| ("name", format!("two switches have the name `{name}`")))
        };
        let of_switch = |(at, part): (usize, &Switch)| {
            let (key, message) = part.fault(&self.floor).or_else(|| twice(at))?;
            Some((format!("switch[{at}].{key}"), message))
        };
        let of_cable = |(at, cable): (usize, &Cable)| {
            let (key, message) = cable.fault()?;
            Some((format!("cable[{at}].{key}"), message))
        };
        let of_floor = || {
            let (key, message) = self.floor.fault()?;
            Some((format!("floor.{key}"), message))
        };
        let found = switches.filter_map(of_switch).next();
        found.or_else(|| cables.filter_map(of_cable).next()).or_else(of_floor).or_else(|| {
            let (key, price) = self.prices().find(|(_, p)| p.currency != self.currency())?;
            let (own, first) = (&price.currency, self.currency());
            Some((key, format!("the price is in {own}, those before it are in {first}")))
        })
    }
}

/// The largest number of ports of a switch. All divisions of its ports are tried.
const MOST_PORTS: u64 = 4_096;
/// The largest number of uplinks.
const MOST_UPLINKS: u64 = 1_024;
/// The largest size of a rack, a row or a riser.
const FAR: Length = Length(100_000);

impl FloorSpec {
    fn fault(&self) -> Option<(&'static str, String)> {
        let none = |key, what: &str| Some((key, format!("{what} must be larger than zero")));
        match self {
            FloorSpec { hosts_per_rack: 0, .. } => none("hosts-per-rack", "hosts of a rack"),
            FloorSpec { rack_units: 0, .. } => none("rack-units", "units of a rack"),
            FloorSpec { rack_width: Length(0), .. } => none("rack-width", "the width"),
            FloorSpec { row_depth: Length(0), .. } => none("row-depth", "the depth"),
            _ => [
                ("rack-width", self.rack_width),
                ("row-depth", self.row_depth),
                ("riser", self.riser),
            ]
            .into_iter()
            .find(|(_, length)| *length > FAR)
            .map(|(key, length)| (key, format!("{length}; expected at most {FAR}"))),
        }
    }
}

impl Switch {
    fn fault(&self, floor: &FloorSpec) -> Option<(&'static str, String)> {
        if !(2..=MOST_PORTS).contains(&self.ports) {
            return Some(("ports", format!("{} ports; expected 2 to {MOST_PORTS}", self.ports)));
        }
        if self.uplinks > MOST_UPLINKS {
            let message = format!("{} uplinks; expected at most {MOST_UPLINKS}", self.uplinks);
            return Some(("uplinks", message));
        }
        if self.rate == Rate(0) || self.uplink_rate == Some(Rate(0)) {
            return Some(("rate", "a port needs a rate above zero".into()));
        }
        if (self.uplinks > 0) != self.uplink_rate.is_some() {
            let message = "`uplinks` and `uplink-rate` need each other";
            return Some(("name", message.into()));
        }
        let room = floor.rack_units;
        let fits = (1..=room).contains(&self.units);
        (!fits).then(|| ("units", format!("{} rack units; a rack has 1 to {room}", self.units)))
    }
    /// The number of all its ports.
    pub fn all_ports(&self) -> u64 {
        self.ports + self.uplinks
    }
    /// Its heat.
    pub fn given_off(&self) -> Option<Power> {
        self.heat.or(self.power)
    }
}

impl Cable {
    fn fault(&self) -> Option<(&'static str, String)> {
        match self {
            Cable { rate: Rate(0), .. } => Some(("rate", "a rate above zero is needed".into())),
            Cable { length: Length(0), .. } => Some(("length", "a length is needed".into())),
            _ => None,
        }
    }
}

/// The amount of `price` for comparisons. A missing price is larger than any other.
pub fn money(price: &Option<Price>) -> Money {
    price.as_ref().map_or(Money(u128::from(u64::MAX)), |price| price.money)
}
