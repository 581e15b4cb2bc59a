//! Schemes with a fabric of their own: they carry the same flows, and each runs as it would alone on its fabric.

use crate::common::records;

const FLOWS: &str = "[[workload]]\nkind = \"poisson\"\nload = 0.4\nsizes = \"websearch\"\n";
const STAR: &str = "kind = \"star\"\nhosts = 8\nrate = \"10Gbps\"\n";
const HYBRID: &str = "kind = \"hybrid\"\nracks = 2\nhosts-per-rack = 4\nhost-rate = \"10Gbps\"\n\
    packet = { rate = \"10Gbps\" }\ncircuits = { rate = \"40Gbps\" }\n";
const CIRCUITS: &str = "[[scheme]]\nname = \"circuits\"\ncontrol = \"circuits\"\n";

fn scenario(fabric: &str, schemes: &str) -> String {
    format!(
        "name = \"own\"\nend = {{ at = \"50ms\", when = \"time\" }}\nmeasure = {{ ideal = false, why = false }}\n\
         [fabric]\n{fabric}{FLOWS}{schemes}"
    )
}

#[test]
fn the_traffic_is_the_same_on_every_fabric() {
    let schemes = format!("[[scheme]]\nname = \"packets\"\n{CIRCUITS}[scheme.fabric]\n{HYBRID}");
    let runs = records(&scenario(STAR, &schemes), 1);
    let flows = |at: usize| -> Vec<(u32, u32, u64, u64)> {
        runs[at].flows.iter().map(|f| (f.src, f.dst, f.bytes, f.start_ps)).collect()
    };
    assert!(flows(0).len() > 10, "{}", flows(0).len());
    assert_eq!(flows(0), flows(1));
    let has = |at: usize, node: &str| runs[at].ports.iter().any(|port| port.node == node);
    assert_eq!(
        [has(0, "s0"), has(0, "tor0"), has(1, "s0"), has(1, "tor0")],
        [true, false, false, true]
    );
}

/// A leaf-spine network with eight hosts at two leaves, under a rule and with racks of that size.
#[test]
fn racks_by_a_rule_are_racks_of_that_size() {
    let leaves =
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts-per-leaf = 4\ndelay = \"2us\"\n";
    let run = |racks: &str| {
        let own = HYBRID.replace("racks = 2\nhosts-per-rack = 4\nhost-rate = \"10Gbps\"\n", racks);
        let schemes = format!("[[scheme]]\nname = \"packets\"\n{CIRCUITS}[scheme.fabric]\n{own}");
        records(&scenario(leaves, &schemes), 1).remove(1)
    };
    let counted = run("racks = 2\nhosts-per-rack = 4\nhost-delay = \"2us\"\n");
    for rule in ["switches", "pods"] {
        let ruled = run(&format!("racks-of = \"{rule}\"\n"));
        assert_eq!(ruled.engine.digest, counted.engine.digest, "{rule}");
        let leaf = if rule == "switches" { "leaf0" } else { "tor0" };
        assert!(ruled.ports.iter().any(|port| port.node == leaf));
    }
}

/// Racks of one, three and four hosts: all flows reach their hosts, and those between racks used circuits.
#[test]
fn racks_may_have_different_numbers_of_hosts() {
    let rack = |hosts: std::ops::Range<u32>| {
        let names: Vec<String> = hosts.map(|host| format!("\"n{host}\"")).collect();
        format!("{{ hosts = [{}] }}", names.join(", "))
    };
    let racks = [rack(0..1), rack(1..4), rack(4..8)].join(", ");
    let fabric = |packet: &str| {
        format!(
            "kind = \"hybrid\"\nrack = [{racks}]\n{packet}circuits = {{ rate = \"40Gbps\", switches = 2 }}\n"
        )
    };
    for packet in ["", "packet = { rate = \"10Gbps\" }\n"] {
        for demand in ["", "demand = \"adu\", scheduler = \"solstice\", week = \"2ms\", "] {
            let scheme = format!(
                "[[workload]]\nkind = \"shuffle\"\nsize = \"20KB\"\n[[scheme]]\nname = \"circuits\"\n\
                 transport = {{ kind = \"newreno\", min-rto = \"2ms\" }}\n\
                 control = {{ {demand}kind = \"circuits\" }}\nvoq = {{ packets = 100 }}\n"
            );
            let text = scenario(&fabric(packet), &scheme).replace(FLOWS, "");
            let run = records(&text, 1).remove(0);
            assert_eq!(run.flows.len(), 56);
            let late = run.flows.iter().filter(|flow| !flow.finished()).count();
            assert_eq!(late, 0, "{packet}{demand}");
            assert_eq!(
                run.voqs.iter().filter(|voq| voq.circuit_bytes > 0).count(),
                6,
                "{packet}{demand}"
            );
        }
    }
}

#[test]
fn a_scheme_runs_as_if_its_fabric_were_that_of_the_scenario() {
    // Traffic that does not depend on the fabric.
    let bulk =
        "[[workload]]\nkind = \"bulk\"\nsize = \"200KB\"\nsenders = \"0-3\"\nreceivers = \"4-7\"\n";
    let text = |fabric: &str, schemes: &str| scenario(fabric, schemes).replace(FLOWS, bulk);
    let own = format!("[[scheme]]\nname = \"packets\"\n{CIRCUITS}[scheme.fabric]\n{HYBRID}");
    let with_own = records(&text(STAR, &own), 1).remove(1);
    let alone = records(&text(HYBRID, CIRCUITS), 1).remove(0);
    assert_eq!(with_own.engine.digest, alone.engine.digest);
    assert!(with_own.flows.iter().all(|flow| flow.finished()));
}
