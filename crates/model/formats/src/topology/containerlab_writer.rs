//! A network as a containerlab topology: a lab that has the same links between the same ports.
//!
//! Port n of a node is its interface `eth(n+1)`, because containerlab itself uses `eth0`. Every link has its
//! exact rates and delays as labels, which the reader of this format understands, and every node shapes
//! its interfaces with `tc` when the lab starts (in whole nanoseconds).

use super::containerlab::{LANES, ROLE};
use slotline_net::id::NodeId;
use slotline_net::time::Time;
use slotline_net::topology::{End, Graph, Link, LinkParams, NodeInfo, NodeKind};
use std::fmt::Write;

/// Writes the lab `name`, whose nodes are containers of `image`.
///
/// # Errors
///
/// A name is not valid for a container or an image.
pub fn write(name: &str, image: &str, graph: &Graph) -> Result<String, String> {
    check_names(name, graph)?;
    if image.trim().is_empty() || image.contains(|c: char| c.is_control() || c == '"' || c == '\\')
    {
        return Err(format!(
            "`{image}` is not the name of an image: expected for example \"alpine:3\""
        ));
    }
    let mut out = format!(
        "name: {name}\ntopology:\n  defaults:\n    kind: linux\n    image: \"{image}\"\n  nodes:\n"
    );
    let wiring = graph.wiring();
    let hosts = graph.nodes.iter().enumerate().filter(|(_, n)| n.kind == NodeKind::Host);
    let switches = graph.nodes.iter().enumerate().filter(|(_, n)| n.kind == NodeKind::Switch);
    for (at, node) in hosts.chain(switches) {
        let lanes: Vec<LinkParams> =
            wiring.of(NodeId(at as u32)).iter().map(|wire| wire.lane).collect();
        // Writing to a string cannot fail.
        let _ = write_node(&mut out, node, &lanes);
    }
    out += "  links:\n";
    for link in &graph.links {
        let _ = write_link(&mut out, graph, link);
    }
    Ok(out)
}

fn write_node(out: &mut String, node: &NodeInfo, lanes: &[LinkParams]) -> std::fmt::Result {
    let role = if node.kind == NodeKind::Host { "host" } else { "switch" };
    writeln!(out, "    \"{}\":\n      labels: {{{ROLE}: {role}}}\n      exec:", node.name)?;
    for (port, lane) in lanes.iter().enumerate() {
        writeln!(out, "        - {}", shape(port, *lane))?;
    }
    Ok(())
}

/// The command that gives an interface the rate and delay of a port.
fn shape(port: usize, lane: LinkParams) -> String {
    let nanoseconds = lane.delay.after(Time::ps(500)).as_ns();
    let rate = lane.rate.0;
    format!("tc qdisc replace dev eth{} root netem delay {nanoseconds}ns rate {rate}bit", port + 1)
}

fn write_link(out: &mut String, graph: &Graph, link: &Link) -> std::fmt::Result {
    let end =
        |end: End| format!("\"{}:eth{}\"", graph.nodes[end.node.at()].name, end.port.at() + 1);
    let [rate, delay, reverse_rate, reverse_delay] = LANES;
    write!(out, "    - endpoints: [{}, {}]\n      labels: {{", end(link.a), end(link.b))?;
    write!(out, "{rate}: {}, {delay}: {}", link.ab.rate, link.ab.delay)?;
    if link.ba.rate != link.ab.rate {
        write!(out, ", {reverse_rate}: {}", link.ba.rate)?;
    }
    if link.ba.delay != link.ab.delay {
        write!(out, ", {reverse_delay}: {}", link.ba.delay)?;
    }
    writeln!(out, "}}")
}

/// Checks that containers may have all names.
fn check_names(lab: &str, graph: &Graph) -> Result<(), String> {
    let fits = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
    };
    let mut names = std::iter::once(lab).chain(graph.nodes.iter().map(|node| node.name.as_str()));
    names.find(|name| !fits(name)).map_or(Ok(()), |name| {
        Err(format!(
            "`{name}` cannot be the name of a container: expected only letters, digits, `_`, `.` and `-`"
        ))
    })
}
