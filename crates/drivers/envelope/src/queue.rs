//! Messages that wait for a session, limited in number and bytes.

use crate::Settings;
use std::collections::VecDeque;

#[derive(Default)]
pub(crate) struct Queue {
    messages: VecDeque<Vec<u8>>,
    bytes: usize,
}

impl Queue {
    /// Adds a message, and drops the oldest messages if there is no room. Returns the number of dropped messages.
    pub fn push(&mut self, message: &[u8], settings: &Settings) -> u64 {
        self.messages.push_back(message.to_vec());
        self.bytes += message.len();
        let mut dropped = 0;
        while self.messages.len() > settings.waiting_messages || self.bytes > settings.waiting_bytes
        {
            self.pop();
            dropped += 1;
        }
        dropped
    }
    pub fn pop(&mut self) -> Option<Vec<u8>> {
        let message = self.messages.pop_front()?;
        self.bytes -= message.len();
        Some(message)
    }
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
    /// Drops all messages. Returns their number.
    pub fn clear(&mut self) -> u64 {
        let dropped = self.messages.len() as u64;
        *self = Queue::default();
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_messages_make_room() {
        let settings = Settings { waiting_messages: 3, waiting_bytes: 10, ..Settings::default() };
        let mut queue = Queue::default();
        assert_eq!([1, 2, 3].map(|n| queue.push(&[n], &settings)), [0, 0, 0]);
        assert_eq!(queue.push(&[4], &settings), 1);
        assert_eq!(queue.push(&[5; 9], &settings), 2);
        assert_eq!(queue.pop(), Some(vec![4]));
        assert_eq!(queue.clear(), 1);
        assert!(queue.is_empty());
    }
}
