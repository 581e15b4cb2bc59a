//! Racks and core switches at the same patch panels, and the folded Clos network that they can be wired as.

use crate::matching::Matching;
use crate::panels::Panels;
use crate::week::Week;

/// Racks (pods) and core switches whose ports end at the same panels. At each panel a rack has one port, a core switch
/// `slots`. Ends of matchings are the racks, then the ports of the first core switch, then of the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cores {
    /// Racks.
    pub racks: usize,
    /// Core switches.
    pub cores: usize,
    /// Ports of each core switch at each panel.
    pub slots: usize,
    /// Panels.
    pub panels: usize,
}

impl Cores {
    /// Ends of a panel's matchings.
    pub fn ends(&self) -> usize {
        self.racks + self.cores * self.slots
    }
    /// Links of each rack to each core switch, where all core ports are in use.
    pub fn links(&self) -> usize {
        self.slots * self.panels / self.racks.max(1)
    }
    /// The ends of a core switch.
    pub(crate) fn slots_of(&self, core: usize) -> std::ops::Range<usize> {
        let first = self.racks + core * self.slots;
        first..first + self.slots
    }
    /// A rack, or from `racks` on a core switch, by its end.
    pub(crate) fn seat(&self, end: usize) -> usize {
        if end < self.racks { end } else { self.racks + (end - self.racks) / self.slots }
    }
    /// The folded Clos: each rack has as many links to each core switch, both ways.
    pub(crate) fn wire(&self) -> Panels {
        let mut panels = Panels::new(self.ends(), self.panels);
        for core in 0..self.cores {
            for at in 0..self.racks * self.links() {
                let (rack, slot) = (at % self.racks, at / self.panels);
                panels.add(rack, self.slots_of(core).start + slot).expect("no end has too many");
            }
        }
        let up: Vec<_> = panels.all().collect();
        up.into_iter().for_each(|(panel, rack, port)| panels.put(panel, port, rack));
        panels
    }
    /// The folded Clos as a week of one day for each panel: it never changes. Uplinks for which there are no core
    /// ports stay dark.
    pub fn clos(&self, span: u64) -> Vec<Week> {
        let panels = self.wire();
        let mut matching = Matching::dark(self.ends());
        let one = |panel| {
            let mut week = Week::default();
            panels.matching(panel, |_, _| true, &mut matching);
            week.clear(self.ends());
            week.push(span, matching.circuits());
            week
        };
        (0..self.panels).map(one).collect()
    }
}
