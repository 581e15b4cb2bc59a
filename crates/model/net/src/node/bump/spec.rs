//! The options of bumps.

use super::applications::{ApplicationSpec, ChosenFlows, validate};
use crate::aqm::settings::ensure;
use crate::aqm::spec::QueueSpec;
use crate::error::SpecError;
use crate::time::Time;
use crate::units::{Bytes, Rate};
use crate::wire::bump::MOST_PACKETS;
use serde::{Deserialize, Serialize};

/// Bumps on the wires of unmodified switches. They see the packets that enter a switch, have a virtual queue for each
/// of its ports, and mark packets, drop them or notify senders as a switch would.
///
/// Source: M. Al-Fares, doctoral thesis, UC San Diego, chapter 5 (NetBump).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BumpSpec {
    /// Their places, as `s1-s0`: the switch, and the node at the other end of the wire. If empty: all ports of switches
    /// that lead to other switches.
    #[serde(default)]
    pub at: Vec<String>,
    /// The virtual queues: capacity and discipline. They have no classes, shared buffers or pauses.
    #[serde(default)]
    pub queue: QueueSpec,
    /// The rate at which virtual queues drain. Default: the rate of the port of the switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// How several bumps of one switch share their virtual queues.
    #[serde(default)]
    pub sharing: Sharing,
    /// With `sharing = "updates"`: the number of packets that one update reports.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 373))]
    pub update_every: u32,
    /// With `sharing = "updates"`: the path of updates.
    #[serde(default)]
    pub update_path: UpdatePath,
    /// With `sharing = "updates"`: the delay of an update.
    #[serde(default)]
    pub update_delay: Time,
    /// With `sharing = "updates"`: the share of updates that get lost.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub update_loss: f64,
    /// The delay of a packet in a bump.
    #[serde(default)]
    pub latency: Time,
    /// The largest additional delay. It is distributed uniformly, and packets stay in order.
    #[serde(default)]
    pub jitter: Time,
    /// Whether bumps only estimate queues, and do not mark, drop or notify.
    #[serde(default)]
    pub observe: bool,
    /// The flows on which the discipline of `queue` acts. Packets of all flows count in virtual queues.
    #[serde(default)]
    pub flows: ChosenFlows,
    /// Further applications on the same virtual queues. Each packet is judged by all of them, and then by `queue`.
    ///
    /// Source: M. Al-Fares, doctoral thesis, UC San Diego, 5.1.1: "it is possible to compose multiple applications", and
    /// "AQM functionality can act only on particular flows".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<ApplicationSpec>,
    /// Whose sender is notified, if the discipline notifies.
    #[serde(default)]
    pub notify: Notify,
    /// Bumps that limit the flows whose senders are notified, in place of the hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reaction: Option<LimitSpec>,
}

/// Bumps as reaction points. They take notices for the senders behind them off the wire. They hold no packets, so they
/// drop the packets of a flow that exceed its rate. The virtual queue of a flow drains at its rate. The `reaction` of
/// the scheme sets the rate, as in hosts.
///
/// Source: M. Al-Fares, doctoral thesis, UC San Diego, 5.3.3, 5.5.1 and 5.5.3.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct LimitSpec {
    /// Their places, as `s0-h0`: the switch, and the node at the other end of the wire. If empty: all ports of switches
    /// that lead to hosts.
    pub at: Vec<String>,
    /// The size of the virtual queue of a flow. Packets that find no room in it are dropped. Default: 100 KB, as in the
    /// thesis.
    pub limit: Bytes,
}

impl Default for LimitSpec {
    fn default() -> LimitSpec {
        LimitSpec { at: Vec::new(), limit: Bytes(100_000) }
    }
}

/// How updates travel from one bump to another.
///
/// Source: M. Al-Fares, doctoral thesis, UC San Diego, 5.2.2: "on a dedicated link, or in-band with the
/// monitored traffic".
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum UpdatePath {
    /// On a link of their own. An update takes `update-delay`, or is lost with the probability `update-loss`.
    #[default]
    Dedicated,
    /// As packets through the switch, to the port of the other bump, which takes them off the link. They wait in the
    /// queue of that port, take time on its link, and are lost if the queue is full.
    InBand,
}

/// Whose sender is notified of congestion.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Notify {
    /// The sender of the packet that was sampled, as in the standard.
    #[default]
    Sampled,
    /// The sender of the flow with most bytes in the virtual queue, as in the thesis (5.5.3).
    Largest,
}

/// How several bumps of one switch share their virtual queues.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// All bumps have one table of virtual queues, like one bump with several links.
    #[default]
    Table,
    /// Each bump has its own table. It sends updates about the packets that passed it to the others.
    Updates,
    /// Each bump has its own table, and gets no updates from the others.
    Nothing,
}

impl Default for BumpSpec {
    fn default() -> BumpSpec {
        BumpSpec {
            at: Vec::new(),
            queue: QueueSpec::default(),
            rate: None,
            sharing: Sharing::Table,
            update_every: 1,
            update_path: UpdatePath::Dedicated,
            update_delay: Time::ZERO,
            update_loss: 0.0,
            latency: Time::ZERO,
            jitter: Time::ZERO,
            observe: false,
            flows: ChosenFlows::default(),
            also: Vec::new(),
            notify: Notify::Sampled,
            reaction: None,
        }
    }
}

fn one() -> u32 {
    1
}

