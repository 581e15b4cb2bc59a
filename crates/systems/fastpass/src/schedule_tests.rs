use super::*;
use crate::FastpassSpec;
use crate::spec::{Order, TenantSpec};
use crate::timing::lanes;
use proptest::prelude::*;
use slotline_net::id::HostId;
use slotline_net::node::host::{Plan, Spread};
use slotline_net::rng::Stream;
use slotline_net::route::{Routes, RoutingSpec};
use slotline_net::scheme::Surroundings;
use slotline_net::topology::{Down, End, TopologySpec};
use slotline_net::transport::TransportSpec;
use slotline_net::transport::congestion::AlgorithmKind;
use slotline_net::units::Rate;
use slotline_net::workload::Traffic;

/// A network, its fabric, and the number of packets per timeslot of each host.
struct Bench {
    fabric: Arc<Fabric>,
    rates: Vec<u16>,
    graph: slotline_net::topology::Graph,
    routes: Arc<Routes>,
}

const TEN: Rate = Rate(10_000_000_000);

impl Bench {
    fn new(text: &str) -> Bench {
        let graph = toml::from_str::<TopologySpec>(text).unwrap().build().unwrap();
        let routes = Arc::new(Routes::build(&graph, RoutingSpec::Pinned, &Down::default(), 1));
        let transport = TransportSpec::of(AlgorithmKind::NewReno).build().unwrap();
        let plan =
            Plan::new(Traffic::default(), transport, Spread::Pinned, graph.host_keys(), 1).unwrap();
        let around = Surroundings {
            wiring: &graph.wiring(),
            routes: &routes,
            plan: &Arc::new(plan),
            stations: &[],
            seed: 1,
            incarnation: 0,
            elected: false,
            graph: &graph,
        };
        let fabric = Arc::new(Fabric::new(&around, TEN).unwrap());
        let rates = lanes(&around).unwrap();
        Bench { fabric, rates, graph, routes }
    }
    fn schedule(&self, spec: &FastpassSpec) -> Schedule {
        EmptySchedule::new(&spec.build().unwrap(), &self.fabric, &self.rates).unwrap().begin(None)
    }
    /// Checks the packets of each slot on each directed link, including the links of hosts.
    fn check(&self, placed: &[Placed], broken: &[Component]) {
        let wiring = self.graph.wiring();
        let mut used: BTreeMap<(u16, u32, u32, u16), u64> = BTreeMap::new();
        for placed in placed {
            let (src, dst) = (HostId(placed.src.into()), HostId(placed.dst.into()));
            // Where there is no path, nothing is carried.
            let hops = self.routes.path(&wiring, src, dst, placed.path).unwrap_or_default();
            for slot in (0..64).filter(|slot| placed.slots >> slot & 1 != 0) {
                for end in &hops {
                    let wire = wiring.of(end.node)[end.port.at()];
                    assert!(!broken.contains(&(wire.link as Component)), "{placed:?}");
                    let count =
                        used.entry((placed.batch, slot, end.node.0, end.port.0)).or_default();
                    *count += 1;
                    assert!(
                        *count <= wire.lane.rate.0 / TEN.0,
                        "{placed:?} at {end:?}, slot {slot}"
                    );
                }
            }
        }
    }
}

