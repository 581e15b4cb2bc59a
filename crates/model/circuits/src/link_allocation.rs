//! The allocation of links: how many each pair of racks gets directly, how many each rack gets to the core,
//! and the resulting load.

use crate::demand::Demand;
use crate::panel_layout::PanelLayout;
use crate::panels::Panels;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The number of links of each pair of racks, and between each rack and the core.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct LinkCounts {
    racks: usize,
    /// The direct links by source and destination rack.
    pub direct: Vec<usize>,
    /// The links of each rack to the core, and from the core.
    pub core: [Vec<usize>; 2],
}

/// The load of links in bytes: the maximum over all links, and the sum over all bytes of the load of the link
/// that they use.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct LinkLoad {
    pub max: f64,
    pub weighted: f64,
}

impl LinkLoad {
    /// Whether both loads are at most those of `other` times `factor`.
    pub fn within(&self, other: &LinkLoad, factor: f64) -> bool {
        self.max <= other.max * factor && self.weighted <= other.weighted * factor
    }
    /// Whether the maximum is lower, or the sum is lower and the maximum is equal.
    pub fn is_better(&self, other: &LinkLoad) -> bool {
        (self.max, self.weighted) < (other.max, other.weighted)
    }
}

impl LinkCounts {
    /// The links that the panels have now.
    pub fn of(cores: &PanelLayout, panels: &Panels) -> LinkCounts {
        let racks = cores.racks;
        let none = || vec![0; racks];
        let mut links =
            LinkCounts { racks, direct: vec![0; racks * racks], core: [none(), none()] };
        for (_, src, dst) in panels.circuits() {
            match (src < racks, dst < racks) {
                (true, true) => links.direct[src * racks + dst] += 1,
                (true, false) => links.core[0][src] += 1,
                _ => links.core[1][dst] += 1,
            }
        }
        links
    }
    /// The racks for which `other` has fewer direct links than these.
    pub fn racks_short_of(&self, other: &LinkCounts) -> Vec<usize> {
        let both = self.direct.iter().zip(&other.direct).enumerate();
        let pairs = both.filter(|(_, (needed, found))| found < needed).map(|(at, _)| at);
        let mut racks: Vec<usize> =
            pairs.flat_map(|at| [at / self.racks, at % self.racks]).collect();
        racks.sort_unstable();
        racks.dedup();
        racks
    }
    /// The load under a demand. A pair that has direct links uses no other links.
    pub fn load(&self, demand: &Demand) -> LinkLoad {
        let mut by_core = [vec![0.0; self.racks], vec![0.0; self.racks]];
        let pairs = || (0..self.racks * self.racks).map(|at| (at, demand.cells()[at] as f64));
        for (at, bytes) in pairs().filter(|(at, _)| self.direct[*at] == 0) {
            by_core[0][at / self.racks] += bytes;
            by_core[1][at % self.racks] += bytes;
        }
        let core = |side: usize, rack: usize| by_core[side][rack] / self.core[side][rack] as f64;
        let load = |at: usize, bytes: f64| match self.direct[at] {
            0 => core(0, at / self.racks).max(core(1, at % self.racks)),
            links => bytes / links as f64,
        };
        let demands = pairs().filter(|(_, bytes)| *bytes > 0.0);
        demands.fold(LinkLoad { max: 0.0, weighted: 0.0 }, |sum, (at, bytes)| {
            let load = load(at, bytes);
            LinkLoad { max: sum.max.max(load), weighted: sum.weighted + load * bytes }
        })
    }
}

/// The links that can be allocated.
#[derive(Clone, Debug)]
pub(crate) struct LinkBudget {
    /// The working uplinks of each rack.
    pub uplinks: Vec<usize>,
    /// The largest number of links between a rack and a core switch.
    pub most: usize,
    /// The number of core switches. A rack has the same number of links to each, as packets are spread evenly
    /// over them.
    pub cores: usize,
    /// The existing direct links by source and destination rack. They are preferred to new links.
    pub existing: Vec<usize>,
}

/// The factor by which the load may exceed the lowest load, so that fewer links move.
const SLACK: (u64, u64) = (11, 10);
/// The factor by which a pair's weight is raised if it already has a link.
const EXISTING_WEIGHT: (u128, u128) = (5, 4);

