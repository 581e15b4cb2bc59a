//! Large flows in rings of racks, small flows between all others.

use super::Start;
use super::job::Job;
use super::options::options;
use super::spec::Generate;
use slotline_base::error::SpecError;
use slotline_base::id::HostId;
use slotline_base::time::Time;
use slotline_base::units::{Bytes, Rate};
use std::collections::BTreeMap;

options! {
    /// Each rack sends large flows to the next one (with several rings, also to the one after that, and so on),
    /// and small flows to all other racks and within itself. The flows of a pair of racks follow each other so
    /// that their mean rate is the share of that pair. They are between random hosts, and their sizes are uniform
    /// from `low` to `high`.
    RackRings {
        /// Rings of large flows.
        rings: u32 = 1,
        /// Rate of the large flows of a rack, in all rings together.
        large_rate: Rate = Rate(26_666_666_667),
        /// Rate of the small flows of a rack to all racks together, if all pairs had small flows.
        small_rate: Rate = Rate(3_333_333_333),
        /// Smallest size of large flows.
        large_low: Bytes = Bytes(9_000_000),
        /// Upper limit of the size of large flows, which no flow reaches.
        large_high: Bytes = Bytes(90_000_000),
        /// Smallest size of small flows.
        small_low: Bytes = Bytes(90_000),
        /// Upper limit of the size of small flows, which no flow reaches.
        small_high: Bytes = Bytes(900_000),
        /// When the first flows start.
        start: Time = Time::ZERO,
        /// No flow starts at or after this time. Default: the end of the run.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<Time> = None,
        /// A flow that is not done this long after its start is given up: nothing more of it is sent. Default:
        /// no flow is given up.
        #[serde(skip_serializing_if = "Option::is_none")]
        give_up: Option<Time> = None,
        /// Priority class, 0 to 7.
        #[schemars(range(max = 7))]
        class: u8 = 0,
    }
}

impl RackRings {
    fn check(&self, racks: usize) -> Result<(), SpecError> {
        if racks < 2 {
            return Err(SpecError::new("kind", "rings of racks need at least two racks"));
        }
        if self.rings == 0 || self.rings as usize >= racks {
            let why = format!("`rings` = {} must be from 1 to {}", self.rings, racks - 1);
            return Err(SpecError::new("rings", why));
        }
        let sizes = [
            ("large-low", self.large_low, self.large_high),
            ("small-low", self.small_low, self.small_high),
        ];
        for (key, low, high) in sizes {
            if low.0 == 0 || low >= high {
                let why = format!("`{key}` is {low}: expected more than zero and less than {high}");
                return Err(SpecError::new(key, why));
            }
        }
        if self.give_up == Some(Time::ZERO) {
            let why = "`give-up` is 0s: no flow could begin; leave it out to give up no flow";
            return Err(SpecError::new("give-up", why));
        }
        for (key, rate) in [("large-rate", self.large_rate), ("small-rate", self.small_rate)] {
            if rate.0 == 0 {
                return Err(SpecError::new(
                    key,
                    format!("`{key}` is 0: expected a rate such as \"10Gbps\""),
                ));
            }
        }
        Ok(())
    }

    /// The flows of one pair of racks: their rate, smallest size and upper limit of size.
    fn pair(&self, from: usize, to: usize, racks: usize) -> (u64, Bytes, Bytes) {
        let ahead = (to + racks - from) % racks;
        match (1..=self.rings as usize).contains(&ahead) {
            true => (self.large_rate.0 / u64::from(self.rings), self.large_low, self.large_high),
            false => (self.small_rate.0 / racks as u64, self.small_low, self.small_high),
        }
    }
}

