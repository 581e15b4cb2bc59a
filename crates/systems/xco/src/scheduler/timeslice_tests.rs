use super::*;
use crate::spec::XcoSpec;
use proptest::prelude::*;
use slotline_net::rng::{Stream, mix64};
use std::collections::BTreeSet;

const SLICE: Time = Time::ms(10);
const G: u64 = 1_000_000_000;

fn options(protect: Option<Time>) -> Xco {
    XcoSpec { protect, ..XcoSpec::default() }.build().unwrap()
}

/// `senders` hosts and as many receivers (or one) on either side of one link of `middle` Gbit/s, as in
/// Figure 1. Links: each host's own, each host's from its switch, the one in the middle.
fn dumbbell(senders: u32, receivers: u32, middle: u64) -> Network {
    let hosts = senders + receivers;
    let mut capacity = vec![Rate(G); 2 * hosts as usize];
    capacity.push(Rate(middle * G));
    Network::new(hosts as usize, capacity, move |src, dst, out| {
        out.extend([src.0, 2 * hosts, hosts + dst.0]);
    })
}

fn report(control: &mut Timeslice, src: u32, dsts: &[u32], now: Time) {
    let destinations: Vec<HostId> = dsts.iter().copied().map(HostId).collect();
    control.observe(&News::backlog(HostId(src), &destinations), now);
}

/// The senders permitted in each of `slices` successive schedules.
fn schedules(mut control: Timeslice, backlog: &[(u32, u32)], slices: usize) -> Vec<BTreeSet<u32>> {
    backlog.iter().for_each(|&(src, dst)| report(&mut control, src, &[dst], Time::ZERO));
    let mut now = Time::ZERO;
    let schedule = |_| {
        let mut plan = Plan::new();
        let next = control.decide(now, &mut plan).unwrap();
        assert_eq!(next, now + SLICE);
        let permitted = plan.iter().filter_map(|decision| match *decision {
            Decision::Window { src, dst: Some(_), until, .. } if until == next => Some(src.0),
            _ => None,
        });
        let permitted = permitted.collect();
        now = next;
        permitted
    };
    (0..slices).map(schedule).collect()
}

/// Figure 10(a): five senders to one receiver, one at a time, in turn.
#[test]
fn one_of_five_at_a_time() {
    let control = Timeslice::new(&options(None), dumbbell(5, 1, 1));
    let backlog: Vec<_> = (0..5).map(|src| (src, 5)).collect();
    let expected: Vec<_> = (0..10).map(|slice| BTreeSet::from([slice % 5])).collect();
    assert_eq!(schedules(control, &backlog, 10), expected);
}

/// Figure 10(b): thirteen pairs over a link of 10 Gbit/s, ten at a time, in turn.
#[test]
fn ten_of_thirteen_at_a_time() {
    let control = Timeslice::new(&options(None), dumbbell(13, 13, 10));
    let backlog: Vec<_> = (0..13).map(|src| (src, 13 + src)).collect();
    let turn = |slice: u32| (0..10).map(|at| (10 * slice + at) % 13).collect();
    let expected: Vec<BTreeSet<u32>> = (0..13).map(turn).collect();
    assert_eq!(schedules(control, &backlog, 13), expected);
    assert!(expected.windows(2).all(|pair| pair[0] != pair[1]));
}

/// A host with weight 3 has the link for three slices of four, with either fairness.
#[test]
fn timeslices_follow_weights() {
    for fairness in [Fairness::RoundRobin, Fairness::MaxMin] {
        let weights = [("h0".to_string(), 3)].into();
        let spec = XcoSpec { fairness, weights, ..XcoSpec::default() };
        let options = spec.build().unwrap().with_weights(vec![(HostId(0), 3)]);
        let mut control = Timeslice::new(&options, dumbbell(2, 1, 1));
        (0..2).for_each(|src| report(&mut control, src, &[2], Time::ZERO));
        let (mut now, mut held) = (Time::ZERO, [Time::ZERO; 2]);
        for _ in 0..400 {
            let mut plan = Plan::new();
            let next = control.decide(now, &mut plan).unwrap();
            let active = (0..2).find(|&host| control.nodes[host].active.is_some()).unwrap();
            held[active] += next.since(now);
            now = next;
        }
        let share = held[0].as_secs_f64() / (held[0] + held[1]).as_secs_f64();
        assert!((share - 0.75).abs() < 0.01, "{fairness:?}: {share}");
    }
}

