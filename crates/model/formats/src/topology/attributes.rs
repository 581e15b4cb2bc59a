//! Attributes of nodes and links in graph files: which are read, and in what unit.

use super::draft::{Role, Speed};
use super::fail;
use crate::error::FormatError;
use crate::tree::short;
use slotline_net::time::Time;
use slotline_net::units::Rate;
use std::collections::BTreeSet;

/// How a file gives the rate of a link, for messages.
pub(super) const HOW_RATE: &str =
    "; the file can say it as the attribute `rate` = \"10Gbps\", or in numbers as `rate_gbps` = 10";
/// How a file gives the delay of a link, for messages.
pub(super) const HOW_DELAY: &str =
    "; the file can say it as the attribute `delay` = \"1us\", or in numbers as `delay_us` = 1";

/// An attribute of a node or a link.
pub(super) struct Attribute {
    pub name: String,
    pub value: String,
    pub line: usize,
}

const RATES: [&str; 3] = ["rate", "bandwidth", "capacity"];
const RATE_UNITS: [(&str, f64); 5] =
    [("_bps", 1.0), ("_kbps", 1e3), ("_mbps", 1e6), ("_gbps", 1e9), ("_tbps", 1e12)];
/// The rate in the files of Topology Zoo, in bit/s.
const ZOO_RATE: &str = "LinkSpeedRaw";
const DELAYS: [&str; 2] = ["delay", "latency"];
const DELAY_UNITS: [(&str, f64); 5] =
    [("_s", 1e12), ("_ms", 1e9), ("_us", 1e6), ("_ns", 1e3), ("_ps", 1.0)];

/// The form in which an attribute gives a quantity.
enum Unit {
    /// As text with a unit.
    Text,
    /// As a number, whose unit is this many base units.
    Number(f64),
}

/// The form that `name` implies if it is one of `names`, alone or followed by a unit.
fn unit(name: &str, names: &[&str], units: &[(&str, f64)]) -> Option<Unit> {
    if names.contains(&name) {
        return Some(Unit::Text);
    }
    let fits = |ending| name.strip_suffix(ending).is_some_and(|stem| names.contains(&stem));
    units.iter().find(|(ending, _)| fits(*ending)).map(|(_, scale)| Unit::Number(*scale))
}

/// The rate and the delay of a link. Other attributes are added to `unread`.
pub(super) fn speed(
    attributes: &[Attribute],
    unread: &mut BTreeSet<String>,
) -> Result<Speed, FormatError> {
    let (mut rate, mut delay) = (None, None);
    for attribute in attributes {
        let zoo = (attribute.name == ZOO_RATE).then_some(Unit::Number(1.0));
        if let Some(unit) = zoo.or_else(|| unit(&attribute.name, &RATES, &RATE_UNITS)) {
            let value = match unit {
                Unit::Text => attribute.parse::<Rate>("rate_gbps")?,
                Unit::Number(scale) => Rate(attribute.scaled(scale)?),
            };
            once(&mut rate, attribute, value)?;
        } else if let Some(unit) = unit(&attribute.name, &DELAYS, &DELAY_UNITS) {
            let value = match unit {
                Unit::Text => attribute.parse::<Time>("delay_us")?,
                Unit::Number(scale) => Time::ps(attribute.scaled(scale)?),
            };
            once(&mut delay, attribute, value)?;
        } else {
            unread.insert(format!("attribute `{}` of links", short(&attribute.name)));
        }
    }
    Ok(Speed { rate: rate.map(|(rate, _)| rate), delay: delay.map(|(delay, _)| delay) })
}

/// Sets `first` to `value`, unless another attribute has already given one.
fn once<'a, T>(
    first: &mut Option<(T, &'a str)>,
    attribute: &'a Attribute,
    value: T,
) -> Result<(), FormatError> {
    if let Some((_, other)) = first {
        let both = format!("`{other}` and `{}` say the same: leave one out", attribute.name);
        return fail(attribute.line, both);
    }
    *first = Some((value, &attribute.name));
    Ok(())
}

impl Attribute {
    fn parse<T: std::str::FromStr<Err: std::fmt::Display>>(
        &self,
        with_unit: &str,
    ) -> Result<T, FormatError> {
        self.value.parse().map_err(|error: T::Err| {
            let message = format!(
                "`{}`: {error}; a number alone needs its unit in the attribute's name, such as `{with_unit}`",
                self.name
            );
            FormatError::new(self.line, message)
        })
    }

    /// The value, a number, times `scale`.
    fn scaled(&self, scale: f64) -> Result<u64, FormatError> {
        let number: f64 = self.value.trim().parse().unwrap_or(f64::NAN);
        let value = (number * scale).round();
        if (0.0..1e19).contains(&value) {
            return Ok(value as u64);
        }
        let (name, value) = (&self.name, short(&self.value));
        fail(self.line, format!("`{name}` = `{value}` must be a number, at least 0"))
    }
}

/// The role of a node by its attribute `role`, or else `type`. Other attributes are added to `unread`.
pub(super) fn role(
    attributes: &[Attribute],
    unread: &mut BTreeSet<String>,
) -> Result<Role, FormatError> {
    let find = |name: &str| attributes.iter().find(|attribute| attribute.name == name);
    for attribute in attributes.iter().filter(|a| a.name != "role" && a.name != "type") {
        unread.insert(format!("attribute `{}` of nodes", short(&attribute.name)));
    }
    let role_of = |attribute: &Attribute| match attribute.value.as_str() {
        "host" => Ok(Role::Host),
        "switch" => Ok(Role::Switch),
        other => Err(format!("`{}` = `{}`", attribute.name, short(other))),
    };
    match (find("role"), find("type")) {
        (Some(role), _) => role_of(role).map_err(|what| {
            FormatError::new(role.line, format!("{what} must be \"host\" or \"switch\""))
        }),
        (None, Some(kind)) => Ok(role_of(kind).unwrap_or_else(|what| {
            Role::Unknown(format!("has {what}, which is neither host nor switch"))
        })),
        (None, None) => Ok(Role::Unknown("has neither `role` nor `type`".into())),
    }
}

/// The value of the attribute that names nodes.
pub(super) fn named_by(
    attributes: &[Attribute],
    names: &str,
    id: &str,
    line: usize,
) -> Result<String, FormatError> {
    let found = attributes.iter().find(|attribute| attribute.name == names);
    found.map(|attribute| attribute.value.clone()).ok_or_else(|| {
        let message =
            format!("node `{}` has no attribute `{names}`, which `names` selects", short(id));
        FormatError::new(line, message)
    })
}
