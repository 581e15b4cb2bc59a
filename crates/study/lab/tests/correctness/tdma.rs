//! TDMA: no host sends in the slot of another, whatever is lost or fails, and slots are used.

use crate::common::{assemble, records, results};
use slotline_lab::build::Assembly;
use slotline_lab::record::RunRecord;
use slotline_net::frame::Kind;
use slotline_net::id::{HostId, NodeId, PortId};
use slotline_net::time::Time;
use slotline_schemes::counters;
use slotline_sim::{Follow, Options, Outcome, Watch, run};
use std::collections::BTreeMap;

const STAR: &str = r#"{ kind = "star", hosts = 8, rate = "10Gbps", delay = "1us" }"#;
const TREE: &str = r#"{ kind = "tree", racks = 3, hosts-per-rack = 4, rate = "10Gbps",
    rack-uplink = "10Gbps", delay = "1us" }"#;

/// Every host sends datagrams to every other as fast as it can, until 30 ms.
fn all_to_all(fabric: &str, hosts: usize, options: &str, rest: &str) -> String {
    let all: Vec<String> = (0..hosts).map(|host| host.to_string()).collect();
    let workload = |by: usize| {
        let mut receivers = all.clone();
        receivers.rotate_left(by);
        format!(
            "[[workload]]\nkind = \"udp\"\nsenders = \"{}\"\nreceivers = \"{}\"\nmessage = \"1472B\"\n\
             until = \"30ms\"\n",
            all.join(","),
            receivers.join(",")
        )
    };
    let workloads: String = (1..hosts).map(workload).collect();
    format!(
        "name = \"all-to-all\"\nend = {{ at = \"40ms\" }}\nmeasure = {{ ideal = false, sample = \"50us\" }}\n\
         fabric = {fabric}\n{workloads}\n[[scheme]]\nname = \"tdma\"\n\
         control = {{ kind = \"tdma\"{options} }}\n{rest}"
    )
}

/// Goodput as a share of the capacity of the hosts' links, from 10 to 30 ms of a run of `hosts` hosts.
fn share(run: &RunRecord, hosts: usize) -> f64 {
    let bytes: u64 = run.flows.iter().map(|flow| flow.delivered_bytes).sum();
    bytes as f64 * 8.0 * 1_538.0 / 1_472.0 / (hosts as f64 * 10e9 * 0.03)
}

fn one(text: &str) -> RunRecord {
    records(text, 1).remove(0)
}

/// All ports captured, for 40 ms.
fn captured(text: &str) -> (Assembly, Outcome) {
    let assembly = assemble(text, 1);
    let Assembly { mut network, plan, routes, wiring, flows, .. } = assembly;
    let nodes = (0..network.graph.nodes.len() as u32).map(NodeId);
    let ports = |node: NodeId| (0..wiring.of(node).len() as u16).map(move |at| (node, PortId(at)));
    let ports = nodes.flat_map(ports).collect();
    network.follow = Follow { ports, limit: 1_000_000, ..Follow::default() };
    let end = Time::ms(40);
    let options = Options { threads: 1, end, completions: u64::MAX };
    let again = assemble(text, 1);
    let outcome = run(network, options, &Watch::default());
    let times_packets = again.times_packets;
    (Assembly { network: again.network, plan, routes, wiring, flows, times_packets }, outcome)
}

/// The shortest time between the packets of two pairs of hosts on one link, over all links, and how often a link
/// changes from one pair to another. The first half millisecond after a change of routes is ignored.
fn least_gap(assembly: &Assembly, outcome: &Outcome, changed: Time) -> (u64, u64) {
    let (mut least, mut changes) = (u64::MAX, 0);
    for (hops, _) in &outcome.journal.captures {
        let data = hops.iter().filter(|hop| matches!(hop.packet.kind, Kind::Data | Kind::Datagram));
        let pair = |flow: u32| {
            let conn = &assembly.plan.traffic.conns[flow as usize];
            (conn.src, conn.dst)
        };
        let times: Vec<_> = data.map(|hop| (pair(hop.packet.flow), hop.start, hop.leave)).collect();
        let settled = |at: u64| at < changed.as_ps() || at > changed.after(Time::us(500)).as_ps();
        for two in times.windows(2).filter(|two| two[0].0 != two[1].0 && settled(two[1].1)) {
            least = least.min(two[1].1 - two[0].2);
            changes += 1;
        }
    }
    (least, changes)
}

