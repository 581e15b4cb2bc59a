use super::{Loaded, Scenario, ScenarioError};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

const BASE: &str = r#"name = "base"
repeat = 3

[end]
at = "100ms"

[fabric]
kind = "star"
hosts = 9
delay = "2us"

[measure]
sample = "10us"

[[workload]]
kind = "incast"
senders = 4

[[scheme]]
name = "tcp"
queue = { kind = "drop-tail", limit = "200KB" }

[[scheme]]
name = "dctcp"
transport = { kind = "dctcp", min-rto = "10ms" }
queue = { kind = "ecn", limit = "200KB" }
"#;

/// A folder with `base.toml` and others, removed at the end.
struct Files(PathBuf);

impl Files {
    fn new(name: &str) -> Files {
        let name = format!("slotline-extends-{}-{name}", std::process::id());
        let files = Files(std::env::temp_dir().join(name));
        drop(fs::remove_dir_all(&files.0));
        files.write("base.toml", BASE);
        files
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Loads `own`, which extends `base.toml`.
    fn load(&self, own: &str) -> Result<Loaded, ScenarioError> {
        self.write("own.toml", &format!("extends = \"base.toml\"\n{own}"));
        Scenario::load(&self.0.join("own.toml"))
    }

    /// The error message for `own`, without the folder.
    fn fault(&self, own: &str) -> String {
        let error = self.load(own).map(drop).expect_err(own).to_string();
        error.replace(&format!("{}/", self.0.display()), "")
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn alone(text: &str) -> Scenario {
    let loaded = Scenario::parse(Path::new("alone.toml"), text.into());
    loaded.unwrap_or_else(|error| panic!("{error}\n{text}")).scenario
}

/// Each case: a file that extends the base, and the single file that is equivalent to both.
#[test]
fn every_rule_of_merging() {
    let with = |old: &str, new: &str| {
        assert!(BASE.contains(old), "{old}");
        BASE.replacen(old, new, 1)
    };
    let cases = [
        ("nothing", "", BASE.to_string()),
        ("a value", "repeat = 5", with("repeat = 3", "repeat = 5")),
        ("a key of a table", "fabric.hosts = 12", with("hosts = 9", "hosts = 12")),
        (
            "another kind replaces the table",
            "[fabric]\nkind = \"fat-tree\"\nk = 4",
            with("kind = \"star\"\nhosts = 9\ndelay = \"2us\"", "kind = \"fat-tree\"\nk = 4"),
        ),
        (
            "the same kind does not",
            "[fabric]\nkind = \"star\"\nhosts = 10",
            with("hosts = 9", "hosts = 10"),
        ),
        (
            "lists without names are replaced",
            "[[workload]]\nkind = \"bulk\"",
            with("kind = \"incast\"\nsenders = 4", "kind = \"bulk\""),
        ),
        (
            "schemes by name",
            "[[scheme]]\nname = \"dctcp\"\nqueue = { threshold = \"30KB\" }\n[[scheme]]\nname = \"new\"",
            with("\"ecn\", limit = \"200KB\"", "\"ecn\", limit = \"200KB\", threshold = \"30KB\"")
                + "[[scheme]]\nname = \"new\"\n",
        ),
        (
            "a name alone stands for a table of that kind",
            "[[scheme]]\nname = \"dctcp\"\ntransport = \"cubic\"",
            with("{ kind = \"dctcp\", min-rto = \"10ms\" }", "\"cubic\""),
        ),
        ("a key left out", "without = [\"measure.sample\"]", with("sample = \"10us\"", "")),
        (
            "a scheme left out",
            "without = [\"scheme[tcp]\"]",
            with(
                "[[scheme]]\nname = \"tcp\"\nqueue = { kind = \"drop-tail\", limit = \"200KB\" }\n",
                "",
            ),
        ),
        (
            "left out and written anew: last",
            "without = [\"scheme[tcp]\", \"fabric.delay\"]\n[[scheme]]\nname = \"tcp\"",
            with(
                "[[scheme]]\nname = \"tcp\"\nqueue = { kind = \"drop-tail\", limit = \"200KB\" }\n",
                "",
            )
            .replace("delay = \"2us\"\n", "")
                + "[[scheme]]\nname = \"tcp\"\n",
        ),
    ];
    let files = Files::new("rules");
    for (title, own, by_hand) in cases {
        let merged = files.load(own).unwrap_or_else(|error| panic!("{title}: {error}"));
        assert_eq!(merged.scenario, alone(&by_hand), "{title}");
        assert!(!merged.resolved().contains("extends"), "{title}");
        assert_eq!(merged.resolved(), alone(&by_hand).resolved(), "{title}");
    }
}

#[test]
fn faults_are_in_the_file_in_which_they_stand() {
    let cases = [
        ("a wrong value here", "fabric.hosts = \"nine\""),
        ("an unknown key here", "fabric.hots = 12"),
        ("an unknown table here", "[fabrics]\nhosts = 12"),
        ("here, and the base does not fit", "[[workload]]\nkind = \"incast\"\nsenders = 9"),
        ("the base does not fit what is here", "fabric.hosts = 3"),
        ("in a scheme of the base", "[[scheme]]\nname = \"dctcp\"\nqueue = \"drop-tail\""),
        ("in a key of the base", "end.at = \"1us\"\nmeasure.warmup = \"2us\""),
        ("a key of the base under another kind", "fabric.kind = \"fat-tree\"\nfabric.hosts = 4"),
        ("a scheme twice here", "[[scheme]]\nname = \"x\"\n[[scheme]]\nname = \"x\""),
        ("a key of the base that is gone", "without = [\"end\"]"),
        ("nothing to leave out", "without = [\"fabric.rate\"]"),
        ("no scheme to leave out", "without = [\"scheme[dctpc]\"]"),
        ("no path to leave out", "without = [3]"),
        ("no list", "without = \"scheme\""),
        ("not TOML", "fabric.hosts = = 3"),
        ("a sweep", "sweep.grid.seed = [1, 2]"),
    ];
    let files = Files::new("faults");
    let mut messages = String::new();
    for (title, own) in cases {
        messages += &format!("## {title}\n{}\n\n", files.fault(own));
    }
    // Faults in the base, and in finding it.
    for (title, base) in [
        ("the base is not TOML", BASE.replace("repeat = 3", "repeat = = 3")),
        ("an unknown key in the base", BASE.replace("hosts = 9", "hots = 9")),
        ("a wrong value deep in the base", BASE.replace("\"10ms\"", "\"10KB\"")),
        ("a circle", format!("extends = \"own.toml\"\n{BASE}")),
        ("an inner base is missing", format!("extends = \"no.toml\"\n{BASE}")),
        ("without what", format!("without = [\"end\"]\n{BASE}")),
        ("no file name", format!("extends = 3\n{BASE}")),
    ] {
        files.write("base.toml", &base);
        messages += &format!("## {title}\n{}\n\n", files.fault(""));
    }
    assert_eq!(messages, include_str!("../tests/golden/extends_faults.txt"), "got:\n{messages}");
}

#[test]
fn chains_are_followed_up_to_a_limit() {
    let files = Files::new("chain");
    for at in 1..15 {
        let before = if at == 1 { "base".to_string() } else { format!("f{}", at - 1) };
        files.write(&format!("f{at}.toml"), &format!("extends = \"{before}.toml\"\nseed = {at}"));
    }
    let load = |name: &str| Scenario::load(&files.0.join(name));
    assert_eq!(load("f14.toml").unwrap().scenario.seed, 14);
    files.write("f15.toml", "extends = \"f14.toml\"");
    files.write("f16.toml", "extends = \"f15.toml\"");
    let error = load("f16.toml").map(drop).expect_err("too deep").to_string();
    assert!(error.contains("at most 16 files"), "{error}");
}

#[test]
fn files_are_looked_for_beside_the_file_that_names_them() {
    let files = Files::new("beside");
    let trace = "[[workload]]\nkind = \"trace\"\nfile = \"flows.csv\"\n";
    files.write(
        "shared/base.toml",
        &BASE.replace("[[workload]]\nkind = \"incast\"\nsenders = 4\n", trace),
    );
    files.write("shared/flows.csv", "src,dst,bytes,start_s\n0,1,1000,0\n");
    files.write("deep/in/own.toml", "extends = \"../../shared/base.toml\"\nname = \"own\"\n");
    let loaded = Scenario::load(&files.0.join("deep/in/own.toml")).unwrap();
    assert!(slotline_net::workload::Files::text(&loaded, "../../shared/flows.csv").is_ok());
    files.write("deep/in/flows.csv", "src,dst,bytes,start_s\n1,2,1000,0\n");
    files.write("deep/in/own.toml", &format!("extends = \"../../shared/base.toml\"\n{trace}"));
    let loaded = Scenario::load(&files.0.join("deep/in/own.toml")).unwrap();
    assert!(
        slotline_net::workload::Files::text(&loaded, "flows.csv")
            .is_ok_and(|text| text.contains("1,2,1000"))
    );
}

/// The content of one of two files. Each key can be merged by hand in one line.
#[derive(Clone, Debug)]
struct Part {
    repeat: Option<u32>,
    hosts: Option<u32>,
    delay: Option<u32>,
    warmup: Option<u32>,
    senders: Option<u32>,
    limits: [Option<u32>; 3],
}

fn part() -> impl Strategy<Value = Part> {
    let some = |range: std::ops::Range<u32>| proptest::option::of(range);
    let limits = [some(100..300), some(100..300), some(100..300)];
    (some(1..9), some(9..20), some(1..9), some(1..9), some(1..8), limits).prop_map(
        |(repeat, hosts, delay, warmup, senders, limits)| Part {
            repeat,
            hosts,
            delay,
            warmup,
            senders,
            limits,
        },
    )
}

impl Part {
    fn over(&self, base: &Part) -> Part {
        let limit = |at: usize| self.limits[at].or(base.limits[at]);
        Part {
            repeat: self.repeat.or(base.repeat),
            hosts: self.hosts.or(base.hosts),
            delay: self.delay.or(base.delay),
            warmup: self.warmup.or(base.warmup),
            senders: self.senders.or(base.senders),
            limits: [limit(0), limit(1), limit(2)],
        }
    }

    fn toml(&self) -> String {
        let line = |text: &str, value: Option<u32>| {
            value.map_or(String::new(), |value| text.replace('#', &value.to_string()) + "\n")
        };
        let mut out =
            line("repeat = #", self.repeat) + &line("measure.warmup = \"#us\"", self.warmup);
        out +=
            &(line("fabric.hosts = #", self.hosts) + &line("fabric.delay = \"#us\"", self.delay));
        out += &line("[[workload]]\nkind = \"incast\"\nsenders = #", self.senders);
        for (at, limit) in self.limits.iter().enumerate() {
            let scheme = format!("[[scheme]]\nname = \"s{at}\"\nqueue.limit = \"#KB\"");
            out += &line(&scheme, *limit);
        }
        out
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn merged_is_what_one_would_write(base in part(), own in part()) {
        // The base has all schemes, so that their order is the same by hand: new schemes come last.
        let rest = "name = \"p\"\nend = { at = \"10ms\" }\n";
        let mut base = base;
        base.hosts = base.hosts.or(Some(9));
        base.senders = base.senders.or(Some(3));
        base.limits = base.limits.map(|limit| limit.or(Some(150)));
        let files = Files::new(&format!("random-{:?}", std::thread::current().id()));
        let kind = |text: String| text.replacen("fabric.hosts", "fabric.kind = \"star\"\nfabric.hosts", 1);
        files.write("base.toml", &format!("{rest}{}", kind(base.toml())));
        let merged = files.load(&own.toml()).unwrap();
        let by_hand = alone(&format!("{rest}{}", kind(own.over(&base).toml())));
        prop_assert_eq!(&merged.scenario, &by_hand);
        prop_assert_eq!(merged.resolved(), by_hand.resolved());
    }
}
