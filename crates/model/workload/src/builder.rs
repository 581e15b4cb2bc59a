//! Collects connections and flows from generators, and sorts them into the order of [`Traffic`].

use super::check::check;
use super::sampling::{Count, Sampling};
use super::{Carrier, Conn, Flow, Machines, Role, Start, Step, Traffic, Trigger, When};
use slotline_base::error::SpecError;
use slotline_base::id::{CLASSES, ConnId, FlowId, HostId};
use slotline_base::order::ascending;
use slotline_base::rng::{name_key, pair_key};
use slotline_base::time::Time;
use std::collections::BTreeMap;

/// A connection being built; its final [`ConnId`] is known after [`TrafficBuilder::finish`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnHandle(u32);

/// The traffic that generators add, for a fabric of a given number of hosts.
#[derive(Clone, Debug)]
pub struct TrafficBuilder {
    hosts: u32,
    conns: Vec<Conn>,
    /// `conn` is a handle before `finish` and an id after it.
    flows: Vec<Flow>,
    triggers: Vec<Trigger>,
    steps: Vec<Step>,
    /// The connections, by handle, that their sender aborts this time after their start.
    cuts: Vec<(u32, Time)>,
    exchanges: u32,
    machines: Machines,
    notes: Vec<String>,
    sampling: Sampling,
    /// The number of workloads of each kind.
    kinds: BTreeMap<&'static str, u64>,
    /// The key of the current workload or of its current part.
    workload: u64,
}

/// The largest number of flows for which memory is reserved: fewer may come than are announced.
const MOST_RESERVED: u64 = 1 << 20;

fn wrong(key: &str, message: String) -> Result<(), SpecError> {
    Err(SpecError::new(key, message))
}

impl TrafficBuilder {
    /// A builder without traffic, for hosts `0..hosts`.
    pub fn new(hosts: u32) -> TrafficBuilder {
        TrafficBuilder {
            hosts,
            conns: Vec::new(),
            flows: Vec::new(),
            triggers: Vec::new(),
            steps: Vec::new(),
            cuts: Vec::new(),
            exchanges: 0,
            machines: Machines::default(),
            notes: Vec::new(),
            sampling: Sampling::default(),
            kinds: BTreeMap::new(),
            workload: 0,
        }
    }

    /// Like [`TrafficBuilder::new`], but keeps only the first `most` flows of each workload and counts the others.
    pub fn sample(hosts: u32, most: u64) -> TrafficBuilder {
        TrafficBuilder { sampling: Sampling::of(most), ..TrafficBuilder::new(hosts) }
    }

    /// Makes at most `most` flows of a workload whose flows are all drawn in the same way: more of them would not show another
    /// error.
    pub fn drawing(self, most: u64) -> TrafficBuilder {
        TrafficBuilder { sampling: self.sampling.drawing(most), ..self }
    }

    /// As [`sample`](TrafficBuilder::sample), of traffic whose flows are already counted: files are read only as far as
    /// the sample needs them.
    pub fn counted_sample(hosts: u32, most: u64, counts: &[Count]) -> TrafficBuilder {
        let sampling = Sampling::of(most).with_known(counts);
        TrafficBuilder { sampling, ..TrafficBuilder::new(hosts) }
    }

    /// Whether the sample of the current workload is full and its flows are counted.
    pub(super) fn is_complete(&self) -> bool {
        self.sampling.is_complete()
    }

    /// Ends workload `group`, whose generator returned `made`. A full sample is not an error.
    pub(super) fn end(&mut self, group: u16, made: Result<(), SpecError>) -> Result<(), SpecError> {
        self.sampling.end(group, self.flows.len() as u64, made)
    }

    /// The number of flows of each workload, by its number. It is zero if the workload has not been generated.
    pub fn counts(&self) -> &[Count] {
        self.sampling.counts()
    }

