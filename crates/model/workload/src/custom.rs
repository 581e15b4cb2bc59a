//! Workloads that the calling program supplies.

use super::Machines;
use super::job::Job;
use super::options::OnMachines;
use super::spec::Generate;
use serde::{Deserialize, Serialize};
use slotline_base::custom::{Named, Options};
use slotline_base::error::SpecError;

/// A workload that the calling program supplies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = slotline_base::schema::keep_comment)]
pub struct Custom {
    /// The name under which the program supplies it.
    pub name: Named<dyn Generate + Send + Sync>,
    /// Its own options.
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    pub options: Options,
}

/// Its flows are between the first virtual machines of hosts.
impl OnMachines for Custom {
    fn machines(&self) -> Machines {
        Machines::default()
    }
}

impl Generate for Custom {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        self.name.part()?.generate(job)
    }
}
