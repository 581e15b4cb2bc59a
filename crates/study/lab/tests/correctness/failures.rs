//! Links and switches that fail and come back, and rates that change.

use crate::common::{assemble, drain, node, records};
use crate::nodes::{Arrival, Tap, tap_hosts};
use slotline_lab::record::RunRecord;
use slotline_net::node::DropReason;
use slotline_net::node::intercept::Intercepted;
use slotline_net::time::Time;

const LINK_DOWN: usize = DropReason::LinkDown as usize;

/// A constant stream of full datagrams from host 0 to host 1 through a switch, one every 1.5 us.
fn stream(delay: &str, events: &str) -> String {
    format!(
        r#"
        name = "stream"
        end = {{ at = "10ms" }}
        fabric = {{ kind = "star", hosts = 2, delay = "{delay}" }}
        [[workload]]
        kind = "udp"
        senders = "0"
        receivers = "1"
        rate = "8202666667bps"
        message = "1472B"
        until = "3ms"
        [[scheme]]
        name = "scheme"
        {events}
        "#
    )
}

/// The arrivals of [`stream`] at host 1, and the number of dropped packets.
fn watch(delay: &str, events: &str) -> (Vec<Arrival>, u64) {
    let mut network = assemble(&stream(delay, events), 1).network;
    let host = network.graph.hosts[1].at();
    tap_hosts(&mut network);
    let outcome = drain(network, 1);
    assert!(outcome.conservation.holds(), "{:?}", outcome.conservation);
    let dropped = outcome.conservation.dropped.iter().sum();
    (node::<Intercepted<Tap>>(&outcome, host).interceptor.0.clone(), dropped)
}

/// A link of 300 us (200 packets long) fails at 1 ms and works again at 2 ms. Packets on it and packets sent meanwhile
/// are lost. The rest arrives.
#[test]
fn packets_on_a_failed_link_are_lost_and_counted() {
    let events = r#"
        [[event]]
        at = "1ms"
        kind = "link-down"
        link = "s0-h1"
        [[event]]
        at = "2ms"
        kind = "link-up"
        link = "s0-h1"
        "#;
    let whole = watch("300us", "").0;
    let (seen, dropped) = watch("300us", events);
    let (before, after): (Vec<&Arrival>, Vec<&Arrival>) =
        seen.iter().partition(|a| a.at < Time::ms(2));
    assert!(before.iter().all(|a| a.at <= Time::ms(1)), "{:?}", before.last());
    assert!(after.iter().all(|a| a.at > Time::us(2_300)), "{:?}", after.first());
    assert_eq!(seen.len() as u64 + dropped, whole.len() as u64);
    // Packets on the link or sent to it: those of 1.3 ms.
    assert!(dropped.abs_diff(1_300_000 / 1_500) <= 2, "{dropped}");
    let same = |a: &&Arrival| whole.contains(a);
    assert!(before.iter().all(same) && after.iter().all(same), "the others are not affected");
}

/// From 1 ms on the link sends at 1 Gbit/s. The first packet that starts later takes ten times as long, and no packet
/// before.
#[test]
fn a_rate_changes_at_its_time() {
    let event = r#"
        [[event]]
        at = "1ms"
        kind = "rate"
        link = "s0-h1"
        rate = "1Gbps"
        "#;
    let (seen, _) = watch("1us", event);
    let (fast, slow) = (Time::ps(1_538 * 800), Time::ps(1_538 * 8_000));
    let delay = Time::us(1);
    let (before, after): (Vec<Time>, Vec<Time>) =
        seen.iter().map(|a| a.at - delay).partition(|end| *end <= Time::ms(1) + fast);
    let last = before.last().expect("a millisecond of packets");
    assert!(*last - fast < Time::ms(1), "{last} was sent fast but began later");
    assert!(after[0] - slow >= Time::ms(1), "{} was sent slowly but began earlier", after[0]);
    assert!(after[0] - slow < Time::ms(1) + Time::ns(1_500), "idle before {}", after[0]);
    let full = &after[..after.len() - 1];
    assert!(full.windows(2).all(|pair| pair[1] - pair[0] == slow), "not back to back: {after:?}");
}

