//! The starts of flows: those with a known time, and those whose think time is over.

use super::steps::Due;
use super::{Host, token};
use crate::node::Cx;
use crate::time::Time;
use crate::workload::Carrier;
use std::cmp::Reverse;

impl Host {
    /// Starts the flows that are due, and requests a wake-up for the next one.
    pub(super) fn start_due(&mut self, cx: &mut Cx<'_>) {
        while let Some((at, flow)) = self.next_known() {
            if at > cx.now {
                self.expect_start(flow);
                self.want(at);
                return cx.wake(at, token::START);
            }
            match self.plan.starts(self.id).get(self.next_start) {
                Some(planned) if *planned == flow => self.next_start += 1,
                _ => drop(self.late.pop()),
            }
            self.start_flow(flow, cx);
        }
        self.want(Time::MAX);
    }

    /// The flow with a known start that is next, and its time.
    fn next_known(&self) -> Option<(Time, u32)> {
        let planned = self.plan.starts(self.id).get(self.next_start);
        let planned = planned.map(|&flow| (self.plan.start_time(flow), flow));
        let late = self.late.peek().map(|&Reverse(late)| late);
        planned.into_iter().chain(late).min()
    }

    fn want(&mut self, at: Time) {
        let before = if self.wanted.0 == at { self.wanted.1 } else { 0 };
        self.wanted = (at, before + 1);
    }

    pub(super) fn start_thinking(&mut self, cx: &mut Cx<'_>) {
        while let Some(&Reverse((at, due))) = self.thinking.peek() {
            if at > cx.now {
                break;
            }
            self.thinking.pop();
            match due {
                Due::Flow(flow) => self.start_flow(flow, cx),
                step => self.work([step].into(), cx),
            }
        }
    }

    pub(super) fn start_flow(&mut self, flow: u32, cx: &mut Cx<'_>) {
        let conn = self.plan.flow(flow).conn.0;
        let place = self.place(conn);
        let sent = self.sent_place(flow);
        self.sent[sent].started = cx.now;
        match self.plan.conn(conn).carrier {
            Carrier::Tcp => self.start_tcp(place, flow, cx),
            Carrier::Udp { .. } => self.start_udp(place, conn, cx),
        }
    }
}
