//! The account of bytes, at all rates and for flows of all sizes.

use super::*;
use crate::engine::Options;
use crate::parallel::Watch;
use proptest::prelude::*;
use slotline_net::node::host::{Plan, Spread};
use slotline_net::rng::Stream;
use slotline_net::time::Time;
use slotline_net::topology::{FatTreeSpec, Graph, StarSpec, TopologySpec};
use slotline_net::transport::TransportSpec;
use slotline_net::transport::congestion::AlgorithmKind;
use slotline_net::units::Rate;
use slotline_net::workload::{Start, TrafficBuilder};
use std::sync::Arc;

/// The sizes of flows, in bytes.
#[derive(Clone, Copy, Debug)]
enum Sizes {
    Same(u64),
    /// The logarithm is uniform, up to this size.
    Spread(u64),
    /// Most flows are small, and one in 16 has this size.
    Mixed(u64),
}

impl Sizes {
    fn draw(self, rng: &mut Stream) -> u64 {
        match self {
            Sizes::Same(size) => size,
            Sizes::Spread(most) => ((most as f64).powf(rng.unit()) as u64).max(1),
            Sizes::Mixed(size) => {
                if rng.below(16) == 0 {
                    size
                } else {
                    1 + rng.below(300)
                }
            }
        }
    }
}

fn sizes() -> impl Strategy<Value = Sizes> {
    prop_oneof![
        (1u64..3_000).prop_map(Sizes::Same),
        (10u64..10_000_000).prop_map(Sizes::Spread),
        (1_000u64..100_000_000).prop_map(Sizes::Mixed),
    ]
}

fn rates() -> impl Strategy<Value = Rate> {
    (6.0..13.0f64).prop_map(|exponent| Rate(10f64.powf(exponent) as u64))
}

#[derive(Clone, Copy, Debug)]
struct Case {
    rate: Rate,
    sizes: Sizes,
    flows: u32,
    load: f64,
    fat_tree: bool,
    sprayed: bool,
    sawtooth: bool,
    /// The part of the flows' time after which the run ends.
    until: f64,
    seed: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let network = (rates(), any::<bool>(), any::<bool>(), prop::bool::weighted(0.2));
    let traffic = (sizes(), 1u32..2_000, 0.02..1.5f64, 0.2..3.0f64, any::<u64>());
    (network, traffic).prop_map(|(network, (sizes, flows, load, until, seed))| {
        let (rate, fat_tree, sprayed, sawtooth) = network;
        Case { rate, sizes, flows, load, fat_tree, sprayed, sawtooth, until, seed }
    })
}

impl Case {
    fn graph(&self) -> Graph {
        let fat_tree = FatTreeSpec { rate: self.rate, ..FatTreeSpec::new(4) };
        let star = StarSpec { rate: self.rate, ..StarSpec::new(16) };
        let spec =
            if self.fat_tree { TopologySpec::FatTree(fat_tree) } else { TopologySpec::Star(star) };
        spec.build().expect("a network")
    }

    /// Flows of 16 hosts that start at random times, and the time in which links at this load carry them, in
    /// picoseconds.
    fn traffic(&self) -> (TrafficBuilder, u64) {
        let mut rng = Stream::named(self.seed, "test", 0);
        let sizes: Vec<u64> = (0..self.flows).map(|_| self.sizes.draw(&mut rng)).collect();
        let bits = sizes.iter().sum::<u64>() as f64 * 8.0;
        let span = 1 + (bits / (16.0 * self.rate.0 as f64 * self.load) * 1e12).min(1e18) as u64;
        let mut traffic = TrafficBuilder::new(16);
        for size in sizes {
            let src = rng.below(16) as u32;
            let dst = (src + 1 + rng.below(15) as u32) % 16;
            let conn = tcp(&mut traffic, src, dst);
            let start = Start::At(Time::ps(rng.below(span)));
            traffic.flow(conn, size, start, None, 0).expect("a flow");
        }
        (traffic, span)
    }

    fn run(&self) -> FlowOutcome {
        let (traffic, span) = self.traffic();
        let graph = self.graph();
        let mut network = network(graph, traffic);
        if self.sprayed {
            let transport = TransportSpec::of(AlgorithmKind::NewReno).build().expect("a transport");
            let traffic = self.traffic().0.finish().expect("traffic");
            let plan = Plan::new(traffic, transport, Spread::PerPacket, (0..16).collect(), SEED);
            network.plan = Arc::new(plan.expect("a plan"));
        }
        if self.sawtooth {
            let increase = self.rate.0 as f64 / 8.0 / 20.0;
            network.model = Model::Aimd(AimdOptions { tick: Time::ps(span / 200 + 1), increase });
        }
        let end = Time::ps((span as f64 * self.until) as u64 + 1);
        run(network, Options { threads: 1, end, completions: u64::MAX }, &Watch::default())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]
    /// No byte is lost or invented, and links carry exactly what flows sent.
    #[test]
    fn every_byte_is_accounted_for(case in cases()) {
        let volume = case.run().volume;
        prop_assert!(volume.holds(), "{volume:?}");
        let accounted = volume.delivered + volume.under_way;
        prop_assert!(accounted <= volume.offered, "{volume:?}");
        if !case.sprayed {
            prop_assert_eq!(volume.sent, accounted as f64);
        }
    }
}

#[test]
fn the_account_names_what_is_wrong() {
    let whole =
        Volume { offered: 900, sent: 900.0, delivered: 600, under_way: 300, ..Volume::default() };
    assert!(whole.holds());
    assert!(!Volume { delivered: 599, ..whole }.holds());
    assert!(!Volume { sent: 901.0, ..whole }.holds());
    assert!(!Volume { missed: 40.0, ..whole }.holds());
    assert!(Volume { missed: 40.0, roundable: 41.0, ..whole }.holds());
}
