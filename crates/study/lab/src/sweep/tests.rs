use super::part::{Shard, find, join};
use super::rows::rows;
use super::table::quantity;
use super::*;
use crate::record::RunSet;
use crate::run::Jobs;
use crate::summary::Summary;
use serde_json::json;
use slotline_scenario::Scenario;
use slotline_scenario::metric::Unit;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const BASE: &str = r#"name = "small"
end = { at = "20ms" }

[fabric]
kind = "star"
hosts = 9

[[workload]]
kind = "incast"
senders = 8
block = "400KB"
jitter = "20us"

[[scheme]]
name = "tcp"

[[scheme]]
name = "dctcp"
transport = "dctcp"
queue = { kind = "ecn", threshold = "30KB" }
"#;

fn study(sweep: &str) -> Study {
    let made = Study::parse(Path::new("small.toml"), format!("{BASE}{sweep}"));
    made.unwrap_or_else(|error| panic!("{error}"))
}

fn points(sweep: &str) -> Vec<String> {
    let study = study(sweep);
    (0..study.len()).map(|at| study.settings_text(at)).collect()
}

#[test]
fn the_last_parameter_of_a_grid_changes_fastest() {
    let grid = "[sweep.grid]\nfabric.hosts = [9, 10]\n\"workload[0].block\" = [\"1KB\", \"2KB\"]\nseed = [7]\n";
    let expected = [
        "hosts = 9, block = 1KB, seed = 7",
        "hosts = 9, block = 2KB, seed = 7",
        "hosts = 10, block = 1KB, seed = 7",
        "hosts = 10, block = 2KB, seed = 7",
    ];
    assert_eq!(points(grid), expected);
}

#[test]
fn listed_points_are_combined_with_the_grid() {
    let sweep = "[[sweep.point]]\nfabric.hosts = 10\n[[sweep.point]]\nfabric.hosts = 12\n\
                 \"workload[0].senders\" = 4\n[sweep.grid]\nseed = [1, 2]\n";
    let expected = [
        "hosts = 10, seed = 1",
        "hosts = 10, seed = 2",
        "hosts = 12, senders = 4, seed = 1",
        "hosts = 12, senders = 4, seed = 2",
    ];
    assert_eq!(points(sweep), expected);
}

#[test]
fn parameters_of_one_name_are_called_by_their_path() {
    let study = study(
        "[sweep.grid]\n\"scheme[tcp].queue.limit\" = [\"1MB\"]\n\"scheme[dctcp].queue.limit\" = [\"1MB\"]\n",
    );
    let labels: Vec<&str> = study.parameters.iter().map(|p| p.label.as_str()).collect();
    assert_eq!(labels, ["scheme[tcp].queue.limit", "scheme[dctcp].queue.limit"]);
}

#[test]
fn a_point_is_the_scenario_that_one_would_write() {
    let sweep = "[sweep.grid]\n\"scheme[dctcp].queue.threshold\" = [\"15KB\"]\nfabric.hosts = [12]\n\
                 measure.sample = [\"10us\"]\n\"scheme[dctcp].transport.min-rto\" = [\"1ms\"]\n\
                 \"scheme[*].routing\" = [\"spray\"]\n";
    let by_hand = BASE
        .replace("hosts = 9", "hosts = 12")
        .replace("\"30KB\"", "\"15KB\"")
        .replace("transport = \"dctcp\"", "transport = { kind = \"dctcp\", min-rto = \"1ms\" }")
        .replace("[[scheme]]\n", "[[scheme]]\nrouting = \"spray\"\n")
        + "[measure]\nsample = \"10us\"\n";
    let by_hand = Scenario::parse(Path::new("small.toml"), by_hand).unwrap();
    let point = study(sweep).point(0).unwrap();
    assert_eq!(point.scenario, by_hand.scenario);
    assert_eq!(point.resolved(), by_hand.resolved());
    assert!(!point.resolved().contains("sweep"));
}

