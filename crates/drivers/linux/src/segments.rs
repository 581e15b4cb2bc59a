//! How many segments TCP joins for a card. What is held as one packet must fit into a slot, so the interfaces by which a
//! host reaches its network get a limit while packets are held.

use crate::command::{command, output};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::io;
use std::net::IpAddr;

/// The headers of IP and TCP are at least this long.
const HEADERS: u32 = 40;
/// The longest packet of the kernel, in bytes.
const LONGEST: u32 = 65_535;
/// What the kernel subtracts from the limit in bytes for headers, at most.
const SPARE: u32 = 512;
/// Forgets the routes that IPv4 sockets have chosen, so that they read the limit of their interface again.
const FORGET: &str = "/proc/sys/net/ipv4/route/flush";

/// Segments that are held as one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segments {
    /// The longest IP packet of a segment, in bytes.
    pub mtu: u32,
    /// The most segments of a packet.
    pub most: u32,
}

impl Segments {
    /// As many segments of `mtu` bytes as take at most `bytes` on the wire, where each has `framing` bytes besides;
    /// `None` if these are fewer than two.
    pub fn within(bytes: u64, mtu: u32, framing: u32) -> Option<Segments> {
        let each = u64::from(mtu + framing).max(1);
        let most = (bytes.min(LONGEST.into()) / each) as u32;
        (most > 1).then_some(Segments { mtu, most })
    }

    /// The longest IP packet that these segments make, in bytes.
    pub fn longest(self) -> u16 {
        (self.most * (self.mtu - HEADERS.min(self.mtu)) + HEADERS).min(LONGEST) as u16
    }
}

/// Limits of interfaces, which return to their former values when this is dropped.
#[derive(Debug)]
pub struct Limits {
    /// The interfaces, each with the commands of `ip` that restore it.
    restore: String,
    segments: Segments,
}

impl Limits {
    /// Limits the interfaces by which this host reaches `destinations`: segments that TCP joins take at most `bytes` on the
    /// wire, where each has `framing` bytes besides its IP packet. With `killed`, a killed program may have left limits,
    /// and those of the kernel take their place in the end.
    ///
    /// # Errors
    /// `ip` is missing, there is no such interface, fewer than two segments fit, or the kernel refuses.
    pub fn set(
        destinations: &[IpAddr],
        bytes: u64,
        framing: u32,
        killed: bool,
    ) -> io::Result<Limits> {
        let interfaces = interfaces(destinations)?;
        let mtu = interfaces.iter().map(|of| of.mtu).max();
        let mtu = mtu.ok_or_else(|| io::Error::other("no interface leads to the network"))?;
        let segments = Segments::within(bytes, mtu, framing)
            .ok_or_else(|| io::Error::other("fewer than two segments fit"))?;
        let mut limits = Limits { restore: String::new(), segments };
        let mut set = String::new();
        for of in interfaces {
            let before = if killed { of.usual() } else { of };
            before.write(&mut limits.restore);
            before.limited(segments).write(&mut set);
        }
        batch(&set)?;
        forget_routes();
        Ok(limits)
    }

    /// The segments that are joined.
    pub fn segments(&self) -> Segments {
        self.segments
    }
}

impl Drop for Limits {
    fn drop(&mut self) {
        // An interface may have vanished meanwhile.
        let _ = batch(&self.restore);
        forget_routes();
    }
}

/// The limits of an interface.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Interface {
    name: String,
    mtu: u32,
    /// Bytes and segments that are joined, and those that the card takes.
    size: u32,
    segments: u32,
    most_size: u32,
    most_segments: u32,
}

impl Interface {
    /// Reads what `ip -details -oneline link` shows of an interface.
    fn read(name: &str, shown: &str) -> Option<Interface> {
        let after = |key: &str| {
            let mut words = shown.split_whitespace().skip_while(|word| *word != key);
            words.nth(1)?.parse().ok()
        };
        Some(Interface {
            name: name.into(),
            mtu: after("mtu")?,
            size: after("gso_max_size")?,
            segments: after("gso_max_segs")?,
            most_size: after("tso_max_size").unwrap_or(LONGEST + 1),
            most_segments: after("tso_max_segs").unwrap_or(LONGEST),
        })
    }

    /// With the kernel's own limits.
    fn usual(self) -> Interface {
        let (size, segments) = (self.most_size.min(LONGEST + 1), self.most_segments.min(LONGEST));
        Interface { size, segments, ..self }
    }

    fn limited(&self, Segments { mtu, most }: Segments) -> Interface {
        let size = (most * mtu + SPARE).min(self.size);
        Interface { size, segments: most.min(self.segments), ..self.clone() }
    }

