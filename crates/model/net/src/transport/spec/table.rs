//! The form of a transport in a scenario file: only a name, or a table.

use super::{AlgorithmKind, LossRecovery, Standard, Table, TransportSpec};
use crate::keys::KEYS;
use crate::time::Time;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// Makes the settings of a transport and their form in a file, from a list of keys with their types and
/// their defaults, which may depend on the kind.
macro_rules! keys {
    (|$kind:ident| $($(#[$meta:meta])* $key:ident: $type:ty = $default:expr,)*) => {
        /// A TCP-like transport.
        #[derive(Clone, PartialEq, Debug, schemars::JsonSchema)]
        #[schemars(rename_all = "kebab-case", deny_unknown_fields)]
        #[schemars(transform = by_kind, transform = defaults, transform = or_name)]
        pub struct TransportSpec {
            /// Congestion control.
            pub kind: AlgorithmKind,
            $($(#[$meta])* pub $key: $type,)*
        }

        impl TransportSpec {
            /// The defaults of `kind`.
            pub fn of($kind: AlgorithmKind) -> TransportSpec {
                TransportSpec { kind: $kind, $($key: $default,)* }
            }
        }

        /// The keys of a table in a file.
        #[derive(Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        struct Table {
            kind: AlgorithmKind,
            $(#[serde(skip_serializing_if = "Option::is_none")] $key: Option<$type>,)*
        }

        impl Table {
            /// The table of `spec` with the keys that `written` chooses.
            fn of(spec: &TransportSpec, written: impl Fn(&str) -> bool) -> Table {
                let chosen = |key: &str| written(&key.replace('_', "-"));
                Table {
                    kind: spec.kind,
                    $($key: chosen(stringify!($key)).then(|| spec.$key.clone()),)*
                }
            }
            /// The settings. Missing keys have their defaults.
            fn spec(self) -> TransportSpec {
                let base = TransportSpec::of(self.kind);
                TransportSpec { kind: self.kind, $($key: self.$key.unwrap_or(base.$key),)* }
            }
            /// The keys that the table has, besides `kind`.
            fn given(&self) -> impl Iterator<Item = String> {
                let keys = [$((stringify!($key), self.$key.is_some()),)*];
                let given = keys.into_iter().filter(|(_, given)| *given);
                given.map(|(key, _)| key.replace('_', "-"))
            }
        }
    };
}

/// Either a name or a table. This is not `serde(untagged)`, which would hide the key with the error.
struct NameOrTable;

impl<'de> Visitor<'de> for NameOrTable {
    type Value = TransportSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a transport: ")?;
        AlgorithmKind::ALL.iter().try_for_each(|kind| write!(f, "\"{}\", ", kind.name()))?;
        f.write_str("or a table with that `kind`")
    }
    fn visit_str<E: Error>(self, name: &str) -> Result<TransportSpec, E> {
        AlgorithmKind::deserialize(name.into_deserializer()).map(TransportSpec::of)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<TransportSpec, A::Error> {
        let table = Table::deserialize(MapAccessDeserializer::new(map))?;
        table.refuse_foreign_keys().map_err(A::Error::custom)?;
        Ok(table.spec())
    }
}

impl Serialize for TransportSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Table::of(self, |key| written(self, key)).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TransportSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TransportSpec, D::Error> {
        deserializer.deserialize_any(NameOrTable)
    }
}

impl Table {
    /// Refuses keys that have no effect for the kind, or without another key.
    fn refuse_foreign_keys(&self) -> Result<(), String> {
        let foreign = self.given().find(|key| !knows(self.kind, key));
        if let Some(key) = foreign {
            let name = self.kind.name();
            return Err(if self.kind.needs().constant_window {
                format!("`{key}` has no meaning for `{name}`, whose window is always `max-window`")
            } else {
                format!("`{key}` has no meaning for `{name}`: leave it out")
            });
        }
        let update = self.update_interval.is_some_and(|interval| interval > Time::ZERO);
        if update && self.standard != Some(Standard::Rfc8312) {
            return Err("`update-interval` needs standard = \"rfc8312\"".into());
        }
        let ecn = self.ecn.unwrap_or(self.kind.needs().marks);
        if self.ecn_response.is_some() && !ecn {
            return Err("`ecn-response` needs ecn = true".into());
        }
        let rack = self.loss_recovery == Some(LossRecovery::Rack);
        match self.given().find(|key| NEED_RACK.contains(&key.as_str())) {
            Some(key) if !rack => Err(format!("`{key}` needs loss-recovery = \"rack\"")),
            _ => Ok(()),
        }
    }
}

/// The keys that have no effect where losses are detected by duplicate acknowledgements.
const NEED_RACK: [&str; 2] = ["tail-loss-probe", "timer-slack"];

/// Whether `key` has an effect for `kind`.
fn knows(kind: AlgorithmKind, key: &str) -> bool {
    let mut kinds = KEYS.transport.iter();
    kinds.any(|(name, known)| name == kind.name() && known.contains(key))
}

/// Whether `key` is written: it has an effect for this kind and these settings.
fn written(spec: &TransportSpec, key: &str) -> bool {
    knows(spec.kind, key)
        && match key {
            "quick-acks" => spec.quick_acks,
            "standard" => spec.standard != Standard::default(),
            "update-interval" => spec.standard == Standard::Rfc8312,
            "shaper" => spec.shaper.is_some(),
            "processing" => spec.processing.is_some(),
            "ecn-response" => spec.ecn,
            "options" => !spec.options.is_empty(),
            "loss-recovery" | "tail-loss-probe" | "timer-slack" => {
                spec.loss_recovery == LossRecovery::Rack
            }
            _ => true,
        }
}
