//! The flows of each link. The flows that it limits come first. A short list fits into one cache line.

use slotline_net::prefetch::prefetch;

/// The number of flows that fit with their count into one cache line.
const FEW: usize = 15;
/// A long list becomes a short one again at this length.
const SHORT: usize = 8;

/// The flows of a link, or the number of their list.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line {
    /// The number of flows.
    count: u8,
    /// The number of flows that the link limits.
    own: u8,
    /// The flows. If there were more than [`FEW`], the first entry is the number of their list.
    flows: [u32; FEW],
}

/// The value of `count` if the flows are in a list.
const LISTED: u8 = u8::MAX;
const EMPTY: Line = Line { count: 0, own: 0, flows: [0; FEW] };

/// The flows of a link with many flows.
#[derive(Clone, Debug, Default)]
struct List {
    own: usize,
    flows: Vec<u32>,
}

/// By link, its flows: first the flows that it limits, then the others. Their order has no other meaning.
#[derive(Clone, Debug)]
pub(super) struct Members {
    lines: Vec<Line>,
    lists: Vec<List>,
    unused: Vec<u32>,
}

impl Members {
    pub fn new(links: usize) -> Members {
        Members { lines: vec![EMPTY; links], lists: Vec::new(), unused: Vec::new() }
    }

    /// Adds a link.
    pub fn add_link(&mut self) -> u32 {
        self.lines.push(EMPTY);
        self.lines.len() as u32 - 1
    }

    /// Requests the flows of a link.
    #[inline]
    pub fn prefetch(&self, link: u32) {
        prefetch(&self.lines, link);
    }

    /// All flows of a link.
    #[inline]
    pub fn of(&self, link: u32) -> &[u32] {
        let line = &self.lines[link as usize];
        match line.count {
            LISTED => &self.lists[line.flows[0] as usize].flows,
            count => &line.flows[..usize::from(count)],
        }
    }

    /// The flows that the link limits.
    #[inline]
    pub fn own(&self, link: u32) -> &[u32] {
        &self.of(link)[..self.own_count(link)]
    }

    /// The flows that it does not limit.
    #[inline]
    pub fn others(&self, link: u32) -> &[u32] {
        &self.of(link)[self.own_count(link)..]
    }

    /// The number of flows that the link limits.
    #[inline]
    pub fn own_count(&self, link: u32) -> usize {
        let line = &self.lines[link as usize];
        match line.count {
            LISTED => self.lists[line.flows[0] as usize].own,
            _ => usize::from(line.own),
        }
    }

    /// The index of a flow of the link, if the link has few flows.
    #[inline]
    pub fn find(&self, link: u32, flow: u32) -> Option<u32> {
        let line = &self.lines[link as usize];
        let equal = (0..).zip(&line.flows).map(|(at, other)| u32::from(*other == flow) << at);
        let found = equal.fold(0, |bits, bit| bits | bit);
        (line.count != LISTED).then_some(found.trailing_zeros())
    }

    /// Whether the link has many flows, so that [`Members::find`] does not find them.
    #[inline]
    pub fn are_many(&self, link: u32) -> bool {
        self.lines[link as usize].count == LISTED
    }

    /// Adds a flow that the link does not limit. Returns its index.
    pub fn push(&mut self, link: u32, flow: u32) -> u32 {
        let line = &mut self.lines[link as usize];
        if usize::from(line.count) == FEW {
            let at = self.unused.pop().unwrap_or_else(|| {
                self.lists.push(List::default());
                self.lists.len() as u32 - 1
            });
            let list = &mut self.lists[at as usize];
            list.flows.extend_from_slice(&line.flows);
            list.own = usize::from(line.own);
            (line.count, line.flows[0]) = (LISTED, at);
        }
        if line.count == LISTED {
            let list = &mut self.lists[line.flows[0] as usize].flows;
            list.push(flow);
            return list.len() as u32 - 1;
        }
        line.flows[usize::from(line.count)] = flow;
        line.count += 1;
        u32::from(line.count) - 1
    }

