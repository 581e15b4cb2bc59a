//! The messages of a connection that are not fully acknowledged.

use crate::id::FlowId;
use std::collections::VecDeque;

/// A message of the connection: its flow, the number after its last segment, and that segment's payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Message {
    pub flow: FlowId,
    pub end: u32,
    pub last_payload: u32,
}

/// The messages, in order. Most connections have one at a time, which needs no memory beside the connection.
#[derive(Debug, Default)]
pub(super) struct Messages {
    first: Option<Message>,
    later: VecDeque<Message>,
}

impl Messages {
    #[inline]
    pub fn push(&mut self, message: Message) {
        match self.first {
            None => self.first = Some(message),
            Some(_) => self.later.push_back(message),
        }
    }

    #[inline]
    pub fn first(&self) -> Option<&Message> {
        self.first.as_ref()
    }

    #[inline]
    pub fn remove_first(&mut self) {
        self.first = self.later.pop_front();
    }

    /// The message with segment `seq`.
    #[inline]
    pub fn with(&self, seq: u32) -> Option<&Message> {
        match &self.first {
            Some(first) if seq < first.end => Some(first),
            _ => self.later.get(self.later.partition_point(|message| message.end <= seq)),
        }
    }

    pub fn clear(&mut self) {
        *self = Messages::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The messages are those of a list, from which the first ones are removed.
        #[test]
        fn messages_are_in_order(steps in prop::collection::vec((0u32..4, 1u32..5), 0..40)) {
            let (mut messages, mut list, mut end) = (Messages::default(), Vec::new(), 0);
            for (flow, (step, segments)) in (0..).zip(steps) {
                if step == 0 && !list.is_empty() {
                    messages.remove_first();
                    list.remove(0);
                } else {
                    end += segments;
                    let message = Message { flow: FlowId(flow), end, last_payload: segments };
                    messages.push(message);
                    list.push(message);
                }
                prop_assert_eq!(messages.first(), list.first());
                for seq in 0..end + 2 {
                    prop_assert_eq!(messages.with(seq), list.iter().find(|m| seq < m.end));
                }
            }
        }
    }
}
