//! Lists of links, each kept once: paths of many pairs are the same.

use crate::rng::mix32;

/// A list of links, and a remark that belongs to it.
#[derive(Clone, Copy)]
struct Place {
    start: u32,
    end: u32,
    mark: bool,
}

/// Lists by number, in the order in which they came.
pub(super) struct Lists {
    links: Vec<u32>,
    places: Vec<Place>,
    /// Numbers, each at the first free place from where its hash says; there is always a free one.
    found: Vec<u32>,
}

const FREE: u32 = u32::MAX;

impl Lists {
    pub fn new() -> Lists {
        Lists { links: Vec::new(), places: Vec::new(), found: vec![FREE; 64] }
    }
    /// The links and the mark of a list.
    #[inline]
    pub fn get(&self, number: u32) -> (&[u32], bool) {
        let Place { start, end, mark } = self.places[number as usize];
        (&self.links[start as usize..end as usize], mark)
    }
    /// The number of a list with this mark; a new one if there was none.
    pub fn number(&mut self, links: &[u32], mark: bool) -> u32 {
        let at = self.place(links, mark);
        if self.found[at] != FREE {
            return self.found[at];
        }
        let (number, start) = (self.places.len() as u32, self.links.len() as u32);
        self.links.extend_from_slice(links);
        self.places.push(Place { start, end: self.links.len() as u32, mark });
        self.found[at] = number;
        if 2 * self.places.len() > self.found.len() {
            self.grow();
        }
        number
    }
    /// Where the number of a list is, or would be.
    fn place(&self, links: &[u32], mark: bool) -> usize {
        let hash = links.iter().fold(u32::from(mark), |hash, &link| mix32(hash ^ link));
        let last = self.found.len() - 1;
        let mut at = hash as usize & last;
        while self.found[at] != FREE && self.get(self.found[at]) != (links, mark) {
            at = (at + 1) & last;
        }
        at
    }
    fn grow(&mut self) {
        self.found = vec![FREE; 4 * self.found.len()];
        for number in 0..self.places.len() as u32 {
            let (links, mark) = self.get(number);
            let at = self.place(links, mark);
            self.found[at] = number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equal_lists_have_one_number(lists in prop::collection::vec((prop::collection::vec(0u32..4, 0..4), any::<bool>()), 1..400)) {
            let mut kept = Lists::new();
            let mut known: Vec<(Vec<u32>, bool)> = Vec::new();
            for (links, mark) in lists {
                let expected = known.iter().position(|other| *other == (links.clone(), mark));
                let expected = expected.unwrap_or(known.len());
                prop_assert_eq!(kept.number(&links, mark) as usize, expected);
                if expected == known.len() {
                    known.push((links, mark));
                }
            }
            for (at, (links, mark)) in known.iter().enumerate() {
                prop_assert_eq!(kept.get(at as u32), (&links[..], *mark));
            }
        }
    }
}
