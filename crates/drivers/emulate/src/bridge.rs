//! Hosts joined by the kernel's own bridge: a reference for the modelled switch, and a network for daemons.

use crate::families::Families;
use crate::namespace::{self, HostError};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::process::Command;

/// The configuration of a bridge and its links.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BridgeOptions {
    /// The largest IP packet in bytes.
    pub mtu: u32,
    /// The limit of the port to each host; `None`: as fast as the kernel can.
    pub limit: Option<Limit>,
    /// The protocols of hosts.
    pub families: Families,
    /// Whether packets pass the bridge one by one, as in a modelled switch. Otherwise hosts join segments up to 16 KB,
    /// which the bridge does not split.
    pub one_by_one: bool,
}

/// The limit of a port of a bridge.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limit {
    /// Bits per second.
    pub rate: u64,
    /// Room for waiting packets, in bytes.
    pub buffer: u64,
}

impl Limit {
    /// Its parameters for the queue discipline `tbf`, where `burst` bytes may leave at once.
    pub(crate) fn shape(self, burst: u64) -> String {
        format!("rate {}bit burst {burst} limit {}", self.rate, self.buffer)
    }
}

/// A bridge in the present network namespace, which should belong to this process alone, with a network namespace at
/// each port.
pub struct Bridge {
    hosts: Vec<OwnedFd>,
}

const NAME: &str = "bridge0";
/// The interface of a host.
const INTERFACE: &str = "veth0";
/// Bytes that a port of limited rate may send at once. It is a few packets, because timers of the kernel are coarse.
pub(crate) const BURST: u64 = 16_000;
/// The same where hosts join segments.
const JOINED_BURST: u64 = 64_000;
const JOINED: &str = "gso_max_size 16384";

impl Bridge {
    /// The interface of the bridge to the first host.
    pub const PORT0: &str = "port0";

    /// Joins hosts that have these addresses.
    ///
    /// # Errors
    /// The kernel lacks a feature, or this user lacks the permission.
    pub fn new(addresses: &[Ipv4Addr], options: &BridgeOptions) -> Result<Bridge, HostError> {
        let hosts = (0..addresses.len()).map(|n| namespace::empty(&format!("h{n}")));
        let bridge = Bridge { hosts: hosts.collect::<Result<_, _>>()? };
        let failed = |error: io::Error| HostError {
            host: NAME.into(),
            what: "be created".into(),
            why: error.to_string(),
        };
        bridge.join(addresses, options).map_err(failed)?;
        Ok(bridge)
    }

    fn join(&self, addresses: &[Ipv4Addr], options: &BridgeOptions) -> io::Result<()> {
        let mtu = options.mtu;
        let (joined, burst) = match options.one_by_one {
            true => ("gso_max_segs 1", BURST),
            false => (JOINED, JOINED_BURST),
        };
        ip(&format!("link add {NAME} mtu {mtu} type bridge"))?;
        ip(&format!("link set {NAME} up"))?;
        for (n, address) in addresses.iter().enumerate() {
            let file = self.hosts[n].as_raw_fd();
            let namespace = format!("/proc/{}/fd/{file}", std::process::id());
            ip(&format!(
                "link add port{n} mtu {mtu} type veth peer name {INTERFACE} mtu {mtu} netns {namespace}"
            ))?;
            ip(&format!("link set port{n} master {NAME} up {joined}"))?;
            if let Some(limit) = options.limit {
                run("tc", &format!("qdisc add dev port{n} root tbf {}", limit.shape(burst)))?;
            }
            self.inside(n, || {
                ip("link set lo up")?;
                ip(&format!("link set {INTERFACE} up {joined}"))?;
                options.families.ip(&format!("address add {address}/24 dev {INTERFACE}"))
            })?;
        }
        Ok(())
    }

    /// The namespace of a host.
    pub fn namespace(&self, host: usize) -> BorrowedFd<'_> {
        self.hosts[host].as_fd()
    }

    /// Runs `work` on a thread in a host's namespace. Sockets that it opens and programs that it starts belong to the
    /// host.
    ///
    /// # Errors
    /// The errors of `work`.
    pub fn inside<T: Send>(
        &self,
        host: usize,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        namespace::inside(self.namespace(host), work)
    }

    /// The number of packets for a host that the bridge dropped because its queue was full.
    ///
    /// # Errors
    /// The statistics of the kernel cannot be read.
    pub fn dropped(&self, host: usize) -> io::Result<u64> {
        counted(&format!("port{host}"), "(dropped ")
    }

    /// The number of bytes for a host that wait at the bridge.
    ///
    /// # Errors
    /// The statistics of the kernel cannot be read.
    pub fn waiting(&self, host: usize) -> io::Result<u64> {
        counted(&format!("port{host}"), "backlog ")
    }
}

impl Drop for Bridge {
    /// Deletes the bridge. The other ends of its ports vanish with the hosts.
    fn drop(&mut self) {
        drop(ip(&format!("link delete {NAME}")));
    }
}

/// The number after `words` in the kernel's statistics of the queue of an interface.
pub(crate) fn counted(interface: &str, words: &str) -> io::Result<u64> {
    let output = Command::new("tc").args(["-s", "qdisc", "show", "dev", interface]).output()?;
    Ok(after(&String::from_utf8_lossy(&output.stdout), words))
}

/// The number after the first occurrence of `words`. Large numbers have a unit, in which `tc` counts by 1,024.
fn after(text: &str, words: &str) -> u64 {
    let Some(rest) = text.split(words).nth(1) else { return 0 };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let unit = match &rest[digits..] {
        rest if rest.starts_with('K') => 1 << 10,
        rest if rest.starts_with('M') => 1 << 20,
        _ => 1,
    };
    rest[..digits].parse::<u64>().map_or(0, |number| number * unit)
}

pub(crate) fn ip(command: &str) -> io::Result<()> {
    run("ip", command)
}

pub(crate) fn run(program: &str, command: &str) -> io::Result<()> {
    let output = Command::new(program).args(command.split_whitespace()).output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "{program} {command}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_the_kernel_says_is_read() {
        let text = "qdisc tbf 8001: root refcnt 2 rate 100Mbit\n Sent 10 bytes 2 pkt (dropped 37, overlimits 1 requeues 0)\n backlog 148Kb 101p requeues 0\n";
        assert_eq!(super::after(text, "(dropped "), 37);
        assert_eq!(super::after(text, "backlog "), 148 << 10);
        assert_eq!(super::after("", "backlog "), 0);
    }
}