/// Two repeated events in turn equal the same events written out.
#[test]
fn a_rate_goes_up_and_down() {
    let event = |at: &str, rate: &str, more: &str| {
        format!(
            "[[event]]\nat = \"{at}\"\nkind = \"rate\"\nlink = \"s0-h1\"\nrate = \"{rate}\"\n{more}\n"
        )
    };
    let again = "times = 3\nevery = \"1ms\"";
    let short = event("500us", "1Gbps", again) + &event("1ms", "10Gbps", again);
    let times = [("500us", "1ms"), ("1500us", "2ms"), ("2500us", "3ms")];
    let long: String =
        times.map(|(down, up)| event(down, "1Gbps", "") + &event(up, "10Gbps", "")).concat();
    let (short, long) = (watch("1us", &short), watch("1us", &long));
    assert_eq!(short.0, long.0);
    let slow = short.0.windows(2).filter(|pair| pair[1].at - pair[0].at == Time::ps(1_538 * 8_000));
    // 1.5 ms at 12.3 us each.
    assert!((110..=125).contains(&slow.count()));
}

/// Long flows through a fabric. A part of it fails at 2 ms and returns at 8 ms.
fn through_a_failure(
    fabric: &str,
    kind: &str,
    what: &str,
    reroute: &str,
    threads: usize,
) -> RunRecord {
    let text = format!(
        r#"
        name = "failure"
        end = {{ at = "1s" }}
        measure = {{ why = false }}
        fabric = {fabric}
        [[workload]]
        kind = "stride"
        by = 4
        size = "4MB"
        [[scheme]]
        name = "scheme"
        transport = {{ kind = "newreno", min-rto = "2ms" }}
        [[event]]
        at = "2ms"
        kind = "{kind}-down"
        {what}
        reroute-after = "{reroute}"
        [[event]]
        at = "8ms"
        kind = "{kind}-up"
        {what}
        reroute-after = "{reroute}"
        "#
    );
    records(&text, threads).remove(0)
}

fn finished(run: &RunRecord) -> bool {
    run.flows.iter().all(|flow| flow.finished())
}

#[test]
fn traffic_recovers_over_other_paths() {
    let leaf_spine = r#"{ kind = "leaf-spine", leaves = 4, spines = 2, hosts-per-leaf = 4 }"#;
    let fat_tree = r#"{ kind = "fat-tree", k = 4 }"#;
    for (fabric, kind, what) in [
        (fat_tree, "link", r#"link = "edge0.0-agg0.0""#),
        (fat_tree, "switch", r#"switch = "core1""#),
        (leaf_spine, "link", r#"link = "leaf1-spine0""#),
        (leaf_spine, "switch", r#"switch = "spine1""#),
    ] {
        let slow = through_a_failure(fabric, kind, what, "1ms", 1);
        let quick = through_a_failure(fabric, kind, what, "0s", 1);
        for run in [&slow, &quick] {
            assert!(finished(run), "{fabric} {what}: a flow did not recover");
            assert!(run.census.dropped[LINK_DOWN] > 0, "{fabric} {what}: nothing was on the link");
        }
        let (late, early) = (slow.census.dropped[LINK_DOWN], quick.census.dropped[LINK_DOWN]);
        assert!(late > early, "{fabric} {what}: {late} lost in 1 ms, {early} at once");
        for threads in [2, 3] {
            let run = through_a_failure(fabric, kind, what, "1ms", threads);
            assert_eq!(run.engine.digest, slow.engine.digest, "{threads} threads: {what}");
        }
    }
}

/// Without another path, a flow waits until the link returns. The others continue.
#[test]
fn a_cut_off_host_continues_when_its_link_is_back() {
    let star = r#"{ kind = "star", hosts = 8 }"#;
    let run = through_a_failure(star, "link", r#"link = "h5-s0""#, "0s", 1);
    assert!(finished(&run));
    for flow in &run.flows {
        let waits = flow.src == 5 || flow.dst == 5;
        let late = Time::ps(flow.finish_ps) > Time::ms(8);
        assert_eq!((waits, flow.timeouts > 0), (late, late), "{flow:?}");
    }
}

#[test]
fn a_flow_that_is_cut_off_for_good_is_reported_unfinished() {
    let text = r#"
        name = "cut off"
        end = { at = "50ms" }
        fabric = { kind = "star", hosts = 4 }
        workload = [{ kind = "stride", size = "4MB" }]
        scheme = [{ name = "scheme", transport = { kind = "newreno", min-rto = "2ms" } }]
        event = [{ at = "1ms", kind = "link-down", link = "h2-s0" }]
        "#;
    let run = records(text, 1).remove(0);
    for flow in &run.flows {
        assert_eq!(flow.finished(), flow.src != 2 && flow.dst != 2, "{flow:?}");
        assert!(flow.delivered_bytes > 500_000 && flow.started(), "{flow:?}");
        assert_eq!(flow.delivered_bytes == flow.bytes, flow.finished(), "{flow:?}");
    }
}
