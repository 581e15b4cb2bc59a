//! Reports of what a host sends, with which coordination on demand (§7) finds the destinations that need permission.

use super::Coordinator;
use crate::wire::{Body, MAX_RATES};
use slotline_net::node::Cx;
use slotline_net::node::agent::AGENT_TOKENS;
use slotline_net::time::Time;

impl Coordinator {
    /// Schedules a load report, on demand.
    pub(super) fn measure(&mut self, cx: &mut Cx<'_>) {
        if let Some(interval) = self.measure.filter(|_| self.load_due == Time::MAX && !self.away) {
            self.load_due = cx.now.after(interval);
            cx.wake(self.load_due, AGENT_TOKENS);
        }
    }
    /// Reports the largest loads, and again later unless there is no load.
    pub(super) fn report_load(&mut self, cx: &mut Cx<'_>) {
        let Some(span) = self.measure.filter(|_| cx.now >= self.load_due) else { return };
        self.load_due = Time::MAX;
        let mut loads = self.queues.take_loads();
        if loads.is_empty() && self.controlled.is_empty() {
            return;
        }
        loads.sort_by_key(|&(_, bytes)| std::cmp::Reverse(bytes));
        loads.truncate(MAX_RATES);
        self.register(0, cx);
        self.send(0, Body::Load { span, loads }, cx);
        self.measure(cx);
    }
}