    /// Whether flows of the current workload were left out, so that more need not be made.
    pub fn is_full(&self) -> bool {
        self.sampling.is_full()
    }

    /// Counts a flow that is left out.
    pub(super) fn count_one(&mut self, key: &str) -> Result<(), SpecError> {
        self.sampling.count_one(key, self.flows.len() as u64)
    }

    /// The number of flows to make for a sequence of `flows`, if all sequences together have `all`.
    pub(super) fn thinned(&self, flows: u64, all: u64) -> u64 {
        self.sampling.thinned(flows, all)
    }

    /// The number of flows to make of a workload whose flows are all drawn in the same way, if a run has at most `most`, and
    /// `expected` on average.
    pub(super) fn drawn(&mut self, most: u64, expected: u64) -> u64 {
        self.sampling.drawn(most, expected)
    }

    /// Ends a workload that may have fewer flows than it has announced.
    pub(super) fn end_thinned(&mut self) {
        self.sampling.end_thinned(self.flows.len() as u64);
    }

    /// Whether no flow was left out, unless it is drawn in the same way as those that were made.
    pub fn is_whole(&self) -> bool {
        self.sampling.is_whole()
    }

    /// All traffic, or the sample of it. Only complete traffic can be checked for flows that never start.
    pub fn finish_sample(self) -> Result<Traffic, SpecError> {
        if self.is_whole() { self.finish() } else { Ok(self.arranged()) }
    }

    /// Sets the virtual machines of all later connections.
    pub fn between(&mut self, machines: Machines) {
        self.machines = machines;
    }

    /// Begins another workload of `kind`. Returns its place among workloads of its kind, and its key.
    pub(crate) fn begin(&mut self, kind: &'static str) -> (u64, u64) {
        self.sampling.begin(self.flows.len() as u64);
        let count = self.kinds.entry(kind).or_default();
        let place = *count;
        *count += 1;
        self.workload = workload_key(kind, place);
        (place, self.workload)
    }

    /// Begins a part of a workload with this key.
    pub(crate) fn begin_part(&mut self, key: u64) {
        self.workload = key;
    }

    /// Adds a connection from `src` to `dst`.
    pub fn connect(
        &mut self,
        src: HostId,
        dst: HostId,
        carrier: Carrier,
        class: u8,
    ) -> Result<ConnHandle, SpecError> {
        self.check_host(src)?;
        self.check_host(dst)?;
        if src == dst {
            wrong("hosts", format!("host {} would send to itself", src.0))?;
        }
        if usize::from(class) >= CLASSES {
            wrong("class", format!("class {class}: there are classes 0 to {}", CLASSES - 1))?;
        }
        let handle = ConnHandle(self.conns.len() as u32);
        let (machines, key, first) = (self.machines, self.workload, FlowId(0));
        self.conns.push(Conn { src, dst, carrier, class, machines, first, count: 0, key });
        Ok(handle)
    }

    /// Sets the time after its start at which the sender of `conn` aborts it, if it is not done. A connection has
    /// at most one.
    pub fn give_up(&mut self, conn: ConnHandle, after: Time) {
        self.cuts.push((conn.0, after));
    }

    /// Adds a trigger at `host` that fires after `count` completions. Returns its index in
    /// [`Traffic::triggers`].
    pub fn trigger(&mut self, host: HostId, count: u32) -> u32 {
        self.triggers.push(Trigger { host, count });
        self.triggers.len() as u32 - 1
    }

    /// Makes `trigger` wait for one more completion before it fires.
    pub fn await_more(&mut self, trigger: u32) {
        self.triggers[trigger as usize].count += 1;
    }

    /// Adds work at a host. All triggers that it names must exist.
    pub fn step(&mut self, step: Step) -> Result<(), SpecError> {
        if let Start::After { trigger, .. } = step.start {
            self.check_local(trigger, step.host, "starts a step")?;
        }
        for trigger in [step.begun, step.then].into_iter().flatten() {
            self.check_local(trigger, step.host, "counts a step")?;
        }
        self.check_host(step.host)?;
        self.steps.push(step);
        Ok(())
    }

