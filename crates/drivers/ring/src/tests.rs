use super::*;
use std::collections::VecDeque;
use std::thread;

/// A stream of numbers, never zero.
fn random(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed * 2 + 1;
    move |below| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) as usize % below
    }
}

/// Against a queue that does the same, in one thread: any slices, any capacity.
#[test]
fn behaves_like_a_queue() {
    for seed in 0..200 {
        let mut draw = random(seed);
        let capacity = 1 + draw(9);
        let (mut producer, mut consumer) = ring::<2>(capacity);
        let places = capacity.next_power_of_two();
        let (mut queue, mut next) = (VecDeque::<[u64; 2]>::new(), 0);
        for _ in 0..200 {
            let slice: Vec<[u64; 2]> = (next..).map(|i| [i, !i]).take(draw(12)).collect();
            let pushed = producer.push(&slice);
            assert_eq!(pushed, slice.len().min(places - queue.len()));
            queue.extend(&slice[..pushed]);
            next += pushed as u64;
            let (mut out, most) = (vec![[7, 7]], draw(12));
            let popped = consumer.pop(&mut out, most);
            assert_eq!(popped, most.min(queue.len()));
            assert_eq!(out[0], [7, 7]);
            assert_eq!(out[1..], queue.drain(..popped).collect::<Vec<_>>());
            assert!(!consumer.is_finished());
        }
        drop(producer);
        assert_eq!(consumer.is_finished(), queue.is_empty());
        consumer.pop(&mut Vec::new(), usize::MAX);
        assert!(consumer.is_finished());
    }
}

/// Two real threads, for what loom's small cases are too small for.
#[test]
fn a_million_records_arrive_in_order() {
    const RECORDS: u64 = 1_000_000;
    let (mut producer, mut consumer) = ring::<3>(1 << 9);
    let record = |i: u64| [i, i.wrapping_mul(3), !i];
    thread::scope(|scope| {
        scope.spawn(move || {
            let (mut draw, mut sent) = (random(1), 0);
            while sent < RECORDS {
                let end = RECORDS.min(sent + 1 + draw(700) as u64);
                let slice: Vec<_> = (sent..end).map(record).collect();
                let pushed = producer.push(&slice) as u64;
                sent += pushed;
                if pushed == 0 {
                    thread::yield_now();
                }
            }
        });
        let (mut draw, mut out, mut seen) = (random(2), Vec::new(), 0);
        while !consumer.is_finished() {
            out.clear();
            if consumer.pop(&mut out, 1 + draw(700)) == 0 {
                thread::yield_now();
            }
            for got in &out {
                assert_eq!(*got, record(seen));
                seen += 1;
            }
        }
        assert_eq!(seen, RECORDS);
    });
}

#[test]
fn an_end_that_is_dropped_is_noticed() {
    let (mut producer, consumer) = ring::<1>(4);
    assert!(!producer.is_abandoned());
    drop(consumer);
    assert!(producer.is_abandoned());
    assert_eq!(producer.push(&[[1]; 9]), 4);
}
