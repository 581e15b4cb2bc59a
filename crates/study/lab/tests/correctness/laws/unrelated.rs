//! What is not used changes nothing: another workload after all others, another host, link or scheme without traffic, a
//! later end, or tables in another order. Each change is made to the text of a scenario, and all flows that both runs
//! have are compared to the picosecond.

use super::draw::{self, Case};
use crate::common::{parse, records};
use proptest::prelude::*;
use slotline_lab::record::{FlowRow, NEVER, RunRecord};
use std::collections::BTreeMap;
use toml::{Table, Value};

type Law = Result<(), TestCaseError>;

/// The ends and the size of a flow, when it began, and when its last byte arrived. Its sender may retransmit after
/// that, if the run continues.
type FlowOutcome = (u32, u32, u64, u64, u64);

fn flow_outcome(flow: &FlowRow) -> FlowOutcome {
    let FlowRow { src, dst, bytes, start_ps, finish_ps, .. } = *flow;
    (src, dst, bytes, start_ps, finish_ps)
}

fn table(text: &str) -> Table {
    text.parse().expect("a scenario")
}

fn list<'a>(table: &'a mut Table, key: &str) -> &'a mut Vec<Value> {
    table.get_mut(key).and_then(Value::as_array_mut).expect("a list")
}

fn fabric(table: &mut Table) -> &mut Table {
    table.get_mut("fabric").and_then(Value::as_table_mut).expect("a table")
}

/// The run of the last scheme, with one thread.
fn run(table: &Table) -> RunRecord {
    let all = records(&toml::to_string(table).expect("it was a table"), 1);
    let at = table["scheme"].as_array().expect("a list").len() - 1;
    all.into_iter().nth(at).expect("a run of each scheme")
}

/// The kind of each workload.
fn kinds(table: &Table) -> Vec<String> {
    let kind = |workload: &Value| workload["kind"].as_str().expect("a name").to_string();
    table["workload"].as_array().expect("a list").iter().map(kind).collect()
}

/// The outcomes of flows by the kind of their workload and its position among those of its kind.
fn by_kind(table: &Table, run: &RunRecord) -> BTreeMap<String, Vec<FlowOutcome>> {
    let kinds = kinds(table);
    let place = |at: usize| kinds[..at].iter().filter(|kind| **kind == kinds[at]).count();
    let mut found: BTreeMap<String, Vec<FlowOutcome>> = BTreeMap::new();
    for flow in &run.flows {
        let at = usize::from(flow.group);
        found.entry(format!("{} {}", kinds[at], place(at))).or_default().push(flow_outcome(flow));
    }
    found
}

fn same(what: &str, before: &Table, after: &Table) -> Law {
    let (one, other) = (by_kind(before, &run(before)), by_kind(after, &run(after)));
    for (kind, flows) in one {
        let others = other.get(&kind).map_or(&[][..], Vec::as_slice);
        prop_assert_eq!(flows.len(), others.len(), "{}: {}", what, kind);
        // A run ends when all senders are done. If it continues, datagrams in flight arrive.
        for (flow, again) in flows.iter().zip(others).filter(|(flow, _)| flow.4 != NEVER) {
            prop_assert_eq!(flow, again, "{}: {}\n{}", what, kind, before);
        }
    }
    Ok(())
}

/// The scenario with another scheme before its own.
fn with_idle_scheme(scenario: &Table) -> Table {
    let mut other = scenario.clone();
    let schemes = list(&mut other, "scheme");
    let mut idle = schemes[0].clone();
    idle["name"] = "idle".into();
    schemes.insert(0, idle);
    other
}

/// The scenario with a flow of 1 KB that starts when all others are done.
fn with_idle_workload(scenario: &Table) -> Table {
    // Datagrams may be lost, so that their flow never ends.
    let end = |flow: &FlowRow| if flow.finished() { flow.finish_ps } else { flow.start_ps };
    let last = run(scenario).flows.iter().map(end).max().unwrap_or(0);
    let mut other = scenario.clone();
    let start = last / 1_000 + 20_000_000;
    let idle = format!(
        "kind = \"bulk\"\nsenders = \"0\"\nreceivers = \"1\"\nsize = \"1KB\"\nstart = \"{start}ns\""
    );
    list(&mut other, "workload").push(table(&idle).into());
    other
}

fn reversed(scenario: &Table, key: &str) -> Table {
    let mut other = scenario.clone();
    list(&mut other, key).reverse();
    other
}

