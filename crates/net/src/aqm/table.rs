//! The form a [`QueueSpec`] has in a scenario file: a name, or a table whose keys depend on `kind`.

use super::spec::{PfcSpec, Policy, QueueSpec, RedSpec, SharedSpec, ensure};
use crate::error::SpecError;
use crate::schema::{by_kind, or_name};
use crate::units::Bytes;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;

const DEFAULT_THRESHOLD: Bytes = Bytes(22_500);

/// The queues of the switches. A setting of another kind of queue is refused, not ignored.
#[derive(Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = by_kind, transform = or_name)]
pub(super) struct Table {
    #[serde(default)]
    kind: Kind,
    /// Room of a port: an arriving packet must fit beside what is not yet sent. With a `shared` buffer
    /// all of that, unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = QueueSpec::default().limit))]
    limit: Option<Bytes>,
    /// Packets that find more than this are marked, if they can be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["ecn"], "default" = DEFAULT_THRESHOLD))]
    threshold: Option<Bytes>,
    /// Average backlog from which packets are chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["red"], "default" = RedSpec::default().min))]
    min: Option<Bytes>,
    /// Average backlog where the chance reaches `max-p`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["red"], "default" = RedSpec::default().max))]
    max: Option<Bytes>,
    /// Chance at `max`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    #[schemars(extend("x-only" = ["red"], "default" = RedSpec::default().max_p))]
    max_p: Option<f64>,
    /// Weight of a new value in the average.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    #[schemars(extend("x-only" = ["red"], "default" = RedSpec::default().weight))]
    weight: Option<f64>,
    /// Whether the chance rises to 1 between `max` and twice that, instead of at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["red"], "default" = RedSpec::default().gentle))]
    gentle: Option<bool>,
    /// Whether chosen packets are marked, where they can be, instead of dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only" = ["red"], "default" = RedSpec::default().ecn))]
    ecn: Option<bool>,
    /// Eight classes with strict priority, 7 first, instead of one FIFO.
    #[serde(default)]
    priorities: bool,
    /// One buffer for all ports, under dynamic thresholds, instead of room for each.
    ///
    /// Source: Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet
    /// Switches", IEEE/ACM Transactions on Networking 6(2), 1998.
    #[serde(skip_serializing_if = "Option::is_none")]
    shared: Option<SharedSpec>,
    /// Priority flow control: pause the sender instead of dropping; needs `priorities`.
    ///
    /// Source: IEEE 802.1Qbb.
    #[serde(skip_serializing_if = "Option::is_none")]
    pfc: Option<PfcSpec>,
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// Drops what does not fit.
    #[default]
    DropTail,
    /// Marks ECN-capable packets that find more than a threshold queued.
    ///
    /// Source: RFC 3168 for the mark; RFC 8257 (DCTCP), section 3.1, for the threshold.
    Ecn,
    /// Random early detection on the average backlog, optionally gentle and with ECN.
    ///
    /// Source: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance",
    /// IEEE/ACM Transactions on Networking 1(4), 1993, whose recommendations are the defaults.
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

impl schemars::JsonSchema for QueueSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "queue".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Table::json_schema(generator)
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
