//! Disciplines from object files, in switches and in bumps. They behave as those that are compiled in, and do not harm
//! others.

use crate::common::{load, records};
use slotline_bump::object::{SECTION, wrap};
use slotline_lab::record::RunRecord;
use slotline_lab::run::Jobs;
use slotline_net::aqm::spec::Policy;
use slotline_net::aqm::{Arrival, Discipline, Guest, Program, QueueParams, Verdict};
use slotline_net::rng::Stream;
use slotline_scenario::{Loaded, Scenario};
use slotline_schemes::counters;
use std::path::PathBuf;
use std::sync::Arc;

/// Two racks. Eight senders share one receiver in the other rack, and two share another receiver there. Object files
/// are in `data/bpf`.
fn scenario(schemes: &str) -> String {
    format!(
        r#"
        name = "objects"
        end = {{ at = "20ms", when = "time" }}
        fabric = {{ kind = "tree", racks = 2, hosts-per-rack = 10, rate = "1Gbps", rack-uplink = "10Gbps" }}
        [[workload]]
        kind = "bulk"
        senders = "0-7"
        receivers = "19"
        [[workload]]
        kind = "incast"
        senders = "10-11"
        receiver = 18
        block = "200KB"
        {schemes}
        "#
    )
}

fn scheme(name: &str, place: &str) -> String {
    format!(
        "[[scheme]]\nname = \"{name}\"\ntransport = {{ kind = \"dctcp\", min-rto = \"5ms\" }}\n{place}\n"
    )
}

fn of<'a>(runs: &'a [RunRecord], scheme: &str) -> &'a RunRecord {
    runs.iter().find(|run| run.scheme == scheme).expect("a run of the scheme")
}

const DCTCP: &str = r#"{ kind = "object", file = "../bpf/dctcp.o" }"#;
const RED: &str = r#"{ kind = "object", file = "../bpf/red.o" }"#;

/// `dctcp.c` compared with the threshold in Rust: every packet of the run, in switches and bumps, and on any number of
/// threads.
#[test]
fn dctcp_in_c_gives_the_run_of_dctcp_in_rust() {
    for place in ["queue = QUEUE", "queue = \"drop-tail\"\nbump = { queue = QUEUE }"] {
        let one = place.replace("QUEUE", DCTCP);
        for threads in [1, 3] {
            let mut loaded = load(&scenario(&(scheme("c", &one) + &scheme("rust", &one))));
            put(&mut loaded, 1, Arc::new(Native::Dctcp));
            let runs = Jobs::of(&loaded).run(&loaded, threads).unwrap();
            let (c, rust) = (of(&runs, "c"), of(&runs, "rust"));
            assert_eq!(
                c.engine.digest, rust.engine.digest,
                "{place}: {} {}",
                c.scheme, rust.scheme
            );
            assert_eq!((c.marks(), &c.flows), (rust.marks(), &rust.flows));
            assert!(c.marks() > 500, "{}", c.marks());
            assert_eq!(c.counted(counters::net::STOPPED_DISCIPLINES), Some(0));
        }
    }
}

/// `red.c` in Rust.
#[derive(Clone, Debug)]
struct Red {
    average: u64,
    rng: Stream,
}

impl Discipline for Red {
    fn arrive(&mut self, arrival: &Arrival) -> Verdict {
        self.average = self.average - (self.average >> 9) + (arrival.bytes() << 10 >> 9);
        let bytes = self.average >> 10;
        match bytes {
            0..30_000 => Verdict::Pass,
            90_000.. => Verdict::Drop,
            _ if u64::from(self.rng.bits() as u32) >= 429_496_729 * (bytes - 30_000) / 60_000 => {
                Verdict::Pass
            }
            _ if arrival.ect => Verdict::Mark,
            _ => Verdict::Drop,
        }
    }
}

/// `dctcp.c` in Rust. The queue of kind `ecn` compares times, but programs have whole bytes.
#[derive(Clone, Debug)]
struct Dctcp;

