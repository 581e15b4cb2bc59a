//! A bounded ring between two threads: one puts records in, the other takes them out, in order, without
//! locks.
//!
//! A record is `W` words of 64 bits. Records go in and out in slices, and a slice costs two accesses to
//! memory that both threads write, however long it is: a hand-over is cheap per record. Either end says
//! that it is gone by being dropped.
//!
//! The words lie in atomics of their own, so all of this is safe Rust; relaxed loads and stores of them
//! are plain moves. What orders them is one position on each side: the producer publishes what it wrote
//! by a release of its position, the consumer frees what it read by a release of its own.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p slotline-ring` tries every order in which two threads can
//! interleave (on small cases) instead of the order that the machine happens to give.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(all(loom, test))]
use loom::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};
#[cfg(not(all(loom, test)))]
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

/// On cache lines of its own. Two of 64 bytes, as processors fetch them in pairs.
#[repr(align(128))]
struct Apart<T>(T);

/// What one side tells the other.
struct Side {
    /// Records put in, or taken out, since the beginning; it wraps.
    position: AtomicUsize,
    gone: AtomicBool,
}

impl Side {
    fn new() -> Apart<Side> {
        Apart(Side { position: AtomicUsize::new(0), gone: AtomicBool::new(false) })
    }
}

struct Shared<const W: usize> {
    /// As many as a power of two.
    records: Box<[[AtomicU64; W]]>,
    producer: Apart<Side>,
    consumer: Apart<Side>,
}

impl<const W: usize> Shared<W> {
    /// The places of `count` records from a position on: before and after the end of the memory.
    fn places(&self, from: usize, count: usize) -> (&[[AtomicU64; W]], &[[AtomicU64; W]]) {
        let from = from & (self.records.len() - 1);
        let first = count.min(self.records.len() - from);
        (&self.records[from..from + first], &self.records[..count - first])
    }
}

/// Fills the places with the first records.
#[inline]
fn write<const W: usize>(places: &[[AtomicU64; W]], records: &[[u64; W]]) {
    for (place, record) in places.iter().zip(records) {
        for i in 0..W {
            place[i].store(record[i], Ordering::Relaxed);
        }
    }
}

#[inline]
fn read<const W: usize>(place: &[AtomicU64; W]) -> [u64; W] {
    let mut record = [0; W];
    for i in 0..W {
        record[i] = place[i].load(Ordering::Relaxed);
    }
    record
}

/// The end that puts records in.
pub struct Producer<const W: usize> {
    shared: Arc<Shared<W>>,
    position: usize,
    /// The consumer's position when it was last looked at.
    taken: usize,
}

/// The end that takes records out.
pub struct Consumer<const W: usize> {
    shared: Arc<Shared<W>>,
    position: usize,
    /// The producer's position when it was last looked at.
    published: usize,
}

/// A ring for at least `capacity` records: the next power of two.
pub fn ring<const W: usize>(capacity: usize) -> (Producer<W>, Consumer<W>) {
    let records = capacity.max(1).next_power_of_two();
    let empty = || std::array::from_fn(|_| AtomicU64::new(0));
    let shared = Arc::new(Shared {
        records: std::iter::repeat_with(empty).take(records).collect(),
        producer: Side::new(),
        consumer: Side::new(),
    });
    let producer = Producer { shared: Arc::clone(&shared), position: 0, taken: 0 };
    (producer, Consumer { shared, position: 0, published: 0 })
}

impl<const W: usize> Producer<W> {
    /// Puts in as many of the records as there is room for, the first ones; returns how many these are.
    /// The other thread sees all of them at once.
    pub fn push(&mut self, records: &[[u64; W]]) -> usize {
        let count = records.len().min(self.room(records.len()));
        if count == 0 {
            return 0;
        }
        let (first, second) = self.shared.places(self.position, count);
        write(first, records);
        write(second, &records[first.len()..]);
        self.position = self.position.wrapping_add(count);
        self.shared.producer.0.position.store(self.position, Ordering::Release);
        count
    }
    /// Whether the other end was dropped: nobody will take anything out any more.
    pub fn is_abandoned(&self) -> bool {
        self.shared.consumer.0.gone.load(Ordering::Acquire)
    }
    /// Records that fit. The consumer's position is read only where the last one does not suffice: it
    /// lies in the other processor's cache.
    fn room(&mut self, wanted: usize) -> usize {
        let room = |taken| self.shared.records.len() - self.position.wrapping_sub(taken);
        if room(self.taken) < wanted {
            self.taken = self.shared.consumer.0.position.load(Ordering::Acquire);
        }
        room(self.taken)
    }
}

impl<const W: usize> Consumer<W> {
    /// Takes out what there is, at most `most` records, and appends it to `out`; returns how many
    /// records these are.
    pub fn pop(&mut self, out: &mut Vec<[u64; W]>, most: usize) -> usize {
        let count = most.min(self.ready(most));
        if count == 0 {
            return 0;
        }
        let (first, second) = self.shared.places(self.position, count);
        out.extend(first.iter().map(read));
        out.extend(second.iter().map(read));
        self.position = self.position.wrapping_add(count);
        self.shared.consumer.0.position.store(self.position, Ordering::Release);
        count
    }
    /// Whether the other end was dropped and all that it had put in is taken out.
    pub fn is_finished(&mut self) -> bool {
        // In this order: what was put in before the end is seen once the end is.
        self.shared.producer.0.gone.load(Ordering::Acquire) && self.ready(usize::MAX) == 0
    }
    fn ready(&mut self, wanted: usize) -> usize {
        if self.published.wrapping_sub(self.position) < wanted {
            self.published = self.shared.producer.0.position.load(Ordering::Acquire);
        }
        self.published.wrapping_sub(self.position)
    }
}

impl<const W: usize> Drop for Producer<W> {
    fn drop(&mut self) {
        self.shared.producer.0.gone.store(true, Ordering::Release);
    }
}

impl<const W: usize> Drop for Consumer<W> {
    fn drop(&mut self) {
        self.shared.consumer.0.gone.store(true, Ordering::Release);
    }
}

#[cfg(all(loom, test))]
mod loom_tests;
#[cfg(all(not(loom), test))]
mod tests;
