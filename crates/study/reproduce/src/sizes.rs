//! Sizes of experiments with real hosts: what two processors carry in minutes. Simulations beside real hosts have the
//! same sizes.

use slotline_net::transport::TransportSpec;
use slotline_net::transport::congestion::AlgorithmKind;
use slotline_net::workload::WorkloadSpec;
use slotline_scenario::Scenario;

/// What an experiment with real hosts has instead of its own sizes.
#[derive(Debug)]
pub struct Sizes {
    /// The experiment.
    pub id: &'static str,
    /// The points of its axis; all, if there are none.
    pub(crate) points: &'static [u32],
    /// The number of seeds.
    pub(crate) repeat: u32,
    /// Values that replace those of its scenario, as `--set` has them.
    pub(crate) set: &'static [&'static str],
}

/// The experiments that are too large for real hosts, or too long.
static ALL: [Sizes; 12] = [
    Sizes {
        id: "tdma-4",
        points: &[0, 2],
        repeat: 1,
        // 56 flows, whose times are in proportion to 40 MB.
        set: &[
            "fabric.hosts=8",
            "workload[0].size=40MB",
            "measure.quantity[0].per=56",
            "measure.quantity[1].per=0.004",
            "measure.quantity[2].per=0.004",
        ],
    },
    Sizes {
        id: "tdma-6",
        points: &[2],
        repeat: 1,
        set: &[
            "end.at=300ms",
            "workload[0].start=10ms",
            "workload[0].every=3ms",
            "workload[0].jitter=1ms",
        ],
    },
    Sizes { id: "tdma-8", points: &[100, 300], repeat: 1, set: &[] },
    Sizes { id: "xco-3", points: &[1, 3], repeat: 1, set: &["end.at=500ms"] },
    Sizes {
        id: "xco-6",
        points: &[1],
        repeat: 1,
        set: &["end.at=200ms", "workload[0].start=20ms"],
    },
    Sizes { id: "xco-9", points: &[], repeat: 2, set: &["end.at=500ms"] },
    Sizes { id: "xco-11", points: &[1, 4, 9, 14], repeat: 1, set: &[] },
    Sizes {
        id: "fp-A",
        points: &[2],
        repeat: 1,
        set: &[
            "end.at=40ms",
            "measure.quantity[0].from=15ms",
            "measure.quantity[1].from=15ms",
            "measure.quantity[2].from=15ms",
            "measure.quantity[3].from=15ms",
        ],
    },
    Sizes {
        id: "fp-B",
        points: &[],
        repeat: 1,
        set: &[
            "end.at=100ms",
            "workload[0].start=40ms",
            "workload[0].every=1ms",
            "workload[0].jitter=100us",
        ],
    },
    Sizes {
        id: "nb-6",
        points: &[1_500],
        repeat: 1,
        // All times are a fiftieth.
        set: &[
            "end.at=2500ms",
            "workload[1].start=500ms",
            "workload[2].start=1s",
            "workload[3].start=1500ms",
            "workload[4].start=2s",
            "measure.sample=2ms",
        ],
    },
    Sizes { id: "et-6", points: &[], repeat: 1, set: &["end.at=100ms", "workload[0].until=100ms"] },
    Sizes {
        id: "hed-2",
        points: &[0, 2, 3],
        repeat: 1,
        // Rates and sizes are a hundredth, so flows take as long, and packets and gaps between flowlets a hundred times
        // as long. Two packets in a card are the least of Linux.
        set: &[
            "fabric.rate=10Mbps",
            "workload[0].size=100KB",
            "scheme.flowlet.flowlet-gap=20ms",
            "scheme.ecmp.transport.tsq-limit=3KB",
            "scheme.ecmp-flow.transport.tsq-limit=3KB",
            "scheme.first-fit.transport.tsq-limit=3KB",
            "scheme.annealing.transport.tsq-limit=3KB",
            "scheme.best.transport.tsq-limit=3KB",
            "scheme.flowlet.transport.tsq-limit=3KB",
            "scheme.spray.transport.tsq-limit=3KB",
        ],
    },
];

impl Sizes {
    /// The sizes of an experiment, if it has others than its own.
    pub fn of(id: &str) -> Option<&'static Sizes> {
        ALL.iter().find(|sizes| sizes.id == id)
    }

    /// The values that replace those of the scenario.
    pub(crate) fn replaced(&self) -> Vec<String> {
        let repeat = format!("repeat={}", self.repeat);
        self.set.iter().map(|setting| (*setting).into()).chain([repeat]).collect()
    }

    /// Whether a point of the axis is among those with real hosts.
    pub(crate) fn has(&self, x: u32) -> bool {
        self.points.is_empty() || self.points.contains(&x)
    }
}

/// Replaces what real hosts do not have: the transport that sends at a fixed rate, and connections that are given up.
pub(crate) fn as_real(scenario: &mut Scenario) {
    for scheme in &mut scenario.scheme {
        let own = &scheme.transport;
        if own.kind == AlgorithmKind::Fixed {
            let (mtu, framing) = (own.mtu, own.framing);
            scheme.transport =
                TransportSpec { mtu, framing, ..TransportSpec::of(AlgorithmKind::NewReno) };
        }
    }
    for workload in &mut scenario.workload {
        if let WorkloadSpec::RackRings(rings) = workload {
            rings.give_up = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;
    use slotline_scenario::EmulateSpec;

    /// Each scenario has the keys that are replaced, and real hosts accept the result.
    #[test]
    fn all_sizes_can_be_emulated() {
        for sizes in &ALL {
            let study = find(sizes.id).and_then(|experiment| experiment.study()).unwrap();
            let points = study.points_with(Some(sizes)).unwrap_or_else(|e| panic!("{e}"));
            assert!(!points.is_empty(), "{}", sizes.id);
            if !sizes.points.is_empty() {
                assert_eq!(points.len(), sizes.points.len(), "{}", sizes.id);
            }
            for mut point in points {
                assert_eq!(point.loaded.scenario.repeat, sizes.repeat);
                point.keep_emulated(&EmulateSpec::default());
                assert!(point.loaded.scenario.scheme.iter().all(|scheme| scheme.fabric.is_none()));
                let real = point.emulated(&EmulateSpec::default());
                real.unwrap_or_else(|e| panic!("{}: {e}", sizes.id));
            }
        }
    }
}
