//! The circuits of several patch panels. Each end has one port at each panel.

use crate::matching::Matching;

/// The port is free.
const FREE: u16 = u16::MAX;
/// The port has failed.
const DEAD: u16 = u16::MAX - 1;

/// The circuits of each panel: partial permutations that are changed one circuit at a time.
///
/// The circuits are the edges of a bipartite multigraph of sending and receiving ports, and the panels are
/// its edge colours. If no end has more circuits than there are panels, every circuit finds a panel (König,
/// 1916). It may be necessary to exchange two panels along an alternating path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Panels {
    ends: usize,
    panels: usize,
    /// The destination by panel and source.
    destinations: Vec<u16>,
    /// The source by panel and destination.
    sources: Vec<u16>,
    /// Whether the circuit must stay, by panel and source.
    pinned: Vec<bool>,
}

impl Panels {
    /// Panels without circuits.
    pub fn new(ends: usize, panels: usize) -> Panels {
        let none = vec![FREE; ends * panels];
        Panels {
            ends,
            panels,
            destinations: none.clone(),
            sources: none,
            pinned: vec![false; ends * panels],
        }
    }
    /// The destination of `src` at a panel.
    pub fn destination(&self, panel: usize, src: usize) -> Option<usize> {
        Some(self.destinations[panel * self.ends + src]).filter(|&dst| dst < DEAD).map(usize::from)
    }
    /// All circuits as panel, source and destination.
    pub fn circuits(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        let pair = move |panel| move |src: usize| Some((panel, src, self.destination(panel, src)?));
        (0..self.panels).flat_map(move |panel| (0..self.ends).filter_map(pair(panel)))
    }
    /// Whether the circuit of `src` at a panel must stay.
    pub fn is_pinned(&self, panel: usize, src: usize) -> bool {
        self.pinned[panel * self.ends + src]
    }
    /// Forbids moving the circuit of `src` at a panel.
    pub fn pin(&mut self, panel: usize, src: usize) {
        self.pinned[panel * self.ends + src] = true;
    }
    /// Allows moving the circuit of `src` at a panel.
    pub fn unpin(&mut self, panel: usize, src: usize) {
        self.pinned[panel * self.ends + src] = false;
    }
    /// Adds a circuit between free ports.
    pub fn connect(&mut self, panel: usize, src: usize, dst: usize) {
        self.destinations[panel * self.ends + src] = dst as u16;
        self.sources[panel * self.ends + dst] = src as u16;
    }
    /// Removes the circuit of `src` at a panel, if there is one.
    pub fn disconnect(&mut self, panel: usize, src: usize) {
        if let Some(dst) = self.destination(panel, src) {
            self.destinations[panel * self.ends + src] = FREE;
            self.sources[panel * self.ends + dst] = FREE;
        }
    }
    /// Marks the port of an end as working or failed. The circuits of a failed port are removed unless they
    /// are pinned, and it gets no new ones.
    pub fn set_working(&mut self, panel: usize, end: usize, working: bool) {
        let at = panel * self.ends + end;
        if working {
            [&mut self.destinations[at], &mut self.sources[at]]
                .into_iter()
                .filter(|port| **port == DEAD)
                .for_each(|port| *port = FREE);
            return;
        }
        if !self.pinned[at] {
            self.disconnect(panel, end);
        }
        let source = usize::from(self.sources[at]);
        if source < self.ends && !self.is_pinned(panel, source) {
            self.disconnect(panel, source);
        }
        let free = [&mut self.destinations[at], &mut self.sources[at]].into_iter();
        free.filter(|port| **port == FREE).for_each(|port| *port = DEAD);
    }
    /// Whether a working port has no circuit, as a source (side 0) or as a destination (side 1).
    pub fn is_free(&self, side: usize, panel: usize, end: usize) -> bool {
        [&self.destinations, &self.sources][side][panel * self.ends + end] == FREE
    }
    /// The number of panels at which an end is free as a source.
    pub fn free_sources(&self, src: usize) -> usize {
        (0..self.panels).filter(|panel| self.destinations[panel * self.ends + src] == FREE).count()
    }
    /// The number of panels at which an end is free as a destination.
    pub fn free_destinations(&self, dst: usize) -> usize {
        (0..self.panels).filter(|panel| self.sources[panel * self.ends + dst] == FREE).count()
    }
    /// Adds a circuit at any panel and returns the panel. It moves other circuits to other panels if it must.
    /// It returns `None` if there is no room.
    pub fn add_circuit(&mut self, src: usize, dst: usize) -> Option<usize> {
        let free = |side: &[u16], end: usize| -> Vec<usize> {
            (0..self.panels).filter(|panel| side[panel * self.ends + end] == FREE).collect()
        };
        let (at_source, at_destination) = (free(&self.destinations, src), free(&self.sources, dst));
        if let Some(&panel) = at_source.iter().find(|panel| at_destination.contains(panel)) {
            self.connect(panel, src, dst);
            return Some(panel);
        }
        for &a in &at_source {
            for &b in &at_destination {
                if self.swap_along_path(a, b, dst) {
                    self.connect(a, src, dst);
                    return Some(a);
                }
            }
        }
        None
    }
    /// Frees the receiving port of `dst` at panel `a`, while `dst` is free at panel `b`. The circuits on the
    /// alternating path from there exchange the two panels. Returns false, and changes nothing, if one of
    /// them is pinned or ends at a failed port.
    fn swap_along_path(&mut self, a: usize, b: usize, dst: usize) -> bool {
        let mut path: Vec<(usize, usize, usize)> = Vec::new();
        let mut dst = dst;
        loop {
            let src = self.sources[a * self.ends + dst];
            if src == FREE {
                break;
            }
            if src == DEAD || self.is_pinned(a, src.into()) {
                return false;
            }
            let src = usize::from(src);
            path.push((a, src, dst));
            // The source moves to the other panel, where its port may be in use.
            let next = self.destinations[b * self.ends + src];
            if next == FREE {
                break;
            }
            if next == DEAD || self.is_pinned(b, src) {
                return false;
            }
            path.push((b, src, next.into()));
            dst = next.into();
        }
        path.iter().for_each(|&(panel, src, _)| self.disconnect(panel, src));
        for (panel, src, dst) in path {
            self.connect(if panel == a { b } else { a }, src, dst);
        }
        true
    }
    /// Writes the circuits of a panel that pass the filter `keep`.
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
        /// König: if no end has more circuits than there are panels, every circuit finds a panel.
        #[test]
        fn all_circuits_find_a_place(
            ends in 2usize..9, panels in 1usize..7, requests in prop::collection::vec((0usize..9, 0usize..9), 0..80)
        ) {
            let mut circuits = Panels::new(ends, panels);
            let (mut out, mut into) = (vec![0; ends], vec![0; ends]);
            let mut count = vec![0; ends * ends];
            for (src, dst) in requests {
                let (src, dst) = (src % ends, dst % ends);
                if src == dst || out[src] == panels || into[dst] == panels {
                    continue;
                }
                prop_assert!(circuits.add_circuit(src, dst).is_some());
                (out[src], into[dst]) = (out[src] + 1, into[dst] + 1);
                count[src * ends + dst] += 1;
                let mut seen = vec![0; ends * ends];
                for (panel, src, dst) in circuits.circuits() {
                    prop_assert_eq!(usize::from(circuits.sources[panel * ends + dst]), src);
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
            let mut circuits = Panels::new(ends, panels);
            let mut pins: Vec<(usize, usize, usize)> = vec![];
            let mut dead: Vec<(usize, usize)> = vec![];
            for (src, dst, panel, what) in steps {
                match what {
                    0 => if let Some(dst) = circuits.destination(panel, src) {
                        circuits.pin(panel, src);
                        pins.push((panel, src, dst));
                    },
                    1 => {
                        circuits.set_working(panel, src, false);
                        dead.push((panel, src));
                    }
                    _ if src != dst => { circuits.add_circuit(src, dst); }
                    _ => {}
                }
                for &(panel, src, dst) in &pins {
                    prop_assert_eq!(circuits.destination(panel, src), Some(dst));
                }
                for (panel, src, dst) in circuits.circuits().filter(|(panel, src, _)| !circuits.is_pinned(*panel, *src)) {
                    prop_assert!(!dead.contains(&(panel, src)) && !dead.contains(&(panel, dst)));
                }
            }
        }
    }
}
