//! Core packet switches behind patch panels: a Clos is a leaf-spine network, circuits carry packets only in their days,
//! no packet travels in a loop, and routes avoid what fails.

use crate::common::{assemble, fct_ps, load, mean, mean_fct_ms, records};
use proptest::prelude::*;
use slotline_lab::record::RunRecord;
use slotline_net::frame::Kind;
use slotline_net::id::{NodeId, PortId};
use slotline_net::time::Time;
use slotline_scenario::Scenario;
use slotline_schemes::counters;
use slotline_sim::{Follow, Hop, Options, Watch, run};
use std::path::Path;

const QUEUE: &str = "queue = { kind = \"ecn\", threshold = \"60KB\", limit = \"300KB\" }\n\
                     transport = { kind = \"dctcp\", mtu = \"1500B\", min-rto = \"1ms\" }\n";

/// A fabric, its workload and one scheme.
fn scenario(fabric: &str, workload: &str, scheme: &str) -> String {
    format!(
        "name = \"cores\"\nend = {{ at = \"2s\" }}\nmeasure = {{ why = false }}\n[fabric]\n{fabric}\n\
         {workload}\n[[scheme]]\nname = \"a\"\n{QUEUE}{scheme}\n"
    )
}

/// Racks of three hosts at panels, with a core.
fn behind_panels(racks: u32, panels: u32, cores: u32, ports: u32) -> String {
    format!(
        "kind = \"hybrid\"\nracks = {racks}\nhosts-per-rack = 3\nhost-rate = \"10Gbps\"\nhost-delay = \"1us\"\n\
         circuits = {{ switches = {panels}, rate = \"10Gbps\", delay = \"1us\", reconfiguration = \"200us\", \
         dark = \"changed\" }}\ncore = {{ switches = {cores}, ports = {ports} }}"
    )
}

const SHUFFLE: &str = "[[workload]]\nkind = \"shuffle\"\nsize = \"300KB\"\n";
const CLOS: &str = "control = { kind = \"circuits\", scheduler = \"clos\" }\n";

fn alone(text: &str) -> RunRecord {
    records(text, 1).into_iter().next().expect("a run")
}

/// With one path between any two racks nothing depends on chance. Times are equal to the picosecond.
#[test]
fn with_one_core_switch_it_is_a_leaf_spine_network_exactly() {
    let spine = "kind = \"leaf-spine\"\nleaves = 4\nspines = 1\nhosts-per-leaf = 3\nhost-rate = \"10Gbps\"\n\
                 uplink-rate = \"10Gbps\"\ndelay = \"1us\"";
    let here = alone(&scenario(&behind_panels(4, 1, 1, 4), SHUFFLE, CLOS));
    let there = alone(&scenario(spine, SHUFFLE, ""));
    let times = |run: &RunRecord| run.flows.iter().map(fct_ps).collect::<Vec<_>>();
    assert!(here.flows.len() > 100);
    assert_eq!(times(&here), times(&there));
}

/// With several core switches only the hashes differ. The mean of eight seeds is that of any eight seeds.
#[test]
fn with_only_cores_it_is_a_leaf_spine_network() {
    let spine = "kind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts-per-leaf = 3\nhost-rate = \"10Gbps\"\n\
                 uplink-rate = \"10Gbps\"\nuplinks-per-spine = 2\ndelay = \"1us\"";
    for routing in ["spray", "ecmp"] {
        let scheme = format!("routing = \"{routing}\"\n");
        let mean = |fabric: &str, scheme: &str| {
            let text = scenario(fabric, SHUFFLE, scheme)
                .replace("name = \"cores\"", "name = \"cores\"\nrepeat = 8");
            let runs = records(&text, 2);
            mean(runs.iter().map(mean_fct_ms))
        };
        let here = mean(&behind_panels(4, 4, 2, 8), &format!("{scheme}{CLOS}"));
        let there = mean(spine, &scheme);
        assert!((here / there - 1.0).abs() < 0.04, "{routing}: {here} ms, {there} ms");
    }
}

/// The example: both large and small flows are faster than in a Clos. Large flows are as fast as in a mesh. Small flows
/// are faster, because they share fewer links with large flows.
#[test]
fn a_mix_serves_skewed_demand_better_than_a_clos() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios/cores.toml");
    let text = std::fs::read_to_string(&file).expect("an example");
    let text = text.replace("[measure]\n", "[measure]\nwhy = false\n");
    let runs = records(&text.replace("repeat = 5\n", ""), 2);
    let of = |run: &RunRecord, group: u16| {
        let flows = run.flows.iter().filter(move |flow| flow.group == group);
        mean(flows.map(|flow| fct_ps(flow) as f64 * 1e-9))
    };
    let [clos, mesh, combined] = &runs[..] else { panic!("three schemes") };
    let large = [clos, mesh, combined].map(|run| of(run, 0));
    let small = [clos, mesh, combined].map(|run| of(run, 1));
    assert!(large[2] < large[0] * 0.9 && large[2] < large[1] * 1.02, "{large:?}");
    assert!(small[2] < small[0] && small[2] < small[1], "{small:?}");
}

