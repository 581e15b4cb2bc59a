//! Classification: the virtual queue of a packet.

use crate::frame::Packet;
use slotline_net::rng::mix64;
use std::net::IpAddr;

/// Assigns a packet to a virtual queue: `classify` in Table 5.1 of NetBump.
pub trait Classify {
    /// The number of the queue; `None` if the packet has no queue and passes.
    fn classify(&mut self, packet: &Packet) -> Option<u32>;
}

/// A queue for each destination, or for each network of destinations. Queues are numbered in the order in
/// which destinations appear.
#[derive(Clone, Debug)]
pub struct ByDestination {
    /// A hash table with open addressing. Its length is a power of two, at least twice the number of queues.
    slots: Vec<Option<(u128, u32)>>,
    networks: Vec<IpAddr>,
    most: u32,
    prefix: (u8, u8),
}

impl ByDestination {
    /// At most `most` queues, each for the destinations that share the first `prefix` bits of their
    /// address (IPv4, IPv6). Packets for further destinations have no queue.
    pub fn new(most: u32, prefix: (u8, u8)) -> ByDestination {
        let slots = vec![None; (most.max(1) as usize * 2).next_power_of_two()];
        let prefix = (prefix.0.min(32), prefix.1.min(128));
        ByDestination { slots, networks: Vec::new(), most, prefix }
    }

    /// The networks that have queues, by number.
    pub fn networks(&self) -> &[IpAddr] {
        &self.networks
    }

    /// The queue of a destination. A new destination gets a new queue.
    #[inline]
    pub fn queue_of(&mut self, destination: IpAddr) -> Option<u32> {
        let key = key(destination, self.prefix);
        let mask = self.slots.len() - 1;
        let mut slot = (mix64(key as u64 ^ (key >> 64) as u64) as usize) & mask;
        loop {
            match self.slots[slot] {
                Some((known, queue)) if known == key => return Some(queue),
                Some(_) => slot = (slot + 1) & mask,
                None => return self.insert(slot, key),
            }
        }
    }

    #[cold]
    fn insert(&mut self, slot: usize, key: u128) -> Option<u32> {
        let queue = self.networks.len() as u32;
        if queue >= self.most {
            return None;
        }
        self.slots[slot] = Some((key, queue));
        let six = key >> 32 != 0xffff;
        self.networks.push(match six {
            true => IpAddr::V6(key.into()),
            false => IpAddr::V4((key as u32).into()),
        });
        Some(queue)
    }
}

/// The network of an address. An IPv4 network is the mapped IPv6 address.
#[inline]
fn key(destination: IpAddr, prefix: (u8, u8)) -> u128 {
    match destination {
        IpAddr::V4(address) => {
            let bits =
                u32::from(address) & u32::MAX.checked_shl(32 - u32::from(prefix.0)).unwrap_or(0);
            0xffff_0000_0000 | u128::from(bits)
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix.1)).unwrap_or(0);
            u128::from(address) & mask
        }
    }
}

impl Classify for ByDestination {
    #[inline]
    fn classify(&mut self, packet: &Packet) -> Option<u32> {
        self.queue_of(packet.destination)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_get_queues_in_order_of_appearance() {
        let mut by = ByDestination::new(3, (24, 64));
        let queue = |by: &mut ByDestination, text: &str| by.queue_of(text.parse().unwrap());
        assert_eq!(queue(&mut by, "10.0.0.1"), Some(0));
        assert_eq!(queue(&mut by, "10.0.1.1"), Some(1));
        assert_eq!(queue(&mut by, "10.0.0.200"), Some(0));
        assert_eq!(queue(&mut by, "2001:db8::1"), Some(2));
        assert_eq!(queue(&mut by, "2001:db8::ffff"), Some(2));
        assert_eq!(queue(&mut by, "2001:db8:1::"), None);
        let names: Vec<String> = by.networks().iter().map(|n| n.to_string()).collect();
        assert_eq!(names, ["10.0.0.0", "10.0.1.0", "2001:db8::"]);
        assert_eq!(queue(&mut ByDestination::new(1, (0, 0)), "1.2.3.4"), Some(0));
    }

    #[test]
    fn all_queues_can_be_used() {
        let mut by = ByDestination::new(1_024, (32, 128));
        for round in 0..2 {
            for n in 0..1_024u32 {
                let address = IpAddr::V4((0x0a00_0000 + n * 7).into());
                assert_eq!(by.queue_of(address), Some(n), "{round}");
            }
        }
        assert_eq!(by.queue_of("1.1.1.1".parse().unwrap()), None);
    }
}