impl Discipline for Dctcp {
    fn arrive(&mut self, arrival: &Arrival) -> Verdict {
        if arrival.bytes() > 30_000 && arrival.ect { Verdict::Mark } else { Verdict::Pass }
    }
}

/// Makes the disciplines in Rust.
#[derive(Clone, Copy, Debug)]
enum Native {
    Dctcp,
    Red,
}

impl Program for Native {
    fn source(&self) -> &[u8] {
        b"native"
    }
    fn unshared(&self) -> Arc<dyn Program> {
        Arc::new(*self)
    }
    fn discipline(&self, queue: QueueParams) -> Box<dyn Guest> {
        match self {
            Native::Dctcp => Box::new(Dctcp),
            Native::Red => Box::new(Red { average: 0, rng: queue.rng }),
        }
    }
}

/// Replaces the program of a file by a program of the test.
fn put(loaded: &mut Loaded, at: usize, program: Arc<dyn Program>) {
    let scheme = &mut loaded.scenario.scheme[at];
    let bump = scheme.bump.as_mut().map(|bump| &mut bump.queue);
    for queue in [&mut scheme.queue].into_iter().chain(bump) {
        if let Policy::Object(object) = &mut queue.policy {
            object.program = Some(Arc::clone(&program));
        }
    }
}

#[test]
fn red_in_c_gives_the_run_of_the_same_in_rust_with_the_same_draws() {
    for place in ["queue = QUEUE", "queue = \"drop-tail\"\nbump = { queue = QUEUE }"] {
        let one = place.replace("QUEUE", RED);
        let mut loaded = load(&scenario(&(scheme("c", &one) + &scheme("rust", &one))));
        put(&mut loaded, 1, Arc::new(Native::Red));
        let runs = Jobs::of(&loaded).run(&loaded, 2).unwrap();
        assert_eq!(runs[0].engine.digest, runs[1].engine.digest, "{place}");
        assert!(runs[0].marks() > 10, "{}", runs[0].marks());
    }
}

/// A separate folder for a test, with an object file in it.
fn folder(test: &str, file: &[u8]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("objects-{test}"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("own.o"), file).unwrap();
    folder
}

/// The scenario as a file in that folder.
fn beside(folder: &std::path::Path, schemes: &str) -> Result<Loaded, String> {
    let name = folder.join("s.toml");
    Scenario::parse(&name, scenario(schemes)).map_err(|error| error.to_string())
}

/// Bumps in front of the receivers' switch, at all ports where traffic for them arrives.
const BUMPED: &str = "queue = \"drop-tail\"\n\
    bump = { at = [\"tor1-core\", \"tor1-h10\", \"tor1-h11\"], queue = QUEUE }";

/// `stuck.c` is `dctcp.c`, but loops if more than 100 KB wait. This happens in the queue that eight senders share,
/// which continues without the program. It does not happen in the queue of the other receiver, where nothing changes.
#[test]
fn a_program_that_does_not_end_harms_its_own_queue_alone() {
    let stuck = DCTCP.replace("dctcp", "stuck");
    for place in ["queue = QUEUE", BUMPED] {
        let schemes = scheme("stuck", &place.replace("QUEUE", &stuck))
            + &scheme("sound", &place.replace("QUEUE", DCTCP));
        let runs = records(&scenario(&schemes), 2);
        let (run, sound) = (of(&runs, "stuck"), of(&runs, "sound"));
        let [one] = &run.stopped[..] else { panic!("{place}: {:?}", run.stopped) };
        let port = &run.ports[one.port as usize];
        assert_eq!(port.port, "h19", "{one:?}");
        assert!(one.why.contains("more instructions than allowed") && one.t_ps > 0, "{one:?}");
        assert!(one.unjudged > 100, "{one:?}");
        assert_eq!(run.counted(counters::net::STOPPED_DISCIPLINES), Some(1));
        assert_eq!(run.counted(counters::net::UNJUDGED_PACKETS), Some(one.unjudged));
        let times = |run: &RunRecord| -> Vec<u64> {
            run.flows.iter().filter(|flow| flow.dst == 18).map(|flow| flow.finish_ps).collect()
        };
        assert_eq!(times(run), times(sound));
        assert!(times(run).len() > 1 && run.marks() < sound.marks());
        assert_eq!(sound.stopped, []);
    }
}