#[test]
fn a_slice_given_back_goes_to_the_next() {
    let mut control = Timeslice::new(&options(None), dumbbell(3, 1, 1));
    (0..3).for_each(|src| report(&mut control, src, &[3], Time::ZERO));
    control.decide(Time::ZERO, &mut Plan::new());
    let now = Time::us(300);
    control.observe(&News::Released { host: HostId(0), dst: HostId(3) }, now);
    let mut plan = Plan::new();
    assert_eq!(control.decide(now, &mut plan), Some(now + SLICE));
    let dst = Some(HostId(3));
    assert_eq!(plan, [Decision::Window { src: HostId(1), dst, until: now + SLICE, rate: None }]);
}

#[test]
fn every_report_is_answered() {
    let mut control = Timeslice::new(&options(None), dumbbell(2, 1, 1));
    (0..2).for_each(|src| report(&mut control, src, &[2], Time::ZERO));
    control.decide(Time::ZERO, &mut Plan::new());
    let now = Time::ms(4);
    (0..2).for_each(|src| report(&mut control, src, &[2], now));
    let mut plan = Plan::new();
    control.decide(now, &mut plan);
    let window = |src, dst, until| Decision::Window { src: HostId(src), dst, until, rate: None };
    assert_eq!(plan, [window(0, Some(HostId(2)), SLICE), window(1, None, now)]);
}

/// A host of 10 Gbit/s behind a link of 1 Gbit/s gets windows at 1 Gbit/s (the hybrid of §7).
#[test]
fn a_fast_host_is_slowed_down_to_its_path() {
    let capacity = vec![Rate(10 * G), Rate(G)];
    let network = Network::new(2, capacity, |_, _, out| out.extend([0, 1]));
    let mut control = Timeslice::new(&options(None), network);
    report(&mut control, 0, &[1], Time::ZERO);
    let mut plan = Plan::new();
    control.decide(Time::ZERO, &mut plan);
    assert!(matches!(plan[..], [Decision::Window { rate: Some(Rate(G)), .. }]), "{plan:?}");
}

/// Host 0 sends to 2. When 3 is reported as well, it changes over, but not before `protect` has passed.
#[test]
fn a_destination_is_protected_for_a_while() {
    for (at, switches) in [(Time::ms(4), false), (Time::ms(6), true)] {
        let mut control = Timeslice::new(&options(Some(Time::ms(5))), dumbbell(2, 2, 10));
        report(&mut control, 0, &[2], Time::ZERO);
        control.decide(Time::ZERO, &mut Plan::new());
        report(&mut control, 0, &[2, 3], at);
        let mut plan = Plan::new();
        control.decide(at, &mut plan);
        let dst = Some(HostId(if switches { 3 } else { 2 }));
        // The timeslice ends when it would have ended anyway.
        let expected = Decision::Window { src: HostId(0), dst, until: SLICE, rate: None };
        assert_eq!(plan, [expected]);
    }
}

/// Host 4 needs both links 8 and 9. Hosts 0 and 1 share one of them, hosts 2 and 3 the other, at times that
/// never coincide.
#[test]
fn a_pair_that_needs_two_links_at_once_gets_a_turn() {
    let network = Network::new(10, vec![Rate(G); 20], |src, dst, out| {
        let shared: &[u32] = [&[8][..], &[8], &[9], &[9], &[8, 9]][src.at()];
        out.push(src.0);
        out.extend(shared);
        out.push(10 + dst.0);
    });
    let mut control = Timeslice::new(&options(None), network);
    let mut plan = Plan::new();
    [0, 1].into_iter().for_each(|src| report(&mut control, src, &[5 + src], Time::ZERO));
    control.decide(Time::ZERO, &mut plan);
    [2, 3, 4].into_iter().for_each(|src| report(&mut control, src, &[5 + src], SLICE.half()));
    let mut next = control.decide(SLICE.half(), &mut plan);
    let mut turns = [0; 5];
    while let Some(now) = next.filter(|&now| now < SLICE.times(100)) {
        plan.clear();
        next = control.decide(now, &mut plan);
        plan.iter().for_each(|decision| turns[decision.host().at()] += 1);
    }
    assert!(turns.iter().all(|&turns| turns >= 8), "{turns:?}");
}

trait Half {
    fn half(self) -> Self;
}
impl Half for Time {
    fn half(self) -> Time {
        Time::ps(self.as_ps() / 2)
    }
}

const HOSTS: u32 = 8;
const CORE: u32 = 6;

