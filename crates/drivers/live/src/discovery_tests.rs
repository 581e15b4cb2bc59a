use super::*;
use crate::message::Message;
use crate::neighbours::pages_of;
use proptest::prelude::*;

const PATIENCE: Duration = Duration::from_secs(20);

/// Hosts 0 to 3 and switches 10 to 12.
fn members() -> Vec<Member> {
    let host = |n: u32| Member { number: n, name: format!("h{n}"), is_host: true };
    let switch = |n: u32| Member { number: 10 + n, name: format!("s{n}"), is_host: false };
    (0..4).map(host).chain((0..3).map(switch)).collect()
}

fn own(port: &str, machine: u32, far: &str) -> OwnCable {
    OwnCable { port: port.into(), machine, far: far.into() }
}

/// What each machine tells where hosts 0 and 1 are at switch 10, hosts 2 and 3 at 11, and both switches at 12.
fn told() -> BTreeMap<u32, Vec<OwnCable>> {
    let ends = [(0, 10), (1, 10), (2, 11), (3, 11), (10, 12), (11, 12)];
    let mut told: BTreeMap<u32, Vec<OwnCable>> = BTreeMap::new();
    for (a, b) in ends {
        told.entry(a).or_default().push(own(&format!("to{b}"), b, &format!("to{a}")));
        told.entry(b).or_default().push(own(&format!("to{a}"), a, &format!("to{b}")));
    }
    told
}

/// Time that goes on, with the reports that machines send.
struct Bench {
    discovery: Discovery,
    now: Local,
    report: u64,
}

