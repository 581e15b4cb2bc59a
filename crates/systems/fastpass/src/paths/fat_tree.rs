//! Path selection in a fat-tree of three tiers (edge, aggregation, core). It uses the selector for two tiers
//! on two levels.
//!
//! Aggregation switch `a` of each pod reaches the same cores. So a packet that goes up over aggregation
//! switch `a` comes down over aggregation switch `a`, and the choice is an index. On the lower level, edge
//! switches are the racks and indices are the paths. On the upper level, among the packets of one index, pods
//! are the racks and its cores are the paths. In a fat-tree of full bandwidth both levels place every
//! matching (Kőnig).

use super::{Choice, PathError, PathSelector};

/// The numbers of switches of a fat-tree, and the room on its links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tiers {
    /// Pods.
    pub pods: u16,
    /// Edge switches in a pod. Pod `p` has the numbers `p * edges` to `p * edges + edges - 1`.
    pub edges: u16,
    /// Aggregation switches in a pod.
    pub aggregations: u16,
    /// Cores above each aggregation switch.
    pub cores: u16,
    /// Packets per slot on a link between edge and aggregation: its rate divided by that of a host.
    pub edge_room: u16,
    /// Packets per slot on a link between aggregation and core.
    pub core_room: u16,
}

/// Where a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TierChoice {
    /// Both ends are at one edge switch.
    Local,
    /// Over this aggregation switch of the pod that both ends are in.
    Pod(u16),
    /// The packet goes over the aggregation switches of this index in both pods, and over this core.
    Core {
        /// The index.
        aggregation: u16,
        /// The core above it.
        core: u16,
    },
    /// No path has room: there are too many packets or too many failures.
    Unplaced,
}

/// The packets between pods: their pods, and their numbers.
type Between = (Vec<(u16, u16)>, Vec<u32>);

/// Chooses paths in a fat-tree, one timeslot at a time.
#[derive(Clone, Debug)]
pub struct FatTree {
    tiers: Tiers,
    lower: PathSelector,
    /// The selectors of the upper level, by index of the aggregation switch.
    upper: Vec<PathSelector>,
    /// The packets of the upper level, also by index.
    between: Vec<Between>,
    choices: Vec<Choice>,
}