impl Generate for RackRings {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        let mut by_edge: BTreeMap<u32, Vec<HostId>> = BTreeMap::new();
        for (host, place) in (0..).zip(&job.setting.fabric.hosts) {
            by_edge.entry(place.edge).or_default().push(HostId(host));
        }
        let racks: Vec<Vec<HostId>> = by_edge.into_values().collect();
        self.check(racks.len())?;
        let end = job.end(self.start, self.until)?;
        for (from, sources) in racks.iter().enumerate() {
            for (to, sinks) in racks.iter().enumerate() {
                if from == to && sources.len() < 2 {
                    continue;
                }
                let (rate, low, high) = self.pair(from, to, racks.len());
                job.begin_part((from * racks.len() + to) as u64);
                let mut at = self.start;
                while at < end {
                    let src = sources[job.rng.below(sources.len() as u64) as usize];
                    let others: Vec<HostId> = sinks.iter().copied().filter(|h| *h != src).collect();
                    let dst = others[job.rng.below(others.len() as u64) as usize];
                    let size = low.0 + job.rng.below(high.0 - low.0);
                    let conn = job.tcp(src, dst, self.class)?;
                    job.send(conn, Bytes(size), Start::At(at), None)?;
                    self.give_up.into_iter().for_each(|after| job.out.give_up(conn, after));
                    at = at.after(Rate(rate.max(1)).time_for(Bytes(size)));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::WorkloadSpec;
    use super::super::job::{HostLocation, HostMap};
    use super::super::testing::{made, refusal};
    use super::*;

    fn shape(racks: u32, hosts: u32) -> HostMap {
        let rate = Rate(10_000_000_000);
        let place = |host: u32| HostLocation { pod: host / hosts, edge: host / hosts, rate };
        HostMap { hosts: (0..racks * hosts).map(place).collect() }
    }

    /// Etalon's own generator makes 11,799 small and 1,089 large flows for one ring, 10,113 and 1,083 for two.
    #[test]
    fn as_many_flows_as_in_etalon() {
        for (rings, small, large) in [(1, 11_799.0, 1_089.0), (2, 10_113.0, 1_083.0)] {
            let spec = RackRings { rings, ..RackRings::default() };
            let traffic = made(&WorkloadSpec::RackRings(spec), &shape(8, 16));
            // Etalon's runs last 2 s, these end after 1 s.
            let count = |wanted: fn(u64) -> bool| {
                2.0 * traffic.flows.iter().filter(|flow| wanted(flow.bytes)).count() as f64
            };
            let (few, many) = (count(|bytes| bytes >= 9_000_000), count(|bytes| bytes < 900_000));
            assert!((few / large - 1.0).abs() < 0.05, "{few} large");
            assert!((many / small - 1.0).abs() < 0.02, "{many} small");
            for flow in &traffic.flows {
                let conn = &traffic.conns[flow.conn.at()];
                let ahead = (conn.dst.0 / 16 + 8 - conn.src.0 / 16) % 8;
                assert_eq!((1..=rings).contains(&ahead), flow.bytes >= 9_000_000);
            }
        }
    }

    #[test]
    fn flows_are_given_up_where_that_is_asked_for() {
        let spec = RackRings { give_up: Some(Time::s(2)), ..RackRings::default() };
        let traffic = made(&WorkloadSpec::RackRings(spec), &shape(8, 16));
        assert_eq!(traffic.cuts.len(), traffic.conns.len());
        assert!(
            traffic
                .cuts
                .iter()
                .zip(0..)
                .all(|((conn, after), at)| { conn.0 == at && *after == Time::s(2) })
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let no = |spec: RackRings, racks| refusal(&WorkloadSpec::RackRings(spec), &shape(racks, 2));
        let until = Some(Time::ms(1));
        let spec = RackRings { until, ..RackRings::default() };
        assert!(no(spec.clone(), 1).contains("two racks"));
        assert!(no(RackRings { rings: 4, ..spec.clone() }, 4).contains("from 1 to 3"));
        assert!(no(RackRings { small_low: Bytes(0), ..spec.clone() }, 4).contains("small-low"));
        let at_once = RackRings { give_up: Some(Time::ZERO), ..spec.clone() };
        assert!(no(at_once, 4).contains("give-up"));
        assert!(no(RackRings { large_rate: Rate(0), ..spec }, 4).contains("large-rate"));
    }
}
