//! Links that switches report as broken, and the paths that are left. The numbers of paths stay those of the whole
//! network, because switches know what each number means and cannot learn it anew in time.

use slotline_net::id::HostId;
use slotline_net::scheme::Network;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A network some of whose links are broken.
#[derive(Clone, Debug)]
pub struct Survivors {
    whole: Network,
    /// The numbers of broken directed links.
    broken: Arc<BTreeSet<u32>>,
}

impl Survivors {
    /// `whole` is the network in which all links work, and `broken` has the numbers of broken directed links.
    pub fn new(whole: Network, broken: BTreeSet<u32>) -> Survivors {
        Survivors { whole, broken: Arc::new(broken) }
    }
    /// The numbers of broken directed links.
    pub fn broken(&self) -> &BTreeSet<u32> {
        &self.broken
    }
    /// Replaces the broken links.
    pub fn set_broken(&mut self, broken: BTreeSet<u32>) {
        self.broken = Arc::new(broken);
    }
    /// The number of hosts.
    pub fn hosts(&self) -> usize {
        self.whole.hosts()
    }
    /// The number of the first path from `path` on, in a circle, that has no broken link; `None` if none is left.
    pub fn working(&self, src: HostId, dst: HostId, path: u16) -> Option<u16> {
        let count = self.whole.path_count(src, dst);
        let mut links = Vec::new();
        let numbers = (0..count).map(|n| ((u32::from(path) + n) % count) as u16);
        let mut works = |path: u16| {
            self.whole.numbered_path(src, dst, path, &mut links);
            links.iter().all(|link| !self.broken.contains(link))
        };
        match self.broken.is_empty() {
            true => (count > 0).then_some(path),
            false => { numbers }.find(|path| works(*path)),
        }
    }
    /// The path that packets to `dst` take that have no path of their own, so that they avoid broken links; `None` if
    /// all paths work, or none.
    pub fn detour(&self, src: HostId, dst: HostId) -> Option<u16> {
        let count = self.whole.path_count(src, dst);
        let works = |path: u16| self.working(src, dst, path) == Some(path);
        let broken = src != dst && !(0..count).all(|path| works(path as u16));
        // Destinations share what is left.
        broken.then(|| self.working(src, dst, (dst.0 % count) as u16)).flatten()
    }
    /// The network as a scheduler sees it: the number of a path with a broken link stands for the next one without.
    pub fn network(&self) -> Network {
        if self.broken.is_empty() {
            return self.whole.clone();
        }
        let (counted, named) = (self.clone(), self.clone());
        let count = move |src, dst| match counted.working(src, dst, 0) {
            Some(_) => counted.whole.path_count(src, dst),
            None => 0,
        };
        self.whole.clone().with_numbered_paths(count, move |src, dst, path, out| {
            if let Some(path) = named.working(src, dst, path) {
                named.whole.numbered_path(src, dst, path, out);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use slotline_net::route::{Routes, RoutingSpec};
    use slotline_net::scheme::Map;
    use slotline_net::topology::{Down, End, FatTreeSpec, Graph, TopologySpec};

    fn map(graph: &Graph, down: &Down) -> Map {
        let routes = Arc::new(Routes::build(graph, RoutingSpec::Pinned, down, 1));
        Map::new(graph.nodes.len(), graph.hosts.len(), &graph.wiring(), &routes, 1)
    }

    proptest! {
        /// The paths that are left are those of routes that were built without the broken links, for pairs of hosts
        /// that such routes do not lead over longer ways.
        #[test]
        fn what_is_left_is_what_routes_around_the_links_would_be(
            cut in prop::collection::btree_set(0usize..48, 0..6), src in 0u32..16, dst in 0u32..16,
        ) {
            let graph = TopologySpec::FatTree(FatTreeSpec::new(4)).build().unwrap();
            let whole = map(&graph, &Down::default());
            // Links of hosts are not reported.
            let cut: Vec<usize> = cut.into_iter().filter(|link| {
                [graph.links[*link].a, graph.links[*link].b].iter().all(|end| graph.nodes[end.node.at()].tier > 0)
            }).collect();
            let ends = cut.iter().map(|link| graph.links[*link].a);
            let broken = ends.flat_map(|end| whole.cable(end).unwrap()).collect();
            let survivors = Survivors::new(whole.network(), broken);
            let (src, dst) = (HostId(src), HostId(dst));
            let listed = |network: &Network| -> BTreeSet<Vec<u32>> {
                let mut links = Vec::new();
                (0..network.path_count(src, dst)).map(|path| {
                    network.numbered_path(src, dst, path as u16, &mut links);
                    links.clone()
                }).collect()
            };
            let down = Down { links: cut.iter().copied().collect(), ..Down::default() };
            let mut rebuilt = listed(&map(&graph, &down).network());
            let longest = listed(&whole.network()).iter().map(Vec::len).max().unwrap_or(0);
            rebuilt.retain(|path| path.len() <= longest);
            let left = listed(&survivors.network());
            prop_assert_eq!(&left, &rebuilt);
            for path in 0..4 {
                let working = survivors.working(src, dst, path);
                prop_assert_eq!(working.is_some(), !left.is_empty());
                let mut links = Vec::new();
                working.iter().for_each(|path| whole.network().numbered_path(src, dst, *path, &mut links));
                prop_assert!(working.is_none() || left.contains(&links));
            }
            let all = listed(&whole.network());
            prop_assert_eq!(survivors.detour(src, dst).is_some(), !left.is_empty() && left != all);
        }
    }

    #[test]
    fn ports_that_do_not_exist_have_no_cable() {
        let graph = TopologySpec::FatTree(FatTreeSpec::new(4)).build().unwrap();
        let map = map(&graph, &Down::default());
        let end = graph.links[20].a;
        let [out, back] = map.cable(end).unwrap();
        assert_eq!(map.cable(graph.links[20].b), Some([back, out]));
        let port = slotline_net::id::PortId(99);
        assert_eq!(map.cable(End { port, ..end }), None);
        let node = slotline_net::id::NodeId(9_999);
        assert_eq!(map.cable(End { node, ..end }), None);
    }
}
