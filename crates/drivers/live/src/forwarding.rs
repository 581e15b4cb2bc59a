//! What an agent on a switch knows of the flows that the kernel forwards: their counts, their numbers, their paths.

use crate::clock::Local;
use crate::uplinks::Uplinks;
use slotline_linux::flows::{Flow, FlowOptions, FlowRules, OnPath, PROTOCOLS};
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// The most bytes that a packet of the node stands for.
const LONGEST: u64 = u16::MAX as u64;

/// The hosts of a network, as a switch sees them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hosts {
    /// The host of each address.
    pub all: HashMap<IpAddr, HostId>,
    /// The hosts at this switch.
    pub own: Vec<HostId>,
}

/// A flow that the kernel counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Known {
    conn: u32,
    /// Bytes since the kernel began to count it.
    bytes: u64,
    seen: Local,
}

/// The flows of a switch. It has no kernel.
#[derive(Debug, Default)]
struct Flows {
    known: HashMap<Flow, Known>,
    /// The flow of each number.
    numbers: BTreeMap<u32, Flow>,
    /// Numbers from here on have never been used.
    next: u32,
    /// Numbers that no flow has any more.
    free: Vec<u32>,
    /// The paths of flows, and until when they take them.
    paths: BTreeMap<Flow, (u16, Local)>,
    /// Paths of packets to addresses that have no other path.
    detours: BTreeMap<IpAddr, (u16, Local)>,
    /// Whether the kernel has other paths than these.
    stale: bool,
}

/// The rules of a switch and its flows.
#[derive(Debug)]
pub struct Forwarding {
    rules: FlowRules,
    /// The number of paths.
    count: usize,
    /// How long a path is used after its order.
    expire: Duration,
    flows: Flows,
    uplinks: Uplinks,
}

impl Forwarding {
    /// Begins to count flows. A path is used for `expire` after its order.
    ///
    /// # Errors
    /// The kernel refuses the rules.
    pub fn open(options: FlowOptions, expire: Duration) -> io::Result<Forwarding> {
        let count = options.paths.len();
        let flows = Flows { stale: true, ..Flows::default() };
        let uplinks = Uplinks::open(options.up.clone())?;
        Ok(Forwarding { rules: FlowRules::open(options)?, count, expire, flows, uplinks })
    }

    /// Reads the kernel's counts. Returns packets that stand for the bytes since the last call, with the ports of the
    /// node at which they arrive.
    ///
    /// # Errors
    /// The counts cannot be read.
    pub fn count(&mut self, hosts: &Hosts, now: Local) -> io::Result<Vec<(PortId, Packet)>> {
        let mut packets = Vec::new();
        for text in self.rules.counts()? {
            for (flow, bytes) in counts(&text).map_err(io::Error::other)? {
                packets.extend(self.flows.counted(hosts, flow, bytes, now));
            }
        }
        self.flows.forget(now, self.expire);
        Ok(packets)
    }
    /// A file descriptor that is readable when links may have changed.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.uplinks.fd()
    }
    /// Looks at the links to routers above if any may have changed. Returns those that have, and whether they work.
    ///
    /// # Errors
    /// `ip` fails.
    pub fn changed_links(&mut self) -> io::Result<Vec<(usize, bool)>> {
        let rules = &self.rules;
        self.uplinks.changed(|up| rules.restore(up))
    }
    /// Whether the link to each router above works.
    pub fn links(&self) -> &[bool] {
        self.uplinks.work()
    }
    /// Notes the order to send packets to a host that have no other path on this one, or to spread them.
    pub fn detour(&mut self, hosts: &Hosts, to: HostId, path: Option<u16>, now: Local) {
        let path = path.filter(|path| usize::from(*path) < self.count);
        let addresses = hosts.all.iter().filter(|(_, host)| **host == to);
        for (address, _) in addresses {
            self.flows.detour(*address, path.map(|path| (path, now.after(self.expire))));
        }
    }
    /// Notes the order to send a connection on a path.
    pub fn order(&mut self, conn: u32, path: u16, now: Local) {
        if usize::from(path) < self.count {
            self.flows.order(conn, path, now.after(self.expire));
        }
    }
    /// Gives no flow a path until further orders. Detours end by themselves: their links are broken without orders, too.
    pub fn clear(&mut self) {
        self.flows.stale |= !self.flows.paths.is_empty();
        self.flows.paths.clear();
    }
    /// Passes changed paths to the kernel.
    ///
    /// # Errors
    /// The kernel refuses them.
    pub fn flush(&mut self, now: Local) -> io::Result<()> {
        if !std::mem::take(&mut self.flows.stale) {
            return Ok(());
        }
        self.flows.paths.retain(|_, (_, until)| *until > now);
        self.flows.detours.retain(|_, (_, until)| *until > now);
        self.rules.install(&entries(&self.flows.paths, now), &entries(&self.flows.detours, now))
    }
}

