//! The flow-level engine compared with the packet engine, and the settings that it refuses.

use crate::common::{load, mean_fct_ms, records};
use slotline_lab::crosscheck::{Crosscheck, Sides};
use slotline_lab::metrics::measure;
use slotline_lab::record::{RunRecord, Window};
use slotline_scenario::metric::Metric;
use slotline_scenario::{Loaded, Scenario};
use std::path::Path;

fn checked(loaded: &Loaded) -> Crosscheck {
    let sides = Sides::of(loaded).unwrap_or_else(|error| panic!("{error}"));
    let [packet, flow] = sides.jobs();
    let packet = packet.run(&sides.packet, 1).unwrap_or_else(|error| panic!("{error}"));
    let flow = flow.run(&sides.other, 1).unwrap_or_else(|error| panic!("{error}"));
    sides.compare(packet, flow)
}

/// The values of a metric of the first scheme on both engines, and the difference.
fn of(checked: &Crosscheck, metric: &str) -> (f64, f64, f64) {
    of_scheme(checked, &checked.rows[0].scheme, metric)
}

/// As [`of`], for any scheme.
fn of_scheme(checked: &Crosscheck, scheme: &str, metric: &str) -> (f64, f64, f64) {
    let row = checked.rows.iter().find(|row| row.metric == metric && row.scheme == scheme);
    let row = row.unwrap_or_else(|| panic!("no {metric}: {checked:?}"));
    (row.packet, row.other, row.difference.unwrap_or(0.0))
}

fn lone(size: &str) -> String {
    format!(
        r#"
        name = "lone flow"
        end = {{ at = "10s" }}
        fabric = {{ kind = "fat-tree", k = 4 }}
        [[workload]]
        kind = "bulk"
        senders = "0"
        receivers = "15"
        size = "{size}"
        [[scheme]]
        name = "tcp"
        queue = {{ kind = "drop-tail", limit = "10MB" }}
        "#
    )
}

/// A fluid that is alone takes as long as packets whose window never limits them, for any size.
#[test]
fn alone_the_slowdown_is_one() {
    for bytes in [1, 1_460, 1_461, 2_000, 2_921, 100_000, 1_000_001] {
        let text = format!(
            r#"
            name = "alone"
            engine = "flow"
            end = {{ at = "1s" }}
            fabric = {{ kind = "fat-tree", k = 4 }}
            workload = [{{ kind = "bulk", senders = "0", receivers = "12", size = "{bytes}B" }}]
            [[scheme]]
            name = "fluid"
            "#
        );
        let flow = records(&text, 1).remove(0).flows[0];
        let slowdown = (flow.finish_ps - flow.start_ps) as f64 / flow.ideal_ps as f64;
        assert!((slowdown - 1.0).abs() < 1e-4, "{bytes} B: {slowdown}");
    }
}

#[test]
fn a_lone_flow_takes_the_same_on_both() {
    // A short flow waits for its first acknowledgements, which fluids do not model.
    for (size, most) in [("1MB", 1e-2), ("100MB", 1e-3)] {
        let checked = checked(&load(&lone(size)));
        let (packet, flow, off) = of(&checked, "fct-mean");
        assert!(off.abs() < most, "{size}: {packet} s packet by packet, {flow} s as a fluid");
        // The path back carries an acknowledgement of 84 bytes for each segment of 1,538.
        let (packet, flow, off) = of(&checked, "utilisation-mean");
        assert!((off + 84.0 / 1_622.0).abs() < 1e-2, "{packet}, {flow}");
        assert_eq!(checked.notes.len(), 1, "{:?}", checked.notes);
    }
}

const PERMUTATION: &str = r#"
    name = "permutation"
    end = { at = "10s" }
    fabric = { kind = "fat-tree", k = 4 }
    [[workload]]
    kind = "random-bijective"
    size = "10MB"
    [[scheme]]
    name = "dctcp"
    transport = { kind = "dctcp", min-rto = "10ms" }
    queue = { kind = "ecn", limit = "300KB", threshold = "30KB" }
    [[scheme]]
    name = "timeslices"
    control = "xco"
    "#;

