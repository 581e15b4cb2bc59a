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

/// Two senders to one receiver behind a bump that marks. If it acts on one sender's flows only, that one yields to the
/// other, because only its packets are marked.
#[test]
fn a_bump_acts_on_chosen_flows_only() {
    let scheme = |name: &str, keys: &str| {
        format!(
            "[[scheme]]\nname = \"{name}\"\ntransport = {{ kind = \"dctcp\", min-rto = \"5ms\" }}\n\
             queue = {{ kind = \"drop-tail\", limit = \"1MB\" }}\nbump = {{ {keys} }}\n"
        )
    };
    let mark = "{ kind = \"ecn\", limit = \"1MB\", threshold = \"20KB\" }";
    let also = "queue = { kind = \"drop-tail\", limit = \"1MB\" }, also = [{ policy = { kind = \"ecn\", threshold = \"20KB\" }, \
                flows = { from = \"0\", to = \"9\" } }]";
    let schemes = [
        scheme("all", &format!("queue = {mark}")),
        scheme("one", &format!("queue = {mark}, flows = {{ from = \"0\" }}")),
        scheme("also one", also),
        scheme("others", &format!("queue = {mark}, flows = {{ to = \"0-8\" }}")),
    ];
    let text = format!(
        "name = \"chosen\"\nend = {{ at = \"50ms\", when = \"time\" }}\n[fabric]\nkind = \"tree\"\nracks = 2\n\
         hosts-per-rack = 5\nrate = \"1Gbps\"\nrack-uplink = \"10Gbps\"\n[[workload]]\nkind = \"bulk\"\nsenders = \"0-1\"\n\
         receivers = \"9\"\n{}",
        schemes.concat()
    );
    let runs = records(&text, 1);
    let share = |run: &RunRecord| {
        let sent = |host| run.flows.iter().find(|f| f.src == host).map_or(0, |f| f.delivered_bytes);
        sent(0) as f64 / (sent(0) + sent(1)) as f64
    };
    let shares: Vec<f64> = runs.iter().map(share).collect();
    let marks: Vec<u64> = runs.iter().map(|run| run.control(counters::net::BUMP_MARKS)).collect();
    assert!((0.4..0.6).contains(&shares[0]) && marks[0] > 100, "{shares:?} {marks:?}");
    assert!(shares[1] < 0.25 && marks[1] > 10, "{shares:?} {marks:?}");
    assert_eq!(runs[1].flows, runs[2].flows);
    assert_eq!(marks[3], 0);
}
