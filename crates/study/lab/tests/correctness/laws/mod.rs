//! Laws that hold in every run, whatever the scenario: packets are conserved, ports keep to their rates, packets of a
//! flow keep their order, and threads change nothing. They are tested on everything that a scenario can name.

mod draw;
mod run;
mod unrelated;

use crate::common::parse;
use draw::Case;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use run::{Run, obeys_all};
use slotline_net::frame::Kind;
use slotline_scenario::catalogue;
use std::collections::BTreeSet;

/// The kinds whose entries are all drawn.
const KINDS: [catalogue::Kind; 6] = [
    catalogue::Kind::Control,
    catalogue::Kind::Queue,
    catalogue::Kind::Transport,
    catalogue::Kind::Topology,
    catalogue::Kind::Routing,
    catalogue::Kind::Workload,
];

/// The number of cases that are drawn to find every name.
const DRAWN: usize = 400;

/// A kind, and the name of an entry.
type Name = (&'static str, String);

/// Everything of [`KINDS`] that a scenario can name, and the schedulers of circuits.
fn known() -> BTreeSet<Name> {
    let of_kind = |kind: catalogue::Kind| {
        kind.entries().into_iter().map(move |entry| (kind.name(), entry.name))
    };
    let controls = catalogue::Kind::Control.entries();
    let circuits = controls.iter().find(|entry| entry.name == "circuits").expect("an entry");
    let scheduler = circuits.parameters.iter().find(|key| key.key == "scheduler").expect("a key");
    let schedulers = scheduler.choices.iter().map(|choice| ("scheduler", choice.name.clone()));
    let all = KINDS.into_iter().flat_map(of_kind).chain(schedulers);
    // `custom` names a part of the calling program.
    all.filter(|(_, name)| name != "custom").collect()
}

/// The names in a case; `None` if it is refused.
fn names(case: &Case) -> Option<BTreeSet<Name>> {
    let resolved = parse(&case.text).ok()?.scenario.resolved();
    let table: toml::Table = resolved.parse().expect("it was written just now");
    let name = |value: &toml::Value| {
        let text = value.get("kind").unwrap_or(value);
        text.as_str().expect("a name").to_string()
    };
    let scheme = &table["scheme"][0];
    let keys = ["control", "queue", "transport", "routing"];
    let mut names: BTreeSet<Name> = keys.map(|key| (key, name(&scheme[key]))).into();
    names.insert(("topology", name(&table["fabric"])));
    let workloads = table["workload"].as_array().expect("a list");
    names.extend(workloads.iter().map(|workload| ("workload", name(workload))));
    let scheduler = scheme["control"].get("scheduler").filter(|_| case.control == "circuits");
    names.extend(scheduler.map(|scheduler| ("scheduler", name(scheduler))));
    Some(names)
}

/// A new control, queue, transport, topology, routing, workload or scheduler of circuits has to be drawn as well: add
/// it to the lists in `draw`. At most one case in twenty may be refused.
#[test]
fn everything_that_has_a_name_is_drawn_and_obeys_the_laws() {
    let (mut runner, cases) = (TestRunner::deterministic(), draw::cases());
    let (mut missing, mut refused) = (known(), 0);
    for _ in 0..DRAWN {
        let case = cases.new_tree(&mut runner).expect("a case").current();
        let Some(names) = names(&case) else {
            refused += 1;
            continue;
        };
        let before = missing.len();
        missing.retain(|name| !names.contains(name));
        if missing.len() < before {
            obeys_all(&case)
                .unwrap_or_else(|error| panic!("{error}\nseed {}\n{}", case.seed, case.text));
        }
    }
    assert!(missing.is_empty(), "never drawn: {missing:?}");
    assert!(refused * 20 <= DRAWN, "{refused} of {DRAWN} cases are no scenarios");
}

/// The number of cases of `PROPTEST_CASES`, or else the number given here.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = std::env::var_os("PROPTEST_CASES").map_or(300, |_| default.cases);
    ProptestConfig { cases, ..default }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn hold_in_random_scenarios(case in draw::cases().prop_filter("refused", |case| parse(&case.text).is_ok())) {
        obeys_all(&case)?;
    }
}

/// Many senders at full speed to one receiver, over one switch and over several. Nothing is dropped, although the
/// packets of the first microseconds would overflow any buffer.
#[test]
fn lossless_fabrics_drop_nothing() {
    let fabrics = [
        "kind = \"star\"\nhosts = 17",
        "kind = \"fat-tree\"\nk = 6",
        "kind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts-per-leaf = 8\nuplink-rate = \"25Gbps\"",
    ];
    let workloads = [
        "kind = \"incast\"\nsenders = 16\nsplit = false\nblock = \"300KB\"",
        "kind = \"udp\"\nsenders = \"1-16\"\nreceivers = \"0\"\nuntil = \"300us\"",
    ];
    let queues = [
        r#"{ priorities = true, pfc = {} }"#,
        r#"{ priorities = true, limit = "50KB", pfc = { xoff = "10KB", xon = "5KB" } }"#,
        r#"{ priorities = true, shared = { total = "1MB" }, pfc = {} }"#,
    ];
    for (fabric, workload) in fabrics.iter().flat_map(|f| workloads.map(|w| (f, w))) {
        for queue in queues {
            let text = format!(
                "name = \"lossless\"\nend = {{ at = \"1s\" }}\n[fabric]\n{fabric}\n[[workload]]\n{workload}\n\
                 [[scheme]]\nname = \"pfc\"\ntransport = \"newreno\"\nqueue = {queue}\n"
            );
            let run = Run::watched(&text, 1);
            let pauses = run.captures().flatten().any(|hop| hop.packet.kind == Kind::Pause);
            assert_eq!(run.outcome.conservation.dropped, [0; 7], "{text}");
            assert!(run.outcome.conservation.holds() && pauses, "{text}");
            assert_eq!(run.outcome.completed, run.flows, "{text}");
        }
    }
}