/// A fault, and the sweep below [`BASE`] or the whole file that has it.
const FAULTS: &[(&str, &str)] = &[
    ("unknown key", "[sweep.grid]\n\"workload[0].sendrs\" = [2]"),
    ("unknown key, not in quotes", "[sweep.grid]\nfabric.hots = [9, 10]"),
    ("unknown table", "[sweep.grid]\nfabrik.hosts = [9]"),
    ("no such workload", "[sweep.grid]\n\"workload[3].senders\" = [2]"),
    ("no such scheme", "[sweep.grid]\n\"scheme[dctpc].routing\" = [\"ecmp\"]"),
    ("an element of what is no list", "[sweep.grid]\n\"fabric[0].hosts\" = [9]"),
    ("an element of what is not there", "[sweep.grid]\n\"event[0].at\" = [\"1ms\"]"),
    ("not a path", "[sweep.grid]\n\"workload[0\" = [2]"),
    ("into a value", "[sweep.grid]\n\"repeat.more\" = [2]"),
    ("one bad value", "[sweep.grid]\n\"scheme[dctcp].queue.threshold\" = [\"2KB\", \"3MB\"]"),
    ("a wrong unit", "[sweep.grid]\n\"end.at\" = [\"2ms\", \"2KB\"]"),
    ("two values that do not fit", "[sweep.grid]\nfabric.hosts = [9, 3]"),
    ("a table that is not there", "[sweep.grid]\n\"scheme[tcp].transport.min-rto\" = [\"1ms\"]"),
    ("no list", "[sweep.grid]\nseed = 3"),
    ("an empty list", "[sweep.grid]\nseed = []"),
    ("nothing varied", "[sweep]"),
    ("neither grid nor point", "[sweep.gird]\nseed = [1]"),
    ("points that are no list", "[sweep.point]\nseed = 1"),
    ("a key twice", "[sweep.grid]\nfabric.hosts = [9]\n\"fabric.hosts\" = [10]"),
    ("a key in list and grid", "[[sweep.point]]\nseed = 1\n[sweep.grid]\nseed = [1]"),
    (
        "too many",
        "[sweep.grid]\n\"end.at\" = [1,2,3,4,5,6,7,8,9,0]\nseed = [1,2,3,4,5,6,7,8,9,0]\n\
      repeat = [1,2,3,4,5,6,7,8,9,0]\n\"fabric.hosts\" = [1,2,3,4,5,6,7,8,9,0]\n\
      \"fabric.rate\" = [1,2,3,4,5,6,7,8,9,0]\n\"fabric.delay\" = [1,2]",
    ),
    ("seeds and repetitions", "[sweep.grid]\nseed = [1, 2]\nrepeat = [2]"),
    ("the name", "[sweep.grid]\nname = [\"a\", \"b\"]"),
];

#[test]
fn faults_are_where_they_were_written() {
    let mut shown = String::new();
    for (title, sweep) in FAULTS {
        let made = Study::parse(Path::new("small.toml"), format!("{BASE}{sweep}\n"));
        let point = |study: Study| (0..study.len()).try_for_each(|at| study.point(at).map(drop));
        let error = made.and_then(point).expect_err(title);
        shown += &format!("## {title}\n{error}\n\n");
    }
    assert_eq!(shown, include_str!("../../tests/golden/sweep_faults.txt"), "got:\n{shown}");
}

#[test]
fn the_name_of_a_sweep_stands_for_all_that_varies() {
    let id = |sweep: &str| study(sweep).id;
    let one = id("[sweep.grid]\nseed = [1, 2]\nfabric.hosts = [9]\n");
    assert_eq!(one, id("[sweep]\ngrid = { seed = [1, 2], fabric.hosts = [9] }\n"));
    assert_ne!(one, id("[sweep.grid]\nfabric.hosts = [9]\nseed = [1, 2]\n"), "another order");
    assert_ne!(one, id("[sweep.grid]\nseed = [1, 3]\nfabric.hosts = [9]\n"));
    assert!(one.starts_with("small-sweep-"), "{one}");
}

