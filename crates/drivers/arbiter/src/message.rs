//! Messages between stages. A message has a number and any number of words, possibly more than the ring holds.
//!
//! The rings are those of the crate `rtrb`.

use rtrb::{Consumer, Producer, RingBuffer};
use slotline_fastpass::Demand;

/// The sending end. Words that do not fit into the ring wait here.
pub(super) struct Sender {
    ring: Producer<u64>,
    pending: Vec<u64>,
    /// The number of words of `pending` that are in the ring already.
    sent: usize,
    /// The index in `pending` at which the current message begins.
    start: usize,
    number: u32,
}

/// The receiving end. Messages arrive in the order in which they were sent.
pub(super) struct Receiver {
    ring: Consumer<u64>,
    words: Vec<u64>,
    /// The number of words of `words` that have been read.
    read: usize,
    number: u32,
}

/// A channel whose ring holds `capacity` words, at least 1.
pub(super) fn channel(capacity: usize) -> (Sender, Receiver) {
    let (producer, consumer) = RingBuffer::new(capacity);
    let sender = Sender { ring: producer, pending: Vec::new(), sent: 0, start: 0, number: 0 };
    (sender, Receiver { ring: consumer, words: Vec::new(), read: 0, number: 0 })
}

impl Sender {
    /// Begins a message and returns the buffer to which its words are appended.
    pub(super) fn begin(&mut self) -> &mut Vec<u64> {
        self.start = self.pending.len();
        self.pending.push(0);
        &mut self.pending
    }
    /// The buffer of the message that has been begun.
    pub(super) fn message(&mut self) -> &mut Vec<u64> {
        &mut self.pending
    }
    /// Ends the message and sends the words that fit.
    pub(super) fn end(&mut self) {
        let length = self.pending.len() - self.start - 1;
        self.pending[self.start] = (length as u64) << 32 | u64::from(self.number);
        self.number = self.number.wrapping_add(1);
        self.flush();
    }
    /// Sends the words that fit; returns whether there were any. Discards all words if the receiver has
    /// been dropped.
    pub(super) fn flush(&mut self) -> bool {
        if self.pending.is_empty() {
            return false;
        }
        let (pushed, _) = self.ring.push_partial_slice(&self.pending[self.sent..]);
        let count = pushed.len();
        self.sent += count;
        if self.sent == self.pending.len() || self.ring.is_abandoned() {
            self.pending.clear();
            self.sent = 0;
        }
        count > 0
    }
    /// Whether all words are sent.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}

impl Receiver {
    /// Empties the ring, so that the sender need not wait for long; returns whether there were any words.
    pub(super) fn poll(&mut self) -> bool {
        if self.read == self.words.len() {
            self.words.clear();
            self.read = 0;
        }
        let Ok(chunk) = self.ring.read_chunk(self.ring.slots()) else { return false };
        let (first, second) = chunk.as_slices();
        self.words.extend_from_slice(first);
        self.words.extend_from_slice(second);
        let any = !chunk.is_empty();
        chunk.commit_all();
        any
    }
    /// The next message, if it has arrived completely.
    pub(super) fn receive(&mut self) -> Option<&[u64]> {
        let rest = &self.words[self.read..];
        let (&header, rest) = rest.split_first()?;
        let message = rest.get(..(header >> 32) as usize)?;
        assert_eq!(header as u32, self.number, "a message was lost between stages");
        self.number = self.number.wrapping_add(1);
        self.read += 1 + message.len();
        Some(message)
    }
    /// Whether the sender has been dropped and no complete message is left.
    pub(super) fn is_closed(&mut self) -> bool {
        let rest = &self.words[self.read..];
        let whole = rest.split_first().is_some_and(|(&h, rest)| rest.len() >= (h >> 32) as usize);
        // The order matters: a sender that has been dropped adds no words after this check.
        !whole && self.ring.is_abandoned() && self.ring.is_empty()
    }
}

/// A demand as a word. From the top: 32 bits of slots, 16 each of source and destination.
pub(super) fn demand_to_word(demand: Demand) -> u64 {
    u64::from(demand.slots) << 32 | u64::from(demand.src) << 16 | u64::from(demand.dst)
}

/// The demand of a word.
pub(super) fn demand_from_word(word: u64) -> Demand {
    Demand { src: (word >> 16) as u16, dst: word as u16, slots: (word >> 32) as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages longer and shorter than the ring, and empty ones.
    #[test]
    fn messages_have_their_bounds() {
        for capacity in [1, 2, 8, 64] {
            let (mut sender, mut receiver) = channel(capacity);
            let message = |i: u64| (0..i * 7 % 20).map(|word| word * i).collect::<Vec<_>>();
            for i in 0..50 {
                sender.begin().extend(message(i));
                sender.end();
            }
            let mut got = 0;
            while got < 50 {
                let moved = sender.flush() | receiver.poll();
                while let Some(words) = receiver.receive() {
                    assert_eq!(words, message(got));
                    got += 1;
                }
                assert!(moved || got == 50);
            }
            assert!(sender.is_empty() && !receiver.is_closed());
            drop(sender);
            assert!(receiver.is_closed());
        }
    }

    #[test]
    fn an_incomplete_message_is_not_received() {
        let (mut sender, mut receiver) = channel(2);
        sender.begin().extend([1, 2, 3]);
        sender.end();
        receiver.poll();
        assert_eq!(receiver.receive(), None);
        assert!(!receiver.is_closed());
        drop(sender);
        assert!(receiver.is_closed());
    }
}
