//! The demand of a rack, which it reports to the scheduler of circuits.

use serde::{Deserialize, Serialize};
use slotline_net::id::HostId;
use slotline_net::node::host::Plan;
use slotline_net::time::Time;
use slotline_net::topology::RackHosts;
use slotline_net::workload::Carrier;
use std::sync::Arc;

/// The source of the demand.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum DemandKind {
    /// The bytes in the queues of the rack's switch.
    #[default]
    Voq,
    /// The bytes that hosts have announced: of each flow, those that were reported and have not yet left the
    /// rack. The report is a field in the first segment of a flow.
    ///
    /// Source: "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018,
    /// section 5.2.
    Adu,
    /// As `adu`, and also the flows with a known start that begin before the end of the planned week.
    Perfect,
}

/// The state of one connection.
#[derive(Clone, Copy, Default, Debug)]
struct Entry {
    /// The segments of all reported flows.
    reported: u32,
    /// The segments up to the furthest that has left the rack. Each counts once, however often it is sent.
    seen: u32,
    /// The number of reported flows.
    flows: u32,
}

/// The reported and outstanding payload of the connections that begin in one rack.
pub struct DemandEstimator {
    plan: Arc<Plan>,
    rack: u32,
    /// The first connection of the rack.
    first: u32,
    entries: Vec<Entry>,
    /// The connections that are added while the run goes on, those of other racks included.
    late: Vec<Entry>,
    /// The outstanding payload by destination rack, in segments.
    outstanding: Vec<u64>,
    hosts: RackHosts,
    /// The start and the connection of flows with a known start that are not yet reported, the last flow first.
    known_starts: Vec<(Time, u32)>,
    /// When each connection is given up, the last one first.
    given_up: Vec<(Time, u32)>,
}

impl DemandEstimator {
    /// An estimator for the hosts of `rack`, one of `racks` racks with these hosts.
    pub fn new(plan: Arc<Plan>, rack: u32, racks: u32, hosts: RackHosts) -> DemandEstimator {
        let own = hosts.of(rack);
        let first = plan.sends(HostId(own.start)).start;
        let last = plan.sends(HostId(own.end - 1)).end;
        let mut given_up: Vec<(Time, u32)> = (first..last)
            .filter_map(|conn| {
                let begun = plan.start_time(plan.traffic.conns[conn as usize].first.0);
                plan.gives_up(conn).map(|after| (begun.after(after), conn))
            })
            .collect();
        given_up.sort_unstable_by(|a, b| b.cmp(a));
        DemandEstimator {
            given_up,
            entries: vec![Entry::default(); (last - first) as usize],
            late: Vec::new(),
            rack,
            outstanding: vec![0; racks as usize],
            plan,
            first,
            hosts,
            known_starts: Vec::new(),
        }
    }

    /// The same estimator, which also knows the flows of `rack` that have a known start.
    pub fn with_known_starts(mut self, rack: u32) -> DemandEstimator {
        let starts = self.hosts.of(rack).flat_map(|host| self.plan.starts(HostId(host)));
        let at = |&flow: &u32| {
            (self.plan.start_time(flow), self.plan.traffic.flows[flow as usize].conn.0)
        };
        self.known_starts = starts.map(at).collect();
        self.known_starts.sort_unstable_by(|a, b| b.cmp(a));
        self
    }

    /// The bytes to each rack that a report at `now` for a week that ends at `end` contains.
    pub fn report(&mut self, end: Time, now: Time) -> Vec<u64> {
        self.report_starts_before(end);
        self.give_up(now);
        self.bytes()
    }

    /// Reports the flows with a known start that begin before `until`.
    fn report_starts_before(&mut self, until: Time) {
        while let Some((_, conn)) = self.known_starts.pop_if(|(at, _)| *at < until) {
            self.report_next(conn);
        }
    }

    /// Connections that were given up by `now` have nothing outstanding, because hosts report that they close one.
    fn give_up(&mut self, now: Time) {
        while let Some((_, conn)) = self.given_up.pop_if(|(at, _)| *at <= now) {
            let to = self.destination(conn);
            let entry = &mut self.entries[(conn - self.first) as usize];
            self.outstanding[to] -= u64::from(entry.reported - entry.seen);
            entry.seen = entry.reported;
        }
    }

    /// The rack to which `conn` leads.
    fn destination(&self, conn: u32) -> usize {
        self.hosts.rack(self.plan.conn(conn).dst) as usize
    }

    /// The state of a connection that begins in this rack.
    #[inline]
    fn entry(&mut self, conn: u32) -> Option<&mut Entry> {
        let place = conn.wrapping_sub(self.first) as usize;
        if place < self.entries.len() { self.entries.get_mut(place) } else { self.late_entry(conn) }
    }

    #[cold]
    fn late_entry(&mut self, conn: u32) -> Option<&mut Entry> {
        let place = conn.checked_sub(self.plan.traffic.conns.len() as u32)? as usize;
        if self.hosts.rack(self.plan.conn_if_any(conn)?.src) != self.rack {
            return None;
        }
        self.late.resize(self.late.len().max(place + 1), Entry::default());
        self.late.get_mut(place)
    }

