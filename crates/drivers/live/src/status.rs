//! What a daemon shows of itself.

use crate::agent::AgentCounts;
use slotline_net::node::Counters;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a daemon shows itself.
const INTERVAL: Duration = Duration::from_millis(200);

/// An agent at one moment.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AgentStatus {
    /// The arbiter that is obeyed, by its place in the configuration; none while packets leave at once.
    pub obeys: Option<usize>,
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

/// All counters by name.
pub fn named(counters: &Counters) -> BTreeMap<&'static str, u64> {
    counters.all().map(|(counter, value)| (counter.name, value)).collect()
}

/// Where a daemon leaves its status for whoever asks.
#[derive(Debug)]
pub struct Shared<T> {
    latest: Mutex<(Option<T>, Option<Instant>)>,
}

impl<T> Default for Shared<T> {
    fn default() -> Shared<T> {
        Shared { latest: Mutex::default() }
    }
}

impl<T: serde::Serialize> Shared<T> {
    /// Leaves a status, unless there is a recent one or somebody is just taking it.
    pub(crate) fn show(&self, taken: impl FnOnce() -> T) {
        if let Ok(mut latest) = self.latest.try_lock()
            && latest.1.is_none_or(|at| at.elapsed() >= INTERVAL)
        {
            *latest = (Some(taken()), Some(Instant::now()));
        }
    }
    /// The latest status as JSON; `null` before the first one.
    pub fn json(&self) -> String {
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        serde_json::to_string(&latest.0).unwrap_or_default()
    }
}