    /// Adds a note for the user about the traffic, such as an assumption about a file.
    pub fn note(&mut self, text: String) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// The notes so far, in order.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The number of a new exchange of requests and answers, for [`Role`].
    pub fn exchange(&mut self) -> u32 {
        self.exchanges += 1;
        self.exchanges - 1
    }

    /// Adds the next flow on `conn`. Flows of a connection are sent in the order of these calls.
    pub fn flow(
        &mut self,
        conn: ConnHandle,
        bytes: u64,
        start: Start,
        then: Option<(u32, When)>,
        group: u16,
    ) -> Result<(), SpecError> {
        self.flow_as(Role::Alone, conn, bytes, start, then, group)
    }

    /// [`TrafficBuilder::flow`] for a flow that is part of an exchange.
    pub fn flow_as(
        &mut self,
        role: Role,
        conn: ConnHandle,
        bytes: u64,
        start: Start,
        then: Option<(u32, When)>,
        group: u16,
    ) -> Result<(), SpecError> {
        self.push(Flow { conn: ConnId(conn.0), bytes, start, then, also: None, group, role })
    }

    /// [`TrafficBuilder::flow_as`] for a flow with a trigger at both ends: `received` counts when the receiver
    /// has the last byte, `acked` when the sender has its acknowledgement.
    pub fn flow_with_both(
        &mut self,
        role: Role,
        conn: ConnHandle,
        bytes: u64,
        start: Start,
        [received, acked]: [Option<u32>; 2],
        group: u16,
    ) -> Result<(), SpecError> {
        let conn = ConnId(conn.0);
        let (then, also) = match received {
            Some(trigger) => (Some((trigger, When::Received)), acked),
            None => (acked.map(|trigger| (trigger, When::Acked)), None),
        };
        self.push(Flow { conn, bytes, start, then, also, group, role })
    }

    fn push(&mut self, flow: Flow) -> Result<(), SpecError> {
        let Flow { conn, bytes, start, then, also, .. } = flow;
        if bytes == 0 {
            wrong("size", "a flow of 0 bytes: at least 1 is needed".into())?;
        }
        self.sampling.admit(self.flows.len() as u64)?;
        let Conn { src, dst, .. } = self.conns[conn.at()];
        if let Start::After { trigger, .. } = start {
            self.check_local(trigger, src, "starts a flow")?;
        }
        if let Some((trigger, when)) = then {
            let end = if when == When::Received { dst } else { src };
            self.check_local(trigger, end, "counts a completion")?;
        }
        if let Some(trigger) = also {
            self.check_local(trigger, src, "counts a completion")?;
        }
        self.conns[conn.at()].count += 1;
        self.flows.push(flow);
        Ok(())
    }

    /// The number of flows so far.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Checks that `more` flows still fit. Generators call it before they make many flows.
    pub fn check_room(&mut self, key: &str, more: u64) -> Result<(), SpecError> {
        self.sampling.check_room(key, self.flows.len() as u64, more)?;
        // If flows and connections grew in turn, each would be copied when the other one is in its way.
        self.flows.reserve(self.sampling.kept(more).min(MOST_RESERVED) as usize);
        Ok(())
    }

    /// The traffic: connections sorted by source (in order of creation for each), flows contiguous
    /// per connection. Refuses traffic in which some flow could never start.
    pub fn finish(self) -> Result<Traffic, SpecError> {
        let traffic = self.arranged();
        check(&traffic)?;
        Ok(traffic)
    }

