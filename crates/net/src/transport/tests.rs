//! Sender and receiver together.

use super::congestion::AlgorithmKind;
use super::harness::{Faults, Hop, Outcome, World};
use super::{Transport, TransportSpec};
use crate::time::Time;
use crate::topology::Lane;
use crate::units::{Bytes, Rate};
use proptest::prelude::*;

const KINDS: [AlgorithmKind; 3] = [AlgorithmKind::NewReno, AlgorithmKind::Cubic, AlgorithmKind::Dctcp];

fn transport(spec: TransportSpec) -> Transport {
    spec.build().unwrap()
}

fn lane(rate: &str, delay: Time) -> Lane {
    Lane { rate: rate.parse().unwrap(), delay }
}

/// Mbit/s of payload of one message of `bytes`.
fn goodput(bytes: u64, outcome: &Outcome) -> f64 {
    bytes as f64 * 8e-6 / outcome.received.as_secs_f64()
}

/// 10 MB over 1 Gbit/s and back in 1 ms, with a buffer of 100 packets, marked above 40 for DCTCP.
fn lossy(kind: AlgorithmKind, loss: f64, seed: u64) -> Outcome {
    let spec = TransportSpec { min_rto: Time::ms(10), ..TransportSpec::of(kind) };
    let lanes = [lane("1Gbps", Time::us(500))];
    let mut world = World::new(&transport(spec), &lanes, &lanes).seeded(seed, Faults { loss, ..Faults::default() });
    world.ways[0][0].limit = 100;
    world.ways[0][0].mark = 40;
    world.run(&[10_000_000], 1_000_000).unwrap()
}

/// Changes here are changes of behaviour: look at each before accepting it.
#[test]
fn goodput_by_loss_rate_and_algorithm() {
    let mut table = String::from("\nloss %   newreno   cubic   dctcp   Mbit/s (retransmissions, time-outs)\n");
    for loss in [0.0, 0.01, 0.1, 1.0, 5.0] {
        table += &format!("{loss:<5}");
        for kind in KINDS {
            let outcome = lossy(kind, loss / 100.0, 1);
            let mbps = goodput(10_000_000, &outcome).round();
            table += &format!("  {mbps:>4} ({}, {})", outcome.retransmissions, outcome.timeouts);
        }
        table.push('\n');
    }
    assert_eq!(table, GOLDEN, "{table}");
}

const GOLDEN: &str = "";
