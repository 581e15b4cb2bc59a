//! The quantities from which metrics are computed: a run's flows and queues, with their means and ranks.

use super::Measured;
use super::totals::{Group, Totals};
use super::{busiest_port, queues_in_use};
use crate::record::{FlowRow, NEVER, RunRecord, Window};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// The flows that count: all of them, or those of one workload or from one host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Chosen {
    /// Only those of this workload.
    pub workload: Option<u16>,
    /// Only those from this host.
    pub sender: Option<u32>,
}

impl Chosen {
    /// Whether `flow` is one of them.
    pub fn has(self, flow: &FlowRow) -> bool {
        let own = self.workload.is_none_or(|workload| workload == flow.group);
        own && self.sender.is_none_or(|sender| sender == flow.src)
    }
}

/// A run and its measured part. Lists that several metrics need are computed once.
pub(super) struct Facts<'a> {
    pub run: &'a RunRecord,
    window: Window,
    chosen: Chosen,
    totals: OnceCell<Totals>,
    times: OnceCell<Vec<Measured>>,
    slowdowns: OnceCell<Vec<Measured>>,
    query_times: OnceCell<Vec<Measured>>,
    rates: OnceCell<Vec<Measured>>,
    queue: OnceCell<Vec<Measured>>,
}

impl<'a> Facts<'a> {
    pub fn of(run: &'a RunRecord, window: Window, chosen: Chosen) -> Facts<'a> {
        let none = OnceCell::new;
        let (times, slowdowns, query_times, rates, queue) =
            (none(), none(), none(), none(), none());
        let totals = OnceCell::new();
        Facts { run, window, chosen, totals, times, slowdowns, query_times, rates, queue }
    }
    /// The chosen flows, even if they began at another time or never.
    fn all(&self) -> impl Iterator<Item = &'a FlowRow> {
        let chosen = self.chosen;
        self.run.flows.iter().filter(move |flow| chosen.has(flow))
    }
    /// The flows that count, without requests: they began in the window.
    fn transfers(&self) -> impl Iterator<Item = &'a FlowRow> {
        let window = self.window;
        let counts = move |flow: &&FlowRow| {
            flow.started() && window.contains(flow.start_ps) && !flow.request
        };
        self.all().filter(counts)
    }
    fn tcp_transfers(&self) -> impl Iterator<Item = &'a FlowRow> {
        self.transfers().filter(|flow| !flow.udp)
    }
    /// The end of `flow`, or of the run if the flow is unfinished.
    fn end_ps(&self, flow: &FlowRow) -> u64 {
        if flow.finished() { flow.finish_ps } else { self.run.engine.sim_time_ps }
    }
    fn lifetime(&self, flow: &FlowRow) -> Measured {
        let ps = self.end_ps(flow).saturating_sub(flow.start_ps);
        Measured { value: seconds(ps), at_least: !flow.finished() }
    }
    pub fn completion_times(&self) -> &[Measured] {
        let times = || self.tcp_transfers().map(|flow| self.lifetime(flow)).collect();
        self.times.get_or_init(times)
    }
    /// Completion times of the flows of the `wanted` sizes; none if these are all flows.
    pub fn times_of(&self, wanted: impl Fn(u64) -> bool) -> Vec<Measured> {
        let all = self.tcp_transfers().all(|flow| wanted(flow.bytes));
        let chosen = self.tcp_transfers().filter(|flow| !all && wanted(flow.bytes));
        chosen.map(|flow| self.lifetime(flow)).collect()
    }
    pub fn slowdowns(&self) -> &[Measured] {
        let over_ideal = |flow: &FlowRow| {
            let took = self.lifetime(flow);
            Measured { value: took.value / seconds(flow.ideal_ps), ..took }
        };
        let known = || self.tcp_transfers().filter(|flow| flow.ideal_ps > 0);
        self.slowdowns.get_or_init(|| known().map(over_ideal).collect())
    }
    /// From the first start to the last end of `flows`.
    fn span<'f>(&self, flows: impl Iterator<Item = &'f FlowRow>) -> Option<Measured> {
        let one = |flow: &FlowRow| (flow.start_ps, self.end_ps(flow), !flow.finished());
        let all = flows.map(one).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1), a.2 || b.2));
        let (start, end, at_least) = all?;
        Some(Measured { value: seconds(end.saturating_sub(start)), at_least })
    }
    /// Query completion times of all exchanges that began. An exchange is unfinished while a flow of it
    /// has not begun.
    pub fn query_times(&self) -> &[Measured] {
        self.query_times.get_or_init(|| self.measured_queries())
    }
    fn measured_queries(&self) -> Vec<Measured> {
        let mut exchanges: BTreeMap<u32, Vec<&FlowRow>> = BTreeMap::new();
        for flow in self.all() {
            flow.exchange.into_iter().for_each(|n| exchanges.entry(n).or_default().push(flow));
        }
        let began = |flows: &&Vec<&FlowRow>| {
            let start = flows.iter().map(|flow| flow.start_ps).min();
            start.is_some_and(|at| at != NEVER && self.window.contains(at))
        };
        exchanges
            .values()
            .filter(began)
            .filter_map(|flows| self.span(flows.iter().copied()))
            .collect()
    }
    /// The sums over all flows.
    fn totals(&self) -> &Totals {
        let end_ps = self.run.engine.sim_time_ps;
        self.totals.get_or_init(|| Totals::of(self.all(), self.window, end_ps))
    }
    /// The time of all TCP flows together.
    pub fn makespan(&self) -> Option<Measured> {
        let tcp = self.totals().tcp;
        let span = Measured { value: seconds(tcp.span()), at_least: tcp.unfinished > 0 };
        (tcp.flows > 0).then_some(span)
    }
    pub fn goodput(&self) -> Option<Measured> {
        let totals = self.totals();
        goodput(&totals.tcp_transfers.with(totals.udp_transfers))
    }
    /// The goodput of TCP flows and of streams of datagrams, if there are both; otherwise it would equal the goodput.
    pub fn goodput_by_kind(&self) -> [Option<Measured>; 2] {
        let Totals { tcp_transfers, udp_transfers, .. } = self.totals();
        let is_mixed = tcp_transfers.flows > 0 && udp_transfers.flows > 0;
        [tcp_transfers, udp_transfers].map(|group| goodput(group).filter(|_| is_mixed))
    }
    /// Goodput of each flow.
    pub fn rates(&self) -> &[Measured] {
        let rate = |flow: &FlowRow| {
            bit_rate(flow.delivered_bytes, self.end_ps(flow).saturating_sub(flow.start_ps))
        };
        self.rates.get_or_init(|| self.transfers().filter_map(rate).collect())
    }
    /// A count of TCP flows, if there are any in the window.
    pub fn of_tcp(&self, number: impl Fn(&Totals) -> u64) -> Option<Measured> {
        let totals = self.totals();
        (totals.tcp.flows > 0).then(|| exact(number(totals) as f64))
    }
    pub fn never_began(&self) -> Option<Measured> {
        let totals = self.totals();
        (totals.all_tcp > 0).then(|| exact(totals.not_started as f64))
    }
    pub fn busiest_queue(&self) -> &[Measured] {
        self.queue.get_or_init(|| self.queue_in_use())
    }
    fn queue_in_use(&self) -> Vec<Measured> {
        let port = busiest_port(self.run, self.window);
        let queues = port.map_or(vec![], |port| queues_in_use(self.run, port, self.window));
        queues.into_iter().map(|bytes| exact(bytes as f64)).collect()
    }
    pub fn longest_queue(&self) -> Option<Measured> {
        let switch_ports = self.run.ports.iter().filter(|port| !port.host);
        switch_ports.map(|port| port.peak_bytes).max().and_then(count)
    }
}