/// Long flows under DCTCP, which loses nothing. Both engines put them on the same paths, and the most loaded path
/// determines the end, within some per cent that depend on the choice of paths. TCP gives flows over several full links
/// less than max-min fairness does, and their neighbours more, so the mean is lower.
#[test]
fn a_permutation_takes_about_the_same_on_both() {
    let checked = checked(&load(PERMUTATION));
    let most = [("fct-mean", 0.15), ("fct-p99", 0.04), ("makespan", 0.04), ("goodput", 0.04)];
    for (metric, most) in most {
        let (packet, flow, off) = of(&checked, metric);
        assert!(off.abs() < most, "{metric}: {packet} packet by packet, {flow} as fluids");
    }
    assert!(checked.rows.iter().all(|row| row.scheme == "dctcp"), "{checked:?}");
    assert!(checked.notes.iter().any(|note| note.starts_with("timeslices")), "{:?}", checked.notes);
}

#[test]
fn a_failed_link_costs_about_the_same_on_both() {
    let events = r#"
        [[event]]
        at = "2ms"
        kind = "link-down"
        link = "agg0.0-core0"
        reroute-after = "500us"
        [[event]]
        at = "10ms"
        kind = "link-up"
        link = "agg0.0-core0"
        [[event]]
        at = "12ms"
        kind = "rate"
        link = "edge1.0-agg1.0"
        rate = "5Gbps"
        "#;
    let checked = checked(&load(&(PERMUTATION.to_string() + events)));
    let (packet, flow, off) = of(&checked, "fct-mean");
    // Segments that were on the link are lost, and some wait for a time-out of 10 ms. Under TCP the mean is lower if
    // flows pass several full links, as above.
    assert!((-0.3..0.15).contains(&off), "{packet} packet by packet, {flow} as fluids");
}

#[test]
fn shipped_scenarios_can_be_checked() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios/incast.toml");
    let mut loaded = Scenario::load(&path).unwrap_or_else(|error| panic!("{error}"));
    loaded.reseed(None, Some(1)).unwrap_or_else(|error| panic!("{error}"));
    let checked = checked(&loaded);
    assert!(checked.complete && !checked.rows.is_empty());
    assert!(checked.notes.iter().any(|note| note.contains("omitted")), "{:?}", checked.notes);
    let (packet, flow, _) = of(&checked, "goodput");
    assert!(flow >= packet, "TCP cannot do better than fair shares: {packet}, {flow}");
}

fn fluids(more: &str) -> Vec<RunRecord> {
    let text = format!("engine = \"flow\"\n{}{more}", lone("1MB"));
    records(&text.replace("queue = { kind = \"drop-tail\", limit = \"10MB\" }", ""), 1)
}

#[test]
fn what_is_about_packets_is_absent() {
    let run = &fluids("[measure]\nsample = \"100us\"")[0];
    assert!(run.engine.flow_level && run.census.holds() && run.census.sent > 1_000_000);
    for metric in Metric::ALL.into_iter().filter(|metric| metric.is_of_packets()) {
        assert_eq!(measure(metric, run, Window::ALL), None, "{metric:?}");
    }
    assert!(measure(Metric::FctMean, run, Window::ALL).is_some());
    assert!(measure(Metric::SlowdownMean, run, Window::ALL).is_some());
    assert!(run.samples.rows(0..run.samples.len()).iter().any(|sample| sample.tx_bytes > 0));
    assert_eq!(run.engine.digest, fluids("[measure]\nsample = \"100us\"")[0].engine.digest);
}

