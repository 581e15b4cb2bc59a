//! How many links pairs of racks get, directly or to the core, and how full these are then.

use crate::cores::Cores;
use crate::demand::Demand;
use crate::panels::Panels;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How many links each pair of racks and each rack has.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Links {
    racks: usize,
    /// By source and destination rack: direct links.
    pub direct: Vec<usize>,
    /// By rack: links to the core, and from it.
    pub core: [Vec<usize>; 2],
}

/// How full links are, in bytes: the fullest, and all as their bytes find them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Fullness {
    pub fullest: f64,
    pub all: f64,
}

impl Fullness {
    /// Whether this is as good as another, or nearly so: times a factor.
    pub fn within(&self, other: &Fullness, factor: f64) -> bool {
        self.fullest <= other.fullest * factor && self.all <= other.all * factor
    }
    /// Whether the fullest is emptier; among equals, all together.
    pub fn better(&self, other: &Fullness) -> bool {
        (self.fullest, self.all) < (other.fullest, other.all)
    }
}

impl Links {
    /// Those that there are.
    pub fn of(cores: &Cores, panels: &Panels) -> Links {
        let racks = cores.racks;
        let none = || vec![0; racks];
        let mut links = Links { racks, direct: vec![0; racks * racks], core: [none(), none()] };
        for (_, src, dst) in panels.all() {
            match (src < racks, dst < racks) {
                (true, true) => links.direct[src * racks + dst] += 1,
                (true, false) => links.core[0][src] += 1,
                _ => links.core[1][dst] += 1,
            }
        }
        links
    }
    /// The racks that have fewer direct links in another plan.
    pub fn without(&self, other: &Links) -> Vec<usize> {
        let both = self.direct.iter().zip(&other.direct).enumerate();
        let pairs = both.filter(|(_, (wanted, there))| there < wanted).map(|(at, _)| at);
        let mut racks: Vec<usize> =
            pairs.flat_map(|at| [at / self.racks, at % self.racks]).collect();
        racks.sort_unstable();
        racks.dedup();
        racks
    }
    /// How full they are: a pair with direct links uses no others.
    pub fn fullness(&self, demand: &Demand) -> Fullness {
        let mut by_core = [vec![0.0; self.racks], vec![0.0; self.racks]];
        let pairs = || (0..self.racks * self.racks).map(|at| (at, demand.cells()[at] as f64));
        for (at, bytes) in pairs().filter(|(at, _)| self.direct[*at] == 0) {
            by_core[0][at / self.racks] += bytes;
            by_core[1][at % self.racks] += bytes;
        }
        let core = |side: usize, rack: usize| by_core[side][rack] / self.core[side][rack] as f64;
        let full = |at: usize, bytes: f64| match self.direct[at] {
            0 => core(0, at / self.racks).max(core(1, at % self.racks)),
            links => bytes / links as f64,
        };
        let wanted = pairs().filter(|(_, bytes)| *bytes > 0.0);
        wanted.fold(Fullness { fullest: 0.0, all: 0.0 }, |sum, (at, bytes)| {
            let full = full(at, bytes);
            Fullness { fullest: sum.fullest.max(full), all: sum.all + full * bytes }
        })
    }
}

/// What there is to give links from.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    /// Links of each rack.
    pub uplinks: Vec<usize>,
    /// Links of each rack to each core switch, at most.
    pub most: usize,
    /// Core switches: a rack has as many links to each, or what it sends would not be spread evenly over them.
    pub cores: usize,
    /// By source and destination rack: direct links that are there. What is there is kept before others are made.
    pub before: Vec<usize>,
}

/// How much fuller links may be than they could be, so that fewer have to move.
const LOOSE: (u64, u64) = (11, 10);
/// A pair counts for so much more where it has a link already.
const THERE: (u128, u128) = (5, 4);

