//! Messages between stages: any number of words, numbered, through a ring that may be shorter.

use slotline_ring::{Consumer, Producer};

/// Sends messages. What does not fit into the ring waits here.
pub(super) struct Outlet {
    ring: Producer<1>,
    pending: Vec<u64>,
    /// Words of `pending` that are in the ring.
    sent: usize,
    /// Where the message begins that is being written.
    start: usize,
    number: u32,
}

/// Receives messages, in the order in which they were sent.
pub(super) struct Inlet {
    ring: Consumer<1>,
    words: Vec<[u64; 1]>,
    /// Words of `words` that were read.
    read: usize,
    number: u32,
}

/// The two ends of a way for messages.
pub(super) fn channel(capacity: usize) -> (Outlet, Inlet) {
    let (producer, consumer) = slotline_ring::ring(capacity);
    let outlet = Outlet { ring: producer, pending: Vec::new(), sent: 0, start: 0, number: 0 };
    (outlet, Inlet { ring: consumer, words: Vec::new(), read: 0, number: 0 })
}

impl Outlet {
    /// Begins a message: what is put into the result belongs to it.
    pub(super) fn begin(&mut self) -> &mut Vec<u64> {
        self.start = self.pending.len();
        self.pending.push(0);
        &mut self.pending
    }
    /// The message that was begun.
    pub(super) fn message(&mut self) -> &mut Vec<u64> {
        &mut self.pending
    }
    /// Ends the message and sends what fits.
    pub(super) fn end(&mut self) {
        let length = self.pending.len() - self.start - 1;
        self.pending[self.start] = (length as u64) << 32 | u64::from(self.number);
        self.number = self.number.wrapping_add(1);
        self.flush();
    }
    /// Sends what fits; returns whether anything did. Nothing is left for a receiver that is gone.
    pub(super) fn flush(&mut self) -> bool {
        let count = self.ring.push(self.pending[self.sent..].as_chunks().0);
        self.sent += count;
        if self.sent == self.pending.len() || self.ring.is_abandoned() {
            self.pending.clear();
            self.sent = 0;
        }
        count > 0
    }
    /// Whether all is sent.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}

impl Inlet {
    /// Takes in what there is, so that a sender never waits for long; returns whether there was anything.
    pub(super) fn pull(&mut self) -> bool {
        if self.read == self.words.len() {
            self.words.clear();
            self.read = 0;
        }
        self.ring.pop(&mut self.words, usize::MAX) > 0
    }
    /// The next message, if all of it has arrived.
    pub(super) fn receive(&mut self) -> Option<&[u64]> {
        let rest = self.words[self.read..].as_flattened();
        let (&header, rest) = rest.split_first()?;
        let message = rest.get(..(header >> 32) as usize)?;
        assert_eq!(header as u32, self.number, "a message was lost between stages");
        self.number = self.number.wrapping_add(1);
        self.read += 1 + message.len();
        Some(message)
    }
    /// Whether the sender is gone and no whole message of it is left.
    pub(super) fn is_over(&mut self) -> bool {
        let rest = self.words[self.read..].as_flattened();
        let whole = rest.split_first().is_some_and(|(&h, rest)| rest.len() >= (h >> 32) as usize);
        !whole && self.ring.is_finished()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages longer and shorter than the ring, and empty ones.
    #[test]
    fn messages_keep_their_bounds() {
        for capacity in [1, 2, 8, 64] {
            let (mut outlet, mut inlet) = channel(capacity);
            let message = |i: u64| (0..i * 7 % 20).map(|word| word * i).collect::<Vec<_>>();
            for i in 0..50 {
                outlet.begin().extend(message(i));
                outlet.end();
            }
            let mut got = 0;
            while got < 50 {
                let moved = outlet.flush() | inlet.pull();
                while let Some(words) = inlet.receive() {
                    assert_eq!(words, message(got));
                    got += 1;
                }
                assert!(moved || got == 50);
            }
            assert!(outlet.is_empty() && !inlet.is_over());
            drop(outlet);
            assert!(inlet.is_over());
        }
    }

    #[test]
    fn half_a_message_is_none() {
        let (mut outlet, mut inlet) = channel(2);
        outlet.begin().extend([1, 2, 3]);
        outlet.end();
        inlet.pull();
        assert_eq!(inlet.receive(), None);
        assert!(!inlet.is_over());
        drop(outlet);
        assert!(inlet.is_over());
    }
}
