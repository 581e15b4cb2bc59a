//! The form a [`QueueSpec`] has in a scenario file: a name, or a table whose keys depend on `kind`.

use super::spec::{PfcSpec, Policy, QueueSpec, RedSpec, SharedSpec, ensure};
use crate::error::SpecError;
use crate::units::Bytes;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;

const DEFAULT_THRESHOLD: Bytes = Bytes(22_500);

/// The keys. A setting of another kind of queue is refused, not ignored.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Table {
    #[serde(default)]
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threshold: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gentle: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ecn: Option<bool>,
    #[serde(default)]
    priorities: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    shared: Option<SharedSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pfc: Option<PfcSpec>,
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    #[default]
    DropTail,
    Ecn,
    Red,
}

impl Table {
    fn read(self) -> Result<QueueSpec, SpecError> {
        self.refuse_foreign_keys()?;
        let policy = match self.kind {
            Kind::DropTail => Policy::DropTail,
            Kind::Ecn => Policy::Ecn { threshold: self.threshold.unwrap_or(DEFAULT_THRESHOLD) },
            Kind::Red => Policy::Red(self.red()),
        };
        let whole = self.shared.map_or(QueueSpec::default().limit, |shared| shared.total);
        let limit = self.limit.unwrap_or(whole);
        let Table { shared, priorities, pfc, .. } = self;
        Ok(QueueSpec { policy, limit, shared, priorities, pfc })
    }

    fn red(&self) -> RedSpec {
        let usual = RedSpec::default();
        RedSpec {
            min: self.min.unwrap_or(usual.min),
            max: self.max.unwrap_or(usual.max),
            max_p: self.max_p.unwrap_or(usual.max_p),
            weight: self.weight.unwrap_or(usual.weight),
            gentle: self.gentle.unwrap_or(usual.gentle),
            ecn: self.ecn.unwrap_or(usual.ecn),
        }
    }

    fn refuse_foreign_keys(&self) -> Result<(), SpecError> {
        let keys = [
            ("threshold", self.threshold.is_some(), Kind::Ecn, "ecn"),
            ("min", self.min.is_some(), Kind::Red, "red"),
            ("max", self.max.is_some(), Kind::Red, "red"),
            ("max-p", self.max_p.is_some(), Kind::Red, "red"),
            ("weight", self.weight.is_some(), Kind::Red, "red"),
            ("gentle", self.gentle.is_some(), Kind::Red, "red"),
            ("ecn", self.ecn.is_some(), Kind::Red, "red"),
        ];
        keys.iter().try_for_each(|&(key, given, kind, name)| {
            ensure(!given || self.kind == kind, key, || {
                format!("`{key}` belongs to queues of kind \"{name}\" only")
            })
        })
    }
}

impl From<QueueSpec> for Table {
    fn from(spec: QueueSpec) -> Table {
        let QueueSpec { policy, limit, shared, priorities, pfc } = spec;
        let common = Table { limit: Some(limit), shared, priorities, pfc, ..Table::default() };
        match policy {
            Policy::DropTail => common,
            Policy::Ecn { threshold } => {
                Table { kind: Kind::Ecn, threshold: Some(threshold), ..common }
            }
            Policy::Red(red) => Table {
                kind: Kind::Red,
                min: Some(red.min),
                max: Some(red.max),
                max_p: Some(red.max_p),
                weight: Some(red.weight),
                gentle: Some(red.gentle),
                ecn: Some(red.ecn),
                ..common
            },
        }
    }
}

impl<'de> Deserialize<'de> for QueueSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<QueueSpec, D::Error> {
        deserializer.deserialize_any(NameOrTable)
    }
}

/// Not `serde(untagged)`: that would hide which key is wrong.
struct NameOrTable;

impl<'de> Visitor<'de> for NameOrTable {
    type Value = QueueSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a queue: \"drop-tail\", \"ecn\", \"red\", or a table with that `kind`")
    }
    fn visit_str<E: Error>(self, name: &str) -> Result<QueueSpec, E> {
        let kind = Kind::deserialize(name.into_deserializer())?;
        Table { kind, ..Table::default() }.read().map_err(E::custom)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<QueueSpec, A::Error> {
        let table = Table::deserialize(MapAccessDeserializer::new(map))?;
        table.read().map_err(A::Error::custom)
    }
}
