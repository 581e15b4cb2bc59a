//! Schemes with a fabric of their own.

use super::check::on_fabric;
use super::spec::{Scenario, SchemeSpec};
use super::{flow_level, hybrid, paths};
use slotline_net::error::SpecError;
use slotline_net::topology::{Graph, TopologySpec};
use std::borrow::Cow;
use std::cell::OnceCell;

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

/// Lists the racks of schemes' own fabrics that are to be those of the scenario's fabric. If the latter is wrong, its
/// check will say so.
pub(super) fn take_racks(scenario: &mut Scenario) -> Result<(), SpecError> {
    let Scenario { fabric: shared, scheme, .. } = scenario;
    let graph = OnceCell::new();
    for (at, scheme) in scheme.iter_mut().enumerate() {
        let Some(TopologySpec::Hybrid(own)) = scheme.fabric.as_deref_mut() else { continue };
        let Some(rule) = own.racks_of else { continue };
        let Some(graph) = graph.get_or_init(|| shared.build().ok()) else { return Ok(()) };
        let wrong = |error: SpecError| error.within(format_args!("scheme[{at}].fabric"));
        if own.racks > 0 || own.hosts_per_rack > 0 || !own.rack.is_empty() {
            let why = "`racks-of` gives the racks: leave `racks`, `hosts-per-rack` and `rack` out";
            return Err(wrong(SpecError::new("racks-of", why)));
        }
        (own.racks_of, own.rack) = (None, rule.racks(graph).map_err(wrong)?);
    }
    Ok(())
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
    use slotline_net::units::Rate;
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

    /// Three racks of unequal size: `a` has hosts of 10 Gbit/s, `b` one of 25, and `c` two, which are multi-homed if
    /// there is a link more.
    fn with_racks_of(rule: &str, nodes: &str, more: &str) -> Result<crate::Loaded, String> {
        let text = format!(
            "name = \"own\"\nend = {{ at = \"10ms\" }}\n[fabric]\nkind = \"graph\"\nrate = \"40Gbps\"\ndelay = \"1us\"\n\
             host-rate = \"10Gbps\"\nhosts = [{nodes}]\nswitches = [\"a\", \"b\", \"c\", \"top\"]\n\
             link = [{{ a = \"a1\", b = \"a\" }}, {{ a = \"a2\", b = \"a\" }}, {{ a = \"a3\", b = \"a\" }}, \
             {{ a = \"b1\", b = \"b\", rate = \"25Gbps\" }}, {{ a = \"c1\", b = \"c\" }}, {{ a = \"c2\", b = \"c\" }}, \
             {{ a = \"a\", b = \"top\" }}, {{ a = \"b\", b = \"top\" }}, {{ a = \"c\", b = \"top\" }}{more}]\n\
             [[workload]]\nkind = \"bulk\"\nsize = \"10KB\"\nsenders = \"0-2\"\nreceivers = \"3-5\"\n\
             [[scheme]]\nname = \"packets\"\n[[scheme]]\nname = \"circuits\"\ncontrol = \"circuits\"\n\
             fabric = {{ kind = \"hybrid\", {rule}, circuits = {{ rate = \"100Gbps\" }} }}\n"
        );
        Scenario::parse(Path::new("own.toml"), text).map_err(|error| error.to_string())
    }

    const IN_ORDER: &str = "\"a1\", \"a2\", \"a3\", \"b1\", \"c1\", \"c2\"";

    #[test]
    fn racks_of_any_network_get_circuits() {
        let loaded = with_racks_of("racks-of = \"switches\"", IN_ORDER, "").unwrap();
        let fabric = loaded.scenario.fabric_of(&loaded.scenario.scheme[1]);
        let racks = &fabric.hybrid().expect("a hybrid fabric").rack;
        let names: Vec<_> = racks.iter().map(|rack| rack.switch.as_deref().unwrap()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(racks.iter().map(|rack| rack.hosts.len()).collect::<Vec<_>>(), [3, 1, 2]);
        let graph = fabric.build().unwrap();
        let lane = |name: &str| graph.links[graph.link_named(name).unwrap()].ab;
        assert_eq!(
            (lane("a2-a").rate, lane("b1-b").rate),
            (Rate(10_000_000_000), Rate(25_000_000_000))
        );
        assert_eq!(lane("b-circuit0").rate, Rate(100_000_000_000));
        let again = Scenario::parse(Path::new("own.toml"), loaded.scenario.resolved()).unwrap();
        assert_eq!(again.scenario, loaded.scenario);
    }

    #[test]
    fn racks_that_have_no_place_at_circuits_are_refused() {
        let twice = ", { a = \"c2\", b = \"b\" }";
        let between = "\"a1\", \"a2\", \"b1\", \"a3\", \"c1\", \"c2\"";
        let given = "racks-of = \"switches\", racks = 2, hosts-per-rack = 3";
        for (rule, nodes, more, why) in [
            ("racks-of = \"switches\"", between, "", "`a1` and `a3` are in one rack, but `b1`"),
            ("racks-of = \"switches\"", IN_ORDER, twice, "host `c2` has several links"),
            ("racks-of = \"rows\"", IN_ORDER, "", "expected `switches` or `pods`"),
            (given, IN_ORDER, "", "leave `racks`, `hosts-per-rack` and `rack` out"),
            ("racks = 3", IN_ORDER, "", "`hosts-per-rack` = 0"),
            ("rack = [{ hosts = [\"x\"] }]", IN_ORDER, "", "must be from 2"),
            ("rack = [{ hosts = [] }, { hosts = [\"x\"] }]", IN_ORDER, "", "a rack has 0 hosts"),
        ] {
            let error = with_racks_of(rule, nodes, more).unwrap_err();
            assert!(error.contains(why), "{rule}: {error}");
        }
        let text = "name = \"x\"\nend = { at = \"1ms\" }\n[fabric]\nkind = \"hybrid\"\nracks-of = \"pods\"\n\
            circuits = { rate = \"1Gbps\" }\n[[workload]]\nkind = \"ring\"\n[[scheme]]\nname = \"a\"\ncontrol = \"circuits\"\n";
        let error = Scenario::parse(Path::new("x.toml"), text.into()).unwrap_err().to_string();
        assert!(error.contains("`racks-of` is for `[scheme.fabric]`"), "{error}");
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
