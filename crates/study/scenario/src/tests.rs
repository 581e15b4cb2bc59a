use super::*;
use slotline_net::workload::Files;
use std::path::{Path, PathBuf};

const GOOD: &str = r#"name = "incast"
repeat = 3
end = { at = "100ms" }

[fabric]
kind = "star"
hosts = 9

[[workload]]
kind = "incast"

[[scheme]]
name = "tcp"

[[scheme]]
name = "dctcp"
transport = "dctcp"
queue = { kind = "ecn", threshold = "30KB" }

[[scheme]]
name = "xco"
control = { kind = "xco", slice = "2ms" }
"#;

fn load(text: &str) -> Result<Loaded, ScenarioError> {
    Scenario::parse(Path::new("incast.toml"), text.to_string())
}

/// `GOOD` with `old` replaced by `new`, as in the table below.
fn with(old: &str, new: &str) -> String {
    assert!(GOOD.contains(old), "{old}");
    GOOD.replacen(old, new, 1)
}

/// Title, part of the good scenario, and its replacement.
const FAULTS: &[(&str, &str, &str)] = &[
    ("not TOML", "repeat = 3", "repeat = = 3"),
    ("unclosed text", "\"incast\"\nrepeat", "\"incast\nrepeat"),
    ("a key twice", "repeat = 3", "repeat = 3\nrepeat = 4"),
    ("unknown key", "repeat = 3", "repeats = 3"),
    ("unknown key of an enum", "hosts = 9", "hots = 9"),
    ("unknown key deep inside", "threshold", "treshold"),
    ("unknown table", "[[workload]]", "[[workloads]]"),
    ("unknown fabric", "\"star\"", "\"sart\""),
    ("unknown workload", "kind = \"incast\"", "kind = \"in-cast\""),
    ("unknown queue", "kind = \"ecn\"", "kind = \"blue\""),
    ("unknown transport", "transport = \"dctcp\"", "transport = \"dctpc\""),
    ("unknown transport in a table", "transport = \"dctcp\"", "transport = { kind = \"dctpc\" }"),
    ("a transport of a wrong type", "transport = \"dctcp\"", "transport = 3"),
    ("unknown control by name", "{ kind = \"xco\", slice = \"2ms\" }", "\"xcoo\""),
    ("unknown control", "kind = \"xco\"", "kind = \"xcoo\""),
    ("unknown metric", "[fabric]", "[measure]\nmetrics = [\"fct-p99\", \"fct-p98\"]\n[fabric]"),
    ("no unit", "at = \"100ms\"", "at = 100"),
    ("wrong unit", "at = \"100ms\"", "at = \"100mS\""),
    ("a time that is too long", "at = \"100ms\"", "at = \"99999999s\""),
    ("wrong unit in an enum", "slice = \"2ms\"", "slice = \"2KB\""),
    ("wrong type in an enum", "hosts = 9", "hosts = \"nine\""),
    ("negative", "repeat = 3", "repeat = -3"),
    ("a unit that is nearly right", "hosts = 9", "hosts = 9\nrate = \"10 Gbs\""),
    ("a unit of another spelling", "hosts = 9", "hosts = 9\nrate = \"10Gbit/s\""),
    ("bytes instead of bits", "hosts = 9", "hosts = 9\nrate = \"10GBps\""),
    ("a unit written out", "slice = \"2ms\"", "slice = \"2 msec\""),
    ("a word instead of a rate", "kind = \"incast\"", "kind = \"udp\"\nrate = \"lin\""),
    ("hosts that are none", "kind = \"incast\"", "kind = \"incast\"\nsenders = \"1..4\""),
    (
        "a key of another table",
        "transport = \"dctcp\"\n",
        "transport = \"dctcp\"\nthreshold = \"30KB\"\n",
    ),
    ("a key of the top in a table", "hosts = 9", "hosts = 9\nrepeat = 3"),
    (
        "a name where a table is due",
        "[fabric]\nkind = \"star\"\nhosts = 9\n",
        "fabric = \"star\"\n",
    ),
    ("a table where there are several", "[[workload]]", "[workload]"),
    ("several where there is one table", "[fabric]", "[[fabric]]"),
    ("a flag in quotes", "kind = \"incast\"", "kind = \"incast\"\nsplit = \"yes\""),
    ("a class too many", "kind = \"incast\"", "kind = \"incast\"\nclass = 8"),
    ("a key of its own kind missing", "hosts = 9\n", ""),
    ("no end", "end = { at = \"100ms\" }\n", ""),
    ("no name", "name = \"incast\"\n", ""),
    ("a name without letters", "name = \"incast\"", "name = \"…\""),
    ("no fabric", "[fabric]\nkind = \"star\"\nhosts = 9\n", ""),
    ("no kind", "kind = \"star\"\n", ""),
    ("no workload", "[[workload]]\nkind = \"incast\"\n", ""),
    ("never ends", "end = { at = \"100ms\" }", "end = { when = \"time\" }"),
    ("no repetition", "repeat = 3", "repeat = 0"),
    (
        "a queue without room for a packet",
        "threshold = \"30KB\" }",
        "threshold = \"1KB\", limit = \"1500B\" }",
    ),
    (
        "a virtual queue without room",
        "queue = { kind = \"ecn\", threshold = \"30KB\" }",
        "queue = { kind = \"avq\", size = \"1KB\" }",
    ),
    ("a scheme twice", "name = \"xco\"", "name = \"tcp\""),
    ("odd k", "kind = \"star\"\nhosts = 9", "kind = \"fat-tree\"\nk = 5"),
    ("load above 1", "kind = \"incast\"", "kind = \"poisson\"\nload = 1.2"),
    ("blocks without requests", "kind = \"incast\"", "kind = \"incast\"\nblocks = 50"),
    ("more senders than hosts", "kind = \"incast\"", "kind = \"incast\"\nsenders = 9"),
    ("dctcp without marks", "queue = { kind = \"ecn\", threshold = \"30KB\" }", ""),
    ("dctcp with red that drops", "{ kind = \"ecn\", threshold = \"30KB\" }", "\"red\""),
    ("threshold above the limit", "\"30KB\"", "\"3MB\""),
    ("a setting of another queue", "kind = \"ecn\", threshold", "kind = \"drop-tail\", threshold"),
    (
        "a transport's value",
        "transport = \"dctcp\"",
        "transport = { kind = \"dctcp\", mtu = \"90KB\" }",
    ),
    ("a scheduler's value", "slice = \"2ms\"", "slice = \"2ms\", guard = \"3ms\""),
    (
        "pfc over control messages",
        "name = \"xco\"",
        "name = \"xco\"\nqueue = { priorities = true, pfc = {} }",
    ),
    ("a scheduler and several cards", "hosts = 9", "hosts = 9\nnics = 2"),
    ("warm-up as long as the run", "[fabric]", "[measure]\nwarmup = \"100ms\"\n[fabric]"),
    ("too many samples", "[fabric]", "[measure]\nsample = \"1ns\"\n[fabric]"),
    ("ports without samples", "[fabric]", "[measure]\nports = [\"s0-h0\"]\n[fabric]"),
    (
        "unknown port",
        "[fabric]",
        "[measure]\nsample = \"1ms\"\nports = [\"s0-h0\", \"h0-s0\"]\n[fabric]",
    ),
    (
        "unknown port to capture",
        "[fabric]",
        "[measure]\ncapture = [\"h0-s0\", \"h0-h1\"]\n[fabric]",
    ),
    (
        "a capture of nothing",
        "[fabric]",
        "[measure]\ncapture = [\"s0-h0\"]\ncapture-limit = 0\n[fabric]",
    ),
    ("a limit without a capture", "[fabric]", "[measure]\ncapture-limit = 100\n[fabric]"),
    ("a metric that needs samples", "[fabric]", "[measure]\nmetrics = [\"queue-p99\"]\n[fabric]"),
    (
        "unknown link",
        "[[workload]]",
        "[[event]]\nat = \"1ms\"\nkind = \"link-down\"\nlink = \"h0-h1\"\n[[workload]]",
    ),
    (
        "routes that follow a rate",
        "[[workload]]",
        "[[event]]\nat = \"1ms\"\nkind = \"rate\"\nlink = \"s0-h0\"\nrate = \"1Gbps\"\nreroute-after = \"1ms\"\n[[workload]]",
    ),
    (
        "unknown switch",
        "[[workload]]",
        "[[event]]\nat = \"1ms\"\nkind = \"switch-down\"\nswitch = \"h1\"\n[[workload]]",
    ),
    (
        "a switch that is nearly right",
        "[[workload]]",
        "[[event]]\nat = \"1ms\"\nkind = \"switch-down\"\nswitch = \"S0\"\n[[workload]]",
    ),
    (
        "a link that is nearly right",
        "[[workload]]",
        "[[event]]\nat = \"1ms\"\nkind = \"link-down\"\nlink = \"h0_s0\"\n[[workload]]",
    ),
    (
        "an event after the end",
        "[[workload]]",
        "[[event]]\nat = \"1s\"\nkind = \"switch-down\"\nswitch = \"s0\"\n[[workload]]",
    ),
    (
        "an event of two kinds",
        "[[workload]]",
        "[[event]]\nat = \"1ms\"\nkind = \"link-down\"\nlink = \"h0-s0\"\nrate = \"1Gbps\"\n[[workload]]",
    ),
    (
        "a controller that no scheme has",
        "[[workload]]",
        "[[event]]\nat = \"1ms\"\nkind = \"controller-down\"\ncontroller = \"contoller\"\n[[workload]]",
    ),
];