    fn arranged(self) -> Traffic {
        let TrafficBuilder { conns, flows, triggers, steps, cuts, .. } = self;
        let order = ascending(conns.iter().map(|conn| conn.src.0));
        let id_of = ids(&order);
        let mut conns = reordered(conns, &order);
        let mut next = 0;
        for conn in &mut conns {
            conn.first = FlowId(next);
            next += conn.count;
        }
        set_keys(&mut conns);
        let flows = arrange(flows, &id_of);
        Traffic { conns, flows, triggers, steps, cuts: arrange_cuts(&cuts, &id_of) }
    }

    fn check_host(&self, host: HostId) -> Result<(), SpecError> {
        if host.0 < self.hosts {
            return Ok(());
        }
        wrong(
            "hosts",
            format!("host {}: the fabric has hosts 0 to {}", host.0, self.hosts.max(1) - 1),
        )
    }

    fn check_local(&self, trigger: u32, host: HostId, what: &str) -> Result<(), SpecError> {
        match self.triggers.get(trigger as usize) {
            Some(found) if found.host == host => Ok(()),
            Some(found) => wrong(
                "workload",
                format!(
                    "trigger {trigger} is at host {} but {what} at host {}",
                    found.host.0, host.0
                ),
            ),
            None => wrong("workload", format!("trigger {trigger} does not exist")),
        }
    }
}

/// The key of the workload of `kind` at `place` among those of its kind.
pub fn workload_key(kind: &str, place: u64) -> u64 {
    pair_key(name_key(kind), place)
}

/// Computes the key of each connection from the key of its workload and its place among the workload's connections
/// between the same two hosts.
fn set_keys(conns: &mut [Conn]) {
    for of_host in conns.chunk_by_mut(|a, b| a.src == b.src) {
        of_host_keys(of_host);
    }
}

fn of_host_keys(conns: &mut [Conn]) {
    let mut by_pair = ascending(conns.iter().map(|conn| conn.dst.0));
    by_pair.sort_by_key(|&at| conns[at as usize].key);
    let (mut last, mut nth) = (None, 0);
    for at in by_pair {
        let at = at as usize;
        let pair = (conns[at].key, conns[at].dst);
        nth = if last == Some(pair) { nth + 1 } else { 0 };
        last = Some(pair);
        conns[at].key = pair_key(pair.0, nth);
    }
}

/// The new number of each connection, by its old number. `order` has the old numbers in the new order.
fn ids(order: &[u32]) -> Vec<u32> {
    let mut id_of = vec![0; order.len()];
    for (new, &old) in order.iter().enumerate() {
        id_of[old as usize] = new as u32;
    }
    id_of
}

fn arrange_cuts(cuts: &[(u32, Time)], id_of: &[u32]) -> Vec<(ConnId, Time)> {
    let arranged = cuts.iter().map(|&(old, after)| (ConnId(id_of[old as usize]), after));
    let mut cuts: Vec<_> = arranged.collect();
    cuts.sort_unstable();
    cuts
}

/// Sorts `flows` by their connections, which get the numbers in `id_of`.
fn arrange(mut flows: Vec<Flow>, id_of: &[u32]) -> Vec<Flow> {
    for flow in &mut flows {
        flow.conn = ConnId(id_of[flow.conn.at()]);
    }
    let order = ascending(flows.iter().map(|flow| flow.conn.0));
    reordered(flows, &order)
}

