//! Packets that this machine forwards from one interface to another, as a bridge or as a router. Each packet waits in a
//! queue of netfilter until a program decides about it.
//!
//! If no program listens on the queue, or if the queue is full, packets pass. A program that is killed or too slow
//! therefore does not cut the link.

use crate::nfqueue::{NfQueue, Settings, Verdict};
use crate::rules::{Chain, Family};
use std::fmt::Write;
use std::io;
use std::process::Command;

/// The number of bytes copied of each packet: all, so that a program can change them.
const COPIED: u16 = u16::MAX;
/// The options of bridges that pass packets to the rules of iptables, one for each family.
const FILTERED: [&str; 2] = ["nf_call_iptables", "nf_call_ip6tables"];

/// The packets to queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Crossed {
    /// The interface by which they arrive; `None` if any.
    pub input: Option<String>,
    /// The interface by which they leave.
    pub output: String,
    /// The number of the queue, which the chain of rules is named after.
    pub queue: u16,
}

/// The queue and its rules. Dropping it removes the rules.
#[derive(Debug)]
pub struct Crossing {
    /// The queue.
    pub queue: NfQueue,
    chain: Chain,
    /// Commands of `ip` that reset the changed options of a bridge.
    options: Vec<String>,
}

impl Crossing {
    /// Starts to queue packets of the present network namespace.
    ///
    /// # Errors
    /// An interface does not exist, the two are not ports of one bridge, or the kernel, `ip` or `iptables` refuses.
    pub fn open(crossed: &Crossed) -> io::Result<Crossing> {
        let bridge = crossed.bridge()?;
        let settings = Settings {
            number: crossed.queue,
            copied: COPIED,
            verdict: Verdict::Accept,
            pass_when_full: true,
            as_they_are: false,
        };
        let queue = NfQueue::open(settings)?;
        let chain = Chain { hook: "FORWARD", queue: crossed.queue };
        let mut crossing = Crossing { queue, chain, options: Vec::new() };
        if let Some(bridge) = &bridge {
            crossing.filter(bridge)?;
        }
        for family in Family::ALL {
            crossing.chain.remove(family);
            let lines = crossed.lines(&crossing.chain, bridge.is_some());
            crossing.chain.install(family, &lines).map_err(io::Error::other)?;
        }
        Ok(crossing)
    }

    /// Makes the bridge pass its packets to the rules of iptables.
    fn filter(&mut self, bridge: &str) -> io::Result<()> {
        let shown = ip(&["-d", "link", "show", "dev", bridge])?;
        for option in FILTERED {
            match after(&shown, option) {
                Some("1") => continue,
                Some(_) => ip(&["link", "set", bridge, "type", "bridge", option, "1"])?,
                None => {
                    return Err(io::Error::other(
                        "the bridge does not pass its packets to iptables: load the module br_netfilter",
                    ));
                }
            };
            self.options.push(format!("link set {bridge} type bridge {option} 0"));
        }
        Ok(())
    }
}

impl Drop for Crossing {
    fn drop(&mut self) {
        for family in Family::ALL {
            self.chain.remove(family);
        }
        for option in &self.options {
            let _ = ip(&option.split(' ').collect::<Vec<_>>());
        }
    }
}

impl Crossed {
    /// The bridge that forwards these packets; `None` where the kernel routes them.
    fn bridge(&self) -> io::Result<Option<String>> {
        let of_output = master(&self.output)?;
        let Some(input) = &self.input else { return Ok(of_output) };
        match (master(input)?, of_output) {
            (of_input, of_output) if of_input == of_output => Ok(of_output),
            _ => Err(io::Error::other(format!(
                "`{input}` and `{}` are not ports of the same bridge",
                self.output
            ))),
        }
    }

    fn lines(&self, chain: &Chain, bridged: bool) -> String {
        let [input, output] = match bridged {
            true => ["--physdev-in", "--physdev-out"],
            false => ["-i", "-o"],
        };
        let mut line = chain.line();
        if bridged {
            line += " -m physdev --physdev-is-bridged";
        }
        if let Some(interface) = &self.input {
            let _ = write!(line, " {input} {interface}");
        }
        let _ = writeln!(line, " {output} {} {}", self.output, chain.target());
        line
    }
}

/// The bridge of which `interface` is a port; `None` if it is no port.
fn master(interface: &str) -> io::Result<Option<String>> {
    let well_formed = |c: char| !c.is_whitespace() && !c.is_control() && c != '/';
    if interface.is_empty() || interface.starts_with('-') || !interface.chars().all(well_formed) {
        return Err(io::Error::other(format!("`{interface}` is not the name of an interface")));
    }
    Ok(after(&ip(&["link", "show", "dev", interface])?, "master").map(str::to_owned))
}

/// The word after the first `key`.
fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_whitespace().skip_while(|word| *word != key).nth(1)
}

/// Runs `ip` and returns its output.
fn ip(arguments: &[&str]) -> io::Result<String> {
    let output =
        Command::new("ip").args(arguments).output().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                io::Error::other("the program `ip` is not installed (iproute2)")
            }
            _ => error,
        })?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_the_interfaces_of_routers_and_of_bridges() {
        let chain = Chain { hook: "FORWARD", queue: 9 };
        let crossed = Crossed { input: Some("eth0".into()), output: "eth1".into(), queue: 9 };
        let routed = "-A SLOTLINE-9 -i eth0 -o eth1 -j NFQUEUE --queue-num 9 --queue-bypass\n";
        assert_eq!(crossed.lines(&chain, false), routed);
        let crossed = Crossed { input: None, ..crossed };
        let bridged = "-A SLOTLINE-9 -m physdev --physdev-is-bridged --physdev-out eth1 -j NFQUEUE --queue-num 9 --queue-bypass\n";
        assert_eq!(crossed.lines(&chain, true), bridged);
    }

    #[test]
    fn names_of_interfaces_are_checked() {
        for name in ["", "-a", "a b", "a/b", "a\nb"] {
            assert!(
                master(name).unwrap_err().to_string().contains("not the name of an interface"),
                "{name:?}"
            );
        }
    }

    #[test]
    fn the_bridge_of_a_port_is_read() {
        let text = "7: port0@if2: <UP> mtu 1500 qdisc noqueue master bridge0 state UP mode DEFAULT";
        assert_eq!(after(text, "master"), Some("bridge0"));
        assert_eq!(after(text, "nf_call_iptables"), None);
    }
}