/// What the kernel gets of paths, and the times until which they are used.
fn entries<T: Copy>(paths: &BTreeMap<T, (u16, Local)>, now: Local) -> Vec<OnPath<T>> {
    let entry = |(key, (path, until)): (&T, &(u16, Local))| (*key, *path, until.since(now));
    paths.iter().map(entry).collect()
}

impl Flows {
    /// Packets for the bytes of a flow since it was counted last.
    fn counted(
        &mut self,
        hosts: &Hosts,
        flow: Flow,
        bytes: u64,
        now: Local,
    ) -> impl Iterator<Item = (PortId, Packet)> + use<> {
        let host = |address: &IpAddr| hosts.all.get(address).copied();
        let ends = host(&flow.src).zip(host(&flow.dst)).filter(|(src, dst)| src != dst);
        let port = |src: HostId| hosts.own.iter().position(|own| *own == src);
        let ends = ends.and_then(|(src, dst)| Some((PortId(1 + port(src)? as u16), dst)));
        ends.into_iter().flat_map({
            let (conn, mut rest) = match ends {
                Some(_) => self.add(flow, bytes, now),
                None => (0, 0),
            };
            move |(port, dst)| {
                std::iter::from_fn(move || {
                    let len = rest.min(LONGEST) as u16;
                    rest -= u64::from(len);
                    let packet =
                        Packet { dst, flow: conn, len, kind: Kind::Datagram, ..Packet::default() };
                    (len > 0).then_some((port, packet))
                })
            }
        })
    }
    /// The number of a flow, and its bytes since the last time.
    fn add(&mut self, flow: Flow, bytes: u64, now: Local) -> (u32, u64) {
        if !self.known.contains_key(&flow) {
            let conn = self.free.pop().unwrap_or(self.next);
            self.next = self.next.max(conn + 1);
            self.numbers.insert(conn, flow);
            self.known.insert(flow, Known { conn, bytes: 0, seen: now });
        }
        let Some(known) = self.known.get_mut(&flow) else { return (0, 0) };
        // The kernel counts from 0 again if it had forgotten the flow.
        let since = bytes.checked_sub(known.bytes).unwrap_or(bytes);
        (known.bytes, known.seen) = (bytes, now);
        (known.conn, since)
    }
    /// Forgets flows that the kernel has forgotten and that have had no path for as long.
    fn forget(&mut self, now: Local, after: Duration) {
        let Flows { known, numbers, free, .. } = self;
        known.retain(|_, known| {
            let keep = now.since(known.seen) <= after;
            if !keep {
                numbers.remove(&known.conn);
                free.push(known.conn);
            }
            keep
        });
    }
    fn detour(&mut self, to: IpAddr, path: Option<(u16, Local)>) {
        self.stale |= match path {
            Some(path) => self.detours.insert(to, path) != Some(path),
            None => self.detours.remove(&to).is_some(),
        };
    }
    fn order(&mut self, conn: u32, path: u16, until: Local) {
        if let Some(flow) = self.numbers.get(&conn) {
            self.paths.insert(*flow, (path, until));
            self.stale = true;
        }
    }
}

/// The flows of a list of `nft -j list set`, and their bytes. Flows of other protocols are left out.
///
/// # Errors
/// The text is no such list.
pub fn counts(text: &str) -> Result<Vec<(Flow, u64)>, String> {
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|error| format!("nft -j list set: {error}"))?;
    let objects = value["nftables"].as_array().ok_or("nft -j list set: there is no `nftables`")?;
    let elements = objects.iter().filter_map(|object| object["set"]["elem"].as_array()).flatten();
    Ok(elements.filter_map(|element| counted(&element["elem"])).collect())
}

