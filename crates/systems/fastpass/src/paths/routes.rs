//! Path selection in any topology: a greedy choice among the candidate routes of each pair.
//!
//! Each directed link has one word per packet that it carries in a slot. The word says in which slots of the
//! batch this place is free. A grant takes the route that is free in most of its slots, then the next, until
//! all slots are placed or no route is free. Slots that are not placed become demand again. Unlike the
//! selectors for trees of full bandwidth, this selector may leave slots unplaced that another choice could
//! place.

/// The reason why a selector cannot be made or a grant cannot be placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RouteError {
    /// A link without room.
    #[error("link {0} has room for no packet, but a link has to carry at least one per slot")]
    Room(usize),
    /// A link that does not exist.
    #[error("link {link} does not exist; there are {links}, counted from 0")]
    Link {
        /// Its number.
        link: u32,
        /// How many there are.
        links: usize,
    },
    /// A link twice on one route.
    #[error("a route goes over link {0} twice")]
    Twice(u32),
}

/// Chooses routes, a batch of 64 timeslots at a time.
#[derive(Clone, Debug)]
pub struct RouteSelector {
    /// The first word of each link; the last element is the number of all words.
    first: Vec<u32>,
    free: Vec<u64>,
    works: Vec<bool>,
}

impl RouteSelector {
    /// Makes a selector for directed links with these numbers of packets per slot.
    ///
    /// # Errors
    /// A link has no room.
    pub fn new(rooms: &[u16]) -> Result<RouteSelector, RouteError> {
        if let Some(link) = rooms.iter().position(|&room| room == 0) {
            return Err(RouteError::Room(link));
        }
        let ends = rooms.iter().scan(0, |sum, &room| {
            *sum += u32::from(room);
            Some(*sum)
        });
        let first: Vec<u32> = std::iter::once(0).chain(ends).collect();
        let free = vec![!0; first[rooms.len()] as usize];
        Ok(RouteSelector { first, free, works: vec![true; rooms.len()] })
    }
    fn links(&self) -> usize {
        self.works.len()
    }
    fn words(&self, link: u32) -> std::ops::Range<usize> {
        self.first[link as usize] as usize..self.first[link as usize + 1] as usize
    }
    /// Sets whether a link works, from the next batch on.
    ///
    /// # Errors
    /// The link does not exist.
    pub fn set_link(&mut self, link: u32, works: bool) -> Result<(), RouteError> {
        let links = self.links();
        *self.works.get_mut(link as usize).ok_or(RouteError::Link { link, links })? = works;
        Ok(())
    }
    /// Begins a batch: all slots are free on all links that work.
    pub fn begin_batch(&mut self) {
        for link in 0..self.links() {
            let words = self.words(link as u32);
            self.free[words].fill(if self.works[link] { !0 } else { 0 });
        }
    }
    /// Places the slots of one grant on these routes, given as links. Appends to `parts` each used route with
    /// its slots. Returns the slots that no route has room for. An empty route always has room.
    ///
    /// # Errors
    /// A link does not exist or occurs twice on a route; nothing is placed then.
    pub fn place<R: AsRef<[u32]>>(
        &mut self,
        routes: &[R],
        slots: u64,
        parts: &mut Vec<(u32, u64)>,
    ) -> Result<u64, RouteError> {
        routes.iter().try_for_each(|route| self.check(route.as_ref()))?;
        let mut rest = slots;
        while rest != 0 {
            let free = |(at, route): (usize, &R)| (at, self.free_on(route.as_ref()) & rest);
            // The first of several routes that are equally free is chosen.
            let all = routes.iter().enumerate().rev();
            let best = all.map(free).max_by_key(|(_, free)| free.count_ones());
            let Some((at, placed)) = best.filter(|&(_, free)| free != 0) else { break };
            for &link in routes[at].as_ref() {
                self.take(link, placed);
            }
            parts.push((at as u32, placed));
            rest ^= placed;
        }
        Ok(rest)
    }
    fn check(&self, route: &[u32]) -> Result<(), RouteError> {
        let links = self.links();
        for (at, &link) in route.iter().enumerate() {
            if link as usize >= links {
                return Err(RouteError::Link { link, links });
            }
            if route[..at].contains(&link) {
                return Err(RouteError::Twice(link));
            }
        }
        Ok(())
    }
    /// The slots in which all links of a route have room.
    fn free_on(&self, route: &[u32]) -> u64 {
        let any = |&link: &u32| self.free[self.words(link)].iter().fold(0, |any, word| any | word);
        route.iter().map(any).fold(!0, |all, link| all & link)
    }
    fn take(&mut self, link: u32, slots: u64) {
        let words = self.words(link);
        let mut rest = slots;
        for word in &mut self.free[words] {
            let here = rest & *word;
            *word ^= here;
            rest ^= here;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// The naive checker, slot by slot: no link carries more than its room, no failed link is used, and
        /// unplaced slots have no free route left.
        #[test]
        fn no_link_carries_more_than_it_can(
            rooms in prop::collection::vec(1u16..4, 1..12),
            dead in prop::collection::vec(0usize..12, 0..3),
            grants in prop::collection::vec(
                (prop::collection::vec(prop::collection::btree_set(0u32..12, 1..5), 0..5), any::<u64>(), any::<u64>()),
                1..40,
            ),
        ) {
            let mut selector = RouteSelector::new(&rooms).unwrap();
            let links = rooms.len() as u32;
            let works = |link: u32| !dead.iter().any(|&dead| dead as u32 % links == link);
            (0..links).for_each(|link| selector.set_link(link, works(link)).unwrap());
            for _ in 0..2 {
                selector.begin_batch();
                let mut carried = BTreeMap::<(u32, u32), u16>::new();
                for (routes, a, b) in &grants {
                    let routes: Vec<Vec<u32>> = routes
                        .iter()
                        .map(|r| r.iter().map(|link| link % links).collect::<std::collections::BTreeSet<_>>().into_iter().collect())
                        .collect();
                    let (slots, mut parts) = (a & b, Vec::new());
                    let rest = selector.place(&routes, slots, &mut parts).unwrap();
                    let placed = parts.iter().fold(rest, |all, &(_, part)| {
                        assert_eq!(all & part, 0, "a slot is placed once");
                        all | part
                    });
                    prop_assert_eq!(placed, slots);
                    for (route, part) in parts {
                        for slot in (0..64).filter(|slot| part >> slot & 1 == 1) {
                            for &link in &routes[route as usize] {
                                let packets = carried.entry((slot, link)).or_default();
                                *packets += 1;
                                prop_assert!(works(link) && *packets <= rooms[link as usize]);
                            }
                        }
                    }
                    for slot in (0..64).filter(|slot| rest >> slot & 1 == 1) {
                        let room = |&link: &u32| {
                            let packets = carried.get(&(slot, link)).copied().unwrap_or(0);
                            works(link) && packets < rooms[link as usize]
                        };
                        prop_assert!(!routes.iter().any(|route| route.iter().all(room)));
                    }
                }
            }
        }
    }

    #[test]
    fn what_does_not_exist_is_refused() {
        assert_eq!(RouteSelector::new(&[1, 0]).unwrap_err(), RouteError::Room(1));
        let mut selector = RouteSelector::new(&[1, 1]).unwrap();
        let missing = RouteError::Link { link: 2, links: 2 };
        assert_eq!(selector.set_link(2, false), Err(missing));
        let mut parts = Vec::new();
        assert_eq!(selector.place(&[vec![0], vec![2]], 1, &mut parts), Err(missing));
        assert_eq!(selector.place(&[[0, 0]], 1, &mut parts), Err(RouteError::Twice(0)));
        assert!(parts.is_empty());
        assert_eq!(selector.place(&[[0, 1]], 5, &mut parts), Ok(0));
        assert_eq!(parts, [(0, 5)]);
    }
}
