//! Sums over the flows of a run, from one pass over them.

use crate::record::{FlowRow, Window};

/// The flows of one kind that began in the measured part of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub flows: u64,
    pub unfinished: u64,
    /// Payload bytes that arrived.
    pub delivered: u64,
    /// The first start, and the last end, ps.
    first: u64,
    last: u64,
}

impl Group {
    const NONE: Group = Group { flows: 0, unfinished: 0, delivered: 0, first: u64::MAX, last: 0 };

    fn add(&mut self, flow: &FlowRow, end_ps: u64) {
        self.flows += 1;
        self.unfinished += u64::from(!flow.finished());
        self.delivered += flow.delivered_bytes;
        self.first = self.first.min(flow.start_ps);
        self.last = self.last.max(end_ps);
    }

    /// The flows of both.
    pub fn with(self, other: Group) -> Group {
        Group {
            flows: self.flows + other.flows,
            unfinished: self.unfinished + other.unfinished,
            delivered: self.delivered + other.delivered,
            first: self.first.min(other.first),
            last: self.last.max(other.last),
        }
    }

    /// From the first start to the last end, in ps.
    pub fn span(&self) -> u64 {
        self.last.saturating_sub(self.first)
    }
}

/// Sums over the flows of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Totals {
    /// TCP flows, requests included.
    pub tcp: Group,
    /// TCP flows and streams of datagrams without requests.
    pub tcp_transfers: Group,
    pub udp_transfers: Group,
    /// Of TCP flows.
    pub retransmits: u64,
    pub timeouts: u64,
    /// The number of all TCP flows, and of those that never began.
    pub all_tcp: u64,
    pub not_started: u64,
}

impl Totals {
    /// Sums over `flows`, of which those count that began in `window`. Unfinished ones last until `end_ps`.
    pub fn of<'a>(flows: impl Iterator<Item = &'a FlowRow>, window: Window, end_ps: u64) -> Totals {
        let none = Group::NONE;
        let mut totals = Totals {
            tcp: none,
            tcp_transfers: none,
            udp_transfers: none,
            retransmits: 0,
            timeouts: 0,
            all_tcp: 0,
            not_started: 0,
        };
        flows.for_each(|flow| totals.add(flow, window, end_ps));
        totals
    }

    #[inline]
    fn add(&mut self, flow: &FlowRow, window: Window, end_ps: u64) {
        self.all_tcp += u64::from(!flow.udp);
        self.not_started += u64::from(!flow.udp && !flow.started());
        if !flow.started() || !window.contains(flow.start_ps) {
            return;
        }
        let end = if flow.finished() { flow.finish_ps } else { end_ps };
        if !flow.udp {
            self.tcp.add(flow, end);
            self.retransmits += u64::from(flow.retransmits);
            self.timeouts += u64::from(flow.timeouts);
        }
        match (flow.request, flow.udp) {
            (true, _) => {}
            (_, false) => self.tcp_transfers.add(flow, end),
            (_, true) => self.udp_transfers.add(flow, end),
        }
    }
}
