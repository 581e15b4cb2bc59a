//! A packet buffer shared by the ports of a switch, under dynamic thresholds.

use crate::aqm::spec::SharedSpec;

/// Counts the bytes in a shared buffer. A queue may hold at most `alpha` times the free bytes (Choudhury and Hahne
/// 1998). A few busy queues may be long, and many must be short. Some space always stays free for a new queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Buffer {
    total: u64,
    alpha: f64,
    used: u64,
}

impl Buffer {
    /// An empty buffer. Without `spec` it is never full.
    pub fn new(spec: Option<SharedSpec>) -> Buffer {
        let (total, alpha) = spec.map_or((i64::MAX as u64, 1.0), |spec| (spec.total.0, spec.alpha));
        Buffer { total, alpha, used: 0 }
    }

    /// Whether a queue that holds `queue` bytes may take `len` more.
    #[inline]
    pub fn admits(&self, queue: u64, len: u64) -> bool {
        let free = self.total - self.used;
        // Signed numbers are converted by one instruction.
        let float = |bytes: u64| bytes as i64 as f64;
        len <= free && float(queue + len) <= self.alpha * float(free)
    }

    /// Takes room for `len` bytes that were admitted.
    pub fn take(&mut self, len: u64) {
        self.used += len;
    }

    /// Gives back room for `len` bytes.
    pub fn release(&mut self, len: u64) {
        self.used -= len;
    }

    /// Bytes taken.
    pub fn used(&self) -> u64 {
        self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    fn buffer(total: u64, alpha: f64) -> Buffer {
        Buffer::new(Some(SharedSpec { total: Bytes(total), alpha }))
    }

    /// Fills `queues` in turn until none may grow. Returns their common length.
    fn fill(queues: usize, total: u64, alpha: f64) -> u64 {
        let mut buffer = buffer(total, alpha);
        let mut lengths = vec![0; queues];
        loop {
            let before = buffer.used();
            for length in &mut lengths {
                if buffer.admits(*length, 1) {
                    buffer.take(1);
                    *length += 1;
                }
            }
            if buffer.used() == before {
                return lengths[0];
            }
        }
    }

    /// In equilibrium each of n queues holds alpha · total / (1 + n · alpha): equation (2) of the paper.
    #[test]
    fn busy_queues_settle_at_the_published_length() {
        for (queues, alpha) in [(1, 1.0), (2, 1.0), (4, 0.5), (10, 2.0), (3, 8.0)] {
            let want = alpha * 60_000.0 / (1.0 + queues as f64 * alpha);
            let got = fill(queues, 60_000, alpha) as f64;
            assert!((got - want).abs() <= 1.0 + alpha, "{queues} {alpha}: {got} for {want}");
        }
    }

    #[test]
    fn never_beyond_the_buffer() {
        let mut buffer = buffer(1_000, 100.0);
        buffer.take(900);
        assert!(buffer.admits(900, 100) && !buffer.admits(900, 101));
        buffer.release(1);
        assert!(buffer.admits(899, 101));
    }
}
