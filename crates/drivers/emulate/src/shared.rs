//! State that the threads of an emulation share.

use crate::clock::{Clock, Dilation};
use crate::lateness::Lateness;
use slotline_net::node::Counters;
use slotline_net::time::Time;
use slotline_sim::PortState;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The state of the network at one moment.
#[derive(Clone, Default, Debug)]
pub struct Snapshot {
    /// Network time.
    pub at: Time,
    /// Counts of packets outside the model so far.
    pub counts: Counts,
    /// How well the machine has kept up so far.
    pub fidelity: Fidelity,
    /// Packets that the network has dropped so far.
    pub dropped: u64,
    /// All ports, by node.
    pub ports: Vec<PortState>,
    /// Counters of nodes so far.
    pub counters: Counters,
}

/// The interval between snapshots.
pub(crate) const SNAPSHOTS: Duration = Duration::from_millis(500);

/// State that the threads of an emulation share.
#[derive(Default)]
pub struct Shared {
    clock: OnceLock<Clock>,
    begin: AtomicBool,
    stop: AtomicBool,
    latest: Mutex<Option<Snapshot>>,
}

impl Shared {
    /// Allows network time to begin.
    pub fn begin(&self) {
        self.begin.store(true, Ordering::Release);
    }
    /// Whether network time may begin.
    pub(crate) fn begun(&self) -> bool {
        self.begin.load(Ordering::Acquire)
    }
    /// Starts network time now, unless it has started.
    pub(crate) fn start(&self, dilation: Dilation) -> Clock {
        *self.clock.get_or_init(|| Clock::start(dilation))
    }
    /// Stores a snapshot, unless a reader is taking one at this moment.
    pub(crate) fn show(&self, taken: impl FnOnce() -> Snapshot) {
        let free = self.latest.try_lock().ok();
        let _ = free.map(|mut latest| *latest = Some(taken()));
    }
    /// Requests the end of the emulation.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }
    /// Whether the end was requested.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
    /// Waits until network time has begun; `None` if the emulation ends before.
    pub fn wait_for_clock(&self) -> Option<Clock> {
        while self.clock().is_none() && !self.stopped() {
            std::thread::sleep(Duration::from_micros(50));
        }
        self.clock()
    }
    /// The latest snapshot, if it has not been taken yet.
    pub fn snapshot(&self) -> Option<Snapshot> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
    /// The clock; `None` before network time has begun.
    pub fn clock(&self) -> Option<Clock> {
        self.clock.get().copied()
    }
}

/// Counts of packets outside the model.
#[derive(Clone, Default, Debug)]
pub struct Counts {
    /// Packets that entered the network.
    pub entered: u64,
    /// Packets delivered to hosts.
    pub delivered: u64,
    /// Packets that a host's kernel did not accept, or that it dropped before the network saw them.
    pub refused: u64,
    /// Packets that did not belong to the network: of another protocol, for another address, or too long.
    pub foreign: u64,
}

/// How well the machine kept up.
#[derive(Clone, Default, Debug)]
pub struct Fidelity {
    /// The lateness of packets' delivery to hosts, in real time.
    pub deliveries: Lateness,
    /// Processor time of the network, without the time in which it only waited, as a fraction of the real time.
    pub cpu_share: f64,
}
