//! Another scenario while an arbiter runs.

use super::time::Source;
use super::{Arbiter, ArbiterSetup};
use crate::channel::Peer;
use crate::clock::Local;
use slotline_envelope::PublicKey;
use std::collections::HashMap;

/// Whether an agent has told that it has another scenario.
pub(super) fn is_stranger(scenarios: &[u64], agent: u32, own: u64) -> bool {
    let told = scenarios.get(agent as usize).copied().unwrap_or_default();
    told != 0 && told != own
}

/// The new numbers of machines by their old ones, for those that remain. Machines are recognised by their keys.
fn renumbered(old: &[Peer], new: &[Peer]) -> HashMap<u32, u32> {
    let numbers: HashMap<PublicKey, u32> = new.iter().map(|peer| (peer.key, peer.number)).collect();
    let known = |peer: &Peer| Some((peer.number, *numbers.get(&peer.key)?));
    old.iter().filter_map(known).collect()
}

impl Arbiter {
    /// An agent has told which scenario it has.
    pub(super) fn hear_scenario(&mut self, from: u32, digest: u64) {
        let at = from as usize;
        self.scenarios.resize(self.scenarios.len().max(at + 1), 0);
        self.scenarios[at] = digest;
    }

    /// Whether a host is out of the schedule.
    pub(super) fn is_out(&self, host: u32) -> bool {
        self.drained.contains_key(&host)
            || is_stranger(&self.scenarios, host, self.setup.digest)
            || self.topology.as_ref().is_some_and(|of| of.is_outside(host))
    }

    /// The number of agents that have another scenario.
    pub(super) fn strangers(&self) -> usize {
        let all = 0..self.scenarios.len() as u32;
        all.filter(|agent| is_stranger(&self.scenarios, *agent, self.setup.digest)).count()
    }

    /// Begins anew with another scenario, in the same term and epoch. Agents that have another one are out of the schedule
    /// until they tell that they have this one.
    pub(super) fn take_scenario(&mut self, setup: ArbiterSetup, now: Local) -> Result<(), String> {
        self.line.renew(setup.key.clone(), setup.peers.clone(), now)?;
        self.line.limit(setup.quotas.clone());
        let numbers = renumbered(&self.setup.peers, &setup.peers);
        let new = |old: u32| numbers.get(&old).copied();
        let drained = std::mem::take(&mut self.drained).into_iter();
        self.drained = drained.filter_map(|(old, name)| Some((new(old)?, name))).collect();
        for (old, digest) in (0..).zip(std::mem::take(&mut self.scenarios)) {
            if let Some(number) = new(old).filter(|_| digest != 0) {
                self.hear_scenario(number, digest);
            }
        }
        if let Some(Source::Other { clock, of }) = &mut self.source {
            clock.configure(&setup.clock);
            *of = new(*of).unwrap_or(*of);
        }
        let witnesses = setup.standby.as_ref().map(|of| of.witnesses.clone()).unwrap_or_default();
        self.election.iter_mut().for_each(|of| of.renew(witnesses.clone()));
        let (recorder, hook) = (self.setup.recorder.take(), self.setup.hook.take());
        self.setup = ArbiterSetup { recorder, hook, ..setup };
        self.begin_anew("the scenario has changed: the log is complete");
        Ok(())
    }
}
