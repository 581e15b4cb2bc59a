//! Packets of a flow stay in order where this is promised, whatever circuits do. Where it is not promised, only the
//! expected packets arrive late.
//!
//! Flows consist of datagrams: each is numbered, and none is retransmitted.

use crate::common::assemble;
use proptest::prelude::*;
use slotline_net::frame::Kind;
use slotline_net::id::{NodeId, PortId};
use slotline_net::time::Time;
use slotline_sim::{Follow, Hop, Options, Watch, run};
use std::collections::BTreeMap;

const HOSTS: u32 = 2;

/// Racks whose hosts all send to hosts of the `next` racks after them, at `rate` Mbit/s each, for 3 ms.
fn scenario(racks: u32, next: u32, rate: u32, fabric: &str, scheme: &str) -> String {
    let all = racks * HOSTS;
    let list = |from: u32| {
        let hosts: Vec<String> = (0..all).map(|at| ((from + at) % all).to_string()).collect();
        hosts.join(",")
    };
    let workload = |by: u32| {
        format!(
            "[[workload]]\nkind = \"udp\"\nsenders = \"{}\"\nreceivers = \"{}\"\nmessage = \"{}B\"\n\
             rate = \"{rate}Mbps\"\nuntil = \"3ms\"\n",
            list(0),
            list(by * HOSTS),
            // Messages of several lengths: a short packet is in flight for less time.
            [8934, 200, 1400][by as usize % 3]
        )
    };
    let workloads: String = (1..=next).map(workload).collect();
    format!(
        "name = \"order\"\nend = {{ at = \"4ms\", when = \"time\" }}\nmeasure = {{ why = false }}\n\
         [fabric]\nkind = \"hybrid\"\nracks = {racks}\nhosts-per-rack = {HOSTS}\n{fabric}\n{workloads}\n\
         [[scheme]]\nname = \"a\"\nqueue = {{ kind = \"drop-tail\", limit = \"8MB\" }}\n\
         transport = {{ kind = \"newreno\", mtu = \"9000B\" }}\n{scheme}\n"
    )
}

/// The packets that left the racks for other racks, by the `uplinks` ports that follow those of hosts, and the packets
/// that left them for hosts. Those of each rack are in the order in which they left.
fn hops(text: &str, racks: u32, uplinks: u32) -> [Vec<Vec<Hop>>; 2] {
    let mut assembly = assemble(text, 1);
    let ports = HOSTS + uplinks;
    let tor = |rack: u32| NodeId(rack * (HOSTS + 1) + HOSTS);
    let all =
        (0..racks).flat_map(|rack| (0..ports).map(move |port| (tor(rack), PortId(port as u16))));
    assembly.network.follow =
        Follow { ports: all.collect(), limit: 1_000_000, ..Follow::default() };
    let options = Options { threads: 1, end: Time::ms(4), completions: u64::MAX };
    let outcome = run(assembly.network, options, &Watch::default());
    assert!(outcome.conservation.holds());
    let captures: Vec<Vec<Hop>> =
        outcome.journal.captures.into_iter().map(|(hops, _)| hops).collect();
    let of = |rack: u32, from: u32, until: u32| {
        let at = |port: u32| (rack * ports + port) as usize;
        let mut hops = captures[at(from)..at(until)].concat();
        hops.retain(|hop| hop.packet.kind == Kind::Datagram);
        hops.sort_by_key(|hop| (hop.start, hop.packet.seq));
        hops
    };
    let by = |from, until| (0..racks).map(|rack| of(rack, from, until)).collect();
    [by(HOSTS, ports), by(0, HOSTS)]
}

/// Packets that left after a later one of their flow, each with the first such packet.
fn late(hops: &[Hop]) -> Vec<(Hop, Hop)> {
    let mut last: BTreeMap<u32, Hop> = BTreeMap::new();
    let mut late = Vec::new();
    for hop in hops {
        let before = last.entry(hop.packet.flow).or_insert(*hop);
        if before.packet.seq > hop.packet.seq {
            late.push((*hop, *before));
        } else {
            *before = *hop;
        }
    }
    late
}

fn all_late(racks: &[Vec<Hop>]) -> Vec<(Hop, Hop)> {
    racks.iter().flat_map(|hops| late(hops)).collect()
}

/// Queues of any size, resized or not, under any rule and any scheduler of weeks.
fn voqs() -> impl Strategy<Value = String> {
    let resize = (1u32..60, 0u32..400, prop::sample::select(vec!["drain", "drop"]));
    let rule = prop::sample::select(vec!["hold", "drain", "drop"]);
    let week = "week = \"600us\", day = \"60us\", report-ahead = \"300us\"";
    let planned = |name: &str| format!("{{ kind = \"circuits\", scheduler = \"{name}\", {week} }}");
    let control = prop::sample::select(vec![
        "\"circuits\"".to_string(),
        planned("eclipse"),
        planned("portfolio"),
        planned("birkhoff-von-neumann"),
    ]);
    (2u32..40, prop::option::of(resize), rule, control).prop_map(|(packets, resize, rule, control)| {
        let resized = |(more, ahead, shrink)| {
            let to = packets + more;
            format!(", resize = {{ to = {to}, ahead = \"{ahead}us\", shrink = \"{shrink}\" }}")
        };
        let resize = resize.map(resized).unwrap_or_default();
        format!("control = {control}\nvoq = {{ packets = {packets}, at-night = \"{rule}\"{resize} }}")
    })
}

