//! Every discipline in a switch and in a bump in front of it. Nothing is lost or invented (a run panics otherwise),
//! threads change nothing, and a bump that sees all packets knows the queue exactly.

use crate::common::records;
use slotline_lab::record::RunRecord;
use slotline_schemes::counters;

/// Two racks; four senders of TCP and one of datagrams share one receiver.
fn runs(threads: usize) -> Vec<RunRecord> {
    let queues = [
        r#"{ kind = "drop-tail", limit = "30KB" }"#,
        r#"{ kind = "ecn", limit = "60KB", threshold = "20KB" }"#,
        r#"{ kind = "red", limit = "60KB", ecn = true }"#,
        r#"{ kind = "codel", limit = "60KB", target = "50us", interval = "500us", ecn = true }"#,
        r#"{ kind = "codel", limit = "60KB", target = "50us", interval = "500us" }"#,
        r#"{ kind = "pie", limit = "60KB", target = "50us", update = "50us", burst = "1ms" }"#,
        r#"{ kind = "avq", limit = "60KB", size = "20KB", gain = 50.0 }"#,
        r#"{ kind = "qcn", limit = "60KB", equilibrium = "20KB" }"#,
    ];
    let scheme = |(at, queue): (usize, &&str)| {
        format!(
            r#"
            [[scheme]]
            name = "switch {at}"
            transport = {{ kind = "dctcp", min-rto = "5ms" }}
            queue = {queue}
            [[scheme]]
            name = "bump {at}"
            transport = {{ kind = "dctcp", min-rto = "5ms" }}
            bump = {{ queue = {queue} }}
            "#
        )
        // DCTCP needs a queue that marks.
        .replace("dctcp", if queue.contains("ecn") { "dctcp" } else { "cubic" })
    };
    let limits = r#"
        [[scheme]]
        name = "limits"
        transport = { kind = "cubic", min-rto = "5ms" }
        bump = { queue = { kind = "qcn", limit = "60KB", equilibrium = "20KB" }, reaction = { limit = "15KB" } }
    "#;
    let schemes: String = queues.iter().enumerate().map(scheme).collect();
    let text = format!(
        r#"
        name = "bumps"
        end = {{ at = "20ms", when = "time" }}
        fabric = {{ kind = "tree", racks = 2, hosts-per-rack = 5, rate = "1Gbps", rack-uplink = "10Gbps" }}
        [[workload]]
        kind = "bulk"
        senders = "0-3"
        receivers = "9"
        [[workload]]
        kind = "udp"
        senders = "4"
        receivers = "9"
        rate = "500Mbps"
        {schemes}
        {limits}
        "#
    );
    let mut runs = records(&text, threads);
    runs.sort_by(|a, b| a.scheme.cmp(&b.scheme));
    runs
}

#[test]
fn every_discipline_works_in_both_places_on_any_number_of_threads() {
    let (alone, together) = (runs(1), runs(3));
    for (one, other) in alone.iter().zip(&together) {
        assert_eq!(one.engine.digest, other.engine.digest, "{}", one.scheme);
        assert!(one.census.delivered > 1_000, "{}", one.scheme);
        if one.scheme.starts_with("bump") {
            assert!(one.counted(counters::net::BUMP_ESTIMATES).is_some_and(|count| count > 1_000));
        }
    }
    assert_eq!(alone.len(), 17);
    // Hosts get no notification that a bump in front of them has taken.
    let limited = alone.iter().find(|run| run.scheme == "limits").expect("a run");
    let count = |counter| limited.counted(counter).expect("a count");
    assert!(
        count(counters::net::LIMITER_NOTICES) > 10 && count(counters::net::LIMITER_DROPS) > 10,
        "{limited:?}"
    );
    assert!(
        count(counters::net::LIMITER_QUEUE_MOST) <= 15_000 && count(counters::net::NOTICES) == 0
    );
    assert_eq!(count(counters::net::LIMITER_UNREAD_NOTICES), 0);
    // Only the switch of the congested port has several inputs. Its bumps see all packets that it gets.
    let exact = alone.iter().find(|run| run.scheme == "bump 0").expect("a run");
    assert_eq!(
        exact.over(counters::net::BUMP_WITHIN_1_MTU, counters::net::BUMP_ESTIMATES),
        Some(1.0)
    );
}
