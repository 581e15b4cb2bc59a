//! The state of a controller at a switch of a tree about the controllers above and below it.

use crate::lending::{Lending, WHOLE};
use slotline_net::id::HostId;
use slotline_net::scheme::{Control, Network};
use slotline_net::time::Time;
use slotline_net::units::Rate;

/// A controller below, and the share of its links that this one may use.
#[derive(Clone, Debug)]
pub struct Below {
    /// Its station.
    pub station: HostId,
    /// Its directed links.
    pub links: Vec<u32>,
    /// The share of these links that this controller may use, in 65,536ths.
    pub share: u32,
    heard: Time,
}

impl Below {
    /// The owner of `links`, of which this controller has no share yet.
    pub fn new(station: HostId, links: Vec<u32>) -> Below {
        Below { station, links, share: 0, heard: Time::ZERO }
    }
}

/// A request for a share of the links of a controller below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShareRequest {
    /// The station of the controller that owns the links.
    pub owner: HostId,
    /// The number of V2V flows that wait for these links.
    pub flows: u32,
    /// The share that is in use, in 65,536ths.
    pub share: u32,
}

/// The place of a controller among the others.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    /// The stations of the controllers above, the lowest first.
    pub above: Vec<HostId>,
    /// Controllers below.
    pub below: Vec<Below>,
    /// Its own directed links.
    pub links: Vec<u32>,
    /// How often controllers send messages to each other.
    pub beat: Time,
    /// A share is lost when its owner is silent for this long.
    pub timeout: Time,
    /// The length of a timeslice.
    pub slice: Time,
    lending: Option<Lending>,
}

impl Hierarchy {
    /// Makes the place of a controller that sends messages every `beat`.
    pub fn new(
        above: Vec<HostId>,
        below: Vec<Below>,
        links: Vec<u32>,
        beat: Time,
        timeout: Time,
        slice: Time,
    ) -> Hierarchy {
        Hierarchy { above, below, links, beat, timeout, slice, lending: None }
    }
    /// Starts. The controller may use nothing before it knows what others use.
    pub fn start(&mut self, now: Time) {
        let (timeout, drain_time) = (self.timeout, self.slice + self.beat);
        self.lending = Some(Lending::new(self.above.len(), drain_time, self.beat, timeout, now));
        self.below.iter_mut().for_each(|below| (below.share, below.heard) = (0, now));
    }
    fn waiting(control: &dyn Control, links: &[u32]) -> u32 {
        let flows: u64 = links.iter().map(|&link| control.flows(link)).sum();
        u32::try_from(flows).unwrap_or(u32::MAX)
    }
    fn own(&self) -> u32 {
        self.lending.as_ref().map_or(0, |lending| lending.granted(0))
    }
    /// Handles a beat: divides the own links again and drops shares whose owners are silent. Returns whether
    /// the controller's shares have changed, and the requests to send.
    pub fn beat(&mut self, control: &dyn Control, now: Time) -> (bool, Vec<ShareRequest>) {
        let mut changed = self.divide(control, now);
        let mut requests = Vec::new();
        for below in &mut self.below {
            if below.share > 0 && now.since(below.heard) > self.timeout {
                below.share = 0;
                changed = true;
            }
            let flows = Hierarchy::waiting(control, &below.links);
            if flows > 0 || below.share > 0 {
                requests.push(ShareRequest { owner: below.station, flows, share: below.share });
            }
        }
        (changed, requests)
    }
    fn divide(&mut self, control: &dyn Control, now: Time) -> bool {
        let before = self.own();
        let flows = Hierarchy::waiting(control, &self.links);
        if let Some(lending) = &mut self.lending {
            lending.divide(flows, now);
        }
        self.own() != before
    }
    /// Handles the request of a controller above. Returns the share that it gets, and whether the own share
    /// has changed. `None`: the sender is not above.
    pub fn on_share_request(
        &mut self,
        by: HostId,
        flows: u32,
        share: u32,
        control: &dyn Control,
        now: Time,
    ) -> Option<(u32, bool)> {
        let at = self.above.iter().position(|above| *above == by)? + 1;
        self.lending.as_mut()?.report(at, flows, share, now);
        let changed = self.divide(control, now);
        Some((self.lending.as_ref()?.granted(at), changed))
    }
    /// Handles the share that a controller below grants. Returns whether it has changed. `None`: the sender
    /// is not below.
    pub fn on_share_grant(&mut self, by: HostId, share: u32, now: Time) -> Option<bool> {
        let below = self.below.iter_mut().find(|below| below.station == by)?;
        below.heard = now;
        Some(std::mem::replace(&mut below.share, share.min(WHOLE)) != share)
    }
    /// The network with the part of each link that this controller may use.
    pub fn scale(&self, network: &Network) -> Network {
        let mut capacity = vec![Rate(0); network.capacity().len()];
        let shares = self.below.iter().map(|below| (&below.links, below.share));
        for (links, share) in shares.chain([(&self.links, self.own())]) {
            for &link in links {
                let rate = network.capacity()[link as usize].0;
                let part = u128::from(rate) * u128::from(share) / u128::from(WHOLE);
                capacity[link as usize] = Rate(part as u64);
            }
        }
        network.with_capacity(capacity)
    }
}