impl Bench {
    fn new() -> Bench {
        let mut discovery = Discovery::new(members(), PATIENCE);
        discovery.begin(Local(5));
        Bench { discovery, now: Local(5), report: 0 }
    }
    fn tell(&mut self, from: u32, cables: &[OwnCable]) {
        self.report += 1;
        for bytes in pages_of(self.report, cables) {
            let Some(Message::Neighbours(page)) = Message::parse(&bytes) else { panic!("a page") };
            self.discovery.hear(from, &page);
        }
    }
    fn tell_all(&mut self, told: &BTreeMap<u32, Vec<OwnCable>>) {
        told.iter().for_each(|(from, cables)| self.tell(*from, cables));
    }
    /// What is taken within this time.
    fn taken(&mut self, within: Duration) -> Vec<Discovered> {
        let until = self.now.after(within);
        let mut taken = Vec::new();
        while self.now < until {
            self.now = self.now.after(Duration::from_millis(50));
            taken.extend(self.discovery.take(self.now));
        }
        taken
    }
    fn missing(&self) -> &[String] {
        &self.discovery.survey().missing
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn the_network_begins_when_all_is_known() {
    let (mut bench, told) = (Bench::new(), told());
    assert_eq!(bench.missing().len(), 7);
    for (from, cables) in told.iter().take(6) {
        bench.tell(*from, cables);
    }
    assert!(bench.taken(SECOND * 3).is_empty());
    assert_eq!(bench.missing(), ["s2 has not told its neighbours"]);
    bench.tell(12, &told[&12][..1]);
    assert!(bench.taken(SECOND * 3).is_empty());
    assert_eq!(bench.missing()[0], "s1 says that its to12 is at to11 of s2, which does not");
    bench.tell(12, &told[&12]);
    let taken = bench.taken(SECOND * 3);
    assert_eq!((taken.len(), taken[0].cables.len(), taken[0].switches.len()), (1, 6, 3));
    assert!(bench.missing().is_empty() && taken[0].outside.is_empty());
    // The same reports once more change nothing.
    bench.tell_all(&told);
    assert!(bench.taken(SECOND * 30).is_empty());
}

#[test]
fn a_host_that_says_nothing_or_lies_is_left_out() {
    let (mut bench, mut told) = (Bench::new(), told());
    told.remove(&0);
    // Host 3 claims to be at another switch, and that switch 12 is at it.
    told.insert(3, vec![own("to11", 10, "to3"), own("x", 12, "to11")]);
    bench.tell_all(&told);
    assert!(bench.taken(PATIENCE - SECOND).is_empty());
    let taken = bench.taken(SECOND * 2);
    let outside = [(0, "h0".to_owned()), (3, "h3".to_owned())];
    assert_eq!((taken.len(), &taken[0].outside[..], taken[0].cables.len()), (1, &outside[..], 4));
    let missing = bench.missing().join("; ");
    for words in ["h0 has not told", "h3 says that its x is at to11 of s2", "no cable joins h3"] {
        assert!(missing.contains(words), "{words}: {missing}");
    }
}

#[test]
fn cables_that_move_make_another_network() {
    let (mut bench, mut told) = (Bench::new(), told());
    bench.tell_all(&told);
    assert_eq!(bench.taken(SECOND * 3).len(), 1);
    // Host 1 moves to the other switch. Its own report comes first.
    told.insert(1, vec![own("to10", 11, "p9")]);
    bench.tell(1, &told[&1]);
    assert!(bench.taken(SECOND).is_empty(), "it waits for the other end");
    told.get_mut(&10).unwrap().retain(|cable| cable.machine != 1);
    told.get_mut(&11).unwrap().push(own("p9", 1, "to10"));
    bench.tell_all(&told);
    let taken = bench.taken(SECOND * 3);
    assert_eq!((taken.len(), taken[0].outside.len()), (1, 0));
    assert!(taken[0].cables.contains(&["h1".to_owned(), "s1".to_owned()]), "{taken:?}");
    // A cable between switches is gone: the part with more hosts counts.
    told.get_mut(&12).unwrap().pop();
    bench.tell_all(&told);
    let taken = bench.taken(SECOND * 3);
    let outside: Vec<u32> = taken[0].outside.iter().map(|(number, _)| *number).collect();
    assert_eq!((taken.len(), outside), (1, vec![0]), "{taken:?}");
}

#[test]
fn contradictions_are_named() {
    let (mut bench, mut told) = (Bench::new(), told());
    // What switch 10 says of one port is true of two hosts, and two hosts are joined.
    told.get_mut(&0).unwrap()[0].far = "both".into();
    told.get_mut(&1).unwrap()[0].far = "both".into();
    told.get_mut(&10).unwrap()[..2].iter_mut().for_each(|cable| cable.port = "both".into());
    told.get_mut(&2).unwrap().push(own("x", 3, "x"));
    told.get_mut(&3).unwrap().push(own("x", 2, "x"));
    bench.tell_all(&told);
    bench.taken(SECOND);
    let missing = bench.missing().join("; ");
    assert!(missing.contains("both of s0 has several cables"), "{missing}");
    assert!(missing.contains("a cable joins the hosts h2 and h3"), "{missing}");
    assert_eq!(bench.discovery.survey().network.cables.len(), 4);
}

#[test]
fn others_are_not_heard() {
    let mut bench = Bench::new();
    bench.tell(7, &[own("x", 0, "y")]);
    assert_eq!((bench.missing().len(), bench.discovery.reports.len()), (7, 0));
}

#[test]
fn a_report_counts_when_all_its_pages_have_come() {
    let mut reported = Reported::default();
    let cables: Vec<OwnCable> = (0..200).map(|n| own(&format!("port{n}"), n, "far")).collect();
    let pages = pages_of(3, &cables);
    assert!(pages.len() > 2);
    for (at, bytes) in pages.iter().enumerate().rev() {
        let Some(Message::Neighbours(page)) = Message::parse(bytes) else { panic!("a page") };
        assert_eq!(reported.add(&page), at == 0);
        assert!(!reported.add(&page));
    }
    assert_eq!(reported.cables, Some(cables));
}

type Told = BTreeMap<u32, Vec<OwnCable>>;

/// The cables that both ends name and whose ports no other cable has, by a look at all pairs of ports.
fn confirmed(members: &[Member], told: &Told) -> Vec<[u32; 2]> {
    let names = |a: &(u32, String), b: &(u32, String)| {
        told[&a.0].iter().any(|of| of.port == a.1 && of.machine == b.0 && of.far == b.1)
    };
    let joined = |a, b| a != b && names(a, b) && names(b, a);
    let ports: Vec<(u32, String)> =
        members.iter().flat_map(|of| (0..3).map(|p| (of.number, format!("p{p}")))).collect();
    let partners = |a| ports.iter().filter(|b| joined(a, b)).count();
    let mut cables = Vec::new();
    for (at, a) in ports.iter().enumerate() {
        for b in &ports[at + 1..] {
            let of_two = a.0 != b.0 && (a.0 >= 10 || b.0 >= 10);
            if of_two && joined(a, b) && partners(a) == 1 && partners(b) == 1 {
                cables.push([a.0, b.0]);
            }
        }
    }
    cables
}

/// The part of each machine: the least number in it, by merging until nothing changes.
fn parts(members: &[Member], cables: &[[u32; 2]]) -> BTreeMap<u32, u32> {
    let mut part: BTreeMap<u32, u32> = members.iter().map(|of| (of.number, of.number)).collect();
    for _ in members {
        for [a, b] in cables {
            let least = part[a].min(part[b]);
            part.extend([(*a, least), (*b, least)]);
        }
    }
    part
}

/// Pairs of names in order.
fn sorted(cables: impl Iterator<Item = [String; 2]>) -> Vec<[String; 2]> {
    let mut cables: Vec<[String; 2]> = cables
        .map(|mut ends| {
            ends.sort();
            ends
        })
        .collect();
    cables.sort();
    cables
}

fn told_by(members: &[Member], all: Vec<(usize, u8, usize, u8, u8)>) -> Told {
    let mut told: Told = members.iter().map(|of| (of.number, Vec::new())).collect();
    for (a, p, b, q, kind) in all {
        let (near, far) = (members[a].number, members[b].number);
        let (p, q) = (format!("p{p}"), format!("p{q}"));
        told.entry(near).or_default().push(own(&p, far, &q));
        // Most cables are named by both ends.
        if kind > 0 {
            told.entry(far).or_default().push(own(&q, near, &p));
        }
    }
    told
}

proptest! {
    /// Whatever machines tell, the network has the cables that both ends name, in the part with the most hosts.
    #[test]
    fn only_confirmed_cables_count(
        all in prop::collection::vec((0usize..7, 0u8..3, 0usize..7, 0u8..3, 0u8..4), 0..24),
    ) {
        let members = members();
        let told = told_by(&members, all);
        let mut bench = Bench::new();
        bench.tell_all(&told);
        bench.taken(SECOND);
        let network = &bench.discovery.survey().network;

        let cables = confirmed(&members, &told);
        let part = parts(&members, &cables);
        let size = |switch: &u32| (0..4).filter(|host| part[host] == part[switch]).count();
        let most = (10..13).map(|switch| size(&switch)).max().unwrap_or(0);
        let largest = (10..13).find(|switch| size(switch) == most && most > 0);
        let inside = |number: &u32| largest.is_some_and(|switch| part[number] == part[&switch]);
        let name = |number: u32| members.iter().find(|of| of.number == number).unwrap().name.clone();
        let expected = cables.iter().filter(|ends| inside(&ends[0])).map(|ends| ends.map(name));
        prop_assert_eq!(sorted(network.cables.iter().cloned()), sorted(expected));
        let outside: Vec<u32> = network.outside.iter().map(|(number, _)| *number).collect();
        prop_assert_eq!(outside, (0..4).filter(|host| !inside(host)).collect::<Vec<u32>>());
    }
}