impl Room {
    /// Links of a rack that may be to the core.
    fn core(&self, rack: usize) -> usize {
        self.cores * self.most.min(self.uplinks[rack] / self.cores.max(1))
    }
    /// Racks have a link less.
    pub fn lessen(&mut self, racks: &[usize]) {
        racks.iter().for_each(|&rack| self.uplinks[rack] = self.uplinks[rack].saturating_sub(1));
    }
    /// As many links as it takes for the fullest of all to be as empty as may be: what that carries is halved again and
    /// again between what the core alone takes and what all uplinks together could do.
    pub fn plan(&self, demand: &Demand) -> Links {
        let sums: Vec<[u64; 2]> = (0..demand.racks())
            .map(|rack| [demand.row_sum(rack), demand.column_sum(rack)])
            .collect();
        let most = |links: &dyn Fn(usize) -> usize| {
            let full = |(rack, sums): (usize, &[u64; 2])| {
                sums[0].max(sums[1]).div_ceil(links(rack).max(1) as u64)
            };
            sums.iter().enumerate().map(full).max().unwrap_or(0).max(1)
        };
        let (mut low, mut high) = (most(&|rack| self.uplinks[rack]), most(&|rack| self.core(rack)));
        let mut best = Shares::by_core(self, demand);
        while high - low > low / 256 {
            let middle = low + (high - low) / 2;
            match Shares::within(self, demand, middle) {
                Some(shares) => (best, high) = (shares, middle),
                None => low = middle + 1,
            }
        }
        let loose = (high.saturating_mul(LOOSE.0) / LOOSE.1).max(high);
        Shares::within(self, demand, loose).unwrap_or(best).share_rest()
    }
}

/// Links in the making.
struct Shares<'a> {
    room: &'a Room,
    demand: &'a Demand,
    links: Links,
    /// By side (sending, hearing) and rack: direct links, and bytes that go by the core.
    used: [Vec<usize>; 2],
    by_core: [Vec<u64>; 2],
}

