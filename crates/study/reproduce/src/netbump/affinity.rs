//! The pipeline beside programs that use all processors, with and without a processor of its own.

use slotline_bench::bump::{BATCH, delays};
use slotline_lab::usage::stay_on;
use std::hint::spin_loop;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{available_parallelism, scope};

/// Who gets which processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Processors {
    /// The system's scheduler decides.
    Shared,
    /// The pipeline has the first one, and the other programs have the others.
    Reserved,
}

/// The number of processors that this program may use.
pub(super) fn processors() -> usize {
    available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Seconds of each batch of frames in the pipeline, while as many threads as there are processors do nothing but use them.
pub(super) fn batches_beside_load(batches: usize, given: Processors) -> Vec<f64> {
    let done = AtomicBool::new(false);
    let all = processors();
    scope(|scope| {
        for nth in 0..all {
            let done = &done;
            scope.spawn(move || {
                if given == Processors::Reserved {
                    stay_on(1 + nth % (all - 1).max(1));
                }
                while !done.load(Ordering::Relaxed) {
                    spin_loop();
                }
            });
        }
        let pipeline = scope.spawn(|| {
            if given == Processors::Reserved {
                stay_on(0);
            }
            let shares = delays(batches);
            done.store(true, Ordering::Relaxed);
            shares
        });
        let shares = pipeline.join().unwrap_or_default();
        done.store(true, Ordering::Relaxed);
        shares.into_iter().map(|share| share * BATCH as f64).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_batch_has_a_time() {
        for given in [Processors::Shared, Processors::Reserved] {
            let times = batches_beside_load(200, given);
            assert_eq!(times.len(), 200, "{given:?}");
            assert!(times.iter().all(|time| *time > 0.0), "{given:?}");
        }
    }
}