/// The time after `at` until each of `hosts` hosts has sent a packet.
fn until_all_send(assembly: &Assembly, outcome: &Outcome, hosts: u32, at: Time) -> Time {
    let mut first: BTreeMap<HostId, u64> = BTreeMap::new();
    for hop in outcome.journal.captures.iter().flat_map(|(hops, _)| hops) {
        let data = matches!(hop.packet.kind, Kind::Data | Kind::Datagram);
        if data && hop.start >= at.as_ps() {
            let src = assembly.plan.traffic.conns[hop.packet.flow as usize].src;
            let earliest = first.entry(src).or_insert(hop.start);
            *earliest = (*earliest).min(hop.start);
        }
    }
    let of = |host| first.get(&HostId(host)).map_or(Time::MAX, |&start| Time::ps(start).since(at));
    (0..hosts).map(of).max().unwrap_or_default()
}

/// The length of the longest round.
const ROUND: Time = Time::ms(10);

/// No link carries two flows in a slot. Between them, the link is silent for the guard time, 15 us, minus the
/// difference of the cards' reactions (5 us), the packet in transmission and the one before the pause frame (3 us), and
/// the difference of the two flows' paths to the link (`path_difference`).
fn nobody_shares_a_slot(text: &str, path_difference: Time) {
    let (assembly, outcome) = captured(text);
    assert!(outcome.conservation.holds(), "{:?}", outcome.conservation);
    let (gap, changes) = least_gap(&assembly, &outcome, Time::MAX);
    assert!(changes > 300, "{changes} changes");
    let least = Time::us(7) - path_difference;
    assert!(gap >= least.as_ps(), "{} between two flows, of {least}", Time::ps(gap));
}

/// In a tree, two more hops of 1 us and a packet each.
const FAR: Time = Time::us(5);
const NEAR: Time = Time::ZERO;

const BROADCAST: &str = ", controllers = 'per-switch', triggers = 'broadcast'";
const APART: &str = ", signalling = 'pause', reports = 'control-network'";

#[test]
fn links_carry_one_flow_in_a_slot() {
    nobody_shares_a_slot(&all_to_all(STAR, 8, "", ""), NEAR);
    nobody_shares_a_slot(&all_to_all(TREE, 12, "", ""), FAR);
    let near = all_to_all(TREE, 12, ", controllers = 'per-switch'", "");
    nobody_shares_a_slot(&near, FAR);
    nobody_shares_a_slot(&all_to_all(TREE, 12, BROADCAST, ""), FAR);
    nobody_shares_a_slot(&all_to_all(TREE, 12, APART, ""), FAR);
    let few = all_to_all(STAR, 8, ", signalling = 'pause'", "");
    nobody_shares_a_slot(&few, NEAR);
    // Eleven destinations and seven classes: the meaning of classes changes within rounds.
    let mapped = all_to_all(TREE, 12, ", signalling = 'pfc', clock-drift = '1ms'", "");
    nobody_shares_a_slot(&mapped, FAR);
}

#[test]
fn slots_are_used() {
    let run = one(&all_to_all(STAR, 8, "", ""));
    assert!(share(&run, 8) > 0.75, "{}", share(&run, 8));
    let queue = run.samples.series().iter().map(|port| port.longest_queue()).max();
    assert!(queue.is_some_and(|bytes| bytes <= 3 * 1_538), "{queue:?}");
    assert_eq!(
        (run.control(counters::tdma::OVERRUNS), run.control(counters::tdma::LATE_FRAMES)),
        (0, 0)
    );
    assert!(run.control(counters::tdma::SLOTS) > 80, "{}", run.control(counters::tdma::SLOTS));
}

