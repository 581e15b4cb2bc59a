//! Converts the file of a network into the `[fabric]` of a scenario.

use slotline_formats::FormatError;
use slotline_formats::topology::spanning_tree::SpanningTree;
pub use slotline_formats::topology::{FORMATS, FabricFormat, by_ending, named};
use slotline_formats::topology::{Fabric, ReadError, name, read, read_on_tree};
use slotline_net::error::SpecError;
use slotline_net::topology::{GraphLink, GraphSpec, TopologySpec};
use std::fmt::Write;

/// Why a file cannot become a fabric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// An option that does not fit the file; its key is the option's name.
    #[error("{0}")]
    Asked(SpecError),
    /// A fault in the file.
    #[error("{file}:{}: {}", error.line, error.message)]
    File {
        /// The file's name.
        file: String,
        /// The fault and its line.
        error: FormatError,
    },
}

/// The file as a `[fabric]` table with all hosts, switches and links. The rates and delays of `asked` apply to links
/// that have none. Its `hosts`, `attach_hosts`, `names` and `host_kinds` define the nodes.
pub fn import(
    format: FabricFormat,
    text: &str,
    file_name: &str,
    asked: &GraphSpec,
) -> Result<String, ImportError> {
    import_on(format, text, file_name, asked, None)
}

/// The same, without the links that a spanning tree blocks.
pub fn import_on(
    format: FabricFormat,
    text: &str,
    file_name: &str,
    asked: &GraphSpec,
    tree: Option<&SpanningTree>,
) -> Result<String, ImportError> {
    let fabric = match tree {
        None => read(format, text, asked),
        Some(tree) if format == FabricFormat::Containerlab => read_on_tree(text, asked, tree),
        Some(_) => {
            let message =
                "--spanning-tree is for containerlab, whose files name the ports of links";
            return Err(ImportError::Asked(SpecError::new("spanning-tree", message)));
        }
    };
    let fabric = fabric.map_err(|error| match error {
        ReadError::Asked(error) => ImportError::Asked(error),
        ReadError::File(error) => ImportError::File { file: file_name.into(), error },
    })?;
    // The overrides must fit as well.
    let graph = TopologySpec::Graph(fabric.spec.clone()).build().map_err(ImportError::Asked)?;
    let mut out = format!(
        "# The network in {} ({}): {} hosts, {} switches, {} links.\n",
        printable(file_name),
        name(format),
        graph.hosts.len(),
        graph.nodes.len() - graph.hosts.len(),
        graph.links.len()
    );
    // Writing to a string cannot fail.
    let _ = write_fabric(&mut out, &fabric);
    Ok(out)
}

fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

fn write_fabric(out: &mut String, fabric: &Fabric) -> std::fmt::Result {
    let spec = &fabric.spec;
    for what in &fabric.unread {
        writeln!(out, "# Not read: {}.", printable(what))?;
    }
    for what in &fabric.assumed {
        writeln!(out, "# Assumed: {}.", printable(what))?;
    }
    out.push_str("[fabric]\nkind = \"graph\"\n");
    write_names(out, "hosts", &spec.hosts)?;
    if let Some(count) = spec.attach_hosts {
        writeln!(out, "attach-hosts = {count}")?;
    }
    write_names(out, "switches", &spec.switches)?;
    let usual = [
        ("rate", spec.rate.map(|rate| rate.to_string())),
        ("delay", spec.delay.map(|delay| delay.to_string())),
        ("host-rate", spec.host_rate.map(|rate| rate.to_string())),
        ("host-delay", spec.host_delay.map(|delay| delay.to_string())),
    ];
    for (key, value) in usual {
        value.map_or(Ok(()), |value| writeln!(out, "{key} = \"{value}\""))?;
    }
    out.push_str("link = [\n");
    spec.link.iter().try_for_each(|link| write_link(out, link))?;
    out.push_str("]\n");
    Ok(())
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.into()).to_string()
}

/// A list of names, several to a line.
fn write_names(out: &mut String, key: &str, names: &[String]) -> std::fmt::Result {
    const WIDTH: usize = 100;
    if names.is_empty() {
        return Ok(());
    }
    write!(out, "{key} = [")?;
    let mut width = WIDTH;
    for name in names.iter().map(|name| quoted(name)) {
        width += name.len() + 2;
        if width > WIDTH {
            out.push_str("\n   ");
            width = 3 + name.len() + 2;
        }
        write!(out, " {name},")?;
    }
    writeln!(out, "\n]")
}

fn write_link(out: &mut String, link: &GraphLink) -> std::fmt::Result {
    write!(out, "    {{ a = {}, b = {}", quoted(&link.a), quoted(&link.b))?;
    let differs = [
        ("rate", link.rate.map(|rate| rate.to_string())),
        ("delay", link.delay.map(|delay| delay.to_string())),
        ("reverse-rate", link.reverse_rate.map(|rate| rate.to_string())),
        ("reverse-delay", link.reverse_delay.map(|delay| delay.to_string())),
    ];
    for (key, value) in differs {
        value.map_or(Ok(()), |value| write!(out, ", {key} = \"{value}\""))?;
    }
    writeln!(out, " }},")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use slotline_net::time::Time;
    use slotline_net::units::Rate;
    use std::path::Path;

    const HPCC: &str = include_str!("../../../../model/formats/tests/data/hpcc_two_cards.txt");
    const ABILENE: &str = include_str!("../../../../../data/topologies/abilene.graphml");
    const REST: &str = "\n[[workload]]\nkind = \"incast\"\n[[scheme]]\nname = \"tcp\"\n";

    fn scenario(fragment: &str) -> Scenario {
        let text = format!("name = \"imported\"\nend = {{ at = \"1s\" }}\n{fragment}{REST}");
        let loaded = Scenario::parse(Path::new("imported.toml"), text.clone());
        loaded.unwrap_or_else(|error| panic!("{error}\n{text}")).scenario
    }

    #[test]
    fn a_fragment_is_the_file() {
        let routers = GraphSpec {
            attach_hosts: Some(1),
            rate: Some(Rate(1_000_000_000)),
            delay: Some(Time::ms(2)),
            names: Some("label".into()),
            ..GraphSpec::default()
        };
        for (format, text, asked) in [
            (FabricFormat::HpccTopology, HPCC, GraphSpec::default()),
            (FabricFormat::Graphml, ABILENE, routers),
        ] {
            let fragment = import(format, text, "net.x", &asked).unwrap();
            let spec = read(format, text, &asked).unwrap().spec;
            assert_eq!(scenario(&fragment).fabric, TopologySpec::Graph(spec), "{fragment}");
            assert!(fragment.contains("# Not read: "), "{fragment}");
        }
    }

    #[test]
    fn a_fragment_reads_well() {
        let fragment = import(FabricFormat::HpccTopology, HPCC, "pod.txt", &GraphSpec::default());
        assert_eq!(fragment.unwrap(), include_str!("../../tests/golden/hpcc_fragment.toml"));
    }

    #[test]
    fn faults_name_the_file_or_the_option() {
        let wrong = import(FabricFormat::Graphml, ABILENE, "a.graphml", &GraphSpec::default());
        let wrong = wrong.unwrap_err().to_string();
        assert!(wrong.starts_with("a.graphml:10: node `0` has neither"), "{wrong}");
        let rate = GraphSpec { rate: Some(Rate(1)), ..GraphSpec::default() };
        let wrong = import(FabricFormat::HpccTopology, HPCC, "pod.txt", &rate).unwrap_err();
        assert!(wrong.to_string().starts_with("`rate` does not go with"), "{wrong}");
    }
}
