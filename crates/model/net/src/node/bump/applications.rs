//! The flows on which a bump acts, and further applications on its virtual queues (Al-Fares, section 5.1.1).

use crate::aqm::bank::{Bank, verdict};
use crate::aqm::policy::Policy;
use crate::aqm::settings::{QueueParams, ensure};
use crate::aqm::{Discipline, Marker, Verdict};
use crate::error::SpecError;
use crate::frame::{ECT, Packet};
use crate::id::{HostId, PortId};
use crate::node::switch::Switch;
use crate::rng::{Stream, pair_key};
use crate::time::Time;
use crate::units::{Bytes, InverseRate};
use crate::workload::Hosts;
use serde::{Deserialize, Serialize};

/// Flows by their hosts. All packets count in virtual queues, those of other flows, too.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct ChosenFlows {
    /// Hosts that send them.
    pub from: Hosts,
    /// Hosts that receive them.
    pub to: Hosts,
}

/// A further application of a bump: a policy for the same virtual queues.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ApplicationSpec {
    /// Which packets it marks or drops, and whose senders it notifies.
    pub policy: Policy,
    /// The flows on which it acts.
    #[serde(default)]
    pub flows: ChosenFlows,
}

impl ChosenFlows {
    /// Whether they include a packet. `switch` knows its sender.
    #[inline]
    pub(super) fn include(&self, packet: &Packet, switch: &Switch) -> bool {
        let sent = || switch.sender(packet).is_some_and(|host| among(&self.from, host));
        among(&self.to, packet.dst) && (self.from == Hosts::All || sent())
    }

    /// The first host that a network with this number of hosts does not have, with the key that names it.
    pub fn missing(&self, hosts: u32) -> Option<(&'static str, u32)> {
        let last = |chosen: &Hosts| match chosen {
            Hosts::All | Hosts::Random(_) => None,
            Hosts::Count(count) => count.checked_sub(1),
            Hosts::List(ranges) => ranges.iter().map(|range| range.1).max(),
        };
        let both = [("from", last(&self.from)), ("to", last(&self.to))];
        both.into_iter().find_map(|(key, last)| Some((key, last.filter(|last| *last >= hosts)?)))
    }

    fn validate(&self) -> Result<(), SpecError> {
        [("from", &self.from), ("to", &self.to)].into_iter().try_for_each(|(key, hosts)| {
            let why =
                || "a bump cannot act on random hosts: list them, for example \"0-3,8\"".into();
            ensure(!matches!(hosts, Hosts::Random(_)), key, why)
        })
    }
}

fn among(hosts: &Hosts, host: HostId) -> bool {
    match hosts {
        Hosts::All => true,
        Hosts::Count(count) => host.0 < *count,
        Hosts::List(ranges) => ranges.iter().any(|range| (range.0..=range.1).contains(&host.0)),
        Hosts::Random(_) => false,
    }
}

impl ApplicationSpec {
    /// Checks the settings for virtual queues that hold `limit`.
    pub(super) fn validate(&self, limit: Bytes) -> Result<(), SpecError> {
        let own = matches!(self.policy, Policy::Object(_) | Policy::Custom(_));
        ensure(!own, "policy", || {
            "programs of your own are possible in the `queue` of the bump, not as a further application".into()
        })?;
        self.policy.validate(limit).map_err(|error| error.within("policy"))?;
        self.flows.validate().map_err(|error| error.within("flows"))
    }
}

/// Checks the flows of the first application and all further ones, on virtual queues that hold `limit`.
pub(super) fn validate(
    flows: &ChosenFlows,
    also: &[ApplicationSpec],
    limit: Bytes,
) -> Result<(), SpecError> {
    flows.validate().map_err(|error| error.within("flows"))?;
    also.iter().enumerate().try_for_each(|(at, one)| {
        one.validate(limit).map_err(|error| error.within(format_args!("also[{at}]")))
    })
}

/// A further application, with its state.
pub(super) struct Application {
    flows: ChosenFlows,
    /// Its disciplines, by table and port.
    markers: Vec<Vec<Marker>>,
}

impl Application {
    /// Application `at`, with disciplines for the queues of all tables, which hold `capacity`. `links` are the rate and
    /// the key of each port.
    pub fn new(
        (at, spec): (usize, &ApplicationSpec),
        (tables, links): (usize, &[(InverseRate, u64)]),
        (capacity, mtu, seed): (Bytes, u64, u64),
    ) -> Application {
        let marker = |table: usize, &(pace, key): &(InverseRate, u64)| {
            let place = (at as u64) << 32 | table as u64;
            let rng = Stream::named(seed, "bump.also", pair_key(key, place));
            spec.policy.marker(QueueParams { pace, capacity, mtu, rng })
        };
        let of_table = |table| links.iter().map(|link| marker(table, link)).collect();
        Application { flows: spec.flows.clone(), markers: (0..tables).map(of_table).collect() }
    }

    /// Its verdict on a packet that is about to join queue `out` of a table.
    pub fn judge(
        &mut self,
        (table, bank): (usize, &Bank<Marker>),
        out: PortId,
        (packet, switch): (&Packet, &Switch),
        now: Time,
    ) -> Verdict {
        let queue = bank.entries().get(out.at()).map(|entry| &entry.queue);
        match (queue, self.markers[table].get_mut(out.at())) {
            (Some(queue), Some(marker)) if self.flows.include(packet, switch) => {
                let arrival = queue.arrival(packet.len.into(), packet.has(ECT), now);
                verdict(marker, &arrival, &[])
            }
            _ => Verdict::Pass,
        }
    }

    /// The rate at which queue `at` drains has changed.
    pub fn set_pace(&mut self, at: usize, pace: InverseRate) {
        let markers = self.markers.iter_mut().filter_map(|table| table.get_mut(at));
        markers.for_each(|marker| marker.set_pace(pace));
    }
}
