//! XCo in a network: virtual machines, hosts and controllers that leave and return, networks that change, and
//! coordination on demand and by several controllers.

use crate::common::records;
use slotline_lab::record::RunRecord;
use slotline_net::node::DropReason;
use slotline_schemes::counters;

const FULL: usize = DropReason::Full as usize;

/// Greedy UDP senders through queues of 64 KB for 100 ms, with slices of 2 ms and no small flows.
fn scenario(fabric: &str, workloads: &[&str], options: &str, events: &str) -> RunRecord {
    let workload = |own: &&str| {
        format!("[[workload]]\nkind = \"udp\"\nmessage = \"1472B\"\nrate = \"1Gbps\"\n{own}\n")
    };
    let workloads: String = workloads.iter().map(workload).collect();
    let text = format!(
        r#"
        name = "coordination"
        end = {{ at = "100ms", when = "time" }}
        fabric = {fabric}
        {workloads}
        [[scheme]]
        name = "xco"
        queue = {{ limit = "64KB", priorities = true }}
        {options}
        {events}
        "#
    );
    records(&text, 1).remove(0)
}

fn xco(options: &str) -> String {
    format!("control = {{ kind = \"xco\", slice = \"2ms\", small-flow = \"0B\", {options} }}")
}

/// Bits per second delivered by hosts for which `wanted` holds.
fn goodput(run: &RunRecord, wanted: impl Fn(u32) -> bool) -> f64 {
    let own = run.flows.iter().filter(|flow| wanted(flow.src));
    own.map(|flow| flow.delivered_bytes as f64 * 8.0 / 0.1).sum()
}

const STAR: &str = r#"{ kind = "star", hosts = 6, rate = "1Gbps" }"#;
const INCAST: &str = "senders = \"0-4\"\nreceivers = \"5\"";

/// The standby takes over before hosts give up on the controller, nothing is permitted twice, and the primary may
/// return.
#[test]
fn a_standby_takes_over() {
    let down = "[[event]]\nat = \"30ms\"\nkind = \"controller-down\"\ncontroller = \"controller\"";
    let up = "[[event]]\nat = \"60ms\"\nkind = \"controller-up\"\ncontroller = \"controller\"";
    for events in [down.to_string(), format!("{down}\n{up}")] {
        let run = scenario(STAR, &[INCAST], &xco("controllers = \"standby\""), &events);
        assert_eq!(run.control(counters::shared::TAKE_OVERS), 1, "{events}");
        assert_eq!(
            (run.control(counters::xco::SILENCES), run.census.dropped[FULL]),
            (0, 0),
            "{events}"
        );
        // There is no controller for a slice and a half, and up to a report interval after that.
        assert!(goodput(&run, |_| true) > 0.85e9, "{}", goodput(&run, |_| true));
        assert!((0..5).all(|src| goodput(&run, |other| other == src) > 0.13e9), "{events}");
    }
    let alone = scenario(STAR, &[INCAST], &xco(""), down);
    assert_eq!(alone.control(counters::xco::SILENCES), 5, "everybody sends uncontrolled");
    assert!(alone.census.dropped[FULL] > 10_000, "{:?}", alone.census);
}

/// A host that dies while others wait is removed from the schedule within the time-out.
#[test]
fn a_dead_host_leaves_its_turn_to_others() {
    let event = "[[event]]\nat = \"20ms\"\nkind = \"link-down\"\nlink = \"h0-s0\"";
    let run = scenario(STAR, &[INCAST], &xco(""), event);
    assert_eq!(run.control(counters::shared::SILENT_HOSTS), 1);
    // Within the last 80 ms its turn of 2 ms is wasted every 10 ms, until the host is removed.
    assert!(goodput(&run, |src| src != 0) > 0.84e9, "{}", goodput(&run, |src| src != 0));
}

/// Pairs of hosts over two spines. One spine fails, and all pairs share the links of the other. If the controller did
/// not know this, it would permit twice as much as the links carry.
#[test]
fn schedules_follow_routes_and_rates() {
    let fabric = r#"{ kind = "leaf-spine", leaves = 2, spines = 2, hosts-per-leaf = 8, host-rate = "1Gbps", uplink-rate = "4Gbps" }"#;
    let across = (0..8).map(|h| format!("senders = \"{h}\"\nreceivers = \"{}\"", h + 8));
    let across: Vec<String> = across.collect();
    let across: Vec<&str> = across.iter().map(String::as_str).collect();
    let link = "[[event]]\nat = \"30ms\"\nkind = \"link-down\"\nlink = \"leaf0-spine0\"\nreroute-after = \"1ms\"";
    let run = scenario(fabric, &across, &xco(""), link);
    assert_eq!(
        (run.control(counters::shared::REWIRINGS), run.census.dropped[FULL]),
        (1, 0),
        "{:?}",
        run.census
    );
    assert!(goodput(&run, |_| true) > 3.5e9, "{}", goodput(&run, |_| true));
    let rate =
        "[[event]]\nat = \"30ms\"\nkind = \"rate\"\nlink = \"leaf0-spine0\"\nrate = \"1Gbps\"";
    let run = scenario(fabric, &across, &xco(""), rate);
    assert_eq!(
        (run.control(counters::shared::REWIRINGS), run.census.dropped[FULL]),
        (2, 0),
        "{:?}",
        run.census
    );
}

