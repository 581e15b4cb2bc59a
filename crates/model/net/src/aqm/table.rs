//! The form that a [`QueueSpec`] has in a scenario file: a name, or a table whose keys depend on `kind`.

use super::spec::{PfcSpec, Policy, QueueSpec, SharedSpec};
use crate::keys::KEYS;
use crate::schema::or_name;
use crate::units::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Error as _, SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// The queues of the switches. Settings of other kinds of queue are refused, not ignored.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
struct Common {
    /// The size of the queue of a port, in bytes that are not yet sent. With a `shared` buffer the default is the whole
    /// buffer.
    #[schemars(extend("default" = QueueSpec::default().limit))]
    limit: Option<Bytes>,
    /// Eight classes with strict priority, 7 first, instead of one FIFO.
    #[serde(default)]
    priorities: bool,
    /// One buffer for all ports, under dynamic thresholds, instead of one for each.
    ///
    /// Source: Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet
    /// Switches", IEEE/ACM Transactions on Networking 6(2), 1998.
    shared: Option<SharedSpec>,
    /// Priority flow control: pause the sender instead of dropping; needs `priorities`.
    ///
    /// Source: IEEE 802.1Qbb.
    pfc: Option<PfcSpec>,
}

const COMMON: [&str; 4] = ["limit", "priorities", "shared", "pfc"];

/// The schema of the keys that all kinds have is merged into that of each kind.
impl JsonSchema for QueueSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "queue".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Policy::json_schema(generator);
        let common = Common::json_schema(generator);
        let tables = schema.get_mut("oneOf").and_then(Value::as_array_mut);
        for table in tables.into_iter().flatten() {
            let own = table["properties"].as_object_mut().into_iter();
            let shared = common.get("properties").and_then(Value::as_object).into_iter().flatten();
            own.for_each(|own| {
                own.extend(shared.clone().map(|(key, it)| (key.clone(), it.clone())))
            });
            if table["properties"]["kind"]["const"] == DEFAULT_KIND {
                table["required"] = Value::Array(Vec::new());
            }
        }
        schema.insert("description".into(), common.get("description").cloned().into());
        or_name(&mut schema);
        schema
    }
}

const DEFAULT_KIND: &str = "drop-tail";

impl Serialize for QueueSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let own = serde_json::to_value(&self.policy).map_err(S::Error::custom)?;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", &own["kind"])?;
        map.serialize_entry("limit", &self.limit)?;
        let settings = own.as_object().into_iter().flatten().filter(|(key, _)| *key != "kind");
        settings.into_iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
        map.serialize_entry("priorities", &self.priorities)?;
        self.shared.iter().try_for_each(|shared| map.serialize_entry("shared", shared))?;
        self.pfc.iter().try_for_each(|pfc| map.serialize_entry("pfc", pfc))?;
        map.end()
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
        f.write_str("a queue: ")?;
        KEYS.policy.iter().try_for_each(|(name, _)| write!(f, "\"{name}\", "))?;
        f.write_str("or a table with that `kind`")
    }
    fn visit_str<E: Error>(self, name: &str) -> Result<QueueSpec, E> {
        read(Map::from_iter([("kind".to_string(), name.into())])).map_err(E::custom)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<QueueSpec, A::Error> {
        let table = Map::deserialize(MapAccessDeserializer::new(map))?;
        read(table).map_err(A::Error::custom)
    }
}

fn read(mut table: Map<String, Value>) -> Result<QueueSpec, String> {
    let common = COMMON.iter().filter_map(|&key| Some((key.to_string(), table.remove(key)?)));
    let common: Map<String, Value> = common.collect();
    let Common { limit, priorities, shared, pfc } =
        serde_json::from_value(common.into()).map_err(|error| error.to_string())?;
    let kind = table.entry("kind").or_insert_with(|| DEFAULT_KIND.into()).clone();
    let policy = Policy::deserialize(&Value::Object(table.clone()))
        .map_err(|error| foreign_key(&kind, &table).unwrap_or_else(|| error.to_string()))?;
    let whole = shared.map_or(QueueSpec::default().limit, |shared: SharedSpec| shared.total);
    Ok(QueueSpec { policy, limit: limit.unwrap_or(whole), shared, priorities, pfc })
}

/// The error of a table that has a key of another kind than its own; `None` if it has none.
fn foreign_key(kind: &Value, table: &Map<String, Value>) -> Option<String> {
    let (_, own) = KEYS.policy.iter().find(|(name, _)| kind == name)?;
    table.keys().filter(|key| !own.contains(*key)).find_map(|key| {
        let others = KEYS.policy.iter().filter(|(_, other)| other.contains(key));
        let names: Vec<String> = others.map(|(name, _)| format!("\"{name}\"")).collect();
        let belongs = format!("`{key}` belongs to queues of kind {} only", names.join(", "));
        (!names.is_empty()).then_some(belongs)
    })
}