impl LinkBudget {
    /// The largest number of links of a rack to the core.
    fn core(&self, rack: usize) -> usize {
        self.cores * self.most.min(self.uplinks[rack] / self.cores.max(1))
    }
    /// Reduces the uplinks of some racks by one.
    pub fn remove_uplinks(&mut self, racks: &[usize]) {
        racks.iter().for_each(|&rack| self.uplinks[rack] = self.uplinks[rack].saturating_sub(1));
    }
    /// Allocates links so that the maximum load is as low as possible. A binary search finds that load. It
    /// begins between the load of a core that carries all and the load of evenly used uplinks.
    pub fn plan(&self, demand: &Demand) -> LinkCounts {
        let sums: Vec<[u64; 2]> = (0..demand.racks())
            .map(|rack| [demand.row_sum(rack), demand.column_sum(rack)])
            .collect();
        let most = |links: &dyn Fn(usize) -> usize| {
            let load = |(rack, sums): (usize, &[u64; 2])| {
                sums[0].max(sums[1]).div_ceil(links(rack).max(1) as u64)
            };
            sums.iter().enumerate().map(load).max().unwrap_or(0).max(1)
        };
        let (mut low, mut high) = (most(&|rack| self.uplinks[rack]), most(&|rack| self.core(rack)));
        let mut best = Allocation::by_core(self, demand);
        while high - low > low / 256 {
            let middle = low + (high - low) / 2;
            match Allocation::within(self, demand, middle) {
                Some(allocation) => (best, high) = (allocation, middle),
                None => low = middle + 1,
            }
        }
        let relaxed = (high.saturating_mul(SLACK.0) / SLACK.1).max(high);
        Allocation::within(self, demand, relaxed).unwrap_or(best).share_remaining()
    }
}

/// An allocation under construction.
struct Allocation<'a> {
    budget: &'a LinkBudget,
    demand: &'a Demand,
    links: LinkCounts,
    /// The direct links in use by side (0: sending, 1: receiving) and rack, and the bytes that use the core.
    used: [Vec<usize>; 2],
    by_core: [Vec<u64>; 2],
}

