//! Fastpass with exact clocks: which packets wait for which others at the ports of switches.

use crate::common::records;
use proptest::prelude::*;
use slotline_lab::record::RunRecord;
use slotline_net::frame::Kind;
use slotline_schemes::counters;
use std::collections::BTreeMap;

/// Picoseconds that a byte takes at 10 Gbit/s.
const BYTE: u64 = 800;
/// Propagation of a link.
const DELAY: u64 = 500_000;

/// Racks, spines and hosts per rack. Without spines, the hosts of one rack.
#[derive(Clone, Copy, Debug)]
struct Net {
    leaves: u32,
    spines: u32,
    hosts: u32,
}

impl Net {
    fn fabric(self) -> String {
        let Net { leaves, spines, hosts } = self;
        match spines {
            0 => format!(r#"{{ kind = "star", hosts = {hosts}, delay = "500ns" }}"#),
            _ => format!(
                r#"{{ kind = "leaf-spine", leaves = {leaves}, spines = {spines}, hosts-per-leaf = {hosts}, delay = "500ns" }}"#
            ),
        }
    }
    fn all(self) -> u32 {
        self.hosts * self.leaves
    }
    /// All links that data packets take, in both directions.
    fn ports(self) -> Vec<String> {
        let leaf = |host: u32| match self.spines {
            0 => "s0".to_string(),
            _ => format!("leaf{}", host / self.hosts),
        };
        let both = |a: String, b: String| [format!("\"{a}-{b}\""), format!("\"{b}-{a}\"")];
        let hosts = (0..self.all()).map(|host| (format!("h{host}"), leaf(host)));
        let racks = (0..self.leaves).flat_map(|leaf| (0..self.spines).map(move |at| (leaf, at)));
        let racks = racks.map(|(leaf, spine)| (format!("leaf{leaf}"), format!("spine{spine}")));
        hosts.chain(racks).flat_map(|(a, b)| both(a, b)).collect()
    }
    /// Poisson datagrams between all pairs of hosts, which are in different racks if there are several, `rate` Mbit/s
    /// from each host. There are only full packets: what each host sends to one other in 2 ms is a multiple of them.
    fn workload(self, rate: u32) -> String {
        let (all, least) = (self.all(), if self.spines == 0 { 1 } else { self.hosts });
        let shifts: Vec<u32> = (least..=all - least).collect();
        let stream = |&by: &u32| {
            let receivers: Vec<String> = (0..all).map(|h| ((h + by) % all).to_string()).collect();
            format!(
                r#"{{ kind = "udp", senders = "0-{}", receivers = "{}", rate = "{}Kbps", message = "1472B", poisson = true, until = "2ms" }}"#,
                all - 1,
                receivers.join(","),
                (rate * 1_000 / shifts.len() as u32 / 5_888).max(1) * 5_888
            )
        };
        shifts.iter().map(stream).collect::<Vec<_>>().join(",")
    }
    fn run(self, rate: u32, seed: u64) -> RunRecord {
        let text = format!(
            r#"
            name = "zero queue"
            seed = {seed}
            end = {{ at = "3ms", when = "time" }}
            fabric = {}
            workload = [{}]
            measure = {{ capture = [{}] }}
            [[scheme]]
            name = "fastpass"
            transport = {{ kind = "newreno", processing = "0s" }}
            control = "fastpass"
            "#,
            self.fabric(),
            self.workload(rate),
            self.ports().join(",")
        );
        records(&text, 1).remove(0)
    }
}

/// A packet's stay at a port: when it arrived, and when it left.
#[derive(Clone, Copy, Debug)]
struct Stay {
    from: u64,
    until: u64,
    data: bool,
}

/// A packet that left: when, by which port, and its length.
type Hop = (u64, u32, u64);

/// For each port, its packets in the order in which they left. The packets of control messages are assumed to have
/// arrived when they left.
fn stays(run: &RunRecord) -> BTreeMap<u32, Vec<Stay>> {
    // For each packet, when it left which port.
    let mut paths: BTreeMap<(u32, u32), Vec<Hop>> = BTreeMap::new();
    let mut out: BTreeMap<u32, Vec<Stay>> = BTreeMap::new();
    for capture in &run.captures {
        for packet in &capture.packets {
            let (key, len) =
                ((packet.packet.flow, packet.packet.seq), u64::from(packet.packet.len));
            match packet.packet.kind {
                Kind::Datagram => {
                    paths.entry(key).or_default().push((packet.t_ps, capture.port, len));
                }
                _ => out.entry(capture.port).or_default().push(Stay {
                    from: packet.t_ps,
                    until: packet.t_ps,
                    data: false,
                }),
            }
        }
    }
    for path in paths.values_mut() {
        path.sort_unstable();
        for hop in path.windows(2) {
            let ((before, _, len), (until, port, _)) = (hop[0], hop[1]);
            let stay = Stay { from: before + len * BYTE + DELAY, until, data: true };
            out.entry(port).or_default().push(stay);
        }
    }
    out.values_mut().for_each(|stays| stays.sort_unstable_by_key(|stay| stay.until));
    out
}

/// For the data packets that waited: the most data packets and the most messages that started to leave a port while one
/// waited there, and the longest wait in nanoseconds.
fn waits(run: &RunRecord) -> (usize, usize, u64) {
    let mut most = (0, 0, 0);
    for stays in stays(run).values() {
        for (at, stay) in stays.iter().enumerate().filter(|(_, stay)| stay.data) {
            let ahead = stays[..at].iter().rev().take_while(|other| other.until >= stay.from);
            let (data, messages): (Vec<&Stay>, Vec<&Stay>) = ahead.partition(|other| other.data);
            most.0 = most.0.max(data.len());
            most.1 = most.1.max(messages.len());
            most.2 = most.2.max((stay.until - stay.from) / 1_000);
        }
    }
    most
}

/// The time of the longest message, in nanoseconds.
fn longest_message(run: &RunRecord) -> u64 {
    let packets = run.captures.iter().flat_map(|capture| &capture.packets);
    let messages = packets.filter(|packet| packet.packet.kind != Kind::Datagram);
    messages.map(|message| u64::from(message.packet.len) * BYTE / 1_000).max().unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    /// If all paths are equally long and messages have a reserved share, packets of earlier timeslots have started to
    /// leave when a data packet arrives. It waits for the rest of one of them, or for a message. All ports on its path
    /// delay it by at most one message each, which is less than a timeslot in total. Short packets, which gain time at
    /// each switch, are excluded.
    #[test]
    fn a_port_has_no_data_packet_beyond_one_timeslot(
        (net, rate, seed) in cases()
    ) {
        let run = net.run(rate, seed);
        prop_assert!(run.control(counters::fastpass::SLOTS_USED) > 100, "{:?}", run.control);
        let (data, messages, ns) = waits(&run);
        let (hops, message) = (if net.spines == 0 { 2 } else { 4 }, longest_message(&run));
        let late = run.control(counters::fastpass::SLOTS_LATE) as f64 / run.control(counters::fastpass::SLOTS_USED) as f64;
        println!("{net:?} {rate} Mbit/s: {data} packets, {messages} messages, {ns} ns; {message} ns a message; {late:.4} late");
        prop_assert!(hops * message <= 1_231, "{} ns for a message", message);
        prop_assert_eq!(data, 0, "data packets that had not begun to leave");
        // One message has started to leave before it, or both arrive at the same time.
        prop_assert!(messages <= 1, "{} messages", messages);
        // With a reserve of 1 %, a timeslot leaves 13 ns.
        prop_assert!(ns <= hops * (message + 13), "{} ns", ns);
    }
}

/// Networks, Mbit/s from each host, and seeds.
fn cases() -> impl Strategy<Value = (Net, u32, u64)> {
    let sizes = (2u32..5, 1u32..5, 2u32..5, any::<bool>());
    let net = |(leaves, spines, hosts, star)| match star {
        true => Net { leaves: 1, spines: 0, hosts: 2 * hosts },
        false => Net { leaves, spines, hosts },
    };
    (sizes.prop_map(net), 1_000u32..9_300, 0u64..1_000)
}
