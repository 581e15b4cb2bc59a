//! The same scenario and seed give the same result, whatever else the machine does.

use crate::common::{assemble, drain, load, records, results};
use slotline_lab::record::RunRecord;
use slotline_lab::run::Jobs;
use slotline_net::time::Time;
use slotline_sim::{Options, Stepper, Watch, divided, run};

/// All kinds of randomness, queues and changes on one fat-tree.
fn scenario(scheme: &str, sample: &str) -> String {
    format!(
        r#"
        name = "determinism"
        seed = 7
        end = {{ at = "20ms" }}
        measure = {{ ideal = false, why = true, {sample} }}
        [fabric]
        kind = "fat-tree"
        k = 4
        [[workload]]
        kind = "poisson"
        load = 0.5
        sizes = "websearch"
        until = "2ms"
        [[workload]]
        kind = "request-response"
        interval = "100us"
        until = "2ms"
        class = 5
        [[workload]]
        kind = "udp"
        senders = 3
        receivers = 3
        rate = "3Gbps"
        poisson = true
        until = "2ms"
        [[scheme]]
        name = "scheme"
        {scheme}
        [[event]]
        at = "500us"
        kind = "link-down"
        link = "edge0.0-agg0.1"
        reroute-after = "200us"
        [[event]]
        at = "1500us"
        kind = "link-up"
        link = "edge0.0-agg0.1"
        [[event]]
        at = "900us"
        kind = "rate"
        link = "h3-edge0.1"
        rate = "3Gbps"
        "#
    )
}

const SAMPLE: &str = r#"sample = "20us""#;
const SCHEMES: [&str; 5] = [
    r#"transport = "cubic""#,
    r#"routing = "spray"
    transport = "dctcp"
    queue = { kind = "ecn", limit = "150KB" }"#,
    r#"queue = { kind = "red", weight = 0.1 }"#,
    r#"queue = { priorities = true, shared = { total = "1MB" }, pfc = { xoff = "20KB", xon = "15KB" } }"#,
    r#"control = { kind = "xco", slice = "100us" }"#,
];

fn one(text: &str, threads: usize) -> RunRecord {
    records(text, threads).remove(0)
}

/// A small network in more parts than `slotline run` would make.
#[test]
fn twice_and_in_any_number_of_parts() {
    for scheme in SCHEMES {
        let text = scenario(scheme, SAMPLE);
        let outcome = |threads| {
            let options = Options { threads, end: Time::ms(20), completions: u64::MAX };
            run(assemble(&text, 7).network, options, &Watch::default())
        };
        let first = outcome(1);
        assert!(first.conservation.holds() && first.events > 10_000);
        for threads in [1, 2, 5] {
            let again = outcome(threads);
            assert_eq!(again.digest, first.digest, "{threads} parts: {scheme}");
            assert_eq!(again.conservation, first.conservation, "{threads} parts: {scheme}");
        }
    }
}

/// Threads run the windows of both bursts together, and one thread those in between.
#[test]
fn on_any_number_of_threads() {
    for scheme in SCHEMES {
        let text = format!(
            r#"
            name = "bursts"
            end = {{ at = "8ms" }}
            measure = {{ ideal = false, why = true, {SAMPLE} }}
            [fabric]
            kind = "fat-tree"
            k = 8
            [[workload]]
            kind = "stride"
            by = 17
            size = "200KB"
            [[workload]]
            kind = "stride"
            by = 40
            size = "200KB"
            start = "6ms"
            [[workload]]
            kind = "udp"
            senders = 1
            receivers = 1
            rate = "1Gbps"
            [[scheme]]
            name = "scheme"
            {scheme}
            "#
        );
        let first = one(&text, 1);
        assert!(first.census.sent > 20_000 && !first.samples.is_empty(), "{:?}", first.census);
        for threads in [2, 5] {
            let again = one(&text, threads);
            assert_eq!(again.engine.threads, threads as u32);
            assert_eq!(again.engine.digest, first.engine.digest, "{threads} threads: {scheme}");
            assert_eq!(again.flows, first.flows, "{threads} threads: {scheme}");
            assert_eq!(again.ports, first.ports, "{threads} threads: {scheme}");
            assert_eq!(again.samples, first.samples, "{threads} threads: {scheme}");
            assert_eq!(again.census, first.census, "{threads} threads: {scheme}");
        }
    }
}

