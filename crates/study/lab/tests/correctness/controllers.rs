//! Controllers that stop and start again, and control messages that are lost.

use crate::common::records;
use slotline_lab::record::RunRecord;
use slotline_net::node::DropReason;
use slotline_schemes::counters;

/// Four senders share one receiver under XCo.
fn run(scheme: &str, events: &str, threads: usize) -> RunRecord {
    let text = format!(
        r#"
        name = "controllers"
        end = {{ at = "1s" }}
        fabric = {{ kind = "star", hosts = 5, rate = "1Gbps" }}
        [[workload]]
        kind = "bulk"
        senders = "0-3"
        receivers = "4"
        size = "1MB"
        [[scheme]]
        name = "scheme"
        control = {{ kind = "xco", slice = "1ms" }}
        {scheme}
        {events}
        "#
    );
    records(&text, threads).remove(0)
}

fn dropped(run: &RunRecord, reason: DropReason) -> u64 {
    run.census.dropped[reason as usize]
}

fn finished(run: &RunRecord) -> bool {
    run.flows.iter().all(|flow| flow.finished())
}

/// Hosts send without control until the controller is back (§7). Messages to it are lost meanwhile.
#[test]
fn a_controller_that_stops_is_missed_and_obeyed_again() {
    let events = r#"
        [[event]]
        at = "2ms"
        kind = "controller-down"
        controller = "controller"
        [[event]]
        at = "12ms"
        kind = "controller-up"
        controller = "controller"
        "#;
    let (whole, cut) = (run("", "", 1), run("", events, 1));
    assert!(finished(&whole) && finished(&cut));
    assert!(dropped(&cut, DropReason::Stopped) > 0, "{:?}", cut.census);
    assert!(
        cut.control(counters::shared::DIRECTIVES) < whole.control(counters::shared::DIRECTIVES)
    );
    assert_eq!(dropped(&whole, DropReason::Stopped), 0);
    for threads in [2, 3] {
        assert_eq!(run("", events, threads).engine.digest, cut.engine.digest, "{threads} threads");
    }
}

#[test]
fn lost_messages_delay_and_do_not_stop() {
    let lossy = run("control-loss = 0.2", "", 1);
    assert!(finished(&lossy));
    let messages =
        lossy.control(counters::shared::DIRECTIVES) + lossy.control(counters::shared::REPORTS);
    let lost = dropped(&lossy, DropReason::Injected);
    assert!((messages / 10..messages / 3).contains(&lost), "{lost} of {messages}");
    assert_eq!(dropped(&run("", "", 1), DropReason::Injected), 0);
}