/// Host 0 has three virtual machines that send to host 5. Host 1 has one.
#[test]
fn virtual_machines_count() {
    let machines: Vec<String> =
        (1..4).map(|vm| format!("senders = \"0\"\nreceivers = \"5\"\nvm = {vm}")).collect();
    let mut workloads: Vec<&str> = machines.iter().map(String::as_str).collect();
    workloads.push("senders = \"1\"\nreceivers = \"5\"");
    for mode in ["timeslice", "rate-limit"] {
        for (fairness, share) in [("round-robin", 0.5), ("max-min", 0.75)] {
            let share = if mode == "rate-limit" { 0.75 } else { share };
            let options = format!("mode = \"{mode}\", fairness = \"{fairness}\"");
            let run = scenario(STAR, &workloads, &xco(&options), "");
            let of_three = goodput(&run, |src| src == 0) / goodput(&run, |_| true);
            assert!((of_three - share).abs() < 0.04, "{mode} {fairness}: {of_three}");
            let each: Vec<u64> = run.flows[..3].iter().map(|f| f.delivered_bytes).collect();
            let (least, most) = (each.iter().min().unwrap(), each.iter().max().unwrap());
            assert!(*least as f64 > 0.95 * *most as f64, "{mode} {fairness}: {each:?}");
        }
    }
}

#[test]
fn setting_up_a_queue_delays_the_first_packet() {
    let run = |setup: &str| {
        let text = format!(
            r#"
            name = "setup"
            end = {{ at = "1s" }}
            fabric = {STAR}
            workload = [{{ kind = "stride", size = "1MB", repeats = 2 }}]
            [[scheme]]
            name = "xco"
            control = {{ kind = "xco", slice = "2ms", small-flow = "0B", exempt-acks = true, setup = "{setup}" }}
            "#
        );
        let mut flows = records(&text, 1).remove(0).flows;
        flows.sort_by_key(|flow| (flow.src, flow.start_ps));
        flows.iter().map(|flow| flow.finish_ps - flow.start_ps).collect::<Vec<_>>()
    };
    let (without, with) = (run("0s"), run("75ms"));
    for (at, (without, with)) in without.into_iter().zip(with).enumerate() {
        let later = with.saturating_sub(without) / 1_000_000_000;
        let expected = if at % 2 == 0 { 74..80 } else { 0..5 };
        assert!(expected.contains(&later), "flow {at} takes {later} ms longer");
    }
}

/// Hosts are not controlled while there is room. They are controlled soon after there is none.
#[test]
fn on_demand_there_is_control_only_where_it_is_needed() {
    let options = xco("on-demand = { interval = \"2ms\" }");
    let calm: Vec<String> =
        (0..3).map(|h| format!("senders = \"{h}\"\nreceivers = \"{}\"", h + 3)).collect();
    let calm: Vec<&str> = calm.iter().map(String::as_str).collect();
    let run = scenario(STAR, &calm, &options, "");
    let free = scenario(STAR, &calm, "", "");
    assert_eq!((run.control(counters::shared::DIRECTIVES), run.census.dropped[FULL]), (0, 0));
    assert!(run.control(counters::shared::REPORTS) > 100, "loads are reported");
    // Only the time that reports take on the wire is missing.
    assert!(goodput(&run, |_| true) > 0.998 * goodput(&free, |_| true));

    let run = scenario(STAR, &[INCAST], &options, "");
    let free = scenario(STAR, &[INCAST], "", "");
    assert!(free.census.dropped[FULL] > 25_000, "{:?}", free.census);
    // Four of five packets are lost for slightly more than an interval: 650 packets per millisecond.
    assert!(run.census.dropped[FULL] < 3_000, "{:?}", run.census);
    assert!(goodput(&run, |_| true) > 0.85e9, "{}", goodput(&run, |_| true));
}

/// A standby that takes over on demand does not know the loads. It releases hosts that wait for the primary, and
/// controls them again when it has received their loads.
#[test]
fn a_standby_takes_over_on_demand() {
    let options = xco("on-demand = { interval = \"2ms\" }, controllers = \"standby\"");
    let down = "[[event]]\nat = \"30ms\"\nkind = \"controller-down\"\ncontroller = \"controller\"";
    let run = scenario(STAR, &[INCAST], &options, down);
    assert_eq!(
        (run.control(counters::shared::TAKE_OVERS), run.control(counters::xco::SILENCES)),
        (1, 0)
    );
    assert!(run.census.dropped[FULL] < 6_000, "two beginnings: {:?}", run.census);
    assert!(goodput(&run, |_| true) > 0.85e9, "{}", goodput(&run, |_| true));
}

