//! The results of flows that a host has at the end of a run.

use crate::id::FlowId;
use crate::time::Time;

/// The sender's side of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// When it started; [`Time::MAX`] if it never did.
    pub started: Time,
    /// Retransmitted segments.
    pub retransmissions: u32,
    /// Retransmission time-outs.
    pub timeouts: u32,
}

/// The receiver's side of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// When its last byte arrived; [`Time::MAX`] if it never did.
    pub finished: Time,
    /// Payload bytes received in order (TCP), or in complete messages (UDP).
    pub bytes: u64,
}

/// One side's account of one flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowResult {
    /// From the sender.
    Sent(FlowId, Sent),
    /// From the receiver.
    Received(FlowId, Received),
}

impl FlowResult {
    /// The same result with another number for its flow.
    pub fn numbered(self, number: impl Fn(u32) -> u32) -> FlowResult {
        match self {
            FlowResult::Sent(flow, sent) => FlowResult::Sent(FlowId(number(flow.0)), sent),
            FlowResult::Received(flow, received) => {
                FlowResult::Received(FlowId(number(flow.0)), received)
            }
        }
    }
    /// The place of the result among those of a host: sent flows come first.
    pub fn order(&self) -> (bool, u32) {
        match self {
            FlowResult::Sent(flow, _) => (false, flow.0),
            FlowResult::Received(flow, _) => (true, flow.0),
        }
    }
    /// All values of the result as numbers, for digests.
    pub fn fingerprint(&self) -> [u64; 4] {
        match *self {
            FlowResult::Sent(flow, s) => [
                u64::from(flow.0),
                s.started.as_ps(),
                u64::from(s.retransmissions),
                u64::from(s.timeouts),
            ],
            FlowResult::Received(flow, r) => {
                [u64::from(flow.0) | 1 << 32, r.finished.as_ps(), r.bytes, 0]
            }
        }
    }
}

impl Sent {
    pub(super) const NEVER: Sent = Sent { started: Time::MAX, retransmissions: 0, timeouts: 0 };
}
impl Received {
    pub(super) const NOTHING: Received = Received { finished: Time::MAX, bytes: 0 };
}
