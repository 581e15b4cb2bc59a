//! Hedera in a network: flows leave links that others use, and links that fail. Without a scheduler, hashes select
//! paths. Also flowlets and hashes of destinations.

use crate::common::records;
use slotline_lab::record::{FlowRow, PortRow, RunRecord};
use slotline_schemes::counters;

const LOOP: &str = r#"poll = "2ms", gather = "100us", computing = "100us", install = "100us""#;

/// A permutation among 16 hosts of a fat-tree, 5 MB each; `scheme` defines how paths are selected.
fn run(scheme: &str, extra: &str, threads: usize) -> RunRecord {
    let text = format!(
        r#"
        name = "hedera"
        end = {{ at = "2s" }}
        fabric = {{ kind = "fat-tree", k = 4, rate = "1Gbps" }}
        [[workload]]
        kind = "random-bijective"
        size = "5MB"
        [[scheme]]
        name = "paths"
        queue = {{ limit = "150KB" }}
        {scheme}
        {extra}
        "#
    );
    records(&text, threads).remove(0)
}

fn hedera(options: &str) -> String {
    format!("control = {{ kind = \"hedera\", {LOOP}, {options} }}")
}

/// Mean completion time in milliseconds; all flows are complete.
fn mean_ms(run: &RunRecord) -> f64 {
    let time = |flow: &FlowRow| {
        assert!(flow.finished(), "{flow:?}");
        (flow.finish_ps - flow.start_ps) as f64 / 1e9
    };
    run.flows.iter().map(time).sum::<f64>() / run.flows.len() as f64
}

/// 5 MB take 42 ms alone on a link of 1 Gbit/s.
#[test]
fn large_flows_get_paths_of_their_own() {
    let ecmp = mean_ms(&run("", "", 1));
    for placement in ["first-fit", "annealing", "annealing-per-flow", "best"] {
        let run = run(&hedera(&format!("placement = \"{placement}\"")), "", 1);
        let mean = mean_ms(&run);
        assert!(mean < 0.85 * ecmp, "{placement}: {mean} ms, {ecmp} ms by hash");
        assert!(
            run.control(counters::shared::REPORTS) >= 16
                && run.control(counters::shared::IGNORED_MESSAGES) == 0
        );
        assert!(run.control(counters::hedera::INSTALLED_PATHS) >= 16);
        let changed = run.control(counters::hedera::CHANGED_PATHS);
        assert!(
            (1..=run.control(counters::hedera::INSTALLED_PATHS)).contains(&changed),
            "{changed}"
        );
    }
}

/// The same scheduler on the flow-level engine. Alone on its path a flow takes 42 ms.
#[test]
fn flows_without_packets_get_paths_too() {
    let run = |control: &str| {
        let text = format!(
            r#"
            name = "fluids"
            engine = "flow"
            end = {{ at = "2s" }}
            fabric = {{ kind = "fat-tree", k = 4, rate = "1Gbps" }}
            workload = [{{ kind = "random-bijective", size = "5MB" }}]
            [[scheme]]
            name = "paths"
            {control}
            "#
        );
        records(&text, 1).remove(0)
    };
    let (ecmp, best) = (run(""), run(&hedera("placement = \"best\"")));
    assert!(best.control(counters::shared::FLOW_DECISIONS) > 0, "{:?}", best.control);
    assert!(mean_ms(&best) < 0.85 * mean_ms(&ecmp) && mean_ms(&best) < 46.0, "{}", mean_ms(&best));
}

#[test]
fn threads_change_nothing() {
    let scheme = hedera("placement = \"annealing\"");
    let digests = [1, 3].map(|threads| run(&scheme, "", threads).engine.digest);
    assert_eq!(digests[0], digests[1]);
}

/// A run of flows that share links with few others, under a scheme.
fn lightly_loaded(engine: &str, fabric: &str, scheme: &str) -> RunRecord {
    let text = format!(
        r#"
        name = "hashed"
        engine = "{engine}"
        end = {{ at = "20ms" }}
        fabric = {{ {fabric} }}
        [[workload]]
        kind = "poisson"
        load = 0.05
        sizes = "10KB"
        until = "15ms"
        [[scheme]]
        name = "paths"
        {scheme}
        "#
    );
    records(&text, 1).remove(0)
}

