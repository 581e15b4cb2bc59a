//! Measures the cost of a scheduling event of XCo at the size of the paper's largest network and beyond (§5.2): CPU
//! time of one thread, from news to directives.

use crate::Row;
use slotline_lab::usage;
use slotline_net::id::HostId;
use slotline_net::rng::Stream;
use slotline_net::scheme::{Control, Decision, Network, News, Plan};
use slotline_net::time::Time;
use slotline_net::units::Rate;
use slotline_xco::spec::{Fairness, XcoSpec};

/// One case: a tree of racks of 20 hosts, rows of 10 racks and one core switch; links of hosts at
/// 1 Gbit/s, all others at 10. One half of the hosts sends to the other half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// Hosts: a multiple of 400.
    pub hosts: u32,
    /// Destinations for which each sender always has packets.
    pub destinations: u32,
    /// The order of service.
    pub fairness: Fairness,
}

const RACK: u32 = 20;
const ROW: u32 = 200;
const GBPS: u64 = 1_000_000_000;

/// The cases of `slotline bench xco`.
pub fn cases() -> Vec<Case> {
    let of = |fairness| {
        let case = |(hosts, destinations)| Case { hosts, destinations, fairness };
        [(4_800, 1), (4_800, 8), (19_200, 1), (19_200, 8)].map(case)
    };
    [of(Fairness::RoundRobin), of(Fairness::MaxMin)].concat()
}

impl Case {
    /// Runs the case in this thread, with `events` events of each sort.
    pub fn run(&self, events: usize) -> Vec<Row> {
        let mut bench = Bench::new(self);
        let mut ends: Vec<f64> = (0..events + 4).map(|_| bench.slice_ends()).skip(4).collect();
        let mut returns: Vec<f64> = (0..events).map(|_| bench.slice_given_back()).collect();
        let mut rows = Vec::new();
        for (name, each) in [("slices_end", &mut ends), ("slice_returned", &mut returns)] {
            each.sort_unstable_by(f64::total_cmp);
            rows.push(self.row(&format!("{name}/median"), each[each.len() / 2], "us"));
            rows.push(self.row(&format!("{name}/worst"), each[each.len() - 1], "us"));
        }
        rows.push(self.row("permitted", bench.permitted().count() as f64, "hosts"));
        rows
    }
    fn row(&self, name: &str, value: f64, unit: &str) -> Row {
        let fairness = match self.fairness {
            Fairness::RoundRobin => "round-robin",
            Fairness::MaxMin => "max-min",
        };
        Row {
            name: name.into(),
            scenario: format!("{} x {}", self.hosts, self.destinations),
            scheme: fairness.into(),
            threads: 1,
            value,
            unit: unit.into(),
        }
    }
    /// Directed links: up and down of hosts, racks and rows, in this order.
    fn network(&self) -> Network {
        let (hosts, racks, rows) = (self.hosts, self.hosts / RACK, self.hosts / ROW);
        let mut capacity = vec![Rate(GBPS); 2 * hosts as usize];
        capacity.resize(2 * (hosts + racks + rows) as usize, Rate(10 * GBPS));
        Network::new(hosts as usize, capacity, move |src, dst, out| {
            let (rack, row) = (2 * hosts, 2 * (hosts + racks));
            out.push(src.0);
            if src.0 / RACK != dst.0 / RACK {
                out.push(rack + src.0 / RACK);
                if src.0 / ROW != dst.0 / ROW {
                    out.extend([row + src.0 / ROW, row + rows + dst.0 / ROW]);
                }
                out.push(rack + racks + dst.0 / RACK);
            }
            out.push(hosts + dst.0);
        })
    }
}

/// A scheduler that always has work, and its last permissions.
struct Bench {
    control: Box<dyn Control>,
    now: Time,
    next: Time,
    plan: Plan,
    /// For each host, its destination and the time until which it may send.
    active: Vec<Option<(HostId, Time)>>,
    /// The report of each sender, which is always the same.
    backlog: Vec<Vec<HostId>>,
    stream: Stream,
}

impl Bench {
    fn new(case: &Case) -> Bench {
        let spec = XcoSpec { fairness: case.fairness, ..XcoSpec::default() };
        let control = spec.build().expect("defaults are right").control(case.network());
        let half = case.hosts / 2;
        // The first destination is the corresponding host, as in the paper; further ones are in other rows.
        let group = |src: u32| {
            let to = |at: u32| HostId(half + (src + at * (ROW + 1)) % half);
            (0..case.destinations).map(to).collect()
        };
        let mut bench = Bench {
            control,
            now: Time::ZERO,
            next: Time::ZERO,
            plan: Plan::new(),
            active: vec![None; case.hosts as usize],
            backlog: (0..half).map(group).collect(),
            stream: Stream::named(1, "bench.xco", 0),
        };
        for host in 0..half {
            let host = HostId(host);
            bench.control.observe(&News::backlog(host, &bench.backlog[host.at()]), bench.now);
        }
        bench.decide();
        bench
    }
    /// CPU time of one decision in microseconds.
    fn decide(&mut self) -> f64 {
        self.plan.clear();
        let began = usage::thread_cpu_s();
        let next = self.control.decide(self.now, &mut self.plan);
        let spent = (usage::thread_cpu_s() - began) * 1e6;
        self.next = next.expect("there is always something to send");
        for decision in &self.plan {
            if let Decision::Window { src, dst, until, .. } = *decision {
                self.active[src.at()] = dst.map(|dst| (dst, until));
            }
        }
        spent
    }
    /// Scheduling event 1: the next timeslices to end are over.
    fn slice_ends(&mut self) -> f64 {
        self.now = self.next;
        self.decide()
    }
    /// Scheduling event 2: a host returns its timeslice. (It then reports the same backlog again, which is not
    /// measured.)
    fn slice_given_back(&mut self) -> f64 {
        let hosts: Vec<usize> = self.permitted().collect();
        let at = hosts[self.stream.below(hosts.len() as u64) as usize];
        let (host, permitted) = (HostId(at as u32), self.active[at].take());
        let (dst, _) = permitted.expect("it is active");
        self.now = self.now.after(Time::us(1)).min(self.next);
        let began = usage::thread_cpu_s();
        self.control.observe(&News::Released { host, dst }, self.now);
        let spent = (usage::thread_cpu_s() - began) * 1e6 + self.decide();
        self.control.observe(&News::backlog(host, &self.backlog[at]), self.now);
        self.decide();
        spent
    }
    fn permitted(&self) -> impl Iterator<Item = usize> + '_ {
        let now = |at: &usize| self.active[*at].is_some_and(|(_, until)| until > self.now);
        (0..self.backlog.len()).filter(now)
    }
}

/// The number of measured events of each sort.
const EVENTS: usize = 400;

/// Measures all cases.
pub fn rows() -> Vec<Row> {
    cases().iter().flat_map(|case| case.run(EVENTS)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any ten hosts of each sending row fill the link of the row.
    #[test]
    fn the_core_is_full() {
        for case in cases().into_iter().filter(|case| case.hosts == 4_800) {
            let rows = case.run(2);
            let permitted = rows.iter().find(|row| row.name == "permitted").unwrap();
            assert!((108.0..=120.0).contains(&permitted.value), "{rows:?}");
            assert!(rows.iter().all(|row| row.value > 0.0), "{rows:?}");
        }
    }
}