/// Four racks, and one core switch with two ports at each of two panels. Racks 0 and 1 are always connected to the core
/// by panel 0, and racks 2 and 3 by panel 1. Racks 2 and 3 have direct circuits by panel 0 from 70 us to 250 us of each
/// 320 us.
const DAYS: &str = "control = { kind = \"circuits\", scheduler = \"fixed\", schedule = \"\"\"\n\
                    5 50 4/5/-1/-1/0/1 20 -1/-1/-1/-1/-1/-1 180 4/5/3/2/0/1 20 -1/-1/-1/-1/-1/-1 50 4/5/-1/-1/0/1\n\
                    1 320 -1/-1/4/5/2/3\n\"\"\" }\n";
const US: u64 = 1_000_000;

/// The packets that left the panel ports of racks 2 and 3, by panel, while rack 2 sends 6 Gbit/s to rack 3 and rack 3
/// to rack 2; and the outcome of the run.
fn days(rule: &str, control: &str) -> (Vec<Vec<Hop>>, RunRecord) {
    let fabric = behind_panels(4, 2, 1, 4).replace("\"200us\"", "\"20us\"");
    let fabric = fabric.replace("host-rate = \"10Gbps\"", "host-rate = \"2Gbps\"");
    let scheme = format!("{control}voq = {{ packets = 1000, at-night = \"{rule}\" }}\n");
    let workload = "[[workload]]\nkind = \"bulk\"\nsenders = \"6-11\"\nreceivers = \"9-11,6-8\"\n";
    let text = scenario(&fabric, workload, &scheme);
    let text = text.replace("at = \"2s\"", "at = \"8ms\", when = \"time\"");
    let mut assembly = assemble(&text, 1);
    let port = |rack: u32, panel: u16| (NodeId(rack * 4 + 3), PortId(3 + panel));
    let ports = vec![port(2, 0), port(3, 0), port(2, 1), port(3, 1)];
    assembly.network.follow = Follow { ports, limit: 1_000_000, ..Follow::default() };
    let options = Options { threads: 1, end: Time::ms(8), completions: u64::MAX };
    let outcome = run(assembly.network, options, &Watch::default());
    assert!(outcome.conservation.holds());
    let hops = outcome.journal.captures.into_iter().map(|(hops, _)| hops).collect();
    (hops, alone(&text))
}

fn within(hop: &Hop) -> u64 {
    hop.start % (320 * US)
}

#[test]
fn direct_circuits_carry_in_their_days_and_the_core_in_between() {
    for rule in ["hold", "drain", "drop"] {
        let (hops, _) = days(rule, DAYS);
        let data = |at: usize| hops[at].iter().filter(|hop| hop.packet.kind == Kind::Data);
        for hop in data(0) {
            assert!((70 * US..250 * US).contains(&within(hop)), "{rule}: at night: {hop:?}");
            assert_eq!(hop.packet.dst.0 / 3, 3, "only what it leads to");
            assert!(hop.leave % (320 * US) <= 250 * US, "what does not get away takes the core");
        }
        assert!(data(0).count() > 500, "{rule}");
        // By day, the core gets only those packets of the pair that were already queued there; otherwise it gets all.
        let by_core = |from: u64, until: u64| {
            data(2).filter(|hop| (from * US..until * US).contains(&within(hop))).count()
        };
        assert_eq!(by_core(150, 240), 0, "{rule}");
        assert!(by_core(0, 60) > 100, "{rule}");
    }
}

/// Without a path by the core, packets wait for the day. Packets that wait for a circuit at its end are moved or lost.
#[test]
fn at_night_the_rule_says_what_becomes_of_packets_without_another_way() {
    let lonely = DAYS.replace("1 320 -1/-1/4/5/2/3", "1 320 -1/-1/-1/-1/-1/-1");
    for (rule, moved, cut) in [("hold", true, false), ("drain", true, false), ("drop", false, true)]
    {
        let (hops, run) = days(rule, &lonely);
        assert!(hops[2].is_empty() && hops[0].len() > 500, "{rule}");
        for hop in &hops[0] {
            assert!((70 * US..250 * US).contains(&within(hop)), "{rule}: {hop:?}");
            assert!(rule == "drain" || hop.leave % (320 * US) <= 250 * US, "{rule}: {hop:?}");
        }
        assert!(run.control(counters::hybrid::PACKETS_WITHOUT_ROUTE) > 0, "{rule}");
        assert_eq!(run.control(counters::hybrid::PACKETS_MOVED_BY_NIGHT) > 0, moved, "{rule}");
        assert_eq!(run.control(counters::hybrid::PACKETS_CUT_BY_NIGHT) > 0, cut, "{rule}");
    }
}

