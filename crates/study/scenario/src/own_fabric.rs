//! Schemes with a fabric of their own.

use super::check::on_fabric;
use super::spec::{Scenario, SchemeSpec};
use super::{flow_level, hybrid, paths};
use slotline_net::error::SpecError;
use slotline_net::topology::{Graph, TopologySpec};
use std::borrow::Cow;

/// The schemes on the fabric of the scenario: the scenario with only these, and their numbers in the whole scenario.
pub(super) fn sharing(scenario: &Scenario) -> (Cow<'_, Scenario>, Vec<usize>) {
    let all = 0..scenario.scheme.len();
    let kept: Vec<usize> = all.filter(|at| scenario.scheme[*at].fabric.is_none()).collect();
    if kept.len() == scenario.scheme.len() {
        return (Cow::Borrowed(scenario), kept);
    }
    let scheme = kept.iter().map(|at| scenario.scheme[*at].clone()).collect();
    (Cow::Owned(Scenario { scheme, ..scenario.clone() }), kept)
}

/// `error` of a scenario that has only the schemes `kept` of another, with its key in the other.
pub(super) fn in_whole(mut error: SpecError, kept: &[usize]) -> SpecError {
    if let Some((number, rest)) =
        error.key.strip_prefix("scheme[").and_then(|rest| rest.split_once(']'))
        && let Some(at) = number.parse::<usize>().ok().and_then(|number| kept.get(number))
    {
        error.key = format!("scheme[{at}]{rest}");
    }
    error
}

/// The errors of schemes with a fabric of their own. `hosts` is the number of hosts of the scenario's fabric.
pub(super) fn faults(scenario: &Scenario, hosts: Option<usize>) -> Vec<SpecError> {
    let schemes = scenario.scheme.iter().enumerate();
    let own = schemes.filter_map(|(at, scheme)| Some((at, scheme, scheme.fabric.as_deref()?)));
    own.flat_map(|(at, scheme, fabric)| of_scheme(scenario, at, scheme, fabric, hosts)).collect()
}

fn of_scheme(
    scenario: &Scenario,
    at: usize,
    scheme: &SchemeSpec,
    fabric: &TopologySpec,
    hosts: Option<usize>,
) -> Vec<SpecError> {
    let wrong = |why: &str| vec![SpecError::new(format!("scheme[{at}].fabric"), why)];
    if at == 0 {
        return wrong("the first scheme is on the fabric of the scenario: leave its `fabric` out");
    }
    if scenario.engine.emulated().is_some() {
        return wrong("emulated hosts are on one fabric: leave `fabric` out");
    }
    let graph = match fabric.build() {
        Ok(graph) => graph,
        Err(error) => return vec![error.within(format_args!("scheme[{at}].fabric"))],
    };
    if let Some(hosts) = hosts.filter(|hosts| *hosts != graph.hosts.len()) {
        return wrong(&format!(
            "this fabric has {} hosts and the scenario's has {hosts}: both need the same number, so that the traffic is \
             the same",
            graph.hosts.len()
        ));
    }
    let alone = SchemeSpec { fabric: None, ..scheme.clone() };
    let alone = Scenario { fabric: fabric.clone(), scheme: vec![alone], ..scenario.clone() };
    let found = on_it(&alone, &graph).into_iter().map(|error| in_whole(error, &[at]));
    let is_of_fabric =
        |error: &SpecError| error.key == "fabric" || error.key.starts_with("fabric.");
    found
        .map(|error| match is_of_fabric(&error) {
            true => error.within(format_args!("scheme[{at}]")),
            false => error,
        })
        .collect()
}