/// Host links of 1 to 3 Gbit/s and up to three core links of 1 to 5 Gbit/s on each path.
fn random_network(seed: u64) -> (Network, Vec<u64>) {
    let mut rng = Stream::named(seed, "test.network", 0);
    let host = (0..2 * HOSTS).map(|_| 1 + rng.below(3)).collect::<Vec<_>>();
    let core = (0..CORE).map(|_| 1 + rng.below(5)).collect::<Vec<_>>();
    let capacity: Vec<u64> = host.into_iter().chain(core).map(|c| c * G).collect();
    let rates = capacity.iter().copied().map(Rate).collect();
    let path = move |src: HostId, dst: HostId, out: &mut Vec<u32>| path(seed, src.0, dst.0, out);
    (Network::new(HOSTS as usize, rates, path), capacity)
}
fn path(seed: u64, src: u32, dst: u32, out: &mut Vec<u32>) {
    let hash = mix64(seed ^ mix64(u64::from(src * HOSTS + dst)));
    out.push(src);
    let core = (0..CORE).filter(|link| hash >> link & 1 == 1).take(3);
    out.extend(core.map(|link| 2 * HOSTS + link));
    out.push(HOSTS + dst);
}

/// The state of a simple reference scheduler.
struct Checker {
    seed: u64,
    capacity: Vec<u64>,
    backlog: Vec<BTreeSet<u32>>,
    active: Vec<Option<(u32, Time)>>,
    /// By pair: until when it was last permitted, or since when it waits.
    served: Vec<Vec<Time>>,
    worst_wait: Time,
}

impl Checker {
    fn new(seed: u64, capacity: Vec<u64>) -> Checker {
        let hosts = HOSTS as usize;
        Checker {
            seed,
            capacity,
            backlog: vec![BTreeSet::new(); hosts],
            active: vec![None; hosts],
            served: vec![vec![Time::ZERO; hosts]; hosts],
            worst_wait: Time::ZERO,
        }
    }
    fn path(&self, src: u32, dst: u32) -> Vec<usize> {
        let mut out = Vec::new();
        path(self.seed, src, dst, &mut out);
        out.into_iter().map(|link| link as usize).collect()
    }
    fn rate(&self, src: u32, dst: u32) -> u64 {
        self.path(src, dst).into_iter().map(|link| self.capacity[link]).min().unwrap()
    }
    fn report(&mut self, src: u32, dsts: &BTreeSet<u32>, now: Time) {
        for &dst in dsts.difference(&self.backlog[src as usize]) {
            self.served[src as usize][dst as usize] = now;
        }
        self.backlog[src as usize] = dsts.clone();
        self.active[src as usize].take_if(|(dst, _)| !dsts.contains(dst));
    }
    fn apply(&mut self, plan: &Plan, now: Time) {
        for active in &mut self.active {
            active.take_if(|(_, ends)| *ends <= now);
        }
        for decision in plan {
            let Decision::Window { src, dst, until, .. } = *decision else { panic!("a rate") };
            self.active[src.at()] = dst.map(|dst| (dst.0, until));
            if let Some(dst) = dst {
                assert!(self.backlog[src.at()].contains(&dst.0) && until > now);
                let since = std::mem::replace(&mut self.served[src.at()][dst.at()], until);
                self.worst_wait = self.worst_wait.max(now.since(since));
            }
        }
    }
    fn loads(&self) -> Vec<u64> {
        let mut loads = vec![0; self.capacity.len()];
        for (src, active) in self.active.iter().enumerate() {
            let Some((dst, _)) = *active else { continue };
            let rate = self.rate(src as u32, dst);
            self.path(src as u32, dst).into_iter().for_each(|link| loads[link] += rate);
        }
        loads
    }
    /// No link is overloaded, and no idle host could be permitted as well, except where a claim forbids it.
    fn check(&self, control: &Timeslice) {
        let loads = self.loads();
        for (link, load) in loads.iter().enumerate() {
            assert!(*load <= self.capacity[link], "link {link} carries {load}");
            assert_eq!(*load, control.links[link].load);
        }
        let idle = (0..HOSTS).filter(|&src| self.active[src as usize].is_none());
        for (src, dst) in
            idle.flat_map(|src| self.backlog[src as usize].iter().map(move |d| (src, *d)))
        {
            let rate = self.rate(src, dst);
            let room = |link: usize| {
                loads[link] + control.links[link].reserved + rate <= self.capacity[link]
            };
            assert!(!self.path(src, dst).into_iter().all(room), "{src} could send to {dst}");
        }
    }
}