impl Bench {
    /// Breaks a link and gives switches other routes.
    fn fail(&mut self, link: usize, schedule: &mut Schedule) {
        let down = Down { links: BTreeSet::from([link]), ..Down::default() };
        self.routes = Arc::new(Routes::build(&self.graph, RoutingSpec::Pinned, &down, 1));
        self.fabric = Arc::new(self.fabric.rerouted(&self.routes));
        schedule.reroute(&self.fabric).unwrap();
    }
    fn set_rate(&mut self, link: usize, rate: Rate, schedule: &mut Schedule) {
        let link = &mut self.graph.links[link];
        (link.ab.rate, link.ba.rate) = (rate, rate);
        let fabric = self.fabric.with_rate(link.a, rate).with_rate(link.b, rate);
        self.fabric = Arc::new(fabric);
        schedule.reroute(&self.fabric).unwrap();
    }
    /// The number of a random link between switches.
    fn inner_link(&self, chance: usize) -> Option<usize> {
        let is_host = |end: End| self.graph.hosts.contains(&end.node);
        let all = self.graph.links.iter().enumerate();
        let inner: Vec<usize> = all
            .filter(|(_, link)| !is_host(link.a) && !is_host(link.b))
            .map(|(at, _)| at)
            .collect();
        inner.get(chance % inner.len().max(1)).copied()
    }
}

/// A random network: a tree of switches, more links between any two, and hosts of three rates.
fn any_network(seed: u64) -> String {
    let mut stream = Stream::named(seed, "network", 0);
    let mut below = |most: u64| stream.below(most);
    let switches = 1 + below(6);
    let hosts = 2 + below(9);
    let mut links = Vec::new();
    let mut link = |a: String, b: String, gbps: u64| {
        links.push(format!("{{ a = \"{a}\", b = \"{b}\", rate = \"{gbps}Gbps\" }}"));
    };
    for host in 0..hosts {
        // The first host has the lowest rate.
        let gbps = [10, 10, 10, 20, 45][if host == 0 { 0 } else { below(5) as usize }];
        link(format!("h{host}"), format!("s{}", below(switches)), gbps);
    }
    for switch in 1..switches {
        link(format!("s{switch}"), format!("s{}", below(switch)), [10, 20, 40][below(3) as usize]);
    }
    for _ in 0..below(6).min(switches * (switches - 1)) {
        let (a, b) = (below(switches), below(switches));
        if a != b {
            link(format!("s{a}"), format!("s{b}"), [10, 25, 100][below(3) as usize]);
        }
    }
    let names = |of: &str, count| {
        (0..count).map(|at| format!("\"{of}{at}\"")).collect::<Vec<_>>().join(", ")
    };
    format!(
        "kind = \"graph\"\ndelay = \"1us\"\nhosts = [{}]\nswitches = [{}]\nlink = [{}]",
        names("h", hosts),
        names("s", switches),
        links.join(", ")
    )
}

