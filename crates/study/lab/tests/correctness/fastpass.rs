//! Whole runs of Fastpass: queues, timeslots and links, fail-over, faults, lost messages.

use crate::common::records;
use proptest::prelude::*;
use slotline_fastpass::FastpassSpec;
use slotline_lab::record::RunRecord;
use slotline_lab::run::Jobs;
use slotline_net::custom::Options;
use slotline_net::node::DropReason;
use slotline_scenario::{Extensions, Scenario};
use slotline_schemes::counters;
use std::path::Path;

const STAR: &str = r#"{ kind = "star", hosts = 8, delay = "500ns" }"#;
const LEAF_SPINE: &str =
    r#"{ kind = "leaf-spine", leaves = 4, spines = 4, hosts-per-leaf = 4, delay = "500ns" }"#;

/// Bytes of a full packet on the wire.
const PACKET: u64 = 1_538;

fn scenario(fabric: &str, workload: &str, control: &str, more: &str) -> String {
    // Datagrams are complete when they are sent. Give them time to arrive.
    let (end, when) = if workload.contains("udp") { ("4ms", "time") } else { ("1s", "flows-done") };
    format!(
        r#"
        name = "fastpass"
        end = {{ at = "{end}", when = "{when}" }}
        fabric = {fabric}
        workload = [{workload}]
        {more}
        [[scheme]]
        name = "scheme"
        transport = {{ kind = "newreno", min-rto = "2ms" }}
        control = {{ kind = "fastpass", {control} }}
        "#
    )
}

fn one(text: &str) -> RunRecord {
    records(text, 1).remove(0)
}
fn event(at: &str, what: &str) -> String {
    format!("[[event]]\nat = \"{at}\"\n{what}\n")
}

/// Poisson datagrams from each of `hosts` to each host whose distance in a circle is at least `distance` in both
/// directions; in total at `rate` Mbit/s per host.
fn all_to_all(hosts: u32, distance: u32, rate: u32) -> String {
    let shifts: Vec<u32> = (distance..=hosts - distance).collect();
    let each = rate / shifts.len() as u32;
    let stream = |&by: &u32| {
        let receivers: Vec<String> =
            (0..hosts).map(|host| ((host + by) % hosts).to_string()).collect();
        format!(
            r#"{{ kind = "udp", senders = "0-{}", receivers = "{}", rate = "{each}Mbps",
                message = "1472B", poisson = true, until = "3ms" }}"#,
            hosts - 1,
            receivers.join(",")
        )
    };
    shifts.iter().map(stream).collect::<Vec<_>>().join(",").replace('\n', " ")
}

/// The longest queues at switch ports towards hosts and towards switches, without stations.
fn peaks(run: &RunRecord) -> (u64, u64) {
    let ports = || run.ports.iter().filter(|port| !port.host && !port.port.starts_with("arbiter"));
    let to_host = |name: &str| name.starts_with('h');
    let peak = |hosts: bool| {
        let of = ports().filter(|port| to_host(&port.port) == hosts);
        of.map(|port| port.peak_bytes).max().unwrap_or(0)
    };
    (peak(true), peak(false))
}

/// With exact clocks a packet meets no other data packet, only messages to and from the arbiter.
#[test]
fn exact_clocks_leave_no_queues() {
    let run = one(&scenario(STAR, &all_to_all(8, 1, 8_900), "", ""));
    let (hosts, _) = peaks(&run);
    assert!(hosts < 2 * PACKET, "{hosts} B: a packet, and less than another one of messages");
    let used = run.control(counters::fastpass::SLOTS_USED);
    // 3 ms are 2,413 timeslots. Eight hosts use 0.9 of them.
    assert!((15_500..18_500).contains(&used), "{used}");
    assert_eq!(
        run.control(counters::fastpass::SLOTS_LATE) + run.control(counters::fastpass::SLOTS_LOST),
        0
    );
    assert_eq!(run.census.dropped, [0; 7]);
    assert!(run.flows.iter().all(|flow| flow.finished()));
}

/// As above with several paths, which are equally long between racks. A packet waits only for messages. With links this
/// full, some hosts are informed too late of a few timeslots.
#[test]
fn exact_clocks_leave_no_queues_on_paths() {
    let run = one(&scenario(LEAF_SPINE, &all_to_all(16, 4, 8_900), "", ""));
    let (hosts, switches) = peaks(&run);
    println!("{hosts} B and {switches} B");
    assert!(hosts < 3 * PACKET && switches < 3 * PACKET, "{hosts} B and {switches} B");
    assert_eq!(run.census.dropped, [0; 7]);
    let used = run.control(counters::fastpass::SLOTS_USED);
    assert!(used > 30_000);
    let wasted =
        run.control(counters::fastpass::SLOTS_UNUSED) + run.control(counters::fastpass::SLOTS_LATE);
    assert!(wasted < used / 50, "{:?}", run.control);
}