/// A broadcast frame reaches all controllers at once, and triggers one after another never do.
#[test]
fn a_broadcast_frame_triggers_all_controllers_at_once() {
    let at_once = |options: &str| {
        let (_, outcome) = captured(&all_to_all(TREE, 12, options, ""));
        assert!(outcome.conservation.holds(), "{:?}", outcome.conservation);
        let mut arrivals: BTreeMap<u64, usize> = BTreeMap::new();
        for hop in outcome.journal.captures.iter().flat_map(|(hops, _)| hops) {
            let to_controller = (13..16).contains(&hop.packet.dst.0);
            if hop.packet.kind == Kind::Control && to_controller {
                *arrivals.entry(hop.arrive).or_default() += 1;
            }
        }
        arrivals.values().filter(|count| **count == 3).count()
    };
    assert_eq!(at_once(", controllers = 'per-switch'"), 0);
    let triggers = at_once(BROADCAST);
    assert!(triggers > 80, "{triggers}");
}

/// Demand and confirmations use no link of the network, so its links carry pause frames and data alone.
#[test]
fn a_control_network_takes_all_messages_off_the_network() {
    let bytes = |options: &str| {
        let run = one(&all_to_all(STAR, 8, options, ""));
        let sent = |port: &&slotline_lab::record::PortRow| {
            port.node == "s0" && port.port == "fabric-manager"
        };
        let to_manager: u64 = run.ports.iter().filter(sent).map(|port| port.tx_bytes).sum();
        (to_manager, share(&run, 8))
    };
    let ((with, near), (without, apart)) = (bytes(""), bytes(", reports = 'control-network'"));
    assert!(with > 50_000 && without == 0, "{with} and {without}");
    assert!(apart > 0.95 * near, "{apart} instead of {near}");
}

/// If messages and frames are lost, only slots are lost.
#[test]
fn lost_frames_do_no_harm() {
    let lossy = |options: &str| all_to_all(STAR, 8, options, "control-loss = 0.05\n");
    nobody_shares_a_slot(&lossy(""), NEAR);
    let run = one(&lossy(""));
    assert_eq!(run.control(counters::tdma::OVERRUNS), 0);
    assert!(share(&run, 8) > 0.5, "{}", share(&run, 8));
    // Without an end of its own, a host continues to send after a lost pause frame, and this is reported.
    let run = one(&lossy(", self-ending = false"));
    assert!(
        run.control(counters::tdma::OVERRUNS) > 0
            && run.control(counters::tdma::LONGEST_OVERRUN_NS) > 100_000
    );
}

fn event(at: &str, kind: &str, what: &str) -> String {
    format!("[[event]]\nat = \"{at}\"\nkind = \"{kind}\"\n{what}\n")
}

/// A host that is down does not keep the others from their slots, and gets none after a while.
#[test]
fn a_dead_host_is_left_out() {
    let gone = event("10ms", "link-down", "link = \"h3-s0\"\nreroute-after = \"100s\"");
    let text = all_to_all(STAR, 8, ", host-timeout = '10.1ms'", &gone);
    nobody_shares_a_slot(&text, NEAR);
    let run = one(&text);
    assert_eq!(
        (run.control(counters::shared::SILENT_HOSTS), run.control(counters::tdma::OVERRUNS)),
        (1, 0)
    );
    let whole = one(&all_to_all(STAR, 8, "", ""));
    let others = |run: &RunRecord| -> u64 {
        let among = run.flows.iter().filter(|flow| flow.src != 3 && flow.dst != 3);
        among.map(|flow| flow.delivered_bytes).sum()
    };
    let (with, without) = (others(&whole), others(&run));
    assert!(without > with / 10 * 9, "{without} instead of {with}");
}

/// A link that fails makes the schedule invalid. The next round avoids it.
#[test]
fn a_dead_link_is_gone_around() {
    let fabric = r#"{ kind = "leaf-spine", leaves = 2, spines = 2, hosts-per-leaf = 3, host-rate = "10Gbps",
        delay = "1us" }"#;
    let gone = event("12ms", "link-down", "link = \"leaf0-spine0\"\nreroute-after = \"1ms\"");
    let text = all_to_all(fabric, 6, "", &gone);
    let (assembly, outcome) = captured(&text);
    let (gap, _) = least_gap(&assembly, &outcome, Time::ms(13));
    assert!(gap >= Time::us(2).as_ps(), "{}", Time::ps(gap));
    let recovered = until_all_send(&assembly, &outcome, 6, Time::us(13_500));
    assert!(recovered <= ROUND, "{recovered}");
    let run = one(&text);
    assert_eq!(
        (run.control(counters::tdma::ABORTED_ROUNDS), run.control(counters::tdma::OVERRUNS)),
        (1, 0)
    );
    assert!(share(&run, 6) > 0.5, "{}", share(&run, 6));
}

