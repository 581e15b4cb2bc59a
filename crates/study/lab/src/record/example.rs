//! A made-up result.

use super::{
    Conservation, EngineStats, FlowRow, NEVER, PortRow, RunRecord, RunSet, SampleRow, Samples,
    Window,
};

const US: u64 = 1_000_000;

impl RunSet {
    /// Three schemes on an incast of eight, with `seeds` seeds. The numbers are made up but realistic. They are for
    /// tests and measurements of code that shows results.
    pub fn example(seeds: u64) -> RunSet {
        let schemes = [("tcp", 200_000), ("dctcp", 9_000), ("xco, <slices>", 8_000)];
        let seeds: Vec<u64> = (1..=seeds).collect();
        let runs = schemes.iter().flat_map(|s| seeds.iter().map(|seed| run(s.0, s.1, *seed)));
        RunSet {
            name: "Incast of 8".into(),
            description: "Eight senders & one receiver.".into(),
            scenario: "name = \"Incast of 8\"\n".into(),
            fabric: "star of 9 hosts".into(),
            schemes: schemes.iter().map(|s| s.0.to_string()).collect(),
            workloads: vec!["incast".into()],
            metrics: vec![],
            window: Window::ALL,
            runs: runs.collect(),
            failed: vec![],
            seeds,
        }
    }
}

fn run(scheme: &str, fct_us: u64, seed: u64) -> RunRecord {
    let flow = |i: u32| FlowRow {
        flow: i,
        src: i,
        dst: 8,
        bytes: 1_000_000,
        delivered_bytes: 1_000_000,
        finish_ps: (fct_us + seed * 37 + u64::from(i) * 211) * US,
        ideal_ps: 1_000 * US,
        retransmits: if scheme == "tcp" { 3 + seed as u32 } else { 0 },
        ..FlowRow::default()
    };
    let mut flows: Vec<FlowRow> = (0..8).map(flow).collect();
    if scheme.starts_with("xco") && seed == 2 {
        flows[7] = FlowRow { finish_ps: NEVER, delivered_bytes: 500_000, ..flows[7] };
    }
    let port = |node: &str, host, peak_bytes| PortRow {
        node: node.into(),
        port: "0".into(),
        host,
        peak_bytes,
        tx_packets: 5_600,
        tx_bytes: 8_400_000,
        marks: if scheme == "dctcp" { 400 } else { 0 },
        ..PortRow::default()
    };
    let sample = |i: u64| SampleRow {
        t_ps: i * 10 * US,
        port: 1,
        queue_bytes: (i * 7_919 + seed * 104_729) % (fct_us * 2),
        tx_bytes: i * 9_000,
    };
    let samples: Vec<SampleRow> = (0..2_000).map(sample).collect();
    RunRecord {
        scheme: scheme.into(),
        seed,
        flows,
        ports: vec![port("h0", true, 2_000_000), port("s0", false, 2 * fct_us)],
        samples: Samples::from_rows(&samples).expect("samples of one port"),
        engine: EngineStats {
            cpu_s: 0.5,
            wall_s: 0.6,
            events: 10_000,
            packet_hops: 20_000,
            peak_rss_bytes: 30_000_000,
            digest: 0xfeed + seed,
            threads: 1,
            sim_time_ps: 250_000 * US,
            flow_level: false,
            emulation: None,
        },
        census: Conservation {
            sent: 11_000,
            delivered: 10_990,
            dropped: [if scheme == "tcp" { 10 } else { 0 }, 0, 0, 0, 0, 0, 0],
            in_flight: if scheme == "tcp" { 0 } else { 10 },
        },
        ..RunRecord::default()
    }
}
