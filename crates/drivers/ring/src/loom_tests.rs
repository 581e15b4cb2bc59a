//! Every interleaving of two threads, every value that a relaxed load may return.
//!
//! The rings are smaller than what goes through them, so that places are used again.

use super::*;
use loom::thread;

const RECORD: fn(u64) -> [u64; 2] = |i| [i, !i];

/// Takes out until the end, `most` at a time. Loom has to be told where a thread waits.
fn drain(mut consumer: Consumer<2>, most: usize) -> Vec<[u64; 2]> {
    let mut out = Vec::new();
    while !consumer.is_finished() {
        if consumer.pop(&mut out, most) == 0 {
            thread::yield_now();
        }
    }
    out
}

/// Puts in so many records, `slice` at a time, and ends.
fn fill(mut producer: Producer<2>, records: u64, slice: usize) {
    let all: Vec<_> = (1..=records).map(RECORD).collect();
    let mut rest = &all[..];
    while !rest.is_empty() {
        let pushed = producer.push(&rest[..slice.min(rest.len())]);
        rest = &rest[pushed..];
        if pushed == 0 {
            thread::yield_now();
        }
    }
}

/// Nothing is lost, doubled, reordered or torn, and the end is seen.
fn all_arrive(capacity: usize, records: u64, slice: usize, most: usize) {
    loom::model(move || {
        let (producer, consumer) = ring(capacity);
        let filling = thread::spawn(move || fill(producer, records, slice));
        let out = drain(consumer, most);
        filling.join().unwrap();
        assert_eq!(out, (1..=records).map(RECORD).collect::<Vec<_>>());
    });
}

#[test]
fn one_place() {
    all_arrive(1, 3, 1, 1);
}

#[test]
fn slices_over_the_end_of_the_memory() {
    all_arrive(2, 4, 2, 2);
}

#[test]
fn slices_longer_than_the_ring() {
    all_arrive(2, 3, 3, 1);
}

#[test]
fn a_slice_is_seen_as_a_whole() {
    loom::model(|| {
        let (mut producer, mut consumer) = ring(2);
        let filling = thread::spawn(move || producer.push(&[RECORD(1), RECORD(2)]));
        let mut out = Vec::new();
        let count = consumer.pop(&mut out, 2);
        assert!(count == 0 || out == [RECORD(1), RECORD(2)], "{out:?}");
        assert_eq!(filling.join().unwrap(), 2);
    });
}

#[test]
fn a_consumer_that_is_gone_is_noticed() {
    loom::model(|| {
        let (mut producer, mut consumer) = ring(1);
        let taking = thread::spawn(move || consumer.pop(&mut Vec::new(), 1));
        while !producer.is_abandoned() {
            producer.push(&[RECORD(1)]);
            thread::yield_now();
        }
        assert!(taking.join().unwrap() <= 1);
    });
}

/// Two rings in a circle, as allocation cores have them: each hands over and takes in.
#[test]
fn a_circle_exchanges() {
    loom::model(|| {
        let ((to_other, from_here), (to_here, from_other)) = (ring(1), ring(1));
        let swap = |mut to: Producer<1>, mut from: Consumer<1>, mine: u64| {
            assert_eq!(to.push(&[[mine]]), 1);
            let mut got = Vec::new();
            while from.pop(&mut got, 1) == 0 {
                thread::yield_now();
            }
            got[0][0]
        };
        let other = thread::spawn(move || swap(to_here, from_here, 2));
        assert_eq!(swap(to_other, from_other, 1), 2);
        assert_eq!(other.join().unwrap(), 1);
    });
}