impl<'a> Allocation<'a> {
    /// The allocation in which all traffic uses the core.
    fn by_core(budget: &'a LinkBudget, demand: &'a Demand) -> Allocation<'a> {
        let racks = demand.racks();
        let core: Vec<usize> = (0..racks).map(|rack| budget.core(rack)).collect();
        let sums = [
            (0..racks).map(|rack| demand.row_sum(rack)).collect(),
            (0..racks).map(|rack| demand.column_sum(rack)).collect(),
        ];
        let used = [vec![0; racks], vec![0; racks]];
        let links =
            LinkCounts { racks, direct: vec![0; racks * racks], core: [core.clone(), core] };
        Allocation { budget, demand, links, used, by_core: sums }
    }
    /// An allocation in which no link carries more than `most` bytes, if one is found. All pairs begin with
    /// direct links. If a rack has too few uplinks, the pairs with the least load per direct link change to
    /// the core.
    fn within(budget: &'a LinkBudget, demand: &'a Demand, most: u64) -> Option<Allocation<'a>> {
        let mut allocation = Allocation::by_core(budget, demand);
        let racks = demand.racks();
        allocation.by_core.iter_mut().for_each(|bytes| bytes.fill(0));
        let cells = demand.cells();
        let mut pairs: Vec<usize> = (0..racks * racks).filter(|&at| cells[at] > 0).collect();
        for &at in &pairs {
            let links = cells[at].div_ceil(most) as usize;
            allocation.links.direct[at] = links;
            allocation.used[0][at / racks] += links;
            allocation.used[1][at % racks] += links;
        }
        let direct = allocation.links.direct.clone();
        let weigh = |at: usize, by: usize| {
            let factor = if budget.existing[at] > 0 { EXISTING_WEIGHT } else { (1, 1) };
            u128::from(cells[at]) * direct[by] as u128 * factor.0 / factor.1
        };
        // Equal pairs are sorted by distance, so that they are spread over the racks.
        let turn = |at: usize| ((at % racks + racks - at / racks) % racks, at);
        pairs.sort_by(|&a, &b| {
            let (one, other) = (weigh(a, b), weigh(b, a));
            one.cmp(&other).then(turn(a).cmp(&turn(b)))
        });
        for both in [true, false] {
            let mut moved = true;
            while moved {
                let existing = pairs.len();
                pairs.retain(|&at| !allocation.leave_to_core(at, most, both));
                moved = pairs.len() < existing;
            }
        }
        allocation.count_core(most);
        let fits = |side: usize, rack: usize| allocation.excess(side, rack, 0, 0, most) == 0;
        (0..racks).all(|rack| fits(0, rack) && fits(1, rack)).then_some(allocation)
    }
    /// The links to the core that a rack needs if it sends `more` further bytes there.
    fn core_links_needed(&self, side: usize, rack: usize, more: u64, most: u64) -> usize {
        let links = self.by_core[side][rack].saturating_add(more).div_ceil(most) as usize;
        links.max(1).next_multiple_of(self.budget.cores.max(1)) * usize::from(self.budget.cores > 0)
    }
    /// The number of uplinks that a rack lacks if it gives up `less` direct links and sends `more` further
    /// bytes to the core.
    fn excess(&self, side: usize, rack: usize, less: usize, more: u64, most: u64) -> usize {
        let links = self.used[side][rack] - less + self.core_links_needed(side, rack, more, most);
        links.saturating_sub(self.budget.uplinks[rack])
    }
    /// Moves a pair to the core if the core has room and if the move reduces the lack of uplinks at both ends,
    /// or, without `both`, at one end at least. Returns whether the pair moved.
    fn leave_to_core(&mut self, at: usize, most: u64, both: bool) -> bool {
        let (racks, bytes) = (self.demand.racks(), self.demand.cells()[at]);
        let (ends, links) = ([at / racks, at % racks], self.links.direct[at]);
        let helps = |side: usize| {
            let excess = |less, more| self.excess(side, ends[side], less, more, most);
            excess(links, bytes) < excess(0, 0)
        };
        let helped = if both { helps(0) && helps(1) } else { helps(0) || helps(1) };
        let has_room = |side: usize| {
            self.core_links_needed(side, ends[side], bytes, most) <= self.budget.core(ends[side])
        };
        if !helped || !has_room(0) || !has_room(1) {
            return false;
        }
        self.links.direct[at] = 0;
        for (side, rack) in ends.into_iter().enumerate() {
            self.used[side][rack] -= links;
            self.by_core[side][rack] = self.by_core[side][rack].saturating_add(bytes);
        }
        true
    }
    /// Allocates the links to the core that are needed.
    fn count_core(&mut self, most: u64) {
        for side in 0..2 {
            for rack in 0..self.demand.racks() {
                self.links.core[side][rack] =
                    self.core_links_needed(side, rack, 0, most).min(self.budget.core(rack));
            }
        }
    }
    /// Gives the remaining links to the pairs and racks with the highest load. Existing links are preferred.
    fn share_remaining(mut self) -> LinkCounts {
        let racks = self.demand.racks();
        let spare = |side: usize, rack: usize| {
            let used = self.used[side][rack] + self.links.core[side][rack];
            self.budget.uplinks[rack].saturating_sub(used)
        };
        let mut spare = [0, 1].map(|side| (0..racks).map(|at| spare(side, at)).collect::<Vec<_>>());
        let load =
            |bytes: u64, links: usize| (u128::from(bytes) << 21) / (2 * links).max(1) as u128;
        let pair = |at: usize, links: usize| {
            let factor = if links < self.budget.existing[at] { EXISTING_WEIGHT } else { (1, 1) };
            load(self.demand.cells()[at], links) * factor.0 / factor.1
        };
        // The heap has pairs, and after them racks by side.
        let mut heap = BinaryHeap::new();
        let pairs = (0..racks * racks).filter(|&at| self.demand.cells()[at] > 0);
        for at in pairs.filter(|&at| self.links.direct[at] > 0 || self.budget.cores == 0) {
            heap.push((pair(at, self.links.direct[at]), Reverse(at)));
        }
        for (side, rack) in (0..2).flat_map(|side| (0..racks).map(move |rack| (side, rack))) {
            let bytes = self.by_core[side][rack];
            if bytes > 0 {
                let at = racks * racks + side * racks + rack;
                heap.push((load(bytes, self.links.core[side][rack]), Reverse(at)));
            }
        }
        while let Some((_, Reverse(at))) = heap.pop() {
            let again = if let Some(at) = at.checked_sub(racks * racks) {
                let (side, rack) = (at / racks, at % racks);
                let links = &mut self.links.core[side][rack];
                let more = self.budget.cores;
                (more > 0 && spare[side][rack] >= more && *links + more <= self.budget.core(rack))
                    .then(|| {
                        spare[side][rack] -= more;
                        *links += more;
                        load(self.by_core[side][rack], *links)
                    })
            } else {
                let (src, dst) = (at / racks, at % racks);
                (spare[0][src] > 0 && spare[1][dst] > 0).then(|| {
                    spare[0][src] -= 1;
                    spare[1][dst] -= 1;
                    self.links.direct[at] += 1;
                    pair(at, self.links.direct[at])
                })
            };
            heap.extend(again.map(|load| (load, Reverse(at))));
        }
        self.links
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All core switches have failed, and pairs need more links than racks have.
    #[test]
    fn without_a_core_links_go_to_pairs() {
        let budget = LinkBudget { uplinks: vec![1; 3], most: 2, cores: 0, existing: vec![0; 9] };
        let demand = Demand::from_cells(3, &[0, 5, 4, 3, 0, 2, 1, 1, 0]).expect("a matrix");
        let links = budget.plan(&demand);
        assert!(links.core.iter().flatten().all(|&links| links == 0));
        let sent = |src: usize| links.direct[src * 3..][..3].iter().sum::<usize>();
        assert_eq!([0, 1, 2].map(sent), [1, 1, 1], "{:?}", links.direct);
    }
}
