//! XCo, explicit coordination of transmissions (Rajanna, Shah, Jahagirdar, Gopalan, 2010).
//!
//! Hosts report for whom they have packets waiting; a controller temporally separates (§3.2) or
//! rate-limits (§3.3) those that would together overload a link. Hosts have virtual machines; what one
//! sends to another is a V2V flow. A pair of hosts is permitted as a whole, for all its V2V flows.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod affected;
mod demand;
mod fair;
pub mod lending;
pub mod levels;
pub mod node;
mod on_demand;
mod rate_limit;
pub mod spec;
mod system;
mod timeslice;
pub mod wire;

pub use on_demand::OnDemand;
pub use rate_limit::RateLimit;
pub use timeslice::Timeslice;

use crate::node::controller::Controller;
use crate::node::controller::standby::Standby;
use crate::node::coordinator::Coordinator;
use slotline_net::id::HostId;
use slotline_net::scheme::Control;
use slotline_net::scheme::network::Network;
use spec::{Mode, XcoSpec};
use std::sync::{Arc, OnceLock};

/// Checked options, from which XCo's parts are made.
#[derive(Clone, Debug)]
pub struct Xco(XcoSpec, OnceLock<Arc<levels::Levels>>);

impl Xco {
    /// The options, defaults filled in.
    pub fn spec(&self) -> &XcoSpec {
        &self.0
    }
    /// The scheduler alone.
    pub fn control(&self, network: Network) -> Box<dyn Control> {
        let all: Box<dyn Control> = match self.0.mode {
            Mode::Timeslice => Box::new(Timeslice::new(self, network.clone())),
            Mode::RateLimit => Box::new(RateLimit::new(self, network.clone())),
        };
        match &self.0.on_demand {
            None => all,
            Some(options) => Box::new(OnDemand::new(options, network, all)),
        }
    }
    /// The node that runs the scheduler on `host`, a host of its own in `network`.
    pub fn controller(&self, host: HostId, network: Network) -> Controller {
        let hosts = network.hosts();
        self.controller_of(host, hosts, self.control(network))
    }
    /// The same with another scheduler than XCo's, for `hosts` hosts; its decisions take the same time.
    pub fn controller_of(
        &self,
        host: HostId,
        hosts: usize,
        control: Box<dyn Control>,
    ) -> Controller {
        Controller::new(host, hosts, self.0.decision_time, self.0.timeout(), control)
    }
    /// One of two controllers, beside `peer`; `active`: the one that begins.
    pub fn standby(&self, peer: HostId, active: bool) -> Standby {
        Standby::new(peer, self.0.beat(), self.0.takeover(), active)
    }
    /// The agent of `host`, whose controller sits on `controller`.
    pub fn coordinator(&self, host: HostId, controller: HostId) -> Coordinator {
        Coordinator::new(self, host, controller)
    }
}

#[cfg(test)]
mod fairness_tests;
