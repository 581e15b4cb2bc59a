//! What a daemon shows of itself.

use crate::agent::AgentCounts;
use crate::channel::Keys;
use crate::metrics::Exposition;
use slotline_net::node::Counters;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a daemon shows itself.
const INTERVAL: Duration = Duration::from_millis(200);
/// A daemon that has not shown itself for so long does not work.
const STALE: Duration = Duration::from_secs(2);

/// An agent at one moment.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AgentStatus {
    /// The arbiter that is obeyed, by its place in the configuration; none while packets leave at once.
    pub obeys: Option<usize>,
    /// Whether it was told to let packets leave at once.
    pub drained: bool,
    /// Whether the network's time is `locked`, in `holdover` or `free` (not known).
    pub clock: &'static str,
    /// Network time minus own time.
    pub clock_offset_ns: Option<i64>,
    /// The most by which that may be wrong.
    pub clock_bound_ns: Option<u64>,
    /// Which network time: it changes when arbiters begin anew.
    pub epoch: u64,
    /// Packets held now.
    pub held: usize,
    /// What happened to packets.
    #[serde(flatten)]
    pub counts: AgentCounts,
    /// Datagrams that were no messages of a peer.
    pub refused: u64,
    /// The longest time by which a wake-up came late.
    pub latest_ns: u64,
    /// Messages that could not be sent.
    pub lost_messages: u64,
    /// What the scheme counts.
    pub counters: BTreeMap<&'static str, u64>,
}

/// An arbiter at one moment.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ArbiterStatus {
    /// Which of the configuration's arbiters it is.
    pub rank: usize,
    /// Which network time: it changes when arbiters begin anew.
    pub epoch: u64,
    /// The network's time.
    pub time_ns: u64,
    /// Agents and other arbiters that were heard within the last seconds.
    pub peers: usize,
    /// Whether all is recorded: `ok`, or why the log has ended; none where nothing is recorded.
    pub recording: Option<String>,
    /// Messages of the scheme received.
    pub received: u64,
    /// Messages of the scheme sent.
    pub sent: u64,
    /// Messages that could not be sent.
    pub lost_messages: u64,
    /// Datagrams that were no messages of a peer.
    pub refused: u64,
    /// The longest time by which a wake-up came late.
    pub latest_ns: u64,
    /// What the scheme counts.
    pub counters: BTreeMap<&'static str, u64>,
}

/// What daemons show of themselves.
pub trait Status: Clone + serde::Serialize {
    /// As metrics, in the format of OpenMetrics.
    fn metrics(&self) -> String;
    /// Why it does not do its work; `None` if it does.
    fn unready(&self) -> Option<&'static str>;
}

/// What agents and arbiters have in common.
fn common(out: &mut Exposition, latest_ns: u64, refused: u64, lost_messages: u64) {
    out.gauge("latest_wake_up_seconds", "The latest wake-up.", seconds(latest_ns));
    out.counter("refused_datagrams", "Datagrams that were no messages of a peer.", refused);
    out.counter("lost_messages", "Messages that could not be sent.", lost_messages);
}

/// A time in seconds.
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

