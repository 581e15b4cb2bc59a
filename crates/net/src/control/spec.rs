//! Which central scheduler a scheme has, as plain data.

use super::xco::spec::XcoSpec;
use serde::{Deserialize, Serialize};

/// A central scheduler and its options.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ControlSpec {
    /// Hosts send when they like.
    None {},
    /// XCo (Rajanna et al., 2010): timeslices or rates for pairs of hosts.
    Xco(XcoSpec),
}

impl Default for ControlSpec {
    fn default() -> ControlSpec {
        ControlSpec::None {}
    }
}

/// Every kind of [`ControlSpec`] with one line about it.
pub const CONTROLS: &[(&str, &str)] = &[
    ("none", "no central scheduler: hosts send when they like"),
    (
        "xco",
        "XCo: a controller gives pairs of hosts timeslices (or rates) on congested links",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Scheme {
        control: ControlSpec,
    }
    fn read(text: &str) -> Result<ControlSpec, toml::de::Error> {
        toml::from_str::<Scheme>(&format!("[control]\n{text}")).map(|scheme| scheme.control)
    }

    #[test]
    fn options_are_read_and_written() {
        assert_eq!(read("kind = 'none'"), Ok(ControlSpec::None {}));
        assert_eq!(
            read("kind = 'xco'"),
            Ok(ControlSpec::Xco(XcoSpec::default()))
        );
        let spec = read("kind = 'xco'\nmode = 'rate-limit'\nslice = '2ms'\nsmall-flow = '1KB'");
        let expected = XcoSpec {
            mode: crate::control::xco::spec::Mode::RateLimit,
            slice: Time::ms(2),
            small_flow: crate::units::Bytes(1_000),
            ..XcoSpec::default()
        };
        assert_eq!(spec, Ok(ControlSpec::Xco(expected.clone())));
        let control = ControlSpec::Xco(expected.build().unwrap().spec().clone());
        let text = toml::to_string(&Scheme {
            control: control.clone(),
        })
        .unwrap();
        assert_eq!(toml::from_str(&text), Ok(Scheme { control }), "{text}");
    }

    #[test]
    fn what_is_unknown_is_refused() {
        for text in [
            "kind = 'none'\nslice = '2ms'",
            "kind = 'xco'\nslise = '2ms'",
        ] {
            assert!(
                read(text)
                    .unwrap_err()
                    .to_string()
                    .contains("unknown field"),
                "{text}"
            );
        }
        let error = read("kind = 'xcp'").unwrap_err().to_string();
        assert!(
            CONTROLS.iter().all(|(kind, _)| error.contains(kind)),
            "{error}"
        );
    }
}