    fn write(&self, out: &mut String) {
        let Interface { name, size, segments, .. } = self;
        let _ = writeln!(out, "link set dev {name} gso_max_size {size} gso_max_segs {segments}");
    }
}

/// The names of the interfaces by which this host reaches others.
pub(crate) fn interface_names(destinations: &[IpAddr]) -> io::Result<Vec<String>> {
    let lines = |four: bool| {
        let of = destinations.iter().filter(move |address| address.is_ipv4() == four);
        of.map(|address| format!("route get {address}\n")).collect::<String>()
    };
    let mut names = BTreeSet::new();
    for (family, lines) in [("-4", lines(true)), ("-6", lines(false))] {
        // Hosts without a route are left out, and `ip` then ends with an error.
        let ask = ["-c", "ip \"$0\" -force -batch - 2>/dev/null || true", family];
        let routes = output("sh", &ask, &lines).map_err(io::Error::other)?;
        names.extend(routes.lines().filter_map(interface_of).map(str::to_owned));
    }
    Ok(names.into_iter().collect())
}

/// The interfaces by which this host reaches others.
fn interfaces(destinations: &[IpAddr]) -> io::Result<Vec<Interface>> {
    let shown = |name: &String| {
        let arguments = ["-details", "-oneline", "link", "show", "dev", name];
        let shown = output("ip", &arguments, "").map_err(io::Error::other)?;
        Interface::read(name, &shown)
            .ok_or_else(|| io::Error::other(format!("`ip` does not show the limits of {name}")))
    };
    interface_names(destinations)?.iter().map(shown).collect()
}

/// The interface of a route that `ip route get` shows; `None` if it does not leave the host.
fn interface_of(route: &str) -> Option<&str> {
    let name = route.split_whitespace().skip_while(|word| *word != "dev").nth(1)?;
    (name != "lo").then_some(name)
}

fn batch(commands: &str) -> io::Result<()> {
    command("ip", &["-batch", "-"], commands).map_err(io::Error::other)
}

/// Connections that exist read the limits again with their next packet. Those of IPv6 keep their limits; their longer
/// packets are split.
fn forget_routes() {
    let _ = std::fs::write(FORGET, "0");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn segments_fit_into_the_bytes() {
        let within = |bytes| Segments::within(bytes, 1_500, 38);
        assert_eq!(within(3_075), None);
        assert_eq!(within(3_076), Some(Segments { mtu: 1_500, most: 2 }));
        assert_eq!(within(u64::MAX), Some(Segments { mtu: 1_500, most: 42 }));
        assert_eq!(within(3_076).unwrap().longest(), 2_960);
        assert_eq!(Segments::within(1 << 20, 65_536, 0), None);
    }

    proptest! {
        /// Each segment has headers of its own on the wire.
        #[test]
        fn the_longest_packet_takes_no_more(bytes in 0u64..200_000, mtu in 576u32..=9_000, headers in 40u32..=120) {
            let Some(segments) = Segments::within(bytes, mtu, 38) else { return Ok(()) };
            let payload = u64::from(segments.most * (mtu - headers));
            let length = payload + u64::from(headers);
            prop_assert!(length <= u64::from(segments.longest()));
            let wire = payload + u64::from(segments.most * (headers + 38));
            prop_assert!(wire <= bytes && wire <= LONGEST.into());
        }
    }

    #[test]
    fn limits_are_read_changed_and_restored() {
        let shown = "7: eth0@if2: <UP> mtu 1500 qdisc noqueue \\ numrxqueues 2 gso_max_size 65536 gso_max_segs 65535 \
                     tso_max_size 524280 tso_max_segs 65535 gro_max_size 65536";
        let read = Interface::read("eth0", shown).unwrap();
        let text = |of: &Interface| {
            let mut out = String::new();
            of.write(&mut out);
            out
        };
        assert_eq!(text(&read), "link set dev eth0 gso_max_size 65536 gso_max_segs 65535\n");
        let limited = read.limited(Segments { mtu: 1_500, most: 8 });
        assert_eq!(text(&limited), "link set dev eth0 gso_max_size 12512 gso_max_segs 8\n");
        assert_eq!(limited.usual(), read);
        let lower = Interface { size: 4_000, segments: 1, ..read };
        assert_eq!(lower.limited(Segments { mtu: 1_500, most: 8 }), lower, "never raised");
        assert_eq!(Interface::read("eth0", "7: eth0: mtu 1500"), None);
    }

    #[test]
    fn interfaces_of_routes() {
        let routes = "10.1.0.2 via 10.2.0.1 dev eth1 src 10.2.0.9 uid 0";
        assert_eq!(interface_of(routes), Some("eth1"));
        assert_eq!(interface_of("local 10.1.0.1 dev lo src 10.1.0.1 uid 0"), None);
        assert_eq!(interface_of("    cache"), None);
    }
}
