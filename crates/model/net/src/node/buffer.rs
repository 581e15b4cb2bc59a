//! A packet buffer shared by the ports of a switch, under dynamic thresholds.

use crate::aqm::spec::SharedSpec;
use crate::time::Time;
use crate::units::InverseRate;

/// Counts the bytes in a shared buffer. A queue may hold at most `alpha` times the free bytes (Choudhury and Hahne
/// 1998). A few busy queues may be long, and many must be short. Some space always stays free for a new queue.
///
/// Bytes are in the buffer until they are sent, also those of a packet that has begun to leave. Its ports know how many
/// these are at a time, but need not say so for each packet: the buffer keeps a number that is not smaller, and asks for
/// the exact one only if a packet would be refused otherwise.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Buffer {
    total: u64,
    alpha: f64,
    /// Bytes of packets whose departure is not yet decided.
    waiting: u64,
    /// At least the bytes of others that are not yet sent.
    leaving: u64,
}

impl Buffer {
    /// An empty buffer.
    pub fn new(spec: SharedSpec) -> Buffer {
        Buffer { total: spec.total.0, alpha: spec.alpha, waiting: 0, leaving: 0 }
    }

    /// Whether a packet of `len` bytes may join a queue that is drained at `pace` and then needs `wait` for all its bytes.
    #[inline]
    pub fn admits(&self, len: u64, wait: Time, pace: InverseRate) -> bool {
        let free = self.total.saturating_sub(self.waiting + self.leaving);
        // Signed numbers are converted by one instruction.
        let most = ((self.alpha * free as i64 as f64) as i64 as u64).min(self.total);
        len <= free && wait <= pace.time_for(most)
    }

    /// As [`Buffer::admits`], with the exact number of bytes that do not wait and are not yet sent, if that matters.
    #[inline]
    pub fn has_room(
        &mut self,
        len: u64,
        (wait, pace): (Time, InverseRate),
        leaving: impl FnOnce() -> u64,
    ) -> bool {
        self.admits(len, wait, pace) || self.has_exactly(len, (wait, pace), leaving())
    }

    #[cold]
    #[inline(never)]
    fn has_exactly(&mut self, len: u64, (wait, pace): (Time, InverseRate), leaving: u64) -> bool {
        self.set_leaving(leaving);
        self.admits(len, wait, pace)
    }

    /// Adds a packet that waits.
    #[inline]
    pub fn wait(&mut self, len: u64) {
        self.waiting += len;
    }

    /// Removes a packet that waits.
    #[inline]
    pub fn release(&mut self, len: u64) {
        self.waiting -= len;
    }

    /// Adds a packet that begins to leave, or whose departure is decided.
    #[inline]
    pub fn leave(&mut self, len: u64) {
        self.leaving += len;
    }

    /// So many bytes that do not wait are not yet sent.
    pub fn set_leaving(&mut self, bytes: u64) {
        self.leaving = bytes;
    }

    /// Bytes of packets that wait.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bytes, Rate};

    const PACE: Rate = Rate(10_000_000_000);

    fn buffer(total: u64, alpha: f64) -> Buffer {
        Buffer::new(SharedSpec { total: Bytes(total), alpha })
    }

    /// Whether a queue that holds `queue` bytes may take `len` more.
    fn admits(buffer: &Buffer, queue: u64, len: u64) -> bool {
        buffer.admits(len, PACE.time_for(Bytes(queue + len)), PACE.inverse_rate())
    }

    /// Fills `queues` in turn until none may grow. Returns their common length.
    fn fill(queues: usize, total: u64, alpha: f64) -> u64 {
        let mut buffer = buffer(total, alpha);
        let mut lengths = vec![0; queues];
        loop {
            let before = buffer.waiting();
            for length in &mut lengths {
                if admits(&buffer, *length, 1) {
                    buffer.wait(1);
                    *length += 1;
                }
            }
            if buffer.waiting() == before {
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
    fn a_factor_may_be_as_large_as_it_likes() {
        let buffer = buffer(1_000, 1e300);
        assert!(admits(&buffer, 0, 1_000) && !admits(&buffer, 0, 1_001));
    }

    #[test]
    fn never_beyond_the_buffer() {
        let mut buffer = buffer(1_000, 100.0);
        buffer.wait(500);
        buffer.leave(400);
        assert!(admits(&buffer, 900, 100) && !admits(&buffer, 900, 101));
        buffer.release(1);
        assert!(admits(&buffer, 899, 101));
        buffer.set_leaving(300);
        assert!(admits(&buffer, 799, 201) && !admits(&buffer, 799, 202));
    }
}
