//! The packets of an epoch that were received.

/// The set of received packets: the highest number, and a vector for the numbers before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Acks {
    /// Highest number received, or 0 if there is none.
    pub highest: u64,
    /// Bit i is set if number `highest - 1 - i` was received.
    pub before: u64,
}

impl Acks {
    /// Whether this packet was received. The result is false for a packet that is too old for the vector.
    pub const fn has(&self, number: u64) -> bool {
        match self.highest.checked_sub(number) {
            _ if number == 0 => false,
            Some(0) => true,
            Some(back @ 1..=64) => self.before >> (back - 1) & 1 == 1,
            _ => false,
        }
    }
    /// Whether this packet is too old for the vector.
    pub const fn forgot(&self, number: u64) -> bool {
        self.highest > 64 && number < self.highest - 64
    }
    /// Adds a packet. Returns false and changes nothing if the packet is known already or too old.
    pub const fn note(&mut self, number: u64) -> bool {
        if number == 0 || self.has(number) || self.forgot(number) {
            return false;
        }
        if number < self.highest {
            self.before |= 1 << (self.highest - 1 - number);
            return true;
        }
        let ahead = number - self.highest;
        let first = self.highest > 0;
        self.before = match ahead {
            1..=63 => self.before << ahead | (first as u64) << (ahead - 1),
            64 => (first as u64) << 63,
            _ => 0,
        };
        self.highest = number;
        true
    }
}
