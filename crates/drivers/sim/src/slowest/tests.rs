use super::*;
use proptest::prelude::*;
use slotline_net::id::HostId;
use slotline_net::node::host::Spread;
use slotline_net::time::Time;
use slotline_net::transport::TransportSpec;
use slotline_net::transport::congestion::AlgorithmKind;
use slotline_net::workload::TrafficBuilder;

/// Flows of these sizes from host 0 to host 1 that start at these times, each on a connection of its own.
fn plan(flows: &[(u64, u64)]) -> Arc<Plan> {
    let mut out = TrafficBuilder::new(2);
    for &(start, bytes) in flows {
        let conn = out.connect(HostId(0), HostId(1), Carrier::Tcp, 0).expect("two hosts");
        out.flow(conn, bytes, Start::At(Time::ps(start)), None, 0).expect("a flow");
    }
    let transport = TransportSpec::of(AlgorithmKind::NewReno).build().expect("a transport");
    let traffic = out.finish().expect("traffic");
    Arc::new(Plan::new(traffic, transport, Spread::PerFlow, vec![1, 2], 1).expect("a plan"))
}

#[test]
fn flows_that_are_likely_to_be_slow_are_worth_more() {
    let of = Slowest::new(plan(&[(0, 146_000), (500, 146_000), (0, 14_600)]), vec![10, 10, 1], 1);
    let mut ranking = Ranking::new(&of);
    let worth = |ranking: &Ranking, conn, reached| {
        f64::from_bits(ranking.expected(conn, (9, reached), 1_000))
    };
    // A tenth of the flow took 1000 ps: 10 times the ideal for each tenth.
    assert_eq!(worth(&ranking, 0, 10), 1_000.0);
    assert_eq!(worth(&ranking, 0, 50), 200.0);
    assert_eq!(worth(&ranking, 1, 10), 500.0, "it began later");
    assert_eq!(worth(&ranking, 2, 10), 1_000.0, "as slow for its size");
    assert_eq!(ranking.complete(2, |_| 9, 50), None);
    assert_eq!(ranking.complete(0, |_| 9, 400), Some(0));
    let mut other = Ranking::new(&of);
    assert_eq!(worth(&other, 0, 10), 0.0, "other shards know it");
    assert_eq!(other.complete(1, |_| 9, 1_000), None);
}

proptest! {
    /// Whatever is ruled out in any shard is not among the slowest.
    #[test]
    fn the_slowest_are_not_ruled_out(
        flows in prop::collection::vec((0u64..1_000, 1u64..1_000_000, 1u64..100, 0u64..1_000, 0usize..3), 1..60),
        count in 1usize..6,
        ideal in any::<bool>(),
    ) {
        let planned: Vec<(u64, u64)> = flows.iter().map(|flow| (flow.0, flow.1)).collect();
        let ideals = if ideal { flows.iter().map(|flow| flow.2).collect() } else { Vec::new() };
        let of = Slowest::new(plan(&planned), ideals, count);
        let mut shards = [0; 3].map(|_| Ranking::new(&of));
        let mut out = Vec::new();
        for (number, &(start, _, _, took, shard)) in (0..).zip(&flows) {
            out.extend(shards[shard].complete(number, |_| 0, start + took));
        }
        let slowness = |number: &u32| {
            let (_, _, own, took, _) = flows[*number as usize];
            if ideal { took as f64 / own as f64 } else { took as f64 }
        };
        let mut order: Vec<u32> = (0..flows.len() as u32).collect();
        order.sort_by(|a, b| slowness(b).total_cmp(&slowness(a)).then(a.cmp(b)));
        prop_assert!(order.iter().take(count).all(|flow| !out.contains(flow)));
        prop_assert!(flows.len() - out.len() <= 3 * count, "all others are ruled out");
    }
}
