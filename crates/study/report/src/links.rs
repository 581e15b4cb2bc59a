//! Common port numbers for all runs. They are needed because a scheme may add a node, which shifts the ports of others, or
//! may have a fabric of its own.

use super::view::{View, seconds};
use slotline_lab::record::{PortRow, RunRecord};
use std::collections::{BTreeMap, BTreeSet};

/// A run, and the number in it of each common port.
type Numbered<'a> = (&'a RunRecord, Vec<Option<usize>>);

/// The ports of a set.
pub struct Links<'a> {
    /// The ports of the run with the most ports, and then those that only other schemes have. Their numbers are common to
    /// all runs.
    pub ports: Vec<&'a PortRow>,
    /// The runs by scheme and seed.
    runs: Vec<Vec<Numbered<'a>>>,
}

impl<'a> Links<'a> {
    /// The ports of `view`; `None` if no run was done.
    pub fn of(view: &View<'a>) -> Option<Links<'a>> {
        let most = view.first().map(|(_, run)| run).max_by_key(|run| run.ports.len())?;
        let (mut names, mut ports) = (names(&most.ports), most.ports.iter().collect::<Vec<_>>());
        let mut known: BTreeSet<Name<'_>> = names.iter().copied().collect();
        for (_, run) in view.first() {
            for (name, port) in self::names(&run.ports).into_iter().zip(&run.ports) {
                if known.insert(name) {
                    names.push(name);
                    ports.push(port);
                }
            }
        }
        let numbered = |run: &&'a RunRecord| {
            let own: BTreeMap<Name<'_>, usize> =
                self::names(&run.ports).into_iter().zip(0..).collect();
            (*run, names.iter().map(|name| own.get(name).copied()).collect())
        };
        let runs = view.runs.iter().map(|runs| runs.iter().map(numbered).collect()).collect();
        Some(Links { ports, runs })
    }

    /// For each scheme, the utilisation of port `at` over the whole runs of all seeds, per mille; -1 if it is unknown.
    pub fn used(&self, at: usize) -> Vec<i32> {
        self.runs.iter().map(|runs| used(runs, at)).collect()
    }

    /// The number that port `at` has in the first run of `scheme`.
    pub fn in_first(&self, scheme: usize, at: usize) -> Option<usize> {
        self.runs[scheme].first()?.1[at]
    }

    /// The common number of port `own` of `scheme`'s first run.
    pub fn number(&self, scheme: usize, own: usize) -> Option<usize> {
        self.runs[scheme].first()?.1.iter().position(|at| *at == Some(own))
    }
}

fn used(runs: &[Numbered<'_>], at: usize) -> i32 {
    let (mut bytes, mut capacity) = (0.0, 0.0);
    for (run, own) in runs {
        let Some(port) = own[at].and_then(|own| run.ports.get(own)) else { continue };
        bytes += port.tx_bytes as f64 * 8000.0;
        capacity += port.rate_bps as f64 * seconds(run.engine.sim_time_ps);
    }
    if capacity > 0.0 { (bytes / capacity).round() as i32 } else { -1 }
}

/// A node, the neighbour at the port, and the index among parallel ports.
type Name<'a> = (&'a str, &'a str, usize);

fn names(ports: &[PortRow]) -> Vec<Name<'_>> {
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let named = ports.iter().map(|port| {
        let count = seen.entry((&port.node, &port.port)).or_default();
        *count += 1;
        (port.node.as_str(), port.port.as_str(), *count)
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_lab::record::RunSet;

    #[test]
    fn a_node_more_shifts_no_port() {
        let mut set = RunSet::example(1);
        for run in &mut set.runs {
            run.ports.iter_mut().for_each(|port| port.rate_bps = 8_000_000_000);
            (run.ports[0].tx_bytes, run.ports[1].tx_bytes) = (25_000_000, 50_000_000);
        }
        let extra = PortRow { node: "a".into(), port: "b".into(), ..PortRow::default() };
        set.runs[2].ports.insert(0, extra);
        let links = Links::of(&View::of(&set)).unwrap();
        assert_eq!(links.ports.len(), 3);
        // 25 and 50 of 250 MB.
        assert_eq!(links.used(1), [100, 100, 100]);
        assert_eq!(links.used(2), [200, 200, 200]);
        assert_eq!(links.used(0), [-1, -1, -1]);
        assert_eq!((links.in_first(0, 2), links.in_first(2, 2)), (Some(1), Some(2)));
        assert_eq!((links.number(0, 1), links.in_first(0, 0)), (Some(2), None));
    }
}
