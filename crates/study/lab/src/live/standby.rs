//! Two arbiters, of which one is elected: the means of their election, from the configuration and the scheme.

use super::{LiveNetwork, LiveNetworkError, system};
use slotline_live::config::{MOST_WITNESSES, span};
use slotline_live::election::{Controllers, Standby};
use std::time::Duration;

impl LiveNetwork {
    /// The times of the election: of a scheme with two controllers its own ones.
    pub(super) fn times(&self, controllers: usize) -> Option<(Controllers, Duration, Duration)> {
        if self.elects(controllers) {
            let timeout = span(self.config.standby.timeout);
            return Some((Controllers::One, timeout, timeout / 5));
        }
        let (timeout, beat) = system(&self.loaded, self.scheme)?.standby()?;
        Some((Controllers::Two, span(timeout), span(beat)))
    }

    /// What an agent knows of the election.
    pub(super) fn elected(&self, controllers: usize) -> Option<(Controllers, Duration)> {
        self.times(controllers).map(|(of, timeout, _)| (of, timeout))
    }

    /// What an arbiter knows of the election. `number` has the numbers of agents.
    pub(super) fn standby(
        &self,
        controllers: usize,
        number: impl Fn(&str) -> Result<u32, LiveNetworkError>,
    ) -> Result<Option<Standby>, LiveNetworkError> {
        let Some((controllers, timeout, beat)) = self.times(controllers) else { return Ok(None) };
        let numbers = self.witnesses().into_iter().map(number);
        let witnesses = numbers.collect::<Result<Vec<u32>, LiveNetworkError>>()?;
        Ok(Some(Standby { controllers, timeout, beat, witnesses }))
    }

    /// The names of the machines that are witnesses: those of the configuration, or the first ones with an agent.
    fn witnesses(&self) -> Vec<&str> {
        let config = &self.config;
        if !config.standby.witnesses.is_empty() {
            return config.standby.witnesses.iter().map(String::as_str).collect();
        }
        config.agents().take(MOST_WITNESSES).collect()
    }
}