impl<'a> Shares<'a> {
    /// All by the core.
    fn by_core(room: &'a Room, demand: &'a Demand) -> Shares<'a> {
        let racks = demand.racks();
        let core: Vec<usize> = (0..racks).map(|rack| room.core(rack)).collect();
        let sums = [
            (0..racks).map(|rack| demand.row_sum(rack)).collect(),
            (0..racks).map(|rack| demand.column_sum(rack)).collect(),
        ];
        let used = [vec![0; racks], vec![0; racks]];
        let links = Links { racks, direct: vec![0; racks * racks], core: [core.clone(), core] };
        Shares { room, demand, links, used, by_core: sums }
    }
    /// No link carries more than `most`: all pairs have direct links, and those go by the core, where there are too few,
    /// that fill theirs least. `None` where that is not enough.
    fn within(room: &'a Room, demand: &'a Demand, most: u64) -> Option<Shares<'a>> {
        let mut shares = Shares::by_core(room, demand);
        let racks = demand.racks();
        shares.by_core.iter_mut().for_each(|bytes| bytes.fill(0));
        let cells = demand.cells();
        let mut pairs: Vec<usize> = (0..racks * racks).filter(|&at| cells[at] > 0).collect();
        for &at in &pairs {
            let links = cells[at].div_ceil(most) as usize;
            shares.links.direct[at] = links;
            shares.used[0][at / racks] += links;
            shares.used[1][at % racks] += links;
        }
        let direct = shares.links.direct.clone();
        let weigh = |at: usize, by: usize| {
            let there = if room.before[at] > 0 { THERE } else { (1, 1) };
            u128::from(cells[at]) * direct[by] as u128 * there.0 / there.1
        };
        // In the order of rotations, so that equals are spread over racks.
        let turn = |at: usize| ((at % racks + racks - at / racks) % racks, at);
        pairs.sort_by(|&a, &b| {
            let (one, other) = (weigh(a, b), weigh(b, a));
            one.cmp(&other).then(turn(a).cmp(&turn(b)))
        });
        for both in [true, false] {
            let mut moved = true;
            while moved {
                let before = pairs.len();
                pairs.retain(|&at| !shares.leave_to_core(at, most, both));
                moved = pairs.len() < before;
            }
        }
        shares.count_core(most);
        let fits = |side: usize, rack: usize| shares.over(side, rack, 0, 0, most) == 0;
        (0..racks).all(|rack| fits(0, rack) && fits(1, rack)).then_some(shares)
    }
    /// Links of a rack to the core, with so many bytes more than there are.
    fn need(&self, side: usize, rack: usize, more: u64, most: u64) -> usize {
        let links = self.by_core[side][rack].saturating_add(more).div_ceil(most) as usize;
        links.max(1).next_multiple_of(self.room.cores.max(1)) * usize::from(self.room.cores > 0)
    }
    /// How many links too many a rack would have, with so many direct links less and bytes by the core more.
    fn over(&self, side: usize, rack: usize, less: usize, more: u64, most: u64) -> usize {
        let all = self.used[side][rack] - less + self.need(side, rack, more, most);
        all.saturating_sub(self.room.uplinks[rack])
    }
    /// Leaves a pair to the core if that has room for it, and helps a rack, or both, that have too many links.
    fn leave_to_core(&mut self, at: usize, most: u64, both: bool) -> bool {
        let (racks, bytes) = (self.demand.racks(), self.demand.cells()[at]);
        let (ends, links) = ([at / racks, at % racks], self.links.direct[at]);
        let helps = |side: usize| {
            let over = |less, more| self.over(side, ends[side], less, more, most);
            over(links, bytes) < over(0, 0)
        };
        let helped = if both { helps(0) && helps(1) } else { helps(0) || helps(1) };
        let has_room =
            |side: usize| self.need(side, ends[side], bytes, most) <= self.room.core(ends[side]);
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
    /// As many links to the core as are needed.
    fn count_core(&mut self, most: u64) {
        for side in 0..2 {
            for rack in 0..self.demand.racks() {
                self.links.core[side][rack] =
                    self.need(side, rack, 0, most).min(self.room.core(rack));
            }
        }
    }
    /// Links that are left go to what is fullest; those that are there before others.
    fn share_rest(mut self) -> Links {
        let racks = self.demand.racks();
        let spare = |side: usize, rack: usize| {
            let used = self.used[side][rack] + self.links.core[side][rack];
            self.room.uplinks[rack].saturating_sub(used)
        };
        let mut spare = [0, 1].map(|side| (0..racks).map(|at| spare(side, at)).collect::<Vec<_>>());
        let full =
            |bytes: u64, links: usize| (u128::from(bytes) << 21) / (2 * links).max(1) as u128;
        let pair = |at: usize, links: usize| {
            let there = if links < self.room.before[at] { THERE } else { (1, 1) };
            full(self.demand.cells()[at], links) * there.0 / there.1
        };
        // Pairs; then racks, by side.
        let mut heap = BinaryHeap::new();
        let pairs = (0..racks * racks).filter(|&at| self.demand.cells()[at] > 0);
        for at in pairs.filter(|&at| self.links.direct[at] > 0 || self.room.cores == 0) {
            heap.push((pair(at, self.links.direct[at]), Reverse(at)));
        }
        for (side, rack) in (0..2).flat_map(|side| (0..racks).map(move |rack| (side, rack))) {
            let bytes = self.by_core[side][rack];
            if bytes > 0 {
                let at = racks * racks + side * racks + rack;
                heap.push((full(bytes, self.links.core[side][rack]), Reverse(at)));
            }
        }
        while let Some((_, Reverse(at))) = heap.pop() {
            let again = if let Some(at) = at.checked_sub(racks * racks) {
                let (side, rack) = (at / racks, at % racks);
                let links = &mut self.links.core[side][rack];
                let more = self.room.cores;
                (spare[side][rack] >= more && *links + more <= self.room.core(rack)).then(|| {
                    spare[side][rack] -= more;
                    *links += more;
                    full(self.by_core[side][rack], *links)
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
            heap.extend(again.map(|full| (full, Reverse(at))));
        }
        self.links
    }
}