/// A fabric manager that stops and starts again, before or after the time-out of hosts.
#[test]
fn a_restarted_manager_takes_over() {
    let restart = |options: &str, up: &str| {
        let who = "controller = \"fabric-manager\"";
        let events = event("10ms", "controller-down", who) + &event(up, "controller-up", who);
        all_to_all(STAR, 8, options, &events)
    };
    nobody_shares_a_slot(&restart("", "15ms"), NEAR);
    let (assembly, outcome) = captured(&restart("", "15ms"));
    // The first round follows at once, in whatever order reports arrive.
    let recovered = until_all_send(&assembly, &outcome, 8, Time::ms(15));
    assert!(recovered <= ROUND, "{recovered}");
    let hops = outcome.journal.captures.iter().flat_map(|(hops, _)| hops);
    let data = hops.filter(|hop| matches!(hop.packet.kind, Kind::Data | Kind::Datagram));
    let sent = |from: Time, until: Time| {
        let within = from.as_ps()..until.as_ps();
        data.clone().filter(|hop| within.contains(&hop.start)).count()
    };
    assert_eq!(sent(Time::ms(11), Time::ms(15)), 0, "nobody opens slots");
    assert!(sent(Time::ms(15), Time::ms(16)) > 100, "slots again");
    let run = one(&restart("", "15ms"));
    assert_eq!(
        (run.control(counters::tdma::OVERRUNS), run.control(counters::tdma::PACKETS_WITHOUT_SLOT)),
        (0, 0)
    );
    // There are slots within a round of the restart: as much as in 22 of 30 ms.
    assert!(share(&run, 8) > 0.5, "{}", share(&run, 8));
    let run = one(&restart(", manager-timeout = '11.1ms'", "35ms"));
    assert!(run.control(counters::tdma::PACKETS_WITHOUT_SLOT) > 0);
}

/// Receivers that read slowly get no more than they have room for.
#[test]
fn receive_buffers_never_overflow() {
    let run = one(&all_to_all(STAR, 8, ", receive-buffer = '500KB', drain = '4Gbps'", ""));
    assert_eq!(run.control(counters::tdma::RECEIVE_BUFFER_OVERFLOWS), 0);
    assert!(run.control(counters::tdma::RECEIVE_BUFFER_PEAK_BYTES) > 100_000);
    assert!((0.2..0.41).contains(&share(&run, 8)), "{}", share(&run, 8));
}

/// Reports in a slot of their own, and rounds one after another without overlap.
#[test]
fn other_ways_to_collect_demand() {
    for options in [", reports = 'slot'", ", pipelined = false", ", min-slot = '50us'"] {
        let text = all_to_all(STAR, 8, options, "");
        nobody_shares_a_slot(&text, NEAR);
        let run = one(&text);
        assert!(share(&run, 8) > 0.55, "{options}: {}", share(&run, 8));
    }
}

fn shuffle(fabric: &str, options: &str) -> String {
    format!(
        "name = \"shuffle\"\nend = {{ at = \"4s\" }}\nfabric = {fabric}\n[[workload]]\n\
         kind = \"shuffle\"\nsize = \"2MB\"\n[[scheme]]\nname = \"tdma\"\n\
         control = {{ kind = \"tdma\"{options} }}\n"
    )
}

/// TCP over TDMA: acknowledgements have slots, or the share of short flows.
#[test]
fn tcp_works() {
    for options in ["", ", short-share = 0.05"] {
        let run = one(&shuffle(STAR, options));
        assert!(run.flows.iter().all(|flow| flow.finished()), "{options}");
        assert_eq!(run.flows.iter().map(|flow| flow.timeouts).sum::<u32>(), 0, "{options}");
        assert_eq!(run.control(counters::tdma::OVERRUNS), 0);
    }
}

