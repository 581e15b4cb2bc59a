//! The bytes that a host has received and its applications have not read (§4.2).

use crate::counters;
use slotline_net::node::Counters;
use slotline_net::time::Time;
use slotline_net::units::{Bytes, InverseRate, Rate};

/// A receive buffer that is read at a constant rate.
pub(super) struct ReceiveBuffer {
    size: u64,
    /// The rate at which it is read; `None` if it is read at once.
    drain: Option<InverseRate>,
    level: u64,
    at: Time,
    peak: u64,
    overflows: u64,
}

impl ReceiveBuffer {
    pub fn new(size: Bytes, drain: Option<Rate>) -> ReceiveBuffer {
        let drain = drain.map(Rate::inverse_rate);
        ReceiveBuffer { size: size.0, drain, level: 0, at: Time::ZERO, peak: 0, overflows: 0 }
    }
    fn read(&mut self, now: Time) {
        let Some(pace) = self.drain else {
            self.level = 0;
            return;
        };
        let read = pace.bytes_in(now.since(self.at)).min(self.level);
        self.level -= read;
        // Time in which less than a byte was read counts for the next byte.
        self.at = if self.level == 0 { now } else { self.at.after(pace.time_for(read)) };
    }
    /// Whether it can fill, because it is not read at once.
    pub fn fills(&self) -> bool {
        self.drain.is_some()
    }
    /// The number of free bytes.
    pub fn free(&mut self, now: Time) -> u64 {
        self.read(now);
        self.size - self.level
    }
    /// Takes a packet, if there is room. Returns whether there was.
    pub fn take(&mut self, bytes: u64, now: Time) -> bool {
        let fits = bytes <= self.free(now);
        if fits {
            self.level += bytes;
            self.peak = self.peak.max(self.level);
        } else {
            self.overflows += 1;
        }
        fits
    }
    pub fn add_counters(&self, counters: &mut Counters) {
        counters.add(counters::RECEIVE_BUFFER_PEAK_BYTES, self.peak);
        counters.add(counters::RECEIVE_BUFFER_OVERFLOWS, self.overflows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_makes_room() {
        let mut buffer = ReceiveBuffer::new(Bytes(3_000), Some(Rate(8_000_000)));
        assert!(buffer.take(2_000, Time::ZERO));
        assert!(!buffer.take(1_500, Time::us(100)), "a byte per microsecond is read");
        assert_eq!(buffer.free(Time::us(500)), 1_500);
        assert!(buffer.take(1_500, Time::us(500)));
        assert_eq!(buffer.free(Time::ms(10)), 3_000);
        let mut counters = Counters::default();
        buffer.add_counters(&mut counters);
        let counts: Vec<_> = counters.all().map(|(counter, value)| (counter.name, value)).collect();
        assert_eq!(counts, [("receive_buffer_overflows", 1), ("receive_buffer_peak_bytes", 3_000)]);
    }

    #[test]
    fn a_buffer_that_is_read_at_once_takes_all() {
        let mut buffer = ReceiveBuffer::new(Bytes(2_000), None);
        assert!((0..9).all(|_| buffer.take(2_000, Time::ZERO)));
    }
}
