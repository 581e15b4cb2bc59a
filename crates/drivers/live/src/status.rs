//! The status that a daemon publishes.

use crate::agent::AgentCounts;
use crate::metrics::Exposition;
use crate::parts::FaultStatus;
use crate::renewal::Request;
use slotline_net::node::Counters;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// The interval at which a daemon updates its status.
const INTERVAL: Duration = Duration::from_millis(200);
/// A daemon with an older status does not work.
const STALE: Duration = Duration::from_secs(2);
/// The longest wait for a daemon's answer to a request.
const ANSWER: Duration = Duration::from_secs(1);

/// An agent at one moment.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AgentStatus {
    /// The arbiter that is obeyed, by its place in the configuration; none while packets leave at once.
    pub obeys: Option<usize>,
    /// Whether the agent is drained: all packets leave at once.
    pub drained: bool,
    /// Whether the arbiter has taken the host out of the schedule: all packets leave at once.
    pub drained_by_arbiter: bool,
    /// Whether the network's time is `locked`, in `holdover` or `free` (not known).
    pub clock: &'static str,
    /// Network time minus own time.
    pub clock_offset_ns: Option<i64>,
    /// The largest possible error of the offset.
    pub clock_bound_ns: Option<u64>,
    /// How often network time has begun anew because the own clock had stepped.
    pub clock_steps: u64,
    /// Whether network time comes from the system's clock.
    pub clock_disciplined: bool,
    /// The epoch of network time, which changes if arbiters begin anew.
    pub epoch: u64,
    /// The links of this switch that lead elsewhere than the configuration says, by LLDP.
    pub wrong_cables: Vec<String>,
    /// Packets held now.
    pub held: usize,
    /// The most segments that are held as one packet; none if each is held alone.
    pub joined_segments: Option<u32>,
    /// Whether packets are released before their slots, and the kernel keeps them until these begin.
    pub departure_times: bool,
    /// The means by which packets are held; `None` on a switch that holds none.
    pub gate: Option<&'static str>,
    /// Packets for which the gate had no room.
    pub gate_lost: u64,
    /// Counts of packets.
    #[serde(flatten)]
    pub counts: AgentCounts,
    /// Datagrams that were not messages of a peer.
    pub refused: u64,
    /// The longest time by which a wake-up came late.
    pub latest_ns: u64,
    /// Messages that could not be sent.
    pub lost_messages: u64,
    /// The counters of the scheme.
    pub counters: BTreeMap<&'static str, u64>,
}

/// An arbiter at one moment.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ArbiterStatus {
    /// The place of the arbiter in the configuration.
    pub rank: usize,
    /// The highest term that it knows, where one of two arbiters is active.
    pub term: Option<u64>,
    /// Whether the scheme's node runs here. Schemes with controllers of their own decide that themselves.
    pub active: bool,
    /// The epoch of network time, which changes if arbiters begin anew.
    pub epoch: u64,
    /// Network time.
    pub time_ns: u64,
    /// The number of agents and other arbiters that were heard within the last seconds.
    pub peers: usize,
    /// The names of hosts that are out of the schedule.
    pub drained_hosts: Vec<String>,
    /// The number of agents that have another scenario, which are out of the schedule.
    pub other_scenario: usize,
    /// The state of the log: `ok`, or the reason why it has ended; none if no log is written.
    pub recording: Option<String>,
    /// Messages of the scheme received.
    pub received: u64,
    /// Messages of the scheme sent.
    pub sent: u64,
    /// Messages that could not be sent.
    pub lost_messages: u64,
    /// Datagrams that were not messages of a peer.
    pub refused: u64,
    /// Messages that were dropped because their sender sent more than its quota.
    pub over_quota: u64,
    /// The longest time by which a wake-up came late.
    pub latest_ns: u64,
    /// What is known of the network, if arbiters discover it.
    pub topology: Option<TopologyStatus>,
    /// The links and switches that were found to be faulty since the node began, in order.
    pub faults: Vec<FaultStatus>,
    /// The counters of the scheme.
    pub counters: BTreeMap<&'static str, u64>,
}

impl ArbiterStatus {
    /// The links and switches that are avoided.
    fn avoided(&self) -> impl Iterator<Item = &str> {
        let open = self.faults.iter().filter(|fault| fault.cleared_ns.is_none());
        open.map(|fault| fault.part.as_str())
    }
}

