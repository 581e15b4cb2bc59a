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