/// A list in another order, given by the old places. The list is freed at once, because it may be long.
fn reordered<T: Copy>(list: Vec<T>, order: &[u32]) -> Vec<T> {
    order.iter().map(|&old| list[old as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_FLOWS;
    use proptest::prelude::*;

    const NOW: Start = Start::At(Time::ZERO);

    fn tcp(builder: &mut TrafficBuilder, src: u32, dst: u32) -> ConnHandle {
        builder.connect(HostId(src), HostId(dst), Carrier::Tcp, 0).expect("a valid connection")
    }

    #[test]
    fn wrong_connections_and_flows_are_refused() {
        let mut b = TrafficBuilder::new(4);
        let mut refused = |src, dst, class| {
            b.connect(HostId(src), HostId(dst), Carrier::Tcp, class).unwrap_err().to_string()
        };
        assert!(refused(1, 1, 0).contains("itself"));
        assert!(refused(1, 4, 0).contains("0 to 3"));
        assert!(refused(0, 1, 8).contains("classes 0 to 7"));
        let conn = tcp(&mut b, 0, 1);
        let here = b.trigger(HostId(0), 1);
        let there = b.trigger(HostId(1), 1);
        let after = |trigger| Start::After { trigger, delay: Time::ZERO };
        assert!(b.flow(conn, 0, NOW, None, 0).is_err());
        assert!(b.flow(conn, 1, after(there), None, 0).is_err());
        assert!(b.flow(conn, 1, after(9), None, 0).is_err());
        assert!(b.flow(conn, 1, NOW, Some((here, When::Received)), 0).is_err());
        assert!(b.flow(conn, 1, NOW, Some((there, When::Acked)), 0).is_err());
        assert!(b.flow(conn, 1, NOW, Some((here, When::Acked)), 0).is_ok());
        assert!(b.check_room("size", MAX_FLOWS).unwrap_err().to_string().contains("at most"));
    }

    proptest! {
        /// For any order of calls, sources are sorted, the order of creation is kept, flows are contiguous and
        /// in order, and nothing is lost.
        #[test]
        fn finish_sorts_and_keeps_everything(
            pairs in prop::collection::vec((0u32..8, 1u32..8), 1..40),
            sends in prop::collection::vec((any::<prop::sample::Index>(), 1u64..1_000_000), 0..200),
        ) {
            let mut b = TrafficBuilder::new(8);
            let handles: Vec<_> = pairs.iter().map(|&(s, o)| tcp(&mut b, s, (s + o) % 8)).collect();
            let mut expected = vec![Vec::new(); handles.len()];
            for (index, bytes) in &sends {
                let at = index.index(handles.len());
                expected[at].push(*bytes);
                b.flow(handles[at], *bytes, NOW, None, 3).unwrap();
            }
            let traffic = b.finish().unwrap();
            let mut order: Vec<usize> = (0..pairs.len()).collect();
            order.sort_by_key(|&i| (pairs[i].0, i));
            prop_assert_eq!(traffic.conns.len(), pairs.len());
            prop_assert_eq!(traffic.flows.len(), sends.len());
            let mut next = 0;
            for (id, (&old, conn)) in order.iter().zip(&traffic.conns).enumerate() {
                prop_assert_eq!(conn.src.0, pairs[old].0);
                prop_assert_eq!(conn.dst.0, (pairs[old].0 + pairs[old].1) % 8);
                prop_assert_eq!(conn.first.0, next);
                let flows = &traffic.flows[next as usize..(next + conn.count) as usize];
                prop_assert!(flows.iter().all(|f| f.conn.at() == id && f.group == 3));
                let bytes: Vec<u64> = flows.iter().map(|f| f.bytes).collect();
                prop_assert_eq!(&bytes, &expected[old]);
                next += conn.count;
            }
        }

        /// A chain of any length over random hosts is accepted; without its first flow it is refused.
        #[test]
        fn chains_start_or_are_refused(hops in prop::collection::vec(1u32..6, 1..30)) {
            let build = |skip: usize| {
                let mut b = TrafficBuilder::new(6);
                let (mut at, mut start) = (0, NOW);
                for (i, hop) in hops.iter().enumerate() {
                    let to = (at + hop) % 6;
                    let conn = tcp(&mut b, at, to);
                    let trigger = b.trigger(HostId(to), 1);
                    if i >= skip {
                        b.flow(conn, 1, start, Some((trigger, When::Received)), 0)?;
                    }
                    (at, start) = (to, Start::After { trigger, delay: Time::ZERO });
                }
                b.finish()
            };
            prop_assert!(build(0).is_ok());
            prop_assert!(build(1).is_err());
        }
    }
}
