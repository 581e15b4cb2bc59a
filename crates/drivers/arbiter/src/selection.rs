//! The path selection stage: assigns paths to the packets of a batch. Batches do not depend on one another.

use super::Permit;
use super::message::{Receiver, Sender};
use super::stage::{Stage, Step};
use slotline_fastpass::{BySlot, Choice, Grant, PathSelector};

/// One of the path selections. It handles every `stride`-th batch.
pub(super) struct Selection<'a> {
    selector: PathSelector,
    racks: &'a [u16],
    port_of: &'a [u16],
    /// From each partition.
    grants: Vec<Receiver>,
    /// To each port.
    permits: Vec<Sender>,
    /// The next batch.
    batch: usize,
    /// The number of path selections.
    stride: usize,
    buffers: Buffers,
}

/// Buffers that all batches use, so that no batch allocates memory.
struct Buffers {
    slots: BySlot,
    ends: Vec<(u16, u16)>,
    choices: Vec<Choice>,
}

impl Stage for Selection<'_> {
    fn step(&mut self) -> Step {
        let polled = self.grants.iter_mut().fold(false, |any, receiver| receiver.poll() | any);
        let flushed = self.permits.iter_mut().fold(false, |any, sender| sender.flush() | any);
        if self.select() {
            return Step::Progress;
        }
        let partitions = self.grants.len();
        let closed = self.grants[self.batch % partitions].is_closed();
        if closed && self.permits.iter().all(Sender::is_empty) {
            return Step::Done;
        }
        Step::progress(polled | flushed)
    }
}

impl<'a> Selection<'a> {
    pub(super) fn new(
        batch: usize,
        stride: usize,
        selector: PathSelector,
        racks: &'a [u16],
        port_of: &'a [u16],
        grants: Vec<Receiver>,
        permits: Vec<Sender>,
    ) -> Selection<'a> {
        let buffers =
            Buffers { slots: BySlot::new(racks.len()), ends: Vec::new(), choices: Vec::new() };
        Selection { selector, racks, port_of, grants, permits, batch, stride, buffers }
    }
    /// Handles the next batch, if it has arrived.
    fn select(&mut self) -> bool {
        let Selection { grants: receivers, permits, buffers, .. } = self;
        let partitions = receivers.len();
        let Some(words) = receivers[self.batch % partitions].receive() else { return false };
        let grant =
            |&[ends, slots]: &[u64; 2]| Grant { src: (ends >> 16) as u16, dst: ends as u16, slots };
        buffers.slots.sort(words.as_chunks().0.iter().map(grant));
        permits.iter_mut().for_each(|sender| {
            sender.begin();
        });
        for slot in 0..64 {
            self.slot(slot);
        }
        self.permits.iter_mut().for_each(Sender::end);
        self.batch += self.stride;
        true
    }
    /// Assigns paths to the packets of a slot.
    fn slot(&mut self, slot: usize) {
        let Selection { selector, racks, port_of, permits, buffers, .. } = self;
        let rack = |endpoint: u16| racks[usize::from(endpoint)];
        let packets = buffers.slots.slot(slot);
        buffers.ends.clear();
        buffers.ends.extend(packets.iter().map(|&(src, dst)| (rack(src), rack(dst))));
        selector.select(&buffers.ends, &mut buffers.choices).expect("the racks were checked");
        for (&(src, dst), &choice) in packets.iter().zip(&buffers.choices) {
            let word = Permit::new(src, dst, slot as u8, choice).to_word();
            permits[usize::from(port_of[usize::from(src)])].message().push(word);
        }
    }
}