    /// The next flow of `conn` is reported.
    fn report_next(&mut self, conn: u32) {
        let plan = Arc::clone(&self.plan);
        let info = plan.conn(conn);
        let Some(entry) = self.entry(conn) else { return };
        if info.carrier != Carrier::Tcp || entry.flows >= info.count {
            return;
        }
        let flow = plan.flow(info.first.0 + entry.flows);
        let segments = plan.transport.segments(flow.bytes);
        entry.reported += segments;
        entry.flows += 1;
        let to = self.destination(conn);
        self.outstanding[to] += u64::from(segments);
    }

    /// A segment has arrived from its host. The first segment of a flow says how many follow.
    pub fn arrives(&mut self, conn: u32, seq: u32) {
        let Some(&mut Entry { reported, flows, .. }) = self.entry(conn) else { return };
        if seq < reported {
            return;
        }
        for _ in flows..self.plan.conn(conn).count {
            self.report_next(conn);
            if self.entry(conn).is_some_and(|entry| seq < entry.reported) {
                return;
            }
        }
    }

    /// A segment has left the rack.
    pub fn leaves(&mut self, conn: u32, seq: u32) {
        let Some(entry) = self.entry(conn) else { return };
        let upto = (seq + 1).min(entry.reported);
        let more = upto.saturating_sub(entry.seen);
        entry.seen += more;
        if more > 0 {
            let to = self.destination(conn);
            self.outstanding[to] -= u64::from(more);
        }
    }

    /// The outstanding bytes by destination rack.
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

    /// Two racks of two hosts. A connection from host 0 to host 2 has flows with these segments, one every 10 us.
    fn plan(flows: &[u32]) -> Arc<Plan> {
        let transport = TransportSpec::of(AlgorithmKind::NewReno).build().unwrap();
        let mut builder = TrafficBuilder::new(4);
        let conn = builder.connect(HostId(0), HostId(2), Carrier::Tcp, 0).unwrap();
        for (at, segments) in (0..).zip(flows) {
            let bytes = u64::from(*segments) * u64::from(transport.mss());
            builder.flow(conn, bytes, Start::At(Time::us(10).times(at)), None, 0).unwrap();
        }
        Arc::new(
            Plan::new(builder.finish().unwrap(), transport, Spread::PerPair, (0..4).collect(), 1)
                .unwrap(),
        )
    }

    fn two_each() -> RackHosts {
        RackHosts::new([2, 2].into_iter())
    }

    fn segments(estimator: &DemandEstimator) -> u64 {
        estimator.bytes()[1] / u64::from(estimator.plan.transport.mss())
    }

    #[test]
    fn a_flow_is_known_from_its_first_segment_and_segments_count_once() {
        let mut estimator = DemandEstimator::new(plan(&[5, 3]), 0, 2, two_each());
        assert_eq!(segments(&estimator), 0);
        estimator.arrives(0, 0);
        assert_eq!(segments(&estimator), 5);
        // The second is sent twice, the third is lost and overtaken: all up to the furthest have left.
        [0, 1, 1, 3].into_iter().for_each(|seq| estimator.leaves(0, seq));
        assert_eq!(segments(&estimator), 1);
        estimator.leaves(0, 2);
        estimator.leaves(0, 4);
        assert_eq!(segments(&estimator), 0, "all have left");
        estimator.arrives(0, 5);
        assert_eq!(segments(&estimator), 3, "the next flow");
        estimator.arrives(7, 0);
        assert_eq!(segments(&estimator), 3, "a connection of another rack");
    }

    #[test]
    fn perfect_knows_of_flows_before_they_begin() {
        let plan = plan(&[5, 3, 2]);
        let mut estimator =
            DemandEstimator::new(Arc::clone(&plan), 0, 2, two_each()).with_known_starts(0);
        estimator.report_starts_before(Time::ZERO);
        assert_eq!(segments(&estimator), 0, "the week ends before any begins");
        estimator.report_starts_before(Time::us(11));
        assert_eq!(segments(&estimator), 8, "two begin within the week");
        // The first segment of a known flow reports nothing new.
        estimator.arrives(0, 0);
        estimator.arrives(0, 5);
        assert_eq!(segments(&estimator), 8);
        estimator.leaves(0, 0);
        estimator.report_starts_before(Time::us(50));
        estimator.report_starts_before(Time::us(50));
        assert_eq!(segments(&estimator), 9, "one has left, two more are known, once");
        let mut other = DemandEstimator::new(plan, 1, 2, two_each()).with_known_starts(1);
        other.report_starts_before(Time::s(1));
        assert_eq!(other.bytes(), [0, 0], "nothing begins in the other rack");
    }

    proptest! {
        /// In any order of segments, those that were reported beyond the furthest one that left are outstanding.
        #[test]
        fn outstanding_is_reported_less_seen(
            flows in prop::collection::vec(1u32..6, 1..5), steps in prop::collection::vec(0u32..24, 0..60)
        ) {
            let mut estimator = DemandEstimator::new(plan(&flows), 0, 2, two_each());
            let ends: Vec<u32> = flows.iter().scan(0, |sum, n| { *sum += n; Some(*sum) }).collect();
            let (mut reported, mut seen) = (0, 0);
            for seq in steps.into_iter().filter(|seq| seq < ends.last().unwrap()) {
                estimator.arrives(0, seq);
                reported = reported.max(*ends.iter().find(|end| seq < **end).unwrap());
                estimator.leaves(0, seq);
                seen = seen.max(seq + 1);
                prop_assert_eq!(segments(&estimator), u64::from(reported - seen));
            }
        }
    }
}
