//! Artificial runs with everything that a report can show: three schemes on a leaf-spine network.

use slotline_lab::record::{
    Conservation, EngineStats, FlowRow, NEVER, Part, PortRow, RunRecord, RunSet, Samples,
    ScheduleRow, SequenceRow, Step, WhyRow, Window,
};

const US: u64 = 1_000_000;
const END: u64 = 50_000 * US;
const RATE: u64 = 10_000_000_000;

/// The size of a set.
#[derive(Clone, Copy)]
pub struct Size {
    pub schemes: usize,
    pub seeds: u64,
    pub flows: u32,
    pub leaves: u32,
    pub hosts_per_leaf: u32,
    pub windows: u64,
}

impl Size {
    pub const SMALL: Size =
        Size { schemes: 3, seeds: 2, flows: 2_000, leaves: 4, hosts_per_leaf: 8, windows: 4_000 };

    fn hosts(self) -> u32 {
        self.leaves * self.hosts_per_leaf
    }
}

/// A linear congruential generator (Knuth's MMIX constants), which gives the same numbers everywhere.
struct Dice(u64);

impl Dice {
    /// A number from 0 to `n` - 1.
    fn draw(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
    /// A number above zero; small ones are frequent and large ones rare.
    fn skewed(&mut self, mean: u64) -> u64 {
        let share = (self.draw(1_000_000) + 1) as f64 / 1e6;
        (mean as f64 * -share.ln()) as u64 + 1
    }
}

pub fn set(size: Size) -> RunSet {
    let all = ["tcp", "dctcp", "xco, <slices>", "hull"];
    let schemes: Vec<String> = all[..size.schemes].iter().map(|s| s.to_string()).collect();
    let seeds: Vec<u64> = (1..=size.seeds).collect();
    let runs =
        (0..size.schemes).flat_map(|s| seeds.iter().map(move |seed| run(size, all[s], s, *seed)));
    RunSet {
        name: "A leaf-spine & all there is".into(),
        description: "Made-up runs with everything that a report can show.".into(),
        scenario: "name = \"made up\"\n[measure]\nsample = \"100us\"\n".into(),
        fabric: format!("leaf-spine of {} hosts", size.hosts()),
        schemes,
        workloads: vec!["poisson".into()],
        metrics: vec![],
        window: Window::ALL,
        runs: runs.collect(),
        failed: vec![],
        seeds: seeds.clone(),
    }
}

fn run(size: Size, name: &str, scheme: usize, seed: u64) -> RunRecord {
    let mut dice = Dice(seed * 1_000 + scheme as u64);
    let ports = ports(size, &mut dice);
    let flows = flows(size, scheme, &mut dice);
    let first = seed == 1;
    RunRecord {
        scheme: name.into(),
        seed,
        samples: if first { samples(&ports, scheme, &mut dice) } else { Samples::default() },
        why: if first { why(&flows, &ports, scheme) } else { vec![] },
        sequence: if first { sequence(&flows, scheme) } else { vec![] },
        schedule: if first && scheme == 2 { schedule(size, &mut dice) } else { vec![] },
        flows,
        ports,
        engine: EngineStats {
            sim_time_ps: END,
            flow_level: false,
            emulation: None,
            cpu_s: 1.5,
            packet_hops: 1_000_000,
            digest: seed,
            threads: 1,
            ..EngineStats::default()
        },
        census: Conservation {
            sent: 900,
            delivered: 890,
            dropped: [10, 0, 0, 0, 0, 0, 0],
            in_flight: 0,
        },
        ..RunRecord::default()
    }
}

/// The ports of hosts, leaves and two spines. The ports towards the first leaf are busy.
fn ports(size: Size, dice: &mut Dice) -> Vec<PortRow> {
    let port = |node: String, port: String, host, percent: u64| PortRow {
        node,
        port,
        host,
        rate_bps: RATE,
        tx_packets: 1,
        tx_bytes: RATE / 8 / 20 / 100 * percent,
        peak_bytes: 90_000,
        ..PortRow::default()
    };
    let (h, l, s) = (|i| format!("h{i}"), |i| format!("leaf{i}"), |i| format!("spine{i}"));
    let of = |host: u32| host / size.hosts_per_leaf;
    let mut out = Vec::new();
    for host in 0..size.hosts() {
        out.push(port(h(host), l(of(host)), true, dice.draw(60)));
    }
    for leaf in 0..size.leaves {
        for host in (0..size.hosts()).filter(|host| of(*host) == leaf) {
            out.push(port(l(leaf), h(host), false, if host == 0 { 97 } else { dice.draw(70) }));
        }
        (0..2).for_each(|spine| out.push(port(l(leaf), s(spine), false, 20 + dice.draw(60))));
    }
    for spine in 0..2 {
        for leaf in 0..size.leaves {
            out.push(port(s(spine), l(leaf), false, if leaf == 0 { 92 } else { dice.draw(60) }));
        }
    }
    out
}

fn flows(size: Size, scheme: usize, dice: &mut Dice) -> Vec<FlowRow> {
    let slower = [400, 180, 120, 150][scheme];
    let flow = |i: u32| {
        let bytes = dice.skewed(200_000) * dice.skewed(4) + 64;
        let ideal_ps = 12 * US + bytes * 800;
        let start_ps = dice.draw(END / 2);
        let took =
            ideal_ps + dice.skewed(slower) * US + if dice.draw(200) == 0 { 10_000 * US } else { 0 };
        let lost = scheme == 0 && i % 500 == 499;
        FlowRow {
            flow: i,
            src: dice.draw(u64::from(size.hosts())) as u32,
            dst: if i.is_multiple_of(3) { 0 } else { dice.draw(u64::from(size.hosts())) as u32 },
            bytes,
            start_ps,
            finish_ps: if lost { NEVER } else { start_ps + took },
            ideal_ps,
            delivered_bytes: if lost { bytes / 2 } else { bytes },
            retransmits: (took > 10_000 * US).into(),
            timeouts: (took > 10_000 * US).into(),
            ..FlowRow::default()
        }
    };
    (0..size.flows).map(flow).collect()
}

fn samples(ports: &[PortRow], scheme: usize, dice: &mut Dice) -> Samples {
    let sampled: Vec<u32> =
        (0..ports.len() as u32).filter(|p| !ports[*p as usize].host).take(60).collect();
    let mut sent = vec![0; ports.len()];
    let mut samples = Samples::of_ports(sampled);
    for step in 1..=1_000 {
        samples.take(step * 50 * US, |port| {
            let mean = ports[port as usize].tx_bytes / 1_000;
            sent[port as usize] += (mean * (50 + dice.draw(100)) / 100).min(62_500);
            let queue_bytes =
                dice.skewed([60_000, 25_000, 9_000, 12_000][scheme] * mean / 62_500).min(150_000);
            (queue_bytes, sent[port as usize])
        });
    }
    samples
}

/// Every tenth flow was followed. Its time is divided by fixed fractions, except for time-outs.
fn why(flows: &[FlowRow], ports: &[PortRow], scheme: usize) -> Vec<WhyRow> {
    let queue = ports.iter().position(|port| !port.host).unwrap_or(0) as u32;
    let row = |flow: &FlowRow| {
        let mut why = WhyRow {
            flow: flow.flow,
            round_trips: (flow.bytes / 15_000) as u32 + 1,
            ..WhyRow::default()
        };
        let life = flow.finish_ps - flow.start_ps;
        let moving = (flow.bytes * 800 + US).min(life);
        let silent = (u64::from(flow.timeouts) * 9_000 * US).min(life - moving);
        let waited = life - moving - silent;
        let granted = if scheme == 2 { waited / 10 * 7 } else { 0 };
        let again = (waited - granted) / 10 * u64::from(flow.retransmits.min(3));
        let (card, far, host) = (waited / 50, waited / 60, waited / 90);
        let parts = [granted, card, 0, 0, moving, far, host, again, silent, 0];
        why.parts = parts;
        why.parts[Part::Queue as usize] = life - parts.iter().sum::<u64>();
        let (queued, granted) = (why.of(Part::Queue), why.of(Part::Grant));
        let mut worst =
            [(queue, queued / 10 * 8), (queue + 1, queued / 10 * 2), (flow.src, granted)];
        worst.sort_by_key(|(_, ps)| std::cmp::Reverse(*ps));
        why.worst = worst;
        why
    };
    flows.iter().filter(|flow| flow.flow.is_multiple_of(10) && flow.finished()).map(row).collect()
}

/// Three flows of at least a hundred segments.
fn sequence(flows: &[FlowRow], scheme: usize) -> Vec<SequenceRow> {
    let course = |flow: &FlowRow| {
        let n = 150;
        let span = (flow.finish_ps - flow.start_ps) / n;
        let flow = *flow;
        (0..n).flat_map(move |i| {
            let (t_ps, bytes) = (flow.start_ps + i * span, flow.bytes * (i + 1) / n);
            let row = |t_ps, step, bytes| SequenceRow { flow: flow.flow, t_ps, step, bytes };
            let again = (scheme == 0 && i % 37 == 36)
                .then(|| row(t_ps + span / 2, Step::Resent, bytes / 2));
            let acked = row(t_ps + span / 3 * 2, Step::Acknowledged, bytes * i / (i + 1));
            [Some(row(t_ps, Step::Sent, bytes)), again, Some(acked)].into_iter().flatten()
        })
    };
    flows.iter().filter(|flow| flow.finished()).take(3).flat_map(course).collect()
}

fn schedule(size: Size, dice: &mut Dice) -> Vec<ScheduleRow> {
    let hosts = u64::from(size.hosts());
    let mut rows = Vec::new();
    for i in 0..size.windows {
        let src = (i % hosts) as u32;
        let from_ps = i / hosts * (END * hosts / size.windows.max(1));
        let dst = if i % 3 == 0 { 0 } else { dice.draw(hosts) as u32 };
        let until_ps = (from_ps + (50 + dice.draw(300)) * US).min(END);
        rows.push(ScheduleRow { from_ps, until_ps, src, dst, rate_bps: 0 });
    }
    rows
}
