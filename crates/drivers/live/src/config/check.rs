//! Checks of a configuration, and of its changes.

use super::{Config, GateChoice, MOST_THREADS, MOST_WITNESSES, Switch, Tenant};
use crate::role::Prefix;
use slotline_envelope::PublicKey;
use slotline_net::time::Time;
use std::collections::HashMap;
use std::net::IpAddr;

/// The least time for which an incomplete network is waited for.
const SETTLED: Time = Time::s(2);

impl Config {
    /// Checks the prefixes of the network and of racks.
    fn check_prefixes(&self) -> Result<(), (String, String)> {
        let wrong = |key: &str, what: &str| Err((key.to_string(), what.to_string()));
        if self.network.is_empty() && self.rack.is_empty() && self.switch.is_empty() {
            return wrong(
                "network",
                "give the prefixes of the hosts' addresses, such as [\"10.0.0.0/24\"]",
            );
        }
        let in_racks = self.rack.iter().flat_map(|rack| &rack.hosts).map(|prefix| ("rack", prefix));
        let mut prefixes = self.network.iter().map(|prefix| ("network", prefix)).chain(in_racks);
        if let Some((key, prefix)) = prefixes.find(|(_, text)| Prefix::parse(text).is_none()) {
            return wrong(key, &format!("`{prefix}` is not a prefix, such as \"10.0.0.0/24\""));
        }
        if let Some(rack) = self.rack.iter().find(|rack| rack.hosts.is_empty()) {
            return wrong("rack", &format!("`{}` has no prefixes of `hosts`", rack.name));
        }
        Ok(())
    }

