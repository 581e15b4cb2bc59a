//! Measures the time and the memory to write a large result and its report, with synthetic flows.

use crate::Row;
use crate::table::{Choice, Outcome, Separate};
use slotline_lab::output::read::{ReadError, read};
use slotline_lab::output::{self, OutputError, Place};
use slotline_lab::record::{
    Conservation, EngineStats, FlowRow, PortRow, RunRecord, RunSet, Samples, Window,
};
use slotline_lab::summary::Summary;
use slotline_lab::usage;
use slotline_tables::tables;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Flows of each scheme.
pub const FLOWS: u32 = 1_000_000;
const SCHEMES: [&str; 4] = ["newreno", "cubic", "dctcp", "xco"];
const HOSTS: u32 = 128;
const PORTS: u32 = 768;
/// Times of samples of each scheme.
const TURNS: u64 = 520;

/// Four schemes with `flows` flows each. Sizes, times and losses resemble those of remote procedure calls, but are
/// random numbers and not simulated.
pub fn made_up(flows: u32) -> RunSet {
    let run = |(at, scheme): (u64, &&str)| RunRecord {
        scheme: scheme.to_string(),
        seed: 1,
        flows: (0..flows).map(|n| flow(n, at)).collect(),
        ports: (0..PORTS).map(port).collect(),
        samples: samples(at),
        engine: EngineStats { sim_time_ps: u64::from(flows) << 21, ..EngineStats::default() },
        census: Conservation { sent: 4, delivered: 4, ..Conservation::default() },
        ..RunRecord::default()
    };
    RunSet {
        name: "made up".into(),
        description: format!("{flows} flows of each scheme, drawn at random"),
        scenario: "name = \"made up\"\n".into(),
        fabric: "fat-tree of 128 hosts and 80 switches".into(),
        schemes: SCHEMES.map(String::from).to_vec(),
        workloads: vec!["poisson".into()],
        seeds: vec![1],
        metrics: vec![],
        window: Window::ALL,
        runs: (0..).zip(&SCHEMES).map(run).collect(),
        failed: vec![],
    }
}

