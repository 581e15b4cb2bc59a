//! The file that all daemons of a network read.

use serde::Deserialize;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

mod check;
mod machines;
mod options;

pub use machines::{Addresses, Arbiter, Host, Rack, Switch, Tenant};
pub use options::{
    AgentOptions, CircuitOptions, ClockOptions, ClockSource, DiscoveryOptions, GateChoice,
    PathOptions, StandbyOptions, span,
};

/// A network of daemons: the same file on all its machines.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// The scenario with the fabric and the scheme; relative to this file.
    pub scenario: PathBuf,
    /// The name of the scenario's scheme; required if several schemes have a central scheduler.
    pub scheme: Option<String>,
    /// The file with this machine's private key; relative to this file. Each machine has its own.
    #[serde(default = "default_key")]
    pub key: PathBuf,
    /// The UDP port of all daemons.
    #[serde(default = "default_port")]
    pub port: u16,
    /// Prefixes of the hosts' addresses. Packets to other destinations are not held. Racks have their own.
    #[serde(default)]
    pub network: Vec<String>,
    /// The machines of the scheme's controllers, in order: of Fastpass the primary and the secondary arbiter.
    pub arbiter: Vec<Arbiter>,
    /// The hosts; none where switches have the agents.
    #[serde(default)]
    pub host: Vec<Host>,
    /// The switches of racks, where circuits join these.
    #[serde(default)]
    pub rack: Vec<Rack>,
    /// The switches that send flows on paths, where the scheme decides on paths.
    #[serde(default)]
    pub switch: Vec<Switch>,
    /// How arbiters discover the network; without it, the network is that of the scenario.
    pub discovery: Option<DiscoveryOptions>,
    /// The circuit switches.
    #[serde(default)]
    pub circuits: CircuitOptions,
    /// How switches send flows on paths.
    #[serde(default)]
    pub paths: PathOptions,
    /// Messages that an arbiter handles per second from each peer. More are dropped.
    #[serde(default = "default_quota")]
    pub quota: u32,
    /// Groups of hosts with a common quota, besides the quota of each host.
    #[serde(default)]
    pub tenant: Vec<Tenant>,
    /// Threads of an arbiter: 2 gives the sockets and the encryption a thread of their own.
    #[serde(default = "default_threads")]
    pub threads: u8,
    /// Whether each allocator of Fastpass, with its path selection, has a thread of its own besides.
    #[serde(default)]
    pub allocation_threads: bool,
    /// How the second of two arbiters replaces the first, where the scheme itself has one controller.
    #[serde(default)]
    pub standby: StandbyOptions,
    /// What agents do.
    #[serde(default)]
    pub agent: AgentOptions,
    /// How time is transferred.
    #[serde(default)]
    pub clock: ClockOptions,
}

/// The most agents that are asked for a lease: each costs an arbiter four messages per lease.
pub const MOST_WITNESSES: usize = 9;
/// The most threads of an arbiter.
pub const MOST_THREADS: u8 = 64;

/// The reason why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, std::io::Error),
    /// The file is not a valid configuration. The text has the line and the key.
    #[error("{0}: {1}")]
    Parse(PathBuf, String),
    /// The value of a key is not valid.
    #[error("{file}: {key}: {what}")]
    Value {
        /// The file.
        file: PathBuf,
        /// The key.
        key: String,
        /// The error, and the values that are valid.
        what: String,
    },
}

const fn default_port() -> u16 {
    7_077
}

/// Far more than a host sends, and few enough that many hosts together leave an arbiter time for its work.
const fn default_quota() -> u32 {
    20_000
}

const fn default_threads() -> u8 {
    1
}

fn default_key() -> PathBuf {
    "/etc/slotline/key".into()
}

impl Config {
    /// Reads a file. The paths in it become relative to the working directory.
    ///
    /// # Errors
    /// It cannot be read, or does not describe a network.
    pub fn load(file: &Path) -> Result<Config, ConfigError> {
        let text =
            std::fs::read_to_string(file).map_err(|why| ConfigError::Read(file.into(), why))?;
        let mut config = Config::parse(&text, file)?;
        let folder = file.parent().unwrap_or(Path::new(""));
        config.scenario = folder.join(&config.scenario);
        config.key = folder.join(&config.key);
        Ok(config)
    }

    /// Parses a configuration. `file` is used in messages.
    ///
    /// # Errors
    /// It does not describe a network.
    pub fn parse(text: &str, file: &Path) -> Result<Config, ConfigError> {
        let config: Config = toml::from_str(text)
            .map_err(|error| ConfigError::Parse(file.into(), error.to_string()))?;
        config.check().map_err(|(key, what)| ConfigError::Value {
            file: file.into(),
            key,
            what,
        })?;
        Ok(config)
    }

    /// The names of racks, with the prefixes of their hosts.
    fn racks(&self) -> Vec<(&str, &[String])> {
        self.rack.iter().map(|rack| (rack.name.as_str(), &rack.hosts[..])).collect()
    }

    /// The names of switches, with what their rules contain.
    fn switches(&self) -> Vec<(&str, &Addresses, &Addresses)> {
        self.switch.iter().map(|switch| (&*switch.name, &switch.hosts, &switch.up)).collect()
    }

    /// The name of the host, rack or switch whose first address belongs to this machine, so that a socket can be bound to
    /// it.
    pub fn machine_here(&self) -> Option<&str> {
        let hosts = self.host.iter().map(|host| (&host.name, host.address[0]));
        let switches = self.switch.iter().map(|switch| (&switch.name, switch.address));
        let racks = self.rack.iter().map(|rack| (&rack.name, rack.address));
        let mut all = hosts.chain(racks).chain(switches);
        all.find(|(_, address)| is_local(*address)).map(|(name, _)| name.as_str())
    }
    /// The index of the arbiter on this machine.
    pub fn arbiter_here(&self) -> Option<usize> {
        self.arbiter.iter().position(|arbiter| is_local(arbiter.address))
    }
    /// The UDP port by which hosts probe paths.
    pub fn probe_port(&self) -> u16 {
        self.port.wrapping_add(1)
    }
    /// The socket address of a daemon on this address.
    pub fn socket(&self, address: IpAddr) -> SocketAddr {
        SocketAddr::new(address, self.port)
    }
}

fn is_local(address: IpAddr) -> bool {
    std::net::UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests;
