//! Readers of files: traffic and networks of other tools, captures, frames.

use crate::corpus::{Sample, captures, files, root};
use crate::mutate::{mutated, mutated_text};
use crate::random::Draw;
use crate::scenarios::law;
use crate::scratch;
use slotline_bump::capture::{CaptureError, Setup, through};
use slotline_bump::notice::notice;
use slotline_bump::pipeline::FRAMING;
use slotline_bump::{Action, ByDestination, Content, Own, Pipeline, frame};
use slotline_lab::build;
use slotline_net::aqm::bank::Entry;
use slotline_net::aqm::{Feedback, Threshold, VirtualQueue};
use slotline_net::rng::Stream;
use slotline_net::time::Time;
use slotline_net::topology::GraphSpec;
use slotline_net::units::{Bytes, Rate};
use slotline_net::wire::mac_control::Mac;
use slotline_scenario::import::{Importer, Options, import as read};
use slotline_scenario::{Loaded, Scenario};
use std::sync::OnceLock;

const HTSIM: &str = "crates/study/scenario/tests/data/htsim";
const HPCC: &str = "crates/study/scenario/tests/data/hpcc";
const LOGS: &str = "crates/study/scenario/tests/data/logs";
const GRAPHS: &str = "crates/model/formats/tests/data";

/// The folders with files of each kind of import.
const SOURCES: [(&str, &str, &str); 15] = [
    ("htsim-cm", HTSIM, ".cm"),
    ("hpcc-flows", HPCC, "flow.txt"),
    ("hpcc-fct", HPCC, "fct.txt"),
    ("sizes", "data/distributions", ".txt"),
    ("goal", "crates/study/scenario/tests/data/goal", ".goal"),
    ("pcap", "crates/model/formats/tests/data/captures", ".pcap"),
    ("flow-log", LOGS, ".csv"),
    ("zeek", LOGS, ".log"),
    ("netflow", LOGS, "flow"),
    ("lldp", "crates/model/formats/src", ".json"),
    ("node-link", GRAPHS, ".json"),
    ("graphml", GRAPHS, ".graphml"),
    ("htsim-topo", GRAPHS, ".topo"),
    ("hpcc-topology", HPCC, "topology.txt"),
    ("containerlab", GRAPHS, ".yml"),
];
/// Kinds without a file in the repository.
const WRITTEN: [(&str, &str); 2] = [
    ("csv", "src,dst,bytes,start_s,class\n0,1,1000,0,0\n1,2,1500000,0.000001,3\n2,0,1,1e-3,7\n"),
    (
        "circuits",
        "unit us\n# two switches\n2 180 1/2/3/0 20 -1/-1/-1/-1\n2 180 3/0/1/2 20 -1/-1/-1/-1\n",
    ),
];

/// Files with their kind of import.
fn samples() -> &'static [(&'static str, Vec<Sample>)] {
    static SAMPLES: OnceLock<Vec<(&str, Vec<Sample>)>> = OnceLock::new();
    SAMPLES.get_or_init(|| {
        let found =
            SOURCES.map(|(kind, folder, ending)| (kind, files(&[folder], &[ending], 100_000)));
        let written =
            WRITTEN.map(|(kind, text)| (kind, vec![Sample { bytes: text.as_bytes().to_vec() }]));
        found.into_iter().chain(written).collect()
    })
}

/// An input whose first line selects the reader.
fn labelled(label: &str, bytes: &[u8]) -> Vec<u8> {
    [label.as_bytes(), b"\n", bytes].concat()
}

/// The first line of an input, and the rest.
pub(crate) fn label_of(input: &[u8]) -> (String, &[u8]) {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let rest = input.get(end + 1..).unwrap_or_default();
    (String::from_utf8_lossy(&input[..end]).into_owned(), rest)
}

/// A mutated file of another tool.
pub(crate) fn import(rng: &mut Stream) -> Vec<u8> {
    let (kind, samples) = rng.pick(samples());
    let (seed, other) = (rng.pick(samples), rng.pick(samples));
    let made = if matches!(*kind, "pcap" | "netflow") || rng.once_in(4) {
        mutated(rng, &seed.bytes, &other.bytes)
    } else {
        mutated_text(rng, &seed.bytes, &other.bytes)
    };
    labelled(kind, &made)
}

