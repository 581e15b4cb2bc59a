use super::*;
use crate::record::{
    Conservation, EngineStats, FlowRow, NEVER, PortRow, RunRecord, SampleRow, Window,
};
use parquet::file::reader::{FileReader, SerializedFileReader};

const US: u64 = 1_000_000;

/// Three schemes on an incast of eight, with `seeds` seeds: made up, but alike to the real thing.
pub fn fake(seeds: u64) -> RunSet {
    let schemes = [("tcp", 200_000), ("dctcp", 9_000), ("xco, <slices>", 8_000)];
    let seeds: Vec<u64> = (1..=seeds).collect();
    let runs = schemes.iter().flat_map(|s| seeds.iter().map(|seed| fake_run(s.0, s.1, *seed)));
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
        seeds,
    }
}

fn fake_run(scheme: &str, fct_us: u64, seed: u64) -> RunRecord {
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
    RunRecord {
        scheme: scheme.into(),
        seed,
        flows,
        ports: vec![port("h0", true, 2_000_000), port("s0", false, 2 * fct_us)],
        samples: (0..2_000).map(sample).collect(),
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

/// A folder of its own for each test, emptied first.
pub fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("slotline-lab-{}-{name}", std::process::id()));
    drop(fs::remove_dir_all(&path));
    fs::create_dir_all(&path).unwrap();
    path
}

fn entries(path: &Path) -> Vec<String> {
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(path).unwrap().map(name).collect();
    names.sort();
    names
}

