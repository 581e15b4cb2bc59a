//! Random small scenarios of everything that a scenario can name.
//!
//! A scenario is drawn from a list of numbers. Each number selects from a list of the options that fit the previous
//! choices. These lists are the table of constraints. Numbers shrink to zero, which selects the first option of each
//! list.

use proptest::prelude::*;

/// The number of numbers from which a scenario is drawn. Further ones are zero.
const NUMBERS: usize = 48;

/// The numbers that make the choices.
pub struct Draws(std::vec::IntoIter<u32>);

impl Draws {
    pub fn new(numbers: Vec<u32>) -> Draws {
        Draws(numbers.into_iter())
    }
    fn next(&mut self) -> u32 {
        self.0.next().unwrap_or(0)
    }
    /// A number from `least` on, below `end`.
    fn within(&mut self, least: u32, end: u32) -> u32 {
        least + self.next() % (end - least)
    }
    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.next() as usize % list.len()]
    }
    /// One of the options that fit.
    fn fitting(&mut self, list: &[(Fits, &'static str)], at: Place) -> &'static str {
        let fitting: Vec<&str> =
            list.iter().filter(|(fits, _)| fits(at)).map(|(_, text)| *text).collect();
        self.of(&fitting)
    }
}

/// The choices made so far.
#[derive(Clone, Copy)]
struct Place {
    control: &'static str,
    fabric: &'static str,
    /// The scheduler of circuits, if there is one.
    scheduler: Option<&'static str>,
    /// Whether the fabric is hybrid and has core switches.
    core: bool,
}

/// Whether an option fits the choices made so far.
type Fits = fn(Place) -> bool;

/// A random small scenario; a few are refused.
#[derive(Clone, Debug)]
pub struct Case {
    pub control: &'static str,
    pub fabric: &'static str,
    pub routing: &'static str,
    pub queue: Queue,
    /// Whether packets that a night interrupts are dropped.
    pub drops_at_night: bool,
    pub text: String,
    pub seed: u64,
}

/// The queues of a [`Case`].
#[derive(Clone, Debug)]
pub struct Queue {
    pub kind: &'static str,
    pub limit: u64,
    pub lossless: bool,
    /// Whether packets can be marked.
    pub marks: bool,
    text: String,
}

/// The marking threshold of queues of kind `ecn`.
pub const THRESHOLD: u64 = 10_000;

/// Random cases, which may be refused as scenarios.
pub fn cases() -> impl Strategy<Value = Case> {
    prop::collection::vec(any::<u32>(), NUMBERS)
        .prop_map(|numbers| Case::drawn(&mut Draws::new(numbers)))
}

/// As [`cases`], on [`GRAPH`] with traffic between hosts that are named one by one.
pub fn cases_on_graph() -> impl Strategy<Value = Case> {
    prop::collection::vec(any::<u32>(), NUMBERS)
        .prop_map(|numbers| Case::on_graph(&mut Draws::new(numbers)))
}

/// Circuits have many schedulers, so they are drawn more often.
const CONTROLS: [&str; 12] = [
    "none",
    "none",
    "xco",
    "tdma",
    "fastpass",
    "hedera",
    "flow-scheduler",
    "circuits",
    "circuits",
    "circuits",
    "circuits",
    "none",
];

impl Case {
    pub fn drawn(draws: &mut Draws) -> Case {
        let control = draws.of(&CONTROLS);
        let kind = match control {
            "circuits" => "hybrid",
            "none" => draws.of(&["star", "tree", "leaf-spine", "fat-tree", "graph", "hybrid"]),
            "hedera" | "flow-scheduler" => draws.of(&["leaf-spine", "fat-tree", "tree", "graph"]),
            _ => draws.of(&["star", "tree", "leaf-spine", "fat-tree", "graph"]),
        };
        let scheduler = SCHEDULERS[draws.next() as usize % SCHEDULERS.len()];
        let core = control == "circuits" && scheduler.core;
        let named = (control == "circuits").then_some(scheduler.name);
        let at = Place { control, fabric: kind, scheduler: named, core };
        // The ports of core switches have to be divided evenly.
        let racks = if core { 4 } else { draws.within(3, 6) };
        let queue = queue(draws, at);
        let fabric = fabric(draws, at, racks);
        let control_text = match control {
            "circuits" => circuits(scheduler, racks),
            _ => draws.fitting(CONTROL_OPTIONS, at).into(),
        };
        let routing = draws.fitting(ROUTINGS, at);
        let transport = transport(draws, at, &queue);
        let voq = voq(draws, at, &scheduler);
        let seed = u64::from(draws.within(0, 1_000));
        let mut workloads = vec![workload(draws, at)];
        if draws.next() % 2 == 1 {
            workloads.push(workload(draws, at));
        }
        if control == "circuits" && scheduler.phases {
            workloads = vec![COLLECTIVE.into()];
        }
        let workloads = workloads.join("\n[[workload]]\n");
        let text = format!(
            "name = \"case\"\nend = {{ at = \"10s\" }}\nmeasure = {{ why = false, ideal = false }}\n\
             [fabric]\n{fabric}\n[[workload]]\n{workloads}\n[[scheme]]\nname = \"scheme\"\n\
             routing = \"{routing}\"\nqueue = {}\ntransport = {transport}\ncontrol = {control_text}\n{voq}\n",
            queue.text
        );
        let drops_at_night = voq.contains("at-night = \"drop\"");
        Case { control, fabric: kind, routing, queue, drops_at_night, text, seed }
    }

    fn on_graph(draws: &mut Draws) -> Case {
        let control =
            draws.of(&["none", "none", "xco", "tdma", "fastpass", "hedera", "flow-scheduler"]);
        let at = Place { control, fabric: "graph", scheduler: None, core: false };
        let queue = queue(draws, at);
        let control_text = draws.fitting(CONTROL_OPTIONS, at);
        let routing = draws.fitting(ROUTINGS, at);
        let transport = transport(draws, at, &queue);
        let seed = u64::from(draws.within(0, 1_000));
        let size = draws.within(1, 60_000);
        let text = format!(
            "name = \"case\"\nend = {{ at = \"10s\" }}\nmeasure = {{ why = false, ideal = false }}\n\
             [fabric]\nkind = \"graph\"\n{GRAPH}\n[[workload]]\nkind = \"poisson\"\nhosts = \"0-3\"\n\
             load = 0.7\nflows = 20\nsizes = \"{size}B\"\nuntil = \"5ms\"\n[[workload]]\nkind = \"udp\"\n\
             senders = \"0,1\"\nreceivers = \"2,3\"\nrate = \"500Mbps\"\npoisson = true\nuntil = \"200us\"\n\
             [[scheme]]\nname = \"scheme\"\nrouting = \"{routing}\"\nqueue = {}\ntransport = {transport}\n\
             control = {control_text}\n",
            queue.text
        );
        Case { control, fabric: "graph", routing, queue, drops_at_night: false, text, seed }
    }

    /// The text with the seed in it.
    pub fn seeded(&self) -> String {
        format!("seed = {}\n{}", self.seed, self.text)
    }

    /// Whether the scheme exchanges messages with all hosts, also those without traffic.
    pub fn talks_to_all_hosts(&self) -> bool {
        matches!(self.control, "xco" | "tdma" | "fastpass")
    }

    /// Whether packets of a connection stay on one path.
    pub fn keeps_path(&self) -> bool {
        let routing = !matches!(self.routing, "spray" | "flowlet" | "classifier");
        routing && matches!(self.control, "none" | "xco" | "tdma") && self.fabric != "hybrid"
    }
}

fn is_none(at: Place) -> bool {
    at.control == "none" && at.fabric != "hybrid"
}

fn hashes(at: Place) -> bool {
    is_none(at) || at.core
}

fn anywhere(_: Place) -> bool {
    true
}

const ROUTINGS: &[(Fits, &str)] = &[
    (anywhere, "ecmp"),
    (|at| matches!(at.control, "xco" | "tdma") || is_none(at), "shortest"),
    (hashes, "spray"),
    (hashes, "flowlet"),
    (hashes, "ecmp-destination"),
    (is_none, "classifier"),
    (|at| is_none(at) || matches!(at.control, "fastpass" | "hedera" | "flow-scheduler"), "pinned"),
    (
        |at| at.fabric == "fat-tree" && (is_none(at) || matches!(at.control, "xco" | "tdma")),
        "two-level",
    ),
];

/// Options of all controls but circuits.
const CONTROL_OPTIONS: &[(Fits, &str)] = &[
    (|at| at.control == "none", r#"{ kind = "none" }"#),
    (|at| at.control == "xco", r#"{ kind = "xco", slice = "100us", hysteresis = "5us" }"#),
    (
        |at| at.control == "xco",
        r#"{ kind = "xco", slice = "50us", hysteresis = "5us", work-conserving = false, small-flow = "0B" }"#,
    ),
    (|at| at.control == "xco", r#"{ kind = "xco", slice = "100us", mode = "rate-limit" }"#),
    (|at| at.control == "xco", r#"{ kind = "xco", slice = "100us", controllers = "standby" }"#),
    (|at| at.control == "tdma", r#"{ kind = "tdma", round = "2ms" }"#),
    (
        |at| at.control == "tdma",
        r#"{ kind = "tdma", round = "2ms", slot = "150us", signalling = "pause", scheduler = "weighted-round-robin" }"#,
    ),
    (
        |at| at.control == "tdma",
        r#"{ kind = "tdma", round = "2ms", short-share = 0.05, signalling = "pfc", controllers = "per-switch" }"#,
    ),
    (|at| at.control == "fastpass", r#"{ kind = "fastpass" }"#),
    (
        |at| at.control == "fastpass",
        r#"{ kind = "fastpass", policy = "shortest-first", messages = "first" }"#,
    ),
    (
        |at| at.control == "fastpass",
        r#"{ kind = "fastpass", secondary = true, jitter = "300ns", quantum = 4 }"#,
    ),
    (
        |at| at.control == "hedera",
        r#"{ kind = "hedera", poll = "1ms", computing = "100us", gather = "50us", iterations = 100 }"#,
    ),
    (
        |at| at.control == "hedera",
        r#"{ kind = "hedera", poll = "1ms", computing = "100us", gather = "50us", placement = "first-fit" }"#,
    ),
    (
        |at| at.control == "flow-scheduler",
        r#"{ kind = "flow-scheduler", poll = "500us", computing = "100us", install = "50us" }"#,
    ),
];

/// A scheduler of circuits, and its requirements.
#[derive(Clone, Copy)]
struct Scheduler {
    name: &'static str,
    options: &'static str,
    /// Whether it is for fabrics with core switches.
    core: bool,
    /// Whether its circuits are known in advance, so that racks can relay.
    known: bool,
    /// Whether it plans by the phases of a collective operation.
    phases: bool,
}

const fn scheduler(name: &'static str, options: &'static str) -> Scheduler {
    Scheduler { name, options, core: false, known: false, phases: false }
}

const WEEK: &str = r#", week = "600us", day = "60us", report-ahead = "300us""#;

const SCHEDULERS: [Scheduler; 13] = [
    Scheduler { known: true, ..scheduler("rotor", "") },
    Scheduler { known: true, ..scheduler("fixed", "") },
    scheduler("solstice", WEEK),
    scheduler(
        "solstice",
        r#", week = "600us", day = "60us", report-ahead = "300us", inflate = true, fallback = "ring""#,
    ),
    scheduler("eclipse", WEEK),
    scheduler("birkhoff-von-neumann", WEEK),
    scheduler("max-weight", WEEK),
    scheduler("portfolio", WEEK),
    Scheduler { known: true, ..scheduler("mesh", WEEK) },
    Scheduler { core: true, ..scheduler("clos", "") },
    Scheduler { core: true, ..scheduler("clos-direct", WEEK) },
    Scheduler { phases: true, ..scheduler("phases", "") },
    Scheduler { phases: true, ..scheduler("phases-on-demand", WEEK) },
];

fn circuits(scheduler: Scheduler, racks: u32) -> String {
    let Scheduler { name, options, .. } = scheduler;
    let schedule = match name {
        "fixed" => format!(", schedule = \"{}\"", rotation(racks)),
        _ => String::new(),
    };
    format!(r#"{{ kind = "circuits", scheduler = "{name}"{options}{schedule} }}"#)
}

/// A week in which each rack has circuits to all others, one after another, with a night after each.
fn rotation(racks: u32) -> String {
    let list = |of: &dyn Fn(u32) -> String| (0..racks).map(of).collect::<Vec<_>>().join("/");
    let night = list(&|_| "-1".into());
    let days = (1..racks).map(|by| {
        let day = list(&|rack| ((rack + by) % racks).to_string());
        format!(" 60 {day} 20 {night}")
    });
    format!("{}{}", 2 * (racks - 1), days.collect::<String>())
}

fn fabric(draws: &mut Draws, at: Place, racks: u32) -> String {
    let nics = match (at.control, at.fabric) {
        ("none", "star" | "tree" | "leaf-spine") => draws.of(&["", "", "nics = 2"]),
        _ => "",
    };
    let text = match at.fabric {
        "star" => {
            let (hosts, rate) = (draws.within(4, 9), draws.of(&["1Gbps", "10Gbps", "25Gbps"]));
            format!("hosts = {hosts}\noverrides = [{{ link = \"h0-s0\", rate = \"{rate}\" }}]")
        }
        "tree" => {
            let (racks, hosts, over) = (draws.within(2, 4), draws.within(2, 4), draws.within(1, 3));
            format!("racks = {racks}\nhosts-per-rack = {hosts}\nrack-oversubscription = {over}.0")
        }
        "leaf-spine" => {
            let (leaves, spines, hosts) =
                (draws.within(2, 4), draws.within(1, 4), draws.within(2, 4));
            format!(
                "leaves = {leaves}\nspines = {spines}\nhosts-per-leaf = {hosts}\nuplink-rate = \"40Gbps\""
            )
        }
        "fat-tree" => "k = 4\nhost-rate = \"5Gbps\"".into(),
        "graph" => GRAPH.into(),
        _ => hybrid(draws, at, racks),
    };
    let nics = if at.fabric == "hybrid" { "" } else { nics };
    format!("kind = \"{}\"\n{text}\n{nics}", at.fabric)
}

/// Two racks with two paths between them, one of which has one more switch and a slow link.
const GRAPH: &str = r#"hosts = ["a", "b", "c", "d"]
switches = ["x", "y", "u", "v"]
rate = "10Gbps"
delay = "1us"
link = [
    { a = "a", b = "x" }, { a = "b", b = "x", rate = "2Gbps" }, { a = "c", b = "y" }, { a = "d", b = "y" },
    { a = "x", b = "u" }, { a = "u", b = "y" }, { a = "x", b = "v" }, { a = "v", b = "y", delay = "3us" },
]"#;

fn hybrid(draws: &mut Draws, at: Place, racks: u32) -> String {
    let racks_text = format!("racks = {racks}\nhosts-per-rack = 2");
    let night = draws.within(1, 30);
    if at.core {
        return format!(
            "{racks_text}\ncircuits = {{ switches = 4, rate = \"10Gbps\", delay = \"1us\", \
             reconfiguration = \"{night}us\", dark = \"changed\" }}\ncore = {{ switches = 2, ports = 8 }}"
        );
    }
    let delay = draws.within(0, 40);
    // A mesh needs circuits that never change; circuits by phases are those of one switch.
    let switches = match at.scheduler {
        Some("mesh") => racks - 1,
        Some("phases" | "phases-on-demand") => 1,
        _ => draws.within(1, 3),
    };
    let circuits = format!(
        "circuits = {{ switches = {switches}, rate = \"40Gbps\", delay = \"{delay}us\", \
         reconfiguration = \"{night}us\" }}"
    );
    format!("{racks_text}\npacket = {{ rate = \"10Gbps\" }}\n{circuits}")
}

/// Queues of racks by destination.
fn voq(draws: &mut Draws, at: Place, scheduler: &Scheduler) -> String {
    let packets = draws.within(4, 60);
    if at.control != "circuits" {
        return String::new();
    }
    let rule = draws.of(&["hold", "drain", "drop"]);
    if at.core {
        return format!("voq = {{ packets = {packets}, at-night = \"{rule}\" }}");
    }
    let more = match draws.next() % 3 {
        1 => {
            let (to, ahead) = (packets + draws.within(1, 60), draws.within(0, 400));
            let shrink = draws.of(&["drain", "drop"]);
            format!(", resize = {{ to = {to}, ahead = \"{ahead}us\", shrink = \"{shrink}\" }}")
        }
        2 if scheduler.known => r#", relay = { hops = "opportunistic", packets = 30 }"#.into(),
        _ => String::new(),
    };
    format!("voq = {{ packets = {packets}, at-night = \"{rule}\"{more} }}")
}

fn by_packet(at: Place) -> bool {
    at.fabric != "hybrid" || at.core
}

/// Kinds of queues, and after the bar their options.
const QUEUES: &[(Fits, &str)] = &[
    (anywhere, r#"drop-tail|"#),
    (anywhere, r#"ecn|, threshold = "10000B""#),
    (anywhere, r#"red|, min = "5KB", max = "10KB", weight = 0.1"#),
    (anywhere, r#"red|, min = "5KB", max = "10KB", weight = 0.1, ecn = true"#),
    (by_packet, r#"codel|, target = "50us", interval = "500us""#),
    (by_packet, r#"codel|, target = "50us", interval = "500us", ecn = true"#),
    (by_packet, r#"pie|, target = "50us", update = "50us", burst = "200us""#),
    (by_packet, r#"pie|, target = "50us", update = "50us", burst = "200us", ecn = true"#),
    (by_packet, r#"avq|, size = "20KB", gain = 50.0, ecn = true"#),
    (is_none, r#"qcn|, equilibrium = "8KB""#),
    (by_packet, r#"object|, file = "../bpf/dctcp.o""#),
    (by_packet, r#"object|, file = "../bpf/red.o""#),
];

fn queue(draws: &mut Draws, at: Place) -> Queue {
    let (kind, options) = draws.fitting(QUEUES, at).split_once('|').expect("a bar");
    let limit = u64::from(draws.within(12_000, 200_000));
    let classes = draws.of(&["", "", ", priorities = true", ", priorities = true, pfc = { "]);
    let shared = draws.of(&["", r#", shared = { total = "400KB", alpha = 0.5 }"#]);
    let plain = !by_packet(at);
    let shared = if plain { "" } else { shared };
    let may_pause =
        at.fabric != "hybrid" && at.control != "fastpass" && !matches!(kind, "codel" | "qcn");
    let lossless = may_pause && classes.contains("pfc");
    let classes = match (plain, lossless) {
        (true, _) => String::new(),
        (_, true) => {
            // Messages of central schedulers are not paused.
            let listed =
                if at.control == "none" { "" } else { ", classes = [0, 1, 2, 3, 4, 5, 6]" };
            format!(r#"{classes}xoff = "12KB", xon = "9KB"{listed} }}"#)
        }
        _ if classes.contains("pfc") => String::new(),
        _ => classes.into(),
    };
    let marks = options.contains("ecn = true") || kind == "ecn" || kind == "object";
    let text = format!(r#"{{ kind = "{kind}", limit = "{limit}B"{options}{classes}{shared} }}"#);
    Queue { kind, limit, lossless, marks, text }
}

fn transport(draws: &mut Draws, at: Place, queue: &Queue) -> String {
    let kinds: &[&str] = match (at.core, queue.marks) {
        (true, true) => &["newreno", "cubic", "dctcp", "fixed"],
        (true, false) => &["newreno", "cubic", "fixed"],
        (false, true) => &["newreno", "cubic", "dctcp", "retcp", "tdtcp", "fixed"],
        (false, false) => &["newreno", "cubic", "retcp", "tdtcp", "fixed"],
    };
    let kind = draws.of(kinds);
    let options = draws.of(&[
        "",
        r#", delayed-ack = "40us""#,
        r#", mtu = "9000B""#,
        r#", framing = "0B""#,
        r#", max-window = "20KB", small-queue = "3KB""#,
    ]);
    // A constant window that is larger than the queues would lose most of what it sends.
    let window = match (kind, options.contains("max-window")) {
        ("fixed", false) => r#", max-window = "30KB""#,
        _ => "",
    };
    format!(r#"{{ kind = "{kind}", min-rto = "1ms"{options}{window} }}"#)
}

/// The workload for circuits that are planned by phases.
const COLLECTIVE: &str = "kind = \"collective\"\nsize = \"60KB\"\nrounds = 2\ncompute = \"20us\"";

fn several_racks(at: Place) -> bool {
    at.fabric != "star"
}

/// Workloads; `SIZE` is a size.
const WORKLOADS: &[(Fits, &str)] = &[
    (anywhere, "kind = \"stride\"\nby = 2\nrepeats = 2\nsize = SIZE"),
    (|at| at.fabric == "star", "kind = \"staggered\"\nedge = 1.0\npod = 0.0\nsize = SIZE"),
    (|at| at.fabric == "fat-tree", "kind = \"staggered\"\nrepeats = 2\nsize = SIZE"),
    (
        |at| !matches!(at.fabric, "star" | "fat-tree"),
        "kind = \"staggered\"\nedge = 0.5\npod = 0.0\nrepeats = 2\nsize = SIZE",
    ),
    (anywhere, "kind = \"random\"\nrepeats = 2\nsize = SIZE"),
    (anywhere, "kind = \"random-bijective\"\nredraw = false\nrepeats = 2\nsize = SIZE"),
    (anywhere, "kind = \"hot-spot\"\nrepeats = 2\nsize = SIZE"),
    (anywhere, "kind = \"shuffle\"\norder = \"simultaneous\"\nsize = SIZE"),
    (anywhere, "kind = \"shuffle\"\nconcurrency = 2\nsize = SIZE"),
    (anywhere, "kind = \"ring\"\nrepeats = 3\nsize = SIZE"),
    (anywhere, "kind = \"collective\"\nrounds = 2\nbarrier = \"round\"\nsize = SIZE"),
    (anywhere, "kind = \"collective\"\npattern = \"all-to-all\"\ncompute = \"5us\"\nsize = SIZE"),
    (several_racks, "kind = \"hdfs\"\nfiles = 3\nsize = SIZE\nblock = \"20KB\""),
    (
        several_racks,
        "kind = \"rack-rings\"\nlarge-low = \"20KB\"\nlarge-high = \"40KB\"\nsmall-low = \"1KB\"\n\
         small-high = \"9KB\"\nlarge-rate = \"2Gbps\"\nsmall-rate = \"500Mbps\"\nuntil = \"400us\"",
    ),
    (anywhere, "kind = \"bulk\"\nsenders = 2\nconnections = 3\nsize = SIZE"),
    (anywhere, "kind = \"incast\"\nblocks = 3\nrequest = \"100B\"\nblock = \"100KB\""),
    (anywhere, "kind = \"incast\"\nsplit = false\nblock = SIZE"),
    (anywhere, "kind = \"request-response\"\nrequests = 2\noutstanding = 2\nresponse = SIZE"),
    (anywhere, "kind = \"request-response\"\ninterval = \"20us\"\nrequests = 3\nresponse = SIZE"),
    (anywhere, "kind = \"poisson\"\nload = 0.7\nflows = 20\nsizes = SIZE\nuntil = \"5ms\""),
    (
        anywhere,
        "kind = \"poisson\"\nload = 0.3\nflows = 20\nsizes = \"googlerpc\"\nuntil = \"5ms\"\npersistent = true",
    ),
    (anywhere, "kind = \"udp\"\nsenders = 2\nuntil = \"200us\""),
    (
        anywhere,
        "kind = \"udp\"\nrate = \"2Gbps\"\npoisson = true\nmessage = \"4KB\"\nuntil = \"500us\"",
    ),
    (
        anywhere,
        "kind = \"udp\"\nrate = \"8Gbps\"\non = \"20us\"\noff = \"30us\"\nuntil = \"300us\"",
    ),
    (anywhere, "kind = \"probe\"\nevery = \"20us\"\ncount = 10\njitter = \"5us\""),
    (anywhere, "kind = \"short-flows\"\nsenders = 2\nflows = 3\nsequences = 2\nsize = SIZE"),
    (
        anywhere,
        "kind = \"migration\"\nmemory = \"200KB\"\ndirty-rate = \"1Gbps\"\nsmall = \"10KB\"\nrounds = 5",
    ),
    (
        anywhere,
        "kind = \"trace\"\nfile = \"../../crates/study/scenario/tests/data/goal/allreduce.goal\"",
    ),
];

fn workload(draws: &mut Draws, at: Place) -> String {
    let text = draws.fitting(WORKLOADS, at);
    let (size, class, start) = (draws.within(1, 60_000), draws.within(0, 8), draws.within(0, 50));
    let text = text.replace("SIZE", &format!("\"{size}B\""));
    format!("{text}\nclass = {class}\nstart = \"{start}us\"")
}