#[test]
fn shards_are_all_points_once() {
    for of in 1..7 {
        let shards: Vec<Shard> =
            (0..of).map(|i| Shard::parse(&format!("{i}/{of}")).unwrap()).collect();
        for at in 0..50 {
            assert_eq!(shards.iter().filter(|shard| shard.has(at)).count(), 1);
        }
    }
    for wrong in ["", "1", "2/2", "0/0", "-1/2", "a/b", "1/2/3"] {
        assert!(Shard::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn quantities_are_recognised_by_their_units() {
    let shown =
        [json!("10us"), json!("15KB"), json!("10Gbps"), json!(0.5), json!("ecmp"), json!({})];
    let found = shown.each_ref().map(quantity);
    let close = |found: Option<(f64, Unit)>, value: f64, unit: Unit| {
        found.is_some_and(|(v, u)| (v - value).abs() <= 1e-12 * value && u == unit)
    };
    assert!(close(found[0], 1e-5, Unit::Seconds) && close(found[1], 15e3, Unit::Bytes));
    assert!(close(found[2], 1e10, Unit::BitsPerSecond) && close(found[3], 0.5, Unit::Count));
    assert_eq!((found[4], found[5]), (None, None));
}

/// Runs the points of `study` below `root`, and returns their part.
fn run_all(study: &Study, root: &Path) -> Part {
    let mut part = Part::of(study, Shard::WHOLE);
    for at in 0..study.len() {
        let loaded = study.point(at).unwrap();
        let runs = Jobs::of(&loaded).run(&loaded, 1).unwrap();
        let folder = crate::output::write(&RunSet::new(&loaded, runs), root, true, &[]).unwrap();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        part.points[at].id = Some(name);
    }
    store::write_part(root, &part).unwrap();
    part
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("slotline-sweep-{}-{name}", std::process::id()));
    drop(std::fs::remove_dir_all(&path));
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Seeds as points give the same statements as repetitions of one scenario.
#[test]
fn swept_seeds_are_repetitions() {
    let root = folder("seeds");
    let study = study("[sweep.grid]\nseed = [1, 2, 3]\n");
    let part = run_all(&study, &root);
    let sweep = join(&[(root.clone(), part)]).unwrap();
    let repeated = Scenario::parse(Path::new("s.toml"), format!("repeat = 3\n{BASE}")).unwrap();
    let runs = Jobs::of(&repeated).run(&repeated, 1).unwrap();
    let summary = Summary::of(&RunSet::new(&repeated, runs));
    assert!(sweep.complete && sweep.rows.len() == 2);
    let close = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
        (a, b) => a == b,
    };
    for (at, row) in sweep.rows.iter().enumerate() {
        assert_eq!(row.points, [0, 1, 2]);
        for metric in &summary.metrics {
            let (cell, entry) = (summary.cell(at, *metric).unwrap(), &row.metrics[metric]);
            let title = format!("{} of {}: {entry:?}", metric.key(), row.scheme);
            assert!(close(entry.mean, Some(cell.estimate.mean)), "{title}");
            assert!(close(entry.ci_low, cell.estimate.low()), "{title}");
            assert!(close(entry.ci_high, cell.estimate.high()), "{title}");
            let verdict = entry.against_baseline.as_ref().map(|against| against.verdict.as_str());
            assert_eq!(verdict, cell.against.map(|against| against.verdict.text()), "{title}");
        }
    }
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn parts_are_joined_or_refused() {
    let (one, two) = (folder("one"), folder("two"));
    let study = study("[sweep.grid]\nfabric.hosts = [9, 10]\n");
    run_all(&study, &one);
    run_all(&study, &two);
    let found = || [find(&one).unwrap(), find(&two.join(&study.id)).unwrap()].concat();
    let sweep = join(&found()).unwrap();
    assert_eq!((sweep.complete, sweep.duplicates.clone()), (true, vec![0, 1]));
    let alone = join(&find(&one).unwrap()).unwrap();
    assert_eq!((&alone.csv(), alone.duplicates.len()), (&sweep.csv(), 0));
    // One point has no result.
    let id = sweep.points[1].id.clone().unwrap();
    std::fs::remove_dir_all(one.join(&id)).unwrap();
    let alone = join(&find(&one).unwrap()).unwrap();
    assert_eq!((alone.complete, alone.points[1].state), (false, State::Missing));
    assert!(join(&found()).unwrap().complete);
    // Another digest for the same point.
    let file = two.join(sweep.points[0].id.as_ref().unwrap()).join("summary.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let digest = sweep.points[0].digest.as_ref().unwrap();
    std::fs::write(&file, text.replace(digest.as_str(), "0123456789abcdef")).unwrap();
    let error = join(&found()).expect_err("another digest").to_string();
    assert!(error.contains("point 0 (hosts = 9)") && error.contains("0123456789abcdef"), "{error}");
    // Another version, another sweep, and no sweep.
    let mut other = find(&one).unwrap();
    other[0].1.version = "0.0.1".into();
    assert!(join(&other).is_err_and(|e| e.to_string().contains("version 0.0.1")));
    other[0].1.sweep = "x".into();
    let mixed = [find(&one).unwrap(), other].concat();
    assert!(join(&mixed).is_err_and(|e| e.to_string().contains("different sweeps")));
    assert!(find(&one.join("nowhere")).is_err() && find(&one.join(&id)).is_err());
    std::fs::remove_dir_all(one).unwrap();
    std::fs::remove_dir_all(two).unwrap();
}

/// Names that lead out of the folder, and points with the settings of other points.
#[test]
fn parts_that_no_program_writes_are_refused() {
    let root = folder("damaged");
    let study = study("[sweep.grid]\nfabric.hosts = [9, 10]\nseed = [1, 2]\n");
    let part = Part::of(&study, Shard::WHOLE);
    let refused = |change: &dyn Fn(&mut Part), why: &str| {
        let mut damaged = part.clone();
        change(&mut damaged);
        std::fs::write(root.join("part-0-of-1.json"), damaged.text()).unwrap();
        let error = find(&root).expect_err(why).to_string();
        assert!(error.contains(why) && error.contains("part-0-of-1.json"), "{error}");
    };
    refused(&|part| part.sweep = "../elsewhere".into(), "`../elsewhere` is not the name");
    refused(&|part| part.points[1].id = Some("/tmp".into()), "`/tmp` is not the name");
    refused(&|part| drop(part.points[2].settings.pop()), "sets 1 of 2 parameters");
    refused(&|part| part.points[3].point = 0, "entry 3 of `points` is point 0");
    refused(&|part| part.shard.of = 0, "no shard 0 of 0");
    std::fs::remove_dir_all(root).unwrap();
}

/// JSON lacks such numbers. They must not be taken for values of the scenario.
#[test]
fn settings_of_parts_say_what_the_study_says() {
    let study =
        study("[sweep.grid]\n\"workload[0].jitter\" = [inf, -nan, 1979-05-27, [2.5, inf]]\n");
    let part = Part::of(&study, Shard::WHOLE);
    let texts: Vec<String> = (0..study.len()).map(|at| part.settings_text(at)).collect();
    let expected = ["inf", "NaN", "1979-05-27", "[2.5,\"inf\"]"];
    assert_eq!(texts, expected.map(|text| format!("jitter = {text}")));
}

#[test]
fn tables_have_every_number() {
    let root = folder("tables");
    let study = study(
        "[measure]\nmetrics = [\"fct-mean\", \"goodput\"]\n[sweep.grid]\n\
                       \"fabric.delay\" = [\"1us\", \"20us\"]\n",
    );
    let mut part = run_all(&study, &root);
    part.metrics = study.point(0).unwrap().scenario.measure.metrics;
    let sweep = join(&[(root.clone(), part)]).unwrap();
    let csv = sweep.csv();
    let head = "delay,delay in s,scheme,metric,unit,mean,ci_low,ci_high,n,lower_bound,verdict\n";
    assert!(csv.starts_with(head), "{csv}");
    let mean = sweep.rows[3].metrics[&slotline_scenario::metric::Metric::FctMean].mean.unwrap();
    assert!(csv.contains(&format!("\n20us,0.00002,dctcp,fct-mean,s,{mean},,,1,false,")), "{csv}");
    let table = sweep.table(100);
    assert!(table.starts_with("delay  scheme  FCT mean (ms)  Goodput (Gbit/s)\n"), "{table}");
    assert_eq!(table.lines().count(), 5);
    for line in sweep.table(30).lines() {
        assert!(line.chars().count() <= 34, "{line}");
    }
    assert!(rows(&sweep.parameters, &sweep.points, &BTreeMap::new()).is_empty());
    std::fs::remove_dir_all(root).unwrap();
}

/// Two points with an expectation about both, and one about the second.
const EXPECTED: &str = "[[expect]]\nscheme = \"tcp\"\nmetric = \"completed\"\nat-least = 1\n\
    [[expect]]\nmetric = \"drops\"\nvalue = -1\nsource = \"none\"\nat = { \"fabric.hosts\" = 10 }\n\
    [sweep.grid]\nfabric.hosts = [9, 10]\n";

#[test]
fn expectations_are_about_their_points() {
    let study = study(EXPECTED);
    let metrics = |at: usize| -> Vec<String> {
        let loaded = study.point(at).unwrap();
        assert!(loaded.scenario.expect.iter().all(|expect| expect.at.is_empty()));
        loaded.scenario.expect.iter().flat_map(|e| Some(e.metric?.key().to_string())).collect()
    };
    assert_eq!(metrics(0), ["completed"]);
    assert_eq!(metrics(1), ["completed", "drops"]);
    for (from, to, why) in [
        ("= 10 }", "= 11 }", "no point of the sweep has these values"),
        (
            "\"fabric.hosts\" = 10",
            "seed = 1",
            "the sweep does not vary `seed`: it varies `fabric.hosts`",
        ),
    ] {
        let text = format!("{BASE}{}", EXPECTED.replace(from, to));
        let error = Study::parse(Path::new("small.toml"), text).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn points_can_have_labels() {
    let sweep = "[[sweep.point]]\nlabel = \"few\"\nfabric.hosts = 12\n[[sweep.point]]\nlabel = \"N = 10\"\n\
                 fabric.hosts = 15\n[sweep.grid]\nseed = [1, 2]\n[[expect]]\nscheme = \"tcp\"\n\
                 metric = \"completed\"\nat-least = 1\nat = { label = \"few\" }\n";
    let study = Study::parse(Path::new("small.toml"), format!("{BASE}{sweep}")).unwrap();
    let texts: Vec<String> = (0..study.len()).map(|at| study.settings_text(at)).collect();
    assert_eq!(texts, ["few, seed = 1", "few, seed = 2", "N = 10, seed = 1", "N = 10, seed = 2"]);
    let counts = (0..4).map(|at| study.point(at).unwrap().scenario.expect.len());
    assert_eq!(counts.collect::<Vec<_>>(), [1, 1, 0, 0]);
}

#[test]
fn parameters_that_vary_together_make_no_lines() {
    let mut sweep = crate::sweep::part::Sweep {
        sweep: "s".into(),
        name: "s".into(),
        version: "0".into(),
        complete: true,
        parameters: ["a", "b", "c"]
            .map(|name| super::plan::Parameter { path: name.into(), label: name.into() })
            .to_vec(),
        metrics: vec![],
        points: vec![],
        rows: vec![],
        expectations: vec![],
        duplicates: vec![],
        peak_rss_bytes: 0,
    };
    let row = |a: u32, b: u32, c: u32| super::rows::Row {
        settings: vec![Some(json!(a)), Some(json!(b)), Some(json!(c))],
        points: vec![0],
        scheme: "tcp".into(),
        metrics: BTreeMap::new(),
        quantities: vec![],
    };
    sweep.rows =
        vec![row(0, 5, 1), row(1, 4, 1), row(2, 4, 1), row(0, 5, 2), row(1, 4, 2), row(2, 4, 2)];
    assert_eq!(sweep.across(), Some(0));
    assert_eq!(sweep.beside(0), [2]);
    sweep.rows.push(row(0, 6, 1));
    assert_eq!(sweep.beside(0), [1, 2]);
}
