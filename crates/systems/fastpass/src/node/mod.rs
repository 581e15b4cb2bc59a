//! Fastpass' nodes: the endpoint in every host, and the arbiter (Perry et al., 2014).
//!
//! An [`Endpoint`] holds a host's packets and demands timeslots. An [`Arbiter`] runs a service while it is
//! active: it receives demand, allocates batches and sends the grants. Both use the sessions of
//! [`crate::fcp`].

mod arbiter;
mod clock;
mod deadlines;
mod endpoint;
mod granted_slots;
mod isolation;
mod losses;
mod message_budget;
mod outbox;
mod path_switch;
mod peers;
mod queues;
mod service;
mod timer;

pub use arbiter::Arbiter;
pub use endpoint::Endpoint;
pub use path_switch::PathSwitch;

use crate::fcp::Config;
use crate::spec::Fastpass;
use crate::timing::Timing;
use crate::wire::fcp::Key;
use slotline_net::id::HostId;
use slotline_net::node::reserve::Reserve;
use slotline_net::rng::{Stream, mix64};
use std::sync::Arc;

/// The parameters that all of Fastpass' nodes in a network share.
#[derive(Clone, Debug)]
pub struct Common {
    /// The options.
    pub options: Fastpass,
    /// The times and sizes of timeslots.
    pub timing: Timing,
    /// The number of hosts that send and receive. They are numbered from 0.
    pub hosts: u32,
    /// The hosts that arbiters run on. The first is the primary's.
    pub arbiters: Vec<HostId>,
    /// The seed of keys, nonces, clocks and jitter.
    pub seed: u64,
    /// See [`slotline_net::scheme::Surroundings::incarnation`].
    pub incarnation: u64,
    /// See [`slotline_net::scheme::Surroundings::elected`].
    pub elected: bool,
    /// Whether messages to and from arbiters take other ways than packets, as those of real machines do. Then hosts
    /// probe paths for their arbiter.
    pub apart: bool,
    /// By host, the key of its name.
    pub host_keys: Arc<[u64]>,
}

impl Common {
    /// The share of a port that messages may take before packets.
    fn reserve(&self) -> Reserve {
        Reserve::new(self.options.classes().1, self.timing.reserve)
    }
    /// The secret that two nodes share.
    fn key(&self, a: u32, b: u32) -> Key {
        let pair = u64::from(a.min(b)) << 32 | u64::from(a.max(b));
        let mut stream = Stream::named(self.seed, "fastpass.key", pair);
        let mut key = [0; 16];
        key[..8].copy_from_slice(&stream.bits().to_le_bytes());
        key[8..].copy_from_slice(&stream.bits().to_le_bytes());
        Key(key)
    }
    /// The parameters of a session of `me` with `peer`. `start` distinguishes the starts of `me`.
    fn session(&self, me: u32, peer: u32, start: u64) -> Config {
        let spec = self.options.spec();
        let seed = self.seed ^ self.incarnation;
        let seed = mix64(seed ^ mix64(start ^ mix64(u64::from(me) << 32 | u64::from(peer))));
        Config {
            timeout: spec.timeout,
            gap: spec.gap,
            quiet_time: self.timing.slot.times(self.timing.batch.into()),
            longest: self.timing.message,
            alive: slotline_net::time::Time::ps(spec.watchdog_timeout.as_ps() / 2),
            ..Config::with_defaults(self.key(me, peer), me, peer, self.hosts, seed)
        }
    }
}