/// An import is refused with a message, or gives tables of a scenario.
pub(crate) fn judge_import(input: &[u8]) -> Result<(), String> {
    let (kind, bytes) = label_of(input);
    let Ok(kind) = Importer::named(&kind) else { return Ok(()) };
    let made =
        scratch::with(|scratch| read(kind, &scratch.write("input", bytes), &Options::default()));
    match made {
        Err(error) => law(!error.0.trim().is_empty(), || "an error without a text".into()),
        Ok(made) if kind.is_network() => fabric(&made.fragment),
        Ok(made) => law(!made.fragment.is_empty(), || "an import of nothing".into()),
    }
}

/// A mutated file with the states of bridges' ports.
pub(crate) fn spanning_tree(rng: &mut Stream) -> Vec<u8> {
    static SAMPLES: OnceLock<Vec<Sample>> = OnceLock::new();
    let endings = ["_bridges.json", "_ip.json", "_eos.json", "_shown.txt"];
    let samples = SAMPLES.get_or_init(|| files(&[GRAPHS], &endings, 100_000));
    let (seed, other) = (rng.pick(samples), rng.pick(samples));
    mutated_text(rng, &seed.bytes, &other.bytes)
}

/// A lab of bridges is refused with a message, or is a network.
pub(crate) fn judge_spanning_tree(input: &[u8]) -> Result<(), String> {
    let lab = root().join(GRAPHS).join("triangle.clab.yml");
    let kind = Importer::named("containerlab")?;
    let made = scratch::with(|scratch| {
        let links =
            GraphSpec { rate: Some(Rate(1)), delay: Some(Time::ZERO), ..GraphSpec::default() };
        let tree = Some(scratch.write("input", input));
        read(kind, &lab, &Options { spanning_tree: tree, fabric: links, ..Options::default() })
    });
    match made {
        Err(error) => law(!error.0.trim().is_empty(), || "an error without a text".into()),
        Ok(made) => fabric(&made.fragment),
    }
}

/// An imported fabric is valid in a scenario.
fn fabric(fragment: &str) -> Result<(), String> {
    let rest = "[[workload]]\nkind = \"bulk\"\nflows = []\n[[scheme]]\nname = \"tcp\"\n";
    let text = format!("name = \"fuzz\"\nend = {{ at = \"1us\" }}\n{fragment}\n{rest}");
    match Scenario::parse(&root().join("scenarios/fuzz.toml"), text) {
        Ok(loaded) => law(!loaded.fabric().is_empty(), || "a network without a description".into()),
        Err(error) => law(!error.to_string().is_empty(), || "an error without a text".into()),
    }
}

/// How a scenario uses a file, by the name of the file.
const TRACES: [(&str, &str, &str); 10] = [
    ("a.cm", HTSIM, ".cm"),
    ("a.goal", "crates/study/scenario/tests/data/goal", ".goal"),
    ("a.fct", HPCC, "fct.txt"),
    ("a.pcap", "crates/model/formats/tests/data/captures", ".pcap"),
    ("a.log", LOGS, ".log"),
    ("a.netflow", LOGS, ".netflow"),
    ("a.ipfix", LOGS, ".ipfix"),
    ("a.flows", HPCC, "flow.txt"),
    ("a.txt", "data/distributions", ".txt"),
    ("a.graphml", GRAPHS, ".graphml"),
];

/// A mutated trace or distribution.
pub(crate) fn trace(rng: &mut Stream) -> Vec<u8> {
    static SAMPLES: OnceLock<Vec<Vec<Sample>>> = OnceLock::new();
    let samples = SAMPLES.get_or_init(|| {
        TRACES.iter().map(|(_, folder, ending)| files(&[folder], &[ending], 100_000)).collect()
    });
    let at = rng.index(TRACES.len() + 1);
    let Some((name, ..)) = TRACES.get(at) else {
        let csv = WRITTEN[0].1.as_bytes();
        return labelled("a.csv", &mutated_text(rng, csv, csv));
    };
    let (seed, other) = (rng.pick(&samples[at]), rng.pick(&samples[at]));
    labelled(name, &mutated_text(rng, &seed.bytes, &other.bytes))
}

