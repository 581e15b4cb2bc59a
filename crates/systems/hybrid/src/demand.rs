//! The demand of a rack, which it reports to the scheduler of circuits.

use serde::{Deserialize, Serialize};
use slotline_net::id::HostId;
use slotline_net::node::host::Plan;
use slotline_net::rng::Stream;
use slotline_net::time::Time;
use slotline_net::topology::RackHosts;
use slotline_net::workload::Carrier;
use std::collections::BTreeMap;
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
    /// rack. The report is a field in the first segment of a flow, or a message (`adu-delay`).
    ///
    /// Source: "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018,
    /// section 5.2.
    Adu,
    /// As `adu`, and also the flows with a known start that begin before the end of the planned week.
    Perfect,
}

/// The control network over which hosts report each flow when their application writes it.
#[derive(Clone, Debug)]
pub struct Messages {
    /// From the write to the arrival of the report.
    pub delay: Time,
    /// The probability that a message is lost.
    pub loss: f64,
    /// After this time without an answer, a message is sent again, and after twice the time the next time.
    pub retry: Time,
    /// Decides which messages are lost.
    pub stream: Stream,
}

/// More losses of one message in a row are not drawn.
const MOST_LOSSES: u32 = 8;

impl Messages {
    /// When a message that is sent at `now` arrives.
    fn arrival(&mut self, now: Time) -> Time {
        let lost = (0..MOST_LOSSES).take_while(|_| self.stream.unit() < self.loss).count();
        let waits = (1u64 << lost) - 1;
        now.after(self.retry.times(waits)).after(self.delay)
    }
}

/// The reports of one rack's hosts that are on their way.
struct OnTheWay {
    messages: Messages,
    /// By time of arrival and number, the connection whose next flow is reported.
    reports: BTreeMap<(Time, u64), u32>,
    sent: u64,
    /// When the last report of each host arrives. TCP delivers in order.
    last: BTreeMap<HostId, Time>,
    /// By connection, its flows that have been written, and their segments.
    written: BTreeMap<u32, (u32, u32)>,
}

impl OnTheWay {
    fn new(messages: Messages) -> OnTheWay {
        let (reports, last, written) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        OnTheWay { messages, reports, sent: 0, last, written }
    }
    /// The application on `host` writes the next flow of `conn`, which has these segments, at `now`.
    fn write(&mut self, host: HostId, conn: u32, segments: u32, now: Time) {
        let last = self.last.entry(host).or_default();
        *last = self.messages.arrival(now).max(*last);
        self.reports.insert((*last, self.sent), conn);
        self.sent += 1;
        let (flows, written) = self.written.entry(conn).or_default();
        (*flows, *written) = (*flows + 1, *written + segments);
    }
    /// A connection whose report has arrived by `now`.
    fn arrived(&mut self, now: Time) -> Option<u32> {
        let first = self.reports.first_entry().filter(|first| first.key().0 <= now)?;
        Some(first.remove())
    }
    fn written(&self, conn: u32) -> (u32, u32) {
        self.written.get(&conn).copied().unwrap_or_default()
    }
}

/// The state of one connection.
#[derive(Clone, Copy, Default, Debug)]
struct Entry {
    /// The segments of all reported flows.
    reported: u32,
    /// The segments up to the furthest that has left the rack. Each counts once, however often it is sent. With late
    /// reports this may be more than is reported.
    seen: u32,
    /// The number of reported flows.
    flows: u32,
}