    /// Removes the flow at an index, which the link does not limit. Returns the flow that is there now, if any.
    pub fn remove(&mut self, link: u32, place: u32) -> Option<u32> {
        let place = place as usize;
        let line = &mut self.lines[link as usize];
        if line.count != LISTED {
            line.count -= 1;
            let count = usize::from(line.count);
            line.flows[place] = line.flows[count];
            return (place < count).then_some(line.flows[place]);
        }
        let at = line.flows[0];
        let list = &mut self.lists[at as usize];
        list.flows.swap_remove(place);
        let moved = list.flows.get(place).copied();
        if list.flows.len() == SHORT {
            (line.count, line.own) = (SHORT as u8, list.own as u8);
            line.flows[..SHORT].copy_from_slice(&list.flows);
            list.flows.clear();
            self.unused.push(at);
        }
        moved
    }

    /// Makes the link limit the flow at an index. Returns its new index, and the flow at the old one.
    pub fn adopt(&mut self, link: u32, place: u32) -> (u32, u32) {
        let own = self.own_count(link);
        self.set_own(link, own + 1);
        self.swap(link, place, own)
    }

    /// Makes the link no longer limit the flow at an index. Returns its new index, and the flow at the old one.
    pub fn release(&mut self, link: u32, place: u32) -> (u32, u32) {
        let last = self.own_count(link) - 1;
        self.set_own(link, last);
        self.swap(link, place, last)
    }

    fn swap(&mut self, link: u32, place: u32, to: usize) -> (u32, u32) {
        let line = &mut self.lines[link as usize];
        let flows = match line.count {
            LISTED => &mut self.lists[line.flows[0] as usize].flows[..],
            _ => &mut line.flows[..],
        };
        flows.swap(place as usize, to);
        (to as u32, flows[place as usize])
    }

    fn set_own(&mut self, link: u32, own: usize) {
        let line = &mut self.lines[link as usize];
        match line.count {
            LISTED => self.lists[line.flows[0] as usize].own = own,
            _ => line.own = own as u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Lists grow, become short and grow again. Limited flows stay in front.
        #[test]
        fn are_lists(
            steps in prop::collection::vec((0u32..3, 0usize..24, 0u32..40, any::<bool>()), 0..600),
        ) {
            let mut members = Members::new(2);
            prop_assert_eq!(members.add_link(), 2);
            let mut plain = vec![(0usize, Vec::new()); 3];
            for (flow, (link, target, place, turn)) in (0..).zip(steps) {
                let (own, flows) = &mut plain[link as usize];
                let place = place as usize % flows.len().max(1);
                if turn && place < *own {
                    *own -= 1;
                    flows.swap(place, *own);
                    let moved = members.release(link, place as u32);
                    prop_assert_eq!(moved, (*own as u32, flows[place]));
                } else if turn && place < flows.len() {
                    flows.swap(place, *own);
                    let moved = members.adopt(link, place as u32);
                    prop_assert_eq!(moved, (*own as u32, flows[place]));
                    *own += 1;
                } else if flows.len() <= target {
                    prop_assert_eq!(members.push(link, flow) as usize, flows.len());
                    flows.push(flow);
                } else if place >= *own {
                    flows.swap_remove(place);
                    prop_assert_eq!(members.remove(link, place as u32), flows.get(place).copied());
                }
                for (link, (own, flows)) in (0..).zip(&plain) {
                    for (place, flow) in (0..).zip(flows) {
                        let found = members.find(link, *flow);
                        prop_assert!(found == Some(place) || members.are_many(link));
                    }
                    prop_assert_eq!(members.of(link), &flows[..]);
                    prop_assert_eq!(members.own(link), &flows[..*own]);
                    prop_assert_eq!(members.others(link), &flows[*own..]);
                }
            }
        }
    }
}
