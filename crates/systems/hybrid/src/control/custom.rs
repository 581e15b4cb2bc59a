//! Circuit schedulers that the calling program supplies.

use serde::{Deserialize, Serialize};
use slotline_circuits::{CircuitTiming, Planner};
use slotline_net::custom::{Named, Options};

/// Makes a planner for a number of racks.
pub type MakePlanner = dyn Fn(usize, CircuitTiming) -> Planner + Send + Sync;

/// A circuit scheduler that the calling program supplies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CustomCircuits {
    /// The name that the program has for it.
    pub name: Named<MakePlanner>,
    /// Its own options.
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    pub options: Options,
}
