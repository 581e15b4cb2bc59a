//! Reads from an HPCC topology file which nodes are hosts.

use super::lines::each;
use std::collections::BTreeSet;
use std::path::Path;

/// The hosts of a topology, in order of their numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosts {
    nodes: u32,
    switches: BTreeSet<u32>,
    /// For each node, the number of hosts with lower numbers.
    before: Vec<u32>,
}

impl Hosts {
    fn new(nodes: u32, switches: BTreeSet<u32>) -> Hosts {
        let hosts = (0..nodes).scan(0, |count, node| {
            let before = *count;
            *count += u32::from(!switches.contains(&node));
            Some(before)
        });
        Hosts { nodes, before: hosts.collect(), switches }
    }

    /// The number of node `node` among the hosts.
    pub fn host(&self, node: u32) -> Result<u32, String> {
        if self.switches.contains(&node) {
            return Err(format!("node {node} is a switch: flows are between hosts"));
        }
        let host = self.before.get(node as usize).copied();
        host.ok_or_else(|| {
            format!("node {node}: the topology has nodes 0 to {}", self.nodes.max(1) - 1)
        })
    }
}

/// Reads the first two lines of the topology file at `path`: `nodes switches links`, and the nodes that
/// are switches.
pub fn hosts(path: &Path) -> Result<Hosts, String> {
    let (mut counts, mut switches) = (None, None);
    each(path, |_, line| {
        let numbers =
            String::from_utf8_lossy(line).split_whitespace().map(number).collect::<Vec<_>>();
        match (counts, &switches) {
            (None, _) => match numbers[..] {
                [Ok(nodes), Ok(count), Ok(_)] if nodes <= 1 << 24 => counts = Some((nodes, count)),
                _ => return Err("expected three numbers: nodes, switches and links".into()),
            },
            (Some((_, count)), None) => {
                let found: BTreeSet<u32> = numbers.into_iter().collect::<Result<_, _>>()?;
                if found.len() != count as usize {
                    return Err(format!("{count} switches announced, {} listed", found.len()));
                }
                switches = Some(found);
            }
            _ => {}
        }
        Ok(())
    })?;
    match (counts, switches) {
        (Some((nodes, _)), Some(switches)) => Ok(Hosts::new(nodes, switches)),
        _ => Err(format!("{}: expected two lines, of numbers and of switches", path.display())),
    }
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("`{text}`: expected a whole number"))
}