proptest! {
    /// Schedules are feasible and maximal, whatever is reported and given back.
    #[test]
    fn schedules_are_feasible_and_maximal(
        seed: u64,
        events in prop::collection::vec((0u32..HOSTS, prop::collection::btree_set(0u32..HOSTS, 0..5), 0u64..12_000), 1..80)
    ) {
        let (network, capacity) = random_network(seed);
        let mut checker = Checker::new(seed, capacity);
        let mut control = Timeslice::new(&options(Some(Time::ms(3))), network);
        let (mut now, mut next, mut plan) = (Time::ZERO, None, Plan::new());
        for (src, mut dsts, after) in events {
            let then = now + Time::us(after);
            while let Some(at) = next.filter(|&at| at <= then) {
                prop_assert!(at > now || now == Time::ZERO);
                now = at;
                plan.clear();
                next = control.decide(now, &mut plan);
                checker.apply(&plan, now);
                checker.check(&control);
            }
            now = then;
            match checker.active[src as usize] {
                Some((dst, _)) if after % 2 == 0 => {
                    control.observe(&News::Released { host: HostId(src), dst: HostId(dst) }, now);
                    let mut left = checker.backlog[src as usize].clone();
                    left.remove(&dst);
                    checker.report(src, &left, now);
                }
                _ => {
                    dsts.remove(&src);
                    report(&mut control, src, &dsts.iter().copied().collect::<Vec<_>>(), now);
                    checker.report(src, &dsts, now);
                }
            }
            plan.clear();
            next = control.decide(now, &mut plan);
            checker.apply(&plan, now);
            checker.check(&control);
        }
    }

    /// A pair that always has something to send is permitted again and again.
    #[test]
    fn nobody_starves(
        seed: u64,
        backlog in prop::collection::vec((prop::collection::btree_set(0u32..HOSTS, 0..5), 0u64..20_000), HOSTS as usize)
    ) {
        let (network, capacity) = random_network(seed);
        let mut checker = Checker::new(seed, capacity);
        let mut control = Timeslice::new(&options(None), network);
        let mut reports: Vec<_> = (0..HOSTS).zip(backlog).map(|(s, (d, at))| (Time::us(at), s, d)).collect();
        reports.sort();
        let mut reports = reports.into_iter().peekable();
        let (mut plan, mut next, mut pairs) = (Plan::new(), None, 0);
        let end = SLICE.times(600);
        loop {
            let report_at = reports.peek().map(|(at, _, _)| *at);
            let Some(now) = report_at.into_iter().chain(next).min() else { break };
            if now > end { break }
            if report_at == Some(now) {
                let (_, src, mut dsts) = reports.next().unwrap();
                dsts.remove(&src);
                pairs += dsts.len() as u64;
                report(&mut control, src, &dsts.iter().copied().collect::<Vec<_>>(), now);
                checker.report(src, &dsts, now);
            }
            plan.clear();
            next = control.decide(now, &mut plan);
            checker.apply(&plan, now);
            checker.check(&control);
        }
        for (src, dsts) in (0..HOSTS).zip(&checker.backlog) {
            for &dst in dsts {
                let wait = end.since(checker.served[src as usize][dst as usize]);
                checker.worst_wait = checker.worst_wait.max(wait);
            }
        }
        // A claim comes after twice the turns of all pairs; each older claim takes at most one slice.
        let bound = SLICE.times(3 * pairs + 2);
        prop_assert!(checker.worst_wait <= bound, "{} > {bound} for {pairs} pairs", checker.worst_wait);
    }
}

/// 4,800 hosts in the tree of §5.2, half of which send to the other half: the schedule fills the core's links
/// and does not exceed them.
#[test]
fn a_large_tree_is_scheduled_in_full() {
    let (hosts, racks, rows) = (4_800u32, 240u32, 24u32);
    // Links: host up, host down, rack up, rack down, row up, row down.
    let up_and_down = |count: u32, rate: u64| vec![Rate(rate); 2 * count as usize];
    let mut capacity = up_and_down(hosts, G);
    capacity.extend(up_and_down(racks, 10 * G));
    capacity.extend(up_and_down(rows, 10 * G));
    let network = Network::new(hosts as usize, capacity, move |src, dst, out| {
        let (rack, row) = (2 * hosts, 2 * hosts + 2 * racks);
        out.extend([src.0, rack + src.0 / 20, row + src.0 / 200]);
        out.extend([row + rows + dst.0 / 200, rack + racks + dst.0 / 20, hosts + dst.0]);
    });
    let mut control = Timeslice::new(&options(None), network);
    (0..hosts / 2).for_each(|src| report(&mut control, src, &[src + hosts / 2], Time::ZERO));
    let (mut now, mut turns) = (Time::ZERO, vec![0; hosts as usize]);
    for _ in 0..40 {
        let mut plan = Plan::new();
        let next = control.decide(now, &mut plan).unwrap();
        let permitted = |d: &&Decision| matches!(d, Decision::Window { dst: Some(_), .. });
        plan.iter().filter(permitted).for_each(|d| turns[d.host().at()] += 1);
        let permitted = plan.iter().filter(permitted).count();
        assert_eq!(permitted, 10 * rows as usize / 2, "at {now}");
        now = next;
    }
    // 200 hosts of a row share ten places: two turns each in 40 slices.
    assert!(turns[..hosts as usize / 2].iter().all(|&turns| turns == 2));
}
