//! Ports of switches that hold what a fast host sends to a slower one, and forward it in the following slots (§4.3).

use crate::options::rounds::Rounds;
use crate::round::Round;
use slotline_net::id::HostId;
use slotline_net::scheme::network::Network;
use slotline_net::units::Rate;

/// The port to a slow host.
#[derive(Clone, Copy)]
struct Port {
    host: usize,
    /// The link from the switch to the host.
    link: u32,
    /// The rate at which the host receives.
    rate: Rate,
    /// The time, in picoseconds from the next slot on, in which the port still forwards what it holds.
    busy: u64,
}

/// The ports to slow hosts. There are none unless switches may hold packets.
pub(super) struct SwitchBuffers {
    bytes: u64,
    ports: Vec<Port>,
    /// Their links, with the rate at which packets may come.
    links: Vec<(u32, u64)>,
}

impl SwitchBuffers {
    /// The ports to hosts that are slower than the fastest one. A host that has several links is no such host.
    pub fn new(rounds: &Rounds, network: &Network) -> SwitchBuffers {
        let bytes = rounds.spec().switch_buffer.map_or(0, |bytes| bytes.0);
        let last = |host: usize| {
            let hosts = network.hosts();
            let mut path = Vec::new();
            network.path(HostId(((host + 1) % hosts) as u32), HostId(host as u32), &mut path);
            Some((host, *path.last()?))
        };
        let capacity = network.capacity();
        let hosts = (0..network.hosts()).filter(|_| bytes > 0).filter_map(last);
        let hosts: Vec<(usize, u32)> = hosts.collect();
        let rate = |link: u32| rounds.scheduled(capacity[link as usize]);
        let fastest = hosts.iter().map(|&(_, link)| rate(link)).max().unwrap_or_default();
        let port = |(host, link)| Port { host, link, rate: rate(link), busy: 0 };
        let ports: Vec<Port> =
            hosts.into_iter().map(port).filter(|port| port.rate < fastest).collect();
        let links = ports.iter().map(|port| (port.link, fastest.0)).collect();
        SwitchBuffers { bytes, ports, links }
    }
    /// The links to slow hosts, with the rate at which their ports may get packets.
    pub fn links(&self) -> &[(u32, u64)] {
        &self.links
    }
    fn port(&self, host: usize) -> Option<&Port> {
        let at = self.ports.binary_search_by_key(&host, |port| port.host).ok()?;
        self.ports.get(at)
    }
    /// The link to `host`, if its switch holds packets for it.
    pub fn link_of(&self, host: usize) -> Option<u32> {
        self.port(host).map(|port| port.link)
    }
    /// The most bytes that may be sent to `host` in a slot.
    pub fn limit(&self, host: usize) -> u64 {
        self.port(host).map_or(u64::MAX, |_| self.bytes)
    }
    /// The hosts whose ports still forward what they hold, with their links.
    pub fn draining(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let busy = self.ports.iter().filter(|port| port.busy > 0);
        busy.map(|port| (port.host, port.link))
    }
    /// The open slot of `round` ends: its assignments are in the buffers.
    pub fn advance(&mut self, round: &Round) {
        let slot = (round.slot + round.guard).as_ps();
        for assignment in round.tail(round.open()) {
            let at = self.ports.binary_search_by_key(&assignment.dst.at(), |port| port.host);
            if let Ok(at) = at {
                let port = &mut self.ports[at];
                port.busy += port.rate.inverse_rate().time_for(assignment.bytes).as_ps();
            }
        }
        self.ports.iter_mut().for_each(|port| port.busy = port.busy.saturating_sub(slot));
    }
}