/// The daemon of a switch that only tells its neighbours, at one moment.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ObserverStatus {
    /// The cables at the ports of the switch; none before lldpd has told them.
    pub cables: Option<Vec<String>>,
    /// The number of arbiters that were heard within the last seconds.
    pub arbiters: usize,
    /// Datagrams that were not messages of a peer.
    pub refused: u64,
    /// Messages that could not be sent.
    pub lost_messages: u64,
}

/// What an arbiter knows of the network that it discovers.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TopologyStatus {
    /// Whether the scheduler has a network.
    pub known: bool,
    /// The number of cables that it has.
    pub cables: usize,
    /// How often cables have changed since it had the first one.
    pub changes: u64,
    /// What is missing or contradictory, in words.
    pub missing: Vec<String>,
}

impl TopologyStatus {
    /// What is missing before the scheduler can begin.
    fn unready(&self) -> Option<String> {
        let list = || match self.missing.len() {
            0 => "its cables have to remain as they are for a moment".to_owned(),
            count if count > LISTED => {
                format!("{}; and {} more", self.missing[..LISTED].join("; "), count - LISTED)
            }
            _ => self.missing.join("; "),
        };
        (!self.known).then(|| format!("the network is not known yet: {}", list()))
    }
}

/// The most things that are missing that a reason lists.
const LISTED: usize = 8;

/// A status that a daemon publishes.
pub trait Status: Clone + serde::Serialize {
    /// The status as metrics in the format of OpenMetrics.
    fn metrics(&self) -> String;
    /// The reason why the daemon does not do its work; `None` if it does.
    fn unready(&self) -> Option<String>;
}

/// Metrics of both agents and arbiters.
fn common(out: &mut Exposition, latest_ns: u64, refused: u64, lost_messages: u64) {
    out.gauge("latest_wake_up_seconds", "The latest wake-up.", seconds(latest_ns));
    out.counter("refused_datagrams", "Datagrams that were not messages of a peer.", refused);
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
        let wrong = self.wrong_cables.len();
        out.gauge("wrong_cables", "Links that lead elsewhere than the configuration says.", wrong);
        let bound = self.clock_bound_ns.map_or(f64::INFINITY, seconds);
        let bound = if bound.is_finite() { bound.to_string() } else { "+Inf".into() };
        out.gauge("clock_bound_seconds", "The largest possible error of network time.", bound);
        out.counter("scheduled_packets", "Packets that left as the arbiter decided.", scheduled);
        out.counter(
            "unscheduled_packets",
            "Packets that left at once, without an arbiter.",
            unscheduled,
        );
        out.counter("exempt_packets", "Packets that are never held.", exempt);
        out.counter("dropped_packets", "Packets that the scheme dropped.", dropped);
        out.counter("joins", "How often the agent started to obey an arbiter.", joined);
        out.counter(
            "silences",
            "How often the agent stopped because the arbiter was silent.",
            silences,
        );
        out.counter(
            "clock_losses",
            "How often the agent stopped because network time was not known.",
            clock_losses,
        );
        out.counter(
            "clock_steps",
            "How often network time began anew because this machine's clock had stepped.",
            self.clock_steps,
        );
        common(&mut out, self.latest_ns, self.refused, self.lost_messages);
        out.scheme(&self.counters);
        out.end()
    }
    fn unready(&self) -> Option<String> {
        let drained = self.drained.then_some("it is drained: packets leave at once");
        let out = "its arbiter has taken it out of the schedule: packets leave at once";
        drained
            .or(self.drained_by_arbiter.then_some(out))
            .or(self.obeys.is_none().then_some("it obeys no arbiter: packets leave at once"))
            .map(str::to_owned)
    }
}

