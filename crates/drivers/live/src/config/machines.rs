//! The machines of a network, and groups of hosts.

use serde::{Deserialize, Deserializer, de};
use slotline_envelope::PublicKey;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// A machine with an arbiter.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Arbiter {
    /// Its address.
    pub address: IpAddr,
    /// Its public key.
    #[serde(deserialize_with = "public_key")]
    pub key: PublicKey,
}

/// A machine with an agent.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Host {
    /// Its name in the scenario's fabric.
    pub name: String,
    /// Its addresses. Daemons use the first.
    pub address: Vec<IpAddr>,
    /// Its public key.
    #[serde(deserialize_with = "public_key")]
    pub key: PublicKey,
}

/// Hosts with a common quota.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tenant {
    /// A name, for messages.
    pub name: String,
    /// The names of its hosts.
    pub hosts: Vec<String>,
    /// Messages that an arbiter handles per second from all these hosts together. More are dropped.
    pub quota: u32,
}

/// A Linux machine that is the switch of a rack, with an agent.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rack {
    /// The name of the switch in the scenario's fabric, such as `tor0`.
    pub name: String,
    /// The address that daemons use.
    pub address: IpAddr,
    /// Prefixes of the addresses of the hosts in the rack.
    pub hosts: Vec<String>,
    /// Its public key.
    #[serde(deserialize_with = "public_key")]
    pub key: PublicKey,
}

/// The addresses of machines, by their names.
pub type Addresses = BTreeMap<String, Vec<IpAddr>>;

/// A Linux machine that is a switch and chooses among paths, with an agent.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Switch {
    /// Its name in the scenario's fabric, such as `edge0.0`.
    pub name: String,
    /// The address that daemons use.
    pub address: IpAddr,
    /// Its public key.
    #[serde(deserialize_with = "public_key")]
    pub key: PublicKey,
    /// The addresses of its hosts, by their names in the scenario's fabric; none for a switch between others.
    #[serde(default)]
    pub hosts: Addresses,
    /// The addresses to which it routes packets for the switches above, by their names: one of each family. Not where the network
    /// is discovered.
    #[serde(default)]
    pub up: Addresses,
}

fn public_key<'de, D: Deserializer<'de>>(text: D) -> Result<PublicKey, D::Error> {
    String::deserialize(text)?.parse().map_err(de::Error::custom)
}