/// The errors of a scenario on its fabric, except those of its traffic.
pub(super) fn on_it(scenario: &Scenario, graph: &Graph) -> Vec<SpecError> {
    let checks = on_fabric(scenario, graph).into_iter().chain(paths::check(scenario, graph));
    let mut faults: Vec<SpecError> = checks.filter_map(Result::err).collect();
    faults.extend(flow_level::faults(scenario, Some(graph)));
    faults.extend(hybrid::faults(scenario));
    faults
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use std::path::Path;

    /// A star of eight hosts, with a second scheme that has these keys.
    fn loaded(scheme: &str, rest: &str) -> Result<crate::Loaded, String> {
        let text = format!(
            "name = \"own\"\nend = {{ at = \"10ms\" }}\n{rest}\n[fabric]\nkind = \"star\"\nhosts = 8\n\
             [[workload]]\nkind = \"bulk\"\nsize = \"10KB\"\nsenders = \"0-3\"\nreceivers = \"4-7\"\n\
             [[scheme]]\nname = \"a\"\n[[scheme]]\nname = \"b\"\n{scheme}\n"
        );
        Scenario::parse(Path::new("own.toml"), text).map_err(|error| error.to_string())
    }

    const HYBRID: &str = "control = \"circuits\"\n[scheme.fabric]\nkind = \"hybrid\"\nracks = 2\nhosts-per-rack = 4\n\
        packet = { rate = \"10Gbps\" }\ncircuits = { rate = \"40Gbps\" }";

    #[test]
    fn a_scheme_may_have_a_fabric_of_its_own() {
        let loaded = loaded(HYBRID, "").unwrap();
        let [a, b] = &loaded.scenario.scheme[..] else { panic!("two schemes") };
        assert!(loaded.scenario.fabric_of(a).hybrid().is_none());
        assert!(loaded.scenario.fabric_of(b).hybrid().is_some());
        let described = "star of 8 hosts and 1 switch; b: hybrid of 8 hosts and 5 switches";
        assert_eq!(loaded.fabric(), described);
        let again = Scenario::parse(Path::new("own.toml"), loaded.scenario.resolved()).unwrap();
        assert_eq!(again.scenario, loaded.scenario);
    }

    #[test]
    fn a_fabric_that_does_not_fit_is_refused_at_its_place() {
        let event = "event = [{ at = \"1ms\", kind = \"link-down\", link = \"h0-s0\" }]";
        let fabric = |keys: &str| format!("[scheme.fabric]\n{keys}");
        for (scheme, rest, why) in [
            (
                fabric("kind = \"star\"\nhosts = 9"),
                "",
                "this fabric has 9 hosts and the scenario's has 8",
            ),
            (fabric("kind = \"fat-tree\"\nk = 3"), "", "scheme[1].fabric.k"),
            (
                fabric("kind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts-per-leaf = 4"),
                event,
                "event[0].link",
            ),
            (
                HYBRID.replace("control = \"circuits\"", "control = \"fastpass\""),
                "",
                "scheme[1].control",
            ),
            (
                "control = \"circuits\"".into(),
                "",
                "control = \"circuits\" needs a fabric of kind = \"hybrid\"",
            ),
            (
                HYBRID.into(),
                "measure = { metrics = [\"slowdown-p99\"] }",
                "slowdowns are unknown on a hybrid",
            ),
            (HYBRID.into(), "engine = \"flow\"", "engine"),
            (fabric("kind = \"graph\"\nfile = \"no.json\""), "", "cannot be read"),
        ] {
            let error = loaded(&scheme, rest).unwrap_err();
            assert!(error.contains(why), "{scheme}: {error}");
        }
        let text = "name = \"x\"\nend = { at = \"1ms\" }\n[fabric]\nkind = \"star\"\nhosts = 3\n[[workload]]\nkind = \"ring\"\n\
            [[scheme]]\nname = \"a\"\nfabric = { kind = \"star\", hosts = 3 }\n";
        let error = Scenario::parse(Path::new("x.toml"), text.into()).unwrap_err().to_string();
        assert!(error.contains("the first scheme is on the fabric of the scenario"), "{error}");
    }
}
