//! The tables of all switches (Figures 3.5 to 3.7).

use super::address::{FIRST_ID, Place, Plan, address};
use super::table::{Action, Prefix, Suffix, Table};
use crate::id::PortId;

impl Plan {
    /// The table of the switch at `place`.
    pub fn table(&self, place: Place) -> Table {
        match place {
            Place::Edge { pod, at } => self.edge(pod, at),
            Place::Aggregation { pod, at } => self.aggregation(pod, at),
            Place::Core { .. } => self.core(),
        }
    }

    /// Figure 3.5: the pod's own subnets by prefix, all other addresses by suffix.
    fn aggregation(&self, pod: u32, at: u32) -> Table {
        let subnet = |i| (subnet(pod, i), Action::Port(port(i)));
        let mut prefixes: Vec<_> = (0..self.half()).map(subnet).collect();
        prefixes.push((ALL, self.upwards(self.half() + at, self.half())));
        Table { subnet: None, prefixes }
    }

    /// Figure 3.6: all addresses by suffix, except the switch's own subnet.
    fn edge(&self, pod: u32, at: u32) -> Table {
        let prefixes = vec![(ALL, self.upwards(at, self.hosts_per_edge()))];
        Table { subnet: Some(subnet(pod, at)), prefixes }
    }

    /// Figure 3.7: a prefix for each pod.
    fn core(&self) -> Table {
        let pod = |x| (Prefix { address: address(x, 0, 0), len: 16 }, Action::Port(port(x)));
        Table { subnet: None, prefixes: (0..self.k()).map(pod).collect() }
    }

    /// The suffixes of switch `z`, whose upward ports begin at `first`. They are shifted by `z`, so that hosts with the
    /// same number at different switches are reached by different paths.
    fn upwards(&self, z: u32, first: u32) -> Action {
        let suffix = |i: u32| {
            let suffix = Suffix { address: i.into(), len: 8 };
            (suffix, port((i - FIRST_ID + z) % self.half() + first))
        };
        Action::Suffixes((FIRST_ID..FIRST_ID + self.hosts_per_edge()).map(suffix).collect())
    }
}

const ALL: Prefix = Prefix { address: core::net::Ipv4Addr::UNSPECIFIED, len: 0 };

fn subnet(pod: u32, switch: u32) -> Prefix {
    Prefix { address: address(pod, switch, 0), len: 24 }
}

fn port(number: u32) -> PortId {
    PortId(number as u16)
}