fn counted(element: &serde_json::Value) -> Option<(Flow, u64)> {
    let [src, dst, protocol, sport, dport] = &element["val"]["concat"].as_array()?[..] else {
        return None;
    };
    let address = |value: &serde_json::Value| value.as_str()?.parse().ok();
    let port = |value: &serde_json::Value| value.as_u64()?.try_into().ok();
    // Machines without /etc/protocols have numbers.
    let protocol = match (protocol.as_str(), protocol.as_u64()) {
        (Some("tcp"), _) => 6,
        (Some("udp"), _) => 17,
        (_, Some(number)) => u8::try_from(number).ok()?,
        _ => return None,
    };
    let flow = Flow {
        src: address(src)?,
        dst: address(dst)?,
        protocol,
        sport: port(sport)?,
        dport: port(dport)?,
    };
    PROTOCOLS.contains(&protocol).then_some((flow, element["counter"]["bytes"].as_u64()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn flow(host: u8, sport: u16) -> Flow {
        let address = |n| IpAddr::from([10, 80, n, 1]);
        Flow { src: address(host), dst: address(9), protocol: 6, sport, dport: 5_201 }
    }
    /// Hosts 1 and 2 are at the switch, host 9 is not.
    fn hosts() -> Hosts {
        let all = [1, 2, 9].map(|n| (IpAddr::from([10, 80, n, 1]), HostId(n.into())));
        Hosts { all: all.into(), own: vec![HostId(1), HostId(2)] }
    }
    fn seconds(s: u64) -> Local {
        Local(s * 1_000_000_000)
    }

    #[test]
    fn lists_of_nft_are_read() {
        let text = r#"{"nftables": [{"metainfo": {"version": "1.0.6", "json_schema_version": 1}}, {"set": {"family": "inet",
            "name": "flows4", "elem": [
            {"elem": {"val": {"concat": ["10.80.1.1", "10.80.9.1", "tcp", 7, 5201]}, "expires": 14, "counter": {"packets": 5, "bytes": 131216}}},
            {"elem": {"val": {"concat": ["fd00::1", "fd00::2", 17, 8, 9]}, "expires": 14, "counter": {"packets": 1, "bytes": 5}}},
            {"elem": {"val": {"concat": ["10.80.1.1", "10.80.9.1", "sctp", 7, 5201]}, "counter": {"packets": 5, "bytes": 1}}}]}}]}"#;
        let found = counts(text).unwrap();
        assert_eq!(found[0], (flow(1, 7), 131_216));
        assert_eq!((found.len(), found[1].0.protocol, found[1].1), (2, 17, 5));
        let empty = r#"{"nftables": [{"set": {"name": "flows4", "size": 65536}}]}"#;
        assert_eq!(counts(empty).unwrap(), []);
        assert!(counts("{}").unwrap_err().contains("no `nftables`"));
        assert!(counts("[").is_err());
    }

    #[test]
    fn packets_stand_for_the_bytes_since_the_last_count() {
        let (mut flows, hosts) = (Flows::default(), hosts());
        let mut counted =
            |flow, bytes, now| flows.counted(&hosts, flow, bytes, seconds(now)).collect::<Vec<_>>();
        let first = counted(flow(2, 7), 131_216, 1);
        let lens: Vec<u16> = first.iter().map(|(_, packet)| packet.len).collect();
        assert_eq!(lens, [65_535, 65_535, 146]);
        let (port, packet) = first[0];
        assert_eq!((port, packet.flow, packet.dst), (PortId(2), 0, HostId(9)));
        assert_eq!(counted(flow(1, 7), 10, 1)[0].1.flow, 1);
        assert_eq!(counted(flow(2, 7), 131_316, 2)[0].1.len, 100);
        assert_eq!(counted(flow(2, 7), 50, 3)[0].1.len, 50, "the kernel began again");
        assert!(counted(flow(2, 7), 50, 4).is_empty());
        let from_elsewhere = Flow { src: IpAddr::from([10, 80, 9, 1]), ..flow(1, 7) };
        let to_elsewhere = Flow { dst: IpAddr::from([10, 90, 9, 1]), ..flow(1, 7) };
        assert!(
            counted(from_elsewhere, 50, 4).is_empty() && counted(to_elsewhere, 50, 4).is_empty()
        );
    }

    #[test]
    fn numbers_of_forgotten_flows_are_used_again() {
        let (mut flows, hosts) = (Flows::default(), hosts());
        flows.counted(&hosts, flow(1, 7), 10, seconds(1)).count();
        flows.counted(&hosts, flow(1, 8), 10, seconds(5)).count();
        flows.order(0, 3, seconds(9));
        flows.order(5, 3, seconds(9));
        assert_eq!(flows.paths, BTreeMap::from([(flow(1, 7), (3, seconds(9)))]));
        flows.forget(seconds(7), Duration::from_secs(5));
        assert_eq!(flows.numbers, BTreeMap::from([(1, flow(1, 8))]));
        flows.counted(&hosts, flow(2, 1), 10, seconds(7)).count();
        assert_eq!(flows.numbers[&0], flow(2, 1));
        assert_eq!(flows.next, 2);
    }

    proptest! {
        #[test]
        fn strange_lists_cause_no_panic(text in ".{0,60}", value in 0usize..6, count: i64) {
            let values = ["\"x\"", "null", "[]", "{}", "-1", "1e99"];
            let element = format!(
                r#"{{"nftables":[{{"set":{{"elem":[{{"elem":{{"val":{{"concat":["10.0.0.1","10.0.0.2",{},1,{count}]}},"counter":{{"bytes":{count}}}}}}}]}}}}]}}"#,
                values[value]
            );
            let _ = counts(&text);
            prop_assert!(counts(&element).unwrap().is_empty());
        }
    }
}