fn circuits(switches: u32, night: u32, delay: u32) -> String {
    format!(
        "circuits = {{ switches = {switches}, rate = \"40Gbps\", delay = \"{delay}us\", \
         reconfiguration = \"{night}us\" }}"
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// For any sizes and changes of sizes, nights, rule, plan and number of paths, a rack sends the packets of a flow
    /// in the order in which they arrived.
    #[test]
    fn racks_send_in_order(
        racks in 3u32..6, switches in 1u32..3, night in 1u32..30, rate in 200u32..4000, voq in voqs(),
    ) {
        let fabric = format!("packet = {{ rate = \"2Gbps\" }}\n{}", circuits(switches, night, 10));
        let text = scenario(racks, racks - 1, rate, &fabric, &voq);
        let [sent, _] = hops(&text, racks, 1 + switches);
        prop_assert!(sent.iter().map(Vec::len).sum::<usize>() > 300);
        prop_assert!(all_late(&sent).is_empty(), "{:?}", all_late(&sent).first());
    }

    /// By circuits of a single switch, all packets arrive in order.
    #[test]
    fn one_circuit_at_a_time_keeps_order(
        racks in 3u32..6, night in 1u32..30, delay in 0u32..50, rate in 200u32..4000, voq in voqs(),
    ) {
        let text = scenario(racks, racks - 1, rate, &circuits(1, night, delay), &voq);
        let [_, arrived] = hops(&text, racks, 1);
        prop_assert!(arrived.iter().map(Vec::len).sum::<usize>() > 100);
        prop_assert!(all_late(&arrived).is_empty(), "{:?}", all_late(&arrived).first());
    }

    /// With a packet switch and circuits, if a circuit and the night before it are longer than the packet switch and
    /// all packets that wait in it for a pair: no packet by a circuit overtakes one by the packet switch (the gate). A
    /// packet by the packet switch may overtake the last ones of a day.
    #[test]
    fn the_gate_keeps_order_into_the_day(
        racks in 3u32..6, delay in 0u32..60, rate in 200u32..4000, voq in voqs(),
    ) {
        let fabric = format!(
            "packet = {{ rate = \"20Gbps\", delay = \"1us\", inner-queue = 1 }}\n{}", circuits(1, 20, delay)
        );
        let text = scenario(racks, 1, rate, &fabric, &voq);
        let [sent, arrived] = hops(&text, racks, 2);
        prop_assert!(arrived.iter().map(Vec::len).sum::<usize>() > 300);
        let key = |hop: &Hop| (hop.packet.flow, hop.packet.seq);
        let ways: BTreeMap<_, _> = sent.iter().flatten().map(|hop| (key(hop), hop.port)).collect();
        let by_packets = Some(&PortId(HOSTS as u16));
        for (behind, before) in all_late(&arrived) {
            let (behind, before) = (ways.get(&key(&behind)), ways.get(&key(&before)));
            prop_assert!(behind != by_packets && before == by_packets, "into the day");
            prop_assert!(delay > 2, "a circuit that is as short as the packet switch");
        }
    }
}

/// Four racks at four panels, and two core switches with ports for all uplinks.
const PANELS: &str = "circuits = { switches = 4, rate = \"10Gbps\", delay = \"1us\", reconfiguration = \"200us\", \
                      dark = \"changed\" }\ncore = { switches = 2, ports = 8 }";
const US: u64 = 1_000_000;

/// By core switches and direct links, a flow that keeps its path stays in order while no link moves. A night begins
/// with each week of 1 ms and takes 200 us. Queues are short.
#[test]
fn between_two_rewirings_flows_stay_in_order() {
    let weekly = |scheduler: &str| {
        format!(
            "control = {{ kind = \"circuits\", scheduler = \"{scheduler}\", week = \"1ms\", day = \"500us\", \
             report-ahead = \"500us\", demand = \"perfect\" }}\nvoq = {{ packets = 1000 }}"
        )
    };
    let clos = "control = { kind = \"circuits\", scheduler = \"clos\" }".to_string();
    for (scheme, moves) in [(clos, false), (weekly("mesh"), true), (weekly("clos-direct"), true)] {
        for rate in [200, 500, 1000] {
            let text = scenario(4, 3, rate, PANELS, &format!("{scheme}\nrouting = \"ecmp\""));
            let [_, arrived] = hops(&text, 4, 4);
            assert!(arrived.iter().map(Vec::len).sum::<usize>() > 300, "{scheme}");
            for (late, _) in all_late(&arrived) {
                let within = late.start % (1000 * US);
                let is_near = |from: u64| (from * US..(from + 150) * US).contains(&within);
                assert!(moves && (is_near(0) || is_near(200)), "{scheme}: {late:?}");
            }
        }
    }
}