impl Status for AgentStatus {
    fn metrics(&self) -> String {
        let mut out = Exposition::default();
        let AgentCounts { scheduled, unscheduled, exempt, dropped, joined, silences, clock_losses } =
            self.counts;
        out.gauge("obeys", "Whether an arbiter is obeyed.", u8::from(self.obeys.is_some()));
        out.gauge("held_packets", "Packets held now.", self.held);
        let bound = self.clock_bound_ns.map_or(f64::INFINITY, seconds);
        let bound = if bound.is_finite() { bound.to_string() } else { "+Inf".into() };
        out.gauge(
            "clock_bound_seconds",
            "The most by which the network's time may be wrong.",
            bound,
        );
        out.counter("scheduled_packets", "Packets that left as the arbiter decided.", scheduled);
        out.counter(
            "unscheduled_packets",
            "Packets that left at once, without an arbiter.",
            unscheduled,
        );
        out.counter("exempt_packets", "Packets that are never held.", exempt);
        out.counter("dropped_packets", "Packets that the scheme dropped.", dropped);
        out.counter("joins", "How often the agent began to obey an arbiter.", joined);
        out.counter("silences", "How often it stopped, because the arbiter was silent.", silences);
        out.counter(
            "clock_losses",
            "How often it stopped, because the time was not known.",
            clock_losses,
        );
        common(&mut out, self.latest_ns, self.refused, self.lost_messages);
        out.scheme(&self.counters);
        out.end()
    }
    fn unready(&self) -> Option<&'static str> {
        let drained = self.drained.then_some("it is drained: packets leave at once");
        drained.or(self.obeys.is_none().then_some("it obeys no arbiter: packets leave at once"))
    }
}

impl Status for ArbiterStatus {
    fn metrics(&self) -> String {
        let mut out = Exposition::default();
        out.gauge("peers", "Agents and other arbiters heard within three seconds.", self.peers);
        out.gauge("network_time_seconds", "The network's time.", seconds(self.time_ns));
        out.counter("received_messages", "Messages of the scheme received.", self.received);
        out.counter("sent_messages", "Messages of the scheme sent.", self.sent);
        common(&mut out, self.latest_ns, self.refused, self.lost_messages);
        out.scheme(&self.counters);
        out.end()
    }
    fn unready(&self) -> Option<&'static str> {
        (self.epoch == 0).then_some("it asks other arbiters for the network's time")
    }
}

/// All counters by name.
pub fn named(counters: &Counters) -> BTreeMap<&'static str, u64> {
    counters.all().map(|(counter, value)| (counter.name, value)).collect()
}

/// Where a daemon leaves its status for whoever asks, and finds what it is told.
#[derive(Debug)]
pub struct Shared<T> {
    latest: Mutex<(Option<T>, Option<Instant>)>,
    drained: AtomicBool,
    /// Keys that the daemon is to take.
    keys: Mutex<Option<Keys>>,
}

impl<T> Default for Shared<T> {
    fn default() -> Shared<T> {
        Shared { latest: Mutex::default(), drained: AtomicBool::new(false), keys: Mutex::default() }
    }
}

impl<T: Status> Shared<T> {
    /// Leaves a status, unless there is a recent one or somebody is just taking it.
    pub(crate) fn show(&self, taken: impl FnOnce() -> T) {
        if let Ok(mut latest) = self.latest.try_lock()
            && latest.1.is_none_or(|at| at.elapsed() >= INTERVAL)
        {
            *latest = (Some(taken()), Some(Instant::now()));
        }
    }
    /// The latest status.
    pub fn latest(&self) -> Option<T> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }
    /// The latest status as JSON; `null` before the first one.
    pub fn json(&self) -> String {
        serde_json::to_string(&self.latest()).unwrap_or_default()
    }
    /// Whether the daemon has shown itself within two seconds.
    pub fn is_alive(&self) -> bool {
        let shown = self.latest.lock().unwrap_or_else(PoisonError::into_inner).1;
        shown.is_some_and(|at| at.elapsed() < STALE)
    }
    /// Tells an agent to let all packets leave at once, or to obey arbiters again.
    pub fn drain(&self, drained: bool) {
        self.drained.store(drained, Ordering::Release);
    }
    /// Tells the daemon to take other keys.
    pub fn rekey(&self, keys: Keys) {
        *self.keys.lock().unwrap_or_else(PoisonError::into_inner) = Some(keys);
    }
    /// Keys that the daemon is to take, unless somebody is just giving them.
    pub(crate) fn new_keys(&self) -> Option<Keys> {
        self.keys.try_lock().ok().and_then(|mut keys| keys.take())
    }
    pub(crate) fn is_drained(&self) -> bool {
        self.drained.load(Ordering::Acquire)
    }
}
