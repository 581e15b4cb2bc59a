//! What followed from the kill of an arbiter.

use super::load::Load;
use serde::Serialize;
use slotline_live::timeslots::{Timeslots, Wait};

/// The number of the host to which all others send.
const RECEIVER: u32 = 0;

/// A kill of an arbiter.
pub struct Kill {
    /// The time of day in seconds.
    pub at: f64,
    /// The silence after which the other arbiter took over, in ms.
    pub silence_ms: Option<f64>,
}

/// The longest times within a second after a kill, and within the second before it. All in ms.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Outage {
    /// The longest time without a packet in a timeslot to the host that receives.
    pub outage_ms: Option<f64>,
    /// The longest time for which a host had waiting packets, and none of them left.
    pub host_outage_ms: Option<f64>,
    /// The same before the kill: how long hosts wait for their turn.
    pub host_wait_before_ms: Option<f64>,
    /// The longest round trip of a ping.
    pub longest_ping_ms: f64,
    /// The same before the kill.
    pub longest_ping_before_ms: f64,
    /// The silence after which the other arbiter took over.
    pub silence_ms: Option<f64>,
}

impl Kill {
    /// What followed from it for the traffic and the timeslots of hosts.
    pub fn outage(self, load: &Load, timeslots: &Timeslots) -> Outage {
        let at = (self.at * 1e6) as u64;
        let after = |wait: &Wait| wait.until >= at && wait.from <= at + 1_000_000;
        let before = |wait: &Wait| wait.until < at && wait.from + 1_000_000 >= at;
        let longest = |waits: &mut dyn Iterator<Item = Wait>| waits.map(Wait::ms).reduce(f64::max);
        let gaps = timeslots.gaps(RECEIVER);
        Outage {
            outage_ms: longest(&mut gaps.into_iter().filter(after)),
            host_outage_ms: longest(&mut timeslots.waits().filter(after)),
            host_wait_before_ms: longest(&mut timeslots.waits().filter(before)),
            longest_ping_ms: load.longest_after(self.at),
            longest_ping_before_ms: load.longest_before(self.at),
            silence_ms: self.silence_ms,
        }
    }
}