/// Hosts at one switch end earlier, because they have more bandwidth (§6.1.2).
#[test]
fn near_hosts_are_done_earlier() {
    let text = shuffle(TREE, ", scheduler = 'tree', short-share = 0.05");
    let run = one(&text.replace("size = \"2MB\"", "size = \"2MB\"\norder = \"simultaneous\""));
    let mean = |near: bool| {
        let flows = run.flows.iter().filter(|flow| (flow.src / 4 == flow.dst / 4) == near);
        crate::common::mean(flows.map(|flow| flow.finish_ps as f64))
    };
    assert!(mean(true) < 0.8 * mean(false), "{} and {}", mean(true), mean(false));
}

/// Transfers without end as raw frames, for 40 ms.
fn streams(fabric: &str, streams: &[(u32, u32)], options: &str) -> RunRecord {
    let workload = |(sender, receiver): &(u32, u32)| {
        format!(
            "[[workload]]\nkind = \"bulk\"\nsenders = \"{sender}\"\nreceivers = \"{receiver}\"\n\
             size = \"200MB\"\n"
        )
    };
    let workloads: String = streams.iter().map(workload).collect();
    one(&format!(
        "name = \"streams\"\nend = {{ when = \"time\", at = \"40ms\" }}\n\
         measure = {{ ideal = false, sample = \"50us\" }}\n{workloads}\n[[scheme]]\nname = \"tdma\"\n\
         transport = \"fixed\"\ncontrol = {{ kind = \"tdma\", short-share = 0.01{options} }}\n{fabric}\n"
    ))
}

fn bytes_from(run: &RunRecord, src: u32) -> f64 {
    let own = run.flows.iter().filter(|flow| flow.src == src);
    own.map(|flow| flow.delivered_bytes).sum::<u64>() as f64
}

/// A host with weight 3 gets three of four slots of a receiver for which two hosts compete. Other receivers are not
/// affected.
#[test]
fn weights_share_out_slots() {
    let star = "[fabric]\nkind = \"star\"\nhosts = 4\nrate = \"10Gbps\"\ndelay = \"1us\"";
    let ratio = |options: &str| {
        let run = streams(star, &[(1, 0), (2, 0), (3, 1)], options);
        assert_eq!(run.ports.iter().map(|port| port.drops).sum::<u64>(), 0);
        assert!(bytes_from(&run, 3) > 28e6, "{}", bytes_from(&run, 3));
        bytes_from(&run, 1) / bytes_from(&run, 2)
    };
    let (equal, three) = (ratio(""), ratio(", weights = { h1 = 3 }"));
    assert!((0.9..1.1).contains(&equal), "{equal}");
    assert!((2.6..3.4).contains(&three), "{three}");
}

/// One host with 10 Gbit/s and ten with 1 Gbit/s at a switch.
fn mixed() -> String {
    let names: Vec<String> = (0..11).map(|host| format!("\"h{host}\"")).collect();
    let link = |host: usize| {
        let rate = if host == 0 { "10Gbps" } else { "1Gbps" };
        format!("{{ a = \"h{host}\", b = \"s\", rate = \"{rate}\" }}")
    };
    let links: Vec<String> = (0..11).map(link).collect();
    format!(
        "[fabric]\nkind = \"graph\"\nhosts = [{}]\nswitches = [\"s\"]\nrate = \"10Gbps\"\ndelay = \"1us\"\n\
         link = [{}]",
        names.join(", "),
        links.join(", ")
    )
}

