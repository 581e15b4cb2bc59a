//! A fat-tree of Linux routers: a network for the daemons of schemes that decide on paths.
//!
//! Routers have a route for each network below them, and spread other packets over their ports upwards (equal-cost
//! multipath, by addresses and ports). Each has a seed of its own, where the kernel has one for each namespace.

use crate::bridge::{BURST, Limit, ip, run};
use crate::families::Families;
use crate::isolation::first_served;
use crate::namespace::{self, HostError};
use slotline_linux::command::command;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::Command;

/// The size of the network.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FatTreeOptions {
    /// Ports of each router: even, and at most 6.
    pub k: usize,
    /// The largest IP packet in bytes.
    pub mtu: u32,
    /// The limit of each port of a router.
    pub limit: Limit,
    /// The protocols of hosts and routers.
    pub families: Families,
    /// Whether hosts are in the network of the daemons, too.
    pub host_daemons: bool,
}

/// The network. The present network namespace, which should belong to this process alone, has the network of the daemons.
pub struct FatTree {
    options: FatTreeOptions,
    /// The hosts, then the routers from the edge to the core, then the machine of the arbiter.
    machines: Vec<OwnedFd>,
    /// The start of a command line for what must not wait for daemons.
    first: Vec<&'static str>,
}

/// A router, by its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Router {
    /// A router next to hosts: its pod, and its number there.
    Edge(usize, usize),
    /// A router between edge and core: its pod, and its number there.
    Aggregation(usize, usize),
    /// A router above pods.
    Core(usize),
}

/// One end of a cable.
#[derive(Clone, Copy)]
struct Port<'a> {
    machine: usize,
    interface: &'a str,
    /// The address and the length of its prefix.
    address: (Ipv4Addr, u8),
}

impl FatTree {
    /// Makes the network.
    ///
    /// # Errors
    /// The kernel lacks a feature, or this user lacks the permission.
    pub fn new(options: FatTreeOptions) -> Result<FatTree, HostError> {
        let half = options.k / 2;
        let count = options.k * half * half + options.k * options.k + half * half + 1;
        let machines = (0..count).map(|n| namespace::empty(&format!("m{n}")));
        let first = first_served().collect();
        let all = FatTree { options, machines: machines.collect::<Result<_, _>>()?, first };
        let failed = |error: io::Error| HostError {
            host: "fat-tree".into(),
            what: "be joined".into(),
            why: error.to_string(),
        };
        all.join().map_err(failed)?;
        Ok(all)
    }

