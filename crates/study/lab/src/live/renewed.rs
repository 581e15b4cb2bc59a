//! A changed configuration or scenario that running daemons take over.

use super::{LiveNetwork, LiveNetworkError, unfit};
use slotline_live::role::Role;
use slotline_net::rng::mix64;

const RESTART: &str = "nothing was changed; restart the daemon to use it";

/// What a daemon takes over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Renewed {
    /// Its node goes on: the scenario is the same.
    Configuration,
    /// Its node begins anew with another scenario.
    Scenario,
}

impl LiveNetwork {
    /// Checks that daemons of this network may take over `new` while they run.
    ///
    /// # Errors
    /// The first difference that needs a restart.
    pub fn check_renewal(&self, new: &LiveNetwork) -> Result<Renewed, LiveNetworkError> {
        if let Some((key, why)) = self.config.fixed_change(&new.config) {
            return unfit(format!(
                "`{key}` cannot change while a daemon runs, because {why}: {RESTART}"
            ));
        }
        if self.loaded.resolved() == new.loaded.resolved() {
            return Ok(Renewed::Configuration);
        }
        let file = self.config.scenario.display();
        if !(self.config.switch.is_empty() && self.config.rack.is_empty()) {
            return unfit(format!(
                "{file} has changed: it cannot change while daemons run on switches, which forward as it says: {RESTART}"
            ));
        }
        let controllers = |of: &LiveNetwork| {
            let count = of.part(None)?.stations.len();
            Ok::<_, LiveNetworkError>((count, of.times(count)))
        };
        if controllers(self)? != controllers(new)? {
            return unfit(format!(
                "{file} has changed: the number of controllers, and the times after which one replaces another, cannot change \
                 while daemons run, because witnesses have begun with them: {RESTART}"
            ));
        }
        Ok(Renewed::Scenario)
    }

    /// Checks that what a host joins to be held as one packet fits into the slots of `new`, too.
    ///
    /// # Errors
    /// It does not.
    pub fn check_room(
        &self,
        new: &LiveNetwork,
        host: &str,
        role: &Role,
    ) -> Result<(), LiveNetworkError> {
        let bytes = |of: &LiveNetwork| of.room(host, role).map(|room| room.map(|of| of.bytes));
        match (bytes(self)?, bytes(new)?) {
            (Some(old), Some(new)) if new < old => unfit(format!(
                "the scenario has changed: {new} bytes fit into a quarter of a slot instead of {old}, and interfaces are set up \
                 to join more (agent.join-segments): {RESTART}"
            )),
            _ => Ok(()),
        }
    }

    /// A digest of the scenario, by which arbiters notice agents that have another one. It is not 0.
    pub(super) fn digest(&self) -> u64 {
        let text = format!("{}\n{}", self.scheme(), self.loaded.resolved());
        let word = |chunk: &[u8]| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        };
        let add = |digest, chunk| mix64(digest ^ word(chunk));
        text.as_bytes().chunks(8).fold(text.len() as u64, add).max(1)
    }
}
