//! A flow that is alone in the network takes as long as computed by hand.

use crate::common::{fct_ps, records};
use slotline_net::time::Time;
use slotline_net::units::{Bytes, Rate};

const STAR: &str = r#"{ kind = "star", hosts = 2 }"#;
const FAT_TREE: &str = r#"{ kind = "fat-tree", k = 4 }"#;
/// Links of 40, 25 and 10 Gbit/s in sequence, with other delays on the way back.
const UNEQUAL: &str = r#"{ kind = "leaf-spine", leaves = 2, spines = 1, hosts-per-leaf = 1,
    host-rate = "40Gbps", uplink-rate = "25Gbps", delay = "3us", overrides = [
    { link = "leaf1-h1", rate = "10Gbps", reverse-rate = "5Gbps", reverse-delay = "7us" } ] }"#;
const LONG: &str = r#"{ kind = "star", hosts = 2, rate = "1Gbps", delay = "100us" }"#;
const SIZES: [u64; 10] =
    [1, 44, 1_460, 1_461, 14_600, 14_601, 50_000, 100_000, 1_000_000, 10_000_000];

/// Completion and ideal time of one flow of `bytes` between the first and the last host, under each transport.
fn times(fabric: &str, bytes: u64) -> Vec<(String, u64, u64)> {
    let scheme = |kind: &str| {
        format!(
            r#"
            [[scheme]]
            name = "{kind}"
            queue = {{ kind = "ecn", limit = "10MB", threshold = "9MB" }}
            transport = {{ kind = "{kind}", processing = "0s" }}
            "#
        )
    };
    let schemes: String = ["newreno", "cubic", "dctcp"].into_iter().map(scheme).collect();
    let last = if fabric == FAT_TREE { 15 } else { 1 };
    let text = format!(
        r#"
        name = "lone flow"
        end = {{ at = "10s" }}
        fabric = {fabric}
        [[workload]]
        kind = "bulk"
        senders = "0"
        receivers = "{last}"
        size = "{bytes}B"
        start = "3us"
        {schemes}
        "#
    );
    let row = |run: slotline_lab::record::RunRecord| {
        (run.scheme, fct_ps(&run.flows[0]), run.flows[0].ideal_ps)
    };
    records(&text, 1).into_iter().map(row).collect()
}

/// Within 0.1 %, for flows from one byte to those that fill the path.
fn follows_the_closed_form(fabric: &str) {
    for bytes in SIZES {
        for (transport, time, ideal) in times(fabric, bytes) {
            let off = (time as f64 / ideal as f64 - 1.0).abs();
            assert!(off <= 0.001, "{fabric}, {transport}, {bytes} B: {time} ps for {ideal} ps");
        }
    }
}

#[test]
fn on_a_star() {
    follows_the_closed_form(STAR);
}

#[test]
fn on_a_fat_tree() {
    follows_the_closed_form(FAT_TREE);
}

#[test]
fn over_unequal_rates() {
    follows_the_closed_form(UNEQUAL);
}

#[test]
fn over_a_long_path() {
    follows_the_closed_form(LONG);
}

/// Within the initial window, a flow takes one serialisation per packet, plus store and forward at each hop.
#[test]
fn within_the_initial_window_to_the_picosecond() {
    let (rate, delay) = (Rate(10_000_000_000), Time::us(1));
    for (fabric, hops) in [(STAR, 2), (FAT_TREE, 6)] {
        for bytes in SIZES.into_iter().filter(|&bytes| bytes <= 14_600) {
            let packets = bytes.div_ceil(1_460);
            let rest = bytes - (packets - 1) * 1_460;
            let full = rate.time_for(Bytes(1_538));
            let last = rate.time_for(Bytes((rest + 78).max(84)));
            let expected = match packets {
                1 => (last + delay).times(hops),
                _ => full.times(packets + hops - 2) + last + delay.times(hops),
            };
            for (transport, time, _) in times(fabric, bytes) {
                assert_eq!(Time::ps(time), expected, "{fabric}, {transport}, {bytes} B");
            }
        }
    }
}