    fn half(&self) -> usize {
        self.options.k / 2
    }
    /// The number of hosts, which are the first machines.
    pub fn hosts(&self) -> usize {
        self.options.k * self.half() * self.half()
    }
    /// All routers, from the edge to the core.
    pub fn routers(&self) -> impl Iterator<Item = Router> + use<> {
        let (k, half) = (self.options.k, self.half());
        let pods = move || (0..k).flat_map(move |pod| (0..half).map(move |n| (pod, n)));
        let edge = pods().map(|(pod, n)| Router::Edge(pod, n));
        let aggregation = pods().map(|(pod, n)| Router::Aggregation(pod, n));
        edge.chain(aggregation).chain((0..half * half).map(Router::Core))
    }
    /// The address of a second arbiter on the machine of the first.
    pub const STANDBY: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 250);

    /// The number of a router among the machines.
    pub fn machine(&self, router: Router) -> usize {
        let (pods, half) = (self.options.k * self.half(), self.half());
        self.hosts()
            + match router {
                Router::Edge(pod, n) => pod * half + n,
                Router::Aggregation(pod, n) => pods + pod * half + n,
                Router::Core(n) => 2 * pods + n,
            }
    }
    /// The number of the arbiter among the machines.
    pub fn arbiter(&self) -> usize {
        self.machines.len() - 1
    }
    /// The hosts at an edge router.
    pub fn hosts_of(&self, pod: usize, edge: usize) -> std::ops::Range<usize> {
        let first = (pod * self.half() + edge) * self.half();
        first..first + self.half()
    }
    /// The address of a host.
    pub fn host_address(&self, host: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, 80, (host / self.half()) as u8, (host % self.half()) as u8 + 1)
    }
    /// The address of a machine for daemons.
    pub fn control_address(&self, machine: usize) -> Ipv4Addr {
        match machine.checked_sub(self.hosts()) {
            Some(router) => Ipv4Addr::new(10, 78, 0, router as u8 + 1),
            None => Ipv4Addr::new(10, 78, 1, machine as u8 + 1),
        }
    }
    /// The routers above a router, and the addresses by which it reaches them.
    pub fn above(&self, router: Router) -> Vec<(Router, Ipv4Addr)> {
        let cables = self.cables().into_iter().zip(0..);
        let own = cables.filter(|((lower, _), _)| *lower == router);
        own.map(|((_, upper), n)| (upper, cable_address(n, 1))).collect()
    }

    /// The cables between routers, from the lower to the upper end.
    fn cables(&self) -> Vec<(Router, Router)> {
        let (half, mut cables) = (self.half(), Vec::new());
        for router in self.routers() {
            match router {
                Router::Edge(pod, _) => {
                    cables.extend((0..half).map(|n| (router, Router::Aggregation(pod, n))));
                }
                Router::Aggregation(_, n) => {
                    cables.extend((0..half).map(|c| (router, Router::Core(n * half + c))));
                }
                Router::Core(_) => {}
            }
        }
        cables
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
        namespace::inside(self.machines[machine].as_fd(), work)
    }

    /// Cuts the cable between two routers, or joins it again. The upper end has no carrier of its own, so its routes are
    /// set again, as a routing protocol would.
    ///
    /// # Errors
    /// There is no such cable, or the kernel refuses.
    pub fn set_cable(&self, lower: Router, upper: Router, works: bool) -> io::Result<()> {
        let at = self.cable_between(lower, upper)?;
        let state = if works { "up" } else { "down" };
        let line = format!("ip link set down{at} {state}");
        self.inside(self.machine(upper), || self.at_once(&line, ""))?;
        if works { self.route(upper) } else { Ok(()) }
    }

    /// Lets the cable between two routers lose this share of packets in both directions, in percent; 0: none.
    ///
    /// # Errors
    /// There is no such cable, or the kernel refuses.
    pub fn set_loss(&self, lower: Router, upper: Router, percent: u8) -> io::Result<()> {
        let at = self.cable_between(lower, upper)?;
        for (router, port) in [(lower, format!("up{at}")), (upper, format!("down{at}"))] {
            let drop = match percent {
                0 => String::new(),
                _ => format!(
                    "table inet lossy {{\nchain out {{\ntype filter hook forward priority 0; policy accept;\n\
                     oifname \"{port}\" numgen random mod 100 < {percent} drop\n}}\n}}\n"
                ),
            };
            let rules = format!("table inet lossy\ndelete table inet lossy\n{drop}");
            self.inside(self.machine(router), || self.at_once("nft -f -", &rules))?;
        }
        Ok(())
    }

    /// Runs a command before daemons have their turn.
    fn at_once(&self, line: &str, input: &str) -> io::Result<()> {
        let words: Vec<&str> = self.first.iter().copied().chain(line.split(' ')).collect();
        command(words[0], &words[1..], input).map_err(io::Error::other)
    }

    fn cable_between(&self, lower: Router, upper: Router) -> io::Result<usize> {
        let at = self.cables().iter().position(|cable| *cable == (lower, upper));
        at.ok_or_else(|| io::Error::other("there is no such cable"))
    }

    /// The packets that routers dropped because a queue was full.
    ///
    /// # Errors
    /// The statistics of the kernel cannot be read.
    pub fn dropped(&self) -> io::Result<u64> {
        let of = |router: Router| self.inside(self.machine(router), dropped_here);
        self.routers().map(of).sum()
    }

    fn join(&self) -> io::Result<()> {
        ip("link add control type bridge")?;
        ip("link set control up")?;
        for (n, router) in (1..).zip(self.routers()) {
            self.inside(self.machine(router), || configure_router(n, self.options.families))?;
        }
        (0..self.hosts()).try_for_each(|host| self.join_host(host))?;
        for (n, (lower, upper)) in (0..).zip(self.cables()) {
            let (up, down) = (format!("up{n}"), format!("down{n}"));
            let end = |router, interface, side| Port {
                machine: self.machine(router),
                interface,
                address: (cable_address(n, side), 31),
            };
            let ends = [end(lower, &up, 0), end(upper, &down, 1)];
            self.cable(ends)?;
            ends.iter().try_for_each(|end| self.limit(end))?;
        }
        self.routers().try_for_each(|router| self.route(router))?;
        let without_core = self.routers().filter(|router| !matches!(router, Router::Core(_)));
        let hosts = 0..if self.options.host_daemons { self.hosts() } else { 0 };
        let machines = without_core.map(|router| self.machine(router)).chain([self.arbiter()]);
        machines
            .chain(hosts)
            .collect::<Vec<_>>()
            .into_iter()
            .try_for_each(|machine| self.join_control(machine))?;
        let standby = FatTree::STANDBY;
        self.inside(self.arbiter(), || ip(&format!("address add {standby}/16 dev control")))
    }

    fn join_host(&self, host: usize) -> io::Result<()> {
        let (half, address) = (self.half(), self.host_address(host));
        let [a, b, c, _] = address.octets();
        // Each host has a network of its own with its router.
        let gateway = Ipv4Addr::new(a, b, c, 254 - (host % half) as u8);
        let edge = self.machine(Router::Edge(host / half / half, host / half % half));
        let port = format!("host{host}");
        let router = Port { machine: edge, interface: &port, address: (gateway, 32) };
        let card = Port { machine: host, interface: "eth0", address: (address, 32) };
        self.cable([card, router])?;
        self.limit(&router)?;
        // A host queues packets itself, so its card drops none.
        self.limit_to(&card, Limit { buffer: 1 << 20, ..self.options.limit })?;
        self.inside(host, || {
            ip("link set lo up")?;
            self.ip(&format!("route add {gateway} dev eth0"))?;
            self.ip(&format!("route add default via {gateway}"))
        })?;
        self.inside(edge, || self.ip(&format!("route add {address} dev {port}")))
    }

    /// Makes a cable with these ends.
    fn cable(&self, ends: [Port<'_>; 2]) -> io::Result<()> {
        let ([near, far], mtu) = (ends, self.options.mtu);
        let namespace = self.name(far.machine);
        let (here, there) = (near.interface, far.interface);
        self.inside(near.machine, || {
            ip(&format!(
                "link add {here} mtu {mtu} type veth peer name {there} mtu {mtu} netns {namespace}"
            ))
        })?;
        for Port { machine, interface, address: (address, bits) } in ends {
            self.inside(machine, || {
                ip(&format!("link set {interface} up gso_max_segs 1"))?;
                self.ip(&format!("address add {address}/{bits} dev {interface}"))
            })?;
        }
        Ok(())
    }

    fn name(&self, machine: usize) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.machines[machine].as_raw_fd())
    }

    fn limit(&self, end: &Port<'_>) -> io::Result<()> {
        self.limit_to(end, self.options.limit)
    }
    fn limit_to(&self, end: &Port<'_>, limit: Limit) -> io::Result<()> {
        let line = format!("qdisc add dev {} root tbf {}", end.interface, limit.shape(BURST));
        self.inside(end.machine, || run("tc", &line))
    }

    /// Runs `ip`, for IPv6, too, if routers have it.
    fn ip(&self, line: &str) -> io::Result<()> {
        self.options.families.ip(line)
    }

    /// Sets the routes of a router: networks below, and a default route upwards.
    fn route(&self, router: Router) -> io::Result<()> {
        let (machine, half) = (self.machine(router), self.half());
        let above = self.above(router);
        if !above.is_empty() {
            let hops: String =
                above.iter().map(|(_, address)| format!(" nexthop via {address}")).collect();
            self.inside(machine, || self.ip(&format!("route replace default{hops}")))?;
        }
        for (n, (lower, upper)) in (0..).zip(self.cables()) {
            if upper != router {
                continue;
            }
            let edges = match lower {
                Router::Edge(pod, edge) => pod * half + edge..pod * half + edge + 1,
                Router::Aggregation(pod, _) => pod * half..(pod + 1) * half,
                Router::Core(_) => 0..0,
            };
            let via = cable_address(n, 0);
            for edge in edges {
                let line = format!("route replace 10.80.{edge}.0/24 via {via}");
                self.inside(machine, || self.ip(&line))?;
            }
        }
        Ok(())
    }

    fn join_control(&self, machine: usize) -> io::Result<()> {
        let (port, namespace) = (format!("control{machine}"), self.name(machine));
        ip(&format!("link add {port} type veth peer name control netns {namespace}"))?;
        ip(&format!("link set {port} master control up"))?;
        let address = self.control_address(machine);
        self.inside(machine, || {
            ip("link set lo up")?;
            ip("link set control up")?;
            ip(&format!("address add {address}/16 dev control"))
        })
    }
}

