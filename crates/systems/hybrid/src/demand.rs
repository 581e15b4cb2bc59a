//! What a rack wants to send to each other: for the scheduler of circuits.

use serde::{Deserialize, Serialize};
use slotline_net::id::HostId;
use slotline_net::node::host::Plan;
use slotline_net::time::Time;
use slotline_net::workload::Carrier;
use std::sync::Arc;

/// What is taken for demand.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum DemandKind {
    /// What waits in the queues of the rack's switch.
    #[default]
    Voq,
    /// What hosts have said that they will send: of each flow, what was reported and has not yet left
    /// the rack. The report is a field in the first segment of a flow; all are gone when it is over.
    ///
    /// Source: "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018,
    /// section 5.2.
    Adu,
    /// As `adu`, but known ahead: also what of flows with a set start begins before the end of the week that is
    /// planned.
    Perfect,
}

/// What is known of one connection.
#[derive(Clone, Copy, Default, Debug)]
struct Entry {
    /// Segments of the flows that were reported.
    reported: u32,
    /// Segments up to the furthest that has left the rack: each counts once, however often it is sent.
    seen: u32,
    /// Flows reported.
    flows: u32,
}

/// Reported and outstanding payload of the connections that begin in one rack.
pub struct Ledger {
    plan: Arc<Plan>,
    /// First connection of the rack.
    first: u32,
    entries: Vec<Entry>,
    /// Payload outstanding, in segments, by destination rack.
    outstanding: Vec<u64>,
    hosts_per_rack: u32,
    /// Flows with a set start that are not yet reported, the last first: when, and on which connection.
    ahead: Vec<(Time, u32)>,
    /// Connections that are given up, the last first: when, and which.
    cuts: Vec<(Time, u32)>,
}

impl Ledger {
    /// For the hosts of `rack`, of `racks`.
    pub fn new(plan: Arc<Plan>, rack: u32, racks: u32, hosts_per_rack: u32) -> Ledger {
        let host = |host: u32| HostId(rack * hosts_per_rack + host);
        let first = plan.sends(host(0)).start;
        let last = plan.sends(host(hosts_per_rack - 1)).end;
        let mut cuts: Vec<(Time, u32)> = (first..last)
            .filter_map(|conn| {
                let begun = plan.start_time(plan.traffic.conns[conn as usize].first.0);
                plan.gives_up(conn).map(|after| (begun.after(after), conn))
            })
            .collect();
        cuts.sort_unstable_by(|a, b| b.cmp(a));
        Ledger {
            cuts,
            entries: vec![Entry::default(); (last - first) as usize],
            outstanding: vec![0; racks as usize],
            plan,
            first,
            hosts_per_rack,
            ahead: Vec::new(),
        }
    }

    /// The same, where flows with a set start are known ahead.
    pub fn foreseeing(mut self, rack: u32) -> Ledger {
        let hosts = rack * self.hosts_per_rack..(rack + 1) * self.hosts_per_rack;
        let starts = hosts.flat_map(|host| self.plan.starts(HostId(host)));
        let at = |&flow: &u32| {
            (self.plan.start_time(flow), self.plan.traffic.flows[flow as usize].conn.0)
        };
        self.ahead = starts.map(at).collect();
        self.ahead.sort_unstable_by(|a, b| b.cmp(a));
        self
    }

    /// Reports what begins before `until`, as far as it is known ahead.
    pub fn foresee(&mut self, until: Time) {
        while let Some((_, conn)) = self.ahead.pop_if(|(at, _)| *at < until) {
            self.report(conn);
        }
    }

    /// What was given up by `now` is no longer outstanding: hosts say so as they close a connection.
    pub fn give_up(&mut self, now: Time) {
        while let Some((_, conn)) = self.cuts.pop_if(|(at, _)| *at <= now) {
            let to = self.plan.traffic.conns[conn as usize].dst.0 / self.hosts_per_rack;
            let entry = &mut self.entries[(conn - self.first) as usize];
            self.outstanding[to as usize] -= u64::from(entry.reported - entry.seen);
            entry.seen = entry.reported;
        }
    }

    /// The next flow of `conn` is reported.
    fn report(&mut self, conn: u32) {
        let info = &self.plan.traffic.conns[conn as usize];
        let entry = &mut self.entries[(conn - self.first) as usize];
        if info.carrier != Carrier::Tcp || entry.flows >= info.count {
            return;
        }
        let flow = &self.plan.traffic.flows[(info.first.0 + entry.flows) as usize];
        let segments = self.plan.transport.segments(flow.bytes);
        entry.reported += segments;
        entry.flows += 1;
        self.outstanding[(info.dst.0 / self.hosts_per_rack) as usize] += u64::from(segments);
    }

    /// A segment has come from its host: the first of a flow says how much follows.
    pub fn arrives(&mut self, conn: u32, seq: u32) {
        let Some(entry) = self.entries.get(conn.wrapping_sub(self.first) as usize) else { return };
        if seq < entry.reported {
            return;
        }
        let count = self.plan.traffic.conns[conn as usize].count;
        for _ in entry.flows..count {
            self.report(conn);
            if seq < self.entries[(conn - self.first) as usize].reported {
                return;
            }
        }
    }