impl FatTree {
    /// Makes a selector for a fat-tree.
    ///
    /// # Errors
    /// There is no path or no room, more than 4,096 packets per switch and slot, or more than 65,535 edge
    /// switches.
    pub fn new(tiers: Tiers) -> Result<FatTree, PathError> {
        let Tiers { pods, edges, aggregations, cores, edge_room, core_room } = tiers;
        let all = pods.checked_mul(edges).ok_or(PathError::Racks { pods, edges })?;
        let lower = PathSelector::new(all, aggregations, edge_room)?;
        let upper = PathSelector::new(pods, cores, core_room)?;
        let many = usize::from(aggregations);
        Ok(FatTree {
            tiers,
            lower,
            upper: vec![upper; many],
            between: vec![Default::default(); many],
            choices: Vec::new(),
        })
    }
    /// Sets whether the links between an edge and an aggregation switch work, from the next slot on.
    ///
    /// # Errors
    /// The switch does not exist.
    pub fn set_edge_link(&mut self, edge: u16, index: u16, works: bool) -> Result<(), PathError> {
        self.lower.set_link(edge, index, works)
    }
    /// Sets whether the links between a pod's aggregation switch and a core above it work, from the next slot
    /// on.
    ///
    /// # Errors
    /// The pod or switch does not exist.
    pub fn set_core_link(
        &mut self,
        pod: u16,
        index: u16,
        core: u16,
        works: bool,
    ) -> Result<(), PathError> {
        let paths = self.tiers.aggregations;
        let upper = self.upper.get_mut(usize::from(index));
        upper.ok_or(PathError::Path { path: index, paths })?.set_link(pod, core, works)
    }
    /// Chooses paths for the packets of one slot, given as edge switches of source and destination. Replaces
    /// `out`, which has the order of the packets.
    ///
    /// # Errors
    /// An edge switch does not exist; `out` is not valid then.
    pub fn select(
        &mut self,
        packets: &[(u16, u16)],
        out: &mut Vec<TierChoice>,
    ) -> Result<(), PathError> {
        self.lower.select(packets, &mut self.choices)?;
        out.clear();
        let edges = self.tiers.edges;
        for (i, (&(src, dst), &choice)) in (0..).zip(packets.iter().zip(&self.choices)) {
            let pods = (src / edges, dst / edges);
            out.push(match choice {
                Choice::Local => TierChoice::Local,
                Choice::Over(index) if pods.0 == pods.1 => TierChoice::Pod(index),
                Choice::Over(index) => {
                    let (packets, numbers) = &mut self.between[usize::from(index)];
                    packets.push(pods);
                    numbers.push(i);
                    TierChoice::Unplaced
                }
                Choice::Unplaced => TierChoice::Unplaced,
            });
        }
        self.select_cores(out)
    }
    fn select_cores(&mut self, out: &mut [TierChoice]) -> Result<(), PathError> {
        let levels = (0..).zip(self.upper.iter_mut().zip(&mut self.between));
        for (aggregation, (upper, (packets, numbers))) in levels {
            upper.select(packets, &mut self.choices)?;
            for (&number, &choice) in numbers.iter().zip(&self.choices) {
                if let Choice::Over(core) = choice {
                    out[number as usize] = TierChoice::Core { aggregation, core };
                }
            }
            packets.clear();
            numbers.clear();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use slotline_net::rng::Stream;
    use std::collections::BTreeMap;

    /// A directed link: name, switch below, switch or core above.
    type Link = (&'static str, u16, u16);

    fn links(tiers: Tiers, (src, dst): (u16, u16), choice: TierChoice) -> Vec<Link> {
        let core_of = |index: u16, core: u16| index * tiers.cores + core;
        let agg_of = |edge: u16, index: u16| edge / tiers.edges * tiers.aggregations + index;
        match choice {
            TierChoice::Local | TierChoice::Unplaced => Vec::new(),
            TierChoice::Pod(index) => {
                assert_eq!(src / tiers.edges, dst / tiers.edges);
                vec![("up", src, index), ("down", dst, index)]
            }
            TierChoice::Core { aggregation: index, core } => vec![
                ("up", src, index),
                ("core-up", agg_of(src, index), core_of(index, core)),
                ("core-down", agg_of(dst, index), core_of(index, core)),
                ("down", dst, index),
            ],
        }
    }

    fn matching(seed: u64, tiers: Tiers, load: f64) -> Vec<(u16, u16)> {
        let hosts = tiers.aggregations * tiers.edge_room;
        let mut stream = Stream::named(seed, "matching", 0);
        let mut to: Vec<u16> = (0..tiers.pods * tiers.edges * hosts).collect();
        stream.shuffle(&mut to);
        let pairs = (0..).zip(to).filter(|_| stream.unit() < load);
        pairs.map(|(src, dst): (u16, u16)| (src / hosts, dst / hosts)).collect()
    }

    fn tiers() -> impl Strategy<Value = Tiers> {
        (2u16..6, 1u16..5, 1u16..5, 1u16..3).prop_map(|(pods, edges, aggregations, edge_room)| {
            Tiers { pods, edges, aggregations, cores: edges, edge_room, core_room: edge_room }
        })
    }

    proptest! {
        /// No link carries more than its room, and no failed link is used. Without failures all packets are
        /// placed.
        #[test]
        fn no_link_carries_more_than_it_can(
            seed: u64, load in 0.2f64..1.1, tiers in tiers(),
            dead in prop::collection::vec((0u16..99, 0u16..99, 0u16..99, any::<bool>()), 0..6),
        ) {
            let (mut tree, mut failed) = (FatTree::new(tiers).unwrap(), Vec::new());
            for (below, index, core, high) in dead {
                let (index, core) = (index % tiers.aggregations, core % tiers.cores);
                if high {
                    let pod = below % tiers.pods;
                    tree.set_core_link(pod, index, core, false).unwrap();
                    let ends = (pod * tiers.aggregations + index, index * tiers.cores + core);
                    failed.extend([("core-up", ends.0, ends.1), ("core-down", ends.0, ends.1)]);
                } else {
                    let edge = below % (tiers.pods * tiers.edges);
                    tree.set_edge_link(edge, index, false).unwrap();
                    failed.extend([("up", edge, index), ("down", edge, index)]);
                }
            }
            let packets = matching(seed, tiers, load);
            let mut out = Vec::new();
            for _ in 0..2 {
                tree.select(&packets, &mut out).unwrap();
                let mut carried = BTreeMap::<Link, u16>::new();
                for (&ends, &choice) in packets.iter().zip(&out) {
                    prop_assert_eq!(ends.0 == ends.1, choice == TierChoice::Local);
                    prop_assert!(!failed.is_empty() || choice != TierChoice::Unplaced);
                    for link in links(tiers, ends, choice) {
                        prop_assert!(!failed.contains(&link));
                        *carried.entry(link).or_default() += 1;
                    }
                }
                prop_assert!(carried.values().all(|&packets| packets <= tiers.edge_room));
            }
        }
    }

    #[test]
    fn what_does_not_exist_is_refused() {
        let tiers =
            Tiers { pods: 4, edges: 2, aggregations: 2, cores: 2, edge_room: 1, core_room: 1 };
        let mut tree = FatTree::new(tiers).unwrap();
        let path = PathError::Path { path: 2, paths: 2 };
        assert_eq!(tree.set_core_link(0, 2, 0, false), Err(path));
        assert_eq!(tree.set_core_link(0, 0, 2, false), Err(path));
        assert_eq!(tree.set_edge_link(8, 0, false), Err(PathError::Rack { rack: 8, racks: 8 }));
        let none = Tiers { cores: 0, ..tiers };
        assert!(matches!(FatTree::new(none), Err(PathError::Paths { .. })));
        let many = Tiers { pods: 300, edges: 300, ..tiers };
        assert!(matches!(FatTree::new(many), Err(PathError::Racks { .. })));
    }
}
