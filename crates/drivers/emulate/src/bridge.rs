//! Hosts joined by the kernel's own bridge: what a modelled switch is compared with, and a network for daemons.

use crate::namespace::{self, HostError};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::process::Command;

/// How a bridge and its links are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BridgeOptions {
    /// Bytes of the largest IP packet.
    pub mtu: u32,
    /// Bits per second at which the bridge sends to each host, and the bytes that may wait there; without it as fast as
    /// the kernel can.
    pub limit: Option<(u64, u64)>,
}

/// A bridge in the present network namespace, which should be this process' own, and network namespaces at its ports.
pub struct Bridge {
    hosts: Vec<OwnedFd>,
}

const NAME: &str = "bridge0";
/// The interface of a host.
const INTERFACE: &str = "veth0";
/// Bytes that a port of limited rate may send at once: a few packets, since timers of the kernel are coarse.
const BURST: u64 = 16_000;

impl Bridge {
    /// Joins hosts that have these addresses. Packets pass the bridge one by one, as they pass a modelled switch: hosts do not
    /// join segments.
    ///
    /// # Errors
    /// The kernel lacks a part or permission.
    pub fn new(addresses: &[Ipv4Addr], options: &BridgeOptions) -> Result<Bridge, HostError> {
        let hosts = (0..addresses.len()).map(|n| namespace::empty(&format!("h{n}")));
        let bridge = Bridge { hosts: hosts.collect::<Result<_, _>>()? };
        let failed = |error: io::Error| HostError {
            host: NAME.into(),
            what: "be made".into(),
            why: error.to_string(),
        };
        bridge.join(addresses, options).map_err(failed)?;
        Ok(bridge)
    }

    fn join(&self, addresses: &[Ipv4Addr], options: &BridgeOptions) -> io::Result<()> {
        let mtu = options.mtu;
        ip(&format!("link add {NAME} mtu {mtu} type bridge"))?;
        ip(&format!("link set {NAME} up"))?;
        for (n, address) in addresses.iter().enumerate() {
            let file = self.hosts[n].as_raw_fd();
            let namespace = format!("/proc/{}/fd/{file}", std::process::id());
            ip(&format!(
                "link add port{n} mtu {mtu} type veth peer name {INTERFACE} mtu {mtu} netns {namespace}"
            ))?;
            ip(&format!("link set port{n} master {NAME} up gso_max_segs 1"))?;
            if let Some((rate, buffer)) = options.limit {
                let shape = format!("rate {rate}bit burst {BURST} limit {buffer}");
                run("tc", &format!("qdisc add dev port{n} root tbf {shape}"))?;
            }
            self.inside(n, || {
                ip("link set lo up")?;
                ip(&format!("link set {INTERFACE} up gso_max_segs 1"))?;
                ip(&format!("address add {address}/24 dev {INTERFACE}"))
            })?;
        }
        Ok(())
    }

    /// The namespace of a host.
    pub fn namespace(&self, host: usize) -> BorrowedFd<'_> {
        self.hosts[host].as_fd()
    }

    /// Runs `work` on a thread in a host's namespace. Sockets that it opens and programs that it starts belong to the host.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn inside<T: Send>(
        &self,
        host: usize,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        namespace::inside(self.namespace(host), work)
    }

    /// Packets for a host that the bridge dropped, because too many waited.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn dropped(&self, host: usize) -> io::Result<u64> {
        Ok(after(&port(host)?, "(dropped "))
    }

    /// Bytes for a host that wait at the bridge.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn waiting(&self, host: usize) -> io::Result<u64> {
        Ok(after(&port(host)?, "backlog "))
    }
}

impl Drop for Bridge {
    /// The other ends of its ports vanish with the hosts.
    fn drop(&mut self) {
        drop(ip(&format!("link delete {NAME}")));
    }
}

/// What the kernel says of the port to a host.
fn port(host: usize) -> io::Result<String> {
    let arguments = ["-s", "qdisc", "show", "dev", &format!("port{host}")].map(str::to_owned);
    let output = Command::new("tc").args(arguments).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The number after the first `words`. Large ones have a unit: `tc` counts by 1,024.
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

fn ip(command: &str) -> io::Result<()> {
    run("ip", command)
}

fn run(program: &str, command: &str) -> io::Result<()> {
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