/// A fast host sends to several slow hosts in one timeslot, and receives from several.
#[test]
fn hosts_of_different_rates_use_them() {
    let fabric = r#"{ kind = "star", hosts = 5, delay = "500ns",
        overrides = [{ link = "h0-s0", rate = "40Gbps" }] }"#
        .replace('\n', " ");
    let flow = |(src, dst): (u32, u32)| {
        format!(r#"{{ kind = "bulk", senders = "{src}", receivers = "{dst}", size = "20MB" }}"#)
    };
    for pairs in [[(0, 1), (0, 2), (0, 3), (0, 4)], [(1, 0), (2, 0), (3, 0), (4, 0)]] {
        let workload = pairs.map(flow).join(",");
        let run = one(&scenario(&fabric, &workload, "", ""));
        let last = run.flows.iter().map(|flow| flow.finish_ps).max().unwrap_or(u64::MAX);
        let gbps = 4.0 * 20e6 * 8_000.0 / last as f64;
        assert!(gbps > 32.0, "{gbps} Gbit/s {pairs:?}");
        assert_eq!(run.census.dropped, [0; 7]);
        assert!(peaks(&run).0 < 6 * PACKET, "{:?}", peaks(&run));
    }
}

/// Three tiers: every packet of a timeslot has a path. Packets of one flow take all paths, and some queue briefly
/// behind messages. TCP sometimes takes reordered packets for lost ones.
#[test]
fn a_fat_tree_has_paths_too() {
    let fabric = r#"{ kind = "fat-tree", k = 4, delay = "500ns" }"#;
    let run = one(&scenario(fabric, LONG, "", ""));
    assert!(run.flows.iter().all(|flow| flow.finished()));
    assert_eq!((run.census.dropped, run.control(counters::fastpass::SLOTS_UNPLACED)), ([0; 7], 0));
    let mean = run.flows.iter().map(|flow| flow.bytes as f64 * 8_000.0 / flow.finish_ps as f64);
    let mean = mean.sum::<f64>() / run.flows.len() as f64;
    println!("{mean} {:?}", peaks(&run));
    assert!(mean > 7.0, "{mean} Gbit/s");
}

