//! Circuits of several patch panels in the making: each end has one port at each panel.

use crate::matching::Matching;

/// Nothing there.
const FREE: u16 = u16::MAX;
/// A port that does not work.
const DEAD: u16 = u16::MAX - 1;

/// Which end's port leads where, panel by panel: partial permutations, changed circuit by circuit.
///
/// Circuits are the edges of a bipartite graph (sending ports, receiving ports) and panels its colours. König: as long
/// as no end has more circuits than there are panels, all have a place; it is found by moving circuits along paths
/// that alternate between two panels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Panels {
    ends: usize,
    panels: usize,
    /// By panel and source, the destination.
    to: Vec<u16>,
    /// By panel and destination, the source.
    from: Vec<u16>,
    /// By panel and source: it stays where it is.
    pinned: Vec<bool>,
}

impl Panels {
    /// All dark.
    pub fn new(ends: usize, panels: usize) -> Panels {
        let none = vec![FREE; ends * panels];
        Panels { ends, panels, to: none.clone(), from: none, pinned: vec![false; ends * panels] }
    }
    /// Where `src` leads at a panel.
    pub fn destination(&self, panel: usize, src: usize) -> Option<usize> {
        Some(self.to[panel * self.ends + src]).filter(|&dst| dst < DEAD).map(usize::from)
    }
    /// All circuits: panel, source, destination.
    pub fn all(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        let pair = move |panel| move |src: usize| Some((panel, src, self.destination(panel, src)?));
        (0..self.panels).flat_map(move |panel| (0..self.ends).filter_map(pair(panel)))
    }
    /// Whether a circuit is there for good.
    pub fn is_pinned(&self, panel: usize, src: usize) -> bool {
        self.pinned[panel * self.ends + src]
    }
    /// The circuit of `src` at a panel stays for good.
    pub fn pin(&mut self, panel: usize, src: usize) {
        self.pinned[panel * self.ends + src] = true;
    }
    /// It may be moved again.
    pub fn unpin(&mut self, panel: usize, src: usize) {
        self.pinned[panel * self.ends + src] = false;
    }
    /// A circuit between free ports.
    pub fn put(&mut self, panel: usize, src: usize, dst: usize) {
        self.to[panel * self.ends + src] = dst as u16;
        self.from[panel * self.ends + dst] = src as u16;
    }
    /// Takes a circuit away.
    pub fn cut(&mut self, panel: usize, src: usize) {
        if let Some(dst) = self.destination(panel, src) {
            self.to[panel * self.ends + src] = FREE;
            self.from[panel * self.ends + dst] = FREE;
        }
    }
    /// An end's port works from now on, or does not: then what may be moved of it is gone, and nothing new is there.
    pub fn works(&mut self, panel: usize, end: usize, works: bool) {
        let at = panel * self.ends + end;
        if works {
            [&mut self.to[at], &mut self.from[at]]
                .into_iter()
                .filter(|port| **port == DEAD)
                .for_each(|port| *port = FREE);
            return;
        }
        if !self.pinned[at] {
            self.cut(panel, end);
        }
        let source = usize::from(self.from[at]);
        if source < self.ends && !self.is_pinned(panel, source) {
            self.cut(panel, source);
        }
        let free = [&mut self.to[at], &mut self.from[at]].into_iter();
        free.filter(|port| **port == FREE).for_each(|port| *port = DEAD);
    }
    /// Whether nothing begins (side 0) or ends (1) at a port that works.
    pub fn is_free(&self, side: usize, panel: usize, end: usize) -> bool {
        [&self.to, &self.from][side][panel * self.ends + end] == FREE
    }
    /// How many more circuits can begin at an end.
    pub fn free_sources(&self, src: usize) -> usize {
        (0..self.panels).filter(|panel| self.to[panel * self.ends + src] == FREE).count()
    }
    /// How many more circuits can end there.
    pub fn free_destinations(&self, dst: usize) -> usize {
        (0..self.panels).filter(|panel| self.from[panel * self.ends + dst] == FREE).count()
    }
    /// A circuit more, at whatever panel has room for it; others are moved to another panel where they must. The
    /// panel, or `None` where there is no room.
    pub fn add(&mut self, src: usize, dst: usize) -> Option<usize> {
        let free = |side: &[u16], end: usize| -> Vec<usize> {
            (0..self.panels).filter(|panel| side[panel * self.ends + end] == FREE).collect()
        };
        let (sends, hears) = (free(&self.to, src), free(&self.from, dst));
        if let Some(&panel) = sends.iter().find(|panel| hears.contains(panel)) {
            self.put(panel, src, dst);
            return Some(panel);
        }
        for &a in &sends {
            for &b in &hears {
                if self.swap(a, b, dst) {
                    self.put(a, src, dst);
                    return Some(a);
                }
            }
        }
        None
    }
    /// Frees the receiving port of `dst` at panel `a`, which has a free one at `b`: the circuits on the path that begins
    /// there change panels. Whether all of them may.
    fn swap(&mut self, a: usize, b: usize, dst: usize) -> bool {
        let mut path: Vec<(usize, usize, usize)> = Vec::new();
        let mut dst = dst;
        loop {
            let src = self.from[a * self.ends + dst];
            if src == FREE {
                break;
            }
            if src == DEAD || self.is_pinned(a, src.into()) {
                return false;
            }
            let src = usize::from(src);
            path.push((a, src, dst));
            // This source moves to the other panel, where it may be in use.
            let next = self.to[b * self.ends + src];
            if next == FREE {
                break;
            }
            if next == DEAD || self.is_pinned(b, src) {
                return false;
            }
            path.push((b, src, next.into()));
            dst = next.into();
        }
        path.iter().for_each(|&(panel, src, _)| self.cut(panel, src));
        for (panel, src, dst) in path {
            self.put(if panel == a { b } else { a }, src, dst);
        }
        true
    }
    /// What a panel shows.
    pub fn matching(&self, panel: usize, keep: impl Fn(usize, usize) -> bool, out: &mut Matching) {
        out.clear(self.ends);
        let lit = (0..self.ends).filter_map(|src| Some((src, self.destination(panel, src)?)));
        lit.filter(|(src, dst)| keep(*src, *dst)).for_each(|(src, dst)| {
            out.connect(src, dst).expect("each port has one circuit");
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// König: whatever the circuits, as long as no end has more than there are panels, all find a place, and
        /// pinned ones and dead ports stay as they are.
        #[test]
        fn all_circuits_find_a_place(
            ends in 2usize..9, panels in 1usize..7, wanted in prop::collection::vec((0usize..9, 0usize..9), 0..80)
        ) {
            let mut all = Panels::new(ends, panels);
            let (mut out, mut into) = (vec![0; ends], vec![0; ends]);
            let mut count = vec![0; ends * ends];
            for (src, dst) in wanted {
                let (src, dst) = (src % ends, dst % ends);
                if src == dst || out[src] == panels || into[dst] == panels {
                    continue;
                }
                prop_assert!(all.add(src, dst).is_some());
                (out[src], into[dst]) = (out[src] + 1, into[dst] + 1);
                count[src * ends + dst] += 1;
                let mut seen = vec![0; ends * ends];
                for (panel, src, dst) in all.all() {
                    prop_assert_eq!(usize::from(all.from[panel * ends + dst]), src);
                    seen[src * ends + dst] += 1;
                }
                prop_assert_eq!(&seen, &count);
            }
        }

        #[test]
        fn what_is_pinned_or_dead_stays(
            steps in prop::collection::vec((0usize..5, 0usize..5, 0usize..4, 0usize..4), 0..60)
        ) {
            let (ends, panels) = (5, 4);
            let mut all = Panels::new(ends, panels);
            let mut pins: Vec<(usize, usize, usize)> = vec![];
            let mut dead: Vec<(usize, usize)> = vec![];
            for (src, dst, panel, what) in steps {
                match what {
                    0 => if let Some(dst) = all.destination(panel, src) {
                        all.pin(panel, src);
                        pins.push((panel, src, dst));
                    },
                    1 => {
                        all.works(panel, src, false);
                        dead.push((panel, src));
                    }
                    _ if src != dst => { all.add(src, dst); }
                    _ => {}
                }
                for &(panel, src, dst) in &pins {
                    prop_assert_eq!(all.destination(panel, src), Some(dst));
                }
                for (panel, src, dst) in all.all().filter(|(panel, src, _)| !all.is_pinned(*panel, *src)) {
                    prop_assert!(!dead.contains(&(panel, src)) && !dead.contains(&(panel, dst)));
                }
            }
        }
    }
}