/// A file that a scenario names is refused with a message, or the scenario is accepted.
pub(crate) fn judge_trace(input: &[u8]) -> Result<(), String> {
    let (name, bytes) = label_of(input);
    let workload = match name.as_str() {
        "a.txt" => "kind = \"poisson\"\nload = 0.1\nsizes = \"a.txt\"".to_string(),
        "a.flows" => "kind = \"trace\"\nfile = \"a.flows\"\nformat = \"hpcc-flows\"".to_string(),
        "a.graphml" => "kind = \"poisson\"\nload = 0.1".to_string(),
        name if TRACES.iter().any(|(known, ..)| *known == name) || name == "a.csv" => {
            format!("kind = \"trace\"\nfile = \"{name}\"")
        }
        _ => return Ok(()),
    };
    let fabric = match name.as_str() {
        "a.graphml" => "kind = \"graph\"\nfile = \"a.graphml\"\nrate = \"1Gbps\"\nattach-hosts = 1",
        _ => "kind = \"star\"\nhosts = 16",
    };
    let text = format!(
        "name = \"fuzz\"\nend = {{ at = \"10us\" }}\n[fabric]\n{fabric}\n[[workload]]\n{workload}\n[[scheme]]\n\
         name = \"tcp\"\n"
    );
    let loaded = scratch::with(|scratch| {
        scratch.write(&name, bytes);
        Scenario::parse(&scratch.path().join("scenario.toml"), text)
    });
    match loaded {
        Ok(loaded) => traffic(&loaded),
        Err(error) => law(!error.to_string().is_empty(), || "an error without a text".into()),
    }
}

/// The traffic of an accepted scenario can be generated.
fn traffic(loaded: &Loaded) -> Result<(), String> {
    let scenario = &loaded.scenario;
    let graph = scenario.fabric.build().map_err(|error| error.to_string())?;
    let made = build::traffic(scenario, &graph, scenario.seed.into(), loaded);
    made.map_err(|error| format!("accepted, but not made: {error}")).map(drop)
}

/// A mutated capture.
pub(crate) fn capture(rng: &mut Stream) -> Vec<u8> {
    let (seed, other) = (rng.pick(captures()), rng.pick(captures()));
    mutated(rng, &seed.bytes, &other.bytes)
}

/// A capture is refused with a message, or each of its packets has an action.
pub(crate) fn judge_capture(input: &[u8]) -> Result<(), String> {
    let setup = Setup { queues: 8, ..Setup::default() };
    let pace = setup.rate.inverse_rate();
    let mut table = vec![];
    match through(&setup, input, |_| Threshold::new(Bytes(3_000), pace), vec![], &mut table) {
        Ok((report, _)) => {
            let lines = table.iter().filter(|byte| **byte == b'\n').count() as u64;
            law(lines == report.packets + 1, || {
                format!("{lines} lines for {} packets", report.packets)
            })
        }
        Err(CaptureError::Input(error)) => {
            law(!error.message.is_empty(), || "an error without a text".into())
        }
        Err(CaptureError::Output(error)) => Err(format!("writing to memory failed: {error}")),
    }
}

/// Ethernet frames that are almost valid: IPv4 with ports, and IPv6 behind a tag.
const FRAMES: [&[u8]; 2] = [
    &[
        2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 2, 0, 40, 0, 1, 0x40, 0, 64, 6, 0x26, 0xcb,
        10, 0, 0, 1, 10, 0, 0, 2, 0, 80, 0x1f, 0x90, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 0, 0, 0,
        0, 0, 0,
    ],
    &[
        2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0, 0, 7, 0x86, 0xdd, 0x60, 0x20, 0, 0, 0, 12, 17,
        64, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 2, 0, 80, 0x1f, 0x90, 0, 12, 0, 0, 1, 2, 3, 4,
    ],
];

/// A mutated frame, or noise.
pub(crate) fn frame(rng: &mut Stream) -> Vec<u8> {
    let length = rng.length(200);
    let noise = rng.noise(length);
    let seed = *rng.pick(&FRAMES);
    if rng.once_in(8) { noise } else { mutated(rng, seed, &noise) }
}

/// A bump marks only ECN-capable packets, and does not change malformed frames.
pub(crate) fn judge_frame(input: &[u8]) -> Result<(), String> {
    let pace = Rate(1_000_000_000).inverse_rate();
    let queue = VirtualQueue::new(pace, Bytes(3_000));
    let entry = || Entry::new(queue, Threshold::new(Bytes(0), pace));
    let entries = (0..2).map(|_| entry()).collect();
    let mut bump = Pipeline::new(ByDestination::new(2, (24, 64)), entries, Own::new(2), FRAMING);
    for at in 0..4 {
        let mut bytes = input.to_vec();
        let passed = bump.pass(&mut bytes, input.len() as u32, Time::ns(at));
        match (passed.action, frame::parse(&bytes)) {
            (Action::Mark, Ok(Content::Ip(packet))) if packet.ecn == frame::CE => {}
            (Action::Mark, _) => return Err("a marked frame has no mark".into()),
            (action, _) => law(bytes == input, || format!("{action:?} changes the frame"))?,
        }
    }
    let feedback = Feedback { quantised: 63, offset: i64::MAX, delta: i64::MIN };
    drop(notice(input, u64::MAX, Mac([2; 6]), feedback));
    Ok(())
}