#[test]
fn faults_name_file_line_key_and_choices() {
    let mut messages = String::new();
    for (title, old, new) in FAULTS {
        let error = load(&with(old, new)).map(|_| ()).expect_err(title);
        messages += &format!("## {title}\n{error}\n\n");
    }
    assert_eq!(messages, include_str!("../tests/golden/scenario_faults.txt"), "got:\n{messages}");
}

#[test]
fn a_missing_file_is_named() {
    let error = Scenario::load(Path::new("no/such.toml")).map(|_| ()).expect_err("missing");
    assert!(error.to_string().starts_with("cannot read `no/such.toml`: "), "{error}");
}

fn folder(name: &str) -> PathBuf {
    let folder =
        std::env::temp_dir().join(format!("slotline-scenario-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn traces_are_read_beside_the_scenario_and_blamed_at_their_key() {
    let folder = folder("traces");
    let file = folder.join("s.toml");
    let trace = with("kind = \"incast\"", "kind = \"trace\"\nfile = \"flows.csv\"");
    std::fs::write(&file, &trace).unwrap();
    let fault = || Scenario::load(&file).map(|_| ()).expect_err("bad trace").to_string();
    assert!(fault().contains("s.toml:11:8: ") && fault().contains("flows.csv"), "{}", fault());
    std::fs::write(folder.join("flows.csv"), "src,dst,bytes,start_s\n").unwrap();
    assert!(fault().contains("s.toml:11:8: ") && fault().contains("flows.csv"), "{}", fault());
    std::fs::write(folder.join("flows.csv"), "src,dst,bytes,start_s\n0,1,1000,0\n").unwrap();
    let loaded = Scenario::load(&file).unwrap();
    assert!(loaded.text("flows.csv").is_ok_and(|text| text.ends_with("0,1,1000,0\n")));
    let before = loaded.resolved();
    assert!(before.contains("# flows.csv: 33 bytes, "), "{before}");
    std::fs::write(folder.join("flows.csv"), "src,dst,bytes,start_s\n0,1,2000,0\n").unwrap();
    assert_ne!(Scenario::load(&file).unwrap().resolved(), before, "other input, other result");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_resolved_reads_back_to_the_same() {
    let events = "[[event]]\nat = \"1ms\"\nkind = \"link-down\"\nlink = \"h0-s0\"\nreroute-after = \"1ms\"\n\
                  [[event]]\nat = \"2ms\"\nkind = \"rate\"\nlink = \"h0-s0\"\nrate = \"1Gbps\"\n[[workload]]";
    let red = "{ kind = \"red\", ecn = true, priorities = true, pfc = { classes = [0] } }";
    let texts = [
        GOOD.to_string(),
        with("[[workload]]", events),
        with("{ kind = \"ecn\", threshold = \"30KB\" }", red),
        with("[fabric]", "[measure]\nsample = \"10us\"\nmetrics = [\"fct-p99\"]\n[fabric]"),
        with("kind = \"star\"\nhosts = 9", "kind = \"fat-tree\"\nk = 4"),
        with(
            "[fabric]",
            "[measure]\ncapture = [\"s0-h0\", \"h0-s0\"]\ncapture-limit = 9\n[fabric]",
        ),
    ];
    for text in texts {
        let loaded = load(&text).unwrap();
        let resolved = loaded.resolved();
        let again = load(&resolved).unwrap_or_else(|error| panic!("{error}\n{resolved}"));
        assert_eq!(again.scenario, loaded.scenario, "{resolved}");
        assert_eq!(again.resolved(), resolved);
    }
    let resolved = load(GOOD).unwrap().resolved();
    for default in
        ["seed = 1", "min-rto = \"200ms\"", "routing = \"ecmp\"", "when = \"flows-done\""]
    {
        assert!(resolved.contains(default), "{default} is not in\n{resolved}");
    }
}

#[test]
fn seeds_can_be_changed_from_outside() {
    let mut loaded = load(GOOD).unwrap();
    assert_eq!(loaded.scenario.seeds(), [1, 2, 3]);
    loaded.reseed(Some(u32::MAX), Some(2)).unwrap();
    assert_eq!(loaded.scenario.seeds(), [4_294_967_295, 4_294_967_296]);
    assert!(loaded.reseed(None, Some(0)).is_err_and(|e| e.to_string().contains("`repeat` is 0")));
}

/// The first line of each fault in `text`, without the file's folder.
fn all_faults(text: &str) -> Vec<String> {
    let folder = folder("all");
    let file = folder.join("s.toml");
    std::fs::write(&file, text).unwrap();
    let faults = Scenario::load_all(&file).map(drop).expect_err("faults");
    std::fs::remove_dir_all(&folder).unwrap();
    let first = |fault: &ScenarioError| {
        let line = fault.to_string().lines().next().unwrap().to_string();
        line.rsplit_once("s.toml:").unwrap().1.to_string()
    };
    faults.iter().map(first).collect()
}

#[test]
fn every_error_is_reported_at_once() {
    let shape = with("repeat = 3", "repeats = 3")
        .replace("hosts = 9", "hots = \"nine\"")
        .replace("kind = \"incast\"", "kind = \"incast\"\nblock = 3\njiter = \"1us\"")
        .replace("\"2ms\"", "\"2\"");
    let places: Vec<String> = all_faults(&shape);
    let expected =
        ["2:1: unknown key", "7:1: unknown key", "11:9: wrong type", "12:1: unknown key"];
    assert!(expected.iter().all(|line| places.iter().any(|p| p.starts_with(line))), "{places:?}");
    assert_eq!(places.len(), 5, "{places:?}");
    let sense = with("repeat = 3", "[measure]\nwarmup = \"1s\"")
        .replace("end = { at = \"100ms\" }\n", "")
        .replace("[measure]", "end = { at = \"100ms\" }\n[measure]")
        .replace("\"30KB\"", "\"3MB\"")
        .replace("kind = \"incast\"", "kind = \"incast\"\nsenders = 20")
        .replace("\"2ms\"", "\"2ns\"");
    assert_eq!(all_faults(&sense).len(), 4, "{:?}", all_faults(&sense));
}

#[test]
fn rates_and_delays_that_no_link_has_are_refused() {
    let refused = |old: &str, new: &str| load(&with(old, new)).expect_err("a refusal").to_string();
    let error = refused("hosts = 9", "hosts = 9\nrate = \"1000000Tbps\"");
    assert!(error.contains("`rate` = 1000000Tbps: no link has more than 100Tbps"), "{error}");
    let one = "hosts = 9\noverrides = [{ link = \"h3-s0\", rate = \"101Tbps\" }]";
    let error = refused("hosts = 9", one);
    assert!(error.contains("`h3-s0` has 101Tbps"), "{error}");
    assert!(load(&with("hosts = 9", "hosts = 9\nrate = \"100Tbps\"")).is_ok());
    let error = refused("hosts = 9", "hosts = 9\ndelay = \"101s\"");
    assert!(error.contains("a delay of 101s: no link has more than 100s"), "{error}");
}

#[test]
fn long_names_are_refused() {
    let long = "x".repeat(101);
    let error =
        load(&with("\"incast\"\nrepeat", &format!("\"{long}\"\nrepeat"))).expect_err("too long");
    assert!(error.to_string().contains("has 101 characters"), "{error}");
    let error = load(&with("\"tcp\"", &format!("\"{long}\""))).expect_err("too long");
    assert!(error.to_string().contains("scheme"), "{error}");
    assert!(load(&with("\"tcp\"", &format!("\"{}\"", &long[1..]))).is_ok());
}