impl Status for ArbiterStatus {
    fn metrics(&self) -> String {
        let mut out = Exposition::default();
        out.gauge("peers", "Agents and other arbiters heard within three seconds.", self.peers);
        out.gauge("active", "Whether the node of the scheme runs here.", u8::from(self.active));
        out.gauge("network_time_seconds", "The network's time.", seconds(self.time_ns));
        let others = self.other_scenario;
        out.gauge("other_scenario", "Agents that have another scenario.", others);
        out.counter("received_messages", "Messages of the scheme received.", self.received);
        out.counter("sent_messages", "Messages of the scheme sent.", self.sent);
        out.counter(
            "over_quota_messages",
            "Messages dropped because their sender sent more than its quota.",
            self.over_quota,
        );
        let avoided = self.avoided().map(|part| (part.to_owned(), 1));
        let help = "Links and switches that are avoided because they lost packets.";
        out.labelled("avoided", help, "part", avoided);
        if let Some(topology) = &self.topology {
            out.gauge("cables", "Cables of the network.", topology.cables);
            out.gauge(
                "cables_missing",
                "What is missing or contradictory.",
                topology.missing.len(),
            );
            out.counter("topology_changes", "How often cables have changed.", topology.changes);
        }
        common(&mut out, self.latest_ns, self.refused, self.lost_messages);
        out.scheme(&self.counters);
        out.end()
    }
    fn unready(&self) -> Option<String> {
        let time =
            (self.epoch == 0).then(|| "it asks other arbiters for the network's time".into());
        time.or_else(|| self.topology.as_ref().and_then(TopologyStatus::unready))
    }
}

impl Status for ObserverStatus {
    fn metrics(&self) -> String {
        let mut out = Exposition::default();
        out.gauge("arbiters", "Arbiters heard within three seconds.", self.arbiters);
        out.gauge("cables", "Cables of this switch.", self.cables.as_ref().map_or(0, Vec::len));
        common(&mut out, 0, self.refused, self.lost_messages);
        out.end()
    }
    fn unready(&self) -> Option<String> {
        let cables = self.cables.is_none().then_some("lldpd has told no neighbours yet");
        let arbiters = (self.arbiters == 0).then_some("no arbiter answers");
        cables.or(arbiters).map(str::to_owned)
    }
}

/// All counters by name.
pub fn named(counters: &Counters) -> BTreeMap<&'static str, u64> {
    counters.all().map(|(counter, value)| (counter.name, value)).collect()
}

/// The latest status of a daemon, and requests to the daemon.
pub struct Shared<T> {
    latest: Mutex<(Option<T>, Option<Instant>)>,
    drained: AtomicBool,
    /// A request that the daemon has not seen, and where its answer goes.
    request: Mutex<Option<(Request, Answer)>>,
}

/// Where the answer to a request goes: an error is the reason why it was not carried out.
pub(crate) type Answer = mpsc::Sender<Result<(), String>>;

impl<T> Default for Shared<T> {
    fn default() -> Shared<T> {
        let drained = AtomicBool::new(false);
        Shared { latest: Mutex::default(), drained, request: Mutex::default() }
    }
}

impl<T: Status> Shared<T> {
    /// Stores a status, unless there is a recent one or a reader is taking it at this moment.
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
    /// Whether the daemon has updated its status within two seconds.
    pub fn is_alive(&self) -> bool {
        let shown = self.latest.lock().unwrap_or_else(PoisonError::into_inner).1;
        shown.is_some_and(|at| at.elapsed() < STALE)
    }
    /// Sets whether an agent is drained.
    pub fn drain(&self, drained: bool) {
        self.drained.store(drained, Ordering::Release);
    }
    /// Makes a request to the daemon, and waits for its answer.
    ///
    /// # Errors
    /// The reason why the daemon does not carry it out.
    pub fn ask(&self, request: Request) -> Result<(), String> {
        let (sender, answer) = mpsc::channel();
        *self.request.lock().unwrap_or_else(PoisonError::into_inner) = Some((request, sender));
        answer.recv_timeout(ANSWER).unwrap_or_else(|_| Err("the daemon does not answer".into()))
    }
    /// Carries out a request to the daemon, if there is one.
    pub(crate) fn carry_out(&self, act: impl FnOnce(Request) -> Result<(), String>) {
        let request = self.request.try_lock().ok().and_then(|mut request| request.take());
        if let Some((request, answer)) = request {
            // Nobody waits for the answer any more if it is late.
            let _ = answer.send(act(request));
        }
    }
    pub(crate) fn is_drained(&self) -> bool {
        self.drained.load(Ordering::Acquire)
    }
}