impl BumpSpec {
    /// Checks that the settings are consistent.
    pub fn validate(&self) -> Result<(), SpecError> {
        self.queue.validate().map_err(|e| e.within("queue"))?;
        let plain = self.queue.shared.is_none() && !self.queue.priorities;
        ensure(plain, "queue", || {
            "a virtual queue has neither classes nor a shared buffer: leave `priorities` and `shared` out"
                .into()
        })?;
        let most = MOST_PACKETS as u32;
        ensure((1..=most).contains(&self.update_every), "update-every", || {
            format!("`update-every` is {}: it has to be 1 to {most}", self.update_every)
        })?;
        ensure((0.0..=1.0).contains(&self.update_loss), "update-loss", || {
            format!("`update-loss` = {} must be 0 to 1", self.update_loss)
        })?;
        ensure(self.rate != Some(Rate(0)), "rate", || {
            "`rate` is 0: virtual queues would never drain".into()
        })?;
        let usual = BumpSpec::default();
        let updates = [
            ("update-every", self.update_every != usual.update_every),
            ("update-path", self.update_path != usual.update_path),
            ("update-delay", self.update_delay != usual.update_delay),
            ("update-loss", self.update_loss != usual.update_loss),
        ];
        updates.into_iter().try_for_each(|(key, given)| {
            ensure(!given || self.sharing == Sharing::Updates, key, || {
                format!("`{key}` does nothing without sharing = \"updates\"")
            })
        })?;
        let fixed = [
            ("update-delay", self.update_delay != usual.update_delay),
            ("update-loss", self.update_loss != usual.update_loss),
        ];
        fixed.into_iter().try_for_each(|(key, given)| {
            ensure(!given || self.update_path == UpdatePath::Dedicated, key, || {
                format!("`{key}` is for updates on a link of their own; in-band, the network determines it")
            })
        })?;
        validate(&self.flows, &self.also, self.queue.limit)?;
        let alters = !self.also.is_empty() || self.flows != ChosenFlows::default();
        ensure(!alters || !self.observe, "observe", || {
            "`observe` excludes `flows` and `also`: such bumps do nothing to packets".into()
        })?;
        ensure(self.notify == Notify::Sampled || self.notifies(), "notify", || {
            "`notify` does nothing without a queue that notifies: kind = \"qcn\"".into()
        })?;
        self.reaction.as_ref().map_or(Ok(()), |reaction| self.limits(reaction))
    }

    /// Whether one of its applications notifies senders.
    pub fn notifies(&self) -> bool {
        self.queue.notifies() || self.also.iter().any(|one| one.policy.notifies())
    }

    /// Whether one of its applications marks packets.
    pub fn marks(&self) -> bool {
        let also = self.also.iter().any(|one| one.policy.marks());
        !self.observe && (self.queue.policy.marks() || also)
    }

    /// Checks that bumps can limit flows.
    fn limits(&self, reaction: &LimitSpec) -> Result<(), SpecError> {
        ensure(self.notifies() && !self.observe, "reaction", || {
            "`reaction` does nothing if no bump notifies: use queue = \"qcn\", without `observe`"
                .into()
        })?;
        ensure(reaction.limit.0 > 0, "reaction.limit", || {
            "`limit` is 0B: no packet of a limited flow would pass".into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Scheme {
        bump: BumpSpec,
    }

    fn read(value: &str) -> Result<BumpSpec, String> {
        let scheme = toml::from_str::<Scheme>(&format!("bump = {value}"));
        let bump = scheme.map_err(|error| error.to_string())?.bump;
        bump.validate().map_err(|error| format!("{}: {error}", error.key))?;
        Ok(bump)
    }

    #[test]
    fn defaults_are_the_default_and_wrong_values_are_named() {
        assert_eq!(read("{}"), Ok(BumpSpec::default()));
        for (text, why) in [
            ("{ update-every = 4 }", "update-every: `update-every` does nothing"),
            (
                "{ sharing = \"updates\", update-every = 400 }",
                "update-every: `update-every` is 400",
            ),
            ("{ sharing = \"updates\", update-loss = 1.5 }", "update-loss: `update-loss` = 1.5"),
            ("{ update-path = \"in-band\" }", "update-path: `update-path` does nothing"),
            (
                "{ sharing = \"updates\", update-path = \"in-band\", update-delay = \"1us\" }",
                "update-delay: `update-delay` is for updates on a link of their own",
            ),
            ("{ notify = \"largest\" }", "notify: `notify` does nothing"),
            ("{ rate = \"0bps\" }", "rate: `rate` is 0"),
            ("{ queue = { priorities = true } }", "queue: a virtual queue has neither"),
            ("{ queue = { limit = \"0B\" } }", "queue.limit: `limit` is 0B"),
            ("{ reaction = {} }", "reaction: `reaction` does nothing if no bump notifies"),
            (
                "{ queue = \"qcn\", observe = true, reaction = {} }",
                "reaction: `reaction` does nothing if no bump notifies",
            ),
            ("{ queue = \"qcn\", reaction = { limit = \"0B\" } }", "reaction.limit: `limit` is 0B"),
            ("{ speed = 3 }", "unknown field `speed`"),
            ("{ flows = { to = \"3 random\" } }", "flows.to: a bump cannot act on random hosts"),
            ("{ observe = true, flows = { to = 3 } }", "observe: `observe` excludes `flows`"),
            (
                "{ also = [{ policy = { kind = \"object\", file = \"a.o\" } }] }",
                "also[0].policy: programs of your own",
            ),
            ("{ also = [{ policy = { kind = \"red\", min = \"9MB\" } }] }", "also[0].policy."),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_written_back_reads_the_same() {
        let text = "{ at = [\"s1-s0\"], queue = { kind = \"red\", limit = \"90KB\" }, \
             sharing = \"updates\", update-delay = \"25us\", latency = \"30us\", rate = \"1Gbps\" }";
        let bump = read(text).unwrap_or_else(|why| panic!("{why}"));
        let written = toml::to_string(&Scheme { bump: bump.clone() }).unwrap();
        assert_eq!(toml::from_str::<Scheme>(&written).unwrap().bump, bump);
    }
}