impl Entry {
    /// The segments that are reported and have not left.
    fn outstanding(&self) -> u64 {
        self.reported.saturating_sub(self.seen).into()
    }
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
    /// The reports on their way, if they are messages and not fields of segments.
    on_the_way: Option<OnTheWay>,
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
            on_the_way: None,
        }
    }

    /// The same estimator, to which hosts report by messages. A flow with a known start is written when it starts, any
    /// other when its first segment arrives.
    pub fn with_messages(self, messages: Messages) -> DemandEstimator {
        let rack = self.rack;
        let on_the_way = Some(OnTheWay::new(messages));
        DemandEstimator { on_the_way, ..self.with_known_starts(rack) }
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
        if self.on_the_way.is_some() {
            self.receive_reports(now);
        } else {
            self.report_starts_before(end);
        }
        self.give_up(now);
        self.bytes()
    }

    /// Reports the flows with a known start that begin before `until`.
    fn report_starts_before(&mut self, until: Time) {
        while let Some((_, conn)) = self.known_starts.pop_if(|(at, _)| *at < until) {
            self.report_next(conn);
        }
    }

    /// Sends the reports of all flows that have been written by `now`, and takes those that have arrived.
    fn receive_reports(&mut self, now: Time) {
        while let Some((at, conn)) = self.known_starts.pop_if(|(at, _)| *at <= now) {
            self.write_next(conn, at);
        }
        while let Some(conn) = self.on_the_way.as_mut().and_then(|way| way.arrived(now)) {
            self.report_next(conn);
        }
    }

    /// The application writes the next flow of `conn`, if there is one.
    fn write_next(&mut self, conn: u32, now: Time) {
        let Some(way) = &mut self.on_the_way else { return };
        let info = self.plan.conn(conn);
        let (flows, _) = way.written(conn);
        if info.carrier != Carrier::Tcp || flows >= info.count {
            return;
        }
        let flow = self.plan.flow(info.first.0 + flows);
        way.write(info.src, conn, self.plan.transport.segments(flow.bytes), now);
    }

    /// Segment `seq` arrives, so its flow has been written.
    fn is_written(&mut self, conn: u32, seq: u32, now: Time) {
        self.receive_reports(now);
        for _ in 0..self.plan.conn(conn).count {
            if self.on_the_way.as_ref().is_none_or(|way| seq < way.written(conn).1) {
                return;
            }
            self.write_next(conn, now);
        }
    }

    /// Connections that were given up by `now` have nothing outstanding, because hosts report that they close one.
    fn give_up(&mut self, now: Time) {
        while let Some((_, conn)) = self.given_up.pop_if(|(at, _)| *at <= now) {
            let to = self.destination(conn);
            let entry = &mut self.entries[(conn - self.first) as usize];
            self.outstanding[to] -= entry.outstanding();
            // A report that arrives later says nothing any more.
            entry.seen = if self.on_the_way.is_some() { u32::MAX } else { entry.reported };
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
        let before = entry.outstanding();
        entry.reported += segments;
        entry.flows += 1;
        let more = entry.outstanding() - before;
        let to = self.destination(conn);
        self.outstanding[to] += more;
    }

    /// A segment has arrived from its host at `now`. The first segment of a flow says how many follow, unless messages
    /// do.
    pub fn arrives(&mut self, conn: u32, seq: u32, now: Time) {
        if self.on_the_way.is_some() {
            return self.is_written(conn, seq, now);
        }
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
        let before = entry.outstanding();
        entry.seen = entry.seen.max(seq + 1);
        let less = before - entry.outstanding();
        if less > 0 {
            let to = self.destination(conn);
            self.outstanding[to] -= less;
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
        estimator.arrives(0, 0, Time::ZERO);
        assert_eq!(segments(&estimator), 5);
        // The second is sent twice, the third is lost and overtaken: all up to the furthest have left.
        [0, 1, 1, 3].into_iter().for_each(|seq| estimator.leaves(0, seq));
        assert_eq!(segments(&estimator), 1);
        estimator.leaves(0, 2);
        estimator.leaves(0, 4);
        assert_eq!(segments(&estimator), 0, "all have left");
        estimator.arrives(0, 5, Time::ZERO);
        assert_eq!(segments(&estimator), 3, "the next flow");
        estimator.arrives(7, 0, Time::ZERO);
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
        estimator.arrives(0, 0, Time::ZERO);
        estimator.arrives(0, 5, Time::ZERO);
        assert_eq!(segments(&estimator), 8);
        estimator.leaves(0, 0);
        estimator.report_starts_before(Time::us(50));
        estimator.report_starts_before(Time::us(50));
        assert_eq!(segments(&estimator), 9, "one has left, two more are known, once");
        let mut other = DemandEstimator::new(plan, 1, 2, two_each()).with_known_starts(1);
        other.report_starts_before(Time::s(1));
        assert_eq!(other.bytes(), [0, 0], "nothing begins in the other rack");
    }

    fn messages(delay: Time, loss: f64) -> Messages {
        let stream = Stream::named(1, "circuits.reports", 0);
        Messages { delay, loss, retry: Time::ms(200), stream }
    }

    #[test]
    fn a_message_arrives_after_its_delay_and_counts_what_has_not_left() {
        let mut estimator = DemandEstimator::new(plan(&[5, 3]), 0, 2, two_each())
            .with_messages(messages(Time::us(100), 0.0));
        let mut at = |us: u64| {
            estimator.report(Time::MAX, Time::us(us));
            segments(&estimator)
        };
        assert_eq!((at(0), at(99), at(100)), (0, 0, 5), "written at 0 us");
        assert_eq!((at(109), at(110)), (5, 8), "written at 10 us");
        let mut late = DemandEstimator::new(plan(&[5, 3]), 0, 2, two_each())
            .with_messages(messages(Time::us(100), 0.0));
        late.arrives(0, 0, Time::us(3));
        late.leaves(0, 0);
        late.leaves(0, 1);
        assert_eq!(segments(&late), 0);
        late.report(Time::MAX, Time::us(105));
        assert_eq!(segments(&late), 3, "two had left before the report came");
        late.leaves(0, 6);
        late.report(Time::MAX, Time::us(200));
        assert_eq!(segments(&late), 1, "seven of eight have left");
    }

    /// Reports arrive in the order of writes. A lost one delays those after it by the time-out, twice that, and so on.
    #[test]
    fn a_lost_message_is_sent_again() {
        let mut never = messages(Time::us(100), 0.0);
        assert_eq!(never.arrival(Time::us(7)), Time::us(107));
        let mut always = messages(Time::us(100), 1.0);
        assert_eq!(always.arrival(Time::ZERO), Time::ms(200 * 255).after(Time::us(100)));
        let mut half = messages(Time::us(100), 0.5);
        let late = (0..10_000).filter(|_| half.arrival(Time::ZERO) > Time::us(100)).count();
        assert!((4_700..5_300).contains(&late), "{late}");
        let mut way = OnTheWay::new(always);
        way.write(HostId(0), 7, 1, Time::ZERO);
        way.messages.loss = 0.0;
        way.write(HostId(0), 8, 1, Time::us(1));
        way.write(HostId(1), 9, 1, Time::us(2));
        assert_eq!(way.arrived(Time::s(1)), Some(9));
        assert_eq!(way.arrived(Time::s(1)), None);
        let last = (way.arrived(Time::s(60)), way.arrived(Time::s(60)));
        assert_eq!(last, (Some(7), Some(8)));
    }

    proptest! {
        /// Without delay and loss, messages say what the first segments of flows say.
        #[test]
        fn immediate_messages_are_fields_of_first_segments(
            flows in prop::collection::vec(1u32..6, 1..5), steps in prop::collection::vec((0u32..24, any::<bool>()), 0..60)
        ) {
            let estimator = || DemandEstimator::new(plan(&flows), 0, 2, two_each());
            let mut fields = estimator();
            let mut told = estimator().with_messages(messages(Time::ZERO, 0.0));
            // All flows are written at some time of this run, known or not.
            told.known_starts.clear();
            for (seq, leaves) in steps.into_iter().filter(|(seq, _)| *seq < flows.iter().sum()) {
                for (estimator, now) in [(&mut fields, Time::s(1)), (&mut told, Time::s(1))] {
                    estimator.arrives(0, seq, now);
                    if leaves {
                        estimator.leaves(0, seq);
                    }
                    estimator.report(Time::ZERO, now);
                }
                prop_assert_eq!(segments(&fields), segments(&told));
            }
        }
        /// In any order of segments, those that were reported beyond the furthest one that left are outstanding.
        #[test]
        fn outstanding_is_reported_less_seen(
            flows in prop::collection::vec(1u32..6, 1..5), steps in prop::collection::vec(0u32..24, 0..60)
        ) {
            let mut estimator = DemandEstimator::new(plan(&flows), 0, 2, two_each());
            let ends: Vec<u32> = flows.iter().scan(0, |sum, n| { *sum += n; Some(*sum) }).collect();
            let (mut reported, mut seen) = (0, 0);
            for seq in steps.into_iter().filter(|seq| seq < ends.last().unwrap()) {
                estimator.arrives(0, seq, Time::ZERO);
                reported = reported.max(*ends.iter().find(|end| seq < **end).unwrap());
                estimator.leaves(0, seq);
                seen = seen.max(seq + 1);
                prop_assert_eq!(segments(&estimator), u64::from(reported - seen));
            }
        }
    }
}
