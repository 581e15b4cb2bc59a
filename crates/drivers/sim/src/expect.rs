//! Requests of state that the hosts of a window need, so that their cache misses overlap.

use crate::item::IDLE;
use crate::network::Place;
use crate::shard::Shard;
use slotline_net::frame::{Kind, Packet};
use slotline_net::node::host::{Host, STEPS};

/// With fewer connections their state is in the cache anyway.
const MANY_CONNECTIONS: usize = 1 << 13;

impl Shard {
    /// Whether caches hold only a part of the connections of this shard's hosts.
    pub fn has_many_connections(&self) -> bool {
        let many = |host: &Host| host.connections() > MANY_CONNECTIONS;
        self.places.iter().find_map(host_at).is_some_and(many)
    }

    /// Whether packets wait in queues of hosts. Their state then is more than the cache of a core holds.
    pub fn has_hosts_with_queues(&self) -> bool {
        self.places.iter().find_map(host_at).is_some_and(Host::has_queues)
    }

    /// Requests the state of the hosts after `next`, which is about to be called, of the first `hosts` active nodes.
    #[inline]
    pub fn expect_hosts(&self, places: &[Place], next: usize, hosts: usize) {
        for step in 0..STEPS {
            let after = self.active[..hosts].get(next + STEPS - step);
            if let Some(host) = after.and_then(|&at| host_at(&places[at as usize])) {
                host.expect(step);
            }
        }
    }

    /// Requests the state of connections whose first segments arrive in this window at one of the first `hosts` active nodes.
    /// What is requested in one step is found with what was requested in the step before.
    pub fn expect_segments(&mut self, places: &[Place], hosts: usize) {
        let mut firsts = std::mem::take(&mut self.first_segments);
        firsts.clear();
        for &at in &self.active[..hosts] {
            let Some(host) = host_at(&places[at as usize]) else { continue };
            for packet in self.packets(at).filter(|packet| is_first(packet)) {
                host.expect_connection(packet.flow);
                firsts.push((at, packet.flow));
            }
        }
        let hosts = |&(at, conn): &(u32, u32)| Some((host_at(&places[at as usize])?, conn));
        firsts.iter().filter_map(hosts).for_each(|(host, conn)| host.expect_receiver(conn));
        firsts.iter().filter_map(hosts).for_each(|(host, conn)| host.expect_result(conn));
        self.first_segments = firsts;
    }

    /// The packets that arrive at a node in this window, and its own events.
    fn packets(&self, at: u32) -> impl Iterator<Item = &Packet> {
        let mut position = self.last[at as usize];
        std::iter::from_fn(move || {
            let entry = (position < IDLE).then(|| self.links.calendar.get(position))?;
            position = self.chain[position as usize];
            Some(&entry.packet)
        })
    }
}

fn host_at(place: &Place) -> Option<&Host> {
    match place {
        Place::Host(host) => Some(host),
        _ => None,
    }
}

/// Whether this is the first segment of a connection. A node's own event may look like one: then nothing is requested, or
/// something without use.
fn is_first(packet: &Packet) -> bool {
    packet.kind == Kind::Data && packet.seq == 0
}