const FABRICS: [&str; 8] = [
    "kind = 'star'\nhosts = 6",
    "kind = 'leaf-spine'\nleaves = 3\nspines = 3\nhosts-per-leaf = 3",
    "kind = 'leaf-spine'\nleaves = 3\nspines = 2\nhosts-per-leaf = 4\nuplink-rate = '25Gbps'",
    "kind = 'leaf-spine'\nleaves = 2\nspines = 2\nhosts-per-leaf = 3\nuplink-rate = '40Gbps'\n\
     overrides = [{ link = 'h0-leaf0', rate = '40Gbps' }, { link = 'h4-leaf1', rate = '20Gbps' }]",
    "kind = 'fat-tree'\nk = 4",
    "kind = 'fat-tree'\nk = 6",
    // These are neither racks under spines nor a fat-tree.
    "kind = 'leaf-spine'\nleaves = 3\nspines = 2\nhosts-per-leaf = 3\nuplinks-per-spine = 2",
    "kind = 'star'\nhosts = 5\noverrides = [{ link = 'h1-s0', rate = '100Gbps' }]",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// No link is used twice in a slot, or more often than its rate allows, and no broken link is used. In
    /// the end all demand was granted, and no more.
    #[test]
    fn schedules_are_valid_and_complete(
        which in 0usize..8, shortest: bool, break_one: bool, allocators in 1u32..4, batch in 16u32..=64,
        demands in prop::collection::vec((0u16..16, 0u16..16, 1u32..90), 1..60)
    ) {
        let bench = Bench::new(FABRICS[which]);
        let policy = if shortest { Order::ShortestFirst } else { Order::MaxMin };
        let mut schedule = bench.schedule(&FastpassSpec { policy, allocators, batch, ..FastpassSpec::default() });
        let mut broken = Vec::new();
        if break_one && bench.fabric.paths() > 1 {
            // There is another path around a link between switches.
            let name = if (4..6).contains(&which) { "edge0.0-agg0.1" } else { "leaf0-spine1" };
            broken.extend(bench.graph.link_named(name).map(|link| link as Component));
        }
        broken.iter().for_each(|&link| schedule.set_works(link, false));
        let mut open: BTreeMap<(u16, u16), u64> = BTreeMap::new();
        let hosts = bench.rates.len() as u16;
        for (src, dst, slots) in demands {
            let (src, dst) = (src % hosts, dst % hosts);
            if src != dst {
                prop_assert!(schedule.demand(src, dst, slots));
                *open.entry((src, dst)).or_default() += u64::from(slots);
            }
        }
        for _ in 0..500 {
            if schedule.is_idle() {
                break;
            }
            let placed = schedule.batch();
            bench.check(placed, &broken);
            for Placed { src, dst, slots, .. } in placed {
                let left = open.get_mut(&(*src, *dst)).unwrap();
                prop_assert!(*left >= u64::from(slots.count_ones()));
                prop_assert!(batch == 64 || slots >> batch == 0, "timeslots of the batch");
                *left -= u64::from(slots.count_ones());
            }
        }
        prop_assert!(schedule.is_idle() && open.values().all(|&left| left == 0), "{open:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    /// While a link fails and switches route around it, and another link changes its rate, no link is given
    /// more than it carries at that time, in any network.
    #[test]
    fn schedules_follow_other_routes_and_rates(
        any: bool, which in 0usize..8, seed: u64, (fails, changes) in (any::<usize>(), any::<usize>()),
        gbps in prop_oneof![Just(5u64), Just(10), Just(30)],
        demands in prop::collection::vec((0u16..16, 0u16..16, 1u32..400), 1..60)
    ) {
        let mut bench = if any { Bench::new(&any_network(seed)) } else { Bench::new(FABRICS[which]) };
        let mut schedule = bench.schedule(&FastpassSpec::default());
        let hosts = bench.rates.len() as u16;
        for (src, dst, slots) in demands {
            let (src, dst) = (src % hosts, dst % hosts);
            prop_assert!(src == dst || schedule.demand(src, dst, slots));
        }
        for batch in 0..12 {
            match (batch, bench.inner_link(fails), bench.inner_link(changes)) {
                (2, Some(link), _) => bench.fail(link, &mut schedule),
                (5, _, Some(link)) => bench.set_rate(link, Rate(gbps * TEN.0 / 10), &mut schedule),
                _ => {}
            }
            let placed = schedule.batch().to_vec();
            bench.check(&placed, &[]);
        }
    }
}

proptest! {
    /// The paths between two racks are those of all entropy values, although the search ends when it knows all.
    #[test]
    fn no_path_between_racks_is_missing(
        any: bool, which in 0usize..8, seed: u64, fails: Option<usize>, (src, dst) in (0u32..16, 0u32..16)
    ) {
        let mut bench = if any { Bench::new(&any_network(seed)) } else { Bench::new(FABRICS[which]) };
        let mut schedule = bench.schedule(&FastpassSpec::default());
        if let Some(link) = fails.and_then(|chance| bench.inner_link(chance)) {
            bench.fail(link, &mut schedule);
        }
        let hosts = bench.rates.len() as u32;
        let (src, dst) = (HostId(src % hosts), HostId(dst % hosts));
        let mut all: Vec<(u16, Vec<End>)> = Vec::new();
        for path in 0..256u16 {
            let hops = bench.routes.path(&bench.graph.wiring(), src, dst, path).unwrap_or_default();
            let inner = hops.get(1..hops.len().max(2) - 1).unwrap_or_default().to_vec();
            if all.iter().all(|(_, other)| *other != inner) {
                all.push((path, inner));
            }
        }
        prop_assert_eq!(bench.fabric.rack_paths(src, dst), all);
    }
}

/// A fat-tree has a path for every packet of a matching, and all paths are used.
#[test]
fn a_whole_fat_tree_places_everything() {
    for fabric in [FABRICS[1], FABRICS[4], FABRICS[5]] {
        let bench = Bench::new(fabric);
        let mut schedule = bench.schedule(&FastpassSpec::default());
        let hosts = bench.rates.len() as u16;
        for (src, dst) in (0..hosts).flat_map(|src| (0..hosts).map(move |dst| (src, dst))) {
            if src != dst {
                assert!(schedule.demand(src, dst, 64));
            }
        }
        let mut used = vec![0; usize::from(bench.fabric.paths())];
        while !schedule.is_idle() {
            for placed in schedule.batch() {
                used[usize::from(placed.path)] += placed.slots.count_ones();
            }
        }
        assert_eq!(schedule.counters().unplaced, 0, "{fabric}");
        assert!(used.iter().all(|&slots| slots > 0), "{fabric}: {used:?}");
    }
}

/// A host that restarts and reports the same demand, or less, is not served twice.
#[test]
fn demand_named_again_counts_once() {
    let bench = Bench::new(FABRICS[0]);
    let mut schedule = bench.schedule(&FastpassSpec::default());
    assert!(schedule.demand(0, 1, 100) && schedule.demand(2, 3, 10));
    schedule.restart(0);
    assert!(schedule.demand(0, 1, 70) && schedule.demand(0, 1, 40));
    let mut granted = 0;
    while !schedule.is_idle() {
        granted += schedule.batch().iter().map(|placed| placed.slots.count_ones()).sum::<u32>();
    }
    assert_eq!(granted, 110 + 10);
}

/// A host that restarts and reports its demand only after timeslots for it were given out, and denied, gets others.
#[test]
fn denied_timeslots_count_again() {
    let bench = Bench::new(FABRICS[0]);
    let mut schedule = bench.schedule(&FastpassSpec::default());
    assert!(schedule.demand(0, 1, 100));
    schedule.restart(0);
    let batch = |schedule: &mut Schedule| -> u32 {
        schedule.batch().iter().map(|placed| placed.slots.count_ones()).sum()
    };
    let denied = batch(&mut schedule);
    assert!(denied > 0, "some were given out");
    schedule.denied(0, 1, denied);
    assert!(schedule.demand(0, 1, 100));
    let mut granted = 0;
    while !schedule.is_idle() {
        granted += batch(&mut schedule);
    }
    assert_eq!(granted, 100);
}

#[test]
fn tenants_have_weights_and_classes() {
    let bench = Bench::new(FABRICS[0]);
    let tenant = |hosts: &str, weight, class| TenantSpec { hosts: hosts.into(), weight, class };
    let tenants = vec![tenant("1", 3, 0), tenant("2-3", 1, 1)];
    let mut schedule = bench.schedule(&FastpassSpec { tenants, ..FastpassSpec::default() });
    (0..4).for_each(|src| assert!(schedule.demand(src, 5, 320)));
    let mut got = [0; 4];
    for _ in 0..5 {
        schedule.batch().iter().for_each(|p| got[usize::from(p.src)] += p.slots.count_ones());
    }
    assert_eq!(got, [80, 240, 0, 0], "one to three, and nothing for the lower class");
    let spec = FastpassSpec { tenants: vec![tenant("7", 1, 0)], ..FastpassSpec::default() };
    let refused =
        EmptySchedule::new(&spec.build().unwrap(), &bench.fabric, &bench.rates).unwrap_err();
    assert!(refused.message.contains("6 hosts"), "{refused}");
}