#[test]
fn threads_change_nothing_and_all_rules_keep_account() {
    let fabric = behind_panels(4, 4, 2, 8);
    let weekly = |scheduler: &str, demand: &str, rule: &str| {
        format!(
            "control = {{ kind = \"circuits\", scheduler = \"{scheduler}\", week = \"1ms\", day = \"500us\", \
             report-ahead = \"500us\", demand = \"{demand}\" }}\nvoq = {{ packets = 50, at-night = \"{rule}\" }}\n"
        )
    };
    let schemes = [
        weekly("clos-direct", "adu", "hold"),
        weekly("clos-direct", "voq", "drop"),
        weekly("clos-direct", "perfect", "drain") + "control-loss = 0.3\n",
        weekly("mesh", "adu", "hold") + "routing = \"spray\"\n",
        CLOS.into(),
    ];
    for scheme in schemes {
        let text = scenario(&fabric, SHUFFLE, &scheme);
        let (one, three) = (alone(&text), records(&text, 3).remove(0));
        assert_eq!(one.engine.digest, three.engine.digest, "{scheme}");
        assert!(one.flows.iter().all(|flow| flow.finished()), "{scheme}");
        let cut = one.control(counters::hybrid::PACKETS_CUT_BY_NIGHT);
        assert!(cut == 0 || scheme.contains("drop"), "{scheme}: {cut}");
        assert!(
            one.control(counters::hybrid::PACKETS_BY_CORE)
                + one.control(counters::hybrid::RELAYED_PACKETS)
                > 0,
            "{scheme}"
        );
    }
}

fn event(at: &str, kind: &str, about: &str) -> String {
    format!("[[event]]\nat = \"{at}\"\nkind = \"{kind}\"\n{about}\n")
}

/// If a core switch or a link of a rack fails, flows continue over the remaining paths.
#[test]
fn what_fails_is_gone_round() {
    let fabric = behind_panels(4, 4, 2, 8);
    let combined = "control = { kind = \"circuits\", scheduler = \"clos-direct\", week = \"1ms\", day = \"500us\", \
               demand = \"adu\" }\n";
    for (kind, about, ports) in [
        ("switch", "switch = \"core0\"", 8),
        ("link", "link = \"tor1-circuit2\"", 1),
        ("link", "link = \"core1-circuit0\"", 2),
    ] {
        for scheme in [CLOS, combined] {
            let down = event("500us", &format!("{kind}-down"), about);
            let up = event("4ms", &format!("{kind}-up"), about);
            for events in [down.clone(), down + &up] {
                let text = scenario(&fabric, &format!("{SHUFFLE}{events}"), scheme);
                let run = alone(&text);
                assert!(run.flows.iter().all(|flow| flow.finished()), "{about} {scheme}");
                // Core switches do not count their own failures. Racks report theirs.
                let reported = run.control(counters::hybrid::PORT_FAILURES);
                assert_eq!(reported, if about.contains("tor") { ports } else { 0 }, "{about}");
            }
        }
    }
}

/// With a single core switch, its failure leaves no path: packets wait in their rack until it returns.
#[test]
fn without_any_way_packets_wait() {
    let events = event("300us", "switch-down", "switch = \"core0\"")
        + &event("3ms", "switch-up", "switch = \"core0\"");
    let scheme = format!("{CLOS}voq = {{ packets = 10000 }}\n");
    let run = alone(&scenario(&behind_panels(4, 1, 1, 4), &format!("{SHUFFLE}{events}"), &scheme));
    assert!(run.control(counters::hybrid::PACKETS_WITHOUT_ROUTE) > 0);
    assert!(run.flows.iter().all(|flow| flow.finished()));
    let over = run.flows.iter().filter(|flow| flow.finish_ps > 3_000_000_000).count();
    let during = 500_000_000..3_000_000_000;
    let across = |flow: &&slotline_lab::record::FlowRow| flow.src / 3 != flow.dst / 3;
    let meanwhile = run.flows.iter().filter(across).filter(|flow| during.contains(&flow.finish_ps));
    assert!(over > 10);
    assert_eq!(meanwhile.count(), 0);
}

fn refused(text: &str) -> String {
    let file = Path::new("d.toml");
    Scenario::parse(file, text.into()).expect_err("it makes no sense").to_string()
}