    pub(super) fn check(&self) -> Result<(), (String, String)> {
        let wrong = |key: &str, what: &str| Err((key.to_string(), what.to_string()));
        if self.arbiter.is_empty() {
            return wrong("arbiter", "at least one [[arbiter]] with address and key is needed");
        }
        if self.quota == 0 {
            return wrong("quota", "must be at least 1 message per second, such as 20000");
        }
        if !(1..=MOST_THREADS).contains(&self.threads) {
            return wrong("threads", &format!("must be 1 to {MOST_THREADS}"));
        }
        if self.standby.timeout < Time::ms(5) {
            return wrong("standby.timeout", "must be at least 5ms: beats have a fifth of it");
        }
        self.check_gate()?;
        self.check_discovery()?;
        self.check_witnesses()?;
        self.check_tenants()?;
        self.check_prefixes()?;
        let mut names: Vec<&str> = self.host.iter().map(|host| host.name.as_str()).collect();
        names.extend(self.rack.iter().map(|rack| rack.name.as_str()));
        names.extend(self.switch.iter().map(|switch| switch.name.as_str()));
        names.extend(self.switch.iter().flat_map(|switch| switch.hosts.keys()).map(String::as_str));
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return wrong("host", &format!("`{}` is given twice", pair[0]));
        }
        if let Some(host) = self.host.iter().find(|host| host.address.is_empty()) {
            return wrong("host", &format!("`{}` has no address", host.name));
        }
        let mut addresses: Vec<IpAddr> =
            self.host.iter().flat_map(|host| host.address.iter().copied()).collect();
        addresses.extend(self.arbiter.iter().map(|arbiter| arbiter.address));
        addresses.extend(self.rack.iter().map(|rack| rack.address));
        addresses.extend(self.switch.iter().map(|switch| switch.address));
        addresses.extend(self.switch.iter().flat_map(|switch| switch.hosts.values()).flatten());
        let mut keys: Vec<PublicKey> = self.host.iter().map(|host| host.key).collect();
        keys.extend(self.arbiter.iter().map(|arbiter| arbiter.key));
        keys.extend(self.rack.iter().map(|rack| rack.key));
        keys.extend(self.switch.iter().map(|switch| switch.key));
        keys.sort_unstable();
        if let Some(pair) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
            return wrong(
                "key",
                &format!("{} is given twice: each machine needs its own", pair[0]),
            );
        }
        addresses.sort_unstable();
        match addresses.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => wrong("address", &format!("{} is given twice", pair[0])),
            None => Ok(()),
        }
    }

    /// The names of the machines with an agent.
    pub fn agents(&self) -> impl Iterator<Item = &str> {
        let hosts = self.host.iter().map(|host| &host.name);
        let racks = self.rack.iter().map(|rack| &rack.name);
        hosts.chain(racks).chain(self.switch.iter().map(|switch| &switch.name)).map(String::as_str)
    }

    fn host_names(&self) -> impl Iterator<Item = &str> {
        self.host.iter().map(|host| host.name.as_str())
    }

    /// A switch chooses by a mark where a packet goes, and a host with paths its tag, after it was held.
    fn check_gate(&self) -> Result<(), (String, String)> {
        let marked = !self.rack.is_empty() || (!self.switch.is_empty() && self.discovery.is_none());
        match self.agent.gate {
            GateChoice::Packet if marked => Err((
                "agent.gate".into(),
                "\"packet\" holds packets after their way is chosen, so it suits neither [[rack]] nor the paths of [[switch]]: \
                 give \"queue\" or \"auto\""
                    .into(),
            )),
            _ => Ok(()),
        }
    }

    fn check_discovery(&self) -> Result<(), (String, String)> {
        let Some(options) = &self.discovery else { return Ok(()) };
        let wrong = |key: &str, what: String| Err((format!("discovery{key}"), what));
        if options.patience < SETTLED {
            return wrong(
                ".patience",
                format!("must be at least {SETTLED}: cables settle meanwhile"),
            );
        }
        let unknown = |name: &&String| !self.host.iter().any(|host| host.name == **name);
        if let Some(name) = options.host_rates.keys().find(unknown) {
            return wrong(".host-rates", format!("there is no [[host]] `{name}`"));
        }
        if self.host.is_empty() || self.switch.is_empty() {
            return wrong(
                "",
                "give a [[host]] and a [[switch]] for each machine, which tell their neighbours"
                    .into(),
            );
        }
        let told = |switch: &&Switch| !(switch.up.is_empty() && switch.hosts.is_empty());
        match self.switch.iter().find(told) {
            Some(switch) => wrong(
                "",
                format!(
                    "[[switch]] `{}` has `up` or `hosts`, which are discovered: leave them out",
                    switch.name
                ),
            ),
            None => Ok(()),
        }
    }

    fn check_witnesses(&self) -> Result<(), (String, String)> {
        let names = &self.standby.witnesses;
        let wrong = |what| Err(("standby.witnesses".to_owned(), what));
        if names.len() > MOST_WITNESSES {
            return wrong(format!("give at most {MOST_WITNESSES} names"));
        }
        if let Some(name) = names.iter().find(|name| !self.agents().any(|agent| agent == *name)) {
            return wrong(format!("there is no [[host]], [[rack]] or [[switch]] `{name}`"));
        }
        if let Some(name) = (1..names.len()).find(|&at| names[..at].contains(&names[at])) {
            return wrong(format!("`{}` is given twice", names[name]));
        }
        Ok(())
    }

    fn check_tenants(&self) -> Result<(), (String, String)> {
        let mut known: HashMap<&str, &str> = HashMap::new();
        for Tenant { name, hosts, quota } in &self.tenant {
            let wrong = |what: String| Err(("tenant".to_owned(), format!("`{name}`: {what}")));
            if *quota == 0 {
                return wrong("`quota` must be at least 1 message per second".into());
            }
            for host in hosts {
                if !self.host.iter().any(|known| known.name == *host) {
                    return wrong(format!("there is no [[host]] `{host}`"));
                }
                if let Some(other) = known.insert(host, name) {
                    return wrong(format!("`{host}` belongs to `{other}` already"));
                }
            }
        }
        Ok(())
    }

    /// The first key whose value is another one in `new` and cannot change while daemons run, and the reason.
    pub fn fixed_change(&self, new: &Config) -> Option<(&'static str, &'static str)> {
        let (agent, other) = (&self.agent, &new.agent);
        let (restart, rules) = ("all daemons of the network share it", "rules of netfilter use it");
        [
            ("scenario", self.scenario != new.scenario, restart),
            ("scheme", self.scheme != new.scheme, restart),
            (
                "arbiter",
                self.arbiter.len() != new.arbiter.len(),
                "the scheme has as many controllers",
            ),
            ("port", self.port != new.port, "a socket uses it"),
            ("threads", self.threads != new.threads, "threads begin with the daemon"),
            (
                "allocation-threads",
                self.allocation_threads != new.allocation_threads,
                "threads begin with the daemon",
            ),
            ("network", self.network != new.network, rules),
            ("rack", self.racks() != new.racks(), rules),
            ("switch", self.switches() != new.switches(), rules),
            (
                "host",
                self.discovery.is_some() && !self.host_names().eq(new.host_names()),
                "arbiters discover the network of these hosts",
            ),
            ("discovery", self.discovery != new.discovery, restart),
            ("paths", self.paths != new.paths, rules),
            (
                "standby.timeout",
                self.standby.timeout != new.standby.timeout,
                "both arbiters have begun with it",
            ),
            ("circuits", self.circuits != new.circuits, "the program for circuit switches runs"),
            ("agent.exempt-ports", agent.exempt_ports != other.exempt_ports, rules),
            ("agent.gate", agent.gate != other.gate, "packets are held by it"),
            ("agent.queue", agent.queue != other.queue, rules),
            (
                "agent.join-segments",
                agent.join_segments != other.join_segments,
                "interfaces are set up with it",
            ),
            (
                "agent.departure-times",
                agent.departure_times != other.departure_times,
                "interfaces are set up with it",
            ),
        ]
        .into_iter()
        .find_map(|(key, changed, why)| changed.then_some((key, why)))
    }
}
