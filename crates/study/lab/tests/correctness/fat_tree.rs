//! Whole runs on fat-trees: two-level tables, switches that move flows, and switches that detect failures themselves.

use crate::common::records;
use slotline_lab::record::RunRecord;
use slotline_net::node::DropReason;
use slotline_net::time::Time;
use slotline_scenario::Scenario;
use std::path::Path;

/// The share of datagrams that reach hosts, in percent, if each host sends at line rate to one other.
fn arrived(fabric: &str, receivers: &str, scheme: &str, end: &str) -> f64 {
    let text = format!(
        r#"
        name = "load"
        end = {{ at = "{end}", when = "time" }}
        fabric = {fabric}
        [[workload]]
        kind = "udp"
        senders = "0-15"
        receivers = "{receivers}"
        rate = "line"
        [[scheme]]
        name = "scheme"
        queue = {{ kind = "drop-tail", limit = "60KB" }}
        {scheme}
        "#
    );
    let run = records(&text, 1).remove(0);
    let sum = |host: bool| {
        let ports =
            run.ports.iter().filter(|p| p.host == host && (host || p.port.starts_with('h')));
        ports.map(|port| port.tx_bytes).sum::<u64>() as f64
    };
    100.0 * sum(false) / sum(true)
}

const TREE: &str = r#"{ kind = "fat-tree", k = 4, rate = "96Mbps" }"#;

/// Table 3.1 of Al-Fares' dissertation for the patterns that determine it: strides share no link, and both hosts of a
/// subnet that send to the same numbers share an uplink.
#[test]
fn two_level_tables_give_what_they_must() {
    let two_level = r#"routing = "two-level""#;
    for by in [1, 2, 4, 8] {
        let to: Vec<String> = (0..16).map(|host| ((host + by) % 16).to_string()).collect();
        let share = arrived(TREE, &to.join(","), two_level, "1s");
        assert!(share > 99.0, "stride {by}: {share} %");
    }
    // Hosts 0 and 1 send to hosts of number 2 in other pods, and so on. Half of each uplink's traffic is lost, and more
    // is lost at core switches, where the remaining packets meet.
    let same = "4,6,5,7,8,10,9,11,12,14,13,15,0,2,1,3";
    let share = arrived(TREE, same, two_level, "1s");
    assert!((30.0..51.0).contains(&share), "{share} %");
    // Switches that move flows use both uplinks of the edge switch.
    let moved =
        arrived(TREE, same, "routing = \"classifier\"\nclassifier = { period = \"100ms\" }", "2s");
    assert!(moved > share + 10.0, "{moved} % after {share} %");
}

/// Section 3.1.7: after the first poll each flow has its own links.
#[test]
fn the_flow_scheduler_gives_each_flow_its_links() {
    let to = (0..16).map(|host| ((host + 4) % 16).to_string()).collect::<Vec<_>>().join(",");
    let hashed = arrived(TREE, &to, "", "1s");
    let scheduler = "control = { kind = \"flow-scheduler\", poll = \"50ms\" }";
    let placed = arrived(TREE, &to, scheduler, "1s");
    assert!(hashed < 80.0 && placed > 90.0, "{placed} %, {hashed} % by hash");
}

/// Long flows. A part of the fabric fails at 2 ms and returns at 8 ms.
fn through_a_failure(scheme: &str, kind: &str, what: &str, threads: usize) -> RunRecord {
    let text = format!(
        r#"
        name = "failure"
        end = {{ at = "1s" }}
        measure = {{ why = false }}
        fabric = {{ kind = "fat-tree", k = 4 }}
        [[workload]]
        kind = "stride"
        by = 4
        size = "8MB"
        [[scheme]]
        name = "scheme"
        transport = {{ kind = "newreno", min-rto = "2ms" }}
        {scheme}
        recovery = {{ interval = "100us", down-interval = "1ms", processing = "10us" }}
        [[event]]
        at = "2ms"
        kind = "{kind}-down"
        {what}
        [[event]]
        at = "8ms"
        kind = "{kind}-up"
        {what}
        "#
    );
    records(&text, threads).remove(0)
}

#[test]
fn switches_route_around_failures_by_themselves() {
    for routing in ["ecmp", "two-level", "classifier", "pinned"] {
        let scheme = format!("routing = \"{routing}\"");
        for (kind, what) in [
            ("link", r#"link = "edge0.0-agg0.0""#),
            ("link", r#"link = "agg1.1-core3""#),
            ("switch", r#"switch = "agg2.0""#),
        ] {
            let run = through_a_failure(&scheme, kind, what, 1);
            assert!(run.flows.iter().all(|flow| flow.finished()), "{routing} {what}");
            // No flow waits for the link: all end before a session is up again.
            let last = run.flows.iter().map(|flow| flow.finish_ps).max().unwrap();
            assert!(Time::ps(last) < Time::ms(60), "{routing} {what}: {}", Time::ps(last));
        }
        let what = r#"link = "agg1.1-core3""#;
        let digests =
            [1, 3].map(|threads| through_a_failure(&scheme, "link", what, threads).engine.digest);
        assert_eq!(digests[0], digests[1], "{routing}");
    }
}

#[test]
fn packets_are_lost_until_switches_know() {
    let what = r#"link = "edge0.0-agg0.0""#;
    let run = through_a_failure(r#"routing = "two-level""#, "link", what, 1);
    let lost = run.census.dropped[DropReason::LinkDown as usize];
    assert!(lost > 0, "nothing was sent into the failed link");
}

fn refused(fabric: &str, scheme: &str, more: &str) -> String {
    let text = format!(
        "name = \"x\"\nend = {{ at = \"1s\" }}\nfabric = {fabric}\n[[workload]]\nkind = \"stride\"\n\
         [[scheme]]\nname = \"scheme\"\n{scheme}\n{more}"
    );
    let error = Scenario::parse(Path::new("x.toml"), text).expect_err("a fault");
    error.to_string()
}

#[test]
fn what_does_not_fit_is_refused() {
    let star = r#"{ kind = "star", hosts = 4 }"#;
    let two = r#"{ kind = "fat-tree", k = 4, nics = 2 }"#;
    let tree = r#"{ kind = "fat-tree", k = 4 }"#;
    let error = refused(star, "routing = \"two-level\"", "");
    assert!(error.contains("fat-tree") && error.contains("two-level"), "{error}");
    assert!(refused(two, "routing = \"two-level\"", "").contains("2 cards"));
    assert!(refused(two, "recovery = {}", "").contains("one card"));
    assert!(refused(tree, "classifier = {}", "").contains("routing = \"classifier\""));
    let zero = "routing = \"classifier\"\nclassifier = { period = \"0s\" }";
    assert!(refused(tree, zero, "").contains("`period` is 0"));
    assert!(refused(tree, "recovery = { multiplier = 0 }", "").contains("`multiplier`"));
    let event = "[[event]]\nat = \"1ms\"\nkind = \"link-down\"\nlink = \"agg0.0-core0\"\nreroute-after = \"1ms\"";
    assert!(refused(tree, "recovery = {}", event).contains("does nothing"));
}
