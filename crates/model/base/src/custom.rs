//! Parts of a scenario that the calling program supplies: those of `kind = "custom"`.
//!
//! A scenario names such a part and gives it options. The loader looks the name up among the parts of the calling
//! program and puts the part beside the name. The code of this project then calls the part through one pointer.

use crate::error::SpecError;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The name of a part, and the part itself once the calling program has supplied it. A scenario file contains only the
/// name. Two values are equal if their names are equal.
pub struct Named<T: ?Sized> {
    name: String,
    part: Option<Arc<T>>,
}

impl<T: ?Sized> Named<T> {
    /// The name, as written in the scenario.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Puts the part beside its name.
    pub fn supply(&mut self, part: Arc<T>) {
        self.part = Some(part);
    }
    /// The part.
    ///
    /// # Errors
    /// The calling program has not supplied it.
    pub fn part(&self) -> Result<&Arc<T>, SpecError> {
        self.part.as_ref().ok_or_else(|| {
            let name = &self.name;
            SpecError::new(
                "name",
                format!("`name` = \"{name}\": no program has supplied this part"),
            )
        })
    }
}

impl<T: ?Sized> Clone for Named<T> {
    fn clone(&self) -> Named<T> {
        Named { name: self.name.clone(), part: self.part.clone() }
    }
}

impl<T: ?Sized> PartialEq for Named<T> {
    fn eq(&self, other: &Named<T>) -> bool {
        self.name == other.name
    }
}

impl<T: ?Sized> fmt::Debug for Named<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Named({:?})", self.name)
    }
}

impl<T: ?Sized> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name)
    }
}

impl<'de, T: ?Sized> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Named<T>, D::Error> {
        String::deserialize(deserializer).map(|name| Named { name, part: None })
    }
}

impl<T: ?Sized> JsonSchema for Named<T> {
    fn schema_name() -> Cow<'static, str> {
        "name".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// The options of a part, from the table `options` of the scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Options(Map<String, Value>);

impl Options {
    /// Whether the scenario gives no options.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The options as a value of the part's own type.
    ///
    /// # Errors
    /// The options do not have the form of this type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, SpecError> {
        serde_json::from_value(Value::Object(self.0.clone()))
            .map_err(|error| SpecError::new("options", format!("`options`: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Table {
        name: Named<dyn Fn(u32) -> u32 + Send + Sync>,
        options: Options,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Own {
        slice: Time,
    }

    #[test]
    fn a_part_is_a_name_until_it_is_supplied() {
        let text = "name = \"double\"\n\n[options]\nslice = \"2us\"\n";
        let mut table: Table = toml::from_str(text).expect("a table");
        assert_eq!(toml::to_string(&table).expect("plain data"), text);
        assert!(table.name.part().err().is_some_and(|e| e.message.contains("\"double\"")));
        table.name.supply(Arc::new(|n| 2 * n));
        assert_eq!(table.name.part().map(|double| double(4)), Ok(8));
        assert_eq!(table.options.read::<Own>(), Ok(Own { slice: Time::us(2) }));
        let wrong: Table = toml::from_str(&text.replace("slice", "slise")).expect("a table");
        assert!(wrong.options.read::<Own>().is_err_and(|e| e.message.contains("slise")));
    }
}
