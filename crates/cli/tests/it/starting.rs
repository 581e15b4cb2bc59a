//! Starting points of new users work: templates, completions, manual pages, and results in other tools' formats.

use crate::folder::{BAD_INPUT, Folder, stderr};
use std::fs;
use std::path::PathBuf;

const TEMPLATES: [&str; 6] =
    ["incast", "websearch", "fat-tree", "all-reduce", "my-trace", "scheduler"];

impl Folder {
    /// The output of a command that succeeds.
    fn printed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).expect("text")
    }

    /// The message of a command that fails.
    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(BAD_INPUT), "{arguments:?}");
        stderr(&output)
    }
}

#[test]
fn templates_run() {
    let folder = Folder::new("templates", &[]);
    for name in TEMPLATES {
        let file = format!("{name}.toml");
        folder.printed(&["new", "--template", name, "-o", &file]);
        let written = fs::read_to_string(folder.0.join(&file)).expect("the scenario");
        assert_eq!(folder.printed(&["new", "--template", name]), written);
        assert!(written.contains(&format!("\nname = \"{name}\"\n")), "{name}");
        let mut bare = written.split("\n\n").filter(|part| !part.contains('#'));
        let again = |part: &str| part.starts_with("[[scheme]]") || part.starts_with("[[event]]");
        assert!(bare.all(again), "{name}: a table without a comment");
        folder.printed(&["run", &file]);
    }
    let printed = folder.refused(&["new", "--template", "other"]);
    assert!(TEMPLATES.iter().all(|name| printed.contains(name)), "{printed}");
}

#[test]
fn a_new_scenario_has_its_name_and_replaces_nothing() {
    let folder = Folder::new("new", &[]);
    let text = folder.printed(&["new", "my \"first\" one"]);
    assert!(text.contains("\nname = \"my \\\"first\\\" one\"\n"), "{text}");
    folder.write("s.toml", &text);
    folder.printed(&["run", "s.toml"]);
    let error = folder.refused(&["new", "-o", "s.toml"]);
    assert!(error.contains("cannot write s.toml"), "{error}");
    assert!(folder.refused(&["new", "…"]).contains("a letter or a digit"));
    folder.write("flows.csv", "mine");
    folder.printed(&["new", "--template", "my-trace", "-o", "trace.toml"]);
    assert_eq!(fs::read_to_string(folder.0.join("flows.csv")).expect("the trace"), "mine");
}

/// `./check --full` builds one.
#[test]
fn a_plugin_is_a_crate_with_all_its_names() {
    let sources = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sources = sources.to_str().expect("text");
    let folder = Folder::new("plugin", &[]);
    let arguments = ["new", "plugin", "a-part", "--slotline", sources];
    folder.printed(&arguments);
    let read = |file: &str| fs::read_to_string(folder.0.join("a-part").join(file)).expect(file);
    let manifest = read("Cargo.toml");
    assert!(manifest.contains("[lib]\nname = \"a_part\""), "{manifest}");
    assert!(manifest.contains("[profile.release.package.\"a-part\"]"), "{manifest}");
    let library = manifest.lines().find_map(|line| line.strip_prefix("slotline = { path = \""));
    let library = PathBuf::from(library.expect("a path").trim_end_matches("\" }"));
    assert!(library.join("Cargo.toml").is_file());
    for file in ["README.md", "scenario.toml", "src/lib.rs", "src/main.rs", "tests/parts.rs"] {
        assert!(!read(file).contains("@"), "{file}");
    }
    assert!(read("Cargo.lock").contains("name = \"slotline-lab\""));
    assert!(folder.refused(&arguments).contains("cannot make the folder a-part"));
    assert!(folder.refused(&["new", "plugin", "A part"]).contains("small letters"));
    let elsewhere = ["new", "plugin", "other", "--slotline", "."];
    assert!(folder.refused(&elsewhere).contains("name their folder with --slotline"));
}