/// `heavy.c` has maps and variables that all queues of a switch share. Each switch has its own, so it does not matter
/// which thread runs which switch, and each run starts with new ones.
#[test]
fn what_queues_share_belongs_to_one_switch_and_one_run() {
    let heavy = r#"queue = { kind = "object", file = "../../crates/drivers/bump/bpf/heavy.o" }"#;
    let schemes = scheme("first", heavy) + &scheme("second", heavy);
    let (alone, together) = (records(&scenario(&schemes), 1), records(&scenario(&schemes), 3));
    let digests = |runs: &[RunRecord]| ["first", "second"].map(|name| of(runs, name).engine.digest);
    assert_eq!(digests(&alone), digests(&together));
    assert_eq!(alone[0].engine.digest, alone[1].engine.digest);
}

#[test]
fn what_is_wrong_with_a_file_is_said_at_its_key() {
    let code = |first: [u8; 8]| [first, [0x95, 0, 0, 0, 0, 0, 0, 0]].concat();
    let helper = code([0x85, 0, 0, 0, 14, 0, 0, 0]);
    let sound = code([0xb7, 0, 0, 0, 0, 0, 0, 0]);
    let table: [(&str, Vec<u8>, &str, &str); 6] = [
        ("none", vec![], "no.o", "`file` cannot be read: "),
        ("text", b"int main".to_vec(), "own.o", "not an eBPF object file"),
        ("cut", wrap(&sound, SECTION)[..90].to_vec(), "own.o", "the object file is damaged"),
        ("section", wrap(&sound, "slotline_bumb"), "own.o", "no section `slotline_bump`"),
        ("helper", wrap(&helper, SECTION), "own.o", "instruction 0: it calls helper 14 of Linux"),
        ("folder", vec![], ".", "`file` cannot be read: "),
    ];
    for (test, file, name, why) in table {
        let folder = folder(test, &file);
        for place in ["queue = QUEUE", "bump = { queue = QUEUE }"] {
            let queue = format!("{{ kind = \"object\", file = \"{name}\" }}");
            let error = beside(&folder, &scheme("s", &place.replace("QUEUE", &queue))).unwrap_err();
            assert!(error.contains(why), "{test}: {error}");
            let (table, column) =
                if place.starts_with('q') { ("queue", 35) } else { ("bump.queue", 44) };
            assert!(error.contains(&format!("at scheme[0].{table}.file")), "{test}: {error}");
            assert!(error.contains(&format!(":{column}: ")), "{test}: {error}");
        }
    }
}

/// A scenario with another program is another scenario: its results have another name.
#[test]
fn the_content_of_the_file_is_part_of_the_resolved_scenario() {
    let code =
        |answer: u8| [[0xb7, 0, 0, 0, answer, 0, 0, 0], [0x95, 0, 0, 0, 0, 0, 0, 0]].concat();
    let own = scheme("s", r#"queue = { kind = "object", file = "own.o" }"#);
    let loaded = |answer| {
        let folder = folder("content", &wrap(&code(answer), SECTION));
        beside(&folder, &own).unwrap()
    };
    let (pass, drop) = (loaded(0), loaded(2));
    assert_ne!(pass.resolved(), drop.resolved());
    assert_ne!(pass.scenario, drop.scenario);
    assert_eq!(pass.resolved(), loaded(0).resolved());
    assert_eq!(pass.scenario, loaded(0).scenario);
    let line =
        pass.resolved().lines().find(|line| line.starts_with("# own.o: ")).map(str::to_string);
    assert!(line.is_some_and(|line| line.ends_with(", object file")));
    // Reading the resolved scenario again gives the same scenario.
    let folder = folder("content", &wrap(&code(0), SECTION));
    let again = Scenario::parse(&folder.join("again.toml"), pass.resolved()).unwrap();
    assert_eq!(again.scenario, pass.scenario);
}