#[test]
fn what_needs_packets_is_refused_with_its_key() {
    let base = |scheme: &str, more: &str| {
        format!(
            "name = \"x\"\nengine = \"flow\"\nend = {{ at = \"10ms\" }}\n\
             fabric = {{ kind = \"star\", hosts = 3 }}\n\
             [[workload]]\nkind = \"bulk\"\nsenders = \"0\"\nreceivers = \"1\"\nsize = \"1MB\"\n\
             [[scheme]]\nname = \"s\"\n{scheme}\n{more}\n"
        )
    };
    let refused = [
        (base("queue = \"ecn\"", ""), "scheme[0].queue"),
        (base("transport = \"cubic\"", ""), "scheme[0].transport"),
        (base("control = \"xco\"", ""), "scheme[0].control"),
        (base("", "[measure]\nwhy = true"), "measure.why"),
        (base("", "[measure]\ncapture = [\"s0-h0\"]"), "measure.capture"),
        (base("", "[measure]\nfollow = [0]"), "measure.follow"),
        (base("", "[measure]\nmetrics = [\"drops\"]"), "measure.metrics[0]"),
    ];
    for (text, key) in refused {
        let error =
            Scenario::parse(Path::new("s.toml"), text.clone()).expect_err(&text).to_string();
        let last = key.rsplit('.').next().unwrap_or(key).trim_end_matches("[0]");
        assert!(error.contains(last), "{key}: {error}");
        assert!(error.contains("flow-level"), "{error}");
    }
    let options = [
        ("tick = \"1ms\"", "tick"),
        ("rates = \"aimd\"\ntick = \"0s\"", "tick"),
        ("rates = \"aimd\"\nweights = [1.0]", "weights"),
        ("weights = [0.0]", "weights"),
        ("tolerance = 0.5", "tolerance"),
        ("rates = \"aimd\"\ntolerance = 0.001", "tolerance"),
        ("weights = [1,1,1,1,1,1,1,1,1]", "weights"),
        ("rates = \"aimd\"\nincrease = \"0bps\"", "increase"),
    ];
    for (more, key) in options {
        let text = base("", &format!("[engine]\nkind = \"flow\"\n{more}"));
        let text = text.replace("engine = \"flow\"\n", "");
        let error =
            Scenario::parse(Path::new("s.toml"), text.clone()).expect_err(&text).to_string();
        assert!(error.contains(key), "{error}");
    }
    assert!(Scenario::parse(Path::new("s.toml"), base("", "")).is_ok());
}