/// A number that looks random (the finaliser of SplitMix64; Steele, Lea, Flood 2014).
fn mixed(n: u64) -> u64 {
    let n = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

fn flow(flow: u32, scheme: u64) -> FlowRow {
    let drawn = mixed(u64::from(flow));
    // From 64 B on, each doubling of the size is half as frequent.
    let bytes = (64 + drawn % 64) << (drawn >> 40).trailing_zeros().min(18);
    let start_ps = u64::from(flow) << 21;
    let ideal_ps = 7_000_000 + bytes * 800;
    let waited = mixed(drawn ^ scheme) % (ideal_ps * (scheme + 1));
    FlowRow {
        flow,
        group: 0,
        src: drawn as u32 % HOSTS,
        dst: (drawn >> 20) as u32 % HOSTS,
        bytes,
        start_ps,
        finish_ps: start_ps + ideal_ps + waited,
        ideal_ps,
        retransmits: u32::from(drawn.is_multiple_of(100)),
        delivered_bytes: bytes,
        ..FlowRow::default()
    }
}

fn port(n: u32) -> PortRow {
    PortRow {
        node: format!("{}{}", if n < HOSTS { "h" } else { "s" }, n / 8),
        port: format!("s{n}"),
        host: n < HOSTS,
        rate_bps: 10_000_000_000,
        peak_bytes: mixed(u64::from(n)) % 300_000,
        ..PortRow::default()
    }
}

fn samples(scheme: u64) -> Samples {
    let mut samples = Samples::of_ports(0..PORTS);
    for turn in 0..TURNS {
        let t_ps = turn * 1_000_000_000;
        let queue = |port: u32| mixed((turn * u64::from(PORTS) + u64::from(port)) ^ scheme);
        samples.take(t_ps, |port| (queue(port) % 300_000, t_ps / 800));
    }
    samples
}

/// Writes a result with `flows` flows below `root`. Returns its folder and the time, without the time to draw the
/// flows.
pub fn write(root: &Path, flows: u32) -> Result<(PathBuf, Vec<Row>), OutputError> {
    let set = made_up(flows);
    let place = Place::claim(root, &set.name, &set.scenario, false)?;
    let (began, drawn) = (Instant::now(), usage::process_cpu_s());
    let summary = Summary::of(&set);
    let summed = began.elapsed().as_secs_f64();
    let folder = place.write(&set, &summary, false, &[slotline_report::PAGE])?.folder;
    let all = began.elapsed().as_secs_f64();
    let cpu = usage::process_cpu_s() - drawn;
    // The cost of CSV of all flows, for comparison.
    let before = usage::process_cpu_s();
    tables::FLOWS.csv(&set.in_order(), &mut std::io::sink()).expect("a sink takes everything");
    let csv = usage::process_cpu_s() - before;
    let rows = [
        ("write/summary", summed, "s"),
        ("write/all", all, "s"),
        ("write/cpu", cpu, "s"),
        ("write/csv_cpu", csv, "s"),
    ];
    Ok((folder, rows.map(|(name, value, unit)| row(name, value, unit)).to_vec()))
}

/// Creates the report of the result in `folder`. The process should do nothing else, because its memory is that of the
/// whole process.
pub fn report(folder: &Path) -> Result<Vec<Row>, ReadError> {
    let began = Instant::now();
    let set = read(folder)?;
    let read = began.elapsed().as_secs_f64();
    let summary = Summary::of(&set);
    let summed = began.elapsed().as_secs_f64() - read;
    let page = slotline_report::html(&output::run_id(&set.name, &set.scenario), &set, &summary);
    let all = began.elapsed().as_secs_f64();
    Ok(vec![
        row("report/read", read, "s"),
        row("report/summary", summed, "s"),
        row("report/page", all - read - summed, "s"),
        row("report/all", all, "s"),
        row("report/page_size", page.len() as f64 / 1e6, "MB"),
        row("report/cpu", usage::process_cpu_s(), "s"),
        row("report/peak_memory", usage::peak_rss_bytes() as f64 / 1e6, "MB"),
    ])
}

fn row(name: &str, value: f64, unit: &str) -> Row {
    Row {
        name: name.into(),
        scenario: "made-up".into(),
        scheme: "all".into(),
        threads: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        value,
        unit: unit.into(),
    }
}

/// The benchmark for the command line. A case is `write:FOLDER` or `read:FOLDER`.
pub const SEPARATE: Separate = Separate {
    cases: names,
    run: run_named,
    compared: None,
    has_large: false,
    takes_threads: false,
};

/// One process writes a result, another one reads it and creates its report.
fn names(choice: &Choice<'_>) -> Vec<String> {
    ["write", "read"].map(|step| format!("{step}:{}", choice.scratch.display())).into()
}

fn run_named(case: &str, _scenarios: &Path) -> Outcome {
    match case.split_once(':') {
        Some(("write", folder)) => Ok(write(Path::new(folder), FLOWS)?.1),
        Some(("read", folder)) => {
            let mut results = std::fs::read_dir(folder)?;
            Ok(report(&results.next().ok_or("there is no result")??.path())?)
        }
        _ => Err("a case is write:FOLDER or read:FOLDER".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_up_is_written_and_reported() {
        let name = format!("slotline-bench-report-{}", std::process::id());
        let root = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&root).unwrap();
        let (folder, written) = write(&root, 2_000).unwrap();
        assert_eq!(read(&folder).unwrap(), made_up(2_000));
        let rows = report(&folder).unwrap();
        assert!(written.iter().chain(&rows).all(|row| row.value > 0.0), "{rows:?}");
        std::fs::remove_dir_all(root).unwrap();
    }
}
