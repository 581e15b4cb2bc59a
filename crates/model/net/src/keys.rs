//! The keys of each kind of queue policy and of transport. A file has them, because making them from the types takes longer
//! than a short run.

use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The names of the kinds, in order, each with its keys.
pub(crate) type Kinds = Vec<(String, BTreeSet<String>)>;

/// The kinds of tables.
#[derive(Deserialize)]
#[cfg_attr(test, derive(serde::Serialize, PartialEq))]
pub(crate) struct Keys {
    /// Queue policies.
    pub policy: Kinds,
    /// Transports.
    pub transport: Kinds,
}

/// The kinds of all tables.
pub(crate) static KEYS: LazyLock<Keys> =
    LazyLock::new(|| serde_json::from_str(include_str!("keys.json")).expect("a test wrote it"));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::spec::Policy;
    use crate::schema::{root, variants};
    use crate::transport::TransportSpec;
    use schemars::JsonSchema;
    use std::path::Path;

    fn kinds<T: JsonSchema>() -> Kinds {
        let keys = |table: &serde_json::Value| {
            let known = table["properties"].as_object().into_iter().flatten();
            known.filter(|(_, schema)| !schema.is_null()).map(|(key, _)| key.clone()).collect()
        };
        let schema = root::<T>();
        variants(schema.as_value()).into_iter().map(|(name, table)| (name, keys(table))).collect()
    }

    /// `SLOTLINE_WRITE_SCHEMA=1` writes the file.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "it writes a source file, when it is told to")]
    fn the_file_has_the_keys_of_the_types() {
        let made = Keys { policy: kinds::<Policy>(), transport: kinds::<TransportSpec>() };
        if std::env::var_os("SLOTLINE_WRITE_SCHEMA").is_some() {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/keys.json");
            let text = serde_json::to_string(&made).expect("plain data") + "\n";
            std::fs::write(file, text).expect("the source folder can be written");
            return;
        }
        let how = "SLOTLINE_WRITE_SCHEMA=1 cargo test -p slotline-net the_file_has_the_keys";
        assert!(*KEYS == made, "src/keys.json is not of these types; {how}");
    }
}