/// A run whose time advances as its driver requests, in steps of any size and with shorter windows.
#[test]
fn in_steps() {
    const END: Time = Time::ms(20);
    for scheme in SCHEMES {
        let text = scenario(scheme, SAMPLE);
        let options = Options { threads: 1, end: END, completions: u64::MAX };
        let whole = run(assemble(&text, 7).network, options, &Watch::default());
        let mut stepper = Stepper::new(assemble(&text, 7).network, END, Time::ns(150));
        for step in 0u64.. {
            let now = Time::ns(step * step * 31);
            stepper.advance(now);
            if now >= END {
                break;
            }
        }
        let stepped = stepper.finish(END);
        assert_eq!(stepped.digest, whole.digest, "{scheme}");
        assert!(stepped.conservation.holds() && stepped.events > 10_000);
    }
}

/// The parts of all threads take turns on one. The clock counts how often it is read.
#[test]
fn in_turns() {
    for scheme in SCHEMES {
        let text = scenario(scheme, SAMPLE);
        let options = |threads| Options { threads, end: Time::ms(20), completions: u64::MAX };
        let whole = run(assemble(&text, 7).network, options(1), &Watch::default());
        for threads in [1, 3] {
            let mut reads = 0;
            let mut clock = || {
                reads += 1;
                reads
            };
            let network = assemble(&text, 7).network;
            let (outcome, division) =
                divided(network, options(threads), &Watch::default(), &mut clock);
            assert_eq!(outcome.digest, whole.digest, "{threads} threads: {scheme}");
            let (threads, windows) = (division.threads as u64, division.windows() as u64);
            assert_eq!(division.total(), 2 * threads * windows, "mail and events, each measured");
            assert_eq!(division.busiest(), 2 * windows);
            assert_eq!(division.busiest_by_window(), 2 * windows);
            assert_eq!(division.crossing > 0, threads > 1);
        }
    }
}

#[test]
fn beside_other_runs() {
    let text = scenario(SCHEMES[0], SAMPLE);
    let several = format!("repeat = 4\n{text}");
    let alone = one(&text, 1).engine.digest;
    let loaded = load(&several);
    let parallel = Jobs::of(&loaded).run(&loaded, 4).expect("a good scenario");
    assert_eq!(parallel[0].engine.digest, alone);
    std::thread::scope(|scope| {
        let threads = [1, 2, 1].map(|threads| {
            let text = &text;
            scope.spawn(move || one(text, threads).engine.digest)
        });
        for thread in threads {
            assert_eq!(thread.join().expect("it runs"), alone);
        }
    });
}

/// Sampling changes nothing.
#[test]
fn with_and_without_samples() {
    for scheme in SCHEMES {
        let (with, without) = (one(&scenario(scheme, SAMPLE), 1), one(&scenario(scheme, ""), 1));
        assert_eq!(with.flows, without.flows, "{scheme}");
        assert_eq!(with.ports, without.ports, "{scheme}");
        assert_eq!(with.census, without.census, "{scheme}");
        assert!(without.samples.is_empty() && !with.samples.is_empty());
    }
}

/// A sample does not depend on those before it, also where nodes are idle between two of them.
#[test]
fn samples_at_the_same_times_are_equal() {
    for scheme in SCHEMES {
        let samples = |sample: &str| one(&scenario(scheme, sample), 1).samples;
        let (rare, often) = (samples(SAMPLE), samples(r#"sample = "5us""#));
        assert!(!rare.is_empty());
        for port in rare.series() {
            let mut expected = often.rows_of(port.port);
            expected.retain(|row| row.t_ps % Time::us(20).as_ps() == 0);
            assert_eq!(rare.rows_of(port.port), expected, "{scheme}: port {}", port.port);
        }
    }
}

#[test]
fn another_seed_is_another_run() {
    let text = format!("repeat = 5\n{}", scenario(SCHEMES[0], ""));
    let mut digests: Vec<u64> = records(&text, 2).iter().map(|run| run.engine.digest).collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 5);
}

/// Schemes are compared on the same traffic.
#[test]
fn every_scheme_gets_the_same_traffic() {
    let traffic = |scheme: &str| {
        let flows = one(&scenario(scheme, ""), 1).flows.into_iter();
        flows.map(|flow| (flow.group, flow.src, flow.dst, flow.bytes)).collect::<Vec<_>>()
    };
    let first = traffic(SCHEMES[0]);
    SCHEMES.iter().skip(1).for_each(|scheme| assert_eq!(traffic(scheme), first));
}

/// Nodes and ports have numbers, so the order of links in the list does not matter.
#[test]
fn whatever_the_order_of_links() {
    let run = |reverse: bool| {
        let mut network = assemble(&scenario(SCHEMES[0], ""), 7).network;
        if reverse {
            network.graph.links.reverse();
        }
        drain(network, 2)
    };
    let (one, other) = (run(false), run(true));
    assert_eq!((one.digest, results(&one)), (other.digest, results(&other)));
}
