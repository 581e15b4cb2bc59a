//! The columns of a log of flows, as a scenario names them.

use super::moment::MomentUnit;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The names of columns in a log of flows. Those that are not given are recognized by their usual names.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LogColumns {
    /// The address of the sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src: Option<String>,
    /// The address of the receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dst: Option<String>,
    /// Bytes that the sender sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    /// Bytes that the receiver sent back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_back: Option<String>,
    /// Packets that the sender sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<String>,
    /// Packets that the receiver sent back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets_back: Option<String>,
    /// The protocol above IP, as its name or number. Only TCP and UDP are used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// When the flow began: a date with time, or a number since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// The unit of `start`. Default: the one in the name of the column, or else seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_unit: Option<MomentUnit>,
}

impl LogColumns {
    /// The columns that have a name, with their keys.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("src", &self.src),
            ("dst", &self.dst),
            ("bytes", &self.bytes),
            ("bytes-back", &self.bytes_back),
            ("packets", &self.packets),
            ("packets-back", &self.packets_back),
            ("protocol", &self.protocol),
            ("start", &self.start),
        ];
        all.into_iter().filter_map(|(key, name)| Some((key, name.as_deref()?)))
    }
}

/// `src SrcAddr, start-unit ms`
impl fmt::Display for LogColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.named().map(|(key, name)| format!("{key} {name}"));
        let unit = self.start_unit.map(|unit| format!("start-unit {}", unit.name()));
        write!(f, "{}", names.chain(unit).collect::<Vec<_>>().join(", "))
    }
}
