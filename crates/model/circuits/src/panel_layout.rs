//! Racks and core switches that share patch panels, and the folded Clos network that the panels can form.

use crate::matching::Matching;
use crate::panels::Panels;
use crate::week::Week;

/// Racks (pods) and core switches whose ports end at the same patch panels. Each rack has one port at each
/// panel, each core switch has `slots` ports. The ends of a panel's matching are first the racks, then the
/// ports of the first core switch, then those of the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PanelLayout {
    /// The number of racks.
    pub racks: usize,
    /// The number of core switches.
    pub cores: usize,
    /// The number of ports of each core switch at each panel.
    pub slots: usize,
    /// The number of panels.
    pub panels: usize,
}

impl PanelLayout {
    /// The number of ends of a panel's matching.
    pub fn ends(&self) -> usize {
        self.racks + self.cores * self.slots
    }
    /// The number of links between each rack and each core switch if all core ports are in use.
    pub fn links(&self) -> usize {
        self.slots * self.panels / self.racks.max(1)
    }
    /// The ends that belong to a core switch.
    pub(crate) fn ends_of_core(&self, core: usize) -> std::ops::Range<usize> {
        let first = self.racks + core * self.slots;
        first..first + self.slots
    }
    /// The node of an end: a rack, or a core switch counted from `racks` on.
    pub(crate) fn node(&self, end: usize) -> usize {
        if end < self.racks { end } else { self.racks + (end - self.racks) / self.slots }
    }
    /// The wiring of the folded Clos network: each rack has the same number of links to and from each core
    /// switch.
    pub(crate) fn clos_wiring(&self) -> Panels {
        let mut panels = Panels::new(self.ends(), self.panels);
        for core in 0..self.cores {
            for at in 0..self.racks * self.links() {
                let (rack, slot) = (at % self.racks, at / self.panels);
                panels
                    .add_circuit(rack, self.ends_of_core(core).start + slot)
                    .expect("no end has more links than panels");
            }
        }
        let up: Vec<_> = panels.circuits().collect();
        up.into_iter().for_each(|(panel, rack, port)| panels.connect(panel, port, rack));
        panels
    }
    /// The folded Clos network as one week per panel, each with a single day of `span` picoseconds. Uplinks
    /// without a core port stay dark.
    pub fn clos(&self, span: u64) -> Vec<Week> {
        let panels = self.clos_wiring();
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