#[test]
fn what_makes_no_sense_is_refused() {
    let fabric = behind_panels(4, 4, 2, 8);
    let text = |scheme: &str| scenario(&fabric, SHUFFLE, scheme);
    load(&text(CLOS));
    for (scheme, says) in [
        ("control = \"circuits\"\n", "\"clos\", \"mesh\", \"clos-direct\" or \"fixed\""),
        ("", "without a packet switch only circuits carry packets"),
        (
            &format!("{CLOS}voq = {{ relay = {{ hops = \"valiant\" }} }}\n"),
            "`voq.relay` does nothing",
        ),
        (&format!("{CLOS}routing = \"pinned\"\n"), "`routing` is \"ecmp\", \"spray\""),
        (
            "control = { kind = \"circuits\", scheduler = \"clos\", week = \"1ms\" }\n",
            "`week` does nothing",
        ),
        (
            "control = { kind = \"circuits\", scheduler = \"clos\", demand = \"adu\" }\n",
            "`demand` does nothing",
        ),
    ] {
        let error = refused(&text(scheme));
        assert!(error.contains(says), "{scheme}: {error}");
    }
    let bare = "kind = \"hybrid\"\nracks = 4\nhosts-per-rack = 3\ncircuits = { switches = 4, rate = \"10Gbps\" }";
    let error = refused(&scenario(bare, SHUFFLE, CLOS));
    assert!(error.contains("need a fabric with a `core`"), "{error}");
    let pfc = text(CLOS).replace(
        "limit = \"300KB\"",
        "limit = \"300KB\", priorities = true, pfc = { classes = [0] }",
    );
    let error = refused(&pfc);
    assert!(error.contains("`pfc` cannot be used with a `core`"), "{error}");
    let both = fabric.replace("core =", "packet = { rate = \"10Gbps\" }\ncore =");
    assert!(refused(&scenario(&both, SHUFFLE, CLOS)).contains("exclude each other"));
    let many = behind_panels(4, 4, 3, 8);
    assert!(refused(&scenario(&many, SHUFFLE, CLOS)).contains("more than the 16 uplinks"));
    let scheduler = event("1ms", "link-down", "link = \"core0-scheduler\"");
    let error = refused(&scenario(&fabric, &format!("{SHUFFLE}{scheduler}"), CLOS));
    assert!(error.contains("links to the scheduler do not change"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// For any fabric, demand, rule and week: all flows end, every packet is accounted for (otherwise the run panics),
    /// none is without a route, and none travels in a loop. Packets between racks pass the core at most once, or one
    /// other rack.
    #[test]
    fn nothing_is_lost_and_nothing_goes_round(
        racks in 2u32..6, more in 1u32..3, cores in 1u32..3, spray: bool, mesh: bool,
        rule in prop::sample::select(vec!["hold", "drain"]), week in 400u64..1500,
        sends in prop::collection::vec((0u32..18, 0u32..18, 1u32..400), 1..12)
    ) {
        let panels = racks * more;
        let fabric = behind_panels(racks, panels, cores.min(racks), panels);
        let fits = |host: u32| host % (racks * 3);
        let sends = sends.into_iter().map(|(src, dst, kb)| (fits(src), fits(dst), kb));
        let workload: String = sends.filter(|(src, dst, _)| src != dst).map(|(src, dst, kb)| {
            format!("[[workload]]\nkind = \"bulk\"\nsenders = \"{src}\"\nreceivers = \"{dst}\"\nsize = \"{kb}KB\"\n")
        }).collect();
        prop_assume!(!workload.is_empty());
        // A mesh of few panels does not connect all racks.
        let scheduler = if mesh && panels >= 4 { "mesh" } else { "clos-direct" };
        let routing = if spray { "spray" } else { "ecmp" };
        let scheme = format!(
            "routing = \"{routing}\"\ncontrol = {{ kind = \"circuits\", scheduler = \"{scheduler}\", \
             week = \"{week}us\", day = \"100us\", demand = \"adu\" }}\n\
             voq = {{ packets = 100000, at-night = \"{rule}\" }}\n"
        );
        let text = scenario(&fabric, &workload, &scheme).replace("limit = \"300KB\"", "limit = \"40MB\"");
        let run = alone(&text);
        prop_assert!(run.flows.iter().all(|flow| flow.finished()));
        let drops: u64 = run.ports.iter().map(|port| port.drops).sum();
        prop_assert_eq!(drops, 0, "queues have room, and rules lose nothing");
        let (by_core, relayed) = (run.control(counters::hybrid::PACKETS_BY_CORE), run.control(counters::hybrid::RELAYED_PACKETS));
        let (left, to_relays) = (run.control(counters::hybrid::PACKET_SWITCH_PACKETS), run.control(counters::hybrid::PACKETS_TO_RELAYS));
        prop_assert!(relayed <= to_relays && by_core <= left - to_relays);
        // Some acknowledgements may be in flight when the last flow ends.
        prop_assert!(by_core + relayed + 200 >= left, "{by_core} {relayed} {left}");
    }
}
