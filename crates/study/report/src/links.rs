//! Common port numbers for all runs. They are needed because a scheme may add a node, which shifts the ports of others, or
//! may have a fabric of its own.

use super::view::{View, seconds};
use slotline_lab::record::{PortRow, RunRecord};
use std::collections::BTreeMap;

/// The ports of a set.
pub struct Links<'a> {
    /// The ports of the run with the most ports, and then those that only other schemes have. Their numbers are common to
    /// all runs.
    pub ports: Vec<&'a PortRow>,
    /// The runs by scheme and seed.
    runs: Vec<Vec<Numbered<'a>>>,
}

struct Numbered<'a> {
    run: &'a RunRecord,
    /// The common number of each port of the run.
    common: Vec<usize>,
    /// The number in the run of each common port.
    own: Vec<Option<usize>>,
}

impl<'a> Links<'a> {
    /// The ports of `view`; `None` if no run was done.
    pub fn of(view: &View<'a>) -> Option<Links<'a>> {
        let most = view.first().map(|(_, run)| run).max_by_key(|run| run.ports.len())?;
        let mut all = Common::of(most);
        let usual: Vec<usize> = (0..most.ports.len()).collect();
        let mut numbers = |run| if alike(run, most) { usual.clone() } else { all.numbers(run) };
        let common: Vec<Vec<Vec<usize>>> =
            view.runs.iter().map(|runs| runs.iter().map(|run| numbers(run)).collect()).collect();
        let numbered = view.runs.iter().zip(common).map(|(runs, common)| {
            runs.iter().zip(common).map(|(run, common)| all.numbered(run, common)).collect()
        });
        Some(Links { runs: numbered.collect(), ports: all.ports })
    }

    /// For each scheme, the utilisation of port `at` over the whole runs of all seeds, per mille; -1 if it is unknown.
    pub fn used(&self, at: usize) -> Vec<i32> {
        self.runs.iter().map(|runs| used(runs, at)).collect()
    }

    /// The number that port `at` has in the first run of `scheme`.
    pub fn in_first(&self, scheme: usize, at: usize) -> Option<usize> {
        self.runs[scheme].first()?.own[at]
    }

    /// The common number of port `own` of `scheme`'s first run.
    pub fn number(&self, scheme: usize, own: usize) -> Option<usize> {
        self.runs[scheme].first()?.common.get(own).copied()
    }
}

/// The ports that have a common number so far, and the number of each name, once it is needed.
struct Common<'a> {
    ports: Vec<&'a PortRow>,
    numbers: BTreeMap<Name<'a>, usize>,
}

impl<'a> Common<'a> {
    /// The ports of `run`, in its order.
    fn of(run: &'a RunRecord) -> Common<'a> {
        Common { ports: run.ports.iter().collect(), numbers: BTreeMap::new() }
    }

    /// The common number of each port of `run`, which has other ports.
    fn numbers(&mut self, run: &'a RunRecord) -> Vec<usize> {
        if self.numbers.is_empty() {
            self.numbers = names(&self.ports).into_iter().zip(0..).collect();
        }
        let ports: Vec<&PortRow> = run.ports.iter().collect();
        let numbered = names(&ports).into_iter().zip(&run.ports).map(|(name, port)| {
            *self.numbers.entry(name).or_insert_with(|| {
                self.ports.push(port);
                self.ports.len() - 1
            })
        });
        numbered.collect()
    }

    fn numbered(&self, run: &'a RunRecord, common: Vec<usize>) -> Numbered<'a> {
        let mut own = vec![None; self.ports.len()];
        for (number, at) in common.iter().enumerate() {
            own[*at] = Some(number);
        }
        Numbered { run, common, own }
    }
}

/// Whether both runs have the same ports in the same order, as nearly all runs of a set have.
fn alike(one: &RunRecord, other: &RunRecord) -> bool {
    let name = |port: &PortRow, far: &PortRow| port.node == far.node && port.port == far.port;
    one.ports.len() == other.ports.len()
        && one.ports.iter().zip(&other.ports).all(|(port, far)| name(port, far))
}

fn used(runs: &[Numbered<'_>], at: usize) -> i32 {
    let (mut bytes, mut capacity) = (0.0, 0.0);
    for Numbered { run, own, .. } in runs {
        let Some(port) = own[at].and_then(|own| run.ports.get(own)) else { continue };
        bytes += port.tx_bytes as f64 * 8000.0;
        capacity += port.rate_bps as f64 * seconds(run.engine.sim_time_ps);
    }
    if capacity > 0.0 { (bytes / capacity).round() as i32 } else { -1 }
}

/// A node, the neighbour at the port, and the index among parallel ports.
type Name<'a> = (&'a str, &'a str, usize);

fn names<'a>(ports: &[&'a PortRow]) -> Vec<Name<'a>> {
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let named = ports.iter().map(|&port| {
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