/// A fast sender shares its slots among slow receivers, and slow senders share a fast receiver (§4.3). Its link is as
/// full as between equal hosts, and nothing waits in the switch.
#[test]
fn fast_and_slow_hosts_share_slots() {
    let directions: [Vec<(u32, u32)>; 2] =
        [(1..11).map(|host| (0, host)).collect(), (1..11).map(|host| (host, 0)).collect()];
    for (direction, pairs) in directions.iter().enumerate() {
        let run = streams(&mixed(), pairs, "");
        let bytes: u64 = run.flows.iter().map(|flow| flow.delivered_bytes).sum();
        let share = bytes as f64 * 8.0 * 1_538.0 / 1_460.0 / (10e9 * 0.04);
        assert!(share > 0.7, "{direction}: {share}");
        assert_eq!(
            (run.control(counters::tdma::OVERRUNS), run.control(counters::tdma::LATE_FRAMES)),
            (0, 0),
            "{direction}"
        );
        assert_eq!(run.ports.iter().map(|port| port.drops).sum::<u64>(), 0, "{direction}");
        let each: Vec<u64> = run.flows.iter().map(|flow| flow.delivered_bytes).collect();
        let (least, most) = (each.iter().min(), each.iter().max());
        assert!(least.zip(most).is_some_and(|(l, m)| *l * 10 > *m * 8), "{direction}: {each:?}");
        let queue = run.samples.series().iter().map(|port| port.longest_queue()).max();
        assert!(queue.is_some_and(|bytes| bytes <= 12 * 1_538), "{direction}: {queue:?}");
    }
}

/// Raw frames fill slots, need no time-out, and leave no packets in queues.
#[test]
fn raw_frames_fill_slots() {
    let text = shuffle(STAR, ", short-share = 0.01")
        .replace("size = \"2MB\"", "size = \"6MB\"\norder = \"simultaneous\"")
        .replace("name = \"tdma\"", "name = \"tdma\"\ntransport = \"fixed\"");
    let run = one(&text);
    assert!(run.flows.iter().all(|flow| flow.finished() && flow.timeouts == 0));
    assert_eq!(run.ports.iter().map(|port| port.drops).sum::<u64>(), 0);
    let used = run.control(counters::tdma::SLOT_USED_NS) as f64
        / run.control(counters::tdma::SLOT_TIME_NS) as f64;
    assert!((0.9..=1.0).contains(&used), "{used}");
    // 17.03 slots for each of seven pairs, in whole slots, and less than a quarter more.
    assert!(
        (126..=155).contains(&run.control(counters::tdma::SLOTS)),
        "{}",
        run.control(counters::tdma::SLOTS)
    );
}

/// An incast of short flows does not overflow its port: the packets that hosts send without slots fit into the reserved
/// share.
#[test]
fn short_flows_do_not_overflow_a_port() {
    let text = |options: &str| {
        format!(
            "name = \"incast\"\nend = {{ at = \"1s\" }}\nfabric = {{ kind = \"star\", hosts = 129, rate = \"10Gbps\", \
             delay = \"1us\" }}\n[[workload]]\nkind = \"bulk\"\nsenders = \"1-128\"\nreceivers = \"0\"\n\
             size = \"10KB\"\n[[scheme]]\nname = \"tdma\"\nqueue = {{ kind = \"drop-tail\", limit = \"400KB\" }}\n\
             control = {{ kind = \"tdma\", short-share = 0.03{options} }}\n"
        )
    };
    let drops = |options: &str| {
        let run = one(&text(options));
        assert!(run.flows.iter().all(|flow| flow.finished()));
        run.ports.iter().map(|port| port.drops).sum::<u64>()
    };
    assert_eq!(drops(""), 0);
    assert!(drops(", short-flow = '10KB'") > 0);
}

#[test]
fn results_do_not_depend_on_threads() {
    let apart = format!("{BROADCAST}, reports = 'control-network'");
    for options in ["", ", controllers = 'per-switch'", &apart] {
        let text = all_to_all(TREE, 12, options, "control-loss = 0.01\n");
        let first = records(&text, 1).remove(0);
        for threads in [2, 3] {
            let again = records(&text, threads).remove(0);
            assert_eq!(again.engine.digest, first.engine.digest, "{threads} threads");
            let counts = |run: &RunRecord| -> BTreeMap<String, u64> {
                run.control.iter().map(|row| (row.count.to_string(), row.value)).collect()
            };
            assert_eq!(counts(&again), counts(&first), "{threads} threads");
        }
    }
    let (_, outcome) = captured(&all_to_all(STAR, 8, "", ""));
    assert!(!results(&outcome).is_empty());
}
