//! Central schedulers and whole schemes that the calling program supplies.

use serde::{Deserialize, Serialize};
use slotline_net::custom::{Named, Options};
use slotline_net::error::SpecError;
use slotline_net::scheme::system::{MakeControl, System};
use slotline_xco::spec::XcoSpec;

/// Makes a whole scheme for a run.
pub type MakeSystem = dyn Fn() -> Result<Box<dyn System>, SpecError> + Send + Sync;

/// What the calling program supplies.
pub enum Supplied {
    /// A scheduler. XCo's controller runs it on a host of its own, and XCo's coordinators in the hosts carry out
    /// its decisions.
    Scheduler(MakeControl),
    /// A whole scheme with its own stations and agents.
    System(Box<MakeSystem>),
}

/// A central scheduler, or a whole scheme, that the calling program supplies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = slotline_net::schema::keep_comment)]
pub struct CustomControl {
    /// The name under which the program supplies it.
    pub name: Named<Supplied>,
    /// The options of the scheduler or scheme itself.
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    pub options: Options,
    /// Options of XCo's controller and coordinators, which carry out the decisions of a scheduler. They are refused
    /// with a whole scheme, which has its own. The options of XCo's own schedulers have no effect.
    #[serde(default, skip_serializing_if = "is_default")]
    pub xco: XcoSpec,
}

impl CustomControl {
    /// Whether it is a scheduler for XCo's controller.
    pub fn is_scheduler(&self) -> bool {
        self.name.part().is_ok_and(|part| matches!(**part, Supplied::Scheduler(_)))
    }

    /// The scheme, checked.
    ///
    /// # Errors
    /// The program has not supplied it, or an option is not valid or has no effect.
    pub(crate) fn build(&self) -> Result<Box<dyn System>, SpecError> {
        match &**self.name.part()? {
            Supplied::Scheduler(make) => {
                let xco = self.xco.build().map_err(|e| e.within("xco"))?;
                Ok(Box::new(xco.with_scheduler(make.clone())))
            }
            Supplied::System(_) if !is_default(&self.xco) => {
                let name = self.name.name();
                let message = format!("`xco` does nothing: \"{name}\" is a whole scheme");
                Err(SpecError::new("xco", message))
            }
            Supplied::System(make) => make(),
        }
    }
}

fn is_default(xco: &XcoSpec) -> bool {
    *xco == XcoSpec::default()
}
