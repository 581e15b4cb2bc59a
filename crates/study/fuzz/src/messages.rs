//! Networks in which control messages are changed in transit.
//!
//! Every node of a network is wrapped in a [`Tampered`], which changes some of the control messages that arrive.
//! Changed messages keep the sequence numbers of running sessions and get valid codes, because the keys are known.
//! Therefore the state machines of all systems receive them in the states of a real network.

use crate::mutate::mutated;
use crate::random::{Draw, stream_of};
use crate::scenarios::law;
use crate::wire::{seal_fastpass, seal_fcp};
use slotline_fastpass::wire::fcp::{self, Key, siphash};
use slotline_lab::build::build;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::intercept::{Intercept, Intercepted};
use slotline_net::node::{Counters, Cx, Node};
use slotline_net::rng::Stream;
use slotline_net::scheme::counters::IGNORED_MESSAGES;
use slotline_net::time::Time;
use slotline_scenario::{Loaded, Scenario};
use slotline_sim::{Options, Outcome, Place, Watch, run};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A network without a scheme, with traffic that repeats.
const NETWORK: &str = r#"
name = "tampered"
end = { at = "2ms" }
"#;
const STAR: &str = r#"
fabric = { kind = "star", hosts = 5, rate = "10Gbps", delay = "1us" }
workload = [{ kind = "random-bijective", size = "300KB" }, { kind = "poisson", load = 0.3, sizes = "20KB" }]
"#;
const TREE: &str = r#"
fabric = { kind = "fat-tree", k = 4, rate = "10Gbps", delay = "1us" }
workload = [{ kind = "random-bijective", size = "300KB" }]
"#;
const ROWS: &str = r#"
fabric = { kind = "tree", racks = 3, hosts-per-rack = 2 }
workload = [{ kind = "random-bijective", size = "300KB" }]
"#;
const RACKS: &str = r#"
fabric = { kind = "hybrid", racks = 3, hosts-per-rack = 2, packet = { rate = "10Gbps" }, circuits = { rate = "80Gbps", reconfiguration = "2us" } }
workload = [{ kind = "random-bijective", size = "300KB" }]
"#;

