//! Racks of hosts joined by a packet network and by an emulated optical switch: a network for the daemons of circuits.
//!
//! The switch of each rack is a Linux router. It reaches the hosts of other racks by the packet network, and packets with
//! the mark [`Racks::MARK`] by its port at the optical switch.

use crate::bridge::{BURST, Limit, counted, ip, run};
use crate::families::Families;
use crate::namespace::{self, HostError};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// The size of the network.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RacksOptions {
    /// Racks, at most 100.
    pub racks: usize,
    /// Hosts in each rack, at most 100.
    pub hosts: usize,
    /// The largest IP packet in bytes.
    pub mtu: u32,
    /// The limit of the port of the packet network to each rack.
    pub packet: Limit,
    /// The protocols of hosts.
    pub families: Families,
}

/// The network. The present network namespace, which should belong to this process alone, has the packet network, the
/// optical switch, and the network of the daemons.
pub struct Racks {
    options: RacksOptions,
    /// The hosts, rack by rack; then the switches of the racks; then the machine of the arbiter.
    machines: Vec<OwnedFd>,
}

/// The table of routes for packets with the mark.
const TABLE: u32 = 100;

impl Racks {
    /// The mark of packets that leave by a circuit.
    pub const MARK: u32 = 1_280;
    /// The address of a second arbiter on the machine of the first.
    pub const STANDBY: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 250);
    /// The interface that takes packets that are sent when the optical switch is dark.
    pub(crate) const DARK: &str = "dark0";

    /// Makes the network.
    ///
    /// # Errors
    /// The kernel lacks a feature, or this user lacks the permission.
    pub fn new(options: RacksOptions) -> Result<Racks, HostError> {
        let RacksOptions { racks, hosts, .. } = options;
        let machines = (0..racks * hosts + racks + 1).map(|n| namespace::empty(&format!("m{n}")));
        let all = Racks { options, machines: machines.collect::<Result<_, _>>()? };
        let failed = |error: io::Error| HostError {
            host: "racks".into(),
            what: "be joined".into(),
            why: error.to_string(),
        };
        all.join().map_err(failed)?;
        Ok(all)
    }

    /// The number of a host among the machines.
    pub fn host(&self, rack: usize, host: usize) -> usize {
        rack * self.options.hosts + host
    }
    /// The number of a rack's switch among the machines.
    pub fn switch(&self, rack: usize) -> usize {
        self.options.racks * self.options.hosts + rack
    }
    /// The number of the arbiter among the machines.
    pub fn arbiter(&self) -> usize {
        self.switch(self.options.racks)
    }
    /// The number of racks.
    pub fn racks(&self) -> usize {
        self.options.racks
    }
    /// The address of a host.
    pub fn host_address(&self, rack: usize, host: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, 80, rack as u8, host as u8 + 1)
    }
    /// The address of a rack's switch for daemons; that of the arbiter follows those of all racks.
    pub fn control_address(rack: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, 78, 0, rack as u8 + 1)
    }
    /// The prefix of the addresses of the hosts in a rack.
    pub fn prefix(rack: usize) -> String {
        format!("10.80.{rack}.0/24")
    }

    /// Runs `work` on a thread in a machine's namespace.
    ///
    /// # Errors
    /// The errors of `work`.
    pub fn inside<T: Send>(
        &self,
        machine: usize,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        namespace::inside(self.namespace(machine), work)
    }

    fn namespace(&self, machine: usize) -> BorrowedFd<'_> {
        self.machines[machine].as_fd()
    }

    /// The packets that the packet network dropped because a queue was full.
    ///
    /// # Errors
    /// The statistics of the kernel cannot be read.
    pub fn dropped(&self) -> io::Result<u64> {
        (0..self.options.racks).map(|rack| counted(&format!("packet{rack}"), "(dropped ")).sum()
    }
    /// The bytes that wait in the packet network.
    ///
    /// # Errors
    /// The statistics of the kernel cannot be read.
    pub fn waiting(&self) -> io::Result<u64> {
        (0..self.options.racks).map(|rack| counted(&format!("packet{rack}"), "backlog ")).sum()
    }
    /// The packets that were sent to the optical switch when it was dark.
    ///
    /// # Errors
    /// The statistics of the kernel cannot be read.
    pub fn sent_in_the_dark(&self) -> io::Result<u64> {
        let text = std::fs::read_to_string("/proc/thread-self/net/dev")?;
        Ok(sent_packets(&text, Racks::DARK).unwrap_or_default())
    }

    fn join(&self) -> io::Result<()> {
        for bridge in ["control", "packet"] {
            ip(&format!("link add {bridge} type bridge"))?;
            ip(&format!("link set {bridge} up"))?;
        }
        ip(&format!("link add {} type veth peer name dark1", Racks::DARK))?;
        // It has no packets of its own.
        let ipv6 = format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", Racks::DARK);
        let _ = std::fs::write(ipv6, "1");
        ip(&format!("link set {} up", Racks::DARK))?;
        ip("link set dark1 up")?;
        (0..self.options.racks).try_for_each(|rack| self.join_rack(rack))?;
        let arbiter = self.arbiter();
        self.cable("control-a", "control", arbiter)?;
        ip("link set control-a master control")?;
        let address = Racks::control_address(self.options.racks);
        let addresses = [address, Racks::STANDBY];
        self.inside(arbiter, || {
            addresses.iter().try_for_each(|of| ip(&format!("address add {of}/24 dev control")))
        })
    }

    fn join_rack(&self, rack: usize) -> io::Result<()> {
        let switch = self.switch(rack);
        for (port, interface) in
            [("control", "control"), ("packet", "packet"), ("optical", "circuit")]
        {
            self.cable(&format!("{port}{rack}"), interface, switch)?;
        }
        ip(&format!("link set control{rack} master control"))?;
        ip(&format!("link set packet{rack} master packet"))?;
        limit(&format!("packet{rack}"), self.options.packet)?;
        run("tc", &format!("qdisc add dev optical{rack} handle ffff: ingress"))?;
        self.inside(switch, || self.configure_switch(rack))?;
        (0..self.options.hosts).try_for_each(|host| self.join_host(rack, host))
    }

    /// Cables a port in the present namespace to a new interface of a machine.
    fn cable(&self, port: &str, interface: &str, machine: usize) -> io::Result<()> {
        self.cable_in(port, interface, machine)?;
        ip(&format!("link set {port} up gso_max_segs 1"))?;
        self.inside(machine, || {
            ip("link set lo up")?;
            ip(&format!("link set {interface} up gso_max_segs 1"))
        })
    }
    fn cable_in(&self, port: &str, interface: &str, machine: usize) -> io::Result<()> {
        let mtu = self.options.mtu;
        let file = self.machines[machine].as_raw_fd();
        let namespace = format!("/proc/{}/fd/{file}", std::process::id());
        ip(&format!(
            "link add {port} mtu {mtu} type veth peer name {interface} mtu {mtu} netns {namespace}"
        ))
    }

    /// A router between the hosts of the rack, the packet network, and the port at the optical switch.
    fn configure_switch(&self, rack: usize) -> io::Result<()> {
        for (key, value) in
            [("ip_forward", "1"), ("conf/all/rp_filter", "0"), ("conf/default/rp_filter", "0")]
        {
            std::fs::write(format!("/proc/sys/net/ipv4/{key}"), value)?;
        }
        let both = self.options.families == Families::Both;
        if both {
            std::fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1")?;
        }
        let (own, ip_all) = (rack + 1, |line: &str| self.options.families.ip(line));
        ip("link add hosts type bridge")?;
        ip("link set hosts up")?;
        ip_all(&format!("address add 10.80.{rack}.254/24 dev hosts"))?;
        ip(&format!("address add {}/24 dev control", Racks::control_address(rack)))?;
        ip_all(&format!("address add 10.79.0.{own}/24 dev packet"))?;
        ip(&format!("link set circuit address {}", circuit_card(rack)))?;
        if !both {
            // Only packets of hosts are sent to the optical switch.
            let _ = std::fs::write("/proc/sys/net/ipv6/conf/circuit/disable_ipv6", "1");
        }
        ip_all(&format!("address add 10.77.0.{own}/24 dev circuit"))?;
        std::fs::write("/proc/sys/net/ipv4/conf/circuit/rp_filter", "0")?;
        std::fs::write("/proc/sys/net/ipv4/conf/packet/rp_filter", "0")?;
        ip_all(&format!("rule add fwmark {} table {TABLE}", Racks::MARK))?;
        for other in (0..self.options.racks).filter(|other| *other != rack) {
            let (prefix, far, card) = (Racks::prefix(other), other + 1, circuit_card(other));
            ip_all(&format!("route add {prefix} via 10.79.0.{far} dev packet"))?;
            // Nobody answers requests for addresses in a night.
            let neighbour = format!("10.77.0.{far} lladdr {card} dev circuit nud permanent");
            ip_all(&format!("neighbour add {neighbour}"))?;
            ip_all(&format!("route add {prefix} via 10.77.0.{far} dev circuit table {TABLE}"))?;
        }
        Ok(())
    }

    fn join_host(&self, rack: usize, host: usize) -> io::Result<()> {
        let (machine, port) = (self.host(rack, host), format!("host{host}"));
        let file = self.machines[machine].as_raw_fd();
        let namespace = format!("/proc/{}/fd/{file}", std::process::id());
        let mtu = self.options.mtu;
        self.inside(self.switch(rack), || {
            ip(&format!(
                "link add {port} mtu {mtu} type veth peer name eth0 mtu {mtu} netns {namespace}"
            ))?;
            ip(&format!("link set {port} master hosts up gso_max_segs 1"))
        })?;
        let address = self.host_address(rack, host);
        self.inside(machine, || {
            ip("link set lo up")?;
            ip("link set eth0 up gso_max_segs 1")?;
            let families = self.options.families;
            families.ip(&format!("address add {address}/24 dev eth0"))?;
            families.ip(&format!("route add default via 10.80.{rack}.254"))
        })
    }
}

/// Limits what a port sends.
fn limit(port: &str, limit: Limit) -> io::Result<()> {
    run("tc", &format!("qdisc add dev {port} root tbf {}", limit.shape(BURST)))
}

/// The hardware address of a rack's port at the optical switch.
fn circuit_card(rack: usize) -> String {
    format!("02:00:00:00:77:{:02x}", rack + 1)
}

/// The packets that an interface has sent, from the kernel's table of interfaces.
fn sent_packets(text: &str, interface: &str) -> Option<u64> {
    let row = |line: &str| {
        line.trim_start().strip_prefix(interface)?.strip_prefix(':').map(str::to_owned)
    };
    text.lines().find_map(row)?.split_whitespace().nth(9)?.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_of_interfaces_is_read() {
        let text = "Inter-|   Receive\n    lo: 1 2 3 4 5 6 7 8 9 10\n dark0:       0       0    0    0    0     0          0         0     4410      49    0 0 0 0 0 0\n";
        assert_eq!(super::sent_packets(text, "dark0"), Some(49));
        assert_eq!(super::sent_packets(text, "dark"), None);
    }
}
