//! Figures of results and of sweeps as files, and the list of results.

use crate::folder::{BAD_INPUT, Folder, SMALL, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

impl Folder {
    /// Runs the program, which must succeed, and returns what it prints.
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    }
}

/// The only folder in `root` whose name begins with `start`.
fn only(root: &Path, start: &str) -> String {
    let names = fs::read_dir(root).expect("results").map(|entry| entry.unwrap().file_name());
    let names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    let found: Vec<&String> = names.iter().filter(|name| name.starts_with(start)).collect();
    assert_eq!(found.len(), 1, "{names:?}");
    found[0].clone()
}

#[test]
fn figures_of_a_result_are_files() {
    let folder = Folder::new("figures", &[("s.toml", SMALL)]);
    folder.done(&["run", "s.toml"]);
    let name = only(&folder.0.join("results"), "small-");
    let run = format!("results/{name}");
    assert!(folder.done(&["figure", &run]).contains("fct-cdf "));
    folder.done(&[
        "figure", &run, "fct-cdf", "-o", "a.svg", "--width", "60mm", "--scheme", "tcp", "--log",
        "x",
    ]);
    let svg = folder.read("a.svg");
    assert!(svg.contains("width=\"60mm\"") && svg.contains(">tcp<") && !svg.contains(">dctcp<"));
    assert!(svg.contains("flow completion time ("), "a linear axis names its unit");
    let caption = folder.read("a.txt");
    assert!(caption.starts_with("Flow completion times\n") && caption.contains(&name), "{caption}");
    folder.done(&["figures", &run, "--out", "all", "--dpi", "60"]);
    for ending in ["svg", "pdf", "png", "txt"] {
        assert!(folder.0.join(format!("all/fabric.{ending}")).is_file(), "{ending}");
        assert!(!folder.0.join(format!("all/schedule.{ending}")).exists(), "no schedule");
    }
    for (arguments, words) in [
        (&["figure", &run, "fct"][..], "expected one of: fct-cdf,"),
        (&["figure", &run, "fct-cdf", "--scheme", "xco"], "`tcp`, `dctcp`"),
        (&["figure", &run, "fct-cdf", "-o", "a.gif"], "--format"),
        (&["figure", &run, "fct-cdf", "-o", "a.pdf", "--format", "png"], "does not end with .png"),
        (&["figure", &run, "fct-cdf", "--width", "84"], "84mm"),
        (&["figure", &run, "fct-cdf", "--format", "png", "--width", "1m"], "84mm"),
        (&["figure", "none", "fct-cdf"], "none"),
    ] {
        let output = folder.run(arguments);
        assert_eq!(output.status.code(), Some(BAD_INPUT), "{arguments:?}");
        assert!(stderr(&output).contains(words), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn figures_of_a_sweep_have_a_panel_for_each_metric() {
    let sweep = "[measure]\nmetrics = [\"fct-mean\", \"goodput\"]\n[sweep.grid]\n\"workload[0].senders\" = [2, 4]\n";
    let folder = Folder::new("figures-sweep", &[("s.toml", &format!("{SMALL}{sweep}"))]);
    folder.done(&["sweep", "s.toml"]);
    let run = format!("results/{}", only(&folder.0.join("results"), "small-sweep-"));
    folder.done(&["figures", &run, "--format", "svg"]);
    for (name, title) in [("fct-mean", ">FCT mean (µs)<"), ("goodput", ">Goodput (Gbit/s)<")] {
        let svg = folder.read(&format!("{run}/figures/{name}.svg"));
        assert!(svg.contains(title) && svg.contains(">senders<"), "{name}: {svg}");
    }
    // The table of the page links the report of each point.
    let page = folder.read(&format!("{run}/sweep.html"));
    let links: Vec<&str> =
        page.split("<a href=\"../").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(links.len(), 4, "{links:?}");
    assert!(links.iter().all(|link| folder.0.join("results").join(link).is_file()), "{links:?}");
}

#[test]
fn results_are_listed_with_their_labels() {
    let folder = Folder::new("listed", &[("s.toml", SMALL)]);
    folder.done(&[
        "run",
        "s.toml",
        "--label",
        "Small queue",
        "--set",
        "scheme.dctcp.queue.threshold=20KB",
    ]);
    let mut child = folder.command(&["run", "-", "--repeat", "2"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("a pipe").write_all(SMALL.as_bytes()).expect("it reads");
    assert!(child.wait().expect("it ends").success());
    let name = only(&folder.0.join("results"), "small-small-queue-");
    assert!(folder.read(&format!("results/{name}/scenario.toml")).contains("threshold = \"20KB\""));
    let listed: Value = serde_json::from_str(&folder.done(&["results", "--json"])).expect("JSON");
    let listed = listed.as_array().expect("a list");
    assert_eq!(listed.len(), 2);
    let of = |label: &str| listed.iter().find(|entry| entry["label"] == label).expect("an entry");
    assert_eq!(of("Small queue")["folder"], name.as_str());
    assert!(of("")["verdict"].as_str().is_some_and(|verdict| verdict.starts_with("dctcp ")));
    assert!(folder.done(&["results"]).contains("Small queue"));
    let output = folder.run(&["results", "none"]);
    assert_eq!(output.status.code(), Some(BAD_INPUT));
}

#[test]
fn check_reports_errors_as_json() {
    let folder = Folder::new("check-json", &[("s.toml", SMALL)]);
    let checked = |set: &str, code: i32| -> Value {
        let output = folder.run(&["check", "s.toml", "--json", "--set", set]);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        serde_json::from_str(&stdout(&output)).expect("JSON")
    };
    let right = checked("fabric.hosts=6", 0);
    assert_eq!((&right[0]["valid"], &right[0]["errors"]), (&true.into(), &serde_json::json!([])));
    assert!(right[0]["about"].as_str().is_some_and(|about| about.contains("6 hosts")));
    let wrong = checked("scheme.dctcp.queue.treshold=1KB", BAD_INPUT);
    assert_eq!((&wrong[0]["valid"], &wrong[0]["errors"][0]["line"]), (&false.into(), &1.into()));
    assert_eq!(wrong[0]["errors"][0]["hint"], "did you mean `threshold`?");
}
