//! The machines of a demonstration, and the network between them.

use super::{DemoControl, DemoOptions};
use anyhow::{Context, Result};
use slotline_emulate::bridge::{Bridge, BridgeOptions, Limit};
use slotline_emulate::fat_tree::{FatTree, FatTreeOptions, Router};
use slotline_emulate::racks::{Racks, RacksOptions};
use slotline_net::rng::Stream;
use std::io;
use std::net::Ipv4Addr;

/// The number of racks.
const RACKS: usize = 4;
/// The rate of the packet network as a share of that of circuits.
const PACKET_SHARE: u64 = 10;
/// The ports of each router of the fat-tree, and its pods.
const PORTS: usize = 4;
/// The MTU of all interfaces.
const MTU: u32 = 1_500;

/// The network between machines.
pub enum Network {
    /// A switch between all machines.
    Star(Bridge),
    /// Racks with a packet network and an optical switch.
    Racks(Racks),
    /// A fat-tree of routers.
    FatTree(FatTree),
}

/// The machines, of which the first are hosts.
pub struct Testbed {
    /// The network.
    pub network: Network,
    /// The addresses of hosts, and in a star also of the machines of arbiters, which follow.
    pub addresses: Vec<Ipv4Addr>,
    /// Hosts that send by iperf3, and the hosts to which they send.
    pub flows: Vec<(usize, usize)>,
    /// The host that sends pings, and the host that answers.
    pub ping: (usize, usize),
}

impl Testbed {
    /// Makes the machines. In a star the last `arbiters` are for arbiters.
    pub fn new(options: &DemoOptions, arbiters: usize) -> Result<Testbed> {
        let made = match options.control {
            DemoControl::Circuits => Testbed::racks(options),
            _ if options.has_fat_tree() => Testbed::fat_tree(options),
            _ => Testbed::star(options, arbiters),
        };
        made.context("cannot create the hosts; `slotline probe` shows what this machine lacks")
    }

    /// Many hosts send to the first one, and another one pings it.
    fn star(options: &DemoOptions, arbiters: usize) -> Result<Testbed> {
        let senders = options.senders();
        let count = senders + 2 + arbiters;
        let addresses: Vec<_> = (1..=count as u8).map(|n| Ipv4Addr::new(10, 79, 0, n)).collect();
        let limit = Some(Limit { rate: options.rate().0, buffer: options.buffer.0 });
        let one_by_one = !options.join_segments;
        let families = options.families();
        let made = BridgeOptions { mtu: MTU, limit, one_by_one, families };
        let bridge = Bridge::new(&addresses, &made)?;
        let flows = (1..=senders).map(|sender| (sender, 0)).collect();
        Ok(Testbed { network: Network::Star(bridge), addresses, flows, ping: (senders + 1, 0) })
    }

    /// Hosts send to the next rack, and the last host of the first rack pings one that is two racks away.
    fn racks(options: &DemoOptions) -> Result<Testbed> {
        let senders = options.senders();
        let hosts = senders.div_ceil(RACKS) + 1;
        let rate = options.rate().0 / PACKET_SHARE;
        let packet = Limit { rate, buffer: options.buffer.0 };
        let families = options.families();
        let racks = Racks::new(RacksOptions { racks: RACKS, hosts, mtu: MTU, packet, families })?;
        let all = (0..RACKS).flat_map(|rack| (0..hosts).map(move |host| (rack, host)));
        let addresses = all.map(|(rack, host)| racks.host_address(rack, host)).collect();
        let flow = |n: usize| {
            let (rack, host) = (n % RACKS, n / RACKS);
            (racks.host(rack, host), racks.host((rack + 1) % RACKS, host))
        };
        let flows = (0..senders).map(flow).collect();
        let ping = (racks.host(0, hosts - 1), racks.host(2, hosts - 1));
        Ok(Testbed { network: Network::Racks(racks), addresses, flows, ping })
    }

    /// Hosts send to the host at the same place in the next pod, or under Fastpass to hosts drawn at random, and a host pings
    /// one in another pod.
    fn fat_tree(options: &DemoOptions) -> Result<Testbed> {
        let limit = Limit { rate: options.rate().0, buffer: options.buffer.0 };
        let families = options.families();
        let host_daemons = options.fat_tree;
        let tree =
            FatTree::new(FatTreeOptions { k: PORTS, mtu: MTU, limit, families, host_daemons })?;
        let hosts = tree.hosts();
        let addresses = (0..hosts).map(|host| tree.host_address(host)).collect();
        let receivers = match options.fat_tree {
            true => permutation(hosts),
            false => (0..hosts).map(|host| (host + hosts / PORTS) % hosts).collect(),
        };
        let flows = receivers.into_iter().enumerate().take(options.senders()).collect();
        let ping = (hosts - 1, hosts / 2 - 1);
        Ok(Testbed { network: Network::FatTree(tree), addresses, flows, ping })
    }

    /// Lets that link lose this share of its packets, in percent.
    pub fn set_loss(&self, percent: u8) -> io::Result<()> {
        match &self.network {
            Network::FatTree(tree) => {
                tree.set_loss(Router::Aggregation(1, 0), Router::Core(0), percent)
            }
            Network::Star(_) | Network::Racks(_) => Ok(()),
        }
    }
    /// Runs `work` on a thread in a machine's namespace.
    pub fn inside<T: Send>(
        &self,
        machine: usize,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        match &self.network {
            Network::Star(bridge) => bridge.inside(machine, work),
            Network::Racks(racks) => racks.inside(machine, work),
            Network::FatTree(tree) => tree.inside(machine, work),
        }
    }
    /// The number of packets that switches dropped because a queue was full: in a star, of those for the first host.
    pub fn dropped(&self) -> io::Result<u64> {
        match &self.network {
            Network::Star(bridge) => bridge.dropped(0),
            Network::Racks(racks) => racks.dropped(),
            Network::FatTree(tree) => tree.dropped(),
        }
    }
    /// The bytes that wait in switches: in a star, of packets for the first host. A fat-tree has too many queues.
    pub fn waiting(&self) -> io::Result<Option<u64>> {
        match &self.network {
            Network::Star(bridge) => bridge.waiting(0).map(Some),
            Network::Racks(racks) => racks.waiting().map(Some),
            Network::FatTree(_) => Ok(None),
        }
    }
    /// The number of packets that were lost because they were sent to an optical switch in a night.
    pub fn lost_in_nights(&self) -> io::Result<Option<u64>> {
        match &self.network {
            Network::Star(_) | Network::FatTree(_) => Ok(None),
            Network::Racks(racks) => racks.sent_in_the_dark().map(Some),
        }
    }
    /// Cuts the link between a router of the second pod and the core, or joins it again.
    pub fn set_cable(&self, works: bool) -> io::Result<()> {
        match &self.network {
            Network::FatTree(tree) => {
                tree.set_cable(Router::Aggregation(1, 0), Router::Core(0), works)
            }
            Network::Star(_) | Network::Racks(_) => Ok(()),
        }
    }
    /// The rate of circuits, and that of the packet network between racks.
    pub fn rates(options: &DemoOptions) -> (u64, u64) {
        (options.rate().0, options.rate().0 / PACKET_SHARE)
    }
}

/// A receiver for each host, another one each, drawn once for all demonstrations.
fn permutation(hosts: usize) -> Vec<usize> {
    let mut receivers: Vec<usize> = (0..hosts).collect();
    let mut draws = Stream::named(1, "demo.permutation", 0);
    while receivers.iter().enumerate().any(|(host, to)| host == *to) {
        draws.shuffle(&mut receivers);
    }
    receivers
}
