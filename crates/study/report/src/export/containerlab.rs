//! The fabric of a scenario as a containerlab topology.

use slotline_formats::topology::containerlab_writer;
use slotline_scenario::Loaded;

/// The lab with the name of the scenario, and containers of `image` as nodes.
///
/// # Errors
///
/// The fabric has names that containers cannot have.
pub fn containerlab(loaded: &Loaded, image: &str) -> Result<String, String> {
    let graph = loaded.scenario.fabric.build().map_err(|error| error.message)?;
    let name: String = (loaded.scenario.name.trim().chars())
        .map(|c| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '-' })
        .collect();
    let lab = containerlab_writer::write(name.trim_matches(['-', '.', '_']), image, &graph)?;
    Ok(format!(
        "# The fabric of the scenario `{}` as a lab: port n of a node is its interface eth(n+1).\n\
         # Labels have the exact rates and delays. `tc` in the containers applies them: {image} needs\n\
         # it. Addresses and routes are not part of the lab.\n{lab}",
        loaded.scenario.name.escape_debug()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::topology::GraphSpec;
    use slotline_scenario::Scenario;
    use slotline_scenario::import::fabric::{FabricFormat, import};
    use std::path::Path;

    const REST: &str = "\n[[workload]]\nkind = \"incast\"\n[[scheme]]\nname = \"tcp\"\n";

    fn load(fabric: &str) -> Loaded {
        let text = format!("name = \"Ein Test!\"\nend = {{ at = \"1s\" }}\n{fabric}{REST}");
        Scenario::parse(Path::new("test.toml"), text).unwrap()
    }

    #[test]
    fn a_lab_comes_back_as_the_same_fabric() {
        let loaded =
            load("fabric = { kind = \"leaf-spine\", leaves = 2, spines = 2, hosts-per-leaf = 3 }");
        let lab = containerlab(&loaded, "alpine:3").unwrap();
        assert!(lab.contains("\nname: Ein-Test\n"), "{lab}");
        let nothing = GraphSpec::default();
        let fragment = import(FabricFormat::Containerlab, &lab, "x.clab.yml", &nothing).unwrap();
        let [before, after] = [loaded, load(&fragment)]
            .map(|loaded| format!("{:?}", loaded.scenario.fabric.build().unwrap()));
        assert_eq!(before, after);
    }
}