    /// A segment has left the rack.
    pub fn leaves(&mut self, conn: u32, seq: u32) {
        let Some(entry) = self.entries.get_mut(conn.wrapping_sub(self.first) as usize) else {
            return;
        };
        let upto = (seq + 1).min(entry.reported);
        if upto > entry.seen {
            let to = self.plan.traffic.conns[conn as usize].dst.0 / self.hosts_per_rack;
            self.outstanding[to as usize] -= u64::from(upto - entry.seen);
            entry.seen = upto;
        }
    }

    /// Outstanding bytes by destination rack.
    pub fn bytes(&self) -> Vec<u64> {
        let segment = u64::from(self.plan.transport.mss());
        self.outstanding.iter().map(|segments| segments * segment).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use slotline_net::node::host::Spread;
    use slotline_net::transport::TransportSpec;
    use slotline_net::transport::congestion::AlgorithmKind;
    use slotline_net::workload::{Start, TrafficBuilder};

    /// Two racks of two hosts: a connection from host 0 to host 2 with flows of so many segments, one each 10 us.
    fn plan(flows: &[u32]) -> Arc<Plan> {
        let transport = TransportSpec::of(AlgorithmKind::NewReno).build().unwrap();
        let mut builder = TrafficBuilder::new(4);
        let conn = builder.connect(HostId(0), HostId(2), Carrier::Tcp, 0).unwrap();
        for (at, segments) in (0..).zip(flows) {
            let bytes = u64::from(*segments) * u64::from(transport.mss());
            builder.flow(conn, bytes, Start::At(Time::us(10).times(at)), None, 0).unwrap();
        }
        Arc::new(Plan::new(builder.finish().unwrap(), transport, Spread::PerPair, 4, 1).unwrap())
    }

    fn segments(ledger: &Ledger) -> u64 {
        ledger.bytes()[1] / u64::from(ledger.plan.transport.mss())
    }

    #[test]
    fn a_flow_is_known_from_its_first_segment_and_segments_count_once() {
        let mut ledger = Ledger::new(plan(&[5, 3]), 0, 2, 2);
        assert_eq!(segments(&ledger), 0);
        ledger.arrives(0, 0);
        assert_eq!(segments(&ledger), 5);
        // The second is sent twice, the third is lost and overtaken: what is behind the furthest is gone.
        [0, 1, 1, 3].into_iter().for_each(|seq| ledger.leaves(0, seq));
        assert_eq!(segments(&ledger), 1);
        ledger.leaves(0, 2);
        ledger.leaves(0, 4);
        assert_eq!(segments(&ledger), 0, "all have left");
        ledger.arrives(0, 5);
        assert_eq!(segments(&ledger), 3, "the next flow");
        ledger.arrives(7, 0);
        assert_eq!(segments(&ledger), 3, "a connection of another rack");
    }

    #[test]
    fn perfect_knows_of_flows_before_they_begin() {
        let plan = plan(&[5, 3, 2]);
        let mut ledger = Ledger::new(Arc::clone(&plan), 0, 2, 2).foreseeing(0);
        ledger.foresee(Time::ZERO);
        assert_eq!(segments(&ledger), 0, "the week ends before any begins");
        ledger.foresee(Time::us(11));
        assert_eq!(segments(&ledger), 8, "two begin within the week");
        // The first segment of a flow that is known already says nothing new.
        ledger.arrives(0, 0);
        ledger.arrives(0, 5);
        assert_eq!(segments(&ledger), 8);
        ledger.leaves(0, 0);
        ledger.foresee(Time::us(50));
        ledger.foresee(Time::us(50));
        assert_eq!(segments(&ledger), 9, "one has left, two more are known, once");
        let mut other = Ledger::new(plan, 1, 2, 2).foreseeing(1);
        other.foresee(Time::s(1));
        assert_eq!(other.bytes(), [0, 0], "nothing begins in the other rack");
    }

    proptest! {
        /// Whatever is sent in whatever order: outstanding is what was reported beyond the furthest segment that left.
        #[test]
        fn outstanding_is_reported_less_seen(
            flows in prop::collection::vec(1u32..6, 1..5), steps in prop::collection::vec(0u32..24, 0..60)
        ) {
            let mut ledger = Ledger::new(plan(&flows), 0, 2, 2);
            let ends: Vec<u32> = flows.iter().scan(0, |sum, n| { *sum += n; Some(*sum) }).collect();
            let (mut reported, mut seen) = (0, 0);
            for seq in steps.into_iter().filter(|seq| seq < ends.last().unwrap()) {
                ledger.arrives(0, seq);
                reported = reported.max(*ends.iter().find(|end| seq < **end).unwrap());
                ledger.leaves(0, seq);
                seen = seen.max(seq + 1);
                prop_assert_eq!(segments(&ledger), u64::from(reported - seen));
            }
        }
    }
}
