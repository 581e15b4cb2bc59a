//! Programs on real hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slotline_net::error::SpecError;
use slotline_net::time::Time;
use slotline_net::topology::{Graph, NodeKind};

/// A program that runs on an emulated host, under `slotline emulate`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AppSpec {
    /// Name of the host.
    pub host: String,
    /// The command for the host's shell. It can use the names of hosts.
    pub run: String,
    /// When it starts.
    #[serde(default)]
    pub at: Time,
    /// Whether the run does not wait for its end, as for servers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
}

/// The errors of a scenario's programs.
pub(super) fn faults(apps: &[AppSpec], graph: Option<&Graph>) -> Vec<SpecError> {
    let mut faults = vec![];
    for (at, app) in apps.iter().enumerate() {
        let known = |graph: &Graph| {
            let node = graph.node_named(&app.host);
            node.is_some_and(|node| graph.nodes[node.at()].kind == NodeKind::Host)
        };
        if graph.is_some_and(|graph| !known(graph)) {
            let why = format!("no host `{}` in this fabric", app.host);
            faults.push(SpecError::new(format!("app[{at}].host"), why));
        }
        if app.run.trim().is_empty() {
            faults.push(SpecError::new(format!("app[{at}].run"), "nothing to run"));
        }
    }
    faults
}