/// A network, and the settings of a scheme except its name.
const SCHEMES: [(&str, &str); 15] = [
    (STAR, r#"control = { kind = "xco", slice = "20us", hysteresis = "5us" }"#),
    (STAR, r#"control = { kind = "xco", mode = "rate-limit" }"#),
    (STAR, r#"control = { kind = "xco", on-demand = { interval = "30us" } }"#),
    (
        STAR,
        r#"control = { kind = "xco", controllers = "standby", slice = "20us", hysteresis = "5us" }"#,
    ),
    (
        ROWS,
        r#"control = { kind = "xco", controllers = "hierarchical", slice = "20us", hysteresis = "5us" }"#,
    ),
    (STAR, r#"control = { kind = "tdma", slot = "20us", round = "100us" }"#),
    (TREE, r#"control = { kind = "tdma", slot = "20us", round = "100us" }"#),
    (STAR, r#"control = "fastpass""#),
    (
        TREE,
        r#"control = { kind = "fastpass", secondary = true, watchdog-interval = "20us", watchdog-timeout = "60us" }"#,
    ),
    (TREE, r#"control = { kind = "fastpass", fault-window = "50us", probe-interval = "60us" }"#),
    (
        TREE,
        r#"control = { kind = "hedera", poll = "30us", gather = "2us", computing = "5us", install = "1us" }"#,
    ),
    (
        TREE,
        r#"control = { kind = "flow-scheduler", poll = "30us", computing = "5us", install = "1us" }"#,
    ),
    (RACKS, r#"control = { kind = "circuits", scheduler = "solstice" }"#),
    (RACKS, r#"control = { kind = "circuits", scheduler = "portfolio" }"#),
    (STAR, "queue = 'qcn'\nreaction = {}"),
];

/// The scheme and the seed of the changes.
pub(crate) fn script(rng: &mut Stream) -> Vec<u8> {
    let mut out = vec![rng.index(SCHEMES.len()) as u8];
    out.extend(rng.noise(12));
    out
}

fn scenario(at: usize) -> Result<Loaded, String> {
    let (network, scheme) = SCHEMES[at];
    let text = format!("{NETWORK}{network}[[scheme]]\nname = \"one\"\n{scheme}\n");
    Scenario::parse(Path::new("tampered.toml"), text).map_err(|error| format!("{scheme}: {error}"))
}

/// Counts of changed messages.
#[derive(Default)]
struct Done {
    changed: AtomicU64,
    /// The number of changed messages with a code.
    sealed: AtomicU64,
    /// The number of messages for a station that are not valid messages of the scheme in any state of the station.
    broken: AtomicU64,
}

/// Whether bytes are a message, for schemes that count other bytes.
type Readable = fn(&[u8]) -> bool;

fn readable(control: &str) -> Option<Readable> {
    if control.contains("\"xco\"") && !control.contains("controllers") {
        return Some(|bytes| slotline_xco::wire::Message::parse(bytes).is_ok());
    }
    if control.contains("hedera") {
        return Some(|bytes| slotline_hedera::wire::Message::parse(bytes).is_ok());
    }
    None
}

/// State that all nodes of a network share.
#[derive(Clone)]
struct Common {
    /// The seed of the run, from which keys are made.
    seed: u64,
    /// The number of hosts. Their numbers are lower than those of stations.
    hosts: u32,
    readable: Option<Readable>,
    done: Arc<Done>,
}

/// Changes some messages for a node.
struct Tampered {
    rng: Stream,
    /// Its number as a host.
    here: Option<HostId>,
    common: Common,
}

impl Tampered {
    fn key(&self, bytes: &[u8], sealed: fn(&[u8], &Key) -> bool) -> Option<Key> {
        let word =
            |at: usize| bytes.get(at..at + 4)?.first_chunk().map(|word| u32::from_be_bytes(*word));
        let key = key_of(self.common.seed, word(4)?, word(8)?);
        sealed(bytes, &key).then_some(key)
    }

    /// Other bytes instead of those of a message, sealed like the original.
    fn changed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let fcp = self.key(bytes, |bytes, key| fcp::Message::parse(bytes, key).is_ok());
        let watchdog = self.key(bytes, |bytes, key| {
            let end = bytes.len().saturating_sub(fcp::CODE);
            siphash(key, &bytes[..end]).to_be_bytes() == bytes[end..]
        });
        let head = if self.rng.once_in(2) { 0 } else { self.rng.index(bytes.len() + 1) };
        let tail = mutated(&mut self.rng, &bytes[head..], bytes);
        let mut out = [&bytes[..head], &tail].concat();
        out.truncate(9_000);
        self.common.done.sealed.fetch_add(u64::from(fcp.or(watchdog).is_some()), Relaxed);
        match (fcp, watchdog) {
            (Some(key), _) => seal_fcp(&mut out, &key),
            (None, Some(key)) => seal_fastpass(&mut out, &key),
            (None, None) => {}
        }
        out
    }

    fn tamper(&mut self, packet: &mut Packet, cx: &mut Cx<'_>) {
        let bytes = cx.detach(packet);
        let changed = self.changed(&bytes);
        self.common.done.changed.fetch_add(1, Relaxed);
        let at_end = self.here == Some(packet.dst) && packet.dst.0 >= self.common.hosts;
        if at_end && self.common.readable.is_some_and(|readable| !readable(&changed)) {
            self.common.done.broken.fetch_add(1, Relaxed);
        }
        packet.seq = cx.attach((HostId(packet.flow), packet.dst), changed, 0, packet.class).seq;
    }
}

/// The key of two nodes of Fastpass, as its nodes derive it.
fn key_of(seed: u64, a: u32, b: u32) -> Key {
    let pair = u64::from(a.min(b)) << 32 | u64::from(a.max(b));
    let mut stream = Stream::named(seed, "fastpass.key", pair);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&stream.bits().to_le_bytes());
    key[8..].copy_from_slice(&stream.bits().to_le_bytes());
    Key(key)
}

impl Intercept for Tampered {
    fn intercept(&mut self, _port: PortId, packet: &mut Packet, cx: &mut Cx<'_>) {
        if packet.kind == Kind::Control && self.rng.once_in(8) {
            self.tamper(packet, cx);
        }
    }
}

/// The end of runs.
const END: Time = Time::ms(2);
/// The limit of packets that a run may create: several times what 16 hosts send at full rate.
const MOST_PACKETS: u64 = 200_000;

/// A network with changed messages runs to its end, its packets are accounted for, and stations count the messages that
/// they cannot parse.
pub(crate) fn judge(input: &[u8]) -> Result<(), String> {
    let Some((&scheme, rest)) = input.split_first() else { return Ok(()) };
    let (outcome, done) = tampered(usize::from(scheme) % SCHEMES.len(), rest)?;
    let count = &outcome.conservation;
    law(count.holds(), || format!("packets are lost or invented: {count:?}"))?;
    law(count.created < MOST_PACKETS, || format!("{} packets were created", count.created))?;
    let ignored: u64 = outcome.places.iter().filter_map(ignored).sum();
    let broken = done.broken.load(Relaxed);
    law(ignored >= broken, || format!("{broken} broken messages, {ignored} counted"))
}

/// Runs a scheme's network, with each node wrapped in a [`Tampered`].
fn tampered(at: usize, draws: &[u8]) -> Result<(Outcome, Arc<Done>), String> {
    let loaded = scenario(at)?;
    let scenario = &loaded.scenario;
    let built = build(scenario, 0, scenario.seed.into(), &loaded);
    let mut network = built.map_err(|error| error.to_string())?.network;
    let hosts = scenario.fabric.build().map_err(|error| error.to_string())?.hosts.len() as u32;
    let common = Common {
        seed: scenario.seed.into(),
        hosts,
        readable: readable(SCHEMES[at].1),
        done: Arc::default(),
    };
    let seed = stream_of(draws, "fuzz.tampered").bits();
    let places = std::mem::take(&mut network.places).into_iter().enumerate();
    let wrapped = places.map(|(node, place)| {
        let here = network.graph.hosts.iter().position(|host| host.at() == node);
        let here = here.map(|host| HostId(host as u32));
        wrapped(place, here, Stream::named(seed, "fuzz.node", node as u64), &common)
    });
    network.places = wrapped.collect();
    let options = Options { threads: 1, end: END, completions: u64::MAX };
    Ok((run(network, options, &Watch::default()), common.done))
}

fn wrapped(place: Place, here: Option<HostId>, rng: Stream, common: &Common) -> Place {
    let node: Box<dyn Node> = match place {
        Place::Switch => return Place::Switch,
        Place::Host(host) => host,
        Place::Node(node) => node,
    };
    let interceptor = Tampered { rng, here, common: common.clone() };
    Place::Node(Box::new(Intercepted { node, interceptor }))
}

fn ignored(place: &Place) -> Option<u64> {
    let Place::Node(node) = place else { return None };
    let mut counters = Counters::default();
    node.add_counters(&mut counters);
    counters.get(IGNORED_MESSAGES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the fuzzer changes messages, because otherwise it would find nothing. Messages of Fastpass are
    /// sealed with the right key, so that they are parsed.
    #[test]
    fn messages_of_every_scheme_are_changed() {
        for (at, (_, scheme)) in SCHEMES.iter().enumerate() {
            let (_, done) = tampered(at, b"some draws").unwrap_or_else(|why| panic!("{why}"));
            assert!(done.changed.load(Relaxed) > 0, "{scheme}");
            let is_fastpass = scheme.contains("fastpass");
            assert_eq!(done.sealed.load(Relaxed) > 0, is_fastpass, "{scheme}");
        }
    }
}
