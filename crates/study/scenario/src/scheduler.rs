//! A central scheduler that comes from the calling program instead of a scenario.

use crate::{Loaded, ScenarioError};
use slotline_net::error::SpecError;
use slotline_net::scheme::system::Make;
use slotline_net::scheme::{Control, Network};
use slotline_schemes::ControlSpec;
use std::fmt;
use std::sync::Arc;

/// A named function that makes a custom [`Control`]: see [`Loaded::schedule`].
#[derive(Clone)]
pub struct Scheduler {
    name: String,
    make: Arc<Make>,
}

impl Scheduler {
    /// A scheduler called `name`; `make` returns a new one for each run, for the network that it gets. The
    /// name goes into the resolved scenario, so give it another one when the scheduler changes.
    pub fn new<C: Control + 'static>(
        name: impl Into<String>,
        make: impl Fn(Network) -> C + Send + Sync + 'static,
    ) -> Scheduler {
        Scheduler { name: name.into(), make: Arc::new(move |network| Box::new(make(network))) }
    }
    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// What makes a fresh one.
    pub fn maker(&self) -> Arc<Make> {
        Arc::clone(&self.make)
    }
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scheduler({})", self.name)
    }
}

impl Loaded {
    /// Lets `scheduler` decide in the scheme called `scheme`, in place of the scheduler it names. The
    /// scheme must have `control = "xco"`: everything else of XCo's stays, its agents in the hosts, its
    /// messages over the network, the time a decision takes and all other options.
    ///
    /// # Errors
    /// There is no such scheme, or it has no central scheduler.
    pub fn schedule(&mut self, scheme: &str, scheduler: Scheduler) -> Result<(), ScenarioError> {
        let schemes = &self.scenario.scheme;
        let Some(at) = schemes.iter().position(|s| s.name == scheme) else {
            let names: Vec<&str> = schemes.iter().map(|s| s.name.as_str()).collect();
            let message = format!("no scheme `{scheme}`: there are {}", names.join(", "));
            return Err(self.blame(SpecError::new("scheme", message)));
        };
        if !matches!(schemes[at].control, ControlSpec::Xco(_)) {
            let message = format!(
                "the scheduler `{}` needs `control = \"xco\"`, whose agents carry out what it decides",
                scheduler.name
            );
            return Err(self.blame(SpecError::new(format!("scheme[{at}]"), message)));
        }
        self.schedulers.insert(at, scheduler);
        Ok(())
    }
}
