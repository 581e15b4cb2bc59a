//! Selections of hosts, in the text form of scenario files.

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};
use slotline_base::error::SpecError;
use slotline_base::id::HostId;
use slotline_base::rng::Stream;
use std::fmt;
use std::str::FromStr;

/// A selection of hosts, by index. Hosts that already have another role (such as the receiver of an incast) are
/// left out of all forms except the explicit list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Hosts {
    /// `"all"`.
    #[default]
    All,
    /// `16`: the 16 with the lowest indices.
    Count(u32),
    /// `"16 random"`: 16 drawn at random, in random order.
    Random(u32),
    /// `"0-15,20"`: these ranges, both ends included, in the order written.
    List(Vec<(u32, u32)>),
}

const FORMS: &str = "\"all\", a number of hosts, \"16 random\", or a list like \"0-15,20\"";

impl FromStr for Hosts {
    type Err = String;
    fn from_str(text: &str) -> Result<Hosts, String> {
        let fail = || format!("`{text}` selects no hosts: expected {FORMS}");
        if text.trim() == "all" {
            return Ok(Hosts::All);
        }
        if let Some(count) = text.trim().strip_suffix("random") {
            return count.trim().parse().map(Hosts::Random).map_err(|_| fail());
        }
        let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
        ranges.map(Hosts::List).ok_or_else(fail)
    }
}

fn range(text: &str) -> Option<(u32, u32)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let ends: (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (ends.0 <= ends.1).then_some(ends)
}

impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |&(a, b): &(u32, u32)| {
            if a == b { a.to_string() } else { format!("{a}-{b}") }
        };
        match self {
            Hosts::All => f.write_str("all"),
            Hosts::Count(n) => write!(f, "{n}"),
            Hosts::Random(n) => write!(f, "{n} random"),
            Hosts::List(ranges) => {
                f.write_str(&ranges.iter().map(show).collect::<Vec<_>>().join(","))
            }
        }
    }
}

impl schemars::JsonSchema for Hosts {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "hosts".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let range = r"\s*[0-9]+\s*(-\s*[0-9]+\s*)?";
        schemars::json_schema!({
            "description": format!("Which hosts: {FORMS}."),
            "examples": ["all", 16, "16 random", "0-15,20"],
            "x-type": "hosts",
            "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": u32::MAX },
                {
                    "type": "string",
                    "pattern": format!(r"^(\s*all\s*|\s*[0-9]+\s*random\s*|{range}(,{range})*)$"),
                },
            ],
        })
    }
}

impl Serialize for Hosts {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Hosts::Count(n) => to.serialize_u32(*n),
            other => to.collect_str(other),
        }
    }
}

impl<'de> Deserialize<'de> for Hosts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Hosts, D::Error> {
        struct Form;
        impl Visitor<'_> for Form {
            type Value = Hosts;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(FORMS)
            }
            fn visit_u64<E: Error>(self, n: u64) -> Result<Hosts, E> {
                u32::try_from(n).map(Hosts::Count).map_err(E::custom)
            }
            fn visit_i64<E: Error>(self, n: i64) -> Result<Hosts, E> {
                u32::try_from(n).map(Hosts::Count).map_err(E::custom)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Hosts, E> {
                text.parse().map_err(E::custom)
            }
        }
        from.deserialize_any(Form)
    }
}

impl Hosts {
    /// The selected hosts, at least one, from a fabric of `hosts` hosts without `taken`. Errors name `key`.
    pub fn select(
        &self,
        key: &str,
        hosts: u32,
        taken: &[HostId],
        rng: &mut Stream,
    ) -> Result<Vec<HostId>, SpecError> {
        if let Hosts::List(ranges) = self {
            return listed(key, ranges, hosts, taken);
        }
        let mut free: Vec<HostId> = (0..hosts).map(HostId).filter(|h| !taken.contains(h)).collect();
        let wanted = match self {
            Hosts::Count(n) | Hosts::Random(n) => *n as usize,
            _ => free.len(),
        };
        if wanted == 0 || wanted > free.len() {
            return Err(SpecError::new(
                key,
                format!("`{key}` = {wanted} hosts: there are {} to choose from", free.len()),
            ));
        }
        if matches!(self, Hosts::Random(_)) {
            rng.shuffle(&mut free);
        }
        free.truncate(wanted);
        Ok(free)
    }
}

fn listed(
    key: &str,
    ranges: &[(u32, u32)],
    hosts: u32,
    taken: &[HostId],
) -> Result<Vec<HostId>, SpecError> {
    let mut seen = vec![false; hosts as usize];
    taken.iter().filter(|host| host.0 < hosts).for_each(|host| seen[host.at()] = true);
    let mut chosen = Vec::new();
    for &(first, last) in ranges {
        if last >= hosts {
            let last_host = hosts.max(1) - 1;
            return Err(SpecError::new(
                key,
                format!("host {last}: the fabric has hosts 0 to {last_host}"),
            ));
        }
        for host in first..=last {
            if std::mem::replace(&mut seen[host as usize], true) {
                return Err(SpecError::new(key, format!("host {host} cannot take part twice")));
            }
            chosen.push(HostId(host));
        }
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pick(text: &str, hosts: u32, taken: &[u32]) -> Result<Vec<u32>, String> {
        let taken: Vec<HostId> = taken.iter().map(|&h| HostId(h)).collect();
        let selected =
            text.parse::<Hosts>()?.select("hosts", hosts, &taken, &mut Stream::named(1, "t", 0));
        selected.map(|hosts| hosts.iter().map(|h| h.0).collect()).map_err(|e| e.to_string())
    }

    #[test]
    fn selections_mean_what_they_say() {
        assert_eq!(pick("all", 4, &[1]), Ok(vec![0, 2, 3]));
        assert_eq!(pick("2-3, 0", 4, &[]), Ok(vec![2, 3, 0]));
        let mut drawn = pick("3 random", 4, &[2]).expect("three are left");
        drawn.sort_unstable();
        assert_eq!(drawn, [0, 1, 3]);
        let first = Hosts::Count(2).select("hosts", 4, &[HostId(0)], &mut Stream::named(1, "t", 0));
        assert_eq!(first, Ok(vec![HostId(1), HostId(2)]));
    }

    #[test]
    fn impossible_selections_say_why() {
        for (text, taken, why) in [
            ("0-4", vec![], "0 to 3"),
            ("0-4294967295", vec![], "0 to 3"),
            ("1,1", vec![], "twice"),
            ("1", vec![1], "twice"),
            ("4 random", vec![0], "3 to choose from"),
            ("0 random", vec![], "4 to choose from"),
            ("3-1", vec![], "expected"),
            ("", vec![], "expected"),
            ("some", vec![], "expected"),
        ] {
            let error = pick(text, 4, &taken).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            if let Ok(hosts) = text.parse::<Hosts>() {
                prop_assert_eq!(hosts.to_string().parse::<Hosts>(), Ok(hosts));
            }
        }
        #[test]
        fn lists_round_trip(ranges in prop::collection::vec((0u32..50, 0u32..50), 1..5)) {
            let ranges = ranges.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
            let hosts = Hosts::List(ranges);
            prop_assert_eq!(hosts.to_string().parse::<Hosts>(), Ok(hosts));
        }
    }
}
