use super::*;
use crate::record::NEVER;
use parquet::file::reader::{FileReader, SerializedFileReader};
use slotline_tables::tables;

/// A page of a result.
pub const PAGE: PageFile = PageFile { name: "report.html", text: |id, _, _| id.into() };

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
    let set = RunSet::example(3);
    let folder = write(&set, &root, false, &[PAGE]).unwrap();
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
    let set = RunSet::example(2);
    let folder = write(&set, &root, false, &[PAGE]).unwrap();
    let error = write(&set, &root, false, &[PAGE]).unwrap_err().to_string();
    assert!(error.contains("--force") && error.contains(folder.to_str().unwrap()), "{error}");
    fs::write(folder.join("stale"), "").unwrap();
    write(&set, &root, true, &[PAGE]).unwrap();
    assert!(!entries(&folder).contains(&"stale".to_string()));
    fs::write(folder.join("scenario.toml"), "name = \"other\"").unwrap();
    assert!(matches!(write(&set, &root, true, &[PAGE]), Err(OutputError::Foreign(_))));
    assert_eq!(entries(&root).len(), 1);
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_failure_names_the_path_and_leaves_nothing() {
    let root = scratch("failure");
    let file = root.join("file");
    fs::write(&file, "").unwrap();
    let error = write(&RunSet::example(1), &file, false, &[]).unwrap_err().to_string();
    assert!(error.starts_with("cannot write") && error.contains("file"), "{error}");
    let place = Place::claim(&root, "x", "y", false).unwrap();
    assert_eq!(entries(&root).len(), 2);
    drop(place);
    assert_eq!(entries(&root), ["file"]);
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_full_disk_is_named() {
    let set = RunSet::example(1);
    // Linux has a device that behaves like a full disk.
    let mut full = fs::File::options().write(true).open("/dev/full").unwrap();
    let error = tables::FLOWS.csv(&set.in_order(), &mut full).map_err(at(Path::new("r/flows.csv")));
    let text = error.unwrap_err().to_string();
    assert!(text.contains("r/flows.csv") && text.contains("No space left"), "{text}");
}

#[test]
fn parquet_holds_the_same_rows_as_csv() {
    let root = scratch("parquet");
    let mut set = RunSet::example(3);
    set.runs[0].flows[2].start_ps = NEVER;
    let folder = write(&set, &root, false, &[PAGE]).unwrap();
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
    let set = RunSet::example(3);
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
    let set = RunSet::example(3);
    let mut shuffled = set.clone();
    shuffled.runs.reverse();
    shuffled.runs.swap(1, 5);
    let json = |set: &RunSet| summary_json::text("id", set, &Summary::of(set));
    assert_eq!(json(&set), json(&shuffled));
    assert_eq!(terminal::table(&set, 80), terminal::table(&shuffled, 80));
}

#[test]
fn an_interrupted_run_is_stored_and_marked() {
    let mut set = RunSet::example(3);
    set.runs.truncate(4);
    let summary = Summary::of(&set);
    let text = summary_json::text("id", &set, &summary);
    assert!(text.contains("\"complete\": false"));
    set.runs.clear();
    assert!(terminal::table(&set, 80).contains("0 of 9"));
}
