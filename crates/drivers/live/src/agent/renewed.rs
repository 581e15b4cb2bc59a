//! What an agent takes over while it runs.

use super::{Agent, AgentSetup, lead};
use crate::clock::Local;
use crate::renewal::{Renewal, Request};
use crate::role::Role;

impl Agent {
    /// Changes what a request asks for.
    pub(super) fn carry_out(&mut self, request: Request, now: Local) -> Result<(), String> {
        let renewal = match request {
            Request::Renew(renewal) => renewal,
            Request::AgentAnew(setup) => return self.begin_anew(*setup, now),
            Request::ArbiterAnew(_) => return Err("this daemon is no arbiter".into()),
            Request::DrainHost { .. } => {
                return Err("only an arbiter takes hosts out of the schedule".into());
            }
        };
        let Renewal { key, peers, probes, hosts, agent, clock, .. } = *renewal;
        self.channel.renew(&key, &peers, now).map_err(|error| error.to_string())?;
        self.clocks.iter_mut().for_each(|of| of.configure(&clock));
        if let Some(of) = &mut self.probes {
            of.renew(&key, &probes, now).map_err(|error| error.to_string())?;
        }
        let setup = &mut self.setup;
        (setup.arbiters, setup.agent, setup.clock) = (peers, agent, clock);
        self.grip.exempt_below(setup.agent.exempt_below);
        match &mut setup.role {
            Role::Host(role) => role.hosts = hosts,
            Role::Switch(role) => role.hosts.all = hosts,
            Role::Rack(_) => {}
        }
        Ok(())
    }

    /// Begins anew with another scenario. Packets leave at once until the arbiter says that it has the same one.
    fn begin_anew(&mut self, setup: AgentSetup, now: Local) -> Result<(), String> {
        self.channel.renew(&setup.key, &setup.arbiters, now).map_err(|error| error.to_string())?;
        self.open_up(now);
        let old = std::mem::replace(&mut self.setup, setup);
        let setup = &mut self.setup;
        (setup.timeslots, setup.wrong_cables) = (old.timeslots, old.wrong_cables);
        setup.heard = old.heard;
        self.clocks.iter_mut().for_each(|of| of.configure(&setup.clock));
        self.links = setup.role.links();
        self.lead = lead(setup, &self.grip);
        self.grip.exempt_below(setup.agent.exempt_below);
        (self.asks, self.retries) = (now, now);
        (self.anew, self.answered) = (now, false);
        Ok(())
    }
}