fn seconds(ps: u64) -> f64 {
    ps as f64 / 1e12
}
pub(super) fn exact(value: f64) -> Measured {
    Measured { value, at_least: false }
}
pub(super) fn count(n: u64) -> Option<Measured> {
    Some(exact(n as f64))
}
pub(super) fn ratio(part: u64, whole: u64) -> Option<Measured> {
    (whole > 0).then(|| exact(part as f64 / whole as f64))
}
/// The rate at which the data of flows arrived.
fn goodput(group: &Group) -> Option<Measured> {
    bit_rate(group.delivered, group.span()).filter(|_| group.flows > 0)
}
fn bit_rate(bytes: u64, ps: u64) -> Option<Measured> {
    (ps > 0).then(|| exact(bytes as f64 * 8.0 / seconds(ps)))
}
pub(super) fn mean(values: &[Measured]) -> Option<Measured> {
    let sum: f64 = values.iter().map(|v| v.value).sum();
    let at_least = values.iter().any(|v| v.at_least);
    (!values.is_empty()).then(|| Measured { value: sum / values.len() as f64, at_least })
}
/// The smallest value that `percent` of all values do not exceed (nearest rank, exact). It is a lower
/// bound when a value at or below it is one.
pub(super) fn percentile(mut values: Vec<Measured>, percent: usize) -> Option<Measured> {
    let rank = (values.len() * percent).div_ceil(100).max(1);
    if rank > values.len() {
        return None;
    }
    let order =
        |a: &Measured, b: &Measured| a.value.total_cmp(&b.value).then(a.at_least.cmp(&b.at_least));
    let (below, at, _) = values.select_nth_unstable_by(rank - 1, order);
    let at_least = at.at_least || below.iter().any(|v| v.at_least);
    Some(Measured { value: at.value, at_least })
}
pub(super) fn jain(rates: &[Measured]) -> Option<Measured> {
    let sum: f64 = rates.iter().map(|r| r.value).sum();
    let squares: f64 = rates.iter().map(|r| r.value * r.value).sum();
    (rates.len() > 1 && squares > 0.0).then(|| exact(sum * sum / (rates.len() as f64 * squares)))
}