/// A host that leaves is removed from the schedule at once. A host whose link fails is removed only after the time-out.
/// A host that returns is scheduled again.
#[test]
fn hosts_leave_and_join() {
    let event = |at: u32, kind: &str, what: &str| {
        format!("[[event]]\nat = \"{at}ms\"\nkind = \"{kind}\"\n{what}\n")
    };
    let host = "host = \"h0\"";
    let link = "link = \"h0-s0\"";
    let leaves = event(30, "leave", host) + &event(60, "join", host);
    let fails = event(30, "link-down", link) + &event(60, "link-up", link);
    let [left, failed] = [leaves, fails].map(|events| scenario(STAR, &[INCAST], &xco(""), &events));
    let silent = [&left, &failed].map(|run| run.control(counters::shared::SILENT_HOSTS));
    assert_eq!(silent, [0, 1]);
    let all = [&left, &failed].map(|run| goodput(run, |_| true) / 1e6);
    let one = [&left, &failed].map(|run| goodput(run, |host| host == 0) / 1e6);
    println!("{all:?} {one:?}");
    assert!(all[0] > 900.0, "{all:?}");
    // A fifth for 70 ms, minus a slice or two.
    assert!((90.0..140.0).contains(&one[0]), "{one:?}");
    assert_eq!(left.census.dropped[FULL], 0);
    let nobody = scenario(STAR, &[INCAST], "", &event(30, "leave", host));
    assert!(nobody.census.lost() > 0, "without a scheduler its link goes down, and that is all");
}

/// Hosts that start at the same time report at the same time once, but not for ever. Although the queue of the port to
/// the controller drops three of four reports, the reports of all hosts arrive.
#[test]
fn reports_are_repeated_at_times_of_their_own() {
    let text = r#"
        name = "reports"
        end = { at = "100ms", when = "time" }
        fabric = { kind = "star", hosts = 100, rate = "1Gbps" }
        [[workload]]
        kind = "udp"
        message = "1472B"
        rate = "1Gbps"
        senders = "0-49"
        receivers = "50-99"
        [[scheme]]
        name = "xco"
        queue = { limit = "3200B" }
        control = { kind = "xco", slice = "2ms", small-flow = "0B" }
        "#;
    let run = records(text, 1).remove(0);
    assert!(run.census.dropped[FULL] > 0, "some reports of the beginning are lost");
    assert_eq!(
        (run.control(counters::xco::SILENCES), run.control(counters::shared::SILENT_HOSTS)),
        (0, 0),
        "{:?}",
        run.control
    );
    assert!(goodput(&run, |_| true) > 50.0 * 0.9e9, "{}", goodput(&run, |_| true));
}

/// Controllers at racks, rows and the core. Hosts send within their rack, within their row, and beyond, all at once.
/// Every link is shared and none is overloaded.
#[test]
fn controllers_of_three_levels_share_links() {
    let fabric = r#"{ kind = "tree", rows = 2, racks = 2, hosts-per-rack = 4, rate = "1Gbps", rack-uplink = "2Gbps", row-uplink = "2Gbps" }"#;
    let pairs = |by: u32| -> Vec<String> {
        (0..16).map(|h| format!("senders = \"{h}\"\nreceivers = \"{}\"", (h ^ by) % 16)).collect()
    };
    let all: Vec<String> = [1, 4, 8].into_iter().flat_map(pairs).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let run = scenario(fabric, &all, &xco("controllers = \"hierarchical\""), "");
    assert_eq!(run.census.dropped[FULL], 0, "{:?}", run.census);
    for (level, flows) in run.flows.chunks(16).enumerate() {
        let sum: f64 = flows.iter().map(|flow| flow.delivered_bytes as f64 * 8.0 / 0.1).sum();
        assert!(sum > 0.5e9, "level {level}: {sum}");
    }
    let free = scenario(fabric, &all, "", "");
    assert!(free.census.dropped[FULL] > 0, "{:?}", free.census);
    // Traffic at a single level gets the whole capacity.
    let beyond = pairs(8);
    let beyond: Vec<&str> = beyond.iter().map(String::as_str).collect();
    let run = scenario(fabric, &beyond, &xco("controllers = \"hierarchical\""), "");
    assert_eq!(run.census.dropped[FULL], 0, "{:?}", run.census);
    let longest = run.ports.iter().filter(|port| !port.host).map(|port| port.peak_bytes).max();
    assert!(longest < Some(8_000), "queues do not grow from timeslice to timeslice: {longest:?} B");
    assert!(goodput(&run, |_| true) > 0.8 * 4e9, "{}", goodput(&run, |_| true));
}