#[test]
fn completions_and_manual_pages_have_every_command() {
    let folder = Folder::new("manual", &[]);
    let commands = ["run", "reproduce", "bench", "list", "new", "export", "completions", "man"];
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = folder.printed(&["completions", shell]);
        assert!(commands.iter().all(|name| script.contains(name)), "{shell}");
        let values = ["bash", "zsh", "fish"].contains(&shell);
        assert!(!values || script.contains("my-trace"), "{shell} completes values too");
        assert!(script.contains("hpcc-fct"), "{shell}");
    }
    assert!(folder.printed(&["man"]).contains(".TH slotline 1"));
    folder.printed(&["man", "pages/man1"]);
    for name in commands {
        let page = folder.0.join(format!("pages/man1/slotline-{name}.1"));
        let page = fs::read_to_string(&page).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
}

const CAPTURED: &str = r#"name = "small"
end = { at = "50ms" }
repeat = 2
measure = { sample = "10us", capture = ["s0-h0", "h0-s0"] }
fabric = { kind = "star", hosts = 3 }

[[workload]]
kind = "bulk"
senders = [1]
receivers = [0]
size = "100KB"

[[scheme]]
name = "tcp"
"#;

#[test]
fn a_result_is_exported() {
    let folder = Folder::new("export", &[]);
    let scenario = CAPTURED.replace("[1]", "\"1,2\"").replace("[0]", "\"0\"");
    folder.write("s.toml", &scenario);
    folder.printed(&["run", "s.toml"]);
    let results = fs::read_dir(folder.0.join("results")).expect("results");
    let result = results.flatten().next().expect("a result").path();
    let result = result.to_str().expect("text");
    let metrics = folder.printed(&["export", "openmetrics", result]);
    assert!(
        metrics.contains("slotline_completed{scheme=\"tcp\",seed=\"2\",lower_bound=\"false\"} 2\n")
    );
    assert!(metrics.ends_with("# EOF\n"));
    assert!(folder.refused(&["export", "hpcc-fct", result]).contains("--seed"));
    let times = folder.printed(&["export", "hpcc-fct", result, "--seed", "1"]);
    assert_eq!(times.lines().filter(|line| line.contains(" 100 100000 ")).count(), 2, "{times}");
    folder.printed(&["export", "perfetto", result, "--seed", "2", "-o", "line.json"]);
    let error = folder.refused(&["export", "perfetto", result, "--seed", "2", "-o", "line.json"]);
    assert!(error.contains("line.json"), "{error}");
    let line = fs::read_to_string(folder.0.join("line.json")).expect("the time line");
    let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    let events = line["traceEvents"].as_array().expect("events");
    assert!(events.iter().any(|event| event["name"] == "flow to h0"));
    assert!(events.iter().any(|event| event["name"] == "queue s0-h0"));
    let captured = ["export", "pcapng", result, "--seed", "1", "--port"];
    folder.printed(&[&captured[..], &["s0-h0", "-o", "s0-h0.pcapng"]].concat());
    let capture = fs::read(folder.0.join("s0-h0.pcapng")).expect("the capture");
    let ports = fs::read_to_string(PathBuf::from(result).join("ports.csv")).expect("the ports");
    let sent = sent_packets(&ports, "tcp,1,s0,h0,");
    assert_eq!((packets(&capture), sent > 100), (sent, true), "every packet is there");
    let error = folder.refused(&[&captured[..], &["s0-h2"]].concat());
    assert!(error.contains("there are `h0-s0`, `s0-h0`"), "{error}");
    assert!(folder.refused(&["export", "perfetto", "."]).contains("not a result"));
}

/// Packets of a capture file.
fn packets(mut file: &[u8]) -> usize {
    const PACKET: u32 = 6;
    let mut count = 0;
    while let Some((head, _)) = file.split_first_chunk::<8>() {
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| head[at + byte]));
        count += usize::from(word(0) == PACKET);
        file = &file[word(4) as usize..];
    }
    count
}

/// The number of packets sent by the port in the line that begins with `begin`.
fn sent_packets(ports: &str, begin: &str) -> usize {
    let names: Vec<&str> = ports.lines().next().expect("a header").split(',').collect();
    let column = names.iter().position(|name| *name == "tx_packets").expect("the column");
    let line = ports.lines().find(|line| line.starts_with(begin)).expect("the port");
    line.split(',').nth(column).and_then(|cell| cell.parse().ok()).expect("a count")
}