/// Streams at the full rate of their hosts over all equal-cost paths. Packets select paths at random and fluids use
/// them evenly, so all links carry the same on both engines, except for chance (8,600 packets each).
#[test]
fn spraying_loads_links_alike_on_both() {
    let run = |engine: &str, queue: &str| {
        let text = format!(
            r#"
            name = "spraying"
            engine = "{engine}"
            end = {{ at = "12ms" }}
            fabric = {{ kind = "fat-tree", k = 4 }}
            [[workload]]
            kind = "udp"
            senders = "0-7"
            receivers = "8-15"
            until = "10ms"
            [[scheme]]
            name = "spray"
            routing = "spray"
            {queue}
            "#
        );
        records(&text, 1).remove(0)
    };
    let packet = run("packet", r#"queue = { kind = "drop-tail", limit = "10MB" }"#);
    let flow = run("flow", "");
    let mut busy = 0;
    for (one, other) in packet.ports.iter().zip(&flow.ports) {
        assert_eq!((&one.node, &one.port), (&other.node, &other.port));
        let [packet, flow] = [one.tx_bytes, other.tx_bytes].map(|bytes| bytes as f64);
        assert!((packet - flow).abs() <= 0.05 * flow, "{}: {packet}, {flow}", one.node);
        busy += u32::from(flow > 1e7);
    }
    // The link of each sender, eight links to aggregation switches, eight to cores, and the same downwards.
    assert_eq!(busy, 48);
}

/// Long flows under DCTCP. In this permutation fluids fill the links of all hosts. Packets that overtake each other
/// sometimes look lost, so packets take longer.
#[test]
fn spraying_takes_no_longer_without_packets() {
    let text = r#"
        name = "spraying"
        end = { at = "10s" }
        fabric = { kind = "fat-tree", k = 4 }
        [[workload]]
        kind = "random-bijective"
        size = "10MB"
        [[scheme]]
        name = "spray"
        routing = "spray"
        transport = { kind = "dctcp", min-rto = "10ms", loss-recovery = "rack" }
        queue = { kind = "ecn", limit = "1MB", threshold = "100KB" }
        "#;
    let checked = checked(&load(text));
    for metric in ["fct-mean", "fct-p99", "makespan"] {
        let (packet, flow, off) = of(&checked, metric);
        assert!(off < 0.001, "{metric}: {packet} packet by packet, {flow} as fluids");
    }
}

/// A single flow, and a link of its path that fails. The flow stops until switches that miss hello packets route around
/// the link, and farther switches have been informed.
#[test]
fn switches_find_out_about_failures_without_packets() {
    let run = |event: &str| {
        let text = format!(
            r#"
            name = "recovery"
            engine = "flow"
            end = {{ at = "1s" }}
            fabric = {{ kind = "fat-tree", k = 4 }}
            workload = [{{ kind = "bulk", senders = "0", receivers = "15", size = "10MB" }}]
            [[scheme]]
            name = "recovery"
            recovery = {{ interval = "1ms", multiplier = 3, processing = "100us" }}
            {event}
            "#
        );
        records(&text, 1).remove(0)
    };
    let whole = run("");
    let busy = |node: &str, port: &str| {
        let sent = whole.ports.iter().find(|row| row.node == node && row.port == port);
        sent.is_some_and(|row| row.tx_bytes > 0)
    };
    let agg = ["agg0.0", "agg0.1"].into_iter().find(|agg| busy("edge0.0", agg)).expect("a way");
    let core =
        (0..4).map(|core| format!("core{core}")).find(|core| busy(agg, core)).expect("a way");
    let took = |run: &RunRecord| (run.flows[0].finish_ps - run.flows[0].start_ps) as f64 * 1e-9;
    let far = agg.replace("agg0", "agg3");
    // The aggregation switch detects the failure of its own link. Other switches inform it of a failure at the far pod.
    for (agg, notification) in [(agg, 0.0), (&far, 0.1)] {
        let link = format!("{agg}-{core}");
        let event = format!("[[event]]\nat = \"2ms\"\nkind = \"link-down\"\nlink = \"{link}\"");
        let late = took(&run(&event)) - took(&whole);
        assert!((2.0 + notification..3.2 + notification).contains(&late), "{link}: {late} ms");
    }
}

/// All ways of spreading traffic, on one scenario. The fabric is used best by schedulers that know all flows, and by
/// schemes that spread all packets.
#[test]
fn ways_of_spreading_traffic_compare_as_expected() {
    let hedera = |placement: &str| {
        format!(
            "control = {{ kind = \"hedera\", placement = \"{placement}\", poll = \"5ms\", gather = \"1ms\", \
             computing = \"1ms\" }}"
        )
    };
    let schemes = [
        ("ecmp", String::new()),
        ("flowlet", "routing = \"flowlet\"".into()),
        ("classifier", "routing = \"classifier\"\nclassifier = { period = \"5ms\" }".into()),
        ("first-fit", hedera("first-fit")),
        ("annealing", hedera("annealing")),
        ("best", hedera("best")),
        ("spray", "routing = \"spray\"".into()),
    ];
    let schemes = schemes.map(|(name, keys)| format!("[[scheme]]\nname = \"{name}\"\n{keys}\n"));
    let text = format!(
        "name = \"paths\"\nengine = \"flow\"\nend = {{ at = \"10s\" }}\nfabric = {{ kind = \"fat-tree\", k = 8 }}\n\
         workload = [{{ kind = \"random-bijective\", size = \"100MB\" }}]\n{}",
        schemes.concat()
    );
    let times: std::collections::BTreeMap<String, f64> =
        records(&text, 1).iter().map(|run| (run.scheme.clone(), mean_fct_ms(run))).collect();
    let of = |scheme: &str| times[scheme];
    let alone = 100e6 * 8.0 / 1e10 * 1e3 * 1538.0 / 1460.0;
    // Each connection has one flow, so there are no pauses.
    assert_eq!(of("flowlet"), of("ecmp"));
    assert!((of("spray") / alone - 1.0).abs() < 1e-3, "{times:?}");
    for better in ["classifier", "first-fit", "annealing", "best"] {
        assert!(of("spray") <= of(better) && of(better) < of("ecmp"), "{better}: {times:?}");
    }
    assert!(of("best") < of("classifier"), "{times:?}");
}