/// The graph with another host. Its name comes first, so that it gets the first port of its switch.
fn with_idle_host(scenario: &Table) -> Table {
    let mut other = scenario.clone();
    let fabric = fabric(&mut other);
    list(fabric, "hosts").push("Idle".into());
    list(fabric, "link").push(table("a = \"Idle\"\nb = \"x\"").into());
    other
}

/// The graph with another link that is on no shortest path.
fn with_idle_link(scenario: &Table) -> Table {
    let mut other = scenario.clone();
    list(fabric(&mut other), "link").insert(0, table("a = \"u\"\nb = \"v\"").into());
    other
}

/// The graph with its switches and links in another order, and the two ends of each link exchanged.
fn in_other_order(scenario: &Table) -> Table {
    let mut other = scenario.clone();
    let fabric = fabric(&mut other);
    list(fabric, "switches").reverse();
    list(fabric, "link").reverse();
    for link in list(fabric, "link") {
        let link = link.as_table_mut().expect("a table");
        let ends = (link["a"].clone(), link["b"].clone());
        link.insert("b".into(), ends.0);
        link.insert("a".into(), ends.1);
    }
    other
}

fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = std::env::var_os("PROPTEST_CASES").map_or(60, |_| default.cases);
    ProptestConfig { cases, ..default }
}

fn accepted(case: &Case) -> bool {
    parse(&case.text).is_ok()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn workloads_and_schemes_change_nothing(case in draw::cases().prop_filter("refused", accepted)) {
        let scenario = table(&case.seeded());
        same("an idle scheme", &scenario, &with_idle_scheme(&scenario))?;
        // A plan by phases serves only a collective operation.
        if !case.text.contains("phases") {
            same("an idle workload", &scenario, &with_idle_workload(&scenario))?;
        }
        let kinds = kinds(&scenario);
        if kinds.first() != kinds.last() {
            same("workloads in another order", &scenario, &reversed(&scenario, "workload"))?;
        }
    }

    #[test]
    fn hosts_and_links_change_nothing(case in draw::cases_on_graph().prop_filter("refused", accepted)) {
        let scenario = table(&case.seeded());
        same("links in another order", &scenario, &in_other_order(&scenario))?;
        same("an idle link", &scenario, &with_idle_link(&scenario))?;
        if !case.talks_to_all_hosts() {
            same("an idle host", &scenario, &with_idle_host(&scenario))?;
        }
    }
}

/// Traffic that does not end before the run, or has no end.
const TRAFFIC: [&str; 5] = [
    "kind = \"poisson\"\nload = 0.6\nsizes = \"20KB\"",
    "kind = \"request-response\"\nclients = \"0-7\"\nservers = \"8-15\"\ninterval = \"50us\"\nresponse = \"10KB\"",
    "kind = \"request-response\"\nclients = \"0-7\"\nservers = \"8-15\"\noutstanding = 3\nresponse = \"10KB\"",
    "kind = \"rack-rings\"\nlarge-low = \"20KB\"\nlarge-high = \"40KB\"\nsmall-low = \"1KB\"\nsmall-high = \"9KB\"\n\
     large-rate = \"2Gbps\"\nsmall-rate = \"500Mbps\"",
    "kind = \"random-bijective\"\nsize = \"1MB\"",
];

fn ending(workload: &str, scheme: &str, end: &str) -> Table {
    table(&format!(
        "name = \"end\"\nend = {{ at = \"{end}\" }}\nmeasure = {{ why = false, ideal = false }}\n\
         [fabric]\nkind = \"fat-tree\"\nk = 4\n[[workload]]\n{workload}\n[[scheme]]\nname = \"scheme\"\n{scheme}\n"
    ))
}

/// Flows that are done before the end of a run are the same in a run that ends later.
#[test]
fn a_later_end_changes_nothing_before() {
    let schemes = [
        "",
        "routing = \"flowlet\"",
        "routing = \"ecmp-destination\"",
        "control = { kind = \"xco\", slice = \"100us\" }",
    ];
    for (workload, scheme) in TRAFFIC.iter().flat_map(|w| schemes.map(|s| (w, s))) {
        let done = |end: &str, by: u64| -> Vec<FlowOutcome> {
            let run = run(&ending(workload, scheme, end));
            let mut done: Vec<_> =
                run.flows.iter().filter(|flow| flow.finish_ps < by).map(flow_outcome).collect();
            done.sort_unstable();
            done
        };
        let by = 1_000_000_000;
        let (short, long) = (done("1ms", by), done("2ms", by));
        assert!(short.len() > 10 || workload.contains("bijective"), "{workload}: {}", short.len());
        assert_eq!(short, long, "{workload}\n{scheme}");
    }
}
