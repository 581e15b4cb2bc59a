//! Path selection: batches in, packets with their paths out. Batches do not depend on one another.

use super::Permit;
use super::message::{Inlet, Outlet};
use super::stage::{Stage, Step};
use slotline_net::control::fastpass::{Choice, Grant, PathSelector, by_slot};

/// One of the path selections: it has every so-manieth batch.
pub(super) struct Selection<'a> {
    selector: PathSelector,
    racks: &'a [u16],
    port_of: &'a [u16],
    /// From each way.
    grants: Vec<Inlet>,
    /// To each port.
    permits: Vec<Outlet>,
    /// The next batch, and by how many the one after it is later.
    batch: usize,
    stride: usize,
    work: Work,
}

/// Kept so that nothing is allocated per batch.
struct Work {
    grants: Vec<Grant>,
    slots: Box<[Vec<(u16, u16)>; 64]>,
    ends: Vec<(u16, u16)>,
    choices: Vec<Choice>,
}

impl Stage for Selection<'_> {
    fn step(&mut self) -> Step {
        let pulled = self.grants.iter_mut().fold(false, |any, inlet| inlet.pull() | any);
        let flushed = self.permits.iter_mut().fold(false, |any, outlet| outlet.flush() | any);
        if self.select() {
            return Step::Moved;
        }
        let ways = self.grants.len();
        let over = self.grants[self.batch % ways].is_over();
        if over && self.permits.iter().all(Outlet::is_empty) {
            return Step::Done;
        }
        Step::moved(pulled | flushed)
    }
}

impl<'a> Selection<'a> {
    pub(super) fn new(
        (batch, stride): (usize, usize),
        selector: PathSelector,
        (racks, port_of): (&'a [u16], &'a [u16]),
        grants: Vec<Inlet>,
        permits: Vec<Outlet>,
    ) -> Selection<'a> {
        let work = Work {
            grants: Vec::new(),
            slots: Box::new(std::array::from_fn(|_| Vec::new())),
            ends: Vec::new(),
            choices: Vec::new(),
        };
        Selection { selector, racks, port_of, grants, permits, batch, stride, work }
    }
    /// Handles the next batch, if it has arrived.
    fn select(&mut self) -> bool {
        let Selection { grants: inlets, permits, work, .. } = self;
        let ways = inlets.len();
        let Some(words) = inlets[self.batch % ways].receive() else { return false };
        let grant =
            |&[ends, slots]: &[u64; 2]| Grant { src: (ends >> 16) as u16, dst: ends as u16, slots };
        work.grants.clear();
        work.grants.extend(words.as_chunks().0.iter().map(grant));
        by_slot(&work.grants, &mut work.slots);
        permits.iter_mut().for_each(|outlet| {
            outlet.begin();
        });
        for slot in 0..64 {
            self.slot(slot);
        }
        self.permits.iter_mut().for_each(Outlet::end);
        self.batch += self.stride;
        true
    }
    fn slot(&mut self, slot: usize) {
        let Selection { selector, racks, port_of, permits, work, .. } = self;
        let rack = |endpoint: u16| racks[usize::from(endpoint)];
        let packets = &work.slots[slot];
        work.ends.clear();
        work.ends.extend(packets.iter().map(|&(src, dst)| (rack(src), rack(dst))));
        selector.select(&work.ends, &mut work.choices).expect("the racks were checked");
        for (&(src, dst), &choice) in packets.iter().zip(&work.choices) {
            let word = Permit::new(src, dst, slot as u8, choice).to_word();
            permits[usize::from(port_of[usize::from(src)])].message().push(word);
        }
    }
}
