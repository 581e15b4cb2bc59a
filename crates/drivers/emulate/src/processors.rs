//! Assigns processors: one runs the network, and the others receive packets for hosts. If there is only one, it does
//! both. Also the time for which a thread uses its processor.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// The processors that this thread may use: the network's, and all others. `None` if there is only one.
fn shares() -> Option<(usize, Vec<usize>)> {
    let allowed = sched_getaffinity(None).ok()?;
    let mut all: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    let network = all.pop()?;
    (!all.is_empty()).then_some((network, all))
}

/// The other processors in the format of the kernel's files: hexadecimal, in groups of 32 bits.
pub(crate) fn receivers() -> Option<String> {
    let (_, others) = shares()?;
    Some(mask(&others))
}

fn mask(processors: &[usize]) -> String {
    let groups = processors.iter().max().map_or(1, |most| most / 32 + 1);
    let mut bits = vec![0u32; groups];
    processors.iter().for_each(|cpu| bits[cpu / 32] |= 1 << (cpu % 32));
    bits.iter().rev().map(|group| format!("{group:08x}")).collect::<Vec<_>>().join(",")
}

/// Pins its thread to the network's processor while it exists.
pub(crate) struct Pinned(Option<CpuSet>);

impl Pinned {
    /// Pins the present thread. If that is not permitted, nothing changes.
    pub(crate) fn here() -> Pinned {
        let pin = || {
            let before = sched_getaffinity(None).ok()?;
            let mut own = CpuSet::new();
            own.set(shares()?.0);
            sched_setaffinity(None, &own).ok()?;
            Some(before)
        };
        Pinned(pin())
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // On failure the thread stays on its processor.
            let _ = sched_setaffinity(None, before);
        }
    }
}

/// A span as a fraction of the time since `began`.
pub(crate) fn share(span: Duration, began: Instant) -> f64 {
    span.as_secs_f64() / began.elapsed().as_secs_f64().max(1e-9)
}

/// Processor time of this thread.
pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_processors_as_the_kernel_writes_them() {
        assert_eq!(mask(&[1]), "00000002");
        assert_eq!(mask(&[0, 33]), "00000002,00000001");
    }

    #[test]
    fn a_pinned_thread_is_free_again() {
        let before = sched_getaffinity(None).unwrap();
        drop(Pinned::here());
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}