#[test]
fn a_result_has_all_its_files_and_a_name_that_stands_for_its_content() {
    let root = scratch("files");
    let set = fake(3);
    let folder = write(&set, &root, false).unwrap();
    assert_eq!(folder, root.join(run_id(&set.name, &set.scenario)));
    assert!(folder.file_name().unwrap().to_str().unwrap().starts_with("incast-of-8-"));
    let expected = [
        "flows.csv",
        "flows.parquet",
        "ports.csv",
        "ports.parquet",
        "report.html",
        "runs.json",
        "samples.csv",
        "samples.parquet",
        "scenario.toml",
        "summary.json",
    ];
    assert_eq!(entries(&folder), expected);
    assert_eq!(entries(&root).len(), 1, "no draft is left");
    assert_ne!(run_id("a", "x"), run_id("a", "y"));
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn what_is_there_is_left_alone_unless_forced_and_the_same() {
    let root = scratch("exists");
    let set = fake(2);
    let folder = write(&set, &root, false).unwrap();
    let error = write(&set, &root, false).unwrap_err().to_string();
    assert!(error.contains("--force") && error.contains(folder.to_str().unwrap()), "{error}");
    fs::write(folder.join("stale"), "").unwrap();
    write(&set, &root, true).unwrap();
    assert!(!entries(&folder).contains(&"stale".to_string()));
    fs::write(folder.join("scenario.toml"), "name = \"other\"").unwrap();
    assert!(matches!(write(&set, &root, true), Err(OutputError::Foreign(_))));
    assert_eq!(entries(&root).len(), 1);
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_failure_names_the_path_and_leaves_nothing() {
    let root = scratch("failure");
    let file = root.join("file");
    fs::write(&file, "").unwrap();
    let error = write(&fake(1), &file, false).unwrap_err().to_string();
    assert!(error.starts_with("cannot write") && error.contains("file"), "{error}");
    let place = Place::claim(&root, "x", "y", false).unwrap();
    assert_eq!(entries(&root).len(), 2);
    drop(place);
    assert_eq!(entries(&root), ["file"]);
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_full_disk_is_told_as_such() {
    // Linux' own full disk.
    let mut full = fs::File::options().write(true).open("/dev/full").unwrap();
    let error = tables::FLOWS.csv(&fake(1), &mut full).map_err(at(Path::new("r/flows.csv")));
    let text = error.unwrap_err().to_string();
    assert!(text.contains("r/flows.csv") && text.contains("No space left"), "{text}");
}

#[test]
fn parquet_reads_back_what_csv_says() {
    let root = scratch("parquet");
    let mut set = fake(3);
    set.runs[0].flows[2].start_ps = NEVER;
    let folder = write(&set, &root, false).unwrap();
    let reader =
        |name| SerializedFileReader::new(fs::File::open(folder.join(name)).unwrap()).unwrap();
    for name in ["flows", "samples", "ports"] {
        let file = reader(format!("{name}.parquet"));
        assert_eq!(file.metadata().num_row_groups(), 9);
        let rows = file.get_row_iter(None).unwrap().map(|row| {
            let cell = |(_, field): (&String, &parquet::record::Field)| match field {
                parquet::record::Field::Null => String::new(),
                parquet::record::Field::Str(text) if text.contains(',') => format!("\"{text}\""),
                parquet::record::Field::Str(text) => text.clone(),
                other => other.to_string(),
            };
            row.unwrap().get_column_iter().map(cell).collect::<Vec<_>>().join(",")
        });
        let csv = fs::read_to_string(folder.join(format!("{name}.csv"))).unwrap();
        let lines: Vec<&str> = csv.lines().skip(1).collect();
        assert!(lines.len() >= 18, "{}", lines.len());
        assert_eq!(rows.collect::<Vec<_>>(), lines);
    }
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn the_summary_has_what_scripts_need() {
    let set = fake(3);
    let text = summary_json::text("incast-0", &set, &Summary::of(&set));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let fct = &json["schemes"]["dctcp"]["metrics"]["fct-mean"];
    assert!((fct["mean"].as_f64().unwrap() - 0.009_812_5).abs() < 1e-12, "{fct}");
    assert!(fct["ci_low"].as_f64() < fct["mean"].as_f64());
    assert!(fct["ci_high"].as_f64() > fct["mean"].as_f64());
    assert_eq!((&fct["unit"], &fct["n"]), (&"s".into(), &3.into()));
    assert_eq!(fct["against_baseline"]["verdict"], "better");
    let engine = &json["schemes"]["tcp"]["engine"];
    assert_eq!(engine["packet_hops"], 60_000);
    assert_eq!(engine["dropped"]["buffer_full"], 30);
    assert_eq!(json["engine"]["conserved"], true);
    assert_eq!(json["engine"]["digest"].as_str().unwrap().len(), 16);
    assert_eq!(json["complete"], true);
    let order: Vec<usize> =
        ["tcp", "dctcp", "xco"].map(|s| text.find(&format!("\"{s}")).unwrap()).into();
    assert!(order.is_sorted());
}

#[test]
fn order_of_arrival_changes_nothing() {
    let set = fake(3);
    let mut shuffled = set.clone();
    shuffled.runs.reverse();
    shuffled.runs.swap(1, 5);
    let json = |set: &RunSet| summary_json::text("id", set, &Summary::of(set));
    assert_eq!(json(&set), json(&shuffled));
    assert_eq!(terminal::table(&set, 80), terminal::table(&shuffled, 80));
}

#[test]
fn an_interrupted_run_is_kept_and_marked() {
    let mut set = fake(3);
    set.runs.truncate(4);
    let summary = Summary::of(&set);
    let text = summary_json::text("id", &set, &summary);
    assert!(text.contains("\"complete\": false"));
    assert!(report::html("id", &set, &summary).contains("Incomplete"));
    set.runs.clear();
    assert!(terminal::table(&set, 80).contains("0 of 9"));
    assert!(well_formed(&report::html("id", &set, &Summary::of(&set))).is_ok());
}

/// Every tag is closed in order, and attributes and text have no bare `<` or `&`. Scripts and styles may.
fn well_formed(page: &str) -> Result<usize, String> {
    let body = page.strip_prefix("<!DOCTYPE html>").ok_or("no doctype")?;
    let mut open: Vec<&str> = vec![];
    let mut tags = 0;
    let mut rest = body;
    while let Some((text, next)) = rest.split_once('<') {
        let (tag, after) = next.split_once('>').ok_or(format!("unclosed <{next}"))?;
        let name = tag.split([' ', '\n']).next().unwrap_or("");
        let bare = text
            .split('&')
            .skip(1)
            .any(|rest| !rest.split([' ', '<']).next().unwrap_or("").contains(';'));
        if bare || tag.matches('"').count() % 2 == 1 {
            return Err(format!("{text}<{tag}>"));
        }
        tags += 1;
        match name.strip_prefix('/') {
            Some(closed) if open.pop() != Some(closed) => return Err(format!("stray </{closed}>")),
            None if !tag.ends_with('/') => open.push(name),
            _ => {}
        }
        rest = match name {
            "script" => &after[after.find("</script>").ok_or("an endless script")?..],
            _ => after,
        };
    }
    if open.is_empty() { Ok(tags) } else { Err(format!("left open: {open:?}")) }
}

#[test]
fn the_report_stands_alone_and_is_well_formed() {
    let set = fake(3);
    let page = report::html("incast-0", &set, &Summary::of(&set));
    let tags = well_formed(&page).unwrap();
    assert!(tags > 100, "{tags}");
    for part in ["Flow completion times", "Slowdown", "Queue over time", "Throughput over time"] {
        assert!(page.contains(&format!("<h3>{part}")), "{part}");
    }
    // Names of things, never fetched: the name space of SVG and the schema of Vega-Lite.
    let names = ["http://www.w3.org/2000/svg", "https://vega.github.io/schema/vega-lite/v5.json"];
    let rest = names.iter().fold(page.clone(), |page, name| page.replacen(name, "", 1));
    for outside in ["http:", "https:", "<link", " src=", "@import", "url("] {
        assert!(!rest.contains(outside), "{outside}");
    }
    assert!(page.contains("Eight senders &amp; one receiver.") && !page.contains("<slices>"));
    assert!(!page.contains("\"NaN") && page.len() < 1_000_000, "{}", page.len());
}
