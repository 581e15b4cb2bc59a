//! Requests of state that is needed soon: by a host that is about to be called, by the start of a flow, and by the first segment of a
//! connection. With queues at hosts or many small flows it is not in the cache of the processor's core.

use super::{Host, Plan};
use crate::prefetch::{prefetch, prefetch_value};

/// The number of steps of [`Host::expect`].
pub const STEPS: usize = 4;

impl Plan {
    /// Requests everything about `conn` that its receiver needs.
    #[inline]
    fn expect(&self, conn: u32) {
        prefetch(&self.rx_ordinal, conn);
        prefetch(&self.traffic.conns, conn);
        prefetch(&self.entropy, conn);
    }

    /// The index of `conn` among the connections of its receiver, unless it is late.
    #[inline]
    fn planned_ordinal(&self, conn: u32) -> Option<u32> {
        self.rx_ordinal.get(conn as usize).copied()
    }
}

impl Host {
    /// Requests what a call needs, in [`STEPS`]: each finds it with what was requested in the step before.
    #[inline(always)]
    pub fn expect(&self, step: usize) {
        match step {
            0 => self.expect_own(),
            1 => {
                prefetch(&self.senders, 0);
                prefetch(&self.receivers, 0);
            }
            // If there are many, this is rarely the right one.
            2 => self.expect_first(),
            _ => {}
        }
        if step > 0 {
            self.nic.expect_queues(step);
        }
    }

    fn expect_own(&self) {
        prefetch_value(&self.plan);
        prefetch_value(&self.senders);
        prefetch_value(&self.created);
        prefetch_value(&self.salt);
        self.nic.expect();
    }

    fn expect_first(&self) {
        if let [Some(sender), ..] = &self.senders[..] {
            sender.expect();
        }
        if let [Some(receiver), ..] = &self.receivers[..] {
            receiver.expect();
        }
    }

    /// Whether packets wait in queues of this host, or with its agent, and not in the driver's FIFO.
    pub fn has_queues(&self) -> bool {
        !self.nic.is_fifo()
    }

    /// The number of connections of all hosts.
    pub fn connections(&self) -> usize {
        self.plan.traffic.conns.len()
    }

    /// Requests what the plan tells of connection `conn`.
    #[inline]
    pub fn expect_connection(&self, conn: u32) {
        self.plan.expect(conn);
    }

    /// Requests the place of the receiving end, with what [`Host::expect_connection`] requested.
    #[inline]
    pub fn expect_receiver(&self, conn: u32) {
        let Some(ordinal) = self.plan.planned_ordinal(conn) else { return };
        prefetch(&self.receivers, ordinal);
        prefetch(&self.received_first, ordinal);
        if let Some(conn) = self.plan.traffic.conns.get(conn as usize) {
            prefetch(&self.plan.traffic.flows, conn.first.0);
        }
    }

    /// Requests the result of its first flow, with what [`Host::expect_receiver`] requested.
    #[inline]
    pub fn expect_result(&self, conn: u32) {
        let Some(ordinal) = self.plan.planned_ordinal(conn) else { return };
        if let Some(&first) = self.received_first.get(ordinal as usize) {
            prefetch(&self.received, first);
        }
    }

    /// Requests what is needed when `flow` starts, and the flow after it.
    #[inline]
    pub(super) fn expect_start(&self, flow: u32) {
        let conn = self.plan.flow(flow).conn.0;
        self.plan.expect(conn);
        prefetch(&self.sent, flow.wrapping_sub(self.first_flow));
        prefetch(&self.senders, conn.wrapping_sub(self.first_conn));
        if let Some(&next) = self.plan.starts(self.id).get(self.next_start + 1) {
            prefetch(&self.plan.traffic.flows, next);
        }
    }
}
