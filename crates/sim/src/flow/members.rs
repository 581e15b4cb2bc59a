//! The flows of each link, few of them in one cache line.

/// So many flows are kept with their number in one line.
const FEW: usize = 15;
/// A list that was longer comes back when it is as short as this.
const SHORT: usize = 8;

/// The flows of a link, or where they are.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line {
    /// How many there are.
    count: u32,
    /// Them; where there were more than [`FEW`], the first is the number of their list.
    flows: [u32; FEW],
}

/// What `count` is where flows are in a list.
const LISTED: u32 = u32::MAX;
const EMPTY: Line = Line { count: 0, flows: [0; FEW] };

/// By link, its flows, in no order that means anything.
#[derive(Clone, Debug)]
pub(super) struct Members {
    lines: Vec<Line>,
    lists: Vec<Vec<u32>>,
    unused: Vec<u32>,
}

/// The flows of a link, taken out to be looked at while other things change.
pub(super) struct Lent {
    line: Line,
    list: Vec<u32>,
}

impl Lent {
    #[inline]
    pub fn flows(&self) -> &[u32] {
        match self.line.count {
            LISTED => &self.list,
            count => &self.line.flows[..count as usize],
        }
    }
}

impl Members {
    pub fn new(links: usize) -> Members {
        Members { lines: vec![EMPTY; links], lists: Vec::new(), unused: Vec::new() }
    }

    /// One more link.
    pub fn add_link(&mut self) -> u32 {
        self.lines.push(EMPTY);
        self.lines.len() as u32 - 1
    }

    #[inline]
    pub fn of(&self, link: u32) -> &[u32] {
        let line = &self.lines[link as usize];
        match line.count {
            LISTED => &self.lists[line.flows[0] as usize],
            count => &line.flows[..count as usize],
        }
    }

    /// The flows of a link; until they are brought back, none are there.
    #[inline]
    pub fn lend(&mut self, link: u32) -> Lent {
        let line = self.lines[link as usize];
        let list = match line.count {
            LISTED => std::mem::take(&mut self.lists[line.flows[0] as usize]),
            _ => Vec::new(),
        };
        Lent { line, list }
    }

    #[inline]
    pub fn bring_back(&mut self, lent: Lent) {
        if lent.line.count == LISTED {
            self.lists[lent.line.flows[0] as usize] = lent.list;
        }
    }

    /// Adds a flow; its place.
    pub fn push(&mut self, link: u32, flow: u32) -> u32 {
        let line = &mut self.lines[link as usize];
        if line.count as usize == FEW {
            let at = self.unused.pop().unwrap_or_else(|| {
                self.lists.push(Vec::new());
                self.lists.len() as u32 - 1
            });
            self.lists[at as usize].extend_from_slice(&line.flows);
            (line.count, line.flows[0]) = (LISTED, at);
        }
        if line.count == LISTED {
            let list = &mut self.lists[line.flows[0] as usize];
            list.push(flow);
            return list.len() as u32 - 1;
        }
        line.flows[line.count as usize] = flow;
        line.count += 1;
        line.count - 1
    }

    /// Removes the flow at a place; the one that is there now, if any.
    pub fn remove(&mut self, link: u32, place: u32) -> Option<u32> {
        let line = &mut self.lines[link as usize];
        if line.count < LISTED {
            line.count -= 1;
            line.flows[place as usize] = line.flows[line.count as usize];
            return (place < line.count).then_some(line.flows[place as usize]);
        }
        let at = line.flows[0];
        let list = &mut self.lists[at as usize];
        list.swap_remove(place as usize);
        let moved = list.get(place as usize).copied();
        if list.len() == SHORT {
            line.count = SHORT as u32;
            line.flows[..SHORT].copy_from_slice(list);
            list.clear();
            self.unused.push(at);
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Lists grow, become short and grow again.
        #[test]
        fn are_lists(steps in prop::collection::vec((0u32..3, 0usize..24, 0u32..40), 0..600)) {
            let mut members = Members::new(2);
            prop_assert_eq!(members.add_link(), 2);
            let mut plain = vec![Vec::new(); 3];
            for (flow, (link, target, place)) in (0..).zip(steps) {
                let own = &mut plain[link as usize];
                if own.len() <= target {
                    prop_assert_eq!(members.push(link, flow) as usize, own.len());
                    own.push(flow);
                } else {
                    let place = place as usize % own.len();
                    own.swap_remove(place);
                    prop_assert_eq!(members.remove(link, place as u32), own.get(place).copied());
                }
                for (link, own) in (0..).zip(&plain) {
                    prop_assert_eq!(members.of(link), &own[..]);
                    let lent = members.lend(link);
                    prop_assert_eq!(lent.flows(), &own[..]);
                    members.bring_back(lent);
                }
            }
        }
    }
}