/// Transmissions that start late by up to `jitter` meet others: at most as many as there are timeslots in that time,
/// plus one.
#[test]
fn queues_grow_with_jitter() {
    let longest = |jitter: u64| {
        let control = format!(r#"jitter = "{jitter}us", late = "100us""#);
        peaks(&one(&scenario(STAR, &all_to_all(8, 1, 8_900), &control, ""))).0
    };
    let measured = [0, 3, 10, 30].map(|us| (us, longest(us)));
    assert!(measured.is_sorted_by(|a, b| a.1 < b.1), "{measured:?}");
    for (us, bytes) in measured {
        let slots = us * 1_000 / 1_243 + 2;
        assert!(bytes <= (slots + 1) * PACKET, "{us} us: {bytes} B");
    }
}

#[test]
fn clocks_that_differ_cost_a_packet_each_way() {
    let control = r#"clock-offset = "1us""#;
    let (hosts, _) = peaks(&one(&scenario(STAR, &all_to_all(8, 1, 8_900), control, "")));
    assert!((2 * PACKET..=5 * PACKET).contains(&hosts), "{hosts}");
}

/// Clocks drift until they are synchronised again. Queues are limited by the drift in that time.
#[test]
fn queues_grow_with_drift_and_end_with_resynchronisation() {
    let longest = |drift: &str, resync: &str| {
        let control =
            format!(r#"clock-drift = "{drift}", clock-resync = "{resync}", late = "100us""#);
        peaks(&one(&scenario(STAR, &all_to_all(8, 1, 8_900), &control, ""))).0
    };
    // A drift of 10 ms per second over 1 ms is 10 us, as with a jitter of 10 us.
    let measured = [("0s", 0), ("1ms", 1), ("4ms", 4), ("10ms", 10)];
    let measured = measured.map(|(drift, us)| (us, longest(drift, "1ms")));
    println!("{measured:?}");
    assert!(measured.is_sorted_by(|a, b| a.1 < b.1), "{measured:?}");
    for (us, bytes) in measured {
        let slots = us * 1_000 / 1_243 + 2;
        assert!(bytes <= (slots + 1) * PACKET, "{us} us: {bytes} B");
    }
    assert!(longest("10ms", "100us") < measured[2].1, "set right ten times as often");
}

/// Flows that are alone in the network reach the rate that `reserve` leaves.
#[test]
fn long_flows_use_their_timeslots() {
    let run = one(&scenario(STAR, LONG, "", ""));
    for flow in &run.flows {
        let gbps = flow.bytes as f64 * 8_000.0 / (flow.finish_ps - flow.start_ps) as f64;
        // Slow start costs about 2 ms: each of its rounds takes a batch and the lead.
        assert!(gbps > 8.3, "{gbps} Gbit/s: {flow:?}");
        assert_eq!((flow.retransmits, flow.timeouts), (0, 0), "{flow:?}");
    }
    let bytes = run.control(counters::fastpass::ENDPOINT_MESSAGE_BYTES)
        + run.control(counters::fastpass::ARBITER_MESSAGE_BYTES);
    let data: u64 = run.flows.iter().map(|flow| flow.bytes).sum();
    assert!(bytes * 40 < data, "{bytes} B of messages for {data} B");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    /// For any framing, packet size and transport: if all hosts send as fast as they can, no packet and no message is
    /// dropped, and all flows end.
    #[test]
    fn a_full_network_loses_nothing(
        fabric in prop::sample::select(&FABRICS[..]),
        framing in 0u32..120,
        mtu in prop::sample::select(vec![600u32, 1_500, 4_000]),
        transport in prop::sample::select(vec!["newreno", "cubic", "dctcp"]),
        workload in prop::sample::select(vec![
            r#"{ kind = "random-bijective", size = "500KB" }"#,
            r#"{ kind = "shuffle", size = "30KB" }"#,
        ]),
        seed in 0u64..1_000,
    ) {
        loses_nothing(fabric, workload, framing, mtu, transport, seed);
    }
}

/// In a fat-tree, 128 hosts have 16 paths per pair. The messages of the arbiter take a fifth of its switch's links.
#[test]
fn a_full_fat_tree_without_framing_loses_nothing() {
    let permutation = r#"{ kind = "random-bijective", size = "2MB" }"#;
    loses_nothing(r#"{ kind = "fat-tree", k = 8 }"#, permutation, 0, 1_500, "newreno", 1);
}

const FABRICS: [&str; 4] = [
    r#"{ kind = "star", hosts = 12 }"#,
    r#"{ kind = "leaf-spine", leaves = 8, spines = 2, hosts-per-leaf = 2 }"#,
    r#"{ kind = "leaf-spine", leaves = 3, spines = 8, hosts-per-leaf = 8 }"#,
    r#"{ kind = "fat-tree", k = 4 }"#,
];

fn loses_nothing(fabric: &str, workload: &str, framing: u32, mtu: u32, transport: &str, seed: u64) {
    let queue = if transport == "dctcp" { "ecn" } else { "drop-tail" };
    let run = one(&format!(
        r#"
        name = "full"
        seed = {seed}
        end = {{ at = "1s" }}
        fabric = {fabric}
        workload = [{workload}]
        [[scheme]]
        name = "fastpass"
        queue = {{ kind = "{queue}", limit = "150KB" }}
        transport = {{ kind = "{transport}", framing = "{framing}B", mtu = "{mtu}B", min-rto = "10ms" }}
        control = "fastpass"
        "#
    ));
    assert_eq!(run.census.dropped, [0; 7]);
    assert!(run.flows.iter().all(|flow| flow.finished() && flow.timeouts == 0));
    assert_eq!(run.control(counters::fastpass::SLOTS_LOST), 0, "messages come in time");
}

/// Whichever messages are lost, every packet is sent in the end, and none is lost.
#[test]
fn lost_messages_cost_time_only() {
    for (share, seed) in [("0.01", 1), ("0.1", 2), ("0.1", 3)] {
        for fabric in [STAR, LEAF_SPINE] {
            let text = scenario(fabric, r#"{ kind = "random-bijective", size = "2MB" }"#, "", "");
            let text = format!("seed = {seed}\n{text}\ncontrol-loss = {share}\n");
            let run = one(&text);
            assert!(run.flows.iter().all(|flow| flow.finished()), "{share} {fabric}");
            let mut dropped = run.census.dropped;
            assert!(std::mem::take(&mut dropped[DropReason::Injected as usize]) > 0);
            assert_eq!(dropped, [0; 7], "{share} {fabric}");
            assert!(run.control(counters::fastpass::SLOTS_LOST) > 0);
        }
    }
}

const LONG: &str = r#"{ kind = "random-bijective", size = "20MB" }"#;

/// The primary stops at 3 ms and returns at 9 ms.
fn fail_over(fabric: &str, threads: usize) -> RunRecord {
    let down = event("3ms", "kind = \"controller-down\"\ncontroller = \"arbiter\"");
    let up = event("9ms", "kind = \"controller-up\"\ncontroller = \"arbiter\"");
    let text = scenario(fabric, LONG, "secondary = true", &format!("{down}{up}"));
    records(&text, threads).remove(0)
}

#[test]
fn the_secondary_takes_over_without_a_loss() {
    for fabric in [STAR, LEAF_SPINE] {
        let run = fail_over(fabric, 1);
        assert!(run.flows.iter().all(|flow| flow.finished()), "{fabric}");
        let mut dropped = run.census.dropped;
        assert!(std::mem::take(&mut dropped[DropReason::Stopped as usize]) > 0);
        assert_eq!(dropped, [0; 7], "messages to the one that stopped are all that is lost");
        assert_eq!(
            (
                run.control(counters::shared::TAKE_OVERS),
                run.control(counters::fastpass::STEP_BACKS)
            ),
            (1, 1),
            "{fabric}"
        );
        let detected = run.control(counters::fastpass::TAKE_OVER_AT_NS) - 3_000_000;
        assert!(detected < 1_000_000, "{detected} ns");
        // Three messages, the lead, and at most a batch.
        let granted = run.control(counters::fastpass::TAKE_OVER_TO_GRANT_NS);
        assert!(granted < 150_000, "{granted} ns");
        assert_eq!(
            run.control(counters::fastpass::ARBITER_CHANGES),
            run.flows.len() as u64,
            "once per endpoint"
        );
    }
}

/// No arbiter answers for a while: packets wait, and all are sent in the end.
#[test]
fn packets_outlast_both_arbiters() {
    let down = |name| event("2ms", &format!("kind = \"controller-down\"\ncontroller = \"{name}\""));
    let up = event("9ms", "kind = \"controller-up\"\ncontroller = \"arbiter\"");
    let events = [down("arbiter"), down("arbiter-secondary"), up].concat();
    let run = one(&scenario(STAR, LONG, "secondary = true", &events));
    assert!(run.flows.iter().all(|flow| flow.finished()));
    assert_eq!(run.control(counters::shared::TAKE_OVERS), 0);
    let alone = event("2ms", "kind = \"controller-down\"\ncontroller = \"arbiter\"");
    let back = event("5ms", "kind = \"controller-up\"\ncontroller = \"arbiter\"");
    let run = one(&scenario(STAR, LONG, "", &format!("{alone}{back}")));
    assert!(run.flows.iter().all(|flow| flow.finished()), "a lone arbiter comes back");
}

/// A link or switch fails and only Fastpass notices it. It works again later.
fn fault(kind: &str, name: &str) {
    let line = format!("{kind} = \"{name}\"\nreroute-after = \"1s\"");
    let down = event("2ms", &format!("kind = \"{kind}-down\"\n{line}"));
    let up = event("12ms", &format!("kind = \"{kind}-up\"\n{line}"));
    let workload = r#"{ kind = "stride", by = 4, size = "20MB" }"#;
    let run = one(&scenario(LEAF_SPINE, workload, "", &format!("{down}{up}")));
    let [fault] = &run.faults[..] else { panic!("{:?}", run.faults) };
    assert_eq!((fault.name.as_str(), fault.switch), (name, kind == "switch"));
    let us = |ps: u64| ps / 1_000_000;
    let (found, avoided) = (us(fault.found_ps), us(fault.avoided_ps));
    println!("{name}: {found} us, {avoided} us, {} us", us(fault.cleared_ps));
    assert!((2_000..5_000).contains(&found), "{fault:?}");
    // The lead, and at most a batch of 64 timeslots.
    assert!((0..=150).contains(&(avoided - found)), "{fault:?}");
    // Three attempts, 5 ms apart.
    assert!((22_000..32_000).contains(&us(fault.cleared_ps)), "{fault:?}");
    assert_eq!(
        (
            run.control(counters::fastpass::FAULTS_FOUND),
            run.control(counters::fastpass::FAULTS_CLEARED)
        ),
        (1, 1)
    );
    assert!(run.flows.iter().all(|flow| flow.finished()));
}

#[test]
fn a_faulty_link_is_found_avoided_and_used_again() {
    fault("link", "leaf1-spine2");
    fault("link", "leaf0-spine0");
}

#[test]
fn a_faulty_switch_is_found_avoided_and_used_again() {
    fault("switch", "spine1");
}

/// Switches that route around a failed link inform the arbiter. Timeslots follow the new routes, queues stay short, and
/// no working component is called faulty because of packets lost meanwhile.
#[test]
fn timeslots_follow_other_routes() {
    let fat_tree = r#"{ kind = "fat-tree", k = 4, delay = "500ns" }"#;
    for (fabric, link) in [(LEAF_SPINE, "leaf0-spine1"), (fat_tree, "edge0.0-agg0.1")] {
        for after in ["0s", "200us"] {
            let line = format!("link = \"{link}\"\nreroute-after = \"{after}\"");
            let down = event("2ms", &format!("kind = \"link-down\"\n{line}"));
            let up = event("12ms", &format!("kind = \"link-up\"\n{line}"));
            let events = format!("measure = {{ why = false, sample = \"10us\" }}\n{down}{up}");
            let run = one(&scenario(fabric, LONG, "", &events));
            assert!(run.flows.iter().all(|flow| flow.finished()), "{fabric} {after}");
            assert_eq!(run.faults.len(), 0, "{fabric} {after}: {:?}", run.faults);
            assert_eq!(run.census.dropped[DropReason::Full as usize], 0, "{fabric} {after}");
            // Up to two batches of timeslots were assigned before: some packets meet on their new paths. A link that is
            // always in use has at least a hundredth of its rate to drain the queue.
            let settled = |us: u64| us % 10_000 < 2_000 || us % 10_000 > 9_000;
            let samples = run.samples.rows(0..run.samples.len());
            let within = samples.iter().filter(|sample| settled(sample.t_ps / 1_000_000));
            let queue = within.map(|sample| sample.queue_bytes).max().unwrap_or(u64::MAX);
            println!("{fabric} {after}: {queue} B, {:?}", run.census.dropped);
            assert!(queue < 12 * PACKET, "{fabric} {after}: {queue} B");
        }
    }
}

/// A link between switches that becomes slower gets fewer timeslots.
#[test]
fn timeslots_follow_other_rates() {
    let fabric = LEAF_SPINE.replace("delay", "uplink-rate = \"40Gbps\", delay");
    let slower = event("2ms", "kind = \"rate\"\nlink = \"leaf0-spine1\"\nrate = \"10Gbps\"");
    let run = one(&scenario(&fabric, LONG, "", &slower));
    assert!(run.flows.iter().all(|flow| flow.finished()));
    assert_eq!(run.census.dropped, [0; 7]);
    assert!(peaks(&run).1 < 60 * PACKET, "{:?}", peaks(&run));
}

#[test]
fn on_any_number_of_threads() {
    let first = fail_over(LEAF_SPINE, 1);
    let control =
        r#"jitter = "3us", clock-offset = "1us", policy = "shortest-first", secondary = true"#;
    let mixed = scenario(LEAF_SPINE, &all_to_all(16, 1, 5_000), control, "");
    let mixed = format!("{mixed}\ncontrol-loss = 0.05\n");
    let one = records(&mixed, 1).remove(0);
    for threads in [2, 3] {
        assert_eq!(fail_over(LEAF_SPINE, threads).engine.digest, first.engine.digest);
        let again = records(&mixed, threads).remove(0);
        assert_eq!((again.engine.digest, again.control), (one.engine.digest, one.control.clone()));
    }
}

#[test]
fn what_cannot_be_scheduled_is_refused() {
    let refusal = |fabric: &str, control: &str| {
        let loaded = crate::common::load(&scenario(fabric, LONG, control, ""));
        slotline_lab::build::build(&loaded.scenario, 0, 1, &loaded).err().map(|e| e.to_string())
    };
    for (fabric, control, expected) in [
        (r#"{ kind = "fat-tree", k = 4 }"#, "", ""),
        (r#"{ kind = "star", hosts = 4, nics = 2 }"#, "", "nics = 1"),
        (
            r#"{ kind = "star", hosts = 4, overrides = [{ link = "h1-s0", rate = "1Gbps", reverse-rate = "2Gbps" }] }"#,
            "",
            "receive as fast as they send",
        ),
        (
            r#"{ kind = "tree", racks = 2, hosts-per-rack = 2, rack-uplink = "5Gbps" }"#,
            "",
            "at least as fast as the slowest",
        ),
        (STAR, r#"tenants = [{ hosts = "3-9" }]"#, "there are 8 hosts"),
        (STAR, r#"slot = "1us""#, "a full packet of 1538 B takes"),
        (STAR, r#"slot = "2us", processing = "64us", lead = "1ms""#, ""),
    ] {
        let found = refusal(fabric, control).unwrap_or_default();
        assert_eq!(found.is_empty(), expected.is_empty(), "{fabric} {control}: {found}");
        assert!(found.contains(expected), "{fabric} {control}: {found}");
    }
}

/// The results of a run whose arbiters are those of a scheme of this program's own: with threads for its allocators, or
/// without.
fn with_allocators(text: &str, threads: bool) -> RunRecord {
    let system = move |options: &Options| {
        let fastpass = options.read::<FastpassSpec>()?.build()?;
        Ok(match threads {
            true => fastpass.with_crew(slotline_arbiter::threads()),
            false => fastpass,
        })
    };
    let extensions = Extensions::new().system("allocators", system);
    let loaded = Scenario::parse_with(Path::new("a.toml"), text.into(), &extensions).unwrap();
    Jobs::of(&loaded).run(&loaded, 1).unwrap().remove(0)
}

/// Threads change no decision, also where nobody waits now and then, messages are lost, an arbiter ends and another one takes
/// over, a link breaks, and hosts have different rates.
#[test]
fn allocators_on_threads_change_nothing() {
    let slow = r#"{ kind = "star", hosts = 8, delay = "500ns", overrides = [{ link = "h1-s0", rate = "40Gbps" }] }"#;
    let mut granted = 0;
    for (fabric, event, options) in [
        (STAR, String::new(), "allocators = 1"),
        (slow, String::new(), r#"allocators = 2, batch = 16, processing = "19us""#),
        (
            LEAF_SPINE,
            event("1ms", "kind = \"link-down\"\nlink = \"leaf0-spine1\""),
            "allocators = 3, batch = 21",
        ),
        (
            LEAF_SPINE,
            event("1ms", "kind = \"controller-down\"\ncontroller = \"arbiter\""),
            "allocators = 2, batch = 1, processing = \"0ns\", secondary = true",
        ),
        (slow, String::new(), r#"allocators = 4, batch = 64, policy = "shortest-first""#),
    ] {
        let control =
            format!(r#"name = "allocators", options = {{ messages = "first", {options} }}"#);
        let text = scenario(fabric, &all_to_all(8, 1, 900), &control, &event);
        let text = text.replace(r#"kind = "fastpass", name"#, r#"kind = "custom", name"#);
        let text = text
            .replace(r#"min-rto = "2ms" }"#, "min-rto = \"2ms\" }\n        control-loss = 0.01");
        let [here, there] = [false, true].map(|threads| with_allocators(&text, threads));
        assert_eq!(here.engine.digest, there.engine.digest, "{options}");
        // A round may be in progress when the run ends.
        let decided = |run: &RunRecord| {
            let rows = run.control.iter().filter(|row| row.count != "slots_granted");
            rows.map(|row| (row.count.clone(), row.value)).collect::<Vec<_>>()
        };
        assert_eq!(decided(&here), decided(&there), "{options}");
        granted += here.control(counters::fastpass::SLOTS_GRANTED);
    }
    assert!(granted > 5_000, "{granted}");
}

/// Several allocators leave no queues either, and use as many timeslots.
#[test]
fn several_allocators_leave_no_queues() {
    let (one_rack, four) = (all_to_all(8, 1, 8_900), all_to_all(16, 4, 8_900));
    for (fabric, load, options, least) in [
        (STAR, &one_rack, "allocators = 2", 15_500),
        (LEAF_SPINE, &four, "allocators = 3, batch = 20", 31_000),
        (LEAF_SPINE, &four, "allocators = 2", 31_000),
        (
            STAR,
            &one_rack,
            r#"allocators = 5, batch = 3, processing = "0ns", policy = "shortest-first""#,
            15_500,
        ),
    ] {
        let run = one(&scenario(fabric, load, options, ""));
        let (hosts, switches) = peaks(&run);
        assert!(hosts.max(switches) < 3 * PACKET, "{options}: {hosts} and {switches} B");
        let used = run.control(counters::fastpass::SLOTS_USED);
        assert!((least..37_000).contains(&used), "{options}: {used}");
    }
}