/// The address of an end of a cable between routers; side 0 is the lower one.
fn cable_address(n: usize, side: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 81, (n / 128) as u8, (n % 128 * 2) as u8 + side)
}

/// Makes the present namespace a router that spreads packets by their addresses and ports.
fn configure_router(seed: u32, families: Families) -> io::Result<()> {
    let set = |family: &str, key: &str, value: &str| {
        std::fs::write(format!("/proc/sys/net/{family}/{key}"), value)
            .map_err(|error| io::Error::other(format!("net.{family}.{key}: {error}")))
    };
    for (key, value) in [
        ("ip_forward", "1"),
        ("conf/all/rp_filter", "0"),
        ("conf/default/rp_filter", "0"),
        ("fib_multipath_hash_policy", "1"),
        ("conf/all/ignore_routes_with_linkdown", "1"),
        ("conf/default/ignore_routes_with_linkdown", "1"),
    ] {
        set("ipv4", key, value)?;
    }
    if families == Families::Both {
        for (key, value) in [
            ("conf/all/forwarding", "1"),
            ("fib_multipath_hash_policy", "1"),
            ("conf/all/ignore_routes_with_linkdown", "1"),
            ("conf/default/ignore_routes_with_linkdown", "1"),
            ("conf/all/keep_addr_on_down", "1"),
        ] {
            set("ipv6", key, value)?;
        }
    }
    // Kernels before 6.11 have one seed for all.
    let _ = std::fs::write("/proc/sys/net/ipv4/fib_multipath_hash_seed", seed.to_string());
    ip("link set lo up")
}

/// The packets that queues of the present namespace dropped.
fn dropped_here() -> io::Result<u64> {
    let output = Command::new("tc").args(["-s", "qdisc", "show"]).output()?;
    Ok(sum_dropped(&String::from_utf8_lossy(&output.stdout)))
}

fn sum_dropped(text: &str) -> u64 {
    let number = |rest: &str| rest.split(',').next().and_then(|number| number.parse::<u64>().ok());
    text.split("(dropped ").skip(1).filter_map(number).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_of_all_queues_count() {
        let text = " Sent 10 bytes 2 pkt (dropped 37, overlimits 1 requeues 0)\n Sent 10 bytes 2 pkt (dropped 5, overlimits 1 requeues 0)\n";
        assert_eq!((sum_dropped(text), sum_dropped("")), (42, 0));
    }
}