/// Until the scheduler moves it, each flow has the path of equal-cost multipath, and so have its acknowledgements.
/// Without packets flows end at the same time. With packets each link carries the same number.
#[test]
fn a_scheduler_that_never_polls_is_multipath_by_flow() {
    let fabrics = [
        "kind = \"fat-tree\", k = 4",
        "kind = \"fat-tree\", k = 6, rate = \"1Gbps\"",
        "kind = \"leaf-spine\", leaves = 4, spines = 3, hosts-per-leaf = 4",
    ];
    let timing = |flow: &FlowRow| (flow.src, flow.dst, flow.bytes, flow.start_ps, flow.finish_ps);
    let timings = |run: &RunRecord| run.flows.iter().map(timing).collect::<Vec<_>>();
    for fabric in fabrics {
        let both = |engine| {
            let never = "control = { kind = \"hedera\", poll = \"1s\" }";
            ["", never].map(|scheme| lightly_loaded(engine, fabric, scheme))
        };
        let [ecmp, hedera] = both("flow");
        assert!(ecmp.flows.len() > 100, "{fabric}: {}", ecmp.flows.len());
        assert_eq!(timings(&ecmp), timings(&hedera), "{fabric}");
        let [ecmp, hedera] = both("packet");
        for port in &ecmp.ports {
            let same = |other: &&PortRow| (&other.node, &other.port) == (&port.node, &port.port);
            let other = hedera.ports.iter().find(same).expect("the same fabric");
            let sent = |port: &PortRow| (port.tx_packets, port.tx_bytes, port.drops);
            assert_eq!(sent(port), sent(other), "{fabric}: {} {}", port.node, port.port);
        }
    }
}

/// If the messages of a scheduler are lost, hashes select all paths. Paths of a scheduler that stops are given up.
#[test]
fn without_a_scheduler_hashes_decide() {
    let silent = run(&hedera(""), "control-loss = 1.0", 1);
    assert_eq!(
        (
            silent.control(counters::shared::DECISIONS),
            silent.control(counters::hedera::INSTALLED_PATHS)
        ),
        (0, 0)
    );
    let ecmp = run("", "", 1);
    let difference = (mean_ms(&silent) - mean_ms(&ecmp)).abs() / mean_ms(&ecmp);
    // The hashes differ, but are of the same kind.
    assert!(difference < 0.5, "{difference}");
    let stop = "[[event]]\nat = \"5ms\"\nkind = \"controller-down\"\ncontroller = \"scheduler\"";
    let stopped = run(&hedera("placement = \"best\""), stop, 1);
    let whole = run(&hedera("placement = \"best\""), "", 1);
    let installed = |run: &RunRecord| run.control(counters::hedera::INSTALLED_PATHS);
    assert!(installed(&stopped) >= 16 && 2 * installed(&stopped) < installed(&whole));
    assert!(mean_ms(&stopped) > mean_ms(&whole), "{}", mean_ms(&stopped));
    let start = "[[event]]\nat = \"9ms\"\nkind = \"controller-up\"\ncontroller = \"scheduler\"";
    let again = run(&hedera("placement = \"best\""), &format!("{stop}\n{start}"), 1);
    assert!(mean_ms(&again) < mean_ms(&stopped), "{}", mean_ms(&again));
    // Half of all messages are lost. Reports and answers are repeated.
    let lossy = run(&hedera("placement = \"best\""), "control-loss = 0.5", 1);
    assert!(mean_ms(&lossy) < 0.9 * mean_ms(&ecmp), "{}", mean_ms(&lossy));
}

/// A link between an aggregation and a core switch fails: its flows take other links.
#[test]
fn flows_leave_a_link_that_fails() {
    let event = "[[event]]\nat = \"10ms\"\nkind = \"link-down\"\nlink = \"agg0.0-core0\"\nreroute-after = \"1ms\"";
    for placement in ["first-fit", "annealing", "best"] {
        let run = run(&hedera(&format!("placement = \"{placement}\"")), event, 1);
        assert_eq!(run.control(counters::shared::REWIRINGS), 1);
        assert!(mean_ms(&run) < 400.0, "{placement}: {}", mean_ms(&run));
    }
}

/// With a hash of the destination, two flows to one host share their path from the switch where they meet. A flowlet's
/// gap that never occurs leaves a flow on its path. A gap that always occurs spreads it.
#[test]
fn bursts_and_destinations_choose_paths() {
    let used = |scheme: &str| {
        let text = format!(
            r#"
            name = "spread"
            end = {{ at = "1s" }}
            fabric = {{ kind = "fat-tree", k = 4, rate = "1Gbps" }}
            [[workload]]
            kind = "bulk"
            senders = "0,1"
            receivers = "12"
            size = "1MB"
            [[scheme]]
            name = "spread"
            queue = {{ limit = "150KB" }}
            {scheme}
            "#
        );
        let run = records(&text, 1).remove(0);
        let uplink = |to| run.ports.iter().find(|p| p.node == "edge0.0" && p.port == to);
        ["agg0.0", "agg0.1"].map(|to| uplink(to).unwrap().tx_bytes > 100_000)
    };
    let both = used(r#"routing = "ecmp-destination""#);
    assert!(both == [true, false] || both == [false, true], "{both:?}");
    assert_eq!(used(r#"routing = "spray""#), [true, true]);
    assert_eq!(used("routing = \"flowlet\"\nflowlet-gap = \"1us\""), [true, true]);
}
